/* SPDX-License-Identifier: MIT */
/* The nouns and the drivers that are built into the library, a line each.  No other file of src
 * names a driver. */
#include "config.h"

#include "builtin.h"

#include "../backends/memory/memory.h"
#include "change/hooks.h"
#include "nouns/nouns.h"
#ifdef USHER_WITH_SQLITE
#include "../backends/sqlite/authority.h"
#include "../backends/sqlite/history.h"
#include "../backends/sqlite/sqlite.h"
#endif
#ifdef USHER_WITH_REDIS
#include "../backends/redis/redis.h"
#include "../backends/redis/script.h"
#endif

const struct usher__steps *const usher__noun_steps[USHER__NOUNS] = {
    [0] = NULL,
    [USHER_NUMBER] = &usher__number_steps,
    [USHER_QUEUE] = &usher__queue_steps,
    [USHER_ROOM] = &usher__room_steps,
    [USHER_SERIAL] = &usher__serial_steps,
    [USHER_ID] = &usher__id_steps,
    [USHER_ROOMS] = &usher__rooms_steps,
};

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

/* clang-format off */
const struct usher_driver usher__builtin_drivers[] = {
#ifdef USHER_WITH_REDIS
    { "redis", usher__redis_open, NULL, NULL },
    { "redis+unix", usher__redis_open, NULL, NULL },
    { "redis+cluster", usher__redis_open, NULL, NULL },
    { "redis+sentinel", usher__redis_open, NULL, NULL },
#ifdef USHER_WITH_TLS
    { "rediss", usher__redis_open, NULL, NULL },
    { "rediss+cluster", usher__redis_open, NULL, NULL },
    { "rediss+sentinel", usher__redis_open, NULL, NULL },
#endif
#endif
#ifdef USHER_WITH_SQLITE
    { "sqlite", usher__sqlite_open, NULL, NULL },
#endif
    { "memory", usher__memory_open, NULL, NULL },
    { NULL, NULL, NULL, NULL },
};
/* clang-format on */

#ifdef USHER_WITH_SQLITE
usher__builtin_authority_fn *const usher__builtin_authority = usher__sqlite_authority;
usher__builtin_history_fn *const usher__builtin_history = usher__sqlite_history;
#else
usher__builtin_authority_fn *const usher__builtin_authority = NULL;
usher__builtin_history_fn *const usher__builtin_history = NULL;
#endif
#ifdef USHER_WITH_REDIS
usher__builtin_script_fn *const usher__builtin_direct_script = usher__redis_direct_script;
#else
usher__builtin_script_fn *const usher__builtin_direct_script = NULL;
#endif
