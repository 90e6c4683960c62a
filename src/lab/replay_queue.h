/* SPDX-License-Identifier: MIT */
/* Recorded callers through a queue, in virtual time. */
#ifndef USHER_LAB_REPLAY_QUEUE_H
#define USHER_LAB_REPLAY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/calls.h"
#include "cli/cli.h"
#include "lab/replay_rooms.h"

/* The fate of the callers; `known` false: the record does not have it. */
struct replay_centre {
    bool known;
    uint64_t served;
    uint64_t hung_up;   /* in the queue */
    uint64_t early;     /* hung up before they asked for an agent */
    uint64_t nobody;    /* found no agent logged in and stayed on the line */
    uint64_t turned;    /* of them, still on the line at the end */
    uint64_t queued;    /* of those who asked, were not served at once */
    uint64_t in_time;   /* of those served, within 20 seconds */
    uint64_t longest;   /* queue */
    int64_t wait_ms;    /* mean of those served after waiting; CALLS_UNKNOWN: none */
    int64_t gave_up_ms; /* mean wait of those who hung up in the queue */
    int64_t all_ms;     /* mean of all served */
    int64_t ninety_ms;  /* of those served, nine in ten waited no longer */
};

#define REPLAY_IN_TIME_MS 20000
#define REPLAY_BATCH_MAX 256u

struct replay_queue {
    uint64_t agents; /* that have been on duty */
    uint64_t most_on_duty;
    uint64_t doubles; /* an agent was given a caller while it had one: never */
    uint64_t moves;   /* changes of the queue */
    int64_t wall_us;
    struct replay_centre recorded, replayed;
    struct replay_rooms rooms; /* one for each served caller */
};

/*
 * Run @calls through the queue @scope, with rooms called @room_prefix-N for the visits.  The queue
 * must be empty, and is empty afterwards, also after a failure.  @agents agents all the time; 0:
 * those of the record, each from its first to its last service of each day.  @batch commands go to
 * the store together.  False: ret_status and ret_message have the reason.
 */
bool usher__replay_queue(struct cli *cli, const struct calls *calls, const char *scope,
                         const char *room_prefix, int64_t agents, size_t batch,
                         struct replay_queue *ret, enum usher_status *ret_status,
                         char ret_message[CLI_MESSAGE_MAX]);

#endif
