/* SPDX-License-Identifier: MIT */
/*
 * The store `memory:`: records of this process, gone with it.
 *
 * Scopes are spread over shards by the hash of their names; a transaction holds the lock
 * of one shard.  A scope keeps the records of each kind in a table by id, in a tree by
 * id, and in one tree a slot; texts that lists are made for (owner, group) are kept
 * once, as a `name` with the trees of its lists.
 *
 * write() is all or nothing without an undo: it first gets all the memory that it could
 * need and resolves all texts (which may point into records that it is about to change),
 * and from then on cannot fail.
 *
 * Everything is owned by its scope, a scope by its shard.
 */
#include "config.h"

#include "memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "table.h"
#include "tree.h"

#define SHARDS 64
#define NOUNS 8
/* Spare nodes that a shard keeps between writes; names that are kept for each kind, if there
 * are twice as many records; records erased until freed memory is joined, see join_free(); bytes
 * of data that a change sets aside; records from which on one is fetched ahead. */
#ifdef USHER_HOSTILE
#define SPARE_NODES 1
#define SPARE_NAMES 1
#define ERASED_MAX 2
#define ASIDE 48
#define EXPECTED 1
#else
#define SPARE_NODES 32
#define SPARE_NAMES 4096
#define ERASED_MAX 4096
#define ASIDE 512
#define EXPECTED 16384
#endif
#define LARGE 4096 /* bytes, for glibc */
#define CACHE_LINE 64

struct name {
    uint32_t refs; /* records and writes under way that carry it */
    bool spare;    /* in the list of those that may go; so it may be while it has refs */
    struct name *next_spare;
    struct usher__tree list[2]; /* of a group: slots 0 and 1; of an owner: slot 2, none */
    struct usher__table_head head;
};

/* Names without references are kept for a while: most owners call again. */
struct names {
    struct usher__table table;
    struct name *first_spare, *last_spare;
    size_t n_spare;
    bool counted; /* list 0 of each name answers ranks */
};

/* Numbers in the record itself, as many as records of pools have; others precede the data. */
#define FEW 4
#define MORE_SIZE ((USHER_NUMBERS - FEW) * sizeof(int64_t))

struct record {
    uint8_t kind, state, slots;
    bool more;          /* some of the other numbers is not 0 */
    uint32_t data_size; /* with those numbers */
    uint64_t rank, order, token;
    int64_t until_ms;
    int64_t n[FEW];
    struct name *owner, *group;
    char *data;
    struct usher__table_head head;
};

struct kind {
    struct usher__table ids;
    struct names owners, groups;
    struct usher__tree by_id;
    bool unordered; /* by_id is not built, because no list has needed it yet */
    struct usher__tree slot[USHER_SLOTS];
};

struct scope {
    uint8_t noun;
    uint64_t epoch, version;
    int64_t clock_ms, due_ms;
    int64_t counts[USHER_COUNTS];
    int64_t settings[USHER_SETTINGS];
    struct kind *kinds[USHER_KINDS]; /* NULL: it never had a record of the kind */
    struct usher__table_head head;
};

struct memory;

/* Also the transaction. */
struct shard {
    pthread_mutex_t lock;
    bool ready;
    uint32_t hash;              /* of the name of the transaction's scope */
    const struct scope *recent; /* that of the last one; scopes stay where they are */
    /* The name last looked for, because mostly it is written next.  Texts and names
     * stay until the end of the transaction or the next write(). */
    const struct names *sought_in; /* NULL: none */
    struct usher_text sought;
    struct name *found; /* NULL: it is not there */
    unsigned erased;    /* records, since free memory was joined */
    struct memory *memory;
    struct usher__table scopes[NOUNS];
    struct usher__tree_pool pool;
} __attribute__((aligned(64)));

struct memory {
    struct usher_record_store base;
    const struct usher_allocator *alloc;
    void *block; /* as allocated, before alignment */
    size_t block_size;
    struct shard shards[SHARDS];
};

static void *resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

static struct usher_text text_of(const struct usher__table_head *head)
{
    struct usher_text text = { (const char *)head->bytes, head->len };

    return text;
}

/* An object of @size bytes, followed by its key. */
static size_t keyed_size(size_t offset, size_t len)
{
    return offset + sizeof(struct usher__table_head) + len;
}

#define SCOPE_SIZE(len) keyed_size(offsetof(struct scope, head), len)
#define RECORD_SIZE(len) keyed_size(offsetof(struct record, head), len)
#define NAME_SIZE(len) keyed_size(offsetof(struct name, head), len)

static void *keyed_new(const struct usher_allocator *alloc, size_t offset,
                       const struct usher_text *key, uint32_t hash)
{
    char *object = resize(alloc, NULL, 0, keyed_size(offset, key->size));
    struct usher__table_head *head;

    if (object == NULL)
        return NULL;
    memset(object, 0, offset);
    head = (struct usher__table_head *)(void *)(object + offset);
    head->hash = hash;
    head->len = (uint16_t)key->size;
    memcpy(head->bytes, key->data, key->size);
    return object;
}

/* The sign of a text against the id of a record, in byte order. */
static int compare_id(const void *probe, const void *ref)
{
    const struct usher_text *text = probe;
    const struct usher__table_head *head = &((const struct record *)ref)->head;
    size_t n = text->size < head->len ? text->size : head->len;
    int order = n != 0 ? memcmp(text->data, head->bytes, n) : 0;

    if (order != 0)
        return order;
    return (text->size > head->len) - (text->size < head->len);
}

/* ---- scopes ----------------------------------------------------------------------- */

