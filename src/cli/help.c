/* SPDX-License-Identifier: MIT */
/*
 * usher help [TOPIC]: nouns, verbs and their arguments from the tables, and some prose
 * (help_topics.c).  A topic is a word there, a noun, a verb, or a noun with a verb.
 */
#include "config.h"

#include "cli/help.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "words/closest.h"
#include "cli/json.h"
#include "words/parse.h"
#include "core/number.h"
#include "core/verbs.h"

/* ---- arguments -------------------------------------------------------------------- */

/* What an argument is called in usage lines, and what it does. */
static const struct {
    const char *word;
    enum usher__arg_type type;
    const char *value, *help;
} arguments[] = {
    { "number", USHER__ARG_NAME, "NUMBER", "the number" },
    { "owner", USHER__ARG_NAME, "OWNER", "who holds it: a call, a person" },
    { "node", USHER__ARG_NAME, "NODE",
      "the machine that carries the call; of several: all of its" },
    { "all", USHER__ARG_INT, "1", "every call of the pool" },
    { "group", USHER__ARG_GROUP, "GROUP", "of a new number: an area, a brand" },
    { "group", USHER__ARG_GROUPS, "A,B,*", "groups to take from, tried in order; * is any" },
    { "sticky", USHER__ARG_NAME, "PEER", "prefer the number last used for this peer" },
    { "after", USHER__ARG_NAME, "NEXT", "go on behind this one, as answered: a number or a token" },
    { "token", USHER__ARG_TOKEN, "TOKEN", "as answered with it; if it is not current: stale" },
    { "lease", USHER__ARG_INT, "MS", "a hold ends by itself after this time; 0: never" },
    { "rest", USHER__ARG_INT, "MS", "not given out for this time after a call" },
    { "state", USHER__ARG_WORD, "STATE",
      "only idle+up, idle+down, busy+up, busy+down or busy (both)" },
    { "max", USHER__ARG_INT, "N", "at most so many" },
    { "order", USHER__ARG_WORD, "longest-idle|most-recent|random",
      "which number comes first; those idle already go before" },
    { "daily", USHER__ARG_INT, "N", "calls of a number in a local day; 0: any" },
    { "zone", USHER__ARG_INT, "MIN", "local time, minutes east of UTC" },
    { "strict", USHER__ARG_INT, "0|1", "1: hangup needs the token" },
    { "sticky", USHER__ARG_INT, "MS", "how long the number of a peer is remembered" },
    { "sticky-max", USHER__ARG_INT, "N", "how many peers are remembered" },
    { "requests", USHER__ARG_INT, "N", "how many answers are kept for request ids" },
    { "epoch", USHER__ARG_NAME, "EPOCH", "of the dispenser, as answered: if it is another: stale" },
    { "first", USHER__ARG_WIDE, "FIRST", "the first id of the range" },
    { "n", USHER__ARG_INT, "N", "how many ids" },
    { "start", USHER__ARG_WIDE, "N", "the first id; 1 if not given" },
    { "step", USHER__ARG_INT, "N", "how many ids a segment has; 512 if never given" },
    { "by", USHER__ARG_INT, "N", "the distance of two ids; with start= one of by sites" },
    { "limit", USHER__ARG_WIDE, "N", "no id is larger than this" },
    { "step-max", USHER__ARG_INT, "N", "the step grows to this at most" },
    { "life", USHER__ARG_INT, "MS",
      "the step doubles when a segment lasts less, halves when twice as long; 0: it stays" },
    { "managed", USHER__ARG_INT, "0|1", "1: segments come from an authority, or by install" },
    { "next", USHER__ARG_WIDE, "N", "skip the ids below this one; never back" },
    { "max", USHER__ARG_WIDE, "N", "as shown, of the segment before; not given: there is none" },
    { "member", USHER__ARG_NAME, "MEMBER", "a member of the room" },
    { "member", USHER__ARG_MAYBE, "MEMBER", "who is to have it; '' is nobody" },
    { "role", USHER__ARG_NAME, "ROLE", "a role that one member at a time can have" },
    { "share", USHER__ARG_NAME, "SHARE", "what is shown to the others" },
    { "field", USHER__ARG_NAME, "FIELD", "the name of a field" },
    { "value", USHER__ARG_VALUE, "VALUE", "any bytes" },
    { "if", USHER__ARG_VALUE, "OLD", "only if it is this now ('': nothing), else stale" },
    { "if-version", USHER__ARG_INT, "V", "only if it has this version, else stale" },
    { "capacity", USHER__ARG_INT, "N", "members at most; 0: any" },
    { "linger", USHER__ARG_INT, "MS", "an empty room closes by itself after this time; 0: never" },
    { "ttl", USHER__ARG_INT, "MS", "who is silent for so long is removed; 0: nobody" },
    { "away", USHER__ARG_INT, "MS", "who is silent for so long is away; 0: nobody" },
    { "grace", USHER__ARG_INT, "MS", "behind ttl, how long one may still come back" },
    { "log", USHER__ARG_INT, "N", "how many notices are kept for changes" },
    { "presence", USHER__ARG_INT, "MS",
      "who comes and goes is told together, so late; 0: at once" },
    { "push", USHER__ARG_INT, "0|1",
      "1: Redis publishes each version, on the channel {ROOM}:room" },
    { "ban", USHER__ARG_INT, "MS", "and must not join for so long; 0: a ban ends" },
    { "since", USHER__ARG_INT, "V", "of the changes after this version" },
};

