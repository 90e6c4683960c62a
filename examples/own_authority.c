/* SPDX-License-Identifier: MIT */
/*
 * own_authority -- an application's own database holds the limit of the numbers that may be given
 * out.
 *
 * The application keeps its series in a table of its own, beside its orders: `last` is usher's
 * maximum, and `rule` is the text that usher stores with it.  A loss of usher's store does not
 * matter then: here it is memory, which forgets everything.
 *
 *     cc own_authority.c $(pkg-config --cflags --libs usher sqlite3) -o own_authority
 *     ./own_authority shop.db
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include <usher/store/authority.h>

struct shop {
    struct usher_authority authority; /* first: usher knows no more of it */
    pthread_mutex_t lock;             /* one thread at a time uses the connection */
    sqlite3 *db;
};

static const char schema[] = "CREATE TABLE IF NOT EXISTS series("
                             " kind INTEGER NOT NULL,"
                             " name TEXT NOT NULL,"
                             " last INTEGER NOT NULL,"
                             " rule BLOB NOT NULL,"
                             " PRIMARY KEY (kind, name))";

static enum usher_status failed(struct shop *s, char message[192])
{
    (void)snprintf(message, 192, "shop: %s", sqlite3_errmsg(s->db));
    return USHER_UNAVAILABLE;
}

/* The lock, and a transaction.  Until @deadline_ms others may hold the file. */
static enum usher_status begin(struct shop *s, int64_t deadline_ms, char message[192])
{
    struct timespec now;
    int64_t left;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    left = deadline_ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    (void)pthread_mutex_lock(&s->lock);
    (void)sqlite3_busy_timeout(s->db, left > 0 ? (int)left : 1);
    return sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK
               ? USHER_OK
               : failed(s, message);
}

/* @status USHER_OK or USHER_FULL: commit.  If that fails, the commit may have happened or not, and
 * usher makes a gap of the range. */
static enum usher_status end(struct shop *s, enum usher_status status, char message[192])
{
    if ((status == USHER_OK || status == USHER_FULL) &&
        sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        (void)failed(s, message);
        status = USHER_UNKNOWN;
    }
    if (!sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

static void name_it(sqlite3_stmt *st, enum usher_noun noun, const struct usher_text *name)
{
    (void)sqlite3_bind_int(st, 1, (int)noun);
    (void)sqlite3_bind_text(st, 2, name->data, (int)name->size, SQLITE_STATIC);
}

/* Within a transaction.  MISSING: there is no such series yet. */
static enum usher_status find(struct shop *s, enum usher_noun noun, const struct usher_text *name,
                              struct usher_authority_entry *entry, char message[192])
{
    enum usher_status status = USHER_MISSING;
    sqlite3_stmt *st;
    int rc;

    entry->max = 0;
    entry->data_size = 0;
    if (sqlite3_prepare_v2(s->db, "SELECT last, rule FROM series WHERE kind = ?1 AND name = ?2", -1,
                           &st, NULL) != SQLITE_OK)
        return failed(s, message);
    name_it(st, noun, name);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        entry->max = sqlite3_column_int64(st, 0);
        entry->data_size = (size_t)sqlite3_column_bytes(st, 1);
        if (entry->data_size > sizeof entry->data) /* not what usher has given us */
            entry->data_size = 0;
        if (entry->data_size > 0)
            memcpy(entry->data, sqlite3_column_blob(st, 1), entry->data_size);
        status = USHER_OK;
    } else if (rc != SQLITE_DONE) {
        status = failed(s, message);
    }
    (void)sqlite3_finalize(st);
    return status;
}

static enum usher_status store(struct shop *s, enum usher_noun noun, const struct usher_text *name,
                               const struct usher_authority_entry *entry, char message[192])
{
    sqlite3_stmt *st;
    int rc;

    if (sqlite3_prepare_v2(s->db,
                           "REPLACE INTO series (kind, name, last, rule) VALUES (?, ?, ?, ?)", -1,
                           &st, NULL) != SQLITE_OK)
        return failed(s, message);
    name_it(st, noun, name);
    (void)sqlite3_bind_int64(st, 3, entry->max);
    (void)sqlite3_bind_blob(st, 4, entry->data, (int)entry->data_size, SQLITE_STATIC);
    rc = sqlite3_step(st);
    (void)sqlite3_finalize(st);
    return rc == SQLITE_DONE ? USHER_OK : failed(s, message);
}

/* ---- the four functions ----------------------------------------------------------------- */

static enum usher_status shop_reserve(struct usher_authority *a,
                                      const struct usher_authority_want *want, int64_t deadline_ms,
                                      struct usher_authority_range *ret_range, char message[192])
{
    struct shop *s = (struct shop *)a;
    struct usher_authority_entry entry;
    struct usher_authority_range range = { 0, 0 };
    bool full = false;
    enum usher_status status = begin(s, deadline_ms, message);

