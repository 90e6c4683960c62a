/* SPDX-License-Identifier: MIT */
/*
 * Commands that run while a server is lost or replaced: a number is taken back under a request
 * id, with watchers of both servers, by two owners at once; sixty-four callers call, or a check
 * repairs.  Two real servers, and a name (a proxy) that leads to the current master.
 *
 * The first half is deterministic.  In the second half each round waits for a certain state of the
 * servers, and no answer depends on whether it was met.
 */
#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "lib/calls.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/proxy.h"
#include "lib/servers.h"
#include "lib/util.h"

/* Options of a call with a lease of @ms. */
#define for_ms(ms) (&(struct ask_number_call_options){ .lease_ms = (ms) })

#define PATIENCE_MS 60000

static struct redis_server *first, *second;
static struct proxy *name;

/* ---- two servers ------------------------------------------------------------------------- */

static int two_servers(void **state)
{
    (void)state;
    first = redis_server_start(NULL);
    second = redis_server_start(NULL);
    if (first == NULL || second == NULL)
        return -1;
    name = proxy_start(redis_server_port(first));
    return name != NULL ? 0 : -1;
}

static int no_servers(void **state)
{
    (void)state;
    proxy_stop(name);
    redis_server_stop(first);
    redis_server_stop(second);
    return 0;
}

TEST_EACH(two_servers, no_servers);

static struct usher_engine *open_at(int port)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    char url[64];

    options.timeout_ms = PATIENCE_MS;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

static struct usher_engine *opened(const struct redis_server *s)
{
    return open_at(redis_server_port(s));
}

static long long offset(struct redis_server *s)
{
    redisReply *r = redis_do(s, "INFO", "replication", NULL);
    const char *at;
    long long n;

    assert_true(r != NULL && r->type == REDIS_REPLY_STRING);
    at = strstr(r->str, "master_repl_offset:");
    assert_non_null(at);
    n = strtoll(at + strlen("master_repl_offset:"), NULL, 10);
    freeReplyObject(r);
    return n;
}

static void pause_briefly(void)
{
    struct timespec t = { 0, 1000000 };

    (void)nanosleep(&t, NULL);
}

/* Wait until @to has all of @from, to which no client writes. */
static void caught_up(struct redis_server *from, struct redis_server *to)
{
    while (offset(from) != offset(to))
        pause_briefly();
}

static void follow(struct redis_server *to, struct redis_server *from)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", redis_server_port(from));
    assert_true(redis_do_ok(to, "REPLICAOF", "127.0.0.1", port, NULL));
}

static void replicate(struct redis_server *to, struct redis_server *from)
{
    follow(to, from);
    assert_true(redis_server_wait_info(to, "replication", "master_link_status:up", PATIENCE_MS));
}

static void promote(struct redis_server *s)
{
    assert_true(redis_do_ok(s, "REPLICAOF", "NO", "ONE", NULL));
}

/* Make @second a copy of @first; from now on both accept writes. */
static void part(void)
{
    replicate(second, first);
    caught_up(first, second);
    promote(second);
}

/* Replace the data of @first by those of @second.  Clients must connect again: an open connection
 * would not check the server for a second. */
static void first_becomes_second(void)
{
    replicate(first, second);
    caught_up(second, first);
    promote(first);
    assert_true(redis_do_ok(first, "CLIENT", "KILL", "TYPE", "normal", NULL));
}

/* ---- commands ---------------------------------------------------------------------------- */

static void begin(struct usher_engine *e, const char *pool, int n)
{
    for (int i = 0; i < n; i++) {
        (void)expect_ok(e, "number add %s %d", pool, 100000 + i);
        (void)expect_ok(e, "number reg %s %d", pool, 100000 + i);
    }
}

static struct ask_number_hold called(struct usher_engine *e, const char *owner)
{
    struct ask_number_hold hold;

    assert_int_equal(ask_number_call(e, "p", owner, NULL, &hold), USHER_OK);
    return hold;
}

/* ---- taken back under a request id --------------------------------------------------------- */

/* A server that takes over with a cached answer returns it.  If the answer is lost, the repeat is
 * executed, and returns the existing hold. */
