/* SPDX-License-Identifier: MIT */
/*
 * Every way in which two servers can change hands, up to a depth: a replica catches up or does not,
 * is promoted while its master continues or is gone, the abandoned one becomes a replica of the
 * other and is promoted in its turn (A, B, A).  On each master calls begin and end and a room is
 * written to.  An owner that has lost a number takes it back with node "m", and calls get a longest
 * time (lease-max), which may be lost as well.  A store with two writers in turn
 * (lib/rollback_store.h) stands for both servers.
 *
 * After each step every token ever issued is shown to each master.  If it is in the history of the
 * master, the hold is current or stale; if not, it is `lost`.  No two holds of any owners have one
 * token.  Only holds that were taken back are the calls of their node.  A call that is renewed for
 * ever gets an end if the store has a lease-max, and only then.
 */
#include "lib/test.h"

#include <usher/store/store.h>

#include "lib/calls.h"
#include "lib/rollback_store.h"
#include "lib/command_line.h"

#define GRANTS 16
#define LONGEST_MS 36000000 /* longer than it takes */

/* A grant to an owner: a number, and a version of the room. */
struct grant {
    struct ask_number_hold hold;
    unsigned owner;
    uint64_t room;
    bool back; /* it is one that was lost before */
};

struct server {
    struct rollback_copy *has;
    uint64_t which;
    bool master;
    bool longest;           /* it knows of one */
    uint32_t history, live; /* of the grants */
};

struct world {
    struct server servers[2];
    struct grant grants[GRANTS];
    unsigned n, owners;
    bool longest; /* was set, by either */
};

static struct usher_engine *e;
static uint64_t identities;
static char path[64];
static uint64_t nodes, lost, retaken, not_retaken;

enum step { CALL, HANGUP, RETAKE, LONGEST, CATCH_UP, PROMOTE, DEMOTE, STEPS };
static const char letters[] = "chrlupd";

static void be(const struct server *s)
{
    rollback_become(s->has, s->which);
}

/* Keep the present state of the store as that of @s. */
static void keep(struct server *s)
{
    s->has = rollback_copy();
    assert_non_null(s->has);
}

static void add(struct world *w, struct server *s, const struct ask_number_hold *hold,
                unsigned owner, bool back)
{
    struct grant *g = &w->grants[w->n];
    char name[16], value[16];
    struct usher_result r;

    assert_true(w->n < GRANTS);
    for (unsigned i = 0; i < w->n; i++)
        if (w->grants[i].hold.token == hold->token)
            fail_msg("%s: one token is given twice", path);
    g->hold = *hold;
    g->owner = owner;
    g->back = back;
    (void)snprintf(name, sizeof name, "f%u", w->n % 3);
    (void)snprintf(value, sizeof value, "%u", w->n);
    line_execute(e, &r, "room set r %s %s", name, value);
    if (r.status != USHER_OK)
        fail_msg("%s: room set: %s", path, r.message);
    g->room = r.version;
    usher_result_done(&r);
    s->history |= 1u << w->n;
    s->live |= 1u << w->n++;
}

static const char *owner_name(unsigned owner, char name[16])
{
    (void)snprintf(name, 16, "o%u", owner);
    return name;
}

/* The newest of @grants; GRANTS: none. */
static unsigned newest(uint32_t grants)
{
    for (unsigned i = GRANTS; i-- > 0;)
        if ((grants & 1u << i) != 0)
            return i;
    return GRANTS;
}

static bool call(struct world *w, struct server *s)
{
    struct ask_number_hold hold;
    char name[16];
    enum usher_status status;

    be(s);
    status = ask_number_call(e, "p", owner_name(w->owners, name), NULL, &hold);
    if (status == USHER_EMPTY)
        return false;
    assert_int_equal(status, USHER_OK);
    add(w, s, &hold, w->owners++, false);
    keep(s);
    return true;
}

static bool hang_up(struct world *w, struct server *s)
{
    unsigned i = newest(s->live);

    if (i == GRANTS)
        return false;
    be(s);
    assert_int_equal(
        ask_number_hangup(e, "p", w->grants[i].hold.number, w->grants[i].hold.token, -1), USHER_OK);
    s->live &= ~(1u << i);
    keep(s);
    return true;
}

/* Once on each way and early, so that something follows; nor does it take too long. */
static bool set_longest(struct world *w, struct server *s)
{
    struct usher_result r;

    if (w->longest || w->n > 1)
        return false;
    be(s);
    line_execute(e, &r, "number set p lease-max=%d", LONGEST_MS);
    assert_int_equal(r.status, USHER_OK);
    usher_result_done(&r);
    w->longest = s->longest = true;
    keep(s);
    return true;
}

/* The newest one that @s has lost is taken back there. */
static bool take_back(struct world *w, struct server *s)
{
    unsigned i = newest(~s->history & ((1u << w->n) - 1)), by = GRANTS;
    struct ask_number_call_options options = { 0 };
    struct ask_number_hold hold;
    char name[16];
    enum usher_status status;

    if (i == GRANTS)
        return false;
    for (unsigned k = 0; k < w->n; k++)
        if ((s->live & 1u << k) != 0 &&
            strcmp(w->grants[k].hold.number, w->grants[i].hold.number) == 0)
            by = k;
    be(s);
    hold = w->grants[i].hold;
    options.node = "m";
    options.lease_ms = -1;
    status = ask_number_renew_as(e, "p", owner_name(w->grants[i].owner, name), &options, &hold);
    if (by == GRANTS) {
        if (status != USHER_OK)
            fail_msg("%s: what is free is not taken back: %s", path, usher_status_word(status));
        add(w, s, &hold, w->grants[i].owner, true);
        retaken++;
    } else if (w->grants[by].owner ==
               w->grants[i].owner) { /* the same owner has taken it back before */
        assert_int_equal(status, USHER_SAME);
        assert_true(hold.token == w->grants[by].hold.token);
    } else {
        assert_int_equal(status, USHER_LOST);
        not_retaken++;
    }
    keep(s);
    return true;
}

