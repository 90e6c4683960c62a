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
    USHER_NUMBER_STATE_BUSY = 5, /* options of list only: either of the last two */
    USHER_NUMBER_STATE__WIDE = 0x7fffffff
};

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
    USHER_NUMBER_WHY_CLOSED = 7,  /* the pool is closed (mode) */
    USHER_NUMBER_WHY_STOPPED = 8, /* the pool is stopped (mode) */
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

/* ---- made by src/api/gen_calls.py: do not edit ----------------------------------------- */
/* clang-format off */

struct usher_reply;

/* Options of the calls of `number`.  If fewer than five verbs take an option, its comment begins
 * with them.  0 or NULL = not given; USHER_NONE or "" = explicitly none, never or off.  An
 * option that the verb does not take is USHER_INVALID. */
struct usher_number_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: return at once; usher_collect() returns the reply with this tag */
    int64_t timeout_ms; /* deadline of this call; 0 = the engine's */
    const char *request; /* request id: a repeat returns the first answer */
    int64_t now_ms; /* time of the command; 0 = the engine's clock */
    int64_t wait; /* number of replicas to wait for, after the command */
    const char *number; /* call, free: the number */
    const char *owner; /* renew, free, list: the holder: a call, a person */
    /* call, renew, free, list: the machine that carries the call; free, list, renew: all of
     * its calls */
    const char *node;
    const char *group; /* add, move: the group of the number: an area, a brand */
    const char *groups; /* call: groups to try, in this order; * is any */
    const char *sticky; /* call: the callee: prefer the number last used for it */
    int64_t lease_ms; /* call, renew: a hold expires after this time; USHER_NONE: never */
    int64_t rest_ms; /* hangup: not handed out for this time after a call; USHER_NONE: no rest */
    enum usher_number_state state; /* list: only numbers in this state; busy: both busy states */
    int64_t all; /* free: every call of the pool */
    const char *after; /* renew, list: continue after this one of the answer: a number or a token */
    /* list, sweep, changes: maximum rows or changes; a page ends after 256 records, a sweep
     * after 64 changes; 1 to 10,000 */
    int64_t max;
    int64_t if_version; /* only if the scope has this version, else stale; 1 to 2^53 - 1 */
    uint64_t epoch; /* only if the scope has this epoch, else stale */
    int64_t since_version; /* changes: only changes after this version; 0 to 2^53 - 1 */
    /* set: the reason of the mode, for people; another mode without one has none */
    const char *reason;
    const char *actor; /* the person or program that gives the command, for its notices */
};
#ifdef __cplusplus
#define USHER_NUMBER_OPTIONS_INIT \
    { sizeof(struct usher_number_options), NULL, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, \
    NULL, 0, 0, (enum usher_number_state)0, 0, NULL, 0, 0, 0, 0, NULL, NULL }
#else
#define USHER_NUMBER_OPTIONS_INIT { .size = sizeof(struct usher_number_options) }
#endif

/* Settings.  A member that is not given (0 or NULL) keeps its value, or gets its default in a
 * new scope; USHER_NONE = none, never or off; a code …_OFF = its code 0.  Settings read from a
 * reply can be passed back unchanged. */
struct usher_number_settings {
    size_t size; /* set by …_INIT */
    /* which number is taken first; numbers already idle at a change come before; default
     * longest-idle */
    enum usher_number_order order;
    int64_t lease_ms; /* a hold expires after this time; USHER_NONE: never; default USHER_NONE */
    /* not handed out for this time after a call; USHER_NONE: no rest; default USHER_NONE */
    int64_t rest_ms;
    /* maximum calls of a number in a local day; applies to all numbers at once; USHER_NONE: no
     * limit; 0 to 1,000,000,000; default USHER_NONE */
    int64_t daily;
    /* local time, minutes east of UTC; USHER_NONE: UTC; -1440 to 1440; default USHER_NONE */
    int64_t zone_min;
    int64_t strict; /* 1: hangup needs the token; default USHER_NONE */
    int64_t sticky_ms; /* how long the number of a callee is remembered; default 7d */
    int64_t sticky_max; /* maximum callees remembered; 0 to 1,000,000; default 10,000 */
    /* maximum results kept for request ids, each for less than an hour; 1 to 1,000,000;
     * default 10,000 */
    int64_t requests;
    /* a number, even an idle one, rests until this long after its last call began; USHER_NONE:
     * no gap; default USHER_NONE */
    int64_t gap_ms;
    /* maximum notices kept for changes and watch; USHER_NONE: no log; 0 to 100,000; default
     * USHER_NONE */
    int64_t log;
    /* a hold, also a current one, ends this long after it began despite renewals; USHER_NONE:
     * never; default USHER_NONE */
    int64_t lease_max_ms;
    /* extend leases that end in an outage (no command for half this time) by it; USHER_NONE:
     * never; at least two leases must end in the outage, see usher_number_set(); default
     * USHER_NONE */
    int64_t outage_ms;
    /* closed or stopped: no new calls; those that hold a number keep it; default open */
    enum usher_scope_mode scope_mode;
    /* 1: Redis publishes new versions, on the channel {POOL}:number; see push in
     * usher_room_settings (room.h); default USHER_NONE */
    int64_t push;
};
#ifdef __cplusplus
#define USHER_NUMBER_SETTINGS_INIT \
    { sizeof(struct usher_number_settings), (enum usher_number_order)0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, (enum usher_scope_mode)0, 0 }
