/* SPDX-License-Identifier: MIT */
/* Commands on numbers in a call (hangup, renew, free), lift, move, sweep, and settings. */
#include "config.h"

#include "number_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Return whether the token of the command was issued by a history that the store has lost. */
static bool token_lost(work *w, const struct usher_record *r)
{
    uint64_t token = w->command->arg.number.token;

    return (w->command->given & USHER_GIVEN_TOKEN) != 0 && w->scope.ref != NULL &&
           r->token != token && usher__scope_version_lost(w, token);
}

/* End the rest of @r, of any length, so that no setting begins it again. */
static void end_rest(const work *w, struct usher_record *r, unsigned to)
{
    r->n[N_LEASE] = RESTED;
    set_state(w, r, to, 0, w->scope.version);
}

/* Answer `stale`, with the owner and the deadline of the hold, and no token. */
static enum usher_status say_stale(work *w, const struct usher_record *r)
{
    struct usher_number_result_row row;

    answer(w, USHER_STALE, r);
    w->reply->of.number.token = 0;
    memset(&row, 0, sizeof row);
    row.number = r->id;
    row.owner = r->owner;
    row.state = (enum usher_number_state)r->state;
    row.until_ms = end_of(w, r);
    return usher_result_add_row(w->reply, USHER_NUMBER, &row);
}

/* Answer @status; the row of the table does nothing else. */
static enum usher_status answer_only(work *w, enum usher_status status,
                                     const struct usher_record *r)
{
    if (status == USHER_STALE)
        return say_stale(w, r);
    answer(w, status, r);
    return USHER_OK;
}

enum usher_status usher__number_hangup(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    bool rests = (w->command->given & USHER_GIVEN_REST) != 0;
    int64_t rest_ms = rests ? a->rest_ms : BY_POOL;
    struct usher__move to;
    unsigned guard = USHER__ANY;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = usher__number_load(w, &a->number, &m);

    if (status != USHER_OK)
        return status;
    if (token_lost(w, r))
        return usher__say_lost(w, "token");
    if ((w->command->given & USHER_GIVEN_TOKEN) != 0)
        guard = a->token == r->token ? USHER__NUMBER_IF_HOLDER : USHER__NUMBER_IF_OTHER;
    else if (w->scope.settings[USHER__SET_STRICT] != 0)
        guard = USHER__NUMBER_IF_STRICT;
    to = move_of(w, r,
                 rests && rest_ms == 0 && resting(r) ? USHER__NUMBER_UNREST : USHER__NUMBER_HANGUP,
                 guard);
    if (to.status != USHER_OK)
        return answer_only(w, (enum usher_status)to.status, r);
    usher__number_begin(w, &m);
    if (resting(r))
        end_rest(w, r, to.to);
    else
        release(w, r, to.to, w->moment, rest_ms, w->scope.version);
    return usher__number_finish(w, &m);
}

enum usher_status usher__number_lift(work *w)
{
    struct usher__move to;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = usher__number_load(w, &w->command->arg.number.number, &m);

    if (status != USHER_OK)
        return status;
    to = move_of(w, r, USHER__NUMBER_LIFT, resting(r) ? USHER__NUMBER_IF_RESTING : USHER__ANY);
    if (to.status != USHER_OK) {
        answer(w, (enum usher_status)to.status, r);
        return USHER_OK;
    }
    usher__number_begin(w, &m);
    end_rest(w, r, to.to);
    return usher__number_finish(w, &m);
}

/* Change only the group.  The number keeps its rank and order, which no other number has, in the
 * list of either group. */
enum usher_status usher__number_move_group(work *w)
{
    struct usher_text group = w->command->arg.number.group, left;
    int64_t fewer[3];
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = usher__number_load(w, &w->command->arg.number.number, &m);

