/* SPDX-License-Identifier: MIT */
/*
 * trail -- the last calls of an engine, and the lines that it logged between them.  A test prints
 * them when it fails, which may be long after the wrong call.  All is in the struct, which may be
 * in memory that processes share: the parent prints the trail of a child.
 */
#ifndef USHER_TESTS_TRAIL_H
#define USHER_TESTS_TRAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <usher/usher.h>

#define TRAIL_LINES 64

/* All zero: empty. */
struct trail {
    _Atomic bool kept;  /* nothing is added any more */
    _Atomic unsigned n; /* lines so far; the last TRAIL_LINES are there */
    struct {
        int64_t us; /* of CLOCK_MONOTONIC */
        char text[240];
    } line[TRAIL_LINES];
};

/* Set the trace, log and payload of @opt to @t. */
void trail_hooks(struct trail *t, struct usher_options *opt);

/* Any thread. */
void trail_add(struct trail *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Stop the trail, so that it ends with the wrong call. */
void trail_keep(struct trail *t);

/* Print the oldest line first, each with its age in ms, compared with the last one. */
void trail_print(const struct trail *t, FILE *out);

#endif
