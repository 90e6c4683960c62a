/* SPDX-License-Identifier: MIT */
/*
 * P20: a room of 100,000 members is closed while another thread calls numbers of the same store.
 * The 99th percentile of that thread's latency is compared with the one before the close.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#ifdef USHER_WITH_REDIS
#include "lib/calls.h"
#include "lib/servers.h"
#endif

#define ROOM "lobby"
#define POOL "desk"
#define NUMBERS 1000
#define BATCH 64
#define SAMPLES_MAX 4000000

struct closer {
    struct usher_engine *e;
    atomic_bool done;
};

static void fill(struct usher_engine *e, size_t n)
{
    static struct usher_operation commands[BATCH];
    static struct usher_result replies[BATCH];
    static char names[BATCH][BENCH_NAME];

    if (ask_room_open(e, ROOM, NULL) != USHER_OK)
        bench_die("%s", usher_message());
    for (size_t i = 0; i < n;) {
        size_t k = 0;

        for (; k < BATCH && i < n; k++, i++) {
            memset(&commands[k], 0, sizeof commands[k]);
            commands[k].verb = USHER_ROOM_JOIN;
            commands[k].scope = (struct usher_text){ ROOM, strlen(ROOM) };
            bench_number(i, names[k]);
            commands[k].arg.room.member = (struct usher_text){ names[k], strlen(names[k]) };
        }
        if (usher_operate(e, commands, replies, k) != USHER_OK)
            bench_die("%s", usher_message());
        for (size_t j = 0; j < k; j++)
            usher_result_done(&replies[j]);
    }
}

static void *close_room(void *payload)
{
    struct closer *c = payload;

    if (ask_room_close(c->e, ROOM) != USHER_OK)
        bench_die("%s", usher_message());
    atomic_store(&c->done, true);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Return the 99th percentile in ms of the commands of @seconds, or until @done. */
static double p99(struct bench_pool *pool, double seconds, const atomic_bool *done)
{
    float *samples = bench_alloc(SAMPLES_MAX, sizeof *samples);
    double begin = bench_now(CLOCK_MONOTONIC), last = begin, result;
    size_t n = 0;

    do {
        double now;

        (void)bench_pair(pool, 0);
        now = bench_now(CLOCK_MONOTONIC);
        samples[n++] = (float)((now - last) / 2);
        last = now;
    } while (n < SAMPLES_MAX && (done != NULL ? !atomic_load(done) : last - begin < seconds));
    qsort(samples, n, sizeof *samples, by_size);
    result = (double)samples[n - 1 - n / 100];
    free(samples);
    return result * 1e3;
}

/* @url: where the others are, @same: and the closer in the same engine. */
static void closing(struct bench *b, const char *url, const char *store, bool same)
{
    char what[96];
    struct bench_line line = { "P20", what, "ms: 99 of 100 commands", "before", BENCH_AT_MOST, 3 };
    struct usher_engine *e = bench_open(url, NULL);
    struct bench_pool pool = { e, POOL, bench_owners(0, 16) };
    struct bench_result result;
    double before[BENCH_ROUNDS_MAX], during[BENCH_ROUNDS_MAX], ratio[BENCH_ROUNDS_MAX];

    (void)snprintf(what, sizeof what, "%s: calls while a room of %s members closes", store,
                   b->quick ? "2,000" : "100,000");
    bench_fill(e, POOL, NUMBERS);
    for (unsigned r = 0; r < b->rounds; r++) {
        struct closer c = { same ? e : bench_open(url, NULL), false };
        pthread_t thread;

        fill(e, b->quick ? 2000 : 100000);
        before[r] = p99(&pool, b->seconds, NULL);
        if (pthread_create(&thread, NULL, close_room, &c) != 0)
            bench_die("no thread");
        during[r] = p99(&pool, 0, &c.done);
        (void)pthread_join(thread, NULL);
        ratio[r] = during[r] / before[r];
        if (!same)
            usher_close(c.e);
    }
    result.ours = bench_spread(during, b->rounds);
    result.floor = bench_spread(before, b->rounds);
    result.ratio = bench_spread(ratio, b->rounds);
    bench_report(b, &line, &result);
    free(pool.owners);
    usher_close(e);
}

void bench_closing(struct bench *b)
{
    closing(b, "memory:", "memory", true);
#ifdef USHER_WITH_SQLITE
    {
        char path[256], url[300];

        (void)bench_path(path, "closing");
        bench_unlink(path);
        (void)snprintf(url, sizeof url, "sqlite:%s?timeout=60000", path);
        closing(b, url, "SQLite", false);
        bench_unlink(path);
    }
#endif
#ifdef USHER_WITH_REDIS
    {
        const struct redis_server_options opt = { .aof = REDIS_AOF_OFF };
        struct redis_server *server = redis_server_start(&opt);
        char url[REDIS_URL_MAX];

        if (server == NULL) {
            bench_skip(b, "P20", redis_reason());
            return;
        }
        closing(b, redis_server_url(server, url), "Redis", false);
        redis_server_stop(server);
    }
#endif
}
