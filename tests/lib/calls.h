/* SPDX-License-Identifier: MIT */
/*
 * What tests ask an engine by operations, one function a verb.  The calls that programs make are
 * tried by tests/model/test_calls.c, which compares them with values.
 */
#ifndef USHER_TESTS_LIB_CALLS_H
#define USHER_TESTS_LIB_CALLS_H

#include <usher/replica.h>
#include <usher/store/operation.h>

/* ---- numbers: a shared pool ------------------------------------------------------- */

/* One number held for one call. */
struct ask_number_hold {
    /* Fencing token: another one for each hold of the pool, whatever its store has lost meanwhile,
     * and larger for every later one, but where two servers were masters at the same time: those of
     * the one that is given up may be larger than those of the other.  One of a store that has no
     * identity (memory) as long as the pool is not made anew. */
    uint64_t token;
    int64_t until_ms; /* 0: until hangup */
    uint64_t epoch, version;
    char number[USHER_NAME_MAX + 1];
};

/*
 * Statuses common to all number functions: USHER_INVALID (an argument; or the engine was
 * opened before a fork), USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: may
 * have been applied), USHER_NOMEM.  Each function names the others.
 * The transition table is src/core/number.def (`usher tables number`).
 */

/** Put @number into @pool, idle+down; the pool comes into being with its first number.
 *  @group may be NULL.  USHER_OK; USHER_SAME if it is there (its group stays). O(log n). */
USHER_API enum usher_status ask_number_add(struct usher_engine *e, const char *pool,
                                           const char *number, const char *group);

/** Take @number out of @pool, even in a call.  Its calls of the day are remembered (of the last
 *  10,000 numbers) should it be put back.  USHER_OK; USHER_SAME if it is not there.  O(log n). */
USHER_API enum usher_status ask_number_del(struct usher_engine *e, const char *pool,
                                           const char *number);

/** Register: @number may be given out.  USHER_OK, USHER_SAME, USHER_MISSING.  O(log n). */
USHER_API enum usher_status ask_number_reg(struct usher_engine *e, const char *pool,
                                           const char *number);

/** Unregister; a call under way goes on.  USHER_OK, USHER_SAME, USHER_MISSING. O(log n). */
USHER_API enum usher_status ask_number_unreg(struct usher_engine *e, const char *pool,
                                             const char *number);

struct ask_number_call_options {
    size_t size;         /* set by ASK_NUMBER_CALL_OPTIONS_INIT */
    const char *number;  /* this one, or NULL: the pool's order decides */
    const char *groups;  /* "A,B,*": tried in order, * is any; NULL: any */
    const char *sticky;  /* the callee: prefer the number last used for it; or NULL */
    int64_t lease_ms;    /* 0: the pool's; < 0: until hangup */
    const char *request; /* request id or NULL */
    /* The machine that carries the call, or NULL: with it go all of its calls at once, while @owner
     * names this one. */
    const char *node;
};
/* clang-format off */
#ifdef __cplusplus
#define ASK_NUMBER_CALL_OPTIONS_INIT { sizeof(struct ask_number_call_options) }
#else
#define ASK_NUMBER_CALL_OPTIONS_INIT { .size = sizeof(struct ask_number_call_options) }
#endif
/* clang-format on */

/**
 * Take a free number of @pool for one call of @owner (may be NULL: nobody in particular).
 *
 * The number stays busy until ask_number_hangup(), or until the lease ends after the last
 * ask_number_renew() if there is a lease.  Asking again with the same @owner returns the
 * number already held (USHER_SAME).  @opt may be NULL.
 *
 * USHER_OK, USHER_SAME  *@ret_hold is written
 * USHER_EMPTY           nothing is free; usher_message() says why and until when
 * USHER_MISSING         opt->number is not in the pool
 * USHER_REFUSED         opt->number is busy, unregistered, resting, or has had its calls of the day
 * USHER_UNKNOWN         no answer: ask again with the same @owner or request id
 *
 * Cost: O(log n).  Threads: any.  Since 0.1.  Table: event `call`.
 */
USHER_API enum usher_status ask_number_call(struct usher_engine *e, const char *pool,
                                            const char *owner,
                                            const struct ask_number_call_options *opt,
                                            struct ask_number_hold *ret_hold);

/**
 * End the call on @number.  @token 0: not given (refused by a strict pool).  @rest_ms is how
 * long the number rests before it is offered again, < 0: the pool's; 0 ends the rest of one
 * whose call is over already.
 * USHER_OK; USHER_STALE if @token is not the current one: somebody else's call goes on;
 * USHER_LOST if the store has lost what @token was given for: the number may be somebody else's;
 * USHER_REFUSED if it is not busy; USHER_MISSING.  O(log n).
 */
