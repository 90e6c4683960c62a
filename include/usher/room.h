/* SPDX-License-Identifier: MIT */
/*
 * Rooms: state that every client can keep a copy of.  Included by usher.h, which has the rules for
 * all functions.
 *
 * A room has fields, members with fields and heartbeats, roles that members hold, and shares
 * that members own.  Every change has a version and one notice, which has the data to make the
 * same change in a copy; the room keeps a bounded log of notices.
 *
 *  - Members leave by leave or kick, or are removed when their heartbeats end.  In each case their
 *    roles and shares are removed in the same version: a role never belongs to an absent member.
 *  - `all` sets a field of all members at once, as one value of the room with its version.
 *    The value of a member is the one that was set last: its own, or that of all.  A value of all
 *    also applies to members that join later, unless they bring a value of their own.
 *  - Heartbeats change no visible state: `alive` has no version of its own and makes no
 *    notice, unless it brings back a member that was away.
 *  - Closing: the room is `closing` at once, and nothing of it is visible any more.  Then it is
 *    erased in steps of a few dozen items.  After each step other commands run, for as long as the
 *    step took.  If the closing process dies, the next command on the room continues.  At the end
 *    no record is left, and a room that is opened under the name again has a new epoch.
 *
 * Limits (`full` beyond them), so that the removal of a member always fits into one change:
 *
 *     USHER_ROOM_ROLES_MAX, USHER_ROOM_SHARES_MAX   roles and shares of one member.
 *     USHER_ROOM_FIELDS_MAX                         fields of a room, and as many roles.
 *     USHER_ROOM_BYTES_MAX                          bytes of all room fields and values of all.
 *     USHER_ROOM_MEMBER_FIELDS_MAX                  fields of one member or share, with
 *                                                   USHER_VALUE_MAX bytes.
 *     USHER_ROOM_BANS_MAX                           bans.
 *
 * A ban belongs to the name of a room: it lasts when the room is closed and opened again.  A room
 * that is closed leaves its bans until they end, which makes no notice; the next room of the name
 * has versions after the old ones.
 */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one in its place */
#endif
#ifndef USHER_ROOM_H
#define USHER_ROOM_H

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_ROOM_ROLES_MAX 16
#define USHER_ROOM_SHARES_MAX 16
#define USHER_ROOM_FIELDS_MAX 1000
#define USHER_ROOM_BYTES_MAX 1048576
#define USHER_ROOM_LOG_DEFAULT 256
#define USHER_ROOM_BANS_MAX 1000
#define USHER_ROOM_GIVEN_FIELDS_MAX USHER_FIELDS_MAX /* of one command */
#define USHER_ROOM_MEMBER_FIELDS_MAX 128             /* of one member or share */
#define USHER_NOTICE_DATA_MAX 8192

struct usher_engine;
struct usher_reply;
struct usher_notice;

/* State of a room: src/core/room.def.  Codes are stored. */
enum usher_room_state {
    USHER_ROOM_STATE_CLOSED = 0, /* it does not exist */
    USHER_ROOM_STATE_OPEN = 1,
    USHER_ROOM_STATE_LOCKED = 2,  /* open, but no new member may join */
    USHER_ROOM_STATE_CLOSING = 3, /* being erased; nothing of it is visible any more */
    USHER_ROOM_STATE__WIDE = 0x7fffffff
};

/* State of a member: src/core/member.def.  Codes are stored. */
enum usher_room_member_state {
    USHER_ROOM_MEMBER_ABSENT = 0,
    USHER_ROOM_MEMBER_HERE = 1,
    USHER_ROOM_MEMBER_AWAY = 2,    /* no heartbeat for the room's `away` */
    USHER_ROOM_MEMBER_OFFLINE = 3, /* no heartbeat for its `ttl`; still a member for its `grace` */
    USHER_ROOM_MEMBER_BANNED = 4,  /* not a member, and must not join */
    USHER_ROOM_MEMBER_STATE__WIDE = 0x7fffffff
};

/* Kind of a row of an answer. */
enum usher_room_row_kind {
    USHER_ROOM_ROW_FIELD = 1, /* id: the field; value */
    USHER_ROOM_ROW_ALL,       /* id: a field of all members; value */
    USHER_ROOM_ROW_ROLE,      /* id: the role; owner: the member that holds it */
    USHER_ROOM_ROW_MEMBER,    /* id; state; since_ms, seen_ms; value: its own fields, see below */
    USHER_ROOM_ROW_SHARE,     /* id; owner; value: its fields, as of a member */
    USHER_ROOM_ROW_NOTICE,    /* value: for usher_notice_read() */
    USHER_ROOM_ROW_ROOM,      /* id: a room; since_ms: when it was opened */
    USHER_ROOM_ROW_KIND__WIDE = 0x7fffffff
};

