/* SPDX-License-Identifier: MIT */
/* See queue_model.h.  Every array grows by one and shrinks by moving its tail. */
#include "config.h"

#include "model/queue_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gen.h"
#include "model/parts.h"

#define DROP_MOST 240 /* records erased by a step of `drop` */
#define MINUTE INT64_C(60000)
#define DAY INT64_C(86400000)
#define REQUEST_AGE INT64_C(3600000)
#define PORTION 64          /* deadlines applied before those they made free are matched */
#define STEP_MOST 64        /* matches of a `match` */
#define SWEEP_MOST 64       /* deadlines of a `sweep` */
#define LEFT INT64_C(10000) /* the least maxwait left to a user that comes back */
#define FORGET_FIRST 8      /* refusals that go with a visit */
#define FORGET_MOST 50      /* and in a step later */

typedef struct queue_model_agent agent;
typedef struct queue_model_user user;
typedef struct queue_model_lane lane;
typedef struct queue_model_refusal refusal;
typedef struct queue_model_queue queue;

/* ---- are the arguments right? ------------------------------------------------------ */

static bool in(const struct usher_operation *c, uint64_t bit, int64_t value, int64_t min,
               int64_t max)
{
    return (c->given & bit) == 0 || (value >= min && value <= max);
}

static bool name_or_none(const struct usher_text *t)
{
    return t->data == NULL || is_name(t->data, t->size);
}

/* Letters for arguments: a agent, u user, r room, l lane, s lanes, f after, e session,
 * w actor, m reason. */
static bool texts_only(const struct usher_queue_args *a, const char *which)
{
    return (a->agent.data == NULL || strchr(which, 'a') != NULL) &&
           (a->user.data == NULL || strchr(which, 'u') != NULL) &&
           (a->room.data == NULL || strchr(which, 'r') != NULL) &&
           (a->lane.data == NULL || strchr(which, 'l') != NULL) &&
           (a->lanes.data == NULL || strchr(which, 's') != NULL) &&
           (a->after.data == NULL || strchr(which, 'f') != NULL) &&
           (a->session.data == NULL || strchr(which, 'e') != NULL) &&
           (a->actor.data == NULL || strchr(which, 'w') != NULL) &&
           (a->reason.data == NULL || strchr(which, 'm') != NULL);
}

static bool ranges_right(const struct usher_operation *c)
{
    const struct usher_queue_args *a = &c->arg.queue;

    return in(c, USHER_GIVEN_NOW, c->now_ms, 0, USHER_TIME_MAX) &&
           in(c, USHER_GIVEN_QUEUE_PRIORITY, a->priority, 0, USHER_QUEUE_PRIORITY_MAX) &&
           in(c, USHER_GIVEN_QUEUE_SINCE, a->since_ms, 0, USHER_QUEUE_TIME_MAX) &&
           in(c, USHER_GIVEN_QUEUE_CAPACITY, a->capacity, 1, USHER_QUEUE_CAPACITY_MAX) &&
           in(c, USHER_GIVEN_QUEUE_LEVEL, a->level, 0, 1000) &&
           in(c, USHER_GIVEN_QUEUE_TTL, a->ttl_ms, 0, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_TRIGGER, a->trigger, 1, 3) &&
           in(c, USHER_GIVEN_QUEUE_STRATEGY, a->strategy, 1, 6) &&
           in(c, USHER_GIVEN_QUEUE_OFFER, a->offer_ms, 0, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_ASK_AGAIN, a->again_ms, 1, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_WRAPUP, a->wrapup_ms, 0, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_LIMIT, a->limit, 0, 1000000000) &&
           in(c, USHER_GIVEN_QUEUE_MAXWAIT, a->maxwait_ms, 0, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_GRACE, a->grace_ms, 0, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_REQUEUE, a->requeue, 1, 2) &&
           in(c, USHER_GIVEN_QUEUE_HISTORY, a->history, 0, 1000000) &&
           in(c, USHER_GIVEN_QUEUE_ZONE, a->zone_min, -1440, 1440) &&
           in(c, USHER_GIVEN_QUEUE_SERVICE, a->service_ms, 0, USHER_SPAN_MAX) &&
           in(c, USHER_GIVEN_QUEUE_REQUESTS, a->requests, 1, 1000000) &&
           in(c, USHER_GIVEN_QUEUE_MAX, a->max, 1, USHER_LIST_MAX) &&
           in(c, USHER_GIVEN_QUEUE_ARCHIVE, a->archive, 0, 1000000000) &&
           in(c, USHER_GIVEN_QUEUE_UNTIL, a->until_ms, 0, USHER_QUEUE_TIME_MAX) &&
           in(c, USHER_GIVEN_QUEUE_STATE, a->state, 1, 4) &&
           in(c, USHER_GIVEN_QUEUE_LOG, a->log, 0, 100000) &&
           in(c, USHER_GIVEN_QUEUE_STRICT, a->strict, 0, 1) &&
           in(c, USHER_GIVEN_QUEUE_MODE, a->mode, 1, 3) &&
           in(c, USHER_GIVEN_QUEUE_PUSH, a->push, 0, 1) &&
           in(c, USHER_GIVEN_QUEUE_SINCE_VERSION, a->since, 0, USHER_EXACT_MAX) &&
           in(c, USHER_GIVEN_QUEUE_IF_VERSION, a->if_version, 1, USHER_EXACT_MAX);
}

/* Which arguments a verb takes and, in capitals, needs; ret_may: of the integers. */
static const char *takes(enum usher_verb verb, uint64_t *ret_may)
{
    *ret_may = 0;
    switch (verb) {
    case USHER_QUEUE_SET:
        *ret_may = USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_TRIGGER | USHER_GIVEN_QUEUE_STRATEGY |
                   USHER_GIVEN_QUEUE_OFFER | USHER_GIVEN_QUEUE_WRAPUP | USHER_GIVEN_QUEUE_LIMIT |
                   USHER_GIVEN_QUEUE_MAXWAIT | USHER_GIVEN_QUEUE_GRACE | USHER_GIVEN_QUEUE_REQUEUE |
                   USHER_GIVEN_QUEUE_HISTORY | USHER_GIVEN_QUEUE_ZONE | USHER_GIVEN_QUEUE_SERVICE |
                   USHER_GIVEN_QUEUE_REQUESTS | USHER_GIVEN_QUEUE_ARCHIVE | USHER_GIVEN_QUEUE_LOG |
                   USHER_GIVEN_QUEUE_ASK_AGAIN | USHER_GIVEN_QUEUE_STRICT | USHER_GIVEN_QUEUE_MODE |
                   USHER_GIVEN_QUEUE_PUSH;
        return "wm";
    case USHER_QUEUE_LOGIN:
        *ret_may = USHER_GIVEN_QUEUE_CAPACITY | USHER_GIVEN_QUEUE_LEVEL;
        return "aAse";
    case USHER_QUEUE_PAUSE:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "aAwm";
    case USHER_QUEUE_LOGOUT:
    case USHER_QUEUE_READY:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "aAw";
    case USHER_QUEUE_PULL:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "aA";
    case USHER_QUEUE_ROOM:
        return "aA";
    case USHER_QUEUE_FREE:
        return "aAw";
    case USHER_QUEUE_ALIVE:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "au";
    case USHER_QUEUE_APPLY:
        *ret_may = USHER_GIVEN_QUEUE_PRIORITY | USHER_GIVEN_QUEUE_SINCE;
        return "uUl";
    case USHER_QUEUE_MOVE:
        *ret_may = USHER_GIVEN_QUEUE_PRIORITY | USHER_GIVEN_QUEUE_SINCE | USHER_GIVEN_QUEUE_TOKEN;
        return "uUlw";
    case USHER_QUEUE_WHERE:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "uU";
    case USHER_QUEUE_LEAVE:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "uUw";
    case USHER_QUEUE_FINISH:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "rRuw";
    case USHER_QUEUE_ACCEPT:
    case USHER_QUEUE_REJECT:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN;
        return "aAuU";
    case USHER_QUEUE_MATCH:
        return "";
    case USHER_QUEUE_SWEEP:
        *ret_may = USHER_GIVEN_QUEUE_MAX;
        return "";
    case USHER_QUEUE_LIST:
        *ret_may = USHER_GIVEN_QUEUE_MAX | USHER_GIVEN_QUEUE_STATE;
        return "lf";
    case USHER_QUEUE_AGENTS:
    case USHER_QUEUE_LANES:
        *ret_may = USHER_GIVEN_QUEUE_MAX;
        return "f";
    case USHER_QUEUE_STATS:
    case USHER_QUEUE_INTERVALS:
    case USHER_QUEUE_WAITS:
        return "l";
    case USHER_QUEUE_HISTORY:
        *ret_may = USHER_GIVEN_QUEUE_SINCE | USHER_GIVEN_QUEUE_UNTIL | USHER_GIVEN_QUEUE_MAX;
        return "fau";
    case USHER_QUEUE_DRAIN:
        *ret_may = USHER_GIVEN_QUEUE_TOKEN | USHER_GIVEN_QUEUE_UNTIL | USHER_GIVEN_QUEUE_MAX;
        return "";
    case USHER_QUEUE_DROP:
        return "w";
    case USHER_QUEUE_CHANGES:
        *ret_may = USHER_GIVEN_QUEUE_SINCE_VERSION | USHER_GIVEN_QUEUE_MAX;
        return "";
    default:
        return NULL; /* no command */
    }
}

static bool arguments_right(const struct usher_operation *c)
{
    const struct usher_queue_args *a = &c->arg.queue;
    uint64_t may;
    const char *texts = takes(c->verb, &may);

    if (texts == NULL || c->scope.data == NULL || !is_scope(c->scope.data, c->scope.size))
        return false;
    if (!name_or_none(&c->request) || !name_or_none(&a->agent) || !name_or_none(&a->user) ||
        !name_or_none(&a->room) || !name_or_none(&a->after) || !name_or_none(&a->session) ||
        !name_or_none(&a->actor) || !name_or_none(&a->reason) || !ranges_right(c))
        return false;
    if (a->lane.data != NULL && !is_group(a->lane.data, a->lane.size))
        return false;
    if (a->lanes.data != NULL && !is_groups(a->lanes.data, a->lanes.size))
        return false;
    if (!texts_only(a, texts) ||
        (c->given & ~(may | USHER_GIVEN_NOW |
                      (c->verb == USHER_QUEUE_CHANGES ? 0 : USHER_GIVEN_QUEUE_IF_VERSION))) != 0)
        return false;
    if ((strchr(texts, 'A') != NULL && a->agent.data == NULL) ||
        (strchr(texts, 'U') != NULL && a->user.data == NULL) ||
        (strchr(texts, 'R') != NULL && a->room.data == NULL))
        return false;
    return c->verb != USHER_QUEUE_ALIVE || (a->agent.data == NULL) != (a->user.data == NULL);
}

/* ---- queues ------------------------------------------------------------------------ */

struct queue_model *queue_model_open(void)
{
    return grown(NULL, 0, sizeof(struct queue_model));
}

static queue queue_copy(const queue *q)
{
    queue to = *q;

    to.agents = copied(q->agents, q->n_agents, sizeof *q->agents);
    to.absent = copied(q->absent, q->n_absent, sizeof *q->absent);
    to.users = copied(q->users, q->n_users, sizeof *q->users);
    to.refusals = copied(q->refusals, q->n_refusals, sizeof *q->refusals);
    to.waste = copied(q->waste, q->n_waste, sizeof *q->waste);
    to.lanes = copied(q->lanes, q->n_lanes, sizeof *q->lanes);
    to.visits = copied(q->visits, q->n_visits, sizeof *q->visits);
    to.stays = copied(q->stays, q->n_stays, sizeof *q->stays);
    to.events = copied(q->events, q->n_events, sizeof *q->events);
    to.log = model_log_copy(&q->log);
    to.requests = copied(q->requests, q->n_requests, sizeof *q->requests);
    for (size_t i = 0; i < q->n_requests; i++)
        to.requests[i].rows =
            copied(q->requests[i].rows, q->requests[i].n_rows, sizeof *q->requests[i].rows);
    return to;
}

struct queue_model *queue_model_copy(const struct queue_model *m)
{
    struct queue_model *copy = queue_model_open();

    for (size_t i = 0; i < m->n_queues; i++) {
        copy->queues = grown(copy->queues, i, sizeof *copy->queues);
        copy->queues[i] = queue_copy(&m->queues[i]);
        copy->n_queues++;
    }
    return copy;
}

static void queue_done(queue *q)
{
    for (size_t i = 0; i < q->n_requests; i++)
        free(q->requests[i].rows);
    free(q->agents);
    free(q->absent);
    free(q->users);
    free(q->refusals);
    free(q->waste);
    free(q->lanes);
    free(q->visits);
    free(q->stays);
    free(q->events);
    free(q->requests);
    model_log_done(&q->log);
}

void queue_model_close(struct queue_model *m)
{
    for (size_t i = 0; i < m->n_queues; i++)
        queue_done(&m->queues[i]);
    free(m->queues);
    free(m);
}

static queue *queue_find(const struct queue_model *m, const char *name, size_t size)
{
    for (size_t i = 0; i < m->n_queues; i++)
        if (is(&m->queues[i].name, name, size))
            return &m->queues[i];
    return NULL;
}

static agent *agent_find(const queue *q, const char *id, size_t size)
{
    for (size_t i = 0; i < q->n_agents; i++)
        if (is(&q->agents[i].id, id, size))
            return &q->agents[i];
    return NULL;
}

static user *user_find(const queue *q, const char *id, size_t size)
{
    for (size_t i = 0; i < q->n_users; i++)
        if (is(&q->users[i].id, id, size))
            return &q->users[i];
    return NULL;
}

const struct queue_model_queue *queue_model_queue(const struct queue_model *m, const char *name,
                                                  size_t size)
{
    return queue_find(m, name, size);
}

const struct queue_model_agent *queue_model_agent(const struct queue_model_queue *q, const char *id,
                                                  size_t size)
{
    return agent_find(q, id, size);
}

const struct queue_model_user *queue_model_user(const struct queue_model_queue *q, const char *id,
                                                size_t size)
{
    return user_find(q, id, size);
}

/* NULL: never used. */
static lane *lane_find(const queue *q, const struct model_text *id)
{
    for (size_t i = 0; i < q->n_lanes; i++)
        if (same_text(&q->lanes[i].id, id))
            return &q->lanes[i];
    return NULL;
}

static lane *lane_get(queue *q, const struct model_text *id)
{
    lane *l = lane_find(q, id);

    if (l != NULL)
        return l;
    q->lanes = grown(q->lanes, q->n_lanes, sizeof *q->lanes);
    l = &q->lanes[q->n_lanes++];
    l->id = *id;
    l->day = INT64_MIN;
    l->came = q->version + 1;
    return l;
}

/* ---- deadlines and places ----------------------------------------------------------- */

/* The nearer of two, 0 for none. */
static int64_t nearer(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static int64_t agent_until(const agent *a)
{
    return nearer(a->beat, a->wrap);
}

static int64_t user_until(const user *u)
{
    switch (u->state) {
    case USHER_QUEUE_USER_WAITING:
        return nearer(u->patience, u->beat);
    case USHER_QUEUE_USER_AWAY:
        return nearer(u->patience, u->end);
    case USHER_QUEUE_USER_OFFERED:
        return nearer(u->beat, u->end);
    default:
        return u->beat;
    }
}

static int64_t span(int64_t from, int64_t to)
{
    return to > from ? to - from : 0;
}

/* When what is shown of @u ends, if it stays alive. */
static int64_t user_shown_until(const user *u)
{
    if (u->state == USHER_QUEUE_USER_WAITING)
        return u->patience;
    if (u->state == USHER_QUEUE_USER_AWAY)
        return user_until(u);
    return u->state == USHER_QUEUE_USER_OFFERED ? u->end : 0;
}

static bool is_due(int64_t until, int64_t now)
{
    return until != 0 && until <= now;
}

/* Return whether @a goes before @b in a lane (and among lanes, if one agent serves both). */
static bool user_before(const user *a, const user *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->since != b->since)
        return a->since < b->since;
    return a->version < b->version;
}

static bool with_agent(const user *u, const agent *a)
{
    return (u->state == USHER_QUEUE_USER_OFFERED || u->state == USHER_QUEUE_USER_SEATED) &&
           same_text(&u->agent, &a->id);
}

/* In rooms of @a: users of @state (GONE: of either). */
static int64_t users_with(const queue *q, const agent *a, enum usher_queue_user_state state)
{
    int64_t n = 0;

    for (size_t i = 0; i < q->n_users; i++)
        n += with_agent(&q->users[i], a) &&
             (state == USHER_QUEUE_USER_GONE || q->users[i].state == state);
    return n;
}

static bool is_open(const queue *q, const agent *a)
{
    return users_with(q, a, USHER_QUEUE_USER_GONE) < a->capacity &&
           (a->state == USHER_QUEUE_AGENT_IDLE || a->state == USHER_QUEUE_AGENT_OFFERED ||
            a->state == USHER_QUEUE_AGENT_BUSY) &&
           !a->asked && !a->leaving && a->wrap == 0;
}

