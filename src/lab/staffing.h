/* SPDX-License-Identifier: MIT */
/* How many agents, or lines, are enough: by replays, and by Erlang's models. */
#ifndef USHER_LAB_STAFFING_H
#define USHER_LAB_STAFFING_H

#include "lab/erlang.h"
#include "lab/replay_plan.h"

#define STAFFING_AGENTS_MAX 10000

/* Callers of a record in one hour. */
struct staffing_hour {
    uint64_t callers; /* in the hour */
    uint64_t hours;   /* that have this number */
};

/* The input of the models.  Zero it first; give back with usher__load_done(). */
struct staffing_load {
    struct staffing_hour *hour;
    size_t n;
    uint64_t asked;   /* callers that asked for an agent */
    double mu, theta; /* as in struct erlang */
};

/* @no_line: calls that do not ask; NULL: none. */
void usher__load(const struct calls *calls, const bool *no_line, double theta,
                 struct staffing_load *ret);
void usher__load_done(struct staffing_load *load);
/* Each hour by itself, in steady state, weighted by its callers. */
struct erlang_level usher__load_level(const struct staffing_load *load, uint64_t agents,
                                      double within_s, bool patient);
/* The share of calls that finds all lines busy (Erlang B), hour by hour. */
double usher__load_blocked(const struct calls *calls, uint64_t lines);

/* The callers of a replay with a number of agents. */
struct staffing_point {
    uint64_t agents;
    uint64_t in_time, gave_up;
    int64_t ninety_ms;
    struct erlang_level a, c;
};

/* Zero it first; give back with usher__staffing_done(). */
struct staffing {
    int64_t percent, within_ms; /* the target; percent 0: none */
    uint64_t asked;
    uint64_t agents;              /* the smallest number that reaches it; 0: none does */
    uint64_t erlang_a, erlang_c;  /* by the models */
    struct staffing_point *point; /* in order of agents: those that were replayed */
    size_t n, room;
};

/*
 * Search the smallest number of agents with which percent of the callers that ask are served
 * within within_ms; both are given.  @scenario has all but the agents.  More agents are taken to
 * serve more callers in time.  False: ret_status and ret_message have the reason.
 */
bool usher__staffing(const struct calls *calls, const struct replay_scenario *scenario,
                     double theta, struct staffing *s, enum usher_status *ret_status,
                     char ret_message[CLI_MESSAGE_MAX]);
void usher__staffing_done(struct staffing *s);

#endif
