/* SPDX-License-Identifier: MIT */
/*
 * Operations and results: the commands that the engine gives to a store, and the answers that a
 * store fills in.  They MAY CHANGE in 0.x.  A program uses the calls of each noun, or values
 * (usher/command.h), from which operations are made.
 */
#ifndef USHER_STORE_OPERATION_H
#define USHER_STORE_OPERATION_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bits of usher_operation.given: the arguments of a command that are given.  A text is given if its
 * data is not NULL.  NOW is for all nouns; each noun has its own other bits.
 * src/core/NOUN_verbs.def describes the arguments and the verbs that take them.
 */
#define USHER_GIVEN_NOW (UINT64_C(1) << 63)

/* ---- arguments ---- */

/* clang-format off */
/* made by src/api/gen_fields.py: arguments of number */
enum usher_number_given {
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
    USHER_GIVEN_GAP = 1u << 22,
    USHER_GIVEN_LOG = 1u << 23,
    USHER_GIVEN_SINCE = 1u << 24,
    USHER_GIVEN_LEASE_MAX = 1u << 25,
    USHER_GIVEN_OUTAGE = 1u << 26,
    USHER_GIVEN_MODE = 1u << 27,
    USHER_GIVEN_PUSH = 1u << 28
};

struct usher_number_args {
    struct usher_text number; /* the number */
    struct usher_text owner; /* the holder: a call, a person */
    /* the group of the number: an area, a brand; or groups to try, in this order; * is any */
    struct usher_text group;
    struct usher_text sticky; /* the callee: prefer the number last used for it */
    struct usher_text after; /* continue after this one of the answer: a number or a token */
    uint64_t token; /* the token of the answer; if it is not current: stale */
    int64_t lease_ms; /* a hold expires after this time; 0: never */
    int64_t rest_ms; /* not handed out for this time after a call; 0: no rest */
    int64_t state; /* only numbers in this state; busy: both busy states */
    /* maximum rows or changes; a page ends after 256 records, a sweep after 64 changes */
    int64_t max;
    int64_t order; /* which number is taken first; numbers already idle at a change come before */
    /* maximum calls of a number in a local day; applies to all numbers at once; 0: no limit */
    int64_t daily;
    int64_t zone_min; /* local time, minutes east of UTC; 0: UTC */
    int64_t strict; /* 1: hangup needs the token */
    int64_t sticky_ms; /* how long the number of a callee is remembered */
    int64_t sticky_max; /* maximum callees remembered */
    int64_t requests; /* maximum results kept for request ids, each for less than an hour */
    /* the machine that carries the call; free, list, renew: all of its calls */
    struct usher_text node;
    int64_t all; /* every call of the pool */
    int64_t if_version; /* only if the scope has this version, else stale */
    struct usher_text epoch; /* only if the scope has this epoch, else stale */
    /* a number, even an idle one, rests until this long after its last call began; 0: no gap */
    int64_t gap_ms;
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    int64_t since; /* only changes after this version */
    /* a hold, also a current one, ends this long after it began despite renewals; 0: never */
    int64_t lease_max_ms;
    /* extend leases that end in an outage (no command for half this time) by it; 0: never */
    int64_t outage_ms;
    int64_t mode; /* closed or stopped: no new calls; those that hold a number keep it */
    int64_t push; /* 1: Redis publishes new versions, on the channel {POOL}:number */
    /* the reason of the mode, for people; another mode without one has none */
    struct usher_text reason;
    struct usher_text actor; /* the person or program that gives the command, for its notices */
};
/* end */
/* made by src/api/gen_fields.py: arguments of queue */
enum usher_queue_given {
    USHER_GIVEN_QUEUE_PRIORITY = 1u << 6,
    USHER_GIVEN_QUEUE_SINCE = 1u << 7,
    USHER_GIVEN_QUEUE_CAPACITY = 1u << 8,
    USHER_GIVEN_QUEUE_LEVEL = 1u << 9,
    USHER_GIVEN_QUEUE_TTL = 1u << 10,
    USHER_GIVEN_QUEUE_TRIGGER = 1u << 11,
    USHER_GIVEN_QUEUE_STRATEGY = 1u << 12,
    USHER_GIVEN_QUEUE_OFFER = 1u << 13,
    USHER_GIVEN_QUEUE_ASK_AGAIN = 1u << 14,
    USHER_GIVEN_QUEUE_WRAPUP = 1u << 15,
    USHER_GIVEN_QUEUE_LIMIT = 1u << 16,
    USHER_GIVEN_QUEUE_MAXWAIT = 1u << 17,
    USHER_GIVEN_QUEUE_GRACE = 1u << 18,
    USHER_GIVEN_QUEUE_REQUEUE = 1u << 19,
    USHER_GIVEN_QUEUE_HISTORY = 1u << 20,
    USHER_GIVEN_QUEUE_ZONE = 1u << 21,
    USHER_GIVEN_QUEUE_SERVICE = 1u << 22,
    USHER_GIVEN_QUEUE_REQUESTS = 1u << 23,
    USHER_GIVEN_QUEUE_MAX = 1u << 24,
    USHER_GIVEN_QUEUE_TOKEN = 1u << 25,
    USHER_GIVEN_QUEUE_STATE = 1u << 26,
    USHER_GIVEN_QUEUE_ARCHIVE = 1u << 27,
    USHER_GIVEN_QUEUE_UNTIL = 1u << 28,
    USHER_GIVEN_QUEUE_IF_VERSION = 1u << 29
};
#define USHER_GIVEN_QUEUE_LOG (UINT64_C(1) << 31)
#define USHER_GIVEN_QUEUE_SINCE_VERSION (UINT64_C(1) << 32)
#define USHER_GIVEN_QUEUE_STRICT (UINT64_C(1) << 34)
#define USHER_GIVEN_QUEUE_MODE (UINT64_C(1) << 35)
#define USHER_GIVEN_QUEUE_PUSH (UINT64_C(1) << 36)

