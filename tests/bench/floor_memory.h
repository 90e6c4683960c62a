/* SPDX-License-Identifier: MIT */
/*
 * floor_memory -- a pool of numbers as one would write it for one program: a struct per
 * number, a chained table by number, a linked list of those that are free, a chained table
 * by owner, one mutex.  It keeps the promises of a call (an owner gets the number it
 * holds, a token per hold, a version per change, the time of the call) and knows nothing
 * else: no leases, groups, settings, errors, checks of names, other scopes.
 */
#ifndef USHER_BENCH_FLOOR_MEMORY_H
#define USHER_BENCH_FLOOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOOR_NAME 32 /* bytes of a number or an owner, with the NUL */

struct floor_pool;

struct floor_hold {
    uint64_t token;
    char number[FLOOR_NAME];
};

/* Room for @n numbers; aborts without memory, as everything here does. */
struct floor_pool *floor_pool_new(size_t n);
void floor_pool_free(struct floor_pool *p);

/* Numbers are free from the start. */
void floor_pool_add(struct floor_pool *p, const char *number);
bool floor_pool_call(struct floor_pool *p, const char *owner, struct floor_hold *ret_hold);
bool floor_pool_hangup(struct floor_pool *p, const char *number, uint64_t token);

#endif
