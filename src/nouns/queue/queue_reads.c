/* SPDX-License-Identifier: MIT */
/* Lists, statistics, history. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/queue.h"
#include "core/text.h"

static size_t rows_max(const work *w)
{
    size_t max = given(w, USHER_GIVEN_QUEUE_MAX) ? (size_t)args(w)->max : USHER_LIST_DEFAULT;

    return max < USHER_PAGE_MAX ? max : USHER_PAGE_MAX;
}

enum usher_status usher__queue_list(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_result *q = reply_of(w);
    unsigned state =
        given(w, USHER_GIVEN_QUEUE_STATE) ? (unsigned)g->state : USHER_QUEUE_USER_WAITING;
    uint8_t slot = state == USHER_QUEUE_USER_WAITING ? 0 : state == USHER_QUEUE_USER_AWAY ? 1 : 2;
    const struct usher_text *lane = g->lane.data != NULL ? &g->lane : NULL;
    uint64_t hi = 0, order = 0;
    size_t max = rows_max(w);
    enum usher_status status = USHER_OK;

    if (g->after.data != NULL)
        (void)usher__cursor(&g->after, &hi, &order);
    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (int looked = 0;; looked++) {
        struct usher_record r;
        struct usher_queue_result_row row;

        status = w->ops->walk(w->txn, &w->scope, KIND_USER, slot, slot == 2 ? NULL : lane, hi,
                              order, false, &r);
        if (status == USHER_MISSING)
            return USHER_OK;
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max || looked == USHER_PAGE_MAX) {
            q->more = true;
            q->agent_size =
                (size_t)snprintf(q->agent, sizeof q->agent, "%" PRIu64 ".%" PRIu64, hi, order);
            return USHER_OK;
        }
        hi = slot == 0 ? r.rank : slot == 1 ? (uint64_t)r.until_ms : 0;
        order = r.order;
        if (r.state != state || (lane != NULL && !usher__text_equal(lane, &r.group)))
            continue;
        row = usher__queue_user_row(&r);
        row.agent = r.owner;
        row.version = r.order; /* the token of the visit */
        if (row.no != 0)
            status = usher__queue_login_of(w, &r.owner, &row.login);
        if (status == USHER_OK)
            status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

enum usher_status usher__queue_agents(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_result *q = reply_of(w);
    struct usher_text after = g->after;
    size_t max = rows_max(w);

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (;;) {
        char lanes[LANES_TEXT];
        struct agent a;
        struct usher_queue_result_row row;
        enum usher_status status = w->ops->next(w->txn, &w->scope, KIND_AGENT, &after, &a.r);

        if (status == USHER_MISSING) {
            q->agent_size = 0;
            q->agent[0] = '\0';
            return USHER_OK;
        }
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max) {
            q->more = true; /* after q->agent */
            return USHER_OK;
        }
        after = a.r.id;
        usher__queue_answer_names(w, NULL, &a.r.id);
        if (!usher__queue_agent_read(&a))
            return damaged(w);
        memset(&row, 0, sizeof row);
        row.user = a.reason;
        row.agent = a.r.id;
        row.lanes = usher__queue_lanes_text(&a, lanes);
        row.login = a.r.order;
        row.token = a.token;
        row.state = (int)shown(&a.r);
        row.since_ms = a.since;
        row.matched_ms = a.r.n[A_STATE_SINCE];
        row.until_ms = usher__queue_agent_until(&a.r);
        row.capacity = a.r.n[A_CAPACITY];
        row.used = used(&a.r);
        row.served = a.r.n[A_SERVED];
        row.level = a.r.n[A_LEVEL];
        status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

/*
 * Set longest_since and longest_wait.  The first user of a priority arrived first in it; the walk
 * finds the next priority after the last place of this one.  No user has waited for longer than
 * since its arrival, so the walk stays in a priority only while a later user may have waited
 * longer, and passes over at most PASS_MAX users, which *@passed counts.  Then *@passed is
 * PASS_MAX + 1, and a user may have waited longer.
 */
static enum usher_status longest_waits(work *w, const struct usher_text *lane,
                                       struct usher_queue_result_statistics *s, int *passed)
{
    uint64_t rank = 0, order = 0;

    for (;;) {
        struct usher_record r;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_USER, 0, lane, rank, order, false, &r);
        int64_t since, waited;

        if (status == USHER_MISSING)
            return USHER_OK;
        if (status != USHER_OK)
            return status;
        since = lasted(r.n[U_SINCE], w->now);
        waited = lasted(r.n[U_APPLIED], w->now);
        waited = waited < since ? waited : since; /* `move` can set the arrival later */
        if (since > s->longest_since_ms)
            s->longest_since_ms = since;
        if (waited > s->longest_wait_ms)
            s->longest_wait_ms = waited;
        rank = r.rank;
        order = r.order;
        if (since > s->longest_wait_ms && *passed < PASS_MAX) {
            ++*passed;
            continue;
        }
        if (since > s->longest_wait_ms)
            *passed = PASS_MAX + 1;
        rank = ((uint64_t)(USHER_QUEUE_PRIORITY_MAX - r.n[U_PRIORITY]) << 43) +
               (uint64_t)USHER_QUEUE_TIME_MAX;
        order = (UINT64_C(1) << 53) - 1;
    }
}

