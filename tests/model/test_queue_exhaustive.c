/* SPDX-License-Identifier: MIT */
/*
 * Every state of small queues, two users, two agents and two lanes, and every command from each
 * (exhaustive.h).
 *
 * Two states are the same if deadlines have the same distance from the clock, and versions and
 * arrivals the same order.  Statistics, estimates and ended visits distinguish no states, but are
 * compared on every way.  With fewest-served, only the difference of what the agents have served
 * counts, up to two.
 *
 * Invariants beyond those of all nouns.  The model checks more by itself: no user in two rooms, no
 * room with two users, no user overtaken within a lane and priority, none lost, and none waiting
 * that an open agent could take.
 *
 *   read      a read changes nothing but due expiries.
 *   silence   without a notice nothing changes but a heartbeat.
 *   again     a user that applies again keeps its place and its index.
 *   place     no command of other users changes the order of users that wait before and after it.
 *   reject    an agent that has a user has not refused it since the offer.
 *   mode      a queue that is not open gets no user; a stopped one gives none to an agent.
 *   stale     a command with an old token changes nothing.
 *   counts    `stats` counts what `list` and `agents` list.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/operation.h>

#include "lib/budget.h"
#include "lib/util.h"
#include "model/exhaustive.h"
#include "model/queue_gen.h"
#include "model/queue_model.h"

#define MINUTE INT64_C(60000)
#define DAY (24 * 60 * MINUTE)
#define U MINUTE
#define START (19000 * DAY + 600 * MINUTE)

/* ---- worlds ------------------------------------------------------------------------ */

struct profile {
    const char *name;
    int64_t later[2]; /* commands come this much later than the last change */
    unsigned n_later;
    struct usher_queue_result_settings set; /* ttl and what is not 0 is set */
    int64_t capacity;                       /* of agent a; b has one room */
    bool lanes;             /* users choose their lane, and are moved; else x l, y m */
    bool priorities, since; /* that users apply with, and are moved to */
    bool rests;             /* pause, ready */
    bool triggers;          /* set trigger= */
    bool modes;             /* set mode= */
    bool tokens;            /* agents have sessions; commands with the token, and with an old one */
};

