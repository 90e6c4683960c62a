/* SPDX-License-Identifier: MIT */
/*
 * Sentinels with TLS, and followers of rooms with push=1 over TLS and over Sentinels: after a
 * failover a message of the new master reaches them.  While the clock of this process is stopped no
 * follower reads a log by itself, so changes that are received then came by a message.
 */
#include "lib/test.h"

#include <signal.h>

#include "lib/certs.h"
#include "lib/expect.h"
#include "lib/follow.h"
#include "lib/command_line.h"
#include "lib/servers.h"

#define PATIENCE_MS FOLLOW_PATIENCE_MS
#define DAY 86400L
#define SENTINELS 3
#define URL_MAX 512

static char ca_file[96], other_file[96], cert_file[96];

/* A server and the port that its clients use. */
struct node {
    struct redis_server *server;
    int port;
};

static struct node master, replica, sentinel[SENTINELS];
static bool over_tls;

/* Start a server with @more, up to NULL, that also listens with TLS on a port of its own.  With
 * over_tls it makes its own connections by TLS as well. */
static bool node_start(struct node *n, bool is_sentinel, const char *const *more)
{
    char port[32], cert[128], key[128], ca[128];
    const char *config[16] = { port, cert, key, ca, "tls-auth-clients no" };
    struct redis_server_options opt = { .config = config, .sentinel = is_sentinel };
    int tls_port = redis_free_port();
    size_t i = 5;

    (void)snprintf(port, sizeof port, "tls-port %d", tls_port);
    (void)snprintf(cert, sizeof cert, "tls-cert-file %s", cert_file);
    (void)snprintf(key, sizeof key, "tls-key-file %s", cert_file);
    (void)snprintf(ca, sizeof ca, "tls-ca-cert-file %s", ca_file);
    if (over_tls)
        config[i++] = "tls-replication yes";
    while (*more != NULL)
        config[i++] = *more++;
    n->server = redis_server_start(&opt);
    n->port = n->server == NULL ? 0 : over_tls ? tls_port : redis_server_port(n->server);
    return n->server != NULL;
}

static int nodes_stop(void **state)
{
    struct node *all[] = { &master, &replica, &sentinel[0], &sentinel[1], &sentinel[2] };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        redis_server_stop(all[i]->server);
        all[i]->server = NULL;
    }
    return 0;
}

/* A master, its replica and Sentinels that watch them. */
static int nodes_start(bool tls)
{
    static const char *const nothing[] = { NULL };
    char of[64], monitor[64];
    const char *const follows[] = { of, NULL };
    const char *const watches[] = { monitor, "sentinel down-after-milliseconds calls 1500",
                                    "sentinel failover-timeout calls 10000", NULL };

    over_tls = tls;
    if (!node_start(&master, false, nothing))
        return -1;
    (void)snprintf(of, sizeof of, "replicaof 127.0.0.1 %d", master.port);
    (void)snprintf(monitor, sizeof monitor, "sentinel monitor calls 127.0.0.1 %d 2", master.port);
    if (!node_start(&replica, false, follows) ||
        !redis_server_wait_info(master.server, "replication", "state=online", PATIENCE_MS))
        return -1;
    for (int i = 0; i < SENTINELS; i++)
        if (!node_start(&sentinel[i], true, watches))
            return -1;
    for (int i = 0; i < SENTINELS; i++)
        if (!redis_server_wait_info(sentinel[i].server, "sentinel", "slaves=1,sentinels=3",
                                    PATIENCE_MS))
            return -1;
    return 0;
}

static int nodes_start_plain(void **state)
{
    (void)state;
    return nodes_start(false);
}

static int nodes_start_tls(void **state)
{
    (void)state;
    return nodes_start(true);
}

static const char *url_of(const char *scheme, const char *ca)
{
    static char url[URL_MAX];

    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/calls%s%s", scheme,
                   sentinel[0].port, sentinel[1].port, sentinel[2].port, ca != NULL ? "?ca=" : "",
                   ca != NULL ? ca : "");
    return url;
}

static const char *url(void)
{
    return over_tls ? url_of("rediss+sentinel", ca_file) : url_of("redis+sentinel", NULL);
}

static void refused(const char *where, const char *words)
{
    struct usher_engine *e = NULL;

    if (usher_open(where, NULL, &e) != USHER_UNAVAILABLE || strstr(usher_message(), words) == NULL)
        fail_msg("%s: %s", where, usher_message());
}

/* ---- tests ---- */

