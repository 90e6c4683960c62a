/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "number.h"

#include "verbs.h"

#include <stddef.h>

#define KEY(from, event, claim)                                    \
    (((unsigned)USHER_NUMBER_STATE_##from * USHER__NUMBER_EVENTS + \
      (unsigned)USHER__NUMBER_##event) *                           \
         USHER__CLAIMS +                                           \
     (unsigned)USHER__CLAIM_##claim)

/* A row for ANY is five rows. */
#define EACH_NONE(row, from, event, to, status) row(from, event, NONE, to, status)
#define EACH_HOLDER(row, from, event, to, status) row(from, event, HOLDER, to, status)
#define EACH_OTHER(row, from, event, to, status) row(from, event, OTHER, to, status)
#define EACH_STRICT(row, from, event, to, status) row(from, event, STRICT, to, status)
#define EACH_RESTING(row, from, event, to, status) row(from, event, RESTING, to, status)
#define EACH_ANY(row, from, event, to, status)                                   \
    row(from, event, NONE, to, status) row(from, event, HOLDER, to, status)      \
        row(from, event, OTHER, to, status) row(from, event, STRICT, to, status) \
            row(from, event, RESTING, to, status)

#define MOVE(from, event, claim, to, status) \
    [KEY(from, event, claim)] = { USHER_NUMBER_STATE_##to, USHER_##status, true },
static const struct usher__number_move moves[] = {
#define T(from, event, claim, to, status, why) EACH_##claim(MOVE, from, event, to, status)
#include "number.def"
};

#define CASE(from, event, claim, to, status) case KEY(from, event, claim):
/* Never called: two rows for the same case do not compile. */
void usher__number_rows_are_distinct(unsigned key);
void usher__number_rows_are_distinct(unsigned key)
{
    switch (key) {
#define T(from, event, claim, to, status, why) EACH_##claim(CASE, from, event, to, status)
#include "number.def"
    default:
        break;
    }
}

struct usher__number_move usher__number_move(unsigned from, unsigned event, unsigned claim)
{
    USHER_ASSERT(from < USHER__NUMBER_STATES && event < USHER__NUMBER_EVENTS &&
                 claim < USHER__CLAIMS);
    return moves[(from * USHER__NUMBER_EVENTS + event) * USHER__CLAIMS + claim];
}

#define USHER__CLAIM_ANY USHER__CLAIMS
static const struct usher__number_row rows[] = {
#define T(from, event, claim, to, status, why)                                \
    { USHER_NUMBER_STATE_##from, USHER__NUMBER_##event, USHER__CLAIM_##claim, \
      USHER_NUMBER_STATE_##to,   USHER_##status,        why },
#include "number.def"
};

bool usher__number_row(unsigned i, struct usher__number_row *ret_row)
{
    if (i >= sizeof rows / sizeof *rows)
        return false;
    *ret_row = rows[i];
    return true;
}

const char *const usher__number_state_words[] = {
#define S(name, code, word, text) [code] = word,
#include "number.def"
    [USHER__NUMBER_STATES] = NULL,
};
const char *const usher__number_list_words[] = {
#define S(name, code, word, text) [code] = word,
#include "number.def"
    [USHER_NUMBER_STATE_BUSY] = "busy",
    NULL,
};
static const char *const state_texts[] = {
#define S(name, code, word, text) [code] = text,
#include "number.def"
};
static const char *const event_words[] = {
#define E(name, code, word, text) [code] = word,
#include "number.def"
};
static const char *const event_texts[] = {
#define E(name, code, word, text) [code] = text,
#include "number.def"
};
static const char *const claim_words[] = { "none", "holder", "other", "strict", "resting", "any" };

#define S(name, code, word, text) \
    _Static_assert(USHER_NUMBER_STATE_##name == (code), "usher.h and number.def agree");
#include "number.def"

#define WORD(words, i) ((i) < sizeof(words) / sizeof *(words) ? (words)[i] : "?")

const char *usher_number_state_word(enum usher_number_state state)
{
    return (unsigned)state < USHER__NUMBER_STATES ? usher__number_state_words[state] : "?";
}

const char *usher__number_state_text(unsigned state)
{
    return WORD(state_texts, state);
}

const char *usher__number_event_word(unsigned event)
{
    return WORD(event_words, event);
}

const char *usher__number_event_text(unsigned event)
{
    return WORD(event_texts, event);
}

const char *usher__claim_word(unsigned claim)
{
    return WORD(claim_words, claim);
}

uint8_t usher__number_slots(unsigned state, int64_t until_ms)
{
    unsigned slots = 0;

    USHER_ASSERT(state < USHER__NUMBER_STATES && until_ms >= 0);
    if (state == USHER_NUMBER_STATE_IDLE_UP && until_ms == 0)
        slots |= 1u << USHER__NUMBER_IDLE;
    if (until_ms != 0)
        slots |= 1u << USHER__NUMBER_DUE;
    if (state == USHER_NUMBER_STATE_BUSY_UP || state == USHER_NUMBER_STATE_BUSY_DOWN)
        slots |= 1u << USHER__NUMBER_HELD;
    return (uint8_t)slots;
}

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

uint64_t usher__number_rank(int64_t order, uint64_t version)
{
    return order == USHER_NUMBER_ORDER_RANDOM ? usher__draw(version) : USHER__RANK_QUEUED;
}

/* Room for a billion calls a day, the largest cap; days begin far enough behind 0 to be at or above
 * USHER__RANK_CAPPED, and stay below 2^53 up to the year 9999. */
#define CALLS_BITS 30
#define DAYS_FROM 8

uint64_t usher__number_rank_capped(int64_t day, int64_t calls)
{
    int64_t most = (INT64_C(1) << CALLS_BITS) - 1;

    USHER_ASSERT(day >= -DAYS_FROM && calls >= 0);
    return (((uint64_t)day + DAYS_FROM) << CALLS_BITS) + (uint64_t)(calls < most ? calls : most);
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
    return daily > 0 && calls >= daily && day == usher__day(now_ms, zone_min);
}
