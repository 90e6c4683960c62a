/* SPDX-License-Identifier: MIT */
/* The stock and the takes of a serial rule, and the table of its verbs.  See serial.h. */
#include "config.h"

#include "serial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEASE_MS INT64_C(300000)
#define BATCH 1000

void usher__serial_defaults(struct usher_scope *scope)
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

/* ---- the state --------------------------------------------------------------------- */

enum usher_status usher__serial_damaged(work *w)
{
    usher_result_fail(w->reply, USHER_UNAVAILABLE, "the store is damaged: a rule");
    return USHER_MISSING;
}

/* Fill the members that every reply has. */
enum usher_status usher__serial_answer(work *w, enum usher_status status, const struct state *s)
{
    struct usher_serial_result *n = &w->reply->of.serial;

    w->reply->status = status;
    n->cur = s->cur;
    n->max = pair(w->scope.settings + SET_MAX);
    n->left = s->limit > s->cur ? s->limit - s->cur : 0;
    n->granted = s->granted;
    n->period = s->period;
    return USHER_OK;
}

enum usher_status usher__serial_turned_down(work *w, enum usher_status status,
                                            enum usher_serial_why why, const struct state *s)
{
    usher__serial_answer(w, status, s);
    w->reply->of.serial.why = why;
    return USHER_OK;
}

/* Begin a period; no other code does that.  @highest: the last number made in it before, or 0. */
static void begin(struct state *s, const int64_t *set, int64_t period, int64_t highest)
{
    int64_t before = pair(set + SET_START) - 1;

    s->period = period;
    s->taken = s->cur = highest > before ? highest : before;
    s->granted = s->debt = 0;
}

/* On MISSING the reply has the reason. */
enum usher_status usher__serial_load(work *w, struct state *s)
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
        return usher__serial_damaged(w);
    if (status != USHER_OK)
        return status;
    s->limit = pair(set + SET_LIMIT);
    s->taken = pair(counts + COUNT_TAKEN);
    s->cur = pair(counts + COUNT_CUR);
    s->granted = pair(s->rule.n + N_GRANT);
    s->debt = pair(s->rule.n + N_DEBT);
    s->period = counts[COUNT_PERIOD];
    period = usher__serial_period(set[SET_RESET], w->now, set[SET_ZONE]);
    if (period > s->period)
        begin(s, set, period, 0);
    return USHER_OK;
}

/* Order the resets: a coarser one has a larger number. */
static int64_t coarseness(int64_t reset)
{
    return reset != USHER_SERIAL_RESET_NONE ? reset : USHER_SERIAL_RESET_YEAR + 1;
}

static int64_t *past_of(struct state *s, int64_t reset)
{
    return s->past.n + 2 * (coarseness(reset) - USHER_SERIAL_RESET_MONTH);
}

enum usher_status usher__serial_enter(work *w, struct state *s, const int64_t *set, int64_t made,
                                      int64_t *ret_highest)
{
    static const int64_t resets[] = { USHER_SERIAL_RESET_DAY, USHER_SERIAL_RESET_MONTH,
                                      USHER_SERIAL_RESET_YEAR, USHER_SERIAL_RESET_NONE };
    int64_t old = w->scope.settings[SET_RESET], period = w->scope.counts[COUNT_PERIOD];
    int64_t to = set[SET_RESET], zone = set[SET_ZONE], granted = pair(s->rule.n + N_GRANT);
    enum usher_status status = USHER_MISSING;

    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, KIND_PAST, &past_id, &s->past);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (status == USHER_MISSING) {
        memset(&s->past, 0, sizeof s->past);
        s->past.kind = KIND_PAST;
        s->past.id = past_id;
    }
    *ret_highest = 0;
    for (size_t i = 0; i < sizeof resets / sizeof *resets; i++) {
        int64_t reset = resets[i], unit = coarseness(reset) > coarseness(old) ? reset : old;
        int64_t highest = made;

        /* the counter has all numbers of its own period, PAST those before it */
        if (unit != old && pair(past_of(s, reset)) > highest)
            highest = pair(past_of(s, reset));
        if (usher__serial_period(unit, w->now, zone) !=
            usher__serial_period_within(old, period, unit))
            highest = 0;
        if (reset == to)
            *ret_highest = highest;
        if (reset != USHER_SERIAL_RESET_DAY)
            set_pair(past_of(s, reset), coarseness(reset) > coarseness(to) ? highest : 0);
    }
    if (granted < made)
        granted = made;
    if (granted > pair(s->past.n + N_GRANTED))
        set_pair(s->past.n + N_GRANTED, granted);
    begin(s, set, usher__serial_period(to, w->now, zone), *ret_highest);
    return USHER_OK;
}

