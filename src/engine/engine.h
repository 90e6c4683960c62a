/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_ENGINE_H
#define USHER_ENGINE_ENGINE_H

#include <usher/store.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "engine/watch.h"

#define USHER__ENGINE_MAGIC UINT32_C(0x75736872)

struct usher__waiter;

struct usher_engine {
    uint32_t magic;
    bool combines;             /* the store wants batches, one thread at a time */
    bool waits;                /* the store wants deadlines */
    const volatile char *here; /* a byte that a forked child finds wiped; or NULL: */
    pid_t pid;                 /* then this is compared */
    struct usher_store *store;
    struct usher_options opt;
    int64_t timeout_ms;
    struct usher__watches watches;

    /* Commands that wait for the store, in order.  One thread, the leader, executes what
     * is queued on behalf of all. */
    pthread_mutex_t lock;
    bool locks; /* the mutex is initialised */
    struct usher__waiter *first, *last;
    bool led;
    size_t queued;   /* waiters */
    size_t expected; /* that many there were at the end of the last batch, its own included */
};

/* Set what usher_message() returns in this thread. */
void usher__message_set(const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* USHER_OK, or USHER_INVALID with a message: NULL, closed, or of the parent process. */
enum usher_status usher__engine_check(const struct usher_engine *e);

/* CLOCK_MONOTONIC in ms, to within a few: for deadlines. */
int64_t usher__monotonic_ms(void);

#endif
