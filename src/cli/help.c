/* SPDX-License-Identifier: MIT */
/*
 * usher help [TOPIC]: nouns, verbs and their arguments from the tables, and the texts of
 * help_topics.c.  A topic is a word there, a noun, a verb, or a noun with a verb.
 */
#include "config.h"

#include "cli/help.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "cli/cli.h"
#include "parse/suggest.h"
#include "cli/json.h"
#include "parse/parse.h"
#include "core/machine.h"
#include "core/verbs.h"

/* ---- arguments -------------------------------------------------------------------- */

/* Write @word in capitals. */
static void named(char *to, size_t size, const char *word)
{
    size_t n = 0;

    for (; word[n] != '\0' && n + 1 < size; n++)
        to[n] = (char)(word[n] >= 'a' && word[n] <= 'z' ? word[n] - 'a' + 'A' : word[n]);
    to[n] = '\0';
}

#define VALUE_MAX 90

/* Write the placeholder for a value of @arg in usage lines. */
static void value_of(const struct usher__arg *arg, char to[VALUE_MAX])
{
    size_t n = 0;

    if (arg->type == USHER__ARG_WORD)
        for (int64_t i = arg->min; i <= arg->max; i++)
            n +=
                (size_t)snprintf(to + n, VALUE_MAX - n, i > arg->min ? "|%s" : "%s", arg->words[i]);
    else if (arg->type == USHER__ARG_GROUPS)
        (void)snprintf(to, VALUE_MAX, "A,B,*");
    else if (arg->type < USHER__ARG_INT || arg->type == USHER__ARG_TOKEN)
        named(to, VALUE_MAX, arg->word);
    else if (arg->max == 1)
        (void)snprintf(to, VALUE_MAX, arg->min == 1 ? "1" : "0|1");
    else
        switch (usher_about_field(arg->code)->type) {
        case USHER_TYPE_MS:
        case USHER_TYPE_TIME:
            (void)snprintf(to, VALUE_MAX, "MS");
            break;
        case USHER_TYPE_MIN:
            (void)snprintf(to, VALUE_MAX, "MIN");
            break;
        default:
            (void)snprintf(to, VALUE_MAX, "N");
            break;
        }
}

static bool must(const struct usher__verb *verb, const struct usher__arg *arg)
{
    return arg->type == USHER__ARG_TOKEN && (verb->flags & USHER__NEEDS_TOKEN) != 0 &&
           (verb->flags & USHER__PLACED) == 0;
}

#define WIDTH 92

/* Print a word of a usage line, on a new line if it does not fit.  Return the column after it. */
static int usage_word(FILE *out, int column, const char *before, const char *word,
                      const char *value, const char *behind)
{
    int size = snprintf(NULL, 0, " %s%s%s%s", before, word, value, behind);

    if (column + size > WIDTH)
        column = fprintf(out, "\n         ") - 1;
    return column + fprintf(out, " %s%s%s%s", before, word, value, behind);
}

static void usage(FILE *out, const struct usher__noun *noun, const struct usher__verb *verb)
{
    int column = noun->whole ? fprintf(out, "%s", verb->word)
                             : fprintf(out, "%s %s %s", noun->word, verb->word, noun->scope);
    char key[32], value[VALUE_MAX];

    for (unsigned i = 0; i < noun->n_args; i++) {
        value_of(&noun->args[i], value);
        if ((verb->order >> i & 1u) != 0)
            column = usage_word(out, column, "", "", value, "");
    }
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        if ((verb->keys >> i & 1u) == 0)
            continue;
        if (arg->type == USHER__ARG_FIELDS) {
            column = usage_word(out, column, "[", "FIELD=VALUE", "...", "]");
            continue;
        }
        value_of(arg, value);
        if ((verb->flags & USHER__PLACED) != 0 && (verb->keys & ((UINT64_C(1) << i) - 1)) == 0) {
            column = usage_word(out, column, "[", value, "", "]");
            continue;
        }
        (void)snprintf(key, sizeof key, "%s=", arg->word);
        if (must(verb, arg))
            column = usage_word(out, column, "", key, value, "");
        else
            column = usage_word(out, column, "[", key, value, "]");
    }
    putc('\n', out);
}

