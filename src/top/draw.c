/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"

#define SCOPE_MIN ((size_t)21)
#define MARGIN ((size_t)3) /* the mark of a level, and the cursor at the end */
#define SMALL_WIDTH 60
#define SMALL_HEIGHT 12
#define TALL 30 /* lines with room for a line of sums */

/* ---- pages --------------------------------------------------------------------------------- */

struct out *usher__top_page_line(struct page *p)
{
    if (p->n == p->room) {
        p->room = p->room > 0 ? 2 * p->room : 32;
        p->lines = usher__cli_resize(p->lines, p->room * sizeof *p->lines);
        memset(p->lines + p->n, 0, (p->room - p->n) * sizeof *p->lines);
    }
    p->lines[p->n].from = p->lines[p->n].end = 0;
    return &p->lines[p->n++];
}

void usher__top_page_clear(struct page *p)
{
    p->n = 0;
}

void usher__top_page_done(struct page *p)
{
    for (size_t i = 0; i < p->room; i++)
        usher__out_done(&p->lines[i]);
    p->lines = usher__cli_resize(p->lines, 0);
    p->n = p->room = 0;
}

void usher__top_ends(struct out *to, const struct view *v, const char *left, const char *right)
{
    size_t width = usher__top_width(right, v->ascii);

    width = width < v->width ? width : 0;
    usher__top_cell(to, left, v->width - width, false, v->ascii);
    if (width > 0)
        usher__top_put(to, right);
}

void usher__top_time(char to[TOP_TEXT_MAX], const struct view *v, const struct model *m, bool zone)
{
    int east = m->zone < 0 ? -m->zone : m->zone;
    size_t n;

    (void)usher__top_clock(to, v->clock_ms, m->zone);
    n = strlen(to);
    if (zone && east % 60 == 0)
        (void)snprintf(to + n, TOP_TEXT_MAX - n, " UTC%c%d", m->zone < 0 ? '-' : '+', east / 60);
    else if (zone)
        (void)snprintf(to + n, TOP_TEXT_MAX - n, " UTC%c%d:%02d", m->zone < 0 ? '-' : '+',
                       east / 60, east % 60);
}

/* ---- the head ------------------------------------------------------------------------------ */

bool usher__top_shows(const struct view *v, const struct row *r)
{
    return (v->noun == 0 || v->noun == r->noun) &&
           (v->filter[0] == '\0' || strcasestr(r->scope, v->filter) != NULL);
}

static void marks(char *to, size_t size, const struct model *m, const struct view *v)
{
    size_t n = 0;

    to[0] = '\0';
    if (m->levels[LEVEL_ALARM] > 0)
        n = (size_t)snprintf(to, size, "%s%zu ", usher__top_sign(SIGN_ALARM, v->ascii),
                             m->levels[LEVEL_ALARM]);
    if (m->levels[LEVEL_WARNING] > 0)
        (void)snprintf(to + n, size - n, "%s%zu ", usher__top_sign(SIGN_WARNING, v->ascii),
                       m->levels[LEVEL_WARNING]);
}

static void head(struct page *p, const struct model *m, const struct view *v)
{
    size_t all = m->n > m->total ? m->n : m->total; /* one scope alone is in no total */
    const char *dot = usher__top_sign(SIGN_DOT, v->ascii);
    char left[200], right[96], number[TOP_TEXT_MAX], time[TOP_TEXT_MAX], mark[48], state[64];
    char held[48];
    char shown[48] = "";
    struct out *to = usher__top_page_line(p);

    marks(mark, sizeof mark, m, v);
    usher__top_time(time, v, m, v->width >= SMALL_WIDTH);
    held[0] = '\0';
    if (v->held_ms >= 0)
        (void)snprintf(held, sizeof held, "HELD %s  ",
                       usher__top_span(number, v->held_ms, v->ascii));
    (void)snprintf(right, sizeof right, "%s%s %s", held, mark, time);
    if (v->width < SMALL_WIDTH) {
        (void)snprintf(left, sizeof left, "usher top %s", mark);
        usher__top_ends(to, v, left, time);
        return;
    }
    if (v->silent_ms > 0)
        (void)snprintf(state, sizeof state, "no answer for %s",
                       usher__top_span(number, v->silent_ms, v->ascii));
    else
        (void)snprintf(state, sizeof state, "%" PRId64 " ms", m->lag_ms);
    if (m->n < m->total)
        (void)snprintf(shown, sizeof shown, ", the %zu most urgent", m->n);
    (void)snprintf(left, sizeof left, "usher top  %s%s%s%s%s scope%s%s", m->kind, dot, state, dot,
                   usher__top_number(number, (int64_t)all, v->ascii), all == 1 ? "" : "s", shown);
    if (!v->once)
        usher__top_ink(to, INK_BOLD);
    usher__top_ends(to, v, left, right);
}