TEST(a_repeat_returns_the_existing_hold)
{
    struct usher_engine *a, *b;
    struct ask_number_hold bob, carl;
    struct usher_result r;
    uint64_t again;

    a = opened(first);
    begin(a, "p", 9);
    part();
    bob = called(a, "bob");
    r = expect_ok(a, "number renew p %s token=%" PRIu64 " owner=bob lease=900000 req=r0",
                  bob.number, bob.token);
    assert_true(r.of.number.token == bob.token);

    /* b has neither the request nor the hold */
    b = opened(second);
    r = expect_ok(b, "number renew p %s token=%" PRIu64 " owner=bob lease=900000 req=r0",
                  bob.number, bob.token);
    again = r.of.number.token;
    assert_true(!r.repeated && again != bob.token);
    r = expect_ok(b, "number renew p %s token=%" PRIu64 " owner=bob lease=900000 req=r0",
                  bob.number, bob.token);
    assert_true(r.repeated && r.of.number.token == again);

    /* without loss: the cached answer is copied */
    first_becomes_second();
    r = expect_ok(a, "number renew p %s token=%" PRIu64 " owner=bob lease=900000 req=r0",
                  bob.number, bob.token);
    assert_true(r.repeated && r.of.number.token == again);
    (void)expect(a, USHER_LOST, "number renew p %s token=%" PRIu64, bob.number, bob.token);
    (void)expect_ok(a, "number renew p %s token=%" PRIu64 " lease=800000", bob.number, again);

    /* both continue: carl's hold is from b, and the one taken back from a */
    carl = called(b, "carl");
    r = expect_ok(a, "number renew p %s token=%" PRIu64 " owner=carl req=r1", carl.number,
                  carl.token);
    again = r.of.number.token;
    assert_true(!r.repeated && again != carl.token);
    first_becomes_second();
    r = expect_ok(a, "number renew p %s token=%" PRIu64 " owner=carl lease=700000 req=r1",
                  carl.number, again);
    assert_true(!r.repeated && r.of.number.token == carl.token);
    (void)expect(a, USHER_LOST, "number renew p %s token=%" PRIu64, carl.number, again);
    (void)expect_ok(a, "number renew p %s token=%" PRIu64 " lease=600000", carl.number, carl.token);

    /* a refusal is not cached: the number is dora's, then it is free */
    carl = called(a, "carl-2");
    r = expect_ok(b, "number call p number=%s owner=dora", carl.number);
    (void)expect(b, USHER_LOST, "number renew p %s token=%" PRIu64 " owner=carl-2 req=r2",
                 carl.number, carl.token);
    (void)expect_ok(b, "number hangup p %s token=%" PRIu64 " rest=0", carl.number,
                    r.of.number.token);
    r = expect_ok(b, "number renew p %s token=%" PRIu64 " owner=carl-2 req=r2", carl.number,
                  carl.token);
    assert_false(r.repeated);
    audit(a);
    audit(b);
    usher_close(a);
    usher_close(b);
}

/* ---- with watchers ------------------------------------------------------------------------- */

struct last_notice {
    unsigned n, lost; /* changes, and notices of a loss */
    uint64_t whole;   /* the version of the last notice of a loss */
    uint64_t version, before, token;
    enum usher_verb verb;
    bool was_busy, is_busy;
    char number[32], owner[32];
};

static bool is_busy(uint8_t state)
{
    return state == USHER_NUMBER_STATE_BUSY_UP || state == USHER_NUMBER_STATE_BUSY_DOWN;
}

static void on_notice(void *payload, const struct usher_notice *n)
{
    struct last_notice *h = payload;

    if (n->verb == USHER_NOTICE_LOST) {
        h->lost++;
        h->whole = n->version;
        return;
    }
    h->n++;
    h->version = n->version;
    h->before = n->before;
    h->token = n->token;
    h->verb = n->verb;
    h->was_busy = is_busy(n->from);
    h->is_busy = is_busy(n->to);
    (void)snprintf(h->number, sizeof h->number, "%.*s", (int)n->subject.size, n->subject.data);
    (void)snprintf(h->owner, sizeof h->owner, "%.*s", (int)n->owner.size, n->owner.data);
}

