/* SPDX-License-Identifier: MIT */
/*
 * Opening the file.
 *
 * It is in WAL mode, so that readers and a writer do not stop each other.  Its header names
 * its owner (application_id) and its format (user_version).  A file of another
 * program is opened by SQLite and not changed.
 *
 * To change the format, once 0.1 is out (before, files of older formats are refused: raise FIRST
 * with it and change create[]):
 *   1. add 1 to USHER__SQLITE_FORMAT;
 *   2. add the step from the one before to the end of `steps`; never touch the others;
 *   3. add a file of the old format to tests/data/ and open it in test_sqlite.c.
 * Steps run in one transaction with the writer's lock, so that of several processes that
 * open an old (or a new) file at once one takes them and the others find them taken.
 *
 * Nothing read from the file is trusted: its triggers and views are not run, its
 * schema cannot call functions, and no value of it may be longer than VALUE_LIMIT.
 * The values of its rows are checked when they are read (sqlite.c).
 */
#include "config.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "history_table.h"
#include "views.h"

/* Bytes of a value, a row or a statement. */
#define VALUE_LIMIT (1 << 20)

/* ---- the format ------------------------------------------------------------------- */

/* clang-format off */

/*
 * scope: one pool.  c0..c23 and s0..s19 are its counts and settings in the order of
 * src/change/work.h.  epoch is 64 bits; due_ms NULL: nothing is due.
 *
 * record: see store.h.  list is scope.ref * 16 + kind: one number to compare where an index would
 * have two.  ord is `order`, grp is `group`.  A text that is not there is NULL.  The ordered lists
 * are partial indices over `slots`: which lists a record stands in is said by that number and, of
 * the due ones, by `due`: `ord` once more, NULL where a record is none of them.  (SQLite opens each
 * index of which a column is set, and most changes set `ord` but nothing that the due ones stand
 * by.)
 *
 * writer, gaps: which file it was that wrote the scope last, and pairs of its gaps (struct
 * usher_gap), 16 bytes each, highest byte first, or NULL.
 *
 * place: the lists of which rank() is asked (of a kind that is USHER_KIND_RANKED, slot 0, by
 * group), cut into rank pages.  A row is one of them: it begins at (hi, ord), goes as far as the
 * next one of its list, and has n records, never none.  See sqlite.c.
 *
 * visit: the visits that queues keep, in their order, are its first rows.
 *
 * The views are for people.  They show what is stored: a hold or a rest that has ended and
 * that no command has met since is still there.
 */
