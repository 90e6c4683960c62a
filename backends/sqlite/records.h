/* SPDX-License-Identifier: MIT */
/* The parts of the record store on SQLite: see sqlite.c.  Only they include it. */
#ifndef USHER_SQLITE_RECORDS_H
#define USHER_SQLITE_RECORDS_H

#include "sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "intact.h"
#include "statements.h"

#ifdef USHER_HOSTILE
#define SCOPES 2u
#define RECORDS 2u
#define SEEN 1u
#define HEADS 1u
#define AHEAD 3u
#define OWNERS 2u
#define OWNERS_NEAR 2u
#define RANK_PAGE 4
#define BLOCK ((size_t)1)
#else
#define SCOPES 64u            /* headers cached */
#define RECORDS 1024u         /* records cached */
#define SEEN 16u              /* records noted as read */
#define HEADS 4u              /* lists of which the first records are cached */
#define AHEAD 64u             /* of each, at most */
#define OWNERS 2048u          /* owners whose count of holds is known */
#define OWNERS_NEAR 4u        /* places where one of them may stand */
#define RANK_PAGE 512         /* records of a rank page, at most */
#define BLOCK ((size_t)16384) /* room for texts that is always kept */
#endif

/* Bytes of all texts of a record that is cached; of an owner. */
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
struct list_head {
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
    struct list_head heads[HEADS];
    struct owner owners[OWNERS];
    struct block *arena; /* the newest block first */
    struct usher_record seen[SEEN];
    size_t n_seen; /* of all since the arena was empty */
};

struct sqlite {
    struct usher_record_store base;
    struct usher__sqlite_place place;
    struct usher__sqlite_intact intact;
    enum usher__sqlite_sync sync;
    char software[32];
    struct usher_txn txn;
};

/* A part of a list: its first place, and how many records it has. */
struct rank_page {
    int64_t hi, order, n;
};

#define GAP_SIZE 16

/*
 * Binding cannot fail: the indices are those of the statements, nothing is copied, and the
 * library's texts are far shorter than the limit of SQLite.  The texts must live until the
 * statement has run.
 */
static inline void bind_int(sqlite3_stmt *st, int i, int64_t value)
{
    (void)sqlite3_bind_int64(st, i, value);
}

/* A row's number as a reference; NULL: it cannot be one. */
static inline void *ref_of(int64_t row)
{
    return row > 0 && row <= NUMBER_LIMIT && (uint64_t)row <= (uint64_t)UINTPTR_MAX
               ? (void *)(uintptr_t)row
               : NULL;
}

static inline int64_t row_of(const void *ref)
{
    return (int64_t)(uintptr_t)ref;
}

static inline int64_t list_of(const void *scope_ref, uint8_t kind)
{
    USHER_ASSERT(scope_ref != NULL && kind < USHER_KINDS);
    return row_of(scope_ref) * 16 + kind;
}

static inline bool same_text(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size &&
           (a->size == 0 || a->data == b->data || memcmp(a->data, b->data, a->size) == 0);
}

static inline void *resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    if (alloc != NULL)
        return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

/* ---- sqlite.c ---- */

enum usher_status usher__records_commit(struct usher_txn *t);
/* The file has an earlier state than was read before.  USHER_UNAVAILABLE, from now on. */
enum usher_status usher__records_went_back(struct usher_txn *t);

/* ---- connection.c ---- */

/* The first failure counts; later ones come of it. */
enum usher_status usher__records_failed(struct connection *c, int rc);
enum usher_status usher__records_corrupt(struct connection *c, const char *what);
enum usher_status usher__records_no_memory(struct connection *c);
/* Statement @i, ready to be bound; NULL: see c->message. */
enum usher_status usher__records_get(struct connection *c, enum statement i, sqlite3_stmt **ret_st);
enum usher_status usher__records_run_plain(struct connection *c, enum statement i);
/* Run one that must change one row. */
enum usher_status usher__records_run_one(struct connection *c, sqlite3_stmt *st);
void usher__records_bind_text(sqlite3_stmt *st, int i, const struct usher_text *text);
void usher__records_bind_text_or_null(sqlite3_stmt *st, int i, const struct usher_text *text);
void usher__records_connection_close(struct connection *c);
/* FNV-1a. */
uint32_t usher__records_hash_of(uint64_t seed, const struct usher_text *text);
/* An integer from @min to @max; else *@sound becomes false. */
int64_t usher__records_read_int(sqlite3_stmt *st, int i, int64_t min, int64_t max, bool *sound);
void usher__records_read_text(sqlite3_stmt *st, int i, size_t min, size_t max,
                              struct usher_text *ret_text, bool *sound, bool *memory);
void usher__records_gaps_pack(const struct usher_scope *s, unsigned char to[USHER_GAPS * GAP_SIZE]);
/* SCOPE_COLUMNS; the name is read when @name is true. */
enum usher_status usher__records_read_scope(struct connection *c, sqlite3_stmt *st, bool name,
                                            struct usher_scope *s);