/* clang-format off */
static const struct profile profiles[] = {
    { "lanes", { 0 }, 1, { .history = 3 }, .capacity = 2, .lanes = true },
    { "priorities", { 0 }, 1, { .history = 3 }, .capacity = 1, .lanes = true, .priorities = true },
    { "arrivals", { 0 }, 1, { .history = 3 }, .capacity = 1, .lanes = true, .since = true },
    { "pauses", { 0 }, 1, { .history = 3 }, .capacity = 2, .rests = true },
    { "wrap-up", { 0, U }, 2, { .wrapup_ms = 2 * U }, .capacity = 1 },
    { "triggers", { 0 }, 1, { .trigger = USHER_QUEUE_TRIGGER_PULL }, .capacity = 2, .triggers = true },
    { "modes", { 0 }, 1, { .history = 3 }, .capacity = 1, .modes = true },
    { "round-robin", { 0 }, 1, { .strategy = USHER_QUEUE_STRATEGY_ROUND_ROBIN }, .capacity = 2 },
    { "fewest-served", { 0 }, 1, { .strategy = USHER_QUEUE_STRATEGY_FEWEST_SERVED }, .capacity = 1 },
    { "least-busy", { 0 }, 1, { .strategy = USHER_QUEUE_STRATEGY_LEAST_BUSY }, .capacity = 2 },
    { "level", { 0 }, 1, { .strategy = USHER_QUEUE_STRATEGY_LEVEL }, .capacity = 1, .rests = true },
    { "random", { 0 }, 1, { .strategy = USHER_QUEUE_STRATEGY_RANDOM }, .capacity = 2 },
    /* in CI (USHER_EACH=2), but not where everything is slow */
    { "offers", { 0, U }, 2, { .offer_ms = U }, .capacity = 1 },
    { "tokens", { 0 }, 1, { .offer_ms = U }, .capacity = 1, .tokens = true },
    { "requeue=drop", { 0, U }, 2,
      { .ttl_ms = U, .requeue = USHER_QUEUE_REQUEUE_DROP, .limit = 1, .wrapup_ms = U }, .capacity = 1 },
    { "heartbeats", { 0, U }, 2, { .ttl_ms = 2 * U }, .capacity = 1 },
    /* from here on with USHER_LONG=1 only */
    { "tokens and heartbeats", { 0, U }, 2, { .ttl_ms = U, .offer_ms = 2 * U }, .capacity = 1,
      .rests = true, .tokens = true },
    { "offers to the dead", { 0, U }, 2, { .ttl_ms = U, .offer_ms = 2 * U }, .capacity = 1 },
    { "grace and patience", { 0, U }, 2, { .ttl_ms = U, .grace_ms = U, .maxwait_ms = 2 * U },
      .capacity = 1 },
    { "heartbeats in lanes", { 0, U }, 2, { .ttl_ms = 2 * U }, .capacity = 1, .lanes = true },
    { "offers in lanes", { 0, U }, 2, { .offer_ms = U }, .capacity = 2, .lanes = true },
    { "offers, grace and lanes", { 0, U }, 2, { .ttl_ms = U, .offer_ms = U, .grace_ms = U },
      .capacity = 1, .lanes = true },
    { "wrap-up, pauses and lanes", { 0, U }, 2, { .wrapup_ms = 2 * U }, .capacity = 2,
      .lanes = true, .rests = true },
    { "triggers, offers and lanes", { 0, U }, 2,
      { .trigger = USHER_QUEUE_TRIGGER_TIMER, .offer_ms = U }, .capacity = 1, .lanes = true,
      .triggers = true },
    { "modes and offers", { 0, U }, 2, { .offer_ms = 2 * U }, .capacity = 1, .modes = true },
};
/* clang-format on */
#define PROFILES (sizeof profiles / sizeof *profiles)
#define PROFILES_SHORT 16
#define PROFILES_SLOW 12

static const char scope[] = "desk";
static const char *const agents[] = { "a", "b" };
static const char *const users[] = { "x", "y" };
static const char *const lanes[] = { "l", "m" };

/* ---- alphabets --------------------------------------------------------------------- */

struct alphabet {
    const struct profile *profile;
    struct queue_gen_command *symbols;
    size_t n;
    int64_t later;
};

static struct queue_gen_command *symbol(struct alphabet *w, enum usher_verb verb)
{
    struct queue_gen_command *s = &w->symbols[w->n++];

    if (w->n > EXHAUSTIVE_SYMBOLS)
        abort();
    memset(s, 0, sizeof *s);
    s->c.verb = verb;
    s->c.scope = text(scope);
    s->c.given = USHER_GIVEN_NOW;
    s->c.now_ms = w->later;
    return s;
}

static void login(struct alphabet *w, unsigned i, int64_t capacity)
{
    struct usher_operation *c = &symbol(w, USHER_QUEUE_LOGIN)->c;

    c->arg.queue.agent = text(agents[i]);
    c->given |= USHER_GIVEN_QUEUE_CAPACITY | USHER_GIVEN_QUEUE_LEVEL;
    c->arg.queue.capacity = capacity;
    c->arg.queue.level = 1 - (int64_t)i;
    c->arg.queue.lanes = text(i == 0 ? "l,m" : "m");
}

/* The last symbol once more, with the token of what it is about, and with an older one. */
static void tokens(struct alphabet *w, const char *user)
{
    for (unsigned k = 0; k < 2 && w->profile->tokens; k++) {
        struct queue_gen_command *s = symbol(w, USHER_QUEUE_WHERE);

        *s = s[-1];
        s->of = text(user);
        s->token_of = true;
        s->c.given |= USHER_GIVEN_QUEUE_TOKEN;
        s->c.arg.queue.token = k == 0 ? 0 : UINT64_MAX;
    }
}

