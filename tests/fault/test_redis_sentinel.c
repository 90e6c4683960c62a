/* SPDX-License-Identifier: MIT */
/*
 * A master that is named by Sentinels: it is found, and found again after a failover.  Messages for
 * Sentinels that do not have its name, do not answer, or are used as a Redis server.
 */
#include "lib/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>

#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"

#define PATIENCE_MS 60000
#define SENTINELS 3
#define NAME "calls.example_1-2"

static struct redis_server *master, *replica, *sentinel[SENTINELS];

/* Start a Sentinel that watches @of; with @quorum 1 it decides alone. */
static struct redis_server *sentinel_start(const struct redis_server *of, int quorum,
                                           const char *password)
{
    char monitor[128];
    const char *config[] = { monitor,
                             "sentinel down-after-milliseconds " NAME " 1500",
                             "sentinel failover-timeout " NAME " 10000",
                             "sentinel parallel-syncs " NAME " 1",
                             "sentinel resolve-hostnames no",
                             NULL };
    struct redis_server_options opt = { .sentinel = true, .config = config, .password = password };

    (void)snprintf(monitor, sizeof monitor, "sentinel monitor " NAME " 127.0.0.1 %d %d",
                   redis_server_port(of), quorum);
    return redis_server_start(&opt);
}

static int sentinels(void **state)
{
    (void)state;
    master = redis_server_start(NULL);
    if (master == NULL)
        return -1;
    replica = redis_server_start(&(struct redis_server_options){ .replica_of = master });
    if (replica == NULL ||
        !redis_server_wait_info(master, "replication", "state=online", PATIENCE_MS))
        return -1;
    for (int i = 0; i < SENTINELS; i++) {
        sentinel[i] = sentinel_start(master, 2, NULL);
        if (sentinel[i] == NULL)
            return -1;
    }
    return 0;
}

static int no_sentinels(void **state)
{
    (void)state;
    for (int i = 0; i < SENTINELS; i++) {
        redis_server_stop(sentinel[i]);
        sentinel[i] = NULL;
    }
    redis_server_stop(replica);
    redis_server_stop(master);
    master = replica = NULL;
    return 0;
}

TEST_EACH(sentinels, no_sentinels);

/* Return a URL with @n Sentinels, beginning with number @from, and the master @name. */
static const char *url_of(int from, int n, const char *name)
{
    static char url[256];
    size_t size = (size_t)snprintf(url, sizeof url, "redis+sentinel://");

    for (int i = 0; i < n; i++)
        size += (size_t)snprintf(url + size, sizeof url - size, "%s127.0.0.1:%d", i > 0 ? "," : "",
                                 redis_server_port(sentinel[from + i]));
    (void)snprintf(url + size, sizeof url - size, "/%s", name);
    return url;
}

static enum usher_status engine_open(const char *url, int64_t timeout_ms, struct usher_engine **e)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.timeout_ms = timeout_ms;
    return usher_open(url, &opt, e);
}

static void must_report(const char *words)
{
    if (strstr(usher_message(), words) == NULL)
        fail_msg("%s", usher_message());
}

static void each_sentinel_has(const char *text)
{
    for (int i = 0; i < SENTINELS; i++)
        assert_true(redis_server_wait_info(sentinel[i], "sentinel", text, PATIENCE_MS));
}

/* ---- tests ---- */

TEST(the_master_is_found)
{
    struct usher_engine *e = NULL;

    for (int n = 1; n <= SENTINELS; n++) {
        assert_int_equal(engine_open(url_of(0, n, NAME), PATIENCE_MS, &e), USHER_OK);
        expect(e, n == 1 ? USHER_OK : USHER_SAME, "number add p 1");
        usher_close(e);
    }
    assert_true(redis_server_keys(master) > 0);
    /* a name may be escaped, and a database be chosen */
    assert_int_equal(engine_open(url_of(0, 1, "calls%2eexample_1-2?db=1"), PATIENCE_MS, &e),
                     USHER_OK);
    expect(e, USHER_MISSING, "number show p 1");
    usher_close(e);
}

