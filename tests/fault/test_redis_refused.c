/* SPDX-License-Identifier: MIT */
/*
 * Servers that refuse TIME to scripts, SCRIPT or EVAL, as some managed services, proxies and
 * configurations do.  Rule 26 of the specification of the Redis store.
 */
#include "lib/test.h"

#include "../../backends/redis/sha1.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/proxy.h"
#include "lib/servers.h"
#include "lib/util.h"

#define PATIENCE_MS 30000
#define MANY 300 /* commands in one call of usher_operate(), more than one script call takes */

static const char *const no_time[] = { "rename-command TIME \"\"", NULL };
static const char *const no_script[] = { "rename-command SCRIPT \"\"", NULL };

/* Lines of the log about the clock. */
static unsigned clock_lines;

static void count_clock_lines(void *payload, enum usher_log_level level, const char *line)
{
    (void)payload;
    clock_lines += level == USHER_LOG_WARNING && strstr(line, "(TIME)") != NULL;
}

static struct redis_server *server_with(const char *const *config)
{
    struct redis_server_options opt = { .config = config };
    struct redis_server *s = redis_server_start(&opt);

    if (s == NULL)
        fail_msg("%s", redis_reason());
    return s;
}

/* @user "": the one with all rights. */
static struct usher_engine *engine_at(int port, const char *user, const char *options)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    char url[160];

    opt.timeout_ms = PATIENCE_MS;
    opt.log = count_clock_lines;
    (void)snprintf(url, sizeof url, "redis://%s127.0.0.1:%d%s", user, port, options);
    if (usher_open(url, &opt, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

static struct usher_engine *engine_on(struct redis_server *s, const char *user, const char *options)
{
    return engine_at(redis_server_port(s), user, options);
}

static int64_t wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long calls_of(struct redis_server *s, const char *command)
{
    redisReply *info = redis_do(s, "INFO", "commandstats", NULL);
    char words[40];
    const char *at;
    long n = 0;

    assert_true(info != NULL && info->str != NULL);
    (void)snprintf(words, sizeof words, "cmdstat_%s:calls=", command);
    at = strstr(info->str, words);
    if (at != NULL)
        n = strtol(at + strlen(words), NULL, 10);
    freeReplyObject(info);
    return n;
}

static void forget_calls(struct redis_server *s)
{
    assert_true(redis_do_ok(s, "CONFIG", "RESETSTAT", NULL));
}

/* Add numbers from @from on to @pools pools, in turn, by one call. */
static void add_many(struct usher_engine *e, unsigned pools, unsigned from)
{
    static struct line l[MANY];
    static struct usher_operation c[MANY];
    static struct usher_result r[MANY];

    for (unsigned i = 0; i < MANY; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "number add p%u %u", i % pools, from + i);
        line_read(&l[i], text);
        c[i] = l[i].c;
    }
    (void)usher_operate(e, c, r, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        if (r[i].status != USHER_OK)
            fail_msg("%u: %s (%s)", i, usher_status_word(r[i].status), r[i].message);
        /* in order on each pool */
        if (i >= pools)
            assert_true(r[i].version > r[i - pools].version);
        line_done(&l[i]);
    }
    for (unsigned i = 0; i < MANY; i++)
        usher_result_done(&r[i]);
}

/* A command of each noun, with a time. */
static const char *const timed[] = {
    "number add q 1 now=1000000",
    "number reg q 1 now=1000000",
    "number call q owner=ann now=1000000",
    "queue login q ann now=1000000",
    "queue apply q zoe now=1000000",
    "room open q log=10 now=1000000",
    "room join q ann now=1000000",
    "serial rule q width=4 now=1000000",
    "serial take q now=1000000",
    "id create q now=1000000",
    "id next q now=1000000",
};
#define TIMED (sizeof timed / sizeof *timed)

/* ---- TIME ---- */

static void see_clocks(void *payload, const struct usher_node *node)
{
    *(bool *)payload = node->own_clocks;
}

static bool has_own_clocks(struct usher_engine *e)
{
    bool own = false;

    assert_int_equal(usher_nodes(e, NULL, see_clocks, &own), USHER_OK);
    return own;
}

/* A client whose scripts may not use TIME takes this machine's clock. */
static void check_client_clock(struct redis_server *s, const char *user)
{
    struct usher_engine *e = engine_on(s, user, "");
    int64_t begin_ms = wall_ms(), now_ms;

    clock_lines = 0;
    add_many(e, 7, 3000); /* the first pipeline: all of its calls are sent again */
    expect_done(e, "number add desk 1");
    expect_done(e, "number reg desk 1");
    now_ms = expect_done(e, "number call desk owner=ann lease=60000").now_ms;
    assert_in_range(now_ms, begin_ms, wall_ms());
    add_many(e, 1, 1000);
    add_many(e, 7, 2000);
    expect_done(e, "queue login q ann");
    expect_done(e, "room open hall");
    expect_done(e, "serial rule r width=4");
    expect_done(e, "serial take r");
    expect_done(e, "id create d");
    expect_done(e, "id next d");
    /* a given time is still compared with a clock */
    {
        struct usher_result r;

        assert_int_equal(
            line_execute(e, &r, "number add desk 2 now=%lld", (long long)wall_ms() + 3600000),
            USHER_INVALID);
        usher_result_done(&r);
    }
    audit(e);
    assert_int_equal(clock_lines, 1);
    assert_true(has_own_clocks(e));
    usher_close(e);
}

TEST(without_time_a_server_uses_the_clock_of_its_clients)
{
    struct redis_server *s = server_with(no_time);

    check_client_clock(s, "");
    redis_server_stop(s);
}

TEST(without_the_right_to_time_a_user_uses_its_own_clock)
{
    struct redis_server *s = server_with(NULL);
    struct usher_engine *e = engine_on(s, "", "");

    assert_true(
        redis_do_ok(s, "ACL", "SETUSER", "u", "on", ">s3cret", "~*", "&*", "+@all", "-time", NULL));
    check_client_clock(s, "u:s3cret@");
    clock_lines = 0;
    expect_done(e, "number show desk 1");
    assert_int_equal(clock_lines, 0);
    assert_false(has_own_clocks(e));
    usher_close(e);
    redis_server_stop(s);
}

/* With `clock=given` and a time in each command, a server without TIME is like any other. */
TEST(with_given_times_no_script_reads_the_clock)
{
    for (int i = 0; i < 2; i++) {
        static const char *const without_time[] = { "appendonly yes", "rename-command TIME \"\"",
                                                    NULL };
        static const char *const with_time[] = { "appendonly yes", NULL };
        struct redis_server *s = server_with(i == 0 ? without_time : with_time);
        struct usher_engine *e = engine_on(s, "", "?clock=given");
        struct usher_result r;

        clock_lines = 0;
        expect_done(e, "number add p 1 now=1000000"); /* the handshake reads the clock */
        forget_calls(s);
        for (size_t k = 0; k < TIMED; k++)
            expect_done(e, "%s", timed[k]);
        assert_int_equal(calls_of(s, "time"), 0);
        assert_int_equal(clock_lines, 0);
        /* The server has another identity after a restart, so the versions of its scopes jump. */
        assert_true(redis_server_restart(s));
        assert_true(line_execute(e, &r, "number add q 2 now=1000001") == USHER_OK);
        assert_true(r.version > 1048576);
        usher_result_done(&r);
        usher_close(e);
        redis_server_stop(s);
    }
}

/* Check the status of a direct call. */
static void directly(struct redis_server *s, const char *sha, const char *number, const char *now,
                     const char *status)
{
    redisReply *reply =
        redis_do(s, "EVALSHA", sha, "3", "{p}:number", "{p}:number:index", "{p}:number:held", "add",
                 number, now != NULL ? "now" : NULL, now, NULL);

    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_ARRAY)
        fail_msg("%s", reply->str != NULL ? reply->str : "no array");
    assert_string_equal(reply->element[1]->str, status);
    if (strcmp(status, "unavailable") == 0)
        assert_non_null(strstr(reply->element[3]->str, "give now="));
    freeReplyObject(reply);
}

