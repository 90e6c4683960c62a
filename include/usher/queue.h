/* SPDX-License-Identifier: MIT */
/*
 * Queues: users wait for agents.
 *
 * An agent logs in with `capacity` rooms, each for one user at a time.  A user applies, and gets a
 * room at once or waits.  Both send heartbeats; an agent or user without one for `ttl` is removed.
 * Included by usher.h, which has the rules for all functions.
 *
 * Matching
 *  - A user waits in one lane (a kind of work; "default" if it names none).  An agent serves
 *    a list of lanes, or all of them.
 *  - Users of a lane are ordered by priority, larger first, then by arrival: `since`, which is the
 *    time of apply unless it is given, then the version of apply.  A user keeps this position
 *    until it leaves, also through offers and the loss of its agent.
 *  - An agent is open while it has a free room, is not paused or about to pause, and is not
 *    in wrap-up.  An agent that becomes open takes the best user among its lanes.  A user that
 *    arrives or comes back takes the best open agent of its lane, by `strategy`.
 *  - An agent that has rejected or missed a user is not offered this user before `again` is over,
 *    nor while the agent can have another user or another open agent can have this one.
 *  - An agent or user whose deadline has passed is never matched.
 *
 * Tokens
 *  - The answer to login has a token of the login; those to apply have one of the visit
 *    (visit_token), and one of the match if there is one.  A command with another token than the
 *    current one is USHER_STALE and changes nothing: it comes too late, or from a connection that
 *    another session has replaced.  With the setting strict such commands need their token.
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
    1000 /* lanes of a queue: those with users, agents or statistics of today */
#define USHER_QUEUE_PATIENCE_LEFT 10000             /* minimum wait of a requeued user, ms */
#define USHER_QUEUE_TIME_MAX INT64_C(8796093022207) /* 2^43 - 1: the year 2248 */

/* Codes are stored. */
enum usher_queue_agent_state {
    USHER_QUEUE_AGENT_GONE = 0,
    USHER_QUEUE_AGENT_IDLE = 1,    /* its rooms are empty */
    USHER_QUEUE_AGENT_OFFERED = 2, /* has an offered user, and no seated one */
    USHER_QUEUE_AGENT_BUSY = 3,    /* has a seated user */
    USHER_QUEUE_AGENT_WRAPUP = 4,  /* its rooms are empty and stay so until wrap-up ends */
    USHER_QUEUE_AGENT_PAUSED = 5,
    USHER_QUEUE_AGENT_PAUSING =
        6, /* in answers only: offered or busy, and will be paused when its rooms are empty */
    USHER_QUEUE_AGENT_STATE__WIDE = 0x7fffffff
};

enum usher_queue_user_state {
    USHER_QUEUE_USER_GONE = 0,
    USHER_QUEUE_USER_WAITING = 1,
    USHER_QUEUE_USER_OFFERED = 2, /* a room is kept for it until the agent accepts */
    USHER_QUEUE_USER_SEATED = 3,
    USHER_QUEUE_USER_AWAY =
        4, /* missed a heartbeat while waiting; keeps its position for `grace` */
    USHER_QUEUE_USER_STATE__WIDE = 0x7fffffff
};

/* Location of a user. */
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
    USHER_QUEUE_WHY_NO_AGENT = 1, /* apply: no agent that serves the lane is logged in */
    USHER_QUEUE_WHY_NO_USER = 2,  /* pull: no waiting user is eligible for this agent */
    USHER_QUEUE_WHY_HISTORY = 3,  /* apply: `archive` ended visits wait for a history */
    USHER_QUEUE_WHY_DUE = 4,      /* stores only: nothing was done, because more deadlines were due
                                   * than one command applies; the engine repeats the command */
    USHER_QUEUE_WHY_CLOSED = 5,   /* apply: the queue is closed (mode) */
    USHER_QUEUE_WHY_STOPPED = 6,  /* apply, pull: the queue is stopped (mode) */
    USHER_QUEUE_WHY_LOST = 7,     /* where, alive, leave: the store may have lost changes of the
                                   * queue, so the user may have been here */
    USHER_QUEUE_WHY__WIDE = 0x7fffffff
};

enum usher_queue_trigger {
    USHER_QUEUE_TRIGGER_AUTO = 1,  /* on arrival and as soon as an agent is open */
    USHER_QUEUE_TRIGGER_TIMER = 2, /* by `match` only */
    USHER_QUEUE_TRIGGER_PULL = 3,  /* by `pull` only */
    USHER_QUEUE_TRIGGER__WIDE = 0x7fffffff
};

