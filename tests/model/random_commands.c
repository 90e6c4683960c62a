/* SPDX-License-Identifier: MIT */
/* See random_commands.h. */
#include "config.h"

#include "model/random_commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/verbs.h"
#include "model/gen.h"
#include "lib/util.h"

#define NOUNS 7
#define KNOWN 16  /* of each kind that are remembered */
#define LONG 9000 /* bytes: too many for a notice */

struct ring {
    uint64_t n;
    uint64_t numbers[KNOWN];
};

struct names {
    uint64_t n;
    char names[KNOWN][USHER_NAME_MAX + 1];
};

/* A token with what it is of. */
struct held {
    char name[USHER_NAME_MAX + 1], owner[USHER_NAME_MAX + 1];
    char room[USHER_QUEUE_ROOM_MAX];
    uint64_t token;
    unsigned scope;
    int64_t first, n; /* ids */
};

struct holds {
    uint64_t n;
    struct held held[4];
};

struct random_commands {
    struct random_options opt;
    struct rng rng;
    int64_t now;
    uint64_t made;
    struct ring tokens[NOUNS], versions[NOUNS];
    struct names cursors[NOUNS], serials, rooms;
    struct holds holds[NOUNS];
    int64_t id_max[RANDOM_SCOPES];
};

struct random_commands *random_open(const struct random_options *opt)
{
    struct random_commands *b = calloc(1, sizeof *b);

    if (b == NULL)
        abort();
    b->opt = *opt;
    rng_seed(&b->rng, opt->seed);
    b->now = INT64_C(1690000000000) + (int64_t)rng_below(&b->rng, 86400000);
    return b;
}

void random_close(struct random_commands *b)
{
    free(b);
}

int64_t random_now(const struct random_commands *b)
{
    return b->now;
}

const char *random_scope(enum usher_noun noun, unsigned i)
{
    static char names[NOUNS][RANDOM_SCOPES][24];
    char *name = names[noun][i];

    if (name[0] == '\0')
        (void)snprintf(name, sizeof names[0][0], "%s%u", usher_noun_word(noun), i);
    return name;
}

static int scope_of(const struct usher_operation *c)
{
    enum usher_noun noun = (enum usher_noun)((unsigned)c->verb >> 8);

    for (unsigned i = 0; i < RANDOM_SCOPES; i++) {
        const char *name = random_scope(noun, i);

        if (c->scope.size == strlen(name) && memcmp(c->scope.data, name, c->scope.size) == 0)
            return (int)i;
    }
    return -1;
}

/* ---- what is remembered ------------------------------------------------------------- */

static void ring_add(struct ring *r, uint64_t number)
{
    if (number != 0)
        r->numbers[r->n++ % KNOWN] = number;
}

static bool ring_get(struct rng *rng, const struct ring *r, uint64_t *ret)
{
    uint64_t n = r->n < KNOWN ? r->n : KNOWN;

    if (n == 0)
        return false;
    /* rather a new one */
    *ret = r->numbers[(r->n - 1 - rng_below(rng, rng_chance(rng, 60) ? 1 : n)) % KNOWN];
    return true;
}

static void names_add(struct names *names, const char *name, size_t size)
{
    char *to = names->names[names->n % KNOWN];

    if (size == 0 || size > USHER_NAME_MAX)
        return;
    names->n++;
    memcpy(to, name, size);
    to[size] = '\0';
}

static const char *names_get(struct rng *rng, const struct names *names)
{
    uint64_t n = names->n < KNOWN ? names->n : KNOWN;

    if (n == 0)
        return NULL;
    return names->names[(names->n - 1 - rng_below(rng, rng_chance(rng, 50) ? 1 : n)) % KNOWN];
}

static void learn_field(struct random_commands *b, unsigned noun, const struct usher__field *f,
                        const char *of)
{
    const char *at = of + f->offset;
    uint64_t number;
    size_t size;

    switch (f->type) {
    case USHER__FIELD_UINT:
        memcpy(&number, at, sizeof number);
        ring_add(&b->tokens[noun], number);
        break;
    case USHER__FIELD_WIDE:
        memcpy(&number, at, sizeof number);
        if (rng_chance(&b->rng, 20) && number <= INT64_MAX)
            ring_add(&b->versions[noun], number);
        break;
    case USHER__FIELD_NAME:
        memcpy(&size, at, sizeof size);
        names_add(&b->cursors[noun], at + sizeof size, size);
        break;
    default:
        break;
    }
}