static int64_t sum(const struct model *m, unsigned noun, enum figure code)
{
    int64_t all = 0;

    for (size_t i = 0; i < m->n; i++)
        if (m->rows[i]->noun == noun && m->rows[i]->figure[code] != USHER_NONE)
            all += m->rows[i]->figure[code];
    return all;
}

static void sums(struct page *p, const struct model *m, const struct view *v)
{
    struct out *to = usher__top_page_line(p);
    size_t waits = 0, queues = 0;
    char text[200], seated[TOP_TEXT_MAX], calls[TOP_TEXT_MAX], refused[TOP_TEXT_MAX];
    const char *dot = usher__top_sign(SIGN_DOT, v->ascii);

    for (size_t i = 0; i < m->n; i++) {
        queues += m->rows[i]->noun == USHER_QUEUE;
        waits += m->rows[i]->noun == USHER_QUEUE && m->rows[i]->cell[COLUMN_WAIT] > 0;
    }
    (void)snprintf(
        text, sizeof text,
        "%swaiting %" PRId64 " in %zu of %zu queues%sserved today %s%sgave up %" PRId64
        "%scalls today %s%srefused %s",
        m->n < m->total ? "of the scopes below: " : "", sum(m, USHER_QUEUE, FIGURE_WAITING), waits,
        queues, dot, usher__top_number(seated, sum(m, USHER_QUEUE, FIGURE_SEATED_TODAY), v->ascii),
        dot,
        sum(m, USHER_QUEUE, FIGURE_ABANDONED_TODAY) + sum(m, USHER_QUEUE, FIGURE_TIMEOUT_TODAY),
        dot, usher__top_number(calls, sum(m, USHER_NUMBER, FIGURE_CALLS_TODAY), v->ascii), dot,
        usher__top_number(refused, sum(m, USHER_NUMBER, FIGURE_REFUSED_TODAY), v->ascii));
    usher__top_cell(to, text, v->width, false, v->ascii);
}

/* A bar for all agents, or for all numbers. */
static void meter(struct page *p, const struct view *v, const char *title, const struct part *parts,
                  int64_t total, const char *text)
{
    struct out *to = usher__top_page_line(p);
    size_t width = v->width < 120 ? 32 : 62;

    usher__top_cell(to, title, 8, false, v->ascii);
    usher__top_bar(to, parts, 4, total, width, v->ascii);
    usher__top_put(to, " ");
    usher__top_cell(to, text, v->width - width - 9, false, v->ascii);
}

static void meters(struct page *p, const struct model *m, const struct view *v)
{
    int64_t busy =
        sum(m, USHER_QUEUE, FIGURE_AGENTS_BUSY) + sum(m, USHER_QUEUE, FIGURE_AGENTS_OFFERED);
    int64_t wrap = sum(m, USHER_QUEUE, FIGURE_AGENTS_WRAPUP);
    int64_t paused = sum(m, USHER_QUEUE, FIGURE_AGENTS_PAUSED);
    int64_t calls = sum(m, USHER_NUMBER, FIGURE_BUSY_UP) + sum(m, USHER_NUMBER, FIGURE_BUSY_DOWN);
    int64_t rest = sum(m, USHER_NUMBER, FIGURE_RESTING), cap = sum(m, USHER_NUMBER, FIGURE_CAPPED);
    const struct part agents[] = { { SIGN_BUSY, INK_BUSY, busy },
                                   { SIGN_REST, INK_REST, wrap },
                                   { SIGN_DOWN, INK_DOWN, paused },
                                   { SIGN_FREE, INK_DIM, 0 } };
    const struct part numbers[] = { { SIGN_BUSY, INK_BUSY, calls },
                                    { SIGN_REST, INK_REST, rest },
                                    { SIGN_CAPPED, INK_REST, cap },
                                    { SIGN_DOWN, INK_DOWN,
                                      sum(m, USHER_NUMBER, FIGURE_IDLE_DOWN) } };
    char text[160];

    (void)snprintf(text, sizeof text,
                   "%" PRId64 " free %" PRId64 " talk %" PRId64 " wrap %" PRId64 " paused",
                   sum(m, USHER_QUEUE, FIGURE_AGENTS_IDLE), busy, wrap, paused);
    if (m->totals[USHER_QUEUE] > 0)
        meter(p, v, "agents", agents, sum(m, USHER_QUEUE, FIGURE_AGENTS), text);
    (void)snprintf(text, sizeof text,
                   "%" PRId64 " free %" PRId64 " busy %" PRId64 " rest %" PRId64 " cap",
                   sum(m, USHER_NUMBER, FIGURE_IDLE_UP) - rest - cap, calls, rest, cap);
    if (m->totals[USHER_NUMBER] > 0)
        meter(p, v, "numbers", numbers, sum(m, USHER_NUMBER, FIGURE_TOTAL), text);
}

