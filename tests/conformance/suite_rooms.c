/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store of rooms: spec/rooms.md row by row, and the rules of room.h.
 *
 * Commands are written as on the command line: ok(f, "join r ann mic=on").  The word before is
 * the answer that is expected; the whole reply is f->r.  A twin, which is a memory store, gets the
 * same commands and must answer the same, byte for byte but for the epoch; every test ends with the
 * audit, and compares the digests of room "r" of both.
 */
#include "lib/test.h"

#include "conformance/fixture.h"
#include "conformance/json_digest.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/verbs.h"
#include "nouns/room/room_directory.h"
#include "lib/calls.h"
#include "model/compare.h"
#include "change/request_cache.h"

/* ---- the fixture ------------------------------------------------------------------- */

static void *count_bytes(void *payload, void *p, size_t old, size_t size)
{
    int64_t *bytes = payload;
    void *to = NULL;

    if (size != 0) {
        to = realloc(p, size);
        if (to == NULL)
            return NULL;
    } else {
        free(p);
    }
    *bytes += (int64_t)size - (int64_t)old;
    return to;
}

static struct usher_engine *engine_open(struct fixture *f, const char *url, bool counted)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    if (counted)
        opt.alloc = &f->alloc;
    return suite_open(url, &f->now, &opt);
}

static int set_up(void **state)
{
    struct fixture *f;

    (void)fixture_begin(state, USHER_ROOM, "r", NULL);
    f = *state;
    f->alloc.resize = count_bytes;
    f->alloc.payload = &f->bytes;
    suite_close(&f->e);
    f->e = engine_open(f, f->url, true);
    return 0;
}

TEST_EACH(set_up, fixture_end);

/* The row of @kind and @id in the last answer; NULL: there is none. */
static const struct usher_room_result_row *row_of(const struct fixture *f, int kind, const char *id)
{
    for (size_t i = 0; i < f->r.of.room.n_rows; i++)
        if (f->r.of.room.rows[i].kind == kind && text_is(f->r.of.room.rows[i].id, id))
            return &f->r.of.room.rows[i];
    return NULL;
}

static void assert_value(struct fixture *f, const char *field, const char *want)
{
    ok(f, "snapshot r");
    assert_non_null(row_of(f, USHER_ROOM_ROW_FIELD, field));
    assert_true(text_is(row_of(f, USHER_ROOM_ROW_FIELD, field)->value, want));
}

/* Require that @want holds @role; "" means no member. */
static void assert_holder(struct fixture *f, const char *role, const char *want)
{
    const struct usher_room_result_row *row;

    ok(f, "snapshot r");
    row = row_of(f, USHER_ROOM_ROW_ROLE, role);
    assert_true(row == NULL ? *want == '\0' : text_is(row->owner, want));
}

static int state_of(struct fixture *f, const char *member)
{
    const struct usher_room_result_row *row;

    ok(f, "snapshot r");
    row = row_of(f, USHER_ROOM_ROW_MEMBER, member);
    return row != NULL ? row->state : USHER_ROOM_MEMBER_ABSENT;
}

/* The value of @field that applies to @member: the later of its own and of that of all. */
static void assert_counts(struct fixture *f, const char *member, const char *field,
                          const char *want)
{
    const struct usher_room_result_row *row, *all;
    struct usher_fields fields;
    struct usher_text name, value, found = { NULL, 0 };
    uint64_t version, newest = 0;
    char of_all[16]; /* only the first page has it */

    ok(f, "snapshot r max=10000");
    all = row_of(f, USHER_ROOM_ROW_ALL, field);
    if (all != NULL) {
        assert_in_range(all->value.size, 1, sizeof of_all);
        memcpy(of_all, all->value.data, all->value.size);
        found = (struct usher_text){ of_all, all->value.size };
        newest = all->version;
    }
    while ((row = row_of(f, USHER_ROOM_ROW_MEMBER, member)) == NULL && f->r.of.room.more)
        ok(f, "snapshot r max=10000 after=%d", (int)f->r.of.room.since);
    assert_non_null(row);
    usher_fields_begin(&fields, &row->value);
    while (row->value.size != 0 && usher_fields_next(&fields, &name, &value, &version))
        if (text_is(name, field) && version > newest) {
            found = value;
            newest = version;
        }
    if (!text_is(found, want))
        fail_msg("%s of %s is %.*s, not %s", field, member, (int)found.size, found.data, want);
}

/* Very many, as the application has them: in memory, and not with what makes that slow; of other
 * stores with USHER_LONG=1. */
static bool whole(void)
{
    if (strcmp(under_test.name, "memory") == 0 && !budget_slow())
        return true;
    return budget_long() && strcmp(under_test.name, "own") != 0;
}

static unsigned many(unsigned n)
{
    /* that one searches all rows */
    return strcmp(under_test.name, "own") == 0 || budget_wrapped() ? n / 40 : n;
}

/* ---- opening, fields --------------------------------------------------------------- */

TEST(a_room_is_opened_locked_and_closed)
{
    struct fixture *f = *state;
    uint64_t epoch;

    missing(f, "show r");
    missing(f, "lock r");
    missing(f, "join r ann");
    missing(f, "set r topic x");
    missing(f, "alive r ann");
    same(f, "close r");
    ok(f, "open r capacity=2");
    epoch = f->r.epoch;
    assert_true(f->r.version == 1 && f->r.of.room.state == USHER_ROOM_STATE_OPEN);
    same(f, "open r");
    same(f, "open r capacity=2");
    ok(f, "open r capacity=1");
    assert_int_equal(f->r.of.room.settings.capacity, 1);
    ok(f, "lock r");
    same(f, "lock r");
    refused(f, "join r ann");
    ok(f, "unlock r");
    same(f, "unlock r");
    ok(f, "join r ann");
    ok(f, "lock r");
    same(f, "join r ann"); /* a member may join again */
    same(f, "open r");
    assert_int_equal(f->r.of.room.state, USHER_ROOM_STATE_LOCKED);
    ok(f, "close r");
    assert_int_equal(f->r.of.room.state, USHER_ROOM_STATE_CLOSED);
    same(f, "close r");
    missing(f, "get r");
    ok(f, "open r");
    assert_true(f->r.version == 1 && f->r.epoch != epoch);
    assert_int_equal(f->r.of.room.settings.capacity, 0);
}

TEST(fields_are_set_compared_and_removed)
{
    struct fixture *f = *state;
    uint64_t version;

    ok(f, "open r");
    ok(f, "set r topic one if=");
    same(f, "set r topic one");
    stale(f, "set r topic two if=zero");
    assert_true(text_is(row_of(f, USHER_ROOM_ROW_FIELD, "topic")->value, "one"));
    stale(f, "set r topic two if=");
    ok(f, "set r topic two if=one");
    version = f->r.version;
    stale(f, "set r topic three if-version=%d", (int)version - 1);
    assert_true(f->r.version == version);
    ok(f, "set r topic three if-version=%d", (int)version);
    ok(f, "get r field=topic");
    assert_true(text_is(f->r.of.room.rows->value, "three"));
    missing(f, "get r field=nothing");
    stale(f, "unset r topic if=two");
    ok(f, "unset r topic if=three");
    same(f, "unset r topic");
    stale(f, "set r topic x if=y");
    assert_int_equal(f->r.of.room.n_rows, 0);
    ok(f, "set r empty ");
    ok(f, "set r empty full if=");
    ok(f, "get r");
    assert_int_equal(f->r.of.room.n_rows, 1);
    invalid(f, "set r a 1 a=2");
    invalid(f, "set r b 1 a=2 a=3");
    invalid(f, "join r ann =2");
}

/* R40: the versions of a room that is opened again begin at 1. */
TEST(a_version_of_a_closed_room_is_of_no_other)
{
    static const char *const lines[] = { "set r topic two",  "join r ann",    "lock r",
                                         "close r",          "all r mic off", "sweep r",
                                         "open r capacity=7" };
    struct fixture *f = *state;
    uint64_t before, version;
    char digest[2][33];

    no_twin(f); /* which has epochs of its own */
    ok(f, "open r");
    ok(f, "set r topic one");
    before = f->r.epoch;
    version = f->r.version;
    ok(f, "set r topic two if-version=%" PRIu64 " epoch=%016" PRIx64, version, before);
    invalid(f, "set r topic two epoch=%" PRIx64 "g", before);
    ok(f, "close r");
    missing(f, "open r epoch=%016" PRIx64, before);
    ok(f, "open r linger=1000");
    f->now += 5000; /* the next command closes it, and erases it at once */
    missing(f, "open r epoch=%016" PRIx64, f->r.epoch);
    assert_true(f->r.epoch == 0 && f->r.version == 0);
    audit(f->e); /* it is not in the index any more */
    ok(f, "open r");
    ok(f, "set r topic one");
    assert_true(f->r.epoch != before);
    assert_int_equal(usher_digest(f->e, USHER_ROOM, "r", digest[0]), USHER_OK);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const uint64_t now = f->r.version;

        stale(f, "%s epoch=%016" PRIx64, lines[i], before);
        assert_true(f->r.epoch != before && f->r.version == now);
        stale(f, "%s if-version=%" PRIu64 " epoch=%016" PRIx64, lines[i], now, before);
    }
    stale(f, "set r topic two epoch=%016" PRIx64, before);
    assert_true(text_is(row_of(f, USHER_ROOM_ROW_FIELD, "topic")->value, "one"));
    stale(f, "changes r since=%" PRIu64 " epoch=%016" PRIx64, f->r.version - 1, before);
    assert_int_equal(f->r.of.room.n_rows, 0);
    stale(f, "snapshot r since=%" PRIu64 " epoch=%016" PRIx64, f->r.version - 1, before);
    assert_int_equal(f->r.of.room.n_rows, 0);
    assert_int_equal(usher_digest(f->e, USHER_ROOM, "r", digest[1]), USHER_OK);
    assert_string_equal(digest[0], digest[1]);
    ok(f, "changes r since=%" PRIu64 " epoch=%016" PRIx64, f->r.version - 1, f->r.epoch);
    assert_int_equal(f->r.of.room.n_rows, 1);
    ok(f, "set r topic two epoch=%016" PRIx64 " if-version=%" PRIu64, f->r.epoch, f->r.version);
    { /* without an epoch a version says too little */
        struct said s;

        said_line(&s, USHER_ROOM, "set r topic three if-version=2");
        usher_result_done(&f->r);
        assert_int_equal(usher_operate(f->e, &s.c, &f->r, 1), USHER_OK);
        assert_int_equal(f->r.status, USHER_INVALID);
        assert_non_null(strstr(f->r.message, "epoch"));
    }
}

TEST(several_fields_are_one_version)
{
    struct fixture *f = *state;
    uint64_t version;

    ok(f, "open r");
    version = f->r.version;
    ok(f, "set r a 1 b=2 c=3");
    assert_true(f->r.version == version + 1);
    same(f, "set r a 1 c=3");
    ok(f, "set r a 1 c=4 d=");
    assert_true(f->r.version == version + 2);
    ok(f, "changes r since=%d", (int)version + 1);
    assert_int_equal(f->r.of.room.n_rows, 1);
    assert_value(f, "c", "4");
    assert_value(f, "b", "2");
    ok(f, "join r ann");
    version = f->r.version;
    ok(f, "member r ann x 1 y=2");
    assert_true(f->r.version == version + 1);
    assert_counts(f, "ann", "y", "2");
}

TEST(limits_are_named_and_change_nothing)
{
    struct fixture *f = *state;
    static char large[40000];
    struct usher_text value = { large, sizeof large };
    struct usher_operation c;
    uint64_t version;

    memset(large, 'x', sizeof large);
    ok(f, "open r");
    ok(f, "join r ann");
    for (int i = 0; i < USHER_ROOM_ROLES_MAX; i++)
        ok(f, "role r role%d ann", i);
    full(f, "role r one-more ann");
    for (int i = 0; i < USHER_ROOM_SHARES_MAX; i++)
        ok(f, "share r ann share%d", i);
    full(f, "share r ann one-more");
    ok(f, "unshare r share3");
    ok(f, "share r ann one-more");
    memset(&c, 0, sizeof c);
    c.verb = USHER_ROOM_MEMBER;
    c.scope = text("r");
    c.arg.room.member = text("ann");
    c.arg.room.value = value;
    c.arg.room.field = text("one");
    assert_int_equal(execute(f, &c), USHER_OK);
    version = f->r.version;
    c.arg.room.field = text("two");
    assert_int_equal(execute(f, &c), USHER_FULL);
    c.verb = USHER_ROOM_SET;
    c.arg.room.member.data = NULL;
    for (int i = 0; i < 26; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "f%d", i);
        c.arg.room.field = text(name);
        assert_int_equal(execute(f, &c), USHER_OK);
    }
    version = f->r.version;
    c.arg.room.field = text("last");
    assert_int_equal(execute(f, &c), USHER_FULL);
    assert_true(f->r.version == version);
    ok(f, "set r short x");
    /* too large for a notice, which says so */
    ok(f, "changes r since=%d max=1", (int)version - 1);
    {
        struct usher_notice n;
        struct usher_text room = text("r");

        assert_int_equal(
            usher_notice_read(USHER_ROOM, &room, f->r.epoch, &f->r.of.room.rows[0].value, &n),
            USHER_OK);
        assert_int_equal(n.data.size, 1);
        assert_int_equal((unsigned char)n.data.data[0], 0xc0);
    }
    for (int i = 0; i < USHER_ROOM_MEMBER_FIELDS_MAX; i++)
        ok(f, "share r ann one-more n%d=1", i);
    full(f, "share r ann one-more m=1");
    ok(f, "leave r ann"); /* with all that it has, in one change */
    version = f->r.version;
    ok(f, "snapshot r");
    assert_true(f->r.version == version && row_of(f, USHER_ROOM_ROW_ROLE, "role0") == NULL);
}

/* ---- members ----------------------------------------------------------------------- */

TEST(joins_and_leaves_may_be_repeated)
{
    struct fixture *f = *state;
    uint64_t version;

    ok(f, "open r");
    same(f, "leave r ann");
    ok(f, "join r ann mic=on");
    version = f->r.version;
    same(f, "join r ann");
    same(f, "join r ann mic=on");
    assert_true(f->r.version == version && f->r.of.room.members == 1);
    ok(f, "join r ann mic=off");
    assert_true(f->r.version == version + 1 && f->r.of.room.members == 1);
    assert_counts(f, "ann", "mic", "off");
    ok(f, "leave r ann");
    assert_true(f->r.of.room.members == 0);
    same(f, "leave r ann");
    same(f, "kick r ann");
    missing(f, "alive r ann");
    missing(f, "member r ann mic on");
    /* a repeat with a request id gets the first answer, whatever has happened since */
    ok(f, "join r bob req=q");
    version = f->r.version;
    ok(f, "leave r bob");
    ok(f, "join r bob req=q");
    assert_true(f->r.repeated && f->r.version == version);
    assert_int_equal(state_of(f, "bob"), USHER_ROOM_MEMBER_ABSENT);
}

