/* SPDX-License-Identifier: MIT */
/*
 * For authors of an authority (usher/authority.h) on a database of their own.
 *
 * An author fills in struct usher_authority_ops and gives the authority to the engine in
 * usher_options.authority.  It must outlive the engine.
 *
 * Rules for authors:
 *  - reserve() is atomic among all threads, processes and hosts that use the same names, and
 *    what it answered survives a power loss.  With SQL: one transaction,
 *    UPDATE … SET max = max + n, synchronous commit.
 *  - USHER_UNAVAILABLE: nothing was raised.  USHER_UNKNOWN: it may have been; the caller
 *    reserves again, and the unknown range is a gap.
 *  - Functions are called from any thread, several at once.  They, and the functions that they
 *    call, must not use the engine that calls them: it returns USHER_INVALID.
 *  - They return by @deadline_ms (CLOCK_MONOTONIC, ms) or as soon after as they can.
 *  - @message takes one line on failure, of at most 192 bytes with its NUL.  Never NULL.
 *  - Texts are the caller's and live during the call; out-parameters are written on USHER_OK
 *    only.
 *
 * Numbers are from 0 to INT64_MAX.  Names are those of scopes, perhaps followed by a `@`
 * and a number (a serial rule that begins again each day has one name a day).  A name has at most
 * USHER_AUTHORITY_NAME_MAX bytes, the longest rule with a key of the same size and a period.
 *
 * It MAY CHANGE in 0.x: an authority of your own must then be compiled again.  Since 0.1.
 */
#ifndef USHER_STORE_AUTHORITY_H
#define USHER_STORE_AUTHORITY_H

#include <usher/authority.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_AUTHORITY_NAME_MAX (2 * USHER_NAME_MAX + 24)
#define USHER_AUTHORITY_DATA_MAX 4096 /* bytes kept with a name */

/* The request to reserve(). */
struct usher_authority_want {
    enum usher_noun noun;
    struct usher_text name;
    int64_t floor; /* the maximum is first raised to this, if it is below: start - 1, or what
                    * was issued without the authority */
    int64_t n;     /* then by this count; 0: only the floor and the data */
    int64_t limit; /* but not past this: fewer than @n if need be; INT64_MAX: no limit */
    /* Stored with the name and returned by read(): the rule itself.  data NULL: unchanged. */
    struct usher_text data;
};

/* (from, to] is the caller's. */
struct usher_authority_range {
    int64_t from, to; /* to: the committed maximum */
};

/* The result of read(). */
struct usher_authority_entry {
    int64_t max;
    size_t data_size;
    char data[USHER_AUTHORITY_DATA_MAX];
};

/* @name and @entry live during the call. */
typedef void usher_authority_entry_fn(void *payload, const struct usher_text *name,
                                      const struct usher_authority_entry *entry);

struct usher_authority_ops {
    size_t size;      /* sizeof(struct usher_authority_ops) of the author's compiler */
    const char *name; /* in messages: "sqlite" */
    /*
     * Must.  Reserve a range, in one durable transaction: a new name begins with maximum 0;
     * from = the greater of the maximum and want->floor; to = from + want->n, at most
     * want->limit; the maximum becomes `to`.
     * USHER_FULL: want->n > 0 and from >= want->limit: nothing is left, but floor and data are
     * stored.  USHER_OK, USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM.
     */
    enum usher_status (*reserve)(struct usher_authority *a, const struct usher_authority_want *want,
                                 int64_t deadline_ms, struct usher_authority_range *ret_range,
                                 char message[192]);
    /* Must.  USHER_OK, USHER_MISSING (nothing was ever reserved), USHER_UNAVAILABLE,
     * USHER_NOMEM. */
    enum usher_status (*read)(struct usher_authority *a, enum usher_noun noun,
                              const struct usher_text *name, int64_t deadline_ms,
                              struct usher_authority_entry *ret_entry, char message[192]);
    /*
     * Must.  Release (from, to], which is unused: if @to is still the maximum, it becomes
     * @from.  USHER_OK; USHER_STALE: a later range is reserved, and this one stays a gap;
     * USHER_MISSING, USHER_UNAVAILABLE, USHER_UNKNOWN (then it counts as released: use none
     * of it), USHER_NOMEM.
     */
    enum usher_status (*release)(struct usher_authority *a, enum usher_noun noun,
                                 const struct usher_text *name, int64_t from, int64_t to,
                                 int64_t deadline_ms, char message[192]);
    /*
     * May; NULL: keeps no journal.  Append @n events in one transaction, all or none, and set `row`
     * and `twice` of each.
     *
     * The same event is not added again; its row stays 0.  Events are the same if (noun, name,
     * verb, first, version, epoch) are; issues (take, reserve) must have the same now_ms, too,
     * because a store restored from a copy continues with the versions of the copy.  The epoch of
     * an event with `again` does not matter.
     *
     * `twice`: a number of an issue was issued before, by another event, in the same noun, name and
     * period; the event is added nevertheless.  The last event of each number decides: after a
     * return or an expire it may be issued again, and after a reserve that is over (until_ms <=
     * now_ms), but not after a take, a confirm or a void.  Engines may add their events in another
     * order: a return or expire with a lower version than the last event of its number clears
     * `twice` of the reserve of that number that has the next version.
     *
     * A confirm of a number that was confirmed before, by another change, is `twice`, too.  In one
     * epoch, a confirm and a return, void or expire of the same number with a later version are
     * `twice` as well: the one that is added last.  Two masters at once cause that.
     *
     * USHER_OK, USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM.
     */
    enum usher_status (*journal)(struct usher_authority *a, struct usher_authority_event *events,
                                 size_t n, int64_t deadline_ms, char message[192]);
    /* Must.  Frees @a.  Cannot fail. */
    void (*close)(struct usher_authority *a);
    /* May.  Close @a in a child of fork(), as usher_store_ops.forget. */
    void (*forget)(struct usher_authority *a);
    /* May; NULL: the journal cannot be read here.  Call @fn with the events of @name after @row,
     * in the order in which they were added, at most @max.  USHER_OK, USHER_UNAVAILABLE,
     * USHER_NOMEM. */
    enum usher_status (*events)(struct usher_authority *a, enum usher_noun noun,
                                const struct usher_text *name, uint64_t row, size_t max,
                                int64_t deadline_ms, usher_authority_event_fn *fn, void *payload,
                                char message[192]);
    /* May; NULL: usher_check() cannot find them.  Call @fn with the events of all names that are
     * `twice`, in the order in which they were added.  O(such events), not O(all events).
     * USHER_OK, USHER_UNAVAILABLE, USHER_NOMEM. */
    enum usher_status (*twice)(struct usher_authority *a, int64_t deadline_ms,
                               usher_authority_event_fn *fn, void *payload, char message[192]);
    /* May; NULL: usher_check() cannot compare them.  Call @fn with each name that has data, in any
     * order.  USHER_OK, USHER_UNAVAILABLE, USHER_NOMEM. */
    enum usher_status (*entries)(struct usher_authority *a, enum usher_noun noun,
                                 int64_t deadline_ms, usher_authority_entry_fn *fn, void *payload,
                                 char message[192]);
};

/* An authority's own struct begins with this one. */
struct usher_authority {
    const struct usher_authority_ops *ops;
};

#ifdef __cplusplus
}
#endif

#endif
