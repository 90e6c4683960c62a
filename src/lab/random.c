/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/random.h"

#include <stdbool.h>

uint64_t usher__random_next(struct random *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct random usher__random(uint64_t seed, uint64_t column)
{
    struct random r = { seed };

    r.state = usher__random_next(&r) + column;
    r.state = usher__random_next(&r);
    return r;
}

uint64_t usher__random_below(struct random *r, uint64_t below)
{
    return ((usher__random_next(r) >> 32) * below) >> 32;
}

int64_t usher__random_exponential(struct random *r, int64_t mean)
{
    /* How often uniform numbers fall in a row before one rises: odd with probability
     * exp(-first).  Each even run adds 1. */
    for (int64_t whole = 0;; whole++) {
        uint64_t first = usher__random_next(r) >> 32, last = first, next;
        bool odd = true;

        while ((next = usher__random_next(r) >> 32) < last) {
            last = next;
            odd = !odd;
        }
        if (odd)
            return whole * mean + (int64_t)(((uint64_t)mean >> 16) * first >> 16) +
                   (int64_t)(((uint64_t)mean & 0xffff) * first >> 32);
    }
}