/* The answer to a repeat is that of the first command, so the arguments must be the same. */
TEST(a_repeat_with_other_arguments_is_invalid)
{
    struct fixture *f = *state;
    static const char *const first[] = {
        "set r topic a req=0",     "join r c req=1",         "member r c mic on req=2",
        "all r mic off req=3",     "role r host c req=4",    "share r c screen w=1 h=2 req=5",
        "kick r x ban=1000 req=6", "unshare r screen req=7", "unset r topic req=8",
        "leave r c req=9",
    };
    static const char *const other[] = {
        "set r topic b req=0",     "join r d req=1",         "member r c mic off req=2",
        "all r mic on req=3",      "role r host '' req=4",   "share r c screen w=1 h=3 req=5",
        "kick r y ban=1000 req=6", "unshare r window req=7", "unset r title req=8",
        "leave r d req=9",
    };
    uint64_t version;

    ok(f, "open r");
    for (int i = 0; i < 10; i++) {
        ok(f, "%s", first[i]);
        version = f->r.version;
        invalid(f, "%s", other[i]);
        assert_non_null(strstr(f->r.message, "other arguments"));
        assert_false(f->r.repeated);
        ok(f, "%s", first[i]);
        assert_true(f->r.repeated && f->r.version == version);
    }
    ok(f, "share r c screen h=2 w=1 req=5"); /* fields have no order */
    assert_true(f->r.repeated);
    invalid(f, "set r topic a if=b req=0");
    invalid(f, "set r topic a title=x req=0");
    missing(f, "get r field=topic");
}

TEST(members_come_in_the_order_they_joined)
{
    struct fixture *f = *state;
    static const char *const names[] = { "zoe", "ann", "mia", "bob" };

    ok(f, "open r");
    for (int i = 0; i < 4; i++)
        ok(f, "join r %s", names[i]);
    ok(f, "leave r mia");
    ok(f, "join r mia");
    ok(f, "alive r zoe");
    ok(f, "snapshot r");
    assert_true(text_is(f->r.of.room.rows[0].id, "zoe") &&
                text_is(f->r.of.room.rows[1].id, "ann") &&
                text_is(f->r.of.room.rows[2].id, "bob") && text_is(f->r.of.room.rows[3].id, "mia"));
}

TEST(capacity_is_kept_and_counts_present_members_only)
{
    struct fixture *f = *state;
    int n = (int)many(2800);

    ok(f, "open r capacity=%d ttl=1000 log=10", n);
    for (int i = 0; i < n; i++)
        ok(f, "join r m%d", i);
    full(f, "join r one-more");
    same(f, "join r m0");
    f->now += 999;
    full(f, "join r one-more");
    ok(f, "alive r m7");
    f->now += 1; /* more of them are due than one command removes on its way */
    ok(f, "join r one-more");
    do
        ok(f, "sweep r");
    while (f->r.of.room.more);
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 2);
    ok(f, "alive r m7");
}

static void assert_counted(struct fixture *f, int64_t joined, int64_t left, int64_t lost,
                           int64_t kicked)
{
    const struct usher_room_result_statistics *s = &f->r.of.room.stats;

    ok(f, "stats r");
    assert_int_equal(s->joined_total, joined);
    assert_int_equal(s->left_total, left);
    assert_int_equal(s->lost_total, lost);
    assert_int_equal(s->kicked_total, kicked);
    assert_int_equal(f->r.of.room.members, joined - left - lost - kicked);
}

TEST(statistics_count_over_the_life_of_a_room)
{
    struct fixture *f = *state;
    const struct usher_room_result *r = &f->r.of.room;
    int64_t opened = f->now;

    missing(f, "stats r");
    ok(f, "open r ttl=1000 away=500 capacity=4");
    assert_counted(f, 0, 0, 0, 0);
    assert_int_equal(r->stats.changes_total, 1);
    for (int i = 0; i < 4; i++)
        ok(f, "join r m%d", i);
    full(f, "join r m4");
    same(f, "join r m0");
    ok(f, "role r host m0");
    ok(f, "role r speaker m1");
    ok(f, "share r m1 screen");
    ok(f, "share r m2 slides");
    assert_counted(f, 4, 0, 0, 0);
    assert_int_equal(r->state, USHER_ROOM_STATE_OPEN);
    assert_int_equal(r->created_ms, opened);
    assert_int_equal(r->stats.capacity, 4);
    assert_int_equal(r->stats.roles, 2);
    assert_int_equal(r->stats.shares, 2);
    assert_int_equal(r->stats.changes_total, 9);
    ok(f, "leave r m0");
    same(f, "leave r m0");
    ok(f, "kick r m2 ban=100000");
    ok(f, "kick r m2 ban=0");
    ok(f, "kick r m9 ban=5");
    same(f, "kick r m8");
    ok(f, "kick r m3");
    assert_counted(f, 4, 1, 0, 2);
    assert_int_equal(r->stats.changes_total, 14);
    f->now += 999;
    ok(f, "join r m5");
    f->now += 1; /* m1 is gone, and no command has removed it yet */
    assert_counted(f, 5, 1, 1, 2);
    assert_int_equal(r->stats.roles, 0);
    assert_int_equal(r->stats.shares, 0);
    ok(f, "sweep r ttl=0");
    assert_counted(f, 5, 1, 2, 2);
    ok(f, "close r");
    missing(f, "stats r");
    ok(f, "open r");
    assert_counted(f, 0, 0, 0, 0);
}

/* Members of room r whose time is over. */
static void silent_members(struct fixture *f, int n, const char *settings)
{
    ok(f, "open r ttl=1000 %s", settings);
    for (int i = 0; i < n; i++)
        ok(f, "join r m%d", i);
    f->now += 999;
    ok(f, "set r topic x"); /* so there was no outage */
    f->now += 1;
}

TEST(reads_of_a_batch_of_joins_wait_for_their_turn)
{
    static const char *const lines[] = { "join r zoe", "show r",      "get r",
                                         "snapshot r", "alive r zoe", "changes r since=300" };
    struct fixture *f = *state;

    no_twin(f);
    silent_members(f, 150, "log=1000");
    in_order(f->e, USHER_ROOM, lines, sizeof lines / sizeof *lines);
}

TEST(commands_of_a_call_share_one_portion_of_departures)
{
    struct fixture *f = *state;

    silent_members(f, 300, "log=10");
    in_portions(f, "join r new%u", 256, USHER_OK, 64, 1);
    same(f, "sweep r");
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 256);
    assert_int_equal(f->r.version, 1 + 300 + 1 + 300 + 256);
}

TEST(a_snapshot_applies_one_portion_of_departures)
{
    struct fixture *f = *state;
    uint64_t v;

    silent_members(f, 300, "log=10");
    execute_at_store(f, "alive r nobody");
    v = f->r.version;
    execute_at_store(f, "snapshot r max=10000");
    assert_int_equal(f->r.status, USHER_OK);
    assert_int_equal(f->r.version, v + 64);
    assert_int_equal(f->r.of.room.members, 300 - 2 * 64);
    assert_int_equal(f->r.of.room.n_rows, 1 + 300 - 2 * 64);
}

TEST(read_checks_one_page_of_departures)
{
    struct fixture *f = *state;

    silent_members(f, USHER_PAGE_MAX + 44, "log=10 linger=1");
    f->now += 1;
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 44);
    ok(f, "get r");
    assert_int_equal(f->r.of.room.members, 44);
    missing(f, "alive r m2"); /* applies a portion; the others are one page */
    missing(f, "show r");
}

TEST(join_of_a_full_room_is_retried_while_members_are_due)
{
    struct fixture *f = *state;

    silent_members(f, 300, "log=10");
    ok(f, "open r capacity=1");
    execute_at_store(f, "join r new"); /* a portion on its way, and one for its place */
    assert_int_equal(f->r.status, USHER_REFUSED);
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 0);
    ok(f, "join r new");
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 1);
    assert_int_equal(f->r.version, 1 + 300 + 1 + 1 + 300 + 1);
    full(f, "join r another");
}

TEST(a_kick_may_keep_out_for_a_while)
{
    struct fixture *f = *state;

    ok(f, "open r");
    ok(f, "join r ann");
    ok(f, "role r speaker ann");
    ok(f, "share r ann screen");
    ok(f, "kick r ann ban=1000");
    assert_int_equal(f->r.of.room.until_ms, MORNING + 1000);
    assert_holder(f, "speaker", "");
    refused(f, "join r ann");
    missing(f, "alive r ann");
    missing(f, "role r speaker ann");
    same(f, "leave r ann");
    same(f, "kick r ann");
    same(f, "kick r ann ban=1000");
    f->now += 500;
    ok(f, "kick r ann ban=1000");
    f->now += 999;
    refused(f, "join r ann");
    f->now += 1;
    ok(f, "join r ann");
    ok(f, "kick r ann ban=5000");
    ok(f, "kick r ann ban=0");
    ok(f, "join r ann");
    ok(f, "kick r bob ban=10"); /* before it ever came */
    refused(f, "join r bob");
    ok(f, "kick r ann ban=0"); /* there is no ban: it is a kick */
    assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_ABSENT);
}

TEST(a_silent_member_fades_in_steps_and_may_come_back)
{
    struct fixture *f = *state;
    uint64_t version;

    ok(f, "open r away=100 ttl=300 grace=200");
    ok(f, "join r ann mic=on");
    ok(f, "role r speaker ann");
    ok(f, "join r bob");
    version = f->r.version;
    f->now += 99;
    ok(f, "alive r ann");
    ok(f, "alive r bob");
    assert_true(f->r.version == version); /* heartbeats have no version */
    f->now += 60;
    ok(f, "set r topic w"); /* a command, so that the silence is that of the two */
    f->now += 40;
    ok(f, "alive r bob");
    assert_true(f->r.version > version);
    assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_AWAY);
    assert_int_equal(state_of(f, "bob"), USHER_ROOM_MEMBER_HERE);
    f->now += 149;
    ok(f, "set r topic x");
    f->now += 51; /* ann: 300 */
    assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_OFFLINE);
    assert_int_equal(state_of(f, "bob"), USHER_ROOM_MEMBER_AWAY);
    assert_holder(f, "speaker", "ann"); /* still a member */
    f->now += 199;
    ok(f, "alive r ann"); /* just in time, and all is as it was */
    assert_int_equal(f->r.of.room.member_state, USHER_ROOM_MEMBER_HERE);
    assert_holder(f, "speaker", "ann");
    assert_counts(f, "ann", "mic", "on");
    f->now += 300;
    ok(f, "set r topic y"); /* an outage, once */
    f->now += 500;
    assert_holder(f, "speaker", ""); /* gone, and the role with it */
    assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_ABSENT);
    missing(f, "alive r ann");
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 0);
}

/* A little model: who beat when. */
TEST(a_member_that_beats_in_time_is_never_removed)
{
    struct fixture *f = *state;
    struct usher_engine *other = under_test.shared ? engine_open(f, f->url, false) : NULL;
    enum { N = 6, TTL = 50 };
    int64_t seen[N];
    uint64_t seed = 42;

    ok(f, "open r ttl=%d", TTL);
    for (int i = 0; i < N; i++)
        seen[i] = -1;
    for (int step = 0; step < 1500; step++) {
        unsigned what, who;
        bool in;

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        what = (unsigned)(seed >> 33) % 8;
        who = (unsigned)(seed >> 40) % N;
        in = seen[who] >= 0 && f->now - seen[who] < TTL;
        if (what < 3) {
            f->now += (int64_t)(seed >> 50) % 20;
            ok(f, "set r step %d", step); /* so that no silence is an outage */
        } else if (what < 5) {
            expected(f, in ? USHER_OK : USHER_MISSING, "alive r m%u", who);
            if (in)
                seen[who] = f->now;
        } else if (what == 5) {
            expected(f, in ? USHER_SAME : USHER_OK, "join r m%u", who);
            seen[who] = f->now;
        } else if (what == 6 && other != NULL && f->twin == NULL) {
            struct usher_result r;

            (void)ask_room_sweep(other, "r", 0, &r);
            usher_result_done(&r);
        } else {
            ok(f, "snapshot r");
            for (int i = 0; i < N; i++) {
                char name[24];

                (void)snprintf(name, sizeof name, "m%d", i);
                assert_true((row_of(f, USHER_ROOM_ROW_MEMBER, name) != NULL) ==
                            (seen[i] >= 0 && f->now - seen[i] < TTL));
            }
        }
        if (step == 750 && other != NULL) { /* from here on two engines, without the twin */
            digests_agree(f, "r");
            no_twin(f);
        }
    }
    usher_close(other);
}

/* Sweeps of another thread, by another engine where the store may have one. */
struct sweeper {
    struct usher_engine *e;
    _Atomic int64_t now;
    _Atomic bool stop;
    _Atomic unsigned sweeps;
    uint64_t removed;
};

static enum usher_status at_time(struct usher_engine *e, enum usher_verb verb, const char *member,
                                 int64_t now, uint64_t *ret_count)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    memset(&c, 0, sizeof c);
    c.verb = verb;
    c.scope = text("r");
    c.given = USHER_GIVEN_NOW;
    c.now_ms = now;
    if (member != NULL)
        c.arg.room.member = text(member);
    if (usher_operate(e, &c, &r, 1) == USHER_INVALID)
        return USHER_INVALID;
    status = r.status;
    if (ret_count != NULL)
        *ret_count = r.of.room.count;
    usher_result_done(&r);
    return status;
}

static void *sweep_on(void *payload)
{
    struct sweeper *s = payload;
    uint64_t count;

    while (!atomic_load(&s->stop)) {
        count = 0;
        if (at_time(s->e, USHER_ROOM_SWEEP, NULL, atomic_load(&s->now), &count) == USHER_OK)
            s->removed += count;
        atomic_fetch_add(&s->sweeps, 1);
    }
    return NULL;
}

TEST(a_heartbeat_wins_over_a_sweep_at_the_same_time)
{
    struct fixture *f = *state;
    enum { TIMES = 300, TTL = 100 };
    struct usher_engine *other = under_test.shared ? engine_open(f, f->url, false) : f->e;
    struct sweeper s = { .e = other, .now = f->now };
    uint64_t left = 0;
    pthread_t thread;

    no_twin(f);
    ok(f, "open r ttl=%d", TTL);
    ok(f, "join r ann");
    ok(f, "join r silent");
    assert_int_equal(pthread_create(&thread, NULL, sweep_on, &s), 0);
    for (unsigned i = 0; i < TIMES || atomic_load(&s.sweeps) < TIMES; i++) {
        int64_t now = atomic_load(&s.now) + TTL - 1;

        atomic_store(&s.now, now); /* from here on she is nearly gone */
        assert_int_equal(at_time(f->e, USHER_ROOM_ALIVE, "ann", now, NULL), USHER_OK);
    }
    atomic_store(&s.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(s.removed <= 1);
    f->now = atomic_load(&s.now);
    assert_int_equal(at_time(f->e, USHER_ROOM_SWEEP, NULL, f->now, &left), USHER_SAME);
    assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_HERE);
    assert_int_equal(state_of(f, "silent"), USHER_ROOM_MEMBER_ABSENT);
    if (other != f->e)
        usher_close(other);
}

TEST(a_sweep_finds_the_silent_without_deadlines)
{
    struct fixture *f = *state;

    ok(f, "open r");
    ok(f, "join r ann");
    f->now += 10;
    ok(f, "join r bob");
    ok(f, "join r cid");
    f->now += 10;
    ok(f, "alive r ann");
    same(f, "sweep r");
    same(f, "sweep r ttl=11");
    ok(f, "sweep r ttl=10 max=1");
    assert_true(f->r.of.room.more && f->r.of.room.n_rows == 1 &&
                text_is(f->r.of.room.rows->id, "bob"));
    ok(f, "sweep r ttl=10 req=s");
    assert_true(!f->r.of.room.more && text_is(f->r.of.room.rows->id, "cid"));
    ok(f, "sweep r ttl=10 req=s");
    assert_true(f->r.repeated && text_is(f->r.of.room.rows->id, "cid"));
    assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_HERE);
}

/* Ends of bans have no version, by which a kept answer could be found among others. */
TEST(a_sweep_of_bans_alone_is_not_kept)
{
    struct fixture *f = *state;

    ok(f, "open r requests=2");
    ok(f, "kick r ann ban=10 req=a");
    f->now += 10;
    ok(f, "sweep r req=b");
    assert_int_equal(f->r.of.room.count, 1);
    audit(f->e);
    same(f, "sweep r req=b"); /* executed again */
    ok(f, "join r ann req=c");
    ok(f, "join r bob req=d");
    ok(f, "kick r ann ban=10 req=a"); /* forgotten by now */
    assert_false(f->r.repeated);
}

