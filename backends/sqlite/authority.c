/* SPDX-License-Identifier: MIT */
/*
 * One table of maxima and one of events.  The file is in WAL mode and commits with
 * synchronous=FULL: with less, SQLite may roll back on power loss what it has told us, and a
 * range would be handed out twice.
 */
#include "config.h"

#include "authority.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "file.h"

/* In the file's header: "usha", and the format of what is in it. */
#define APPLICATION 0x75736861
#define FORMAT 1

struct authority {
    struct usher_authority base;
    const struct usher_allocator *alloc;
    pthread_mutex_t lock; /* of all below: one thread at a time uses the connection */
    sqlite3 *db;          /* NULL: not open (any more) */
    int64_t deadline_ms;
    char path[USHER__SQLITE_PATH];
};

/* clang-format off */
static const char schema[] =
    "CREATE TABLE maximum("
    " noun INTEGER NOT NULL,"
    " name BLOB NOT NULL,"
    " max INTEGER NOT NULL CHECK (max >= 0),"
    " data BLOB NOT NULL,"
    " PRIMARY KEY (noun, name)) WITHOUT ROWID;"
    "CREATE TABLE journal("
    " noun INTEGER NOT NULL,"
    " name BLOB NOT NULL,"
    " version INTEGER NOT NULL,"
    " first INTEGER NOT NULL,"
    " n INTEGER NOT NULL,"
    " verb INTEGER NOT NULL,"
    " now_ms INTEGER NOT NULL,"
    " owner BLOB NOT NULL,"
    " serial BLOB NOT NULL,"
    " PRIMARY KEY (noun, name, version, first)) WITHOUT ROWID;";
/* clang-format on */

/* ---- opening ------------------------------------------------------------------------ */

static int64_t monotonic_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int busy(void *payload, int times)
{
    const struct authority *a = payload;
    struct timespec ts = { 0, 50000L << (times < 6 ? times : 6) };

    if (a->deadline_ms <= monotonic_ms())
        return 0;
    (void)nanosleep(&ts, NULL);
    return 1;
}

static int execute(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int ask(sqlite3 *db, const char *sql, int64_t *ret_value)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret_value = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

/* Make the tables, unless they are there.  Within a transaction. */
static enum usher_status make_tables(sqlite3 *db, char message[192])
{
    int64_t objects = 0, application = 0, format = 0;
    char marks[80];
    int rc = ask(db, "SELECT count(*) FROM sqlite_master", &objects);

    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA user_version", &format);
    if (rc == SQLITE_NOTADB) {
        usher__sqlite_say(message, "the file is not a database");
        return USHER_INVALID;
    }
    if (rc != SQLITE_OK)
        return usher__sqlite_failed(db, rc, message);
    if (application == APPLICATION && format == FORMAT)
        return USHER_OK;
    if (objects != 0 || application != 0 || format != 0) {
        usher__sqlite_say(message, application == APPLICATION
                                       ? "the file is of a newer usher"
                                       : "the file is not that of an authority");
        return USHER_INVALID;
    }
    rc = execute(db, schema);
    (void)snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                   APPLICATION, FORMAT);
    if (rc == SQLITE_OK)
        rc = execute(db, marks);
    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(db, rc, message);
}

static enum usher_status set_up(struct authority *a, sqlite3 *db, char message[192])
{
    enum usher_status status;
    int rc;

    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_busy_handler(db, busy, a);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    rc = execute(db, "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON");
    if (rc == SQLITE_OK)
        rc = execute(db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_NOTADB) {
        usher__sqlite_say(message, "the file is not a database");
        return USHER_INVALID;
    }
    if (rc != SQLITE_OK)
        return usher__sqlite_failed(db, rc, message);
    status = make_tables(db, message);
    rc = execute(db, status == USHER_OK ? "COMMIT" : "ROLLBACK");
    if (status == USHER_OK && rc != SQLITE_OK)
        status = usher__sqlite_failed(db, rc, message);
    if (!sqlite3_get_autocommit(db))
        (void)execute(db, "ROLLBACK");
    if (status != USHER_OK)
        return status;
    /* once it is known to be ours; where it cannot be, the rollback journal does as well */
    rc = execute(db, "PRAGMA journal_mode = WAL");
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY ? USHER_OK
                                                         : usher__sqlite_failed(db, rc, message);
}

