/* SPDX-License-Identifier: MIT */
/* Calls: the choice of a number, and the reason and the time if there is none. */
#include "config.h"

#include "number_parts.h"

#include <string.h>

/* Count a call that gets nothing.  That is no change and has no version, and it does not advance
 * the scope's clock.  So refusals have a clock of their own, which does not go back either: a
 * refusal with an earlier day counts as of the latest. */
static enum usher_status count_refusal(work *w)
{
    struct usher_scope *s = &w->scope;
    int64_t today = usher__day(w->now, s->settings[USHER__SET_ZONE]);
    change c;

    if (s->ref == NULL)
        return USHER_OK;
    if (s->counts[COUNT_REFUSED_DAY] < today) {
        s->counts[COUNT_REFUSED_DAY] = today;
        s->counts[COUNT_REFUSED_BEFORE] = s->counts[COUNT_REFUSED];
    }
    s->counts[COUNT_REFUSED]++;
    usher__change_begin_quietly(w, &c);
    return usher__change_write(w, &c);
}

/* Return when @r may be free, or 0 if that is not known.  Its rest or its hold ends at @at (0:
 * never), it may rest again, and it must be below its cap then. */
static int64_t free_at(const work *w, const struct usher_record *r, int64_t at)
{
    const int64_t *set = w->scope.settings;

    if (r->state == USHER_NUMBER_STATE_BUSY_UP && at != 0)
        at = rested(&w->scope, r, at, set[USHER__SET_REST]);
    else if (r->state == USHER_NUMBER_STATE_IDLE_UP && at == 0)
        at = w->moment;
    else if (r->state != USHER_NUMBER_STATE_IDLE_UP)
        at = 0;
    return at != 0 && reached_cap(&w->scope, r, at) ? usher__day_end(at, set[USHER__SET_ZONE]) : at;
}

/* Holds and rests in order of their ends, from two lists: those with a lease or rest, of a group,
 * and those that `lease-max` limits, of all groups. */
struct ends {
    const struct usher_text *group;
    struct usher_record r[2];
    enum usher_status status[2]; /* MISSING: none is left */
    int looked;                  /* number of holds of all groups that were read */
    int64_t limit;               /* the last limit: limits end holds in their order */
};

static void ends_step(work *w, struct ends *e, unsigned list)
{
    struct usher_record *r = &e->r[list];

    e->status[list] = list == 0 ? w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_DUE,
                                               e->group, (uint64_t)r->until_ms, r->order, false, r)
                                : usher__number_first_limited(w, r->order, r);
    if (list == 1)
        e->looked++;
}

/* Find the next end, of *@ret_r at *@ret_at.  MISSING. */
static enum usher_status ends_next(work *w, struct ends *e, struct usher_record *ret_r,
                                   int64_t *ret_at)
{
    for (;;) {
        int64_t at[2];
        unsigned list;

        for (unsigned i = 0; i < 2; i++)
            if (e->status[i] != USHER_OK && e->status[i] != USHER_MISSING)
                return e->status[i];
        if (e->status[0] != USHER_OK && e->status[1] != USHER_OK)
            return USHER_MISSING;
        at[0] = e->status[0] == USHER_OK ? e->r[0].until_ms : INT64_MAX;
        at[1] = e->status[1] == USHER_OK ? limit_end(&w->scope, &e->r[1]) : INT64_MAX;
        if (at[1] < e->limit)
            at[1] = e->limit;
        list = at[1] < at[0];
        if (list == 1)
            e->limit = at[1];
        *ret_r = e->r[list];
        *ret_at = at[list];
        if (list == 1 && e->looked > USHER__EXPIRE_MAX)
            return USHER_OK; /* the last one that is read */
        ends_step(w, e, list);
        /* each hold once, where it ends */
        if (list == 0 ? end_of(w, ret_r) == ret_r->until_ms
                      : end_of(w, ret_r) != ret_r->until_ms &&
                            (e->group == NULL || usher__text_equal(e->group, &ret_r->group)))
            return USHER_OK;
    }
}

/*
 * Lower *@best (< 0: not known) to the time at which a number of @group (NULL: any), @rests of
 * which rest, becomes free without a command.  If more than USHER__EXPIRE_MAX holds or rests end
 * before that without a number becoming free (they are not registered, they rest again), it is the
 * time at which the next one of those ends.
 */