/* Count the agent @a, which is paused, in the row of its reason. */
static enum usher_status paused_add(work *w, const struct usher_record *r)
{
    struct usher_queue_result *q = reply_of(w);
    struct usher_queue_result_row row = { .served = 1 };
    struct agent a;

    a.r = *r;
    if (!usher__queue_agent_read(&a))
        return damaged(w);
    row.user = a.reason;
    for (size_t i = 0; i < q->n_rows; i++)
        if (usher__text_equal(&q->rows[i].user, &a.reason)) {
            ((struct usher_queue_result_row *)(uintptr_t)q->rows)[i].served++;
            return USHER_OK;
        }
    return usher_result_add_row(w->reply, USHER_QUEUE, &row);
}

/* Count the paused agents of the queue by reason; read at most PASS_MAX agents for it. */
static enum usher_status paused_count(work *w)
{
    int64_t left = w->scope.counts[USHER_QUEUE_AGENT_PAUSED];
    uint64_t order = 0;

    for (int passed = 0; left > 0; passed++) {
        struct usher_record a;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_AGENT, 2, NULL, 0, order, false, &a);

        if (status == USHER_MISSING)
            return damaged(w);
        if (status == USHER_OK && passed == PASS_MAX) {
            reply_of(w)->more = true;
            return USHER_OK;
        }
        if (status == USHER_OK && a.state == USHER_QUEUE_AGENT_PAUSED) {
            status = paused_add(w, &a);
            left--;
        }
        if (status != USHER_OK)
            return status;
        order = a.order;
    }
    return USHER_OK;
}

/* Count the agents that serve @lane by state, and paused ones by reason, at most PASS_MAX. */
static enum usher_status servers_count(work *w, const struct usher_text *lane, int64_t *counts)
{
    const struct usher_text *of[2] = { lane, &all_lanes };
    int counted = 0;

    for (int i = 0; i < 2; i++) {
        uint64_t order = 0;

        for (;;) {
            struct usher_record server, a;
            enum usher_status status = usher__queue_server(w, of[i], order, &server);

            if (status == USHER_MISSING)
                break;
            if (status == USHER_OK && counted++ == PASS_MAX) {
                reply_of(w)->more = true;
                return USHER_OK;
            }
            if (status == USHER_OK)
                status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &server.group, &a);
            if (status != USHER_OK)
                return status == USHER_MISSING ? damaged(w) : status;
            if (a.state < USHER_QUEUE_AGENT_IDLE || a.state > USHER_QUEUE_AGENT_PAUSED)
                return damaged(w);
            counts[a.state]++;
            order = server.order;
            if (a.state == USHER_QUEUE_AGENT_PAUSED)
                status = paused_add(w, &a);
            if (status != USHER_OK)
                return status;
        }
    }
    return USHER_OK;
}

enum usher_status usher__queue_tell_reason(work *w, const struct usher__reason *reason)
{
    struct usher_queue_result_row row = { .user = reason->r.data };

    return row.user.size != 0 ? usher_result_add_row(w->reply, USHER_QUEUE, &row) : USHER_OK;
}

/* Return @part of @whole in parts of 10,000; -1: @whole is 0. */
static int64_t share(int64_t part, int64_t whole)
{
    return whole > 0 ? part * 10000 / whole : -1;
}

