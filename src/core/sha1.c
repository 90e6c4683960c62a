/* SPDX-License-Identifier: MIT */
#include "sha1.h"

#include <string.h>

static uint32_t turn(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void block(uint32_t h[5], const unsigned char *at)
{
    uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (unsigned i = 0; i < 80; i++) {
        uint32_t f, k, t;

        if (i < 16) {
            w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
            at += 4;
        } else {
            w[i % 16] = turn(w[(i + 13) % 16] ^ w[(i + 8) % 16] ^ w[(i + 2) % 16] ^ w[i % 16], 1);
        }
        if (i < 20) {
            f = (b & c) | (~b & d);
            k = UINT32_C(0x5a827999);
        } else if (i < 40) {
            f = b ^ c ^ d;
            k = UINT32_C(0x6ed9eba1);
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = UINT32_C(0x8f1bbcdc);
        } else {
            f = b ^ c ^ d;
            k = UINT32_C(0xca62c1d6);
        }
        t = turn(a, 5) + f + e + k + w[i % 16];
        e = d;
        d = c;
        c = turn(b, 30);
        b = a;
        a = t;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

uint64_t usher__sha1_52(const void *data, size_t size)
{
    uint32_t h[5] = { UINT32_C(0x67452301), UINT32_C(0xefcdab89), UINT32_C(0x98badcfe),
                      UINT32_C(0x10325476), UINT32_C(0xc3d2e1f0) };
    unsigned char last[128] = { 0 };
    const unsigned char *at = data;
    size_t left = size, padded;
    uint64_t bits = (uint64_t)size * 8;

    for (; left >= 64; left -= 64, at += 64)
        block(h, at);
    if (left != 0)
        memcpy(last, at, left);
    last[left] = 0x80;
    padded = left < 56 ? 64 : 128;
    for (size_t i = 0; i < 8; i++)
        last[padded - 1 - i] = (unsigned char)(bits >> (8 * i));
    for (size_t i = 0; i < padded; i += 64)
        block(h, last + i);
    return (uint64_t)h[0] << 20 | h[1] >> 12;
}
