/* SPDX-License-Identifier: MIT */
/* Retries: tasks that a store with lanes has not done, and that it may get again (store.h). */
#ifndef USHER_ENGINE_AGAIN_H
#define USHER_ENGINE_AGAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/store.h>

struct usher__again {
    struct usher_task *tasks; /* all of them, done or not */
    size_t n;
    struct usher_task *rest; /* space for as many: the tasks to retry */
    bool *doubt;             /* for each of them: it may have been done before */
    size_t n_rest;
    unsigned tries;
};

/* Collect the tasks to retry after *@ret_pause_ns, and answer those that must not be retried.
 * Return false, and change nothing, if there are none, or no time is left. */
bool usher__again_begin(struct usher__again *a, const struct usher_allocator *alloc,
                        int64_t deadline_ms, int64_t *ret_pause_ns);
/* The tasks to retry were executed: copy them back. */
void usher__again_end(struct usher__again *a);

#endif