/* The records of kind @k in @s, created if they are not there: most rooms have few kinds, and there
 * are many rooms.  NULL: no memory. */
static struct kind *__attribute__((noinline))
kind_new(struct scope *s, unsigned k, const struct shard *shard)
{
    const struct usher_allocator *alloc = shard->memory->alloc;
    uint64_t seed = shard->scopes[0].seed;
    struct kind *kind;
    unsigned flags;

    USHER_ASSERT(k >= 1 && k < USHER_KINDS);
    kind = resize(alloc, NULL, 0, sizeof *kind);
    if (kind == NULL)
        return NULL;
    flags = usher_kind_flags((enum usher_noun)s->noun, (uint8_t)k);
    memset(kind, 0, sizeof *kind);
    usher__table_init(&kind->ids, alloc, offsetof(struct record, head), seed);
    usher__table_init(&kind->owners.table, alloc, offsetof(struct name, head), seed);
    usher__table_init(&kind->groups.table, alloc, offsetof(struct name, head), seed);
    kind->groups.counted = (flags & USHER_KIND_RANKED) != 0;
    kind->unordered = (flags & USHER_KIND_LISTED) == 0;
    usher__tree_init(&kind->by_id, compare_id);
    for (unsigned i = 0; i < USHER_SLOTS; i++)
        usher__tree_init(&kind->slot[i], NULL);
    s->kinds[k] = kind;
    return kind;
}

static inline struct kind *kind_make(struct scope *s, unsigned k, const struct shard *shard)
{
    return s->kinds[k] != NULL ? s->kinds[k] : kind_new(s, k, shard);
}

static void record_free(const struct usher_allocator *alloc, struct record *r)
{
    (void)resize(alloc, r->data, r->data_size, 0);
    (void)resize(alloc, r, RECORD_SIZE(r->head.len), 0);
}

static void names_done(struct names *names, struct shard *shard)
{
    uint64_t cursor = 0;
    struct name *name;

    while ((name = usher__table_next(&names->table, &cursor)) != NULL) {
        usher__tree_done(&name->list[0], &shard->pool);
        usher__tree_done(&name->list[1], &shard->pool);
        (void)resize(shard->memory->alloc, name, NAME_SIZE(name->head.len), 0);
    }
    usher__table_done(&names->table);
}

static void scope_free(struct scope *s, struct shard *shard)
{
    const struct usher_allocator *alloc = shard->memory->alloc;

    for (unsigned k = 0; k < USHER_KINDS; k++) {
        struct kind *kind = s->kinds[k];
        uint64_t cursor = 0;
        struct record *r;

        if (kind == NULL)
            continue;
        usher__tree_done(&kind->by_id, &shard->pool);
        for (unsigned i = 0; i < USHER_SLOTS; i++)
            usher__tree_done(&kind->slot[i], &shard->pool);
        while ((r = usher__table_next(&kind->ids, &cursor)) != NULL)
            record_free(alloc, r);
        usher__table_done(&kind->ids);
        names_done(&kind->owners, shard);
        names_done(&kind->groups, shard);
        (void)resize(alloc, kind, sizeof *kind, 0);
    }
    (void)resize(alloc, s, SCOPE_SIZE(s->head.len), 0);
}

static void scope_show(const struct scope *from, struct usher_scope *to)
{
    to->noun = from->noun;
    to->epoch = from->epoch;
    to->version = from->version;
    to->clock_ms = from->clock_ms;
    to->due_ms = from->due_ms;
    memcpy(to->counts, from->counts, sizeof to->counts);
    memcpy(to->settings, from->settings, sizeof to->settings);
    to->ref = (void *)(uintptr_t)from;
    to->erase = false;
    to->n_gaps = 0;
    to->writer = 0;
}

static void record_show(const struct record *from, uint8_t kind, struct usher_record *to)
{
    to->kind = kind;
    to->state = from->state;
    to->slots = from->slots;
    to->rank = from->rank;
    to->order = from->order;
    to->token = from->token;
    to->until_ms = from->until_ms;
    memcpy(to->n, from->n, sizeof from->n);
    if (from->more)
        memcpy(to->n + FEW, from->data, MORE_SIZE);
    else
        memset(to->n + FEW, 0, MORE_SIZE);
    to->id = text_of(&from->head);
    memset(&to->owner, 0, sizeof to->owner);
    memset(&to->group, 0, sizeof to->group);
    if (from->owner != NULL)
        to->owner = text_of(&from->owner->head);
    if (from->group != NULL)
        to->group = text_of(&from->group->head);
    to->data.data = from->more ? from->data + MORE_SIZE : from->data;
    to->data.size = from->data_size - (from->more ? MORE_SIZE : 0);
    to->ref = (void *)(uintptr_t)from;
}

/* ---- locks ------------------------------------------------------------------------ */

/* Some tens of ns of doing nothing, so that the other thread of a processor gets on. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    __asm__ volatile("");
#endif
}

/* With pauses of 11 ns: after 3, 6 and 11 us. */
#define RELAX_FIRST 256u
#define RELAX_LAST 1024u

/*
 * A command takes well under a microsecond, much less than a sleep and a wake-up, and the thread
 * that has the lock has in its cache all that another processor would first have to fetch.  So a
 * thread that finds the lock taken pauses for as long as several commands take, a few times, before
 * it sleeps.
 */
static void __attribute__((noinline)) lock_taken(struct shard *shard)
{
    for (unsigned n = RELAX_FIRST; n <= RELAX_LAST; n *= 2) {
        for (unsigned i = 0; i < n; i++)
            relax();
        if (pthread_mutex_trylock(&shard->lock) == 0)
            return;
    }
    (void)pthread_mutex_lock(&shard->lock);
}

