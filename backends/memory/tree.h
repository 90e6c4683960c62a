/* SPDX-License-Identifier: MIT */
/*
 * tree -- an ordered set of references to records: an index of a scope.
 *
 * A B+tree of one fixed node size, in one of two orders chosen at init:
 *
 *   by number   entries {hi, lo, ref}, ordered by (hi, lo); about 27 bytes an entry
 *   by record   entries {ref}, ordered by a comparison callback; about 9 bytes an entry
 *
 * (hi, lo), or what the callback compares, is unique in a tree.  The common work is to
 * append at the maximum and to take from either end: both touch the tree and one leaf,
 * and appending leaves full leaves.
 *
 * A tree owns its nodes and nothing else; the records belong to the caller.  A tree by
 * record reads the records it refers to: erase the entry before the record is freed
 * or its order changes; from then on the tree does not look at it.
 *
 * A tree by number may be counted (init with usher__tree_counted): it can count how many
 * entries are before a key, in O(log n), and pays for it with a way down for each insert
 * and erase, also at the ends.
 *
 * One entry (by record: three) is kept in struct usher__tree itself, without any node.
 * The struct may be moved.  No function recurses.
 *
 * Memory: only usher__tree_reserve() allocates and so only it can fail.  Inserting takes
 * nodes from the pool, erasing gives them back; usher__tree_pool_trim() frees them.
 * One pool may serve any number of trees.  No locks: the caller serialises.
 */
#ifndef USHER_MEMORY_TREE_H
#define USHER_MEMORY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

/* Words of slots in a node.  60 make 504 bytes, which malloc stores in 512.  A build
 * that wants high trees may set less, in multiples of 6 and not less than 12. */
#ifndef USHER__TREE_WORDS
#define USHER__TREE_WORDS 60
#endif

/* More than a tree of 2^39 nodes has: each level has 8 times the nodes of the one above,
 * about (see tree.c), or twice with nodes of 12 words. */
#define USHER__TREE_LEVELS 32

/* Entries kept without a node. */
#define USHER__TREE_FEW_KEYS 1u
#define USHER__TREE_FEW_REFS 3u

/* How a node's slots look, in words:
 *               leaf            inner
 *   by number   hi, lo, ref     hi, lo, child
 *   by record   ref             ref, child
 *   counted     hi, lo, ref     hi, lo, child, entries below it
 * The key of an inner slot is the smallest in the child, exactly; that of a node's first
 * slot is not kept and may be stale. */
union usher__tree_word {
    uint64_t u;
    void *p;
};

struct usher__tree_node {
    struct usher__tree_node *prev; /* the neighbours on the same level, or NULL */
    struct usher__tree_node *next; /* in the pool: the next spare node */
    uint32_t n;                    /* slots used, never 0 */
    uint16_t begin;                /* the first used slot: taking the minimum moves nothing */
    uint16_t level;                /* 0: leaf */
    union usher__tree_word word[USHER__TREE_WORDS];
};

struct usher__tree_pool {
    const struct usher_allocator *alloc;
    struct usher__tree_node *spare;
    size_t n; /* spare nodes */
};

/* The sign of @probe minus the key of the record @ref. */
typedef int usher__tree_compare_fn(const void *probe, const void *ref);

struct usher__tree {
    union {
        union usher__tree_word few[3]; /* slots as in a leaf, while count <= FEW */
        struct {
            struct usher__tree_node *root, *first, *last;
        };
    };
    uint64_t count;
    usher__tree_compare_fn *compare; /* NULL: by number; usher__tree_counted: with counts */
};

/* A key to look for: (hi, lo) in a tree by number, else the callback's @probe.
 * Made by usher__tree_key() and usher__tree_probe(). */
union usher__tree_key {
    struct {
        uint64_t hi, lo;
    };
    const void *probe;
};

struct usher__tree_entry {
    uint64_t hi, lo; /* 0 in a tree by record */
    void *ref;
};

enum usher__tree_put {
    USHER__TREE_PUT,   /* inserted */
    USHER__TREE_SAME,  /* the key is there already; nothing changed */
    USHER__TREE_SHORT, /* the pool has too few nodes; nothing changed */
};

static inline union usher__tree_key usher__tree_key(uint64_t hi, uint64_t lo)
{
    union usher__tree_key k = { { hi, lo } };

    return k;
}

static inline union usher__tree_key usher__tree_probe(const void *probe)
{
    union usher__tree_key k = { { 0, 0 } };

    k.probe = probe;
    return k;
}

/* @alloc must outlive the pool. */
void usher__tree_pool_init(struct usher__tree_pool *pool, const struct usher_allocator *alloc);

/* See to it that the pool has @n spare nodes.  False: out of memory; what could be had
 * is kept in the pool. */
bool usher__tree_reserve(struct usher__tree_pool *pool, size_t n);

/* Free all spare nodes but @keep. */
void usher__tree_pool_trim(struct usher__tree_pool *pool, size_t keep);

