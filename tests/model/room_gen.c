/* SPDX-License-Identifier: MIT */
/* See room_gen.h. */
#include "config.h"

#include "model/room_gen.h"
#include "lib/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE 9000 /* bytes: too many for a notice */

struct room_gen {
    struct rng rng;
    struct gen_names rooms, members, fields, roles, shares, requests;
    int64_t now, scale;
    uint64_t made;
    bool big; /* begin with a full room, and close in steps */
    /* in percent */
    unsigned request, if_version, if_value, several, beat, set;
    struct room_gen_command asked; /* the last one with a request id */
    char large[LARGE];
    char about[200];
};

struct room_gen *room_gen_open(uint64_t seed)
{
    static const int64_t scales[] = { 1, 10, 1000, 60000 };
    struct room_gen *g = calloc(1, sizeof *g);
    struct rng *r;

    if (g == NULL)
        abort();
    r = &g->rng;
    rng_seed(r, seed);
    g->big = rng_chance(r, 4);
    gen_names_make(r, &g->rooms, (unsigned)(1 + rng_below(r, rng_chance(r, 70) ? 1 : 3)), "room",
                   "{}");
    gen_names_make(r, &g->members,
                   (unsigned)(g->big ? 700 + rng_below(r, 700) : 1 + rng_below(r, 8)), "member",
                   "");
    gen_names_make(r, &g->fields, (unsigned)(1 + rng_below(r, 5)), "field", "=");
    gen_names_make(r, &g->roles, (unsigned)(1 + rng_below(r, rng_chance(r, 90) ? 4 : 20)), "role",
                   "");
    gen_names_make(r, &g->shares, (unsigned)(1 + rng_below(r, rng_chance(r, 90) ? 4 : 20)), "share",
                   "");
    gen_names_make(r, &g->requests, (unsigned)(1 + rng_below(r, 12)), "req", "");
    memset(g->large, 'x', sizeof g->large);
    g->scale = scales[rng_below(r, sizeof scales / sizeof *scales)];
    g->now = INT64_C(1700000000000) * (int64_t)rng_below(r, 2) + (int64_t)rng_below(r, 3600000);
    g->request = (unsigned)rng_below(r, 3) * 15;
    g->if_version = (unsigned)rng_below(r, 3) * 10;
    g->if_value = (unsigned)rng_below(r, 3) * 25;
    g->several = (unsigned)rng_below(r, 3) * 30;
    g->beat = (unsigned)rng_below(r, 3) * 15;
    g->set = (unsigned)(1 + rng_below(r, 6));
    (void)snprintf(g->about, sizeof g->about,
                   "%u rooms, %u members, %u fields, %u roles, %u shares, %u request ids, "
                   "a step is about %" PRId64 " ms",
                   g->rooms.n, g->members.n, g->fields.n, g->roles.n, g->shares.n, g->requests.n,
                   g->scale);
    return g;
}

void room_gen_close(struct room_gen *g)
{
    free(g->rooms.name);
    free(g->members.name);
    free(g->fields.name);
    free(g->roles.name);
    free(g->shares.name);
    free(g->requests.name);
    free(g);
}

const char *room_gen_about(const struct room_gen *g)
{
    return g->about;
}

unsigned room_gen_rooms(const struct room_gen *g)
{
    return g->rooms.n;
}

const char *room_gen_room(const struct room_gen *g, unsigned i)
{
    return g->rooms.name[i];
}

/* ---- arguments ---------------------------------------------------------------------- */

static void tick(struct room_gen *g)
{
    struct rng *r = &g->rng;

    if (rng_chance(r, g->big ? 99 : 60))
        return;
    if (rng_chance(r, 85))
        g->now += (int64_t)rng_below(r, 4) * g->scale;
    else if (rng_chance(r, 50))
        g->now += (int64_t)rng_below(r, 5);
    else if (rng_chance(r, 20))
        g->now += 3600000 + (int64_t)rng_below(r, 3) - 1; /* the age of request ids */
    else
        g->now -= (int64_t)rng_below(r, 20) * g->scale;
    if (g->now < 0)
        g->now = 0;
}

