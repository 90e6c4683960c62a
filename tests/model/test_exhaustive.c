/* SPDX-License-Identifier: MIT */
/*
 * Every state of small number pools, two numbers and two owners, and every command from each
 * (exhaustive.h).
 *
 * Deadlines count from the clock, of versions only the order matters, of calls only how many are
 * left today; it does not matter which of the owners is which (key()).  Beyond what holds of all
 * nouns:
 *
 *   read      a read changes nothing at all.
 *   free      a call gets a number that was idle, up and rested.
 *   token     a call's token is larger than every token before it.
 *   mode      a call gets a number only of an open pool.
 *   longest   a called or renewed hold ends by `lease-max`, and not before that was set.
 *   counts    `stats` counts what `list` lists.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/operation.h>

#include "core/number.h"
#include "model/exhaustive.h"
#include "model/gen.h"
#include "model/model.h"
#include "lib/util.h"

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define U (6 * HOUR)
#define START (19000 * DAY + 2 * U)

/* ---- worlds ------------------------------------------------------------------------ */

struct profile {
    const char *name;
    int64_t later[3]; /* commands come this much later than the last change */
    unsigned n_later;
    struct usher_number_result_settings set; /* what is not 0 is set */
    int64_t leases[2];                       /* that calls and renewals name; -1: none */
    unsigned n_leases;
    int64_t rests[2]; /* that hangups name; -1: none */
    unsigned n_rests;
    int64_t longest[2]; /* that lease-max is set to, by commands */
    unsigned n_longest;
    bool groups, sticky, moves;
    bool modes; /* set mode= */
};

static const struct profile profiles[] = {
    {
        .name = "leases",
        .later = { 0, U, 3 * U },
        .n_later = 3,
        .leases = { -1, 2 * U },
        .n_leases = 2,
        .rests = { -1 },
        .n_rests = 1,
    },
    {
        .name = "leases and rests",
        .set = { .lease_ms = 2 * U, .rest_ms = U },
        .later = { 0, U, 3 * U },
        .n_later = 3,
        .leases = { -1, 0 },
        .n_leases = 2,
        .rests = { -1, 0 },
        .n_rests = 2,
    },
    {
        .name = "most recent first",
        .set = { .order = USHER_NUMBER_ORDER_MOST_RECENT },
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1, U },
        .n_rests = 2,
        .groups = true,
    },
    {
        .name = "random",
        .set = { .order = USHER_NUMBER_ORDER_RANDOM, .lease_ms = U },
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1 },
        .n_rests = 1,
    },
    {
        .name = "strict",
        .set = { .strict = 1, .lease_ms = U },
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1, 0 },
        .n_leases = 2,
        .rests = { -1 },
        .n_rests = 1,
    },
    {
        .name = "one call a day",
        .set = { .daily = 1 },
        .later = { 0, 2 * U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1 },
        .n_rests = 1,
        .groups = true,
    },
    {
        .name = "two calls a day and rests",
        .set = { .daily = 2, .rest_ms = 2 * U, .lease_ms = 2 * U, .zone_min = -720 },
        .later = { 0, 2 * U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1 },
        .n_rests = 1,
    },
    {
        .name = "sticky",
        .set = { .sticky_ms = 2 * U, .sticky_max = 1 },
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1 },
        .n_rests = 1,
        .groups = true,
        .sticky = true,
    },
    {
        .name = "a longest hold, with and without",
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1 },
        .n_rests = 1,
        .longest = { 0, 2 * U },
        .n_longest = 2,
    },
    {
        .name = "a longest hold and other groups",
        .set = { .lease_max_ms = 2 * U, .lease_ms = U },
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1, 0 },
        .n_leases = 2,
        .rests = { -1 },
        .n_rests = 1,
        .groups = true,
        .moves = true,
    },
    {
        .name = "one call a day in other groups",
        .set = { .daily = 1 },
        .later = { 0, 2 * U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1 },
        .n_rests = 1,
        .groups = true,
        .moves = true,
    },
    {
        .name = "modes",
        .set = { .lease_ms = U },
        .later = { 0, U },
        .n_later = 2,
        .leases = { -1 },
        .n_leases = 1,
        .rests = { -1, U },
        .n_rests = 2,
        .groups = true,
        .modes = true,
    },
};
#define PROFILES (sizeof profiles / sizeof *profiles)

