/* SPDX-License-Identifier: MIT */
/* The verbs of agents. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"

int64_t usher__queue_beat(const work *w)
{
    int64_t ttl = w->scope.settings[SET_TTL];

    return ttl > 0 ? w->moment + ttl : 0;
}

/* Read the lanes of a login, each once: "*" alone if it is among them. */
static size_t lanes_of(const work *w, struct usher_text to[LANES_MAX])
{
    struct usher_text list = args(w)->lanes, one;
    size_t n = 0;

    if (list.data == NULL) {
        to[0] = all_lanes;
        return 1;
    }
    while (usher__groups_next(&list, &one)) {
        size_t i = 0;

        if (usher__text_equal(&one, &all_lanes)) {
            to[0] = all_lanes;
            return 1;
        }
        while (i < n && !usher__text_equal(&to[i], &one))
            i++;
        if (i == n)
            to[n++] = one;
    }
    return n;
}

static bool same_login(const work *w, const struct agent *a)
{
    const struct usher_queue_args *g = args(w);
    struct usher_text lanes[LANES_MAX];
    size_t n;

    if ((given(w, USHER_GIVEN_QUEUE_CAPACITY) && g->capacity != a->r.n[A_CAPACITY]) ||
        (given(w, USHER_GIVEN_QUEUE_LEVEL) && g->level != a->r.n[A_LEVEL]))
        return false;
    if (g->lanes.data == NULL)
        return true;
    n = lanes_of(w, lanes);
    if (n != a->n_lanes)
        return false;
    for (size_t i = 0; i < n; i++) { /* in any order, because each is there once */
        size_t k = 0;

        while (k < n && !usher__text_equal(&lanes[i], &a->lanes[k]))
            k++;
        if (k == n)
            return false;
    }
    return true;
}

enum usher_status usher__queue_heartbeat(work *w, struct usher_record *r)
{
    struct usher__change c;

    usher__change_begin_quietly(w, &c);
    c.scope->clock_ms = w->now;
    usher__change_save(&c, r);
    return usher__change_write(w, &c);
}

enum usher_status usher__queue_agent_alive(struct run *run, struct usher_record *r)
{
    int64_t at = usher__queue_beat(run->w);

    /* it may be open although a user waits: no match took it because it was due, there was no
     * memory, or the trigger was another */
    if (is_open(r))
        usher__queue_pending_agent(run, r->order);
    if (r->n[A_BEAT] == at)
        return USHER_OK;
    r->n[A_BEAT] = at;
    usher__queue_agent_settle(r);
    return usher__queue_heartbeat(run->w, r);
}

enum usher_status usher__queue_absent(work *w, struct usher_record *r)
{
    if (w->scope.counts[COUNT_ABSENT] == 0)
        return USHER_MISSING;
    return w->ops->find(w->txn, &w->scope, KIND_ABSENT, &args(w)->agent, r);
}

static void absent_erase(struct queue_change *qc, const struct usher_record *r)
{
    usher__change_erase(&qc->c, r);
    qc->c.scope->counts[COUNT_ABSENT]--;
}

/* Another session takes over the agent of @qc. */
static enum usher_status session_replace(struct run *run, struct queue_change *qc)
{
    work *w = run->w;
    struct agent *a = &qc->agent;
    unsigned from = shown(&a->r);
    enum usher_status status;

    usher__queue_change_step(w, qc);
    a->session = args(w)->session;
    a->token = qc->c.scope->version;
    a->r.n[A_BEAT] = usher__queue_beat(w);
    usher__queue_agent_settle(&a->r);
    usher__queue_agent_event(w, qc, USHER__AGENT_LOGIN, usher__work_at(w));
    usher__queue_change_subject(qc, USHER_QUEUE_LOGIN, from, &a->r);
    usher__queue_answer_agent(w, USHER_OK, &a->r); /* its texts end with the commit */
    reply_of(w)->token = a->token;
    status = usher__queue_change_commit(w, qc);
    if (status != USHER_OK)
        return status;
    if (is_open(&a->r)) /* see usher__queue_agent_alive() */
        usher__queue_pending_agent(run, a->r.order);
    return USHER_OK;
}

