/* SPDX-License-Identifier: MIT */
/* Who is given to whom, and the verbs that ask for no more than that: pull, match. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>

#include "core/number.h"
#include "core/text.h"

void usher__queue_seated(work *w, struct act *act, struct lane *l, struct usher_record *u)
{
    const struct usher_scope *s = &w->scope;
    int64_t wait = lasted(u->n[U_APPLIED], usher__work_at(w));

    usher__queue_figure(s, l, usher__work_at(w), F_SEATED, 1);
    usher__queue_figure(s, l, usher__work_at(w), F_WAIT, wait);
    if (wait <= s->settings[SET_SERVICE])
        usher__queue_figure(s, l, usher__work_at(w), F_WITHIN, 1);
    act->agent.r.n[A_SERVED]++;
}

/* The pace at which a lane's users get rooms. */
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

enum usher_status usher__queue_give(struct run *run, struct act *act, struct usher_record *u,
                                    bool stored)
{
    work *w = run->w;
    struct agent *a = &act->agent;
    int64_t offer = w->scope.settings[SET_OFFER], no = 1;
    struct lane *l;
    enum usher_status status;

    usher__queue_act_step(w, act);
    while (a->rooms[no - 1].size != 0)
        no++;
    status = usher__queue_lane_hold(w, act, &u->group, &l);
    if (status != USHER_OK)
        return status;
    a->rooms[no - 1] = u->id;
    a->touched = true;
    a->r.token = act->c.scope->version;
    pace(w, l, u);
    if (offer > 0) {
        a->r.n[A_OFFERS] += 4;
        usher__queue_agent_event(w, act, USHER__AGENT_OFFER, usher__work_at(w));
        u->n[U_END] = w->moment + offer; /* nobody could see it ring before */
    } else {
        a->r.n[A_SEATED]++;
        usher__queue_agent_event(w, act, USHER__AGENT_SEAT, usher__work_at(w));
        usher__queue_seated(w, act, l, u);
        u->n[U_END] = 0;
    }
    usher__queue_user_settle(
        u, usher__queue_user_move(w, u, offer > 0 ? USHER__USER_OFFER : USHER__USER_SEAT).to);
    u->owner = a->r.id;
    u->token = act->c.scope->version;
    u->n[U_MATCHED] = usher__work_at(w);
    u->n[U_NO] = no;
    status = usher__queue_user_save(w, act, u,
                                    stored ? USHER_QUEUE_USER_WAITING : USHER_QUEUE_USER_GONE);
    usher__queue_act_about(act, USHER_QUEUE_MATCH, USHER_QUEUE_USER_WAITING, u);
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

/* Commit @act, which is a match. */
static enum usher_status match_commit(struct run *run, struct act *act)
{
    enum usher_status status = usher__queue_act_commit(run->w, act);

    if (status != USHER_OK) { /* the command may end well all the same */
        run->n_matched--;
        if (run->matched_rows)
            reply_of(run->w)->n_rows--;
    }
    return status;
}

/* The link behind (*rank, *order) among those of @lane and of agents for all lanes. */
static enum usher_status link_next(work *w, const struct usher_text *lane, uint64_t rank,
                                   uint64_t order, struct usher_record *r)
{
    struct usher_record other;
    enum usher_status one = w->ops->walk(w->txn, &w->scope, K_LINK, 0, lane, rank, order, false, r);
    enum usher_status two;

    if (one != USHER_OK && one != USHER_MISSING)
        return one;
    two = w->ops->walk(w->txn, &w->scope, K_LINK, 0, &all_lanes, rank, order, false, &other);
    if (two != USHER_OK)
        return two == USHER_MISSING ? one : two;
    if (one == USHER_MISSING || other.rank < r->rank ||
        (other.rank == r->rank && other.order < r->order))
        *r = other;
    return USHER_OK;
}

/* usher__queue_pick() among those that @u has not refused, or with @refused among all. */
static enum usher_status pick_of(work *w, const struct usher_record *u, bool refused,
                                 struct usher_record *a)
{
    bool random = w->scope.settings[SET_STRATEGY] == USHER_QUEUE_STRATEGY_RANDOM, turned = !random;
    uint64_t version = w->scope.version + 1,
             rank = random ? USHER_QUEUE_STRATEGY_RANDOM * RANKS + usher__draw(version) : 0,
             order = 0;
    uint32_t left = random ? usher__draw_step(version) : 0;
    bool any = false;

    for (int i = 0; i < PASS_MAX; i++) {
        struct usher_record link;
        enum usher_status status = link_next(w, &u->group, rank, order, &link);

        if (status == USHER_MISSING) {
            if (turned && !any)
                break;
            /* once round without one means that there is none */
            turned = true;
            any = false;
            rank = order = 0;
            continue;
        }
        if (status != USHER_OK)
            return status;
        rank = link.rank;
        order = link.order;
        status = w->ops->find(w->txn, &w->scope, K_AGENT, &link.owner, a);
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        if (due(w, a) || (!refused && usher__queue_rejects(u, &link.owner)))
            continue;
        any = random;
        if (left == 0)
            return USHER_OK;
        left--;
    }
    return USHER_MISSING;
}

enum usher_status usher__queue_pick(work *w, const struct usher_record *u, struct usher_record *a)
{
    enum usher_status status;

    if (w->scope.counts[USHER_QUEUE_AGENT_IDLE] + w->scope.counts[USHER_QUEUE_AGENT_OFFERED] +
            w->scope.counts[USHER_QUEUE_AGENT_BUSY] ==
        0)
        return USHER_MISSING;
    status = pick_of(w, u, false, a);
    return status == USHER_MISSING && u->data.size != 0 ? pick_of(w, u, true, a) : status;
}

/* The first user of @lane (NULL: of all) whom @agent may have: see `refusals' in queue_verbs.def.
 * MISSING. */
static enum usher_status head(struct run *run, const struct usher_text *lane,
                              const struct usher_text *agent, bool refused, struct usher_record *r)
{
    work *w = run->w;
    uint64_t rank = 0, order = 0;
    struct usher_record a;

    for (int i = 0; i < PASS_MAX; i++) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, K_USER, 0, lane, rank, order, false, r);

        if (status != USHER_OK)
            return status;
        if (!due(w, r)) {
            if (refused || r->data.size == 0 || !usher__queue_rejects(r, agent))
                return USHER_OK;
            /* who is becoming open with this change is not among those to pick from */
            status = usher__queue_pick(w, r, &a);
            if (status == USHER_MISSING || (status == USHER_OK && usher__text_equal(&a.id, agent)))
                return USHER_OK;
            if (status != USHER_OK)
                return status;
            run->passed = true;
        }
        rank = r->rank;
        order = r->order;
    }
    return USHER_MISSING;
}

