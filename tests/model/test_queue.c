/* SPDX-License-Identifier: MIT */
/*
 * The same seeded commands for queues on every store, in lockstep, and what must hold whatever
 * the commands are.
 *
 *   replies   each store answers each command like the memory store, field by field.
 *   digests   all stores have the same digest.
 *   notices   they are dense in version; from and to follow on each other for each user.
 *   overtaken no user is matched while another one that the agent may have waits at a better place
 *             in the same lane.
 *   lost      a user that applied is listed in the state of its last notice, until a notice
 *             reports that it is gone.
 *   idle      with trigger=auto no agent is idle while a user waits that it may have.
 *   audit     no store has a fault: no user in two rooms, no room with two, right counts and lists.
 *
 * World i of a run has the seed USHER_SEED + i; a failure prints it.  USHER_SEED=<that>
 * USHER_STEPS=1 repeats one world.
 */
#include "lib/test.h"

#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif
#include "model/compare.h"

#define SEED_DEFAULT 20261121
#define COMMANDS 400 /* of a world */
#define USERS 12
#define AGENTS 5
#define LANES 3

static const char *const lanes[LANES] = { "default", "a", "b" };

/* ---- random numbers ---------------------------------------------------------------- */

static uint64_t rng;

static int64_t below(int64_t n)
{
    return (int64_t)(next_random(&rng) % (uint64_t)n);
}

static bool one_in(int64_t n)
{
    return below(n) == 0;
}

/* ---- what the test knows of users and agents ----------------------------------------- */

struct user {
    unsigned state;
    int lane;
    int64_t priority, since;
    uint64_t order;
    int64_t beat, patience; /* deadlines, INT64_MAX: none */
    bool offered;           /* once: an agent may be excluded */
    char owner[8];
};

struct world {
    uint64_t seed;
    int64_t now, ttl, maxwait;
    bool automatic, ever_other;
    struct user users[USERS];
    struct user applying; /* what the command says of who applies */
    uint64_t version;
    const char *fault;
    bool check_order; /* not while deadlines are applied late */
};

static struct world w;

static int index_of(const struct usher_text *name)
{
    return name->size == 2 ? name->data[1] - 'a' : -1;
}

static bool is_user(const struct usher_text *name)
{
    return name->size == 2 && name->data[0] == 'u';
}

static bool before(const struct user *a, const struct user *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->since != b->since)
        return a->since < b->since;
    return a->order < b->order;
}

static void hear(void *payload, const struct usher_notice *n)
{
    (void)payload;
    if (n->verb == USHER_NOTICE_LOST) /* is no change */
        return;
    if (n->version != w.version + 1)
        w.fault = "a notice is missing";
    w.version = n->version;
    if (n->subject.size == 0)
        return;
    if (!is_user(&n->subject))
        return; /* matches change agents, too, but their notices are of users */
    {
        struct user *u = &w.users[index_of(&n->subject)];

        if (u->state != n->from)
            w.fault = "a user's notices do not follow on each other";
        u->state = n->to;
        if (n->verb == USHER_QUEUE_APPLY && n->from == USHER_QUEUE_USER_GONE) {
            *u = w.applying;
            u->state = n->to;
            u->order = n->version;
        }
        if (n->to == USHER_QUEUE_USER_OFFERED)
            u->offered = true;
        if (n->verb == USHER_QUEUE_MATCH)
            for (int i = 0; i < USERS; i++) {
                const struct user *o = &w.users[i];

                if (o->state == USHER_QUEUE_USER_WAITING && o->lane == u->lane && before(o, u) &&
                    !o->offered && o->beat > w.now && o->patience > w.now && w.check_order)
                    w.fault = "somebody was overtaken";
            }
    }
}

/* ---- commands ------------------------------------------------------------------------ */

static char names[8][8];
static unsigned n_names;

static struct usher_text name_of(char kind, int64_t i)
{
    struct usher_text t;
    char *to = names[n_names++ % 8];

