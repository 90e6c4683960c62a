/* SPDX-License-Identifier: MIT */
/* Functions that the files number*.c share. */
#ifndef USHER_NUMBER_NUMBER_PARTS_H
#define USHER_NUMBER_NUMBER_PARTS_H

#include "number.h"

#include <string.h>

#include "change/work.h"
#include "core/number.h"
#include "core/text.h"

typedef struct usher__work work;
typedef struct usher__change change;

/* The maximum number of deleted numbers whose calls of the day are stored. */
#define PAST_MAX 10000

/* The maximum number of days that a changed zone goes back: from a day east of UTC to a day
 * west. */
#define DAYS_AHEAD 2

/* The maximum number of numbers to which one command applies a changed setting: a command that
 * needs that, `set` and `sweep`; any other command that writes. */
#define JUDGE_MAX 128
#define JUDGE_ON_WAY 8

/* Two bits of counts[COUNT_JUDGE]: the lists that remain.  The other bits and
 * counts[COUNT_JUDGE_HI] are the position in the first of them. */
enum { JUDGED, JUDGE_IDLE, JUDGE_BOTH, JUDGE_RESTS };

/*
 * n[N_LEASE] of a free number is how its last call ended.  `rest=` and `gap=` are applied to
 * that, so a changed setting also changes numbers that rest or are idle:
 *   RESTED      it does not rest: it had no call, or its rest was ended
 *   0 or more   the call ended at this time, and the pool's `rest` begins with it
 *   less        the number rests until RESTED - 1 - n, as set by its hangup
 */
#define RESTED INT64_C(-1)
#define BY_POOL INT64_C(-1) /* release(): the pool's `rest` */

static inline bool busy(unsigned state)
{
    return state == USHER_NUMBER_STATE_BUSY_UP || state == USHER_NUMBER_STATE_BUSY_DOWN;
}

static inline struct usher__move move_of(work *w, const struct usher_record *r, unsigned event,
                                         unsigned guard)
{
    return usher__work_move(w, &usher__number_machine, r->state, event, guard);
}

static inline bool resting(const struct usher_record *r)
{
    return !busy(r->state) && r->until_ms != 0;
}

/* Return when the rest of @r, whose call ends at @at, is over: after @rest_ms, and after the gap
 * since the call began. */
static inline int64_t rested(const struct usher_scope *s, const struct usher_record *r, int64_t at,
                             int64_t rest_ms)
{
    int64_t gap = r->n[N_USED] + s->settings[USHER__SET_GAP];

    return s->settings[USHER__SET_GAP] == 0 || at + rest_ms > gap ? at + rest_ms : gap;
}

/* Return when the rest of @r, which is free, is over by the current settings. */
static inline int64_t rest_end(const struct usher_scope *s, const struct usher_record *r)
{
    int64_t ended = r->n[N_LEASE];

    if (ended == RESTED)
        return 0;
    if (ended >= 0)
        return rested(s, r, ended, s->settings[USHER__SET_REST]);
    return rested(s, r, RESTED - 1 - ended, 0);
}

/* Return the time at which `lease-max` ends the hold on @r, not before the setting was made.  It
 * never ends a hold before one that began earlier. */
static inline int64_t limit_end(const struct usher_scope *s, const struct usher_record *r)
{
    int64_t at = r->n[N_USED] + s->settings[USHER__SET_LEASE_MAX];
    bool later = r->token > (uint64_t)s->counts[COUNT_LIMITED_AT];

    return later || at > s->counts[COUNT_LIMITED] ? at : s->counts[COUNT_LIMITED];
}

/* Return when the lease of @r, which is held, ends; 0: it has none. */
static inline int64_t lease_end(const work *w, const struct usher_record *r)
{
    int64_t later = r->until_ms <= w->gap_to ? usher__outage_end(w, r->until_ms) : 0;

    return later != 0 ? later : r->until_ms;
}

/* Return the time at which the hold on @r or its rest ends; 0: it has no end. */
static inline int64_t end_of(const work *w, const struct usher_record *r)
{
    int64_t at, lease;

    if (!busy(r->state))
        return r->until_ms;
    lease = lease_end(w, r);
    if (w->scope.settings[USHER__SET_LEASE_MAX] == 0)
        return lease;
    at = limit_end(&w->scope, r);
    return lease != 0 && lease < at ? lease : at;
}

/*
 * Return the calls of @r on the local day of @at.  A zone that is set to the west can go back to an
 * earlier day: calls of a later day count as of today until that day is over, so that time only
 * ends a cap and never begins one.
 */
