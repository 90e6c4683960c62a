/* SPDX-License-Identifier: MIT */
/* The keys and their order are a public interface: spec of the command line, `usher help json`.
 * New keys go behind the old ones. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>
#include <string.h>

#include "core/verbs.h"

bool usher__answer_failed(enum usher_status status)
{
    return USHER_CLASS_OF(status) >= USHER_CLASS_WRONG;
}

bool usher__answer_has_token(const struct usher_operation *command,
                             const struct usher_result *reply)
{
    return reply->status == USHER_STALE ||
           (USHER_IS_DONE(reply->status) && command->arg.number.owner.data != NULL);
}

void usher__answer_begin(struct json *j, enum usher_status status, uint64_t epoch, uint64_t version,
                         int64_t due_ms)
{
    putc('{', j->out);
    j->comma = false;
    usher__json_text(j, "status", usher_status_word(status));
    usher__json_key(j, "epoch");
    fprintf(j->out, "\"%016" PRIx64 "\"", epoch);
    usher__json_uint(j, "version", version);
    usher__json_key(j, "due");
    if (due_ms != USHER_NEVER)
        fprintf(j->out, "%" PRId64, due_ms);
    else
        fputs("null", j->out);
}

static void key_state(struct json *j, enum usher_number_state state)
{
    usher__json_text(j, "state", usher_number_state_word(state));
}

/* Always a string: it is compared, not counted with. */
static void key_token(struct json *j, uint64_t token)
{
    usher__json_key(j, "token");
    fprintf(j->out, "\"%" PRIu64 "\"", token);
}

/* null where @value is below zero. */
static void key_next(struct json *j, int64_t value)
{
    if (value >= 0) {
        usher__json_int(j, "next", value);
        return;
    }
    usher__json_key(j, "next");
    fputs("null", j->out);
}

static void row(struct json *j, const struct usher_number_result_row *r)
{
    usher__json_name(j, "number", &r->number);
    key_state(j, r->state);
    usher__json_name(j, "group", &r->group);
    usher__json_name(j, "owner", &r->owner);
    key_token(j, r->token);
    usher__json_int(j, "until", r->until_ms);
    usher__json_int(j, "calls_today", r->calls_today);
    usher__json_int(j, "used", r->used_ms);
    usher__json_bool(j, "resting", r->resting);
    usher__json_bool(j, "capped", r->capped);
    usher__json_int(j, "age", r->age_ms);
    usher__json_name(j, "node", &r->node);
}

static void call(struct json *j, enum usher_status status, const struct usher_operation *command,
                 const struct usher_number_result *n)
{
    struct usher_text number = { n->number, n->number_size };

    switch (status) {
    case USHER_OK:
    case USHER_SAME:
        usher__json_name(j, "number", &number);
        key_token(j, n->token);
        usher__json_int(j, "until", n->until_ms);
        key_state(j, n->state);
        break;
    case USHER_EMPTY:
        usher__json_text(j, "why", usher_number_why_word(n->why));
        key_next(j, n->next_ms);
        break;
    default:
        usher__json_name(j, "number", &command->arg.number.number);
        key_state(j, n->state);
        if (status == USHER_REFUSED) {
            usher__json_text(j, "why", usher_number_why_word(n->why));
            key_next(j, n->next_ms);
        }
        break;
    }
}

static void list(struct json *j, const struct usher_number_result *n)
{
    struct usher_text next = { n->number, n->more ? n->number_size : 0 };

    usher__json_key(j, "numbers");
    putc('[', j->out);
    for (size_t i = 0; i < n->n_rows; i++) {
        fputs(i > 0 ? ",{" : "{", j->out);
        j->comma = false;
        row(j, &n->rows[i]);
        putc('}', j->out);
    }
    putc(']', j->out);
    j->comma = true;
    usher__json_name(j, "next", &next);
}

static void stats(struct json *j, const struct usher_number_result_statistics *s)
{
    usher__json_int(j, "total", s->total);
    usher__json_int(j, "idle_up", s->idle_up);
    usher__json_int(j, "idle_down", s->idle_down);
    usher__json_int(j, "busy_up", s->busy_up);
    usher__json_int(j, "busy_down", s->busy_down);
    usher__json_int(j, "resting", s->resting);
    usher__json_int(j, "calls_today", s->calls_today);
    usher__json_int(j, "refused_today", s->refused_today);
    usher__json_int(j, "longest_hold", s->longest_hold_ms);
    usher__json_int(j, "capped", s->capped);
}