/* ---- mute all ---------------------------------------------------------------------- */

struct told {
    unsigned n;
    size_t size; /* of the last, as it travels */
    struct usher_notice last;
};

static void hear(void *payload, const struct usher_notice *notice)
{
    struct told *t = payload;
    struct usher__packer p = { NULL, 0, 0 };

    usher__notice_pack(&p, notice);
    t->n++;
    t->size = p.n;
    t->last = *notice;
}

TEST(all_are_muted_by_one_short_notice)
{
    struct fixture *f = *state;
    struct usher_watcher *watch;
    struct told t = { 0 };
    int n = (int)many(2000);
    uint64_t version;

    ok(f, "open r");
    ok(f, "join r ann mic=on");
    for (int i = 1; i < n; i++)
        ok(f, "join r m%d mic=on", i);
    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear, &t, &watch), USHER_OK);
    version = f->r.version;
    ok(f, "all r mic off");
    assert_true(f->r.version == version + 1);
    assert_int_equal(t.n, 1);
    assert_true(t.size < 200);
    assert_int_equal(t.last.verb, USHER_ROOM_ALL);
    assert_counts(f, "ann", "mic", "off");
    assert_counts(f, "m7", "mic", "off");
    ok(f, "member r ann mic on if=off"); /* her own later change wins */
    assert_counts(f, "ann", "mic", "on");
    assert_counts(f, "m7", "mic", "off");
    same(f, "member r ann mic on");
    ok(f, "all r mic off"); /* and the next one for all wins again */
    assert_counts(f, "ann", "mic", "off");
    ok(f, "member r ann mic on");
    ok(f, "member r m7 mic on"); /* as before the first one, but it is a change */
    assert_counts(f, "m7", "mic", "on");
    ok(f, "join r late"); /* counts for those who come later, too … */
    assert_counts(f, "late", "mic", "off");
    ok(f, "join r later mic=on"); /* … unless they bring their own */
    assert_counts(f, "later", "mic", "on");
    usher_unwatch(f->e, watch);
}

/* The shortest of some: what it takes when nothing comes between. */
static int64_t mute_all_ns(struct fixture *f, const char *room)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < 300; i++) {
        struct usher_text value = text(i % 2 == 0 ? "off" : "on");
        struct timespec a, b;
        int64_t ns;

        (void)clock_gettime(CLOCK_MONOTONIC, &a);
        assert_int_equal(ask_room_all(f->e, room, "mic", &value), USHER_OK);
        (void)clock_gettime(CLOCK_MONOTONIC, &b);
        ns = (int64_t)(b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
        least = ns < least ? ns : least;
    }
    return least;
}

/* A million: see whole(). */
TEST(to_mute_a_million_takes_no_longer_than_to_mute_one)
{
    struct fixture *f = *state;
    enum { BATCH = 1000 };
    unsigned n = whole() ? 1000000 : many(20000);
    static struct usher_operation c[BATCH];
    static struct usher_result r[BATCH];
    static char names[BATCH][16];
    struct usher_watcher *watch;
    struct told t = { 0 };
    int64_t small, large;

    no_twin(f);
    ok(f, "open small");
    ok(f, "join small ann");
    ok(f, "open large log=10");
    for (unsigned from = 0; from < n; from += BATCH) {
        for (unsigned i = 0; i < BATCH; i++) {
            memset(&c[i], 0, sizeof c[i]);
            (void)snprintf(names[i], sizeof names[i], "m%u", from + i);
            c[i].verb = USHER_ROOM_JOIN;
            c[i].scope = text("large");
            c[i].arg.room.member = text(names[i]);
        }
        assert_int_equal(usher_operate(f->e, c, r, BATCH), USHER_OK);
    }
    small = mute_all_ns(f, "small");
    large = mute_all_ns(f, "large");
    if (large > 10 * small + 100000)
        fail_msg("%" PRId64 " ns for %u members, %" PRId64 " for one", large, n, small);
    assert_int_equal(usher_watch(f->e, USHER_ROOM, "large", hear, &t, &watch), USHER_OK);
    ok(f, "all large mic off");
    assert_true(t.n == 1 && t.size < 200);
    assert_true(f->r.of.room.members >= n);
    usher_unwatch(f->e, watch);
}

/* A command for an old version changes nothing, and its answer has the current version and the
 * present state of its subject; `if=` compares a value. */
TEST(outdated_version_is_refused_with_the_current_one)
{
    static const struct {
        const char *command, *name;
        enum usher_room_member_state state;
        const char *value;
    } lines[] = {
        { "open r log=9 if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "set r topic x if-version=1", "", USHER_ROOM_MEMBER_ABSENT, "bye" },
        { "set r none x if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "set r topic x if=bye if-version=1", "", USHER_ROOM_MEMBER_ABSENT, "bye" },
        { "unset r topic if-version=1", "", USHER_ROOM_MEMBER_ABSENT, "bye" },
        { "all r mic x if-version=1", "", USHER_ROOM_MEMBER_ABSENT, "off" },
        { "member r ann mic x if-version=1", "ann", USHER_ROOM_MEMBER_HERE, "off" },
        { "member r ann cam x if-version=1", "ann", USHER_ROOM_MEMBER_HERE, "low" },
        { "member r bob mic x if-version=1", "bob", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "role r host '' if-version=1", "ann", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "role r guest bob if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "kick r ann if-version=1", "ann", USHER_ROOM_MEMBER_HERE, NULL },
        { "join r eve if-version=1", "eve", USHER_ROOM_MEMBER_BANNED, NULL },
        { "join r bob if-version=1", "bob", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "leave r ann if-version=1", "ann", USHER_ROOM_MEMBER_HERE, NULL },
        { "alive r ann if-version=1", "ann", USHER_ROOM_MEMBER_HERE, NULL },
        { "share r bob screen if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "unshare r screen if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "lock r if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "close r if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "sweep r if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
        { "snapshot r if-version=1", "", USHER_ROOM_MEMBER_ABSENT, NULL },
    };
    struct fixture *f = *state;
    const struct usher_room_result_row *row;
    uint64_t version;

    ok(f, "open r");
    ok(f, "set r topic bye");
    ok(f, "join r ann mic=on cam=low");
    ok(f, "role r host ann");
    ok(f, "share r ann screen w=1");
    ok(f, "all r mic off");
    ok(f, "kick r eve ban=5000");
    version = f->r.version;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        stale(f, "%s", lines[i].command);
        assert_true(f->r.version == version && f->r.of.room.members == 1);
        assert_true(f->r.of.room.state == USHER_ROOM_STATE_OPEN);
        assert_string_equal(f->r.of.room.name, lines[i].name);
        assert_int_equal(f->r.of.room.member_state, lines[i].state);
        assert_int_equal(f->r.of.room.n_rows, lines[i].value != NULL);
        if (lines[i].value != NULL)
            assert_true(text_is(f->r.of.room.rows->value, lines[i].value));
    }
    stale(f, "open r log=9 if-version=1");
    assert_int_equal(f->r.of.room.settings.log, 256);
    assert_true(f->r.of.room.created_ms != 0);
    stale(f, "kick r eve if-version=1");
    assert_true(f->r.of.room.until_ms == f->now + 5000);
    stale(f, "set r topic x if=by");
    row = row_of(f, USHER_ROOM_ROW_FIELD, "topic");
    assert_true(row != NULL && text_is(row->value, "bye") && f->r.of.room.n_rows == 1);
    ok(f, "set r topic x if-version=%" PRIu64, version);
    audit(f->e);
}

/* The command may find its member expired: a change of which the caller knew nothing. */
TEST(expiry_within_a_command_changes_the_version)
{
    struct fixture *f = *state;
    uint64_t version;

    ok(f, "open r ttl=1000");
    for (int i = 0; i < 100; i++) /* more than a command expires before it begins */
        ok(f, "join r m%d", i);
    ok(f, "join r zoe");
    ok(f, "role r host zoe");
    f->now += 1000;
    missing(f, "alive r nobody"); /* the silence of all is an outage, once */
    f->now += 1000;
    missing(f, "alive r nobody");
    version = f->r.version;
    stale(f, "role r host '' if-version=%d", (int)version);
    assert_string_equal(f->r.of.room.name, "");
}

/* ---- roles and shares -------------------------------------------------------------- */

TEST(a_role_is_handed_over_by_comparing)
{
    struct fixture *f = *state;

    ok(f, "open r");
    missing(f, "role r speaker ann");
    ok(f, "join r ann");
    ok(f, "join r bob");
    ok(f, "role r speaker ann if=");
    same(f, "role r speaker ann");
    stale(f, "role r speaker bob if=");
    assert_string_equal(f->r.of.room.name, "ann");
    ok(f, "role r speaker bob if=ann");
    stale(f, "role r speaker '' if=ann");
    ok(f, "role r speaker '' if=bob");
    same(f, "role r speaker ''");
    ok(f, "role r speaker ann if=");
    ok(f, "leave r ann");
    assert_holder(f, "speaker", ""); /* in the same version */
    ok(f, "role r speaker bob if=");
}

TEST(shares_go_with_their_member)
{
    struct fixture *f = *state;
    uint64_t version;

    ok(f, "open r ttl=100");
    ok(f, "join r ann");
    ok(f, "join r bob");
    ok(f, "share r ann screen kind=window");
    same(f, "share r ann screen kind=window");
    ok(f, "share r ann screen kind=all");
    refused(f, "share r bob screen");
    missing(f, "share r cid board");
    ok(f, "share r bob board");
    ok(f, "unshare r board");
    same(f, "unshare r board");
    ok(f, "share r ann file");
    version = f->r.version;
    ok(f, "leave r ann");
    assert_true(f->r.version == version + 1);
    ok(f, "snapshot r");
    assert_null(row_of(f, USHER_ROOM_ROW_SHARE, "screen"));
    ok(f, "share r bob screen");
    f->now += 100;
    ok(f, "join r ann");
    ok(f, "share r ann screen"); /* bob is gone by now, with all shares */
    ok(f, "snapshot r");
    assert_true(text_is(row_of(f, USHER_ROOM_ROW_SHARE, "screen")->owner, "ann"));
}

/*
 * The whole of a small world: two members and two roles, every state that can be reached, every
 * command in it.  After each one the holder of a role is in the room.
 */
struct world {
    int in[2], holder[2]; /* 0: none, 1: ann, 2: bob */
};

static const char *const people[] = { "''", "ann", "bob" };

static void reach(struct fixture *f, const struct world *w)
{
    ok(f, "close r");
    ok(f, "open r ttl=100 log=5");
    for (int i = 0; i < 2; i++)
        if (w->in[i])
            ok(f, "join r %s", people[i + 1]);
    for (int i = 0; i < 2; i++)
        if (w->holder[i] != 0)
            ok(f, "role r role%d %s", i, people[w->holder[i]]);
}

static void sound(struct fixture *f)
{
    ok(f, "snapshot r");
    for (int i = 0; i < 2; i++) {
        const struct usher_room_result_row *row =
            row_of(f, USHER_ROOM_ROW_ROLE, i == 0 ? "role0" : "role1");
        char name[24];

        if (row == NULL)
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)row->owner.size, row->owner.data);
        if (row_of(f, USHER_ROOM_ROW_MEMBER, name) == NULL)
            fail_msg("%s has a role and is not there", name);
    }
    audit(f->e);
    digests_agree(f, "r");
}

TEST(no_role_holder_is_ever_absent)
{
    struct fixture *f = *state;
    unsigned states = 0, steps = 0;

    ok(f, "open r");
    for (int code = 0; code < 36; code++) {
        struct world w = { { code & 1, code >> 1 & 1 }, { code / 4 % 3, code / 12 } };

        if ((w.holder[0] > 0 && !w.in[w.holder[0] - 1]) ||
            (w.holder[1] > 0 && !w.in[w.holder[1] - 1]))
            continue;
        states++;
        for (int command = budget_wrapped() ? code % 5 : 0; command < 4 * 2 + 2 * 3 * 4 + 2;
             command += budget_wrapped() ? 5 : 1) {
            int c = command;

            reach(f, &w);
            steps++;
            if (c < 8) {
                static const char *const verbs[] = { "join", "leave", "kick", "alive" };
                const char *who = people[1 + c % 2];
                bool in = w.in[c % 2];
                enum usher_status want = in ? USHER_OK : USHER_SAME;

                if (c / 2 == 0)
                    want = in ? USHER_SAME : USHER_OK;
                else if (c / 2 == 3)
                    want = in ? USHER_OK : USHER_MISSING;
                expected(f, want, "%s r %s", verbs[c / 2], who);
            } else if (c < 32) {
                int role = (c - 8) % 2, to = (c - 8) / 2 % 3, must = (c - 8) / 6;
                enum usher_status want = USHER_OK;

                if (to > 0 && !w.in[to - 1])
                    want = USHER_MISSING;
                else if (must < 3 && must != w.holder[role])
                    want = USHER_STALE;
                else if (to == w.holder[role])
                    want = USHER_SAME;
                if (must < 3)
                    expected(f, want, "role r role%d %s if=%s", role, people[to],
                             must == 0 ? "" : people[must]);
                else
                    expected(f, want, "role r role%d %s", role, people[to]);
            } else { /* one of them falls silent */
                f->now += 99;
                if (w.in[c - 32])
                    ok(f, "alive r %s", people[1 + c - 32]);
                f->now += 1;
            }
            sound(f);
        }
    }
    assert_int_equal(states, 18);
    assert_true(budget_wrapped() || steps == 18 * 34);
}

/* ---- following --------------------------------------------------------------------- */

TEST(changes_reach_back_as_far_as_the_log)
{
    struct fixture *f = *state;
    struct usher_watcher *watch;
    struct told t = { 0 };
    struct usher_notice n;
    struct usher_text room = text("r");

    ok(f, "open r log=4");
    ok(f, "join r ann");
    ok(f, "changes r since=0");
    assert_int_equal(f->r.of.room.n_rows, 2);
    for (int i = 0; i < 6; i++)
        ok(f, "set r f%d x", i);
    assert_int_equal(f->r.version, 8);
    stale(f, "changes r since=3");
    assert_int_equal(f->r.of.room.since, 4);
    assert_string_equal(f->r.message, "");
    stale(f, "changes r since=9"); /* ahead of the room */
    assert_string_equal(f->r.message, "the version does not exist yet");
    ok(f, "changes r since=4 max=3");
    assert_true(f->r.of.room.n_rows == 3 && f->r.of.room.more);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            usher_notice_read(USHER_ROOM, &room, f->r.epoch, &f->r.of.room.rows[i].value, &n),
            USHER_OK);
        assert_int_equal(n.version, 5 + i);
        assert_int_equal(n.verb, USHER_ROOM_SET);
    }
    ok(f, "changes r since=8");
    assert_int_equal(f->r.of.room.n_rows, 0);
    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear, &t, &watch), USHER_OK);
    ok(f, "open r log=2"); /* a shorter log: it shrinks as it goes on */
    ok(f, "set r topic x");
    ok(f, "set r topic y");
    assert_int_equal(t.n, 3);
    ok(f, "changes r since=9");
    assert_int_equal(f->r.of.room.n_rows, 2);
    stale(f, "changes r since=8");
    usher_unwatch(f->e, watch);
    missing(f, "changes never since=0");
}