    to[0] = kind;
    to[1] = (char)('a' + i);
    to[2] = '\0';
    t.data = to;
    t.size = 2;
    return t;
}

static char room_name[48];
static uint64_t logins[AGENTS];
static char request_name[16];

static int64_t pick_ms(void)
{
    static const int64_t spans[] = { 0, 1, 5, 20, 100 };

    return spans[below(5)];
}

static void set_make(struct usher_operation *c)
{
    struct usher_queue_args *a = &c->arg.queue;

    c->verb = USHER_QUEUE_SET;
#define MAYBE(bit, field, value)             \
    if (one_in(4)) {                         \
        c->given |= USHER_GIVEN_QUEUE_##bit; \
        a->field = (value);                  \
    }
    MAYBE(TTL, ttl_ms, one_in(3) ? 0 : 20 + below(100))
    MAYBE(TRIGGER, trigger, one_in(2) ? USHER_QUEUE_TRIGGER_AUTO : 1 + below(3))
    MAYBE(MODE, mode, one_in(2) ? USHER_SCOPE_MODE_OPEN : 1 + below(3))
    MAYBE(STRATEGY, strategy, 1 + below(6))
    MAYBE(OFFER, offer_ms, pick_ms())
    MAYBE(ASK_AGAIN, again_ms, 1 + pick_ms())
    MAYBE(WRAPUP, wrapup_ms, pick_ms())
    MAYBE(LIMIT, limit, one_in(2) ? 0 : below(6))
    MAYBE(MAXWAIT, maxwait_ms, one_in(2) ? 0 : 10 + below(100))
    MAYBE(GRACE, grace_ms, pick_ms())
    MAYBE(REQUEUE, requeue, 1 + below(2))
    MAYBE(HISTORY, history, one_in(2) ? below(4) : 50)
    MAYBE(ZONE, zone_min, below(2881) - 1440)
    MAYBE(SERVICE, service_ms, pick_ms())
    MAYBE(REQUESTS, requests, 1 + below(5))
#undef MAYBE
}

/* One of the last versions: for a verb that compares it with what the command is about. */
static void token_make(struct usher_operation *c)
{
    c->given |= USHER_GIVEN_QUEUE_TOKEN;
    c->arg.queue.token = w.version - (uint64_t)below(6);
}