/* False: it cannot be, or changes nothing that matters. */
static bool take(struct world *w, enum step step, unsigned k)
{
    struct server *s = &w->servers[k], *other = &w->servers[1 - k];

    switch (step) {
    case CALL:
        return s->master && call(w, s);
    case HANGUP:
        return s->master && hang_up(w, s);
    case RETAKE:
        return s->master && take_back(w, s);
    case LONGEST:
        return s->master && set_longest(w, s);
    case PROMOTE:
        if (s->master)
            return false;
        s->master = true;
        s->which = ++identities;
        return true;
    default: /* it has all that the other has, which is its master from now on */
        if ((step == DEMOTE) != s->master || !other->master)
            return false;
        s->master = false;
        s->has = other->has;
        s->history = other->history;
        s->live = other->live;
        s->longest = other->longest;
        return true;
    }
}

/* The calls of the node are those that were taken back. */
static void look_at_node(const struct world *w, const struct server *s)
{
    struct usher_result r;
    size_t n = 0;

    assert_int_equal(ask_number_list_node(e, "p", "m", &r), USHER_OK);
    for (unsigned i = 0; i < w->n; i++)
        if ((s->live & 1u << i) != 0 && w->grants[i].back) {
            bool found = false;

            for (size_t k = 0; k < r.of.number.n_rows; k++)
                found |= r.of.number.rows[k].token == w->grants[i].hold.token;
            if (!found)
                fail_msg("%s: the %u. hold is not of the node", path, i + 1);
            n++;
        }
    if (r.of.number.n_rows != n)
        fail_msg("%s: the node has %zu calls more", path, r.of.number.n_rows - n);
    usher_result_done(&r);
}

static void look(const struct world *w)
{
    for (unsigned k = 0; k < 2; k++) {
        const struct server *s = &w->servers[k];

        if (!s->master)
            continue;
        be(s);
        look_at_node(w, s);
        for (unsigned i = 0; i < w->n; i++) {
            const struct grant *g = &w->grants[i];
            bool known = (s->history & 1u << i) != 0;
            struct usher_result r;
            int64_t until = 0;
            enum usher_status status =
                ask_number_renew(e, "p", g->hold.number, g->hold.token, -1, &until);

            if (USHER_IS_DONE(status) && (until != 0) != s->longest)
                fail_msg("%s: %c says that the %u. hold ends at %" PRId64, path, 'a' + (int)k,
                         i + 1, until);
            if (known ? (s->live & 1u << i) != 0 ? status != USHER_SAME
                                                 : status != USHER_STALE && status != USHER_REFUSED
                      : status != USHER_LOST)
                fail_msg("%s: %c says %s of the %u. hold", path, 'a' + (int)k,
                         usher_status_word(status), i + 1);
            (void)ask_room_changes(e, "r", g->room, 0, &r);
            /* before any change of hands a version from elsewhere may be of a room of before, too
             */
            if (known ? !USHER_IS_DONE(r.status)
                      : r.status != USHER_LOST && (s->which != 1 || r.status != USHER_STALE))
                fail_msg("%s: %c says %s of the %u. version", path, 'a' + (int)k,
                         usher_status_word(r.status), i + 1);
            usher_result_done(&r);
            lost += !known;
        }
    }
}

static void go_on(const struct world *from, unsigned depth, unsigned left)
{
    for (int step = 0; step < STEPS; step++)
        for (unsigned k = 0; k < 2; k++) {
            struct world w = *from;

            path[2 * depth] = letters[step];
            path[2 * depth + 1] = (char)('a' + k);
            path[2 * depth + 2] = '\0';
            if (take(&w, (enum step)step, k)) {
                nodes++;
                look(&w);
                if (left > 1)
                    go_on(&w, depth + 1, left - 1);
            }
            for (unsigned i = 0; i < 2; i++)
                if (w.servers[i].has != from->servers[0].has &&
                    w.servers[i].has != from->servers[1].has)
                    rollback_free(w.servers[i].has);
        }
}

TEST(each_failover_reports_exactly_what_was_lost)
{
    static const char *const begin[] = { "number add p 1", "number reg p 1", "number add p 2",
                                         "number reg p 2", "room open r" };
    struct usher_options options = USHER_OPTIONS_INIT;
    uint64_t depth = number_from("USHER_DEPTH", budget_long() ? 10 : budget_slow() ? 6 : 8);
    struct world w;

    options.drivers = &rollback_driver;
    assert_int_equal(usher_open("rollback:", &options, &e), USHER_OK);
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        struct usher_result r;

        line_execute(e, &r, "%s", begin[i]);
        assert_int_equal(r.status, USHER_OK);
        usher_result_done(&r);
    }
    memset(&w, 0, sizeof w);
    w.servers[0].master = true;
    w.servers[0].which = identities = 1;
    keep(&w.servers[0]);
    w.servers[1] = w.servers[0];
    w.servers[1].master = false;
    go_on(&w, 0, (unsigned)depth);
    rollback_free(w.servers[0].has);
    usher_close(e);
    print_message("%" PRIu64 " steps to a depth of %" PRIu64 ", %" PRIu64
                  " times lost; taken back %" PRIu64 ", not any more %" PRIu64 "\n",
                  nodes, depth, lost, retaken, not_retaken);
    assert_true(lost > 0 && retaken > 0 && not_retaken > 0);
}