static inline void lock(struct shard *shard)
{
    if (pthread_mutex_trylock(&shard->lock) != 0)
        lock_taken(shard);
}

/* ---- transactions and reads ------------------------------------------------------- */

static struct shard *shard_of(struct usher_txn *txn)
{
    return (struct shard *)(void *)txn;
}

/* NULL: it never had a record of @kind. */
static struct kind *kind_of(const struct usher_scope *scope, uint8_t kind)
{
    USHER_ASSERT(scope->ref != NULL && kind < USHER_KINDS);
    return ((struct scope *)scope->ref)->kinds[kind];
}

static enum usher_status begin(struct usher_record_store *s, enum usher_noun noun,
                               const struct usher_text *scope, bool write, int64_t deadline_ms,
                               struct usher_txn **ret_txn)
{
    struct memory *m = (struct memory *)s;
    uint32_t hash = usher__table_hash(&m->shards[0].scopes[0], scope->data, scope->size);
    /* not the low bits: the tables use them */
    struct shard *shard = &m->shards[(hash >> 16) % SHARDS];

    (void)noun;
    (void)write;
    (void)deadline_ms; /* no thread holds a lock for long */
    USHER_ASSERT(shard->ready);
    lock(shard);
    shard->hash = hash;
    shard->sought_in = NULL;
    *ret_txn = (struct usher_txn *)(void *)shard;
    return USHER_OK;
}

/* Another thread cannot take it. */
static bool is_locked(struct shard *shard)
{
    return pthread_mutex_trylock(&shard->lock) != 0;
}

static enum usher_status commit(struct usher_txn *txn)
{
    USHER_ASSERT(is_locked(shard_of(txn)));
    (void)pthread_mutex_unlock(&shard_of(txn)->lock);
    return USHER_OK;
}

static void rollback(struct usher_txn *txn)
{
    USHER_ASSERT(is_locked(shard_of(txn)));
    (void)pthread_mutex_unlock(&shard_of(txn)->lock);
}

static enum usher_status __attribute__((noinline))
find_other(struct shard *shard, enum usher_noun noun, const struct usher_text *name,
           struct usher_scope *ret_scope)
{
    const struct scope *s = usher__table_find(&shard->scopes[(unsigned)noun % NOUNS], name->data,
                                              name->size, shard->hash);

    if (s == NULL)
        return USHER_MISSING;
    shard->recent = s;
    scope_show(s, ret_scope);
    return USHER_OK;
}

static enum usher_status find_scope(struct usher_txn *txn, enum usher_noun noun,
                                    const struct usher_text *name, struct usher_scope *ret_scope)
{
    const struct shard *shard = shard_of(txn);
    const struct scope *s = shard->recent;

    if (s == NULL || s->head.hash != shard->hash || s->noun != (unsigned)noun ||
        s->head.len != name->size || memcmp(s->head.bytes, name->data, name->size) != 0)
        return find_other(shard_of(txn), noun, name, ret_scope);
    scope_show(s, ret_scope);
    return USHER_OK;
}

/* In a small table nothing is far away. */
static void expect(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                   const struct usher_text *id)
{
    const struct kind *k = kind_of(scope, kind);

    (void)txn;
    if (k != NULL && usher__table_count(&k->ids) >= EXPECTED)
        __builtin_prefetch(
            usher__table_place(&k->ids, usher__table_hash(&k->ids, id->data, id->size)));
}

static enum usher_status find(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    const struct kind *k = kind_of(scope, kind);
    const struct usher__table *ids;
    const struct record *r;

    (void)txn;
    if (k == NULL)
        return USHER_MISSING;
    ids = &k->ids;
    r = usher__table_find(ids, id->data, id->size, usher__table_hash(ids, id->data, id->size));
    if (r == NULL)
        return USHER_MISSING;
    record_show(r, kind, ret_record);
    return USHER_OK;
}

static struct name *name_find(struct shard *shard, const struct names *names,
                              const struct usher_text *text)
{
    if (shard->sought_in != names || shard->sought.data != text->data ||
        shard->sought.size != text->size) {
        uint32_t hash = usher__table_hash(&names->table, text->data, text->size);

        shard->found = usher__table_find(&names->table, text->data, text->size, hash);
        shard->sought = *text;
        shard->sought_in = names;
    }
    return shard->found;
}

/* The list of slot @slot for the text @by; NULL: it is empty. */
static const struct usher__tree *list_of(struct shard *shard, const struct kind *kind, uint8_t slot,
                                         const struct usher_text *by)
{
    const struct name *name;

    if (by == NULL || usher__tree_count(&kind->slot[slot]) == 0)
        return &kind->slot[slot];
    name = name_find(shard, slot == 2 ? &kind->owners : &kind->groups, by);
    return name != NULL ? &name->list[slot == 2 ? 0 : slot] : NULL;
}

static enum usher_status walk(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    const struct kind *k = kind_of(scope, kind);
    const struct usher__tree *list = k != NULL ? list_of(shard_of(txn), k, slot, by) : NULL;
    struct usher__tree_entry entry;
    bool there;

    USHER_ASSERT(slot < USHER_SLOTS);
    if (list == NULL)
        return USHER_MISSING;
    if (!back)
        there = after_hi == 0 && after_order == 0
                    ? usher__tree_first(list, &entry)
                    : usher__tree_next(list, usher__tree_key(after_hi, after_order), &entry);
    else
        there = after_hi == UINT64_MAX
                    ? usher__tree_last(list, &entry)
                    : usher__tree_prev(list, usher__tree_key(after_hi, after_order), &entry);
    if (!there)
        return USHER_MISSING;
    if (!back && after_hi == 0) {
        /* the first one mostly leaves the list, and one who is held goes altogether */
        const char *second = usher__tree_second(list);

        if (second != NULL) {
            __builtin_prefetch(second);
            __builtin_prefetch(second + CACHE_LINE);
        }
        if (slot == 2)
            __builtin_prefetch(
                usher__table_place(&k->ids, ((const struct record *)entry.ref)->head.hash));
    }
    record_show(entry.ref, kind, ret_record);
    return USHER_OK;
}

