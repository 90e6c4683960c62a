/* SPDX-License-Identifier: MIT */
/* What was posted or heard, and not collected yet (command.h): post.c has the commands, hear.c the
 * watchers whose notices are collected. */
#ifndef USHER_ENGINE_POST_H
#define USHER_ENGINE_POST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>
#include <usher/store.h>

#include "engine/due.h"

struct usher__heard;
struct usher__crossing;
struct usher__reading;
struct usher__watches;

/* An event, and its place in a list.  What it is the beginning of depends on its kind. */
struct usher__node {
    struct usher_event event; /* first, so that it is this */
    struct usher__node *next;
};

struct usher__nodes {
    struct usher__node *first, *last;
};

enum usher__descriptor {
    USHER__COLLECT,   /* there is something to collect, or to be done by who collects */
    USHER__WORK,      /* or by who works */
    USHER__INTERRUPT, /* usher_interrupt() */
    USHER__LOOP,      /* COLLECT, or what is under way can go on; -1 where nothing ever is */
    USHER__DESCRIPTORS
};

struct usher__heards {
    struct usher__heard *first, *last;
};

/* So many queues of posted commands, and of logs to be read, each for some lanes of the store: a
 * server that does not answer holds up those in its own.  And where there are several, another one
 * for commands that two servers may have to do with (USHER__BEYOND).  Behind these, where the store
 * has replicas, as many queues for commands that wait for them. */
#define USHER__POST_QUEUES 16
#define USHER__POST_LANES (2 * USHER__POST_QUEUES + 1)
#define USHER__POST_HOMES 1024

struct usher__post_lane {
    struct usher__nodes waiting;
    struct usher__heards behind; /* those who have to read their log */
    bool executing;
    /* What is under way without a thread, either of them, while `executing`. */
    struct usher__crossing *crossing; /* the commands of `batch` */
    struct usher__reading *reading;   /* logs */
    struct usher__nodes batch;
    struct usher_wait wait; /* what it waits for */
    bool going_on;          /* a thread is at it */
    bool has_read;          /* the last one was `reading` */
};

/* While commands on scopes with the same hash are posted and not done, those that are posted then
 * stand behind them, wherever the scope has gone meanwhile. */
struct usher__home {
    uint32_t n;
    uint32_t lane;
};

struct usher__post {
    const struct usher_engine *e;
    const struct usher_allocator *alloc;
    size_t limit; /* of commands that are posted and not collected, and of notices not collected */
    pthread_mutex_t lock;
    struct usher__post_lane lane[USHER__POST_LANES];
    unsigned n_queues, n_lanes; /* with the others; both 1 where the store has nothing of that */
    unsigned replicas;          /* the first of those that wait for them; 0: there are none */
    unsigned n_under_way;       /* lanes in which something is, without a thread */
    unsigned turn;              /* with which to begin */
    struct usher__home *homes;  /* USHER__POST_HOMES; NULL with one lane */
    struct usher__nodes ready;
    size_t n;           /* commands that are posted and not collected, or about to be posted */
    int64_t soonest_ms; /* no deadline of what waits is before */
    unsigned workers;   /* threads in usher_work() */
    bool is_up[USHER__WORK + 1]; /* is it readable? */
    int fd[USHER__DESCRIPTORS];

    /* The store's listener, made with the first follower; NULL: none.  One thread at a time drives
     * it, without the lock. */
    struct usher_listener *listener;
    struct usher__watches *watches; /* to which it reports */
    struct usher_wait listen_wait;
    bool listening;  /* a thread drives it */
    bool listen_now; /* it has other followers than before */

    /* hear.c */
    struct usher__dues heards; /* all */
    struct usher__heards gaps; /* those who have missed something that was not told */
    size_t n_notices;          /* notices and gaps in `ready`, and about to come from a log */
    int64_t gaps_ms;           /* then there may be memory for the first of `gaps` */
};

/* That of @e, made with its first use.  NULL, said by usher_message(): it cannot be. */
struct usher__post *usher__post_of(struct usher_engine *e, const char *call);

/* Drop all of it.  Takes NULL.  In the child of a fork (@forked) its own descriptors are closed,
 * and what another thread of the parent had locked stays as it is. */
void usher__post_close(struct usher__post *p, bool forked);

/* Leave what is under way without a thread, before the store is closed.  Takes NULL.  false: in the
 * child of a fork (@forked) another thread of the parent was at it, and it stays as it is. */
bool usher__post_leave(struct usher__post *p, bool forked);

/*
 * Complete posted batches that hold what @commands need, until @deadline_ms.  With a watcher a
 * batch has the units (store.h) of its scopes to itself, and the caller may be the only thread that
 * collects: if it waited in the store for a batch of its own, it would wait until its deadline.
 */
void usher__post_settle(struct usher_engine *e, const struct usher_operation *commands, size_t n,
                        int64_t deadline_ms);

/* The lane for what is asked of @scope with @verb. */
struct usher__post_lane *usher__post_lane(struct usher__post *p, unsigned verb,
                                          const struct usher_text *scope);

void usher__nodes_append(struct usher__nodes *l, struct usher__node *node);

/* After each change of what there is to collect or to do.  With the lock. */
void usher__post_show(struct usher__post *p);

#endif
