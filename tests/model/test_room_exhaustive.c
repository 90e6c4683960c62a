/* SPDX-License-Identifier: MIT */
/*
 * Every state of small rooms, two members and two roles, and every command from each
 * (exhaustive.h).
 *
 * Only the order of versions matters, and the distance of times from the clock.  A process that
 * dies between two commands leaves the state between them, and others continue from there with any
 * command.  So no way of handing over a role, even an interrupted one, ends with an absent holder.
 * The model checks that in every state.  Invariants beyond it:
 *
 *   read      a read changes nothing.
 *   silence   without a notice nothing changes but heartbeats, and bans that end.
 *   handed    a role that was given is held by the member of the command.
 *   compared  it was not given unless the holder was the expected one.
 *   others    no role goes to another member by a command that does not name it.
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

#include "model/exhaustive.h"
#include "model/room_gen.h"
#include "model/room_model.h"
#include "lib/util.h"

#define U INT64_C(1000)
#define START INT64_C(1700000000000)

/* ---- worlds ------------------------------------------------------------------------ */

struct profile {
    const char *name;
    int64_t later[2]; /* commands come this much later than the last change */
    unsigned n_later;
    struct usher_room_result_settings set;
    bool bans, locks, shares;
};

/* clang-format off */
static const struct profile profiles[] = {
    { "speakers", { 0 }, 1, { .capacity = 0 }, .locks = true },
    { "shares", { 0 }, 1, { .capacity = 0 }, .shares = true },
    { "bans", { 0, U }, 2, { .capacity = 0 }, .bans = true },
    { "one place", { 0, U }, 2, { .capacity = 1, .ttl_ms = 2 * U }, .shares = true },
    { "silence", { 0, U }, 2, { .ttl_ms = 2 * U }, .bans = false },
    { "away", { 0, U }, 2, { .ttl_ms = 2 * U, .away_ms = U }, .bans = false },
    { "away, offline, back", { 0, U }, 2, { .ttl_ms = 2 * U, .away_ms = U, .grace_ms = U },
      .bans = false },
    { "offline with bans", { 0, U }, 2, { .ttl_ms = U, .grace_ms = U }, .bans = true },
};
/* clang-format on */
#define PROFILES (sizeof profiles / sizeof *profiles)

static const char scope[] = "class";
static const char *const people[] = { "a", "b" };
static const char *const roles[] = { "speaker", "host" };
static const char *const shares[] = { "screen", "board" };

static size_t first(unsigned i, struct usher_operation ret[EXHAUSTIVE_FIRST])
{
    const struct usher_room_result_settings *set = &profiles[i].set;
    struct usher_operation *c = &ret[0];

    memset(c, 0, sizeof *c);
    c->verb = USHER_ROOM_OPEN;
    c->scope = text(scope);
    c->now_ms = START;
    c->given = USHER_GIVEN_NOW | USHER_GIVEN_ROOM_CAPACITY | USHER_GIVEN_ROOM_TTL |
               USHER_GIVEN_ROOM_AWAY | USHER_GIVEN_ROOM_GRACE | USHER_GIVEN_ROOM_LOG;
    c->arg.room.capacity = set->capacity;
    c->arg.room.ttl_ms = set->ttl_ms;
    c->arg.room.away_ms = set->away_ms;
    c->arg.room.grace_ms = set->grace_ms;
    c->arg.room.log = 3;
    return 1;
}

/* ---- alphabets --------------------------------------------------------------------- */

struct alphabet {
    const struct profile *profile;
    struct room_gen_command *symbols;
    size_t n;
    int64_t later;
};

static struct usher_operation *symbol(struct alphabet *w, enum usher_verb verb)
{
    struct room_gen_command *s = &w->symbols[w->n++];

    if (w->n > EXHAUSTIVE_SYMBOLS)
        abort();
    memset(s, 0, sizeof *s);
    s->c.verb = verb;
    s->c.scope = text(scope);
    s->c.given = USHER_GIVEN_NOW;
    s->c.now_ms = w->later;
    return &s->c;
}

static void member_symbols(struct alphabet *w, const char *who)
{
    static const enum usher_verb verbs[] = { USHER_ROOM_JOIN, USHER_ROOM_LEAVE, USHER_ROOM_KICK,
                                             USHER_ROOM_ALIVE };

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        symbol(w, verbs[i])->arg.room.member = text(who);
    for (int64_t ban = 0; ban < 3 && w->profile->bans; ban++) {
        struct usher_operation *c = symbol(w, USHER_ROOM_KICK);

        c->arg.room.member = text(who);
        c->given |= USHER_GIVEN_ROOM_BAN;
        c->arg.room.ban_ms = ban * U;
    }
    for (unsigned s = 0; s < 2 && w->profile->shares; s++) {
        struct usher_operation *c = symbol(w, USHER_ROOM_SHARE);

        c->arg.room.member = text(who);
        c->arg.room.share = text(shares[s]);
    }
}

