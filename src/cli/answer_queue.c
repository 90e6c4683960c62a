/* SPDX-License-Identifier: MIT */
/* Answers of queues: keys and their order are a public interface, lines for people are not. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>

/* ---- JSON ------------------------------------------------------------------------- */

static void key_null(struct json *j, const char *key)
{
    usher__json_key(j, key);
    fputs("null", j->out);
}

static void key_name(struct json *j, const char *key, const struct usher_text *text)
{
    if (text->size != 0)
        usher__json_name(j, key, text);
    else
        key_null(j, key);
}

static void key_room(struct json *j, uint64_t epoch, uint64_t login, int64_t no)
{
    char room[USHER_QUEUE_ROOM_MAX];

    if (no == 0) {
        key_null(j, "room");
        return;
    }
    usher__json_text(j, "room", usher_queue_room_name(room, epoch, login, no));
}

/* null where @value is below zero. */
static void key_known(struct json *j, const char *key, int64_t value)
{
    if (value >= 0)
        usher__json_int(j, key, value);
    else
        key_null(j, key);
}

static void key_token(struct json *j, uint64_t token)
{
    usher__json_key(j, "token");
    fprintf(j->out, "\"%" PRIu64 "\"", token);
}

static void array(struct json *j, const char *key, const struct usher_result *reply,
                  void (*row)(struct json *j, uint64_t epoch,
                              const struct usher_queue_result_row *r))
{
    const struct usher_queue_result *q = &reply->of.queue;

    usher__json_key(j, key);
    putc('[', j->out);
    for (size_t i = 0; i < q->n_rows; i++) {
        fputs(i > 0 ? ",{" : "{", j->out);
        j->comma = false;
        row(j, reply->epoch, &q->rows[i]);
        putc('}', j->out);
    }
    putc(']', j->out);
    j->comma = true;
}

static void row_matched(struct json *j, uint64_t epoch, const struct usher_queue_result_row *r)
{
    usher__json_name(j, "user", &r->user);
    usher__json_name(j, "agent", &r->agent);
    key_room(j, epoch, r->login, r->no);
    usher__json_text(j, "state",
                     usher_queue_user_state_word((enum usher_queue_user_state)r->state));
    key_token(j, r->token);
}

static void row_room(struct json *j, uint64_t epoch, const struct usher_queue_result_row *r)
{
    key_room(j, epoch, r->login, r->no);
    key_name(j, "user", &r->user);
    if (r->user.size == 0)
        return;
    usher__json_text(j, "state",
                     usher_queue_user_state_word((enum usher_queue_user_state)r->state));
    usher__json_name(j, "lane", &r->lane);
    usher__json_int(j, "matched", r->matched_ms);
    usher__json_int(j, "until", r->until_ms);
    key_token(j, r->token);
}

static void row_user(struct json *j, uint64_t epoch, const struct usher_queue_result_row *r)
{
    usher__json_name(j, "user", &r->user);
    usher__json_text(j, "state",
                     usher_queue_user_state_word((enum usher_queue_user_state)r->state));
    usher__json_name(j, "lane", &r->lane);
    usher__json_int(j, "priority", r->priority);
    usher__json_int(j, "since", r->since_ms);
    usher__json_int(j, "applied", r->applied_ms);
    key_name(j, "agent", &r->agent);
    key_room(j, epoch, r->login, r->no);
    usher__json_int(j, "matched", r->matched_ms);
    usher__json_int(j, "until", r->until_ms);
    if (r->token != 0)
        key_token(j, r->token);
}

static void row_agent(struct json *j, uint64_t epoch, const struct usher_queue_result_row *r)
{
    (void)epoch;
    usher__json_name(j, "agent", &r->agent);
    usher__json_text(j, "state",
                     usher_queue_agent_state_word((enum usher_queue_agent_state)r->state));
    usher__json_name(j, "lanes", &r->lanes);
    usher__json_int(j, "capacity", r->capacity);
    usher__json_int(j, "used", r->used);
    usher__json_int(j, "served", r->served);
    usher__json_int(j, "level", r->level);
    usher__json_int(j, "since", r->matched_ms);
    usher__json_int(j, "until", r->until_ms);
    usher__json_uint(j, "login", r->login);
    usher__json_int(j, "logged_in", r->since_ms);
}

