/* SPDX-License-Identifier: MIT */
/* Registration of the nouns with the code that runs their steps: a line each. */
#include "config.h"

#include "nouns.h"

const struct usher__steps *const usher__noun_steps[USHER__NOUNS] = {
    [0] = NULL,
    [USHER_NUMBER] = &usher__number_steps,
    [USHER_QUEUE] = &usher__queue_steps,
    [USHER_ROOM] = &usher__room_steps,
    [USHER_SERIAL] = &usher__serial_steps,
    [USHER_ID] = &usher__id_steps,
    [USHER_ROOMS] = &usher__rooms_steps,
};
