/* SPDX-License-Identifier: MIT */
/*
 * Words come from the tables of the nouns, from the usage of the program's own commands, and names
 * from the store.  Usage is read as it is printed:
 *
 *   --word, [key=VALUE]       an option or a key; with "=" it has a value
 *   [--format=a|b]            values, unless they are in capitals
 *   NOUN, NOUN/NAME, TOPIC, VERB
 *                             what stands there; other words in capitals are not known here
 */
#include "config.h"

#include "cli/complete.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/run.h"
#include "core/text.h"
#include "core/verbs.h"

/* ---- words -------------------------------------------------------------------------- */

/* Add @word once.  It is not copied. */
static void guess_try(struct guess *g, const char *word, const char *end)
{
    char whole[sizeof g->common];
    int size = snprintf(whole, sizeof whole, "%s%s", word, end);

    if (size < 0 || (size_t)size >= sizeof whole || strncmp(whole, g->begin, g->size) != 0)
        return;
    for (unsigned i = 0; i < g->n && i < GUESSES; i++)
        if (strcmp(g->all[i].word, word) == 0 && *g->all[i].end == *end)
            return;
    if (g->n < GUESSES) {
        g->all[g->n].word = word;
        g->all[g->n].end = end;
    }
    if (g->n++ == 0) {
        memcpy(g->common, whole, (size_t)size + 1);
        g->common_size = (size_t)size;
        return;
    }
    for (size_t i = 0; i < g->common_size; i++) {
        if (g->common[i] != whole[i]) {
            while (i > 0 && (whole[i] & 0xc0) == 0x80) /* no part of a character */
                i--;
            g->common_size = i;
            g->common[i] = '\0';
        }
    }
}

/* Add @size bytes of @data, which are copied. */
static void guess_copy(struct guess *g, const char *data, size_t size, const char *end)
{
    char text[GUESS_SIZE];
    char *kept = text;

    if (size >= sizeof text)
        return;
    if (g->n < GUESSES) {
        if (g->names == NULL)
            g->names = usher__cli_resize(NULL, (size_t)GUESSES * GUESS_SIZE);
        kept = g->names + (size_t)g->n * GUESS_SIZE;
    }
    memcpy(kept, data, size);
    kept[size] = '\0';
    guess_try(g, kept, end);
}

static bool is(const char *word, size_t size, const char *other)
{
    return strlen(other) == size && memcmp(word, other, size) == 0;
}

static const struct usher__verb *verb_named(const struct usher__noun *noun, const char *word)
{
    for (unsigned i = 0; i < noun->n_verbs; i++)
        if (strcmp(noun->verbs[i].word, word) == 0)
            return &noun->verbs[i];
    return NULL;
}

static void guess_nouns(struct guess *g)
{
    const struct usher__noun *noun;

    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        guess_try(g, noun->word, " ");
}

static void guess_programs(struct guess *g)
{
    for (const struct cli_program *p = usher__cli_programs; p->word != NULL; p++)
        guess_try(g, p->word, " ");
}

static void guess_verb(struct guess *g, const struct usher__noun *noun)
{
    for (unsigned i = 0; i < noun->n_verbs; i++)
        guess_try(g, noun->verbs[i].word, " ");
    for (const struct cli_verb *v = usher__cli_verbs; v->word != NULL; v++)
        if (strcmp(v->noun, noun->word) == 0)
            guess_try(g, v->word, " ");
}

/* ---- names of scopes ----------------------------------------------------------------- */

/* Return whether @name can be typed as it is, here and in bash. */
static bool is_plain(const struct usher_text *name)
{
    static const char special[] = " \t'\"\\$`;&|<>()*?[]{}!#~";

    for (size_t i = 0; i < name->size; i++)
        if (memchr(special, name->data[i], sizeof special) != NULL)
            return false;
    return usher__scope_fault(name->data, name->size) == NULL;
}

static void guess_name(struct guess *g, const struct usher_text *name)
{
    if (is_plain(name))
        guess_copy(g, name->data, name->size, " ");
}

