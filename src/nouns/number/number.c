/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a number pool as steps on a record store: load, use the core's tables, save.
 *
 * The records are in src/core/number_records.def.  A day counts the numbers over the cap with calls
 * of that day; a node has a list of its holds, and the number has the node's name in its data.
 */
#include "config.h"

#include "number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/text.h"
#include "nouns/nouns.h"

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

static void defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    usher__settings_default(USHER_NUMBER_SET, scope->settings);
}

/* ---- one number ------------------------------------------------------------------- */

static bool busy(unsigned state)
{
    return state == USHER_NUMBER_STATE_BUSY_UP || state == USHER_NUMBER_STATE_BUSY_DOWN;
}

static struct usher__move move_of(work *w, const struct usher_record *r, unsigned event,
                                  unsigned guard)
{
    return usher__work_move(w, &usher__number_machine, r->state, event, guard);
}

static bool resting(const struct usher_record *r)
{
    return !busy(r->state) && r->until_ms != 0;
}

/* Return when the rest of @r, whose call ends at @at, is over: after @rest_ms, and after the gap
 * since the call began. */
static int64_t rested(const struct usher_scope *s, const struct usher_record *r, int64_t at,
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
static int64_t limit_end(const struct usher_scope *s, const struct usher_record *r)
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
static int64_t calls_on(const struct usher_scope *s, const struct usher_record *r, int64_t at)
{
    return r->n[N_DAY] >= usher__day(at, s->settings[USHER__SET_ZONE]) ? r->n[N_CALLS] : 0;
}

/* Return whether @r has reached its cap of the day, computed and not as stored. */
static bool reached_cap(const struct usher_scope *s, const struct usher_record *r, int64_t at)
{
    int64_t daily = s->settings[USHER__SET_DAILY];

    return daily > 0 && usher__number_capped(at, daily, r->n[N_CALLS], r->n[N_DAY],
                                             s->settings[USHER__SET_ZONE]);
}

/* Return whether @r is stored as over the cap, after the others in the idle list. */
static bool over_cap(const struct usher_record *r)
{
    return r->rank >= USHER__RANK_CAPPED;
}

/* Return the rank of @r, which is free.  @drawn: for random order. */
static uint64_t rank_of(const work *w, const struct usher_record *r, bool drawn)
{
    if (reached_cap(&w->scope, r, w->now))
        return usher__number_rank_capped(r->n[N_DAY], r->n[N_CALLS], drawn);
    return drawn ? usher__draw(r->order) : USHER__RANK_QUEUED;
}

static bool drawn_now(const work *w)
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
static void release(const work *w, struct usher_record *r, unsigned to, int64_t at, int64_t rest_ms,
                    uint64_t version)
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
static void expire(work *w, struct usher_record *r, uint64_t version)
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

static bool due(const work *w, const struct usher_record *r)
{
    int64_t at = end_of(w, r);

    return at != 0 && at <= w->moment;
}

/* Return whether a changed setting was applied to all numbers. */
static bool is_judged(const work *w)
{
    return w->scope.counts[COUNT_JUDGE] == JUDGED;
}

/* Return until when @r, which is free, rests by the current settings; 0: it does not.  A clock that
 * is set back does not begin a rest again. */
static int64_t rests_until(const work *w, const struct usher_record *r)
{
    int64_t until = rest_end(&w->scope, r);

    return until > (r->until_ms != 0 ? w->moment : w->now) ? until : 0;
}

/* Return whether @r is free, and its stored rest does not agree with the current settings. */
static bool rests_otherwise(const work *w, const struct usher_record *r)
{
    return !busy(r->state) && rests_until(w, r) != r->until_ms;
}

/* Count @r in (@by 1) or out (@by -1) in the counts of the pool and of its group. */
static void count(int64_t *counts, const struct usher_record *r, int64_t by)
{
    counts[r->state] += by;
    if (r->state == USHER_NUMBER_STATE_IDLE_UP && r->until_ms != 0)
        counts[COUNT_RESTING] += by;
    if (over_cap(r))
        counts[COUNT_CAPPED] += by;
}

static void count_group(int64_t *n, const struct usher_record *r, int64_t by)
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

static struct usher_record *own_record(move *m)
{
    return usher__change_first(&m->c);
}

/* The change of own_record() was begun. */
static inline void begun(work *w, move *m)
{
    const struct usher_record *r = own_record(m);

    m->from = r->state;
    m->node = r->data;
    m->was_over_cap = over_cap(r);
    m->day = r->n[N_DAY];
    memset(m->n, 0, sizeof m->n);
    m->c.owner = r->owner;
    if (m->from != USHER_NUMBER_STATE_NODATA) {
        count(w->scope.counts, r, -1);
        count_group(m->n, r, -1);
    }
}

static void begin(work *w, move *m)
{
    usher__change_begin(w, &m->c);
    begun(w, m);
}

/* Count @by more numbers over the cap with calls of @day, whose name is written into @name. */
static enum usher_status save_day(work *w, move *m, int64_t day, int64_t by, char name[24])
{
    struct usher_record *of = usher__change_next(&m->c);
    struct usher_text id = { name, 0 };
    enum usher_status status;

    id.size = (size_t)snprintf(name, sizeof m->days[0], "%" PRId64, day);
    status = w->ops->find(w->txn, &w->scope, KIND_DAY, &id, of);
    if (status == USHER_MISSING) {
        memset(of, 0, sizeof *of);
        of->kind = KIND_DAY;
        of->id = id;
        of->slots = 1u;
        of->order = usher__number_rank_capped(day, 0, false);
    } else if (status != USHER_OK) {
        return status;
    }
    of->n[N_CAPPED] += by;
    if (of->n[N_CAPPED] == 0)
        usher__change_erase(&m->c, of);
    else
        usher__change_save(&m->c, of);
    return USHER_OK;
}

/* own_record() has its final values: update the counts of numbers over the cap. */
static enum usher_status __attribute__((noinline)) save_days(work *w, move *m)
{
    const struct usher_record *r = own_record(m);
    bool is_over_cap = over_cap(r);
    int64_t day = r->n[N_DAY];
    enum usher_status status = USHER_OK;

    if (m->was_over_cap && is_over_cap && m->day == day)
        return USHER_OK;
    if (m->was_over_cap)
        status = save_day(w, m, m->day, -1, m->days[0]);
    if (status == USHER_OK && is_over_cap)
        status = save_day(w, m, day, 1, m->days[1]);
    return status;
}

static enum usher_status __attribute__((noinline))
save_group(work *w, move *m, const struct usher_text *name)
{
    struct usher_record *group = usher__change_next(&m->c);
    enum usher_status status = USHER_MISSING;

    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, KIND_GROUP, name, group);
    if (status == USHER_MISSING) {
        memset(group, 0, sizeof *group);
        group->kind = KIND_GROUP;
        group->id = *name;
    } else if (status != USHER_OK) {
        return status;
    }
    for (int i = 0; i < 3; i++)
        group->n[i] += m->n[i];
    if (group->n[N_TOTAL] == 0)
        usher__change_erase(&m->c, group);
    else
        usher__change_save(&m->c, group);
    return USHER_OK;
}

/* The call begins: add it to the list of @node. */
static void join_node(move *m, const struct usher_text *node)
{
    struct usher_record *of = usher__change_next(&m->c);

    memset(of, 0, sizeof *of);
    of->kind = KIND_NODE;
    of->id = own_record(m)->id;
    of->owner = *node;
    of->order = of->token = own_record(m)->token;
    of->slots = 1u << USHER__NUMBER_HELD;
    usher__change_save(&m->c, of);
}

/* The call is over: remove it from the list of its node. */
static enum usher_status __attribute__((noinline)) leave_node(work *w, move *m)
{
    struct usher_record *of = usher__change_next(&m->c);
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_NODE, &own_record(m)->id, of);

    if (status == USHER_OK)
        usher__change_erase(&m->c, of);
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Keep scope.due_ms a lower bound. */
static void due_at(work *w, int64_t at)
{
    if (at < w->scope.due_ms)
        w->scope.due_ms = at;
}

static enum usher_status first_limited(work *w, uint64_t order, struct usher_record *r);

/* The hold of own_record() is over.  If it was the oldest one, the limit of the next one is due
 * next; after a clock was set back that may be an earlier time. */
static enum usher_status __attribute__((noinline)) limit_next(work *w, move *m)
{
    struct usher_record first;
    enum usher_status status = first_limited(w, 0, &first);

    if (status == USHER_OK && usher__text_equal(&first.id, &own_record(m)->id))
        status = first_limited(w, first.order, &first);
    if (status == USHER_OK)
        due_at(w, limit_end(&w->scope, &first));
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Save it in the change; in state NODATA it is deleted from the pool. */
static enum usher_status save(work *w, move *m)
{
    struct usher_record *r = own_record(m);

    bool left = r->data.size != 0 && !busy(r->state); /* its node */
    bool limits = w->scope.settings[USHER__SET_LEASE_MAX] != 0;
    enum usher_status status = USHER_OK;

