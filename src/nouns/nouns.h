/* SPDX-License-Identifier: MIT */
#ifndef USHER_NOUNS_NOUNS_H
#define USHER_NOUNS_NOUNS_H

#include "change/work.h"

extern const struct usher__steps usher__number_steps, usher__queue_steps, usher__room_steps,
    usher__rooms_steps, usher__serial_steps, usher__id_steps;

#endif