static bool serves(const agent *a, const struct model_text *lane_id)
{
    struct usher_text list = { a->lanes, a->lanes_size }, g;

    for (size_t i = 0; group_at(&list, i, &g); i++)
        if ((g.size == 1 && g.data[0] == '*') || is(lane_id, g.data, g.size))
            return true;
    return false;
}

static size_t count_lanes(const agent *a)
{
    struct usher_text list = { a->lanes, a->lanes_size }, g;
    size_t n = 0;

    while (group_at(&list, n, &g))
        n++;
    return n;
}

/* How the agent has refused @u, NULL: it has not. */
static refusal *refusal_of(const queue *q, const user *u, const struct model_text *agent_id)
{
    for (size_t i = 0; i < q->n_refusals; i++)
        if (u->key != 0 && q->refusals[i].key == u->key &&
            same_text(&q->refusals[i].agent, agent_id))
            return &q->refusals[i];
    return NULL;
}

/* In the change that comes, as of @at. */
static void refuse(queue *q, user *u, const struct model_text *agent_id, int64_t at)
{
    refusal *r = refusal_of(q, u, agent_id);

    if (u->key == 0)
        u->key = q->version + 1;
    if (r == NULL) {
        q->refusals = grown(q->refusals, q->n_refusals, sizeof *r);
        r = &q->refusals[q->n_refusals++];
    }
    r->user = u->id;
    r->agent = *agent_id;
    r->key = u->key;
    r->version = q->version + 1;
    r->at = at;
    r->until = at + q->set.again_ms;
}

/* Up to @most refusals of @key go: those whose agents may be asked first, by age, then by the time
 * when they may.  True: others are left. */
static bool refusals_go(queue *q, uint64_t key, size_t most)
{
    for (;;) {
        refusal *first = NULL;

        for (size_t i = 0; i < q->n_refusals; i++) {
            refusal *r = &q->refusals[i];
            int64_t one = r->until != 0 ? r->until : r->at, two;

            if (r->key != key)
                continue;
            two = first == NULL ? 0 : first->until != 0 ? first->until : first->at;
            if (first == NULL || (r->until == 0) > (first->until == 0) ||
                ((r->until == 0) == (first->until == 0) &&
                 (one < two || (one == two && r->version < first->version))))
                first = r;
        }
        if (first == NULL || most-- == 0)
            return first != NULL;
        removed(q->refusals, &q->n_refusals, sizeof *first, (size_t)(first - q->refusals));
    }
}

/* The change that comes forgets the refusals of @u. */
static void forget_refusals(queue *q, user *u, int64_t at)
{
    if (u->key != 0 && refusals_go(q, u->key, FORGET_FIRST)) {
        q->waste = grown(q->waste, q->n_waste, sizeof *q->waste);
        q->waste[q->n_waste].key = u->key;
        q->waste[q->n_waste].version = q->version + 1;
        q->waste[q->n_waste++].at = at > 0 ? at : 1;
    }
    u->key = 0;
}

/* The local midnight before @at, in minutes. */
static int64_t day_of(const queue *q, int64_t at)
{
    int64_t local = at + q->set.zone_min * MINUTE;
    int64_t day = local >= 0 ? local / DAY : -((DAY - 1 - local) / DAY);

    return day * (DAY / MINUTE) - q->set.zone_min;
}

/* ---- a command at work ------------------------------------------------------------- */

struct work {
    struct queue_model *m;
    queue *q;
    const struct usher_operation *c;
    const struct usher_queue_args *a;
    struct usher_result *r;
    int64_t now;       /* of the changes that are made */
    int64_t seen;      /* of the command */
    int64_t moment;    /* what is due by then: the store's clock, which is given */
    bool tell_matches; /* in rows */
    bool pulls;        /* whomever the agent has refused */
    uint64_t matches;
    bool backlog; /* more was due than was applied */
    /* To be matched: the agents that became open, in that order, and users that wait again. */
    struct model_text *open, *again;
    size_t n_open, n_again;
};

/* Leaves no trace of when: what follows from a deadline, too, is as of that then. */
static bool looks(enum usher_verb verb)
{
    return verb == USHER_QUEUE_WHERE || verb == USHER_QUEUE_ROOM || verb == USHER_QUEUE_LIST ||
           verb == USHER_QUEUE_AGENTS || verb == USHER_QUEUE_STATS || verb == USHER_QUEUE_HISTORY ||
           verb == USHER_QUEUE_LANES || verb == USHER_QUEUE_INTERVALS || verb == USHER_QUEUE_WAITS;
}

/* When what is done now happens. */
static int64_t at_of(const struct work *w)
{
    return w->now < w->moment ? w->now : w->moment;
}

/* Pack the data of a notice of `set`. */
static void given_put(struct packed *to, const struct usher_operation *c)
{
    const struct usher_queue_args *a = &c->arg.queue;
    const struct said all[] = {
        { USHER_GIVEN_QUEUE_TTL, "ttl", a->ttl_ms },
        { USHER_GIVEN_QUEUE_TRIGGER, "trigger", a->trigger },
        { USHER_GIVEN_QUEUE_STRATEGY, "strategy", a->strategy },
        { USHER_GIVEN_QUEUE_OFFER, "offer", a->offer_ms },
        { USHER_GIVEN_QUEUE_ASK_AGAIN, "again", a->again_ms },
        { USHER_GIVEN_QUEUE_WRAPUP, "wrapup", a->wrapup_ms },
        { USHER_GIVEN_QUEUE_LIMIT, "limit", a->limit },
        { USHER_GIVEN_QUEUE_MAXWAIT, "maxwait", a->maxwait_ms },
        { USHER_GIVEN_QUEUE_GRACE, "grace", a->grace_ms },
        { USHER_GIVEN_QUEUE_REQUEUE, "requeue", a->requeue },
        { USHER_GIVEN_QUEUE_HISTORY, "history", a->history },
        { USHER_GIVEN_QUEUE_ZONE, "zone", a->zone_min },
        { USHER_GIVEN_QUEUE_SERVICE, "service", a->service_ms },
        { USHER_GIVEN_QUEUE_REQUESTS, "requests", a->requests },
        { USHER_GIVEN_QUEUE_ARCHIVE, "archive", a->archive },
        { USHER_GIVEN_QUEUE_LOG, "log", a->log },
        { USHER_GIVEN_QUEUE_STRICT, "strict", a->strict },
        { USHER_GIVEN_QUEUE_MODE, "mode", a->mode },
        { USHER_GIVEN_QUEUE_PUSH, "push", a->push },
    };

    put_given(to, c->given, all, sizeof all / sizeof *all, &a->reason, &a->actor);
}

static enum usher_queue_agent_state state_of(const agent *a)
{
    return a->asked && (a->state == USHER_QUEUE_AGENT_OFFERED || a->state == USHER_QUEUE_AGENT_BUSY)
               ? USHER_QUEUE_AGENT_PAUSING
               : a->state;
}

/* The subject of a notice: a user, with the agent of its room (NULL: none) after the change, and
 * the outcome of a visit that has ended; or an agent that has logged in. */
struct told {
    const user *u;
    const agent *a;
    enum usher_queue_outcome outcome;
    /* of what has ended, which @u has no more */
    struct model_text agent;
    uint64_t login, token;
    int64_t no;
};

static void word_put(struct packed *to, const char *name, const char *value)
{
    struct usher_text text[] = { { name, strlen(name) }, { value, strlen(value) } };

    put_text(to, &text[0]);
    put_text(to, &text[1]);
}

/* The actor of the command, if a change with @verb is one of its own (`free` ends with `ready`), or
 * NULL. */
static const struct usher_text *actor_of(const struct work *w, enum usher_verb verb)
{
    bool own = verb == w->c->verb || (verb == USHER_QUEUE_READY && w->c->verb == USHER_QUEUE_FREE);

    return own && w->a->actor.data != NULL ? &w->a->actor : NULL;
}

static void actor_put(struct packed *to, const struct usher_text *actor)
{
    static const struct usher_text name = { "actor", 5 };

    if (actor == NULL)
        return;
    put_text(to, &name);
    put_text(to, actor);
}

/* The data of a notice of a user. */
static void user_put(struct packed *to, const struct told *what, const struct usher_text *actor)
{
    const user *u = what->u;
    const agent *a = what->a;
    enum usher_queue_outcome outcome = what->outcome;
    static const struct usher_text of_lane = { "lane", 4 };
    struct usher_text name_of_lane = text_out(&u->lane);
    bool here = u->state != USHER_QUEUE_USER_GONE, wraps = false;
    char name[48];

    if (a != NULL)
        wraps = a->state == USHER_QUEUE_AGENT_WRAPUP;
    put_array(to, 2u + (here ? 4 : 0) + (outcome != 0 ? 2 : 0) +
                      (a == NULL ? 0
                       : wraps   ? 8
                                 : 6) +
                      (actor != NULL ? 2 : 0));
    put_text(to, &of_lane);
    put_text(to, &name_of_lane);
    if (here) {
        put_said(to, "priority", u->priority);
        put_said(to, "since", u->since);
    }
    if (outcome != 0)
        word_put(to, "outcome", usher_queue_outcome_word(outcome));
    if (a == NULL) {
        actor_put(to, actor);
        return;
    }
    (void)sprintf(name, "%" PRIu64 ".%" PRId64, what->login, what->no);
    word_put(to, "room", name);
    put_said(to, "visit", (int64_t)what->token);
    word_put(
        to, "agent_state",
        usher_queue_agent_state_word(a->state == USHER_QUEUE_AGENT_GONE ? a->going : state_of(a)));
    if (wraps)
        put_said(to, "agent_until", a->wrap);
    actor_put(to, actor);
}

/* The data of a notice of a login. */
static void login_put(struct packed *to, const agent *a)
{
    static const struct usher_text name = { "lanes", 5 };
    const struct usher_text lanes = { a->lanes, a->lanes_size };
    struct usher_text reason = text_out(&a->reason);

    put_array(to, reason.size != 0 ? 8 : 6);
    put_text(to, &name);
    put_text(to, &lanes);
    put_said(to, "capacity", a->capacity);
    put_said(to, "level", a->level);
    if (reason.size != 0) {
        static const struct usher_text word = { "reason", 6 };

        put_text(to, &word);
        put_text(to, &reason);
    }
}

/* A change of @u, of an agent (@subject alone), or of the queue itself. */
static void notify(struct work *w, enum usher_verb verb, unsigned from, unsigned to,
                   const struct model_text *subject, uint64_t token, int64_t until,
                   const struct told *what)
{
    struct packed data = { NULL, 0, 0 };
    const struct usher_text *actor = actor_of(w, verb);
    struct usher_notice notice;

    w->q->version++;
    w->q->clock = w->now;
    memset(&notice, 0, sizeof notice);
    notice.noun = USHER_QUEUE;
    notice.scope = text_out(&w->q->name);
    notice.epoch = w->q->epoch;
    notice.version = w->q->version;
    notice.before = notice.version - 1;
    notice.now_ms = w->now;
    notice.verb = verb;
    notice.from = (uint8_t)from;
    notice.to = (uint8_t)to;
    notice.token = token;
    notice.until_ms = until;
    if (subject != NULL)
        notice.subject = text_out(subject);
    if (what != NULL && what->u != NULL) {
        notice.owner = text_out(&what->agent);
        user_put(&data, what, actor);
    } else if (what != NULL && verb == USHER_QUEUE_LOGIN) {
        login_put(&data, what->a);
    } else if (what != NULL) {
        struct usher_text reason = text_out(&what->a->reason);

        if (verb != USHER_QUEUE_PAUSE || reason.size == 0)
            reason.data = NULL;
        if (actor != NULL || reason.data != NULL)
            put_given(&data, 0, NULL, 0, &reason, actor);
    } else if (verb == USHER_QUEUE_SET) {
        given_put(&data, w->c);
    } else if (verb == USHER_QUEUE_DROP || subject != NULL) {
        if (actor != NULL)
            put_given(&data, 0, NULL, 0, NULL, actor);
    } else if (verb == USHER_QUEUE_OUTAGE) {
        const struct said all[] = { { 1, "from", w->q->gap_from }, { 2, "to", w->q->gap_to } };

        put_given(&data, 3, all, 2, NULL, NULL);
    }
    notice.data = (struct usher_text){ (const char *)data.at, data.n };
    model_log_keep(&w->q->log, w->q->set.log, &notice);
    if (w->m->notify != NULL)
        w->m->notify(w->m->payload, &notice);
    free(data.at);
}

/* A notice of @u with its agent, token and room as they are now. */
static struct told told_of(struct work *w, const user *u)
{
    struct told what = { .u = u };

    what.a = u->agent.size != 0 ? agent_find(w->q, u->agent.data, u->agent.size) : NULL;
    what.agent = u->agent;
    what.login = u->login;
    what.token = u->token;
    what.no = u->no;
    return what;
}

/* The change that has just been made to @u, or to @a. */
static void user_told(struct work *w, enum usher_verb verb, unsigned from, const struct told *what)
{
    notify(w, verb, from, (unsigned)what->u->state, &what->u->id, what->token,
           user_shown_until(what->u), what);
}

static void user_changed(struct work *w, enum usher_verb verb, unsigned from, const user *u)
{
    struct told what = told_of(w, u);

    user_told(w, verb, from, &what);
}

static void agent_changed(struct work *w, enum usher_verb verb, unsigned from, const agent *a)
{
    struct told what = { .a = a };

    notify(w, verb, from, (unsigned)state_of(a), &a->id, a->matched,
           a->state == USHER_QUEUE_AGENT_WRAPUP ? a->wrap : 0, &what);
}

static void list_add(struct model_text **list, size_t *n, const struct model_text *id)
{
    for (size_t i = 0; i < *n; i++)
        if (same_text(&(*list)[i], id))
            return;
    *list = grown(*list, *n, sizeof **list);
    (*list)[(*n)++] = *id;
}

static void fault(struct work *w, const char *what)
{
    if (w->q->fault == NULL)
        w->q->fault = what;
}

/* ---- agents: what happens to them ---------------------------------------------------- */

static void agent_to(agent *a, enum usher_queue_agent_state to, int64_t at)
{
    if (a->state != to)
        a->state_since = at;
    a->state = to;
}

/* Return the rank of @a among the open agents, by the present strategy. */
static uint64_t rank_of(const queue *q, const agent *a)
{
    switch (q->set.strategy) {
    case USHER_QUEUE_STRATEGY_LONGEST_IDLE:
        return users_with(q, a, USHER_QUEUE_USER_GONE) > 0;
    case USHER_QUEUE_STRATEGY_FEWEST_SERVED:
        return (uint64_t)a->served;
    case USHER_QUEUE_STRATEGY_LEAST_BUSY:
        return (uint64_t)users_with(q, a, USHER_QUEUE_USER_GONE);
    case USHER_QUEUE_STRATEGY_LEVEL:
        return (uint64_t)a->level;
    case USHER_QUEUE_STRATEGY_RANDOM:
        return draw(a->changed);
    default:
        return 0;
    }
}

/* Return the order of @a among agents of one rank. */
static uint64_t base_of(const queue *q, const agent *a)
{
    return q->set.strategy == USHER_QUEUE_STRATEGY_ROUND_ROBIN ? a->matched : a->changed;
}

bool queue_model_before(const queue *q, const agent *a, const agent *b)
{
    uint64_t one = rank_of(q, a), two = rank_of(q, b);

    return one != two ? one < two : base_of(q, a) < base_of(q, b);
}

/* The change that comes gives @a a new place among those that are open. */
static void agent_placed(struct work *w, agent *a)
{
    a->changed = w->q->version + 1;
}

/* The change that comes gives @a a free room, or an end of wrap-up or pause: it may be open by the
 * time when those who are free are matched. */
static void agent_freed(struct work *w, agent *a)
{
    agent_placed(w, a);
    list_add(&w->open, &w->n_open, &a->id);
}

/* A user that was @seated (or only offered) has just left a room of @a, which stays.  The change
 * that this belongs to has not been counted yet. */
static void room_emptied(struct work *w, agent *a, bool seated, int64_t at)
{
    bool others_seated = users_with(w->q, a, USHER_QUEUE_USER_SEATED) > 0;
    bool others = users_with(w->q, a, USHER_QUEUE_USER_GONE) > 0;

    if (seated && w->q->set.wrapup_ms > 0)
        a->wrap = at + w->q->set.wrapup_ms;
    if (!others && a->asked) {
        agent_to(a, USHER_QUEUE_AGENT_PAUSED, at);
        a->asked = false;
        a->wrap = 0;
    } else if (!others && a->wrap != 0) {
        agent_to(a, USHER_QUEUE_AGENT_WRAPUP, at);
    } else if (!others) {
        agent_to(a, USHER_QUEUE_AGENT_IDLE, at);
    } else if (!others_seated) {
        agent_to(a, USHER_QUEUE_AGENT_OFFERED, at);
    }
    agent_freed(w, a);
}

/* ---- users: what happens to them ----------------------------------------------------- */

static void out_of_room(user *u)
{
    u->agent = text_of(NULL, 0);
    u->login = u->token = 0;
    u->no = u->matched = 0;
    u->end = 0;
}