enum usher_status usher__queue_login(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct queue_change qc;
    struct usher_record r, absent;
    struct agent *a = &qc.agent;
    unsigned guard;
    enum usher_status status = usher__queue_load(run, KIND_AGENT, &g->agent, &r), paused;

    usher__queue_change_init(&qc);
    if (status == USHER_OK) {
        status = usher__queue_agent_hold_this(w, &qc, &r);
        if (status != USHER_OK)
            return status;
        guard = !same_login(w, a) ? USHER__AGENT_IF_OTHER
                : g->session.data != NULL && !usher__text_equal(&g->session, &a->session)
                    ? USHER__AGENT_IF_SESSION
                    : USHER__ANY;
        status =
            (enum usher_status)usher__queue_agent_move(w, &r, USHER__AGENT_LOGIN, guard).status;
        if (status == USHER_OK)
            return session_replace(run, &qc);
        usher__queue_answer_agent(w, status, &r);
        if (status == USHER_SAME)
            return usher__queue_agent_alive(run, &r);
        usher__say(
            w->reply, status,
            "the agent is logged in with a different capacity, level or lanes: log out first");
        return USHER_OK;
    }
    if (status != USHER_MISSING)
        return status;
    paused = usher__queue_absent(w, &absent);
    if (paused != USHER_OK && paused != USHER_MISSING)
        return paused;
    usher__queue_change_step(w, &qc);
    memset(a, 0, sizeof *a);
    a->r.kind = KIND_AGENT;
    a->r.id = g->agent;
    a->r.order = a->r.token = qc.c.scope->version;
    a->r.n[A_CAPACITY] = given(w, USHER_GIVEN_QUEUE_CAPACITY) ? g->capacity : 1;
    a->r.n[A_LEVEL] = given(w, USHER_GIVEN_QUEUE_LEVEL) ? g->level : 0;
    a->r.n[A_BEAT] = usher__queue_beat(w);
    a->n_lanes = lanes_of(w, a->lanes);
    a->since = usher__work_at(w);
    a->session = g->session;
    a->token = a->r.order;
    usher__queue_agent_event(w, &qc, USHER__AGENT_LOGIN, usher__work_at(w));
    if (paused == USHER_OK) {
        absent_erase(&qc, &absent);
        if (absent.n[ABSENT_UNTIL] == 0) {
            a->reason = absent.data;
            usher__queue_agent_event(w, &qc, USHER__AGENT_PAUSE, usher__work_at(w));
        } else if (absent.n[ABSENT_UNTIL] > w->moment) {
            a->r.n[A_WRAP] = absent.n[ABSENT_UNTIL];
            usher__queue_agent_event(w, &qc, USHER__AGENT_WRAP, usher__work_at(w));
        }
    }
    usher__queue_agent_settle(&a->r);
    status = usher__queue_agent_save(w, &qc, true);
    usher__queue_answer_agent(w, USHER_OK, &a->r);
    usher__queue_change_subject(&qc, USHER_QUEUE_LOGIN, USHER_QUEUE_AGENT_GONE, &a->r);
    if (status == USHER_OK)
        status = usher__queue_change_commit(w, &qc);
    usher__queue_pending_agent(run, a->r.order);
    return status;
}

/* There is no agent @id: answer by the table for a missing one. */
static enum usher_status not_there(work *w, unsigned event, const struct usher_text *id)
{
    struct usher__move move =
        usher__work_move(w, &usher__agent_machine, USHER_QUEUE_AGENT_GONE, event, USHER__ANY);

    return usher__queue_answer_no_agent(w, (enum usher_status)move.status, id);
}

/* Log out an absent agent: its pause ends. */
static enum usher_status logout_absent(work *w, const struct usher_text *id)
{
    struct queue_change qc;
    struct usher_record r;
    enum usher_status status = usher__queue_absent(w, &r);

