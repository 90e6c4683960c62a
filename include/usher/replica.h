/* SPDX-License-Identifier: MIT */
/*
 * A replica: a client's own copy of one room, and the rules by which it stays right.
 *
 * It is a state machine without I/O, clock or threads.  Its input are messages about the room:
 * notices, heartbeats (epoch and version), answers to `snapshot` and `changes`; in any order, some
 * lost, some repeated, some late.  Its output is the next step.  It needs no engine: a client
 * program at the other end of a network uses it alone and fills in struct usher_notice and struct
 * usher_result from the messages of its server.
 *
 *     next = usher_replica_notice(r, &notice);               // or _heartbeat()
 *     if (next == USHER_REPLICA_REPLAY || next == USHER_REPLICA_PULL)
 *         usher_replica_ask(r, &question);                   // send it, and when it is answered
 *     next = usher_replica_answer(r, question.ticket, reply);
 *
 * Fed by events (usher_watch_events(), command.h): a NOTICE goes to usher_replica_notice(), epoch,
 * version and mark of a GAP to usher_replica_heartbeat(), and the REPLY to a posted question to
 * usher_replica_answer().  usher_event_pack() makes bytes of the first two.  examples/rooms_loop.c
 * is a whole program.
 *
 * Rules:
 *  - The copy is at any time the room as it was at one version, whole.  While a new one is
 *    pulled, the old one stays; with a lack of memory it is empty and will be pulled.
 *  - usher_replica_current() is true only if no message since contradicts it: no gap in the
 *    versions, no other epoch, no version that has fallen, no other history under a known version.
 *    A replica cannot know of a change without a message: regular heartbeats bound the time in
 *    which it is old without knowing.
 *  - Equal versions do not prove equal histories, because a store that lost its last changes and
 *    continued has other changes under the same versions.  Equal marks do (room.h): a notice is
 *    applied only to the history that it follows, and a heartbeat agrees only if its mark does.  So
 *    whatever is lost, a replica that is current after the last notice or a heartbeat equals the
 *    room.
 *  - Versions jump when a store changes hands, and a notice has the version that it follows
 *    (`before`; 0: the one below).  A replica of that version continues, and one that has seen a
 *    lost change pulls.
 *  - Changes in one notice (usher_room_presence()) are taken one by one.
 *  - An answer settles the doubts that were there when its question was sent, and no later ones: it
 *    may have been made before them.  Answers to an older question are ignored.
 *  - A snapshot is pulled in pages while the room changes: each has the changes since the one
 *    before.  It starts again only if the log does not reach back to that, a change was too large
 *    for a notice, or there is another room, or another history of it.
 *
 * Threads: one at a time.  Texts given in are copied; those given out live until the next call
 * that is not an accessor.  Times are Unix ms.
 *
 * Since 0.1.
 */
#ifndef USHER_REPLICA_H
#define USHER_REPLICA_H

#include <usher/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Notices that came too early are kept until those between have come: their count, and the bytes of
 * text in them, at most.  Later ones are read again. */
#define USHER_REPLICA_EARLY_MAX 64
#define USHER_REPLICA_EARLY_BYTES_MAX 262144
/* Versions back to which a repeated notice is compared with the one applied. */
#define USHER_REPLICA_KNOWN_MAX 128

struct usher_replica;
struct usher_reply; /* command.h */

/* The result of a message, and the next step. */
enum usher_replica_next {
    USHER_REPLICA_IGNORE, /* nothing: known, not of this room, or kept until more is there */
    USHER_REPLICA_APPLY,  /* the copy has changed */
    USHER_REPLICA_REPLAY, /* ask for `changes` */
    USHER_REPLICA_PULL,   /* ask for `snapshot` */
    USHER_REPLICA_NEXT__WIDE = 0x7fffffff
};

/* The question to send. */
struct usher_replica_question {
    enum usher_replica_next kind; /* REPLAY or PULL; IGNORE: there is nothing to ask */
    uint64_t ticket;              /* for usher_replica_answer() */
    uint64_t since;               /* of `changes` or `snapshot` */
    uint64_t after;               /* PULL: of `snapshot`; 0, as @since: the first page */
};

/**
 * A replica of @room that knows nothing yet: the first question is for a snapshot.  @alloc
 * (NULL: malloc) must outlive it.  USHER_OK, USHER_INVALID (the name), USHER_NOMEM.
 */
