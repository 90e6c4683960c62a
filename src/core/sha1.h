/* SPDX-License-Identifier: MIT */
#ifndef USHER_CORE_SHA1_H
#define USHER_CORE_SHA1_H

#include <stddef.h>
#include <stdint.h>

/* The first 52 bits of the SHA-1 (FIPS 180-4) of @data: 13 of its 40 hex digits, so that Lua can
 * compute the same by redis.sha1hex() and hold it in a number.  Not a seal: it
 * distinguishes histories that are not forged. */
uint64_t usher__sha1_52(const void *data, size_t size);

#endif
