/* SPDX-License-Identifier: MIT */
/* Expiries: heartbeats of agents and users, offers, wrap-ups, patience. */
#include "config.h"

#include "queue.h"

#include "core/text.h"

/* ---- agents leave -------------------------------------------------------------------- */

enum usher_status usher__queue_first_in_rooms(work *w, struct queue_change *qc,
                                              struct usher_record *ret)
{
    const struct agent *a = &qc->agent;
    uint64_t rank = 0, order = 0;
    bool found = false;

    for (int64_t i = 0; i < a->r.n[A_CAPACITY]; i++) {
        struct usher_record r;
        enum usher_status status;

        if (a->rooms[i].size == 0)
            continue;
        status = w->ops->find(w->txn, &w->scope, KIND_USER, &a->rooms[i], &r);
        if (status == USHER_MISSING ||
            (status == USHER_OK && !usher__text_equal(&r.owner, &a->r.id)))
            return damaged(w);
        if (status != USHER_OK)
            return status;
        if (!found || place(&r) < rank || (place(&r) == rank && r.order < order)) {
            *ret = r;
            rank = place(&r);
            order = r.order;
        }
        found = true;
    }
    return found ? USHER_OK : USHER_MISSING;
}

enum usher_status usher__queue_agent_leave(struct run *run, const struct usher_record *r,
                                           unsigned event, enum usher_verb verb, int64_t at,
                                           bool *ret_gone)
{
    work *w = run->w;
    struct queue_change qc;
    struct usher_record u = { 0 };
    unsigned from = shown(r);
    bool paused;
    enum usher_status status;

    usher__queue_change_init(&qc);
    status = usher__queue_agent_hold_this(w, &qc, r);
    if (status != USHER_OK)
        return status;
    qc.agent.leaving = true;
    status = usher__queue_first_in_rooms(w, &qc, &u);
    *ret_gone = status == USHER_MISSING;
    if (status == USHER_OK) {
        bool offered = u.state == USHER_QUEUE_USER_OFFERED; /* which the agent has missed */
        bool back = offered || w->scope.settings[SET_REQUEUE] == USHER_QUEUE_REQUEUE_FRONT;

        qc.agent.r.n[A_OFFERS] += goes(r) ? 0 : 2;
        status = usher__queue_user_leaves(
            run, &qc, &u,
            usher__queue_user_move(w, &u, back ? USHER__USER_BACK : USHER__USER_DROP).to,
            USHER_QUEUE_OUTCOME_DROPPED, offered, USHER_QUEUE_REQUEUE, at);
        if (status == USHER_OK)
            status = usher__queue_change_commit(w, &qc);
        return status;
    }
    if (status != USHER_MISSING)
        return status;
    usher__queue_change_step(w, &qc);
    usher__queue_agent_event(w, &qc, event, at);
    usher__queue_change_subject(&qc, verb, from, &qc.agent.r);
    status = usher__queue_links_erase(w, &qc);
    paused = event == USHER__AGENT_LOST &&
             (from == USHER_QUEUE_AGENT_PAUSED || from == USHER_QUEUE_AGENT_PAUSING);
    if (status == USHER_OK && (paused || qc.agent.r.n[A_WRAP] > at)) {
        struct usher_record absent = { .kind = KIND_ABSENT, .id = r->id };

        /* less than for ever, so that an absence that is over is erased for it */
        absent.until_ms = USHER__FOREVER - 1;
        absent.token = qc.agent.token;
        if (paused)
            absent.data = qc.agent.reason;
        else
            absent.until_ms = absent.n[ABSENT_UNTIL] = qc.agent.r.n[A_WRAP];
        status = usher__change_remember(w, &qc.c, &absent, &qc.c.scope->counts[COUNT_ABSENT],
                                        ABSENT_MAX);
    }
    usher__change_erase(&qc.c, &qc.agent.r);
    qc.agent.dirty = false;
    if (status == USHER_OK)
        status = usher__queue_change_commit(w, &qc);
    return status;
}

/* ---- deadlines -------------------------------------------------------------------- */

enum usher_status usher__queue_expire_agent(struct run *run, const struct usher_record *r)
{
    work *w = run->w;
    int64_t at = r->until_ms;
    struct queue_change qc;
    unsigned from = shown(r);
    bool gone;
    enum usher_status status;

    if (r->n[A_BEAT] != 0 && r->n[A_BEAT] <= at && usher__outage_end(w, r->n[A_BEAT]) != 0) {
        struct usher_record lives = *r;

        lives.n[A_BEAT] = usher__outage_end(w, r->n[A_BEAT]);
        usher__queue_agent_settle(&lives);
        usher__queue_pending_agent(run, r->order); /* no match took it because it was due */
        return usher__queue_heartbeat(w, &lives);
    }
    if (r->n[A_BEAT] != 0 && r->n[A_BEAT] <= at)
        return usher__queue_agent_leave(run, r, USHER__AGENT_LOST, USHER_QUEUE_EXPIRE, at, &gone);
    usher__queue_change_init(&qc);
    status = usher__queue_agent_hold_this(w, &qc, r);
    if (status != USHER_OK)
        return status;
    usher__queue_change_step(w, &qc);
    qc.agent.r.n[A_WRAP] = 0;
    qc.agent.touched = true;
    usher__queue_agent_event(w, &qc, USHER__AGENT_DONE, at);
    qc.agent.r.until_ms = qc.agent.r.n[A_BEAT];
    usher__queue_change_subject(&qc, USHER_QUEUE_EXPIRE, from, &qc.agent.r);
    usher__queue_pending_agent(run, qc.agent.r.order);
    return usher__queue_change_commit(w, &qc);
}

