/* SPDX-License-Identifier: MIT */
/*
 * Segments of integers: [next, end) in steps of `by`, handed out from the front.
 *
 * Ids are from 0 to USHER_ID_LIMIT_MAX = 2^63 - 1.  Nothing here wraps: a request for more
 * than there is gets a refusal.
 */
#ifndef USHER_CORE_SEGMENT_H
#define USHER_CORE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "wide.h"

/* No counter of a dispenser is larger: a segment and a bit past the largest id. */
#define USHER__SEGMENT_MAX ((uint64_t)USHER_ID_LIMIT_MAX + UINT64_C(2000000000000000))

struct usher__segment {
    uint64_t next;  /* the id that is given next */
    uint64_t end;   /* no id of the segment is as large */
    uint64_t limit; /* nor larger than this */
    uint64_t by;    /* between two ids */
};

/*
 * Take @n >= 1 ids that follow on each other, by*n <= 10^15.  USHER_OK: the first is
 * *@ret_first.  USHER_FULL: they would pass the limit.  USHER_EMPTY: the segment has fewer.
 */
enum usher_status usher__segment_carve(struct usher__segment *g, uint64_t n, uint64_t *ret_first);

/* How many there are up to the limit, at most @most (by * most <= 10^15). */
uint64_t usher__segment_rest(const struct usher__segment *g, uint64_t most);

/* Make the segment longer by @step ids, or so much that @n fit. */
void usher__segment_extend(struct usher__segment *g, uint64_t n, uint64_t step);

/*
 * How many ids to ask for next, when the last segment lasted @lasted ms and should have lasted
 * @life: twice as many when it was shorter, half as many when it was twice as long or more;
 * from @least to @most.  @life 0: it stays.
 */
int64_t usher__segment_step(int64_t step, int64_t lasted, int64_t life, int64_t least,
                            int64_t most);

/* The ids of @size that may be used before the next segment is fetched: all but @share percent. */
uint64_t usher__segment_mark(uint64_t size, unsigned share);

#endif
