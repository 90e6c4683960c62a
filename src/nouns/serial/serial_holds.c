/* SPDX-License-Identifier: MIT */
/* Numbers of a gap-free rule: held, ended, or lost with a store.  See serial.h. */
#include "config.h"

#include "serial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- holds and losses --------------------------------------------------------------- */

static int64_t rank_of(const work *w, int64_t period, int64_t number)
{
    return w->scope.settings[SET_RESET] != USHER_SERIAL_RESET_NONE
               ? (period << USHER__GAPFREE_BITS) + number
               : number;
}

/* Return whether a gap-free rule may have number @k.  A larger one has no rank of its own, but that
 * of a number of a later period, or none. */
static bool has_rank(const work *w, int64_t k)
{
    return k <= (w->scope.settings[SET_RESET] != USHER_SERIAL_RESET_NONE
                     ? (INT64_C(1) << USHER__GAPFREE_BITS) - 1
                     : USHER__GAPFREE_MAX);
}

/* Set the range of @r: from @first to @last of its period.  @id must exist until it is written. */
static void range_set(const work *w, struct usher_record *r, int64_t first, int64_t last,
                      char id[ID_SIZE])
{
    r->rank = (uint64_t)rank_of(w, r->n[N_PERIOD], first);
    r->id.data = id;
    r->id.size = (size_t)snprintf(id, ID_SIZE, "%" PRIu64, r->rank);
    set_pair(r->n + N_NUMBER, first);
    set_pair(r->n + N_UPTO, last);
}

/* Store the numbers after s->cur up to @last as lost, because their outcome is not known: otherwise
 * they would be a silent gap.  Return their count. */
int64_t usher__serial_lose(work *w, change *c, const struct state *s, int64_t last,
                           char id[ID_SIZE])
{
    struct usher_record r;

    if (queued(w) || last <= s->cur)
        return 0;
    memset(&r, 0, sizeof r);
    r.kind = KIND_LOST;
    r.state = move_of(w, USHER_SERIAL_STATE_FREE, USHER__SERIAL_E_LOSE, USHER__ANY).to;
    r.slots = usher__machine_lists(&usher__serial_machine, r.state, 0);
    r.token = r.order = c->scope->version;
    r.n[N_PERIOD] = s->period;
    r.n[N_STAMP] = w->now;
    r.data = s->rule.data;
    range_set(w, &r, s->cur + 1, last, id);
    usher__change_save(c, &r);
    return last - s->cur;
}

/* Find the record of number @k of @period that is held, in doubt or returned.  @id must exist as
 * long as the record.  MISSING. */
static enum usher_status hold_of(work *w, int64_t k, int64_t period, char id[ID_SIZE],
                                 struct usher_record *r)
{
    struct usher_text name = { id, 0 };

    if (!has_rank(w, k))
        return USHER_MISSING;
    name.size = (size_t)snprintf(id, ID_SIZE, "%" PRId64, rank_of(w, period, k));
    return w->ops->find(w->txn, &w->scope, KIND_HOLD, &name, r);
}

void usher__serial_show_state(const work *w, const struct state *s, struct usher_record *r)
{
    unsigned state = state_of(&w->scope, r);

    if (state == USHER_SERIAL_STATE_DOUBT) {
        r->until_ms = 0;
    } else if (state == USHER_SERIAL_STATE_LOST && r->kind == KIND_HOLD) {
        r->n[N_UPTO] = r->n[N_NUMBER];
        r->n[N_UPTO + 1] = r->n[N_NUMBER + 1];
        r->token = (uint64_t)w->scope.counts[COUNT_LINE];
        r->data = s->rule.data;
    }
    r->state = (uint8_t)state;
}

/* Find the lost numbers that include number @k of @period: a range, or one that was returned, or
 * MISSING. */
static enum usher_status lost_with(work *w, const struct state *s, int64_t k, int64_t period,
                                   struct usher_record *r)
{
    char id[ID_SIZE];
    enum usher_status status = USHER_MISSING;

