/* SPDX-License-Identifier: MIT */
/*
 * Dropping a scope with all its content: a mark in its header, which is the only change with a
 * version and a notice, then its records in bounded steps.  From the mark on the scope is missing
 * for any command; a command that creates it again does steps until it is erased.
 *
 * Its header stays as a tombstone (on Redis a field of the hash that is no header), with the
 * version and nothing else.  It is shown nowhere.  A scope that is created later under the name
 * continues from that version, so a token of the old scope has no effect on the new one.
 */
#include "config.h"

#include "work.h"

#include <string.h>

#include "core/verbs.h"

typedef struct usher__work work;
typedef struct usher__change change;

static bool is(const struct usher_scope *s, int64_t what)
{
    const struct usher__steps *steps = usher__steps(s->noun);

    return s->counts[USHER__COUNT_DROP] == what && steps != NULL && steps->drops != NULL;
}

bool usher__scope_dropping(const struct usher_scope *s)
{
    return is(s, USHER__DROPPING);
}

bool usher__scope_dropped(const struct usher_scope *s)
{
    return is(s, USHER__DROPPED);
}

static bool dropping(const work *w)
{
    return w->scope.ref != NULL && usher__scope_dropping(&w->scope);
}

/* Leave a tombstone: the scope does not exist, but its version stays. */
static void bury(work *w)
{
    struct usher_scope *s = &w->scope;

    w->grave = s->ref;
    s->ref = NULL;
    s->clock_ms = 0;
    s->due_ms = INT64_MAX;
    w->steps->defaults(s);
}

void usher__tombstone_write(work *w)
{
    if (usher__scope_dropped(&w->scope))
        bury(w);
}

/* Find the first record of @kind, or the next one after @r. */
static enum usher_status behind(work *w, uint8_t kind, uint8_t slot, struct usher_record *r)
{
    struct usher_text after = r->id;
    uint64_t hi = slot == 0 ? r->rank : slot == 1 ? (uint64_t)r->until_ms : 0;

    if (slot == USHER_SLOTS)
        return w->ops->next(w->txn, &w->scope, kind, &after, r);
    return w->ops->walk(w->txn, &w->scope, kind, slot, NULL, hi, r->order, false, r);
}

/* Erase records of @kind, as many as one change can, up to USHER__DROP_MAX in all.  *@ret_n counts
 * them. */
static enum usher_status erase_some(work *w, uint8_t kind, uint8_t slot, uint64_t *ret_n)
{
    change c;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    usher__change_begin_quietly(w, &c);
    memset(&r, 0, sizeof r);
    while (c.n < USHER_CHANGE_MAX && *ret_n + c.n < USHER__DROP_MAX &&
           (status = behind(w, kind, slot, &r)) == USHER_OK)
        usher__change_erase(&c, &r);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (c.n == 0)
        return USHER_MISSING;
    status = usher__change_write(w, &c);
    if (status == USHER_OK)
        *ret_n += c.n;
    return status;
}

/* Do a step.  With the last record the scope is erased. */
static enum usher_status step(work *w, uint64_t *ret_n)
{
    change c;
    enum usher_status status;

    *ret_n = 0;
    for (const char *of = w->steps->drops; *of != '\0'; of += 2) {
        uint8_t kind = (uint8_t)(of[0] - '0'), slot = (uint8_t)(of[1] - '0');

        do {
            status = erase_some(w, kind, slot, ret_n);
            if (usher__work_stops(w, status, *ret_n))
                return USHER_OK;
            if (status != USHER_OK && status != USHER_MISSING)
                return status;
            if (*ret_n == USHER__DROP_MAX)
                return USHER_OK;
        } while (status == USHER_OK);
    }
    usher__change_begin_quietly(w, &c);
    c.scope->counts[USHER__COUNT_DROP] = USHER__DROPPED;
    c.scope->clock_ms = 0;
    status = usher__change_write(w, &c);
    if (status == USHER_OK)
        bury(w);
    return status;
}

enum usher_status usher__tombstone_answer(work *w, bool *ret_done)
{
    uint64_t n;
    enum usher_status status;

    *ret_done = false;
    if (!dropping(w) || w->command->verb == w->steps->drop_verb)
        return USHER_OK;
    if ((usher__verb((unsigned)w->command->verb)->flags & USHER__CREATES) == 0) {
        bury(w);
        w->grave = NULL; /* it is no tombstone yet: nothing is written to it */
        w->hidden = true;
        return USHER_OK;
    }
    usher__work_as_of(w, w->said); /* its clock goes with it */
    status = w->behind ? USHER_OK : step(w, &n);
    w->now = w->said;
    if (status == USHER_OK && dropping(w)) {
        *ret_done = true;
        return w->steps->defer(w);
    }
    return status;
}

enum usher_status usher__drop(work *w, uint64_t *ret_n, bool *ret_more)
{
    bool marks = !dropping(w);
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_SAME;
        return USHER_OK;
    }
    if (usher__other_version(w))
        return USHER_OK;
    if (marks) {
        change c;

        usher__change_begin(w, &c);
        w->steps->defaults(c.scope);
        c.scope->counts[USHER__COUNT_DROP] = USHER__DROPPING;
        c.scope->due_ms = INT64_MAX;
        status = usher__change_data_settings(w, &c);
        if (status == USHER_OK)
            status = usher__change_commit(w, &c, w->steps->drop_verb, 0, 0, NULL);
    }
    if (status == USHER_OK) {
        status = step(w, ret_n);
        if (usher__work_stops(w, status, marks)) /* the mark is stored */
            status = USHER_OK;
    }
    w->reply->status = USHER_OK;
    *ret_more = dropping(w);
    return status;
}
