/* SPDX-License-Identifier: MIT */
/*
 * table -- finds elements by their bytes: record ids, names.
 *
 * A hash table of pointers in buckets of one cache line: seven pointers, one byte of
 * each one's hash, and a count of the elements that found the bucket full and went on to
 * the next.  A key that is there costs two cache misses, its bucket and the element; one
 * that is not costs one.  There are no tombstones.  11 to 21 bytes an element.
 *
 * An element holds its key: at a fixed offset, given at init, lies a struct
 * usher__table_head.  The table reads it and never calls back.  It owns the buckets only;
 * an element belongs to the caller and must stay where it is while it is in the table.
 *
 * Growing and shrinking are gradual: a second array is allocated, and each insert and
 * erase moves one bucket of elements (or several sparse ones).  All elements of one home
 * bucket move together and in order, so a lookup compares its home with one number and
 * searches one array.  It was chosen over moving all at once because at 10 million
 * elements that is a pause of half a second, and the comparison cannot be measured.
 * The new array is not cleared at once, either.
 *
 * Memory: usher__table_reserve() allocates and can fail; inserting after it cannot.
 * usher__table_trim() may allocate a smaller array and does nothing if it cannot.
 * No locks: the caller serialises; lookups change nothing.
 */
#ifndef USHER_MEMORY_TABLE_H
#define USHER_MEMORY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <usher/usher.h>

#define USHER__TABLE_SLOTS 7u

/* Elements per bucket, on average, at most. */
#define USHER__TABLE_FILL 6u

/* The key of an element; set by the caller before the insert and constant until erased. */
struct usher__table_head {
    uint32_t hash; /* usher__table_hash() of bytes */
    uint16_t len;
    unsigned char bytes[];
};

struct usher__table_bucket {
    /* Byte i, from the lowest: tag of slot i, 0: empty.  Byte 7: how many elements passed
     * this bucket by on the way from their home; 255 means 255 or more and stays. */
    uint64_t tags;
    void *slot[USHER__TABLE_SLOTS];
};

struct usher__table_array {
    struct usher__table_bucket *bucket; /* on a cache line */
    void *block;                        /* what was allocated; NULL: none */
    uint32_t mask;                      /* buckets - 1 */
};

struct usher__table {
    struct usher__table_array cur;
    struct usher__table_array next; /* while it grows or shrinks */
    uint32_t moved;                 /* elements with a lower home in cur are in next */
    uint32_t ready;                 /* of next, buckets b with (b & cur.mask) < ready are set up */
    size_t count;
    size_t offset;
    uint64_t seed;
    const struct usher_allocator *alloc;
};

/* An empty table; allocates nothing.  @offset: of the struct usher__table_head in an
 * element.  @seed: random, or else chosen keys can make it slow.  @alloc outlives it. */
void usher__table_init(struct usher__table *t, const struct usher_allocator *alloc, size_t offset,
                       uint64_t seed);

/* Frees the arrays, not the elements.  The table is empty afterwards. */
void usher__table_done(struct usher__table *t);

/* See to it that @n inserts cannot fail, if nothing is trimmed in between.  False: out of
 * memory; nothing changed. */
bool usher__table_reserve(struct usher__table *t, size_t n);

/* Begin to shrink if less than an eighth of the room is used; free all if empty. */
void usher__table_trim(struct usher__table *t);

/* Equal for tables with the same seed. */
uint32_t usher__table_hash(const struct usher__table *t, const void *bytes, size_t len);

/* The element with this key, or NULL.  @hash is usher__table_hash() of it. */
void *usher__table_find(const struct usher__table *t, const void *bytes, size_t len, uint32_t hash);

/* No element in @t may have the key of @element.  False: no room, see reserve. */
bool usher__table_insert(struct usher__table *t, void *element);

/* By identity, not by key.  False: @element is not in the table. */
bool usher__table_erase(struct usher__table *t, const void *element);

/* Each element once, in no order: begin with *@cursor = 0, end at NULL.  No insert, erase
 * or trim in between; but elements may be freed after they were returned, if the table
 * is only done afterwards. */
void *usher__table_next(const struct usher__table *t, uint64_t *cursor);

static inline size_t usher__table_count(const struct usher__table *t)
{
    return t->count;
}

static inline const struct usher__table_head *usher__table_head(const struct usher__table *t,
                                                                const void *element)
{
    return (const void *)((const char *)element + t->offset);
}

/* The tag of @hash.  The home comes from the low bits of the hash, the tag from the high. */
static inline uint64_t usher__table_tag(uint32_t hash)
{
    uint32_t tag = hash >> 24;

    return tag == 0 ? 1 : tag;
}

/* 0x80 in each of the bytes 0 to 6 where @tags has @tag; no other bit is set. */
static inline uint64_t usher__table_match(uint64_t tags, uint64_t tag)
{
    const uint64_t low = UINT64_C(0x007f7f7f7f7f7f7f);
    uint64_t x = tags ^ (tag * UINT64_C(0x0001010101010101));

    return ~(((x & low) + low) | x) & ~low & (UINT64_MAX >> 8);
}

/* The index of the lowest byte marked by usher__table_match(). */
static inline unsigned usher__table_byte(uint64_t match)
{
    return (unsigned)__builtin_ctzll(match) / 8;
}

/* The array and the bucket in it where the search for @hash begins.  @t is not empty. */
static inline const struct usher__table_array *usher__table_home(const struct usher__table *t,
                                                                 uint32_t hash, uint32_t *ret_home)
{
    const struct usher__table_array *a = &t->cur;

    if ((hash & a->mask) < t->moved)
        a = &t->next;
    *ret_home = hash & a->mask;
    return a;
}

/* The first bucket of a search for @hash, to be prefetched; NULL: the table is empty. */
static inline const void *usher__table_place(const struct usher__table *t, uint32_t hash)
{
    const struct usher__table_array *a;
    uint32_t home;

    if (t->count == 0)
        return NULL;
    a = usher__table_home(t, hash, &home);
    return &a->bucket[home];
}

#endif
