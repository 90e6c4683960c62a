/* SPDX-License-Identifier: MIT */
/* Numbers of a shared pool, each for one call at a time.  Included by usher.h, which has the rules
 * for all functions. */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one in its place */
#endif
#ifndef USHER_NUMBER_H
#define USHER_NUMBER_H

#ifdef __cplusplus
extern "C" {
#endif

/* State of a number.  Codes are stored. */
enum usher_number_state {
    USHER_NUMBER_STATE_NODATA = 0,
    USHER_NUMBER_STATE_IDLE_DOWN = 1,
    USHER_NUMBER_STATE_IDLE_UP = 2,
    USHER_NUMBER_STATE_BUSY_DOWN = 3,
    USHER_NUMBER_STATE_BUSY_UP = 4,
    USHER_NUMBER_STATE__WIDE = 0x7fffffff
};
#define USHER_NUMBER_STATE_BUSY 5 /* list: either of the last two */

/* Why a call got no number. */
enum usher_number_why {
    USHER_NUMBER_WHY_NONE = 0,      /* a number was handed out, or the verb is not call */
    USHER_NUMBER_WHY_NO_NUMBER = 1, /* the pool (or the groups of the call) has no number */
    USHER_NUMBER_WHY_BUSY = 2,      /* at least one is busy and registered: it will be free again */
    USHER_NUMBER_WHY_DOWN = 3,      /* all are unregistered */
    USHER_NUMBER_WHY_RESTING = 4,   /* none is busy, at least one rests */
    USHER_NUMBER_WHY_CAPPED = 5,    /* none is busy or rests, at least one is over its daily cap */
    USHER_NUMBER_WHY_DUE = 6, /* stores only: more expiries and capped numbers came first than one
                               * command handles; the engine repeats the command */
    USHER_NUMBER_WHY__WIDE = 0x7fffffff
};

enum usher_number_order {
    USHER_NUMBER_ORDER_LONGEST_IDLE = 1, /* first in, first out, by release */
    USHER_NUMBER_ORDER_MOST_RECENT = 2,
    USHER_NUMBER_ORDER_RANDOM = 3, /* uniform, drawn from the version; alike on all stores */
    USHER_NUMBER_ORDER__WIDE = 0x7fffffff
};

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_number_state_word(enum usher_number_state state);
USHER_API const char *usher_number_why_word(enum usher_number_why why);
USHER_API const char *usher_number_order_word(enum usher_number_order order);

/* ---- made by src/calls/make.py: do not edit -------------------------------------------- */
/* clang-format off */

struct usher_reply;

/* What a call of the noun `number` may be given: the verbs that take it stand in front, if they
 * are few.  0 or NULL is not given; USHER_NONE is none, never, off, and so is "".  What the verb
 * does not take is USHER_INVALID. */
struct usher_number_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: do not wait, usher_collect() gives the reply with this tag */
    int64_t timeout_ms; /* so long at most; not given: the engine's */
    const char *request; /* request id: a repeat gets the first answer */
    int64_t now_ms; /* the time of the command; not given: the engine's clock */
    int64_t wait; /* replicas to wait for, when it is done */
    const char *number; /* call, free: the number */
    const char *owner; /* renew, free, list: who holds it: a call, a person */
    /* call, renew, free, list: the machine that carries the call; of several: all of its */
    const char *node;
    const char *group; /* add, move: where the number belongs: an area, a brand */
    const char *groups; /* call: groups to take from, tried in order; * is any */
    const char *sticky; /* call: the callee: prefer the number last used for it */
    int64_t lease_ms; /* call, renew: a hold ends by itself after this time; none: never */
    int64_t rest_ms; /* hangup: not given out for this time after a call; none: no rest */
    int64_t state; /* list: only those in this state; busy is both */
    int64_t all; /* free: every call of the pool */
    const char *after; /* renew, list: go on after this one, as answered: a number or a token */
    /* list, sweep, changes: the most rows, or changes of a sweep; a page ends after 256
     * records, a sweep after 64 changes; 1 to 10,000 */
    int64_t max;
    int64_t if_version; /* only if it has this version, else stale; 1 to 2^53 - 1 */
    uint64_t epoch; /* only if it has this epoch, as answered, else stale */
    int64_t since_version; /* changes: of the changes after this version; 0 to 2^53 - 1 */
};
#ifdef __cplusplus
#define USHER_NUMBER_OPTIONS_INIT \
    { sizeof(struct usher_number_options), NULL, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, \
    NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 0 }
