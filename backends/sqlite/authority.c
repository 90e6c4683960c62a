/* SPDX-License-Identifier: MIT */
/*
 * One table of maxima and one of events.
 *
 * Was a number journalled before?  Ranges do not overlap unless something is wrong, so the one that
 * begins last up to the end of a new range decides; if ranges overlap, `reach` decides.
 */
#include "config.h"

#include "authority.h"

#include <string.h>

#include "aux_db.h"

struct authority {
    struct usher_authority base;
    struct usher__aux_db aux;
    /* The statements of the journal, one or more a take: to prepare them takes longer than to run
     * them. */
    sqlite3_stmt *looks, *adds, *settled, *confirmed;
};

/* In the file, so it stays as it is. */
#define CONFIRM "1034"

_Static_assert(USHER_SERIAL_CONFIRM == 1034, "the journal keeps verbs by number");

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
    " period INTEGER NOT NULL,"
    " first INTEGER NOT NULL,"
    " n INTEGER NOT NULL,"
    " verb INTEGER NOT NULL,"
    " now_ms INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL,"
    " version INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL,"
    " owner BLOB NOT NULL,"
    " serial BLOB NOT NULL,"
    " reach INTEGER NOT NULL," /* the last number of this and of all that begin before it */
    " twice INTEGER NOT NULL);"
    "CREATE INDEX journal_of ON journal(noun, name);" /* in order of rows */
    "CREATE INDEX journal_issue ON journal(noun, name, version, first);"
    "CREATE INDEX journal_number ON journal(noun, name, period, first);"
    "CREATE INDEX journal_confirmed ON journal(noun, name, period, first) WHERE verb = " CONFIRM ";"
    "CREATE INDEX journal_twice ON journal(row) WHERE twice <> 0;";
/* clang-format on */

static const struct usher__aux_db_kind kind = {
    .what = "an authority",
    .application = 0x75736861, /* "usha" */
    .format = 4,
    .schema = schema,
};

static void bind_text(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    (void)sqlite3_bind_blob64(st, i, text->size != 0 ? text->data : "", text->size, SQLITE_STATIC);
}

/* Reads the columns max and data. */
static void read_columns(sqlite3_stmt *st, struct usher_authority_entry *entry)
{
    const void *data = sqlite3_column_blob(st, 1);
    int size = sqlite3_column_bytes(st, 1);

    entry->max = sqlite3_column_int64(st, 0);
    entry->data_size = 0;
    if (data != NULL && size > 0 && (size_t)size <= sizeof entry->data) {
        entry->data_size = (size_t)size;
        memcpy(entry->data, data, (size_t)size);
    }
}

/* The maximum of a name.  MISSING. */
static enum usher_status find(struct usher__aux_db *a, enum usher_noun noun,
                              const struct usher_text *name, int64_t *ret_max,
                              struct usher_authority_entry *entry, char message[192])
{
    sqlite3_stmt *st;
    bool there = false;
    int rc;
    enum usher_status status = usher__aux_db_prepare(
        a, "SELECT max, data FROM maximum WHERE noun = ?1 AND name = ?2", &st, message);

    if (status != USHER_OK)
        return status;
    (void)sqlite3_bind_int(st, 1, (int)noun);
    bind_text(st, 2, name);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        there = true;
        *ret_max = sqlite3_column_int64(st, 0);
        if (entry != NULL)
            read_columns(st, entry);
    }
    status = usher__aux_db_finish(a, st, rc, message);
    return status == USHER_OK && !there ? USHER_MISSING : status;
}

static enum usher_status put(struct usher__aux_db *a, enum usher_noun noun,
                             const struct usher_text *name, int64_t max,
                             const struct usher_text *data, char message[192])
{
    sqlite3_stmt *st;
    enum usher_status status = usher__aux_db_prepare(
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
    return usher__aux_db_finish(a, st, sqlite3_step(st), message);
}

/* ---- the interface ------------------------------------------------------------------ */

static enum usher_status reserve(struct usher_authority *base,
                                 const struct usher_authority_want *want, int64_t deadline_ms,
                                 struct usher_authority_range *ret_range, char message[192])
{
    struct usher__aux_db *a = &((struct authority *)base)->aux;
    struct usher_authority_range range = { 0, 0 };
    bool full = false;
    enum usher_status status = usher__aux_db_begin(a, true, deadline_ms, message);

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
    status = usher__aux_db_end(a, status, message);
    if (status == USHER_OK)
        *ret_range = range;
    return status;
}

static enum usher_status read_entry(struct usher_authority *base, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    struct usher_authority_entry *ret_entry, char message[192])
{
    struct usher__aux_db *a = &((struct authority *)base)->aux;
    int64_t max;
    enum usher_status status = usher__aux_db_begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, noun, name, &max, ret_entry, message);
    return usher__aux_db_end(a, status, message);
}

