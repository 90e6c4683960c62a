/* SPDX-License-Identifier: MIT */
/*
 * floor_redis -- what a program would do without the library: scripts called by hand over
 * blocking connections.
 *
 *   NOOP   a script of one key that returns 1: the round trip and the interpreter alone
 *   SMALL  the smallest script that keeps the promises of floor_memory.h: a sorted set of
 *          the free numbers, a hash of numbers, a hash of owners, a version
 *   SEED   as the description of the pool that started this project has it: a list of the
 *          free numbers, states as JSON in a hash, LREM, no owners, no tokens
 *   PLACE, ALIVE, SERIAL, ID  the smallest ones for the commonest verbs of the other nouns: one
 *          who waits is alive and asks for its place; a member is alive; a serial; an id
 */
#ifndef USHER_BENCH_FLOOR_REDIS_H
#define USHER_BENCH_FLOOR_REDIS_H

#include <hiredis/hiredis.h>

#include "floor_memory.h"

enum floor_script {
    FLOOR_NOOP,
    FLOOR_SMALL,
    FLOOR_SEED,
    FLOOR_PLACE,
    FLOOR_ALIVE,
    FLOOR_SERIAL,
    FLOOR_ID,
    FLOOR_SCRIPTS
};

struct floor_redis {
    redisContext *c; /* the caller's */
    char sha[FLOOR_SCRIPTS][41];
};

/* Load the scripts through @c.  Any error ends the program. */
void floor_redis_open(struct floor_redis *f, redisContext *c);

/* @n free numbers in pool {@pool} of @script. */
void floor_redis_fill(struct floor_redis *f, enum floor_script script, const char *pool, size_t n);

/* One call, waited for. */
void floor_redis_noop(struct floor_redis *f, const char *pool);
void floor_redis_call(struct floor_redis *f, enum floor_script script, const char *pool,
                      const char *owner, struct floor_hold *ret_hold);
void floor_redis_hangup(struct floor_redis *f, enum floor_script script, const char *pool,
                        const struct floor_hold *hold);

/* For the scripts after SEED: make what @scope needs, with users u0 to u99; run one call for @user.
 */
void floor_redis_make(struct floor_redis *f, enum floor_script script, const char *scope);
void floor_redis_run(struct floor_redis *f, enum floor_script script, const char *scope,
                     const char *user);

/* The same in two halves, for pipelines; replies come in the order of the commands. */
void floor_redis_send_call(struct floor_redis *f, enum floor_script script, const char *pool,
                           const char *owner);
void floor_redis_send_hangup(struct floor_redis *f, enum floor_script script, const char *pool,
                             const struct floor_hold *hold);
void floor_redis_get_hold(struct floor_redis *f, struct floor_hold *ret_hold);
void floor_redis_get_done(struct floor_redis *f);

/* Seconds of processor time that the server has used; seconds that it has spent in scripts. */
double floor_redis_cpu(redisContext *c);
double floor_redis_scripts(redisContext *c);

#endif