/* The alphabet at work. */
struct alphabet {
    const struct profile *profile;
    struct gen_command *symbols;
    size_t n;
};

static const char pool[] = "desk";

static struct gen_command *symbol(struct alphabet *w, enum usher_verb verb, const char *number,
                                  int64_t later)
{
    struct gen_command *s = &w->symbols[w->n++];

    if (w->n > EXHAUSTIVE_SYMBOLS)
        abort();
    memset(s, 0, sizeof *s);
    s->c.verb = verb;
    s->c.scope = text(pool);
    s->c.arg.number.number = text(number);
    s->c.given = USHER_GIVEN_NOW;
    s->c.now_ms = later;
    return s;
}

static void lease_of(struct gen_command *s, int64_t lease)
{
    if (lease < 0)
        return;
    s->c.given |= USHER_GIVEN_LEASE;
    s->c.arg.number.lease_ms = lease;
}

static void tokens_of(struct gen_command *s, uint64_t off)
{
    s->c.given |= USHER_GIVEN_TOKEN;
    s->c.arg.number.token = off;
    s->token_of_hold = true;
}

static void alphabet_make(struct alphabet *w, int64_t later)
{
    static const char *const numbers[] = { NULL, "a", "b" };
    static const char *const owners[] = { NULL, "x", "y" };
    const struct profile *p = w->profile;
    struct gen_command *s;

    for (unsigned i = 1; i < 3; i++) {
        s = symbol(w, USHER_NUMBER_ADD, numbers[i], later);
        if (i == 1)
            s->c.arg.number.group = text("g"); /* the other one has none */
        (void)symbol(w, USHER_NUMBER_DEL, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_REG, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_UNREG, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_SHOW, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_LIFT, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_FREE, numbers[i], later);
        symbol(w, USHER_NUMBER_FREE, numbers[i], later)->c.arg.number.owner = text("x");
        for (unsigned k = 0; k < p->n_rests; k++)
            for (unsigned t = 0; t < 3; t++) { /* without a token, right, wrong */
                s = symbol(w, USHER_NUMBER_HANGUP, numbers[i], later);
                if (t > 0)
                    tokens_of(s, t - 1);
                if (p->rests[k] >= 0) {
                    s->c.given |= USHER_GIVEN_REST;
                    s->c.arg.number.rest_ms = p->rests[k];
                }
            }
        for (unsigned k = 0; k < p->n_leases; k++) {
            s = symbol(w, USHER_NUMBER_RENEW, numbers[i], later);
            tokens_of(s, 0);
            lease_of(s, p->leases[k]);
        }
        tokens_of(symbol(w, USHER_NUMBER_RENEW, numbers[i], later), 1);
        if (p->moves) {
            symbol(w, USHER_NUMBER_MOVE, numbers[i], later)->c.arg.number.group = text("g");
            (void)symbol(w, USHER_NUMBER_MOVE, numbers[i], later);
        }
    }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned o = 0; o < 3; o++)
            for (unsigned k = 0; k < p->n_leases; k++) {
                s = symbol(w, USHER_NUMBER_CALL, numbers[i], later);
                s->c.arg.number.owner = text(owners[o]);
                lease_of(s, p->leases[k]);
            }
    if (p->groups) {
        symbol(w, USHER_NUMBER_CALL, NULL, later)->c.arg.number.group = text("g");
        symbol(w, USHER_NUMBER_CALL, NULL, later)->c.arg.number.group = text("h,g");
        symbol(w, USHER_NUMBER_CALL, NULL, later)->c.arg.number.group = text("g,*");
        symbol(w, USHER_NUMBER_CALL, NULL, later)->c.arg.number.group = text("h");
    }
    if (p->sticky) {
        symbol(w, USHER_NUMBER_CALL, NULL, later)->c.arg.number.sticky = text("p");
        symbol(w, USHER_NUMBER_CALL, NULL, later)->c.arg.number.sticky = text("q");
        s = symbol(w, USHER_NUMBER_CALL, NULL, later);
        s->c.arg.number.sticky = text("p");
        s->c.arg.number.group = text("g");
        symbol(w, USHER_NUMBER_CALL, "b", later)->c.arg.number.sticky = text("p");
    }
    s = symbol(w, USHER_NUMBER_FREE, NULL, later);
    s->c.given |= USHER_GIVEN_ALL;
    s->c.arg.number.all = 1;
    symbol(w, USHER_NUMBER_FREE, NULL, later)->c.arg.number.owner = text("x");
    symbol(w, USHER_NUMBER_FREE, NULL, later)->c.arg.number.owner = text("y");
    (void)symbol(w, USHER_NUMBER_SWEEP, NULL, later);
    s = symbol(w, USHER_NUMBER_SWEEP, NULL, later);
    s->c.given |= USHER_GIVEN_MAX;
    s->c.arg.number.max = 1;
    (void)symbol(w, USHER_NUMBER_LIST, NULL, later);
    symbol(w, USHER_NUMBER_LIST, NULL, later)->c.arg.number.owner = text("x");
    symbol(w, USHER_NUMBER_LIST, NULL, later)->c.arg.number.owner = text("y");
    s = symbol(w, USHER_NUMBER_LIST, NULL, later);
    s->c.given |= USHER_GIVEN_STATE | USHER_GIVEN_MAX;
    s->c.arg.number.state = USHER_NUMBER_STATE_IDLE_UP;
    s->c.arg.number.max = 1;
    (void)symbol(w, USHER_NUMBER_STATS, NULL, later);
    (void)symbol(w, USHER_NUMBER_SET, NULL, later);
    for (unsigned k = 0; k < p->n_longest; k++) {
        s = symbol(w, USHER_NUMBER_SET, NULL, later);
        s->c.given |= USHER_GIVEN_LEASE_MAX;
        s->c.arg.number.lease_max_ms = p->longest[k];
    }
    for (int64_t mode = 1; mode <= 3 && p->modes; mode++) {
        s = symbol(w, USHER_NUMBER_SET, NULL, later);
        s->c.given |= USHER_GIVEN_MODE;
        s->c.arg.number.mode = mode;
    }
}

