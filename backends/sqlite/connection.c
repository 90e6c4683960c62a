/* SPDX-License-Identifier: MIT */
/* A connection to the file, its statements, and what they read.  See sqlite.c. */
#include "config.h"

#include "records.h"

static const char *const texts[ST_N] = {
#define X(name, text, via) [ST_##name] = text,
    STATEMENTS(X)
#undef X
};

/* ---- connection ------------------------------------------------------------------- */

/* The first failure counts; later ones come of it. */
enum usher_status usher__records_failed(struct connection *c, int rc)
{
    char ignored[192];
    enum usher_status status = usher__sqlite_failed(c->db, rc, c->failed ? ignored : c->message);

    c->failed = true;
    return status;
}

enum usher_status usher__records_corrupt(struct connection *c, const char *what)
{
    if (!c->failed)
        usher__sqlite_say(c->message, "corrupt file: %s", what);
    c->failed = true;
    return USHER_UNAVAILABLE;
}

enum usher_status usher__records_no_memory(struct connection *c)
{
    return usher__records_failed(c, SQLITE_NOMEM);
}

/* Statement @i, ready to be bound; NULL: see c->message. */
enum usher_status usher__records_get(struct connection *c, enum statement i, sqlite3_stmt **ret_st)
{
    int rc;

    if (c->statements[i] == NULL) {
        rc = sqlite3_prepare_v3(c->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statements[i],
                                NULL);
        if (rc != SQLITE_OK)
            return usher__records_failed(c, rc);
    }
    *ret_st = c->statements[i];
    return USHER_OK;
}

/* Run a statement that has no rows. */
static enum usher_status run(struct connection *c, sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    enum usher_status status = rc == SQLITE_DONE ? USHER_OK : usher__records_failed(c, rc);

    (void)sqlite3_reset(st);
    return status;
}

enum usher_status usher__records_run_plain(struct connection *c, enum statement i)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(c, i, &st);

    return status == USHER_OK ? run(c, st) : status;
}

/* Run one that must change one row. */
enum usher_status usher__records_run_one(struct connection *c, sqlite3_stmt *st)
{
    enum usher_status status = run(c, st);

    if (status == USHER_OK && sqlite3_changes(c->db) != 1)
        status = usher__records_corrupt(c, "a row that was read is missing");
    return status;
}

void usher__records_bind_text(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    (void)sqlite3_bind_text(st, i, text->size != 0 ? text->data : "", (int)text->size,
                            SQLITE_STATIC);
}

void usher__records_bind_text_or_null(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    if (text->size != 0)
        usher__records_bind_text(st, i, text);
    else
        (void)sqlite3_bind_null(st, i);
}

void usher__records_connection_close(struct connection *c)
{
    for (int i = 0; i < ST_N; i++)
        (void)sqlite3_finalize(c->statements[i]);
    (void)sqlite3_close(c->db);
}

/* FNV-1a. */
uint32_t usher__records_hash_of(uint64_t seed, const struct usher_text *text)
{
    uint32_t hash = UINT32_C(2166136261) + (uint32_t)seed;

    for (size_t i = 0; i < text->size; i++)
        hash = (hash ^ (unsigned char)text->data[i]) * UINT32_C(16777619);
    return hash ^ hash >> 16;
}

/* ---- reading rows ----------------------------------------------------------------- */

/* An integer from @min to @max; else *@sound becomes false. */
int64_t usher__records_read_int(sqlite3_stmt *st, int i, int64_t min, int64_t max, bool *sound)
{
    int64_t value = sqlite3_column_int64(st, i);

    if (value < min || value > max) {
        *sound = false;
        return min;
    }
    return value;
}

/* @min to @max bytes of @type, which live until the statement goes on.  A text that is stored
 * as a blob is refused: blobs sort after all texts, so a walk would not get past it. */
static void read_bytes(sqlite3_stmt *st, int i, int type, size_t min, size_t max,
                       struct usher_text *ret_text, bool *sound, bool *memory)
{
    bool is = sqlite3_column_type(st, i) == type;
    size_t size = (size_t)sqlite3_column_bytes(st, i);
    const void *data = sqlite3_column_blob(st, i);

    ret_text->data = data;
    ret_text->size = size;
    if (size < min || size > max || (size != 0 && !is))
        *sound = false;
    else if (size != 0 && data == NULL)
        *memory = false;
}

void usher__records_read_text(sqlite3_stmt *st, int i, size_t min, size_t max,
                              struct usher_text *ret_text, bool *sound, bool *memory)
{
    read_bytes(st, i, SQLITE_TEXT, min, max, ret_text, sound, memory);
}

void usher__records_gaps_pack(const struct usher_scope *s, unsigned char to[USHER_GAPS * GAP_SIZE])
{
    USHER_ASSERT(s->n_gaps <= USHER_GAPS);
    for (size_t i = 0; i < s->n_gaps * (size_t)2; i++) {
        uint64_t value = i % 2 == 0 ? s->gaps[i / 2].last : s->gaps[i / 2].first;

        for (int k = 7; k >= 0; k--, value >>= 8)
            to[8 * i + (size_t)k] = (unsigned char)(value & 0xff);
    }
}