static void settings(struct json *j, const struct usher_number_result_settings *s)
{
    usher__json_text(j, "order", usher_number_order_word((enum usher_number_order)s->order));
    usher__json_int(j, "lease", s->lease_ms);
    usher__json_int(j, "rest", s->rest_ms);
    usher__json_int(j, "daily", s->daily);
    usher__json_int(j, "zone", s->zone_min);
    usher__json_int(j, "strict", s->strict);
    usher__json_int(j, "sticky", s->sticky_ms);
    usher__json_int(j, "sticky_max", s->sticky_max);
    usher__json_int(j, "requests", s->requests);
}

static void number(struct json *j, const struct usher_operation *command,
                   const struct usher_result *reply)
{
    const struct usher_number_result *n = &reply->of.number;
    bool there = reply->status != USHER_MISSING;

    switch (command->verb) {
    case USHER_NUMBER_CALL:
        call(j, reply->status, command, n);
        break;
    case USHER_NUMBER_HANGUP:
    case USHER_NUMBER_RENEW:
        if (command->arg.number.number.data == NULL) {
            struct usher_text next = { n->number, n->more ? n->number_size : 0 };

            usher__json_uint(j, "renewed", n->count);
            usher__json_bool(j, "more", n->more);
            usher__json_name(j, "next", &next);
            break;
        }
        key_state(j, n->state);
        usher__json_int(j, "until", n->until_ms);
        if (usher__answer_has_token(command, reply))
            key_token(j, n->token);
        break;
    case USHER_NUMBER_FREE:
    case USHER_NUMBER_SWEEP:
        usher__json_uint(j, command->verb == USHER_NUMBER_FREE ? "freed" : "expired", n->count);
        usher__json_bool(j, "more", n->more);
        break;
    case USHER_NUMBER_DROP:
        usher__json_uint(j, "dropped", n->count);
        usher__json_bool(j, "more", n->more);
        break;
    case USHER_NUMBER_SHOW:
        if (there && n->n_rows == 1) {
            row(j, n->rows);
        } else {
            usher__json_name(j, "number", &command->arg.number.number);
            key_state(j, USHER_NUMBER_STATE_NODATA);
        }
        break;
    case USHER_NUMBER_LIST:
        list(j, n);
        break;
    case USHER_NUMBER_STATS:
        if (there)
            stats(j, &n->of.stats);
        break;
    case USHER_NUMBER_SET:
        if (there)
            settings(j, &n->of.settings);
        break;
    default: /* add, del, reg, unreg, lift */
        key_state(j, n->state);
        break;
    }
}

bool usher__answer_other_version(const struct usher_operation *command,
                                 const struct usher_result *reply)
{
    const struct usher__noun *noun = usher__noun((unsigned)reply->noun);
    int64_t version;

    if (reply->status != USHER_STALE || noun == NULL || (command->given & noun->if_version) == 0)
        return false;
    memcpy(&version, (const char *)command + noun->if_version_at, sizeof version);
    return (uint64_t)version != reply->version;
}

void usher__answer_json(FILE *out, const struct usher_operation *command,
                        const struct usher_result *reply)
{
    struct json j = { out, false };

    if (usher__answer_failed(reply->status)) {
        putc('{', out);
        usher__json_text(&j, "status", usher_status_word(reply->status));
        usher__json_text(&j, "message",
                         reply->message[0] != '\0' ? reply->message
                                                   : usher_status_text(reply->status));
        if (reply->status == USHER_LOST)
            usher__json_uint(&j, "from", reply->version);
    } else {
        usher__answer_begin(&j, reply->status, reply->epoch, reply->version, reply->due_ms);
        if (usher__answer_other_version(command, reply))
            ; /* that is all */
        else if (reply->noun == USHER_ID)
            usher__answer_id_json(&j, command, reply);
        else if (reply->noun == USHER_ROOM)
            usher__answer_room_json(&j, command, reply);
        else if (reply->noun == USHER_SERIAL)
            usher__answer_serial_json(&j, command, reply);
        else if (reply->noun == USHER_QUEUE)
            usher__answer_queue_json(&j, command, reply);
        else
            number(&j, command, reply);
        if (reply->repeated)
            usher__json_bool(&j, "repeated", true);
        if (command->wait != 0)
            usher__json_uint(&j, "replicas", reply->replicas);
    }
    fputs("}\n", out);
}
