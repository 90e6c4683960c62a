/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "top/model.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json_walk.h"
#include "serve/scrape.h"
#include "top/text.h"

#define ORDER_MS 5000 /* the order is settled at most this often … */
#define KEY_MS 3000   /* … and not within this time of a key, which postpones it once */
#define SCOPE_MAX (USHER_NAME_MAX + 16)

void usher__top_model_begin(struct model *m)
{
    memset(m, 0, sizeof *m);
    usher__thresholds_begin(&m->thresholds);
    m->column = ORDER_URGENCY;
    m->key_ms = m->due_ms = INT64_MIN / 2;
}

void usher__top_model_done(struct model *m)
{
    for (size_t i = 0; i < m->n; i++)
        (void)usher__cli_resize(m->rows[i], 0);
    (void)usher__cli_resize((void *)m->rows, 0);
    (void)usher__cli_resize((void *)m->order, 0);
    m->rows = m->order = NULL;
    m->n = 0;
}

static void append(struct row ***list, size_t *n, struct row *r)
{
    if ((*n & (*n - 1)) == 0) /* 0 or a power of 2 */
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        *list = usher__cli_resize((void *)*list, (*n > 0 ? 2 * *n : 1) * sizeof **list);
    (*list)[(*n)++] = r;
}

static int compare(const struct row *r, unsigned noun, const char *name)
{
    return usher__scrape_compare(r->noun, r->scope + r->name, strlen(r->scope + r->name), noun,
                                 name, strlen(name));
}

struct row *usher__top_model_find(const struct model *m, const char *scope)
{
    size_t low = 0, high = m->n;
    const char *name;
    const struct usher__noun *noun = usher__scrape_split(scope, strlen(scope), &name);

    while (noun != NULL && low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare(m->rows[mid], noun->noun, name);

        if (order == 0)
            return m->rows[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static struct row *row_new(const char *scope, unsigned noun, size_t name)
{
    size_t size = strlen(scope) + 1;
    struct row *r = usher__cli_resize(NULL, sizeof *r + size);

    memset(r, 0, sizeof *r);
    r->noun = noun;
    r->name = name;
    r->refused = r->passed = USHER_NONE;
    r->place = SIZE_MAX;
    memcpy(r->scope, scope, size);
    return r;
}

/* Merge the scopes of the state with the rows: both are in the same order. */
static void merge(struct model *m, const char *scopes)
{
    struct row **old = m->rows, **to = NULL;
    size_t n_old = m->n, n = 0, at = 0;

    for (const char *s = scopes != NULL ? usher__json_first(scopes) : NULL; s != NULL;
         s = usher__json_next(s)) {
        char scope[SCOPE_MAX];
        const char *text = usher__json_find(s, "scope"), *name;
        const struct usher__noun *noun;
        struct row *r;
        int order = 1;

        usher__top_unquote(scope, sizeof scope, text != NULL ? text : "\"\"");
        noun = usher__scrape_split(scope, strlen(scope), &name);
        if (noun == NULL)
            continue;
        while (at < n_old && (order = compare(old[at], noun->noun, name)) < 0)
            (void)usher__cli_resize(old[at++], 0);
        r = at < n_old && order == 0 ? old[at++]
                                     : row_new(scope, noun->noun, (size_t)(name - scope));
        usher__top_read(r, s);
        append(&to, &n, r);
    }
    while (at < n_old)
        (void)usher__cli_resize(old[at++], 0);
    (void)usher__cli_resize((void *)old, 0);
    m->rows = to;
    m->n = n;
}

static int64_t int_of(const char *json, const char *key)
{
    const char *at = usher__json_find(json, key);

    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

static void text_of(char *to, size_t size, const char *json, const char *key)
{
    const char *at = usher__json_find(json, key);

    usher__top_unquote(to, size, at != NULL && *at == '"' ? at : "\"\"");
}

static int by_place(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return compare(x, y->noun, y->scope + y->name);
}

/* Put the rows that are there into `order`; new ones come last. */
static void place(struct model *m)
{
    m->order =
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        usher__cli_resize((void *)m->order, (m->n + 1) * sizeof *m->order);
    if (m->n > 0) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        memcpy((void *)m->order, (void *)m->rows, m->n * sizeof *m->order);
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        qsort((void *)m->order, m->n, sizeof *m->order, by_place);
    }
}

void usher__top_model_take(struct model *m, const char *json)
{
    const char *totals = usher__json_find(json, "totals");

    m->at_ms = int_of(json, "at");
    m->zone = (int)int_of(json, "zone");
    m->lag_ms = int_of(json, "lag");
    text_of(m->store, sizeof m->store, json, "store");
    text_of(m->kind, sizeof m->kind, json, "kind");
    m->total = 0;
    for (unsigned i = 0; totals != NULL && usher__noun_at(i) != NULL; i++) {
        const struct usher__noun *noun = usher__noun_at(i);

        m->totals[noun->noun] = noun->hidden ? 0 : (uint64_t)int_of(totals, noun->word);
        m->total += m->totals[noun->noun];
    }
    merge(m, usher__json_find(json, "scopes"));
    place(m);
    m->read = true;
}

void usher__top_model_judge(struct model *m, int64_t wall_ms, int64_t now_ms)
{
    memset(m->levels, 0, sizeof m->levels);
    for (size_t i = 0; i < m->n; i++) {
        struct row *r = m->rows[i];
        enum level was = r->level;
        int64_t grown_ms = wall_ms > r->at_ms ? wall_ms - r->at_ms : 0;

        usher__top_judge(r, &m->thresholds, grown_ms, now_ms);
        if (r->level == LEVEL_ALARM && was != LEVEL_ALARM && m->due_ms > now_ms)
            m->due_ms = now_ms;
        m->levels[r->level]++;
    }
}

/* ---- the order ----------------------------------------------------------------------------- */

struct ordered {
    struct row *r;
    int column;
    bool backwards;
};

static int by_cell(const struct ordered *x, const struct ordered *y)
{
    int64_t a = x->r->cell[x->column], b = y->r->cell[x->column];

    return a == b ? 0 : a > b ? -1 : 1;
}

static int by_urgency(const struct ordered *x, const struct ordered *y)
{
    if (x->r->level != y->r->level)
        return x->r->level > y->r->level ? -1 : 1;
    return x->r->score == y->r->score ? 0 : x->r->score > y->r->score ? -1 : 1;
}

static int by_order(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    int order = x->column == ORDER_URGENCY ? by_urgency(x, y)
                : x->column == ORDER_NAME  ? 0
                                           : by_cell(x, y);

    if (order == 0)
        order = compare(x->r, y->r->noun, y->r->scope + y->r->name);
    return x->backwards ? -order : order;
}

void usher__top_model_order(struct model *m, int64_t now_ms, bool now)
{
    int64_t due_ms = m->due_ms;
    struct ordered *all;

    if (m->key_ms + KEY_MS > due_ms)
        due_ms = (m->key_ms < due_ms ? m->key_ms : due_ms) + KEY_MS;
    if (m->n == 0 || (!now && now_ms < due_ms))
        return;
    all = usher__cli_resize(NULL, m->n * sizeof *all);
    for (size_t i = 0; i < m->n; i++)
        all[i] = (struct ordered){ m->rows[i], m->column, m->backwards };
    qsort(all, m->n, sizeof *all, by_order);
    for (size_t i = 0; i < m->n; i++)
        all[i].r->place = i;
    (void)usher__cli_resize(all, 0);
    place(m);
    m->due_ms = now_ms + ORDER_MS;
}