TEST(a_direct_call_without_a_clock_needs_a_time)
{
    struct redis_server *s = server_with(no_time);
    size_t size;
    char *text;
    redisReply *sha;

    assert_int_equal(usher_lua("number", NULL, 0, &size), USHER_OK);
    text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(usher_lua("number", text, size + 1, &size), USHER_OK);
    sha = redis_do(s, "SCRIPT", "LOAD", text, NULL);
    assert_true(sha != NULL && sha->type == REDIS_REPLY_STRING);
    directly(s, sha->str, "1", NULL, "unavailable");
    directly(s, sha->str, "1", "1795740044683", "ok");
    directly(s, sha->str, "2", "1795740044684", "ok");
    freeReplyObject(sha);
    free(text);
    redis_server_stop(s);
}

/* ---- SCRIPT and EVAL ---- */

/* Texts of each length up to two blocks have the SHA-1 that a server computes. */
TEST(a_script_has_the_sha1_that_servers_compute)
{
    struct redis_server *s = server_with(NULL);
    char text[132] = "", sha[41];

    for (size_t size = 0; size < sizeof text - 1; size++) {
        redisReply *reply = redis_do(s, "EVAL", "return redis.sha1hex(ARGV[1])", "0", text, NULL);

        assert_true(reply != NULL && reply->type == REDIS_REPLY_STRING);
        usher__redis_sha1(text, size, sha);
        assert_string_equal(sha, reply->str);
        freeReplyObject(reply);
        text[size] = (char)('a' + size % 26);
    }
    redis_server_stop(s);
}

