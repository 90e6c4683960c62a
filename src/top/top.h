/* SPDX-License-Identifier: MIT */
/* usher top: the scopes of a store or a server, the most urgent first. */
#ifndef USHER_TOP_TOP_H
#define USHER_TOP_TOP_H

#include "cli/cli.h"
#include "serve/snapshot.h"
#include "serve/thresholds.h"

#define TOP_EVERY_MIN_MS 1000 /* a state is not read more often */
#define TOP_EVERY_MAX_MS 60000

struct top_options {
    const char *only; /* NOUN or NOUN/NAME; "": all */
    int64_t every_ms;
    bool ascii, once;
    bool writes; /* --rw */
    struct thresholds thresholds;
};

int usher__top(struct cli *cli, char *const *words, size_t n);

/* live.c, with ncurses: until the user quits.  It frees @sn.  Return the exit code. */
int usher__top_live(struct cli *cli, const struct top_options *options, struct snapshot *sn);

#endif
