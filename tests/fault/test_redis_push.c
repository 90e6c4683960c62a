/* SPDX-License-Identifier: MIT */
/*
 * Scopes with push=1: a subscriber of Redis receives each change at once, and finds it in the log;
 * on a cluster, at the node that has the scope.  A user without the right to publish gets an error.
 */
#include "lib/test.h"

#include <unistd.h>

#include "lib/calls.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"

#define PATIENCE_S 30

TEST_SERVER(server);

static struct usher_engine *opened(const char *url)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = PATIENCE_S * 1000;
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

/* Subscribe to @channel, by SUBSCRIBE or SSUBSCRIBE. */
static redisContext *listen_to(struct redis_server *s, const char *how, const char *channel)
{
    redisContext *c = redis_server_connect(s);
    redisReply *r;

    assert_non_null(c);
    r = redisCommand(c, "%s %s", how, channel);
    assert_true(r != NULL && r->type == REDIS_REPLY_ARRAY && r->elements == 3);
    freeReplyObject(r);
    return c;
}

/* Receive the next message, which must be @version. */
static void receives(redisContext *c, uint64_t version)
{
    redisReply *r = NULL;

    assert_int_equal(redisGetReply(c, (void **)&r), REDIS_OK);
    assert_true(r->type == REDIS_REPLY_ARRAY && r->elements == 3);
    if (strtoull(r->element[2]->str, NULL, 10) != version)
        fail_msg("%s %s instead of version %llu", r->element[0]->str, r->element[2]->str,
                 (unsigned long long)version);
    freeReplyObject(r);
}

/* Check that no message is pending: one of our own comes next. */
static void receives_no_more(redisContext *c, struct redis_server *s, const char *how,
                             const char *channel)
{
    freeReplyObject(redis_do(s, how, channel, "4711", NULL));
    receives(c, 4711);
}

TEST(each_change_is_published_once)
{
    static const char channel[] = "hotel{hall}:room";
    struct usher_engine *e;
    struct usher_operation commands[3];
    struct usher_result replies[3];
    struct line lines[3];
    static const char *const texts[] = { "room set hall a 1", "room set hall b 2",
                                         "room join hall bob" };
    char url[REDIS_URL_MAX], text[REDIS_URL_MAX + 32];
    redisContext *c = listen_to(server, "SUBSCRIBE", channel);

    (void)snprintf(text, sizeof text, "%s?prefix=hotel", redis_server_url(server, url));
    e = opened(text);
    expect_ok(e, "room open hall");
    expect_ok(e, "room set hall f 1"); /* without push */
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "room open hall push=1").version);
    receives(c, expect_ok(e, "room set hall f 2").version);
    expect(e, USHER_SAME, "room set hall f 2");
    expect_ok(e, "room get hall f");
    receives(c, expect_ok(e, "room join hall ann").version);
    expect_ok(e, "room alive hall ann");
    expect(e, USHER_SAME, "room leave hall eve");
    receives_no_more(c, server, "PUBLISH", channel);

    /* a repeated command returns its first answer and publishes nothing */
    receives(c, expect_ok(e, "room join hall zoe req=once").version);
    expect_ok(e, "room join hall zoe req=once");
    expect(e, USHER_STALE, "room set hall f 4 epoch=0123456789abcdef");
    receives_no_more(c, server, "PUBLISH", channel);

    /* commands of one call are one message, of the last version */
    for (int i = 0; i < 3; i++) {
        line_read(&lines[i], texts[i]);
        commands[i] = lines[i].c;
    }
    assert_int_equal(usher_operate(e, commands, replies, 3), USHER_OK);
    receives(c, replies[2].version);
    for (int i = 0; i < 3; i++) {
        usher_result_done(&replies[i]);
        line_done(&lines[i]);
    }
    receives_no_more(c, server, "PUBLISH", channel);

    /* other rooms have other channels; messages end with the room, and with the setting */
    expect_ok(e, "room open other push=1");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "room open hall push=0").version); /* the last message */
    expect_ok(e, "room set hall f 3");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "room open hall push=1").version);
    receives(c, expect_ok(e, "room close hall").version -
                    1); /* the room closes in one version, and is erased in the next */
    expect_ok(e, "room open hall");
    receives_no_more(c, server, "PUBLISH", channel);
    usher_close(e);
    redisFree(c);
}