USHER_API enum usher_status usher_replica_open(const char *room,
                                               const struct usher_allocator *alloc,
                                               struct usher_replica **ret_replica);

/** Give all of it back.  NULL is fine. */
USHER_API void usher_replica_close(struct usher_replica *r);

/**
 * Take a notice.  One of another room is ignored.  REPLAY and PULL are returned only while no
 * question is open.  O(size of the change).
 */
USHER_API enum usher_replica_next usher_replica_notice(struct usher_replica *r,
                                                       const struct usher_notice *notice);

/** Take the newest epoch and version, and the mark at that version, as from usher_room_alive(); all
 * 0: there is no such room.  As usher_replica_notice().  O(1). */
USHER_API enum usher_replica_next usher_replica_heartbeat(struct usher_replica *r, uint64_t epoch,
                                                          uint64_t version, uint64_t mark);

/**
 * Write the question for the server.  An open question is given up: call this again when its answer
 * does not come.
 */
USHER_API void usher_replica_ask(struct usher_replica *r, struct usher_replica_question *ret);

/**
 * The reply to the question with @ticket, of usher_room_snapshot() or usher_room_changes(), or
 * of one that was posted; any status.  Its rows are copied; without memory for that it is as if the
 * store had failed.  A page of a snapshot is kept aside until the last one is there; then APPLY. If
 * the reply says that the store failed, what it was asked for is still to be asked for.  O(rows).
 */
USHER_API enum usher_replica_next usher_replica_answer(struct usher_replica *r, uint64_t ticket,
                                                       const struct usher_reply *reply);

/** The same of a result that is made from what a server has sent.  Used of it: status, epoch,
 *  version and of.room: state, mark, more, since, rows. */
USHER_API enum usher_replica_next usher_replica_result(struct usher_replica *r, uint64_t ticket,
                                                       const struct usher_result *result);

/**
 * The leader said that the room has @digest (usher_room_digest()) at @epoch and @version.
 * PULL if the copy is of that version and has another.  Else as usher_replica_heartbeat().
 * O(room) if the versions are equal.
 */
USHER_API enum usher_replica_next usher_replica_check(struct usher_replica *r, uint64_t epoch,
                                                      uint64_t version, const char *digest);

/** Does the copy agree with all messages?  O(1). */
USHER_API bool usher_replica_current(const struct usher_replica *r);

/** The step that makes the copy current: REPLAY, PULL, or IGNORE for none.  O(1). */
USHER_API enum usher_replica_next usher_replica_missing(const struct usher_replica *r);

/* The room of the copy. */
struct usher_replica_about {
    bool known;                  /* there is a copy, current or not */
    enum usher_room_state state; /* CLOSING, CLOSED: nothing of it is seen */
    uint64_t epoch, version, mark;
    uint64_t fields, alls, roles, members, shares; /* how many */
    size_t early;                                  /* notices kept */
};

/** O(1). */
USHER_API void usher_replica_show(const struct usher_replica *r, struct usher_replica_about *ret);

/**
 * Walk the copy in the order of a snapshot: fields, values of all, roles, members each followed
 * by its shares.  Begin with *@at = NULL; false: that was all.  Rows are those of a snapshot,
 * seen_ms is 0.  O(1) a row.  The replica must not be changed in between.
 */
USHER_API bool usher_replica_walk(const struct usher_replica *r, const void **at,
                                  struct usher_room_result_row *ret_row);

/** The field, value of all, role, member or share called @id.  O(1). */
USHER_API bool usher_replica_find(const struct usher_replica *r, enum usher_room_row_kind kind,
                                  const char *id, struct usher_room_result_row *ret_row);

/**
 * The value of @field of @member: its own, or that of all, whichever was set last.
 * False: it has none, or there is no such member.  O(fields of the member).
 */
USHER_API bool usher_replica_value(const struct usher_replica *r, const char *member,
                                   const char *field, struct usher_text *ret_value);

/**
 * The digest of the copy, as usher_room_digest() makes that of the room at the same version.
 * USHER_OK; USHER_MISSING: there is no copy, or no room.  O(room).
 *
 * Each visible thing is hashed by itself: XXH3, 128 bits, of kind, id, owner, state,
 * version, value.  The hashes are added modulo 2^128, so that order does not matter.  The
 * digest is XXH3, 128 bits, of the state of the room, its version, the number of things, and
 * the sum (low, then high half).  Integers are 8 bytes, the lowest first; texts have their size
 * before them.  Things are:
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
