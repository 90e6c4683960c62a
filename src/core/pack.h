/* SPDX-License-Identifier: MIT */
/*
 * MessagePack, as much of it as commands and answers need.  Arrays, integers, texts and
 * nil are written as cmsgpack.pack() of Redis writes the same values, byte for byte, so that an
 * answer kept for a request id is the same on every store.
 */
#ifndef USHER_CORE_PACK_H
#define USHER_CORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/store.h>

/* Counts on when the room is used up, like snprintf: @n > @size means that it did not fit, and what
 * stands there is how it begins. */
struct usher__packer {
    unsigned char *to;
    size_t size, n;
};

void usher__pack_array(struct usher__packer *p, size_t n);
void usher__pack_int(struct usher__packer *p, int64_t value);
void usher__pack_uint(struct usher__packer *p, uint64_t value);
void usher__pack_text(struct usher__packer *p, const char *data, size_t size);
void usher__pack_nil(struct usher__packer *p);
/* In answers for programs (encode/encode.c) only. */
void usher__pack_map(struct usher__packer *p, size_t n);
void usher__pack_bytes(struct usher__packer *p, const char *data, size_t size);
void usher__pack_bool(struct usher__packer *p, bool value);
void usher__pack_double(struct usher__packer *p, double value);

/* @data as it is. */
void usher__pack_raw(struct usher__packer *p, const void *data, size_t size);
/* The same at @at, before the bytes that are there. */
void usher__pack_insert(struct usher__packer *p, size_t at, const void *data, size_t size);

/* Reading: usher_unpack_array() and so on, store.h. */

/* To read the @size bytes at @data: none if it is NULL, to which nothing may be added. */
static inline struct usher_unpacker usher__unpacker(const void *data, size_t size)
{
    const unsigned char *at = data;
    const struct usher_unpacker u = { at, at != NULL ? at + size : at };

    return u;
}

/* The same of packed fields. */
static inline struct usher_fields usher__fields(const struct usher_text *packed)
{
    const struct usher_unpacker u = usher__unpacker(packed->data, packed->size);
    const struct usher_fields f = { u.at, u.end, 0, false };

    return f;
}

#endif
