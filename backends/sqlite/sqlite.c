/* SPDX-License-Identifier: MIT */
/*
 * The record store on SQLite.
 *
 * A connection serves one transaction at a time, on whatever thread.  scan() has a connection of
 * its own, so that a long scan does not delay commands.
 *
 * Four things are cached: headers of scopes, which a transaction of many commands reads once and
 * writes once, at its commit; short records that were found or written, because a number that is
 * taken now will be given back; the beginnings of lists; and owners without holds.  Other processes
 * write as well, so the cache is valid only as long as the pages that SQLite has in its memory: a
 * transaction that finds them changed by another process (SQLITE_FCNTL_DATA_VERSION), or a
 * rollback, begins a new generation, and entries of older generations are ignored.
 *
 * SQLite answers lists, with two exceptions.  A caller that takes the first ready record will soon
 * want the second, and the next row of a statement costs less than a statement: the more rows of
 * the last read were used, the more the next one reads.  And a call queries the holds of its owner,
 * of which there are none as a rule.
 *
 * Every record that is read has its texts copied into the arena, and is noted: a write that
 * knows what was there names only the columns that it changes.
 *
 * Lists of which rank() is asked are cut into rank pages, and how many records each has is stored
 * (table `place`) by the same transaction: a rank adds up those before, and counts within one.  A
 * rank page that becomes too long is cut in two; one that is empty goes.  Other lists have none.
 *
 * Memory: the store owns its connection, prepared statements and arena.  SQLite allocates
 * for itself.
 */
#include "config.h"

#include "records.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "history_table.h"

/* ---- transactions ----------------------------------------------------------------- */

static struct sqlite *store_of(struct usher_txn *t)
{
    return (struct sqlite *)(void *)((char *)t - offsetof(struct sqlite, txn));
}

static void rollback(struct usher_txn *t)
{
    /* some failures have rolled back already */
    if (!sqlite3_get_autocommit(t->c.db)) {
        bool failed_before = t->c.failed;

        t->c.failed = true; /* keeps the message */
        (void)usher__records_run_plain(&t->c, ST_ROLLBACK);
        t->c.failed = failed_before;
    }
    for (size_t i = 0; i < SCOPES; i++) /* what was not committed is no earlier state */
        if (t->scopes[i].generation == t->generation)
            t->scopes[i].generation = 0;
    t->generation++;
    usher__records_arena_reset(t);
}

enum usher_status usher__records_went_back(struct usher_txn *t)
{
    store_of(t)->intact.went_back = true;
    t->c.failed = true;
    return usher__sqlite_intact(&store_of(t)->intact, &store_of(t)->place, false, t->c.message);
}

/* SQLite counts the changes of its pages, by others as they are noticed, and by our commits. */
static unsigned pages_now(const struct usher_txn *t)
{
    unsigned pages = 0;

    (void)sqlite3_file_control(t->c.db, "main", SQLITE_FCNTL_DATA_VERSION, &pages);
    return pages;
}

/* Has another connection written since our last transaction? */
static enum usher_status look(struct usher_txn *t, bool write)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = USHER_OK;

    if (!write) { /* until something is read, there is no transaction */
        int rc;

        status = usher__records_get(&t->c, ST_LOOK, &st);
        if (status != USHER_OK)
            return status;
        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            status = usher__records_failed(&t->c, rc);
        (void)sqlite3_reset(st);
    }
    if (pages_now(t) != t->pages)
        t->generation++;
    t->pages = pages_now(t);
    return status;
}

static enum usher_status begin(struct usher_record_store *store, enum usher_noun noun,
                               const struct usher_text *scope_name, bool write, int64_t deadline_ms,
                               struct usher_txn **ret_txn)
{
    struct sqlite *s = (struct sqlite *)store;
    struct usher_txn *t = &s->txn;
    struct connection *c = &t->c;
    enum usher_status status;

    (void)noun;
    (void)scope_name;
    c->message[0] = '\0';
    c->failed = false;
    c->deadline_ms = deadline_ms;
    if (!sqlite3_get_autocommit(c->db)) /* a rollback that failed */
        rollback(t);
    status = usher__sqlite_intact(&s->intact, &s->place, write, c->message);
    if (status != USHER_OK)
        return status;
    status = usher__records_run_plain(c, write ? ST_BEGIN_WRITE : ST_BEGIN_READ);
    if (status == USHER_OK) {
        status = look(t, write);
        if (status != USHER_OK)
            rollback(t);
    }
    if (status == USHER_OK)
        *ret_txn = t;
    return status;
}

/*
 * Did a COMMIT that failed with @rc take effect?
 *
 * SQLite writes the pages to the log, the last one with a mark that makes the transaction
 * valid, syncs, and then notifies other connections by shared memory.  If it is still in the
 * transaction, nothing was written (busy).  If it found no space, the mark is not complete.  All
 * other errors may have come after the mark: SQLite forgets the transaction then, but if all
 * processes crash before the log is written over, the next reader finds a valid transaction.
 */