static struct usher_engine *watched(struct usher_engine *e, struct last_notice *h)
{
    struct usher_watcher *watch;

    memset(h, 0, sizeof *h);
    assert_int_equal(usher_watch(e, USHER_NUMBER, "p", on_notice, h, &watch), USHER_OK);
    return e;
}

/* Check the last notice: @owner has @number by @token, after version @before. */
static void received(const struct last_notice *h, unsigned n, const char *number, const char *owner,
                     uint64_t token, uint64_t before)
{
    assert_int_equal(h->n, n);
    assert_string_equal(h->number, number);
    assert_string_equal(h->owner, owner);
    assert_true(h->is_busy && h->token == token);
    if (h->before != before)
        fail_msg("after %" PRIu64 ", not %" PRIu64, h->before, before);
}

TEST(watchers_receive_the_changes_of_their_server)
{
    struct usher_engine *a, *b;
    struct last_notice at_a, at_b;
    struct ask_number_hold bob, mine;
    uint64_t whole;

    a = opened(first);
    begin(a, "p", 9);
    (void)watched(a, &at_a);
    part();
    b = watched(opened(second), &at_b);
    whole = expect_ok(b, "number stats p").version;
    bob = called(a, "bob");
    received(&at_a, 1, bob.number, "bob", bob.token, whole);

    /* a command that is answered `lost` changes nothing */
    (void)expect(b, USHER_LOST, "number renew p %s token=%" PRIu64, bob.number, bob.token);
    assert_true(at_b.n == 0 && at_b.lost == 1 && at_b.whole == whole);
    mine = bob;
    assert_int_equal(ask_number_renew_as(b, "p", "bob", for_ms(900000), &mine), USHER_OK);
    received(&at_b, 1, bob.number, "bob", mine.token, whole);
    assert_true(!at_b.was_busy && at_b.verb == USHER_NUMBER_RENEW && at_b.version == mine.token);
    assert_true(at_b.version != bob.token);
    /* repeated with the old token: only the lease is another one */
    bob.token = at_a.token;
    assert_int_equal(ask_number_renew_as(b, "p", "bob", for_ms(800000), &bob), USHER_OK);
    received(&at_b, 2, bob.number, "bob", mine.token, mine.token);
    assert_true(at_b.was_busy);
    (void)expect(b, USHER_LOST, "number renew p %s token=%" PRIu64 " owner=eve", bob.number,
                 at_a.token);
    assert_true(at_b.n == 2 && at_b.lost == 2 && at_b.whole == whole);
    assert_true(at_a.n == 1 && at_a.lost == 0);

    /* the first server gets all, and its watcher continues after changes that it did not receive */
    first_becomes_second();
    /* a read connects again: a hangup whose connection ends under it would be `unknown` */
    (void)expect_ok(a, "number show p %s", bob.number);
    (void)expect(a, USHER_LOST, "number hangup p %s token=%" PRIu64, bob.number, at_a.token);
    assert_true(at_a.n == 1 && at_a.lost == 1 && at_a.whole == whole);
    (void)expect_ok(a, "number renew p %s token=%" PRIu64 " lease=700000", bob.number, mine.token);
    received(&at_a, 2, bob.number, "bob", mine.token, at_b.version);
    assert_true(at_a.version > at_b.version + 1);
    (void)expect_ok(a, "number hangup p %s token=%" PRIu64 " rest=0", bob.number, mine.token);
    assert_true(at_a.n == 3 && at_a.before + 1 == at_a.version && !at_a.is_busy);
    assert_true(at_b.n == 2 && at_b.lost == 2);
    audit(a);
    usher_close(a);
    usher_close(b);
}

/* ---- two owners at once -------------------------------------------------------------------- */

#define CONTESTS 40

struct claim {
    struct usher_engine *e;
    atomic_uint *gate;
    const char *owner;
    struct ask_number_hold hold[CONTESTS];
    enum usher_status status[CONTESTS];
};

