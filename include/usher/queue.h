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
 * room of any queue ever has the same id.  "" if @no is 0.  Returns @to. */
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

/* ---- made by src/calls/make.py: do not edit -------------------------------------------- */
/* clang-format off */

struct usher_reply;

/* What a call of the noun `queue` may be given: the verbs that take it stand in front, if they
 * are few.  0 or NULL is not given; USHER_NONE is none, never, off, and so is "".  What the verb
 * does not take is USHER_INVALID. */
struct usher_queue_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: do not wait, usher_collect() gives the reply with this tag */
    int64_t timeout_ms; /* so long at most; not given: the engine's */
    const char *request; /* request id: a repeat gets the first answer */
    int64_t now_ms; /* the time of the command; not given: the engine's clock */
    int64_t wait; /* replicas to wait for, when it is done */
    const char *agent; /* alive, history: who serves users */
    const char *user; /* alive, finish, history: who wants to be served */
    /* apply, list, stats, move: a kind of work; "default" if none is named; a queue has 1,000
     * at most */
    const char *lane;
    /* login: lanes that the agent serves, at most 16, in any order; * or none: all */
    const char *lanes;
    int64_t capacity; /* login: rooms of the agent; 1 to 32; default 1 */
    int64_t level; /* login: for strategy=level: lower levels first; 0 to 1000 */
    int64_t priority; /* apply, move: larger first; users who name none have 0; 0 to 1000 */
    /* apply, history, move: arrival, which gives the place: not later than now; history: ended
     * then or later */
    int64_t since_ms;
    int64_t until_ms; /* history, drain: that ended then or earlier */
    /* names the login, visit or match, else stale; drain: drop the visits up to this version */
    uint64_t token;
    int64_t state; /* list: those in this state, not those who wait */
    const char *after; /* list, agents, history: go on where a page ended: its next */
    /* the most rows, or changes of a sweep; a page ends after 256 records, a sweep after 64
     * changes; 1 to 10,000 */
    int64_t max;
    int64_t if_version; /* only if it has this version, else stale; 1 to 2^53 - 1 */
    uint64_t epoch; /* only if it has this epoch, as answered, else stale */
    int64_t since_version; /* changes: of the changes after this version; 0 to 2^53 - 1 */
    /* login: names the connection of the agent; another one takes over, and gets a new token */
    const char *session;
};
#ifdef __cplusplus
#define USHER_QUEUE_OPTIONS_INIT \
    { sizeof(struct usher_queue_options), NULL, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, \
    0, 0, 0, 0, NULL, 0, 0, 0, 0, NULL }
#else
#define USHER_QUEUE_OPTIONS_INIT { .size = sizeof(struct usher_queue_options) }
#endif

/* Settings: not given, they stay as they are, or of what is made anew have their defaults;
 * USHER_NONE is none, never, off.  As they come back they can be given again. */