static void scope_seen(void *payload, const struct usher_scope_info *info)
{
    guess_name(payload, &info->name);
}

/* Open the store, if it exists. */
static bool reach(struct guess *g)
{
    return g->cli->engine != NULL || (g->opens && usher__cli_try(g->cli, CLI_LOOKS) == USHER_OK);
}

/* Return whether @noun has the scope @name.  Its statistics are read, which is cheap. */
static bool is_scope(const struct cli *cli, const struct usher__noun *noun,
                     const struct usher_text *name)
{
    struct usher_operation command = { .scope = *name };
    struct usher_result result;
    bool is;

    for (unsigned i = 0; i < noun->n_verbs; i++)
        if ((noun->verbs[i].flags & USHER__FIGURES) != 0)
            command.verb = (enum usher_verb)noun->verbs[i].verb;
    usher__run_batch(cli->engine, &command, &result, 1);
    is = USHER_IS_DONE(result.status);
    usher_result_done(&result);
    return is;
}

#define WALK_MS 300   /* of pages in no order, and of a list */
#define SUBJECTS 1000 /* of a list */

static int64_t clock_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* The names of the scopes of @noun, from the store.  A page begins after the name that is typed,
 * which may be a scope itself.  A store without an order refuses that (INVALID), and its pages are
 * walked from the beginning. */
static void guess_scope(struct guess *g, const struct usher__noun *noun)
{
    struct usher_text typed = { g->begin, g->size };
    struct usher_list_options opt = USHER_LIST_OPTIONS_INIT;
    char next[USHER_CURSOR_MAX + 1] = "";
    int64_t until_ms = clock_ms() + WALK_MS;
    enum usher_status status;
    bool walks = g->size == 0;

    if (g->size >= GUESS_SIZE || !reach(g))
        return;
    if (g->size > 0 && usher__scope_fault(g->begin, g->size) == NULL &&
        is_scope(g->cli, noun, &typed))
        guess_name(g, &typed);
    opt.noun = (enum usher_noun)noun->noun;
    opt.max = USHER_LIST_MAX;
    if (!walks)
        (void)snprintf(next, sizeof next, "%s/%.*s", noun->word, (int)g->size, g->begin);
    do {
        opt.after = next[0] != '\0' ? next : NULL;
        status = usher_scopes(g->cli->engine, &opt, scope_seen, g, next);
        if (status == USHER_INVALID && !walks) {
            next[0] = '\0';
            opt.after = NULL;
            walks = true;
            status = usher_scopes(g->cli->engine, &opt, scope_seen, g, next);
        }
    } while (status == USHER_OK && walks && next[0] != '\0' && clock_ms() < until_ms);
    g->more = status != USHER_OK || next[0] != '\0'; /* or a server did not answer */
}

/* NOUN/NAME */
static void guess_place(struct guess *g)
{
    const char *slash = memchr(g->begin, '/', g->size);
    const struct usher__noun *noun;

    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++) {
        if (slash == NULL) {
            guess_try(g, noun->word, "/");
        } else if (strlen(noun->word) == (size_t)(slash - g->begin) &&
                   memcmp(noun->word, g->begin, strlen(noun->word)) == 0) {
            g->size -= (size_t)(slash + 1 - g->begin);
            g->begin = slash + 1;
            guess_scope(g, noun);
            return;
        }
    }
}

/* ---- keys and values ------------------------------------------------------------------ */

/* Return whether @verb is a list, without required arguments, whose rows have @field. */
static bool lists(const struct usher__verb *verb, uint32_t field)
{
    uint32_t of;

    for (size_t i = 0; (of = usher_verb_tells(verb->verb, true, i)) != 0; i++)
        if (of == field)
            return (verb->flags & USHER__LISTS) != 0 && verb->order == 0;
    return false;
}

static bool takes_max(uint32_t verb)
{
    uint32_t field;
    bool required;

    for (size_t i = 0; (field = usher_verb_takes(verb, i, &required)) != 0; i++)
        if (field == USHER_FIELD_MAX)
            return true;
    return false;
}

