/* SPDX-License-Identifier: MIT */
/* Scans of the whole store, for audits and lists.  See sqlite.c. */
#include "config.h"

#include "records.h"

#include "history_table.h"

struct scanner {
    struct connection *c;
    usher_scan_fn *fn;
    void *payload;
    int64_t ranked; /* entries of the last scope that the rank pages should have counted */
};

/* The position of a scan in an index.  A damaged index may lead in circles; a scan that continues
 * only while the keys ascend comes to an end. */
struct position {
    int64_t list;
    uint64_t hi, order;
    size_t size; /* of the text; 0 also at the beginning */
    char text[USHER_NAME_MAX];
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Advance to the next key; false if it is not greater than the last one. */
static bool ascends(struct position *at, int64_t list, const struct usher_text *text, uint64_t hi,
                    uint64_t order)
{
    size_t shorter = text->size < at->size ? text->size : at->size;
    int sign = (list > at->list) - (list < at->list);

    if (sign == 0 && shorter != 0)
        sign = memcmp(text->data, at->text, shorter);
    if (sign == 0)
        sign = compare(text->size, at->size);
    if (sign == 0)
        sign = compare(hi, at->hi);
    if (sign == 0)
        sign = compare(order, at->order);
    at->list = list;
    at->hi = hi;
    at->order = order;
    at->size = text->size;
    if (text->size != 0)
        memcpy(at->text, text->data, text->size);
    return sign > 0;
}

static enum usher_status scan_records(const struct scanner *sc, const struct usher_scope *s)
{
    struct usher_record r;
    struct usher_item item = { .kind = USHER_ITEM_RECORD, .record = &r };
    struct position at = { .size = 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(sc->c, ST_EACH, &st);
    int rc = SQLITE_DONE;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list_of(s->ref, 0));
    bind_int(st, 2, list_of(s->ref, USHER_KINDS - 1));
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        status = usher__records_read_record(sc->c, st, &r);
        if (status == USHER_OK && !ascends(&at, r.kind, &r.id, 0, 0))
            status = usher__records_corrupt(sc->c, "records out of order");
        if (status == USHER_OK)
            status = sc->fn(sc->payload, &item);
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = usher__records_failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

static enum usher_status scan_list(struct scanner *sc, const struct usher_scope *s,
                                   enum statement list, uint8_t slot)
{
    struct usher_entry e = { .slot = slot };
    struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };
    struct position at = { .size = 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(sc->c, list, &st);
    int rc = SQLITE_DONE;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list_of(s->ref, 0));
    bind_int(st, 2, list_of(s->ref, USHER_KINDS - 1));
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        bool sound = true, memory = true;

        e.kind = (uint8_t)(sqlite3_column_int64(st, 0) & 15);
        e.hi = (uint64_t)usher__records_read_int(st, 1, 0, NUMBER_LIMIT, &sound);
        e.order = (uint64_t)usher__records_read_int(st, 2, 0, NUMBER_LIMIT, &sound);
        usher__records_read_text(st, 3, 1, USHER_NAME_MAX, &e.id, &sound, &memory);
        usher__records_read_text(st, 4, 0, USHER_NAME_MAX, &e.by, &sound, &memory);
        sc->ranked += list == ST_READY_BY_ENTRIES && usher__records_is_ranked(s->noun, e.kind);
        if (!memory)
            status = usher__records_no_memory(sc->c);
        else
            status = sound && ascends(&at, e.kind, &e.by, e.hi, e.order)
                         ? sc->fn(sc->payload, &item)
                         : usher__records_corrupt(sc->c, "an index entry");
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = usher__records_failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/* Does each rank page have as many records as is stored?  One that disagrees is shown. */
static enum usher_status scan_rank_pages(const struct scanner *sc, const struct usher_scope *s)
{
    struct usher_item item = { .kind = USHER_ITEM_FAULT,
                               .fault = "places that are counted and their list disagree" };
    uint8_t kind = usher__records_kind_with(s->noun, USHER_KIND_RANKED);
    int64_t list, all = 0;
    struct rank_page one = { 0, 0, 0 }, last = one;
    struct usher_text by = { "", 0 }, last_by = by;
    char text[USHER_NAME_MAX];
    bool same = true, more = true;
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(sc->c, ST_PLACE_EACH, &st);