    if (status == USHER_MISSING || (status == USHER_OK && r.n[ABSENT_UNTIL] != 0))
        return not_there(w, USHER__AGENT_LOGOUT, id);
    if (status != USHER_OK)
        return status;
    usher__queue_change_init(&qc);
    usher__queue_change_step(w, &qc);
    absent_erase(&qc, &r);
    r.until_ms = 0;
    r.token = 0;
    usher__queue_change_subject(&qc, USHER_QUEUE_LOGOUT, USHER_QUEUE_AGENT_PAUSED, &r);
    (void)usher__queue_answer_no_agent(w, USHER_OK, id);
    return usher__queue_change_commit(w, &qc);
}

enum usher_status usher__queue_logout(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    bool gone = false;

    while (!gone) {
        struct usher_record r;
        enum usher_status status = usher__queue_load(run, KIND_AGENT, id, &r);

        if (status == USHER_MISSING)
            return logout_absent(w, id);
        if (status == USHER_OK)
            status = usher__queue_agent_leave(run, &r, USHER__AGENT_LOGOUT, USHER_QUEUE_LOGOUT,
                                              usher__work_at(w), &gone);
        if (status != USHER_OK)
            return status;
    }
    return usher__queue_answer_no_agent(w, USHER_OK, id);
}

static enum usher_status pause_or_ready(struct run *run, const struct usher_record *r,
                                        unsigned event, enum usher_verb verb)
{
    work *w = run->w;
    struct queue_change qc;
    struct agent *a = &qc.agent;
    unsigned from = shown(r);
    bool ready = event == USHER__AGENT_READY;
    bool pends = ready ? r->n[A_OFFERS] % 4 != 0 || r->n[A_WRAP] != 0 : used(r) > 0 && asked(r);
    const struct usher_text *reason = &args(w)->reason;
    bool other; /* another reason than it has */
    struct usher__move move;
    enum usher_status status;

    usher__queue_change_init(&qc);
    status = usher__queue_agent_hold_this(w, &qc, r);
    if (status != USHER_OK)
        return status;
    other = !ready && reason->data != NULL && !usher__text_equal(reason, &a->reason);
    move = usher__queue_agent_move(w, r, event,
                                   other   ? USHER__AGENT_IF_REASON
                                   : pends ? USHER__AGENT_IF_PENDING
                                           : USHER__ANY);
    if (move.status != USHER_OK) {
        usher__queue_answer_agent(w, (enum usher_status)move.status, r);
        return USHER_OK;
    }
    usher__queue_change_step(w, &qc);
    a->touched = true;
    if (other)
        a->reason = *reason;
    if (ready)
        a->reason.size = 0;
    if (ready || used(r) == 0)
        a->r.n[A_WRAP] = 0;
    if (ready)
        a->r.n[A_OFFERS] -= a->r.n[A_OFFERS] % 4;
    else if (!asked(r))
        a->r.n[A_OFFERS] += used(r) > 0;
    usher__queue_agent_event(w, &qc, event, usher__work_at(w));
    a->r.until_ms = nearer(a->r.n[A_BEAT], a->r.n[A_WRAP]);
    usher__queue_change_subject(&qc, verb, from, &a->r);
    usher__queue_answer_agent(w, USHER_OK, &a->r);
    usher__queue_pending_agent(run, a->r.order);
    return usher__queue_change_commit(w, &qc);
}

enum usher_status usher__queue_agent_verb(struct run *run, unsigned event)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    enum usher_status status = usher__queue_load(run, KIND_AGENT, id, &r);

    if (status == USHER_MISSING)
        return not_there(w, event, id);
    return status == USHER_OK ? pause_or_ready(run, &r, event, w->command->verb) : status;
}

