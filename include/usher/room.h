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
 * name, value, version (an integer), …: usher_fields_begin() and usher_fields_next() read both.
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

/* A position in packed fields.  Its members are the library's.  Never grows. */
struct usher_fields {
    const unsigned char *at, *end;
    size_t left; /* values in the array */
    bool begun;
};
/** Begin to read @packed: its `data` may be NULL.  It must live as long as the fields are read. */
USHER_API void usher_fields_begin(struct usher_fields *fields, const struct usher_text *packed);
/**
 * Read the next field.  The texts point into the packed ones; *@ret_version is 0 if fields have
 * none.  False: no more, or not packed fields.  O(1).
 */
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

struct usher_list_options;

/**
 * List open rooms by (time of opening, name), at most opt->max and USHER_PAGE_MAX, as rows with
 * name and since_ms (time of opening).  While the reply has more, continue with opt->after and
 * opt->created_ms = name and created_ms of its answer (usher_room_answer_of(); without created_ms
 * the room must still be open: else USHER_MISSING).  A room that stays open is on exactly one page,
 * a room that is closed or whose linger is over on none; so a page may have fewer rows than
 * opt->max although there are more.  64 commands in one batch, then one for each room.
 *
 * *@ret_reply is the caller's, NULL if the call itself failed.  USHER_OK, USHER_MISSING,
 * USHER_INVALID, USHER_NOMEM; USHER_UNAVAILABLE: a part of the store does not answer, the message
 * has the size of that part, and the rows are those of the others.  @opt may be NULL.  Options:
 * opt->timeout_ms, opt->now_ms, opt->max, opt->after, opt->created_ms.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_room_list(struct usher_engine *e,
                                            const struct usher_list_options *opt,
                                            struct usher_reply **ret_reply);

/**
 * Hand out at most opt->max open rooms that are due, as rows, and apply their due expiries as
 * usher_room_sweep() does.  Each room is due once in opt->every_ms and handed out to one worker.
 * It is @worker's until the worker's next call, which means that it is done, or until
 * opt->lease_ms are over; then the next worker gets it.  A worker that restarts takes a new name.
 * 64 commands, and one for each room.
 *
 * Reply and statuses as with usher_room_list(); with USHER_UNAVAILABLE the rows are handed out,
 * too.  Options: opt->timeout_ms, opt->now_ms, opt->max, opt->every_ms, opt->lease_ms.
 */
USHER_API enum usher_status usher_room_patrol(struct usher_engine *e, const char *worker,
                                              const struct usher_list_options *opt,
                                              struct usher_reply **ret_reply);

/* ---- made by src/api/gen_calls.py: do not edit ----------------------------------------- */
/* clang-format off */

struct usher_reply;

/* Options of the calls of `room`.  If fewer than five verbs take an option, its comment begins
 * with them.  0 or NULL = not given; USHER_NONE or "" = explicitly none, never or off.  An
 * option that the verb does not take is USHER_INVALID. */
struct usher_room_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: return at once; usher_collect() returns the reply with this tag */
    int64_t timeout_ms; /* deadline of this call; 0 = the engine's */
    const char *request; /* request id: a repeat returns the first answer */
    int64_t now_ms; /* time of the command; 0 = the engine's clock */
    int64_t wait; /* number of replicas to wait for, after the command */
    struct usher_text fields; /* set, join, member, share: any other key=value, up to 32 of them */
    /* set, unset, member, role: only if the current value is this ('': no value), else stale */
    struct usher_text expected;
    /* only if the scope has this version, else stale; only with epoch=; 1 to 2^53 - 1 */
    int64_t if_version;
    /* only if the room has this epoch, else stale; a room opened again has another one */
    uint64_t epoch;
    /* close, kick: the member must not join for this time; USHER_NONE: end its ban */
    int64_t ban_ms;
    int64_t since_version; /* snapshot, changes: only changes after this version; 0 to 2^53 - 1 */
    int64_t after_version; /* snapshot: continue where a page ended: its next; 0 to 2^53 - 1 */
    /* sweep: a member without a heartbeat for this time is removed; USHER_NONE: never */
    int64_t ttl_ms;
    /* snapshot, changes, sweep: maximum rows or changes; a page: some 400 members or 256
     * notices, a sweep: 64 changes; 1 to 10,000 */
    int64_t max;
    /* snapshot: 1: JSON also has all versions and own fields, the input of the digest */
    int64_t versions;
    const char *actor; /* the person or program that gives the command, for its notices */
};
#ifdef __cplusplus
#define USHER_ROOM_OPTIONS_INIT \
    { sizeof(struct usher_room_options), NULL, 0, NULL, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0, \
    0, 0, 0, 0, 0, NULL }