static void row_visit(struct json *j, uint64_t epoch, const struct usher_queue_result_row *r)
{
    usher__json_name(j, "user", &r->user);
    usher__json_name(j, "lane", &r->lane);
    usher__json_int(j, "priority", r->priority);
    usher__json_int(j, "applied", r->applied_ms);
    usher__json_text(j, "outcome", usher_queue_outcome_word((enum usher_queue_outcome)r->state));
    if (r->matched_ms != 0)
        usher__json_int(j, "seated", r->matched_ms);
    else
        key_null(j, "seated");
    usher__json_int(j, "wait", r->wait_ms);
    key_name(j, "agent", &r->agent);
    key_room(j, r->epoch != 0 ? r->epoch : epoch, r->login, r->no);
    usher__json_int(j, "finished", r->until_ms);
    usher__json_int(j, "talk", r->talk_ms);
    usher__json_int(j, "since", r->since_ms);
    usher__json_uint(j, "version", r->version);
}

static void agent(struct json *j, const struct usher_queue_result *q)
{
    struct usher_text name = { q->agent, q->agent_size };

    usher__json_name(j, "agent", &name);
    usher__json_text(j, "state", usher_queue_agent_state_word(q->state));
}

static void rooms(struct json *j, const struct usher_result *reply)
{
    const struct usher_queue_result *q = &reply->of.queue;
    char room[USHER_QUEUE_ROOM_MAX];

    usher__json_key(j, "rooms");
    putc('[', j->out);
    for (int64_t i = 1; i <= q->no && i <= USHER_QUEUE_CAPACITY_MAX; i++)
        fprintf(j->out, "%s\"%s\"", i > 1 ? "," : "",
                usher_queue_room_name(room, reply->epoch, q->login, i));
    putc(']', j->out);
    j->comma = true;
}

static void place(struct json *j, const struct usher_result *reply)
{
    const struct usher_queue_result *q = &reply->of.queue;
    struct usher_text name = { q->agent, q->agent_size };

    if (q->why != USHER_QUEUE_WHY_NONE) {
        usher__json_text(j, "why", usher_queue_why_word(q->why));
        return;
    }
    usher__json_text(j, "place", usher_queue_place_word(q->place));
    if (q->place == USHER_QUEUE_PLACE_ROOM || q->place == USHER_QUEUE_PLACE_OFFER) {
        key_room(j, reply->epoch, q->login, q->no);
        usher__json_name(j, "agent", &name);
        if (q->place == USHER_QUEUE_PLACE_OFFER)
            usher__json_int(j, "until", q->until_ms);
        key_token(j, q->token);
    } else if (q->place == USHER_QUEUE_PLACE_QUEUE) {
        usher__json_int(j, "index", q->index);
        key_known(j, "wait", q->wait_ms);
    }
}

/* Of leave, finish, accept, reject. */
static void pair(struct json *j, const struct usher_result *reply)
{
    const struct usher_queue_result *q = &reply->of.queue;
    struct usher_text user = { q->user, q->user_size }, name = { q->agent, q->agent_size };

    key_name(j, "user", &user);
    key_name(j, "agent", &name);
    key_room(j, reply->epoch, q->login, q->no);
    if (q->token != 0)
        key_token(j, q->token);
    if (q->state != USHER_QUEUE_AGENT_GONE)
        usher__json_text(j, "state", usher_queue_agent_state_word(q->state));
}

static void page(struct json *j, const struct usher_queue_result *q)
{
    struct usher_text next = { q->agent, q->more ? q->agent_size : 0 };

    usher__json_name(j, "next", &next);
}

/* A share of 10,000 as a decimal fraction. */
static void key_share(struct json *j, const char *key, int64_t share)
{
    if (share < 0) {
        key_null(j, key);
        return;
    }
    usher__json_key(j, key);
    fprintf(j->out, "%" PRId64 ".%04" PRId64, share / 10000, share % 10000);
}

static void stats(struct json *j, const struct usher_queue_result_statistics *s)
{
    usher__json_int(j, "waiting", s->waiting);
    usher__json_int(j, "seated", s->seated);
    usher__json_int(j, "agents", s->agents);
    usher__json_int(j, "longest_wait", s->longest_wait_ms);
    usher__json_int(j, "seated_today", s->seated_today);
    usher__json_int(j, "abandoned_today", s->abandoned_today);
    key_share(j, "service_level", s->service_level);
    usher__json_int(j, "timeout_today", s->timeout_today);
    usher__json_int(j, "finished_today", s->finished_today);
    key_known(j, "wait", s->wait_ms);
    key_known(j, "talk", s->talk_ms);
    usher__json_int(j, "offered", s->offered);
    usher__json_int(j, "away", s->away);
    usher__json_int(j, "agents_idle", s->idle);
    usher__json_int(j, "agents_offered", s->ringing);
    usher__json_int(j, "agents_busy", s->busy);
    usher__json_int(j, "agents_wrapup", s->wrapup);
    usher__json_int(j, "agents_paused", s->paused);
    usher__json_int(j, "dropped_today", s->dropped_today);
    usher__json_int(j, "visits", s->visits);
}

