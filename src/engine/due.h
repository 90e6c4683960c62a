/* SPDX-License-Identifier: MIT */
/* When each of many has to be seen to, and which of them first: a heap.  O(log n) a change. */
#ifndef USHER_ENGINE_DUE_H
#define USHER_ENGINE_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/operation.h>

/* In what is to be seen to. */
struct usher__due {
    size_t at; /* its place in the heap */
};

struct usher__due_place {
    int64_t ms; /* INT64_MAX: never */
    struct usher__due *of;
};

/* All zero: none. */
struct usher__dues {
    struct usher__due_place *heap;
    size_t n, room;
};

/* One more, never due.  false: no memory. */
bool usher__dues_add(struct usher__dues *l, const struct usher_allocator *alloc,
                     struct usher__due *due);
void usher__dues_set(struct usher__dues *l, struct usher__due *due, int64_t ms);
void usher__dues_remove(struct usher__dues *l, const struct usher__due *due);
/* Free the heap, not what is in it. */
void usher__dues_done(struct usher__dues *l, const struct usher_allocator *alloc);

/* When the first is due. */
static inline int64_t usher__dues_ms(const struct usher__dues *l)
{
    return l->n != 0 ? l->heap[0].ms : INT64_MAX;
}

#endif
