/* SPDX-License-Identifier: MIT */
/*
 * The connection to Redis against a server under the test's control.
 *
 * The server ("peer") is a thread that listens on 127.0.0.1 or on a socket file, and runs
 * one function for each connection it accepts.  It cannot fail a test by itself: it notes the
 * first thing it did not expect, and peer_stop() looks at that.
 * USHER_TEST_SEED repeats the random part of a run.
 */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>

#include <hiredis/hiredis.h>

#include "conn.h"

#include "lib/util.h"

#define LONG 60000 /* ms; a test that gets there has failed */
#define SHORT 60   /* ms; of waits that must end by their deadline */

#define PING "*1\r\n$4\r\nPING\r\n"
#define PONG "+PONG\r\n"
#define GET "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"

/* ---- memory that is counted and can fail ---- */

/* ---- the peer ---- */

struct peer {
    int listener;
    uint16_t port;
    char dir[64], path[96]; /* of a socket file, or "" */
    pthread_t thread;
    unsigned rounds, round; /* connections to accept; the current one */
    void (*play)(struct peer *p, int fd);
    const void *script; /* what @play takes it for */
    size_t script_size;
    size_t received; /* bytes; for the test after peer_stop() */
    int go[2];       /* see peer_wait() */
    char problem[200];
};

static void peer_problem(struct peer *p, const char *what)
{
    if (p->problem[0] == '\0')
        snprintf(p->problem, sizeof p->problem, "connection %u: %s", p->round, what);
}

static void peer_send(struct peer *p, int fd, const void *text, size_t n)
{
    const char *s = text;

    while (n > 0) {
        ssize_t done = send(fd, s, n, MSG_NOSIGNAL);

        if (done <= 0) {
            peer_problem(p, "cannot send");
            return;
        }
        s += done;
        n -= (size_t)done;
    }
}

static void peer_say(struct peer *p, int fd, const char *text)
{
    peer_send(p, fd, text, strlen(text));
}

static void peer_expect(struct peer *p, int fd, const char *text)
{
    size_t n = strlen(text), got = 0;
    char buf[4096];

    while (got < n) {
        ssize_t done = recv(fd, buf, n - got < sizeof buf ? n - got : sizeof buf, 0);

        if (done <= 0) {
            peer_problem(p, "the client went away");
            return;
        }
        if (memcmp(buf, text + got, (size_t)done) != 0) {
            peer_problem(p, "not the bytes that should come");
            return;
        }
        got += (size_t)done;
    }
}

static void peer_greet(struct peer *p, int fd)
{
    peer_expect(p, fd, PING);
    peer_say(p, fd, PONG);
}

/* Reads until the client closes.  How many bytes that were. */
static size_t peer_drain(struct peer *p, int fd)
{
    char buf[65536];
    size_t sum = 0;
    ssize_t n;

    while ((n = recv(fd, buf, sizeof buf, 0)) > 0)
        sum += (size_t)n;
    if (n < 0 && errno != ECONNRESET)
        peer_problem(p, "the client does not close");
    return sum;
}

/* Returns when the test says so with peer_go(). */
static void peer_wait(struct peer *p)
{
    char byte;

    if (recv(p->go[1], &byte, 1, 0) != 1)
        peer_problem(p, "the test does not go on");
}

static void peer_go(struct peer *p)
{
    assert_int_equal(send(p->go[0], "", 1, MSG_NOSIGNAL), 1);
}

