/* SPDX-License-Identifier: MIT */
/*
 * A command with `wait` waits for replicas: its answer has their number, it waits until its
 * deadline at most, and commands without `wait` do not wait.  R19 of the specification of the Redis
 * store.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <usher/command.h>

#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"
#include "lib/util.h"

#define PATIENCE_MS 30000
#define SHORT_MS 2000
#define TEXT(s)          \
    {                    \
        s, sizeof(s) - 1 \
    }

static struct redis_server *master, *replica;

static struct usher_engine *engine_open(int64_t timeout_ms)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[REDIS_URL_MAX];
    struct usher_engine *e;

    opt.timeout_ms = timeout_ms;
    if (usher_open(redis_server_url(master, url), &opt, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

/* Execute @text; its answer must have @status and @replicas. */
static void must(struct usher_engine *e, const char *text, enum usher_status status,
                 uint32_t replicas)
{
    assert_int_equal(expect(e, status, "%s", text).replicas, replicas);
}

TEST(wait_returns_the_number_of_replicas)
{
    struct usher_engine *e = engine_open(PATIENCE_MS);

    must(e, "number add p 1 wait=1", USHER_OK, 1);
    must(e, "number reg p 1", USHER_OK, 0);
    must(e, "number call p owner=ann req=r1 wait=1", USHER_OK, 1);
    must(e, "number call p owner=ann req=r1 wait=1", USHER_OK, 1); /* the first answer */
    must(e, "number show p 1 wait=1", USHER_OK, 1);
    must(e, "number del p 2 wait=1", USHER_SAME, 1);
    must(e, "queue login q ann wait=1", USHER_OK, 1);
    must(e, "serial take s wait=1", USHER_MISSING, 1);
    usher_close(e);
}

/* There is one replica and two are requested: it waits until its deadline and keeps its change. */
TEST(wait_ends_at_the_deadline)
{
    struct usher_engine *e = engine_open(SHORT_MS);
    int64_t began = clock_ms();

    must(e, "number add p 3 wait=2", USHER_OK, 1);
    assert_true(clock_ms() - began >= SHORT_MS * 8 / 10);
    must(e, "number add p 3", USHER_SAME, 0);
    assert_int_equal(redis_server_kill(replica, SIGSTOP), 0);
    must(e, "number add p 4 wait=1", USHER_OK, 0);
    assert_int_equal(redis_server_kill(replica, SIGCONT), 0);
    usher_close(e);
    e = engine_open(PATIENCE_MS);
    must(e, "number add p 4 wait=1", USHER_SAME, 1);
    usher_close(e);
}

TEST(the_number_of_replicas_is_validated)
{
    struct usher_engine *e = engine_open(PATIENCE_MS);
    struct usher_operation c = { .verb = USHER_NUMBER_ADD, .scope = TEXT("p"), .wait = 256 };
    struct usher_result r;

    c.arg.number.number = (struct usher_text)TEXT("5");
    (void)usher_operate(e, &c, &r, 1);
    assert_int_equal(r.status, USHER_INVALID);
    assert_non_null(strstr(r.message, "wait"));
    usher_result_done(&r);
    usher_close(e);
}

/* Some commands of a batch wait: the replica has the changes of the whole batch then. */
TEST(a_batch_waits_if_a_command_of_it_waits)
{
    static const char *const texts[] = { "number add p 6",        "number add p 7 wait=1",
                                         "number add other 1",    "number add other 2 wait=1",
                                         "id create d wait=1",    "number del p 6",
                                         "number del p 7 wait=1", "number add p 7" };
    static const uint32_t replicas[] = { 0, 1, 0, 1, 1, 0, 1, 0 };
    enum { N = sizeof texts / sizeof *texts };
    struct usher_engine *e = engine_open(PATIENCE_MS);
    struct usher_operation c[N];
    struct usher_result r[N];
    struct line l[N];

    for (int i = 0; i < N; i++) {
        line_read(&l[i], texts[i]);
        c[i] = l[i].c;
    }
    assert_int_equal(usher_operate(e, c, r, N), USHER_OK);
    for (int i = 0; i < N; i++) {
        if (r[i].status != USHER_OK || r[i].replicas != replicas[i])
            fail_msg("%s: %s, %u replicas", texts[i], usher_status_word(r[i].status),
                     (unsigned)r[i].replicas);
        usher_result_done(&r[i]);
        line_done(&l[i]);
    }
    usher_close(e);
}

struct waiter {
    struct usher_engine *e;
    unsigned number;
    _Atomic bool done;
    enum usher_status status;
    uint32_t replicas;
};

