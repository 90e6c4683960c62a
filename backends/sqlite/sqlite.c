/* SPDX-License-Identifier: MIT */
/*
 * The record store on SQLite.
 *
 * A connection serves one transaction at a time, on whatever thread.  scan() has one of its
 * own, so that a long look at everything holds up nobody.
 *
 * Four things are remembered: headers of scopes, which a transaction of many commands reads
 * once and writes once, at its commit; short records that were found or written, for what is
 * taken now will be given back; the beginnings of lists; and owners who hold nothing.  Other
 * processes write as well, so all of that is only as good as the pages that SQLite has in its
 * memory: a transaction that finds them changed by somebody else (SQLITE_FCNTL_DATA_VERSION),
 * or a rollback, begins a new generation, and what belongs to an older one is not looked at.
 *
 * Lists are asked from SQLite, with two exceptions.  Who takes the first of the ready ones will
 * soon want the second, and the next row of a statement costs less than a statement: the more of
 * what was read was used, the more are read the next time.  And a call asks what its owner holds
 * already, which is nothing as a rule.
 *
 * Every record that is read has its texts copied into the arena, and is noted: a write that
 * knows what was there names only the columns that it changes.
 *
 * Lists of which rank() is asked are cut into stretches, and how many records each has is stored
 * (table `place`) by the same transaction: a rank adds up those before, and counts within one.  A
 * stretch that becomes too long is cut in two; one that is empty goes.  Other lists have none.
 *
 * Memory: the store owns its connection, prepared statements and arena.  SQLite allocates
 * for itself.
 */
#include "config.h"

#include "sqlite.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "statements.h"
#include "visits.h"

#ifdef USHER_HOSTILE
#define SCOPES 2u
#define RECORDS 2u
#define SEEN 1u
#define FRONTS 1u
#define AHEAD 3u
#define OWNERS 2u
#define OWNERS_NEAR 2u
#define STRETCH 4
#define BLOCK ((size_t)1)
#else
#define SCOPES 64u            /* headers remembered */
#define RECORDS 1024u         /* records remembered */
#define SEEN 16u              /* records noted as read */
#define FRONTS 4u             /* lists of which the first records are remembered */
#define AHEAD 64u             /* of each, at most */
#define OWNERS 2048u          /* owners of whom it is known how much they hold */
#define OWNERS_NEAR 4u        /* places where one of them may stand */
#define STRETCH 512           /* records of a stretch, at most */
#define BLOCK ((size_t)16384) /* room for texts that is always kept */
#endif

/* Bytes of all texts of a record that is remembered; of an owner. */
#define SHORT ((size_t)112)
#define SHORT_OWNER ((size_t)40)

/* Larger integers are none of ours (epoch but for); sums of a few of them do not overflow. */
#define NUMBER_LIMIT (INT64_C(1) << 53)

enum statement {
#define X(name, text, via) ST_##name,
    STATEMENTS(X)
#undef X
        ST_N
};

static const char *const texts[ST_N] = {
#define X(name, text, via) [ST_##name] = text,
    STATEMENTS(X)
#undef X
};

static const char *const vias[ST_N] = {
#define X(name, text, via) [ST_##name] = via,
    STATEMENTS(X)
#undef X
};

struct connection {
    sqlite3 *db;
    int64_t deadline_ms; /* SQLite waits for other processes until then */
    sqlite3_stmt *statements[ST_N];
    char message[192]; /* of the first failure since begin */
    bool failed;
};

struct header {
    uint64_t generation;
    bool changed, set, taken; /* to be written: all but the settings; these; writer and gaps */
    struct usher_scope scope;
    char name[USHER_NAME_MAX];
};

/* As it is in the file. */
struct cached {
    uint64_t generation;
    int64_t list;
    struct usher_record record;
    char texts[SHORT];
};

/* The first records of a list of ready ones: from @at on, in order and without gaps. */
struct front {
    uint64_t generation;
    int64_t list;
    struct usher_text by; /* size 0: the list of all */
    char text[SHORT];
    size_t at, n;
    size_t want;                  /* how many to read the next time */
    uint64_t hi, order;           /* the place of the last one */
    struct cached records[AHEAD]; /* ref NULL: it stands there no more */
};

/* How many records @list has in slot 2 for an owner, at most: after a change of one that was not
 * read before it may be fewer. */
struct owner {
    uint64_t generation;
    int64_t list;
    uint32_t n, size;
    char name[SHORT_OWNER];
};

/* Texts of records; the bytes follow. */
struct block {
    struct block *next;
    size_t size, used;
};

/* The one that is under way; its parts stay for the next one. */
struct usher_txn {
    struct connection c;
    const struct usher_allocator *alloc;
    unsigned pages;      /* of SQLite: changes when another connection has written */
    uint64_t generation; /* from 1 */
    struct header scopes[SCOPES];
    struct cached records[RECORDS];
    struct front fronts[FRONTS];
    struct owner owners[OWNERS];
    struct block *arena; /* the newest block first */
    struct usher_record seen[SEEN];
    size_t n_seen; /* of all since the arena was empty */
};

struct sqlite {
    struct usher_record_store base;
    struct usher__sqlite_place place;
    enum usher__sqlite_sync sync;
    char software[32];
    struct usher_txn txn;
};

static void *resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    if (alloc != NULL)
        return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

/* ---- connection ------------------------------------------------------------------- */

/* The first failure counts; later ones come of it. */
static enum usher_status failed(struct connection *c, int rc)
{
    char ignored[192];
    enum usher_status status = usher__sqlite_failed(c->db, rc, c->failed ? ignored : c->message);

    c->failed = true;
    return status;
}

static enum usher_status corrupt(struct connection *c, const char *what)
{
    if (!c->failed)
        usher__sqlite_say(c->message, "corrupt file: %s", what);
    c->failed = true;
    return USHER_UNAVAILABLE;
}

static enum usher_status no_memory(struct connection *c)
{
    return failed(c, SQLITE_NOMEM);
}

/* Statement @i, ready to be bound; NULL: see c->message. */
static enum usher_status get(struct connection *c, enum statement i, sqlite3_stmt **ret_st)
{
    int rc;

    if (c->statements[i] == NULL) {
        rc = sqlite3_prepare_v3(c->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statements[i],
                                NULL);
        if (rc != SQLITE_OK)
            return failed(c, rc);
    }
    *ret_st = c->statements[i];
    return USHER_OK;
}

/* Run a statement that has no rows. */
static enum usher_status run(struct connection *c, sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    enum usher_status status = rc == SQLITE_DONE ? USHER_OK : failed(c, rc);

    (void)sqlite3_reset(st);
    return status;
}

static enum usher_status run_plain(struct connection *c, enum statement i)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(c, i, &st);

    return status == USHER_OK ? run(c, st) : status;
}

/* Run one that must change one row. */
static enum usher_status run_one(struct connection *c, sqlite3_stmt *st)
{
    enum usher_status status = run(c, st);

    if (status == USHER_OK && sqlite3_changes(c->db) != 1)
        status = corrupt(c, "a row that was read is not there");
    return status;
}

/*
 * Binding cannot fail: the indices are those of the statements, nothing is copied, and the
 * library's texts are far shorter than the limit of SQLite.  The texts must live until the
 * statement has run.
 */
static void bind_int(sqlite3_stmt *st, int i, int64_t value)
{
    (void)sqlite3_bind_int64(st, i, value);
}