static enum usher_status rank(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    const struct kind *k = kind_of(scope, kind);
    const struct usher__tree *list = k != NULL ? list_of(shard_of(txn), k, slot, by) : NULL;

    USHER_ASSERT(slot == 0 && by != NULL && (k == NULL || k->groups.counted));
    *ret = list != NULL ? usher__tree_rank(list, usher__tree_key(hi, order)) : 0;
    return USHER_OK;
}

/* Make the order by id of @kind.  False: no memory; it is as before. */
static bool order_by_id(struct shard *shard, struct kind *kind)
{
    uint64_t cursor = 0;
    struct record *r;

    if (!kind->unordered)
        return true;
    while ((r = usher__table_next(&kind->ids, &cursor)) != NULL) {
        struct usher_text id = text_of(&r->head);

        if (!usher__tree_reserve(&shard->pool, usher__tree_need(&kind->by_id, 1))) {
            usher__tree_done(&kind->by_id, &shard->pool);
            return false;
        }
        (void)usher__tree_insert(&kind->by_id, &shard->pool, usher__tree_probe(&id), r);
    }
    kind->unordered = false;
    return true;
}

static enum usher_status next(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    struct kind *k = ((struct scope *)scope->ref)->kinds[kind];
    const struct usher__tree *by_id;
    struct usher__tree_entry entry;

    if (k == NULL)
        return USHER_MISSING;
    if (!order_by_id(shard_of(txn), k))
        return USHER_NOMEM;
    by_id = &k->by_id;
    if (after->size == 0 ? !usher__tree_first(by_id, &entry)
                         : !usher__tree_next(by_id, usher__tree_probe(after), &entry))
        return USHER_MISSING;
    record_show(entry.ref, kind, ret_record);
    return USHER_OK;
}

/* ---- write ------------------------------------------------------------------------ */

/* The memory that one write needs, all allocated before anything is changed. */
struct plan {
    struct kind *kind;          /* NULL: it could not be made */
    struct record *record;      /* to be changed or erased; NULL: nothing to do */
    struct name *owner, *group; /* each with a reference if the record has another now */
    char *data;                 /* with the numbers that are seldom used; maybe as it is */
    const char *aside;          /* what is to be put there; NULL: it is there */
    size_t data_size;
    unsigned leaves, joins; /* slots, by bit */
    bool fresh;             /* @record is new */
    bool more;              /* it has some of the numbers that are seldom used */
};

/* Data that will replace data of the same size, kept until the old data are not needed any more. */
struct aside {
    size_t n;
    char bytes[ASIDE];
};

static struct name *__attribute__((noinline))
name_new(struct shard *shard, struct names *names, const struct usher_text *text)
{
    struct name *name;

    if (!usher__table_reserve(&names->table, 1))
        return NULL;
    name = keyed_new(shard->memory->alloc, offsetof(struct name, head), text,
                     usher__table_hash(&names->table, text->data, text->size));
    if (name == NULL)
        return NULL;
    shard->found = name;
    usher__tree_init(&name->list[0], names->counted ? usher__tree_counted : NULL);
    usher__tree_init(&name->list[1], NULL);
    (void)usher__table_insert(&names->table, name);
    return name;
}

/* The name of @text, made if need be, with a reference.  NULL: no memory. */
static struct name *name_ref(struct shard *shard, struct names *names,
                             const struct usher_text *text)
{
    struct name *name = name_find(shard, names, text);

    if (name == NULL)
        name = name_new(shard, names, text);
    if (name != NULL)
        name->refs++;
    return name;
}

/* The name that a record will carry which carries @old, or NULL.  False: no memory. */
static inline bool name_plan(struct shard *shard, struct names *names, struct name *old,
                             const struct usher_text *text, struct name **ret_name)
{
    if (text->size == 0)
        *ret_name = NULL;
    else if (old != NULL && text->data == (const char *)old->head.bytes &&
             text->size == old->head.len)
        *ret_name = old; /* as record_show() gave it */
    else
        return (*ret_name = name_ref(shard, names, text)) != NULL;
    return true;
}

static void spare_first_drop(struct shard *shard, struct names *names)
{
    struct name *name = names->first_spare;

    USHER_ASSERT(name != NULL && name->spare && names->n_spare > 0);
    names->first_spare = name->next_spare;
    if (names->first_spare == NULL)
        names->last_spare = NULL;
    names->n_spare--;
    name->spare = false;
    if (name->refs == 0) {
        (void)usher__table_erase(&names->table, name);
        (void)resize(shard->memory->alloc, name, NAME_SIZE(name->head.len), 0);
    }
}

static void name_unref(struct shard *shard, struct kind *kind, struct names *names,
                       struct name *name)
{
    size_t limit = usher__table_count(&kind->ids) / 2;

