/* SPDX-License-Identifier: MIT */
#ifndef USHER_REDIS_SHA1_H
#define USHER_REDIS_SHA1_H

#include <stddef.h>

/* Write the SHA-1 of @text as hex digits, with a NUL. */
void usher__redis_sha1(const char *text, size_t size, char hex[41]);

#endif
