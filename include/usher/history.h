/* SPDX-License-Identifier: MIT */
/*
 * A history: a permanent table of the visits of queues, one row each.
 *
 * A queue keeps an ended visit in the store, written with its end.  An engine with a history moves
 * it into the history: it reads the oldest ones, puts them there in one transaction, and only then
 * makes the store drop them.  If this stops in between, nothing is lost unless the store loses it:
 * a visit that was put and not dropped is put again, which put() must allow.  The engine sets
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
 * by filling in struct usher_history_ops, and gives it to the engine in usher_options.history.
 * It must outlive the engine.
 *
 * Rules for authors: as in authority.h.  Several engines, processes and hosts may put visits of
 * one queue at the same time, even the same visits.
 *
 * May change with any 0.x, unlike usher.h.  Since 0.1.
 */
#ifndef USHER_HISTORY_H
#define USHER_HISTORY_H

#include <usher/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of `archive` that the engine sets if it is 0. */
#define USHER_QUEUE_ARCHIVE_DEFAULT 100000

struct usher_history;

/* A query of visits of one queue. */
struct usher_history_query {
    struct usher_text queue;
    struct usher_text user, agent; /* data NULL: any */
    int64_t since_ms, until_ms;    /* time of the end, both included */
    int64_t before;                /* continue after the row at this place; 0: from the latest on */
    uint64_t epoch, version;       /* leave out this epoch from this version on; 0: none */
    size_t max;
};

/* One row.  The visit that was put last comes first; in a range of time without user and agent a
 * history may list the latest end first.  @place: a number above 0, larger for visits put
 * later.  A status other than USHER_OK ends the reading, which returns it. */
typedef enum usher_status usher_history_fn(void *payload,
                                           const struct usher_queue_result_row *visit,
                                           int64_t place);

struct usher_history_ops {
    size_t size;      /* sizeof(struct usher_history_ops) of the author's compiler */
    const char *name; /* in messages: "sqlite" */
    /*
     * Must.  Keep @n visits of @queue, rows as of `queue history`, all or none, durable on
     * return.  One with (queue, epoch, version, user, applied_ms) that is there already is not
     * added again.  USHER_OK, USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM.
     */
    enum usher_status (*put)(struct usher_history *h, const struct usher_text *queue,
                             uint64_t epoch, const struct usher_queue_result_row *visits, size_t n,
                             int64_t deadline_ms, char message[192]);
    /* May; NULL: `queue history` lists only visits that are still in the store.  Call @fn with the
     * visits of the query.  USHER_OK, USHER_UNAVAILABLE, USHER_NOMEM, or what @fn returned. */
    enum usher_status (*read)(struct usher_history *h, const struct usher_history_query *query,
                              int64_t deadline_ms, usher_history_fn *fn, void *payload,
                              char message[192]);
    /* Must.  Frees @h.  Cannot fail. */
    void (*close)(struct usher_history *h);
    /* May.  Close @h in a child of fork(), as usher_store_ops.forget. */
    void (*forget)(struct usher_history *h);
};

/* A history's own struct begins with this one. */
struct usher_history {
    const struct usher_history_ops *ops;
};

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
