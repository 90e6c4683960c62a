/* SPDX-License-Identifier: MIT */
/*
 * Every noun with default settings, and pools with a lease and `outage=`, in scopes on all masters,
 * while a master dies or stops.  Each holder that reports afterwards still has its hold, with the
 * same token.  A third of the pools and queues are closed and a third stopped: they stay so, and
 * accept no caller.
 *
 * A master that stops does so until a call to it has failed; with USHER_LONG=1 for 20 s, more than
 * the 15 s after which a queue ends an agent or a user that does not report.
 */
#include "lib/test.h"

#include <signal.h>

#include "lib/command_line.h"
#include "lib/servers.h"

#define MASTERS 3
#define EACH 6 /* scopes of each noun */
#define PATIENCE_MS 60000
#define SHORT_MS 500 /* of a call that fails */
#define STOP_S 20

/* The answers in scope i of each noun. */
struct handed {
    uint64_t call, seat, login, serial; /* tokens; the login of the agent of the seat */
    int64_t id;
};

/* Every third scope has the same mode. */
static const char *const mode_of[] = { "", "closed", "stopped" };
static const unsigned why_of_apply[] = { 0, USHER_QUEUE_WHY_CLOSED, USHER_QUEUE_WHY_STOPPED };
static const unsigned why_of_call[] = { USHER_NUMBER_WHY_BUSY, USHER_NUMBER_WHY_CLOSED,
                                        USHER_NUMBER_WHY_STOPPED };

static struct redis_cluster *cluster;
static char url[REDIS_URL_MAX];

static enum usher_status __attribute__((format(printf, 3, 4)))
run_line(struct usher_engine *e, struct usher_result *ret, const char *format, ...)
{
    char text[128];
    enum usher_status status;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    status = line_execute(e, ret, "%s", text);
    if (status != USHER_OK && status != USHER_SAME)
        fail_msg("%s: %s (%s)", text, usher_status_word(status), ret->message);
    return status;
}

#define OK(...)                              \
    do {                                     \
        struct usher_result ok;              \
        (void)run_line(e, &ok, __VA_ARGS__); \
        usher_result_done(&ok);              \
    } while (false)

static struct usher_engine *open_with(int timeout_ms)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = timeout_ms;
    assert_int_equal(usher_open(url, &options, &e), USHER_OK);
    return e;
}

/* In scope @i of each noun: a call, a user in a room and one who waits, a member, a reserved
 * serial, an id. */
static void hand_out(struct usher_engine *e, unsigned i, struct handed *h)
{
    struct usher_result r;

    OK("number set pool%u lease=15000 outage=15000", i);
    OK("number add pool%u 100", i);
    OK("number reg pool%u 100", i);
    OK("number add pool%u 200", i);
    OK("number reg pool%u 200", i);
    OK("number call pool%u owner=zoe number=200", i);
    (void)run_line(e, &r, "number call pool%u owner=ann", i);
    h->call = r.of.number.token;
    usher_result_done(&r);
    OK("queue login desk%u eve", i);
    (void)run_line(e, &r, "queue apply desk%u seated", i);
    h->seat = r.of.queue.token;
    h->login = r.of.queue.login;
    usher_result_done(&r);
    OK("queue apply desk%u waiting", i);
    OK("room open hall%u", i);
    OK("room join hall%u kim", i);
    OK("serial rule bill%u mode=gapfree", i);
    (void)run_line(e, &r, "serial reserve bill%u owner=joe", i);
    h->serial = r.of.serial.token;
    usher_result_done(&r);
    OK("id create row%u", i);
    (void)run_line(e, &r, "id next row%u", i);
    h->id = r.of.id.first;
    usher_result_done(&r);
    if (mode_of[i % 3][0] != '\0') {
        OK("queue set desk%u mode=%s reason=fire", i, mode_of[i % 3]);
        OK("number set pool%u mode=%s reason=fire", i, mode_of[i % 3]);
    }
}

/* Check that a new caller and a new user are accepted, or refused by the mode. */
static void check_new_caller(struct usher_engine *e, unsigned i)
{
    struct usher_result r;

    line_execute(e, &r, "queue apply desk%u late", i);
    assert_int_equal(r.status, why_of_apply[i % 3] != 0 ? USHER_REFUSED : USHER_OK);
    assert_int_equal(r.of.queue.why, why_of_apply[i % 3]);
    usher_result_done(&r);
    line_execute(e, &r, "number call pool%u owner=late", i);
    assert_int_equal(r.of.number.why, why_of_call[i % 3]);
    usher_result_done(&r);
    if (why_of_apply[i % 3] == 0)
        OK("queue leave desk%u late", i);
}