/* The values of @field in the lists of @scope that have it: numbers, agents, users, … */
static void guess_subject(struct guess *g, const struct usher__noun *noun, const char *scope,
                          uint32_t field)
{
    struct usher_value max = USHER_N(USHER_FIELD_MAX, SUBJECTS);
    struct usher_command command = { .scope = scope, .scope_size = USHER_TO_NUL, .values = &max };
    struct usher_text name;

    for (unsigned k = 0; k < noun->n_verbs; k++) {
        struct usher_reply *reply = NULL;

        if (!lists(&noun->verbs[k], field) || !reach(g))
            continue;
        command.verb = noun->verbs[k].verb;
        command.n = takes_max(command.verb);
        (void)usher_execute(g->cli->engine, &command, 1, WALK_MS, &reply);
        for (size_t i = 0; reply != NULL && i < reply->n_rows; i++) {
            name.data = usher_reply_text(reply, i, field, &name.size);
            if (name.data != NULL && name.size > 0)
                guess_name(g, &name);
        }
        g->more = g->more || reply == NULL || reply->n_rows >= SUBJECTS;
        usher_reply_done(reply);
    }
}

static bool is_text(const struct usher__arg *arg)
{
    return arg->type < USHER__ARG_INT && arg->type != USHER__ARG_FIELDS;
}

/* The value after KEY=.  @scope: NULL if the verb has none. */
static void guess_value(struct guess *g, const struct usher__noun *noun,
                        const struct usher__verb *verb, const char *scope, const char *equals)
{
    size_t size = (size_t)(equals - g->begin);

    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        if (((verb->keys | verb->order) >> i & 1u) == 0 || !is(g->begin, size, arg->word))
            continue;
        g->size -= size + 1;
        g->begin = equals + 1;
        if (arg->type == USHER__ARG_WORD)
            for (int64_t k = arg->min; k <= arg->max && arg->words[k] != NULL; k++)
                guess_try(g, arg->words[k], " ");
        else if (scope != NULL && is_text(arg))
            guess_subject(g, noun, scope, arg->code);
        return;
    }
}

static void guess_key(struct guess *g, const struct usher__noun *noun,
                      const struct usher__verb *verb, const char *scope)
{
    const char *equals = memchr(g->begin, '=', g->size);

    if (equals != NULL) {
        guess_value(g, noun, verb, scope, equals);
        return;
    }
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->keys >> i & 1u) != 0)
            guess_try(g, noun->args[i].word, "=");
    guess_try(g, "now", "=");
    guess_try(g, "req", "=");
}

/* The word after NOUN VERB SCOPE and @n others: a required argument that a list has, else a key. */
static void guess_argument(struct guess *g, const struct usher__noun *noun,
                           const struct usher__verb *verb, char *const *word, size_t n)
{
    size_t place = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        place += strchr(word[3 + i], '=') == NULL;
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->order >> i & 1u) != 0 && at++ == place && is_text(&noun->args[i]))
            guess_subject(g, noun, word[2], noun->args[i].code);
    if (g->n == 0)
        guess_key(g, noun, verb, word[2]);
}

/* ---- usage --------------------------------------------------------------------------- */

/* A part of a usage text: a word, or --word or key= with a value. */
struct part {
    const char *word;
    size_t size; /* of the word, with its "=" */
    const char *value;
    size_t value_size;
    bool option, begins; /* it has a key, and this is its first value */
    bool joined;         /* a | joins it to the part before */
};

/* Read the next part after @at.  Parts that a | joins to an option are its further values. */
static const char *next_part(const char *at, struct part *p)
{
    const char *equals;
    size_t size;

    for (p->joined = false; *at != '\0' && strchr(" []|", *at) != NULL; at++)
        p->joined = p->joined || *at == '|';
    if (*at == '\0')
        return NULL;
    size = strcspn(at, " []|");
    equals = memchr(at, '=', size);
    p->begins = *at == '-' || equals != NULL;
    if (p->begins) {
        p->word = at;
        p->size = equals != NULL ? (size_t)(equals + 1 - at) : size;
        p->value = at + p->size;
        p->value_size = size - p->size;
    } else if (p->joined && p->option) {
        p->value = at;
        p->value_size = size;
    } else {
        p->word = at;
        p->size = size;
        p->value_size = 0;
    }
    p->option = p->begins || (p->joined && p->option);
    return at + size;
}