struct usher_queue_settings {
    size_t size; /* set by …_INIT */
    /* an agent or user that gives no sign of life for this time is gone; none: none ever is;
     * default 15s */
    int64_t ttl_ms;
    /* enum usher_queue_trigger; who brings users and agents together: arrival and idleness,
     * match, pull; default auto */
    int64_t trigger;
    /* enum usher_queue_strategy; which of several open agents is given a user; default
     * longest-idle */
    int64_t strategy;
    /* an agent has to accept within this time; none: users are seated at once; default none */
    int64_t offer_ms;
    /* after a visit the agent gets no user for this time; none: it gets one at once; default
     * none */
    int64_t wrapup_ms;
    /* most waiting users, with those that are away; none: no limit; 0 to 1,000,000,000;
     * default none */
    int64_t limit;
    /* a user that has waited for this time leaves; an offer is not cut; none: never; default
     * none */
    int64_t maxwait_ms;
    /* a user without a heartbeat keeps its place for this time; none: none; default none */
    int64_t grace_ms;
    /* enum usher_queue_requeue; users of an agent that is gone wait again, or leave; default
     * front */
    int64_t requeue;
    /* how many ended visits the queue keeps, with archive=0; a history has them besides; 0 to
     * 1,000,000; default 1000 */
    int64_t history;
    /* for what is counted by day: minutes east of UTC; none: UTC; -1440 to 1440; default none */
    int64_t zone_min;
    int64_t service_ms; /* service level: share of users seated within this time; default 20s */
    /* how many answers are kept for request ids; 1 to 1,000,000; default 10,000 */
    int64_t requests;
    /* keep ended visits for a history; refuse users while this number of visits waits for it;
     * see usher/history.h; 0 to 1,000,000,000; default none */
    int64_t archive;
    /* how many notices are kept for changes and watch; none: none; 0 to 100,000; default none */
    int64_t log;
    /* an agent that has refused or missed a user is not offered it again before this time;
     * default 5s */
    int64_t ask_again_ms;
    int64_t strict; /* 1: commands about an agent, a user or a room need the token; default none */
};
#ifdef __cplusplus
#define USHER_QUEUE_SETTINGS_INIT \
    { sizeof(struct usher_queue_settings), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_QUEUE_SETTINGS_INIT { .size = sizeof(struct usher_queue_settings) }
#endif

/* An answer, written whatever the status.  What it has nothing to say of is USHER_NONE, "", of a
 * token 0. */
struct usher_queue_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* 0: the scope does not exist */
    uint64_t version; /* after the command; of USHER_LOST the last one known not to be lost */
    int64_t due_ms; /* nothing of the scope changes by itself before; USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: so many have it */
    bool repeated; /* the kept answer of an earlier command with this request id */
    bool more; /* not all yet: ask again */
    char message[USHER_MESSAGE_MAX]; /* one line, "" when there is nothing to say */
    int64_t agent_state; /* of the agent */
    int64_t place; /* alive, apply, where, move: where the user is */
    int64_t why; /* why not */
    int64_t index; /* alive, apply, where, move: users ahead in the lane */
    int64_t wait_ms; /* alive, apply, where, move: how long it will wait, by estimate */
    int64_t until_ms; /* alive, apply, where, move: when it ends by itself */
    uint64_t token; /* of a hold: another one for every later hold of the scope */
    int64_t login; /* version of the login */
    int64_t rooms; /* places of the agent */
    int64_t count; /* sweep, free, drain, drop: how many were done */
    char room[USHER_QUEUE_ROOM_MAX]; /* the place of an agent that a user has: EPOCH.LOGIN.NO */
    char user[USHER_NAME_MAX + 1]; /* leave, finish, accept, reject: a user who wants an agent */
    char agent[USHER_NAME_MAX + 1]; /* an agent */
    char after[USHER_NAME_MAX + 1]; /* list, agents, history: where the page before ended */
    int64_t since_version; /* changes: a version */
    /* alive, apply, where, move: of a visit: another one for every later visit of the queue */
    uint64_t visit_token;
};
#ifdef __cplusplus
#define USHER_QUEUE_ANSWER_INIT \
    { sizeof(struct usher_queue_answer), 0, 0, 0, 0, 0, false, false, "", 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, "", "", "", "", 0, 0 }
#else
#define USHER_QUEUE_ANSWER_INIT { .size = sizeof(struct usher_queue_answer) }
#endif

/* One row of a reply.  Texts are the reply's and live as long; what does not apply is
 * USHER_NONE, NULL, of a token 0. */
