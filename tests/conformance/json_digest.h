/* SPDX-License-Identifier: MIT */
/*
 * The digest of a room, computed from the JSON of its snapshot alone: what a browser does.  Shares
 * no code with the library; the form of the digest is that of room.h.
 */
#ifndef USHER_TESTS_JSON_DIGEST_H
#define USHER_TESTS_JSON_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

/* @pages are @n answers to `room snapshot versions=1`, as JSON with a NUL.  False: they are not
 * that. */
bool json_digest(char *const *pages, size_t n, char ret_digest[33]);

#endif