    USHER_ASSERT(name->refs > 0);
    if (--name->refs > 0 || name->spare)
        return;
    name->spare = true;
    name->next_spare = NULL;
    if (names->last_spare != NULL)
        names->last_spare->next_spare = name;
    else
        names->first_spare = name;
    names->last_spare = name;
    names->n_spare++;
    while (names->n_spare > (limit < SPARE_NAMES ? limit : SPARE_NAMES))
        spare_first_drop(shard, names);
}

/* @r carries @to from now on instead of @from, which may be the same. */
static inline void name_swap(struct shard *shard, struct kind *kind, struct names *names,
                             struct name *from, const struct name *to)
{
    if (from != to && from != NULL)
        name_unref(shard, kind, names, from);
}

/* The number of @slot's order that is not the version. */
static uint64_t hi_of(unsigned slot, uint64_t rank, int64_t until_ms)
{
    return slot == 0 ? rank : slot == 1 ? (uint64_t)until_ms : 0;
}

static struct usher__tree *name_list(struct name *owner, struct name *group, unsigned slot)
{
    if (slot == 2)
        return owner != NULL ? &owner->list[0] : NULL;
    return group != NULL ? &group->list[slot] : NULL;
}

/* The slots that @r leaves or joins, or in which it changes its place, when it becomes @to
 * as @p says. */
static unsigned moves(const struct record *r, const struct usher_record *to, const struct plan *p)
{
    unsigned either = r->slots | to->slots, slots = r->slots ^ to->slots;

    if (r->order != to->order)
        return either;
    if (r->rank != to->rank)
        slots |= 1u << 0;
    if (r->until_ms != to->until_ms)
        slots |= 1u << 1;
    if (r->group != p->group)
        slots |= 1u << 0 | 1u << 1;
    if (r->owner != p->owner)
        slots |= 1u << 2;
    return slots & either;
}

static unsigned take_bit(unsigned *bits)
{
    unsigned bit = (unsigned)__builtin_ctz(*bits);

    *bits &= *bits - 1;
    return bit;
}

/* A record to be.  NULL: no memory. */
static struct record *__attribute__((noinline))
record_new(struct shard *shard, struct kind *kind, const struct usher_text *id)
{
    /* a change may make as many as it has writes */
    if (!usher__table_reserve(&kind->ids, USHER_CHANGE_MAX))
        return NULL;
    return keyed_new(shard->memory->alloc, offsetof(struct record, head), id,
                     usher__table_hash(&kind->ids, id->data, id->size));
}

static bool has_more(const struct usher_record *r)
{
    int64_t any = 0;

    for (int i = FEW; i < USHER_NUMBERS; i++)
        any |= r->n[i];
    return any != 0;
}

/* Other data than there are: those of the same size take the place of these. */
static bool __attribute__((noinline))
data_plan_new(struct shard *shard, const struct usher_record *from, struct plan *p,
              struct aside *aside)
{
    const struct record *r = p->record;
    size_t more = p->more ? MORE_SIZE : 0;

    if (p->data_size == r->data_size && from->data.size <= ASIDE - aside->n) {
        p->aside = aside->bytes + aside->n;
        if (from->data.size != 0)
            memcpy(aside->bytes + aside->n, from->data.data, from->data.size);
        aside->n += from->data.size;
        return true;
    }
    p->data = NULL;
    if (p->data_size == 0)
        return true;
    p->data = resize(shard->memory->alloc, NULL, 0, p->data_size);
    if (p->data != NULL && from->data.size != 0)
        memcpy(p->data + more, from->data.data, from->data.size);
    return p->data != NULL;
}

/* The data with the numbers before them, which are written by apply().  Data that are still as
 * record_show() gave them stay where they are. */
static inline bool data_plan(struct shard *shard, const struct usher_record *from, struct plan *p,
                             struct aside *aside)
{
    const struct record *r = p->record;
    size_t more;

    p->more = has_more(from);
    more = p->more ? MORE_SIZE : 0;
    p->data_size = more + from->data.size;
    p->data = r->data;
    return (p->data_size == r->data_size && p->more == r->more &&
            (from->data.size == 0 || from->data.data == r->data + more)) ||
           data_plan_new(shard, from, p, aside);
}

static inline size_t lists_need(const struct kind *kind, const struct plan *p)
{
    size_t nodes = 0;

    for (unsigned slots = p->joins; slots != 0;) {
        unsigned slot = take_bit(&slots);
        const struct usher__tree *list = name_list(p->owner, p->group, slot);

        nodes += usher__tree_need(&kind->slot[slot], 1);
        if (list != NULL)
            nodes += usher__tree_need(list, 1);
    }
    return nodes;
}

/* Adds to *@nodes what the trees may need. */
static bool plan_one(struct shard *shard, struct scope *s, const struct usher_write *write,
                     struct plan *p, size_t *nodes, struct aside *aside)
{
    const struct usher_record *to = &write->record;
    struct kind *kind = kind_make(s, to->kind, shard);
    struct record *r = to->ref;
    unsigned slots;

    p->kind = kind;
    if (kind == NULL)
        return false;
    p->record = r;
    p->fresh = false;
    if (write->erase) {
        p->leaves = r != NULL ? r->slots : 0;
        return true;
    }
    if (r == NULL) {
        p->record = r = record_new(shard, kind, &to->id);
        if (r == NULL)
            return false;
        p->fresh = true;
        if (!kind->unordered)
            *nodes += usher__tree_need(&kind->by_id, 1);
    }
    p->owner = r->owner; /* for unplan() */
    p->group = r->group;
    p->data = r->data;
    p->aside = NULL;
    if (!name_plan(shard, &kind->owners, r->owner, &to->owner, &p->owner) ||
        !name_plan(shard, &kind->groups, r->group, &to->group, &p->group) ||
        !data_plan(shard, to, p, aside))
        return false;
    slots = moves(r, to, p);
    p->leaves = slots & r->slots;
    p->joins = slots & to->slots;
    *nodes += lists_need(kind, p);
    return true;
}

