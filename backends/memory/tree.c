/* SPDX-License-Identifier: MIT */
/*
 * tree -- see tree.h for the idea and the layout of nodes.
 *
 * One body of code serves both orders: the functions marked TEMPLATE take the order as
 * @text, a constant, and are compiled once for each value.
 *
 * Shape.  All leaves are on level 0.  Every node but the first and the last of its level
 * is filled to two fifths at least.  Those two may hold a single slot, so that taking from
 * the ends needs no repair and an append makes one node with one slot beside a full one.
 * An inner node that loses a child is repaired at the ends, too: a drained tree gets low.
 *
 * Why trees are low: below the root, whose children are two at least, a level of two nodes
 * only has at most one that is filled less than that.  For a split leaves the other one
 * full or half full, and when it then loses children the two are merged or levelled.  So
 * the next level has 9 nodes or more, and from there on each has 8 times the nodes that
 * the one above has between its ends.
 *
 * Exact separators: when the smallest entry of a leaf goes, the key above it is replaced.
 * Else a tree by record would compare with a freed record.
 */
#include "config.h"

#include <string.h>

#include "tree_node.h"

#define NOINLINE __attribute__((noinline))

/* Never called: its address says that a tree by number is counted. */
int usher__tree_counted(const void *probe, const void *ref)
{
    (void)probe;
    (void)ref;
    return 0;
}

/* ---- nodes ---- */

void usher__tree_pool_init(struct usher__tree_pool *pool, const struct usher_allocator *alloc)
{
    pool->alloc = alloc;
    pool->spare = NULL;
    pool->n = 0;
}

bool usher__tree_reserve(struct usher__tree_pool *pool, size_t n)
{
    while (pool->n < n) {
        node *x = pool->alloc->resize(pool->alloc->payload, NULL, 0, sizeof *x);

        if (x == NULL)
            return false;
        x->next = pool->spare;
        pool->spare = x;
        pool->n++;
    }
    return true;
}

static void node_free(struct usher__tree_pool *pool, node *x)
{
    pool->alloc->resize(pool->alloc->payload, x, sizeof *x, 0);
}

void usher__tree_pool_trim(struct usher__tree_pool *pool, size_t keep)
{
    while (pool->n > keep) {
        node *x = pool->spare;

        pool->spare = x->next;
        pool->n--;
        node_free(pool, x);
    }
}

void usher__tree_pool_done(struct usher__tree_pool *pool)
{
    usher__tree_pool_trim(pool, 0);
}

/* The pool is not empty: insert() has counted. */
static inline node *node_take(struct usher__tree_pool *pool, unsigned level)
{
    node *x = pool->spare;

    USHER_ASSERT(x != NULL && pool->n > 0);
    pool->spare = x->next;
    pool->n--;
    x->prev = x->next = NULL;
    x->n = 0;
    x->begin = 0;
    x->level = (uint16_t)level;
    return x;
}

static inline void node_give(struct usher__tree_pool *pool, node *x)
{
#ifdef USHER_HOSTILE
    memset(x, 0xdd, sizeof *x);
#endif
    x->next = pool->spare;
    pool->spare = x;
    pool->n++;
}

static void node_link_after(struct usher__tree *t, node *x, node *y)
{
    y->prev = x;
    y->next = x->next;
    if (y->next != NULL)
        y->next->prev = y;
    else if (y->level == 0)
        t->last = y;
    x->next = y;
}

static void node_unlink(struct usher__tree *t, const node *x)
{
    if (x->prev != NULL)
        x->prev->next = x->next;
    else if (x->level == 0)
        t->first = x->next;
    if (x->next != NULL)
        x->next->prev = x->prev;
    else if (x->level == 0)
        t->last = x->prev;
}

/* Along the levels, not down the children: this needs no stack. */
static void nodes_free(struct usher__tree *t, struct usher__tree_pool *pool, bool to_pool)
{
    node *x, *next, *down;

    for (down = t->root; down != NULL;) {
        x = down;
        down = x->level == 0 ? NULL : child(x, mode_of(t), 0);
        for (; x != NULL; x = next) {
            next = x->next;
            if (to_pool)
                node_give(pool, x);
            else
                node_free(pool, x);
        }
    }
}