static void bind_text(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    (void)sqlite3_bind_text(st, i, text->size != 0 ? text->data : "", (int)text->size,
                            SQLITE_STATIC);
}

static void bind_text_or_null(sqlite3_stmt *st, int i, const struct usher_text *text)
{
    if (text->size != 0)
        bind_text(st, i, text);
    else
        (void)sqlite3_bind_null(st, i);
}

static void connection_close(struct connection *c)
{
    for (int i = 0; i < ST_N; i++)
        (void)sqlite3_finalize(c->statements[i]);
    (void)sqlite3_close(c->db);
}

/* A row's number as a reference; NULL: it cannot be one. */
static void *ref_of(int64_t row)
{
    return row > 0 && row <= NUMBER_LIMIT && (uint64_t)row <= (uint64_t)UINTPTR_MAX
               ? (void *)(uintptr_t)row
               : NULL;
}

static int64_t row_of(const void *ref)
{
    return (int64_t)(uintptr_t)ref;
}

static int64_t list_of(const void *scope_ref, uint8_t kind)
{
    USHER_ASSERT(scope_ref != NULL && kind < USHER_KINDS);
    return row_of(scope_ref) * 8 + kind;
}

/* FNV-1a. */
static uint32_t hash_of(uint64_t seed, const struct usher_text *text)
{
    uint32_t hash = UINT32_C(2166136261) + (uint32_t)seed;

    for (size_t i = 0; i < text->size; i++)
        hash = (hash ^ (unsigned char)text->data[i]) * UINT32_C(16777619);
    return hash ^ hash >> 16;
}

/* ---- reading rows ----------------------------------------------------------------- */

/* An integer from @min to @max; else *@sound becomes false. */
static int64_t read_int(sqlite3_stmt *st, int i, int64_t min, int64_t max, bool *sound)
{
    int64_t value = sqlite3_column_int64(st, i);

    if (value < min || value > max) {
        *sound = false;
        return min;
    }
    return value;
}

/* @min to @max bytes of @type, which live until the statement goes on.  A text stored as a blob is
 * none: it stands behind all texts, so a walk would not get past it. */
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

static void read_text(sqlite3_stmt *st, int i, size_t min, size_t max, struct usher_text *ret_text,
                      bool *sound, bool *memory)
{
    read_bytes(st, i, SQLITE_TEXT, min, max, ret_text, sound, memory);
}

#define GAP_SIZE 16

static void gaps_pack(const struct usher_scope *s, unsigned char to[USHER_GAPS * GAP_SIZE])
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
static enum usher_status read_scope(struct connection *c, sqlite3_stmt *st, bool name,
                                    struct usher_scope *s)
{
    bool sound = true, memory = true;
    struct usher_text gaps = { NULL, 0 };

    s->ref = ref_of(sqlite3_column_int64(st, 0));
    s->erase = false;
    s->noun = (uint8_t)read_int(st, 1, 1, UINT8_MAX, &sound);
    if (name)
        read_text(st, 2, 1, USHER_NAME_MAX, &s->name, &sound, &memory);
    s->epoch = (uint64_t)sqlite3_column_int64(st, 3);
    s->version = (uint64_t)read_int(st, 4, 0, NUMBER_LIMIT, &sound);
    s->clock_ms = read_int(st, 5, 0, NUMBER_LIMIT, &sound);
    s->due_ms = INT64_MAX;
    if (sqlite3_column_type(st, 6) != SQLITE_NULL)
        s->due_ms = read_int(st, 6, 0, NUMBER_LIMIT, &sound);
    for (int i = 0; i < USHER_COUNTS; i++)
        s->counts[i] = read_int(st, 7 + i, -NUMBER_LIMIT, NUMBER_LIMIT, &sound);
    for (int i = 0; i < USHER_SETTINGS; i++)
        s->settings[i] = read_int(st, 7 + USHER_COUNTS + i, -NUMBER_LIMIT, NUMBER_LIMIT, &sound);
    s->writer = (uint64_t)read_int(st, 7 + USHER_COUNTS + USHER_SETTINGS, 0, NUMBER_LIMIT, &sound);
    s->n_gaps = 0;
    if (sqlite3_column_type(st, 8 + USHER_COUNTS + USHER_SETTINGS) != SQLITE_NULL)
        read_bytes(st, 8 + USHER_COUNTS + USHER_SETTINGS, SQLITE_BLOB, GAP_SIZE,
                   (size_t)USHER_GAPS * GAP_SIZE, &gaps, &sound, &memory);
    if (!memory)
        return no_memory(c);
    if (sound)
        gaps_read(&gaps, s, &sound);
    return sound && s->ref != NULL && s->epoch != 0 ? USHER_OK : corrupt(c, "a scope");
}

/* RECORD_COLUMNS; the texts live until @st goes on. */
static enum usher_status read_record(struct connection *c, sqlite3_stmt *st, struct usher_record *r)
{
    bool sound = true, memory = true;

    r->ref = ref_of(sqlite3_column_int64(st, 0));
    r->kind = (uint8_t)(sqlite3_column_int64(st, 1) & 7);
    sound = r->kind >= 1 && r->kind < USHER_KINDS;
    r->state = (uint8_t)read_int(st, 2, 0, UINT8_MAX, &sound);
    r->slots = (uint8_t)read_int(st, 3, 0, (1 << USHER_SLOTS) - 1, &sound);
    r->rank = (uint64_t)read_int(st, 4, 0, NUMBER_LIMIT, &sound);
    r->order = (uint64_t)read_int(st, 5, 0, NUMBER_LIMIT, &sound);
    r->token = (uint64_t)read_int(st, 6, 0, NUMBER_LIMIT, &sound);
    r->until_ms = read_int(st, 7, 0, NUMBER_LIMIT, &sound);
    for (int i = 0; i < USHER_NUMBERS; i++)
        r->n[i] = read_int(st, i < 4 ? 8 + i : 12 + i, -NUMBER_LIMIT, NUMBER_LIMIT, &sound);
    read_text(st, 12, 1, USHER_NAME_MAX, &r->id, &sound, &memory);
    read_text(st, 13, 0, USHER_NAME_MAX, &r->owner, &sound, &memory);
    read_text(st, 14, 0, USHER_NAME_MAX, &r->group, &sound, &memory);
    read_bytes(st, 15, SQLITE_BLOB, 0, USHER_VALUE_MAX, &r->data, &sound, &memory);
    if ((r->slots & 2u) != 0 ? (uint64_t)sqlite3_column_int64(st, 20) != r->order
                             : sqlite3_column_type(st, 20) != SQLITE_NULL)
        sound = false;
    if (!memory)
        return no_memory(c);
    return sound && r->ref != NULL ? USHER_OK : corrupt(c, "a record");
}

/* ---- texts of records ------------------------------------------------------------- */

static void arena_reset(struct usher_txn *t)
{
    /* the oldest block stays */
    while (t->arena != NULL && t->arena->next != NULL) {
        struct block *next = t->arena->next;

        (void)resize(t->alloc, t->arena, sizeof *t->arena + t->arena->size, 0);
        t->arena = next;
    }
    if (t->arena != NULL) {
#ifdef USHER_HOSTILE
        memset(t->arena + 1, 0xdd, t->arena->size);
#endif
        t->arena->used = 0;
    }
    t->n_seen = 0;
}