static const char create[] =
    "CREATE TABLE scope("
    " ref INTEGER PRIMARY KEY,"
    " noun INTEGER NOT NULL,"
    " name TEXT NOT NULL,"
    " epoch INTEGER NOT NULL,"
    " version INTEGER NOT NULL,"
    " clock_ms INTEGER NOT NULL,"
    " due_ms INTEGER,"
    " c0 INTEGER NOT NULL, c1 INTEGER NOT NULL, c2 INTEGER NOT NULL, c3 INTEGER NOT NULL,"
    " c4 INTEGER NOT NULL, c5 INTEGER NOT NULL, c6 INTEGER NOT NULL, c7 INTEGER NOT NULL,"
    " c8 INTEGER NOT NULL, c9 INTEGER NOT NULL, c10 INTEGER NOT NULL, c11 INTEGER NOT NULL,"
    " c12 INTEGER NOT NULL, c13 INTEGER NOT NULL, c14 INTEGER NOT NULL, c15 INTEGER NOT NULL,"
    " c16 INTEGER NOT NULL, c17 INTEGER NOT NULL, c18 INTEGER NOT NULL, c19 INTEGER NOT NULL,"
    " c20 INTEGER NOT NULL, c21 INTEGER NOT NULL, c22 INTEGER NOT NULL, c23 INTEGER NOT NULL,"
    " s0 INTEGER NOT NULL, s1 INTEGER NOT NULL, s2 INTEGER NOT NULL, s3 INTEGER NOT NULL,"
    " s4 INTEGER NOT NULL, s5 INTEGER NOT NULL, s6 INTEGER NOT NULL, s7 INTEGER NOT NULL,"
    " s8 INTEGER NOT NULL, s9 INTEGER NOT NULL, s10 INTEGER NOT NULL, s11 INTEGER NOT NULL,"
    " s12 INTEGER NOT NULL, s13 INTEGER NOT NULL, s14 INTEGER NOT NULL, s15 INTEGER NOT NULL,"
    " s16 INTEGER NOT NULL, s17 INTEGER NOT NULL, s18 INTEGER NOT NULL, s19 INTEGER NOT NULL,"
    " writer INTEGER NOT NULL,"
    " gaps BLOB);"
    "CREATE UNIQUE INDEX scope_name ON scope(noun, name);"

    "CREATE TABLE record("
    " ref INTEGER PRIMARY KEY,"
    " list INTEGER NOT NULL,"
    " id TEXT NOT NULL,"
    " state INTEGER NOT NULL,"
    " slots INTEGER NOT NULL,"
    " rank INTEGER NOT NULL,"
    " ord INTEGER NOT NULL,"
    " token INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL,"
    " n0 INTEGER NOT NULL, n1 INTEGER NOT NULL, n2 INTEGER NOT NULL, n3 INTEGER NOT NULL,"
    " n4 INTEGER NOT NULL, n5 INTEGER NOT NULL, n6 INTEGER NOT NULL, n7 INTEGER NOT NULL,"
    " owner TEXT,"
    " grp TEXT,"
    " data BLOB,"
    " due INTEGER);"
    "CREATE UNIQUE INDEX record_id ON record(list, id);"
    "CREATE INDEX record_ready ON record(list, rank, ord) WHERE slots & 1;"
    "CREATE INDEX record_ready_by ON record(list, grp, rank, ord)"
    " WHERE slots & 1 AND grp IS NOT NULL;"
    "CREATE INDEX record_due ON record(list, until_ms, due) WHERE due IS NOT NULL;"
    "CREATE INDEX record_due_by ON record(list, grp, until_ms, due)"
    " WHERE due IS NOT NULL AND grp IS NOT NULL;"
    "CREATE INDEX record_held ON record(list, ord) WHERE slots & 4;"
    "CREATE INDEX record_held_by ON record(list, owner, ord)"
    " WHERE slots & 4 AND owner IS NOT NULL;"

    "CREATE VIEW pool AS SELECT name AS pool, version, printf('%016x', epoch) AS epoch,"
    " strftime('%Y-%m-%d %H:%M:%f', clock_ms / 1000.0, 'unixepoch') AS changed,"
    " c1 AS idle_down, c2 AS idle_up, c3 AS busy_down, c4 AS busy_up, c5 AS resting,"
    " c6 AS peers, c7 AS answers, c8 AS calls, c10 AS refused,"
    " c22 AS expired, c23 AS freed,"
    /* made by src/api/gen_fields.py: settings of number */
    " CASE s0 WHEN 1 THEN 'longest-idle' WHEN 2 THEN 'most-recent' WHEN 3 THEN 'random' END AS \"order\","
    " s1 AS lease_ms, s2 AS rest_ms, s3 AS daily, s4 AS zone_min, s5 AS strict,"
    " s6 AS sticky_ms, s7 AS sticky_max, s8 AS requests, s9 AS gap_ms, s10 AS log,"
    " s11 AS lease_max_ms, s12 AS outage_ms,"
    " CASE s13 WHEN 1 THEN 'open' WHEN 2 THEN 'closed' WHEN 3 THEN 'stopped' END AS mode,"
    " s14 AS push"
    /* end */
    " FROM scope WHERE noun = 1 AND c0 = 0;" /* not those that were dropped */
    USHER__RECORD_VIEWS

    "CREATE TABLE place("
    " list INTEGER NOT NULL,"
    " grp TEXT NOT NULL,"
    " hi INTEGER NOT NULL,"
    " ord INTEGER NOT NULL,"
    " n INTEGER NOT NULL,"
    " PRIMARY KEY(list, grp, hi, ord)) WITHOUT ROWID;"

    USHER__VISIT_TABLE;

/* clang-format on */

/* The format that create[] makes. */
#define FIRST 14

/* steps[n] leads from format FIRST + n - 1 to the next, and the first one from nothing. */
static const char *const steps[USHER__SQLITE_FORMAT - FIRST + 1] = { create };

/* ---- messages --------------------------------------------------------------------- */

void usher__sqlite_say(char message[192], const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, 192, format, ap);
    va_end(ap);
    /* a schema may put anything into SQLite's messages */
    for (char *p = message; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
}

/* The error text of the system, in words that do not follow the locale; NULL: there is none. */
static const char *system_text(sqlite3 *db)
{
    switch (db != NULL ? sqlite3_system_errno(db) : 0) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case EISDIR:
        return "it is a directory";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case ENOENT:
    case ENOTDIR:
        return "no such directory, or no permission to write in it";
    case ENOSPC:
    case EDQUOT:
        return "no space left";
    case EROFS:
        return "the file system is read-only";
    default:
        return NULL;
    }
}

