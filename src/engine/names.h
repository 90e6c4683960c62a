/* SPDX-License-Identifier: MIT */
/* Sets of names that the audit compares. */
#ifndef USHER_ENGINE_NAMES_H
#define USHER_ENGINE_NAMES_H

#include <usher/usher.h>

/* Names, each after its size. */
struct usher__names {
    unsigned char *bytes;
    size_t size, room, n;
};

enum usher_status usher__names_add(const struct usher_allocator *alloc, struct usher__names *names,
                                   const struct usher_text *name);
void usher__names_done(const struct usher_allocator *alloc, const struct usher__names *names);

/* Write the names to @to, in order.  Each is a byte with its size, and the name. */
void usher__names_list(const struct usher__names *names, const unsigned char **to);
/* Compare two elements of such a list. */
int usher__names_order(const void *a, const void *b);

#endif