/* @what happens in the lane at @at, after @ms.  An event that is late counts in the day and the
 * quarter hour that have begun. */
static void counted(queue *q, const struct model_text *lane_id, enum queue_model_counts what,
                    int64_t at, int64_t ms)
{
    lane *l = lane_get(q, lane_id);
    int64_t day = day_of(q, at), quarter = at / (15 * MINUTE);
    struct queue_model_event *e;

    if (day > l->day || quarter > l->quarter) {
        l->earlier |= l->day != INT64_MIN;
        l->day = day > l->day ? day : l->day;
        l->quarter = quarter;
    }
    q->events = grown(q->events, q->n_events, sizeof *e);
    e = &q->events[q->n_events++];
    e->lane = *lane_id;
    e->version = q->version + 1;
    e->what = what;
    e->ms = ms;
    e->within = ms <= q->set.service_ms;
    e->day = l->day;
    e->quarter = l->quarter;
}

/* The stay of @u in a room, or its wait for one, is over at @at: it is counted and remembered. */
static void stay_ends(queue *q, const user *u, enum usher_queue_outcome outcome, int64_t at)
{
    bool had_room = u->state == USHER_QUEUE_USER_SEATED;
    struct queue_model_visit v;
    struct queue_model_stay *stay;

    counted(q, &u->lane,
            had_room                                 ? MODEL_FINISHED
            : outcome == USHER_QUEUE_OUTCOME_TIMEOUT ? MODEL_TIMEOUT
                                                     : MODEL_ABANDONED,
            at, span(had_room ? u->matched : u->applied, at));
    if (outcome == USHER_QUEUE_OUTCOME_DROPPED)
        counted(q, &u->lane, MODEL_DROPPED, at, 0);
    memset(&v, 0, sizeof v);
    v.user = u->id;
    v.lane = u->lane;
    v.outcome = outcome;
    v.version = q->version + 1;
    v.priority = u->priority;
    v.since = u->since;
    v.applied = u->applied;
    v.end = at;
    v.agent = u->agent;
    v.login = u->login;
    v.no = u->no;
    v.token = u->token;
    v.had_room = had_room;
    v.seated = had_room ? u->matched : 0;
    q->stays = grown(q->stays, q->n_stays, sizeof *q->stays);
    stay = &q->stays[q->n_stays++];
    stay->lane = u->lane;
    stay->version = v.version;
    stay->outcome = outcome;
    stay->had_room = had_room;
    stay->wait = span(u->applied, had_room ? u->matched : at);
    stay->talk = had_room ? span(u->matched, at) : 0;
    if (q->set.history > 0 || q->set.archive > 0) {
        q->visits = grown(q->visits, q->n_visits, sizeof v);
        q->visits[q->n_visits++] = v;
    }
    for (int k = 0; k < 2; k++)
        if (q->set.archive == 0 && (int64_t)q->n_visits > q->set.history)
            removed(q->visits, &q->n_visits, sizeof v, 0);
}

/* End the visit of @u at @at, with a notice of @verb.  @u is gone afterwards. */
static void visit_ends(struct work *w, user *u, enum usher_queue_outcome outcome, int64_t at,
                       enum usher_verb verb)
{
    queue *q = w->q;
    bool had_room = u->state == USHER_QUEUE_USER_SEATED,
         was_offered = u->state == USHER_QUEUE_USER_OFFERED;
    agent *a = had_room || was_offered ? agent_find(q, u->agent.data, u->agent.size) : NULL;
    struct queue_model_user gone = *u;
    struct told what = told_of(w, u);
    unsigned from = (unsigned)u->state;

    stay_ends(q, u, outcome, at);
    forget_refusals(q, u, at);
    q->ended++;
    removed(q->users, &q->n_users, sizeof *u, (size_t)(u - q->users));
    if (a != NULL && a->state != USHER_QUEUE_AGENT_GONE)
        room_emptied(w, a, had_room, at);
    gone.state = USHER_QUEUE_USER_GONE;
    what.u = &gone;
    what.outcome = outcome;
    user_told(w, verb, from, &what);
}

/* @u waits again at its place, or is away until @end (0: waits). */
static void user_back(struct work *w, user *u, int64_t end, int64_t at, enum usher_verb verb)
{
    unsigned from = (unsigned)u->state;
    bool had_room = from == USHER_QUEUE_USER_SEATED;
    agent *a =
        from == USHER_QUEUE_USER_WAITING ? NULL : agent_find(w->q, u->agent.data, u->agent.size);
    struct told what = told_of(w, u);

    if (had_room) { /* it talked, and waits from now on: the rest of its patience begins */
        int64_t rest = u->patience - u->matched;

        stay_ends(w->q, u, USHER_QUEUE_OUTCOME_REQUEUED, at);
        u->applied = at;
        if (u->patience != 0)
            u->patience = at + (rest < LEFT ? LEFT : rest);
    } else if (u->patience != 0 && u->patience < at) {
        u->patience = at; /* judged at the end of the offer */
    }
    out_of_room(u);
    u->state = end != 0 ? USHER_QUEUE_USER_AWAY : USHER_QUEUE_USER_WAITING;
    u->end = end;
    if (u->state == USHER_QUEUE_USER_AWAY)
        u->beat = 0;
    if (u->state == USHER_QUEUE_USER_WAITING)
        list_add(&w->again, &w->n_again, &u->id);
    if (a != NULL && a->state != USHER_QUEUE_AGENT_GONE)
        room_emptied(w, a, had_room, at);
    what.outcome = had_room ? USHER_QUEUE_OUTCOME_REQUEUED : USHER_QUEUE_OUTCOME_NONE;
    user_told(w, verb, from, &what);
}

/* ---- deadlines ---------------------------------------------------------------------- */

/* By when it must give a sign of life. */
static int64_t *life_of(user *u)
{
    return u->state == USHER_QUEUE_USER_AWAY ? &u->end : &u->beat;
}

static bool in_gap(int64_t at, int64_t from, int64_t to)
{
    return at > from && at <= to;
}

/* It would have ended for want of a sign of life while the store was away: it has more time. */
static bool outlives(struct work *w, int64_t *life)
{
    queue *q = w->q;

    if (q->set.ttl_ms == 0 || !in_gap(*life, q->gap_from, q->gap_to))
        return false;
    *life = q->gap_to + q->set.ttl_ms;
    q->clock = w->now;
    return true;
}

/* Was the store away?  No command for longer than half of ttl, and two signs of life were due. */
static void outage(struct work *w)
{
    queue *q = w->q;
    int64_t ttl = q->set.ttl_ms, from = q->clock;
    int n = 0;

    if (ttl == 0 || !q->exists || w->moment - q->clock <= ttl / 2)
        return;
    if (q->gap_to != 0 && q->gap_to + ttl > from)
        from = q->gap_to + ttl;
    for (size_t i = 0; i < q->n_agents; i++)
        n += in_gap(agent_until(&q->agents[i]), from, w->moment) &&
             in_gap(q->agents[i].beat, from, w->moment);
    for (size_t i = 0; i < q->n_users; i++)
        n += in_gap(user_until(&q->users[i]), from, w->moment) &&
             in_gap(*life_of(&q->users[i]), from, w->moment);
    if (n < 2)
        return;
    q->gap_from = from;
    q->gap_to = w->moment;
    notify(w, USHER_QUEUE_OUTAGE, 0, 0, NULL, 0, 0, NULL);
}

static void user_expires(struct work *w, user *u)
{
    int64_t at = user_until(u), grace = w->q->set.grace_ms;
    enum usher_verb verb = USHER_QUEUE_EXPIRE;

    if ((u->state == USHER_QUEUE_USER_WAITING || u->state == USHER_QUEUE_USER_AWAY) &&
        u->patience == at) {
        visit_ends(w, u, USHER_QUEUE_OUTCOME_TIMEOUT, at, verb);
    } else if (*life_of(u) == at && (u->state == USHER_QUEUE_USER_AWAY || u->beat == at) &&
               outlives(w, life_of(u))) {
        if (u->state == USHER_QUEUE_USER_WAITING)
            list_add(&w->again, &w->n_again, &u->id);
    } else if (u->state == USHER_QUEUE_USER_SEATED) {
        visit_ends(w, u, USHER_QUEUE_OUTCOME_CUT, at, verb);
    } else if (u->state == USHER_QUEUE_USER_AWAY) {
        visit_ends(w, u, USHER_QUEUE_OUTCOME_LOST, at, verb);
    } else if (u->beat == at) {
        if (grace > 0)
            user_back(w, u, at + grace, at, verb);
        else
            visit_ends(w, u, USHER_QUEUE_OUTCOME_LOST, at, verb);
    } else { /* an offer that is too old */
        refuse(w->q, u, &u->agent, at);
        user_back(w, u, 0, at, verb);
    }
}

/* The first user in a room of @a, NULL if there is none. */
static user *first_with(const queue *q, const agent *a)
{
    user *first = NULL;

    for (size_t i = 0; i < q->n_users; i++)
        if (with_agent(&q->users[i], a) && (first == NULL || user_before(&q->users[i], first)))
            first = &q->users[i];
    return first;
}

/* The next login of the agent is paused, or (@wrap) in its wrap-up. */
static void absent_add(struct work *w, const agent *a, int64_t wrap)
{
    queue *q = w->q;

    q->absent = grown(q->absent, q->n_absent, sizeof *q->absent);
    q->absent[q->n_absent].id = a->id;
    q->absent[q->n_absent].token = a->session_version;
    q->absent[q->n_absent].reason = a->reason;
    q->absent[q->n_absent++].wrap = wrap;
    for (int i = 0; i < 2; i++) /* up to two that are over go for it */
        if (q->n_absent > 1 && q->absent[0].wrap != 0 && q->absent[0].wrap <= w->moment)
            removed(q->absent, &q->n_absent, sizeof *q->absent, 0);
}

/* One change on its way: a user goes from it, or, without any, it goes itself (true). */
static bool agent_leaves(struct work *w, agent *a, int64_t at, enum usher_verb verb)
{
    enum usher_queue_agent_state from = a->state;
    user *u = first_with(w->q, a);

    if (u == NULL) {
        enum usher_queue_agent_state was = state_of(a);

        if (verb == USHER_QUEUE_EXPIRE &&
            (was == USHER_QUEUE_AGENT_PAUSED || was == USHER_QUEUE_AGENT_PAUSING))
            absent_add(w, a, 0);
        else if (a->wrap > at)
            absent_add(w, a, a->wrap);
        from = was;
    }
    a->going = state_of(a);
    a->state = USHER_QUEUE_AGENT_GONE; /* no wrap-up, no event for a room that becomes empty */
    if (u == NULL) {
        agent_changed(w, verb, (unsigned)from, a);
        removed(w->q->agents, &w->q->n_agents, sizeof *a, (size_t)(a - w->q->agents));
        return true;
    }
    a->leaving = true; /* no more users for it */
    if (u->state == USHER_QUEUE_USER_OFFERED)
        refuse(w->q, u, &a->id, at);
    if (w->q->set.requeue == USHER_QUEUE_REQUEUE_DROP && u->state == USHER_QUEUE_USER_SEATED)
        visit_ends(w, u, USHER_QUEUE_OUTCOME_DROPPED, at, USHER_QUEUE_REQUEUE);
    else
        user_back(w, u, 0, at, USHER_QUEUE_REQUEUE);
    a->state = from;
    return false;
}

static void agent_expires(struct work *w, agent *a)
{
    int64_t at = agent_until(a);
    unsigned from = (unsigned)state_of(a);

    if (a->beat == at && outlives(w, &a->beat)) {
        list_add(&w->open, &w->n_open, &a->id);
        return;
    }
    if (a->beat == at) {
        (void)agent_leaves(w, a, at, USHER_QUEUE_EXPIRE);
        return;
    }
    a->wrap = 0;
    if (a->state == USHER_QUEUE_AGENT_WRAPUP)
        agent_to(a, USHER_QUEUE_AGENT_IDLE, at);
    agent_freed(w, a);
    agent_changed(w, USHER_QUEUE_EXPIRE, from, a);
}

/* The refusal that ends first, or (@waste) the waste that is to go first, if that is due.  NULL. */
static refusal *refusal_due(const struct work *w, struct queue_model_waste **ret_waste)
{
    queue *q = w->q;
    refusal *r = NULL;
    struct queue_model_waste *waste = NULL;

    for (size_t i = 0; i < q->n_refusals; i++) {
        refusal *x = &q->refusals[i];

        if (is_due(x->until, w->moment) &&
            (r == NULL || x->until < r->until || (x->until == r->until && x->version < r->version)))
            r = x;
    }
    for (size_t i = 0; i < q->n_waste; i++) {
        struct queue_model_waste *x = &q->waste[i];

        if (is_due(x->at, w->moment) && (waste == NULL || x->at < waste->at ||
                                         (x->at == waste->at && x->version < waste->version)))
            waste = x;
    }
    if (waste != NULL && r != NULL &&
        (r->until < waste->at || (r->until == waste->at && r->version < waste->version)))
        waste = NULL;
    *ret_waste = waste;
    return waste != NULL ? NULL : r;
}

/* The agent of @r may be asked again. */
static void refusal_ends(struct work *w, refusal *r)
{
    user *u = user_find(w->q, r->user.data, r->user.size);

    r->until = 0;
    if (u != NULL && u->key == r->key && u->state == USHER_QUEUE_USER_WAITING)
        list_add(&w->again, &w->n_again, &u->id);
}

static void waste_goes(queue *q, struct queue_model_waste *waste)
{
    if (!refusals_go(q, waste->key, FORGET_MOST))
        removed(q->waste, &q->n_waste, sizeof *waste, (size_t)(waste - q->waste));
}

/* One change of what is due, the earliest first.  False: nothing is. */
static bool expire_next(struct work *w)
{
    queue *q = w->q;
    agent *a = NULL;
    user *u = NULL;
    struct queue_model_waste *waste;
    refusal *r = refusal_due(w, &waste);
    int64_t at = r != NULL ? r->until : waste != NULL ? waste->at : INT64_MAX;

    for (size_t i = 0; i < q->n_agents; i++) {
        agent *x = &q->agents[i];

        if (is_due(agent_until(x), w->moment) &&
            (a == NULL || agent_until(x) < agent_until(a) ||
             (agent_until(x) == agent_until(a) && x->login < a->login)))
            a = x;
    }
    for (size_t i = 0; i < q->n_users; i++) {
        user *x = &q->users[i];

        if (is_due(user_until(x), w->moment) &&
            (u == NULL || user_until(x) < user_until(u) ||
             (user_until(x) == user_until(u) && x->version < u->version)))
            u = x;
    }
    if (a == NULL && u == NULL && r == NULL && waste == NULL)
        return false;
    if (a != NULL && agent_until(a) < at)
        at = agent_until(a);
    if (u != NULL && user_until(u) < at)
        at = user_until(u);
    if (looks(w->c->verb) && w->now < at)
        w->now = at;
    if (a != NULL && agent_until(a) == at)
        agent_expires(w, a);
    else if (u != NULL && user_until(u) == at)
        user_expires(w, u);
    else if (r != NULL)
        refusal_ends(w, r);
    else
        waste_goes(q, waste);
    return true;
}

static void settle(struct work *w);

/* Return whether something is due and not applied; keep the latest time of that in `behind`. */
static bool anything_due(struct work *w)
{
    bool found = false;

    for (size_t i = 0; i < w->q->n_agents; i++)
        found |= is_due(agent_until(&w->q->agents[i]), w->moment);
    for (size_t i = 0; i < w->q->n_users; i++)
        found |= is_due(user_until(&w->q->users[i]), w->moment);
    for (size_t i = 0; i < w->q->n_refusals; i++)
        found |= is_due(w->q->refusals[i].until, w->moment);
    for (size_t i = 0; i < w->q->n_waste; i++)
        found |= is_due(w->q->waste[i].at, w->moment);
    if (found && w->moment > w->q->behind)
        w->q->behind = w->moment;
    return found;
}

/* At most @most of what is due; returns how many of them made a version. */
static uint64_t expire(struct work *w, uint64_t most)
{
    uint64_t done = 0, changes = 0;

    w->backlog = false;
    outage(w);
    for (bool more = true; more && done < most;) {
        for (int portion = 0; portion < PORTION && done < most; portion++) {
            uint64_t version = w->q->version;

            more = expire_next(w);
            if (!more)
                break;
            done++;
            changes += w->q->version > version;
        }
        settle(w);
    }
    w->backlog |= anything_due(w);
    return changes;
}

/* All of it, before anything else. */
static void expire_all(struct work *w)
{
    if (looks(w->c->verb))
        w->now = w->q->clock;
    (void)expire(w, UINT64_MAX);
    w->now = w->seen;
}

/* ---- matching ------------------------------------------------------------------------ */

static const char *kept(const struct model_text *t)
{
    return memcpy(grown(NULL, t->size, 1), t->data, t->size);
}

static const char *kept_lanes(const char *data, size_t size)
{
    return memcpy(grown(NULL, size, 1), data, size);
}

