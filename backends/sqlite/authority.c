/* SPDX-License-Identifier: MIT */
/* One table of maxima and one of events. */
#include "config.h"

#include "authority.h"

#include <string.h>

#include "side.h"

struct authority {
    struct usher_authority base;
    struct usher__sqlite_side side;
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
    " row INTEGER PRIMARY KEY,"
    " noun INTEGER NOT NULL,"
    " name BLOB NOT NULL,"
    " version INTEGER NOT NULL,"
    " first INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL,"
    " period INTEGER NOT NULL,"
    " n INTEGER NOT NULL,"
    " verb INTEGER NOT NULL,"
    " now_ms INTEGER NOT NULL,"
    " owner BLOB NOT NULL,"
    " serial BLOB NOT NULL,"
    " UNIQUE (noun, name, version, first, epoch));"
    "CREATE INDEX journal_of ON journal(noun, name);"; /* in order of rows */
/* clang-format on */

static const struct usher__sqlite_side_kind kind = {
    .what = "an authority",
    .application = 0x75736861, /* "usha" */
    .format = 2,
    .schema = schema,
};

static void bind_text(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    (void)sqlite3_bind_blob64(st, i, text->size != 0 ? text->data : "", text->size, SQLITE_STATIC);
}

/* The maximum of a name.  MISSING. */
static enum usher_status find(struct usher__sqlite_side *a, enum usher_noun noun,
                              const struct usher_text *name, int64_t *ret_max,
                              struct usher_authority_entry *entry, char message[192])
{
    sqlite3_stmt *st;
    bool there = false;
    int rc;
    enum usher_status status = usher__sqlite_side_prepare(
        a, "SELECT max, data FROM maximum WHERE noun = ?1 AND name = ?2", &st, message);

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
    status = usher__sqlite_side_finish(a, st, rc, message);
    return status == USHER_OK && !there ? USHER_MISSING : status;
}

static enum usher_status put(struct usher__sqlite_side *a, enum usher_noun noun,
                             const struct usher_text *name, int64_t max,
                             const struct usher_text *data, char message[192])
{
    sqlite3_stmt *st;
    enum usher_status status = usher__sqlite_side_prepare(
        a,
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
    return usher__sqlite_side_finish(a, st, sqlite3_step(st), message);
}

/* ---- the interface ------------------------------------------------------------------ */

static enum usher_status reserve(struct usher_authority *base,
                                 const struct usher_authority_want *want, int64_t deadline_ms,
                                 struct usher_authority_range *ret_range, char message[192])
{
    struct usher__sqlite_side *a = &((struct authority *)base)->side;
    struct usher_authority_range range = { 0, 0 };
    bool full = false;
    enum usher_status status = usher__sqlite_side_begin(a, true, deadline_ms, message);

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
    status = usher__sqlite_side_end(a, status, message);
    if (status == USHER_OK)
        *ret_range = range;
    return status;
}

static enum usher_status read_entry(struct usher_authority *base, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    struct usher_authority_entry *ret_entry, char message[192])
{
    struct usher__sqlite_side *a = &((struct authority *)base)->side;
    int64_t max;
    enum usher_status status = usher__sqlite_side_begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, noun, name, &max, ret_entry, message);
    return usher__sqlite_side_end(a, status, message);
}

static enum usher_status release(struct usher_authority *base, enum usher_noun noun,
                                 const struct usher_text *name, int64_t from, int64_t to,
                                 int64_t deadline_ms, char message[192])
{
    static const struct usher_text as_it_is = { NULL, 0 };
    struct usher__sqlite_side *a = &((struct authority *)base)->side;
    int64_t max;
    enum usher_status status = usher__sqlite_side_begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, noun, name, &max, NULL, message);
    if (status == USHER_OK)
        status = max == to && from >= 0 && from <= to ? put(a, noun, name, from, &as_it_is, message)
                                                      : USHER_STALE;
    return usher__sqlite_side_end(a, status, message);
}

static enum usher_status journal(struct usher_authority *base,
                                 const struct usher_authority_event *events, size_t n,
                                 int64_t deadline_ms, char message[192])
{
    struct usher__sqlite_side *a = &((struct authority *)base)->side;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__sqlite_side_begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__sqlite_side_prepare(
            a,
            "INSERT OR IGNORE INTO journal (noun, name, version, first, n, verb,"
            " now_ms, owner, serial, epoch, period)"
            " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE NOT ?12 OR NOT EXISTS"
            " (SELECT 1 FROM journal WHERE noun = ?1 AND name = ?2 AND version = ?3"
            " AND first = ?4 AND verb = ?6)",
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
        (void)sqlite3_bind_int64(st, 10, (int64_t)event->epoch);
        (void)sqlite3_bind_int64(st, 11, event->period);
        (void)sqlite3_bind_int(st, 12, event->again);
        rc = sqlite3_step(st);
    }
    if (status == USHER_OK)
        status = usher__sqlite_side_finish(a, st, rc, message);
    return usher__sqlite_side_end(a, status, message);
}

static struct usher_text column(sqlite3_stmt *st, int i)
{
    struct usher_text text = { sqlite3_column_blob(st, i), (size_t)sqlite3_column_bytes(st, i) };

    return text;
}

static enum usher_status events(struct usher_authority *base, enum usher_noun noun,
                                const struct usher_text *name, uint64_t row, size_t max,
                                int64_t deadline_ms, usher_authority_event_fn *fn, void *payload,
                                char message[192])
{
    struct usher__sqlite_side *a = &((struct authority *)base)->side;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__sqlite_side_begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__sqlite_side_prepare(
            a,
            "SELECT verb, first, n, now_ms, version, owner, serial, epoch, period, row FROM journal"
            " WHERE noun = ?1 AND name = ?2 AND row > ?3 ORDER BY row LIMIT ?4",
            &st, message);
    if (status == USHER_OK) {
        (void)sqlite3_bind_int(st, 1, (int)noun);
        bind_text(st, 2, name);
        (void)sqlite3_bind_int64(st, 3, row < INT64_MAX ? (int64_t)row : INT64_MAX);
        (void)sqlite3_bind_int64(st, 4, max < INT64_MAX ? (int64_t)max : INT64_MAX);
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
            event.epoch = (uint64_t)sqlite3_column_int64(st, 7);
            event.period = sqlite3_column_int64(st, 8);
            event.row = (uint64_t)sqlite3_column_int64(st, 9);
            fn(payload, &event);
        }
        status = usher__sqlite_side_finish(a, st, rc, message);
    }
    return usher__sqlite_side_end(a, status, message);
}

static void close_authority(struct usher_authority *base)
{
    struct authority *a = (struct authority *)base;

    usher__sqlite_side_close(&a->side, a, sizeof *a, false);
}

static void forget_authority(struct usher_authority *base)
{
    struct authority *a = (struct authority *)base;

    usher__sqlite_side_close(&a->side, a, sizeof *a, true);
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
    .events = events,
};

enum usher_status usher__sqlite_authority(const char *path, const struct usher_allocator *alloc,
                                          struct usher_authority **ret_authority, char message[192])
{
    enum usher_status status;
    struct authority *a = usher__sqlite_side_new(
        &kind, path, alloc, sizeof *a, offsetof(struct authority, side), &status, message);

    if (a != NULL) {
        a->base.ops = &ops;
        *ret_authority = &a->base;
    }
    return status;
}