TEST(a_snapshot_comes_in_pages)
{
    struct fixture *f = *state;
    uint64_t version, after = 0;
    int seen = 0;

    ok(f, "open r log=5");
    ok(f, "set r topic x");
    for (int i = 0; i < 25; i++) {
        ok(f, "join r m%d n=%d", i, i);
        ok(f, "share r m%d s%d", i, i);
    }
    ok(f, "role r speaker m3");
    ok(f, "all r mic off");
    version = f->r.version;
    do {
        ok(f, "snapshot r max=10 after=%d if-version=%d", (int)after, (int)version);
        assert_true(f->r.version == version);
        assert_true((row_of(f, USHER_ROOM_ROW_FIELD, "topic") != NULL) == (after == 0));
        assert_non_null(row_of(f, USHER_ROOM_ROW_ALL, "mic"));
        for (size_t i = 0; i < f->r.of.room.n_rows; i++) {
            const struct usher_room_result_row *row = &f->r.of.room.rows[i];
            char name[24];

            (void)snprintf(name, sizeof name, "m%d", seen);
            if (row->kind == USHER_ROOM_ROW_MEMBER) {
                assert_true(text_is(row->id, name));
                assert_true(text_is(row[1].owner, name));
                assert_true(row->version > after);
                after = row->version;
                seen++;
            }
        }
        assert_true(f->r.of.room.since == after);
    } while (f->r.of.room.more);
    assert_int_equal(seen, 25);
    ok(f, "alive r m1"); /* no change */
    ok(f, "snapshot r max=10 if-version=%d", (int)version);
    after = f->r.of.room.since;
    /* a page may continue after a member that left; the changes since then come first */
    ok(f, "leave r m9");
    stale(f, "snapshot r max=10 after=%d if-version=%d", (int)after, (int)version);
    ok(f, "snapshot r max=10 after=%d since=%d", (int)after, (int)version);
    assert_int_equal(f->r.of.room.rows[0].kind, USHER_ROOM_ROW_NOTICE);
    assert_true(f->r.of.room.rows[0].version == version + 1);
    assert_int_equal(f->r.of.room.rows[1].kind, USHER_ROOM_ROW_ALL);
    assert_true(text_is(f->r.of.room.rows[2].id, "m10"));
    assert_true(f->r.of.room.more);
    /* more of it than a page has: nothing else, and the place is the same */
    ok(f, "set r topic y");
    ok(f, "set r topic z");
    ok(f, "snapshot r max=2 after=%d since=%d", (int)after, (int)version);
    assert_int_equal(f->r.of.room.n_rows, 2);
    assert_true(f->r.of.room.rows[1].kind == USHER_ROOM_ROW_NOTICE && f->r.of.room.more);
    assert_true(f->r.of.room.since == after);
    ok(f, "snapshot r max=3 after=%d since=%d", (int)after, (int)version);
    assert_int_equal(f->r.of.room.n_rows, 3 + 1 + 2 * 3);
    /* the log reaches back to five changes ago */
    ok(f, "set r topic 1");
    ok(f, "set r topic 2");
    ok(f, "snapshot r after=%d since=%d", (int)after, (int)version);
    ok(f, "set r topic 3");
    stale(f, "snapshot r after=%d since=%d", (int)after, (int)version);
    stale(f, "snapshot r after=%d since=%d", (int)after, (int)version + 7);
}

/* A page takes a server no more than some 10 ms, whatever `max` is, and the pages are the whole
 * room. */
TEST(a_page_of_a_snapshot_ends_by_its_work)
{
    struct fixture *f = *state;
    uint64_t after = 0, epoch, version;
    int seen = 0, pages = 0;
    char digest[33];

    ok(f, "open r");
    for (int i = 0; i < 900; i++)
        ok(f, "join r m%d", i);
    do {
        int n = 0;

        ok(f, "snapshot r max=10000 after=%d", (int)after);
        for (size_t i = 0; i < f->r.of.room.n_rows; i++)
            n += f->r.of.room.rows[i].kind == USHER_ROOM_ROW_MEMBER;
        assert_in_range(n, 1, 420);
        after = f->r.of.room.since;
        seen += n;
        pages++;
    } while (f->r.of.room.more);
    assert_int_equal(seen, 900);
    assert_int_equal(pages, 3);
    assert_int_equal(usher_room_digest(f->e, "r", &epoch, &version, digest), USHER_OK);
    assert_true(version == f->r.version);
}

/* Each change has the hash of the history before it, and answers have that of the whole. */
TEST(history_hashes_make_a_chain)
{
    struct fixture *f = *state;
    static const char *const lines[] = { "join r ann a=1",  "set r topic x", "all r mic off",
                                         "role r host ann", "share r ann s", "leave r ann" };
    struct usher_text room = text("r");
    uint64_t mark = 0, seen = 0;

    ok(f, "open r");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ok(f, "%s", lines[i]);
        ok(f, "changes r since=%d", (int)i);
        for (size_t k = 0; k < 2; k++) {
            struct usher_notice n;

            assert_int_equal(
                usher_notice_read(USHER_ROOM, &room, f->r.epoch, &f->r.of.room.rows[k].value, &n),
                USHER_OK);
            assert_true(n.mark != 0 && n.mark <= USHER_EXACT_MAX);
            assert_true(n.was == seen || (k == 0 && i > 0));
            assert_true(k != 0 || i == 0 || n.mark == mark);
            seen = n.mark;
        }
        assert_true(f->r.of.room.mark == seen && seen != mark);
        mark = seen;
        ok(f, "snapshot r");
        assert_true(f->r.of.room.mark == mark);
    }
}

TEST(a_heartbeat_returns_the_newest_version)
{
    struct fixture *f = *state;
    uint64_t epoch = 0, version = 0, mark = 0;
    char before[33], after[33];

    ok(f, "open r ttl=1000");
    ok(f, "join r ann");
    ok(f, "set r topic x");
    assert_int_equal(usher_room_digest(f->e, "r", NULL, NULL, before), USHER_OK);
    f->now += 10;
    ok(f, "alive r ann");
    assert_int_equal(f->r.of.room.until_ms, f->now + 1000);
    assert_int_equal(ask_room_alive(f->e, "r", "ann", &epoch, &version, &mark), USHER_OK);
    assert_true(epoch == f->r.epoch && version == 3 && mark == f->r.of.room.mark);
    /* and what is seen is as before */
    assert_int_equal(usher_room_digest(f->e, "r", NULL, NULL, after), USHER_OK);
    assert_string_equal(before, after);
    ok(f, "set r topic y");
    assert_int_equal(usher_room_digest(f->e, "r", NULL, NULL, after), USHER_OK);
    assert_string_not_equal(before, after);
}

/* ---- the digest, from JSON alone ---------------------------------------------------------------
 */

/* The answer to @line as JSON, which is the caller's. */
static char *json_of(struct fixture *f, const char *line, int64_t *ret_next)
{
    unsigned char room[4096];
    struct usher_command c;
    struct usher_reply *reply;
    const struct usher_value *v;
    size_t size, n;
    char *to;

    assert_int_equal(usher_command_parse(line, strlen(line), room, sizeof room, &c), USHER_OK);
    assert_int_equal(usher_execute(f->e, &c, 1, 0, &reply), USHER_OK);
    assert_int_equal(reply->status, USHER_OK);
    *ret_next = 0;
    v = usher_reply_values(reply, USHER_ANSWER, &n);
    for (size_t i = 0; i < n; i++)
        if (v[i].field == USHER_FIELD_MORE && v[i].number != 0)
            *ret_next = 1;
    for (size_t i = 0; i < n && *ret_next != 0; i++)
        if (v[i].field == USHER_FIELD_SINCE_VERSION)
            *ret_next = v[i].number;
    size = usher_reply_write(reply, USHER_FORM_JSON, NULL, 0) + 1;
    to = malloc(size);
    assert_non_null(to);
    (void)usher_reply_write(reply, USHER_FORM_JSON, to, size);
    usher_reply_done(reply);
    return to;
}

static void assert_json_digest(struct fixture *f, int max)
{
    char want[33], is[33], line[96];
    char *page[32];
    size_t n = 0;
    int64_t next = 0;

    do {
        assert_true(n < sizeof page / sizeof *page);
        (void)snprintf(line, sizeof line, "room snapshot r versions=1 max=%d after=%" PRId64, max,
                       next);
        page[n++] = json_of(f, line, &next);
    } while (next != 0);
    assert_true(json_digest(page, n, is));
    assert_int_equal(usher_room_digest(f->e, "r", NULL, NULL, want), USHER_OK);
    assert_string_equal(is, want);
    while (n > 0)
        free(page[--n]);
}

TEST(the_digest_can_be_computed_from_json)
{
    struct fixture *f = *state;
    static const char *const lines[] = {
        "open r away=100 ttl=300 grace=200",
        "set r topic x",
        "set r raw \xff\xfe\x80",
        "set r odd \xe2\x80\xa8\xc2\x85\"\\/\n\x7f\xf0\x9f\x98\x80",
        "set r empty ",
        "join r ann mic=on cam=off",
        ("join r b\xc3\xb6"
         "b mic=on"),
        "all r mic off",
        "all r hand \x80",
        "member r ann mic on",
        "join r eve",
        "role r speaker ann",
        "role r chair eve",
        "share r ann screen a=1 b=\xf0\x28",
        "share r ann notes",
        "all r cam on",
        "lock r",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct usher_operation c;
        struct said s;

        said_line(&s, USHER_ROOM, lines[i]);
        c = s.c;
        assert_int_equal(execute(f, &c), USHER_OK);
        assert_json_digest(f, 10);
    }
    assert_json_digest(f, 1);
    f->now += 60;
    ok(f, "alive r ann");
    f->now += 60;
    ok(f, "sweep r"); /* the others are away */
    assert_json_digest(f, 2);
    ok(f, "unlock r");
    ok(f, "kick r eve ban=1000"); /* no digest covers bans */
    assert_json_digest(f, 2);
}

/* ---- closing ----------------------------------------------------------------------- */

/* Everything that the store has: of no noun in particular. */
static size_t items(struct fixture *f)
{
    uint64_t faults;
    size_t n = under_test.left != NULL ? under_test.left(f->url) : 0;
    char digest[33], nothing[33];

    assert_int_equal(check_faults(f->e, NULL, NULL, &faults), USHER_OK);
    assert_int_equal(usher_digest(f->e, USHER_ROOM, "r", digest), USHER_OK);
    assert_int_equal(usher_digest(f->e, USHER_ROOM, "never", nothing), USHER_OK);
    return n + (strcmp(digest, nothing) != 0);
}

/* Everything that there can be in a room. */
static void furnish(struct fixture *f, int n)
{
    ok(f, "open r ttl=100000 grace=1 away=50000 log=300 req=open");
    for (int i = 0; i < n; i++)
        ok(f, "join r m%d mic=on req=j%d", i, i);
    for (int i = 0; i < 40 && i < n; i++) {
        ok(f, "set r field%d x req=s%d", i, i);
        ok(f, "all r all%d x", i);
        ok(f, "role r role%d m%d", i, i % 5);
        ok(f, "share r m%d share%d a=1", i % 7, i);
    }
}

static void ban_some(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++)
        ok(f, "kick r nobody%d ban=%d", i, 1000000 + i % 7);
}

TEST(closed_room_leaves_no_data)
{
    struct fixture *f = *state;
    int64_t before;
    int n = (int)many(1500);

    before = f->bytes;
    assert_int_equal(items(f), 0);
    for (int round = 0; round < 2; round++) {
        unsigned steps = 0;

        furnish(f, n);
        ban_some(f, n < 40 ? n : 40);
        assert_true(items(f) > 0);
        do {
            ok(f, "close r ban=0");
            assert_true(f->r.of.room.count <= 33);
            steps++;
        } while (f->r.of.room.more);
        assert_true(steps > (unsigned)n / 33);
        assert_int_equal(items(f), 0);
        usher_result_done(&f->r);
        /* memory: to the byte; SQLite and Redis keep buffers of a bounded size in the client */
        if (strcmp(under_test.name, "memory") == 0)
            assert_true(f->bytes == before);
    }
    ok(f, "open r"); /* a new one, with nothing of the old */
    assert_int_equal(f->r.version, 1);
    ok(f, "join r m1");
    assert_int_equal(state_of(f, "m1"), USHER_ROOM_MEMBER_HERE);
    assert_true(f->r.of.room.n_rows == 1);
}

/* The notices of `open` have all settings, also those that the command did not give. */
TEST(the_notice_of_open_has_the_settings)
{
    struct fixture *f = *state;
    static const struct {
        const char *line;
        int64_t value[9];
    } opens[] = {
        { "open r", { 0, 0, 0, 0, 0, 256, 10000, 0, 0 } },
        { "open r capacity=5 linger=1000 ttl=2000 away=500 grace=9007199254 log=7 requests=3 "
          "presence=10 push=1",
          { 5, 1000, 2000, 500, 9007199254, 7, 3, 10, 1 } },
        { "open r capacity=6", { 6, 1000, 2000, 500, 9007199254, 7, 3, 10, 1 } },
    };
    static const char *const word[] = { "capacity", "linger",   "ttl",      "away", "grace",
                                        "log",      "requests", "presence", "push" };

    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        struct usher_notice n;
        struct usher_unpacker u;
        struct usher_fields fields;
        struct usher_text name, value;
        uint64_t version;
        size_t k = 0;

        ok(f, "%s", opens[i].line);
        ok(f, "changes r since=%d", (int)i);
        assert_int_equal(f->r.of.room.n_rows, 1);
        u.at = (const unsigned char *)f->r.of.room.rows[0].value.data;
        u.end = u.at + f->r.of.room.rows[0].value.size;
        assert_true(usher__notice_unpack(&u, &n));
        assert_int_equal(n.verb, USHER_ROOM_OPEN);
        usher_fields_begin(&fields, &n.data);
        for (; usher_fields_next(&fields, &name, &value, &version); k++) {
            char digits[24];

            assert_true(k < 9 && text_is(name, word[k]));
            (void)snprintf(digits, sizeof digits, "%" PRId64, opens[i].value[k]);
            assert_true(text_is(value, digits));
        }
        assert_int_equal(k, 9);
    }
}

/* Return whether the last change of room r is @verb and has the actor `op`. */
static bool last_is_of_op(struct fixture *f, enum usher_verb verb)
{
    struct usher_notice n;
    struct usher_unpacker u;
    struct usher_fields fields;
    struct usher_text name, value;
    uint64_t version;
    bool found = false;

    ok(f, "changes r since=%d", (int)f->r.version - 1);
    assert_int_equal(f->r.of.room.n_rows, 1);
    u.at = (const unsigned char *)f->r.of.room.rows[0].value.data;
    u.end = u.at + f->r.of.room.rows[0].value.size;
    assert_true(usher__notice_unpack(&u, &n));
    assert_int_equal(n.verb, verb);
    usher_fields_begin(&fields, &n.data);
    while (n.data.size != 0 && usher_fields_next(&fields, &name, &value, &version))
        found = found || (text_is(name, "actor") && text_is(value, "op"));
    return found;
}

TEST(notices_of_rooms_name_the_actor_of_the_command)
{
    static const struct {
        const char *line;
        enum usher_verb verb;
        bool has;
    } steps[] = {
        { "open r ttl=1000 actor=op", USHER_ROOM_OPEN, true },
        { "open r capacity=3", USHER_ROOM_OPEN, false },
        { "lock r actor=op", USHER_ROOM_LOCK, true },
        { "unlock r actor=op", USHER_ROOM_UNLOCK, true },
        { "unlock r", USHER_ROOM_UNLOCK, false },
        { "join r ann actor=op", USHER_ROOM_JOIN, true }, /* a field of ann */
        { "kick r ann actor=op", USHER_ROOM_KICK, true },
        { "kick r ann ban=100 actor=op", USHER_ROOM_KICK, true },
        { "kick r ann ban=0", USHER_ROOM_KICK, false },
        { "join r bob", USHER_ROOM_JOIN, false },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (strcmp(steps[i].line, "unlock r") == 0)
            ok(f, "lock r");
        ok(f, "%s", steps[i].line);
        assert_int_equal(last_is_of_op(f, steps[i].verb), steps[i].has);
    }
    f->now += 1000;
    same(f, "kick r ann actor=op"); /* the end of bob is no act of the actor */
    assert_int_equal(last_is_of_op(f, USHER_ROOM_EXPIRE), false);
}