static int64_t span(struct room_gen *g)
{
    struct rng *r = &g->rng;

    if (rng_chance(r, 2))
        return USHER_SPAN_MAX - (int64_t)rng_below(r, 2);
    return rng_chance(r, 40) ? 0 : (int64_t)(1 + rng_below(r, 6)) * g->scale;
}

static void settings(struct room_gen *g, struct usher_operation *c)
{
    static const uint64_t bits[] = { USHER_GIVEN_ROOM_CAPACITY, USHER_GIVEN_ROOM_LINGER,
                                     USHER_GIVEN_ROOM_TTL,      USHER_GIVEN_ROOM_TTL,
                                     USHER_GIVEN_ROOM_AWAY,     USHER_GIVEN_ROOM_GRACE,
                                     USHER_GIVEN_ROOM_LOG,      USHER_GIVEN_ROOM_REQUESTS,
                                     USHER_GIVEN_ROOM_PRESENCE, USHER_GIVEN_ROOM_PUSH };
    struct rng *r = &g->rng;
    struct usher_room_args *a = &c->arg.room;

    for (uint64_t n = rng_below(r, 5); n > 0; n--)
        c->given |= bits[rng_below(r, sizeof bits / sizeof *bits)];
    a->capacity = rng_chance(r, 60) ? 0 : (int64_t)rng_below(r, 4);
    a->linger_ms = span(g);
    a->ttl_ms = span(g);
    a->away_ms = span(g);
    a->grace_ms = span(g);
    a->log = rng_chance(r, 30) ? 256 : 1 + (int64_t)rng_below(r, 12);
    a->requests = 1 + (int64_t)rng_below(r, 5);
    a->presence_ms = span(g);
    a->push = (int64_t)rng_below(r, 2);
}

static struct usher_text value(struct room_gen *g)
{
    static const char *const values[] = { "", "1", "2", "on", "off", "a longer value, \"so\"" };
    struct usher_text large = { g->large, sizeof g->large };

    if (rng_chance(&g->rng, 1) && !g->big)
        return large;
    return text(values[rng_below(&g->rng, sizeof values / sizeof *values)]);
}

/* Pairs, none twice and none of them @but. */
static void pairs(struct room_gen *g, struct room_gen_command *q, const struct usher_text *but)
{
    struct usher_text names[4], values[4];
    size_t n = 0;

    if (!rng_chance(&g->rng, g->several))
        return;
    for (size_t i = 0; i < g->fields.n && n < 4; i++) {
        struct usher_text name = text(g->fields.name[i]);

        if (!rng_chance(&g->rng, 50) ||
            (but != NULL && but->size == name.size && memcmp(but->data, name.data, name.size) == 0))
            continue;
        names[n] = name;
        values[n++] = text(rng_chance(&g->rng, 50) ? "1" : "on");
    }
    q->fields_size =
        usher_fields_pack(names, values, n, (unsigned char *)q->fields, sizeof q->fields);
    if (n == 0 || q->fields_size > sizeof q->fields)
        q->fields_size = 0;
}