#else
#define USHER_ROOM_OPTIONS_INIT { .size = sizeof(struct usher_room_options) }
#endif

/* Settings.  A member that is not given (0 or NULL) keeps its value, or gets its default in a
 * new scope; USHER_NONE = none, never or off; a code …_OFF = its code 0.  Settings read from a
 * reply can be passed back unchanged. */
struct usher_room_settings {
    size_t size; /* set by …_INIT */
    /* maximum members; USHER_NONE: no limit; 0 to 1,000,000,000; default USHER_NONE */
    int64_t capacity;
    /* an empty room closes after this time; USHER_NONE: never; default USHER_NONE */
    int64_t linger_ms;
    /* a member without a heartbeat for this time is removed; USHER_NONE: never; default
     * USHER_NONE */
    int64_t ttl_ms;
    /* a member without a heartbeat for this time is away; USHER_NONE, or not below ttl: never;
     * default USHER_NONE */
    int64_t away_ms;
    int64_t grace_ms; /* how long a member may still come back after ttl; default USHER_NONE */
    int64_t log; /* maximum notices kept for changes; 1 to 100,000; default 256 */
    int64_t requests; /* maximum results kept for request ids; 1 to 1,000,000; default 10,000 */
    /* coalesce joins and leaves for at most this time into one notice; USHER_NONE: one by one;
     * see usher_room_presence(); default USHER_NONE */
    int64_t presence_ms;
    /* 1: Redis publishes new versions, on the channel {ROOM}:room; the name of the channel
     * begins with the prefix; the message is the version in digits, sent by PUBLISH, on a
     * cluster by SPUBLISH.  Each change sends a message, which commands of one batch share: it
     * has the version of the last of them.  With presence_ms a join or leave is published at
     * the beginning of an interval; later ones are published together at its end, by the next
     * change or heartbeat.  The change that turns push off is published.  Followers
     * (USHER_WATCH_ALL, command.h) subscribe.  A subscriber reads the log
     * (usher_room_changes()), because messages may be lost.  Other stores keep the setting and
     * do nothing; default USHER_NONE */
    int64_t push;
};
#ifdef __cplusplus
#define USHER_ROOM_SETTINGS_INIT \
    { sizeof(struct usher_room_settings), 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_ROOM_SETTINGS_INIT { .size = sizeof(struct usher_room_settings) }
#endif

/* Answer, written for every status.  Members that do not apply are USHER_NONE (numbers), ""
 * (texts) or 0 (codes, tokens). */
struct usher_room_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    int64_t due_ms; /* nothing in the scope expires before this time; or USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: number of replicas that have it */
    bool repeated; /* cached result of an earlier command with this request id */
    bool more; /* not complete: call again */
    char message[USHER_MESSAGE_MAX]; /* one line, or "" */
    enum usher_room_state state; /* the state, after the command */
    enum usher_room_member_state member_state; /* state of the member */
    int64_t members; /* number of members */
    int64_t count; /* close, changes, sweep: number of changes */
    int64_t since_version; /* alive, snapshot, changes: a version */
    uint64_t mark; /* alive, snapshot, changes: mark of the room's history */
    int64_t until_ms; /* join, leave, kick, alive: when it expires */
    int64_t created_ms; /* open, show, snapshot, stats: time of opening */
    char name[USHER_NAME_MAX + 1]; /* name of the member, share, role or field */
    char owner[USHER_NAME_MAX + 1]; /* the holder */
};
#ifdef __cplusplus
#define USHER_ROOM_ANSWER_INIT \
    { sizeof(struct usher_room_answer), 0, 0, 0, 0, 0, false, false, "", (enum \
    usher_room_state)0, (enum usher_room_member_state)0, 0, 0, 0, 0, 0, 0, "", "" }
