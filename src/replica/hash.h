/* SPDX-License-Identifier: MIT */
/*
 * The hash of digests: XXH3 over integers as 8 bytes, lowest first, and over texts, each after its
 * size.  The streaming half of XXH3 is 14 KiB of code, and stands in one object file.
 */
#ifndef USHER_REPLICA_HASH_H
#define USHER_REPLICA_HASH_H

#include <stdint.h>

#include <usher/usher.h>

struct usher__hash {
    _Alignas(64) unsigned char state[576];
};

void usher__hash_begin(struct usher__hash *h);
void usher__hash_int(struct usher__hash *h, uint64_t value);
void usher__hash_text(struct usher__hash *h, const struct usher_text *text);

/* The 128 bits of what was hashed so far; as 32 hex digits. */
void usher__hash_end(const struct usher__hash *h, uint64_t *ret_low, uint64_t *ret_high);
void usher__hash_hex(const struct usher__hash *h, char ret_digest[33]);

#endif
