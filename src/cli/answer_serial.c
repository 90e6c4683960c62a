/* SPDX-License-Identifier: MIT */
/* Answers about serials, for people. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "cli/answer.h"
#include "core/verbs.h"

/* What a store says may be anything. */
static const char *word(const char *const *words, int64_t i)
{
    int64_t n = 0;

    while (words[n] != NULL && n != i)
        n++;
    return words[n] != NULL ? words[n] : "?";
}

/* The serial @i of the reply as a text. */
static struct usher_text serial_at(const struct usher_result *reply, uint64_t i,
                                   char to[USHER_SERIAL_TEXT_MAX + 1])
{
    struct usher_text text = { to, usher_serial_text(reply, i, to, USHER_SERIAL_TEXT_MAX + 1) };

    return text;
}

/* `show` of one number */
static bool of_number(const struct usher_operation *command)
{
    return command->verb == USHER_SERIAL_SHOW && command->arg.serial.serial.data != NULL;
}

static void plain_form(FILE *out, const struct usher_result *reply)
{
    struct usher_serial_form f;

    if (!usher_serial_form_of(reply, &f))
        return;
    fputs(": prefix=", out);
    usher__plain_text(out, f.prefix, strlen(f.prefix));
    fputs(" suffix=", out);
    usher__plain_text(out, f.suffix, strlen(f.suffix));
    fputs(" date=", out);
    usher__plain_text(out, f.date, strlen(f.date));
    fprintf(out,
            " width=%" PRId64 " base=%" PRId64 " start=%" PRId64 " step=%" PRId64 " radix=%" PRId64
            " check=%s max=%" PRId64 " critical=%" PRId64 " batch=%" PRId64
            " reset=%s zone=%" PRId64 " stamp=%s mode=%s overflow=%s lease=%" PRId64
            " requests=%" PRId64 " authority=%" PRId64,
            f.width, f.base, f.start, f.step, f.radix, word(usher__check_words, f.check), f.max,
            f.critical, f.batch, word(usher__reset_words, f.reset), f.zone_min,
            word(usher__stamp_words, f.stamp), word(usher__mode_words, f.mode),
            word(usher__overflow_words, f.overflow), f.lease_ms, f.requests, f.authority);
}

static void plain_serial(FILE *out, const char *before, const struct usher_result *reply,
                         uint64_t i)
{
    char text[USHER_SERIAL_TEXT_MAX + 1];
    struct usher_text serial = serial_at(reply, i, text);

    fputs(before, out);
    usher__plain_text(out, serial.data, serial.size);
}

/* How it stands. */
static void plain_number(FILE *out, const char *before, const struct usher_result *reply)
{
    const struct usher_serial_result *n = &reply->of.serial;
    char time[CLI_TIME_MAX];

    plain_serial(out, before, reply, 0);
    fprintf(out, " is %s", usher_serial_state_word(n->rows->state));
    if (n->rows->owner.size != 0) {
        fputs(" by ", out);
        usher__plain_text(out, n->rows->owner.data, n->rows->owner.size);
    }
    if (n->token != 0)
        fprintf(out, " under token %" PRIu64, n->token);
    if (n->until_ms != 0)
        fprintf(out, " until %s", usher__time_text(time, n->until_ms));
}

static void plain_holds(FILE *out, const struct usher_result *reply)
{
    const struct usher_serial_result *n = &reply->of.serial;
    int64_t numbers = 0;
    uint64_t at = 0;

    for (size_t i = 0; i < n->n_rows; i++)
        numbers += n->rows[i].n;
    fprintf(out, ": %" PRId64 " number%s", numbers, numbers == 1 ? "" : "s");
    for (size_t i = 0; i < n->n_rows; at += (uint64_t)n->rows[i++].n) {
        plain_serial(out, "; ", reply, at);
        if (n->rows[i].n > 1)
            fprintf(out, " and the %" PRId64 " behind it are", n->rows[i].n - 1);
        else
            fputs(" is", out);
        fprintf(out, " %s", usher_serial_state_word(n->rows[i].state));
        if (n->rows[i].state == USHER_SERIAL_STATE_LOST)
            fprintf(out, " under token %" PRIu64, n->rows[i].token);
        if (n->rows[i].owner.size != 0) {
            fputs(" by ", out);
            usher__plain_text(out, n->rows[i].owner.data, n->rows[i].owner.size);
        }
    }
    if (n->more)
        fputs("; there are more", out);
}