static void settings(struct json *j, const struct usher_queue_result_settings *s)
{
    usher__json_int(j, "ttl", s->ttl_ms);
    usher__json_text(j, "trigger", usher_queue_trigger_word((enum usher_queue_trigger)s->trigger));
    usher__json_text(j, "strategy",
                     usher_queue_strategy_word((enum usher_queue_strategy)s->strategy));
    usher__json_int(j, "offer", s->offer_ms);
    usher__json_int(j, "wrapup", s->wrapup_ms);
    usher__json_int(j, "limit", s->limit);
    usher__json_int(j, "maxwait", s->maxwait_ms);
    usher__json_int(j, "grace", s->grace_ms);
    usher__json_text(j, "requeue", usher_queue_requeue_word((enum usher_queue_requeue)s->requeue));
    usher__json_int(j, "history", s->history);
    usher__json_int(j, "zone", s->zone_min);
    usher__json_int(j, "service", s->service_ms);
    usher__json_int(j, "requests", s->requests);
    usher__json_int(j, "archive", s->archive);
}

void usher__answer_queue_json(struct json *j, const struct usher_operation *command,
                              const struct usher_result *reply)
{
    const struct usher_queue_result *q = &reply->of.queue;
    bool there = reply->status != USHER_MISSING;

    switch (command->verb) {
    case USHER_QUEUE_SET:
        if (there)
            settings(j, &q->of.settings);
        break;
    case USHER_QUEUE_LOGIN:
    case USHER_QUEUE_LOGOUT:
    case USHER_QUEUE_PAUSE:
    case USHER_QUEUE_READY:
    case USHER_QUEUE_FREE:
        agent(j, q);
        rooms(j, reply);
        if (command->verb == USHER_QUEUE_FREE)
            usher__json_uint(j, "freed", q->count);
        break;
    case USHER_QUEUE_ROOM:
        agent(j, q);
        array(j, "rooms", reply, row_room);
        break;
    case USHER_QUEUE_ALIVE:
        if (command->arg.queue.agent.data != NULL) {
            agent(j, q);
            array(j, "rooms", reply, row_room);
            break;
        }
        place(j, reply);
        break;
    case USHER_QUEUE_APPLY:
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_MOVE:
        place(j, reply);
        break;
    case USHER_QUEUE_PULL:
    case USHER_QUEUE_MATCH:
        array(j, "matched", reply, row_matched);
        if (command->verb == USHER_QUEUE_PULL && reply->status == USHER_EMPTY)
            usher__json_text(j, "why", usher_queue_why_word(q->why));
        if (command->verb == USHER_QUEUE_MATCH)
            usher__json_bool(j, "more", q->more);
        break;
    case USHER_QUEUE_SWEEP:
        usher__json_uint(j, "expired", q->count);
        array(j, "matched", reply, row_matched);
        usher__json_bool(j, "more", q->more);
        break;
    case USHER_QUEUE_LIST:
        array(j, "users", reply, row_user);
        page(j, q);
        break;
    case USHER_QUEUE_AGENTS:
        array(j, "agents", reply, row_agent);
        page(j, q);
        break;
    case USHER_QUEUE_HISTORY:
        array(j, "visits", reply, row_visit);
        page(j, q);
        break;
    case USHER_QUEUE_DRAIN:
        usher__json_uint(j, "moved", q->count);
        array(j, "visits", reply, row_visit);
        usher__json_bool(j, "more", q->more);
        break;
    case USHER_QUEUE_DROP:
        usher__json_uint(j, "dropped", q->count);
        usher__json_bool(j, "more", q->more);
        break;
    case USHER_QUEUE_STATS:
        if (there)
            stats(j, &q->of.stats);
        break;
    default: /* leave, finish, accept, reject */
        pair(j, reply);
        break;
    }
    if (reply->message[0] != '\0')
        usher__json_text(j, "message", reply->message);
}

