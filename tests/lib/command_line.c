/* SPDX-License-Identifier: MIT */
/* See command_line.h. */
#include "config.h"

#include "lib/command_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/parse.h"

/* The program's own words besides commands; a parser suggests them after a typing error. */
const struct cli_program usher__cli_programs[] = { { NULL, NULL, NULL, NULL } };
const struct cli_verb usher__cli_verbs[] = { { NULL, NULL, NULL, NULL, NULL } };

void line_read(struct line *l, const char *text)
{
    char message[CLI_MESSAGE_MAX] = "quotes";

    memset(l, 0, sizeof *l);
    if (usher__words_split(&l->words, text, strlen(text)) == NULL &&
        usher__parse_command(l->words.word, l->words.n, &l->c, &l->block, message))
        return;
    (void)fprintf(stderr, "%s: %s\n", text, message);
    abort();
}

void line_done(struct line *l)
{
    usher__words_done(&l->words);
    free(l->block);
}

void line_of_verb(char *to, size_t size, uint32_t verb, const char *scope)
{
    struct usher_verb_about about = { .size = sizeof about };
    uint32_t field;
    bool must = true;
    size_t n;

    if (!usher_about_verb(verb, &about))
        abort();
    n = (size_t)snprintf(to, size, "%s%s%s", about.noun, *about.noun != '\0' ? " " : "",
                         about.word);
    if ((about.flags & USHER_VERB_WHOLE) == 0)
        n += (size_t)snprintf(to + n, size - n, " %s", scope);
    for (size_t i = 0; (field = usher_verb_takes(verb, i, &must)) != 0 && must; i++) {
        struct usher_argument_about arg = { .size = sizeof arg };
        const struct usher_field_about *f = usher_about_field(field);

        if (n >= size || !usher_about_argument(verb, field, &arg))
            abort();
        if (f->type == USHER_TYPE_TEXT || f->type == USHER_TYPE_BYTES)
            n += (size_t)snprintf(to + n, size - n, " x");
        else if (f->type == USHER_TYPE_CODE)
            n += (size_t)snprintf(to + n, size - n, " %s",
                                  usher_code_word((enum usher_noun)(verb >> 8), field, arg.max));
        else
            n += (size_t)snprintf(to + n, size - n, " %" PRId64, arg.min > 1 ? arg.min : 1);
    }
    if (n >= size)
        abort();
}

enum usher_status line_execute(struct usher_engine *e, struct usher_result *ret_reply,
                               const char *format, ...)
{
    char text[1024];
    struct line l;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    line_read(&l, text);
    (void)usher_operate(e, &l.c, ret_reply, 1);
    line_done(&l);
    return ret_reply->status;
}

char *line_answer(const struct usher_operation *c, const struct usher_result *r)
{
    struct usher_result copy = *r;
    char *text = NULL, epoch[17];
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (f == NULL)
        abort();
    copy.noun = (enum usher_noun)((unsigned)c->verb >> 8); /* a model does not say it */
    copy.epoch = 0;
    copy.repeated = false;
    copy.due_ms = USHER_NEVER;
    usher__answer_json(f, c, &copy);
    if (fclose(f) != 0)
        abort();
    /* names of rooms have it, too, as the store keeps them */
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, r->epoch);
    for (char *p = text; r->epoch != 0 && (p = strstr(p, epoch)) != NULL; p += 16)
        memset(p, '0', 16);
    return text;
}

uint64_t line_execute_hold(struct usher_engine *e, int64_t origin, enum usher_status want,
                           int64_t at, int64_t until, const char *format, ...)
{
    struct usher_result r;
    char line[256];
    uint64_t token;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    line_execute(e, &r, "number %s now=%" PRId64, line, origin + at);
    if (r.status != want || r.of.number.until_ms != (until != 0 ? origin + until : 0)) {
        (void)fprintf(stderr, "%s at %" PRId64 ": %s (%s) until %" PRId64 "\n", line, at,
                      usher_status_word(r.status), r.message, r.of.number.until_ms - origin);
        abort();
    }
    token = r.of.number.token;
    usher_result_done(&r);
    return token;
}