/* Under the lock. */
static enum usher_status open_file(struct authority *a, char message[192])
{
    sqlite3 *db = NULL;
    enum usher_status status;
    int rc;

    if (a->db != NULL)
        return USHER_OK;
    rc = sqlite3_open_v2(a->path, &db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    status = rc == SQLITE_OK ? set_up(a, db, message) : usher__sqlite_failed(db, rc, message);
    if (status == USHER_OK)
        a->db = db;
    else
        (void)sqlite3_close(db);
    /* a file of others: of no use, and nothing was raised */
    return status == USHER_INVALID ? USHER_UNAVAILABLE : status;
}

/* ---- transactions ------------------------------------------------------------------- */

/* Takes the lock in any case. */
static enum usher_status begin(struct authority *a, bool write, int64_t deadline_ms,
                               char message[192])
{
    enum usher_status status;
    int rc;

    (void)pthread_mutex_lock(&a->lock);
    a->deadline_ms = deadline_ms;
    status = open_file(a, message);
    if (status != USHER_OK)
        return status;
    rc = execute(a->db, write ? "BEGIN IMMEDIATE" : "BEGIN");
    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(a->db, rc, message);
}

/* Gives the lock back.  @status USHER_OK or USHER_FULL: commit; else roll back. */
static enum usher_status end(struct authority *a, enum usher_status status, char message[192])
{
    if (a->db != NULL && !sqlite3_get_autocommit(a->db)) {
        if (status == USHER_OK || status == USHER_FULL) {
            int rc = execute(a->db, "COMMIT");

            if (rc != SQLITE_OK) {
                bool within = !sqlite3_get_autocommit(a->db);

                /* still within: nothing was written; else the mark may be in the log */
                status = usher__sqlite_failed(a->db, rc, message);
                if (!within && (rc & 0xff) != SQLITE_FULL)
                    status = USHER_UNKNOWN;
            }
        }
        if (!sqlite3_get_autocommit(a->db) && execute(a->db, "ROLLBACK") != SQLITE_OK) {
            (void)sqlite3_close_v2(a->db); /* opened anew with the next use */
            a->db = NULL;
        }
    }
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

static enum usher_status prepare(struct authority *a, const char *sql, sqlite3_stmt **ret,
                                 char message[192])
{
    int rc = sqlite3_prepare_v2(a->db, sql, -1, ret, NULL);

    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(a->db, rc, message);
}

static void bind_text(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    (void)sqlite3_bind_blob64(st, i, text->size != 0 ? text->data : "", text->size, SQLITE_STATIC);
}

static enum usher_status finish(struct authority *a, sqlite3_stmt *st, int rc, char message[192])
{
    enum usher_status status =
        rc == SQLITE_DONE || rc == SQLITE_ROW ? USHER_OK : usher__sqlite_failed(a->db, rc, message);

    (void)sqlite3_finalize(st);
    return status;
}

/* The maximum of a name.  MISSING. */
static enum usher_status find(struct authority *a, enum usher_noun noun,
                              const struct usher_text *name, int64_t *ret_max,
                              struct usher_authority_entry *entry, char message[192])
{
    sqlite3_stmt *st;
    bool there = false;
    int rc;
    enum usher_status status =
        prepare(a, "SELECT max, data FROM maximum WHERE noun = ?1 AND name = ?2", &st, message);

