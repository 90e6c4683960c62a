/* SPDX-License-Identifier: MIT */
/*
 * A store that goes back in time.  Each noun answers `lost` for holds that the store has lost, to
 * any client; the others continue; and no later token equals one of the lost.  Rule 10 of the
 * specification of the Redis store, for Redis and SQLite.
 */
#include "lib/test.h"

#include <signal.h>

#include <usher/command.h>
#include <usher/replica.h>
#include <usher/store/store.h>

#include "core/changes.h"
#include "lib/calls.h"
#include "lib/rollback_store.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/fake_authority.h"
#include "lib/util.h"
#ifdef USHER_WITH_REDIS
#include "lib/servers.h"
#endif

/* One hold of each noun, as a client got it. */
struct given {
    char number[16];
    uint64_t token; /* of the number */
    char who[16];
    uint64_t login; /* of an agent with a caller, and its token */
    uint64_t visit; /* of the caller */
    int64_t bill;
    uint64_t bill_token;
    int64_t id;
    uint64_t id_token;
    uint64_t room; /* the version of its change */
    uint64_t room_epoch;
};

static void begin(struct usher_engine *e)
{
    for (int i = 101; i < 110; i++) {
        expect_ok(e, "number add p %d", i);
        expect_ok(e, "number reg p %d", i);
    }
    expect_ok(e, "queue set desk ttl=0");
    expect_ok(e, "serial rule bill prefix=B width=6 mode=gapfree");
    expect_ok(e, "id create ids");
    expect_ok(e, "room open lobby");
}

static void give(struct usher_engine *e, const char *who, struct given *g)
{
    static unsigned sets;
    struct usher_result r;

    line_execute(e, &r, "number call p owner=%s", who);
    assert_int_equal(r.status, USHER_OK);
    (void)snprintf(g->number, sizeof g->number, "%.15s", r.of.number.number);
    g->token = r.of.number.token;
    usher_result_done(&r);
    line_execute(e, &r, "queue login desk %s", who);
    assert_int_equal(r.status, USHER_OK);
    g->login = r.of.queue.login;
    usher_result_done(&r);
    (void)snprintf(g->who, sizeof g->who, "%s", who);
    line_execute(e, &r, "queue apply desk caller-of-%s", who);
    assert_int_equal(r.status, USHER_OK);
    g->visit = r.of.queue.count; /* visit_token */
    usher_result_done(&r);
    line_execute(e, &r, "serial reserve bill owner=%s lease=3600000", who);
    assert_int_equal(r.status, USHER_OK);
    g->bill = r.of.serial.rows[0].first;
    g->bill_token = r.of.serial.token;
    usher_result_done(&r);
    line_execute(e, &r, "id next ids n=5");
    assert_int_equal(r.status, USHER_OK);
    g->id = r.of.id.first;
    g->id_token = r.of.id.token;
    usher_result_done(&r);
    line_execute(e, &r, "room set lobby last %s-%u", who, ++sets);
    assert_int_equal(r.status, USHER_OK);
    g->room = r.version;
    g->room_epoch = r.epoch;
    usher_result_done(&r);
}

struct last_notice {
    unsigned n;
    struct usher_notice notice;
    char subject[32];
};

static void on_last_notice(void *payload, const struct usher_notice *n)
{
    struct last_notice *h = payload;

    h->n++;
    h->notice = *n;
    (void)snprintf(h->subject, sizeof h->subject, "%.*s", (int)n->subject.size,
                   n->subject.size != 0 ? n->subject.data : "");
}