USHER_API enum usher_status ask_number_hangup(struct usher_engine *e, const char *pool,
                                              const char *number, uint64_t token, int64_t rest_ms);

/**
 * Extend a hold: it ends @lease_ms from now (0: as long as its last lease; < 0: at hangup).
 * USHER_OK, USHER_SAME; USHER_STALE, USHER_LOST, USHER_REFUSED, USHER_MISSING as for hangup.
 * @ret_until_ms may be NULL.  O(log n).
 */
USHER_API enum usher_status ask_number_renew(struct usher_engine *e, const char *pool,
                                             const char *number, uint64_t token, int64_t lease_ms,
                                             int64_t *ret_until_ms);

/**
 * As ask_number_renew() of @hold->number and @hold->token, by @owner, who takes the number back
 * if the store has lost that it was given out and nobody else has it: though it is not registered,
 * rests, or has had its calls of the day.  @hold is then a new one, with another token; asked
 * again, it is the same, so no request id is needed.  It ends with the call: do not call
 * ask_number_call() besides.
 *
 * @opt may be NULL, or that of the call.  lease_ms: it ends so long from now (0: as long as its
 * last lease, one taken back as long as the pool's; < 0: at hangup).  node: of one that is taken
 * back; one that is there keeps the node, or none, that it began with, as it does when
 * ask_number_call() is asked again.  What else is in *@opt is not looked at.
 *
 * USHER_OK, USHER_SAME  *@hold is written
 * USHER_LOST            somebody else has the number, or it is not in the pool any more
 * USHER_STALE, USHER_REFUSED, USHER_MISSING  as for hangup
 *
 * Cost: O(log n).  Threads: any.  Since 0.1.  Table: events `renew`, `retake`.
 */
USHER_API enum usher_status ask_number_renew_as(struct usher_engine *e, const char *pool,
                                                const char *owner,
                                                const struct ask_number_call_options *opt,
                                                struct ask_number_hold *hold);

/**
 * For operators: end the rest of @number, however long it was to be.  Its calls of the day stay: if
 * the pool's cap is reached, no call gets it before the cap is raised or the day is over.
 * USHER_OK; USHER_SAME if it does not rest; USHER_MISSING.  O(log n).
 */
USHER_API enum usher_status ask_number_lift(struct usher_engine *e, const char *pool,
                                            const char *number);

/**
 * Extend all holds of @node, as ask_number_renew() does one: in bounded steps, oldest first, each
 * a change of its own.  @ret_renewed may be NULL.
 * USHER_OK; USHER_SAME if there was nothing to extend; USHER_MISSING: no such pool.
 */
USHER_API enum usher_status ask_number_renew_node(struct usher_engine *e, const char *pool,
                                                  const char *node, int64_t lease_ms,
                                                  uint64_t *ret_renewed);

/**
 * For operators: end calls by force.  Those of @owner, or that on @number.  Works in bounded
 * steps until none is left.  @ret_freed may be NULL.
 * USHER_OK; USHER_SAME if there was nothing to free; USHER_MISSING: no such pool or number;
 * USHER_INVALID: neither is given.
 */
USHER_API enum usher_status ask_number_free(struct usher_engine *e, const char *pool,
                                            const char *owner, const char *number,
                                            uint64_t *ret_freed);

/** The same for every call of @pool. */
USHER_API enum usher_status ask_number_free_all(struct usher_engine *e, const char *pool,
                                                uint64_t *ret_freed);

/** The same for all calls of @node, a machine that is gone. */
USHER_API enum usher_status ask_number_free_node(struct usher_engine *e, const char *pool,
                                                 const char *node, uint64_t *ret_freed);

/** One number, as it is with all due expiries applied; texts live in *@ret_reply until
 *  usher_result_done().  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status ask_number_show(struct usher_engine *e, const char *pool,
                                            const char *number, struct usher_result *ret_reply);

/** Numbers in byte order after @after (NULL: from the start), at most @max (0: 100) rows.
 *  @state -1: all.  With @owner (not NULL: only what it holds) or a busy state: calls, oldest
 *  first, from the index of what is held.  When reply.of.number.more, go on after
 *  reply.of.number.number: a number or, of calls, the token of the last one.
 *  USHER_OK, USHER_MISSING (no such pool).  One page looks at USHER_PAGE_MAX numbers
 *  at most. */
