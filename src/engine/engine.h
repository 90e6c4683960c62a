/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_ENGINE_H
#define USHER_ENGINE_ENGINE_H

#include <usher/store/store.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "change/thread.h"
#include "engine/callout.h"
#include "engine/watch.h"

#define USHER__ENGINE_MAGIC UINT32_C(0x75736872)

struct usher__waiter;
struct usher__asked;
struct usher__batch;
struct usher__post;

/* Threads that wait with their commands for the store, in order.  A leader executes the commands
 * of those that it takes out of the queue; while there are fewer leaders than allowed, the queue is
 * empty. */
struct usher__lane {
    pthread_mutex_t lock;
    struct usher__waiter *first, *last;
    unsigned leaders, leaders_max;
    struct usher__batch *batch; /* of the leader, if the store asks for more */
    size_t queued;              /* in the queue */
    size_t under_way;           /* those whose commands are with the store */
    size_t expected; /* as many as a leader should find, by what there was at the last end */
};

struct usher_engine {
    uint32_t magic;
    bool combines;             /* the store wants batches, one thread at a time */
    bool routes;               /* it has lanes */
    bool replicates;           /* it can wait for its replicas */
    bool asks;                 /* the store asks for more tasks while it is at work */
    bool waits;                /* the store wants deadlines */
    const volatile char *here; /* a byte that a forked child finds wiped; or NULL: */
    pid_t pid;                 /* then this is compared */
    struct usher_store *store;
    struct usher_options opt;
    int64_t timeout_ms;
    int64_t skew_ms; /* as in usher_context */
    struct usher__watches watches;
    struct usher_authority *authority; /* NULL: none; else &authority_callout.base */
    bool authority_owned;              /* of the URL */
    struct usher_history *history;     /* NULL: none; else that of the archive */
    bool history_owned;
    struct usher__authority_callout authority_callout;
    struct usher__archive *archive; /* NULL without a history */
    bool journal;
    struct usher__asked *asked; /* with an authority: grant.h */

    /* One, or as many as the store has. */
    struct usher__lane *lanes;
    size_t room_lanes;
    _Atomic uint64_t unknown, unavailable; /* answers so far */
    unsigned n_lanes;                      /* of them are initialised */
    _Atomic unsigned apart;    /* threads in the store with tasks that none else is to wait for */
    _Atomic unsigned claiming; /* posted batches whose scopes have watchers */

    _Atomic(struct usher__post *) post; /* NULL: nothing was posted yet; post.c */
    atomic_bool interrupted;            /* usher_interrupt() */
};

/* USHER_OK, or USHER_INVALID with a message: NULL, closed, or of the parent process. */
enum usher_status usher__engine_check(const struct usher_engine *e);

/* Is this a child's copy?  Safe in a signal handler. */
bool usher__engine_forked(const struct usher_engine *e);

/* The lane of @command: what waits for its server waits in there.  0 where there are none. */
unsigned usher__engine_lane(const struct usher_engine *e, const struct usher_operation *command);

/* A line for the application's log, if it has one. */
void usher__engine_log(const struct usher_engine *e, enum usher_log_level level, const char *line);

/* One command, checked and given to the store; nothing else of usher_operate(). */
void usher__engine_execute(struct usher_engine *e, const struct usher_operation *command,
                           struct usher_result *reply, int64_t deadline_ms);

/* The same of several, as many as the engine hands over at once. */
void usher__engine_execute_all(struct usher_engine *e, const struct usher_operation *commands,
                               struct usher_result *replies, size_t n, int64_t deadline_ms);

/* usher_operate() that waits for @timeout_ms at most; 0: as the engine does.  @e is checked by the
 * caller. */
enum usher_status usher__engine_operate(struct usher_engine *e,
                                        const struct usher_operation *commands,
                                        struct usher_result *replies, size_t n, int64_t timeout_ms);

/* ---- of a call, in parts: flight.c ---- */

/* Make tasks of those of @n commands that are good, the others are answered.  How many. */
size_t usher__engine_tasks(struct usher_engine *e, const struct usher_operation *commands,
                           struct usher_result *replies, size_t n, struct usher_task *tasks);
/* The context of a batch of @tasks, which has its deadline.  false: they are answered. */
bool usher__engine_context(struct usher_engine *e, const struct usher_task *tasks, size_t n,
                           struct usher_context *context);
/* Go on from @tasks[*@at], all of which were executed, to the next one of which nothing was done,
 * for too much was due before: it is to be executed once more.  false: there is none. */
bool usher__engine_unfinished(struct usher_engine *e, struct usher_task *tasks, size_t n,
                              int64_t deadline_ms, size_t *at);
/* The store has answered @tasks. */
void usher__engine_answered(const struct usher_task *tasks, size_t n);
/* All are answered: hooks and watchers. */
void usher__engine_tell(struct usher_engine *e, const struct usher_operation *commands,
                        const struct usher_result *replies, size_t n);
/* The first noun of the commands that executes them itself; NULL: none does. */
const struct usher__hooks *usher__engine_executes(const struct usher_operation *commands, size_t n);

/* CLOCK_MONOTONIC: for deadlines. */
int64_t usher__monotonic_ms(void);
int64_t usher__monotonic_ns(void);

#endif