static struct usher_queue_result_row *row_add(struct work *w, const struct model_text *user_id,
                                              const struct model_text *agent_id,
                                              const struct model_text *lane_id)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct usher_queue_result_row *row;

    w->r->block = grown(w->r->block, r->n_rows, sizeof *row);
    r->rows = w->r->block;
    row = (struct usher_queue_result_row *)w->r->block + r->n_rows++;
    if (user_id != NULL)
        row->user = (struct usher_text){ kept(user_id), user_id->size };
    if (agent_id != NULL)
        row->agent = (struct usher_text){ kept(agent_id), agent_id->size };
    if (lane_id != NULL)
        row->lane = (struct usher_text){ kept(lane_id), lane_id->size };
    return row;
}

/* The reason of the mode is a row. */
static void tell_reason(struct work *w)
{
    if (w->q->reason.size != 0)
        (void)row_add(w, &w->q->reason, NULL, NULL);
}

static struct usher_queue_result_row *user_row(struct work *w, const user *u,
                                               const struct model_text *agent_id)
{
    struct usher_queue_result_row *row = row_add(w, &u->id, agent_id, &u->lane);

    row->login = u->login;
    row->no = u->no;
    row->state = (int)u->state;
    row->priority = u->priority;
    row->since_ms = u->since;
    row->applied_ms = u->applied;
    row->matched_ms = u->matched;
    row->until_ms = user_shown_until(u);
    row->token = u->token;
    return row;
}

/* @u and @a: could they be matched now, if it were not for refusals? */
static bool may_meet(const struct work *w, const user *u, const agent *a)
{
    return u->state == USHER_QUEUE_USER_WAITING && !is_due(user_until(u), w->moment) &&
           is_open(w->q, a) && !is_due(agent_until(a), w->moment) && serves(a, &u->lane);
}

/* The open agents that have not refused @u, in order. */
static size_t open_agents(const struct work *w, const user *u, agent ***ret)
{
    agent **list = NULL;
    size_t n = 0;

    for (size_t i = 0; i < w->q->n_agents; i++) {
        if (!may_meet(w, u, &w->q->agents[i]) || refusal_of(w->q, u, &w->q->agents[i].id) != NULL)
            continue;
        list = grown(list, n, sizeof *list);
        list[n++] = &w->q->agents[i];
        for (size_t j = n - 1; j > 0 && queue_model_before(w->q, list[j], list[j - 1]); j--) {
            agent *swap = list[j];

            list[j] = list[j - 1];
            list[j - 1] = swap;
        }
    }
    *ret = list;
    return n;
}

/* The open agent that may be asked again for @u and whose refusal is the oldest.  NULL. */
static agent *agent_again(const struct work *w, const user *u)
{
    const refusal *oldest = NULL;
    agent *found = NULL;

    for (size_t i = 0; i < w->q->n_agents; i++) {
        agent *a = &w->q->agents[i];
        const refusal *r = refusal_of(w->q, u, &a->id);

        if (r == NULL || r->until != 0 || !may_meet(w, u, a))
            continue;
        if (oldest == NULL || r->at < oldest->at ||
            (r->at == oldest->at && r->version < oldest->version)) {
            oldest = r;
            found = a;
        }
    }
    return found;
}

/* The agent that @u gets, NULL if there is none. */
static agent *agent_for(const struct work *w, const user *u)
{
    uint64_t version = w->q->version + 1;
    agent **list, *a;
    size_t n = open_agents(w, u, &list), first = 0;

    if (n == 0) {
        free(list);
        return agent_again(w, u);
    }
    if (w->q->set.strategy == USHER_QUEUE_STRATEGY_RANDOM) {
        while (first < n && rank_of(w->q, list[first]) < draw(version))
            first++;
        first = (first + draw(version + (UINT64_C(1) << 53)) % 16) % n;
    }
    a = list[first];
    free(list);
    return a;
}

/* And with them?  A pair that has been refused meets when it may be asked again. */
static bool fits(const struct work *w, const user *u, const agent *a)
{
    const refusal *r = refusal_of(w->q, u, &a->id);

    return may_meet(w, u, a) && (r == NULL || r->until == 0);
}

/* May @a have @u, while it waits for another one? */
static bool is_first(const struct work *w, const user *u, const agent *a)
{
    return may_meet(w, u, a) && refusal_of(w->q, u, &a->id) == NULL;
}

/* @u has a room for good. */
static void takes_seat(struct work *w, user *u, agent *a)
{
    lane *l = lane_get(w->q, &u->lane);
    int64_t from = l->last > u->applied ? l->last : u->applied, d = span(from, at_of(w));

    if (at_of(w) > u->applied) {
        if (d > DAY)
            d = DAY;
        l->pace = l->pace == 0 ? 16 * d : (7 * l->pace + 16 * d) / 8;
    }
    l->last = at_of(w);
    u->state = USHER_QUEUE_USER_SEATED;
    u->matched = at_of(w);
    u->end = 0;
    a->served++;
    agent_to(a, USHER_QUEUE_AGENT_BUSY, at_of(w));
    counted(w->q, &u->lane, MODEL_SEATED, at_of(w), span(u->applied, at_of(w)));
}

static void give(struct work *w, user *u, agent *a)
{
    queue *q = w->q;
    uint64_t version = q->version + 1;
    int64_t no = 1;

    for (size_t i = 0; i < q->n_users; i++)
        if (&q->users[i] != u && is_first(w, &q->users[i], a) &&
            (user_before(&q->users[i], u) || (!w->pulls && refusal_of(q, u, &a->id) != NULL)))
            fault(w, "no user is overtaken that the agent has not refused");
    for (size_t i = 0; i < q->n_users; i++) /* sorted by nothing: begin again on each hit */
        if (with_agent(&q->users[i], a) && q->users[i].no == no) {
            no++;
            i = SIZE_MAX;
        }
    if (refusal_of(q, u, &a->id) != NULL)
        removed(q->refusals, &q->n_refusals, sizeof *q->refusals,
                (size_t)(refusal_of(q, u, &a->id) - q->refusals));
    u->agent = a->id;
    u->login = a->login;
    u->no = no;
    u->token = version;
    a->matched = version;
    if (q->set.offer_ms > 0) {
        u->state = USHER_QUEUE_USER_OFFERED;
        u->matched = at_of(w);
        u->end = w->moment + q->set.offer_ms;
        if (a->state == USHER_QUEUE_AGENT_IDLE)
            agent_to(a, USHER_QUEUE_AGENT_OFFERED, at_of(w));
    } else {
        takes_seat(w, u, a);
    }
    agent_placed(w, a);
    user_changed(w, USHER_QUEUE_MATCH, USHER_QUEUE_USER_WAITING, u);
    w->matches++;
    if (w->tell_matches)
        user_row(w, u, &a->id)->until_ms = u->end;
}

/* The user that @a gets next, NULL if there is none. */
static user *user_for(const struct work *w, const agent *a)
{
    user *first = NULL;

    uint64_t oldest = UINT64_MAX;

    for (size_t i = 0; i < w->q->n_users; i++)
        if (is_first(w, &w->q->users[i], a) &&
            (first == NULL || user_before(&w->q->users[i], first)))
            first = &w->q->users[i];
    if (first != NULL)
        return first;
    for (size_t i = 0; i < w->q->n_users; i++) {
        user *u = &w->q->users[i];
        const refusal *r = refusal_of(w->q, u, &a->id);

        if (r != NULL && r->until == 0 && r->version < oldest && may_meet(w, u, a) &&
            agent_for(w, u) == a) {
            first = u;
            oldest = r->version;
        }
    }
    return first;
}

static void match_agent(struct work *w, const struct model_text *id)
{
    agent *a;
    user *u;

    while ((a = agent_find(w->q, id->data, id->size)) != NULL && (u = user_for(w, a)) != NULL)
        give(w, u, a);
}

/* The agent that is found takes its best user, which may be another one, left from a time without
 * trigger=auto. */
static void match_user(struct work *w, const struct model_text *id)
{
    for (int i = 0; i < PORTION; i++) {
        user *u = user_find(w->q, id->data, id->size);
        agent *a;

        if (u == NULL || u->state != USHER_QUEUE_USER_WAITING || is_due(user_until(u), w->moment))
            return;
        a = agent_for(w, u);
        if (a == NULL)
            return;
        give(w, user_for(w, a), a);
    }
}

/* Those who wait again are matched, in the order of places. */
static void match_again(struct work *w)
{
    struct model_text *left = copied(w->again, w->n_again, sizeof *w->again);
    size_t n = w->n_again;

    while (n > 0) {
        size_t first = SIZE_MAX;

        for (size_t i = 0; i < n; i++) {
            const user *u = user_find(w->q, left[i].data, left[i].size);
            const user *f =
                first == SIZE_MAX ? NULL : user_find(w->q, left[first].data, left[first].size);

            if (u != NULL && (f == NULL || user_before(u, f)))
                first = i;
        }
        if (first == SIZE_MAX)
            break; /* all of them are gone */
        match_user(w, &left[first]);
        removed(left, &n, sizeof *left, first);
    }
    free(left);
}

/* The queue matches by itself. */
static bool by_itself(const struct usher_queue_result_settings *set)
{
    return set->trigger == USHER_QUEUE_TRIGGER_AUTO && set->mode != USHER_SCOPE_MODE_STOPPED;
}

/* Match the agents that became open and the users that wait again, until none is left.  A user
 * that all have rejected goes to the first of these agents, which may take a better user. */
static void settle(struct work *w)
{
    uint64_t before;

    do {
        before = w->matches;
        for (size_t i = 0; by_itself(&w->q->set) && i < w->n_open; i++)
            match_agent(w, &w->open[i]);
        if (by_itself(&w->q->set))
            match_again(w);
    } while (w->matches != before);
    w->n_open = w->n_again = 0;
}

/* ---- answers ------------------------------------------------------------------------- */

static void put_name(char to[USHER_NAME_MAX + 1], size_t *ret_size, const struct model_text *from)
{
    *ret_size = from->size;
    memcpy(to, from->data, sizeof from->data);
}

static enum usher_status tell_agent(struct work *w, enum usher_status status, const agent *a)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct model_text id = a != NULL ? a->id : text_of(w->a->agent.data, w->a->agent.size);

    r->state = a != NULL ? state_of(a) : USHER_QUEUE_AGENT_GONE;
    put_name(r->agent, &r->agent_size, &id);
    if (a != NULL) {
        r->login = a->login;
        r->no = a->capacity;
        r->token = w->c->verb == USHER_QUEUE_PULL ? 0 : a->session_version;
    }
    return status;
}

/* Does an agent that is there serve the lane?  @by_name: not only as one of all. */
static bool is_served(const queue *q, const struct model_text *lane_id, bool by_name)
{
    for (size_t i = 0; i < q->n_agents; i++)
        if (serves(&q->agents[i], lane_id) &&
            !(by_name && q->agents[i].lanes_size == 1 && q->agents[i].lanes[0] == '*'))
            return true;
    return false;
}

static int64_t index_of(const queue *q, const user *u)
{
    int64_t n = 0;

    for (size_t i = 0; i < q->n_users; i++)
        n += q->users[i].state == USHER_QUEUE_USER_WAITING &&
             same_text(&q->users[i].lane, &u->lane) && user_before(&q->users[i], u);
    return n;
}

static enum usher_status tell_user(struct work *w, enum usher_status status, const user *u)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct model_text id = u != NULL ? u->id : text_of(w->a->user.data, w->a->user.size);
    bool of_lane = w->c->verb == USHER_QUEUE_WHERE || w->c->verb == USHER_QUEUE_ALIVE;
    const lane *l;

    if (!of_lane)
        put_name(r->user, &r->user_size, &id);
    r->index = r->wait_ms = -1;
    if (u == NULL)
        return status;
    if (of_lane)
        put_name(r->user, &r->user_size, &u->lane);
    r->since_ms = u->since;
    r->count = u->version;
    switch (u->state) {
    case USHER_QUEUE_USER_SEATED:
    case USHER_QUEUE_USER_OFFERED:
        r->place =
            u->state == USHER_QUEUE_USER_SEATED ? USHER_QUEUE_PLACE_ROOM : USHER_QUEUE_PLACE_OFFER;
        r->login = u->login;
        r->no = u->no;
        r->token = u->token;
        r->until_ms = u->end;
        put_name(r->agent, &r->agent_size, &u->agent);
        break;
    case USHER_QUEUE_USER_AWAY:
        r->place = USHER_QUEUE_PLACE_AWAY;
        break;
    default:
        r->place = USHER_QUEUE_PLACE_QUEUE;
        r->index = index_of(w->q, u);
        for (size_t i = 0;
             i < w->q->n_users && w->c->verb != USHER_QUEUE_APPLY && w->c->verb != USHER_QUEUE_MOVE;
             i++)
            r->waiting += w->q->users[i].state == USHER_QUEUE_USER_WAITING &&
                          same_text(&w->q->users[i].lane, &u->lane);
        l = lane_find(w->q, &u->lane);
        if (l != NULL && l->pace != 0 && is_served(w->q, &u->lane, false)) {
            r->wait_ms = (r->index + 1) * l->pace / 16;
            if (r->wait_ms < span(l->last, at_of(w)))
                r->wait_ms = span(l->last, at_of(w));
        }
        break;
    }
    return status;
}

/* The user of the command is not here: how its last visit ended, if that is kept. */
static enum usher_status tell_ended(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;

    (void)tell_user(w, USHER_MISSING, NULL);
    for (size_t i = 0; i < w->q->n_visits; i++) {
        const struct queue_model_visit *v = &w->q->visits[i];

        if (!w->q->exists || !is(&v->user, w->a->user.data, w->a->user.size))
            continue;
        r->outcome = v->outcome;
        r->until_ms = v->end;
        r->token = v->token;
        put_name(r->agent, &r->agent_size, &v->agent);
    }
    return USHER_MISSING;
}

/* ---- verbs: agents ------------------------------------------------------------------- */

/* "*" alone if it is among them, else each once, in the order given. */
static size_t lanes_of(const struct usher_text *list, char to[USHER_LIST_TEXT_MAX + 1])
{
    struct usher_text g, other;
    size_t n = 0;

    for (size_t i = 0; group_at(list, i, &g); i++) {
        bool again = false;

        if (g.size == 1 && g.data[0] == '*') {
            to[0] = '*';
            return 1;
        }
        for (size_t j = 0; j < i; j++)
            again |= group_at(list, j, &other) && other.size == g.size &&
                     memcmp(other.data, g.data, g.size) == 0;
        if (again)
            continue;
        if (n > 0)
            to[n++] = ',';
        memcpy(to + n, g.data, g.size);
        n += g.size;
    }
    return n;
}

static bool all_among(const struct usher_text *these, const struct usher_text *those)
{
    struct usher_text g, other;

    for (size_t i = 0; group_at(these, i, &g); i++) {
        bool found = false;

        for (size_t j = 0; group_at(those, j, &other); j++)
            found |= other.size == g.size && memcmp(other.data, g.data, g.size) == 0;
        if (!found)
            return false;
    }
    return true;
}

/* The same, in whatever order? */
static bool same_lanes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    struct usher_text these = { a, a_size }, those = { b, b_size };

    return all_among(&these, &those) && all_among(&those, &these);
}

static struct queue_model_absent *absent_of(const queue *q, const struct model_text *id)
{
    for (size_t i = 0; i < q->n_absent; i++)
        if (same_text(&q->absent[i].id, id))
            return &q->absent[i];
    return NULL;
}

static void absent_done(queue *q, const struct queue_model_absent *absent)
{
    removed(q->absent, &q->n_absent, sizeof *absent, (size_t)(absent - q->absent));
}

/* A sign of life: no version, but the clock has seen it. */
static void hear_of(struct work *w, int64_t *beat)
{
    int64_t at = w->q->set.ttl_ms > 0 ? w->moment + w->q->set.ttl_ms : 0;

    if (*beat == at)
        return;
    *beat = at;
    w->q->clock = w->now;
}

/* A command of @a is a sign of life.  No match may have taken it while it was due, or another
 * trigger was set. */
static void agent_alive(struct work *w, agent *a)
{
    if (is_open(w->q, a))
        list_add(&w->open, &w->n_open, &a->id);
    hear_of(w, &a->beat);
}

static enum usher_status verb_login(struct work *w, agent *a)
{
    static const struct usher_text all = { "*", 1 };
    const struct usher_queue_args *x = w->a;
    char lanes[USHER_LIST_TEXT_MAX + 1];
    size_t lanes_size = lanes_of(x->lanes.data != NULL ? &x->lanes : &all, lanes);
    const struct queue_model_absent *absent;
    uint64_t given = w->c->given;