static void agent_symbols(struct alphabet *w, unsigned i)
{
    static const enum usher_verb verbs[] = { USHER_QUEUE_LOGOUT, USHER_QUEUE_ROOM,
                                             USHER_QUEUE_PULL,   USHER_QUEUE_FREE,
                                             USHER_QUEUE_ALIVE,  USHER_QUEUE_PAUSE,
                                             USHER_QUEUE_READY };
    int64_t capacity = i == 0 ? w->profile->capacity : 1;

    login(w, i, capacity);
    login(w, i, capacity + 1);
    if (!w->profile->rests && capacity > 1) /* one of two sizes */
        w->n--;
    for (unsigned k = 0; k < 2 && w->profile->tokens; k++) {
        login(w, i, capacity);
        w->symbols[w->n - 1].c.arg.queue.session = text(lanes[k]);
    }
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs - (w->profile->rests ? 0 : 2); k++) {
        symbol(w, verbs[k])->c.arg.queue.agent = text(agents[i]);
        if (verbs[k] != USHER_QUEUE_ROOM && verbs[k] != USHER_QUEUE_FREE)
            tokens(w, NULL);
    }
    if (w->profile->rests && i == 0) {
        struct usher_queue_args *a = &symbol(w, USHER_QUEUE_PAUSE)->c.arg.queue;

        a->agent = text(agents[i]);
        a->reason = text(lanes[0]);
    }
    for (unsigned u = 0; u < 2; u++) {
        struct usher_operation *c;

        if (w->profile->set.offer_ms == 0 && u != i) /* nothing is offered */
            continue;
        c = &symbol(w, USHER_QUEUE_ACCEPT)->c;

        c->arg.queue.agent = text(agents[i]);
        c->arg.queue.user = text(users[u]);
        tokens(w, users[u]);
        c = &symbol(w, USHER_QUEUE_REJECT)->c;
        c->arg.queue.agent = text(agents[i]);
        c->arg.queue.user = text(users[u]);
        tokens(w, users[u]);
    }
}

/* apply, or move with @lane NULL: as it is. */
static struct usher_operation *arrival(struct alphabet *w, enum usher_verb verb, unsigned u,
                                       const char *lane)
{
    struct usher_operation *c = &symbol(w, verb)->c;

    c->arg.queue.user = text(users[u]);
    c->arg.queue.lane = text(lane);
    return c;
}

static void user_symbols(struct alphabet *w, unsigned u)
{
    struct usher_operation *c;
    struct queue_gen_command *s;

    for (unsigned l = 0; l < 2; l++) {
        if (!w->profile->lanes && l != u)
            continue;
        (void)arrival(w, USHER_QUEUE_APPLY, u, lanes[l]);
        (void)arrival(w, USHER_QUEUE_MOVE, u, lanes[l]);
        tokens(w, users[u]);
    }
    if (w->profile->priorities)
        for (int64_t priority = 0; priority < 2; priority++) {
            c = arrival(w, priority == 0 ? USHER_QUEUE_MOVE : USHER_QUEUE_APPLY, u, lanes[u]);
            c->given |= USHER_GIVEN_QUEUE_PRIORITY;
            c->arg.queue.priority = priority;
            c = arrival(w, USHER_QUEUE_MOVE, u, NULL);
            c->given |= USHER_GIVEN_QUEUE_PRIORITY;
            c->arg.queue.priority = priority;
        }
    if (w->profile->since)
        for (unsigned k = 0; k < 3; k++) { /* once later than now, which is invalid */
            c = arrival(w, k == 1 ? USHER_QUEUE_MOVE : USHER_QUEUE_APPLY, u, lanes[1]);
            c->given |= USHER_GIVEN_QUEUE_SINCE;
            c->arg.queue.since_ms = k == 2 ? 1 : -U; /* from now: resolve() */
        }
    symbol(w, USHER_QUEUE_WHERE)->c.arg.queue.user = text(users[u]);
    tokens(w, users[u]);
    symbol(w, USHER_QUEUE_ALIVE)->c.arg.queue.user = text(users[u]);
    tokens(w, users[u]);
    symbol(w, USHER_QUEUE_LEAVE)->c.arg.queue.user = text(users[u]);
    tokens(w, users[u]);
    for (unsigned k = 0; k < 4; k++) { /* of its room; without and with a token; another's */
        s = symbol(w, USHER_QUEUE_FINISH);
        s->of = text(users[u]);
        s->room_of = true;
        s->token_of = k == 1 || k == 2;
        if (s->token_of)
            s->c.given |= USHER_GIVEN_QUEUE_TOKEN;
        s->c.arg.queue.token = k == 2;
        if (k == 3)
            s->c.arg.queue.user = text(users[1 - u]);
    }
}

