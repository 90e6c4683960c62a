/* SPDX-License-Identifier: MIT */
/* Every machine but that of numbers, whose rows have claims (number.c). */
#include "config.h"

#include "machine.h"

#include <stddef.h>

#include "room.h"
#include "serial_machine.h"

#define MACHINE_DEF "room.def"
#define THE(x) room_##x
#define STATE(x) USHER_ROOM_STATE_##x
#define EVENT(x) USHER__ROOM_##x
#define MACHINE_WORD "room"
#define MACHINE_NOUN USHER_ROOM
#define MACHINE_NAME usher__room_machine
#include "machine_table.h"

#define MACHINE_DEF "member.def"
#define THE(x) member_##x
#define STATE(x) USHER_ROOM_MEMBER_##x
#define EVENT(x) USHER__MEMBER_##x
#define MACHINE_WORD "member"
#define MACHINE_NOUN USHER_ROOM
#define MACHINE_NAME usher__member_machine
#include "machine_table.h"

const char *usher_room_state_word(enum usher_room_state state)
{
    return (unsigned)state < usher__room_machine.n_states ? room_state_words[state] : "?";
}

const char *usher_room_member_state_word(enum usher_room_member_state state)
{
    return (unsigned)state < usher__member_machine.n_states ? member_state_words[state] : "?";
}

#define MACHINE_DEF "serial.def"
#define MACHINE_NAME usher__serial_machine
#define MACHINE_WORD "serial"
#define MACHINE_NOUN USHER_SERIAL
#define THE(x) serial_##x
#define STATE(x) USHER_SERIAL_STATE_##x
#define EVENT(x) USHER__SERIAL_E_##x
#include "machine_table.h"

#include "queue.h"

#define MACHINE_DEF "agent.def"
#define MACHINE_NAME usher__agent_machine
#define MACHINE_WORD "agent"
#define MACHINE_NOUN USHER_QUEUE
#define THE(x) agent_##x
#define STATE(x) USHER_QUEUE_AGENT_##x
#define EVENT(x) USHER__AGENT_##x
#include "machine_table.h"

#define MACHINE_DEF "user.def"
#define MACHINE_NAME usher__user_machine
#define MACHINE_WORD "user"
#define MACHINE_NOUN USHER_QUEUE
#define THE(x) user_##x
#define STATE(x) USHER_QUEUE_USER_##x
#define EVENT(x) USHER__USER_##x
#include "machine_table.h"

const struct usher__machine *const usher__machines[] = {
    &usher__agent_machine,  &usher__user_machine,   &usher__room_machine,
    &usher__member_machine, &usher__serial_machine, NULL,
};