struct usher_queue_args {
    struct usher_text agent; /* the agent that serves users */
    struct usher_text user; /* the user to be served */
    struct usher_text room; /* the room, as login returns it: EPOCH.LOGIN.N, or LOGIN.N */
    /* a kind of work; "default" if none is given; a queue has at most 1,000 */
    struct usher_text lane;
    /* lanes that the agent serves, at most 16, in any order; * or not given: all */
    struct usher_text lanes;
    struct usher_text after; /* continue where a page ended: its next */
    int64_t priority; /* larger is served first; users without one have 0 */
    /* arrival, which gives the position: not later than now; history: ended then or later */
    int64_t since_ms;
    int64_t capacity; /* number of rooms of the agent */
    int64_t level; /* for strategy=level: lower levels first */
    int64_t ttl_ms; /* an agent or user without a heartbeat for this time is removed; 0: never */
    /* when users and agents are matched: on arrival and idleness, by match, by pull */
    int64_t trigger;
    int64_t strategy; /* which of several open agents gets the user */
    int64_t offer_ms; /* an agent must accept within this time; 0: users are seated at once */
    /* an agent that rejected or missed a user is not offered it again before this time */
    int64_t again_ms;
    /* after a visit the agent gets no user for this time; 0: it gets one at once */
    int64_t wrapup_ms;
    int64_t limit; /* maximum users that wait or are away; 0: no limit */
    /* a user that has waited for this time leaves, but not during an offer; 0: never */
    int64_t maxwait_ms;
    /* a user without a heartbeat keeps its position for this time; 0: not at all */
    int64_t grace_ms;
    int64_t requeue; /* users of an agent that is gone wait again, or leave */
    /* maximum ended visits that the queue keeps, with archive=0, in addition to a history */
    int64_t history;
    int64_t zone_min; /* local time for daily statistics, minutes east of UTC; 0: UTC */
    int64_t service_ms; /* service level: share of users seated within this time */
    int64_t requests; /* maximum results kept for request ids */
    /* maximum rows or changes; a page ends after 256 records, a sweep after 64 changes */
    int64_t max;
    /* token of the login, visit or match, else stale; drain: visits up to this version */
    uint64_t token;
    int64_t state; /* users in this state instead of waiting ones */
    /* keep ended visits for a history; refuse users while this number of visits waits for it */
    int64_t archive;
    int64_t until_ms; /* visits that ended then or earlier */
    int64_t if_version; /* only if the scope has this version, else stale */
    struct usher_text epoch; /* only if the scope has this epoch, else stale */
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    int64_t since; /* only changes after this version */
    /* name of the agent's connection; a new one takes over, and gets a new token */
    struct usher_text session;
    int64_t strict; /* 1: commands about an agent, a user or a room need the token */
    /* closed: no new users, those that wait are served; stopped: none is served, either */
    int64_t mode;
    int64_t push; /* 1: Redis publishes new versions, on the channel {QUEUE}:queue */
    struct usher_text reason; /* for people: the reason of the mode, or of the pause */
    struct usher_text actor; /* the person or program that gives the command, for its notices */
};
/* end */
/* made by src/api/gen_fields.py: arguments of room */
enum usher_room_given {
    USHER_GIVEN_ROOM_AFTER = 1u << 8,
    USHER_GIVEN_ROOM_IF_VERSION = 1u << 9,
    USHER_GIVEN_ROOM_CAPACITY = 1u << 11,
    USHER_GIVEN_ROOM_LINGER = 1u << 12,
    USHER_GIVEN_ROOM_TTL = 1u << 13,
    USHER_GIVEN_ROOM_AWAY = 1u << 14,
    USHER_GIVEN_ROOM_GRACE = 1u << 15,
    USHER_GIVEN_ROOM_LOG = 1u << 16,
    USHER_GIVEN_ROOM_REQUESTS = 1u << 17,
    USHER_GIVEN_ROOM_BAN = 1u << 18,
    USHER_GIVEN_ROOM_SINCE = 1u << 19,
    USHER_GIVEN_ROOM_MAX = 1u << 20,
    USHER_GIVEN_ROOM_PRESENCE = 1u << 21,
    USHER_GIVEN_ROOM_PUSH = 1u << 22,
    USHER_GIVEN_ROOM_VERSIONS = 1u << 23
};

struct usher_room_args {
    struct usher_text member; /* a member of the room; or the member that gets the role; '': none */
    struct usher_text role; /* a role that one member at a time can have */
    struct usher_text share; /* an item that is shown to the others */
    struct usher_text field; /* the name of a field */
    struct usher_text value; /* any bytes */
    struct usher_text expected; /* only if the current value is this ('': no value), else stale */
    struct usher_text fields; /* any other key=value, up to 32 of them */
    int64_t after; /* continue where a page ended: its next */
    int64_t if_version; /* only if the scope has this version, else stale; only with epoch= */
    /* only if the room has this epoch, else stale; a room opened again has another one */
    struct usher_text epoch;
    int64_t capacity; /* maximum members; 0: no limit */
    int64_t linger_ms; /* an empty room closes after this time; 0: never */
    int64_t ttl_ms; /* a member without a heartbeat for this time is removed; 0: never */
    /* a member without a heartbeat for this time is away; 0, or not below ttl: never */
    int64_t away_ms;
    int64_t grace_ms; /* how long a member may still come back after ttl */
    int64_t log; /* maximum notices kept for changes */
    int64_t requests; /* maximum results kept for request ids */
    int64_t ban_ms; /* the member must not join for this time; 0: end its ban */
    int64_t since; /* only changes after this version */
    /* maximum rows or changes; a page: some 400 members or 256 notices, a sweep: 64 changes */
    int64_t max;
    /* coalesce joins and leaves for at most this time into one notice; 0: one by one */
    int64_t presence_ms;
    int64_t push; /* 1: Redis publishes new versions, on the channel {ROOM}:room */
    int64_t versions; /* 1: JSON also has all versions and own fields, the input of the digest */
    struct usher_text actor; /* the person or program that gives the command, for its notices */
};
/* end */
/* made by src/api/gen_fields.py: arguments of rooms */
enum usher_rooms_given {
    USHER_GIVEN_ROOMS_CREATED = 1u << 3,
    USHER_GIVEN_ROOMS_TOKEN = 1u << 4,
    USHER_GIVEN_ROOMS_MAX = 1u << 5,
    USHER_GIVEN_ROOMS_EVERY = 1u << 6,
    USHER_GIVEN_ROOMS_LEASE = 1u << 7,
    USHER_GIVEN_ROOMS_CLOSED = 1u << 8
};