/* Closing @fd will wait until the other side has all that was sent, and the FIN. */
static void peer_linger(int fd)
{
    struct linger wait = { 1, LONG / 1000 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
}

static void *peer_run(void *payload)
{
    struct peer *p = payload;

    for (p->round = 0; p->round < p->rounds; p->round++) {
        struct pollfd ready = { .fd = p->listener, .events = POLLIN };
        struct timeval patience = { LONG / 1000, 0 };
        int one = 1, fd;

        if (poll(&ready, 1, LONG) != 1) {
            peer_problem(p, "nobody connects");
            break;
        }
        fd = accept(p->listener, NULL, NULL);
        if (fd < 0) {
            peer_problem(p, "accept");
            break;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        p->play(p, fd);
        close(fd);
    }
    return NULL;
}

static void peer_listen(struct peer *p, int family, int backlog)
{
    int small = 32768;
    struct timeval patience = { LONG / 1000, 0 };

    p->path[0] = p->dir[0] = '\0';
    p->go[0] = p->go[1] = -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->go), 0);
    setsockopt(p->go[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    p->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p->listener >= 0);
    /* Little room in the kernel, so that few bytes are enough to fill it. */
    setsockopt(p->listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (family == AF_UNIX) {
        struct sockaddr_un at = { .sun_family = AF_UNIX };

        snprintf(p->dir, sizeof p->dir, "/tmp/usher-conn-XXXXXX");
        assert_non_null(mkdtemp(p->dir));
        snprintf(p->path, sizeof p->path, "%s/s", p->dir);
        memcpy(at.sun_path, p->path, strlen(p->path) + 1);
        assert_int_equal(bind(p->listener, (struct sockaddr *)&at, sizeof at), 0);
    } else {
        struct sockaddr_storage at = { .ss_family = (sa_family_t)family };
        socklen_t n;

        if (family == AF_INET)
            ((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
            ((struct sockaddr_in6 *)&at)->sin6_addr = in6addr_loopback;
        n = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (bind(p->listener, (struct sockaddr *)&at, n) != 0) {
            close(p->listener);
            close(p->go[0]);
            close(p->go[1]);
            p->listener = -1; /* no IPv6 here */
            return;
        }
        n = sizeof at;
        assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &n), 0);
        p->port = ntohs(family == AF_INET ? ((struct sockaddr_in *)&at)->sin_port
                                          : ((struct sockaddr_in6 *)&at)->sin6_port);
    }
    if (backlog >= 0)
        assert_int_equal(listen(p->listener, backlog), 0);
}

static void peer_unlisten(struct peer *p)
{
    close(p->go[0]);
    close(p->go[1]);
    close(p->listener);
    if (p->path[0] != '\0') {
        unlink(p->path);
        rmdir(p->dir);
    }
}

static void peer_start(struct peer *p, unsigned rounds, void (*play)(struct peer *, int))
{
    sigset_t all, before;

    p->rounds = rounds;
    p->play = play;
    p->problem[0] = '\0';
    p->received = 0;
    sigfillset(&all); /* signals are for the client */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    assert_int_equal(pthread_create(&p->thread, NULL, peer_run, p), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void peer_stop(struct peer *p)
{
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    peer_unlisten(p);
    assert_string_equal(p->problem, "");
}

/* ---- the client and a peer ---- */

struct world {
    struct memory memory;
    struct usher_allocator alloc;
    struct usher__redis_conn_options opt;
    struct peer peer;
    struct usher__redis_conn *c;
};

static void world_listen(struct world *w, int family, int backlog)
{
    memset(w, 0, sizeof *w);
    w->alloc = (struct usher_allocator){ memory_resize, &w->memory };
    peer_listen(&w->peer, family, backlog);
    if (family == AF_UNIX)
        w->opt.unix_path = w->peer.path;
    else
        w->opt.host = family == AF_INET ? "127.0.0.1" : "::1";
    w->opt.port = w->peer.port;
}

static void world_client(struct world *w)
{
    assert_int_equal(usher__redis_conn_open(&w->alloc, &w->opt, &w->c), USHER_OK);
}

static void world_open_on(struct world *w, int family, unsigned rounds,
                          void (*play)(struct peer *, int), const void *script, size_t size)
{
    world_listen(w, family, 64);
    w->peer.script = script;
    w->peer.script_size = size;
    world_client(w);
    peer_start(&w->peer, rounds, play);
}

static void world_open(struct world *w, unsigned rounds, void (*play)(struct peer *, int),
                       const char *script)
{
    world_open_on(w, AF_INET, rounds, play, script, script != NULL ? strlen(script) : 0);
}

static void world_close(struct world *w)
{
    usher__redis_conn_close(w->c);
    peer_stop(&w->peer);
    assert_int_equal(w->memory.bytes, 0);
}

static int64_t in_ms(int64_t ms)
{
    return usher__redis_clock_ms() + ms;
}

static void connect_ok(struct world *w)
{
    enum usher_status status = usher__redis_conn_connect(w->c, in_ms(LONG));

    if (status != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(w->c));
    assert_true(usher__redis_conn_is_connected(w->c));
}

static void add_get(struct world *w)
{
    usher__redis_conn_begin(w->c, 2);
    usher__redis_conn_arg_str(w->c, "GET");
    usher__redis_conn_arg_str(w->c, "k");
}

static void flush_ok(struct world *w)
{
    if (usher__redis_conn_flush(w->c) != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(w->c));
}

static redisReply *read_ok(struct world *w)
{
    redisReply *r = NULL;

    if (usher__redis_conn_read(w->c, in_ms(LONG), &r) != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(w->c));
    assert_non_null(r);
    return r;
}

static void read_text(struct world *w, int type, const char *text)
{
    redisReply *r = read_ok(w);

    assert_int_equal(r->type, type);
    assert_int_equal(r->len, strlen(text));
    assert_string_equal(r->str, text);
    freeReplyObject(r);
}

static void assert_message(struct world *w, const char *part)
{
    const char *m = usher__redis_conn_message(w->c);

    if (strstr(m, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, m);
    assert_true(strlen(m) < USHER__REDIS_MESSAGE_SIZE);
    for (; *m != '\0'; m++)
        assert_true(*m >= 0x20 && *m < 0x7f);
}

static void assert_read_fails(struct world *w, int64_t deadline, enum usher_status status,
                              const char *part)
{
    redisReply *r = NULL;

    assert_int_equal(usher__redis_conn_read(w->c, deadline, &r), status);
    assert_null(r);
    assert_message(w, part);
    assert_int_equal(usher__redis_conn_is_connected(w->c), status == USHER_INVALID);
}

/* ---- plays ---- */

/* Greets, takes one GET, answers with the script, and closes. */
static void play_answer(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_send(p, fd, p->script, p->script_size);
}

static void play_answer_in_single_bytes(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    for (size_t i = 0; i < p->script_size; i++)
        peer_send(p, fd, (const char *)p->script + i, 1);
}

/* The n-th connection gets n bytes of the script. */
static void play_cut(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_send(p, fd, p->script, p->round);
}

static void play_silence(struct peer *p, int fd)
{
    p->received += peer_drain(p, fd);
}

static void play_greet_then_silence(struct peer *p, int fd)
{
    peer_greet(p, fd);
    p->received += peer_drain(p, fd);
}

/* A bulk that never ends, byte by byte, until the client goes. */
static void play_drip(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_say(p, fd, "$60000000\r\n");
    while (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        ;
}

/* Hangs up after the greeting; the next connection is served. */
static void play_greet_then_hang_up(struct peer *p, int fd)
{
    peer_linger(fd);
    peer_greet(p, fd);
    if (p->round > 0) {
        peer_expect(p, fd, GET);
        peer_say(p, fd, "$1\r\nv\r\n");
        peer_drain(p, fd);
    }
}

static void play_greet_and_wait_and_script(struct peer *p, int fd)
{
    peer_linger(fd);
    peer_greet(p, fd);
    peer_wait(p);
    peer_send(p, fd, p->script, p->script_size);
}

static void play_greet_and_script_in_one_write(struct peer *p, int fd)
{
    char text[200];
    int n = snprintf(text, sizeof text, "%s%s", PONG, (const char *)p->script);

    peer_linger(fd);
    peer_expect(p, fd, PING);
    peer_send(p, fd, text, (size_t)n);
}

/* ---- replies ---- */

static const char all_kinds[] =
    "*7\r\n"
    "+a status\r\n"
    "-ERR an error\r\n"
    ":-9223372036854775808\r\n"
    "$6\r\n\r\n\0ab\n\r\n"
    "$-1\r\n"
    "*-1\r\n"
    "*4\r\n$0\r\n\r\n*0\r\n:0\r\n*1\r\n*1\r\n*1\r\n:9223372036854775807\r\n";

static void assert_all_kinds(const redisReply *r)
{
    const redisReply *in;

    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_int_equal(r->elements, 7);
    assert_int_equal(r->element[0]->type, REDIS_REPLY_STATUS);
    assert_string_equal(r->element[0]->str, "a status");
    assert_int_equal(r->element[1]->type, REDIS_REPLY_ERROR);
    assert_string_equal(r->element[1]->str, "ERR an error");
    assert_int_equal(r->element[2]->type, REDIS_REPLY_INTEGER);
    assert_true(r->element[2]->integer == INT64_MIN);
    assert_int_equal(r->element[3]->type, REDIS_REPLY_STRING);
    assert_int_equal(r->element[3]->len, 6);
    assert_memory_equal(r->element[3]->str, "\r\n\0ab\n", 6);
    assert_int_equal(r->element[4]->type, REDIS_REPLY_NIL);
    assert_int_equal(r->element[5]->type, REDIS_REPLY_NIL);
    in = r->element[6];
    assert_int_equal(in->elements, 4);
    assert_int_equal(in->element[0]->len, 0);
    assert_int_equal(in->element[1]->elements, 0);
    assert_int_equal(in->element[2]->integer, 0);
    in = in->element[3]->element[0]->element[0]->element[0];
    assert_true(in->integer == INT64_MAX);
}

TEST(a_reply_in_single_bytes_is_whole)
{
    struct world w;
    redisReply *r;

    world_open_on(&w, AF_INET, 1, play_answer_in_single_bytes, all_kinds, sizeof all_kinds - 1);
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    r = read_ok(&w);
    assert_all_kinds(r);
    freeReplyObject(r);
    assert_int_equal(usher__redis_conn_answered(w.c), 1);
    world_close(&w);
}

TEST(a_reply_cut_anywhere_is_unknown_and_the_next_connection_is_clean)
{
    struct world w;
    unsigned n = sizeof all_kinds - 1;
    redisReply *r;

    world_open_on(&w, AF_INET, n + 1, play_cut, all_kinds, n);
    for (unsigned cut = 0; cut < n; cut++) {
        connect_ok(&w);
        add_get(&w);
        flush_ok(&w);
        assert_read_fails(&w, in_ms(LONG), USHER_UNKNOWN, "closed by the server");
        assert_int_equal(usher__redis_conn_answered(w.c), 0);
        assert_int_equal(usher__redis_conn_unsent_from(w.c), 1);
    }
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    r = read_ok(&w);
    assert_all_kinds(r);
    freeReplyObject(r);
    world_close(&w);
}

struct bytes {
    const char *text;
    size_t size;
};
/* clang-format off */
#define BYTES(s) { s, sizeof s - 1 }
/* clang-format on */

static void play_bytes(struct peer *p, int fd)
{
    const struct bytes *b = (const struct bytes *)p->script + p->round;

    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_send(p, fd, b->text, b->size);
    peer_drain(p, fd);
}

TEST(a_reply_that_is_not_resp2_is_a_protocol_error)
{
    static const struct bytes bad[] = {
        BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"),
        BYTES("\0\0\0\0"),
        BYTES("\r\n"),
        BYTES("$99999999999\r\n"),
        BYTES("$9223372036854775807\r\n"),
        BYTES("$18446744073709551617\r\n"),
        BYTES("$67108865\r\n"),
        BYTES("$-2\r\n"),
        BYTES("$-0\r\n"),
        BYTES("$-\r\n"),
        BYTES("$\r\n"),
        BYTES("$+1\r\nx\r\n"),
        BYTES("$01\r\nx\r\n"),
        BYTES("$1 \r\nx\r\n"),
        BYTES("$1\nx\r\n"),
        BYTES("$1\r\nxy\r\n"),
        BYTES("$1\r\nx\rz"),
        BYTES("$1\r\nxy\n"),
        BYTES("$0\r\nx\r\n"),
        BYTES("*2147483647\r\n"),
        BYTES("*9999999999999999999999\r\n"),
        BYTES("*1048577\r\n"),
        BYTES("*2\r\n*1048575\r\n"), /* 1048577 in all */
        BYTES("*-2\r\n"),
        BYTES("*\r\n"),
        BYTES("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"),
        BYTES("*1\r\nx"),
        BYTES(":\r\n"),
        BYTES(":12a\r\n"),
        BYTES(":9223372036854775808\r\n"),
        BYTES(":123456789012345678901\r\n"),
        BYTES("+a\nb\r\n"),
        BYTES("+a\rb\r\n"),
        BYTES("-ERR a\nb\r\n"),
        BYTES("_\r\n"), /* RESP3, which was not requested */
        BYTES("#t\r\n"),
        BYTES(",1.5\r\n"),
        BYTES("(1234567\r\n"),
        BYTES("%1\r\n+a\r\n:1\r\n"),
        BYTES("~1\r\n:1\r\n"),
        BYTES(">1\r\n:1\r\n"),
        BYTES("=5\r\ntxt:a\r\n"),
        BYTES("!5\r\nERR a\r\n"),
    };
    size_t n = sizeof bad / sizeof *bad;
    struct world w;

    world_open_on(&w, AF_INET, (unsigned)n, play_bytes, bad, sizeof bad);
    for (size_t i = 0; i < n; i++) {
        connect_ok(&w);
        add_get(&w);
        flush_ok(&w);
        assert_read_fails(&w, in_ms(LONG), USHER_UNKNOWN, "protocol error");
    }
    world_close(&w);
}

TEST(an_endless_line_is_a_protocol_error)
{
    size_t n = USHER__REDIS_MAX_LINE + 2;
    char *line = malloc(n);
    struct bytes b = { line, n };
    struct world w;

    assert_non_null(line);
    memset(line, 'x', n);
    line[0] = '-';
    world_open_on(&w, AF_INET, 1, play_bytes, &b, sizeof b);
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    assert_read_fails(&w, in_ms(LONG), USHER_UNKNOWN, "protocol error");
    world_close(&w);
    free(line);
}

/* The first GET gets as many elements and levels as there may be, the second too many bytes:
 * each of its strings may be that long, but not all of them together. */
static void play_largest(struct peer *p, int fd)
{
    static const char half[] = "$33554432\r\n";
    size_t size = (size_t)33554432 + 2;
    char *text = malloc(size);
    char nils[5 * 1024];

    for (size_t i = 0; i < sizeof nils; i += 5)
        memcpy(nils + i, "$-1\r\n", 5);
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_say(p, fd, "*1\r\n*1\r\n*1\r\n*1\r\n*1048572\r\n");
    for (size_t i = 0; i < 1023; i++)
        peer_send(p, fd, nils, sizeof nils);
    peer_send(p, fd, nils, (1024 - 4) * 5);
    peer_expect(p, fd, GET);
    if (text == NULL) {
        peer_problem(p, "no memory");
        return;
    }
    memset(text, 'x', size);
    memcpy(text + size - 2, "\r\n", 2);
    peer_say(p, fd, "*2\r\n");
    peer_say(p, fd, half);
    peer_send(p, fd, text, size);
    peer_say(p, fd, half);
    /* The client hangs up on the last bytes. */
    for (size_t at = 0; at < size;) {
        ssize_t n = send(fd, text + at, size - at, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        at += (size_t)n;
    }
    free(text);
}

TEST(the_limits_of_a_reply_are_exact)
{
    struct world w;
    redisReply *r;

    world_open(&w, 1, play_largest, NULL);
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    r = read_ok(&w);
    assert_int_equal(r->element[0]->element[0]->element[0]->element[0]->elements, 1048572);
    freeReplyObject(r);
    add_get(&w);
    flush_ok(&w);
    assert_read_fails(&w, in_ms(LONG), USHER_UNKNOWN, "protocol error");
    world_close(&w);
}

#define NOISE_ROUNDS 200
#define NOISE_SIZE 96

/* The client waits for a short time only, and may have left. */
static void play_noise(struct peer *p, int fd)
{
    const struct bytes *b = (const struct bytes *)p->script + p->round;

    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    (void)send(fd, b->text, b->size, MSG_NOSIGNAL);
    peer_drain(p, fd);
}

/* Valid replies with a few bytes changed: whatever comes of it, it ends, and the reader
 * sees nothing that the scanner did not accept. */
TEST(random_noise_does_no_harm)
{
    static const char alphabet[] = "+-:$*0123456789\r\n\0x";
    static char noise[NOISE_ROUNDS][NOISE_SIZE];
    struct bytes b[NOISE_ROUNDS];
    struct world w;

    for (size_t i = 0; i < NOISE_ROUNDS; i++) {
        b[i] = (struct bytes){ noise[i], 1 + (size_t)rnd(NOISE_SIZE) };
        memcpy(noise[i], all_kinds, NOISE_SIZE);
        for (uint64_t k = 1 + rnd(4); k > 0; k--)
            noise[i][rnd(b[i].size)] = alphabet[rnd(sizeof alphabet - 1)];
    }
    world_open_on(&w, AF_INET, NOISE_ROUNDS, play_noise, b, sizeof b);
    for (size_t i = 0; i < NOISE_ROUNDS; i++) {
        redisReply *r = NULL;
        enum usher_status status;

        connect_ok(&w);
        add_get(&w);
        flush_ok(&w);
        status = usher__redis_conn_read(w.c, in_ms(5), &r);
        assert_true(status == (r != NULL ? USHER_OK : USHER_UNKNOWN));
        freeReplyObject(r);
        /* The peer waits for us to close. */
        usher__redis_conn_discard(w.c);
    }
    world_close(&w);
}

/* ---- deadlines ---- */

static void assert_took(int64_t begin, int64_t at_least)
{
    int64_t took = usher__redis_clock_ms() - begin;

    assert_true(took >= at_least);
    assert_true(took < LONG / 2); /* a slow machine is not a late deadline */
}

TEST(a_silent_server_is_left_at_the_deadline)
{
    struct world w;
    int64_t begin;

    world_open(&w, 1, play_greet_then_silence, NULL);
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    begin = usher__redis_clock_ms();
    assert_read_fails(&w, begin + SHORT, USHER_UNKNOWN, "no answer in time");
    assert_took(begin, SHORT);
    world_close(&w);
    assert_int_equal(w.peer.received, strlen(GET));
}

TEST(a_server_that_never_greets_is_left_at_the_deadline)
{
    struct world w;
    int64_t begin;

    world_open(&w, 1, play_silence, NULL);
    begin = usher__redis_clock_ms();
    assert_int_equal(usher__redis_conn_connect(w.c, begin + SHORT), USHER_UNAVAILABLE);
    assert_took(begin, SHORT);
    assert_message(&w, "no answer in time");
    assert_false(usher__redis_conn_is_connected(w.c));
    world_close(&w);
}

/* The server accepts no connection; at some time the kernel takes none, either. */
TEST(a_black_hole_is_left_at_the_deadline)
{
    struct world w;

    world_listen(&w, AF_INET, 0);
    for (int i = 0; i < 4; i++) {
        struct usher__redis_conn *c;
        int64_t begin = usher__redis_clock_ms();

        assert_int_equal(usher__redis_conn_open(&w.alloc, &w.opt, &c), USHER_OK);
        assert_int_equal(usher__redis_conn_connect(c, begin + SHORT), USHER_UNAVAILABLE);
        assert_took(begin, SHORT);
        assert_true(strstr(usher__redis_conn_message(c), "no answer in time") != NULL ||
                    strstr(usher__redis_conn_message(c), "timed out") != NULL);
        usher__redis_conn_close(c);
    }
    peer_unlisten(&w.peer);
    assert_int_equal(w.memory.bytes, 0);
}

TEST(dripping_bytes_do_not_move_the_deadline)
{
    struct world w;
    int64_t begin;

    world_open(&w, 1, play_drip, NULL);
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    begin = usher__redis_clock_ms();
    assert_read_fails(&w, begin + SHORT, USHER_UNKNOWN, "no answer in time");
    assert_took(begin, SHORT);
    world_close(&w);
}

static void play_three_answers(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET GET GET GET);
    peer_say(p, fd, ":1\r\n:2\r\n:3\r\n");
    peer_drain(p, fd);
}

TEST(a_reply_that_has_arrived_is_read_after_the_deadline)
{
    struct world w;
    redisReply *r;

    world_open(&w, 1, play_three_answers, NULL);
    connect_ok(&w);
    for (int i = 0; i < 4; i++)
        add_get(&w);
    flush_ok(&w);
    r = read_ok(&w);
    freeReplyObject(r);
    for (int i = 2; i <= 3; i++) {
        /* All three came in one write. */
        assert_int_equal(usher__redis_conn_read(w.c, 0, &r), USHER_OK);
        assert_int_equal(r->integer, i);
        freeReplyObject(r);
    }
    assert_read_fails(&w, 0, USHER_UNKNOWN, "no answer in time");
    assert_int_equal(usher__redis_conn_answered(w.c), 3);
    world_close(&w);
}

static void on_alarm(int sig)
{
    (void)sig;
}

TEST(signals_neither_shorten_nor_lengthen_a_wait)
{
    struct sigaction act = { .sa_handler = on_alarm }, before;
    struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
    struct world w;
    int64_t begin;

    world_open(&w, 1, play_greet_then_silence, NULL);
    assert_int_equal(sigaction(SIGALRM, &act, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    connect_ok(&w);
    add_get(&w);
    flush_ok(&w);
    begin = usher__redis_clock_ms();
    assert_read_fails(&w, begin + SHORT, USHER_UNKNOWN, "no answer in time");
    assert_took(begin, SHORT);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    /* One may be on its way to a thread that has not run since: ignoring it takes it away, and the
     * default action would end the program. */
    act.sa_handler = SIG_IGN;
    assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    world_close(&w);
}

/* ---- sending ---- */

#define MANY 10000
#define BIG 4000 /* bytes of a reply */

/* Takes no request before the answer to the last one is out. */
static void play_many(struct peer *p, int fd)
{
    static const char request[] = "*2\r\n$4\r\nECHO\r\n$1000\r\n";
    static char reply[BIG + 16];
    char buf[sizeof request - 1 + 1002];
    int n = snprintf(reply, sizeof reply, "$%d\r\n", BIG);

    memset(reply + n, 'y', BIG);
    memcpy(reply + n + BIG, "\r\n", 2);
    peer_greet(p, fd);
    for (int i = 0; i < MANY + 1 && p->problem[0] == '\0'; i++) {
        if (recv(fd, buf, sizeof buf, MSG_WAITALL) != (ssize_t)sizeof buf ||
            memcmp(buf, request, sizeof request - 1) != 0)
            peer_problem(p, "not the request that should come");
        peer_send(p, fd, reply, (size_t)n + BIG + 2);
    }
    peer_drain(p, fd);
}

static void add_echo(struct world *w, size_t size, char fill)
{
    static char text[4096];

    memset(text, fill, size);
    usher__redis_conn_begin(w->c, 2);
    usher__redis_conn_arg_str(w->c, "ECHO");
    usher__redis_conn_arg(w->c, text, size);
}

TEST(a_long_pipeline_with_big_replies_does_not_lock_up)
{
    struct world w;

    world_open(&w, 1, play_many, NULL);
    connect_ok(&w);
    for (int i = 0; i < MANY; i++)
        add_echo(&w, 1000, 'x');
    flush_ok(&w);
    assert_int_equal(usher__redis_conn_requests(w.c), MANY);
    /* Otherwise this test would show nothing. */
    assert_true(usher__redis_conn_unsent_from(w.c) < MANY);
    flush_ok(&w); /* once more does no harm */
    for (int i = 0; i < MANY; i++) {
        redisReply *r = read_ok(&w);

        assert_int_equal(r->len, BIG);
        freeReplyObject(r);
    }
    assert_int_equal(usher__redis_conn_unsent_from(w.c), MANY);
    assert_read_fails(&w, in_ms(LONG), USHER_INVALID, "no reply is outstanding");
    assert_true(w.memory.bytes > (size_t)10 << 20);
    add_echo(&w, 1000, 'x');
    assert_true(w.memory.bytes < (size_t)1 << 20); /* the long batch is not kept */
    flush_ok(&w);
    freeReplyObject(read_ok(&w));
    world_close(&w);
}

static void play_read_after_the_client_left(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_say(p, fd, "$1\r\nv\r\n");
    /* A FIN after a full window would not arrive. */
    peer_wait(p);
    p->received = peer_drain(p, fd);
}

/* The server receives everything that was handed to the kernel (there it does not have to go over a
 * network): exactly the requests before unsent_from, the last one perhaps in part. */
TEST(unsent_requests_are_counted_exactly)
{
    size_t request = strlen("*2\r\n$4\r\nECHO\r\n$4000\r\n") + 4000 + 2;
    struct world w;
    size_t unsent;

    world_open_on(&w, AF_UNIX, 1, play_read_after_the_client_left, NULL, 0);
    connect_ok(&w);
    add_get(&w);
    for (int i = 0; i < MANY / 4; i++)
        add_echo(&w, 4000, 'x');
    flush_ok(&w);
    read_text(&w, REDIS_REPLY_STRING, "v");
    assert_read_fails(&w, in_ms(SHORT), USHER_UNKNOWN, "no answer in time");
    assert_int_equal(usher__redis_conn_answered(w.c), 1);
    unsent = usher__redis_conn_unsent_from(w.c);
    assert_true(unsent > 1 && unsent < usher__redis_conn_requests(w.c));
    assert_int_equal(usher__redis_conn_requests(w.c), 1 + MANY / 4);
    peer_go(&w.peer);
    world_close(&w);
    assert_int_equal(1 + (w.peer.received + request - 1) / request, unsent);
}

/* The first connection measures how much the kernel takes; the second answers without having
 * read, and goes. */
static void play_full_socket(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_wait(p);
    if (p->round == 0)
        p->received = peer_drain(p, fd);
    else
        peer_say(p, fd, "+OK\r\n");
}

TEST(request_after_a_full_socket_is_unavailable)
{
    size_t header = strlen("*2\r\n$4\r\nECHO\r\n$123456\r\n") + 2;
    size_t size = (size_t)8 << 20;
    char *text = calloc(1, size);
    struct world w;

    assert_non_null(text);
    world_open_on(&w, AF_UNIX, 2, play_full_socket, NULL, 0);
    connect_ok(&w);
    usher__redis_conn_begin(w.c, 2);
    usher__redis_conn_arg_str(w.c, "ECHO");
    usher__redis_conn_arg(w.c, text, size);
    flush_ok(&w);
    usher__redis_conn_discard(w.c);
    peer_go(&w.peer);
    connect_ok(&w); /* greeted when the first connection is over */
    size = w.peer.received;
    assert_true(size > 100000 + header && size < 1000000);
    usher__redis_conn_begin(w.c, 2);
    usher__redis_conn_arg_str(w.c, "ECHO");
    usher__redis_conn_arg(w.c, text, size - header);
    add_get(&w);
    flush_ok(&w);
    assert_int_equal(usher__redis_conn_unsent_from(w.c), 1);
    peer_go(&w.peer);
    read_text(&w, REDIS_REPLY_STATUS, "OK");
    assert_read_fails(&w, in_ms(LONG), USHER_UNAVAILABLE, "the server");
    assert_int_equal(usher__redis_conn_answered(w.c), 1);
    assert_int_equal(usher__redis_conn_unsent_from(w.c), 1);
    world_close(&w);
    free(text);
}

static void play_answer_first_and_go(struct peer *p, int fd)
{
    peer_greet(p, fd);
    peer_expect(p, fd, GET);
    peer_say(p, fd, "$1\r\nv\r\n");
}

TEST(server_that_ends_during_a_send_raises_no_signal)
{
    struct world w;
    int families[] = { AF_INET, AF_UNIX };

    for (int f = 0; f < 2; f++) {
        size_t unsent;

        world_open_on(&w, families[f], 1, play_answer_first_and_go, NULL, 0);
        connect_ok(&w);
        add_get(&w);
        for (int i = 0; i < MANY / 4; i++)
            add_echo(&w, 4000, 'x');
        flush_ok(&w);
        assert_int_equal(pthread_join(w.peer.thread, NULL), 0);
        /* The peer has hung up without reading; sending on is an EPIPE. */
        if (families[f] == AF_UNIX) {
            read_text(&w, REDIS_REPLY_STRING, "v");
        } else {
            /* With TCP the reset may overtake the answer: then that one is unknown, too. */
            redisReply *r = NULL;

            if (usher__redis_conn_read(w.c, in_ms(LONG), &r) == USHER_OK)
                freeReplyObject(r);
        }
        while (usher__redis_conn_is_connected(w.c)) {
            redisReply *r = NULL;

            assert_int_equal(usher__redis_conn_read(w.c, in_ms(LONG), &r), USHER_UNKNOWN);
        }
        unsent = usher__redis_conn_unsent_from(w.c);
        assert_true(unsent > 0 && unsent < usher__redis_conn_requests(w.c));
        usher__redis_conn_close(w.c);
        peer_unlisten(&w.peer);
        assert_string_equal(w.peer.problem, "");
        assert_int_equal(w.memory.bytes, 0);
    }
}

TEST(closed_connection_gets_no_request)
{
    struct usher__redis_conn *second;
    struct world w;

    world_open(&w, 2, play_greet_then_hang_up, NULL);
    connect_ok(&w);
    /* The peer greets a second client when its FIN has arrived at the first. */
    assert_int_equal(usher__redis_conn_open(&w.alloc, &w.opt, &second), USHER_OK);
    assert_int_equal(usher__redis_conn_connect(second, in_ms(LONG)), USHER_OK);
    add_get(&w);
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_UNAVAILABLE);
    assert_message(&w, "closed by the server");
    assert_int_equal(usher__redis_conn_unsent_from(w.c), 0);
    assert_int_equal(usher__redis_conn_requests(w.c), 1);
    assert_false(usher__redis_conn_is_connected(w.c));
    usher__redis_conn_close(w.c);
    w.c = second;
    add_get(&w);
    flush_ok(&w);
    read_text(&w, REDIS_REPLY_STRING, "v");
    world_close(&w);
}

TEST(error_before_a_hangup_is_reported_and_nothing_sent)
{
    static const struct {
        const char *words, *message;
    } cases[] = {
        { "-ERR max number of clients reached\r\n", "ERR max number of clients reached" },
        { ":1\r\n", "a reply without a request" },
        { "$100\r\nhalf of", "a reply without a request" },
        { "garbage", "protocol error" },
    };

    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct world w;

        world_open(&w, 1,
                   i % 2 == 0 ? play_greet_and_wait_and_script : play_greet_and_script_in_one_write,
                   cases[i / 2].words);
        connect_ok(&w);
        peer_go(&w.peer);
        assert_int_equal(pthread_join(w.peer.thread, NULL), 0); /* it has sent */
        add_get(&w);
        assert_int_equal(usher__redis_conn_flush(w.c), USHER_UNAVAILABLE);
        assert_message(&w, cases[i / 2].message);
        assert_int_equal(usher__redis_conn_unsent_from(w.c), 0);
        usher__redis_conn_close(w.c);
        peer_unlisten(&w.peer);
        assert_string_equal(w.peer.problem, "");
    }
}

/* The server does not like the header of a request and says so in the middle of it. */
static void play_refuse_half_a_request(struct peer *p, int fd)
{
    char buf[100];

    peer_greet(p, fd);
    if (recv(fd, buf, sizeof buf, MSG_WAITALL) != (ssize_t)sizeof buf)
        peer_problem(p, "no request");
    peer_say(p, fd, "-ERR Protocol error: invalid bulk length\r\n");
    peer_wait(p);
}

TEST(an_answer_before_the_end_of_a_request_ends_the_connection)
{
    size_t size = (size_t)32 << 20; /* more than the kernel takes */
    char *text = calloc(1, size);
    struct world w;

    assert_non_null(text);
    world_open(&w, 1, play_refuse_half_a_request, NULL);
    connect_ok(&w);
    usher__redis_conn_begin(w.c, 2);
    usher__redis_conn_arg_str(w.c, "ECHO");
    usher__redis_conn_arg(w.c, text, size);
    flush_ok(&w);
    assert_read_fails(&w, in_ms(LONG), USHER_UNKNOWN, "invalid bulk length");
    assert_int_equal(usher__redis_conn_unsent_from(w.c), 1);
    peer_go(&w.peer);
    world_close(&w);
    free(text);
}

/* ---- requests ---- */

static void play_exact_bytes(struct peer *p, int fd)
{
    static const char expected[] = "*6\r\n$3\r\nSET\r\n$4\r\n\0\r\n\xff\r\n$0\r\n\r\n"
                                   "$20\r\n-9223372036854775808\r\n"
                                   "$19\r\n9223372036854775807\r\n$1\r\n0\r\n";
    char buf[sizeof expected - 1];

    peer_greet(p, fd);
    if (recv(fd, buf, sizeof buf, MSG_WAITALL) != (ssize_t)sizeof buf ||
        memcmp(buf, expected, sizeof buf) != 0)
        peer_problem(p, "not the bytes that should come");
    peer_say(p, fd, "+OK\r\n");
}

TEST(arguments_are_any_bytes_and_integers)
{
    struct world w;

    world_open(&w, 1, play_exact_bytes, NULL);
    connect_ok(&w);
    usher__redis_conn_begin(w.c, 6);
    usher__redis_conn_arg_str(w.c, "SET");
    usher__redis_conn_arg(w.c, "\0\r\n\xff", 4);
    usher__redis_conn_arg(w.c, NULL, 0);
    usher__redis_conn_arg_i64(w.c, INT64_MIN);
    usher__redis_conn_arg_i64(w.c, INT64_MAX);
    usher__redis_conn_arg_i64(w.c, 0);
    flush_ok(&w);
    read_text(&w, REDIS_REPLY_STATUS, "OK");
    world_close(&w);
}

TEST(wrong_use_is_invalid_and_sends_nothing)
{
    struct world w;
    redisReply *r;

    world_open(&w, 1, play_answer, "$1\r\nv\r\n");

    add_get(&w);
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_UNAVAILABLE);
    assert_message(&w, "not connected");
    assert_int_equal(usher__redis_conn_unsent_from(w.c), 0);

    connect_ok(&w);
    flush_ok(&w); /* nothing */
    assert_read_fails(&w, in_ms(LONG), USHER_INVALID, "no reply is outstanding");

    usher__redis_conn_begin(w.c, 3);
    usher__redis_conn_arg_str(w.c, "too");
    usher__redis_conn_arg_str(w.c, "few");
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_INVALID);
    flush_ok(&w);

    usher__redis_conn_begin(w.c, 1);
    usher__redis_conn_arg_str(w.c, "too");
    usher__redis_conn_arg_str(w.c, "many");
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_INVALID);

    usher__redis_conn_begin(w.c, 2);
    usher__redis_conn_begin(w.c, 1);
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_INVALID);

    usher__redis_conn_begin(w.c, 0);
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_INVALID);

    usher__redis_conn_arg_str(w.c, "no beginning");
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_INVALID);

    add_get(&w);
    flush_ok(&w);
    add_get(&w); /* replies are outstanding */
    assert_int_equal(usher__redis_conn_requests(w.c), 1);
    assert_int_equal(usher__redis_conn_flush(w.c), USHER_INVALID);
    assert_message(&w, "outstanding");
    r = read_ok(&w);
    assert_string_equal(r->str, "v");
    freeReplyObject(r);
    /* The peer closes after the one GET; an error means that it got more. */
    world_close(&w);
}

