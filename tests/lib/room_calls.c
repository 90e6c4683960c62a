/* SPDX-License-Identifier: MIT */
/* The typed functions of rooms: each makes one command, executes it, and unpacks the reply. */
#include "config.h"

#include "lib/calls.h"
#include "lib/util.h"

#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "change/memory.h"
#include "change/result.h"
#include "change/request_cache.h"

static void command_init(struct usher_operation *c, enum usher_verb verb, const char *room,
                         const char *member)
{
    memset(c, 0, offsetof(struct usher_operation, arg));
    memset(&c->arg.room, 0, sizeof c->arg.room);
    c->verb = verb;
    c->scope = text(room);
    c->arg.room.member = text(member);
}

static void take(struct usher_text *to, const struct usher_text *from)
{
    if (from != NULL)
        *to = *from;
}

/* *@reply is the caller's to give back. */
static enum usher_status ask(struct usher_engine *e, const struct usher_operation *c,
                             struct usher_result *reply)
{
    enum usher_status status = usher_operate(e, c, reply, 1);
    const struct usher_room_result *r = &reply->of.room;

    if (status == USHER_INVALID)
        return status; /* the engine itself: the reply was not touched */
    if (reply->status == USHER_STALE && c->verb == USHER_ROOM_ROLE)
        usher__message_set("room role: %s: it is %s", usher_status_text(reply->status),
                           r->name_size != 0 ? r->name : "nobody's");
    else if (!USHER_IS_DONE(reply->status))
        usher__message_set("room %s: %s", usher_verb_word(c->verb),
                           reply->message[0] != '\0' ? reply->message
                                                     : usher_status_text(reply->status));
    return reply->status;
}

static enum usher_status tell(struct usher_engine *e, const struct usher_operation *c)
{
    struct usher_result reply;
    enum usher_status status;

    memset(&reply, 0, sizeof reply);
    status = ask(e, c, &reply);
    usher_result_done(&reply);
    return status;
}

static enum usher_status simple(struct usher_engine *e, enum usher_verb verb, const char *room,
                                const char *member)
{
    struct usher_operation c;

    command_init(&c, verb, room, member);
    return tell(e, &c);
}

/* For functions that hand out the reply. */
static enum usher_status fetch(struct usher_engine *e, const struct usher_operation *c,
                               struct usher_result *ret_reply)
{
    enum usher_status status;

    if (ret_reply == NULL) {
        usher__message_set("room %s: ret_reply is NULL", usher_verb_word(c->verb));
        return USHER_INVALID;
    }
    status = usher__engine_check(e);
    if (status != USHER_OK) {
        usher__result_init(ret_reply, USHER_ROOM, usher__allocator(NULL));
        ret_reply->status = status;
        return status;
    }
    return ask(e, c, ret_reply);
}

enum usher_status ask_room_open(struct usher_engine *e, const char *room,
                                const struct usher_room_result_settings *settings)
{
    static const uint32_t all = USHER_GIVEN_ROOM_CAPACITY | USHER_GIVEN_ROOM_LINGER |
                                USHER_GIVEN_ROOM_TTL | USHER_GIVEN_ROOM_AWAY |
                                USHER_GIVEN_ROOM_GRACE | USHER_GIVEN_ROOM_PRESENCE |
                                USHER_GIVEN_ROOM_PUSH;
    struct usher_operation c;
    struct usher_room_args *a = &c.arg.room;
    struct usher_result reply;
    bool erasing;
    enum usher_status status;

    command_init(&c, USHER_ROOM_OPEN, room, NULL);
    if (settings != NULL) {
        c.given = all;
        a->capacity = settings->capacity;
        a->linger_ms = settings->linger_ms;
        a->ttl_ms = settings->ttl_ms;
        a->away_ms = settings->away_ms;
        a->grace_ms = settings->grace_ms;
        a->presence_ms = settings->presence_ms;
        a->push = settings->push;
        if (settings->log != 0) {
            c.given |= USHER_GIVEN_ROOM_LOG;
            a->log = settings->log;
        }
        if (settings->requests != 0) {
            c.given |= USHER_GIVEN_ROOM_REQUESTS;
            a->requests = settings->requests;
        }
    }
    do { /* until nothing is left of the last room of the name */
        memset(&reply, 0, sizeof reply);
        status = ask(e, &c, &reply);
        erasing = status == USHER_REFUSED && reply.of.room.state == USHER_ROOM_STATE_CLOSING;
        usher_result_done(&reply);
    } while (erasing);
    return status;
}

enum usher_status ask_room_close(struct usher_engine *e, const char *room)
{
    struct usher_operation c;
    struct usher_result reply;
    bool some = false;
    enum usher_status status;

    command_init(&c, USHER_ROOM_CLOSE, room, NULL);
    do {
        status = ask(e, &c, &reply);
        some = some || status == USHER_OK;
    } while (status == USHER_OK && reply.of.room.more);
    return status == USHER_SAME && some ? USHER_OK : status;
}

enum usher_status ask_room_lock(struct usher_engine *e, const char *room)
{
    return simple(e, USHER_ROOM_LOCK, room, NULL);
}

enum usher_status ask_room_unlock(struct usher_engine *e, const char *room)
{
    return simple(e, USHER_ROOM_UNLOCK, room, NULL);
}

enum usher_status ask_room_set(struct usher_engine *e, const char *room, const char *field,
                               const struct usher_text *value, const struct usher_text *expected)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_SET, room, NULL);
    c.arg.room.field = text(field);
    take(&c.arg.room.value, value);
    take(&c.arg.room.expected, expected);
    return tell(e, &c);
}

