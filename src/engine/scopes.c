/* SPDX-License-Identifier: MIT */
/*
 * The list of scopes, in pages.  A store lists them in any order.  The first ones after the end of
 * the last page are kept in a heap, the last of them on top.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/engine.h"
#include "change/memory.h"
#include "engine/scopes.h"
#include "change/work.h"

struct row {
    uint64_t epoch, version;
    int64_t due_ms, items;
    unsigned noun;
    size_t size;
    char name[USHER_NAME_MAX];
};

struct page {
    const struct usher_allocator *alloc;
    unsigned after_noun; /* 0: from the beginning */
    struct usher_text after;
    struct row **heap;
    size_t n, room, max;
    bool more;
};

static int compare(unsigned a, const char *a_name, size_t a_size, unsigned b, const char *b_name,
                   size_t b_size)
{
    int order;

    if (a != b)
        return a < b ? -1 : 1;
    order = memcmp(a_name, b_name, a_size < b_size ? a_size : b_size);
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_rows(const struct row *a, const struct row *b)
{
    return compare(a->noun, a->name, a->size, b->noun, b->name, b->size);
}

static int compare_places(const void *a, const void *b)
{
    return compare_rows(*(const struct row *const *)a, *(const struct row *const *)b);
}

static void swap(struct row **a, struct row **b)
{
    struct row *c = *a;

    *a = *b;
    *b = c;
}

static void rise(struct page *p, size_t i)
{
    for (; i > 0 && compare_rows(p->heap[i], p->heap[(i - 1) / 2]) > 0; i = (i - 1) / 2)
        swap(&p->heap[i], &p->heap[(i - 1) / 2]);
}

static void sink(struct page *p)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < p->n; i = child) {
        if (child + 1 < p->n && compare_rows(p->heap[child + 1], p->heap[child]) > 0)
            child++;
        if (compare_rows(p->heap[i], p->heap[child]) >= 0)
            return;
        swap(&p->heap[i], &p->heap[child]);
    }
}

/* Append one to the heap, not in its position yet.  Return NULL if there is no memory. */
static struct row *add(struct page *p)
{
    struct row *row;

    if (p->n == p->room) {
        size_t room = p->room * 2 + 64;
        struct row **heap = usher__resize(p->alloc, p->heap, p->room * sizeof(struct row *),
                                          room * sizeof(struct row *));

        if (heap == NULL)
            return NULL;
        p->heap = heap;
        p->room = room;
    }
    row = usher__resize(p->alloc, NULL, 0, sizeof *row);
    if (row != NULL)
        p->heap[p->n++] = row;
    return row;
}

static void take(struct row *row, const struct usher_scope *s)
{
    const struct usher__steps *steps = usher__steps(s->noun);

    row->noun = s->noun;
    row->size = s->name.size;
    memcpy(row->name, s->name.data, s->name.size);
    row->epoch = s->epoch;
    row->version = s->version;
    row->due_ms = s->due_ms;
    row->items = 0;
    for (unsigned i = 0; i < USHER_COUNTS; i++)
        if ((steps->items >> i & 1u) != 0)
            row->items += s->counts[i];
}

bool usher__scope_listed(const struct usher_scope *s)
{
    const struct usher__steps *steps = usher__steps(s->noun);

    return steps != NULL && !usher__noun(s->noun)->hidden &&
           (steps->gone == NULL || !steps->gone(s));
}

static enum usher_status seen(void *payload, const struct usher_item *item)
{
    struct page *p = payload;
    const struct usher_scope *s = item->scope;
    struct row *row;

    if (item->kind != USHER_ITEM_SCOPE || !usher__scope_listed(s) ||
        compare(s->noun, s->name.data, s->name.size, p->after_noun, p->after.data, p->after.size) <=
            0)
        return USHER_OK;
    if (p->n == p->max) {
        const struct row *last = p->heap[0];

        p->more = true;
        if (compare(s->noun, s->name.data, s->name.size, last->noun, last->name, last->size) >= 0)
            return USHER_OK;
        take(p->heap[0], s);
        sink(p);
        return USHER_OK;
    }
    row = add(p);
    if (row == NULL)
        return USHER_NOMEM;
    take(row, s);
    rise(p, p->n - 1);
    return USHER_OK;
}

enum usher_status usher__engine_scan(struct usher_engine *e, int64_t timeout_ms, const char *verb,
                                     enum usher_noun noun, const struct usher_text *scope,
                                     usher_scan_fn *fn, void *payload)
{
    char why[192] = "";
    enum usher_status status = e->store->ops->scan(
        e->store, noun, scope, true, usher__monotonic_ms() + timeout_ms, fn, payload, why);

    if (status != USHER_OK)
        usher__message_set("%s: %s: %s", verb, e->store->ops->name,
                           why[0] != '\0' ? why : usher_status_text(status));
    return status;
}

const char *usher__place_fault(const struct usher_text *place, unsigned *ret_noun,
                               struct usher_text *ret_name)
{
    const struct usher__noun *noun;

    for (unsigned i = 0; (noun = usher__noun_at(i)) != NULL; i++) {
        size_t size = strlen(noun->word);

        if (place->size <= size || place->data[size] != '/' ||
            memcmp(noun->word, place->data, size) != 0)
            continue;
        *ret_noun = noun->noun;
        ret_name->data = place->data + size + 1;
        ret_name->size = place->size - size - 1;
        return usher__scope_fault(ret_name->data, ret_name->size);
    }
    return "is not NOUN/NAME";
}

