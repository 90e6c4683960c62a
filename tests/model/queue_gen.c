/* SPDX-License-Identifier: MIT */
/* See queue_gen.h.  Probabilities are drawn once a world, so that worlds differ in kind. */
#include "config.h"

#include "model/queue_gen.h"
#include "lib/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY INT64_C(86400000)
#define LISTS 16

struct queue_gen {
    struct rng rng;
    struct gen_names queues, agents, users, lanes, requests;
    char (*lists)[USHER_LIST_TEXT_MAX + 1]; /* of lanes, some of them wrong */
    int64_t now;
    int64_t scale; /* what a step of the clock and a deadline are like */
    /* percents */
    unsigned request, lane, lanes_of_agent, priority, since, capacity, set, beat, refuse, token;
    bool big;  /* more deadlines at once than one command applies */
    bool calm; /* the clock seldom jumps */
    uint64_t made;
    struct queue_gen_command asked; /* the last one with a request id */
    char about[160];
};

/* ---- a world ----------------------------------------------------------------------- */

static void lists_make(struct queue_gen *g)
{
    struct rng *r = &g->rng;

    g->lists = calloc(LISTS, sizeof *g->lists);
    if (g->lists == NULL)
        abort();
    for (unsigned i = 0; i < LISTS; i++) {
        uint64_t n = 1 + rng_below(r, rng_chance(r, 90) ? 3 : USHER_NUMBER_GROUPS_MAX + 1);

        for (uint64_t k = 0; k < n; k++) {
            size_t have = strlen(g->lists[i]);
            const char *name = rng_chance(r, 12)   ? "*"
                               : rng_chance(r, 20) ? "default"
                                                   : g->lanes.name[rng_below(r, g->lanes.n)];

            if (have + strlen(name) + 2 > USHER_LIST_TEXT_MAX)
                break;
            (void)snprintf(g->lists[i] + have, USHER_LIST_TEXT_MAX + 1 - have, "%s%s",
                           k > 0 ? "," : "", name);
        }
    }
    (void)strcpy(g->lists[LISTS - 1], "a,,b"); /* an empty lane: invalid */
}

struct queue_gen *queue_gen_open(uint64_t seed)
{
    static const int64_t scales[] = { 1, 10, 10, 1000, 1000, 15000, 60000, 3600000 };
    static const int64_t starts[] = { 0,
                                      1,
                                      DAY - 1,
                                      INT64_C(951782399999), /* a leap day */
                                      INT64_C(1700000000000),
                                      INT64_C(1700000000000),
                                      INT64_C(1700000000000) };
    struct queue_gen *g = calloc(1, sizeof *g);
    struct rng *r;
    unsigned agents, users;

    if (g == NULL)
        abort();
    r = &g->rng;
    rng_seed(r, seed);
    g->big = rng_chance(r, 10);
    agents = (unsigned)(g->big ? 5 + rng_below(r, 60) : 1 + rng_below(r, 4));
    users = (unsigned)(g->big ? 80 + rng_below(r, 120) : 1 + rng_below(r, 8));
    gen_names_make(r, &g->queues, (unsigned)(1 + rng_below(r, rng_chance(r, 80) ? 1 : 3)), "queue",
                   "{}");
    gen_names_make(r, &g->agents, agents, "agent", "");
    gen_names_make(r, &g->users, users, "user", "");
    gen_names_make(r, &g->lanes, (unsigned)(1 + rng_below(r, 3)), "lane", ",:");
    gen_names_make(r, &g->requests, (unsigned)(1 + rng_below(r, 12)), "req", "");
    lists_make(g);
    g->scale = scales[rng_below(r, sizeof scales / sizeof *scales)];
    g->now = starts[rng_below(r, sizeof starts / sizeof *starts)] +
             (rng_chance(r, 15) ? 0 : (int64_t)rng_below(r, 3600000));
    g->request = (unsigned)rng_below(r, 3) * 15;
    g->lane = (unsigned)rng_below(r, 3) * 35;
    g->lanes_of_agent = (unsigned)rng_below(r, 3) * 35;
    g->priority = (unsigned)rng_below(r, 3) * 30;
    g->since = (unsigned)rng_below(r, 2) * 20;
    g->capacity = (unsigned)rng_below(r, 3) * 40;
    g->set = (unsigned)(1 + rng_below(r, 6));
    g->beat = (unsigned)rng_below(r, 3) * 10;
    g->token = (unsigned)rng_below(r, 3) * 40;
    g->calm = rng_chance(r, 60);
    g->refuse = rng_chance(r, 35) ? 10 + (unsigned)rng_below(r, 40) : 0;
    (void)snprintf(g->about, sizeof g->about,
                   "%u queues, %u agents, %u users, %u lanes, %u request ids, "
                   "a step is about %" PRId64 " ms",
                   g->queues.n, g->agents.n, g->users.n, g->lanes.n, g->requests.n, g->scale);
    return g;
}

