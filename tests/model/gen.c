/* SPDX-License-Identifier: MIT */
/* See gen.h.  Probabilities are drawn once a world, so that worlds differ in kind. */
#include "config.h"

#include "model/gen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <usher/command.h>

#include "core/verbs.h"
#include "lib/util.h"

#define DAY INT64_C(86400000)
#define SETTINGS                                                                              \
    (USHER_GIVEN_ORDER | USHER_GIVEN_LEASE | USHER_GIVEN_REST | USHER_GIVEN_DAILY |           \
     USHER_GIVEN_ZONE | USHER_GIVEN_STRICT | USHER_GIVEN_STICKY_MS | USHER_GIVEN_STICKY_MAX | \
     USHER_GIVEN_REQUESTS | USHER_GIVEN_LOG | USHER_GIVEN_LEASE_MAX | USHER_GIVEN_OUTAGE |    \
     USHER_GIVEN_MODE | USHER_GIVEN_PUSH)

/* ---- random numbers ---------------------------------------------------------------- */

void rng_seed(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        r->s[i] = z ^ (z >> 31);
    }
}

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    return rng_next(r) % n;
}

bool rng_chance(struct rng *r, unsigned percent)
{
    return rng_below(r, 100) < percent;
}

/* ---- a world ----------------------------------------------------------------------- */

#define LISTS 24

struct gen {
    struct rng rng;
    struct gen_names pools, numbers, owners, groups, peers, requests, nodes;
    char (*lists)[USHER_LIST_TEXT_MAX + 1]; /* of groups, some of them wrong */
    int64_t now;
    int64_t scale; /* what a step of the clock, a lease and a rest are like */
    unsigned daily, request, sticky, group, owner, given, lease, set, node, longest,
        outage;               /* percents */
    bool big;                 /* more numbers than one command brings up to date */
    bool calm;                /* the clock seldom jumps */
    uint64_t made;            /* commands so far */
    struct gen_command asked; /* the last one with a request id */
    char about[160];
};

/* Names that are easily confused or taken for something else. */
static const char *const odd[] = {
    "a",
    "A",
    "aa",
    "a ",
    " ",
    "0",
    "00",
    "-1",
    "1e3",
    "*",
    "**",
    "a:b",
    ":",
    "|",
    "\"q\"",
    "it's",
    "\\x00",
    "%s%n",
    "$1",
    "=",
    "a=b",
    "#",
    "@",
    "nil",
    "NaN",
    "inf",
    "~",
    "!",
    "/",
    "\xc2\xa0",
    "\xc3\xa9",
    "\xe5\x8f\xb7\xe7\xa0\x81",
    "\xe2\x80\xae",
    "\xef\xbf\xbf",
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbf",
    "\xed\x9f\xbf",
    "\xee\x80\x80",
    "zone",
    "number",
    "meta",
    "idle",
    "due",
    "held",
    "n:1",
    "g:1",
    "v",
    "epoch",
    "version",
    "1234567890123456789",
    ";",
    "'); drop table usher; --",
    "[1]",
    "(",
    "<",
    "\x7e",
    "a\xcc\x81",
    "//",
    "a,b",
};

static void name_make(struct rng *r, char to[USHER_NAME_MAX + 1], const char *kind, unsigned i)
{
    if (rng_chance(r, 70)) {
        (void)snprintf(to, USHER_NAME_MAX + 1, "%s%u", kind, i);
    } else if (rng_chance(r, 90)) {
        const char *name = odd[rng_below(r, sizeof odd / sizeof *odd)];

        (void)snprintf(to, USHER_NAME_MAX + 1, "%s", name);
    } else { /* as long as can be; they differ in the last byte */
        size_t n = 0;

        while (n + 4 < USHER_NAME_MAX) {
            memcpy(to + n, "\xe5\x8f\xb7", 3);
            n += 3;
        }
        while (n < USHER_NAME_MAX)
            to[n++] = (char)('a' + i % 26);
        to[n] = '\0';
    }
}

void gen_names_make(struct rng *r, struct gen_names *names, unsigned n, const char *kind,
                    const char *without)
{
    names->name = calloc(n + 1, sizeof *names->name);
    if (names->name == NULL)
        abort();
    while (names->n < n) {
        char *to = names->name[names->n];
        bool good;

        name_make(r, to, kind, names->n);
        good = to[strcspn(to, without)] == '\0';
        if (strchr(without, ',') != NULL && to[0] != '\0' && to[strlen(to) - 1] == '*')
            good = false;
        for (unsigned i = 0; i < names->n; i++)
            if (strcmp(names->name[i], to) == 0)
                good = false;
        if (good)
            names->n++;
    }
}

