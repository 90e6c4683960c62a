/* SPDX-License-Identifier: MIT */
/* Matches of users and agents, and the verbs that only make matches: pull, match. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>

#include "core/number.h"
#include "core/text.h"

/* Update the pace at which a lane's users get rooms. */
static void pace(work *w, struct lane *l, const struct usher_record *u)
{
    int64_t last = figure(l, F_LAST), paced = figure(l, F_PACE);
    int64_t d = lasted(last > u->n[U_APPLIED] ? last : u->n[U_APPLIED], usher__work_at(w));

    if (usher__work_at(w) > u->n[U_APPLIED]) {
        if (d > DAY_MS)
            d = DAY_MS;
        figure_set(l, F_PACE, paced == 0 ? 16 * d : (7 * paced + 16 * d) / 8);
    }
    figure_set(l, F_LAST, usher__work_at(w));
}

enum usher_status usher__queue_seated(work *w, struct queue_change *qc, struct lane *l,
                                      struct usher_record *u)
{
    int64_t at = usher__work_at(w);

    pace(w, l, u);
    qc->agent.r.n[A_SERVED]++;
    return usher__queue_count_seated(w, l, at, lasted(u->n[U_APPLIED], at));
}

enum usher_status usher__queue_give(struct run *run, struct queue_change *qc,
                                    struct usher_record *u, bool stored)
{
    work *w = run->w;
    struct agent *a = &qc->agent;
    int64_t offer = w->scope.settings[SET_OFFER], no = 1;
    struct lane *l;
    enum usher_status status;

    usher__queue_change_step(w, qc);
    while (a->rooms[no - 1].size != 0)
        no++;
    status = usher__queue_lane_hold(w, qc, &u->group, &l);
    if (status != USHER_OK)
        return status;
    if (stored)
        status = usher__queue_refuse_no_more(w, qc, u, &a->r.id);
    if (status != USHER_OK)
        return status;
    a->rooms[no - 1] = u->id;
    a->touched = true;
    a->r.token = qc->c.scope->version;
    if (offer > 0) {
        a->r.n[A_OFFERS] += 4;
        usher__queue_agent_event(w, qc, USHER__AGENT_OFFER, usher__work_at(w));
        u->n[U_END] = w->moment + offer; /* it did not ring before */
    } else {
        a->r.n[A_SEATED]++;
        usher__queue_agent_event(w, qc, USHER__AGENT_SEAT, usher__work_at(w));
        status = usher__queue_seated(w, qc, l, u);
        if (status != USHER_OK)
            return status;
        u->n[U_END] = 0;
    }
    usher__queue_user_settle(
        u, usher__queue_user_move(w, u, offer > 0 ? USHER__USER_OFFER : USHER__USER_SEAT).to);
    u->owner = a->r.id;
    u->token = qc->c.scope->version;
    u->n[U_MATCHED] = usher__work_at(w);
    u->n[U_NO] = no;
    status =
        usher__queue_user_save(w, qc, u, stored ? USHER_QUEUE_USER_WAITING : USHER_QUEUE_USER_GONE);
    usher__queue_change_subject(qc, USHER_QUEUE_MATCH, USHER_QUEUE_USER_WAITING, u);
    if (status == USHER_OK && run->matched_rows) {
        struct usher_queue_result_row row = usher__queue_user_row(u);

        row.agent = a->r.id;
        row.login = a->r.order;
        row.until_ms = u->n[U_END];
        status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
    }
    run->n_matched += status == USHER_OK;
    return status;
}

/* Commit @qc, which is a match. */
static enum usher_status match_commit(struct run *run, struct queue_change *qc)
{
    enum usher_status status = usher__queue_change_commit(run->w, qc);

    if (status != USHER_OK) { /* the command may still succeed */
        run->n_matched--;
        if (run->matched_rows)
            reply_of(run->w)->n_rows--;
    }
    return status;
}

/* Find the link after (@rank, @order) among those of @lane and of agents for all lanes. */
static enum usher_status link_next(work *w, const struct usher_text *lane, uint64_t rank,
                                   uint64_t order, struct usher_record *r)
{
    struct usher_record other;
    enum usher_status one =
        w->ops->walk(w->txn, &w->scope, KIND_LINK, 0, lane, rank, order, false, r);
    enum usher_status two;

    if (one != USHER_OK && one != USHER_MISSING)
        return one;
    two = w->ops->walk(w->txn, &w->scope, KIND_LINK, 0, &all_lanes, rank, order, false, &other);
    if (two != USHER_OK)
        return two == USHER_MISSING ? one : two;
    if (one == USHER_MISSING || other.rank < r->rank ||
        (other.rank == r->rank && other.order < r->order))
        *r = other;
    return USHER_OK;
}

