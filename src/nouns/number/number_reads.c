/* SPDX-License-Identifier: MIT */
/* Reads, and the choice of the function for a verb. */
#include "config.h"

#include "number_parts.h"

#include <string.h>

/* Change @r as if due expiries were applied; nothing is written. */
static void look(work *w, struct usher_record *r)
{
    while (due(w, r))
        expire(w, r, r->order);
    if (rests_otherwise(w, r))
        set_state(w, r, r->state, rests_until(w, r), r->order);
}

/* Return the time since @began; 0 if the clock was set back since then. */
static int64_t age(const work *w, int64_t began)
{
    return w->moment > began ? w->moment - began : 0;
}

static enum usher_status add_row(work *w, const struct usher_record *r)
{
    struct usher_number_result_row row;

    memset(&row, 0, sizeof row);
    row.number = r->id;
    row.group = r->group;
    row.owner = r->owner;
    row.state = (enum usher_number_state)r->state;
    row.resting = r->state == USHER_NUMBER_STATE_IDLE_UP && r->until_ms != 0;
    row.capped = r->state == USHER_NUMBER_STATE_IDLE_UP && reached_cap(&w->scope, r, w->now);
    row.token = r->token;
    row.until_ms = end_of(w, r);
    row.calls_today = calls_on(&w->scope, r, w->now);
    row.used_ms = r->n[N_USED];
    if (busy(r->state)) {
        row.age_ms = age(w, r->n[N_USED]);
        row.node = r->data;
    }
    return usher_result_add_row(w->reply, USHER_NUMBER, &row);
}

static enum usher_status show(work *w)
{
    const struct usher_text *number = &w->command->arg.number.number;
    struct usher_record r;
    enum usher_status status = USHER_MISSING;

    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, KIND_NUMBER, number, &r);
    if (status == USHER_MISSING) {
        usher__number_answer_nodata(w, USHER_MISSING);
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    look(w, &r);
    answer(w, USHER_OK, &r);
    return add_row(w, &r);
}

static enum usher_status list(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    struct usher_number_result *n = &w->reply->of.number;
    size_t max = (w->command->given & USHER_GIVEN_MAX) != 0 ? (size_t)a->max : USHER_LIST_DEFAULT;
    bool holds = usher__number_lists_holds(w->command), all;
    struct usher_text after = a->after;
    uint64_t order = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    if (holds && a->after.data != NULL)
        (void)usher__text_token(&a->after, &order);
    for (int looked = 0;; looked++) {
        if (holds)
            status = usher__number_walk_held(w, &a->owner, &a->node, order, &r);
        else
            status = w->ops->next(w->txn, &w->scope, KIND_NUMBER, &after, &r);
        if (status != USHER_OK)
            break;
        if (n->n_rows == max || looked == USHER_PAGE_MAX) {
            n->more = true; /* after n->number */
            return USHER_OK;
        }
        after = r.id;
        order = r.order;
        if (holds) {
            usher__number_answer_token(w, order);
        } else {
            memcpy(n->number, r.id.data, r.id.size);
            n->number[r.id.size] = '\0';
            n->number_size = r.id.size;
        }
        look(w, &r);
        all = (w->command->given & USHER_GIVEN_STATE) == 0 || a->state == USHER_NUMBER_STATE_BUSY;
        if ((all || r.state == (unsigned)a->state) && (!holds || busy(r.state)))
            status = add_row(w, &r);
        if (status != USHER_OK)
            return status;
    }
    if (status == USHER_MISSING) {
        n->number_size = 0;
        n->number[0] = '\0';
        status = USHER_OK;
    }
    return status;
}

/* Count @r, which is due unless an outage moves its lease, in @counts as it is after its expiry. */
static void count_as_it_is(work *w, int64_t *counts, struct usher_record *r)
{
    bool held = busy(r->state);

    count(counts, r, -1);
    look(w, r);
    count(counts, r, 1);
    counts[COUNT_EXPIRED] += held && !busy(r->state);
}

/* Count due expiries in @counts; *@ret_oldest: when the oldest hold began, < 0 without one.
 * *@ret_more: USHER_PAGE_MAX are due, and any others count as they are stored. */
static enum usher_status count_ended(work *w, int64_t *counts, int64_t *ret_oldest, bool *ret_more)
{
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    unsigned looked = 0;
    enum usher_status status;