static void command_make(struct usher_operation *c)
{
    struct usher_queue_args *a = &c->arg.queue;
    int64_t dice = below(100);

    memset(c, 0, sizeof *c);
    n_names = 0;
    c->scope = text("q");
    c->given = USHER_GIVEN_NOW;
    if (!one_in(3))
        w.now += one_in(40) ? 86400000 / 2 : one_in(6) ? below(120) : below(6);
    c->now_ms = w.now;
    if (one_in(12)) {
        (void)snprintf(request_name, sizeof request_name, "r%d", (int)below(6));
        c->request = text(request_name);
    }
    if (dice < 26) {
        c->verb = USHER_QUEUE_APPLY;
        a->user = name_of('u', below(USERS));
        if (one_in(2))
            a->lane = text(lanes[below(LANES)]);
        if (one_in(3)) {
            c->given |= USHER_GIVEN_QUEUE_PRIORITY;
            a->priority = one_in(5) ? USHER_QUEUE_PRIORITY_MAX : below(3);
        }
        if (one_in(5)) {
            c->given |= USHER_GIVEN_QUEUE_SINCE;
            a->since_ms = w.now - below(100) + 3;
        }
    } else if (dice < 34) {
        c->verb = USHER_QUEUE_LOGIN;
        a->agent = name_of('a', below(AGENTS));
        if (one_in(2)) {
            c->given |= USHER_GIVEN_QUEUE_CAPACITY;
            a->capacity = 1 + below(3);
        }
        if (one_in(2))
            a->lanes = text(one_in(3)   ? "a,b"
                            : one_in(2) ? "b,a,b"
                            : one_in(2) ? "a,*"
                                        : "default");
        if (one_in(3)) {
            c->given |= USHER_GIVEN_QUEUE_LEVEL;
            a->level = below(3);
        }
        if (one_in(5))
            a->session = text(one_in(2) ? "s" : "t");
    } else if (dice < 48) {
        c->verb = USHER_QUEUE_FINISH;
        (void)snprintf(room_name, sizeof room_name, "%" PRIu64 ".%d", logins[below(AGENTS)],
                       (int)(1 + below(3)));
        if (one_in(30))
            (void)snprintf(room_name, sizeof room_name, one_in(2) ? "01.1" : "x");
        a->room = text(room_name);
        if (one_in(6))
            a->user = name_of('u', below(USERS));
        if (one_in(8))
            token_make(c);
    } else if (dice < 54) {
        c->verb = USHER_QUEUE_ALIVE;
        if (one_in(2))
            a->agent = name_of('a', below(AGENTS));
        else
            a->user = name_of('u', below(USERS));
        if (one_in(8))
            token_make(c);
    } else if (dice < 57) {
        c->verb = USHER_QUEUE_LEAVE;
        a->user = name_of('u', below(USERS));
        if (one_in(4))
            token_make(c);
    } else if (dice < 66) {
        c->verb = one_in(3) ? USHER_QUEUE_REJECT : USHER_QUEUE_ACCEPT;
        a->agent = name_of('a', below(AGENTS));
        a->user = name_of('u', below(USERS));
        for (int i = 0; i < USERS && !one_in(6); i++) /* mostly one that is offered */
            if (w.users[i].state == USHER_QUEUE_USER_OFFERED) {
                a->user = name_of('u', i);
                a->agent = text(w.users[i].owner);
                break;
            }
        if (one_in(4))
            token_make(c);
    } else if (dice < 70) {
        c->verb = one_in(2) ? USHER_QUEUE_PAUSE : USHER_QUEUE_READY;
        a->agent = name_of('a', below(AGENTS));
        if (one_in(4))
            token_make(c);
    } else if (dice < 72) {
        c->verb = one_in(3) ? USHER_QUEUE_FREE : USHER_QUEUE_LOGOUT;
        a->agent = name_of('a', below(AGENTS));
    } else if (dice < 75) {
        c->verb = USHER_QUEUE_PULL;
        a->agent = name_of('a', below(AGENTS));
        if (one_in(4))
            token_make(c);
    } else if (dice < 78) {
        c->verb = USHER_QUEUE_MATCH;
    } else if (dice < 80) {
        c->verb = USHER_QUEUE_SWEEP;
        if (one_in(2)) {
            c->given |= USHER_GIVEN_QUEUE_MAX;
            a->max = 1 + below(3);
        }
    } else if (dice < 83) {
        c->verb = USHER_QUEUE_MOVE;
        a->user = name_of('u', below(USERS));
        if (one_in(2))
            a->lane = text(lanes[below(LANES)]);
        if (one_in(2)) {
            c->given |= USHER_GIVEN_QUEUE_PRIORITY;
            a->priority = below(3);
        }
        if (one_in(3)) {
            c->given |= USHER_GIVEN_QUEUE_SINCE;
            a->since_ms = w.now - below(50);
        }
        if (one_in(4))
            token_make(c);
    } else if (dice < 87) {
        set_make(c);
    } else {
        static const enum usher_verb reads[] = { USHER_QUEUE_WHERE, USHER_QUEUE_ROOM,
                                                 USHER_QUEUE_LIST,  USHER_QUEUE_AGENTS,
                                                 USHER_QUEUE_STATS, USHER_QUEUE_HISTORY,
                                                 USHER_QUEUE_LANES, USHER_QUEUE_INTERVALS,
                                                 USHER_QUEUE_WAITS };

        c->verb = reads[below(9)];
        c->request.data = NULL;
        c->request.size = 0;
        if (c->verb == USHER_QUEUE_WHERE)
            a->user = name_of('u', below(USERS));
        if (c->verb == USHER_QUEUE_ROOM)
            a->agent = name_of('a', below(AGENTS));
        if ((c->verb == USHER_QUEUE_LIST || c->verb == USHER_QUEUE_STATS ||
             c->verb > USHER_QUEUE_LANES) &&
            one_in(2))
            a->lane = text(lanes[below(LANES)]);
        if (c->verb == USHER_QUEUE_LIST && one_in(2)) {
            c->given |= USHER_GIVEN_QUEUE_STATE;
            a->state = 1 + below(4);
        }
        if (c->verb == USHER_QUEUE_HISTORY && one_in(2)) {
            c->given |= USHER_GIVEN_QUEUE_SINCE;
            a->since_ms = w.now - below(200);
        }
        if (c->verb >= USHER_QUEUE_LIST && c->verb != USHER_QUEUE_STATS &&
            c->verb <= USHER_QUEUE_LANES && one_in(2)) {
            c->given |= USHER_GIVEN_QUEUE_MAX;
            a->max = 1 + below(3);
        }
    }
}

