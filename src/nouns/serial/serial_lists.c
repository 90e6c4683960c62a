/* SPDX-License-Identifier: MIT */
/* Several holds of a gap-free rule at a time: those in doubt become void, expired ones are swept,
 * figures and lists leave them out.  See serial.h. */
#include "config.h"

#include "serial.h"

#include <inttypes.h>
#include <stdio.h>

enum usher_status usher__serial_void_doubt(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    struct usher_serial_result *n = &w->reply->of.serial;
    struct usher_record r;
    struct usher_text format;
    struct state s;
    char id[ID_SIZE];
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    while ((status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, HELD, NULL, 0, 0, false, &r)) ==
               USHER_OK &&
           state_of(&w->scope, &r) == USHER_SERIAL_STATE_DOUBT && (int64_t)r.token <= a->before) {
        unsigned to = move_of(w, USHER_SERIAL_STATE_DOUBT, USHER__SERIAL_E_VOID, USHER__ANY).to;
        change c;

        if (n->n_rows == VOID_MAX) {
            n->more = true;
            break;
        }
        format = r.data;
        usher__change_begin(w, &c);
        status = usher__serial_save_hold(w, &c, &r, USHER_SERIAL_STATE_DOUBT, to, id);
        if (status != USHER_OK)
            break;
        r.data = format;
        r.state = (uint8_t)to;
        r.until_ms = 0;
        status = usher__serial_add_hold(w, &s, &r);
        if (status == USHER_OK)
            status =
                usher__serial_commit(w, &c, USHER_SERIAL_VOID, USHER_SERIAL_STATE_DOUBT, to, &r);
        if (status == USHER_OK)
            status = usher__serial_load(w, &s);
        if (status != USHER_OK)
            break;
    }
    if (usher__work_stops(w, status, n->n_rows)) {
        n->more = true;
        status = USHER_OK;
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    usher__serial_answer(w, n->n_rows > 0 ? USHER_OK : USHER_SAME, &s);
    n->count = (int64_t)n->n_rows;
    return n->n_rows > 0 ? usher__request_keep_last(w) : USHER_OK;
}

enum usher_status usher__serial_sweep(work *w)
{
    uint64_t n;
    bool more;
    struct state s;
    int64_t max =
        usher__sweep_max((w->command->given & USHER_GIVEN_SERIAL_N) != 0, w->command->arg.serial.n);
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    status = usher__serial_expire_due(w, max, &n, &more);
    if (status == USHER_OK)
        status = usher__serial_load(w, &s);
    if (status != USHER_OK)
        return status;
    usher__serial_answer(w, n > 0 ? USHER_OK : USHER_SAME, &s);
    w->reply->of.serial.count = (int64_t)n;
    w->reply->of.serial.more = more;
    w->behind = more;
    return n > 0 ? usher__request_keep_last(w) : USHER_OK;
}

/* Change @n to the values after all due expiries. */
enum usher_status usher__serial_without_due(work *w, struct usher_serial_stock *n)
{
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    while (n->held > 0 &&
           (status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, DUE, NULL, hi, order, false, &r)) ==
               USHER_OK &&
           r.until_ms <= w->moment) {
        hi = (uint64_t)r.until_ms;
        order = r.order;
        if (!hold_is_due(w, &r))
            continue; /* it is in doubt */
        n->held--;
        n->returned++;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Change @r, which is in list @i of `holds`, to its current state.  Return false if it is not
 * listed there. */
static bool listed(const work *w, const struct state *s, unsigned i, struct usher_record *r)
{
    bool over = hold_is_due(w, r);

    if (i == 0 && over)
        return false;
    if (i == 1) { /* as it is after the expiry */
        if (!over)
            return false;
        r->state = USHER_SERIAL_STATE_RETURNED;
        r->until_ms = 0;
        r->owner.size = 0;
        r->data.size = 0;
    }
    usher__serial_show_state(w, s, r);
    return true;
}

/* Numbers held or in doubt, or only those of an owner or in doubt; those whose hold is over, the
 * first to end first, and those returned; those lost. */
static const struct {
    uint8_t kind, slot;
} hold_lists[] = {
    { KIND_HOLD, HELD }, { KIND_HOLD, DUE }, { KIND_HOLD, READY }, { KIND_LOST, READY }
};
#define HOLD_LISTS (sizeof hold_lists / sizeof *hold_lists)

/* Continue after @text, "LIST.HI.ORDER", of @n_lists lists.  Return false if no page ended there.
 * The first list is in order of tokens alone. */
static bool holds_from(const struct usher_text *text, unsigned n_lists, unsigned *ret_list,
                       uint64_t *ret_hi, uint64_t *ret_order)
{
    struct usher_text place;

    if (text->size < 2 || text->data[0] < '0' || text->data[0] >= (char)('0' + n_lists) ||
        text->data[1] != '.')
        return false;
    place.data = text->data + 2;
    place.size = text->size - 2;
    if (!usher__cursor(&place, ret_hi, ret_order))
        return false;
    *ret_list = (unsigned)(text->data[0] - '0');
    return *ret_list > 0 || *ret_hi == 0;
}

/* Each list continues after (hi, order). */
enum usher_status usher__serial_holds(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    size_t max = given(w, USHER_GIVEN_SERIAL_N) ? (size_t)a->n : USHER_LIST_DEFAULT;
    struct usher_serial_result *n = &w->reply->of.serial;
    bool doubt = given(w, USHER_GIVEN_SERIAL_DOUBT);
    const struct usher_text *owner = a->owner.data != NULL ? &a->owner : NULL;
    unsigned n_lists = owner != NULL || doubt ? 1 : HOLD_LISTS;
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    struct state s;
    unsigned i = 0;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (a->after.data != NULL && !holds_from(&a->after, n_lists, &i, &hi, &order)) {
        usher_result_fail(w->reply, USHER_INVALID, "after is not the `next` of a page");
        return USHER_OK;
    }
    usher__serial_answer(w, USHER_OK, &s);
    for (int looked = 0;; looked++) {
        uint64_t at;
        bool shown;

        status = w->ops->walk(w->txn, &w->scope, hold_lists[i].kind, hold_lists[i].slot, owner, hi,
                              order, false, &r);
        if (status == USHER_OK && ((i == 1 && r.until_ms > w->moment) ||
                                   (doubt && (int64_t)r.token >= w->scope.counts[COUNT_LINE])))
            status = USHER_MISSING;
        if (status == USHER_MISSING && i + 1 < n_lists) {
            i++;
            looked--;
            hi = order = 0;
            continue;
        }
        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_OK : status;
        at = i == 0 ? 0 : i == 1 ? (uint64_t)r.until_ms : r.rank;
        shown = listed(w, &s, i, &r);
        if (looked == USHER_PAGE_MAX || (shown && n->n_rows == max)) {
            n->more = true;
            n->of.page.next_size = (size_t)snprintf(n->of.page.next, sizeof n->of.page.next,
                                                    "%u.%" PRIu64 ".%" PRIu64, i, hi, order);
            return USHER_OK;
        }
        hi = at;
        order = r.order;
        status = shown ? usher__serial_add_hold(w, &s, &r) : USHER_OK;
        if (status != USHER_OK)
            return status;
    }
}