    if (has_rank(w, k))
        status =
            w->ops->walk(w->txn, &w->scope, KIND_LOST, READY, NULL, (uint64_t)rank_of(w, period, k),
                         (uint64_t)USHER_EXACT_MAX + 1, true, r);
    if (status == USHER_OK &&
        (r->n[N_PERIOD] != period || pair(r->n + N_NUMBER) > k || pair(r->n + N_UPTO) < k))
        status = USHER_MISSING;
    if (status != USHER_MISSING)
        return status;
    status = hold_of(w, k, period, id, r);
    if (status != USHER_OK)
        return status;
    usher__serial_show_state(w, s, r);
    return r->state == USHER_SERIAL_STATE_LOST ? USHER_OK : USHER_MISSING;
}

/* Check whether any number is lost. */
enum usher_status usher__serial_lost_any(work *w, bool *ret_any)
{
    struct usher_record r;
    enum usher_status status =
        queued(w) ? USHER_MISSING
                  : w->ops->walk(w->txn, &w->scope, KIND_LOST, READY, NULL, 0, 0, false, &r);

    /* All records of returned numbers are older than the line, and so lost. */
    if (status == USHER_MISSING && !queued(w) && w->scope.counts[COUNT_LINE] != 0 &&
        w->scope.counts[COUNT_RETURNED] == 0)
        status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, READY, NULL, 0, 0, false, &r);
    *ret_any = status == USHER_OK;
    return status == USHER_MISSING ? USHER_OK : status;
}

/* ---- ends of holds ----------------------------------------------------------------- */

/* Put @r into state @to, with all values that follow from it. */
static void settle(const work *w, struct usher_record *r, unsigned to, uint64_t version)
{
    r->state = (uint8_t)to;
    if (to == USHER_SERIAL_STATE_RETURNED) {
        r->order = version;
        r->rank = (uint64_t)rank_of(w, r->n[N_PERIOD], pair(r->n + N_NUMBER));
        r->owner.data = NULL;
        r->owner.size = 0;
    } else { /* it is in order of its token */
        r->order = r->token;
        r->rank = 0;
    }
    if (to != USHER_SERIAL_STATE_HELD)
        r->until_ms = 0;
    r->slots = usher__machine_lists(&usher__serial_machine, to, r->until_ms);
}

/*
 * Return the id of the end of the last hold of number @k of @period.  Ends of numbers that are
 * `requests` apart replace each other.  Each period begins a golden section later, so that the
 * first numbers of many periods do not: each period has a number 1.
 */
static struct usher_text end_name(const work *w, int64_t k, int64_t period, char id[ID_SIZE])
{
    int64_t places = w->scope.settings[SET_REQUESTS];
    int64_t section = places * 618 / 1000 | 1;
    int64_t place = (k % places + period % places * section) % places;
    struct usher_text name = { id, 0 };

    name.size = (size_t)snprintf(id, ID_SIZE, "%" PRId64, place < 0 ? place + places : place);
    return name;
}

/* Save the end of the hold @r in @c.  A hold ends once, so no two ends have the same place in the
 * order of tokens. */