enum usher_status usher__queue_match_agent_once(struct run *run, struct act *act, bool refused)
{
    work *w = run->w;
    struct agent *a = &act->agent;
    struct usher_record best, r;
    bool found = false;

    if (w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] == 0 || !is_open(&a->r) ||
        due(w, &a->r))
        return USHER_MISSING;
    for (size_t i = 0; i < a->n_lanes; i++) {
        bool all = usher__text_equal(&a->lanes[i], &all_lanes);
        enum usher_status status = head(run, all ? NULL : &a->lanes[i], &a->r.id, refused, &r);

        if (status == USHER_MISSING)
            continue;
        if (status != USHER_OK)
            return status;
        if (!found || r.rank < best.rank || (r.rank == best.rank && r.order < best.order))
            best = r;
        found = true;
    }
    if (!found)
        return USHER_MISSING;
    if (usher__queue_rejects(&best, &a->r.id)) { /* it begins anew */
        best.data.data = NULL;
        best.data.size = 0;
    }
    return usher__queue_give(run, act, &best, true);
}

/* A match of agent @r.  MISSING: there is none. */
static enum usher_status match_of(struct run *run, const struct usher_record *r)
{
    struct act act;
    enum usher_status status;

    usher__queue_act_init(&act);
    status = usher__queue_agent_hold_this(run->w, &act, r);
    if (status == USHER_OK)
        status = usher__queue_match_agent_once(run, &act, false);
    return status == USHER_OK ? match_commit(run, &act) : status;
}

