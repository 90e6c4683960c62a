/* SPDX-License-Identifier: MIT */
/* The verbs of users, and others that concern one: finish, accept, move. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

static const struct usher_text default_lane = { "default", 7 };

/* A heartbeat of @u; one that was away is back. */
static enum usher_status user_alive(struct run *run, struct usher_record *u,
                                    struct usher__move move)
{
    work *w = run->w;
    int64_t at = usher__queue_beat(w);
    struct queue_change qc;
    unsigned from = u->state;
    enum usher_status status;

    if (move.status == USHER_SAME) {
        if (u->n[U_BEAT] == at)
            return USHER_OK;
        u->n[U_BEAT] = at;
        usher__queue_user_settle(u, from);
        return usher__queue_heartbeat(w, u);
    }
    usher__queue_change_init(&qc);
    usher__queue_change_step(w, &qc);
    u->n[U_BEAT] = at;
    u->n[U_END] = 0;
    usher__queue_user_settle(u, move.to);
    status = usher__queue_user_save(w, &qc, u, from);
    usher__queue_change_subject(&qc, w->command->verb, from, u);
    usher__queue_pending_user(run, u);
    return status == USHER_OK ? usher__queue_change_commit(w, &qc) : status;
}

/* Answer with the current place of the user of the command. */
static enum usher_status tell_user(struct run *run, enum usher_status status)
{
    work *w = run->w;
    struct usher_record u;
    enum usher_status found = w->ops->find(w->txn, &w->scope, KIND_USER, &args(w)->user, &u);

    return found == USHER_OK ? usher__queue_answer_user(w, status, &u, 0, NULL) : found;
}

/* The user is in the queue already: take it as a heartbeat, and answer with its place. */
static enum usher_status user_again(struct run *run, struct usher_record *u, bool apply)
{
    struct usher__move move = usher__queue_user_move(run->w, u, USHER__USER_APPLY);
    enum usher_status status = user_alive(run, u, move);

    if (status == USHER_OK)
        status = usher__queue_settle(run);
    return status == USHER_OK ? tell_user(run, apply ? (enum usher_status)move.status : USHER_OK)
                              : status;
}

enum usher_status usher__queue_where(struct run *run, bool alive)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->user;
    struct usher_record u;
    enum usher_status status = usher__queue_load(run, KIND_USER, id, &u);

    if (status == USHER_MISSING)
        return usher__queue_answer_ended(w, id);
    if (status != USHER_OK)
        return status;
    return alive ? user_again(run, &u, false) : usher__queue_answer_user(w, USHER_OK, &u, 0, NULL);
}

int64_t usher__queue_agents_now(const struct usher_scope *s)
{
    int64_t n = 0;

    for (int i = USHER_QUEUE_AGENT_IDLE; i <= USHER_QUEUE_AGENT_PAUSED; i++)
        n += s->counts[i];
    return n;
}

enum usher_status usher__queue_served(work *w, const struct usher_text *lane)
{
    struct usher_record server;

    return w->scope.counts[COUNT_FOR_ALL] != 0 ? USHER_OK
                                               : usher__queue_server(w, lane, 0, &server);
}

/* Check that there is space for @l if it is new.  OK: @qc->over is erased for it.  MISSING: none
 * has to be.  FULL: there is no space, and that is answered. */
static enum usher_status lane_comes(work *w, const struct lane *l, struct queue_change *qc)
{
    enum usher_status status;

    if (l->r.ref != NULL)
        return USHER_MISSING;
    status = usher__queue_lane_over(w, &qc->over.r);
    if (status == USHER_MISSING && w->scope.counts[COUNT_LANES] >= USHER_QUEUE_LANES_MAX)
        return usher__say(w->reply, USHER_FULL, "the queue has too many lanes (limit 1000)");
    return status;
}

/* The mode of the queue lets no new user in. */
static enum usher_status not_accepted(work *w)
{
    bool closed = w->scope.settings[SET_SCOPE_MODE] == USHER_SCOPE_MODE_CLOSED;

    reply_of(w)->why = closed ? USHER_QUEUE_WHY_CLOSED : USHER_QUEUE_WHY_STOPPED;
    usher__say(w->reply, USHER_REFUSED,
               closed ? "the queue is closed (mode=)" : "the queue is stopped (mode=)");
    return usher__queue_answer_gone(w, USHER_REFUSED, &args(w)->user);
}