static void lists_make(struct gen *g)
{
    struct rng *r = &g->rng;

    g->lists = calloc(LISTS, sizeof *g->lists);
    if (g->lists == NULL)
        abort();
    for (unsigned i = 0; i < LISTS; i++) {
        uint64_t n = 1 + rng_below(r, rng_chance(r, 90) ? 4 : USHER_NUMBER_GROUPS_MAX + 1);

        for (uint64_t k = 0; k < n; k++) {
            size_t have = strlen(g->lists[i]);
            const char *name = rng_chance(r, 25)  ? "*"
                               : rng_chance(r, 8) ? "nobody's"
                                                  : g->groups.name[rng_below(r, g->groups.n)];

            if (have + strlen(name) + 2 > USHER_LIST_TEXT_MAX)
                break;
            (void)snprintf(g->lists[i] + have, USHER_LIST_TEXT_MAX + 1 - have, "%s%s",
                           k > 0 ? "," : "", name);
        }
    }
    (void)strcpy(g->lists[LISTS - 1], "a,,b"); /* an empty group: invalid */
}

struct gen *gen_open(uint64_t seed, unsigned size)
{
    struct gen *g = calloc(1, sizeof *g);
    static const int64_t scales[] = { 1, 1, 10, 10, 1000, 60000, 3600000, DAY };
    static const int64_t starts[] = { 0,
                                      1,
                                      DAY - 1,
                                      INT64_C(951782399999), /* a leap day */
                                      INT64_C(1700000000000),
                                      INT64_C(1700000000000),
                                      INT64_C(1700000000000),
                                      USHER_TIME_MAX - 3 * DAY };
    struct rng *r;

    if (g == NULL)
        abort();
    r = &g->rng;
    rng_seed(r, seed);
    g->big = size > 8;
    if (size == 0) {
        g->big = rng_chance(r, 5);
        size = (unsigned)(g->big ? 150 + rng_below(r, 150) : 1 + rng_below(r, 8));
    }
    gen_names_make(r, &g->pools, (unsigned)(1 + rng_below(r, rng_chance(r, 70) ? 1 : 4)), "pool",
                   "{}");
    gen_names_make(r, &g->numbers, size, "n", "");
    gen_names_make(r, &g->owners, g->big ? size : (unsigned)(1 + rng_below(r, 4)), "owner", "");
    gen_names_make(r, &g->groups, (unsigned)(1 + rng_below(r, 3)), "g", ",:");
    gen_names_make(r, &g->peers, (unsigned)(1 + rng_below(r, 5)), "peer", "");
    gen_names_make(r, &g->requests, (unsigned)(1 + rng_below(r, 12)), "req", "");
    gen_names_make(r, &g->nodes, (unsigned)(1 + rng_below(r, 3)), "node", "");
    lists_make(g);
    g->scale = scales[rng_below(r, sizeof scales / sizeof *scales)];
    g->now = starts[rng_below(r, sizeof starts / sizeof *starts)] + (int64_t)rng_below(r, 3600000);
    g->daily = (unsigned)rng_below(r, 2) * 60;
    g->request = (unsigned)rng_below(r, 3) * 15;
    g->sticky = (unsigned)rng_below(r, 3) * 30;
    g->group = (unsigned)rng_below(r, 3) * 35;
    g->owner = (unsigned)rng_below(r, 4) * 30;
    g->given = (unsigned)rng_below(r, 3) * 15;
    g->lease = (unsigned)rng_below(r, 3) * 30;
    g->set = (unsigned)(1 + rng_below(r, 4));
    g->node = (unsigned)rng_below(r, 3) * 40;
    g->longest = rng_chance(r, 40) ? 60 : 5;
    g->longest = rng_chance(r, 40) ? 60 : 5;
    g->outage = rng_chance(r, 40) ? 60 : 5;
    g->set = 6;
    if (g->big)
        g->lease = 90;
    if (rng_chance(r, 20)) { /* as most pools are: stores have shorter ways for them */
        g->daily = g->request = g->sticky = g->group = g->set = g->node = 0;
        g->owner = 95;
        g->given = 5;
    }
    g->calm = rng_chance(r, 60);
    (void)snprintf(g->about, sizeof g->about,
                   "%u pools, %u numbers, %u owners, %u groups, %u peers, %u request ids, "
                   "a step is about %" PRId64 " ms",
                   g->pools.n, g->numbers.n, g->owners.n, g->groups.n, g->peers.n, g->requests.n,
                   g->scale);
    return g;
}

