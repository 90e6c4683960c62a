/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/timers.h"

#include "change/memory.h"

static void put(struct usher__timers *l, struct usher__timer_slot one, size_t at)
{
    l->heap[at] = one;
    one.of->at = at;
}

/* Move @one from the free slot @at to its position. */
static void settle(struct usher__timers *l, struct usher__timer_slot one, size_t at)
{
    size_t child;

    for (; at > 0 && l->heap[(at - 1) / 2].ms > one.ms; at = (at - 1) / 2)
        put(l, l->heap[(at - 1) / 2], at);
    for (; (child = 2 * at + 1) < l->n; at = child) {
        if (child + 1 < l->n && l->heap[child + 1].ms < l->heap[child].ms)
            child++;
        if (l->heap[child].ms >= one.ms)
            break;
        put(l, l->heap[child], at);
    }
    put(l, one, at);
}

bool usher__timers_add(struct usher__timers *l, const struct usher_allocator *alloc,
                       struct usher__timer *due)
{
    if (l->n == l->room) {
        size_t room = l->room * 2 + 8;
        struct usher__timer_slot *heap =
            usher__resize(alloc, l->heap, l->room * sizeof *heap, room * sizeof *heap);

        if (heap == NULL)
            return false;
        l->heap = heap;
        l->room = room;
    }
    put(l, (struct usher__timer_slot){ INT64_MAX, due }, l->n++);
    return true;
}

void usher__timers_set(struct usher__timers *l, struct usher__timer *due, int64_t ms)
{
    if (l->heap[due->at].ms != ms)
        settle(l, (struct usher__timer_slot){ ms, due }, due->at);
}

void usher__timers_remove(struct usher__timers *l, const struct usher__timer *due)
{
    struct usher__timer_slot last = l->heap[--l->n];

    if (last.of != due)
        settle(l, last, due->at);
}

void usher__timers_free(struct usher__timers *l, const struct usher_allocator *alloc)
{
    (void)usher__resize(alloc, l->heap, l->room * sizeof *l->heap, 0);
    *l = (struct usher__timers){ NULL, 0, 0 };
}