void queue_gen_close(struct queue_gen *g)
{
    free(g->queues.name);
    free(g->agents.name);
    free(g->users.name);
    free(g->lanes.name);
    free(g->requests.name);
    free(g->lists);
    free(g);
}

const char *queue_gen_about(const struct queue_gen *g)
{
    return g->about;
}

unsigned queue_gen_queues(const struct queue_gen *g)
{
    return g->queues.n;
}

const char *queue_gen_queue(const struct queue_gen *g, unsigned i)
{
    return g->queues.name[i];
}

/* ---- commands ---------------------------------------------------------------------- */

static void tick(struct queue_gen *g)
{
    struct rng *r = &g->rng;
    int64_t step = 0;

    if (rng_chance(r, g->big ? 99 : 50) || (g->big && rng_chance(r, 60)))
        step = 0;
    else if (g->big && rng_chance(r, 50))
        step = 6 * g->scale; /* most deadlines at once */
    else if (rng_chance(r, 75))
        step = (int64_t)rng_below(r, 3) * g->scale;
    else if (rng_chance(r, 60))
        step = (int64_t)rng_below(r, 5);
    else if (!g->calm || rng_chance(r, 15))
        switch (rng_below(r, 6)) {
        case 0: /* to a midnight somewhere, or about it */
            step = DAY - g->now % DAY + ((int64_t)rng_below(r, 9) - 4) * 1800000 +
                   (int64_t)rng_below(r, 3) - 1;
            break;
        case 1:
            step = 3600000 + (int64_t)rng_below(r, 3) - 1; /* the age of request ids */
            break;
        case 2:
            step = (int64_t)rng_below(r, 3 * (uint64_t)DAY);
            break;
        default:
            step = -(int64_t)rng_below(r, 20) * g->scale;
        }
    g->now += step;
    if (g->now < 0)
        g->now = 0;
}

static int64_t span(struct queue_gen *g)
{
    struct rng *r = &g->rng;

    if (rng_chance(r, 2))
        return rng_chance(r, 50) ? USHER_SPAN_MAX : USHER_SPAN_MAX - 1;
    if (rng_chance(r, 25))
        return 0;
    if (rng_chance(r, 10))
        return 1;
    return (int64_t)(1 + rng_below(r, 6)) * g->scale;
}

