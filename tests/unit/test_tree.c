/* SPDX-License-Identifier: MIT */
/*
 * The tree of the memory store against a sorted array.
 *
 * Records are freed when their entry is erased: a tree that still compared with one would
 * be seen by the address sanitizer, and by the mark in the record.
 * USHER_TEST_SEED repeats a run.
 *
 * Invariants that tree_check() proves, by name:
 *   order      keys ascend along the leaves; both chains of neighbours are right
 *   separator  an inner slot's key, but the first's, is the smallest key of its child
 *   fill       two fifths, but for the ends of a level; the root has two children
 *   level      leaves are on level 0, a child one below its parent
 *   count      the entries in leaves
 */
#include "lib/test.h"

#include "tree.h"

#include "lib/util.h"

#define KEY_MAX 4000 /* of the random tests */
#define MARK 0x7ee5u

/* ---- random numbers (splitmix64), memory that can fail ---- */

struct blocks {
    size_t bytes, calls;
    size_t fail_at; /* the allocation that fails, from 1; 0: none */
};

static void *blocks_resize(void *payload, void *p, size_t old, size_t size)
{
    struct blocks *m = payload;
    void *q;

    if (size == 0) {
        assert_true(m->bytes >= old);
        m->bytes -= old;
        if (p != NULL)
            memset(p, 0xdb, old);
        free(p);
        return NULL;
    }
    assert_null(p);
    assert_int_equal(old, 0);
    if (++m->calls == m->fail_at)
        return NULL;
    q = malloc(size);
    assert_non_null(q);
    memset(q, 0xa5, size);
    m->bytes += size;
    return q;
}

/* ---- the world: one tree and its oracle ---- */

struct record {
    unsigned mark;
    uint64_t hi, lo;
};

struct world {
    struct blocks memory;
    struct usher_allocator alloc;
    struct usher__tree_pool pool;
    struct usher__tree tree;
    bool text;
    size_t n;
    struct record **sorted;
};

static int pair_compare(uint64_t ahi, uint64_t alo, uint64_t bhi, uint64_t blo)
{
    if (ahi != bhi)
        return ahi < bhi ? -1 : 1;
    return (alo > blo) - (alo < blo);
}

static int record_compare(const void *probe, const void *ref)
{
    const struct record *a = probe, *b = ref;

    assert_int_equal(a->mark, MARK);
    assert_int_equal(b->mark, MARK);
    return pair_compare(a->hi, a->lo, b->hi, b->lo);
}

static void world_open(struct world *w, bool text)
{
    memset(w, 0, sizeof *w);
    w->text = text;
    w->alloc.resize = blocks_resize;
    w->alloc.payload = &w->memory;
    w->sorted = calloc(KEY_MAX * 16, sizeof(struct record *));
    assert_non_null(w->sorted);
    usher__tree_pool_init(&w->pool, &w->alloc);
    usher__tree_init(&w->tree, text ? record_compare : NULL);
}

static void world_close(struct world *w)
{
    size_t i;

    usher__tree_done(&w->tree, &w->pool);
    assert_int_equal(usher__tree_count(&w->tree), 0);
    usher__tree_pool_done(&w->pool);
    assert_int_equal(w->memory.bytes, 0);
    for (i = 0; i < w->n; i++)
        free(w->sorted[i]);
    free(w->sorted);
}

/* @r must live as long as the key: in a tree by record it is the probe. */
static union usher__tree_key key_of(const struct world *w, const struct record *r)
{
    return w->text ? usher__tree_probe(r) : usher__tree_key(r->hi, r->lo);
}

