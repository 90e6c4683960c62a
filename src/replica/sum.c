/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "replica/copy.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <usher/store/store.h>

#include "replica/hash.h"

/* Own fields of members and shares are things of their own. */
#define OWN 16u

struct part {
    unsigned kind, state;
    struct usher_text id, owner, value;
    uint64_t version;
};

static void sum_part(struct usher__sum *sum, const struct part *p)
{
    struct usher__hash h;
    uint64_t low, high;

    usher__hash_begin(&h);
    usher__hash_int(&h, p->kind);
    usher__hash_text(&h, &p->id);
    usher__hash_text(&h, &p->owner);
    usher__hash_int(&h, p->state);
    usher__hash_int(&h, p->version);
    usher__hash_text(&h, &p->value);
    usher__hash_end(&h, &low, &high);
    sum->low += low;
    sum->high += high + (sum->low < low);
    sum->n++;
}

static enum usher_status sum_own(struct usher__sum *sum, const struct usher__copy *c,
                                 const struct usher_room_result_row *row)
{
    struct part p;
    struct usher_unpacker u;
    size_t n;

    memset(&p, 0, sizeof p);
    p.kind = OWN + (unsigned)row->kind;
    p.id = row->id;
    if (!usher__own_begin(&row->value, true, &u, &n))
        return USHER_INVALID;
    for (size_t i = 0; i < n; i++) {
        const struct usher__thing *all = NULL;

        if (!usher__own_next(&u, &p.owner, &p.value, &p.version))
            return USHER_INVALID;
        if (row->kind == USHER_ROOM_ROW_MEMBER)
            all = usher__copy_find(c, USHER_ROOM_ROW_ALL, p.owner.data, p.owner.size);
        if (all == NULL || all->version <= p.version)
            sum_part(sum, &p);
    }
    return USHER_OK;
}

enum usher_status usher__sum_row(struct usher__sum *sum, const struct usher__copy *c,
                                 const struct usher_room_result_row *row)
{
    struct part p;

    memset(&p, 0, sizeof p);
    p.kind = (unsigned)row->kind;
    p.id = row->id;
    p.version = row->version;
    switch (row->kind) {
    case USHER_ROOM_ROW_FIELD:
    case USHER_ROOM_ROW_ALL:
        p.value = row->value;
        break;
    case USHER_ROOM_ROW_ROLE:
    case USHER_ROOM_ROW_SHARE:
        p.owner = row->owner;
        break;
    case USHER_ROOM_ROW_MEMBER:
        p.state = (unsigned)row->state;
        break;
    default:
        return USHER_INVALID;
    }
    sum_part(sum, &p);
    if (row->kind == USHER_ROOM_ROW_MEMBER || row->kind == USHER_ROOM_ROW_SHARE)
        return sum_own(sum, c, row);
    return USHER_OK;
}

void usher__sum_text(const struct usher__sum *sum, enum usher_room_state state, uint64_t version,
                     char ret_digest[33])
{
    struct usher__hash h;

    usher__hash_begin(&h);
    usher__hash_int(&h, (uint64_t)state);
    usher__hash_int(&h, version);
    usher__hash_int(&h, sum->n);
    usher__hash_int(&h, sum->low);
    usher__hash_int(&h, sum->high);
    usher__hash_hex(&h, ret_digest);
}

uint64_t usher__thing_hash(unsigned kind, const char *id, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(id, size, seed + kind);
}
