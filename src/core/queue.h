/* SPDX-License-Identifier: MIT */
/* The events of agents and users of a queue: agent.def, user.def. */
#ifndef USHER_CORE_QUEUE_H
#define USHER_CORE_QUEUE_H

#include "machine.h"

enum usher__agent_event {
#define E(name, code, word, text) USHER__AGENT_##name = code,
#include "agent.def"
    USHER__AGENT_EVENTS = 12
};

enum usher__user_event {
#define E(name, code, word, text) USHER__USER_##name = code,
#include "user.def"
    USHER__USER_EVENTS = 10
};

extern const struct usher__machine usher__agent_machine, usher__user_machine;

#endif
