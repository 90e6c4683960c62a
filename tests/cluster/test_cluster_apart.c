/* SPDX-License-Identifier: MIT */
/*
 * A dead node does not delay the others: of three masters one is stopped, and stays the master of
 * its slots.  Threads call numbers of 60 pools on one engine, each of the pools of one master.
 * Calls of the other two continue and do not wait for the dead one.  Commands on the whole store
 * return in time, and their error names the node that did not answer.  When the node continues, its
 * scopes are served again.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "nouns/room/room_directory.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"
#include "lib/util.h"

#define MASTERS 3
#define DEAD 1 /* the master that is stopped */
#define THREADS 16
#define POOLS 60
#define ROOMS 30
#define TIMEOUT_MS 1500
#define OVER_MS (budget_slow() ? 400 : 250)  /* a call may take beyond its deadline */
#define CALM_MS (budget_slow() ? 1500 : 300) /* a call of a living node takes */
#define WINDOW_MS 800                        /* calls are counted for this time */
#define PATIENCE_MS 60000

struct caller {
    unsigned number, home; /* the master whose pools it uses */
    pthread_t thread;
    _Atomic unsigned calls, failures;
    _Atomic int64_t worst_us; /* of calls since it was set to 0 */
    char bad[256];
};

/* The others must not take it for dead, because no other node could take over its slots. */
static const char *const patient[] = { "cluster-node-timeout 60000", NULL };
static const struct redis_server_options patience = { .config = patient };

TEST_CLUSTER(cluster, MASTERS, &patience);
static struct usher_engine *engine, *onlooker;
static char pool[POOLS][16];
static unsigned home_of[POOLS];
static struct caller callers[THREADS];
static unsigned running; /* of them */
static pthread_t pulse;
static _Atomic bool stop;
static _Atomic int64_t late_us; /* the delay of a thread that only sleeps */

static enum usher_status timed(struct caller *c, struct usher_result *r, const char *text)
{
    int64_t begin_us = clock_us(), took_us;
    enum usher_status status = line_execute(engine, r, "%s", text);

    took_us = clock_us() - begin_us;
    if (took_us > atomic_load(&c->worst_us))
        atomic_store(&c->worst_us, took_us);
    if (status == USHER_UNAVAILABLE || status == USHER_UNKNOWN)
        atomic_fetch_add(&c->failures, 1);
    else if (!USHER_IS_DONE(status) && c->bad[0] == '\0')
        (void)snprintf(c->bad, sizeof c->bad, "%s: %s (%s)", text, usher_status_word(status),
                       r->message);
    else
        atomic_fetch_add(&c->calls, 1);
    return status;
}

/* Call and hang up on each pool in turn; repeat a command that failed. */
static void *caller_main(void *payload)
{
    struct caller *c = payload;

    for (unsigned i = c->number; !atomic_load(&stop); i++) {
        struct usher_result r;
        enum usher_status status;
        char text[128];

        if (home_of[i % POOLS] != c->home)
            continue;
        do {
            (void)snprintf(text, sizeof text, "number call %s owner=c%u", pool[i % POOLS],
                           c->number);
            status = timed(c, &r, text);
            usher_result_done(&r);
        } while (!USHER_IS_DONE(status) && !atomic_load(&stop));
        if (!USHER_IS_DONE(status))
            break;
        (void)snprintf(text, sizeof text, "number free %s owner=c%u", pool[i % POOLS], c->number);
        do {
            status = timed(c, &r, text);
            usher_result_done(&r);
        } while (!USHER_IS_DONE(status) && !atomic_load(&stop));
    }
    return NULL;
}

static void *pulse_main(void *payload)
{
    (void)payload;
    while (!atomic_load(&stop)) {
        int64_t begin_us = clock_us(), late;

        rest_us(5000);
        late = clock_us() - begin_us - 5000;
        if (late > atomic_load(&late_us))
            atomic_store(&late_us, late);
    }
    return NULL;
}

static unsigned calls_of(unsigned home)
{
    unsigned n = 0;

    for (unsigned i = 0; i < THREADS; i++)
        if (callers[i].home == home)
            n += atomic_load(&callers[i].calls);
    return n;
}

static void wait_ms(int64_t ms)
{
    int64_t end_us = clock_us() + ms * 1000;

    while (clock_us() < end_us)
        rest_us(2000);
}

