/* SPDX-License-Identifier: MIT */
/* A reader of MessagePack, after its specification and with nothing of the library: to JSON. */
#ifndef USHER_TESTS_PACKED_H
#define USHER_TESTS_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The one value that the @size bytes at @packed are, written to @f as usher --json would.  A str is
 * a string, and so is a bin of UTF-8; another bin is {"b64":"…"}.  An integer beyond 2^53 is a
 * string; a float 64 is written with four decimals.  False: it is not MessagePack, is of a type
 * that is not said here, or is not in its shortest form; or more bytes follow it.
 */
bool packed_print(const void *packed, size_t size, FILE *f);

#endif
