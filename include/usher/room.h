/* SPDX-License-Identifier: MIT */
/*
 * Rooms: state that every client can keep a copy of.  Part of usher.h, which includes it.
 *
 * A room has fields, members with fields and heartbeats, roles that members hold, and shares
 * that members own.  Every change has a version and one notice, which carries what it takes
 * to make the same change elsewhere; a bounded log of them is kept in the room.
 *
 *  - Members leave by leave or kick, or are removed when their heartbeats end.  Whatever the
 *    way, their roles and shares go in the same version: nobody ever sees a role of somebody
 *    who is not there.
 *  - `all` sets a field of all members at once, as one value of the room with its version.
 *    What counts for a member is what was set last: its own value, or that of all.  It also
 *    counts for those who join later, unless they bring a value of their own.
 *  - Heartbeats change no visible state: `alive` has no version of its own and makes no
 *    notice, unless it brings back somebody who was away.
 *  - Closing: the room is `closing` at once, and nothing of it is seen any more; then all of
 *    it is erased in steps of a few dozen items, after each of which the closer leaves the store to
 *    others for as long as the step took.  Whoever sends the next command to the room goes on with
 *    it, should the closer die.  At the end nothing is left, and a room
 * opened under the name again has a new epoch.
 *
 * Limits (`full` beyond them): USHER_ROOM_ROLES_MAX roles and USHER_ROOM_SHARES_MAX shares of
 * one member, USHER_ROOM_FIELDS_MAX fields and as many roles of a room, USHER_ROOM_BYTES_MAX
 * bytes of all room fields and values of all together, USHER_ROOM_MEMBER_FIELDS_MAX fields and
 * USHER_VALUE_MAX bytes of one member or one share, USHER_ROOM_BANS_MAX bans.  So what goes with
 * a member always fits into one change.
 */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one where it belongs */
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
#define USHER_ROOM_BANS_MAX 10000
#define USHER_ROOM_GIVEN_FIELDS_MAX 32   /* of one command */
#define USHER_ROOM_MEMBER_FIELDS_MAX 128 /* of one member or share */
#define USHER_NOTICE_DATA_MAX 8192

struct usher_engine;
struct usher_result;
struct usher_notice;

/* Of a room: src/core/room.def.  Codes are stored. */
enum usher_room_state {
    USHER_ROOM_STATE_CLOSED = 0, /* there is none */
    USHER_ROOM_STATE_OPEN = 1,
    USHER_ROOM_STATE_LOCKED = 2,  /* open, but nobody new may join */
    USHER_ROOM_STATE_CLOSING = 3, /* nothing of it is seen any more; being erased */
    USHER_ROOM_STATE__WIDE = 0x7fffffff
};

/* Of one member: src/core/member.def.  Codes are stored. */
enum usher_room_member_state {
    USHER_ROOM_MEMBER_ABSENT = 0,
    USHER_ROOM_MEMBER_HERE = 1,
    USHER_ROOM_MEMBER_AWAY = 2,    /* no heartbeat for the room's `away` */
    USHER_ROOM_MEMBER_OFFLINE = 3, /* none for its `ttl`; still a member for its `grace` */
    USHER_ROOM_MEMBER_BANNED = 4,  /* no member, and must not join */
    USHER_ROOM_MEMBER_STATE__WIDE = 0x7fffffff
};

/* What one row of an answer is. */
enum usher_room_row_kind {
    USHER_ROOM_ROW_FIELD = 1, /* id: the field; value */
    USHER_ROOM_ROW_ALL,       /* id: a field of all members; value */
    USHER_ROOM_ROW_ROLE,      /* id: the role; owner: who holds it */
    USHER_ROOM_ROW_MEMBER,    /* id; state; since_ms, seen_ms; value: its own fields, see below */
    USHER_ROOM_ROW_SHARE,     /* id; owner; value: its fields, as of a member */
    USHER_ROOM_ROW_NOTICE,    /* value: for usher_room_notice() */
    USHER_ROOM_ROW_ROOM,      /* id: a room; since_ms: when it was opened */
    USHER_ROOM_ROW_KIND__WIDE = 0x7fffffff
};

