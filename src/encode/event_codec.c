/* SPDX-License-Identifier: MIT */
/* Notices and gaps as bytes: an array with a form, the kind, and all members of the notice. */
#include "config.h"

#include <usher/command.h>

#include <string.h>

#include "core/pack.h"
#include "core/text.h"
#include "change/request_cache.h"
#include "change/thread.h"

#define FORM 1
#define MEMBERS 18

size_t usher_event_pack(const struct usher_event *event, unsigned char *to, size_t size)
{
    struct usher__packer p = { NULL, size, 0 };
    const struct usher_notice *n = event->notice;

    if (n == NULL)
        return 0;
    p.to = to;
    usher__pack_array(&p, MEMBERS);
    usher__pack_uint(&p, FORM);
    usher__pack_uint(&p, event->kind);
    usher__pack_uint(&p, (unsigned)n->noun);
    usher__pack_text(&p, n->scope.data, n->scope.size);
    usher__pack_uint(&p, n->epoch);
    usher__pack_uint(&p, n->version);
    usher__pack_uint(&p, n->before);
    usher__pack_int(&p, n->now_ms);
    usher__pack_uint(&p, (unsigned)n->verb);
    usher__pack_text(&p, n->subject.data, n->subject.size);
    usher__pack_uint(&p, n->from);
    usher__pack_uint(&p, n->to);
    usher__pack_uint(&p, n->token);
    usher__pack_int(&p, n->until_ms);
    usher__pack_text(&p, n->owner.data, n->owner.size);
    usher__pack_text(&p, n->data.data, n->data.size);
    usher__pack_uint(&p, n->was);
    usher__pack_uint(&p, n->mark);
    return p.n;
}

/* Read a number up to @max. */
static bool small(struct usher_unpacker *u, uint64_t max, uint64_t *ret)
{
    return usher_unpack_uint(u, ret) && *ret <= max;
}

static bool name(struct usher_unpacker *u, struct usher_text *ret)
{
    return usher_unpack_text(u, ret) && ret->size <= USHER_NAME_MAX;
}

static bool unpack(struct usher_unpacker *u, uint32_t *ret_kind, struct usher_notice *n)
{
    uint64_t form, kind, noun, verb, from, to;
    size_t members;

    if (!usher_unpack_array(u, &members) || members != MEMBERS || !small(u, FORM, &form) ||
        form != FORM || !small(u, USHER_EVENT_GAP, &kind) || kind < USHER_EVENT_NOTICE ||
        !small(u, UINT8_MAX, &noun) || !name(u, &n->scope) || !usher_unpack_uint(u, &n->epoch) ||
        !usher_unpack_uint(u, &n->version) || !usher_unpack_uint(u, &n->before) ||
        !usher_unpack_int(u, &n->now_ms) || !small(u, UINT16_MAX, &verb) || !name(u, &n->subject) ||
        !small(u, UINT8_MAX, &from) || !small(u, UINT8_MAX, &to) ||
        !usher_unpack_uint(u, &n->token) || !usher_unpack_int(u, &n->until_ms) ||
        !name(u, &n->owner) || !usher_unpack_text(u, &n->data) || !usher_unpack_uint(u, &n->was) ||
        !usher_unpack_uint(u, &n->mark) || u->at != u->end)
        return false;
    *ret_kind = (uint32_t)kind;
    n->noun = (enum usher_noun)noun;
    n->verb = (enum usher_verb)verb;
    n->from = (uint8_t)from;
    n->to = (uint8_t)to;
    return true;
}

enum usher_status usher_event_unpack(const unsigned char *bytes, size_t size, uint32_t *ret_kind,
                                     struct usher_notice *ret_notice)
{
    struct usher_unpacker u = { bytes, bytes + size };

    usher__message_clear();
    memset(ret_notice, 0, sizeof *ret_notice);
    if (size != 0 && unpack(&u, ret_kind, ret_notice)) {
        usher__notice_publish(ret_notice);
        return USHER_OK;
    }
    usher__message_set("event unpack: malformed event");
    return USHER_INVALID;
}
