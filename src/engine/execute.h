/* SPDX-License-Identifier: MIT */
/* Give commands to the store: execute.c does it for one call, and group_commit.c for the calls of
 * many threads together. */
#ifndef USHER_ENGINE_EXECUTE_H
#define USHER_ENGINE_EXECUTE_H

#include "engine/engine.h"

/* The maximum number of tasks that one call gives to the store, and that one leader collects. */
#ifdef USHER_HOSTILE
#define CHUNK 2
#define GATHER 3
#else
#define CHUNK 256
#define GATHER 512
#endif

static inline bool watched(const struct usher_engine *e)
{
    return atomic_load_explicit(&e->watches.n, memory_order_acquire) != 0;
}

/* ---- execute.c ---- */

/* Set the time of commands without one.  Return false if the application's clock is out of
 * range. */
bool usher__engine_clock(const struct usher_engine *e, struct usher_context *context);
void usher__engine_clock_refused(const struct usher_task *tasks, size_t n);
/* Execute @tasks on the store.  @context has its deadline, and the function for more tasks. */
void usher__engine_give(struct usher_engine *e, struct usher_task *tasks, size_t n,
                        struct usher_context *context);

/* ---- group_commit.c ---- */

/* Execute @tasks with those of other threads: one thread executes them for all. */
void usher__group_commit(struct usher_engine *e, struct usher__lane *l, struct usher_task *tasks,
                         size_t n, int64_t deadline_ms);

#endif