static enum usher_status release(struct usher_authority *base, enum usher_noun noun,
                                 const struct usher_text *name, int64_t from, int64_t to,
                                 int64_t deadline_ms, char message[192])
{
    static const struct usher_text as_it_is = { NULL, 0 };
    struct usher__aux_db *a = &((struct authority *)base)->aux;
    int64_t max;
    enum usher_status status = usher__aux_db_begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = find(a, noun, name, &max, NULL, message);
    if (status == USHER_OK)
        status = max == to && from >= 0 && from <= to ? put(a, noun, name, from, &as_it_is, message)
                                                      : USHER_STALE;
    return usher__aux_db_end(a, status, message);
}

/* ---- the journal ------------------------------------------------------------------- */

/* Is ?1 … there (known), and of the rows that begin up to ?11, the last one of those that begin
 * last. */
static const char look[] =
    "SELECT known, first, row, verb, n, now_ms, until_ms, version, reach, twice FROM"
    " (SELECT EXISTS (SELECT 1 FROM journal WHERE noun = ?1 AND name = ?2 AND version = ?3"
    " AND first = ?4 AND verb = ?5 AND (epoch = ?6 OR ?7) AND (now_ms = ?8 OR NOT ?9)) AS known)"
    " LEFT JOIN (SELECT * FROM journal WHERE noun = ?1 AND name = ?2 AND period = ?10"
    " AND first <= ?11 ORDER BY first DESC, row DESC LIMIT 1)";

/* The rows that begin up to ?11, the last one first: see is_settled(). */
#define SETTLED                                                                               \
    "SELECT verb, first, n, reach, version, epoch FROM journal WHERE noun = ?1 AND name = ?2" \
    " AND period = ?10 AND first <= ?11 AND (version <> ?3 OR first <> ?4)"

#define LAST_FIRST " ORDER BY first DESC, row DESC"

static const char settled[] = SETTLED LAST_FIRST;

/* A number may be returned many times, and is confirmed once. */
static const char confirmed[] = SETTLED " AND verb = " CONFIRM LAST_FIRST;

static const char add[] =
    "INSERT INTO journal (noun, name, version, first, verb, epoch, period, n, now_ms, until_ms,"
    " owner, serial, reach, twice) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
    " ?14)";

/* The row before, as the statement look returns it. */
struct before {
    bool known, there, twice;
    int64_t first, row, n, now_ms, until_ms, version, reach;
    enum usher_verb verb;
};

static bool is_issue(const struct usher_authority_event *event)
{
    return event->verb == USHER_SERIAL_TAKE || event->verb == USHER_SERIAL_RESERVE;
}

static bool is_end(enum usher_verb verb)
{
    return verb == USHER_SERIAL_RETURN || verb == USHER_SERIAL_VOID || verb == USHER_SERIAL_EXPIRE;
}

static int64_t last_of(const struct usher_authority_event *event)
{
    return event->n > INT64_MAX - event->first ? INT64_MAX : event->first + (event->n - 1);
}

/* ?1 to ?6 of look and add. */
static void bind_event(sqlite3_stmt *st, const struct usher_authority_event *event)
{
    (void)sqlite3_bind_int(st, 1, (int)event->noun);
    bind_text(st, 2, &event->name);
    (void)sqlite3_bind_int64(st, 3, (int64_t)event->version);
    (void)sqlite3_bind_int64(st, 4, event->first);
    (void)sqlite3_bind_int(st, 5, (int)event->verb);
    (void)sqlite3_bind_int64(st, 6, (int64_t)event->epoch);
}

static int look_before(sqlite3_stmt *st, const struct usher_authority_event *event,
                       struct before *ret)
{
    int rc;

