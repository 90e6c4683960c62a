/* SPDX-License-Identifier: MIT */
/*
 * A replica: a client's own copy of one room, and the rules by which it stays right.
 *
 * It is a state machine without I/O, clock or threads.  What was heard of the room goes in:
 * notices, heartbeats (epoch and version), answers to `snapshot` and `changes`; in any order,
 * some lost, some repeated, some late.  What is to be done comes out.  It needs no engine: a
 * client program at the other end of a network uses it alone and fills in struct usher_notice
 * and struct usher_result from what its server sends.
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
 * What holds:
 *  - The copy is at any time the room as it was at one version, whole.  While a new one is
 *    pulled, the old one stays; with a lack of memory it is empty and will be pulled.
 *  - usher_replica_current() is true only if nothing that was heard since contradicts it:
 *    no gap in the versions, no other epoch, no version that has fallen, no other history
 *    under a version that is known.  What nobody told a replica it cannot know: a heartbeat
 *    now and then bounds how long it can be behind without knowing.
 *  - A version is no proof, for a store that lost its tail and went on has other changes under
 *    the same ones.  A mark is (room.h): a notice is applied only to the history that it says it
 *    follows, and a heartbeat agrees only if its mark does.  So whatever is lost, a replica that
 *    has heard the last notice or a heartbeat and says that it is current is the room.
 *  - Versions jump where a store changed hands, and a notice has the version that it follows on
 *    (`before`; 0: the one below).  A replica of that version continues, and one that has seen a
 *    lost change pulls.
 *  - Changes that were told together (usher_room_presence()) are taken one by one.
 *  - An answer settles doubts that were there when it was asked for, and no later ones: it may
 *    have been made before.  Answers to an older question are ignored.
 *  - A snapshot is pulled in pages while the room changes: each brings what was changed since the
 *    one before.  It is begun anew only when the log does not reach back to that, a change was too
 *    large to be told, or there is another room, or another history of it.
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

/* Notices that came too early are kept until what lies between has come: so many, and so many
 * bytes of text in them.  What is beyond is asked for again. */
#define USHER_REPLICA_EARLY_MAX 64
#define USHER_REPLICA_EARLY_BYTES_MAX 262144
/* Versions back to which a repeated notice is compared with the one applied. */
#define USHER_REPLICA_KNOWN_MAX 128

struct usher_replica;
struct usher_reply; /* command.h */

/* What came of it, what to do. */
enum usher_replica_next {
    USHER_REPLICA_IGNORE, /* nothing: known, not of this room, or kept until more is there */
    USHER_REPLICA_APPLY,  /* the copy has changed */
    USHER_REPLICA_REPLAY, /* ask for `changes` */
    USHER_REPLICA_PULL,   /* ask for `snapshot` */
    USHER_REPLICA_NEXT__WIDE = 0x7fffffff
};

/* What to send. */
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
 * A notice was heard.  One of another room is ignored.  REPLAY and PULL are returned only
 * while no question is under way.  O(what the change touches).
 */
USHER_API enum usher_replica_next usher_replica_notice(struct usher_replica *r,
                                                       const struct usher_notice *notice);

/** The newest epoch and version, and the mark at that version, were heard, as from
 *  usher_room_alive(); all 0: there is no such room.  As usher_replica_notice().  O(1). */
USHER_API enum usher_replica_next usher_replica_heartbeat(struct usher_replica *r, uint64_t epoch,
                                                          uint64_t version, uint64_t mark);

/**
 * What to ask the leader.  A question that is under way is given up: call this again when
 * its answer does not come.
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

/** Does the copy agree with all that was heard?  O(1). */
USHER_API bool usher_replica_current(const struct usher_replica *r);

/** What is missing to be current: REPLAY, PULL, or IGNORE for nothing.  O(1). */
USHER_API enum usher_replica_next usher_replica_missing(const struct usher_replica *r);

/* What the copy is of. */
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
 * What counts for @field of @member: its own value, or that of all, whichever was set last.
 * False: it has none, or there is no such member.  O(fields of the member).
 */
USHER_API bool usher_replica_value(const struct usher_replica *r, const char *member,
                                   const char *field, struct usher_text *ret_value);

/**
 * The digest of the copy, as usher_room_digest() makes that of the room at the same version.
 * USHER_OK; USHER_MISSING: there is no copy, or no room.  O(room).
 *
 * Each thing that is seen is hashed by itself: XXH3, 128 bits, of kind, id, owner, state,
 * version, value.  The hashes are added modulo 2^128, so that order does not matter.  The
 * digest is XXH3, 128 bits, of the state of the room, its version, the number of things, and
 * the sum (low, then high half).  Integers are 8 bytes, the lowest first; texts have their size
 * before them.  Things are:
 *
 *   kind 1, 2  a field, a value of all: id, version, value
 *   kind 3     a role: id, owner (who holds it), version
 *   kind 4     a member: id, state, version
 *   kind 5     a share: id, owner, version
 *   kind 20    a member's own field, if it is not older than the value of all: the member's id
 *              as id, the field as owner, version, value
 *   kind 21    a field of a share, in the same way
 *
 * What is not named is empty or 0.  Times, bans, settings and the epoch are not in it.
 */
USHER_API enum usher_status usher_replica_digest(const struct usher_replica *r,
                                                 char ret_digest[33]);

#ifdef __cplusplus
}
#endif

#endif