bool usher__sqlite_no_space(int rc)
{
    /* of the write: SQLite keeps it for files that cannot be opened only */
    int error = rc == SQLITE_IOERR_WRITE ? errno : 0;

    return (rc & 0xff) == SQLITE_FULL || error == EFBIG || error == EDQUOT;
}

enum usher_status usher__sqlite_failed(sqlite3 *db, int rc, char message[192])
{
    if (usher__sqlite_no_space(rc)) {
        usher__sqlite_say(message, "no space left for the file or its log");
        return USHER_UNAVAILABLE;
    }
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        usher__sqlite_say(message, "out of memory");
        return USHER_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        usher__sqlite_say(message, "another process keeps the file locked");
        break;
    case SQLITE_CANTOPEN: {
        const char *text = system_text(db);

        usher__sqlite_say(message, "cannot be opened: %s",
                          text != NULL ? text
                                       : "it is not a file, or its directory cannot hold its log");
        break;
    }
    case SQLITE_READONLY:
        usher__sqlite_say(message, "the file or its directory is read-only");
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
        usher__sqlite_say(message, "corrupt file: %s (%d)", sqlite3_errmsg(db), rc);
        break;
    default:
        usher__sqlite_say(message, "%s (%d)", sqlite3_errmsg(db), rc);
        break;
    }
    return USHER_UNAVAILABLE;
}

/* ---- waiting for other processes -------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* File locks have no queue to wait in: ask again after 50 µs, later after up to 3 ms. */
static int busy(void *payload, int times)
{
    const int64_t *deadline_ms = payload;
    struct timespec ts = { 0, 50000L << (times < 6 ? times : 6) };

    if (*deadline_ms <= now_ms())
        return 0;
    (void)nanosleep(&ts, NULL);
    return 1;
}

/* ---- small statements ------------------------------------------------------------- */

int usher__sqlite_execute(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* The first column of the first row. */
static int ask(sqlite3 *db, const char *sql, int64_t *ret_value)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret_value = sqlite3_column_int64(st, 0);
    else if (rc == SQLITE_DONE)
        rc = SQLITE_CORRUPT;
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* SQLite does not wait for others in all cases when it changes the mode. */
static int wal_mode(sqlite3 *db, const int64_t *deadline_ms, bool *ret_wal)
{
    for (int times = 0;; times++) {
        sqlite3_stmt *st;
        int rc = sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &st, NULL);

        if (rc == SQLITE_OK) {
            rc = sqlite3_step(st);
            if (rc == SQLITE_ROW) {
                const unsigned char *mode = sqlite3_column_text(st, 0);

                *ret_wal = mode != NULL && strcmp((const char *)mode, "wal") == 0;
                rc = SQLITE_OK;
            }
            (void)sqlite3_finalize(st);
        }
        if ((rc & 0xff) != SQLITE_BUSY || !busy((void *)(uintptr_t)deadline_ms, times))
            return rc;
    }
}

/* ---- opening ---------------------------------------------------------------------- */

void usher__sqlite_mistrust(sqlite3 *db, const int64_t *deadline_ms)
{
    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_busy_handler(db, busy, (void *)(uintptr_t)deadline_ms);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

/* Opens the file with the limits that must hold before anything is read from it. */
static int connect(const char *path, int flags, const int64_t *deadline_ms, sqlite3 **ret_db)
{
    sqlite3 *db = NULL;
    /* one thread at a time uses a connection: no locks needed in it */
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, NULL);

    *ret_db = db;
    if (rc != SQLITE_OK)
        return rc;
    usher__sqlite_mistrust(db, deadline_ms);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_LIMIT);
    return SQLITE_OK;
}

enum usher_status usher__sqlite_marks(sqlite3 *db, int64_t *ret_application, int64_t *ret_format,
                                      bool *ret_empty, char message[192])
{
    int64_t objects = 0;
    int rc = ask(db, "SELECT count(*) FROM sqlite_master", &objects);

    *ret_application = *ret_format = 0;
    *ret_empty = false;
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA application_id", ret_application);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA user_version", ret_format);
    if (rc == SQLITE_NOTADB) {
        usher__sqlite_say(message, "the file is not a database");
        return USHER_INVALID;
    }
    if (rc != SQLITE_OK)
        return usher__sqlite_failed(db, rc, message);
    *ret_empty = objects == 0 && *ret_application == 0 && *ret_format == 0;
    return USHER_OK;
}

/* Whose file is it?  *@ret_format is 0 for an empty one. */
static enum usher_status identify(sqlite3 *db, int64_t *ret_format, char message[192])
{
    int64_t application, format;
    bool empty;
    enum usher_status status = usher__sqlite_marks(db, &application, &format, &empty, message);