static size_t alphabet(unsigned i, void *ret)
{
    struct alphabet w = { &profiles[i], ret, 0 };

    for (unsigned k = 0; k < profiles[i].n_later; k++)
        alphabet_make(&w, profiles[i].later[k]);
    return w.n;
}

static size_t first(unsigned i, struct usher_operation ret[EXHAUSTIVE_FIRST])
{
    const struct profile *p = &profiles[i];
    struct usher_operation c;
    struct usher_number_args *a = &c.arg.number;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_SET;
    c.scope = text(pool);
    c.now_ms = START;
    c.given = USHER_GIVEN_NOW | USHER_GIVEN_ORDER;
    a->order = p->set.order != 0 ? p->set.order : USHER_NUMBER_ORDER_LONGEST_IDLE;
    a->lease_ms = p->set.lease_ms;
    a->rest_ms = p->set.rest_ms;
    a->daily = p->set.daily;
    a->zone_min = p->set.zone_min;
    a->strict = p->set.strict;
    a->sticky_ms = p->set.sticky_ms;
    a->sticky_max = p->set.sticky_max;
    a->lease_max_ms = p->set.lease_max_ms;
    if (a->lease_ms != 0)
        c.given |= USHER_GIVEN_LEASE;
    if (a->rest_ms != 0)
        c.given |= USHER_GIVEN_REST;
    if (a->daily != 0)
        c.given |= USHER_GIVEN_DAILY;
    if (a->zone_min != 0)
        c.given |= USHER_GIVEN_ZONE;
    if (a->strict != 0)
        c.given |= USHER_GIVEN_STRICT;
    if (a->sticky_max != 0)
        c.given |= USHER_GIVEN_STICKY_MS | USHER_GIVEN_STICKY_MAX;
    if (a->lease_max_ms != 0)
        c.given |= USHER_GIVEN_LEASE_MAX;
    ret[0] = c;
    return 1;
}

/* ---- states ------------------------------------------------------------------------ */

static const struct model_pool *the_pool(const struct model *m)
{
    return model_pool(m, pool, strlen(pool));
}

/* In random order the next number depends on versions as such, so that a state may continue in
 * more than one way; the first one found is followed. */
static bool ahead(const struct model_pool *p, const struct model_number *a,
                  const struct model_number *b)
{
    if (p->set.order == USHER_NUMBER_ORDER_RANDOM && !a->busy && !b->busy)
        return usher__draw(a->order) < usher__draw(b->order);
    return a->order < b->order;
}

/* Return the age of a hold in a pool that may have a lease-max: only the time until its end
 * matters, so larger ages are equal. */