static void *claims(void *payload)
{
    struct claim *c = payload;

    for (unsigned i = 0; i < CONTESTS; i++) {
        char owner[32];

        /* both at once */
        (void)atomic_fetch_add(c->gate, 1);
        while (atomic_load(c->gate) < 2 * (i + 1))
            (void)sched_yield();
        (void)snprintf(owner, sizeof owner, "%s-%u", c->owner, i);
        c->status[i] = ask_number_renew_as(c->e, "p", owner, for_ms(900000), &c->hold[i]);
    }
    return NULL;
}

static void claim_at_once(struct claim c[2])
{
    pthread_t thread[2];
    atomic_uint gate = 0;

    for (int i = 0; i < 2; i++)
        c[i].gate = &gate;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, claims, &c[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* Both had the number, one after the other, on a server that is lost. */
TEST(one_of_two_owners_takes_a_lost_number_back)
{
    static struct claim c[2], same[2];
    struct usher_engine *a;
    struct last_notice last_notice[2];
    unsigned won[2] = { 0, 0 };

    a = opened(first);
    begin(a, "p", CONTESTS);
    part();
    memset(c, 0, sizeof c);
    c[0].owner = "bob";
    c[1].owner = "eve";
    for (unsigned i = 0; i < CONTESTS; i++) {
        struct usher_result r;
        char owner[32];

        (void)snprintf(owner, sizeof owner, "bob-%u", i);
        c[0].hold[i] = c[1].hold[i] = called(a, owner);
        (void)expect_ok(a, "number hangup p %s token=%" PRIu64 " rest=0", c[0].hold[i].number,
                        c[0].hold[i].token);
        r = expect_ok(a, "number call p number=%s owner=eve-%u", c[0].hold[i].number, i);
        c[1].hold[i].token = r.of.number.token;
    }
    memcpy(same, c, sizeof same);
    for (int i = 0; i < 2; i++)
        c[i].e = same[i].e = watched(opened(second), &last_notice[i]);
    claim_at_once(c);
    for (unsigned i = 0; i < CONTESTS; i++) {
        unsigned w = c[0].status[i] == USHER_OK ? 0 : 1;
        struct usher_result r;

        if (c[w].status[i] != USHER_OK || c[1 - w].status[i] != USHER_LOST)
            fail_msg("%s: %s and %s", c[0].hold[i].number, usher_status_word(c[0].status[i]),
                     usher_status_word(c[1].status[i]));
        won[w]++;
        assert_true(c[1 - w].hold[i].token == same[1 - w].hold[i].token); /* as it was */
        r = expect_ok(c[1 - w].e, "number show p %s", c[w].hold[i].number);
        assert_true(r.of.number.token == c[w].hold[i].token);
        same[0].hold[i] = same[1].hold[i];
    }
    assert_int_equal(last_notice[0].n + last_notice[1].n, CONTESTS);
    assert_int_equal(last_notice[0].lost, won[1]);
    assert_int_equal(last_notice[1].lost, won[0]);
    print_message("bob has %u numbers, eve %u\n", won[0], won[1]);
    audit(c[0].e);

    /* an owner that claims a number twice at once has one hold; all are free again */
    for (unsigned i = 0; i < CONTESTS; i++) {
        unsigned w = c[0].status[i] == USHER_OK ? 0 : 1;

        (void)expect_ok(c[0].e, "number hangup p %s token=%" PRIu64 " rest=0", c[w].hold[i].number,
                        c[w].hold[i].token);
    }
    same[0].owner = same[1].owner = "zoe";
    claim_at_once(same);
    for (unsigned i = 0; i < CONTESTS; i++) {
        assert_true(USHER_IS_DONE(same[0].status[i]) && USHER_IS_DONE(same[1].status[i]));
        assert_true(same[0].hold[i].token == same[1].hold[i].token);
        (void)expect_ok(c[0].e, "number hangup p %s token=%" PRIu64 " rest=0",
                        same[0].hold[i].number, same[0].hold[i].token);
    }
    audit(c[0].e);
    usher_close(a);
    usher_close(c[0].e);
    usher_close(c[1].e);
}

/* ---- callers ------------------------------------------------------------------------------- */

#define CALLERS 64
#define WATCHED 8 /* more of them, on an engine with a watcher */
#define NUMBERS 600
#define HOLDS_MAX 50000 /* of one caller; not reached */

static atomic_bool over;

/* A hold of a caller, from its answer to its hangup or to the answer `lost`. */
struct had {
    char number[16];
    uint64_t token;
    int64_t from, to;
    bool lost;
};

struct caller {
    pthread_t thread;
    struct usher_engine *e;
    const char *pool;
    unsigned id;
    atomic_uint calls, lost;
    atomic_bool failed;
    char wrong[256];
    struct had *had; /* one a call */
};

static bool stop_with(struct caller *c, const struct had *had, const char *what)
{
    (void)snprintf(c->wrong, sizeof c->wrong, "%s %s token %" PRIu64 ": %.180s", what, had->number,
                   had->token, usher_message());
    atomic_store(&c->failed, true);
    return false;
}

/* Call a number, renew it and hang up, unless it is lost in between. */
static bool one_call(struct caller *c)
{
    unsigned n = atomic_load(&c->calls);
    struct had *had = &c->had[n];
    enum usher_status status;
    struct ask_number_hold hold;
    char owner[32];

    (void)snprintf(owner, sizeof owner, "o%u-%u", c->id, n);
    status = ask_number_call(c->e, c->pool, owner, NULL, &hold);
    if (status != USHER_OK)
        return stop_with(c, had, "call");
    (void)snprintf(had->number, sizeof had->number, "%.15s", hold.number);
    had->token = hold.token;
    had->from = clock_ns();
    status = ask_number_renew(c->e, c->pool, hold.number, hold.token, 900000, NULL);
    had->to = clock_ns();
    if (status == USHER_OK)
        status = ask_number_hangup(c->e, c->pool, hold.number, hold.token, 0);
    had->lost = status == USHER_LOST;
    if (status != USHER_OK && !had->lost)
        return stop_with(c, had, usher_status_word(status));
    (void)atomic_fetch_add(&c->lost, had->lost);
    if (atomic_fetch_add(&c->calls, 1) + 1 == HOLDS_MAX)
        return stop_with(c, had, "too many");
    return true;
}

static void *calls(void *payload)
{
    struct caller *c = payload;

    while (!atomic_load(&over) && one_call(c))
        ;
    return NULL;
}

static unsigned lost_by(const struct caller *c, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += atomic_load(&c[i].lost);
    return sum;
}

/* Wait until each caller has made @more calls. */
static void let_call(const struct caller *c, unsigned n, unsigned more)
{
    unsigned from[CALLERS + WATCHED];

    for (unsigned i = 0; i < n; i++)
        from[i] = atomic_load(&c[i].calls);
    for (unsigned i = 0; i < n; i++)
        while (atomic_load(&c[i].calls) < from[i] + more && !atomic_load(&c[i].failed))
            pause_briefly();
}

static int by_token(const void *a, const void *b)
{
    const struct had *x = a, *y = b;

    return (x->token > y->token) - (x->token < y->token);
}

static int by_number(const void *a, const void *b)
{
    const struct had *x = a, *y = b;
    int order = strcmp(x->number, y->number);

    return order != 0 ? order : (x->from > y->from) - (x->from < y->from);
}

/* Check the holds of @c on one pool: no token was issued twice, and if two callers had a number at
 * the same time, one of them got the answer `lost`. */
static void check_holds(const struct caller *c, unsigned n)
{
    struct had *all;
    size_t k = 0;

    for (unsigned i = 0; i < n; i++)
        k += atomic_load(&c[i].calls);
    all = malloc((k + 1) * sizeof *all);
    assert_non_null(all);
    k = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned calls_of = atomic_load(&c[i].calls);

        memcpy(&all[k], c[i].had, calls_of * sizeof *all);
        k += calls_of;
    }
    qsort(all, k, sizeof *all, by_token);
    for (size_t i = 1; i < k; i++)
        if (all[i].token == all[i - 1].token)
            fail_msg("%s and %s have the token %" PRIu64, all[i - 1].number, all[i].number,
                     all[i].token);
    qsort(all, k, sizeof *all, by_number);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1;
             j < k && strcmp(all[i].number, all[j].number) == 0 && all[j].from < all[i].to; j++)
            if (!all[i].lost && !all[j].lost)
                fail_msg("%s is had twice: tokens %" PRIu64 " and %" PRIu64, all[i].number,
                         all[i].token, all[j].token);
    free(all);
}