/* `free` failed with @status after @n of the users. */
static enum usher_status free_stops(work *w, enum usher_status status, uint64_t n,
                                    const struct usher_text *id)
{
    struct usher_record r;

    if (!usher__work_stops(w, status, n))
        return status;
    status = w->ops->find(w->txn, &w->scope, KIND_AGENT, id, &r);
    if (status != USHER_OK)
        return status == USHER_MISSING ? damaged(w) : status;
    usher__queue_answer_agent(w, USHER_OK, &r);
    reply_of(w)->count = n;
    reply_of(w)->more = true;
    return USHER_OK;
}

/* Return the state of @u after the rooms of its agent are emptied. */
static unsigned free_to(work *w, const struct usher_record *u)
{
    bool seated = u->state == USHER_QUEUE_USER_SEATED;

    return usher__queue_user_move(w, u, seated ? USHER__USER_FINISH : USHER__USER_BACK).to;
}

enum usher_status usher__queue_free(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    uint64_t n = 0;
    struct usher_record r, u;

    for (;;) {
        struct queue_change qc;
        enum usher_status status = usher__queue_load(run, KIND_AGENT, id, &r);

        if (status == USHER_MISSING)
            return usher__queue_answer_no_agent(w, USHER_MISSING, id);
        usher__queue_change_init(&qc);
        if (status == USHER_OK)
            status = usher__queue_agent_hold_this(w, &qc, &r);
        if (status == USHER_OK)
            status = usher__queue_first_in_rooms(w, &qc, &u);
        if (status == USHER_MISSING)
            break;
        if (status == USHER_OK)
            status =
                usher__queue_user_leaves(run, &qc, &u, free_to(w, &u), USHER_QUEUE_OUTCOME_FREED,
                                         true, USHER_QUEUE_FREE, usher__work_at(w));
        if (status == USHER_OK)
            status = usher__queue_change_commit(w, &qc);
        if (status != USHER_OK)
            return free_stops(w, status, n, id);
        n++;
    }
    reply_of(w)->count = n;
    {
        enum usher_status status = pause_or_ready(run, &r, USHER__AGENT_READY, USHER_QUEUE_READY);

        if (status == USHER_OK && n > 0)
            w->reply->status = USHER_OK;
        return status == USHER_OK ? status : free_stops(w, status, n, id);
    }
}

/* Add the reason of the pause of @r to the answer, and its rooms as rows: the first has its lanes.
 */
static enum usher_status rooms_rows(work *w, const struct usher_record *r)
{
    char lanes[LANES_TEXT];
    struct agent a;

    a.r = *r;
    if (!usher__queue_agent_read(&a))
        return damaged(w);
    usher__queue_answer_names(w, &a.reason, NULL);
    for (int64_t i = 0; i < r->n[A_CAPACITY]; i++) {
        struct usher_queue_result_row row;
        enum usher_status status;

        memset(&row, 0, sizeof row);
        if (a.rooms[i].size != 0) {
            struct usher_record u;

            status = w->ops->find(w->txn, &w->scope, KIND_USER, &a.rooms[i], &u);
            if (status != USHER_OK)
                return status == USHER_MISSING ? damaged(w) : status;
            row = usher__queue_user_row(&u);
        }
        row.user = a.rooms[i];
        if (i == 0)
            row.lanes = usher__queue_lanes_text(&a, lanes);
        row.login = r->order;
        row.no = i + 1;
        status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

enum usher_status usher__queue_room(struct run *run, bool alive)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    enum usher_status status = usher__queue_load(run, KIND_AGENT, id, &r);

    if (status == USHER_MISSING)
        return usher__queue_answer_no_agent(w, USHER_MISSING, id);
    if (status != USHER_OK)
        return status;
    if (alive) {
        status = usher__queue_agent_alive(run, &r);
        if (status == USHER_OK)
            status = usher__queue_settle(run);
        if (status == USHER_OK)
            status = w->ops->find(w->txn, &w->scope, KIND_AGENT, id, &r);
        if (status != USHER_OK)
            return status;
    }
    usher__queue_answer_agent(w, USHER_OK, &r);
    reply_of(w)->until_ms = usher__queue_agent_until(&r);
    return rooms_rows(w, &r);
}
