/* SPDX-License-Identifier: MIT */
/* Tasks that a store with lanes has not done, and that it may be handed once more (store.h). */
#ifndef USHER_ENGINE_AGAIN_H
#define USHER_ENGINE_AGAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store.h>

struct usher__again {
    struct usher_task *tasks; /* all of them, done or not */
    size_t n;
    struct usher_task *rest; /* room for as many: those that are handed over once more */
    bool *doubt;             /* the same: they may have been done before */
    size_t n_rest;
    unsigned tries;
};

/* Put into the rest what is to be handed over once more, after *@ret_pause_ns.  Those that must not
 * be are answered.  false: there are none, or there is no time left, and all are as they are. */
bool usher__again_begin(struct usher__again *a, const struct usher_allocator *alloc,
                        int64_t deadline_ms, int64_t *ret_pause_ns);
/* The rest was executed: its tasks go back to where they were. */
void usher__again_end(struct usher__again *a);

#endif