    if (left)
        r->data.size = 0;
    if (r->state != USHER_NUMBER_STATE_NODATA) {
        count(w->scope.counts, r, 1);
        count_group(m->n, r, 1);
        usher__change_save(&m->c, r);
        if (over_cap(r))
            due_at(w, usher__day_end(w->now, w->scope.settings[USHER__SET_ZONE]));
        if (limits && busy(r->state))
            due_at(w, limit_end(&w->scope, r));
    } else {
        r->rank = 0;
        usher__change_erase(&m->c, r);
    }
    if (m->was_over_cap || over_cap(r))
        status = save_days(w, m);
    if (status == USHER_OK && limits && busy(m->from) && !busy(r->state))
        status = limit_next(w, m);
    if (status == USHER_OK && r->group.size != 0 && (m->n[0] != 0 || m->n[1] != 0 || m->n[2] != 0))
        status = save_group(w, m, &r->group);
    return status == USHER_OK && left ? leave_node(w, m) : status;
}

/* Set the end of the hold by `lease-max`, or after an outage, in its notice. */
static enum usher_status __attribute__((noinline))
commit_ending(work *w, move *m, enum usher_verb verb)
{
    struct usher_record told = *own_record(m);

    told.until_ms = end_of(w, &told);
    return usher__change_commit(w, &m->c, verb, m->from, told.state, &told);
}

/* Add data to the notice of @m: the group of the number; the node of a call, or of a hold that has
 * ended; the peer of a call; whether the lease or `lease-max` ended a hold that has expired. */
static enum usher_status __attribute__((noinline)) add_data(work *w, move *m, enum usher_verb verb)
{
    const struct usher_record *r = own_record(m);
    const struct usher_text *peer = &w->command->arg.number.sticky;
    const struct usher_text *node = r->data.size != 0 ? &r->data : &m->node;
    struct usher_text ended = { "lease", 5 };
    struct usher__notice_field said[4];
    size_t n = 0;

    if (r->group.size != 0)
        said[n++] = (struct usher__notice_field){ "group", 0, &r->group };
    if (node->size != 0)
        said[n++] = (struct usher__notice_field){ "node", 0, node };
    if (verb == USHER_NUMBER_CALL && peer->data != NULL)
        said[n++] = (struct usher__notice_field){ "peer", 0, peer };
    if (verb == USHER_NUMBER_EXPIRE && busy(m->from)) {
        if (m->limited)
            ended = (struct usher_text){ "lease-max", 9 };
        said[n++] = (struct usher__notice_field){ "ended", 0, &ended };
    }
    return n != 0 ? usher__change_data(w, &m->c, said, n) : USHER_OK;
}

static inline enum usher_status commit(work *w, move *m, enum usher_verb verb)
{
    const struct usher_record *r = own_record(m);

    if (usher__change_observed(w, &m->c)) {
        enum usher_status status = add_data(w, m, verb);

        if (status != USHER_OK)
            return status;
    }
    if (busy(r->state) && (w->scope.settings[USHER__SET_LEASE_MAX] != 0 ||
                           (w->gap_to != 0 && r->until_ms <= w->gap_to)))
        return commit_ending(w, m, verb);
    return usher__change_commit(w, &m->c, verb, m->from, r->state, r);
}

/* Commit a change without a cached answer: an expiry, or one of several changes of a command. */
static enum usher_status save_and_commit(work *w, move *m, enum usher_verb verb)
{
    enum usher_status status = save(w, m);

    return status == USHER_OK ? commit(w, m, verb) : status;
}

/* Store the end of the lease of @m that an outage has moved: like a heartbeat, this has no version
 * and no notice. */
static enum usher_status __attribute__((noinline)) put_off(work *w, move *m)
{
    struct usher_record *r = own_record(m);
    enum usher_status status;

    usher__change_begin_quietly(w, &m->c);
    begun(w, m);
    r->until_ms = lease_end(w, r);
    status = save(w, m);
    return status == USHER_OK ? usher__change_write(w, &m->c) : status;
}

/* @m is due: it expires, which is a change of its own, or an outage has moved its lease. */
static enum usher_status expire_one(work *w, move *m)
{
    if (!due(w, own_record(m)))
        return put_off(w, m);
    begin(w, m);
    m->limited = busy(m->from) && end_of(w, own_record(m)) != lease_end(w, own_record(m));
    expire(w, own_record(m), w->scope.version);
    return save_and_commit(w, m, USHER_NUMBER_EXPIRE);
}

/* Apply the current settings to @m, which is free: whether it rests, and whether it is over the
 * cap.  That follows from the settings, so it has no version and no notice, and the number keeps
 * its order. */
static enum usher_status judge_one(work *w, move *m)
{
    struct usher_record *r = own_record(m);
    bool idle = (r->slots & 1u << USHER__NUMBER_IDLE) != 0;
    bool drawn = !idle         ? drawn_now(w)
                 : over_cap(r) ? usher__number_rank_drawn(r->rank)
                               : r->rank < USHER__RANK_QUEUED;
    enum usher_status status;

    usher__change_begin_quietly(w, &m->c);
    begun(w, m);
    r->until_ms = rests_until(w, r);
    r->slots = usher__machine_lists(&usher__number_machine, r->state, r->until_ms);
    r->rank = (r->slots & 1u << USHER__NUMBER_IDLE) != 0 ? rank_of(w, r, drawn) : 0;
    status = save(w, m);
    return status == USHER_OK ? usher__change_write(w, &m->c) : status;
}

/* Return whether the place of @r agrees with the settings. */
static bool is_right(const work *w, const struct usher_record *r)
{
    return !rests_otherwise(w, r) && ((r->slots & 1u << USHER__NUMBER_IDLE) == 0 ||
                                      over_cap(r) == reached_cap(&w->scope, r, w->now));
}

/* Find the next number of the list, and store the position after it.  MISSING. */
static enum usher_status judge_next(work *w, struct usher_record *r)
{
    int64_t *at = &w->scope.counts[COUNT_JUDGE], *hi = &w->scope.counts[COUNT_JUDGE_HI];
    int64_t lists = *at & JUDGE_RESTS;
    unsigned slot = lists == JUDGE_RESTS ? USHER__NUMBER_DUE : USHER__NUMBER_IDLE;
    enum usher_status status = w->ops->walk(w->txn, &w->scope, KIND_NUMBER, (uint8_t)slot, NULL,
                                            (uint64_t)*hi, (uint64_t)*at >> 2, false, r);

    if (status == USHER_OK) {
        *at = (int64_t)(r->order << 2) + lists;
        *hi = slot == USHER__NUMBER_DUE ? r->until_ms : (int64_t)r->rank;
    } else if (status == USHER_MISSING) {
        *at = lists == JUDGE_BOTH ? JUDGE_RESTS : JUDGED;
        *hi = 0;
    }
    return status;
}

/* Continue to apply a changed setting, to at most *@left numbers. */
static enum usher_status judge(work *w, int *left)
{
    move m;
    const struct usher_record *r = own_record(&m);
    enum usher_status status = USHER_OK;

    if (is_judged(w))
        return USHER_OK;
    while (status == USHER_OK && !is_judged(w) && *left > 0) {
        status = judge_next(w, own_record(&m));
        if (status == USHER_MISSING) {
            status = USHER_OK;
            continue;
        }
        --*left;
        if (status == USHER_OK && !due(w, r) && !is_right(w, r))
            status = judge_one(w, &m);
    }
    if (status != USHER_OK)
        return status;
    usher__change_begin_quietly(w, &m.c);
    return usher__change_write(w, &m.c);
}

static enum usher_status walk_idle(work *w, const struct usher_text *group, uint64_t rank,
                                   uint64_t order, bool back, struct usher_record *r)
{
    return w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_IDLE, group, rank, order,
                        back, r);
}

/*
 * Find the first number of @group (NULL: any) that is stored as over the cap although it is below
 * the cap now.  They are in order of day and calls: if one is over the cap, so are all others of
 * its day.  MISSING.
 */
static enum usher_status first_over_cap(work *w, const struct usher_text *group,
                                        struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    if (w->scope.counts[COUNT_CAPPED] != 0)
        status = walk_idle(w, group, USHER__RANK_CAPPED, 0, false, r);
    while (status == USHER_OK &&
           reached_cap(&w->scope, r, w->now)) /* at most 1 + DAYS_AHEAD days */
        status =
            walk_idle(w, group, usher__number_rank_capped(r->n[N_DAY] + 1, 0, false), 0, false, r);
    return status;
}

/* Count the numbers that are stored as over the cap and still are. */
static enum usher_status count_capped(work *w, int64_t *ret)
{
    int64_t today = usher__day(w->now, w->scope.settings[USHER__SET_ZONE]);

    *ret = 0;
    if (w->scope.settings[USHER__SET_DAILY] == 0)
        return USHER_OK; /* the setting is still being applied to numbers over the cap */
    for (int64_t day = today; day <= today + DAYS_AHEAD && *ret < w->scope.counts[COUNT_CAPPED];
         day++) {
        struct usher_record of;
        char name[24];
        struct usher_text id = { name, 0 };
        enum usher_status status;

        id.size = (size_t)snprintf(name, sizeof name, "%" PRId64, day);
        status = w->ops->find(w->txn, &w->scope, KIND_DAY, &id, &of);
        if (status == USHER_OK)
            *ret += of.n[N_CAPPED];
        else if (status != USHER_MISSING)
            return status;
    }
    return USHER_OK;
}

/* Find the oldest hold, if `lease-max` limits holds.  MISSING. */
static enum usher_status first_limited(work *w, uint64_t order, struct usher_record *r)
{
    if (w->scope.settings[USHER__SET_LEASE_MAX] == 0)
        return USHER_MISSING;
    return w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD, NULL, 0, order, false,
                        r);
}

/* Find the first number of @group (NULL: any) whose lease or rest is over, or the first of all
 * holds that `lease-max` ends.  MISSING: nothing is due; *@ret_due is then when something will
 * be. */
static enum usher_status first_due(work *w, const struct usher_text *group, int64_t *ret_due,
                                   struct usher_record *r)
{
    struct usher_record limited;
    enum usher_status status =
        w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_DUE, group, 0, 0, false, r);
    enum usher_status by_limit;

    *ret_due = status == USHER_OK ? r->until_ms : INT64_MAX;
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    by_limit = first_limited(w, 0, &limited);
    if (by_limit == USHER_OK && limit_end(&w->scope, &limited) < *ret_due) {
        *ret_due = limit_end(&w->scope, &limited);
        *r = limited;
    } else if (by_limit != USHER_OK && by_limit != USHER_MISSING) {
        return by_limit;
    }
    return *ret_due <= w->moment ? USHER_OK : USHER_MISSING;
}