static enum usher_status keep_end(work *w, change *c, const struct usher_record *r, unsigned to,
                                  char id[ID_SIZE])
{
    struct usher_record end;
    struct usher_text name = end_name(w, pair(r->n + N_NUMBER), r->n[N_PERIOD], id);
    enum usher_status status;

    status = w->ops->find(w->txn, &w->scope, KIND_END, &name, &end);
    if (status == USHER_MISSING) {
        memset(&end, 0, sizeof end);
        end.kind = KIND_END;
        end.id = name;
        end.slots = 1u << READY;
        status = USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    end.state = (uint8_t)to;
    end.token = end.order = r->token;
    memcpy(end.n, r->n, sizeof end.n);
    end.data = r->data;
    usher__change_save(c, &end);
    return USHER_OK;
}

enum usher_status usher__serial_save_hold(work *w, change *c, struct usher_record *r, unsigned from,
                                          unsigned to, char id[ID_SIZE])
{
    enum usher_status status = USHER_OK;

    count(c->scope->counts, from, -1);
    count(c->scope->counts, to, 1);
    if (to != USHER_SERIAL_STATE_HELD && to != USHER_SERIAL_STATE_DOUBT) {
        if (from == USHER_SERIAL_STATE_DOUBT) /* a repeat by its holder is `same` in any case */
            r->n[N_CLAIM] = (int64_t)r->token;
        status = keep_end(w, c, r, to, id);
        c->owner = r->owner; /* its last owner */
        r->data.data = NULL; /* it depends on the next holder */
        r->data.size = 0;
    }
    if (to == USHER_SERIAL_STATE_HELD || to == USHER_SERIAL_STATE_RETURNED ||
        to == USHER_SERIAL_STATE_DOUBT) {
        settle(w, r, to, c->scope->version);
        usher__change_save(c, r);
    } else {
        usher__change_erase(c, r);
    }
    return status;
}

/* @r has expired.  One in doubt stays so, and leaves the list of those with a deadline. */
static enum usher_status expire_one(work *w, struct usher_record *r)
{
    unsigned from = state_of(&w->scope, r), to = move_of(w, from, USHER__SERIAL_E_EXPIRE, 0).to;
    char id[ID_SIZE];
    change c;
    enum usher_status status;

    usher__change_begin(w, &c);
    status = usher__serial_save_hold(w, &c, r, from, to, id);
    return status == USHER_OK ? usher__serial_commit(w, &c, USHER_SERIAL_EXPIRE, from, to, r)
                              : status;
}

/* @r was returned, and is lost: move it to the lost ones. */
static enum usher_status lose_one(work *w, const struct state *s, struct usher_record *r)
{
    struct usher_record range;
    char id[ID_SIZE];
    change c;

    usher__change_begin(w, &c);
    usher__change_erase(&c, r);
    memset(&range, 0, sizeof range);
    range.kind = KIND_LOST;
    range.state = move_of(w, r->state, USHER__SERIAL_E_LOSE, USHER__ANY).to;
    range.slots = usher__machine_lists(&usher__serial_machine, range.state, 0);
    range.token = (uint64_t)w->scope.counts[COUNT_LINE];
    range.order = c.scope->version;
    memcpy(range.n, r->n, sizeof range.n);
    range.data = s->rule.data;
    range_set(w, &range, pair(r->n + N_NUMBER), pair(r->n + N_NUMBER), id);
    usher__change_save(&c, &range);
    return usher__serial_commit(w, &c, USHER_SERIAL_EXPIRE, USHER_SERIAL_STATE_RETURNED,
                                range.state, &range);
}

/* Apply up to @max due expiries; *@ret_n is their number. */
enum usher_status usher__serial_expire_due(work *w, int64_t max, uint64_t *ret_n, bool *ret_more)
{
    struct usher_record r;
    enum usher_status status;

    *ret_n = 0;
    *ret_more = false;
    while (w->scope.due_ms <= w->moment) {
        status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, DUE, NULL, 0, 0, false, &r);
        if (status == USHER_MISSING) {
            w->scope.due_ms = INT64_MAX;
            break;
        }
        if (status != USHER_OK)
            return status;
        if (r.until_ms > w->moment) {
            w->scope.due_ms = r.until_ms;
            break;
        }
        if ((int64_t)*ret_n >= max) {
            *ret_more = true;
            break;
        }
        status = expire_one(w, &r);
        if (usher__work_stops(w, status, *ret_n)) {
            *ret_more = true;
            break;
        }
        if (status != USHER_OK)
            return status;
        ++*ret_n;
    }
    return USHER_OK;
}

enum usher_status usher__serial_add_hold(work *w, const struct state *s,
                                         const struct usher_record *r)
{
    struct usher_serial_result_row row;

    memset(&row, 0, sizeof row);
    row.first = pair(r->n + N_NUMBER);
    row.n = r->kind == KIND_LOST ? pair(r->n + N_UPTO) - row.first + 1 : 1;
    row.at_ms = r->n[N_STAMP];
    row.token = r->state == USHER_SERIAL_STATE_HELD || r->state == USHER_SERIAL_STATE_LOST ||
                        r->state == USHER_SERIAL_STATE_DOUBT ||
                        (r->state == USHER_SERIAL_STATE_RETURNED && r->n[N_PERIOD] < s->period)
                    ? r->token
                    : 0;
    row.until_ms = r->until_ms;
    row.state = (enum usher_serial_state)r->state;
    row.owner = r->owner;
    row.format = r->data.size != 0 ? r->data : s->rule.data;
    return usher_result_add_row(w->reply, USHER_SERIAL, &row);
}