static void plain_done(FILE *out, const struct usher_operation *command,
                       const struct usher_result *reply)
{
    const struct usher_serial_result *n = &reply->of.serial;
    const struct usher_serial_stock *s = &n->of.stock;
    char time[CLI_TIME_MAX];

    if (of_number(command)) {
        plain_number(out, ": ", reply);
        return;
    }
    switch (command->verb) {
    case USHER_SERIAL_RULE:
    case USHER_SERIAL_SHOW:
        plain_form(out, reply);
        break;
    case USHER_SERIAL_FILL:
    case USHER_SERIAL_TICK:
        fprintf(out, ": %" PRId64 " made, %s", n->count,
                n->left > 0 ? "more are possible" : "that is all");
        if (n->left > 0)
            fprintf(out, " (%" PRId64 ")", n->left);
        break;
    case USHER_SERIAL_TAKE:
        for (int64_t i = 0; i < n->count; i++)
            plain_serial(out, i > 0 ? " " : ": ", reply, (uint64_t)i);
        break;
    case USHER_SERIAL_CHECK:
        fprintf(out,
                ": %" PRId64 " available, %" PRId64 " taken in the last half hour, %" PRId64
                " in the last hour; critical=%" PRId64 " batch=%" PRId64 " cur=%" PRId64
                " max=%" PRId64,
                s->available, s->recent, s->longterm, s->critical, s->batch, n->cur, n->max);
        if (s->held != 0 || s->returned != 0)
            fprintf(out, "; %" PRId64 " held, %" PRId64 " returned", s->held, s->returned);
        if (s->debt != 0)
            fprintf(out, "; the authority has not heard of numbers up to %" PRId64, s->debt);
        break;
    case USHER_SERIAL_SETMAX:
        fprintf(out, ": max is %" PRId64, n->max);
        break;
    case USHER_SERIAL_SETMAXCUR:
        fprintf(out, ": cur is %" PRId64 ", max is %" PRId64, n->cur, n->max);
        break;
    case USHER_SERIAL_PARSE:
        fprintf(out, ": number %" PRId64 ", value %" PRId64, n->of.parts.number, n->of.parts.value);
        if (n->of.parts.date_size > 0) {
            fputs(", date ", out);
            usher__plain_text(out, command->arg.serial.serial.data + n->of.parts.date_at,
                              (size_t)n->of.parts.date_size);
        }
        if (n->of.parts.check != 0)
            fprintf(out, ", check digit %c", (char)n->of.parts.check);
        break;
    case USHER_SERIAL_RESERVE:
    case USHER_SERIAL_CONFIRM:
    case USHER_SERIAL_RETURN:
    case USHER_SERIAL_VOID:
        plain_serial(out, ": ", reply, 0);
        if (n->n_rows == 1)
            fprintf(out, " is %s", usher_serial_state_word(n->rows->state));
        if (n->until_ms != 0)
            fprintf(out, " under token %" PRIu64 " until %s", n->token,
                    usher__time_text(time, n->until_ms));
        break;
    case USHER_SERIAL_HOLDS:
        plain_holds(out, reply);
        break;
    case USHER_SERIAL_SWEEP:
        fprintf(out, ": %" PRId64 " expired%s", n->count, n->more ? ", more are to do" : "");
        break;
    case USHER_SERIAL_GRANT:
        fprintf(out, ": up to %" PRId64, n->granted);
        break;
    default:
        break;
    }
}

void usher__answer_serial_plain(FILE *out, const struct usher_operation *command,
                                const struct usher_result *reply)
{
    switch (reply->status) {
    case USHER_OK:
    case USHER_SAME:
        plain_done(out, command, reply);
        break;
    case USHER_MISSING:
        fputs(": there is no rule ", out);
        usher__plain_text(out, command->scope.data, command->scope.size);
        break;
    case USHER_STALE:
        if (command->verb == USHER_SERIAL_GRANT) {
            fputs(": there is another period by now", out);
            break;
        }
        fputs(": ", out);
        usher__plain_text(out, command->arg.serial.serial.data, command->arg.serial.serial.size);
        fprintf(out, " is not held under token %" PRIu64, command->arg.serial.token);
        if (reply->of.serial.n_rows == 1)
            plain_number(out, ": ", reply);
        break;
    default:
        if (reply->of.serial.why != USHER_SERIAL_WHY_NONE)
            fprintf(out, ": %s", usher_serial_why_text(reply->of.serial.why));
        break;
    }
}