USHER_API enum usher_status ask_number_list(struct usher_engine *e, const char *pool, int state,
                                            const char *owner, const char *after, size_t max,
                                            struct usher_result *ret_reply);

/** The calls of @node in the same way, oldest first. */
USHER_API enum usher_status ask_number_list_node(struct usher_engine *e, const char *pool,
                                                 const char *node, const char *after, size_t max,
                                                 struct usher_result *ret_reply);

/** USHER_OK, USHER_MISSING.  O(1) plus expiries that are due. */
USHER_API enum usher_status ask_number_stats(struct usher_engine *e, const char *pool,
                                             struct usher_number_result_statistics *ret_stats);

/** Change those settings of @pool that @given names (USHER_GIVEN_…; 0: just read them); the
 *  pool comes into being if need be.  A change of order holds for numbers as they become
 *  idle; those idle before go first.  @inout has all of them on return.
 *  USHER_OK, USHER_SAME; USHER_MISSING (@given is 0 and there is no such pool). */
USHER_API enum usher_status ask_number_set(struct usher_engine *e, const char *pool, uint64_t given,
                                           struct usher_number_result_settings *inout);

/** Apply due expiries now, in bounded steps until none is left.  Never needed for
 *  correctness.  @ret_expired may be NULL.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status ask_number_sweep(struct usher_engine *e, const char *pool,
                                             uint64_t *ret_expired);

/* What ask_number_bulk() did, by answer. */
struct ask_number_bulk_counts {
    uint64_t ok, same, other; /* other: missing or refused */
};

/**
 * @verb (USHER_NUMBER_ADD, _DEL, _REG or _UNREG) for each of @n numbers, in batches.
 * @group is for ADD, or NULL.  Stops after the first batch with a failure; *@ret_counts (may
 * be NULL) then says how far it came.
 */
USHER_API enum usher_status ask_number_bulk(struct usher_engine *e, enum usher_verb verb,
                                            const char *pool, const char *const *numbers, size_t n,
                                            const char *group,
                                            struct ask_number_bulk_counts *ret_counts);

struct usher_engine;
struct usher_result;

/*
 * Statuses common to all queue functions: USHER_INVALID (an argument; or the engine was opened
 * before a fork), USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: may have been
 * applied), USHER_NOMEM.  Each function names the others; usher_message() says more.  Threads: any.
 * Times are Unix ms.  Rows of replies live until usher_result_done().  What the verbs mean exactly:
 * src/core/queue_verbs.def; the transition tables: `usher tables agent`, `usher tables user`.
 */

/* Where a user is. */
struct ask_queue_seat {
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
USHER_API enum usher_status ask_queue_set(struct usher_engine *e, const char *queue, uint64_t given,
                                          struct usher_queue_result_settings *inout);

/**
 * @agent comes to work, with @capacity rooms (0: 1), 1 to capacity of *@ret_login (may be NULL):
 * see usher_queue_room_name().  @lanes "A,B", or NULL: all.  @level is for strategy level.  Users
 * who wait are matched at once.
 * USHER_OK; USHER_SAME if it is logged in like that (a sign of life); USHER_REFUSED if it is with
 * other arguments.  O(lanes * log n).
 */
USHER_API enum usher_status ask_queue_login(struct usher_engine *e, const char *queue,
                                            const char *agent, int64_t capacity, const char *lanes,
                                            int64_t level, uint64_t *ret_login);

/** @agent goes; its users wait again at their places, or leave (requeue).  A pause is over, also
 * that of an agent that was dropped for its silence.  USHER_OK, USHER_SAME (not there).  After
 * USHER_NOMEM of a memory store some of them may have done so; a repeat goes on. O(capacity * log
 * n). */
USHER_API enum usher_status ask_queue_logout(struct usher_engine *e, const char *queue,
                                             const char *agent);

/** Nobody more for @agent once its rooms are empty (until then it is told as PAUSING).  It lasts
 * until ask_queue_ready() or ask_queue_logout(): an agent that is dropped for its silence is
 * paused after its next login.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status ask_queue_pause(struct usher_engine *e, const char *queue,
                                            const char *agent);

/** End pause and wrap-up of @agent.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status ask_queue_ready(struct usher_engine *e, const char *queue,
                                            const char *agent);

/** Heartbeat of @agent; answers as ask_queue_room() (@ret_reply may be NULL).  USHER_OK,
 *  USHER_MISSING. */
USHER_API enum usher_status ask_queue_agent_alive(struct usher_engine *e, const char *queue,
                                                  const char *agent,
                                                  struct usher_result *ret_reply);

/** The rooms of @agent as rows, and who is in them.  No heartbeat.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status ask_queue_room(struct usher_engine *e, const char *queue,
                                           const char *agent, struct usher_result *ret_reply);

struct ask_queue_apply_options {
    size_t size;         /* set by ASK_QUEUE_APPLY_OPTIONS_INIT */
    const char *lane;    /* NULL: "default" */
    int64_t priority;    /* 0 … USHER_QUEUE_PRIORITY_MAX, larger first */
    int64_t since_ms;    /* arrival, for the place; 0: now */
    const char *request; /* request id or NULL */
};
/* clang-format off */
#ifdef __cplusplus
#define ASK_QUEUE_APPLY_OPTIONS_INIT { sizeof(struct ask_queue_apply_options) }
#else
#define ASK_QUEUE_APPLY_OPTIONS_INIT { .size = sizeof(struct ask_queue_apply_options) }
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
USHER_API enum usher_status ask_queue_apply(struct usher_engine *e, const char *queue,
                                            const char *user,
                                            const struct ask_queue_apply_options *opt,
                                            struct ask_queue_seat *ret_seat);

