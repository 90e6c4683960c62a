/* SPDX-License-Identifier: MIT */
/* The list of scopes, in pages, and the options of all lists. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/engine.h"
#include "engine/scopes.h"
#include "change/work.h"

bool usher__scope_listed(const struct usher_scope *s)
{
    const struct usher__steps *steps = usher__steps(s->noun);

    return steps != NULL && !usher__noun(s->noun)->hidden &&
           (steps->gone == NULL || !steps->gone(s));
}

enum usher_status usher__engine_scan(struct usher_engine *e, int64_t timeout_ms, const char *verb,
                                     enum usher_noun noun, const struct usher_text *scope,
                                     usher_scan_fn *fn, void *payload)
{
    char why[192] = "";
    enum usher_status status = e->store->ops->scan(
        e->store, noun, scope, usher__monotonic_ms() + timeout_ms, fn, payload, why);

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

/* The receiver of a page of scopes. */
struct rows {
    usher_scope_fn *fn;
    void *payload;
    size_t n;
};

static enum usher_status show(void *payload, const struct usher_item *item)
{
    struct rows *r = payload;
    const struct usher_scope *s = item->scope;
    struct usher_scope_info info = { .size = sizeof info };

    if (!usher__scope_listed(s))
        return USHER_OK;
    info.noun = (enum usher_noun)s->noun;
    info.name = s->name;
    info.epoch = s->epoch;
    info.version = s->version;
    info.due_ms = s->due_ms;
    for (unsigned i = 0; i < USHER_COUNTS; i++)
        if ((usher__steps(s->noun)->items >> i & 1u) != 0)
            info.items += s->counts[i];
    r->n++;
    r->fn(r->payload, &info);
    return USHER_OK;
}

/* The nouns that usher_scopes() lists: @noun, or (0) all but the indices of the engine. */
static unsigned nouns_of(enum usher_noun noun)
{
    const struct usher__noun *one;
    unsigned nouns = 0;

    for (unsigned i = 0; (one = usher__noun_at(i)) != NULL; i++)
        if (!one->hidden && ((unsigned)noun == 0 || one->noun == (unsigned)noun) &&
            usher__steps(one->noun) != NULL)
            nouns |= 1u << one->noun;
    return nouns;
}

/* A page of the store can have scopes that are not listed, so that several make one. */
static enum usher_status list(struct usher_engine *e, const struct usher_list_options *o,
                              struct rows *rows, char next[USHER_CURSOR_MAX + 1])
{
    size_t max = o->max != 0 ? (size_t)o->max : USHER_LIST_DEFAULT;
    struct usher_page page = { .nouns = nouns_of(o->noun) };
    int64_t deadline_ms = usher__monotonic_ms() + o->timeout_ms;
    enum usher_status status;

    (void)snprintf(next, USHER_CURSOR_MAX + 1, "%s", o->after != NULL ? o->after : "");
    do {
        char why[192] = "";

        page.max = max - rows->n;
        page.after = (struct usher_text){ next, strlen(next) };
        status = e->store->ops->list(e->store, &page, deadline_ms, show, rows, why);
        if (status == USHER_INVALID)
            usher__message_set("scopes: %s", why);
        else if (status != USHER_OK)
            usher__message_set("scopes: %s: %s", e->store->ops->name,
                               why[0] != '\0' ? why : usher_status_text(status));
        (void)snprintf(next, USHER_CURSOR_MAX + 1, "%s",
                       status == USHER_OK || status == USHER_UNAVAILABLE ? page.next : "");
    } while (status == USHER_OK && rows->n < max && next[0] != '\0' &&
             usher__monotonic_ms() < deadline_ms);
    return status;
}

enum usher_status usher_scopes(struct usher_engine *e, const struct usher_list_options *opt,
                               usher_scope_fn *fn, void *payload,
                               char ret_next[USHER_CURSOR_MAX + 1])
{
    enum usher_status status = usher__engine_check(e);
    struct rows rows = { fn, payload, 0 };
    char next[USHER_CURSOR_MAX + 1] = "";
    struct usher_list_options o;
    const char *fault;

    if (status != USHER_OK)
        return status;
    fault = usher__list_options(e, opt, USHER__LIST_MAX | USHER__LIST_AFTER | USHER__LIST_NOUN, &o);
    if (fault == NULL && fn == NULL)
        fault = "fn is NULL";
    else if (fault == NULL && nouns_of(o.noun) == 0)
        fault = "no such noun";
    else if (fault == NULL && o.after != NULL &&
             (o.after[0] == '\0' || strlen(o.after) > USHER_CURSOR_MAX))
        fault = o.after[0] == '\0' ? "after is empty" : "after is too long";
    if (fault != NULL) {
        usher__message_set("scopes: %s", fault);
        return USHER_INVALID;
    }
    status = list(e, &o, &rows, next);
    if (ret_next != NULL)
        memcpy(ret_next, next, sizeof next);
    return status;
}
