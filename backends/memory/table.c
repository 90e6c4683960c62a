/* SPDX-License-Identifier: MIT */
/*
 * table -- see table.h for the idea.
 *
 * An element's home is the bucket that the low bits of its hash name; it lies there or, if
 * that was full, in the first bucket after it with an empty slot.  While the table moves
 * from cur to next, elements whose home in cur is below `moved` are in next, all others in
 * cur, new ones included.  Every insert first empties one home or more, and room in cur
 * is never short: when moving begins, cur holds FILL elements a bucket at most; a step
 * takes out FILL elements or empties STEP homes, and one is put in.  So it holds
 * less than FILL + 1/STEP elements a bucket at any time, and a bucket has FILL + 1 slots.
 */
#include "config.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "table.h"

/* A step empties this many homes of cur at most, fewer if it has moved FILL elements. */
#define STEP 8u

#define CACHE_LINE 64u
#define BUCKETS_MAX (UINT32_C(1) << 31)
#define PASSED (UINT64_C(1) << 56)
#define PASSED_MAX 255u

_Static_assert(sizeof(void *) < 8 || sizeof(struct usher__table_bucket) == CACHE_LINE,
               "a bucket is a cache line");
_Static_assert(USHER__TABLE_FILL < USHER__TABLE_SLOTS, "see above");

typedef struct usher__table_bucket bucket;
typedef struct usher__table_array array;

/* ---- arrays ---- */

static size_t array_bytes(const array *a)
{
    return ((size_t)a->mask + 1) * sizeof(bucket) + CACHE_LINE - 1;
}

static size_t array_room(const array *a)
{
    return a->block == NULL ? 0 : ((size_t)a->mask + 1) * USHER__TABLE_FILL;
}

/* Room for @want elements; the buckets are not set up. */
static bool array_alloc(const struct usher_allocator *alloc, size_t want, array *ret)
{
    size_t n = 1;
    uintptr_t p;

    while (n * USHER__TABLE_FILL < want) {
        if (n >= BUCKETS_MAX || n > SIZE_MAX / sizeof(bucket) / 4)
            return false;
        n *= 2;
    }
    ret->mask = (uint32_t)(n - 1);
    ret->block = alloc->resize(alloc->payload, NULL, 0, array_bytes(ret));
    if (ret->block == NULL)
        return false;
    p = (uintptr_t)ret->block;
    ret->bucket = (bucket *)(void *)((char *)ret->block + (-p & (CACHE_LINE - 1)));
    return true;
}

static void array_free(const struct usher_allocator *alloc, array *a)
{
    if (a->block != NULL)
        alloc->resize(alloc->payload, a->block, array_bytes(a), 0);
    memset(a, 0, sizeof *a);
}

static void bucket_pass(bucket *b)
{
    if (b->tags >> 56 != PASSED_MAX)
        b->tags += PASSED;
}

static void bucket_unpass(bucket *b)
{
    if (b->tags >> 56 != PASSED_MAX)
        b->tags -= PASSED;
}

static void bucket_put(bucket *b, unsigned i, void *element, uint64_t tag)
{
    USHER_ASSERT(i < USHER__TABLE_SLOTS && (b->tags >> (i * 8) & 0xff) == 0);
    b->tags |= tag << (i * 8);
    b->slot[i] = element;
}

/* Empty slot @i of the bucket at @at, whose element has its home at @home. */
static void array_take(array *a, uint32_t home, uint32_t at, unsigned i)
{
    USHER_ASSERT(home <= a->mask && at <= a->mask);
    a->bucket[at].tags &= ~(UINT64_C(0xff) << (i * 8));
    for (; home != at; home = (home + 1) & a->mask)
        bucket_unpass(&a->bucket[home]);
}

/* ---- moving ---- */

/* Set up the buckets of next that belong to the homes of cur below @ready. */
static void next_set_up(struct usher__table *t, uint32_t ready)
{
    for (; t->ready < ready; t->ready++) {
        uint64_t b;

        for (b = t->ready; b <= t->next.mask; b += (uint64_t)t->cur.mask + 1)
            t->next.bucket[b].tags = 0;
    }
}

