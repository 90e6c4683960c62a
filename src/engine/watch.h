/* SPDX-License-Identifier: MIT */
/*
 * Watchers inside the process.
 *
 * Stores report changes while they hold their locks, so notices are only queued then, in order of
 * version.  After the command, one thread at a time takes them off the queue and calls the
 * watchers, with no lock held that a watcher could need.  Watchers whose notices are collected
 * (`hear.h`) are in the same lists; they copy notices at once.  A change of one scope costs nothing
 * for the watchers of others.
 *
 * Notices that may wait (notice->wait_ms) are coalesced, room by room, and queued as one notice.
 * That is done here and not in the store: each engine notifies its own watchers of its own changes,
 * independently of other engines.
 */
#ifndef USHER_ENGINE_WATCH_H
#define USHER_ENGINE_WATCH_H

#include <usher/store/operation.h>
#include <usher/store/store.h>

#include <pthread.h>
#include <stdatomic.h>

struct usher_watcher;
struct usher__heard;
struct usher__queued;
struct usher__gathered;

struct usher__watches {
    const struct usher_allocator *alloc;
    pthread_mutex_t lock;
    pthread_cond_t idle;             /* a watcher's call has ended */
    bool ready;                      /* the two above are initialised */
    struct usher_watcher *any;       /* for all scopes, of a noun or of all nouns */
    struct usher_watcher **of_scope; /* for one scope: lists, by noun and scope */
    size_t n_lists, n_of_scope;
    atomic_int n;     /* number of watchers: no cost when it is 0 */
    unsigned n_calls; /* watchers with a function */
    struct usher__queued *head, *tail;
    struct usher__gathered **gathered; /* by name: a table of fixed size, allocated when needed */
    atomic_size_t n_gathered;          /* rooms in it: no cost when it is 0 */
    bool delivering;                   /* a thread is calling watchers */
    pthread_t deliverer;
    atomic_bool dropped; /* a notice was lost for lack of memory */
};

enum usher_status usher__watches_init(struct usher__watches *w,
                                      const struct usher_allocator *alloc);
void usher__watches_done(struct usher__watches *w);

/* For usher_context.notify; @payload is the struct usher__watches. */
void usher__watches_queue(void *payload, const struct usher_notice *notice);

/* Queue a notice that @command was answered USHER_LOST. */
void usher__watches_lost(struct usher__watches *w, const struct usher_operation *command,
                         const struct usher_result *reply);

/* Report that there may be changes of @scope of @noun without notices; without a scope, of any
 * scope. */
void usher__watches_doubt(struct usher__watches *w, enum usher_noun noun,
                          const struct usher_text *scope);

/* Pass @event of @scope, from the store's listener, to the followers of @scope. */
void usher__watches_published(struct usher__watches *w, enum usher_noun noun,
                              const struct usher_text *scope, enum usher_listen_event event,
                              uint64_t version);

/*
 * @command was answered, at @now_ms (0: not known).  If its room has coalesced notices, queue them
 * when their time has come, or when this is a command of another kind.  Else the answer to a
 * heartbeat gets the version up to which watchers have been notified.
 */
void usher__watches_meet(struct usher__watches *w, const struct usher_operation *command,
                         struct usher_result *reply, int64_t now_ms);

/* Call the watchers for the queued notices, unless another thread (or a watcher further up on
 * this one) does that: then that one continues with them.  Return true if a notice has been
 * lost since the last time. */
bool usher__watches_deliver(struct usher__watches *w);

/* Add a watcher of @scope of @noun (NULL: of all its scopes; 0: of all nouns).  `heard` gets the
 * notices, or if it is NULL, @fn with @payload.  On USHER_NOMEM the caller still owns `heard`. */
enum usher_status usher__watches_add(struct usher__watches *w, enum usher_noun noun,
                                     const char *scope, usher_watch_fn *fn, void *payload,
                                     struct usher__heard *heard, struct usher_watcher **ret_watch);
void usher__watches_remove(struct usher__watches *w, struct usher_watcher *watch);

/* Return whether this thread is calling @watch (NULL: any watcher). */
bool usher__watches_on(struct usher__watches *w, const struct usher_watcher *watch);

#endif
