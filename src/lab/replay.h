/* SPDX-License-Identifier: MIT */
#ifndef USHER_LAB_REPLAY_H
#define USHER_LAB_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lab/calls.h"
#include "lab/patience.h"
#include "lab/replay_queue.h"
#include "lab/replay_tickets.h"
#include "lab/staffing.h"

/* The result of one pass over the calls. */
struct replay_pass {
    const char *name;     /* "own line" */
    uint64_t lines;       /* of the pool */
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
    bool *no_line;                /* calls that got none with --lines; NULL: not given */
    double blocked;               /* the share of them by Erlang B */
    struct replay_ids ids;
    struct replay_tickets tickets;  /* n 0: no call asked for an agent */
    struct replay_queue queue;      /* plan.calls NULL: the file has not enough for a queue */
    struct replay_caller *recorded; /* NULL: the record has no outcome of callers */
    struct survival survival;       /* of the record; n 0: unknown */
    struct staffing staffing;       /* percent 0: no target was given */
    int64_t zone_min;               /* of midnight */
    int64_t within_ms;              /* time of the service level */
    bool measured;                  /* patience */
    uint64_t seed;                  /* of it */
};

enum replay_form { REPLAY_TEXT, REPLAY_JSON, REPLAY_HTML };

struct replay_options {
    const char *file, *pool;
    enum calls_format format;
    int64_t batch;
    int64_t agents;         /* 0: those of the record */
    int64_t speed;          /* 0: as fast as the store */
    int64_t lines;          /* 0: those of the record */
    struct staffing target; /* percent 0: none */
    int64_t zone_min;
    uint64_t seed;
    bool measured; /* patience */
    bool strict;
    enum replay_form form;
};

/* Add @word to @o.  False: @message has the reason. */
bool usher__replay_option(struct replay_options *o, const char *word,
                          char message[CLI_MESSAGE_MAX]);

/* Recorded calls, through the store.  Returns the exit code. */
int usher__lab_replay(struct cli *cli, char *const *words, size_t n);

/* Count the numbers, ids, tickets and agents that two calls had at once: 0. */
uint64_t usher__replay_doubles(const struct replay_result *result);

void usher__replay_report(FILE *out, enum replay_form form, const char *file, const char *store,
                          const struct calls *c, const struct replay_result *result);

#endif