/* usher__queue_pick() among agents that have not refused @u. */
static enum usher_status pick_fresh(work *w, const struct usher_record *u, struct usher_record *a)
{
    bool random = w->scope.settings[SET_STRATEGY] == USHER_QUEUE_STRATEGY_RANDOM, turned = !random;
    uint64_t version = w->scope.version + 1,
             rank = random ? USHER_QUEUE_STRATEGY_RANDOM * RANKS + usher__draw(version) : 0,
             order = 0;
    uint32_t left = random ? usher__draw_step(version) : 0;
    bool any = false;

    for (int passed = 0; passed < PASS_MAX;) {
        struct usher_record link, r;
        enum usher_status status = link_next(w, &u->group, rank, order, &link);

        if (status == USHER_MISSING) {
            if (turned && !any)
                break;
            /* a whole turn without one: there is none */
            turned = true;
            any = false;
            rank = order = 0;
            continue;
        }
        if (status != USHER_OK)
            return status;
        rank = link.rank;
        order = link.order;
        status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &link.owner, a);
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        passed += due(w, a);
        status = due(w, a) ? USHER_OK : usher__queue_refused(w, u, &link.owner, &r);
        if (status == USHER_OK)
            continue;
        if (status != USHER_MISSING)
            return status;
        any = random;
        if (left == 0)
            return USHER_OK;
        left--;
    }
    return USHER_MISSING;
}

static bool serves(const struct agent *a, const struct usher_text *lane)
{
    size_t i = 0;

    while (i < a->n_lanes && !usher__text_equal(&a->lanes[i], lane) &&
           !usher__text_equal(&a->lanes[i], &all_lanes))
        i++;
    return i < a->n_lanes;
}

/* Find the agent of the oldest refusal of @u that may get it again and is open.  @self counts as
 * open. MISSING: there is none. */
static enum usher_status pick_again(work *w, const struct usher_record *u,
                                    const struct usher_text *self, struct usher_record *ret)
{
    uint64_t rank = 0, order = 0;

    for (;;) {
        struct usher_record r;
        struct agent a;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_REFUSAL, 0, &u->data, rank, order, false, &r);

        if (status != USHER_OK)
            return status;
        rank = r.rank;
        order = r.order;
        if (self != NULL && usher__text_equal(&r.owner, self)) {
            ret->id = r.owner;
            return USHER_OK;
        }
        status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &r.owner, &a.r);
        if (status == USHER_MISSING || (status == USHER_OK && (!is_open(&a.r) || due(w, &a.r))))
            continue;
        if (status == USHER_OK && !usher__queue_agent_read(&a))
            return damaged(w);
        if (status != USHER_OK)
            return status;
        if (serves(&a, &u->group)) {
            *ret = a.r;
            return USHER_OK;
        }
    }
}

enum usher_status usher__queue_pick(work *w, const struct usher_record *u, struct usher_record *a)
{
    enum usher_status status;

    if (w->scope.counts[USHER_QUEUE_AGENT_IDLE] + w->scope.counts[USHER_QUEUE_AGENT_OFFERED] +
            w->scope.counts[USHER_QUEUE_AGENT_BUSY] ==
        0)
        return USHER_MISSING;
    status = pick_fresh(w, u, a);
    return status == USHER_MISSING && u->data.size != 0 ? pick_again(w, u, NULL, a) : status;
}

static bool is_enough(const struct run *run)
{
    return run->looked >= PASS_MAX && !run->whole;
}

/* Find the first user by place in the lanes of @a that @a has not refused (@any: refused or not),
 * from
 * @s on, or MISSING.  FULL: not all were searched, and the search continues from @s. */
static enum usher_status first_user(struct run *run, const struct agent *a, bool any,
                                    struct search *s, struct usher_record *ret)
{
    work *w = run->w;
    struct usher_record heads[LANES_MAX], refusal;
    bool there[LANES_MAX];
    size_t n = a->n_lanes, best = n;