/*
 * Packed fields: MessagePack, an array of name, value, name, value …; all are texts.
 * usher_fields_pack() makes such a text.  Fields of a stored member or share are an array of
 * name, value, version (an integer), …: usher_fields_next() reads both.
 */

/*
 * Mark of a history: a hash of 52 bits.  Two histories of a room have the same mark only if they
 * are the same (except one pair in 2^52, and except forgery).  Each notice has the mark of the
 * history before it (`was`) and after it (`mark`); answers to alive, changes and snapshot have that
 * of the room.  The marks are needed because a store may lose its latest changes and reuse their
 * versions: a client that received the lost ones notices the difference.  A mark is the first 13
 * hex digits of the SHA-1 of the notice as it is in the log, with 0 for its own mark.  A closed
 * room has no mark: 0.
 */

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_room_state_word(enum usher_room_state state);
USHER_API const char *usher_room_member_state_word(enum usher_room_member_state state);

/**
 * Read the next field of @fields, which begins as a packed text.  The texts point into it;
 * *@ret_version is 0 if fields have none.  False: no more, or not a packed text.  O(1).
 */
struct usher_fields {
    const unsigned char *at, *end;
    size_t left; /* values in the array */
    bool begun;
};
USHER_API bool usher_fields_next(struct usher_fields *fields, struct usher_text *ret_name,
                                 struct usher_text *ret_value, uint64_t *ret_version);

/**
 * Pack @n pairs into @to, at most @size bytes.  Returns the number of bytes, even if they do not
 * fit.  O(size of the texts).
 */
USHER_API size_t usher_fields_pack(const struct usher_text *names, const struct usher_text *values,
                                   size_t n, unsigned char *to, size_t size);

/**
 * Read the next change of a coalesced notice, as the notice that it would have been.  Begin with
 * *@at = 0.  The texts point into @notice.  False: no more, or the rest is not valid, or @notice is
 * another one.  O(1).
 *
 * In a room with the setting `presence` the changes by join, leave, alive and sweep are coalesced:
 * into notices with the verb USHER_ROOM_PRESENCE, of changes with versions from @notice->token to
 * @notice->version.  Each change has its version, and its notice in the log, at once.  Only the
 * delivery is delayed, until the first command after the interval, until a command of another kind
 * (whose own changes follow), or until there are more than USHER_NOTICE_DATA_MAX bytes.  Commands
 * and changes are those of this engine.  Changes by other engines in the same time have versions
 * between these; those engines deliver them, and they are in the log.
 */
USHER_API bool usher_room_presence(const struct usher_notice *notice, size_t *at,
                                   struct usher_notice *ret_notice);

/**
 * Compute a 128-bit digest of the visible state of @room (state, fields, values of all, members
 * without their heartbeats, roles, shares) at *@ret_version, as 32 hex digits and a NUL.  A program
 * with a copy of the room can compute the same.  USHER_OK, USHER_MISSING.  O(room).
 *
 * It is computed with XXH3-128 (seed 0).  INT is 8 bytes, lowest first; TEXT is INT size, then the
 * bytes.  Each item of the room is hashed by itself:
 *
 *     INT kind, TEXT id, TEXT owner, INT state, INT version, TEXT value
 *
 *  1. A field: its name as id.
 *  2. A value of all: its name as id.
 *  3. A role: its name as id, the holder as owner.
 *  4. A member: its name as id, its state, the version of joining.
 *  5. A share: its name as id, the member as owner, the version of the first `share`.
 * 20. An own field of a member: the member as id, the name of the field as owner.
 * 21. An own field of a share: the share as id, the name of the field as owner.
 *
 * The number is the kind.  For the other items @version is the version of the last change of the
 * item.  Fields, values of all and own fields have a value.  INT and TEXT that this list does not
 * name are 0 and "".
 *
 * The states of a member are 1 here, 2 away, 3 offline.  A member's own field is left out if the
 * value of all for this field has a later version.  The hashes are added up as numbers of 128 bits,
 * modulo 2^128; with n items, and LOW and HIGH the halves of the sum, the digest is
 *
 *     XXH3-128 of INT state, INT version, INT n, INT LOW, INT HIGH
 *
 * with the state of the room (1 open, 2 locked) and its version, as hex digits, highest first.  The
 * JSON of a snapshot with versions=1 has all of this; tests/conformance/json_digest.c computes the
 * digest from it.
 */
