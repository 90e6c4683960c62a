/* SPDX-License-Identifier: MIT */
/*
 * P19: `usher serve` with 50 clients on a socket file, by one thread of ours that polls.  New
 * holds: each client has one call under way, of an owner that has none.  Pipelined: 64 commands
 * each. Beside them, in the same rounds, the same clients with PING: what sockets alone cost; and
 * for SQLite 50 calls in a transaction of raw statements.
 *
 * The program is $USHER, else ./usher.
 */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef USHER_WITH_SQLITE
#include "floor_sqlite.h"
#endif

#define CLIENTS 50u
#define DEEP 64u /* commands under way of each, pipelined */
#define MARK_MAX 32
#define COMMAND_MAX 128
#define OWNER_DIGITS 8

#define OK "$6\r\nstatus\r\n$2\r\nok\r\n"
#define CALL "*5\r\n$6\r\nNUMBER\r\n$4\r\nCALL\r\n$4\r\ndesk\r\n$5\r\nowner\r\n$8\r\n@@@@@@@@\r\n"
#define PING "*1\r\n$4\r\nPING\r\n"
#define NEXT "*3\r\n$2\r\nID\r\n$4\r\nNEXT\r\n$6\r\norders\r\n"
#define SHOW "*4\r\n$6\r\nNUMBER\r\n$4\r\nSHOW\r\n$4\r\ndesk\r\n$8\r\n00000100\r\n"

extern char **environ;

struct peer {
    int fd;
    unsigned under_way;
    char tail[MARK_MAX]; /* of what was read, shorter than a mark */
    size_t tail_size;
};

struct served {
    pid_t pid;
    char path[256], store[256]; /* the socket; the file of the store, "": none */
    struct peer peer[CLIENTS];
    uint64_t owner; /* the last one */
    uint64_t numbers;
};

/* The work of the clients. */
struct work {
    struct served *served;
    const char *command; /* with OWNER_DIGITS @ for the owner, or as it is */
    const char *mark;    /* each answer has it once */
    unsigned deep;
    bool holds;                       /* numbers are given back in the end */
    double by_time[BENCH_ROUNDS_MAX]; /* answers by a second of the server's processor time */
    unsigned rounds;
};

/* ---- the server --------------------------------------------------------------------------- */

static int try_connect(const char *path)
{
    struct sockaddr_un a;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memset(&a, 0, sizeof a);
    a.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof a.sun_path)
        bench_die("%s is too long for a socket", path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static bool start(struct served *s, const char *store)
{
    const char *usher = getenv("USHER"), *argv[6];
    char listen[300];
    posix_spawn_file_actions_t actions;
    int error;

    memset(s, 0, sizeof *s);
    (void)snprintf(listen, sizeof listen, "--listen=unix:%s", bench_path(s->path, "serve.sock"));
    usher = usher != NULL && *usher != '\0' ? usher : "./usher";
    argv[0] = usher, argv[1] = "-s", argv[2] = store, argv[3] = "serve", argv[4] = listen;
    argv[5] = NULL;
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0) != 0)
        bench_die("out of memory");
    error = posix_spawnp(&s->pid, usher, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return false;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct timespec pause = { 0, 10000000 };

        for (unsigned tries = 0; (s->peer[i].fd = try_connect(s->path)) < 0 && tries < 500; tries++)
            (void)nanosleep(&pause, NULL);
        if (s->peer[i].fd < 0)
            bench_die("usher serve does not answer on %s", s->path);
    }
    return true;
}

static void stop(struct served *s)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        (void)close(s->peer[i].fd);
    (void)kill(s->pid, SIGTERM);
    while (waitpid(s->pid, NULL, 0) < 0)
        if (errno != EINTR)
            bench_die("waitpid: %s", strerror(errno));
    if (s->store[0] != '\0')
        bench_unlink(s->store);
}

/* ---- clients ------------------------------------------------------------------------------ */

/* The command with the next owner. */
static size_t one_more(const struct work *w, char *to)
{
    size_t size = strlen(w->command);
    char *at;
    uint64_t rest = ++w->served->owner;

    memcpy(to, w->command, size);
    at = memchr(to, '@', size);
    for (char *digit = at != NULL ? at + OWNER_DIGITS : NULL; digit != at; rest /= 10)
        *--digit = (char)('0' + rest % 10);
    return size;
}

