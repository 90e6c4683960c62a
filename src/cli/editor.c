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
#include "cli/complete.h"
#include "cli/shell_history.h"

struct editor {
    struct cli *cli;
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

static size_t guess_width(const struct guess *g, unsigned i)
{
    return strlen(g->all[i].word) + strlen(g->all[i].end);
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

        printf("%s%s%s%*s", i == 0 ? "\n" : "", g->all[i].word, g->all[i].end,
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

static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *info = el_line(el);
    unsigned char result;
    struct editor *e = NULL;
    struct guess g;

    (void)key;
    if (el_get(el, EL_CLIENTDATA, &e) != 0 || e == NULL)
        return CC_REFRESH_BEEP;
    memset(&g, 0, sizeof g);
    g.cli = e->cli;
    usher__guess(&g, info->buffer, (size_t)(info->cursor - info->buffer));
    if (g.n == 0 || g.more || g.common_size <= g.size)
        result = stuck(e, info, &g);
    else
        result = el_insertstr(el, g.common + g.size) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
    usher__guess_done(&g);
    return result;
}

/* ---- lines ------------------------------------------------------------------------ */

static void remember(void *payload, const char *line)
{
    struct editor *e = payload;
    HistEvent event;

    (void)history(e->history, &event, H_ENTER, line);
}

struct editor *usher__editor_open(struct cli *cli)
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

struct editor *usher__editor_open(struct cli *cli)
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
