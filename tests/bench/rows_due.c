/* SPDX-License-Identifier: MIT */
/*
 * P21: a host tends 10,000 scopes (USHER_WATCH_TEND), each with something that is due some day, and
 * 10 holds have ended: what one turn of its loop costs, all notices collected.  Beside it the same
 * with 10 scopes in all.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "bench.h"
#include "lib/calls.h"

#define DUE 10
#define WAIT_MS 4 /* longer than a hold of 1 ms, and until a sweep that came early comes again */

struct wall {
    struct usher_engine *e;
    size_t n, turn;
    struct usher_watcher **watchers;
};

static void pool_name(size_t i, char name[BENCH_NAME])
{
    (void)snprintf(name, BENCH_NAME, "pool-%zu", i);
}

/* All that there is; how many holds have ended. */
static unsigned collect(const struct wall *w)
{
    unsigned ended = 0;

    for (;;) {
        const struct usher_event *event = usher_collect(w->e, 0);

        if (event == NULL) {
            if (usher_timeout(w->e) != 0)
                return ended;
            continue;
        }
        ended += event->kind == USHER_EVENT_NOTICE && event->notice->verb == USHER_NUMBER_EXPIRE;
        usher_event_done(event);
    }
}

static void hold(const struct wall *w, size_t i, const char *owner, int64_t lease_ms)
{
    struct ask_number_call_options opt = { 0 };
    struct ask_number_hold held;
    char pool[BENCH_NAME];

    pool_name(i, pool);
    opt.lease_ms = lease_ms;
    if (!USHER_IS_DONE(ask_number_call(w->e, pool, owner, &opt, &held)))
        bench_die("%s: %s", pool, usher_message());
}

static struct wall *wall_new(size_t n)
{
    struct wall *w = bench_alloc(1, sizeof *w);
    char pool[BENCH_NAME];

    w->e = bench_open("memory:", NULL);
    w->n = n;
    w->turn = 0;
    w->watchers = bench_alloc(n, sizeof(struct usher_watcher *));
    for (size_t i = 0; i < n; i++) {
        pool_name(i, pool);
        if (usher_watch_events(w->e, USHER_NUMBER, pool, USHER_WATCH_TEND, 0, NULL,
                               &w->watchers[i]) != USHER_OK)
            bench_die("%s", usher_message());
        bench_fill(w->e, pool, 2);
        hold(w, i, "ann", INT64_C(86400000));
        (void)collect(w);
    }
    return w;
}

static void wall_free(struct wall *w)
{
    for (size_t i = 0; i < w->n; i++)
        usher_unwatch(w->e, w->watchers[i]);
    usher_close(w->e);
    free(w->watchers);
    free(w);
}

/* Turns a second of this thread's time, of DUE holds each that have ended. */
static double turns(void *world, double seconds)
{
    static const struct timespec rest = { 0, WAIT_MS * 1000000L };
    struct wall *w = world;
    double begin = bench_now(CLOCK_MONOTONIC), spent = 0;
    unsigned ended = 0;

    do {
        double from;

        for (size_t k = 0; k < DUE; k++)
            hold(w, (w->turn * DUE + k) * 7919 % w->n, "bob", 1);
        w->turn++;
        ended += collect(w);
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
        from = bench_now(CLOCK_THREAD_CPUTIME_ID);
        ended += collect(w);
        spent += bench_now(CLOCK_THREAD_CPUTIME_ID) - from;
    } while (bench_now(CLOCK_MONOTONIC) - begin < seconds);
    return ended / (double)DUE / spent;
}

void bench_due(struct bench *b)
{
    static const struct bench_line speed = {
        "P21",         "a host's turn: 10 of 10,000 scopes are due",
        "turns/s",     "the same with 10 scopes",
        BENCH_AT_MOST, 3
    };
    static const struct bench_line cost = {
        "P21", "the same: one turn", "us", "", BENCH_AT_MOST, 20
    };
    struct wall *large = wall_new(b->quick ? 500 : 10000), *small = wall_new(DUE);
    struct bench_result r = bench_compare(b, &speed, (struct bench_run){ turns, large },
                                          (struct bench_run){ turns, small });

    bench_value(
        b, &cost,
        (struct bench_spread){ 1e6 / r.ours.median, 1e6 / r.ours.most, 1e6 / r.ours.least });
    wall_free(large);
    wall_free(small);
}