/* The same for queues. */
static const struct {
    const char *name, *value, *help;
} queue_arguments[] = {
    { "AGENT", "AGENT", "who serves users" },
    { "USER", "USER", "who wants to be served" },
    { "ROOM", "ROOM", "as given by login: EPOCH.LOGIN.N, or LOGIN.N" },
    { "LANE", "LANE", "a kind of work; \"default\" if none is named" },
    { "LANES", "A,B", "lanes that the agent serves, in any order; * or none: all" },
    { "AFTER", "NEXT", "go on where a page ended: its next" },
    { "PRIORITY", "P", "larger first; users who name none have 0" },
    { "SINCE", "MS", "arrival, for the place: not later than now; history: ended then or later" },
    { "UNTIL", "MS", "that ended then or earlier" },
    { "CAPACITY", "N", "rooms of the agent" },
    { "LEVEL", "N", "for strategy=level: lower levels first" },
    { "TTL", "MS", "without a sign of life for this time: gone; 0: never" },
    { "TRIGGER", "auto|timer|pull",
      "who brings users and agents together: arrival and idleness, match, pull" },
    { "STRATEGY", "longest-idle|round-robin|fewest-served|least-busy|level|random",
      "which of several open agents is given a user" },
    { "OFFER", "MS", "an agent has to accept within this time; 0: users are seated at once" },
    { "WRAPUP", "MS", "after a visit the agent is given nobody for this time" },
    { "LIMIT", "N", "users who may wait; 0: any" },
    { "MAXWAIT", "MS", "who has waited for this time leaves; 0: never" },
    { "GRACE", "MS", "who was dropped keeps its place for this time" },
    { "REQUEUE", "front|drop", "users of an agent that is gone wait again, or leave" },
    { "HISTORY", "N", "how many ended visits are kept, with archive=0" },
    { "ARCHIVE", "N", "keep ended visits for a history; refuse users while so many wait for it" },
    { "SERVICE", "MS", "service level: share of users seated within this time" },
    { "TOKEN", "TOKEN",
      "finish: of the match, as given by apply or where; if it is another: stale; drain: version up "
      "to which visits are dropped" },
    { "STATE", "waiting|offered|seated|away", "those in this state, not those who wait" },
};

/* The same for serials, where other words mean the same and the same words other things. */
static const struct {
    const char *name; /* of the row in serial_verbs.def */
    const char *value, *help;
} serial_arguments[] = {
    { "SERIAL", "SERIAL", "the serial as printed" },
    { "OWNER", "OWNER", "who holds it: an order, a person, a server" },
    { "PREFIX", "TEXT", "in front of the serial; up to 48 bytes, perhaps none" },
    { "SUFFIX", "TEXT", "behind the serial; up to 48 bytes, perhaps none" },
    { "DATE", "PATTERN", "date behind the prefix: %Y %y %m %d %j %H %M %S %% and other text" },
    { "WIDTH", "N", "digits of the number, zeroes in front; 0: as many as it takes" },
    { "BASE", "N", "serial k has the number base + k * step" },
    { "START", "N", "the first k; 1 if not given" },
    { "STEP", "N", "from one number to the next" },
    { "RADIX", "N", "of the number; digits above 9 are capitals" },
    { "CHECK", "SCHEME",
      "check digit over date and number: none, luhn, mod11-2, mod37-2, damm or verhoeff" },
    { "HIGHEST", "MAX", "the last k that may be made; setmaxcur: up to here they count as taken" },
    { "CRITICAL", "N", "a take that leaves so many or fewer in stock makes more" },
    { "BATCH", "N", "how many are made at once by themselves, at most" },
    { "RESET", "PERIOD", "k begins at start again with each day, month or year; or none" },
    { "ZONE", "MIN", "local time, minutes east of UTC; not so that the day goes back" },
    { "STAMP", "take|fill", "whose date a serial has" },
    { "MODE", "queue|gapfree", "made ahead, or reserved one by one without gaps" },
    { "OVERFLOW", "refuse|widen", "what becomes of numbers with more digits than width" },
    { "LEASE", "MS", "a number held goes out again after this time; 0: never" },
    { "REQUESTS", "N", "how many answers are kept for request ids" },
    { "N", "N", "how many" },
    { "RAISE", "STEP", "max grows by so many" },
    { "TOKEN", "TOKEN", "as given by reserve; if it is not current: stale" },
    { "FROM", "FROM", "the authority's maximum before" },
    { "TO", "TO", "the authority's maximum now" },
    { "PERIOD", "N", "as check answers: only if it is still this one, else stale" },
    { "AUTHORITY", "0|1", "1: nothing is given out that an authority has not granted" },
    { "DEBT", "0|1", "1: by hand, while the authority cannot be reached" },
};