static void put(struct usher__table *t, void *element, uint32_t hash)
{
    uint32_t at;
    array *a = &t->cur;
    bool is_next = (hash & a->mask) < t->moved;
    uint64_t empty;

    if (is_next)
        a = &t->next;
    for (at = hash & a->mask;; at = (at + 1) & a->mask) {
        if (is_next)
            next_set_up(t, (at & t->cur.mask) + 1);
        empty = usher__table_match(a->bucket[at].tags, 0);
        if (empty != 0)
            break;
        bucket_pass(&a->bucket[at]);
    }
    bucket_put(&a->bucket[at], usher__table_byte(empty), element, usher__table_tag(hash));
}

/* Move the elements of the first home not moved yet.  Returns how many they were. */
static unsigned move_home(struct usher__table *t)
{
    array *a = &t->cur;
    uint32_t home = t->moved, at = home;
    unsigned n = 0, i;

    USHER_ASSERT(t->next.block != NULL && home <= a->mask);
    t->moved++;
    next_set_up(t, t->moved);
    do {
        bucket *b = &a->bucket[at];
        bool last = b->tags >> 56 == 0;

        for (i = 0; i < USHER__TABLE_SLOTS; i++) {
            uint32_t hash;

            if ((b->tags >> (i * 8) & 0xff) == 0)
                continue;
            hash = usher__table_head(t, b->slot[i])->hash;
            if ((hash & a->mask) != home)
                continue;
            array_take(a, home, at, i);
            put(t, b->slot[i], hash);
            n++;
        }
        if (last)
            break;
        at = (at + 1) & a->mask;
    } while (at != home);

    if (home == a->mask) {
        array_free(t->alloc, a);
        *a = t->next;
        memset(&t->next, 0, sizeof t->next);
        t->moved = t->ready = 0;
    }
    return n;
}

static void move_step(struct usher__table *t)
{
    unsigned homes, n = 0, i;

    for (homes = 0; homes < STEP && n < USHER__TABLE_FILL && t->next.block != NULL; homes++)
        n += move_home(t);
    if (t->next.block == NULL)
        return;
    /* The next step reads the hashes of these. */
    for (i = 0; i < USHER__TABLE_SLOTS; i++) {
        const bucket *b = &t->cur.bucket[t->moved];

        if ((b->tags >> (i * 8) & 0xff) != 0)
            __builtin_prefetch(usher__table_head(t, b->slot[i]));
    }
}

/* ---- interface ---- */

void usher__table_init(struct usher__table *t, const struct usher_allocator *alloc, size_t offset,
                       uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->alloc = alloc;
    t->offset = offset;
    t->seed = seed;
}

void usher__table_done(struct usher__table *t)
{
    array_free(t->alloc, &t->cur);
    array_free(t->alloc, &t->next);
    usher__table_init(t, t->alloc, t->offset, t->seed);
}

bool usher__table_reserve(struct usher__table *t, size_t n)
{
    const array *target = t->next.block != NULL ? &t->next : &t->cur;
    array a;

    if (n > SIZE_MAX - t->count)
        return false;
    if (t->count + n <= array_room(target))
        return true;
    if (!array_alloc(t->alloc, t->count + n, &a))
        return false;
    /* Only for many at once: a table that grows by inserts has moved long before. */
    while (t->next.block != NULL)
        move_home(t);
    if (t->count == 0) {
        uint64_t b;

        for (b = 0; b <= a.mask; b++)
            a.bucket[b].tags = 0;
        array_free(t->alloc, &t->cur);
        t->cur = a;
    } else {
        t->next = a;
    }
    return true;
}

void usher__table_trim(struct usher__table *t)
{
    if (t->count == 0) {
        usher__table_done(t);
        return;
    }
    if (t->next.block != NULL || t->count >= array_room(&t->cur) / 8)
        return;
    if (!array_alloc(t->alloc, t->count * 2, &t->next))
        memset(&t->next, 0, sizeof t->next);
}

static uint32_t __attribute__((noinline)) hash_long(const void *bytes, size_t len, uint64_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(bytes, len, seed);
}

/* Short keys without the registers that long ones need. */
uint32_t usher__table_hash(const struct usher__table *t, const void *bytes, size_t len)
{
    if (len > 16)
        return hash_long(bytes, len, t->seed);
    return (uint32_t)XXH3_64bits_withSeed(bytes, len, t->seed);
}