/* ---- bans over close and open ------------------------------------------------------ */

static void close_wholly(struct fixture *f, const char *line)
{
    do
        ok(f, "%s", line);
    while (f->r.of.room.more);
}

TEST(a_ban_lasts_over_close_and_open)
{
    struct fixture *f = *state;
    struct usher_unpacker u;
    struct usher_notice notice;
    uint64_t epoch, version;

    ok(f, "open r capacity=5 ttl=100");
    ok(f, "join r ann");
    ok(f, "kick r ann ban=1000");
    ok(f, "kick r eve ban=5000");
    ok(f, "set r topic x");
    epoch = f->r.epoch;
    version = f->r.version;
    ok(f, "close r");
    assert_false(f->r.of.room.more);
    assert_int_equal(f->r.of.room.state, USHER_ROOM_STATE_CLOSED);
    assert_true(f->r.epoch == epoch);
    /* for all others there is no room */
    same(f, "close r");
    missing(f, "show r");
    assert_int_equal(f->r.of.room.state, USHER_ROOM_STATE_CLOSED);
    missing(f, "get r");
    missing(f, "changes r since=0");
    missing(f, "snapshot r");
    missing(f, "join r ann");
    missing(f, "join r bob");
    missing(f, "alive r ann");
    missing(f, "leave r ann");
    missing(f, "kick r ann");
    missing(f, "kick r bob ban=1000");
    missing(f, "lock r");
    missing(f, "set r topic y");
    missing(f, "sweep r");
    missing(f, "open r epoch=%016" PRIx64, epoch);
    audit(f->e);
    digests_agree(f, "r");

    ok(f, "open r");
    assert_true(f->r.epoch != epoch && f->r.epoch != 0);
    assert_true(f->r.version > version); /* so the old one's is never accepted */
    assert_int_equal(f->r.of.room.settings.capacity, 0);
    refused(f, "join r ann");
    assert_int_equal(f->r.of.room.until_ms, MORNING + 1000);
    refused(f, "join r eve");
    stale(f, "set r topic y if-version=%" PRIu64 " epoch=%016" PRIx64, version, epoch);
    stale(f, "changes r since=%" PRIu64 " epoch=%016" PRIx64, version, epoch);
    ok(f, "changes r since=0"); /* the log is that of the new room, from its beginning */
    assert_int_equal(f->r.of.room.n_rows, 1);
    u.at = (const unsigned char *)f->r.of.room.rows[0].value.data;
    u.end = u.at + f->r.of.room.rows[0].value.size;
    assert_true(usher__notice_unpack(&u, &notice));
    assert_true(notice.before == 0 && notice.version > version);
    ok(f, "join r bob");
    assert_int_equal(f->r.of.room.members, 1);
    f->now += 1000;
    ok(f, "join r ann");
    refused(f, "join r eve");

    ok(f, "close r");
    ok(f, "open r");
    ok(f, "close r");
    ok(f, "open r linger=10"); /* a room that closes by itself keeps them, too */
    f->now += 10;
    missing(f, "join r ann");
    ok(f, "open r");
    refused(f, "join r eve");
    f->now += 4000;
    ok(f, "join r eve");
    ok(f, "close r");
    assert_int_equal(items(f), 0);
    ok(f, "open r");
    assert_int_equal(f->r.version, 1);
}

TEST(bans_of_a_closed_room_end_without_a_notice)
{
    struct fixture *f = *state;
    int64_t before = f->bytes;
    static const char *const by[] = { "sweep r", "join r ann", "close r", "kick r x ban=0" };

    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        ok(f, "open r");
        ban_some(f, 30);
        ok(f, "kick r ann ban=1000");
        close_wholly(f, "close r");
        assert_true(items(f) > 0);
        f->now += 1000;
        if (k == 2)
            same(f, "%s", by[k]);
        else
            missing(f, "%s", by[k]);
        assert_true(items(f) > 0);
        assert_int_equal(f->r.due_ms, f->now - 1000 + 1000000);
        f->now += 1000006;
        if (k == 2)
            same(f, "%s", by[k]);
        else
            missing(f, "%s", by[k]);
        assert_int_equal(items(f), 0);
        usher_result_done(&f->r);
        if (strcmp(under_test.name, "memory") == 0)
            assert_true(f->bytes == before);
        digests_agree(f, "r");
    }
}

TEST(a_ban_is_lifted_though_the_room_is_closed)
{
    struct fixture *f = *state;
    uint64_t epoch, version;

    ok(f, "open r");
    ok(f, "kick r ann ban=1000");
    ok(f, "kick r eve ban=1000");
    epoch = f->r.epoch;
    close_wholly(f, "close r");
    version = f->r.version;
    stale(f, "kick r ann ban=0 if-version=%" PRIu64 " epoch=%016" PRIx64, version - 1, epoch);
    assert_int_equal(f->r.of.room.member_state, USHER_ROOM_MEMBER_BANNED);
    ok(f, "kick r ann ban=0 req=once");
    assert_int_equal(f->r.of.room.member_state, USHER_ROOM_MEMBER_ABSENT);
    assert_true(f->r.version == version);
    missing(f, "kick r ann ban=0 req=once");
    ok(f, "open r");
    ok(f, "join r ann");
    refused(f, "join r eve");
    close_wholly(f, "close r");
    ok(f, "kick r eve ban=0 req=once"); /* the last one: then nothing is left */
    assert_int_equal(items(f), 0);
    missing(f, "kick r eve ban=0 req=once");
    ok(f, "open r");
    assert_int_equal(f->r.version, 1);
    ok(f, "join r eve");

    furnish(f, (int)many(300));
    ok(f, "kick r nobody ban=1000");
    ok(f, "close r");
    if (f->r.of.room.more) {
        ok(f, "kick r nobody ban=0"); /* while it is being closed */
        missing(f, "kick r nobody ban=0");
    }
    close_wholly(f, "close r ban=0");
    assert_int_equal(items(f), 0);
}

TEST(close_and_drop_end_all_bans)
{
    struct fixture *f = *state;
    int64_t n;

    ok(f, "open r");
    ban_some(f, 60);
    invalid(f, "close r ban=1");
    close_wholly(f, "close r");
    assert_true(items(f) > 0);
    close_wholly(f, "close r ban=0");
    assert_int_equal(items(f), 0);
    same(f, "close r ban=0");

    for (int closed = 0; closed < 2; closed++) {
        ok(f, "open r");
        ban_some(f, 60);
        if (closed)
            close_wholly(f, "close r");
        assert_int_equal(usher_drop(f->e, USHER_ROOM, "r", &n), USHER_OK);
        if (f->twin != NULL)
            assert_int_equal(usher_drop(f->twin, USHER_ROOM, "r", &n), USHER_OK);
        assert_true(n >= 60);
        assert_int_equal(items(f), 0);
    }
}

TEST(a_room_has_a_thousand_bans_also_of_closed_ones)
{
    struct fixture *f = *state;
    int n = (int)many(USHER_ROOM_BANS_MAX);

    ok(f, "open r");
    for (int i = 0; i < n; i++)
        ok(f, "kick r m%d ban=100000", i);
    close_wholly(f, "close r");
    ok(f, "open r");
    if (n == USHER_ROOM_BANS_MAX) {
        full(f, "kick r one ban=1");
        assert_string_equal(f->r.message, "the room has too many bans (limit 1000)");
    }
    ok(f, "kick r m7 ban=200000"); /* it counts already */
    ok(f, "kick r m7 ban=0");
    ok(f, "kick r one ban=1");
    refused(f, "join r m%d", n - 1);
    close_wholly(f, "close r");
    f->now += 100000;
    for (int i = 0; items(f) > 0 && i < 100; i++)
        missing(f, "sweep r");
    assert_int_equal(items(f), 0);
}

/* The index keeps an entry by which a patrol finds what is left; it lists none. */
TEST(a_patrol_removes_the_bans_of_closed_rooms)
{
    struct fixture *f = *state;

    ok(f, "open r");
    ok(f, "kick r ann ban=100000");
    close_wholly(f, "close r");
    for (int round = 0; round < 2; round++) {
        struct usher_result reply;

        assert_int_equal(usher__room_list(f->e, NULL, 0, 0, f->now, &reply), USHER_OK);
        assert_int_equal(reply.of.room.n_rows, 0);
        usher_result_done(&reply);
        assert_int_equal(usher__room_patrol(f->e, "w", 10, 1000, 500, f->now, &reply), USHER_OK);
        assert_int_equal(reply.of.room.n_rows, 0);
        usher_result_done(&reply);
        if (f->twin != NULL) {
            assert_int_equal(usher__room_patrol(f->twin, "w", 10, 1000, 500, f->now, &reply),
                             USHER_OK);
            usher_result_done(&reply);
        }
        assert_true(round == 0 ? items(f) > 0 : items(f) == 0);
        f->now += 100000;
    }
}

TEST(any_command_finishes_a_closing_room)
{
    struct fixture *f = *state;
    static const char *const after[] = { "close r",    "alive r m1", "sweep r", "open r",
                                         "join r ann", "snapshot r", "lock r",  "unlock r" };
    int n = (int)many(300);

    for (size_t k = 0; k < sizeof after / sizeof *after; k++) {
        int steps = 0;

        furnish(f, n);
        ok(f, "close r"); /* and then the closer dies */
        if (f->r.of.room.more) {
            missing(f, "get r");
            missing(f, "show r");
            missing(f, "changes r since=0");
            audit(f->e);
            digests_agree(f, "r");
            if (under_test.shared) { /* nothing was kept in the engine */
                usher_result_done(&f->r);
                suite_close(&f->e);
                f->e = engine_open(f, f->url, true);
            }
        }
        while (items(f) > 0 && steps++ < 100) {
            if (strcmp(after[k], "close r") == 0)
                ok(f, "close r");
            else if (strcmp(after[k], "open r") == 0)
                break;
            else
                missing(f, "%s", after[k]);
            audit(f->e);
            digests_agree(f, "r");
        }
        if (strcmp(after[k], "open r") == 0) {
            struct usher_operation c;

            memset(&c, 0, sizeof c);
            c.verb = USHER_ROOM_OPEN;
            c.scope = text("r");
            assert_int_equal(execute(f, &c), USHER_OK);
            assert_int_equal(f->r.version, 1);
            ok(f, "close r");
        }
        assert_int_equal(items(f), 0);
    }
}

/* All are found to be gone by who finds no place, and then the room is: at once, or in steps. */
TEST(a_join_after_all_expired_finds_no_room)
{
    struct fixture *f = *state;

    for (int fields = 0; fields <= 50; fields += 50) {
        ok(f, "open r capacity=70 ttl=20 away=10 grace=10 linger=10 log=1");
        for (int i = 0; i < fields; i++)
            ok(f, "set r field%d x", i);
        for (int i = 0; i < 70; i++)
            ok(f, "join r m%d", i);
        ok(f, "open r capacity=1");
        f->now += 1000;
        ok(f, "sweep r"); /* the silence of all is an outage, once */
        f->now += 1000;
        missing(f, "join r late");
        assert_int_equal(f->r.of.room.state,
                         fields != 0 ? USHER_ROOM_STATE_CLOSING : USHER_ROOM_STATE_CLOSED);
        while (f->r.of.room.state == USHER_ROOM_STATE_CLOSING)
            missing(f, "alive r m1");
    }
}

/* The rest of the old room is erased first; later commands of the batch find the new one. */
TEST(a_name_whose_room_is_being_erased_can_be_opened)
{
    struct fixture *f = *state;
    static const char *const lines[] = { "open r capacity=7",
                                         "join r ann",
                                         "open r capacity=8",
                                         "set r f 1",
                                         "close r",
                                         "get r",
                                         "open r",
                                         "join r bob" };
    static const enum usher_status want[] = { USHER_OK, USHER_OK,      USHER_OK, USHER_OK,
                                              USHER_OK, USHER_MISSING, USHER_OK, USHER_OK };
    enum { N = sizeof lines / sizeof *lines };
    struct said said[N];
    struct usher_operation commands[N];
    struct usher_result replies[2][N];
    int n = (int)many(400);

    for (int round = 0; round < 2; round++) {
        furnish(f, n);
        ok(f, "close r"); /* and then the closer dies */
        for (int i = 0; i < N; i++) {
            said_line(&said[i], USHER_ROOM,
                      i == 0 && round == 1 ? "open r capacity=7 req=new" : lines[i]);
            commands[i] = said[i].c;
            commands[i].given |= USHER_GIVEN_NOW;
            commands[i].now_ms = f->now;
        }
        assert_int_equal(usher_operate(f->e, commands, replies[0], N), USHER_OK);
        if (f->twin != NULL)
            assert_int_equal(usher_operate(f->twin, commands, replies[1], N), USHER_OK);
        for (int i = 0; i < N; i++) {
            if (replies[0][i].status != want[i])
                fail_msg("%s: %s", lines[i], usher_status_word(replies[0][i].status));
            usher_result_done(&replies[0][i]);
            if (f->twin != NULL)
                usher_result_done(&replies[1][i]);
        }
        digests_agree(f, "r");
        assert_int_equal(state_of(f, "bob"), USHER_ROOM_MEMBER_HERE);
        assert_int_equal(state_of(f, "ann"), USHER_ROOM_MEMBER_ABSENT);
        assert_true(f->r.version == 2);
        ok(f, "close r");
        assert_int_equal(items(f), 0);
    }
    /* its linger is over, and it has more in it than goes in one step */
    ok(f, "open r linger=1000 log=%d", n);
    for (int i = 0; i < n; i++)
        ok(f, "set r f %d", i);
    f->now += 1000;
    ok(f, "open r");
    assert_true(f->r.version == 1 && f->r.of.room.settings.linger_ms == 0);
    /* what is left of the old one keeps the answer to a request id */
    ok(f, "close r");
    ok(f, "open r linger=1000 req=one");
    f->now += 1000;
    ok(f, "open r linger=1000 req=one");
    assert_true(f->r.repeated);
    ok(f, "open r linger=1000 req=two");
    assert_true(!f->r.repeated && f->r.version == 1);
}

/* After each possible number of steps another client continues. */
TEST(close_can_be_continued_after_any_step)
{
    struct fixture *f = *state;
    static const char *const others[] = { "close r", "sweep r", "join r ann" };
    int n = (int)many(200);
    bool done = false;

    for (unsigned died_at = 1; !done; died_at++) {
        unsigned steps = 0;

        furnish(f, n);
        for (unsigned k = 0; k < died_at && !done; k++) {
            ok(f, "close r");
            done = !f->r.of.room.more;
        }
        if (under_test.shared) { /* nothing was kept in the engine */
            usher_result_done(&f->r);
            suite_close(&f->e);
            f->e = engine_open(f, f->url, false);
        }
        for (; items(f) > 0 && steps < 100; steps++) {
            const char *other = others[(died_at + steps) % 3];

            expected(f, strncmp(other, "close", 5) == 0 ? USHER_OK : USHER_MISSING, "%s", other);
        }
        assert_true(done ? steps == 0 : steps > 0 && steps < 100);
        audit(f->e);
        assert_true(died_at > 1 || !done);
    }
}