/* Return the number of calls of @command that @s has executed. */
static long long calls_of(struct redis_server *s, const char *command)
{
    redisReply *r = redis_do(s, "INFO", "commandstats", NULL);
    char key[64];
    const char *at;
    long long n = 0;

    assert_true(r != NULL && r->type == REDIS_REPLY_STRING);
    (void)snprintf(key, sizeof key, "cmdstat_%s:calls=", command);
    at = strstr(r->str, key);
    if (at != NULL)
        n = strtoll(at + strlen(key), NULL, 10);
    freeReplyObject(r);
    return n;
}

TEST(each_change_of_a_queue_is_published_once)
{
    static const char channel[] = "{desk}:queue";
    char url[REDIS_URL_MAX];
    struct usher_engine *e = opened(redis_server_url(server, url));
    redisContext *c = listen_to(server, "SUBSCRIBE", channel);
    uint64_t version;

    expect_ok(e, "queue set desk log=10 now=1000");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "queue set desk push=1 now=1000").version);
    expect(e, USHER_SAME, "queue set desk push=1 now=1000");
    version = expect_ok(e, "queue login desk ann now=1000").version;
    receives(c, version);
    receives(
        c,
        expect_ok(e, "queue apply desk zoe now=1000").version); /* apply and match: one message */
    assert_int_equal(expect_ok(e, "queue room desk ann now=1000").version, version + 2);
    expect_ok(e, "queue alive desk user=zoe now=2000");
    expect_ok(e, "queue room desk ann now=2000");
    receives_no_more(c, server, "PUBLISH", channel);
    /* a command that reads applies expiries: yan does not wait any more */
    receives(c, expect_ok(e, "queue set desk maxwait=5000 now=2000").version);
    receives(c, expect_ok(e, "queue apply desk yan now=2000").version);
    expect(e, USHER_MISSING, "queue where desk yan now=8000");
    receives(c, expect_ok(e, "queue set desk now=8000").version);
    receives(c, expect_ok(e, "queue set desk push=0 now=8000").version);
    expect_ok(e, "queue login desk bob now=8000");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "queue set desk push=1 now=8000").version);
    receives(c, expect_ok(e, "queue drop desk now=8000").version);
    expect_ok(e, "queue set desk log=10 now=8000");
    receives_no_more(c, server, "PUBLISH", channel);
    expect_ok(e, "queue drop desk now=8000");
    usher_close(e);
    redisFree(c);
}

/* The fast path publishes, too.  It reads the records of numbers by HMGET, number.lua by HGET. */
TEST(each_change_of_a_pool_is_published_once)
{
    static const char channel[] = "{trunk}:number";
    char url[REDIS_URL_MAX], given[REDIS_URL_MAX + 16];
    struct usher_engine *e;
    redisContext *c = listen_to(server, "SUBSCRIBE", channel);
    struct usher_operation commands[3];
    struct usher_result replies[3];
    struct line lines[3];
    static const char *const texts[] = { "number call trunk owner=bob",
                                         "number call trunk owner=eve",
                                         "number call trunk owner=ida" };
    long long reads;

    (void)snprintf(given, sizeof given, "%s?clock=given", redis_server_url(server, url));
    e = opened(given);
    expect_ok(e, "number add trunk 1");
    receives(c, expect_ok(e, "number set trunk push=1").version);
    for (int i = 1; i <= 4; i++) {
        if (i > 1)
            receives(c, expect_ok(e, "number add trunk %d", i).version);
        receives(c, expect_ok(e, "number reg trunk %d", i).version);
    }
    reads = calls_of(server, "hget");
    receives(c, expect_ok(e, "number call trunk owner=ann").version);
    receives(c, expect_ok(e, "number hangup trunk 1").version);
    for (int i = 0; i < 3; i++) {
        line_read(&lines[i], texts[i]);
        commands[i] = lines[i].c;
    }
    assert_int_equal(usher_operate(e, commands, replies, 3), USHER_OK);
    assert_int_equal(calls_of(server, "hget"), reads);
    receives(c, replies[2].version); /* commands that are one call are one message */
    for (int i = 0; i < 3; i++) {
        usher_result_done(&replies[i]);
        line_done(&lines[i]);
    }
    expect(e, USHER_SAME, "number call trunk owner=ida");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "number free trunk all=1").version);
    receives(c, expect_ok(e, "number call trunk owner=ann lease=1").version);
    receives(c, expect_ok(e, "number sweep trunk now=%lld", 1000 * (time(NULL) + 10LL)).version);
    receives(c, expect_ok(e, "number set trunk push=0").version);
    expect_ok(e, "number call trunk owner=ann");
    receives_no_more(c, server, "PUBLISH", channel);
    expect_ok(e, "number drop trunk");
    usher_close(e);
    redisFree(c);
}