enum usher_status usher__queue_apply(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    const int64_t *set = w->scope.settings, *counts = w->scope.counts;
    bool found = false, alone;
    struct queue_change qc;
    struct usher_record u, new, a;
    struct lane *l;
    uint64_t token_login = 0;
    enum usher_status status = usher__queue_load(run, KIND_USER, &g->user, &u);

    if (status == USHER_OK && g->lane.data != NULL && u.owner.size == 0 &&
        !usher__text_equal(&g->lane, &u.group)) {
        usher__say(w->reply, USHER_REFUSED, "the user waits in another lane: move it");
        return usher__queue_answer_user(w, USHER_REFUSED, &u, 0, NULL);
    }
    if (status == USHER_OK)
        return user_again(run, &u, true);
    if (status != USHER_MISSING)
        return status;
    if (set[SET_SCOPE_MODE] != USHER_SCOPE_MODE_OPEN)
        return not_accepted(w);
    status = usher__queue_answer_gone(w, USHER_EMPTY, &g->user);
    if (usher__queue_agents_now(&w->scope) == 0) {
        reply_of(w)->why = USHER_QUEUE_WHY_NO_AGENT;
        return status;
    }
    if (set[SET_ARCHIVE] > 0 && counts[COUNT_VISITS] >= set[SET_ARCHIVE]) {
        reply_of(w)->why = USHER_QUEUE_WHY_HISTORY;
        usher__say(w->reply, USHER_FULL,
                   "archive= ended visits wait for the history: drain them first");
        return USHER_OK;
    }
    memset(&new, 0, sizeof new);
    new.kind = KIND_USER;
    new.id = g->user;
    new.group = g->lane.data != NULL ? g->lane : default_lane;
    new.n[U_PRIORITY] = given(w, USHER_GIVEN_QUEUE_PRIORITY) ? g->priority : 0;
    new.n[U_SINCE] = given(w, USHER_GIVEN_QUEUE_SINCE) ? g->since_ms : w->now;
    new.n[U_APPLIED] = usher__work_at(w);
    new.n[U_BEAT] = usher__queue_beat(w);
    new.n[U_PATIENCE] = set[SET_MAXWAIT] > 0 ? w->moment + set[SET_MAXWAIT] : 0;
    new.order = usher__version_next(w);
    usher__queue_change_init(&qc);
    status = usher__queue_lane_hold(w, &qc, &new.group, &l);
    if (status == USHER_OK && automatic(set)) {
        /* the match has the version after that of apply */
        w->scope.version++;
        status = usher__queue_pick(w, &new, &a);
        w->scope.version--;
        found = status == USHER_OK;
        if (found)
            status = usher__queue_agent_hold_this(w, &qc, &a);
        if (status == USHER_MISSING)
            status = USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    if (!found) {
        status = usher__queue_served(w, &new.group);
        if (status == USHER_MISSING) {
            reply_of(w)->why = USHER_QUEUE_WHY_NO_AGENT;
            return USHER_OK;
        }
        if (status != USHER_OK)
            return status;
    }
    alone = l->r.n[USHER_QUEUE_USER_WAITING - 1] == 0;
    if (set[SET_LIMIT] > 0 && !found &&
        counts[COUNT_USERS + USHER_QUEUE_USER_WAITING] +
                counts[COUNT_USERS + USHER_QUEUE_USER_AWAY] >=
            set[SET_LIMIT]) {
        usher__say(w->reply, USHER_FULL, "the queue is full (limit=)");
        return USHER_OK;
    }
    status = lane_comes(w, l, &qc);
    if (status != USHER_OK && status != USHER_MISSING)
        return status == USHER_FULL ? USHER_OK : status;
    usher__queue_change_step(w, &qc);
    if (status == USHER_OK)
        status = usher__queue_lane_remove(w, &qc);
    if (status == USHER_OK || status == USHER_MISSING)
        status = usher__queue_figures_at(w, l, usher__work_at(w));
    if (status != USHER_OK)
        return status;
    figure_add(l, F_ARRIVED, 1);
    usher__queue_user_settle(&new, usher__queue_user_move(w, &new, USHER__USER_APPLY).to);
    usher__queue_change_subject(&qc, USHER_QUEUE_APPLY, USHER_QUEUE_USER_GONE, &new);
    if (found && alone) {
        token_login = qc.agent.r.order;
        status = usher__queue_give(run, &qc, &new, false);
    } else {
        qc.has_agent = false;
        status = usher__queue_user_save(w, &qc, &new, USHER_QUEUE_USER_GONE);
        if (found)
            usher__queue_pending_user(run, &new);
    }
    if (status == USHER_OK && !found)
        status = usher__queue_answer_user(w, USHER_OK, &new, 0, l);
    else if (status == USHER_OK && alone)
        status = usher__queue_answer_user(w, USHER_OK, &new, token_login, l);
    if (status == USHER_OK)
        status = usher__queue_change_commit(w, &qc);
    if (status == USHER_OK && found && !alone) {
        status = usher__queue_settle(run);
        if (status == USHER_OK)
            status = tell_user(run, USHER_OK);
    }
    return status;
}

/* After a seated user has left the agent of @qc, give it the next one in the same write. */
static enum usher_status next_at_once(struct run *run, struct queue_change *qc)
{
    struct search search = { false, 0, 0 };
    enum usher_status status;

    if (!automatic(run->w->scope.settings))
        return USHER_OK;
    status = usher__queue_match_agent_once(run, qc, &search);
    if (status == USHER_FULL)
        return USHER_OK;
    run->pending->n_agents--; /* added by room_empty(): one room is free, so one match suffices */
    return status == USHER_MISSING ? USHER_OK : status;
}

/* End the visit of @u.  @qc is not begun; it may have the agent. */
static enum usher_status end_visit(struct run *run, struct queue_change *qc, struct usher_record *u,
                                   enum usher_queue_outcome outcome, unsigned to)
{
    work *w = run->w;
    struct usher_queue_result *q = reply_of(w);
    bool room = u->owner.size != 0;
    enum usher_status status;

    usher__queue_answer_names(w, &u->id, &u->owner);
    q->index = -1;
    q->wait_ms = -1;
    q->no = u->n[U_NO];
    q->token = u->token;
    status = usher__queue_user_leaves(run, qc, u, to, outcome, false, w->command->verb,
                                      usher__work_at(w));
    if (status == USHER_OK && room) {
        q->login = qc->agent.r.order;
        if (w->command->verb == USHER_QUEUE_FINISH)
            qc->agent.r.n[A_BEAT] = usher__queue_beat(w);
        status = next_at_once(run, qc);
        q->state = shown(&qc->agent.r);
    }
    w->reply->status = USHER_OK;
    return status == USHER_OK ? usher__queue_change_commit(w, qc) : status;
}

enum usher_status usher__queue_leave(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->user;
    struct usher_record u;
    struct queue_change qc;
    enum usher_status status = usher__queue_load(run, KIND_USER, id, &u);

    if (status == USHER_MISSING)
        return usher__queue_answer_ended(w, id);
    if (status != USHER_OK)
        return status;
    usher__queue_change_init(&qc);
    return end_visit(run, &qc, &u,
                     u.state == USHER_QUEUE_USER_SEATED ? USHER_QUEUE_OUTCOME_SEATED
                                                        : USHER_QUEUE_OUTCOME_LEFT,
                     usher__queue_user_move(w, &u, USHER__USER_LEAVE).to);
}

/* Parse "EPOCH.LOGIN.NO", or the part after the epoch.  Return false if no room has this name. */
static bool room_parse(const work *w, const struct usher_text *text, uint64_t *ret_login,
                       int64_t *ret_no)
{
    struct usher_text rest = *text;
    char epoch[16];
    uint64_t no;

    if (text->size > 17 && text->data[16] == '.') { /* neither number has that many digits */
        (void)usher__hex_put(epoch, w->scope.epoch);
        if (memcmp(text->data, epoch, 16) != 0)
            return false;
        rest.data += 17;
        rest.size -= 17;
    }
    if (!usher__cursor(&rest, ret_login, &no))
        return false;
    *ret_no = (int64_t)no;
    return rest.data[0] != '0' && *((const char *)memchr(rest.data, '.', rest.size) + 1) != '0';
}

/* Find the user in @room, and load its agent into @qc.  MISSING: no such room; EMPTY: no user is
 * in it; LOST: the store has lost the login in its name. */
static enum usher_status in_room(struct run *run, const struct usher_text *room,
                                 struct queue_change *qc, struct usher_record *u)
{
    work *w = run->w;
    struct agent *a = &qc->agent;
    uint64_t login;
    int64_t no;
    enum usher_status status;

    if (w->scope.ref == NULL || !room_parse(w, room, &login, &no))
        return USHER_MISSING;
    status = usher__queue_agent_by_login(w, login, &a->r);
    if (status == USHER_MISSING && usher__scope_version_lost(w, login)) {
        (void)usher__say_lost(w, "room");
        return USHER_LOST;
    }
    if (status != USHER_OK)
        return status;
    if (!usher__queue_agent_read(a))
        return damaged(w);
    if (no > a->r.n[A_CAPACITY])
        return USHER_MISSING;
    reply_of(w)->login = login;
    reply_of(w)->no = no;
    usher__queue_answer_names(w, NULL, &a->r.id);
    if (a->rooms[no - 1].size == 0)
        return USHER_EMPTY;
    qc->has_agent = true;
    /* its only room: the user can be found without its name */
    if (a->r.n[A_CAPACITY] == 1)
        status = w->ops->walk(w->txn, &w->scope, KIND_USER, 2, &a->r.id, 0, 0, false, u);
    else
        status = w->ops->find(w->txn, &w->scope, KIND_USER, &a->rooms[no - 1], u);
    return status == USHER_MISSING ? damaged(w) : status;
}

enum usher_status usher__queue_finish(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct usher_record u;
    struct usher__move move;
    struct queue_change qc;
    bool other;
    enum usher_status status;

    usher__queue_change_init(&qc);
    status = in_room(run, &g->room, &qc, &u);
    if (status == USHER_LOST)
        return USHER_OK;
    reply_of(w)->index = reply_of(w)->wait_ms = -1;
    if (status != USHER_OK && status != USHER_MISSING && status != USHER_EMPTY)
        return status;
    other = usher__queue_token_other(w, status == USHER_OK, status == USHER_OK ? u.token : 0);
    if (other && w->reply->status == USHER_LOST)
        return USHER_OK;
    if (status == USHER_MISSING || status == USHER_EMPTY) {
        w->reply->status = USHER_MISSING;
        if (status == USHER_EMPTY)
            usher__say(w->reply, USHER_REFUSED, "the room is empty");
        return USHER_OK;
    }
    if (other || (g->user.data != NULL && !usher__text_equal(&g->user, &u.id))) {
        usher__queue_answer_names(w, &u.id, &u.owner);
        w->reply->status = USHER_STALE;
        return USHER_OK;
    }
    move = usher__queue_user_move(w, &u, USHER__USER_FINISH);
    if (move.status != USHER_OK) {
        usher__queue_answer_names(w, &u.id, &u.owner);
        usher__say(w->reply, USHER_REFUSED, "the room is empty");
        return USHER_OK;
    }
    return end_visit(run, &qc, &u, USHER_QUEUE_OUTCOME_SEATED, move.to);
}

/* accept and reject: find the agent and the user, if the user is offered to the agent. */
static enum usher_status offered(struct run *run, struct usher_record *a, struct usher_record *u)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct usher_queue_result *q = reply_of(w);
    enum usher_status status = usher__queue_load(run, KIND_USER, &g->user, u), two;

    usher__queue_answer_names(w, &g->user, &g->agent);
    q->index = q->wait_ms = -1;
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    /* an agent that leaves changes the user, and the other way round */
    two = usher__queue_load(run, KIND_AGENT, &g->agent, a);
    if (two != USHER_OK)
        return two;
    if (status == USHER_OK)
        status = usher__queue_load(run, KIND_USER, &g->user, u);
    if (status == USHER_OK)
        status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &g->agent, a);
    if (status != USHER_OK)
        return status;
    if (!usher__text_equal(&u->owner, &a->id))
        return USHER_REFUSED;
    q->login = a->order;
    q->no = u->n[U_NO];
    q->token = u->token;
    q->state = shown(a);
    return USHER_OK;
}

