/* SPDX-License-Identifier: MIT */
/* Registration of the nouns with the engine: a line each. */
#include "config.h"

#include "change/hooks.h"

static const struct usher__hooks none;

const struct usher__hooks *const usher__noun_hooks[USHER__NOUNS] = {
    [0] = &none,
    [USHER_NUMBER] = &usher__number_hooks,
    [USHER_QUEUE] = &usher__queue_hooks,
    [USHER_ROOM] = &usher__room_hooks,
    [USHER_SERIAL] = &usher__serial_hooks,
    [USHER_ID] = &usher__id_hooks,
    [USHER_ROOMS] = &usher__rooms_hooks,
    [7] = &none, /* USHER_NOTICE_LOST */
    [USHER_STORE] = &usher__store_hooks,
};