    if (status != USHER_OK)
        return status;
    (void)sqlite3_bind_int(st, 1, (int)noun);
    bind_text(st, 2, name);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        there = true;
        *ret_max = sqlite3_column_int64(st, 0);
        if (entry != NULL) {
            const void *data = sqlite3_column_blob(st, 1);
            int size = sqlite3_column_bytes(st, 1);

            entry->max = *ret_max;
            entry->data_size = 0;
            if (data != NULL && size > 0 && (size_t)size <= sizeof entry->data) {
                entry->data_size = (size_t)size;
                memcpy(entry->data, data, (size_t)size);
            }
        }
    }
    status = finish(a, st, rc, message);
    return status == USHER_OK && !there ? USHER_MISSING : status;
}

static enum usher_status put(struct authority *a, enum usher_noun noun,
                             const struct usher_text *name, int64_t max,
                             const struct usher_text *data, char message[192])
{
    sqlite3_stmt *st;
    enum usher_status status =
        prepare(a,
                "INSERT INTO maximum (noun, name, max, data) VALUES (?1, ?2, ?3, ifnull(?4, x''))"
                " ON CONFLICT DO UPDATE SET max = ?3, data = ifnull(?4, data)",
                &st, message);

    if (status != USHER_OK)
        return status;
    (void)sqlite3_bind_int(st, 1, (int)noun);
    bind_text(st, 2, name);
    (void)sqlite3_bind_int64(st, 3, max);
    if (data->data != NULL)
        bind_text(st, 4, data);
    return finish(a, st, sqlite3_step(st), message);
}

/* ---- the interface ------------------------------------------------------------------ */

static enum usher_status reserve(struct usher_authority *base,
                                 const struct usher_authority_want *want, int64_t deadline_ms,
                                 struct usher_authority_range *ret_range, char message[192])
{
    struct authority *a = (struct authority *)base;
    struct usher_authority_range range = { 0, 0 };
    bool full = false;
    enum usher_status status = begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, want->noun, &want->name, &range.from, NULL, message);
    if (status == USHER_OK || status == USHER_MISSING) {
        if (range.from < want->floor)
            range.from = want->floor;
        range.to = range.from;
        full = want->n > 0 && range.from >= want->limit;
        if (!full)
            range.to += want->n < want->limit - range.from ? want->n : want->limit - range.from;
        if (range.to < range.from) /* n is 0, and the limit is below */
            range.to = range.from;
        status = put(a, want->noun, &want->name, range.to, &want->data, message);
    }
    if (status == USHER_OK && full)
        status = USHER_FULL;
    status = end(a, status, message);
    if (status == USHER_OK)
        *ret_range = range;
    return status;
}

static enum usher_status read_entry(struct usher_authority *base, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    struct usher_authority_entry *ret_entry, char message[192])
{
    struct authority *a = (struct authority *)base;
    int64_t max;
    enum usher_status status = begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, noun, name, &max, ret_entry, message);
    return end(a, status, message);
}

static enum usher_status release(struct usher_authority *base, enum usher_noun noun,
                                 const struct usher_text *name, int64_t from, int64_t to,
                                 int64_t deadline_ms, char message[192])
{
    static const struct usher_text as_it_is = { NULL, 0 };
    struct authority *a = (struct authority *)base;
    int64_t max;
    enum usher_status status = begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, noun, name, &max, NULL, message);
    if (status == USHER_OK)
        status = max == to && from >= 0 && from <= to ? put(a, noun, name, from, &as_it_is, message)
                                                      : USHER_STALE;
    return end(a, status, message);
}

