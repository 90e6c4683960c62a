/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/packed.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#define EXACT_MAX (UINT64_C(1) << 53)

struct reader {
    const unsigned char *at, *end;
    FILE *f;
};

static bool value(struct reader *r, unsigned depth);

/* A number of @size bytes that a shorter form has no room for. */
static bool number(struct reader *r, unsigned size, uint64_t least, uint64_t *ret)
{
    *ret = 0;
    if ((size_t)(r->end - r->at) < size)
        return false;
    while (size-- > 0)
        *ret = *ret << 8 | *r->at++;
    return *ret >= least;
}

/* How many bytes at @at are a character; 0: none. */
static size_t character(const unsigned char *at, size_t left)
{
    size_t n = *at < 0x80   ? 1
               : *at < 0xc2 ? 0
               : *at < 0xe0 ? 2
               : *at < 0xf0 ? 3
               : *at < 0xf5 ? 4
                            : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
        (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
        return 0;
    return n;
}

/* False: it is not UTF-8. */
static bool text(struct reader *r, uint64_t size)
{
    if ((uint64_t)(r->end - r->at) < size)
        return false;
    fputc('"', r->f);
    for (const unsigned char *end = r->at + size; r->at < end;) {
        size_t n = character(r->at, (size_t)(end - r->at));

        if (n == 0)
            return false;
        if (*r->at < 0x20)
            fprintf(r->f, "\\u00%02x", *r->at);
        else if (n == 2 && memcmp(r->at, "\xc2\x85", 2) == 0)
            fputs("\\u0085", r->f);
        else if (n == 3 && memcmp(r->at, "\xe2\x80\xa8", 3) == 0)
            fputs("\\u2028", r->f);
        else if (n == 3 && memcmp(r->at, "\xe2\x80\xa9", 3) == 0)
            fputs("\\u2029", r->f);
        else if (*r->at == '"' || *r->at == '\\')
            fprintf(r->f, "\\%c", *r->at);
        else
            fwrite(r->at, 1, n, r->f);
        r->at += n;
    }
    fputc('"', r->f);
    return true;
}

/* A text, or where it is not UTF-8 {"b64":"…"}. */
static bool any(struct reader *r, uint64_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = r->at, *end = at + size;
    unsigned bits = 0, n = 0, wanted;

    if ((uint64_t)(r->end - at) < size)
        return false;
    while (at < end && (wanted = (unsigned)character(at, (size_t)(end - at))) != 0)
        at += wanted;
    if (at == end)
        return text(r, size);
    fputs("{\"b64\":\"", r->f);
    wanted = (unsigned)(size * 8 + 5) / 6;
    for (unsigned i = 0; i < wanted; i++) {
        if (n < 6) {
            bits = bits << 8 | (r->at < end ? *r->at++ : 0u);
            n += 8;
        }
        n -= 6;
        fputc(digits[bits >> n & 63u], r->f);
    }
    for (; wanted % 4 != 0; wanted++)
        fputc('=', r->f);
    fputs("\"}", r->f);
    return true;
}

static bool is_text(const struct reader *r)
{
    return r->at < r->end &&
           ((*r->at >= 0xa0 && *r->at <= 0xbf) || (*r->at >= 0xd9 && *r->at <= 0xdb));
}

static bool elements(struct reader *r, uint64_t n, bool map, unsigned depth)
{
    fputc(map ? '{' : '[', r->f);
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0)
            fputc(',', r->f);
        if (map) {
            if (!is_text(r) || !value(r, depth + 1))
                return false;
            fputc(':', r->f);
        }
        if (!value(r, depth + 1))
            return false;
    }
    fputc(map ? '}' : ']', r->f);
    return true;
}

static bool unsigned_print(struct reader *r, uint64_t n)
{
    return fprintf(r->f, n > EXACT_MAX ? "\"%" PRIu64 "\"" : "%" PRIu64, n) > 0;
}

/* @size bytes, less than @most. */
static bool negative(struct reader *r, unsigned size, int64_t most)
{
    uint64_t bits;
    int64_t n;

    if (!number(r, size, 0, &bits))
        return false;
    if (size < 8)
        bits |= UINT64_MAX << (size * 8);
    n = -(int64_t)~bits - 1;
    return n < most && bits >> 63 == 1 &&
           fprintf(r->f, -(uint64_t)n > EXACT_MAX ? "\"%" PRId64 "\"" : "%" PRId64, n) > 0;
}

static bool share(struct reader *r)
{
    uint64_t bits;
    double d;

    if (!number(r, 8, 0, &bits))
        return false;
    memcpy(&d, &bits, sizeof d);
    return fprintf(r->f, "%.4f", d) > 0;
}

static bool word(struct reader *r, const char *said)
{
    return fputs(said, r->f) >= 0;
}

static bool value(struct reader *r, unsigned depth)
{
    unsigned code = r->at < r->end ? *r->at++ : 0xc1;
    uint64_t n;

    if (depth > 16)
        return false;
    if (code <= 0x7f)
        return unsigned_print(r, code);
    if (code <= 0x8f)
        return elements(r, code & 0x0f, true, depth);
    if (code <= 0x9f)
        return elements(r, code & 0x0f, false, depth);
    if (code <= 0xbf)
        return text(r, code & 0x1f);
    if (code >= 0xe0)
        return fprintf(r->f, "%d", (int)code - 256) > 0;
    switch (code) {
    case 0xc0:
        return word(r, "null");
    case 0xc2:
        return word(r, "false");
    case 0xc3:
        return word(r, "true");
    case 0xc4:
        return number(r, 1, 0, &n) && any(r, n);
    case 0xc5:
        return number(r, 2, 0x100, &n) && any(r, n);
    case 0xc6:
        return number(r, 4, 0x10000, &n) && any(r, n);
    case 0xcb:
        return share(r);
    case 0xcc:
        return number(r, 1, 0x80, &n) && unsigned_print(r, n);
    case 0xcd:
        return number(r, 2, 0x100, &n) && unsigned_print(r, n);
    case 0xce:
        return number(r, 4, 0x10000, &n) && unsigned_print(r, n);
    case 0xcf:
        return number(r, 8, UINT64_C(0x100000000), &n) && unsigned_print(r, n);
    case 0xd0:
        return negative(r, 1, -32);
    case 0xd1:
        return negative(r, 2, INT8_MIN);
    case 0xd2:
        return negative(r, 4, INT16_MIN);
    case 0xd3:
        return negative(r, 8, INT32_MIN);
    case 0xd9:
        return number(r, 1, 32, &n) && text(r, n);
    case 0xda:
        return number(r, 2, 0x100, &n) && text(r, n);
    case 0xdb:
        return number(r, 4, 0x10000, &n) && text(r, n);
    case 0xdc:
        return number(r, 2, 16, &n) && elements(r, n, false, depth);
    case 0xdd:
        return number(r, 4, 0x10000, &n) && elements(r, n, false, depth);
    case 0xde:
        return number(r, 2, 16, &n) && elements(r, n, true, depth);
    case 0xdf:
        return number(r, 4, 0x10000, &n) && elements(r, n, true, depth);
    default:
        return false;
    }
}

bool packed_print(const void *packed, size_t size, FILE *f)
{
    struct reader r = { packed, (const unsigned char *)packed + size, f };

    return value(&r, 0) && r.at == r.end;
}
