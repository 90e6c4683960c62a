/* SPDX-License-Identifier: MIT */
/*
 * P23: the list of scopes in pages of 1,000, by processor time of the client: of 100,000 scopes
 * against 1,000, so that a page costs what it shows (and the cache misses of a larger store); and
 * the check of 100,000 scopes on Redis.
 */
#include "config.h"

#include "bench.h"

#include <stdio.h>
#include <string.h>

#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

#define MANY 100000u
#define FEW 1000u
#define AT_ONCE 256u

struct list {
    struct usher_engine *e;
    char next[USHER_CURSOR_MAX + 1];
    uint64_t n;
};

static void fill(struct usher_engine *e, unsigned n)
{
    static struct usher_operation commands[AT_ONCE];
    static struct usher_result replies[AT_ONCE];
    static char names[AT_ONCE][BENCH_NAME];

    for (unsigned i = 0; i < n; i += AT_ONCE) {
        unsigned k = n - i < AT_ONCE ? n - i : AT_ONCE;

        memset(commands, 0, sizeof commands);
        for (unsigned j = 0; j < k; j++) {
            bench_number(i + j, names[j]);
            commands[j].verb = USHER_ID_CREATE;
            commands[j].scope = (struct usher_text){ names[j], strlen(names[j]) };
        }
        if (usher_operate(e, commands, replies, k) != USHER_OK)
            bench_die("%s", usher_message());
        for (unsigned j = 0; j < k; j++)
            usher_result_done(&replies[j]);
    }
}

static void count(void *payload, const struct usher_scope_info *info)
{
    (void)info;
    ++*(uint64_t *)payload;
}

/* The next page, or the first one after the last. */
static uint64_t page(void *world, unsigned thread)
{
    struct list *l = world;
    struct usher_list_options opt = USHER_LIST_OPTIONS_INIT;
    char after[USHER_CURSOR_MAX + 1];
    uint64_t n = l->n;

    (void)thread;
    memcpy(after, l->next, sizeof after);
    opt.max = 1000;
    opt.after = after[0] != '\0' ? after : NULL;
    if (usher_scopes(l->e, &opt, count, &l->n, l->next) != USHER_OK)
        bench_die("%s", usher_message());
    return l->n - n;
}

static double side(void *world, double seconds)
{
    return bench_alone(page, world, seconds);
}

/* @limit: us for each scope. */
static void rows(struct bench *b, const char *what, const char *many, const char *few, double limit)
{
    const struct bench_line growth = { "P23",          what, "scopes/s", "the same of 1,000 scopes",
                                       BENCH_AT_LEAST, 0.3 };
    const struct bench_line each = { "P23", "the same: one scope", "us", "", BENCH_AT_MOST, limit };
    struct list ours = { .e = bench_open(many, NULL) }, floor = { .e = bench_open(few, NULL) };
    struct bench_result result;

    fill(ours.e, b->quick ? 2 * FEW : MANY);
    fill(floor.e, FEW);
    result = bench_compare(b, &growth, (struct bench_run){ side, &ours },
                           (struct bench_run){ side, &floor });
    bench_value(b, &each,
                (struct bench_spread){ 1e6 / result.ours.median, 1e6 / result.ours.most,
                                       1e6 / result.ours.least });
    usher_close(floor.e);
    usher_close(ours.e);
}

#ifdef USHER_WITH_REDIS
static void check(struct bench *b, const char *url)
{
    const struct bench_line each = {
        "P23", "Redis: check, one scope", "us", "", BENCH_AT_MOST, 10
    };
    struct usher_engine *e = bench_open(url, NULL);
    struct usher_check_result found;
    double values[BENCH_ROUNDS_MAX];

    for (unsigned i = 0; i < b->rounds; i++) {
        double begin = bench_now(CLOCK_THREAD_CPUTIME_ID);

        if (usher_check(e, NULL, NULL, NULL, &found) != USHER_OK || found.faults != 0)
            bench_die("check: %s", usher_message());
        values[i] = (bench_now(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e6 / (double)found.scopes;
    }
    bench_value(b, &each, bench_spread(values, b->rounds));
    usher_close(e);
}

static void on_redis(struct bench *b)
{
    const struct redis_server_options opt = { .aof = REDIS_AOF_OFF };
    struct redis_server *many = redis_server_start(&opt), *few = redis_server_start(&opt);
    char url[REDIS_URL_MAX], other[REDIS_URL_MAX];

    if (many == NULL || few == NULL) {
        bench_skip(b, "P23", redis_reason());
    } else {
        rows(b, "Redis: pages of 1,000 of 100,000 scopes", redis_server_url(many, url),
             redis_server_url(few, other), 10);
        check(b, url);
    }
    redis_server_stop(few);
    redis_server_stop(many);
}
#endif

void bench_scopes(struct bench *b)
{
#ifdef USHER_WITH_SQLITE
    char many[256], few[256], url[300], other[300];
#endif

    rows(b, "memory: pages of 1,000 of 100,000 scopes", "memory:", "memory:", 10);
#ifdef USHER_WITH_SQLITE
    (void)snprintf(url, sizeof url, "sqlite:%s?sync=off", bench_path(many, "many"));
    (void)snprintf(other, sizeof other, "sqlite:%s?sync=off", bench_path(few, "few"));
    rows(b, "SQLite: pages of 1,000 of 100,000 scopes", url, other, 10);
    bench_unlink(many);
    bench_unlink(few);
#endif
#ifdef USHER_WITH_REDIS
    on_redis(b);
#endif
}