static char *arena_get(struct usher_txn *t, size_t size)
{
    struct block *b = t->arena;

    if (b == NULL || b->size - b->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;

        b = resize(t->alloc, NULL, 0, sizeof *b + room);
        if (b == NULL)
            return NULL;
        b->next = t->arena;
        b->size = room;
        b->used = 0;
        t->arena = b;
    }
    USHER_ASSERT(b->used <= b->size && b->size - b->used >= size);
    b->used += size;
    return (char *)(b + 1) + (b->used - size);
}

static bool same_text(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size &&
           (a->size == 0 || a->data == b->data || memcmp(a->data, b->data, a->size) == 0);
}

static char *copy_text(struct usher_text *text, char *to)
{
    if (text->size != 0)
        memcpy(to, text->data, text->size);
    text->data = to;
    return to + text->size;
}

/* The texts of @r move into the arena; @r is noted as read. */
static enum usher_status keep(struct usher_txn *t, struct usher_record *r)
{
    char *to = arena_get(t, r->id.size + r->owner.size + r->group.size + r->data.size);

    if (to == NULL)
        return no_memory(&t->c);
    to = copy_text(&r->id, to);
    to = copy_text(&r->owner, to);
    to = copy_text(&r->group, to);
    (void)copy_text(&r->data, to);
    t->seen[t->n_seen++ % SEEN] = *r;
    return USHER_OK;
}

/* What was read of the record of @ref; NULL: nothing, or too long ago, or it was written since. */
static const struct usher_record *seen(const struct usher_txn *t, const void *ref)
{
    for (size_t i = t->n_seen; i > 0 && t->n_seen - i < SEEN; i--)
        if (t->seen[(i - 1) % SEEN].ref == ref)
            return &t->seen[(i - 1) % SEEN];
    return NULL;
}

static void seen_drop(struct usher_txn *t, const void *ref)
{
    for (size_t i = 0; i < SEEN && i < t->n_seen; i++)
        if (t->seen[i].ref == ref)
            t->seen[i].ref = NULL;
}

/* ---- headers of scopes ------------------------------------------------------------ */

static enum usher_status header_write(struct usher_txn *t, struct header *h)
{
    const struct usher_scope *s = &h->scope;
    sqlite3_stmt *st = NULL;
    enum usher_status status = USHER_OK;

    if (h->changed) {
        status = get(&t->c, ST_SCOPE_CHANGE, &st);
        if (status != USHER_OK)
            return status;
        bind_int(st, 1, row_of(s->ref));
        bind_int(st, 4, (int64_t)s->epoch);
        bind_int(st, 5, (int64_t)s->version);
        bind_int(st, 6, s->clock_ms);
        if (s->due_ms != INT64_MAX)
            bind_int(st, 7, s->due_ms);
        else
            (void)sqlite3_bind_null(st, 7);
        for (int i = 0; i < USHER_COUNTS; i++)
            bind_int(st, 8 + i, s->counts[i]);
        status = run_one(&t->c, st);
        h->changed = false;
    }
    if (status == USHER_OK && h->set) {
        status = get(&t->c, ST_SCOPE_SET, &st);
        if (status != USHER_OK)
            return status;
        bind_int(st, 1, row_of(s->ref));
        for (int i = 0; i < USHER_SETTINGS; i++)
            bind_int(st, 8 + USHER_COUNTS + i, s->settings[i]);
        status = run_one(&t->c, st);
        h->set = false;
    }
    if (status == USHER_OK && h->taken) {
        unsigned char bytes[USHER_GAPS * GAP_SIZE];

        status = get(&t->c, ST_SCOPE_TAKE, &st);
        if (status != USHER_OK)
            return status;
        gaps_pack(s, bytes);
        bind_int(st, 1, row_of(s->ref));
        bind_int(st, 2, (int64_t)s->writer);
        if (s->n_gaps > 0)
            (void)sqlite3_bind_blob(st, 3, bytes, s->n_gaps * GAP_SIZE, SQLITE_TRANSIENT);
        else
            (void)sqlite3_bind_null(st, 3);
        status = run_one(&t->c, st);
        h->taken = false;
    }
    return status;
}

static bool header_is(const struct usher_txn *t, const struct header *h, unsigned noun,
                      const struct usher_text *name)
{
    return h->generation == t->generation && h->scope.noun == noun &&
           h->scope.name.size == name->size && memcmp(h->name, name->data, name->size) == 0;
}

/* The place of a scope's header; who stands there may be another. */
static struct header *header_place(struct usher_txn *t, unsigned noun,
                                   const struct usher_text *name)
{
    return &t->scopes[hash_of(noun, name) % SCOPES];
}

/* Put @s into @h, whoever is there now. */
static enum usher_status header_put(struct usher_txn *t, struct header *h,
                                    const struct usher_scope *s)
{
    enum usher_status status = USHER_OK;

    if (h->generation == t->generation)
        status = header_write(t, h);
    if (status != USHER_OK)
        return status;
    h->generation = t->generation;
    h->changed = false;
    h->set = false;
    h->taken = false;
    h->scope = *s;
    h->scope.name.data = memcpy(h->name, s->name.data, s->name.size);
    return USHER_OK;
}

static enum usher_status header_read(struct usher_txn *t, struct header *h, unsigned noun,
                                     const struct usher_text *name)
{
    struct usher_scope s;
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_SCOPE_FIND, &st);
    int rc;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, noun);
    bind_text(st, 2, name);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        status = read_scope(&t->c, st, false, &s);
    else
        status = rc == SQLITE_DONE ? USHER_MISSING : failed(&t->c, rc);
    (void)sqlite3_reset(st);
    if (status != USHER_OK)
        return status;
    s.name = *name;
    return header_put(t, h, &s);
}

static enum usher_status scope(struct usher_txn *t, enum usher_noun noun,
                               const struct usher_text *name, struct usher_scope *ret_scope)
{
    struct header *h = header_place(t, (unsigned)noun, name);
    struct usher_text given = ret_scope->name;

    if (!header_is(t, h, (unsigned)noun, name)) {
        enum usher_status status = header_read(t, h, (unsigned)noun, name);

        if (status != USHER_OK)
            return status;
    }
    *ret_scope = h->scope;
    ret_scope->name = given;
    return USHER_OK;
}

/* ---- remembered records ----------------------------------------------------------- */

static struct cached *cached_place(struct usher_txn *t, int64_t list, const struct usher_text *id)
{
    return &t->records[hash_of((uint64_t)list, id) % RECORDS];
}

static bool cached_is(const struct usher_txn *t, const struct cached *c, int64_t list,
                      const struct usher_text *id)
{
    return c->generation == t->generation && c->list == list && same_text(&c->record.id, id);
}

static bool is_short(const struct usher_record *r)
{
    return r->data.size == 0 && r->id.size + r->owner.size + r->group.size <= SHORT;
}

static void cached_fill(struct cached *c, uint64_t generation, int64_t list,
                        const struct usher_record *r)
{
    char *to = c->texts;

    c->generation = generation;
    c->list = list;
    c->record = *r;
    to = copy_text(&c->record.id, to);
    to = copy_text(&c->record.owner, to);
    (void)copy_text(&c->record.group, to);
}

static void cached_put(struct usher_txn *t, int64_t list, const struct usher_record *r)
{
    struct cached *c = cached_place(t, list, &r->id);

    if (is_short(r))
        cached_fill(c, t->generation, list, r);
    else if (cached_is(t, c, list, &r->id))
        c->generation = 0;
}