TEST(each_change_of_a_rule_is_published_once)
{
    static const char channel[] = "{bill}:serial";
    char url[REDIS_URL_MAX];
    struct usher_engine *e = opened(redis_server_url(server, url));
    redisContext *c = listen_to(server, "SUBSCRIBE", channel);

    receives(c, expect_ok(e, "serial rule bill prefix=B push=1").version);
    expect(e, USHER_SAME, "serial rule bill push=1");
    receives(c, expect_ok(e, "serial take bill").version); /* makes a batch, and takes one */
    receives(c, expect_ok(e, "serial take bill").version); /* the fast path */
    expect_ok(e, "serial check bill");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "serial delete bill").version);
    receives(c, expect_ok(e, "serial rule bill prefix=B").version); /* push=0 now */
    expect_ok(e, "serial take bill");
    receives_no_more(c, server, "PUBLISH", channel);
    expect_ok(e, "serial delete bill");
    usher_close(e);
    redisFree(c);
}

/* Join @n members from number @first on at the time @at, by a call each.  Return the version. */
static uint64_t join(struct usher_engine *e, int first, int n, int at)
{
    uint64_t version = 0;

    for (int i = 0; i < n; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "room join crowd m%d now=%d", first + i, at + i);
        version = expect_ok(e, "%s", text).version;
    }
    return version;
}

/* With `presence` an interval of joins and leaves is two messages: the first of them, and at its
 * end the last, which a heartbeat or the next change publishes. */
TEST(joins_are_published_once_an_interval)
{
    static const char channel[] = "{crowd}:room";
    redisContext *c = listen_to(server, "SUBSCRIBE", channel);
    struct usher_operation commands[8];
    struct usher_result replies[8];
    struct line lines[8];
    char url[REDIS_URL_MAX];
    struct usher_engine *e = opened(redis_server_url(server, url));
    uint64_t version;

    receives(c, expect_ok(e, "room open crowd push=1 presence=5000 now=1000").version);
    receives(c, join(e, 0, 1, 10000));
    version = join(e, 1, 20, 10001);
    expect_ok(e, "room alive crowd m0 now=14999"); /* the interval is not over */
    receives_no_more(c, server, "PUBLISH", channel);
    expect_ok(e, "room alive crowd m0 now=15000");
    receives(c, version);
    expect_ok(e, "room alive crowd m0 now=15001");
    expect_ok(e, "room alive crowd m1 now=30000");
    receives_no_more(c, server, "PUBLISH", channel);

    /* the next interval, which ends with the next join after it; another change ends it earlier */
    receives(c, join(e, 30, 1, 40000));
    join(e, 31, 5, 40001);
    receives(c, join(e, 40, 1, 45000));
    expect_ok(e, "room leave crowd m40 now=46000");
    receives_no_more(c, server, "PUBLISH", channel);
    receives(c, expect_ok(e, "room set crowd f 1 now=46001").version);
    expect_ok(e, "room alive crowd m0 now=60000");
    receives_no_more(c, server, "PUBLISH", channel);

    /* a batch is one call */
    for (int i = 0; i < 8; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "room join crowd b%d now=%d", i, 70000 + 1000 * i);
        line_read(&lines[i], text);
        commands[i] = lines[i].c;
    }
    assert_int_equal(usher_operate(e, commands, replies, 8), USHER_OK);
    receives(
        c,
        replies[5].version); /* an interval began with it; the two after it are published later */
    version = replies[7].version;
    for (int i = 0; i < 8; i++) {
        usher_result_done(&replies[i]);
        line_done(&lines[i]);
    }
    receives_no_more(c, server, "PUBLISH", channel);
    expect_ok(e, "room alive crowd m0 now=75001");
    receives_no_more(c, server, "PUBLISH", channel);
    expect_ok(e, "room alive crowd m0 now=80000");
    receives(c, version);
    receives(c, expect_ok(e, "room open crowd presence=0 now=80001").version);
    receives(c, join(e, 50, 1, 80002));
    receives(c, join(e, 51, 1, 80003));
    expect_ok(e, "room close crowd");
    usher_close(e);
    redisFree(c);
}