static enum usher_status answer_hold(work *w, enum usher_status what, const struct state *s,
                                     const struct usher_record *r)
{
    usher__serial_answer(w, what, s);
    w->reply->of.serial.count = 1;
    w->reply->of.serial.token = r->token;
    w->reply->of.serial.until_ms = r->until_ms;
    return usher__serial_add_hold(w, s, r);
}

/* Find the lowest number of the current period that was returned, after lost ones were moved out of
 * the list.  MISSING; REFUSED: more of them are before it. */
static enum usher_status lowest(work *w, struct state *s, struct usher_record *r)
{
    uint64_t hi = s->period > 0 ? (uint64_t)rank_of(w, s->period, 0) : 0;

    for (int i = 0;; i++) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_HOLD, READY, NULL, hi, 0, false, r);

        if (status != USHER_OK || state_of(&w->scope, r) == USHER_SERIAL_STATE_RETURNED)
            return status;
        if (i == USHER__EXPIRE_MAX)
            return USHER_REFUSED;
        status = lose_one(w, s, r);
        if (status == USHER_OK)
            status = usher__serial_load(w, s); /* a change was made */
        if (status != USHER_OK)
            return status;
    }
}

/* Find the number that @owner holds since the line was set, or MISSING. */
static enum usher_status held_by(work *w, const struct usher_text *owner, struct usher_record *r)
{
    int64_t line = w->scope.counts[COUNT_LINE];

    for (;;) {
        enum usher_status status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, HELD, owner, 0,
                                                line > 0 ? (uint64_t)line - 1 : 0, false, r);

        if (status != USHER_OK || !hold_is_due(w, r))
            return status;
        status = expire_one(w, r);
        if (status != USHER_OK)
            return status;
    }
}

/* Return when a hold that begins or is renewed now ends; 0: never. */
static int64_t end_of_lease(const work *w)
{
    int64_t lease = given(w, USHER_GIVEN_SERIAL_LEASE) ? w->command->arg.serial.lease_ms
                                                       : w->scope.settings[SET_LEASE];

    return lease != 0 ? w->moment + lease : 0;
}

/* Hold @r until @until_ms. */
static enum usher_status renew(work *w, const struct state *s, struct usher_record *r,
                               int64_t until_ms, enum usher_serial_why why)
{
    const unsigned from = state_of(&w->scope, r);
    struct usher__move m = move_of(w, from, USHER__SERIAL_E_RENEW, USHER__ANY);
    char id[ID_SIZE];
    change c;
    enum usher_status status;

    if (m.status != USHER_OK || r->until_ms == until_ms) {
        usher__serial_show_state(w, s, r);
        return answer_hold(w, USHER_SAME, s, r);
    }
    usher__change_begin(w, &c);
    r->until_ms = until_ms;
    status = usher__serial_save_hold(w, &c, r, from, m.to, id);
    if (status == USHER_OK)
        status = answer_hold(w, USHER_OK, s, r);
    w->reply->of.serial.why = why;
    if (status == USHER_OK)
        status = usher__request_keep(w, &c);
    return status == USHER_OK ? usher__serial_commit(w, &c, USHER_SERIAL_RENEW, from, m.to, r)
                              : status;
}