/* ---- for people ------------------------------------------------------------------- */

static void name(FILE *out, const char *before, const struct usher_text *text)
{
    if (text->size == 0)
        return;
    fputs(before, out);
    usher__plain_text(out, text->data, text->size);
}

static void room(FILE *out, const char *before, uint64_t epoch, uint64_t login, int64_t no)
{
    char text[USHER_QUEUE_ROOM_MAX];

    if (no != 0)
        fprintf(out, "%s%s", before, usher_queue_room_name(text, epoch, login, no));
}

static void plain_agent(FILE *out, const struct usher_queue_result *q)
{
    struct usher_text text = { q->agent, q->agent_size };

    name(out, ": ", &text);
    fprintf(out, " is %s", usher_queue_agent_state_word(q->state));
}

static void plain_place(FILE *out, const struct usher_operation *command,
                        const struct usher_result *reply)
{
    const struct usher_queue_result *q = &reply->of.queue;
    struct usher_text text = { q->agent, q->agent_size };
    char until[CLI_TIME_MAX];

    name(out, ": ", &command->arg.queue.user);
    if (q->why != USHER_QUEUE_WHY_NONE) {
        fputs(q->why == USHER_QUEUE_WHY_NO_AGENT ? ": nobody who is logged in serves it"
                                                 : ": too many ended visits wait for a history",
              out);
        return;
    }
    switch (q->place) {
    case USHER_QUEUE_PLACE_ROOM:
    case USHER_QUEUE_PLACE_OFFER:
        room(out, q->place == USHER_QUEUE_PLACE_ROOM ? " is in room " : " is offered for room ",
             reply->epoch, q->login, q->no);
        name(out, " of ", &text);
        if (q->place == USHER_QUEUE_PLACE_OFFER)
            fprintf(out, " until %s", usher__time_text(until, q->until_ms));
        break;
    case USHER_QUEUE_PLACE_QUEUE:
        fprintf(out, " waits, %" PRId64 " ahead", q->index);
        if (q->wait_ms >= 0)
            fprintf(out, ", about %" PRId64 " s", q->wait_ms / 1000);
        break;
    case USHER_QUEUE_PLACE_AWAY:
        fputs(" is away", out);
        break;
    default:
        fputs(" is not here", out);
        break;
    }
}

static void plain_row(FILE *out, const struct usher_operation *command, uint64_t epoch,
                      const struct usher_queue_result_row *r)
{
    switch (command->verb) {
    case USHER_QUEUE_ROOM:
    case USHER_QUEUE_ALIVE:
        room(out, "; room ", epoch, r->login, r->no);
        if (r->user.size == 0)
            fputs(" is free", out);
        else
            name(out, ": ", &r->user);
        break;
    case USHER_QUEUE_AGENTS:
        name(out, "; ", &r->agent);
        fprintf(out, " %s, %" PRId64 " of %" PRId64 " rooms, served %" PRId64 ", lanes ",
                usher_queue_agent_state_word((enum usher_queue_agent_state)r->state), r->used,
                r->capacity, r->served);
        usher__plain_text(out, r->lanes.data, r->lanes.size);
        break;
    case USHER_QUEUE_HISTORY:
    case USHER_QUEUE_DRAIN:
        name(out, "; ", &r->user);
        fprintf(out, " %s, waited %" PRId64 " s",
                usher_queue_outcome_word((enum usher_queue_outcome)r->state), r->wait_ms / 1000);
        name(out, ", with ", &r->agent);
        if (r->matched_ms != 0)
            fprintf(out, " %" PRId64 " s", r->talk_ms / 1000);
        break;
    default:
        name(out, "; ", &r->user);
        fprintf(out, " %s", usher_queue_user_state_word((enum usher_queue_user_state)r->state));
        name(out, ", lane ", &r->lane);
        name(out, ", with ", &r->agent);
        room(out, " in ", epoch, r->login, r->no);
        break;
    }
}