/* Frees the spare nodes.  Nodes still in trees are the trees'. */
void usher__tree_pool_done(struct usher__tree_pool *pool);

/* In place of a comparison: a tree by number that is counted.  It is never called. */
usher__tree_compare_fn usher__tree_counted;

/* Entries before @key, which need not be there.  For counted trees only.  Cost: O(log n). */
uint64_t usher__tree_rank(const struct usher__tree *t, union usher__tree_key key);

/* An empty tree; allocates nothing.  @compare NULL: ordered by number. */
void usher__tree_init(struct usher__tree *t, usher__tree_compare_fn *compare);

/* Free all nodes of @t, through the allocator of @pool.  The tree is empty afterwards. */
void usher__tree_done(struct usher__tree *t, struct usher__tree_pool *pool);

/* @key must be the key of @ref.  Cost: O(1) at the maximum, else O(log n). */
enum usher__tree_put usher__tree_insert(struct usher__tree *t, struct usher__tree_pool *pool,
                                        union usher__tree_key key, void *ref);

/* False: no such entry.  Cannot fail.  Cost: by number O(1) at both ends, else O(log n). */
bool usher__tree_erase(struct usher__tree *t, struct usher__tree_pool *pool,
                       union usher__tree_key key);

/* The entry of @key; the first after it; the last before it.  @key itself need not be in
 * the tree.  *@ret is written if there is one. */
bool usher__tree_find(const struct usher__tree *t, union usher__tree_key key,
                      struct usher__tree_entry *ret);
bool usher__tree_next(const struct usher__tree *t, union usher__tree_key key,
                      struct usher__tree_entry *ret);
bool usher__tree_prev(const struct usher__tree *t, union usher__tree_key key,
                      struct usher__tree_entry *ret);

/* Up to @max entries in order, beginning after *@after, or at the first if it is NULL.
 * Returns how many; fewer than @max means that the end is reached.  One search a page. */
size_t usher__tree_page(const struct usher__tree *t, const union usher__tree_key *after,
                        struct usher__tree_entry *ret, size_t max);

/* Nodes that @n inserts could take from the pool at most, if nothing is erased in
 * between: n * (levels + 1) for a command's few inserts.  Needs for several trees add up. */
static inline size_t usher__tree_need(const struct usher__tree *t, size_t n)
{
    size_t few = t->compare != NULL && t->compare != usher__tree_counted ? USHER__TREE_FEW_REFS
                                                                         : USHER__TREE_FEW_KEYS;
    size_t levels = t->count <= few ? 0 : (size_t)t->root->level + 1;

    /* A root that has been split has two children; it must get as many new ones as fill
     * it before it is split again. */
    return n * (levels + 1 + n / (USHER__TREE_WORDS / 3 - 1));
}

static inline bool usher__tree_by_record(const struct usher__tree *t)
{
    return t->compare != NULL && t->compare != usher__tree_counted;
}

static inline uint64_t usher__tree_count(const struct usher__tree *t)
{
    return t->count;
}

static inline bool usher__tree_first(const struct usher__tree *t, struct usher__tree_entry *ret)
{
    const union usher__tree_word *s = t->few;

    if (t->count == 0)
        return false;
    if (usher__tree_by_record(t)) {
        if (t->count > USHER__TREE_FEW_REFS)
            s = t->first->word + t->first->begin;
        *ret = (struct usher__tree_entry){ 0, 0, s[0].p };
    } else {
        if (t->count > USHER__TREE_FEW_KEYS)
            s = t->first->word + (size_t)t->first->begin * 3;
        *ret = (struct usher__tree_entry){ s[0].u, s[1].u, s[2].p };
    }
    return true;
}

/* The record of the second entry; NULL: there is none, or it is not in the first node. */
static inline const void *usher__tree_second(const struct usher__tree *t)
{
    const struct usher__tree_node *x = t->first;

    if (t->compare != NULL && t->compare != usher__tree_counted)
        return NULL;
    if (t->count <= USHER__TREE_FEW_KEYS || x->n < 2)
        return NULL;
    return x->word[(size_t)x->begin * 3 + 5].p;
}

static inline bool usher__tree_last(const struct usher__tree *t, struct usher__tree_entry *ret)
{
    const union usher__tree_word *s;

    if (t->count == 0)
        return false;
    if (usher__tree_by_record(t)) {
        s = t->count > USHER__TREE_FEW_REFS
                ? t->last->word + (size_t)t->last->begin + t->last->n - 1
                : t->few + t->count - 1;
        *ret = (struct usher__tree_entry){ 0, 0, s[0].p };
    } else {
        s = t->count > USHER__TREE_FEW_KEYS
                ? t->last->word + ((size_t)t->last->begin + t->last->n - 1) * 3
                : t->few;
        *ret = (struct usher__tree_entry){ s[0].u, s[1].u, s[2].p };
    }
    return true;
}

#endif