/* Nothing is due before @next.  Apply a changed setting to up to @judges numbers, and store when
 * the scope is due. */
static enum usher_status none_due(work *w, int64_t next, int judges, bool *ret_more)
{
    int64_t n_capped;
    int left = judges;
    enum usher_status status;

    w->scope.due_ms = next; /* a changed setting may make an earlier one */
    status = judge(w, &left);
    if (usher__work_stops(w, status, 1)) {
        *ret_more = true;
        return USHER_OK;
    }
    if (status == USHER_OK)
        status = count_capped(w, &n_capped);
    if (status != USHER_OK)
        return status;
    if (n_capped != 0)
        due_at(w, usher__day_end(w->now, w->scope.settings[USHER__SET_ZONE]));
    if (!is_judged(w)) {
        due_at(w, w->moment);
        *ret_more = true;
        w->behind = judges == JUDGE_MAX;
    }
    return USHER_OK;
}

/* Apply up to @max expiries, then a changed setting to up to @judges numbers; *@ret_n: the number
 * of expiries. */
static enum usher_status expire_due(work *w, int64_t max, int judges, uint64_t *ret_n,
                                    bool *ret_more)
{
    move m;
    int64_t next;
    bool over;
    enum usher_status status;

    *ret_n = 0;
    *ret_more = false;
    /* holds end by the moment, and days by `now`: due_ms is a lower bound of both */
    for (int64_t n = 0; w->scope.due_ms <= w->now; n++) {
        status = first_due(w, NULL, &next, own_record(&m));
        if (status == USHER_MISSING)
            return none_due(w, next, judges, ret_more);
        if (status != USHER_OK)
            return status;
        if (n >= max) {
            *ret_more = w->behind = true;
            break;
        }
        over = due(w, own_record(&m));
        status = expire_one(w, &m);
        if (usher__work_stops(w, status, (uint64_t)n)) {
            *ret_more = true;
            break;
        }
        if (status != USHER_OK)
            return status;
        *ret_n += over;
    }
    return USHER_OK;
}

/* Find number @id, and apply its due expiries and a changed setting; one that is not in the pool is
 * NODATA. */
static enum usher_status load(work *w, const struct usher_text *id, move *m)
{
    struct usher_record *r = own_record(m);
    enum usher_status status = USHER_MISSING;

    while (w->scope.ref != NULL) {
        status = w->ops->find(w->txn, &w->scope, KIND_NUMBER, id, r);
        if (status != USHER_OK)
            break;
        if (due(w, r))
            status = expire_one(w, m);
        else if (rests_otherwise(w, r))
            status = judge_one(w, m);
        else
            break;
        if (status != USHER_OK)
            return status;
    }
    if (status != USHER_MISSING)
        return status;
    memset(r, 0, sizeof *r);
    r->kind = KIND_NUMBER;
    r->id = *id;
    r->n[N_LEASE] = RESTED;
    return USHER_OK;
}

/* ---- replies ---------------------------------------------------------------------- */

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

/* Answer about a number that is not in the pool. */
static void answer_nodata(work *w, enum usher_status status)
{
    const struct usher_text *number = &w->command->arg.number.number;
    struct usher_record r;

    memset(&r, 0, sizeof r);
    r.id = *number;
    answer(w, status, &r);
}

/* Commit with the cached answer for a repeat of the command. */
static enum usher_status keep_and_commit(work *w, move *m)
{
    enum usher_status status = usher__request_keep(w, &m->c);

    return status == USHER_OK ? commit(w, m, w->command->verb) : status;
}

/* Commit the change of the command, and answer with the number as it is then. */
static enum usher_status finish(work *w, move *m)
{
    enum usher_status status = save(w, m);

    answer(w, USHER_OK, own_record(m));
    return status == USHER_OK ? keep_and_commit(w, m) : status;
}

/* ---- add, del, reg, unreg --------------------------------------------------------- */

/* The number is deleted: store its calls of the day, because it may be added again. */
static enum usher_status past_keep(work *w, move *m)
{
    const struct usher_record *r = own_record(m);
    struct usher_record past;

    if (calls_on(&w->scope, r, w->now) == 0)
        return USHER_OK;
    memset(&past, 0, sizeof past);
    past.kind = KIND_PAST;
    past.id = r->id;
    past.until_ms = USHER__FOREVER;
    past.n[N_CALLS] = r->n[N_CALLS];
    past.n[N_DAY] = r->n[N_DAY];
    past.n[N_USED] = r->n[N_USED];
    return usher__change_remember(w, &m->c, &past, &w->scope.counts[COUNT_PAST], PAST_MAX);
}

/* The number is added: read the calls that it had today if it was in the pool before. */
static enum usher_status past_recall(work *w, move *m)
{
    struct usher_record *r = own_record(m), *past = usher__change_next(&m->c);
    enum usher_status status;

    if (w->scope.counts[COUNT_PAST] == 0)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, KIND_PAST, &r->id, past);
    if (status != USHER_OK)
        return status == USHER_MISSING ? USHER_OK : status;
    if (calls_on(&w->scope, past, w->now) != 0) {
        r->n[N_CALLS] = past->n[N_CALLS];
        r->n[N_DAY] = past->n[N_DAY];
        r->n[N_USED] = past->n[N_USED];
    }
    usher__change_erase(&m->c, past);
    w->scope.counts[COUNT_PAST]--;
    return USHER_OK;
}

static enum usher_status simple(work *w, unsigned event)
{
    const struct usher_number_args *a = &w->command->arg.number;
    struct usher__move to;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = load(w, &a->number, &m);

    if (status != USHER_OK)
        return status;
    if (r->state == USHER_NUMBER_STATE_NODATA && a->group.data != NULL)
        r->group = a->group;
    to = move_of(w, r, event, USHER__ANY);
    if (to.status != USHER_OK) {
        answer(w, (enum usher_status)to.status, r);
        return USHER_OK;
    }
    begin(w, &m);
    if (to.to == USHER_NUMBER_STATE_NODATA) {
        r->state = to.to;
        status = save(w, &m);
        if (status == USHER_OK)
            status = past_keep(w, &m);
        answer_nodata(w, USHER_OK);
        return status == USHER_OK ? keep_and_commit(w, &m) : status;
    }
    set_state(w, r, to.to, r->until_ms, w->scope.version);
    if (m.from != USHER_NUMBER_STATE_NODATA)
        return finish(w, &m);
    r->order = w->scope.version;
    status = save(w, &m);
    if (status == USHER_OK)
        status = past_recall(w, &m);
    answer(w, USHER_OK, r);
    return status == USHER_OK ? keep_and_commit(w, &m) : status;
}

/* ---- call ------------------------------------------------------------------------- */

/* Count a call that gets nothing.  That is no change and has no version, and it does not advance
 * the scope's clock.  So refusals have a clock of their own, which does not go back either: a
 * refusal with an earlier day counts as of the latest. */
static enum usher_status count_refusal(work *w)
{
    struct usher_scope *s = &w->scope;
    int64_t today = usher__day(w->now, s->settings[USHER__SET_ZONE]);
    change c;

    if (s->ref == NULL)
        return USHER_OK;
    if (s->counts[COUNT_REFUSED_DAY] < today) {
        s->counts[COUNT_REFUSED_DAY] = today;
        s->counts[COUNT_REFUSED] = 0;
    }
    s->counts[COUNT_REFUSED]++;
    usher__change_begin_quietly(w, &c);
    return usher__change_write(w, &c);
}

/* Return when @r may be free, or 0 if that is not known.  Its rest or its hold ends at @at (0:
 * never), it may rest again, and it must be below its cap then. */
static int64_t free_at(const work *w, const struct usher_record *r, int64_t at)
{
    const int64_t *set = w->scope.settings;

    if (r->state == USHER_NUMBER_STATE_BUSY_UP && at != 0)
        at = rested(&w->scope, r, at, set[USHER__SET_REST]);
    else if (r->state == USHER_NUMBER_STATE_IDLE_UP && at == 0)
        at = w->moment;
    else if (r->state != USHER_NUMBER_STATE_IDLE_UP)
        at = 0;
    return at != 0 && reached_cap(&w->scope, r, at) ? usher__day_end(at, set[USHER__SET_ZONE]) : at;
}

/* Holds and rests in order of their ends, from two lists: those with a lease or rest, of a group,
 * and those that `lease-max` limits, of all groups. */
struct ends {
    const struct usher_text *group;
    struct usher_record r[2];
    enum usher_status status[2]; /* MISSING: none is left */
    int looked;                  /* number of holds of all groups that were read */
    int64_t limit;               /* the last limit: limits end holds in their order */
};

static void ends_step(work *w, struct ends *e, unsigned list)
{
    struct usher_record *r = &e->r[list];

    e->status[list] = list == 0 ? w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_DUE,
                                               e->group, (uint64_t)r->until_ms, r->order, false, r)
                                : first_limited(w, r->order, r);
    if (list == 1)
        e->looked++;
}

/* Find the next end, of *@ret_r at *@ret_at.  MISSING. */
static enum usher_status ends_next(work *w, struct ends *e, struct usher_record *ret_r,
                                   int64_t *ret_at)
{
    for (;;) {
        int64_t at[2];
        unsigned list;

        for (unsigned i = 0; i < 2; i++)
            if (e->status[i] != USHER_OK && e->status[i] != USHER_MISSING)
                return e->status[i];
        if (e->status[0] != USHER_OK && e->status[1] != USHER_OK)
            return USHER_MISSING;
        at[0] = e->status[0] == USHER_OK ? e->r[0].until_ms : INT64_MAX;
        at[1] = e->status[1] == USHER_OK ? limit_end(&w->scope, &e->r[1]) : INT64_MAX;
        if (at[1] < e->limit)
            at[1] = e->limit;
        list = at[1] < at[0];
        if (list == 1)
            e->limit = at[1];
        *ret_r = e->r[list];
        *ret_at = at[list];
        if (list == 1 && e->looked > USHER__EXPIRE_MAX)
            return USHER_OK; /* the last one that is read */
        ends_step(w, e, list);
        /* each hold once, where it ends */
        if (list == 0 ? end_of(w, ret_r) == ret_r->until_ms
                      : end_of(w, ret_r) != ret_r->until_ms &&
                            (e->group == NULL || usher__text_equal(e->group, &ret_r->group)))
            return USHER_OK;
    }
}