/* Set the statistics of a day that @f has. */
static void today(const int64_t *f, struct usher_queue_result_statistics *s)
{
    s->seated_today = f[F_SEATED];
    s->abandoned_today = f[F_ABANDONED];
    s->timeout_today = f[F_TIMEOUT];
    s->finished_today = f[F_FINISHED];
    s->arrived_today = f[F_ARRIVED];
    s->within_today = f[F_WITHIN];
    s->abandoned_within_today = f[F_ABANDONED_WITHIN];
    s->service_level =
        share(f[F_WITHIN], f[F_SEATED] + f[F_ABANDONED] + f[F_TIMEOUT] - f[F_ABANDONED_WITHIN]);
    s->service_seated = share(f[F_WITHIN], f[F_SEATED]);
    s->wait_ms = f[F_SEATED] > 0 ? f[F_WAIT] / f[F_SEATED] : -1;
    s->talk_ms = f[F_FINISHED] > 0 ? f[F_TALK] / f[F_FINISHED] : -1;
    s->dropped_today = f[F_DROPPED];
}

/* Set the statistics of the life of a lane or queue that @f has. */
static void life(const int64_t *f, struct usher_queue_result_statistics *s)
{
    s->arrived_total = f[F_ARRIVED];
    s->seated_total = f[F_SEATED];
    s->within_total = f[F_WITHIN];
    s->abandoned_total = f[F_ABANDONED];
    s->abandoned_within_total = f[F_ABANDONED_WITHIN];
    s->timeout_total = f[F_TIMEOUT];
    s->finished_total = f[F_FINISHED];
    s->dropped_total = f[F_DROPPED];
    s->wait_total_ms = f[F_WAIT];
    s->talk_total_ms = f[F_TALK];
}

static void add(int64_t *f, const void *data)
{
    for (int i = COUNTED; i < FIGURES; i++)
        f[i] += figure_of(data, i);
}

/* Add the figures of the life of @l to @f. */
static enum usher_status life_add(work *w, struct lane *l, int64_t *f)
{
    enum usher_status status;

    if (l->r.ref == NULL) /* there is no such lane */
        return USHER_OK;
    status = usher__queue_earlier(w, l->r.order, &l->earlier);
    if (status != USHER_OK)
        return status;
    add(f, l->r.data.data);
    add(f, l->earlier.data);
    return USHER_OK;
}

/* Add the figures of lanes that were removed to @f. */
static enum usher_status removed_add(work *w, int64_t *f)
{
    struct earlier e;
    enum usher_status status = usher__queue_earlier(w, 0, &e);

    if (status == USHER_OK)
        add(f, e.data);
    return status;
}

/* Add the users of @l, and its figures of today to @f. */
static void lane_add(const work *w, const struct lane *l, int64_t *f,
                     struct usher_queue_result_statistics *s)
{
    bool of_today = figure(l, F_DAY) >= usher__queue_day(&w->scope, w->now);

    s->waiting += l->r.n[L_WAITING];
    s->away += l->r.n[L_AWAY];
    s->offered += l->r.n[L_OFFERED];
    s->seated += l->r.n[L_SEATED];
    if (of_today)
        add(f, l->r.data.data);
}