static inline int64_t calls_on(const struct usher_scope *s, const struct usher_record *r,
                               int64_t at)
{
    return r->n[N_DAY] >= usher__day(at, s->settings[USHER__SET_ZONE]) ? r->n[N_CALLS] : 0;
}

/* Return whether @r has reached its cap of the day, computed and not as stored. */
static inline bool reached_cap(const struct usher_scope *s, const struct usher_record *r,
                               int64_t at)
{
    int64_t daily = s->settings[USHER__SET_DAILY];

    return daily > 0 && usher__number_capped(at, daily, r->n[N_CALLS], r->n[N_DAY],
                                             s->settings[USHER__SET_ZONE]);
}

/* Return whether @r is stored as over the cap, after the others in the idle list. */
static inline bool over_cap(const struct usher_record *r)
{
    return r->rank >= USHER__RANK_CAPPED;
}

/* Return the rank of @r, which is free.  @drawn: for random order. */
static inline uint64_t rank_of(const work *w, const struct usher_record *r, bool drawn)
{
    if (reached_cap(&w->scope, r, w->now))
        return usher__number_rank_capped(r->n[N_DAY], r->n[N_CALLS], drawn);
    return drawn ? usher__draw(r->order) : USHER__RANK_QUEUED;
}

static inline bool drawn_now(const work *w)
{
    return w->scope.settings[USHER__SET_ORDER] == USHER_NUMBER_ORDER_RANDOM;
}

/* Set the place of @r, which is free, in the idle list at @version. */
static inline void assign_rank(const work *w, struct usher_record *r, uint64_t version)
{
    r->order = version;
    r->rank = rank_of(w, r, drawn_now(w));
}

/*
 * Put @r into state @to at version @version.  Only this function sets the values that follow from
 * the state: the lists, the order in them, the holder.
 */
static inline void set_state(const work *w, struct usher_record *r, unsigned to, int64_t until_ms,
                             uint64_t version)
{
    uint8_t was = r->slots;

    r->state = (uint8_t)to;
    r->until_ms = until_ms;
    r->slots = usher__machine_lists(&usher__number_machine, to, until_ms);
    if ((r->slots & (1u << USHER__NUMBER_IDLE)) == 0)
        r->rank = 0;
    else if ((was & (1u << USHER__NUMBER_IDLE)) == 0)
        assign_rank(w, r, version);
    if (!busy(to)) {
        r->owner.data = NULL;
        r->owner.size = 0;
    }
}

/* End the call of @r at the time @at, by hangup, by an operator, by expiry: it becomes idle (state
 * @to) and rests for @rest_ms (or BY_POOL). */
static inline void release(const work *w, struct usher_record *r, unsigned to, int64_t at,
                           int64_t rest_ms, uint64_t version)
{
    int64_t until;

    r->n[N_LEASE] = rest_ms == BY_POOL ? at : RESTED - 1 - (at + rest_ms);
    until = rest_end(&w->scope, r);
    set_state(w, r, to, until > at ? until : 0, version);
}

/*
 * Apply the expiry of @r at r->until_ms: the hold ends as by hangup, or the rest is over.  The time
 * is that of the deadline, so that the result does not depend on when it is applied.
 */
static inline void expire(work *w, struct usher_record *r, uint64_t version)
{
    unsigned to = move_of(w, r, USHER__NUMBER_EXPIRE, USHER__ANY).to;
    int64_t at = end_of(w, r), until;

    if (busy(r->state)) {
        release(w, r, to, at, BY_POOL, version);
        return;
    }
    until = rest_end(&w->scope, r); /* the gap may have grown while it rested */
    set_state(w, r, to, until > at ? until : 0, version);
}

static inline bool due(const work *w, const struct usher_record *r)
{
    int64_t at = end_of(w, r);

    return at != 0 && at <= w->moment;
}

/* Return whether a changed setting was applied to all numbers. */
static inline bool is_judged(const work *w)
{
    return w->scope.counts[COUNT_JUDGE] == JUDGED;
}

/* Return until when @r, which is free, rests by the current settings; 0: it does not.  A clock that
 * is set back does not begin a rest again. */
static inline int64_t rests_until(const work *w, const struct usher_record *r)
{
    int64_t until = rest_end(&w->scope, r);

    return until > (r->until_ms != 0 ? w->moment : w->now) ? until : 0;
}

/* Return whether @r is free, and its stored rest does not agree with the current settings. */
static inline bool rests_otherwise(const work *w, const struct usher_record *r)
{
    return !busy(r->state) && rests_until(w, r) != r->until_ms;
}