/*
 * Lower *@best (< 0: not known) to the time at which a number of @group (NULL: any), @rests of
 * which rest, becomes free without a command.  If more than USHER__EXPIRE_MAX holds or rests end
 * before that without a number becoming free (they are not registered, they rest again), it is the
 * time at which the next one of those ends.
 */
static enum usher_status next_free(work *w, const struct usher_text *group, int64_t rests,
                                   int64_t *best)
{
    struct ends e = { .group = group };
    struct usher_record r;
    bool held = false;

    for (unsigned list = 0; list < 2; list++)
        ends_step(w, &e, list);
    for (int i = 0;; i++) {
        int64_t end, at;
        enum usher_status status = ends_next(w, &e, &r, &end);

        if (status == USHER_MISSING)
            break;
        if (status != USHER_OK)
            return status;
        if ((*best >= 0 && end >= *best) || (held && rests == 0))
            break;
        if (i == USHER__EXPIRE_MAX || e.looked > USHER__EXPIRE_MAX) {
            *best = end;
            break;
        }
        at = free_at(w, &r, end);
        if (at > 0 && (*best < 0 || at < *best))
            *best = at;
        if (r.state == USHER_NUMBER_STATE_IDLE_UP)
            rests--;
        else if (at == end + w->scope.settings[USHER__SET_REST])
            held = true; /* and no later hold ends earlier */
    }
    return USHER_OK;
}

static bool any_group(const struct usher_text *group)
{
    return group->size == 1 && group->data[0] == '*';
}

/* The counts of all groups of the command, if a call got nothing. */
struct shortage {
    int64_t total, busy_up, rests;
    bool capped;
    int64_t next;
};

/* Nothing of @group (NULL: any) is free, and nothing is due, so all numbers in its idle list are
 * over the cap. */
static enum usher_status find_shortage(work *w, const struct usher_text *group, int64_t total,
                                       int64_t busy_up, int64_t rests, struct shortage *ret)
{
    struct usher_record r;
    enum usher_status status = walk_idle(w, group, 0, 0, false, &r);

    if (status == USHER_OK) {
        int64_t at = usher__day_end(w->now, w->scope.settings[USHER__SET_ZONE]);

        ret->capped = true;
        if (ret->next < 0 || at < ret->next)
            ret->next = at;
    } else if (status != USHER_MISSING) {
        return status;
    }
    ret->total += total;
    ret->busy_up += busy_up;
    ret->rests += rests;
    return next_free(w, group, rests, &ret->next);
}

/* Nothing is free in the groups of the command: answer with the reason, and the next time at which
 * one may be free. */
static enum usher_status exhausted(work *w)
{
    struct usher_text list = w->command->arg.number.group, group;
    const int64_t *counts = w->scope.counts;
    struct usher_number_result *n = &w->reply->of.number;
    struct shortage of = { .next = -1 };
    bool all = list.data == NULL;
    enum usher_status status = USHER_OK;

    while (!all && usher__groups_next(&list, &group))
        all = any_group(&group);
    list = w->command->arg.number.group;
    if (w->scope.ref == NULL) {
        /* an unknown pool has no numbers */
    } else if (all) {
        int64_t total = 0;

        for (int state = USHER_NUMBER_STATE_IDLE_DOWN; state <= USHER_NUMBER_STATE_BUSY_UP; state++)
            total += counts[state];
        status = find_shortage(w, NULL, total, counts[USHER_NUMBER_STATE_BUSY_UP],
                               counts[COUNT_RESTING], &of);
    } else {
        while (status == USHER_OK && usher__groups_next(&list, &group)) {
            struct usher_record r;

            status = w->ops->find(w->txn, &w->scope, KIND_GROUP, &group, &r);
            if (status == USHER_OK)
                status =
                    find_shortage(w, &group, r.n[N_TOTAL], r.n[N_BUSY_UP], r.n[N_RESTING], &of);
            else if (status == USHER_MISSING)
                status = USHER_OK;
        }
    }
    if (status == USHER_OK)
        status = count_refusal(w);
    if (status != USHER_OK)
        return status;
    w->reply->status = USHER_EMPTY;
    n->why = of.total == 0    ? USHER_NUMBER_WHY_NO_NUMBER
             : of.busy_up > 0 ? USHER_NUMBER_WHY_BUSY
             : of.rests > 0   ? USHER_NUMBER_WHY_RESTING
             : of.capped      ? USHER_NUMBER_WHY_CAPPED
                              : USHER_NUMBER_WHY_DOWN;
    n->next_ms = of.next;
    return USHER_OK;
}

/* Answer that the requested number is not free. */
static enum usher_status turned_down(work *w, const struct usher_record *r)
{
    struct usher_number_result *n = &w->reply->of.number;
    int64_t at = free_at(w, r, end_of(w, r));

    answer(w, USHER_REFUSED, r);
    n->token = 0; /* the token of another owner */
    n->why = busy(r->state)                             ? USHER_NUMBER_WHY_BUSY
             : r->state == USHER_NUMBER_STATE_IDLE_DOWN ? USHER_NUMBER_WHY_DOWN
             : resting(r)                               ? USHER_NUMBER_WHY_RESTING
                                                        : USHER_NUMBER_WHY_CAPPED;
    n->next_ms = at > 0 ? at : -1;
    return count_refusal(w);
}

/* Store @number as the last one for the peer of this call. */
static enum usher_status remember_sticky(work *w, change *c, const struct usher_text *number)
{
    const struct usher_text *peer = &w->command->arg.number.sticky;
    const int64_t *set = w->scope.settings;
    struct usher_record r;
    enum usher_status status;

    if (peer->data == NULL || set[USHER__SET_STICKY_MS] == 0 || set[USHER__SET_STICKY_MAX] == 0)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, KIND_STICKY, peer, &r);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = KIND_STICKY;
    } else if (status != USHER_OK) {
        return status;
    }
    r.id = *peer;
    r.owner = *number;
    r.until_ms = w->moment + set[USHER__SET_STICKY_MS];
    return usher__change_remember(w, c, &r, &c->scope->counts[COUNT_STICKY],
                                  set[USHER__SET_STICKY_MAX]);
}

/* Give the number to this call, which begins or takes it back, with the state @to. */
static enum usher_status take_number(work *w, move *m, unsigned to)
{
    const struct usher_number_args *a = &w->command->arg.number;
    const int64_t *set = w->scope.settings;
    struct usher_record *r = own_record(m);
    int64_t today = usher__day(w->now, set[USHER__SET_ZONE]);
    int64_t lease =
        (w->command->given & USHER_GIVEN_LEASE) != 0 ? a->lease_ms : set[USHER__SET_LEASE];
    int64_t *counts = w->scope.counts;
    enum usher_status status;

    begin(w, m);
    set_state(w, r, to, lease > 0 ? w->moment + lease : 0, w->scope.version);
    r->token = r->order = w->scope.version;
    r->n[N_CALLS] = calls_on(&w->scope, r, w->now) + 1;
    r->n[N_DAY] = r->n[N_DAY] > today ? r->n[N_DAY] : today;
    r->n[N_USED] = w->moment;
    r->n[N_LEASE] = lease;
    if (a->owner.data != NULL)
        r->owner = a->owner;
    if (a->node.data != NULL)
        r->data = a->node;

    if (counts[COUNT_CALLS_DAY] < today) {
        counts[COUNT_CALLS_DAY] = today;
        counts[COUNT_CALLS] = 0;
    }
    counts[COUNT_CALLS]++;

    answer(w, USHER_OK, r);
    status = save(w, m);
    if (status == USHER_OK && a->node.data != NULL)
        join_node(m, &a->node);
    if (status == USHER_OK)
        status = remember_sticky(w, &m->c, &r->id);
    return status == USHER_OK ? keep_and_commit(w, m) : status;
}

/* Return the move of @r by a call. */
static struct usher__move move_by_call(work *w, const struct usher_record *r)
{
    const struct usher_text *owner = &w->command->arg.number.owner;
    unsigned guard = USHER__ANY;

    if (busy(r->state)) {
        if (owner->data != NULL)
            guard = usher__text_equal(owner, &r->owner) ? USHER__NUMBER_IF_HOLDER
                                                        : USHER__NUMBER_IF_OTHER;
    } else if (r->until_ms != 0 || reached_cap(&w->scope, r, w->now)) {
        guard = USHER__NUMBER_IF_RESTING;
    }
    return move_of(w, r, USHER__NUMBER_CALL, guard);
}

/* Give @m, which is in a list of free numbers, to this call.  MISSING: it may not have it. */
static enum usher_status take_free(work *w, move *m)
{
    struct usher__move to = move_by_call(w, own_record(m));

    return to.status == USHER_OK ? take_number(w, m, to.to) : USHER_MISSING;
}

/* As walk_idle(), but without numbers over the cap. */
static enum usher_status walk_offered(work *w, const struct usher_text *group, uint64_t rank,
                                      uint64_t order, bool back, struct usher_record *r)
{
    enum usher_status status = walk_idle(w, group, rank, order, back, r);

    return status == USHER_OK && over_cap(r) ? USHER_MISSING : status;
}

/*
 * Draw a number of @group fairly.  The numbers are on a circle, each at the rank it drew when it
 * became idle.  A point is drawn from the version of this call, and one of the next
 * USHER__DRAW_STEPS numbers after it is taken.  (Rejected: the first one, because its chance is the
 * gap before it; and always the lowest rank, because numbers that are passed over have high ranks
 * and stay.)  MISSING: there is none.
 */