void usher__serial_put_past(change *c, struct state *s)
{
    bool any = s->past.ref != NULL;

    for (int i = 0; i < N_PAST; i++)
        any = any || s->past.n[i] != 0;
    if (any)
        usher__change_save(c, &s->past);
}

void usher__serial_put_counters(change *c, const struct state *s)
{
    set_pair(c->scope->counts + COUNT_TAKEN, s->taken);
    set_pair(c->scope->counts + COUNT_CUR, s->cur);
    c->scope->counts[COUNT_PERIOD] = s->period;
}

void usher__serial_put_rule(change *c, struct state *s)
{
    set_pair(s->rule.n + N_GRANT, s->granted);
    set_pair(s->rule.n + N_DEBT, s->debt);
    usher__change_save(c, &s->rule);
}

/* Replace the scope's epoch, so that clients discard what they know of it. */
static void bump_epoch(change *c)
{
    c->scope->epoch = c->scope->epoch != UINT64_MAX ? c->scope->epoch + 1 : 1;
}

/* Erase all fills: no command waits for them any more. */
enum usher_status usher__serial_drop_fills(work *w, change *c)
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

void usher__serial_add_fill(const work *w, change *c, int64_t last, char id[24])
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

/* A new period begins the count again, as a change of its own.  Periods only grow. */
static enum usher_status begin_period(work *w)
{
    const int64_t *set = w->scope.settings;
    int64_t taken = pair(w->scope.counts + COUNT_TAKEN), highest;
    bool made;
    struct state s;
    change c;
    enum usher_status status;

    if (w->scope.ref == NULL || set[SET_RULE] == 0 || set[SET_RESET] == USHER_SERIAL_RESET_NONE ||
        usher__serial_period(set[SET_RESET], w->now, set[SET_ZONE]) <=
            w->scope.counts[COUNT_PERIOD])
        return USHER_OK;
    made = counted(w, taken);
    status = usher__serial_load(w, &s);
    if (status == USHER_OK)
        status = usher__serial_enter(w, &s, set, made ? taken : 0, &highest);
    if (status != USHER_OK)
        return status;
    usher__change_begin(w, &c);
    if (made)
        c.scope->settings[SET_RULE] = 1 + USED;
    usher__serial_put_counters(&c, &s);
    usher__serial_put_past(&c, &s);
    if (pair(s.rule.n + N_GRANT) != 0 || pair(s.rule.n + N_DEBT) != 0)
        usher__serial_put_rule(&c, &s);
    status = usher__serial_drop_fills(w, &c);
    if (status == USHER_OK)
        status = usher__change_commit(w, &c, USHER_SERIAL_RESET, 0, 0, NULL);
    return status;
}

