/* SPDX-License-Identifier: MIT */
/*
 * Every reachable state of small worlds (one pool, two numbers, two owners), and every
 * command from each.
 *
 * The states are found breadth first on the model.  Two states are the same when they look
 * the same from their own clock: deadlines count from it, of versions only the order
 * matters, of calls only how many are left today (see same_state()).  Each state keeps the
 * shortest way there.
 *
 * On the model each command must keep the invariants:
 *   model     model_fault() finds nothing
 *   version   grows by one for each notice, and nothing else changes it
 *   refusal   an answer other than `ok` leaves all as it is, but for expiries and rests
 *   read      a read changes nothing at all
 *   free      a call gets a number that was idle, up and rested
 *   token     a call's token is larger than every token before it
 *   counts    `stats` counts what `list` lists
 * On a store the way to a state is walked in a fresh pool, then command after command that
 * has not been tried in the state that the last one led to; each answer and the list behind
 * each change must be the model's, the notices dense, and the audits clean.  Many commands on
 * several pools go into one usher_execute(), every second time with a watcher.
 *
 * Memory does all.  SQLite and Redis do what they can in their time, all with USHER_LONG=1.
 */
#include "config.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <usher/usher.h>

#include "core/number.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif
#include "model/compare.h"
#include "model/gen.h"
#include "model/model.h"

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define U (6 * HOUR)
#define START (19000 * DAY + 2 * U)

#define COMMANDS 512 /* of the alphabet, at most */
#define BATCH 512
#define POOLS_OPEN 2000 /* pools in a store before it is emptied */
#define KEY 256
#define TOUR 200
#define SECONDS_SQLITE 20
#define SECONDS_REDIS 75

/* ---- worlds ------------------------------------------------------------------------ */

struct profile {
    const char *name;
    int64_t later[3]; /* commands come so much later than the last change */
    unsigned n_later;
    struct usher_number_settings set; /* what is not 0 is set */
    int64_t leases[2];                /* that calls and renewals name; -1: none */
    unsigned n_leases;
    int64_t rests[2]; /* that hangups name; -1: none */
    unsigned n_rests;
    bool groups, sticky;
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
        .set = { .order = USHER_ORDER_MOST_RECENT },
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
        .set = { .order = USHER_ORDER_RANDOM, .lease_ms = U },
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
};
#define PROFILES (sizeof profiles / sizeof *profiles)

/* A command of the alphabet: its time counts from the clock, its token from that of its
 * number. */
struct symbol {
    struct usher_command c;
    bool token;
};

struct state {
    struct model *m;
    size_t from;             /* the state before; SIZE_MAX: the first */
    struct usher_command by; /* the command that led here */
    char key[KEY];
    bool *changes; /* by symbol: the command changes something */
};

struct world {
    const struct profile *profile;
    struct symbol alphabet[COMMANDS];
    size_t n_symbols;
    struct state *states;
    size_t n, room;
    size_t *table, table_size; /* of indices + 1, by key */
    uint64_t commands;         /* tried on the model */
};

static struct world worlds[PROFILES];

static const char pool[] = "desk";

static struct usher_text text(const char *s)
{
    struct usher_text t = { s, s != NULL ? strlen(s) : 0 };

    return t;
}

static struct symbol *symbol(struct world *w, enum usher_verb verb, const char *number,
                             int64_t later)
{
    struct symbol *s = &w->alphabet[w->n_symbols++];

    if (w->n_symbols > COMMANDS)
        abort();
    memset(s, 0, sizeof *s);
    s->c.verb = verb;
    s->c.scope = text(pool);
    s->c.arg.number.number = text(number);
    s->c.given = USHER_GIVEN_NOW;
    s->c.now_ms = later;
    return s;
}

static void lease_of(struct symbol *s, int64_t lease)
{
    if (lease < 0)
        return;
    s->c.given |= USHER_GIVEN_LEASE;
    s->c.arg.number.lease_ms = lease;
}

static void tokens_of(struct symbol *s, uint64_t off)
{
    s->c.given |= USHER_GIVEN_TOKEN;
    s->c.arg.number.token = off;
    s->token = true;
}

