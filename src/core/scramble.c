/* SPDX-License-Identifier: MIT */
/*
 * A keyed bijection on a range: a Feistel network on the smallest domain of 2^(2*bits) that
 * holds the range, walked until it comes out inside of it.  Walking back from inside ends at
 * the same place, so it stays a bijection; at most three numbers of four lie outside.
 *
 * The round function mixes as hash functions do, by multiplying and shifting.  Eight rounds
 * make neighbours look unrelated; they do not make a cipher.
 */
#include "config.h"

#include <string.h>

#include <usher/usher.h>

#define ROUNDS 8

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 29;
    x *= UINT64_C(0xa0761d6478bd642f);
    return x ^ x >> 32;
}

enum usher_status usher_scramble_init(struct usher_scrambler *s, const void *key, size_t key_size,
                                      int64_t first, int64_t last)
{
    const unsigned char *bytes = key;
    uint64_t state;

    if (s == NULL || key == NULL || key_size == 0 || first < 0 || last < first)
        return USHER_INVALID;
    memset(s, 0, sizeof *s);
    s->first = (uint64_t)first;
    s->size = (uint64_t)last - (uint64_t)first + 1;
    s->bits = 1;
    while (s->bits < 32 && (s->size - 1) >> (2 * s->bits) != 0)
        s->bits++;
    state = mix(key_size);
    for (size_t i = 0; i < key_size; i++)
        state = mix(state ^ bytes[i]) + UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < ROUNDS; i++)
        s->keys[i] = state = mix(state + UINT64_C(0x9e3779b97f4a7c15));
    return USHER_OK;
}

static uint64_t turn(const struct usher_scrambler *s, uint64_t x, bool back)
{
    uint64_t mask = (UINT64_C(1) << s->bits) - 1;
    uint64_t left = x >> s->bits, right = x & mask, other;

    for (int i = 0; i < ROUNDS; i++) {
        if (back) {
            other = right ^ (mix(left ^ s->keys[ROUNDS - 1 - i]) & mask);
            right = left;
            left = other;
        } else {
            other = left ^ (mix(right ^ s->keys[i]) & mask);
            left = right;
            right = other;
        }
    }
    return left << s->bits | right;
}

static int64_t walk(const struct usher_scrambler *s, int64_t id, bool back)
{
    uint64_t x = (uint64_t)id - s->first;

    USHER_ASSERT(s->bits >= 1 && s->bits <= 32 && s->size > 0);
    if (id < 0 || (uint64_t)id < s->first || x >= s->size)
        return -1;
    do
        x = turn(s, x, back);
    while (x >= s->size);
    return (int64_t)(s->first + x);
}

int64_t usher_scramble(const struct usher_scrambler *s, int64_t id)
{
    return walk(s, id, false);
}

int64_t usher_unscramble(const struct usher_scrambler *s, int64_t code)
{
    return walk(s, code, true);
}