enum usher_status usher__serial_add_row(work *w, const struct state *s, int64_t first, int64_t n,
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

/* Add the actor of the command, if it has one, to the fields of a notice.  Return their number. */
static size_t add_actor(const work *w, struct usher__notice_field *field)
{
    const struct usher_text *actor = &w->command->arg.serial.actor;

    *field = (struct usher__notice_field){ "actor", 0, actor };
    return actor->data != NULL;
}

/* Commit a change of a hold, whose notice has the number as data, and the actor of its command. */
enum usher_status usher__serial_commit(work *w, change *c, enum usher_verb verb, unsigned from,
                                       unsigned to, const struct usher_record *r)
{
    struct usher__notice_field said[2];
    enum usher_status status = USHER_OK;
    size_t n = 0;

    if (r != NULL)
        said[n++] = (struct usher__notice_field){ "number", pair(r->n + N_NUMBER), NULL };
    if (verb == w->command->verb && c->data.size == 0)
        n += add_actor(w, &said[n]);
    if (n != 0)
        status = usher__change_data(w, c, said, n);
    return status == USHER_OK ? usher__change_commit(w, c, verb, from, to, r) : status;
}

enum usher_status usher__serial_finish(work *w, change *c, const struct usher_record *r,
                                       unsigned from, unsigned to)
{
    enum usher_status status = usher__request_keep(w, c);

    return status == USHER_OK ? usher__serial_commit(w, c, w->command->verb, from, to, r) : status;
}

enum usher_status usher__serial_finish_saying(work *w, change *c,
                                              const struct usher__notice_field *said, size_t n)
{
    struct usher__notice_field all[3];
    enum usher_status status;

    memcpy(all, said, n * sizeof *said); /* at most 2 */
    n += add_actor(w, &all[n]);
    status = usher__change_data(w, c, all, n);
    return status == USHER_OK ? usher__serial_finish(w, c, NULL, 0, 0) : status;
}

/* The same for numbers that were made or taken, the last @n up to @last. */
static enum usher_status finish_numbers(work *w, change *c, int64_t last, int64_t n)
{
    const struct usher__notice_field said[] = { { "first", last - n + 1, NULL }, { "n", n, NULL } };

    return usher__serial_finish_saying(w, c, said, 2);
}

/* The same for another maximum @max in the state @s. */
static enum usher_status finish_max(work *w, change *c, int64_t max, const struct state *s)
{
    const struct usher__notice_field said[] = { { "max", max, NULL }, { "cur", s->cur, NULL } };

    return usher__serial_finish_saying(w, c, said, 2);
}

/* ---- fill, tick, take --------------------------------------------------------------- */

/* Make @n more, for which there is space. */
static enum usher_status make(work *w, struct state *s, int64_t n)
{
    change c;
    char id[24];

    usher__change_begin(w, &c);
    s->cur += n;
    usher__serial_put_counters(&c, s);
    if (w->scope.settings[SET_STAMP] == USHER_SERIAL_STAMP_FILL)
        usher__serial_add_fill(w, &c, s->cur, id);
    usher__serial_answer(w, USHER_OK, s);
    w->reply->of.serial.count = n;
    return finish_numbers(w, &c, s->cur, n);
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
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_GRANT, s);
    if (most == 0)
        return usher__serial_turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, s);
    if (fills_full(w))
        return usher__serial_turned_down(w, USHER_FULL, USHER_SERIAL_WHY_FILLS, s);
    return make(w, s, n < most ? n : most);
}

static enum usher_status fill(work *w)
{
    struct state s;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    return make_some(w, &s, w->command->arg.serial.n);
}

/* Compute the demand counters at w->now. */
int64_t usher__serial_use_now(const work *w, int64_t use[USHER__USE_PERIODS / 2],
                              int64_t *ret_recent, int64_t *ret_longterm)
{
    int64_t bucket = w->scope.counts[COUNT_BUCKET];

    memcpy(use, w->scope.counts + COUNT_USE, USHER__USE_PERIODS / 2 * sizeof *use);
    usher__use_slide(&bucket, use, w->moment);
    *ret_recent = usher__use_sum(bucket, use, USHER__USE_PERIODS / 2);
    *ret_longterm = usher__use_sum(bucket, use, USHER__USE_PERIODS);
    return bucket;
}