static void alphabet_make(struct world *w, int64_t later)
{
    static const char *const numbers[] = { NULL, "a", "b" };
    static const char *const owners[] = { NULL, "x", "y" };
    const struct profile *p = w->profile;
    struct symbol *s;

    for (unsigned i = 1; i < 3; i++) {
        s = symbol(w, USHER_NUMBER_ADD, numbers[i], later);
        if (i == 1)
            s->c.arg.number.group = text("g"); /* the other one has none */
        (void)symbol(w, USHER_NUMBER_DEL, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_REG, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_UNREG, numbers[i], later);
        (void)symbol(w, USHER_NUMBER_SHOW, numbers[i], later);
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
    (void)symbol(w, USHER_NUMBER_FREE, NULL, later);
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
    s->c.arg.number.state = USHER_NUMBER_IDLE_UP;
    s->c.arg.number.max = 1;
    (void)symbol(w, USHER_NUMBER_STATS, NULL, later);
    (void)symbol(w, USHER_NUMBER_SET, NULL, later);
}

static struct usher_command first_command(const struct profile *p)
{
    struct usher_command c;
    struct usher_number_args *a = &c.arg.number;

    memset(&c, 0, sizeof c);
    c.verb = USHER_NUMBER_SET;
    c.scope = text(pool);
    c.now_ms = START;
    c.given = USHER_GIVEN_NOW | USHER_GIVEN_ORDER;
    a->order = p->set.order;
    a->lease_ms = p->set.lease_ms;
    a->rest_ms = p->set.rest_ms;
    a->daily = p->set.daily;
    a->zone_min = p->set.zone_min;
    a->strict = p->set.strict;
    a->sticky_ms = p->set.sticky_ms;
    a->sticky_max = p->set.sticky_max;
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
    return c;
}

/* ---- states ------------------------------------------------------------------------ */

static const struct model_pool *the_pool(const struct model *m)
{
    return model_pool(m, pool, strlen(pool));
}

/* In random order who is next depends on versions as such, so that a state may go on in more
 * than one way; the way that was found first is followed. */
static bool ahead(const struct model_pool *p, const struct model_number *a,
                  const struct model_number *b)
{
    if (p->set.order == USHER_ORDER_RANDOM && !a->busy && !b->busy)
        return usher__draw(a->order) < usher__draw(b->order);
    return a->order < b->order;
}

/* What tells states apart, as text.  It does not matter which of the owners is which. */
static void same_state(const struct model *m, char key[KEY])
{
    const struct model_pool *p = the_pool(m);
    const struct model_number *both[2] = { model_number(p, "a", 1), model_number(p, "b", 1) };
    int64_t day = usher__day(p->clock, p->set.zone_min);
    int n = 0;

    for (unsigned i = 0; i < 2; i++) {
        const struct model_number *k = both[i];
        int64_t calls = k != NULL && k->day == day ? k->calls : 0;
        int owner = k == NULL || k->owner.size == 0 ? 0
                    : i == 1 && both[0] != NULL && both[0]->owner.size != 0 &&
                            both[0]->owner.data[0] != k->owner.data[0]
                        ? 2
                        : 1;

        if (k == NULL)
            n += snprintf(key + n, KEY - (size_t)n, "- ");
        else
            n += snprintf(key + n, KEY - (size_t)n,
                          "%d%d until %" PRId64 " lease %" PRId64 " calls %" PRId64 "; ",
                          (int)model_state(k), owner, k->until == 0 ? 0 : k->until - p->clock,
                          k->lease, calls < p->set.daily ? calls : p->set.daily);
    }
    if (both[0] != NULL && both[1] != NULL)
        n += snprintf(key + n, KEY - (size_t)n, "%d", ahead(p, both[0], both[1]));
    if (p->set.daily != 0)
        n += snprintf(key + n, KEY - (size_t)n, " at %" PRId64, p->clock % DAY);
    for (size_t i = 0; i < p->n_stickies; i++)
        if (p->stickies[i].until > p->clock)
            n += snprintf(key + n, KEY - (size_t)n, " %s %s %" PRId64, p->stickies[i].peer.data,
                          p->stickies[i].number.data, p->stickies[i].until - p->clock);
    assert_true(n < KEY);
}

static size_t *place(const struct world *w, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t i;

    for (const char *p = key; *p != '\0'; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
    for (i = hash % w->table_size; w->table[i] != 0; i = (i + 1) % w->table_size)
        if (strcmp(w->states[w->table[i] - 1].key, key) == 0)
            break;
    return &w->table[i];
}

/* Takes @m if the state is new, frees it if not. */
static void reached(struct world *w, struct model *m, size_t from, const struct usher_command *by)
{
    char key[KEY];
    size_t *at;

    same_state(m, key);
    at = place(w, key);
    if (*at != 0) {
        model_close(m);
        return;
    }
    assert_true(w->n < w->table_size / 2);
    if (w->n == w->room) {
        w->room = w->room * 2 + 256;
        w->states = realloc(w->states, w->room * sizeof *w->states);
        assert_non_null(w->states);
    }
    w->states[w->n].m = m;
    w->states[w->n].from = from;
    w->states[w->n].by = *by;
    memcpy(w->states[w->n].key, key, KEY);
    *at = ++w->n;
}

static struct usher_command resolved(const struct symbol *s, const struct model *m)
{
    struct gen_command q = { s->c, s->token };
    struct usher_command c = gen_resolve(&q, m);

    c.now_ms += the_pool(m)->clock;
    return c;
}

/* ---- invariants of the model ------------------------------------------------------- */

struct heard {
    unsigned n, of_their_own; /* notices; of those, expiries and rests */
    uint64_t last;
    bool dense;
};

static void hear(void *payload, const struct usher_notice *notice)
{
    struct heard *h = payload;

    h->n++;
    h->of_their_own += notice->verb == USHER_NUMBER_EXPIRE || notice->verb == USHER_NUMBER_REST;
    h->dense &= h->last == 0 || notice->version == h->last + 1;
    h->last = notice->version;
}

static void print_way(const struct world *w, size_t i, const struct usher_command *c)
{
    size_t way[64], n = 0;

    for (; i != SIZE_MAX && n < 64; i = w->states[i].from)
        way[n++] = i;
    (void)fprintf(stderr, "\n%s:\n", w->profile->name);
    while (n-- > 0) {
        (void)fprintf(stderr, "  ");
        gen_print(stderr, &w->states[way[n]].by);
        (void)fprintf(stderr, "\n");
    }
    (void)fprintf(stderr, "  ");
    gen_print(stderr, c);
    (void)fprintf(stderr, "\n");
}

static bool free_before(const struct model_pool *p, const struct usher_reply *r, int64_t now)
{
    const struct model_number *n = model_number(p, r->of.number.number, r->of.number.number_size);

    /* up, and neither a hold nor a rest that goes on */
    return n != NULL && n->up && (n->until == 0 ? !n->busy : n->until <= now);
}

static const char *counts_fault(const struct model *m)
{
    struct usher_command c;
    struct usher_reply list, stats;
    struct model *copy = model_copy(m);
    struct usher_number_stats s;
    const struct usher_number_stats *t = &stats.of.number.of.stats;

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
        const struct usher_number_row *row = &list.of.number.rows[i];

        s.total++;
        s.idle_up += row->state == USHER_NUMBER_IDLE_UP;
        s.idle_down += row->state == USHER_NUMBER_IDLE_DOWN;
        s.busy_up += row->state == USHER_NUMBER_BUSY_UP;
        s.busy_down += row->state == USHER_NUMBER_BUSY_DOWN;
        s.resting += row->resting;
    }
    model_reply_done(&list);
    model_close(copy);
    return s.total == t->total && s.idle_up == t->idle_up && s.idle_down == t->idle_down &&
                   s.busy_up == t->busy_up && s.busy_down == t->busy_down && s.resting == t->resting
               ? NULL
               : "counts";
}

/* As many, and none has changed. */
static bool same_numbers(const struct model_pool *p, const struct model_pool *q)
{
    return p->n_numbers == 0 ||
           memcmp(q->numbers, p->numbers, p->n_numbers * sizeof *p->numbers) == 0;
}

/* NULL, or the invariant that the command from @before to @after breaks. */
static const char *step_fault(const struct model *before, const struct model *after,
                              const struct usher_command *c, const struct usher_reply *r,
                              const struct heard *h)
{
    const struct model_pool *p = the_pool(before), *q = the_pool(after);
    const char *fault = model_fault(after);

    if (fault != NULL)
        return fault;
    if (q->version != p->version + h->n || !h->dense || r->version != q->version ||
        (h->n > 0 && h->last != q->version))
        return "version";
    if (h->n == 0 && (q->clock != p->clock || q->n_numbers != p->n_numbers ||
                      q->n_stickies != p->n_stickies || !same_numbers(p, q)))
        return "version: it changed something without a notice";
    if (r->status != USHER_OK && h->n != h->of_their_own)
        return "refusal";
    if ((c->verb == USHER_NUMBER_SHOW || c->verb == USHER_NUMBER_LIST ||
         c->verb == USHER_NUMBER_STATS) &&
        h->n != 0)
        return "read";
    if (c->verb == USHER_NUMBER_CALL && r->status == USHER_OK) {
        if (!free_before(p, r, c->now_ms))
            return "free";
        if (r->of.number.token <= p->version)
            return "token";
    }
    return counts_fault(after);
}

static void explore(struct world *w, const struct profile *profile)
{
    struct model *m = model_open();
    struct usher_command c;
    struct usher_reply r;

    w->profile = profile;
    w->table_size = 1 << 18;
    w->table = calloc(w->table_size, sizeof *w->table);
    assert_non_null(w->table);
    for (unsigned i = 0; i < profile->n_later; i++)
        alphabet_make(w, profile->later[i]);
    c = first_command(profile);
    model_execute(m, &c, &r);
    assert_int_equal(r.status, USHER_OK);
    reached(w, m, SIZE_MAX, &c);
    for (size_t i = 0; i < w->n; i++) {
        w->states[i].changes = calloc(w->n_symbols, sizeof *w->states[i].changes);
        assert_non_null(w->states[i].changes);
        for (size_t k = 0; k < w->n_symbols; k++) {
            struct heard h = { 0, 0, 0, true };
            const char *fault;

            m = model_copy(w->states[i].m);
            m->notify = hear;
            m->payload = &h;
            c = resolved(&w->alphabet[k], m);
            model_execute(m, &c, &r);
            m->notify = NULL;
            fault = step_fault(w->states[i].m, m, &c, &r, &h);
            model_reply_done(&r);
            w->commands++;
            if (fault != NULL) {
                print_way(w, i, &c);
                fail_msg("the model breaks: %s", fault);
            }
            w->states[i].changes[k] = h.n > 0;
            if (h.n > 0)
                reached(w, m, i, &c);
            else
                model_close(m);
        }
    }
}

static void the_model_keeps_its_invariants(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROFILES; i++)
        print_message("%s: %zu states, %" PRIu64 " commands\n", profiles[i].name, worlds[i].n,
                      worlds[i].commands);
}

