/* SPDX-License-Identifier: MIT */
/*
 * A file beside those of stores (an authority, a history): one connection under a lock.  The
 * first use opens it, so a store can be opened while the file cannot be reached.  It is in WAL mode
 * and commits with synchronous=FULL: with less, SQLite may roll back an answered commit on power
 * loss.
 */
#ifndef USHER_SQLITE_AUX_DB_H
#define USHER_SQLITE_AUX_DB_H

#include <pthread.h>

#include "file.h"

/* The purpose of a file; static. */
struct usher__aux_db_kind {
    const char *what; /* "an authority" */
    int application;  /* in the file's header */
    int format;       /* of what is in it; others are not read */
    const char *schema;
};

struct usher__aux_db {
    const struct usher__aux_db_kind *kind;
    const struct usher_allocator *alloc;
    pthread_mutex_t lock; /* of all below: one thread at a time uses the connection */
    sqlite3 *db;          /* NULL: not open (any more) */
    int64_t deadline_ms;
    char path[USHER__SQLITE_PATH];
};

/* Memory of @size bytes, zeroed, with a struct usher__aux_db at the offset @at.  NULL:
 * *@ret_status says why: USHER_INVALID (the path) or USHER_NOMEM. */
void *usher__aux_db_new(const struct usher__aux_db_kind *kind, const char *path,
                        const struct usher_allocator *alloc, size_t size, size_t at,
                        enum usher_status *ret_status, char message[192]);

/* Close it and free @owner, the memory of @size bytes that it is in.  @child: of fork(), where the
 * parent's file is left alone. */
void usher__aux_db_close(struct usher__aux_db *s, void *owner, size_t size, bool child);

/* Begin a transaction.  Takes the lock in any case; end() gives it back. */
enum usher_status usher__aux_db_begin(struct usher__aux_db *s, bool write, int64_t deadline_ms,
                                      char message[192]);

/* @status USHER_OK or USHER_FULL: commit; else roll back.  USHER_UNKNOWN: it may have been
 * committed. */
enum usher_status usher__aux_db_end(struct usher__aux_db *s, enum usher_status status,
                                    char message[192]);

enum usher_status usher__aux_db_prepare(struct usher__aux_db *s, const char *sql,
                                        sqlite3_stmt **ret, char message[192]);

/* After the last step, which returned @rc. */
enum usher_status usher__aux_db_finish(struct usher__aux_db *s, sqlite3_stmt *st, int rc,
                                       char message[192]);

#endif