    if (status == USHER_OK)
        status = find(s, want->noun, &want->name, &entry, message);
    if (status == USHER_OK || status == USHER_MISSING) {
        range.from = range.to = entry.max > want->floor ? entry.max : want->floor;
        if (range.from < want->limit)
            range.to += want->n < want->limit - range.from ? want->n : want->limit - range.from;
        else
            full = want->n > 0;
        entry.max = range.to;
        if (want->data.data != NULL) { /* at most USHER_AUTHORITY_DATA_MAX */
            entry.data_size = want->data.size;
            memcpy(entry.data, want->data.data, want->data.size);
        }
        status = store(s, want->noun, &want->name, &entry, message);
    }
    if (status == USHER_OK && full)
        status = USHER_FULL;
    status = end(s, status, message); /* durable, before a caller gets the range */
    if (status == USHER_OK)
        *ret_range = range;
    return status;
}

static enum usher_status shop_read(struct usher_authority *a, enum usher_noun noun,
                                   const struct usher_text *name, int64_t deadline_ms,
                                   struct usher_authority_entry *ret_entry, char message[192])
{
    struct shop *s = (struct shop *)a;
    enum usher_status status = begin(s, deadline_ms, message);

    if (status == USHER_OK)
        status = find(s, noun, name, ret_entry, message);
    return end(s, status, message);
}

static enum usher_status shop_release(struct usher_authority *a, enum usher_noun noun,
                                      const struct usher_text *name, int64_t from, int64_t to,
                                      int64_t deadline_ms, char message[192])
{
    struct shop *s = (struct shop *)a;
    struct usher_authority_entry entry;
    enum usher_status status = begin(s, deadline_ms, message);

    if (status == USHER_OK)
        status = find(s, noun, name, &entry, message);
    if (status == USHER_OK && entry.max != to)
        status = USHER_STALE; /* a later range is reserved: this one stays a gap */
    if (status == USHER_OK) {
        entry.max = from;
        status = store(s, noun, name, &entry, message);
    }
    return end(s, status, message);
}

static void shop_close(struct usher_authority *a)
{
    struct shop *s = (struct shop *)a;

    (void)sqlite3_close(s->db);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

static const struct usher_authority_ops shop_ops = {
    .size = sizeof(struct usher_authority_ops),
    .name = "shop",
    .reserve = shop_reserve,
    .read = shop_read,
    .release = shop_release,
    .close = shop_close,
};

/* The shop's database, for usher_options.authority.  NULL: it cannot be opened. */
static struct usher_authority *shop_open(const char *path)
{
    struct shop *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->authority.ops = &shop_ops;
    (void)pthread_mutex_init(&s->lock, NULL);
    if (sqlite3_open(path, &s->db) != SQLITE_OK ||
        sqlite3_exec(s->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        shop_close(&s->authority);
        return NULL;
    }
    return &s->authority;
}

#ifndef OWN_AUTHORITY_IN_TEST
/* One order number, from a store that has just come into being and is then gone. */
static int order(struct usher_authority *shop)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_serial_settings rule = USHER_SERIAL_SETTINGS_INIT;
    struct usher_reply *reply = NULL;
    struct usher_engine *e;
    enum usher_status status;

    opt.authority = shop;
    if (usher_open("memory:", &opt, &e) != USHER_OK) {
        fprintf(stderr, "%s\n", usher_message());
        return 1;
    }
    rule.prefix = "SO-";
    rule.width = 8;
    status = usher_serial_set(e, "orders", &rule, NULL, NULL);
    if (USHER_IS_DONE(status))
        status = usher_serial_take(e, "orders", 1, NULL, &reply);
    if (status == USHER_OK) {
        printf("%s\n", usher_reply_text(reply, 0, USHER_FIELD_SERIAL, NULL));
    } else {
        fprintf(stderr, "%s\n", usher_message());
    }
    usher_reply_done(reply);
    usher_close(e);
    return status == USHER_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct usher_authority *shop = shop_open(argc > 1 ? argv[1] : ":memory:");
    int rc = shop == NULL;

    for (int i = 0; i < 3 && rc == 0; i++)
        rc = order(shop);
    usher_authority_close(shop);
    return rc;
}
#endif