static void *waiter_main(void *payload)
{
    struct waiter *w = payload;
    struct usher_result r;

    w->status = line_execute(w->e, &r, "number add many %u wait=1", w->number);
    w->replicas = r.replicas;
    usher_result_done(&r);
    atomic_store(&w->done, true);
    return NULL;
}

static void on_notice(void *payload, const struct usher_notice *notice)
{
    unsigned *n = payload;

    (void)notice;
    ++*n;
}

static void post_add(struct usher_engine *e, const char *pool, const char *number, int64_t wait,
                     unsigned *tag)
{
    const struct usher_value values[] = { USHER_T(USHER_FIELD_NUMBER, number),
                                          USHER_N(USHER_FIELD_WAIT, wait) };
    const struct usher_command c = { USHER_NUMBER_ADD, USHER_TO_NUL,        pool,
                                     values,           wait != 0 ? 2u : 1u, tag };

    assert_int_equal(usher_post(e, &c, 1, 0), USHER_OK);
}

/* Collect the next reply: it must have @tag and @replicas. */
static void collected(struct usher_engine *e, unsigned *tag, uint8_t replicas)
{
    const struct usher_event *event = usher_collect(e, PATIENCE_MS);

    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_REPLY);
    assert_ptr_equal(event->tag, tag);
    assert_int_equal(event->reply->status, USHER_OK);
    assert_int_equal(event->reply->replicas, replicas);
    usher_event_done(event);
}

/* Posted commands wait only for earlier ones on the same scope, which stay in their order. */
TEST(posted_commands_do_not_wait_for_other_scopes)
{
    struct usher_engine *e = engine_open(PATIENCE_MS);
    unsigned tag[5];
    int64_t began;

    must(e, "number add slow 1 wait=1", USHER_OK, 1);
    must(e, "number add quick 1", USHER_OK, 0);
    assert_int_equal(redis_server_kill(replica, SIGSTOP), 0);
    began = clock_ms();
    post_add(e, "slow", "2", 1, &tag[0]);
    post_add(e, "quick", "2", 0, &tag[1]);
    post_add(e, "slow", "3", 0, &tag[2]);
    post_add(e, "quick", "3", 0, &tag[3]);
    collected(e, &tag[1], 0);
    collected(e, &tag[3], 0);
    assert_true(clock_ms() - began < PATIENCE_MS / 2);
    assert_int_equal(redis_server_kill(replica, SIGCONT), 0);
    collected(e, &tag[0], 1);
    collected(e, &tag[2], 0);
    post_add(e, "slow", "4", 0, &tag[4]); /* no command of its scope is pending any more */
    collected(e, &tag[4], 0);
    usher_close(e);
}

/* More than the connections of a store; on one pool of one engine, with a watcher. */
#define WAITERS 20

TEST(wait_delays_no_other_command)
{
    struct usher_engine *e = engine_open(PATIENCE_MS);
    struct waiter w[WAITERS];
    pthread_t thread[WAITERS];
    struct usher_watcher *watch;
    unsigned notices = 0;
    char blocked[32];
    int64_t began;

    assert_int_equal(usher_watch(e, USHER_NUMBER, "many", on_notice, &notices, &watch), USHER_OK);
    must(e, "number add many 1000 wait=1", USHER_OK, 1);
    assert_int_equal(redis_server_kill(replica, SIGSTOP), 0);
    for (unsigned i = 0; i < WAITERS; i++) {
        w[i] = (struct waiter){ .e = e, .number = i };
        assert_int_equal(pthread_create(&thread[i], NULL, waiter_main, &w[i]), 0);
    }
    (void)snprintf(blocked, sizeof blocked, "blocked_clients:%d\r", WAITERS);
    assert_true(redis_server_wait_info(master, "clients", blocked, PATIENCE_MS));
    began = clock_ms();
    for (unsigned i = 0; i < 200; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "number add many %u", 2000 + i);
        must(e, text, USHER_OK, 0);
    }
    for (unsigned i = 0; i < WAITERS; i++)
        assert_false(atomic_load(&w[i].done));
    assert_true(clock_ms() - began < PATIENCE_MS / 2);
    assert_int_equal(redis_server_kill(replica, SIGCONT), 0);
    for (unsigned i = 0; i < WAITERS; i++) {
        (void)pthread_join(thread[i], NULL);
        assert_int_equal(w[i].status, USHER_OK);
        assert_int_equal(w[i].replicas, 1);
    }
    must(e, "number del many 1000", USHER_OK, 0); /* the last command delivers pending notices */
    usher_unwatch(e, watch);
    assert_int_equal(notices, 1 + WAITERS + 200 + 1);
    usher_close(e);
}