    for (size_t i = 0;; i++) {
        /* one of each lane, then another one of the lane of the user that was skipped */
        size_t k = best == n ? i : best;
        const struct usher_text *lane =
            usher__text_equal(&a->lanes[k], &all_lanes) ? NULL : &a->lanes[k];
        enum usher_status status = w->ops->walk(w->txn, &w->scope, KIND_USER, 0, lane, s->rank,
                                                s->order, false, &heads[k]);

        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        there[k] = status == USHER_OK;
        if (i + 1 < n)
            continue;
        best = n;
        for (k = 0; k < n; k++)
            if (there[k] &&
                (best == n || heads[k].rank < heads[best].rank ||
                 (heads[k].rank == heads[best].rank && heads[k].order < heads[best].order)))
                best = k;
        if (best == n)
            return USHER_MISSING;
        if (!due(w, &heads[best])) {
            status =
                any ? USHER_MISSING : usher__queue_refused(w, &heads[best], &a->r.id, &refusal);
            if (status == USHER_MISSING) {
                *ret = heads[best];
                return USHER_OK;
            }
            if (status != USHER_OK)
                return status;
        }
        if (is_enough(run))
            return USHER_FULL;
        run->looked++;
        s->rank = heads[best].rank;
        s->order = heads[best].order;
    }
}

/* Find the user with the oldest refusal by @a, if no other agent is before @a for it.  As above. */
static enum usher_status refused_user(struct run *run, const struct agent *a, struct search *s,
                                      struct usher_record *ret)
{
    work *w = run->w;

    for (;; run->looked++) {
        struct usher_record r, other;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_REFUSAL, 2, &a->r.id, 0, s->order, false, &r);

        if (status != USHER_OK)
            return status;
        if (is_enough(run))
            return USHER_FULL;
        s->order = r.order;
        if (r.until_ms != 0)
            continue;
        status = w->ops->find(w->txn, &w->scope, KIND_USER, &r.data, ret);
        if (status == USHER_MISSING ||
            (status == USHER_OK &&
             (ret->state != USHER_QUEUE_USER_WAITING || due(w, ret) ||
              !usher__text_equal(&ret->data, &r.group) || !serves(a, &ret->group))))
            continue;
        if (status == USHER_OK)
            status = pick_fresh(w, ret, &other);
        if (status == USHER_MISSING) {
            status = pick_again(w, ret, &a->r.id, &other);
            if (status == USHER_OK && usher__text_equal(&other.id, &a->r.id))
                return USHER_OK;
        }
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        run->passed = true;
    }
}

enum usher_status usher__queue_match_agent_once(struct run *run, struct queue_change *qc,
                                                struct search *search)
{
    work *w = run->w;
    const struct agent *a = &qc->agent;
    struct usher_record u;
    enum usher_status status = USHER_MISSING;

    if (w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] == 0 || !is_open(&a->r) ||
        due(w, &a->r))
        return USHER_MISSING;
    if (!search->refusals)
        status = first_user(run, a, false, search, &u);
    if (status == USHER_MISSING) {
        if (!search->refusals)
            search->order = 0;
        search->refusals = true;
        status = refused_user(run, a, search, &u);
    }
    return status == USHER_OK ? usher__queue_give(run, qc, &u, true) : status;
}

/* Make a match of agent @r.  MISSING: there is none, or none yet. */
static enum usher_status match_of(struct run *run, const struct usher_record *r,
                                  struct search *search)
{
    struct queue_change qc;
    enum usher_status status;

    usher__queue_change_init(&qc);
    status = usher__queue_agent_hold_this(run->w, &qc, r);
    if (status == USHER_OK)
        status = usher__queue_match_agent_once(run, &qc, search);
    if (status == USHER_FULL) {
        status = usher__queue_search_later(run->w, r->order, search);
        return status == USHER_OK ? USHER_MISSING : status;
    }
    return status == USHER_OK ? match_commit(run, &qc) : status;
}

enum usher_status usher__queue_match_agent(struct run *run, uint64_t login, int64_t max,
                                           struct search *search)
{
    enum usher_status status = USHER_OK;

    for (int64_t i = 0; status == USHER_OK && i < max; i++) {
        struct usher_record r;

        status = usher__queue_agent_by_login(run->w, login, &r);
        if (status == USHER_OK)
            status = match_of(run, &r, search);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/*
 * Make a match of the user that waits at this place, if it is still there.  The agent for it takes
 * its best user, which may be another one that is left from a time without trigger or memory.  So
 * no user is overtaken.
 */
static enum usher_status match_user(struct run *run, uint64_t rank, uint64_t order)
{
    work *w = run->w;

    for (int i = 0; i < USHER__EXPIRE_MAX; i++) {
        struct usher_record u, a;
        struct search search = { false, 0, 0 };
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_USER, 0, NULL, rank, order - 1, false, &u);

        if (status == USHER_MISSING ||
            (status == USHER_OK && (u.rank != rank || u.order != order || due(w, &u))))
            break;
        if (status == USHER_OK)
            status = usher__queue_pick(w, &u, &a);
        if (status == USHER_OK)
            status = match_of(run, &a, &search);
        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_OK : status;
    }
    return USHER_OK;
}

enum usher_status usher__queue_settle(struct run *run)
{
    work *w = run->w;
    struct pending *t = run->pending;
    bool again = automatic(w->scope.settings);
    enum usher_status status = USHER_OK;

