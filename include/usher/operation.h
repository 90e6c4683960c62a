/* SPDX-License-Identifier: MIT */
/*
 * Operations and results: commands and answers as the engine gives them to a store, and as a store
 * fills them in.  They MAY CHANGE in 0.x.  A program uses the calls of each noun, or values
 * (usher/command.h), from which operations are made.
 */
#ifndef USHER_OPERATION_H
#define USHER_OPERATION_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which integer arguments of a command are given (texts: data is not NULL).  NOW is for all
 * nouns; of the others each noun has its own. */
enum usher_given {
    USHER_GIVEN_TOKEN = 1u << 6,
    USHER_GIVEN_LEASE = 1u << 7,
    USHER_GIVEN_REST = 1u << 8,
    USHER_GIVEN_STATE = 1u << 9,
    USHER_GIVEN_MAX = 1u << 10,
    USHER_GIVEN_ORDER = 1u << 11,
    USHER_GIVEN_DAILY = 1u << 12,
    USHER_GIVEN_ZONE = 1u << 13,
    USHER_GIVEN_STRICT = 1u << 14,
    USHER_GIVEN_STICKY_MS = 1u << 15,
    USHER_GIVEN_STICKY_MAX = 1u << 16,
    USHER_GIVEN_REQUESTS = 1u << 17,
    USHER_GIVEN_ALL = 1u << 19,
    USHER_GIVEN_IF_VERSION = 1u << 20,
    USHER_GIVEN_GAP = 1u << 21,
    USHER_GIVEN_LOG = 1u << 22,
    USHER_GIVEN_SINCE = 1u << 23,
    USHER_GIVEN_ROOM_AFTER = 1u << 8,
    USHER_GIVEN_ROOM_IF_VERSION = 1u << 9,
    USHER_GIVEN_ROOM_CAPACITY = 1u << 10,
    USHER_GIVEN_ROOM_LINGER = 1u << 11,
    USHER_GIVEN_ROOM_TTL = 1u << 12,
    USHER_GIVEN_ROOM_AWAY = 1u << 13,
    USHER_GIVEN_ROOM_GRACE = 1u << 14,
    USHER_GIVEN_ROOM_LOG = 1u << 15,
    USHER_GIVEN_ROOM_REQUESTS = 1u << 16,
    USHER_GIVEN_ROOM_BAN = 1u << 17,
    USHER_GIVEN_ROOM_SINCE = 1u << 18,
    USHER_GIVEN_ROOM_MAX = 1u << 19,
    USHER_GIVEN_ROOM_PRESENCE = 1u << 20,
    USHER_GIVEN_ROOM_PUSH = 1u << 21
};
#define USHER_GIVEN_NOW (UINT64_C(1) << 63)

/* Arguments of the number verbs; which verb takes which: src/core/number_verbs.def. */
struct usher_number_args {
    struct usher_text number;
    struct usher_text owner;
    struct usher_text group;  /* add: one group; call: a list, "A,B,*" */
    struct usher_text sticky; /* call: the peer to be called */
    struct usher_text after;  /* list, renew: where the page before says to go on */
    struct usher_text node;   /* the machine that carries the call, or all of its calls */
    uint64_t token;
    int64_t lease_ms, rest_ms;
    int64_t daily, zone_min, strict, order;
    int64_t sticky_ms, sticky_max, requests;
    int64_t state;      /* list: enum usher_number_state, or USHER_NUMBER_STATE_BUSY */
    int64_t max;        /* list, sweep: rows or changes at most */
    int64_t all;        /* free: 1, every call of the pool */
    int64_t if_version; /* only if that is the pool's */
    int64_t gap_ms, log;
    int64_t since; /* changes: those behind this version */
};

/* ---- queues ---- */

