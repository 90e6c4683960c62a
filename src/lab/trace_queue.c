/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/trace_queue.h"

#include <string.h>

#include "cli/cli.h"
#include "lab/heap.h"

/* Waiting callers, in order of arrival; some of them have hung up since. */
struct waiting {
    size_t *caller;
    size_t first, n;
};

struct centre {
    struct trace_caller *callers;
    struct heap idle;     /* agents by the moment since when, key: agent */
    struct heap busy;     /* services by their end, key: caller */
    struct heap patience; /* waiting callers, by the end of their patience, key: caller */
    struct heap lines;    /* free ones, key: line */
    struct waiting waiting[2];
    bool *waits;
};

static void is_served(struct centre *c, size_t i, int64_t now_ms)
{
    struct trace_caller *caller = &c->callers[i];

    caller->agent = (uint32_t)usher__heap_pop(&c->idle).key;
    caller->wait_ms = now_ms - caller->arrival_ms;
    caller->release_ms = now_ms + caller->service_ms;
    usher__heap_push(&c->busy, caller->release_ms, i);
}

/* The next one who waits is served, if there is one. */
static void next_please(struct centre *c, int64_t now_ms)
{
    for (int priority = 1; priority >= 0; priority--) {
        struct waiting *w = &c->waiting[priority];

        while (w->first < w->n) {
            size_t i = w->caller[w->first++];

            if (!c->waits[i])
                continue;
            c->waits[i] = false;
            is_served(c, i, now_ms);
            return;
        }
    }
}

/* All that happens up to @now_ms. */
static void go_on(struct centre *c, int64_t now_ms)
{
    for (;;) {
        bool ends = c->busy.n > 0 && c->busy.entry[0].at_ms <= now_ms;
        bool hangs_up = c->patience.n > 0 && c->patience.entry[0].at_ms <= now_ms;
        struct trace_caller *caller;
        struct heap_entry e;

        if (!ends && !hangs_up)
            return;
        if (ends && (!hangs_up || c->busy.entry[0].at_ms <= c->patience.entry[0].at_ms)) {
            e = usher__heap_pop(&c->busy);
            caller = &c->callers[e.key];
            usher__heap_push(&c->lines, 0, caller->line);
            usher__heap_push(&c->idle, e.at_ms, caller->agent);
            next_please(c, e.at_ms);
            continue;
        }
        e = usher__heap_pop(&c->patience);
        if (!c->waits[e.key])
            continue; /* served in time */
        caller = &c->callers[e.key];
        c->waits[e.key] = false;
        caller->wait_ms = caller->patience_ms;
        caller->release_ms = e.at_ms;
        usher__heap_push(&c->lines, 0, caller->line);
    }
}

uint64_t usher__trace_queue(struct trace_caller *callers, size_t n, int64_t agents, int64_t lines)
{
    struct centre c;
    uint64_t lost = 0;

    memset(&c, 0, sizeof c);
    c.callers = callers;
    c.waits = usher__cli_resize(NULL, n * sizeof *c.waits);
    memset(c.waits, 0, n * sizeof *c.waits);
    for (int i = 0; i < 2; i++)
        c.waiting[i].caller = usher__cli_resize(NULL, n * sizeof *c.waiting[i].caller);
    for (int64_t i = 1; i <= agents; i++)
        usher__heap_push(&c.idle, INT64_MIN, (uint64_t)i);
    for (int64_t i = 1; i <= lines; i++)
        usher__heap_push(&c.lines, 0, (uint64_t)i);

    for (size_t i = 0; i < n; i++) {
        struct trace_caller *caller = &callers[i];

        go_on(&c, caller->arrival_ms);
        caller->lost = c.lines.n == 0;
        lost += caller->lost;
        if (caller->lost)
            continue;
        caller->line = (uint32_t)usher__heap_pop(&c.lines).key;
        if (c.idle.n > 0) { /* then no caller waits */
            is_served(&c, i, caller->arrival_ms);
            continue;
        }
        c.waits[i] = true;
        c.waiting[caller->priority].caller[c.waiting[caller->priority].n++] = i;
        usher__heap_push(&c.patience, caller->arrival_ms + caller->patience_ms, i);
    }
    go_on(&c, INT64_MAX);

    usher__heap_done(&c.idle);
    usher__heap_done(&c.busy);
    usher__heap_done(&c.patience);
    usher__heap_done(&c.lines);
    for (int i = 0; i < 2; i++)
        (void)usher__cli_resize(c.waiting[i].caller, 0);
    (void)usher__cli_resize(c.waits, 0);
    return lost;
}
