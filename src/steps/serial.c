/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a serial rule as steps on a record store.
 *
 * Records: RULE (id "rule"; data = the packed format, n = granted, debt, the version at which the
 * store was found to be behind, and the store that grants were installed on, if it has an
 * identity), FILL
 * (stamp=fill: one fill that waits; n = its last number, its time; in order of fills), HOLD (one
 * number of a gap-free rule; id = rank = period and number; held, its data is the format that it
 * was reserved under), END (how the last hold of a number ended, with its format and in order of
 * tokens; the id is a place of which there are as many as are remembered, so that they replace each
 * other: end_name()),
 * LOST (numbers of one period that a lost store may have given out; id = rank = period and first
 * number; its data is the format that they were lost under), REQUEST.
 *
 * The counters are in the counts of the scope, as pairs (core/wide.h): taken is the last one
 * given out, cur the last one made.  The stock is what lies between.
 */
#include "config.h"

#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/pack.h"
#include "core/serial.h"
#include "core/serial_machine.h"
#include "core/text.h"

typedef struct usher__work work;
typedef struct usher__change change;

#define LEASE_MS INT64_C(300000)
#define BATCH 1000

enum kind { KIND_RULE = 1, KIND_FILL = 2, KIND_HOLD = 3, KIND_END = 5, KIND_LOST = 6 };

enum count {
    COUNT_TAKEN, /* and the low part behind it */
    COUNT_CUR = 2,
    COUNT_PERIOD = 4,
    COUNT_REQUESTS,
    COUNT_BUCKET, /* of the counts of use: the newest */
    COUNT_USE,
    COUNT_HELD = 13,
    COUNT_RETURNED,
    COUNT_FILLS
};

enum setting {
    SET_LIMIT, /* the last number that may be printed; follows from the rule */
    SET_MAX = 2,
    SET_START = 4,
    SET_CRITICAL = 6,
    SET_BATCH,
    SET_RESET,
    SET_ZONE,
    SET_STAMP,
    SET_MODE,
    SET_LEASE,
    SET_REQUESTS,
    SET_AUTHORITY,
    SET_RULE /* 1: there is one, plus: */
};

enum past {
    USED = 1, /* earlier periods have numbers */
    MADE = 2  /* the present one has, though cur is where start is now */
};

/* record.n of the rule, of a fill, of a hold. */
enum n { N_GRANT = 0, N_DEBT = 2, N_LOST = 4, N_STORE };
enum n_fill { N_LAST = 0, N_AT = 2 };
enum n_hold { N_NUMBER = 0, N_PERIOD = 2, N_STAMP };
/* Of numbers that are lost: up to here.  Of the end of one: the token that it was claimed by. */
enum n_lost { N_UPTO = 4, N_CLAIM = 4 };

enum slot { READY, DUE, HELD };

static const struct usher_text rule_id = { "rule", 4 };

/* Of a record that is damaged: nothing beyond it. */
static int64_t pair(const int64_t *at)
{
    return usher__wide_sound(at, INT64_MAX) ? (int64_t)usher__wide(at) : INT64_MAX;
}

static void set_pair(int64_t *at, int64_t value)
{
    usher__wide_set(at, (uint64_t)value);
}

static void defaults(struct usher_scope *scope)
{
    int64_t *set = scope->settings;

    memset(scope->counts, 0, sizeof scope->counts);
    memset(scope->settings, 0, sizeof scope->settings);
    set_pair(set + SET_LIMIT, INT64_MAX);
    set_pair(set + SET_MAX, INT64_MAX);
    set_pair(set + SET_START, 1);
    set[SET_BATCH] = BATCH;
    set[SET_STAMP] = USHER_SERIAL_STAMP_TAKE;
    set[SET_MODE] = USHER_SERIAL_MODE_QUEUE;
    set[SET_LEASE] = LEASE_MS;
    set[SET_REQUESTS] = USHER__REQUESTS_DEFAULT;
}

/* ---- what there is ------------------------------------------------------------------ */

/* The rule as it is at w->now. */
struct state {
    int64_t taken, cur, limit, granted, debt, period;
    struct usher_record rule;
};

/* The last number that may be made now. */
static int64_t ceiling(const work *w, const struct state *s)
{
    return w->scope.settings[SET_AUTHORITY] != 0 && s->granted < s->limit ? s->granted : s->limit;
}

static int64_t room(const work *w, const struct state *s)
{
    int64_t most = ceiling(w, s);

    return most > s->cur ? most - s->cur : 0;
}

static bool must_ask(const work *w, const struct state *s)
{
    return ceiling(w, s) < s->limit;
}

/* What was granted was put on another store than this: on a copy of it, what was given out since is
 * not known here. */
static bool is_another(const work *w, const struct state *s)
{
    return w->identity != 0 && s->rule.n[N_STORE] != (int64_t)w->identity;
}

static bool lost(const work *w, const struct state *s)
{
    return w->scope.settings[SET_AUTHORITY] != 0 && is_another(w, s);
}

static enum usher_status damaged(work *w)
{
    usher_result_fail(w->reply, USHER_UNAVAILABLE, "the store is damaged: a rule");
    return USHER_MISSING;
}

/* What a reply always says. */
static void answer(work *w, enum usher_status status, const struct state *s)
{
    struct usher_serial_result *n = &w->reply->of.serial;

    w->reply->status = status;
    n->cur = s->cur;
    n->max = pair(w->scope.settings + SET_MAX);
    n->left = s->limit > s->cur ? s->limit - s->cur : 0;
    n->granted = s->granted;
    n->period = s->period;
}

static enum usher_status turned_down(work *w, enum usher_status status, enum usher_serial_why why,
                                     const struct state *s)
{
    answer(w, status, s);
    w->reply->of.serial.why = why;
    return USHER_OK;
}

/* MISSING: the reply says why. */
static enum usher_status load(work *w, struct state *s)
{
    const int64_t *set = w->scope.settings, *counts = w->scope.counts;
    int64_t period;
    enum usher_status status;

    if (w->scope.ref == NULL || set[SET_RULE] == 0) {
        w->reply->status = USHER_MISSING;
        return USHER_MISSING;
    }
    status = w->ops->find(w->txn, &w->scope, KIND_RULE, &rule_id, &s->rule);
    if (status == USHER_MISSING)
        return damaged(w);
    if (status != USHER_OK)
        return status;
    s->limit = pair(set + SET_LIMIT);
    s->taken = pair(counts + COUNT_TAKEN);
    s->cur = pair(counts + COUNT_CUR);
    s->granted = pair(s->rule.n + N_GRANT);
    s->debt = pair(s->rule.n + N_DEBT);
    s->period = counts[COUNT_PERIOD];
    period = usher__serial_period(set[SET_RESET], w->now, set[SET_ZONE]);
    if (period > s->period) {
        s->period = period;
        s->taken = s->cur = pair(set + SET_START) - 1;
        s->granted = s->debt = 0;
    }
    return USHER_OK;
}

static void put_counters(change *c, const struct state *s)
{
    set_pair(c->scope->counts + COUNT_TAKEN, s->taken);
    set_pair(c->scope->counts + COUNT_CUR, s->cur);
    c->scope->counts[COUNT_PERIOD] = s->period;
}

static void put_rule(change *c, struct state *s)
{
    set_pair(s->rule.n + N_GRANT, s->granted);
    set_pair(s->rule.n + N_DEBT, s->debt);
    usher__change_save(c, &s->rule);
}

/* @next in place of the scope's epoch: what others keep of it is of no use any more. */
static void bump_epoch(change *c)
{
    c->scope->epoch = c->scope->epoch != UINT64_MAX ? c->scope->epoch + 1 : 1;
}

/* All fills go: nobody waits for them any more. */
static enum usher_status drop_fills(work *w, change *c)
{
    struct usher_record r;
    uint64_t order = 0;

    while (c->scope->counts[COUNT_FILLS] > 0) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_FILL, READY, NULL, 0, order, false, &r);

        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_OK : status;
        order = r.order;
        usher__change_erase(c, &r);
        c->scope->counts[COUNT_FILLS]--;
    }
    return USHER_OK;
}

static void add_fill(const work *w, change *c, int64_t last, char id[24])
{
    struct usher_record r;

    memset(&r, 0, sizeof r);
    r.kind = KIND_FILL;
    r.id.data = id;
    r.id.size = (size_t)snprintf(id, 24, "%" PRIu64, c->scope->version);
    r.slots = 1u << READY;
    r.order = c->scope->version;
    set_pair(r.n + N_LAST, last);
    r.n[N_AT] = w->now;
    c->scope->counts[COUNT_FILLS]++;
    usher__change_save(c, &r);
}

static int64_t past(const work *w)
{
    return w->scope.settings[SET_RULE] - 1;
}

/* Whether numbers were made in the present period. */
static bool counted(const work *w, int64_t cur)
{
    return cur != pair(w->scope.settings + SET_START) - 1 || (past(w) & MADE) != 0 ||
           w->scope.counts[COUNT_HELD] + w->scope.counts[COUNT_RETURNED] > 0;
}

/* A new period begins the count anew, as a change of its own.  Periods only grow. */
static enum usher_status begin_period(work *w)
{
    const int64_t *set = w->scope.settings;
    struct state s;
    change c;
    enum usher_status status;

    if (w->scope.ref == NULL || set[SET_RULE] == 0 || set[SET_RESET] == USHER_SERIAL_RESET_NONE ||
        usher__serial_period(set[SET_RESET], w->now, set[SET_ZONE]) <=
            w->scope.counts[COUNT_PERIOD])
        return USHER_OK;
    status = load(w, &s);
    if (status != USHER_OK)
        return status;
    usher__change_begin(w, &c);
    if (counted(w, pair(w->scope.counts + COUNT_CUR)))
        c.scope->settings[SET_RULE] = 1 + USED;
    put_counters(&c, &s);
    if (pair(s.rule.n + N_GRANT) != 0 || pair(s.rule.n + N_DEBT) != 0)
        put_rule(&c, &s);
    status = drop_fills(w, &c);
    if (status == USHER_OK)
        status = usher__change_commit(w, &c, USHER_SERIAL_RESET, 0, 0, NULL);
    return status;
}