/* Check that a command with @version is answered `lost`, and that watchers are notified. */
static void answers_lost(struct usher_engine *e, struct last_notice *h, uint64_t version,
                         const char *subject, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void answers_lost(struct usher_engine *e, struct last_notice *h, uint64_t version,
                         const char *subject, const char *format, ...)
{
    const unsigned n = h->n;
    struct usher_result r;
    char line[256];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    line_execute(e, &r, "%s", line);
    if (r.status != USHER_LOST)
        fail_msg("%s: %s (%s)", line, usher_status_word(r.status), r.message);
    assert_true(r.version > 0 && r.version < version && r.epoch != 0);
    assert_int_equal(h->n, n + 1);
    assert_int_equal(h->notice.verb, USHER_NOTICE_LOST);
    assert_string_equal(usher_verb_word(h->notice.verb), "lost");
    assert_int_equal(h->notice.noun, r.noun);
    assert_true(h->notice.epoch == r.epoch && h->notice.version == r.version);
    assert_true(h->notice.before == r.version);
    assert_true(h->notice.token == (strstr(line, "token=") != NULL ? version : 0));
    assert_string_equal(h->subject, subject);
    usher_result_done(&r);
}

/* Check that all holds of @g are lost.  @bill_is_anothers: the serial was issued again, so it
 * cannot be taken back. */
static void all_lost(struct usher_engine *e, const struct given *g, bool bill_is_anothers)
{
    struct last_notice h = { 0 };
    struct usher_watcher *watch;
    char room[32], bill[32], caller[32];
    static const char *const versions[] = { "set lobby last absent if-version",
                                            "close lobby if-version", "snapshot lobby if-version",
                                            "snapshot lobby since", "changes lobby since" };

    (void)snprintf(room, sizeof room, "%" PRIu64 ".1", g->login);
    (void)snprintf(bill, sizeof bill, "B%06" PRId64, g->bill);
    (void)snprintf(caller, sizeof caller, "caller-of-%s", g->who);
    assert_int_equal(usher_watch(e, (enum usher_noun)0, NULL, on_last_notice, &h, &watch),
                     USHER_OK);
    answers_lost(e, &h, g->token, g->number, "number renew p %s token=%" PRIu64 " lease=5000",
                 g->number, g->token);
    answers_lost(e, &h, g->token, g->number, "number hangup p %s token=%" PRIu64, g->number,
                 g->token);
    answers_lost(e, &h, g->login, room, "queue finish desk %s", room);
    answers_lost(e, &h, g->login, g->who, "queue logout desk %s token=%" PRIu64, g->who, g->login);
    answers_lost(e, &h, g->visit, caller, "queue leave desk %s token=%" PRIu64, caller, g->visit);
    if (bill_is_anothers)
        answers_lost(e, &h, g->bill_token, bill, "serial confirm bill %s token=%" PRIu64, bill,
                     g->bill_token);
    answers_lost(e, &h, g->id_token, "", "id return ids %" PRId64 " 5 token=%" PRIu64, g->id,
                 g->id_token);
    answers_lost(e, &h, g->room, "zoe",
                 "room join lobby zoe if-version=%" PRIu64 " epoch=%016" PRIx64, g->room,
                 g->room_epoch);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        answers_lost(e, &h, g->room, i == 0 ? "last" : "", "room %s=%" PRIu64 " epoch=%016" PRIx64,
                     versions[i], g->room, g->room_epoch);
    usher_unwatch(e, watch);
}

/* All holds of @g work, and end here. */
static void all_there(struct usher_engine *e, const struct given *g)
{
    expect_ok(e, "number renew p %s token=%" PRIu64 " lease=3600000", g->number, g->token);
    expect_ok(e, "number hangup p %s token=%" PRIu64, g->number, g->token);
    expect(e, USHER_REFUSED, "number hangup p %s token=%" PRIu64, g->number, g->token);
    expect_ok(e, "queue alive desk agent=%s token=%" PRIu64, g->who, g->login);
    expect_ok(e, "queue where desk caller-of-%s token=%" PRIu64, g->who, g->visit);
    expect_ok(e, "queue finish desk %" PRIu64 ".1", g->login);
    expect_ok(e, "serial confirm bill B%06" PRId64 " token=%" PRIu64, g->bill, g->bill_token);
    expect(e, USHER_SAME, "serial confirm bill B%06" PRId64 " token=%" PRIu64, g->bill,
           g->bill_token);
    expect_ok(e, "room changes lobby since=%" PRIu64, g->room);
}

/* Bob's lost number is free: bob gets it again by the old token, and no other owner does. */
static void check_taken_back(struct usher_engine *e, const struct given *bob)
{
    struct ask_number_hold hold = { .token = bob->token }, again;
    struct ask_number_call_options options = { 0 };
    struct usher_result r;
    uint64_t n;

    (void)snprintf(hold.number, sizeof hold.number, "%s", bob->number);
    options.node = "pbx1";
    options.lease_ms = 3600000;
    assert_int_equal(ask_number_renew_as(e, "p", "bob", &options, &hold), USHER_OK);
    assert_string_equal(hold.number, bob->number);
    assert_true(hold.token != bob->token && hold.until_ms > 0);
    line_execute(e, &r, "number show p %s", bob->number);
    assert_int_equal(r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_true(r.of.number.token == hold.token);
    usher_result_done(&r);
    /* the answer was lost as well: repeated with the old token */
    again = hold;
    again.token = bob->token;
    options.node = "pbx2";
    options.lease_ms++;
    assert_int_equal(ask_number_renew_as(e, "p", "bob", &options, &again), USHER_OK);
    assert_true(again.token == hold.token);
    assert_int_equal(ask_number_list_node(e, "p", "pbx1", &r), USHER_OK);
    assert_int_equal(r.of.number.n_rows, 1);
    assert_true(r.of.number.rows[0].token == hold.token);
    usher_result_done(&r);
    assert_int_equal(ask_number_renew_node(e, "p", "pbx2", 5000, &n), USHER_SAME);
    assert_int_equal(ask_number_renew_node(e, "p", "pbx1", 5000, &n), USHER_OK);
    assert_true(n == 1);
    audit(e);
    expect(e, USHER_LOST, "number renew p %s token=%" PRIu64 " owner=eve", bob->number, bob->token);
    expect(e, USHER_LOST, "number hangup p %s token=%" PRIu64, bob->number, bob->token);
    expect(e, USHER_SAME, "number call p owner=bob");
    expect_ok(e, "number hangup p %s token=%" PRIu64 " rest=0", bob->number, hold.token);
    expect(e, USHER_LOST, "number renew p none token=%" PRIu64 " owner=bob", bob->token);
    assert_int_equal(ask_number_renew_as(e, "p", "bob", NULL, &hold), USHER_REFUSED); /* is over */
}

/* Notices of a scope follow each other by `before`, gap or not. */
struct chain {
    uint64_t version;
    unsigned n, jumps;
};

static void on_notice(void *payload, const struct usher_notice *n)
{
    struct chain *c = payload;

    if (n->verb == USHER_NOTICE_LOST) /* is no change */
        return;
    if (n->before != c->version)
        fail_msg("`%s` of version %" PRIu64 " follows %" PRIu64 ", not %" PRIu64,
                 usher_verb_word(n->verb), n->version, n->before, c->version);
    c->jumps += n->version != n->before + 1;
    c->version = n->version;
    c->n++;
}

/* ---- rooms and their replicas ------------------------------------------------------------ */

struct copy {
    struct usher_replica *r;
    unsigned pulls, replays, applied;
};

static void copy_hear(void *payload, const struct usher_notice *n)
{
    struct copy *c = payload;

    c->applied += usher_replica_notice(c->r, n) == USHER_REPLICA_APPLY;
}

static void copy_settle(struct usher_engine *e, struct copy *c)
{
    for (int i = 0; i < 20 && !usher_replica_current(c->r); i++) {
        struct usher_replica_question q;
        struct usher_result r;

        usher_replica_ask(c->r, &q);
        if (q.kind == USHER_REPLICA_PULL)
            (void)ask_room_snapshot(e, "lobby", q.after, q.since, 0, &r);
        else
            (void)ask_room_changes(e, "lobby", q.since, 0, &r);
        c->pulls += q.kind == USHER_REPLICA_PULL;
        c->replays += q.kind == USHER_REPLICA_REPLAY;
        (void)replica_take(c->r, &q, &r);
        usher_result_done(&r);
    }
    assert_true(usher_replica_current(c->r));
}

static void copy_heartbeat(struct usher_engine *e, struct copy *c)
{
    struct usher_result r;

    line_execute(e, &r, "room alive lobby ann");
    assert_int_equal(r.status, USHER_OK);
    (void)usher_replica_heartbeat(c->r, r.epoch, r.of.room.since, r.of.room.mark);
    usher_result_done(&r);
}

static void check_copy(struct usher_engine *e, const struct copy *c)
{
    char here[33], there[33];

    assert_int_equal(usher_room_digest(e, "lobby", NULL, NULL, there), USHER_OK);
    assert_int_equal(usher_replica_digest(c->r, here), USHER_OK);
    assert_string_equal(here, there);
}

/* Make a room and a copy of it. */
static void room_begin(struct usher_engine *e, struct copy *c)
{
    memset(c, 0, sizeof *c);
    expect_ok(e, "room open lobby");
    expect_ok(e, "room join lobby ann");
    expect_ok(e, "room set lobby topic one");
    assert_int_equal(usher_replica_open("lobby", NULL, &c->r), USHER_OK);
    copy_settle(e, c);
}

/* Make changes that the store will lose, and a copy with them. */
static void room_changes(struct usher_engine *e, struct copy *c)
{
    expect_ok(e, "room set lobby topic two");
    expect_ok(e, "room set lobby colour blue");
    memset(c, 0, sizeof *c);
    assert_int_equal(usher_replica_open("lobby", NULL, &c->r), USHER_OK);
    copy_settle(e, c);
}

/* Check @old, a copy of the state that the store still has, and @lost, a copy of the lost state. */
static void room_after_a_loss(struct usher_engine *e, struct copy *old, struct copy *lost)
{
    struct usher_watcher *watch, *also;

    copy_heartbeat(e, old);
    assert_true(usher_replica_current(old->r));
    copy_heartbeat(e, lost);
    assert_false(usher_replica_current(lost->r));
    assert_int_equal(usher_watch(e, USHER_ROOM, "lobby", copy_hear, old, &watch), USHER_OK);
    assert_int_equal(usher_watch(e, USHER_ROOM, "lobby", copy_hear, lost, &also), USHER_OK);
    expect_ok(e, "room set lobby topic three");
    expect_ok(e, "room set lobby colour red");
    assert_true(usher_replica_current(old->r));
    assert_true(old->pulls == 1 && old->applied == 2);
    assert_true(lost->applied == 0);
    copy_settle(e, lost);
    check_copy(e, old);
    check_copy(e, lost);
    usher_unwatch(e, watch);
    usher_unwatch(e, also);
    usher_replica_close(old->r);
    usher_replica_close(lost->r);
    audit(e);
}

/* Check @e, whose store has lost bob's holds and kept ann's. */
static void after_a_loss(struct usher_engine *e, const struct given *ann, const struct given *bob)
{
    struct usher_watcher *watch;
    struct usher_result r;
    struct chain chain = { 0, 0, 0 };
    struct given dora;

    all_lost(e, bob, false); /* also before the first write */
    line_execute(e, &r, "number stats p");
    chain.version = r.version;
    usher_result_done(&r);
    assert_int_equal(usher_watch(e, USHER_NUMBER, "p", on_notice, &chain, &watch), USHER_OK);
    give(e, "dora", &dora);
    assert_string_equal(dora.number, bob->number); /* dora gets bob's number, serial and id */
    assert_true(dora.bill == bob->bill && dora.id == bob->id);
    assert_true(dora.token != bob->token && dora.login != bob->login &&
                dora.bill_token != bob->bill_token && dora.id_token != bob->id_token);
    all_lost(e, bob, true); /* they are dora's now */
    expect(e, USHER_LOST, "number renew p %s token=%" PRIu64 " owner=bob", bob->number, bob->token);
    all_there(e, ann);
    all_there(e, &dora);
    all_lost(e, bob, true);
    check_taken_back(e, bob);
    usher_unwatch(e, watch);
    assert_true(chain.n >= 5 && chain.jumps == 1);
    audit(e);
}

/* Three numbers of a gap-free rule are lost.  Their holders end them; one without a holder stays
 * listed until a person ends it. */
static void lost_serials_are_listed(struct usher_engine *e, const uint64_t token[4])
{
    struct usher_result r;
    uint64_t of_lost;

    expect_ok(e, "serial confirm inv I4 token=%" PRIu64,
              token[3]); /* the highest lost serial first */
    expect(e, USHER_SAME, "serial confirm inv I4 token=%" PRIu64, token[3]);
    expect(e, USHER_STALE, "serial void inv I4 token=%" PRIu64, token[0]);
    line_execute(e, &r, "serial holds inv");
    assert_int_equal(r.of.serial.n_rows, 2); /* the first is held, 2 and 3 are lost */
    assert_int_equal(r.of.serial.rows[1].state, USHER_SERIAL_STATE_LOST);
    assert_true(r.of.serial.rows[1].first == 2 && r.of.serial.rows[1].n == 2);
    of_lost = r.of.serial.rows[1].token;
    usher_result_done(&r);
    line_execute(e, &r, "serial reserve inv");
    assert_true(r.of.serial.rows[0].first == 5);
    usher_result_done(&r);
    expect(e, USHER_LOST, "serial renew inv I3 token=%" PRIu64, token[2]);
    expect_ok(e, "serial return inv I3 token=%" PRIu64, token[2]);
    expect(e, USHER_SAME, "serial return inv I3 token=%" PRIu64, token[2]);
    expect(e, USHER_REFUSED, "serial delete inv");
    expect(e, USHER_STALE, "serial void inv I2 token=%" PRIu64, token[0]);
    expect_ok(e, "serial void inv I2 token=%" PRIu64, of_lost);
    line_execute(e, &r, "serial holds inv");
    assert_int_equal(r.of.serial.n_rows, 2);
    usher_result_done(&r);
    expect_ok(e, "serial confirm inv I1 token=%" PRIu64, token[0]);
    /* a token of a store whose versions were beyond the jump */
    expect_ok(e, "serial confirm inv I7 token=%" PRIu64, UINT64_C(1) << 52);
    expect(e, USHER_SAME, "serial confirm inv I7 token=%" PRIu64, UINT64_C(1) << 52);
    line_execute(e, &r, "serial holds inv");
    assert_int_equal(r.of.serial.n_rows, 2);
    assert_true(r.of.serial.rows[1].first == 6 && r.of.serial.rows[1].n == 1);
    usher_result_done(&r);
    audit(e);
}

static void line_begin(struct usher_engine *e)
{
    struct usher_result never;

    expect_ok(e, "queue set line ttl=60000");
    assert_int_equal(line_execute(e, &never, "queue where line u1"), USHER_MISSING);
    assert_int_equal(never.of.queue.why, USHER_QUEUE_WHY_NONE);
    usher_result_done(&never);
    expect_ok(e, "queue login line ann");
    expect_ok(e, "queue apply line seated");
}

/* A user that applies with its first arrival time has its old position again, although the store
 * has lost it. */
static void check_lost_line(struct usher_engine *e)
{
    static const char *const users[] = { "u1", "u2", "later" };
    struct usher_result lost;

    assert_int_equal(line_execute(e, &lost, "queue where line u1"), USHER_MISSING);
    assert_int_equal(lost.of.queue.why, USHER_QUEUE_WHY_LOST);
    usher_result_done(&lost);
    expect_ok(e, "queue apply line later since=5000");
    expect_ok(e, "queue apply line u2 since=2000");
    expect_ok(e, "queue apply line u1 since=1000");
    expect(e, USHER_SAME, "queue apply line u2 since=2000");
    for (int i = 0; i < 3; i++) {
        struct usher_result r;

        line_execute(e, &r, "queue where line %s", users[i]);
        assert_int_equal(r.of.queue.index, i);
        usher_result_done(&r);
    }
    audit(e);
}

static void reserve(struct usher_engine *e, uint64_t *token)
{
    struct usher_result r;

    line_execute(e, &r, "serial reserve inv lease=3600000");
    assert_int_equal(r.status, USHER_OK);
    *token = r.of.serial.token;
    usher_result_done(&r);
}

/* ---- a longest hold ---------------------------------------------------------------------- */

#define T INT64_C(1000000) /* times are given */

static struct usher_engine *opened_in_time(const char *url)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.drivers = &rollback_driver;
    options.clock_given = true;
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

#define held(e, want, at, until, ...) line_execute_hold(e, T, want, at, until, __VA_ARGS__)

struct longest {
    uint64_t ann, bob, carl, dora;
};

/* Commands that the store keeps. */
static void longest_begin(struct usher_engine *e, struct longest *l)
{
    for (int i = 1; i <= 4; i++) {
        expect_ok(e, "number add %s %d now=%" PRId64, "p", i, T);
        expect_ok(e, "number reg %s %d now=%" PRId64, "p", i, T);
        expect_ok(e, "number add %s %d now=%" PRId64, "q", i, T);
        expect_ok(e, "number reg %s %d now=%" PRId64, "q", i, T);
    }
    expect_ok(e, "number set q lease-max=1000 now=%" PRId64, T);
    l->ann = held(e, USHER_OK, 0, 0, "call p owner=ann number=1");
    l->carl = held(e, USHER_OK, 0, 400, "call q owner=carl number=1 lease=400");
}

/* Commands that the store loses: one pool gets a longest hold and the other one loses its own. */
static void longest_is_changed(struct usher_engine *e, struct longest *l)
{
    expect_ok(e, "number set p lease-max=1000 now=%" PRId64, T + 100);
    expect_ok(e, "number set q lease-max=0 now=%" PRId64, T + 100);
    (void)held(e, USHER_SAME, 100, 1000, "renew p 1 token=%" PRIu64, l->ann);
    (void)held(e, USHER_OK, 100, 0, "renew q 1 token=%" PRIu64 " lease=0", l->carl);
    l->bob = held(e, USHER_OK, 100, 1100, "call p owner=bob number=2");
    l->dora = held(e, USHER_OK, 100, 0, "call q owner=dora number=2 node=pbx");
}

static int64_t longest_of(struct usher_engine *e, const char *pool)
{
    struct usher_result r;
    int64_t longest;

    line_execute(e, &r, "number set %s now=%" PRId64, pool, T + 300);
    assert_int_equal(r.status, USHER_OK);
    longest = r.of.number.of.settings.lease_max_ms;
    usher_result_done(&r);
    return longest;
}

/* The settings that the store has not lost apply: to holds that it still has from their begin, and
 * to those that are taken back from then on. */
static void longest_after_the_loss(struct usher_engine *e, const struct longest *l)
{
    uint64_t bob, dora;

    assert_int_equal(longest_of(e, "p"), 0);
    assert_int_equal(longest_of(e, "q"), 1000);
    (void)held(e, USHER_SAME, 300, 0, "renew p 1 token=%" PRIu64, l->ann);
    /* it has an end again, which is not later because it had none in between */
    (void)held(e, USHER_OK, 300, 1000, "renew q 1 token=%" PRIu64 " lease=0", l->carl);
    expect(e, USHER_LOST, "number renew p 2 token=%" PRIu64 " now=%" PRId64, l->bob, T + 300);
    bob = held(e, USHER_OK, 500, 0, "renew p 2 token=%" PRIu64 " owner=bob", l->bob);
    dora = held(e, USHER_OK, 500, 1500, "renew q 2 token=%" PRIu64 " owner=dora node=pbx lease=0",
                l->dora);
    assert_true(bob != l->bob && dora != l->dora);
    /* a repeat with the lost token changes nothing, and renewing the whole node neither */
    (void)held(e, USHER_OK, 600, 1500, "renew q 2 token=%" PRIu64 " owner=dora lease=9000",
               l->dora);
    expect(e, USHER_SAME, "number renew q node=pbx now=%" PRId64, T + 600);
    /* it is set again */
    expect_ok(e, "number set p lease-max=1000 now=%" PRId64, T + 700);
    (void)held(e, USHER_SAME, 700, 1000, "renew p 1 token=%" PRIu64, l->ann);
    (void)held(e, USHER_OK, 800, 1000, "renew p 1 token=%" PRIu64 " lease=9000", l->ann);
    (void)held(e, USHER_SAME, 800, 1500, "renew p 2 token=%" PRIu64, bob);
    (void)held(e, USHER_SAME, 900, 1500, "renew p 2 token=%" PRIu64 " owner=bob lease=0", l->bob);
    /* all holds are ended */
    expect(e, USHER_REFUSED, "number renew q 1 token=%" PRIu64 " now=%" PRId64, l->carl, T + 1000);
    (void)held(e, USHER_OK, 1000, 2000, "call p owner=eve number=1");
    expect(e, USHER_REFUSED, "number renew p 2 token=%" PRIu64 " now=%" PRId64, bob, T + 1500);
    (void)held(e, USHER_OK, 1500, 2500, "call q owner=eve number=2");
    expect(e, USHER_LOST, "number renew q 2 token=%" PRIu64 " owner=dora now=%" PRId64, l->dora,
           T + 1500);
    audit(e);
}

struct presence_watcher {
    struct copy *c;
    unsigned ranges;
};

static void on_presence(void *payload, const struct usher_notice *n)
{
    struct presence_watcher *h = payload;

    h->ranges += n->verb == USHER_ROOM_PRESENCE;
    (void)usher_replica_notice(h->c->r, n);
}

/* Coalesced notices that are pending when the store loses their changes: the version of a heartbeat
 * does not include them. */
TEST_WITH(a_heartbeat_leaves_out_coalesced_notices_that_are_lost, NULL, NULL)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    struct usher_watcher *watch;
    struct copy lost;
    struct presence_watcher h = { &lost, 0 };
    struct rollback_copy *copy;

    options.drivers = &rollback_driver;
    options.clock_given = true;
    assert_int_equal(usher_open("rollback:", &options, &e), USHER_OK);
    expect_ok(e, "room open lobby presence=1000 now=1");
    expect_ok(e, "room join lobby ann now=1");
    expect_ok(e, "room set lobby topic one now=1");
    copy = rollback_copy();
    assert_non_null(copy);
    expect_ok(e, "room set lobby topic two now=2");
    memset(&lost, 0, sizeof lost);
    assert_int_equal(usher_replica_open("lobby", NULL, &lost.r), USHER_OK);
    copy_settle(e, &lost);
    assert_int_equal(usher_watch(e, USHER_ROOM, "lobby", on_presence, &h, &watch), USHER_OK);
    expect_ok(e, "room join lobby bob now=3");
    for (int i = 0; i < 2; i++) { /* with another pending notice, and without */
        rollback_to(copy);
        if (i == 0)
            expect_ok(e, "room join lobby carl now=4");
        else
            expect_ok(e, "room join lobby dora now=5");
        copy_heartbeat(e, &lost);
        assert_false(usher_replica_current(lost.r));
        copy_settle(e, &lost);
        check_copy(e, &lost);
        assert_true(h.ranges > 0);
    }
    rollback_free(copy);
    usher_unwatch(e, watch);
    usher_close(e);
    usher_replica_close(lost.r);
}

/* Several take over the same scope at the same time: none uses tokens of another. */
TEST_WITH(engines_that_take_over_at_once_use_different_tokens, NULL, NULL)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    struct rollback_copy *copy;
    uint64_t version[4];

    options.drivers = &rollback_driver;
    assert_int_equal(usher_open("rollback:", &options, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    copy = rollback_copy();
    assert_non_null(copy);
    for (int i = 0; i < 4; i++) {
        struct usher_result r;

        rollback_to(copy);
        line_execute(e, &r, "number add p 2");
        version[i] = r.version;
        usher_result_done(&r);
        for (int k = 0; k < i; k++) /* more tokens than an engine issues in between */
            assert_true(version[i] > version[k] + 10000 || version[k] > version[i] + 10000);
    }
    rollback_free(copy);
    usher_close(e);
}

/* A number that is not offered to callers can still be renewed by its call. */
TEST_WITH(a_call_keeps_a_number_that_is_not_offered, NULL, NULL)
{
    static const char *const then[] = { "number unreg p 1",     /* not registered */
                                        "number set p daily=1", /* has reached its daily cap */
                                        "number hangup p 1 rest=100000" /* rests */ };
    struct usher_options options = USHER_OPTIONS_INIT;
    struct rollback_copy *copy;
    struct usher_engine *e;
    struct ask_number_hold bob;
    struct usher_result r;

    options.drivers = &rollback_driver;
    assert_int_equal(usher_open("rollback:", &options, &e), USHER_OK);
    expect_ok(e, "number add p 1 group=g");
    expect_ok(e, "number reg p 1");
    for (size_t i = 0; i < sizeof then / sizeof *then; i++) {
        expect(e, i < 2 ? USHER_SAME : USHER_OK, "number set p daily=0");
        expect_ok(e, "number call p owner=ann");
        if (i < 2)
            expect_ok(e, "number hangup p 1 rest=0");
        expect_ok(e, "%s", then[i]);
        copy = rollback_copy();
        assert_non_null(copy);
        if (i == 0)
            expect_ok(e, "number reg p 1");
        expect_ok(e, "number set p daily=9");
        (void)line_execute(e, &r, "number lift p 1");
        assert_int_equal(ask_number_call(e, "p", "bob", NULL, &bob), USHER_OK);
        rollback_to(copy);
        rollback_free(copy);
        line_execute(e, &r, "number call p owner=eve");
        assert_int_equal(r.status, USHER_EMPTY);
        usher_result_done(&r);
        expect_ok(e, "number renew p 1 token=%" PRIu64 " owner=bob lease=5000", bob.token);
        line_execute(e, &r, "number show p 1");
        assert_int_equal(r.of.number.state,
                         i == 0 ? USHER_NUMBER_STATE_BUSY_DOWN : USHER_NUMBER_STATE_BUSY_UP);
        usher_result_done(&r);
        audit(e);
        expect_ok(e, "number hangup p 1 rest=0");
        expect(e, i == 0 ? USHER_OK : USHER_SAME, "number reg p 1");
        audit(e);
    }
    expect_ok(e, "number del p 1");
    expect(e, USHER_LOST, "number renew p 1 token=%" PRIu64 " owner=bob", bob.token);
    line_execute(e, &r, "number renew p owner=bob node=n");
    assert_int_equal(r.status, USHER_INVALID);
    usher_result_done(&r);
    usher_close(e);
}

TEST_WITH(a_store_applies_the_longest_hold_that_it_kept, NULL, NULL)
{
    struct usher_engine *e = opened_in_time("rollback:");
    struct rollback_copy *copy;
    struct longest l;

    longest_begin(e, &l);
    copy = rollback_copy();
    assert_non_null(copy);
    longest_is_changed(e, &l);
    rollback_to(copy);
    rollback_free(copy);
    longest_after_the_loss(e, &l);
    usher_close(e);
}

/* ---- logs, and an authority --------------------------------------------------------------- */

#define FOLLOWED 4
#define HEARD_MAX 64

static const struct {
    enum usher_noun noun;
    const char *scope;
} followed[FOLLOWED] = {
    { USHER_SERIAL, "s" }, { USHER_SERIAL, "g" }, { USHER_ID, "i" }, { USHER_QUEUE, "q" }
};

/* The events that a follower has received. */
struct follower {
    unsigned n, gaps;       /* n: after the last gap */
    uint64_t from, version; /* end of the last gap; version of the last event */
};

static void followers_begin(struct usher_engine *e, struct follower f[FOLLOWED])
{
    memset(f, 0, FOLLOWED * sizeof *f);
    for (unsigned i = 0; i < FOLLOWED; i++) {
        struct usher_watcher *watcher;

        assert_int_equal(usher_watch_events(e, followed[i].noun, followed[i].scope,
                                            USHER_WATCH_SINCE, 0, &f[i], &watcher),
                         USHER_OK);
    }
}

/* Collect events until each follower has its @version. */
static void follow_on(struct usher_engine *e, const struct follower all[FOLLOWED],
                      const uint64_t version[FOLLOWED])
{
    for (unsigned i = 0; i < FOLLOWED;) {
        const struct usher_event *event;
        struct follower *f;
        const struct usher_notice *n;

        if (all[i].version == version[i]) {
            i++;
            continue;
        }
        event = usher_collect(e, 20000);
        if (event == NULL)
            fail_msg("%s: notices end at %" PRIu64 " and not %" PRIu64, followed[i].scope,
                     all[i].version, version[i]);
        f = event->tag;
        n = event->notice;
        i = 0;
        if (n->verb == USHER_NOTICE_LOST) { /* is no change */
            usher_event_done(event);
            continue;
        }
        if (n->before != f->version)
            fail_msg("%.*s: %s %" PRIu64 " follows %" PRIu64 " and not %" PRIu64,
                     (int)n->scope.size, n->scope.data, usher_verb_word(n->verb), n->version,
                     n->before, f->version);
        f->version = n->version;
        f->n++;
        if (event->kind == USHER_EVENT_GAP) {
            f->gaps++;
            f->n = 0;
            f->from = n->version;
        }
        usher_event_done(event);
    }
}

/* Each follower has received @gaps, and after the last one all changes in the log.  Without @log
 * that of the queue is gone, because no authority recreates a queue: this is one more gap. */
static void followers_received(struct usher_engine *e, const struct follower f[FOLLOWED],
                               unsigned gaps, bool log)
{
    for (unsigned i = 0; i < FOLLOWED; i++) {
        bool is = log || followed[i].noun != USHER_QUEUE;
        struct usher__changes changes;
        struct usher_result r;

        line_execute(e, &r, "%s changes %s since=%" PRIu64, usher_noun_word(followed[i].noun),
                     followed[i].scope, f[i].from);
        assert_int_equal(r.status, is ? USHER_OK : USHER_REFUSED);
        usher__changes_of(&r, &changes);
        if (r.version != f[i].version || f[i].gaps != gaps + !is || (is && changes.n != f[i].n))
            fail_msg("%s: received %u gaps and %u changes up to %" PRIu64 ", there are %zu up to "
                     "%" PRIu64,
                     followed[i].scope, f[i].gaps, f[i].n, f[i].version, changes.n, r.version);
        usher_result_done(&r);
    }
}

/* Check that the versions @lost of each scope are lost, and the versions @kept are not. */
static void since_when(struct usher_engine *e, const struct follower lost[FOLLOWED],
                       const struct follower kept[FOLLOWED])
{
    for (unsigned i = 0; i < FOLLOWED; i++) {
        const char *noun = usher_noun_word(followed[i].noun);

        expect(e, USHER_LOST, "%s changes %s since=%" PRIu64, noun, followed[i].scope,
               lost[i].version);
        expect_ok(e, "%s changes %s since=%" PRIu64, noun, followed[i].scope, kept[i].version);
    }
}

struct made {
    int64_t serial, bill, id; /* the last ones */
    unsigned rounds;
};

/* Issue new numbers; no number is issued twice. */
static void issue_more(struct usher_engine *e, struct made *m, const struct follower f[FOLLOWED])
{
    uint64_t version[FOLLOWED];
    struct usher_result r;

    assert_int_equal(line_execute(e, &r, "serial take s n=3"), USHER_OK);
    assert_true(r.of.serial.rows[0].first > m->serial);
    m->serial = r.of.serial.rows[0].first + 2;
    version[0] = r.version;
    usher_result_done(&r);
    assert_int_equal(line_execute(e, &r, "serial reserve g owner=o%u", m->rounds), USHER_OK);
    assert_true(r.of.serial.rows[0].first > m->bill);
    m->bill = r.of.serial.rows[0].first;
    version[1] = r.version;
    usher_result_done(&r);
    assert_int_equal(line_execute(e, &r, "id next i n=5"), USHER_OK);
    assert_true(r.of.id.first > m->id);
    m->id = r.of.id.first + 4;
    version[2] = r.version;
    usher_result_done(&r);
    assert_int_equal(line_execute(e, &r, "queue login q u%u", m->rounds++), USHER_OK);
    version[3] = r.version;
    usher_result_done(&r);
    follow_on(e, f, version);
}

/* Events of the store under test. */
enum fate { BEGIN, NOTE, GO_BACK, BE_EMPTY };

/* Followers of the logs of a store that goes back, and then loses everything.  Rules and dispensers
 * that an authority recreates are ordinary changes, also in their logs. */
static void follow_losses(const char *url, void (*fate)(enum fate what))
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct follower f[FOLLOWED], kept[FOLLOWED], lost[FOLLOWED];
    struct made made = { 0, 0, 0, 0 };
    struct usher_engine *e;
    struct fake_authority authority;

    fake_authority_init(&authority);
    options.drivers = &rollback_driver;
    options.authority = &authority.base;
    options.timeout_ms = 20000;
    assert_int_equal(usher_open(url, &options, &e), USHER_OK);
    fate(BEGIN);
    expect_ok(e, "serial rule s prefix=S log=50 batch=4 authority=1");
    expect_ok(e, "serial rule g prefix=G log=50 mode=gapfree lease=0 authority=1");
    expect_ok(e, "id create i log=50 managed=1");
    expect_ok(e, "queue set q log=50 ttl=0");
    followers_begin(e, f);
    issue_more(e, &made, f);
    memcpy(kept, f, sizeof f);
    fate(NOTE);
    issue_more(e, &made, f);
    issue_more(e, &made, f);
    followers_received(e, f, 0, true);
    memcpy(lost, f, sizeof f);
    fate(GO_BACK);
    since_when(e, lost, kept);
    for (int i = 0; i < 2; i++) {
        issue_more(e, &made, f);
        since_when(e, lost, kept);
        followers_received(e, f, 1, true);
    }
    audit(e);
    fate(BE_EMPTY);
    for (int i = 0; i < 2; i++) {
        issue_more(e, &made, f);
        followers_received(e, f, 2, false);
    }
    audit(e);
    usher_close(e);
    fake_authority_done(&authority);
}

static void of_rollback_store(enum fate what)
{
    static struct rollback_copy *empty, *copy;

    if (what == BEGIN)
        empty = rollback_copy();
    else if (what == NOTE)
        copy = rollback_copy();
    assert_true(empty != NULL && (copy != NULL || what == BEGIN));
    if (what < GO_BACK)
        return;
    rollback_to(what == GO_BACK ? copy : empty);
    if (what == BE_EMPTY) {
        rollback_free(copy);
        rollback_free(empty);
    }
}

TEST_WITH(followers_receive_a_rollback_and_what_is_granted_again, NULL, NULL)
{
    follow_losses("rollback:", of_rollback_store);
}

#ifdef USHER_WITH_SQLITE
static void in_dir(const char *command)
{
    char text[256];

    (void)snprintf(text, sizeof text, "cd %s && %s", test_dir(), command);
    assert_int_equal(system(text), 0);
}

TEST_WITH(an_older_copy_of_a_file_is_noticed, NULL, test_dir_remove)
{
    struct given ann, bob;
    struct usher_engine *e;
    char url[128];

    (void)snprintf(url, sizeof url, "sqlite:%s/s.db", test_dir());
    e = engine_on_url(url, NULL);
    begin(e);
    give(e, "ann", &ann);
    usher_close(e);
    in_dir("cp s.db copy");
    e = engine_on_url(url, NULL);
    give(e, "bob", &bob);
    assert_true(bob.token < 1000); /* still the same file */
    usher_close(e);
    in_dir("mv copy s.db");
    e = engine_on_url(url, NULL);
    after_a_loss(e, &ann, &bob);
    usher_close(e);
}

TEST_WITH(a_rollback_of_a_file_leaves_no_gap_in_serials, NULL, test_dir_remove)
{
    struct usher_engine *e;
    uint64_t token[4];
    char url[128];

    (void)snprintf(url, sizeof url, "sqlite:%s/s.db", test_dir());
    e = engine_on_url(url, NULL);
    expect_ok(e, "serial rule inv prefix=I mode=gapfree");
    line_begin(e);
    reserve(e, &token[0]);
    usher_close(e);
    in_dir("cp s.db copy");
    e = engine_on_url(url, NULL);
    for (int i = 1; i < 4; i++)
        reserve(e, &token[i]);
    expect_ok(e, "queue apply line u1 since=1000");
    expect_ok(e, "queue apply line u2 since=2000");
    usher_close(e);
    in_dir("mv copy s.db");
    e = engine_on_url(url, NULL);
    lost_serials_are_listed(e, token);
    check_lost_line(e);
    usher_close(e);
}

TEST_WITH(a_follower_of_a_room_is_notified_when_a_file_goes_back, NULL, test_dir_remove)
{
    struct copy old, lost;
    struct usher_engine *e;
    char url[128];

    (void)snprintf(url, sizeof url, "sqlite:%s/s.db", test_dir());
    e = engine_on_url(url, NULL);
    room_begin(e, &old);
    usher_close(e);
    in_dir("cp s.db copy");
    e = engine_on_url(url, NULL);
    room_changes(e, &lost);
    usher_close(e);
    in_dir("mv copy s.db");
    e = engine_on_url(url, NULL);
    room_after_a_loss(e, &old, &lost);
    usher_close(e);
}

TEST_WITH(a_file_applies_the_longest_hold_that_it_kept, NULL, test_dir_remove)
{
    struct usher_engine *e;
    struct longest l;
    char url[128];

    (void)snprintf(url, sizeof url, "sqlite:%s/s.db", test_dir());
    e = opened_in_time(url);
    longest_begin(e, &l);
    usher_close(e);
    in_dir("cp s.db copy");
    e = opened_in_time(url);
    longest_is_changed(e, &l);
    usher_close(e);
    in_dir("mv copy s.db");
    e = opened_in_time(url);
    longest_after_the_loss(e, &l);
    usher_close(e);
}

TEST_WITH(a_complete_copy_loses_nothing, NULL, test_dir_remove)
{
    struct given ann, bob;
    struct usher_engine *e;
    uint64_t unused = 0; /* of the first gap */
    char url[128];

    (void)snprintf(url, sizeof url, "sqlite:%s/s.db", test_dir());
    e = engine_on_url(url, NULL);
    begin(e);
    give(e, "ann", &ann);
    usher_close(e);
    for (int i = 0; i < 2 * USHER_GAPS; i++) { /* more often than gaps are kept */
        in_dir("cp s.db copy && mv copy s.db");
        e = engine_on_url(url, NULL);
        expect_ok(e, "number renew p %s token=%" PRIu64 " lease=%d", ann.number, ann.token,
                  100000 + i);
        give(e, "bob", &bob);
        assert_true(bob.token > 1000000);
        all_there(e, &bob);
        expect_ok(e, "queue logout desk bob");
        expect_ok(e, "number hangup p %s token=%" PRIu64, ann.number, ann.token);
        /* an ended hold is stale, but not lost */
        expect(e, USHER_REFUSED, "number hangup p %s token=%" PRIu64, ann.number, ann.token);
        unused = i == 0 ? bob.token - 100 : unused;
        expect(e, USHER_LOST, "number hangup p %s token=%" PRIu64, ann.number, unused);
        expect(e, USHER_LOST, "number hangup p %s token=%" PRIu64, ann.number, bob.token - 100);
        expect_ok(e, "number call p number=%s owner=ann", ann.number);
        usher_close(e);
        e = engine_on_url(url, NULL);
        {
            struct usher_result r;

            line_execute(e, &r, "number show p %s", ann.number);
            ann.token = r.of.number.rows[0].token;
            usher_result_done(&r);
        }
        audit(e);
        usher_close(e);
    }
}
#endif

#ifdef USHER_WITH_REDIS
static struct redis_server *first, *second;

static const char *url_of(const struct redis_server *s)
{
    static char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", redis_server_port(s));
    return url;
}

static int two_servers(void **state)
{
    struct redis_server_options durable = { .aof = REDIS_AOF_ALWAYS }, plain = { 0 };

    (void)state;
    first = redis_server_start(&durable);
    second = redis_server_start(&plain);
    return first != NULL && second != NULL ? 0 : -1;
}

static int no_servers(void **state)
{
    (void)state;
    redis_server_stop(first);
    redis_server_stop(second);
    return 0;
}

TEST_EACH(two_servers, no_servers);

/* WAIT waits for the writes of its own connection, and so for all earlier ones. */
static void caught_up(struct redis_server *with)
{
    assert_true(redis_do_ok(with, "SET", "marker", "1", NULL));
    assert_true(redis_do_ok(with, "WAIT", "1", "20000", NULL));
}

static void replicate(struct redis_server *to, struct redis_server *from)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", redis_server_port(from));
    assert_true(redis_do_ok(to, "REPLICAOF", "127.0.0.1", port, NULL));
    assert_true(redis_server_wait_info(to, "replication", "master_link_status:up", 20000));
    caught_up(from);
}