static enum usher_status draw(work *w, const struct usher_text *group, struct usher_record *r)
{
    uint64_t version = w->scope.version + 1;
    uint32_t left = usher__draw_step(version);
    uint64_t rank = usher__draw(version), order = 0;
    bool turned = false;

    for (;;) {
        enum usher_status status = walk_offered(w, group, rank, order, false, r);

        if (status == USHER_MISSING && !turned) { /* after a whole turn there is none */
            turned = true;
            rank = order = 0;
            continue;
        }
        if (status != USHER_OK || left-- == 0)
            return status;
        turned = false;
        rank = r->rank;
        order = r->order;
    }
}

/*
 * Find the first number of @group (NULL: any) by the pool's order that is not over the cap.
 * Numbers that became idle under another kind of order (random or not) come before all others.
 * MISSING.
 */
static enum usher_status first_idle(work *w, const struct usher_text *group, struct usher_record *r)
{
    enum usher_status status;

    if (w->scope.settings[USHER__SET_ORDER] == USHER_NUMBER_ORDER_RANDOM) {
        status = walk_offered(w, group, USHER__RANK_QUEUED, 0, false, r);
        return status != USHER_MISSING ? status : draw(w, group, r);
    }
    status = walk_offered(w, group, 0, 0, false, r);
    if (status != USHER_OK || r->rank < USHER__RANK_QUEUED ||
        w->scope.settings[USHER__SET_ORDER] == USHER_NUMBER_ORDER_LONGEST_IDLE)
        return status;
    return walk_offered(w, group, USHER__RANK_CAPPED, 0, true, r);
}

/* Count a step of a call.  REFUSED: *@left are used up. */
static enum usher_status step(int *left)
{
    if (*left == 0)
        return USHER_REFUSED;
    --*left;
    return USHER_OK;
}

/* No number of @group is in the idle list.  OK: an expiry or a changed setting was applied, so one
 * may be now. */
static enum usher_status find_more(work *w, const struct usher_text *group, int *left, move *m)
{
    int64_t next;
    enum usher_status status = USHER_MISSING;

    if (w->scope.due_ms <= w->now)
        status = first_due(w, group, &next, own_record(m));
    if (status == USHER_OK) {
        status = step(left);
        return status == USHER_OK ? expire_one(w, m) : status;
    }
    if (status != USHER_MISSING || is_judged(w))
        return status;
    return *left > 0 ? judge(w, left) : USHER_REFUSED;
}

/*
 * Give the first number of @group (NULL: any) to this call.  A changed setting and expiries, also
 * if they are more than a command applies before it, are applied until a number is free.  MISSING:
 * there is none.  REFUSED: these were more than *@left.
 */
static enum usher_status take_first(work *w, const struct usher_text *group, int *left, move *m)
{
    for (;;) {
        enum usher_status status = first_idle(w, group, own_record(m));

        if (status == USHER_MISSING)
            status = first_over_cap(w, group, own_record(m));
        if (status == USHER_OK) {
            if (is_judged(w) || is_right(w, own_record(m)))
                return take_free(w, m);
            status = step(left);
            if (status == USHER_OK)
                status = judge_one(w, m);
        } else if (status == USHER_MISSING) {
            status = find_more(w, group, left, m);
        }
        if (status != USHER_OK)
            return status;
    }
}

/* Return whether the command's list of groups contains that of @r. */
static bool group_fits(work *w, const struct usher_record *r)
{
    struct usher_text list = w->command->arg.number.group, group;

    if (list.data == NULL)
        return true;
    while (usher__groups_next(&list, &group))
        if (any_group(&group) || usher__text_equal(&group, &r->group))
            return true;
    return false;
}

/* Give the number last used for this call's peer.  MISSING: not known, or not free. */
static enum usher_status take_sticky(work *w, move *m)
{
    const struct usher_text *peer = &w->command->arg.number.sticky;
    const struct usher_record *r = own_record(m);
    struct usher_record memory;
    char copy[USHER_NAME_MAX]; /* load() may write, which frees the texts of records */
    struct usher_text number = { copy, 0 };
    enum usher_status status;

    if (peer->data == NULL)
        return USHER_MISSING;
    status = w->ops->find(w->txn, &w->scope, KIND_STICKY, peer, &memory);
    if (status != USHER_OK)
        return status;
    if (memory.until_ms <= w->moment)
        return USHER_MISSING;
    number.size = memory.owner.size;
    memcpy(copy, memory.owner.data, number.size);
    status = load(w, &number, m);
    /* the id of a number that is not in the store is the copy */
    if (status == USHER_OK && r->id.data != copy && (r->slots & (1u << USHER__NUMBER_IDLE)) != 0 &&
        !reached_cap(&w->scope, r, w->now) && group_fits(w, r))
        return take_free(w, m);
    own_record(m)->id = (struct usher_text){ NULL, 0 };
    return status == USHER_OK ? USHER_MISSING : status;
}

/* Find the oldest hold of this call's owner, after due expiries.  MISSING; REFUSED: they were more
 * than
 * *@left. */
static enum usher_status held(work *w, const struct usher_text *owner, int *left, move *m)
{
    struct usher_record *r = own_record(m);

    if (owner->data == NULL)
        return USHER_MISSING;
    for (;;) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD, owner, 0, 0, false, r);

        if (status != USHER_OK || !due(w, r))
            return status;
        status = step(left);
        if (status == USHER_OK)
            status = expire_one(w, m);
        if (status != USHER_OK)
            return status;
    }
}

/* Defer the command: it has applied as many expiries as one command does. */
static enum usher_status defer(work *w)
{
    w->reply->of.number.why = USHER_NUMBER_WHY_DUE;
    return usher__defer(w);
}

/* Give @m to the call, if the row of the table permits it. */
static enum usher_status call_one(work *w, move *m)
{
    struct usher__move to = move_by_call(w, own_record(m));

    if (to.status == USHER_OK)
        return take_number(w, m, to.to);
    if (to.status == USHER_REFUSED)
        return turned_down(w, own_record(m));
    answer(w, (enum usher_status)to.status, own_record(m));
    return USHER_OK;
}

static enum usher_status call(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    int left = JUDGE_MAX;
    struct usher_text list = a->group, group;
    move m;
    enum usher_status status;

    if (a->number.data != NULL) {
        status = load(w, &a->number, &m);
        return status == USHER_OK ? call_one(w, &m) : status;
    }
    if (w->scope.ref == NULL)
        return exhausted(w);
    status = held(w, &a->owner, &left, &m);
    if (status == USHER_OK)
        return call_one(w, &m);
    if (status == USHER_MISSING)
        status = take_sticky(w, &m);
    if (status == USHER_MISSING && list.data == NULL)
        status = take_first(w, NULL, &left, &m);
    while (status == USHER_MISSING && usher__groups_next(&list, &group))
        status = take_first(w, any_group(&group) ? NULL : &group, &left, &m);
    if (status == USHER_REFUSED)
        return defer(w);
    return status == USHER_MISSING ? exhausted(w) : status;
}

/* ---- hangup, renew, lift, free ---------------------------------------------------- */

/* Return whether the token of the command was issued by a history that the store has lost. */
static bool token_lost(work *w, const struct usher_record *r)
{
    uint64_t token = w->command->arg.number.token;

    return (w->command->given & USHER_GIVEN_TOKEN) != 0 && w->scope.ref != NULL &&
           r->token != token && usher__scope_version_lost(w, token);
}

/* End the rest of @r, of any length, so that no setting begins it again. */
static void end_rest(const work *w, struct usher_record *r, unsigned to)
{
    r->n[N_LEASE] = RESTED;
    set_state(w, r, to, 0, w->scope.version);
}

/* Answer `stale`, with the owner and the deadline of the hold, and no token. */
static enum usher_status say_stale(work *w, const struct usher_record *r)
{
    struct usher_number_result_row row;

    answer(w, USHER_STALE, r);
    w->reply->of.number.token = 0;
    memset(&row, 0, sizeof row);
    row.number = r->id;
    row.owner = r->owner;
    row.state = (enum usher_number_state)r->state;
    row.until_ms = end_of(w, r);
    return usher_result_add_row(w->reply, USHER_NUMBER, &row);
}

/* Answer @status; the row of the table does nothing else. */
static enum usher_status answer_only(work *w, enum usher_status status,
                                     const struct usher_record *r)
{
    if (status == USHER_STALE)
        return say_stale(w, r);
    answer(w, status, r);
    return USHER_OK;
}

static enum usher_status hangup(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    bool rests = (w->command->given & USHER_GIVEN_REST) != 0;
    int64_t rest_ms = rests ? a->rest_ms : BY_POOL;
    struct usher__move to;
    unsigned guard = USHER__ANY;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = load(w, &a->number, &m);

    if (status != USHER_OK)
        return status;
    if (token_lost(w, r))
        return usher__say_lost(w, "token");
    if ((w->command->given & USHER_GIVEN_TOKEN) != 0)
        guard = a->token == r->token ? USHER__NUMBER_IF_HOLDER : USHER__NUMBER_IF_OTHER;
    else if (w->scope.settings[USHER__SET_STRICT] != 0)
        guard = USHER__NUMBER_IF_STRICT;
    to = move_of(w, r,
                 rests && rest_ms == 0 && resting(r) ? USHER__NUMBER_UNREST : USHER__NUMBER_HANGUP,
                 guard);
    if (to.status != USHER_OK)
        return answer_only(w, (enum usher_status)to.status, r);
    begin(w, &m);
    if (resting(r))
        end_rest(w, r, to.to);
    else
        release(w, r, to.to, w->moment, rest_ms, w->scope.version);
    return finish(w, &m);
}

static enum usher_status lift(work *w)
{
    struct usher__move to;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = load(w, &w->command->arg.number.number, &m);