static enum usher_status add_row(work *w, const struct state *s, int64_t first, int64_t n,
                                 int64_t at)
{
    struct usher_serial_result_row row;

    memset(&row, 0, sizeof row);
    row.first = first;
    row.n = n;
    row.at_ms = at;
    row.format = s->rule.data;
    return usher_result_add_row(w->reply, USHER_SERIAL, &row);
}

/* The notice of a hold has its number as data. */
static enum usher_status commit(work *w, change *c, enum usher_verb verb, unsigned from,
                                unsigned to, const struct usher_record *r)
{
    char digits[USHER__WIDE_TEXT];

    if (r != NULL) {
        c->data.data = digits;
        c->data.size = usher__wide_text(pair(r->n + N_NUMBER), digits);
    }
    return usher__change_commit(w, c, verb, from, to, r);
}

static enum usher_status finish(work *w, change *c, const struct usher_record *r, unsigned from,
                                unsigned to)
{
    enum usher_status status = usher__request_keep(w, c);

    return status == USHER_OK ? commit(w, c, w->command->verb, from, to, r) : status;
}

static bool given(const work *w, uint32_t bit)
{
    return (w->command->given & bit) != 0;
}

static bool queued(const work *w)
{
    return w->scope.settings[SET_MODE] == USHER_SERIAL_MODE_QUEUE;
}

/* ---- fill, tick, take --------------------------------------------------------------- */

/* Make @n more, which there is room for. */
static enum usher_status make(work *w, struct state *s, int64_t n)
{
    change c;
    char id[24];

    usher__change_begin(w, &c);
    s->cur += n;
    put_counters(&c, s);
    if (w->scope.settings[SET_STAMP] == USHER_SERIAL_STAMP_FILL)
        add_fill(w, &c, s->cur, id);
    answer(w, USHER_OK, s);
    w->reply->of.serial.count = n;
    return finish(w, &c, NULL, 0, 0);
}

static bool fills_full(const work *w)
{
    return w->scope.settings[SET_STAMP] == USHER_SERIAL_STAMP_FILL &&
           w->scope.counts[COUNT_FILLS] >= USHER_SERIAL_FILLS_MAX;
}

static enum usher_status make_some(work *w, struct state *s, int64_t n)
{
    int64_t most = room(w, s);

    if (n > most && must_ask(w, s))
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_GRANT, s);
    if (most == 0)
        return turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, s);
    if (fills_full(w))
        return turned_down(w, USHER_FULL, USHER_SERIAL_WHY_FILLS, s);
    return make(w, s, n < most ? n : most);
}

static enum usher_status fill(work *w)
{
    struct state s;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    return make_some(w, &s, w->command->arg.serial.n);
}

/* The counts of use as they are at w->now. */
static int64_t use_now(const work *w, int64_t use[USHER__USE_PERIODS / 2], int64_t *ret_recent,
                       int64_t *ret_longterm)
{
    int64_t bucket = w->scope.counts[COUNT_BUCKET];

    memcpy(use, w->scope.counts + COUNT_USE, USHER__USE_PERIODS / 2 * sizeof *use);
    usher__use_slide(&bucket, use, w->now);
    *ret_recent = usher__use_sum(bucket, use, USHER__USE_PERIODS / 2);
    *ret_longterm = usher__use_sum(bucket, use, USHER__USE_PERIODS);
    return bucket;
}

static enum usher_status tick(work *w)
{
    const int64_t *set = w->scope.settings;
    int64_t use[USHER__USE_PERIODS / 2], recent, longterm, want;
    struct state s;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    (void)use_now(w, use, &recent, &longterm);
    want = usher__serial_target(set[SET_CRITICAL], recent, longterm);
    if (want <= s.cur - s.taken) {
        answer(w, USHER_SAME, &s);
        return USHER_OK;
    }
    want -= s.cur - s.taken;
    return make_some(w, &s, want < set[SET_BATCH] ? want : set[SET_BATCH]);
}

/* Take @n of the stock, each with the date of its fill; fills that are used up go. */
static enum usher_status take_fills(work *w, change *c, const struct state *s, int64_t n)
{
    struct usher_record r;
    uint64_t order = 0;
    int64_t first = s->taken + 1;

    while (n > 0) {
        int64_t last, k;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_FILL, READY, NULL, 0, order, false, &r);

        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_UNAVAILABLE : status;
        order = r.order;
        last = pair(r.n + N_LAST);
        k = n < last - first + 1 ? n : last - first + 1;
        if (k < 1)
            return USHER_UNAVAILABLE;
        status = add_row(w, s, first, k, r.n[N_AT]);
        if (status != USHER_OK)
            return status;
        if (first + (k - 1) == last) {
            usher__change_erase(c, &r);
            c->scope->counts[COUNT_FILLS]--;
        }
        n -= k;
        if (n > 0)
            first += k;
    }
    return USHER_OK;
}

static enum usher_status take(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    const int64_t *set = w->scope.settings;
    int64_t n = (w->command->given & USHER_GIVEN_SERIAL_N) != 0 ? a->n : 1;
    int64_t use[USHER__USE_PERIODS / 2], recent, longterm, bucket, stock, made, extra = 0, left;
    bool dated = set[SET_STAMP] == USHER_SERIAL_STAMP_FILL;
    struct state s;
    change c;
    char id[24];
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    stock = s.cur - s.taken < n ? s.cur - s.taken : n;
    made = n - stock < room(w, &s) ? n - stock : room(w, &s);
    /* debt: the authority is away, and what it granted before is all there is */
    if (stock + made < n && must_ask(w, &s) &&
        (stock + made == 0 || !given(w, USHER_GIVEN_SERIAL_DEBT) || a->debt == 0))
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_GRANT, &s);
    n = stock + made;
    if (n == 0)
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_EXHAUSTED, &s);

    usher__change_begin(w, &c);
    bucket = use_now(w, use, &recent, &longterm);
    usher__use_add(bucket, use, n);
    recent = usher__use_sum(bucket, use, USHER__USE_PERIODS / 2);
    longterm = usher__use_sum(bucket, use, USHER__USE_PERIODS);
    c.scope->counts[COUNT_BUCKET] = bucket;
    memcpy(c.scope->counts + COUNT_USE, use, sizeof use);

    if (!dated)
        status = add_row(w, &s, s.taken + 1, n, w->now);
    else if (stock > 0)
        status = take_fills(w, &c, &s, stock);
    if (status == USHER_OK && dated && made > 0)
        status = add_row(w, &s, s.cur + 1, made, w->now);
    if (status != USHER_OK)
        return status;
    s.taken += n;
    s.cur += made;
    left = s.cur - s.taken;
    if (left <= set[SET_CRITICAL] && !fills_full(w)) {
        extra = usher__serial_target(set[SET_CRITICAL], recent, longterm) - left;
        extra = extra < set[SET_BATCH] ? extra : set[SET_BATCH];
        extra = extra < room(w, &s) ? extra : room(w, &s);
        s.cur += extra;
        if (dated && extra > 0)
            add_fill(w, &c, s.cur, id);
    }
    put_counters(&c, &s);
    answer(w, USHER_OK, &s);
    w->reply->of.serial.count = n;
    return finish(w, &c, NULL, 0, 0);
}

/* ---- setmax, setmaxcur, grant ------------------------------------------------------- */

/* The limit that follows from @max. */
static bool limit_with(const work *w, const struct state *s, int64_t max, int64_t *ret)
{
    struct usher__serial_format f;

    if (!usher__serial_unpack(&s->rule.data, &f))
        return false;
    *ret = usher__serial_limit(&f, max, w->scope.settings[SET_MODE], w->scope.settings[SET_RESET]);
    return true;
}

static enum usher_status setmax(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    int64_t max = pair(w->scope.settings + SET_MAX), top;
    struct state s;
    bool debt;
    change c;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    debt =
        given(w, USHER_GIVEN_SERIAL_DEBT) && a->debt != 0 && w->scope.settings[SET_AUTHORITY] != 0;
    /* In debt it is the grant that is raised; max may be without end. */
    if (a->by > INT64_MAX - max && !debt)
        return turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, &s);
    max = a->by > INT64_MAX - max ? INT64_MAX : max + a->by;
    if (!limit_with(w, &s, max, &s.limit))
        return damaged(w);
    top = s.granted > s.cur ? s.granted : s.cur;
    if (debt && top >= s.limit)
        return turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, &s);
    usher__change_begin(w, &c);
    bump_epoch(&c);
    set_pair(c.scope->settings + SET_MAX, max);
    set_pair(c.scope->settings + SET_LIMIT, s.limit);
    if (debt) {
        s.granted = s.debt = a->by > s.limit - top ? s.limit : top + a->by;
        put_rule(&c, &s);
    }
    answer(w, USHER_OK, &s);
    return finish(w, &c, NULL, 0, 0);
}

static enum usher_status setmaxcur(work *w)
{
    int64_t cur = w->command->arg.serial.max, max = pair(w->scope.settings + SET_MAX);
    int64_t limit;
    struct state s;
    change c;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (cur <= s.cur) {
        answer(w, USHER_SAME, &s);
        return USHER_OK;
    }
    max = max > cur ? max : cur;
    if (!limit_with(w, &s, max, &limit))
        return damaged(w);
    if (limit < cur)
        return turned_down(w, USHER_FULL, USHER_SERIAL_WHY_ROOM, &s);
    usher__change_begin(w, &c);
    bump_epoch(&c);
    set_pair(c.scope->settings + SET_MAX, max);
    set_pair(c.scope->settings + SET_LIMIT, limit);
    s.limit = limit;
    s.taken = s.cur = cur;
    put_counters(&c, &s);
    status = drop_fills(w, &c);
    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK, &s);
    return finish(w, &c, NULL, 0, 0);
}

static int64_t rank_of(const work *w, int64_t period, int64_t number)
{
    return w->scope.settings[SET_RESET] != USHER_SERIAL_RESET_NONE
               ? (period << USHER__GAPFREE_BITS) + number
               : number;
}