/* Notices of changes, which follow each other except after a loss. */
struct chain {
    uint64_t version;
    unsigned n, losses, lost_notices; /* changes, those after a loss, notices of a loss */
    char wrong[128];
};

static void follow_chain(void *payload, const struct usher_notice *n)
{
    struct chain *c = payload;

    if (n->verb == USHER_NOTICE_LOST) {
        c->lost_notices++;
        return;
    }
    if (n->version <= c->version || n->before > c->version)
        (void)snprintf(c->wrong, sizeof c->wrong, "%" PRIu64 " after %" PRIu64 ", not %" PRIu64,
                       n->version, n->before, c->version);
    c->losses += n->before != c->version;
    c->version = n->version;
    c->n++;
}

/* Fail over without loss: writes are paused until @to has all and has taken over. */
static void hand_over(struct redis_server *from, struct redis_server *to)
{
    assert_true(redis_do_ok(from, "CLIENT", "PAUSE", "600000", "WRITE", NULL));
    caught_up(from, to);
    proxy_set_target(name, redis_server_port(to));
    promote(to);
    follow(from, to);
    assert_true(redis_do_ok(from, "CLIENT", "UNPAUSE", NULL));
}

#define CHANGES 6 /* failovers, every other with a loss */

/* Sixty-four on both connections of an engine, and eight on one with a watcher. */
TEST(callers_and_a_watcher_survive_failovers)
{
    static struct caller c[CALLERS + WATCHED];
    struct redis_server *master = first, *other = second;
    struct usher_engine *two, *e;
    struct usher_watcher *watch;
    struct chain chain;
    unsigned lost = 0;

    two = open_at(proxy_port(name));
    e = open_at(proxy_port(name));
    begin(two, "p", NUMBERS);
    begin(two, "q", NUMBERS / 4);
    memset(&chain, 0, sizeof chain);
    chain.version = expect_ok(two, "number stats q").version;
    assert_int_equal(usher_watch(e, USHER_NUMBER, "q", follow_chain, &chain, &watch), USHER_OK);
    replicate(other, master);
    atomic_store(&over, false);
    memset(c, 0, sizeof c);
    for (unsigned i = 0; i < CALLERS + WATCHED; i++) {
        c[i].id = i;
        c[i].e = i < CALLERS ? two : e;
        c[i].pool = i < CALLERS ? "p" : "q";
        c[i].had = calloc(HOLDS_MAX, sizeof *c[i].had);
        assert_non_null(c[i].had);
        assert_int_equal(pthread_create(&c[i].thread, NULL, calls, &c[i]), 0);
    }
    for (unsigned i = 0; i < CHANGES; i++) {
        struct redis_server *was = master;

        let_call(c, CALLERS + WATCHED, 4);
        assert_true(
            redis_server_wait_info(other, "replication", "master_link_status:up", PATIENCE_MS));
        if (i % 2 == 0) {
            hand_over(master, other);
            let_call(c, CALLERS + WATCHED, 4);
            if (lost_by(c, CALLERS + WATCHED) != lost)
                print_error("change %u: nothing was lost, but %u got the answer lost\n", i,
                            lost_by(c, CALLERS + WATCHED) - lost);
            assert_int_equal(lost_by(c, CALLERS + WATCHED), lost);
        } else {
            promote(other);
            let_call(c, CALLERS + WATCHED, 4);
            proxy_set_target(name, redis_server_port(other));
            follow(master, other);
            let_call(c, CALLERS + WATCHED, 4);
            lost = lost_by(c, CALLERS + WATCHED);
        }
        master = other;
        other = was;
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < CALLERS + WATCHED; i++)
        assert_int_equal(pthread_join(c[i].thread, NULL), 0);
    for (unsigned i = 0; i < CALLERS + WATCHED; i++)
        if (atomic_load(&c[i].failed))
            fail_msg("caller %u: %s", i, c[i].wrong);
    if (chain.wrong[0] != '\0')
        fail_msg("a notice of version %s", chain.wrong);
    check_holds(c, CALLERS);
    check_holds(c + CALLERS, WATCHED);
    audit(e);
    print_message("%u answers of a loss, %u notices, %u of them after a loss\n", lost, chain.n,
                  chain.losses);
    assert_true(lost > 0 && chain.n > 0 && chain.losses <= CHANGES / 2);
    assert_int_equal(chain.lost_notices, lost_by(c + CALLERS, WATCHED));
    for (unsigned i = 0; i < CALLERS + WATCHED; i++)
        free(c[i].had);
    usher_unwatch(e, watch);
    usher_close(e);
    usher_close(two);
}