/*
 * Fields in one text: MessagePack, an array of name, value, name, value …; all are texts.
 * usher_fields_pack() makes such a text.  Those of a stored member or share are an array of
 * name, value, version (an integer), …: usher_fields_next() reads both.
 */

/*
 * The mark of a history: 52 bits that two histories of a room have in common only if they are the
 * same (but for one pair in 2^52, and for who forges one).  Each notice says which history it
 * follows (`was`) and which one that makes (`mark`); answers to alive, changes and snapshot say
 * where the room is.  For a store may lose its tail and go on under the same versions, and a
 * client that has heard only of the last of them is told the difference.  It is the first 13 hex
 * digits of the SHA-1 of the notice as it stands in the log, with 0 for its own mark.  A room that
 * is closed has none: 0.
 */

/* Arguments of the room verbs; which verb takes which: src/core/room_verbs.def. */
struct usher_room_args {
    struct usher_text member, field, value;
    struct usher_text role, share;
    struct usher_text expected; /* `if`: the value or holder there must be; "": none */
    struct usher_text fields;   /* packed */
    int64_t capacity, linger_ms, ttl_ms, away_ms, grace_ms, log, requests, presence_ms;
    int64_t push;
    int64_t ban_ms, if_version, since, max;
    int64_t after; /* snapshot: at which the last member of the page before has joined */
};

struct usher_room_settings {
    int64_t capacity;  /* members at most; 0: any number */
    int64_t linger_ms; /* an empty room closes by itself after this; 0: never */
    int64_t ttl_ms;    /* a member is offline after this time without a heartbeat; 0: never */
    int64_t away_ms;   /* and away after this; 0, or not below ttl: never */
    int64_t grace_ms;  /* how long who is offline stays a member and can come back */
    int64_t log;       /* notices kept for `changes`; default USHER_ROOM_LOG_DEFAULT */
    int64_t requests;  /* answers kept for request ids; default 10,000 */
    /* who comes and goes is told together, this long after the first of them at most; 0: one by
     * one.  See usher_room_presence(). */
    int64_t presence_ms;
    /* 1: on Redis each change is published: the room's version, in digits, to the channel that has
     * the name of its hash ("{ROOM}:room" behind the prefix), by PUBLISH, on a cluster by SPUBLISH.
     * Who hears it reads the log (usher_room_changes()), which is what counts: messages may be
     * lost.  Other stores keep it and do nothing.  0 or 1. */
    int64_t push;
};

struct usher_room_row {
    int kind;  /* enum usher_room_row_kind */
    int state; /* enum usher_room_member_state */
    struct usher_text id, owner;
    struct usher_text value;
    uint64_t version; /* at which it was set, joined, given, made */
    int64_t since_ms, seen_ms;
};

struct usher_room_result {
    enum usher_room_state state; /* of the room, after the command */
    enum usher_room_member_state member_state;
    uint64_t members; /* there are now: here, away or offline */
    uint64_t count;   /* sweep, close: how many; changes: how many the log still has */
    uint64_t since;   /* changes: the log reaches back to this version; alive: the version that
                       * watchers of this engine have been told of; snapshot: where to go on */
    uint64_t mark;    /* alive: at `since`; changes, snapshot: at the reply's version; see below */
    int64_t until_ms; /* join, alive: next deadline, 0: none; refused: end of the ban */
    int64_t created_ms;
    bool more;    /* ask again: snapshot after `since`, changes since the last row's version */
    bool partial; /* list, patrol: not all was seen; what was stands in the rows */
    size_t name_size;
    char name[USHER_NAME_MAX + 1]; /* member, holder, share */
    size_t n_rows;
    const struct usher_room_row *rows;   /* owned by the reply; `stale`: what there is, if any */
    struct usher_room_settings settings; /* open, show */
};