static int64_t lasted(const struct profile *p, const struct model_number *k, int64_t clock)
{
    int64_t most = p->set.lease_max_ms;

    for (unsigned i = 0; i < p->n_longest; i++)
        most = p->longest[i] > most ? p->longest[i] : most;
    if (!k->busy || most == 0)
        return 0;
    return clock - k->used < most ? clock - k->used : most;
}

/* Write the distinguishing parts of a state as text.  The two owners are interchangeable. */
static void key(unsigned i, const void *m, char to[EXHAUSTIVE_KEY])
{
    const struct model_pool *p = the_pool(m);
    const struct model_number *both[2] = { model_number(p, "a", 1), model_number(p, "b", 1) };
    int64_t day = usher__day(p->clock, p->set.zone_min);
    int n = 0;

    for (unsigned who = 0; who < 2; who++) {
        const struct model_number *k = both[who];
        int64_t calls = k != NULL && k->day == day ? k->calls : 0;
        int owner = k == NULL || k->owner.size == 0 ? 0
                    : who == 1 && both[0] != NULL && both[0]->owner.size != 0 &&
                            both[0]->owner.data[0] != k->owner.data[0]
                        ? 2
                        : 1;

        if (k == NULL)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "- ");
        else
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n,
                          "%d%d%s until %" PRId64 " lease %" PRId64 " calls %" PRId64 "; ",
                          (int)model_state(k), owner,
                          k->aside && !k->busy && k->up && k->until == 0 ? " aside" : "",
                          k->until == 0 ? 0 : k->until - p->clock, k->lease,
                          calls < p->set.daily ? calls : p->set.daily);
        if (k != NULL && lasted(&profiles[i], k, p->clock) != 0)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "for %" PRId64 " ",
                          lasted(&profiles[i], k, p->clock));
        if (k != NULL && profiles[i].moves)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "of %.*s ", (int)k->group.size,
                          k->group.data);
    }
    if (profiles[i].modes)
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "mode %d ", (int)p->set.mode);
    if (profiles[i].n_longest != 0)
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "at most %" PRId64 " ",
                      p->set.lease_max_ms);
    if (both[0] != NULL && both[1] != NULL)
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, "%d", ahead(p, both[0], both[1]));
    if (p->set.daily != 0)
        n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " at %" PRId64, p->clock % DAY);
    for (size_t k = 0; k < p->n_past && p->set.daily != 0; k++)
        if (p->past[k].day == day)
            n +=
                snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " %s had %" PRId64, p->past[k].id.data,
                         p->past[k].calls < p->set.daily ? p->past[k].calls : p->set.daily);
    for (size_t k = 0; k < p->n_stickies; k++)
        if (p->stickies[k].until > p->clock)
            n += snprintf(to + n, EXHAUSTIVE_KEY - (size_t)n, " %s %s %" PRId64,
                          p->stickies[k].peer.data, p->stickies[k].number.data,
                          p->stickies[k].until - p->clock);
    if (n >= EXHAUSTIVE_KEY)
        abort();
}

/* ---- invariants -------------------------------------------------------------------- */

/* `lease-max` has ended the hold on @n. */
static bool is_limited(const struct model_pool *p, const struct model_number *n, int64_t now)
{
    int64_t most = p->set.lease_max_ms;

    return most != 0 && n->used + most <= now;
}

static bool free_before(const struct model_pool *p, const struct usher_result *r, int64_t now)
{
    const struct model_number *n = model_number(p, r->of.number.number, r->of.number.number_size);

    /* up, and neither a hold nor a rest that goes on */
    return n != NULL && n->up &&
           ((n->until == 0 ? !n->busy : n->until <= now) || (n->busy && is_limited(p, n, now)));
}