struct usher_queue_row {
    size_t size; /* set by …_INIT */
    const char *user; /* a user who wants an agent */
    const char *agent; /* an agent */
    const char *lane; /* the line in which a user waits */
    const char *lanes; /* lines that an agent serves, "A,B", or * for all */
    const char *room; /* the place of an agent that a user has: EPOCH.LOGIN.NO */
    int64_t user_state; /* of the user */
    int64_t agent_state; /* of the agent */
    int64_t outcome; /* how the visit ended */
    int64_t priority; /* larger ones are first */
    int64_t since_ms; /* when it began */
    int64_t applied_ms; /* since when it waits, or did */
    int64_t matched_ms; /* when it was given to the agent */
    int64_t until_ms; /* when it ends by itself */
    int64_t finished_ms; /* when the visit ended */
    int64_t waited_ms; /* how long it waited */
    int64_t talked_ms; /* how long it was with the agent */
    uint64_t token; /* of a hold: another one for every later hold of the scope */
    int64_t version; /* at which this was set */
    int64_t login; /* version of the login */
    int64_t capacity; /* so many at a time */
    int64_t used_rooms; /* places taken */
    int64_t served; /* visits that it has had */
    int64_t level; /* rank of an agent, smaller first */
    int64_t logged_in_ms; /* when the agent came */
    int64_t state_since_ms; /* since when it is in its state */
    struct usher_text value; /* a value */
    int64_t verb; /* of a change */
    const char *subject; /* what a change is about */
    int64_t before; /* the version before */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    const char *owner; /* who holds it */
    struct usher_text data; /* of a change: what it takes to make it in a copy */
    int64_t time_ms; /* of the change */
    uint64_t visit_token; /* of a visit: another one for every later visit of the queue */
};
#ifdef __cplusplus
#define USHER_QUEUE_ROW_INIT \
    { sizeof(struct usher_queue_row), NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, 0, NULL, 0, 0, 0, NULL, { NULL, 0 }, 0, 0 }
#else
#define USHER_QUEUE_ROW_INIT { .size = sizeof(struct usher_queue_row) }
#endif