/* The index of rooms: commands that the engine gives by itself (src/engine/room_index.c). */
enum usher_rooms_state {
    USHER_ROOMS_OPENING = 1,
    USHER_ROOMS_OPEN = 2,
    USHER_ROOMS_DOUBTED = 3, /* OPENING; meanwhile somebody saw no such room */
    USHER_ROOMS_STATE__WIDE = 0x7fffffff
};

enum usher_rooms_given {
    USHER_GIVEN_ROOMS_CREATED = 1u << 3,
    USHER_GIVEN_ROOMS_TOKEN = 1u << 4,
    USHER_GIVEN_ROOMS_MAX = 1u << 5,
    USHER_GIVEN_ROOMS_EVERY = 1u << 6,
    USHER_GIVEN_ROOMS_LEASE = 1u << 7
};

struct usher_rooms_args {
    struct usher_text room, worker, after;
    int64_t created_ms, token, max, every_ms, lease_ms;
};

struct usher_rooms_row {
    struct usher_text room;
    int state; /* enum usher_rooms_state */
    int64_t created_ms;
    uint64_t token;
};

struct usher_rooms_result {
    bool more;
    uint64_t token; /* put */
    size_t n_rows;
    const struct usher_rooms_row *rows; /* owned by the reply */
};

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_room_state_word(enum usher_room_state state);
USHER_API const char *usher_room_member_state_word(enum usher_room_member_state state);

/**
 * Take the next field off @fields, which begins as a packed text.  The texts point into it;
 * *@ret_version is 0 where fields have none.  False: no more, or not understood.  O(1).
 */
struct usher_fields {
    const unsigned char *at, *end;
    size_t left; /* values in the array */
    bool begun;
};
USHER_API bool usher_fields_next(struct usher_fields *fields, struct usher_text *ret_name,
                                 struct usher_text *ret_value, uint64_t *ret_version);

/**
 * Pack @n pairs into @to, at most @size bytes.  Returns how many bytes it takes, whether they
 * fit or not.  O(size of the texts).
 */
USHER_API size_t usher_fields_pack(const struct usher_text *names, const struct usher_text *values,
                                   size_t n, unsigned char *to, size_t size);

/**
 * The notice that @row (USHER_ROOM_ROW_NOTICE) of @room is.  Its texts point into @row and
 * @room.  @epoch is that of the reply.  USHER_OK, USHER_INVALID.
 */
USHER_API enum usher_status usher_room_notice(const struct usher_room_row *row,
                                              const struct usher_text *room, uint64_t epoch,
                                              struct usher_notice *ret_notice);

/**
 * In a room with the setting `presence`, what join, leave, alive and sweep change is told
 * together: in notices with the verb USHER_ROOM_PRESENCE, of changes with versions from
 * @notice->token to @notice->version.  This takes them off it one after the other, as the
 * notices that they would have been.  Begin with *@at = 0.  The texts point into @notice.
 * False: that was all, or what follows is not understood, or @notice is another one.  O(1).
 *
 * Each change has its version, and its notice in the log, at once: only the telling is put off,
 * until the first command behind the interval, a command of another kind (whose own changes
 * are told behind them), or until they come to more than USHER_NOTICE_DATA_MAX bytes.  Commands and
 * changes are those of this engine: what others change meanwhile has versions between theirs, is
 * told by them, and stands in the log.
 */
USHER_API bool usher_room_presence(const struct usher_notice *notice, size_t *at,
                                   struct usher_notice *ret_notice);

/*
 * Statuses common to all room functions: as for numbers (usher.h), and USHER_MISSING: there is
 * no such room, or it is being closed; USHER_LOST: the version in `if_version` or `since` is of
 * what the store has lost, so whoever has it has a copy of what is no more.  (A version above the
 * room's is USHER_STALE where the store has not changed hands since the room was opened: it is of a
 * room of the name that was closed.)  Each function names the others.
 */

/** Open @room.  @settings (NULL: all default) are those of a new room.
 *  USHER_OK; USHER_SAME if it is open already (its settings stay as they are).  O(1), but for what
 *  is left to erase of a closed room of the name, which is done first.  (Of usher_operate() only
 *  until its deadline: then USHER_REFUSED, with the state `closing`.) */