/* ---- one verb --------------------------------------------------------------------- */

/* The rows of the transition table for the event @word.  False: there is no such event. */
static bool moves(FILE *out, const struct usher__machine *m, const char *word)
{
    bool first = true;

    for (unsigned i = 0; i < m->n_rows; i++) {
        const struct usher__machine_row row = m->rows[i];

        if (strcmp(m->event_words[row.event], word) != 0)
            continue;
        if (first)
            fprintf(out, "\n  %-10s %-8s %-10s %s\n", "from", "given", "to", "answer");
        first = false;
        fprintf(out, "  %-10s %-8s %-10s %-8s", m->state_words[row.from], m->guard_words[row.guard],
                m->state_words[row.to], usher_status_word((enum usher_status)row.status));
        fprintf(out, row.why[0] != '\0' ? " (%s)\n" : "%s\n", row.why);
    }
    return !first;
}

/* Print the transitions of @verb, if the noun has a machine whose events are verbs. */
static void help_moves(FILE *out, const struct usher__noun *noun, const struct usher__verb *verb)
{
    const struct usher__machine *const *m = usher__machines;
    const struct help_moves *of = usher__help_moves;

    while (of->machine != NULL && strcmp(of->machine, noun->word) != 0)
        of++;
    if (of->machine == NULL)
        return;
    while (strcmp((*m)->word, of->machine) != 0)
        m++;
    if (moves(out, *m, verb->word))
        fputs(of->given, out);
    if (strcmp(of->verb, verb->word) == 0) {
        fputs(of->text, out);
        (void)moves(out, *m, of->event);
    }
}

#define RANGE_MAX 120

/* Write @ms as a duration with a unit. */
static int duration(char *to, size_t size, int64_t ms)
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = { { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' }, { 1000, 's' } };

    for (size_t i = 0; i < sizeof units / sizeof *units && ms != 0; i++)
        if (ms % units[i].ms == 0)
            return snprintf(to, size, "%" PRId64 "%c", ms / units[i].ms, units[i].unit);
    return snprintf(to, size, "%" PRId64, ms);
}

/* Write the range and the default of @arg, or "" if it has neither. */
static void range_of(const struct usher__arg *arg, const struct usher_argument_about *about,
                     char to[RANGE_MAX])
{
    bool word = arg->type == USHER__ARG_WORD; /* the usage line lists all words */
    int n = 0;

    to[0] = '\0';
    if (arg->type < USHER__ARG_INT || arg->type == USHER__ARG_TOKEN)
        return;
    if (usher__arg_is_span(arg))
        n = snprintf(to, RANGE_MAX, "ms, or 90s, 5m, 2h, 1d");
    else if (!word)
        n = snprintf(to, RANGE_MAX, "%" PRId64 " to %" PRId64, about->min, about->max);
    if (about->standard == USHER_NONE)
        return;
    n += snprintf(to + n, RANGE_MAX - (size_t)n, word ? "default " : "; default ");
    if (word)
        (void)snprintf(to + n, RANGE_MAX - (size_t)n, "%s", arg->words[about->standard]);
    else if (usher__arg_is_span(arg))
        (void)duration(to + n, RANGE_MAX - (size_t)n, about->standard);
    else
        (void)snprintf(to + n, RANGE_MAX - (size_t)n, "%" PRId64, about->standard);
}

static void help_verb(FILE *out, const struct usher__noun *noun, const struct usher__verb *verb)
{
    char range[RANGE_MAX];

    fputs("usher ", out);
    usage(out, noun, verb);
    fprintf(out, "\n%s.\n", verb->help);
    if ((verb->order | verb->keys) != 0)
        putc('\n', out);
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        struct usher_argument_about about = { .size = sizeof about };

        if (((verb->order | verb->keys) >> i & 1u) == 0)
            continue;
        (void)usher_about_argument(verb->verb, arg->code, &about);
        range_of(arg, &about, range);
        fprintf(out, "  %-11s %s", arg->word, about.help);
        if (range[0] != '\0')
            fprintf(out,
                    strlen(about.help) + strlen(range) > WIDTH - 10 ? "\n%14s(%s)" : "%.1s(%s)",
                    " ", range);
        putc('\n', out);
    }
    help_moves(out, noun, verb);
    usher__help_answer(out, noun, verb);
}

