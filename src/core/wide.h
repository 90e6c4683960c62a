/* SPDX-License-Identifier: MIT */
/*
 * Counters of 63 bits and a little more.  In a store they are two numbers, hi and lo with lo
 * below 10^9: Lua is exact to 2^53 only, and with this base its products by a radix, a step or
 * a batch (10^6 and below) are exact as well.  On the wire they are decimal digits.
 */
#ifndef USHER_CORE_WIDE_H
#define USHER_CORE_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USHER__WIDE_BASE UINT64_C(1000000000)

/* hi, followed by lo. */
static inline void usher__wide_set(int64_t *at, uint64_t value)
{
    at[0] = (int64_t)(value / USHER__WIDE_BASE);
    at[1] = (int64_t)(value % USHER__WIDE_BASE);
}

/* Is it a number from 0 to @max? */
static inline bool usher__wide_sound(const int64_t *at, uint64_t max)
{
    uint64_t hi = (uint64_t)at[0], lo = (uint64_t)at[1];

    return at[0] >= 0 && at[1] >= 0 && lo < USHER__WIDE_BASE &&
           (hi < max / USHER__WIDE_BASE ||
            (hi == max / USHER__WIDE_BASE && lo <= max % USHER__WIDE_BASE));
}

/* The value of a valid pair. */
static inline uint64_t usher__wide(const int64_t *at)
{
    USHER_ASSERT(usher__wide_sound(at, UINT64_MAX));
    return (uint64_t)at[0] * USHER__WIDE_BASE + (uint64_t)at[1];
}

/* Decimal digits of @value, with a NUL; returns how many.  -1 stands for none. */
#define USHER__WIDE_TEXT 21
unsigned usher__wide_text(int64_t value, char to[USHER__WIDE_TEXT]);
/* Read the written form.  False: it is none. */
bool usher__wide_read(const char *text, size_t size, int64_t *ret_value);

#endif
