/* SPDX-License-Identifier: MIT */
/*
 * Commands of rooms, with the updates of the room directory, as steps for the store.  The caller
 * can wait for each step, or execute it asynchronously.
 */
#ifndef USHER_ROOM_ROOM_PLAN_H
#define USHER_ROOM_ROOM_PLAN_H

#include <usher/store/operation.h>

#include "change/hooks.h"
#include "nouns/room/room_directory.h"

/* The entries of some rooms: commands on them that go to the store together. */
struct usher__room_entries {
    const struct usher_allocator *alloc;
    size_t n, room;
    struct usher__room_asked *asked; /* NULL: none, and no space for any */
    struct usher_operation *commands;
    struct usher_result *replies;
    const struct usher_operation **of; /* the command of the application for which each entry is */
};

enum usher__room_stage {
    USHER__ROOM_BEGIN,
    USHER__ROOM_PUT,
    USHER__ROOM_SEEN,
    USHER__ROOM_ERASE_NEXT,
    USHER__ROOM_SECTION,
    USHER__ROOM_REOPEN,
    USHER__ROOM_AGAIN,
    USHER__ROOM_GIVE_WAY,
    USHER__ROOM_LAST,
    USHER__ROOM_AFTER,
    USHER__ROOM_FOUND,
    USHER__ROOM_LOOKED,
    USHER__ROOM_DROPPED,
    USHER__ROOM_SWEEP,
    USHER__ROOM_SWEPT,
    USHER__ROOM_TELL,
    USHER__ROOM_END
};

struct usher__room_plan {
    struct usher_engine *e;
    const struct usher_operation *commands;
    struct usher_result *replies;
    size_t n;
    int64_t deadline_ms;
    enum usher__room_stage stage;
    enum usher__room_stage erased, reopened; /* the next stage after that */
    size_t from;                             /* the commands before it were given to the store */
    size_t at;                               /* the commands or entries before it were processed */
    int64_t began_ns;                        /* start of the commands, or of the last sweep */
    int tries;
    struct usher_result *own; /* of the step under way, to be freed */
    size_t n_own;
    struct usher__room_entries entries;
    const struct usher_operation *erases; /* the command whose room is erased */
    struct usher_operation sweep;
    struct usher_result swept;
};

/* Begin to execute @n @commands until @deadline_ms (0: no deadline).  usher__room_plan_run() does
 * all of it and waits. */
void usher__room_plan_begin(void *plan, struct usher_engine *e,
                            const struct usher_operation *commands, struct usher_result *replies,
                            size_t n, int64_t deadline_ms);
bool usher__room_plan_next(void *plan, struct usher__step *ret_step);
void usher__room_plan_leave(void *plan);
void usher__room_plan_run(struct usher_engine *e, const struct usher_operation *commands,
                          struct usher_result *replies, size_t n, int64_t deadline_ms);

/* Drop the entry of the room of @of, if there is no such room. */
void usher__room_tidy(struct usher_engine *e, const struct usher_operation *of);

/* Put the entry of the room of @of, which is open. */
void usher__room_put(struct usher_engine *e, const struct usher_operation *of, int64_t created_ms);

#endif
