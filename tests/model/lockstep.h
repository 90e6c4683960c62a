/* SPDX-License-Identifier: MIT */
/*
 * lockstep -- the same seeded commands of one noun on its model and on every store.
 *
 * A world is made from one seed: its names, its commands, how many of them go into one
 * usher_operate(), and how often digests are compared.  World i of a run has the seed
 * USHER_SEED + i, so that USHER_SEED=<seed of the world> USHER_STEPS=1 repeats one world.
 *
 * Invariants, by name:
 *
 *   replies   each store answers each command like the model, field by field.
 *   notices   a watcher gets the notices of the model, in order; some of the worlds have no
 *             watcher, because stores have fast paths without one.
 *   epochs    a scope has one epoch as long as it exists.
 *   digests   all stores have the same digest of each scope.
 *   audit     no store has a fault in the end.
 *   model     the model finds no fault in itself, after each command.
 *   hooks     some of the worlds have hooks with checks (allocator, trace and log), and a second
 *             engine on the same store gets every other batch.
 *   sums      the histories and statistics of the model add up, and in the end the stores return
 *             the same ones.
 *
 * On failure the world is made smaller (whole commands are left out as long as it fails)
 * and what remains is printed in the words of the command line.
 */
#ifndef USHER_TESTS_LOCKSTEP_H
#define USHER_TESTS_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "model/nouns.h"

/* One noun: its generator of commands and its model. */
struct lockstep {
    const char *name;                 /* of the test */
    unsigned watched;                 /* percent of the worlds with a watcher */
    uint64_t seed, steps, steps_long; /* by default; of steps with USHER_LONG=1 */

    /* A generator: see gen.h. */
    void *(*gen_open)(uint64_t seed);
    void (*gen_close)(void *gen);
    const char *(*gen_about)(const void *gen);
    unsigned (*gen_scopes)(const void *gen);
    const char *(*gen_scope)(const void *gen, unsigned i);
    void (*gen_next)(void *gen, void *ret_command); /* of model->command_size */
    /* May be NULL.  The @i-th command that reads scope @scope after a walk; false: no more. */
    bool (*last_look)(const void *gen, unsigned scope, unsigned i, struct usher_operation *ret);

    const struct noun_model *model;
};

/* Define the methods of a generator whose functions begin with @gen, opened by @open, with @gen_@n
 * scopes called @gen_@scope(). */
#define LOCKSTEP_GEN(gen, open, n, scope)                        \
    static void *lockstep_open(uint64_t seed)                    \
    {                                                            \
        return open;                                             \
    }                                                            \
    static void lockstep_close(void *g)                          \
    {                                                            \
        gen##_close(g);                                          \
    }                                                            \
    static const char *lockstep_about(const void *g)             \
    {                                                            \
        return gen##_about(g);                                   \
    }                                                            \
    static unsigned lockstep_scopes(const void *g)               \
    {                                                            \
        return gen##_##n(g);                                     \
    }                                                            \
    static const char *lockstep_scope(const void *g, unsigned i) \
    {                                                            \
        return gen##_##scope(g, i);                              \
    }                                                            \
    static void lockstep_next(void *g, void *ret_command)        \
    {                                                            \
        gen##_next(g, ret_command);                              \
    }

/* These, among the members of a struct lockstep. */
#define LOCKSTEP_METHODS                                                                 \
    .gen_open = lockstep_open, .gen_close = lockstep_close, .gen_about = lockstep_about, \
    .gen_scopes = lockstep_scopes, .gen_scope = lockstep_scope, .gen_next = lockstep_next

/* main() of a test program: what it returns. */
int lockstep_main(const struct lockstep *noun);

#endif