    if (status != USHER_OK || kind == USHER_KINDS)
        return status;
    list = list_of(s->ref, kind);
    bind_int(st, 1, list);
    while (status == USHER_OK && same && more) {
        bool sound = true, memory = true, goes_on;
        int64_t n = 0;
        int rc = sqlite3_step(st);

        more = rc == SQLITE_ROW;
        if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
            status = usher__records_failed(sc->c, rc);
            break;
        }
        if (more) {
            usher__records_read_text(st, 0, 1, USHER_NAME_MAX, &by, &sound, &memory);
            status = !memory ? usher__records_no_memory(sc->c)
                     : sound ? usher__records_read_rank_page(sc->c, st, 1, &one)
                             : usher__records_corrupt(sc->c, "a place");
        }
        goes_on = more && status == USHER_OK && same_text(&by, &last_by);
        if (status == USHER_OK && last.n != 0) {
            status = usher__records_count_within(sc->c, list, &last_by, &last,
                                                 goes_on ? one.hi : INT64_MAX,
                                                 goes_on ? one.order : INT64_MAX, last.n, &n);
            same = n == last.n;
            all += n;
        }
        if (more && status == USHER_OK) {
            last = one;
            last_by = by;
            (void)usher__records_copy_text(&last_by, text);
        }
    }
    (void)sqlite3_reset(st);
    if (status == USHER_OK && !(same && all == sc->ranked))
        status = sc->fn(sc->payload, &item);
    return status;
}

/* Does the log say the same of what the scope keeps of it?  Rows may have been deleted. */
static enum usher_status scan_log(const struct scanner *sc, const struct usher_scope *s)
{
    struct usher_item item = { .kind = USHER_ITEM_FAULT,
                               .fault = "a visit that it keeps and the row of it disagree" };
    sqlite3_stmt *st = NULL;
    uint8_t kind = usher__records_kind_with(s->noun, USHER_KIND_LOGGED);
    enum usher_status status = usher__records_get(sc->c, ST_VISITS_DIFFER, &st);
    int rc;

    if (status != USHER_OK || kind == USHER_KINDS)
        return status;
    bind_int(st, 1, list_of(s->ref, kind));
    usher__records_bind_text(st, 2, &s->name);
    bind_int(st, 3, (int64_t)s->epoch);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        status = sc->fn(sc->payload, &item);
    else if (rc != SQLITE_DONE)
        status = usher__records_failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/* @st stands on the row of a scope. */
static enum usher_status scan_scope(struct scanner *sc, sqlite3_stmt *st,
                                    const struct usher_text *only, struct position *at)
{
    struct usher_scope s;
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &s };
    enum usher_status status = usher__records_read_scope(sc->c, st, true, &s);