void gen_close(struct gen *g)
{
    free(g->pools.name);
    free(g->numbers.name);
    free(g->owners.name);
    free(g->groups.name);
    free(g->peers.name);
    free(g->requests.name);
    free(g->nodes.name);
    free(g->lists);
    free(g);
}

const char *gen_about(const struct gen *g)
{
    return g->about;
}

unsigned gen_pools(const struct gen *g)
{
    return g->pools.n;
}

const char *gen_pool(const struct gen *g, unsigned i)
{
    return g->pools.name[i];
}

/* ---- commands ---------------------------------------------------------------------- */

struct usher_text gen_any(struct rng *r, const struct gen_names *names)
{
    return text(names->name[rng_below(r, names->n)]);
}

static struct usher_text any(struct gen *g, const struct gen_names *names)
{
    return gen_any(&g->rng, names);
}

struct usher_text gen_bad(struct rng *r)
{
    static char too_long[USHER_NAME_MAX + 2];
    static const char *const bad[] = {
        "",
        "\x01",
        "\x7f",
        "\xc2\x85",
        "\xc0\x80",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xff",
        "\xe5\x8f",
        "a\nb",
        "a\xf8\x88\x80\x80\x80",
        "\x80",
    };
    struct usher_text wrong = text(bad[rng_below(r, sizeof bad / sizeof *bad)]);

    if (rng_chance(r, 10)) {
        memset(too_long, 'x', sizeof too_long - 1);
        wrong = text(too_long);
    }
    return wrong;
}

static void tick(struct gen *g)
{
    struct rng *r = &g->rng;
    int64_t step = 0;

    if (rng_chance(r, g->big ? 98 : 55))
        step = 0;
    else if (g->big && rng_chance(r, 50))
        step = 6 * g->scale; /* most leases end at once */
    else if (rng_chance(r, 70))
        step = (int64_t)rng_below(r, 3) * g->scale;
    else if (rng_chance(r, 60))
        step = (int64_t)rng_below(r, 5);
    else if (!g->calm || rng_chance(r, 15))
        switch (rng_below(r, 6)) {
        case 0: /* to a midnight somewhere, or about it */
            step = DAY - g->now % DAY + ((int64_t)rng_below(r, 9) - 4) * 1800000 +
                   (int64_t)rng_below(r, 3) - 1;
            break;
        case 1:
            step = 3600000 + (int64_t)rng_below(r, 3) - 1; /* the age of request ids */
            break;
        case 2:
            step = (int64_t)rng_below(r, 9 * (uint64_t)DAY);
            break;
        default:
            step = -(int64_t)rng_below(r, 20) * g->scale;
        }
    g->now += step;
    if (g->now > USHER_TIME_MAX)
        g->now = USHER_TIME_MAX;
    if (g->now < 0)
        g->now = 0;
}

static int64_t span(struct gen *g)
{
    struct rng *r = &g->rng;

    if (rng_chance(r, 3))
        return rng_chance(r, 50) ? USHER_SPAN_MAX : USHER_SPAN_MAX - 1;
    if (rng_chance(r, 15))
        return (int64_t)rng_below(r, 2);
    return (int64_t)rng_below(r, 6) * g->scale;
}

/* Return a lease: often for ever, if lease-max ends the hold. */
static int64_t lease(struct gen *g)
{
    return rng_chance(&g->rng, g->longest / 2) ? 0 : span(g);
}

static void give_token(struct gen *g, struct gen_command *q)
{
    struct rng *r = &g->rng;
    static const uint64_t values[] = {
        0,
        1,
        (UINT64_C(1) << 53) - 1,
        UINT64_C(1) << 53,
        (UINT64_C(1) << 53) + 1,
        INT64_MAX,
        (uint64_t)INT64_MAX + 1,
        UINT64_MAX,
        UINT64_MAX - 1,
    };

    q->c.given |= USHER_GIVEN_TOKEN;
    if (rng_chance(r, 12)) {
        q->c.arg.number.token = values[rng_below(r, sizeof values / sizeof *values)];
        return;
    }
    q->token_of_hold = true;
    if (rng_chance(r, 20)) { /* near it, or right but for what a double loses */
        static const uint64_t off[] = { UINT64_MAX,        1,
                                        UINT64_MAX - 4,    5,
                                        UINT64_C(1) << 53, UINT64_C(1) << 32,
                                        UINT64_C(1) << 63 };

        q->c.arg.number.token = off[rng_below(r, sizeof off / sizeof *off)];
    }
}

