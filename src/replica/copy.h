/* SPDX-License-Identifier: MIT */
/*
 * A copy of what is seen of a room at one version, and how a notice changes it.
 *
 * Things are found by (kind, id) through a hash table, and stand in one list per kind in the
 * order in which they came.  A role or share hangs on its member, and goes with it.
 */
#ifndef USHER_REPLICA_COPY_H
#define USHER_REPLICA_COPY_H

#include <usher/store/operation.h>

#define USHER__THING_KINDS (USHER_ROOM_ROW_SHARE + 1)

struct usher__thing {
    struct usher__thing *chain;           /* of the table */
    struct usher__thing *before, *behind; /* of its kind */
    struct usher__thing *holder;          /* role, share: the member */
    struct usher__thing *owned;           /* member: the first of its roles and shares */
    struct usher__thing *owned_behind;
    uint64_t hash, version;
    int64_t since_ms;
    unsigned char *value; /* of a member or share: name, value, version, … packed */
    size_t value_size;
    uint8_t kind, state, id_size;
    char id[]; /* and a NUL */
};

struct usher__copy {
    const struct usher_allocator *alloc;
    bool known; /* else it is empty and means nothing */
    enum usher_room_state state;
    uint64_t epoch, version, mark;
    /* A snapshot whose pages have not all come: it has the members that joined up to @after, and
     * roles are not linked to their holders, which may not be there yet. */
    bool partial;
    uint64_t after;
    struct usher__thing **table;
    size_t table_size; /* a power of two, or 0 */
    size_t n;
    uint64_t count[USHER__THING_KINDS];
    struct usher__thing *first[USHER__THING_KINDS], *last[USHER__THING_KINDS];
};

void usher__copy_init(struct usher__copy *c, const struct usher_allocator *alloc);
/* All of it goes, and it is as after init. */
void usher__copy_clear(struct usher__copy *c);

struct usher__thing *usher__copy_find(const struct usher__copy *c, unsigned kind, const char *id,
                                      size_t size);
void usher__copy_row(const struct usher__thing *t, struct usher_room_result_row *ret_row);

/*
 * Add a row of a snapshot to a partial copy, members in the order they joined.  USHER_OK;
 * USHER_SAME: a value of all that came with a page before; USHER_INVALID: it is none, is there
 * already, or belongs to a member that is not there; USHER_NOMEM.  But for USHER_OK nothing has
 * changed.
 */
enum usher_status usher__copy_add(struct usher__copy *c, const struct usher_room_result_row *row);
/* All rows were added, and it is whole: roles find their holders.  False: one has none. */
bool usher__copy_finish(struct usher__copy *c);

/*
 * Apply the change of @n, as far as it concerns this copy, and take over its version and mark.  It
 * must be the next one.
 * USHER_OK; USHER_INVALID: @n lacks data, or cannot be of this room at this version, and nothing
 * has changed; USHER_NOMEM: it may be half done, clear the copy.
 */
enum usher_status usher__copy_apply(struct usher__copy *c, const struct usher_notice *n);

/* Fields of a member or share: take the next off @u.  @ret_version NULL: they have none. */
struct usher_unpacker;
bool usher__own_begin(const struct usher_text *packed, bool versions, struct usher_unpacker *u,
                      size_t *ret_n);
bool usher__own_next(struct usher_unpacker *u, struct usher_text *ret_name,
                     struct usher_text *ret_value, uint64_t *ret_version);

/* ---- sum.c: what is hashed, see replica.h ---- */

struct usher__sum {
    uint64_t low, high, n;
};

/* Add @row, and the fields in it, to @sum.  @c has the values of all that are in the room.
 * USHER_OK, USHER_INVALID: not a row. */
enum usher_status usher__sum_row(struct usher__sum *sum, const struct usher__copy *c,
                                 const struct usher_room_result_row *row);
void usher__sum_text(const struct usher__sum *sum, enum usher_room_state state, uint64_t version,
                     char ret_digest[33]);

uint64_t usher__thing_hash(unsigned kind, const char *id, size_t size, uint64_t seed);

#endif
