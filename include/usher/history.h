/* SPDX-License-Identifier: MIT */
/*
 * A history: a permanent table of the visits of queues, one row each.
 *
 * A queue keeps an ended visit in the store, written with its end.  An engine with a history moves
 * it into the history: it reads the oldest ones, puts them there in one transaction, and only then
 * makes the store drop them.  If this stops in between, nothing is lost unless the store loses it:
 * a visit that was put and not dropped is put again, and kept once.  The engine sets
 * `archive` of a queue at its first command on it, so that the store drops none before.  While the
 * history cannot be reached, visits still end, and `apply` is refused once `archive` of them wait.
 *
 * Visits are moved on the thread of a command on the queue, after its answer, once a second at
 * most; in usher_close(); and by usher_queue_drain().  `queue history` reads both places.
 *
 * An SQLite store has a history of its own and needs no moves: each visit is a row of its
 * table `visit`, written with its end, and `queue history` reads it if the engine has no other.
 *
 * There is one on SQLite (usher_history_open()).  An application writes one on its own database
 * with usher/store/history.h.  The engine gets it in usher_options.history, or by `?history=URL`
 * after the URL of its store.
 *
 * Since 0.1.
 */
#ifndef USHER_HISTORY_H
#define USHER_HISTORY_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of `archive` that the engine sets if it is 0. */
#define USHER_QUEUE_ARCHIVE_DEFAULT 100000

struct usher_history;

/**
 * Open the history named by @url: `sqlite:PATH`, a file of its own (not one of a store), shared
 * by any number of processes and queues.  The first use opens it; its table is in
 * usher(1), HISTORIES.  @alloc may be NULL.  The same as `?history=URL` after the URL of a store,
 * which makes the engine its owner.
 *
 * USHER_OK, USHER_INVALID (the URL), USHER_NOMEM; usher_message() has the reason.
 */
USHER_API enum usher_status usher_history_open(const char *url, const struct usher_allocator *alloc,
                                               struct usher_history **ret_history);

/** Close @h, which no engine may be using.  NULL is allowed. */
USHER_API void usher_history_close(struct usher_history *h);

#ifdef __cplusplus
}
#endif

#endif
