/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/patience.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lab/random.h"

/* Columns of random numbers; those of made-up calls are 1 to 4. */
#define COLUMN_PATIENCE 11
#define COLUMN_TAIL 12

struct wait {
    int64_t wait_ms;
    bool hung_up;
};

static int compare_waits(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;

    return x->wait_ms < y->wait_ms ? -1 : x->wait_ms > y->wait_ms;
}

void usher__survival(const struct calls *calls, struct survival *ret)
{
    struct wait *waits = usher__cli_resize(NULL, calls->n * sizeof *waits);
    size_t n = 0;
    double left = 1;

    memset(ret, 0, sizeof *ret);
    ret->step = usher__cli_resize(NULL, calls->n * sizeof *ret->step);
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->call[i];

        if (call->queue_ms == CALLS_UNKNOWN)
            continue;
        waits[n++] = (struct wait){ call->wait_ms, !call->served };
        ret->hung_up += !call->served;
        ret->waited_ms += call->wait_ms;
    }
    if (n > 0)
        qsort(waits, n, sizeof *waits, compare_waits);
    for (size_t i = 0, next; i < n; i = next) {
        size_t hung_up = 0;

        for (next = i; next < n && waits[next].wait_ms == waits[i].wait_ms; next++)
            hung_up += waits[next].hung_up;
        if (hung_up == 0)
            continue;
        left *= 1 - (double)hung_up / (double)(n - i);
        ret->step[ret->n++] = (struct survival_step){ waits[i].wait_ms, left };
    }
    (void)usher__cli_resize(waits, 0);
}

void usher__survival_done(struct survival *s)
{
    (void)usher__cli_resize(s->step, 0);
    memset(s, 0, sizeof *s);
}

double usher__survival_rate(const struct survival *s)
{
    return s->waited_ms > 0 ? (double)s->hung_up * 1000 / (double)s->waited_ms : 0;
}

/* The first step whose share is at most @left, of those later than @wait_ms. */
static size_t survival_find(const struct survival *s, int64_t wait_ms, double left)
{
    size_t from = 0, to = s->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (s->step[middle].wait_ms <= wait_ms || s->step[middle].left > left)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The share that would wait longer than @wait_ms. */
static double survival_left(const struct survival *s, int64_t wait_ms)
{
    size_t i = survival_find(s, wait_ms, 1);

    return i > 0 ? s->step[i - 1].left : 1;
}

int64_t *usher__patience(const struct calls *calls, const struct survival *s, uint64_t seed)
{
    struct random shares = usher__random(seed, COLUMN_PATIENCE);
    struct random tails = usher__random(seed, COLUMN_TAIL);
    int64_t *patience = usher__cli_resize(NULL, calls->n * sizeof *patience);

    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->call[i];
        int64_t wait_ms = call->wait_ms, mean_ms;
        double left;
        size_t k;

        patience[i] = call->patience_ms;
        if (call->queue_ms == CALLS_UNKNOWN || call->patience_ms != CALLS_UNKNOWN || s == NULL ||
            s->hung_up == 0)
            continue;
        left = (double)(usher__random_next(&shares) >> 11) / (double)(INT64_C(1) << 53);
        k = survival_find(s, wait_ms, left * survival_left(s, wait_ms));
        if (k < s->n) {
            patience[i] = s->step[k].wait_ms;
            continue;
        }
        /* longer than any hang-up of the record: at the mean rate from there on */
        if (s->n > 0 && wait_ms < s->step[s->n - 1].wait_ms)
            wait_ms = s->step[s->n - 1].wait_ms;
        mean_ms = s->waited_ms / (int64_t)s->hung_up;
        patience[i] = wait_ms + usher__random_exponential(&tails, mean_ms);
    }
    return patience;
}
