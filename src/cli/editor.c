/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/editor.h"

#ifdef HAVE_LIBEDIT

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <histedit.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/past.h"
#include "core/verbs.h"

struct editor {
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

/* The words that are possible at the cursor and begin with what is typed.  Their longest common
 * beginning is inserted. */
struct guess {
    const char *begin; /* of the word at the cursor */
    size_t size;
    char common[64];
    size_t common_size;
    unsigned n;
    struct {
        const char *word, *behind;
    } all[GUESSES];
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
            g->common_size = i;
            g->common[i] = '\0';
        }
    }
}

static const struct usher__verb *verb_named(const struct usher__noun *noun, const char *word,
                                            size_t size)
{
    for (unsigned i = 0; i < noun->n_verbs; i++)
        if (strlen(noun->verbs[i].word) == size && strncmp(noun->verbs[i].word, word, size) == 0)
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

static void guess_key(struct guess *g, const struct usher__noun *noun,
                      const struct usher__verb *verb)
{
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
    (void)fflush(stdout);
}

/* Tab completes nothing: list the choices the second time. */
static unsigned char stuck(EditLine *el, const LineInfo *info, const struct guess *g)
{
    size_t at = (size_t)(info->cursor - info->buffer);
    size_t size = (size_t)(info->lastchar - info->buffer);
    struct editor *e = NULL;

    if (g->n == 0 || el_get(el, EL_CLIENTDATA, &e) != 0 || e == NULL)
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

/* Collect the possible words from the tables: noun, verb, then, after the scope, keys. */
static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *info = el_line(el);
    const char *p = info->buffer, *word[3] = { NULL, NULL, NULL };
    size_t size[3] = { 0, 0, 0 };
    unsigned n = 0;
    struct guess g;
    char first[32];

    (void)key;
    memset(&g, 0, sizeof g);
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
            if (n < 3) {
                word[n] = g.begin;
                size[n] = length;
            }
            n++;
            g.size = 0;
        }
    }
    if (n == 0) {
        guess_first(&g);
    } else if (size[0] < sizeof first) {
        const struct usher__noun *noun;
        const struct usher__verb *verb;

        memcpy(first, word[0], size[0]);
        first[size[0]] = '\0';
        noun = usher__noun_by_word(first);
        if (noun != NULL && n == 1) {
            guess_verb(&g, noun);
        } else if (noun != NULL && n > 2) {
            verb = verb_named(noun, word[1], size[1]);
            if (verb != NULL)
                guess_key(&g, noun, verb);
        }
    }
    if (g.n == 0 || g.common_size <= g.size)
        return stuck(el, info, &g);
    return el_insertstr(el, g.common + g.size) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
}

/* ---- lines ------------------------------------------------------------------------ */

static void remember(void *payload, const char *line)
{
    struct editor *e = payload;
    HistEvent event;

    (void)history(e->history, &event, H_ENTER, line);
}

struct editor *usher__editor_open(void)
{
    struct editor *e = usher__cli_resize(NULL, sizeof *e);
    HistEvent event;

    /* for the meaning of keys; nothing else here depends on the locale */
    (void)setlocale(LC_CTYPE, "");
    memset(e, 0, sizeof *e);
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

struct editor *usher__editor_open(void)
{
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