enum usher_status usher__serial_reserve(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    struct usher_record r;
    struct state s;
    change c;
    unsigned from;
    bool held;
    char id[ID_SIZE];
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    if (a->owner.data != NULL) {
        status = held_by(w, &a->owner, &r);
        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        held = status == USHER_OK;
        status = usher__serial_load(w, &s); /* a change may have been made */
        if (status != USHER_OK)
            return status;
        if (held && given(w, USHER_GIVEN_SERIAL_LEASE) && r.until_ms != 0) {
            int64_t until_ms = end_of_lease(w);

            if (until_ms == 0 || until_ms > r.until_ms)
                return renew(w, &s, &r, until_ms, USHER_SERIAL_WHY_RENEWED);
        }
        if (held)
            return answer_hold(
                w,
                (enum usher_status)move_of(w, r.state, USHER__SERIAL_E_RESERVE, USHER__ANY).status,
                &s, &r);
    }
    status = lowest(w, &s, &r);
    if (status == USHER_REFUSED)
        return usher__serial_come_again(w);
    if (status == USHER_MISSING) {
        if (room(w, &s) == 0)
            return usher__serial_turned_down(
                w, USHER_EMPTY,
                must_ask(w, &s) ? USHER_SERIAL_WHY_GRANT : USHER_SERIAL_WHY_EXHAUSTED, &s);
        s.taken = ++s.cur;
        memset(&r, 0, sizeof r);
        r.kind = KIND_HOLD;
        r.id.data = id;
        r.id.size = (size_t)snprintf(id, sizeof id, "%" PRId64, rank_of(w, s.period, s.cur));
        set_pair(r.n + N_NUMBER, s.cur);
        r.n[N_PERIOD] = s.period;
    } else if (status != USHER_OK) {
        return status;
    }
    usher__change_begin(w, &c);
    from = r.state;
    usher__serial_put_counters(&c, &s);
    r.n[N_STAMP] = w->now;
    r.token = c.scope->version;
    r.until_ms = end_of_lease(w);
    if (a->owner.data != NULL)
        r.owner = a->owner;
    r.data = s.rule.data; /* its format does not change later */
    status = usher__serial_save_hold(w, &c, &r, from,
                                     move_of(w, from, USHER__SERIAL_E_RESERVE, USHER__ANY).to, id);
    if (status != USHER_OK)
        return status;
    {
        int64_t use[USHER__USE_PERIODS / 2], recent, longterm;

        c.scope->counts[COUNT_BUCKET] = usher__serial_use_now(w, use, &recent, &longterm);
        usher__use_add(c.scope->counts[COUNT_BUCKET], use, 1);
        memcpy(c.scope->counts + COUNT_USE, use, sizeof use);
    }
    status = answer_hold(w, USHER_OK, &s, &r);
    return status == USHER_OK ? usher__serial_finish(w, &c, &r, from, r.state) : status;
}

/* Find the record of @kind with this token in list @slot, in order of tokens, or MISSING. */
static enum usher_status by_token(work *w, uint8_t kind, uint8_t slot, uint64_t token,
                                  struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    if (token > 0 && token <= w->scope.version)
        status = w->ops->walk(w->txn, &w->scope, kind, slot, NULL, 0, token - 1, false, r);
    return status == USHER_OK && r->token != token ? USHER_MISSING : status;
}

/* Find the end of the last hold of number @k of @period.  MISSING: another one has replaced it. */
static enum usher_status end_of(work *w, int64_t k, int64_t period, struct usher_record *ret_end)
{
    char id[ID_SIZE];
    struct usher_text name = end_name(w, k, period, id);
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_END, &name, ret_end);

    return status == USHER_OK &&
                   (pair(ret_end->n + N_NUMBER) != k || ret_end->n[N_PERIOD] != period)
               ? USHER_MISSING
               : status;
}

/* @r is returned.  Answer with the serial as it was printed last, if the command names it so; else
 * as it would be printed now. */
static enum usher_status printed_as(work *w, struct usher_record *r)
{
    struct usher_record end;
    enum usher_status status = USHER_OK;

    if (r->data.size == 0) { /* else its hold has expired, which is not written yet */
        status = end_of(w, pair(r->n + N_NUMBER), r->n[N_PERIOD], &end);
        if (status == USHER_OK)
            r->data = end.data;
        else if (status == USHER_MISSING)
            status = USHER_OK;
    }
    if (r->data.size != 0 && !usher__serial_tells(r, &w->command->arg.serial.serial))
        r->data.size = 0;
    return status;
}

/* Write the state of number @k of @period, which the command names, as a record, after due
 * expiries: HELD or RETURNED, the end of its last hold if that is known, FREE or PAST.  Its token
 * is that of the last hold. */