/* ---- the table ----------------------------------------------------------------------------- */

struct layout {
    size_t scope;         /* columns of the name */
    unsigned first, last; /* those from `first` to before `last` are shown … */
    bool hour;            /* … without the last hour, if none of it is known */
};

static bool has(const struct layout *l, unsigned column)
{
    return column >= l->first && column < l->last && (column != COLUMN_LAST || l->hour);
}

static struct layout layout_of(const struct model *m, const struct view *v)
{
    struct layout l = { SCOPE_MIN, 0, 0, false };
    size_t used = SCOPE_MIN + MARGIN, longest = 0;

    for (size_t i = 0; i < m->n; i++)
        l.hour = l.hour || m->rows[i]->n_hour > 0;
    l.first = v->skip < COLUMNS ? (unsigned)v->skip : COLUMNS;
    for (l.last = l.first; l.last < COLUMNS; l.last++) {
        size_t width = l.last == COLUMN_LAST && !l.hour ? 0 : usher__top_columns[l.last].width;

        if (used + width > v->width + 1)
            break;
        used += width;
    }
    for (size_t i = 0; i < m->n; i++) {
        size_t width =
            usher__top_shows(v, m->rows[i]) ? usher__top_width(m->rows[i]->scope, v->ascii) + 1 : 0;

        longest = width > longest ? width : longest;
    }
    if (v->width > used && longest > l.scope)
        l.scope = longest < l.scope + (v->width - used) ? longest : l.scope + (v->width - used);
    return l;
}

static void titles(struct page *p, const struct model *m, const struct view *v,
                   const struct layout *l)
{
    struct out *to = usher__top_page_line(p);
    char text[40];

    usher__top_ink(to, INK_BOLD);
    usher__top_put(to, "  ");
    usher__top_cell(to, "SCOPE", l->scope, false, v->ascii);
    for (unsigned i = 0; i < COLUMNS; i++) {
        const struct column_about *c = &usher__top_columns[i];

        if (!has(l, i))
            continue;
        (void)snprintf(text, sizeof text, "%s%s%s",
                       c->kind >= BAR ? (c->kind == BAR ? " " : "  ") : "",
                       m->column == (int)i ? (m->backwards ? "^" : "v") : "", c->title);
        usher__top_cell(to, text, c->width, c->kind < BAR, v->ascii);
    }
    usher__top_ink(to, INK_PLAIN);
}

static void bar(struct out *to, const struct row *r, size_t width, bool ascii)
{
    const int64_t *f = r->figure;
    struct part parts[4] = { { SIGN_BUSY, INK_BUSY, 0 },
                             { SIGN_REST, INK_REST, 0 },
                             { SIGN_CAPPED, INK_REST, 0 },
                             { SIGN_DOWN, INK_DOWN, 0 } };
    int64_t total = 0;

    if (r->noun == USHER_QUEUE) {
        parts[0].n = f[FIGURE_AGENTS_BUSY] + f[FIGURE_AGENTS_OFFERED];
        parts[1].n = f[FIGURE_AGENTS_WRAPUP];
        parts[3].n = f[FIGURE_AGENTS_PAUSED];
        total = f[FIGURE_AGENTS];
    } else if (r->noun == USHER_NUMBER) {
        parts[0].n = f[FIGURE_BUSY_UP] + f[FIGURE_BUSY_DOWN];
        parts[1].n = f[FIGURE_RESTING];
        parts[2].n = f[FIGURE_CAPPED];
        parts[3].n = f[FIGURE_IDLE_DOWN];
        total = f[FIGURE_TOTAL];
    } else {
        parts[0].n = f[FIGURE_MEMBERS];
        total = f[FIGURE_CAPACITY];
    }
    if (r->cell[COLUMN_USE] == CELL_EMPTY)
        usher__top_blanks(to, width);
    else
        usher__top_bar(to, parts, 4, total, width, ascii);
}