USHER_API enum usher_status usher_room_open(struct usher_engine *e, const char *room,
                                            const struct usher_room_settings *settings);

/** Close @room and erase all of it, in bounded steps until nothing is left.
 *  USHER_OK; USHER_SAME if there is none. */
USHER_API enum usher_status usher_room_close(struct usher_engine *e, const char *room);

/** Let nobody new join, or anybody again.  USHER_OK, USHER_SAME.  O(1). */
USHER_API enum usher_status usher_room_lock(struct usher_engine *e, const char *room);
USHER_API enum usher_status usher_room_unlock(struct usher_engine *e, const char *room);

/** Set @field of @room to @value.  @expected NULL: whatever it is now; else only if it is that
 *  ("": not set, or empty).  USHER_OK, USHER_SAME; USHER_STALE, USHER_FULL.  O(log n). */
USHER_API enum usher_status usher_room_set(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_text *value,
                                           const struct usher_text *expected);

/** Field @field (NULL: all) as rows; texts live in *@ret_reply until usher_result_done().
 *  USHER_OK, USHER_MISSING (no such room or field). */
USHER_API enum usher_status usher_room_get(struct usher_engine *e, const char *room,
                                           const char *field, struct usher_result *ret_reply);

/** @member comes in, with the packed @fields (may be NULL) of its own.  Again: its fields and
 *  its heartbeat.  USHER_OK; USHER_SAME: it was there, just so; USHER_REFUSED: locked, or
 *  banned; USHER_FULL.  O(log n). */
USHER_API enum usher_status usher_room_join(struct usher_engine *e, const char *room,
                                            const char *member, const struct usher_text *fields);

/** @member leaves; its roles and shares go with it.  USHER_OK, USHER_SAME.  O(log n). */
USHER_API enum usher_status usher_room_leave(struct usher_engine *e, const char *room,
                                             const char *member);

/** Put @member out, and with @ban_ms > 0 keep it out for so long; 0 lifts a ban, < 0 leaves
 *  it alone.  USHER_OK, USHER_SAME; USHER_FULL: too many bans.  O(log n). */
USHER_API enum usher_status usher_room_kick(struct usher_engine *e, const char *room,
                                            const char *member, int64_t ban_ms);

/** A heartbeat of @member.  *@ret_epoch, *@ret_version and *@ret_mark (may be NULL) are the
 *  newest that were told of: a replica that has others is behind.  USHER_OK; USHER_MISSING: it has
 *  to join (again). */
USHER_API enum usher_status usher_room_alive(struct usher_engine *e, const char *room,
                                             const char *member, uint64_t *ret_epoch,
                                             uint64_t *ret_version, uint64_t *ret_mark);

/** Set @field of @member.  As usher_room_set(); @expected is compared with what counts. */
USHER_API enum usher_status usher_room_member(struct usher_engine *e, const char *room,
                                              const char *member, const char *field,
                                              const struct usher_text *value,
                                              const struct usher_text *expected);

/** Set @field of all members at once: O(1), one short notice, however many they are.
 *  USHER_OK, USHER_FULL. */
USHER_API enum usher_status usher_room_all(struct usher_engine *e, const char *room,
                                           const char *field, const struct usher_text *value);

/** Give @role to @member ("": to nobody) if @expected (NULL: whoever; "": nobody) holds it.
 *  USHER_OK, USHER_SAME; USHER_STALE: usher_message() says who does; USHER_MISSING: no such
 *  member; USHER_FULL. */
USHER_API enum usher_status usher_room_role(struct usher_engine *e, const char *room,
                                            const char *role, const char *member,
                                            const char *expected);

/** A thing that @member shows to the others, gone when it leaves.  Again: its @fields.
 *  USHER_OK, USHER_SAME; USHER_REFUSED: it is another member's; USHER_MISSING, USHER_FULL. */
USHER_API enum usher_status usher_room_share(struct usher_engine *e, const char *room,
                                             const char *member, const char *share,
                                             const struct usher_text *fields);
