/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/editor.h"

#ifdef HAVE_LIBEDIT

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <histedit.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/shell_history.h"
#include "cli/run.h"
#include "core/text.h"
#include "core/verbs.h"

struct editor {
    const struct cli *cli;
    EditLine *el;
    History *history;
    int past; /* the file that keeps lines for later sessions, or -1 */
    /* The line and cursor where Tab completed nothing: when Tab repeats, it lists the choices. */
    size_t stuck_at, stuck_size;
    bool stuck;
};

static char *prompt(EditLine *el)
{
    static char text[] = "usher> ";

    (void)el;
    return text;
}

/* ---- completion ------------------------------------------------------------------- */

#define GUESSES 128 /* more than a noun has verbs, or a verb keys */
#define NAME_SIZE (USHER_NAME_MAX + 1)

/* The words that are possible at the cursor and begin with what is typed.  Their longest common
 * beginning is inserted. */
struct guess {
    const struct cli *cli;
    const char *begin; /* of the word at the cursor, or of its value */
    size_t size;
    char common[NAME_SIZE + 16];
    size_t common_size;
    unsigned n;
    bool more; /* there are words that are not known */
    struct {
        const char *word, *behind;
    } all[GUESSES];
    char *names; /* GUESSES words of NAME_SIZE bytes: names of scopes, which are in no table */
};

static void guess_try(struct guess *g, const char *word, const char *behind)
{
    char whole[sizeof g->common];
    int size = snprintf(whole, sizeof whole, "%s%s", word, behind);

    if (size < 0 || (size_t)size >= sizeof whole || strncmp(whole, g->begin, g->size) != 0)
        return;
    if (g->n < GUESSES) {
        g->all[g->n].word = word;
        g->all[g->n].behind = behind;
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

static const struct usher__verb *verb_named(const struct usher__noun *noun, const char *word)
{
    for (unsigned i = 0; i < noun->n_verbs; i++)
        if (strcmp(noun->verbs[i].word, word) == 0)
            return &noun->verbs[i];
    return NULL;
}

static void guess_first(struct guess *g)
{
    const struct usher__noun *noun;

    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++)
        guess_try(g, noun->word, " ");
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

/* Return whether @word can be typed as it is, without quotes. */
static bool is_plain(const char *word)
{
    return usher__scope_fault(word, strlen(word)) == NULL && strpbrk(word, " \t'\"\\") == NULL;
}

/* Add the scope @name.  It is copied. */
static void guess_name(struct guess *g, const struct usher_text *name)
{
    char text[NAME_SIZE];
    char *kept = text;

    if (name->size >= sizeof text)
        return;
    if (g->n < GUESSES) {
        if (g->names == NULL)
            g->names = usher__cli_resize(NULL, (size_t)GUESSES * NAME_SIZE);
        kept = g->names + (size_t)g->n * NAME_SIZE;
    }
    memcpy(kept, name->data, name->size);
    kept[name->size] = '\0';
    if (is_plain(kept))
        guess_try(g, kept, " ");
}

/* Add a scope of a page.  A page can have one a second time. */
static void scope_seen(void *payload, const struct usher_scope_info *info)
{
    struct guess *g = payload;
    bool known = info->name.size == g->size && memcmp(info->name.data, g->begin, g->size) == 0;

    for (unsigned i = 0; i < g->n && i < GUESSES && !known; i++)
        known = strlen(g->all[i].word) == info->name.size &&
                memcmp(g->all[i].word, info->name.data, info->name.size) == 0;
    if (!known)
        guess_name(g, &info->name);
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

#define WALK_MS 300 /* of pages in no order */

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

    if (g->cli->engine == NULL || g->size >= NAME_SIZE)
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

static void guess_value(struct guess *g, const struct usher__noun *noun,
                        const struct usher__verb *verb, const char *equals)
{
    size_t size = (size_t)(equals - g->begin);

    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        if ((verb->keys >> i & 1u) == 0 || arg->type != USHER__ARG_WORD ||
            strlen(arg->word) != size || memcmp(arg->word, g->begin, size) != 0)
            continue;
        g->size -= size + 1;
        g->begin = equals + 1;
        for (int64_t k = arg->min; k <= arg->max && arg->words[k] != NULL; k++)
            guess_try(g, arg->words[k], " ");
        return;
    }
}

static void guess_key(struct guess *g, const struct usher__noun *noun,
                      const struct usher__verb *verb)
{
    const char *equals = memchr(g->begin, '=', g->size);

    if (equals != NULL) {
        guess_value(g, noun, verb, equals);
        return;
    }
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->keys >> i & 1u) != 0)
            guess_try(g, noun->args[i].word, "=");
    guess_try(g, "now", "=");
    guess_try(g, "req", "=");
}