/* Give a token after which a page continues: versions are small in a world. */
static void give_after(struct gen *g, struct gen_command *q)
{
    static const char *const tokens[] = { "0",  "1",   "3",   "10",   "17",    "40",
                                          "90", "200", "500", "1000", "99999", "9007199254740991" };

    q->c.arg.number.after = text(tokens[rng_below(&g->rng, sizeof tokens / sizeof *tokens)]);
}

/* Give the settings that are not chosen below: mostly small ones, because they end soon. */
static void give_others(struct gen *g, struct usher_operation *c)
{
    const struct usher__field *told;
    const struct usher__arg *arg;

    for (unsigned i = 0; usher__setting((unsigned)c->verb, i, &told, &arg); i++) {
        int64_t value = arg->min;

        if ((arg->given & SETTINGS) != 0 || !rng_chance(&g->rng, 25))
            continue;
        if (usher__arg_is_span(arg))
            value = rng_chance(&g->rng, 40) ? 0 : span(g);
        else
            value += (int64_t)rng_below(&g->rng, arg->max - arg->min < 4 ? 2 : 5);
        c->given |= arg->given;
        memcpy((char *)c + arg->offset, &value, sizeof value);
    }
}

static void give_settings(struct gen *g, struct gen_command *q)
{
    struct rng *r = &g->rng;
    struct usher_number_args *a = &q->c.arg.number;
    static const int64_t zones[] = { 0, 0, 480, -480, 330, -1440, 1440, 1, -1, 840 };

    if (rng_chance(r, 15))
        return; /* only reads */
    do {
        if (rng_chance(r, 25))
            q->c.given |= USHER_GIVEN_ORDER;
        if (rng_chance(r, 25))
            q->c.given |= USHER_GIVEN_LEASE;
        if (rng_chance(r, 25))
            q->c.given |= USHER_GIVEN_REST;
        if (rng_chance(r, g->daily))
            q->c.given |= USHER_GIVEN_DAILY;
        if (rng_chance(r, g->daily / 3 + 3))
            q->c.given |= USHER_GIVEN_ZONE;
        if (rng_chance(r, 15))
            q->c.given |= USHER_GIVEN_STRICT;
        if (rng_chance(r, g->sticky))
            q->c.given |= USHER_GIVEN_STICKY_MS;
        if (rng_chance(r, g->sticky))
            q->c.given |= USHER_GIVEN_STICKY_MAX;
        if (rng_chance(r, g->request))
            q->c.given |= USHER_GIVEN_REQUESTS;
        if (rng_chance(r, 40))
            q->c.given |= USHER_GIVEN_LOG;
        if (rng_chance(r, g->longest))
            q->c.given |= USHER_GIVEN_LEASE_MAX;
        if (rng_chance(r, g->outage))
            q->c.given |= USHER_GIVEN_OUTAGE;
        if (rng_chance(r, 15))
            q->c.given |= USHER_GIVEN_MODE;
        if (rng_chance(r, 10))
            q->c.given |= USHER_GIVEN_PUSH;
    } while ((q->c.given & SETTINGS) == 0);
    if (rng_chance(r, 10))
        a->reason = any(g, &g->nodes);
    give_others(g, &q->c);
    a->order = 1 + (int64_t)rng_below(r, 3);
    a->lease_ms = lease(g);
    a->rest_ms = rng_chance(r, 40) ? 0 : span(g);
    a->daily = (int64_t)rng_below(r, 4);
    a->zone_min = zones[rng_below(r, sizeof zones / sizeof *zones)];
    a->strict = (int64_t)rng_below(r, 2);
    a->sticky_ms = span(g) * (rng_chance(r, 50) ? 1 : 3);
    if (a->sticky_ms > USHER_SPAN_MAX)
        a->sticky_ms = USHER_SPAN_MAX;
    a->sticky_max = (int64_t)rng_below(r, 5);
    a->requests = 1 + (int64_t)rng_below(r, 5);
    /* Half of them without, for holds that nothing ends until it is set again. */
    a->lease_max_ms = rng_chance(r, 50) ? 0 : span(g) * (rng_chance(r, 50) ? 1 : 3);
    if (a->lease_max_ms > USHER_SPAN_MAX)
        a->lease_max_ms = USHER_SPAN_MAX;
    a->log = rng_chance(r, 30) ? 0 : 1 + (int64_t)rng_below(r, rng_chance(r, 30) ? 200 : 8);
    a->outage_ms = rng_chance(r, 20) ? 0 : span(g);
    a->mode = rng_chance(r, 60) ? USHER_SCOPE_MODE_OPEN : 1 + (int64_t)rng_below(r, 3);
    a->push = (int64_t)rng_below(r, 2);
}

