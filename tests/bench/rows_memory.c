/* SPDX-License-Identifier: MIT */
/* P1 to P3: the store in memory against a struct, a table and a list. */
#include "config.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "floor_memory.h"

#define OWNERS 1000u
#define POOL "desk"

struct floor_world {
    struct floor_pool *pool;
    struct bench_owners *owners;
};

static uint64_t floor_pairs(void *world, unsigned thread)
{
    struct floor_world *w = world;
    struct floor_hold hold;

    (void)thread;
    for (int i = 0; i < 64; i++)
        if (!floor_pool_call(w->pool, bench_next(w->owners), &hold) ||
            !floor_pool_hangup(w->pool, hold.number, hold.token))
            bench_die("the floor has no number left");
    return 128;
}

static double floor_side(void *world, double seconds)
{
    return bench_alone(floor_pairs, world, seconds);
}

static double ours_side(void *world, double seconds)
{
    return bench_alone(bench_pairs, world, seconds);
}

static struct floor_world floor_world_new(size_t n)
{
    struct floor_world w = { floor_pool_new(n), bench_owners(0, OWNERS) };

    for (size_t i = 0; i < n; i++) {
        char number[BENCH_NAME];

        bench_number(i, number);
        floor_pool_add(w.pool, number);
    }
    return w;
}

static void floor_world_free(struct floor_world *w)
{
    floor_pool_free(w->pool);
    free(w->owners);
}

/* ---- P1 --------------------------------------------------------------------------- */

#define BATCH 64u

/* Calls of BATCH agents, then their hangups. */
struct batches {
    struct bench_pool pool;
    struct usher_operation call[BATCH], hangup[BATCH];
    struct usher_result called[BATCH], hung_up[BATCH];
};

static void batches_init(struct batches *w)
{
    memset(w->call, 0, sizeof w->call);
    memset(w->hangup, 0, sizeof w->hangup);
    for (unsigned i = 0; i < BATCH; i++) {
        w->call[i].verb = USHER_NUMBER_CALL;
        w->hangup[i].verb = USHER_NUMBER_HANGUP;
        w->hangup[i].given = USHER_GIVEN_TOKEN;
        w->call[i].scope = w->hangup[i].scope = (struct usher_text){ POOL, strlen(POOL) };
    }
}

static uint64_t batch(void *world, unsigned thread)
{
    struct batches *w = world;
    bool ok = true;

    (void)thread;
    for (unsigned i = 0; i < BATCH; i++) {
        const char *owner = bench_next(w->pool.owners);

        w->call[i].arg.number.owner = (struct usher_text){ owner, strlen(owner) };
    }
    ok = usher_operate(w->pool.e, w->call, w->called, BATCH) == USHER_OK;
    for (unsigned i = 0; i < BATCH; i++) {
        const struct usher_number_result *n = &w->called[i].of.number;

        w->hangup[i].arg.number.number = (struct usher_text){ n->number, n->number_size };
        w->hangup[i].arg.number.token = n->token;
    }
    ok = ok && usher_operate(w->pool.e, w->hangup, w->hung_up, BATCH) == USHER_OK;
    for (unsigned i = 0; i < BATCH; i++)
        ok = ok && w->hung_up[i].status == USHER_OK;
    if (!ok)
        bench_die("a batch failed: %s", usher_message());
    return 2 * BATCH;
}

static double batch_side(void *world, double seconds)
{
    return bench_alone(batch, world, seconds);
}

void bench_memory_one(struct bench *b)
{
    static const struct bench_line one = {
        "P1",          "memory: call and hangup, 10,000 numbers, one thread",
        "commands/s",  "struct, table and list",
        BENCH_AT_MOST, 2
    };
    static const struct bench_line many = {
        "P1",          "the same in batches of 64 calls and 64 hangups",
        "commands/s",  "one by one",
        BENCH_AT_MOST, 2
    };
    struct usher_engine *e = bench_open("memory:", NULL);
    struct bench_pool pool = { e, POOL, bench_owners(0, OWNERS) };
    struct batches *batches = bench_alloc(1, sizeof *batches);
    struct floor_world w = floor_world_new(10000);

    bench_fill(e, POOL, 10000);
    (void)bench_compare(b, &one, (struct bench_run){ ours_side, &pool },
                        (struct bench_run){ floor_side, &w });
    batches->pool = pool;
    batches_init(batches);
    (void)bench_compare(b, &many, (struct bench_run){ batch_side, batches },
                        (struct bench_run){ floor_side, &w });
    floor_world_free(&w);
    free(batches);
    free(pool.owners);
    usher_close(e);
}

/* ---- P2 --------------------------------------------------------------------------- */

/* Counts what is in use. */
struct counted {
    struct usher_allocator alloc;
    size_t used;
};

static void *counted_resize(void *payload, void *p, size_t old, size_t size)
{
    struct counted *c = payload;
    void *new;

    if (size == 0) {
        free(p);
        c->used -= old;
        return NULL;
    }
    new = realloc(p, size);
    if (new != NULL)
        c->used += size - old;
    return new;
}