static size_t guess_width(const struct guess *g, unsigned i)
{
    return strlen(g->all[i].word) + strlen(g->all[i].behind);
}

/* List all possible words in columns below the line. */
static void guess_list(const struct guess *g)
{
    unsigned n = g->n < GUESSES ? g->n : GUESSES;
    struct winsize size = { 0, 0, 0, 0 };
    size_t width = 1, columns;

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    for (unsigned i = 0; i < n; i++)
        if (guess_width(g, i) + 2 > width)
            width = guess_width(g, i) + 2;
    columns = (size.ws_col > 0 ? size.ws_col : 80u) / width;
    for (unsigned i = 0; i < n; i++) {
        bool last = columns == 0 || (i + 1) % columns == 0 || i + 1 == n;

        printf("%s%s%s%*s", i == 0 ? "\n" : "", g->all[i].word, g->all[i].behind,
               last ? 0 : (int)(width - guess_width(g, i)), "");
        if (last)
            putchar('\n');
    }
    if (g->n > n || g->more)
        puts("and more");
    (void)fflush(stdout);
}

/* Tab completes nothing: list the choices the second time. */
static unsigned char stuck(struct editor *e, const LineInfo *info, const struct guess *g)
{
    size_t at = (size_t)(info->cursor - info->buffer);
    size_t size = (size_t)(info->lastchar - info->buffer);

    if (g->n == 0)
        return CC_REFRESH_BEEP;
    if (e->stuck && e->stuck_at == at && e->stuck_size == size) {
        guess_list(g);
        return CC_REDISPLAY;
    }
    e->stuck = true;
    e->stuck_at = at;
    e->stuck_size = size;
    return CC_REFRESH_BEEP;
}

#define WORD_SIZE 32 /* more than a noun, a verb or a program has */

/* Return whether the verb @word of @noun, which is not in its table, is followed by a scope. */
static bool has_scope(const struct usher__noun *noun, const char *word)
{
    const struct usher__verb *verb = usher__whole_verb(noun->word, word);
    const struct cli_verb *other = usher__cli_verb(noun->word, word);

    return verb != NULL ? verb->order != 0 : other != NULL && other->run != NULL;
}

/* The word after @n words, which begin with those of @word. */
static void guess_next(struct guess *g, unsigned n, char word[2][WORD_SIZE])
{
    const struct usher__noun *noun = usher__noun_by_word(word[0]);
    const struct usher__verb *verb = noun != NULL && n > 1 ? verb_named(noun, word[1]) : NULL;

    if (noun != NULL && n == 1)
        guess_verb(g, noun);
    else if (noun != NULL && n == 2 && (verb != NULL || has_scope(noun, word[1])))
        guess_scope(g, noun);
    else if (verb != NULL)
        guess_key(g, noun, verb);
    else if (strcmp(word[0], "watch") == 0 || (n == 1 && strcmp(word[0], "drop") == 0))
        guess_place(g);
}

/* Collect the possible words: noun and verb from the tables, the scope from the store, then keys
 * and their values from the tables. */