enum usher_status usher__queue_stats(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_result_statistics *s = &reply_of(w)->of.stats;
    const int64_t *counts = w->scope.counts;
    int64_t of_lane[USHER_QUEUE_AGENT_PAUSED + 1] = { 0 };
    int64_t f[FIGURES] = { 0 }, of_life[FIGURES] = { 0 };
    int passed = 0;
    struct usher_text id = { NULL, 0 };
    struct usher__reason reason;
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    while (status == USHER_OK) {
        struct queue_change qc;
        struct lane *l;

        usher__queue_change_init(&qc);
        if (g->lane.data != NULL) {
            id = g->lane;
        } else {
            struct usher_record r;

            status = usher__queue_lane_next(w, &id, &r);
            if (status != USHER_OK)
                break;
            id = r.id;
        }
        status = usher__queue_lane_hold(w, &qc, &id, &l);
        if (status != USHER_OK)
            return status;
        lane_add(w, l, f, s);
        status = life_add(w, l, of_life);
        if (status != USHER_OK)
            return status;
        if (g->lane.data != NULL)
            break;
    }
    if (status == USHER_MISSING)
        status = removed_add(w, of_life);
    if (status != USHER_OK)
        return status;
    life(of_life, s);
    s->visits = counts[COUNT_VISITS];
    s->mode = w->scope.settings[SET_SCOPE_MODE];
    w->reply->status = USHER_OK; /* before rows: a failure replaces it */
    if (g->lane.data != NULL && counts[COUNT_FOR_ALL] < usher__queue_agents_now(&w->scope)) {
        status = servers_count(w, &g->lane, of_lane);
        counts = of_lane;
    } else {
        status = paused_count(w);
    }
    if (status != USHER_OK)
        return status;
    s->idle = counts[USHER_QUEUE_AGENT_IDLE];
    s->ringing = counts[USHER_QUEUE_AGENT_OFFERED];
    s->busy = counts[USHER_QUEUE_AGENT_BUSY];
    s->wrapup = counts[USHER_QUEUE_AGENT_WRAPUP];
    s->paused = counts[USHER_QUEUE_AGENT_PAUSED];
    s->agents = s->idle + s->ringing + s->busy + s->wrapup + s->paused;
    today(f, s);
    id = (struct usher_text){ NULL, 0 };
    status = usher__reason_load(w, KIND_REFUSAL, R_REASON, &id, false, &reason);
    if (status == USHER_OK)
        usher__queue_answer_names(w, &reason.r.data, NULL);
    if (status == USHER_OK)
        status = longest_waits(w, g->lane.data != NULL ? &g->lane : NULL, s, &passed);
    reply_of(w)->more |= passed > PASS_MAX;
    return status;
}

enum usher_status usher__queue_lanes(work *w)
{
    struct usher_queue_result *q = reply_of(w);
    struct usher_text after = args(w)->after;
    size_t max = rows_max(w);
    int passed = 0;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (;;) {
        struct usher_queue_result_statistics s = { 0 };
        struct usher_queue_result_row row = { 0 };
        int64_t f[FIGURES] = { 0 };
        struct queue_change qc;
        struct lane *l;
        struct usher_record r;
        enum usher_status status = usher__queue_lane_next(w, &after, &r);

        if (status == USHER_MISSING) {
            q->agent_size = 0;
            q->agent[0] = '\0';
            return USHER_OK;
        }
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max || passed >= PASS_MAX) {
            q->more = true; /* after q->agent */
            return USHER_OK;
        }
        after = r.id;
        usher__queue_answer_names(w, NULL, &r.id);
        usher__queue_change_init(&qc);
        status = usher__queue_lane_hold(w, &qc, &after, &l);
        if (status == USHER_OK)
            status = longest_waits(w, &after, &s, &passed);
        if (status != USHER_OK)
            return status;
        lane_add(w, l, f, &s);
        today(f, &s);
        row.lane = after; /* the other members are those of ROW_VIEW() */
        row.priority = s.waiting;
        row.since_ms = s.away;
        row.applied_ms = s.offered;
        row.matched_ms = s.seated;
        row.until_ms = s.longest_wait_ms;
        row.capacity = s.seated_today;
        row.used = s.abandoned_today;
        row.served = s.timeout_today;
        row.level = s.finished_today;
        row.no = s.service_level;
        row.login = (uint64_t)s.arrived_today;
        row.version = (uint64_t)s.within_today;
        row.token = (uint64_t)s.abandoned_within_today;
        row.wait_ms = s.wait_ms;
        row.talk_ms = s.talk_ms;
        status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

/* Load the lane of the command, or without one the lane after @id, into @qc.  MISSING: none is
 * left. */
static enum usher_status lane_of(work *w, struct usher_text *id, struct queue_change *qc,
                                 struct lane **ret)
{
    const struct usher_text *lane = &args(w)->lane;
    struct usher_record r = { .id = *lane };
    enum usher_status status = USHER_OK;

