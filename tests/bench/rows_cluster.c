/* SPDX-License-Identifier: MIT */
/*
 * P17: a cluster of three masters, 64 callers on one engine over 300 pools, each caller on the
 * pools of one master: a second of the servers' processor time does as much as one of a single
 * server; and when one master stands still, the callers of the other two go on.
 *
 * With one of three stopped the others have more of the machine's processors, so the second is no
 * feat where these are few; it shows that no caller waits.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "floor_redis.h"
#include "lib/calls.h"
#include "lib/servers.h"

#define MASTERS 3
#define CALLERS 64u
#define POOLS 300
#define NUMBERS 100
#define SAMPLES_MAX 200000
#define DEAD 1
#define TIMEOUT_MS 1000 /* of who calls the dead one */

struct world;

struct caller {
    struct world *world;
    struct bench_owners *owners;
    unsigned home, at; /* its master; the pool it was at last */
    /* of the second part */
    pthread_t thread;
    float *samples; /* ms of each command that was done */
    size_t n;
};

struct world {
    struct usher_engine *e;
    redisContext *server[MASTERS];
    unsigned n_servers;
    struct caller caller[CALLERS];
    atomic_bool stop;
};

static char pool[POOLS][BENCH_NAME];
static unsigned home[POOLS];

/* The next pool of its master. */
static const char *next_pool(struct caller *c)
{
    do
        c->at = (c->at + 1) % POOLS;
    while (home[c->at] != c->home);
    return pool[c->at];
}

static void name_pools(struct redis_cluster *cluster)
{
    for (unsigned i = 0; i < POOLS; i++) {
        struct redis_server *owner;
        char key[BENCH_NAME + 2];
        redisReply *r;

        (void)snprintf(pool[i], sizeof pool[i], "desk%u", i);
        (void)snprintf(key, sizeof key, "{%s}", pool[i]);
        r = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", key, NULL);
        if (r == NULL || r->type != REDIS_REPLY_INTEGER)
            bench_die("CLUSTER KEYSLOT: %s", redis_reason());
        owner = redis_cluster_owner(cluster, cluster->node[0], (int)r->integer);
        freeReplyObject(r);
        if (owner == NULL)
            bench_die("%s", redis_reason());
        for (home[i] = 0; cluster->node[home[i]] != owner;)
            home[i]++;
    }
}

static void world_open(struct world *w, const char *url, struct redis_server *const *servers,
                       unsigned n)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.timeout_ms = TIMEOUT_MS;
    w->e = bench_open(url, &opt);
    w->n_servers = n;
    for (unsigned i = 0; i < n; i++) {
        w->server[i] = redis_server_connect(servers[i]);
        if (w->server[i] == NULL)
            bench_die("%s", redis_reason());
    }
    for (unsigned i = 0; i < POOLS; i++)
        bench_fill(w->e, pool[i], NUMBERS);
    for (unsigned i = 0; i < CALLERS; i++)
        w->caller[i] = (struct caller){
            .world = w, .owners = bench_owners(i, 16), .home = i % MASTERS, .at = i % POOLS
        };
}

static void world_close(struct world *w)
{
    usher_close(w->e);
    for (unsigned i = 0; i < w->n_servers; i++)
        redisFree(w->server[i]);
    for (unsigned i = 0; i < CALLERS; i++)
        free(w->caller[i].owners);
}

/* ---- the servers' time -------------------------------------------------------------- */

static uint64_t call_and_hang_up(void *world, unsigned thread)
{
    struct caller *c = world;
    struct bench_pool at = { c->world->e, next_pool(c), c->owners };

    return bench_pair(&at, thread);
}

static double used(const struct world *w)
{
    double seconds = 0;

    for (unsigned i = 0; i < w->n_servers; i++)
        seconds += floor_redis_cpu(w->server[i]);
    return seconds;
}

/* Commands a second of all the servers' processor time. */
static double side(void *world, double seconds)
{
    struct world *w = world;
    void *callers[CALLERS];
    double before = used(w), begin = bench_now(CLOCK_MONOTONIC), speed;

    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = &w->caller[i];
    speed = bench_threads(call_and_hang_up, callers, CALLERS, seconds);
    return speed * (bench_now(CLOCK_MONOTONIC) - begin) / (used(w) - before);
}

/* ---- one stands still --------------------------------------------------------------- */

static void note(struct caller *c, double begin, double end)
{
    if (c->n < SAMPLES_MAX)
        c->samples[c->n++] = (float)((end - begin) * 1e3);
}

