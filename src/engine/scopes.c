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

enum usher_status usher_scopes(struct usher_engine *e, enum usher_noun noun, const char *after,
                               size_t max, usher_scope_fn *fn, void *payload, bool *ret_more)
{
    enum usher_status status = usher__engine_check(e);
    struct page p = { .after = { "", 0 }, .max = max != 0 ? max : USHER_LIST_DEFAULT };
    const char *fault = NULL;
    char why[192] = "";

    if (status != USHER_OK)
        return status;
    if (fn == NULL)
        fault = "fn is NULL";
    else if (max > USHER_LIST_MAX)
        fault = "max is above 10000";
    else if ((unsigned)noun != 0 &&
             (usher__noun((unsigned)noun) == NULL || usher__noun((unsigned)noun)->hidden))
        fault = "no such noun";
    if (fault == NULL && after != NULL) {
        fault = usher__place_fault(&(struct usher_text){ after, strlen(after) }, &p.after_noun,
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
    status = e->store->ops->scan(e->store, noun, NULL, false, usher__monotonic_ms() + e->timeout_ms,
                                 seen, &p, why);
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