    if (a != NULL) {
        bool same =
            (x->lanes.data == NULL || same_lanes(a->lanes, a->lanes_size, lanes, lanes_size)) &&
            ((given & USHER_GIVEN_QUEUE_CAPACITY) == 0 || x->capacity == a->capacity) &&
            ((given & USHER_GIVEN_QUEUE_LEVEL) == 0 || x->level == a->level);

        if (same && x->session.data != NULL && !is(&a->session, x->session.data, x->session.size)) {
            a->session = text_of(x->session.data, x->session.size);
            a->session_version = w->q->version + 1;
            agent_alive(w, a);
            agent_changed(w, w->c->verb, (unsigned)state_of(a), a);
            return tell_agent(w, USHER_OK, a);
        }
        if (same)
            agent_alive(w, a);
        return tell_agent(w, same ? USHER_SAME : USHER_REFUSED, a);
    }
    w->q->exists = true;
    w->q->agents = grown(w->q->agents, w->q->n_agents, sizeof *a);
    a = &w->q->agents[w->q->n_agents++];
    a->id = text_of(x->agent.data, x->agent.size);
    a->state = USHER_QUEUE_AGENT_IDLE;
    a->state_since = a->login_at = at_of(w);
    a->login = a->matched = a->session_version = w->q->version + 1;
    if (x->session.data != NULL)
        a->session = text_of(x->session.data, x->session.size);
    a->capacity = (given & USHER_GIVEN_QUEUE_CAPACITY) != 0 ? x->capacity : 1;
    a->level = (given & USHER_GIVEN_QUEUE_LEVEL) != 0 ? x->level : 0;
    a->lanes_size = lanes_size;
    memcpy(a->lanes, lanes, lanes_size);
    a->beat = w->q->set.ttl_ms > 0 ? w->moment + w->q->set.ttl_ms : 0;
    absent = absent_of(w->q, &a->id);
    if (absent != NULL) {
        if (absent->wrap == 0) {
            a->state = USHER_QUEUE_AGENT_PAUSED;
            a->reason = absent->reason;
        } else if (absent->wrap > w->moment) {
            a->wrap = absent->wrap;
            a->state = USHER_QUEUE_AGENT_WRAPUP;
        }
        absent_done(w->q, absent);
    }
    agent_freed(w, a);
    agent_changed(w, w->c->verb, USHER_QUEUE_AGENT_GONE, a);
    return tell_agent(w, USHER_OK, a);
}

static enum usher_status verb_logout(struct work *w, agent *a)
{
    if (a == NULL) {
        struct model_text id = text_of(w->a->agent.data, w->a->agent.size);

        const struct queue_model_absent *absent = absent_of(w->q, &id);

        if (absent == NULL || absent->wrap != 0)
            return tell_agent(w, USHER_SAME, NULL);
        absent_done(w->q, absent);
        notify(w, w->c->verb, USHER_QUEUE_AGENT_PAUSED, USHER_QUEUE_AGENT_GONE, &id, 0, 0, NULL);
        return tell_agent(w, USHER_OK, NULL);
    }
    while (!agent_leaves(w, a, at_of(w), w->c->verb))
        continue;
    settle(w);
    return tell_agent(w, USHER_OK, NULL);
}

static enum usher_status verb_pause(struct work *w, agent *a)
{
    const struct usher_text *reason = &w->a->reason;
    bool other;
    unsigned from;

    if (a == NULL)
        return tell_agent(w, USHER_MISSING, NULL);
    other = reason->data != NULL && !is(&a->reason, reason->data, reason->size);
    if ((a->state == USHER_QUEUE_AGENT_PAUSED || a->asked) && !other)
        return tell_agent(w, USHER_SAME, a);
    from = (unsigned)state_of(a);
    if (other)
        a->reason = text_of(reason->data, reason->size);
    if (users_with(w->q, a, USHER_QUEUE_USER_GONE) > 0) {
        a->asked = true;
    } else {
        agent_to(a, USHER_QUEUE_AGENT_PAUSED, at_of(w));
        a->wrap = 0;
    }
    agent_changed(w, w->c->verb, from, a);
    return tell_agent(w, USHER_OK, a);
}

/* Pause and wrap-up are over; false: there was neither. */
static bool makes_ready(struct work *w, agent *a)
{
    unsigned from = (unsigned)state_of(a);

    if (a->state != USHER_QUEUE_AGENT_PAUSED && !a->asked && a->wrap == 0)
        return false;
    a->asked = false;
    a->reason = text_of(NULL, 0);
    a->wrap = 0;
    if (a->state == USHER_QUEUE_AGENT_PAUSED || a->state == USHER_QUEUE_AGENT_WRAPUP)
        agent_to(a, USHER_QUEUE_AGENT_IDLE, at_of(w));
    agent_freed(w, a);
    agent_changed(w, USHER_QUEUE_READY, from, a);
    return true;
}

static enum usher_status verb_ready(struct work *w, agent *a)
{
    if (a == NULL)
        return tell_agent(w, USHER_MISSING, NULL);
    return tell_agent(w, makes_ready(w, a) ? USHER_OK : USHER_SAME, a);
}

static enum usher_status verb_free(struct work *w, agent *a)
{
    struct usher_queue_result *r = &w->r->of.queue;
    bool any = false;
    user *u;

    if (a == NULL)
        return tell_agent(w, USHER_MISSING, NULL);
    for (; (u = first_with(w->q, a)) != NULL; any = true) {
        if (u->state == USHER_QUEUE_USER_SEATED) {
            visit_ends(w, u, USHER_QUEUE_OUTCOME_FREED, at_of(w), w->c->verb);
        } else {
            refuse(w->q, u, &a->id, at_of(w));
            user_back(w, u, 0, at_of(w), w->c->verb);
        }
        r->count++;
    }
    any |= makes_ready(w, a);
    return tell_agent(w, any ? USHER_OK : USHER_SAME, a);
}

static enum usher_status verb_room(struct work *w, agent *a, enum usher_status status)
{
    if (a == NULL)
        return tell_agent(w, USHER_MISSING, NULL);
    for (int64_t no = 1; no <= a->capacity; no++) {
        const user *in_it = NULL;
        struct usher_queue_result_row *row;

        for (size_t i = 0; i < w->q->n_users; i++)
            if (with_agent(&w->q->users[i], a) && w->q->users[i].no == no)
                in_it = &w->q->users[i];
        row = in_it != NULL ? user_row(w, in_it, NULL) : row_add(w, NULL, NULL, NULL);
        row->login = a->login;
        row->no = no;
        if (no == 1)
            row->lanes = (struct usher_text){ kept_lanes(a->lanes, a->lanes_size), a->lanes_size };
    }
    w->r->of.queue.until_ms = a->state == USHER_QUEUE_AGENT_WRAPUP ? a->wrap : 0;
    put_name(w->r->of.queue.user, &w->r->of.queue.user_size, &a->reason);
    return tell_agent(w, status, a);
}

/* Add a lane, and remove the one with the oldest statistics among those with none of today, without
 * a user, and not served.  Returns false if there is none of these and no place for a lane. */
static bool lane_comes(struct work *w, const struct model_text *id)
{
    queue *q = w->q;
    lane *over = NULL;

    if (lane_find(q, id) != NULL)
        return true;
    for (size_t i = 0; i < q->n_lanes; i++) {
        lane *l = &q->lanes[i];
        bool living = l->day >= day_of(q, w->now) || is_served(q, &l->id, true);

        for (size_t k = 0; k < q->n_users; k++)
            living |= same_text(&q->users[k].lane, &l->id);
        if (!living &&
            (over == NULL || l->day < over->day || (l->day == over->day && l->came < over->came)))
            over = l;
    }
    if (over == NULL && q->n_lanes == USHER_QUEUE_LANES_MAX)
        return false;
    q->lanes_removed |= over != NULL;
    if (over != NULL)
        removed(q->lanes, &q->n_lanes, sizeof *over, (size_t)(over - q->lanes));
    (void)lane_get(q, id);
    return true;
}

/* ---- verbs: users -------------------------------------------------------------------- */

static void heard_of(struct work *w, user *u)
{
    unsigned from = (unsigned)u->state;
    struct model_text id = u->id;

    hear_of(w, &u->beat);
    if (u->state != USHER_QUEUE_USER_AWAY)
        return;
    u->state = USHER_QUEUE_USER_WAITING;
    u->end = 0;
    list_add(&w->again, &w->n_again, &id);
    user_changed(w, w->c->verb, from, u);
    settle(w);
}

static enum usher_status verb_alive(struct work *w, agent *a, user *u)
{
    enum usher_status status = USHER_OK;

    if (w->a->agent.data != NULL) {
        if (a != NULL) {
            agent_alive(w, a);
            settle(w);
        }
        return verb_room(w, a, status);
    }
    if (u == NULL)
        return tell_ended(w);
    heard_of(w, u);
    return tell_user(w, USHER_OK, u);
}

static enum usher_status verb_apply(struct work *w, user *u)
{
    const struct usher_queue_args *x = w->a;
    queue *q = w->q;
    struct queue_model_user new;
    struct model_text id = text_of(x->user.data, x->user.size);
    int64_t held = 0;

    if (u != NULL) {
        bool away = u->state == USHER_QUEUE_USER_AWAY;

        if ((away || u->state == USHER_QUEUE_USER_WAITING) && x->lane.data != NULL &&
            !is(&u->lane, x->lane.data, x->lane.size))
            return tell_user(w, USHER_REFUSED, u);
        heard_of(w, u);
        return tell_user(w, away ? USHER_OK : USHER_SAME, u);
    }
    if (q->exists && q->set.mode != USHER_SCOPE_MODE_OPEN) {
        w->r->of.queue.why = q->set.mode == USHER_SCOPE_MODE_CLOSED ? USHER_QUEUE_WHY_CLOSED
                                                                    : USHER_QUEUE_WHY_STOPPED;
        return tell_user(w, USHER_REFUSED, NULL);
    }
    if (!q->exists || q->n_agents == 0) {
        w->r->of.queue.why = USHER_QUEUE_WHY_NO_AGENT;
        return tell_user(w, USHER_EMPTY, NULL);
    }
    if (q->set.archive > 0 && (int64_t)q->n_visits >= q->set.archive) {
        w->r->of.queue.why = USHER_QUEUE_WHY_HISTORY;
        return tell_user(w, USHER_FULL, NULL);
    }
    memset(&new, 0, sizeof new);
    new.id = id;
    new.lane = x->lane.data != NULL ? text_of(x->lane.data, x->lane.size) : text_of("default", 7);
    if (!is_served(q, &new.lane, false)) {
        w->r->of.queue.why = USHER_QUEUE_WHY_NO_AGENT;
        return tell_user(w, USHER_EMPTY, NULL);
    }
    new.state = USHER_QUEUE_USER_WAITING;
    new.priority = (w->c->given & USHER_GIVEN_QUEUE_PRIORITY) != 0 ? x->priority : 0;
    new.since = (w->c->given & USHER_GIVEN_QUEUE_SINCE) != 0 ? x->since_ms : w->now;
    new.applied = at_of(w);
    new.version = q->version + 1;
    new.beat = q->set.ttl_ms > 0 ? w->moment + q->set.ttl_ms : 0;
    new.patience = q->set.maxwait_ms > 0 ? w->moment + q->set.maxwait_ms : 0;
    for (size_t i = 0; i < q->n_users; i++)
        held += q->users[i].state == USHER_QUEUE_USER_WAITING ||
                q->users[i].state == USHER_QUEUE_USER_AWAY;
    if (q->set.limit > 0 && held >= q->set.limit &&
        (q->set.trigger != USHER_QUEUE_TRIGGER_AUTO || agent_for(w, &new) == NULL))
        return tell_user(w, USHER_FULL, NULL);
    if (!lane_comes(w, &new.lane))
        return tell_user(w, USHER_FULL, NULL);
    q->users = grown(q->users, q->n_users, sizeof new);
    q->users[q->n_users++] = new;
    q->applied++;
    counted(q, &new.lane, MODEL_ARRIVED, at_of(w), 0);
    list_add(&w->again, &w->n_again, &id);
    user_changed(w, w->c->verb, USHER_QUEUE_USER_GONE, &new);
    settle(w);
    return tell_user(w, USHER_OK, user_find(q, id.data, id.size));
}

/* Return the user, its agent and its room: for verbs after which the visit is gone. */
static void tell_visit(struct work *w, const user *u)
{
    struct usher_queue_result *r = &w->r->of.queue;

    put_name(r->user, &r->user_size, &u->id);
    put_name(r->agent, &r->agent_size, &u->agent);
    r->login = u->login;
    r->no = u->no;
    r->token = u->token;
    r->index = r->wait_ms = -1;
}

static enum usher_status ends_by_itself(struct work *w, user *u)
{
    tell_visit(w, u);
    visit_ends(w, u,
               u->state == USHER_QUEUE_USER_SEATED ? USHER_QUEUE_OUTCOME_SEATED
                                                   : USHER_QUEUE_OUTCOME_LEFT,
               at_of(w), w->c->verb);
    settle(w);
    return USHER_OK;
}

static enum usher_status verb_leave(struct work *w, user *u)
{
    return u != NULL ? ends_by_itself(w, u) : tell_ended(w);
}

static bool room_is(const struct usher_text *room, uint64_t login, int64_t no)
{
    char name[64];
    int n = snprintf(name, sizeof name, "%" PRIu64 ".%" PRId64, login, no);

    return room->size == (size_t)n && memcmp(room->data, name, room->size) == 0;
}

static agent *agent_of_room(const struct work *w, int64_t *ret_no)
{
    for (size_t i = 0; i < w->q->n_agents; i++)
        for (int64_t no = 1; no <= w->q->agents[i].capacity; no++)
            if (room_is(&w->a->room, w->q->agents[i].login, no)) {
                *ret_no = no;
                return &w->q->agents[i];
            }
    return NULL;
}

static user *user_in_room(const struct work *w)
{
    int64_t no = 0;
    const agent *a = agent_of_room(w, &no);

    for (size_t i = 0; a != NULL && i < w->q->n_users; i++)
        if (with_agent(&w->q->users[i], a) && w->q->users[i].no == no)
            return &w->q->users[i];
    return NULL;
}

/* The login that a room is named by; 0: it is no room's name. */
static uint64_t login_of_room(const struct work *w)
{
    char name[64];
    uint64_t login, no;
    int n = 0;

    if (w->a->room.size >= sizeof name)
        return 0;
    memcpy(name, w->a->room.data, w->a->room.size);
    name[w->a->room.size] = '\0';
    if (sscanf(name, "%" SCNu64 ".%" SCNu64 "%n", &login, &no, &n) != 2 ||
        !room_is(&w->a->room, login, (int64_t)no))
        return 0;
    return login;
}

static enum usher_status verb_finish(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    int64_t no = 0;
    const agent *a = agent_of_room(w, &no);
    user *u = user_in_room(w);

    if (w->q->exists && a == NULL && login_of_room(w) > w->q->version)
        return USHER_LOST;
    r->index = r->wait_ms = -1;
    if (a == NULL)
        return USHER_MISSING;
    r->login = a->login;
    r->no = no;
    put_name(r->agent, &r->agent_size, &a->id);
    if (u == NULL)
        return USHER_REFUSED;
    put_name(r->user, &r->user_size, &u->id);
    if ((w->a->user.data != NULL && !is(&u->id, w->a->user.data, w->a->user.size)) ||
        ((w->c->given & USHER_GIVEN_QUEUE_TOKEN) != 0 && w->a->token != u->token)) {
        return USHER_STALE;
    }
    if (u->state != USHER_QUEUE_USER_SEATED)
        return USHER_REFUSED;
    hear_of(w, &agent_find(w->q, a->id.data, a->id.size)->beat);
    return ends_by_itself(w, u);
}

/* accept and reject: do the two have to do with each other? */
static enum usher_status tell_pair(struct work *w, const agent *a, const user *u)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct model_text agent_id = text_of(w->a->agent.data, w->a->agent.size);

    (void)tell_user(w, USHER_OK, NULL);
    put_name(r->agent, &r->agent_size, &agent_id);
    if (a == NULL || u == NULL)
        return USHER_MISSING;
    if (!with_agent(u, a))
        return USHER_REFUSED;
    r->login = a->login;
    r->no = u->no;
    r->token = u->token;
    r->state = state_of(a);
    return USHER_OK;
}

static enum usher_status verb_accept(struct work *w, agent *a, user *u)
{
    enum usher_status status = tell_pair(w, a, u);
    unsigned from;

    if (status != USHER_OK)
        return status;
    if (u->state == USHER_QUEUE_USER_SEATED)
        return USHER_SAME;
    from = (unsigned)u->state;
    takes_seat(w, u, a);
    w->r->of.queue.state = state_of(a);
    user_changed(w, w->c->verb, from, u);
    return USHER_OK;
}

static enum usher_status verb_reject(struct work *w, agent *a, user *u)
{
    enum usher_status status = tell_pair(w, a, u);

    if (status != USHER_OK)
        return status;
    if (u->state != USHER_QUEUE_USER_OFFERED)
        return USHER_REFUSED;
    refuse(w->q, u, &u->agent, at_of(w));
    user_back(w, u, 0, at_of(w), w->c->verb);
    w->r->of.queue.state = state_of(a);
    return USHER_OK;
}

static enum usher_status verb_move(struct work *w, user *u)
{
    const struct usher_queue_args *x = w->a;
    struct queue_model_user moved;
    unsigned from;