static void learn_hold(struct random_commands *b, const struct usher_operation *c,
                       const struct usher_result *r)
{
    unsigned noun = (unsigned)c->verb >> 8;
    struct holds *holds = &b->holds[noun];
    struct held *held = &holds->held[holds->n % 4];
    int scope = scope_of(c);

    if (noun == USHER_ID && scope >= 0 && r->status != USHER_MISSING)
        b->id_max[scope] = r->of.id.max;
    if (r->status != USHER_OK || scope < 0)
        return;
    if (noun == USHER_QUEUE && r->of.queue.user_size > 0 && r->of.queue.agent_size > 0) {
        memcpy(held->name, r->of.queue.user, sizeof held->name);
        memcpy(held->owner, r->of.queue.agent, sizeof held->owner);
        (void)snprintf(held->room, sizeof held->room, "%" PRIu64 ".%" PRId64, r->of.queue.login,
                       r->of.queue.no);
        held->scope = (unsigned)scope;
        holds->n++;
        return;
    }
    switch (c->verb) {
    case USHER_ROOM_SHARE:
        (void)snprintf(held->name, sizeof held->name, "%.*s", (int)c->arg.room.share.size,
                       c->arg.room.share.data);
        break;
    case USHER_NUMBER_CALL:
        memcpy(held->name, r->of.number.number, sizeof held->name);
        held->token = r->of.number.token;
        break;
    case USHER_SERIAL_RESERVE:
        (void)usher_serial_text(r, 0, held->name, sizeof held->name);
        held->token = r->of.serial.token;
        break;
    case USHER_ID_NEXT:
        held->first = r->of.id.first;
        held->n = r->of.id.n;
        held->token = r->of.id.token;
        break;
    case USHER_ROOMS_PUT:
        (void)snprintf(held->name, sizeof held->name, "%.*s", (int)c->arg.rooms.room.size,
                       c->arg.rooms.room.data);
        held->token = r->of.rooms.token;
        break;
    default:
        return;
    }
    held->scope = (unsigned)scope;
    holds->n++;
}

/* Give a verb with a token the scope and arguments of some hold. */
static void hold_meant(struct random_commands *b, struct random_command *c)
{
    unsigned noun = (unsigned)c->c.verb >> 8;
    const struct holds *holds = &b->holds[noun];
    const struct held *held;
    struct usher_text name, owner;
    int scope = scope_of(&c->c);

    if (c->c.verb == USHER_ID_INSTALL && scope >= 0 && rng_chance(&b->rng, 60)) {
        int64_t max = b->id_max[scope];

        c->c.given &= ~(uint64_t)USHER_GIVEN_ID_MAX;
        if (max >= 0)
            c->c.given |= USHER_GIVEN_ID_MAX;
        c->c.arg.id.max = max;
        if (max < INT64_MAX - 10)
            c->c.arg.id.first = max + 1 + (int64_t)rng_below(&b->rng, 3);
    }
    if (holds->n == 0 || !rng_chance(&b->rng, 60))
        return;
    held = &holds->held[(holds->n - 1 - rng_below(&b->rng, holds->n < 4 ? holds->n : 4)) % 4];
    (void)snprintf(c->texts[0], sizeof c->texts[0], "%s", held->name);
    name = text(c->texts[0]);
    (void)snprintf(c->texts[1], sizeof c->texts[1], "%s", held->owner);
    owner = text(c->texts[1]);
    switch (c->c.verb) {
    case USHER_QUEUE_ACCEPT:
    case USHER_QUEUE_REJECT:
        c->c.arg.queue.agent = owner;
        c->c.arg.queue.user = name;
        break;
    case USHER_QUEUE_WHERE:
    case USHER_QUEUE_LEAVE:
        c->c.arg.queue.user = name;
        break;
    case USHER_QUEUE_FINISH:
        (void)snprintf(c->texts[0], sizeof c->texts[0], "%s", held->room);
        c->c.arg.queue.room = text(c->texts[0]);
        break;
    case USHER_ROOM_UNSHARE:
        c->c.arg.room.share = name;
        break;
    case USHER_NUMBER_HANGUP:
    case USHER_NUMBER_RENEW:
        c->c.arg.number.number = name;
        c->c.arg.number.token = held->token;
        c->c.given |= USHER_GIVEN_TOKEN;
        break;
    case USHER_SERIAL_CONFIRM:
    case USHER_SERIAL_RETURN:
    case USHER_SERIAL_VOID:
    case USHER_SERIAL_RENEW:
        c->c.arg.serial.serial = name;
        c->c.arg.serial.token = held->token;
        c->c.given |= USHER_GIVEN_SERIAL_TOKEN;
        break;
    case USHER_ID_RETURN:
        c->c.arg.id.n = 1 + (int64_t)rng_below(&b->rng, (uint64_t)held->n);
        c->c.arg.id.first = held->first + (held->n - c->c.arg.id.n);
        c->c.arg.id.token = held->token;
        c->c.given |= USHER_GIVEN_ID_TOKEN | USHER_GIVEN_ID_N | USHER_GIVEN_ID_FIRST;
        break;
    case USHER_ROOMS_DROP:
        c->c.arg.rooms.room = name;
        c->c.arg.rooms.token = (int64_t)held->token;
        c->c.given |= USHER_GIVEN_ROOMS_TOKEN;
        break;
    default:
        return;
    }
    c->c.scope = text(random_scope((enum usher_noun)noun, held->scope));
}