    if (status != USHER_OK)
        return status;
    if (r->state == USHER_NUMBER_STATE_NODATA || usher__text_equal(&r->group, &group)) {
        answer(w, r->state == USHER_NUMBER_STATE_NODATA ? USHER_MISSING : USHER_SAME, r);
        return USHER_OK;
    }
    usher__number_begin(w, &m);
    memcpy(fewer, m.n, sizeof fewer); /* the old group has these less, the new one more */
    memset(m.n, 0, sizeof m.n);
    left = r->group;
    r->group = group;
    status = usher__number_save(w, &m);
    memcpy(m.n, fewer, sizeof m.n);
    if (status == USHER_OK && left.size != 0)
        status = usher__number_save_group(w, &m, &left);
    answer(w, USHER_OK, r);
    return status == USHER_OK ? usher__number_keep_and_commit(w, &m) : status;
}

/* Begin to extend the hold on @m.  SAME: it has this lease and deadline already.  (`lease-max` may
 * end it earlier, and the answer has that time.) */
static enum usher_status extend(work *w, move *m)
{
    struct usher_record *r = own_record(m);
    int64_t lease = (w->command->given & USHER_GIVEN_LEASE) != 0 ? w->command->arg.number.lease_ms
                                                                 : r->n[N_LEASE];
    int64_t until = lease > 0 ? w->moment + lease : 0;

    if (r->until_ms == until && r->n[N_LEASE] == lease)
        return USHER_SAME;
    usher__number_begin(w, m);
    r->n[N_LEASE] = lease;
    set_state(w, r, r->state, until, w->scope.version);
    return USHER_OK;
}

enum usher_status usher__number_renew(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    struct usher__move to;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = usher__number_load(w, &a->number, &m);
    unsigned guard;

    if (status != USHER_OK)
        return status;
    guard = a->token == r->token ? USHER__NUMBER_IF_HOLDER : USHER__NUMBER_IF_OTHER;
    if (token_lost(w, r)) {
        if (a->owner.data == NULL)
            return usher__say_lost(w, "token");
        guard = busy(r->state) && usher__text_equal(&a->owner, &r->owner) ? USHER__NUMBER_IF_HOLDER
                                                                          : USHER__NUMBER_IF_OTHER;
        to = move_of(w, r, USHER__NUMBER_RETAKE, guard);
        if (to.status == USHER_OK)
            return usher__number_take_number(w, &m, to.to);
        if (to.status != USHER_SAME)
            return usher__say_lost(w, "token");
    }
    to = move_of(w, r, USHER__NUMBER_RENEW, guard);
    if (to.status == USHER_OK) {
        status = extend(w, &m);
        if (status == USHER_OK)
            return usher__number_finish(w, &m);
        to.status = (uint8_t)status;
    }
    return answer_only(w, (enum usher_status)to.status, r);
}

static enum usher_status several(work *w, enum usher_status status, uint64_t n, bool more)
{
    if (status != USHER_OK)
        return status;
    w->reply->status = n > 0 ? USHER_OK : USHER_SAME;
    w->reply->of.number.count = n;
    w->reply->of.number.more = more;
    return n > 0 ? usher__request_keep_last(w) : USHER_OK;
}

/* Find the oldest hold after @order, of @owner or @node if there is one (data is not NULL), or
 * MISSING. */
enum usher_status usher__number_walk_held(work *w, const struct usher_text *owner,
                                          const struct usher_text *node, uint64_t order,
                                          struct usher_record *r)
{
    struct usher_record of;
    enum usher_status status;

    if (node->data == NULL)
        return w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD,
                            owner->data != NULL ? owner : NULL, 0, order, false, r);
    status =
        w->ops->walk(w->txn, &w->scope, KIND_NODE, USHER__NUMBER_HELD, node, 0, order, false, &of);
    return status == USHER_OK ? w->ops->find(w->txn, &w->scope, KIND_NUMBER, &of.id, r) : status;
}

/* Set the position of the next page: after the hold with this token. */
void usher__number_answer_token(work *w, uint64_t token)
{
    struct usher_number_result *n = &w->reply->of.number;

    n->number_size = (size_t)snprintf(n->number, sizeof n->number, "%" PRIu64, token);
}