/* Record the effect of the command that does not depend on its answer. */
static void learn_before(const struct usher_operation *c)
{
    const struct usher_queue_args *a = &c->arg.queue;

    w.check_order = c->verb != USHER_QUEUE_MOVE;
    if (c->verb == USHER_QUEUE_APPLY) {
        struct user *u = &w.applying;

        memset(u, 0, sizeof *u);
        for (int i = 0; i < LANES && a->lane.data != NULL; i++)
            if (strcmp(a->lane.data, lanes[i]) == 0)
                u->lane = i;
        u->priority = (c->given & USHER_GIVEN_QUEUE_PRIORITY) != 0 ? a->priority : 0;
        u->since = (c->given & USHER_GIVEN_QUEUE_SINCE) != 0 ? a->since_ms : w.now;
        u->beat = w.ttl > 0 ? w.now + w.ttl : INT64_MAX;
        u->patience = w.maxwait > 0 ? w.now + w.maxwait : INT64_MAX;
    }
}

/* Record the effect that depends on the answer. */
static void learn_after(const struct usher_operation *c, const struct usher_result *r)
{
    const struct usher_queue_args *a = &c->arg.queue;

    if (r->repeated)
        return;
    if (c->verb == USHER_QUEUE_SET && r->status == USHER_OK) {
        w.ttl = r->of.queue.of.settings.ttl_ms;
        w.maxwait = r->of.queue.of.settings.maxwait_ms;
        w.automatic = r->of.queue.of.settings.trigger == USHER_QUEUE_TRIGGER_AUTO &&
                      r->of.queue.of.settings.mode != USHER_SCOPE_MODE_STOPPED;
        if (!w.automatic)
            w.ever_other = true;
    }
    if (c->verb == USHER_QUEUE_LOGIN && r->status == USHER_OK)
        logins[index_of(&a->agent)] = r->of.queue.login;
    if ((c->verb == USHER_QUEUE_APPLY || (c->verb == USHER_QUEUE_ALIVE && a->user.data != NULL)) &&
        USHER_IS_DONE(r->status))
        w.users[index_of(&a->user)].beat = w.ttl > 0 ? w.now + w.ttl : INT64_MAX;
    if (c->verb == USHER_QUEUE_MOVE && r->status == USHER_OK) {
        struct user *u = &w.users[index_of(&a->user)];

        for (int i = 0; i < LANES && a->lane.data != NULL; i++)
            if (strcmp(a->lane.data, lanes[i]) == 0)
                u->lane = i;
        if ((c->given & USHER_GIVEN_QUEUE_PRIORITY) != 0)
            u->priority = a->priority;
        if ((c->given & USHER_GIVEN_QUEUE_SINCE) != 0)
            u->since = a->since_ms;
    }
}

/* ---- comparing ----------------------------------------------------------------------- */