    while (again && status == USHER_OK) {
        uint64_t before = run->n_matched;

        run->passed = false;
        for (unsigned i = 0; status == USHER_OK && i < t->n_agents; i++) {
            struct search search = { false, 0, 0 };

            status = usher__queue_match_agent(run, t->agents[i], USHER_QUEUE_CAPACITY_MAX, &search);
        }
        for (unsigned i = 0; status == USHER_OK && i < t->n_users; i++)
            status = match_user(run, t->users[i].rank, t->users[i].order);
        /* the agent for which it was left may have another one now */
        again = run->passed && run->n_matched != before;
    }
    t->n_agents = t->n_users = 0;
    if (status == USHER_NOMEM && w->at_once) {
        usher__scope_reload(w);
        status = USHER_OK;
    }
    return status;
}

/* ---- pull, match, sweep ----------------------------------------------------------- */

/* Find the first user for the agent of @qc, refused or not, or MISSING. */
static enum usher_status next_for(struct run *run, struct queue_change *qc)
{
    struct search search = { false, 0, 0 };
    struct usher_record u;
    enum usher_status status;

    run->whole = true;
    status = first_user(run, &qc->agent, true, &search, &u);
    return status == USHER_OK ? usher__queue_give(run, qc, &u, true) : status;
}

enum usher_status usher__queue_pull(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    struct queue_change qc;
    enum usher_status status = usher__queue_load(run, KIND_AGENT, id, &r);

    if (status == USHER_MISSING)
        return usher__queue_answer_no_agent(w, USHER_MISSING, id);
    if (status != USHER_OK)
        return status;
    usher__queue_answer_agent(w, USHER_OK, &r);
    reply_of(w)->token = 0; /* the token of the match is in the row */
    if (w->scope.settings[SET_SCOPE_MODE] == USHER_SCOPE_MODE_STOPPED) {
        reply_of(w)->why = USHER_QUEUE_WHY_STOPPED;
        usher__say(w->reply, USHER_REFUSED, "the queue is stopped (mode=)");
        return USHER_OK;
    }
    if (!is_open(&r)) {
        usher__say(w->reply, USHER_REFUSED, "the agent is not open: full, paused or in wrap-up");
        return USHER_OK;
    }
    usher__queue_change_init(&qc);
    status = usher__queue_agent_hold_this(w, &qc, &r);
    if (status == USHER_OK)
        status = next_for(run, &qc);
    if (status == USHER_MISSING) {
        w->reply->status = USHER_EMPTY;
        reply_of(w)->why = USHER_QUEUE_WHY_NO_USER;
        return USHER_OK;
    }
    if (status == USHER_OK)
        reply_of(w)->state = shown(&qc.agent.r);
    return status == USHER_OK ? usher__queue_change_commit(w, &qc) : status;
}

enum usher_status usher__queue_match(struct run *run)
{
    work *w = run->w;
    uint64_t before = UINT64_MAX;
    enum usher_status status = USHER_OK;

    run->whole = true;
    while (status == USHER_OK && run->n_matched != before && run->n_matched < USHER__EXPIRE_MAX) {
        uint64_t rank = 0, order = 0;

        before = run->n_matched;
        while (w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] > 0) {
            struct usher_record link, a;
            struct search search = { false, 0, 0 };

            status = w->ops->walk(w->txn, &w->scope, KIND_LINK, 0, NULL, rank, order, false, &link);
            if (status != USHER_OK || run->n_matched >= USHER__EXPIRE_MAX)
                break;
            rank = link.rank;
            order = link.order;
            status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &link.owner, &a);
            if (status == USHER_MISSING)
                return damaged(w);
            if (status == USHER_OK)
                status = usher__queue_match_agent(run, a.order, 1, &search);
            if (usher__work_stops(w, status, run->n_matched)) {
                w->reply->status = USHER_OK;
                reply_of(w)->more = true;
                return USHER_OK;
            }
            if (status != USHER_OK)
                return status;
        }
        if (status == USHER_MISSING)
            status = USHER_OK;
    }
    if (status == USHER_OK) {
        w->reply->status = w->scope.ref == NULL ? USHER_MISSING
                           : run->n_matched > 0 ? USHER_OK
                                                : USHER_SAME;
        reply_of(w)->more = run->n_matched >= USHER__EXPIRE_MAX &&
                            w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] > 0;
    }
    return status;
}