/* The command was executed, so its status is OK although the number of replicas is unknown. */
TEST(wait_without_the_right_returns_zero_replicas)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    struct usher_result r;
    char url[128];

    assert_true(redis_do_ok(master, "ACL", "SETUSER", "hasty", "on", ">pw", "~*", "&*", "+@all",
                            "-wait", NULL));
    (void)snprintf(url, sizeof url, "redis://hasty:pw@127.0.0.1:%d", redis_server_port(master));
    assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
    assert_int_equal(line_execute(e, &r, "number add p 8 wait=1"), USHER_OK);
    assert_int_equal(r.replicas, 0);
    if (strstr(r.message, "wait") == NULL)
        fail_msg("%s", r.message);
    usher_result_done(&r);
    must(e, "number add p 8", USHER_SAME, 0);
    usher_close(e);
}

/* Each master of a batch waits for its own replicas, one of which is stopped. */
TEST(each_master_of_a_cluster_waits_for_its_replicas)
{
    enum { MASTERS = 3, POOLS = 12 };
    struct redis_cluster *cluster = redis_cluster_start(MASTERS, MASTERS, NULL);
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_operation c[POOLS];
    struct usher_result r[POOLS];
    struct line l[POOLS];
    unsigned home[POOLS], n_of[MASTERS] = { 0 };
    struct usher_engine *e;
    char url[REDIS_URL_MAX];

    if (cluster == NULL)
        fail_msg("%s", redis_reason());
    for (unsigned i = 0; i < POOLS; i++) {
        char text[64], name[24];
        int slot;

        (void)snprintf(name, sizeof name, "w%u", i);
        slot = redis_cluster_slot(cluster, name);
        assert_true(slot >= 0);
        home[i] = (unsigned)(slot * MASTERS / 16384);
        n_of[home[i]]++;
        (void)snprintf(text, sizeof text, "number add w%u 1 wait=1", i);
        line_read(&l[i], text);
        c[i] = l[i].c;
    }
    for (unsigned k = 0; k < MASTERS; k++)
        assert_true(n_of[k] > 0);
    opt.timeout_ms = PATIENCE_MS;
    assert_int_equal(usher_open(redis_cluster_url(cluster, url), &opt, &e), USHER_OK);
    assert_int_equal(usher_operate(e, c, r, POOLS), USHER_OK);
    for (unsigned i = 0; i < POOLS; i++) {
        if (r[i].status != USHER_OK || r[i].replicas != 1)
            fail_msg("w%u: %s, %u replicas (%s)", i, usher_status_word(r[i].status),
                     (unsigned)r[i].replicas, r[i].message);
        usher_result_done(&r[i]);
    }
    usher_close(e);
    opt.timeout_ms = SHORT_MS;
    assert_int_equal(usher_open(url, &opt, &e), USHER_OK);
    assert_int_equal(redis_server_kill(cluster->node[MASTERS], SIGSTOP), 0); /* of the first */
    /* unchanged numbers were not written again: add another one to each pool */
    for (unsigned i = 0; i < POOLS; i++) {
        char text[64];

        line_done(&l[i]);
        (void)snprintf(text, sizeof text, "number add w%u 2 wait=1", i);
        line_read(&l[i], text);
        c[i] = l[i].c;
    }
    assert_int_equal(usher_operate(e, c, r, POOLS), USHER_OK);
    for (unsigned i = 0; i < POOLS; i++) {
        if (r[i].status != USHER_OK || r[i].replicas != (home[i] != 0))
            fail_msg("w%u: %s, %u replicas (%s)", i, usher_status_word(r[i].status),
                     (unsigned)r[i].replicas, r[i].message);
        usher_result_done(&r[i]);
        line_done(&l[i]);
    }
    assert_int_equal(redis_server_kill(cluster->node[MASTERS], SIGCONT), 0);
    usher_close(e);
    redis_cluster_stop(cluster);
}

TEST(wait_on_memory_returns_zero_replicas)
{
    struct usher_engine *e;

    assert_int_equal(usher_open("memory:", NULL, &e), USHER_OK);
    must(e, "number add p 1 wait=1", USHER_OK, 0);
    usher_close(e);
}

static int program_begin(void)
{
    struct redis_server_options options = { 0 };

    master = redis_server_start(NULL);
    if (master == NULL)
        return redis_skip();
    options.replica_of = master;
    replica = redis_server_start(&options);
    if (replica == NULL ||
        !redis_server_wait_info(replica, "replication", "master_link_status:up", PATIENCE_MS)) {
        (void)fprintf(stderr, "no replica: %s\n", redis_reason());
        return 1;
    }
    return 0;
}

static void program_end(void)
{
    redis_server_stop(replica);
    redis_server_stop(master);
}

TEST_PROGRAM(program_begin, program_end);