    if (status != USHER_OK)
        return status;
    to = move_of(w, r, USHER__NUMBER_LIFT, resting(r) ? USHER__NUMBER_IF_RESTING : USHER__ANY);
    if (to.status != USHER_OK) {
        answer(w, (enum usher_status)to.status, r);
        return USHER_OK;
    }
    begin(w, &m);
    end_rest(w, r, to.to);
    return finish(w, &m);
}

/* Change only the group.  The number keeps its rank and order, which no other number has, in the
 * list of either group. */
static enum usher_status move_group(work *w)
{
    struct usher_text group = w->command->arg.number.group, left;
    int64_t fewer[3];
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = load(w, &w->command->arg.number.number, &m);

    if (status != USHER_OK)
        return status;
    if (r->state == USHER_NUMBER_STATE_NODATA || usher__text_equal(&r->group, &group)) {
        answer(w, r->state == USHER_NUMBER_STATE_NODATA ? USHER_MISSING : USHER_SAME, r);
        return USHER_OK;
    }
    begin(w, &m);
    memcpy(fewer, m.n, sizeof fewer); /* the old group has these less, the new one more */
    memset(m.n, 0, sizeof m.n);
    left = r->group;
    r->group = group;
    status = save(w, &m);
    memcpy(m.n, fewer, sizeof m.n);
    if (status == USHER_OK && left.size != 0)
        status = save_group(w, &m, &left);
    answer(w, USHER_OK, r);
    return status == USHER_OK ? keep_and_commit(w, &m) : status;
}

/* Begin to extend the hold on @m.  SAME: it has this lease and deadline already.  (`lease-max` may
 * end it earlier, and the answer has that time.) */
static enum usher_status extend(work *w, move *m)
{
    struct usher_record *r = own_record(m);
    int64_t lease = (w->command->given & USHER_GIVEN_LEASE) != 0 ? w->command->arg.number.lease_ms
                                                                 : r->n[N_LEASE];
    int64_t until = lease > 0 ? w->moment + lease : 0;

    if (r->until_ms == until && r->n[N_LEASE] == lease)
        return USHER_SAME;
    begin(w, m);
    r->n[N_LEASE] = lease;
    set_state(w, r, r->state, until, w->scope.version);
    return USHER_OK;
}

static enum usher_status renew(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    struct usher__move to;
    move m;
    struct usher_record *r = own_record(&m);
    enum usher_status status = load(w, &a->number, &m);
    unsigned guard;

    if (status != USHER_OK)
        return status;
    guard = a->token == r->token ? USHER__NUMBER_IF_HOLDER : USHER__NUMBER_IF_OTHER;
    if (token_lost(w, r)) {
        if (a->owner.data == NULL)
            return usher__say_lost(w, "token");
        guard = busy(r->state) && usher__text_equal(&a->owner, &r->owner) ? USHER__NUMBER_IF_HOLDER
                                                                          : USHER__NUMBER_IF_OTHER;
        to = move_of(w, r, USHER__NUMBER_RETAKE, guard);
        if (to.status == USHER_OK)
            return take_number(w, &m, to.to);
        if (to.status != USHER_SAME)
            return usher__say_lost(w, "token");
    }
    to = move_of(w, r, USHER__NUMBER_RENEW, guard);
    if (to.status == USHER_OK) {
        status = extend(w, &m);
        if (status == USHER_OK)
            return finish(w, &m);
        to.status = (uint8_t)status;
    }
    return answer_only(w, (enum usher_status)to.status, r);
}

static enum usher_status several(work *w, enum usher_status status, uint64_t n, bool more)
{
    if (status != USHER_OK)
        return status;
    w->reply->status = n > 0 ? USHER_OK : USHER_SAME;
    w->reply->of.number.count = n;
    w->reply->of.number.more = more;
    return n > 0 ? usher__request_keep_last(w) : USHER_OK;
}

/* Find the oldest hold after @order, of @owner or @node if there is one (data is not NULL), or
 * MISSING. */
static enum usher_status walk_held(work *w, const struct usher_text *owner,
                                   const struct usher_text *node, uint64_t order,
                                   struct usher_record *r)
{
    struct usher_record of;
    enum usher_status status;

    if (node->data == NULL)
        return w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD,
                            owner->data != NULL ? owner : NULL, 0, order, false, r);
    status =
        w->ops->walk(w->txn, &w->scope, KIND_NODE, USHER__NUMBER_HELD, node, 0, order, false, &of);
    return status == USHER_OK ? w->ops->find(w->txn, &w->scope, KIND_NUMBER, &of.id, r) : status;
}

/* Set the position of the next page: after the hold with this token. */
static void answer_token(work *w, uint64_t token)
{
    struct usher_number_result *n = &w->reply->of.number;

    n->number_size = (size_t)snprintf(n->number, sizeof n->number, "%" PRIu64, token);
}

/* Renew all holds of a node, in pages; each is a change of its own. */
static enum usher_status renew_node(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    uint64_t n = 0, order = 0;
    move m;
    const struct usher_record *r = own_record(&m);
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    if (a->after.data != NULL)
        (void)usher__text_token(&a->after, &order);
    for (int looked = 0;; looked++) {
        uint64_t behind = order;

        status = walk_held(w, &a->owner, &a->node, behind, own_record(&m));
        if (status != USHER_OK)
            break;
        if (looked == USHER__EXPIRE_MAX) {
            answer_token(w, behind);
            return several(w, USHER_OK, n, true);
        }
        order = r->order;
        if (due(w, r)) {
            status = expire_one(w, &m); /* it is over */
        } else if (move_of(w, r, USHER__NUMBER_RENEW, USHER__NUMBER_IF_HOLDER).status == USHER_OK) {
            status = extend(w, &m);
            if (status == USHER_OK)
                status = save_and_commit(w, &m, USHER_NUMBER_RENEW);
            if (status == USHER_OK)
                n++;
        }
        if (usher__work_stops(w, status, n)) {
            answer_token(w, behind);
            return several(w, USHER_OK, n, true);
        }
        if (!USHER_IS_DONE(status))
            return status;
    }
    return several(w, status == USHER_MISSING ? USHER_OK : status, n, false);
}

/* Return the move of @r by `free`, the end of calls by an operator. */
static struct usher__move move_by_free(work *w, const struct usher_record *r)
{
    const struct usher_number_args *a = &w->command->arg.number;
    bool other = (a->owner.data != NULL && !usher__text_equal(&a->owner, &r->owner)) ||
                 (a->node.data != NULL && !usher__text_equal(&a->node, &r->data));

    return move_of(w, r, USHER__NUMBER_FREE, other ? USHER__NUMBER_IF_OTHER : USHER__ANY);
}

static enum usher_status free_one(work *w, move *m, unsigned to)
{
    begin(w, m);
    release(w, own_record(m), to, w->moment, BY_POOL, w->scope.version);
    return save(w, m);
}

static enum usher_status free_holds(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    uint64_t n = 0, order = 0;
    bool more = false;
    struct usher__move to;
    move m;
    const struct usher_record *r = own_record(&m);
    enum usher_status status = USHER_OK;

    if (a->number.data != NULL) {
        status = load(w, &a->number, &m);
        if (status != USHER_OK)
            return status;
        to = move_by_free(w, r);
        if (to.status != USHER_OK) {
            answer(w, (enum usher_status)to.status, r);
            return USHER_OK;
        }
        status = free_one(w, &m, to.to);
        answer(w, USHER_OK, r);
        if (status == USHER_OK)
            status = commit(w, &m, USHER_NUMBER_FREE);
        return several(w, status, 1, false);
    }
    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    while (status == USHER_OK) {
        status = walk_held(w, &a->owner, &a->node, order, own_record(&m));
        if (status == USHER_OK && n == USHER__EXPIRE_MAX) {
            more = true;
            break;
        }
        if (status != USHER_OK)
            break;
        order = r->order;
        to = move_by_free(w, r);
        if (to.status != USHER_OK)
            continue;
        status = free_one(w, &m, to.to);
        if (status == USHER_OK)
            status = commit(w, &m, USHER_NUMBER_FREE);
        if (status == USHER_OK)
            n++;
        if (usher__work_stops(w, status, n)) {
            more = true;
            status = USHER_OK;
            break;
        }
    }
    return several(w, status == USHER_MISSING ? USHER_OK : status, n, more);
}

/* Sweep.  The pool had @version before the command: an outage may have made a version, too. */
static enum usher_status sweep(work *w, uint64_t version)
{
    uint64_t n;
    bool more;
    int64_t max =
        usher__sweep_max((w->command->given & USHER_GIVEN_MAX) != 0, w->command->arg.number.max);
    enum usher_status status;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    status = expire_due(w, max, JUDGE_MAX, &n, &more);
    status = several(w, status, n, more);
    if (status != USHER_OK || n > 0 || w->scope.version == version)
        return status;
    w->reply->status = USHER_OK;
    return usher__request_keep_last(w);
}

/* ---- settings --------------------------------------------------------------------- */

/*
 * The settings of the pool were @old.  The limits among them apply to all numbers at once: numbers
 * with another list or place by the new ones are found by a walk, in bounded steps.  Until that is
 * over, a call applies the settings to each number that it reads, and is `empty` only after the
 * walk.
 */