/* More members are gone than a command notices, then the room closes, and its log takes several
 * steps to erase: all that happens when a batch begins with `open`. */
TEST(an_open_in_a_batch_waits_for_the_old_room)
{
    struct fixture *f = *state;
    struct said said[2];
    struct usher_operation c[2];
    struct usher_result r[2];

    no_twin(f);
    ok(f, "open r linger=1000 ttl=30000 log=1000");
    ok(f, "join r ann");
    for (int i = 0; i < 210; i++)
        ok(f, "join r m%d", i);
    f->now += 29990;
    ok(f, "leave r ann"); /* the store is not away */
    f->now += 1020;
    said_line(&said[0], USHER_ROOM, "open r");
    said_line(&said[1], USHER_ROOM, "join r eve");
    for (size_t i = 0; i < 2; i++)
        c[i] = said[i].c;
    assert_int_equal(usher_operate(f->e, c, r, 2), USHER_OK);
    assert_int_equal(r[0].status, USHER_OK);
    assert_int_equal(r[0].version, 1);
    assert_int_equal(r[1].status, USHER_OK);
    for (size_t i = 0; i < 2; i++)
        usher_result_done(&r[i]);
}

TEST(an_empty_room_closes_by_itself)
{
    struct fixture *f = *state;
    uint64_t epoch;

    ok(f, "open r linger=1000 ttl=500");
    epoch = f->r.epoch;
    f->now += 999;
    ok(f, "show r");
    ok(f, "join r ann");
    f->now += 499;
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 1);
    f->now += 1; /* ann is gone: the room lingers from this moment, seen or not */
    ok(f, "show r");
    assert_int_equal(f->r.of.room.members, 0);
    f->now += 999;
    ok(f, "get r");
    f->now += 1;
    missing(f, "get r");
    missing(f, "show r");
    missing(f, "alive r ann"); /* this one erases it */
    assert_int_equal(items(f), 0);
    missing(f, "sweep r");
    ok(f, "open r linger=1000");
    assert_true(f->r.epoch != epoch && f->r.version == 1);
    f->now += 1000;
    ok(f, "open r"); /* closed and opened by one command */
    assert_true(f->r.version == 1 && f->r.of.room.settings.linger_ms == 0);
    ok(f, "open r linger=10");
    f->now += 10;
    ok(f, "sweep r");
    assert_int_equal(items(f), 0);
}

TEST(room_may_close_and_open_again_in_one_batch)
{
    struct fixture *f = *state;
    static const char *const lines[] = {
        "open r linger=7 log=9", "join r ann a=1", "close r", "get r",  "open r",    "join r bob",
        "set r topic x",         "close r",        "close r", "open r", "join r cid"
    };
    enum { N = sizeof lines / sizeof *lines };
    static struct said said[N];
    struct usher_operation commands[N];
    struct usher_result here[N], there[N];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            said_line(&said[i], USHER_ROOM, lines[i]);
            commands[i] = said[i].c;
        }
        assert_int_equal(usher_operate(f->e, commands, here, N), USHER_OK);
        assert_int_equal(usher_operate(f->twin, commands, there, N), USHER_OK);
        for (int i = 0; i < N; i++) {
            assert_true(replies_equal(commands[i].verb, &here[i], &there[i], stderr));
            usher_result_done(&here[i]);
            usher_result_done(&there[i]);
        }
        digests_agree(f, "r");
        audit(f->e);
        ok(f, "show r");
        assert_true(f->r.of.room.settings.linger_ms == 0 && f->r.of.room.members == 1);
        ok(f, "close r");
        assert_int_equal(items(f), 0);
    }
}

/* ---- the index of rooms ------------------------------------------------------------- */

/* All partitions are the same here and there. */
static void same_index(struct fixture *f)
{
    char here[33], there[33], name[8];

    for (unsigned p = 0; p < 64; p++) {
        (void)snprintf(name, sizeof name, "p%02u", p % 64);
        assert_int_equal(usher_digest(f->e, USHER_ROOMS, name, here), USHER_OK);
        assert_int_equal(usher_digest(f->twin, USHER_ROOMS, name, there), USHER_OK);
        assert_string_equal(here, there);
    }
}

