/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/replay_figures.h"

#include <stdlib.h>
#include <string.h>

#include "lab/heap.h"

static int compare_waits(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Sums up; the waits of those served are @waits, which gets sorted. */
struct sums {
    int64_t *waits;
    size_t n;
    int64_t after_queue_ms, gave_up_ms;
    uint64_t after_queue;
};

static void sum_served(struct sums *s, struct replay_centre *c, const struct replay_caller *caller,
                       int64_t within_ms)
{
    c->served++;
    c->in_time += caller->wait_ms <= within_ms;
    s->waits[s->n++] = caller->wait_ms;
    s->after_queue += caller->waited;
    s->after_queue_ms += caller->waited ? caller->wait_ms : 0;
}

static void sum_up(struct sums *s, struct replay_centre *c)
{
    int64_t all = 0;

    qsort(s->waits, s->n, sizeof *s->waits, compare_waits);
    for (size_t i = 0; i < s->n; i++)
        all += s->waits[i];
    c->known = true;
    c->wait_ms = s->after_queue > 0 ? s->after_queue_ms / (int64_t)s->after_queue : CALLS_UNKNOWN;
    c->gave_up_ms = c->hung_up > 0 ? s->gave_up_ms / (int64_t)c->hung_up : CALLS_UNKNOWN;
    c->all_ms = s->n > 0 ? all / (int64_t)s->n : CALLS_UNKNOWN;
    c->ninety_ms = s->n > 0 ? s->waits[(s->n * 9 + 9) / 10 - 1] : CALLS_UNKNOWN;
}

uint64_t usher__replay_longest(const struct calls *calls)
{
    struct heap h;
    uint64_t now = 0, most = 0;

    memset(&h, 0, sizeof h);
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *c = &calls->call[i];

        if (c->queue_ms == CALLS_UNKNOWN || !c->waited || c->wait_ms == 0)
            continue;
        usher__heap_push(&h, c->queue_ms, 1);
        usher__heap_push(&h, c->queue_ms + c->wait_ms, 0);
    }
    while (h.n > 0)
        if (usher__heap_pop(&h).key == 0)
            now--;
        else if (++now > most)
            most = now;
    usher__heap_done(&h);
    return most;
}

void usher__replay_figures(const struct calls *calls, const struct replay_caller *callers,
                           int64_t within_ms, struct replay_centre *ret)
{
    struct sums s;

    memset(&s, 0, sizeof s);
    memset(ret, 0, sizeof *ret);
    s.waits = usher__cli_resize(NULL, calls->n * sizeof *s.waits);
    for (size_t i = 0; i < calls->n; i++) {
        const struct replay_caller *caller = &callers[i];

        ret->early += calls->call[i].queue_ms == CALLS_UNKNOWN;
        ret->no_line += calls->call[i].queue_ms != CALLS_UNKNOWN && caller->state == OUTSIDE;
        ret->turned += caller->state == OUT_OF_HOURS;
        ret->queued += caller->waited;
        if (caller->state == WAS_SERVED)
            sum_served(&s, ret, caller, within_ms);
        if (caller->state == HUNG_UP) {
            ret->hung_up++;
            s.gave_up_ms += caller->wait_ms;
        }
    }
    sum_up(&s, ret);
    (void)usher__cli_resize(s.waits, 0);
}