static void cached_drop(struct usher_txn *t, int64_t list, const struct usher_text *id)
{
    struct cached *c = cached_place(t, list, id);

    if (cached_is(t, c, list, id))
        c->generation = 0;
}

/* ---- records ---------------------------------------------------------------------- */

/* The next record that @st finds; it must stand in @list, and in all of @slots. */
static enum usher_status step(struct connection *c, sqlite3_stmt *st, int64_t list, unsigned slots,
                              struct usher_record *ret_record)
{
    enum usher_status status;
    int rc = sqlite3_step(st);

    if (rc != SQLITE_ROW) {
        memset(ret_record, 0, sizeof *ret_record);
        return rc == SQLITE_DONE ? USHER_MISSING : failed(c, rc);
    }
    status = read_record(c, st, ret_record);
    if (status == USHER_OK &&
        (sqlite3_column_int64(st, 1) != list || (ret_record->slots & slots) != slots ||
         (slots != 0 && ret_record->order == 0)))
        status = corrupt(c, "an index and its table disagree");
    return status;
}

/* The record that the bound @st finds, as step(). */
static enum usher_status fetch(struct usher_txn *t, sqlite3_stmt *st, int64_t list, unsigned slots,
                               struct usher_record *ret_record)
{
    struct usher_record r;
    enum usher_status status = step(&t->c, st, list, slots, &r);

    if (status == USHER_OK)
        status = keep(t, &r);
    if (status == USHER_OK)
        *ret_record = r;
    (void)sqlite3_reset(st);
    return status;
}

static enum usher_status find(struct usher_txn *t, const struct usher_scope *s, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    int64_t list = list_of(s->ref, kind);
    const struct cached *c = cached_place(t, list, id);
    sqlite3_stmt *st = NULL;
    enum usher_status status;

    if (cached_is(t, c, list, id)) {
        struct usher_record r = c->record;

        status = keep(t, &r);
        if (status == USHER_OK)
            *ret_record = r;
        return status;
    }
    status = get(&t->c, ST_FIND, &st);
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_text(st, 3, id);
    status = fetch(t, st, list, 0, ret_record);
    if (status == USHER_OK)
        cached_put(t, list, ret_record);
    return status;
}

/* ---- the beginnings of lists ---- */

/* Make @f the front of the list, of which nothing is known. */
static void front_begin(struct front *f, uint64_t generation, int64_t list,
                        const struct usher_text *by)
{
    f->generation = generation;
    f->list = list;
    f->by = *by;
    (void)copy_text(&f->by, f->text);
    f->at = f->n = 0;
    f->want = 1;
}

/* The first one of the list, and those behind it for the next time. */
static enum usher_status front_read(struct usher_txn *t, struct front *f, sqlite3_stmt *st,
                                    struct usher_record *ret_record)
{
    struct usher_record r;
    enum usher_status status;

    f->at = f->n = 0;
    while ((status = step(&t->c, st, f->list, 1u, &r)) == USHER_OK) {
        if (f->n == 0) {
            status = keep(t, &r);
            if (status != USHER_OK)
                break;
            *ret_record = r;
        }
        if (!is_short(&r))
            break;
        f->hi = r.rank;
        f->order = r.order;
        cached_fill(&f->records[f->n++], t->generation, f->list, &r);
        if (f->n == f->want)
            break;
    }
    (void)sqlite3_reset(st);
    if (status == USHER_MISSING && f->n != 0)
        status = USHER_OK;
    f->want = f->want * 2 < AHEAD ? f->want * 2 : AHEAD;
    return status;
}

/* The first one among the ready records of @list (@by NULL: of all), which is what @st asks. */
static enum usher_status front_walk(struct usher_txn *t, int64_t list, const struct usher_text *by,
                                    sqlite3_stmt *st, struct usher_record *ret_record)
{
    static const struct usher_text all = { "", 0 };
    const struct usher_text *text = by != NULL ? by : &all;
    struct front *f = &t->fronts[hash_of((uint64_t)list, text) % FRONTS];
    struct usher_record r;
    enum usher_status status;

    if (text->size > SHORT)
        return fetch(t, st, list, 1u, ret_record);
    if (f->generation != t->generation || f->list != list || !same_text(&f->by, text))
        front_begin(f, t->generation, list, text);
    while (f->at < f->n && f->records[f->at].record.ref == NULL)
        f->at++;
    if (f->at == f->n)
        return front_read(t, f, st, ret_record);
    r = f->records[f->at].record;
    status = keep(t, &r);
    if (status == USHER_OK)
        *ret_record = r;
    return status;
}

/* @was (NULL: not known) has become @to, which is stored, or with @gone is not any more. */
static void fronts_follow(struct usher_txn *t, int64_t list, const struct usher_record *was,
                          const struct usher_record *to, bool gone)
{
    bool left = was == NULL || (was->slots & 1u) != 0, comes = !gone && (to->slots & 1u) != 0;

    for (struct front *f = t->fronts; f < t->fronts + FRONTS; f++) {
        if (f->generation != t->generation || f->list != list)
            continue;
        if (comes && (f->by.size == 0 || same_text(&f->by, &to->group)) &&
            (to->rank < f->hi || (to->rank == f->hi && to->order <= f->order)))
            f->generation = 0;
        else if (left)
            for (size_t i = f->at; i < f->n; i++)
                if (f->records[i].record.ref == to->ref)
                    f->records[i].record.ref = NULL;
    }
}

/* ---- what an owner holds ---- */

static bool owner_is(const struct usher_txn *t, const struct owner *o, int64_t list,
                     const struct usher_text *name)
{
    return o->generation == t->generation && o->list == list && o->size == name->size &&
           memcmp(o->name, name->data, name->size) == 0;
}

/* Where @name stands, or may be put: in the first place of a few that nobody has, or else in
 * that of somebody else. */
static struct owner *owner_place(struct usher_txn *t, int64_t list, const struct usher_text *name)
{
    uint32_t hash = hash_of((uint64_t)list, name);
    struct owner *free = NULL;

    for (uint32_t i = 0; i < OWNERS_NEAR; i++) {
        struct owner *o = &t->owners[(hash + i) % OWNERS];

        if (owner_is(t, o, list, name))
            return o;
        if (free == NULL && o->generation != t->generation)
            free = o;
    }
    return free != NULL ? free : &t->owners[hash % OWNERS];
}

static void owner_holds_nothing(struct usher_txn *t, struct owner *o, int64_t list,
                                const struct usher_text *name)
{
    if (name->size == 0 || name->size > SHORT_OWNER)
        return;
    o->generation = t->generation;
    o->list = list;
    o->n = 0;
    o->size = (uint32_t)name->size;
    memcpy(o->name, name->data, name->size);
}

/* @r has come (@by 1) to its owner, or may have, or has surely left him (-1). */
static void owner_count(struct usher_txn *t, int64_t list, const struct usher_record *r, int by)
{
    struct owner *o;

    if ((r->slots & 4u) == 0 || r->owner.size == 0)
        return;
    o = owner_place(t, list, &r->owner);
    if (!owner_is(t, o, list, &r->owner))
        return;
    if (by > 0)
        o->n++;
    else if (o->n > 0)
        o->n--;
}

/* ---- */

