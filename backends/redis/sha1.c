/* SPDX-License-Identifier: MIT */
/* SHA-1 (FIPS 180-4), by which servers name scripts.  The library has 52 bits of it (core/sha1.h),
 * but a store uses installed headers only. */
#include "config.h"

#include "sha1.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void add_block(uint32_t h[5], const unsigned char *at)
{
    uint32_t w[80], v[5];

    memcpy(v, h, sizeof v);
    for (unsigned i = 0; i < 16; i++, at += 4)
        w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f = w[i] + v[4] + rotate(v[0], 5);

        if (i < 20)
            f += ((v[1] & v[2]) | (~v[1] & v[3])) + UINT32_C(0x5a827999);
        else if (i < 40)
            f += (v[1] ^ v[2] ^ v[3]) + UINT32_C(0x6ed9eba1);
        else if (i < 60)
            f += ((v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])) + UINT32_C(0x8f1bbcdc);
        else
            f += (v[1] ^ v[2] ^ v[3]) + UINT32_C(0xca62c1d6);
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = f;
    }
    for (unsigned i = 0; i < 5; i++)
        h[i] += v[i];
}

void usher__redis_sha1(const char *text, size_t size, char hex[41])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t h[5] = { UINT32_C(0x67452301), UINT32_C(0xefcdab89), UINT32_C(0x98badcfe),
                      UINT32_C(0x10325476), UINT32_C(0xc3d2e1f0) };
    unsigned char last[2 * BLOCK] = { 0 };
    size_t rest = size % BLOCK, padded = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;

    for (size_t i = 0; i < size / BLOCK; i++)
        add_block(h, (const unsigned char *)text + i * BLOCK);
    /* what is left, one bit, and the number of all bits before it */
    memcpy(last, text + (size - rest), rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[padded - 1 - i] = (unsigned char)((uint64_t)size * 8 >> (8 * i) & 0xff);
    for (size_t i = 0; i < padded; i += BLOCK)
        add_block(h, last + i);
    for (unsigned i = 0; i < 40; i++)
        hex[i] = digits[h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[40] = '\0';
}