static enum usher_status tick(work *w)
{
    const int64_t *set = w->scope.settings;
    int64_t use[USHER__USE_PERIODS / 2], recent, longterm, want;
    struct state s;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    (void)usher__serial_use_now(w, use, &recent, &longterm);
    want = usher__serial_target(set[SET_CRITICAL], recent, longterm);
    if (want <= s.cur - s.taken)
        return usher__serial_answer(w, USHER_SAME, &s);
    want -= s.cur - s.taken;
    return make_some(w, &s, want < set[SET_BATCH] ? want : set[SET_BATCH]);
}

/* Take @n of the stock, each with the date of its fill; erase fills that are used up. */
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
        status = usher__serial_add_row(w, s, first, k, r.n[N_AT]);
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
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (lost(w, &s))
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_LOST, &s);
    stock = s.cur - s.taken < n ? s.cur - s.taken : n;
    made = n - stock < room(w, &s) ? n - stock : room(w, &s);
    /* debt: the authority is away, and only earlier grants can be used */
    if (stock + made < n && must_ask(w, &s) &&
        (stock + made == 0 || !given(w, USHER_GIVEN_SERIAL_DEBT) || a->debt == 0))
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_GRANT, &s);
    if (stock + made == 0)
        return usher__serial_turned_down(w, USHER_EMPTY, USHER_SERIAL_WHY_EXHAUSTED, &s);
    if (stock + made < n && !must_ask(w, &s)) {
        usher__serial_turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, &s);
        w->reply->of.serial.left = stock + made;
        return USHER_OK;
    }
    n = stock + made;

    usher__change_begin(w, &c);
    bucket = usher__serial_use_now(w, use, &recent, &longterm);
    usher__use_add(bucket, use, n);
    recent = usher__use_sum(bucket, use, USHER__USE_PERIODS / 2);
    longterm = usher__use_sum(bucket, use, USHER__USE_PERIODS);
    c.scope->counts[COUNT_BUCKET] = bucket;
    memcpy(c.scope->counts + COUNT_USE, use, sizeof use);

    if (!dated)
        status = usher__serial_add_row(w, &s, s.taken + 1, n, w->now);
    else if (stock > 0)
        status = take_fills(w, &c, &s, stock);
    if (status == USHER_OK && dated && made > 0)
        status = usher__serial_add_row(w, &s, s.cur + 1, made, w->now);
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
            usher__serial_add_fill(w, &c, s.cur, id);
    }
    usher__serial_put_counters(&c, &s);
    usher__serial_answer(w, USHER_OK, &s);
    w->reply->of.serial.count = n;
    return finish_numbers(w, &c, s.taken, n);
}

/* ---- setmax, setmaxcur, grant ------------------------------------------------------- */

/* Compute the limit that follows from @max. */
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
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    debt =
        given(w, USHER_GIVEN_SERIAL_DEBT) && a->debt != 0 && w->scope.settings[SET_AUTHORITY] != 0;
    /* In debt the grant is raised; max may be unlimited. */
    if (a->by > INT64_MAX - max && !debt)
        return usher__serial_turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, &s);
    max = a->by > INT64_MAX - max ? INT64_MAX : max + a->by;
    if (!limit_with(w, &s, max, &s.limit))
        return usher__serial_damaged(w);
    top = s.granted > s.cur ? s.granted : s.cur;
    if (debt && top >= s.limit)
        return usher__serial_turned_down(w, USHER_FULL, USHER_SERIAL_WHY_EXHAUSTED, &s);
    usher__change_begin(w, &c);
    bump_epoch(&c);
    set_pair(c.scope->settings + SET_MAX, max);
    set_pair(c.scope->settings + SET_LIMIT, s.limit);
    if (debt) {
        s.granted = s.debt = a->by > s.limit - top ? s.limit : top + a->by;
        usher__serial_put_rule(&c, &s);
    }
    usher__serial_answer(w, USHER_OK, &s);
    return finish_max(w, &c, max, &s);
}

