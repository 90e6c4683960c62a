/* SPDX-License-Identifier: MIT */
/* Ids for all recorded calls, and tickets for those that ask for an agent. */
#ifndef USHER_LAB_REPLAY_TICKETS_H
#define USHER_LAB_REPLAY_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/calls.h"
#include "cli/cli.h"

struct replay_ids {
    uint64_t n;
    int64_t first, last;
    uint64_t doubles; /* that are not above the one before: never */
    int64_t wall_us;
};

struct replay_tickets {
    uint64_t n;
    uint64_t days;    /* that have any */
    uint64_t most;    /* of one day: its last number */
    uint64_t doubles; /* not after the one before, or not its number and day: never */
    char first[USHER_SERIAL_TEXT_MAX + 1], last[USHER_SERIAL_TEXT_MAX + 1];
    int64_t wall_us;
};

/*
 * An id of dispenser @scope for each of @calls, in the order in which they begin.  The dispenser is
 * made and deleted.  @batch commands go to the store together.  False: ret_status and
 * ret_message say why.
 */
bool usher__replay_ids(struct cli *cli, const struct calls *calls, const char *scope, size_t batch,
                       struct replay_ids *ret, enum usher_status *ret_status,
                       char ret_message[CLI_MESSAGE_MAX]);

/*
 * A ticket TK-%Y%m%d-NNNNNN of rule @scope for each caller that asks for an agent, in that order;
 * numbers begin again at midnight, @zone_min minutes east of the times of the record.  The rule
 * is made and deleted; its counters stay, so another replay continues after them.
 */
bool usher__replay_tickets(struct cli *cli, const struct calls *calls, const char *scope,
                           int64_t zone_min, size_t batch, struct replay_tickets *ret,
                           enum usher_status *ret_status, char ret_message[CLI_MESSAGE_MAX]);

#endif