void usher__tree_init(struct usher__tree *t, usher__tree_compare_fn *compare)
{
    memset(t, 0, sizeof *t);
    t->compare = compare;
}

void usher__tree_done(struct usher__tree *t, struct usher__tree_pool *pool)
{
    if (!is_few(t, mode_of(t)))
        nodes_free(t, pool, false);
    usher__tree_init(t, t->compare);
}

/* ---- search ---- */

/* Start to load all of @x at once: a search would wait for it line by line. */
TEMPLATE void node_prefetch(const node *x)
{
    const char *p = (const char *)x;
    size_t i;

    for (i = 0; i < sizeof *x; i += 64)
        __builtin_prefetch(p + i);
}

/* Down to the leaf where @k is or would be.  @path may be NULL. */
TEMPLATE node *descend(const struct usher__tree *t, enum mode mode, key k, struct path *path)
{
    node *x = t->root;
    bool same;

    while (x->level > 0) {
        unsigned i = node_rank(t, mode, x, 1, k, 1, true, &same) - 1;

        if (path != NULL) {
            path->node[x->level] = x;
            path->at[x->level] = i;
        }
        x = child(x, mode, i);
        if (mode != BY_RECORD)
            node_prefetch(x);
    }
    if (path != NULL)
        path->node[0] = x;
    return x;
}

TEMPLATE node *descend_last(const struct usher__tree *t, enum mode mode, struct path *path)
{
    node *x = t->root;

    while (x->level > 0) {
        path->node[x->level] = x;
        path->at[x->level] = x->n - 1;
        x = child(x, mode, x->n - 1);
    }
    path->node[0] = x;
    return x;
}

/* The number of entries kept without nodes that are before @k, or are @k if @or_equal. */
TEMPLATE unsigned few_rank(const struct usher__tree *t, enum mode mode, key k, bool or_equal,
                           bool *ret_same)
{
    unsigned i, w = slot_words(mode, 0);

    for (i = 0; i < t->count; i++) {
        int c = slot_compare(t, mode, t->few + (size_t)i * w, k);

        if (c == 0)
            *ret_same = true;
        if (c < 0 || (c == 0 && !or_equal))
            break;
    }
    return i;
}

TEMPLATE bool tree_find(const struct usher__tree *t, enum mode mode, key k,
                        struct usher__tree_entry *ret)
{
    const word *s;
    unsigned i;
    bool same = false;

    if (is_few(t, mode)) {
        i = few_rank(t, mode, k, false, &same);
        s = t->few + (size_t)i * slot_words(mode, 0);
    } else {
        const node *x = descend(t, mode, k, NULL);

        i = node_rank(t, mode, x, 0, k, 0, false, &same);
        s = x->word + (size_t)(x->begin + i) * slot_words(mode, 0);
    }
    if (same)
        entry_get(mode, s, ret);
    return same;
}

bool usher__tree_find(const struct usher__tree *t, key k, struct usher__tree_entry *ret)
{
    return EACH_MODE(t, tree_find, k, ret);
}

TEMPLATE size_t tree_page(const struct usher__tree *t, enum mode mode, const key *after,
                          struct usher__tree_entry *ret, size_t max)
{
    const unsigned w = slot_words(mode, 0);
    const node *x;
    unsigned i = 0;
    size_t got = 0;
    bool same;

    if (is_few(t, mode)) {
        if (after != NULL)
            i = few_rank(t, mode, *after, true, &same);
        for (; i < t->count && got < max; i++)
            entry_get(mode, t->few + (size_t)i * w, &ret[got++]);
        return got;
    }
    x = t->first;
    if (after != NULL) {
        x = descend(t, mode, *after, NULL);
        i = node_rank(t, mode, x, 0, *after, 0, true, &same);
    }
    for (; x != NULL && got < max; x = x->next, i = 0) {
        const word *s = x->word + (size_t)x->begin * w;

        for (; i < x->n && got < max; i++)
            entry_get(mode, s + (size_t)i * w, &ret[got++]);
    }
    return got;
}