    memset(ret, 0, sizeof *ret);
    bind_event(st, event);
    (void)sqlite3_bind_int(st, 7, event->again);
    (void)sqlite3_bind_int64(st, 8, event->now_ms);
    (void)sqlite3_bind_int(st, 9, is_issue(event));
    (void)sqlite3_bind_int64(st, 10, event->period);
    (void)sqlite3_bind_int64(st, 11, last_of(event));
    rc = sqlite3_step(st);
    if (rc != SQLITE_ROW)
        return rc;
    ret->known = sqlite3_column_int(st, 0) != 0;
    ret->there = sqlite3_column_type(st, 2) != SQLITE_NULL;
    ret->first = sqlite3_column_int64(st, 1);
    ret->row = sqlite3_column_int64(st, 2);
    ret->verb = (enum usher_verb)sqlite3_column_int(st, 3);
    ret->n = sqlite3_column_int64(st, 4);
    ret->now_ms = sqlite3_column_int64(st, 5);
    ret->until_ms = sqlite3_column_int64(st, 6);
    ret->version = sqlite3_column_int64(st, 7);
    ret->reach = sqlite3_column_int64(st, 8);
    ret->twice = sqlite3_column_int(st, 9) != 0;
    (void)sqlite3_reset(st);
    return SQLITE_DONE;
}

static bool is_twice(const struct usher_authority_event *event, const struct before *b)
{
    if (!is_issue(event) || !b->there || b->reach < event->first)
        return false;
    /* a repeated answer, under another epoch, was faster than the first one */
    if (b->first == event->first && b->n == event->n && b->now_ms == event->now_ms &&
        (uint64_t)b->version == event->version)
        return false;
    if (event->verb == USHER_SERIAL_TAKE || b->first != event->first || b->reach > last_of(event))
        return true;
    return b->verb == USHER_SERIAL_RESERVE || b->verb == USHER_SERIAL_RENEW
               ? b->until_ms > event->now_ms
               : b->verb != USHER_SERIAL_RETURN && b->verb != USHER_SERIAL_EXPIRE;
}

/* Are the two epochs of one rule?  A rule that loses something takes the next epoch and goes on
 * with larger versions; a rule that is made again has an epoch by chance. */
static bool same_rule(uint64_t a, uint64_t b)
{
    return a - b + (UINT64_C(1) << 31) < UINT64_C(1) << 32;
}

/* Do @event and the row at which @st stands settle one number twice?  In a rule nothing follows a
 * confirm; two masters, and a store that has lost the confirm, give such versions. */
static bool settles_twice(const struct usher_authority_event *event, sqlite3_stmt *st)
{
    enum usher_verb before = (enum usher_verb)sqlite3_column_int(st, 0);
    uint64_t version = (uint64_t)sqlite3_column_int64(st, 4);

    if (sqlite3_column_int64(st, 2) <= event->first - sqlite3_column_int64(st, 1))
        return false; /* it ends before the first number of @event */
    if (event->verb == before)
        return before == USHER_SERIAL_CONFIRM;
    if (!same_rule((uint64_t)sqlite3_column_int64(st, 5), event->epoch))
        return false;
    if (event->verb == USHER_SERIAL_CONFIRM)
        return is_end(before) && version > event->version;
    return before == USHER_SERIAL_CONFIRM && version < event->version;
}

/* Was a number of @event, which settles it, settled before?  No row that begins earlier than one
 * whose `reach` is below the first of them has any of them. */
static int is_settled(sqlite3_stmt *st, const struct usher_authority_event *event, bool *ret)
{
    int rc = SQLITE_DONE;

    *ret = false;
    if (!is_end(event->verb) && event->verb != USHER_SERIAL_CONFIRM)
        return rc;
    bind_event(st, event);
    (void)sqlite3_bind_int64(st, 10, event->period);
    (void)sqlite3_bind_int64(st, 11, last_of(event));
    while (!*ret && (rc = sqlite3_step(st)) == SQLITE_ROW &&
           sqlite3_column_int64(st, 3) >= event->first)
        *ret = settles_twice(event, st);
    (void)sqlite3_reset(st);
    return rc == SQLITE_ROW ? SQLITE_DONE : rc;
}

static int update(sqlite3 *db, const char *sql, int64_t value,
                  const struct usher_authority_event *event)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(st, 1, value);
    (void)sqlite3_bind_int(st, 2, (int)event->noun);
    bind_text(st, 3, &event->name);
    (void)sqlite3_bind_int64(st, 4, event->period);
    (void)sqlite3_bind_int64(st, 5, event->first);
    (void)sqlite3_bind_int64(st, 6, last_of(event));
    if (sqlite3_bind_parameter_count(st) > 6)
        (void)sqlite3_bind_int(st, 7, (int)USHER_SERIAL_RESERVE);
    rc = sqlite3_step(st);
    (void)sqlite3_finalize(st);
    return rc;
}