static void give_settings(struct queue_gen *g, struct usher_operation *c)
{
    static const uint64_t bits[] = {
        USHER_GIVEN_QUEUE_TTL,       USHER_GIVEN_QUEUE_TTL,       USHER_GIVEN_QUEUE_TRIGGER,
        USHER_GIVEN_QUEUE_STRATEGY,  USHER_GIVEN_QUEUE_OFFER,     USHER_GIVEN_QUEUE_OFFER,
        USHER_GIVEN_QUEUE_WRAPUP,    USHER_GIVEN_QUEUE_WRAPUP,    USHER_GIVEN_QUEUE_LIMIT,
        USHER_GIVEN_QUEUE_MAXWAIT,   USHER_GIVEN_QUEUE_GRACE,     USHER_GIVEN_QUEUE_REQUEUE,
        USHER_GIVEN_QUEUE_HISTORY,   USHER_GIVEN_QUEUE_ZONE,      USHER_GIVEN_QUEUE_SERVICE,
        USHER_GIVEN_QUEUE_REQUESTS,  USHER_GIVEN_QUEUE_STRATEGY,  USHER_GIVEN_QUEUE_ARCHIVE,
        USHER_GIVEN_QUEUE_LOG,       USHER_GIVEN_QUEUE_LOG,       USHER_GIVEN_QUEUE_LOG,
        USHER_GIVEN_QUEUE_ASK_AGAIN, USHER_GIVEN_QUEUE_ASK_AGAIN, USHER_GIVEN_QUEUE_MODE,
        USHER_GIVEN_QUEUE_MODE,      USHER_GIVEN_QUEUE_PUSH
    };
    static const int64_t zones[] = { 0, 0, 480, -480, 330, -1440, 1440, 1, -1, 840 };
    struct rng *r = &g->rng;
    struct usher_queue_args *a = &c->arg.queue;

    if (rng_chance(r, 10))
        a->reason = gen_any(r, &g->agents);
    if (rng_chance(r, 15))
        return; /* only reads, or has a reason alone */
    for (uint64_t n = 1 + rng_below(r, 4); n > 0; n--)
        c->given |= bits[rng_below(r, sizeof bits / sizeof *bits)];
    a->ttl_ms = rng_chance(r, 30) ? 0 : span(g);
    a->trigger = rng_chance(r, 70) ? USHER_QUEUE_TRIGGER_AUTO : 1 + (int64_t)rng_below(r, 3);
    a->mode = rng_chance(r, 60) ? USHER_SCOPE_MODE_OPEN : 1 + (int64_t)rng_below(r, 3);
    a->push = (int64_t)rng_below(r, 2);
    a->strategy = 1 + (int64_t)rng_below(r, 6);
    a->offer_ms = rng_chance(r, 40) ? 0 : span(g);
    a->again_ms = rng_chance(r, 40) ? 1 : 1 + span(g) / 2;
    a->wrapup_ms = rng_chance(r, 40) ? 0 : span(g);
    a->limit = rng_chance(r, 50) ? 0 : (int64_t)rng_below(r, 6);
    a->maxwait_ms = rng_chance(r, 50) ? 0 : span(g);
    a->grace_ms = rng_chance(r, 40) ? 0 : span(g);
    a->requeue = rng_chance(r, 30) ? USHER_QUEUE_REQUEUE_DROP : USHER_QUEUE_REQUEUE_FRONT;
    a->history = (int64_t)rng_below(r, rng_chance(r, 50) ? 4 : 1000);
    a->zone_min = zones[rng_below(r, sizeof zones / sizeof *zones)];
    a->service_ms = span(g);
    a->requests = 1 + (int64_t)rng_below(r, 5);
    a->archive = rng_chance(r, 40) ? 0 : (int64_t)rng_below(r, 40);
    if (rng_chance(r, g->token / 4)) {
        c->given |= USHER_GIVEN_QUEUE_STRICT;
        a->strict = rng_chance(r, 40);
    }
    a->log = rng_chance(r, 20) ? 0 : (int64_t)rng_below(r, rng_chance(r, 50) ? 8 : 100);
}

/* Make one argument wrong, or give one that the verb does not take. */
static void spoil(struct queue_gen *g, struct usher_operation *c)
{
    struct rng *r = &g->rng;
    struct usher_queue_args *a = &c->arg.queue;
    struct usher_text wrong = gen_bad(r);

    switch (rng_below(r, 19)) {
    case 0:
        c->scope = rng_chance(r, 30) ? text("{x") : wrong;
        break;
    case 1:
        a->agent = rng_chance(r, 50) ? wrong : gen_any(r, &g->agents);
        break;
    case 2:
        a->user = rng_chance(r, 50) ? wrong : gen_any(r, &g->users);
        break;
    case 3:
        a->lane = rng_chance(r, 50) ? text("a,") : wrong;
        break;
    case 4:
        a->lanes = wrong;
        break;
    case 5:
        c->request = wrong;
        break;
    case 6:
        a->after = wrong;
        break;
    case 7:
        a->room = wrong;
        break;
    case 8:
        c->given |= USHER_GIVEN_QUEUE_PRIORITY;
        a->priority = rng_chance(r, 50) ? -1 : USHER_QUEUE_PRIORITY_MAX + 1;
        break;
    case 9:
        c->given |= USHER_GIVEN_QUEUE_SINCE;
        a->since_ms = rng_chance(r, 50) ? -1 : USHER_QUEUE_TIME_MAX + 1;
        break;
    case 10:
        c->given |= USHER_GIVEN_QUEUE_CAPACITY;
        a->capacity = rng_chance(r, 50) ? 0 : USHER_QUEUE_CAPACITY_MAX + 1;
        break;
    case 11:
        c->now_ms = rng_chance(r, 50) ? -1 : USHER_TIME_MAX + 1;
        break;
    case 12:
        c->given |= USHER_GIVEN_QUEUE_MAX;
        a->max = rng_chance(r, 50) ? 0 : USHER_LIST_MAX + 1;
        break;
    case 13:
        a->agent.data = NULL;
        a->agent.size = 0;
        break;
    case 14:
        a->user.data = NULL;
        a->user.size = 0;
        break;
    case 15:
        a->session = rng_chance(r, 50) ? wrong : gen_any(r, &g->requests);
        break;
    case 17:
        a->reason = rng_chance(r, 50) ? wrong : gen_any(r, &g->agents);
        break;
    case 16:
        a->actor = rng_chance(r, 50) ? wrong : gen_any(r, &g->agents);
        break;
    default:
        c->given |= USHER_GIVEN_QUEUE_TTL;
        a->ttl_ms = rng_chance(r, 50) ? INT64_MIN : USHER_SPAN_MAX + 1;
        break;
    }
}

