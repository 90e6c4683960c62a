/* SPDX-License-Identifier: MIT */
/*
 * A master becomes a replica, and the name then leads to another server.  Clients do not read from
 * a replica unknowingly and leave a server that takes no writes.  Settings with which a server may
 * lose writes are logged once for each master.  R14 of the specification of the Redis store.
 */
#include "lib/test.h"

#include <signal.h>

#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/proxy.h"
#include "lib/servers.h"
#include "lib/util.h"

#define PATIENCE_MS 20000

/* Two servers, and a proxy that is the name of one of them. */
static struct redis_server *first, *second;
static struct proxy *name;

static char logged[4096];

static void log_line(void *payload, enum usher_log_level level, const char *line)
{
    size_t n = strlen(logged);

    (void)payload;
    (void)snprintf(logged + n, sizeof logged - n, "%d %s\n", (int)level, line);
}

static unsigned reported(const char *what)
{
    unsigned n = 0;

    for (const char *at = strstr(logged, what); at != NULL; at = strstr(at + 1, what))
        n++;
    return n;
}

static const char *url_of(int port)
{
    static char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    return url;
}

static enum usher_status engine_open(const char *url, int64_t timeout_ms, struct usher_engine **e)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.timeout_ms = timeout_ms;
    opt.log = log_line;
    return usher_open(url, &opt, e);
}

static void be_replica_of(struct redis_server *s, const struct redis_server *of)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", redis_server_port(of));
    assert_true(redis_do_ok(s, "REPLICAOF", "127.0.0.1", port, NULL));
    assert_true(redis_server_wait_info(s, "replication", "master_link_status:up", PATIENCE_MS));
}