static void settings_reach(work *w, const int64_t old[USHER_SETTINGS])
{
    const int64_t *new = w->scope.settings;
    int64_t *counts = w->scope.counts;
    bool zone = new[USHER__SET_DAILY] != 0 && new[USHER__SET_ZONE] != old[USHER__SET_ZONE];
    bool rests =
        new[USHER__SET_REST] != old[USHER__SET_REST] || new[USHER__SET_GAP] != old[USHER__SET_GAP];
    bool longer =
        new[USHER__SET_REST] > old[USHER__SET_REST] || new[USHER__SET_GAP] > old[USHER__SET_GAP];
    bool cap = new[USHER__SET_DAILY] != old[USHER__SET_DAILY] || zone;

    if (new[USHER__SET_LEASE_MAX] != old[USHER__SET_LEASE_MAX]) {
        counts[COUNT_LIMITED] = w->moment;
        counts[COUNT_LIMITED_AT] = (int64_t)w->scope.version;
        due_at(w, w->moment);
    }
    if (counts[COUNT_CALLS] == 0 || !(rests || cap))
        return; /* no number has had a call; or nothing changes */
    if (!is_judged(w))
        counts[COUNT_JUDGE] = JUDGE_BOTH;
    else if (longer || cap)
        counts[COUNT_JUDGE] = rests ? JUDGE_BOTH : JUDGE_IDLE;
    else
        counts[COUNT_JUDGE] = JUDGE_RESTS;
    counts[COUNT_JUDGE_HI] = 0;
    /* a higher cap only frees numbers */
    if (counts[COUNT_JUDGE] == JUDGE_IDLE && !zone &&
        (new[USHER__SET_DAILY] == 0 ||
         (old[USHER__SET_DAILY] != 0 && new[USHER__SET_DAILY] > old[USHER__SET_DAILY])))
        counts[COUNT_JUDGE_HI] = (int64_t)USHER__RANK_CAPPED;
    due_at(w, w->moment);
}

static enum usher_status set(work *w)
{
    int64_t new[USHER_SETTINGS], old[USHER_SETTINGS];
    bool given = usher__settings_given(w, USHER_NUMBER_SET, new), follows, more;
    change c;
    uint64_t n;
    enum usher_status status;

    usher__settings_tell(w, USHER_NUMBER_SET, new);
    if (!given || (w->scope.ref != NULL && memcmp(new, w->scope.settings, sizeof new) == 0)) {
        w->reply->status = given ? USHER_SAME : w->scope.ref != NULL ? USHER_OK : USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    usher__change_begin(w, &c);
    memcpy(old, w->scope.settings, sizeof old);
    memcpy(c.scope->settings, new, sizeof new);
    settings_reach(w, old);
    follows = w->scope.due_ms <= w->now;
    status = follows ? USHER_OK : usher__request_keep(w, &c);
    if (status == USHER_OK)
        status = usher__change_data_settings(w, &c);
    if (status == USHER_OK)
        status = usher__change_commit(w, &c, USHER_NUMBER_SET, 0, 0, NULL);
    if (status != USHER_OK || !follows)
        return status;
    /* apply the new settings at once, as far as one command does */
    status = expire_due(w, USHER__EXPIRE_MAX, JUDGE_MAX, &n, &more);
    if (usher__work_stops(w, status, 1))
        status = USHER_OK;
    return status == USHER_OK ? usher__request_keep_last(w) : status;
}

/* ---- reads ------------------------------------------------------------------------ */

/* Change @r as if due expiries were applied; nothing is written. */
static void look(work *w, struct usher_record *r)
{
    while (due(w, r))
        expire(w, r, r->order);
    if (rests_otherwise(w, r))
        set_state(w, r, r->state, rests_until(w, r), r->order);
}

/* Return the time since @began; 0 if the clock was set back since then. */
static int64_t age(const work *w, int64_t began)
{
    return w->moment > began ? w->moment - began : 0;
}

static enum usher_status add_row(work *w, const struct usher_record *r)
{
    struct usher_number_result_row row;

    memset(&row, 0, sizeof row);
    row.number = r->id;
    row.group = r->group;
    row.owner = r->owner;
    row.state = (enum usher_number_state)r->state;
    row.resting = r->state == USHER_NUMBER_STATE_IDLE_UP && r->until_ms != 0;
    row.capped = r->state == USHER_NUMBER_STATE_IDLE_UP && reached_cap(&w->scope, r, w->now);
    row.token = r->token;
    row.until_ms = end_of(w, r);
    row.calls_today = calls_on(&w->scope, r, w->now);
    row.used_ms = r->n[N_USED];
    if (busy(r->state)) {
        row.age_ms = age(w, r->n[N_USED]);
        row.node = r->data;
    }
    return usher_result_add_row(w->reply, USHER_NUMBER, &row);
}

static enum usher_status show(work *w)
{
    const struct usher_text *number = &w->command->arg.number.number;
    struct usher_record r;
    enum usher_status status = USHER_MISSING;

    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, KIND_NUMBER, number, &r);
    if (status == USHER_MISSING) {
        answer_nodata(w, USHER_MISSING);
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    look(w, &r);
    answer(w, USHER_OK, &r);
    return add_row(w, &r);
}

static enum usher_status list(work *w)
{
    const struct usher_number_args *a = &w->command->arg.number;
    struct usher_number_result *n = &w->reply->of.number;
    size_t max = (w->command->given & USHER_GIVEN_MAX) != 0 ? (size_t)a->max : USHER_LIST_DEFAULT;
    bool holds = usher__number_lists_holds(w->command), all;
    struct usher_text after = a->after;
    uint64_t order = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    if (holds && a->after.data != NULL)
        (void)usher__text_token(&a->after, &order);
    for (int looked = 0;; looked++) {
        if (holds)
            status = walk_held(w, &a->owner, &a->node, order, &r);
        else
            status = w->ops->next(w->txn, &w->scope, KIND_NUMBER, &after, &r);
        if (status != USHER_OK)
            break;
        if (n->n_rows == max || looked == USHER_PAGE_MAX) {
            n->more = true; /* after n->number */
            return USHER_OK;
        }
        after = r.id;
        order = r.order;
        if (holds) {
            answer_token(w, order);
        } else {
            memcpy(n->number, r.id.data, r.id.size);
            n->number[r.id.size] = '\0';
            n->number_size = r.id.size;
        }
        look(w, &r);
        all = (w->command->given & USHER_GIVEN_STATE) == 0 || a->state == USHER_NUMBER_STATE_BUSY;
        if ((all || r.state == (unsigned)a->state) && (!holds || busy(r.state)))
            status = add_row(w, &r);
        if (status != USHER_OK)
            return status;
    }
    if (status == USHER_MISSING) {
        n->number_size = 0;
        n->number[0] = '\0';
        status = USHER_OK;
    }
    return status;
}

/* Count @r, which is due, in @counts as it is after its expiry. */
static void count_as_it_is(work *w, int64_t *counts, struct usher_record *r)
{
    count(counts, r, -1);
    look(w, r);
    count(counts, r, 1);
}

/* Count due expiries in @counts; *@ret_oldest: when the oldest hold began, < 0 without one.
 * *@ret_more: USHER_PAGE_MAX are due, and any others count as they are stored. */
static enum usher_status count_ended(work *w, int64_t *counts, int64_t *ret_oldest, bool *ret_more)
{
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    unsigned looked = 0;
    enum usher_status status;