static void promote(struct redis_server *s)
{
    assert_true(redis_do_ok(s, "REPLICAOF", "NO", "ONE", NULL));
}

/* Both masters continue, as in a partition. */
TEST(two_masters_never_accept_tokens_of_each_other)
{
    struct given ann, bob;
    struct usher_engine *a, *b;

    a = engine_on_url(url_of(first), NULL);
    begin(a);
    give(a, "ann", &ann);
    replicate(second, first);
    promote(second);
    give(a, "bob", &bob);
    b = engine_on_url(url_of(second), NULL);
    after_a_loss(b, &ann, &bob);
    all_there(a, &bob);
    audit(a);
    /* the first becomes a replica of the second, which discards its data, and is promoted again:
     * its clients stay connected */
    replicate(first, second);
    promote(first);
    all_lost(a, &bob, true);
    expect_ok(a, "number call p owner=emil");
    all_lost(a, &bob, true);
    audit(a);
    usher_close(a);
    usher_close(b);
}

TEST(a_follower_of_a_room_is_notified_of_a_failover)
{
    struct copy old, lost;
    struct usher_engine *a, *b;

    a = engine_on_url(url_of(first), NULL);
    room_begin(a, &old);
    replicate(second, first);
    promote(second);
    room_changes(a, &lost);
    b = engine_on_url(url_of(second), NULL);
    room_after_a_loss(b, &old, &lost);
    audit(a);
    usher_close(a);
    usher_close(b);
}