/* Make one argument wrong, or give one that the verb does not take. */
static void spoil(struct gen *g, struct gen_command *q)
{
    struct rng *r = &g->rng;
    struct usher_number_args *a = &q->c.arg.number;
    struct usher_text wrong = gen_bad(r);

    switch (rng_below(r, 20)) {
    case 19:
        a->reason = rng_chance(r, 50) ? wrong : any(g, &g->nodes);
        break;
    case 18:
        a->actor = rng_chance(r, 50) ? wrong : any(g, &g->nodes);
        break;
    case 16:
        a->node = rng_chance(r, 50) ? wrong : any(g, &g->nodes);
        break;
    case 17:
        q->c.given |= USHER_GIVEN_ALL;
        a->all = (int64_t)rng_below(r, 3);
        break;
    case 0:
        q->c.scope = rng_chance(r, 30) ? text("{x") : rng_chance(r, 30) ? text("x}") : wrong;
        break;
    case 1:
        a->number = wrong;
        break;
    case 2:
        a->owner = wrong;
        break;
    case 3:
        a->group = rng_chance(r, 50) ? text("a,") : wrong;
        break;
    case 4:
        a->sticky = wrong;
        break;
    case 5:
        q->c.request = wrong;
        break;
    case 6:
        a->after = rng_chance(r, 50) ? wrong : any(g, &g->numbers);
        break;
    case 7:
        q->c.given |= USHER_GIVEN_LEASE;
        a->lease_ms = rng_chance(r, 50) ? -1 : USHER_SPAN_MAX + 1;
        break;
    case 8:
        q->c.given |= USHER_GIVEN_REST;
        a->rest_ms = rng_chance(r, 50) ? INT64_MIN : INT64_MAX;
        break;
    case 9:
        q->c.given |= USHER_GIVEN_STATE;
        a->state = (int64_t)rng_below(r, 7) - 1;
        break;
    case 10:
        q->c.given |= USHER_GIVEN_MAX;
        a->max = rng_chance(r, 50) ? 0 : USHER_LIST_MAX + 1;
        break;
    case 11:
        q->c.now_ms = rng_chance(r, 50) ? -1 : USHER_TIME_MAX + 1;
        break;
    case 12:
        q->c.given |= USHER_GIVEN_ZONE;
        a->zone_min = rng_chance(r, 50) ? -1441 : 1441;
        break;
    case 13:
        q->c.given |= USHER_GIVEN_REQUESTS;
        a->requests = rng_chance(r, 50) ? 0 : 1000001;
        break;
    case 14:
        a->number.data = NULL;
        a->number.size = 0;
        break;
    default:
        q->c.given &= ~(uint64_t)USHER_GIVEN_TOKEN;
        break;
    }
}

static enum usher_verb any_verb(struct gen *g)
{
    static const struct {
        enum usher_verb verb;
        unsigned weight;
    } verbs[] = {
        { USHER_NUMBER_CALL, 26 }, { USHER_NUMBER_HANGUP, 18 }, { USHER_NUMBER_RENEW, 8 },
        { USHER_NUMBER_REG, 12 },  { USHER_NUMBER_UNREG, 4 },   { USHER_NUMBER_ADD, 8 },
        { USHER_NUMBER_DEL, 3 },   { USHER_NUMBER_FREE, 2 },    { USHER_NUMBER_SHOW, 3 },
        { USHER_NUMBER_LIST, 3 },  { USHER_NUMBER_STATS, 2 },   { USHER_NUMBER_SWEEP, 2 },
        { USHER_NUMBER_LIFT, 1 },  { USHER_NUMBER_DROP, 1 },    { USHER_NUMBER_CHANGES, 3 },
        { USHER_NUMBER_MOVE, 2 },
    };
    const struct usher__noun *noun = usher__noun(USHER_NUMBER);
    uint64_t k = rng_below(&g->rng, 100);