static int two_servers(void **state)
{
    static const char *const evicts[] = { "maxmemory-policy allkeys-lru", NULL };
    struct redis_server_options one = { .aof = REDIS_AOF_EVERYSEC }, two = { .config = evicts };

    (void)state;
    first = redis_server_start(&one);
    second = redis_server_start(&two);
    if (first == NULL || second == NULL)
        return -1;
    name = proxy_start(redis_server_port(first));
    logged[0] = '\0';
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

static int nothing_logged(void **state)
{
    (void)state;
    logged[0] = '\0';
    return 0;
}

TEST(a_replica_is_refused_at_once)
{
    struct usher_engine *e = NULL;
    char whose[64];
    int64_t began;

    be_replica_of(second, first);
    (void)snprintf(whose, sizeof whose, "is a replica of 127.0.0.1:%d", redis_server_port(first));
    began = clock_ms();
    assert_int_equal(engine_open(url_of(redis_server_port(second)), PATIENCE_MS, &e),
                     USHER_UNAVAILABLE);
    assert_true(clock_ms() - began < PATIENCE_MS / 2);
    if (strstr(usher_message(), whose) == NULL)
        fail_msg("%s", usher_message());
}

/* Return the number of writes that the server has refused as a replica. */
static long writes_refused(struct redis_server *s)
{
    redisReply *reply = redis_do(s, "INFO", "errorstats", NULL);
    const char *at;
    long n;

    assert_true(reply != NULL && reply->type == REDIS_REPLY_STRING);
    at = strstr(reply->str, "errorstat_READONLY:count=");
    n = at != NULL ? strtol(at + strlen("errorstat_READONLY:count="), NULL, 10) : 0;
    freeReplyObject(reply);
    return n;
}

/* A write fails on the old master and succeeds on the new one, before the command's deadline. */
TEST(a_name_that_leads_to_another_master_is_followed)
{
    struct usher_engine *e = NULL;

    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    expect_ok(e, "number reg p 1");
    be_replica_of(second, first);
    assert_true(redis_do_ok(second, "REPLICAOF", "NO", "ONE", NULL));
    be_replica_of(first, second);
    proxy_set_target(name, redis_server_port(second));
    expect_ok(e, "number call p owner=ann");
    expect(e, USHER_SAME, "number call p number=1 owner=ann");
    /* The client sent it no other write.  0 if the role was checked before the write, because the
     * last check was older than a second: on Valkey 9.1 the first synchronisation takes longer. */
    assert_in_range(writes_refused(first), 0, 1);
    usher_close(e);
    /* of the first and of the second, once each */
    assert_int_equal(reported("appendfsync everysec"), 1);
    assert_int_equal(reported("appendonly is off"), 1);
    assert_int_equal(reported("maxmemory-policy"), 1);
}

/* Without writes, reads notice the role after a second, and a check, which connects, at once. */
TEST(a_demoted_master_is_not_read_from)
{
    struct usher_engine *e = NULL;
    uint64_t faults;
    int64_t began;
    struct usher_result r;

    assert_int_equal(engine_open(url_of(proxy_port(name)), 2000, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    be_replica_of(second, first);
    assert_true(redis_do_ok(second, "REPLICAOF", "NO", "ONE", NULL));
    be_replica_of(first, second);
    assert_int_equal(check_faults(e, NULL, NULL, &faults), USHER_UNAVAILABLE);
    began = clock_ms();
    do {
        r = answer_to(e, "number show p 1");
    } while (r.status == USHER_OK && clock_ms() - began < PATIENCE_MS);
    assert_int_equal(r.status, USHER_UNAVAILABLE);
    if (strstr(r.message, "is a replica of 127.0.0.1:") == NULL)
        fail_msg("%s", r.message);
    /* and when it is a master again */
    assert_true(redis_do_ok(first, "REPLICAOF", "NO", "ONE", NULL));
    expect_ok(e, "number show p 1");
    usher_close(e);
}

/* Keys without a time to live are not evicted under volatile-*; settings that cannot be read are
 * ignored. */
TEST(no_warning_for_volatile_eviction_or_unknown_settings)
{
    struct usher_engine *e = NULL;

    assert_true(redis_do_ok(first, "CONFIG", "SET", "maxmemory-policy", "volatile-lru", NULL));
    assert_true(redis_do_ok(first, "CONFIG", "SET", "appendfsync", "always", NULL));
    assert_true(redis_do_ok(first, "ACL", "SETUSER", "default", "-config", NULL));
    assert_int_equal(engine_open(url_of(redis_server_port(first)), PATIENCE_MS, &e), USHER_OK);
    usher_close(e);
    assert_string_equal(logged, "");
    assert_true(redis_do_ok(first, "ACL", "SETUSER", "default", "-info", NULL));
    assert_int_equal(engine_open(url_of(redis_server_port(first)), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    usher_close(e);
    assert_int_equal(reported("lacks the right to INFO"), 1);
}

/* ---- what servers answer ---- */

/* From now on clients of the proxy get @text as the answer to INFO replication. */
static void answers_replication(const char *text)
{
    char reply[256];

    (void)snprintf(reply, sizeof reply, "$%zu\r\n%s\r\n", strlen(text), text);
    proxy_arm(name, &(struct proxy_fault){ .kind = PROXY_ANSWER,
                                           .match = "\r\nINFO\r\n$11\r\nreplication",
                                           .times = 1000,
                                           .reply = reply });
}

/* As KeyDB reports it. */
TEST(an_unknown_role_is_named)
{
    struct usher_engine *e = NULL;

    answers_replication("# Replication\r\nrole:active-replica\r\n");
    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_UNAVAILABLE);
    if (strstr(usher_message(), "the server is not a master: its role is `active-replica`") == NULL)
        fail_msg("%s", usher_message());
}

/* Losses are found by the replication id: without one the log has a warning, once. */
TEST(a_master_without_identity_is_reported_once)
{
    struct usher_engine *e = NULL;

    answers_replication("# Replication\r\nrole:master\r\n");
    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    proxy_drop(name);
    expect_ok(e, "number add p 2");
    assert_int_equal(reported("3 redis: the server has no master_replid: losses are not detected"),
                     1);
    usher_close(e);
    proxy_arm(name, &(struct proxy_fault){ .kind = PROXY_NO_FAULT });
    logged[0] = '\0';
    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
    usher_close(e);
    assert_int_equal(reported("master_replid"), 0);
}

static void count_scope(void *payload, const struct usher_scope_info *info)
{
    assert_true(info->noun == USHER_NUMBER && info->name.data[0] == 'a');
    ++*(unsigned *)payload;
}

/* A user with rights to some pools only: these are listed and checked, and an error reports that
 * others are missing. */
TEST(a_user_sees_the_scopes_it_has_rights_to)
{
    enum { POOLS = 100 }; /* more than one request lists */
    struct usher_engine *e = NULL;
    struct usher_check_result found;
    unsigned n = 0;
    char text[64];

    assert_int_equal(engine_open(url_of(redis_server_port(first)), PATIENCE_MS, &e), USHER_OK);
    for (int i = 0; i < POOLS; i++) {
        (void)snprintf(text, sizeof text, "number add %c%d 1", "ab"[i % 2], i);
        expect_ok(e, "%s", text);
    }
    expect_ok(e, "queue set q ttl=0");
    expect_ok(e, "room open a");
    expect_ok(e, "id create a");
    usher_close(e);
    assert_true(redis_do_ok(first, "ACL", "SETUSER", "some", "reset", "on", ">s3cret",
                            "~{a*}:number*", "+@all", NULL));
    (void)snprintf(text, sizeof text, "redis://some:s3cret@127.0.0.1:%d", redis_server_port(first));
    assert_int_equal(engine_open(text, PATIENCE_MS, &e), USHER_OK);
    assert_int_equal(usher_scopes(e, LIST_OF(.max = 1000), count_scope, &n, NULL),
                     USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "NOPERM"));
    assert_int_equal(n, POOLS / 2);
    assert_int_equal(usher_check(e, NULL, NULL, NULL, &found), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "NOPERM"));
    assert_true(found.partial && found.faults == 0 && found.scopes == POOLS / 2);
    expect_ok(e, "number show a0 1");
    usher_close(e);
}

TEST(too_many_clients_are_reported)
{
    struct usher_engine *e = NULL;

    assert_true(redis_do_ok(first, "CONFIG", "SET", "maxclients", "1", NULL));
    assert_int_equal(engine_open(url_of(redis_server_port(first)), PATIENCE_MS, &e),
                     USHER_UNAVAILABLE);
    if (strstr(usher_message(), ": ERR max number of clients reached") == NULL)
        fail_msg("%s", usher_message());
}

/* The connection broke first, but the message names the reason that lasts. */
TEST(loading_is_reported_after_a_lost_connection)
{
    struct usher_engine *e = NULL;
    struct usher_result r;

    assert_int_equal(engine_open(url_of(proxy_port(name)), 1000, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    proxy_arm(name, &(struct proxy_fault){
                        .kind = PROXY_ANSWER,
                        .match = "PING",
                        .times = 100000,
                        .reply = "-LOADING Redis is loading the dataset in memory\r\n" });
    proxy_drop(name);
    r = expect(e, USHER_UNAVAILABLE, "number add p 2");
    if (strstr(r.message, ": LOADING Redis is loading") == NULL)
        fail_msg("%s", r.message);
    usher_close(e);
}

/* Only a command that writes may have changed something. */
TEST(a_read_without_answer_is_unavailable)
{
    struct usher_engine *e = NULL;

    assert_int_equal(engine_open(url_of(proxy_port(name)), 1000, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    expect_ok(e, "number show p 1");
    proxy_set_blackhole(name, true);
    expect(e, USHER_UNAVAILABLE, "number show p 1");
    proxy_set_blackhole(name, false);
    expect_ok(e, "number show p 1");
    proxy_set_blackhole(name, true);
    expect(e, USHER_UNKNOWN, "number call p owner=ann");
    proxy_set_blackhole(name, false);
    usher_close(e);
}

/* ---- several hosts ---- */

static const char *url_of_both(const struct redis_server *one, const struct redis_server *other)
{
    static char url[96];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d", redis_server_port(one),
                   redis_server_port(other));
    return url;
}

/* The message of a refused open names both servers. */
static void must_name_both(const struct redis_server *one, const struct redis_server *other)
{
    struct usher_engine *e = NULL;
    char a[32], b[32];

    (void)snprintf(a, sizeof a, "127.0.0.1:%d ", redis_server_port(one));
    (void)snprintf(b, sizeof b, "127.0.0.1:%d:", redis_server_port(other));
    assert_int_equal(engine_open(url_of_both(one, other), PATIENCE_MS, &e), USHER_UNAVAILABLE);
    if (strstr(usher_message(), a) == NULL || strstr(usher_message(), b) == NULL ||
        strstr(usher_message(), "both report that they are masters") == NULL)
        fail_msg("%s", usher_message());
}

TEST(neither_of_two_masters_is_used)
{
    struct usher_engine *e = NULL;

    must_name_both(first, second);
    must_name_both(second, first);
    be_replica_of(second, first);
    assert_int_equal(engine_open(url_of_both(second, first), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    usher_close(e);
}

TEST(one_server_named_twice_is_one_master)
{
    struct usher_engine *e = NULL;

    assert_int_equal(engine_open(url_of_both(first, first), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    usher_close(e);
}

/* The server whose role is not known is used only if there is no master. */
TEST(a_known_master_is_preferred)
{
    struct usher_engine *e = NULL;

    assert_true(redis_do_ok(first, "ACL", "SETUSER", "default", "-info", NULL));
    assert_int_equal(engine_open(url_of_both(first, second), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    assert_true(redis_server_keys(first) == 0 && redis_server_keys(second) > 0);
    usher_close(e);
    assert_true(redis_do_ok(second, "ACL", "SETUSER", "default", "-info", NULL));
    assert_int_equal(engine_open(url_of_both(first, second), PATIENCE_MS, &e), USHER_OK);
    expect(e, USHER_MISSING, "number show p 1");
    usher_close(e);
}

/* A silent host has a quarter of the deadline to answer. */
TEST(a_silent_host_is_no_master)
{
    const int64_t deadline_ms = 8000;
    struct usher_engine *e = NULL;
    int64_t began;

    assert_int_equal(redis_server_kill(first, SIGSTOP), 0);
    began = clock_ms();
    assert_int_equal(engine_open(url_of_both(first, second), deadline_ms, &e), USHER_OK);
    assert_true(clock_ms() - began >= deadline_ms / 4);
    expect_ok(e, "number add p 1");
    assert_true(redis_server_keys(second) > 0);
    usher_close(e);
    assert_int_equal(redis_server_kill(second, SIGSTOP), 0);
    assert_int_equal(engine_open(url_of_both(first, second), 1000, &e), USHER_UNAVAILABLE);
    if (strstr(usher_message(), "no answer in time") == NULL)
        fail_msg("%s", usher_message());
    assert_int_equal(redis_server_kill(first, SIGCONT), 0);
    assert_int_equal(redis_server_kill(second, SIGCONT), 0);
}

/* The dead server is started again without its data, in addition to the promoted one. */
TEST_WITH(a_master_without_its_data_is_not_used, nothing_logged, NULL)
{
    struct redis_server *old, *new;
    struct usher_engine *standing = NULL, *e = NULL;

    old = redis_server_start(NULL);
    assert_non_null(old);
    new = redis_server_start(&(struct redis_server_options){ .replica_of = old });
    assert_non_null(new);
    assert_int_equal(engine_open(url_of_both(old, new), PATIENCE_MS, &standing), USHER_OK);
    expect_ok(standing, "number add p 1");
    expect_ok(standing, "number reg p 1");
    expect_ok(standing, "number call p owner=ann wait=1");
    assert_int_equal(redis_server_kill(old, SIGKILL), 0);
    assert_true(redis_do_ok(new, "REPLICAOF", "NO", "ONE", NULL));
    expect(standing, USHER_SAME, "number call p number=1 owner=ann");
    assert_true(redis_server_restart(old));
    assert_true(redis_server_keys(old) == 0);
    must_name_both(old, new);
    expect(standing, USHER_SAME, "number call p number=1 owner=ann"); /* its connection is kept */
    be_replica_of(old, new);
    assert_int_equal(engine_open(url_of_both(old, new), PATIENCE_MS, &e), USHER_OK);
    expect(e, USHER_SAME, "number call p number=1 owner=ann");
    usher_close(e);
    usher_close(standing);
    redis_server_stop(new);
    redis_server_stop(old);
}

/* ---- the clock of a master ---- */

#define TIME "*1\r\n$4\r\nTIME\r\n"

/* From now on the clock of the server at the name is @seconds ahead. */
static void set_clock_ahead(int64_t seconds)
{
    char reply[64], digits[24];
    struct timespec ts;
    int n;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    n = snprintf(digits, sizeof digits, "%lld", (long long)ts.tv_sec + seconds);
    (void)snprintf(reply, sizeof reply, "*2\r\n$%d\r\n%s\r\n$6\r\n%06ld\r\n", n, digits,
                   ts.tv_nsec / 1000);
    proxy_arm(name, &(struct proxy_fault){
                        .kind = PROXY_ANSWER, .match = TIME, .times = 100, .reply = reply });
}

static unsigned clock_reported(const char *how, const char *by)
{
    char line[96];

    (void)snprintf(line, sizeof line, "3 redis: the server's clock is %s this machine's by %s", how,
                   by);
    return reported(line);
}

/* Once for each new master, not for each new connection. */
TEST(a_clock_that_is_ahead_is_reported_once_a_master)
{
    struct usher_engine *e = NULL;

    set_clock_ahead(3600);
    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
    assert_int_equal(proxy_fired(name), 1);
    assert_int_equal(clock_reported("ahead of", "3"), 1);
    assert_int_equal(reported("leases end early"), 1);
    expect_ok(e, "number add p 1");
    proxy_drop(name);
    expect_ok(e, "number show p 1");
    assert_int_equal(reported("clock"), 1);

    be_replica_of(second, first);
    assert_true(redis_do_ok(second, "REPLICAOF", "NO", "ONE", NULL));
    set_clock_ahead(-60);
    proxy_set_target(name, redis_server_port(second));
    proxy_drop(name);
    expect_ok(e, "number show p 1");
    assert_int_equal(clock_reported("behind", ""), 1);
    assert_int_equal(reported("leases end late"), 1);
    assert_int_equal(reported("clock"), 2);
    usher_close(e);
}

/* A user without the right to INFO gets the warning as well. */
TEST(a_clock_is_compared_without_further_rights)
{
    struct usher_engine *e = NULL;

    assert_true(redis_do_ok(first, "ACL", "SETUSER", "default", "-info", NULL));
    set_clock_ahead(3);
    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
    assert_int_equal(reported("clock is ahead"), 1);
    usher_close(e);
}

TEST(a_wrong_answer_to_time_is_ignored)
{
    static const char *const answers[] = {
        "-NOPERM this user has no permissions to run the 'time' command\r\n",
        "$-1\r\n",
        ":1\r\n",
        "*0\r\n",
        "*-1\r\n",
        "*1\r\n$10\r\n9999999999\r\n",
        "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n",
        "*2\r\n:9999999999\r\n:1\r\n",
        "*2\r\n$0\r\n\r\n$1\r\n0\r\n",
        "*2\r\n$10\r\n999999999x\r\n$1\r\n0\r\n",
        "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n",
        "*2\r\n$13\r\n9999999999999\r\n$1\r\n0\r\n",
        "*2\r\n$10\r\n9999999999\r\n$7\r\n1000000\r\n",
        "*2\r\n$10\r\n9999999999\r\n*0\r\n",
    };

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct usher_engine *e = NULL;

        logged[0] = '\0';
        proxy_arm(name, &(struct proxy_fault){
                            .kind = PROXY_ANSWER, .match = TIME, .reply = answers[i] });
        assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
        assert_int_equal(proxy_fired(name), 1);
        expect(e, USHER_MISSING, "number stats p");
        if (reported("clock") > 0)
            fail_msg("answer %zu: %s", i, logged);
        usher_close(e);
    }
}

/* A long round trip is not taken for a difference of the clocks. */
TEST(a_slow_connection_is_no_difference_of_clocks)
{
    struct usher_engine *e = NULL;
    int64_t began = clock_ms();

    proxy_set_drip(name, 1000); /* the answers that come with the time have some thousand bytes */
    assert_int_equal(engine_open(url_of(proxy_port(name)), PATIENCE_MS, &e), USHER_OK);
    assert_true(clock_ms() - began > 1500);
    assert_int_equal(reported("clock"), 0);
    usher_close(e);
}

TEST_PROGRAM(redis_needed, NULL);