TEST(an_older_dump_is_noticed)
{
    struct given ann, bob;
    struct usher_engine *e;

    e = engine_on_url(url_of(second), NULL);
    begin(e);
    give(e, "ann", &ann);
    assert_true(redis_do_ok(second, "SAVE", NULL));
    give(e, "bob", &bob);
    assert_int_equal(redis_server_kill(second, SIGKILL), 0);
    assert_true(redis_server_restart(second));
    after_a_loss(e, &ann, &bob);
    usher_close(e);
}

TEST(a_server_applies_the_longest_hold_that_it_kept)
{
    struct usher_engine *e = opened_in_time(url_of(second));
    struct longest l;

    longest_begin(e, &l);
    assert_true(redis_do_ok(second, "SAVE", NULL));
    longest_is_changed(e, &l);
    assert_int_equal(redis_server_kill(second, SIGKILL), 0);
    assert_true(redis_server_restart(second));
    longest_after_the_loss(e, &l);
    usher_close(e);
}

static void of_second(enum fate what)
{
    if (what == NOTE)
        assert_true(redis_do_ok(second, "SAVE", NULL));
    if (what < GO_BACK)
        return;
    if (what == BE_EMPTY) {
        assert_true(redis_do_ok(second, "FLUSHALL", NULL));
        assert_true(redis_do_ok(second, "SAVE", NULL));
    }
    assert_int_equal(redis_server_kill(second, SIGKILL), 0);
    assert_true(redis_server_restart(second));
}