    while ((status = w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_DUE, NULL, hi,
                                  order, false, &r)) == USHER_OK &&
           r.until_ms <= w->moment && looked < USHER_PAGE_MAX) {
        looked++;
        hi = (uint64_t)r.until_ms;
        order = r.order;
        count_as_it_is(w, counts, &r);
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    *ret_more = looked == USHER_PAGE_MAX;
    order = 0;
    while ((status = w->ops->walk(w->txn, &w->scope, KIND_NUMBER, USHER__NUMBER_HELD, NULL, 0,
                                  order, false, &r)) == USHER_OK) {
        order = r.order;
        if (!due(w, &r) || looked == USHER_PAGE_MAX) {
            *ret_oldest = r.n[N_USED];
            *ret_more = looked == USHER_PAGE_MAX;
            break;
        }
        looked++;
        if (r.until_ms == 0 || r.until_ms > w->moment)
            count_as_it_is(w, counts, &r); /* ended by `lease-max` */
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status stats(work *w)
{
    struct usher_number_result_statistics *s = &w->reply->of.number.of.stats;
    int64_t counts[USHER_COUNTS];
    int64_t today = usher__day(w->now, w->scope.settings[USHER__SET_ZONE]);
    int64_t oldest = -1;
    bool more = false;
    enum usher_status status;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    memcpy(counts, w->scope.counts, sizeof counts);
    status = count_capped(w, &counts[COUNT_CAPPED]);
    if (status == USHER_OK)
        status = count_ended(w, counts, &oldest, &more);
    if (status != USHER_OK)
        return status;
    s->idle_down = counts[USHER_NUMBER_STATE_IDLE_DOWN];
    s->idle_up = counts[USHER_NUMBER_STATE_IDLE_UP];
    s->busy_down = counts[USHER_NUMBER_STATE_BUSY_DOWN];
    s->busy_up = counts[USHER_NUMBER_STATE_BUSY_UP];
    s->total = s->idle_down + s->idle_up + s->busy_down + s->busy_up;
    s->resting = counts[COUNT_RESTING];
    s->capped = counts[COUNT_CAPPED];
    if (counts[COUNT_CALLS_DAY] >= today)
        s->calls_today = counts[COUNT_CALLS];
    if (counts[COUNT_REFUSED_DAY] >= today)
        s->refused_today = counts[COUNT_REFUSED];
    if (oldest >= 0)
        s->longest_hold_ms = age(w, oldest);
    w->reply->of.number.more = more || !is_judged(w);
    w->reply->status = USHER_OK;
    return USHER_OK;
}

/* ---- all together ----------------------------------------------------------------- */

/* Check for an outage, so that end_of() has the moved deadlines.  @writes: a new one is a
 * change. */
static inline enum usher_status outage(work *w, bool writes)
{
    bool new;

    w->gap_from = w->gap_to = 0;
    if (w->scope.settings[USHER__SET_OUTAGE] == 0)
        return USHER_OK;
    return writes && w->scope.ref != NULL && w->scope.due_ms <= w->moment
               ? usher__outage(w)
               : usher__outage_check(w, &new);
}

static enum usher_status read_only(work *w)
{
    enum usher_status status = outage(w, false);

    if (status != USHER_OK)
        return status;
    switch (w->command->verb) {
    case USHER_NUMBER_SHOW:
        return show(w);
    case USHER_NUMBER_LIST:
        return list(w);
    case USHER_NUMBER_STATS:
        return stats(w);
    default:
        return usher__log_changes(w, &w->reply->of.number.since, &w->reply->of.number.more);
    }
}

static enum usher_status run(work *w)
{
    uint64_t n, version = w->scope.version;
    bool more;
    enum usher_status status;

    if (w->behind)
        return defer(w);
    switch (w->command->verb) {
    case USHER_NUMBER_SHOW:
    case USHER_NUMBER_LIST:
    case USHER_NUMBER_STATS:
    case USHER_NUMBER_CHANGES:
        return read_only(w);
    default:
        break;
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    if (w->command->verb == USHER_NUMBER_DROP)
        return usher__drop(w, &w->reply->of.number.count, &w->reply->of.number.more);
    status = outage(w, true);
    if (status != USHER_OK)
        return status;
    if (w->scope.due_ms <= w->now && w->command->verb != USHER_NUMBER_SWEEP) {
        status = expire_due(w, USHER__EXPIRE_MAX, JUDGE_ON_WAY, &n, &more);
        if (status != USHER_OK)
            return status;
    }
    if (usher__other_version(w))
        return USHER_OK;
    switch (w->command->verb) {
    case USHER_NUMBER_SWEEP:
        return sweep(w, version);
    case USHER_NUMBER_ADD:
        return simple(w, USHER__NUMBER_ADD);
    case USHER_NUMBER_DEL:
        return simple(w, USHER__NUMBER_DEL);
    case USHER_NUMBER_REG:
        return simple(w, USHER__NUMBER_REG);
    case USHER_NUMBER_UNREG:
        return simple(w, USHER__NUMBER_UNREG);
    case USHER_NUMBER_CALL:
        return call(w);
    case USHER_NUMBER_HANGUP:
        return hangup(w);
    case USHER_NUMBER_RENEW:
        return w->command->arg.number.number.data != NULL ? renew(w) : renew_node(w);
    case USHER_NUMBER_LIFT:
        return lift(w);
    case USHER_NUMBER_MOVE:
        return move_group(w);
    case USHER_NUMBER_FREE:
        return free_holds(w);
    default:
        return set(w);
    }
}

/* ---- for the executor, the audit and the digest ------------------------------------ */

#include "change/record_ranges.h"

/* In minutes; checked because others can write to the store, and days are computed with it. */
#define ZONE_MAX 1440
/* Bits of the longest span. */
#define SPAN_BITS 42
_Static_assert(USHER_SPAN_MAX >> SPAN_BITS == 0, "USHER_SPAN_MAX has more bits than SPAN_BITS");

static const char *scope_fault(const struct usher_scope *scope)
{
    const int64_t *set = scope->settings;
    int64_t zone = set[USHER__SET_ZONE];
    uint64_t any = 0;

    /* This is checked at each command of a store that caches no scopes, so for all at once: none is
     * below 0, or too large for computing times. */
    for (unsigned i = 0; i < USHER__SETTINGS; i++)
        any |= i != USHER__SET_ZONE ? (uint64_t)set[i] : 0;
    if (set[USHER__SET_ORDER] < USHER_NUMBER_ORDER_LONGEST_IDLE ||
        set[USHER__SET_ORDER] > USHER_NUMBER_ORDER_RANDOM)
        return "an order";
    if (any >> SPAN_BITS != 0)
        return "a setting";
    if (set[USHER__SET_OUTAGE_FROM] < 0 ||
        set[USHER__SET_OUTAGE_TO] < set[USHER__SET_OUTAGE_FROM] ||
        set[USHER__SET_OUTAGE_TO] > USHER_TIME_MAX)
        return "an outage";
    return zone < -ZONE_MAX || zone > ZONE_MAX ? "a time zone" : NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    const char *range = range_fault(r);

    if (r->kind != KIND_DAY &&
        (usher__is_newer(scope, r->order) || usher__is_newer(scope, r->token)))
        return "is newer than its scope";
    if (r->kind < KIND_NUMBER || r->kind > KIND_DAY)
        return "has an unknown kind";
    if (range != NULL)
        return range;
    if (r->kind == KIND_CHANGE)
        return usher__log_fault(&usher__number_steps.log, scope, r);
    if (r->kind != USHER_KIND_REQUEST && r->data.size != 0 &&
        (r->kind != KIND_NUMBER || !busy(r->state) || r->data.size > USHER_NAME_MAX))
        return "has data without a meaning";
    if (r->kind == KIND_NODE && (r->slots != 1u << USHER__NUMBER_HELD || r->owner.size == 0 ||
                                 r->order == 0 || r->order != r->token))
        return "is not in the list of a node";
    if (r->kind != KIND_NUMBER)
        return NULL;
    if (r->state == USHER_NUMBER_STATE_NODATA || r->state > USHER_NUMBER_STATE_BUSY_UP)
        return "has an unknown state";
    if (r->slots != usher__machine_lists(&usher__number_machine, r->state, r->until_ms))
        return "is in lists that do not match its state";
    if ((r->slots & (1u << USHER__NUMBER_IDLE)) == 0 ? r->rank != 0
        : over_cap(r) ? r->rank != usher__number_rank_capped(r->n[N_DAY], r->n[N_CALLS],
                                                             usher__number_rank_drawn(r->rank))
                      : r->rank != USHER__RANK_QUEUED && r->rank != usher__draw(r->order))
        return "has a rank that does not match its version or its calls";
    if (!busy(r->state) && r->owner.size != 0)
        return "is idle and has an owner";
    if (busy(r->state) && r->token != r->order)
        return "is held under a token that is not its version";
    if (busy(r->state) && (r->n[N_LEASE] == 0) != (r->until_ms == 0))
        return "has a lease without a deadline, or a deadline without a lease";
    return NULL;
}

/* Add @r to the totals: the counts of groups must add up to the numbers in groups, and the holds of
 * nodes must be in their lists. */
static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_NUMBER:
        if (r->state <= USHER_NUMBER_STATE_BUSY_UP)
            count(t->counts, r, 1);
        if (r->group.size != 0)
            count_group(t->sum, r, 1);
        if (r->data.size != 0)
            t->sum[3]++;
        if (over_cap(r))
            t->sum[4]++;
        break;
    case KIND_GROUP:
        for (int i = 0; i < 3; i++)
            usher__tally_add(&t->sums[i], r->n[i], 1);
        break;
    case KIND_STICKY:
        t->counts[COUNT_STICKY]++;
        break;
    case KIND_NODE:
        t->sums[3]++;
        break;
    case KIND_DAY:
        usher__tally_add(&t->sums[4], r->n[N_CAPPED], 1);
        break;
    case KIND_CHANGE:
        usher__log_tally(&usher__number_steps.log, t, r);
        break;
    case KIND_PAST:
        t->counts[COUNT_PAST]++;
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}

static const char *state_word(unsigned kind, unsigned state)
{
    return kind == KIND_NUMBER ? usher_number_state_word((enum usher_number_state)state) : NULL;
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "V_EXPIRE", USHER_NUMBER_EXPIRE },
    { "V_OUTAGE", USHER_NUMBER_OUTAGE },
    { "SET_OUTAGE_FROM", USHER__SET_OUTAGE_FROM },
    { "SET_OUTAGE_TO", USHER__SET_OUTAGE_TO },
    { "QUEUED", USHER__RANK_QUEUED },
    { "ASIDE", USHER__RANK_CAPPED },
    { "DRAW_STEPS", USHER__DRAW_STEPS },
    { "PAST_MAX", PAST_MAX },
    { "DAYS_AHEAD", DAYS_AHEAD },
    { "JUDGE_MAX", JUDGE_MAX },
    { "JUDGE_ON_WAY", JUDGE_ON_WAY },
    { "JUDGE_IDLE", JUDGE_IDLE },
    { "JUDGE_BOTH", JUDGE_BOTH },
    { "JUDGE_RESTS", JUDGE_RESTS },
    { "FOREVER", USHER__FOREVER },
    { "BUSY", USHER_NUMBER_STATE_BUSY },
    { NULL, 0 },
};

static int64_t beat(const struct usher_scope *scope)
{
    return scope->settings[USHER__SET_OUTAGE];
}

static int64_t lease_ends(const struct usher_scope *scope, const struct usher_record *r)
{
    (void)scope;
    return busy(r->state) ? r->until_ms : 0;
}

static const struct usher__lives lives = {
    .kinds = { KIND_NUMBER },
    .from = USHER__SET_OUTAGE_FROM,
    .to = USHER__SET_OUTAGE_TO,
    .in_settings = true,
    .verb = USHER_NUMBER_OUTAGE,
    .beat = beat,
    .deadline = lease_ends,
};

const struct usher__steps usher__number_steps = {
    .defaults = defaults,
    .run = run,
    .lives = &lives,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .kinds = kinds,
    .state_word = state_word,
    .sought_at = offsetof(struct usher_operation, arg.number.number),
    .sought_kind = KIND_NUMBER,
    .drops = "1323304050627080",
    .drop_verb = USHER_NUMBER_DROP,
    .defer = defer,
    .first = "1:",
    .listed = "12",
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .settings_verb = USHER_NUMBER_SET,
    .constants = constants,
    .log = { KIND_CHANGE, USHER__SET_LOG, COUNT_CHANGES, COUNT_SINCE, 0 },
    .requests = COUNT_REQUESTS,
    .requests_max = USHER__SET_REQUESTS,
    .counted = (((1u << (COUNT_REQUESTS + 1)) - 1) & ~1u) | 1u << COUNT_CAPPED |
               1u << COUNT_PAST | 1u << COUNT_CHANGES,
    .items = 0x1e, /* numbers, by state */
    .statistics = 1u << COUNT_REFUSED | 1u << COUNT_REFUSED_DAY |
                  1u << COUNT_JUDGE | 1u << COUNT_JUDGE_HI,
};