/* ---- stores ------------------------------------------------------------------------ */

struct store {
    const char *name;
    bool (*url)(char *to, size_t size); /* of a store that is empty */
    double seconds;                     /* 0: as long as it takes */
};

/* Commands on their way to a store, with what they should be answered. */
struct runner {
    const struct store *store;
    struct usher_engine *e;
    unsigned pools; /* since the store was empty */
    char names[BATCH][16];
    struct usher_command c[BATCH];
    struct usher_reply want[BATCH], got[BATCH];
    bool check[BATCH];
    unsigned flushes;              /* every second one has a watcher */
    uint64_t versions[POOLS_OPEN]; /* by pool, of its last notice in this flush; 0: none */
    uint64_t notices;
    size_t n;
    char name[16];
    /* for messages */
    const struct world *world;
    size_t state;
};

/* Notices of a pool come in order, and none is left out. */
static void hear_in_order(void *payload, const struct usher_notice *n)
{
    struct runner *r = payload;
    unsigned i = 0; /* of a pool "p7" */

    for (size_t k = 1; k < n->scope.size; k++)
        i = i * 10 + (unsigned)(n->scope.data[k] - '0');
    assert_true(i < POOLS_OPEN);
    if (r->versions[i] != 0 && n->version != r->versions[i] + 1)
        fail_msg("%s: a notice of version %" PRIu64 " follows that of %" PRIu64, r->store->name,
                 n->version, r->versions[i]);
    r->versions[i] = n->version;
    r->notices++;
}

