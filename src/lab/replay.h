/* SPDX-License-Identifier: MIT */
#ifndef USHER_LAB_REPLAY_H
#define USHER_LAB_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lab/calls.h"
#include "lab/replay_queue.h"
#include "lab/replay_tickets.h"

/* The result of one pass over the calls. */
struct replay_pass {
    const char *name;     /* "own line" */
    uint64_t refused;     /* calls that got no line */
    uint64_t doubles;     /* calls that got a line in use: never, or the store is broken */
    uint64_t peak;        /* lines busy at once, at most */
    uint64_t moves;       /* commands that changed something */
    uint64_t least, most; /* calls of the line with the fewest, and the most */
    int64_t wall_us;
};

/* All that was replayed. */
struct replay_result {
    struct replay_pass passes[2]; /* each call takes its own line; takes any line */
    struct replay_ids ids;
    struct replay_tickets tickets; /* n 0: no call asked for an agent */
    struct replay_queue queue;     /* agents 0: the file has not enough for a queue */
};

/* Recorded calls, through the store.  Returns the exit code. */
int usher__lab_replay(struct cli *cli, char *const *words, size_t n);

void usher__replay_report(FILE *out, bool json, const char *file, const char *store,
                          const struct calls *c, const struct replay_result *result);

#endif