static enum usher_status not_offered(work *w, enum usher_status status)
{
    w->reply->status = status;
    if (status == USHER_REFUSED)
        usher__say(w->reply, status, "the user is not offered to the agent");
    return USHER_OK;
}

enum usher_status usher__queue_accept_or_reject(struct run *run, bool accept)
{
    work *w = run->w;
    struct usher_record a, u;
    struct queue_change qc;
    unsigned from;
    struct usher__move move;
    struct lane *l;
    enum usher_status status = offered(run, &a, &u);

    if (status == USHER_MISSING || status == USHER_REFUSED)
        return not_offered(w, status);
    if (status != USHER_OK)
        return status;
    from = u.state;
    move = usher__queue_user_move(w, &u, accept ? USHER__USER_SEAT : USHER__USER_REJECT);
    if (move.status != USHER_OK)
        return not_offered(w, (enum usher_status)move.status);
    usher__queue_change_init(&qc);
    status = usher__queue_agent_hold_this(w, &qc, &a);
    if (status != USHER_OK)
        return status;
    if (!accept) {
        status = usher__queue_user_leaves(run, &qc, &u, move.to, USHER_QUEUE_OUTCOME_LEFT, true,
                                          USHER_QUEUE_REJECT, usher__work_at(w));
    } else {
        usher__queue_change_step(w, &qc);
        status = usher__queue_lane_hold(w, &qc, &u.group, &l);
        if (status != USHER_OK)
            return status;
        qc.agent.r.n[A_OFFERS] -= 4;
        qc.agent.r.n[A_SEATED]++;
        usher__queue_agent_event(w, &qc, USHER__AGENT_SEAT, usher__work_at(w));
        u.n[U_MATCHED] = usher__work_at(w);
        u.n[U_END] = 0;
        status = usher__queue_seated(w, &qc, l, &u);
        if (status != USHER_OK)
            return status;
        qc.agent.served = w->scope.settings[SET_STRATEGY] == USHER_QUEUE_STRATEGY_FEWEST_SERVED;
        usher__queue_user_settle(&u, move.to);
        status = usher__queue_user_save(w, &qc, &u, from);
        usher__queue_change_subject(&qc, USHER_QUEUE_ACCEPT, from, &u);
    }
    reply_of(w)->state = shown(&qc.agent.r);
    w->reply->status = USHER_OK;
    return status == USHER_OK ? usher__queue_change_commit(w, &qc) : status;
}

