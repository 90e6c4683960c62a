/* SPDX-License-Identifier: MIT */
/* usher top: the scopes of a store or a server, the most urgent first. */
#ifndef USHER_TOP_TOP_H
#define USHER_TOP_TOP_H

#include "cli/cli.h"
#include "serve/thresholds.h"

struct top_options {
    const char *only; /* NOUN or NOUN/NAME; "": all */
    bool ascii, once;
    struct thresholds thresholds;
};

int usher__top(struct cli *cli, char *const *words, size_t n);

#endif
