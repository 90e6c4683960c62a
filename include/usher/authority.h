/* SPDX-License-Identifier: MIT */
/*
 * An authority: a durable limit up to which numbers may be issued.
 *
 * A store may lose its latest changes (Redis after a failover).  Then it would issue numbers a
 * second time.  So serials and ids are issued from ranges that an authority has granted before,
 * durably.  Each name has one number, its maximum, which only grows: reserve() raises it and
 * returns the range between the old and the new one, which no other caller will get.  The unused
 * rest of a lost store's range is a gap.  Gaps are allowed, repetition never.  A loss costs a
 * segment of ids (`step`, or the ids that a command needed), and of serials those that a command
 * needed and 1000, or an eighth of those that a bounded period has left, if that is less.  Two
 * engines that reserve at the same moment cost the same at most.
 *
 * There is one on SQLite (usher_authority_open()).  An application writes one on its own
 * database by filling in struct usher_authority_ops, and gives it to the engine in
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
 * and a number (a serial rule that begins again each day has one name a day); they are at
 * most USHER_AUTHORITY_NAME_MAX bytes.
 *
 * May change with any 0.x, unlike usher.h.  Since 0.1.
 */
#ifndef USHER_AUTHORITY_H
#define USHER_AUTHORITY_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_AUTHORITY_NAME_MAX (USHER_NAME_MAX + 24)
#define USHER_AUTHORITY_DATA_MAX 4096 /* bytes kept with a name */

struct usher_authority;

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

/* One event in a number's life. */
struct usher_authority_event {
    enum usher_noun noun;
    enum usher_verb verb;   /* what happened: take, reserve, confirm, return, void, expire */
    struct usher_text name; /* of the rule, the same for all periods */
    int64_t period;         /* the period of the numbers; 0: without periods */
    int64_t first, n;       /* numbers first … first + n - 1 */
    int64_t now_ms;
    int64_t until_ms;        /* reserve: when it expires; else 0 */
    uint64_t epoch, version; /* of the scope: after a loss it begins again with another epoch,
                              * at version 1 or (Redis) at one of the time of day */
    struct usher_text owner; /* size 0: none */
    struct usher_text text;  /* the (first) serial as it was printed; size 0: an expiry */
    bool again;   /* the answer to a repeat: the journal may have it, also under an older epoch */
    bool twice;   /* set by journal(): a number was issued or settled a second time */
    uint64_t row; /* when read: its position, larger for events added later */
};

/* Texts of @event live during the call. */
typedef void usher_authority_event_fn(void *payload, const struct usher_authority_event *event);

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

/**
 * Open the authority named by @url: `sqlite:PATH`, a file of its own (not one of a store),
 * shared by any number of processes.  Always commits with synchronous=FULL.
 * @alloc may be NULL.  The same as `?authority=URL` after the URL of a store, which makes the
 * engine its owner.
 *
 * USHER_OK, USHER_INVALID (the URL, or the file is not ours), USHER_UNAVAILABLE,
 * USHER_NOMEM; usher_message() has the reason.
 */
USHER_API enum usher_status usher_authority_open(const char *url,
                                                 const struct usher_allocator *alloc,
                                                 struct usher_authority **ret_authority);

/** Close @a, which no engine may be using.  NULL is allowed. */
USHER_API void usher_authority_close(struct usher_authority *a);

/**
 * Call @fn with the events of @name in the journal after @row (0: from the beginning), in the order
 * in which they were written, at most @max (0: all).  USHER_OK, USHER_INVALID (this authority has
 * no journal), USHER_UNAVAILABLE, USHER_NOMEM.  For a rule of an engine see usher_serial_journal().
 */
USHER_API enum usher_status usher_authority_events(struct usher_authority *a, enum usher_noun noun,
                                                   const char *name, uint64_t row, size_t max,
                                                   usher_authority_event_fn *fn, void *payload);

#ifdef __cplusplus
}
#endif

#endif