/* Give it to no member and to each: with any holder, or if none, a or b has it. */
static void role_symbols(struct alphabet *w, const char *role)
{
    const char *const holders[] = { "", people[0], people[1] };

    for (unsigned to = 0; to < 3; to++)
        for (unsigned must = 0; must < 4; must++) {
            struct usher_operation *c = symbol(w, USHER_ROOM_ROLE);

            c->arg.room.role = text(role);
            c->arg.room.member = text(holders[to]);
            if (must < 3)
                c->arg.room.expected = text(holders[must]);
        }
}

static size_t alphabet(unsigned i, void *ret)
{
    struct alphabet w = { &profiles[i], ret, 0, 0 };

    for (unsigned k = 0; k < profiles[i].n_later; k++) {
        struct usher_operation *c;

        w.later = profiles[i].later[k];
        for (unsigned who = 0; who < 2; who++) {
            member_symbols(&w, people[who]);
            role_symbols(&w, roles[who]);
            if (profiles[i].shares)
                symbol(&w, USHER_ROOM_UNSHARE)->arg.room.share = text(shares[who]);
        }
        if (profiles[i].locks) {
            (void)symbol(&w, USHER_ROOM_LOCK);
            (void)symbol(&w, USHER_ROOM_UNLOCK);
        }
        (void)symbol(&w, USHER_ROOM_SWEEP);
        c = symbol(&w, USHER_ROOM_SWEEP);
        c->given |= USHER_GIVEN_ROOM_MAX;
        c->arg.room.max = 1;
        c = symbol(&w, USHER_ROOM_SWEEP);
        c->given |= USHER_GIVEN_ROOM_TTL;
        c->arg.room.ttl_ms = U;
        (void)symbol(&w, USHER_ROOM_SNAPSHOT);
        c = symbol(&w, USHER_ROOM_SNAPSHOT);
        c->given |= USHER_GIVEN_ROOM_AFTER;
        c->arg.room.after = 2;
        c = symbol(&w, USHER_ROOM_SNAPSHOT);
        c->given |= USHER_GIVEN_ROOM_AFTER | USHER_GIVEN_ROOM_SINCE | USHER_GIVEN_ROOM_MAX;
        c->arg.room.after = c->arg.room.max = 1;
        c->arg.room.since = 3;
        (void)symbol(&w, USHER_ROOM_SHOW);
        (void)symbol(&w, USHER_ROOM_GET);
    }
    return w.n;
}

static struct usher_operation resolve(const void *model, void *symbol)
{
    return room_gen_resolve(symbol, model);
}

/* ---- states ------------------------------------------------------------------------ */

static const struct room_model_room *the_room(const void *m)
{
    return room_model_room(m, scope);
}

static const struct room_model_member *member_of(const struct room_model_room *r, const char *id)
{
    for (size_t i = 0; i < r->n_members; i++)
        if (strcmp(r->members[i].id->data, id) == 0)
            return &r->members[i];
    return NULL;
}

/* Return the holder of a role, or "". */
static const char *holder_of(const struct room_model_room *r, const char *role)
{
    for (size_t i = 0; i < r->n_roles; i++)
        if (strcmp(r->roles[i].id->data, role) == 0)
            return r->roles[i].holder->data;
    return "";
}

static const char *owner_of(const struct room_model_room *r, const char *share,
                            uint64_t *ret_version)
{
    *ret_version = 0;
    for (size_t i = 0; i < r->n_shares; i++)
        if (strcmp(r->shares[i].id->data, share) == 0) {
            *ret_version = r->shares[i].version;
            return r->shares[i].owner->data;
        }
    return "";
}

static void now(const void *model, uint64_t *ret_version, int64_t *ret_clock)
{
    *ret_version = the_room(model)->version;
    *ret_clock = the_room(model)->clock;
}

/* Return the age of a heartbeat, at most as much as a sweep distinguishes. */
static int64_t ago(const struct room_model_room *r, int64_t seen)
{
    int64_t age = r->clock - seen;

    return age > 4 * U ? 4 * U : age;
}