static void runner_flush(struct runner *r)
{
    struct usher_watch *watch = NULL;
    bool equal = true;

    if (r->n == 0)
        return;
    if (r->flushes++ % 2 == 0) {
        memset(r->versions, 0, sizeof r->versions);
        assert_int_equal(usher_watch(r->e, USHER_NUMBER, NULL, hear_in_order, r, &watch), USHER_OK);
    }
    if (usher_execute(r->e, r->c, r->got, r->n) != USHER_OK)
        fail_msg("%s: %s", r->store->name, usher_message(r->e));
    if (watch != NULL)
        usher_unwatch(r->e, watch);
    for (size_t i = 0; i < r->n; i++) {
        if (equal && r->check[i]) {
            equal = replies_equal(r->c[i].verb, &r->want[i], &r->got[i], NULL);
            if (!equal) {
                (void)fprintf(stderr, "\n%s, %s, about state %zu:\n", r->store->name,
                              r->world->profile->name, r->state);
                for (size_t k = 0; k <= i; k++)
                    if (r->c[k].scope.size == r->c[i].scope.size &&
                        memcmp(r->c[k].scope.data, r->c[i].scope.data, r->c[i].scope.size) == 0) {
                        (void)fprintf(stderr, "  ");
                        gen_print(stderr, &r->c[k]);
                        (void)fprintf(stderr, "    # %s\n", usher_status_word(r->got[k].status));
                    }
                (void)replies_equal(r->c[i].verb, &r->want[i], &r->got[i], stderr);
                (void)fprintf(stderr, "  the model:\n");
                reply_print(stderr, r->c[i].verb, &r->want[i]);
                (void)fprintf(stderr, "  %s:\n", r->store->name);
                reply_print(stderr, r->c[i].verb, &r->got[i]);
            }
        }
        usher_reply_done(&r->got[i]);
        if (r->check[i])
            model_reply_done(&r->want[i]);
    }
    r->n = 0;
    if (!equal)
        fail();
}