#else
#define USHER_NUMBER_SETTINGS_INIT { .size = sizeof(struct usher_number_settings) }
#endif

/* Answer, written for every status.  Members that do not apply are USHER_NONE (numbers), ""
 * (texts) or 0 (codes, tokens). */
struct usher_number_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    int64_t due_ms; /* nothing in the scope expires before this time; or USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: number of replicas that have it */
    bool repeated; /* cached result of an earlier command with this request id */
    bool more; /* not complete: call again */
    char message[USHER_MESSAGE_MAX]; /* one line, or "" */
    enum usher_number_state state; /* the state, after the command */
    enum usher_number_why why; /* call: reason of a refusal */
    /* call, hangup, renew: fencing token of the hold; every later hold of the scope has
     * another one */
    uint64_t token;
    int64_t until_ms; /* call, hangup, renew: when it expires */
    int64_t next_free_ms; /* call: no number becomes free by an expiry before this time */
    int64_t count; /* renew, free, sweep: number of changes */
    char number[USHER_NAME_MAX + 1]; /* call: a number of the pool */
    /* renew, list: the end of a page, where the next one continues */
    char after[USHER_NAME_MAX + 1];
    int64_t since_version; /* changes: a version */
    char owner[USHER_NAME_MAX + 1]; /* the holder */
};
#ifdef __cplusplus
#define USHER_NUMBER_ANSWER_INIT \
    { sizeof(struct usher_number_answer), 0, 0, 0, 0, 0, false, false, "", (enum \
    usher_number_state)0, (enum usher_number_why)0, 0, 0, 0, 0, "", "", 0, "" }
#else
#define USHER_NUMBER_ANSWER_INIT { .size = sizeof(struct usher_number_answer) }
#endif

/* One row of a reply.  Texts belong to the reply and live as long.  Members that do not apply
 * are USHER_NONE (numbers), NULL (texts) or 0 (codes, tokens). */
struct usher_number_row {
    size_t size; /* set by …_INIT */
    const char *number; /* a number of the pool */
    const char *group; /* the group of a number */
    const char *owner; /* the holder */
    const char *node; /* the machine that carries the call */
    enum usher_number_state state; /* the state, after the command */
    int64_t resting; /* it rests */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t until_ms; /* when it expires */
    int64_t calls_today; /* calls since local midnight */
    int64_t used_ms; /* when the last call began */
    int64_t capped; /* it has reached its daily cap */
    int64_t age_ms; /* age of the hold */
    struct usher_text value; /* a value */
    int64_t version; /* version of the last change */
    enum usher_verb verb; /* verb of the change */
    const char *subject; /* subject of the change */
    int64_t before; /* version before the change */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    struct usher_text data; /* data to make the change in a copy */
    int64_t time_ms; /* time of the change */
    const char *actor; /* the person or program that gave the command */
    const char *reason; /* text for people: the reason of the mode or of the pause */
};
#ifdef __cplusplus
#define USHER_NUMBER_ROW_INIT \
    { sizeof(struct usher_number_row), NULL, NULL, NULL, NULL, (enum usher_number_state)0, 0, 0, \
    0, 0, 0, 0, 0, { NULL, 0 }, 0, (enum usher_verb)0, NULL, 0, 0, 0, { NULL, 0 }, 0, NULL, NULL \
    }
#else
#define USHER_NUMBER_ROW_INIT { .size = sizeof(struct usher_number_row) }
#endif