USHER_API enum usher_status usher_room_digest(struct usher_engine *e, const char *room,
                                              uint64_t *ret_epoch, uint64_t *ret_version,
                                              char ret_digest[33]);

/**
 * List open rooms by (time of opening, name), at most @max (0 = 100) and USHER_PAGE_MAX, as rows
 * with name and since_ms (time of opening).  While the reply has more, continue with @after and
 * @created_ms = name and created_ms of its answer (usher_room_answer_of(); @created_ms 0: that of
 * @after, which must still be open: else USHER_MISSING).  A room that stays open is on exactly one
 * page, a room that is closed or whose linger is over on none; so a page may have fewer than @max
 * rows although there are more.  @now_ms < 0: the engine's clock.  64 commands in one batch, then
 * one for each room.
 *
 * *@ret_reply is the caller's, NULL if the call itself failed.  USHER_OK, USHER_MISSING,
 * USHER_INVALID, USHER_NOMEM; USHER_UNAVAILABLE: a part of the store does not answer, the message
 * has the size of that part, and the rows are those of the others.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_room_list(struct usher_engine *e, const char *after,
                                            int64_t created_ms, size_t max, int64_t now_ms,
                                            struct usher_reply **ret_reply);

/**
 * Hand out at most @batch (0 = 100) open rooms that are due, as rows, and apply their due expiries
 * as usher_room_sweep() does.  Each room is due once in @every_ms (0 = a minute) and handed out to
 * one worker.  It is @worker's until the worker's next call, which means that it is done, or until
 * @lease_ms (0 = 30 s) are over; then the next worker gets it.  A worker that restarts takes a new
 * name.  @now_ms < 0: the store's time.  64 commands, and one for each room.
 *
 * Reply and statuses as with usher_room_list(); with USHER_UNAVAILABLE the rows are handed out,
 * too.
 */
USHER_API enum usher_status usher_room_patrol(struct usher_engine *e, const char *worker,
                                              size_t batch, int64_t every_ms, int64_t lease_ms,
                                              int64_t now_ms, struct usher_reply **ret_reply);

/* ---- made by src/calls/make.py: do not edit -------------------------------------------- */
/* clang-format off */

struct usher_reply;

/* What a call of the noun `room` may be given: the verbs that take it stand in front, if they
 * are few.  0 or NULL is not given; USHER_NONE is none, never, off, and so is "".  What the verb
 * does not take is USHER_INVALID. */
struct usher_room_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: do not wait, usher_collect() gives the reply with this tag */
    int64_t timeout_ms; /* so long at most; not given: the engine's */
    const char *request; /* request id: a repeat gets the first answer */
    int64_t now_ms; /* the time of the command; not given: the engine's clock */
    int64_t wait; /* replicas to wait for, when it is done */
    struct usher_text fields; /* set, join, member, share: any other key=value, up to 32 of them */
    /* set, unset, member, role: only if it is this now ('': nothing), else stale */
    struct usher_text expected;
    /* only if it has this version, else stale; only with epoch=; 1 to 2^53 - 1 */
    int64_t if_version;
    /* only if it has this epoch, else stale; a room that is opened again has another one */
    uint64_t epoch;
    int64_t ban_ms; /* close, kick: the member must not join for this time; none: end its ban */
    int64_t since_version; /* snapshot, changes: of the changes after this version; 0 to 2^53 - 1 */
    int64_t after_version; /* snapshot: go on where a page ended: its next; 0 to 2^53 - 1 */
    int64_t ttl_ms; /* sweep: a member without a heartbeat for this time is removed; none: never */
    /* snapshot, changes, sweep: the most members, notices or changes; a page ends after some
     * 400 members or 256 notices, a sweep after 64 changes; 1 to 10,000 */
    int64_t max;
    /* snapshot: 1: JSON has also all versions and own fields, as the digest is computed from
     * these */
    int64_t versions;
};
#ifdef __cplusplus
#define USHER_ROOM_OPTIONS_INIT \
    { sizeof(struct usher_room_options), NULL, 0, NULL, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0, \
    0, 0, 0, 0, 0 }
#else
#define USHER_ROOM_OPTIONS_INIT { .size = sizeof(struct usher_room_options) }
#endif

