/* SPDX-License-Identifier: MIT */
/*
 * Replicas that follow a room on every store: one by the notices of its engine, one by the log
 * alone, one by snapshots in small pages.  A memory store gets the same commands as the store under
 * test; all of them have one digest.
 */
#include "lib/test.h"

#include "conformance/fixture.h"
#include "lib/calls.h"
#include "lib/util.h"

#include <usher/replica.h>

#define STEPS 400
#define SEED UINT64_C(20260317)

enum { BY_NOTICE, BY_LOG, BY_PAGES, REPLICAS };

struct world {
    char url[BACKEND_URL_MAX];
    struct usher_engine *e, *twin;
    struct usher_watcher *watch;
    struct usher_replica *r[REPLICAS];
    int64_t now;
    uint64_t random;
};

static void told(void *payload, const struct usher_notice *n)
{
    struct world *w = payload;

    (void)usher_replica_notice(w->r[BY_NOTICE], n);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->now = INT64_C(1700000000000);
    w->random = SEED;
    if (!under_test.fresh(w->url)) {
        free(w);
        return -1;
    }
    w->e = suite_open(w->url, &w->now, NULL);
    w->twin = suite_open("memory:", &w->now, NULL);
    for (int i = 0; i < REPLICAS; i++)
        assert_int_equal(usher_replica_open("r", NULL, &w->r[i]), USHER_OK);
    assert_int_equal(usher_watch(w->e, USHER_ROOM, "r", told, w, &w->watch), USHER_OK);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    audit(w->e);
    usher_unwatch(w->e, w->watch);
    for (int i = 0; i < REPLICAS; i++)
        usher_replica_close(w->r[i]);
    usher_close(w->twin);
    usher_close(w->e);
    free(w);
    return 0;
}

TEST_EACH(setup, teardown);

/* The same to both stores, with the same answer. */
static void step(struct world *w)
{
    struct usher_engine *const both[] = { w->e, w->twin };
    char member[8], name[8], number[8];
    unsigned which = (unsigned)random_below(&w->random, 16);
    struct usher_text value, fields = { NULL, 0 };
    unsigned char packed[64];
    struct usher_text field_name = text("f1");
    enum usher_status status[2] = { USHER_OK, USHER_OK };

    w->now += (int64_t)random_below(&w->random, 400);
    (void)snprintf(member, sizeof member, "m%u", (unsigned)random_below(&w->random, 8));
    (void)snprintf(name, sizeof name, "f%u", (unsigned)random_below(&w->random, 4));
    (void)snprintf(number, sizeof number, "%u", (unsigned)random_below(&w->random, 3));
    value = text(number);
    fields.data = (const char *)packed;
    fields.size = usher_fields_pack(&field_name, &value, 1, packed, sizeof packed);
    for (int i = 0; i < 2; i++) {
        struct usher_engine *e = both[i];

        switch (which) {
        case 0:
        case 1:
        case 2:
        case 3:
            status[i] = ask_room_join(e, "r", member, which == 0 ? NULL : &fields);
            break;
        case 4:
            status[i] = ask_room_leave(e, "r", member);
            break;
        case 5:
            status[i] = ask_room_kick(e, "r", member, 300);
            break;
        case 6:
        case 7:
            status[i] = ask_room_member(e, "r", member, name, &value, NULL);
            break;
        case 8:
            status[i] = ask_room_all(e, "r", name, &value);
            break;
        case 9:
            status[i] = ask_room_set(e, "r", name, &value, NULL);
            break;
        case 10:
            status[i] = ask_room_role(e, "r", name, member, NULL);
            break;
        case 11:
        case 12:
            status[i] = ask_room_share(e, "r", member, name, &fields);
            break;
        case 13:
            status[i] = ask_room_unshare(e, "r", name);
            break;
        case 14:
            status[i] = ask_room_unlock(e, "r");
            break;
        default:
            status[i] = ask_room_alive(e, "r", member, NULL, NULL, NULL);
        }
    }
    assert_int_equal(status[0], status[1]);
}

