/* SPDX-License-Identifier: MIT */
/* How long callers wait before they hang up, as measured in a record. */
#ifndef USHER_LAB_PATIENCE_H
#define USHER_LAB_PATIENCE_H

#include <stdbool.h>

#include "lab/calls.h"

/* The share of callers that would wait longer than wait_ms. */
struct survival_step {
    int64_t wait_ms;
    double left;
};

/* Zero it first; give back with usher__survival_done(). */
struct survival {
    struct survival_step *step; /* in order of time, one for each that has a hang-up */
    size_t n;
    uint64_t hung_up;  /* callers */
    int64_t waited_ms; /* all callers together */
};

/* The estimate of Kaplan and Meier: a caller that was served would have waited longer.  The record
 * must have the outcome of callers. */
void usher__survival(const struct calls *calls, struct survival *ret);
void usher__survival_done(struct survival *s);

/* Hang-ups per second of waiting: the rate of Erlang A. */
double usher__survival_rate(const struct survival *s);

/*
 * The patience of each call in milliseconds, CALLS_UNKNOWN: it waits without a limit.  The caller
 * frees it.  With @s, callers of unknown patience get a random one that is longer than their wait
 * in the record; without, they wait without a limit.
 */
int64_t *usher__patience(const struct calls *calls, const struct survival *s, uint64_t seed);

#endif