static void audit_line(void *payload, const char *line)
{
    (void)payload;
    (void)fprintf(stderr, "%s\n", line);
}

static void runner_close(struct runner *r)
{
    uint64_t faults;

    if (r->e == NULL)
        return;
    runner_flush(r);
    assert_int_equal(usher_audit(r->e, audit_line, NULL, &faults), USHER_OK);
    assert_int_equal(faults, 0);
    usher_close(r->e);
    r->e = NULL;
}

static void runner_open(struct runner *r)
{
    char url[1200];

    runner_close(r);
    if (!r->store->url(url, sizeof url) || usher_open(url, NULL, &r->e) != USHER_OK)
        fail_msg("%s: %s", r->store->name, usher_message(NULL));
    r->pools = 0;
}

static void runner_pool(struct runner *r)
{
    if (r->e == NULL || r->pools == POOLS_OPEN)
        runner_open(r);
    (void)snprintf(r->name, sizeof r->name, "p%u", r->pools++);
}

/* @m: the command is executed on it, too, and its answer is wanted; NULL: not compared. */
static void runner_push(struct runner *r, const struct usher_command *c, struct model *m)
{
    if (r->n == BATCH)
        runner_flush(r);
    memcpy(r->names[r->n], r->name, sizeof r->name);
    r->c[r->n] = *c;
    r->c[r->n].scope = text(r->names[r->n]);
    r->check[r->n] = m != NULL;
    if (m != NULL)
        model_execute(m, c, &r->want[r->n]);
    r->n++;
}

static void runner_walk(struct runner *r, size_t i)
{
    size_t way[64], n = 0;

    runner_pool(r);
    for (; i != SIZE_MAX; i = r->world->states[i].from) {
        assert_true(n < 64);
        way[n++] = i;
    }
    while (n-- > 0)
        runner_push(r, &r->world->states[way[n]].by, NULL);
}

static void runner_look(struct runner *r, struct model *m)
{
    struct usher_command c;

    memset(&c, 0, sizeof c);
    c.scope = text(pool);
    c.given = USHER_GIVEN_NOW;
    c.now_ms = the_pool(m)->clock;
    c.verb = USHER_NUMBER_LIST;
    runner_push(r, &c, m);
}

/* The commands of a world as they are tried. */
struct trial {
    const struct world *w;
    bool *seen;     /* by state: those that change nothing have been tried */
    size_t *cursor; /* by state: symbols below it that change something have been tried */
    uint64_t tried;
};

/* From state @s on, in one pool: where nobody has been all that changes nothing, then one
 * command that changes something and has not been tried there, and so on from where that
 * leads to. */
static void tour(struct runner *r, struct trial *t, size_t s)
{
    const struct world *w = t->w;
    struct model *m = model_copy(w->states[s].m);
    char key[KEY];
    size_t *at;

    runner_walk(r, s);
    for (unsigned steps = 0; steps < TOUR; steps++) {
        const bool *changes = w->states[s].changes;
        struct usher_command c;

        r->state = s;
        for (size_t k = 0; k < w->n_symbols && !t->seen[s]; k++)
            if (!changes[k]) {
                c = resolved(&w->alphabet[k], m);
                runner_push(r, &c, m);
                t->tried++;
            }
        t->seen[s] = true;
        while (t->cursor[s] < w->n_symbols && !changes[t->cursor[s]])
            t->cursor[s]++;
        if (t->cursor[s] == w->n_symbols)
            break;
        c = resolved(&w->alphabet[t->cursor[s]++], m);
        runner_push(r, &c, m);
        runner_look(r, m);
        t->tried++;
        same_state(m, key);
        at = place(w, key);
        if (*at == 0)
            break; /* random order goes its own ways */
        s = *at - 1;
    }
    model_close(m);
}