/* Bytes of this process in real memory, without those that were given back. */
static double resident(void)
{
    unsigned long pages = 0;
    FILE *f;

#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    f = fopen("/proc/self/statm", "r");
    if (f != NULL) {
        if (fscanf(f, "%*u %lu", &pages) != 1)
            pages = 0;
        (void)fclose(f);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static bool room_for(size_t numbers)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long free_kib = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %lu", &free_kib) == 1)
            break;
    if (f != NULL)
        (void)fclose(f);
    return (double)free_kib * 1024 > (double)numbers * 600;
}

struct sized {
    size_t n;
    struct counted counted;
    struct bench_pool pool;
    struct floor_world floor;
    double resident;
};

static void sized_open(struct sized *s, size_t n)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    double before = resident();

    s->n = n;
    s->counted.alloc = (struct usher_allocator){ counted_resize, &s->counted };
    s->counted.used = 0;
    opt.alloc = &s->counted.alloc;
    s->pool = (struct bench_pool){ bench_open("memory:", &opt), POOL, bench_owners(0, OWNERS) };
    bench_fill(s->pool.e, POOL, n);
    s->resident = resident() - before;
    s->floor = floor_world_new(n);
}

static void sized_close(struct sized *s)
{
    usher_close(s->pool.e);
    free(s->pool.owners);
    floor_world_free(&s->floor);
}

static void growth(struct bench *b, struct sized *small, struct sized *large)
{
    double speeds[BENCH_ROUNDS_MAX][BENCH_SIDES_MAX];
    double ours[BENCH_ROUNDS_MAX], floor[BENCH_ROUNDS_MAX], ratio[BENCH_ROUNDS_MAX];
    struct bench_run runs[] = { { ours_side, &large->pool },
                                { floor_side, &large->floor },
                                { ours_side, &small->pool },
                                { floor_side, &small->floor } };
    char what[96];
    struct bench_line line = { "P2",          what,          "times the cost with 100",
                               "the floor's", BENCH_AT_MOST, 1 };
    struct bench_line speed = {
        "P2", what, "commands/s", "struct, table and list", BENCH_NO_BAR, 0
    };
    struct bench_result result;

    bench_rounds(b, runs, 4, speeds);
    for (unsigned r = 0; r < b->rounds; r++) {
        ours[r] = speeds[r][0];
        floor[r] = speeds[r][1];
        ratio[r] = ours[r] / floor[r];
    }
    result.ours = bench_spread(ours, b->rounds);
    result.floor = bench_spread(floor, b->rounds);
    result.ratio = bench_spread(ratio, b->rounds);
    (void)snprintf(what, sizeof what, "memory: %zu numbers", large->n);
    bench_report(b, &speed, &result);

    for (unsigned r = 0; r < b->rounds; r++) {
        ours[r] = speeds[r][2] / speeds[r][0];
        floor[r] = speeds[r][3] / speeds[r][1];
        ratio[r] = ours[r] / floor[r];
    }
    result.ours = bench_spread(ours, b->rounds);
    result.floor = bench_spread(floor, b->rounds);
    result.ratio = bench_spread(ratio, b->rounds);
    (void)snprintf(what, sizeof what, "memory: growth of the cost from 100 to %zu numbers",
                   large->n);
    bench_report(b, &line, &result);
}

void bench_memory_sizes(struct bench *b)
{
    static const size_t sizes[] = { 10000, 1000000, 10000000 };
    struct sized small, large;

    sized_open(&small, 100);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char what[96];
        struct bench_line line = { "P2", what, "bytes", "", BENCH_AT_MOST, 200 };
        double bytes;

        if (b->quick && sizes[i] > 10000)
            break;
        if (!room_for(sizes[i])) {
            (void)snprintf(what, sizeof what, "%zu numbers: too little memory", sizes[i]);
            bench_skip(b, "P2", what);
            break;
        }
        sized_open(&large, sizes[i]);
        growth(b, &small, &large);
        bytes = (double)large.counted.used / (double)large.n;
        (void)snprintf(what, sizeof what, "memory: bytes a number of %zu, as allocated", large.n);
        bench_value(b, &line, (struct bench_spread){ bytes, bytes, bytes });
        if (sizes[i] >= 1000000) {
            bytes = large.resident / (double)large.n;
            (void)snprintf(what, sizeof what, "memory: bytes a number of %zu, resident", large.n);
            bench_value(b, &line, (struct bench_spread){ bytes, bytes, bytes });
        }
        sized_close(&large);
    }
    sized_close(&small);
}

/* ---- P3 --------------------------------------------------------------------------- */

struct threads {
    struct bench_pool pool[2];
    unsigned n;
};

static double threads_side(void *world, double seconds)
{
    struct threads *t = world;
    void *const worlds[] = { &t->pool[0], &t->pool[1] };

    return bench_threads(bench_pairs, worlds, t->n, seconds);
}

void bench_memory_threads(struct bench *b)
{
    static const struct bench_line apart = {
        "P3",           "memory: two threads, each with a pool of its own",
        "commands/s",   "one thread",
        BENCH_AT_LEAST, 1.8
    };
    static const struct bench_line together = { "P3",           "memory: two threads on one pool",
                                                "commands/s",   "one thread",
                                                BENCH_AT_LEAST, 0.7 };
    struct usher_engine *e = bench_open("memory:", NULL);
    struct bench_owners *owners[] = { bench_owners(0, OWNERS), bench_owners(1, OWNERS) };
    struct threads one = { { { e, "a", owners[0] } }, 1 };
    struct threads two = { { { e, "a", owners[0] }, { e, "b", owners[1] } }, 2 };
    struct threads same = { { { e, "a", owners[0] }, { e, "a", owners[1] } }, 2 };

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        bench_skip(b, "P3", "one processor");
    } else {
        bench_fill(e, "a", 10000);
        bench_fill(e, "b", 10000);
        (void)bench_compare(b, &apart, (struct bench_run){ threads_side, &two },
                            (struct bench_run){ threads_side, &one });
        (void)bench_compare(b, &together, (struct bench_run){ threads_side, &same },
                            (struct bench_run){ threads_side, &one });
    }
    free(owners[0]);
    free(owners[1]);
    usher_close(e);
}
