/* SPDX-License-Identifier: MIT */
#ifndef USHER_ROOM_ROOM_NOTICE_H
#define USHER_ROOM_ROOM_NOTICE_H

#include <usher/room.h>

/* For usher_notice_subject(). */
enum usher_subject usher__room_subject(const struct usher_notice *notice);

#endif
