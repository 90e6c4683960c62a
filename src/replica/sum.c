/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "replica/copy.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <usher/store.h>

/* Own fields of members and shares are things of their own. */
#define OWN 16u

static void hash_int(XXH3_state_t *h, uint64_t value)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    (void)XXH3_128bits_update(h, bytes, sizeof bytes);
}

static void hash_text(XXH3_state_t *h, const struct usher_text *text)
{
    hash_int(h, text->size);
    if (text->size != 0)
        (void)XXH3_128bits_update(h, text->data, text->size);
}

struct part {
    unsigned kind, state;
    struct usher_text id, owner, value;
    uint64_t version;
};

static void sum_part(struct usher__sum *sum, const struct part *p)
{
    XXH3_state_t h;
    XXH128_hash_t hash;

    XXH3_INITSTATE(&h);
    (void)XXH3_128bits_reset(&h);
    hash_int(&h, p->kind);
    hash_text(&h, &p->id);
    hash_text(&h, &p->owner);
    hash_int(&h, p->state);
    hash_int(&h, p->version);
    hash_text(&h, &p->value);
    hash = XXH3_128bits_digest(&h);
    sum->low += hash.low64;
    sum->high += hash.high64 + (sum->low < hash.low64);
    sum->n++;
}

static enum usher_status sum_own(struct usher__sum *sum, const struct usher__copy *c,
                                 const struct usher_room_row *row)
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
        if (row->kind == USHER_ROOM_MEMBER_ROW)
            all = usher__copy_find(c, USHER_ROOM_ALL_ROW, p.owner.data, p.owner.size);
        if (all == NULL || all->version <= p.version)
            sum_part(sum, &p);
    }
    return USHER_OK;
}

enum usher_status usher__sum_row(struct usher__sum *sum, const struct usher__copy *c,
                                 const struct usher_room_row *row)
{
    struct part p;

    memset(&p, 0, sizeof p);
    p.kind = (unsigned)row->kind;
    p.id = row->id;
    p.version = row->version;
    switch (row->kind) {
    case USHER_ROOM_FIELD_ROW:
    case USHER_ROOM_ALL_ROW:
        p.value = row->value;
        break;
    case USHER_ROOM_ROLE_ROW:
    case USHER_ROOM_SHARE_ROW:
        p.owner = row->owner;
        break;
    case USHER_ROOM_MEMBER_ROW:
        p.state = (unsigned)row->state;
        break;
    default:
        return USHER_INVALID;
    }
    sum_part(sum, &p);
    if (row->kind == USHER_ROOM_MEMBER_ROW || row->kind == USHER_ROOM_SHARE_ROW)
        return sum_own(sum, c, row);
    return USHER_OK;
}

void usher__sum_text(const struct usher__sum *sum, enum usher_room_state state, uint64_t version,
                     char ret_digest[33])
{
    static const char digits[] = "0123456789abcdef";
    XXH3_state_t h;
    XXH128_canonical_t canonical;

    XXH3_INITSTATE(&h);
    (void)XXH3_128bits_reset(&h);
    hash_int(&h, (uint64_t)state);
    hash_int(&h, version);
    hash_int(&h, sum->n);
    hash_int(&h, sum->low);
    hash_int(&h, sum->high);
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&h));
    for (size_t i = 0; i < 16; i++) {
        ret_digest[2 * i] = digits[canonical.digest[i] >> 4];
        ret_digest[2 * i + 1] = digits[canonical.digest[i] & 15];
    }
    ret_digest[32] = '\0';
}

uint64_t usher__notice_print(const struct usher_notice *n)
{
    XXH3_state_t h;
    uint64_t hash;

    XXH3_INITSTATE(&h);
    (void)XXH3_128bits_reset(&h);
    hash_int(&h, (uint64_t)n->verb);
    hash_int(&h, n->version);
    hash_int(&h, (uint64_t)n->now_ms);
    hash_int(&h, n->from);
    hash_int(&h, n->to);
    hash_text(&h, &n->subject);
    hash_text(&h, &n->owner);
    hash_text(&h, &n->data);
    hash = XXH3_128bits_digest(&h).low64;
    return hash != 0 ? hash : 1;
}

uint64_t usher__thing_hash(unsigned kind, const char *id, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(id, size, seed + kind);
}