#else
#define USHER_ROOM_ANSWER_INIT { .size = sizeof(struct usher_room_answer) }
#endif

/* One row of a reply.  Texts belong to the reply and live as long.  Members that do not apply
 * are USHER_NONE (numbers), NULL (texts) or 0 (codes, tokens). */
struct usher_room_row {
    size_t size; /* set by …_INIT */
    enum usher_room_row_kind kind; /* kind of a row */
    enum usher_room_member_state member_state; /* state of the member */
    const char *name; /* name of the member, share, role or field */
    const char *owner; /* the holder */
    struct usher_text value; /* a value */
    int64_t version; /* version of the last change */
    int64_t since_ms; /* when it began */
    int64_t seen_ms; /* time of the last heartbeat */
    enum usher_verb verb; /* verb of the change */
    const char *subject; /* subject of the change */
    int64_t before; /* version before the change */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    struct usher_text data; /* data to make the change in a copy */
    int64_t time_ms; /* time of the change */
    uint64_t was; /* mark before the change */
    uint64_t mark; /* mark of the room's history */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t until_ms; /* when it expires */
    const char *actor; /* the person or program that gave the command */
};
#ifdef __cplusplus
#define USHER_ROOM_ROW_INIT \
    { sizeof(struct usher_room_row), (enum usher_room_row_kind)0, (enum \
    usher_room_member_state)0, NULL, NULL, { NULL, 0 }, 0, 0, 0, (enum usher_verb)0, NULL, 0, 0, \
    0, { NULL, 0 }, 0, 0, 0, 0, 0, NULL }
#else
#define USHER_ROOM_ROW_INIT { .size = sizeof(struct usher_room_row) }
#endif