static bool rows_equal(const struct usher_queue_result_row *a,
                       const struct usher_queue_result_row *b)
{
    return text_equal(&a->user, &b->user) && text_equal(&a->agent, &b->agent) &&
           text_equal(&a->lane, &b->lane) && text_equal(&a->lanes, &b->lanes) &&
           a->login == b->login && a->no == b->no && a->state == b->state &&
           a->priority == b->priority && a->since_ms == b->since_ms &&
           a->applied_ms == b->applied_ms && a->matched_ms == b->matched_ms &&
           a->until_ms == b->until_ms && a->wait_ms == b->wait_ms && a->talk_ms == b->talk_ms &&
           a->capacity == b->capacity && a->used == b->used && a->served == b->served &&
           a->level == b->level;
}

static const char *difference(enum usher_verb verb, const struct usher_result *x,
                              const struct usher_result *y)
{
    const struct usher_queue_result *a = &x->of.queue, *b = &y->of.queue;

    if (x->status != y->status)
        return "status";
    if (x->status >= USHER_INVALID)
        return NULL;
    if (x->version != y->version)
        return "version";
    if (x->repeated != y->repeated)
        return "repeated";
    if (a->state != b->state)
        return "state";
    if (a->place != b->place || a->index != b->index)
        return "place";
    if (a->why != b->why || a->more != b->more || a->count != b->count)
        return "why, more or count";
    if (a->wait_ms != b->wait_ms)
        return "estimate";
    if (a->until_ms != b->until_ms || a->token != b->token || a->login != b->login ||
        a->no != b->no)
        return "room";
    if (a->user_size != b->user_size || memcmp(a->user, b->user, a->user_size) != 0)
        return "user";
    if (a->agent_size != b->agent_size || memcmp(a->agent, b->agent, a->agent_size) != 0)
        return "agent";
    if (a->n_rows != b->n_rows)
        return "number of rows";
    for (size_t i = 0; i < a->n_rows; i++)
        if (!rows_equal(&a->rows[i], &b->rows[i]))
            return "a row";
    if (verb == USHER_QUEUE_SET &&
        memcmp(&a->of.settings, &b->of.settings, sizeof a->of.settings) != 0)
        return "settings";
    if (verb == USHER_QUEUE_STATS && memcmp(&a->of.stats, &b->of.stats, sizeof a->of.stats) != 0)
        return "figures";
    return NULL;
}

/* ---- invariants ---------------------------------------------------------------------- */

static void one(struct usher_engine *e, struct usher_operation *c, struct usher_result *r)
{
    memset(r, 0, sizeof *r);
    assert_int_not_equal(usher_operate(e, c, r, 1), USHER_INVALID);
}

static bool lane_in(const struct usher_text *list, const struct usher_text *lane)
{
    const char *at = list->data, *end = list->data + list->size;

    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t n = (size_t)((comma != NULL ? comma : end) - at);

        if ((n == 1 && *at == '*') || (n == lane->size && memcmp(at, lane->data, n) == 0))
            return true;
        at += n + 1;
    }
    return false;
}