/** Where @user is.  No heartbeat.  USHER_OK, USHER_MISSING.  O(log n). */
USHER_API enum usher_status ask_queue_where(struct usher_engine *e, const char *queue,
                                            const char *user, struct ask_queue_seat *ret_seat);

/** Heartbeat of @user; one that was away is back at its place.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status ask_queue_user_alive(struct usher_engine *e, const char *queue,
                                                 const char *user, struct ask_queue_seat *ret_seat);

/** @user goes, from wherever it is.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status ask_queue_leave(struct usher_engine *e, const char *queue,
                                            const char *user);

/** The visit in @room is over; the next user may be in it when this returns.  With @user or
 *  @token (NULL, 0: not given) only if it is that one's visit: a late finish ends no other.
 *  USHER_OK; USHER_STALE; USHER_LOST (the store has lost the login or the visit that it is of);
 *  USHER_REFUSED (the room is empty); USHER_MISSING (no such room). */
USHER_API enum usher_status ask_queue_finish(struct usher_engine *e, const char *queue,
                                             const char *room, const char *user, uint64_t token);

/** @agent takes @user, who is offered to it.  USHER_OK, USHER_SAME (seated already),
 *  USHER_REFUSED (not offered to it), USHER_MISSING. */
USHER_API enum usher_status ask_queue_accept(struct usher_engine *e, const char *queue,
                                             const char *agent, const char *user);

/** @agent does not take @user, who waits again at its place.  USHER_OK, USHER_REFUSED,
 *  USHER_MISSING. */
USHER_API enum usher_status ask_queue_reject(struct usher_engine *e, const char *queue,
                                             const char *agent, const char *user);

/** @agent asks for the next user: the row of the match.  @ret_reply may be NULL.  USHER_OK;
 *  USHER_EMPTY; USHER_REFUSED (not open: full, paused, wrap-up); USHER_MISSING. */
USHER_API enum usher_status ask_queue_pull(struct usher_engine *e, const char *queue,
                                           const char *agent, struct usher_result *ret_reply);

/** Match all that can be, 1,000 at most (reply.of.queue.more): the rows say whom with whom.
 *  @ret_reply may be NULL.  USHER_OK; USHER_SAME (nothing to match). */
USHER_API enum usher_status ask_queue_match(struct usher_engine *e, const char *queue,
                                            struct usher_result *ret_reply);

/** Apply due deadlines now, in bounded steps until none is left.  Never needed for correctness.
 *  @ret_expired may be NULL.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status ask_queue_sweep(struct usher_engine *e, const char *queue,
                                            uint64_t *ret_expired);

/** Users in @state (-1: waiting) of @lane (NULL: all) in order, at most @max (0: 100), behind
 *  @after (NULL, or reply.of.queue.agent of the page before, when .more).  USHER_OK,
 *  USHER_MISSING. */
USHER_API enum usher_status ask_queue_list(struct usher_engine *e, const char *queue,
                                           const char *lane, int state, const char *after,
                                           size_t max, struct usher_result *ret_reply);

/** Agents in byte order, in pages likewise. */
USHER_API enum usher_status ask_queue_agents(struct usher_engine *e, const char *queue,
                                             const char *after, size_t max,
                                             struct usher_result *ret_reply);

