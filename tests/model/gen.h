/* SPDX-License-Identifier: MIT */
/*
 * gen -- seeded number commands for tests.
 *
 * A generator makes a small world (some pools, numbers, owners, groups, peers, request ids,
 * a clock) from its seed, and commands on it that often meet: few names, times and leases of
 * the same size, clocks that jump both ways, values at their bounds, now and then arguments
 * that are wrong.
 *
 * Tokens are given by what they mean and resolved against the model as it is when the
 * command is executed, so that commands mean the same after others have been left out.
 *
 * Names live as long as the generator; a gen_command is plain data that refers to them.
 */
#ifndef USHER_TESTS_GEN_H
#define USHER_TESTS_GEN_H

#include <stdint.h>
#include <stdio.h>

#include <usher/store/operation.h>

#include "model/model.h"

/* xoshiro256**, seeded by splitmix64. */
struct rng {
    uint64_t s[4];
};
void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* n > 0 */
bool rng_chance(struct rng *r, unsigned percent);

/* Names of one kind: "kind0", "kind1", …, among them odd ones and the longest that may be. */
struct gen_names {
    unsigned n;
    char (*name)[USHER_NAME_MAX + 1]; /* for the owner to free() */
};
/* All different; none has a byte of @without (nor ends in `*` where that has a comma). */
void gen_names_make(struct rng *r, struct gen_names *names, unsigned n, const char *kind,
                    const char *without);
struct usher_text gen_any(struct rng *r, const struct gen_names *names);
struct usher_text gen_bad(struct rng *r); /* that is no name */

struct gen_command {
    struct usher_operation c;
    bool token_of_hold; /* c.arg.number.token is to be added to the number's token */
    bool version_of;    /* if_version is to be added to the version of the pool */
};

struct gen;

/* @size: 0 at random, else how many numbers. */
struct gen *gen_open(uint64_t seed, unsigned size);
void gen_close(struct gen *g);
const char *gen_about(const struct gen *g); /* one line */

void gen_next(struct gen *g, struct gen_command *ret);
struct usher_operation gen_resolve(const struct gen_command *g, const struct model *m);

/* The scopes that there may be. */
unsigned gen_pools(const struct gen *g);
const char *gen_pool(const struct gen *g, unsigned i);

/* In the words of the command line, as `usher shell` takes them; of any noun. */
void gen_print(FILE *f, const struct usher_operation *c);

/* A print of verb, scope and arguments, without time and request id: two commands with the same one
 * ask the same.  For any noun; packed fields in any order. */
uint64_t gen_asked(const struct usher_operation *c);

/* FNV-1a of @hash, at first GEN_HASH, and @data. */
#define GEN_HASH UINT64_C(14695981039346656037)
uint64_t gen_hash(uint64_t hash, const void *data, size_t size);

#endif