/* May a gap-free rule have number @k?  One beyond those that it may has no rank of its own, but
 * that of a number of a later period, or none at all. */
static bool has_rank(const work *w, int64_t k)
{
    return k <= (w->scope.settings[SET_RESET] != USHER_SERIAL_RESET_NONE
                     ? (INT64_C(1) << USHER__GAPFREE_BITS) - 1
                     : USHER__GAPFREE_MAX);
}

#define ID_SIZE 24 /* bytes of the id of a hold, an end or a range, with a NUL */

static struct usher__move move_of(work *w, unsigned state, unsigned event, unsigned guard)
{
    return usher__work_move(w, &usher__serial_machine, state, event, guard);
}

/* Make @r those from @first to @last of its period.  @id is needed until it is written. */
static void range_set(const work *w, struct usher_record *r, int64_t first, int64_t last,
                      char id[ID_SIZE])
{
    r->rank = (uint64_t)rank_of(w, r->n[N_PERIOD], first);
    r->id.data = id;
    r->id.size = (size_t)snprintf(id, ID_SIZE, "%" PRIu64, r->rank);
    set_pair(r->n + N_NUMBER, first);
    set_pair(r->n + N_UPTO, last);
}

/* Nobody knows what became of those behind s->cur up to @last: that is kept, or it would be a hole
 * that nobody sees.  Says how many they are. */
static int64_t lose(work *w, change *c, const struct state *s, int64_t last, char id[ID_SIZE])
{
    struct usher_record r;

    if (queued(w) || last <= s->cur)
        return 0;
    memset(&r, 0, sizeof r);
    r.kind = KIND_LOST;
    r.state = move_of(w, USHER_SERIAL_STATE_FREE, USHER__SERIAL_E_LOSE, USHER__ANY).to;
    r.slots = usher__machine_lists(&usher__serial_machine, r.state, 0);
    r.token = r.order = c->scope->version;
    r.n[N_PERIOD] = s->period;
    r.n[N_STAMP] = w->now;
    r.data = s->rule.data;
    range_set(w, &r, s->cur + 1, last, id);
    usher__change_save(c, &r);
    return last - s->cur;
}

/* Those that are lost and have number @k of @period among them.  MISSING. */
static enum usher_status lost_with(work *w, int64_t k, int64_t period, struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    if (has_rank(w, k))
        status =
            w->ops->walk(w->txn, &w->scope, KIND_LOST, READY, NULL, (uint64_t)rank_of(w, period, k),
                         (uint64_t)USHER_EXACT_MAX + 1, true, r);
    return status == USHER_OK && (r->n[N_PERIOD] != period || pair(r->n + N_NUMBER) > k ||
                                  pair(r->n + N_UPTO) < k)
               ? USHER_MISSING
               : status;
}

/* Is any lost? */
static enum usher_status lost_any(work *w, bool *ret_any)
{
    struct usher_record r;
    enum usher_status status =
        queued(w) ? USHER_MISSING
                  : w->ops->walk(w->txn, &w->scope, KIND_LOST, READY, NULL, 0, 0, false, &r);

    *ret_any = status == USHER_OK;
    return status == USHER_MISSING ? USHER_OK : status;
}

/*
 * The authority has raised the maximum from a->from to a->to for whoever sends this.  Where the
 * store knows of fewer than a->from, it is behind: it goes on above that (where the limit allows
 * it), and what it had in stock may have been given out before.  So it may on another store than
 * that which the last grant was put on.  `count`: so many gap-free numbers are lost.
 */
static enum usher_status grant(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    int64_t top, n_lost = 0;
    char id[ID_SIZE];
    bool known, behind, another;
    struct state s;
    change c;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (w->scope.settings[SET_AUTHORITY] == 0) {
        usher_result_fail(w->reply, USHER_INVALID, "the rule has no authority");
        return USHER_OK;
    }
    if (a->to < a->from) {
        usher_result_fail(w->reply, USHER_INVALID, "to is less than from");
        return USHER_OK;
    }
    if ((w->command->given & USHER_GIVEN_SERIAL_PERIOD) != 0 && a->period != s.period) {
        answer(w, USHER_STALE, &s);
        return USHER_OK;
    }
    top = s.granted > s.cur ? s.granted : s.cur;
    behind = a->from > top;
    another = is_another(w, &s);
    known = !behind ? a->to <= s.granted && (s.debt == 0 || a->to < s.debt)
                    : s.taken == s.limit && s.granted == s.limit && s.debt == 0;
    if (known && !another) {
        answer(w, USHER_SAME, &s);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    if (behind)
        top = a->from;
    if (behind || another) {
        int64_t cur = top < s.limit ? top : s.limit;

        bump_epoch(&c);
        n_lost = lose(w, &c, &s, cur, id);
        s.taken = s.cur = cur;
        s.rule.n[N_LOST] = (int64_t)c.scope->version;
        put_counters(&c, &s);
        status = drop_fills(w, &c);
        if (status != USHER_OK)
            return status;
    }
    /* Between the limit and a->from all is others': a higher limit has to ask again. */
    if ((behind || another) && top > s.limit)
        s.granted = s.limit;
    else if (a->to > s.granted)
        s.granted = a->to;
    s.debt = 0;
    if (w->identity != 0)
        s.rule.n[N_STORE] = (int64_t)w->identity;
    put_rule(&c, &s);
    answer(w, USHER_OK, &s);
    w->reply->of.serial.count = n_lost;
    return finish(w, &c, NULL, 0, 0);
}

/* ---- gap-free ----------------------------------------------------------------------- */

/* Put @r into state @to: what has to follow from it follows here. */
static void settle(const work *w, struct usher_record *r, unsigned to, uint64_t version)
{
    bool held = to == USHER_SERIAL_STATE_HELD;

    r->state = (uint8_t)to;
    r->order = version;
    r->rank = held ? 0 : (uint64_t)rank_of(w, r->n[N_PERIOD], pair(r->n + N_NUMBER));
    if (!held) {
        r->until_ms = 0;
        r->owner.data = NULL;
        r->owner.size = 0;
    }
    r->slots = usher__machine_lists(&usher__serial_machine, to, r->until_ms);
}

static void count(int64_t *counts, unsigned state, int64_t by)
{
    if (state == USHER_SERIAL_STATE_HELD)
        counts[COUNT_HELD] += by;
    else if (state == USHER_SERIAL_STATE_RETURNED)
        counts[COUNT_RETURNED] += by;
}

/*
 * Where it is kept how the last hold of number @k of @period ended.  Numbers that are `requests`
 * apart replace each other.  Each period begins a golden section further on, so that those of many
 * periods do not: each period has a number 1.
 */
static struct usher_text end_name(const work *w, int64_t k, int64_t period, char id[ID_SIZE])
{
    int64_t places = w->scope.settings[SET_REQUESTS];
    int64_t section = places * 618 / 1000 | 1;
    int64_t place = (k % places + period % places * section) % places;
    struct usher_text name = { id, 0 };

    name.size = (size_t)snprintf(id, ID_SIZE, "%" PRId64, place < 0 ? place + places : place);
    return name;
}

/* How the hold @r has ended, into @c. */
static enum usher_status keep_end(work *w, change *c, const struct usher_record *r, unsigned to,
                                  char id[ID_SIZE])
{
    struct usher_record end;
    struct usher_text name = end_name(w, pair(r->n + N_NUMBER), r->n[N_PERIOD], id);
    enum usher_status status;

    status = w->ops->find(w->txn, &w->scope, KIND_END, &name, &end);
    if (status == USHER_MISSING) {
        memset(&end, 0, sizeof end);
        end.kind = KIND_END;
        end.id = name;
        end.slots = 1u << READY;
        status = USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    end.state = (uint8_t)to;
    end.token = end.order = r->token;
    memcpy(end.n, r->n, sizeof end.n);
    end.data = r->data;
    usher__change_save(c, &end);
    return USHER_OK;
}

/* Put the move of @r from state @from to @to into @c.  @id is needed until that is written. */
static enum usher_status save(work *w, change *c, struct usher_record *r, unsigned from,
                              unsigned to, char id[ID_SIZE])
{
    enum usher_status status = USHER_OK;

    count(c->scope->counts, from, -1);
    count(c->scope->counts, to, 1);
    if (to != USHER_SERIAL_STATE_HELD) {
        status = keep_end(w, c, r, to, id);
        r->data.data = NULL; /* of the next one who gets it */
        r->data.size = 0;
    }
    if (to == USHER_SERIAL_STATE_HELD || to == USHER_SERIAL_STATE_RETURNED) {
        settle(w, r, to, c->scope->version);
        usher__change_save(c, r);
    } else {
        usher__change_erase(c, r);
    }
    return status;
}

/* Where @event leads @r, of its holder or by itself. */
static unsigned leads(work *w, const struct state *s, const struct usher_record *r, unsigned event)
{
    bool behind = (int64_t)r->token < s->rule.n[N_LOST];

    return move_of(w, r->state, event, behind ? USHER__SERIAL_IF_BEHIND : USHER__ANY).to;
}

static bool due(const struct usher_record *r, int64_t now)
{
    return r->state == USHER_SERIAL_STATE_HELD && r->until_ms != 0 && r->until_ms <= now;
}

static enum usher_status expire_one(work *w, const struct state *s, struct usher_record *r)
{
    unsigned from = r->state, to = leads(w, s, r, USHER__SERIAL_E_EXPIRE);
    char id[ID_SIZE];
    change c;
    enum usher_status status;

    usher__change_begin(w, &c);
    status = save(w, &c, r, from, to, id);
    return status == USHER_OK ? commit(w, &c, USHER_SERIAL_EXPIRE, from, to, r) : status;
}

/* Apply up to @max due expiries; *@ret_n says how many it were. */
static enum usher_status expire_due(work *w, int64_t max, uint64_t *ret_n, bool *ret_more)
{
    struct usher_record r;
    struct state s;
    enum usher_status status;

    *ret_n = 0;
    *ret_more = false;
    while (w->scope.due_ms <= w->now) {
        status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, DUE, NULL, 0, 0, false, &r);
        if (status == USHER_MISSING) {
            w->scope.due_ms = INT64_MAX;
            break;
        }
        if (status != USHER_OK)
            return status;
        if (r.until_ms > w->now) {
            w->scope.due_ms = r.until_ms;
            break;
        }
        if ((int64_t)*ret_n >= max) {
            *ret_more = true;
            break;
        }
        status = load(w, &s);
        if (status != USHER_OK)
            return status;
        /* texts of the first record live until the next write only: load() wrote nothing */
        status = expire_one(w, &s, &r);
        if (usher__work_stops(w, status, *ret_n)) {
            *ret_more = true;
            break;
        }
        if (status != USHER_OK)
            return status;
        ++*ret_n;
    }
    return USHER_OK;
}

static enum usher_status add_hold(work *w, const struct state *s, const struct usher_record *r)
{
    struct usher_serial_result_row row;

    memset(&row, 0, sizeof row);
    row.first = pair(r->n + N_NUMBER);
    row.n = r->kind == KIND_LOST ? pair(r->n + N_UPTO) - row.first + 1 : 1;
    row.at_ms = r->n[N_STAMP];
    row.token =
        r->state == USHER_SERIAL_STATE_HELD || r->state == USHER_SERIAL_STATE_LOST ? r->token : 0;
    row.until_ms = r->until_ms;
    row.state = (enum usher_serial_state)r->state;
    row.owner = r->owner;
    row.format = r->data.size != 0 ? r->data : s->rule.data;
    return usher_result_add_row(w->reply, USHER_SERIAL, &row);
}

static enum usher_status answer_hold(work *w, enum usher_status what, const struct state *s,
                                     const struct usher_record *r)
{
    answer(w, what, s);
    w->reply->of.serial.count = 1;
    w->reply->of.serial.token = r->token;
    w->reply->of.serial.until_ms = r->until_ms;
    return add_hold(w, s, r);
}

/* The lowest number that was returned.  Those of before the store was found to be behind go. */
static enum usher_status lowest(work *w, const struct state *s, struct usher_record *r)
{
    enum usher_status status = USHER_OK;

    for (int i = 0; status == USHER_OK && i < USHER__EXPIRE_MAX; i++) {
        status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, READY, NULL, 0, 0, false, r);
        if (status != USHER_OK || (int64_t)r->token >= s->rule.n[N_LOST])
            return status;
        status = expire_one(w, s, r);
    }
    return status == USHER_OK ? USHER_MISSING : status;
}