    if (rng_chance(&g->rng, g->set))
        return USHER_NUMBER_SET;
    for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (k < verbs[i].weight)
            return verbs[i].verb;
        k -= verbs[i].weight;
    }
    return (enum usher_verb)noun->verbs[rng_below(&g->rng, noun->n_verbs)].verb;
}

/* Does an operator give it? */
static bool is_operators(enum usher_verb verb)
{
    return verb == USHER_NUMBER_ADD || verb == USHER_NUMBER_DEL || verb == USHER_NUMBER_REG ||
           verb == USHER_NUMBER_UNREG || verb == USHER_NUMBER_FREE || verb == USHER_NUMBER_SET ||
           verb == USHER_NUMBER_LIFT || verb == USHER_NUMBER_MOVE || verb == USHER_NUMBER_DROP;
}

void gen_next(struct gen *g, struct gen_command *ret)
{
    struct rng *r = &g->rng;
    struct usher_number_args *a = &ret->c.arg.number;
    struct usher_operation *c = &ret->c;

    memset(ret, 0, sizeof *ret);
    tick(g);
    if (g->asked.c.request.data != NULL && rng_chance(r, g->request / 3)) { /* once more */
        *ret = g->asked;
        c->now_ms = g->now;
        return;
    }
    c->given = USHER_GIVEN_NOW;
    c->now_ms = g->now;
    c->scope = any(g, &g->pools);
    c->verb = any_verb(g);
    if (g->big && c->verb != USHER_NUMBER_SET && rng_chance(r, 70))
        c->verb = USHER_NUMBER_CALL;
    if (g->big && c->verb == USHER_NUMBER_FREE && rng_chance(r, 80))
        c->verb = USHER_NUMBER_REG;
    if (g->longest > 50 && c->verb != USHER_NUMBER_SET && rng_chance(r, 30))
        c->verb = USHER_NUMBER_RENEW; /* again and again */
    if (g->longest > 50 && c->verb == USHER_NUMBER_DROP && rng_chance(r, 90))
        c->verb = USHER_NUMBER_SET; /* or holds and settings of the pool do not last */
    if (rng_chance(r, g->request))
        c->request = any(g, &g->requests);
    a->number = any(g, &g->numbers);
    if (g->big && g->made < 2 * (uint64_t)g->numbers.n) { /* begin with a full pool */
        c->scope = text(g->pools.name[0]);
        c->verb = g->made % 2 == 0 ? USHER_NUMBER_ADD : USHER_NUMBER_REG;
        a->number = text(g->numbers.name[g->made / 2]);
    }
    g->made++;
    if (is_operators(c->verb) && rng_chance(r, 15))
        a->actor = any(g, &g->nodes);
    switch (c->verb) {
    case USHER_NUMBER_ADD:
        if (rng_chance(r, g->group))
            a->group = any(g, &g->groups);
        break;
    case USHER_NUMBER_CALL:
        if (!rng_chance(r, g->given))
            a->number.data = NULL;
        if (rng_chance(r, g->owner))
            a->owner = any(g, &g->owners);
        if (rng_chance(r, g->lease)) {
            c->given |= USHER_GIVEN_LEASE;
            a->lease_ms = lease(g);
        }
        if (rng_chance(r, g->sticky))
            a->sticky = any(g, &g->peers);
        if (rng_chance(r, g->node))
            a->node = any(g, &g->nodes);
        if (rng_chance(r, a->number.data == NULL ? g->group : 2))
            a->group = text(g->lists[rng_below(r, LISTS)]);
        break;
    case USHER_NUMBER_HANGUP:
        if (rng_chance(r, 50))
            give_token(g, ret);
        if (rng_chance(r, 20)) {
            c->given |= USHER_GIVEN_REST;
            a->rest_ms = span(g);
        }
        break;
    case USHER_NUMBER_RENEW:
        if (rng_chance(r, g->node / 3)) {
            a->number.data = NULL;
            a->node = any(g, &g->nodes);
            if (rng_chance(r, 20))
                give_after(g, ret);
        } else if (rng_chance(r, 97)) {
            give_token(g, ret);
        }
        if (rng_chance(r, a->number.data != NULL ? g->owner / 2 : 2))
            a->owner = any(g, &g->owners);
        if (a->number.data != NULL && rng_chance(r, a->owner.data != NULL ? g->node : 1))
            a->node = any(g, &g->nodes);
        if (rng_chance(r, 50)) {
            c->given |= USHER_GIVEN_LEASE;
            a->lease_ms = lease(g);
        }
        break;
    case USHER_NUMBER_FREE:
        if (rng_chance(r, 50))
            a->number.data = NULL;
        if (rng_chance(r, g->node / 2))
            a->node = any(g, &g->nodes);
        else if (rng_chance(r, 50))
            a->owner = any(g, &g->owners);
        if (a->number.data == NULL && a->owner.data == NULL && a->node.data == NULL &&
            rng_chance(r, 95)) {
            c->given |= USHER_GIVEN_ALL;
            a->all = 1;
        }
        break;
    case USHER_NUMBER_LIST:
        a->number.data = NULL;
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_STATE;
            a->state = 1 + (int64_t)rng_below(r, 5);
        }
        if (rng_chance(r, g->node / 2))
            a->node = any(g, &g->nodes);
        else if (rng_chance(r, 30))
            a->owner = any(g, &g->owners);
        if (rng_chance(r, 30)) {
            if (a->node.data != NULL || a->owner.data != NULL ||
                a->state > USHER_NUMBER_STATE_IDLE_UP)
                give_after(g, ret);
            else
                a->after = any(g, &g->numbers);
        }
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_MAX;
            a->max = rng_chance(r, 10) ? USHER_LIST_MAX : 1 + (int64_t)rng_below(r, 3);
        }
        break;
    case USHER_NUMBER_SWEEP:
        a->number.data = NULL;
        if (rng_chance(r, 50)) {
            c->given |= USHER_GIVEN_MAX;
            a->max = 1 + (int64_t)rng_below(r, 3);
        }
        break;
    case USHER_NUMBER_STATS:
    case USHER_NUMBER_DROP:
        a->number.data = NULL;
        break;
    case USHER_NUMBER_CHANGES:
        a->number.data = NULL;
        if (rng_chance(r, 90)) {
            c->given |= USHER_GIVEN_SINCE;
            ret->version_of = true;
            a->since = (int64_t)rng_below(r, 12);
        }
        if (rng_chance(r, 50)) {
            c->given |= USHER_GIVEN_MAX;
            a->max = 1 + (int64_t)rng_below(r, 5);
        }
        break;
    case USHER_NUMBER_SET:
        a->number.data = NULL;
        give_settings(g, ret);
        break;
    default: /* with a number, or not, as the tables say */
        if (usher_field_of((uint32_t)c->verb, "number") == 0)
            a->number.data = NULL;
        if (usher_field_of((uint32_t)c->verb, "group") != 0 && rng_chance(r, g->group))
            a->group = any(g, &g->groups);
        break;
    }
    if (a->number.data == NULL)
        a->number.size = 0;
    if (rng_chance(r, 5) && c->verb != USHER_NUMBER_SHOW && c->verb != USHER_NUMBER_LIST &&
        c->verb != USHER_NUMBER_STATS && c->verb != USHER_NUMBER_CHANGES) {
        c->given |= USHER_GIVEN_IF_VERSION;
        a->if_version = rng_chance(r, 80) ? 0 : (int64_t)rng_below(r, 3) - 1;
        ret->version_of = true;
    }
    if (rng_chance(r, 2))
        spoil(g, ret);
    if (c->request.data != NULL)
        g->asked = *ret;
}