/* Matches of the agent that logged in at @login, at most @max. */
static enum usher_status match_agent(struct run *run, uint64_t login, int64_t max)
{
    enum usher_status status = USHER_OK;

    for (int64_t i = 0; status == USHER_OK && i < max; i++) {
        struct usher_record r;

        status = usher__queue_agent_by_login(run->w, login, &r);
        if (status == USHER_OK)
            status = match_of(run, &r);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/*
 * A match of the user who waits at this place, if it is still there.  The agent that it would
 * be given to takes its best user, who may be another one that is left from a time without
 * trigger or memory: nobody is overtaken.
 */
static enum usher_status match_user(struct run *run, uint64_t rank, uint64_t order)
{
    work *w = run->w;

    for (int i = 0; i < USHER__EXPIRE_MAX; i++) {
        struct usher_record u, a;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, K_USER, 0, NULL, rank, order - 1, false, &u);

        if (status == USHER_MISSING ||
            (status == USHER_OK && (u.rank != rank || u.order != order || due(w, &u))))
            break;
        if (status == USHER_OK)
            status = usher__queue_pick(w, &u, &a);
        if (status == USHER_OK)
            status = match_of(run, &a);
        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_OK : status;
    }
    return USHER_OK;
}

enum usher_status usher__queue_settle(struct run *run)
{
    work *w = run->w;
    struct todo *t = run->todo;
    bool again = w->scope.settings[SET_TRIGGER] == USHER_QUEUE_TRIGGER_AUTO;
    enum usher_status status = USHER_OK;

    while (again && status == USHER_OK) {
        uint64_t before = run->n_matched;

        run->passed = false;
        for (unsigned i = 0; status == USHER_OK && i < t->n_agents; i++)
            status = match_agent(run, t->agents[i], USHER_QUEUE_CAPACITY_MAX);
        for (unsigned i = 0; status == USHER_OK && i < t->n_users; i++)
            status = match_user(run, t->users[i].rank, t->users[i].order);
        /* the agent that it was left to may have another one now */
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

enum usher_status usher__queue_pull(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    struct act act;
    enum usher_status status = usher__queue_load(run, K_AGENT, id, &r);

    if (status == USHER_MISSING)
        return usher__queue_answer_no_agent(w, USHER_MISSING, id);
    if (status != USHER_OK)
        return status;
    usher__queue_answer_agent(w, USHER_OK, &r);
    if (!is_open(&r)) {
        usher__say(w->reply, USHER_REFUSED, "the agent takes nobody now");
        return USHER_OK;
    }
    usher__queue_act_init(&act);
    status = usher__queue_agent_hold_this(w, &act, &r);
    if (status == USHER_OK)
        status = usher__queue_match_agent_once(run, &act, true);
    if (status == USHER_MISSING) {
        w->reply->status = USHER_EMPTY;
        reply_of(w)->why = USHER_QUEUE_WHY_NO_USER;
        return USHER_OK;
    }
    if (status == USHER_OK)
        reply_of(w)->state = shown(&act.agent.r);
    return status == USHER_OK ? usher__queue_act_commit(w, &act) : status;
}

enum usher_status usher__queue_match(struct run *run)
{
    work *w = run->w;
    uint64_t before = UINT64_MAX;
    enum usher_status status = USHER_OK;

    while (status == USHER_OK && run->n_matched != before && run->n_matched < USHER__STEP_MAX) {
        uint64_t rank = 0, order = 0;

        before = run->n_matched;
        while (w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] > 0) {
            struct usher_record link, a;

            status = w->ops->walk(w->txn, &w->scope, K_LINK, 0, NULL, rank, order, false, &link);
            if (status != USHER_OK || run->n_matched >= USHER__STEP_MAX)
                break;
            rank = link.rank;
            order = link.order;
            status = w->ops->find(w->txn, &w->scope, K_AGENT, &link.owner, &a);
            if (status == USHER_MISSING)
                return damaged(w);
            if (status == USHER_OK)
                status = match_agent(run, a.order, 1);
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
        reply_of(w)->more = run->n_matched >= USHER__STEP_MAX &&
                            w->scope.counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] > 0;
    }
    return status;
}
