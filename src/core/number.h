/* SPDX-License-Identifier: MIT */
/*
 * The rules of a number pool, as pure functions: facts in, decision out.  Nothing here
 * allocates, does I/O, or knows the time.  Tables: number.def.
 */
#ifndef USHER_CORE_NUMBER_H
#define USHER_CORE_NUMBER_H

#include "machine.h"

enum usher__number_event {
#define E(name, code, word, text) USHER__NUMBER_##name = code,
#include "number.def"
};

enum usher__number_guard {
    USHER__NUMBER_IF_ANY = USHER__ANY,
#define G(name, code, word, text) USHER__NUMBER_IF_##name = code,
#include "number.def"
};

extern const struct usher__machine usher__number_machine;

/* Lists: free, registered and rested: call takes from here; something ends by itself; in a call. */
enum usher__number_slot { USHER__NUMBER_IDLE, USHER__NUMBER_DUE, USHER__NUMBER_HELD };

/*
 * Rank in the idle list.  Numbers that became idle while the pool was in random order have
 * a rank below USHER__RANK_QUEUED, drawn from the version at which they became idle.  All
 * others share that rank, in order of version.
 *
 * After all of them, from USHER__RANK_CAPPED on, come the numbers that have had their calls of the
 * day, ordered by day and number of calls.  So only the first of them needs a check: a higher cap,
 * or the next day, frees from the front.  Their rank keeps whether they were in random order, so a
 * changed cap brings them back to their place.
 */
#define USHER__RANK_QUEUED (UINT64_C(1) << 32)
#define USHER__RANK_CAPPED (USHER__RANK_QUEUED + 1)
uint64_t usher__number_rank_capped(int64_t day, int64_t calls, bool drawn);

/* Was a number with this rank, from USHER__RANK_CAPPED on, in random order? */
static inline bool usher__number_rank_drawn(uint64_t rank)
{
    return (rank & 1) != 0;
}

/* 32 well mixed bits of @version; 32-bit arithmetic only, for Lua does it as well. */
uint32_t usher__draw(uint64_t version);

/* How many numbers a draw at @version passes over: from 0 to USHER__DRAW_STEPS - 1. */
#define USHER__DRAW_STEPS 16
uint32_t usher__draw_step(uint64_t version);

/* Local days: number of the day of @now_ms, and when the next one begins. */
int64_t usher__day(int64_t now_ms, int64_t zone_min);
int64_t usher__day_end(int64_t now_ms, int64_t zone_min);

/* Is a number that has had @calls on local day @day over the cap @daily (0: there is none) at
 * @now_ms?  It is so until that day is over, also if the day has not begun:
 * the zone was another one then. */
bool usher__number_capped(int64_t now_ms, int64_t daily, int64_t calls, int64_t day,
                          int64_t zone_min);

#endif
