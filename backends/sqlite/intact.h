/* SPDX-License-Identifier: MIT */
/* Whether the files of an open database are still those that SQLite has open: see intact.c. */
#ifndef USHER_SQLITE_INTACT_H
#define USHER_SQLITE_INTACT_H

#include <sqlite3.h>
#include <time.h>

#include "file.h"

/* The state that one connection keeps between its transactions. */
struct usher__sqlite_intact {
    /* the directory when all names in it were looked at */
    bool settled; /* a later change of a name in it changes its time */
    dev_t device;
    ino_t inode;
    struct timespec changed;
    /* the database file, and the checkpoints until then */
    bool idle; /* no checkpoint was at work, and the members below are set */
    struct timespec written;
    off_t size;
    uint32_t checkpoint[4];
    bool went_back;        /* a scope had a later version */
    const uint32_t *index; /* the beginning of the wal-index, which is shared; NULL: not known */
};

/* @db has the file of @place open, and has read from it. */
void usher__sqlite_intact_begin(struct usher__sqlite_intact *in, sqlite3 *db);

/* Call this after a commit, which may have restarted the log or made a checkpoint. */
void usher__sqlite_intact_committed(struct usher__sqlite_intact *in,
                                    const struct usher__sqlite_place *place);

/* Before a transaction.  USHER_OK; USHER_UNAVAILABLE: a part of the file was moved, deleted or
 * replaced, or (@write) the file was written by a program other than SQLite. */
enum usher_status usher__sqlite_intact(struct usher__sqlite_intact *in,
                                       const struct usher__sqlite_place *place, bool write,
                                       char message[192]);

#endif