static enum usher_verb any_verb(struct queue_gen *g)
{
    static const struct {
        enum usher_verb verb;
        unsigned weight;
    } verbs[] = {
        { USHER_QUEUE_APPLY, 23 },    { USHER_QUEUE_LOGIN, 12 },  { USHER_QUEUE_FINISH, 12 },
        { USHER_QUEUE_LEAVE, 5 },     { USHER_QUEUE_ACCEPT, 7 },  { USHER_QUEUE_REJECT, 4 },
        { USHER_QUEUE_PAUSE, 3 },     { USHER_QUEUE_READY, 4 },   { USHER_QUEUE_LOGOUT, 2 },
        { USHER_QUEUE_WHERE, 4 },     { USHER_QUEUE_ROOM, 3 },    { USHER_QUEUE_PULL, 4 },
        { USHER_QUEUE_MATCH, 3 },     { USHER_QUEUE_SWEEP, 2 },   { USHER_QUEUE_LIST, 3 },
        { USHER_QUEUE_AGENTS, 2 },    { USHER_QUEUE_STATS, 2 },   { USHER_QUEUE_MOVE, 2 },
        { USHER_QUEUE_HISTORY, 2 },   { USHER_QUEUE_FREE, 1 },    { USHER_QUEUE_DRAIN, 2 },
        { USHER_QUEUE_DROP, 1 },      { USHER_QUEUE_CHANGES, 3 }, { USHER_QUEUE_LANES, 2 },
        { USHER_QUEUE_INTERVALS, 2 }, { USHER_QUEUE_WAITS, 1 },
    };
    uint64_t k = rng_below(&g->rng, 111);

    if (rng_chance(&g->rng, g->set))
        return USHER_QUEUE_SET;
    if (rng_chance(&g->rng, g->refuse))
        return USHER_QUEUE_REJECT;
    if (rng_chance(&g->rng, g->beat))
        return USHER_QUEUE_ALIVE;
    for (unsigned i = 0;; i++) {
        if (k < verbs[i].weight)
            return verbs[i].verb;
        k -= verbs[i].weight;
    }
}

static void give_since(struct queue_gen *g, struct usher_operation *c)
{
    struct rng *r = &g->rng;
    int64_t since = g->now - (int64_t)rng_below(r, 8) * g->scale;

    if (rng_chance(r, 3))
        since = g->now + 1 + (int64_t)rng_below(r, 3);
    c->given |= USHER_GIVEN_QUEUE_SINCE;
    c->arg.queue.since_ms = since < 0 ? 0 : since;
}

static void give_until(struct queue_gen *g, struct usher_operation *c)
{
    int64_t until = g->now - (int64_t)rng_below(&g->rng, 8) * g->scale;

    c->given |= USHER_GIVEN_QUEUE_UNTIL;
    c->arg.queue.until_ms = until < 0 ? 0 : until;
}

static void give_page(struct queue_gen *g, struct usher_operation *c)
{
    struct rng *r = &g->rng;

    if (!rng_chance(r, 50))
        return;
    c->given |= USHER_GIVEN_QUEUE_MAX;
    c->arg.queue.max = rng_chance(r, 10) ? USHER_LIST_MAX : 1 + (int64_t)rng_below(r, 3);
}