static enum usher_status reserve(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    struct usher_record r;
    struct state s;
    change c;
    unsigned from;
    int64_t lease;
    char id[ID_SIZE];
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (queued(w))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    if (a->owner.data != NULL) {
        status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, HELD, &a->owner, 0, 0, false, &r);
        while (status == USHER_OK && due(&r, w->now)) {
            status = expire_one(w, &s, &r);
            if (status == USHER_OK)
                status = load(w, &s);
            if (status == USHER_OK)
                status =
                    w->ops->walk(w->txn, &w->scope, KIND_HOLD, HELD, &a->owner, 0, 0, false, &r);
        }
        if (status == USHER_OK)
            return answer_hold(
                w,
                (enum usher_status)move_of(w, r.state, USHER__SERIAL_E_RESERVE, USHER__ANY).status,
                &s, &r);
        if (status != USHER_MISSING)
            return status;
    }
    status = lowest(w, &s, &r);
    if (status == USHER_OK || status == USHER_MISSING) {
        enum usher_status again = load(w, &s); /* a change may have been made */

        if (again != USHER_OK)
            return again;
    }
    if (status == USHER_OK)
        status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, READY, NULL, 0, 0, false, &r);
    if (status == USHER_MISSING) {
        if (room(w, &s) == 0)
            return turned_down(
                w, USHER_EMPTY,
                must_ask(w, &s) ? USHER_SERIAL_WHY_GRANT : USHER_SERIAL_WHY_EXHAUSTED, &s);
        s.taken = ++s.cur;
        memset(&r, 0, sizeof r);
        r.kind = KIND_HOLD;
        r.id.data = id;
        r.id.size = (size_t)snprintf(id, sizeof id, "%" PRId64, rank_of(w, s.period, s.cur));
        set_pair(r.n + N_NUMBER, s.cur);
        r.n[N_PERIOD] = s.period;
    } else if (status != USHER_OK) {
        return status;
    }
    usher__change_begin(w, &c);
    from = r.state;
    put_counters(&c, &s);
    /* one that was returned in a period that is over keeps its date */
    if (r.n[N_PERIOD] == s.period)
        r.n[N_STAMP] = w->now;
    r.token = c.scope->version;
    lease = given(w, USHER_GIVEN_SERIAL_LEASE) ? a->lease_ms : w->scope.settings[SET_LEASE];
    r.until_ms = lease != 0 ? w->now + lease : 0;
    if (a->owner.data != NULL)
        r.owner = a->owner;
    r.data = s.rule.data; /* it stays as it is printed now */
    status = save(w, &c, &r, from, move_of(w, from, USHER__SERIAL_E_RESERVE, USHER__ANY).to, id);
    if (status != USHER_OK)
        return status;
    {
        int64_t use[USHER__USE_PERIODS / 2], recent, longterm;

        c.scope->counts[COUNT_BUCKET] = use_now(w, use, &recent, &longterm);
        usher__use_add(c.scope->counts[COUNT_BUCKET], use, 1);
        memcpy(c.scope->counts + COUNT_USE, use, sizeof use);
    }
    status = answer_hold(w, USHER_OK, &s, &r);
    return status == USHER_OK ? finish(w, &c, &r, from, r.state) : status;
}

/* Is @serial the text that @r was printed as?  When numbers that are lost were printed, nobody
 * knows: of one whom somebody has claimed since then, the period has to do. */
static bool tells(const work *w, const struct usher_record *r, const struct usher_text *serial)
{
    struct usher__serial_format f;
    int64_t number, period;

    if (!usher__serial_unpack(&r->data, &f))
        return false;
    if (r->kind == KIND_END && r->n[N_CLAIM] != 0)
        return usher__serial_place(&f, serial, w->scope.settings[SET_RESET], &number, &period) &&
               number == pair(r->n + N_NUMBER) && period == r->n[N_PERIOD];
    return usher__serial_number(&f, serial, &number) && number == pair(r->n + N_NUMBER) &&
           usher__serial_dated(&f, serial, r->n[N_STAMP]);
}

/* The record of @kind in list @slot, in order of tokens, that has this token.  MISSING. */
static enum usher_status by_token(work *w, uint8_t kind, uint8_t slot, uint64_t token,
                                  struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    if (token > 0 && token <= w->scope.version)
        status = w->ops->walk(w->txn, &w->scope, kind, slot, NULL, 0, token - 1, false, r);
    return status == USHER_OK && r->token != token ? USHER_MISSING : status;
}

/* How the last hold of number @k of @period ended.  MISSING: its place is another one's by now. */
static enum usher_status end_of(work *w, int64_t k, int64_t period, struct usher_record *ret_end)
{
    char id[ID_SIZE];
    struct usher_text name = end_name(w, k, period, id);
    enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_END, &name, ret_end);

    return status == USHER_OK &&
                   (pair(ret_end->n + N_NUMBER) != k || ret_end->n[N_PERIOD] != period)
               ? USHER_MISSING
               : status;
}

/* @r is returned.  It is told as it was printed last, if that is how the command names it; else as
 * it would be printed now. */
static enum usher_status printed_as(work *w, struct usher_record *r)
{
    struct usher_record end;
    enum usher_status status = USHER_OK;

    if (r->data.size == 0) { /* else its hold is over, and that has not been written yet */
        status = end_of(w, pair(r->n + N_NUMBER), r->n[N_PERIOD], &end);
        if (status == USHER_OK)
            r->data = end.data;
        else if (status == USHER_MISSING)
            status = USHER_OK;
    }
    if (r->data.size != 0 && !tells(w, r, &w->command->arg.serial.serial))
        r->data.size = 0;
    return status;
}

/* How number @k of @period, which the command names, stands, as a record, with what is due applied:
 * HELD or RETURNED, how its last hold ended where that is known, FREE or PAST.  Its token is that
 * of the last hold. */
static enum usher_status standing(work *w, const struct state *s, int64_t k, int64_t period,
                                  struct usher_record *r)
{
    char id[ID_SIZE];
    struct usher_text name = { id, 0 };
    enum usher_status status = USHER_MISSING;

    if (!queued(w) && has_rank(w, k)) {
        name.size = (size_t)snprintf(id, sizeof id, "%" PRId64, rank_of(w, period, k));
        status = w->ops->find(w->txn, &w->scope, KIND_HOLD, &name, r);
    }
    if (status == USHER_OK && due(r, w->now)) {
        r->state = (uint8_t)leads(w, s, r, USHER__SERIAL_E_EXPIRE);
        r->until_ms = 0;
        r->owner.size = 0;
    }
    if (status == USHER_OK && r->state == USHER_SERIAL_STATE_RETURNED)
        status = printed_as(w, r);
    if (status == USHER_MISSING && !queued(w)) {
        status = end_of(w, k, period, r);
        if (status == USHER_OK &&
            r->state == USHER_SERIAL_STATE_RETURNED) /* and again since then, and lost */
            status = USHER_MISSING;
    }
    if (status == USHER_MISSING && !queued(w)) {
        status = lost_with(w, k, period, r);
        set_pair(r->n + N_NUMBER, k);
        set_pair(r->n + N_UPTO, k);
    }
    if (status != USHER_MISSING)
        return status;
    memset(r, 0, sizeof *r);
    r->state = period < s->period || (period == s->period && k <= s->taken)
                   ? USHER_SERIAL_STATE_PAST
                   : USHER_SERIAL_STATE_FREE;
    set_pair(r->n + N_NUMBER, k);
    r->n[N_PERIOD] = period;
    r->n[N_STAMP] = w->now;
    return USHER_OK;
}

/* @event under a token that is not the one: say which is, and how the number stands.  One of which
 * nothing is known is as one that was never given out. */
