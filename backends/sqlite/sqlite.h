/* SPDX-License-Identifier: MIT */
/*
 * The store `sqlite:PATH[?sync=full|normal|off]`: one file, any number of processes.
 */
#ifndef USHER_SQLITE_SQLITE_H
#define USHER_SQLITE_SQLITE_H

#include <usher/store/store.h>

/*
 * The driver of `sqlite:`.
 *
 *   USHER_INVALID      PATH is empty or badly escaped, `sync` is no known word; the file is no
 *                      database, that of another program, or of a newer usher
 *   USHER_UNAVAILABLE  it cannot be opened or written, is damaged, or stays locked
 *   USHER_NOMEM
 *
 * A file that is not ours is left as it is.
 */
enum usher_status usher__sqlite_open(void *payload, struct usher_url *url,
                                     const struct usher_options *opt, int64_t deadline_ms,
                                     struct usher_store **ret_store, char message[192]);

/* The values of `sync`: after a loss of power, answered commands are there; the latest may be
 * missing and the file is valid; the file may be damaged. */
enum usher__sqlite_sync { USHER__SYNC_FULL, USHER__SYNC_NORMAL, USHER__SYNC_OFF };

/* The record store alone, on the file @path, for at most until @deadline_ms; statuses as
 * above.  @alloc NULL: malloc. */
enum usher_status usher__sqlite_records(const char *path, enum usher__sqlite_sync sync,
                                        const struct usher_allocator *alloc, int64_t deadline_ms,
                                        struct usher_record_store **ret_records, char message[192]);

#endif
