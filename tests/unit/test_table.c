/* SPDX-License-Identifier: MIT */
/*
 * The hash table of the memory store against an array of flags.
 *
 * Elements are freed when they are erased.  Some tests give elements hashes of few values
 * on purpose: the table takes the hash from the element.  USHER_TEST_SEED repeats a run.
 *
 * Invariants that table_check() proves, by name:
 *   home     an element whose home in cur is below `moved` is in next, others are in cur.
 *   reach    no element lies past a bucket whose count of passing elements is 0.
 *   passed   the count of a bucket is the number of elements that passed it.
 *   tag      each slot's tag is that of the element in it.
 *   count    the elements in both arrays.
 */
#include "lib/test.h"

#include "table.h"

#include "lib/util.h"

#define KEYS 6000u

/* ---- random numbers (splitmix64), memory that can fail ---- */

struct blocks {
    size_t bytes, blocks, calls;
    size_t fail_at; /* the allocation that fails, from 1; 0: none */
};

static void *blocks_resize(void *payload, void *p, size_t old, size_t size)
{
    struct blocks *m = payload;
    void *q;

    if (size == 0) {
        assert_true(m->bytes >= old);
        m->bytes -= old;
        m->blocks--;
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
    m->blocks++;
    return q;
}

/* ---- the world: one table and its oracle ---- */

struct element {
    uint64_t number;
    struct usher__table_head head;
};

struct world {
    struct blocks memory;
    struct usher_allocator alloc;
    struct usher__table table;
    uint32_t hash_mask, hash_xor; /* weaken the hash */
    size_t n;
    struct element *have[KEYS];
};

static struct world *world_open(uint32_t hash_mask)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->alloc.resize = blocks_resize;
    w->alloc.payload = &w->memory;
    w->hash_mask = hash_mask;
    w->hash_xor = hash_mask == UINT32_MAX ? 0 : (uint32_t)rnd(UINT32_MAX);
    usher__table_init(&w->table, &w->alloc, offsetof(struct element, head), rnd(UINT64_MAX));
    return w;
}

static void world_close(struct world *w)
{
    struct element *e;
    uint64_t cursor = 0;

    while ((e = usher__table_next(&w->table, &cursor)) != NULL) {
        assert_ptr_equal(w->have[e->number], e);
        w->have[e->number] = NULL;
        w->n--;
        free(e);
    }
    assert_int_equal(w->n, 0);
    usher__table_done(&w->table);
    assert_int_equal(usher__table_count(&w->table), 0);
    assert_int_equal(w->memory.bytes, 0);
    free(w);
}

/* Keys of all short lengths, among them some that begin with others. */
static size_t key_of(unsigned number, char *ret)
{
    size_t len = 1 + number % 40;

    memset(ret, 'k', len);
    return len + (size_t)sprintf(ret + len, "%u", number / 40);
}

static uint32_t hash_of(const struct world *w, const char *bytes, size_t len)
{
    return (usher__table_hash(&w->table, bytes, len) & w->hash_mask) ^ w->hash_xor;
}

static void *find(const struct world *w, unsigned number)
{
    char bytes[64];
    size_t len = key_of(number, bytes);

    return usher__table_find(&w->table, bytes, len, hash_of(w, bytes, len));
}

static bool insert(struct world *w, unsigned number)
{
    char bytes[64];
    size_t len = key_of(number, bytes);
    struct element *e = malloc(sizeof *e + len);

    assert_non_null(e);
    e->number = number;
    e->head.hash = hash_of(w, bytes, len);
    e->head.len = (uint16_t)len;
    memcpy(e->head.bytes, bytes, len);
    if (!usher__table_insert(&w->table, e)) {
        free(e);
        return false;
    }
    w->have[number] = e;
    w->n++;
    return true;
}

static void erase(struct world *w, unsigned number)
{
    assert_true(usher__table_erase(&w->table, w->have[number]));
    assert_false(usher__table_erase(&w->table, w->have[number]));
    free(w->have[number]);
    w->have[number] = NULL;
    w->n--;
}

static bool is_set_up(const struct usher__table *t, const struct usher__table_array *a, uint32_t b)
{
    return a == &t->cur || (b & t->cur.mask) < t->ready;
}

