/* SPDX-License-Identifier: MIT */
/* Notices of rooms: their subjects, and notices of coalesced changes. */
#include "config.h"

#include <string.h>

#include "nouns/room/room_notice.h"
#include "change/request_cache.h"

enum usher_subject usher__room_subject(const struct usher_notice *notice)
{
    switch (notice->verb) {
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