size_t usher__tree_page(const struct usher__tree *t, const key *after,
                        struct usher__tree_entry *ret, size_t max)
{
    return EACH_MODE(t, tree_page, after, ret, max);
}

bool usher__tree_next(const struct usher__tree *t, key k, struct usher__tree_entry *ret)
{
    return usher__tree_page(t, &k, ret, 1) == 1;
}

TEMPLATE bool tree_prev(const struct usher__tree *t, enum mode mode, key k,
                        struct usher__tree_entry *ret)
{
    const word *s;
    unsigned i;
    bool same;

    if (is_few(t, mode)) {
        i = few_rank(t, mode, k, false, &same);
        s = t->few;
    } else {
        const node *x = descend(t, mode, k, NULL);

        i = node_rank(t, mode, x, 0, k, 0, false, &same);
        if (i == 0) {
            x = x->prev;
            if (x == NULL)
                return false;
            i = x->n;
        }
        s = x->word + (size_t)x->begin * slot_words(mode, 0);
    }
    if (i == 0)
        return false;
    entry_get(mode, s + (size_t)(i - 1) * slot_words(mode, 0), ret);
    return true;
}

bool usher__tree_prev(const struct usher__tree *t, key k, struct usher__tree_entry *ret)
{
    return EACH_MODE(t, tree_prev, k, ret);
}

/* ---- insert ---- */

/* How many of the slots of @x, which is full, and of the new one at @at stay in @x. */
TEMPLATE unsigned split_point(const node *x, enum mode mode, unsigned at)
{
    unsigned max = slots_max(mode, x->level);

    /* Growth at an end of the tree leaves a full node.  At the front, an inner node grows after its
     * first slot. */
    if (at == max && x->next == NULL)
        return max;
    if (at <= (x->level > 0) && x->prev == NULL)
        return 1;
    /* Growth at the end of a run of keys: leave as full a node as the rule allows. */
    if (at == max)
        return max + 1 - slots_min(mode, x->level);
    return (max + 1) / 2;
}

/* Insert a slot into @x, which is full, and split it.  Returns the new right half. */
TEMPLATE node *node_split(struct usher__tree *t, struct usher__tree_pool *pool, enum mode mode,
                          node *x, unsigned at, const word *s)
{
    unsigned keep = split_point(x, mode, at), w = slot_words(mode, x->level);
    node *y = node_take(pool, x->level);

    node_link_after(t, x, y);
    slots_to_right(x, y, mode, x->n - keep + (at < keep));
    if (x->n == 0)
        x->begin = (uint16_t)slots_max(mode, x->level); /* room in front */
    if (at < keep)
        memcpy(slot_open(x, mode, at), s, w * sizeof *s);
    else
        memcpy(slot_open(y, mode, at - keep), s, w * sizeof *s);
    return y;
}

/* Insert at @at of the leaf at the end of @path, which is full. */
TEMPLATE enum usher__tree_put insert_splitting(struct usher__tree *t, struct usher__tree_pool *pool,
                                               enum mode mode, struct path *path, unsigned at,
                                               const word *leaf_slot)
{
    unsigned level = 0, top = t->root->level;
    size_t need = 0;
    word s[4];
    node *x, *y;

    /* the path has a node for each level up to the root's */
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    while (need <= top && path->node[need]->n == slots_max(mode, need > 0))
        need++;
    if (need > top)
        need++;
    if (pool->n < need)
        return USHER__TREE_SHORT;

    memcpy(s, leaf_slot, slot_words(mode, 0) * sizeof *s);
    for (;;) {
        x = path->node[level];
        if (x->n < slots_max(mode, level > 0)) {
            memcpy(slot_open(x, mode, at), s, slot_words(mode, 1) * sizeof *s);
            path_count(t, mode, path, level + 1, 1);
            break;
        }
        y = node_split(t, pool, mode, x, at, s);
        slot_key_set(s, mode, slot(y, mode, 0));
        s[key_words(mode)].p = y;
        if (mode == COUNTED)
            s[COUNT_WORD].u = node_count(y);
        if (level < top)
            slot_count(path->node[level + 1], mode, path->at[level + 1]);
        if (level == top) {
            node *root = node_take(pool, top + 1);
            word *r = root->word;

            memcpy(r, s, slot_words(mode, 1) * sizeof *s); /* the key is never read */
            r[key_words(mode)].p = x;
            memcpy(r + slot_words(mode, 1), s, slot_words(mode, 1) * sizeof *s);
            root->n = 2;
            slot_count(root, mode, 0);
            t->root = root;
            break;
        }
        level++;
        at = path->at[level] + 1;
    }
    t->count++;
    return USHER__TREE_PUT;
}

