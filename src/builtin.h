/* SPDX-License-Identifier: MIT */
/* Drivers that are built into the library. */
#ifndef USHER_BUILTIN_H
#define USHER_BUILTIN_H

#include <usher/store/authority.h>
#include <usher/store/history.h>
#include <usher/store/store.h>

extern const struct usher_driver usher__builtin_drivers[]; /* the last one has no scheme */

/* Open an authority, and a history, in the SQLite file at @path.  NULL: built without SQLite. */
typedef enum usher_status usher__builtin_authority_fn(const char *path,
                                                      const struct usher_allocator *alloc,
                                                      struct usher_authority **ret_authority,
                                                      char message[192]);
typedef enum usher_status usher__builtin_history_fn(const char *path,
                                                    const struct usher_allocator *alloc,
                                                    struct usher_history **ret_history,
                                                    char message[192]);
extern usher__builtin_authority_fn *const usher__builtin_authority;
extern usher__builtin_history_fn *const usher__builtin_history;

/* Write the script of @noun for direct calls, as usher_lua() does.  NULL: built without Redis. */
typedef enum usher_status usher__builtin_script_fn(const char *noun, char *buffer, size_t size,
                                                   size_t *ret_length);
extern usher__builtin_script_fn *const usher__builtin_direct_script;

#endif
