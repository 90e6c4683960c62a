/* SPDX-License-Identifier: MIT */
/* Answers about ids, in both forms: see answer_json.c, answer_plain.c. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>

/* null where @value is below zero: there is none. */
static void key_id(struct json *j, const char *key, int64_t value)
{
    if (value >= 0) {
        usher__json_int(j, key, value);
        return;
    }
    usher__json_key(j, key);
    fputs("null", j->out);
}

static void key_token(struct json *j, uint64_t token)
{
    usher__json_key(j, "token");
    fprintf(j->out, "\"%" PRIu64 "\"", token);
}

static void key_segment(struct json *j, const struct usher_id_result *a)
{
    key_id(j, "next", a->next);
    key_id(j, "max", a->max);
    usher__json_int(j, "step", a->step);
}

static void settings_json(struct json *j, const struct usher_id_result_settings *s)
{
    usher__json_int(j, "start", s->start);
    usher__json_int(j, "by", s->by);
    usher__json_int(j, "limit", s->limit);
    usher__json_int(j, "step_first", s->step);
    usher__json_int(j, "step_max", s->step_max);
    usher__json_int(j, "life", s->life_ms);
    usher__json_int(j, "managed", s->managed);
    usher__json_int(j, "requests", s->requests);
    if (s->why != USHER_ID_WHY_NONE)
        usher__json_text(j, "why", usher_id_why_word(s->why));
}

static void row_json(struct json *j, const struct usher_id_result_row *r)
{
    usher__json_int(j, "start", r->start);
    usher__json_int(j, "by", r->by);
    usher__json_int(j, "limit", r->limit);
    usher__json_int(j, "issued", r->issued);
    usher__json_int(j, "segments", r->segments);
    usher__json_int(j, "began", r->began_ms);
    usher__json_int(j, "lasted", r->lasted_ms);
    usher__json_int(j, "managed", r->managed);
}

void usher__answer_id_json(struct json *j, const struct usher_operation *command,
                           const struct usher_result *reply)
{
    const struct usher_id_result *a = &reply->of.id;

    if (reply->status == USHER_MISSING || command->verb == USHER_ID_DELETE)
        return;
    switch (command->verb) {
    case USHER_ID_NEXT:
        if (reply->status != USHER_EMPTY) {
            key_id(j, "first", a->first);
            usher__json_int(j, "n", a->n);
        }
        if (reply->status == USHER_OK) {
            usher__json_int(j, "by", a->by);
            key_token(j, a->token);
        } else {
            key_segment(j, a);
        }
        break;
    case USHER_ID_RETURN:
    case USHER_ID_INSTALL:
        key_id(j, "first", a->first);
        usher__json_int(j, "n", a->n);
        key_segment(j, a);
        if (command->verb == USHER_ID_RETURN && reply->status == USHER_STALE)
            key_token(j, a->token);
        break;
    case USHER_ID_SHOW:
        key_segment(j, a);
        if (a->n_rows == 1)
            row_json(j, a->rows);
        break;
    default: /* create, set */
        key_segment(j, a);
        settings_json(j, &a->of.settings);
        break;
    }
}

static void segment_plain(FILE *out, const struct usher_id_result *a)
{
    if (a->next < 0)
        fputs("the limit is reached", out);
    else
        fprintf(out, "next %" PRId64, a->next);
    if (a->max < 0)
        fputs(", no segment yet", out);
    else
        fprintf(out, ", segment up to %" PRId64, a->max);
    fprintf(out, ", step %" PRId64, a->step);
}

/* Why; what there is stands behind it. */
static const char *turned_down(enum usher_verb verb, const struct usher_id_result *a)
{
    switch (verb) {
    case USHER_ID_CREATE:
        return "it is there with other settings: ";
    case USHER_ID_SET:
        return a->of.settings.why == USHER_ID_WHY_CLASS
                   ? "by can only become a multiple of itself, or ids of another start would come: "
                   : "ids never go back: ";
    case USHER_ID_NEXT:
        return "the segment has not so many, the next one is to be installed: ";
    case USHER_ID_INSTALL:
        return "it is not managed, or has given out ids above: ";
    default:
        return "";
    }
}

void usher__answer_id_plain(FILE *out, const struct usher_operation *command,
                            const struct usher_result *reply)
{
    const struct usher_id_result *a = &reply->of.id;
    const struct usher_id_result_settings *s = &a->of.settings;

    if (reply->status == USHER_MISSING) {
        fputs(": there is no dispenser ", out);
        usher__plain_text(out, command->scope.data, command->scope.size);
    }
    if (reply->status == USHER_MISSING || command->verb == USHER_ID_DELETE)
        return;
    fputs(": ", out);
    if (reply->status == USHER_REFUSED || reply->status == USHER_EMPTY)
        fputs(turned_down(command->verb, a), out);
    switch (command->verb) {
    case USHER_ID_NEXT:
        if (reply->status == USHER_OK && a->n == 1)
            fprintf(out, "%" PRId64, a->first);
        else if (reply->status == USHER_OK)
            fprintf(out, "%" PRId64 " to %" PRId64 ", %" PRId64 " ids", a->first,
                    a->first + (a->n - 1) * a->by, a->n);
        else if (reply->status == USHER_FULL && a->n > 0)
            fprintf(out, "%" PRId64 " are left, from %" PRId64 " on", a->n, a->first);
        else
            segment_plain(out, a);
        break;
    case USHER_ID_SHOW:
        segment_plain(out, a);
        if (a->n_rows == 1)
            fprintf(out,
                    ", by %" PRId64 ", limit %" PRId64 ", %" PRId64 " issued, %" PRId64
                    " segments%s",
                    a->rows->by, a->rows->limit, a->rows->issued, a->rows->segments,
                    a->rows->managed != 0 ? ", managed" : "");
        break;
    case USHER_ID_RETURN:
    case USHER_ID_INSTALL:
        segment_plain(out, a);
        break;
    default: /* create, set */
        segment_plain(out, a);
        fprintf(out,
                ", start=%" PRId64 " step=%" PRId64 " by=%" PRId64 " limit=%" PRId64
                " step-max=%" PRId64 " life=%" PRId64 " managed=%" PRId64 " requests=%" PRId64,
                s->start, s->step, s->by, s->limit, s->step_max, s->life_ms, s->managed,
                s->requests);
        break;
    }
}