/* Count @r in (@by 1) or out (@by -1) in the counts of the pool and of its group. */
static inline void count(int64_t *counts, const struct usher_record *r, int64_t by)
{
    counts[r->state] += by;
    if (r->state == USHER_NUMBER_STATE_IDLE_UP && r->until_ms != 0)
        counts[COUNT_RESTING] += by;
    if (over_cap(r))
        counts[COUNT_CAPPED] += by;
}

static inline void count_group(int64_t *n, const struct usher_record *r, int64_t by)
{
    n[N_TOTAL] += by;
    if (r->state == USHER_NUMBER_STATE_BUSY_UP)
        n[N_BUSY_UP] += by;
    if (r->state == USHER_NUMBER_STATE_IDLE_UP && r->until_ms != 0)
        n[N_RESTING] += by;
}

/*
 * A change of one number: load it into own_record(), begin, alter it, save, commit.  It is altered
 * in the place from which it is written, and not copied.
 */
typedef struct {
    unsigned from;          /* its state before */
    struct usher_text node; /* of its call before */
    bool limited;           /* `lease-max` has ended its hold, and not the lease */
    int64_t n[3];           /* changes of the counts of its group */
    bool was_over_cap;
    int64_t day;      /* the day of its calls, if it was over the cap */
    char days[2][24]; /* names of DAY records */
    change c;
} move;

static inline struct usher_record *own_record(move *m)
{
    return usher__change_first(&m->c);
}

static inline void answer(work *w, enum usher_status status, const struct usher_record *r)
{
    struct usher_number_result *n = &w->reply->of.number;

    w->reply->status = status;
    n->state = (enum usher_number_state)r->state;
    n->token = r->token;
    n->until_ms = end_of(w, r);
    n->number_size = r->id.size;
    memcpy(n->number, r->id.data, r->id.size);
    n->number[r->id.size] = '\0';
}

/* ---- number.c ---- */

void usher__number_begin(work *w, move *m);
void usher__number_join_node(move *m, const struct usher_text *node);
void usher__number_due_at(work *w, int64_t at);
enum usher_status usher__number_first_limited(work *w, uint64_t order, struct usher_record *r);
enum usher_status usher__number_save_group(work *w, move *m, const struct usher_text *name);
enum usher_status usher__number_save(work *w, move *m);
enum usher_status usher__number_commit(work *w, move *m, enum usher_verb verb);
enum usher_status usher__number_save_and_commit(work *w, move *m, enum usher_verb verb);
enum usher_status usher__number_expire_one(work *w, move *m);
enum usher_status usher__number_judge_one(work *w, move *m);
bool usher__number_is_right(const work *w, const struct usher_record *r);
enum usher_status usher__number_judge(work *w, int *left);
enum usher_status usher__number_walk_idle(work *w, const struct usher_text *group, uint64_t rank,
                                          uint64_t order, bool back, struct usher_record *r);
enum usher_status usher__number_first_over_cap(work *w, const struct usher_text *group,
                                               struct usher_record *r);
enum usher_status usher__number_count_capped(work *w, int64_t *ret);
enum usher_status usher__number_first_due(work *w, const struct usher_text *group, int64_t *ret_due,
                                          struct usher_record *r);
enum usher_status usher__number_expire_due(work *w, int64_t max, int judges, uint64_t *ret_n,
                                           bool *ret_more);
enum usher_status usher__number_load(work *w, const struct usher_text *id, move *m);
void usher__number_answer_nodata(work *w, enum usher_status status);
enum usher_status usher__number_keep_and_commit(work *w, move *m);
enum usher_status usher__number_finish(work *w, move *m);
enum usher_status usher__number_simple(work *w, unsigned event);

/* ---- number_calls.c ---- */

enum usher_status usher__number_take_number(work *w, move *m, unsigned to);
enum usher_status usher__number_defer(work *w);
enum usher_status usher__number_call(work *w);

/* ---- number_holds.c ---- */

enum usher_status usher__number_hangup(work *w);
enum usher_status usher__number_lift(work *w);
enum usher_status usher__number_move_group(work *w);
enum usher_status usher__number_renew(work *w);
enum usher_status usher__number_walk_held(work *w, const struct usher_text *owner,
                                          const struct usher_text *node, uint64_t order,
                                          struct usher_record *r);
void usher__number_answer_token(work *w, uint64_t token);
enum usher_status usher__number_renew_node(work *w);
enum usher_status usher__number_free_holds(work *w);
enum usher_status usher__number_sweep(work *w, uint64_t version);
enum usher_status usher__number_set(work *w);

/* ---- number_reads.c ---- */

/* Add the reason of the mode, if there is one, to the answer. */
enum usher_status usher__number_tell_reason(work *w, const struct usher__reason *reason);

enum usher_status usher__number_run(work *w);

#endif