static double seconds(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Every command from every state of @w, until @end (0: to the end): how many were tried. */
static uint64_t try_world(struct runner *r, const struct world *w, double end)
{
    struct trial t = { w, calloc(w->n, sizeof *t.seen), calloc(w->n, sizeof *t.cursor), 0 };
    /* a prime that does not divide the number: every state once, in a mixed order */
    size_t stride = w->n % 7919 != 0 ? 7919 : 7907, at = 0;

    assert_non_null(t.seen);
    assert_non_null(t.cursor);
    r->world = w;
    for (size_t i = 0; i < w->n; i++, at = (at + stride) % w->n)
        while (t.cursor[at] < w->n_symbols && (end <= 0 || t.tried == 0 || seconds() < end))
            tour(r, &t, at);
    runner_flush(r);
    free(t.seen);
    free(t.cursor);
    return t.tried;
}

static void try_store(const struct store *store)
{
    struct runner *r = calloc(1, sizeof *r);
    const char *all = getenv("USHER_LONG");
    double start = seconds(), limit = all != NULL && *all == '1' ? 0 : store->seconds;
    uint64_t tried = 0, n = 0;

    assert_non_null(r);
    r->store = store;
    for (size_t k = 0; k < PROFILES; k++) {
        n += worlds[k].commands;
        tried += try_world(r, &worlds[k],
                           limit > 0 ? start + limit * (double)(k + 1) / (double)PROFILES : 0);
    }
    runner_close(r);
    print_message("%s: %" PRIu64 " of %" PRIu64 " commands, %.1f s\n", store->name, tried, n,
                  seconds() - start);
    assert_true(r->notices > 0);
    if (limit <= 0)
        assert_int_equal(tried, n);
    free(r);
}

static bool memory_url(char *to, size_t size)
{
    (void)snprintf(to, size, "memory:");
    return true;
}

static void every_state_in_memory(void **state)
{
    static const struct store store = { "memory", memory_url, 0 };

    (void)state;
    try_store(&store);
}

#ifdef USHER_WITH_SQLITE
static char directory[256];
static unsigned files;

static void file_remove(void)
{
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    char path[300];

    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        (void)snprintf(path, sizeof path, "%s/%u.db%s", directory, files, tails[i]);
        (void)unlink(path);
    }
}

static bool sqlite_url(char *to, size_t size)
{
    file_remove();
    files++;
    (void)snprintf(to, size, "sqlite:%s/%u.db?sync=off", directory, files);
    return true;
}

static void states_in_sqlite(void **state)
{
    static const struct store store = { "sqlite", sqlite_url, SECONDS_SQLITE };

    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/usher-exhaustive-XXXXXX",
                   tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    assert_non_null(mkdtemp(directory));
    try_store(&store);
    file_remove();
    (void)rmdir(directory);
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *server;

static bool redis_url(char *to, size_t size)
{
    char url[REDIS_URL_MAX];

    if (!redis_do_ok(server, "FLUSHALL", NULL))
        return false;
    (void)snprintf(to, size, "%s", redis_server_url(server, url));
    return true;
}

static void states_in_redis(void **state)
{
    static const struct store store = { "redis", redis_url, SECONDS_REDIS };

    (void)state;
    if (server == NULL) {
        if (getenv("USHER_NO_SKIP") != NULL)
            fail_msg("%s", redis_reason());
        print_message("%s\n", redis_reason());
        skip();
    }
    try_store(&store);
}
#endif

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROFILES; i++)
        explore(&worlds[i], &profiles[i]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROFILES; i++) {
        for (size_t k = 0; k < worlds[i].n; k++) {
            model_close(worlds[i].states[k].m);
            free(worlds[i].states[k].changes);
        }
        free(worlds[i].states);
        free(worlds[i].table);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_keeps_its_invariants),
        cmocka_unit_test(every_state_in_memory),
#ifdef USHER_WITH_SQLITE
        cmocka_unit_test(states_in_sqlite),
#endif
#ifdef USHER_WITH_REDIS
        cmocka_unit_test(states_in_redis),
#endif
    };
    int rc;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
#ifdef USHER_WITH_REDIS
    server = redis_server_start(NULL);
#endif
    rc = cmocka_run_group_tests_name("exhaustive", tests, set_up, tear_down);
#ifdef USHER_WITH_REDIS
    redis_server_stop(server);
#endif
    return rc;
}