enum usher_queue_strategy {
    USHER_QUEUE_STRATEGY_LONGEST_IDLE = 1,  /* idle agents before those with a user, then the one
                                             * that is open for longest */
    USHER_QUEUE_STRATEGY_ROUND_ROBIN = 2,   /* the agent with the oldest last match */
    USHER_QUEUE_STRATEGY_FEWEST_SERVED = 3, /* users seated since login */
    USHER_QUEUE_STRATEGY_LEAST_BUSY = 4,    /* rooms in use */
    USHER_QUEUE_STRATEGY_LEVEL = 5,         /* lower level first */
    USHER_QUEUE_STRATEGY_RANDOM = 6,        /* drawn from the version; alike on all stores */
    USHER_QUEUE_STRATEGY__WIDE = 0x7fffffff
};

enum usher_queue_requeue {
    USHER_QUEUE_REQUEUE_FRONT =
        1,                        /* users of an agent that is gone wait again, at their position */
    USHER_QUEUE_REQUEUE_DROP = 2, /* they leave, except those only offered to it */
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
                                       * visit continues */
    USHER_QUEUE_OUTCOME__WIDE = 0x7fffffff
};

#define USHER_QUEUE_ROOM_MAX 64 /* bytes of the id of a room, with its NUL */

/** Write the id of a room, "EPOCH.LOGIN.NO", to @to: epoch of the queue (of the reply, or of a row
 * that has one) in 16 hexadecimal digits, version of the agent's login, number from 1 on.  No other
 * room of any queue ever has the same id, but the room has one user after the other: name what
 * belongs to a user, like a chat, after the member visit of answers and rows.  "" if @no is 0.
 * Returns @to. */
USHER_API const char *usher_queue_room_name(char to[USHER_QUEUE_ROOM_MAX], uint64_t epoch,
                                            uint64_t login, int64_t no);

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_queue_agent_state_word(enum usher_queue_agent_state state);
USHER_API const char *usher_queue_user_state_word(enum usher_queue_user_state state);
USHER_API const char *usher_queue_place_word(enum usher_queue_place place);
USHER_API const char *usher_queue_why_word(enum usher_queue_why why);
USHER_API const char *usher_queue_outcome_word(enum usher_queue_outcome outcome);
USHER_API const char *usher_queue_trigger_word(enum usher_queue_trigger trigger);
USHER_API const char *usher_queue_strategy_word(enum usher_queue_strategy strategy);
USHER_API const char *usher_queue_requeue_word(enum usher_queue_requeue requeue);

/* ---- made by src/api/gen_calls.py: do not edit ----------------------------------------- */
/* clang-format off */

struct usher_reply;

/* Options of the calls of `queue`.  If fewer than five verbs take an option, its comment begins
 * with them.  0 or NULL = not given; USHER_NONE or "" = explicitly none, never or off.  An
 * option that the verb does not take is USHER_INVALID. */
struct usher_queue_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: return at once; usher_collect() returns the reply with this tag */
    int64_t timeout_ms; /* deadline of this call; 0 = the engine's */
    const char *request; /* request id: a repeat returns the first answer */
    int64_t now_ms; /* time of the command; 0 = the engine's clock */
    int64_t wait; /* number of replicas to wait for, after the command */
    const char *agent; /* alive, history: the agent that serves users */
    const char *user; /* alive, finish, history: the user to be served */
    const char *lane; /* a kind of work; "default" if none is given; a queue has at most 1,000 */
    /* login: lanes that the agent serves, at most 16, in any order; * or not given: all */
    const char *lanes;
    int64_t capacity; /* login: number of rooms of the agent; 1 to 32; default 1 */
    int64_t level; /* login: for strategy=level: lower levels first; 0 to 1000 */
    int64_t priority; /* apply, move: larger is served first; users without one have 0; 0 to 1000 */
    /* apply, history, move: arrival, which gives the position: not later than now; history:
     * ended then or later */
    int64_t since_ms;
    int64_t until_ms; /* history, drain: visits that ended then or earlier */
    /* token of the login, visit or match, else stale; drain: visits up to this version */
    uint64_t token;
    enum usher_queue_user_state state; /* list: users in this state instead of waiting ones */
    const char *after; /* list, agents, history, lanes: continue where a page ended: its next */
    /* maximum rows or changes; a page ends after 256 records, a sweep after 64 changes; 1 to
     * 10,000 */
    int64_t max;
    int64_t if_version; /* only if the scope has this version, else stale; 1 to 2^53 - 1 */
    uint64_t epoch; /* only if the scope has this epoch, else stale */
    int64_t since_version; /* changes: only changes after this version; 0 to 2^53 - 1 */
    /* login: name of the agent's connection; a new one takes over, and gets a new token */
    const char *session;
    const char *reason; /* set, pause: for people: the reason of the mode, or of the pause */
    const char *actor; /* the person or program that gives the command, for its notices */
};
#ifdef __cplusplus
#define USHER_QUEUE_OPTIONS_INIT \
    { sizeof(struct usher_queue_options), NULL, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, \
    0, 0, 0, (enum usher_queue_user_state)0, NULL, 0, 0, 0, 0, NULL, NULL, NULL }