/* ---- overview --------------------------------------------------------------------- */

/* Print the lines on one of usher__cli_verbs. */
static void help_line(FILE *out, const struct cli_verb *v)
{
    const struct usher__verb *whole;

    if (v->run != NULL) {
        fprintf(out, "  %s %s %s\n      %.*s\n", v->noun, v->word, v->usage,
                (int)strcspn(v->help, "\n"), v->help);
        return;
    }
    whole = usher__whole_verb(v->noun, v->word);
    fputs("  ", out);
    usage(out, usher__noun(whole->verb >> 8), whole);
    fprintf(out, "      %s\n", whole->help);
}

static void help_noun(FILE *out, const struct usher__noun *noun)
{
    for (unsigned i = 0; i < noun->n_verbs; i++) {
        fputs("  ", out);
        usage(out, noun, &noun->verbs[i]);
        fprintf(out, "      %s\n", noun->verbs[i].help);
    }
    for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++)
        if (strcmp(v->noun, noun->word) == 0)
            help_line(out, v);
    fputs("\nEvery command takes now=MS, req=ID and wait=N (`usher help arguments`).\n", out);
}

static void overview(FILE *out)
{
    const struct usher__noun *noun;

    fputs("usher hands out scarce things, each to one holder at a time.\n"
          "\n"
          "  usher [-s STORE] [--json|--csv] NOUN VERB [ARGUMENT...] [key=value...]\n"
          "\n",
          out);
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++) {
        int column = fprintf(out, "  %-8s", noun->word);

        for (unsigned j = 0; j < noun->n_verbs; j++)
            column = usage_word(out, column, "", noun->verbs[j].word, "", "");
        for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++)
            if (strcmp(v->noun, noun->word) == 0)
                column = usage_word(out, column, "", v->word, "", "");
        putc('\n', out);
    }
    fputs("\nOther commands:\n\n", out);
    for (const struct cli_program *p = usher__cli_programs; p->word != NULL; p++)
        fprintf(out, "  %-8s %.*s\n", p->word, (int)strcspn(p->help, "\n"), p->help);
    fputs("\nOptions:\n\n"
          "  -s, --store STORE  memory:, sqlite:PATH, redis://HOST, redis+cluster://HOST\n"
          "                     (default $USHER_STORE, else sqlite:usher.db)\n"
          "  --json             print one JSON object a line\n"
          "  --csv              print a list as CSV, all of its pages (`usher help csv`)\n"
          "  -e                 shell: stop at the first line that is not ok or same\n"
          "  -h, --help         print help, also after a noun, verb or command\n"
          "  --version          print the version and the stores that are built in\n"
          "\nMore: usher help TOPIC, where TOPIC is one of\n\n",
          out);
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        fprintf(out, "  %-10s its verbs; `usher help %s VERB` explains one\n", noun->word,
                noun->word);
    for (const struct help_topic *t = usher__help_topics; t->word != NULL; t++)
        fprintf(out, "  %-10s %s\n", t->word, t->title);
}

/* ---- topics ----------------------------------------------------------------------- */

static bool noun_topic(FILE *out, const struct usher__noun *noun, const char *verb)
{
    if (verb == NULL) {
        help_noun(out, noun);
        return true;
    }
    for (unsigned i = 0; i < noun->n_verbs; i++) {
        if (strcmp(noun->verbs[i].word, verb) == 0) {
            help_verb(out, noun, &noun->verbs[i]);
            return true;
        }
    }
    for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++) {
        if (strcmp(v->noun, noun->word) == 0 && strcmp(v->word, verb) == 0 && v->run == NULL) {
            const struct usher__verb *whole = usher__whole_verb(v->noun, v->word);

            help_verb(out, usher__noun(whole->verb >> 8), whole);
            return true;
        }
        if (strcmp(v->noun, noun->word) == 0 && strcmp(v->word, verb) == 0) {
            int line = (int)strcspn(v->help, "\n");

            fprintf(out, "usher %s %s %s\n\n%.*s.\n%s", v->noun, v->word, v->usage, line, v->help,
                    v->help[line] != '\0' ? v->help + line + 1 : "");
            return true;
        }
    }
    return false;
}