/* RECORD_COLUMNS; the texts live until @st goes on. */
enum usher_status usher__records_read_record(struct connection *c, sqlite3_stmt *st,
                                             struct usher_record *r);

/* ---- cache.c ---- */

void usher__records_arena_reset(struct usher_txn *t);
char *usher__records_copy_text(struct usher_text *text, char *to);
/* The texts of @r move into the arena; @r is noted as read. */
enum usher_status usher__records_keep(struct usher_txn *t, struct usher_record *r);
/* The record of @ref as it was read; NULL: not read, read too long ago, or written since. */
const struct usher_record *usher__records_seen(const struct usher_txn *t, const void *ref);
void usher__records_seen_drop(struct usher_txn *t, const void *ref);
enum usher_status usher__records_header_write(struct usher_txn *t, struct header *h);
bool usher__records_header_is(const struct usher_txn *t, const struct header *h, unsigned noun,
                              const struct usher_text *name);
/* The place of a scope's header; who stands there may be another. */
struct header *usher__records_header_place(struct usher_txn *t, unsigned noun,
                                           const struct usher_text *name);
/* Put @s into @h, in place of the one that is there. */
enum usher_status usher__records_header_put(struct usher_txn *t, struct header *h,
                                            const struct usher_scope *s);
enum usher_status usher__records_scope(struct usher_txn *t, enum usher_noun noun,
                                       const struct usher_text *name,
                                       struct usher_scope *ret_scope);
struct cached *usher__records_cached_place(struct usher_txn *t, int64_t list,
                                           const struct usher_text *id);
bool usher__records_cached_is(const struct usher_txn *t, const struct cached *c, int64_t list,
                              const struct usher_text *id);
bool usher__records_is_short(const struct usher_record *r);
void usher__records_cached_fill(struct cached *c, uint64_t generation, int64_t list,
                                const struct usher_record *r);
void usher__records_cached_put(struct usher_txn *t, int64_t list, const struct usher_record *r);
void usher__records_cached_drop(struct usher_txn *t, int64_t list, const struct usher_text *id);

/* ---- lists.c ---- */

/* The record that the bound @st finds, as step(). */
enum usher_status usher__records_fetch(struct usher_txn *t, sqlite3_stmt *st, int64_t list,
                                       unsigned slots, struct usher_record *ret_record);
enum usher_status usher__records_find(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, const struct usher_text *id,
                                      struct usher_record *ret_record);
/* @was (NULL: not known) has become @to, which is stored, or with @gone is not any more. */
void usher__records_heads_follow(struct usher_txn *t, int64_t list, const struct usher_record *was,
                                 const struct usher_record *to, bool gone);
/* @r has come to its owner, or may have (@by 1), or has surely left its owner (-1). */
void usher__records_owner_count(struct usher_txn *t, int64_t list, const struct usher_record *r,
                                int by);
int64_t usher__records_as_bound(uint64_t value);
enum usher_status usher__records_walk(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, uint8_t slot, const struct usher_text *by,
                                      uint64_t after_hi, uint64_t after_order, bool back,
                                      struct usher_record *ret_record);
enum usher_status usher__records_read_rank_page(struct connection *c, sqlite3_stmt *st, int i,
                                                struct rank_page *ret);
/* How many records stand in a list from @from on and before (@hi, @order); more than @max of them
 * are not counted. */
enum usher_status usher__records_count_within(struct connection *c, int64_t list,
                                              const struct usher_text *by,
                                              const struct rank_page *from, int64_t hi,
                                              int64_t order, int64_t max, int64_t *ret);
/* Those of the rank pages before, and those of its own that stand before it. */
enum usher_status usher__records_rank(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, uint8_t slot, const struct usher_text *by,
                                      uint64_t hi, uint64_t order, uint64_t *ret);
enum usher_status usher__records_next(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, const struct usher_text *after,
                                      struct usher_record *ret_record);

/* ---- write.c ---- */

bool usher__records_is_ranked(unsigned noun, uint8_t kind);
/* The kind of @noun that has @flag; USHER_KINDS: none has. */
uint8_t usher__records_kind_with(unsigned noun, enum usher_kind_flag flag);
/* A failure on the way leaves the change half made: no usher__records_commit() after that. */
enum usher_status usher__records_write_change(struct usher_txn *t, struct usher_scope *s,
                                              const struct usher_write *writes, size_t n);
enum usher_status usher__records_append(struct usher_txn *t, const struct usher_scope *s,
                                        const void *row);

/* ---- scan.c ---- */

/*
 * The deadline is for waiting: a large file may take longer to be looked at.  Nothing of the
 * transaction that may be under way on another thread is touched, but for the message of a
 * failure, which has no other place.
 */
enum usher_status usher__records_scan(struct usher_record_store *store, enum usher_noun noun,
                                      const struct usher_text *only, int64_t deadline_ms,
                                      usher_scan_fn *fn, void *payload, char message[192]);
enum usher_status usher__records_list(struct usher_record_store *store, unsigned nouns,
                                      const struct usher_scope *after, int64_t deadline_ms,
                                      usher_scan_fn *fn, void *payload, char message[192]);

#endif