static enum usher_status next_free(work *w, const struct usher_text *group, int64_t rests,
                                   int64_t *best)
{
    struct ends e = { .group = group };
    struct usher_record r;
    bool held = false;

    for (unsigned list = 0; list < 2; list++)
        ends_step(w, &e, list);
    for (int i = 0;; i++) {
        int64_t end, at;
        enum usher_status status = ends_next(w, &e, &r, &end);

        if (status == USHER_MISSING)
            break;
        if (status != USHER_OK)
            return status;
        if ((*best >= 0 && end >= *best) || (held && rests == 0))
            break;
        if (i == USHER__EXPIRE_MAX || e.looked > USHER__EXPIRE_MAX) {
            *best = end;
            break;
        }
        at = free_at(w, &r, end);
        if (at > 0 && (*best < 0 || at < *best))
            *best = at;
        if (r.state == USHER_NUMBER_STATE_IDLE_UP)
            rests--;
        else if (at == end + w->scope.settings[USHER__SET_REST])
            held = true; /* and no later hold ends earlier */
    }
    return USHER_OK;
}

static bool any_group(const struct usher_text *group)
{
    return group->size == 1 && group->data[0] == '*';
}

/* The counts of all groups of the command, if a call got nothing. */
struct shortage {
    int64_t total, busy_up, rests;
    bool capped;
    int64_t next;
};

/* Nothing of @group (NULL: any) is free, and nothing is due, so all numbers in its idle list are
 * over the cap. */
static enum usher_status find_shortage(work *w, const struct usher_text *group, int64_t total,
                                       int64_t busy_up, int64_t rests, struct shortage *ret)
{
    struct usher_record r;
    enum usher_status status = usher__number_walk_idle(w, group, 0, 0, false, &r);

    if (status == USHER_OK) {
        int64_t at = usher__day_end(w->now, w->scope.settings[USHER__SET_ZONE]);

        ret->capped = true;
        if (ret->next < 0 || at < ret->next)
            ret->next = at;
    } else if (status != USHER_MISSING) {
        return status;
    }
    ret->total += total;
    ret->busy_up += busy_up;
    ret->rests += rests;
    return next_free(w, group, rests, &ret->next);
}

/* Nothing is free in the groups of the command: answer with the reason, and the next time at which
 * one may be free. */
static enum usher_status exhausted(work *w)
{
    struct usher_text list = w->command->arg.number.group, group;
    const int64_t *counts = w->scope.counts;
    struct usher_number_result *n = &w->reply->of.number;
    struct shortage of = { .next = -1 };
    bool all = list.data == NULL;
    enum usher_status status = USHER_OK;

    while (!all && usher__groups_next(&list, &group))
        all = any_group(&group);
    list = w->command->arg.number.group;
    if (w->scope.ref == NULL) {
        /* an unknown pool has no numbers */
    } else if (all) {
        int64_t total = 0;

        for (int state = USHER_NUMBER_STATE_IDLE_DOWN; state <= USHER_NUMBER_STATE_BUSY_UP; state++)
            total += counts[state];
        status = find_shortage(w, NULL, total, counts[USHER_NUMBER_STATE_BUSY_UP],
                               counts[COUNT_RESTING], &of);
    } else {
        while (status == USHER_OK && usher__groups_next(&list, &group)) {
            struct usher_record r;

            status = w->ops->find(w->txn, &w->scope, KIND_GROUP, &group, &r);
            if (status == USHER_OK)
                status =
                    find_shortage(w, &group, r.n[N_TOTAL], r.n[N_BUSY_UP], r.n[N_RESTING], &of);
            else if (status == USHER_MISSING)
                status = USHER_OK;
        }
    }
    if (status == USHER_OK)
        status = count_refusal(w);
    if (status != USHER_OK)
        return status;
    w->reply->status = USHER_EMPTY;
    n->why = of.total == 0    ? USHER_NUMBER_WHY_NO_NUMBER
             : of.busy_up > 0 ? USHER_NUMBER_WHY_BUSY
             : of.rests > 0   ? USHER_NUMBER_WHY_RESTING
             : of.capped      ? USHER_NUMBER_WHY_CAPPED
                              : USHER_NUMBER_WHY_DOWN;
    n->next_ms = of.next;
    return USHER_OK;
}

/* Return why the mode of the pool forbids a new call; NONE: it does not. */
static enum usher_number_why forbidden(const work *w)
{
    switch (w->scope.settings[USHER__SET_SCOPE_MODE]) {
    case USHER_SCOPE_MODE_CLOSED:
        return USHER_NUMBER_WHY_CLOSED;
    case USHER_SCOPE_MODE_STOPPED:
        return USHER_NUMBER_WHY_STOPPED;
    default:
        return USHER_NUMBER_WHY_NONE;
    }
}