static void play_two_gets(struct peer *p, int fd)
{
    peer_greet(p, fd);
    for (int i = 0; i < 2; i++) {
        peer_expect(p, fd, GET);
        peer_say(p, fd, "$1\r\nv\r\n");
    }
    if (peer_drain(p, fd) != 0)
        peer_problem(p, "more than two requests");
}

/* A failed allocation is reported by flush, nothing is sent, and the connection continues. */
TEST(each_failing_allocation_sends_nothing)
{
    bool fired = true;
    size_t failures = 0;

    for (size_t fail = 1; fired; fail++) {
        struct world w;
        enum usher_status status;

        fired = false;
        world_listen(&w, AF_INET, 64);
        w.memory.fail_at = fail;
        status = usher__redis_conn_open(&w.alloc, &w.opt, &w.c);
        if (status != USHER_OK) {
            assert_int_equal(status, USHER_NOMEM);
            fired = true;
            world_client(&w);
        }
        peer_start(&w.peer, 1, play_two_gets);
        status = usher__redis_conn_connect(w.c, in_ms(LONG));
        if (status != USHER_OK) {
            assert_int_equal(status, USHER_NOMEM);
            assert_message(&w, "out of memory");
            fired = true;
            /* The peer has accepted that one: let it have another. */
            usher__redis_conn_close(w.c);
            assert_int_equal(pthread_join(w.peer.thread, NULL), 0);
            world_client(&w);
            peer_start(&w.peer, 1, play_two_gets);
            connect_ok(&w);
        }
        add_get(&w);
        flush_ok(&w);
        read_text(&w, REDIS_REPLY_STRING, "v");
        for (int i = 0; i < 200; i++)
            add_echo(&w, 100, 'z');
        usher__redis_conn_begin(w.c, 100); /* not whole, so never sent */
        status = usher__redis_conn_flush(w.c);
        if (status == USHER_NOMEM)
            fired = true;
        else
            assert_int_equal(status, USHER_INVALID);
        assert_true(usher__redis_conn_is_connected(w.c));
        assert_int_equal(usher__redis_conn_unsent_from(w.c), 0);
        add_get(&w);
        flush_ok(&w);
        read_text(&w, REDIS_REPLY_STRING, "v");
        world_close(&w);
        failures += fired;
    }
    assert_true(failures >= 6);
}