/* memcmp() would be a call in the middle of the search. */
static inline bool same_bytes(const unsigned char *a, const unsigned char *b, size_t len)
{
    uint64_t x, y;
    uint32_t v, w;

    if (len >= sizeof x) { /* the last bytes first, then some of them again */
        for (size_t i = len - sizeof x;; i = i < sizeof x ? 0 : i - sizeof x) {
            memcpy(&x, a + i, sizeof x);
            memcpy(&y, b + i, sizeof y);
            if (x != y)
                return false;
            if (i == 0)
                return true;
        }
    }
    if (len < sizeof v)
        return len == 0 || (a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1]);
    memcpy(&v, a, sizeof v);
    memcpy(&w, b, sizeof w);
    if (v != w)
        return false;
    memcpy(&v, a + len - sizeof v, sizeof v);
    memcpy(&w, b + len - sizeof w, sizeof w);
    return v == w;
}

static inline void *bucket_find(const struct usher__table *t, const bucket *at, const void *bytes,
                                size_t len, uint32_t hash)
{
    uint64_t match = usher__table_match(at->tags, usher__table_tag(hash));

    for (; match != 0; match &= match - 1) {
        void *element = at->slot[usher__table_byte(match)];
        const struct usher__table_head *head = usher__table_head(t, element);

        if (head->hash == hash && head->len == len && same_bytes(head->bytes, bytes, len))
            return element;
    }
    return NULL;
}

/* In the buckets after @home. */
static void *__attribute__((noinline))
find_behind(const struct usher__table *t, const array *a, uint32_t home, const void *bytes,
            size_t len, uint32_t hash)
{
    for (uint32_t b = (home + 1) & a->mask; b != home; b = (b + 1) & a->mask) {
        void *element = bucket_find(t, &a->bucket[b], bytes, len, hash);

        if (element != NULL || a->bucket[b].tags >> 56 == 0)
            return element;
    }
    return NULL;
}

void *usher__table_find(const struct usher__table *t, const void *bytes, size_t len, uint32_t hash)
{
    const array *a;
    void *element;
    uint32_t home;

    if (t->count == 0)
        return NULL;
    a = usher__table_home(t, hash, &home);
    element = bucket_find(t, &a->bucket[home], bytes, len, hash);
    if (element != NULL || a->bucket[home].tags >> 56 == 0)
        return element;
    return find_behind(t, a, home, bytes, len, hash);
}

bool usher__table_insert(struct usher__table *t, void *element)
{
    const array *target;

    move_step(t);
    target = t->next.block != NULL ? &t->next : &t->cur;
    if (t->count >= array_room(target))
        return false;
    put(t, element, usher__table_head(t, element)->hash);
    t->count++;
    return true;
}

bool usher__table_erase(struct usher__table *t, const void *element)
{
    uint32_t hash = usher__table_head(t, element)->hash, home, at;
    array *a = &t->cur;
    uint64_t match;

    if (t->count == 0)
        return false;
    if ((hash & a->mask) < t->moved)
        a = &t->next;
    home = at = hash & a->mask;
    do {
        const bucket *b = &a->bucket[at];

        for (match = usher__table_match(b->tags, usher__table_tag(hash)); match != 0;
             match &= match - 1) {
            if (b->slot[usher__table_byte(match)] == element) {
                array_take(a, home, at, usher__table_byte(match));
                t->count--;
                move_step(t);
                return true;
            }
        }
        if (b->tags >> 56 == 0)
            break;
        at = (at + 1) & a->mask;
    } while (at != home);
    return false;
}

void *usher__table_next(const struct usher__table *t, uint64_t *cursor)
{
    uint64_t in_cur = t->cur.block == NULL ? 0 : (uint64_t)t->cur.mask + 1;
    uint64_t in_next = t->next.block == NULL ? 0 : (uint64_t)t->next.mask + 1;

    for (; *cursor / 8 < in_cur + in_next; ++*cursor) {
        uint64_t b = *cursor / 8;
        unsigned i = (unsigned)(*cursor % 8);
        const bucket *at;

        if (b < in_cur) {
            at = &t->cur.bucket[b];
        } else {
            b -= in_cur;
            if ((b & t->cur.mask) >= t->ready)
                continue;
            at = &t->next.bucket[b];
        }
        if (i < USHER__TABLE_SLOTS && (at->tags >> (i * 8) & 0xff) != 0) {
            ++*cursor;
            return at->slot[i];
        }
    }
    return NULL;
}