/* Bits of usher_operation.given for queue verbs (texts: data is not NULL). */
enum usher_queue_given {
    USHER_GIVEN_QUEUE_PRIORITY = 1u << 6,
    USHER_GIVEN_QUEUE_SINCE = 1u << 7,
    USHER_GIVEN_QUEUE_CAPACITY = 1u << 8,
    USHER_GIVEN_QUEUE_LEVEL = 1u << 9,
    USHER_GIVEN_QUEUE_TTL = 1u << 10,
    USHER_GIVEN_QUEUE_TRIGGER = 1u << 11,
    USHER_GIVEN_QUEUE_STRATEGY = 1u << 12,
    USHER_GIVEN_QUEUE_OFFER = 1u << 13,
    USHER_GIVEN_QUEUE_WRAPUP = 1u << 14,
    USHER_GIVEN_QUEUE_LIMIT = 1u << 15,
    USHER_GIVEN_QUEUE_MAXWAIT = 1u << 16,
    USHER_GIVEN_QUEUE_GRACE = 1u << 17,
    USHER_GIVEN_QUEUE_REQUEUE = 1u << 18,
    USHER_GIVEN_QUEUE_HISTORY = 1u << 19,
    USHER_GIVEN_QUEUE_ZONE = 1u << 20,
    USHER_GIVEN_QUEUE_SERVICE = 1u << 21,
    USHER_GIVEN_QUEUE_REQUESTS = 1u << 22,
    USHER_GIVEN_QUEUE_MAX = 1u << 23,
    USHER_GIVEN_QUEUE_TOKEN = 1u << 24,
    USHER_GIVEN_QUEUE_STATE = 1u << 25,
    USHER_GIVEN_QUEUE_ARCHIVE = 1u << 26,
    USHER_GIVEN_QUEUE_UNTIL = 1u << 27,
    USHER_GIVEN_QUEUE_IF_VERSION = 1u << 28,
    USHER_GIVEN_QUEUE_LOG = 1u << 29,
    USHER_GIVEN_QUEUE_SINCE_VERSION = 1u << 30
};

/* Arguments; which verb takes which: src/core/queue_verbs.def. */
struct usher_queue_args {
    struct usher_text agent, user;
    struct usher_text room;  /* "EPOCH.LOGIN.N": see usher_queue_room_name(); "LOGIN.N" will do */
    struct usher_text lane;  /* one lane */
    struct usher_text lanes; /* login: "A,B"; "*" or none: all */
    struct usher_text after; /* list, agents, history: reply.next of the page before */
    int64_t priority, since_ms;
    int64_t capacity, level;
    int64_t ttl_ms, trigger, strategy, offer_ms, wrapup_ms, limit, maxwait_ms, grace_ms, requeue;
    int64_t history, zone_min, service_ms, requests;
    int64_t max;
    uint64_t token; /* finish: the match that is meant; drain: the version of a visit */
    int64_t state;  /* list: enum usher_queue_user_state */
    int64_t archive, until_ms;
    int64_t if_version; /* only if that is the queue's */
    int64_t log;
    int64_t since; /* changes: those behind this version */
};

struct usher_queue_result_settings {
    int64_t ttl_ms;   /* default 15,000; 0: nobody is ever dropped */
    int64_t trigger;  /* enum usher_queue_trigger */
    int64_t strategy; /* enum usher_queue_strategy */
    int64_t offer_ms; /* 0: seated at once */
    int64_t wrapup_ms;
    int64_t limit;      /* users waiting, away ones included; 0: no limit */
    int64_t maxwait_ms; /* of waiting, an offer included, a room not; 0: for ever */
    int64_t grace_ms;   /* 0: who is dropped is gone */
    int64_t requeue;    /* enum usher_queue_requeue */
    int64_t history;    /* ended visits that the queue keeps, without `archive`; default 1,000.  A
                         * history, also that within an SQLite store, has them besides */
    int64_t zone_min;   /* for what is counted by day: minutes east of UTC */
    int64_t service_ms; /* service level: seated within this; default 20,000 */
    int64_t requests;   /* answers kept for request ids; default 10,000 */
    int64_t archive;    /* ended visits are kept until they are in a history (history.h); while
                         * so many wait for it, apply is refused.  0: see `history` */
    int64_t log;        /* notices kept for `changes`; default 0 */
};