static enum usher_status commit_failed(struct usher_txn *t, int rc, sqlite3_stmt *st)
{
    bool no_space = usher__sqlite_no_space(rc), within = !sqlite3_get_autocommit(t->c.db);
    enum usher_status status = usher__records_failed(&t->c, rc);

    (void)sqlite3_reset(st);
    rollback(t);
    if (within)
        return sqlite3_get_autocommit(t->c.db) ? status : USHER_UNKNOWN;
    return no_space ? status : USHER_UNKNOWN;
}

enum usher_status usher__records_commit(struct usher_txn *t)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = t->c.failed ? USHER_UNAVAILABLE : USHER_OK;
    int rc;

    for (size_t i = 0; i < SCOPES && status == USHER_OK; i++)
        if (t->scopes[i].generation == t->generation)
            status = usher__records_header_write(t, &t->scopes[i]);
    if (status == USHER_OK)
        status = usher__records_get(&t->c, ST_COMMIT, &st);
    if (status != USHER_OK) {
        rollback(t);
        return status;
    }
    rc = sqlite3_step(st);
    if (rc != SQLITE_DONE)
        status = commit_failed(t, rc, st);
    (void)sqlite3_reset(st);
    t->pages = pages_now(t);
    usher__sqlite_intact_committed(&store_of(t)->intact, &store_of(t)->place);
    usher__records_arena_reset(t);
    return status;
}

/* ---- log -------------------------------------------------------------------------- */

/* On a connection of its own, as usher__records_scan(). */
static enum usher_status read_log(struct usher_record_store *store, enum usher_noun noun,
                                  const void *which, int64_t deadline_ms, usher_log_fn *fn,
                                  void *payload, char message[192])
{
    struct sqlite *s = (struct sqlite *)store;
    sqlite3 *db = NULL;
    enum usher_status status = usher__sqlite_file_again(&s->place, &deadline_ms, &db, message);

    (void)noun; /* there is one that has a log */
    if (status == USHER_OK)
        status = usher__visits_log(db, which, fn, payload, message);
    (void)sqlite3_close(db);
    return status;
}

/* ---- open and close --------------------------------------------------------------- */

static const char *message_of(struct usher_record_store *store)
{
    return ((struct sqlite *)store)->txn.c.message;
}

static void close_store(struct usher_record_store *store)
{
    struct sqlite *s = (struct sqlite *)store;
    struct usher_txn *t = &s->txn;

    usher__records_arena_reset(t);
    if (t->arena != NULL)
        (void)resize(t->alloc, t->arena, sizeof *t->arena + t->arena->size, 0);
    usher__records_connection_close(&t->c);
    (void)resize(t->alloc, s, sizeof *s, 0);
}

/*
 * In a child of fork() the connection is a copy without the parent's locks, which are not
 * inherited, though SQLite believes to have them: closed as usual it would check the log
 * point into the file, and delete it, while the parent is at work.
 */
static void forget_store(struct usher_record_store *store)
{
    sqlite3 *db = ((struct sqlite *)store)->txn.c.db;
    int keep = 1;

    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    close_store(store);
}

static uint64_t identity(struct usher_record_store *store)
{
    return ((const struct sqlite *)store)->place.identity;
}

static void node(struct usher_record_store *store, struct usher_node *node)
{
    const struct sqlite *s = (const struct sqlite *)store;

    /* the log of a file that syncs seldom outlives the process, because the system has it */
    node->durability = s->sync == USHER__SYNC_FULL ? USHER_DURABILITY_DISK : USHER_DURABILITY_FILE;
    node->address.data = s->place.path;
    node->address.size = strlen(s->place.path);
    node->software.data = s->software;
    node->software.size = strlen(s->software);
}

static const struct usher_record_store_ops ops = {
    .size = sizeof(struct usher_record_store_ops),
    .name = "sqlite",
    .caps = USHER_CAP_DURABLE | USHER_CAP_SHARED,
    .begin = begin,
    .commit = usher__records_commit,
    .rollback = rollback,
    .scope = usher__records_scope,
    .find = usher__records_find,
    .walk = usher__records_walk,
    .rank = usher__records_rank,
    .next = usher__records_next,
    .write = usher__records_write_change,
    .scan = usher__records_scan,
    .list = usher__records_list,
    .message = message_of,
    .close = close_store,
    .forget = forget_store,
    .append = usher__records_append,
    .read_log = read_log,
    .identity = identity,
    .node = node,
};

enum usher_status usher__sqlite_records(const char *path, enum usher__sqlite_sync sync,
                                        const struct usher_allocator *alloc, int64_t deadline_ms,
                                        struct usher_record_store **ret_records, char message[192])
{
    struct sqlite *s = resize(alloc, NULL, 0, sizeof *s);
    enum usher_status status;

