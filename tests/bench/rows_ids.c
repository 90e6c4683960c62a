/* SPDX-License-Identifier: MIT */
/* P12: ids in the process against a bare atomic addition. */
#include "config.h"

#include "bench.h"
#include "lib/calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 4096

struct ids_world {
    struct usher_ids *ids;
    struct usher_ids_local *local;
    uint64_t *bare;
    unsigned n; /* threads */
    char apart[128];
    uint64_t sum; /* so that results are used */
};

static uint64_t bare_adds(void *world, unsigned thread)
{
    struct ids_world *w = world;
    uint64_t sum = 0;

    (void)thread;
    for (int i = 0; i < AT_ONCE; i++)
        sum += __atomic_fetch_add(w->bare, 1, __ATOMIC_RELAXED);
    w->sum += sum;
    return AT_ONCE;
}

static uint64_t ordered_ids(void *world, unsigned thread)
{
    struct ids_world *w = world;
    struct usher_ids *ids = w->ids;
    uint64_t sum = 0;
    int64_t id = 0;

    (void)thread;
    for (int i = 0; i < AT_ONCE; i++) {
        if (usher_ids_next(ids, &id) != USHER_OK)
            bench_die("ids: %s", usher_message());
        sum += (uint64_t)id;
    }
    w->sum += sum;
    return AT_ONCE;
}

static uint64_t fast_ids(void *world, unsigned thread)
{
    struct ids_world *w = world;
    struct usher_ids_local *local = w->local;
    uint64_t sum = 0;
    int64_t id = 0;

    (void)thread;
    for (int i = 0; i < AT_ONCE; i++) {
        if (usher_ids_local_next(local, &id) != USHER_OK)
            bench_die("ids: %s", usher_message());
        sum += (uint64_t)id;
    }
    w->sum += sum;
    return AT_ONCE;
}

static double bare_side(void *world, double seconds)
{
    return bench_alone(bare_adds, world, seconds);
}
static double ordered_side(void *world, double seconds)
{
    return bench_alone(ordered_ids, world, seconds);
}
static double fast_side(void *world, double seconds)
{
    return bench_alone(fast_ids, world, seconds);
}

/* @world: two of them. */
static double on_two(bench_worker *worker, void *world, double seconds)
{
    struct ids_world *w = world;
    void *const worlds[] = { &w[0], &w[1] };

    return bench_threads(worker, worlds, w->n, seconds);
}
static double bare_threads(void *world, double seconds)
{
    return on_two(bare_adds, world, seconds);
}
static double ordered_threads(void *world, double seconds)
{
    return on_two(ordered_ids, world, seconds);
}
static double fast_threads(void *world, double seconds)
{
    return on_two(fast_ids, world, seconds);
}

/* ---- a slow manager --------------------------------------------------------------- */

struct slow_manager {
    int64_t next;
    struct usher_ids *ids;
};

static enum usher_status slow_reserve(void *payload, int64_t n, int64_t floor, int64_t deadline_ms,
                                      struct usher_id_range *ret, char message[192])
{
    struct slow_manager *m = payload;
    const struct timespec ts = { 0, 5000000 };

    (void)floor;
    (void)deadline_ms;
    (void)message;
    (void)nanosleep(&ts, NULL);
    memset(ret, 0, sizeof *ret);
    ret->first = m->next;
    ret->n = n;
    ret->by = 1;
    m->next += n;
    return USHER_OK;
}

