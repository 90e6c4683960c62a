/* SPDX-License-Identifier: MIT */
/* Every machine. */
#include "config.h"

#include "machine.h"

#include <stddef.h>

#include "number.h"
#include "queue.h"
#include "room.h"
#include "serial_machine.h"
#include "verbs.h"

#define MACHINE_DEF "number.def"
#define THE(x) number_##x
#define STATE(x) USHER_NUMBER_STATE_##x
#define EVENT(x) USHER__NUMBER_##x
#define GUARD(x) USHER__NUMBER_IF_##x
#define MACHINE_WORD "number"
#define MACHINE_NOUN USHER_NUMBER
#define MACHINE_NAME usher__number_machine
#include "machine_table.h"

const char *const usher__number_list_words[] = {
#define S(name, code, word, lists, text) [code] = word,
#include "number.def"
    [USHER_NUMBER_STATE_BUSY] = "busy",
    NULL,
};

const char *usher_number_state_word(enum usher_number_state state)
{
    return (unsigned)state < usher__number_machine.n_states ? number_state_words[state] : "?";
}

#define MACHINE_DEF "room.def"
#define THE(x) room_##x
#define STATE(x) USHER_ROOM_STATE_##x
#define EVENT(x) USHER__ROOM_##x
#define GUARD(x) USHER__ROOM_IF_##x
#define MACHINE_WORD "room"
#define MACHINE_NOUN USHER_ROOM
#define MACHINE_NAME usher__room_machine
#include "machine_table.h"

#define MACHINE_DEF "member.def"
#define THE(x) member_##x
#define STATE(x) USHER_ROOM_MEMBER_##x
#define EVENT(x) USHER__MEMBER_##x
#define GUARD(x) USHER__MEMBER_IF_##x
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
#define GUARD(x) USHER__SERIAL_IF_##x
#include "machine_table.h"

#define MACHINE_DEF "agent.def"
#define MACHINE_NAME usher__agent_machine
#define MACHINE_WORD "agent"
#define MACHINE_NOUN USHER_QUEUE
#define THE(x) agent_##x
#define STATE(x) USHER_QUEUE_AGENT_##x
#define EVENT(x) USHER__AGENT_##x
#define GUARD(x) USHER__AGENT_IF_##x
#include "machine_table.h"

#define MACHINE_DEF "user.def"
#define MACHINE_NAME usher__user_machine
#define MACHINE_WORD "user"
#define MACHINE_NOUN USHER_QUEUE
#define THE(x) user_##x
#define STATE(x) USHER_QUEUE_USER_##x
#define EVENT(x) USHER__USER_##x
#define GUARD(x) USHER__USER_IF_##x
#include "machine_table.h"

const struct usher__machine *const usher__machines[] = {
    &usher__number_machine,
    &usher__agent_machine,
    &usher__user_machine,
    &usher__room_machine,
    &usher__member_machine,
    &usher__serial_machine,
    NULL,
};

const char *usher_serial_state_word(enum usher_serial_state state)
{
    if (state == USHER_SERIAL_STATE_PAST)
        return "past";
    return (unsigned)state < usher__serial_machine.n_states
               ? usher__serial_machine.state_words[state]
               : "?";
}