void random_learn(struct random_commands *b, const struct usher_operation *c,
                  const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    char serial[USHER_SERIAL_TEXT_MAX + 1], room[64];
    const char *rows;
    size_t n;

    if (r->status >= USHER_INVALID)
        return;
    learn_hold(b, c, r);
    ring_add(&b->versions[noun->noun], r->version);
    for (unsigned i = 0; i < noun->n_outs; i++)
        learn_field(b, noun->noun, &noun->outs[i], (const char *)r);
    memcpy(&n, (const char *)r + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    for (size_t i = 0; i < n && i < 4; i++)
        for (unsigned k = 0; k < noun->n_row; k++)
            learn_field(b, noun->noun, &noun->row[k], rows + i * noun->row_size);
    if (noun->noun == USHER_SERIAL) {
        n = usher_serial_text(r, 0, serial, sizeof serial);
        names_add(&b->serials, serial, n);
        if (c->verb == USHER_SERIAL_HOLDS)
            names_add(&b->cursors[USHER_SERIAL], r->of.serial.of.page.next,
                      r->of.serial.of.page.next_size);
    } else if (noun->noun == USHER_QUEUE && r->of.queue.login != 0) {
        int size = snprintf(room, sizeof room, "%" PRIu64 ".%" PRId64, r->of.queue.login,
                            r->of.queue.no > 0 ? r->of.queue.no : 1);

        names_add(&b->rooms, room, (size_t)size);
    }
}

void random_listen(struct random_listener *ear, const struct usher_operation *c,
                   const struct usher_result *r)
{
    int scope = scope_of(c);

    if (scope >= 0 && r->epoch != 0)
        ear->epochs[(unsigned)c->verb >> 8][scope] = r->epoch;
}

void random_resolve(struct random_command *c, const struct random_listener *ear)
{
    int scope = scope_of(&c->c);
    unsigned noun = (unsigned)c->c.verb >> 8;
    struct usher_text epoch = { c->texts[5], 16 };

    if (!c->epoch)
        return;
    (void)snprintf(c->texts[5], sizeof c->texts[5], "%016" PRIx64,
                   scope >= 0 ? ear->epochs[noun][scope] : 0);
    memcpy((char *)&c->c + usher__noun(noun)->epoch_at, &epoch, sizeof epoch);
}

/* ---- values ------------------------------------------------------------------------- */

/* Names by the word of the argument. */
static const struct {
    const char *word, *begin;
    unsigned n;
} names_of[] = {
    { "number", "n", 8 },  { "owner", "o", 5 }, { "group", "g", 3 },  { "sticky", "p", 4 },
    { "agent", "a", 3 },   { "user", "u", 6 },  { "lane", "g", 3 },   { "member", "m", 6 },
    { "role", "r", 3 },    { "share", "s", 5 }, { "field", "f", 5 },  { "worker", "w", 3 },
    { "room", "r", 5 },    { "node", "k", 2 },  { "after", "n", 9 },  { "serial", "x", 2 },
    { "session", "s", 2 }, { "actor", "o", 3 }, { "reason", "e", 2 },
};

static const char long_text[USHER_VALUE_MAX + 2] = { 'x' };

/* A place for a name in @c. */
static char *place(struct random_command *c, unsigned *used)
{
    return c->texts[*used < 5 ? (*used)++ : 4];
}

static struct usher_text name(struct random_commands *b, const struct usher__noun *noun,
                              unsigned verb, const struct usher__arg *arg, char *to)
{
    struct rng *r = &b->rng;
    const char *known = NULL;
    size_t i = 0;

    while (i < sizeof names_of / sizeof *names_of && strcmp(names_of[i].word, arg->word) != 0)
        i++;
    if (i == sizeof names_of / sizeof *names_of) {
        (void)fprintf(stderr, "random_commands.c knows no names for the argument `%s` of %ss\n",
                      arg->word, noun->word);
        abort();
    }
    if (strcmp(arg->word, "after") == 0 && rng_chance(r, 60)) {
        known = names_get(r, &b->cursors[noun->noun]);
        if (noun->noun == USHER_QUEUE && rng_chance(r, 30)) {
            /* "1.N" of a history is one of a store with a history within */
            (void)snprintf(to, USHER_NAME_MAX, "%" PRIu64 ".%" PRIu64,
                           verb == USHER_QUEUE_HISTORY ? 0 : rng_below(r, 3), rng_below(r, 40));
            return text(to);
        }
    } else if (strcmp(arg->word, "serial") == 0 && rng_chance(r, 90)) {
        known = names_get(r, &b->serials);
    } else if (strcmp(arg->word, "room") == 0 && noun->noun == USHER_QUEUE && rng_chance(r, 90)) {
        known = names_get(r, &b->rooms);
    }
    if (known != NULL)
        (void)snprintf(to, USHER_NAME_MAX + 1, "%s", known);
    else
        (void)snprintf(to, USHER_NAME_MAX, "%s%" PRIu64, names_of[i].begin,
                       rng_below(r, names_of[i].n));
    return text(to);
}

static struct usher_text groups(struct random_commands *b, char *to)
{
    static const char *const lists[] = { "*", "g0", "g1,g2", "g2,*", "g0,g1,g2", "g1,g1" };

    (void)snprintf(to, USHER_NAME_MAX, "%s", lists[rng_below(&b->rng, 6)]);
    return text(to);
}

static struct usher_text value(struct random_commands *b, const struct usher__arg *arg, char *to)
{
    static const char *const dates[] = { "%Y%m%d", "%H%M-", "%y%j", "x%%", "%Q" };
    static const char *const affixes[] = { "", "A", "IN-", "1", "0" };
    struct rng *r = &b->rng;
    struct usher_text t;

    if (strcmp(arg->word, "date") == 0)
        return text(rng_chance(r, 40) ? "" : dates[rng_below(r, rng_chance(r, 90) ? 3 : 5)]);
    if (strcmp(arg->word, "prefix") == 0 || strcmp(arg->word, "suffix") == 0)
        return text(affixes[rng_below(r, rng_chance(r, 90) ? 3 : 5)]);
    if (rng_chance(r, 4)) {
        t.data = long_text;
        t.size = rng_chance(r, 80)   ? LONG
                 : rng_chance(r, 80) ? USHER_VALUE_MAX
                                     : sizeof long_text - 1;
        return t;
    }
    if (rng_chance(r, 10)) {
        t.data = "\0\xff\x80";
        t.size = 3;
        return t;
    }
    if (rng_chance(r, 20))
        return text("");
    (void)snprintf(to, USHER_NAME_MAX, "v%" PRIu64, rng_below(r, 3));
    return text(to);
}

static struct usher_text fields(struct random_commands *b, struct random_command *c)
{
    static const char *const some[] = { "f0", "f1", "f2", "wb.a", "wb.b", "f9" };
    struct usher_text names[3], values[3], t;
    size_t n = (size_t)rng_below(&b->rng, 4);

    for (size_t i = 0; i < n; i++) {
        names[i] = text(some[(rng_below(&b->rng, 2) + i * 2) % 6]);
        values[i] = text(rng_chance(&b->rng, 30) ? "" : some[rng_below(&b->rng, 6)]);
    }
    t.data = (const char *)c->fields;
    t.size = usher_fields_pack(names, values, n, c->fields, sizeof c->fields);
    return t;
}

/* At an end of what numbers can be, or of what the argument may be. */
static int64_t extreme(struct rng *r, int64_t min, int64_t max)
{
    static const int64_t ends[] = { INT64_MAX,          USHER_EXACT_MAX, INT64_C(1) << 53,
                                    INT64_C(1) << 32,   INT32_MAX,       INT64_C(1000000000),
                                    INT64_C(999999999), 1000000,         USHER_SPAN_MAX,
                                    INT64_C(1) << 62 };
    int64_t n = rng_chance(r, 60) ? max : ends[rng_below(r, sizeof ends / sizeof *ends)];

    if (rng_chance(r, 70))
        n -= (int64_t)rng_below(r, rng_chance(r, 50) ? 3 : 300);
    return n < min ? min : n > max ? max : n;
}

static int64_t number(struct random_commands *b, const struct usher__noun *noun,
                      const struct usher__verb *verb, const struct usher__arg *arg)
{
    static const int64_t spans[] = { 0, 1, 10, 100, 1000, 2000, 5000, 60000, 3600000 };
    struct rng *r = &b->rng;
    int64_t min = arg->min, max = usher__arg_max(verb, arg), n;
    uint64_t known;

    if (rng_below(r, 1000) < b->opt.wrong)
        return rng_chance(r, 50) ? (max < INT64_MAX ? max + 1 : -1)
                                 : (min > INT64_MIN ? min - 1 : INT64_MIN);
    if (b->opt.least && strcmp(arg->word, "max") == 0 && arg->type == USHER__ARG_INT)
        return 1 < min ? min : 1;
    if (arg->type == USHER__ARG_WORD)
        return min + (int64_t)rng_below(r, (uint64_t)(max - min) + 1);
    if (rng_below(r, 100) < b->opt.extremes)
        return extreme(r, min, max);
    if (max == USHER_SPAN_MAX) {
        n = spans[rng_chance(r, 60) ? 5 + rng_below(r, 4) : rng_below(r, 5)];
        return n < min ? min : n;
    }
    if (max == USHER_TIME_MAX || (noun->noun == USHER_QUEUE && max > USHER_SPAN_MAX))
        return b->now - 4000 + (int64_t)rng_below(r, 4002);
    if ((max == USHER_EXACT_MAX || arg->type == USHER__ARG_WIDE) && rng_chance(r, 60) &&
        ring_get(r, &b->versions[noun->noun], &known)) {
        n = (int64_t)(known & INT64_MAX);
        n = rng_chance(r, 70) ? n : rng_chance(r, 50) && n > 0 ? n - 1 : n < max ? n + 1 : n;
        return n < min ? min : n > max ? max : n;
    }
    {
        uint64_t most = rng_chance(r, 60) ? 3 : rng_chance(r, 80) ? 20 : 2000;
        uint64_t range = (uint64_t)max - (uint64_t)min;

        return (int64_t)((uint64_t)min + rng_below(r, (range < most ? range : most) + 1));
    }
}

/* Is there one that the world of this test has not, or that makes nearly all `stale` or `invalid`?
 */
static bool left_out(struct random_commands *b, const struct usher__arg *arg)
{
    if (strcmp(arg->word, "if-version") == 0 || strcmp(arg->word, "strict") == 0 ||
        arg->type == USHER__ARG_EPOCH)
        return rng_chance(&b->rng, 80);
    if (b->opt.authority)
        return false;
    return strcmp(arg->word, "authority") == 0;
}

static void argument(struct random_commands *b, const struct usher__noun *noun,
                     const struct usher__verb *verb, const struct usher__arg *arg,
                     struct random_command *ret, unsigned *used)
{
    struct usher_operation *c = &ret->c;
    char *at = (char *)c + arg->offset;
    struct rng *r = &b->rng;
    struct usher_text t;
    uint64_t token = 0;
    int64_t n;

    switch (arg->type) {
    case USHER__ARG_NAME:
    case USHER__ARG_GROUP:
        t = name(b, noun, verb->verb, arg, place(ret, used));
        break;
    case USHER__ARG_GROUPS:
        t = groups(b, place(ret, used));
        break;
    case USHER__ARG_VALUE:
        t = value(b, arg, place(ret, used));
        break;
    case USHER__ARG_EPOCH:
        ret->epoch = rng_chance(r, 90);
        t = text("0123456789abcdef");
        break;
    case USHER__ARG_MAYBE:
        t = rng_chance(r, 25) ? text("") : name(b, noun, verb->verb, arg, place(ret, used));
        break;
    case USHER__ARG_FIELDS:
        t = fields(b, ret);
        break;
    case USHER__ARG_TOKEN:
        if (!rng_chance(r, 85) || !ring_get(r, &b->tokens[noun->noun], &token))
            token = rng_chance(r, 80) ? rng_below(r, 30) : UINT64_MAX - rng_below(r, 3);
        memcpy(at, &token, sizeof token);
        c->given |= arg->given;
        return;
    case USHER__ARG_INT:
    case USHER__ARG_WORD:
    case USHER__ARG_WIDE:
        n = number(b, noun, verb, arg);
        memcpy(at, &n, sizeof n);
        c->given |= arg->given;
        return;
    default:
        (void)fprintf(stderr, "random_commands.c knows no values of type %d (`%s` of %ss)\n",
                      arg->type, arg->word, noun->word);
        abort();
    }
    if (rng_below(r, 1000) < b->opt.wrong)
        t = gen_bad(r);
    memcpy(at, &t, sizeof t);
}

/* ---- commands ----------------------------------------------------------------------- */

/* Verbs that end much of the state are rare. */
static bool ends_much(const char *word)
{
    static const char *const words[] = { "close",  "delete", "free", "drop",
                                         "logout", "drain",  "del",  "setmaxcur" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Verbs on which others depend are frequent: another verb is often dropped for one of them. */
static bool is_needed(const char *word)
{
    static const char *const words[] = { "add",  "reg",   "call", "login",   "apply", "join",
                                         "open", "share", "rule", "reserve", "create" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static const struct usher__verb *any_verb(struct random_commands *b, const struct usher__noun *noun)
{
    struct rng *r = &b->rng;
    const struct usher__verb *verb;

    for (;;) {
        verb = &noun->verbs[rng_below(r, noun->n_verbs)];
        if (b->made < 40 && (verb->flags & USHER__CREATES) == 0 && rng_chance(r, 80))
            continue; /* first of all something to work on */
        if (!is_needed(verb->word) && rng_chance(r, 30))
            continue;
        if (strcmp(verb->word, "drop") == 0 && noun->noun != USHER_ROOMS && rng_chance(r, 75))
            continue; /* that is all there is */
        if (!ends_much(verb->word) || rng_chance(r, 25))
            return verb;
    }
}

static void pass(struct random_commands *b)
{
    static const int64_t steps[] = { 0, 1, 3, 20, 100 };
    struct rng *r = &b->rng;

    b->now += (int64_t)rng_below(r, (uint64_t)steps[rng_below(r, 5)] + 1);
    if (rng_below(r, 200) < 3)
        b->now += 1000 + (int64_t)rng_below(r, 5000);
    if (rng_below(r, 400) == 0)
        b->now += 3600000;
    if (rng_below(r, 2000) == 0)
        b->now += 86400000;
}

void random_next(struct random_commands *b, struct random_command *ret)
{
    unsigned code;

    do
        code = 1 + (unsigned)rng_below(&b->rng, NOUNS - 1);
    while ((b->opt.nouns >> code & 1u) == 0);
    random_verb(b, any_verb(b, usher__noun(code))->verb, ret);
}

void random_verb(struct random_commands *b, unsigned code, struct random_command *ret)
{
    static char ids[8][8];
    struct rng *r = &b->rng;
    const struct usher__noun *noun = usher__noun(code >> 8);
    const struct usher__verb *verb = usher__verb(code);
    uint64_t takes;
    unsigned used = 0;

    b->made++;
    memset(ret, 0, sizeof *ret);
    ret->c.verb = (enum usher_verb)verb->verb;
    ret->c.scope =
        text(random_scope((enum usher_noun)noun->noun,
                          rng_chance(r, 70) ? 0 : (unsigned)rng_below(r, RANDOM_SCOPES)));
    takes = verb->order;
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((verb->keys >> i & 1u) != 0 && rng_chance(r, 30) && !left_out(b, &noun->args[i]))
            takes |= UINT64_C(1) << i;
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];

        if (b->opt.least && strcmp(arg->word, "max") == 0 && noun->noun != USHER_SERIAL &&
            noun->noun != USHER_ID && (verb->keys >> i & 1u) != 0)
            takes |= UINT64_C(1) << i;
        if (b->opt.presence && verb->verb == USHER_ROOM_OPEN && strcmp(arg->word, "presence") == 0)
            takes |= UINT64_C(1) << i;
        if ((takes >> i & 1u) != 0 && rng_below(r, 1000) >= b->opt.wrong)
            argument(b, noun, verb, arg, ret, &used);
    }
    if (b->opt.presence && verb->verb == USHER_ROOM_OPEN)
        ret->c.arg.room.presence_ms = 1 + (int64_t)rng_below(r, 1000);
    /* what must not be given together is mostly not */
    if (verb->verb == USHER_QUEUE_ALIVE && rng_chance(r, 98)) {
        ret->c.arg.queue.user = rng_chance(r, 50) ? text("u1") : (struct usher_text){ NULL, 0 };
        ret->c.arg.queue.agent =
            ret->c.arg.queue.user.data == NULL ? text("a1") : (struct usher_text){ NULL, 0 };
    }
    hold_meant(b, ret);
    if (rng_below(r, 100) < b->opt.requests) {
        unsigned i = (unsigned)rng_below(r, 8);

        (void)snprintf(ids[i], sizeof ids[i], "q%u", i);
        ret->c.request = text(ids[i]);
    }
    pass(b);
    if (strcmp(verb->word, "sweep") == 0 && rng_chance(r, 40)) /* something is due */
        b->now += 1000 + (int64_t)rng_below(r, rng_chance(r, 70) ? 10000 : 400000);
    if (!b->opt.timeless || rng_chance(r, 50)) {
        ret->c.given |= USHER_GIVEN_NOW;
        ret->c.now_ms = rng_chance(r, 3) ? b->now - (int64_t)rng_below(r, 5000) : b->now;
    }
    if (rng_below(r, 3000) < b->opt.wrong)
        ret->c.scope = gen_bad(r);
    if (rng_below(r, 3000) < b->opt.wrong)
        ret->c.request = gen_bad(r);
}

/* ---- answers ------------------------------------------------------------------------ */

static bool field_same(const struct usher__field *f, const char *a, const char *b)
{
    struct usher_text s, t;
    int64_t x, y;
    size_t m, n;
    int p, q;

    a += f->offset;
    b += f->offset;
    switch (f->type) {
    case USHER__FIELD_CODE:
        memcpy(&p, a, sizeof p);
        memcpy(&q, b, sizeof q);
        return p == q;
    case USHER__FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case USHER__FIELD_NAME:
        memcpy(&m, a, sizeof m);
        memcpy(&n, b, sizeof n);
        return m == n && memcmp(a + sizeof m, b + sizeof n, m + 1) == 0;
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&s, a, sizeof s);
        memcpy(&t, b, sizeof t);
        return s.size == t.size && (s.size == 0 || memcmp(s.data, t.data, s.size) == 0);
    default:
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x == y;
    }
}

/* A text is cut after @most bytes. */
static void field_print(FILE *f, const struct usher__field *field, const char *of, size_t most)
{
    struct usher_text t;
    int64_t n;
    size_t size;
    int code;

    of += field->offset;
    switch (field->type) {
    case USHER__FIELD_CODE:
        memcpy(&code, of, sizeof code);
        (void)fprintf(f, " %d", code);
        break;
    case USHER__FIELD_BOOL:
        (void)fprintf(f, " %d", *(const bool *)of);
        break;
    case USHER__FIELD_NAME:
        memcpy(&size, of, sizeof size);
        (void)fprintf(f, " '%.*s'", (int)size, of + sizeof size);
        break;
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&t, of, sizeof t);
        (void)fputs(" '", f);
        if (t.data != NULL)
            (void)fwrite(t.data, 1, t.size < most ? t.size : most, f);
        (void)fputc('\'', f);
        break;
    default:
        memcpy(&n, of, sizeof n);
        (void)fprintf(f, " %" PRId64, n);
    }
}

void random_print(FILE *f, const struct usher_operation *c, const struct usher_result *r,
                  size_t most)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    const char *rows;
    size_t n;

    (void)fprintf(
        f, "  %s, version %" PRIu64 "%s, due %" PRId64 ", `%s`:", usher_status_word(r->status),
        r->version, r->repeated ? ", repeated" : "", r->due_ms, r->message);
    if (r->status >= USHER_INVALID) {
        (void)fputc('\n', f);
        return;
    }
    for (unsigned i = 0; i < noun->n_outs; i++)
        field_print(f, &noun->outs[i], (const char *)r, most);
    (void)fputs(" /", f);
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)c->verb)
            field_print(f, &noun->extras[i], (const char *)r, most);
    (void)fputc('\n', f);
    memcpy(&n, (const char *)r + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    for (size_t i = 0; i < n; i++) {
        (void)fputs("   ", f);
        for (unsigned k = 0; k < noun->n_row; k++)
            field_print(f, &noun->row[k], rows + i * noun->row_size, most);
        (void)fputc('\n', f);
    }
}

