/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "number.h"

/* The finalizer of MurmurHash3 (public domain, Austin Appleby): a bijection on 32 bits. */
static uint32_t mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= UINT32_C(0x85ebca6b);
    x ^= x >> 13;
    x *= UINT32_C(0xc2b2ae35);
    x ^= x >> 16;
    return x;
}

static uint32_t draw(uint64_t version, uint32_t salt)
{
    return mix32((uint32_t)version ^
                 mix32((uint32_t)(version >> 32) + salt + UINT32_C(0x9e3779b9)));
}

uint32_t usher__draw(uint64_t version)
{
    return draw(version, 0);
}

uint32_t usher__draw_step(uint64_t version)
{
    /* as of a version that no scope reaches: independent of the draw above */
    return draw(version, UINT32_C(1) << 21) % USHER__DRAW_STEPS;
}

/* Enough for a billion calls a day, the largest cap; days begin far enough above 0 to be at or
 * above USHER__RANK_CAPPED, and stay below 2^53 up to the year 9999.  The last bit: its rank was
 * drawn. */
#define CALLS_BITS 30
#define DAYS_FROM 8

uint64_t usher__number_rank_capped(int64_t day, int64_t calls, bool drawn)
{
    int64_t most = (INT64_C(1) << CALLS_BITS) - 1;

    USHER_ASSERT(day >= -DAYS_FROM && calls >= 0);
    return ((((uint64_t)day + DAYS_FROM) << CALLS_BITS) + (uint64_t)(calls < most ? calls : most)) *
               2 +
           drawn;
}

#define DAY_MS INT64_C(86400000)
#define MINUTE_MS INT64_C(60000)

/* Rounds down, below zero too: local time may be before 1970. */
int64_t usher__day(int64_t now_ms, int64_t zone_min)
{
    int64_t local = now_ms + zone_min * MINUTE_MS;
    int64_t day = local / DAY_MS;

    return local % DAY_MS < 0 ? day - 1 : day;
}

int64_t usher__day_end(int64_t now_ms, int64_t zone_min)
{
    return (usher__day(now_ms, zone_min) + 1) * DAY_MS - zone_min * MINUTE_MS;
}

bool usher__number_capped(int64_t now_ms, int64_t daily, int64_t calls, int64_t day,
                          int64_t zone_min)
{
    return daily > 0 && calls >= daily && day >= usher__day(now_ms, zone_min);
}