    if (lane->data != NULL && id->data != NULL)
        return USHER_MISSING;
    if (lane->data == NULL)
        status = usher__queue_lane_next(w, id, &r);
    if (status != USHER_OK)
        return status;
    *id = r.id;
    usher__queue_change_init(qc);
    return usher__queue_lane_hold(w, qc, id, ret);
}

/* The figures of a quarter hour: F_ARRIVED to F_TALK. */
enum { PARTS = F_TALK + 1 - F_ARRIVED };

/* Add what was counted until the end of a quarter hour, @part, and not until @before. */
static void interval_add(int64_t (*rows)[PARTS], int64_t first, const unsigned char *part,
                         const unsigned char *before)
{
    int64_t at = figure_of(part, 0) - first;

    for (int i = 0; i < PARTS && at >= 0 && at < QUARTERS_MAX; i++)
        rows[at][i] += figure_of(part, i + 1) - (before != NULL ? figure_of(before, i + 1) : 0);
}

/* Add the quarter hours of @l from @first on. */
static enum usher_status intervals_add(work *w, struct lane *l, int64_t (*rows)[PARTS],
                                       int64_t first)
{
    const unsigned char *last = NULL, *at;
    enum usher_status status = usher__queue_earlier(w, l->r.order, &l->earlier);

    if (status != USHER_OK)
        return status;
    for (size_t n = FIGURES_BYTES; n < l->earlier.r.data.size; n += QUARTER_BYTES) {
        interval_add(rows, first, l->earlier.data + n, last);
        last = l->earlier.data + n;
    }
    at = (const unsigned char *)l->r.data.data + (size_t)F_QUARTER * FIGURE_BYTES;
    interval_add(rows, first, at, last);
    return USHER_OK;
}

enum usher_status usher__queue_intervals(work *w)
{
    int64_t rows[QUARTERS_MAX][PARTS] = { 0 };
    int64_t day = usher__queue_day(&w->scope, w->now);
    int64_t first = day > DAY_SHIFT ? (day - DAY_SHIFT) / QUARTER_MIN : 0;
    struct usher_text id = { NULL, 0 };
    struct queue_change qc;
    struct lane *l;
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    while ((status = lane_of(w, &id, &qc, &l)) == USHER_OK) {
        if (l->r.ref != NULL && figure(l, F_DAY) >= day)
            status = intervals_add(w, l, rows, first);
        if (status != USHER_OK)
            return status;
    }
    for (int i = 0; i < QUARTERS_MAX && status == USHER_MISSING; i++) {
        const int64_t *f = rows[i] - F_ARRIVED;
        struct usher_queue_result_row row = { 0 };
        int64_t any = 0;

        for (int k = 0; k < PARTS; k++)
            any |= rows[i][k];
        if (any == 0)
            continue;
        row.since_ms = (first + i) * QUARTER_MS;
        row.priority = f[F_ARRIVED];
        row.capacity = f[F_SEATED];
        row.used = f[F_WITHIN];
        row.served = f[F_ABANDONED];
        row.level = f[F_TIMEOUT];
        row.wait_ms = f[F_WAIT];
        row.talk_ms = f[F_TALK];
        if (usher_result_add_row(w->reply, USHER_QUEUE, &row) != USHER_OK)
            return USHER_NOMEM;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

enum usher_status usher__queue_waits(work *w)
{
    int64_t f[FIGURES] = { 0 };
    struct usher_text id = { NULL, 0 };
    struct usher_queue_result_row row = { 0 };
    struct queue_change qc;
    struct lane *l;
    enum usher_status status;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    while ((status = lane_of(w, &id, &qc, &l)) == USHER_OK)
        if ((status = life_add(w, l, f)) != USHER_OK)
            return status;
    if (status == USHER_MISSING)
        status = args(w)->lane.data == NULL ? removed_add(w, f) : USHER_OK;
    for (int i = 0; i < WAITS && status == USHER_OK; i++) {
        row.until_ms = i < USHER__WAIT_BOUNDS ? usher__wait_bounds[i] * 1000 : -1;
        row.served += f[F_WAITS + i];
        status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
    }
    return status;
}

/* Write @r, a visit, as a row. */
static void visit_row(const struct usher_record *r, struct usher_queue_result_row *row)
{
    bool seated = usher__queue_had_room((enum usher_queue_outcome)r->state);

    memset(row, 0, sizeof *row);
    row->user = r->group;
    row->lane = r->data;
    row->agent = r->owner;
    row->state = r->state;
    row->login = (uint64_t)r->n[VISIT_LOGIN];
    row->no = r->n[VISIT_NO];
    row->priority = r->n[VISIT_PRIORITY];
    row->since_ms = r->n[VISIT_SINCE];
    row->applied_ms = r->n[VISIT_APPLIED];
    row->matched_ms = r->n[VISIT_SEATED];
    row->until_ms = r->n[VISIT_END];
    row->wait_ms = lasted(r->n[VISIT_APPLIED], seated ? r->n[VISIT_SEATED] : r->n[VISIT_END]);
    row->talk_ms = seated ? lasted(r->n[VISIT_SEATED], r->n[VISIT_END]) : 0;
    row->version = r->order;
    row->token = (uint64_t)r->n[VISIT_TOKEN];
}

/* Return whether the command requests this visit of its user. */
static bool asked_for(const work *w, const struct usher_queue_result_row *row)
{
    const struct usher_queue_args *g = args(w);

    return (g->agent.data == NULL || usher__text_equal(&g->agent, &row->agent)) &&
           (!given(w, USHER_GIVEN_QUEUE_SINCE) || row->until_ms >= g->since_ms) &&
           (!given(w, USHER_GIVEN_QUEUE_UNTIL) || row->until_ms <= g->until_ms);
}

enum usher_status usher__queue_history(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_result *q = reply_of(w);
    uint64_t before = UINT64_MAX, hi = 0;
    size_t max = rows_max(w);

    if (g->after.data != NULL)
        (void)usher__cursor(&g->after, &hi, &before);
    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (int looked = 0;; looked++) {
        struct usher_record r;
        struct usher_queue_result_row row;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_VISIT, 0, g->user.data != NULL ? &g->user : NULL,
                         before == UINT64_MAX ? before : 0, before, true, &r);

        if (status == USHER_MISSING)
            return USHER_OK;
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max || looked == USHER_PAGE_MAX) {
            q->more = true;
            q->agent_size = (size_t)snprintf(q->agent, sizeof q->agent, "0.%" PRIu64, before);
            return USHER_OK;
        }
        before = r.order;
        visit_row(&r, &row);
        if (asked_for(w, &row))
            status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

/* ---- drain ------------------------------------------------------------------------- */

/* Erase the visits that ended up to the version and the time of the command, because they are
 * stored elsewhere.  A store that went back in time may use a version again for a visit that is
 * stored nowhere else; that ends later, so the time protects it. */
static enum usher_status drop(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_result *q = reply_of(w);
    uint64_t behind = 0;

    for (enum usher_status found = USHER_OK; found == USHER_OK && q->count < USHER_LIST_MAX;) {
        struct usher__change c;
        enum usher_status status;

        usher__change_begin_quietly(w, &c);
        while (c.n < USHER_CHANGE_MAX) {
            struct usher_record r;

            found = w->ops->walk(w->txn, &w->scope, KIND_VISIT, 0, NULL, 0, behind, false, &r);
            if (found == USHER_OK && r.order > g->token)
                found = USHER_MISSING;
            if (found != USHER_OK)
                break;
            behind = r.order;
            if (given(w, USHER_GIVEN_QUEUE_UNTIL) && r.n[VISIT_END] > g->until_ms)
                continue;
            usher__change_erase(&c, &r);
        }
        if (found != USHER_OK && found != USHER_MISSING)
            return found;
        c.scope->counts[COUNT_VISITS] -= (int64_t)c.n;
        status = c.n > 0 ? usher__change_write(w, &c) : USHER_OK;
        if (status != USHER_OK)
            return status;
        q->count += c.n;
    }
    return USHER_OK;
}

enum usher_status usher__queue_drain(work *w)
{
    struct usher_queue_result *q = reply_of(w);
    uint64_t behind = 0;
    size_t max = rows_max(w);

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    if (given(w, USHER_GIVEN_QUEUE_TOKEN)) {
        enum usher_status status = drop(w);

        if (status != USHER_OK)
            return status;
    }
    for (;;) {
        struct usher_record r;
        struct usher_queue_result_row row;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_VISIT, 0, NULL, 0, behind, false, &r);

        if (status == USHER_MISSING)
            break;
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max) {
            q->more = true;
            break;
        }
        behind = r.order;
        visit_row(&r, &row);
        status = usher_result_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
    w->reply->status = q->count > 0 || q->n_rows > 0 ? USHER_OK : USHER_SAME;
    return USHER_OK;
}
