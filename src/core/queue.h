/* SPDX-License-Identifier: MIT */
/* The events of agents and users of a queue: agent.def, user.def. */
#ifndef USHER_CORE_QUEUE_H
#define USHER_CORE_QUEUE_H

#include <stdbool.h>

#include <usher/usher.h>

#include "machine.h"

enum usher__agent_event {
#define E(name, code, word, text) USHER__AGENT_##name = code,
#include "agent.def"
};

enum usher__agent_guard {
    USHER__AGENT_IF_ANY = USHER__ANY,
#define G(name, code, word, text) USHER__AGENT_IF_##name = code,
#include "agent.def"
};

enum usher__user_event {
#define E(name, code, word, text) USHER__USER_##name = code,
#include "user.def"
};

enum usher__user_guard {
    USHER__USER_IF_ANY = USHER__ANY,
#define G(name, code, word, text) USHER__USER_IF_##name = code,
#include "user.def"
};

extern const struct usher__machine usher__agent_machine, usher__user_machine;

/* Bounds of the histogram of waits, in seconds. */
#define USHER__WAIT_BOUNDS 15
static const int64_t usher__wait_bounds[USHER__WAIT_BOUNDS] = { 5,   10,  15,   20,   30,
                                                                45,  60,  90,   120,  180,
                                                                300, 600, 1200, 1800, 3600 };

/* Does a visit that ended with @outcome end in a room? */
static inline bool usher__queue_had_room(enum usher_queue_outcome outcome)
{
    return outcome != USHER_QUEUE_OUTCOME_LEFT && outcome != USHER_QUEUE_OUTCOME_LOST &&
           outcome != USHER_QUEUE_OUTCOME_TIMEOUT;
}

#endif