static void spoil(struct room_gen *g, struct usher_operation *c)
{
    struct rng *r = &g->rng;
    struct usher_room_args *a = &c->arg.room;
    struct usher_text wrong = gen_bad(r);

    switch (rng_below(r, 11)) {
    case 0:
        c->scope = rng_chance(r, 30) ? text("{x") : wrong;
        break;
    case 1:
        a->member = rng_chance(r, 50) ? wrong : gen_any(r, &g->members);
        break;
    case 2:
        a->field = rng_chance(r, 50) ? wrong : gen_any(r, &g->fields);
        break;
    case 3:
        a->role = wrong;
        break;
    case 4:
        a->share = wrong;
        break;
    case 10:
        a->epoch = wrong;
        break;
    case 5:
        c->request = wrong;
        break;
    case 6:
        c->now_ms = rng_chance(r, 50) ? -1 : USHER_TIME_MAX + 1;
        break;
    case 7:
        c->given |= USHER_GIVEN_ROOM_MAX;
        a->max = rng_chance(r, 50) ? 0 : USHER_LIST_MAX + 1;
        break;
    case 8:
        c->given |= USHER_GIVEN_ROOM_TTL;
        a->ttl_ms = rng_chance(r, 50) ? -1 : USHER_SPAN_MAX + 1;
        break;
    default:
        c->given |= USHER_GIVEN_ROOM_AFTER;
        a->after = rng_chance(r, 50) ? -1 : USHER_EXACT_MAX + 1;
        break;
    }
}

static enum usher_verb any_verb(struct room_gen *g)
{
    static const struct {
        enum usher_verb verb;
        unsigned weight;
    } verbs[] = {
        { USHER_ROOM_JOIN, 22 },   { USHER_ROOM_LEAVE, 7 },  { USHER_ROOM_KICK, 5 },
        { USHER_ROOM_ALIVE, 8 },   { USHER_ROOM_MEMBER, 8 }, { USHER_ROOM_SET, 7 },
        { USHER_ROOM_ROLE, 10 },   { USHER_ROOM_SHARE, 7 },  { USHER_ROOM_UNSHARE, 2 },
        { USHER_ROOM_ALL, 4 },     { USHER_ROOM_UNSET, 2 },  { USHER_ROOM_GET, 2 },
        { USHER_ROOM_SHOW, 1 },    { USHER_ROOM_STATS, 1 },  { USHER_ROOM_SNAPSHOT, 4 },
        { USHER_ROOM_CHANGES, 4 }, { USHER_ROOM_SWEEP, 3 },  { USHER_ROOM_LOCK, 1 },
        { USHER_ROOM_UNLOCK, 1 },  { USHER_ROOM_CLOSE, 1 },
    };
    uint64_t k = rng_below(&g->rng, 100);

    if (rng_chance(&g->rng, g->set))
        return USHER_ROOM_OPEN;
    if (rng_chance(&g->rng, g->beat))
        return USHER_ROOM_ALIVE;
    for (unsigned i = 0;; i++) {
        if (k < verbs[i].weight)
            return verbs[i].verb;
        k -= verbs[i].weight;
    }
}

static void give_max(struct room_gen *g, struct usher_operation *c)
{
    if (!rng_chance(&g->rng, 50))
        return;
    c->given |= USHER_GIVEN_ROOM_MAX;
    c->arg.room.max = rng_chance(&g->rng, 10) ? USHER_LIST_MAX : 1 + (int64_t)rng_below(&g->rng, 4);
}

