/* SPDX-License-Identifier: MIT */
/*
 * A replica: a client's own copy of one room, and the rules that keep it correct.
 *
 * It is a state machine without I/O, clock or threads.  Its input are messages about the room:
 * notices, heartbeats (epoch and version), answers to `snapshot` and `changes`; in any order, some
 * lost, some repeated, some late.  Its output is the next step.  It needs no engine: a client
 * program at the other end of a network uses it alone.  Its server sends the bytes of
 * usher_event_pack() and usher_reply_pack() (command.h), and the client reads them with
 * usher_event_unpack() and usher_reply_unpack().
 *
 *     next = usher_replica_notice(r, &notice);               // or _heartbeat()
 *     if (next == USHER_REPLICA_REPLAY || next == USHER_REPLICA_PULL)
 *         usher_replica_ask(r, &question);                   // send it, and when it is answered
 *     next = usher_replica_answer(r, question.ticket, reply);
 *
 * With events (usher_watch_events(), command.h), pass a NOTICE to usher_replica_notice(), epoch,
 * version and mark of a GAP to usher_replica_heartbeat(), and the REPLY to a posted question to
 * usher_replica_answer().  examples/room_server.c has a server and a client.
 *
 * Rules:
 *  - The copy is at any time the complete room as it was at one version.  While a new one is
 *    pulled, the old one stays; after a lack of memory it is empty and will be pulled.
 *  - usher_replica_current() is true only if no later message contradicts the copy: no gap in the
 *    versions, no other epoch, no lower version, no other history under a known version.
 *    A replica does not detect a change without a message: regular heartbeats bound the time in
 *    which it is outdated without detecting it.
 *  - Equal versions do not prove equal histories, because a store that lost its last changes and
 *    continued has other changes under the same versions.  Equal marks do (room.h): a notice is
 *    applied only to the history that it follows, and a heartbeat agrees only if its mark does.  So
 *    after any loss a replica that is current after the last notice or a heartbeat equals the
 *    room.
 *  - Versions jump when another server or file takes over a store, and a notice has the version
 *    that it follows (`before`; 0: the one below).  A replica of that version continues, and a
 *    replica with a lost change pulls.
 *  - Changes in one notice (usher_room_presence()) are applied one by one.
 *  - An answer settles the doubts that existed when its question was sent, and no later ones: it
 *    may have been made before them.  Answers to an older question are ignored.
 *  - A snapshot is pulled in pages while the room changes: each page has the changes since the
 *    previous one.  It starts again only if the log does not reach back to that page, a change was
 *    too large for a notice, or there is another room, or another history of it.
 *
 * Threads: one at a time.  Input texts are copied; output texts live until the next call that is
 * not an accessor.  Times are Unix ms.
 *
 * Since 0.1.
 */
#ifndef USHER_REPLICA_H
#define USHER_REPLICA_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum count, and maximum bytes of text, of early notices that are kept until the notices before
 * them arrive.  Further ones are read again. */
#define USHER_REPLICA_EARLY_MAX 64
#define USHER_REPLICA_EARLY_BYTES_MAX 262144
/* Versions back to which a repeated notice is compared with the one applied. */
#define USHER_REPLICA_KNOWN_MAX 128

struct usher_replica;

/* The result of a message, and the next step. */
enum usher_replica_next {
    USHER_REPLICA_IGNORE, /* nothing: known, not of this room, or kept until others arrive */
    USHER_REPLICA_APPLY,  /* the copy has changed */
    USHER_REPLICA_REPLAY, /* request `changes` */
    USHER_REPLICA_PULL,   /* request `snapshot` */
    USHER_REPLICA_NEXT__WIDE = 0x7fffffff
};

/* The question to send.  Never grows. */
struct usher_replica_question {
    enum usher_replica_next kind; /* REPLAY or PULL; IGNORE: no request is needed */
    uint64_t ticket;              /* for usher_replica_answer() */
    uint64_t since;               /* of `changes` or `snapshot` */
    uint64_t after;               /* PULL: of `snapshot`; 0, as @since: the first page */
};

/**
 * Open an empty replica of @room: the first question is for a snapshot.  @alloc (NULL: malloc)
 * must outlive it.  USHER_OK, USHER_INVALID (the name), USHER_NOMEM.
 */
USHER_API enum usher_status usher_replica_open(const char *room,
                                               const struct usher_allocator *alloc,
                                               struct usher_replica **ret_replica);

/** Free @r.  NULL is allowed. */
USHER_API void usher_replica_close(struct usher_replica *r);

/**
 * Process a notice.  Notices of other rooms are ignored.  REPLAY and PULL are returned only while
 * no question is open.  O(size of the change).
 */
USHER_API enum usher_replica_next usher_replica_notice(struct usher_replica *r,
                                                       const struct usher_notice *notice);