/* Renew all holds of a node, in pages; each is a change of its own. */
enum usher_status usher__number_renew_node(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    uint64_t n = 0, order = 0;
    move m;
    const struct usher_record *r = own_record(&m);
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    if (a->after.data != NULL)
        (void)usher__text_token(&a->after, &order);
    for (int looked = 0;; looked++) {
        uint64_t behind = order;

        status = usher__number_walk_held(w, &a->owner, &a->node, behind, own_record(&m));
        if (status != USHER_OK)
            break;
        if (looked == USHER__EXPIRE_MAX) {
            usher__number_answer_token(w, behind);
            return several(w, USHER_OK, n, true);
        }
        order = r->order;
        if (due(w, r)) {
            status = usher__number_expire_one(w, &m); /* it is over */
        } else if (move_of(w, r, USHER__NUMBER_RENEW, USHER__NUMBER_IF_HOLDER).status == USHER_OK) {
            status = extend(w, &m);
            if (status == USHER_OK)
                status = usher__number_save_and_commit(w, &m, USHER_NUMBER_RENEW);
            if (status == USHER_OK)
                n++;
        }
        if (usher__work_stops(w, status, n)) {
            usher__number_answer_token(w, behind);
            return several(w, USHER_OK, n, true);
        }
        if (!USHER_IS_DONE(status))
            return status;
    }
    return several(w, status == USHER_MISSING ? USHER_OK : status, n, false);
}

/* Return the move of @r by `free`, the end of calls by an operator. */
static struct usher__move move_by_free(work *w, const struct usher_record *r)
{
    const struct usher_number_args *a = &w->command->arg.number;
    bool other = (a->owner.data != NULL && !usher__text_equal(&a->owner, &r->owner)) ||
                 (a->node.data != NULL && !usher__text_equal(&a->node, &r->data));

    return move_of(w, r, USHER__NUMBER_FREE, other ? USHER__NUMBER_IF_OTHER : USHER__ANY);
}

static enum usher_status free_one(work *w, move *m, unsigned to)
{
    usher__number_begin(w, m);
    w->scope.counts[COUNT_FREED]++;
    release(w, own_record(m), to, w->moment, BY_POOL, w->scope.version);
    return usher__number_save(w, m);
}

enum usher_status usher__number_free_holds(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    uint64_t n = 0, order = 0;
    bool more = false;
    struct usher__move to;
    move m;
    const struct usher_record *r = own_record(&m);
    enum usher_status status = USHER_OK;

    if (a->number.data != NULL) {
        status = usher__number_load(w, &a->number, &m);
        if (status != USHER_OK)
            return status;
        to = move_by_free(w, r);
        if (to.status != USHER_OK) {
            answer(w, (enum usher_status)to.status, r);
            return USHER_OK;
        }
        status = free_one(w, &m, to.to);
        answer(w, USHER_OK, r);
        if (status == USHER_OK)
            status = usher__number_commit(w, &m, USHER_NUMBER_FREE);
        return several(w, status, 1, false);
    }
    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    while (status == USHER_OK) {
        status = usher__number_walk_held(w, &a->owner, &a->node, order, own_record(&m));
        if (status == USHER_OK && n == USHER__EXPIRE_MAX) {
            more = true;
            break;
        }
        if (status != USHER_OK)
            break;
        order = r->order;
        to = move_by_free(w, r);
        if (to.status != USHER_OK)
            continue;
        status = free_one(w, &m, to.to);
        if (status == USHER_OK)
            status = usher__number_commit(w, &m, USHER_NUMBER_FREE);
        if (status == USHER_OK)
            n++;
        if (usher__work_stops(w, status, n)) {
            more = true;
            status = USHER_OK;
            break;
        }
    }
    return several(w, status == USHER_MISSING ? USHER_OK : status, n, more);
}

/* Sweep.  The pool had @version before the command: an outage may have made a version, too. */
enum usher_status usher__number_sweep(work *w, uint64_t version)
{
    uint64_t n;
    bool more;
    int64_t max =
        usher__sweep_max((w->command->given & USHER_GIVEN_MAX) != 0, w->command->arg.number.max);
    enum usher_status status;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    status = usher__number_expire_due(w, max, JUDGE_MAX, &n, &more);
    status = several(w, status, n, more);
    if (status != USHER_OK || n > 0 || w->scope.version == version)
        return status;
    w->reply->status = USHER_OK;
    return usher__request_keep_last(w);
}

/* ---- settings --------------------------------------------------------------------- */