TEST(without_script_a_call_carries_the_text)
{
    struct redis_server *s = server_with(no_script);
    struct usher_engine *e = engine_on(s, "", "?clock=given"), *other;

    for (size_t i = 0; i < TIMED; i++)
        expect_done(e, "%s", timed[i]);
    forget_calls(s);
    add_many(e, 7, 1000);
    assert_int_equal(calls_of(s, "eval"), 0); /* the server has the script */
    audit(e);
    usher_close(e);

    /* the first call of a pipeline, and no other */
    assert_true(redis_server_restart(s));
    e = engine_on(s, "", "");
    add_many(e, 7, 1500);
    assert_int_equal(calls_of(s, "eval"), 1);
    assert_true(calls_of(s, "evalsha") >= 6);
    /* the first call of a later engine may carry the text, because its SCRIPT was refused */
    other = engine_on(s, "", "");
    add_many(other, 7, 2000);
    assert_in_range(calls_of(s, "eval"), 1, 2);
    usher_close(other);

    /* on an open connection */
    assert_true(redis_server_restart(s));
    add_many(e, 7, 3000);
    assert_in_range(calls_of(s, "eval"), 1, 2);
    audit(e);
    usher_close(e);
    redis_server_stop(s);
}

/* A proxy may also close the connection at a command that it does not know. */
TEST(a_proxy_that_closes_at_script_is_used)
{
    struct redis_server *s = server_with(NULL);
    struct proxy *p = proxy_start(redis_server_port(s));
    struct usher_check_result found;
    struct usher_engine *e;

    assert_non_null(p);
    proxy_arm(p, &(struct proxy_fault){
                     .kind = PROXY_DROP_REQUEST, .match = "\r\nSCRIPT\r\n", .times = 1000 });
    e = engine_at(proxy_port(p), "", "?clock=given");
    for (size_t i = 0; i < TIMED; i++)
        expect_done(e, "%s", timed[i]);
    add_many(e, 7, 1000);
    assert_true(redis_do_ok(s, "SCRIPT", "FLUSH", NULL));
    add_many(e, 7, 2000);
    audit(e);
    assert_in_range(proxy_fired(p), 1, 6); /* once for each script, and not for each connection */
    assert_true(redis_do_ok(s, "DEL", "{p0}:number:index", NULL));
    assert_int_equal(usher_check(e, &repairing, NULL, NULL, &found), USHER_OK);
    assert_true(found.faults > 0 && found.repaired == found.faults);
    audit(e);
    usher_close(e);
    proxy_stop(p);
    redis_server_stop(s);
}