static const char *counts_fault(const struct model *m)
{
    struct usher_operation c;
    struct usher_result list, stats;
    struct model *copy = model_copy(m);
    struct usher_number_result_statistics s;
    const struct usher_number_result_statistics *t = &stats.of.number.of.stats;

    memset(&s, 0, sizeof s);
    memset(&c, 0, sizeof c);
    c.scope = text(pool);
    c.given = USHER_GIVEN_NOW;
    c.now_ms = the_pool(m)->clock;
    c.verb = USHER_NUMBER_LIST;
    model_execute(copy, &c, &list);
    c.verb = USHER_NUMBER_STATS;
    model_execute(copy, &c, &stats);
    for (size_t i = 0; i < list.of.number.n_rows; i++) {
        const struct usher_number_result_row *row = &list.of.number.rows[i];

        s.total++;
        s.idle_up += row->state == USHER_NUMBER_STATE_IDLE_UP;
        s.idle_down += row->state == USHER_NUMBER_STATE_IDLE_DOWN;
        s.busy_up += row->state == USHER_NUMBER_STATE_BUSY_UP;
        s.busy_down += row->state == USHER_NUMBER_STATE_BUSY_DOWN;
        s.resting += row->resting;
        s.capped += row->capped && !row->resting;
    }
    model_reply_done(&list);
    model_close(copy);
    return s.total == t->total && s.idle_up == t->idle_up && s.idle_down == t->idle_down &&
                   s.busy_up == t->busy_up && s.busy_down == t->busy_down &&
                   s.resting == t->resting && s.capped == t->capped
               ? NULL
               : "counts";
}

/* As many, and none has changed. */
static bool same_numbers(const struct model_pool *p, const struct model_pool *q)
{
    return p->n_numbers == 0 ||
           memcmp(q->numbers, p->numbers, p->n_numbers * sizeof *p->numbers) == 0;
}

/* It was called or renewed just now, or asked for again: by then it is over. */
static bool ends_in_time(const struct model_pool *p, const struct usher_result *r, int64_t now)
{
    const struct model_number *n = model_number(p, r->of.number.number, r->of.number.number_size);
    int64_t most = p->set.lease_max_ms;

    if (most == 0 || n == NULL || !n->busy)
        return most == 0;
    return r->of.number.until_ms > now && r->of.number.until_ms <= n->used + most;
}

static const char *fault(const struct exhaustive_step *s)
{
    const struct model_pool *p = the_pool(s->before), *q = the_pool(s->after);
    enum usher_verb verb = s->c->verb;

    if (s->heard->n == 0 && (q->clock != p->clock || q->n_numbers != p->n_numbers ||
                             q->n_stickies != p->n_stickies || !same_numbers(p, q)))
        return "version: it changed something without a notice";
    if ((verb == USHER_NUMBER_SHOW || verb == USHER_NUMBER_LIST || verb == USHER_NUMBER_STATS) &&
        s->heard->n != 0)
        return "read";
    if (verb == USHER_NUMBER_CALL && s->r->status == USHER_OK) {
        if (p->set.mode != USHER_SCOPE_MODE_OPEN)
            return "mode";
        if (!free_before(p, s->r, s->c->now_ms))
            return "free";
        if (s->r->of.number.token <= p->version)
            return "token";
    }
    if ((verb == USHER_NUMBER_CALL && s->r->status == USHER_OK) ||
        (verb == USHER_NUMBER_RENEW && USHER_IS_DONE(s->r->status)))
        if (!ends_in_time(q, s->r, q->clock))
            return "longest";
    return counts_fault(s->after);
}

/* ---- the noun ---------------------------------------------------------------------- */

static struct usher_operation resolve(const void *model, void *command)
{
    return gen_resolve(command, model);
}

static void now(const void *model, uint64_t *ret_version, int64_t *ret_clock)
{
    *ret_version = the_pool(model)->version;
    *ret_clock = the_pool(model)->clock;
}

static bool by_itself(enum usher_verb verb)
{
    return verb == USHER_NUMBER_EXPIRE;
}

static struct usher_operation look(unsigned i)
{
    struct usher_operation c;

    (void)i;
    memset(&c, 0, sizeof c);
    c.scope = text(pool);
    c.verb = USHER_NUMBER_LIST;
    return c;
}

int main(int argc, char **argv)
{
    static const char *names[PROFILES];
    static const struct exhaustive numbers = {
        .name = "exhaustive",
        .model = &number_noun,
        .worlds = names,
        .n_worlds = PROFILES,
        .seconds_sqlite = 20,
        .seconds_redis = 40,
        .first = first,
        .alphabet = alphabet,
        .resolve = resolve,
        .now = now,
        .key = key,
        .by_itself = by_itself,
        .fault = fault,
        .look = look,
    };

    for (size_t i = 0; i < PROFILES; i++)
        names[i] = profiles[i].name;
    return exhaustive_main(&numbers, argc, argv);
}
