/* SPDX-License-Identifier: MIT */
/*
 * The laboratory: recorded calls run through a store (replay), and calls made up for it (trace),
 * with the formats of other people's records.  It stands above the program and uses it as it is;
 * of the laboratory the program knows this entry alone (tests/check-layers.sh).
 */
#ifndef USHER_LAB_LAB_H
#define USHER_LAB_LAB_H

#include <stddef.h>

struct cli;

/* words[0] is `replay` or `trace`.  Returns the exit code. */
int usher__lab(struct cli *cli, char *const *words, size_t n);

#endif