static void queue_symbols(struct alphabet *w)
{
    struct usher_operation *c;

    (void)symbol(w, USHER_QUEUE_MATCH);
    (void)symbol(w, USHER_QUEUE_SWEEP);
    c = &symbol(w, USHER_QUEUE_SWEEP)->c;
    c->given |= USHER_GIVEN_QUEUE_MAX;
    c->arg.queue.max = 1;
    (void)symbol(w, USHER_QUEUE_LIST);
    symbol(w, USHER_QUEUE_LIST)->c.arg.queue.lane = text(lanes[1]);
    c = &symbol(w, USHER_QUEUE_LIST)->c;
    c->given |= USHER_GIVEN_QUEUE_MAX;
    c->arg.queue.max = 1;
    for (int64_t state = USHER_QUEUE_USER_OFFERED; state <= USHER_QUEUE_USER_AWAY; state++) {
        c = &symbol(w, USHER_QUEUE_LIST)->c;
        c->given |= USHER_GIVEN_QUEUE_STATE;
        c->arg.queue.state = state;
    }
    (void)symbol(w, USHER_QUEUE_AGENTS);
    (void)symbol(w, USHER_QUEUE_STATS);
    (void)symbol(w, USHER_QUEUE_LANES);
    symbol(w, USHER_QUEUE_STATS)->c.arg.queue.lane = text(lanes[0]);
    (void)symbol(w, USHER_QUEUE_HISTORY);
    (void)symbol(w, USHER_QUEUE_SET);
    for (int64_t trigger = 1; trigger <= 3 && w->profile->triggers; trigger++) {
        c = &symbol(w, USHER_QUEUE_SET)->c;
        c->given |= USHER_GIVEN_QUEUE_TRIGGER;
        c->arg.queue.trigger = trigger;
    }
    for (int64_t mode = 1; mode <= 3 && w->profile->modes; mode++) {
        c = &symbol(w, USHER_QUEUE_SET)->c;
        c->given |= USHER_GIVEN_QUEUE_MODE;
        c->arg.queue.mode = mode;
    }
}

static size_t alphabet(unsigned i, void *ret)
{
    struct alphabet w = { &profiles[i], ret, 0, 0 };

    for (unsigned k = 0; k < profiles[i].n_later; k++) {
        w.later = profiles[i].later[k];
        for (unsigned who = 0; who < 2; who++) {
            agent_symbols(&w, who);
            user_symbols(&w, who);
        }
        queue_symbols(&w);
    }
    return w.n;
}