/* Two of three Sentinels that agree are enough. */
TEST(a_silent_sentinel_does_not_delay_the_others)
{
    struct usher_engine *e = NULL;
    struct timespec began, now;

    assert_int_equal(redis_server_kill(sentinel[0], SIGSTOP), 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    assert_int_equal(engine_open(url_of(0, SENTINELS, NAME), 4 * PATIENCE_MS, &e), USHER_OK);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(now.tv_sec - began.tv_sec < PATIENCE_MS / 1000 / 2);
    expect_ok(e, "number add p 1");
    usher_close(e);
    assert_int_equal(redis_server_kill(sentinel[0], SIGCONT), 0);
}

/* A fake Sentinel: it names the silent server first, and then the real one. */
struct scripted {
    pthread_t thread;
    int listener, silent; /* no thread accepts at the second one, so no query there is answered */
    int silent_port, real_port;
    atomic_int left;    /* how often it still names the silent one */
    atomic_int queries; /* so far */
    atomic_bool stop;
};

static int listener_open(int *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* One client: every command is OK, but for the query, which ends the connection. */
static void scripted_answer(struct scripted *s, int client)
{
    char text[1024], port[16], answer[128];
    ssize_t n;
    size_t size;

    while ((n = recv(client, text, sizeof text - 1, 0)) > 0) {
        const char *command = text, *query;

        text[n] = '\0';
        query = strstr(text, "GET-MASTER-ADDR-BY-NAME");
        /* a command begins with the number of its words */
        for (; command != NULL && (query == NULL || command < query);
             command = strstr(command, "\n*")) {
            command += *command == '\n';
            if (query == NULL || (strstr(command, "\n*") != NULL && strstr(command, "\n*") < query))
                (void)send(client, "+OK\r\n", 5, MSG_NOSIGNAL);
        }
        if (query == NULL)
            continue;
        atomic_fetch_add(&s->queries, 1);
        (void)snprintf(port, sizeof port, "%d",
                       atomic_fetch_sub(&s->left, 1) > 0 ? s->silent_port : s->real_port);
        size = (size_t)snprintf(answer, sizeof answer, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
                                strlen(port), port);
        (void)send(client, answer, size, MSG_NOSIGNAL);
    }
}

static void *scripted_run(void *payload)
{
    struct scripted *s = payload;
    struct pollfd p = { .fd = s->listener, .events = POLLIN };

    while (!atomic_load(&s->stop)) {
        int client = poll(&p, 1, 50) == 1 ? accept(s->listener, NULL, NULL) : -1;

        if (client < 0)
            continue;
        scripted_answer(s, client);
        (void)close(client);
    }
    return NULL;
}

/* The server that a Sentinel names is silent.  The Sentinel is queried again while there is time,
 * both when a store is opened and when a connection ends. */
TEST(a_silent_master_leaves_time_for_another_query)
{
    const int64_t deadline_ms = 8000;
    struct scripted s = { .left = 1, .real_port = redis_server_port(master) };
    struct usher_engine *e = NULL;
    char url[128];
    int port;

    s.listener = listener_open(&port);
    s.silent = listener_open(&s.silent_port);
    assert_int_equal(pthread_create(&s.thread, NULL, scripted_run, &s), 0);
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/%s", port, NAME);
    if (engine_open(url, deadline_ms, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    assert_int_equal(atomic_load(&s.queries), 2);
    expect(e, USHER_MISSING, "number show silent 1");
    atomic_store(&s.left, 1);
    freeReplyObject(redis_do(master, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL));
    expect(e, USHER_MISSING, "number show silent 1");
    assert_int_equal(atomic_load(&s.queries), 4);
    usher_close(e);
    atomic_store(&s.stop, true);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    (void)close(s.listener);
    (void)close(s.silent);
}

/* One of three Sentinels was cut off and still names an earlier master. */
TEST(the_majority_of_sentinels_decides)
{
    struct redis_server *before = redis_server_start(NULL), *cut_off;
    struct usher_engine *e = NULL;
    char url[256];

    assert_non_null(before);
    cut_off = sentinel_start(before, 2, NULL);
    assert_non_null(cut_off);
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/" NAME,
                   redis_server_port(cut_off), redis_server_port(sentinel[0]),
                   redis_server_port(sentinel[1]));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    assert_true(redis_server_keys(before) == 0 && redis_server_keys(master) > 0);
    usher_close(e);
    redis_server_stop(cut_off);
    redis_server_stop(before);
}

/* The master dies.  A client that stays renews its hold, or gets the answer `lost`. */
TEST(a_failover_is_followed)
{
    struct usher_engine *e = NULL, *other = NULL;
    char text[96];
    struct usher_result r;
    uint64_t token;
    enum usher_status status;
    time_t end = time(NULL) + 4 * PATIENCE_MS / 1000;

    each_sentinel_has("slaves=1,sentinels=3");
    assert_int_equal(engine_open(url_of(0, SENTINELS, NAME), PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    expect_ok(e, "number reg p 1");
    token = expect_ok(e, "number call p owner=ann lease=3600000 wait=1").of.number.token;
    assert_int_equal(redis_server_kill(master, SIGKILL), 0);
    (void)snprintf(text, sizeof text, "number renew p 1 token=%llu lease=3600000",
                   (unsigned long long)token);
    do {
        assert_true(time(NULL) < end);
        r = answer_to(e, "%s", text);
        status = r.status;
    } while (status == USHER_UNAVAILABLE);
    if (status != USHER_OK && status != USHER_LOST)
        fail_msg("%s (%s)", usher_status_word(status), r.message);
    /* the old master is started again without its data, and no client uses it */
    assert_true(redis_server_restart(master));
    assert_int_equal(engine_open(url_of(0, SENTINELS, NAME), PATIENCE_MS, &other), USHER_OK);
    expect_ok(other, "number show p 1");
    expect_ok(e, "number show p 1");
    usher_close(other);
    usher_close(e);
}

TEST(an_unknown_name_is_refused_at_once)
{
    struct usher_engine *e = NULL;

    assert_int_equal(engine_open(url_of(0, SENTINELS, "mymaster"), PATIENCE_MS, &e),
                     USHER_UNAVAILABLE);
    must_report("the Sentinel has no master of this name");
}

TEST(silent_sentinels_are_unavailable)
{
    struct usher_engine *e = NULL;

    for (int i = 0; i < SENTINELS; i++)
        assert_int_equal(redis_server_kill(sentinel[i], SIGSTOP), 0);
    assert_int_equal(engine_open(url_of(0, SENTINELS, NAME), 1000, &e), USHER_UNAVAILABLE);
    must_report("no Sentinel replies: redis 127.0.0.1:");
    for (int i = 0; i < SENTINELS; i++)
        assert_int_equal(redis_server_kill(sentinel[i], SIGCONT), 0);
}

/* The error names the kind of server if the URL is for the other kind. */
TEST(a_sentinel_is_refused_as_a_store)
{
    struct usher_engine *e = NULL;
    char url[96];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", redis_server_port(sentinel[0]));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_UNAVAILABLE);
    must_report("the server is a Sentinel: use redis+sentinel://HOST:PORT/NAME");
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d",
                   redis_server_port(sentinel[0]), redis_server_port(sentinel[1]));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_UNAVAILABLE);
    must_report("the server is a Sentinel: use redis+sentinel://HOST:PORT/NAME");
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/" NAME,
                   redis_server_port(master));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_UNAVAILABLE);
    must_report("the server is not a Sentinel");
}

/* A Sentinel gets the password if it requires one; another one would refuse it. */
TEST(the_password_is_for_the_master)
{
    struct redis_server *closed, *locked;
    struct usher_engine *e = NULL;
    char url[160];

    assert_true(redis_do_ok(master, "CONFIG", "SET", "requirepass", "a secret", NULL));
    locked = sentinel_start(master, 1, "a secret");
    assert_non_null(locked);
    (void)snprintf(url, sizeof url, "redis+sentinel://:a%%20secret@127.0.0.1:%d/" NAME,
                   redis_server_port(locked));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    usher_close(e);
    (void)snprintf(url, sizeof url, "redis+sentinel://:a%%20secret@127.0.0.1:%d/" NAME,
                   redis_server_port(sentinel[0]));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_OK);
    expect(e, USHER_SAME, "number add p 1");
    usher_close(e);
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/" NAME,
                   redis_server_port(locked));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_UNAVAILABLE);
    must_report("NOAUTH");
    closed = sentinel_start(master, 1, "another one");
    assert_non_null(closed);
    (void)snprintf(url, sizeof url, "redis+sentinel://:a%%20secret@127.0.0.1:%d/" NAME,
                   redis_server_port(closed));
    assert_int_equal(engine_open(url, PATIENCE_MS, &e), USHER_UNAVAILABLE);
    must_report("WRONGPASS");
    redis_server_stop(closed);
    redis_server_stop(locked);
}