static void send_some(const struct work *w, struct peer *p, unsigned n)
{
    char bytes[DEEP * COMMAND_MAX];
    size_t size = 0, sent = 0;

    for (unsigned i = 0; i < n; i++)
        size += one_more(w, bytes + size);
    while (sent < size) {
        ssize_t more = send(p->fd, bytes + sent, size - sent, MSG_NOSIGNAL);

        if (more < 0)
            bench_die("usher serve: %s", strerror(errno));
        sent += (size_t)more;
    }
    p->under_way += n;
}

/* How many answers came. */
static unsigned receive(const struct work *w, struct peer *p)
{
    char bytes[65536 + MARK_MAX];
    size_t mark = strlen(w->mark), size;
    const char *at = bytes, *end;
    ssize_t came;
    unsigned n = 0;

    memcpy(bytes, p->tail, p->tail_size);
    came = recv(p->fd, bytes + p->tail_size, sizeof bytes - MARK_MAX, 0);
    if (came <= 0)
        bench_die("usher serve: a client was closed");
    end = bytes + p->tail_size + came;
    while ((at = memmem(at, (size_t)(end - at), w->mark, mark)) != NULL) {
        n++;
        at += mark;
        size = (size_t)(end - at);
        p->tail_size = size < mark - 1 ? size : mark - 1;
    }
    if (n == 0) {
        size = (size_t)(end - bytes);
        p->tail_size = size < mark - 1 ? size : mark - 1;
    }
    memcpy(p->tail, end - p->tail_size, p->tail_size);
    if (n > p->under_way)
        bench_die("usher serve: more answers than commands");
    p->under_way -= n;
    return n;
}

/* Answers, until the time is over or there were @most; then none is under way. */
static uint64_t drive(const struct work *w, double seconds, uint64_t most, double *ret_took)
{
    struct pollfd fds[CLIENTS];
    double begin = bench_now(CLOCK_MONOTONIC), end = begin + seconds;
    uint64_t asked = 0, answered = 0;
    bool more = true;

    for (unsigned i = 0; i < CLIENTS; i++)
        fds[i] = (struct pollfd){ .fd = w->served->peer[i].fd, .events = POLLIN };
    while (more || answered < asked) {
        for (unsigned i = 0; i < CLIENTS && more; i++) {
            struct peer *p = &w->served->peer[i];
            unsigned n = p->under_way > w->deep / 2 ? 0 : w->deep - p->under_way;

            n = n > most - asked ? (unsigned)(most - asked) : n;
            if (n > 0)
                send_some(w, p, n);
            asked += n;
        }
        if (answered < asked && poll(fds, CLIENTS, -1) < 0)
            bench_die("poll: %s", strerror(errno));
        for (unsigned i = 0; i < CLIENTS; i++)
            if (w->served->peer[i].under_way > 0 && (fds[i].revents & POLLIN) != 0)
                answered += receive(w, &w->served->peer[i]);
        more = asked < most && bench_now(CLOCK_MONOTONIC) < end;
    }
    *ret_took = bench_now(CLOCK_MONOTONIC) - begin;
    return answered;
}

static void once(struct served *s, const char *command)
{
    struct work w = { .served = s, .command = command, .mark = OK, .deep = 1 };
    double took;

    (void)drive(&w, 1e9, 1, &took);
}

static double side(void *world, double seconds)
{
    struct work *w = world;
    double took, begin;
    clockid_t clock;
    uint64_t n;

    if (clock_getcpuclockid(w->served->pid, &clock) != 0)
        bench_die("usher serve has no clock");
    begin = bench_now(clock);
    n = drive(w, seconds, w->holds ? w->served->numbers * 9 / 10 : UINT64_MAX, &took);
    if (w->rounds < BENCH_ROUNDS_MAX)
        w->by_time[w->rounds++] = (double)n / (bench_now(clock) - begin);
    if (w->holds)
        once(w->served, "number free desk all=1\n");
    return (double)n / took;
}