static enum usher_status journal(struct usher_authority *base,
                                 const struct usher_authority_event *events, size_t n,
                                 int64_t deadline_ms, char message[192])
{
    struct authority *a = (struct authority *)base;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = prepare(a,
                         "INSERT OR IGNORE INTO journal (noun, name, version, first, n, verb,"
                         " now_ms, owner, serial) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                         &st, message);
    for (size_t i = 0; i < n && status == USHER_OK && rc == SQLITE_DONE; i++) {
        const struct usher_authority_event *event = &events[i];

        (void)sqlite3_reset(st);
        (void)sqlite3_bind_int(st, 1, (int)event->noun);
        bind_text(st, 2, &event->name);
        (void)sqlite3_bind_int64(st, 3, (int64_t)event->version);
        (void)sqlite3_bind_int64(st, 4, event->first);
        (void)sqlite3_bind_int64(st, 5, event->n);
        (void)sqlite3_bind_int(st, 6, (int)event->verb);
        (void)sqlite3_bind_int64(st, 7, event->now_ms);
        bind_text(st, 8, &event->owner);
        bind_text(st, 9, &event->text);
        rc = sqlite3_step(st);
    }
    if (status == USHER_OK)
        status = finish(a, st, rc, message);
    return end(a, status, message);
}

static void free_authority(struct authority *a)
{
    const struct usher_allocator *alloc = a->alloc;

    (void)pthread_mutex_destroy(&a->lock);
    (void)alloc->resize(alloc->payload, a, sizeof *a, 0);
}

static void close_authority(struct usher_authority *base)
{
    struct authority *a = (struct authority *)base;

    (void)sqlite3_close_v2(a->db);
    free_authority(a);
}

/* In a child: what sqlite.c says of its forget() holds here, too. */
static void forget_authority(struct usher_authority *base)
{
    struct authority *a = (struct authority *)base;
    int keep = 1;

    if (a->db != NULL) {
        (void)sqlite3_db_config(a->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void)sqlite3_file_control(a->db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    }
    close_authority(base);
}

static const struct usher_authority_ops ops = {
    .size = sizeof(struct usher_authority_ops),
    .name = "sqlite",
    .reserve = reserve,
    .read = read_entry,
    .release = release,
    .journal = journal,
    .close = close_authority,
    .forget = forget_authority,
};

enum usher_status usher__sqlite_authority(const char *path, const struct usher_allocator *alloc,
                                          struct usher_authority **ret_authority, char message[192])
{
    struct authority *a;

    if (path[0] == '\0' || strlen(path) >= sizeof a->path) {
        usher__sqlite_say(message, "the path of the authority is empty or too long");
        return USHER_INVALID;
    }
    a = alloc->resize(alloc->payload, NULL, 0, sizeof *a);
    if (a == NULL) {
        usher__sqlite_say(message, "out of memory");
        return USHER_NOMEM;
    }
    memset(a, 0, sizeof *a);
    a->base.ops = &ops;
    a->alloc = alloc;
    memcpy(a->path, path, strlen(path) + 1);
    if (pthread_mutex_init(&a->lock, NULL) != 0) {
        (void)alloc->resize(alloc->payload, a, sizeof *a, 0);
        usher__sqlite_say(message, "out of memory");
        return USHER_NOMEM;
    }
    *ret_authority = &a->base;
    return USHER_OK;
}

bool usher__sqlite_authority_is(const struct usher_authority *a)
{
    return a->ops == &ops;
}

static struct usher_text column(sqlite3_stmt *st, int i)
{
    struct usher_text text = { sqlite3_column_blob(st, i), (size_t)sqlite3_column_bytes(st, i) };

    return text;
}

enum usher_status usher__sqlite_authority_events(struct usher_authority *base, enum usher_noun noun,
                                                 const struct usher_text *name, int64_t first,
                                                 int64_t deadline_ms, usher_authority_event_fn *fn,
                                                 void *payload, char message[192])
{
    struct authority *a = (struct authority *)base;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = prepare(a,
                         "SELECT verb, first, n, now_ms, version, owner, serial FROM journal"
                         " WHERE noun = ?1 AND name = ?2 AND first + n > ?3"
                         " ORDER BY version, first",
                         &st, message);
    if (status == USHER_OK) {
        (void)sqlite3_bind_int(st, 1, (int)noun);
        bind_text(st, 2, name);
        (void)sqlite3_bind_int64(st, 3, first);
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
            struct usher_authority_event event;

            memset(&event, 0, sizeof event);
            event.noun = noun;
            event.name = *name;
            event.verb = (enum usher_verb)sqlite3_column_int(st, 0);
            event.first = sqlite3_column_int64(st, 1);
            event.n = sqlite3_column_int64(st, 2);
            event.now_ms = sqlite3_column_int64(st, 3);
            event.version = (uint64_t)sqlite3_column_int64(st, 4);
            event.owner = column(st, 5);
            event.text = column(st, 6);
            fn(payload, &event);
        }
        status = finish(a, st, rc, message);
    }
    return end(a, status, message);
}
