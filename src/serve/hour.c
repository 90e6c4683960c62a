/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "serve/hour.h"

#include <string.h>

#include <usher/usher.h>

static int32_t *place(struct hour *h, unsigned series, int64_t minute)
{
    return &h->value[series][minute % HOUR_MINUTES];
}

void usher__hour_begin(struct hour *h, int64_t minute)
{
    memset(h, 0, sizeof *h);
    h->minute = minute;
    for (unsigned i = 0; i < HOUR_SERIES; i++)
        h->last[i] = h->base[i] = USHER_NONE;
}

/* Return the value of @series in the minute that is over. */
static int32_t closed(const struct hour *h, unsigned series, bool count)
{
    int64_t number = h->last[series], base = h->base[series];

    if (number != USHER_NONE && count)
        number = base == USHER_NONE ? USHER_NONE : number >= base ? number - base : number;
    if (number == USHER_NONE)
        return HOUR_UNKNOWN;
    return number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

size_t usher__hour_sample(struct hour *h, const int64_t sample[HOUR_SERIES], unsigned counts,
                          int64_t minute)
{
    int64_t over = minute - h->minute;

    for (unsigned i = 0; over > 0 && i < HOUR_SERIES; i++) {
        *place(h, i, h->minute) = closed(h, i, (counts >> i & 1u) != 0);
        for (int64_t m = 1; m < over && m < HOUR_MINUTES; m++)
            *place(h, i, h->minute + m) = HOUR_UNKNOWN;
        if (over > HOUR_MINUTES) /* its place is that of a minute without a sample */
            *place(h, i, h->minute) = HOUR_UNKNOWN;
        h->base[i] = over == 1 ? h->last[i] : USHER_NONE;
    }
    if (over > 0) {
        h->n = over < HOUR_MINUTES && h->n + (size_t)over < HOUR_MINUTES ? h->n + (size_t)over
                                                                         : HOUR_MINUTES;
        h->minute = minute;
    }
    memcpy(h->last, sample, sizeof h->last);
    return over > 0 ? (size_t)over : 0;
}

int32_t usher__hour_value(const struct hour *h, unsigned series, size_t ago)
{
    return h->value[series][(h->minute - (int64_t)ago) % HOUR_MINUTES];
}
