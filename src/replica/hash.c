/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "replica/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof(struct usher__hash), "room for the state of XXH3");
_Static_assert(_Alignof(XXH3_state_t) <= _Alignof(struct usher__hash), "and where it may be");

static XXH3_state_t *state(struct usher__hash *h)
{
    return (XXH3_state_t *)(void *)h->state;
}

static const XXH3_state_t *state_read(const struct usher__hash *h)
{
    return (const XXH3_state_t *)(const void *)h->state;
}

void usher__hash_begin(struct usher__hash *h)
{
    XXH3_INITSTATE(state(h));
    (void)XXH3_128bits_reset(state(h));
}

void usher__hash_int(struct usher__hash *h, uint64_t value)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    (void)XXH3_128bits_update(state(h), bytes, sizeof bytes);
}

void usher__hash_text(struct usher__hash *h, const struct usher_text *text)
{
    usher__hash_int(h, text->size);
    if (text->size != 0)
        (void)XXH3_128bits_update(state(h), text->data, text->size);
}

void usher__hash_end(const struct usher__hash *h, uint64_t *ret_low, uint64_t *ret_high)
{
    XXH128_hash_t hash = XXH3_128bits_digest(state_read(h));

    *ret_low = hash.low64;
    *ret_high = hash.high64;
}

void usher__hash_hex(const struct usher__hash *h, char ret_digest[33])
{
    static const char digits[] = "0123456789abcdef";
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_read(h)));
    for (size_t i = 0; i < 16; i++) {
        ret_digest[2 * i] = digits[canonical.digest[i] >> 4];
        ret_digest[2 * i + 1] = digits[canonical.digest[i] & 15];
    }
    ret_digest[32] = '\0';
}