static int64_t as_bound(uint64_t value)
{
    return value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

static enum usher_status walk(struct usher_txn *t, const struct usher_scope *s, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    /* the others of a list follow in the order of WALKS */
    static const enum statement walks[USHER_SLOTS][2] = {
        { ST_READY, ST_READY_BY },
        { ST_DUE, ST_DUE_BY },
        { ST_HELD, ST_HELD_BY },
    };
    int64_t list = list_of(s->ref, kind);
    unsigned way = back ? 1 : 0;
    struct owner *owner = NULL; /* all that he holds is asked for */
    sqlite3_stmt *st = NULL;
    enum usher_status status;

    if (slot == 2 && by != NULL && !back && after_hi == 0 && after_order == 0) {
        owner = owner_place(t, list, by);
        if (owner_is(t, owner, list, by) && owner->n == 0)
            return USHER_MISSING;
    }
    if (slot == 2) {
        if (after_hi != 0) { /* all of them are before */
            if (!back)
                return USHER_MISSING;
            after_order = UINT64_MAX;
        }
    } else if (back ? after_hi == UINT64_MAX : after_hi == 0 && after_order == 0) {
        way += 2;
    }
    status = get(&t->c, (enum statement)((unsigned)walks[slot][by != NULL] + way), &st);
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    if (slot != 2 && way < 2)
        bind_int(st, 3, as_bound(after_hi));
    if (slot == 2 || way < 2)
        bind_int(st, 4, as_bound(after_order));
    if (by != NULL)
        bind_text(st, 5, by);
    if (slot == 0 && way == 2)
        return front_walk(t, list, by, st, ret_record);
    status = fetch(t, st, list, 1u << slot, ret_record);
    if (status == USHER_MISSING && owner != NULL)
        owner_holds_nothing(t, owner, list, by);
    return status;
}

/* A part of a list: its first place, and how many records it has. */
struct stretch {
    int64_t hi, order, n;
};

static enum usher_status read_stretch(struct connection *c, sqlite3_stmt *st, int i,
                                      struct stretch *ret)
{
    bool sound = true;

    ret->hi = read_int(st, i, 0, NUMBER_LIMIT, &sound);
    ret->order = read_int(st, i + 1, 0, NUMBER_LIMIT, &sound);
    ret->n = read_int(st, i + 2, 1, NUMBER_LIMIT, &sound);
    return sound ? USHER_OK : corrupt(c, "a place");
}

/* How many records stand in a list from @from on and before (@hi, @order); more than @max of them
 * are not counted. */
static enum usher_status count_within(struct connection *c, int64_t list,
                                      const struct usher_text *by, const struct stretch *from,
                                      int64_t hi, int64_t order, int64_t max, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(c, ST_RANK, &st);
    int64_t n = 0;
    int rc;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, hi);
    bind_int(st, 4, order);
    bind_text(st, 5, by);
    bind_int(st, 6, from->hi);
    bind_int(st, 7, from->order);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW && n <= max)
        n++;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = failed(c, rc);
    (void)sqlite3_reset(st);
    *ret = n;
    return status;
}

/* Those of the stretches before, and those of its own that stand before it. */
static enum usher_status rank(struct usher_txn *t, const struct usher_scope *s, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    int64_t list = list_of(s->ref, kind), before = 0, within = 0;
    struct stretch last = { 0, 0, 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_PLACES, &st);
    int rc = SQLITE_DONE;

    (void)slot;
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, as_bound(hi));
    bind_int(st, 4, as_bound(order));
    bind_text(st, 5, by);
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        before += last.n;
        status = read_stretch(&t->c, st, 0, &last);
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = failed(&t->c, rc);
    (void)sqlite3_reset(st);
    if (status == USHER_OK && last.n != 0)
        status =
            count_within(&t->c, list, by, &last, as_bound(hi), as_bound(order), last.n, &within);
    *ret = (uint64_t)(before + within);
    return status;
}

static enum usher_status next(struct usher_txn *t, const struct usher_scope *s, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    int64_t list = list_of(s->ref, kind);
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_NEXT, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_text(st, 3, after);
    return fetch(t, st, list, 0, ret_record);
}

/* ---- write ------------------------------------------------------------------------ */

/* Its place among the due ones that are so at the same time; 0: it is not due. */
static uint64_t due_of(const struct usher_record *r)
{
    return (r->slots & 2u) != 0 ? r->order : 0;
}

/* The shortest statement that makes @to of @was (NULL: not known). */
static enum statement change_of(const struct usher_record *was, const struct usher_record *to)
{
    if (was == NULL || !same_text(&was->group, &to->group) || !same_text(&was->data, &to->data))
        return ST_CHANGE_ALL;
    if (was->slots != to->slots || was->rank != to->rank || was->order != to->order ||
        !same_text(&was->owner, &to->owner))
        return was->until_ms == to->until_ms && due_of(was) == due_of(to) ? ST_CHANGE_LISTS
                                                                          : ST_CHANGE_LISTS_DUE;
    return was->until_ms != to->until_ms ? ST_CHANGE_UNTIL : ST_CHANGE_PLAIN;
}

static bool within(int64_t value, int64_t min)
{
    return value >= min && value <= NUMBER_LIMIT;
}

/* What read_record() would not take is not written. */
static bool record_fits(const struct usher_record *r)
{
    bool fits = r->kind >= 1 && r->kind < USHER_KINDS && r->slots < 1 << USHER_SLOTS &&
                within((int64_t)r->rank, 0) && within((int64_t)r->order, r->slots != 0 ? 1 : 0) &&
                within((int64_t)r->token, 0) && within(r->until_ms, 0) && r->id.size >= 1 &&
                r->id.size <= USHER_NAME_MAX && r->owner.size <= USHER_NAME_MAX &&
                r->group.size <= USHER_NAME_MAX && r->data.size <= USHER_VALUE_MAX;

    for (int i = 0; i < USHER_NUMBERS; i++)
        fits = fits && within(r->n[i], -NUMBER_LIMIT);
    return fits;
}

static bool scope_fits(const struct usher_scope *s)
{
    bool fits = s->noun >= 1 && s->name.size >= 1 && s->name.size <= USHER_NAME_MAX &&
                s->epoch != 0 && within((int64_t)s->version, 0) && within(s->clock_ms, 0) &&
                (s->due_ms == INT64_MAX || within(s->due_ms, 0));

    for (int i = 0; i < USHER_COUNTS; i++)
        fits = fits && within(s->counts[i], -NUMBER_LIMIT);
    for (int i = 0; i < USHER_SETTINGS; i++)
        fits = fits && within(s->settings[i], -NUMBER_LIMIT);
    fits = fits && within((int64_t)s->writer, 0) && s->n_gaps <= USHER_GAPS;
    return fits;
}

static enum usher_status does_not_fit(struct connection *c)
{
    if (!c->failed)
        usher__sqlite_say(c->message, "a value is too large to be stored");
    c->failed = true;
    return USHER_UNAVAILABLE;
}

/* ---- stretches ---- */

static bool is_ranked(unsigned noun, uint8_t kind)
{
    return (usher_kind_flags((enum usher_noun)noun, kind) & USHER_KIND_RANKED) != 0;
}

/* The kind of @noun that has @flag; USHER_KINDS: none has. */
static uint8_t kind_with(unsigned noun, enum usher_kind_flag flag)
{
    uint8_t kind = 1;

    while (kind < USHER_KINDS && (usher_kind_flags((enum usher_noun)noun, kind) & flag) == 0)
        kind++;
    return kind;
}