/* A message is sent when its change can be read, and expiries are changes, too. */
TEST(each_message_is_a_change_in_the_log)
{
    char url[REDIS_URL_MAX];
    struct usher_engine *e = opened(redis_server_url(server, url)), *other = opened(url);
    redisContext *c = listen_to(server, "SUBSCRIBE", "{log}:room");
    uint64_t version = expect_ok(e, "room open log push=1 ttl=1000 now=1000").version;

    receives(c, version);
    receives(c, expect_ok(e, "room join log ann now=1000").version);
    for (unsigned i = 0; i < 20; i++) {
        char text[64];
        struct usher_result r;

        (void)snprintf(text, sizeof text, "room set log f %u now=1000", i);
        version = expect_ok(e, "%s", text).version;
        receives(c, version);
        assert_int_equal(ask_room_changes(other, "log", version - 1, 10, &r), USHER_OK);
        assert_true(r.of.room.n_rows == 1 && r.version == version);
        usher_result_done(&r);
    }
    expect_ok(e, "room sweep log now=5000");
    receives(c, version + 1);
    usher_close(e);
    usher_close(other);
    redisFree(c);
}

/* After a takeover versions jump, and so do the published ones. */
TEST(a_takeover_publishes_its_new_version)
{
    char url[REDIS_URL_MAX];
    struct usher_engine *e = opened(redis_server_url(server, url));
    redisContext *c = listen_to(server, "SUBSCRIBE", "{fell}:room");
    uint64_t before = expect_ok(e, "room open fell push=1").version, version;

    receives(c, before);
    before = expect_ok(e, "room join fell ann").version;
    receives(c, before);
    usher_close(e);
    /* now it has another identity, with the same data */
    assert_true(redis_do_ok(server, "REPLICAOF", "127.0.0.1", "1", NULL));
    assert_true(redis_do_ok(server, "REPLICAOF", "NO", "ONE", NULL));
    e = opened(url);
    expect_ok(e, "room alive fell ann"); /* no change: nothing is published */
    expect_ok(e, "room alive fell ann");
    receives_no_more(c, server, "PUBLISH", "{fell}:room");
    version = expect_ok(e, "room set fell f 1").version;
    assert_true(version > before + 1000);
    receives(c, version);
    receives(c, expect_ok(e, "room set fell f 2").version);
    usher_close(e);
    redisFree(c);
}

/* The other commands of the script call are executed. */
static void refuses_alone(struct usher_engine *e)
{
    static const char *const texts[] = { "queue set alone push=1", "queue login alone ann" };
    struct usher_operation commands[2];
    struct usher_result replies[2];
    struct line lines[2];

    for (int i = 0; i < 2; i++) {
        line_read(&lines[i], texts[i]);
        commands[i] = lines[i].c;
    }
    assert_int_equal(usher_operate(e, commands, replies, 2), USHER_UNAVAILABLE);
    assert_int_equal(replies[0].status, USHER_UNAVAILABLE);
    assert_non_null(strstr(replies[0].message, "lacks the right to PUBLISH"));
    assert_int_equal(replies[1].status, USHER_OK);
    for (int i = 0; i < 2; i++) {
        usher_result_done(&replies[i]);
        line_done(&lines[i]);
    }
    expect_ok(e, "queue drop alone");
}