static int add_event(sqlite3 *db, sqlite3_stmt *st, struct usher_authority_event *event,
                     const struct before *b, bool settled_before)
{
    int64_t reach = last_of(event);
    int rc;

    event->twice = settled_before || is_twice(event, b);
    if (b->there && b->reach > reach)
        reach = b->reach;
    (void)sqlite3_reset(st);
    bind_event(st, event);
    (void)sqlite3_bind_int64(st, 7, event->period);
    (void)sqlite3_bind_int64(st, 8, event->n);
    (void)sqlite3_bind_int64(st, 9, event->now_ms);
    (void)sqlite3_bind_int64(st, 10, event->until_ms);
    bind_text(st, 11, &event->owner);
    bind_text(st, 12, &event->text);
    (void)sqlite3_bind_int64(st, 13, reach);
    (void)sqlite3_bind_int(st, 14, event->twice);
    rc = sqlite3_step(st);
    if (rc != SQLITE_DONE)
        return rc;
    event->row = (uint64_t)sqlite3_last_insert_rowid(db);
    if (b->there && b->first > event->first) /* it covers others */
        rc = update(db,
                    "UPDATE journal SET reach = max(reach, ?6) WHERE row <> ?1 AND noun = ?2"
                    " AND name = ?3 AND period = ?4 AND first BETWEEN ?5 AND ?6",
                    (int64_t)event->row, event);
    /* an end that is late: it was followed by a reserve */
    if (rc == SQLITE_DONE && b->there && (uint64_t)b->version > event->version &&
        (event->verb == USHER_SERIAL_RETURN || event->verb == USHER_SERIAL_EXPIRE))
        rc = update(
            db,
            "UPDATE journal SET twice = 0 WHERE row = (SELECT row FROM journal"
            " WHERE noun = ?2 AND name = ?3 AND period = ?4 AND first = ?5 AND twice <> 0"
            " AND n = 1 AND version > ?1 AND verb = ?7 ORDER BY version, row LIMIT 1) AND ?6 = ?5",
            (int64_t)event->version, event);
    return rc;
}

static void forget_statements(struct authority *own)
{
    (void)sqlite3_finalize(own->looks);
    (void)sqlite3_finalize(own->adds);
    (void)sqlite3_finalize(own->settled);
    (void)sqlite3_finalize(own->confirmed);
    own->looks = own->adds = own->settled = own->confirmed = NULL;
}

/* Unless they are there, of the file as it is open now: one that was closed stays until they go. */
static enum usher_status prepare(struct authority *own, char message[192])
{
    enum usher_status status;

    if (own->adds != NULL && sqlite3_db_handle(own->adds) == own->aux.db)
        return USHER_OK;
    forget_statements(own);
    status = usher__aux_db_prepare(&own->aux, look, &own->looks, message);
    if (status == USHER_OK)
        status = usher__aux_db_prepare(&own->aux, settled, &own->settled, message);
    if (status == USHER_OK)
        status = usher__aux_db_prepare(&own->aux, confirmed, &own->confirmed, message);
    return status == USHER_OK ? usher__aux_db_prepare(&own->aux, add, &own->adds, message) : status;
}

static enum usher_status journal(struct usher_authority *base, struct usher_authority_event *events,
                                 size_t n, int64_t deadline_ms, char message[192])
{
    struct authority *own = (struct authority *)base;
    struct usher__aux_db *a = &own->aux;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__aux_db_begin(a, true, deadline_ms, message);

    if (status == USHER_OK)
        status = prepare(own, message);
    for (size_t i = 0; i < n && status == USHER_OK && rc == SQLITE_DONE; i++) {
        struct before b;
        bool settled_before = false;

        events[i].row = 0;
        events[i].twice = false;
        rc = look_before(own->looks, &events[i], &b);
        if (rc == SQLITE_DONE && !b.known)
            rc = is_settled(is_end(events[i].verb) ? own->confirmed : own->settled, &events[i],
                            &settled_before);
        if (rc == SQLITE_DONE && !b.known)
            rc = add_event(a->db, own->adds, &events[i], &b, settled_before);
    }
    if (rc != SQLITE_DONE)
        status = usher__sqlite_failed(a->db, rc, message);
    (void)sqlite3_reset(own->looks);
    (void)sqlite3_reset(own->adds);
    (void)sqlite3_reset(own->settled);
    (void)sqlite3_reset(own->confirmed);
    return usher__aux_db_end(a, status, message);
}

static struct usher_text column(sqlite3_stmt *st, int i)
{
    struct usher_text text = { sqlite3_column_blob(st, i), (size_t)sqlite3_column_bytes(st, i) };

    return text;
}

#define EVENT                                                                                    \
    "SELECT name, verb, first, n, now_ms, version, owner, serial, epoch, period, row, until_ms," \
    " twice, noun FROM journal "