static void cell(struct out *to, const struct row *r, unsigned column, bool ascii)
{
    const struct column_about *c = &usher__top_columns[column];
    int64_t n = r->cell[column];
    char text[TOP_TEXT_MAX];

    if (c->kind >= BAR) {
        usher__top_blanks(to, c->kind == BAR ? 1 : 2);
        if (c->kind == BAR)
            bar(to, r, c->width - 1, ascii);
        else if (c->kind == LINE)
            usher__top_line(to, r->hour, r->n_hour, c->width - 2, ascii);
        else
            usher__top_cell(to, r->why, c->width - 2, false, ascii);
        return;
    }
    if (n == CELL_EMPTY || n == USHER_NONE)
        text[0] = '\0';
    else if (n == CELL_NONE)
        (void)snprintf(text, sizeof text, "%s", usher__top_sign(SIGN_NONE, ascii));
    else if (c->kind == SPAN)
        (void)usher__top_span(text, n, ascii);
    else if (c->kind == SHARE)
        (void)snprintf(text, sizeof text, "%" PRId64 "%%", (n + 50) / 100);
    else
        (void)usher__top_number(text, n, ascii);
    usher__top_cell(to, text, c->width, true, ascii);
}

static void level_begin(struct out *to, const struct row *r, const struct view *v, bool is_cursor)
{
    static const enum sign signs[LEVELS] = { SIGN_FREE, SIGN_WARNING, SIGN_ALARM };
    static const enum ink inks[LEVELS] = { INK_PLAIN, INK_WARNING, INK_ALARM };

    usher__top_ink(to, v->silent_ms > 0 ? INK_DIM : is_cursor ? INK_REVERSE : inks[r->level]);
    usher__top_put(to, r->level != LEVEL_NONE ? usher__top_sign(signs[r->level], v->ascii) : " ");
    usher__top_put(to, " ");
}

static void row(struct page *p, const struct row *r, const struct view *v, const struct layout *l)
{
    struct out *to = usher__top_page_line(p);
    bool is_cursor = !v->once && strcmp(r->scope, v->cursor) == 0;

    level_begin(to, r, v, is_cursor);
    usher__top_cell(to, r->scope, l->scope, false, v->ascii);
    if (v->silent_ms == 0)
        usher__top_ink(to, INK_PLAIN);
    for (unsigned i = 0; i < COLUMNS; i++)
        if (has(l, i))
            cell(to, r, i, v->ascii);
    if (is_cursor && l->last == COLUMN_LEVEL)
        usher__top_put(to, usher__top_sign(SIGN_CURSOR, v->ascii));
    usher__top_ink(to, INK_PLAIN);
}

/* Below 60x12: a line has the reason only. */
static void small_row(struct page *p, const struct row *r, const struct view *v)
{
    struct out *to = usher__top_page_line(p);
    size_t half = v->width > 4 ? (v->width - 2) * 22 / 48 : v->width;

    level_begin(to, r, v, !v->once && strcmp(r->scope, v->cursor) == 0);
    usher__top_cell(to, r->scope, half, false, v->ascii);
    if (v->width > 4)
        usher__top_cell(to, r->why, v->width - 2 - half, false, v->ascii);
    usher__top_ink(to, INK_PLAIN);
}