/* The token of what the command is about, or another one: 0, the next version, a lost one. */
static void give_token(struct queue_gen *g, struct queue_gen_command *q, unsigned percent)
{
    struct rng *r = &g->rng;

    if (!rng_chance(r, percent))
        return;
    q->c.given |= USHER_GIVEN_QUEUE_TOKEN;
    q->token_of = true;
    q->c.arg.queue.token = rng_chance(r, 70)   ? 0
                           : rng_chance(r, 40) ? 1
                           : rng_chance(r, 60) ? UINT64_MAX
                                               : USHER_EXACT_MAX;
}

/* Does an operator give it? */
static bool is_operators(enum usher_verb verb)
{
    return verb == USHER_QUEUE_SET || verb == USHER_QUEUE_LOGOUT || verb == USHER_QUEUE_PAUSE ||
           verb == USHER_QUEUE_READY || verb == USHER_QUEUE_LEAVE || verb == USHER_QUEUE_FINISH ||
           verb == USHER_QUEUE_MOVE || verb == USHER_QUEUE_FREE || verb == USHER_QUEUE_DROP;
}

static void arguments(struct queue_gen *g, struct queue_gen_command *q)
{
    struct rng *r = &g->rng;
    struct usher_operation *c = &q->c;
    struct usher_queue_args *a = &c->arg.queue;
    struct usher_text agent = gen_any(r, &g->agents), user = gen_any(r, &g->users);

    if (is_operators(c->verb) && rng_chance(r, 20))
        a->actor = gen_any(r, &g->agents);
    switch (c->verb) {
    case USHER_QUEUE_LOGIN:
        a->agent = agent;
        if (rng_chance(r, g->lanes_of_agent))
            a->lanes = text(g->lists[rng_below(r, LISTS)]);
        if (rng_chance(r, g->capacity)) {
            c->given |= USHER_GIVEN_QUEUE_CAPACITY;
            a->capacity =
                1 + (int64_t)rng_below(r, rng_chance(r, 90) ? 4 : USHER_QUEUE_CAPACITY_MAX);
        }
        if (rng_chance(r, 30)) {
            c->given |= USHER_GIVEN_QUEUE_LEVEL;
            a->level = (int64_t)rng_below(r, 3);
        }
        if (rng_chance(r, g->token))
            a->session = gen_any(r, &g->requests);
        break;
    case USHER_QUEUE_ROOM:
    case USHER_QUEUE_FREE:
        a->agent = agent;
        break;
    case USHER_QUEUE_PAUSE:
        if (rng_chance(r, 50))
            a->reason = gen_any(r, &g->agents);
        /* fall through */
    case USHER_QUEUE_LOGOUT:
    case USHER_QUEUE_READY:
    case USHER_QUEUE_PULL:
        a->agent = agent;
        give_token(g, q, g->token);
        break;
    case USHER_QUEUE_ALIVE:
        if (rng_chance(r, 50))
            a->agent = agent;
        if (a->agent.data == NULL || rng_chance(r, 2))
            a->user = user;
        give_token(g, q, g->token);
        break;
    case USHER_QUEUE_APPLY:
    case USHER_QUEUE_MOVE:
        a->user = user;
        if (rng_chance(r, g->lane))
            a->lane = gen_any(r, &g->lanes);
        if (rng_chance(r, g->priority)) {
            c->given |= USHER_GIVEN_QUEUE_PRIORITY;
            a->priority = rng_chance(r, 10) ? USHER_QUEUE_PRIORITY_MAX : (int64_t)rng_below(r, 3);
        }
        if (rng_chance(r, g->since))
            give_since(g, c);
        if (c->verb == USHER_QUEUE_MOVE)
            give_token(g, q, g->token);
        break;
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_LEAVE:
        a->user = user;
        give_token(g, q, g->token);
        break;
    case USHER_QUEUE_FINISH:
        q->of = user;
        q->room_of = true;
        q->elsewhere = rng_chance(r, 4);
        if (rng_chance(r, 20))
            a->user = rng_chance(r, 80) ? user : gen_any(r, &g->users);
        give_token(g, q, g->token > 30 ? g->token : 30);
        break;
    case USHER_QUEUE_ACCEPT:
    case USHER_QUEUE_REJECT:
        a->agent = agent;
        a->user = q->of = user;
        q->agent_of = rng_chance(r, 90);
        give_token(g, q, g->token);
        break;
    case USHER_QUEUE_SWEEP:
        give_page(g, c);
        break;
    case USHER_QUEUE_LIST:
        if (rng_chance(r, g->lane))
            a->lane = gen_any(r, &g->lanes);
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_QUEUE_STATE;
            a->state = 1 + (int64_t)rng_below(r, 4);
        }
        if (rng_chance(r, 20))
            a->after = user;
        give_page(g, c);
        break;
    case USHER_QUEUE_AGENTS:
        if (rng_chance(r, 30))
            a->after = agent;
        give_page(g, c);
        break;
    case USHER_QUEUE_LANES:
        if (rng_chance(r, 30))
            a->after = gen_any(r, &g->lanes);
        give_page(g, c);
        break;
    case USHER_QUEUE_STATS:
    case USHER_QUEUE_INTERVALS:
    case USHER_QUEUE_WAITS:
        if (rng_chance(r, g->lane))
            a->lane = gen_any(r, &g->lanes);
        break;
    case USHER_QUEUE_CHANGES:
        if (rng_chance(r, 80)) {
            c->given |= USHER_GIVEN_QUEUE_SINCE_VERSION;
            a->since = (int64_t)rng_below(r, rng_chance(r, 70) ? 12 : 110) - 2;
        }
        give_page(g, c);
        break;
    case USHER_QUEUE_HISTORY:
        if (rng_chance(r, 30))
            give_since(g, c);
        if (rng_chance(r, 20))
            give_until(g, c);
        if (rng_chance(r, 20))
            a->user = user;
        if (rng_chance(r, 20))
            a->agent = agent;
        give_page(g, c);
        break;
    case USHER_QUEUE_DRAIN:
        if (rng_chance(r, 70)) {
            c->given |= USHER_GIVEN_QUEUE_TOKEN;
            a->token = rng_below(r, rng_chance(r, 80) ? g->made + 1 : 20);
            if (rng_chance(r, 70))
                give_until(g, c);
        }
        give_page(g, c);
        break;
    case USHER_QUEUE_SET:
        give_settings(g, c);
        break;
    default:
        break;
    }
}

