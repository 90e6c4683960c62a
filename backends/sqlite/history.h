/* SPDX-License-Identifier: MIT */
/* The history on SQLite: a file of its own, any number of queues and processes. */
#ifndef USHER_SQLITE_HISTORY_H
#define USHER_SQLITE_HISTORY_H

#include <usher/store/history.h>

/* USHER_OK, USHER_INVALID (the path), USHER_NOMEM. */
enum usher_status usher__sqlite_history(const char *path, const struct usher_allocator *alloc,
                                        struct usher_history **ret_history, char message[192]);

#endif