/* Return the name of the topic for which @word is another name, or @word. */
static const char *by_its_name(const char *word)
{
    if (strcmp(word, "store") == 0)
        return "stores";
    if (strcmp(word, "names") == 0)
        return "arguments";
    return word;
}

static bool topic(FILE *out, const char *word, const char *verb)
{
    const struct usher__noun *noun = usher__noun_by_word(word);

    if (noun != NULL && !noun->hidden)
        return noun_topic(out, noun, verb);
    if (verb != NULL)
        return false;
    for (const struct help_topic *t = usher__help_topics; t->word != NULL; t++) {
        if (strcmp(t->word, word) == 0) {
            fputs(t->text, out);
            return true;
        }
    }
    for (const struct cli_program *p = usher__cli_programs; p->word != NULL; p++) {
        if (strcmp(p->word, word) == 0) {
            int line = (int)strcspn(p->help, "\n");

            fprintf(out, "usher %s%s%s\n\n%.*s.\n%s", p->word, *p->usage != '\0' ? " " : "",
                    p->usage, line, p->help, p->help[line] != '\0' ? p->help + line + 1 : "");
            return true;
        }
    }
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        if (noun_topic(out, noun, word))
            return true;
    return false;
}

static int no_topic(const struct cli *cli, const char *word)
{
    struct closest closest = { word, NULL, 0 };
    const struct usher__noun *noun;
    char quoted[PARSE_QUOTE_MAX];

    for (const struct help_topic *t = usher__help_topics; t->word != NULL; t++)
        usher__closest_try(&closest, t->word);
    for (const struct cli_program *p = usher__cli_programs; p->word != NULL; p++)
        usher__closest_try(&closest, p->word);
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++) {
        usher__closest_try(&closest, noun->word);
        for (unsigned j = 0; j < noun->n_verbs; j++)
            usher__closest_try(&closest, noun->verbs[j].word);
    }
    usher__quote(quoted, word);
    if (closest.best != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "no help on `%s`; did you mean `%s`?", quoted,
                               closest.best);
    return usher__cli_fail(cli, USHER_INVALID, "no help on `%s`; `usher help` lists topics",
                           quoted);
}

enum usher_status usher__help_text(const char *const *words, size_t n, char **ret_text,
                                   size_t *ret_size)
{
    FILE *out = open_memstream(ret_text, ret_size);
    bool found = n <= 2;

    if (out == NULL)
        return USHER_NOMEM;
    if (n == 0)
        overview(out);
    else if (found)
        found = topic(out, by_its_name(words[0]), n == 2 ? words[1] : NULL);
    if (fclose(out) == 0 && *ret_text != NULL && found)
        return USHER_OK;
    free(*ret_text);
    *ret_text = NULL;
    return found ? USHER_NOMEM : USHER_MISSING;
}

int usher__cli_help(struct cli *cli, char *const *words, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    const char *topic_words[2] = { n > 1 ? words[1] : NULL, n > 2 ? words[2] : NULL };
    enum usher_status status = usher__help_text(topic_words, n - 1, &text, &size);
    bool found = status == USHER_OK;

    if (status == USHER_NOMEM)
        return usher__cli_fail(cli, USHER_NOMEM, "%s", usher_status_text(USHER_NOMEM));
    if (found && cli->json && !cli->terminal) {
        struct json j = { stdout, false };

        putchar('{');
        usher__json_text(&j, "status", usher_status_word(USHER_OK));
        usher__json_text(&j, "text", text);
        puts("}");
    } else if (found) {
        fwrite(text, 1, size, stdout);
    }
    free(text);
    return found ? 0 : no_topic(cli, words[n == 3 ? 2 : 1]);
}
