/* SPDX-License-Identifier: MIT */
/*
 * The last hour of a scope by minutes of the wall clock.
 *
 *     minutes:  … 11:58  11:59  | 12:00           a sample within 12:00 is `last`; the first one in
 *     kept:     …   3      2    | not over        12:01 closes 12:00
 *
 * A gauge has its last sample of the minute, a count the difference of its last samples of the
 * minute and of the one before.  Minutes without a sample are not known, and neither is a count of
 * the minute after them.
 */
#ifndef USHER_SERVE_HOUR_H
#define USHER_SERVE_HOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOUR_SERIES 3
#define HOUR_MINUTES 60
#define HOUR_UNKNOWN (-1)

struct hour {
    int64_t minute; /* that is not over; minutes since 1970 */
    size_t n;       /* minutes before it that are kept */
    int64_t last[HOUR_SERIES];
    int64_t base[HOUR_SERIES]; /* `last` when the minute began; USHER_NONE: it is not known */
    int32_t value[HOUR_SERIES][HOUR_MINUTES];
};

/* Begin at @minute, without a sample. */
void usher__hour_begin(struct hour *h, int64_t minute);
/* Take a sample in @minute, which is not before that of the last one; USHER_NONE is not known.
 * Series whose bit is in @counts are counts; one that is less than before began again at 0.
 * Return the minutes that are closed now. */
size_t usher__hour_sample(struct hour *h, const int64_t sample[HOUR_SERIES], unsigned counts,
                          int64_t minute);
/* Return the value of @series in the minute @ago before the one that is not over, from 1 to @h->n;
 * HOUR_UNKNOWN: it is not known. */
int32_t usher__hour_value(const struct hour *h, unsigned series, size_t ago);

#endif