/* Settings: not given, they stay as they are, or of what is made anew have their defaults;
 * USHER_NONE is none, never, off.  As they come back they can be given again. */
struct usher_room_settings {
    size_t size; /* set by …_INIT */
    int64_t capacity; /* members at most; none: any; 0 to 1,000,000,000; default none */
    /* an empty room closes by itself after this time; none: never; default none */
    int64_t linger_ms;
    /* a member without a heartbeat for this time is removed; none: never; default none */
    int64_t ttl_ms;
    /* a member without a heartbeat for this time is away; none, or not below ttl: never;
     * default none */
    int64_t away_ms;
    int64_t grace_ms; /* after ttl, how long a member may still come back; default none */
    int64_t log; /* how many notices are kept for changes; 1 to 100,000; default 256 */
    /* how many answers are kept for request ids; 1 to 1,000,000; default 10,000 */
    int64_t requests;
    /* collect joins and leaves for at most this time into one notice; none: one by one; see
     * usher_room_presence(); default none */
    int64_t presence_ms;
    /* 1: Redis publishes new versions, on the channel {ROOM}:room; the version in digits,
     * after the prefix, by PUBLISH, on a cluster by SPUBLISH.  A change has a message, which
     * commands of one batch share: it has the version of the last of them.  With presence_ms a
     * join or leave is published at the beginning of an interval; the later ones are published
     * together at its end, by the next change or heartbeat.  The change that turns push off is
     * published.  Followers (USHER_WATCH_ALL, command.h) subscribe.  A subscriber reads the
     * log (usher_room_changes()), because messages may be lost.  Other stores keep the setting
     * and do nothing; default none */
    int64_t push;
};
#ifdef __cplusplus
#define USHER_ROOM_SETTINGS_INIT \
    { sizeof(struct usher_room_settings), 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_ROOM_SETTINGS_INIT { .size = sizeof(struct usher_room_settings) }
#endif

/* An answer, written whatever the status.  What it has nothing to say of is USHER_NONE, "", of a
 * token 0. */
struct usher_room_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* 0: the scope does not exist */
    uint64_t version; /* after the command; of USHER_LOST the last one known not to be lost */
    int64_t due_ms; /* nothing of the scope changes by itself before; USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: so many have it */
    bool repeated; /* the kept answer of an earlier command with this request id */
    bool more; /* not all yet: ask again */
    char message[USHER_MESSAGE_MAX]; /* one line, "" when there is nothing to say */
    int64_t state; /* the state, after the command */
    int64_t member_state; /* of the member */
    int64_t members; /* members there are */
    int64_t count; /* close, changes, sweep: how many were done */
    int64_t since_version; /* alive, snapshot, changes: a version */
    uint64_t mark; /* alive, snapshot, changes: of the room's history */
    int64_t until_ms; /* join, leave, kick, alive: when it ends by itself */
    int64_t created_ms; /* open, show, snapshot: when it was opened */
    char name[USHER_NAME_MAX + 1]; /* of the member, share, role or field */
    char owner[USHER_NAME_MAX + 1]; /* who holds it */
};
#ifdef __cplusplus
#define USHER_ROOM_ANSWER_INIT \
    { sizeof(struct usher_room_answer), 0, 0, 0, 0, 0, false, false, "", 0, 0, 0, 0, 0, 0, 0, 0, \
    "", "" }
#else
#define USHER_ROOM_ANSWER_INIT { .size = sizeof(struct usher_room_answer) }
#endif

/* One row of a reply.  Texts are the reply's and live as long; what does not apply is
 * USHER_NONE, NULL, of a token 0. */
struct usher_room_row {
    size_t size; /* set by …_INIT */
    int64_t kind; /* what a row is */
    int64_t member_state; /* of the member */
    const char *name; /* of the member, share, role or field */
    const char *owner; /* who holds it */
    struct usher_text value; /* a value */
    int64_t version; /* at which this was set */
    int64_t since_ms; /* when it began */
    int64_t seen_ms; /* the last sign of life */
    int64_t verb; /* of a change */
    const char *subject; /* what a change is about */
    int64_t before; /* the version before */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    struct usher_text data; /* of a change: what it takes to make it in a copy */
    int64_t time_ms; /* of the change */
    uint64_t was; /* mark before the change */
    uint64_t mark; /* of the room's history */
    uint64_t token; /* of a hold: another one for every later hold of the scope */
    int64_t until_ms; /* when it ends by itself */
};
#ifdef __cplusplus
#define USHER_ROOM_ROW_INIT \
    { sizeof(struct usher_room_row), 0, 0, NULL, NULL, { NULL, 0 }, 0, 0, 0, 0, NULL, 0, 0, 0, { \
    NULL, 0 }, 0, 0, 0, 0, 0 }