    if (status != USHER_OK)
        return status;
    if (empty) {
        *ret_format = 0;
        return USHER_OK;
    }
    if (application != USHER__SQLITE_APPLICATION || format < 1) {
        usher__sqlite_say(message, "the database belongs to another program");
        return USHER_INVALID;
    }
    if (format < FIRST) {
        usher__sqlite_say(
            message, "the file has the format of a version before 0.1 (%lld): create a new file",
            (long long)format);
        return USHER_INVALID;
    }
    if (format > USHER__SQLITE_FORMAT) {
        usher__sqlite_say(
            message, "the file has format %lld, and this version reads up to %d: use a newer usher",
            (long long)format, USHER__SQLITE_FORMAT);
        return USHER_INVALID;
    }
    *ret_format = format;
    return USHER_OK;
}

/* identify() at one moment. */
static enum usher_status identify_at_once(sqlite3 *db, int64_t *ret_format, char message[192])
{
    int rc = usher__sqlite_execute(db, "BEGIN");
    enum usher_status status =
        rc == SQLITE_OK ? identify(db, ret_format, message) : usher__sqlite_failed(db, rc, message);

    (void)usher__sqlite_execute(db, "ROLLBACK");
    return status;
}

static enum usher_status migrate(sqlite3 *db, char message[192])
{
    int64_t format = 0;
    char marks[80];
    enum usher_status status;
    int rc = usher__sqlite_execute(db, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK)
        return usher__sqlite_failed(db, rc, message);
    /* another process may have been faster */
    status = identify(db, &format, message);
    if (status == USHER_OK && format < USHER__SQLITE_FORMAT) {
        size_t step = format != 0 ? (size_t)(format - FIRST + 1) : 0;

        while (rc == SQLITE_OK && step < sizeof steps / sizeof *steps)
            rc = usher__sqlite_execute(db, steps[step++]);
        (void)snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                       USHER__SQLITE_APPLICATION, USHER__SQLITE_FORMAT);
        if (rc == SQLITE_OK)
            rc = usher__sqlite_execute(db, marks);
    }
    if (status == USHER_OK && rc == SQLITE_OK)
        rc = usher__sqlite_execute(db, "COMMIT");
    if (rc != SQLITE_OK)
        status = usher__sqlite_failed(db, rc, message);
    if (!sqlite3_get_autocommit(db))
        (void)usher__sqlite_execute(db, "ROLLBACK");
    return status;
}

/* How we want it, once it is known to be ours. */
static enum usher_status settle(sqlite3 *db, enum usher__sqlite_sync sync, char message[192])
{
    static const char *const synchronous[] = {
        [USHER__SYNC_FULL] = "PRAGMA synchronous = FULL",
        [USHER__SYNC_NORMAL] = "PRAGMA synchronous = NORMAL",
        [USHER__SYNC_OFF] = "PRAGMA synchronous = OFF",
    };
    int rc = usher__sqlite_execute(db, synchronous[sync]);

    if (rc == SQLITE_OK)
        rc = usher__sqlite_execute(db, "PRAGMA cache_size = -16384; PRAGMA secure_delete = OFF;"
                                       "PRAGMA cell_size_check = ON;" USHER__SQLITE_LOG_LIMIT);
    return rc == SQLITE_OK ? USHER_OK : usher__sqlite_failed(db, rc, message);
}

static enum usher_status prepare(sqlite3 *db, enum usher__sqlite_sync sync,
                                 const int64_t *deadline_ms, char message[192])
{
    int64_t format = 0;
    bool wal = false;
    enum usher_status status;
    int rc;

    if (sqlite3_db_readonly(db, "main") == 1) {
        usher__sqlite_say(message, "the file is read-only");
        return USHER_UNAVAILABLE;
    }
    status = identify_at_once(db, &format, message);
    if (status != USHER_OK)
        return status;
    rc = wal_mode(db, deadline_ms, &wal);
    if (rc != SQLITE_OK)
        return usher__sqlite_failed(db, rc, message);
    if (!wal) {
        usher__sqlite_say(message, "the file system cannot share memory, as WAL mode needs");
        return USHER_UNAVAILABLE;
    }
    status = settle(db, sync, message);
    if (status == USHER_OK && format < USHER__SQLITE_FORMAT)
        status = migrate(db, message);
    return status;
}