TEST(a_message_over_tls_wakes_a_follower)
{
    static const char *const nothing[] = { NULL };
    struct usher_engine *a, *b;
    struct node n;
    char where[URL_MAX];
    uint64_t version;

    over_tls = true;
    assert_true(node_start(&n, false, nothing));
    (void)snprintf(where, sizeof where, "rediss://127.0.0.1:%d?ca=%s", n.port, ca_file);
    a = follow_open(where);
    b = follow_open(where);
    version = expect_ok(a, "room open hall push=1").version;
    (void)follow_room(b, "hall");
    follow_expect_change(b, version);
    follow_until_subscribed(b, n.server, "NUMSUB", "{hall}:room", 1);
    follow_stop_clock(true);
    for (int i = 0; i < 20; i++)
        follow_expect_change(b, expect_ok(a, "room set hall f %d", i).version);
    follow_stop_clock(false);

    /* a message in the TLS record of another one, and after a new connection */
    freeReplyObject(redis_do(n.server, "CLIENT", "KILL", "TYPE", "pubsub", NULL));
    follow_expect_change(b, expect_ok(a, "room set hall g 1").version);
    follow_until_subscribed(b, n.server, "NUMSUB", "{hall}:room", 1);
    follow_stop_clock(true);
    {
        uint64_t first = expect_ok(a, "room set hall h 1").version;

        expect_ok(a, "room set hall h 2");
        expect_ok(a, "room set hall h 3");
        for (uint64_t v = first; v < first + 3; v++)
            follow_expect_change(b, v);
    }
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
    redis_server_stop(n.server);
}

/* The first change after the master's death, repeated until the Sentinels name another master. */
static uint64_t after_the_failover(struct usher_engine *e)
{
    int64_t until_ms = follow_real_ms() + 4 * (int64_t)PATIENCE_MS;
    struct usher_result r;
    enum usher_status status;
    uint64_t version;

    do {
        status = line_execute(e, &r, "room set hall f 2");
        version = r.version;
        if (status != USHER_OK && (status != USHER_UNAVAILABLE || follow_real_ms() >= until_ms))
            fail_msg("%s (%s)", usher_status_word(status), r.message);
        usher_result_done(&r);
    } while (status != USHER_OK);
    return version;
}

static void follow_over_a_failover(void)
{
    struct usher_engine *a = follow_open(url()), *b = follow_open(url());
    uint64_t version = expect_ok(a, "room open hall push=1").version;

    (void)follow_room(b, "hall");
    follow_expect_change(b, version);
    follow_until_subscribed(b, master.server, "NUMSUB", "{hall}:room", 1);
    follow_stop_clock(true);
    follow_expect_change(b, expect_ok(a, "room set hall f 0").version);
    follow_stop_clock(false);
    follow_expect_change(b,
                         expect_ok(a, "room set hall f 1 wait=1").version); /* the replica has it */
    assert_int_equal(redis_server_kill(master.server, SIGKILL), 0);
    follow_expect_change(b, after_the_failover(a));
    follow_until_subscribed(b, replica.server, "NUMSUB", "{hall}:room", 1);
    follow_stop_clock(true);
    for (int i = 0; i < 20; i++)
        follow_expect_change(b, expect_ok(a, "room set hall f %d", i).version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

TEST_WITH(after_a_failover_a_message_wakes_a_follower, nodes_start_plain, nodes_stop)
{
    follow_over_a_failover();
}

TEST_WITH(after_a_failover_a_message_over_tls_wakes_a_follower, nodes_start_tls, nodes_stop)
{
    follow_over_a_failover();
}

/* Each Sentinel and the master must have a valid certificate. */
TEST_WITH(sentinels_with_tls_are_queried_over_tls, nodes_start_tls, nodes_stop)
{
    struct usher_engine *e = follow_open(url());
    struct usher_result r;

    assert_int_equal(line_execute(e, &r, "number add p 1"), USHER_OK);
    usher_result_done(&r);
    assert_true(redis_server_keys(master.server) > 0);
    usher_close(e);
    refused(url_of("rediss+sentinel", NULL), "no Sentinel replies: redis 127.0.0.1:");
    refused(url_of("rediss+sentinel", other_file), "certificate");
    refused(url_of("redis+sentinel", NULL), "rediss:");
}

/* ---- the program ---- */

static void certs_make(void)
{
    struct cert ca, other, good;

    (void)snprintf(ca_file, sizeof ca_file, "%s/ca.pem", test_dir());
    (void)snprintf(other_file, sizeof other_file, "%s/other.pem", test_dir());
    (void)snprintf(cert_file, sizeof cert_file, "%s/server.pem", test_dir());
    ca = cert_make("the CA", NULL, NULL, -60, DAY);
    other = cert_make("another CA", NULL, NULL, -60, DAY);
    good = cert_make("good", &ca, "IP:127.0.0.1", -60, DAY);
    cert_write(&ca, ca_file);
    cert_write(&other, other_file);
    cert_write_both(&good, cert_file);
    cert_free(&ca);
    cert_free(&other);
    cert_free(&good);
}

/* Skip if there is no Redis, or one without TLS. */
static int program_begin(void)
{
    static const char *const nothing[] = { NULL };
    struct node n;
    bool there;

    certs_make();
    over_tls = true;
    there = node_start(&n, false, nothing);
    redis_server_stop(n.server);
    return there ? 0 : redis_skip();
}

TEST_PROGRAM(program_begin, NULL);
