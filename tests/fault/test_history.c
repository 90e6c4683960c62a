/* SPDX-License-Identifier: MIT */
/*
 * Many threads and processes on one pool: no number is ever held twice.
 *
 * Everybody records what he did: the call's interval in time, and the answer with the
 * version at which it took effect.  Afterwards the whole history is checked:
 *
 *   - no two changes have the same version, and none is missing: versions are dense;
 *   - replayed by version, each call takes a number that is idle, each hangup ends the
 *     hold with its token (so nothing was held twice);
 *   - order by version respects real time: what ended before something else began has the
 *     smaller version.  Together that is linearizability of the changes;
 *   - an answer that nothing is free was true at its version.
 *
 * The work is shared memory filled by children; USHER_OPS sets how much (CI: little).
 */
#include "config.h"

#include <usher/usher.h>

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

#define NUMBERS 24
#define THREADS 8

enum { ADD, REG, CALL, HANGUP, DEL, VERBS };

struct event {
    uint8_t verb, status;
    int16_t number; /* index, -1: none */
    uint64_t version, token;
    int64_t began_ns, ended_ns;
};

struct share {
    struct event *events;
    size_t n;
};

struct work {
    struct usher_engine *engine; /* NULL: open @url */
    const char *url;
    struct share share;
    uint64_t seed;
    int failed;
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t clock_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static struct usher_text text(const char *string)
{
    struct usher_text t = { string, strlen(string) };

    return t;
}

/* One thread: calls, hangups with the token just got, now and then a number is removed and
 * added again. */
static void *worker(void *payload)
{
    struct work *w = payload;
    uint64_t random = w->seed;
    uint64_t token = 0;
    int held = -1;

    for (size_t i = 0; i < w->share.n; i++) {
        struct event *event = &w->share.events[i];
        struct usher_command c;
        struct usher_reply reply;
        char number[16] = "";
        int verb, index = -1;

        memset(&c, 0, sizeof c);
        c.scope = text("pool");
        if (held >= 0) {
            verb = HANGUP;
            index = held;
        } else {
            unsigned dice = (unsigned)(next_random(&random) % 100);

            index = (int)(next_random(&random) % NUMBERS);
            verb = dice < 2 ? DEL : dice < 8 ? ADD : dice < 16 ? REG : CALL;
            if (verb == CALL && dice < 70)
                index = -1; /* any number */
        }
        c.verb = verb == ADD      ? USHER_NUMBER_ADD
                 : verb == REG    ? USHER_NUMBER_REG
                 : verb == CALL   ? USHER_NUMBER_CALL
                 : verb == HANGUP ? USHER_NUMBER_HANGUP
                                  : USHER_NUMBER_DEL;
        if (index >= 0) {
            (void)snprintf(number, sizeof number, "n%02d", index);
            c.arg.number.number = text(number);
        }
        if (verb == HANGUP) {
            c.given |= USHER_GIVEN_TOKEN;
            c.arg.number.token = token;
        }
        event->verb = (uint8_t)verb;
        event->began_ns = clock_ns();
        (void)usher_execute(w->engine, &c, &reply, 1);
        event->ended_ns = clock_ns();
        event->status = (uint8_t)reply.status;
        event->version = reply.version;
        event->token = reply.of.number.token;
        event->number = (int16_t)index;
        if (verb == CALL && reply.status == USHER_OK) {
            event->number = (int16_t)atoi(reply.of.number.number + 1);
            held = event->number;
            token = reply.of.number.token;
        } else if (verb == HANGUP) {
            held = -1;
        }
        if (reply.status >= USHER_INVALID) {
            (void)fprintf(stderr, "history: %s: %s\n", usher_status_word(reply.status),
                          reply.message);
            w->failed = 1;
            break;
        }
    }
    return NULL;
}

static int by_version(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->version != y->version)
        return x->version < y->version ? -1 : 1;
    /* the change first, then what was seen of it */
    return (x->status != USHER_OK) - (y->status != USHER_OK);
}

/* What the pool was at each version. */
struct number {
    bool there, up, busy;
    uint64_t token;
};

