/* SPDX-License-Identifier: MIT */
/* The notices of which a notice of coalesced changes is made. */
#include "config.h"

#include <usher/room.h>

#include <string.h>

#include "change/request_cache.h"

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
    usher__notice_publish(ret_notice);
    return true;
}
