/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/editor.h"

#ifdef HAVE_LIBEDIT

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <histedit.h>

#include "cli/cli.h"
#include "core/verbs.h"

struct editor {
    EditLine *el;
    History *history;
};

static char *prompt(EditLine *el)
{
    static char text[] = "usher> ";

    (void)el;
    return text;
}

/* ---- completion ------------------------------------------------------------------- */

/* What may stand where the cursor is, as far as one word begins so.  The longest beginning
 * that all of them share is inserted. */
struct guess {
    const char *begin; /* of the word at the cursor */
    size_t size;
    char common[64];
    size_t common_size;
    unsigned n;
};

static void guess_try(struct guess *g, const char *word, const char *behind)
{
    char whole[sizeof g->common];
    int size = snprintf(whole, sizeof whole, "%s%s", word, behind);

    if (size < 0 || (size_t)size >= sizeof whole || strncmp(whole, g->begin, g->size) != 0)
        return;
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

/* Noun, verb, scope, then keys: by the tables. */
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
        return CC_REFRESH_BEEP;
    return el_insertstr(el, g.common + g.size) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
}

/* ---- lines ------------------------------------------------------------------------ */

struct editor *usher__editor_open(void)
{
    struct editor *e = usher__cli_resize(NULL, sizeof *e);
    HistEvent event;

    /* What keys mean.  Nothing else here depends on the locale. */
    (void)setlocale(LC_CTYPE, "");
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
    (void)el_source(e->el, NULL);
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
    (void)usher__cli_resize(e, 0);
}

const char *usher__editor_line(struct editor *e, size_t *ret_size)
{
    HistEvent event;
    int n = 0;
    const char *line = el_gets(e->el, &n);

    if (line == NULL || n <= 0) {
        putchar('\n');
        return NULL;
    }
    if (n > 1)
        (void)history(e->history, &event, H_ENTER, line);
    *ret_size = (size_t)n - (line[n - 1] == '\n');
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