/* A caller whose server is stopped measures nothing and tries again. */
static void *caller_main(void *payload)
{
    struct caller *c = payload;
    struct usher_engine *e = c->world->e;

    while (!atomic_load(&c->world->stop)) {
        const char *name = next_pool(c);
        double begin = bench_now(CLOCK_MONOTONIC), middle;
        struct ask_number_hold hold;

        if (ask_number_call(e, name, bench_next(c->owners), NULL, &hold) != USHER_OK)
            continue;
        middle = bench_now(CLOCK_MONOTONIC);
        note(c, begin, middle);
        if (ask_number_hangup(e, name, hold.number, hold.token, -1) == USHER_OK)
            note(c, middle, bench_now(CLOCK_MONOTONIC));
    }
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

struct seen {
    double speed, p99; /* of the callers of those that live: commands a second, ms */
};

static struct seen watch(struct world *w, double seconds)
{
    struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    float *all = bench_alloc(CALLERS * (size_t)SAMPLES_MAX, sizeof *all);
    double begin = bench_now(CLOCK_MONOTONIC), end;
    struct seen seen;
    size_t n = 0;

    atomic_store(&w->stop, false);
    for (unsigned i = 0; i < CALLERS; i++) {
        struct caller *c = &w->caller[i];

        c->samples = all + i * (size_t)SAMPLES_MAX;
        c->n = 0;
        if (pthread_create(&c->thread, NULL, caller_main, c) != 0)
            bench_die("no thread");
    }
    (void)nanosleep(&ts, NULL);
    atomic_store(&w->stop, true);
    end = bench_now(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < CALLERS; i++) {
        struct caller *c = &w->caller[i];

        (void)pthread_join(c->thread, NULL);
        if (c->home == DEAD)
            continue;
        memmove(all + n, c->samples, c->n * sizeof *all);
        n += c->n;
    }
    if (n == 0)
        bench_die("nobody was answered");
    qsort(all, n, sizeof *all, by_size);
    seen.speed = (double)n / (end - begin);
    seen.p99 = (double)all[n - 1 - n / 100];
    free(all);
    return seen;
}

static void one_stands_still(struct bench *b, struct world *w, struct redis_server *dead)
{
    static const struct bench_line speed = {
        "P17",          "Cluster: callers of two masters while the third stands still",
        "commands/s",   "before",
        BENCH_AT_LEAST, 0.9
    };
    static const struct bench_line p99 = { "P17",    "Cluster: the same", "ms: 99 of 100 commands",
                                           "before", BENCH_AT_MOST,       2 };
    double before[2][BENCH_ROUNDS_MAX], during[2][BENCH_ROUNDS_MAX], ratio[2][BENCH_ROUNDS_MAX];
    struct bench_result result;

    for (unsigned r = 0; r < b->rounds; r++) {
        struct seen then = watch(w, b->seconds), now;

        if (redis_server_kill(dead, SIGSTOP) != 0)
            bench_die("%s", redis_reason());
        now = watch(w, b->seconds);
        if (redis_server_kill(dead, SIGCONT) != 0 || !redis_do_ok(dead, "PING", NULL))
            bench_die("%s", redis_reason());
        before[0][r] = then.speed;
        during[0][r] = now.speed;
        ratio[0][r] = now.speed / then.speed;
        before[1][r] = then.p99;
        during[1][r] = now.p99;
        ratio[1][r] = now.p99 / then.p99;
    }
    for (int i = 0; i < 2; i++) {
        result.ours = bench_spread(during[i], b->rounds);
        result.floor = bench_spread(before[i], b->rounds);
        result.ratio = bench_spread(ratio[i], b->rounds);
        bench_report(b, i == 0 ? &speed : &p99, &result);
    }
}

void bench_cluster(struct bench *b)
{
    static const struct bench_line line = {
        "P17",          "Cluster: commands a second of three masters' processor time",
        "commands/s",   "of one server's",
        BENCH_AT_LEAST, 0.9
    };
    /* in cluster mode a server looks at the slot of each key with each command of a script */
    static const struct bench_line node_line = { "P17",        "Cluster: the same",
                                                 "commands/s", "of a cluster of one node",
                                                 BENCH_NO_BAR, 0 };
    /* no node may be taken for dead, because no replica could take its slots */
    static const char *const config[] = { "cluster-node-timeout 60000", NULL };
    const struct redis_server_options opt = { .aof = REDIS_AOF_OFF, .config = config };
    const struct redis_server_options alone = { .aof = REDIS_AOF_OFF };
    static struct world many, one, node;
    struct redis_cluster *cluster = redis_cluster_start(MASTERS, 0, &opt);
    struct redis_cluster *single = cluster != NULL ? redis_cluster_start(1, 0, &opt) : NULL;
    struct redis_server *server = single != NULL ? redis_server_start(&alone) : NULL;
    char url[REDIS_URL_MAX];

    if (server == NULL) {
        bench_skip(b, "P17", redis_reason());
        redis_cluster_stop(single);
        redis_cluster_stop(cluster);
        return;
    }
    name_pools(cluster);
    world_open(&many, redis_cluster_url(cluster, url), cluster->node, MASTERS);
    world_open(&one, redis_server_url(server, url), &server, 1);
    world_open(&node, redis_cluster_url(single, url), single->node, 1);
    (void)bench_compare(b, &line, (struct bench_run){ side, &many },
                        (struct bench_run){ side, &one });
    (void)bench_compare(b, &node_line, (struct bench_run){ side, &many },
                        (struct bench_run){ side, &node });
    one_stands_still(b, &many, cluster->node[DEAD]);
    world_close(&node);
    world_close(&one);
    world_close(&many);
    redis_server_stop(server);
    redis_cluster_stop(single);
    redis_cluster_stop(cluster);
}