static void unplan(struct shard *shard, const struct usher_write *write, struct plan *p)
{
    const struct usher_allocator *alloc = shard->memory->alloc;
    struct kind *kind = p->kind;

    if (kind == NULL || p->record == NULL || write->erase)
        return;
    name_swap(shard, kind, &kind->owners, p->owner, p->record->owner);
    name_swap(shard, kind, &kind->groups, p->group, p->record->group);
    if (p->data != p->record->data)
        (void)resize(alloc, p->data, p->data_size, 0);
    if (p->fresh)
        record_free(alloc, p->record);
}

/* From here on nothing can fail: lists and records agree, and there is room. */
static inline void must(bool done)
{
    USHER_ASSERT(done);
}

static void lists_leave(struct shard *shard, struct kind *kind, const struct record *r,
                        unsigned slots)
{
    while (slots != 0) {
        unsigned slot = take_bit(&slots);
        union usher__tree_key key = usher__tree_key(hi_of(slot, r->rank, r->until_ms), r->order);
        struct usher__tree *list = name_list(r->owner, r->group, slot);

        must(usher__tree_erase(&kind->slot[slot], &shard->pool, key));
        if (list != NULL)
            must(usher__tree_erase(list, &shard->pool, key));
    }
}

static void lists_join(struct shard *shard, struct kind *kind, struct record *r, unsigned slots)
{
    while (slots != 0) {
        unsigned slot = take_bit(&slots);
        union usher__tree_key key = usher__tree_key(hi_of(slot, r->rank, r->until_ms), r->order);
        struct usher__tree *list = name_list(r->owner, r->group, slot);

        must(usher__tree_insert(&kind->slot[slot], &shard->pool, key, r) == USHER__TREE_PUT);
        if (list != NULL)
            must(usher__tree_insert(list, &shard->pool, key, r) == USHER__TREE_PUT);
    }
}

static void record_insert(struct shard *shard, struct kind *kind, struct record *r)
{
    struct usher_text id = text_of(&r->head);

    must(usher__table_insert(&kind->ids, r));
    if (!kind->unordered)
        (void)usher__tree_insert(&kind->by_id, &shard->pool, usher__tree_probe(&id), r);
}

/* glibc keeps small pieces of memory that were freed apart, and joins all there are at once when it
 * is next asked for a large one: 30 ms after 600,000.  So it is asked when they are few. */
static void join_free(struct shard *shard)
{
    const struct usher_allocator *alloc = shard->memory->alloc;

    if (++shard->erased == ERASED_MAX) {
        (void)resize(alloc, resize(alloc, NULL, 0, LARGE), LARGE, 0);
        shard->erased = 0;
    }
}

static void record_erase(struct shard *shard, struct kind *kind, struct record *r)
{
    struct usher_text id = text_of(&r->head);

    if (!kind->unordered)
        must(usher__tree_erase(&kind->by_id, &shard->pool, usher__tree_probe(&id)));
    must(usher__table_erase(&kind->ids, r));
    name_swap(shard, kind, &kind->owners, r->owner, NULL);
    name_swap(shard, kind, &kind->groups, r->group, NULL);
    record_free(shard->memory->alloc, r);
    join_free(shard);
}

static void apply(struct shard *shard, const struct usher_write *write, const struct plan *p)
{
    const struct usher_record *to = &write->record;
    struct kind *kind = p->kind;
    struct record *r = p->record;

    if (r == NULL)
        return; /* erased before it was ever stored */
    USHER_ASSERT(p->fresh || r->kind == to->kind);
    lists_leave(shard, kind, r, p->leaves);
    if (write->erase) {
        record_erase(shard, kind, r);
        return;
    }
    if (p->fresh)
        record_insert(shard, kind, r);
    name_swap(shard, kind, &kind->owners, r->owner, p->owner);
    name_swap(shard, kind, &kind->groups, r->group, p->group);
    if (r->data != p->data)
        (void)resize(shard->memory->alloc, r->data, r->data_size, 0);
    r->kind = to->kind;
    r->state = to->state;
    r->slots = to->slots;
    r->rank = to->rank;
    r->order = to->order;
    r->token = to->token;
    r->until_ms = to->until_ms;
    memcpy(r->n, to->n, sizeof r->n);
    if (p->more)
        memcpy(p->data, to->n + FEW, MORE_SIZE);
    if (p->aside != NULL)
        memcpy(p->data + (p->more ? MORE_SIZE : 0), p->aside, to->data.size);
    r->more = p->more;
    r->owner = p->owner;
    r->group = p->group;
    r->data = p->data;
    r->data_size = (uint32_t)p->data_size;
    lists_join(shard, kind, r, p->joins);
}

/* A scope to be.  NULL: no memory. */
static struct scope *scope_new(struct shard *shard, const struct usher_scope *scope)
{
    struct usher__table *scopes = &shard->scopes[scope->noun % NOUNS];

    struct scope *s;

    if (!usher__table_reserve(scopes, 1))
        return NULL;
    s = keyed_new(shard->memory->alloc, offsetof(struct scope, head), &scope->name, shard->hash);
    if (s != NULL)
        s->noun = scope->noun; /* kind_new() needs it, before the first change is made */
    return s;
}

