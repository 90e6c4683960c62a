/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serve/scrape.h"

#define TAB_ROWS 500
#define GAP 2 /* between columns */

enum tab_kind { ROWS, VALUES };

static const struct tab {
    unsigned noun;
    const char *title;
    enum tab_kind kind;
    const char *verb, *argument;
} tabs[] = {
#define TAB(noun, title, kind, verb, argument) { USHER_##noun, title, kind, verb, argument },
#include "top/tabs.def"
};

#define TABS (sizeof tabs / sizeof *tabs)

/* Return tab @i of the noun, or NULL. */
static const struct tab *tab_of(unsigned noun, unsigned i)
{
    for (size_t k = 0; k < TABS; k++)
        if (tabs[k].noun == noun && i-- == 0)
            return &tabs[k];
    return NULL;
}

const char *usher__detail_verb(const struct detail *d)
{
    return tab_of(d->noun, d->tab)->verb;
}

static void empty(struct detail *d)
{
    usher__cli_table_done(&d->table);
    usher__job_free(d->job);
    d->job = NULL;
    d->asked = 0;
    d->waits = false;
    d->cursor[0] = '\0';
    d->place = d->first = 0;
}

void usher__detail_open(struct detail *d, const char *scope)
{
    const struct usher__noun *noun;

    usher__detail_close(d);
    (void)snprintf(d->scope, sizeof d->scope, "%s", scope);
    noun = usher__scrape_split(d->scope, strlen(d->scope), &d->name);
    if (noun != NULL)
        d->noun = noun->noun;
    else
        d->scope[0] = '\0';
}

void usher__detail_close(struct detail *d)
{
    empty(d);
    d->scope[0] = '\0';
    d->tab = 0;
}

bool usher__detail_tab(struct detail *d, unsigned tab)
{
    if (tab_of(d->noun, tab) == NULL)
        return false;
    empty(d);
    d->tab = tab;
    return true;
}

struct job *usher__detail_read(struct detail *d, unsigned id)
{
    const struct tab *t = tab_of(d->noun, d->tab);
    struct job *job;

    if (d->waits)
        return NULL;
    job = usher__job_new(id, false);
    usher__job_word(job, "%s", usher__noun(d->noun)->word);
    usher__job_word(job, "%s", t->verb);
    usher__job_word(job, "%s", d->name);
    if (t->argument[0] != '\0')
        usher__job_word(job, "%s", t->argument);
    if (usher_field_of(usher_verb_of(usher__noun(d->noun)->word, t->verb), "max") != 0)
        usher__job_word(job, "max=%d", TAB_ROWS);
    d->asked = id;
    d->waits = true;
    return job;
}

/* Return the cell that identifies @row, or NULL: its name, else the first one. */
static const char *key_of(const struct detail *d, size_t row)
{
    size_t column = 0;

    while (column < d->table.n_columns && strcmp(d->table.head[column], "name") != 0)
        column++;
    return d->table.cell[row * d->table.n_columns + (column < d->table.n_columns ? column : 0)];
}

/* The cursor stays on its row. */
static void follow(struct detail *d)
{
    size_t n = d->table.n_columns > 0 ? d->table.n / d->table.n_columns : 0;

    for (size_t i = 0; i < n; i++) {
        const char *cell = key_of(d, i);

        if (cell != NULL && strcmp(cell, d->cursor) == 0) {
            d->place = i;
            return;
        }
    }
    d->place = d->place < n ? d->place : n > 0 ? n - 1 : 0;
    usher__detail_move(d, 0);
}

bool usher__detail_take(struct detail *d, struct job *job)
{
    const struct usher_reply *reply = job->reply;

    if (job->id != d->asked || d->scope[0] == '\0')
        return false;
    d->waits = false;
    usher__cli_table_done(&d->table);
    usher__job_free(d->job);
    d->job = job;
    if (reply != NULL && USHER_IS_DONE(reply->status) && tab_of(d->noun, d->tab)->kind == ROWS)
        usher__cli_table_rows(&d->table, reply, reply->now_ms);
    else if (reply != NULL && USHER_IS_DONE(reply->status))
        usher__cli_table_values(&d->table, reply, reply->now_ms);
    follow(d);
    return true;
}