/* Does rank() have to count it?  It is of such a kind. */
static bool has_rank(const struct usher_record *r)
{
    return r != NULL && (r->slots & 1u) != 0 && r->group.size != 0;
}

/* Store @s of the list of @by: PLACE_ADD, PLACE_CHANGE or, its n not used, PLACE_ERASE. */
static enum usher_status stretch_write(struct usher_txn *t, enum statement i, int64_t list,
                                       const struct usher_text *by, const struct stretch *s)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, i, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, s->hi);
    bind_int(st, 4, s->order);
    bind_text(st, 5, by);
    if (i != ST_PLACE_ERASE)
        bind_int(st, 6, s->n);
    return run_one(&t->c, st);
}

/* The one where (@hi, @order) belongs.  MISSING: it would be before the first. */
static enum usher_status stretch_find(struct usher_txn *t, int64_t list,
                                      const struct usher_text *by, uint64_t hi, uint64_t order,
                                      struct stretch *ret)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_PLACE, &st);
    int rc;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, as_bound(hi));
    bind_int(st, 4, as_bound(order));
    bind_text(st, 5, by);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        status = read_stretch(&t->c, st, 0, ret);
    else
        status = rc == SQLITE_DONE ? USHER_MISSING : failed(&t->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/* @s is too long: its second half becomes a stretch of its own. */
static enum usher_status stretch_cut(struct usher_txn *t, int64_t list, const struct usher_text *by,
                                     struct stretch *s)
{
    struct stretch half = { 0, 0, s->n - s->n / 2 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_RANK_FROM, &st);
    bool sound = true;
    int rc = SQLITE_ROW;

    if (status != USHER_OK)
        return status;
    s->n /= 2;
    bind_int(st, 1, list);
    bind_text(st, 5, by);
    bind_int(st, 6, s->hi);
    bind_int(st, 7, s->order);
    for (int64_t i = 0; i <= s->n && rc == SQLITE_ROW; i++)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        half.hi = read_int(st, 0, 0, NUMBER_LIMIT, &sound);
        half.order = read_int(st, 1, 0, NUMBER_LIMIT, &sound);
        if (!sound || (half.hi == s->hi && half.order == s->order))
            status = corrupt(&t->c, "an index entry");
    } else {
        status = rc == SQLITE_DONE ? corrupt(&t->c, "places and their list disagree")
                                   : failed(&t->c, rc);
    }
    (void)sqlite3_reset(st);
    if (status == USHER_OK)
        status = stretch_write(t, ST_PLACE_CHANGE, list, by, s);
    return status == USHER_OK ? stretch_write(t, ST_PLACE_ADD, list, by, &half) : status;
}

/* @r has come into its list (@by 1) or left it (-1). */
static enum usher_status stretch_count(struct usher_txn *t, int64_t list,
                                       const struct usher_record *r, int by)
{
    struct stretch s = { 0, 0, 1 };
    enum usher_status status = stretch_find(t, list, &r->group, r->rank, r->order, &s);

    if (status == USHER_MISSING)
        return by > 0 ? stretch_write(t, ST_PLACE_ADD, list, &r->group, &s)
                      : corrupt(&t->c, "places and their list disagree");
    if (status != USHER_OK)
        return status;
    s.n += by;
    if (s.n > STRETCH)
        return stretch_cut(t, list, &r->group, &s);
    return stretch_write(t, s.n != 0 ? ST_PLACE_CHANGE : ST_PLACE_ERASE, list, &r->group, &s);
}

/* @was has become @to; NULL: it was, or is, not there. */
static enum usher_status stretches_follow(struct usher_txn *t, int64_t list,
                                          const struct usher_record *was,
                                          const struct usher_record *to)
{
    bool left = has_rank(was), comes = has_rank(to);
    enum usher_status status = USHER_OK;

    if (left && comes && was->rank == to->rank && was->order == to->order &&
        same_text(&was->group, &to->group))
        return USHER_OK;
    if (left)
        status = stretch_count(t, list, was, -1);
    if (status == USHER_OK && comes)
        status = stretch_count(t, list, to, 1);
    return status;
}

/* What is stored of a record of @list. */
static enum usher_status read_again(struct usher_txn *t, int64_t list, const void *ref,
                                    struct usher_record *ret)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_READ, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, row_of(ref));
    status = fetch(t, st, list, 0, ret);
    return status == USHER_MISSING ? corrupt(&t->c, "a row that was read is not there") : status;
}

/* ---- */

static enum usher_status record_write(struct usher_txn *t, const struct usher_scope *scope,
                                      const struct usher_write *w)
{
    struct usher_record r = w->record;
    int64_t list = list_of(scope->ref, r.kind);
    bool ranked = is_ranked(scope->noun, r.kind);
    const struct usher_record *was = r.ref != NULL ? seen(t, r.ref) : NULL;
    struct usher_record old;
    enum statement i;
    sqlite3_stmt *st = NULL;
    enum usher_status status;

    if (r.ref == NULL && w->erase) /* before it was ever stored */
        return USHER_OK;
    if (!w->erase && !record_fits(&r))
        return does_not_fit(&t->c);
    if (ranked && r.ref != NULL) {
        /* its texts stay, but who is noted may be another one soon */
        if (was != NULL) {
            old = *was;
        } else {
            memset(&old, 0, sizeof old);
            status = read_again(t, list, r.ref, &old);
            if (status != USHER_OK)
                return status;
        }
        was = &old;
    }
    i = r.ref == NULL ? ST_ADD : w->erase ? ST_ERASE : change_of(was, &r);
    status = get(&t->c, i, &st);
    if (status != USHER_OK)
        return status;
    if (i == ST_ADD) {
        bind_int(st, 2, list);
        bind_text(st, 13, &r.id);
    } else {
        bind_int(st, 1, row_of(r.ref));
    }
    if (i != ST_ERASE) {
        bind_int(st, 3, r.state);
        bind_int(st, 7, (int64_t)r.token);
        for (int k = 0; k < USHER_NUMBERS; k++)
            bind_int(st, k < 4 ? 9 + k : 13 + k, r.n[k]);
    }
    if (i != ST_ERASE && i != ST_CHANGE_PLAIN && i != ST_CHANGE_LISTS)
        bind_int(st, 8, r.until_ms);
    if (i == ST_ADD || i == ST_CHANGE_LISTS_DUE || i == ST_CHANGE_ALL) {
        if (due_of(&r) != 0)
            bind_int(st, 21, (int64_t)due_of(&r));
        else
            (void)sqlite3_bind_null(st, 21);
    }
    if (i == ST_ADD || i == ST_CHANGE_LISTS || i == ST_CHANGE_LISTS_DUE || i == ST_CHANGE_ALL) {
        bind_int(st, 4, r.slots);
        bind_int(st, 5, (int64_t)r.rank);
        bind_int(st, 6, (int64_t)r.order);
        bind_text_or_null(st, 14, &r.owner);
    }
    if (i == ST_ADD || i == ST_CHANGE_ALL) {
        bind_text_or_null(st, 15, &r.group);
        if (r.data.size != 0)
            (void)sqlite3_bind_blob(st, 16, r.data.data, (int)r.data.size, SQLITE_STATIC);
        else
            (void)sqlite3_bind_null(st, 16);
    }
    status = run_one(&t->c, st);
    if (status == USHER_OK && ranked)
        status = stretches_follow(t, list, was, i != ST_ERASE ? &r : NULL);
    if (status != USHER_OK)
        return status;
    fronts_follow(t, list, was, &r, i == ST_ERASE);
    if (was != NULL)
        owner_count(t, list, was, -1);
    if (i != ST_ERASE)
        owner_count(t, list, &r, 1);
    if (r.ref != NULL)
        seen_drop(t, r.ref);
    if (i == ST_ERASE) {
        cached_drop(t, list, &r.id);
        return USHER_OK;
    }
    if (i == ST_ADD) {
        r.ref = ref_of(sqlite3_last_insert_rowid(t->c.db));
        if (r.ref == NULL)
            return corrupt(&t->c, "no number is left for a record");
    }
    cached_put(t, list, &r);
    return USHER_OK;
}