enum usher_status usher__serial_standing(work *w, const struct state *s, int64_t k, int64_t period,
                                         struct usher_record *r)
{
    char id[ID_SIZE];
    enum usher_status status = queued(w) ? USHER_MISSING : hold_of(w, k, period, id, r);

    if (status == USHER_OK && hold_is_due(w, r)) {
        r->state = USHER_SERIAL_STATE_RETURNED;
        r->until_ms = 0;
        r->owner.size = 0;
    }
    if (status == USHER_OK)
        usher__serial_show_state(w, s, r);
    if (status == USHER_OK && r->state == USHER_SERIAL_STATE_RETURNED)
        status = printed_as(w, r);
    if (status == USHER_MISSING && !queued(w)) {
        status = end_of(w, k, period, r);
        if (status == USHER_OK &&
            r->state == USHER_SERIAL_STATE_RETURNED) /* and it was returned again since, and lost */
            status = USHER_MISSING;
    }
    if (status == USHER_MISSING && !queued(w)) {
        status = lost_with(w, s, k, period, r);
        set_pair(r->n + N_NUMBER, k);
        set_pair(r->n + N_UPTO, k);
    }
    if (status != USHER_MISSING)
        return status;
    memset(r, 0, sizeof *r);
    r->state = period < s->period || (period == s->period && k <= s->taken)
                   ? USHER_SERIAL_STATE_PAST
                   : USHER_SERIAL_STATE_FREE;
    set_pair(r->n + N_NUMBER, k);
    r->n[N_PERIOD] = period;
    r->n[N_STAMP] = w->now;
    return USHER_OK;
}

/* @event has another token: answer with the state of the number, its holder and deadline.  A number
 * without a record is answered like one that was never issued. */
static enum usher_status stale(work *w, const struct state *s, unsigned event, int64_t k,
                               int64_t period)
{
    struct usher_record r;
    enum usher_status status = usher__serial_standing(w, s, k, period, &r);
    unsigned state = r.state != USHER_SERIAL_STATE_PAST ? r.state : USHER_SERIAL_STATE_FREE;

    if (status != USHER_OK)
        return status;
    usher__serial_answer(
        w, (enum usher_status)move_of(w, state, event, USHER__SERIAL_IF_OTHER).status, s);
    w->reply->of.serial.until_ms = r.until_ms;
    r.token = 0; /* only its holder has it */
    return usher__serial_add_hold(w, s, &r);
}

/* `void` of number @k of @period, which was returned and whose period is over, by the token of its
 * last hold.  MISSING: it is no such number. */
static enum usher_status void_past(work *w, const struct state *s, int64_t k, int64_t period)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    const unsigned from = USHER_SERIAL_STATE_RETURNED;
    struct usher_record r, old;
    struct usher_text format = s->rule.data;
    char id[ID_SIZE], end[ID_SIZE];
    unsigned to;
    change c;
    enum usher_status status = period < s->period ? hold_of(w, k, period, id, &r) : USHER_MISSING;

    if (status != USHER_OK || state_of(&w->scope, &r) != from || r.token != a->token)
        return status == USHER_OK ? USHER_MISSING : status;
    status = by_token(w, KIND_END, READY, r.token, &old);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (status == USHER_OK)
        format = old.data;
    to = move_of(w, from, USHER__SERIAL_E_VOID, USHER__SERIAL_IF_PAST).to;
    r.data = format;
    usher__change_begin(w, &c);
    count(c.scope->counts, from, -1);
    { /* its end has another id if `requests` was changed since */
        struct usher_text name = end_name(w, k, period, end);

        if (status == USHER_OK && !usher__text_equal(&old.id, &name))
            usher__change_erase(&c, &old);
    }
    status = keep_end(w, &c, &r, to, end);
    if (status != USHER_OK)
        return status;
    usher__change_erase(&c, &r);
    r.state = (uint8_t)to;
    status = answer_hold(w, USHER_OK, s, &r);
    return status == USHER_OK ? usher__serial_finish(w, &c, &r, from, to) : status;
}