static size_t first(unsigned i, struct usher_operation ret[EXHAUSTIVE_FIRST])
{
    const struct usher_queue_result_settings *set = &profiles[i].set;
    struct usher_operation c;
    struct usher_queue_args *a = &c.arg.queue;

    memset(&c, 0, sizeof c);
    c.verb = USHER_QUEUE_SET;
    c.scope = text(scope);
    c.now_ms = START;
    c.given = USHER_GIVEN_NOW | USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_TRIGGER |
              USHER_GIVEN_QUEUE_STRATEGY | USHER_GIVEN_QUEUE_OFFER | USHER_GIVEN_QUEUE_WRAPUP |
              USHER_GIVEN_QUEUE_LIMIT | USHER_GIVEN_QUEUE_MAXWAIT | USHER_GIVEN_QUEUE_GRACE |
              USHER_GIVEN_QUEUE_REQUEUE | USHER_GIVEN_QUEUE_HISTORY | USHER_GIVEN_QUEUE_ASK_AGAIN;
    a->ttl_ms = set->ttl_ms;
    a->trigger = set->trigger != 0 ? set->trigger : USHER_QUEUE_TRIGGER_AUTO;
    a->strategy = set->strategy != 0 ? set->strategy : USHER_QUEUE_STRATEGY_LONGEST_IDLE;
    a->offer_ms = set->offer_ms;
    a->again_ms = U;
    a->wrapup_ms = set->wrapup_ms;
    a->limit = set->limit;
    a->maxwait_ms = set->maxwait_ms;
    a->grace_ms = set->grace_ms;
    a->requeue = set->requeue != 0 ? set->requeue : USHER_QUEUE_REQUEUE_FRONT;
    a->history = set->history;
    ret[0] = c;
    return 1;
}

/* ---- states ------------------------------------------------------------------------ */

static const struct queue_model_queue *the_queue(const struct queue_model *m)
{
    return queue_model_queue(m, scope, strlen(scope));
}

static const struct queue_model_agent *agent_of(const struct queue_model_queue *q, unsigned i)
{
    return queue_model_agent(q, agents[i], 1);
}

static const struct queue_model_user *user_of(const struct queue_model_queue *q, unsigned i)
{
    return queue_model_user(q, users[i], 1);
}

static int64_t from(int64_t deadline, int64_t clock)
{
    return deadline == 0 ? -9 : (deadline - clock) / U;
}

static bool ahead(const struct queue_model_user *a, const struct queue_model_user *b)
{
    return a->priority != b->priority ? a->priority > b->priority
           : a->since != b->since     ? a->since < b->since
                                      : a->version < b->version;
}

static int clipped(int64_t n)
{
    return n < -2 ? -2 : n > 2 ? 2 : (int)n;
}

/* The pause or wrap-up of an agent that is not there: -9 nothing, 0 a pause, 1 one with a reason,
 * else when its wrap-up ends. */
static int64_t absence(const struct queue_model_queue *q, const char *id)
{
    for (size_t i = 0; i < q->n_absent; i++)
        if (strcmp(q->absent[i].id.data, id) == 0)
            return q->absent[i].wrap == 0 ? q->absent[i].reason.size != 0
                                          : 10 + from(q->absent[i].wrap, q->clock);
    return -9;
}

/* Which agent has refused which user, until when it is not asked, and in which order they did. */
static int refusals_key(const struct queue_model_queue *q, const struct queue_model_user *u[2],
                        char *to, size_t size)
{
    int n = 0;

    for (unsigned k = 0; k < 4; k++)
        for (size_t j = 0; j < q->n_refusals; j++) {
            const struct queue_model_refusal *r = &q->refusals[j];
            int before = 0;

            if (u[k / 2] == NULL || r->key != u[k / 2]->key ||
                strcmp(r->agent.data, agents[k % 2]) != 0)
                continue;
            for (size_t i = 0; i < q->n_refusals; i++)
                before += q->refusals[i].version < r->version;
            n += snprintf(to + n, size - (size_t)n, " %s not %s %d %" PRId64, users[k / 2],
                          agents[k % 2], before, from(r->until, q->clock));
        }
    return n;
}

/* Can the last outage still move a deadline, or keep one from being moved? */
static bool gap_matters(const struct queue_model_queue *q)
{
    bool late = false;

    for (size_t i = 0; i < q->n_agents; i++)
        late |= q->agents[i].beat != 0 && q->agents[i].beat <= q->gap_to;
    for (size_t i = 0; i < q->n_users; i++)
        late |= (q->users[i].beat != 0 && q->users[i].beat <= q->gap_to) ||
                (q->users[i].end != 0 && q->users[i].end <= q->gap_to);
    return q->gap_to != 0 && (late || q->gap_to + q->set.ttl_ms > q->clock);
}