static void plain_stats(FILE *out, const struct usher_queue_result_statistics *s)
{
    fprintf(out,
            ": %" PRId64 " wait (longest %" PRId64 " s), %" PRId64 " offered, %" PRId64
            " seated, %" PRId64 " away; agents: %" PRId64 " idle, %" PRId64 " offered, %" PRId64
            " busy, %" PRId64 " wrapup, %" PRId64 " paused; today %" PRId64 " seated, %" PRId64
            " abandoned, %" PRId64 " timed out",
            s->waiting, s->longest_wait_ms / 1000, s->offered, s->seated, s->away, s->idle,
            s->ringing, s->busy, s->wrapup, s->paused, s->seated_today, s->abandoned_today,
            s->timeout_today);
    if (s->service_level >= 0)
        fprintf(out, ", service level %" PRId64 ".%02" PRId64 " %%", s->service_level / 100,
                s->service_level % 100);
}

static void plain_settings(FILE *out, const struct usher_queue_result_settings *s)
{
    fprintf(out,
            ": ttl=%" PRId64 " trigger=%s strategy=%s offer=%" PRId64 " wrapup=%" PRId64
            " limit=%" PRId64 " maxwait=%" PRId64 " grace=%" PRId64 " requeue=%s history=%" PRId64
            " zone=%" PRId64 " service=%" PRId64 " requests=%" PRId64 " archive=%" PRId64,
            s->ttl_ms, usher_queue_trigger_word((enum usher_queue_trigger)s->trigger),
            usher_queue_strategy_word((enum usher_queue_strategy)s->strategy), s->offer_ms,
            s->wrapup_ms, s->limit, s->maxwait_ms, s->grace_ms,
            usher_queue_requeue_word((enum usher_queue_requeue)s->requeue), s->history, s->zone_min,
            s->service_ms, s->requests, s->archive);
}

void usher__answer_queue_plain(FILE *out, const struct usher_operation *command,
                               const struct usher_result *reply)
{
    const struct usher_queue_result *q = &reply->of.queue;
    struct usher_text user = { q->user, q->user_size }, agent_name = { q->agent, q->agent_size };
    bool there = reply->status != USHER_MISSING;

    switch (command->verb) {
    case USHER_QUEUE_SET:
        if (there)
            plain_settings(out, &q->of.settings);
        break;
    case USHER_QUEUE_STATS:
        if (there)
            plain_stats(out, &q->of.stats);
        break;
    case USHER_QUEUE_LOGIN:
    case USHER_QUEUE_LOGOUT:
    case USHER_QUEUE_PAUSE:
    case USHER_QUEUE_READY:
    case USHER_QUEUE_FREE:
        plain_agent(out, q);
        for (int64_t i = 1; i <= q->no && i <= USHER_QUEUE_CAPACITY_MAX; i++)
            room(out, i == 1 ? ", rooms " : " ", reply->epoch, q->login, i);
        break;
    case USHER_QUEUE_ROOM:
        plain_agent(out, q);
        break;
    case USHER_QUEUE_ALIVE:
        if (command->arg.queue.agent.data != NULL)
            plain_agent(out, q);
        else
            plain_place(out, command, reply);
        break;
    case USHER_QUEUE_APPLY:
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_MOVE:
        plain_place(out, command, reply);
        break;
    case USHER_QUEUE_PULL:
    case USHER_QUEUE_MATCH:
        fprintf(out, ": %zu matched", q->n_rows);
        break;
    case USHER_QUEUE_SWEEP:
        if (there)
            fprintf(out, ": %" PRIu64 " expired%s", q->count, q->more ? ", more are to do" : "");
        break;
    case USHER_QUEUE_DRAIN:
        if (there)
            fprintf(out, ": %" PRIu64 " moved%s", q->count, q->more ? ", more are to do" : "");
        break;
    case USHER_QUEUE_DROP:
        fprintf(out, ": %" PRIu64 " dropped%s", q->count, q->more ? ", more are to do" : "");
        break;
    case USHER_QUEUE_LIST:
    case USHER_QUEUE_AGENTS:
    case USHER_QUEUE_HISTORY:
        if (there)
            fprintf(out, ": %zu row%s", q->n_rows, q->n_rows == 1 ? "" : "s");
        break;
    default: /* leave, finish, accept, reject */
        name(out, ": user ", &user);
        name(out, ", agent ", &agent_name);
        room(out, ", room ", reply->epoch, q->login, q->no);
        break;
    }
    for (size_t i = 0; i < q->n_rows; i++)
        plain_row(out, command, reply->epoch, &q->rows[i]);
    if (q->more && q->n_rows > 0 && command->verb != USHER_QUEUE_DRAIN)
        name(out, "; more after ", &agent_name);
    if (reply->message[0] != '\0')
        fprintf(out, " (%s)", reply->message);
}
