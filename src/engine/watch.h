/* SPDX-License-Identifier: MIT */
/*
 * Watchers inside the process.
 *
 * Stores tell of changes while they hold their locks, so notices are only queued then, in
 * order of version.  After the command, one thread at a time takes them off the queue and
 * calls the watchers, with no lock held that a watcher could need.  Watchers whose notices are
 * collected (hear.h) stand in the same lists; they keep them at once.  A change of one scope costs
 * nothing for the watchers of others.
 *
 * What may wait (notice->wait_ms) is gathered, room by room, and queued as one notice.  That is
 * done here and not in the store: each engine tells its own watchers of what it has changed, and
 * what others tell theirs takes nothing away.
 */
#ifndef USHER_ENGINE_WATCH_H
#define USHER_ENGINE_WATCH_H

#include <usher/operation.h>
#include <usher/store.h>

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
    struct usher_watcher *any;       /* of all scopes, of a noun or of all */
    struct usher_watcher **of_scope; /* those of one: lists, by noun and scope */
    size_t n_lists, n_of_scope;
    atomic_int n;     /* of watchers: nobody pays when it is 0 */
    unsigned n_calls; /* of them are called */
    struct usher__queued *head, *tail;
    struct usher__gathered **gathered; /* by name: a table of fixed size, made when it is needed */
    atomic_size_t n_gathered;          /* rooms: nobody pays when it is 0 */
    bool delivering;                   /* a thread is calling watchers */
    pthread_t deliverer;
    atomic_bool dropped; /* a notice was lost for lack of memory */
};

enum usher_status usher__watches_init(struct usher__watches *w,
                                      const struct usher_allocator *alloc);
void usher__watches_done(struct usher__watches *w);

/* For usher_context.notify; @payload is the struct usher__watches. */
void usher__watches_queue(void *payload, const struct usher_notice *notice);

/* @command was answered USHER_LOST: queue that. */
void usher__watches_lost(struct usher__watches *w, const struct usher_operation *command,
                         const struct usher_result *reply);

/* There may be changes of @scope of @noun that no store tells of; of any without a scope. */
void usher__watches_doubt(struct usher__watches *w, enum usher_noun noun,
                          const struct usher_text *scope);

/* The store's listener reports @event of @scope: it is passed to the followers of @scope. */
void usher__watches_published(struct usher__watches *w, enum usher_noun noun,
                              const struct usher_text *scope, enum usher_listen_event event,
                              uint64_t version);

/*
 * @command was answered, at @now_ms (0: nobody has said when).  If it is of a room of which
 * something is gathered, queue that when its time has come, or when this is a command of another
 * kind; else the answer to a heartbeat says what watchers have been told of.
 */
void usher__watches_meet(struct usher__watches *w, const struct usher_operation *command,
                         struct usher_result *reply, int64_t now_ms);

/* Call the watchers for what is queued, unless another thread (or a watcher further up on
 * this one) is at it: then that one goes on with it.  Returns true when a notice has been
 * lost since the last time. */
bool usher__watches_deliver(struct usher__watches *w);

/* Of @scope of @noun; NULL: of all scopes of it, and 0: of all nouns.  @heard, or if it is NULL @fn
 * with @payload, is told.  USHER_NOMEM: @heard stays the caller's. */
enum usher_status usher__watches_add(struct usher__watches *w, enum usher_noun noun,
                                     const char *scope, usher_watch_fn *fn, void *payload,
                                     struct usher__heard *heard, struct usher_watcher **ret_watch);
void usher__watches_remove(struct usher__watches *w, struct usher_watcher *watch);

/* Is this thread calling @watch (NULL: any watcher) right now? */
bool usher__watches_on(struct usher__watches *w, const struct usher_watcher *watch);

#endif