void queue_gen_next(struct queue_gen *g, struct queue_gen_command *ret)
{
    struct rng *r = &g->rng;
    struct usher_operation *c = &ret->c;

    memset(ret, 0, sizeof *ret);
    tick(g);
    if (g->asked.c.request.data != NULL && rng_chance(r, g->request / 3)) { /* once more */
        *ret = g->asked;
        c->now_ms = g->now;
        return;
    }
    c->given = USHER_GIVEN_NOW;
    c->now_ms = g->now;
    c->scope = gen_any(r, &g->queues);
    c->verb = any_verb(g);
    if (g->big && rng_chance(r, 70))
        c->verb = rng_chance(r, 80) ? USHER_QUEUE_APPLY : USHER_QUEUE_LOGIN;
    if (rng_chance(r, g->request))
        c->request = gen_any(r, &g->requests);
    if (g->made++ == 0)
        c->verb = rng_chance(r, 70) ? USHER_QUEUE_SET : USHER_QUEUE_LOGIN;
    if (g->big && g->made <= g->users.n) { /* begin with a full queue */
        c->scope = text(g->queues.name[0]);
        c->verb = g->made == 1                       ? USHER_QUEUE_SET
                  : g->made == 2 || rng_chance(r, 3) ? USHER_QUEUE_LOGIN
                                                     : USHER_QUEUE_APPLY;
    }
    arguments(g, ret);
    if (g->refuse != 0 && c->verb == USHER_QUEUE_SET) {
        c->given |= USHER_GIVEN_QUEUE_OFFER;
        c->arg.queue.offer_ms = g->scale * (1 + (int64_t)rng_below(r, 9));
    }
    if (g->big && g->made == 1) {
        c->given |= USHER_GIVEN_QUEUE_TTL;
        c->arg.queue.ttl_ms = 4 * g->scale;
    }
    if (g->big && g->made <= g->users.n && c->verb == USHER_QUEUE_APPLY)
        c->arg.queue.user = text(g->users.name[g->made - 1]);
    if (rng_chance(r, 5)) {
        c->given |= USHER_GIVEN_QUEUE_IF_VERSION;
        c->arg.queue.if_version = rng_chance(r, 80) ? 0 : (int64_t)rng_below(r, 3) - 1;
        ret->version_of = true;
    }
    if (rng_chance(r, 2)) {
        spoil(g, c);
        ret->room_of &= c->arg.queue.room.data == NULL;
    }
    if (c->request.data != NULL)
        g->asked = *ret;
}