/** Process the newest epoch and version, and the mark at that version, such as those of
 * usher_room_alive(); all 0: there is no such room.  Returns like usher_replica_notice().  O(1). */
USHER_API enum usher_replica_next usher_replica_heartbeat(struct usher_replica *r, uint64_t epoch,
                                                          uint64_t version, uint64_t mark);

/**
 * Write the question for the server.  An open question is abandoned: call this again if its answer
 * does not arrive.
 */
USHER_API void usher_replica_ask(struct usher_replica *r, struct usher_replica_question *ret);

/**
 * Process the reply to the question with @ticket, of usher_room_snapshot() or usher_room_changes(),
 * of a posted command, or of usher_reply_unpack(); any status.  Its rows are copied.  Pages of a
 * snapshot are kept until the last one is there; then APPLY.  After a failure of the store the same
 * question is still to be sent.  O(rows).
 */
USHER_API enum usher_replica_next usher_replica_answer(struct usher_replica *r, uint64_t ticket,
                                                       const struct usher_reply *reply);

/**
 * Compare the copy with @digest (usher_room_digest()) of the room at @epoch and @version.  Returns
 * PULL if the copy is of that version and has another digest; else it is processed like
 * usher_replica_heartbeat().  O(room) if the versions are equal.
 */
USHER_API enum usher_replica_next usher_replica_check(struct usher_replica *r, uint64_t epoch,
                                                      uint64_t version, const char *digest);

/** Return whether the copy agrees with all messages.  O(1). */
USHER_API bool usher_replica_current(const struct usher_replica *r);

/** Return the step that makes the copy current: REPLAY, PULL, or IGNORE for none.  O(1). */
USHER_API enum usher_replica_next usher_replica_missing(const struct usher_replica *r);

/* The room of the copy. */
struct usher_replica_about {
    size_t size;                 /* set by USHER_REPLICA_ABOUT_INIT */
    bool known;                  /* there is a copy, current or not */
    enum usher_room_state state; /* CLOSING, CLOSED: nothing of it is visible */
    uint64_t epoch, version, mark;
    uint64_t fields, alls, roles, members, shares; /* counts */
    size_t early;                                  /* notices kept */
};

/* clang-format off */
#ifdef __cplusplus
#define USHER_REPLICA_ABOUT_INIT { sizeof(struct usher_replica_about) }
#else
#define USHER_REPLICA_ABOUT_INIT { .size = sizeof(struct usher_replica_about) }
#endif
/* clang-format on */

/** Describe the copy, as far as the size of *@ret reaches.  O(1). */
USHER_API void usher_replica_show(const struct usher_replica *r, struct usher_replica_about *ret);

/**
 * Walk the copy in the order of a snapshot: fields, values of all, roles, members each followed
 * by its shares.  Begin with *@at = NULL; false: there are no more, or the size of *@ret_row is not
 * set.  Rows are those of a snapshot without seen_ms, and their texts belong to the replica.  O(1)
 * a row.  The replica must not be changed in between.
 */
USHER_API bool usher_replica_walk(const struct usher_replica *r, const void **at,
                                  struct usher_room_row *ret_row);

/** Find the field, value of all, role, member or share with the name @id: a row as above.  O(1). */
USHER_API bool usher_replica_find(const struct usher_replica *r, enum usher_room_row_kind kind,
                                  const char *id, struct usher_room_row *ret_row);

/**
 * Read the value of @field of @member: its own or that of all, the one that was set last.
 * False: it has none, or there is no such member.  O(fields of the member).
 */
USHER_API bool usher_replica_value(const struct usher_replica *r, const char *member,
                                   const char *field, struct usher_text *ret_value);

/**
 * Compute the digest of the copy, as usher_room_digest() does for the room at the same version.
 * USHER_OK; USHER_MISSING: there is no copy, or no room.  O(room).
 *
 * Each visible item is hashed by itself: XXH3, 128 bits, of kind, id, owner, state,
 * version, value.  The hashes are added modulo 2^128, so that order does not matter.  The
 * digest is XXH3, 128 bits, of the state of the room, its version, the number of items, and
 * the sum (low, then high half).  Integers are 8 bytes, the lowest first; texts have their size
 * before them.  Items are:
 *
 *   kind 1, 2  a field, a value of all: id, version, value
 *   kind 3     a role: id, owner (its holder), version
 *   kind 4     a member: id, state, version
 *   kind 5     a share: id, owner, version
 *   kind 20    a member's own field, if it is not older than the value of all: the member's id
 *              as id, the field as owner, version, value
 *   kind 21    a field of a share, in the same way
 *
 * Parts that are not named are empty or 0.  Times, bans, settings and the epoch are not in it.
 */
USHER_API enum usher_status usher_replica_digest(const struct usher_replica *r,
                                                 char ret_digest[33]);

#ifdef __cplusplus
}
#endif

#endif