/* Return whether expiries that were due by `behind` may not be applied. */
static bool behind_matters(const struct queue_model_queue *q)
{
    bool late = false;

    for (size_t i = 0; i < q->n_agents; i++)
        late |= q->agents[i].beat != 0 && q->agents[i].beat <= q->behind;
    for (size_t i = 0; i < q->n_users; i++)
        late |= q->users[i].beat != 0 && q->users[i].beat <= q->behind;
    return late;
}

/* In random order the next agent depends on versions as such, so that a state may continue in more
 * than one way; the first one found is followed. */
static void key(unsigned i, const void *model, char to[EXHAUSTIVE_KEY])
{
    const struct queue_model_queue *q = the_queue(model);
    const struct queue_model_agent *a[2] = { agent_of(q, 0), agent_of(q, 1) };
    const struct queue_model_user *u[2] = { user_of(q, 0), user_of(q, 1) };
    int n = snprintf(to, EXHAUSTIVE_KEY, "%d%d", (int)q->set.trigger, (int)q->set.mode);

    for (unsigned k = 0; k < 2; k++)
        if (a[k] == NULL)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " - %" PRId64, absence(q, agents[k]));
        else
            n +=
                snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n,
                         " %s%d:%d%s%s wrap %" PRId64 " beat %" PRId64, a[k]->session.data,
                         (int)a[k]->state, (int)a[k]->capacity, a[k]->asked ? " asked" : "",
                         a[k]->reason.data, from(a[k]->wrap, q->clock), from(a[k]->beat, q->clock));
    if (a[0] != NULL && a[1] != NULL) {
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " order %d%d%d%d",
                      a[0]->login < a[1]->login, queue_model_before(q, a[0], a[1]),
                      a[0]->changed < a[1]->changed, a[0]->matched < a[1]->matched);
        if (profiles[i].set.strategy == USHER_QUEUE_STRATEGY_FEWEST_SERVED)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " served %d",
                          clipped(a[0]->served - a[1]->served));
    }
    for (unsigned k = 0; k < 2; k++) {
        if (u[k] == NULL) {
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " -");
            continue;
        }
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n,
                      " %d%s%d in %s.%d beat %" PRId64 " patience %" PRId64 " end %" PRId64,
                      (int)u[k]->state, u[k]->lane.data, (int)u[k]->priority, u[k]->agent.data,
                      (int)u[k]->no, from(u[k]->beat, q->clock), from(u[k]->patience, q->clock),
                      from(u[k]->end, q->clock));
    }
    n += refusals_key(q, u, to + n, EXHAUSTIVE_KEY - (size_t)n);
    if (u[0] != NULL && u[1] != NULL)
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " %d%d%d", ahead(u[0], u[1]),
                      u[0]->version < u[1]->version,
                      u[0]->since == u[1]->since ? 2 : u[0]->since < u[1]->since);
    if (gap_matters(q))
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " gap %" PRId64 " %" PRId64,
                      from(q->gap_from, q->clock), from(q->gap_to, q->clock));
    if (behind_matters(q))
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " behind %" PRId64,
                      from(q->behind, q->clock));
    if (profiles[i].since) /* is there an earlier arrival than that of apply? */
        for (unsigned k = 0; k < 2; k++)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "%d",
                          u[k] != NULL && u[k]->since < q->clock);
    if (n >= EXHAUSTIVE_KEY)
        abort();
}

/* ---- invariants -------------------------------------------------------------------- */

static bool is_read(enum usher_verb verb)
{
    return verb == USHER_QUEUE_WHERE || verb == USHER_QUEUE_ROOM || verb == USHER_QUEUE_LIST ||
           verb == USHER_QUEUE_AGENTS || verb == USHER_QUEUE_STATS || verb == USHER_QUEUE_HISTORY ||
           verb == USHER_QUEUE_LANES || verb == USHER_QUEUE_INTERVALS || verb == USHER_QUEUE_WAITS;
}