static void describe_serial(const struct usher__arg *arg, const char **ret_value,
                            const char **ret_help)
{
    for (size_t i = 0; i < sizeof serial_arguments / sizeof *serial_arguments; i++) {
        if (strcmp(serial_arguments[i].name, arg->name) == 0) {
            *ret_value = serial_arguments[i].value;
            *ret_help = serial_arguments[i].help;
        }
    }
}

static void describe_queue(const struct usher__arg *arg, const char **ret_value,
                           const char **ret_help)
{
    for (size_t i = 0; i < sizeof queue_arguments / sizeof *queue_arguments; i++) {
        if (strcmp(queue_arguments[i].name, arg->name) == 0) {
            *ret_value = queue_arguments[i].value;
            *ret_help = queue_arguments[i].help;
        }
    }
}

/* The row of @arg; one that is in no row is called by its word. */
static void describe(const struct usher__noun *noun, const struct usher__arg *arg,
                     const char **ret_value, const char **ret_help)
{
    *ret_value = arg->type == USHER__ARG_INT || arg->type == USHER__ARG_WIDE ? "N" : "TEXT";
    *ret_help = arg->word;
    if (noun->noun == USHER_SERIAL) {
        describe_serial(arg, ret_value, ret_help);
        return;
    }
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (arguments[i].type == arg->type && strcmp(arguments[i].word, arg->word) == 0) {
            *ret_value = arguments[i].value;
            *ret_help = arguments[i].help;
        }
    }
    if (noun->noun == USHER_QUEUE)
        describe_queue(arg, ret_value, ret_help);
    if (noun->noun == USHER_ROOM && strcmp(arg->word, "after") == 0) {
        *ret_value = "NEXT";
        *ret_help = "go on where a page ended: its next";
    }
}

static bool must(const struct usher__verb *verb, const struct usher__arg *arg)
{
    return arg->type == USHER__ARG_TOKEN && (verb->flags & USHER__NEEDS_TOKEN) != 0 &&
           (verb->flags & USHER__PLACED) == 0;
}

#define WIDTH 92