/* ---- options of lists -------------------------------------------------------------------- */

#define OPTIONS_MAX 65536 /* `size` of options of a later version */

static bool in_range(int64_t number, int64_t max)
{
    return number >= 0 && number <= max;
}

const char *usher__list_options(const struct usher_engine *e, const struct usher_list_options *from,
                                unsigned takes, struct usher_list_options *o)
{
    unsigned given;

    *o = (struct usher_list_options)USHER_LIST_OPTIONS_INIT;
    if (from != NULL && (from->size < sizeof from->size || from->size > OPTIONS_MAX))
        return "options are not set by USHER_LIST_OPTIONS_INIT";
    for (size_t i = sizeof *o; from != NULL && i < from->size; i++)
        if (((const char *)from)[i] != 0)
            return "options have a member that this version does not know";
    if (from != NULL)
        memcpy(o, from, from->size < sizeof *o ? from->size : sizeof *o);
    given = (o->now_ms != 0 ? USHER__LIST_NOW : 0u) | (o->max != 0 ? USHER__LIST_MAX : 0u) |
            (o->after != NULL ? USHER__LIST_AFTER : 0u) |
            (o->created_ms != 0 ? USHER__LIST_CREATED : 0u) |
            ((unsigned)o->noun != 0 ? USHER__LIST_NOUN : 0u) |
            (o->every_ms != 0 || o->lease_ms != 0 ? USHER__LIST_PATROL : 0u) |
            (o->row != 0 ? USHER__LIST_ROW : 0u);
    if ((given & ~takes) != 0)
        return "an option is not one of this list";
    if (!in_range(o->max, (takes & USHER__LIST_ROW) != 0 ? USHER_EXACT_MAX : USHER_LIST_MAX) ||
        !in_range(o->timeout_ms, USHER_SPAN_MAX) || !in_range(o->now_ms, USHER_TIME_MAX) ||
        !in_range(o->created_ms, USHER_TIME_MAX) || !in_range(o->every_ms, USHER_SPAN_MAX) ||
        !in_range(o->lease_ms, USHER_SPAN_MAX))
        return "max, created, now, timeout, every or lease is out of range";
    if (o->timeout_ms == 0)
        o->timeout_ms = e->timeout_ms;
    return NULL;
}

/* ---- the list ----------------------------------------------------------------------------- */

static void tell(const struct page *p, usher_scope_fn *fn, void *payload)
{
    struct usher_scope_info info;

    for (size_t i = 0; i < p->n; i++) {
        const struct row *row = p->heap[i];

        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        info.noun = (enum usher_noun)row->noun;
        info.name.data = row->name;
        info.name.size = row->size;
        info.epoch = row->epoch;
        info.version = row->version;
        info.due_ms = row->due_ms;
        info.items = row->items;
        fn(payload, &info);
    }
}

enum usher_status usher_scopes(struct usher_engine *e, const struct usher_list_options *opt,
                               usher_scope_fn *fn, void *payload, bool *ret_more)
{
    enum usher_status status = usher__engine_check(e);
    struct usher_list_options o;
    struct page p = { .after = { "", 0 } };
    const char *fault;
    char why[192] = "";

    if (status != USHER_OK)
        return status;
    fault = usher__list_options(e, opt, USHER__LIST_MAX | USHER__LIST_AFTER | USHER__LIST_NOUN, &o);
    p.max = o.max != 0 ? (size_t)o.max : USHER_LIST_DEFAULT;
    if (fault == NULL && fn == NULL)
        fault = "fn is NULL";
    else if (fault == NULL && (unsigned)o.noun != 0 &&
             (usher__noun((unsigned)o.noun) == NULL || usher__noun((unsigned)o.noun)->hidden))
        fault = "no such noun";
    if (fault == NULL && o.after != NULL) {
        fault = usher__place_fault(&(struct usher_text){ o.after, strlen(o.after) }, &p.after_noun,
                                   &p.after);
        if (fault != NULL) {
            usher__message_set("scopes: after %s", fault);
            return USHER_INVALID;
        }
    }
    if (fault != NULL) {
        usher__message_set("scopes: %s", fault);
        return USHER_INVALID;
    }
    p.alloc = e->opt.alloc;
    status = e->store->ops->scan(e->store, o.noun, NULL, false,
                                 usher__monotonic_ms() + o.timeout_ms, seen, &p, why);
    if (status == USHER_OK || status == USHER_UNAVAILABLE) {
        if (p.n > 1)
            qsort(p.heap, p.n, sizeof(struct row *), compare_places);
        tell(&p, fn, payload);
    }
    if (status != USHER_OK)
        usher__message_set("scopes: %s: %s", e->store->ops->name,
                           why[0] != '\0' ? why : usher_status_text(status));
    if (ret_more != NULL)
        *ret_more = p.more;
    for (size_t i = 0; i < p.n; i++)
        (void)usher__resize(p.alloc, p.heap[i], sizeof(struct row), 0);
    (void)usher__resize(p.alloc, p.heap, p.room * sizeof(struct row *), 0);
    return status;
}