/* @event of number @k of @period, which is not held under the token. */
static enum usher_status not_held(work *w, const struct state *s, unsigned event, int64_t k,
                                  int64_t period)
{
    enum usher_status status =
        event == USHER__SERIAL_E_VOID ? void_past(w, s, k, period) : USHER_MISSING;

    return status == USHER_MISSING ? stale(w, s, event, k, period) : status;
}

/* Return a token as Redis gets it: store.h. */
static int64_t claim_of(uint64_t token)
{
    return token <= USHER_EXACT_MAX ? (int64_t)token : USHER_EXACT_MAX + 1;
}

/* The maximum number of lost numbers up to one that was issued: more than a store issues in the
 * time in which it can lose changes, and few enough to detect a mistyped serial. */
#define LOST_MOST (INT64_C(1) << 20)

/*
 * confirm, return, void of number @k of @period, which has no hold and no end in the store.  It was
 * lost if it is among the lost ones, or if it is still to come and its token shows the loss
 * (@of_lost): then the numbers before it are lost as well (but not on a store without a takeover,
 * where a mistyped token shows nothing).  A token of the lost history settles its own number; the
 * token of the lost numbers settles any of them.  The print date is known from the serial only, in
 * the format that the lost numbers had, or that of the last hold of a returned one.  MISSING: it
 * was not lost.
 */
static enum usher_status settle_lost(work *w, struct state *s, unsigned event, int64_t k,
                                     int64_t period, bool of_lost)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    int64_t n = given(w, USHER_GIVEN_SERIAL_N) ? a->n : 1, last = 0, claim = claim_of(a->token);
    char ids[4][ID_SIZE];
    struct usher_record all, behind, one;
    struct usher_text lost_as, format = { NULL, 0 };
    change c;
    unsigned to = move_of(w, USHER_SERIAL_STATE_LOST, event, USHER__ANY).to;
    int64_t printed;
    enum usher_status status = end_of(w, k, period, &one);

    if (status == USHER_OK && one.n[N_CLAIM] != 0 && one.n[N_CLAIM] == claim)
        return usher__serial_tells(&one, &a->serial) &&
                       move_of(w, one.state, event, USHER__SERIAL_IF_CLAIMED).status == USHER_SAME
                   ? answer_hold(w, USHER_SAME, s, &one)
                   : USHER_MISSING;
    if (status == USHER_OK)
        format = one.data;
    if (status == USHER_OK || status == USHER_MISSING)
        status = lost_with(w, s, k, period, &all);
    if (status == USHER_OK) {
        last = pair(all.n + N_UPTO);
        if (!of_lost && a->token != all.token)
            return USHER_MISSING;
        if (n > last - k + 1) {
            usher_result_fail(w->reply, USHER_INVALID,
                              "n is larger than the count of lost numbers from this serial on");
            return USHER_OK;
        }
    } else if (status != USHER_MISSING || !of_lost || w->scope.n_gaps == 0 || n > 1 ||
               period != s->period || k <= s->cur || k > s->limit || k - s->cur > LOST_MOST) {
        return status;
    }
    printed = status == USHER_OK ? all.n[N_STAMP] : w->now;
    lost_as = status == USHER_OK ? all.data : s->rule.data;
    if (usher__serial_printed_by(&lost_as, &a->serial, k, &printed))
        format = lost_as;
    else if (!usher__serial_printed_by(&format, &a->serial, k, &printed))
        return USHER_MISSING;
    usher__change_begin(w, &c);
    memset(&one, 0, sizeof one);
    one.token = c.scope->version;
    one.id.data = ids[3];
    one.id.size = (size_t)snprintf(ids[3], ID_SIZE, "%" PRId64, rank_of(w, period, k));
    set_pair(one.n + N_NUMBER, k);
    one.n[N_PERIOD] = period;
    one.n[N_STAMP] = printed;
    one.n[N_CLAIM] = claim;
    one.data = format;
    {
        enum usher_status kept = keep_end(w, &c, &one, to, ids[0]);

        if (kept != USHER_OK)
            return kept;
    }
    if (status == USHER_MISSING) {
        (void)usher__serial_lose(w, &c, s, k - 1, ids[1]);
        s->taken = s->cur = k;
        usher__serial_put_counters(&c, s);
    } else {
        int64_t first = pair(all.n + N_NUMBER);

        if (k + n - 1 < last) {
            behind = all;
            behind.ref = NULL;
            behind.order = c.scope->version;
            range_set(w, &behind, k + n, last, ids[2]);
            usher__change_save(&c, &behind);
        }
        if (first < k) {
            set_pair(all.n + N_UPTO, k - 1);
            usher__change_save(&c, &all);
        } else {
            usher__change_erase(&c, &all);
        }
    }
    one.kind = KIND_LOST; /* one record of several numbers */
    set_pair(one.n + N_UPTO, k + n - 1);
    one.state = (uint8_t)to;
    status = answer_hold(w, USHER_OK, s, &one);
    return status == USHER_OK ? usher__serial_finish(w, &c, &one, USHER_SERIAL_STATE_LOST, to)
                              : status;
}