struct ask_queue_visit_filter {
    size_t size;                /* set by ASK_QUEUE_VISIT_FILTER_INIT */
    const char *user, *agent;   /* NULL: any */
    int64_t since_ms, until_ms; /* that ended within, both included; until_ms 0: whenever */
};
/* clang-format off */
#ifdef __cplusplus
#define ASK_QUEUE_VISIT_FILTER_INIT { sizeof(struct ask_queue_visit_filter) }
#else
#define ASK_QUEUE_VISIT_FILTER_INIT { .size = sizeof(struct ask_queue_visit_filter) }
#endif
/* clang-format on */

/** Ended visits that @filter lets through (NULL: all), the latest first, in pages likewise: those
 *  that the queue keeps, and behind them those of the engine's history, or without one those of
 *  the history within the store (SQLite: all that ever ended). */
USHER_API enum usher_status ask_queue_history(struct usher_engine *e, const char *queue,
                                              const struct ask_queue_visit_filter *filter,
                                              const char *after, size_t max,
                                              struct usher_result *ret_reply);

/** Move all ended visits of @queue into the engine's history, now.  @ret_moved may be NULL.
 *  USHER_OK, USHER_SAME (there was none), USHER_MISSING; USHER_UNAVAILABLE: not all, the others
 *  stay in the store; USHER_INVALID: the engine has no history. */
USHER_API enum usher_status ask_queue_drain(struct usher_engine *e, const char *queue,
                                            uint64_t *ret_moved);

/** Figures of @lane, or (NULL) of the queue.  USHER_OK, USHER_MISSING.  O(lanes). */
USHER_API enum usher_status ask_queue_stats(struct usher_engine *e, const char *queue,
                                            const char *lane,
                                            struct usher_queue_result_statistics *ret_stats);

/** For operators: another lane (NULL: as it is), priority (-1) or arrival (-1) for @user, who
 *  waits.  USHER_OK, USHER_SAME, USHER_REFUSED (does not wait), USHER_MISSING. */
USHER_API enum usher_status ask_queue_move(struct usher_engine *e, const char *queue,
                                           const char *user, const char *lane, int64_t priority,
                                           int64_t since_ms, struct ask_queue_seat *ret_seat);

/** For operators: end all visits of @agent by force and make it ready.  @ret_freed may be NULL.
 *  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status ask_queue_free(struct usher_engine *e, const char *queue,
                                           const char *agent, uint64_t *ret_freed);

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
USHER_API enum usher_status ask_room_open(struct usher_engine *e, const char *room,
                                          const struct usher_room_result_settings *settings);

/** Close @room and erase all of it, in bounded steps until nothing is left.
 *  USHER_OK; USHER_SAME if there is none. */
USHER_API enum usher_status ask_room_close(struct usher_engine *e, const char *room);

/** Let nobody new join, or anybody again.  USHER_OK, USHER_SAME.  O(1). */
USHER_API enum usher_status ask_room_lock(struct usher_engine *e, const char *room);
USHER_API enum usher_status ask_room_unlock(struct usher_engine *e, const char *room);

/** Set @field of @room to @value.  @expected NULL: whatever it is now; else only if it is that
 *  ("": not set, or empty).  USHER_OK, USHER_SAME; USHER_STALE, USHER_FULL.  O(log n). */
USHER_API enum usher_status ask_room_set(struct usher_engine *e, const char *room,
                                         const char *field, const struct usher_text *value,
                                         const struct usher_text *expected);

/** Field @field (NULL: all) as rows; texts live in *@ret_reply until usher_result_done().
 *  USHER_OK, USHER_MISSING (no such room or field). */
USHER_API enum usher_status ask_room_get(struct usher_engine *e, const char *room,
                                         const char *field, struct usher_result *ret_reply);

/** @member comes in, with the packed @fields (may be NULL) of its own.  Again: its fields and
 *  its heartbeat.  USHER_OK; USHER_SAME: it was there, just so; USHER_REFUSED: locked, or
 *  banned; USHER_FULL.  O(log n). */
USHER_API enum usher_status ask_room_join(struct usher_engine *e, const char *room,
                                          const char *member, const struct usher_text *fields);

/** @member leaves; its roles and shares go with it.  USHER_OK, USHER_SAME.  O(log n). */
USHER_API enum usher_status ask_room_leave(struct usher_engine *e, const char *room,
                                           const char *member);

/** Put @member out, and with @ban_ms > 0 keep it out for so long; 0 lifts a ban, < 0 leaves
 *  it alone.  USHER_OK, USHER_SAME; USHER_FULL: too many bans.  O(log n). */