static enum usher_status scope_add(struct usher_txn *t, struct usher_scope *s)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_SCOPE_ADD, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 2, s->noun);
    bind_text(st, 3, &s->name);
    bind_int(st, 4, (int64_t)s->epoch);
    bind_int(st, 5, (int64_t)s->version);
    bind_int(st, 6, s->clock_ms);
    if (s->due_ms != INT64_MAX)
        bind_int(st, 7, s->due_ms);
    else
        (void)sqlite3_bind_null(st, 7);
    for (int i = 0; i < USHER_COUNTS; i++)
        bind_int(st, 8 + i, s->counts[i]);
    for (int i = 0; i < USHER_SETTINGS; i++)
        bind_int(st, 8 + USHER_COUNTS + i, s->settings[i]);
    bind_int(st, 8 + USHER_COUNTS + USHER_SETTINGS, (int64_t)s->writer);
    status = run_one(&t->c, st);
    if (status != USHER_OK)
        return status;
    s->ref = ref_of(sqlite3_last_insert_rowid(t->c.db));
    return s->ref != NULL ? USHER_OK : corrupt(&t->c, "no number is left for a scope");
}

static enum usher_status scope_erase(struct usher_txn *t, struct usher_scope *s)
{
    struct header *h = header_place(t, s->noun, &s->name);
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_SCOPE_ERASE, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, row_of(s->ref));
    status = run_one(&t->c, st);
    if (status != USHER_OK)
        return status;
    if (header_is(t, h, s->noun, &s->name))
        h->generation = 0;
    s->ref = NULL;
    arena_reset(t);
    return USHER_OK;
}

/* A failure on the way leaves the change half made: no commit() after that. */
static enum usher_status write_change(struct usher_txn *t, struct usher_scope *s,
                                      const struct usher_write *writes, size_t n)
{
    struct usher_scope new = *s;
    struct header *h = header_place(t, s->noun, &s->name);
    bool is_new = s->ref == NULL;
    enum usher_status status = USHER_OK;

    if (!scope_fits(s))
        return does_not_fit(&t->c);
    if (is_new)
        status = scope_add(t, &new);
    for (size_t i = 0; i < n && status == USHER_OK; i++)
        status = record_write(t, &new, &writes[i]);
    if (status == USHER_OK && s->erase)
        return scope_erase(t, s);
    if (status != USHER_OK)
        return status;
    if (is_new || !header_is(t, h, s->noun, &s->name)) {
        status = header_put(t, h, &new);
        if (status != USHER_OK)
            return status;
        h->set = h->taken = !is_new;
    } else {
        h->set |= memcmp(h->scope.settings, new.settings, sizeof new.settings) != 0;
        h->taken |= h->scope.writer != new.writer || h->scope.n_gaps != new.n_gaps;
        new.name = h->scope.name;
        h->scope = new;
    }
    h->changed = !is_new;
    s->ref = new.ref;
    arena_reset(t);
    return USHER_OK;
}

static enum usher_status append(struct usher_txn *t, const struct usher_scope *s, const void *row)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(&t->c, ST_VISIT_ADD, &st);
    int rc;

    if (status != USHER_OK)
        return status;
    rc = usher__visit_add(st, &s->name, s->epoch, row);
    return rc == SQLITE_DONE ? USHER_OK : failed(&t->c, rc);
}

/* ---- transactions ----------------------------------------------------------------- */

static void rollback(struct usher_txn *t)
{
    /* some failures have rolled back already */
    if (!sqlite3_get_autocommit(t->c.db)) {
        bool failed_before = t->c.failed;

        t->c.failed = true; /* keeps the message */
        (void)run_plain(&t->c, ST_ROLLBACK);
        t->c.failed = failed_before;
    }
    t->generation++;
    arena_reset(t);
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

        status = get(&t->c, ST_LOOK, &st);
        if (status != USHER_OK)
            return status;
        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            status = failed(&t->c, rc);
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
    status = usher__sqlite_file_moved(&s->place, c->message);
    if (status != USHER_OK)
        return status;
    status = run_plain(c, write ? ST_BEGIN_WRITE : ST_BEGIN_READ);
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
 * valid, syncs, and then tells other connections by shared memory.  Where it is still in the
 * transaction, nothing was written (busy).  Where it found no space, the mark is not
 * complete.  All else may have happened behind the mark: SQLite forgets the transaction
 * then, but should everybody crash before the log is written over, whoever reads it next
 * finds a transaction that is valid.
 */
static enum usher_status commit_failed(struct usher_txn *t, int rc, sqlite3_stmt *st)
{
    enum usher_status status = failed(&t->c, rc);
    bool within = !sqlite3_get_autocommit(t->c.db);

    (void)sqlite3_reset(st);
    rollback(t);
    if (within)
        return sqlite3_get_autocommit(t->c.db) ? status : USHER_UNKNOWN;
    return (rc & 0xff) == SQLITE_FULL ? status : USHER_UNKNOWN;
}

static enum usher_status commit(struct usher_txn *t)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = t->c.failed ? USHER_UNAVAILABLE : USHER_OK;
    int rc;

    for (size_t i = 0; i < SCOPES && status == USHER_OK; i++)
        if (t->scopes[i].generation == t->generation)
            status = header_write(t, &t->scopes[i]);
    if (status == USHER_OK)
        status = get(&t->c, ST_COMMIT, &st);
    if (status != USHER_OK) {
        rollback(t);
        return status;
    }
    rc = sqlite3_step(st);
    if (rc != SQLITE_DONE)
        status = commit_failed(t, rc, st);
    (void)sqlite3_reset(st);
    t->pages = pages_now(t);
    arena_reset(t);
    return status;
}

/* ---- scan ------------------------------------------------------------------------- */

struct scanner {
    struct connection *c;
    usher_scan_fn *fn;
    void *payload;
    bool records;   /* are to be shown, too */
    int64_t ranked; /* entries of the last scope that the stretches should have counted */
};

/* Where a scan is in an index.  A damaged one may lead round in circles: who goes on only as
 * long as keys ascend comes to an end. */
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