static size_t array_check(const struct usher__table *t, const struct usher__table_array *a)
{
    size_t n = 0;
    uint32_t b, i, p;
    uint32_t *passed;

    if (a->block == NULL)
        return 0;
    passed = calloc((size_t)a->mask + 1, sizeof *passed);
    assert_non_null(passed);
    for (b = 0; b <= a->mask; b++) {
        if (!is_set_up(t, a, b))
            continue;
        for (i = 0; i < USHER__TABLE_SLOTS; i++) {
            uint64_t tag = a->bucket[b].tags >> (i * 8) & 0xff;
            uint32_t hash;

            if (tag == 0)
                continue;
            n++;
            hash = usher__table_head(t, a->bucket[b].slot[i])->hash;
            assert_true(tag == usher__table_tag(hash));
            assert_int_equal((hash & t->cur.mask) < t->moved, a == &t->next);
            for (p = hash & a->mask; p != b; p = (p + 1) & a->mask) {
                assert_true(is_set_up(t, a, p));
                assert_true(a->bucket[p].tags >> 56 != 0);
                passed[p]++;
            }
        }
    }
    for (b = 0; b <= a->mask; b++) {
        uint64_t says = a->bucket[b].tags >> 56;

        if (is_set_up(t, a, b))
            assert_true(says == passed[b] || says == 255);
    }
    free(passed);
    return n;
}

static void table_check(const struct world *w)
{
    const struct usher__table *t = &w->table;

    assert_int_equal(usher__table_count(t), w->n);
    assert_int_equal(array_check(t, &t->cur) + array_check(t, &t->next), w->n);
    if (t->cur.block != NULL)
        assert_int_equal((uintptr_t)t->cur.bucket % 64, 0);
}

static void everything_is_found(const struct world *w, unsigned keys)
{
    const struct element *e;
    uint64_t cursor = 0;
    unsigned i;
    size_t n = 0;

    for (i = 0; i < keys; i++)
        assert_ptr_equal(find(w, i), w->have[i]);
    while ((e = usher__table_next(&w->table, &cursor)) != NULL) {
        assert_ptr_equal(w->have[e->number], e);
        n++;
    }
    assert_int_equal(n, w->n);
}

/* ---- tests ---- */

static void random_work(uint32_t hash_mask, unsigned keys, unsigned phases)
{
    struct world *w = world_open(hash_mask);
    unsigned phase, step, moving = 0;

    for (phase = 0; phase < phases; phase++) {
        unsigned steps = (unsigned)rnd(2 * keys), grow = (unsigned)rnd(101);

        for (step = 0; step < steps; step++) {
            unsigned number = (unsigned)rnd(keys);

            assert_ptr_equal(find(w, number), w->have[number]);
            if (w->have[number] == NULL && rnd(100) < grow) {
                assert_true(usher__table_reserve(&w->table, 1));
                assert_true(insert(w, number));
                assert_ptr_equal(find(w, number), w->have[number]);
            } else if (w->have[number] != NULL && rnd(100) >= grow) {
                erase(w, number);
                assert_null(find(w, number));
            }
            moving += w->table.next.block != NULL;
            if (rnd(20) == 0)
                usher__table_trim(&w->table);
            if (rnd(1000) == 0)
                assert_true(usher__table_reserve(&w->table, (size_t)rnd(keys * 4)));
            if (rnd(w->n < 60 ? 4 : 256) == 0)
                table_check(w);
        }
        everything_is_found(w, keys);
    }
    if (keys >= 60) /* a smaller table moves in one step */
        assert_true(moving > 0);
    world_close(w);
}

TEST(random_work_agrees_with_an_array)
{
    random_work(UINT32_MAX, KEYS, 12);
    random_work(UINT32_MAX, 60, 400);
    random_work(UINT32_MAX, 7, 400);
}

TEST(colliding_hashes_are_slow_but_right)
{
    random_work(0, 50, 40);
    random_work(0, 400, 3); /* more than 255 pass a bucket */
    random_work(0xff000003, 500, 6);
    random_work(0x000000f0, 500, 6);
}

TEST(an_empty_table_needs_no_memory)
{
    struct world *w = world_open(UINT32_MAX);
    uint64_t cursor = 0;
    struct element e = { 0, { 0, 0 } };

    assert_null(find(w, 1));
    assert_null(usher__table_next(&w->table, &cursor));
    assert_false(usher__table_erase(&w->table, &e));
    assert_false(insert(w, 1));
    assert_true(usher__table_reserve(&w->table, 0));
    usher__table_trim(&w->table);
    assert_int_equal(w->memory.calls, 0);
    world_close(w);
}