/* Answer that the mode of the pool forbids the call, whatever is free. */
static enum usher_status not_accepted(work *w)
{
    w->reply->status = USHER_EMPTY;
    w->reply->of.number.why = forbidden(w);
    return count_refusal(w);
}

/* Answer that the requested number is not free, or may not be called. */
static enum usher_status turned_down(work *w, const struct usher_record *r)
{
    struct usher_number_result *n = &w->reply->of.number;
    enum usher_number_why why = forbidden(w);
    int64_t at = why == USHER_NUMBER_WHY_NONE ? free_at(w, r, end_of(w, r)) : 0;

    answer(w, USHER_REFUSED, r);
    n->token = 0; /* the token of another owner */
    n->why = why != USHER_NUMBER_WHY_NONE               ? why
             : busy(r->state)                           ? USHER_NUMBER_WHY_BUSY
             : r->state == USHER_NUMBER_STATE_IDLE_DOWN ? USHER_NUMBER_WHY_DOWN
             : resting(r)                               ? USHER_NUMBER_WHY_RESTING
                                                        : USHER_NUMBER_WHY_CAPPED;
    n->next_ms = at > 0 ? at : -1;
    return count_refusal(w);
}

/* Store @number as the last one for the peer of this call. */
static enum usher_status remember_sticky(work *w, change *c, const struct usher_text *number)
{
    const struct usher_text *peer = &w->command->arg.number.sticky;
    const int64_t *set = w->scope.settings;
    struct usher_record r;
    enum usher_status status;

    if (peer->data == NULL || set[USHER__SET_STICKY_MS] == 0 || set[USHER__SET_STICKY_MAX] == 0)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, KIND_STICKY, peer, &r);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = KIND_STICKY;
    } else if (status != USHER_OK) {
        return status;
    }
    r.id = *peer;
    r.owner = *number;
    r.until_ms = w->moment + set[USHER__SET_STICKY_MS];
    return usher__change_remember(w, c, &r, &c->scope->counts[COUNT_STICKY],
                                  set[USHER__SET_STICKY_MAX]);
}

/* Give the number to this call, which begins or takes it back, with the state @to. */
enum usher_status usher__number_take_number(work *w, move *m, unsigned to)
{
    const struct usher_number_args *a = &w->command->arg.number;
    const int64_t *set = w->scope.settings;
    struct usher_record *r = own_record(m);
    int64_t today = usher__day(w->now, set[USHER__SET_ZONE]);
    int64_t lease =
        (w->command->given & USHER_GIVEN_LEASE) != 0 ? a->lease_ms : set[USHER__SET_LEASE];
    int64_t *counts = w->scope.counts;
    enum usher_status status;

    usher__number_begin(w, m);
    set_state(w, r, to, lease > 0 ? w->moment + lease : 0, w->scope.version);
    r->token = r->order = w->scope.version;
    r->n[N_CALLS] = calls_on(&w->scope, r, w->now) + 1;
    r->n[N_DAY] = r->n[N_DAY] > today ? r->n[N_DAY] : today;
    r->n[N_USED] = w->moment;
    r->n[N_LEASE] = lease;
    if (a->owner.data != NULL)
        r->owner = a->owner;
    if (a->node.data != NULL)
        r->data = a->node;

    if (counts[COUNT_CALLS_DAY] < today) {
        counts[COUNT_CALLS_DAY] = today;
        counts[COUNT_CALLS_BEFORE] = counts[COUNT_CALLS];
    }
    counts[COUNT_CALLS]++;

    answer(w, USHER_OK, r);
    status = usher__number_save(w, m);
    if (status == USHER_OK && a->node.data != NULL)
        usher__number_join_node(m, &a->node);
    if (status == USHER_OK)
        status = remember_sticky(w, &m->c, &r->id);
    return status == USHER_OK ? usher__number_keep_and_commit(w, m) : status;
}

/* Return the move of @r by a call. */
static struct usher__move move_by_call(work *w, const struct usher_record *r)
{
    const struct usher_text *owner = &w->command->arg.number.owner;
    unsigned guard = USHER__ANY;

