/* SPDX-License-Identifier: MIT */
/* A room for each visit of a replayed queue. */
#ifndef USHER_LAB_REPLAY_ROOMS_H
#define USHER_LAB_REPLAY_ROOMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

/* A caller was served: @no is different for each. */
struct replay_visit {
    int64_t from_ms, to_ms;
    uint32_t no;
    struct usher_text agent, caller;
};

struct replay_rooms {
    uint64_t rooms;
    uint64_t most_open; /* at once */
    uint64_t moves;     /* changes of rooms */
    int64_t wall_us;
};

/* Rooms are called PREFIX-NO: bytes after PREFIX, at most. */
#define REPLAY_ROOM_TAIL 11

/*
 * For each visit a room is opened, with agent and caller as members, a role and a share of the
 * agent, and is closed when the visit ends.  Rooms called so must not be there; afterwards they are
 * not.  @batch commands, REPLAY_BATCH_MAX at most, go to the store together.  If it fails,
 * those opened are closed.  Sorts @visits.  False: ret_status and ret_message say why.
 */
bool usher__replay_rooms(struct cli *cli, const char *prefix, struct replay_visit *visits, size_t n,
                         size_t batch, struct replay_rooms *ret, enum usher_status *ret_status,
                         char ret_message[CLI_MESSAGE_MAX]);

#endif