static bool is_heartbeat(const struct exhaustive_step *s)
{
    if (s->r->status == USHER_STALE || s->r->status == USHER_LOST)
        return false;
    return s->c->verb == USHER_QUEUE_ALIVE || s->c->verb == USHER_QUEUE_ACCEPT ||
           s->c->verb == USHER_QUEUE_REJECT || s->c->verb == USHER_QUEUE_PULL ||
           s->c->verb == USHER_QUEUE_PAUSE || s->c->verb == USHER_QUEUE_READY ||
           ((s->c->verb == USHER_QUEUE_APPLY || s->c->verb == USHER_QUEUE_LOGIN) &&
            s->r->status == USHER_SAME);
}

/* @copy is the caller's. */
static void ask(struct queue_model *copy, enum usher_verb verb, int64_t state,
                struct usher_result *ret)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.scope = text(scope);
    c.given = USHER_GIVEN_NOW;
    c.now_ms = the_queue(copy)->clock;
    c.verb = verb;
    if (state != 0) {
        c.given |= USHER_GIVEN_QUEUE_STATE;
        c.arg.queue.state = state;
    }
    queue_model_execute(copy, &c, ret);
}

static const char *counts_fault(const struct queue_model *m)
{
    struct queue_model *copy = queue_model_copy(m);
    struct usher_result r, stats;
    const struct usher_queue_result_statistics *t = &stats.of.queue.of.stats;
    int64_t in[USHER_QUEUE_AGENT_PAUSING + 1] = { 0 }, used = 0, of_user[5] = { 0 };
    bool right;

    ask(copy, USHER_QUEUE_STATS, 0, &stats);
    ask(copy, USHER_QUEUE_AGENTS, 0, &r);
    for (size_t i = 0; i < r.of.queue.n_rows; i++) {
        in[r.of.queue.rows[i].state]++;
        used += r.of.queue.rows[i].used;
    }
    right = t->agents == (int64_t)r.of.queue.n_rows && t->idle == in[USHER_QUEUE_AGENT_IDLE] &&
            t->ringing + t->busy == in[USHER_QUEUE_AGENT_OFFERED] + in[USHER_QUEUE_AGENT_BUSY] +
                                        in[USHER_QUEUE_AGENT_PAUSING] &&
            t->ringing >= in[USHER_QUEUE_AGENT_OFFERED] && t->busy >= in[USHER_QUEUE_AGENT_BUSY] &&
            t->wrapup == in[USHER_QUEUE_AGENT_WRAPUP] && t->paused == in[USHER_QUEUE_AGENT_PAUSED];
    queue_model_reply_done(&r);
    for (int64_t state = USHER_QUEUE_USER_WAITING; state <= USHER_QUEUE_USER_AWAY; state++) {
        ask(copy, USHER_QUEUE_LIST, state, &r);
        of_user[state] = (int64_t)r.of.queue.n_rows;
        queue_model_reply_done(&r);
    }
    right &= t->waiting == of_user[USHER_QUEUE_USER_WAITING] &&
             t->away == of_user[USHER_QUEUE_USER_AWAY] &&
             t->offered == of_user[USHER_QUEUE_USER_OFFERED] &&
             t->seated == of_user[USHER_QUEUE_USER_SEATED] && used == t->offered + t->seated;
    queue_model_reply_done(&stats);
    queue_model_close(copy);
    return right ? NULL : "counts";
}

/* Refusals whose agents may not be asked yet: that they may from now on is no notice. */
static size_t pending(const struct queue_model_queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n_refusals; i++)
        n += q->refusals[i].until != 0;
    return n;
}

/* A command other than `set` in the mode of @p has let a user in, or given one to an agent. */
static bool against_mode(const struct queue_model_queue *p, const struct queue_model_user *was,
                         const struct queue_model_user *is)
{
    if (is == NULL || p->set.mode == USHER_SCOPE_MODE_OPEN)
        return false;
    return was == NULL ||
           (p->set.mode == USHER_SCOPE_MODE_STOPPED && is->no != 0 && is->token != was->token);
}