static void gaps_read(const struct usher_text *from, struct usher_scope *s, bool *sound)
{
    uint64_t value[2 * USHER_GAPS] = { 0 };

    s->n_gaps = (uint8_t)(from->size / GAP_SIZE);
    for (size_t i = 0; i < s->n_gaps * (size_t)GAP_SIZE; i++)
        value[i / 8] = value[i / 8] << 8 | (unsigned char)from->data[i];
    for (size_t i = 0; i < s->n_gaps; i++) {
        s->gaps[i].last = value[2 * i];
        s->gaps[i].first = value[2 * i + 1];
    }
    if (from->size % GAP_SIZE != 0)
        *sound = false;
}

/* SCOPE_COLUMNS; the name is read when @name is true. */
enum usher_status usher__records_read_scope(struct connection *c, sqlite3_stmt *st, bool name,
                                            struct usher_scope *s)
{
    bool sound = true, memory = true;
    struct usher_text gaps = { NULL, 0 };

    s->ref = ref_of(sqlite3_column_int64(st, 0));
    s->erase = false;
    s->noun = (uint8_t)usher__records_read_int(st, 1, 1, UINT8_MAX, &sound);
    if (name)
        usher__records_read_text(st, 2, 1, USHER_NAME_MAX, &s->name, &sound, &memory);
    s->epoch = (uint64_t)sqlite3_column_int64(st, 3);
    s->version = (uint64_t)usher__records_read_int(st, 4, 0, NUMBER_LIMIT, &sound);
    s->clock_ms = usher__records_read_int(st, 5, 0, NUMBER_LIMIT, &sound);
    s->due_ms = INT64_MAX;
    if (sqlite3_column_type(st, 6) != SQLITE_NULL)
        s->due_ms = usher__records_read_int(st, 6, 0, NUMBER_LIMIT, &sound);
    for (int i = 0; i < USHER_COUNTS; i++)
        s->counts[i] = usher__records_read_int(st, 7 + i, -NUMBER_LIMIT, NUMBER_LIMIT, &sound);
    for (int i = 0; i < USHER_SETTINGS; i++)
        s->settings[i] =
            usher__records_read_int(st, 7 + USHER_COUNTS + i, -NUMBER_LIMIT, NUMBER_LIMIT, &sound);
    s->writer = (uint64_t)usher__records_read_int(st, 7 + USHER_COUNTS + USHER_SETTINGS, 0,
                                                  NUMBER_LIMIT, &sound);
    s->n_gaps = 0;
    if (sqlite3_column_type(st, 8 + USHER_COUNTS + USHER_SETTINGS) != SQLITE_NULL)
        read_bytes(st, 8 + USHER_COUNTS + USHER_SETTINGS, SQLITE_BLOB, GAP_SIZE,
                   (size_t)USHER_GAPS * GAP_SIZE, &gaps, &sound, &memory);
    if (!memory)
        return usher__records_no_memory(c);
    if (sound)
        gaps_read(&gaps, s, &sound);
    return sound && s->ref != NULL && s->epoch != 0 ? USHER_OK
                                                    : usher__records_corrupt(c, "a scope");
}

/* RECORD_COLUMNS; the texts live until @st goes on. */
enum usher_status usher__records_read_record(struct connection *c, sqlite3_stmt *st,
                                             struct usher_record *r)
{
    bool sound = true, memory = true;

    r->ref = ref_of(sqlite3_column_int64(st, 0));
    r->kind = (uint8_t)(sqlite3_column_int64(st, 1) & 15);
    sound = r->kind >= 1 && r->kind < USHER_KINDS;
    r->state = (uint8_t)usher__records_read_int(st, 2, 0, UINT8_MAX, &sound);
    r->slots = (uint8_t)usher__records_read_int(st, 3, 0, (1 << USHER_SLOTS) - 1, &sound);
    r->rank = (uint64_t)usher__records_read_int(st, 4, 0, NUMBER_LIMIT, &sound);
    r->order = (uint64_t)usher__records_read_int(st, 5, 0, NUMBER_LIMIT, &sound);
    r->token = (uint64_t)usher__records_read_int(st, 6, 0, NUMBER_LIMIT, &sound);
    r->until_ms = usher__records_read_int(st, 7, 0, NUMBER_LIMIT, &sound);
    for (int i = 0; i < USHER_NUMBERS; i++)
        r->n[i] = usher__records_read_int(st, i < 4 ? 8 + i : 12 + i, -NUMBER_LIMIT, NUMBER_LIMIT,
                                          &sound);
    usher__records_read_text(st, 12, 1, USHER_NAME_MAX, &r->id, &sound, &memory);
    usher__records_read_text(st, 13, 0, USHER_NAME_MAX, &r->owner, &sound, &memory);
    usher__records_read_text(st, 14, 0, USHER_NAME_MAX, &r->group, &sound, &memory);
    read_bytes(st, 15, SQLITE_BLOB, 0, USHER_VALUE_MAX, &r->data, &sound, &memory);
    if ((r->slots & 2u) != 0 ? (uint64_t)sqlite3_column_int64(st, 20) != r->order
                             : sqlite3_column_type(st, 20) != SQLITE_NULL)
        sound = false;
    if (!memory)
        return usher__records_no_memory(c);
    return sound && r->ref != NULL ? USHER_OK : usher__records_corrupt(c, "a record");
}