void usher__detail_move(struct detail *d, int64_t by)
{
    int64_t n = d->table.n_columns > 0 ? (int64_t)(d->table.n / d->table.n_columns) : 0;
    int64_t at = (int64_t)d->place;

    at = by > n - at ? n - 1 : at + by; /* without an overflow */
    at = at >= n ? n - 1 : at;
    at = at < 0 ? 0 : at;
    d->place = (size_t)at;
    d->cursor[0] = '\0';
    if (n > 0 && key_of(d, d->place) != NULL)
        (void)snprintf(d->cursor, sizeof d->cursor, "%s", key_of(d, d->place));
}

int64_t usher__detail_row(const struct detail *d)
{
    bool rows = d->job != NULL && d->job->reply != NULL && tab_of(d->noun, d->tab)->kind == ROWS;

    return rows && d->place < d->job->reply->n_rows ? (int64_t)d->place : -1;
}

/* ---- drawing ------------------------------------------------------------------------------- */

static void head(struct page *p, const struct detail *d, const struct model *m, const struct row *r,
                 const struct view *v)
{
    static const enum ink inks[LEVELS] = { INK_BOLD, INK_WARNING, INK_ALARM };
    struct out *to = usher__top_page_line(p);
    char time[TOP_TEXT_MAX], right[TOP_TEXT_MAX + 40], span[TOP_TEXT_MAX];
    size_t width;

    usher__top_time(time, v, m, v->width >= 60);
    if (v->silent_ms > 0)
        (void)snprintf(right, sizeof right, "no answer for %s  %s",
                       usher__top_span(span, v->silent_ms, v->ascii), time);
    else
        (void)snprintf(right, sizeof right, " %s", time);
    width = usher__top_width(right, v->ascii);
    usher__top_ink(to, r != NULL ? inks[r->level] : INK_BOLD);
    if (r != NULL && r->level != LEVEL_NONE) {
        usher__top_put(
            to, usher__top_sign(r->level == LEVEL_ALARM ? SIGN_ALARM : SIGN_WARNING, v->ascii));
        usher__top_put(to, " ");
        width += 2;
    }
    usher__top_cell(to, d->scope, v->width > width ? v->width - width : 0, false, v->ascii);
    usher__top_ink(to, INK_PLAIN);
    usher__top_put(to, right);
}

static void line(struct page *p, const struct view *v, const char *text)
{
    usher__top_cell(usher__top_page_line(p), text, v->width, false, v->ascii);
}

/* Two lines of figures from the state. */
static void figures(struct page *p, const struct row *r, const struct view *v)
{
    const int64_t *f = r->figure;
    char text[240];

    if (r->noun == USHER_QUEUE) {
        (void)snprintf(text, sizeof text,
                       "waiting %" PRId64 "  offered %" PRId64 "  seated %" PRId64 "  away %" PRId64
                       "   agents %" PRId64 ": %" PRId64 " free %" PRId64 " talk %" PRId64
                       " wrap %" PRId64 " paused",
                       f[FIGURE_WAITING], f[FIGURE_OFFERED], f[FIGURE_SEATED], f[FIGURE_AWAY],
                       f[FIGURE_AGENTS], f[FIGURE_AGENTS_IDLE],
                       f[FIGURE_AGENTS_BUSY] + f[FIGURE_AGENTS_OFFERED], f[FIGURE_AGENTS_WRAPUP],
                       f[FIGURE_AGENTS_PAUSED]);
        line(p, v, text);
        (void)snprintf(text, sizeof text,
                       "today: served %" PRId64 "  gave up %" PRId64 "  timed out %" PRId64,
                       f[FIGURE_SEATED_TODAY], f[FIGURE_ABANDONED_TODAY], f[FIGURE_TIMEOUT_TODAY]);
    } else if (r->noun == USHER_NUMBER) {
        (void)snprintf(text, sizeof text,
                       "%" PRId64 " numbers: %" PRId64 " free %" PRId64 " busy %" PRId64
                       " rest %" PRId64 " cap %" PRId64 " down",
                       f[FIGURE_TOTAL], r->cell[COLUMN_FREE], r->cell[COLUMN_BUSY],
                       f[FIGURE_RESTING], f[FIGURE_CAPPED], f[FIGURE_IDLE_DOWN]);
        line(p, v, text);
        (void)snprintf(text, sizeof text, "today: calls %" PRId64 "  refused %" PRId64,
                       f[FIGURE_CALLS_TODAY], f[FIGURE_REFUSED_TODAY]);
    } else if (r->noun == USHER_ROOM) {
        (void)snprintf(text, sizeof text, "members %" PRId64 " of %" PRId64, f[FIGURE_MEMBERS],
                       f[FIGURE_CAPACITY]);
    } else {
        (void)snprintf(text, sizeof text, "left %" PRId64, r->cell[COLUMN_FREE]);
    }
    line(p, v, text);
    if (r->mode[0] != '\0' && strcmp(r->why, r->mode) != 0)
        (void)snprintf(text, sizeof text, "%s%s%s", r->mode, r->why[0] != '\0' ? ", " : "", r->why);
    else
        (void)snprintf(text, sizeof text, "%s", r->why);
    line(p, v, text);
}

