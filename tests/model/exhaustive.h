/* SPDX-License-Identifier: MIT */
/*
 * exhaustive -- every reachable state of small worlds of one noun, and every command from each.
 *
 * The states are found breadth first on the model.  Two states are the same when they look the
 * same from their own clock: the noun defines the difference (key).  Each state keeps the shortest
 * way there.
 *
 * On the model each command must keep the invariants:
 *   model     its own: noun_model.fault
 *   version   grows by one for each notice; without a notice nothing changes but what may
 *   refusal   an answer other than `ok` leaves all as it is, but for what happens by itself
 *   and those of the noun: fault
 * On a store the way to a state is walked in a fresh scope, then command after command that has
 * not been tried in the state that the last one led to; each answer, and a read of the scope
 * after each change, must be the model's, the notices dense, and the audits clean.  Many
 * commands on several scopes go into one usher_operate(), every second time with a watcher.
 *
 * Memory does all.  SQLite and Redis do what they can in their time, all with USHER_LONG=1.  Under
 * a sanitizer all three do.
 */
#ifndef USHER_TESTS_EXHAUSTIVE_H
#define USHER_TESTS_EXHAUSTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "model/nouns.h"

#define EXHAUSTIVE_KEY 320
#define EXHAUSTIVE_SYMBOLS 768 /* of an alphabet, at most */
#define EXHAUSTIVE_FIRST 8

/* The notices of one command on the model. */
struct exhaustive_heard {
    unsigned n, by_itself; /* notices; of those, what was due, and what follows */
    uint64_t last;
    bool dense;
};

struct exhaustive_step {
    const void *before, *after; /* models */
    bool changed;               /* it is another state, that is the key differs */
    const struct usher_operation *c;
    const struct usher_result *r;
    const struct exhaustive_heard *heard;
};

struct exhaustive {
    const char *name;
    const struct noun_model *model;
    const char *const *worlds; /* names */
    unsigned n_worlds;
    double seconds_sqlite, seconds_redis;

    /* The commands that make world @i, always answered `ok`: returns how many. */
    size_t (*first)(unsigned i, struct usher_operation ret[EXHAUSTIVE_FIRST]);
    /* The commands of world @i, each of model->command_size: returns how many.  Times count from
     * the clock of the state. */
    size_t (*alphabet)(unsigned i, void *ret);
    /* A symbol as a command; its texts may lie in @symbol, but not in @model. */
    struct usher_operation (*resolve)(const void *model, void *symbol);

    /* Return the version and the clock of the one scope. */
    void (*now)(const void *model, uint64_t *ret_version, int64_t *ret_clock);
    void (*key)(unsigned i, const void *model, char to[EXHAUSTIVE_KEY]);
    bool (*by_itself)(enum usher_verb verb);
    /* NULL, or the invariant that the command breaks. */
    const char *(*fault)(const struct exhaustive_step *s);
    /* The @i-th way to look at the scope; its time is set by the caller. */
    struct usher_operation (*look)(unsigned i);
};

/* main() of a test program: what it returns. */
int exhaustive_main(const struct exhaustive *noun, int argc, char **argv);

#endif