struct usher_rooms_args {
    struct usher_text room;
    struct usher_text worker;
    struct usher_text after;
    int64_t created_ms;
    int64_t token;
    int64_t max;
    int64_t every_ms;
    int64_t lease_ms;
    int64_t closed;
};
/* end */
/* made by src/api/gen_fields.py: arguments of serial */
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
    USHER_GIVEN_SERIAL_IF_VERSION = 1u << 29
};
#define USHER_GIVEN_SERIAL_LOG (UINT64_C(1) << 31)
#define USHER_GIVEN_SERIAL_SINCE (UINT64_C(1) << 32)
#define USHER_GIVEN_SERIAL_MOST (UINT64_C(1) << 33)
#define USHER_GIVEN_SERIAL_DOUBT (UINT64_C(1) << 34)
#define USHER_GIVEN_SERIAL_BEFORE (UINT64_C(1) << 35)
#define USHER_GIVEN_SERIAL_PUSH (UINT64_C(1) << 37)

struct usher_serial_args {
    struct usher_text serial; /* the serial as printed */
    struct usher_text owner; /* the holder: an order, a person, a server */
    struct usher_text prefix; /* text before the date and number; up to 48 bytes, may be empty */
    struct usher_text suffix; /* text after the serial; up to 48 bytes, may be empty */
    struct usher_text date; /* date after the prefix: %Y %y %m %d %j %H %M %S %% and other text */
    int64_t width; /* minimum digits of the number, with leading zeroes; 0: as many as necessary */
    int64_t base; /* serial k has the number base + k * step */
    int64_t start; /* the first k */
    int64_t step; /* difference from one number to the next */
    int64_t radix; /* radix of the number; digits above 9 are capitals */
    int64_t check; /* check digit over the digits of date and number */
    int64_t max; /* the last k that may be made; setmaxcur: numbers up to this count as taken */
    int64_t critical; /* low-water mark: a take that leaves this stock or less refills it */
    int64_t batch; /* maximum numbers that one automatic refill makes */
    int64_t reset; /* k begins at start again with each of these periods */
    /* local time, minutes east of UTC; a change must not put the day back; 0: UTC */
    int64_t zone_min;
    int64_t stamp; /* the event that gives a serial its date */
    int64_t mode; /* made ahead, or reserved one by one without gaps */
    int64_t overflow; /* handling of numbers with more digits than width */
    /* a reservation expires after this time, and its number is issued again; 0: never */
    int64_t lease_ms;
    /* maximum results for request ids, and maximum ends of holds, that are kept */
    int64_t requests;
    int64_t n; /* how many */
    int64_t by; /* max grows by this number */
    uint64_t token; /* the token of reserve; if it is not current: stale */
    int64_t from; /* the previous maximum of the authority */
    int64_t to; /* the new maximum of the authority */
    int64_t period; /* the period of an answer to check: only if it is still this one, else stale */
    int64_t authority; /* 1: numbers are issued only if an authority has granted them */
    int64_t debt; /* 1: without the authority, while it cannot be reached */
    int64_t if_version; /* only if the scope has this version, else stale */
    struct usher_text epoch; /* only if the scope has this epoch, else stale */
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    int64_t since; /* only changes after this version */
    int64_t most; /* maximum notices; a page ends after 256 */
    int64_t doubt; /* 1: only numbers in doubt */
    int64_t before; /* with doubt=1: only numbers reserved at this version or before */
    struct usher_text after; /* continue where a page ended: its next */
    int64_t push; /* 1: Redis publishes new versions, on the channel {RULE}:serial */
    struct usher_text actor; /* the person or program that gives the command, for its notices */
};
/* end */
/* made by src/api/gen_fields.py: arguments of id */
enum usher_id_given {
    USHER_GIVEN_ID_FIRST = 1u << 0,
    USHER_GIVEN_ID_N = 1u << 1,
    USHER_GIVEN_ID_START = 1u << 2,
    USHER_GIVEN_ID_STEP = 1u << 3,
    USHER_GIVEN_ID_BY = 1u << 4,
    USHER_GIVEN_ID_TOKEN = 1u << 5,
    USHER_GIVEN_ID_LIMIT = 1u << 6,
    USHER_GIVEN_ID_STEP_MAX = 1u << 7,
    USHER_GIVEN_ID_LIFE = 1u << 8,
    USHER_GIVEN_ID_MANAGED = 1u << 9,
    USHER_GIVEN_ID_NEXT = 1u << 10,
    USHER_GIVEN_ID_MAX = 1u << 11,
    USHER_GIVEN_ID_REQUESTS = 1u << 12,
    USHER_GIVEN_ID_IF_VERSION = 1u << 13,
    USHER_GIVEN_ID_LOG = 1u << 15,
    USHER_GIVEN_ID_SINCE = 1u << 16,
    USHER_GIVEN_ID_MOST = 1u << 17
};