/* As many as reserved, and as many as that take, while the table is in any state. */
TEST(reserved_inserts_cannot_fail)
{
    unsigned round;

    for (round = 0; round < 300; round++) {
        struct world *w = world_open(UINT32_MAX);
        unsigned number = 0, turn;

        for (turn = 0; turn < 6; turn++) {
            size_t n = 1 + (size_t)rnd(rnd(2) ? 20 : 600), calls;

            assert_true(usher__table_reserve(&w->table, n));
            calls = w->memory.calls;
            while (n-- > 0)
                assert_true(insert(w, number++));
            assert_int_equal(w->memory.calls, calls);
            table_check(w);
            if (rnd(2) == 0) {
                unsigned keep = (unsigned)rnd(40), i;

                for (i = 0; i < number && w->n > keep; i++) {
                    if (w->have[i] != NULL)
                        erase(w, i);
                }
                usher__table_trim(&w->table);
            }
        }
        everything_is_found(w, KEYS);
        world_close(w);
    }
}

/* No step of growing moves more than some homes' elements. */
TEST(growing_is_gradual)
{
    struct world *w = world_open(UINT32_MAX);
    unsigned i, moving = 0;

    for (i = 0; i < KEYS; i++) {
        uint32_t moved = w->table.moved;
        const void *cur = w->table.cur.block;

        assert_true(usher__table_reserve(&w->table, 1));
        assert_true(insert(w, i));
        if (w->table.cur.block == cur) {
            assert_true(w->table.moved <= moved + 8);
            moving += w->table.moved > moved;
        }
    }
    assert_true(moving > KEYS / 12);
    assert_true(w->memory.bytes <= KEYS * 24);
    world_close(w);
}

TEST(a_sparse_table_shrinks)
{
    struct world *w = world_open(UINT32_MAX);
    unsigned i;

    for (i = 0; i < KEYS; i++) {
        assert_true(usher__table_reserve(&w->table, 1));
        assert_true(insert(w, i));
    }
    for (i = 0; i < KEYS - 10; i++) {
        size_t calls = w->memory.calls, room;

        erase(w, i);
        room = ((size_t)w->table.cur.mask + 1) * USHER__TABLE_FILL;
        usher__table_trim(&w->table);
        if (w->n >= room / 8)
            assert_int_equal(w->memory.calls, calls);
        if (i % 128 == 0)
            table_check(w);
    }
    everything_is_found(w, KEYS);
    assert_true(w->memory.bytes < 2000);
    for (; i < KEYS; i++)
        erase(w, i);
    usher__table_trim(&w->table);
    assert_int_equal(w->memory.blocks, 0);
    world_close(w);
}

/* Let each allocation fail once, in reserve and in trim. */
TEST(each_failing_allocation_is_survived)
{
    size_t fail, fired;

    for (fail = 1;; fail++) {
        struct world *w = world_open(UINT32_MAX);
        unsigned i;

        w->memory.fail_at = fail;
        fired = 0;
        for (i = 0; i < 300; i++) {
            if (!usher__table_reserve(&w->table, 1)) {
                fired++;
                table_check(w);
                assert_false(insert(w, i));
                assert_true(usher__table_reserve(&w->table, 1));
            }
            assert_true(insert(w, i));
        }
        for (i = 0; i < 290; i++) {
            erase(w, i);
            usher__table_trim(&w->table);
        }
        table_check(w);
        everything_is_found(w, KEYS);
        assert_true(fired <= 1);
        fired = w->memory.calls >= fail;
        world_close(w);
        if (!fired)
            break;
    }
    assert_true(fail > 6);
}

TEST(too_much_is_refused)
{
    struct world *w = world_open(UINT32_MAX);

    assert_true(usher__table_reserve(&w->table, 1));
    assert_true(insert(w, 1));
    assert_false(usher__table_reserve(&w->table, SIZE_MAX));
    assert_false(usher__table_reserve(&w->table, SIZE_MAX / 2));
    assert_int_equal(w->memory.calls, 1);
    assert_ptr_equal(find(w, 1), w->have[1]);
    world_close(w);
}

TEST(tags_match_exactly)
{
    unsigned i, round;

    for (round = 0; round < 100000; round++) {
        uint64_t tags = rnd(UINT64_MAX) & (rnd(2) ? UINT64_MAX : UINT64_C(0xff01008001ff0080));
        uint64_t tag = rnd(3) == 0 ? rnd(256) : tags >> (rnd(8) * 8) & 0xff, want = 0;

        for (i = 0; i < USHER__TABLE_SLOTS; i++) {
            if ((tags >> (i * 8) & 0xff) == tag)
                want |= UINT64_C(0x80) << (i * 8);
        }
        assert_true(usher__table_match(tags, tag) == want);
    }
}

TEST_PROGRAM(seed_set, NULL);