TEMPLATE enum usher__tree_put insert_few(struct usher__tree *t, struct usher__tree_pool *pool,
                                         enum mode mode, key k, void *ref)
{
    unsigned w = slot_words(mode, 0), n = (unsigned)t->count, i;
    bool same = false;
    word *s = t->few;
    node *x;

    i = few_rank(t, mode, k, false, &same);
    if (same)
        return USHER__TREE_SAME;
    if (n == few_max(mode)) {
        if (pool->n == 0)
            return USHER__TREE_SHORT;
        x = node_take(pool, 0);
        memcpy(x->word, t->few, (size_t)n * w * sizeof *s);
        x->n = n;
        s = slot_open(x, mode, i);
        t->root = t->first = t->last = x;
    } else {
        s += (size_t)i * w;
        memmove(s + w, s, (size_t)(n - i) * w * sizeof *s);
    }
    entry_put(mode, s, k, ref);
    t->count++;
    return USHER__TREE_PUT;
}

TEMPLATE enum usher__tree_put tree_insert(struct usher__tree *t, struct usher__tree_pool *pool,
                                          enum mode mode, key k, void *ref)
{
    struct path path;
    word s[3];
    node *x;
    unsigned at;
    bool same = false;

    if (is_few(t, mode))
        return insert_few(t, pool, mode, k, ref);

    x = t->last;
    at = x->n;
    if (slot_compare(t, mode, slot(x, mode, at - 1), k) > 0) {
        if (mode == COUNTED || at == slots_max(mode, 0))
            descend_last(t, mode, &path);
    } else {
        x = descend(t, mode, k, &path);
        at = node_rank(t, mode, x, 0, k, 0, false, &same);
        if (same)
            return USHER__TREE_SAME;
    }
    if (x->n == slots_max(mode, 0)) {
        entry_put(mode, s, k, ref);
        return insert_splitting(t, pool, mode, &path, at, s);
    }
    entry_put(mode, slot_open(x, mode, at), k, ref);
    path_count(t, mode, &path, 1, 1);
    t->count++;
    return USHER__TREE_PUT;
}

static enum usher__tree_put NOINLINE insert_any(struct usher__tree *t,
                                                struct usher__tree_pool *pool, key k, void *ref)
{
    switch (mode_of(t)) {
    case BY_NUMBER:
        return tree_insert(t, pool, BY_NUMBER, k, ref);
    case BY_RECORD:
        return tree_insert(t, pool, BY_RECORD, k, ref);
    default:
        return tree_insert(t, pool, COUNTED, k, ref);
    }
}

/* The common case, apart from the rest, which needs all registers: append to a leaf that has space.
 * By number only. */
static inline bool append(struct usher__tree *t, key k, void *ref)
{
    word *s = t->few;

    if (t->count != 0) {
        node *x = t->last;

        if (is_few(t, BY_NUMBER) || x->begin + x->n == slots_max(BY_NUMBER, 0) ||
            slot_compare(t, BY_NUMBER, slot(x, BY_NUMBER, x->n - 1), k) <= 0)
            return false;
        s = slot(x, BY_NUMBER, x->n++);
    }
    entry_put(BY_NUMBER, s, k, ref);
    t->count++;
    return true;
}