struct usher_id_args {
    int64_t first; /* the first id of the range */
    int64_t n; /* how many ids */
    int64_t start; /* the first id */
    int64_t step; /* number of ids of the first segment */
    /* difference from one id to the next; sites share one by=, each with its own start= */
    int64_t by;
    uint64_t token; /* the token of the answer; if it is not current: stale */
    int64_t limit; /* the largest id */
    int64_t step_max; /* the largest step */
    /* the step doubles if a segment lasts less, halves if twice as long; 0: it is fixed */
    int64_t life_ms;
    int64_t managed; /* 1: segments come from an authority, or by install */
    int64_t next; /* skip the ids below this one; the counter never goes back */
    /* max of the current segment, as show returns it; not given: there is no segment */
    int64_t max;
    int64_t requests; /* maximum results kept for request ids */
    int64_t if_version; /* only if the scope has this version, else stale */
    struct usher_text epoch; /* only if the scope has this epoch, else stale */
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    int64_t since; /* only changes after this version */
    int64_t most; /* maximum notices; a page ends after 256 */
};
/* end */
/* made by src/api/gen_fields.py: arguments of store */
enum usher_store_given {
    USHER_GIVEN_STORE_NOUN = 1u << 0,
    USHER_GIVEN_STORE_CREATED = 1u << 2,
    USHER_GIVEN_STORE_MAX = 1u << 3,
    USHER_GIVEN_STORE_BATCH = 1u << 5,
    USHER_GIVEN_STORE_EVERY = 1u << 6,
    USHER_GIVEN_STORE_LEASE = 1u << 7,
    USHER_GIVEN_STORE_SINCE = 1u << 10
};

struct usher_store_args {
    int64_t noun; /* only scopes of this noun */
    struct usher_text after; /* continue where a page ended: its next */
    int64_t created_ms; /* with after=: the time of opening of that room, from the page */
    int64_t max; /* maximum rows; not given: 100; a page of rooms ends after 256 */
    /* the worker that gets the rooms; its next patrol means that they are done */
    struct usher_text worker;
    int64_t batch; /* maximum rooms; not given: 100 */
    /* a room is due again this long after it was handed out; not given: a minute */
    int64_t every_ms;
    /* or this long after it, if the worker does not call again; not given: 30 s */
    int64_t lease_ms;
    struct usher_text rule; /* the rule */
    struct usher_text name; /* the scope */
    int64_t since; /* rows after this one: `next` of the page before */
};
/* end */
/* clang-format on */

/* ---- queues ---- */

/* clang-format off */
/* made by src/api/gen_fields.py: settings of queue */
struct usher_queue_result_settings {
    /* an agent or user without a heartbeat for this time is removed; 0: never; default 15,000 */
    int64_t ttl_ms;
    int64_t trigger; /* enum usher_queue_trigger */
    int64_t strategy; /* enum usher_queue_strategy */
    int64_t offer_ms; /* an agent must accept within this time; 0: users are seated at once */
    /* after a visit the agent gets no user for this time; 0: it gets one at once */
    int64_t wrapup_ms;
    int64_t limit; /* maximum users that wait or are away; 0: no limit */
    /* a user that has waited for this time leaves, but not during an offer; 0: never */
    int64_t maxwait_ms;
    /* a user without a heartbeat keeps its position for this time; 0: not at all */
    int64_t grace_ms;
    int64_t requeue; /* enum usher_queue_requeue */
    /* maximum ended visits that the queue keeps, with archive=0, in addition to a history;
     * default 1,000 */
    int64_t history;
    int64_t zone_min; /* local time for daily statistics, minutes east of UTC; 0: UTC */
    int64_t service_ms; /* service level: share of users seated within this time; default 20,000 */
    int64_t requests; /* maximum results kept for request ids; default 10,000 */
    /* keep ended visits for a history; refuse users while this number of visits waits for it */
    int64_t archive;
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    /* an agent that rejected or missed a user is not offered it again before this time; default
     * 5,000 */
    int64_t again_ms;
    int64_t strict; /* 1: commands about an agent, a user or a room need the token */
    int64_t mode; /* enum usher_scope_mode */
    int64_t push; /* 1: Redis publishes new versions, on the channel {QUEUE}:queue */
};
/* end */
/* clang-format on */

struct usher_queue_result_statistics {
    int64_t waiting, away, offered, seated;              /* users now */
    int64_t agents, idle, ringing, busy, wrapup, paused; /* agents now, of a lane those that serve
                                                          * it; ringing: offered */
    int64_t longest_wait_ms;  /* of the user that has waited longest, see usher_queue_stats();
                               * 0: no user waits */
    int64_t longest_since_ms; /* since the arrival of the user that came first; 0: no user waits */
    int64_t seated_today;     /* users put into rooms since local midnight */
    int64_t abandoned_today;  /* users that left or were lost before that */
    int64_t timeout_today;    /* users that waited for maxwait */
    int64_t finished_today;   /* stays in a room that ended */
    int64_t service_level;    /* of 10,000 today, those seated within service_ms: within_today ÷
                               * (seated_today + abandoned_today + timeout_today -
                               * abandoned_within_today); -1: none yet */
    int64_t wait_ms;          /* mean from apply, or from the loss of the agent, to the room, of
                               * those seated today; -1: none yet */
    int64_t talk_ms;          /* mean from room to end, of those finished today; -1: none yet */
    int64_t dropped_today;    /* of those finished: their agent was gone, with requeue=drop */
    int64_t visits;           /* ended visits that the queue keeps; with `archive`, those that are
                               * in no history yet */
    int64_t mode;             /* enum usher_scope_mode */
    int64_t arrived_today;    /* users that applied */
    int64_t within_today;     /* of those seated, within service_ms */
    int64_t abandoned_within_today; /* of those abandoned, within service_ms */
    int64_t service_seated;         /* of 10,000 seated today, those within service_ms; -1: none */
    /* since the queue or lane was created; they never fall while the queue has its epoch */
    int64_t arrived_total, seated_total, within_total, abandoned_total, abandoned_within_total;
    int64_t timeout_total, finished_total, dropped_total;
    int64_t wait_total_ms; /* sum of the waits of those seated */
    int64_t talk_total_ms; /* sum of the times in rooms of those finished */
};

/*
 * One row.  matched: user, agent, room.  room: a room and its user.  list: a user.
 * agents: an agent.  history, drain: an ended visit.  Members that do not apply are 0 or empty.
 */
