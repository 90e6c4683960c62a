/* SPDX-License-Identifier: MIT */
/*
 * For authors of a history (usher/history.h) on a database of their own.
 *
 * An author fills in struct usher_history_ops and gives the history to the engine in
 * usher_options.history.  It must outlive the engine.
 *
 * Rules: as in usher/store/authority.h.  Several engines, processes and hosts may put visits of one
 * queue at the same time, even the same visits.
 *
 * It MAY CHANGE in 0.x: a history of your own must then be compiled again.  Since 0.1.
 */
#ifndef USHER_STORE_HISTORY_H
#define USHER_STORE_HISTORY_H

#include <usher/history.h>
#include <usher/store/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