/* Check that all holders report with success. */
static void report(struct usher_engine *e, unsigned i, struct handed *h)
{
    struct usher_result r;

    (void)run_line(e, &r, "number renew pool%u 100 token=%" PRIu64, i, h->call);
    assert_true(r.of.number.token == h->call);
    usher_result_done(&r);
    OK("queue alive desk%u agent=eve", i);
    OK("queue alive desk%u user=seated", i);
    OK("queue alive desk%u user=waiting", i);
    (void)run_line(e, &r, "queue where desk%u seated", i);
    assert_true(r.of.queue.token == h->seat);
    usher_result_done(&r);
    (void)run_line(e, &r, "queue stats desk%u", i);
    assert_int_equal(r.of.queue.of.stats.waiting, 1);
    assert_int_equal(r.of.queue.of.stats.agents, 1);
    usher_result_done(&r);
    OK("room alive hall%u kim", i);
    (void)run_line(e, &r, "id next row%u", i);
    assert_true(r.of.id.first > h->id);
    h->id = r.of.id.first;
    usher_result_done(&r);
}

static void finish(struct usher_engine *e, unsigned i, const struct handed *h)
{
    OK("serial confirm bill%u 1 token=%" PRIu64, i, h->serial);
    OK("number hangup pool%u 100 token=%" PRIu64, i, h->call);
    OK("queue finish desk%u %" PRIu64 ".1 user=seated token=%" PRIu64, i, h->login, h->seat);
    OK("room close hall%u", i);
    if (mode_of[i % 3][0] != '\0') {
        OK("queue set desk%u mode=open", i);
        OK("number set pool%u mode=open", i);
    }
    OK("queue apply desk%u later", i);
    OK("number call pool%u owner=later", i);
}

/* Report before and after @away, which kills or stops a master. */
static void through(void (*away)(void))
{
    struct usher_engine *e = open_with(PATIENCE_MS);
    struct usher_check_result found = { 0 };
    struct handed handed[EACH];

    for (int i = 0; i < cluster->nodes; i++)
        if (redis_do_ok(cluster->node[i], "READWRITE", NULL)) /* a replica refuses it */
            freeReplyObject(redis_do(cluster->node[i], "FLUSHALL", NULL));
    for (unsigned i = 0; i < EACH; i++)
        hand_out(e, i, &handed[i]);
    away();
    for (unsigned i = 0; i < EACH; i++)
        check_new_caller(e, i);
    for (unsigned i = 0; i < EACH; i++)
        report(e, i, &handed[i]);
    for (unsigned i = 0; i < EACH; i++)
        finish(e, i, &handed[i]);
    assert_int_equal(usher_check(e, NULL, NULL, NULL, &found), USHER_OK);
    assert_int_equal(found.faults, 0);
    usher_close(e);
}

static struct redis_server *a_master(void)
{
    struct redis_server *master = redis_cluster_owner(cluster, cluster->node[0], 100);

    assert_non_null(master);
    return master;
}

static void dies(void)
{
    struct redis_server *master = a_master(), *heir = redis_cluster_replica_of(cluster, master);

    assert_non_null(heir);
    /* wait until the replicas have all answered commands */
    for (int i = 0; i < cluster->nodes; i++)
        freeReplyObject(redis_do(cluster->node[i], "WAIT", "1", "10000", NULL));
    assert_int_equal(redis_server_kill(master, SIGKILL), 0);
    assert_true(redis_server_wait_info(heir, "replication", "role:master", PATIENCE_MS));
    assert_true(redis_cluster_wait_ok(cluster, PATIENCE_MS));
}

/* Call in all slots, until a call fails. */
static void stops(void)
{
    struct redis_server *master = a_master();
    struct usher_engine *e = open_with(SHORT_MS);
    const struct timespec span = { STOP_S, 0 };
    bool failed = false;

    assert_int_equal(redis_server_kill(master, SIGSTOP), 0);
    for (unsigned i = 0; i < EACH && !failed; i++) {
        struct usher_result r;

        failed = line_execute(e, &r, "number stats pool%u", i) != USHER_OK;
        usher_result_done(&r);
    }
    if (budget_long())
        (void)nanosleep(&span, NULL);
    assert_int_equal(redis_server_kill(master, SIGCONT), 0);
    usher_close(e);
    assert_true(failed);
}

static int start(const char *timeout)
{
    const char *const config[] = { timeout, "cluster-require-full-coverage no", NULL };
    struct redis_server_options options = { .config = config };

    cluster = redis_cluster_start(MASTERS, MASTERS, &options);
    if (cluster != NULL)
        (void)redis_cluster_url(cluster, url);
    return cluster != NULL ? 0 : -1;
}

static int impatient(void **state)
{
    (void)state;
    return start("cluster-node-timeout 2000");
}

static int patient(void **state)
{
    (void)state;
    return start("cluster-node-timeout 120000");
}

static int stop(void **state)
{
    (void)state;
    redis_cluster_stop(cluster);
    cluster = NULL;
    return 0;
}

TEST_WITH(holders_keep_their_holds_after_a_master_died, impatient, stop)
{
    through(dies);
}

TEST_WITH(holders_keep_their_holds_after_a_master_stopped, patient, stop)
{
    through(stops);
}

TEST_PROGRAM(redis_needed, NULL);