static void nothing(struct page *p, const struct model *m, const struct view *v)
{
    static const char *const lines[] = {
        "",
        "  There is nothing in this store yet.  A first agent makes a queue, a first",
        "  number a pool; they appear here by themselves:",
        "",
        "      usher queue login support ann",
        "      usher number add sales 4930100",
    };

    if (m->total > 0 || v->only) {
        usher__top_put(usher__top_page_line(p), "");
        usher__top_cell(usher__top_page_line(p),
                        m->n > 0 ? "  No scope has this text, or is of this noun."
                                 : "  The store has no such scope.",
                        v->width, false, v->ascii);
        return;
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        usher__top_cell(usher__top_page_line(p), lines[i], v->width, false, v->ascii);
}

/* Rows that are not shown, with their alarms. */
static void hidden(struct page *p, const struct model *m, const struct view *v)
{
    size_t n = 0, alarms = 0;
    char text[160], mark[24] = "";

    for (size_t i = 0; i < m->n; i++)
        if (!usher__top_shows(v, m->rows[i])) {
            n++;
            alarms += m->rows[i]->level == LEVEL_ALARM;
        }
    if (alarms > 0)
        (void)snprintf(mark, sizeof mark, ", %s%zu", usher__top_sign(SIGN_ALARM, v->ascii), alarms);
    (void)snprintf(text, sizeof text, "%s%s%s%zu hidden%s", v->filter[0] != '\0' ? "filter: " : "",
                   v->filter, v->filter[0] != '\0' ? "  " : "", n, mark);
    if (n > 0)
        usher__top_cell(usher__top_page_line(p), text, v->width, false, v->ascii);
}

static void silence(struct page *p, const struct view *v, const struct model *m)
{
    struct out *to = usher__top_page_line(p);
    char text[160], span[TOP_TEXT_MAX], time[TOP_TEXT_MAX];

    (void)snprintf(
        text, sizeof text, "%s The store has not answered for %s.  Figures of %s.  u: ask again",
        usher__top_sign(SIGN_ALARM, v->ascii), usher__top_span(span, v->silent_ms, v->ascii),
        usher__top_clock(time, m->at_ms, m->zone));
    usher__top_ink(to, INK_ALARM);
    usher__top_cell(to, text, v->width, false, v->ascii);
    usher__top_ink(to, INK_PLAIN);
}

static void incomplete(struct page *p, const struct view *v)
{
    struct out *to = usher__top_page_line(p);
    char text[160];

    (void)snprintf(text, sizeof text,
                   "%s A part of the store does not answer: these are not all scopes.",
                   usher__top_sign(SIGN_ALARM, v->ascii));
    usher__top_ink(to, INK_ALARM);
    usher__top_cell(to, text, v->width, false, v->ascii);
    usher__top_ink(to, INK_PLAIN);
}

/* Move the first row so that the cursor is within the @n rows of the screen. */
static void scroll(const struct model *m, struct view *v, size_t n)
{
    size_t at = 0, all = 0, cursor = SIZE_MAX;

    for (size_t i = 0; i < m->n; i++)
        if (usher__top_shows(v, m->order[i])) {
            if (strcmp(m->order[i]->scope, v->cursor) == 0)
                cursor = at;
            at++;
        }
    all = at;
    if (cursor != SIZE_MAX && cursor < v->first)
        v->first = cursor;
    if (cursor != SIZE_MAX && n > 0 && cursor >= v->first + n)
        v->first = cursor + 1 - n;
    if (v->first + n > all)
        v->first = all > n ? all - n : 0;
}

size_t usher__top_overview(struct page *p, const struct model *m, struct view *v)
{
    bool small = v->width < SMALL_WIDTH || (!v->once && v->height < SMALL_HEIGHT);
    size_t below = v->once ? 0 : (size_t)(v->notice[0] != '\0' && !small) + (v->height > 3), n = 0;
    struct layout l = layout_of(m, v);
    size_t at = 0, shown = 0;

    head(p, m, v);
    if (v->silent_ms > 0)
        silence(p, v, m);
    else if (!v->once && strcmp(m->store, "partial") == 0)
        incomplete(p, v);
    if (!small && v->height >= TALL)
        sums(p, m, v);
    if (!small)
        meters(p, m, v);
    hidden(p, m, v);
    if (!small && m->n > 0)
        titles(p, m, v, &l);
    n = v->once ? SIZE_MAX / 2 : v->height > p->n + below ? v->height - p->n - below : 0;
    if (!v->once)
        scroll(m, v, n);
    for (size_t i = 0; i < m->n; i++) {
        if (!usher__top_shows(v, m->order[i]))
            continue;
        if (at++ < v->first || shown == n)
            continue;
        shown++;
        if (small)
            small_row(p, m->order[i], v);
        else
            row(p, m->order[i], v, &l);
    }
    if (!m->read)
        usher__top_cell(usher__top_page_line(p), "  The scopes are being read.", v->width, false,
                        v->ascii);
    else if (at == 0)
        nothing(p, m, v);
    return n;
}