static void scope_store(struct scope *s, const struct usher_scope *from)
{
    USHER_ASSERT(from->version >= s->version || from->epoch != s->epoch);
    s->noun = from->noun;
    s->epoch = from->epoch;
    s->version = from->version;
    s->clock_ms = from->clock_ms;
    s->due_ms = from->due_ms;
    memcpy(s->counts, from->counts, sizeof s->counts);
    memcpy(s->settings, from->settings, sizeof s->settings);
}

/* Nothing of @s is left, nor spare memory that it had. */
static void scope_erase(struct shard *shard, struct scope *s)
{
    struct usher__table *scopes = &shard->scopes[s->noun % NOUNS];

    (void)usher__table_erase(scopes, s);
    usher__table_trim(scopes);
    shard->recent = NULL;
    scope_free(s, shard);
    usher__tree_pool_trim(&shard->pool, 0);
}

/* There is no memory for a change that was planned up to here. */
static enum usher_status __attribute__((noinline))
write_nothing(struct shard *shard, const struct usher_scope *scope, struct scope *s,
              const struct usher_write *writes, struct plan *plans, size_t planned)
{
    while (planned-- > 0)
        unplan(shard, &writes[planned], &plans[planned]);
    if (scope->ref == NULL)
        scope_free(s, shard);
    return USHER_NOMEM;
}

static enum usher_status write_change(struct usher_txn *txn, struct usher_scope *scope,
                                      const struct usher_write *writes, size_t n)
{
    struct shard *shard = shard_of(txn);
    struct scope *s = scope->ref != NULL ? scope->ref : scope_new(shard, scope);
    struct plan plans[USHER_CHANGE_MAX];
    struct aside aside;
    size_t nodes = 0, planned = 0;
    bool ok = true;

    if (s == NULL)
        return USHER_NOMEM;
    USHER_ASSERT(n <= USHER_CHANGE_MAX && is_locked(shard));
    aside.n = 0;
    while (planned < n && ok) {
        ok = plan_one(shard, s, &writes[planned], &plans[planned], &nodes, &aside);
        planned++;
    }
    shard->sought_in = NULL;
    if (!ok || !usher__tree_reserve(&shard->pool, nodes))
        return write_nothing(shard, scope, s, writes, plans, planned);

    for (size_t i = 0; i < n; i++)
        apply(shard, &writes[i], &plans[i]);
    /* not before: it takes back what was reserved */
    for (size_t i = 0; i < n; i++)
        if (writes[i].erase)
            usher__table_trim(&plans[i].kind->ids);
    if (scope->erase) {
        scope_erase(shard, s);
        scope->ref = NULL;
        return USHER_OK;
    }
    scope_store(s, scope);
    if (scope->ref == NULL) {
        (void)usher__table_insert(&shard->scopes[scope->noun % NOUNS], s);
        scope->ref = s;
    }
    if (shard->pool.n / 2 > SPARE_NODES)
        usher__tree_pool_trim(&shard->pool, SPARE_NODES);
    return USHER_OK;
}

/* ---- scan ------------------------------------------------------------------------- */

static enum usher_status scan_list(const struct usher__tree *list, struct usher_entry *entry,
                                   usher_scan_fn *fn, void *payload)
{
    struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = entry };
    struct usher__tree_entry page[64];
    union usher__tree_key after = usher__tree_key(0, 0);
    size_t n;

    do {
        n = usher__tree_page(list, after.lo != 0 || after.hi != 0 ? &after : NULL, page, 64);
        for (size_t i = 0; i < n; i++) {
            enum usher_status status;

            entry->hi = page[i].hi;
            entry->order = page[i].lo;
            entry->id = text_of(&((const struct record *)page[i].ref)->head);
            status = fn(payload, &item);
            if (status != USHER_OK)
                return status;
            after = usher__tree_key(page[i].hi, page[i].lo);
        }
    } while (n == 64);
    return USHER_OK;
}

static enum usher_status scan_names(const struct usher__table *names, struct usher_entry *entry,
                                    unsigned first, unsigned last, usher_scan_fn *fn, void *payload)
{
    uint64_t cursor = 0;
    const struct name *name;

    while ((name = usher__table_next(names, &cursor)) != NULL) {
        entry->by = text_of(&name->head);
        for (unsigned slot = first; slot <= last; slot++) {
            enum usher_status status;

            entry->slot = (uint8_t)slot;
            status = scan_list(&name->list[slot - first], entry, fn, payload);
            if (status != USHER_OK)
                return status;
        }
    }
    return USHER_OK;
}

static enum usher_status scan_records(struct shard *shard, struct kind *kind, uint8_t k,
                                      usher_scan_fn *fn, void *payload)
{
    struct usher__tree_entry page[64];
    struct usher_text id = { NULL, 0 };
    union usher__tree_key after = usher__tree_probe(&id);
    bool unordered = kind->unordered;
    enum usher_status status = USHER_OK;
    size_t n;

    if (!order_by_id(shard, kind))
        return USHER_NOMEM;
    do {
        n = usher__tree_page(&kind->by_id, id.size != 0 ? &after : NULL, page, 64);
        for (size_t i = 0; i < n && status == USHER_OK; i++) {
            struct usher_record r;
            struct usher_item item = { .kind = USHER_ITEM_RECORD, .record = &r };

            record_show(page[i].ref, k, &r);
            status = fn(payload, &item);
            id = r.id;
        }
    } while (n == 64 && status == USHER_OK);
    if (unordered) {
        usher__tree_done(&kind->by_id, &shard->pool);
        kind->unordered = true;
    }
    return status;
}