struct usher_queue_result_statistics {
    int64_t waiting, away, offered, seated;              /* users now */
    int64_t agents, idle, ringing, busy, wrapup, paused; /* now, of a lane those that serve it;
                                                          * ringing: offered */
    int64_t longest_wait_ms; /* since the arrival of who waits longest; 0: nobody waits */
    int64_t seated_today;    /* users put into rooms since local midnight */
    int64_t abandoned_today; /* left or lost before that */
    int64_t timeout_today;   /* waited for maxwait */
    int64_t finished_today;  /* stays in a room that ended */
    int64_t service_level;   /* of 10,000 seated today, how many within service_ms; -1: none yet */
    int64_t wait_ms;         /* mean from apply, or from the return of who lost its agent, to the
                              * room, of those seated today; -1: none yet */
    int64_t talk_ms;         /* mean from room to end, of those finished today; -1: none yet */
    int64_t dropped_today;   /* of those finished: their agent went, with requeue=drop */
    int64_t visits;          /* ended visits that the queue keeps; with `archive`, those that are
                              * in no history yet */
};

/*
 * One row.  matched: user, agent, room.  room: a room, and who is in it.  list: a user.
 * agents: an agent.  history, drain: an ended visit.  What does not apply is 0 or empty.
 */
struct usher_queue_result_row {
    struct usher_text user, agent, lane;
    struct usher_text lanes; /* of an agent: "A,B" or "*" */
    uint64_t epoch;          /* history: of the queue, if it is another one's; 0: the reply's */
    uint64_t login;          /* the room is "EPOCH.LOGIN.NO", if no != 0 */
    int64_t no;
    int state; /* of the user or the agent; history: enum usher_queue_outcome */
    int64_t priority;
    int64_t since_ms;   /* place; agent: login */
    int64_t applied_ms; /* since when it waits, or did: apply, or its return from a room */
    int64_t matched_ms; /* offered or seated at; agent: in its state since */
    int64_t until_ms;   /* nearest deadline, 0: none; history: the end */
    int64_t wait_ms;    /* history: from applied_ms to the room, or to the end without one */
    int64_t talk_ms;    /* history: in the room */
    int64_t capacity, used, served, level; /* of an agent */
    uint64_t version;                      /* history, drain: of the end of the visit */
    uint64_t token;                        /* version of the match, which finish takes */
    struct usher_text value; /* changes: for usher_notice_read(); nothing else is there */
};

struct usher_queue_result {
    enum usher_queue_agent_state state; /* of the agent, after the command */
    enum usher_queue_place place;       /* of the user, after the command */
    enum usher_queue_why why;
    bool more;        /* there is more than the rows given, or than was done; changes: ask since
                       * the last row's version */
    int64_t index;    /* users ahead in the lane; -1: does not wait */
    int64_t wait_ms;  /* estimate; -1: not known */
    int64_t until_ms; /* end of the offer */
    uint64_t token;   /* version of the match; finish takes it */
    uint64_t login;   /* the room, or 0 */
    int64_t no;       /* in it; login …: the number of rooms */
    uint64_t count;   /* sweep: expired; free: users freed; drain: visits taken away; drop: records
                       * erased */
    size_t user_size;
    char user[USHER_NAME_MAX + 1];
    size_t agent_size; /* or where to go on: list, agents, history */
    char agent[USHER_NAME_MAX + 1];
    uint64_t since; /* changes: the log reaches back to this version */
    size_t n_rows;
    const struct usher_queue_result_row *rows; /* owned by the reply */
    union {
        struct usher_queue_result_settings settings; /* set */
        struct usher_queue_result_statistics stats;  /* stats */
    } of;
};

/* ---- rooms ---- */

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