/* Go on to the next key; false if it is not behind the last one. */
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
    enum usher_status status = get(sc->c, ST_EACH, &st);
    int rc = SQLITE_DONE;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list_of(s->ref, 0));
    bind_int(st, 2, list_of(s->ref, 7));
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        status = read_record(sc->c, st, &r);
        if (status == USHER_OK && !ascends(&at, r.kind, &r.id, 0, 0))
            status = corrupt(sc->c, "records out of order");
        if (status == USHER_OK)
            status = sc->fn(sc->payload, &item);
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = failed(sc->c, rc);
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
    enum usher_status status = get(sc->c, list, &st);
    int rc = SQLITE_DONE;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list_of(s->ref, 0));
    bind_int(st, 2, list_of(s->ref, 7));
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        bool sound = true, memory = true;

        e.kind = (uint8_t)(sqlite3_column_int64(st, 0) & 7);
        e.hi = (uint64_t)read_int(st, 1, 0, NUMBER_LIMIT, &sound);
        e.order = (uint64_t)read_int(st, 2, 0, NUMBER_LIMIT, &sound);
        read_text(st, 3, 1, USHER_NAME_MAX, &e.id, &sound, &memory);
        read_text(st, 4, 0, USHER_NAME_MAX, &e.by, &sound, &memory);
        sc->ranked += list == ST_READY_BY_ENTRIES && is_ranked(s->noun, e.kind);
        if (!memory)
            status = no_memory(sc->c);
        else
            status = sound && ascends(&at, e.kind, &e.by, e.hi, e.order)
                         ? sc->fn(sc->payload, &item)
                         : corrupt(sc->c, "an index entry");
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/* Does each stretch have as many records as is stored?  One that disagrees is shown. */
static enum usher_status scan_stretches(const struct scanner *sc, const struct usher_scope *s)
{
    struct usher_item item = { .kind = USHER_ITEM_FAULT,
                               .fault = "places that are counted and their list disagree" };
    uint8_t kind = kind_with(s->noun, USHER_KIND_RANKED);
    int64_t list, all = 0;
    struct stretch one, last = { 0, 0, 0 };
    struct usher_text by = { "", 0 }, last_by = by;
    char text[USHER_NAME_MAX];
    bool same = true, more = true;
    sqlite3_stmt *st = NULL;
    enum usher_status status = get(sc->c, ST_PLACE_EACH, &st);

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
            status = failed(sc->c, rc);
            break;
        }
        if (more) {
            read_text(st, 0, 1, USHER_NAME_MAX, &by, &sound, &memory);
            status = !memory ? no_memory(sc->c)
                     : sound ? read_stretch(sc->c, st, 1, &one)
                             : corrupt(sc->c, "a place");
        }
        goes_on = more && status == USHER_OK && same_text(&by, &last_by);
        if (status == USHER_OK && last.n != 0) {
            status = count_within(sc->c, list, &last_by, &last, goes_on ? one.hi : INT64_MAX,
                                  goes_on ? one.order : INT64_MAX, last.n, &n);
            same = n == last.n;
            all += n;
        }
        if (more && status == USHER_OK) {
            last = one;
            last_by = by;
            (void)copy_text(&last_by, text);
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
    uint8_t kind = kind_with(s->noun, USHER_KIND_LOGGED);
    enum usher_status status = get(sc->c, ST_VISITS_DIFFER, &st);
    int rc;

    if (status != USHER_OK || kind == USHER_KINDS)
        return status;
    bind_int(st, 1, list_of(s->ref, kind));
    bind_text(st, 2, &s->name);
    bind_int(st, 3, (int64_t)s->epoch);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        status = sc->fn(sc->payload, &item);
    else if (rc != SQLITE_DONE)
        status = failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/* @st stands on the row of a scope. */
static enum usher_status scan_scope(struct scanner *sc, sqlite3_stmt *st,
                                    const struct usher_text *only, struct position *at)
{
    struct usher_scope s;
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &s };
    enum usher_status status = read_scope(sc->c, st, true, &s);

    if (status == USHER_OK && !ascends(at, s.noun, &s.name, 0, 0))
        status = corrupt(sc->c, "scopes out of order");
    if (status == USHER_OK && only != NULL && !same_text(&s.name, only))
        return USHER_OK;
    if (status == USHER_OK)
        status = sc->fn(sc->payload, &item);
    if (status != USHER_OK || !sc->records)
        return status;
    status = scan_records(sc, &s);
    sc->ranked = 0;
    for (unsigned i = 0; i < 2 * USHER_SLOTS && status == USHER_OK; i++)
        status =
            scan_list(sc, &s, (enum statement)((unsigned)ST_READY_ENTRIES + i), (uint8_t)(i / 2));
    if (status == USHER_OK)
        status = scan_stretches(sc, &s);
    return status == USHER_OK ? scan_log(sc, &s) : status;
}

static enum usher_status scan_all(struct scanner *sc, enum usher_noun noun,
                                  const struct usher_text *only)
{
    struct position at = { .size = 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = run_plain(sc->c, ST_BEGIN_READ);
    int rc = SQLITE_DONE;

    if (status == USHER_OK && (unsigned)noun != 0 && only != NULL) {
        status = get(sc->c, ST_SCOPE_FIND, &st);
        if (status == USHER_OK)
            bind_text(st, 2, only);
    } else if (status == USHER_OK) {
        status = get(sc->c, ST_SCOPE_EACH, &st);
        if (status == USHER_OK)
            bind_int(st, 2, (unsigned)noun != 0 ? (int64_t)noun : UINT8_MAX);
    }
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, (int64_t)noun);
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
        status = scan_scope(sc, st, only, &at);
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = failed(sc->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/*
 * The deadline is for waiting: a large file may take longer to be looked at.  Nothing of the
 * transaction that may be under way on another thread is touched, but for the message of a
 * failure, which has no other place.
 */
static enum usher_status scan(struct usher_record_store *store, enum usher_noun noun,
                              const struct usher_text *only, bool records, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192])
{
    struct sqlite *s = (struct sqlite *)store;
    struct connection c;
    struct scanner sc = { &c, fn, payload, records, 0 };
    enum usher_status status;

    memset(&c, 0, sizeof c);
    c.deadline_ms = deadline_ms;
    status = usher__sqlite_file_again(&s->place, &c.deadline_ms, &c.db, c.message);
    if (status == USHER_OK)
        status = scan_all(&sc, noun, only);
    connection_close(&c);
    if (status != USHER_OK)
        usher__sqlite_say(message, "%s", c.message);
    return status;
}

/* ---- log -------------------------------------------------------------------------- */

/* On a connection of its own, as scan(). */
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

    arena_reset(t);
    if (t->arena != NULL)
        (void)resize(t->alloc, t->arena, sizeof *t->arena + t->arena->size, 0);
    connection_close(&t->c);
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

    /* the log of a file that syncs seldom outlives the process, for the system has it */
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
    .commit = commit,
    .rollback = rollback,
    .scope = scope,
    .find = find,
    .walk = walk,
    .rank = rank,
    .next = next,
    .write = write_change,
    .scan = scan,
    .message = message_of,
    .close = close_store,
    .forget = forget_store,
    .append = append,
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
        usher__sqlite_say(message, "sqlite: the path has a bad %%XX in it");
        return USHER_INVALID;
    }
    if (path[2] == '\0') {
        usher__sqlite_say(message, "sqlite: a path has to follow (as in `sqlite:usher.db`)");
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
            usher__sqlite_say(message, "sqlite: sync is none of full, normal and off");
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

const char *usher__sqlite_statement(unsigned i, const char **ret_via)
{
    if (i >= ST_N)
        return NULL;
    *ret_via = vias[i];
    return texts[i];
}