USHER_API enum usher_status ask_room_kick(struct usher_engine *e, const char *room,
                                          const char *member, int64_t ban_ms);

/** A heartbeat of @member.  *@ret_epoch, *@ret_version and *@ret_mark (may be NULL) are the
 *  newest that were told of: a replica that has others is behind.  USHER_OK; USHER_MISSING: it has
 *  to join (again). */
USHER_API enum usher_status ask_room_alive(struct usher_engine *e, const char *room,
                                           const char *member, uint64_t *ret_epoch,
                                           uint64_t *ret_version, uint64_t *ret_mark);

/** Set @field of @member.  As ask_room_set(); @expected is compared with what counts. */
USHER_API enum usher_status ask_room_member(struct usher_engine *e, const char *room,
                                            const char *member, const char *field,
                                            const struct usher_text *value,
                                            const struct usher_text *expected);

/** Set @field of all members at once: O(1), one short notice, however many they are.
 *  USHER_OK, USHER_FULL. */
USHER_API enum usher_status ask_room_all(struct usher_engine *e, const char *room,
                                         const char *field, const struct usher_text *value);

/** Give @role to @member ("": to nobody) if @expected (NULL: whoever; "": nobody) holds it.
 *  USHER_OK, USHER_SAME; USHER_STALE: usher_message() says who does; USHER_MISSING: no such
 *  member; USHER_FULL. */
USHER_API enum usher_status ask_room_role(struct usher_engine *e, const char *room,
                                          const char *role, const char *member,
                                          const char *expected);

/** A thing that @member shows to the others, gone when it leaves.  Again: its @fields.
 *  USHER_OK, USHER_SAME; USHER_REFUSED: it is another member's; USHER_MISSING, USHER_FULL. */
USHER_API enum usher_status ask_room_share(struct usher_engine *e, const char *room,
                                           const char *member, const char *share,
                                           const struct usher_text *fields);
USHER_API enum usher_status ask_room_unshare(struct usher_engine *e, const char *room,
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
USHER_API enum usher_status ask_room_snapshot(struct usher_engine *e, const char *room,
                                              uint64_t after, uint64_t since, size_t max,
                                              struct usher_result *ret_reply);

/** Notices of the changes after @since, at most @max (0: 100), oldest first.  USHER_STALE: the
 *  log does not reach back so far (reply.of.room.since says how far), or @since is newer than
 *  the room; USHER_LOST: take a snapshot. */
USHER_API enum usher_status ask_room_changes(struct usher_engine *e, const char *room,
                                             uint64_t since, size_t max,
                                             struct usher_result *ret_reply);

/** Give @r the answer @result to its question @q, as a client gets it: in the bytes of a reply. */
enum usher_replica_next replica_take(struct usher_replica *r,
                                     const struct usher_replica_question *q,
                                     const struct usher_result *result);

/** Apply what is due; with @ttl_ms > 0 also remove who was silent for so long.  One bounded
 *  step: rows are those removed, reply.of.room.more says that there are others. */
USHER_API enum usher_status ask_room_sweep(struct usher_engine *e, const char *room, int64_t ttl_ms,
                                           struct usher_result *ret_reply);

/* A number reserved. */
struct ask_serial_hold {
    uint64_t token;   /* larger for every later hold of the rule */
    int64_t until_ms; /* then it goes out again by itself */
    int64_t number;   /* k */
    uint64_t epoch, version;
    char serial[USHER_SERIAL_TEXT_MAX + 1];
};

/* How one number stands. */
struct ask_serial_found {
    enum usher_serial_state state;
    int64_t number;                         /* k */
    uint64_t token;                         /* of its last hold, where that is known; else 0 */
    int64_t until_ms;                       /* held: the deadline */
    char owner[USHER_NAME_MAX + 1];         /* held: by whom; "": nobody in particular */
    char serial[USHER_SERIAL_TEXT_MAX + 1]; /* as it was printed */
};

/*
 * Statuses common to all: USHER_MISSING (no such rule), USHER_REFUSED (the rule is of the other
 * mode), USHER_INVALID, USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM.  Each function names the
 * others.  All are O(log n) or better in numbers held, and none depends on how many serials a
 * call makes or takes.  Threads: any.
 */

/** Make or change rule @rule: those fields of *@inout that @given names (0: just read, and
 *  USHER_MISSING if there is none).  All of them are there on return.  USHER_OK, USHER_SAME;
 * USHER_REFUSED: numbers were made, and base, step, radix, mode and whether there is a check digit
 * stay, or max or width have no room for them, or the local day of another zone is one before; or
 * numbers are held or returned, and reset and the zone of a date stay (see usher_message()). */
USHER_API enum usher_status ask_serial_rule(struct usher_engine *e, const char *rule,
                                            uint64_t given, struct usher_serial_form *inout);

/** Delete it.  Its counters stay: made again under its name, it goes on behind them (with another
 *  base, step, radix or format, that old and new serials differ is up to whoever makes it).
 *  USHER_OK, USHER_SAME (not there); USHER_REFUSED while numbers are held or returned. */
USHER_API enum usher_status ask_serial_delete(struct usher_engine *e, const char *rule);

/** Make @n ahead (1 to USHER_SERIAL_FILL_MAX).  *@ret_made are made and *@ret_left may still be;
 *  both may be NULL.  USHER_OK; USHER_FULL: max is reached. */
USHER_API enum usher_status ask_serial_fill(struct usher_engine *e, const char *rule, int64_t n,
                                            int64_t *ret_made, int64_t *ret_left);

/**
 * Take the next @n (1 to USHER_SERIAL_TAKE_MAX), or as many as there are.  With @request (or
 * NULL) a repeat within an hour gets the same ones.  The reply tells which: as many as
 * ret_reply->of.serial.count, printed by usher_serial_text(); give it back with
 * usher_result_done().  USHER_OK; USHER_EMPTY: max is reached.
 */
USHER_API enum usher_status ask_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                            const char *request, struct usher_result *ret_reply);