static void catch_up(struct world *w, struct usher_engine *e, int which)
{
    struct usher_replica *r = w->r[which];
    struct usher_replica_question q;

    for (int turn = 0; turn < 100 && !usher_replica_current(r); turn++) {
        struct usher_result reply;

        memset(&reply, 0, sizeof reply);
        usher_replica_ask(r, &q);
        if (q.kind == USHER_REPLICA_PULL)
            (void)ask_room_snapshot(e, "r", q.after, q.since, which == BY_PAGES ? 2 : 0, &reply);
        else
            (void)ask_room_changes(e, "r", q.since, 3, &reply);
        (void)replica_take(r, &q, &reply);
        usher_result_done(&reply);
    }
    assert_true(usher_replica_current(r));
}

static uint64_t mark_now(struct usher_engine *e, uint64_t version)
{
    struct usher_result reply;
    uint64_t mark;

    memset(&reply, 0, sizeof reply);
    assert_int_equal(ask_room_changes(e, "r", version, 1, &reply), USHER_OK);
    assert_true(reply.version == version);
    mark = reply.of.room.mark;
    usher_result_done(&reply);
    return mark;
}

static void compare(struct world *w)
{
    uint64_t epoch, version, twins;
    char digest[33], twin[33], copy[33];

    assert_int_equal(usher_room_digest(w->e, "r", &epoch, &version, digest), USHER_OK);
    assert_int_equal(usher_room_digest(w->twin, "r", NULL, &twins, twin), USHER_OK);
    assert_int_equal(version, twins);
    assert_string_equal(digest, twin);
    for (int i = 0; i < REPLICAS; i++) {
        if (i == BY_PAGES)
            (void)usher_replica_heartbeat(w->r[i], epoch + 1, 1, 1); /* so that it pulls */
        else
            (void)usher_replica_heartbeat(w->r[i], epoch, version, mark_now(w->e, version));
        catch_up(w, w->e, i);
        assert_int_equal(usher_replica_digest(w->r[i], copy), USHER_OK);
        assert_string_equal(copy, digest);
        assert_int_equal(usher_replica_check(w->r[i], epoch, version, digest),
                         USHER_REPLICA_IGNORE);
    }
}

TEST(replicas_equal_their_room)
{
    struct world *w = *state;
    struct usher_room_result_settings settings = {
        .capacity = 6, .ttl_ms = 4000, .away_ms = 1500, .grace_ms = 1000
    };

    assert_int_equal(ask_room_open(w->e, "r", &settings), USHER_OK);
    assert_int_equal(ask_room_open(w->twin, "r", &settings), USHER_OK);
    for (int i = 0; i < STEPS; i++) {
        step(w);
        if (i % 20 == 19)
            compare(w);
    }
    compare(w);
}

/* Coalesced changes are applied one by one; a heartbeat requests no pending notices. */
TEST(replica_follows_a_room_with_coalesced_notices)
{
    struct world *w = *state;
    struct usher_room_result_settings settings = { .capacity = 6,
                                                   .ttl_ms = 4000,
                                                   .presence_ms = 1000 };
    uint64_t epoch, version, mark;
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;

    assert_int_equal(ask_room_open(w->e, "r", &settings), USHER_OK);
    assert_int_equal(ask_room_open(w->twin, "r", &settings), USHER_OK);
    catch_up(w, w->e, BY_NOTICE);
    for (int i = 0; i < 5; i++) {
        char member[16];

        (void)snprintf(member, sizeof member, "n%d", i);
        assert_int_equal(ask_room_join(w->e, "r", member, NULL), USHER_OK);
        assert_int_equal(ask_room_join(w->twin, "r", member, NULL), USHER_OK);
    }
    assert_int_equal(ask_room_alive(w->e, "r", "n1", &epoch, &version, &mark), USHER_OK);
    assert_int_equal(version, 1);
    assert_int_equal(usher_replica_heartbeat(w->r[BY_NOTICE], epoch, version, mark),
                     USHER_REPLICA_IGNORE);
    usher_replica_show(w->r[BY_NOTICE], &about);
    assert_true(about.version == 1 && about.members == 0);
    w->now += 1000;
    assert_int_equal(ask_room_alive(w->e, "r", "n1", &epoch, &version, &mark), USHER_OK);
    assert_int_equal(ask_room_alive(w->twin, "r", "n1", NULL, NULL, NULL), USHER_OK);
    usher_replica_show(w->r[BY_NOTICE], &about);
    assert_true(version == 6 && about.version == 6 && about.members == 5);
    assert_true(usher_replica_current(w->r[BY_NOTICE]));
    for (int i = 0; i < STEPS; i++) {
        step(w);
        if (i % 20 == 19)
            compare(w);
    }
    compare(w);
}