    if (busy(r->state)) {
        if (owner->data != NULL)
            guard = usher__text_equal(owner, &r->owner) ? USHER__NUMBER_IF_HOLDER
                                                        : USHER__NUMBER_IF_OTHER;
    } else if (r->until_ms != 0 || reached_cap(&w->scope, r, w->now)) {
        guard = USHER__NUMBER_IF_RESTING;
    }
    return move_of(w, r, USHER__NUMBER_CALL, guard);
}

/* Give @m, which is in a list of free numbers, to this call.  MISSING: it may not have it. */
static enum usher_status take_free(work *w, move *m)
{
    struct usher__move to = move_by_call(w, own_record(m));

    return to.status == USHER_OK ? usher__number_take_number(w, m, to.to) : USHER_MISSING;
}

/* As usher__number_walk_idle(), but without numbers over the cap. */
static enum usher_status walk_offered(work *w, const struct usher_text *group, uint64_t rank,
                                      uint64_t order, bool back, struct usher_record *r)
{
    enum usher_status status = usher__number_walk_idle(w, group, rank, order, back, r);

    return status == USHER_OK && over_cap(r) ? USHER_MISSING : status;
}

/*
 * Draw a number of @group fairly.  The numbers are on a circle, each at the rank it drew when it
 * became idle.  A point is drawn from the version of this call, and one of the next
 * USHER__DRAW_STEPS numbers after it is taken.  (Rejected: the first one, because its chance is the
 * gap before it; and always the lowest rank, because numbers that are passed over have high ranks
 * and stay.)  MISSING: there is none.
 */
static enum usher_status draw(work *w, const struct usher_text *group, struct usher_record *r)
{
    uint64_t version = w->scope.version + 1;
    uint32_t left = usher__draw_step(version);
    uint64_t rank = usher__draw(version), order = 0;
    bool turned = false;

    for (;;) {
        enum usher_status status = walk_offered(w, group, rank, order, false, r);

        if (status == USHER_MISSING && !turned) { /* after a whole turn there is none */
            turned = true;
            rank = order = 0;
            continue;
        }
        if (status != USHER_OK || left-- == 0)
            return status;
        turned = false;
        rank = r->rank;
        order = r->order;
    }
}

/*
 * Find the first number of @group (NULL: any) by the pool's order that is not over the cap.
 * Numbers that became idle under another kind of order (random or not) come before all others.
 * MISSING.
 */
static enum usher_status first_idle(work *w, const struct usher_text *group, struct usher_record *r)
{
    enum usher_status status;

    if (w->scope.settings[USHER__SET_ORDER] == USHER_NUMBER_ORDER_RANDOM) {
        status = walk_offered(w, group, USHER__RANK_QUEUED, 0, false, r);
        return status != USHER_MISSING ? status : draw(w, group, r);
    }
    status = walk_offered(w, group, 0, 0, false, r);
    if (status != USHER_OK || r->rank < USHER__RANK_QUEUED ||
        w->scope.settings[USHER__SET_ORDER] == USHER_NUMBER_ORDER_LONGEST_IDLE)
        return status;
    return walk_offered(w, group, USHER__RANK_CAPPED, 0, true, r);
}

/* Count a step of a call.  REFUSED: *@left are used up. */
static enum usher_status step(int *left)
{
    if (*left == 0)
        return USHER_REFUSED;
    --*left;
    return USHER_OK;
}

/* No number of @group is in the idle list.  OK: an expiry or a changed setting was applied, so one
 * may be now. */
static enum usher_status find_more(work *w, const struct usher_text *group, int *left, move *m)
{
    int64_t next;
    enum usher_status status = USHER_MISSING;

    if (w->scope.due_ms <= w->now)
        status = usher__number_first_due(w, group, &next, own_record(m));
    if (status == USHER_OK) {
        status = step(left);
        return status == USHER_OK ? usher__number_expire_one(w, m) : status;
    }
    if (status != USHER_MISSING || is_judged(w))
        return status;
    return *left > 0 ? usher__number_judge(w, left) : USHER_REFUSED;
}

/*
 * Give the first number of @group (NULL: any) to this call.  A changed setting and expiries, also
 * if they are more than a command applies before it, are applied until a number is free.  MISSING:
 * there is none.  REFUSED: these were more than *@left.
 */