static enum usher_status stale(work *w, const struct state *s, unsigned event, int64_t k,
                               int64_t period)
{
    struct usher_record r;
    enum usher_status status = standing(w, s, k, period, &r);
    unsigned state = r.state != USHER_SERIAL_STATE_PAST ? r.state : USHER_SERIAL_STATE_FREE;

    if (status != USHER_OK)
        return status;
    answer(w, (enum usher_status)move_of(w, state, event, USHER__SERIAL_IF_OTHER).status, s);
    w->reply->of.serial.token = r.state == USHER_SERIAL_STATE_RETURNED ? 0 : r.token;
    w->reply->of.serial.until_ms = r.until_ms;
    return add_hold(w, s, &r);
}

/* The number that @serial told when it was lost: the format may be another one by now.  One that
 * was settled since then by token @claim is found as well, for who asks again.  MISSING. */
static enum usher_status lost_by_format(work *w, const struct usher_text *serial, int64_t claim,
                                        int64_t *ret_k, int64_t *ret_period)
{
    struct usher__serial_format f;
    struct usher_record r;
    uint64_t hi = 0, order = 0;
    enum usher_status status = USHER_OK;

    for (int i = 0; i < USHER__STEP_MAX; i++) {
        status = w->ops->walk(w->txn, &w->scope, KIND_LOST, READY, NULL, hi, order, false, &r);
        if (status != USHER_OK)
            break;
        if (usher__serial_unpack(&r.data, &f) &&
            usher__serial_place(&f, serial, w->scope.settings[SET_RESET], ret_k, ret_period) &&
            *ret_period == r.n[N_PERIOD] && *ret_k >= pair(r.n + N_NUMBER) &&
            *ret_k <= pair(r.n + N_UPTO))
            return USHER_OK;
        hi = r.rank;
        order = r.order;
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    hi = order = UINT64_MAX;
    for (int i = 0; i < USHER__STEP_MAX && claim != 0; i++) {
        status = w->ops->walk(w->txn, &w->scope, KIND_END, READY, NULL, hi, order, true, &r);
        if (status != USHER_OK)
            return status;
        if (r.n[N_CLAIM] == claim && tells(w, &r, serial)) {
            *ret_k = pair(r.n + N_NUMBER);
            *ret_period = r.n[N_PERIOD];
            return USHER_OK;
        }
        hi = 0;
        order = r.order;
    }
    return USHER_MISSING;
}

/* A token as Redis gets it: store.h. */
static int64_t claim_of(uint64_t token)
{
    return token <= USHER_EXACT_MAX ? (int64_t)token : USHER_EXACT_MAX + 1;
}

/* How many numbers may be lost for one that was given out: more than a store gives out in the time
 * in which it can lose something, and few enough to see a mistyped one. */
#define LOST_MOST (INT64_C(1) << 20)

/*
 * confirm, return, void of number @k of @period, which no hold and no end here has.  It was lost if
 * it is among those that are, or if it is still to come and its token shows the loss (@of_lost):
 * then those before it are lost as well (not where no store has gone before: a mistyped token shows
 * nothing there).  Whoever has a token of what is lost settles his number, whoever has the token of
 * the lost ones any of them.  MISSING: it is not so.
 */
static enum usher_status settle_lost(work *w, struct state *s, unsigned event, int64_t k,
                                     int64_t period, bool of_lost)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    int64_t n = given(w, USHER_GIVEN_SERIAL_N) ? a->n : 1, last = 0, claim = claim_of(a->token);
    char ids[4][ID_SIZE];
    struct usher_record all, behind, one;
    change c;
    unsigned to = move_of(w, USHER_SERIAL_STATE_LOST, event, USHER__ANY).to;
    enum usher_status status = end_of(w, k, period, &one);

    if (status == USHER_OK && one.n[N_CLAIM] != 0 && one.n[N_CLAIM] == claim)
        return move_of(w, one.state, event, USHER__SERIAL_IF_CLAIMED).status == USHER_SAME
                   ? answer_hold(w, USHER_SAME, s, &one)
                   : USHER_MISSING;
    if (status == USHER_OK || status == USHER_MISSING)
        status = lost_with(w, k, period, &all);
    if (status == USHER_OK) {
        last = pair(all.n + N_UPTO);
        if (!of_lost && a->token != all.token)
            return USHER_MISSING;
        if (n > last - k + 1) {
            usher_result_fail(w->reply, USHER_INVALID, "n is more than are lost from there on");
            return USHER_OK;
        }
    } else if (status != USHER_MISSING || !of_lost || w->scope.n_gaps == 0 || n > 1 ||
               period != s->period || k <= s->cur || k > s->limit || k - s->cur > LOST_MOST) {
        return status;
    }
    usher__change_begin(w, &c);
    memset(&one, 0, sizeof one);
    one.token = c.scope->version;
    one.id.data = ids[3];
    one.id.size = (size_t)snprintf(ids[3], ID_SIZE, "%" PRId64, rank_of(w, period, k));
    set_pair(one.n + N_NUMBER, k);
    one.n[N_PERIOD] = period;
    one.n[N_STAMP] = w->now;
    one.n[N_CLAIM] = claim;
    one.data = s->rule.data;
    if (status == USHER_OK) {
        one.n[N_STAMP] = all.n[N_STAMP];
        one.data = all.data;
    }
    {
        enum usher_status kept = keep_end(w, &c, &one, to, ids[0]);

        if (kept != USHER_OK)
            return kept;
    }
    if (status == USHER_MISSING) {
        (void)lose(w, &c, s, k - 1, ids[1]);
        s->taken = s->cur = k;
        put_counters(&c, s);
    } else {
        int64_t first = pair(all.n + N_NUMBER);

        if (k + n - 1 < last) {
            behind = all;
            behind.ref = NULL;
            behind.order = c.scope->version;
            range_set(w, &behind, k + n, last, ids[2]);
            usher__change_save(&c, &behind);
        }
        if (first < k) {
            set_pair(all.n + N_UPTO, k - 1);
            usher__change_save(&c, &all);
        } else {
            usher__change_erase(&c, &all);
        }
    }
    one.kind = KIND_LOST; /* of several: so many */
    set_pair(one.n + N_UPTO, k + n - 1);
    one.state = (uint8_t)to;
    status = answer_hold(w, USHER_OK, s, &one);
    return status == USHER_OK ? finish(w, &c, &one, USHER_SERIAL_STATE_LOST, to) : status;
}

/* The hold, or else the end, that @serial names as it was printed: the format may be another one
 * by now.  The oldest of those held, the newest of those that have ended.  MISSING. */
static enum usher_status by_older_format(work *w, const struct usher_text *serial,
                                         struct usher_record *r)
{
    enum usher_status status = USHER_MISSING;

    for (int ended = 0; ended < 2; ended++) {
        uint64_t hi = ended ? UINT64_MAX : 0, order = hi;

        for (int i = 0; i < USHER__STEP_MAX; i++) {
            status = w->ops->walk(w->txn, &w->scope, ended ? KIND_END : KIND_HOLD,
                                  ended ? READY : HELD, NULL, hi, order, ended != 0, r);
            if (status == USHER_MISSING)
                break;
            if (status != USHER_OK || tells(w, r, serial))
                return status;
            hi = 0;
            order = r->order;
        }
    }
    return USHER_MISSING;
}

/* Which number the command names: as the rule prints now, or as one was printed that is held, has
 * ended or is lost; or was, and has been settled by token @claim (0: none).  MISSING: the reply
 * says why. */
static enum usher_status named(work *w, const struct state *s, int64_t claim, int64_t *ret_k,
                               int64_t *ret_period)
{
    const struct usher_text *serial = &w->command->arg.serial.serial;
    struct usher__serial_format f;
    struct usher_record r;
    enum usher_status status;

    if (!usher__serial_unpack(&s->rule.data, &f))
        return damaged(w);
    if (usher__serial_place(&f, serial, w->scope.settings[SET_RESET], ret_k, ret_period))
        return USHER_OK;
    status = queued(w) ? USHER_MISSING : by_older_format(w, serial, &r);
    if (status == USHER_OK) {
        *ret_k = pair(r.n + N_NUMBER);
        *ret_period = r.n[N_PERIOD];
    } else if (status == USHER_MISSING && !queued(w)) {
        status = lost_by_format(w, serial, claim, ret_k, ret_period);
    }
    if (status == USHER_MISSING)
        usher_result_fail(w->reply, USHER_INVALID, "serial is not of this rule");
    return status;
}

/* confirm, return, void: the token names the hold, and the serial has to be its. */
static enum usher_status settle_hold(work *w, unsigned event)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    struct usher_record r;
    struct usher_text format;
    struct state s;
    change c;
    char id[ID_SIZE];
    int64_t number, period;
    unsigned from, to;
    bool is_held;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    if (queued(w))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    status = by_token(w, KIND_HOLD, HELD, a->token, &r);
    if (status == USHER_OK && due(&r, w->now)) {
        status = expire_one(w, &s, &r);
        if (status == USHER_OK)
            status = load(w, &s);
        if (status == USHER_OK)
            status = USHER_MISSING;
    }
    if (status == USHER_OK && tells(w, &r, &a->serial)) {
        if (given(w, USHER_GIVEN_SERIAL_N) && a->n > 1) {
            usher_result_fail(w->reply, USHER_INVALID, "n is of numbers that are lost");
            return USHER_OK;
        }
        format = r.data;
        from = r.state;
        to = leads(w, &s, &r, event);
        usher__change_begin(w, &c);
        status = save(w, &c, &r, from, to, id);
        if (status != USHER_OK)
            return status;
        r.data = format;
        r.state = (uint8_t)to;
        r.until_ms = 0;
        status = answer_hold(w, USHER_OK, &s, &r);
        return status == USHER_OK ? finish(w, &c, &r, from, to) : status;
    }
    if (status == USHER_MISSING)
        status = by_token(w, KIND_END, READY, a->token, &r);
    if (status == USHER_OK && r.kind == KIND_END && tells(w, &r, &a->serial)) {
        if (move_of(w, r.state, event, USHER__ANY).status == USHER_SAME)
            return answer_hold(w, USHER_SAME, &s, &r);
        return stale(w, &s, event, pair(r.n + N_NUMBER), r.n[N_PERIOD]);
    }
    if (status == USHER_OK && r.kind == KIND_END)
        status = USHER_MISSING; /* that of others which were lost with it */
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    is_held = status == USHER_OK;
    status = named(w, &s, claim_of(a->token), &number, &period);
    if (status != USHER_OK)
        return status;
    if (!is_held) {
        bool of_lost = usher__scope_lost(w, a->token);

        status = settle_lost(w, &s, event, number, period, of_lost);
        if (status != USHER_MISSING)
            return status;
        if (of_lost)
            return usher__say_lost(w, "token");
    }
    return stale(w, &s, event, number, period);
}

