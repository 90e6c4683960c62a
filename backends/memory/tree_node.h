/* SPDX-License-Identifier: MIT */
/* The slots in a node of a tree (tree.h), by the order of the tree.  For tree.c only. */
#ifndef USHER_MEMORY_TREE_NODE_H
#define USHER_MEMORY_TREE_NODE_H

#include <string.h>

#include "tree.h"

#define TEMPLATE static inline __attribute__((always_inline))

_Static_assert(USHER__TREE_WORDS >= 12 && USHER__TREE_WORDS % 6 == 0, "slots fill a node");
_Static_assert(sizeof(struct usher__tree) <= 40, "an empty tree is small");

/* The order, and whether the subtrees are counted. */
enum mode { BY_NUMBER, BY_RECORD, COUNTED };

/* Reading does not mind the counts, but for where the slots are. */
#define EACH_MODE(t, function, ...)                                  \
    (mode_of(t) == BY_NUMBER   ? function(t, BY_NUMBER, __VA_ARGS__) \
     : mode_of(t) == BY_RECORD ? function(t, BY_RECORD, __VA_ARGS__) \
                               : function(t, COUNTED, __VA_ARGS__))

typedef struct usher__tree_node node;
typedef union usher__tree_word word;
typedef union usher__tree_key key;

/* The place of the count in a slot that has one. */
#define COUNT_WORD 3

/* The way from the root to a leaf, by level; at: the child taken (level 0: unused). */
struct path {
    node *node[USHER__TREE_LEVELS];
    unsigned at[USHER__TREE_LEVELS];
};

/* Words of a slot, and of the key in it. */
TEMPLATE unsigned slot_words(enum mode mode, unsigned level)
{
    if (mode == BY_RECORD)
        return level == 0 ? 1 : 2;
    return mode == COUNTED && level > 0 ? 4 : 3;
}

static inline enum mode mode_of(const struct usher__tree *t)
{
    return t->compare == NULL ? BY_NUMBER : t->compare == usher__tree_counted ? COUNTED : BY_RECORD;
}

TEMPLATE unsigned key_words(enum mode mode)
{
    return mode == BY_RECORD ? 1 : 2;
}

TEMPLATE unsigned slots_max(enum mode mode, unsigned level)
{
    return USHER__TREE_WORDS / slot_words(mode, level);
}

TEMPLATE unsigned slots_min(enum mode mode, unsigned level)
{
    unsigned least = slots_max(mode, level) * 2 / 5;

    return least < 2 ? 2 : least;
}

TEMPLATE unsigned few_max(enum mode mode)
{
    return mode == BY_RECORD ? USHER__TREE_FEW_REFS : USHER__TREE_FEW_KEYS;
}

TEMPLATE bool is_few(const struct usher__tree *t, enum mode mode)
{
    return t->count <= few_max(mode);
}

TEMPLATE const word *slot_const(const node *x, enum mode mode, unsigned i)
{
    return x->word + (size_t)(x->begin + i) * slot_words(mode, x->level);
}

TEMPLATE word *slot(node *x, enum mode mode, unsigned i)
{
    return x->word + (size_t)(x->begin + i) * slot_words(mode, x->level);
}

TEMPLATE node *child(const node *x, enum mode mode, unsigned i)
{
    return slot_const(x, mode, i)[key_words(mode)].p;
}

TEMPLATE void slot_key_set(word *s, enum mode mode, const word *from)
{
    memcpy(s, from, key_words(mode) * sizeof *s);
}

/* The sign of @k minus the key of @s. */
TEMPLATE int slot_compare(const struct usher__tree *t, enum mode mode, const word *s, key k)
{
    if (mode == BY_RECORD)
        return t->compare(k.probe, s->p);
    if (s[0].u != k.hi)
        return k.hi < s[0].u ? -1 : 1;
    return (k.lo > s[1].u) - (k.lo < s[1].u);
}

TEMPLATE void entry_get(enum mode mode, const word *s, struct usher__tree_entry *ret)
{
    if (mode == BY_RECORD)
        *ret = (struct usher__tree_entry){ 0, 0, s[0].p };
    else
        *ret = (struct usher__tree_entry){ s[0].u, s[1].u, s[2].p };
}

TEMPLATE void entry_put(enum mode mode, word *s, key k, void *ref)
{
    if (mode == BY_RECORD) {
        s[0].p = ref;
    } else {
        s[0].u = k.hi;
        s[1].u = k.lo;
        s[2].p = ref;
    }
}

/* The entries below @x, from the counts of its slots. */
static uint64_t node_count(const node *x)
{
    uint64_t n = 0;

    if (x->level == 0)
        return x->n;
    for (unsigned i = 0; i < x->n; i++)
        n += slot_const(x, COUNTED, i)[COUNT_WORD].u;
    return n;
}

/* The entries below the @i-th child of @p have changed: count them again. */
TEMPLATE void slot_count(node *p, enum mode mode, unsigned i)
{
    if (mode == COUNTED)
        slot(p, mode, i)[COUNT_WORD].u = node_count(child(p, mode, i));
}

