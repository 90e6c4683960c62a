/* SPDX-License-Identifier: MIT */
/* A heap of moments: the earliest comes first; of equal ones, the smallest key. */
#ifndef USHER_LAB_HEAP_H
#define USHER_LAB_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_entry {
    int64_t at_ms;
    uint64_t key;
};

/* Zero it first; give back with usher__heap_done(). */
struct heap {
    struct heap_entry *entry; /* the first is entry[0] */
    size_t n, room;
};

void usher__heap_push(struct heap *h, int64_t at_ms, uint64_t key);
struct heap_entry usher__heap_pop(struct heap *h); /* it must not be empty */
void usher__heap_done(struct heap *h);

#endif