TEST(replica_notices_that_a_room_closes_and_opens)
{
    struct world *w = *state;
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    uint64_t epoch, again;
    char digest[33];

    assert_int_equal(usher_room_digest(w->e, "r", NULL, NULL, digest), USHER_MISSING);
    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    assert_int_equal(ask_room_join(w->e, "r", "ann", NULL), USHER_OK);
    catch_up(w, w->e, BY_NOTICE);
    catch_up(w, w->e, BY_LOG);
    assert_int_equal(ask_room_alive(w->e, "r", "ann", &epoch, NULL, NULL), USHER_OK);
    assert_int_equal(ask_room_close(w->e, "r"), USHER_OK);
    usher_replica_show(w->r[BY_NOTICE], &about);
    assert_int_equal(about.state, USHER_ROOM_STATE_CLOSED);
    assert_int_equal(about.members, 0);
    assert_true(usher_replica_current(w->r[BY_NOTICE]));
    (void)usher_replica_heartbeat(w->r[BY_LOG], 0, 0, 0);
    catch_up(w, w->e, BY_LOG);
    usher_replica_show(w->r[BY_LOG], &about);
    assert_int_equal(about.state, USHER_ROOM_STATE_CLOSED);

    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    catch_up(w, w->e, BY_NOTICE);
    usher_replica_show(w->r[BY_NOTICE], &about);
    assert_int_equal(about.state, USHER_ROOM_STATE_OPEN);
    again = about.epoch;
    assert_true(again != epoch);
    assert_int_equal(about.version, 1);
}

/* The values of all come with each page, and a digest of many pages is that of one. */
TEST(a_large_room_has_the_digest_of_its_copy)
{
    struct world *w = *state;
    struct usher_text on = text("on");
    char member[24], digest[33], copy[33];

    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    for (int i = 0; i < 250; i++) {
        (void)snprintf(member, sizeof member, "member-%d", i);
        assert_int_equal(ask_room_join(w->e, "r", member, NULL), USHER_OK);
        if (i % 50 == 0)
            assert_int_equal(ask_room_member(w->e, "r", member, "mic", &on, NULL), USHER_OK);
        if (i == 120)
            assert_int_equal(ask_room_all(w->e, "r", "mic", &on), USHER_OK);
    }
    catch_up(w, w->e, BY_LOG);
    assert_int_equal(usher_room_digest(w->e, "r", NULL, NULL, digest), USHER_OK);
    assert_int_equal(usher_replica_digest(w->r[BY_LOG], copy), USHER_OK);
    assert_string_equal(copy, digest);
}

/* A page of @r's next question, or what it asks for. */
static void one_answer(struct world *w, struct usher_replica *r, size_t max)
{
    struct usher_replica_question q;
    struct usher_result reply;

    memset(&reply, 0, sizeof reply);
    usher_replica_ask(r, &q);
    if (q.kind == USHER_REPLICA_PULL)
        (void)ask_room_snapshot(w->e, "r", q.after, q.since, max, &reply);
    else
        (void)ask_room_changes(w->e, "r", q.since, 0, &reply);
    (void)replica_take(r, &q, &reply);
    usher_result_done(&reply);
}

