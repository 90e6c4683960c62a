/* SPDX-License-Identifier: MIT */
/* A heap of timers: the time of each of many objects, and the first of them.  O(log n) a change. */
#ifndef USHER_ENGINE_TIMERS_H
#define USHER_ENGINE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

/* The member of an object with a timer. */
struct usher__timer {
    size_t at; /* its index in the heap */
};

struct usher__timer_slot {
    int64_t ms; /* INT64_MAX: never */
    struct usher__timer *of;
};

/* All zero: empty. */
struct usher__timers {
    struct usher__timer_slot *heap;
    size_t n, room;
};

/* Add one that is never due.  Return false if there is no memory. */
bool usher__timers_add(struct usher__timers *l, const struct usher_allocator *alloc,
                       struct usher__timer *due);
void usher__timers_set(struct usher__timers *l, struct usher__timer *due, int64_t ms);
void usher__timers_remove(struct usher__timers *l, const struct usher__timer *due);
/* Free the heap, not its objects. */
void usher__timers_free(struct usher__timers *l, const struct usher_allocator *alloc);

/* Return the time of the first. */
static inline int64_t usher__timers_ms(const struct usher__timers *l)
{
    return l->n != 0 ? l->heap[0].ms : INT64_MAX;
}

#endif
