/* SPDX-License-Identifier: MIT */
/* The authority on SQLite: a file of its own, any number of processes. */
#ifndef USHER_SQLITE_AUTHORITY_H
#define USHER_SQLITE_AUTHORITY_H

#include <usher/store/authority.h>

/* The first use opens @path, so a store can be opened while its authority cannot be reached.
 * USHER_OK, USHER_INVALID (the path), USHER_NOMEM. */
enum usher_status usher__sqlite_authority(const char *path, const struct usher_allocator *alloc,
                                          struct usher_authority **ret_authority,
                                          char message[192]);

#endif
