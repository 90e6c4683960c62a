/* SPDX-License-Identifier: MIT */
/* The digest of a room as its store has it: what a replica's is compared with. */
#include "config.h"

#include "replica/copy.h"

#include <string.h>

#include "core/text.h"
#include "engine/engine.h"
#include "engine/memory.h"

/* Times that it is begun anew because the room has changed between two pages. */
#define TRIES_MAX 100

struct pass {
    struct usher__sum sum;
    struct usher__copy alls; /* values of all members, and nothing else */
    uint64_t after;
};

/* One page.  OK: *@ret_more says whether there is another; STALE: begin anew. */
static enum usher_status add_page(struct pass *p, const struct usher_reply *reply, bool *ret_more)
{
    const struct usher_room_reply *room = &reply->of.room;

    p->alls.version = reply->version;
    p->alls.state = room->state;
    p->alls.epoch = reply->epoch;
    for (size_t i = 0; i < room->n_rows; i++) {
        const struct usher_room_row *row = &room->rows[i];
        enum usher_status status = USHER_OK;

        if (row->kind == USHER_ROOM_ALL_ROW)
            status = usher__copy_add(&p->alls, row);
        if (status == USHER_SAME) /* each page has them */
            continue;
        if (status == USHER_OK)
            status = usher__sum_row(&p->sum, &p->alls, row);
        if (status == USHER_INVALID) {
            usher__message_set("room digest: the store is damaged: a row of a snapshot");
            return USHER_UNAVAILABLE;
        }
        if (status != USHER_OK) {
            usher__message_set("room digest: %s", usher_status_text(status));
            return status;
        }
    }
    p->after = room->since;
    *ret_more = room->more;
    return USHER_OK;
}

static enum usher_status run_pass(struct usher_engine *e, const char *room, struct pass *p)
{
    bool more = true;
    uint64_t version = 0;

    memset(&p->sum, 0, sizeof p->sum);
    usher__copy_clear(&p->alls);
    p->after = 0;
    while (more) {
        struct usher_command c;
        struct usher_reply reply;
        enum usher_status status;

        /* As of the room's last change: a look applies no deadlines. */
        memset(&reply, 0, sizeof reply);
        memset(&c, 0, sizeof c);
        c.verb = USHER_ROOM_SNAPSHOT;
        c.scope.data = room;
        c.scope.size = strlen(room);
        c.given = USHER_GIVEN_NOW | USHER_GIVEN_ROOM_MAX;
        c.arg.room.max = USHER_LIST_MAX;
        if (version != 0) {
            c.given |= USHER_GIVEN_ROOM_IF_VERSION | USHER_GIVEN_ROOM_AFTER;
            c.arg.room.if_version = (int64_t)version;
            c.arg.room.after = (int64_t)p->after;
        }
        status = usher_execute(e, &c, &reply, 1);
        if (status != USHER_INVALID)
            status = reply.status;
        if (status == USHER_OK && version != 0 && reply.version != version)
            status = USHER_STALE;
        if (status == USHER_OK)
            status = add_page(p, &reply, &more);
        version = reply.version;
        usher_reply_done(&reply);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

enum usher_status usher_room_digest(struct usher_engine *e, const char *room, uint64_t *ret_epoch,
                                    uint64_t *ret_version, char ret_digest[33])
{
    struct pass p;
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (room == NULL || ret_digest == NULL || usher__scope_fault(room, strlen(room)) != NULL) {
        usher__message_set("room digest: room or ret_digest is wrong");
        return USHER_INVALID;
    }
    ret_digest[0] = '\0';
    usher__copy_init(&p.alls, usher__allocator(e->opt.alloc));
    status = USHER_STALE;
    for (int tries = 0; status == USHER_STALE && tries < TRIES_MAX; tries++)
        status = run_pass(e, room, &p);
    if (status == USHER_OK) {
        usher__sum_text(&p.sum, p.alls.state, p.alls.version, ret_digest);
        if (ret_epoch != NULL)
            *ret_epoch = p.alls.epoch;
        if (ret_version != NULL)
            *ret_version = p.alls.version;
    } else if (status == USHER_STALE) {
        usher__message_set("room digest: the room changes faster than it can be read");
    }
    usher__copy_clear(&p.alls);
    return status;
}
