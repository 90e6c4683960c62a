/* SPDX-License-Identifier: MIT */
/* The cache between statements and transactions: texts, headers of scopes, records.  See sqlite.c.
 */
#include "config.h"

#include "records.h"

/* ---- texts of records ------------------------------------------------------------- */

void usher__records_arena_reset(struct usher_txn *t)
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

char *usher__records_copy_text(struct usher_text *text, char *to)
{
    if (text->size != 0)
        memcpy(to, text->data, text->size);
    text->data = to;
    return to + text->size;
}

/* The texts of @r move into the arena; @r is noted as read. */
enum usher_status usher__records_keep(struct usher_txn *t, struct usher_record *r)
{
    char *to = arena_get(t, r->id.size + r->owner.size + r->group.size + r->data.size);

    if (to == NULL)
        return usher__records_no_memory(&t->c);
    to = usher__records_copy_text(&r->id, to);
    to = usher__records_copy_text(&r->owner, to);
    to = usher__records_copy_text(&r->group, to);
    (void)usher__records_copy_text(&r->data, to);
    t->seen[t->n_seen++ % SEEN] = *r;
    return USHER_OK;
}

/* The record of @ref as it was read; NULL: not read, read too long ago, or written since. */
const struct usher_record *usher__records_seen(const struct usher_txn *t, const void *ref)
{
    for (size_t i = t->n_seen; i > 0 && t->n_seen - i < SEEN; i--)
        if (t->seen[(i - 1) % SEEN].ref == ref)
            return &t->seen[(i - 1) % SEEN];
    return NULL;
}

void usher__records_seen_drop(struct usher_txn *t, const void *ref)
{
    for (size_t i = 0; i < SEEN && i < t->n_seen; i++)
        if (t->seen[i].ref == ref)
            t->seen[i].ref = NULL;
}

/* ---- headers of scopes ------------------------------------------------------------ */

enum usher_status usher__records_header_write(struct usher_txn *t, struct header *h)
{
    const struct usher_scope *s = &h->scope;
    sqlite3_stmt *st = NULL;
    enum usher_status status = USHER_OK;

    if (h->changed) {
        status = usher__records_get(&t->c, ST_SCOPE_CHANGE, &st);
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
        status = usher__records_run_one(&t->c, st);
        h->changed = false;
    }
    if (status == USHER_OK && h->set) {
        status = usher__records_get(&t->c, ST_SCOPE_SET, &st);
        if (status != USHER_OK)
            return status;
        bind_int(st, 1, row_of(s->ref));
        for (int i = 0; i < USHER_SETTINGS; i++)
            bind_int(st, 8 + USHER_COUNTS + i, s->settings[i]);
        status = usher__records_run_one(&t->c, st);
        h->set = false;
    }
    if (status == USHER_OK && h->taken) {
        unsigned char bytes[USHER_GAPS * GAP_SIZE];

        status = usher__records_get(&t->c, ST_SCOPE_TAKE, &st);
        if (status != USHER_OK)
            return status;
        usher__records_gaps_pack(s, bytes);
        bind_int(st, 1, row_of(s->ref));
        bind_int(st, 2, (int64_t)s->writer);
        if (s->n_gaps > 0)
            (void)sqlite3_bind_blob(st, 3, bytes, s->n_gaps * GAP_SIZE, SQLITE_TRANSIENT);
        else
            (void)sqlite3_bind_null(st, 3);
        status = usher__records_run_one(&t->c, st);
        h->taken = false;
    }
    return status;
}

bool usher__records_header_is(const struct usher_txn *t, const struct header *h, unsigned noun,
                              const struct usher_text *name)
{
    return h->generation == t->generation && h->scope.noun == noun &&
           h->scope.name.size == name->size && memcmp(h->name, name->data, name->size) == 0;
}