/* ---- connecting ---- */

TEST(a_refused_connection_is_unavailable)
{
    struct world w;
    char expected[80];

    world_listen(&w, AF_INET, -1); /* the port is taken, but no server listens */
    world_client(&w);
    assert_int_equal(usher__redis_conn_connect(w.c, in_ms(LONG)), USHER_UNAVAILABLE);
    snprintf(expected, sizeof expected, "redis 127.0.0.1:%u: cannot connect: connection refused",
             w.opt.port);
    assert_message(&w, expected);
    usher__redis_conn_close(w.c);
    peer_unlisten(&w.peer);
    assert_int_equal(w.memory.bytes, 0);
}

TEST(options_out_of_range_are_invalid)
{
    char path[200];
    struct usher__redis_conn_options good = { .host = "127.0.0.1", .port = 1 }, o;
    struct memory memory = { 0 };
    struct usher_allocator alloc = { memory_resize, &memory };
    struct usher__redis_conn *c = NULL;

    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
#define INVALID(change)                                                          \
    do {                                                                         \
        o = good;                                                                \
        change;                                                                  \
        assert_int_equal(usher__redis_conn_open(&alloc, &o, &c), USHER_INVALID); \
        assert_null(c);                                                          \
    } while (0)
    INVALID(o.host = NULL);
    INVALID(o.host = "");
    INVALID(o.port = 0);
    INVALID(o.unix_path = "");
    INVALID(o.unix_path = path);
    INVALID(o.db = -1);
    INVALID(o.user = "ann");
#undef INVALID
    usher__redis_conn_close(NULL);
    assert_int_equal(memory.calls, 0);
}