static enum usher_status scan_scope(struct shard *shard, struct scope *s, bool records,
                                    usher_scan_fn *fn, void *payload)
{
    struct usher_scope shown = { .name = text_of(&s->head) };
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &shown };
    enum usher_status status;

    scope_show(s, &shown);
    status = fn(payload, &item);
    if (!records)
        return status;
    for (unsigned k = 1; k < USHER_KINDS && status == USHER_OK; k++)
        if (s->kinds[k] != NULL)
            status = scan_records(shard, s->kinds[k], (uint8_t)k, fn, payload);
    for (unsigned k = 1; k < USHER_KINDS && status == USHER_OK; k++) {
        const struct kind *kind = s->kinds[k];
        struct usher_entry entry = { .kind = (uint8_t)k };

        if (kind == NULL)
            continue;
        for (unsigned slot = 0; slot < USHER_SLOTS && status == USHER_OK; slot++) {
            entry.slot = (uint8_t)slot;
            status = scan_list(&kind->slot[slot], &entry, fn, payload);
        }
        if (status == USHER_OK)
            status = scan_names(&kind->groups.table, &entry, 0, 1, fn, payload);
        if (status == USHER_OK)
            status = scan_names(&kind->owners.table, &entry, 2, 2, fn, payload);
    }
    return status;
}

static enum usher_status scan(struct usher_record_store *store, enum usher_noun noun,
                              const struct usher_text *scope, bool records, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char line[192])
{
    struct memory *m = (struct memory *)store;
    enum usher_status status = USHER_OK;

    (void)deadline_ms;
    line[0] = '\0';
    for (unsigned i = 0; i < SHARDS && status == USHER_OK; i++) {
        struct shard *shard = &m->shards[i];

        lock(shard);
        for (unsigned k = 0; k < NOUNS && status == USHER_OK; k++) {
            uint64_t cursor = 0;
            struct scope *s;

            if ((unsigned)noun != 0 && k != (unsigned)noun)
                continue;
            while (status == USHER_OK &&
                   (s = usher__table_next(&shard->scopes[k], &cursor)) != NULL)
                if (scope == NULL || (s->head.len == scope->size &&
                                      memcmp(s->head.bytes, scope->data, scope->size) == 0))
                    status = scan_scope(shard, s, records, fn, payload);
        }
        (void)pthread_mutex_unlock(&shard->lock);
    }
    return status;
}

/* ---- open and close --------------------------------------------------------------- */

static const char *message(struct usher_record_store *s)
{
    (void)s;
    return "";
}

static void close_memory(struct usher_record_store *store)
{
    struct memory *m = (struct memory *)store;

    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &m->shards[i];

        if (!shard->ready)
            continue;
        for (unsigned k = 0; k < NOUNS; k++) {
            uint64_t cursor = 0;
            struct scope *s;

            while ((s = usher__table_next(&shard->scopes[k], &cursor)) != NULL)
                scope_free(s, shard);
            usher__table_done(&shard->scopes[k]);
        }
        usher__tree_pool_done(&shard->pool);
        (void)pthread_mutex_destroy(&shard->lock);
    }
    (void)resize(m->alloc, m->block, m->block_size, 0);
}

static const struct usher_record_store_ops ops = {
    .size = sizeof(struct usher_record_store_ops),
    .name = "memory",
    .caps = USHER_CAP_THREADS | USHER_CAP_AT_ONCE | USHER_CAP_INSTANT,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .scope = find_scope,
    .find = find,
    .walk = walk,
    .rank = rank,
    .next = next,
    .write = write_change,
    .scan = scan,
    .message = message,
    .close = close_memory,
    .forget = close_memory,
    .expect = expect,
};

/* A random seed, so that an attacker cannot choose names that fall into one bucket. */
static uint64_t random_seed(const void *salt)
{
    uint64_t seed;
    struct timespec ts;

    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)salt;
}

static enum usher_status memory_new(const struct usher_allocator *alloc,
                                    struct usher_record_store **ret_store)
{
    size_t size = sizeof(struct memory) + _Alignof(struct memory);
    char *block = resize(alloc, NULL, 0, size);
    struct memory *m;
    uint64_t seed;

    if (block == NULL)
        return USHER_NOMEM;
    m = (struct memory *)(void *)(((uintptr_t)block + _Alignof(struct memory) - 1) /
                                  _Alignof(struct memory) * _Alignof(struct memory));
    memset(m, 0, sizeof *m);
    m->base.ops = &ops;
    m->alloc = alloc;
    m->block = block;
    m->block_size = size;
    seed = random_seed(m);
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &m->shards[i];

        if (pthread_mutex_init(&shard->lock, NULL) != 0) {
            close_memory(&m->base);
            return USHER_NOMEM;
        }
        shard->ready = true;
        shard->memory = m;
        usher__tree_pool_init(&shard->pool, alloc);
        for (unsigned k = 0; k < NOUNS; k++)
            usher__table_init(&shard->scopes[k], alloc, offsetof(struct scope, head), seed);
    }
    *ret_store = &m->base;
    return USHER_OK;
}

enum usher_status usher__memory_open(void *payload, struct usher_url *url,
                                     const struct usher_options *opt, int64_t deadline_ms,
                                     struct usher_store **ret_store, char message_line[192])
{
    struct usher_record_store *records;
    enum usher_status status;

    (void)payload;
    (void)deadline_ms;
    if (url->rest[0] != '\0') {
        static const char text[] = "memory: nothing may follow the colon";

        memcpy(message_line, text, sizeof text);
        return USHER_INVALID;
    }
    status = memory_new(opt->alloc, &records);
    if (status != USHER_OK)
        return status;
    status = usher_local_store(records, opt->alloc, ret_store);
    if (status != USHER_OK)
        records->ops->close(records);
    return status;
}