struct usher_queue_result_row {
    struct usher_text user, agent, lane;
    struct usher_text lanes; /* of an agent: "A,B" or "*"; room, alive: in the first row */
    uint64_t epoch;          /* history: of the queue, if it was another one; 0: the reply's */
    uint64_t login;          /* the room is "EPOCH.LOGIN.NO", if no != 0 */
    int64_t no;
    int state; /* of the user or the agent; history: enum usher_queue_outcome */
    int64_t priority;
    int64_t since_ms;   /* arrival, which gives the position; agent: login */
    int64_t applied_ms; /* start of the current or last wait: apply, or its return from a room */
    int64_t matched_ms; /* time of the offer or room; agent: start of its state */
    int64_t until_ms;   /* nearest deadline, 0: none; history: the end */
    int64_t wait_ms;    /* history: from applied_ms to the room, or to the end without one */
    int64_t talk_ms;    /* history: in the room */
    int64_t capacity, used, served, level; /* of an agent */
    uint64_t version;                      /* history, drain: of the end of the visit */
    uint64_t token;                        /* version of the match, which finish takes */
    struct usher_text value; /* changes: for usher_notice_read(); the only member that is set */
};

struct usher_queue_result {
    enum usher_queue_agent_state state; /* of the agent, after the command */
    enum usher_queue_place place;       /* of the user, after the command */
    enum usher_queue_why why;
    bool more;       /* not complete: more rows or more to do; changes: continue after the last
                      * row's version */
    int64_t index;   /* users ahead in the lane; -1: does not wait */
    int64_t wait_ms; /* estimate; -1: unknown */
    int64_t
        until_ms; /* end of the offer; room, alive: of the wrap-up; with `outcome`: of the visit */
    uint64_t token; /* version of the match; finish takes it */
    uint64_t login; /* the room, or 0 */
    int64_t no;     /* number of the room of that login; login …: the number of rooms */
    uint64_t count; /* sweep: expired; free: users freed; drain: visits removed; drop: records
                     * erased */
    size_t user_size;
    char user[USHER_NAME_MAX + 1];
    size_t agent_size; /* list, agents, history: the end of the page instead */
    char agent[USHER_NAME_MAX + 1];
    int64_t since_ms;                 /* where, alive: arrival, which gives the position */
    int64_t waiting;                  /* where, alive: waiting users in the lane */
    enum usher_queue_outcome outcome; /* where, alive, leave: of the last visit, if it has ended */
    uint64_t since;                   /* changes: the log reaches back to this version */
    size_t n_rows;
    const struct usher_queue_result_row *rows; /* owned by the reply */
    union {
        struct usher_queue_result_settings settings; /* set */
        struct usher_queue_result_statistics stats;  /* stats */
    } of;
};

/* ---- rooms ---- */

/* clang-format off */
/* made by src/api/gen_fields.py: settings of room */
struct usher_room_result_settings {
    int64_t capacity; /* maximum members; 0: no limit */
    int64_t linger_ms; /* an empty room closes after this time; 0: never */
    int64_t ttl_ms; /* a member without a heartbeat for this time is removed; 0: never */
    /* a member without a heartbeat for this time is away; 0, or not below ttl: never */
    int64_t away_ms;
    int64_t grace_ms; /* how long a member may still come back after ttl */
    int64_t log; /* maximum notices kept for changes; default USHER_ROOM_LOG_DEFAULT */
    int64_t requests; /* maximum results kept for request ids; default 10,000 */
    /* coalesce joins and leaves for at most this time into one notice; 0: one by one */
    int64_t presence_ms;
    int64_t push; /* 1: Redis publishes new versions, on the channel {ROOM}:room */
};
/* end */
/* clang-format on */

struct usher_room_result_row {
    int kind;  /* enum usher_room_row_kind */
    int state; /* enum usher_room_member_state */
    struct usher_text id, owner;
    struct usher_text value;
    uint64_t version; /* at which it was set, joined, given or created */
    int64_t since_ms, seen_ms;
};

/* Statistics, with all due expiries applied. */
struct usher_room_result_statistics {
    int64_t capacity;      /* maximum members; 0: no limit */
    int64_t roles, shares; /* that members have */
    /* over the life of the room */
    int64_t joined_total, left_total, lost_total, kicked_total, changes_total;
};

struct usher_room_result {
    enum usher_room_state state; /* of the room, after the command */
    enum usher_room_member_state member_state;
    uint64_t members; /* number of members: here, away or offline */
    uint64_t count;   /* sweep, close: number of changes; changes: notices that the log still has */
    uint64_t since;   /* changes: the log starts after this version; alive: the latest version that
                       * watchers of this engine received; snapshot: the end of the page */
    uint64_t mark;    /* alive: at `since`; changes, snapshot: at the reply's version; see below */
    int64_t until_ms; /* join, alive: next deadline, 0: none; refused: end of the ban */
    int64_t created_ms;
    bool more;    /* continue: snapshot after `since`, changes after the last row's version */
    bool partial; /* list, patrol: a part of the store did not answer; the rows are those of others
                   */
    size_t name_size;
    char name[USHER_NAME_MAX + 1]; /* member, holder, share */
    size_t n_rows;
    const struct usher_room_result_row
        *rows; /* owned by the reply; `stale`: the current value, if any */
    struct usher_room_result_settings settings; /* open, show */
    struct usher_room_result_statistics stats;
};

/* The room directory: commands that the engine itself executes (src/nouns/room/room_directory.c).
 */
