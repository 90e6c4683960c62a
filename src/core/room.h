/* SPDX-License-Identifier: MIT */
/* The events of rooms and of their members: room.def, member.def. */
#ifndef USHER_CORE_ROOM_H
#define USHER_CORE_ROOM_H

#include "machine.h"

enum usher__room_event {
#define E(name, code, word, text) USHER__ROOM_##name = code,
#include "room.def"
};

enum usher__member_event {
#define E(name, code, word, text) USHER__MEMBER_##name = code,
#include "member.def"
};

extern const struct usher__machine usher__room_machine, usher__member_machine;

#endif