#else
#define USHER_QUEUE_OPTIONS_INIT { .size = sizeof(struct usher_queue_options) }
#endif

/* Settings.  A member that is not given (0 or NULL) keeps its value, or gets its default in a
 * new scope; USHER_NONE = none, never or off; a code …_OFF = its code 0.  Settings read from a
 * reply can be passed back unchanged. */
struct usher_queue_settings {
    size_t size; /* set by …_INIT */
    /* an agent or user without a heartbeat for this time is removed; USHER_NONE: never;
     * default 15s */
    int64_t ttl_ms;
    /* when users and agents are matched: on arrival and idleness, by match, by pull; default
     * auto */
    enum usher_queue_trigger trigger;
    /* which of several open agents gets the user; default longest-idle */
    enum usher_queue_strategy strategy;
    /* an agent must accept within this time; USHER_NONE: users are seated at once; default
     * USHER_NONE */
    int64_t offer_ms;
    /* after a visit the agent gets no user for this time; USHER_NONE: it gets one at once;
     * default USHER_NONE */
    int64_t wrapup_ms;
    /* maximum users that wait or are away; USHER_NONE: no limit; 0 to 1,000,000,000; default
     * USHER_NONE */
    int64_t limit;
    /* a user that has waited for this time leaves, but not during an offer; USHER_NONE: never;
     * default USHER_NONE */
    int64_t maxwait_ms;
    /* a user without a heartbeat keeps its position for this time; USHER_NONE: not at all;
     * default USHER_NONE */
    int64_t grace_ms;
    /* users of an agent that is gone wait again, or leave; default front */
    enum usher_queue_requeue requeue;
    /* maximum ended visits that the queue keeps, with archive=0, in addition to a history; 0
     * to 1,000,000; default 1000 */
    int64_t history;
    /* local time for daily statistics, minutes east of UTC; USHER_NONE: UTC; -1440 to 1440;
     * default USHER_NONE */
    int64_t zone_min;
    int64_t service_ms; /* service level: share of users seated within this time; default 20s */
    int64_t requests; /* maximum results kept for request ids; 1 to 1,000,000; default 10,000 */
    /* keep ended visits for a history; refuse users while this number of visits waits for it;
     * see usher/history.h; 0 to 1,000,000,000; default USHER_NONE */
    int64_t archive;
    /* maximum notices kept for changes and watch; USHER_NONE: no log; 0 to 100,000; default
     * USHER_NONE */
    int64_t log;
    /* an agent that rejected or missed a user is not offered it again before this time;
     * default 5s */
    int64_t ask_again_ms;
    /* 1: commands about an agent, a user or a room need the token; default USHER_NONE */
    int64_t strict;
    /* closed: no new users, those that wait are served; stopped: none is served, either;
     * default open */
    enum usher_scope_mode scope_mode;
    /* 1: Redis publishes new versions, on the channel {QUEUE}:queue; see push in
     * usher_room_settings (room.h); default USHER_NONE */
    int64_t push;
};
#ifdef __cplusplus
#define USHER_QUEUE_SETTINGS_INIT \
    { sizeof(struct usher_queue_settings), 0, (enum usher_queue_trigger)0, (enum \
    usher_queue_strategy)0, 0, 0, 0, 0, 0, (enum usher_queue_requeue)0, 0, 0, 0, 0, 0, 0, 0, 0, \
    (enum usher_scope_mode)0, 0 }
#else
#define USHER_QUEUE_SETTINGS_INIT { .size = sizeof(struct usher_queue_settings) }
#endif

/* Answer, written for every status.  Members that do not apply are USHER_NONE (numbers), ""
 * (texts) or 0 (codes, tokens). */
struct usher_queue_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    int64_t due_ms; /* nothing in the scope expires before this time; or USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: number of replicas that have it */
    bool repeated; /* cached result of an earlier command with this request id */
    bool more; /* not complete: call again */
    char message[USHER_MESSAGE_MAX]; /* one line, or "" */
    enum usher_queue_agent_state agent_state; /* state of the agent */
    enum usher_queue_place place; /* alive, apply, where, move: location of the user */
    enum usher_queue_why why; /* reason of a refusal */
    int64_t index; /* alive, apply, where, move: users ahead in the lane */
    int64_t wait_ms; /* alive, apply, where, move: estimated waiting time */
    int64_t until_ms; /* when it expires */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t login; /* version of the agent's login */
    int64_t rooms; /* number of rooms of the agent */
    int64_t count; /* sweep, free, drain: number of changes */
    char room[USHER_QUEUE_ROOM_MAX]; /* the room of the user: EPOCH.LOGIN.NO */
    char user[USHER_NAME_MAX + 1]; /* leave, finish, accept, reject: a user that wants an agent */
    char agent[USHER_NAME_MAX + 1]; /* an agent */
    /* list, agents, history, lanes: the end of a page, where the next one continues */
    char after[USHER_NAME_MAX + 1];
    int64_t since_version; /* changes: a version */
    /* alive, apply, where, move: token of the visit; every later visit of the queue has
     * another one */
    uint64_t visit_token;
    /* alive, room, stats: text for people: the reason of the mode or of the pause */
    char reason[USHER_NAME_MAX + 1];
    /* name of the user's stay with an agent, which no other one has: EPOCH.TOKEN */
    char visit[USHER_QUEUE_ROOM_MAX];
    char lane[USHER_NAME_MAX + 1]; /* alive, where: lane in which a user waits */
    int64_t since_ms; /* alive, where: when it began */
    int64_t waiting; /* alive, where, stats: waiting users */
    enum usher_queue_outcome outcome; /* alive, where, leave: how the visit ended */
    int64_t finished_ms; /* alive, where, leave: when the visit ended */
};
#ifdef __cplusplus
#define USHER_QUEUE_ANSWER_INIT \
    { sizeof(struct usher_queue_answer), 0, 0, 0, 0, 0, false, false, "", (enum \
    usher_queue_agent_state)0, (enum usher_queue_place)0, (enum usher_queue_why)0, 0, 0, 0, 0, \
    0, 0, 0, "", "", "", "", 0, 0, "", "", "", 0, 0, (enum usher_queue_outcome)0, 0 }