static enum usher_status sweep(work *w)
{
    uint64_t n;
    bool more;
    struct state s;
    int64_t max = (w->command->given & USHER_GIVEN_SERIAL_N) != 0 ? w->command->arg.serial.n
                                                                  : USHER__STEP_MAX;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    status = expire_due(w, max, &n, &more);
    if (status == USHER_OK)
        status = load(w, &s);
    if (status != USHER_OK)
        return status;
    answer(w, n > 0 ? USHER_OK : USHER_SAME, &s);
    w->reply->of.serial.count = (int64_t)n;
    w->reply->of.serial.more = more;
    return n > 0 ? usher__request_keep_last(w) : USHER_OK;
}

/* ---- the rule ----------------------------------------------------------------------- */

static void settings_of(const int64_t *set, struct usher_serial_result_settings *n)
{
    n->start = pair(set + SET_START);
    n->critical = set[SET_CRITICAL];
    n->batch = set[SET_BATCH];
    n->reset = set[SET_RESET];
    n->stamp = set[SET_STAMP];
    n->mode = set[SET_MODE];
    n->lease_ms = set[SET_LEASE];
    n->requests = set[SET_REQUESTS];
    n->authority = set[SET_AUTHORITY];
}

static void say_rule(work *w, enum usher_status what, const int64_t *set, const struct state *s)
{
    answer(w, what, s);
    w->reply->of.serial.max = pair(set + SET_MAX);
    settings_of(set, &w->reply->of.serial.of.settings);
}

static enum usher_status answer_rule(work *w, enum usher_status what, const int64_t *set,
                                     const struct state *s)
{
    say_rule(w, what, set, s);
    return add_row(w, s, 0, 0, w->now);
}

static enum usher_status show_number(work *w, const struct state *s)
{
    struct usher_record r;
    int64_t number, period;
    enum usher_status status = named(w, s, 0, &number, &period);

    if (status == USHER_OK)
        status = standing(w, s, number, period, &r);
    if (status != USHER_OK)
        return status;
    w->reply->of.serial.token = r.token;
    w->reply->of.serial.until_ms = r.until_ms;
    return add_hold(w, s, &r);
}

static enum usher_status show(work *w)
{
    struct state s;
    bool number =
        w->command->verb == USHER_SERIAL_SHOW && w->command->arg.serial.serial.data != NULL;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    w->reply->of.serial.of.settings.made = counted(w, s.cur);
    say_rule(w, USHER_OK, w->scope.settings, &s);
    return number ? show_number(w, &s) : add_row(w, &s, 0, 0, w->now);
}

static void overlay(const work *w, struct usher__serial_format *f, int64_t *set)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    const struct {
        uint32_t bit;
        int64_t value, *to;
    } numbers[] = {
        { USHER_GIVEN_SERIAL_BASE, a->base, &f->base },
        { USHER_GIVEN_SERIAL_STEP, a->step, &f->step },
        { USHER_GIVEN_SERIAL_WIDTH, a->width, &f->width },
        { USHER_GIVEN_SERIAL_RADIX, a->radix, &f->radix },
        { USHER_GIVEN_SERIAL_CHECK, a->check, &f->check },
        { USHER_GIVEN_SERIAL_OVERFLOW, a->overflow, &f->overflow },
        { USHER_GIVEN_SERIAL_ZONE, a->zone_min, &f->zone_min },
        { USHER_GIVEN_SERIAL_ZONE, a->zone_min, &set[SET_ZONE] },
        { USHER_GIVEN_SERIAL_CRITICAL, a->critical, &set[SET_CRITICAL] },
        { USHER_GIVEN_SERIAL_BATCH, a->batch, &set[SET_BATCH] },
        { USHER_GIVEN_SERIAL_RESET, a->reset, &set[SET_RESET] },
        { USHER_GIVEN_SERIAL_STAMP, a->stamp, &set[SET_STAMP] },
        { USHER_GIVEN_SERIAL_MODE, a->mode, &set[SET_MODE] },
        { USHER_GIVEN_SERIAL_LEASE, a->lease_ms, &set[SET_LEASE] },
        { USHER_GIVEN_SERIAL_REQUESTS, a->requests, &set[SET_REQUESTS] },
        { USHER_GIVEN_SERIAL_AUTHORITY, a->authority, &set[SET_AUTHORITY] },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (given(w, numbers[i].bit))
            *numbers[i].to = numbers[i].value;
    if (given(w, USHER_GIVEN_SERIAL_START))
        set_pair(set + SET_START, a->start);
    if (given(w, USHER_GIVEN_SERIAL_MAX))
        set_pair(set + SET_MAX, a->max);
    if (a->prefix.data != NULL)
        f->prefix = a->prefix;
    if (a->suffix.data != NULL)
        f->suffix = a->suffix;
    if (a->date.data != NULL)
        f->date = a->date;
}

/* What cannot be, whatever there was before. */
static const char *rule_fault(const struct usher__serial_format *f, const int64_t *set)
{
    unsigned finest = usher__serial_date_finest(&f->date);

    if (f->check != USHER_SERIAL_CHECK_NONE && f->check != USHER_SERIAL_CHECK_MOD37_2 &&
        f->radix != 10)
        return "check needs radix=10, unless it is mod37-2";
    if (set[SET_RESET] != USHER_SERIAL_RESET_NONE &&
        (finest == USHER_SERIAL_RESET_NONE || finest > set[SET_RESET]))
        return "reset needs a date that tells its periods apart";
    return NULL;
}

/* The same number may be printed in each period: so no day may come twice. */
static bool day_goes_back(const work *w, int64_t from_min, int64_t to_min)
{
    return usher__serial_period(USHER_SERIAL_RESET_DAY, w->now, to_min) <
           usher__serial_period(USHER_SERIAL_RESET_DAY, w->now, from_min);
}

static enum usher_status rule(work *w)
{
    const uint32_t not_settings =
        (uint32_t)USHER_GIVEN_NOW | (uint32_t)USHER_GIVEN_SERIAL_IF_VERSION;
    const struct usher_serial_args *a = &w->command->arg.serial;
    const int64_t *old = w->scope.settings;
    bool exists = w->scope.ref != NULL && old[SET_RULE] != 0, made, used, restamped, moved;
    bool any = false; /* lost */
    struct usher__serial_format f, was;
    struct usher__packer p;
    unsigned char packed[USHER__SERIAL_FORMAT_MAX];
    int64_t set[USHER_SETTINGS], start, period;
    struct state s;
    const char *fault;
    change c;
    char id[24];
    enum usher_status status = USHER_OK;

    if (exists && (w->command->given & ~not_settings) == 0 && a->prefix.data == NULL &&
        a->suffix.data == NULL && a->date.data == NULL)
        return show(w);
    memset(&s, 0, sizeof s);
    memset(&was, 0, sizeof was);
    was.step = 1;
    was.radix = 10;
    was.overflow = USHER_SERIAL_OVERFLOW_REFUSE;
    memcpy(set, old, sizeof set);
    if (exists) {
        status = load(w, &s);
        if (status != USHER_OK)
            return status;
        if (!usher__serial_unpack(&s.rule.data, &was))
            return damaged(w);
        made = counted(w, s.cur);
        used = (past(w) & USED) != 0;
    } else {
        s.rule.kind = KIND_RULE;
        s.rule.id = rule_id;
        s.cur = w->scope.ref != NULL ? pair(w->scope.counts + COUNT_CUR) : 0;
        s.period = w->scope.counts[COUNT_PERIOD];
        made = s.cur > 0;
        used = set[SET_RESET] != USHER_SERIAL_RESET_NONE; /* kept by delete, with the zone */
        set[SET_RESET] = USHER_SERIAL_RESET_NONE;
        set[SET_ZONE] = 0;
    }
    f = was;
    overlay(w, &f, set);
    start = pair(set + SET_START);
    set[SET_RULE] = 1 + (used ? USED : 0);
    if (made && (!exists || start != pair(old + SET_START) || (past(w) & MADE) != 0))
        set[SET_RULE] += MADE;
    moved = set[SET_ZONE] != old[SET_ZONE] && f.date.size != 0;
    fault = rule_fault(&f, set);
    if (fault != NULL) {
        usher_result_fail(w->reply, USHER_INVALID, fault);
        return USHER_OK;
    }
    if (exists)
        status = lost_any(w, &any);
    if (status != USHER_OK)
        return status;
    /* nor while numbers of a period that is over are lost: whoever has one has to name it still */
    if (exists && (made || any) &&
        (f.base != was.base || f.step != was.step || f.radix != was.radix ||
         (f.check != USHER_SERIAL_CHECK_NONE) != (was.check != USHER_SERIAL_CHECK_NONE) ||
         set[SET_MODE] != old[SET_MODE]))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_KEPT, &s);
    if (exists && (set[SET_RESET] != old[SET_RESET] || moved) &&
        (any || w->scope.counts[COUNT_HELD] + w->scope.counts[COUNT_RETURNED] > 0))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_HELD, &s);
    if (moved && (made || used) && day_goes_back(w, old[SET_ZONE], set[SET_ZONE]))
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_BACK, &s);
    if (!exists) {
        if (s.cur < start - 1)
            s.cur = start - 1;
        s.taken = s.cur;
    } else if (!made) {
        s.taken = s.cur = start - 1;
    }
    s.limit = usher__serial_limit(&f, pair(set + SET_MAX), set[SET_MODE], set[SET_RESET]);
    if (s.limit < s.cur || s.limit < start - 1)
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_ROOM, &s);
    set_pair(set + SET_LIMIT, s.limit);
    if (!exists || set[SET_RESET] != old[SET_RESET] || set[SET_ZONE] != old[SET_ZONE]) {
        period = usher__serial_period(set[SET_RESET], w->now, set[SET_ZONE]);
        if (!exists || set[SET_RESET] != old[SET_RESET] || period > s.period)
            s.period = period;
    }
    p.to = packed;
    p.size = sizeof packed;
    p.n = 0;
    usher__serial_pack(&p, &f);
    if (exists && memcmp(set, old, sizeof set) == 0 && p.n == s.rule.data.size &&
        memcmp(packed, s.rule.data.data, p.n) == 0)
        return answer_rule(w, USHER_SAME, set, &s);

    restamped = exists && (set[SET_STAMP] != old[SET_STAMP] || moved);
    usher__change_begin(w, &c);
    memcpy(c.scope->settings, set, sizeof set);
    put_counters(&c, &s);
    s.rule.data.data = (const char *)packed;
    s.rule.data.size = p.n;
    put_rule(&c, &s);
    if (restamped)
        status = drop_fills(w, &c);
    if (status != USHER_OK)
        return status;
    if (restamped && set[SET_STAMP] == USHER_SERIAL_STAMP_FILL && s.cur > s.taken)
        add_fill(w, &c, s.cur, id);
    status = answer_rule(w, USHER_OK, set, &s);
    return status == USHER_OK ? finish(w, &c, NULL, 0, 0) : status;
}