static void key(unsigned i, const void *model, char to[EXHAUSTIVE_KEY])
{
    const struct room_model_room *r = the_room(model);
    const struct room_model_member *x[2] = { member_of(r, people[0]), member_of(r, people[1]) };
    uint64_t made[2];
    size_t n;

    (void)i;
    n = (size_t)snprintf(to, EXHAUSTIVE_KEY, "%d", (int)r->state);
    for (int k = 0; k < 2; k++)
        if (x[k] != NULL)
            n += (size_t)snprintf(to + n, EXHAUSTIVE_KEY - n, " %s%d:%" PRId64 ",%" PRId64,
                                  people[k], (int)x[k]->state, ago(r, x[k]->seen),
                                  x[k]->until != 0 ? x[k]->until - r->clock : INT64_C(-9));
    if (x[0] != NULL && x[1] != NULL)
        n += (size_t)snprintf(to + n, EXHAUSTIVE_KEY - n, "%c",
                              x[0]->version < x[1]->version ? '<' : '>');
    n += (size_t)snprintf(to + n, EXHAUSTIVE_KEY - n, " %s|%s", holder_of(r, roles[0]),
                          holder_of(r, roles[1]));
    n += (size_t)snprintf(to + n, EXHAUSTIVE_KEY - n, " %s|", owner_of(r, shares[0], &made[0]));
    n += (size_t)snprintf(to + n, EXHAUSTIVE_KEY - n, "%s", owner_of(r, shares[1], &made[1]));
    if (made[0] != 0 && made[1] != 0)
        n += (size_t)snprintf(to + n, EXHAUSTIVE_KEY - n, "%c", made[0] < made[1] ? '<' : '>');
    if (r->gap_to != 0 && r->gap_to + 4 * U > r->clock)
        (void)snprintf(to + n, EXHAUSTIVE_KEY - n, " gap %" PRId64 " %" PRId64,
                       r->clock - r->gap_from > 4 * U ? 4 * U : r->clock - r->gap_from,
                       r->clock - r->gap_to);
}

static bool by_itself(enum usher_verb verb)
{
    return verb == USHER_ROOM_FADE || verb == USHER_ROOM_DROP || verb == USHER_ROOM_EXPIRE ||
           verb == USHER_ROOM_OUTAGE;
}

/* ---- invariants -------------------------------------------------------------------- */

static bool may_be_silent(enum usher_verb verb)
{
    return verb != USHER_ROOM_SHOW && verb != USHER_ROOM_GET;
}

/* Members who were not banned: what is left of a state when bans and heartbeats do not count. */
static bool same_but_for_beats(const struct room_model_room *p, const struct room_model_room *q)
{
    for (int k = 0; k < 2; k++) {
        const struct room_model_member *x = member_of(p, people[k]), *y = member_of(q, people[k]);
        int was = x == NULL || x->state == USHER_ROOM_MEMBER_BANNED ? 0 : (int)x->state;
        int is = y == NULL || y->state == USHER_ROOM_MEMBER_BANNED ? 0 : (int)y->state;

        if (was != is || strcmp(holder_of(p, roles[k]), holder_of(q, roles[k])) != 0)
            return false;
    }
    return p->state == q->state && p->n_shares == q->n_shares;
}

static const char *fault(const struct exhaustive_step *s)
{
    const struct room_model_room *p = the_room(s->before), *q = the_room(s->after);
    const struct usher_room_args *a = &s->c->arg.room;
    bool gives = s->c->verb == USHER_ROOM_ROLE && s->r->status == USHER_OK;

    if (!may_be_silent(s->c->verb) && (s->changed || s->heard->n > 0))
        return "read";
    if (s->heard->n == 0 && !same_but_for_beats(p, q))
        return "silence";
    if (gives && strcmp(holder_of(q, a->role.data), a->member.data) != 0)
        return "handed";
    /* unless its holder has just left */
    if (gives && a->expected.data != NULL && s->heard->by_itself == 0 &&
        strcmp(holder_of(p, a->role.data), a->expected.data) != 0)
        return "compared";
    for (int k = 0; k < 2; k++) {
        const char *was = holder_of(p, roles[k]), *is = holder_of(q, roles[k]);

        if (strcmp(was, is) != 0 && *is != '\0' && (!gives || strcmp(a->role.data, roles[k]) != 0))
            return "others";
    }
    return NULL;
}

static struct usher_operation look(unsigned i)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    c.scope = text(scope);
    c.verb = i % 3 == 0 ? USHER_ROOM_SHOW : i % 3 == 1 ? USHER_ROOM_CHANGES : USHER_ROOM_SNAPSHOT;
    return c;
}

int main(int argc, char **argv)
{
    static const char *names[PROFILES];
    const struct exhaustive rooms = {
        .name = "room exhaustive",
        .model = &room_noun,
        .worlds = names,
        .n_worlds = PROFILES,
        .seconds_sqlite = 4,
        .seconds_redis = 6,
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
    return exhaustive_main(&rooms, argc, argv);
}
