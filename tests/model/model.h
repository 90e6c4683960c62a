/* SPDX-License-Identifier: MIT */
/*
 * model -- number pools, obviously right rather than fast.
 *
 * Executes the same commands as an engine and fills in the same replies (but for `epoch`,
 * which is 1 for every pool, and 1 more for each that was dropped, and `message`, which stays
 * empty).  It shares no code with the library: arrays, linear search, one `if` a rule.  The time is
 * always the command's.
 *
 * The structs are open so that tests can look inside.  Everything in them belongs to the
 * model; running out of memory aborts.
 */
#ifndef USHER_TESTS_MODEL_H
#define USHER_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "model/packer.h"

/* A name; size 0: none. */
struct model_text {
    size_t size;
    char data[USHER_NAME_MAX + 1];
};

struct model_number {
    struct model_text id, group;
    bool up, busy;
    /* busy: of the hold.  The token outlives it. */
    struct model_text owner, node;
    uint64_t token;
    int64_t lease;
    int64_t until; /* busy: end of the lease; idle: end of the rest; 0: none */
    /* idle: how the last call ended */
    bool had;       /* there was one, and its rest was not ended by a command */
    int64_t ended;  /* when */
    int64_t rest;   /* the rest that its hangup said; < 0: none, the pool's */
    uint64_t order; /* the version at which it was taken, or last joined the idle list */
    bool drawn;     /* joined while the pool was in random order */
    bool aside;     /* free, after all others: had its calls of the day when it got there */
    /* calls of local day `day` */
    int64_t calls, day;
    int64_t used;
};

struct model_sticky {
    struct model_text peer, number;
    int64_t until;
};

/* The calls of the day of a number that was taken out. */
struct model_past {
    struct model_text id;
    int64_t calls, day, used;
};

struct model_request {
    struct model_text id;
    uint64_t asked; /* gen_asked() */
    int64_t at;
    struct usher_result answer; /* without rows */
    struct model_text reason;   /* that was its row */
};

struct model_pool {
    struct model_text name;
    bool exists;
    uint64_t epoch; /* the next one has one more */
    bool dropping;  /* it is there for `drop` alone */
    size_t left;    /* records then */
    uint64_t version;
    int64_t clock;
    struct usher_number_result_settings set;
    struct model_text reason;     /* of the mode; size 0: none */
    struct model_number *numbers; /* any order */
    size_t n_numbers;
    struct model_sticky *stickies; /* oldest first */
    size_t n_stickies;
    struct model_past *past;
    size_t n_past;
    struct model_request *requests; /* oldest first */
    size_t n_requests;
    struct model_log log;
    int64_t calls, calls_day, refused, refused_day;
    /* The totals of the model. */
    uint64_t begun;                   /* holds */
    uint64_t hung_up, expired, freed; /* those that have ended, by the event that ended them */
    uint64_t turned_down;             /* calls */
    bool zoned;                       /* its zone has changed: days came twice */
    int64_t limited;                  /* when lease-max was last set, and at which version */
    uint64_t limited_at;
    int64_t out_from, out_to;   /* the last outage, */
    int64_t seen_from, seen_to; /* and the one that a command sees */
    /* A changed setting reaches the numbers in bounded steps: how far. */
    enum { MODEL_JUDGED, MODEL_JUDGE_IDLE, MODEL_JUDGE_BOTH, MODEL_JUDGE_RESTS } judge;
    uint64_t judge_hi, judge_order;
};

struct model {
    struct model_pool *pools;
    size_t n_pools;
    /* Called for each change, like a watcher of an engine; may be NULL. */
    void (*notify)(void *payload, const struct usher_notice *notice);
    void *payload;
};

struct model *model_open(void);
struct model *model_copy(const struct model *m); /* without the watcher */
void model_close(struct model *m);

/* Rows of the reply go back with model_reply_done(), not with usher_result_done(). */
void model_execute(struct model *m, const struct usher_operation *c, struct usher_result *r);
void model_reply_done(struct usher_result *r);

/* NULL if there is none. */
const struct model_pool *model_pool(const struct model *m, const char *name, size_t size);
const struct model_number *model_number(const struct model_pool *p, const char *id, size_t size);
enum usher_number_state model_state(const struct model_number *n);

/* NULL, or what does not add up: holds and calls of the day. */
const char *model_sums(const struct model *m);

/* NULL, or the invariant that does not hold. */
const char *model_fault(const struct model *m);

#endif
