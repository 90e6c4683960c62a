/* SPDX-License-Identifier: MIT */
/*
 * Queues: people ("users") who wait for somebody who serves them ("agents").
 *
 * An agent logs in and owns rooms, `capacity` of them, each for one user at a time; they
 * come and go with the agent.  A user applies, and sits in a room at once if there is one
 * for it, else waits.  Both say that they are alive: who has not done so for `ttl` is gone.
 * This header is a part of usher.h and brings all of that.
 *
 * Who is matched with whom
 *  - A user waits in one lane (a kind of work; "default" if it names none).  An agent serves
 *    a list of lanes, or all of them.
 *  - Users of a lane go by priority, larger first, then by arrival: `since`, which is the
 *    time of apply unless it is given, then the version of apply.  They keep this place
 *    until they leave, also through offers and through the loss of an agent.
 *  - An agent is open while it has a free room, is not paused or asked to pause, and is not
 *    in wrap-up.  One that becomes open takes the best user among its lanes.  A user who
 *    arrives or comes back takes the best open agent of its lane, by `strategy`.
 *  - Nobody is matched who is due to be gone.
 */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one in its place */
#elif !defined USHER_QUEUE_H
#define USHER_QUEUE_H

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_QUEUE_CAPACITY_MAX 32   /* rooms of an agent */
#define USHER_QUEUE_PRIORITY_MAX 1000 /* of a user */
#define USHER_QUEUE_LANES_MAX \
    1000 /* lanes of a queue: with users, named by an agent, or with figures of today */
#define USHER_QUEUE_REJECTS_MAX 16 /* agents that a user remembers to have refused or missed it */
#define USHER_QUEUE_PATIENCE_LEFT                                  \
    10000 /* ms that who waits again after a room does so at least \
           */
#define USHER_QUEUE_TIME_MAX INT64_C(8796093022207) /* 2^43 - 1: the year 2248 */

/* Codes are stored. */
enum usher_queue_agent_state {
    USHER_QUEUE_AGENT_GONE = 0,
    USHER_QUEUE_AGENT_IDLE = 1,    /* nobody in its rooms */
    USHER_QUEUE_AGENT_OFFERED = 2, /* somebody is offered, nobody seated */
    USHER_QUEUE_AGENT_BUSY = 3,    /* somebody is seated */
    USHER_QUEUE_AGENT_WRAPUP = 4,  /* nobody in its rooms, and nobody will be for a while */
    USHER_QUEUE_AGENT_PAUSED = 5,
    USHER_QUEUE_AGENT_PAUSING =
        6, /* only told: offered or busy, and paused once its rooms are empty */
    USHER_QUEUE_AGENT_STATE__WIDE = 0x7fffffff
};

enum usher_queue_user_state {
    USHER_QUEUE_USER_GONE = 0,
    USHER_QUEUE_USER_WAITING = 1,
    USHER_QUEUE_USER_OFFERED = 2, /* a room is kept for it until the agent accepts */
    USHER_QUEUE_USER_SEATED = 3,
    USHER_QUEUE_USER_AWAY = 4, /* dropped while waiting; keeps its place for `grace` */
    USHER_QUEUE_USER_STATE__WIDE = 0x7fffffff
};

/* Where a user is. */
enum usher_queue_place {
    USHER_QUEUE_PLACE_NONE = 0,
    USHER_QUEUE_PLACE_ROOM = 1,
    USHER_QUEUE_PLACE_OFFER = 2,
    USHER_QUEUE_PLACE_QUEUE = 3,
    USHER_QUEUE_PLACE_AWAY = 4,
    USHER_QUEUE_PLACE__WIDE = 0x7fffffff
};

enum usher_queue_why {
    USHER_QUEUE_WHY_NONE = 0,
    USHER_QUEUE_WHY_NO_AGENT = 1, /* apply: nobody is logged in who serves the lane */
    USHER_QUEUE_WHY_NO_USER = 2,  /* pull: nobody waits whom this agent may have */
    USHER_QUEUE_WHY_HISTORY = 3,  /* apply: `archive` ended visits wait for a history */
    USHER_QUEUE_WHY_DUE = 4,      /* of a store: nothing was done, for more deadlines were due than
                                   * one command applies; an engine sends it again until it is done */
    USHER_QUEUE_WHY__WIDE = 0x7fffffff
};

enum usher_queue_trigger {
    USHER_QUEUE_TRIGGER_AUTO = 1,  /* on arrival and as soon as an agent is open */
    USHER_QUEUE_TRIGGER_TIMER = 2, /* by `match` only */
    USHER_QUEUE_TRIGGER_PULL = 3,  /* by `pull` only */
    USHER_QUEUE_TRIGGER__WIDE = 0x7fffffff
};