/* The place of a scope's header; who stands there may be another. */
struct header *usher__records_header_place(struct usher_txn *t, unsigned noun,
                                           const struct usher_text *name)
{
    return &t->scopes[usher__records_hash_of(noun, name) % SCOPES];
}

/* Put @s into @h, in place of the one that is there. */
enum usher_status usher__records_header_put(struct usher_txn *t, struct header *h,
                                            const struct usher_scope *s)
{
    enum usher_status status = USHER_OK;

    if (h->generation == t->generation)
        status = usher__records_header_write(t, h);
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

/* Return whether @s is an earlier state of the scope whose header was last in @h: it is read again
 * because another connection has written, and versions never fall. */
static bool is_older(const struct header *h, unsigned noun, const struct usher_scope *s)
{
    return h->generation != 0 && h->scope.noun == noun && h->scope.name.size == s->name.size &&
           memcmp(h->name, s->name.data, s->name.size) == 0 && h->scope.epoch == s->epoch &&
           h->scope.version > s->version;
}

static enum usher_status header_read(struct usher_txn *t, struct header *h, unsigned noun,
                                     const struct usher_text *name)
{
    struct usher_scope s = { 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_SCOPE_FIND, &st);
    int rc;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, noun);
    usher__records_bind_text(st, 2, name);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        status = usher__records_read_scope(&t->c, st, false, &s);
    else
        status = rc == SQLITE_DONE ? USHER_MISSING : usher__records_failed(&t->c, rc);
    (void)sqlite3_reset(st);
    if (status != USHER_OK)
        return status;
    s.name = *name;
    if (is_older(h, noun, &s))
        return usher__records_went_back(t);
    return usher__records_header_put(t, h, &s);
}

enum usher_status usher__records_scope(struct usher_txn *t, enum usher_noun noun,
                                       const struct usher_text *name, struct usher_scope *ret_scope)
{
    struct header *h = usher__records_header_place(t, (unsigned)noun, name);
    struct usher_text given = ret_scope->name;

    if (!usher__records_header_is(t, h, (unsigned)noun, name)) {
        enum usher_status status = header_read(t, h, (unsigned)noun, name);

        if (status != USHER_OK)
            return status;
    }
    *ret_scope = h->scope;
    ret_scope->name = given;
    return USHER_OK;
}

/* ---- cached records ------------------------------------------------------------------ */

struct cached *usher__records_cached_place(struct usher_txn *t, int64_t list,
                                           const struct usher_text *id)
{
    return &t->records[usher__records_hash_of((uint64_t)list, id) % RECORDS];
}

bool usher__records_cached_is(const struct usher_txn *t, const struct cached *c, int64_t list,
                              const struct usher_text *id)
{
    return c->generation == t->generation && c->list == list && same_text(&c->record.id, id);
}

bool usher__records_is_short(const struct usher_record *r)
{
    return r->data.size == 0 && r->id.size + r->owner.size + r->group.size <= SHORT;
}

void usher__records_cached_fill(struct cached *c, uint64_t generation, int64_t list,
                                const struct usher_record *r)
{
    char *to = c->texts;

    c->generation = generation;
    c->list = list;
    c->record = *r;
    to = usher__records_copy_text(&c->record.id, to);
    to = usher__records_copy_text(&c->record.owner, to);
    (void)usher__records_copy_text(&c->record.group, to);
}

void usher__records_cached_put(struct usher_txn *t, int64_t list, const struct usher_record *r)
{
    struct cached *c = usher__records_cached_place(t, list, &r->id);

    if (usher__records_is_short(r))
        usher__records_cached_fill(c, t->generation, list, r);
    else if (usher__records_cached_is(t, c, list, &r->id))
        c->generation = 0;
}

void usher__records_cached_drop(struct usher_txn *t, int64_t list, const struct usher_text *id)
{
    struct cached *c = usher__records_cached_place(t, list, id);

    if (usher__records_cached_is(t, c, list, id))
        c->generation = 0;
}