    if (s == NULL) {
        usher__sqlite_say(message, "out of memory");
        return USHER_NOMEM;
    }
    memset(s, 0, sizeof *s);
    s->base.ops = &ops;
    s->sync = sync;
    (void)snprintf(s->software, sizeof s->software, "SQLite %.20s", sqlite3_libversion());
    s->txn.alloc = alloc;
    s->txn.generation = 1;
    s->txn.c.deadline_ms = deadline_ms;
    status = usher__sqlite_file_open(path, sync, &s->txn.c.deadline_ms, &s->txn.c.db, &s->place,
                                     message);
    if (status != USHER_OK) {
        close_store(&s->base);
        return status;
    }
    usher__sqlite_intact_begin(&s->intact, s->txn.c.db);
    *ret_records = &s->base;
    return USHER_OK;
}

/* "./" before a path that does not begin with a slash: SQLite gives names like ":memory:"
 * and "file:x" a meaning of their own. */
static enum usher_status path_of(const struct usher_url *url, char *path, size_t size,
                                 char message[192])
{
    size_t length = strlen(url->rest);

    memcpy(path, "./", 2);
    if (usher_url_unescape(url->rest, length, path + 2, size - 2) != USHER_OK) {
        usher__sqlite_say(message, "sqlite: the path contains an invalid %%XX");
        return USHER_INVALID;
    }
    if (path[2] == '\0') {
        usher__sqlite_say(message, "sqlite: the path is missing (as in `sqlite:usher.db`)");
        return USHER_INVALID;
    }
    if (path[2] == '/')
        memmove(path, path + 2, strlen(path + 2) + 1);
    return USHER_OK;
}

static enum usher_status options_of(struct usher_url *url, enum usher__sqlite_sync *ret_sync,
                                    bool *ret_create, char message[192])
{
    static const char *const words[] = {
        [USHER__SYNC_FULL] = "full",
        [USHER__SYNC_NORMAL] = "normal",
        [USHER__SYNC_OFF] = "off",
    };

    *ret_sync = USHER__SYNC_FULL;
    *ret_create = true;
    for (size_t i = 0; i < url->n_options; i++) {
        struct usher_url_option *option = &url->options[i];
        unsigned sync = 0;

        if (strcmp(option->key, "create") == 0) {
            option->used = true;
            *ret_create = strcmp(option->value, "0") != 0;
            if (*ret_create && strcmp(option->value, "1") != 0) {
                usher__sqlite_say(message, "sqlite: create is not 0 or 1");
                return USHER_INVALID;
            }
            continue;
        }
        if (strcmp(option->key, "sync") != 0) {
            if (option->used)
                continue; /* the engine's */
            usher__sqlite_say(message, "sqlite: has no option `%.40s`", option->key);
            return USHER_INVALID; /* before there is a file */
        }
        option->used = true;
        while (sync <= USHER__SYNC_OFF && strcmp(option->value, words[sync]) != 0)
            sync++;
        if (sync > USHER__SYNC_OFF) {
            usher__sqlite_say(message, "sqlite: sync is not full, normal or off");
            return USHER_INVALID;
        }
        *ret_sync = (enum usher__sqlite_sync)sync;
    }
    return USHER_OK;
}

/* No file, but a directory for it?  @path has a slash, and is as it was afterwards. */
static bool could_be_made(char *path)
{
    char *slash = strrchr(path, '/'), behind = slash[1];
    bool there;

    if (access(path, F_OK) == 0 || errno != ENOENT)
        return false;
    slash[1] = '\0';
    there = access(path, F_OK) == 0;
    slash[1] = behind;
    return there;
}

enum usher_status usher__sqlite_open(void *payload, struct usher_url *url,
                                     const struct usher_options *opt, int64_t deadline_ms,
                                     struct usher_store **ret_store, char message[192])
{
    const struct usher_allocator *alloc = opt != NULL ? opt->alloc : NULL;
    size_t size = strlen(url->rest) + 3;
    char *path = resize(alloc, NULL, 0, size);
    struct usher_record_store *records;
    char why[192] = "";
    enum usher__sqlite_sync sync;
    enum usher_status status;
    bool create;

    (void)payload;
    if (path == NULL) {
        usher__sqlite_say(message, "out of memory");
        return USHER_NOMEM;
    }
    status = path_of(url, path, size, message);
    if (status == USHER_OK)
        status = options_of(url, &sync, &create, message);
    if (status == USHER_OK && !create && could_be_made(path)) {
        usher__sqlite_say(message, "sqlite: %.100s: there is no such store", path);
        status = USHER_MISSING;
    }
    if (status == USHER_OK) {
        status = usher__sqlite_records(path, sync, alloc, deadline_ms, &records, why);
        if (status == USHER_OK) {
            status = usher_local_store(records, alloc, ret_store);
            if (status != USHER_OK)
                records->ops->close(records);
        } else {
            usher__sqlite_say(message, "sqlite: %.80s: %.100s", path, why);
        }
    }
    (void)resize(alloc, path, size, 0);
    return status;
}