static enum usher_status take_first(work *w, const struct usher_text *group, int *left, move *m)
{
    for (;;) {
        enum usher_status status = first_idle(w, group, own_record(m));

        if (status == USHER_MISSING)
            status = usher__number_first_over_cap(w, group, own_record(m));
        if (status == USHER_OK) {
            if (is_judged(w) || usher__number_is_right(w, own_record(m)))
                return take_free(w, m);
            status = step(left);
            if (status == USHER_OK)
                status = usher__number_judge_one(w, m);
        } else if (status == USHER_MISSING) {
            status = find_more(w, group, left, m);
        }
        if (status != USHER_OK)
            return status;
    }
}

/* Return whether the command's list of groups contains that of @r. */
static bool group_fits(work *w, const struct usher_record *r)
{
    struct usher_text list = w->command->arg.number.group, group;

    if (list.data == NULL)
        return true;
    while (usher__groups_next(&list, &group))
        if (any_group(&group) || usher__text_equal(&group, &r->group))
            return true;
    return false;
}

/* Give the number last used for this call's peer.  MISSING: not known, or not free. */
static enum usher_status take_sticky(work *w, move *m)
{
    const struct usher_text *peer = &w->command->arg.number.sticky;
    const struct usher_record *r = own_record(m);
    struct usher_record memory;
    char
        copy[USHER_NAME_MAX]; /* usher__number_load() may write, which frees the texts of records */
    struct usher_text number = { copy, 0 };
    enum usher_status status;

    if (peer->data == NULL)
        return USHER_MISSING;
    status = w->ops->find(w->txn, &w->scope, KIND_STICKY, peer, &memory);
    if (status != USHER_OK)
        return status;
    if (memory.until_ms <= w->moment)
        return USHER_MISSING;
    number.size = memory.owner.size;
    memcpy(copy, memory.owner.data, number.size);
    status = usher__number_load(w, &number, m);
    /* the id of a number that is not in the store is the copy */
    if (status == USHER_OK && r->id.data != copy && (r->slots & (1u << USHER__NUMBER_IDLE)) != 0 &&
        !reached_cap(&w->scope, r, w->now) && group_fits(w, r))
        return take_free(w, m);
    own_record(m)->id = (struct usher_text){ NULL, 0 };
    return status == USHER_OK ? USHER_MISSING : status;
}

/* Find the oldest hold of this call's owner, after due expiries.  MISSING; REFUSED: they were more
 * than
 * *@left. */
static enum usher_status held(work *w, const struct usher_text *owner, int *left, move *m)
{
    struct usher_record *r = own_record(m);

    if (owner->data == NULL)
        return USHER_MISSING;
    for (;;) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD, owner, 0, 0, false, r);

        if (status != USHER_OK || !due(w, r))
            return status;
        status = step(left);
        if (status == USHER_OK)
            status = usher__number_expire_one(w, m);
        if (status != USHER_OK)
            return status;
    }
}

/* Defer the command: it has applied as many expiries as one command does. */
enum usher_status usher__number_defer(work *w)
{
    w->reply->of.number.why = USHER_NUMBER_WHY_DUE;
    return usher__defer(w);
}

/* Give @m to the call, if the row of the table permits it. */
static enum usher_status call_one(work *w, move *m)
{
    struct usher__move to = move_by_call(w, own_record(m));

    if (to.status == USHER_REFUSED ||
        (to.status == USHER_OK && forbidden(w) != USHER_NUMBER_WHY_NONE))
        return turned_down(w, own_record(m));
    if (to.status == USHER_OK)
        return usher__number_take_number(w, m, to.to);
    answer(w, (enum usher_status)to.status, own_record(m));
    return USHER_OK;
}

enum usher_status usher__number_call(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    int left = JUDGE_MAX;
    struct usher_text list = a->group, group;
    move m;
    enum usher_status status;

    if (a->number.data != NULL) {
        status = usher__number_load(w, &a->number, &m);
        return status == USHER_OK ? call_one(w, &m) : status;
    }
    if (w->scope.ref == NULL)
        return exhausted(w);
    status = held(w, &a->owner, &left, &m);
    if (status == USHER_OK)
        return call_one(w, &m);
    if (status == USHER_MISSING && forbidden(w) != USHER_NUMBER_WHY_NONE)
        return not_accepted(w);
    if (status == USHER_MISSING)
        status = take_sticky(w, &m);
    if (status == USHER_MISSING && list.data == NULL)
        status = take_first(w, NULL, &left, &m);
    while (status == USHER_MISSING && usher__groups_next(&list, &group))
        status = take_first(w, any_group(&group) ? NULL : &group, &left, &m);
    if (status == USHER_REFUSED)
        return usher__number_defer(w);
    return status == USHER_MISSING ? exhausted(w) : status;
}