/* Between any two pages something is changed, everywhere in the room. */
TEST(a_room_is_copied_while_it_changes)
{
    enum { MEMBERS = 300, PAGE = 10 };
    struct world *w = *state;
    struct usher_replica_about about = USHER_REPLICA_ABOUT_INIT;
    char member[24], digest[33], copy[33];
    struct usher_text value = text("v");
    int answers = 0, n = MEMBERS;

    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    for (int i = 0; i < MEMBERS; i++) {
        (void)snprintf(member, sizeof member, "member-%d", i);
        assert_int_equal(ask_room_join(w->e, "r", member, NULL), USHER_OK);
        if (i % 7 == 0)
            assert_int_equal(ask_room_share(w->e, "r", member, member, NULL), USHER_OK);
    }
    for (; !usher_replica_current(w->r[BY_LOG]); answers++) {
        char one[16], other[16];

        assert_true(answers < MEMBERS / PAGE + 20);
        one_answer(w, w->r[BY_LOG], PAGE);
        if (answers >= MEMBERS / PAGE)
            continue;
        (void)snprintf(one, sizeof one, "member-%u", (unsigned)random_below(&w->random, MEMBERS));
        (void)snprintf(other, sizeof other, "member-%u",
                       (unsigned)random_below(&w->random, MEMBERS));
        assert_true(USHER_IS_DONE(ask_room_leave(w->e, "r", one)));
        (void)ask_room_role(w->e, "r", "host", other, NULL);
        (void)ask_room_share(w->e, "r", other, one, NULL);
        (void)ask_room_member(w->e, "r", other, "mic", &value, NULL);
        if (answers % 3 == 0)
            assert_int_equal(ask_room_join(w->e, "r", one, NULL), USHER_OK);
        if (answers % 5 == 0)
            assert_int_equal(ask_room_all(w->e, "r", "mic", &value), USHER_OK);
        (void)snprintf(member, sizeof member, "new-%d", n++);
        assert_int_equal(ask_room_join(w->e, "r", member, NULL), USHER_OK);
    }
    usher_replica_show(w->r[BY_LOG], &about);
    assert_true(about.members >= 250);
    assert_int_equal(usher_room_digest(w->e, "r", NULL, NULL, digest), USHER_OK);
    assert_int_equal(usher_replica_digest(w->r[BY_LOG], copy), USHER_OK);
    assert_string_equal(copy, digest);
}

/* The state of hooks that change the room after each page of a snapshot but the last. */
struct restless {
    struct usher_engine *other; /* on the same store */
    int64_t now;
    unsigned n;
};

static int64_t restless_clock(void *payload)
{
    return ((const struct restless *)payload)->now;
}

static void restless_trace(void *payload, const struct usher_operation *command,
                           const struct usher_result *reply)
{
    struct restless *restless = payload;
    char number[16];
    struct usher_text value;

    if (command->verb != USHER_ROOM_SNAPSHOT || !reply->of.room.more)
        return;
    (void)snprintf(number, sizeof number, "%u", restless->n++);
    value = text(number);
    assert_int_equal(ask_room_set(restless->other, "r", "topic", &value, NULL), USHER_OK);
}

TEST_NEEDS(room_that_always_changes_has_a_digest, NEEDS_SHARED)
{
    struct world *w = *state;
    struct restless restless = { w->e, w->now, 0 };
    struct usher_options opt = USHER_OPTIONS_INIT;
    static char large[60000];
    struct usher_text value = { large, sizeof large };
    char member[24], digest[33], rested[33];
    struct usher_engine *e;
    uint64_t version, now;

    opt.now_ms = restless_clock;
    opt.clock_given = true;
    opt.trace = restless_trace;
    opt.payload = &restless;
    opt.drivers = under_test.drivers;
    assert_int_equal(usher_open(w->url, &opt, &e), USHER_OK);
    assert_int_equal(ask_room_open(w->e, "r", NULL), USHER_OK);
    for (int i = 0; i < 50; i++) { /* so much that it takes some pages */
        (void)snprintf(member, sizeof member, "member-%d", i);
        assert_int_equal(ask_room_join(w->e, "r", member, NULL), USHER_OK);
        assert_int_equal(ask_room_member(w->e, "r", member, "big", &value, NULL), USHER_OK);
    }
    assert_int_equal(usher_room_digest(e, "r", NULL, &version, digest), USHER_OK);
    assert_true(restless.n > 4);
    assert_int_equal(usher_room_digest(w->e, "r", NULL, &now, rested), USHER_OK);
    assert_true(now == version);
    assert_string_equal(digest, rested);
    usher_close(e);
}