static void arguments(struct room_gen *g, struct room_gen_command *q)
{
    struct rng *r = &g->rng;
    struct usher_operation *c = &q->c;
    struct usher_room_args *a = &c->arg.room;
    struct usher_text member = gen_any(r, &g->members);

    switch (c->verb) {
    case USHER_ROOM_OPEN:
        settings(g, c);
        return;
    case USHER_ROOM_MEMBER:
        a->member = member;
        /* fall through */
    case USHER_ROOM_SET:
        a->field = gen_any(r, &g->fields);
        a->value = value(g);
        pairs(g, q, &a->field);
        q->value_of = rng_chance(r, g->if_value);
        break;
    case USHER_ROOM_ALL:
        a->field = gen_any(r, &g->fields);
        a->value = value(g);
        break;
    case USHER_ROOM_UNSET:
        a->field = gen_any(r, &g->fields);
        q->value_of = rng_chance(r, g->if_value);
        break;
    case USHER_ROOM_GET:
        if (rng_chance(r, 50))
            a->field = gen_any(r, &g->fields);
        return;
    case USHER_ROOM_JOIN:
        a->member = member;
        pairs(g, q, NULL);
        break;
    case USHER_ROOM_KICK:
        a->member = member;
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_ROOM_BAN;
            a->ban_ms = span(g);
        }
        break;
    case USHER_ROOM_CLOSE:
        if (rng_chance(r, 20))
            c->given |= USHER_GIVEN_ROOM_BAN; /* 0 */
        break;
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_ALIVE:
        a->member = member;
        return;
    case USHER_ROOM_ROLE:
        a->role = gen_any(r, &g->roles);
        a->member = rng_chance(r, 85) ? member : text("");
        q->value_of = rng_chance(r, g->if_value);
        break;
    case USHER_ROOM_SHARE:
        a->member = member;
        a->share = gen_any(r, &g->shares);
        pairs(g, q, NULL);
        break;
    case USHER_ROOM_UNSHARE:
        a->share = gen_any(r, &g->shares);
        break;
    case USHER_ROOM_SNAPSHOT:
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_ROOM_AFTER;
            a->after = (int64_t)rng_below(r, 20);
        }
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_ROOM_SINCE;
            a->since = -(int64_t)rng_below(r, 9) + (int64_t)rng_below(r, 2);
            q->version_of = true;
        }
        give_max(g, c);
        break;
    case USHER_ROOM_CHANGES:
        c->given |= USHER_GIVEN_ROOM_SINCE;
        a->since = -(int64_t)rng_below(r, 9) + (int64_t)rng_below(r, 2);
        q->version_of = true;
        give_max(g, c);
        return;
    case USHER_ROOM_SWEEP:
        if (rng_chance(r, 40)) {
            c->given |= USHER_GIVEN_ROOM_TTL;
            a->ttl_ms = span(g);
        }
        give_max(g, c);
        return;
    case USHER_ROOM_SHOW:
    case USHER_ROOM_STATS:
        return;
    default:
        break;
    }
}

void room_gen_next(struct room_gen *g, struct room_gen_command *ret)
{
    struct rng *r = &g->rng;
    struct usher_operation *c = &ret->c;
    uint64_t filling = g->big ? g->members.n : 1;

    memset(ret, 0, sizeof *ret);
    tick(g);
    if (g->asked.c.request.data != NULL && rng_chance(r, g->request / 3)) { /* once more */
        *ret = g->asked;
        c->now_ms = g->now;
        return;
    }
    c->given = USHER_GIVEN_NOW;
    c->now_ms = g->now;
    c->scope = gen_any(r, &g->rooms);
    c->verb = any_verb(g);
    if (rng_chance(r, g->request))
        c->request = gen_any(r, &g->requests);
    if (g->made++ < filling) { /* begin with a room, perhaps a full one */
        c->scope = text(g->rooms.name[0]);
        c->verb = g->made == 1 ? USHER_ROOM_OPEN : USHER_ROOM_JOIN;
    } else if (g->big && rng_chance(r, 5)) {
        c->verb = USHER_ROOM_CLOSE;
    }
    arguments(g, ret);
    if ((c->verb == USHER_ROOM_OPEN || c->verb == USHER_ROOM_CLOSE || c->verb == USHER_ROOM_LOCK ||
         c->verb == USHER_ROOM_UNLOCK || c->verb == USHER_ROOM_KICK) &&
        rng_chance(r, 30))
        c->arg.room.actor = gen_any(r, &g->members);
    if (g->big && g->made > 1 && g->made <= filling)
        c->arg.room.member = text(g->members.name[g->made - 1]);
    if (c->verb != USHER_ROOM_GET && c->verb != USHER_ROOM_SHOW && c->verb != USHER_ROOM_STATS &&
        c->verb != USHER_ROOM_CHANGES && c->verb != USHER_ROOM_ALIVE &&
        c->verb != USHER_ROOM_OPEN && g->made > filling && rng_chance(r, g->if_version)) {
        c->given |= USHER_GIVEN_ROOM_IF_VERSION;
        c->arg.room.if_version = rng_chance(r, 70) ? 0 : (int64_t)rng_below(r, 3) - 1;
        ret->version_of = true;
        ret->epoch_of = rng_chance(r, 3) ? ROOM_GEN_NO_EPOCH : ROOM_GEN_EPOCH;
    }
    if (ret->epoch_of == ROOM_GEN_NO_EPOCH && c->verb != USHER_ROOM_GET &&
        c->verb != USHER_ROOM_SHOW && c->verb != USHER_ROOM_STATS &&
        (c->given & USHER_GIVEN_ROOM_IF_VERSION) == 0 && g->made > filling &&
        rng_chance(r, g->if_version / 2))
        ret->epoch_of = ROOM_GEN_EPOCH;
    if (ret->epoch_of == ROOM_GEN_EPOCH && rng_chance(r, 20))
        ret->epoch_of = ROOM_GEN_EARLIER;
    if (rng_chance(r, 2))
        spoil(g, c);
    if (c->request.data != NULL)
        g->asked = *ret;
}