    if (u == NULL)
        return tell_user(w, USHER_MISSING, NULL);
    if (u->state != USHER_QUEUE_USER_WAITING && u->state != USHER_QUEUE_USER_AWAY)
        return tell_user(w, USHER_REFUSED, u);
    moved = *u;
    if (x->lane.data != NULL)
        moved.lane = text_of(x->lane.data, x->lane.size);
    if ((w->c->given & USHER_GIVEN_QUEUE_PRIORITY) != 0)
        moved.priority = x->priority;
    if ((w->c->given & USHER_GIVEN_QUEUE_SINCE) != 0)
        moved.since = x->since_ms;
    if (same_text(&moved.lane, &u->lane) && moved.priority == u->priority &&
        moved.since == u->since && u->key == 0)
        return tell_user(w, USHER_SAME, u);
    if (!lane_comes(w, &moved.lane))
        return tell_user(w, USHER_FULL, u);
    from = (unsigned)u->state;
    forget_refusals(w->q, u, at_of(w)); /* with agents that have refused it, too */
    moved.key = 0;
    *u = moved;
    if (u->state == USHER_QUEUE_USER_WAITING)
        list_add(&w->again, &w->n_again, &u->id);
    user_changed(w, w->c->verb, from, u);
    settle(w);
    return tell_user(w, USHER_OK, u);
}

/* ---- verbs: the queue ---------------------------------------------------------------- */

static enum usher_status verb_pull(struct work *w, agent *a)
{
    user *u = NULL;

    if (a == NULL)
        return tell_agent(w, USHER_MISSING, NULL);
    if (w->q->set.mode == USHER_SCOPE_MODE_STOPPED)
        w->r->of.queue.why = USHER_QUEUE_WHY_STOPPED;
    if (w->q->set.mode == USHER_SCOPE_MODE_STOPPED || !is_open(w->q, a))
        return tell_agent(w, USHER_REFUSED, a);
    for (size_t i = 0; i < w->q->n_users; i++) /* refused or not */
        if (may_meet(w, &w->q->users[i], a) && (u == NULL || user_before(&w->q->users[i], u)))
            u = &w->q->users[i];
    if (u == NULL) {
        w->r->of.queue.why = USHER_QUEUE_WHY_NO_USER;
        return tell_agent(w, USHER_EMPTY, a);
    }
    w->tell_matches = w->pulls = true;
    give(w, u, a);
    w->pulls = false;
    return tell_agent(w, USHER_OK, a);
}

/* Pass over the open agents in their present order, once for each lane that an agent names.  An
 * agent that gets a user has a new place, perhaps later in the same pass. */
static void match_all(struct work *w)
{
    uint64_t before;

    do {
        uint64_t rank = 0, order = 0;
        bool first = true;

        before = w->matches;
        while (w->matches < STEP_MOST) {
            agent *next = NULL;
            uint64_t next_rank = 0, next_order = 0;
            user *u;

            for (size_t i = 0; i < w->q->n_agents; i++) {
                agent *a = &w->q->agents[i];

                for (uint64_t k = 0; is_open(w->q, a) && k < count_lanes(a); k++) {
                    uint64_t o = base_of(w->q, a) * 16 + k, r = rank_of(w->q, a);

                    if ((first || r > rank || (r == rank && o > order)) &&
                        (next == NULL || r < next_rank || (r == next_rank && o < next_order))) {
                        next = a;
                        next_rank = r;
                        next_order = o;
                    }
                }
            }
            if (next == NULL)
                break;
            rank = next_rank;
            order = next_order;
            first = false;
            u = is_due(agent_until(next), w->moment) ? NULL : user_for(w, next);
            if (u != NULL)
                give(w, u, next);
        }
    } while (w->matches != before && w->matches < STEP_MOST);
    w->r->of.queue.more = w->matches >= STEP_MOST;
}

static enum usher_status verb_match(struct work *w)
{
    w->tell_matches = true;
    if (w->q->set.mode != USHER_SCOPE_MODE_STOPPED)
        match_all(w);
    return !w->q->exists ? USHER_MISSING : w->matches > 0 ? USHER_OK : USHER_SAME;
}

static enum usher_status verb_sweep(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    uint64_t version = w->q->version;

    if (!w->q->exists)
        return USHER_MISSING;
    w->tell_matches = true;
    r->count = expire(w, (w->c->given & USHER_GIVEN_QUEUE_MAX) != 0 && w->a->max < SWEEP_MOST
                             ? (uint64_t)w->a->max
                             : SWEEP_MOST);
    r->more = w->backlog;
    return w->q->version > version ? USHER_OK : USHER_SAME;
}

/* A deadline for a sign of life under another ttl: one that is raised counts from the last sign of
 * life, one that is lowered or set from now. */
static int64_t beat_anew(const struct work *w, int64_t beat, int64_t before, int64_t ttl)
{
    if (ttl == before)
        return beat;
    if (ttl == 0)
        return 0;
    return before != 0 && beat != 0 && ttl > before ? beat + (ttl - before) : w->moment + ttl;
}

/* Another ttl or maxwait reaches all agents and users at once. */
static void limits_reach(struct work *w, const struct usher_queue_result_settings *before,
                         const struct usher_queue_result_settings *s)
{
    queue *q = w->q;

    for (size_t i = 0; i < q->n_agents; i++)
        q->agents[i].beat = beat_anew(w, q->agents[i].beat, before->ttl_ms, s->ttl_ms);
    for (size_t i = 0; i < q->n_users; i++) {
        user *u = &q->users[i];

        if (u->state != USHER_QUEUE_USER_AWAY)
            u->beat = beat_anew(w, u->beat, before->ttl_ms, s->ttl_ms);
        if (s->maxwait_ms == before->maxwait_ms)
            continue;
        u->patience = s->maxwait_ms != 0 ? u->applied + s->maxwait_ms : 0;
        if (s->maxwait_ms != 0 && u->no == 0 && u->patience <= w->moment)
            u->patience = w->moment + 1;
    }
}

static enum usher_status verb_set(struct work *w)
{
    struct usher_queue_result_settings *s = &w->q->set, before = *s;
    const struct usher_queue_args *a = w->a;
    int64_t wanted;
    uint64_t given =
        w->c->given & ~((uint64_t)USHER_GIVEN_NOW | (uint64_t)USHER_GIVEN_QUEUE_IF_VERSION);
    const struct model_text reason = w->q->reason;

    if (given == 0 && a->reason.data == NULL && !w->q->exists)
        return USHER_MISSING;
    if (given & USHER_GIVEN_QUEUE_TTL)
        s->ttl_ms = a->ttl_ms;
    if (given & USHER_GIVEN_QUEUE_TRIGGER)
        s->trigger = a->trigger;
    if (given & USHER_GIVEN_QUEUE_STRATEGY)
        s->strategy = a->strategy;
    if (given & USHER_GIVEN_QUEUE_OFFER)
        s->offer_ms = a->offer_ms;
    if (given & USHER_GIVEN_QUEUE_ASK_AGAIN)
        s->again_ms = a->again_ms;
    if (given & USHER_GIVEN_QUEUE_WRAPUP)
        s->wrapup_ms = a->wrapup_ms;
    if (given & USHER_GIVEN_QUEUE_LIMIT)
        s->limit = a->limit;
    if (given & USHER_GIVEN_QUEUE_MAXWAIT)
        s->maxwait_ms = a->maxwait_ms;
    if (given & USHER_GIVEN_QUEUE_GRACE)
        s->grace_ms = a->grace_ms;
    if (given & USHER_GIVEN_QUEUE_REQUEUE)
        s->requeue = a->requeue;
    if (given & USHER_GIVEN_QUEUE_HISTORY)
        s->history = a->history;
    if (given & USHER_GIVEN_QUEUE_ZONE)
        s->zone_min = a->zone_min;
    if (given & USHER_GIVEN_QUEUE_SERVICE)
        s->service_ms = a->service_ms;
    if (given & USHER_GIVEN_QUEUE_REQUESTS)
        s->requests = a->requests;
    if (given & USHER_GIVEN_QUEUE_ARCHIVE)
        s->archive = a->archive;
    if (given & USHER_GIVEN_QUEUE_LOG)
        s->log = a->log;
    if (given & USHER_GIVEN_QUEUE_STRICT)
        s->strict = a->strict;
    if (given & USHER_GIVEN_QUEUE_MODE)
        s->mode = a->mode;
    if (given & USHER_GIVEN_QUEUE_PUSH)
        s->push = a->push;
    w->r->of.queue.of.settings = *s;
    if (a->reason.data != NULL)
        w->q->reason = text_of(a->reason.data, a->reason.size);
    else if (s->mode != before.mode)
        w->q->reason = text_of(NULL, 0);
    tell_reason(w);
    if (given == 0 && a->reason.data == NULL)
        return USHER_OK;
    if (w->q->exists && memcmp(s, &before, sizeof before) == 0 && same_text(&w->q->reason, &reason))
        return USHER_SAME;
    w->q->exists = true;
    wanted = s->mode;
    limits_reach(w, &before, s);
    if (!by_itself(&before) && by_itself(s)) {
        /* it comes last, when no user waits for it any more */
        s->trigger = before.trigger;
        s->mode = before.mode;
        if (memcmp(s, &before, sizeof before) != 0)
            notify(w, w->c->verb, 0, 0, NULL, 0, 0, NULL);
        match_all(w);
        s->trigger = USHER_QUEUE_TRIGGER_AUTO;
        s->mode = wanted;
    }
    notify(w, w->c->verb, 0, 0, NULL, 0, 0, NULL);
    return USHER_OK;
}

/* ---- verbs that look ----------------------------------------------------------------- */

static size_t page(const struct work *w)
{
    return (w->c->given & USHER_GIVEN_QUEUE_MAX) != 0 ? (size_t)w->a->max : USHER_LIST_DEFAULT;
}

/* Users are listed in one of three orders: waiting users by place, those with a room by apply, and
 * those with a deadline by that (for absent ones). */
static bool is_listed(const user *u, int64_t state)
{
    if (state == USHER_QUEUE_USER_WAITING)
        return u->state == USHER_QUEUE_USER_WAITING;
    return state == USHER_QUEUE_USER_AWAY ? user_until(u) != 0 : u->no != 0;
}

static uint64_t list_key(const user *u, int64_t state)
{
    if (state == USHER_QUEUE_USER_WAITING)
        return (uint64_t)(USHER_QUEUE_PRIORITY_MAX - u->priority) << 43 | (uint64_t)u->since;
    return state == USHER_QUEUE_USER_AWAY ? (uint64_t)user_until(u) : 0;
}

/* "HI.ORDER", where a page ended. */
static bool cursor_read(const struct usher_text *after, uint64_t *ret_hi, uint64_t *ret_order)
{
    char copy[USHER_NAME_MAX + 1], *dot, *end;

    memcpy(copy, after->data, after->size);
    copy[after->size] = '\0';
    dot = strchr(copy, '.');
    if (dot == NULL || dot == copy || dot[1] == '\0' ||
        strspn(copy, "0123456789.") != after->size || dot - copy > 16 || strlen(dot + 1) > 16 ||
        strchr(dot + 1, '.') != NULL)
        return false;
    *ret_hi = strtoull(copy, &end, 10);
    *ret_order = strtoull(dot + 1, &end, 10);
    return true;
}

static void cursor_put(struct work *w, uint64_t hi, uint64_t order)
{
    struct usher_queue_result *r = &w->r->of.queue;

    r->more = true;
    r->agent_size = (size_t)snprintf(r->agent, sizeof r->agent, "%" PRIu64 ".%" PRIu64, hi, order);
}

static enum usher_status verb_list(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    const struct usher_text *of = &w->a->lane;
    int64_t state =
        (w->c->given & USHER_GIVEN_QUEUE_STATE) != 0 ? w->a->state : USHER_QUEUE_USER_WAITING;
    bool by_lane =
        of->data != NULL && (state == USHER_QUEUE_USER_WAITING || state == USHER_QUEUE_USER_AWAY);
    uint64_t hi = 0, order = 0;

    if (w->a->after.data != NULL)
        (void)cursor_read(&w->a->after, &hi, &order);
    if (!w->q->exists)
        return USHER_MISSING;
    for (;;) {
        const user *next = NULL;

        for (size_t i = 0; i < w->q->n_users; i++) {
            const user *u = &w->q->users[i];
            uint64_t key = list_key(u, state);

            if (!is_listed(u, state) || (by_lane && !is(&u->lane, of->data, of->size)) ||
                key < hi || (key == hi && u->version <= order))
                continue;
            if (next == NULL || key < list_key(next, state) ||
                (key == list_key(next, state) && u->version < next->version))
                next = u;
        }
        if (next == NULL)
            return USHER_OK;
        if (r->n_rows == page(w)) {
            cursor_put(w, hi, order);
            return USHER_OK;
        }
        hi = list_key(next, state);
        order = next->version;
        if ((int64_t)next->state == state &&
            (of->data == NULL || is(&next->lane, of->data, of->size)))
            user_row(w, next, &next->agent)->version = next->version;
    }
}

static enum usher_status verb_agents(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct model_text after = text_of(w->a->after.data, w->a->after.size);

    if (!w->q->exists)
        return USHER_MISSING;
    for (;;) {
        const agent *next = NULL;
        struct usher_queue_result_row *row;

        for (size_t i = 0; i < w->q->n_agents; i++)
            if (text_compare(&w->q->agents[i].id, &after) > 0 &&
                (next == NULL || text_compare(&w->q->agents[i].id, &next->id) < 0))
                next = &w->q->agents[i];
        if (next == NULL)
            return USHER_OK;
        if (r->n_rows == page(w)) {
            r->more = true;
            put_name(r->agent, &r->agent_size, &after);
            return USHER_OK;
        }
        row = row_add(w, &next->reason, &next->id, NULL);
        row->lanes =
            (struct usher_text){ kept_lanes(next->lanes, next->lanes_size), next->lanes_size };
        row->login = next->login;
        row->token = next->session_version;
        row->state = (int)state_of(next);
        row->since_ms = next->login_at;
        row->matched_ms = next->state_since;
        row->until_ms = next->state == USHER_QUEUE_AGENT_WRAPUP ? next->wrap : 0;
        row->capacity = next->capacity;
        row->used = users_with(w->q, next, USHER_QUEUE_USER_GONE);
        row->served = next->served;
        row->level = next->level;
        after = next->id;
    }
}

/* The figures of the lane @of, or of all. */
static void figures(const struct work *w, const struct usher_text *of,
                    struct usher_queue_result_statistics *s)
{
    const queue *q = w->q;
    int64_t wait = 0, talk = 0, came;

    for (size_t i = 0; i < q->n_users; i++) {
        const user *u = &q->users[i];

        if (of->data != NULL && !is(&u->lane, of->data, of->size))
            continue;
        s->waiting += u->state == USHER_QUEUE_USER_WAITING;
        s->away += u->state == USHER_QUEUE_USER_AWAY;
        s->offered += u->state == USHER_QUEUE_USER_OFFERED;
        s->seated += u->state == USHER_QUEUE_USER_SEATED;
        if (u->state == USHER_QUEUE_USER_WAITING) {
            int64_t began = u->applied > u->since ? u->applied : u->since;

            if (w->now - u->since > s->longest_since_ms)
                s->longest_since_ms = w->now - u->since;
            if (w->now - began > s->longest_wait_ms)
                s->longest_wait_ms = w->now - began;
        }
    }
    for (size_t i = 0; i < q->n_agents; i++) {
        struct model_text of_lane = text_of(of->data, of->size);

        if (of->data != NULL && !serves(&q->agents[i], &of_lane))
            continue;
        s->agents++;
        s->idle += q->agents[i].state == USHER_QUEUE_AGENT_IDLE;
        s->ringing += q->agents[i].state == USHER_QUEUE_AGENT_OFFERED;
        s->busy += q->agents[i].state == USHER_QUEUE_AGENT_BUSY;
        s->wrapup += q->agents[i].state == USHER_QUEUE_AGENT_WRAPUP;
        s->paused += q->agents[i].state == USHER_QUEUE_AGENT_PAUSED;
    }
    for (size_t i = 0; i < q->n_events; i++) {
        const struct queue_model_event *e = &q->events[i];
        const lane *l = lane_find(q, &e->lane);

        if (of->data != NULL && (!is(&e->lane, of->data, of->size) || l == NULL ||
                                 e->version < l->came)) /* of a lane that was forgotten */
            continue;
        s->arrived_total += e->what == MODEL_ARRIVED;
        s->seated_total += e->what == MODEL_SEATED;
        s->within_total += e->what == MODEL_SEATED && e->within;
        s->wait_total_ms += e->what == MODEL_SEATED ? e->ms : 0;
        s->abandoned_total += e->what == MODEL_ABANDONED;
        s->abandoned_within_total += e->what == MODEL_ABANDONED && e->within;
        s->timeout_total += e->what == MODEL_TIMEOUT;
        s->finished_total += e->what == MODEL_FINISHED;
        s->talk_total_ms += e->what == MODEL_FINISHED ? e->ms : 0;
        s->dropped_total += e->what == MODEL_DROPPED;
        if (l == NULL || e->version < l->came || e->day < day_of(q, w->now) || e->day != l->day)
            continue;
        s->arrived_today += e->what == MODEL_ARRIVED;
        s->seated_today += e->what == MODEL_SEATED;
        s->within_today += e->what == MODEL_SEATED && e->within;
        wait += e->what == MODEL_SEATED ? e->ms : 0;
        s->abandoned_today += e->what == MODEL_ABANDONED;
        s->abandoned_within_today += e->what == MODEL_ABANDONED && e->within;
        s->timeout_today += e->what == MODEL_TIMEOUT;
        s->finished_today += e->what == MODEL_FINISHED;
        talk += e->what == MODEL_FINISHED ? e->ms : 0;
        s->dropped_today += e->what == MODEL_DROPPED;
    }
    came = s->seated_today + s->abandoned_today + s->timeout_today - s->abandoned_within_today;
    s->service_level = came > 0 ? s->within_today * 10000 / came : -1;
    s->service_seated = s->seated_today > 0 ? s->within_today * 10000 / s->seated_today : -1;
    s->wait_ms = s->seated_today > 0 ? wait / s->seated_today : -1;
    s->talk_ms = s->finished_today > 0 ? talk / s->finished_today : -1;
    s->visits = (int64_t)q->n_visits;
}