/* The same holds for notices, and for the list of rooms. */
TEST(pages_of_changes_and_rooms_end_by_their_work)
{
    enum { N = USHER_PAGE_MAX + 1 };
    struct fixture *f = *state;
    char after[USHER_NAME_MAX + 1];
    struct usher_result r;
    int64_t created;
    uint64_t since;

    ok(f, "open r log=1000");
    since = f->r.version;
    for (int i = 0; i < N; i++)
        ok(f, "set r topic %d", i);
    ok(f, "changes r since=%" PRIu64 " max=10000", since);
    assert_int_equal(f->r.of.room.n_rows, USHER_PAGE_MAX);
    assert_true(f->r.of.room.more);
    ok(f, "changes r since=%" PRIu64 " max=10000", since + USHER_PAGE_MAX);
    assert_int_equal(f->r.of.room.n_rows, 1);
    assert_false(f->r.of.room.more);
    for (int i = 1; i < N; i++) {
        f->now++;
        ok(f, "open room%d", i);
    }
    assert_int_equal(usher__room_list(f->e, NULL, 0, USHER_LIST_MAX, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, USHER_PAGE_MAX);
    assert_true(r.of.room.more);
    memcpy(after, r.of.room.name, sizeof after);
    created = r.of.room.created_ms;
    usher_result_done(&r);
    assert_int_equal(usher__room_list(f->e, after, created, USHER_LIST_MAX, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, 1);
    assert_false(r.of.room.more);
    usher_result_done(&r);
}

/* A step of a patrol or of a list looks at few of the rooms that are due, or were opened, at one
 * time. */
TEST(rooms_of_one_time_are_claimed_and_listed_in_bounded_steps)
{
    enum { N = USHER_PAGE_MAX + 44, CLAIM = 100 };
    struct fixture *f = *state;
    struct usher__room_asked a;
    struct usher_result r;
    char after[USHER_NAME_MAX + 1] = "";
    size_t seen = 0;

    if (under_test.drivers != NULL)
        return;
    for (int i = 0, n = 0; n < N; i++) { /* all in one part of the index */
        char name[16];
        struct usher_text of = { name, 0 };

        (void)snprintf(name, sizeof name, "x%d", i);
        of.size = strlen(name);
        if (usher__room_partition_of(&of) != 0)
            continue;
        ok(f, "open %s", name);
        n++;
    }
    usher__room_asked(&a, USHER_ROOMS_LIST, 0, NULL);
    store_answers(f->e, f->now, &a.c, &r, 1);
    assert_int_equal(r.of.rooms.n_rows, USHER_PAGE_MAX);
    assert_true(r.of.rooms.more && r.of.rooms.token != 0);
    usher_result_done(&r);
    do {
        assert_int_equal(
            usher__room_list(f->e, seen > 0 ? after : NULL, seen > 0 ? f->now : 0, 70, -1, &r),
            USHER_OK);
        for (size_t i = 0; i < r.of.room.n_rows; i++, seen++) {
            const struct usher_text *id = &r.of.room.rows[i].id;

            assert_true(strncmp(after, id->data, id->size) < 0); /* in the order of names */
            (void)snprintf(after, sizeof after, "%.*s", (int)id->size, id->data);
        }
        assert_true(r.of.room.more == (seen < N));
        usher_result_done(&r);
    } while (seen < N);
    usher__room_asked(&a, USHER_ROOMS_CLAIM, 0, NULL);
    a.c.given |= USHER_GIVEN_ROOMS_MAX | USHER_GIVEN_ROOMS_EVERY | USHER_GIVEN_ROOMS_LEASE;
    a.c.arg.rooms.worker = text("w");
    a.c.arg.rooms.max = N;
    a.c.arg.rooms.every_ms = 1000;
    a.c.arg.rooms.lease_ms = 1000;
    for (int k = 0; k < 2; k++) { /* what it had is done first */
        store_answers(f->e, f->now, &a.c, &r, 1);
        assert_int_equal(r.of.rooms.n_rows, k == 0 ? CLAIM : 0);
        assert_true(r.of.rooms.more);
        usher_result_done(&r);
    }
    assert_int_equal(usher__room_patrol(f->e, "w", N, 1000, 1000, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, N - CLAIM);
    usher_result_done(&r);
    assert_int_equal(usher__room_patrol(f->e, "v", N, 1000, 1000, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, 0); /* all are claimed, or done */
    usher_result_done(&r);
    f->now += 1000;
    assert_int_equal(usher__room_patrol(f->e, "v", N, 1000, 1000, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, N);
    usher_result_done(&r);
    no_twin(f); /* it has no patrol */
}

TEST(rooms_are_listed_by_time_and_name)
{
    struct fixture *f = *state;
    enum { N = 40 };
    bool seen[N] = { false };
    char after[USHER_NAME_MAX + 1] = "", last[USHER_NAME_MAX + 1] = "";
    int64_t created = 0, last_created = 0;
    struct usher_result r;
    unsigned pages = 0;

    assert_int_equal(usher__room_list(f->e, NULL, 0, 0, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, 0);
    usher_result_done(&r);
    for (int i = 0; i < N; i++) {
        ok(f, "open room%d", i);
        f->now += i % 3 == 0; /* some at the same time */
    }
    same(f, "open room7");
    same_index(f);
    for (;;) {
        assert_int_equal(usher__room_list(f->e, *after != '\0' ? after : NULL, created, 7, -1, &r),
                         USHER_OK);
        pages++;
        for (size_t i = 0; i < r.of.room.n_rows; i++) {
            const struct usher_room_result_row *row = &r.of.room.rows[i];
            char name[USHER_NAME_MAX + 1];
            int k;

            (void)snprintf(name, sizeof name, "%.*s", (int)row->id.size, row->id.data);
            assert_true(row->since_ms > last_created ||
                        (row->since_ms == last_created && strcmp(name, last) > 0));
            last_created = row->since_ms;
            memcpy(last, name, sizeof last);
            if (sscanf(name, "room%d", &k) == 1) {
                assert_true(k >= 0 && k < N && !seen[k]);
                seen[k] = true;
            }
        }
        memcpy(after, r.of.room.name, sizeof after);
        created = r.of.room.created_ms;
        if (!r.of.room.more) {
            usher_result_done(&r);
            break;
        }
        usher_result_done(&r);
        if (pages == 2) { /* some go, some come; the end of the page is one that goes */
            ok(f, "close %s", after);
            ok(f, "close room39");
            seen[39] = true;
            ok(f, "open new-one");
        }
        if (pages == 3) /* the time is known by the name while the room is there */
            created = 0;
    }
    assert_true(pages >= 6);
    for (int i = 0; i < N; i++)
        assert_true(seen[i]);
    assert_int_equal(usher__room_list(f->e, "room39", 0, 7, -1, &r), USHER_MISSING);
    usher_result_done(&r);
    same_index(f);
    for (int i = 0; i < N; i++) {
        struct said s;
        char line[32];

        (void)snprintf(line, sizeof line, "close room%d", i);
        said_line(&s, USHER_ROOM, line);
        (void)execute(f, &s.c);
    }
    ok(f, "close new-one");
    assert_int_equal(items(f), 0); /* the index, too, is gone */
}

/* Is @name on the only page? */
static bool listed(struct fixture *f, const char *name)
{
    struct usher_result r;
    bool found = false;

    assert_int_equal(usher__room_list(f->e, NULL, 0, 0, f->now, &r), USHER_OK);
    assert_false(r.of.room.more);
    for (size_t i = 0; i < r.of.room.n_rows; i++)
        found = found || text_is(r.of.room.rows[i].id, name);
    usher_result_done(&r);
    return found;
}

TEST(only_rooms_that_are_open_are_listed)
{
    struct fixture *f = *state;
    struct usher_result r;
    char after[32] = "";
    int64_t created = 0;
    unsigned found = 0, pages = 0;
    int n = (int)many(400), rooms = n < 100 ? n : 100;

    ok(f, "open other");
    ok(f, "open r linger=1000");
    assert_true(listed(f, "r") && listed(f, "other"));
    f->now += 999;
    assert_true(listed(f, "r"));
    f->now += 1; /* no command has come */
    assert_false(listed(f, "r"));
    assert_int_equal(usher__room_list(f->e, NULL, 0, 0, f->now - 1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, 2); /* as of that time */
    usher_result_done(&r);
    same(f, "close r"); /* which looks, and it is gone */
    furnish(f, n);
    assert_true(listed(f, "r"));
    ok(f, "close r"); /* and then the closer dies */
    assert_false(listed(f, "r"));
    assert_true(listed(f, "other"));
    ok(f, "open r");
    assert_true(listed(f, "r"));

    /* in pages of one, which are shorter where those of their time are not open any more */
    for (int i = 0; i < rooms; i++, f->now++)
        ok(f, i % 3 == 0 ? "open room%u" : "open room%u linger=10",
           (unsigned)i * 2654435761u); /* in any partition */
    f->now += 10;
    do {
        assert_int_equal(usher__room_list(f->e, pages > 0 ? after : NULL, created, 1, f->now, &r),
                         USHER_OK);
        assert_true(r.of.room.n_rows <= 1);
        for (size_t i = 0; i < r.of.room.n_rows; i++)
            found +=
                r.of.room.rows[i].id.size > 4 && memcmp(r.of.room.rows[i].id.data, "room", 4) == 0;
        memcpy(after, r.of.room.name, sizeof after);
        created = r.of.room.created_ms;
        usher_result_done(&r);
    } while (r.of.room.more && ++pages < 1000);
    assert_int_equal(found, (rooms + 2) / 3);
}

/* One of the engine's own commands on the entry of @room, in the partition that has it; and on the
 * twin's. */
static enum usher_status on_entry(struct fixture *f, enum usher_verb verb, const char *room,
                                  const char *partition, uint64_t token)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    memset(&c, 0, sizeof c);
    c.verb = verb;
    c.scope = text(partition);
    c.arg.rooms.room = text(room);
    c.given = USHER_GIVEN_NOW;
    c.now_ms = f->now;
    if (verb == USHER_ROOMS_DROP) {
        c.given |= USHER_GIVEN_ROOMS_TOKEN;
        c.arg.rooms.token = (int64_t)token;
    }
    if (verb == USHER_ROOMS_PUT) {
        c.given |= USHER_GIVEN_ROOMS_CREATED;
        c.arg.rooms.created_ms = f->now;
    }
    (void)usher_operate(f->e, &c, &r, 1);
    status = r.status;
    usher_result_done(&r);
    if (f->twin != NULL) {
        (void)usher_operate(f->twin, &c, &r, 1);
        assert_int_equal(r.status, status);
        usher_result_done(&r);
    }
    return status;
}

static uint64_t entry_of(struct fixture *f, const char *room, char partition[8])
{
    struct usher_operation c;
    struct usher_result r;

    memset(&c, 0, sizeof c);
    c.verb = USHER_ROOMS_FIND;
    c.arg.rooms.room = text(room);
    for (unsigned p = 0; p < 64; p++) {
        uint64_t token;

        (void)snprintf(partition, 8, "p%02u", p);
        c.scope = text(partition);
        (void)usher_operate(f->e, &c, &r, 1);
        token = r.status == USHER_OK ? r.of.rooms.rows->token : 0;
        usher_result_done(&r);
        if (token != 0)
            return token;
    }
    return 0;
}

static void keep_line(void *payload, const char *line)
{
    char *to = payload;
    size_t n = strlen(to);

    (void)snprintf(to + n, 400 - n, "%s\n", line);
}

static void check_finds(struct fixture *f, const struct usher_check_options *opt, unsigned faults,
                        const char *lines)
{
    struct usher_engine *const engines[] = { f->e, f->twin };

    for (int i = 0; i < 2 && engines[i] != NULL; i++) {
        struct usher_check_result found = { .faults = 99, .repaired = 99 };
        char said[400] = "";

        assert_int_equal(usher_check(engines[i], opt, keep_line, said, &found), USHER_OK);
        assert_string_equal(said, lines);
        assert_true(found.faults == faults && found.scopes > 0);
        assert_true(found.repaired == (opt != NULL ? faults : 0));
    }
}

/* The entry is put before the room is opened. */
TEST(an_open_that_is_refused_leaves_no_entry)
{
    struct fixture *f = *state;
    char partition[8], name[16];

    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "none%d", i);
        missing(f, "open %s if-version=5", name);
        assert_true(entry_of(f, name, partition) == 0);
    }
    ok(f, "open r");
    stale(f, "open r if-version=5");
    assert_true(entry_of(f, "r", partition) != 0);
    ok(f, "close r");
    missing(f, "open r if-version=5");
    assert_true(entry_of(f, "r", partition) == 0);
    ok(f, "open r");
    ok(f, "open r capacity=7 if-version=%d", (int)f->r.version);
    assert_true(listed(f, "r"));
    check_finds(f, NULL, 0, "");
}

TEST(room_directory_is_checked_and_repaired)
{
    static const char lost[] = "room/r: is not in the index of rooms\n";
    static const char left[] = "room/ghost: is in the index of rooms, but there is no such room\n"
                               "room/r: is not in the index of rooms\n";
    struct fixture *f = *state;
    const struct usher_check_options wrong[] = { { .size = sizeof(size_t) - 1 },
                                                 { .size = 65537 },
                                                 { .size = sizeof *wrong, .timeout_ms = -1 } };
    const struct usher_check_options shorter = { .size = sizeof(size_t) };
    struct usher_check_result found;
    char partition[8], of_ghost[8];
    uint64_t token;

    ok(f, "open s");
    ok(f, "open ghost");
    assert_true(entry_of(f, "ghost", of_ghost) != 0);
    ok(f, "close ghost");
    ok(f, "open r");
    check_finds(f, NULL, 0, "");
    token = entry_of(f, "r", partition);
    assert_int_equal(on_entry(f, USHER_ROOMS_DROP, "r", partition, token), USHER_OK);
    assert_false(listed(f, "r"));
    ok(f, "join r ann"); /* nothing is noticed */
    check_finds(f, NULL, 1, lost);
    assert_int_equal(on_entry(f, USHER_ROOMS_PUT, "ghost", of_ghost, 0), USHER_OK);
    assert_false(listed(f, "ghost"));
    check_finds(f, NULL, 2, left);
    check_finds(f, NULL, 2, left);
    check_finds(f, &repairing, 2, left);
    check_finds(f, &repairing, 0, "");
    assert_true(listed(f, "r") && listed(f, "s"));
    assert_true(entry_of(f, "ghost", of_ghost) == 0);
    ok(f, "close r");
    ok(f, "close s");
    assert_int_equal(items(f), 0);

    /* one that is being erased has an entry, too, or no client would continue it */
    furnish(f, (int)many(200));
    ok(f, "close r");
    if (items(f) > 0) {
        token = entry_of(f, "r", partition);
        assert_int_equal(on_entry(f, USHER_ROOMS_DROP, "r", partition, token), USHER_OK);
        check_finds(f, &repairing, 1, lost);
        for (int i = 0; i < 100 && items(f) > 0; i++, f->now += 60000) {
            struct usher_result r;

            for (int k = 0; k < 2 && (k == 0 || f->twin != NULL); k++) {
                assert_int_equal(
                    usher__room_patrol(k == 0 ? f->e : f->twin, "w", 0, 1, 1, f->now, &r),
                    USHER_OK);
                usher_result_done(&r);
            }
        }
        assert_int_equal(items(f), 0);
    }
    assert_int_equal(usher_check(f->e, NULL, NULL, NULL, NULL), USHER_INVALID);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_equal(usher_check(f->e, &wrong[k], NULL, NULL, &found), USHER_INVALID);
    assert_int_equal(usher_check(f->e, &shorter, NULL, NULL, &found), USHER_OK);
}

static size_t patrol(struct fixture *f, const char *worker, size_t batch, unsigned *visits,
                     int64_t every, int64_t lease)
{
    struct usher_result a, b;
    size_t n;

    assert_int_equal(usher__room_patrol(f->e, worker, batch, every, lease, -1, &a), USHER_OK);
    assert_int_equal(usher__room_patrol(f->twin, worker, batch, every, lease, -1, &b), USHER_OK);
    n = a.of.room.n_rows;
    assert_int_equal(n, b.of.room.n_rows);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        int k;

        assert_true(a.of.room.rows[i].id.size == b.of.room.rows[i].id.size);
        (void)snprintf(name, sizeof name, "%.*s", (int)a.of.room.rows[i].id.size,
                       a.of.room.rows[i].id.data);
        if (sscanf(name, "room%d", &k) == 1)
            visits[k]++;
    }
    usher_result_done(&a);
    usher_result_done(&b);
    return n;
}

TEST(workers_share_the_rooms_and_claim_each_once)
{
    struct fixture *f = *state;
    enum { N = 120, WORKERS = 4, BATCH = 3, EVERY = 60000, LEASE = 5000 };
    unsigned visits[N] = { 0 };
    size_t share[WORKERS] = { 0 };
    bool any = true;

    for (int i = 0; i < N; i++)
        ok(f, "open room%d", i);
    for (int round = 0; round < 2; round++) {
        memset(visits, 0, sizeof visits);
        memset(share, 0, sizeof share);
        for (any = true; any;) {
            any = false;
            for (int w = 0; w < WORKERS; w++) {
                char name[24];
                size_t n;

                (void)snprintf(name, sizeof name, "worker-%d", w);
                n = patrol(f, name, BATCH, visits, EVERY, LEASE);
                share[w] += n;
                any = any || n > 0;
                f->now += 3;
            }
        }
        for (int i = 0; i < N; i++)
            assert_int_equal(visits[i], 1);
        for (int w = 0; w < WORKERS; w++)
            assert_true(share[w] * WORKERS * 10 >= N * 9 && share[w] * WORKERS * 10 <= N * 11);
        f->now += LEASE; /* they were done with: nothing comes again before its time */
        assert_int_equal(patrol(f, "worker-0", BATCH, visits, EVERY, LEASE), 0);
        f->now += EVERY;
    }
    /* one takes ten and dies */
    memset(visits, 0, sizeof visits);
    assert_int_equal(patrol(f, "dead", 10, visits, EVERY, LEASE), 10);
    while (patrol(f, "worker-0", 50, visits, EVERY, LEASE) > 0)
        ;
    f->now += LEASE;
    assert_int_equal(patrol(f, "worker-1", 50, visits, EVERY, LEASE), 10);
    assert_int_equal(patrol(f, "worker-1", 50, visits, EVERY, LEASE), 0);
    for (int i = 0; i < N; i++)
        assert_true(visits[i] >= 1 && visits[i] <= 2);
    same_index(f);
}

/* One interval: rounds of all workers but @dead until nothing is due; what each has seen. */
static void patrol_round(struct fixture *f, int workers, int dead, size_t batch, unsigned *visits,
                         size_t *share)
{
    enum { EVERY = 60000, LEASE = 30000 };
    bool any = true;

    while (any) {
        any = false;
        for (int w = 0; w < workers; w++) {
            char name[24];
            struct usher_result r;

            if (w == dead)
                continue;
            (void)snprintf(name, sizeof name, "worker-%d", w);
            assert_int_equal(usher__room_patrol(f->e, name, batch, EVERY, LEASE, -1, &r), USHER_OK);
            for (size_t i = 0; i < r.of.room.n_rows; i++) {
                char room[32];
                int k;

                (void)snprintf(room, sizeof room, "%.*s", (int)r.of.room.rows[i].id.size,
                               r.of.room.rows[i].id.data);
                assert_int_equal(sscanf(room, "room%d", &k), 1);
                visits[k]++;
            }
            share[w] += r.of.room.n_rows;
            any = any || r.of.room.n_rows > 0;
            usher_result_done(&r);
        }
    }
}

static void open_many(struct fixture *f, int n)
{
    enum { BATCH = 250 };
    static struct usher_operation c[BATCH];
    static struct usher_result r[BATCH];
    char names[BATCH][24];

    for (int from = 0; from < n; from += BATCH) {
        int k = n - from < BATCH ? n - from : BATCH;

        for (int i = 0; i < k; i++) {
            memset(&c[i], 0, sizeof c[i]);
            (void)snprintf(names[i], sizeof names[i], "room%d", from + i);
            c[i].verb = USHER_ROOM_OPEN;
            c[i].scope = text(names[i]);
        }
        assert_int_equal(usher_operate(f->e, c, r, (size_t)k), USHER_OK);
        for (int i = 0; i < k; i++)
            usher_result_done(&r[i]);
    }
}

/* 100,000 rooms: see whole(). */
TEST(any_number_of_workers_share_very_many_rooms)
{
    struct fixture *f = *state;
    int some = (int)many(budget_short() ? 2000 : 4000) / 2;
    int n = whole() ? 100000 : some > 50 ? some : 50;
    unsigned *visits = calloc((size_t)n, sizeof *visits);
    static const int workers[] = { 1, 4, 16 };

    assert_non_null(visits);
    no_twin(f);
    open_many(f, n);
    for (int i = 0; i < 3; i++) {
        int w = workers[i];
        size_t share[16] = { 0 }, batch = (size_t)(n / w / 25) + 1, taken = 0;

        memset(visits, 0, (size_t)n * sizeof *visits);
        patrol_round(f, w, -1, batch < 1000 ? batch : 1000, visits, share);
        for (int k = 0; k < n; k++)
            if (visits[k] != 1)
                fail_msg("room %d was visited %u times by %d workers", k, visits[k], w);
        for (int k = 0; k < w && n >= 1000; k++) /* within a tenth of what is fair */
            if (share[k] * (size_t)w * 10 < (size_t)n * 9 ||
                share[k] * (size_t)w * 10 > (size_t)n * 11)
                fail_msg("one of %d workers had %zu of %d rooms", w, share[k], n);
        f->now += 60000;
        if (w == 1)
            continue;
        /* the last one takes its first rooms of this interval, and is killed */
        memset(visits, 0, (size_t)n * sizeof *visits);
        memset(share, 0, sizeof share);
        {
            char name[24];
            struct usher_result r;

            (void)snprintf(name, sizeof name, "worker-%d", w - 1);
            assert_int_equal(usher__room_patrol(f->e, name, 50, 60000, 30000, -1, &r), USHER_OK);
            taken = r.of.room.n_rows;
            usher_result_done(&r);
        }
        assert_int_equal(taken, 50);
        patrol_round(f, w, w - 1, 500, visits, share);
        f->now += 30000; /* its lease is over */
        patrol_round(f, w, w - 1, 500, visits, share);
        for (int k = 0; k < n; k++)
            if (visits[k] != 1)
                fail_msg("room %d was visited %u times by those who live", k, visits[k]);
        f->now += 60000;
    }
    free(visits);
}

TEST(patrol_closes_lingering_rooms_and_forgets_closed_ones)
{
    struct fixture *f = *state;
    unsigned visits[4] = { 0 };
    struct usher_operation c;
    struct usher_result r;

    ok(f, "open room0 linger=1000");
    ok(f, "open room1 ttl=1000 linger=1000");
    ok(f, "join room1 ann");
    ok(f, "open room2");
    assert_int_equal(patrol(f, "w", 9, visits, 1000, 100), 3);
    f->now += 1000;
    assert_int_equal(patrol(f, "w", 9, visits, 1000, 100), 2); /* room0 is closed now */
    f->now += 1000;
    assert_int_equal(patrol(f, "w", 9, visits, 1000, 100), 1);
    ok(f, "close room2");
    assert_int_equal(items(f), 0);
    /* a client was about to open a room, and died */
    memset(&c, 0, sizeof c);
    c.verb = USHER_ROOMS_PUT;
    c.scope = text("p07");
    c.arg.rooms.room = text("room3");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(usher_operate(i == 0 ? f->e : f->twin, &c, &r, 1), USHER_OK);
        usher_result_done(&r);
    }
    assert_int_equal(usher__room_list(f->e, NULL, 0, 0, -1, &r), USHER_OK);
    assert_int_equal(r.of.room.n_rows, 0);
    usher_result_done(&r);
    same_index(f);
}

/* Fill the stack below the frames of the next calls, which must not read it. */
static void __attribute__((noinline)) stack_dirty(void)
{
    volatile unsigned char bytes[256 * 1024];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 0xa5;
}

static void hear_nothing(void *payload, const struct usher_notice *notice)
{
    (void)notice;
    ++*(unsigned *)payload;
}

TEST(patrol_runs_while_a_watcher_exists)
{
    struct fixture *f = *state;
    unsigned visits[3] = { 0 }, told = 0;
    struct usher_watcher *here, *there;

    assert_int_equal(usher_watch(f->e, USHER_NUMBER, "zzz", hear_nothing, &told, &here), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_NUMBER, "zzz", hear_nothing, &told, &there),
                     USHER_OK);
    for (int i = 0; i < 3; i++)
        ok(f, "open room%d", i);
    f->now += 10000;
    stack_dirty();
    assert_int_equal(patrol(f, "A", 9, visits, 60000, 5000), 3);
    stack_dirty();
    assert_int_equal(patrol(f, "A", 9, visits, 60000, 5000), 0); /* it is done with them */
    f->now += 60000;
    stack_dirty();
    assert_int_equal(patrol(f, "A", 9, visits, 60000, 5000), 3);
    usher_unwatch(f->e, here);
    usher_unwatch(f->twin, there);
    assert_int_equal(told, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(visits[i], 2);
    same_index(f);
}

struct epochs {
    size_t n;
    uint64_t epoch[8], version[8];
};

static void hear_epoch(void *payload, const struct usher_notice *notice)
{
    struct epochs *h = payload;

    if (h->n < 8) {
        h->epoch[h->n] = notice->epoch;
        h->version[h->n] = notice->version;
    }
    h->n++;
}

/* The command that applies the end of a room and opens another one sends notices of both. */
TEST(a_notice_has_the_epoch_of_its_own_room)
{
    struct fixture *f = *state;
    struct epochs h[2] = { { 0 }, { 0 } };
    struct usher_watcher *here, *there;

    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_epoch, &h[0], &here), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_epoch, &h[1], &there), USHER_OK);
    ok(f, "open r linger=1000");
    f->now += 5000;
    ok(f, "open r");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(h[i].n, 4); /* open, empty, done, open */
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(h[i].version[k], k < 3 ? k + 1 : 1);
            assert_true((h[i].epoch[k] == h[i].epoch[0]) == (k < 3));
        }
    }
    usher_unwatch(f->e, here);
    usher_unwatch(f->twin, there);
}

/* The command that erases a room, and opens none, sends the notices of its end. */
TEST(the_end_of_a_room_has_its_epoch)
{
    struct fixture *f = *state;
    struct epochs h[2] = { { 0 }, { 0 } };
    struct usher_watcher *here, *there;
    uint64_t epoch;

    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_epoch, &h[0], &here), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_epoch, &h[1], &there), USHER_OK);
    ok(f, "open r linger=1000");
    epoch = f->r.epoch;
    f->now += 5000;
    missing(f, "open r epoch=%016" PRIx64, epoch);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(h[i].n, 3); /* open, empty, done */
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(h[i].version[k], k + 1);
            assert_true(h[i].epoch[k] != 0 && h[i].epoch[k] == h[i].epoch[0]);
        }
    }
    usher_unwatch(f->e, here);
    usher_unwatch(f->twin, there);
}

/* ---- notices ----------------------------------------------------------------------- */