#else
#define USHER_ROOM_ROW_INIT { .size = sizeof(struct usher_room_row) }
#endif

/* All calls: @e, then the room, then what the verb is about, then @opt (NULL: nothing), then
 * where the answer goes (NULL: nowhere).  A reply is the caller's, who gives it back with
 * usher_reply_done(); it is NULL if the call itself failed.  With opt->post the call returns as
 * usher_post() does, and the answer comes as an event.  Besides what each one names they return
 * USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: it may have been
 * applied), USHER_LOST and USHER_NOMEM; usher_message() says more.  Any thread.  Since 0.1. */

/**
 * Open @room; settings are those of a new one.  USHER_OK; USHER_SAME: it is open already, and its
 * settings, which the reply has, stay as they are; USHER_REFUSED: a room of the name is closing,
 * and what is left of it could not be erased in time.  O(1), but for what is left to erase.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_open(struct usher_engine *e, const char *room,
                                            const struct usher_room_settings *settings,
                                            const struct usher_room_options *opt,
                                            struct usher_reply **ret);

/**
 * Close @room and erase it, in bounded steps: while the answer has more, ask again.  Bans that have not
 * ended stay: a room that is opened under this name has them.  With opt->ban_ms = USHER_NONE they end, too,
 * also those of a room that is closed already.  USHER_OK; USHER_SAME: there is none.
 * Takes opt->if_version, opt->epoch, opt->ban_ms.
 */