enum usher_status usher__queue_expire_user(struct run *run, const struct usher_record *r)
{
    work *w = run->w;
    int64_t at = r->until_ms;
    struct usher_record u = *r;
    const int64_t *n = u.n;
    bool waits = u.state == USHER_QUEUE_USER_WAITING || u.state == USHER_QUEUE_USER_AWAY;
    unsigned event = USHER__USER_BACK; /* the agent has missed it */
    enum usher_queue_outcome outcome =
        u.state == USHER_QUEUE_USER_SEATED ? USHER_QUEUE_OUTCOME_CUT : USHER_QUEUE_OUTCOME_LOST;
    struct queue_change qc;
    enum usher_status status;

    if (waits && n[U_PATIENCE] != 0 && n[U_PATIENCE] <= at) {
        event = USHER__USER_TIMEOUT;
        outcome = USHER_QUEUE_OUTCOME_TIMEOUT;
    } else if (u.state == USHER_QUEUE_USER_AWAY || (n[U_BEAT] != 0 && n[U_BEAT] <= at)) {
        event = USHER__USER_DROP;
    }
    if (event == USHER__USER_DROP) {
        int64_t *life = &u.n[u.state == USHER_QUEUE_USER_AWAY ? U_END : U_BEAT];

        if (usher__outage_end(w, *life) != 0) {
            *life = usher__outage_end(w, *life);
            usher__queue_user_settle(&u, u.state);
            if (u.state == USHER_QUEUE_USER_WAITING)
                usher__queue_pending_user(run, &u);
            return usher__queue_heartbeat(w, &u);
        }
    }
    usher__queue_change_init(&qc);
    status = usher__queue_user_leaves(run, &qc, &u, usher__queue_user_move(w, &u, event).to,
                                      outcome, event == USHER__USER_BACK, USHER_QUEUE_EXPIRE, at);
    return status == USHER_OK ? usher__queue_change_commit(w, &qc) : status;
}

/* Apply the first change that is due; MISSING: nothing is due. */
static enum usher_status expire_next(struct run *run)
{
    work *w = run->w;
    struct usher_record a, u, r;
    enum usher_status one, two, three;

    if (w->scope.due_ms > w->moment)
        return USHER_MISSING;
    one = w->ops->walk(w->txn, &w->scope, KIND_AGENT, 1, NULL, 0, 0, false, &a);
    if (one != USHER_OK && one != USHER_MISSING)
        return one;
    two = w->ops->walk(w->txn, &w->scope, KIND_USER, 1, NULL, 0, 0, false, &u);
    if (two != USHER_OK && two != USHER_MISSING)
        return two;
    three = w->ops->walk(w->txn, &w->scope, KIND_REFUSAL, 1, NULL, 0, 0, false, &r);
    if (three != USHER_OK && three != USHER_MISSING)
        return three;
    w->scope.due_ms = INT64_MAX;
    if (one == USHER_OK)
        w->scope.due_ms = a.until_ms;
    if (two == USHER_OK && u.until_ms < w->scope.due_ms)
        w->scope.due_ms = u.until_ms;
    if (three == USHER_OK && r.until_ms < w->scope.due_ms)
        w->scope.due_ms = r.until_ms;
    if (w->scope.due_ms > w->moment)
        return USHER_MISSING;
    /* a read applies a deadline, and all that follows from it, at the time of the deadline */
    if (usher__queue_reads(w->command->verb))
        usher__work_as_of(w, w->scope.due_ms);
    if (one == USHER_OK && a.until_ms == w->scope.due_ms)
        return usher__queue_expire_agent(run, &a);
    return two == USHER_OK && u.until_ms == w->scope.due_ms ? usher__queue_expire_user(run, &u)
                                                            : usher__queue_expire_refusal(run, &r);
}

/* scope.due_ms is only a bound. */
static enum usher_status anything_due(work *w, bool *ret)
{
    static const uint8_t kinds_due[] = { KIND_AGENT, KIND_USER, KIND_REFUSAL };

    *ret = false;
    for (int i = 0; i < 3 && !*ret; i++) {
        struct usher_record r;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, kinds_due[i], 1, NULL, 0, 0, false, &r);

        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        *ret = status == USHER_OK && due(w, &r);
    }
    return USHER_OK;
}

enum usher_status usher__queue_expire_due(struct run *run, int64_t max, uint64_t *ret_n,
                                          bool *ret_more)
{
    enum usher_status status = USHER_OK;
    uint64_t n = 0;

    *ret_n = 0;
    *ret_more = false;
    if (usher__queue_reads(run->w->command->verb))
        usher__work_as_of(run->w, 0);
    status = usher__outage(run->w);
    while (status == USHER_OK) {
        while ((int64_t)n < max) {
            uint64_t version = run->w->scope.version;

            status = expire_next(run);
            if (status != USHER_OK)
                break;
            n++;
            *ret_n += run->w->scope.version != version;
        }
        if (usher__work_stops(run->w, status, n)) {
            *ret_more = true;
            return usher__queue_settle(run);
        }
        if (status == USHER_OK || status == USHER_MISSING) {
            enum usher_status matched = usher__queue_settle(run);

            if (matched != USHER_OK)
                return matched;
        }
        if (status == USHER_MISSING && run->w->scope.due_ms <= run->w->moment)
            status = USHER_OK; /* a search that will be continued */
        if (status == USHER_OK && ((int64_t)n >= max || run->looked >= PASS_MAX))
            return anything_due(run->w, ret_more);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

enum usher_status usher__queue_load(struct run *run, unsigned kind, const struct usher_text *id,
                                    struct usher_record *r)
{
    work *w = run->w;

    return w->scope.ref != NULL ? w->ops->find(w->txn, &w->scope, (uint8_t)kind, id, r)
                                : USHER_MISSING;
}