struct log {
    size_t n;
    uint64_t version[4000];
    unsigned char sum[4000];
};

static void hear_all(void *payload, const struct usher_notice *notice)
{
    struct log *log = payload;
    unsigned char packed[16384], sum = 0;
    struct usher__packer p = { packed, sizeof packed, 0 };

    usher__notice_pack(&p, notice);
    assert_true(p.n <= sizeof packed && log->n < 4000);
    for (size_t i = 0; i < p.n; i++)
        sum = (unsigned char)(sum * 31 + packed[i]);
    log->version[log->n] = notice->version;
    log->sum[log->n++] = sum;
}

/* The received notices as one line of words: versions of a range, and its content. */
struct words {
    char line[8000];
    size_t n;
    uint64_t last; /* version */
};

static void put_word(struct words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put_word(struct words *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(w->line + w->n, sizeof w->line - w->n, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof w->line - w->n);
    w->n += (size_t)n;
}

static void hear_words(void *payload, const struct usher_notice *notice)
{
    struct words *w = payload;
    struct usher_notice n;
    uint64_t version = notice->token;
    size_t at = 0;

    if (notice->verb != USHER_ROOM_PRESENCE) {
        assert_true(notice->version == w->last + 1);
        put_word(w, "%s ", usher_verb_word(notice->verb));
        w->last = notice->version;
        return;
    }
    assert_true(version == w->last + 1);
    put_word(w, "(");
    while (usher_room_presence(notice, &at, &n)) {
        assert_true(n.version == version++ && n.epoch == notice->epoch);
        put_word(w, "%s %.*s ", usher_verb_word(n.verb), (int)n.subject.size, n.subject.data);
    }
    assert_true(at == notice->data.size && version == notice->version + 1);
    put_word(w, ") ");
    w->last = notice->version;
}

#define heard(f, words, want) heard_at(f, __LINE__, words, want)
static void heard_at(struct fixture *f, int at, struct words w[2], const char *want)
{
    (void)f;
    if (strcmp(w[0].line, want) != 0 || strcmp(w[1].line, want) != 0)
        fail_msg("line %d: received `%s` and `%s`, not `%s`", at, w[0].line, w[1].line, want);
    for (int i = 0; i < 2; i++) {
        w[i].n = 0;
        w[i].line[0] = '\0';
    }
}

/* `set` that comes to nothing and a join in one batch. */
static void same_then_join(struct fixture *f, const char *who)
{
    struct usher_engine *e[2] = { f->e, f->twin };
    struct usher_operation c[2];
    struct usher_result r[2];
    struct said said[2];
    char line[64];

    (void)snprintf(line, sizeof line, "join r %s", who);
    said_line(&said[0], USHER_ROOM, "set r topic x");
    said_line(&said[1], USHER_ROOM, line);
    for (int i = 0; i < 2; i++) {
        c[i] = said[i].c;
        c[i].given |= USHER_GIVEN_NOW;
        c[i].now_ms = f->now;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(usher_operate(e[i], c, r, 2), USHER_OK);
        assert_true(r[0].status == USHER_SAME && r[1].status == USHER_OK);
        usher_result_done(&r[0]);
        usher_result_done(&r[1]);
    }
}

TEST(joins_and_leaves_are_coalesced)
{
    struct fixture *f = *state;
    static struct words w[2];
    struct usher_watcher *a, *b;
    uint64_t version;

    memset(w, 0, sizeof w);
    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_words, &w[0], &a), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_words, &w[1], &b), USHER_OK);
    ok(f, "open r presence=1000 ttl=60000");
    assert_int_equal(f->r.of.room.settings.presence_ms, 1000);
    heard(f, w, "open ");
    ok(f, "join r ann mic=on");
    ok(f, "join r bob");
    f->now += 500;
    ok(f, "leave r ann");
    heard(f, w, "");
    /* each has its version and its place in the log, as usual */
    assert_int_equal(f->r.version, 4);
    ok(f, "changes r since=1");
    assert_int_equal(f->r.of.room.n_rows, 3);
    /* but a follower must not miss the pending notices */
    ok(f, "alive r bob");
    assert_true(f->r.version == 4 && f->r.of.room.since == 1);
    assert_int_equal(ask_room_alive(f->e, "r", "bob", NULL, &version, NULL), USHER_OK);
    assert_int_equal(version, 1);
    heard(f, w, "");
    f->now += 499;
    ok(f, "alive r bob");
    heard(f, w, "");
    f->now += 1;
    ok(f, "alive r bob"); /* a heartbeat is enough */
    heard(f, w, "(join ann join bob leave ann ) ");
    assert_int_equal(f->r.of.room.since, 4);
    /* other changes come after them */
    ok(f, "join r cid");
    ok(f, "set r topic x");
    heard(f, w, "(join cid ) set ");
    ok(f, "join r dan");
    ok(f, "kick r dan");
    heard(f, w, "(join dan ) kick ");
    ok(f, "join r eve");
    same(f, "set r topic x"); /* even if it comes to nothing */
    heard(f, w, "(join eve ) ");
    ok(f, "join r fay");
    ok(f, "snapshot r"); /* its notices precede a snapshot that has them */
    heard(f, w, "(join fay ) ");
    ok(f, "join r gus");
    ok(f, "open r presence=0");
    ok(f, "join r hal");
    heard(f, w, "(join gus ) open join ");
    ok(f, "open r presence=1000");
    ok(f, "leave r hal");
    f->now += 60000; /* the silence of all is an outage, once */
    ok(f, "sweep r");
    heard(f, w, "open (leave hal ) outage ");
    f->now += 60000;
    ok(f, "sweep r");
    heard(f, w, "");
    f->now += 1000;
    same(f, "sweep r");
    heard(f, w, "(expire bob expire cid expire eve expire fay expire gus ) ");
    ok(f, "join r ann");
    ok(f, "close r");
    heard(f, w, "(join ann ) close done ");
    usher_unwatch(f->e, a);
    usher_unwatch(f->twin, b);
}

TEST(earlier_command_of_a_batch_sends_no_later_notice)
{
    struct fixture *f = *state;
    static struct words w[2];
    struct usher_watcher *a, *b;

    memset(w, 0, sizeof w);
    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_words, &w[0], &a), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_words, &w[1], &b), USHER_OK);
    ok(f, "open r presence=1000");
    ok(f, "set r topic x");
    heard(f, w, "open set ");
    same_then_join(f, "ann");
    heard(f, w, "");
    same(f, "set r topic x");
    heard(f, w, "(join ann ) ");
    usher_unwatch(f->e, a);
    usher_unwatch(f->twin, b);
}

TEST(coalesced_notices_are_bounded)
{
    struct fixture *f = *state;
    static struct words w[2];
    struct usher_watcher *a, *b;
    static char big[1901];

    memset(w, 0, sizeof w);
    memset(big, 'x', sizeof big - 1);
    assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_words, &w[0], &a), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_words, &w[1], &b), USHER_OK);
    ok(f, "open r presence=100000 log=3"); /* what waits need not be in the log */
    heard(f, w, "open ");
    for (int i = 0; i < 300 && w[0].n == 0; i++)
        ok(f, "join r m%d", i);
    assert_memory_equal(w[0].line, "(join m0 join m1 ", 17);
    assert_non_null(strstr(w[0].line, "join m99 "));
    assert_string_equal(w[0].line, w[1].line);
    ok(f, "lock r");
    ok(f, "unlock r");
    w[0].n = w[1].n = 0;
    w[0].line[0] = w[1].line[0] = '\0';
    for (int i = 0; i < 6; i++) {
        ok(f, "join r big%d x=%s", i, big);
        heard(f, w, i != 4 ? "" : "(join big0 join big1 join big2 join big3 ) ");
    }
    ok(f, "lock r");
    heard(f, w, "(join big4 join big5 ) lock ");
    usher_unwatch(f->e, a);
    usher_unwatch(f->twin, b);
}

/* No notice is pending for a watcher that has not begun to watch, or has ended. */
TEST(new_watcher_gets_no_pending_notices)
{
    struct fixture *f = *state;
    static struct words w[2];
    struct usher_watcher *a, *b;

    memset(w, 0, sizeof w);
    ok(f, "open r presence=1000");
    for (int round = 0; round < 2; round++) {
        ok(f, "join r ann");
        ok(f, "alive r ann"); /* a follower of the log gets the newest version */
        assert_true(f->r.of.room.since == f->r.version);
        assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_words, &w[0], &a), USHER_OK);
        assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_words, &w[1], &b), USHER_OK);
        w[0].last = w[1].last = f->r.version;
        ok(f, "set r topic %d", round);
        heard(f, w, "set ");
        ok(f, "leave r ann");
        usher_unwatch(f->e, a);
        usher_unwatch(f->twin, b);
        /* watchers that begin before the notice would have been sent */
        assert_int_equal(usher_watch(f->e, USHER_ROOM, "r", hear_words, &w[0], &a), USHER_OK);
        assert_int_equal(usher_watch(f->twin, USHER_ROOM, "r", hear_words, &w[1], &b), USHER_OK);
        w[0].last = w[1].last = f->r.version;
        f->now += 1000;
        missing(f, "alive r ann");
        ok(f, "set r after %d", round);
        heard(f, w, "set ");
        usher_unwatch(f->e, a);
        usher_unwatch(f->twin, b);
    }
}

/* ---- chance ------------------------------------------------------------------------ */

static unsigned draw(uint64_t *seed, unsigned n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

/* One command drawn from few names, so that they meet. */
static void random_command(struct fixture *f, uint64_t *seed, char line[256])
{
    static const char *const values[] = { "1", "2", "''", "a-longer-value" };
    unsigned m = draw(seed, 5), x = draw(seed, 3), v = draw(seed, 4);
    const char *if_version = draw(seed, 12) == 0 ? " if-version=7" : "";
    char req[32] = "";
    int n = 0;

    if (draw(seed, 6) == 0)
        (void)snprintf(req, sizeof req, " req=q%u", draw(seed, 9));
    f->now += draw(seed, 3) == 0 ? (int64_t)draw(seed, 60) : 0;
    switch (draw(seed, 26)) {
    case 0:
    case 1:
        n = snprintf(line, 256, "open r ttl=%u away=%u grace=%u", draw(seed, 3) * 100,
                     draw(seed, 3) * 50, draw(seed, 2) * 40);
        break;
    case 2:
        n = snprintf(line, 256, "open r capacity=%u linger=%u log=%u presence=%u", draw(seed, 5),
                     draw(seed, 2) * 150, 1 + draw(seed, 12), draw(seed, 2) * 90);
        break;
    case 3:
        n = snprintf(line, 256, draw(seed, 4) == 0 ? "close r" : "show r");
        if_version = "";
        break;
    case 4:
        n = snprintf(line, 256, draw(seed, 3) == 0 ? "lock r%s" : "unlock r%s", if_version);
        break;
    case 5:
    case 6:
        n = snprintf(line, 256, "set r f%u %s f%u=%u%s", x, values[v], 4 + m, v, if_version);
        break;
    case 7:
        n = snprintf(line, 256, "set r f%u %s if=%s", x, values[v], v == 0 ? "" : values[x]);
        break;
    case 8:
        n = snprintf(line, 256, "unset r f%u", x);
        break;
    case 9:
        n = snprintf(line, 256, draw(seed, 2) == 0 ? "get r" : "get r field=f%u", x);
        break;
    case 10:
    case 11:
    case 12:
        n = snprintf(line, 256, "join r m%u", m);
        break;
    case 13:
        n = snprintf(line, 256, "join r m%u f%u=%u g=%u%s", m, x, v, x, if_version);
        break;
    case 14:
        n = snprintf(line, 256, "leave r m%u", m);
        break;
    case 15:
        n = snprintf(line, 256, draw(seed, 2) == 0 ? "kick r m%u" : "kick r m%u ban=%u", m,
                     draw(seed, 3) * 70);
        break;
    case 16:
    case 17:
        n = snprintf(line, 256, "alive r m%u", m);
        break;
    case 18:
        n = snprintf(line, 256,
                     draw(seed, 2) == 0 ? "member r m%u f%u %s" : "member r m%u f%u %s if=1", m, x,
                     values[v]);
        break;
    case 19:
        n = snprintf(line, 256, "all r f%u %s%s", x, values[v], if_version);
        break;
    case 20:
        n = snprintf(line, 256,
                     draw(seed, 2) == 0 ? "role r role%u m%u" : "role r role%u m%u if=m2", x, m);
        break;
    case 21:
        n = snprintf(line, 256, "role r role%u ''", x);
        break;
    case 22:
        n = snprintf(line, 256, draw(seed, 2) == 0 ? "share r m%u s%u" : "share r m%u s%u a=%u", m,
                     x, v);
        break;
    case 23:
        n = snprintf(line, 256, "unshare r s%u", x);
        break;
    case 24:
        n = draw(seed, 2) == 0 ? snprintf(line, 256, "snapshot r max=%u", 1 + draw(seed, 4))
                               : snprintf(line, 256, "snapshot r after=%u since=%u", draw(seed, 30),
                                          draw(seed, 60));
        break;
    default:
        n = draw(seed, 2) == 0
                ? snprintf(line, 256, "sweep r ttl=%u max=%u", draw(seed, 200), 1 + draw(seed, 3))
                : snprintf(line, 256, "changes r since=%u max=%u", draw(seed, 30),
                           1 + draw(seed, 9));
        break;
    }
    (void)snprintf(line + n, 256 - (size_t)n, "%s", req);
}

TEST(stores_agree_on_random_commands)
{
    struct fixture *f = *state;
    uint64_t seed = number_from("USHER_SEED", 20261121);
    long steps = (long)budget_of("USHER_STEPS", 100000) / 20;
    static struct log here, there;
    struct usher_watcher *a, *b;
    unsigned changed = 0;

    if (strcmp(under_test.name, "own") == 0)
        steps /= 4;
    here.n = there.n = 0;
    assert_int_equal(usher_watch(f->e, USHER_ROOM, NULL, hear_all, &here, &a), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_ROOM, NULL, hear_all, &there, &b), USHER_OK);
    for (long i = 0; i < steps; i++) {
        uint64_t before = seed;
        char line[256];
        struct said s;
        struct usher_result r;

        random_command(f, &seed, line);
        said_line(&s, USHER_ROOM, line);
        usher_result_done(&f->r);
        assert_int_equal(usher_operate(f->e, &s.c, &f->r, 1), USHER_OK);
        assert_int_equal(usher_operate(f->twin, &s.c, &r, 1), USHER_OK);
        if (f->r.status != r.status || f->r.version != r.version)
            print_error("step %ld, seed %" PRIu64 ": %s\n", i, before, line);
        assert_true(replies_equal(s.c.verb, &f->r, &r, stderr));
        usher_result_done(&r);
        changed += f->r.status == USHER_OK;
        if (here.n != there.n || memcmp(here.version, there.version, here.n * 8) != 0 ||
            memcmp(here.sum, there.sum, here.n) != 0)
            fail_msg("step %ld, seed %" PRIu64 ": %s: the notices differ", i, before, line);
        here.n = there.n = 0;
        {
            char x[33], y[33];

            assert_int_equal(usher_digest(f->e, USHER_ROOM, "r", x), USHER_OK);
            assert_int_equal(usher_digest(f->twin, USHER_ROOM, "r", y), USHER_OK);
            if (strcmp(x, y) != 0)
                fail_msg("step %ld, seed %" PRIu64 ": %s: the digests differ", i, before, line);
        }
        if (i % 100 == 0) {
            audit(f->e);
            digests_agree(f, "r");
        }
    }
    assert_true(changed > steps / 4);
    usher_unwatch(f->e, a);
    usher_unwatch(f->twin, b);
}

/* ------------------------------------------------------------------------------------ */