/* confirm, return, void, renew: the token identifies the hold, and the serial must be that of the
 * hold. */
enum usher_status usher__serial_settle_hold(work *w, unsigned event)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    struct usher_record r;
    struct usher_text format;
    struct state s;
    change c;
    char id[ID_SIZE];
    int64_t number = 0, period = 0;
    unsigned from, to;
    bool is_held;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    status = by_token(w, KIND_HOLD, HELD, a->token, &r);
    if (status == USHER_OK && hold_is_due(w, &r)) {
        status = expire_one(w, &r);
        if (status == USHER_OK)
            status = usher__serial_load(w, &s);
        if (status == USHER_OK)
            status = USHER_MISSING;
    }
    if (status == USHER_OK && usher__serial_tells(&r, &a->serial)) {
        if (event == USHER__SERIAL_E_RENEW)
            return renew(w, &s, &r, end_of_lease(w), USHER_SERIAL_WHY_NONE);
        if (given(w, USHER_GIVEN_SERIAL_N) && a->n > 1) {
            usher_result_fail(w->reply, USHER_INVALID,
                              "n is only for lost numbers: this serial is held");
            return USHER_OK;
        }
        format = r.data;
        from = state_of(&w->scope, &r);
        to = move_of(w, from, event, USHER__ANY).to;
        usher__change_begin(w, &c);
        status = usher__serial_save_hold(w, &c, &r, from, to, id);
        if (status != USHER_OK)
            return status;
        r.data = format;
        r.state = (uint8_t)to;
        r.until_ms = 0;
        status = answer_hold(w, USHER_OK, &s, &r);
        return status == USHER_OK ? usher__serial_finish(w, &c, &r, from, to) : status;
    }
    if (status == USHER_MISSING)
        status = by_token(w, KIND_END, READY, a->token, &r);
    if (status == USHER_OK && r.kind == KIND_END && usher__serial_tells(&r, &a->serial)) {
        if (move_of(w, r.state, event,
                    r.n[N_CLAIM] == (int64_t)r.token ? USHER__SERIAL_IF_CLAIMED : USHER__ANY)
                .status == USHER_SAME)
            return answer_hold(w, USHER_SAME, &s, &r);
        return not_held(w, &s, event, pair(r.n + N_NUMBER), r.n[N_PERIOD]);
    }
    if (status == USHER_OK && r.kind == KIND_END)
        status = USHER_MISSING; /* the token of others that were lost with it */
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    is_held = status == USHER_OK;
    status = usher__serial_named(w, &s, claim_of(a->token), &number, &period);
    if (status != USHER_OK)
        return status;
    if (!is_held) {
        bool of_lost = usher__scope_version_lost(w, a->token);

        if (event != USHER__SERIAL_E_RENEW) /* no clock ends a lost number */
            status = settle_lost(w, &s, event, number, period, of_lost);
        else
            status = USHER_MISSING;
        if (status != USHER_MISSING)
            return status;
        if (of_lost)
            return usher__say_lost(w, "token");
    }
    return not_held(w, &s, event, number, period);
}

/* Void numbers in doubt that were reserved at a->before or earlier, VOID_MAX at once, each by a
 * change of its own. */