    while ((status = w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_DUE, NULL, hi,
                                  order, false, &r)) == USHER_OK &&
           r.until_ms <= w->moment && looked < USHER_PAGE_MAX) {
        looked++;
        hi = (uint64_t)r.until_ms;
        order = r.order;
        count_as_it_is(w, counts, &r);
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    *ret_more = looked == USHER_PAGE_MAX;
    order = 0;
    while ((status = w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD, NULL, 0,
                                  order, false, &r)) == USHER_OK) {
        order = r.order;
        if (!due(w, &r) || looked == USHER_PAGE_MAX) {
            *ret_oldest = r.n[N_USED];
            *ret_more = looked == USHER_PAGE_MAX;
            break;
        }
        looked++;
        if (r.until_ms == 0 || r.until_ms > w->moment)
            count_as_it_is(w, counts, &r); /* ended by `lease-max` */
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

enum usher_status usher__number_tell_reason(work *w, const struct usher__reason *reason)
{
    struct usher_number_result_row row = { .owner = reason->r.data };

    return row.owner.size != 0 ? usher_result_add_row(w->reply, USHER_NUMBER, &row) : USHER_OK;
}

static enum usher_status stats(work *w)
{
    struct usher_number_result_statistics *s = &w->reply->of.number.of.stats;
    int64_t counts[USHER_COUNTS];
    int64_t today = usher__day(w->now, w->scope.settings[USHER__SET_ZONE]);
    int64_t oldest = -1;
    const struct usher_text none = { NULL, 0 };
    struct usher__reason reason;
    bool more = false;
    enum usher_status status;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    memcpy(counts, w->scope.counts, sizeof counts);
    status = usher__number_count_capped(w, &counts[COUNT_CAPPED]);
    if (status == USHER_OK)
        status = count_ended(w, counts, &oldest, &more);
    if (status != USHER_OK)
        return status;
    s->idle_down = counts[USHER_NUMBER_STATE_IDLE_DOWN];
    s->idle_up = counts[USHER_NUMBER_STATE_IDLE_UP];
    s->busy_down = counts[USHER_NUMBER_STATE_BUSY_DOWN];
    s->busy_up = counts[USHER_NUMBER_STATE_BUSY_UP];
    s->total = s->idle_down + s->idle_up + s->busy_down + s->busy_up;
    s->resting = counts[COUNT_RESTING];
    s->capped = counts[COUNT_CAPPED];
    s->mode = w->scope.settings[USHER__SET_SCOPE_MODE];
    if (counts[COUNT_CALLS_DAY] >= today)
        s->calls_today = counts[COUNT_CALLS] - counts[COUNT_CALLS_BEFORE];
    if (counts[COUNT_REFUSED_DAY] >= today)
        s->refused_today = counts[COUNT_REFUSED] - counts[COUNT_REFUSED_BEFORE];
    s->calls_total = counts[COUNT_CALLS];
    s->refused_total = counts[COUNT_REFUSED];
    s->expired_total = counts[COUNT_EXPIRED];
    s->freed_total = counts[COUNT_FREED];
    s->hangups_total =
        s->calls_total - s->busy_up - s->busy_down - s->expired_total - s->freed_total;
    if (oldest >= 0)
        s->longest_hold_ms = age(w, oldest);
    w->reply->of.number.more = more || !is_judged(w);
    w->reply->status = USHER_OK;
    status = usher__reason_load(w, KIND_REASON, 0, &none, false, &reason);
    return status == USHER_OK ? usher__number_tell_reason(w, &reason) : status;
}

/* ---- all together ----------------------------------------------------------------- */

/* Check for an outage, so that end_of() has the moved deadlines.  @writes: a new one is a
 * change. */
static inline enum usher_status outage(work *w, bool writes)
{
    bool new;

    w->gap_from = w->gap_to = 0;
    if (w->scope.settings[USHER__SET_OUTAGE] == 0)
        return USHER_OK;
    return writes && w->scope.ref != NULL && w->scope.due_ms <= w->moment
               ? usher__outage(w)
               : usher__outage_check(w, &new);
}

static enum usher_status read_only(work *w)
{
    enum usher_status status = outage(w, false);

    if (status != USHER_OK)
        return status;
    switch (w->command->verb) {
    case USHER_NUMBER_SHOW:
        return show(w);
    case USHER_NUMBER_LIST:
        return list(w);
    case USHER_NUMBER_STATS:
        return stats(w);
    default:
        w->reply->of.number.of.settings.push = w->scope.settings[USHER__SET_PUSH];
        return usher__log_changes(w, &w->reply->of.number.since, &w->reply->of.number.more);
    }
}

enum usher_status usher__number_run(work *w)
{
    uint64_t n, version = w->scope.version;
    bool more;
    enum usher_status status;

    if (w->behind)
        return usher__number_defer(w);
    switch (w->command->verb) {
    case USHER_NUMBER_SHOW:
    case USHER_NUMBER_LIST:
    case USHER_NUMBER_STATS:
    case USHER_NUMBER_CHANGES:
        return read_only(w);
    default:
        break;
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    if (w->command->verb == USHER_NUMBER_DROP)
        return usher__drop(w, &w->reply->of.number.count, &w->reply->of.number.more);
    status = outage(w, true);
    if (status != USHER_OK)
        return status;
    if (w->scope.due_ms <= w->now && w->command->verb != USHER_NUMBER_SWEEP) {
        status = usher__number_expire_due(w, USHER__EXPIRE_MAX, JUDGE_ON_WAY, &n, &more);
        if (status != USHER_OK)
            return status;
    }
    if (usher__other_version(w))
        return USHER_OK;
    switch (w->command->verb) {
    case USHER_NUMBER_SWEEP:
        return usher__number_sweep(w, version);
    case USHER_NUMBER_ADD:
        return usher__number_simple(w, USHER__NUMBER_ADD);
    case USHER_NUMBER_DEL:
        return usher__number_simple(w, USHER__NUMBER_DEL);
    case USHER_NUMBER_REG:
        return usher__number_simple(w, USHER__NUMBER_REG);
    case USHER_NUMBER_UNREG:
        return usher__number_simple(w, USHER__NUMBER_UNREG);
    case USHER_NUMBER_CALL:
        return usher__number_call(w);
    case USHER_NUMBER_HANGUP:
        return usher__number_hangup(w);
    case USHER_NUMBER_RENEW:
        return w->command->arg.number.number.data != NULL ? usher__number_renew(w)
                                                          : usher__number_renew_node(w);
    case USHER_NUMBER_LIFT:
        return usher__number_lift(w);
    case USHER_NUMBER_MOVE:
        return usher__number_move_group(w);
    case USHER_NUMBER_FREE:
        return usher__number_free_holds(w);
    default:
        return usher__number_set(w);
    }
}