/* The counters and the zone stay, so that a rule made again under the name repeats nothing. */
static enum usher_status delete_rule(work *w)
{
    struct usher_scope fresh;
    struct state s;
    bool any;
    change c;
    enum usher_status status;

    if (w->scope.ref == NULL || w->scope.settings[SET_RULE] == 0) {
        w->reply->status = USHER_SAME;
        return USHER_OK;
    }
    status = load(w, &s);
    if (status != USHER_OK)
        return status;
    status = lost_any(w, &any);
    if (status != USHER_OK)
        return status;
    if (any || w->scope.counts[COUNT_HELD] + w->scope.counts[COUNT_RETURNED] > 0)
        return turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_HELD, &s);
    usher__change_begin(w, &c);
    status = drop_fills(w, &c);
    if (status != USHER_OK)
        return status;
    s.taken = s.cur;
    put_counters(&c, &s);
    usher__change_erase(&c, &s.rule);
    defaults(&fresh);
    if (counted(w, s.cur) || (past(w) & USED) != 0) {
        fresh.settings[SET_ZONE] = w->scope.settings[SET_ZONE];
        fresh.settings[SET_RESET] = USHER_SERIAL_RESET_DAY; /* says so: see rule() */
    }
    memcpy(c.scope->settings, fresh.settings, sizeof fresh.settings);
    answer(w, USHER_OK, &s);
    return finish(w, &c, NULL, 0, 0);
}

/* ---- reads -------------------------------------------------------------------------- */

static enum usher_status check(work *w)
{
    const int64_t *set = w->scope.settings;
    struct usher_serial_stock *n = &w->reply->of.serial.of.stock;
    int64_t use[USHER__USE_PERIODS / 2];
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    struct state s;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK, &s);
    (void)use_now(w, use, &n->recent, &n->longterm);
    n->available = s.cur - s.taken;
    n->critical = set[SET_CRITICAL];
    n->batch = set[SET_BATCH];
    n->target = usher__serial_target(n->critical, n->recent, n->longterm);
    n->held = w->scope.counts[COUNT_HELD];
    n->returned = w->scope.counts[COUNT_RETURNED];
    n->taken = s.taken;
    n->debt = s.debt;
    while (n->held > 0 &&
           (status = w->ops->walk(w->txn, &w->scope, KIND_HOLD, DUE, NULL, hi, order, false, &r)) ==
               USHER_OK &&
           due(&r, w->now)) {
        hi = (uint64_t)r.until_ms;
        order = r.order;
        n->held--;
        n->returned += leads(w, &s, &r, USHER__SERIAL_E_EXPIRE) == USHER_SERIAL_STATE_RETURNED;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status parse(work *w)
{
    struct state s;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK, &s);
    return add_row(w, &s, 0, 0, w->now); /* the rest is done where the reply is read */
}

/* Numbers held, by owner those alone; those whose hold is over, the first to end first, and those
 * returned; those lost.  Each list goes on behind (hi, order). */
static enum usher_status holds(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    size_t max = given(w, USHER_GIVEN_SERIAL_N) ? (size_t)a->n : USHER_LIST_DEFAULT;
    struct usher_serial_result *n = &w->reply->of.serial;
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    struct state s;
    static const struct {
        uint8_t kind, slot;
    } lists[] = {
        { KIND_HOLD, HELD }, { KIND_HOLD, DUE }, { KIND_HOLD, READY }, { KIND_LOST, READY }
    };
    unsigned i = 0;
    enum usher_status status = load(w, &s);

    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK, &s);
    for (;;) {
        status = w->ops->walk(w->txn, &w->scope, lists[i].kind, lists[i].slot,
                              a->owner.data != NULL ? &a->owner : NULL, hi, order, false, &r);
        if (status == USHER_OK && i == 1 && !due(&r, w->now))
            status = USHER_MISSING;
        if (status == USHER_MISSING && i < 3 && a->owner.data == NULL) {
            i++;
            hi = order = 0;
            continue;
        }
        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_OK : status;
        hi = i == 0 ? 0 : i == 1 ? (uint64_t)r.until_ms : r.rank;
        order = r.order;
        if (i == 0 && due(&r, w->now))
            continue;
        if (i == 1) { /* as it is once that has happened */
            r.state = (uint8_t)leads(w, &s, &r, USHER__SERIAL_E_EXPIRE);
            if (r.state != USHER_SERIAL_STATE_RETURNED)
                continue;
            r.until_ms = 0;
            r.owner.size = 0;
            r.data.size = 0;
        }
        if (n->n_rows == max) {
            n->more = true;
            return USHER_OK;
        }
        status = add_hold(w, &s, &r);
        if (status != USHER_OK)
            return status;
    }
}

/* ---- all together ------------------------------------------------------------------- */

static enum usher_status run_verb(work *w)
{
    uint64_t n;
    bool more;
    enum usher_status status;

    switch (w->command->verb) {
    case USHER_SERIAL_SHOW:
        return show(w);
    case USHER_SERIAL_CHECK:
        return check(w);
    case USHER_SERIAL_PARSE:
        return parse(w);
    case USHER_SERIAL_HOLDS:
        return holds(w);
    default:
        break;
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    status = begin_period(w);
    if (status == USHER_OK && w->scope.due_ms <= w->now && w->command->verb != USHER_SERIAL_SWEEP)
        status = expire_due(w, USHER__EXPIRE_MAX, &n, &more);
    if (status != USHER_OK)
        return status;
    if (usher__other_version(w))
        return USHER_OK;
    switch (w->command->verb) {
    case USHER_SERIAL_FILL:
        return fill(w);
    case USHER_SERIAL_TAKE:
        return take(w);
    case USHER_SERIAL_TICK:
        return tick(w);
    case USHER_SERIAL_SETMAX:
        return setmax(w);
    case USHER_SERIAL_SETMAXCUR:
        return setmaxcur(w);
    case USHER_SERIAL_RESERVE:
        return reserve(w);
    case USHER_SERIAL_CONFIRM:
        return settle_hold(w, USHER__SERIAL_E_CONFIRM);
    case USHER_SERIAL_RETURN:
        return settle_hold(w, USHER__SERIAL_E_RETURN);
    case USHER_SERIAL_VOID:
        return settle_hold(w, USHER__SERIAL_E_VOID);
    case USHER_SERIAL_DELETE:
        return delete_rule(w);
    case USHER_SERIAL_SWEEP:
        return sweep(w);
    case USHER_SERIAL_GRANT:
        return grant(w);
    default:
        return rule(w);
    }
}

/* MISSING: the reply says all. */
static enum usher_status run(work *w)
{
    enum usher_status status = run_verb(w);