#else
#define USHER_NUMBER_OPTIONS_INIT { .size = sizeof(struct usher_number_options) }
#endif

/* Settings: not given, they stay as they are, or of what is made anew have their defaults;
 * USHER_NONE is none, never, off.  As they come back they can be given again. */
struct usher_number_settings {
    size_t size; /* set by …_INIT */
    /* enum usher_number_order; which number comes first; those idle already go before; default
     * longest-idle */
    int64_t order;
    int64_t lease_ms; /* a hold ends by itself after this time; none: never; default none */
    int64_t rest_ms; /* not given out for this time after a call; none: no rest; default none */
    /* calls of a number in a local day, of all numbers at once; none: any; 0 to 1,000,000,000;
     * default none */
    int64_t daily;
    int64_t zone_min; /* local time, minutes east of UTC; none: UTC; -1440 to 1440; default none */
    int64_t strict; /* 1: hangup needs the token; default none */
    int64_t sticky_ms; /* how long the number of a callee is remembered; default 7d */
    int64_t sticky_max; /* how many callees are remembered; 0 to 1,000,000; default 10,000 */
    /* how many answers are kept for request ids, each for less than an hour; 1 to 1,000,000;
     * default 10,000 */
    int64_t requests;
    /* a number rests until this long after its last call began, also one that is idle; none:
     * no gap; default none */
    int64_t gap_ms;
    /* how many notices are kept for changes and watch; none: none; 0 to 100,000; default none */
    int64_t log;
    /* a hold ends this long after it began, however often it is renewed, also one that exists;
     * none: no limit; default none */
    int64_t lease_max_ms;
    /* a lease that ends in an outage of the store goes on for this time: two leases end, and
     * no command comes for half of this time; none: never; default none */
    int64_t outage_ms;
};
#ifdef __cplusplus
#define USHER_NUMBER_SETTINGS_INIT \
    { sizeof(struct usher_number_settings), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_NUMBER_SETTINGS_INIT { .size = sizeof(struct usher_number_settings) }
#endif

/* An answer, written whatever the status.  What it has nothing to say of is USHER_NONE, "", of a
 * token 0. */
struct usher_number_answer {
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
    int64_t why; /* call: why not */
    /* call, hangup, renew: of a hold: another one for every later hold of the scope */
    uint64_t token;
    int64_t until_ms; /* call, hangup, renew: when it ends by itself */
    int64_t next_free_ms; /* call: no number gets free by itself before this time */
    int64_t count; /* renew, free, sweep, drop: how many were done */
    char number[USHER_NAME_MAX + 1]; /* call: a number of the pool */
    char after[USHER_NAME_MAX + 1]; /* renew, list: where the page before ended */
    int64_t since_version; /* changes: a version */
    char owner[USHER_NAME_MAX + 1]; /* who holds it */
};
#ifdef __cplusplus
#define USHER_NUMBER_ANSWER_INIT \
    { sizeof(struct usher_number_answer), 0, 0, 0, 0, 0, false, false, "", 0, 0, 0, 0, 0, 0, "", \
    "", 0, "" }
#else
#define USHER_NUMBER_ANSWER_INIT { .size = sizeof(struct usher_number_answer) }
#endif

/* One row of a reply.  Texts are the reply's and live as long; what does not apply is
 * USHER_NONE, NULL, of a token 0. */
struct usher_number_row {
    size_t size; /* set by …_INIT */
    const char *number; /* a number of the pool */
    const char *group; /* the group of a number */
    const char *owner; /* who holds it */
    const char *node; /* the machine that carries the call */
    int64_t state; /* the state, after the command */
    int64_t resting; /* it rests */
    uint64_t token; /* of a hold: another one for every later hold of the scope */
    int64_t until_ms; /* when it ends by itself */
    int64_t calls_today; /* calls since local midnight */
    int64_t used_ms; /* when the last call began */
    int64_t capped; /* it has had its calls of the day */
    int64_t age_ms; /* how long it is held */
    struct usher_text value; /* a value */
    int64_t version; /* at which this was set */
    int64_t verb; /* of a change */
    const char *subject; /* what a change is about */
    int64_t before; /* the version before */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    struct usher_text data; /* of a change: what it takes to make it in a copy */
    int64_t time_ms; /* of the change */
};
#ifdef __cplusplus
#define USHER_NUMBER_ROW_INIT \
    { sizeof(struct usher_number_row), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 \
    }, 0, 0, NULL, 0, 0, 0, { NULL, 0 }, 0 }