TEST(a_host_without_address_is_unavailable)
{
    struct world w;

    world_listen(&w, AF_INET, -1);
    w.opt.host = "\x1b[31mnot an\naddress\xc3\xa4";
    world_client(&w);
    assert_int_equal(usher__redis_conn_connect(w.c, in_ms(LONG)), USHER_UNAVAILABLE);
    assert_message(&w, "redis ?[31mnot an address??:");
    assert_message(&w, "cannot connect: ");
    usher__redis_conn_close(w.c);
    peer_unlisten(&w.peer);
}

TEST(the_socket_is_not_inherited_and_does_not_delay)
{
    struct world w;
    int found = 0;

    world_open(&w, 1, play_greet_then_silence, NULL);
    connect_ok(&w);
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in to = { 0 };
        socklen_t n = sizeof to;
        int value = 0;

        if (getpeername(fd, (struct sockaddr *)&to, &n) != 0 || n != sizeof to ||
            to.sin_family != AF_INET || ntohs(to.sin_port) != w.opt.port)
            continue;
        found++;
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
        n = sizeof value;
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &n), 0);
        assert_int_not_equal(value, 0);
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &n), 0);
        assert_int_not_equal(value, 0);
    }
    assert_int_equal(found, 1);
    world_close(&w);
}

TEST(ipv6_and_socket_files_work)
{
    struct world w;
    int families[] = { AF_INET6, AF_UNIX };

    for (int f = 0; f < 2; f++) {
        world_listen(&w, families[f], 64);
        if (w.peer.listener < 0) {
            print_message("no IPv6 on this machine\n");
            continue;
        }
        w.peer.script = "$1\r\nv\r\n";
        w.peer.script_size = 7;
        world_client(&w);
        peer_start(&w.peer, 1, play_answer);
        connect_ok(&w);
        add_get(&w);
        flush_ok(&w);
        read_text(&w, REDIS_REPLY_STRING, "v");
        assert_read_fails(&w, in_ms(LONG), USHER_INVALID,
                          families[f] == AF_UNIX ? w.opt.unix_path : "redis [::1]:");
        world_close(&w);
    }
}