/* usher_nodes() gives the address of the master, or only its name if it is not found. */
struct seen {
    unsigned n;
    char first[64];
    bool answers;
};

static void see(void *payload, const struct usher_node *node)
{
    struct seen *s = payload;

    if (s->n++ > 0)
        return;
    (void)snprintf(s->first, sizeof s->first, "%.*s", (int)node->address.size, node->address.data);
    s->answers = node->answers;
}

TEST(the_nodes_of_the_store_are_the_master_and_its_replicas)
{
    struct usher_engine *e = NULL;
    struct seen s = { 0 };
    char at[32];

    assert_int_equal(engine_open(url_of(0, SENTINELS, NAME), PATIENCE_MS, &e), USHER_OK);
    assert_int_equal(usher_nodes(e, NULL, see, &s), USHER_OK);
    (void)snprintf(at, sizeof at, "127.0.0.1:%d", redis_server_port(master));
    assert_string_equal(s.first, at);
    assert_int_equal(s.n, 2); /* and its replica */
    assert_true(s.answers);
    for (int i = 0; i < SENTINELS; i++)
        assert_int_equal(redis_server_kill(sentinel[i], SIGKILL), 0);
    memset(&s, 0, sizeof s);
    assert_int_equal(usher_nodes(e, NULL, see, &s), USHER_UNAVAILABLE);
    assert_string_equal(s.first, NAME);
    assert_int_equal(s.n, 1);
    assert_false(s.answers);
    usher_close(e);
}