/* Figures.  What there is none of is USHER_NONE. */
struct usher_queue_statistics {
    size_t size; /* set by …_INIT */
    int64_t waiting; /* users who wait */
    int64_t users_away; /* users who wait, and are silent */
    int64_t offered; /* users offered to an agent */
    int64_t seated; /* users with an agent */
    int64_t agents; /* agents logged in */
    int64_t agents_idle; /* of them free */
    int64_t agents_offered; /* of them asked to accept */
    int64_t agents_busy; /* of them with a user */
    int64_t agents_wrapup; /* of them in their time after a visit */
    int64_t agents_paused; /* of them paused */
    int64_t longest_wait_ms; /* of the user that has waited longest */
    int64_t longest_since_ms; /* since the arrival of the waiting user that came first */
    int64_t seated_today; /* since local midnight */
    int64_t abandoned_today; /* left without an agent */
    int64_t timeout_today; /* waited longer than maxwait */
    int64_t finished_today; /* visits that ended */
    int64_t service_level; /* seated within service, of 10,000 */
    int64_t mean_wait_ms; /* mean of those seated today */
    int64_t mean_talk_ms; /* mean of visits that ended today */
    int64_t dropped_today; /* of them by force or loss */
    int64_t visits; /* ended visits kept */
};
#ifdef __cplusplus
#define USHER_QUEUE_STATISTICS_INIT \
    { sizeof(struct usher_queue_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0 }
#else
#define USHER_QUEUE_STATISTICS_INIT { .size = sizeof(struct usher_queue_statistics) }
#endif

/* All calls: @e, then the queue, then what the verb is about, then @opt (NULL: nothing), then
 * where the answer goes (NULL: nowhere).  A reply is the caller's, who gives it back with
 * usher_reply_done(); it is NULL if the call itself failed.  With opt->post the call returns as
 * usher_post() does, and the answer comes as an event.  Besides what each one names they return
 * USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: it may have been
 * applied), USHER_LOST and USHER_NOMEM; usher_message() says more.  Any thread.  Since 0.1. */

/**
 * Change those settings of @queue that are given (NULL: none, they are only read); it comes into
 * being if need be.  The reply has all of them: usher_queue_settings_of().
 * Another ttl or maxwait reaches all agents and users that are there.  maxwait counts from the
 * time since when a user waits; if that is over already, the user leaves 1 ms after the change.
 * A raised ttl counts from the last sign of life; one that is lowered, or set where there was
 * none, counts from the change.  With ttl 0 no silent agent or user ends.
 * strict: logout, pause, ready, pull, alive, leave, move, accept, reject and finish are
 * USHER_INVALID without a token.
 * USHER_OK, USHER_SAME; USHER_MISSING: none is given, and there is no such queue.  O(1); this and
 * the next commands change deadlines (ttl, maxwait) and ranks (strategy), and give waiting users
 * to agents if it makes trigger auto, in bounded steps.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_set(struct usher_engine *e, const char *queue,
                                            const struct usher_queue_settings *settings,
                                            const struct usher_queue_options *opt,
                                            struct usher_reply **ret);

/**
 * @agent comes to work, with opt->capacity rooms (not given: 1), 1 to capacity of the answer's
 * login: usher_queue_room_name().  lanes: "A,B", not given: all.  level is for strategy level.
 * Waiting users are matched at once.  An agent that gives no sign of life for ttl_ms of the
 * settings (15 s by default) is gone: usher_queue_alive().
 * session names the connection of the agent.  With another one than it has, the login goes on, with
 * a new token, and commands with the token before are USHER_STALE: rooms and users stay.
 * USHER_OK: the answer has token; USHER_SAME: it is logged in like that (a sign of life), or no
 * session is given; USHER_REFUSED: it is with other arguments.  O(lanes * log n).
 * Takes opt->lanes, opt->capacity, opt->level, opt->if_version, opt->epoch, opt->session.
 */
USHER_API enum usher_status usher_queue_login(struct usher_engine *e, const char *queue,
                                              const char *agent,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * @agent goes; its users wait again at their places, or leave (requeue).  A pause is over, also
 * that of an agent that was dropped for its silence.  USHER_OK, USHER_SAME (not there); USHER_STALE:
 * opt->token is of another login.  After
 * USHER_NOMEM of a memory store some of them may have done so; a repeat goes on.
 * O(capacity * log n).
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_logout(struct usher_engine *e, const char *queue,
                                               const char *agent,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * Nobody more for @agent once its rooms are empty (until then it is told as pausing).  It lasts
 * until usher_queue_ready() or usher_queue_logout(): an agent that is dropped for its silence is
 * paused after its next login.  A wrap-up goes on after the next login likewise, also after
 * usher_queue_logout().  USHER_OK, USHER_SAME, USHER_MISSING; USHER_STALE as usher_queue_logout().
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_pause(struct usher_engine *e, const char *queue,
                                              const char *agent,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * End pause and wrap-up of @agent.  USHER_OK, USHER_SAME, USHER_MISSING; USHER_STALE as
 * usher_queue_logout().
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_ready(struct usher_engine *e, const char *queue,
                                              const char *agent,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * Heartbeat of opt->agent, whose rooms are the rows, or of opt->user, and where it is: the answer;
 * one that was away is back at its place.  USHER_OK, USHER_MISSING; USHER_STALE: opt->token is of
 * another login, or another visit, and this was no heartbeat.  O(log n).
 * Takes opt->agent, opt->user, opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_alive(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * The rooms of @agent as rows, and who is in them.  No heartbeat.  USHER_OK, USHER_MISSING.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_room(struct usher_engine *e, const char *queue,
                                             const char *agent,
                                             const struct usher_queue_options *opt,
                                             struct usher_reply **ret);

/**
 * @user asks for an agent: a room at once, an offer, or a place in its lane (not given:
 * "default").  priority: larger first, to USHER_QUEUE_PRIORITY_MAX.  since_ms: arrival, for the
 * place; not given: now.  A user that gives no sign of life for ttl_ms of the settings (15 s by
 * default) is gone: usher_queue_alive().  Again, it is a sign of life and changes neither place
 * nor index (USHER_SAME).  So who repeats it in place of usher_queue_alive(), with the since_ms of the first
 * time, until seated, has the old place even if the store has lost it.
 *
 * USHER_OK, USHER_SAME  the answer has place, room, agent, token, visit_token, index, wait_ms.
 * USHER_EMPTY           no logged-in agent serves the lane, and the user does not wait.
 * USHER_FULL            a limit is reached, and the user does not wait.
 * USHER_REFUSED         the user waits in another lane: usher_queue_move().
 *
 * O(log n).
 * Takes opt->lane, opt->priority, opt->since_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_apply(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * Where @user is.  No heartbeat.  USHER_OK, USHER_MISSING; USHER_STALE as usher_queue_leave().
 * O(log n).
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_where(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * @user goes, from wherever it is.  USHER_OK, USHER_MISSING; USHER_STALE: opt->token is not the
 * visit_token of this visit.  O(log n).
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_leave(struct usher_engine *e, const char *queue,
                                              const char *user,
                                              const struct usher_queue_options *opt,
                                              struct usher_queue_answer *ret);

/**
 * The visit in @room is over; the next user may be in it when this returns.  With @token (0: not
 * given) or opt->user only if it is that one's visit: a late finish ends no other.
 * USHER_OK; USHER_STALE; USHER_LOST: the store has lost the login or the visit that it is of;
 * USHER_REFUSED: nobody is seated there; USHER_MISSING: no such room.  O(log n).
 * Takes opt->user, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_finish(struct usher_engine *e, const char *queue,
                                               const char *room, uint64_t token,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * @agent takes @user, who is offered to it.  USHER_OK; USHER_SAME: seated already; USHER_REFUSED:
 * not offered to it; USHER_STALE: opt->token is not that of its offer or room; USHER_MISSING.
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_accept(struct usher_engine *e, const char *queue,
                                               const char *agent, const char *user,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * @agent does not take @user, who waits again at its place, for other agents first: see `again`.
 * USHER_OK, USHER_REFUSED, USHER_MISSING; USHER_STALE as usher_queue_accept().
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_reject(struct usher_engine *e, const char *queue,
                                               const char *agent, const char *user,
                                               const struct usher_queue_options *opt,
                                               struct usher_queue_answer *ret);

/**
 * @agent asks for the next user: the answer has user, room, token.  USHER_OK; USHER_EMPTY;
 * USHER_REFUSED: not open (full, paused, wrap-up); USHER_MISSING; USHER_STALE as
 * usher_queue_logout().
 * Takes opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_pull(struct usher_engine *e, const char *queue,
                                             const char *agent,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * Match all that can be, 64 at most (then there is more): each row has the user and the agent.
 * USHER_OK; USHER_SAME: nothing to match.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_match(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * Apply what is due now, opt->max changes at most and never more than 64.  Never needed for
 * correctness.  While the reply has more, ask again; rows are the matches that came of it.
 * USHER_OK: it made a version, and the answer has count, of the ends that made one; USHER_SAME,
 * USHER_MISSING.
 * Takes opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_sweep(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * Users in opt->state (not given: waiting) of opt->lane (not given: all) in order as rows, opt->max
 * (not given: 100) at most, behind opt->after.  While the reply has more, go on after its
 * answer's after.  USHER_OK, USHER_MISSING.
 * Takes opt->lane, opt->state, opt->after, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_list(struct usher_engine *e, const char *queue,
                                             const struct usher_queue_options *opt,
                                             struct usher_reply **ret);

/**
 * Agents in byte order, in pages likewise.  USHER_OK, USHER_MISSING.
 * Takes opt->after, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_agents(struct usher_engine *e, const char *queue,
                                               const struct usher_queue_options *opt,
                                               struct usher_reply **ret);

/**
 * Ended visits, the latest first, in pages likewise: those of opt->user, opt->agent, that ended
 * from opt->since_ms to opt->until_ms.  Those that the queue keeps, and behind them those of the
 * engine's history, or without one those of the history within the store (SQLite: all that ever
 * ended).  USHER_OK, USHER_MISSING.
 * Takes opt->agent, opt->user, opt->since_ms, opt->until_ms, opt->after, opt->max,
 * opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_history(struct usher_engine *e, const char *queue,
                                                const struct usher_queue_options *opt,
                                                struct usher_reply **ret);

/**
 * Take away ended visits that the queue keeps, the oldest first.  With an engine that has a
 * history they are in it before they are taken away; one without gives them as rows, and takes
 * away only those to opt->token, a version of a row, or all that ended by opt->until_ms.
 * USHER_OK: the answer has count; USHER_SAME: there was none; USHER_MISSING; USHER_UNAVAILABLE:
 * not all, the others stay in the store.
 * Takes opt->until_ms, opt->token, opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_drain(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * Figures of opt->lane, or of all of @queue: usher_queue_statistics_of().  longest_wait counts
 * from the time since when a user waits (applied), but not from before its arrival, which
 * usher_queue_move() can set later; longest_since counts from arrival.  The reply has more if
 * figures are too small: of over 1,000 agents that serve the lane 1,000 are counted; or over 1,000
 * users that wait again, or have a given arrival, stand before the one that has waited longest.
 * USHER_OK, USHER_MISSING.  O(lanes), with opt->lane O(agents that name the lane), 1,000 at most.
 * Takes opt->lane, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_stats(struct usher_engine *e, const char *queue,
                                              const struct usher_queue_options *opt,
                                              struct usher_reply **ret);

/**
 * For operators: another opt->lane, opt->priority (USHER_NONE: 0) or arrival opt->since_ms for
 * @user, who waits.  USHER_OK, USHER_SAME; USHER_REFUSED: it does not wait; USHER_MISSING;
 * USHER_STALE as usher_queue_leave().
 * Takes opt->lane, opt->priority, opt->since_ms, opt->token, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_move(struct usher_engine *e, const char *queue,
                                             const char *user,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * For operators: end all visits of @agent by force and make it ready.  While the answer has more,
 * ask again.  USHER_OK: count; USHER_SAME, USHER_MISSING.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_free(struct usher_engine *e, const char *queue,
                                             const char *agent,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * For operators: erase @queue, whatever is in it, in bounded steps: while the answer has more, ask
 * again.  usher_drop() does that.  USHER_OK: the answer has count, in records; USHER_SAME: there
 * is none; USHER_REFUSED: it keeps ended visits for the history (archive).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_queue_drop(struct usher_engine *e, const char *queue,
                                             const struct usher_queue_options *opt,
                                             struct usher_queue_answer *ret);

/**
 * Notices of the changes after opt->since_version as rows, opt->max (not given: 100) at most,
 * oldest first: all that @queue keeps by its setting log.  until_ms is when the state ends that
 * `to` names, 0 if only a heartbeat or a command ends it.  In a notice of a user, owner and token
 * are those of the room or offer, also where it has ended (missed, rejected, requeued), and data
 * has lane; priority and since, the arrival, while the user is in the queue; outcome of a visit
 * that has ended; with an owner room, LOGIN.N (usher_queue_room_name() gives the id that answers
 * have), agent_state, the state of the agent after the change, and agent_until, the end of its
 * wrap-up.  data of USHER_QUEUE_LOGIN has lanes, capacity and level.  Applies nothing that is due.
 * USHER_OK, USHER_MISSING; USHER_REFUSED: no log is kept; USHER_STALE: it does not reach back so
 * far (the answer's since_version says how far), or it is newer than the queue; USHER_LOST.
 * usher_watch_events() follows it.
 * Takes opt->max, opt->epoch, opt->since_version.
 */
USHER_API enum usher_status usher_queue_changes(struct usher_engine *e, const char *queue,
                                                const struct usher_queue_options *opt,
                                                struct usher_reply **ret);

/* What @reply says, as a struct: its answer, its settings or figures, row @i.  Texts of all but
 * the answer are the reply's and live as long.  False, and *@ret is not written: NULL, another
 * noun's, no such row, or a size that is not set.  O(members * values). */
USHER_API bool usher_queue_answer_of(const struct usher_reply *reply, struct usher_queue_answer *ret);
USHER_API bool usher_queue_settings_of(const struct usher_reply *reply, struct usher_queue_settings *ret);
USHER_API bool usher_queue_statistics_of(const struct usher_reply *reply, struct usher_queue_statistics *ret);
USHER_API bool usher_queue_row_of(const struct usher_reply *reply, size_t i, struct usher_queue_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
