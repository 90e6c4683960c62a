/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "model/packer.h"

#include <stdlib.h>

void put_byte(struct packed *p, unsigned b)
{
    if (p->n == p->room) {
        p->room = p->room * 2 + 64;
        p->at = realloc(p->at, p->room);
        if (p->at == NULL)
            abort();
    }
    p->at[p->n++] = (unsigned char)b;
}

static void put_big(struct packed *p, unsigned tag, uint64_t value, unsigned bytes)
{
    put_byte(p, tag);
    while (bytes-- > 0)
        put_byte(p, (unsigned)(value >> (8 * bytes)) & 0xff);
}

void put_uint(struct packed *p, uint64_t value)
{
    if (value < 128)
        put_byte(p, (unsigned)value);
    else if (value < 256)
        put_big(p, 0xcc, value, 1);
    else if (value < 65536)
        put_big(p, 0xcd, value, 2);
    else if (value < UINT64_C(1) << 32)
        put_big(p, 0xce, value, 4);
    else
        put_big(p, 0xcf, value, 8);
}

void put_text(struct packed *p, const struct usher_text *t)
{
    if (t->size < 32)
        put_byte(p, 0xa0 | (unsigned)t->size);
    else if (t->size < 256)
        put_big(p, 0xd9, t->size, 1);
    else if (t->size < 65536)
        put_big(p, 0xda, t->size, 2);
    else
        put_big(p, 0xdb, t->size, 4);
    for (size_t i = 0; i < t->size; i++)
        put_byte(p, (unsigned char)t->data[i]);
}

void put_array(struct packed *p, size_t n)
{
    if (n < 16)
        put_byte(p, 0x90 | (unsigned)n);
    else
        put_big(p, 0xdc, n, 2);
}

void put_notice(struct packed *p, const struct usher_notice *n)
{
    put_array(p, 12);
    put_uint(p, (uint64_t)n->verb);
    put_uint(p, n->version);
    put_uint(p, n->from);
    put_uint(p, n->to);
    put_uint(p, n->token);
    put_uint(p, (uint64_t)n->until_ms);
    put_uint(p, (uint64_t)n->now_ms);
    put_text(p, &n->owner);
    put_text(p, &n->subject);
    put_text(p, &n->data);
    put_uint(p, n->was);
    put_uint(p, n->mark);
}