struct usher_operation gen_resolve(const struct gen_command *q, const struct model *m)
{
    struct usher_operation c = q->c;
    const struct model_pool *p;
    const struct model_number *n;

    p = c.scope.data != NULL ? model_pool(m, c.scope.data, c.scope.size) : NULL;
    if (q->version_of) {
        int64_t version = p != NULL ? (int64_t)p->version : 0;

        c.arg.number.if_version += version + c.arg.number.if_version > 0 ? version : 2;
        if ((c.given & USHER_GIVEN_SINCE) != 0) /* one ahead, and back */
            c.arg.number.since =
                version + 1 > c.arg.number.since ? version + 1 - c.arg.number.since : 0;
    }
    if (!q->token_of_hold || c.arg.number.number.data == NULL || p == NULL)
        return c;
    n = model_number(p, c.arg.number.number.data, c.arg.number.number.size);
    if (n != NULL)
        c.arg.number.token += n->token;
    return c;
}

/* ---- in words ---------------------------------------------------------------------- */

static void print_text(FILE *f, const struct usher_text *t)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.:+*,-/@";
    bool quote = t->size == 0;

    for (size_t i = 0; i < t->size; i++)
        quote |= t->data[i] == '\0' || strchr(plain, t->data[i]) == NULL;
    if (!quote) {
        (void)fprintf(f, "%.*s", (int)t->size, t->data);
        return;
    }
    (void)fputc('"', f);
    for (size_t i = 0; i < t->size; i++) {
        unsigned char c = (unsigned char)t->data[i];

        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '$' || c == '`')
            (void)fprintf(f, "\\x%02x", c);
        else
            (void)fputc(c, f);
    }
    (void)fputc('"', f);
}

