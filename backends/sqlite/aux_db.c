/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "aux_db.h"

#include <stdio.h>
#include <string.h>

/* ---- opening ------------------------------------------------------------------------ */

/* Make the tables, unless they are there.  Within a transaction. */
static enum usher_status make_tables(const struct usher__aux_db_kind *kind, sqlite3 *db,
                                     char message[192])
{
    int64_t application, format;
    bool empty;
    char marks[80];
    enum usher_status status = usher__sqlite_marks(db, &application, &format, &empty, message);
    int rc;

    if (status != USHER_OK)
        return status;
    if (application == kind->application && format == kind->format)
        return USHER_OK;
    if (!empty) {
        if (application == kind->application)
            usher__sqlite_say(message, "the file has the format of an older or newer usher");
        else
            usher__sqlite_say(message, "the file does not belong to %s", kind->what);
        return USHER_INVALID;
    }
    rc = usher__sqlite_execute(db, kind->schema);
    (void)snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                   kind->application, kind->format);
    if (rc == SQLITE_OK)
        rc = usher__sqlite_execute(db, marks);
    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(db, rc, message);
}

static enum usher_status set_up(struct usher__aux_db *s, sqlite3 *db, char message[192])
{
    enum usher_status status;
    int rc;

    usher__sqlite_mistrust(db, &s->deadline_ms);
    rc = usher__sqlite_execute(
        db, "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON;" USHER__SQLITE_LOG_LIMIT);
    if (rc == SQLITE_OK)
        rc = usher__sqlite_execute(db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_NOTADB) {
        usher__sqlite_say(message, "the file is not a database");
        return USHER_INVALID;
    }
    if (rc != SQLITE_OK)
        return usher__sqlite_failed(db, rc, message);
    status = make_tables(s->kind, db, message);
    rc = usher__sqlite_execute(db, status == USHER_OK ? "COMMIT" : "ROLLBACK");
    if (status == USHER_OK && rc != SQLITE_OK)
        status = usher__sqlite_failed(db, rc, message);
    if (!sqlite3_get_autocommit(db))
        (void)usher__sqlite_execute(db, "ROLLBACK");
    if (status != USHER_OK)
        return status;
    /* once it is known to be ours; where it cannot be, the rollback journal does as well */
    rc = usher__sqlite_execute(db, "PRAGMA journal_mode = WAL");
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY ? USHER_OK
                                                         : usher__sqlite_failed(db, rc, message);
}

/* Under the lock. */
static enum usher_status open_file(struct usher__aux_db *s, char message[192])
{
    sqlite3 *db = NULL;
    enum usher_status status;
    int rc;

    if (s->db != NULL)
        return USHER_OK;
    rc = sqlite3_open_v2(s->path, &db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    status = rc == SQLITE_OK ? set_up(s, db, message) : usher__sqlite_failed(db, rc, message);
    if (status == USHER_OK)
        s->db = db;
    else
        (void)sqlite3_close(db);
    /* a file of others: of no use, and nothing was raised */
    return status == USHER_INVALID ? USHER_UNAVAILABLE : status;
}

/* ---- transactions ------------------------------------------------------------------- */

enum usher_status usher__aux_db_begin(struct usher__aux_db *s, bool write, int64_t deadline_ms,
                                      char message[192])
{
    enum usher_status status;
    int rc;

    (void)pthread_mutex_lock(&s->lock);
    s->deadline_ms = deadline_ms;
    status = open_file(s, message);
    if (status != USHER_OK)
        return status;
    rc = usher__sqlite_execute(s->db, write ? "BEGIN IMMEDIATE" : "BEGIN");
    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(s->db, rc, message);
}

enum usher_status usher__aux_db_end(struct usher__aux_db *s, enum usher_status status,
                                    char message[192])
{
    if (s->db != NULL && !sqlite3_get_autocommit(s->db)) {
        if (status == USHER_OK || status == USHER_FULL) {
            int rc = usher__sqlite_execute(s->db, "COMMIT");

            if (rc != SQLITE_OK) {
                bool no_space = usher__sqlite_no_space(rc);
                bool within = !sqlite3_get_autocommit(s->db);

                /* still within: nothing was written; else the mark may be in the log */
                status = usher__sqlite_failed(s->db, rc, message);
                if (!within && !no_space)
                    status = USHER_UNKNOWN;
            }
        }
        if (!sqlite3_get_autocommit(s->db) &&
            usher__sqlite_execute(s->db, "ROLLBACK") != SQLITE_OK) {
            (void)sqlite3_close_v2(s->db); /* the next use opens it again */
            s->db = NULL;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

enum usher_status usher__aux_db_prepare(struct usher__aux_db *s, const char *sql,
                                        sqlite3_stmt **ret, char message[192])
{
    int rc = sqlite3_prepare_v2(s->db, sql, -1, ret, NULL);

    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(s->db, rc, message);
}

enum usher_status usher__aux_db_finish(struct usher__aux_db *s, sqlite3_stmt *st, int rc,
                                       char message[192])
{
    enum usher_status status =
        rc == SQLITE_DONE || rc == SQLITE_ROW ? USHER_OK : usher__sqlite_failed(s->db, rc, message);

    (void)sqlite3_finalize(st);
    return status;
}

/* ---- making and closing -------------------------------------------------------------- */

void *usher__aux_db_new(const struct usher__aux_db_kind *kind, const char *path,
                        const struct usher_allocator *alloc, size_t size, size_t at,
                        enum usher_status *ret_status, char message[192])
{
    struct usher__aux_db *s;
    char *owner;

    if (path[0] == '\0' || strlen(path) >= sizeof s->path) {
        usher__sqlite_say(message, "the path of %s is empty or too long", kind->what);
        *ret_status = USHER_INVALID;
        return NULL;
    }
    owner = alloc->resize(alloc->payload, NULL, 0, size);
    if (owner != NULL) {
        memset(owner, 0, size);
        s = (void *)(owner + at);
        s->kind = kind;
        s->alloc = alloc;
        memcpy(s->path, path, strlen(path) + 1);
        if (pthread_mutex_init(&s->lock, NULL) == 0) {
            *ret_status = USHER_OK;
            return owner;
        }
        (void)alloc->resize(alloc->payload, owner, size, 0);
    }
    usher__sqlite_say(message, "out of memory");
    *ret_status = USHER_NOMEM;
    return NULL;
}

void usher__aux_db_close(struct usher__aux_db *s, void *owner, size_t size, bool child)
{
    const struct usher_allocator *alloc = s->alloc;
    int keep = 1;

    if (child && s->db != NULL) { /* what sqlite.c says of its forget() holds here, too */
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void)sqlite3_file_control(s->db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    }
    (void)sqlite3_close_v2(s->db);
    (void)pthread_mutex_destroy(&s->lock);
    (void)alloc->resize(alloc->payload, owner, size, 0);
}