/* Every store was given the same, so looking at one is enough. */
static const char *state_fault(struct usher_engine *e)
{
    struct usher_operation c;
    struct usher_result agents, users;
    int64_t counted[5] = { 0 };
    const char *fault = NULL;

    memset(&c, 0, sizeof c);
    c.scope = text("q");
    c.given = USHER_GIVEN_NOW;
    c.now_ms = w.now;
    c.verb = USHER_QUEUE_AGENTS;
    one(e, &c, &agents);
    c.verb = USHER_QUEUE_LIST;
    for (c.arg.queue.state = 1; c.arg.queue.state <= 4; c.arg.queue.state++) {
        c.given |= USHER_GIVEN_QUEUE_STATE;
        one(e, &c, &users);
        for (size_t i = 0; i < users.of.queue.n_rows; i++) {
            const struct usher_queue_result_row *u = &users.of.queue.rows[i];
            struct user *known = &w.users[index_of(&u->user)];

            counted[c.arg.queue.state]++;
            if (known->state != (unsigned)u->state)
                fault = "a user is not in the state that its notices say";
            (void)snprintf(known->owner, sizeof known->owner, "%.*s", (int)u->agent.size,
                           u->agent.size != 0 ? u->agent.data : "");
            if (known->priority != u->priority || known->since != u->since_ms ||
                strlen(lanes[known->lane]) != u->lane.size)
                fault = "a user has another place than it was given";
            if (u->state != USHER_QUEUE_USER_WAITING || !w.automatic || w.ever_other ||
                known->offered)
                continue;
            for (size_t k = 0; k < agents.of.queue.n_rows; k++) {
                const struct usher_queue_result_row *a = &agents.of.queue.rows[k];

                if (a->state == USHER_QUEUE_AGENT_IDLE && lane_in(&a->lanes, &u->lane))
                    fault = "an agent is idle while a user waits for it";
            }
        }
        usher_result_done(&users);
    }
    usher_result_done(&agents);
    for (unsigned state = 1; state <= 4 && fault == NULL; state++) {
        int64_t n = 0;

        for (int i = 0; i < USERS; i++)
            n += w.users[i].state == state;
        if (n != counted[state])
            fault = "somebody is lost";
    }
    return fault;
}

/* ---- stores ------------------------------------------------------------------------- */

#define STORES_MAX 3
static const char *store_names[STORES_MAX] = { "memory" };
static unsigned n_stores = 1;
#ifdef USHER_WITH_REDIS
static struct redis_server *server;
#endif

static void file_remove(void)
{
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    char path[128];

    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        (void)snprintf(path, sizeof path, "%s/q.db%s", test_dir(), tails[i]);
        (void)unlink(path);
    }
}

static struct usher_engine *store_open(const char *name)
{
    char url[256] = "memory:";
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;