static void print_arg(FILE *f, const struct usher_operation *c, const struct usher__arg *arg,
                      bool key)
{
    const char *at = (const char *)c + arg->offset;
    int64_t value;

    if (arg->given == 0) {
        struct usher_text t;

        memcpy(&t, at, sizeof t);
        if (t.data == NULL)
            return;
        (void)fprintf(f, key ? " %s=" : " ", arg->word);
        print_text(f, &t);
        return;
    }
    if ((c->given & arg->given) == 0)
        return;
    memcpy(&value, at, sizeof value);
    (void)fprintf(f, " %s=", arg->word);
    if (arg->type == USHER__ARG_TOKEN)
        (void)fprintf(f, "%" PRIu64, (uint64_t)value);
    else if (arg->type == USHER__ARG_WORD && value >= arg->min && value <= arg->max)
        (void)fprintf(f, "%s", arg->words[value]);
    else
        (void)fprintf(f, "%" PRId64, value);
}

void gen_print(FILE *f, const struct usher_operation *c)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)c->verb);
    uint64_t order = verb != NULL ? verb->order : 0, taken = order;
    uint64_t printed = 0;

    if (verb != NULL)
        taken |= verb->keys;
    (void)fprintf(f, "%s %s ", noun->word, usher_verb_word(c->verb));
    print_text(f, &c->scope);
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((order >> i & 1u) != 0)
            print_arg(f, c, &noun->args[i], false);
    /* Those that it does not take are printed, too, but a shared field only once. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < noun->n_args; i++) {
            bool takes = (taken >> i & 1u) != 0, again = false;

            for (unsigned j = 0; j < noun->n_args; j++)
                again |= j != i && noun->args[j].offset == noun->args[i].offset &&
                         ((printed | order) >> j & 1u) != 0;
            if ((order >> i & 1u) != 0 || takes != (pass == 0) || again ||
                (noun->args[i].given != 0 && (c->given & noun->args[i].given) == 0))
                continue;
            print_arg(f, c, &noun->args[i], true);
            printed |= UINT64_C(1) << i;
        }
    if (c->request.data != NULL) {
        (void)fputs(" req=", f);
        print_text(f, &c->request);
    }
    if ((c->given & USHER_GIVEN_NOW) != 0)
        (void)fprintf(f, " now=%" PRId64, c->now_ms);
}

uint64_t gen_hash(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t gen_asked(const struct usher_operation *c)
{
    const uint64_t start = GEN_HASH;
    struct usher_operation plain = *c;
    uint64_t hash, sum = 0;
    char *words = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&words, &size);

    if (f == NULL)
        abort();
    plain.request.data = NULL;
    plain.given &= ~(uint64_t)USHER_GIVEN_NOW;
    if ((unsigned)c->verb >> 8 == USHER_ROOM)
        plain.arg.room.epoch.data = NULL;
    if ((unsigned)c->verb >> 8 == USHER_ROOM && c->arg.room.fields.data != NULL) {
        struct usher_fields fields;
        struct usher_text name, value;
        uint64_t version;

        usher_fields_begin(&fields, &c->arg.room.fields);
        while (usher_fields_next(&fields, &name, &value, &version))
            sum += gen_hash(gen_hash(start, name.data, name.size), value.data, value.size) *
                   (name.size + 1);
        plain.arg.room.fields.data = NULL;
    }
    gen_print(f, &plain);
    (void)fclose(f);
    hash = gen_hash(start, words, size) + sum;
    free(words);
    return hash;
}