static void tell(sqlite3_stmt *st, usher_authority_event_fn *fn, void *payload)
{
    struct usher_authority_event event;

    memset(&event, 0, sizeof event);
    event.name = column(st, 0);
    event.verb = (enum usher_verb)sqlite3_column_int(st, 1);
    event.first = sqlite3_column_int64(st, 2);
    event.n = sqlite3_column_int64(st, 3);
    event.now_ms = sqlite3_column_int64(st, 4);
    event.version = (uint64_t)sqlite3_column_int64(st, 5);
    event.owner = column(st, 6);
    event.text = column(st, 7);
    event.epoch = (uint64_t)sqlite3_column_int64(st, 8);
    event.period = sqlite3_column_int64(st, 9);
    event.row = (uint64_t)sqlite3_column_int64(st, 10);
    event.until_ms = sqlite3_column_int64(st, 11);
    event.twice = sqlite3_column_int(st, 12) != 0;
    event.noun = (enum usher_noun)sqlite3_column_int(st, 13);
    fn(payload, &event);
}

static enum usher_status events(struct usher_authority *base, enum usher_noun noun,
                                const struct usher_text *name, uint64_t row, size_t max,
                                int64_t deadline_ms, usher_authority_event_fn *fn, void *payload,
                                char message[192])
{
    struct usher__aux_db *a = &((struct authority *)base)->aux;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__aux_db_begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__aux_db_prepare(
            a, EVENT "WHERE noun = ?1 AND name = ?2 AND row > ?3 ORDER BY row LIMIT ?4", &st,
            message);
    if (status == USHER_OK) {
        (void)sqlite3_bind_int(st, 1, (int)noun);
        bind_text(st, 2, name);
        (void)sqlite3_bind_int64(st, 3, row < INT64_MAX ? (int64_t)row : INT64_MAX);
        (void)sqlite3_bind_int64(st, 4, max < INT64_MAX ? (int64_t)max : INT64_MAX);
        while ((rc = sqlite3_step(st)) == SQLITE_ROW)
            tell(st, fn, payload);
        status = usher__aux_db_finish(a, st, rc, message);
    }
    return usher__aux_db_end(a, status, message);
}

static enum usher_status twice(struct usher_authority *base, int64_t deadline_ms,
                               usher_authority_event_fn *fn, void *payload, char message[192])
{
    struct usher__aux_db *a = &((struct authority *)base)->aux;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__aux_db_begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__aux_db_prepare(a, EVENT "WHERE twice <> 0 ORDER BY row", &st, message);
    if (status == USHER_OK) {
        while ((rc = sqlite3_step(st)) == SQLITE_ROW)
            tell(st, fn, payload);
        status = usher__aux_db_finish(a, st, rc, message);
    }
    return usher__aux_db_end(a, status, message);
}

static enum usher_status entries(struct usher_authority *base, enum usher_noun noun,
                                 int64_t deadline_ms, usher_authority_entry_fn *fn, void *payload,
                                 char message[192])
{
    struct usher__aux_db *a = &((struct authority *)base)->aux;
    struct usher_authority_entry entry;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    enum usher_status status = usher__aux_db_begin(a, false, deadline_ms, message);

    if (status == USHER_OK)
        status = usher__aux_db_prepare(
            a, "SELECT max, data, name FROM maximum WHERE noun = ?1 AND data <> x''", &st, message);
    if (status == USHER_OK) {
        (void)sqlite3_bind_int(st, 1, (int)noun);
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
            struct usher_text name = column(st, 2);

            read_columns(st, &entry);
            fn(payload, &name, &entry);
        }
        status = usher__aux_db_finish(a, st, rc, message);
    }
    return usher__aux_db_end(a, status, message);
}

static void close_authority(struct usher_authority *base)
{
    struct authority *a = (struct authority *)base;

    forget_statements(a);
    usher__aux_db_close(&a->aux, a, sizeof *a, false);
}

static void forget_authority(struct usher_authority *base)
{
    struct authority *a = (struct authority *)base;

    forget_statements(a);
    usher__aux_db_close(&a->aux, a, sizeof *a, true);
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
    .twice = twice,
    .entries = entries,
};

enum usher_status usher__sqlite_authority(const char *path, const struct usher_allocator *alloc,
                                          struct usher_authority **ret_authority, char message[192])
{
    enum usher_status status;
    struct authority *a = usher__aux_db_new(&kind, path, alloc, sizeof *a,
                                            offsetof(struct authority, aux), &status, message);

    if (a != NULL) {
        a->base.ops = &ops;
        *ret_authority = &a->base;
    }
    return status;
}