static unsigned home_of_name(const char *name)
{
    char key[32];
    redisReply *r;
    unsigned home = 0;

    (void)snprintf(key, sizeof key, "{%.20s}", name);
    r = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", key, NULL);
    assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER);
    while (redis_cluster_owner(cluster, cluster->node[0], (int)r->integer) != cluster->node[home])
        home++;
    freeReplyObject(r);
    return home;
}

static int begin(void **state)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    char url[REDIS_URL_MAX];

    (void)state;
    (void)redis_cluster_url(cluster, url);
    options.timeout_ms = 30000;
    if (usher_open(url, &options, &onlooker) != USHER_OK)
        return -1;
    engine = onlooker;
    for (unsigned i = 0; i < POOLS; i++) {
        (void)snprintf(pool[i], sizeof pool[i], "pool%u", i);
        home_of[i] = home_of_name(pool[i]);
        for (int n = 0; n < THREADS; n++) {
            expect_done(engine, "number add %s %d", pool[i], 100 + n);
            expect_done(engine, "number reg %s %d", pool[i], 100 + n);
        }
    }
    for (int i = 0; i < ROOMS; i++)
        expect_done(engine, "room open hall%d", i);
    usher_close(onlooker);
    options.timeout_ms = TIMEOUT_MS;
    if (usher_open(url, &options, &engine) != USHER_OK ||
        usher_open(url, &options, &onlooker) != USHER_OK)
        return -1;
    return 0;
}

/* End threads that a failed test has left. */
static void callers_end(void)
{
    atomic_store(&stop, true);
    if (running > 0)
        (void)pthread_join(pulse, NULL);
    while (running > 0)
        (void)pthread_join(callers[--running].thread, NULL);
}

static int end(void **state)
{
    (void)state;
    if (running > 0)
        (void)redis_server_kill(cluster->node[DEAD], SIGCONT);
    callers_end();
    usher_close(engine);
    usher_close(onlooker);
    return 0;
}

/* Check that @r has some rooms and names the dead node, and that the call waited for it once. */
static void some_rooms(const char *what, const struct usher_result *r, const char *port,
                       int64_t begin_us)
{
    int64_t took_us = clock_us() - begin_us;

    print_message("%s: %s (%s), %zu rows, %" PRId64 " ms\n", what, usher_status_word(r->status),
                  r->message, r->of.room.n_rows, took_us / 1000);
    assert_int_equal(r->status, USHER_UNAVAILABLE);
    assert_true(r->of.room.partial);
    assert_true(r->of.room.n_rows > 0 && r->of.room.n_rows < ROOMS);
    assert_non_null(strstr(r->message, port));
    assert_true(took_us < (TIMEOUT_MS + CALM_MS) * 1000 + atomic_load(&late_us));
}

static void count_scope(void *payload, const struct usher_scope_info *info)
{
    unsigned *n = payload;

    assert_true(info->size == sizeof *info && info->noun == USHER_NUMBER && info->version > 0);
    ++*n;
}

/* Check commands on the whole store: in time, they name the dead node.  A digest is of one scope,
 * so only those of that node are unavailable. */
static void check_whole_store(unsigned dead)
{
    struct usher_check_result found = { 0 };
    struct usher_result r;
    char port[16], digest[33];
    int64_t begin_us = clock_us();
    unsigned living = 0, gone = 0, n = 0, listed = 0;

    (void)snprintf(port, sizeof port, ":%d", redis_server_port(cluster->node[dead]));
    assert_int_equal(usher_check(onlooker, NULL, NULL, NULL, &found), USHER_UNAVAILABLE);
    print_message("check: %s\n", usher_message());
    assert_non_null(strstr(usher_message(), port));
    assert_true(clock_us() - begin_us < (2 * TIMEOUT_MS + CALM_MS) * 1000 + atomic_load(&late_us));
    print_message("check: %" PRIu64 " scopes, %" PRIu64 " faults\n", found.scopes, found.faults);
    assert_true(found.partial);
    assert_int_equal(found.faults, 0);
    for (unsigned i = 0; i < POOLS; i++)
        n += home_of[i] != dead;
    assert_true(found.scopes >= n);

    begin_us = clock_us();
    assert_int_equal(usher_scopes(onlooker, LIST_OF(.noun = USHER_NUMBER, .max = POOLS + 1),
                                  count_scope, &listed, NULL),
                     USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), port));
    assert_true(clock_us() - begin_us < (2 * TIMEOUT_MS + CALM_MS) * 1000 + atomic_load(&late_us));
    assert_int_equal(listed, n);

    while (home_of[living] == dead)
        living++;
    while (home_of[gone] != dead)
        gone++;
    assert_int_equal(usher_digest(onlooker, USHER_NUMBER, pool[living], digest), USHER_OK);
    assert_int_equal(usher_digest(onlooker, USHER_NUMBER, pool[gone], digest), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), port));

    begin_us = clock_us();
    (void)usher__room_list(onlooker, NULL, 0, 100, -1, &r);
    some_rooms("room list", &r, port, begin_us);
    for (size_t i = 0; i < r.of.room.n_rows; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%.*s", (int)r.of.room.rows[i].id.size,
                       r.of.room.rows[i].id.data);
        assert_true(home_of_name(name) != dead);
    }
    usher_result_done(&r);

    begin_us = clock_us();
    (void)usher__room_patrol(onlooker, "watchman", 100, 0, 0, -1, &r);
    some_rooms("room patrol", &r, port, begin_us);
    usher_result_done(&r);
}

