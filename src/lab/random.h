/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same on every machine: integers only, no libm.  Uniform numbers
 * are splitmix64 (public domain, Sebastiano Vigna), one stream a column, so that an option
 * that changes one column leaves the others.  Exponential ones are made of uniform ones by
 * comparing alone (John von Neumann, 1951), which is exact.
 */
#ifndef USHER_LAB_RANDOM_H
#define USHER_LAB_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* The stream of a column for @seed. */
struct random usher__random(uint64_t seed, uint64_t column);
uint64_t usher__random_next(struct random *r);
/* 0 to @below - 1; @below < 2^32.  Not quite uniform: the error is below 2^-32. */
uint64_t usher__random_below(struct random *r, uint64_t below);
/* Exponential with mean @mean < 2^40. */
int64_t usher__random_exponential(struct random *r, int64_t mean);

#endif