/** USHER_OK. */
USHER_API enum usher_status ask_serial_check(struct usher_engine *e, const char *rule,
                                             struct usher_serial_stock *ret_stock);

/** Make as many as the demand asks for; @ret_made may be NULL.  USHER_OK; USHER_SAME: enough in
 *  stock; USHER_FULL. */
USHER_API enum usher_status ask_serial_tick(struct usher_engine *e, const char *rule,
                                            int64_t *ret_made);

/** Raise max by @step; the scope gets another epoch.  @ret_max may be NULL.  While the authority of
 *  a rule cannot be reached, what the store may give out without it is raised by @step as well: a
 *  debt, which it is told of when it is back.  USHER_OK; USHER_FULL: it would pass 2^63 - 1. */
USHER_API enum usher_status ask_serial_setmax(struct usher_engine *e, const char *rule,
                                              int64_t step, int64_t *ret_max);

/** Go on behind @cur: the stock up to there is dropped, max is raised if need be, the scope gets
 *  another epoch.  USHER_OK; USHER_SAME: it is that far already; USHER_FULL: the width has
 *  no room. */
USHER_API enum usher_status ask_serial_setmaxcur(struct usher_engine *e, const char *rule,
                                                 int64_t cur);

/** Take @serial apart.  USHER_OK; USHER_INVALID: it is none of this rule, or its check digit is
 *  wrong (usher_message()). */
USHER_API enum usher_status ask_serial_parse(struct usher_engine *e, const char *rule,
                                             const char *serial,
                                             struct usher_serial_parts *ret_parts);

/** Hold the lowest number there is for @owner (NULL: nobody in particular) for @lease_ms (0: the
 *  rule's; < 0: until it is confirmed, returned or spoilt: no clock decides).  The same owner gets
 * the number it holds (USHER_SAME).  @request may be NULL. USHER_OK; USHER_EMPTY: max is reached.
 */
USHER_API enum usher_status ask_serial_reserve(struct usher_engine *e, const char *rule,
                                               const char *owner, int64_t lease_ms,
                                               const char *request,
                                               struct ask_serial_hold *ret_hold);

/** The number is used; it is not needed and goes out again; it is spoilt.  @serial is as it was
 *  reserved, whatever has become of prefix, suffix, date and width since.  USHER_OK; USHER_SAME: it
 *  was done before under @token; USHER_STALE: @token is not the hold of @serial (any more), and
 *  nothing is changed; ask_serial_number() says what is; USHER_INVALID: no such serial is known,
 *  as there; USHER_LOST: the store has lost that it
 *  gave it out under @token, and somebody else has it.
 *
 *  If nobody has it, whoever shows the token of a hold that the store has lost settles it still; it
 *  does not go out again then, nor when it is returned.  The numbers before it that are lost as
 * well become USHER_SERIAL_STATE_LOST, as do those that an authority has granted beyond what the
 * store knows: they stand in `holds` until somebody settles them, by a token of his own that was
 * lost or by the one that is shown there (a command may settle `n` of them at once). */