enum usher_rooms_state {
    USHER_ROOMS_OPENING = 1,
    USHER_ROOMS_OPEN = 2,
    USHER_ROOMS_DOUBTED = 3, /* OPENING, and a client has found no such room since */
    USHER_ROOMS_CLOSED = 4,  /* there is no such room, but bans of its name */
    USHER_ROOMS_STATE__WIDE = 0x7fffffff
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

/* Consecutive numbers, or one of a gap-free rule, or several of them that are lost. */
struct usher_serial_result_row {
    int64_t first, n; /* first … first + n - 1, all printed with the date of at_ms */
    int64_t at_ms;
    uint64_t token;
    int64_t until_ms;
    enum usher_serial_state state;
    struct usher_text owner;
    struct usher_text format; /* for usher_serial_text() */
    struct usher_text value;  /* changes: for usher_notice_read(); the only member that is set */
};

/* clang-format off */
/* made by src/api/gen_fields.py: settings of serial */
struct usher_serial_result_settings {
    int64_t start; /* the first k; default 1 */
    int64_t critical; /* low-water mark: a take that leaves this stock or less refills it */
    int64_t batch; /* maximum numbers that one automatic refill makes; default 1,000 */
    int64_t reset; /* enum usher_serial_reset */
    int64_t stamp; /* enum usher_serial_stamp */
    int64_t mode; /* enum usher_serial_mode */
    /* a reservation expires after this time, and its number is issued again; 0: never; default
     * 300,000 */
    int64_t lease_ms;
    /* maximum results for request ids, and maximum ends of holds, that are kept; default 10,000 */
    int64_t requests;
    int64_t authority; /* 1: numbers are issued only if an authority has granted them */
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    int64_t push; /* 1: Redis publishes new versions, on the channel {RULE}:serial */
    int64_t made; /* numbers were made */
};
/* end */
/* clang-format on */

struct usher_serial_stock {
    int64_t available; /* made and not taken */
    int64_t recent;    /* taken in the last half hour, to five minutes */
    int64_t longterm;  /* taken in the last hour */
    int64_t critical, batch;
    int64_t target;         /* stock that a tick would make */
    int64_t held, returned; /* of a gap-free rule */
    int64_t taken;          /* the highest number that was ever issued */
    int64_t debt;  /* last number that may be issued before the authority grants it; 0: none */
    int64_t doubt; /* of a gap-free rule: USHER_SERIAL_STATE_DOUBT */
};

/* A page of holds. */
struct usher_serial_page {
    size_t next_size;
    char next[USHER_NAME_MAX + 1]; /* NUL-terminated; the end of the page, or "" */
};

struct usher_serial_parts {
    int64_t number, value;      /* k, and base + k * step */
    int64_t date_at, date_size; /* in the serial */
    int64_t check;              /* the character, 0: none */
};

struct usher_serial_result {
    enum usher_serial_why why;
    int64_t count;    /* take: serials taken; fill, tick: made; sweep: expired */
    int64_t left;     /* numbers that may still be made */
    int64_t cur, max; /* the last one made; the last one allowed */
    int64_t granted;  /* by the authority */
    int64_t period;
    uint64_t token;
    int64_t until_ms;
    bool more;      /* sweep: not complete, repeat; holds: continue after of.page.next; changes:
                     * continue after the last row's version */
    uint64_t since; /* changes: the log starts after this version */
    size_t n_rows;
    const struct usher_serial_result_row *rows; /* owned by the reply */
    union {
        struct usher_serial_result_settings settings; /* rule, show */
        struct usher_serial_stock stock;              /* check */
        struct usher_serial_parts parts;              /* parse */
        struct usher_serial_page page;                /* holds */
    } of;
};

/* A whole rule.  `usher help serial rule` describes the fields. */
struct usher_serial_form {
    char prefix[USHER_SERIAL_AFFIX_MAX + 1], suffix[USHER_SERIAL_AFFIX_MAX + 1];
    char date[USHER_SERIAL_AFFIX_MAX + 1]; /* of %Y %y %m %d %j %H %M %S %% and other text */
    int64_t width;    /* minimum digits, with leading zeroes; 0: as many as necessary */
    int64_t base;     /* from 0 */
    int64_t start;    /* the first k, from 1; default 1 */
    int64_t step;     /* 1 to USHER_SERIAL_STEP_MAX; default 1 */
    int64_t radix;    /* 10 to 36, capitals; default 10 */
    int64_t check;    /* enum usher_serial_check_digit: over the digits of date and number */
    int64_t overflow; /* enum usher_serial_overflow */
    int64_t max;      /* the last k that may be made; default 2^63 - 1 */
    /* Refill: a take that leaves at most `critical` in stock refills it to critical + f, at most
     * `batch` at a time, where f = takes of the last 30 minutes + their growth over the 30 minutes
     * before, at least 1.  tick does the same.  Defaults 0, 1000. */
    int64_t critical, batch;
    int64_t reset;     /* enum usher_serial_reset */
    int64_t zone_min;  /* local time, minutes east of UTC; after a change of the zone the serials in
                        * stock get the date of the change (stamp) */
    int64_t stamp;     /* enum usher_serial_stamp */
    int64_t mode;      /* enum usher_serial_mode */
    int64_t lease_ms;  /* default lease of a reservation; 0: no expiry; default five minutes */
    int64_t requests;  /* maximum results kept for request ids, and maximum ends of holds remembered
                        * (USHER_SERIAL_STATE_PAST); default 10,000 */
    int64_t authority; /* 1: numbers are issued only if an authority has granted them */
    int64_t log;       /* notices kept for `changes`; default 0 */
    int64_t push;      /* 1: Redis publishes new versions */
};

/* Bits of @given for the texts of a form; numbers: USHER_GIVEN_SERIAL_…. */
#define USHER_GIVEN_SERIAL_PREFIX (1u << 2)
#define USHER_GIVEN_SERIAL_SUFFIX (1u << 3)
#define USHER_GIVEN_SERIAL_DATE (1u << 4)

/* ---- ids ---- */

/* clang-format off */
/* made by src/api/gen_fields.py: settings of id */
struct usher_id_result_settings {
    int64_t start; /* the first id; default 1 */
    int64_t step; /* number of ids of the first segment; default USHER_ID_STEP_DEFAULT */
    /* difference from one id to the next; sites share one by=, each with its own start=; default
     * 1 */
    int64_t by;
    int64_t limit; /* the largest id; default USHER_ID_LIMIT_MAX */
    int64_t step_max; /* the largest step; default 1,000,000 */
    /* the step doubles if a segment lasts less, halves if twice as long; 0: it is fixed */
    int64_t life_ms;
    int64_t managed; /* 1: segments come from an authority, or by install */
    int64_t requests; /* maximum results kept for request ids; default 10,000 */
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    enum usher_id_why why; /* reason of a refusal */
};
/* end */
/* clang-format on */

/* Result of `show`, or a notice of `changes`. */
struct usher_id_result_row {
    int64_t next; /* -1: the limit is reached */
    int64_t max;  /* upper bound of the ids of the current segment; -1: there is no segment */
    int64_t step; /* of the segment after it */
    int64_t start, by, limit;
    int64_t issued;    /* ids issued and not returned */
    int64_t segments;  /* number of segments until now */
    int64_t began_ms;  /* start of the current segment */
    int64_t lasted_ms; /* life of the previous segment */
    int64_t managed;
    struct usher_text value; /* changes: for usher_notice_read(); the only member that is set */
};

struct usher_id_result {
    int64_t first, n; /* next: first, first + by, …; `full`: the n ids that are left from `first`
                       * on. return, install: the same of the arguments */
    int64_t next, max, step, by; /* as in the row */
    uint64_t token;              /* next: of the range, for return; `stale`: the current one */
    bool more;                   /* changes: continue after the last row's version */
    uint64_t since;              /* changes: the log starts after this version */
    size_t n_rows;
    const struct usher_id_result_row *rows; /* owned by the reply */
    union {
        struct usher_id_result_settings settings; /* create, set */
    } of;
};

/* ---- the store as a whole ---- */

/* One row.  scopes, lists of rooms and of rules: a name with details.  journal: an event. */
struct usher_store_result_row {
    struct usher_text name;  /* scopes: "number/sales" */
    uint64_t epoch, version; /* scopes, journal */
    int64_t due_ms, items;   /* scopes */
    int64_t since_ms;        /* rooms: time of opening */
    uint64_t row;            /* journal: this and the next are of struct usher_authority_event */
    int64_t time_ms;
    int verb; /* enum usher_verb */
    int64_t first, n, period;
    struct usher_text serial, owner;
    bool twice;
};

struct usher_store_result {
    bool more;
    bool
        partial; /* scopes, rooms: a part of the store did not answer; the rows are of the others */
    int64_t created_ms;
    uint64_t next; /* journal: the last row */
    size_t after_size;
    char after[USHER_NAME_MAX + 17]; /* scopes, room list: the end of the page */
    size_t digest_size;
    char digest[33];
    size_t n_rows;
    const struct usher_store_result_row *rows; /* owned by the reply */
};

/* ---- one of each ---- */

/* One command.  Zero it first; a member that is zero is not given. */
struct usher_operation {
    enum usher_verb verb;
    uint64_t given; /* USHER_GIVEN_… */
    struct usher_text scope;
    struct usher_text request; /* request id: a repeat returns the first answer; another verb, or
                                * other arguments, under the same id are invalid */
    int64_t now_ms;            /* with USHER_GIVEN_NOW */
    /* After the command, wait until this number of replicas of the store have it.  The wait ends
     * when only a tenth of the time is left (0.12 s at least, half at most), so that the answer is
     * back before the deadline: compare `replicas` of the reply.  At most USHER_WAIT_MAX; 0: do not
     * wait.  Commands without a wait are not delayed. */
    uint32_t wait;
    union {
        struct usher_number_args number;
        struct usher_id_args id;
        struct usher_room_args room;
        struct usher_serial_args serial;
        struct usher_queue_args queue;
        struct usher_rooms_args rooms;
        struct usher_store_args store;
        uint64_t reserve[40]; /* so that later nouns do not change the size */
    } arg;
};

/* clang-format off */
/* made by src/api/gen_fields.py: settings of number */
struct usher_number_result_settings {
    int64_t order; /* enum usher_number_order */
    int64_t lease_ms; /* a hold expires after this time; 0: never */
    int64_t rest_ms; /* not handed out for this time after a call; 0: no rest */
    /* maximum calls of a number in a local day; applies to all numbers at once; 0: no limit */
    int64_t daily;
    int64_t zone_min; /* local time, minutes east of UTC; 0: UTC */
    int64_t strict; /* 1: hangup needs the token */
    int64_t sticky_ms; /* how long the number of a callee is remembered; default 604,800,000 */
    int64_t sticky_max; /* maximum callees remembered; default 10,000 */
    /* maximum results kept for request ids, each for less than an hour; default 10,000 */
    int64_t requests;
    /* a number, even an idle one, rests until this long after its last call began; 0: no gap */
    int64_t gap_ms;
    int64_t log; /* maximum notices kept for changes and watch; 0: no log */
    /* a hold, also a current one, ends this long after it began despite renewals; 0: never */
    int64_t lease_max_ms;
    /* extend leases that end in an outage (no command for half this time) by it; 0: never */
    int64_t outage_ms;
    int64_t mode; /* enum usher_scope_mode */
    int64_t push; /* 1: Redis publishes new versions, on the channel {POOL}:number */
};
/* end */
/* clang-format on */

/* Statistics, with all due expiries applied. */
struct usher_number_result_statistics {
    int64_t total, idle_up, idle_down, busy_up, busy_down;
    int64_t resting;         /* of idle_up */
    int64_t calls_today;     /* numbers handed out since local midnight */
    int64_t refused_today;   /* calls answered `empty` or `refused` since then */
    int64_t longest_hold_ms; /* age of the oldest hold, 0 without holds */
    int64_t capped;          /* of idle_up: over their daily cap */
    int64_t mode;            /* enum usher_scope_mode */
    /* over the life of the pool; hangups_total, expired_total and freed_total are ends of holds */
    int64_t calls_total, refused_total, hangups_total, expired_total, freed_total;
};

struct usher_number_result_row {
    struct usher_text number, group, owner; /* size 0: none */
    enum usher_number_state state;
    bool resting;
    uint64_t token;   /* of the current or the last hold, 0: never held */
    int64_t until_ms; /* busy: end of the hold; idle: end of the rest; 0: none */
    int64_t calls_today;
    int64_t used_ms;         /* start of the last call, 0: never */
    bool capped;             /* idle+up, and over its daily cap */
    int64_t age_ms;          /* busy: age of the hold, else 0 */
    struct usher_text node;  /* busy: the machine that carries the call, size 0: not given */
    struct usher_text value; /* changes: for usher_notice_read(); the only member that is set */
};

struct usher_number_result {
    enum usher_number_state state; /* of the number, after the command */
    enum usher_number_why why;     /* empty and refused calls, else USHER_NUMBER_WHY_NONE */
    uint64_t token;                /* of the hold; `stale`: 0, see the row */
    int64_t until_ms;
    /* Before this time no number becomes free by an expiry; -1: none will.  At this time one is
     * free if at most 64 holds and rests end before it and no other command comes between. */
    int64_t next_ms;
    uint64_t count; /* free, renew of a node, sweep: number of changes; drop: records erased */
    bool more;      /* free, renew of a node, sweep, list, drop: not complete, repeat; changes:
                     * continue after the last row's version; stats: a changed setting is not yet
                     * applied to all numbers */
    size_t number_size;
    char number[USHER_NAME_MAX + 1]; /* NUL-terminated; list, renew of a node: the end of the page,
                                      * or "" */
    uint64_t since;                  /* changes: the log starts after this version */
    size_t n_rows; /* show: 0 or 1; list; changes; `stale`: 1, its owner and deadline */
    const struct usher_number_result_row *rows; /* owned by the reply */
    union {
        struct usher_number_result_settings settings; /* set */
        struct usher_number_result_statistics stats;  /* stats */
    } of;
};

/* The answer to one command.  Filled by usher_operate(); release it with usher_result_done(). */
struct usher_result {
    enum usher_status status;
    enum usher_noun noun; /* of the command: the member of `of`; 0: unknown */
    bool repeated;        /* cached result of an earlier command with this request id */
    /* With `wait`: number of replicas that are known to have the scope as it was after the command;
     * 0 if a store has none (memory, SQLite), or if the number is unknown. */
    uint32_t replicas;
    uint64_t epoch;   /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    /* Nothing in the scope expires before this time: the earliest end of a lease, a rest, an offer,
     * a heartbeat timeout, ….  A host sets a timer to it and sends a `sweep` then.  That applies
     * the due expiries with their notices, like any command that writes, and its reply has the
     * next time.  If no expiry is left by then, the sweep is `same`.  USHER_NEVER: nothing expires;
     * also for a scope that does not exist, and for a failure. */
    int64_t due_ms;
    /* The store's clock at the answer, or `now` of the command if that is earlier.  due_ms is by
     * the same clock: a host, whose own clock may differ, waits for due_ms - now_ms, and 1 ms at
     * least.  0 for a failure. */
    int64_t now_ms;
    union {
        struct usher_number_result number;
        struct usher_id_result id;
        struct usher_room_result room;
        struct usher_serial_result serial;
        struct usher_queue_result queue;
        struct usher_rooms_result rooms;
        struct usher_store_result store;
        uint64_t reserve[100];
    } of;
    char message[192]; /* one line, or "" */
    void *block;       /* private */
    size_t block_size;
    const struct usher_allocator *alloc;
};

/**
 * Execute @n commands; @replies[i] answers @commands[i].  Commands on one scope are applied
 * in the order given.  Commands of several threads that wait at the same time share one
 * transaction (SQLite) or one pipeline (Redis).  Each command is atomic; the batch is not.
 *
 * All @n replies are always filled in.  Returns the worst of: USHER_OK (for all other statuses of
 * replies), USHER_INVALID (this call itself: NULL, @n of 0 or > USHER_BATCH_MAX, an engine of the
 * parent process; replies are then not touched), USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_LOST,
 * USHER_NOMEM if at least one reply has it.
 *
 * Blocks at most for the engine's timeout.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_operate(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *replies, size_t n);

/** Free the rows that @reply owns; the rest of it stays readable.  NULL is allowed. */
USHER_API void usher_result_done(struct usher_result *reply);

/* ---- contents of results ---- */

/** Write serial @i (from 0) of a reply to take, reserve or holds: at most @size bytes with a NUL.
 *  Returns its size without the NUL, like snprintf; 0: there is no such serial. */
USHER_API size_t usher_serial_text(const struct usher_result *reply, uint64_t i, char *to,
                                   size_t size);

/** Write the serials of @reply from serial @i on, as many as fit into @size bytes at @to, one after
 *  the other and each with a NUL.  Returns their number; 0: there is no such serial, or it does not
 *  fit (USHER_SERIAL_TEXT_MAX + 1 bytes are enough for one).  Much faster than one by one. */
USHER_API uint64_t usher_serial_texts(const struct usher_result *reply, uint64_t i, char *to,
                                      size_t size);

/** Read the rule in a reply to `rule` or `show`.  False: there is none. */
USHER_API bool usher_serial_form_of(const struct usher_result *reply,
                                    struct usher_serial_form *ret_form);

/**
 * Make a reply of @result and its @command, both of usher_operate().  The reply owns its contents;
 * usher_reply_done() frees it.  @result may be changed before, such as by a program that continues
 * a command and adds up its counts.  NULL: out of memory, an argument is NULL, or they do not
 * belong together.
 *
 * Cost: that of an answer of usher_execute().  Threads: any.  Since 0.1.
 */
USHER_API struct usher_reply *usher_reply_of(const struct usher_operation *command,
                                             const struct usher_result *result);

#ifdef __cplusplus
}
#endif

#endif