/* ---- a repair ------------------------------------------------------------------------------ */

#define REPAIRED 3000 /* numbers: several steps */

struct repairer {
    pthread_t thread;
    struct usher_engine *e;
    atomic_bool done;
    enum usher_status status;
    struct usher_check_result found;
};

static void *repair(void *payload)
{
    struct repairer *m = payload;

    m->status = usher_check(m->e, &repairing, NULL, NULL, &m->found);
    atomic_store(&m->done, true);
    return NULL;
}

/* The header is longer while the scope is being repaired (lua/repair.lua). */
static bool is_marked(struct redis_server *s)
{
    redisReply *r = redis_do(s, "HSTRLEN", "{p}:number", "head", NULL);
    bool marked;

    assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER);
    marked = r->integer > 213;
    freeReplyObject(r);
    return marked;
}

/* A scope is being repaired during a failover.  The new master has half of the repair, and the
 * mark; it refuses commands on the scope until it is repaired there as well. */
TEST(a_failover_during_a_repair_leaves_the_scope_unserved)
{
    struct redis_server *master = first, *other = second;
    unsigned inherited = 0, tries = 0;
    struct usher_engine *e;
    struct ask_number_hold ann;

    e = open_at(proxy_port(name));
    begin(e, "p", REPAIRED);
    ann = called(e, "ann");
    while (inherited < 3 && tries++ < 200) {
        struct redis_server *was = master;
        struct usher_check_result found;
        enum usher_status status;
        struct usher_result r;
        struct ask_number_hold bob;
        struct repairer m;
        char owner[32];

        replicate(other, master);
        (void)snprintf(owner, sizeof owner, "bob-%u", tries);
        bob = called(e, owner);
        memset(&m, 0, sizeof m);
        m.e = open_at(proxy_port(name));
        assert_true(redis_do_ok(master, "DEL",
                                tries % 2 == 0 ? "{p}:number:index" : "{p}:number:held", NULL));
        assert_int_equal(pthread_create(&m.thread, NULL, repair, &m), 0);
        while (!is_marked(other) && !atomic_load(&m.done))
            ;
        /* bob's hold is not lost, even if the other server lacks the deletions after it */
        freeReplyObject(redis_do(master, "WAIT", "1", "60000", NULL));
        promote(other);
        proxy_set_target(name, redis_server_port(other));
        follow(master, other);
        assert_int_equal(pthread_join(m.thread, NULL), 0);
        usher_close(m.e);
        assert_true(m.status == USHER_OK || m.status == USHER_UNAVAILABLE);
        inherited += is_marked(other);

        (void)line_execute(e, &r, "number renew p %s token=%" PRIu64 " lease=%u", ann.number,
                           ann.token, 900000 + tries);
        status = r.status;
        if (status != USHER_OK &&
            (status != USHER_UNAVAILABLE || strstr(r.message, "the store is damaged: ") == NULL))
            fail_msg("%s: %s", usher_status_word(status), r.message);
        usher_result_done(&r);
        assert_int_equal(usher_check(e, &repairing, NULL, NULL, &found), USHER_OK);
        assert_true((found.faults == 0) == (status == USHER_OK));
        assert_int_equal(found.faults, found.repaired);
        audit(e);
        (void)expect_ok(e, "number renew p %s token=%" PRIu64 " lease=800000", ann.number,
                        ann.token);
        (void)expect_ok(e, "number hangup p %s token=%" PRIu64 " rest=0", bob.number, bob.token);
        master = other;
        other = was;
    }
    print_message("a mark was taken over %u times in %u\n", inherited, tries);
    assert_true(inherited > 0);
    usher_close(e);
}

TEST_PROGRAM(redis_needed, NULL);
