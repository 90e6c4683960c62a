/* SPDX-License-Identifier: MIT */
/*
 * MessagePack, as much of it as commands and answers need: arrays, integers, texts, nil.
 * What is written is what cmsgpack.pack() of Redis writes for the same values, byte for byte,
 * so that an answer kept for a request id is the same on every store.
 */
#ifndef USHER_CORE_PACK_H
#define USHER_CORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store.h>

/* Counts on when the room is used up, like snprintf: @n > @size means that it did not fit. */
struct usher__packer {
    unsigned char *to;
    size_t size, n;
};

void usher__pack_array(struct usher__packer *p, size_t n);
void usher__pack_int(struct usher__packer *p, int64_t value);
void usher__pack_uint(struct usher__packer *p, uint64_t value);
void usher__pack_text(struct usher__packer *p, const char *data, size_t size);
void usher__pack_nil(struct usher__packer *p);

/* Reading: usher_unpack_array() and so on, store.h. */

#endif