static void *refill_always(void *payload)
{
    struct slow_manager *m = payload;

    while (usher_ids_refill(m->ids, 1000) != USHER_REFUSED)
        ;
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The ns that 99.99 of 100 calls take at most, the reading of the clock included.  @background
 * 2: no ids at all, but a bare addition: what the machine makes of it. */
static double slow_manager_round(size_t calls, int background)
{
    struct slow_manager m = { 1, NULL };
    struct usher_ids_manager manager = { slow_reserve, NULL, &m };
    struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
    uint32_t *ns = bench_alloc(calls, sizeof *ns);
    pthread_t thread;
    int64_t id;
    double result;

    opt.step = 500000; /* at 25 ns a call half of it lasts for 6 ms */
    opt.step_max = 64000000;
    opt.background = background == 1;
    if (usher_ids_open_manager(&manager, &opt, &m.ids) != USHER_OK)
        bench_die("ids: %s", usher_message());
    if (background == 1 && pthread_create(&thread, NULL, refill_always, &m) != 0)
        bench_die("pthread_create");
    for (size_t i = 0; i < calls; i++) {
        uint64_t begin = now_ns(), took;

        if (background == 2)
            __atomic_fetch_add(&m.next, 1, __ATOMIC_RELAXED);
        else if (usher_ids_next(m.ids, &id) != USHER_OK)
            bench_die("ids: %s", usher_message());
        took = now_ns() - begin;
        ns[i] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    }
    usher_ids_stop(m.ids);
    if (background == 1)
        (void)pthread_join(thread, NULL);
    usher_ids_close(m.ids);
    qsort(ns, calls, sizeof *ns, by_value);
    result = ns[calls - 1 - calls / 10000];
    free(ns);
    return result;
}

void bench_ids(struct bench *b)
{
    static const struct bench_line ordered = { "P12",          "ids in order, one thread",
                                               "ids/s",        "a bare atomic addition",
                                               BENCH_AT_LEAST, 0.9 };
    static const struct bench_line ordered2 = { "P12",          "ids in order, two threads",
                                                "ids/s",        "additions of two threads",
                                                BENCH_AT_LEAST, 0.9 };
    static const struct bench_line fast = { "P12",          "ids of sub-ranges, one thread",
                                            "ids/s",        "a bare atomic addition",
                                            BENCH_AT_LEAST, 3 };
    static const struct bench_line fast2 = { "P12",          "ids of sub-ranges, two threads",
                                             "ids/s",        "one thread",
                                             BENCH_AT_LEAST, 1.9 };
    static const struct bench_line elsewhere = {
        "P12",         "p99.99 of an id, manager of 5 ms, refilled by another thread",
        "ns",          "",
        BENCH_AT_MOST, 1000
    };
    static const struct bench_line bare_clock = {
        "P12", "p99.99 of a bare atomic addition, measured the same way", "ns", "", BENCH_NO_BAR, 0
    };
    static const struct bench_line by_callers = {
        "P12", "p99.99 of an id, manager of 5 ms, refilled by the callers", "ns", "", BENCH_NO_BAR,
        0
    };
    struct usher_engine *e = bench_open("memory:", NULL);
    struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
    struct ids_world *w = bench_alloc(3, sizeof *w);
    struct usher_ids *ids = NULL;
    uint64_t *bare = bench_alloc(32, sizeof *bare);
    double times[BENCH_ROUNDS_MAX];

    opt.step = 1000000;
    opt.step_max = 50000000;
    if (ask_id_create(e, "ids", 0, NULL) != USHER_OK ||
        usher_ids_open(e, "ids", &opt, &ids) != USHER_OK)
        bench_die("ids: %s", usher_message());
    for (int i = 0; i < 3; i++) {
        w[i].ids = ids;
        w[i].bare = &bare[16];
        w[i].n = i == 2 ? 1 : 2;
        if (usher_ids_local_open(ids, &w[i].local) != USHER_OK)
            bench_die("ids: %s", usher_message());
    }
    (void)bench_compare(b, &ordered, (struct bench_run){ ordered_side, w },
                        (struct bench_run){ bare_side, w });
    (void)bench_compare(b, &fast, (struct bench_run){ fast_side, w },
                        (struct bench_run){ bare_side, w });
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        bench_skip(b, "P12", "one processor");
    } else {
        (void)bench_compare(b, &ordered2, (struct bench_run){ ordered_threads, w },
                            (struct bench_run){ bare_threads, w });
        (void)bench_compare(b, &fast2, (struct bench_run){ fast_threads, w },
                            (struct bench_run){ fast_threads, &w[2] });
    }
    for (int i = 0; i < 3; i++)
        usher_ids_local_close(w[i].local);
    usher_ids_close(ids);
    usher_close(e);
    free(bare);
    free(w);
    for (int background = 2; background >= 0; background--) {
        for (unsigned r = 0; r < b->rounds; r++)
            times[r] = slow_manager_round(b->quick ? 2000000 : 10000000, background);
        bench_value(b,
                    background == 2   ? &bare_clock
                    : background == 1 ? &elsewhere
                                      : &by_callers,
                    bench_spread(times, b->rounds));
    }
}