#else
#define USHER_QUEUE_ANSWER_INIT { .size = sizeof(struct usher_queue_answer) }
#endif

/* One row of a reply.  Texts belong to the reply and live as long.  Members that do not apply
 * are USHER_NONE (numbers), NULL (texts) or 0 (codes, tokens). */
struct usher_queue_row {
    size_t size; /* set by …_INIT */
    const char *user; /* a user that wants an agent */
    const char *agent; /* an agent */
    const char *lane; /* lane in which a user waits */
    const char *lanes; /* lanes that an agent serves, "A,B", or * for all */
    const char *room; /* the room of the user: EPOCH.LOGIN.NO */
    enum usher_queue_user_state user_state; /* state of the user */
    enum usher_queue_agent_state agent_state; /* state of the agent */
    enum usher_queue_outcome outcome; /* how the visit ended */
    int64_t priority; /* larger is served first */
    int64_t since_ms; /* when it began */
    int64_t applied_ms; /* start of the current or last wait */
    int64_t matched_ms; /* when it was matched with the agent */
    int64_t until_ms; /* when it expires */
    int64_t finished_ms; /* when the visit ended */
    int64_t waited_ms; /* waiting time */
    int64_t talked_ms; /* time with the agent */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t version; /* version of the last change */
    int64_t login; /* version of the agent's login */
    int64_t capacity; /* maximum at a time */
    int64_t used_rooms; /* rooms in use */
    int64_t served; /* number of its visits */
    int64_t level; /* rank of an agent, smaller first */
    int64_t logged_in_ms; /* when the agent logged in */
    int64_t state_since_ms; /* start of its state */
    struct usher_text value; /* a value */
    enum usher_verb verb; /* verb of the change */
    const char *subject; /* subject of the change */
    int64_t before; /* version before the change */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    const char *owner; /* the holder */
    struct usher_text data; /* data to make the change in a copy */
    int64_t time_ms; /* time of the change */
    uint64_t visit_token; /* token of the visit; every later visit of the queue has another one */
    const char *actor; /* the person or program that gave the command */
    const char *reason; /* text for people: the reason of the mode or of the pause */
    int64_t waiting; /* waiting users */
    int64_t longest_wait_ms; /* waiting time of the user that has waited longest */
    int64_t offered; /* users offered to an agent */
    int64_t seated; /* users with an agent */
    int64_t users_away; /* waiting users that are away */
    int64_t seated_today; /* users seated since local midnight */
    int64_t abandoned_today; /* users that left without an agent */
    int64_t timeout_today; /* users that waited for maxwait */
    int64_t finished_today; /* visits that ended */
    /* share of today's users that were seated within service, without those that left within
     * service, of 10,000 */
    int64_t service_level;
    int64_t mean_wait_ms; /* mean waiting time of users seated today */
    int64_t mean_talk_ms; /* mean time with the agent of visits that ended today */
    int64_t arrived_today; /* users that applied since local midnight */
    int64_t within_today; /* users seated within service since local midnight */
    int64_t abandoned_within_today; /* users that left without an agent within service */
    int64_t quarter_ms; /* start of the quarter hour */
    int64_t arrived; /* users that applied in it */
    int64_t seated_in; /* users seated in it */
    int64_t within; /* users seated in it within service */
    int64_t abandoned; /* users that left in it without an agent */
    int64_t timeout; /* users that had waited for maxwait in it */
    int64_t wait_sum_ms; /* sum of the waiting times of users seated in it */
    int64_t talk_sum_ms; /* sum of the times with the agent of visits that ended in it */
    int64_t up_to_ms; /* bound of the waiting times that are counted */
    int64_t seated_total; /* users seated since then */
    int64_t agents_paused; /* agents that are paused */
    /* name of the user's stay with an agent, which no other one has: EPOCH.TOKEN */
    const char *visit;
};
#ifdef __cplusplus
#define USHER_QUEUE_ROW_INIT \
    { sizeof(struct usher_queue_row), NULL, NULL, NULL, NULL, NULL, (enum \
    usher_queue_user_state)0, (enum usher_queue_agent_state)0, (enum usher_queue_outcome)0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, (enum usher_verb)0, NULL, 0, 0, \
    0, NULL, { NULL, 0 }, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, 0, NULL }