TEST(followers_receive_a_failover_and_what_is_granted_again)
{
    follow_losses(url_of(second), of_second);
}

TEST(a_failover_of_a_server_leaves_no_gap_in_serials)
{
    struct usher_engine *e;
    uint64_t token[4];

    e = engine_on_url(url_of(second), NULL);
    expect_ok(e, "serial rule inv prefix=I mode=gapfree");
    line_begin(e);
    reserve(e, &token[0]);
    assert_true(redis_do_ok(second, "SAVE", NULL));
    for (int i = 1; i < 4; i++)
        reserve(e, &token[i]);
    expect_ok(e, "queue apply line u1 since=1000");
    expect_ok(e, "queue apply line u2 since=2000");
    assert_int_equal(redis_server_kill(second, SIGKILL), 0);
    assert_true(redis_server_restart(second));
    lost_serials_are_listed(e, token);
    check_lost_line(e);
    usher_close(e);
}

/* A rollback and damage: a repaired scope keeps its gaps, before and after the jump is stored. */
TEST(a_repair_after_a_rollback_reports_the_lost_versions)
{
    static const char *const keys[] = { "{p}:number:index", "{p}:number:held", "{lobby}:room:index",
                                        "{lobby}:room:held" };
    struct usher_check_result found;
    struct usher_engine *e;
    struct given ann, bob, dora;

    e = engine_on_url(url_of(second), NULL);
    begin(e);
    give(e, "ann", &ann);
    assert_true(redis_do_ok(second, "SAVE", NULL));
    give(e, "bob", &bob);
    assert_int_equal(redis_server_kill(second, SIGKILL), 0);
    assert_true(redis_server_restart(second));
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            assert_true(redis_do_ok(second, "DEL", keys[k], NULL));
        expect(e, USHER_UNAVAILABLE, "number hangup p %s token=%" PRIu64, bob.number, bob.token);
        expect(e, USHER_UNAVAILABLE, "room changes lobby since=%" PRIu64, bob.room);
        assert_int_equal(usher_check(e, &repairing, NULL, NULL, &found), USHER_OK);
        assert_true(found.faults > 0 && found.repaired == found.faults);
        all_lost(e, &bob, i > 0);
        if (i == 0)
            give(e, "dora", &dora); /* from now on the jump is stored */
    }
    all_there(e, &ann);
    all_there(e, &dora);
    audit(e);
    usher_close(e);
}