enum usher__tree_put usher__tree_insert(struct usher__tree *t, struct usher__tree_pool *pool, key k,
                                        void *ref)
{
    if (t->compare == NULL && append(t, k, ref))
        return USHER__TREE_PUT;
    return insert_any(t, pool, k, ref);
}

/* ---- erase ---- */

/* The first slot of the leaf of @path has become another: correct the key above it. */
TEMPLATE void separator_correct(const struct usher__tree *t, enum mode mode, struct path *path)
{
    unsigned level;

    for (level = 1; level <= t->root->level; level++) {
        if (path->at[level] > 0) {
            slot_key_set(slot(path->node[level], mode, path->at[level]), mode,
                         slot(path->node[0], mode, 0));
            break;
        }
    }
}

/* Merge the @i-th child of @p with the one before it, or level the two.  True: merged. */
TEMPLATE bool node_repair(struct usher__tree *t, struct usher__tree_pool *pool, enum mode mode,
                          node *p, unsigned i)
{
    node *x = child(p, mode, i - 1), *y = child(p, mode, i);
    unsigned sum = x->n + y->n;
    word *sep = slot(p, mode, i);

    if (x->level > 0)
        slot_key_set(slot(y, mode, 0), mode, sep);
    if (sum <= slots_max(mode, x->level) * 4 / 5) {
        slots_to_left(x, y, mode, y->n);
        node_unlink(t, y);
        node_give(pool, y);
        slot_close(p, mode, i);
        slot_count(p, mode, i - 1);
        return true;
    }
    if (x->n < y->n)
        slots_to_left(x, y, mode, sum / 2 - x->n);
    else
        slots_to_right(x, y, mode, sum / 2 - y->n);
    slot_key_set(sep, mode, slot(y, mode, 0));
    slot_count(p, mode, i - 1);
    slot_count(p, mode, i);
    return false;
}

/* A slot of the leaf of @path is gone: restore the shape, upwards. */
TEMPLATE void tree_repair(struct usher__tree *t, struct usher__tree_pool *pool, enum mode mode,
                          struct path *path)
{
    unsigned level;
    node *x, *p;

    for (level = 0;; level++) {
        x = path->node[level];
        if (x == t->root) {
            /* Its child has two at least, see the file's head. */
            if (x->level > 0 && x->n == 1) {
                t->root = child(x, mode, 0);
                node_give(pool, x);
            }
            break;
        }
        /* the path has every level.  NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
        p = path->node[level + 1];
        if (x->n == 0) { /* the first or last of its level: no key above changes */
            node_unlink(t, x);
            node_give(pool, x);
            slot_close(p, mode, path->at[level + 1]);
            continue;
        }
        if (x->n >= slots_min(mode, level) || p->n == 1 ||
            (level == 0 && (x->prev == NULL || x->next == NULL)))
            break;
        if (!node_repair(t, pool, mode, p, path->at[level + 1] + (path->at[level + 1] == 0)))
            break;
    }
}

/* So few entries are left that they need no node. */
TEMPLATE void tree_shrink_to_few(struct usher__tree *t, struct usher__tree_pool *pool,
                                 enum mode mode)
{
    unsigned w = slot_words(mode, 0);
    word few[3];
    size_t got = 0;
    const node *x;

    for (x = t->first; x != NULL; x = x->next) {
        memcpy(few + got, x->word + (size_t)x->begin * w, (size_t)x->n * w * sizeof *few);
        got += (size_t)x->n * w;
    }
    nodes_free(t, pool, true);
    memcpy(t->few, few, got * sizeof *few);
}

TEMPLATE bool erase_few(struct usher__tree *t, enum mode mode, key k)
{
    unsigned w = slot_words(mode, 0), i;
    bool same = false;
    word *s = t->few;

    i = few_rank(t, mode, k, false, &same);
    if (!same)
        return false;
    t->count--;
    s += (size_t)i * w;
    memmove(s, s + w, (size_t)(t->count - i) * w * sizeof *s);
    return true;
}

