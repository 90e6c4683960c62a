/* SPDX-License-Identifier: MIT */
/* Sums over the callers of a record or of a replay. */
#ifndef USHER_LAB_REPLAY_FIGURES_H
#define USHER_LAB_REPLAY_FIGURES_H

#include "lab/replay_plan.h"

/* The fate of the callers; `known` false: the record does not have it. */
struct replay_centre {
    bool known;
    uint64_t served;
    uint64_t hung_up;   /* in the queue */
    uint64_t early;     /* hung up before they asked for an agent */
    uint64_t no_line;   /* got no line */
    uint64_t nobody;    /* found no agent logged in and stayed on the line */
    uint64_t turned;    /* of them, still on the line at the end */
    uint64_t queued;    /* of those who asked, were not served at once */
    uint64_t in_time;   /* of those served, within the time of the service level */
    uint64_t longest;   /* queue */
    int64_t wait_ms;    /* mean of those served after waiting; CALLS_UNKNOWN: none */
    int64_t gave_up_ms; /* mean wait of those who hung up in the queue */
    int64_t all_ms;     /* mean of all served */
    int64_t ninety_ms;  /* of those served, nine in ten waited no longer */
};

/* Sum up the @callers of all calls; `nobody` and `longest` stay 0. */
void usher__replay_figures(const struct calls *calls, const struct replay_caller *callers,
                           int64_t within_ms, struct replay_centre *ret);

/* The longest queue of the record.  A caller that leaves at the moment of an arrival is gone. */
uint64_t usher__replay_longest(const struct calls *calls);

#endif