/* Count the paused agents by reason, in the order of their logins, those that name the lane of the
 * command first. */
static void paused_by(struct work *w)
{
    static const struct usher_text all = { "*", 1 };
    const struct usher_text *of = &w->a->lane;
    struct usher_queue_result *r = &w->r->of.queue;

    for (int named = of->data != NULL; named >= 0; named--)
        for (uint64_t after = 0;;) {
            const agent *a = NULL;
            struct usher_queue_result_row *row = NULL;

            for (size_t i = 0; i < w->q->n_agents; i++) {
                const agent *b = &w->q->agents[i];
                struct model_text of_lane = text_of(of->data, of->size);
                bool for_all = same_lanes(b->lanes, b->lanes_size, all.data, all.size);

                if (b->state == USHER_QUEUE_AGENT_PAUSED && b->login > after &&
                    (of->data == NULL || (serves(b, &of_lane) && for_all == !named)) &&
                    (a == NULL || b->login < a->login))
                    a = b;
            }
            if (a == NULL)
                break;
            after = a->login;
            for (size_t i = 0; i < r->n_rows; i++)
                if (is(&a->reason, r->rows[i].user.data, r->rows[i].user.size))
                    row = (struct usher_queue_result_row *)w->r->block + i;
            if (row == NULL)
                row = row_add(w, &a->reason, NULL, NULL);
            row->served++;
        }
}

static enum usher_status verb_stats(struct work *w)
{
    if (!w->q->exists)
        return USHER_MISSING;
    figures(w, &w->a->lane, &w->r->of.queue.of.stats);
    w->r->of.queue.of.stats.mode = w->q->set.mode;
    put_name(w->r->of.queue.user, &w->r->of.queue.user_size, &w->q->reason);
    paused_by(w);
    return USHER_OK;
}

/* @e is of the lane of the command, or of any. */
static bool is_of(const struct work *w, const struct queue_model_event *e)
{
    const struct usher_text *of = &w->a->lane;
    const lane *l = lane_find(w->q, &e->lane);

    return of->data == NULL ||
           (is(&e->lane, of->data, of->size) && l != NULL && e->version >= l->came);
}

static enum usher_status verb_intervals(struct work *w)
{
    const queue *q = w->q;
    int64_t day = q->exists ? day_of(q, w->now) : 0, first = day > 0 ? day / 15 : 0;

    if (!q->exists)
        return USHER_MISSING;
    for (int64_t quarter = first; quarter < first + 97; quarter++) {
        struct usher_queue_result_row sum = { .since_ms = quarter * 15 * MINUTE };

        for (size_t i = 0; i < q->n_events; i++) {
            const struct queue_model_event *e = &q->events[i];
            const lane *l = lane_find(q, &e->lane);

            if (!is_of(w, e) || l == NULL || e->version < l->came || e->day < day ||
                e->day != l->day || e->quarter != quarter)
                continue;
            sum.priority += e->what == MODEL_ARRIVED;
            sum.capacity += e->what == MODEL_SEATED;
            sum.used += e->what == MODEL_SEATED && e->within;
            sum.wait_ms += e->what == MODEL_SEATED ? e->ms : 0;
            sum.served += e->what == MODEL_ABANDONED;
            sum.level += e->what == MODEL_TIMEOUT;
            sum.talk_ms += e->what == MODEL_FINISHED ? e->ms : 0;
        }
        if (sum.priority + sum.capacity + sum.served + sum.level + sum.talk_ms > 0)
            *row_add(w, NULL, NULL, NULL) = sum;
    }
    return USHER_OK;
}

static enum usher_status verb_waits(struct work *w)
{
    static const int64_t bounds[] = { 5,   10,  15,  20,  30,   45,   60,   90,
                                      120, 180, 300, 600, 1200, 1800, 3600, -1 };

    if (!w->q->exists)
        return USHER_MISSING;
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        struct usher_queue_result_row *row = row_add(w, NULL, NULL, NULL);

        row->until_ms = bounds[k] < 0 ? -1 : bounds[k] * 1000;
        for (size_t i = 0; i < w->q->n_events; i++)
            row->served += is_of(w, &w->q->events[i]) && w->q->events[i].what == MODEL_SEATED &&
                           (bounds[k] < 0 || w->q->events[i].ms <= bounds[k] * 1000);
    }
    return USHER_OK;
}

static enum usher_status verb_lanes(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct model_text after = text_of(w->a->after.data, w->a->after.size);

    if (!w->q->exists)
        return USHER_MISSING;
    for (;;) {
        const lane *next = NULL;
        struct usher_queue_result_statistics s = { 0 };
        struct usher_queue_result_row *row;

        for (size_t i = 0; i < w->q->n_lanes; i++)
            if (text_compare(&w->q->lanes[i].id, &after) > 0 &&
                (next == NULL || text_compare(&w->q->lanes[i].id, &next->id) < 0))
                next = &w->q->lanes[i];
        if (next == NULL)
            return USHER_OK;
        if (r->n_rows == page(w)) {
            r->more = true;
            put_name(r->agent, &r->agent_size, &after);
            return USHER_OK;
        }
        row = row_add(w, NULL, NULL, &next->id);
        figures(w, &row->lane, &s);
        row->priority = s.waiting;
        row->since_ms = s.away;
        row->applied_ms = s.offered;
        row->matched_ms = s.seated;
        row->until_ms = s.longest_wait_ms;
        row->capacity = s.seated_today;
        row->used = s.abandoned_today;
        row->served = s.timeout_today;
        row->level = s.finished_today;
        row->no = s.service_level;
        row->login = (uint64_t)s.arrived_today;
        row->version = (uint64_t)s.within_today;
        row->token = (uint64_t)s.abandoned_within_today;
        row->wait_ms = s.wait_ms;
        row->talk_ms = s.talk_ms;
        after = next->id;
    }
}

static void visit_add(struct work *w, const struct queue_model_visit *v)
{
    struct usher_queue_result_row *row = row_add(w, &v->user, &v->agent, &v->lane);

    row->login = v->login;
    row->no = v->no;
    row->state = (int)v->outcome;
    row->priority = v->priority;
    row->since_ms = v->since;
    row->applied_ms = v->applied;
    row->matched_ms = v->seated;
    row->until_ms = v->end;
    row->wait_ms = span(v->applied, v->had_room ? v->seated : v->end);
    row->talk_ms = v->had_room ? span(v->seated, v->end) : 0;
    row->version = v->version;
    row->token = v->token;
}

static enum usher_status verb_history(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    const struct usher_queue_args *x = w->a;
    const queue *q = w->q;
    uint64_t before = UINT64_MAX, hi;

    if (x->after.data != NULL)
        (void)cursor_read(&x->after, &hi, &before);
    if (!q->exists)
        return USHER_MISSING;
    for (size_t i = q->n_visits; i-- > 0;) {
        const struct queue_model_visit *v = &q->visits[i];

        if (v->version >= before ||
            (x->user.data != NULL && !is(&v->user, x->user.data, x->user.size)))
            continue;
        if (r->n_rows == page(w)) {
            cursor_put(w, 0, before);
            break;
        }
        before = v->version;
        if ((w->c->given & USHER_GIVEN_QUEUE_SINCE) != 0 && v->end < x->since_ms)
            continue;
        if ((w->c->given & USHER_GIVEN_QUEUE_UNTIL) != 0 && v->end > x->until_ms)
            continue;
        if (x->agent.data != NULL && !is(&v->agent, x->agent.data, x->agent.size))
            continue;
        visit_add(w, v);
    }
    return USHER_OK;
}

static enum usher_status verb_drain(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    queue *q = w->q;

    if (!q->exists)
        return USHER_MISSING;
    if ((w->c->given & USHER_GIVEN_QUEUE_TOKEN) != 0)
        for (size_t i = 0; i < q->n_visits;) {
            const struct queue_model_visit *v = &q->visits[i];

            if (v->version <= w->a->token &&
                ((w->c->given & USHER_GIVEN_QUEUE_UNTIL) == 0 || v->end <= w->a->until_ms)) {
                removed(q->visits, &q->n_visits, sizeof *v, i);
                r->count++;
            } else {
                i++;
            }
        }
    for (size_t i = 0; i < q->n_visits && !r->more; i++) {
        if (r->n_rows == page(w))
            r->more = true;
        else
            visit_add(w, &q->visits[i]);
    }
    return r->count > 0 || r->n_rows > 0 ? USHER_OK : USHER_SAME;
}

/* ---- request ids --------------------------------------------------------------------- */

static void remember_request(struct work *w)
{
    queue *q = w->q;
    struct queue_model_request *k;
    const struct usher_text *id = &w->c->request;
    const struct usher_queue_result_row *rows = w->r->of.queue.rows;

    if (id->data == NULL)
        return;
    for (size_t i = 0; i < q->n_requests; i++)
        if (is(&q->requests[i].id, id->data, id->size)) {
            free(q->requests[i].rows);
            removed(q->requests, &q->n_requests, sizeof *q->requests, i);
            break;
        }
    q->requests = grown(q->requests, q->n_requests, sizeof *q->requests);
    k = &q->requests[q->n_requests++];
    k->id = text_of(id->data, id->size);
    k->asked = gen_asked(w->c);
    k->at = w->moment;
    k->answer = *w->r;
    for (size_t i = 0; i < w->r->of.queue.n_rows; i++) {
        struct queue_model_row *row;

        k->rows = grown(k->rows, k->n_rows, sizeof *row);
        row = &k->rows[k->n_rows++];
        row->user = text_of(rows[i].user.data, rows[i].user.size);
        row->agent = text_of(rows[i].agent.data, rows[i].agent.size);
        row->lane = text_of(rows[i].lane.data, rows[i].lane.size);
        row->row = rows[i];
    }
    for (int i = 0; i < 2; i++)
        if (q->n_requests > 1 && ((int64_t)q->n_requests > q->set.requests ||
                                  q->requests[0].at + REQUEST_AGE <= w->moment)) {
            free(q->requests[0].rows);
            removed(q->requests, &q->n_requests, sizeof *q->requests, 0);
        }
}

/* The kept answer. */
static void answer_again(struct work *w, const struct queue_model_request *k)
{
    *w->r = k->answer;
    w->r->repeated = true;
    w->r->block = NULL;
    w->r->of.queue.rows = NULL;
    w->r->of.queue.n_rows = 0;
    for (size_t i = 0; i < k->n_rows; i++) {
        struct usher_queue_result_row *row =
            row_add(w, &k->rows[i].user, &k->rows[i].agent, &k->rows[i].lane);
        struct usher_text user_id = row->user, agent_id = row->agent, lane_id = row->lane;

        *row = k->rows[i].row;
        row->user = user_id;
        row->agent = agent_id;
        row->lane = lane_id;
        row->lanes = row->value = (struct usher_text){ NULL, 0 };
    }
}

static void settings_default(queue *q)
{
    q->gap_from = q->gap_to = q->behind = 0;
    memset(&q->set, 0, sizeof q->set);
    q->set.ttl_ms = 15000;
    q->set.trigger = USHER_QUEUE_TRIGGER_AUTO;
    q->set.mode = USHER_SCOPE_MODE_OPEN;
    q->set.strategy = USHER_QUEUE_STRATEGY_LONGEST_IDLE;
    q->set.requeue = USHER_QUEUE_REQUEUE_FRONT;
    q->set.history = 1000;
    q->set.service_ms = 20000;
    q->set.again_ms = 5000;
    q->set.requests = 10000;
}

/* An agent has two links for each lane. */
static size_t records_of(const queue *q)
{
    size_t n = q->n_agents + q->n_users + q->n_absent + q->n_lanes + q->n_visits + q->n_requests +
               q->log.n + q->n_refusals + q->n_waste + (q->reason.size != 0) + q->lanes_removed;

    for (size_t i = 0; i < q->n_lanes; i++)
        n += q->lanes[i].earlier;
    for (size_t i = 0; i < q->n_agents; i++)
        n += 2 * count_lanes(&q->agents[i]);
    return n;
}

static enum usher_status verb_drop(struct work *w)
{
    queue *q = w->q;
    size_t n;

    if (!q->exists)
        return USHER_SAME;
    if ((w->c->given & USHER_GIVEN_QUEUE_IF_VERSION) != 0 &&
        (uint64_t)w->a->if_version != q->version)
        return USHER_STALE;
    if (q->set.archive != 0 && q->n_visits > 0) {
        w->r->of.queue.why = USHER_QUEUE_WHY_HISTORY;
        return USHER_REFUSED;
    }
    if (!q->dropping) {
        queue empty = { .name = q->name, .exists = true, .epoch = q->epoch, .dropping = true };

        empty.version = q->version;
        empty.fault = q->fault;
        empty.left = records_of(q);
        queue_done(q);
        *q = empty;
        settings_default(q);
        notify(w, USHER_QUEUE_DROP, 0, 0, NULL, 0, 0, NULL);
    }
    n = q->left < DROP_MOST ? q->left : DROP_MOST;
    q->left -= n;
    if (n < DROP_MOST) {
        q->exists = q->dropping = false;
        q->clock = 0;
    }
    w->r->of.queue.count = n;
    w->r->of.queue.more = q->dropping;
    return USHER_OK;
}

static enum usher_status verb_changes(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    const struct model_log *log = &w->q->log;
    enum usher_status status;
    size_t i = 0;

    if (!w->q->exists)
        return USHER_MISSING;
    r->since = log->since;
    r->of.settings.push = w->q->set.push;
    status = model_log_read(log, w->q->set.log, w->q->version, (uint64_t)w->a->since, &i);
    for (; status == USHER_OK && i < log->n; i++) {
        struct usher_queue_result_row *row;

        if (r->n_rows == page(w)) {
            r->more = true;
            break;
        }
        row = row_add(w, NULL, NULL, NULL);
        row->value.size = log->notices[i].size;
        row->value.data =
            memcpy(grown(NULL, row->value.size, 1), log->notices[i].packed, row->value.size);
    }
    return status;
}

/* ---- dispatch ------------------------------------------------------------------------ */

static agent *agent_named(const struct work *w)
{
    return w->a->agent.data != NULL ? agent_find(w->q, w->a->agent.data, w->a->agent.size) : NULL;
}

static user *user_named(const struct work *w)
{
    return w->a->user.data != NULL && w->c->verb != USHER_QUEUE_FINISH
               ? user_find(w->q, w->a->user.data, w->a->user.size)
               : NULL;
}

/* The command shows a token of something that is there, and not the one that it has now. */
static bool token_stale(const struct work *w, const agent *a, const user *u)
{
    const struct queue_model_absent *absent;
    struct model_text id = text_of(w->a->agent.data, w->a->agent.size);

    switch (w->c->verb) {
    case USHER_QUEUE_ACCEPT:
    case USHER_QUEUE_REJECT:
        return u != NULL && u->token != w->a->token;
    case USHER_QUEUE_LEAVE:
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_MOVE:
        return u != NULL && u->version != w->a->token;
    case USHER_QUEUE_ALIVE:
        if (w->a->user.data != NULL)
            return u != NULL && u->version != w->a->token;
        return a != NULL && a->session_version != w->a->token;
    case USHER_QUEUE_LOGOUT:
        absent = absent_of(w->q, &id);
        return a != NULL        ? a->session_version != w->a->token
               : absent != NULL ? absent->token != w->a->token
                                : false;
    case USHER_QUEUE_PAUSE:
    case USHER_QUEUE_READY:
    case USHER_QUEUE_PULL:
        return a != NULL && a->session_version != w->a->token;
    default: /* finish looks at it by itself, drain has another one */
        return false;
    }
}

/* The agent or the user of the command has another token, and nothing is done. */
static enum usher_status tell_stale(struct work *w)
{
    struct usher_queue_result *r = &w->r->of.queue;
    struct model_text agent_id = text_of(w->a->agent.data, w->a->agent.size);

    if (w->a->user.data != NULL)
        (void)tell_user(w, USHER_STALE, NULL);
    put_name(r->agent, &r->agent_size, &agent_id);
    return USHER_STALE;
}

static enum usher_status answer(struct work *w)
{
    agent *a = agent_named(w);
    user *u = user_named(w);

    if ((w->c->given & USHER_GIVEN_QUEUE_TOKEN) != 0 && w->c->verb != USHER_QUEUE_DRAIN) {
        if (w->q->exists && w->a->token > w->q->version)
            return USHER_LOST;
        if (token_stale(w, a, u))
            return tell_stale(w);
    }

