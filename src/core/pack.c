/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "pack.h"

#include <string.h>

/* ---- writing ---------------------------------------------------------------------- */

void usher__pack_raw(struct usher__packer *p, const void *data, size_t size)
{
    if (p->n < p->size && size != 0)
        memcpy(p->to + p->n, data, size < p->size - p->n ? size : p->size - p->n);
    p->n += size;
}

void usher__pack_insert(struct usher__packer *p, size_t at, const void *data, size_t size)
{
    size_t there = p->n < p->size ? p->n : p->size;

    if (at + size < p->size && at < there)
        memmove(p->to + at + size, p->to + at,
                there - at < p->size - at - size ? there - at : p->size - at - size);
    there = p->n;
    p->n = at;
    usher__pack_raw(p, data, size);
    p->n = there + size;
}

/* @code, then the low @bytes bytes of @value, the highest first. */
static void put_code(struct usher__packer *p, unsigned code, uint64_t value, unsigned bytes)
{
    unsigned char out[9];

    USHER_ASSERT(bytes < sizeof out);
    out[0] = (unsigned char)code;
    for (unsigned i = 0; i < bytes; i++)
        out[1 + i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
    usher__pack_raw(p, out, 1 + bytes);
}

void usher__pack_array(struct usher__packer *p, size_t n)
{
    if (n <= 15)
        put_code(p, 0x90u | (unsigned)n, 0, 0);
    else if (n <= 0xffff)
        put_code(p, 0xdc, n, 2);
    else
        put_code(p, 0xdd, n, 4);
}

void usher__pack_map(struct usher__packer *p, size_t n)
{
    if (n <= 15)
        put_code(p, 0x80u | (unsigned)n, 0, 0);
    else if (n <= 0xffff)
        put_code(p, 0xde, n, 2);
    else
        put_code(p, 0xdf, n, 4);
}

void usher__pack_uint(struct usher__packer *p, uint64_t value)
{
    if (value <= 0x7f)
        put_code(p, (unsigned)value, 0, 0);
    else if (value <= 0xff)
        put_code(p, 0xcc, value, 1);
    else if (value <= 0xffff)
        put_code(p, 0xcd, value, 2);
    else if (value <= UINT32_MAX)
        put_code(p, 0xce, value, 4);
    else
        put_code(p, 0xcf, value, 8);
}

void usher__pack_int(struct usher__packer *p, int64_t value)
{
    if (value >= 0)
        usher__pack_uint(p, (uint64_t)value);
    else if (value >= -32)
        put_code(p, (unsigned)(value & 0xff), 0, 0);
    else if (value >= INT8_MIN)
        put_code(p, 0xd0, (uint64_t)value, 1);
    else if (value >= INT16_MIN)
        put_code(p, 0xd1, (uint64_t)value, 2);
    else if (value >= INT32_MIN)
        put_code(p, 0xd2, (uint64_t)value, 4);
    else
        put_code(p, 0xd3, (uint64_t)value, 8);
}

void usher__pack_text(struct usher__packer *p, const char *data, size_t size)
{
    if (size <= 31)
        put_code(p, 0xa0u | (unsigned)size, 0, 0);
    else if (size <= 0xff)
        put_code(p, 0xd9, size, 1);
    else if (size <= 0xffff)
        put_code(p, 0xda, size, 2);
    else
        put_code(p, 0xdb, size, 4);
    usher__pack_raw(p, data, size);
}

void usher__pack_bytes(struct usher__packer *p, const char *data, size_t size)
{
    if (size <= 0xff)
        put_code(p, 0xc4, size, 1);
    else if (size <= 0xffff)
        put_code(p, 0xc5, size, 2);
    else
        put_code(p, 0xc6, size, 4);
    usher__pack_raw(p, data, size);
}

void usher__pack_nil(struct usher__packer *p)
{
    put_code(p, 0xc0, 0, 0);
}

void usher__pack_bool(struct usher__packer *p, bool value)
{
    put_code(p, value ? 0xc3 : 0xc2, 0, 0);
}

void usher__pack_double(struct usher__packer *p, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_code(p, 0xcb, bits, 8);
}

/* ---- reading ---------------------------------------------------------------------- */

/* The @bytes bytes after the code. */
static bool take(struct usher_unpacker *u, unsigned bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if ((size_t)(u->end - u->at) < 1 + bytes)
        return false;
    for (unsigned i = 1; i <= bytes; i++)
        value = value << 8 | u->at[i];
    u->at += 1 + bytes;
    *ret = value;
    return true;
}

/* A size after its own code; @fixed codes from @first on contain it. */
static bool take_size(struct usher_unpacker *u, unsigned first, unsigned fixed, unsigned code8,
                      unsigned code16, uint64_t *ret)
{
    unsigned code;

    if (u->at == u->end)
        return false;
    code = *u->at;
    if (code >= first && code < first + fixed) {
        *ret = code - first;
        u->at++;
        return true;
    }
    if (code8 != 0 && code == code8)
        return take(u, 1, ret);
    return (code == code16 && take(u, 2, ret)) || (code == code16 + 1 && take(u, 4, ret));
}

bool usher_unpack_array(struct usher_unpacker *u, size_t *ret_n)
{
    struct usher_unpacker copy = *u;
    uint64_t n;

    /* each value has a byte at least */
    if (!take_size(&copy, 0x90, 16, 0, 0xdc, &n) || n > (size_t)(copy.end - copy.at))
        return false;
    *u = copy;
    *ret_n = (size_t)n;
    return true;
}

bool usher_unpack_text(struct usher_unpacker *u, struct usher_text *ret)
{
    struct usher_unpacker copy = *u;
    uint64_t size;

    if (!take_size(&copy, 0xa0, 32, 0xd9, 0xda, &size) || size > (size_t)(copy.end - copy.at))
        return false;
    ret->data = (const char *)copy.at;
    ret->size = (size_t)size;
    u->at = copy.at + size;
    u->end = copy.end;
    return true;
}

/* A signed number of @bytes bytes. */
static bool take_signed(struct usher_unpacker *u, unsigned bytes, int64_t *ret)
{
    uint64_t value, sign = UINT64_C(1) << (8 * bytes - 1);

    if (!take(u, bytes, &value))
        return false;
    if ((value & sign) != 0)
        value |= ~(sign | (sign - 1));
    *ret = (int64_t)value; /* two's complement, as everywhere */
    return true;
}

bool usher_unpack_uint(struct usher_unpacker *u, uint64_t *ret)
{
    struct usher_unpacker copy = *u;
    int64_t value;

    if (u->at == u->end)
        return false;
    if (*u->at <= 0x7f) {
        *ret = *u->at++;
        return true;
    }
    switch (*u->at) {
    case 0xcc:
        return take(u, 1, ret);
    case 0xcd:
        return take(u, 2, ret);
    case 0xce:
        return take(u, 4, ret);
    case 0xcf:
        return take(u, 8, ret);
    default:
        if (!usher_unpack_int(&copy, &value) || value < 0)
            return false;
        *ret = (uint64_t)value;
        *u = copy;
        return true;
    }
}

bool usher_unpack_int(struct usher_unpacker *u, int64_t *ret)
{
    struct usher_unpacker copy = *u;
    uint64_t value;

    if (u->at == u->end)
        return false;
    if (*u->at >= 0xe0) {
        *ret = (int64_t)*u->at++ - 256;
        return true;
    }
    if (*u->at >= 0xd0 && *u->at <= 0xd3)
        return take_signed(u, 1u << (*u->at - 0xd0), ret);
    if ((*u->at > 0x7f && (*u->at < 0xcc || *u->at > 0xcf)) || !usher_unpack_uint(&copy, &value) ||
        value > INT64_MAX)
        return false;
    *u = copy;
    *ret = (int64_t)value;
    return true;
}
