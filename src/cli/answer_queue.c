/* SPDX-License-Identifier: MIT */
/* Answers of queues, for people. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>

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
                      const struct usher_queue_row *r)
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

static void plain_stats(FILE *out, const struct usher_queue_statistics *s)
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

static void plain_settings(FILE *out, const struct usher_queue_settings *s)
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
