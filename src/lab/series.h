/* SPDX-License-Identifier: MIT */
/* The course of a record and of its replay: by day, by hour, by time, by wait. */
#ifndef USHER_LAB_SERIES_H
#define USHER_LAB_SERIES_H

#include "lab/replay_figures.h"

#define SERIES_DAYS_MAX 400u
#define SERIES_STEPS 48u /* of a day: half hours */
#define SERIES_FINE 720u /* of the busiest day: two minutes */
#define SERIES_CURVE 85u
#define SERIES_PERCENTS 6u
#define SERIES_HAZARD 20u
#define SERIES_HAZARD_MS INT64_C(15000)

enum series_side { RECORDED, REPLAYED, SERIES_SIDES };

/* Callers that asked for an agent. */
struct series_count {
    uint64_t asked, served, in_time, gave_up;
};

struct series_day {
    int64_t day; /* since 1970-01-01 */
    uint64_t calls;
    struct series_count count[SERIES_SIDES];
    uint32_t queue[SERIES_SIDES][SERIES_STEPS]; /* the longest in each step */
};

/* A share of those that still wait after a time hang up within SERIES_HAZARD_MS. */
struct series_hazard {
    uint64_t waiting, hung_up;
    double share, low, high; /* with bounds of 95 % */
};

/* Zero it first; give back with usher__series_done(). */
struct series {
    int64_t zone_ms;
    bool known[SERIES_SIDES];
    struct series_day *day; /* that have calls */
    size_t n_days;
    uint64_t days_left_out; /* after SERIES_DAYS_MAX */
    size_t busiest;         /* its index */
    /* the most in each step of the busiest day */
    uint32_t waiting[SERIES_SIDES][SERIES_FINE], talking[SERIES_SIDES][SERIES_FINE];
    uint32_t on_duty[SERIES_FINE], lines[SERIES_FINE];
    /* means by hour, of the days with at least half the calls of the busiest */
    uint64_t busy_days;
    double hour_talking[SERIES_SIDES][24], hour_on_duty[24];
    struct series_count week[SERIES_SIDES][7][24]; /* from Monday */
    /* the served that waited longer than usher__series_curve_ms() */
    uint64_t longer[SERIES_SIDES][SERIES_CURVE];
    uint64_t n_served[SERIES_SIDES], n_gave_up[SERIES_SIDES];
    /* percentiles of the waits; CALLS_UNKNOWN: none */
    int64_t served[SERIES_SIDES][SERIES_PERCENTS], gave_up[SERIES_SIDES][SERIES_PERCENTS];
    struct series_hazard hazard[SERIES_HAZARD]; /* of the record */
    int64_t *lines_busy;                        /* ms with exactly 0, 1, ... lines busy */
    size_t n_lines_busy;
};

extern const unsigned usher__series_percents[SERIES_PERCENTS];
int64_t usher__series_curve_ms(size_t i);

/* @recorded NULL: the record has no outcome of callers.  @plan->calls NULL: no replay. */
void usher__series(const struct calls *calls, const struct replay_caller *recorded,
                   const struct replay_plan *plan, int64_t zone_min, int64_t within_ms,
                   struct series *ret);
void usher__series_done(struct series *s);

/* "1999-02-01" */
#define SERIES_DAY_SIZE 16
void usher__series_day_text(char to[SERIES_DAY_SIZE], int64_t day);

#endif
