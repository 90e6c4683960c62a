/* SPDX-License-Identifier: MIT */
/*
 * An authority: a durable limit up to which numbers may be issued.
 *
 * A store may lose its latest changes (Redis after a failover).  Then it would issue numbers a
 * second time.  So serials and ids are issued from ranges that an authority has granted before,
 * durably.  Each name has one number, its maximum, which only grows: a grant raises it, and is the
 * range between the old and the new one, which no other caller gets.  The unused rest of a lost
 * store's range is a gap.  Gaps are allowed, repetition never.  A loss costs a segment of ids
 * (`step`, or the ids that a command needed), and of serials those that a command needed and 1000,
 * or an eighth of those that a bounded period has left, if that is less.  Two engines that reserve
 * at the same moment cost the same at most.
 *
 * There is one on SQLite (usher_authority_open()).  An application writes one on its own database
 * with usher/store/authority.h.  The engine gets it in usher_options.authority, or by
 * `?authority=URL` after the URL of its store.
 *
 * Since 0.1.
 */
#ifndef USHER_AUTHORITY_H
#define USHER_AUTHORITY_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

struct usher_authority;

/* One event in a number's life. */
struct usher_authority_event {
    enum usher_noun noun;
    enum usher_verb verb;   /* what happened: take, reserve, renew, confirm, return, void, expire */
    struct usher_text name; /* of the rule, the same for all periods */
    int64_t period;         /* the period of the numbers; 0: without periods */
    int64_t first, n;       /* numbers first … first + n - 1 */
    int64_t now_ms;
    int64_t until_ms;        /* reserve, renew: when it expires, or USHER_NEVER; else USHER_NONE */
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