static uint64_t mixed(uint64_t into, uint64_t value)
{
    uint64_t z = (into ^ value) + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/*
 * Another number for a copy that is put in the place of the file (it has another inode, or was born
 * at another time), and after each start of the system (what was not on the disk is gone).  A value
 * that the system does not have is left out: then more copies have the same number.  A copy that is
 * written over the file has the same number.
 */
static uint64_t identity_of(const char *path)
{
    uint64_t z = 0;
    char boot[64] = "";
    struct statx st;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (read(fd, boot, sizeof boot - 1) < 0)
            boot[0] = '\0';
        (void)close(fd);
    }
    for (const char *p = boot; *p != '\0'; p++)
        z = mixed(z, (unsigned char)*p);
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &st) == 0) {
        z = mixed(z, st.stx_ino);
        if ((st.stx_mask & STATX_BTIME) != 0)
            z = mixed(mixed(z, (uint64_t)st.stx_btime.tv_sec), st.stx_btime.tv_nsec);
    }
    z >>= 16;
    return z != 0 ? z : 1;
}

static const char *const suffixes[USHER__SQLITE_PARTS] = { "", "-wal", "-shm" };

static bool stat_part(const struct usher__sqlite_place *place, unsigned i, struct stat *ret)
{
    char path[USHER__SQLITE_PATH + 8];

    if (i == 0)
        return stat(place->path, ret) == 0;
    (void)snprintf(path, sizeof path, "%s%s", place->path, suffixes[i]);
    return stat(path, ret) == 0;
}

static void find_part(struct usher__sqlite_place *place, unsigned i)
{
    struct usher__sqlite_part *part = &place->parts[i];
    struct stat st;

    part->known = stat_part(place, i, &st);
    if (part->known) {
        part->device = st.st_dev;
        part->inode = st.st_ino;
    }
}

static enum usher_status find_place(sqlite3 *db, struct usher__sqlite_place *place,
                                    char message[192])
{
    const char *path = sqlite3_db_filename(db, "main");

    if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof place->path) {
        usher__sqlite_say(message, "the path is longer than %d bytes", USHER__SQLITE_PATH - 1);
        return USHER_UNAVAILABLE;
    }
    memcpy(place->path, path, strlen(path) + 1);
    find_part(place, 0);
    place->identity = place->parts[0].known ? identity_of(path) : 0;
    return USHER_OK;
}

enum usher_status usher__sqlite_file_open(const char *path, enum usher__sqlite_sync sync,
                                          const int64_t *deadline_ms, sqlite3 **ret_db,
                                          struct usher__sqlite_place *ret_place, char message[192])
{
    sqlite3 *db;
    int rc = connect(path, SQLITE_OPEN_CREATE, deadline_ms, &db);
    enum usher_status status = rc == SQLITE_OK ? find_place(db, ret_place, message)
                                               : usher__sqlite_failed(db, rc, message);

    if (status == USHER_OK)
        status = prepare(db, sync, deadline_ms, message);
    for (unsigned i = 1; i < USHER__SQLITE_PARTS && status == USHER_OK; i++)
        find_part(ret_place, i); /* SQLite has made it when it read in WAL mode */
    if (status == USHER_OK)
        *ret_db = db;
    else
        (void)sqlite3_close(db);
    return status;
}

enum usher_status usher__sqlite_file_moved(const struct usher__sqlite_place *place,
                                           char message[192])
{
    const char *name = strrchr(place->path, '/');

    name = name != NULL ? name + 1 : place->path;
    for (unsigned i = 0; i < USHER__SQLITE_PARTS; i++) {
        const struct usher__sqlite_part *part = &place->parts[i];
        struct stat st;

        if (!part->known ||
            (stat_part(place, i, &st) && st.st_dev == part->device && st.st_ino == part->inode))
            continue;
        usher__sqlite_say(message,
                          "%.80s%s was moved, deleted or replaced while it was open: "
                          "restart " USHER_STORE_GONE,
                          name, suffixes[i]);
        return USHER_UNAVAILABLE;
    }
    return USHER_OK;
}

enum usher_status usher__sqlite_file_again(const struct usher__sqlite_place *place,
                                           const int64_t *deadline_ms, sqlite3 **ret_db,
                                           char message[192])
{
    sqlite3 *db = NULL;
    enum usher_status status = usher__sqlite_file_moved(place, message);
    int rc;

    if (status != USHER_OK)
        return status;
    rc = connect(place->path, 0, deadline_ms, &db);
    if (rc == SQLITE_OK)
        rc = usher__sqlite_execute(db, "PRAGMA cell_size_check = ON");
    if (rc == SQLITE_OK) {
        *ret_db = db;
        return USHER_OK;
    }
    status = usher__sqlite_failed(db, rc, message);
    (void)sqlite3_close(db);
    return status;
}
