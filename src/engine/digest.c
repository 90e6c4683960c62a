/* SPDX-License-Identifier: MIT */
/* The digest of a scope: equal scopes have equal ones, on any store. */
#include "config.h"

#include <string.h>

#include "core/text.h"
#include "engine/engine.h"
#include "engine/scopes.h"
#include "replica/hash.h"
#include "change/work.h"

struct digest {
    struct usher__hash hash;
    const struct usher__steps *steps; /* of the noun; NULL: it has none */
};

static enum usher_status digest_item(void *payload, const struct usher_item *item)
{
    struct digest *d = payload;
    struct usher__hash *h = &d->hash;

    if (item->kind == USHER_ITEM_SCOPE) {
        const struct usher_scope *s = item->scope;

        usher__hash_int(h, s->noun);
        usher__hash_text(h, &s->name);
        usher__hash_int(h, s->version);
        usher__hash_int(h, (uint64_t)s->clock_ms);
        for (int i = 0; i < USHER_COUNTS; i++)
            if (d->steps == NULL || (d->steps->statistics >> i & 1u) == 0)
                usher__hash_int(h, (uint64_t)s->counts[i]);
        for (int i = 0; i < USHER_SETTINGS; i++)
            usher__hash_int(h, (uint64_t)s->settings[i]);
    } else if (item->kind == USHER_ITEM_RECORD) {
        const struct usher_record *r = item->record;

        usher__hash_int(h, r->kind);
        usher__hash_text(h, &r->id);
        usher__hash_int(h, r->state);
        usher__hash_int(h, r->slots);
        usher__hash_int(h, r->rank);
        usher__hash_int(h, r->order);
        usher__hash_int(h, r->token);
        usher__hash_int(h, (uint64_t)r->until_ms);
        for (int i = 0; i < USHER_NUMBERS; i++)
            if (d->steps == NULL || r->kind != d->steps->store_kind || i != d->steps->store_n)
                usher__hash_int(h, (uint64_t)r->n[i]);
        usher__hash_text(h, &r->owner);
        usher__hash_text(h, &r->group);
        usher__hash_text(h, &r->data);
    } else if (item->kind == USHER_ITEM_FAULT && item->scope != NULL) {
        return USHER_UNAVAILABLE; /* it exists, but cannot be read: no digest */
    }
    return USHER_OK;
}

enum usher_status usher_digest(struct usher_engine *e, enum usher_noun noun, const char *scope,
                               char ret_digest[33])
{
    struct digest d;
    struct usher_text name;
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (usher__steps((unsigned)noun) == NULL || scope == NULL || ret_digest == NULL ||
        usher__scope_fault(scope, strlen(scope)) != NULL) {
        usher__message_set("digest: noun or scope is invalid, or ret_digest is NULL");
        return USHER_INVALID;
    }
    name.data = scope;
    name.size = strlen(scope);
    usher__hash_begin(&d.hash);
    d.steps = usher__steps((unsigned)noun);
    status = usher__engine_scan(e, e->timeout_ms, "digest", noun, &name, digest_item, &d);
    if (status != USHER_OK)
        return status;
    usher__hash_hex(&d.hash, ret_digest);
    return USHER_OK;
}
