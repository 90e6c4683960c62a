/* SPDX-License-Identifier: MIT */
/* Posted commands, and events that were not collected yet (command.h).  The commands are in post.c,
 * the watchers whose notices are collected in `hear.c`. */
#ifndef USHER_ENGINE_POST_H
#define USHER_ENGINE_POST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>
#include <usher/store/store.h>

#include "engine/timers.h"

struct usher__heard;
struct usher__crossing;
struct usher__reading;
struct usher__watches;

/* An event in a list: the first member of a struct that depends on its kind. */
struct usher__node {
    struct usher_event event; /* first member */
    struct usher__node *next;
};

struct usher__nodes {
    struct usher__node *first, *last;
};

enum usher__descriptor {
    USHER__COLLECT,   /* there is an event to collect, or work for a thread that collects */
    USHER__WORK,      /* there is work for a thread in usher_work() */
    USHER__INTERRUPT, /* usher_interrupt() */
    USHER__LOOP, /* COLLECT, or something under way can continue; -1 if nothing is asynchronous */
    USHER__DESCRIPTORS
};

struct usher__heards {
    struct usher__heard *first, *last;
};

/* The maximum number of queues of posted commands, and of logs to be read.  Each is for some lanes
 * of the store, so that a server that does not answer delays only its own queue.  If there are
 * several, there is one more for commands that may need two servers (USHER__BEYOND).  If the store
 * has replicas, as many queues follow for commands that wait for them. */
#define USHER__POST_QUEUES 16
#define USHER__POST_LANES (2 * USHER__POST_QUEUES + 1)
#define USHER__POST_HOMES 1024

struct usher__post_lane {
    struct usher__nodes waiting;
    struct usher__heards behind; /* watchers that have to read their log */
    bool executing;
    /* While `executing`, one of both is under way without a thread. */
    struct usher__crossing *crossing; /* the commands of `batch` */
    struct usher__reading *reading;   /* logs */
    struct usher__nodes batch;
    struct usher_wait wait; /* what it waits for */
    bool going_on;          /* a thread drives it */
    bool has_read;          /* the last one was a reading */
};

/* Keeps the order of commands on scopes with the same hash.  While such commands are posted and not
 * done, later ones go to the same lane, also if the scope has moved since. */
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
    unsigned n_queues, n_lanes; /* n_lanes includes the additional ones; both 1 without lanes */
    unsigned replicas;          /* the first lane for commands that wait for replicas; 0: none */
    unsigned n_under_way;       /* lanes in which something is under way without a thread */
    unsigned turn;              /* the lane with which to begin */
    struct usher__home *homes;  /* USHER__POST_HOMES; NULL with one lane */
    struct usher__nodes ready;
    size_t n;                    /* commands that are posted and not collected, or being posted */
    int64_t soonest_ms;          /* no waiting command has an earlier deadline */
    unsigned workers;            /* threads in usher_work() */
    bool is_up[USHER__WORK + 1]; /* is it readable? */
    int fd[USHER__DESCRIPTORS];

    /* The store's listener, made with the first follower; NULL: none.  One thread at a time drives
     * it, without the lock. */
    struct usher_listener *listener;
    struct usher__watches *watches; /* to which it reports */
    struct usher_wait listen_wait;
    bool listening;  /* a thread drives it */
    bool listen_now; /* its followers have changed */

    /* `hear.c` */
    struct usher__timers heards; /* all */
    struct usher__heards gaps;   /* watchers with a pending gap */
    size_t n_notices;            /* notices and gaps in `ready`, and space reserved for readings */
    int64_t gaps_ms;             /* when to try again to allocate the first of `gaps` */
};

/* Return that of @e, created by its first use, or NULL with usher_message(). */
struct usher__post *usher__post_of(struct usher_engine *e, const char *call);

/* Free all of it.  Accepts NULL.  In the child of a fork (@forked) its descriptors are closed, and
 * nothing else is done if another thread of the parent had the lock. */
void usher__post_close(struct usher__post *p, bool forked);

/* End what is under way without a thread, before the store is closed.  Accepts NULL.  Return false
 * in the child of a fork (@forked) if another thread of the parent drove it, and change nothing. */
bool usher__post_leave(struct usher__post *p, bool forked);

/*
 * Complete posted batches that lock units (store.h) of @commands, until @deadline_ms.  With a
 * watcher a batch locks the units of its scopes, and the caller may be the only thread that
 * collects.  If it waited in the store for its own batch, it would wait until its deadline.
 */
void usher__post_settle(struct usher_engine *e, const struct usher_operation *commands, size_t n,
                        int64_t deadline_ms);

/* Return the lane for a command with @verb on @scope. */
struct usher__post_lane *usher__post_lane(struct usher__post *p, unsigned verb,
                                          const struct usher_text *scope);

void usher__nodes_append(struct usher__nodes *l, struct usher__node *node);

/* Called after each change of the events to collect and of the work.  With the lock. */
void usher__post_show(struct usher__post *p);

#endif
