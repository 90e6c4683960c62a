/* SPDX-License-Identifier: MIT */
/* Our file as SQLite sees it: opening, the format and its history, what errors mean. */
#ifndef USHER_SQLITE_FILE_H
#define USHER_SQLITE_FILE_H

#include <sqlite3.h>
#include <sys/types.h>

#include <usher/store/store.h>

#include "sqlite.h"

/* In the file's header: whose it is ("ushr"), and the format of what is in it. */
#define USHER__SQLITE_APPLICATION 0x75736872
#define USHER__SQLITE_FORMAT 14

/* Bytes of a full path with its NUL; SQLite has no longer ones. */
#define USHER__SQLITE_PATH 1024

/* The database is three files while it is open: FILE, FILE-wal and FILE-shm. */
#define USHER__SQLITE_PARTS 3

/* The path and the identity of the file; read by any thread. */
struct usher__sqlite_place {
    char path[USHER__SQLITE_PATH]; /* full, whatever the working directory is by now */
    struct usher__sqlite_part {
        bool known; /* the two below; false if the VFS has files of its own */
        dev_t device;
        ino_t inode;
    } parts[USHER__SQLITE_PARTS];
    uint64_t identity; /* identity() of store.h */
};

/*
 * Open @path; a file that does not exist, or has nothing in it, becomes one of ours, an
 * older one is brought up to date.  Waits for other processes until *@deadline_ms, which has
 * to outlive the connection: every later wait looks there as well.
 *
 * Statuses of usher__sqlite_open().  *@ret_db is the caller's on USHER_OK only.
 */
enum usher_status usher__sqlite_file_open(const char *path, enum usher__sqlite_sync sync,
                                          const int64_t *deadline_ms, sqlite3 **ret_db,
                                          struct usher__sqlite_place *ret_place, char message[192]);

/* One more connection, to read from.  USHER_OK, USHER_UNAVAILABLE, USHER_NOMEM. */
enum usher_status usher__sqlite_file_again(const struct usher__sqlite_place *place,
                                           const int64_t *deadline_ms, sqlite3 **ret_db,
                                           char message[192]);

/* USHER_OK; USHER_UNAVAILABLE if a part of the file is no longer at its place: other processes
 * would open another one by the same name, and SQLite would not keep them and this one apart. */
enum usher_status usher__sqlite_file_moved(const struct usher__sqlite_place *place,
                                           char message[192]);

/* The status of the error @rc of @db: USHER_NOMEM or USHER_UNAVAILABLE; writes @message. */
enum usher_status usher__sqlite_failed(sqlite3 *db, int rc, char message[192]);

int usher__sqlite_execute(sqlite3 *db, const char *sql);
/* Directly after a call of SQLite: did it fail with @rc because the disk is full, a quota is used
 * up, or the file has the largest size that it may have?  If it was a COMMIT, the last page of the
 * transaction is not in the log. */
bool usher__sqlite_no_space(int rc);
/* A long reader, such as a backup, makes the write-ahead log grow.  The file becomes as small as
 * this when the log begins again. */
#define USHER__SQLITE_LOG_LIMIT "PRAGMA journal_size_limit = 4194304"

/* Before anything is read: nothing that is in the file's schema is done, and others are waited for
 * until *@deadline_ms. */
void usher__sqlite_mistrust(sqlite3 *db, const int64_t *deadline_ms);

/* Reads the kind of the file from its header and its schema.  USHER_OK, USHER_INVALID (no
 * database), and the statuses of usher__sqlite_failed(). */
enum usher_status usher__sqlite_marks(sqlite3 *db, int64_t *ret_application, int64_t *ret_format,
                                      bool *ret_empty, char message[192]);

/* @text as the one line that a message is, cut to fit. */
void usher__sqlite_say(char message[192], const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#endif