static bool fields_same(const struct usher_operation *c, const struct usher_result *a,
                        const struct usher_result *b)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    const char *here, *there;
    size_t m, n;

    for (unsigned i = 0; i < noun->n_outs; i++)
        if (!field_same(&noun->outs[i], (const char *)a, (const char *)b))
            return false;
    for (unsigned i = 0; i < noun->n_extras; i++)
        if (noun->extras[i].verb == (unsigned)c->verb &&
            !field_same(&noun->extras[i], (const char *)a, (const char *)b))
            return false;
    memcpy(&m, (const char *)a + noun->n_rows_at, sizeof m);
    memcpy(&n, (const char *)b + noun->n_rows_at, sizeof n);
    memcpy(&here, (const char *)a + noun->rows_at, sizeof here);
    memcpy(&there, (const char *)b + noun->rows_at, sizeof there);
    if (m != n)
        return false;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < noun->n_row; k++)
            if (!field_same(&noun->row[k], here + i * noun->row_size, there + i * noun->row_size))
                return false;
    return true;
}

bool random_same(const struct usher_operation *c, const struct usher_result *a,
                 const struct usher_result *b, FILE *f)
{
    bool same = a->status == b->status && a->version == b->version && a->repeated == b->repeated &&
                a->due_ms == b->due_ms && (a->epoch == 0) == (b->epoch == 0) &&
                strcmp(a->message, b->message) == 0;

    if (same && a->status < USHER_INVALID)
        same = fields_same(c, a, b);
    if (!same && f != NULL) {
        random_print(f, c, a, 60);
        random_print(f, c, b, 60);
    }
    return same;
}

void random_epoch_mend(struct random_command *b)
{
    struct usher_text *t = &b->c.arg.id.epoch;

    if ((unsigned)b->c.verb >> 8 != USHER_ID || t->data == NULL || b->epoch)
        return;
    t->data = "00000000000000ab";
    t->size = 16;
}