enum usher_queue_strategy {
    USHER_QUEUE_STRATEGY_LONGEST_IDLE = 1,  /* idle ones before those with a user, then since when
                                             * they are open */
    USHER_QUEUE_STRATEGY_ROUND_ROBIN = 2,   /* whose last match is the longest ago */
    USHER_QUEUE_STRATEGY_FEWEST_SERVED = 3, /* users seated since login */
    USHER_QUEUE_STRATEGY_LEAST_BUSY = 4,    /* rooms in use */
    USHER_QUEUE_STRATEGY_LEVEL = 5,         /* lower level first */
    USHER_QUEUE_STRATEGY_RANDOM = 6,        /* drawn from the version; alike on all stores */
    USHER_QUEUE_STRATEGY__WIDE = 0x7fffffff
};

enum usher_queue_requeue {
    USHER_QUEUE_REQUEUE_FRONT = 1, /* users of an agent that is gone wait again, at their place */
    USHER_QUEUE_REQUEUE_DROP = 2,  /* they leave, but for those only offered to it */
    USHER_QUEUE_REQUEUE__WIDE = 0x7fffffff
};

/* How a visit ended.  Codes are stored. */
enum usher_queue_outcome {
    USHER_QUEUE_OUTCOME_NONE = 0,
    USHER_QUEUE_OUTCOME_SEATED = 1,   /* was in a room: finish, or leave of the user */
    USHER_QUEUE_OUTCOME_LEFT = 2,     /* left before it had a room */
    USHER_QUEUE_OUTCOME_LOST = 3,     /* no heartbeat, before it had a room */
    USHER_QUEUE_OUTCOME_TIMEOUT = 4,  /* waited for `maxwait` */
    USHER_QUEUE_OUTCOME_DROPPED = 5,  /* its agent is gone, with requeue=drop */
    USHER_QUEUE_OUTCOME_CUT = 6,      /* no heartbeat, in a room */
    USHER_QUEUE_OUTCOME_FREED = 7,    /* an operator freed the agent */
    USHER_QUEUE_OUTCOME_REQUEUED = 8, /* was in a room; its agent is gone, and it waits again: the
                                       * visit goes on */
    USHER_QUEUE_OUTCOME__WIDE = 0x7fffffff
};

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
    USHER_GIVEN_QUEUE_IF_VERSION = 1u << 28
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
};

struct usher_queue_settings {
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
};