/* Statistics.  A figure that does not exist is USHER_NONE. */
struct usher_room_statistics {
    size_t size; /* set by …_INIT */
    int64_t capacity; /* maximum at a time */
    int64_t roles; /* roles that members have */
    int64_t shares; /* shares of members */
    int64_t joined_total; /* members that joined since the room was opened */
    int64_t left_total; /* members that left since then */
    int64_t lost_total; /* members that were removed without a heartbeat since then */
    int64_t kicked_total; /* members that were kicked or banned since then */
    int64_t changes_total; /* changes of the room since then */
};
#ifdef __cplusplus
#define USHER_ROOM_STATISTICS_INIT \
    { sizeof(struct usher_room_statistics), 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_ROOM_STATISTICS_INIT { .size = sizeof(struct usher_room_statistics) }
#endif

/* Arguments of every call: the engine @e, the room, the subject of the verb, @opt (may be NULL),
 * and where to write the answer (may be NULL).  A reply belongs to the caller: release it with
 * usher_reply_done().  It is NULL if the call itself failed.  With opt->post the call returns
 * like usher_post(), and the answer arrives as an event.  In addition to the statuses listed,
 * every call may return USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no
 * answer: it may have been applied), USHER_LOST and USHER_NOMEM; usher_message() has the
 * details.  Threads: any.  Since 0.1. */

/**
 * Open @room; the settings apply to a new one.  USHER_OK; USHER_SAME: it is already open and keeps
 * its settings, which the reply has; USHER_REFUSED: a room of the name is closing and could not be
 * erased in time.  O(1), and the rest of a closing room to be erased.
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_room_open(struct usher_engine *e, const char *room,
                                            const struct usher_room_settings *settings,
                                            const struct usher_room_options *opt,
                                            struct usher_reply **ret);

/**
 * Close @room and erase it, in bounded steps.  Repeat it while the answer has more.  Current bans
 * stay: a room that is opened under this name has them.  With opt->ban_ms = USHER_NONE bans end,
 * too, even those of a room that is already closed.  USHER_OK; USHER_SAME: there is none.
 * Options: opt->if_version, opt->epoch, opt->ban_ms, opt->actor.
 */
USHER_API enum usher_status usher_room_close(struct usher_engine *e, const char *room,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Lock @room: no new member may join.  USHER_OK, USHER_SAME.  O(1).
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_room_lock(struct usher_engine *e, const char *room,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * Unlock @room: new members may join again.  USHER_OK, USHER_SAME.  O(1).
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_room_unlock(struct usher_engine *e, const char *room,
                                              const struct usher_room_options *opt,
                                              struct usher_room_answer *ret);

/**
 * Set @field of @room to @value.  With opt->expected, only if its value is that (of no bytes: not
 * set, or empty).  opt->fields, packed, are more fields of the same change.  USHER_OK, USHER_SAME;
 * USHER_STALE, USHER_FULL.  O(log n).
 * Options: opt->fields, opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_set(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_text *value,
                                           const struct usher_room_options *opt,
                                           struct usher_room_answer *ret);

/**
 * Remove @field.  USHER_OK, USHER_SAME; USHER_STALE.  O(log n).
 * Options: opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_unset(struct usher_engine *e, const char *room,
                                             const char *field,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/** Return @field (NULL = all) as rows.  USHER_OK; USHER_MISSING: no such room or field. */
USHER_API enum usher_status usher_room_get(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_room_options *opt,
                                           struct usher_reply **ret);

/**
 * Add @member with opt->fields (packed) of its own.  A repeat sets its fields and is a heartbeat.
 * USHER_OK; USHER_SAME: it was there with these fields; USHER_REFUSED: locked, or banned until
 * until_ms; USHER_FULL.  O(log n).
 * Options: opt->fields, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_join(struct usher_engine *e, const char *room,
                                            const char *member,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * Remove @member with its roles and shares.  USHER_OK, USHER_SAME.  O(log n).
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_leave(struct usher_engine *e, const char *room,
                                             const char *member,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Remove @member by force, and with opt->ban_ms ban it for that time; USHER_NONE lifts a ban, not
 * given leaves it alone.  A ban belongs to the name of the room: it lasts when the room is closed
 * and opened again, and can be lifted while the room is closed (without a version or notice).
 * USHER_OK, USHER_SAME; USHER_FULL: too many bans.  O(log n).
 * Options: opt->if_version, opt->epoch, opt->ban_ms, opt->actor.
 */
USHER_API enum usher_status usher_room_kick(struct usher_engine *e, const char *room,
                                            const char *member,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * Send a heartbeat of @member.  The answer's epoch, since_version and mark are the latest that
 * watchers were notified of: a replica with others is outdated.  USHER_OK; USHER_MISSING: it has to
 * join (again).
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_alive(struct usher_engine *e, const char *room,
                                             const char *member,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Set @field of @member, as usher_room_set(); opt->expected is compared with the value that counts.
 * This is no heartbeat: any client may set it, so it does not keep @member in the room.
 * Options: opt->fields, opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_member(struct usher_engine *e, const char *room,
                                              const char *member, const char *field,
                                              const struct usher_text *value,
                                              const struct usher_room_options *opt,
                                              struct usher_room_answer *ret);

/**
 * Set @field of all members at once: O(1) and one short notice for any number of members.
 * USHER_OK, USHER_FULL.
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_all(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_text *value,
                                           const struct usher_room_options *opt,
                                           struct usher_room_answer *ret);

/**
 * Give @role to @holder, or take it away ("").  With opt->expected, only if that member holds it
 * (of no bytes: no member).  USHER_OK, USHER_SAME; USHER_STALE: the answer has the owner;
 * USHER_MISSING: no such member; USHER_FULL.
 * Options: opt->expected, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_role(struct usher_engine *e, const char *room,
                                            const char *role, const char *holder,
                                            const struct usher_room_options *opt,
                                            struct usher_room_answer *ret);

/**
 * Add @share, an item that @member shows to the others until it leaves.  A repeat sets its
 * opt->fields.  USHER_OK, USHER_SAME; USHER_REFUSED: it belongs to another member; USHER_MISSING,
 * USHER_FULL.
 * Options: opt->fields, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_share(struct usher_engine *e, const char *room,
                                             const char *member, const char *share,
                                             const struct usher_room_options *opt,
                                             struct usher_room_answer *ret);

/**
 * Remove @share.  USHER_OK, USHER_SAME.
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_room_unshare(struct usher_engine *e, const char *room,
                                               const char *share,
                                               const struct usher_room_options *opt,
                                               struct usher_room_answer *ret);

/**
 * Read @room and its settings: usher_room_settings_of(), usher_room_answer_of().  Up to
 * USHER_PAGE_MAX members whose time is over are not counted.  USHER_OK, USHER_MISSING.  O(1), and
 * the expiries that are due.
 */
USHER_API enum usher_status usher_room_show(struct usher_engine *e, const char *room,
                                            const struct usher_room_options *opt,
                                            struct usher_reply **ret);

/**
 * Read the statistics of @room: usher_room_statistics_of(), usher_room_answer_of().  Members are
 * counted as by usher_room_show().  Counts over the life of the room never fall while it has its
 * epoch; closing it removes no members in them.  USHER_OK, USHER_MISSING.  O(1), and the expiries
 * that are due.
 */
USHER_API enum usher_status usher_room_stats(struct usher_engine *e, const char *room,
                                             const struct usher_room_options *opt,
                                             struct usher_reply **ret);

/**
 * Read the whole room, in pages.  The first page has all fields and roles.  Each page has the
 * values of all (usher_room_all()), then members in the order they joined, each followed by its
 * shares: opt->max members (not given: 100), or fewer if they are large.
 *
 * While the reply has more, continue with opt->after_version = the answer's since_version (at which
 * the last member joined) and opt->since_version = the version of the copy so far.  The page then
 * begins with the notices of all changes after that version, to be made in the copy, and its other
 * rows are of the version of the reply.  If not all notices fit, the page has nothing else:
 * continue with since_version = that of the last notice.
 *
 * USHER_OK, USHER_MISSING; USHER_STALE: the log starts later: begin again; USHER_LOST likewise.  A
 * replica (usher/replica.h) does all this.
 * Options: opt->if_version, opt->epoch, opt->since_version, opt->after_version, opt->max,
 * opt->versions.
 */
USHER_API enum usher_status usher_room_snapshot(struct usher_engine *e, const char *room,
                                                const struct usher_room_options *opt,
                                                struct usher_reply **ret);

/**
 * Read the change log of @room: changes after opt->since_version as rows, oldest first, at most
 * opt->max (not given: 100).
 *
 * USHER_OK
 * USHER_MISSING
 * USHER_STALE  the log starts later, at the answer's since_version; or no such version yet
 * USHER_LOST   the store lost that version: take a snapshot
 *
 * The row of an open, close, lock, unlock or kick with opt->actor has the actor.  (close is not in
 * the log; watchers receive it.)
 * Options: opt->epoch, opt->since_version, opt->max.
 */
USHER_API enum usher_status usher_room_changes(struct usher_engine *e, const char *room,
                                               const struct usher_room_options *opt,
                                               struct usher_reply **ret);

/**
 * Apply expiries that are due; with opt->ttl_ms also remove the members without a heartbeat for
 * that time.  One call does a bounded step of at most 64 changes: rows are the members removed.
 * Repeat it while the reply has more.  USHER_OK, USHER_SAME, USHER_MISSING.
 * Options: opt->if_version, opt->epoch, opt->ttl_ms, opt->max.
 */
USHER_API enum usher_status usher_room_sweep(struct usher_engine *e, const char *room,
                                             const struct usher_room_options *opt,
                                             struct usher_reply **ret);

/* Copy the answer, the settings, the statistics or row @i of @reply into a struct.  Texts belong
 * to the reply and live as long, except those of the answer.  Return false, and do not write
 * *@ret, if @reply is NULL or of another noun, if there is no such row, or if the size is not
 * set.  O(members * values). */
USHER_API bool usher_room_answer_of(const struct usher_reply *reply, struct usher_room_answer *ret);
USHER_API bool usher_room_settings_of(const struct usher_reply *reply, struct usher_room_settings *ret);
USHER_API bool usher_room_statistics_of(const struct usher_reply *reply, struct usher_room_statistics *ret);
USHER_API bool usher_room_row_of(const struct usher_reply *reply, size_t i, struct usher_room_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