/* Each node of a cluster has its own scripts. */
TEST(each_node_of_a_cluster_gets_the_text)
{
    static const char *const neither[] = { "rename-command TIME \"\"", "rename-command SCRIPT \"\"",
                                           NULL };
    struct redis_server_options node = { .config = neither };
    struct redis_cluster *c = redis_cluster_start(3, 0, &node);
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    char url[REDIS_URL_MAX];

    if (c == NULL)
        fail_msg("%s", redis_reason());
    opt.timeout_ms = PATIENCE_MS;
    assert_int_equal(usher_open(redis_cluster_url(c, url), &opt, &e), USHER_OK);
    add_many(e, 30, 1000);
    add_many(e, 30, 2000);
    for (int i = 0; i < c->nodes; i++)
        assert_int_equal(calls_of(c->node[i], "eval"), 1);
    audit(e);
    usher_close(e);
    redis_cluster_stop(c);
}

/* A scope with a missing list is repaired by calls that carry their text. */
TEST(without_script_a_scope_is_repaired)
{
    struct redis_server *s = server_with(no_script);
    struct usher_engine *e = engine_on(s, "", "");
    struct usher_check_result found;

    expect_done(e, "number add p 1");
    assert_true(redis_do_ok(s, "DEL", "{p}:number:index", NULL));
    if (usher_check(e, &repairing, NULL, NULL, &found) != USHER_OK)
        fail_msg("%s", usher_message());
    assert_true(found.faults > 0 && found.repaired > 0);
    expect_done(e, "number reg p 1");
    expect_done(e, "number call p");
    audit(e);
    usher_close(e);
    redis_server_stop(s);
}

/* After a failover there is one round trip, and none for SCRIPT LOAD. */
TEST(a_lost_script_is_sent_with_the_next_call)
{
    struct redis_server *s = server_with(NULL);
    struct usher_engine *e = engine_on(s, "", "");

    expect_done(e, "number add p0 1");
    for (unsigned i = 0; i < 3; i++) {
        assert_true(redis_do_ok(s, "SCRIPT", "FLUSH", NULL));
        forget_calls(s);
        add_many(e, i == 0 ? 1 : 7, 1000 * (i + 1));
        assert_int_equal(calls_of(s, "eval"), 1);
        assert_int_equal(calls_of(s, "script|load"), 0);
    }
    audit(e);
    usher_close(e);
    redis_server_stop(s);
}

/* Either of the rights is enough, and without both there is an error. */
TEST(a_user_needs_eval_or_script)
{
    struct redis_server *s = server_with(NULL);
    struct usher_engine *e;
    struct usher_result r;

    for (int i = 0; i < 2; i++) {
        assert_true(redis_do_ok(s, "ACL", "SETUSER", "u", "reset", "on", ">s3cret", "~*", "+@all",
                                i == 0 ? "-eval" : "-script|load", NULL));
        assert_true(redis_do_ok(s, "SCRIPT", "FLUSH", NULL));
        e = engine_on(s, "u:s3cret@", "");
        add_many(e, 7, i == 0 ? 1000 : 2000);
        assert_true(redis_do_ok(s, "SCRIPT", "FLUSH", NULL));
        add_many(e, 7, i == 0 ? 3000 : 4000);
        usher_close(e);
    }
    assert_true(redis_do_ok(s, "ACL", "SETUSER", "u", "-eval", "-script|load", NULL));
    assert_true(redis_do_ok(s, "SCRIPT", "FLUSH", NULL));
    e = engine_on(s, "u:s3cret@", "");
    assert_int_equal(line_execute(e, &r, "number add p0 1"), USHER_UNAVAILABLE);
    if (strstr(r.message, "eval") == NULL)
        fail_msg("%s", r.message);
    usher_result_done(&r);
    /* either right ends the error */
    assert_true(redis_do_ok(s, "ACL", "SETUSER", "u", "+script|load", NULL));
    expect_done(e, "number add p0 1");
    assert_true(redis_do_ok(s, "ACL", "SETUSER", "u", "-script|load", NULL));
    assert_true(redis_do_ok(s, "SCRIPT", "FLUSH", NULL));
    assert_int_equal(line_execute(e, &r, "number add p0 2"), USHER_UNAVAILABLE);
    usher_result_done(&r);
    assert_true(redis_do_ok(s, "ACL", "SETUSER", "u", "+eval", NULL));
    expect_done(e, "number add p0 2");
    usher_close(e);
    redis_server_stop(s);
}

TEST_PROGRAM(redis_needed, NULL);