static const char *fault(const struct exhaustive_step *s)
{
    const struct queue_model_queue *p = the_queue(s->before), *q = the_queue(s->after);
    const struct queue_model_user *was[2] = { user_of(p, 0), user_of(p, 1) };
    const struct queue_model_user *is[2] = { user_of(q, 0), user_of(q, 1) };

    for (unsigned k = 0; k < 2; k++)
        if (s->c->verb != USHER_QUEUE_SET && against_mode(p, was[k], is[k]))
            return "mode";
    if (is_read(s->c->verb) && s->heard->n != s->heard->by_itself)
        return "read";
    if (s->r->status == USHER_STALE && s->heard->n != s->heard->by_itself)
        return "stale";
    /* what an outage has moved has no version, as a heartbeat has none */
    if (s->heard->n == 0 && (s->changed || q->clock != p->clock) && !is_heartbeat(s) &&
        pending(p) == pending(q) && !gap_matters(p) && !gap_matters(q))
        return "silence";
    for (unsigned k = 0; k < 2; k++) {
        if (was[k] == NULL || is[k] == NULL || was[k]->version != is[k]->version)
            continue;
        if (s->c->verb == USHER_QUEUE_APPLY && s->heard->n == 0 &&
            (was[k]->state != is[k]->state || was[k]->since != is[k]->since ||
             was[k]->priority != is[k]->priority ||
             strcmp(was[k]->lane.data, is[k]->lane.data) != 0))
            return "again";
        for (size_t j = 0; j < q->n_refusals; j++)
            if (is[k]->no != 0 && q->refusals[j].key == is[k]->key &&
                strcmp(q->refusals[j].agent.data, is[k]->agent.data) == 0)
                return "reject";
    }
    if (was[0] != NULL && was[1] != NULL && is[0] != NULL && is[1] != NULL &&
        was[0]->version == is[0]->version && was[1]->version == is[1]->version &&
        s->c->verb != USHER_QUEUE_MOVE && ahead(was[0], was[1]) != ahead(is[0], is[1]))
        return "place";
    return counts_fault(s->after);
}

/* ---- the noun ---------------------------------------------------------------------- */

static void now(const void *model, uint64_t *ret_version, int64_t *ret_clock)
{
    *ret_version = the_queue(model)->version;
    *ret_clock = the_queue(model)->clock;
}

static struct usher_operation resolve(const void *model, void *symbol)
{
    struct usher_operation c = queue_gen_resolve(symbol, model);

    if ((c.given & USHER_GIVEN_QUEUE_SINCE) != 0)
        c.arg.queue.since_ms += the_queue(model)->clock + c.now_ms;
    return c;
}

static bool by_itself(enum usher_verb verb)
{
    return verb == USHER_QUEUE_EXPIRE || verb == USHER_QUEUE_REQUEUE || verb == USHER_QUEUE_MATCH ||
           verb == USHER_QUEUE_OUTAGE;
}

static struct usher_operation look(unsigned i)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.scope = text(scope);
    c.verb = i % 5 == 0 ? USHER_QUEUE_AGENTS : USHER_QUEUE_LIST;
    if (i % 5 > 1) {
        c.given = USHER_GIVEN_QUEUE_STATE;
        c.arg.queue.state = i % 5;
    }
    return c;
}

int main(int argc, char **argv)
{
    static const char *names[PROFILES];
    const struct exhaustive queues = {
        .name = "queue exhaustive",
        .model = &queue_noun,
        .worlds = names,
        .n_worlds = budget_long() || getenv("USHER_WORLD") != NULL ? PROFILES
                    : budget_slow() || budget_short()              ? PROFILES_SLOW
                                                                   : PROFILES_SHORT,
        .seconds_sqlite = 5,
        .seconds_redis = 8,
        .first = first,
        .alphabet = alphabet,
        .resolve = resolve,
        .now = now,
        .key = key,
        .by_itself = by_itself,
        .fault = fault,
        .look = look,
    };

    for (size_t i = 0; i < PROFILES; i++)
        names[i] = profiles[i].name;
    return exhaustive_main(&queues, argc, argv);
}