    return status == USHER_MISSING ? USHER_OK : status;
}

/* ---- for the executor, the audit and the digest ------------------------------------- */

/* The rule was deleted. */
static bool gone(const struct usher_scope *scope)
{
    return scope->settings[SET_RULE] == 0;
}

static const char *scope_fault(const struct usher_scope *scope)
{
    const int64_t *set = scope->settings, *counts = scope->counts;

    if (set[SET_ZONE] < -1440 || set[SET_ZONE] > 1440)
        return "a time zone";
    if (set[SET_RESET] < USHER_SERIAL_RESET_NONE || set[SET_RESET] > USHER_SERIAL_RESET_YEAR)
        return "a period";
    for (int i = SET_LIMIT; i <= SET_START; i += 2)
        if (!usher__wide_sound(set + i, INT64_MAX))
            return "a limit";
    for (int i = COUNT_TAKEN; i <= COUNT_CUR; i += 2)
        if (!usher__wide_sound(counts + i, INT64_MAX))
            return "a counter";
    if (pair(counts + COUNT_TAKEN) > pair(counts + COUNT_CUR) || pair(set + SET_START) < 1 ||
        counts[COUNT_BUCKET] < 0 || counts[COUNT_BUCKET] > USHER_TIME_MAX / USHER__USE_MS)
        return "a counter";
    if (set[SET_STAMP] < USHER_SERIAL_STAMP_TAKE || set[SET_STAMP] > USHER_SERIAL_STAMP_FILL ||
        set[SET_MODE] < USHER_SERIAL_MODE_QUEUE || set[SET_MODE] > USHER_SERIAL_MODE_GAPFREE)
        return "a setting";
    for (int i = SET_CRITICAL; i <= SET_REQUESTS; i++)
        if (i != SET_ZONE && (set[i] < 0 || set[i] > USHER_SPAN_MAX))
            return "a setting";
    if (set[SET_REQUESTS] < 1) /* ends are kept by what is left of a division by it */
        return "a setting";
    return NULL;
}

/* Numbers that are lost are found by where they stand, and never twice if the id follows from that.
 * @scope may be NULL. */
static bool stands_by_its_first(const struct usher_scope *scope, const struct usher_record *r)
{
    char id[ID_SIZE];
    size_t size = (size_t)snprintf(id, sizeof id, "%" PRIu64, r->rank);
    uint64_t rank = (uint64_t)pair(r->n + N_NUMBER);

    if (r->id.size != size || memcmp(r->id.data, id, size) != 0)
        return false;
    if (scope == NULL)
        return true;
    if (scope->settings[SET_RESET] != USHER_SERIAL_RESET_NONE) {
        if (pair(r->n + N_UPTO) >> USHER__GAPFREE_BITS != 0)
            return false;
        rank += (uint64_t)r->n[N_PERIOD] << USHER__GAPFREE_BITS;
    } else if (r->n[N_PERIOD] != 0) {
        return false;
    }
    return r->rank == rank;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    struct usher__serial_format f;

    if (usher__is_newer(scope, r->order) || usher__is_newer(scope, r->token))
        return "is newer than its scope";
    switch (r->kind) {
    case KIND_RULE:
        if (!usher__serial_unpack(&r->data, &f))
            return "has a format that cannot be read";
        if (!usher__wide_sound(r->n + N_GRANT, INT64_MAX))
            return "has a grant out of range";
        if (scope == NULL)
            return NULL;
        if (scope->settings[SET_RULE] == 0)
            return "is there though the rule was deleted";
        if (usher__serial_limit(&f, pair(scope->settings + SET_MAX), scope->settings[SET_MODE],
                                scope->settings[SET_RESET]) != pair(scope->settings + SET_LIMIT))
            return "has a limit that does not follow from it";
        if (pair(scope->counts + COUNT_CUR) > pair(scope->settings + SET_LIMIT))
            return "has made more than it may";
        return NULL;
    case KIND_FILL:
        if (!usher__wide_sound(r->n + N_LAST, INT64_MAX))
            return "has a number out of range";
        return scope != NULL && (pair(r->n + N_LAST) > pair(scope->counts + COUNT_CUR) ||
                                 pair(r->n + N_LAST) <= pair(scope->counts + COUNT_TAKEN))
                   ? "is not in the stock"
                   : NULL;
    case KIND_HOLD:
        if (r->state != USHER_SERIAL_STATE_HELD && r->state != USHER_SERIAL_STATE_RETURNED)
            return "has no known state";
        if (r->state == USHER_SERIAL_STATE_HELD && (r->until_ms < 0 || r->token != r->order))
            return "is held until no time there is, or under a token that is not its version";
        if (r->state == USHER_SERIAL_STATE_RETURNED && (r->owner.size != 0 || r->until_ms != 0))
            return "is returned and has an owner or a deadline";
        if (r->slots != usher__machine_lists(&usher__serial_machine, r->state, r->until_ms))
            return "stands in lists that do not follow from its state";
        if (!usher__wide_sound(r->n + N_NUMBER, INT64_MAX))
            return "has a number out of range";
        if (scope != NULL && r->n[N_PERIOD] == scope->counts[COUNT_PERIOD] &&
            pair(r->n + N_NUMBER) > pair(scope->counts + COUNT_CUR))
            return "is a number that was not made yet";
        return NULL;
    case KIND_END:
        if (r->state < USHER_SERIAL_STATE_RETURNED || r->state > USHER_SERIAL_STATE_VOIDED)
            return "has no known state";
        return r->order != r->token ? "does not stand in order of its token" : NULL;
    case KIND_LOST:
        if (r->state != USHER_SERIAL_STATE_LOST ||
            r->slots != usher__machine_lists(&usher__serial_machine, r->state, 0))
            return "has no known state, or stands in lists that do not follow from it";
        if (!usher__wide_sound(r->n + N_NUMBER, INT64_MAX) ||
            !usher__wide_sound(r->n + N_UPTO, USHER__GAPFREE_MAX) || pair(r->n + N_NUMBER) < 1 ||
            pair(r->n + N_NUMBER) > pair(r->n + N_UPTO))
            return "has numbers out of range";
        if (scope != NULL && r->n[N_PERIOD] == scope->counts[COUNT_PERIOD] &&
            pair(r->n + N_UPTO) > pair(scope->counts + COUNT_CUR))
            return "is of numbers that were not made yet";
        if (!stands_by_its_first(scope, r))
            return "does not stand where its first number is";
        return NULL;
    case USHER_KIND_REQUEST:
        return NULL;
    default:
        return "is of no known kind";
    }
}

static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_RULE:
        break;
    case KIND_FILL:
        t->counts[COUNT_FILLS]++;
        break;
    case KIND_HOLD:
        count(t->counts, r->state, 1);
        break;
    case KIND_END:
    case KIND_LOST:
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}

static const char *state_word(unsigned kind, unsigned state)
{
    return kind == KIND_HOLD || kind == KIND_END || kind == KIND_LOST
               ? usher_serial_state_word((enum usher_serial_state)state)
               : NULL;
}

/* But for what was raised by hand while the authority was away, and is not settled yet. */
static int64_t granted(const struct usher_scope *scope, const struct usher_record *r,
                       int64_t *ret_period)
{
    *ret_period = scope->counts[COUNT_PERIOD];
    return r != NULL && r->kind == KIND_RULE && scope->settings[SET_AUTHORITY] != 0 &&
                   pair(r->n + N_GRANT) > pair(r->n + N_DEBT)
               ? pair(r->n + N_GRANT)
               : -1;
}

size_t usher__serial_form_pack(const struct usher_serial_result_settings *set, int64_t max,
                               const struct usher_text *format, unsigned char to[USHER__FORM_MAX])
{
    struct usher__packer p;

    p.to = to;
    p.size = USHER__FORM_MAX;
    p.n = 0;
    usher__pack_array(&p, 11);
    usher__pack_uint(&p, USHER__SERIAL_FORM);
    usher__pack_text(&p, format->data, format->size);
    usher__pack_wide(&p, set->start);
    usher__pack_wide(&p, max);
    usher__pack_int(&p, set->critical);
    usher__pack_int(&p, set->batch);
    usher__pack_int(&p, set->reset);
    usher__pack_int(&p, set->stamp);
    usher__pack_int(&p, set->mode);
    usher__pack_int(&p, set->lease_ms);
    usher__pack_int(&p, set->requests);
    return p.n;
}

static bool kept(const struct usher_scope *scope, const struct usher_record *r,
                 unsigned char to[USHER__FORM_MAX], size_t *ret_size)
{
    struct usher_serial_result_settings set;

    *ret_size = 0;
    if (r == NULL || r->kind != KIND_RULE)
        return false;
    memset(&set, 0, sizeof set);
    settings_of(scope->settings, &set);
    if (set.authority != 0)
        *ret_size = usher__serial_form_pack(&set, pair(scope->settings + SET_MAX), &r->data, to);
    return true;
}

static const char *const kinds[USHER_KINDS] = { "?",       "rule", "fill", "hold",
                                                "request", "end",  "lost", "?" };

static const struct usher__constant constants[] = {
    { "V_EXPIRE", USHER_SERIAL_EXPIRE },
    { "V_RESET", USHER_SERIAL_RESET },
    { "WHY_EXHAUSTED", USHER_SERIAL_WHY_EXHAUSTED },
    { "WHY_GRANT", USHER_SERIAL_WHY_GRANT },
    { "WHY_LOST", USHER_SERIAL_WHY_LOST },
    { "WHY_KEPT", USHER_SERIAL_WHY_KEPT },
    { "WHY_ROOM", USHER_SERIAL_WHY_ROOM },
    { "WHY_MODE", USHER_SERIAL_WHY_MODE },
    { "WHY_HELD", USHER_SERIAL_WHY_HELD },
    { "WHY_FILLS", USHER_SERIAL_WHY_FILLS },
    { "WHY_BACK", USHER_SERIAL_WHY_BACK },
    { "USED", USED },
    { "MADE", MADE },
    { "FILLS_MAX", USHER_SERIAL_FILLS_MAX },
    { "WIDTH_MAX", USHER_SERIAL_WIDTH_MAX },
    { "USE_MS", USHER__USE_MS },
    { "USE_BIT", INT64_C(1) << USHER__USE_BITS },
    { "RANK_BIT", INT64_C(1) << USHER__GAPFREE_BITS },
    { "SERIAL_PAST", USHER_SERIAL_STATE_PAST },
    { "MOD37_2", USHER_SERIAL_CHECK_MOD37_2 },
    { "TAKE_MAX", USHER_SERIAL_TAKE_MAX },
    { NULL, 0 },
};

const struct usher__steps usher__serial_steps = {
    .defaults = defaults,
    .run = run,
    .gone = gone,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .granted = granted,
    .kept = kept,
    .kinds = kinds,
    .state_word = state_word,
    .first = "3:",
    .listed = "",
    .count_names = {
        [COUNT_TAKEN] = "TAKEN",
        [COUNT_CUR] = "CUR",
        [COUNT_PERIOD] = "PERIOD",
        [COUNT_REQUESTS] = "REQUESTS",
        [COUNT_BUCKET] = "BUCKET",
        [COUNT_USE] = "USE",
        [COUNT_HELD] = "HELD",
        [COUNT_RETURNED] = "RETURNED",
        [COUNT_FILLS] = "FILLS",
    },
    .setting_names = {
        [SET_LIMIT] = "LIMIT",
        [SET_MAX] = "MAX",
        [SET_START] = "START",
        [SET_CRITICAL] = "CRITICAL",
        [SET_BATCH] = "BATCH",
        [SET_RESET] = "RESET",
        [SET_ZONE] = "ZONE",
        [SET_STAMP] = "STAMP",
        [SET_MODE] = "MODE",
        [SET_LEASE] = "LEASE",
        [SET_REQUESTS] = "REQUESTS",
        [SET_AUTHORITY] = "AUTHORITY",
        [SET_RULE] = "RULE",
    },
    .constants = constants,
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .items = 1u << COUNT_HELD,
    .counted = 1u << COUNT_REQUESTS | 1u << COUNT_HELD | 1u << COUNT_RETURNED | 1u << COUNT_FILLS,
};
