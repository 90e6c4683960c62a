/* SPDX-License-Identifier: MIT */
/* The scopes and records of the store `memory:` (memory.c), for its transactions and its writes. */
#ifndef USHER_MEMORY_SHARDS_H
#define USHER_MEMORY_SHARDS_H

#include <usher/store/store.h>

#include <pthread.h>
#include <string.h>

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

/* The names of all scopes of a noun in order, for list().  A thread that has a shard may take the
 * lock; a thread that has the lock takes no shard. */
struct order {
    pthread_mutex_t lock;
    bool ready;
    struct usher__tree_pool pool;
    struct usher__tree names; /* of struct scope */
};

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
    struct order orders[NOUNS];
    struct shard shards[SHARDS];
};

static inline void *resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

static inline struct usher_text text_of(const struct usher__table_head *head)
{
    struct usher_text text = { (const char *)head->bytes, head->len };

    return text;
}

/* An object of @size bytes, followed by its key. */
static inline size_t keyed_size(size_t offset, size_t len)
{
    return offset + sizeof(struct usher__table_head) + len;
}

#define SCOPE_SIZE(len) keyed_size(offsetof(struct scope, head), len)
#define RECORD_SIZE(len) keyed_size(offsetof(struct record, head), len)
#define NAME_SIZE(len) keyed_size(offsetof(struct name, head), len)

static inline void record_free(const struct usher_allocator *alloc, struct record *r)
{
    (void)resize(alloc, r->data, r->data_size, 0);
    (void)resize(alloc, r, RECORD_SIZE(r->head.len), 0);
}

static inline void scope_show(const struct scope *from, struct usher_scope *to)
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

static inline void record_show(const struct record *from, uint8_t kind, struct usher_record *to)
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

static inline struct shard *shard_of(struct usher_txn *txn)
{
    return (struct shard *)(void *)txn;
}

/* NULL: it never had a record of @kind. */
static inline struct kind *kind_of(const struct usher_scope *scope, uint8_t kind)
{
    USHER_ASSERT(scope->ref != NULL && kind < USHER_KINDS);
    return ((struct scope *)scope->ref)->kinds[kind];
}

/* Another thread cannot take it. */
static inline bool is_locked(struct shard *shard)
{
    return pthread_mutex_trylock(&shard->lock) != 0;
}

static inline struct name *name_find(struct shard *shard, const struct names *names,
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

/* Return the sign of a text against the name of a scope, in byte order. */
int usher__memory_compare_scope(const void *probe, const void *ref);

/* Free @s with its records. */
void usher__memory_scope_free(struct scope *s, struct shard *shard);

/* The function `write` of the store. */
enum usher_status usher__memory_write(struct usher_txn *txn, struct usher_scope *scope,
                                      const struct usher_write *writes, size_t n);

#endif