/* A restart without loss, the first replica, and a failover when all writes were replicated. */
TEST(a_client_gets_no_notice_of_loss_when_nothing_was_lost)
{
    struct given ann, bob;
    struct usher_engine *a, *b;
    uint64_t unused = 0; /* of the first gap */

    a = engine_on_url(url_of(first), NULL);
    begin(a);
    give(a, "ann", &ann);
    give(a, "bob", &bob);
    for (int i = 0; i < USHER_GAPS + 2; i++) { /* more often than gaps are kept */
        struct usher_result r;

        assert_int_equal(redis_server_kill(first, SIGKILL), 0);
        assert_true(redis_server_restart(first));
        line_execute(a, &r, "number renew p %s token=%" PRIu64 " lease=%d", ann.number, ann.token,
                     100000 + i);
        assert_int_equal(r.status, USHER_OK);
        assert_true(r.version > 1000000);
        unused = i == 0 ? r.version - 100 : unused;
        usher_result_done(&r);
        expect(a, USHER_LOST, "number renew p %s token=%" PRIu64, ann.number, unused);
    }
    replicate(second, first);
    expect_ok(a, "number renew p %s token=%" PRIu64 " lease=200000", ann.number, ann.token);
    all_there(a, &bob);
    caught_up(first);
    promote(second);
    b = engine_on_url(url_of(second), NULL);
    expect(b, USHER_REFUSED, "number hangup p %s token=%" PRIu64, bob.number, bob.token);
    all_there(b, &ann);
    audit(b);
    usher_close(a);
    usher_close(b);
}

