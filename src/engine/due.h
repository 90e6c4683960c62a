/* SPDX-License-Identifier: MIT */
/* A heap of timers: the time of each of many objects, and the first of them.  O(log n) a change. */
#ifndef USHER_ENGINE_DUE_H
#define USHER_ENGINE_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/operation.h>

/* The member of an object with a timer. */
struct usher__due {
    size_t at; /* its index in the heap */
};

struct usher__due_place {
    int64_t ms; /* INT64_MAX: never */
    struct usher__due *of;
};

/* All zero: empty. */
struct usher__dues {
    struct usher__due_place *heap;
    size_t n, room;
};

/* Add one that is never due.  Return false if there is no memory. */
bool usher__dues_add(struct usher__dues *l, const struct usher_allocator *alloc,
                     struct usher__due *due);
void usher__dues_set(struct usher__dues *l, struct usher__due *due, int64_t ms);
void usher__dues_remove(struct usher__dues *l, const struct usher__due *due);
/* Free the heap, not its objects. */
void usher__dues_done(struct usher__dues *l, const struct usher_allocator *alloc);

/* Return the time of the first. */
static inline int64_t usher__dues_ms(const struct usher__dues *l)
{
    return l->n != 0 ? l->heap[0].ms : INT64_MAX;
}

#endif