static enum usher_status setmaxcur(work *w)
{
    int64_t cur = w->command->arg.serial.max, max = pair(w->scope.settings + SET_MAX);
    int64_t limit;
    struct state s;
    change c;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (!queued(w))
        return usher__serial_turned_down(w, USHER_REFUSED, USHER_SERIAL_WHY_MODE, &s);
    if (cur <= s.cur)
        return usher__serial_answer(w, USHER_SAME, &s);
    max = max > cur ? max : cur;
    if (!limit_with(w, &s, max, &limit))
        return usher__serial_damaged(w);
    if (limit < cur)
        return usher__serial_turned_down(w, USHER_FULL, USHER_SERIAL_WHY_ROOM, &s);
    usher__change_begin(w, &c);
    bump_epoch(&c);
    set_pair(c.scope->settings + SET_MAX, max);
    set_pair(c.scope->settings + SET_LIMIT, limit);
    s.limit = limit;
    s.taken = s.cur = cur;
    usher__serial_put_counters(&c, &s);
    status = usher__serial_drop_fills(w, &c);
    if (status != USHER_OK)
        return status;
    usher__serial_answer(w, USHER_OK, &s);
    return finish_max(w, &c, max, &s);
}

/*
 * The authority has raised the maximum from a->from to a->to for the sender of this command.  A
 * store with a maximum below a->from has lost grants: it continues above a->from (if the limit
 * allows it), and its stock may have been issued before.  The same applies on another store than
 * that of the last grant.  `count`: the number of lost gap-free numbers.
 */
static enum usher_status grant(work *w)
{
    const struct usher_serial_args *a = &w->command->arg.serial;
    int64_t top, n_lost = 0;
    char id[ID_SIZE];
    bool known, behind, another, moved;
    struct state s;
    change c;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    if (w->scope.settings[SET_AUTHORITY] == 0) {
        usher_result_fail(w->reply, USHER_INVALID, "the rule has no authority (authority=0)");
        return USHER_OK;
    }
    if (a->to < a->from) {
        usher_result_fail(w->reply, USHER_INVALID, "to is less than from");
        return USHER_OK;
    }
    if ((w->command->given & USHER_GIVEN_SERIAL_PERIOD) != 0 && a->period != s.period)
        return usher__serial_answer(w, USHER_STALE, &s);
    top = s.granted > s.cur ? s.granted : s.cur;
    behind = a->from > top;
    another = is_another(w, &s);
    moved = another && s.rule.n[N_STORE] != 0; /* else this is the first grant of the rule */
    known = !behind ? a->to <= s.granted && (s.debt == 0 || a->to < s.debt)
                    : s.taken == s.limit && s.granted == s.limit && s.debt == 0;
    if (known && !another)
        return usher__serial_answer(w, USHER_SAME, &s);
    usher__change_begin(w, &c);
    if (behind)
        top = a->from;
    if (behind || moved) {
        int64_t cur = top < s.limit ? top : s.limit;

        bump_epoch(&c);
        n_lost = usher__serial_lose(w, &c, &s, cur, id);
        s.taken = s.cur = cur;
        raise_line(c.scope, c.scope->version);
        usher__serial_put_counters(&c, &s);
        status = usher__serial_drop_fills(w, &c);
        if (status != USHER_OK)
            return status;
    }
    /* Numbers between the limit and a->from belong to others: a higher limit needs another
     * grant. */
    if ((behind || moved) && top > s.limit)
        s.granted = s.limit;
    else if (a->to > s.granted)
        s.granted = a->to;
    s.debt = 0;
    if (w->identity != 0)
        s.rule.n[N_STORE] = (int64_t)w->identity;
    usher__serial_put_rule(&c, &s);
    usher__serial_answer(w, USHER_OK, &s);
    w->reply->of.serial.count = n_lost;
    {
        const struct usher__notice_field said[] = { { "granted", s.granted, NULL },
                                                    { "cur", s.cur, NULL } };

        return usher__serial_finish_saying(w, &c, said, 2);
    }
}

