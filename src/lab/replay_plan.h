/* SPDX-License-Identifier: MIT */
/* Recorded callers through a queue in memory, in virtual time. */
#ifndef USHER_LAB_REPLAY_PLAN_H
#define USHER_LAB_REPLAY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "lab/calls.h"

/* The differences from the record. */
struct replay_scenario {
    int64_t agents;          /* all the time; 0: those of the record */
    const int64_t *patience; /* ms, of each call; CALLS_UNKNOWN: it waits without a limit */
    const bool *no_line;     /* calls without a line, which do not ask; NULL: none */
};

/* OUTSIDE: did not ask for an agent. */
enum replay_fate { OUTSIDE, APPLYING, OUT_OF_HOURS, WAITS, IS_SERVED, WAS_SERVED, HUNG_UP };

/* The caller of a call.  OUT_OF_HOURS at the end: no agent came on duty for it. */
struct replay_caller {
    enum replay_fate state;
    int64_t wait_ms, service_ms;
    uint32_t agent;
    bool waited; /* was not served at once */
};

/* A command with its answer, in short. */
struct replay_step {
    int64_t now_ms;
    uint64_t login;   /* finish: the room is LOGIN.1 */
    uint64_t version; /* after it */
    uint32_t i;       /* of the caller or the agent */
    uint16_t verb;
    uint8_t status, place;
};

/* The number of agents on duty from this time on. */
struct replay_duty {
    int64_t at_ms;
    uint64_t n;
};

/* Zero it first; give back with usher__replay_plan_done(). */
struct replay_plan {
    const struct calls *calls;
    struct usher_text scope;
    struct replay_caller *callers; /* one for each call */
    const struct calls_names *names;
    struct calls_names own; /* of agents that are not in the record */
    struct replay_step *steps;
    size_t n_steps, room_steps;
    struct replay_duty *duty;
    size_t n_duty, room_duty;
    uint64_t version; /* of the queue before the first step */
    uint64_t most_on_duty;
    uint64_t longest; /* queue */
    uint64_t nobody;  /* callers that found no agent logged in */
    uint64_t doubles; /* an agent was given a caller while it had one: never */
    uint64_t moves;   /* changes of the queue */
};

/* Run @calls through the queue @scope.  False: ret_status and ret_message have the reason. */
bool usher__replay_plan(const struct calls *calls, const char *scope,
                        const struct replay_scenario *scenario, struct replay_plan *ret,
                        enum usher_status *ret_status, char ret_message[CLI_MESSAGE_MAX]);
void usher__replay_plan_done(struct replay_plan *p);

/* The callers of the record, one for each call; the caller frees them.  The record must have the
 * outcome of callers. */
struct replay_caller *usher__replay_recorded(const struct calls *calls);

/* The command of a step; its texts are in @text. */
#define REPLAY_NAME_SIZE 24
#define REPLAY_TEXT_SIZE (2 * REPLAY_NAME_SIZE)
void usher__replay_command(const struct replay_plan *p, const struct replay_step *step,
                           char text[REPLAY_TEXT_SIZE], struct usher_operation *c);

/* Set plain settings of an empty queue.  *@ret_version: its version after that. */
bool usher__replay_prepare(struct usher_engine *engine, const struct usher_text *scope,
                           int64_t now_ms, uint64_t *ret_version, enum usher_status *ret_status,
                           char ret_message[CLI_MESSAGE_MAX]);

#endif