USHER_API enum usher_status usher_room_unshare(struct usher_engine *e, const char *room,
                                               const char *share);

/**
 * The room as it is, in pages.  The first page (@after 0) has all fields and roles; each has the
 * values of all, then members in the order they joined, each followed by its shares, @max (0: 100)
 * of them or fewer if they are large.  While reply.of.room.more, go on with @after =
 * reply.of.room.since (the version at which the last member joined) and @since = the version of
 * what there is so far: the page then begins with the notices of all changes behind that, to be
 * made in what there is, and its other rows are of the version of the reply.  If the notices are
 * more than fit, there is nothing else on it: go on with @since = the version of the last.
 * USHER_STALE: the log does not reach back to @since: begin anew; USHER_LOST likewise.  @since 0:
 * none.  A replica (replica.h) does all this.
 */
USHER_API enum usher_status usher_room_snapshot(struct usher_engine *e, const char *room,
                                                uint64_t after, uint64_t since, size_t max,
                                                struct usher_result *ret_reply);

/** Notices of the changes after @since, at most @max (0: 100), oldest first.  USHER_STALE: the
 *  log does not reach back so far (reply.of.room.since says how far), or @since is newer than
 *  the room; USHER_LOST: take a snapshot. */
USHER_API enum usher_status usher_room_changes(struct usher_engine *e, const char *room,
                                               uint64_t since, size_t max,
                                               struct usher_result *ret_reply);

/** Apply what is due; with @ttl_ms > 0 also remove who was silent for so long.  One bounded
 *  step: rows are those removed, reply.of.room.more says that there are others. */
USHER_API enum usher_status usher_room_sweep(struct usher_engine *e, const char *room,
                                             int64_t ttl_ms, struct usher_result *ret_reply);

/**
 * Open rooms by (time of opening, name), at most @max (0: 100) of them, as rows.  While
 * reply.of.room.more, go on with @after = reply.of.room.name and @created_ms =
 * reply.of.room.created_ms (0: that of @after, which must still be open: else USHER_MISSING).  A
 * room that is open all the while is on exactly one page, one that is closed or whose linger is
 * over on none; so a page may have fewer than @max though there are more.  @now_ms < 0: the
 * engine's clock.  64 commands in one batch, then one for each room.
 *
 * Where a part of the store does not answer, the status is USHER_UNAVAILABLE and the message says
 * how much was not seen; with reply.of.room.partial the rows are those that were, and the reply is
 * to be read as any other.
 */
USHER_API enum usher_status usher_room_list(struct usher_engine *e, const char *after,
                                            int64_t created_ms, size_t max, int64_t now_ms,
                                            struct usher_result *ret_reply);

/**
 * Hand out at most @batch (0: 100) open rooms that are due, as rows, and apply what is due in
 * them as usher_room_sweep() does.  Each room is due once in @every_ms (0: a minute), and handed
 * to one worker: it is @worker's until that calls again, which says that it is done, or until
 * @lease_ms (0: 30 s) are over, after which it goes to whoever comes.  A worker that begins anew
 * takes a new name.  @now_ms < 0: the store's time.  64 commands, and one for each room.
 * USHER_UNAVAILABLE and reply.of.room.partial as with usher_room_list(): the rows have been handed
 * out all the same.
 */
USHER_API enum usher_status usher_room_patrol(struct usher_engine *e, const char *worker,
                                              size_t batch, int64_t every_ms, int64_t lease_ms,
                                              int64_t now_ms, struct usher_result *ret_reply);

/**
 * 128 bits over what is seen of @room (state, fields, values of all, members but for their
 * heartbeats, roles, shares) at *@ret_version, as 32 hex digits and a NUL: whoever has a copy
 * of the room can make the same.  USHER_OK, USHER_MISSING.  O(room).
 */
USHER_API enum usher_status usher_room_digest(struct usher_engine *e, const char *room,
                                              uint64_t *ret_epoch, uint64_t *ret_version,
                                              char ret_digest[33]);

#ifdef __cplusplus
}
#endif

#endif