TEMPLATE bool tree_erase(struct usher__tree *t, struct usher__tree_pool *pool, enum mode mode,
                         key k)
{
    struct path path;
    node *x;
    unsigned at;
    bool same = false;

    if (is_few(t, mode))
        return erase_few(t, mode, k);

    x = descend(t, mode, k, &path);
    at = node_rank(t, mode, x, 0, k, 0, false, &same);
    if (!same)
        return false;
    slot_close(x, mode, at);
    path_count(t, mode, &path, 1, UINT64_MAX);
    t->count--;
    if (is_few(t, mode)) {
        tree_shrink_to_few(t, pool, mode);
        return true;
    }
    if (at == 0 && x->n > 0)
        separator_correct(t, mode, &path);
    if (x->n < slots_min(mode, 0))
        tree_repair(t, pool, mode, &path);
    return true;
}

/* The first one of a counted tree: the way down is known, and no key above it changes. */
static bool erase_first_counted(struct usher__tree *t, key k)
{
    node *x;

    if (t->count <= few_max(COUNTED) + 1)
        return false;
    x = t->first;
    if (x->n == 1 || slot_compare(t, COUNTED, slot(x, COUNTED, 0), k) != 0)
        return false;
    for (node *p = t->root; p->level > 0; p = child(p, COUNTED, 0))
        slot(p, COUNTED, 0)[COUNT_WORD].u--;
    x->begin++;
    x->n--;
    t->count--;
    return true;
}

static bool NOINLINE erase_any(struct usher__tree *t, struct usher__tree_pool *pool, key k)
{
    switch (mode_of(t)) {
    case BY_NUMBER:
        return tree_erase(t, pool, BY_NUMBER, k);
    case BY_RECORD:
        return tree_erase(t, pool, BY_RECORD, k);
    default:
        return erase_first_counted(t, k) || tree_erase(t, pool, COUNTED, k);
    }
}

/* Likewise: at either end, without a search.  By record it would cost each erase two
 * comparisons, that is two records to load. */
static inline bool erase_end(struct usher__tree *t, key k)
{
    node *x;

    if (t->count <= few_max(BY_NUMBER) + 1) {
        if (t->count != 1 || slot_compare(t, BY_NUMBER, t->few, k) != 0)
            return false;
        t->count = 0;
        return true;
    }
    x = t->first;
    if (x->n > 1 && slot_compare(t, BY_NUMBER, slot(x, BY_NUMBER, 0), k) == 0) {
        x->begin++;
    } else {
        x = t->last;
        if (x->n == 1 || slot_compare(t, BY_NUMBER, slot(x, BY_NUMBER, x->n - 1), k) != 0)
            return false;
    }
    x->n--;
    t->count--;
    return true;
}

bool usher__tree_erase(struct usher__tree *t, struct usher__tree_pool *pool, key k)
{
    if (t->compare == NULL && erase_end(t, k))
        return true;
    return erase_any(t, pool, k);
}

/* ---- rank ---- */

uint64_t usher__tree_rank(const struct usher__tree *t, key k)
{
    uint64_t before = 0;
    const node *x;
    bool same;

    USHER_ASSERT(mode_of(t) == COUNTED);
    if (is_few(t, COUNTED))
        return few_rank(t, COUNTED, k, false, &same);
    x = t->last;
    if (slot_compare(t, COUNTED, slot_const(x, COUNTED, x->n - 1), k) > 0)
        return t->count; /* one who comes last: most do */
    for (x = t->root; x->level > 0;) {
        unsigned i = node_rank(t, COUNTED, x, 1, k, 1, true, &same) - 1;

        for (unsigned j = 0; j < i; j++)
            before += slot_const(x, COUNTED, j)[COUNT_WORD].u;
        x = child(x, COUNTED, i);
    }
    return before + node_rank(t, COUNTED, x, 0, k, 0, false, &same);
}