static void guess_topic(struct guess *g)
{
    guess_nouns(g);
    guess_programs(g);
    for (const struct help_topic *t = usher__help_topics; t->word != NULL; t++)
        guess_try(g, t->word, " ");
}

/* A word in capitals, the @place-th one, after @n words. */
static void guess_capitals(struct guess *g, const struct part *p, size_t place, size_t n,
                           char *const *word)
{
    const struct usher__noun *noun;

    if (p->size >= 9 && memcmp(p->word, "NOUN/NAME", 9) == 0 && (place == n || p->size > 9))
        guess_place(g);
    else if (place == n && is(p->word, p->size, "NOUN"))
        guess_nouns(g);
    else if (place == n && is(p->word, p->size, "TOPIC"))
        guess_topic(g);
    else if (place == n && is(p->word, p->size, "VERB") &&
             (noun = usher__noun_by_word(word[n - 1])) != NULL)
        guess_verb(g, noun);
}

/* The word after the command and @n - 1 others. */
static void guess_usage(struct guess *g, const char *usage, size_t n, char *const *word)
{
    const char *equals = memchr(g->begin, '=', g->size), *typed = g->begin;
    bool dashes = strncmp(usage, "[-", 2) == 0 || (g->size > 0 && *typed == '-');
    struct part p = { .option = false };
    size_t place = 0;

    if (equals != NULL) {
        g->size -= (size_t)(equals + 1 - g->begin);
        g->begin = equals + 1;
    }
    while ((usage = next_part(usage, &p)) != NULL) {
        place += !p.option && !p.joined;
        if (!p.option && equals == NULL)
            guess_capitals(g, &p, place, n, word);
        else if (p.begins && equals == NULL && (dashes || *p.word != '-') &&
                 (*p.word < 'A' || *p.word > 'Z'))
            guess_copy(g, p.word, p.size, p.word[p.size - 1] == '=' ? "" : " ");
        if (equals != NULL && p.option && p.size == (size_t)(equals + 1 - typed) &&
            memcmp(p.word, typed, p.size) == 0 && p.value_size > 0 &&
            strcspn(p.value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= p.value_size)
            guess_copy(g, p.value, p.value_size, " ");
    }
}

/* ---- lines --------------------------------------------------------------------------- */

static void guess_of_noun(struct guess *g, const struct usher__noun *noun, char *const *word,
                          size_t n)
{
    const struct usher__verb *verb = verb_named(noun, word[1]);
    const struct usher__verb *whole = usher__whole_verb(noun->word, word[1]);
    const struct cli_verb *other = usher__cli_verb(noun->word, word[1]);

    if (n == 2 && (verb != NULL || (whole != NULL && whole->order != 0) ||
                   (other != NULL && other->run != NULL)))
        guess_scope(g, noun);
    else if (verb != NULL)
        guess_argument(g, noun, verb, word, n - 3);
    else if (whole != NULL)
        guess_key(g, usher__noun(whole->verb >> 8), whole, NULL);
    else if (other != NULL && other->run != NULL)
        guess_usage(g, other->usage, n - 1, word + 1);
}

/* The word after the @n words. */
static void guess_next(struct guess *g, char *const *word, size_t n)
{
    const struct usher__noun *noun = n > 0 ? usher__noun_by_word(word[0]) : NULL;

    if (n == 0) {
        guess_nouns(g);
        guess_programs(g);
        if (g->cli->shell)
            guess_try(g, SHELL_MODE, " ");
    } else if (g->cli->shell && n == 1 && strcmp(word[0], SHELL_MODE) == 0) {
        guess_try(g, "text", " ");
        guess_try(g, "json", " ");
        guess_try(g, "csv", " ");
    } else if (noun != NULL && n == 1) {
        guess_verb(g, noun);
    } else if (noun != NULL) {
        guess_of_noun(g, noun, word, n);
    } else {
        for (const struct cli_program *p = usher__cli_programs; p->word != NULL; p++)
            if (strcmp(p->word, word[0]) == 0)
                guess_usage(g, p->usage, n, word);
    }
}

/* Cut @line into words.  Return whether the last one is typed without quotes, and where it begins;
 * it is not counted. */
static bool cut(struct guess *g, struct words *w, const char *line, size_t size)
{
    const char *end = line + size, *begin = end;
    bool fits;

    while (begin > line && begin[-1] != ' ' && begin[-1] != '\t')
        begin--;
    g->typed = g->begin = begin;
    g->size = (size_t)(end - begin);
    if (usher__words_split(w, line, size) != NULL || w->nul)
        return false;
    if (g->size == 0)
        return begin == line || w->n > 0 || strspn(line, " \t") >= size;
    fits = w->n > 0 && is(begin, g->size, w->word[w->n - 1]);
    w->n -= fits;
    return fits;
}

void usher__guess(struct guess *g, const char *line, size_t size)
{
    struct words w = { .n = 0 };

    if (cut(g, &w, line, size))
        guess_next(g, w.word, w.n);
    usher__words_done(&w);
}

void usher__guess_done(struct guess *g)
{
    (void)usher__cli_resize(g->names, 0);
    g->names = NULL;
}

/* ---- for bash ------------------------------------------------------------------------- */

static void guess_store(struct guess *g)
{
    static const char *const urls[] = { "memory:",          "sqlite:",       "redis://",
                                        "rediss://",        "redis+unix://", "redis+sentinel://",
                                        "redis+cluster://", "usher+unix:" };

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        guess_try(g, urls[i], "");
}

/* Take the options of a command line out of @w, and keep the store.  Return whether the word at the
 * cursor is the value of one. */
static bool take_options(struct guess *g, struct words *w)
{
    size_t n = 0;

    for (size_t i = 1; i < w->n; i++) {
        const char *word = w->word[i];

        if (strcmp(word, "-s") == 0 || strcmp(word, "--store") == 0) {
            if (i + 1 == w->n)
                return true;
            g->cli->store = w->word[++i];
        } else if (strncmp(word, "--store=", 8) == 0) {
            g->cli->store = word + 8;
        } else if (word[0] != '-') {
            w->word[n++] = w->word[i];
        }
    }
    w->n = n;
    return false;
}

static void guess_option(struct guess *g, size_t n)
{
    static const char store[] = "--store=";

    if (g->size >= sizeof store - 1 && memcmp(g->begin, store, sizeof store - 1) == 0) {
        g->begin += sizeof store - 1;
        g->size -= sizeof store - 1;
        guess_store(g);
        return;
    }
    guess_try(g, "--csv", " ");
    guess_try(g, "--help", " ");
    guess_try(g, "--json", " ");
    guess_try(g, store, "");
    if (n == 0)
        guess_try(g, "--version", " ");
}

int usher__cli_complete(struct cli *cli, char *const *words, size_t n)
{
    struct words w = { .n = 0 };
    struct guess g;

    if (n != 2)
        return usher__cli_fail(cli, USHER_INVALID,
                               "`complete` takes one argument: a line, up to the cursor");
    memset(&g, 0, sizeof g);
    g.cli = cli;
    g.opens = true;
    cli->timeout_ms = 1000;
    if (cut(&g, &w, words[1], strlen(words[1])) && w.n > 0) {
        if (take_options(&g, &w)) {
            guess_store(&g);
        } else {
            if (g.size > 0 && *g.begin == '-')
                guess_option(&g, w.n);
            if (g.begin == g.typed)
                guess_next(&g, w.word, w.n);
        }
    }
    for (unsigned i = 0; i < g.n && i < GUESSES; i++)
        printf("%.*s%s%s\n", (int)(g.begin - g.typed), g.typed, g.all[i].word, g.all[i].end);
    usher__guess_done(&g);
    usher__words_done(&w);
    return 0;
}
