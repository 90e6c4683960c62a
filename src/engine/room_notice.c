/* SPDX-License-Identifier: MIT */
/* Notices of rooms out of what logs and other notices hold. */
#include "config.h"

#include "engine/engine.h"

#include <string.h>

#include "steps/kept.h"

enum usher_status usher_room_notice(const struct usher_room_result_row *row,
                                    const struct usher_text *room, uint64_t epoch,
                                    struct usher_notice *ret_notice)
{
    struct usher_unpacker u;

    usher__message_set("%s", "");
    if (row == NULL || room == NULL || ret_notice == NULL || row->kind != USHER_ROOM_ROW_NOTICE) {
        usher__message_set("room notice: the row is none of `changes`");
        return USHER_INVALID;
    }
    u.at = (const unsigned char *)row->value.data;
    u.end = u.at + row->value.size;
    memset(ret_notice, 0, sizeof *ret_notice);
    if (row->value.size == 0 || !usher__notice_unpack(&u, ret_notice) || u.at != u.end) {
        usher__message_set("room notice: it is not understood");
        return USHER_INVALID;
    }
    ret_notice->noun = USHER_ROOM;
    ret_notice->scope = *room;
    ret_notice->epoch = epoch;
    return USHER_OK;
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