struct usher_room_result_settings {
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

struct usher_room_result_row {
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
    const struct usher_room_result_row
        *rows; /* owned by the reply; `stale`: what there is, if any */
    struct usher_room_result_settings settings; /* open, show */
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

/* ---- serials ---- */

enum usher_serial_given {
    USHER_GIVEN_SERIAL_WIDTH = 1u << 5,
    USHER_GIVEN_SERIAL_BASE = 1u << 6,
    USHER_GIVEN_SERIAL_START = 1u << 7,
    USHER_GIVEN_SERIAL_STEP = 1u << 8,
    USHER_GIVEN_SERIAL_RADIX = 1u << 9,
    USHER_GIVEN_SERIAL_CHECK = 1u << 10,
    USHER_GIVEN_SERIAL_MAX = 1u << 11,
    USHER_GIVEN_SERIAL_CRITICAL = 1u << 12,
    USHER_GIVEN_SERIAL_BATCH = 1u << 13,
    USHER_GIVEN_SERIAL_RESET = 1u << 14,
    USHER_GIVEN_SERIAL_ZONE = 1u << 15,
    USHER_GIVEN_SERIAL_STAMP = 1u << 16,
    USHER_GIVEN_SERIAL_MODE = 1u << 17,
    USHER_GIVEN_SERIAL_OVERFLOW = 1u << 18,
    USHER_GIVEN_SERIAL_LEASE = 1u << 19,
    USHER_GIVEN_SERIAL_REQUESTS = 1u << 20,
    USHER_GIVEN_SERIAL_N = 1u << 21,
    USHER_GIVEN_SERIAL_BY = 1u << 22,
    USHER_GIVEN_SERIAL_TOKEN = 1u << 23,
    USHER_GIVEN_SERIAL_FROM = 1u << 24,
    USHER_GIVEN_SERIAL_TO = 1u << 25,
    USHER_GIVEN_SERIAL_PERIOD = 1u << 26,
    USHER_GIVEN_SERIAL_AUTHORITY = 1u << 27,
    USHER_GIVEN_SERIAL_DEBT = 1u << 28,
    USHER_GIVEN_SERIAL_IF_VERSION = 1u << 29,
    USHER_GIVEN_SERIAL_LOG = 1u << 30
};
#define USHER_GIVEN_SERIAL_SINCE (UINT64_C(1) << 31)
#define USHER_GIVEN_SERIAL_MOST (UINT64_C(1) << 32)

/* Arguments of the serial verbs; which verb takes which: src/core/serial_verbs.def. */
struct usher_serial_args {
    struct usher_text serial, owner;
    struct usher_text prefix, suffix, date; /* size 0 with data: none */
    int64_t width, base, start, step, radix, check, max, critical, batch, reset, zone_min, stamp,
        mode, overflow, lease_ms, requests;
    int64_t n;  /* take, fill: how many; sweep: changes at most */
    int64_t by; /* setmax */
    uint64_t token;
    int64_t from, to, period; /* grant: (from, to] is the store's */
    int64_t authority;
    int64_t debt;       /* 1: the authority is away.  setmax raises the grant; take gives fewer */
    int64_t if_version; /* only if that is the rule's */
    int64_t log;
    int64_t since; /* changes: those behind this version */
    int64_t most;  /* changes: rows at most */
};

/* Numbers in a row, or one of a gap-free rule, or several of them that are lost. */
struct usher_serial_result_row {
    int64_t first, n; /* first … first + n - 1, all printed with the date of at_ms */
    int64_t at_ms;
    uint64_t token;
    int64_t until_ms;
    enum usher_serial_state state;
    struct usher_text owner;
    struct usher_text format; /* for usher_serial_text() */
    struct usher_text value;  /* changes: for usher_notice_read(); nothing else is there */
};

struct usher_serial_result_settings {
    int64_t start, critical, batch, reset, stamp, mode, lease_ms, requests, authority;
    int64_t log;  /* notices kept for `changes`; default 0 */
    int64_t made; /* show: 1: numbers were made in this period */
};

struct usher_serial_stock {
    int64_t available; /* made and not taken */
    int64_t recent;    /* taken in the last half hour, to five minutes */
    int64_t longterm;  /* in the last hour */
    int64_t critical, batch;
    int64_t target;         /* what a tick would fill the stock up to */
    int64_t held, returned; /* of a gap-free rule */
    int64_t taken;          /* the highest number that was ever given out */
    int64_t debt;           /* the authority has not heard of numbers up to this; 0: none */
};

struct usher_serial_parts {
    int64_t number, value;      /* k, and base + k * step */
    int64_t date_at, date_size; /* in the serial */
    int64_t check;              /* the character, 0: none */
};

struct usher_serial_result {
    enum usher_serial_why why;
    int64_t count;    /* take: how many; fill, tick: made; sweep: expired */
    int64_t left;     /* that may still be made */
    int64_t cur, max; /* the last one made; the last one allowed */
    int64_t granted;  /* by the authority */
    int64_t period;
    uint64_t token;
    int64_t until_ms;
    bool more;      /* sweep: not all yet, ask again; changes: ask since the last row's version */
    uint64_t since; /* changes: the log reaches back to this version */
    size_t n_rows;
    const struct usher_serial_result_row *rows; /* owned by the reply */
    union {
        struct usher_serial_result_settings settings; /* rule, show */
        struct usher_serial_stock stock;              /* check */
        struct usher_serial_parts parts;              /* parse */
    } of;
};

/* A rule as a whole.  What a field means: `usher help serial rule`. */
struct usher_serial_form {
    char prefix[USHER_SERIAL_AFFIX_MAX + 1], suffix[USHER_SERIAL_AFFIX_MAX + 1];
    char date[USHER_SERIAL_AFFIX_MAX + 1]; /* of %Y %y %m %d %j %H %M %S %% and other text */
    int64_t width;    /* digits at least, zeroes in front; 0: as many as it takes */
    int64_t base;     /* from 0 */
    int64_t start;    /* the first k, from 1; default 1 */
    int64_t step;     /* 1 to USHER_SERIAL_STEP_MAX; default 1 */
    int64_t radix;    /* 10 to 36, capitals; default 10 */
    int64_t check;    /* enum usher_serial_check_digit: over the digits of date and number */
    int64_t overflow; /* enum usher_serial_overflow */
    int64_t max;      /* the last k that may be made; default 2^63 - 1 */
    /* A take that leaves at most `critical` in stock makes more, at most `batch`: up to
     * critical + f, where f is what was taken in the last half hour, plus what that is more
     * than in the half hour before (at least 1).  tick does the same.  Defaults 0, 1000. */
    int64_t critical, batch;
    int64_t reset;     /* enum usher_serial_reset */
    int64_t zone_min;  /* local time, minutes east of UTC; with another one what is in stock gets
                        * the date of the change (stamp) */
    int64_t stamp;     /* enum usher_serial_stamp */
    int64_t mode;      /* enum usher_serial_mode */
    int64_t lease_ms;  /* of a reservation that names none; 0: never; default five minutes */
    int64_t requests;  /* answers kept for request ids, and numbers of which it is known how their
                        * last hold ended (USHER_SERIAL_STATE_PAST); default 10,000 */
    int64_t authority; /* 1: nothing is given out that an authority has not granted */
    int64_t log;       /* notices kept for `changes`; default 0 */
};

/* Bits of @given for the texts of a form; numbers: USHER_GIVEN_SERIAL_…. */
#define USHER_GIVEN_SERIAL_PREFIX (1u << 2)
#define USHER_GIVEN_SERIAL_SUFFIX (1u << 3)
#define USHER_GIVEN_SERIAL_DATE (1u << 4)

/* ---- ids ---- */

/* Which integer arguments of a command are given. */
enum usher_id_given {
    USHER_GIVEN_ID_FIRST = 1u << 1,
    USHER_GIVEN_ID_N = 1u << 2,
    USHER_GIVEN_ID_START = 1u << 3,
    USHER_GIVEN_ID_STEP = 1u << 4,
    USHER_GIVEN_ID_BY = 1u << 5,
    USHER_GIVEN_ID_TOKEN = 1u << 6,
    USHER_GIVEN_ID_LIMIT = 1u << 7,
    USHER_GIVEN_ID_STEP_MAX = 1u << 8,
    USHER_GIVEN_ID_LIFE = 1u << 9,
    USHER_GIVEN_ID_MANAGED = 1u << 10,
    USHER_GIVEN_ID_NEXT = 1u << 11,
    USHER_GIVEN_ID_MAX = 1u << 12,
    USHER_GIVEN_ID_REQUESTS = 1u << 13,
    USHER_GIVEN_ID_IF_VERSION = 1u << 14,
    USHER_GIVEN_ID_LOG = 1u << 15,
    USHER_GIVEN_ID_SINCE = 1u << 16,
    USHER_GIVEN_ID_MOST = 1u << 17
};

/* Arguments of the id verbs; which verb takes which: src/core/id_verbs.def. */
struct usher_id_args {
    struct usher_text epoch; /* return, install: 16 hex digits */
    uint64_t token;
    int64_t first, n;
    int64_t start, step, by, limit, step_max, life_ms, managed;
    int64_t next; /* set: raise the counter to this */
    int64_t max;  /* install: that of the segment before */
    int64_t requests;
    int64_t if_version; /* only if that is the dispenser's */
    int64_t log;
    int64_t since; /* changes: those behind this version */
    int64_t most;  /* changes: rows at most */
};

struct usher_id_result_settings {
    int64_t start;         /* the first id */
    int64_t step;          /* ids of a segment, 1 to USHER_ID_N_MAX; default 512 */
    int64_t by;            /* between two ids; default 1 */
    int64_t limit;         /* no id is larger; default USHER_ID_LIMIT_MAX */
    int64_t step_max;      /* the step grows to this at most */
    int64_t life_ms;       /* it grows when a segment lasts less than this, shrinks when it lasts
                            * twice as long; 0: the step stays as it is */
    int64_t managed;       /* 1: segments come by `install` only, or from the engine's authority */
    int64_t requests;      /* answers kept for request ids, as in number pools */
    int64_t log;           /* notices kept for `changes`; default 0 */
    enum usher_id_why why; /* set: why it was refused */
};

/* What `show` tells, or a notice of `changes`. */
struct usher_id_result_row {
    int64_t next; /* -1: the limit is reached */
    int64_t max;  /* of the present segment, no id of it is larger; -1: it has none */
    int64_t step; /* of the segment after it */
    int64_t start, by, limit;
    int64_t issued;    /* ids given out and not given back */
    int64_t segments;  /* so many so far */
    int64_t began_ms;  /* when the present one began */
    int64_t lasted_ms; /* how long the one before lasted */
    int64_t managed;
    struct usher_text value; /* changes: for usher_notice_read(); nothing else is there */
};

struct usher_id_result {
    int64_t first, n; /* next: first, first + by, …; `full`: so many are left from `first` on.
                       * return, install: the same of the arguments */
    int64_t next, max, step, by; /* as in the row */
    uint64_t token;              /* next: of the range, for return; `stale`: the current one */
    bool more;                   /* changes: not all yet, ask since the last row's version */
    uint64_t since;              /* changes: the log reaches back to this version */
    size_t n_rows;
    const struct usher_id_result_row *rows; /* owned by the reply */
    union {
        struct usher_id_result_settings settings; /* create, set */
    } of;
};

/* ---- one of each ---- */

/* One command.  Zero it first; a zero field is one not given. */
struct usher_operation {
    enum usher_verb verb;
    uint64_t given; /* USHER_GIVEN_… */
    struct usher_text scope;
    struct usher_text request; /* request id: a repeat gets the first answer; another verb, or
                                * other arguments, under the same id are invalid */
    int64_t now_ms;            /* with USHER_GIVEN_NOW */
    /* When it is done, wait until so many replicas of the store have it, or only a tenth is left of
     * the time there was (0.12 s at least, half at most), so that the answer is back before the
     * deadline: see `replicas` of the reply, which has to be compared.  At most USHER_WAIT_MAX;
     * 0: do not wait.  Holds up nobody who does not wait himself. */
    uint32_t wait;
    union {
        struct usher_number_args number;
        struct usher_id_args id;
        struct usher_room_args room;
        struct usher_serial_args serial;
        struct usher_queue_args queue;
        struct usher_rooms_args rooms;
        uint64_t reserve[40]; /* so that later nouns do not change the size */
    } arg;
};

struct usher_number_result_settings {
    int64_t order;      /* enum usher_number_order */
    int64_t lease_ms;   /* of a call that names none; 0: until hangup */
    int64_t rest_ms;    /* after a call */
    int64_t daily;      /* calls of one number per local day; 0: no cap */
    int64_t zone_min;   /* the pool's local time, minutes east of UTC */
    int64_t strict;     /* 1: hangup needs the token */
    int64_t sticky_ms;  /* how long a callee's number is remembered; default 7 days */
    int64_t sticky_max; /* how many callees; default 10,000 */
    int64_t requests;   /* how many answers are kept for request ids, each for less than an
                         * hour; default 10,000 */
    int64_t gap_ms;     /* from the beginning of a call to the next of the same number */
    int64_t log;        /* notices kept for `changes`; default 0 */
};

/* All due expiries applied. */
struct usher_number_result_statistics {
    int64_t total, idle_up, idle_down, busy_up, busy_down;
    int64_t resting;         /* of idle_up */
    int64_t calls_today;     /* numbers given out since local midnight */
    int64_t refused_today;   /* calls answered `empty` or `refused` since then */
    int64_t longest_hold_ms; /* age of the oldest hold, 0 without holds */
    /* Of idle_up: that stand aside, having had their calls of the day.  When the cap is lowered, a
     * number counts as soon as a call has met it. */
    int64_t capped;
};

struct usher_number_result_row {
    struct usher_text number, group, owner; /* size 0: none */
    enum usher_number_state state;
    bool resting;
    uint64_t token;   /* of the current or the last hold, 0: never held */
    int64_t until_ms; /* busy: end of the hold; idle: end of the rest; 0: none */
    int64_t calls_today;
    int64_t used_ms;         /* the last call began, 0: never */
    bool capped;             /* idle+up, and has had its calls of the day */
    int64_t age_ms;          /* busy: how long by now, else 0 */
    struct usher_text node;  /* busy: the machine that carries the call, size 0: not said */
    struct usher_text value; /* changes: for usher_notice_read(); nothing else is there */
};

struct usher_number_result {
    enum usher_number_state state; /* of the number, after the command */
    enum usher_number_why why;     /* empty and refused calls, else USHER_NUMBER_WHY_NONE */
    uint64_t token;                /* of the hold; `stale`: the current one */
    int64_t until_ms;
    /* Nothing gets free by itself before then: ask again; -1: nothing will.  (A number is free
     * then, unless more than 64 holds and rests end before that free none: of numbers not
     * registered, or that rest again.) */
    int64_t next_ms;
    uint64_t count; /* free, renew of a node, sweep: how many; drop: records erased */
    bool more;      /* free, renew of a node, sweep, list, drop: not all yet, ask again; changes:
                     * ask since the last row's version */
    size_t number_size;
    char number[USHER_NAME_MAX + 1]; /* NUL-terminated; list, renew of a node: where to go on, or
                                      * "" */
    uint64_t since;                  /* changes: the log reaches back to this version */
    size_t n_rows;                   /* show: 0 or 1; list; changes */
    const struct usher_number_result_row *rows; /* owned by the reply */
    union {
        struct usher_number_result_settings settings; /* set */
        struct usher_number_result_statistics stats;  /* stats */
    } of;
};

/* The answer to one command.  Filled by usher_operate(); give back what it owns with
 * usher_result_done(). */
struct usher_result {
    enum usher_status status;
    enum usher_noun noun; /* of the command: the member of `of`; 0: none that is known */
    bool repeated;        /* the kept answer of an earlier command with this request id */
    /* With `wait`: how many replicas are known to have what the scope was after it; 0 where a store
     * has none (memory, SQLite), or could not tell. */
    uint32_t replicas;
    uint64_t epoch;   /* 0: the scope does not exist */
    uint64_t version; /* after the command; of USHER_LOST: the last one known not to be lost */
    /* Nothing of the scope changes by itself before: a lease, a rest, an offer, a sign of life that
     * does not come, … ends then at the earliest.  A host sets its timer to it and sends a `sweep`
     * when it is there: that, like any command that writes, applies and tells what is due, and its
     * reply has the next one.  What was to end may have gone meanwhile: then the sweep is `same`.
     * USHER_NEVER: nothing ends; also of a scope that does not exist, and of a failure. */
    int64_t due_ms;
    union {
        struct usher_number_result number;
        struct usher_id_result id;
        struct usher_room_result room;
        struct usher_serial_result serial;
        struct usher_queue_result queue;
        struct usher_rooms_result rooms;
        uint64_t reserve[100];
    } of;
    char message[192]; /* one line, "" when there is nothing to say */
    void *block;       /* private */
    size_t block_size;
    const struct usher_allocator *alloc;
};

/**
 * Execute @n commands; @replies[i] answers @commands[i].  Commands on one scope are applied
 * in the order given.  Commands of several threads that wait at the same time share one
 * transaction (SQLite) or one pipeline (Redis).  Each command is atomic; the batch is not.
 *
 * All @n replies are always filled in.  Returns the worst of: USHER_OK (whatever the
 * replies say), USHER_INVALID (this call itself: NULL, @n of 0 or > USHER_BATCH_MAX, an
 * engine of the parent process; replies are then not touched),
 * USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_LOST, USHER_NOMEM when at least one reply says so.
 *
 * Blocks at most for the engine's timeout.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_operate(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *replies, size_t n);

/** Free what @reply owns (rows); the rest of it stays readable.  NULL is fine. */
USHER_API void usher_result_done(struct usher_result *reply);

/* ---- what is in results ---- */

/** Serial @i (from 0) of a reply to take, reserve or holds: at most @size bytes with a NUL.
 *  Returns its size without the NUL, like snprintf; 0: there is no such serial. */
USHER_API size_t usher_serial_text(const struct usher_result *reply, uint64_t i, char *to,
                                   size_t size);

/** Serials of @reply from serial @i on, as many as have room in @size bytes at @to, one behind the
 *  other and each with a NUL.  Returns how many; 0: there is no such serial, or no room for it
 *  (USHER_SERIAL_TEXT_MAX + 1 bytes are enough for one).  Much faster than one by one. */
USHER_API uint64_t usher_serial_texts(const struct usher_result *reply, uint64_t i, char *to,
                                      size_t size);

/** The rule in a reply to `rule` or `show`.  False: there is none. */
USHER_API bool usher_serial_form_of(const struct usher_result *reply,
                                    struct usher_serial_form *ret_form);

/**
 * The notice that the `value` of a row of `changes` is, of @scope of @noun.  Its texts point into
 * @value and @scope.  @epoch is that of the reply.  USHER_OK, USHER_INVALID.
 */
USHER_API enum usher_status usher_notice_read(enum usher_noun noun, const struct usher_text *scope,
                                              uint64_t epoch, const struct usher_text *value,
                                              struct usher_notice *ret_notice);

/** As usher_room_list() and usher_room_patrol(), with results: where to go on is of.room.name and
 *  of.room.created_ms; of.room.partial: not all was seen, and the result is to be read as any
 * other. */
USHER_API enum usher_status usher_room_list_result(struct usher_engine *e, const char *after,
                                                   int64_t created_ms, size_t max, int64_t now_ms,
                                                   struct usher_result *ret_result);
USHER_API enum usher_status usher_room_patrol_result(struct usher_engine *e, const char *worker,
                                                     size_t batch, int64_t every_ms,
                                                     int64_t lease_ms, int64_t now_ms,
                                                     struct usher_result *ret_result);

/**
 * The reply that @result is to @command, for who has both of usher_operate().  It owns all that it
 * says; usher_reply_done() frees it.  @result may be changed before, as by a program that goes on
 * with a command and adds up.  NULL: out of memory, NULL, or they do not belong together.
 *
 * Cost: as of an answer of usher_execute().  Threads: any.  Since 0.1.
 */
USHER_API struct usher_reply *usher_reply_of(const struct usher_operation *command,
                                             const struct usher_result *result);

#ifdef __cplusplus
}
#endif

#endif