USHER_API enum usher_status ask_serial_confirm(struct usher_engine *e, const char *rule,
                                               const char *serial, uint64_t token);
USHER_API enum usher_status ask_serial_return(struct usher_engine *e, const char *rule,
                                              const char *serial, uint64_t token);
USHER_API enum usher_status ask_serial_void(struct usher_engine *e, const char *rule,
                                            const char *serial, uint64_t token);

/** How @serial stands.  Writes nothing.  USHER_OK; USHER_INVALID: it is none of this rule, or its
 *  check digit is wrong (usher_message()).  One that is not printed as the rule prints now is known
 *  while its number is held or it is remembered how its last hold ended; it is looked for among the
 * 1,000 numbers longest held and the 1,000 ends of the latest holds. */
USHER_API enum usher_status ask_serial_number(struct usher_engine *e, const char *rule,
                                              const char *serial,
                                              struct ask_serial_found *ret_number);

/** Numbers held, the oldest first (by @owner, or NULL: all, and behind them those returned, whose
 * hold is over and has not been written yet before the others, which come the lowest first; and
 * those lost), at most @max rows (0: 100).  USHER_OK.  O(rows), and holds that are over. */
USHER_API enum usher_status ask_serial_holds(struct usher_engine *e, const char *rule,
                                             const char *owner, size_t max,
                                             struct usher_result *ret_reply);

/** Apply due expiries now, until none is left; never needed for correctness.  USHER_OK,
 *  USHER_SAME. */
USHER_API enum usher_status ask_serial_sweep(struct usher_engine *e, const char *rule,
                                             uint64_t *ret_expired);

/*
 * Statuses common to the functions on dispensers: USHER_INVALID, USHER_UNAVAILABLE,
 * USHER_UNKNOWN, USHER_NOMEM, as for numbers; USHER_MISSING: there is no such dispenser.
 */

/** Make dispenser @name with those settings that @given names (USHER_GIVEN_ID_…).  USHER_OK;
 *  USHER_SAME: it is there, with these settings; USHER_REFUSED: it is there with others. */
USHER_API enum usher_status ask_id_create(struct usher_engine *e, const char *name, uint64_t given,
                                          const struct usher_id_result_settings *settings);

/**
 * Take the next @n ids (1 to USHER_ID_N_MAX).  @request: a request id or NULL; a repeat with it
 * gets the same ids (they may have been given to nobody else).  One round trip.
 *
 * USHER_OK     *@ret_range is written
 * USHER_FULL   the limit is reached; if some are left, ret_range->first and n say which
 * USHER_EMPTY  the segment of a managed dispenser has not so many; it waits for `install`
 */
USHER_API enum usher_status ask_id_next(struct usher_engine *e, const char *name, int64_t n,
                                        const char *request, struct usher_id_range *ret_range);

/** Give back @range, or the rest of one from range->first on: USHER_OK if it is still the
 *  newest, so that its ids come again; USHER_STALE if not: they stay unused; USHER_LOST if the
 * store has lost that it gave them out, and may give them to others.  The caller must have used
 * none of it, and may use none from then on whatever the answer. */
USHER_API enum usher_status ask_id_return(struct usher_engine *e, const char *name,
                                          const struct usher_id_range *range);

/** How it stands.  Writes nothing. */
USHER_API enum usher_status ask_id_show(struct usher_engine *e, const char *name,
                                        struct usher_id_result_row *ret_row);

/** Change those settings that @given names (0: just read them; not START, MANAGED).  With
 *  USHER_GIVEN_ID_NEXT the counter is raised to @next, or to the first id behind it that is start +
 *  k * by.  USHER_OK, USHER_SAME: @inout has all of them.  USHER_REFUSED: the counter is higher
 *  already, or by is no multiple of what it was; inout->why says which. */
USHER_API enum usher_status ask_id_set(struct usher_engine *e, const char *name, uint64_t given,
                                       struct usher_id_result_settings *inout, int64_t next);

/** Forget @name and all it has given out: made anew, it begins again.  USHER_OK; USHER_SAME: it
 *  is not there. */
USHER_API enum usher_status ask_id_delete(struct usher_engine *e, const char *name);

/** Put a segment of @n ids from @first on into a managed dispenser whose present one ends at
 *  @max (usher_id_result_row; -1: none).  USHER_OK; USHER_STALE: it has got another one meanwhile;
 *  USHER_REFUSED: not managed, or ids below would come again. */
USHER_API enum usher_status ask_id_install(struct usher_engine *e, const char *name, int64_t first,
                                           int64_t n, int64_t max);

#endif