struct usher_queue_statistics {
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
struct usher_queue_row {
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
};

struct usher_queue_result {
    enum usher_queue_agent_state state; /* of the agent, after the command */
    enum usher_queue_place place;       /* of the user, after the command */
    enum usher_queue_why why;
    bool more;        /* there is more than the rows given, or than was done */
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
    size_t n_rows;
    const struct usher_queue_row *rows; /* owned by the reply */
    union {
        struct usher_queue_settings settings; /* set */
        struct usher_queue_statistics stats;  /* stats */
    } of;
};

struct usher_engine;
struct usher_result;

/*
 * Statuses common to all queue functions: USHER_INVALID (an argument; or the engine was opened
 * before a fork), USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: may have been
 * applied), USHER_NOMEM.  Each function names the others; usher_message() says more.  Threads: any.
 * Times are Unix ms.  Rows of replies live until usher_result_done().  What the verbs mean exactly:
 * src/core/queue_verbs.def; the transition tables: `usher tables agent`, `usher tables user`.
 */

#define USHER_QUEUE_ROOM_MAX 64 /* bytes of the id of a room, with its NUL */

/** The id of a room, "EPOCH.LOGIN.NO", into @to: epoch of the queue (of the reply, or of a row that
 *  has one) in 16 hexadecimal digits, version of the agent's login, number from 1 on.  No other
 * room of any queue is ever called so.  "" if @no is 0.  Returns @to. */
USHER_API const char *usher_queue_room_name(char to[USHER_QUEUE_ROOM_MAX], uint64_t epoch,
                                            uint64_t login, int64_t no);

/* Where a user is. */
struct usher_queue_seat {
    enum usher_queue_place place;
    int64_t index;    /* QUEUE: users ahead in its lane; else -1 */
    int64_t wait_ms;  /* QUEUE: estimate; -1: not known */
    int64_t until_ms; /* OFFER: its end */
    uint64_t token;   /* ROOM, OFFER: version of the match */
    uint64_t epoch, version;
    char room[USHER_QUEUE_ROOM_MAX]; /* ROOM, OFFER; else "" */
    char agent[USHER_NAME_MAX + 1];
};

/** Change those settings of @queue that @given names (USHER_GIVEN_QUEUE_…; 0: just read them); it
 *  comes into being if need be.  @inout has all of them on return.
 *  USHER_OK, USHER_SAME; USHER_MISSING (@given is 0 and there is no such queue).  O(1); if
 * trigger becomes auto, all who wait and can be given to an agent are given before it does. */
USHER_API enum usher_status usher_queue_set(struct usher_engine *e, const char *queue,
                                            uint32_t given, struct usher_queue_settings *inout);

/**
 * @agent comes to work, with @capacity rooms (0: 1), 1 to capacity of *@ret_login (may be NULL):
 * see usher_queue_room_name().  @lanes "A,B", or NULL: all.  @level is for strategy level.  Users
 * who wait are matched at once.
 * USHER_OK; USHER_SAME if it is logged in like that (a sign of life); USHER_REFUSED if it is with
 * other arguments.  O(lanes * log n).
 */
USHER_API enum usher_status usher_queue_login(struct usher_engine *e, const char *queue,
                                              const char *agent, int64_t capacity,
                                              const char *lanes, int64_t level,
                                              uint64_t *ret_login);

/** @agent goes; its users wait again at their places, or leave (requeue).  A pause is over, also
 * that of an agent that was dropped for its silence.  USHER_OK, USHER_SAME (not there).  After
 * USHER_NOMEM of a memory store some of them may have done so; a repeat goes on. O(capacity * log
 * n). */
USHER_API enum usher_status usher_queue_logout(struct usher_engine *e, const char *queue,
                                               const char *agent);

/** Nobody more for @agent once its rooms are empty (until then it is told as PAUSING).  It lasts
 * until usher_queue_ready() or usher_queue_logout(): an agent that is dropped for its silence is
 * paused after its next login.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status usher_queue_pause(struct usher_engine *e, const char *queue,
                                              const char *agent);

/** End pause and wrap-up of @agent.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status usher_queue_ready(struct usher_engine *e, const char *queue,
                                              const char *agent);

/** Heartbeat of @agent; answers as usher_queue_room() (@ret_reply may be NULL).  USHER_OK,
 *  USHER_MISSING. */
USHER_API enum usher_status usher_queue_agent_alive(struct usher_engine *e, const char *queue,
                                                    const char *agent,
                                                    struct usher_result *ret_reply);

/** The rooms of @agent as rows, and who is in them.  No heartbeat.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status usher_queue_room(struct usher_engine *e, const char *queue,
                                             const char *agent, struct usher_result *ret_reply);

struct usher_queue_apply_options {
    size_t size;         /* set by USHER_QUEUE_APPLY_OPTIONS_INIT */
    const char *lane;    /* NULL: "default" */
    int64_t priority;    /* 0 … USHER_QUEUE_PRIORITY_MAX, larger first */
    int64_t since_ms;    /* arrival, for the place; 0: now */
    const char *request; /* request id or NULL */
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_QUEUE_APPLY_OPTIONS_INIT { sizeof(struct usher_queue_apply_options) }
#else
#define USHER_QUEUE_APPLY_OPTIONS_INIT { .size = sizeof(struct usher_queue_apply_options) }
#endif
/* clang-format on */

/**
 * @user asks for an agent: a room at once, an offer, or a place in its lane.  @opt may be NULL.
 * Again, it is a sign of life and changes neither place nor index (USHER_SAME).  So who repeats it
 * in place of usher_queue_alive(), with the since_ms of the first time, until seated, has the old
 * place even if the store has lost it.
 * USHER_OK, USHER_SAME  *@ret_seat is written
 * USHER_EMPTY           nobody is logged in who serves the lane, and the user does not wait
 * USHER_FULL            a limit is reached, and the user does not wait
 * Cost: O(log n).
 */
USHER_API enum usher_status usher_queue_apply(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_apply_options *opt,
                                              struct usher_queue_seat *ret_seat);

/** Where @user is.  No heartbeat.  USHER_OK, USHER_MISSING.  O(log n). */
USHER_API enum usher_status usher_queue_where(struct usher_engine *e, const char *queue,
                                              const char *user, struct usher_queue_seat *ret_seat);

/** Heartbeat of @user; one that was away is back at its place.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status usher_queue_user_alive(struct usher_engine *e, const char *queue,
                                                   const char *user,
                                                   struct usher_queue_seat *ret_seat);

/** @user goes, from wherever it is.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status usher_queue_leave(struct usher_engine *e, const char *queue,
                                              const char *user);

/** The visit in @room is over; the next user may be in it when this returns.  With @user or
 *  @token (NULL, 0: not given) only if it is that one's visit: a late finish ends no other.
 *  USHER_OK; USHER_STALE; USHER_LOST (the store has lost the login or the visit that it is of);
 *  USHER_REFUSED (nobody is seated there); USHER_MISSING (no such room). */
USHER_API enum usher_status usher_queue_finish(struct usher_engine *e, const char *queue,
                                               const char *room, const char *user, uint64_t token);

/** @agent takes @user, who is offered to it.  USHER_OK, USHER_SAME (seated already),
 *  USHER_REFUSED (not offered to it), USHER_MISSING. */
USHER_API enum usher_status usher_queue_accept(struct usher_engine *e, const char *queue,
                                               const char *agent, const char *user);

/** @agent does not take @user, who waits again at its place.  USHER_OK, USHER_REFUSED,
 *  USHER_MISSING. */
USHER_API enum usher_status usher_queue_reject(struct usher_engine *e, const char *queue,
                                               const char *agent, const char *user);

/** @agent asks for the next user: the row of the match.  @ret_reply may be NULL.  USHER_OK;
 *  USHER_EMPTY; USHER_REFUSED (not open: full, paused, wrap-up); USHER_MISSING. */
USHER_API enum usher_status usher_queue_pull(struct usher_engine *e, const char *queue,
                                             const char *agent, struct usher_result *ret_reply);

/** Match all that can be, 1,000 at most (reply.of.queue.more): the rows say whom with whom.
 *  @ret_reply may be NULL.  USHER_OK; USHER_SAME (nothing to match). */
USHER_API enum usher_status usher_queue_match(struct usher_engine *e, const char *queue,
                                              struct usher_result *ret_reply);

/** Apply due deadlines now, in bounded steps until none is left.  Never needed for correctness.
 *  @ret_expired may be NULL.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status usher_queue_sweep(struct usher_engine *e, const char *queue,
                                              uint64_t *ret_expired);

/** Users in @state (-1: waiting) of @lane (NULL: all) in order, at most @max (0: 100), behind
 *  @after (NULL, or reply.of.queue.agent of the page before, when .more).  USHER_OK,
 *  USHER_MISSING. */
USHER_API enum usher_status usher_queue_list(struct usher_engine *e, const char *queue,
                                             const char *lane, int state, const char *after,
                                             size_t max, struct usher_result *ret_reply);

/** Agents in byte order, in pages likewise. */
USHER_API enum usher_status usher_queue_agents(struct usher_engine *e, const char *queue,
                                               const char *after, size_t max,
                                               struct usher_result *ret_reply);

struct usher_queue_visit_filter {
    size_t size;                /* set by USHER_QUEUE_VISIT_FILTER_INIT */
    const char *user, *agent;   /* NULL: any */
    int64_t since_ms, until_ms; /* that ended within, both included; until_ms 0: whenever */
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_QUEUE_VISIT_FILTER_INIT { sizeof(struct usher_queue_visit_filter) }
#else
#define USHER_QUEUE_VISIT_FILTER_INIT { .size = sizeof(struct usher_queue_visit_filter) }
#endif
/* clang-format on */

/** Ended visits that @filter lets through (NULL: all), the latest first, in pages likewise: those
 *  that the queue keeps, and behind them those of the engine's history, or without one those of
 *  the history within the store (SQLite: all that ever ended). */
USHER_API enum usher_status usher_queue_history(struct usher_engine *e, const char *queue,
                                                const struct usher_queue_visit_filter *filter,
                                                const char *after, size_t max,
                                                struct usher_result *ret_reply);

/** Move all ended visits of @queue into the engine's history, now.  @ret_moved may be NULL.
 *  USHER_OK, USHER_SAME (there was none), USHER_MISSING; USHER_UNAVAILABLE: not all, the others
 *  stay in the store; USHER_INVALID: the engine has no history. */
USHER_API enum usher_status usher_queue_drain(struct usher_engine *e, const char *queue,
                                              uint64_t *ret_moved);

/** Figures of @lane, or (NULL) of the queue.  USHER_OK, USHER_MISSING.  O(lanes). */
USHER_API enum usher_status usher_queue_stats(struct usher_engine *e, const char *queue,
                                              const char *lane,
                                              struct usher_queue_statistics *ret_stats);

/** For operators: another lane (NULL: as it is), priority (-1) or arrival (-1) for @user, who
 *  waits.  USHER_OK, USHER_SAME, USHER_REFUSED (does not wait), USHER_MISSING. */
USHER_API enum usher_status usher_queue_move(struct usher_engine *e, const char *queue,
                                             const char *user, const char *lane, int64_t priority,
                                             int64_t since_ms, struct usher_queue_seat *ret_seat);

/** For operators: end all visits of @agent by force and make it ready.  @ret_freed may be NULL.
 *  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status usher_queue_free(struct usher_engine *e, const char *queue,
                                             const char *agent, uint64_t *ret_freed);

#ifdef __cplusplus
}
#endif

#endif