    if (status == USHER_OK && !ascends(at, s.noun, &s.name, 0, 0))
        status = usher__records_corrupt(sc->c, "scopes out of order");
    if (status == USHER_OK && only != NULL && !same_text(&s.name, only))
        return USHER_OK;
    if (status == USHER_OK)
        status = sc->fn(sc->payload, &item);
    if (status == USHER_OK)
        status = scan_records(sc, &s);
    sc->ranked = 0;
    for (unsigned i = 0; i < 2 * USHER_SLOTS && status == USHER_OK; i++)
        status =
            scan_list(sc, &s, (enum statement)((unsigned)ST_READY_ENTRIES + i), (uint8_t)(i / 2));
    if (status == USHER_OK)
        status = scan_rank_pages(sc, &s);
    return status == USHER_OK ? scan_log(sc, &s) : status;
}

static enum usher_status scan_all(struct scanner *sc, enum usher_noun noun,
                                  const struct usher_text *only)
{
    struct position at = { .size = 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_run_plain(sc->c, ST_BEGIN_READ);
    int rc = SQLITE_DONE;

    if (status == USHER_OK && (unsigned)noun != 0 && only != NULL) {
        status = usher__records_get(sc->c, ST_SCOPE_FIND, &st);
        if (status == USHER_OK)
            usher__records_bind_text(st, 2, only);
    } else if (status == USHER_OK) {
        status = usher__records_get(sc->c, ST_SCOPE_EACH, &st);
        if (status == USHER_OK)
            bind_int(st, 2, (unsigned)noun != 0 ? (int64_t)noun : UINT8_MAX);
    }
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, (int64_t)noun);
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
        status = scan_scope(sc, st, only, &at);
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = usher__records_failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/*
 * The deadline is for waiting: a large file may take longer to be looked at.  Nothing of the
 * transaction that may be under way on another thread is touched, but for the message of a
 * failure, which has no other place.
 */
enum usher_status usher__records_scan(struct usher_record_store *store, enum usher_noun noun,
                                      const struct usher_text *only, int64_t deadline_ms,
                                      usher_scan_fn *fn, void *payload, char message[192])
{
    struct sqlite *s = (struct sqlite *)store;
    struct connection c;
    struct scanner sc = { &c, fn, payload, 0 };
    enum usher_status status;

    memset(&c, 0, sizeof c);
    c.deadline_ms = deadline_ms;
    status = usher__sqlite_file_again(&s->place, &c.deadline_ms, &c.db, c.message);
    if (status == USHER_OK)
        status = scan_all(&sc, noun, only);
    usher__records_connection_close(&c);
    if (status != USHER_OK)
        usher__sqlite_say(message, "%s", c.message);
    return status;
}

/* List the scopes of @noun whose names are after @after (size 0: all). */
static enum usher_status list_noun(const struct scanner *sc, unsigned noun,
                                   const struct usher_text *after)
{
    struct usher_scope s;
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &s };
    struct position at = { .size = 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(sc->c, ST_SCOPE_AFTER, &st);
    int rc = SQLITE_DONE;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, (int64_t)noun);
    usher__records_bind_text(st, 2, after);
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        status = usher__records_read_scope(sc->c, st, true, &s);
        if (status == USHER_OK && !ascends(&at, s.noun, &s.name, 0, 0))
            status = usher__records_corrupt(sc->c, "scopes out of order");
        if (status == USHER_OK)
            status = sc->fn(sc->payload, &item);
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = usher__records_failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

enum usher_status usher__records_list(struct usher_record_store *store, unsigned nouns,
                                      const struct usher_scope *after, int64_t deadline_ms,
                                      usher_scan_fn *fn, void *payload, char message[192])
{
    struct sqlite *s = (struct sqlite *)store;
    struct connection c;
    const struct scanner sc = { &c, fn, payload, 0 };
    const struct usher_text first = { "", 0 };
    enum usher_status status;

    memset(&c, 0, sizeof c);
    c.deadline_ms = deadline_ms;
    status = usher__sqlite_file_again(&s->place, &c.deadline_ms, &c.db, c.message);
    if (status == USHER_OK)
        status = usher__records_run_plain(&c, ST_BEGIN_READ);
    for (unsigned noun = after != NULL ? after->noun : 1; nouns >> noun != 0 && status == USHER_OK;
         noun++)
        if ((nouns >> noun & 1u) != 0)
            status =
                list_noun(&sc, noun, after != NULL && after->noun == noun ? &after->name : &first);
    usher__records_connection_close(&c);
    if (status != USHER_OK)
        usher__sqlite_say(message, "%s", c.message);
    return status;
}