/* Statistics.  A figure that does not exist is USHER_NONE. */
struct usher_number_statistics {
    size_t size; /* set by …_INIT */
    int64_t total; /* numbers */
    int64_t idle_up; /* free and registered */
    int64_t idle_down; /* free, not registered */
    int64_t busy_up; /* in a call */
    int64_t busy_down; /* in a call, not registered */
    int64_t resting_numbers; /* free and registered numbers that rest */
    int64_t calls_today; /* calls since local midnight */
    int64_t refused_today; /* calls without a number since local midnight */
    int64_t longest_hold_ms; /* age of the oldest hold */
    int64_t capped_numbers; /* free and registered numbers that have reached their daily cap */
    enum usher_scope_mode scope_mode; /* whether calls or users are accepted and served */
    int64_t calls_total; /* calls since the pool was created */
    int64_t refused_total; /* calls without a number since then */
    int64_t hangups_total; /* calls that hangup ended since then */
    int64_t expired_total; /* calls that their lease or lease-max ended since then */
    int64_t freed_total; /* calls that free or del ended since then */
};
#ifdef __cplusplus
#define USHER_NUMBER_STATISTICS_INIT \
    { sizeof(struct usher_number_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (enum \
    usher_scope_mode)0, 0, 0, 0, 0, 0 }
#else
#define USHER_NUMBER_STATISTICS_INIT { .size = sizeof(struct usher_number_statistics) }
#endif

/* Arguments of every call: the engine @e, the pool, the subject of the verb, @opt (may be NULL),
 * and where to write the answer (may be NULL).  A reply belongs to the caller: release it with
 * usher_reply_done().  It is NULL if the call itself failed.  With opt->post the call returns
 * like usher_post(), and the answer arrives as an event.  In addition to the statuses listed,
 * every call may return USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no
 * answer: it may have been applied), USHER_LOST and USHER_NOMEM; usher_message() has the
 * details.  Threads: any.  Since 0.1. */

/**
 * Add @number to @pool in state idle+down, and create the pool if it does not exist.  USHER_OK;
 * USHER_SAME: it is there and keeps its group.  O(log n).
 * Options: opt->group, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_add(struct usher_engine *e, const char *pool,
                                             const char *number,
                                             const struct usher_number_options *opt,
                                             struct usher_number_answer *ret);

/**
 * Remove @number from @pool, even during a call.  If it is added again, its calls of the day still
 * count (the pool remembers the last 10,000 removed numbers).  USHER_OK; USHER_SAME: it is not
 * there.  O(log n).
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_del(struct usher_engine *e, const char *pool,
                                             const char *number,
                                             const struct usher_number_options *opt,
                                             struct usher_number_answer *ret);

/**
 * Register @number: from now on it may be handed out.  USHER_OK, USHER_SAME, USHER_MISSING.
 * O(log n).
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_reg(struct usher_engine *e, const char *pool,
                                             const char *number,
                                             const struct usher_number_options *opt,
                                             struct usher_number_answer *ret);

/**
 * Unregister @number.  A current call continues.  USHER_OK, USHER_SAME, USHER_MISSING.  O(log n).
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_unreg(struct usher_engine *e, const char *pool,
                                               const char *number,
                                               const struct usher_number_options *opt,
                                               struct usher_number_answer *ret);

/**
 * Take a free number of @pool for one call of @owner (NULL = anonymous).
 *
 * The number is busy until usher_number_hangup(), or until the lease expires, counted from this
 * call or the last usher_number_renew().  A repeat with the same @owner returns the number already
 * held, so a caller that lost the answer simply calls again.
 *
 * groups      "A,B,*": groups to try, in this order; * = any
 * sticky      the callee; its last number is preferred
 * lease_ms    not given: the pool's; USHER_NONE: until hangup
 * node        the machine that carries the call: its calls can be renewed or freed together
 *
 * USHER_OK       the answer has number, token, until_ms
 * USHER_SAME     @owner already holds that number
 * USHER_EMPTY    no number is free, or the pool is closed or stopped (settings scope_mode): why,
 *                and next_free_ms, before which none becomes free.  At that time one is free,
 *                if at most 64 holds and rests end before it and no other command comes between.
 *                With more ends it may be too early, never too late.
 * USHER_MISSING  opt->number is not in the pool
 * USHER_REFUSED  opt->number is busy, unregistered, resting or over its daily cap, or the pool is
 *                closed or stopped: why, and next_free_ms
 * USHER_UNKNOWN  no answer: repeat with the same @owner or request
 *
 * The token is a fencing token: different for each hold of the pool and larger for each later one,
 * even if the store lost data.  Exceptions: while two servers were both masters, tokens of the
 * abandoned one may be larger than those of the other; and in a store without an identity (memory)
 * a pool that is deleted and created again starts over.
 * O(log n).  Table: event `call`.
 * Options: opt->number, opt->node, opt->groups, opt->sticky, opt->lease_ms, opt->if_version,
 * opt->epoch.
 */
USHER_API enum usher_status usher_number_call(struct usher_engine *e, const char *pool,
                                              const char *owner,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * End the call on @number.
 *
 * @token    of the hold; 0 = not given, which a strict pool refuses
 * rest_ms   rest before the number is handed out again; not given: the pool's.  USHER_NONE: no
 *           rest, and if the call is already over, its rest ends
 *
 * USHER_OK
 * USHER_STALE    @token is outdated: the call of the answer's owner continues, until its until_ms
 * USHER_LOST     the store lost the hold of @token; another call may have the number
 * USHER_REFUSED  the number is not busy
 * USHER_MISSING
 *
 * O(log n).
 * Options: opt->rest_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_hangup(struct usher_engine *e, const char *pool,
                                                const char *number, uint64_t token,
                                                const struct usher_number_options *opt,
                                                struct usher_number_answer *ret);

/**
 * Extend a hold: it expires opt->lease_ms from now (not given: its last lease; USHER_NONE: at
 * hangup).
 *
 * With opt->owner, a hold that the store lost is taken back if the number is free, even if it is
 * unregistered, resting or over its daily cap.  The answer then has a new token; a repeat returns
 * the same one, so no request id is needed.
 *
 * With opt->node and @number NULL, all holds of that machine are extended, oldest first, in
 * bounded steps: the answer has count and, while it has more, after for the next call.
 *
 * USHER_OK
 * USHER_SAME  node: nothing to extend
 * USHER_STALE, USHER_LOST, USHER_REFUSED, USHER_MISSING  as usher_number_hangup()
 *
 * O(log n) for each hold.  Table: events `renew`, `retake`.
 * Options: opt->owner, opt->node, opt->lease_ms, opt->after, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_renew(struct usher_engine *e, const char *pool,
                                               const char *number, uint64_t token,
                                               const struct usher_number_options *opt,
                                               struct usher_number_answer *ret);

/**
 * For operators: end calls by force: on opt->number, of opt->owner, of opt->node, or with
 * opt->all = 1 all of @pool.  One call does a bounded step: repeat it while the answer has more.
 * USHER_OK: the answer has count; USHER_SAME: nothing to free; USHER_MISSING: no such pool or
 * number; USHER_INVALID: none of the four is given.
 * Options: opt->number, opt->owner, opt->node, opt->all, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_free(struct usher_engine *e, const char *pool,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * For operators: end the rest of @number, however long it was to be.  Its calls of the day still
 * count: if the daily cap is reached, it is not handed out before the cap is raised or the day
 * ends.  USHER_OK; USHER_SAME: it does not rest; USHER_MISSING.  O(log n).
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_lift(struct usher_engine *e, const char *pool,
                                              const char *number,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/**
 * Move @number to opt->group, or out of its group if none is given.  A current call continues, and
 * the number is free in the new group afterwards.  Registration, rest, daily count and rank stay:
 * the number that was idle for longest is so in the new group, too.  A callee's last number is
 * preferred only if the groups of the call include it.  USHER_OK; USHER_SAME: it is in that group;
 * USHER_MISSING.  O(log n).
 * Options: opt->group, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_number_move(struct usher_engine *e, const char *pool,
                                              const char *number,
                                              const struct usher_number_options *opt,
                                              struct usher_number_answer *ret);

/** Show @number as one row, with all due expiries applied.  USHER_OK, USHER_MISSING.  O(log n). */
USHER_API enum usher_status usher_number_show(struct usher_engine *e, const char *pool,
                                              const char *number,
                                              const struct usher_number_options *opt,
                                              struct usher_reply **ret);

/**
 * List numbers as rows, in byte order, at most opt->max (not given: 100), after opt->after.  With
 * opt->owner, opt->node or a busy state: calls, oldest first.  state: enum usher_number_state, or
 * USHER_NUMBER_STATE_BUSY.  While the reply has more, continue after its answer's after.
 * USHER_OK, USHER_MISSING.  One page reads at most USHER_PAGE_MAX numbers.
 * Options: opt->owner, opt->node, opt->state, opt->after, opt->max.
 */
USHER_API enum usher_status usher_number_list(struct usher_engine *e, const char *pool,
                                              const struct usher_number_options *opt,
                                              struct usher_reply **ret);

/**
 * Read the statistics of @pool: usher_number_statistics_of().  The reply has more in two cases.
 * While a changed setting is not yet applied to all numbers (set), the counts of resting and capped
 * numbers are not yet those of the new settings.  If USHER_PAGE_MAX expired holds and rests are not
 * yet ended by a command, any others count as they are stored.  USHER_OK, USHER_MISSING.
 * O(1), and the expiries that are due.
 */
USHER_API enum usher_status usher_number_stats(struct usher_engine *e, const char *pool,
                                               const struct usher_number_options *opt,
                                               struct usher_reply **ret);

/**
 * Change the given settings of @pool (NULL: none, only read them), and create the pool if it does
 * not exist.  The reply has all of them: usher_number_settings_of().
 *
 * A new order applies to numbers as they become idle; those already idle are taken first.  The
 * limits daily, zone, rest, gap and lease_max apply to all numbers at once, also to those that are
 * held, rest or are idle, without a notice for each.  lease_max counts from the beginning of a hold
 * and ends none before the time of this command.  A rest that a hangup gave stays as it is.  A zone
 * further west can begin a local day again: calls of a later day count until that day is over.
 *
 * With outage, leases that end while the store is away are extended: they end that long after the
 * store is back, once, with one notice (USHER_NUMBER_OUTAGE).  The store was away if no command
 * came for longer than half of outage and two leases ended in that time (256 rests and leases
 * count as two), or if another server has the pool now and one lease ended.
 *
 * In a pool whose scope_mode is closed or stopped a call gets no number: USHER_EMPTY, or
 * USHER_REFUSED with opt->number, and the answer's why is the mode.  An owner that holds a number,
 * and a repeat by request id, get the same answer as before.  Calls under way, their ends and
 * renewals, and numbers that are added or registered do not depend on the mode.  No call waits in a
 * pool, so the two differ in why alone.  opt->reason is a text for people.  It is kept until another
 * one is given, or the mode changes; then the reply, and that of usher_number_stats(), has a row with
 * reason.
 *
 * This command applies the changes to up to 128 numbers.  Later commands apply them to the others,
 * before one of these is handed out or a call reports that no number is free.
 * USHER_OK, USHER_SAME; USHER_MISSING: none is given, and there is no such pool.
 * Options: opt->if_version, opt->epoch, opt->reason, opt->actor.
 */
USHER_API enum usher_status usher_number_set(struct usher_engine *e, const char *pool,
                                             const struct usher_number_settings *settings,
                                             const struct usher_number_options *opt,
                                             struct usher_reply **ret);

/**
 * Apply expiries that are due, at most opt->max changes and never more than 64, then apply a
 * changed setting to up to 128 numbers.  Never needed for correctness.  Repeat it while the answer
 * has more.  USHER_OK: count, which is 0 if the only change is an outage; USHER_SAME,
 * USHER_MISSING.
 * Options: opt->max, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_number_sweep(struct usher_engine *e, const char *pool,
                                               const struct usher_number_options *opt,
                                               struct usher_number_answer *ret);

/**
 * Read the change log of @pool: changes after opt->since_version as rows, oldest first, at most
 * opt->max (not given: 100).  owner, token and until_ms are those of the hold, even if it has
 * ended.  data has the group of the number; the node of a call, even if it has ended; peer, the
 * callee, in USHER_NUMBER_CALL; and ended in USHER_NUMBER_EXPIRE: "lease", or "lease-max" if the
 * limit of the pool ended the call; and actor, if the command has opt->actor.
 * usher_watch_events() follows the log.
 *
 * USHER_OK
 * USHER_MISSING
 * USHER_REFUSED  the pool keeps no log (setting log)
 * USHER_STALE    the log starts later, at the answer's since_version; or no such version yet
 * USHER_LOST     the store lost that version
 * Options: opt->max, opt->epoch, opt->since_version.
 */
USHER_API enum usher_status usher_number_changes(struct usher_engine *e, const char *pool,
                                                 const struct usher_number_options *opt,
                                                 struct usher_reply **ret);

/* Copy the answer, the settings, the statistics or row @i of @reply into a struct.  Texts belong
 * to the reply and live as long, except those of the answer.  Return false, and do not write
 * *@ret, if @reply is NULL or of another noun, if there is no such row, or if the size is not
 * set.  O(members * values). */
USHER_API bool usher_number_answer_of(const struct usher_reply *reply, struct usher_number_answer *ret);
USHER_API bool usher_number_settings_of(const struct usher_reply *reply, struct usher_number_settings *ret);
USHER_API bool usher_number_statistics_of(const struct usher_reply *reply, struct usher_number_statistics *ret);
USHER_API bool usher_number_row_of(const struct usher_reply *reply, size_t i, struct usher_number_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
