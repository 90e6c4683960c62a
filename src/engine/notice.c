/* SPDX-License-Identifier: MIT */
/* Notices out of what logs and other notices hold. */
#include "config.h"

#include "engine/engine.h"

#include <string.h>

#include "steps/kept.h"

enum usher_status usher_notice_read(enum usher_noun noun, const struct usher_text *scope,
                                    uint64_t epoch, const struct usher_text *value,
                                    struct usher_notice *ret_notice)
{
    struct usher_unpacker u;

    usher__message_set("%s", "");
    if (scope == NULL || value == NULL || ret_notice == NULL) {
        usher__message_set("notice read: an argument is NULL");
        return USHER_INVALID;
    }
    u.at = (const unsigned char *)value->data;
    u.end = u.at + value->size;
    memset(ret_notice, 0, sizeof *ret_notice);
    if (value->size == 0 || !usher__notice_unpack(&u, ret_notice) || u.at != u.end) {
        usher__message_set("notice read: it is not understood");
        return USHER_INVALID;
    }
    ret_notice->noun = noun;
    ret_notice->scope = *scope;
    ret_notice->epoch = epoch;
    return USHER_OK;
}

static enum usher_subject subject_of_room(enum usher_verb verb)
{
    switch (verb) {
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_MEMBER:
    case USHER_ROOM_FADE:
    case USHER_ROOM_DROP:
    case USHER_ROOM_EXPIRE:
        return USHER_SUBJECT_MEMBER;
    case USHER_ROOM_SET:
    case USHER_ROOM_UNSET:
    case USHER_ROOM_ALL:
        return USHER_SUBJECT_FIELD;
    case USHER_ROOM_ROLE:
        return USHER_SUBJECT_ROLE;
    case USHER_ROOM_SHARE:
    case USHER_ROOM_UNSHARE:
        return USHER_SUBJECT_SHARE;
    default:
        return USHER_SUBJECT_NONE;
    }
}

enum usher_subject usher_notice_subject(const struct usher_notice *notice)
{
    if (notice->subject.size == 0 || notice->verb == USHER_NOTICE_LOST)
        return USHER_SUBJECT_NONE;
    switch (notice->noun) {
    case USHER_NUMBER:
        return USHER_SUBJECT_NUMBER;
    case USHER_QUEUE: /* a user has no token, or an agent */
        return notice->token != 0 && notice->owner.size == 0 ? USHER_SUBJECT_AGENT
                                                             : USHER_SUBJECT_USER;
    case USHER_ROOM:
        return subject_of_room(notice->verb);
    case USHER_SERIAL:
        return USHER_SUBJECT_SERIAL;
    default:
        return USHER_SUBJECT_NONE;
    }
}

bool usher_room_presence(const struct usher_notice *notice, size_t *at,
                         struct usher_notice *ret_notice)
{
    struct usher_unpacker u;

    if (notice->verb != USHER_ROOM_PRESENCE || *at >= notice->data.size)
        return false;
    u.at = (const unsigned char *)notice->data.data + *at;
    u.end = (const unsigned char *)notice->data.data + notice->data.size;
    memset(ret_notice, 0, sizeof *ret_notice);
    if (!usher__notice_unpack(&u, ret_notice))
        return false;
    *at = (size_t)(u.at - (const unsigned char *)notice->data.data);
    ret_notice->noun = USHER_ROOM;
    ret_notice->scope = notice->scope;
    ret_notice->epoch = notice->epoch;
    return true;
}