    if (a != NULL && (w->c->verb == USHER_QUEUE_ACCEPT || w->c->verb == USHER_QUEUE_REJECT ||
                      w->c->verb == USHER_QUEUE_PAUSE || w->c->verb == USHER_QUEUE_PULL ||
                      w->c->verb == USHER_QUEUE_READY))
        agent_alive(w, a);
    switch (w->c->verb) {
    case USHER_QUEUE_SET:
        return verb_set(w);
    case USHER_QUEUE_LOGIN:
        return verb_login(w, a);
    case USHER_QUEUE_LOGOUT:
        return verb_logout(w, a);
    case USHER_QUEUE_PAUSE:
        return verb_pause(w, a);
    case USHER_QUEUE_READY:
        return verb_ready(w, a);
    case USHER_QUEUE_ALIVE:
        return verb_alive(w, a, u);
    case USHER_QUEUE_ROOM:
        return verb_room(w, a, USHER_OK);
    case USHER_QUEUE_APPLY:
        return verb_apply(w, u);
    case USHER_QUEUE_WHERE:
        return u != NULL ? tell_user(w, USHER_OK, u) : tell_ended(w);
    case USHER_QUEUE_LEAVE:
        return verb_leave(w, u);
    case USHER_QUEUE_FINISH:
        return verb_finish(w);
    case USHER_QUEUE_ACCEPT:
        return verb_accept(w, a, u);
    case USHER_QUEUE_REJECT:
        return verb_reject(w, a, u);
    case USHER_QUEUE_PULL:
        return verb_pull(w, a);
    case USHER_QUEUE_MATCH:
        return verb_match(w);
    case USHER_QUEUE_SWEEP:
        return verb_sweep(w);
    case USHER_QUEUE_LIST:
        return verb_list(w);
    case USHER_QUEUE_AGENTS:
        return verb_agents(w);
    case USHER_QUEUE_STATS:
        return verb_stats(w);
    case USHER_QUEUE_INTERVALS:
        return verb_intervals(w);
    case USHER_QUEUE_WAITS:
        return verb_waits(w);
    case USHER_QUEUE_LANES:
        return verb_lanes(w);
    case USHER_QUEUE_HISTORY:
        return verb_history(w);
    case USHER_QUEUE_DRAIN:
        return verb_drain(w);
    case USHER_QUEUE_MOVE:
        return verb_move(w, u);
    case USHER_QUEUE_FREE:
        return verb_free(w, a);
    default:
        abort(); /* arguments_right() */
    }
}

/* Checks that depend only on the time, or on the form of a text. */
static bool right_by_now(const struct work *w)
{
    enum usher_verb v = w->c->verb;
    uint64_t hi, order;

    if (w->q->exists && w->q->set.strict != 0 && (w->c->given & USHER_GIVEN_QUEUE_TOKEN) == 0 &&
        (v == USHER_QUEUE_LOGOUT || v == USHER_QUEUE_PAUSE || v == USHER_QUEUE_READY ||
         v == USHER_QUEUE_PULL || v == USHER_QUEUE_ALIVE || v == USHER_QUEUE_LEAVE ||
         v == USHER_QUEUE_MOVE || v == USHER_QUEUE_ACCEPT || v == USHER_QUEUE_REJECT ||
         v == USHER_QUEUE_FINISH))
        return false;
    if ((v == USHER_QUEUE_APPLY || v == USHER_QUEUE_LOGIN) && w->now > USHER_QUEUE_TIME_MAX)
        return false;
    if ((v == USHER_QUEUE_APPLY || v == USHER_QUEUE_MOVE) &&
        (w->c->given & USHER_GIVEN_QUEUE_SINCE) != 0 && w->a->since_ms > w->now)
        return false;
    if ((v != USHER_QUEUE_LIST && v != USHER_QUEUE_HISTORY) || w->a->after.data == NULL)
        return true;
    if (!cursor_read(&w->a->after, &hi, &order))
        return false;
    if (v == USHER_QUEUE_LIST &&
        ((w->c->given & USHER_GIVEN_QUEUE_STATE) == 0 || w->a->state == USHER_QUEUE_USER_WAITING ||
         w->a->state == USHER_QUEUE_USER_AWAY))
        return true; /* any place may be where a page ended */
    return hi == 0;
}

/* It is to be done at one version alone, and that is not this one: answered. */
static bool other_version(struct work *w)
{
    bool makes = w->c->verb == USHER_QUEUE_LOGIN || w->c->verb == USHER_QUEUE_SET;

    if ((w->c->given & USHER_GIVEN_QUEUE_IF_VERSION) == 0 ||
        (w->q->exists ? (uint64_t)w->a->if_version == w->q->version : !makes))
        return false;
    w->r->status = w->q->exists ? USHER_STALE : USHER_MISSING;
    return true;
}

static void execute(struct work *w)
{
    struct usher_result *r = w->r;
    const struct usher_text *id = &w->c->request;
    uint64_t version;

    if (w->c->verb == USHER_QUEUE_CHANGES) {
        r->status = verb_changes(w);
        return;
    }
    if (id->data != NULL)
        for (size_t i = 0; i < w->q->n_requests; i++) {
            const struct queue_model_request *k = &w->q->requests[i];

            if (!is(&k->id, id->data, id->size) || k->at + REQUEST_AGE <= w->moment)
                continue;
            if (k->asked != gen_asked(w->c)) {
                r->status = USHER_INVALID; /* as all of them: about no version */
                r->version = r->epoch = 0;
                return;
            }
            answer_again(w, k);
            return;
        }
    if (!right_by_now(w)) {
        r->status = USHER_INVALID;
        r->version = r->epoch = 0;
        return;
    }
    if (w->c->verb == USHER_QUEUE_DROP) {
        bool there = w->q->exists;

        r->status = verb_drop(w);
        r->version = there ? w->q->version : 0;
        if (there && !w->q->exists)
            w->q->epoch++;
        return;
    }
    if (w->c->verb != USHER_QUEUE_SWEEP && w->c->verb != USHER_QUEUE_DRAIN)
        expire_all(w);
    version = w->q->version;
    w->matches = 0;
    if (other_version(w)) {
        r->version = w->q->exists ? w->q->version : 0;
        r->epoch = w->q->exists ? w->q->epoch : 0;
        return;
    }
    r->status = answer(w);
    settle(w);
    (void)anything_due(w); /* one whose offer was refused at the end of its wait */
    if (w->matches > 0 &&
        (w->c->verb == USHER_QUEUE_LOGIN || w->c->verb == USHER_QUEUE_READY ||
         w->c->verb == USHER_QUEUE_FREE || w->c->verb == USHER_QUEUE_REJECT) &&
        agent_named(w) != NULL)
        r->of.queue.state = state_of(agent_named(w)); /* after the match */
    if (r->status == USHER_OK &&
        (w->c->verb == USHER_QUEUE_LEAVE || w->c->verb == USHER_QUEUE_FINISH)) {
        const agent *a = agent_find(w->q, r->of.queue.agent, r->of.queue.agent_size);

        r->of.queue.state = a != NULL ? state_of(a) : USHER_QUEUE_AGENT_GONE;
    }
    r->version = w->q->exists ? w->q->version : 0;
    r->epoch = w->q->exists ? w->q->epoch : 0;
    if (r->status == USHER_OK && w->q->version > version)
        remember_request(w);
}

/* No waiting user and open agent are left that could be matched.  If the clock went back before all
 * that was due had been applied, some of it is matched at its next heartbeat. */
static void check_idle_hands(struct work *w)
{
    int64_t last = w->q->behind;

    if (!by_itself(&w->q->set) || w->backlog)
        return;
    for (size_t i = 0; i < w->q->n_users; i++)
        for (size_t j = 0; j < w->q->n_agents; j++)
            if (fits(w, &w->q->users[i], &w->q->agents[j]) &&
                !is_due(user_until(&w->q->users[i]), last) &&
                !is_due(agent_until(&w->q->agents[j]), last))
                fault(w, "an open agent and a waiting user are not matched");
}

/* When something of @q ends by itself. */
static int64_t due_of(const queue *q)
{
    int64_t due = USHER_NEVER;

    for (size_t i = 0; i < q->n_agents; i++)
        if (agent_until(&q->agents[i]) != 0 && agent_until(&q->agents[i]) < due)
            due = agent_until(&q->agents[i]);
    for (size_t i = 0; i < q->n_users; i++)
        if (user_until(&q->users[i]) != 0 && user_until(&q->users[i]) < due)
            due = user_until(&q->users[i]);
    for (size_t i = 0; i < q->n_refusals; i++)
        if (q->refusals[i].until != 0 && q->refusals[i].until < due)
            due = q->refusals[i].until;
    return due;
}

void queue_model_execute(struct queue_model *m, const struct usher_operation *c,
                         struct usher_result *r)
{
    queue *q;
    bool hidden;
    struct work w;

    memset(&w, 0, sizeof w);
    memset(r, 0, sizeof *r);
    r->noun = USHER_QUEUE;
    if (!arguments_right(c)) {
        r->status = USHER_INVALID;
        return;
    }
    q = queue_find(m, c->scope.data, c->scope.size);
    if (q == NULL) {
        m->queues = grown(m->queues, m->n_queues, sizeof *m->queues);
        q = &m->queues[m->n_queues++];
        q->name = text_of(c->scope.data, c->scope.size);
        q->epoch = 1;
        settings_default(q);
    }
    if (q->dropping && (c->verb == USHER_QUEUE_SET || c->verb == USHER_QUEUE_LOGIN)) {
        q->exists = q->dropping = false; /* as the rest is erased first */
        q->epoch++;
        q->clock = 0;
    }
    hidden = q->dropping && c->verb != USHER_QUEUE_DROP;
    if (hidden)
        q->exists = false;
    w.m = m;
    w.q = q;
    w.c = c;
    w.a = &c->arg.queue;
    w.r = r;
    w.moment = c->now_ms;
    w.now = w.seen = c->now_ms < q->clock ? q->clock : c->now_ms;
    r->version = q->exists ? q->version : 0;
    r->epoch = q->exists ? q->epoch : 0;
    execute(&w);
    r->due_ms = due_of(q);
    q->exists = q->exists || hidden;
    if (r->status != USHER_INVALID && !r->repeated)
        check_idle_hands(&w);
    free(w.open);
    free(w.again);
}

void queue_model_reply_done(struct usher_result *r)
{
    struct usher_queue_result_row *rows = r->block;

    if (rows == NULL)
        return;
    for (size_t i = 0; i < r->of.queue.n_rows; i++) {
        free((void *)(uintptr_t)rows[i].user.data);
        free((void *)(uintptr_t)rows[i].agent.data);
        free((void *)(uintptr_t)rows[i].lane.data);
        free((void *)(uintptr_t)rows[i].lanes.data);
        free((void *)(uintptr_t)rows[i].value.data);
    }
    free(rows);
    r->block = NULL;
    r->of.queue.rows = NULL;
    r->of.queue.n_rows = 0;
}

/* ---- invariants ---------------------------------------------------------------------- */

static const char *agent_fault(const queue *q, const agent *a)
{
    int64_t seated = users_with(q, a, USHER_QUEUE_USER_SEATED),
            used = users_with(q, a, USHER_QUEUE_USER_GONE);

    if (used > a->capacity)
        return "an agent has no more users than rooms";
    if (a->session_version < a->login || a->session_version > q->version)
        return "a session begins with a login, or later";
    if (a->login > q->version || a->changed > q->version || a->matched > q->version)
        return "nothing is of a version to come";
    if (a->leaving)
        return is_due(a->beat, q->clock) ? NULL : "an agent that logs out is gone soon";
    if ((a->state == USHER_QUEUE_AGENT_BUSY) != (seated > 0))
        return "an agent is busy if and only if a user is seated";
    if ((a->state == USHER_QUEUE_AGENT_OFFERED) != (seated == 0 && used > 0))
        return "an agent has an offer if and only if no user is seated, and one is offered";
    if (a->state == USHER_QUEUE_AGENT_WRAPUP && a->wrap == 0)
        return "wrap-up ends";
    if (a->asked && used == 0)
        return "a pause waits only for users";
    return NULL;
}

static const char *user_fault(const queue *q, const user *u)
{
    bool has_room = u->state == USHER_QUEUE_USER_OFFERED || u->state == USHER_QUEUE_USER_SEATED;
    const agent *a = agent_find(q, u->agent.data, u->agent.size);

    if (u->state == USHER_QUEUE_USER_GONE)
        return "a user that is gone is not there";
    if (has_room != (u->no != 0))
        return "a user has a room if and only if it is offered or seated";
    if (has_room && (a == NULL || a->login != u->login || u->no > a->capacity))
        return "a room belongs to a present agent";
    if (u->version > q->version || u->token > q->version)
        return "nothing is of a version to come";
    if ((u->state == USHER_QUEUE_USER_OFFERED || u->state == USHER_QUEUE_USER_AWAY) && u->end == 0)
        return "offers and graces end";
    return NULL;
}

static const char *queue_fault(const queue *q)
{
    const char *found;

    if (q->fault != NULL)
        return q->fault;
    if (q->applied != q->ended + q->n_users)
        return "nobody is lost";
    if (!q->exists && q->n_agents + q->n_users + q->n_requests > 0)
        return "a queue that does not exist is empty";
    for (size_t i = 0; i < q->n_agents; i++) {
        found = agent_fault(q, &q->agents[i]);
        if (found != NULL)
            return found;
        for (size_t j = 0; j < i; j++)
            if (same_text(&q->agents[i].id, &q->agents[j].id))
                return "an agent is logged in once";
    }
    for (size_t i = 0; i < q->n_users; i++) {
        found = user_fault(q, &q->users[i]);
        if (found != NULL)
            return found;
        for (size_t j = 0; j < i; j++) {
            if (same_text(&q->users[i].id, &q->users[j].id))
                return "a user is in a queue once";
            if (q->users[i].no != 0 && q->users[i].login == q->users[j].login &&
                q->users[i].no == q->users[j].no)
                return "no room has two users";
            if (q->users[i].token != 0 && q->users[i].token == q->users[j].token)
                return "no token is given twice";
        }
    }
    return NULL;
}

/* The events of the queue, counted again from the stays. */
static const char *events_fault(const queue *q)
{
    int64_t n[MODEL_DROPPED + 1] = { 0 }, wait = 0, talk = 0;

    for (size_t i = 0; i < q->n_events; i++) {
        n[q->events[i].what]++;
        wait += q->events[i].what == MODEL_SEATED ? q->events[i].ms : 0;
        talk += q->events[i].what == MODEL_FINISHED ? q->events[i].ms : 0;
    }
    for (size_t i = 0; i < q->n_stays; i++) {
        const struct queue_model_stay *s = &q->stays[i];

        n[MODEL_SEATED] -= s->had_room;
        wait -= s->had_room ? s->wait : 0;
        n[MODEL_FINISHED] -= s->had_room;
        talk -= s->talk;
        n[MODEL_TIMEOUT] -= s->outcome == USHER_QUEUE_OUTCOME_TIMEOUT;
        n[MODEL_DROPPED] -= s->outcome == USHER_QUEUE_OUTCOME_DROPPED;
        n[MODEL_ABANDONED] -= s->outcome == USHER_QUEUE_OUTCOME_LEFT ||
                              (!s->had_room && s->outcome == USHER_QUEUE_OUTCOME_LOST);
    }
    for (size_t i = 0; i < q->n_users; i++)
        if (q->users[i].state == USHER_QUEUE_USER_SEATED) {
            n[MODEL_SEATED]--;
            wait -= span(q->users[i].applied, q->users[i].matched);
        }
    if (n[MODEL_SEATED] != 0 || wait != 0)
        return "seatings and their waits are those of the stays";
    if (n[MODEL_FINISHED] != 0 || talk != 0)
        return "stays that ended and their talk are those of the stays";
    if (n[MODEL_TIMEOUT] != 0 || n[MODEL_DROPPED] != 0 || n[MODEL_ABANDONED] != 0)
        return "who ended without a room is one of those who did";
    return n[MODEL_ARRIVED] != (int64_t)q->applied ? "all who applied are counted" : NULL;
}

static const char *sums_fault(const queue *q)
{
    uint64_t ended = 0;

    for (size_t i = 0; i < q->n_stays; i++) {
        const struct queue_model_stay *s = &q->stays[i];

        if (s->wait < 0 || s->talk < 0)
            return "waits and talks are not negative";
        ended += s->outcome != USHER_QUEUE_OUTCOME_REQUEUED;
    }
    if (q->applied != ended + q->n_users)
        return "each visit ends once, or goes on";
    return events_fault(q);
}

const char *queue_model_sums(const struct queue_model *m)
{
    const char *found = NULL;

    for (size_t i = 0; i < m->n_queues && found == NULL; i++)
        found = sums_fault(&m->queues[i]);
    return found;
}

const char *queue_model_fault(const struct queue_model *m)
{
    for (size_t i = 0; i < m->n_queues; i++) {
        const char *found = queue_fault(&m->queues[i]);

        if (found != NULL)
            return found;
    }
    return NULL;
}