TEST_WITH(a_stopped_master_delays_no_other_master, begin, end)
{
    const unsigned dead = DEAD;
    unsigned before[MASTERS], from[MASTERS], n[MASTERS], all_before = 0, all_then = 0;
    struct usher_result r;
    int64_t end_us;

    assert_int_equal(pthread_create(&pulse, NULL, pulse_main, NULL), 0);
    for (; running < THREADS; running++) {
        struct caller *c = &callers[running];

        c->number = running;
        c->home = running % MASTERS;
        assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
    }
    for (unsigned m = 0; m < MASTERS; m++)
        while (calls_of(m) < 200)
            rest_us(2000);
    for (unsigned m = 0; m < MASTERS; m++)
        from[m] = calls_of(m);
    wait_ms(WINDOW_MS);
    for (unsigned m = 0; m < MASTERS; m++)
        before[m] = calls_of(m) - from[m];
    for (unsigned i = 0; i < THREADS; i++)
        if (atomic_load(&callers[i].failures) != 0)
            fail_msg("caller %u failed before anything was done", i);

    assert_int_equal(redis_server_kill(cluster->node[dead], SIGSTOP), 0);
    for (unsigned i = 0; i < THREADS; i++)
        atomic_store(&callers[i].worst_us, 0);
    for (unsigned m = 0; m < MASTERS; m++)
        from[m] = calls_of(m);
    /* until the first calls to the dead node have timed out */
    wait_ms(WINDOW_MS);
    for (unsigned m = 0; m < MASTERS; m++)
        n[m] = calls_of(m) - from[m];
    wait_ms(TIMEOUT_MS);
    check_whole_store(dead);
    for (unsigned i = 0; i < THREADS; i++) {
        struct caller *c = &callers[i];
        int64_t most_us = (c->home == dead ? TIMEOUT_MS + OVER_MS : CALM_MS) * 1000;

        if (atomic_load(&c->worst_us) > most_us + atomic_load(&late_us))
            fail_msg("caller %u, of master %u: a call took %" PRId64 " ms", i, c->home,
                     atomic_load(&c->worst_us) / 1000);
        if (c->home != dead && atomic_load(&c->failures) != 0)
            fail_msg("caller %u, of master %u: a call failed", i, c->home);
    }
    for (unsigned m = 0; m < MASTERS; m++) {
        print_message("master %u%s: %u calls before, %u then\n", m, m == dead ? ", stopped" : "",
                      before[m], n[m]);
        if (m != dead) {
            all_before += before[m];
            all_then += n[m];
        }
    }
    /* which of them progress depends on the machine: the bench (P17) measures it */
    if (all_then < all_before / (budget_slow() ? 4 : 2))
        fail_msg("the others had %u calls of %u", all_then, all_before);

    assert_int_equal(redis_server_kill(cluster->node[dead], SIGCONT), 0);
    end_us = clock_us() + PATIENCE_MS * 1000;
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned have = atomic_load(&callers[i].calls);

        while (atomic_load(&callers[i].calls) < have + 20) {
            if (clock_us() > end_us)
                fail_msg("caller %u does not get on", i);
            rest_us(2000);
        }
    }
    callers_end();
    for (unsigned i = 0; i < THREADS; i++)
        if (callers[i].bad[0] != '\0')
            fail_msg("caller %u: %s", i, callers[i].bad);
    print_message("the machine was %" PRId64 " ms late\n", atomic_load(&late_us) / 1000);
    audit(onlooker);
    assert_int_equal(usher__room_list(onlooker, NULL, 0, 100, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, ROOMS);
    assert_false(r.of.room.partial);
    usher_result_done(&r);
}