/* Write the present value for `if=` into @to, at most ROOM_GEN_TEXT bytes. */
static size_t value_now(const struct room_model_room *room, const struct usher_operation *c,
                        char *to)
{
    const struct room_model_text *now = NULL;
    const struct room_model_fields *f = &room->fields;

    if (c->verb == USHER_ROOM_ROLE) {
        for (size_t i = 0; i < room->n_roles; i++)
            if (c->arg.room.role.size == room->roles[i].id->size &&
                memcmp(c->arg.room.role.data, room->roles[i].id->data, c->arg.room.role.size) == 0)
                now = room->roles[i].holder;
    } else if (c->verb == USHER_ROOM_MEMBER) {
        f = &room->alls;
    }
    for (size_t i = 0; now == NULL && c->verb != USHER_ROOM_ROLE && i < f->n; i++)
        if (f->at[i].name->size == c->arg.room.field.size &&
            memcmp(f->at[i].name->data, c->arg.room.field.data, f->at[i].name->size) == 0)
            now = f->at[i].value;
    if (now == NULL || now->size > ROOM_GEN_TEXT)
        return 0;
    memcpy(to, now->data, now->size);
    return now->size;
}

struct usher_operation room_gen_resolve(struct room_gen_command *q, const struct room_model *m)
{
    struct usher_operation c = q->c;
    struct usher_room_args *a = &c.arg.room;
    const struct room_model_room *room = NULL;
    char name[USHER_NAME_MAX + 1];
    int64_t version;

    if (c.scope.data != NULL && c.scope.size <= USHER_NAME_MAX) {
        memcpy(name, c.scope.data, c.scope.size);
        name[c.scope.size] = '\0';
        room = room_model_room(m, name);
    }
    version = room != NULL ? (int64_t)room->version : 0;
    if (q->fields_size > 0) {
        a->fields.data = q->fields;
        a->fields.size = q->fields_size;
    }
    if (q->version_of && (c.given & USHER_GIVEN_ROOM_SINCE) != 0)
        a->since = a->since + version > 0 ? a->since + version : 0;
    if (q->version_of && (c.given & USHER_GIVEN_ROOM_IF_VERSION) != 0)
        a->if_version = a->if_version + version > 1 ? a->if_version + version : 1;
    if (q->epoch_of != ROOM_GEN_NO_EPOCH && a->epoch.data == NULL) {
        uint64_t epoch = room != NULL ? room->epoch : 0;

        a->epoch.data = q->epoch;
        a->epoch.size = 16;
        (void)snprintf(q->epoch, sizeof q->epoch, "%016" PRIx64,
                       epoch - (q->epoch_of == ROOM_GEN_EARLIER));
    }
    if (q->value_of) {
        a->expected.data = q->text;
        a->expected.size = room != NULL ? value_now(room, &c, q->text) : 0;
    }
    return c;
}