/* One entry more (@by 1) or less (-1) in the leaf of @path, on the levels from @level up. */
TEMPLATE void path_count(const struct usher__tree *t, enum mode mode, struct path *path,
                         unsigned level, uint64_t by)
{
    if (mode == COUNTED)
        for (; level <= t->root->level; level++)
            /* the path has every level.  NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
            slot(path->node[level], mode, path->at[level])[COUNT_WORD].u += by;
}

/* ---- slots of a node ---- */

/* The number of slots of @x whose key is before @k, or is @k if @or_equal; the first
 * @from slots count unseen.  *@ret_same is set if @k was met. */
TEMPLATE unsigned node_rank(const struct usher__tree *t, enum mode mode, const node *x,
                            unsigned level, key k, unsigned from, bool or_equal, bool *ret_same)
{
    unsigned w = slot_words(mode, level), i = from, len = x->n - from, half;
    const word *s = x->word + (size_t)x->begin * w, *m;

    if (mode == BY_RECORD) {
        while (len > 0) {
            int c;

            half = len / 2;
            c = slot_compare(t, BY_RECORD, s + (size_t)(i + half) * w, k);
            if (c == 0) {
                *ret_same = true;
                return i + half + or_equal;
            }
            if (c > 0) {
                i += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        return i;
    }
    /* No branch depends on a key: each would be mispredicted half the time. */
    while (len > 0) {
        unsigned below;

        half = len > 1 ? len / 2 : 1;
        m = s + (size_t)(i + half - 1) * w;
        below = (unsigned)(m[0].u < k.hi) |
                ((unsigned)(m[0].u == k.hi) &
                 (or_equal ? (unsigned)(m[1].u <= k.lo) : (unsigned)(m[1].u < k.lo)));
        i += below ? half : 0;
        len -= half;
    }
    if (!or_equal && i < x->n && slot_compare(t, BY_NUMBER, s + (size_t)i * w, k) == 0)
        *ret_same = true;
    return i;
}

/* Make room for a slot at @at of @x, which is not full; the shorter side moves. */
TEMPLATE word *slot_open(node *x, enum mode mode, unsigned at)
{
    unsigned w = slot_words(mode, x->level), max = slots_max(mode, x->level);
    word *s = x->word + (size_t)x->begin * w;
    bool at_end = x->begin + x->n == max;

    if (x->begin == 0 || (at * 2 >= x->n && !at_end)) {
        if (at == 0 && x->n > 0) { /* the next ones will come in front of it: make room once */
            memmove(x->word + (size_t)(max - x->n) * w, s, (size_t)x->n * w * sizeof *s);
            x->begin = (uint16_t)(max - x->n - 1);
        } else {
            memmove(s + (size_t)(at + 1) * w, s + (size_t)at * w,
                    (size_t)(x->n - at) * w * sizeof *s);
        }
    } else if (at == x->n && at_end && at > 0) { /* likewise after it */
        memmove(x->word, s, (size_t)x->n * w * sizeof *s);
        x->begin = 0;
    } else {
        memmove(s - w, s, (size_t)at * w * sizeof *s);
        x->begin--;
    }
    x->n++;
    return slot(x, mode, at);
}

TEMPLATE void slot_close(node *x, enum mode mode, unsigned at)
{
    unsigned w = slot_words(mode, x->level);
    word *s = x->word + (size_t)x->begin * w;

    x->n--;
    if (at * 2 < x->n) {
        memmove(s + w, s, (size_t)at * w * sizeof *s);
        x->begin++;
    } else {
        memmove(s + (size_t)at * w, s + (size_t)(at + 1) * w, (size_t)(x->n - at) * w * sizeof *s);
    }
}

/* Move the first @k slots of @from to the end of @to. */
TEMPLATE void slots_to_left(node *to, node *from, enum mode mode, unsigned k)
{
    unsigned w = slot_words(mode, to->level), max = slots_max(mode, to->level);

    if (to->begin + to->n + k > max) {
        memmove(to->word, to->word + (size_t)to->begin * w, (size_t)to->n * w * sizeof(word));
        to->begin = 0;
    }
    memcpy(to->word + (size_t)(to->begin + to->n) * w, from->word + (size_t)from->begin * w,
           (size_t)k * w * sizeof(word));
    to->n += k;
    from->begin = (uint16_t)(from->begin + k);
    from->n -= k;
}

/* Move the last @k slots of @from in front of those of @to. */
TEMPLATE void slots_to_right(node *from, node *to, enum mode mode, unsigned k)
{
    unsigned w = slot_words(mode, to->level), max = slots_max(mode, to->level);

    if (to->begin < k) {
        memmove(to->word + (size_t)(max - to->n) * w, to->word + (size_t)to->begin * w,
                (size_t)to->n * w * sizeof(word));
        to->begin = (uint16_t)(max - to->n);
    }
    from->n -= k;
    to->begin = (uint16_t)(to->begin - k);
    to->n += k;
    memcpy(to->word + (size_t)to->begin * w, from->word + (size_t)(from->begin + from->n) * w,
           (size_t)k * w * sizeof(word));
}

#endif
