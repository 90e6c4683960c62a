/* SPDX-License-Identifier: MIT */
/*
 * Segments of integers: [next, end) in steps of `by`, handed out from the front.
 *
 * Ids are from 0 to USHER_ID_MAX = 2^63 - 1.  In a store a 64-bit number is two below 10^15
 * (struct usher__wide): Lua's are exact up to 2^53 only.  Nothing here wraps: whoever asks
 * for more than there is gets a refusal.
 */
#ifndef USHER_CORE_SEGMENT_H
#define USHER_CORE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/usher.h>

/* ---- 64 bits in two --------------------------------------------------------------- */

#define USHER__WIDE_BASE UINT64_C(1000000000000000)
/* Of hi: 18446 times the base fit into 64 bits. */
#define USHER__WIDE_HI_MAX 18446

struct usher__wide {
    int64_t hi, lo; /* hi * 10^15 + lo, lo < 10^15 */
};

static inline struct usher__wide usher__wide_split(uint64_t value)
{
    struct usher__wide w = { (int64_t)(value / USHER__WIDE_BASE),
                             (int64_t)(value % USHER__WIDE_BASE) };

    return w;
}

static inline uint64_t usher__wide_join(int64_t hi, int64_t lo)
{
    return (uint64_t)hi * USHER__WIDE_BASE + (uint64_t)lo;
}

/* Whether (hi, lo) is a number that a dispenser may have: at most a segment past the
 * largest id. */
bool usher__wide_sound(int64_t hi, int64_t lo);

/* Decimal digits of @value, with a NUL; returns how many.  -1 stands for none. */
#define USHER__WIDE_TEXT 21
unsigned usher__wide_text(int64_t value, char to[USHER__WIDE_TEXT]);
/* What that wrote.  False: it is none. */
bool usher__wide_read(const char *text, size_t size, int64_t *ret_value);

/* ---- segments --------------------------------------------------------------------- */

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

/* Of @size ids, how many may be used before the next segment is fetched: all but @share
 * percent. */
uint64_t usher__segment_mark(uint64_t size, unsigned share);

#endif