/* @n numbers, registered. */
static void fill(struct served *s, uint64_t n)
{
    struct work add = {
        .served = s, .command = "number add desk @@@@@@@@\n", .mark = OK, .deep = DEEP
    };
    struct work reg = {
        .served = s, .command = "number reg desk @@@@@@@@\n", .mark = OK, .deep = DEEP
    };
    double took;

    s->numbers = n;
    s->owner = 0;
    (void)drive(&add, 1e9, n, &took);
    s->owner = 0;
    (void)drive(&reg, 1e9, n, &took);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void line(struct bench *b, const char *what, double limit, struct work ours,
                 const char *floor, struct bench_run than)
{
    const struct bench_line lines = { "P19", what, "/s", floor, BENCH_NO_BAR, 0 };
    const struct bench_line bar = { "P19", "the same", "/s", "", BENCH_AT_LEAST, limit };
    const struct bench_line by_time = {
        "P19", "the same by a second of the server's processor time", "/s", "", BENCH_NO_BAR, 0
    };
    struct bench_result result = bench_compare(b, &lines, (struct bench_run){ side, &ours }, than);

    bench_value(b, &bar, result.ours);
    bench_value(b, &by_time, bench_spread(ours.by_time, ours.rounds));
}

static void on_memory(struct bench *b)
{
    struct served s;
    struct work pings = { .served = &s, .command = PING, .mark = "+PONG", .deep = 1 };
    struct work deep = { .served = &s, .command = PING, .mark = "+PONG", .deep = DEEP };

    if (!start(&s, "memory:")) {
        bench_skip(b, "P19", "usher serve does not start (is the program built?)");
        return;
    }
    fill(&s, b->quick ? 2000 : 200000);
    once(&s, "id create orders step=100000\n");
    line(b, "serve, memory, 50 clients: new holds", 90000,
         (struct work){ .served = &s, .command = CALL, .mark = OK, .deep = 1, .holds = true },
         "PING", (struct bench_run){ side, &pings });
    line(b, "serve, memory, 50 clients, pipelined: ids", 500000,
         (struct work){ .served = &s, .command = NEXT, .mark = OK, .deep = DEEP }, "PING",
         (struct bench_run){ side, &deep });
    line(b, "serve, memory, 50 clients, pipelined: reads", 500000,
         (struct work){ .served = &s, .command = SHOW, .mark = OK, .deep = DEEP }, "PING",
         (struct bench_run){ side, &deep });
    stop(&s);
}

#ifdef USHER_WITH_SQLITE
struct raw {
    struct floor_sqlite *db;
    uint64_t numbers, taken;
    struct floor_hold *hold;
};

static double raw_side(void *world, double seconds)
{
    struct raw *r = world;
    double begin = bench_now(CLOCK_MONOTONIC), took;
    char owner[BENCH_NAME];

    r->taken = 0;
    do {
        floor_sqlite_begin(r->db);
        for (unsigned i = 0; i < CLIENTS; i++) {
            bench_number(r->taken, owner);
            floor_sqlite_call(r->db, owner, &r->hold[r->taken++]);
        }
        floor_sqlite_commit(r->db);
        took = bench_now(CLOCK_MONOTONIC) - begin;
    } while (took < seconds && r->taken + CLIENTS < r->numbers);
    floor_sqlite_begin(r->db);
    for (uint64_t i = 0; i < r->taken; i++)
        floor_sqlite_hangup(r->db, r->hold[i].number, r->hold[i].token);
    floor_sqlite_commit(r->db);
    return (double)r->taken / took;
}

static void on_sqlite(struct bench *b)
{
    struct served s;
    struct raw raw;
    char url[300], path[256], store[256];
    uint64_t numbers = b->quick ? 2000 : 50000;

    (void)bench_path(store, "serve.db");
    bench_unlink(store);
    (void)snprintf(url, sizeof url, "sqlite:%s", store);
    if (!start(&s, url)) {
        bench_skip(b, "P19", "usher serve does not start (is the program built?)");
        return;
    }
    (void)snprintf(s.store, sizeof s.store, "%s", store);
    fill(&s, numbers);
    raw.numbers = numbers;
    raw.db = floor_sqlite_open(bench_path(path, "raw.db"), numbers);
    raw.hold = bench_alloc(numbers, sizeof *raw.hold);
    line(b, "serve, SQLite, durable, 50 clients: new holds", 15000,
         (struct work){ .served = &s, .command = CALL, .mark = OK, .deep = 1, .holds = true },
         "raw statements, 50 in a transaction", (struct bench_run){ raw_side, &raw });
    floor_sqlite_close(raw.db);
    free(raw.hold);
    bench_unlink(path);
    stop(&s);
}
#endif

void bench_serve(struct bench *b)
{
    on_memory(b);
#ifdef USHER_WITH_SQLITE
    on_sqlite(b);
#else
    bench_skip(b, "P19", "built without SQLite");
#endif
}