#else
#define USHER_NUMBER_ROW_INIT { .size = sizeof(struct usher_number_row) }
#endif

/* Figures.  What there is none of is USHER_NONE. */
struct usher_number_statistics {
    size_t size; /* set by …_INIT */
    int64_t total; /* numbers */
    int64_t idle_up; /* free and registered */
    int64_t idle_down; /* free, not registered */
    int64_t busy_up; /* in a call */
    int64_t busy_down; /* in a call, not registered */
    int64_t resting_numbers; /* of those free and registered: they rest */
    int64_t calls_today; /* calls since local midnight */
    int64_t refused_today; /* calls that got nothing since local midnight */
    int64_t longest_hold_ms; /* age of the oldest hold */
    int64_t capped_numbers; /* of those free and registered: they have had their calls of the day */
};
#ifdef __cplusplus
#define USHER_NUMBER_STATISTICS_INIT \
    { sizeof(struct usher_number_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_NUMBER_STATISTICS_INIT { .size = sizeof(struct usher_number_statistics) }
#endif

/* All calls: @e, then the pool, then what the verb is about, then @opt (NULL: nothing), then
 * where the answer goes (NULL: nowhere).  A reply is the caller's, who gives it back with
 * usher_reply_done(); it is NULL if the call itself failed.  With opt->post the call returns as
 * usher_post() does, and the answer comes as an event.  Besides what each one names they return
 * USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: it may have been
 * applied), USHER_LOST and USHER_NOMEM; usher_message() says more.  Any thread.  Since 0.1. */

/**
 * Put @number into @pool, idle+down; the pool comes into being with its first number.  USHER_OK;
 * USHER_SAME: it is there, and its group stays.  O(log n).
 * Takes opt->group, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_add(struct usher_engine *e, const char *pool,
                                             const char *number,
                                             const struct usher_number_options *opt,
                                             struct usher_number_answer *ret);

/**
 * Take @number out of @pool, even in a call.  Its calls of the day are remembered (of the last
 * 10,000 numbers) should it be put back.  USHER_OK; USHER_SAME: it is not there.  O(log n).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_del(struct usher_engine *e, const char *pool,
                                             const char *number,
                                             const struct usher_number_options *opt,
                                             struct usher_number_answer *ret);

/**
 * Register @number: it may be given out.  USHER_OK, USHER_SAME, USHER_MISSING.  O(log n).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_reg(struct usher_engine *e, const char *pool,
                                             const char *number,
                                             const struct usher_number_options *opt,
                                             struct usher_number_answer *ret);

/**
 * Unregister @number; a call under way goes on.  USHER_OK, USHER_SAME, USHER_MISSING.  O(log n).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_unreg(struct usher_engine *e, const char *pool,
                                               const char *number,
                                               const struct usher_number_options *opt,
                                               struct usher_number_answer *ret);

/**
 * Take a free number of @pool for one call of @owner (NULL: nobody in particular).  It stays busy
 * until usher_number_hangup(), or until the lease ends after the last usher_number_renew() if
 * there is a lease.  Asking again with the same @owner gives the number already held.
 * groups: "A,B,*", tried in order, * is any.  sticky: the callee; the number last used for it is
 * preferred.  lease_ms: USHER_NONE: until hangup; not given: the pool's.  node: the machine that
 * carries the call; with it go all of its calls at once.
 *
 * USHER_OK       the answer has number, token, until_ms
 * USHER_SAME     @owner holds that number already
 * USHER_EMPTY    no number is free: why, and next_free_ms.  Before that time no number gets free by
 *                itself.  At that time one is free if at most 64 holds and rests end before it
 *                and no other command comes between; with more it may be earlier, never later.
 * USHER_MISSING  opt->number is not in the pool
 * USHER_REFUSED  opt->number is busy, not registered, resting, or has had its calls of the day:
 *                why, and next_free_ms
 * USHER_UNKNOWN  no answer: ask again with the same @owner or request
 *
 * The token is a fencing token: another one for each hold of the pool, whatever its store has lost
 * meanwhile, and larger for every later one, but where two servers were masters at the same time:
 * those of the one that is given up may be larger than those of the other.  One of a store that
 * has no identity (memory) as long as the pool is not made anew.
 * O(log n).  Table: event `call`.
 * Takes opt->number, opt->node, opt->groups, opt->sticky, opt->lease_ms, opt->if_version,
 * opt->epoch.
 */
USHER_API enum usher_status usher_number_call(struct usher_engine *e, const char *pool,
                                              const char *owner,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * End the call on @number.  @token 0: not given (refused by a strict pool).  rest_ms: how long the
 * number rests before it is offered again; not given: the pool's; USHER_NONE: not at all, and it
 * ends the rest of one whose call is over already.
 * USHER_OK; USHER_STALE: @token is not the current one: the call of the answer's owner goes on, until
 * its until_ms; USHER_LOST: the store has lost what @token was given for, and another call may
 * have the number; USHER_REFUSED: it is not busy; USHER_MISSING.  O(log n).
 * Takes opt->rest_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_hangup(struct usher_engine *e, const char *pool,
                                                const char *number, uint64_t token,
                                                const struct usher_number_options *opt,
                                                struct usher_number_answer *ret);

/**
 * Extend a hold: it ends opt->lease_ms from now (not given: as long as its last lease; USHER_NONE:
 * at hangup).  With opt->owner it is taken back if the store has lost that it was given out and
 * nobody else has it, though it is not registered, rests, or has had its calls of the day: the
 * answer then has another token; asked again it is the same, so no request id is needed.
 * With opt->node and @number NULL: all holds of that machine, oldest first, in bounded steps: the
 * answer has count, and while there is more, after for the next call.
 * USHER_OK, USHER_SAME (of a node: there was nothing to extend); USHER_STALE, USHER_LOST,
 * USHER_REFUSED, USHER_MISSING as for hangup.  O(log n) a hold.  Table: events `renew`, `retake`.
 * Takes opt->owner, opt->node, opt->lease_ms, opt->after, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_renew(struct usher_engine *e, const char *pool,
                                               const char *number, uint64_t token,
                                               const struct usher_number_options *opt,
                                               struct usher_number_answer *ret);

/**
 * For operators: end calls by force: on opt->number, of opt->owner, of opt->node, or with
 * opt->all = 1 all of @pool.  One bounded step: while the answer has more, ask again.
 * USHER_OK: the answer has count; USHER_SAME: there was nothing to free; USHER_MISSING: no such
 * pool or number; USHER_INVALID: none of them is given.
 * Takes opt->number, opt->owner, opt->node, opt->all, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_free(struct usher_engine *e, const char *pool,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * For operators: end the rest of @number, however long it was to be.  Its calls of the day stay:
 * if the pool's cap is reached, no call gets it before the cap is raised or the day is over.
 * USHER_OK; USHER_SAME: it does not rest; USHER_MISSING.  O(log n).
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_lift(struct usher_engine *e, const char *pool,
                                              const char *number,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * Put @number into the group opt->group, or into none if that is not given.  A call on it goes
 * on, and when it is over the number is free in the new group.  Its rest, its calls of the day,
 * its registration and its place in the order stay: who was idle for longest is so in the new
 * group, too.  A callee that is remembered with it gets it only where the groups of the call
 * allow.  USHER_OK; USHER_SAME: it is in that group; USHER_MISSING.  O(log n).
 * Takes opt->group, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_move(struct usher_engine *e, const char *pool,
                                              const char *number,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/** @number as one row, with all that is due applied.  USHER_OK, USHER_MISSING.  O(log n). */
USHER_API enum usher_status usher_number_show(struct usher_engine *e, const char *pool,
                                              const char *number,
                                              const struct usher_number_options *opt,
                                              struct usher_reply **ret);

/**
 * Numbers in byte order behind opt->after as rows, opt->max (not given: 100) at most.  With
 * opt->owner, opt->node or a busy state: calls, oldest first.  state: enum usher_number_state, or
 * USHER_NUMBER_STATE_BUSY.  While the reply has more, go on after its answer's after.
 * USHER_OK, USHER_MISSING.  One page looks at USHER_PAGE_MAX numbers at most.
 * Takes opt->owner, opt->node, opt->state, opt->after, opt->max.
 */
USHER_API enum usher_status usher_number_list(struct usher_engine *e, const char *pool,
                                              const struct usher_number_options *opt,
                                              struct usher_reply **ret);

/**
 * Figures of @pool: usher_number_statistics_of().  The reply has more while numbers are still judged
 * by a changed setting (set): then counts of resting and capped numbers are not yet those of the
 * new settings; and when USHER_PAGE_MAX holds and rests are over that no command has ended yet: any
 * others count as they are stored.  USHER_OK, USHER_MISSING.  O(1) and what is due.
 */
USHER_API enum usher_status usher_number_stats(struct usher_engine *e, const char *pool,
                                               const struct usher_number_options *opt,
                                               struct usher_reply **ret);

/**
 * Change those settings of @pool that are given (NULL: none, they are only read); the pool comes
 * into being if need be.  The reply has all of them: usher_number_settings_of().  A change of
 * order holds for numbers as they become idle; those idle before go first.  The limits daily, zone,
 * rest, gap and lease_max apply to all numbers at once, also to those that are held, rest or are
 * idle, without a notice for each.  lease_max counts from the beginning of a hold and ends none
 * before the time of this command.  A rest that a hangup named stays as it was named.  A zone
 * further west can begin a local day again: calls of a later day count until that day is over.
 * With outage the leases that end while the store is away go on: no command came for longer than
 * half of outage and two leases ended in that time (256 rests and leases count as two), or another
 * server has the pool now and one ended.  They end that long after the store is back, once, with
 * one notice (USHER_NUMBER_OUTAGE).
 * This command judges up to 128 numbers; the others are judged by later commands, before any of
 * them is given out or a call says that there is none.
 * USHER_OK, USHER_SAME; USHER_MISSING: none is given, and there is no such pool.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_set(struct usher_engine *e, const char *pool,
                                             const struct usher_number_settings *settings,
                                             const struct usher_number_options *opt,
                                             struct usher_reply **ret);

/**
 * Apply what is due now, opt->max changes at most and never more than 64, then judge up to 128
 * numbers by a changed setting.  Never needed for correctness.  While the answer has more, ask
 * again.  USHER_OK: count, which is 0 if the only change is an outage; USHER_SAME, USHER_MISSING.
 * Takes opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_sweep(struct usher_engine *e, const char *pool,
                                               const struct usher_number_options *opt,
                                               struct usher_number_answer *ret);

/**
 * For operators: erase @pool, whatever is in it, in bounded steps: while the answer has more, ask
 * again.  usher_drop() does that.  USHER_OK: the answer has count, in records; USHER_SAME: there
 * is none.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_drop(struct usher_engine *e, const char *pool,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * Notices of the changes after opt->since_version as rows, opt->max (not given: 100) at most,
 * oldest first: all that @pool keeps by its setting log.  owner, token and until_ms are those of
 * the hold, also where it has ended.  data has the group of the number; the node of a call, also
 * where it has ended; peer, the callee, of USHER_NUMBER_CALL; and ended of USHER_NUMBER_EXPIRE:
 * "lease", or "lease-max" if the limit of the pool has ended the call.  USHER_OK, USHER_MISSING; USHER_REFUSED: no log is kept;
 * USHER_STALE: it does not reach back so far (the answer's since_version says how far), or it is
 * newer than the pool; USHER_LOST.  usher_watch_events() follows it.
 * Takes opt->max, opt->epoch, opt->since_version.
 */
USHER_API enum usher_status usher_number_changes(struct usher_engine *e, const char *pool,
                                                 const struct usher_number_options *opt,
                                                 struct usher_reply **ret);

/* What @reply says, as a struct: its answer, its settings or figures, row @i.  Texts of all but
 * the answer are the reply's and live as long.  False, and *@ret is not written: NULL, another
 * noun's, no such row, or a size that is not set.  O(members * values). */
USHER_API bool usher_number_answer_of(const struct usher_reply *reply, struct usher_number_answer *ret);
USHER_API bool usher_number_settings_of(const struct usher_reply *reply, struct usher_number_settings *ret);
USHER_API bool usher_number_statistics_of(const struct usher_reply *reply, struct usher_number_statistics *ret);
USHER_API bool usher_number_row_of(const struct usher_reply *reply, size_t i, struct usher_number_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