/* The notices that the watcher of one engine received, and the replica that follows it. */
struct listener {
    uint64_t version[400]; /* in the order of the notices */
    size_t n;
};

static void listen(void *payload, const struct usher_notice *notice)
{
    struct listener *l = payload;
    struct usher_notice one;
    size_t at = 0;

    if (notice->verb != USHER_ROOM_PRESENCE) {
        assert_true(l->n < sizeof l->version / sizeof *l->version);
        l->version[l->n++] = notice->version;
    }
    while (usher_room_presence(notice, &at, &one))
        listen(payload, &one);
}

/* Two engines on a room with coalesced notices: the watchers of each receive each of its changes
 * once, whatever the other one does. */
TEST_NEEDS(each_engine_notifies_its_watchers_of_its_changes, NEEDS_SHARED)
{
    struct world *w = *state;
    static struct listener heard[2];
    struct usher_engine *const e[2] = { w->e, suite_open(w->url, &w->now, NULL) };
    struct usher_room_result_settings settings = { .presence_ms = 1000 };
    struct usher_watcher *watch[2];
    struct usher_text value = text("1");
    uint64_t made[2][400], since;
    size_t n[2] = { 0, 0 };
    char member[16];

    memset(heard, 0, sizeof heard);
    assert_int_equal(ask_room_open(w->e, "r", &settings), USHER_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(usher_watch(e[i], USHER_ROOM, "r", listen, &heard[i], &watch[i]),
                         USHER_OK);
    /* the bug: B's watchers received A's joins, with B's change */
    assert_int_equal(ask_room_join(e[0], "r", "x", NULL), USHER_OK);
    assert_int_equal(ask_room_join(e[0], "r", "y", NULL), USHER_OK);
    assert_int_equal(ask_room_set(e[1], "r", "f", &value, NULL), USHER_OK);
    assert_true(heard[0].n == 0 && heard[1].n == 1 && heard[1].version[0] == 4);
    assert_int_equal(ask_room_alive(e[0], "r", "x", NULL, &since, NULL), USHER_OK);
    assert_int_equal(since, 1); /* the last version of its notices */
    w->now += 1000;
    assert_int_equal(ask_room_alive(e[0], "r", "x", NULL, &since, NULL), USHER_OK);
    assert_true(heard[0].n == 2 && heard[0].version[0] == 2 && heard[0].version[1] == 3);
    assert_int_equal(since, 4);
    made[0][n[0]++] = 2;
    made[0][n[0]++] = 3;
    made[1][n[1]++] = 4;
    for (int i = 0; i < 300; i++) {
        int who = (int)random_below(&w->random, 2);
        struct usher_operation c;
        struct usher_result reply;
        uint64_t before = heard[who].n;

        (void)snprintf(member, sizeof member, "m%u", (unsigned)random_below(&w->random, 6));
        w->now += (int64_t)random_below(&w->random, 300);
        memset(&c, 0, sizeof c);
        memset(&reply, 0, sizeof reply);
        c.verb = random_below(&w->random, 8) == 0   ? USHER_ROOM_KICK
                 : random_below(&w->random, 2) == 0 ? USHER_ROOM_JOIN
                                                    : USHER_ROOM_LEAVE;
        c.scope = text("r");
        c.arg.room.member = text(member);
        assert_int_equal(usher_operate(e[who], &c, &reply, 1), USHER_OK);
        if (reply.status == USHER_OK)
            made[who][n[who]++] = reply.version;
        assert_true(heard[who].n >= before && heard[who].n <= n[who]);
        usher_result_done(&reply);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(USHER_IS_DONE(ask_room_unlock(e[i], "r"))); /* sends pending notices */
        assert_int_equal(heard[i].n, n[i]);
        assert_memory_equal(heard[i].version, made[i], n[i] * sizeof *made[i]);
        usher_unwatch(e[i], watch[i]);
    }
    usher_close(e[1]);
}
