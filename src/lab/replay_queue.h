/* SPDX-License-Identifier: MIT */
/* Recorded callers through a queue on a store, in virtual time. */
#ifndef USHER_LAB_REPLAY_QUEUE_H
#define USHER_LAB_REPLAY_QUEUE_H

#include "lab/replay_figures.h"
#include "lab/replay_plan.h"
#include "lab/replay_rooms.h"

#define REPLAY_IN_TIME_MS 20000
#define REPLAY_BATCH_MAX 256u

/* plan.calls NULL: there was nothing to replay. */
struct replay_queue {
    struct replay_plan plan;
    int64_t wall_us;
    struct replay_centre recorded, replayed;
    struct replay_rooms rooms; /* one for each served caller */
};

/* How commands go to the store: @batch of them together.  @speed 0: as fast as it executes them;
 * else at the times of the record, which begins now, divided by @speed. */
struct replay_pace {
    size_t batch;
    int64_t speed;
};

/*
 * Run @calls through the queue @scope, with rooms called @room_prefix-N for the visits.  The queue
 * must be empty, and is empty afterwards, also after a failure.  Agents of the record are on duty
 * from the first to the last service of each day.  False: ret_status and ret_message have the
 * reason.  In both cases release @ret.
 */
bool usher__replay_queue(struct cli *cli, const struct calls *calls, const char *scope,
                         const char *room_prefix, const struct replay_scenario *scenario,
                         const struct replay_pace *pace, struct replay_queue *ret,
                         enum usher_status *ret_status, char ret_message[CLI_MESSAGE_MAX]);
void usher__replay_queue_done(struct replay_queue *q);

#endif