    opt.clock_given = true; /* versions begin at 1 on Redis, too */
    if (strcmp(name, "sqlite") == 0) {
        file_remove();
        (void)snprintf(url, sizeof url, "sqlite:%s/q.db?sync=off", test_dir());
    }
#ifdef USHER_WITH_REDIS
    if (strcmp(name, "redis") == 0) {
        char of_server[REDIS_URL_MAX];

        assert_true(redis_do_ok(server, "FLUSHALL", NULL));
        (void)snprintf(url, sizeof url, "%s", redis_server_url(server, of_server));
    }
#endif
    if (usher_open(url, &opt, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

static void world_fail(size_t i, const struct usher_operation *c, const char *store,
                       const char *what)
{
    fail_msg("seed %" PRIu64 ", command %zu (%s at %" PRId64 "), %s: %s", w.seed, i,
             usher_verb_word(c->verb), c->now_ms - 1700000000000, store, what);
}

static void world_run(uint64_t seed, unsigned n)
{
    struct usher_engine *e[STORES_MAX];
    struct usher_watcher *watch = NULL;
    struct usher_result r[STORES_MAX];
    struct usher_operation c;
    char digest[STORES_MAX][33];

    memset(&w, 0, sizeof w);
    memset(logins, 0, sizeof logins);
    w.seed = rng = seed;
    w.now = INT64_C(1700000000000);
    w.ttl = 15000;
    w.automatic = true;
    for (unsigned s = 0; s < n; s++)
        e[s] = store_open(store_names[s]);
    assert_int_equal(usher_watch(e[0], USHER_QUEUE, "q", hear, NULL, &watch), USHER_OK);
    for (size_t i = 0; i < COMMANDS; i++) {
        bool look = i % 16 == 15;

        command_make(&c);
        learn_before(&c);
        if (getenv("USHER_SHOW") != NULL)
            print_message("%zu %s agent=%s user=%s lane=%s lanes=%s room=%s req=%s given=%" PRIx64
                          " now=%" PRId64 "\n",
                          i, usher_verb_word(c.verb), c.arg.queue.agent.data, c.arg.queue.user.data,
                          c.arg.queue.lane.data, c.arg.queue.lanes.data, c.arg.queue.room.data,
                          c.request.data, c.given, c.now_ms - INT64_C(1700000000000));
        for (unsigned s = 0; s < n; s++) {
            const char *what;

            one(e[s], &c, &r[s]);
            if ((r[s].status >= USHER_UNAVAILABLE && r[s].status != USHER_LOST) ||
                (r[s].status == USHER_INVALID && s > 0 && r[0].status != USHER_INVALID))
                world_fail(i, &c, store_names[s], r[s].message);
            queue_history_cut(store_names[s], &c, &r[0], &r[s]);
            what = s > 0 ? difference(c.verb, &r[0], &r[s]) : w.fault;
            if (what != NULL && s > 0)
                print_error("%s, version %" PRIu64 " %s; %s, version %" PRIu64 " %s\n",
                            usher_status_word(r[0].status), r[0].version, r[0].message,
                            usher_status_word(r[s].status), r[s].version, r[s].message);
            if (what != NULL)
                world_fail(i, &c, store_names[s], what);
        }
        learn_after(&c, &r[0]);
        for (unsigned s = 0; s < n; s++)
            usher_result_done(&r[s]);
        if (look && w.version != 0) {
            const char *what = state_fault(e[0]);

            if (what == NULL)
                what = w.fault;
            if (what != NULL)
                world_fail(i, &c, "memory", what);
            for (unsigned s = 1; s < n; s++) { /* they met the same deadlines */
                struct usher_operation all;
                struct usher_result reply;

                memset(&all, 0, sizeof all);
                all.scope = c.scope;
                all.given = USHER_GIVEN_NOW;
                all.now_ms = w.now;
                all.verb = USHER_QUEUE_AGENTS;
                one(e[s], &all, &reply);
                usher_result_done(&reply);
            }
        }
        if (n > 1 && (i % 8 == 0 || look))
            for (unsigned s = 0; s < n; s++) {
                assert_int_equal(usher_digest(e[s], USHER_QUEUE, "q", digest[s]), USHER_OK);
                if (strcmp(digest[0], digest[s]) != 0)
                    world_fail(i, &c, store_names[s], "digest");
            }
        if (i % 100 == 99 || i + 1 == COMMANDS)
            for (unsigned s = 0; s < n; s++) {
                uint64_t faults = 0;

                assert_int_equal(check_faults(e[s], print_fault, NULL, &faults), USHER_OK);
                if (faults != 0)
                    world_fail(i, &c, store_names[s], "audit");
            }
    }
    usher_unwatch(e[0], watch);
    for (unsigned s = 0; s < n; s++)
        usher_close(e[s]);
}

static void worlds(uint64_t commands, unsigned n)
{
    uint64_t seed = number_from("USHER_SEED", SEED_DEFAULT);
    uint64_t steps = budget_of("USHER_STEPS", commands) / COMMANDS;

    if (steps == 0)
        steps = 1;
    print_message("seed %" PRIu64 ", %" PRIu64 " worlds of %d commands\n", seed, steps, COMMANDS);
    for (uint64_t i = 0; i < steps; i++)
        world_run(seed + i, n);
}

TEST(no_user_is_lost_doubled_or_overtaken_in_memory)
{
    worlds(100000, 1);
}

TEST(all_stores_answer_alike)
{
    worlds(20000, n_stores);
}

static int program_begin(void)
{
#ifdef USHER_WITH_SQLITE
    store_names[n_stores++] = "sqlite";
#endif
#ifdef USHER_WITH_REDIS
    server = redis_server_start(NULL);
    if (server != NULL)
        store_names[n_stores++] = "redis";
    else
        (void)redis_skip();
#endif
    return 0;
}

static void program_end(void)
{
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
}

TEST_PROGRAM(program_begin, program_end);