/* Returns the column behind it; long lines go on below. */
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
    int column = fprintf(out, "%s %s %s", noun->word, verb->word, noun->scope);
    const char *value, *help;
    char key[32];

    for (unsigned i = 0; i < noun->n_args; i++) {
        describe(noun, &noun->args[i], &value, &help);
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
        describe(noun, arg, &value, &help);
        if ((verb->flags & USHER__PLACED) != 0 && (verb->keys & ((1u << i) - 1)) == 0) {
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
static bool moves(FILE *out, const char *word)
{
    const struct usher__machine *m = &usher__number_machine;
    bool first = true;

    for (unsigned i = 0; i < m->n_rows; i++) {
        const struct usher__machine_row row = m->rows[i];

        if (strcmp(m->event_words[row.event], word) != 0)
            continue;
        if (first)
            fprintf(out, "\n  %-10s %-8s %-10s %s\n", "from", "given", "to", "answer");
        first = false;
        fprintf(out, "  %-10s %-8s %-10s %-8s",
                usher_number_state_word((enum usher_number_state)row.from),
                m->guard_words[row.guard], usher_number_state_word((enum usher_number_state)row.to),
                usher_status_word((enum usher_status)row.status));
        fprintf(out, row.why[0] != '\0' ? " (%s)\n" : "%s\n", row.why);
    }
    return !first;
}

/* What happens to a number in each state. */
static void help_moves(FILE *out, const struct usher__verb *verb)
{
    if (moves(out, verb->word))
        fputs(
            "\n  given: the owner or token of the hold (holder), another one (other), none, none\n"
            "  though the pool is strict (strict), or anything while the number rests\n",
            out);
    if (verb->verb != USHER_NUMBER_RENEW)
        return;
    fputs(
        "\nIf the store has lost that the number was given out (`lost`), owner= takes it back unless\n"
        "somebody else has it: a new hold with a new token, for lease= and of node=.  Whose hold is\n"
        "still there keeps its token and its node.\n",
        out);
    (void)moves(out, usher__number_machine.event_words[USHER__NUMBER_RETAKE]);
}

static void help_verb(FILE *out, const struct usher__noun *noun, const struct usher__verb *verb)
{
    const char *value, *help;

    fputs("usher ", out);
    usage(out, noun, verb);
    fprintf(out, "\n%s.\n", verb->help);
    if ((verb->order | verb->keys) != 0)
        putc('\n', out);
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        if (((verb->order | verb->keys) >> i & 1u) == 0)
            continue;
        if (arg->type == USHER__ARG_FIELDS) {
            fprintf(out, "  %-11s any other key=value, up to %d\n", arg->word,
                    USHER_ROOM_GIVEN_FIELDS_MAX);
            continue;
        }
        describe(noun, arg, &value, &help);
        fprintf(out, "  %-11s %s", arg->word, help);
        if (usher__arg_is_span(arg))
            fputs(" (ms, or 90s, 5m, 2h, 1d)", out);
        else if (arg->type == USHER__ARG_INT || arg->type == USHER__ARG_WIDE)
            fprintf(out, " (%" PRId64 " to %" PRId64 ")", arg->min, usher__arg_max(verb, arg));
        putc('\n', out);
    }
    if (noun->noun == USHER_NUMBER)
        help_moves(out, verb);
}

/* ---- overview --------------------------------------------------------------------- */

static void help_noun(FILE *out, const struct usher__noun *noun)
{
    for (unsigned i = 0; i < noun->n_verbs; i++) {
        fputs("  ", out);
        usage(out, noun, &noun->verbs[i]);
        fprintf(out, "      %s\n", noun->verbs[i].help);
    }
    for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++)
        if (strcmp(v->noun, noun->word) == 0)
            fprintf(out, "  %s %s %s\n      %.*s\n", v->noun, v->word, v->usage,
                    (int)strcspn(v->help, "\n"), v->help);
    fputs("\nEvery command takes now=MS, req=ID and wait=N (`usher help arguments`).\n", out);
}

static void overview(FILE *out)
{
    const struct usher__noun *noun;

    fputs("usher hands out scarce things one at a time, never twice.\n"
          "\n"
          "  usher [-s STORE] [--json] NOUN VERB [ARGUMENT...] [key=value...]\n"
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
          "  -s, --store STORE  memory:, sqlite:PATH, redis://HOST (or $USHER_STORE)\n"
          "  --json             one object a line instead of words for people\n"
          "  -e                 shell: stop at the first line that is not ok\n"
          "  -h, --help         this; behind a noun, a verb or a command: of that one\n"
          "  --version\n"
          "\nMore: usher help TOPIC, where TOPIC is one of\n\n",
          out);
    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        fprintf(out, "  %-10s its verbs, and `usher help %s VERB` for one of them\n", noun->word,
                noun->word);
    for (const struct help_topic *t = usher__help_topics; t->word != NULL; t++)
        fprintf(out, "  %-10s %s\n", t->word, t->title);
}

/* ---- which one -------------------------------------------------------------------- */

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
        if (strcmp(v->noun, noun->word) == 0 && strcmp(v->word, verb) == 0) {
            int line = (int)strcspn(v->help, "\n");

            fprintf(out, "usher %s %s %s\n\n%.*s.\n%s", v->noun, v->word, v->usage, line, v->help,
                    v->help[line] != '\0' ? v->help + line + 1 : "");
            return true;
        }
    }
    return false;
}

/* What a topic may be called as well. */
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
    const struct usher__noun *noun =
        strcmp(word, usher_noun_word(USHER_ROOMS)) != 0 ? usher__noun_by_word(word) : NULL;

    if (noun != NULL)
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

int usher__cli_help(struct cli *cli, char *const *words, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool found = n <= 3;

    if (out == NULL)
        return usher__cli_fail(cli, USHER_NOMEM, "%s", usher_status_text(USHER_NOMEM));
    if (n == 1)
        overview(out);
    else if (found)
        found = topic(out, by_its_name(words[1]), n == 3 ? words[2] : NULL);
    if (fclose(out) != 0 || text == NULL) {
        free(text);
        return usher__cli_fail(cli, USHER_NOMEM, "%s", usher_status_text(USHER_NOMEM));
    }
    if (found && (cli->json || cli->shell) && !cli->terminal) {
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