/* The number of records before (@hi, @lo). */
static size_t oracle_rank(const struct world *w, uint64_t hi, uint64_t lo)
{
    size_t from = 0, to = w->n;

    while (from < to) {
        size_t mid = (from + to) / 2;

        if (pair_compare(w->sorted[mid]->hi, w->sorted[mid]->lo, hi, lo) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void entry_check(const struct world *w, const struct usher__tree_entry *e,
                        const struct record *r)
{
    assert_ptr_equal(e->ref, r);
    assert_true(e->hi == (w->text ? 0 : r->hi));
    assert_true(e->lo == (w->text ? 0 : r->lo));
}

static void tree_check(const struct world *w)
{
    const struct usher__tree *t = &w->tree;
    const struct usher__tree_node *x, *prev, *first;
    unsigned few = w->text ? USHER__TREE_FEW_REFS : USHER__TREE_FEW_KEYS;
    unsigned key_words = w->text ? 1 : 2;
    size_t at = 0;

    assert_int_equal(t->count, w->n);
    if (t->count <= few)
        return;
    assert_null(t->root->next);
    assert_null(t->root->prev);
    assert_true(t->root->level < USHER__TREE_LEVELS);
    for (first = t->root;; first = first->word[first->begin * (key_words + 1) + key_words].p) {
        unsigned words = !w->text ? 3 : first->level > 0 ? 2 : 1;
        unsigned max = USHER__TREE_WORDS / words, min = max * 2 / 5 < 2 ? 2 : max * 2 / 5, i;
        const struct usher__tree_node *below = NULL;

        prev = NULL;
        for (x = first; x != NULL; prev = x, x = x->next) {
            bool at_end = x->prev == NULL || x->next == NULL;

            assert_ptr_equal(x->prev, prev);
            assert_int_equal(x->level, first->level);
            assert_true(x->begin + x->n <= max);
            assert_true(x->n >= (x == t->root && x->level > 0 ? 2u : at_end ? 1u : min));
            for (i = 0; i < x->n; i++) {
                const union usher__tree_word *s = x->word + (x->begin + i) * words;
                const struct usher__tree_node *down;

                if (x->level == 0) {
                    assert_true(at < w->n);
                    assert_ptr_equal(s[key_words - w->text].p, w->sorted[at]);
                    if (!w->text) {
                        assert_true(s[0].u == w->sorted[at]->hi);
                        assert_true(s[1].u == w->sorted[at]->lo);
                    }
                    at++;
                    continue;
                }
                down = s[key_words].p;
                assert_int_equal(down->level + 1, x->level);
                if (below != NULL)
                    assert_ptr_equal(below->next, down);
                else
                    assert_null(down->prev);
                below = down;
                if (i > 0) {
                    const struct usher__tree_node *leaf = down;

                    while (leaf->level > 0)
                        leaf = leaf->word[leaf->begin * (key_words + 1) + key_words].p;
                    assert_memory_equal(s, leaf->word + leaf->begin * (w->text ? 1 : 3),
                                        key_words * sizeof *s);
                }
            }
        }
        if (first->level == 0)
            break;
        assert_non_null(below);
        assert_null(below->next);
    }
    assert_ptr_equal(t->first, first);
    assert_ptr_equal(t->last, prev);
    assert_int_equal(at, w->n);
}

/* Check the neighbours of (@hi, @lo) with each function. */
static void look(const struct world *w, uint64_t hi, uint64_t lo)
{
    const struct record probe = { MARK, hi, lo };
    const union usher__tree_key k = key_of(w, &probe);
    size_t at = oracle_rank(w, hi, lo), max, got, i;
    bool here = at < w->n && w->sorted[at]->hi == hi && w->sorted[at]->lo == lo;
    struct usher__tree_entry e, page[70];

    assert_int_equal(usher__tree_find(&w->tree, k, &e), here);
    if (here)
        entry_check(w, &e, w->sorted[at]);
    assert_int_equal(usher__tree_prev(&w->tree, k, &e), at > 0);
    if (at > 0)
        entry_check(w, &e, w->sorted[at - 1]);
    at += here;
    assert_int_equal(usher__tree_next(&w->tree, k, &e), at < w->n);
    if (at < w->n)
        entry_check(w, &e, w->sorted[at]);
    max = (size_t)rnd(70);
    got = usher__tree_page(&w->tree, &k, page, max);
    assert_int_equal(got, w->n - at < max ? w->n - at : max);
    for (i = 0; i < got; i++)
        entry_check(w, &page[i], w->sorted[at + i]);
    got = usher__tree_page(&w->tree, NULL, page, max);
    assert_int_equal(got, w->n < max ? w->n : max);
    for (i = 0; i < got; i++)
        entry_check(w, &page[i], w->sorted[i]);
    assert_int_equal(usher__tree_first(&w->tree, &e), w->n > 0);
    if (w->n > 0)
        entry_check(w, &e, w->sorted[0]);
    assert_int_equal(usher__tree_last(&w->tree, &e), w->n > 0);
    if (w->n > 0)
        entry_check(w, &e, w->sorted[w->n - 1]);
}

/* Insert into the tree and the oracle; what the pool has must do. */
static enum usher__tree_put put(struct world *w, uint64_t hi, uint64_t lo)
{
    size_t at = oracle_rank(w, hi, lo);
    struct record *r = malloc(sizeof *r);
    enum usher__tree_put rc;

    assert_non_null(r);
    *r = (struct record){ MARK, hi, lo };
    rc = usher__tree_insert(&w->tree, &w->pool, key_of(w, r), r);
    if (at < w->n && w->sorted[at]->hi == hi && w->sorted[at]->lo == lo)
        assert_int_equal(rc, USHER__TREE_SAME);
    else
        assert_int_not_equal(rc, USHER__TREE_SAME);
    if (rc != USHER__TREE_PUT) {
        free(r);
        return rc;
    }
    memmove(w->sorted + at + 1, w->sorted + at, (w->n - at) * sizeof(struct record *));
    w->sorted[at] = r;
    w->n++;
    return rc;
}

static void insert(struct world *w, uint64_t hi, uint64_t lo)
{
    size_t need = usher__tree_need(&w->tree, 1), had;

    assert_true(usher__tree_reserve(&w->pool, need));
    had = w->pool.n;
    assert_int_not_equal(put(w, hi, lo), USHER__TREE_SHORT);
    assert_true(had - w->pool.n <= need);
}

static void erase(struct world *w, uint64_t hi, uint64_t lo)
{
    const struct record probe = { MARK, hi, lo };
    size_t at = oracle_rank(w, hi, lo);
    bool here = at < w->n && w->sorted[at]->hi == hi && w->sorted[at]->lo == lo;
    struct record *gone;

    assert_int_equal(usher__tree_erase(&w->tree, &w->pool, key_of(w, &probe)), here);
    if (!here)
        return;
    gone = w->sorted[at];
    w->n--;
    memmove(w->sorted + at, w->sorted + at + 1, (w->n - at) * sizeof(struct record *));
    gone->mark = 0;
    free(gone);
}

static void erase_at(struct world *w, size_t at)
{
    erase(w, w->sorted[at]->hi, w->sorted[at]->lo);
}

static void check_now_and_then(struct world *w)
{
    if (w->n < 50 || rnd(64) == 0)
        tree_check(w);
    if (rnd(4) == 0)
        look(w, rnd(4), rnd(KEY_MAX));
    if (rnd(50) == 0)
        usher__tree_pool_trim(&w->pool, (size_t)rnd(4));
}

/* ---- tests ---- */

/* Each phase of some hundred steps prefers one kind of work; between them the tree
 * is large, small and empty. */
static void random_work(bool text)
{
    struct world w;
    unsigned phase, step, kind;
    uint64_t top = KEY_MAX, bottom = UINT64_MAX / 2;

    world_open(&w, text);
    for (phase = 0; phase < 160; phase++) {
        unsigned steps = 1 + (unsigned)rnd(rnd(8) == 0 ? 4000 : 400);

        kind = (unsigned)rnd(10);
        for (step = 0; step < steps; step++) {
            bool room = w.n < KEY_MAX * 15;

            switch (kind) {
            case 0: /* anywhere */
                if (rnd(2) == 0 && room)
                    insert(&w, rnd(4), rnd(KEY_MAX));
                else
                    erase(&w, rnd(4), rnd(KEY_MAX));
                break;
            case 1: /* grow anywhere */
                insert(&w, rnd(4), rnd(KEY_MAX));
                break;
            case 2: /* in turn: append, take the first */
                if (room)
                    insert(&w, 9, top++);
                if (w.n > 0)
                    erase_at(&w, 0);
                break;
            case 3: /* append */
                if (room)
                    insert(&w, 9, top++);
                break;
            case 4: /* append to one of several runs */
                if (room)
                    insert(&w, 5 + rnd(3), top++);
                break;
            case 5: /* prepend */
                if (room)
                    insert(&w, 0, --bottom - UINT64_MAX / 4);
                break;
            case 6:
                if (w.n > 0)
                    erase_at(&w, 0);
                break;
            case 7:
                if (w.n > 0)
                    erase_at(&w, w.n - 1);
                break;
            case 8:
                if (w.n > 0)
                    erase_at(&w, (size_t)rnd(w.n));
                break;
            default: /* renew: from anywhere to the end */
                if (w.n > 0)
                    erase_at(&w, (size_t)rnd(w.n));
                insert(&w, 9, top++);
                break;
            }
            check_now_and_then(&w);
        }
        tree_check(&w);
    }
    while (w.n > 0) {
        erase_at(&w, (size_t)rnd(w.n));
        check_now_and_then(&w);
    }
    world_close(&w);
}

TEST(random_work_by_number_agrees_with_a_sorted_array)
{
    random_work(false);
}

TEST(random_work_by_record_agrees_with_a_sorted_array)
{
    random_work(true);
}

TEST(a_tiny_tree_needs_no_memory)
{
    unsigned text, i, few;

    for (text = 0; text < 2; text++) {
        struct world w;

        world_open(&w, text);
        few = text ? USHER__TREE_FEW_REFS : USHER__TREE_FEW_KEYS;
        for (i = few; i > 0; i--)
            assert_int_equal(put(&w, 1, i), USHER__TREE_PUT);
        assert_int_equal(put(&w, 1, few), USHER__TREE_SAME);
        assert_int_equal(put(&w, 1, few + 1), USHER__TREE_SHORT);
        assert_int_equal(w.memory.calls, 0);
        look(&w, 1, 1);
        insert(&w, 1, few + 1);
        tree_check(&w);
        erase(&w, 1, 2);
        usher__tree_pool_trim(&w.pool, 0);
        assert_int_equal(w.memory.bytes, 0);
        look(&w, 1, 1);
        look(&w, 1, 2);
        world_close(&w);
    }
}

/* At either end; the bounds are those of the documentation for nodes of 60 words. */
TEST(growth_at_an_end_leaves_full_nodes)
{
    const size_t n = KEY_MAX * 15;
    unsigned text, front;
    size_t i, leaves;

    for (text = 0; text < 2; text++) {
        for (front = 0; front < 2; front++) {
            const struct usher__tree_node *x;
            unsigned max = text ? USHER__TREE_WORDS : USHER__TREE_WORDS / 3;
            struct world w;

            world_open(&w, text);
            for (i = 0; i < n; i++)
                insert(&w, 7, front ? n - i : i);
            tree_check(&w);
            leaves = 0;
            for (x = w.tree.first; x != NULL; x = x->next)
                leaves++;
            assert_int_equal(leaves, (n + max - 1) / max);
            usher__tree_pool_trim(&w.pool, 0);
            if (USHER__TREE_WORDS == 60)
                assert_true(w.memory.bytes <= n * (text ? 10 : 28));
            /* Taking from an end leaves the other leaves alone. */
            while (w.tree.first->n > 1)
                erase_at(&w, 0);
            while (w.tree.last->n > 1)
                erase_at(&w, w.n - 1);
            tree_check(&w);
            assert_int_equal(w.tree.first->next->n, max);
            assert_int_equal(w.tree.last->prev->n, max);
            world_close(&w);
        }
    }
}

TEST(a_run_inside_the_tree_fills_most_of_its_leaves)
{
    const size_t n = KEY_MAX * 5;
    struct world w;
    size_t i;

    world_open(&w, false);
    for (i = 0; i < 50; i++)
        insert(&w, 3, i);
    for (i = 0; i < n; i++)
        insert(&w, 2, i);
    tree_check(&w);
    usher__tree_pool_trim(&w.pool, 0);
    if (USHER__TREE_WORDS == 60)
        assert_true(w.memory.bytes <= n * 43);
    world_close(&w);
}

/* However it was drained: few entries are few levels. */
TEST(a_drained_tree_is_low)
{
    unsigned how, text;
    uint64_t i, n = KEY_MAX * 10;

    for (text = 0; text < 2; text++) {
        for (how = 0; how < 4; how++) {
            struct world w;

            world_open(&w, text);
            for (i = 0; i < n; i++)
                insert(&w, 0, how == 3 ? rnd(UINT64_MAX) : i);
            while (w.n > 10) {
                erase_at(&w, how == 0   ? 0
                             : how == 1 ? w.n - 1
                             : how == 2 ? w.n / 2
                                        : (size_t)rnd(w.n));
                if (w.n % 512 == 0 || w.n < 100)
                    tree_check(&w);
            }
            assert_true(w.tree.root->level <= (USHER__TREE_WORDS == 60 ? 1 : 3));
            usher__tree_pool_trim(&w.pool, 0);
            assert_true(w.memory.bytes <= 12 * sizeof(struct usher__tree_node));
            world_close(&w);
        }
    }
}

/* One node less than an insert takes: refused, and nothing has changed. */
TEST(a_short_pool_changes_nothing)
{
    struct world w, copy;
    unsigned text, step;
    size_t had, used, shorts = 0;

    for (text = 0; text < 2; text++) {
        world_open(&w, text);
        for (step = 0; step < KEY_MAX * 2; step++) {
            uint64_t hi = rnd(3), lo = hi == 2 ? step : rnd(UINT64_MAX);
            size_t level = w.n > 3 ? w.tree.root->level : 0;

            usher__tree_pool_trim(&w.pool, 0);
            for (had = 0;; had++) {
                assert_true(usher__tree_reserve(&w.pool, had));
                copy = w;
                if (put(&w, hi, lo) != USHER__TREE_SHORT)
                    break;
                shorts++;
                assert_memory_equal(&copy.tree, &w.tree, sizeof w.tree);
                assert_int_equal(w.pool.n, had);
                if (w.n < 200 || had > level)
                    tree_check(&w);
            }
            used = had - w.pool.n;
            assert_int_equal(used, had);
        }
        tree_check(&w);
        world_close(&w);
    }
    assert_true(shorts > 100);
}

TEST(the_need_of_several_inserts_is_enough)
{
    struct world w;
    unsigned text, round;
    uint64_t top = 0;

    for (text = 0; text < 2; text++) {
        world_open(&w, text);
        for (round = 0; round < 600 && w.n < KEY_MAX * 15; round++) {
            size_t n = 1 + (size_t)rnd(rnd(20) == 0 ? 600 : 40), i;
            bool append = rnd(2) == 0;

            usher__tree_pool_trim(&w.pool, 0);
            assert_true(usher__tree_reserve(&w.pool, usher__tree_need(&w.tree, n)));
            for (i = 0; i < n; i++)
                assert_int_equal(put(&w, append, append ? top++ : rnd(UINT64_MAX)),
                                 USHER__TREE_PUT);
            if (rnd(3) == 0) {
                n = (size_t)rnd(w.n);
                while (w.n > n)
                    erase_at(&w, rnd(2) ? 0 : (size_t)rnd(w.n));
            }
        }
        tree_check(&w);
        world_close(&w);
    }
}

/* Let each allocation fail once: the reserve says so, the tree is whole, again succeeds. */
TEST(each_failing_allocation_is_survived)
{
    unsigned text;
    size_t fail;

    for (text = 0; text < 2; text++) {
        for (fail = 1;; fail++) {
            struct world w;
            bool fired = false;
            unsigned i;

            world_open(&w, text);
            w.memory.fail_at = fail;
            for (i = 0; i < 400; i++) {
                size_t need = usher__tree_need(&w.tree, 1);

                if (!usher__tree_reserve(&w.pool, need)) {
                    assert_false(fired);
                    fired = true;
                    tree_check(&w);
                    assert_true(usher__tree_reserve(&w.pool, need));
                }
                assert_int_equal(put(&w, i % 7, i), USHER__TREE_PUT);
                usher__tree_pool_trim(&w.pool, i % 3);
            }
            tree_check(&w);
            assert_int_equal(fired, w.memory.calls >= fail);
            world_close(&w);
            if (!fired)
                break;
        }
        assert_true(fail > 10);
    }
}

/* A counted tree and a plain one are given the same; ranks are compared with a count by hand. */
TEST(a_counted_tree_knows_how_many_are_before_a_key)
{
    enum { KEYS = 3000 };
    static struct record records[KEYS];
    static bool there[KEYS];
    struct blocks memory = { 0 };
    struct usher_allocator alloc = { blocks_resize, &memory };
    struct usher__tree_pool pool;
    struct usher__tree tree;
    uint32_t x = 20261121;
    size_t n = 0;

    memset(there, 0, sizeof there);
    usher__tree_pool_init(&pool, &alloc);
    usher__tree_init(&tree, usher__tree_counted);
    assert_int_equal(usher__tree_rank(&tree, usher__tree_key(1, 1)), 0);
    for (unsigned step = 0; step < 60000; step++) {
        /* grows at the end, in the middle, and is drained from the front, by turns */
        unsigned phase = step / 6000 % 5, k;
        union usher__tree_key key;

        x = x * 1664525 + 1013904223;
        k = phase == 0 ? step % 6000 % KEYS : (x >> 8) % KEYS;
        if (phase == 4)
            for (k = 0; k < KEYS - 1 && !there[k];)
                k++;
        key = usher__tree_key(k / 7, k % 7 + 1);
        assert_true(usher__tree_reserve(&pool, usher__tree_need(&tree, 1)));
        if (!there[k]) {
            assert_int_equal(usher__tree_insert(&tree, &pool, key, &records[k]), USHER__TREE_PUT);
            n++;
        } else if (phase != 1) {
            assert_true(usher__tree_erase(&tree, &pool, key));
            n--;
        } else {
            assert_int_equal(usher__tree_insert(&tree, &pool, key, &records[k]), USHER__TREE_SAME);
            continue;
        }
        there[k] = !there[k];
        assert_int_equal(usher__tree_count(&tree), n);
        if (step % 16 == 0) {
            unsigned at = (x >> 4) % (KEYS + 1);
            uint64_t before = 0;
            struct usher__tree_entry entry;

            for (unsigned i = 0; i < at; i++)
                before += there[i];
            key = usher__tree_key(at / 7, at % 7 + 1);
            assert_int_equal(usher__tree_rank(&tree, key), before);
            assert_int_equal(usher__tree_rank(&tree, usher__tree_key(UINT64_MAX, 0)), n);
            assert_int_equal(usher__tree_find(&tree, key, &entry), at < KEYS && there[at]);
        }
    }
    usher__tree_done(&tree, &pool);
    usher__tree_pool_done(&pool);
    assert_int_equal(memory.bytes, 0);
}

TEST_PROGRAM(seed_set, NULL);