TEST_WITH(a_wrong_url_names_its_fault, NULL, NULL)
{
    static const struct {
        const char *url, *words;
    } urls[] = {
        { "redis+sentinel://127.0.0.1:1", "the name of the master" },
        { "redis+sentinel://127.0.0.1:1/", "the name of the master" },
        { "redis+sentinel://127.0.0.1:1/a/b", "the name of the master" },
        { "redis+sentinel://127.0.0.1:1/a%20b", "the name of the master" },
        { "redis+sentinel://127.0.0.1:1/a%0ab", "the name of the master" },
        { "redis+sentinel://127.0.0.1:1/a%00b", "the name of the master" },
        { "redis+sentinel://127.0.0.1:1/%zz", "the name of the master" },
        { "redis+sentinel://127.0.0.1:0/a", "the port" },
        { "redis+sentinel://127.0.0.1:99999/a", "the port" },
        { "redis+sentinel://127.0.0.1:1,127.0.0.1:x/a", "the port" },
        { "redis+sentinel://127.0.0.1:1,/a", "the host" },
        { "redis+sentinel://127.0.0.1:1/a?db=x", "the number of the database" },
        { "redis+sentinel:a", "no // after the scheme" },
        { "redis+sentinel://127.0.0.1:1/a?ca=x", "the option `ca` is for `rediss:`" },
    };
    struct usher_engine *e = NULL;
    char url[400], name[200];

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        enum usher_status status = usher_open(urls[i].url, NULL, &e);

        if (status != USHER_INVALID || strstr(usher_message(), urls[i].words) == NULL)
            fail_msg("%s: %s: %s", urls[i].url, usher_status_word(status), usher_message());
    }
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:1/%s", name);
    assert_int_equal(usher_open(url, NULL, &e), USHER_INVALID);
    name[128] = '\0';
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:1/%s?timeout=100", name);
    assert_int_equal(usher_open(url, NULL, &e), USHER_UNAVAILABLE);
}

/* As in usher-redis(7): the longest of each is accepted, and one byte more is not. */
TEST_WITH(sizes_in_a_url_are_those_of_the_manual, NULL, NULL)
{
    static const struct {
        const char *before, *after;
        size_t max;
        char fill;
    } sizes[] = {
        { "redis://", ":p@127.0.0.1:1/?timeout=100", 255, 'u' },
        { "redis://u:", "@127.0.0.1:1/?timeout=100", 511, 'p' },
        { "redis://127.0.0.1:1/?timeout=100&name=", "", 255, 'c' },
        { "redis://127.0.0.1:1/?timeout=100&prefix=", "", 64, 'p' },
        { "redis://u@127.0.0.1:1/?timeout=100&password-file=", "", 1023, 'f' },
        { "redis+sentinel://127.0.0.1:1/", "?timeout=100", 128, 'n' },
    };
    struct usher_engine *e = NULL;
    char url[2048];
    size_t n = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t more = 0; more < 2; more++) {
            size_t size = sizes[i].max + more, at = strlen(sizes[i].before);
            enum usher_status status;

            memcpy(url, sizes[i].before, at);
            memset(url + at, sizes[i].fill, size);
            memcpy(url + at + size, sizes[i].after, strlen(sizes[i].after) + 1);
            status = usher_open(url, NULL, &e);
            if ((status == USHER_INVALID) != (more == 1) || status == USHER_OK)
                fail_msg("%s with %zu: %s", sizes[i].before, size, usher_message());
        }
    n = (size_t)snprintf(url, sizeof url, "redis://127.0.0.1:1");
    for (int i = 1; i < 32; i++)
        n += (size_t)snprintf(url + n, sizeof url - n, ",127.0.0.1:1");
    (void)snprintf(url + n, sizeof url - n, "?timeout=100");
    assert_int_equal(usher_open(url, NULL, &e), USHER_UNAVAILABLE);
    (void)snprintf(url + n, sizeof url - n, ",127.0.0.1:1?timeout=100");
    assert_int_equal(usher_open(url, NULL, &e), USHER_INVALID);
    must_report("more than 32");
}

TEST_PROGRAM(redis_needed, NULL);
