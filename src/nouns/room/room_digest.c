/* SPDX-License-Identifier: MIT */
/* The digest of a room as its store has it: what a replica's is compared with. */
#include "config.h"

#include "replica/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <usher/replica.h>

#include "core/text.h"
#include "encode/reply.h"
#include "engine/engine.h"
#include "change/memory.h"

/* How often the digest starts again because the room has changed between two pages.  After that it
 * makes a copy, which takes memory for the whole room. */
#define TRIES_MAX 4
/* How often a copy starts again because the log does not reach back over one page. */
#define COPIES_MAX 100

struct pass {
    struct usher__sum sum;
    struct usher__copy alls; /* values of all members, and nothing else */
    uint64_t after;
};

/* One page.  OK: *@ret_more says whether there is another; STALE: start again. */
static enum usher_status add_page(struct pass *p, const struct usher_result *reply, bool *ret_more)
{
    const struct usher_room_result *room = &reply->of.room;

    p->alls.version = reply->version;
    p->alls.state = room->state;
    p->alls.epoch = reply->epoch;
    for (size_t i = 0; i < room->n_rows; i++) {
        const struct usher_room_result_row *row = &room->rows[i];
        enum usher_status status = USHER_OK;

        if (row->kind == USHER_ROOM_ROW_ALL)
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

/* A page as of the room's last change: a look applies no deadlines. */
static enum usher_status fetch_page(struct usher_engine *e, const char *room,
                                    const struct usher_room_args *args, uint64_t given,
                                    struct usher_operation *c, struct usher_result *reply)
{
    enum usher_status status;

    memset(reply, 0, sizeof *reply);
    memset(c, 0, sizeof *c);
    c->verb = USHER_ROOM_SNAPSHOT;
    c->scope.data = room;
    c->scope.size = strlen(room);
    c->given = USHER_GIVEN_NOW | USHER_GIVEN_ROOM_MAX | given;
    c->arg.room = *args;
    c->arg.room.max = USHER_LIST_MAX;
    status = usher_operate(e, c, reply, 1);
    return status != USHER_INVALID ? reply->status : status;
}

static enum usher_status run_pass(struct usher_engine *e, const char *room, struct pass *p)
{
    bool more = true;
    uint64_t version = 0;
    char epoch[17];

    memset(&p->sum, 0, sizeof p->sum);
    usher__copy_clear(&p->alls);
    p->after = 0;
    while (more) {
        struct usher_room_args args;
        struct usher_operation c;
        struct usher_result reply;
        enum usher_status status;

        memset(&args, 0, sizeof args);
        args.if_version = (int64_t)version;
        if (version != 0)
            args.epoch = (struct usher_text){ epoch, 16 };
        args.after = (int64_t)p->after;
        status = fetch_page(e, room, &args,
                            version != 0 ? USHER_GIVEN_ROOM_IF_VERSION | USHER_GIVEN_ROOM_AFTER : 0,
                            &c, &reply);
        if (status == USHER_OK && version != 0 && reply.version != version)
            status = USHER_STALE;
        if (status == USHER_OK)
            status = add_page(p, &reply, &more);
        version = reply.version;
        (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, reply.epoch);
        usher_result_done(&reply);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

/* Give the copy the answer @result to @c. */
static enum usher_status give(struct usher_engine *e, struct usher_replica *r, uint64_t ticket,
                              const struct usher_operation *c, const struct usher_result *result)
{
    struct usher_reply *reply = usher__replies_new(e->opt.alloc, 1);
    enum usher_status status;

    if (reply == NULL)
        return USHER_NOMEM;
    reply->verb = (uint32_t)c->verb;
    usher__reply_leave(reply, c, result);
    status = reply->status < USHER_INVALID ? USHER_OK : USHER_NOMEM;
    if (status == USHER_OK)
        (void)usher_replica_answer(r, ticket, reply);
    usher_reply_done(reply);
    return status;
}

/* The room changes all the time: as it is in the end of a copy. */
static enum usher_status of_copy(struct usher_engine *e, const char *room,
                                 struct usher_replica_about *ret_about, char ret_digest[33])
{
    struct usher_replica *r;
    enum usher_status status = usher_replica_open(room, e->opt.alloc, &r);

    ret_about->known = false;
    for (int copies = 0; status == USHER_OK && !ret_about->known;) {
        struct usher_replica_question q;
        struct usher_room_args args;
        struct usher_operation c;
        struct usher_result reply;

        usher_replica_ask(r, &q);
        if (q.after == 0 && ++copies > COPIES_MAX) {
            status = USHER_STALE;
            break;
        }
        memset(&args, 0, sizeof args);
        args.after = (int64_t)q.after;
        args.since = (int64_t)q.since;
        status = fetch_page(e, room, &args,
                            q.after != 0 ? USHER_GIVEN_ROOM_AFTER | USHER_GIVEN_ROOM_SINCE : 0, &c,
                            &reply);
        if (status == USHER_OK || status == USHER_STALE)
            status = give(e, r, q.ticket, &c, &reply);
        usher_result_done(&reply);
        usher_replica_show(r, ret_about);
    }
    if (status == USHER_OK)
        status = usher_replica_digest(r, ret_digest);
    usher_replica_close(r);
    return status;
}

enum usher_status usher_room_digest(struct usher_engine *e, const char *room, uint64_t *ret_epoch,
                                    uint64_t *ret_version, char ret_digest[33])
{
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    struct pass p;
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (room == NULL || ret_digest == NULL || usher__scope_fault(room, strlen(room)) != NULL) {
        usher__message_set("room digest: room is invalid, or ret_digest is NULL");
        return USHER_INVALID;
    }
    ret_digest[0] = '\0';
    usher__copy_init(&p.alls, usher__allocator(e->opt.alloc));
    status = USHER_STALE;
    for (int tries = 0; status == USHER_STALE && tries < TRIES_MAX; tries++)
        status = run_pass(e, room, &p);
    if (status == USHER_OK) {
        usher__sum_text(&p.sum, p.alls.state, p.alls.version, ret_digest);
        about.epoch = p.alls.epoch;
        about.version = p.alls.version;
    } else if (status == USHER_STALE) {
        status = of_copy(e, room, &about, ret_digest);
    }
    if (status == USHER_OK) {
        if (ret_epoch != NULL)
            *ret_epoch = about.epoch;
        if (ret_version != NULL)
            *ret_version = about.version;
    } else if (status == USHER_STALE) {
        usher__message_set("room digest: the room changes faster than it can be read");
    }
    usher__copy_clear(&p.alls);
    return status;
}