static void tab_titles(struct page *p, const struct detail *d, const struct view *v)
{
    char text[240];
    size_t n = 0;
    const struct tab *t;

    for (unsigned i = 0; (t = tab_of(d->noun, i)) != NULL && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, i == d->tab ? " [%u %s]" : " %u %s", i + 1,
                              t->title);
    line(p, v, text);
}

static const char *cell_of(const struct detail *d, size_t row, size_t column)
{
    const char *text = d->table.cell[row * d->table.n_columns + column];

    return text != NULL ? text : "";
}

/* Append the cells of a row, or its titles. */
static void put_cells(struct out *to, const struct detail *d, const size_t *widths, size_t row,
                      const struct view *v)
{
    size_t used = 1;

    usher__top_put(to, " ");
    for (size_t c = 0; c < d->table.n_columns; c++) {
        size_t width = widths[c];

        if (width == 0 || used >= v->width)
            continue;
        width = width < v->width - used ? width : v->width - used;
        usher__top_cell(to, row == SIZE_MAX ? d->table.head[c] : cell_of(d, row, c), width,
                        d->table.right[c], v->ascii);
        used += width + GAP;
        if (used <= v->width)
            usher__top_blanks(to, GAP);
    }
    if (used < v->width)
        usher__top_blanks(to, v->width - used);
}

static void list(struct page *p, struct detail *d, const struct view *v, size_t n_lines)
{
    size_t widths[TABLE_COLUMNS_MAX] = { 0 }, n = d->table.n / d->table.n_columns;
    struct out *to;

    for (size_t i = 0; i < d->table.n; i++) {
        size_t *w = &widths[i % d->table.n_columns];
        size_t width = usher__top_width(d->table.cell[i] != NULL ? d->table.cell[i] : "", v->ascii);

        *w = width > *w ? width : *w;
    }
    for (size_t c = 0; c < d->table.n_columns; c++)
        if (widths[c] != 0 && widths[c] < strlen(d->table.head[c]))
            widths[c] = strlen(d->table.head[c]);
    to = usher__top_page_line(p);
    usher__top_ink(to, INK_BOLD);
    put_cells(to, d, widths, SIZE_MAX, v);
    d->rows = n_lines > 1 ? n_lines - 1 : 1;
    if (d->place < d->first)
        d->first = d->place;
    if (d->place >= d->first + d->rows)
        d->first = d->place + 1 - d->rows;
    for (size_t i = d->first; i < n && i < d->first + d->rows; i++) {
        to = usher__top_page_line(p);
        usher__top_ink(to, i == d->place ? INK_REVERSE : v->silent_ms > 0 ? INK_DIM : INK_PLAIN);
        put_cells(to, d, widths, i, v);
        usher__top_ink(to, INK_PLAIN);
    }
}

void usher__detail_draw(struct page *p, struct detail *d, const struct model *m,
                        const struct view *v)
{
    const struct row *r = usher__top_model_find(m, d->scope);
    size_t below = 1 + (v->notice[0] != '\0');
    const struct usher_reply *reply = d->job != NULL ? d->job->reply : NULL;

    head(p, d, m, r, v);
    if (r != NULL && v->height > 12)
        figures(p, r, v);
    tab_titles(p, d, v);
    if (d->job == NULL) {
        line(p, v, " The list is being read.");
    } else if (reply == NULL || !USHER_IS_DONE(reply->status)) {
        line(p, v,
             reply == NULL                    ? d->job->message
             : reply->status == USHER_MISSING ? " There is no such scope any more."
             : reply->message[0] != '\0'      ? reply->message
                                              : usher_status_text(reply->status));
    } else if (d->table.n == 0) {
        line(p, v, " There is none.");
    } else {
        list(p, d, v, v->height > p->n + below ? v->height - p->n - below : 1);
    }
}