USHER_API enum usher_status usher_room_close(struct usher_engine *e, const char *room,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Let nobody new join.  USHER_OK, USHER_SAME.  O(1).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_lock(struct usher_engine *e, const char *room,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * Let anybody join again.  USHER_OK, USHER_SAME.  O(1).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_unlock(struct usher_engine *e, const char *room,
                                              const struct usher_room_options *opt,
                                              struct usher_room_answer *ret);

/**
 * Set @field of @room to @value.  With opt->expected only if it is that (of no bytes: not
 * set, or empty); opt->fields, packed, are more fields of the same change.  USHER_OK, USHER_SAME;
 * USHER_STALE, USHER_FULL.  O(log n).
 * Takes opt->fields, opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_set(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_text *value,
                                           const struct usher_room_options *opt,
                                           struct usher_room_answer *ret);

/**
 * Remove @field.  USHER_OK, USHER_SAME; USHER_STALE.  O(log n).
 * Takes opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_unset(struct usher_engine *e, const char *room,
                                             const char *field,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/** @field (NULL: all) as rows.  USHER_OK; USHER_MISSING: no such room or field. */
USHER_API enum usher_status usher_room_get(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_room_options *opt,
                                           struct usher_reply **ret);

/**
 * @member comes in, with opt->fields (packed) of its own.  Again: its fields and its heartbeat.
 * USHER_OK; USHER_SAME: it was there, just so; USHER_REFUSED: locked, or banned until until_ms;
 * USHER_FULL.  O(log n).
 * Takes opt->fields, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_join(struct usher_engine *e, const char *room,
                                            const char *member,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * @member leaves; its roles and shares go with it.  USHER_OK, USHER_SAME.  O(log n).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_leave(struct usher_engine *e, const char *room,
                                             const char *member,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Put @member out, and with opt->ban_ms keep it out for so long; USHER_NONE lifts a ban, not given
 * leaves it alone.  A ban is of the name of the room: it lasts when the room is closed and opened again, and can be
 * lifted while the room is closed (without a version or notice).  USHER_OK, USHER_SAME; USHER_FULL: too many bans.  O(log n).
 * Takes opt->if_version, opt->epoch, opt->ban_ms.
 */
USHER_API enum usher_status usher_room_kick(struct usher_engine *e, const char *room,
                                            const char *member,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * A heartbeat of @member.  The answer's epoch, since_version and mark are the newest that were
 * told of: a replica that has others is behind.  USHER_OK; USHER_MISSING: it has to join (again).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_alive(struct usher_engine *e, const char *room,
                                             const char *member,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Set @field of @member, as usher_room_set(); what is expected is compared with what counts.
 * This is no heartbeat: any client may set it, so it does not keep @member in the room.
 * Takes opt->fields, opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_member(struct usher_engine *e, const char *room,
                                              const char *member, const char *field,
                                              const struct usher_text *value,
                                              const struct usher_room_options *opt,
                                              struct usher_room_answer *ret);

/**
 * Set @field of all members at once: O(1), one short notice, however many they are.  USHER_OK,
 * USHER_FULL.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_all(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_text *value,
                                           const struct usher_room_options *opt,
                                           struct usher_room_answer *ret);

/**
 * Give @role to @holder ("": to nobody), with opt->expected only if that one (of no bytes:
 * nobody) has it.  USHER_OK, USHER_SAME; USHER_STALE: the answer has the owner; USHER_MISSING: no
 * such member; USHER_FULL.
 * Takes opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_role(struct usher_engine *e, const char *room,
                                            const char *role, const char *holder,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * A thing that @member shows to the others, gone when it leaves; @share is its name.  Again: its
 * opt->fields.  USHER_OK, USHER_SAME; USHER_REFUSED: it is another member's; USHER_MISSING,
 * USHER_FULL.
 * Takes opt->fields, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_share(struct usher_engine *e, const char *room,
                                             const char *member, const char *share,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Remove @share.  USHER_OK, USHER_SAME.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_unshare(struct usher_engine *e, const char *room,
                                               const char *share,
                                               const struct usher_room_options *opt,
                                               struct usher_room_answer *ret);

/**
 * @room and its settings: usher_room_settings_of(), usher_room_answer_of().  Members whose time is
 * over do not count, but of more than USHER_PAGE_MAX the others still do.  USHER_OK,
 * USHER_MISSING.  O(1) and what is due.
 */
USHER_API enum usher_status usher_room_show(struct usher_engine *e, const char *room,
                                            const struct usher_room_options *opt,
                                            struct usher_reply **ret);

/**
 * The room as it is, in pages.  The first one has all fields and roles; each has the values of
 * all, then members in the order they joined, each followed by its shares, opt->max (not given:
 * 100) of them or fewer if they are large.  While the reply has more, go on with
 * opt->after_version = the answer's since_version (at which the last member joined) and
 * opt->since_version = the version of what there is so far: the page then begins with the notices
 * of all changes behind that, to be made in what there is, and its other rows are of the version
 * of the reply.  If the notices are more than fit, there is nothing else on it: go on with
 * since_version = that of the last.
 * USHER_OK, USHER_MISSING; USHER_STALE: the log does not reach back so far: begin anew; USHER_LOST
 * likewise.  A replica (usher/replica.h) does all this.
 * Takes opt->if_version, opt->epoch, opt->since_version, opt->after_version, opt->max,
 * opt->versions.
 */
USHER_API enum usher_status usher_room_snapshot(struct usher_engine *e, const char *room,
                                                const struct usher_room_options *opt,
                                                struct usher_reply **ret);

/**
 * Notices of the changes after opt->since_version as rows, opt->max (not given: 100) at most,
 * oldest first.  USHER_OK, USHER_MISSING; USHER_STALE: the log does not reach back so far (the
 * answer's since_version says how far), or it is newer than the room; USHER_LOST: take a snapshot.
 * Takes opt->epoch, opt->since_version, opt->max.
 */
USHER_API enum usher_status usher_room_changes(struct usher_engine *e, const char *room,
                                               const struct usher_room_options *opt,
                                               struct usher_reply **ret);

/**
 * Apply what is due; with opt->ttl_ms also remove the members that were silent for that long.  One
 * bounded step, of 64 changes at most: rows are those removed; while the reply has more, there
 * are others.  USHER_OK, USHER_SAME, USHER_MISSING.
 * Takes opt->if_version, opt->epoch, opt->ttl_ms, opt->max.
 */
USHER_API enum usher_status usher_room_sweep(struct usher_engine *e, const char *room,
                                             const struct usher_room_options *opt,
                                             struct usher_reply **ret);

/* What @reply says, as a struct: its answer, its settings or figures, row @i.  Texts of all but
 * the answer are the reply's and live as long.  False, and *@ret is not written: NULL, another
 * noun's, no such row, or a size that is not set.  O(members * values). */
USHER_API bool usher_room_answer_of(const struct usher_reply *reply, struct usher_room_answer *ret);
USHER_API bool usher_room_settings_of(const struct usher_reply *reply, struct usher_room_settings *ret);
USHER_API bool usher_room_row_of(const struct usher_reply *reply, size_t i, struct usher_room_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