TEST(a_user_without_publish_gets_an_error)
{
    static const char *const lacks[] = { "-publish", "resetchannels" };
    static const struct {
        const char *noun, *create, *on, *show, *change, *erase;
    } row[] = {
        { "room", "room open quiet", "room open quiet push=1", "room show quiet",
          "room set quiet f 1", "room close quiet" },
        { "queue", "queue set quiet log=5", "queue set quiet push=1", "queue set quiet",
          "queue login quiet ann", "queue drop quiet" },
        { "number", "number add quiet 1", "number set quiet push=1", "number set quiet",
          "number reg quiet 1", "number drop quiet" },
        { "serial", "serial rule quiet prefix=Q", "serial rule quiet push=1", "serial show quiet",
          "serial take quiet", "serial delete quiet" },
    };
    char url[128], wanted[80];

    for (unsigned i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        unsigned n = i / 2;
        struct usher_engine *e;
        struct usher_result r;

        assert_true(redis_do_ok(server, "ACL", "SETUSER", "mute", "reset", "on", ">pw", "~*", "&*",
                                "+@all", lacks[i % 2], NULL));
        (void)snprintf(url, sizeof url, "redis://mute:pw@127.0.0.1:%d", redis_server_port(server));
        (void)snprintf(wanted, sizeof wanted, "lacks the right to PUBLISH on {quiet}:%s",
                       row[n].noun);
        e = opened(url);
        assert_int_equal(line_execute(e, &r, "%s", row[n].on), USHER_UNAVAILABLE);
        if (strstr(r.message, wanted) == NULL)
            fail_msg("%s", r.message);
        usher_result_done(&r);
        expect(e, USHER_MISSING, "%s", row[n].show);
        expect_ok(e, "%s", row[n].create);
        assert_int_equal(line_execute(e, &r, "%s", row[n].on), USHER_UNAVAILABLE);
        usher_result_done(&r);
        expect_ok(e, "%s", row[n].change);
        expect_ok(e, "%s", row[n].erase);
        refuses_alone(e);
        usher_close(e);
    }
}

TEST(a_channel_is_on_the_node_of_its_scope)
{
    static const struct {
        const char *noun, *create, *given, *change, *what;
    } row[] = {
        { "room", "open", "", "set", "f 1" },
        { "queue", "set", "", "login", "ann" },
        { "number", "set", "", "add", "1" },
        { "serial", "rule", "prefix=R", "take", "" },
    };
    enum { MASTERS = 3, SCOPES = 12 };
    struct redis_cluster *cluster = redis_cluster_start(MASTERS, 0, NULL);
    redisContext *c[SCOPES];
    struct usher_engine *e;
    char url[REDIS_URL_MAX], user[REDIS_URL_MAX + 16];
    bool used[MASTERS] = { false };

    if (cluster == NULL)
        fail_msg("%s", redis_reason());
    e = opened(redis_cluster_url(cluster, url));
    for (int i = 0; i < SCOPES; i++) {
        size_t n = (size_t)i % (sizeof row / sizeof *row);
        char channel[32], scope[24];
        struct redis_server *home;

        (void)snprintf(channel, sizeof channel, "{r%d}:%s", i, row[n].noun);
        (void)snprintf(scope, sizeof scope, "r%d", i);
        home = redis_cluster_owner(cluster, cluster->node[0], redis_cluster_slot(cluster, scope));
        for (int k = 0; k < MASTERS; k++)
            used[k] = used[k] || cluster->node[k] == home;
        c[i] = listen_to(home, "SSUBSCRIBE", channel);
        receives(c[i],
                 expect_ok(e, "%s %s %s push=1 %s", row[n].noun, row[n].create, scope, row[n].given)
                     .version);
        receives(
            c[i],
            expect_ok(e, "%s %s %s %s", row[n].noun, row[n].change, scope, row[n].what).version);
        receives_no_more(c[i], home, "SPUBLISH", channel);
    }
    for (int k = 0; k < MASTERS; k++)
        assert_true(used[k]);
    for (int i = 0; i < SCOPES; i++)
        redisFree(c[i]);
    usher_close(e);
    /* nor does that need the right to INFO */
    for (int k = 0; k < MASTERS; k++)
        assert_true(redis_do_ok(cluster->node[k], "ACL", "SETUSER", "blind", "on", ">pw", "~*",
                                "&*", "+@all", "-info", NULL));
    (void)snprintf(user, sizeof user, "redis+cluster://blind:pw@%s", strstr(url, "://") + 3);
    e = opened(user);
    c[0] = listen_to(
        redis_cluster_owner(cluster, cluster->node[0], redis_cluster_slot(cluster, "blind")),
        "SSUBSCRIBE", "{blind}:queue");
    receives(c[0], expect_ok(e, "queue set blind push=1").version);
    receives(c[0], expect_ok(e, "queue login blind ann").version);
    redisFree(c[0]);
    usher_close(e);
    redis_cluster_stop(cluster);
}
