/* SPDX-License-Identifier: MIT */
/* Answers about ids, for people. */
#include "config.h"

#include "cli/answer.h"

#include <inttypes.h>

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
    const struct usher_id_settings *s = &a->of.settings;

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