static void replay(const struct event *events, size_t n)
{
    struct number numbers[NUMBERS];
    uint64_t version = 0;
    int64_t latest_begin = 0; /* of the changes so far */

    memset(numbers, 0, sizeof numbers);
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &events[i];
        struct number *number = e->number >= 0 ? &numbers[e->number] : NULL;

        if (e->status != USHER_OK) {
            /* an answer about the state at this version */
            assert_true(e->version == version);
            if (e->verb == CALL && e->status == USHER_EMPTY)
                for (int k = 0; k < NUMBERS; k++)
                    assert_false(numbers[k].there && numbers[k].up && !numbers[k].busy);
            continue;
        }
        if (e->version != version + 1) /* dense, none twice */
            fail_msg("version %" PRIu64 " follows %" PRIu64 " (verb %d, number %d, event %zu)",
                     e->version, version, e->verb, e->number, i);
        version = e->version;
        assert_true(e->ended_ns >= latest_begin); /* not before what came later in time */
        if (e->began_ns > latest_begin)
            latest_begin = e->began_ns;
        assert_non_null(number);
        switch (e->verb) {
        case ADD:
            assert_false(number->there);
            memset(number, 0, sizeof *number);
            number->there = true;
            break;
        case REG:
            assert_true(number->there && !number->up);
            number->up = true;
            break;
        case CALL:
            assert_true(number->there && number->up);
            assert_false(number->busy); /* never twice */
            assert_true(e->token == e->version);
            number->busy = true;
            number->token = e->token;
            break;
        case HANGUP:
            assert_true(number->there && number->busy);
            assert_true(e->token == number->token);
            number->busy = false;
            break;
        default:
            assert_true(number->there);
            number->there = false;
            break;
        }
    }
}

/* Run one process's threads; returns 0 when all went well. */
static int process(const char *url, struct usher_engine *engine, struct event *events,
                   size_t per_thread, uint64_t seed)
{
    struct work work[THREADS];
    pthread_t threads[THREADS];
    struct usher_engine *own = NULL;
    int failed = 0;

    if (engine == NULL) {
        struct usher_options options = USHER_OPTIONS_INIT;

        options.timeout_ms = 120000;
        if (usher_open(url, &options, &own) != USHER_OK) {
            (void)fprintf(stderr, "history: %s\n", usher_message(NULL));
            return 1;
        }
        engine = own;
    }
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){
            engine, url, { events + (size_t)i * per_thread, per_thread }, seed + (uint64_t)i, 0
        };
        if (pthread_create(&threads[i], NULL, worker, &work[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        failed |= work[i].failed;
    }
    usher_close(own);
    return failed;
}

static size_t operations(size_t usual)
{
    const char *ops = getenv("USHER_OPS");

    return ops != NULL ? (size_t)strtoul(ops, NULL, 10) : usual;
}

static uint64_t seed_of_run(void)
{
    const char *given = getenv("USHER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_ns();

    print_message("USHER_SEED=%" PRIu64 "\n", seed);
    return seed;
}

static void check_history(const char *url, int processes, size_t total)
{
    size_t per_thread = total / ((size_t)processes * THREADS);
    size_t n = per_thread * (size_t)processes * THREADS;
    size_t size = n * sizeof(struct event);
    struct event *events =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t seed = seed_of_run(), faults = 1;
    struct usher_engine *engine;
    pid_t children[16];

    assert_true(events != MAP_FAILED);
    if (processes == 1) {
        assert_int_equal(usher_open(url, NULL, &engine), USHER_OK);
        assert_int_equal(process(url, engine, events, per_thread, seed), 0);
    } else {
        for (int i = 0; i < processes; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (children[i] == 0)
                _exit(process(url, NULL, events + (size_t)i * per_thread * THREADS, per_thread,
                              seed + 1000 * (uint64_t)i));
        }
        for (int i = 0; i < processes; i++) {
            int status;

            assert_true(waitpid(children[i], &status, 0) == children[i]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        assert_int_equal(usher_open(url, NULL, &engine), USHER_OK);
    }
    qsort(events, n, sizeof *events, by_version);
    replay(events, n);
    assert_int_equal(usher_audit(engine, NULL, NULL, &faults), USHER_OK);
    assert_true(faults == 0);
    usher_close(engine);
    (void)munmap(events, size);
}

static void eight_threads_on_memory_never_hold_a_number_twice(void **state)
{
    (void)state;
    check_history("memory:", 1, operations(400000));
}

#ifdef USHER_WITH_SQLITE
static void eight_processes_of_eight_threads_on_one_file_never_hold_a_number_twice(void **state)
{
    char dir[] = "/tmp/usher-history.XXXXXX", url[128], command[128];

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(url, sizeof url, "sqlite:%s/pool.db?sync=normal", dir);
    check_history(url, 8, operations(40000));
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *server;

static void eight_processes_of_eight_threads_on_one_redis_never_hold_a_number_twice(void **state)
{
    char url[REDIS_URL_MAX];

    (void)state;
    check_history(redis_server_url(server, url), 8, operations(100000));
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_on_memory_never_hold_a_number_twice),
#ifdef USHER_WITH_SQLITE
        cmocka_unit_test(eight_processes_of_eight_threads_on_one_file_never_hold_a_number_twice),
#endif
#ifdef USHER_WITH_REDIS
        cmocka_unit_test(eight_processes_of_eight_threads_on_one_redis_never_hold_a_number_twice),
#endif
    };
    int failed;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
#ifdef USHER_WITH_REDIS
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
#endif
    failed = cmocka_run_group_tests(tests, NULL, NULL);
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
    return failed;
}