bool queue_gen_last_look(const struct queue_gen *g, unsigned queue, unsigned i,
                         struct usher_operation *ret)
{
    static const enum usher_verb verbs[] = { USHER_QUEUE_STATS, USHER_QUEUE_HISTORY,
                                             USHER_QUEUE_LIST, USHER_QUEUE_AGENTS,
                                             USHER_QUEUE_LANES };

    if (i == sizeof verbs / sizeof *verbs)
        return false;
    memset(ret, 0, sizeof *ret);
    ret->verb = verbs[i];
    ret->scope = text(g->queues.name[queue]);
    ret->given = USHER_GIVEN_NOW;
    ret->now_ms = g->now;
    if (i > 0) {
        ret->given |= USHER_GIVEN_QUEUE_MAX;
        ret->arg.queue.max = USHER_LIST_MAX;
    }
    return true;
}

/* The token of what @c is about, 0 if it is not there.  @of: the user in the room. */
static uint64_t token_now(const struct usher_operation *c, const struct usher_text *of,
                          const struct queue_model_queue *queue)
{
    const struct usher_queue_args *a = &c->arg.queue;
    const struct usher_text *user = of->data != NULL ? of : &a->user;
    const struct queue_model_user *u;
    const struct queue_model_agent *agent;

    if (user->data != NULL) {
        u = queue_model_user(queue, user->data, user->size);
        if (u == NULL)
            return 0;
        return c->verb == USHER_QUEUE_FINISH || c->verb == USHER_QUEUE_ACCEPT ||
                       c->verb == USHER_QUEUE_REJECT
                   ? u->token
                   : u->version;
    }
    if (a->agent.data == NULL)
        return 0;
    agent = queue_model_agent(queue, a->agent.data, a->agent.size);
    if (agent != NULL)
        return agent->session_version;
    for (size_t i = 0; i < queue->n_absent; i++)
        if (queue->absent[i].id.size == a->agent.size &&
            memcmp(queue->absent[i].id.data, a->agent.data, a->agent.size) == 0)
            return queue->absent[i].token;
    return 0;
}

struct usher_operation queue_gen_resolve(struct queue_gen_command *q, const struct queue_model *m)
{
    struct usher_operation c = q->c;
    struct usher_queue_args *a = &c.arg.queue;
    const struct queue_model_queue *queue = NULL;
    const struct queue_model_user *u = NULL;

    if (c.scope.data != NULL)
        queue = queue_model_queue(m, c.scope.data, c.scope.size);
    if (q->version_of) {
        int64_t version = queue != NULL ? (int64_t)queue->version : 0;

        a->if_version += version + a->if_version > 0 ? version : 2;
    }
    if ((c.given & USHER_GIVEN_QUEUE_SINCE_VERSION) != 0) { /* from where its log begins */
        a->since += queue != NULL ? (int64_t)queue->log.since : 0;
        if (a->since < 0)
            a->since = 0;
    }
    if (q->token_of && queue != NULL)
        a->token += token_now(&c, &q->of, queue);
    if (q->of.data == NULL)
        return c;
    if (queue != NULL)
        u = queue_model_user(queue, q->of.data, q->of.size);
    if (q->room_of) {
        a->room.data = q->text;
        a->room.size = (size_t)snprintf(q->text, sizeof q->text, "%" PRIu64 ".%" PRId64,
                                        u != NULL ? u->login : 1, u != NULL ? u->no : 1);
        if (u != NULL && u->no == 0 && queue->n_agents > 0) /* an empty one, perhaps */
            a->room.size =
                (size_t)snprintf(q->text, sizeof q->text, "%" PRIu64 ".1", queue->agents[0].login);
    }
    if (q->room_of && q->elsewhere) {
        memmove(q->text + 17, q->text, a->room.size + 1);
        memcpy(q->text, "0123456789abcdef.", 17);
        a->room.size += 17;
    }
    if (q->agent_of && u != NULL && u->agent.size > 0 && a->agent.data != NULL) {
        /* a copy: the model's may go before the stores have the command */
        memcpy(q->text, u->agent.data, u->agent.size);
        a->agent.data = q->text;
        a->agent.size = u->agent.size;
    }
    return c;
}