enum usher_status ask_room_get(struct usher_engine *e, const char *room, const char *field,
                               struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_GET, room, NULL);
    c.arg.room.field = text(field);
    return fetch(e, &c, ret_reply);
}

enum usher_status ask_room_join(struct usher_engine *e, const char *room, const char *member,
                                const struct usher_text *fields)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_JOIN, room, member);
    take(&c.arg.room.fields, fields);
    return tell(e, &c);
}

enum usher_status ask_room_leave(struct usher_engine *e, const char *room, const char *member)
{
    return simple(e, USHER_ROOM_LEAVE, room, member);
}

enum usher_status ask_room_kick(struct usher_engine *e, const char *room, const char *member,
                                int64_t ban_ms)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_KICK, room, member);
    if (ban_ms >= 0) {
        c.given |= USHER_GIVEN_ROOM_BAN;
        c.arg.room.ban_ms = ban_ms;
    }
    return tell(e, &c);
}

enum usher_status ask_room_alive(struct usher_engine *e, const char *room, const char *member,
                                 uint64_t *ret_epoch, uint64_t *ret_version, uint64_t *ret_mark)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_ROOM_ALIVE, room, member);
    status = ask(e, &c, &reply);
    if (status == USHER_OK) {
        if (ret_epoch != NULL)
            *ret_epoch = reply.epoch;
        if (ret_version != NULL)
            *ret_version = reply.of.room.since;
        if (ret_mark != NULL)
            *ret_mark = reply.of.room.mark;
    }
    return status;
}

enum usher_status ask_room_member(struct usher_engine *e, const char *room, const char *member,
                                  const char *field, const struct usher_text *value,
                                  const struct usher_text *expected)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_MEMBER, room, member);
    c.arg.room.field = text(field);
    take(&c.arg.room.value, value);
    take(&c.arg.room.expected, expected);
    return tell(e, &c);
}

enum usher_status ask_room_all(struct usher_engine *e, const char *room, const char *field,
                               const struct usher_text *value)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_ALL, room, NULL);
    c.arg.room.field = text(field);
    take(&c.arg.room.value, value);
    return tell(e, &c);
}

enum usher_status ask_room_role(struct usher_engine *e, const char *room, const char *role,
                                const char *member, const char *expected)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_ROLE, room, member);
    c.arg.room.role = text(role);
    c.arg.room.expected = text(expected);
    return tell(e, &c);
}

enum usher_status ask_room_share(struct usher_engine *e, const char *room, const char *member,
                                 const char *share, const struct usher_text *fields)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_SHARE, room, member);
    c.arg.room.share = text(share);
    take(&c.arg.room.fields, fields);
    return tell(e, &c);
}

enum usher_status ask_room_unshare(struct usher_engine *e, const char *room, const char *share)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_UNSHARE, room, NULL);
    c.arg.room.share = text(share);
    return tell(e, &c);
}

static void set_max(struct usher_operation *c, size_t max)
{
    if (max == 0)
        return;
    c->given |= USHER_GIVEN_ROOM_MAX;
    c->arg.room.max = max > INT64_MAX ? INT64_MAX : (int64_t)max;
}

enum usher_status ask_room_snapshot(struct usher_engine *e, const char *room, uint64_t after,
                                    uint64_t since, size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_SNAPSHOT, room, NULL);
    if (after != 0) {
        c.given |= USHER_GIVEN_ROOM_AFTER;
        c.arg.room.after = (int64_t)after;
    }
    if (since != 0) {
        c.given |= USHER_GIVEN_ROOM_SINCE;
        c.arg.room.since = (int64_t)since;
    }
    set_max(&c, max);
    return fetch(e, &c, ret_reply);
}

enum usher_status ask_room_changes(struct usher_engine *e, const char *room, uint64_t since,
                                   size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_CHANGES, room, NULL);
    c.given |= USHER_GIVEN_ROOM_SINCE;
    c.arg.room.since = (int64_t)since;
    set_max(&c, max);
    return fetch(e, &c, ret_reply);
}

enum usher_replica_next replica_take(struct usher_replica *r,
                                     const struct usher_replica_question *q,
                                     const struct usher_result *result)
{
    struct usher_operation c;
    struct usher_reply *reply, *sent = NULL;
    enum usher_replica_next next;
    unsigned char *bytes;
    size_t size;

    command_init(&c, q->kind == USHER_REPLICA_REPLAY ? USHER_ROOM_CHANGES : USHER_ROOM_SNAPSHOT,
                 "r", NULL);
    reply = usher_reply_of(&c, result);
    size = usher_reply_pack(reply, NULL, 0);
    bytes = malloc(size + 1);
    if (bytes == NULL)
        abort();
    (void)usher_reply_pack(reply, bytes, size);
    (void)usher_reply_unpack(bytes, size, &sent);
    next = usher_replica_answer(r, q->ticket, sent);
    usher_reply_done(sent);
    usher_reply_done(reply);
    free(bytes);
    return next;
}

enum usher_status ask_room_sweep(struct usher_engine *e, const char *room, int64_t ttl_ms,
                                 struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_ROOM_SWEEP, room, NULL);
    if (ttl_ms > 0) {
        c.given |= USHER_GIVEN_ROOM_TTL;
        c.arg.room.ttl_ms = ttl_ms;
    }
    return fetch(e, &c, ret_reply);
}