#else
#define USHER_QUEUE_ROW_INIT { .size = sizeof(struct usher_queue_row) }
#endif

/* Statistics.  A figure that does not exist is USHER_NONE. */
struct usher_queue_statistics {
    size_t size; /* set by …_INIT */
    int64_t waiting; /* waiting users */
    int64_t users_away; /* waiting users that are away */
    int64_t offered; /* users offered to an agent */
    int64_t seated; /* users with an agent */
    int64_t agents; /* agents logged in */
    int64_t agents_idle; /* agents that are free */
    int64_t agents_offered; /* agents with an offer */
    int64_t agents_busy; /* agents with a user */
    int64_t agents_wrapup; /* agents in wrap-up */
    int64_t agents_paused; /* agents that are paused */
    int64_t longest_wait_ms; /* waiting time of the user that has waited longest */
    int64_t longest_since_ms; /* since the arrival of the waiting user that came first */
    int64_t seated_today; /* users seated since local midnight */
    int64_t abandoned_today; /* users that left without an agent */
    int64_t timeout_today; /* users that waited for maxwait */
    int64_t finished_today; /* visits that ended */
    /* share of today's users that were seated within service, without those that left within
     * service, of 10,000 */
    int64_t service_level;
    int64_t mean_wait_ms; /* mean waiting time of users seated today */
    int64_t mean_talk_ms; /* mean time with the agent of visits that ended today */
    int64_t dropped_today; /* finished visits whose agent was gone, with requeue=drop */
    int64_t visits; /* ended visits that the queue keeps */
    enum usher_scope_mode scope_mode; /* whether calls or users are accepted and served */
    int64_t arrived_today; /* users that applied since local midnight */
    int64_t within_today; /* users seated within service since local midnight */
    int64_t abandoned_within_today; /* users that left without an agent within service */
    /* share of the users seated today that were seated within service, of 10,000 */
    int64_t service_seated;
    int64_t arrived_total; /* users that applied since the queue or lane was created */
    int64_t seated_total; /* users seated since then */
    int64_t within_total; /* users seated within service since then */
    int64_t abandoned_total; /* users that left without an agent since then */
    int64_t abandoned_within_total; /* users that left without an agent within service since then */
    int64_t timeout_total; /* users that waited for maxwait since then */
    int64_t finished_total; /* visits that ended since then */
    int64_t dropped_total; /* finished visits whose agent was gone, with requeue=drop, since then */
    int64_t wait_total_ms; /* sum of the waiting times of users seated since then */
    int64_t talk_total_ms; /* sum of the times with the agent of visits that ended since then */
};
#ifdef __cplusplus
#define USHER_QUEUE_STATISTICS_INIT \
    { sizeof(struct usher_queue_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, (enum usher_scope_mode)0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_QUEUE_STATISTICS_INIT { .size = sizeof(struct usher_queue_statistics) }
#endif

/* Arguments of every call: the engine @e, the queue, the subject of the verb, @opt (may be
 * NULL), and where to write the answer (may be NULL).  A reply belongs to the caller: release it
 * with usher_reply_done().  It is NULL if the call itself failed.  With opt->post the call
 * returns like usher_post(), and the answer arrives as an event.  In addition to the statuses
 * listed, every call may return USHER_INVALID, USHER_UNAVAILABLE (nothing changed),
 * USHER_UNKNOWN (no answer: it may have been applied), USHER_LOST and USHER_NOMEM;
 * usher_message() has the details.  Threads: any.  Since 0.1. */

/**
 * Change the given settings of @queue (NULL: none, only read them), and create the queue if it does
 * not exist.  The reply has all of them: usher_queue_settings_of().
 *
 * A new ttl or maxwait applies to all agents and users that are there.  maxwait counts from the
 * time since when a user waits; if that is over already, the user leaves 1 ms after the change.
 * A raised ttl counts from the last heartbeat; one that is lowered, or set for the first time,
 * counts from the change.  Without a ttl silent agents and users stay.
 * If scope_mode is closed, a new user is refused (why of usher_queue_apply()), and users that are
 * there are served.  If it is stopped, no user gets an agent, either: usher_queue_pull() is refused
 * and usher_queue_match() matches none.  An offer made before can be accepted; visits, heartbeats
 * and deadlines continue.  opt->reason is a text for people.  It is kept until another one is given,
 * or the mode changes; then the reply has a row with reason, and the answer of usher_queue_stats()
 * has it.
 * With strict, logout, pause, ready, pull, alive, leave, move, accept, reject and finish are
 * USHER_INVALID without a token.
 *
 * USHER_OK, USHER_SAME; USHER_MISSING: none is given, and there is no such queue.  O(1).  This and
 * the next commands change deadlines (ttl, maxwait) and ranks (strategy) in bounded steps, and
 * match waiting users if trigger becomes auto, or with trigger auto scope_mode is not stopped any
 * more.
 * Options: opt->if_version, opt->epoch, opt->reason, opt->actor.
 */
USHER_API enum usher_status usher_queue_set(struct usher_engine *e, const char *queue,
                                            const struct usher_queue_settings *settings,
                                            const struct usher_queue_options *opt,
                                            struct usher_reply **ret);

/**
 * Log in @agent with opt->capacity rooms (not given: 1), 1 to capacity of the answer's login:
 * usher_queue_room_name().  Waiting users are matched at once.  An agent that sends no heartbeat
 * (usher_queue_alive()) for ttl_ms of the settings (15 s by default) is removed.
 *
 * lanes    "A,B": lanes that the agent serves; not given: all
 * level    for strategy level
 * session  name of the agent's connection.  With a new one the login continues with a new token,
 *          its rooms and users stay, and commands with the old token are USHER_STALE
 *
 * USHER_OK: the answer has token; USHER_SAME: it is logged in like that (this is a heartbeat), or
 * no session is given; USHER_REFUSED: it is logged in with other arguments.  O(lanes * log n).
 * Options: opt->lanes, opt->capacity, opt->level, opt->if_version, opt->epoch, opt->session.
 */
USHER_API enum usher_status usher_queue_login(struct usher_engine *e, const char *queue,
                                              const char *agent,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * Log out @agent; its users wait again at their positions, or leave (requeue).  A pause ends, also
 * that of an agent that was removed without heartbeats.  USHER_OK, USHER_SAME (not there);
 * USHER_STALE: opt->token is of another login.  After USHER_NOMEM of a memory store some of its
 * users may have moved; a repeat continues.  O(capacity * log n).
 * Options: opt->token, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_queue_logout(struct usher_engine *e, const char *queue,
                                               const char *agent,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * Pause @agent: it gets no more users, and is paused when its rooms are empty (pausing until
 * then).  The pause lasts until usher_queue_ready() or usher_queue_logout(): an agent that is
 * removed without heartbeats is paused after its next login.  opt->reason is a text for people,
 * which is kept as long as the pause; another one is a change.  A wrap-up continues after the next
 * login, too, even after usher_queue_logout().  USHER_OK, USHER_SAME, USHER_MISSING; USHER_STALE as
 * usher_queue_logout().
 * Options: opt->token, opt->if_version, opt->epoch, opt->reason, opt->actor.
 */
USHER_API enum usher_status usher_queue_pause(struct usher_engine *e, const char *queue,
                                              const char *agent,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * End pause and wrap-up of @agent.  USHER_OK, USHER_SAME, USHER_MISSING; USHER_STALE as
 * usher_queue_logout().
 * Options: opt->token, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_queue_ready(struct usher_engine *e, const char *queue,
                                              const char *agent,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * Send a heartbeat of opt->agent: the answer and the rows are those of usher_queue_room(); or of
 * opt->user: the answer is that of usher_queue_where().  A user that was away is back at its
 * position.  USHER_OK, USHER_MISSING; USHER_STALE:
 * opt->token is of another login, or another visit, and this was no heartbeat.  O(log n).
 * Options: opt->agent, opt->user, opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_alive(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * List the rooms of @agent and their users as rows.  The first row has its lanes.  The answer has
 * agent_state, until_ms, the end of its wrap-up, and reason, that of its pause.  No heartbeat.
 * USHER_OK, USHER_MISSING.
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_room(struct usher_engine *e, const char *queue,
                                             const char *agent,
                                             const struct usher_queue_options *opt,
                                             struct usher_reply **ret);

/**
 * Request an agent for @user: it gets a room at once, an offer, or a position in its lane.  A user
 * that sends no heartbeat (usher_queue_alive()) for ttl_ms of the settings (15 s by default) is
 * removed.
 *
 * lane      not given: "default"
 * priority  larger first, up to USHER_QUEUE_PRIORITY_MAX
 * since_ms  arrival, which gives the position; not given: now
 *
 * A repeat is a heartbeat and changes neither place nor index (USHER_SAME).  A client that repeats
 * this instead of usher_queue_alive(), with the since_ms of the first time, until the user is
 * seated, keeps the position even if the store has lost it.
 *
 * USHER_OK, USHER_SAME  the answer has place, room, agent, token, visit, visit_token, index, wait_ms.
 * USHER_EMPTY           no logged-in agent serves the lane, and the user does not wait.
 * USHER_FULL            a limit is reached, and the user does not wait.
 * USHER_REFUSED         the user waits in another lane: usher_queue_move(); or it is not there,
 *                       and the queue is closed or stopped (settings scope_mode): why.
 *
 * O(log n).
 * Options: opt->lane, opt->priority, opt->since_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_apply(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * Return the place of @user, its lane and since_ms, its arrival.  While it waits, the answer has
 * index, wait_ms and waiting, the number of users that wait in its lane.  If it is missing, the
 * answer has outcome, finished_ms, agent and visit of its last visit, while the queue keeps that
 * (setting history), or the engine's history.  Without one, why is USHER_QUEUE_WHY_LOST if the store
 * may have lost changes of @queue, and else the user was not here.  The agent may be one of an offer
 * only.  No heartbeat.  USHER_OK, USHER_MISSING; USHER_STALE as
 * usher_queue_leave().  O(log n).
 * Options: opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_where(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * Remove @user from its lane, offer or room.  USHER_OK; USHER_MISSING: the answer is that of
 * usher_queue_where(); USHER_STALE: opt->token is
 * not the visit_token of this visit.  O(log n).
 * Options: opt->token, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_queue_leave(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * End the visit in @room; the next user may be in it when this returns.  With @token (0 = not
 * given) or opt->user, end it only if it is that visit: a late finish cannot end another one.
 * USHER_OK; USHER_STALE; USHER_LOST: the store lost the login or the visit of @token;
 * USHER_REFUSED: no user is seated there; USHER_MISSING: no such room.  O(log n).
 * Options: opt->user, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_queue_finish(struct usher_engine *e, const char *queue,
                                               const char *room, uint64_t token,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * Accept the offer of @user to @agent.  USHER_OK; USHER_SAME: seated already; USHER_REFUSED:
 * not offered to it; USHER_STALE: opt->token is not that of its offer or room; USHER_MISSING.
 * Options: opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_accept(struct usher_engine *e, const char *queue,
                                               const char *agent, const char *user,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * Reject the offer of @user to @agent.  The user waits again at its position, and other agents come
 * first: see `again`.  USHER_OK, USHER_REFUSED, USHER_MISSING; USHER_STALE as
 * usher_queue_accept().
 * Options: opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_reject(struct usher_engine *e, const char *queue,
                                               const char *agent, const char *user,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * Give @agent the next user: the answer has user, room, token.  USHER_OK; USHER_EMPTY;
 * USHER_REFUSED: not open (full, paused, wrap-up), or the queue is stopped; USHER_MISSING; USHER_STALE as
 * usher_queue_logout().
 * Options: opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_pull(struct usher_engine *e, const char *queue,
                                             const char *agent,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * Match waiting users with open agents, at most 64 (then the reply has more): each row has a user
 * and its agent.  USHER_OK; USHER_SAME: nothing to match.
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_match(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * Apply expiries that are due, at most opt->max changes and never more than 64.  Never needed for
 * correctness.  Repeat it while the reply has more; rows are the resulting matches.  USHER_OK: it
 * made a version, and the answer has count, the number of expiries that made one; USHER_SAME,
 * USHER_MISSING.
 * Options: opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_sweep(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * List users in opt->state (not given: waiting) of opt->lane (not given: all) as rows, in order, at
 * most opt->max (not given: 100), after opt->after.  While the reply has more, continue after its
 * answer's after.  USHER_OK, USHER_MISSING.
 * Options: opt->lane, opt->state, opt->after, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_list(struct usher_engine *e, const char *queue,
                                             const struct usher_queue_options *opt,
                                             struct usher_reply **ret);

/**
 * List agents in byte order, in pages likewise.  USHER_OK, USHER_MISSING.
 * Options: opt->after, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_agents(struct usher_engine *e, const char *queue,
                                               const struct usher_queue_options *opt,
                                               struct usher_reply **ret);

/**
 * List ended visits, latest first, in pages likewise: those of opt->user, of opt->agent, that ended
 * from opt->since_ms to opt->until_ms.  The visits that the queue keeps come first, then those of
 * the engine's history, or without one those of the history within the store (SQLite: all ended
 * visits).  USHER_OK, USHER_MISSING.
 * Options: opt->agent, opt->user, opt->since_ms, opt->until_ms, opt->after, opt->max,
 * opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_history(struct usher_engine *e, const char *queue,
                                                const struct usher_queue_options *opt,
                                                struct usher_reply **ret);

/**
 * Remove ended visits that the queue keeps, oldest first.  An engine with a history moves them
 * there first.  An engine without one returns them as rows, and removes only those up to
 * opt->token, the version of a row, or all that ended by opt->until_ms.
 * USHER_OK: the answer has count; USHER_SAME: there was none; USHER_MISSING; USHER_UNAVAILABLE:
 * not all were removed, the others stay in the store.
 * Options: opt->until_ms, opt->token, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_drain(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * Read the statistics of opt->lane, or of all of @queue: usher_queue_statistics_of().  Rows are the
 * reasons of pauses: each has reason and agents_paused, the number of agents.  longest_wait
 * counts from the time since when a user waits (applied), but not from before its arrival, which
 * usher_queue_move() can set later; longest_since counts from arrival.  The reply has more if
 * figures are too small: at most 1,000 agents that serve the lane are counted, and at most 1,000
 * agents are read for the reasons; or over 1,000 users that wait again, or have a given arrival, are
 * ahead of the one that has waited longest.
 * USHER_OK, USHER_MISSING.  O(lanes), with opt->lane O(agents that name the lane), 1,000 at most.
 * Options: opt->lane, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_stats(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * List lanes in byte order, in pages as usher_queue_list(), with the statistics that
 * usher_queue_stats() has of each.  The searches for longest_wait pass over 1,000 users together,
 * then the page ends.  USHER_OK, USHER_MISSING.
 * Options: opt->after, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_lanes(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * List the quarter hours of today in which something was counted in opt->lane, or in all of @queue,
 * as rows.  Their sums are the statistics of today.  USHER_OK, USHER_MISSING.  O(lanes).
 * Options: opt->lane, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_intervals(struct usher_engine *e, const char *queue,
                                                  const struct usher_queue_options *opt,
                                                  struct usher_reply **ret);

/**
 * List the waiting times of all users that were seated, of opt->lane or of all of @queue: a row for
 * each of 15 bounds from 5 s to an hour has the number of users that waited at most up_to_ms.  The
 * last row, whose up_to_ms is USHER_NONE, has all.  USHER_OK, USHER_MISSING.  O(lanes).
 * Options: opt->lane, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_waits(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * For operators: change opt->lane, opt->priority (USHER_NONE: 0) or the arrival opt->since_ms of
 * the waiting @user.  USHER_OK, USHER_SAME; USHER_REFUSED: it does not wait; USHER_MISSING;
 * USHER_STALE as usher_queue_leave().
 * Options: opt->lane, opt->priority, opt->since_ms, opt->token, opt->if_version, opt->epoch,
 * opt->actor.
 */
USHER_API enum usher_status usher_queue_move(struct usher_engine *e, const char *queue,
                                             const char *user,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * For operators: end all visits of @agent by force and make it ready.  Repeat it while the answer
 * has more.  USHER_OK: count; USHER_SAME, USHER_MISSING.
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_queue_free(struct usher_engine *e, const char *queue,
                                             const char *agent,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * Read the change log of @queue: changes after opt->since_version as rows, oldest first, at most
 * opt->max (not given: 100).  Expiries that are due are not applied.  usher_watch_events() follows
 * the log.
 *
 * until_ms is the end of the state in `to`, or 0 if only a heartbeat or a command ends it.  In a
 * notice of a user, owner is the agent that it is or was with, and token is that of the room or
 * offer, even if it has ended (missed, rejected, requeued).  Its data has lane; priority and since,
 * the arrival, while the user is in the queue; outcome, if the visit has ended; with an owner room,
 * LOGIN.N, visit, the token, agent_state, the state of the agent after the change, and agent_until, the end of its
 * wrap-up.  data of USHER_QUEUE_LOGIN has lanes, capacity and level, and the reason if the agent is
 * paused at once; data of USHER_QUEUE_PAUSE has the reason.  In the notices of a command with
 * opt->actor data has actor (not in those of due deadlines, requeues and matches).  The row has
 * user, agent, their states and these values as members (but agent_until), with room and visit as in
 * answers; for the notice of an event usher_notice_reply() makes such a row.
 *
 * USHER_OK
 * USHER_MISSING
 * USHER_REFUSED  the queue keeps no log (setting log)
 * USHER_STALE    the log starts later, at the answer's since_version; or no such version yet
 * USHER_LOST     the store lost that version
 * Options: opt->max, opt->epoch, opt->since_version.
 */
USHER_API enum usher_status usher_queue_changes(struct usher_engine *e, const char *queue,
                                                const struct usher_queue_options *opt,
                                                struct usher_reply **ret);

/* Copy the answer, the settings, the statistics or row @i of @reply into a struct.  Texts belong
 * to the reply and live as long, except those of the answer.  Return false, and do not write
 * *@ret, if @reply is NULL or of another noun, if there is no such row, or if the size is not
 * set.  O(members * values). */
USHER_API bool usher_queue_answer_of(const struct usher_reply *reply, struct usher_queue_answer *ret);
USHER_API bool usher_queue_settings_of(const struct usher_reply *reply, struct usher_queue_settings *ret);
USHER_API bool usher_queue_statistics_of(const struct usher_reply *reply, struct usher_queue_statistics *ret);
USHER_API bool usher_queue_row_of(const struct usher_reply *reply, size_t i, struct usher_queue_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