/* ---- reads -------------------------------------------------------------------------- */

static enum usher_status check(work *w)
{
    const int64_t *set = w->scope.settings;
    struct usher_serial_stock *n = &w->reply->of.serial.of.stock;
    int64_t use[USHER__USE_PERIODS / 2];
    struct state s;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    usher__serial_answer(w, USHER_OK, &s);
    (void)usher__serial_use_now(w, use, &n->recent, &n->longterm);
    n->available = s.cur - s.taken;
    n->critical = set[SET_CRITICAL];
    n->batch = set[SET_BATCH];
    n->target = usher__serial_target(n->critical, n->recent, n->longterm);
    n->held = w->scope.counts[COUNT_HELD];
    n->returned = w->scope.counts[COUNT_RETURNED];
    n->doubt = w->scope.counts[COUNT_DOUBT];
    n->taken = s.taken;
    n->debt = s.debt;
    return usher__serial_without_due(w, n);
}

static enum usher_status parse(work *w)
{
    struct state s;
    enum usher_status status = usher__serial_load(w, &s);

    if (status != USHER_OK)
        return status;
    usher__serial_answer(w, USHER_OK, &s);
    /* the rest is done where the reply is read */
    return usher__serial_add_row(w, &s, low(w->scope.settings), 0, w->now);
}

/* ---- all together ------------------------------------------------------------------- */

enum usher_status usher__serial_come_again(work *w)
{
    w->reply->of.serial.why = USHER_SERIAL_WHY_DUE;
    return usher__defer(w);
}

static enum usher_status run_verb(work *w)
{
    uint64_t n;
    bool more = false;
    enum usher_status status;

    if (w->behind)
        return usher__serial_come_again(w);
    switch (w->command->verb) {
    case USHER_SERIAL_SHOW:
        return usher__serial_show(w);
    case USHER_SERIAL_CHECK:
        return check(w);
    case USHER_SERIAL_PARSE:
        return parse(w);
    case USHER_SERIAL_HOLDS:
        return usher__serial_holds(w);
    case USHER_SERIAL_CHANGES:
        w->reply->of.serial.of.settings.push = w->scope.settings[SET_PUSH];
        return usher__log_changes(w, &w->reply->of.serial.since, &w->reply->of.serial.more);
    default:
        break;
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    status = begin_period(w);
    if (status == USHER_OK && w->scope.due_ms <= w->moment &&
        w->command->verb != USHER_SERIAL_SWEEP)
        status = usher__serial_expire_due(w, USHER__EXPIRE_MAX, &n, &more);
    if (status != USHER_OK)
        return status;
    if (more)
        return usher__serial_come_again(w);
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
        return usher__serial_reserve(w);
    case USHER_SERIAL_CONFIRM:
        return usher__serial_settle_hold(w, USHER__SERIAL_E_CONFIRM);
    case USHER_SERIAL_RETURN:
        return usher__serial_settle_hold(w, USHER__SERIAL_E_RETURN);
    case USHER_SERIAL_RENEW:
        return usher__serial_settle_hold(w, USHER__SERIAL_E_RENEW);
    case USHER_SERIAL_VOID:
        return given(w, USHER_GIVEN_SERIAL_DOUBT)
                   ? usher__serial_void_doubt(w)
                   : usher__serial_settle_hold(w, USHER__SERIAL_E_VOID);
    case USHER_SERIAL_DELETE:
        return usher__serial_delete_rule(w);
    case USHER_SERIAL_SWEEP:
        return usher__serial_sweep(w);
    case USHER_SERIAL_GRANT:
        return grant(w);
    default:
        return usher__serial_rule(w);
    }
}

/* On MISSING the reply is complete. */
enum usher_status usher__serial_run(work *w)
{
    enum usher_status status = run_verb(w);

    return status == USHER_MISSING ? USHER_OK : status;
}