static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *info = el_line(el);
    const char *p = info->buffer;
    char word[2][WORD_SIZE] = { "", "" };
    unsigned n = 0;
    unsigned char result;
    struct editor *e = NULL;
    struct guess g;

    (void)key;
    if (el_get(el, EL_CLIENTDATA, &e) != 0 || e == NULL)
        return CC_REFRESH_BEEP;
    memset(&g, 0, sizeof g);
    g.cli = e->cli;
    g.begin = p;
    while (p < info->cursor) {
        size_t length;

        while (p < info->cursor && *p == ' ')
            p++;
        g.begin = p;
        while (p < info->cursor && *p != ' ')
            p++;
        length = (size_t)(p - g.begin);
        g.size = length;
        if (p < info->cursor) {
            if (n < 2 && length < WORD_SIZE)
                memcpy(word[n], g.begin, length);
            n++;
            g.size = 0;
        }
    }
    if (n == 0)
        guess_first(&g);
    else
        guess_next(&g, n, word);
    if (g.n == 0 || g.more || g.common_size <= g.size)
        result = stuck(e, info, &g);
    else
        result = el_insertstr(el, g.common + g.size) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
    (void)usher__cli_resize(g.names, 0);
    return result;
}

/* ---- lines ------------------------------------------------------------------------ */

static void remember(void *payload, const char *line)
{
    struct editor *e = payload;
    HistEvent event;

    (void)history(e->history, &event, H_ENTER, line);
}

struct editor *usher__editor_open(const struct cli *cli)
{
    struct editor *e = usher__cli_resize(NULL, sizeof *e);
    HistEvent event;

    /* for the meaning of keys; nothing else here depends on the locale */
    (void)setlocale(LC_CTYPE, "");
    memset(e, 0, sizeof *e);
    e->cli = cli;
    e->past = -1;
    e->history = history_init();
    e->el = el_init("usher", stdin, stdout, stderr);
    if (e->el == NULL || e->history == NULL) {
        usher__editor_close(e);
        return NULL;
    }
    (void)history(e->history, &event, H_SETSIZE, 1000);
    (void)history(e->history, &event, H_SETUNIQUE, 1);
    (void)el_set(e->el, EL_PROMPT, prompt);
    (void)el_set(e->el, EL_EDITOR, "emacs");
    (void)el_set(e->el, EL_SIGNAL, 1);
    (void)el_set(e->el, EL_HIST, history, e->history);
    (void)el_set(e->el, EL_ADDFN, "usher-complete", "complete a word", complete);
    (void)el_set(e->el, EL_BIND, "\t", "usher-complete", NULL);
    (void)el_set(e->el, EL_CLIENTDATA, e);
    (void)el_source(e->el, NULL);
    e->past = usher__past_open(remember, e);
    return e;
}

void usher__editor_close(struct editor *e)
{
    if (e == NULL)
        return;
    if (e->el != NULL)
        el_end(e->el);
    if (e->history != NULL)
        history_end(e->history);
    if (e->past >= 0)
        (void)close(e->past);
    (void)usher__cli_resize(e, 0);
}

const char *usher__editor_line(struct editor *e, size_t *ret_size)
{
    const char *line;
    int n = 0;

    e->stuck = false;
    line = el_gets(e->el, &n);

    if (line == NULL || n <= 0) {
        putchar('\n');
        return NULL;
    }
    *ret_size = (size_t)n - (line[n - 1] == '\n');
    if (*ret_size > 0) {
        char *kept = memcpy(usher__cli_resize(NULL, *ret_size + 1), line, *ret_size);

        kept[*ret_size] = '\0'; /* no newline, as in lines from the file */
        remember(e, kept);
        usher__past_add(e->past, line, *ret_size);
        (void)usher__cli_resize(kept, 0);
    }
    return line;
}

#else

struct editor *usher__editor_open(const struct cli *cli)
{
    (void)cli;
    return NULL;
}

void usher__editor_close(struct editor *e)
{
    (void)e;
}

const char *usher__editor_line(struct editor *e, size_t *ret_size)
{
    (void)e;
    (void)ret_size;
    return NULL;
}

#endif