TEST(a_missing_socket_file_is_unavailable)
{
    struct world w;

    world_listen(&w, AF_INET, -1);
    w.opt.unix_path = "/tmp/usher-no-such-socket";
    world_client(&w);
    assert_int_equal(usher__redis_conn_connect(w.c, in_ms(LONG)), USHER_UNAVAILABLE);
    assert_message(&w, "redis /tmp/usher-no-such-socket: cannot connect: no such socket file");
    usher__redis_conn_close(w.c);
    peer_unlisten(&w.peer);
}

TEST(a_full_queue_of_a_socket_file_is_waited_for)
{
    struct world w;
    int queued[8], n = 0;
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int64_t begin;

    world_listen(&w, AF_UNIX, 0);
    memcpy(to.sun_path, w.opt.unix_path, strlen(w.opt.unix_path) + 1);
    for (;;) {
        assert_true(n < 8);
        queued[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(queued[n] >= 0);
        if (connect(queued[n++], (struct sockaddr *)&to, sizeof to) != 0)
            break;
    }
    assert_int_equal(errno, EAGAIN);
    world_client(&w);
    begin = usher__redis_clock_ms();
    assert_int_equal(usher__redis_conn_connect(w.c, begin + SHORT), USHER_UNAVAILABLE);
    assert_message(&w, "timed out");
    assert_took(begin, SHORT);
    for (int i = 0; i < n; i++)
        close(queued[i]); /* those in the queue are accepted all the same */
    peer_start(&w.peer, (unsigned)n, play_silence); /* n - 1 of them, then us */
    assert_int_equal(usher__redis_conn_connect(w.c, in_ms(SHORT)), USHER_UNAVAILABLE);
    assert_message(&w, "no answer in time");
    world_close(&w);
}

TEST(no_descriptor_left_is_unavailable)
{
    struct world w;
    struct rlimit before, none;

    world_open(&w, 1, play_greet_then_silence, NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(usher__redis_conn_connect(w.c, in_ms(LONG)), USHER_UNAVAILABLE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_message(&w, "too many open files");
    connect_ok(&w);
    world_close(&w);
}

/* ---- handshake ---- */

#define HELLO                                                                             \
    "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\ns3cret\r\n*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n" \
    "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$5\r\nusher\r\n" PING

/* Answers with one script line (up to NUL) for each round on one connection. */
static void play_hello(struct peer *p, int fd)
{
    for (const char *s = p->script; *s != '\0'; s += strlen(s) + 1) {
        peer_expect(p, fd, HELLO); /* all of it, before any answer */
        peer_say(p, fd, s);
    }
    peer_drain(p, fd);
}

/* Says it when the first byte is there, and reads nothing. */
static void play_refusal(struct peer *p, int fd)
{
    char first;

    (void)recv(fd, &first, 1, MSG_PEEK);
    peer_say(p, fd, p->script);
}

static enum usher_status hello(struct world *w, const char *answers, int64_t ms)
{
    world_listen(w, AF_INET, 64);
    w->opt.user = "ann";
    w->opt.password = "s3cret";
    w->opt.db = 12;
    w->opt.client_name = "usher";
    w->peer.script = answers;
    world_client(w);
    peer_start(&w->peer, 1, play_hello);
    return usher__redis_conn_connect(w->c, in_ms(ms));
}

TEST(the_handshake_is_one_write)
{
    static const char *const good[] = {
        "+OK\r\n+OK\r\n+OK\r\n+PONG\r\n\0",
        "+OK\r\n+OK\r\n-ERR Client names cannot contain spaces\r\n+PONG\r\n\0",
        "+OK\r\n+OK\r\n-NOPERM no\r\n-NOPERM this user has no permissions\r\n\0",
        "+OK\r\n+OK\r\n+OK\r\n-MASTERDOWN Link with MASTER is down\r\n\0",
        "+OK\r\n+OK\r\n+OK\r\n-MISCONF Redis is configured to save\r\n\0",
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct world w;

        assert_int_equal(hello(&w, good[i], LONG), USHER_OK);
        assert_string_equal(usher__redis_conn_message(w.c), "");
        world_close(&w);
    }
}

TEST(refused_handshake_is_reported_without_password)
{
    static const struct {
        const char *answers, *part, *absent;
    } bad[] = {
        { "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
          "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n"
          "-NOAUTH Authentication required.\r\n\0",
          ": WRONGPASS invalid username-password pair or user is disabled.", "NOAUTH" },
        { "-WRONGPASS and the connection is closed\r\n\0", ": WRONGPASS and the", "closed by" },
        { "-ERR unknown command 'AUTH', with args beginning with: 'ann' 's3cr\r\n"
          "+OK\r\n+OK\r\n+PONG\r\n\0",
          ": ERR unknown command", "s3c" },
        { "-ERR unknown command `AUTH`, with args beginning with: `ann`, `s3c\r\n"
          "+OK\r\n+OK\r\n+PONG\r\n\0",
          ": ERR unknown command", "s3c" },
        { "-ERR you said s3cret\r\n+OK\r\n+OK\r\n+PONG\r\n\0", "repeats the password", "s3cret" },
        { "+OK\r\n-ERR do you mean s3cret\r\n+OK\r\n+PONG\r\n\0", "repeats the password",
          "s3cret" },
        { "+OK\r\n-ERR DB index is out of range\r\n+OK\r\n+PONG\r\n\0",
          ": ERR DB index is out of range", "s3cret" },
        { "+OK\r\n+OK\r\n+OK\r\n-NOAUTH Authentication required.\r\n\0", ": NOAUTH", "s3cret" },
        { "-ERR \x1b[2J\x07\x7f\xc2\x9b\tend\r\n+OK\r\n+OK\r\n+PONG\r\n\0", ": ERR ?[2J???? end",
          "s3cret" },
        { "+OK\r\n:1\r\n+OK\r\n+PONG\r\n\0", "a reply of the wrong type", "s3cret" },
        { "+OK\r\n+OK\r\n+OK\r\n$4\r\nPONG\r\n\0", "a reply of the wrong type", "s3cret" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct world w;

        /* The second case stops after one answer; the client leaves by its deadline. */
        assert_int_equal(hello(&w, bad[i].answers, i == 1 ? SHORT : LONG), USHER_UNAVAILABLE);
        assert_message(&w, "redis 127.0.0.1:");
        assert_message(&w, bad[i].part);
        assert_null(strstr(usher__redis_conn_message(w.c), bad[i].absent));
        assert_false(usher__redis_conn_is_connected(w.c));
        world_close(&w);
    }
}

TEST(words_that_repeat_the_password_are_withheld)
{
    static const struct {
        const char *password, *words;
        bool shown;
    } rows[] = {
        { "s3cret", "ERR not s3cret", false },
        { "s3cret", "ERR not s3cre", true },
        { "secre\xc3\xa4\x01", "ERR not secre\xc3\xa4\x01", false },
        { "secre??", "ERR not secre\xc3\xa4", false }, /* only as it would be shown */
        { "the", "NOPERM the user lacks the right to HSET", true },
        { "s", "NOPERM the user lacks the right to HSET", true },
        { "", "ERR no", true },
        { NULL, "ERR no", true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;
        struct redisReply r;
        char words[50];

        memset(&r, 0, sizeof r);
        r.type = REDIS_REPLY_ERROR;
        r.str = words;
        r.len = (size_t)snprintf(words, sizeof words, "%s", rows[i].words);
        world_listen(&w, AF_INET, -1);
        w.opt.password = rows[i].password;
        world_client(&w);
        assert_ptr_equal(usher__redis_conn_explain(w.c, &r), usher__redis_conn_message(w.c));
        assert_message(&w, rows[i].shown ? rows[i].words : "repeats the password");
        if (!rows[i].shown)
            assert_null(strstr(usher__redis_conn_message(w.c), "ERR"));
        usher__redis_conn_close(w.c);
        peer_unlisten(&w.peer);
    }
}

/* Servers repeat arguments; a short password is withheld if it is one. */
TEST(arguments_in_server_errors_are_left_out)
{
    static const struct {
        const char *password, *words, *shown;
    } rows[] = {
        { NULL, "ERR unknown command 'SCRIPT', with args beginning with: 'LOAD' '-- SPDX' ",
          ": ERR unknown command 'SCRIPT'" },
        { "s3cret", "ERR unknown command 'AUTH', with args beginning with: 's3cret' ",
          ": ERR unknown command 'AUTH'" },
        { "the", "ERR the 'the' \"the\" `the` 'the\" 'them' is wrong",
          ": ERR the '***' \"***\" `***` 'the\" 'them' is wrong" },
        { "s", "ERR 's", ": ERR 's" },
        { "s", "ERR 's'", ": ERR '***'" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;
        struct redisReply r;
        char words[100];
        const char *message;

        memset(&r, 0, sizeof r);
        r.type = REDIS_REPLY_ERROR;
        r.str = words;
        r.len = (size_t)snprintf(words, sizeof words, "%s", rows[i].words);
        world_listen(&w, AF_INET, -1);
        w.opt.password = rows[i].password;
        world_client(&w);
        message = usher__redis_conn_explain(w.c, &r);
        assert_true(strlen(message) > strlen(rows[i].shown));
        assert_string_equal(message + strlen(message) - strlen(rows[i].shown), rows[i].shown);
        usher__redis_conn_close(w.c);
        peer_unlisten(&w.peer);
    }
}

/* A server that takes no more clients says so, and hangs up. */
TEST(refusal_of_a_connection_is_reported)
{
    static const char *const rows[] = { "-ERR max number of clients reached\r\n\0",
                                        "-DENIED Redis is running in protected mode\r\n\0" };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;

        world_listen(&w, AF_INET, 64);
        w.opt.client_name = "usher";
        w.peer.script = rows[i];
        world_client(&w);
        peer_start(&w.peer, 1, play_refusal);
        assert_int_equal(usher__redis_conn_connect(w.c, in_ms(LONG)), USHER_UNAVAILABLE);
        assert_message(&w, i == 0 ? ": ERR max number of clients reached" : ": DENIED Redis is");
        world_close(&w);
    }
}

TEST(hangup_of_a_server_is_reported_with_a_tls_hint)
{
    struct world w;

    world_listen(&w, AF_INET, 64);
    w.opt.client_name = "usher";
    w.peer.script = "";
    world_client(&w);
    peer_start(&w.peer, 1, play_refusal);
    assert_int_equal(usher__redis_conn_connect(w.c, in_ms(LONG)), USHER_UNAVAILABLE);
    assert_message(&w, "if it speaks TLS, use `rediss:`");
    world_close(&w);
}

TEST(a_sentinel_has_no_databases)
{
    struct world w;

    assert_int_equal(hello(&w,
                           "+OK\r\n-ERR unknown command 'SELECT', with args beginning with: '12' "
                           "\r\n+OK\r\n+PONG\r\n\0",
                           LONG),
                     USHER_UNAVAILABLE);
    assert_message(&w, "if it is a Sentinel, use redis+sentinel:");
    world_close(&w);
}

TEST(a_long_error_is_cut)
{
    static char answers[5000], ws[4000];
    struct world w;

    memset(ws, 'w', sizeof ws - 1);
    snprintf(answers, sizeof answers, "-ERR %s\r\n+OK\r\n+OK\r\n+PONG\r\n", ws);
    assert_int_equal(hello(&w, answers, LONG), USHER_UNAVAILABLE);
    assert_message(&w, ": ERR wwwww");
    assert_int_equal(strlen(usher__redis_conn_message(w.c)), USHER__REDIS_MESSAGE_SIZE - 1);
    world_close(&w);
}

TEST(a_loading_server_is_asked_again)
{
    static const char loading[] = "+OK\r\n+OK\r\n+OK\r\n-LOADING Redis is loading\r\n\0"
                                  "+OK\r\n+OK\r\n+OK\r\n-BUSY Redis is busy\r\n\0"
                                  "+OK\r\n+OK\r\n+OK\r\n-LOADING Redis is loading\r\n\0"
                                  "+OK\r\n+OK\r\n+OK\r\n+PONG\r\n\0";
    struct world w;

    assert_int_equal(hello(&w, loading, LONG), USHER_OK);
    world_close(&w);
}

static void play_loading(struct peer *p, int fd)
{
    char buf[sizeof PING];

    for (;;) {
        ssize_t n = recv(fd, buf, sizeof PING - 1, MSG_WAITALL);

        if (n == 0)
            return;
        if (n != sizeof PING - 1 || memcmp(buf, PING, sizeof PING - 1) != 0) {
            peer_problem(p, "not a PING");
            return;
        }
        p->received++;
        peer_say(p, fd, "-LOADING Redis is loading the dataset in memory\r\n");
    }
}

TEST(a_server_that_loads_for_ever_is_left_at_the_deadline)
{
    struct world w;
    int64_t begin = usher__redis_clock_ms();

    world_open(&w, 1, play_loading, NULL);
    assert_int_equal(usher__redis_conn_connect(w.c, begin + 5 * SHORT), USHER_UNAVAILABLE);
    assert_took(begin, 5 * SHORT);
    assert_message(&w, "LOADING Redis is loading the dataset in memory");
    world_close(&w);
    /* With back-off, not in a loop. */
    assert_true(w.peer.received >= 2 && w.peer.received < 10);
}

static int program_begin(void)
{
    /* A SIGPIPE must be able to kill us. */
    signal(SIGPIPE, SIG_DFL);
    return seed_set();
}

TEST_PROGRAM(program_begin, NULL);
