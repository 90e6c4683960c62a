/* SPDX-License-Identifier: MIT */
/* Answers for people: one line, free to change; programs read the other form. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>
#include <time.h>

const char *usher__time_text(char to[CLI_TIME_MAX], int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char text[24];

    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        (void)snprintf(to, CLI_TIME_MAX, "%" PRId64, ms);
    else
        (void)snprintf(to, CLI_TIME_MAX, "%s.%03dZ", text, (int)(ms % 1000));
    return to;
}

static void name(FILE *out, const char *before, const struct usher_text *text)
{
    if (text->size == 0)
        return;
    fputs(before, out);
    usher__plain_text(out, text->data, text->size);
}

static bool busy(enum usher_number_state state)
{
    return state == USHER_NUMBER_STATE_BUSY_UP || state == USHER_NUMBER_STATE_BUSY_DOWN;
}

static void until(FILE *out, enum usher_number_state state, int64_t ms)
{
    char text[CLI_TIME_MAX];

    if (ms != 0)
        fprintf(out, ", %s until %s", busy(state) ? "held" : "rests", usher__time_text(text, ms));
    else if (busy(state))
        fputs(", held until hangup", out);
}

static void next(FILE *out, const char *before, int64_t ms)
{
    char text[CLI_TIME_MAX];

    if (ms >= 0)
        fprintf(out, "%s%s", before, usher__time_text(text, ms));
}

static void row(FILE *out, const struct usher_number_result_row *r)
{
    name(out, "", &r->number);
    fprintf(out, " %s", usher_number_state_word(r->state));
    name(out, ", group ", &r->group);
    name(out, ", owner ", &r->owner);
    name(out, ", node ", &r->node);
    if (busy(r->state))
        fprintf(out, ", token %" PRIu64 ", for %" PRId64 " s", r->token, r->age_ms / 1000);
    until(out, r->state, r->until_ms);
    if (r->calls_today != 0)
        fprintf(out, ", %" PRId64 " calls today%s", r->calls_today,
                r->capped ? ", no more of them" : "");
    if (r->used_ms != 0)
        next(out, ", last used ", r->used_ms);
}

static void call(FILE *out, const struct usher_operation *command, const struct usher_result *reply)
{
    static const char *const empty[] = {
        [USHER_NUMBER_WHY_NO_NUMBER] = "there are no numbers",
        [USHER_NUMBER_WHY_BUSY] = "all are busy",
        [USHER_NUMBER_WHY_DOWN] = "none is registered",
        [USHER_NUMBER_WHY_RESTING] = "all rest",
        [USHER_NUMBER_WHY_CAPPED] = "all have had their calls of the day",
    };
    const struct usher_number_result *n = &reply->of.number;
    struct usher_text number = { n->number, n->number_size };

    switch (reply->status) {
    case USHER_OK:
    case USHER_SAME:
        name(out, ": ", &number);
        fprintf(out, ", token %" PRIu64, n->token);
        until(out, n->state, n->until_ms);
        break;
    case USHER_EMPTY:
        fprintf(out, ": %s",
                (unsigned)n->why <= USHER_NUMBER_WHY_CAPPED ? empty[n->why] : "nothing is free");
        next(out, ", one may be free at ", n->next_ms);
        break;
    default:
        name(out, ": ", &command->arg.number.number);
        fprintf(out, " is %s",
                reply->status != USHER_REFUSED       ? usher_number_state_word(n->state)
                : n->why == USHER_NUMBER_WHY_RESTING ? "resting"
                : n->why == USHER_NUMBER_WHY_CAPPED  ? "idle+up, but has had its calls of the day"
                                                     : usher_number_state_word(n->state));
        next(out, ", may be free at ", n->next_ms);
        break;
    }
}

static void number(FILE *out, const struct usher_operation *command,
                   const struct usher_result *reply)
{
    const struct usher_number_result *n = &reply->of.number;
    const struct usher_number_result_statistics *s = &n->of.stats;
    const struct usher_number_result_settings *set = &n->of.settings;
    bool there = reply->status != USHER_MISSING;
    struct usher_text after = { n->number, n->number_size };

    if (!there && reply->epoch == 0) {
        fputs(": there is no pool ", out);
        usher__plain_text(out, command->scope.data, command->scope.size);
        return;
    }
    switch (command->verb) {
    case USHER_NUMBER_CALL:
        call(out, command, reply);
        break;
    case USHER_NUMBER_FREE:
        if (there)
            fprintf(out, ": %" PRIu64 " freed%s", n->count, n->more ? ", more are to do" : "");
        break;
    case USHER_NUMBER_SWEEP:
        if (there)
            fprintf(out, ": %" PRIu64 " expired%s", n->count, n->more ? ", more are to do" : "");
        break;
    case USHER_NUMBER_DROP:
        fprintf(out, ": %" PRIu64 " dropped%s", n->count, n->more ? ", more are to do" : "");
        break;
    case USHER_NUMBER_SHOW:
        if (there && n->n_rows == 1) {
            fputs(": ", out);
            row(out, n->rows);
        } else {
            name(out, ": ", &command->arg.number.number);
        }
        break;
    case USHER_NUMBER_LIST:
        if (!there)
            break;
        fprintf(out, ": %zu number%s", n->n_rows, n->n_rows == 1 ? "" : "s");
        for (size_t i = 0; i < n->n_rows; i++) {
            fputs("; ", out);
            row(out, &n->rows[i]);
        }
        if (n->more)
            name(out, "; more after ", &after);
        break;
    case USHER_NUMBER_STATS:
        if (there)
            fprintf(out,
                    ": %" PRId64 " numbers: %" PRId64 " idle+up (%" PRId64 " resting, %" PRId64
                    " capped), %" PRId64 " idle+down, %" PRId64 " busy+up, %" PRId64
                    " busy+down; today %" PRId64 " calls, %" PRId64
                    " refused; longest hold %" PRId64 " s",
                    s->total, s->idle_up, s->resting, s->capped, s->idle_down, s->busy_up,
                    s->busy_down, s->calls_today, s->refused_today, s->longest_hold_ms / 1000);
        break;
    case USHER_NUMBER_SET:
        if (there)
            fprintf(out,
                    ": order=%s lease=%" PRId64 " rest=%" PRId64 " daily=%" PRId64 " zone=%" PRId64
                    " strict=%" PRId64 " sticky=%" PRId64 " sticky-max=%" PRId64
                    " requests=%" PRId64,
                    usher_number_order_word((enum usher_number_order)set->order), set->lease_ms,
                    set->rest_ms, set->daily, set->zone_min, set->strict, set->sticky_ms,
                    set->sticky_max, set->requests);
        break;
    case USHER_NUMBER_RENEW:
        if (command->arg.number.number.data == NULL) {
            if (there)
                fprintf(out, ": %" PRIu64 " renewed", n->count);
            if (n->more)
                name(out, ", more after ", &after);
            break;
        }
        /* fall through */
    default: /* add, del, reg, unreg, hangup, renew, lift */
        name(out, ": ", &command->arg.number.number);
        fprintf(out, " is %s", usher_number_state_word(n->state));
        if (usher__answer_has_token(command, reply))
            fprintf(out, " under token %" PRIu64, n->token);
        if (command->verb == USHER_NUMBER_HANGUP && reply->status == USHER_REFUSED &&
            busy(n->state) && (command->given & USHER_GIVEN_TOKEN) == 0)
            fputs(", and the pool is strict: token= must be given", out);
        if (command->verb == USHER_NUMBER_HANGUP || command->verb == USHER_NUMBER_RENEW)
            until(out, n->state, n->until_ms);
        break;
    }
}

void usher__answer_plain(FILE *out, const struct usher_operation *command,
                         const struct usher_result *reply)
{
    fputs(usher_status_word(reply->status), out);
    if (usher__answer_other_version(command, reply))
        fprintf(out, ": it has version %" PRIu64, reply->version);
    else if (reply->noun == USHER_ID)
        usher__answer_id_plain(out, command, reply);
    else if (reply->noun == USHER_ROOM)
        usher__answer_room_plain(out, command, reply);
    else if (reply->noun == USHER_SERIAL)
        usher__answer_serial_plain(out, command, reply);
    else if (reply->noun == USHER_QUEUE)
        usher__answer_queue_plain(out, command, reply);
    else
        number(out, command, reply);
    if (reply->repeated)
        fputs(" (the first answer again)", out);
    if (command->wait != 0 && !usher__answer_failed(reply->status))
        fprintf(out, "; %" PRIu32 " replica%s", reply->replicas, reply->replicas == 1 ? "" : "s");
    putc('\n', out);
}