/*
 * The settings of the pool were @old.  The limits among them apply to all numbers at once: numbers
 * with another list or place by the new ones are found by a walk, in bounded steps.  Until that is
 * over, a call applies the settings to each number that it reads, and is `empty` only after the
 * walk.
 */
static void settings_reach(work *w, const int64_t old[USHER_SETTINGS])
{
    const int64_t *new = w->scope.settings;
    int64_t *counts = w->scope.counts;
    bool zone = new[USHER__SET_DAILY] != 0 && new[USHER__SET_ZONE] != old[USHER__SET_ZONE];
    bool rests =
        new[USHER__SET_REST] != old[USHER__SET_REST] || new[USHER__SET_GAP] != old[USHER__SET_GAP];
    bool longer =
        new[USHER__SET_REST] > old[USHER__SET_REST] || new[USHER__SET_GAP] > old[USHER__SET_GAP];
    bool cap = new[USHER__SET_DAILY] != old[USHER__SET_DAILY] || zone;

    if (new[USHER__SET_LEASE_MAX] != old[USHER__SET_LEASE_MAX]) {
        counts[COUNT_LIMITED] = w->moment;
        counts[COUNT_LIMITED_AT] = (int64_t)w->scope.version;
        usher__number_due_at(w, w->moment);
    }
    if (counts[COUNT_CALLS] == 0 || !(rests || cap))
        return; /* no number has had a call; or nothing changes */
    if (!is_judged(w))
        counts[COUNT_JUDGE] = JUDGE_BOTH;
    else if (longer || cap)
        counts[COUNT_JUDGE] = rests ? JUDGE_BOTH : JUDGE_IDLE;
    else
        counts[COUNT_JUDGE] = JUDGE_RESTS;
    counts[COUNT_JUDGE_HI] = 0;
    /* a higher cap only frees numbers */
    if (counts[COUNT_JUDGE] == JUDGE_IDLE && !zone &&
        (new[USHER__SET_DAILY] == 0 ||
         (old[USHER__SET_DAILY] != 0 && new[USHER__SET_DAILY] > old[USHER__SET_DAILY])))
        counts[COUNT_JUDGE_HI] = (int64_t)USHER__RANK_CAPPED;
    usher__number_due_at(w, w->moment);
}

enum usher_status usher__number_set(work *w)
{
    int64_t new[USHER_SETTINGS], old[USHER_SETTINGS];
    bool given = usher__settings_given(w, USHER_NUMBER_SET, new), follows, more;
    const struct usher_text *said = &w->command->arg.number.reason;
    struct usher__reason reason;
    change c;
    uint64_t n;
    enum usher_status status = usher__reason_load(
        w, KIND_REASON, 0, said,
        new[USHER__SET_SCOPE_MODE] != w->scope.settings[USHER__SET_SCOPE_MODE], &reason);

    if (status == USHER_OK)
        status = usher__number_tell_reason(w, &reason);
    if (status != USHER_OK)
        return status;
    given |= said->data != NULL;
    usher__settings_tell(w, USHER_NUMBER_SET, new);
    if (!given || (w->scope.ref != NULL && !reason.changes &&
                   memcmp(new, w->scope.settings, sizeof new) == 0)) {
        w->reply->status = given ? USHER_SAME : w->scope.ref != NULL ? USHER_OK : USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    usher__change_begin(w, &c);
    memcpy(old, w->scope.settings, sizeof old);
    memcpy(c.scope->settings, new, sizeof new);
    usher__reason_save(&c, &reason);
    settings_reach(w, old);
    follows = w->scope.due_ms <= w->now;
    status = follows ? USHER_OK : usher__request_keep(w, &c);
    if (status == USHER_OK)
        status = usher__change_data_settings(w, &c);
    if (status == USHER_OK)
        status = usher__change_commit(w, &c, USHER_NUMBER_SET, 0, 0, NULL);
    if (status != USHER_OK || !follows)
        return status;
    /* apply the new settings at once, as far as one command does */
    status = usher__number_expire_due(w, USHER__EXPIRE_MAX, JUDGE_MAX, &n, &more);
    if (usher__work_stops(w, status, 1))
        status = USHER_OK;
    return status == USHER_OK ? usher__request_keep_last(w) : status;
}
