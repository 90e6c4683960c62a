/* SPDX-License-Identifier: MIT */
/* The events of rooms and of their members: room.def, member.def. */
#ifndef USHER_CORE_ROOM_H
#define USHER_CORE_ROOM_H

#include "machine.h"

enum usher__room_event {
#define E(name, code, word, text) USHER__ROOM_##name = code,
#include "room.def"
};

enum usher__room_guard {
    USHER__ROOM_IF_ANY = USHER__ANY,
#define G(name, code, word, text) USHER__ROOM_IF_##name = code,
#include "room.def"
};

enum usher__member_event {
#define E(name, code, word, text) USHER__MEMBER_##name = code,
#include "member.def"
};

enum usher__member_guard {
    USHER__MEMBER_IF_ANY = USHER__ANY,
#define G(name, code, word, text) USHER__MEMBER_IF_##name = code,
#include "member.def"
};

extern const struct usher__machine usher__room_machine, usher__member_machine;

#endif