/* ---- move ------------------------------------------------------------------------- */

enum usher_status usher__queue_move(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct usher_record u, new;
    struct usher__move move;
    struct queue_change qc;
    struct lane *from, *to;
    enum usher_status status = usher__queue_load(run, KIND_USER, &g->user, &u);

    if (status == USHER_MISSING)
        return usher__queue_answer_gone(w, USHER_MISSING, &g->user);
    if (status != USHER_OK)
        return status;
    move = usher__queue_user_move(w, &u, USHER__USER_MOVE);
    if (move.status != USHER_OK)
        return usher__queue_answer_user(w, (enum usher_status)move.status, &u, 0, NULL);
    new = u;
    if (g->lane.data != NULL)
        new.group = g->lane;
    if (given(w, USHER_GIVEN_QUEUE_PRIORITY))
        new.n[U_PRIORITY] = g->priority;
    if (given(w, USHER_GIVEN_QUEUE_SINCE))
        new.n[U_SINCE] = g->since_ms;
    new.data.data = NULL; /* after a move by an operator, agents that have refused it may get it */
    new.data.size = 0;
    if (usher__text_equal(&new.group, &u.group) && place(&new) == place(&u) && u.data.size == 0)
        return usher__queue_answer_user(w, USHER_SAME, &u, 0, NULL);
    usher__queue_change_init(&qc);
    status = usher__queue_lane_hold(w, &qc, &u.group, &from);
    if (status == USHER_OK)
        status = usher__queue_lane_hold(w, &qc, &new.group, &to);
    if (status != USHER_OK)
        return status;
    status = lane_comes(w, to, &qc);
    if (status != USHER_OK && status != USHER_MISSING)
        return status == USHER_FULL ? USHER_OK : status;
    usher__queue_change_step(w, &qc);
    if (status == USHER_OK)
        status = usher__queue_lane_remove(w, &qc);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (new.state == USHER_QUEUE_USER_WAITING)
        new.rank = place(&new);
    status = usher__queue_forget(w, &qc, &u, usher__work_at(w));
    if (status != USHER_OK)
        return status;
    usher__queue_count(&qc, from, u.state, -1);
    usher__queue_count(&qc, to, u.state, 1);
    usher__change_save(&qc.c, &new);
    usher__queue_change_subject(&qc, USHER_QUEUE_MOVE, u.state, &new);
    usher__queue_pending_user(run, &new);
    status = usher__queue_change_commit(w, &qc);
    if (status == USHER_OK)
        status = usher__queue_settle(run);
    return status == USHER_OK ? tell_user(run, USHER_OK) : status;
}