/* A direct caller has no connection that has identified the server: the script does it. */
TEST(a_direct_script_call_notices_a_rollback)
{
    struct given ann, bob;
    struct usher_engine *e;
    char token[32];
    redisReply *reply;
    char *text;
    size_t size;

    e = engine_on_url(url_of(second), NULL);
    begin(e);
    give(e, "ann", &ann);
    assert_true(redis_do_ok(second, "SAVE", NULL));
    give(e, "bob", &bob);
    assert_int_equal(redis_server_kill(second, SIGKILL), 0);
    assert_true(redis_server_restart(second));
    assert_int_equal(usher_lua("number", NULL, 0, &size), USHER_OK);
    text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(usher_lua("number", text, size + 1, &size), USHER_OK);
    (void)snprintf(token, sizeof token, "%" PRIu64, bob.token);
    reply = redis_do(second, "EVAL", text, "1", "{p}", "hangup", bob.number, "token", token, NULL);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2);
    assert_string_equal(reply->element[1]->str, "lost");
    assert_true(reply->elements == 6);
    assert_string_equal(reply->element[4]->str, "from");
    assert_true(strtoull(reply->element[5]->str, NULL, 10) < bob.token &&
                strtoull(reply->element[5]->str, NULL, 10) >= ann.token);
    freeReplyObject(reply);
    reply = redis_do(second, "EVAL", text, "1", "{p}", "call", "owner", "dora", NULL);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2);
    assert_string_equal(reply->element[1]->str, "ok");
    freeReplyObject(reply);
    expect(e, USHER_LOST, "number hangup p %s token=%" PRIu64, bob.number, bob.token);
    expect_ok(e, "number hangup p %s token=%" PRIu64, ann.number, ann.token);
    free(text);
    usher_close(e);
}
#endif
