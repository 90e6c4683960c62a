/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store: spec/numbers.md row by row, and the rules of usher.h.
 *
 * Commands are written as on the command line: ok(f, "call desk owner=ann").  The words
 * before are the answer that is expected; the whole reply is f->r.  A name that words
 * cannot say goes in by %s between blanks.
 *
 * The clock is f->now, given by the engine's hook.  A twin, which is a memory store, gets the same
 * commands and must answer the same; every test ends with the audit, and compares the digests of
 * the pools "desk" of both.
 */
#include "lib/test.h"

#include "conformance/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "core/verbs.h"
#include "engine/engine.h"
#include "change/result.h"
#include "lib/calls.h"
#include "model/compare.h"

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)

static int set_up(void **state)
{
    return fixture_begin(state, USHER_NUMBER, "desk", NULL);
}

TEST_EACH(set_up, fixture_end);

/* ---- commands in words ------------------------------------------------------------- */

/* A call, whatever comes of it. */
static void execute_call(struct fixture *f, const char *line)
{
    struct said s;
    char words[256];

    (void)snprintf(words, sizeof words, "call %s", line);
    said_line(&s, USHER_NUMBER, words);
    (void)execute(f, &s.c);
}

/* There is nothing free before @next. */
static void empty_at(struct fixture *f, const char *line, int64_t next)
{
    execute_call(f, line);
    assert_int_equal(f->r.status, USHER_EMPTY);
    assert_int_equal(f->r.of.number.next_ms, next);
}

/* The number that `call @line` gives, and its token. */
static const char *given(struct fixture *f, const char *line)
{
    ok(f, "call %s", line);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_true(f->r.of.number.token == f->r.version);
    return f->r.of.number.number;
}
#define assert_given(f, line, number) assert_string_equal(given(f, line), number)

static uint64_t token_of(struct fixture *f, const char *number)
{
    ok(f, "show desk %s", number);
    return f->r.of.number.rows[0].token;
}

static enum usher_number_state state_of(struct fixture *f, const char *number)
{
    ok(f, "show desk %s", number);
    assert_int_equal(f->r.of.number.n_rows, 1);
    return f->r.of.number.rows[0].state;
}

static void digest(struct fixture *f, const char *pool, char to[33])
{
    assert_int_equal(usher_digest(f->e, USHER_NUMBER, pool, to), USHER_OK);
    assert_int_equal(strlen(to), 32);
}

static uint64_t version(struct fixture *f)
{
    ok(f, "stats desk");
    return f->r.version;
}

/* Numbers n1 to n@n, up. */
static void numbers(struct fixture *f, unsigned n)
{
    for (unsigned i = 1; i <= n; i++) {
        ok(f, "add desk n%u", i);
        ok(f, "reg desk n%u", i);
    }
}

/* ---- N1: the table ----------------------------------------------------------------- */

enum { NODATA, IDLE_DOWN, IDLE_UP, BUSY_DOWN, BUSY_UP };

struct cell {
    int from;
    const char *command;
    enum usher_status status;
    int to;
};

static const struct cell cells[] = {
    { NODATA, "add", USHER_OK, IDLE_DOWN },
    { NODATA, "del", USHER_SAME, NODATA },
    { NODATA, "reg", USHER_MISSING, NODATA },
    { NODATA, "unreg", USHER_MISSING, NODATA },
    { NODATA, "call", USHER_MISSING, NODATA },
    { NODATA, "hangup", USHER_MISSING, NODATA },
    { IDLE_UP, "add", USHER_SAME, IDLE_UP },
    { IDLE_UP, "del", USHER_OK, NODATA },
    { IDLE_UP, "reg", USHER_SAME, IDLE_UP },
    { IDLE_UP, "unreg", USHER_OK, IDLE_DOWN },
    { IDLE_UP, "call", USHER_OK, BUSY_UP },
    { IDLE_UP, "hangup", USHER_REFUSED, IDLE_UP },
    { IDLE_DOWN, "add", USHER_SAME, IDLE_DOWN },
    { IDLE_DOWN, "del", USHER_OK, NODATA },
    { IDLE_DOWN, "reg", USHER_OK, IDLE_UP },
    { IDLE_DOWN, "unreg", USHER_SAME, IDLE_DOWN },
    { IDLE_DOWN, "call", USHER_REFUSED, IDLE_DOWN },
    { IDLE_DOWN, "hangup", USHER_REFUSED, IDLE_DOWN },
    { BUSY_UP, "add", USHER_SAME, BUSY_UP },
    { BUSY_UP, "del", USHER_OK, NODATA },
    { BUSY_UP, "reg", USHER_SAME, BUSY_UP },
    { BUSY_UP, "unreg", USHER_OK, BUSY_DOWN },
    { BUSY_UP, "call", USHER_REFUSED, BUSY_UP },
    { BUSY_UP, "hangup", USHER_OK, IDLE_UP },
    { BUSY_DOWN, "add", USHER_SAME, BUSY_DOWN },
    { BUSY_DOWN, "del", USHER_OK, NODATA },
    { BUSY_DOWN, "reg", USHER_OK, BUSY_UP },
    { BUSY_DOWN, "unreg", USHER_SAME, BUSY_DOWN },
    { BUSY_DOWN, "call", USHER_REFUSED, BUSY_DOWN },
    { BUSY_DOWN, "hangup", USHER_OK, IDLE_DOWN },
    /* ours; @: the token of the hold */
    { NODATA, "renew @", USHER_MISSING, NODATA },
    { IDLE_UP, "renew @", USHER_REFUSED, IDLE_UP },
    { IDLE_DOWN, "renew @", USHER_REFUSED, IDLE_DOWN },
    { BUSY_UP, "renew @", USHER_OK, BUSY_UP },
    { BUSY_DOWN, "renew @", USHER_OK, BUSY_DOWN },
    { NODATA, "free", USHER_MISSING, NODATA },
    { IDLE_UP, "free", USHER_SAME, IDLE_UP },
    { IDLE_DOWN, "free", USHER_SAME, IDLE_DOWN },
    { BUSY_UP, "free", USHER_OK, IDLE_UP },
    { BUSY_DOWN, "free", USHER_OK, IDLE_DOWN },
    { NODATA, "lift", USHER_MISSING, NODATA },
    { IDLE_UP, "lift", USHER_SAME, IDLE_UP },
    { IDLE_DOWN, "lift", USHER_SAME, IDLE_DOWN },
    { BUSY_UP, "lift", USHER_SAME, BUSY_UP },
    { BUSY_DOWN, "lift", USHER_SAME, BUSY_DOWN },
    { IDLE_UP, "sweep", USHER_SAME, IDLE_UP },
    { IDLE_DOWN, "sweep", USHER_SAME, IDLE_DOWN },
    { BUSY_UP, "sweep", USHER_OK, IDLE_UP }, /* the hold has expired */
    { BUSY_DOWN, "sweep", USHER_OK, IDLE_DOWN },
};

/* Number n of pool @pool into @state; "sweep": its hold is over. */
static void bring(struct fixture *f, const char *pool, int to, const char *command)
{
    ok(f, "set %s daily=0", pool);
    if (to == NODATA)
        return;
    ok(f, "add %s n", pool);
    if (to == IDLE_DOWN)
        return;
    ok(f, "reg %s n", pool);
    if (to == IDLE_UP)
        return;
    ok(f, "call %s number=n lease=%d", pool, strcmp(command, "sweep") == 0 ? 1 : 1000);
    if (to == BUSY_DOWN)
        ok(f, "unreg %s n", pool);
}

static void give(struct fixture *f, const char *pool, const struct cell *c)
{
    uint64_t token = 0;

    if (strcmp(c->command, "call") == 0 || strcmp(c->command, "free") == 0) {
        expect(f, __FILE__, __LINE__, c->status, "%s %s number=n", c->command, pool);
    } else if (strcmp(c->command, "renew @") == 0) {
        if (c->from != NODATA) {
            ok(f, "show %s n", pool);
            token = f->r.of.number.rows[0].token;
        }
        f->now++; /* or it would be the same deadline */
        expect(f, __FILE__, __LINE__, c->status, "renew %s n token=%" PRIu64, pool, token);
    } else if (strcmp(c->command, "sweep") == 0) {
        f->now++;
        expect(f, __FILE__, __LINE__, c->status, "sweep %s", pool);
    } else {
        expect(f, __FILE__, __LINE__, c->status, "%s %s n", c->command, pool);
    }
}

TEST(each_cell_of_the_table_is_followed)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const struct cell *c = &cells[i];
        char pool[32], before[33], after[33];
        uint64_t was;

        (void)snprintf(pool, sizeof pool, "cell%zu", i);
        bring(f, pool, c->from, c->command);
        was = f->r.version;
        digest(f, pool, before);
        give(f, pool, c);
        digest(f, pool, after);
        /* version: one more for a change, and else the whole state is as it was */
        assert_int_equal(f->r.version, was + (c->status == USHER_OK));
        if (c->status == USHER_OK)
            assert_string_not_equal(before, after);
        else
            assert_string_equal(before, after);
        if (strcmp(c->command, "sweep") != 0)
            assert_int_equal(f->r.of.number.state, c->to);
        if (c->to == NODATA) {
            missing(f, "show %s n", pool);
        } else {
            ok(f, "show %s n", pool);
            assert_int_equal(f->r.of.number.rows[0].state, c->to);
        }
        ok(f, "stats %s", pool);
        assert_int_equal(f->r.of.number.of.stats.total, c->to != NODATA);
        assert_int_equal(f->r.of.number.of.stats.idle_up, c->to == IDLE_UP);
        assert_int_equal(f->r.of.number.of.stats.idle_down, c->to == IDLE_DOWN);
        assert_int_equal(f->r.of.number.of.stats.busy_up, c->to == BUSY_UP);
        assert_int_equal(f->r.of.number.of.stats.busy_down, c->to == BUSY_DOWN);
        /* the idle list: a call takes from it */
        if (c->to == IDLE_UP) {
            ok(f, "call %s", pool);
            assert_string_equal(f->r.of.number.number, "n");
        } else {
            empty(f, "call %s", pool);
        }
    }
}

/* A number that is taken out and put in again is as new, but for its calls of the day, and is in
 * one list once. */
TEST(a_number_deleted_and_added_again_is_new)
{
    struct fixture *f = *state;

    ok(f, "add desk n1 group=a");
    ok(f, "reg desk n1");
    ok(f, "call desk owner=ann");
    ok(f, "del desk n1");
    empty(f, "call desk owner=ann");
    ok(f, "add desk n1 group=b");
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_IDLE_DOWN);
    assert_text(f->r.of.number.rows[0].group, "b");
    assert_text(f->r.of.number.rows[0].owner, "");
    assert_int_equal(f->r.of.number.rows[0].token, 0);
    assert_int_equal(f->r.of.number.rows[0].until_ms, 0);
    assert_int_equal(f->r.of.number.rows[0].calls_today, 1);
    ok(f, "reg desk n1");
    empty(f, "call desk group=a");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NO_NUMBER);
    assert_given(f, "desk group=b", "n1");
    empty(f, "call desk");
}

TEST(add_again_leaves_the_group)
{
    struct fixture *f = *state;

    ok(f, "add desk n1 group=a");
    same(f, "add desk n1 group=b");
    ok(f, "show desk n1");
    assert_text(f->r.of.number.rows[0].group, "a");
}

/* ---- pools ------------------------------------------------------------------------- */

TEST(missing_pool_is_missing_for_all_verbs)
{
    struct fixture *f = *state;
    char absent[33], other[33];

    missing(f, "reg desk n1");
    assert_int_equal(f->r.epoch, 0);
    assert_int_equal(f->r.version, 0);
    missing(f, "unreg desk n1");
    missing(f, "hangup desk n1");
    missing(f, "renew desk n1 token=1");
    missing(f, "call desk number=n1");
    missing(f, "show desk n1");
    missing(f, "list desk");
    missing(f, "stats desk");
    missing(f, "set desk");
    missing(f, "sweep desk");
    missing(f, "free desk all=1");
    missing(f, "free desk number=n1");
    same(f, "del desk n1");
    empty(f, "call desk owner=ann");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NO_NUMBER);
    assert_int_equal(f->r.of.number.next_ms, -1);
    assert_int_equal(f->r.epoch, 0);
    /* and none of these made it */
    missing(f, "stats desk");
    digest(f, "desk", absent);
    digest(f, "never", other);
    assert_string_equal(absent, other);
}

TEST(a_pool_comes_with_its_first_number_or_setting)
{
    struct fixture *f = *state;
    uint64_t epoch;

    ok(f, "add desk n1");
    assert_int_equal(f->r.version, 1);
    epoch = f->r.epoch;
    assert_true(epoch != 0);
    ok(f, "set other order=longest-idle"); /* the default; still it makes the pool */
    assert_int_equal(f->r.version, 1);
    assert_true(f->r.epoch != 0);
    assert_true(f->r.epoch != epoch);
    same(f, "set other order=longest-idle");
    assert_int_equal(f->r.version, 1);
    /* it stays when its numbers go */
    ok(f, "del desk n1");
    ok(f, "stats desk");
    assert_true(f->r.epoch == epoch);
    assert_int_equal(f->r.version, 2);
    assert_int_equal(f->r.of.number.of.stats.total, 0);
}

TEST(pools_are_independent)
{
    struct fixture *f = *state;

    ok(f, "add desk n1");
    ok(f, "reg desk n1");
    ok(f, "add desk2 n1 group=a");
    ok(f, "reg desk2 n1");
    assert_given(f, "desk owner=ann req=r", "n1");
    assert_given(f, "desk2 owner=ann req=r", "n1");
    assert_false(f->r.repeated);
    assert_int_equal(f->r.version, 3);
    ok(f, "set desk2 strict=1 order=random");
    ok(f, "hangup desk n1");
    ok(f, "show desk2 n1");
    assert_int_equal(f->r.of.number.rows[0].state, USHER_NUMBER_STATE_BUSY_UP);
    ok(f, "set desk");
    assert_int_equal(f->r.of.number.of.settings.strict, 0);
}

TEST(settings_are_shown_and_changed_one_by_one)
{
    struct fixture *f = *state;
    const struct usher_number_result_settings *s = &f->r.of.number.of.settings;

    ok(f, "set desk lease=5000");
    assert_int_equal(s->lease_ms, 5000);
    assert_int_equal(s->order, USHER_NUMBER_ORDER_LONGEST_IDLE);
    assert_int_equal(s->rest_ms, 0);
    assert_int_equal(s->daily, 0);
    assert_int_equal(s->zone_min, 0);
    assert_int_equal(s->strict, 0);
    assert_true(s->sticky_ms > 0);
    assert_true(s->sticky_max > 0);
    assert_true(s->requests > 0);
    ok(f, "set desk order=random rest=7 daily=80 zone=-330 strict=1 sticky=9 sticky-max=8 "
          "requests=6");
    ok(f, "set desk");
    assert_int_equal(f->r.version, 2);
    assert_int_equal(s->lease_ms, 5000);
    assert_int_equal(s->order, USHER_NUMBER_ORDER_RANDOM);
    assert_int_equal(s->rest_ms, 7);
    assert_int_equal(s->daily, 80);
    assert_int_equal(s->zone_min, -330);
    assert_int_equal(s->strict, 1);
    assert_int_equal(s->sticky_ms, 9);
    assert_int_equal(s->sticky_max, 8);
    assert_int_equal(s->requests, 6);
    same(f, "set desk zone=-330 daily=80");
    assert_int_equal(s->daily, 80);
    assert_int_equal(f->r.version, 2);
}

/* ---- N2, N6: holds ----------------------------------------------------------------- */

TEST(a_busy_number_is_not_given_twice)
{
    struct fixture *f = *state;
    bool seen[6] = { false };

    numbers(f, 5);
    for (int i = 0; i < 5; i++) {
        const char *n = given(f, "desk");

        assert_false(seen[n[1] - '0']);
        seen[n[1] - '0'] = true;
    }
    empty(f, "call desk");
    empty(f, "call desk owner=ann");
    refused(f, "call desk number=n3");
    refused(f, "call desk number=n3 owner=ann");
}

TEST(a_call_gives_number_token_and_deadline)
{
    struct fixture *f = *state;

    numbers(f, 3);
    ok(f, "call desk owner=ann");
    assert_string_equal(f->r.of.number.number, "n1");
    assert_int_equal(f->r.of.number.number_size, 2);
    assert_int_equal(f->r.of.number.until_ms, 0);
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NONE);
    assert_string_equal(f->r.message, "");
    ok(f, "set desk lease=60000");
    ok(f, "call desk owner=bob");
    assert_int_equal(f->r.of.number.until_ms, f->now + 60000);
    ok(f, "call desk owner=cy lease=1");
    assert_int_equal(f->r.of.number.until_ms, f->now + 1);
    ok(f, "hangup desk n3");
    ok(f, "call desk owner=di lease=0");
    assert_int_equal(f->r.of.number.until_ms, 0);
    ok(f, "show desk n2");
    assert_text(f->r.of.number.rows[0].owner, "bob");
    assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 60000);
    assert_int_equal(f->r.of.number.rows[0].used_ms, f->now);
}

TEST(owner_that_calls_again_gets_the_number_it_holds)
{
    struct fixture *f = *state;
    uint64_t token, v;

    numbers(f, 3);
    assert_given(f, "desk owner=ann lease=1000", "n1");
    token = f->r.of.number.token;
    v = f->r.version;
    f->now += 10;
    same(f, "call desk owner=ann lease=9000");
    assert_string_equal(f->r.of.number.number, "n1");
    assert_true(f->r.of.number.token == token);
    assert_int_equal(f->r.of.number.until_ms, f->now - 10 + 1000);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_int_equal(f->r.version, v);
    same(f, "call desk owner=ann number=n1");
    same(f, "call desk owner=ann group=none");
    ok(f, "unreg desk n1");
    same(f, "call desk owner=ann");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_DOWN);
    /* each anonymous call is a new one */
    assert_given(f, "desk", "n2");
    assert_given(f, "desk", "n3");
    /* when the hold is over the owner has none */
    f->now += 1000;
    empty(f, "call desk owner=ann");
}

TEST(an_owner_may_hold_several_by_number)
{
    struct fixture *f = *state;

    numbers(f, 3);
    ok(f, "call desk owner=ann number=n3");
    ok(f, "call desk owner=ann number=n1");
    same(f, "call desk owner=ann");
    assert_string_equal(f->r.of.number.number, "n3"); /* the oldest */
    ok(f, "list desk owner=ann");
    assert_int_equal(f->r.of.number.n_rows, 2);
    assert_text(f->r.of.number.rows[0].number, "n3");
    assert_text(f->r.of.number.rows[1].number, "n1");
    ok(f, "hangup desk n3");
    same(f, "call desk owner=ann");
    assert_string_equal(f->r.of.number.number, "n1");
}

TEST(a_token_that_is_not_current_frees_no_number)
{
    struct fixture *f = *state;
    uint64_t anns, bobs;
    static const uint64_t others[] = { UINT64_C(1) << 53, (UINT64_C(1) << 53) + 1, INT64_MAX,
                                       UINT64_C(1) << 63, UINT64_MAX };
    char before[33], after[33];

    numbers(f, 1);
    ok(f, "call desk owner=ann");
    anns = f->r.of.number.token;
    ok(f, "hangup desk n1 token=%" PRIu64, anns);
    refused(f, "hangup desk n1 token=%" PRIu64, anns); /* again: there is no call */
    ok(f, "call desk owner=bob lease=7000");
    bobs = f->r.of.number.token;
    assert_true(bobs > anns);
    digest(f, "desk", before);
    for (int i = 0; i < 2; i++) { /* the owner and the deadline, and no token */
        if (i == 0)
            stale(f, "hangup desk n1 token=%" PRIu64, anns);
        else
            stale(f, "renew desk n1 token=%" PRIu64 " lease=5", anns);
        assert_true(f->r.of.number.token == 0);
        assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
        assert_int_equal(f->r.of.number.until_ms, f->now + 7000);
        assert_int_equal(f->r.of.number.n_rows, 1);
        assert_text(f->r.of.number.rows[0].owner, "bob");
        assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 7000);
        assert_true(f->r.of.number.rows[0].token == 0);
    }
    for (uint64_t token = 0; token < 2; token++) {
        stale(f, "hangup desk n1 token=%" PRIu64, token);
        stale(f, "renew desk n1 token=%" PRIu64, token);
    }
    /* above the version: the store that gave them out has lost them */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        lost(f, "hangup desk n1 token=%" PRIu64, others[i]);
        lost(f, "renew desk n1 token=%" PRIu64, others[i]);
    }
    lost(f, "hangup desk n1 token=%" PRIu64, bobs + 1);
    lost(f, "hangup desk n1 token=%" PRIu64, bobs + (UINT64_C(1) << 32));
    lost(f, "hangup desk n9 token=%" PRIu64, bobs + (UINT64_C(1) << 53));
    digest(f, "desk", after);
    assert_string_equal(before, after);
    ok(f, "hangup desk n1 token=%" PRIu64, bobs);
}

TEST(tokens_only_grow)
{
    struct fixture *f = *state;
    uint64_t last = 0;

    numbers(f, 2);
    for (int i = 0; i < 10; i++) {
        ok(f, "call desk");
        assert_true(f->r.of.number.token > last);
        last = f->r.of.number.token;
        if (i % 3 == 0)
            ok(f, "del desk %s", f->r.of.number.number);
        else
            ok(f, "hangup desk %s", f->r.of.number.number);
        (void)execute(f, &(struct usher_operation){ .verb = USHER_NUMBER_ADD,
                                                    .scope = text("desk"),
                                                    .arg.number.number = text("n1") });
        (void)execute(f, &(struct usher_operation){ .verb = USHER_NUMBER_REG,
                                                    .scope = text("desk"),
                                                    .arg.number.number = text("n1") });
    }
    assert_true(token_of(f, "n1") <= last);
}

TEST(strict_pool_refuses_a_hangup_without_token)
{
    struct fixture *f = *state;
    uint64_t token;

    numbers(f, 1);
    ok(f, "call desk owner=ann");
    ok(f, "hangup desk n1");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    ok(f, "set desk strict=1");
    ok(f, "call desk owner=ann");
    token = f->r.of.number.token;
    refused(f, "hangup desk n1");
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_BUSY_UP);
    stale(f, "hangup desk n1 token=%" PRIu64, token - 1);
    ok(f, "hangup desk n1 token=%" PRIu64, token);
    refused(f, "hangup desk n1");
}

TEST(renew_extends_a_hold)
{
    struct fixture *f = *state;
    uint64_t token, v;

    numbers(f, 1);
    ok(f, "call desk owner=ann lease=1000");
    token = f->r.of.number.token;
    v = f->r.version;
    same(f, "renew desk n1 token=%" PRIu64, token); /* the same deadline */
    assert_int_equal(f->r.version, v);
    f->now += 600;
    ok(f, "renew desk n1 token=%" PRIu64, token); /* as long as before */
    assert_int_equal(f->r.of.number.until_ms, f->now + 1000);
    assert_true(f->r.of.number.token == token);
    assert_int_equal(f->r.version, v + 1);
    f->now += 999;
    ok(f, "renew desk n1 token=%" PRIu64 " lease=50", token);
    assert_int_equal(f->r.of.number.until_ms, f->now + 50);
    same(f, "renew desk n1 token=%" PRIu64, token);
}

TEST(a_renewed_lease_is_the_next_renewals_default)
{
    struct fixture *f = *state;
    uint64_t token;

    numbers(f, 1);
    ok(f, "set desk lease=7000");
    ok(f, "call desk owner=ann lease=1000");
    token = f->r.of.number.token;
    ok(f, "renew desk n1 token=%" PRIu64 " lease=50", token);
    f->now += 20;
    ok(f, "renew desk n1 token=%" PRIu64, token);
    assert_int_equal(f->r.of.number.until_ms, f->now + 50);
    ok(f, "renew desk n1 token=%" PRIu64 " lease=0", token); /* until hangup */
    assert_int_equal(f->r.of.number.until_ms, 0);
    f->now += 100 * DAY;
    same(f, "renew desk n1 token=%" PRIu64, token);
    assert_int_equal(f->r.of.number.until_ms, 0);
    ok(f, "renew desk n1 token=%" PRIu64 " lease=10", token);
    f->now += 10;
    refused(f, "renew desk n1 token=%" PRIu64, token); /* too late */
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    missing(f, "renew desk n2 token=%" PRIu64, token);
}

TEST(a_hold_that_is_not_renewed_comes_back)
{
    struct fixture *f = *state;
    uint64_t v;

    numbers(f, 1);
    ok(f, "call desk owner=ann lease=1000");
    v = f->r.version;
    f->now += 999;
    empty(f, "call desk owner=bob");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    assert_int_equal(f->r.of.number.next_ms, f->now + 1);
    f->now += 1;
    /* a read shows it as it is, and writes nothing */
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_IDLE_UP);
    assert_text(f->r.of.number.rows[0].owner, "");
    assert_int_equal(f->r.of.number.rows[0].until_ms, 0);
    assert_int_equal(f->r.version, v);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.idle_up, 1);
    assert_int_equal(f->r.of.number.of.stats.busy_up, 0);
    assert_int_equal(f->r.of.number.of.stats.longest_hold_ms, 0);
    ok(f, "list desk owner=ann");
    assert_int_equal(f->r.of.number.n_rows, 0);
    ok(f, "list desk state=idle+up");
    assert_int_equal(f->r.of.number.n_rows, 1);
    /* the expiry is a change of its own */
    assert_given(f, "desk owner=bob", "n1");
    assert_int_equal(f->r.version, v + 2);
}

TEST(a_hold_that_expires_while_down_stays_down)
{
    struct fixture *f = *state;

    numbers(f, 1);
    ok(f, "call desk lease=10");
    ok(f, "unreg desk n1");
    f->now += 10;
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_DOWN);
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_IDLE_DOWN);
    ok(f, "reg desk n1");
    assert_given(f, "desk", "n1");
}

TEST(late_hangup_after_the_lease_ends_no_call)
{
    struct fixture *f = *state;
    uint64_t anns;

    numbers(f, 1);
    ok(f, "call desk owner=ann lease=10");
    anns = f->r.of.number.token;
    f->now += 10;
    refused(f, "hangup desk n1 token=%" PRIu64, anns);
    ok(f, "call desk owner=bob lease=10");
    stale(f, "hangup desk n1 token=%" PRIu64, anns);
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_BUSY_UP);
}

TEST(an_operator_sees_and_ends_holds)
{
    struct fixture *f = *state;
    uint64_t v;

    numbers(f, 5);
    ok(f, "call desk owner=ann number=n2");
    f->now += 1000;
    ok(f, "call desk owner=bob number=n4");
    ok(f, "call desk owner=ann number=n1");
    ok(f, "call desk number=n5");
    f->now += 1000;
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.longest_hold_ms, 2000);
    ok(f, "list desk owner=ann");
    assert_int_equal(f->r.of.number.n_rows, 2);
    assert_text(f->r.of.number.rows[0].number, "n2");
    assert_int_equal(f->r.of.number.rows[0].used_ms, f->now - 2000);
    assert_text(f->r.of.number.rows[1].number, "n1");
    /* one */
    ok(f, "free desk number=n5");
    assert_int_equal(f->r.of.number.count, 1);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    same(f, "free desk number=n5");
    assert_int_equal(f->r.of.number.count, 0);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    missing(f, "free desk number=n6");
    same(f, "free desk number=n4 owner=ann"); /* not hers */
    /* all of an owner, each a change of its own */
    v = f->r.version;
    ok(f, "free desk owner=ann");
    assert_int_equal(f->r.of.number.count, 2);
    assert_false(f->r.of.number.more);
    assert_int_equal(f->r.version, v + 2);
    same(f, "free desk owner=ann");
    same(f, "free desk owner=zoe");
    /* all */
    ok(f, "free desk all=1");
    assert_int_equal(f->r.of.number.count, 1);
    same(f, "free desk all=1");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.idle_up, 5);
}

/* ---- N20: nodes --------------------------------------------------------------------- */

TEST(calls_of_a_node_go_together_and_owners_name_one)
{
    struct fixture *f = *state;
    const struct usher_number_result *r = &f->r.of.number;
    uint64_t v;

    numbers(f, 5);
    assert_given(f, "desk owner=c1 node=m1 lease=1000", "n1");
    assert_given(f, "desk owner=c2 node=m1 lease=1000", "n2"); /* the same machine, another call */
    same(f, "call desk owner=c1 node=m1");
    assert_string_equal(r->number, "n1");
    assert_given(f, "desk node=m2", "n3");
    assert_given(f, "desk owner=c4", "n4");
    f->now += 500;
    ok(f, "list desk node=m1");
    assert_int_equal(r->n_rows, 2);
    assert_text(r->rows[0].number, "n1");
    assert_text(r->rows[0].node, "m1");
    assert_text(r->rows[0].owner, "c1");
    assert_int_equal(r->rows[0].age_ms, 500);
    assert_text(r->rows[1].number, "n2");
    ok(f, "show desk n4");
    assert_text(r->rows[0].node, "");
    /* all of its leases, each a change of its own */
    v = f->r.version;
    ok(f, "renew desk node=m1");
    assert_int_equal(r->count, 2);
    assert_false(r->more);
    assert_int_equal(f->r.version, v + 2);
    same(f, "renew desk node=m1");
    same(f, "renew desk node=m9");
    missing(f, "renew none node=m1");
    ok(f, "show desk n2");
    assert_int_equal(r->rows[0].until_ms, f->now + 1000);
    ok(f, "renew desk node=m1 lease=3000");
    f->now += 1000;
    ok(f, "hangup desk n1");
    ok(f, "list desk node=m1");
    assert_int_equal(r->n_rows, 1);
    ok(f, "show desk n1");
    assert_text(r->rows[0].node, "");
    same(f, "free desk number=n2 node=m2");
    ok(f, "free desk node=m1");
    assert_int_equal(r->count, 1);
    same(f, "free desk node=m1");
    ok(f, "free desk number=n3 node=m2");
    ok(f, "show desk n4");
    assert_int_equal(r->rows[0].state, USHER_NUMBER_STATE_BUSY_UP);
    /* whatever ends a call takes it from its node */
    ok(f, "call desk number=n1 node=m1 lease=100");
    ok(f, "call desk number=n2 node=m1");
    ok(f, "call desk number=n3 node=m1");
    ok(f, "del desk n2");
    ok(f, "unreg desk n3");
    f->now += 100;
    ok(f, "list desk node=m1");
    assert_int_equal(r->n_rows, 1);
    assert_text(r->rows[0].number, "n3");
    ok(f, "call desk number=n1 node=m2"); /* the number goes on with another one */
    ok(f, "renew desk node=m1 lease=5");
    assert_int_equal(r->count, 1);
    ok(f, "free desk all=1");
    ok(f, "list desk state=busy");
    assert_int_equal(r->n_rows, 0);
}

TEST(calls_are_listed_oldest_first_and_in_pages)
{
    struct fixture *f = *state;
    const struct usher_number_result *r = &f->r.of.number;
    char after[USHER_NAME_MAX + 1];

    for (int i = 9; i >= 1; i--) {
        ok(f, "add desk n%d", i);
        ok(f, "reg desk n%d", i);
    }
    for (int i = 0; i < 7; i++) { /* n9 first, of two owners and three machines in turn */
        ok(f, "call desk number=n%d owner=%s node=m%d", 9 - i, i % 2 == 0 ? "ann" : "bob", i % 3);
        f->now += 10;
    }
    ok(f, "list desk state=busy max=3");
    assert_int_equal(r->n_rows, 3);
    assert_true(r->more);
    assert_text(r->rows[0].number, "n9");
    assert_text(r->rows[2].number, "n7");
    assert_int_equal(r->rows[0].age_ms, 70);
    (void)snprintf(after, sizeof after, "%s", r->number);
    ok(f, "hangup desk n7"); /* the last of the page: the next one goes on all the same */
    ok(f, "unreg desk n8");
    ok(f, "list desk state=busy after=%s", after);
    assert_int_equal(r->n_rows, 4);
    assert_false(r->more);
    for (size_t i = 0; i < r->n_rows; i++)
        assert_true(r->rows[i].token > strtoull(after, NULL, 10) &&
                    (i == 0 || r->rows[i].token > r->rows[i - 1].token));
    ok(f, "list desk state=busy+down");
    assert_int_equal(r->n_rows, 1);
    assert_text(r->rows[0].number, "n8");
    ok(f, "list desk owner=ann max=1");
    assert_true(r->more);
    assert_text(r->rows[0].number, "n9");
    (void)snprintf(after, sizeof after, "%s", r->number);
    ok(f, "list desk owner=bob after=%s", after);
    assert_text(r->rows[0].number, "n8");
    ok(f, "list desk node=m0 after=%s", after);
    assert_int_equal(r->n_rows, 2); /* n6 and n3 */
    for (size_t i = 0; i < r->n_rows; i++)
        assert_text(r->rows[i].node, "m0");
}

/* One page, and not one of numbers that are idle. */
TEST(a_call_among_many_numbers_is_on_the_first_page)
{
    enum { N = USHER_LIST_MAX + 100 };
    struct fixture *f = *state;
    static char names[N][16];
    static const char *list[N];
    struct ask_number_bulk_counts n;

    for (int i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%05d", i);
        list[i] = names[i];
    }
    no_twin(f);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_ADD, "desk", list, N, NULL, &n), USHER_OK);
    ok(f, "reg desk %s", names[N - 1]);
    ok(f, "call desk node=m");
    ok(f, "list desk state=busy+up max=10");
    assert_int_equal(f->r.of.number.n_rows, 1);
    assert_text(f->r.of.number.rows[0].number, names[N - 1]);
    assert_false(f->r.of.number.more);
}

/* No page holds the server up, whatever its max is. */
TEST(a_page_of_a_list_ends_by_its_work)
{
    enum { N = 2 * USHER_PAGE_MAX + 1 };
    struct fixture *f = *state;
    const struct usher_number_result *r = &f->r.of.number;
    char after[USHER_NAME_MAX + 1];

    ok(f, "set desk log=1000");
    for (int i = 0; i < N; i++)
        ok(f, "add desk n%03d", i);
    ok(f, "list desk max=10000");
    for (int page = 1; page <= 2; page++) {
        assert_int_equal(r->n_rows, USHER_PAGE_MAX);
        assert_true(r->more);
        (void)snprintf(after, sizeof after, "%s", r->number);
        ok(f, "list desk max=10000 after=%s", after);
    }
    assert_int_equal(r->n_rows, 1);
    assert_false(r->more);
    ok(f, "list desk state=idle+up max=10000"); /* of those there are none */
    assert_int_equal(r->n_rows, 0);
    assert_true(r->more);
    ok(f, "changes desk max=10000");
    assert_int_equal(r->n_rows, USHER_PAGE_MAX);
    assert_true(r->more);
}

TEST(a_node_with_many_calls_is_renewed_in_pages)
{
    enum { N = 2100 };
    struct fixture *f = *state;
    static char names[N][16];
    static const char *list[N];
    struct ask_number_bulk_counts n;
    char after[USHER_NAME_MAX + 1];
    uint64_t count;

    no_twin(f);
    for (int i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%04d", i);
        list[i] = names[i];
    }
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_ADD, "desk", list, N, NULL, &n), USHER_OK);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_REG, "desk", list, N, NULL, &n), USHER_OK);
    for (int i = 0; i < N; i++)
        ok(f, "call desk node=m lease=60000");
    ok(f, "renew desk node=m lease=90000");
    for (int page = 1; page <= N / 64; page++) {
        assert_int_equal(f->r.of.number.count, 64);
        assert_true(f->r.of.number.more);
        (void)snprintf(after, sizeof after, "%s", f->r.of.number.number);
        ok(f, "renew desk node=m lease=90000 after=%s", after);
    }
    assert_int_equal(f->r.of.number.count, N % 64);
    assert_false(f->r.of.number.more);
    f->now += 60000;
    ok(f, "renew desk node=m lease=0"); /* a page with nothing to do is not the end */
    assert_int_equal(ask_number_renew_node(f->e, "desk", "m", -1, &count), USHER_OK);
    assert_int_equal(count, N - 64);
    assert_int_equal(ask_number_free_node(f->e, "desk", "m", &count), USHER_OK);
    assert_int_equal(count, N);
    assert_int_equal(ask_number_free_node(f->e, "desk", "m", &count), USHER_SAME);
    assert_int_equal(ask_number_free_node(f->e, "desk", NULL, &count), USHER_INVALID);
}

/* A token that no store of these tests gives out: what it was given for is lost. */
#define LOST_TOKEN (UINT64_C(1) << 52)

static void assert_node(struct fixture *f, const char *number, const char *node)
{
    ok(f, "show desk %s", number);
    assert_text(f->r.of.number.rows[0].node, node);
}

TEST(a_number_that_is_taken_back_gets_the_given_node)
{
    struct fixture *f = *state;
    const struct usher_number_result *r = &f->r.of.number;
    char after[USHER_NAME_MAX + 1];
    uint64_t token;

    numbers(f, 5);
    ok(f, "set desk lease=1000");
    ok(f, "unreg desk n2");
    lost(f, "renew desk n1 token=%" PRIu64 " lease=5000", LOST_TOKEN);
    ok(f, "renew desk n1 token=%" PRIu64 " owner=ann node=m1 lease=5000", LOST_TOKEN);
    token = r->token;
    assert_true(token == f->r.version);
    assert_int_equal(r->state, USHER_NUMBER_STATE_BUSY_UP);
    assert_int_equal(r->until_ms, f->now + 5000);
    ok(f, "renew desk n2 token=%" PRIu64 " owner=bob node=m1", LOST_TOKEN);
    assert_int_equal(r->state, USHER_NUMBER_STATE_BUSY_DOWN);
    assert_int_equal(r->until_ms, f->now + 1000); /* the pool's */
    ok(f, "renew desk n3 token=%" PRIu64 " owner=carl lease=0", LOST_TOKEN);
    assert_int_equal(r->until_ms, 0);
    assert_node(f, "n3", "");
    /* a present hold keeps its node, with any owner or token, as with `call` */
    same(f, "renew desk n1 token=%" PRIu64 " owner=ann node=m2 lease=5000", LOST_TOKEN);
    assert_true(r->token == token);
    same(f, "renew desk n2 token=%" PRIu64 " owner=bob node=m1", LOST_TOKEN);
    ok(f, "renew desk n1 token=%" PRIu64 " owner=ann node=m2 lease=6000", LOST_TOKEN);
    assert_true(r->token == token);
    ok(f, "renew desk n1 token=%" PRIu64 " owner=ann node=m2 lease=7000", token);
    ok(f, "renew desk n3 token=%" PRIu64 " owner=carl node=m2 lease=7000", LOST_TOKEN);
    assert_node(f, "n3", "");
    same(f, "call desk owner=ann node=m2");
    same(f, "call desk number=n1 owner=ann node=m2");
    lost(f, "renew desk n1 token=%" PRIu64 " owner=eve node=m2", LOST_TOKEN);
    lost(f, "renew desk n2 token=%" PRIu64 " owner=eve node=m2", LOST_TOKEN);
    assert_node(f, "n1", "m1");
    ok(f, "list desk node=m2");
    assert_int_equal(r->n_rows, 0);
    /* they are among those of the node */
    assert_given(f, "desk owner=dora node=m1", "n4");
    ok(f, "list desk node=m1 max=2");
    assert_int_equal(r->n_rows, 2);
    assert_text(r->rows[0].number, "n1");
    assert_text(r->rows[0].owner, "ann");
    assert_text(r->rows[1].number, "n2");
    assert_true(r->more);
    (void)snprintf(after, sizeof after, "%s", r->number);
    ok(f, "list desk node=m1 after=%s", after);
    assert_int_equal(r->n_rows, 1);
    assert_text(r->rows[0].number, "n4");
    ok(f, "renew desk node=m1 lease=9000");
    assert_int_equal(r->count, 3);
    f->now += 8000;
    same(f, "add desk n1"); /* n3 is over, these are not */
    ok(f, "list desk state=busy");
    assert_int_equal(r->n_rows, 3);
    /* and leave it */
    ok(f, "hangup desk n1 token=%" PRIu64, token);
    ok(f, "list desk node=m1");
    assert_int_equal(r->n_rows, 2);
    ok(f, "free desk node=m1");
    assert_int_equal(r->count, 2);
    same(f, "free desk node=m1");
}

/* A caller may give `renew` the options of its call. */
TEST(renewal_with_an_owner_takes_the_options_of_a_call)
{
    struct fixture *f = *state;
    struct ask_number_call_options opt = { 0 };
    struct ask_number_hold hold, again;

    no_twin(f);
    numbers(f, 2);
    opt.number = "n1";
    opt.sticky = "peer";
    opt.request = "request";
    opt.node = "m1";
    opt.lease_ms = 5000;
    assert_int_equal(ask_number_call(f->e, "desk", "ann", &opt, &hold), USHER_OK);
    again = hold;
    f->now += 1000;
    assert_int_equal(ask_number_renew_as(f->e, "desk", "ann", &opt, &again), USHER_OK);
    assert_true(again.token == hold.token && again.version == hold.version + 1);
    assert_int_equal(again.until_ms, f->now + 5000);
    assert_int_equal(ask_number_renew_as(f->e, "desk", "ann", NULL, &again), USHER_SAME);
    opt.lease_ms = -1;
    again.token = LOST_TOKEN;
    (void)snprintf(again.number, sizeof again.number, "n2");
    assert_int_equal(ask_number_renew_as(f->e, "desk", "bob", &opt, &again), USHER_OK);
    assert_string_equal(again.number, "n2");
    assert_true(again.token == again.version && again.version > hold.version);
    assert_int_equal(again.until_ms, 0);
    assert_node(f, "n2", "m1");
    ok(f, "renew desk node=m1 lease=1");
    assert_int_equal(f->r.of.number.count, 2);
}

/* ---- N7: order --------------------------------------------------------------------- */

TEST(the_longest_idle_number_comes_first)
{
    struct fixture *f = *state;

    numbers(f, 4);
    assert_given(f, "desk", "n1");
    assert_given(f, "desk", "n2");
    ok(f, "hangup desk n2");
    ok(f, "hangup desk n1");
    assert_given(f, "desk", "n3");
    assert_given(f, "desk", "n4");
    assert_given(f, "desk", "n2");
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n3");
    ok(f, "hangup desk n4");
    ok(f, "unreg desk n3"); /* to register again is to join at the end */
    ok(f, "reg desk n3");
    assert_given(f, "desk", "n4");
    assert_given(f, "desk", "n3");
}

TEST(the_most_recent_number_comes_first)
{
    struct fixture *f = *state;

    ok(f, "set desk order=most-recent");
    numbers(f, 3);
    assert_given(f, "desk", "n3");
    assert_given(f, "desk", "n2");
    ok(f, "hangup desk n3");
    assert_given(f, "desk", "n3");
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n2");
    ok(f, "hangup desk n1");
    assert_given(f, "desk", "n1");
    ok(f, "set desk order=longest-idle"); /* the same list from its other end */
    ok(f, "hangup desk n1");
    assert_given(f, "desk", "n2");
}

TEST(numbers_idle_before_the_order_became_random_go_first)
{
    struct fixture *f = *state;
    char first[3];

    numbers(f, 3);
    ok(f, "set desk order=random");
    ok(f, "add desk n4");
    ok(f, "reg desk n4");
    ok(f, "add desk n5");
    ok(f, "reg desk n5");
    assert_given(f, "desk", "n1");
    assert_given(f, "desk", "n2");
    assert_given(f, "desk", "n3");
    ok(f, "set desk order=longest-idle"); /* and the other way round */
    ok(f, "hangup desk n1");
    memcpy(first, given(f, "desk"), 3);
    assert_true(strcmp(first, "n4") == 0 || strcmp(first, "n5") == 0);
    assert_given(f, "desk", first[1] == '4' ? "n5" : "n4");
    assert_given(f, "desk", "n1");
}

/* Every answer is compared with that of the twin, a memory store. */
TEST(random_order_is_alike_everywhere)
{
    struct fixture *f = *state;
    enum { N = 40, CALLS = 300 };
    unsigned held[N] = { 0 }, n_held = 0;

    ok(f, "set desk order=random");
    numbers(f, N);
    for (unsigned k = 0; k < CALLS; k++) {
        if (n_held < N && k % 3 != 2)
            held[n_held++] = (unsigned)atoi(given(f, "desk") + 1);
        else
            ok(f, "hangup desk n%u", held[--n_held]);
    }
}

/* Each of N idle numbers is the next one with the same probability, even the one that has just come
 * back.  600 calls, one at a time; the bounds are 5 standard deviations and more. */
TEST(random_order_is_fair)
{
    struct fixture *f = *state;
    enum { N = 5, CALLS = 600 };
    unsigned counts[N + 1] = { 0 }, again = 0, last = 0;

    ok(f, "set desk order=random");
    numbers(f, N);
    for (unsigned k = 0; k < CALLS; k++) {
        unsigned got = (unsigned)(given(f, "desk")[1] - '0');

        counts[got]++;
        again += got == last;
        last = got;
        ok(f, "hangup desk n%u", got);
    }
    for (unsigned i = 1; i <= N; i++)
        assert_in_range(counts[i], CALLS / N - 50, CALLS / N + 50);
    assert_in_range(again, CALLS / N - 60, CALLS / N + 60);
}

/* ---- N8: rest ---------------------------------------------------------------------- */

TEST(a_number_rests_after_a_call)
{
    struct fixture *f = *state;
    uint64_t v;

    ok(f, "set desk rest=1000");
    numbers(f, 1);
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    assert_int_equal(f->r.of.number.until_ms, f->now + 1000);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    v = f->r.version;
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, f->now + 1000);
    refused(f, "call desk number=n1");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, f->now + 1000);
    refused(f, "call desk number=n1 owner=ann");
    ok(f, "show desk n1");
    assert_true(f->r.of.number.rows[0].resting);
    assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 1000);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.idle_up, 1);
    assert_int_equal(f->r.of.number.of.stats.resting, 1);
    f->now += 999;
    empty(f, "call desk");
    f->now += 1;
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.resting, 0);
    assert_given(f, "desk", "n1");
    assert_int_equal(f->r.version, v + 2); /* the end of the rest is a change, too */
}

TEST(a_hangup_may_name_another_rest)
{
    struct fixture *f = *state;

    ok(f, "set desk rest=1000");
    numbers(f, 1);
    ok(f, "call desk");
    ok(f, "hangup desk n1 rest=0");
    assert_int_equal(f->r.of.number.until_ms, 0);
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n1 rest=5");
    f->now += 5;
    assert_given(f, "desk", "n1");
}

TEST(an_expired_hold_rests_from_its_deadline_on)
{
    struct fixture *f = *state;
    uint64_t v;

    ok(f, "set desk rest=1000");
    numbers(f, 1);
    ok(f, "call desk lease=100");
    v = f->r.version;
    f->now += 600; /* noticed 500 ms late */
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, f->now + 500);
    assert_int_equal(f->r.version, v + 1);
    f->now += 500;
    assert_given(f, "desk lease=100", "n1");
    v = f->r.version;
    f->now += 5000; /* hold and rest are both over: two expiries and a call */
    ok(f, "show desk n1");
    assert_false(f->r.of.number.rows[0].resting);
    assert_given(f, "desk", "n1");
    assert_int_equal(f->r.version, v + 3);
}

TEST(calls_of_a_number_begin_with_a_gap)
{
    struct fixture *f = *state;

    ok(f, "set desk gap=1000 rest=10");
    assert_int_equal(f->r.of.number.of.settings.gap_ms, 1000);
    numbers(f, 1);
    ok(f, "call desk");
    empty(f, "call desk"); /* it may last for ever */
    assert_int_equal(f->r.of.number.next_ms, -1);
    f->now += 300;
    ok(f, "hangup desk n1 rest=0");
    assert_int_equal(f->r.of.number.until_ms, f->now + 700);
    empty_at(f, "desk", f->now + 700);
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    f->now += 700;
    ok(f, "call desk lease=200");
    empty_at(f, "desk", f->now + 1000); /* longer than lease and rest */
    f->now += 1000;
    assert_given(f, "desk", "n1");
    f->now += 995;
    ok(f, "hangup desk n1"); /* the rest is longer than what is left of the gap */
    assert_int_equal(f->r.of.number.until_ms, f->now + 10);
    f->now += 10;
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    ok(f, "hangup desk n1 rest=0"); /* a second hangup ends the whole rest */
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    ok(f, "lift desk n1");
    ok(f, "call desk");
    f->now += 1000;
    ok(f, "hangup desk n1 rest=0"); /* the gap is over */
    assert_int_equal(f->r.of.number.until_ms, 0);
}

TEST(closed_pool_gives_no_number_to_a_new_call)
{
    struct fixture *f = *state;
    uint64_t anns;

    numbers(f, 3);
    ok(f, "call desk owner=ann req=r1");
    anns = f->r.of.number.token;
    ok(f, "set desk mode=closed");
    same(f, "set desk mode=closed");
    empty(f, "call desk owner=bob");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CLOSED);
    assert_int_equal(f->r.of.number.next_ms, -1);
    empty(f, "call desk");
    empty(f, "call desk owner=bob group=x,* sticky=eve");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CLOSED);
    refused(f, "call desk number=n2 owner=bob");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CLOSED);
    assert_int_equal(f->r.of.number.next_ms, -1);
    refused(f, "call desk number=n1 owner=bob"); /* which is busy */
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CLOSED);
    missing(f, "call desk number=n9");
    /* a holder has its number, and the call goes on */
    same(f, "call desk owner=ann");
    same(f, "call desk owner=ann number=n1");
    assert_int_equal(f->r.of.number.token, anns);
    ok(f, "call desk owner=ann req=r1");
    assert_true(f->r.repeated);
    ok(f, "renew desk n1 token=%" PRIu64 " lease=1000", anns);
    f->now += 1000; /* the lease ends */
    empty(f, "call desk owner=ann");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.mode, USHER_SCOPE_MODE_CLOSED);
    assert_int_equal(f->r.of.number.of.stats.refused_today, 6);
    ok(f, "set desk mode=stopped daily=1");
    ok(f, "add desk n8");
    ok(f, "reg desk n8");
    empty(f, "call desk owner=ann");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_STOPPED);
    ok(f, "set desk mode=open");
    ok(f, "call desk owner=ann");
    assert_string_equal(f->r.of.number.number, "n2");
}

TEST(reason_of_a_closed_pool_is_in_its_figures)
{
    struct fixture *f = *state;

    ok(f, "set desk mode=closed reason=no-lines");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.n_rows, 1);
    assert_memory_equal(f->r.of.number.rows[0].owner.data, "no-lines", 8);
    same(f, "set desk reason=no-lines");
    assert_int_equal(f->r.of.number.n_rows, 1);
    ok(f, "set desk mode=open");
    assert_int_equal(f->r.of.number.n_rows, 0);
    ok(f, "set desk reason=x");
    ok(f, "drop desk");
    missing(f, "stats desk");
    ok(f, "set desk rest=0");
    assert_int_equal(f->r.of.number.n_rows, 0);
}

TEST(a_hold_ends_however_often_it_is_renewed)
{
    struct fixture *f = *state;
    int64_t began = f->now;
    uint64_t bobs;

    ok(f, "set desk lease=0 lease-max=1000");
    assert_int_equal(f->r.of.number.of.settings.lease_max_ms, 1000);
    numbers(f, 3);
    ok(f, "call desk number=n1 owner=ann node=pbx"); /* not until hangup, even without a lease */
    assert_int_equal(f->r.of.number.until_ms, began + 1000);
    ok(f, "call desk number=n2 owner=bob node=pbx lease=400");
    assert_int_equal(f->r.of.number.until_ms, began + 400);
    bobs = f->r.of.number.token;
    f->now += 300;
    ok(f, "renew desk n2 token=%" PRIu64, bobs);
    assert_int_equal(f->r.of.number.until_ms, began + 700);
    ok(f, "renew desk n2 lease=0 token=%" PRIu64, bobs);
    assert_int_equal(f->r.of.number.until_ms, began + 1000);
    ok(f, "renew desk n2 lease=5000 token=%" PRIu64, bobs); /* no longer, and the answer has that */
    assert_int_equal(f->r.of.number.until_ms, began + 1000);
    same(f, "renew desk node=pbx"); /* nor what its machine has forgotten */
    f->now = began + 1000;
    ok(f, "call desk owner=eve number=n1");
    refused(f, "renew desk n2 owner=bob token=%" PRIu64, bobs); /* it was not lost, it ended */
}

/* A limit reaches the holds that are there, and ends none before an older one. */
TEST(a_longest_hold_that_is_set_reaches_all_holds)
{
    struct fixture *f = *state;
    int64_t began = f->now;
    uint64_t dans;

    ok(f, "set desk rest=50");
    numbers(f, 4);
    ok(f, "call desk owner=ann number=n1");
    f->now = began + 100;
    ok(f, "call desk owner=bob number=n2 lease=100000");
    f->now = began + 200;
    ok(f, "call desk owner=cid number=n3 lease=500");
    ok(f, "set desk lease-max=2000");
    assert_int_equal(f->r.due_ms, began + 700);
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].until_ms, began + 2000);
    ok(f, "show desk n2");
    assert_int_equal(f->r.of.number.rows[0].until_ms, began + 2100);
    ok(f, "show desk n3");
    assert_int_equal(f->r.of.number.rows[0].until_ms, began + 700);
    /* what has lasted too long ends at once, and then it rests */
    f->now = began + 650;
    ok(f, "set desk lease-max=600");
    assert_int_equal(f->r.version, 2 + 8 + 3 + 2);
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 50);
    ok(f, "show desk n2");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_int_equal(f->r.of.number.rows[0].until_ms, began + 700);
    ok(f, "unreg desk n4");
    empty_at(f, "desk", f->now + 50);
    f->now = began + 720;
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.resting, 2); /* n2 and n3 */
    assert_int_equal(f->r.of.number.of.stats.busy_up, 0);
    /* a higher limit, or none, is that of the lease again */
    f->now = began + 1000;
    ok(f, "set desk lease-max=300");
    ok(f, "call desk owner=dan number=n1 lease=10000");
    dans = f->r.of.number.token;
    assert_int_equal(f->r.of.number.until_ms, f->now + 300);
    ok(f, "set desk lease-max=0");
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 10000);
    f->now += 5000;
    ok(f, "renew desk n1 token=%" PRIu64, dans);
    assert_int_equal(f->r.of.number.until_ms, f->now + 10000);
}

/* The lower limit is noticed on all paths: by owner, by number, of a node, in pages. */
TEST(a_hold_that_a_limit_ended_is_over_for_every_verb)
{
    struct fixture *f = *state;
    uint64_t token;

    numbers(f, 2);
    ok(f, "call desk owner=ann number=n1 node=pbx");
    token = f->r.of.number.token;
    ok(f, "set desk lease-max=1000");
    f->now += 999;
    same(f, "call desk owner=ann");
    assert_int_equal(f->r.of.number.until_ms, f->now + 1);
    f->now += 1;
    ok(f, "list desk owner=ann");
    assert_int_equal(f->r.of.number.n_rows, 0);
    same(f, "renew desk node=pbx");
    refused(f, "renew desk n1 token=%" PRIu64, token);
    refused(f, "hangup desk n1");
    ok(f, "call desk owner=ann");
    assert_int_equal(f->r.of.number.until_ms, f->now + 1000);
}

TEST(many_holds_that_a_limit_ends_hide_no_number)
{
    struct fixture *f = *state;

    for (int i = 0; i < 70; i++) {
        ok(f, "add desk a%02d group=a", i);
        ok(f, "reg desk a%02d", i);
        ok(f, "call desk");
        f->now++;
    }
    ok(f, "add desk b1 group=b");
    ok(f, "reg desk b1");
    ok(f, "call desk group=b");
    ok(f, "set desk lease-max=1000");
    empty(f, "call desk group=b");
    assert_true(f->r.of.number.next_ms <= f->now + 1000 && f->r.of.number.next_ms > f->now);
    f->now += 1000;
    assert_given(f, "desk group=b", "b1");
}

/* A shorter rest or gap frees at once; a longer one reaches numbers that are idle. */
TEST(rests_follow_the_present_settings)
{
    struct fixture *f = *state;
    int64_t began = f->now;
    uint64_t v;

    ok(f, "set desk rest=10000 log=100");
    numbers(f, 3);
    ok(f, "call desk number=n1");
    ok(f, "hangup desk n1");
    ok(f, "call desk number=n2");
    ok(f, "hangup desk n2 rest=500"); /* its own rest */
    ok(f, "call desk number=n3");
    f->now += 100;
    empty_at(f, "desk", began + 500);
    ok(f, "set desk rest=50");
    v = f->r.version;
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.resting, 1);
    ok(f, "changes desk since=%" PRIu64, v - 1);
    assert_int_equal(f->r.of.number.n_rows, 1); /* no notice of a number */
    assert_given(f, "desk", "n1");
    assert_int_equal(f->r.version, v + 1);
    ok(f, "hangup desk n1");
    f->now += 60;
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n1 rest=0");
    /* the longer rest is for calls that ended by the pool's */
    ok(f, "hangup desk n3");
    f->now += 60;
    ok(f, "sweep desk");
    ok(f, "set desk rest=1000");
    ok(f, "show desk n3");
    assert_true(f->r.of.number.rows[0].resting);
    assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 940);
    ok(f, "show desk n1");
    assert_false(f->r.of.number.rows[0].resting);
    /* a gap is for all of them */
    ok(f, "set desk rest=0 gap=700");
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].until_ms, began + 160 + 700);
    ok(f, "show desk n3");
    assert_int_equal(f->r.of.number.rows[0].until_ms, began + 700);
    empty_at(f, "desk", began + 700);
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    ok(f, "lift desk n3"); /* and what was lifted, no setting brings back */
    ok(f, "set desk gap=5000");
    ok(f, "show desk n3");
    assert_false(f->r.of.number.rows[0].resting);
    assert_given(f, "desk", "n3");
    ok(f, "set desk gap=0");
    assert_given(f, "desk", "n1");
}

/* More numbers than one command judges: a call goes on until it is true, and `stats` says `more`.
 */
TEST(a_shorter_gap_frees_one_of_many_at_once)
{
    struct fixture *f = *state;
    enum { N = 300 };
    uint64_t v;

    if (under_test.drivers != NULL) /* a store whose every step is a walk over all there is */
        return;
    numbers(f, N);
    for (int i = 1; i <= N; i++) {
        ok(f, "call desk number=n%d", i);
        ok(f, "hangup desk n%d rest=%d", i, i < N ? 2000000 : 0);
    }
    ok(f, "set desk gap=3000000"); /* it reaches the one that is idle, and all that rest */
    ok(f, "stats desk");
    v = f->r.version;
    assert_true(f->r.of.number.more);
    empty_at(f, "desk", f->now + 3000000);
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    ok(f, "stats desk");
    assert_false(f->r.of.number.more);
    assert_int_equal(f->r.of.number.of.stats.resting, N);
    ok(f, "set desk gap=0"); /* the last of them has no rest of its own */
    assert_given(f, "desk", "n300");
    assert_int_equal(f->r.version, v + 2);
    empty_at(f, "desk", f->now + 2000000);
}

/* One that is not registered rests as well. */
TEST(longer_rest_applies_to_unregistered_numbers)
{
    struct fixture *f = *state;

    numbers(f, 1);
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    ok(f, "unreg desk n1");
    ok(f, "set desk rest=1000");
    f->now += 100;
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].until_ms, f->now + 900);
    ok(f, "reg desk n1");
    empty_at(f, "desk", f->now + 900);
    f->now += 900;
    assert_given(f, "desk", "n1");
}

TEST(rest_continues_while_unregistered)
{
    struct fixture *f = *state;

    ok(f, "set desk rest=1000");
    numbers(f, 1);
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    ok(f, "unreg desk n1");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.resting, 0); /* of those that are up */
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_DOWN);
    refused(f, "call desk number=n1");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_DOWN);
    f->now += 400;
    ok(f, "reg desk n1");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, f->now + 600);
    f->now += 600;
    assert_given(f, "desk", "n1");
}

/* ---- N9: daily cap ----------------------------------------------------------------- */

TEST(a_number_has_a_limit_of_calls_a_local_day)
{
    struct fixture *f = *state;
    /* Beijing: 10:00 UTC is 18:00, midnight is at 16:00 UTC */
    int64_t midnight = MORNING + 6 * HOUR;

    ok(f, "set desk daily=2 zone=480");
    numbers(f, 2);
    for (int i = 0; i < 4; i++) {
        const char *n = given(f, "desk");

        ok(f, "hangup desk %s", n);
        f->now += 1000;
    }
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 2);
    assert_true(f->r.of.number.rows[0].capped);
    assert_false(f->r.of.number.rows[0].resting);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.calls_today, 4);
    assert_int_equal(f->r.of.number.of.stats.capped, 2);
    assert_int_equal(f->r.of.number.of.stats.resting, 0);
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    assert_int_equal(f->r.of.number.next_ms, midnight);
    refused(f, "call desk number=n2");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    assert_int_equal(f->r.of.number.next_ms, midnight);
    f->now = midnight - 1;
    empty(f, "call desk");
    f->now = midnight;
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 0);
    assert_false(f->r.of.number.rows[0].capped);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 0);
    assert_given(f, "desk", "n1");
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 1);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.calls_today, 1);
}

TEST(a_call_over_midnight_counts_for_the_day_it_began)
{
    struct fixture *f = *state;
    int64_t midnight = MORNING + 14 * HOUR;

    ok(f, "set desk daily=1");
    numbers(f, 1);
    f->now = midnight - 1;
    ok(f, "call desk");
    f->now = midnight + 1;
    ok(f, "hangup desk n1");
    assert_int_equal(f->r.of.number.until_ms, 0); /* it has had none today */
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n1");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.next_ms, midnight + DAY);
}

TEST(a_number_over_a_lowered_cap_is_not_offered)
{
    struct fixture *f = *state;
    int64_t midnight = MORNING + 14 * HOUR;
    uint64_t v;

    numbers(f, 2);
    assert_given(f, "desk number=n1", "n1");
    ok(f, "hangup desk n1");
    ok(f, "call desk number=n2");
    ok(f, "hangup desk n2");
    ok(f, "set desk daily=1"); /* both are idle and have had it */
    v = f->r.version;
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 2);
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    assert_int_equal(f->r.of.number.next_ms, midnight);
    assert_int_equal(f->r.version, v); /* that is judged, and no change of either */
    f->now = midnight;
    assert_given(f, "desk number=n1", "n1");
    ok(f, "hangup desk n1");
    v = f->r.version;
    refused(f, "call desk number=n1");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    assert_int_equal(f->r.version, v);
    assert_given(f, "desk", "n2");
}

TEST(no_command_caps_all_numbers_over_a_lowered_cap)
{
    struct fixture *f = *state;
    uint64_t v;
    enum { N = 2300 };

    if (under_test.drivers != NULL) /* a store whose every step is a walk over all there is */
        return;
    numbers(f, N);
    for (int i = 0; i < N; i++) {
        (void)given(f, "desk");
        ok(f, "hangup desk n%d", i + 1);
    }
    ok(f, "set desk daily=1");
    v = f->r.version;
    execute_at_store(f, "call desk");
    assert_int_equal(f->r.status, USHER_REFUSED);
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_DUE);
    assert_int_equal(f->r.version, v);
    execute_at_store(f, "stats desk");
    assert_true(f->r.of.number.more); /* it is not known yet how many the cap keeps */
    assert_in_range(f->r.of.number.of.stats.capped, 200, 300);
    /* later commands of a batch wait for it, because the engine delays them */
    for (int k = 0; k < 2; k++) {
        static const char *const lines[3] = { "call desk", "stats desk", "call desk owner=a" };
        struct usher_operation c[3];
        struct usher_result r[3];
        struct said said[3];

        for (int i = 0; i < 3; i++) {
            said_line(&said[i], USHER_NUMBER, lines[i]);
            c[i] = said[i].c;
        }
        assert_int_equal(usher_operate(k == 0 ? f->e : f->twin, c, r, 3), USHER_OK);
        assert_int_equal(r[0].status, USHER_EMPTY);
        assert_int_equal(r[0].of.number.why, USHER_NUMBER_WHY_CAPPED);
        assert_int_equal(r[1].of.number.of.stats.capped, N);
        assert_int_equal(r[1].version, v);
        assert_int_equal(r[1].of.number.of.stats.refused_today, 1);
        assert_int_equal(r[2].status, USHER_EMPTY);
        for (int i = 0; i < 3; i++)
            usher_result_done(&r[i]);
    }
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, N);
}

TEST(a_cap_that_is_raised_or_lifted_frees_at_once)
{
    struct fixture *f = *state;

    ok(f, "set desk daily=1");
    numbers(f, 1);
    for (int cap = 2; cap < 5; cap++) {
        ok(f, "call desk");
        ok(f, "hangup desk n1");
        empty(f, "call desk");
        ok(f, "set desk daily=%d", cap);
    }
    ok(f, "call desk");
    ok(f, "hangup desk n1"); /* the fourth: as many as the cap */
    empty(f, "call desk");
    ok(f, "set desk daily=0");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 0);
    assert_given(f, "desk", "n1");
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 5); /* which is not forgotten */
    ok(f, "hangup desk n1");
    ok(f, "set desk daily=5");
    empty(f, "call desk");
    /* nor does a higher cap end a rest that has another reason */
    ok(f, "set desk daily=6 rest=1000");
    empty(f, "call desk");
    f->now += 1000;
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    ok(f, "set desk daily=0");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    f->now += 1000;
    assert_given(f, "desk", "n1");
}

TEST(a_higher_cap_frees_the_numbers_below_it)
{
    struct fixture *f = *state;

    numbers(f, 3);
    for (int i = 1; i <= 3; i++) /* n1 has one call, n3 three of them */
        for (int k = 0; k < i; k++) {
            ok(f, "call desk number=n%d", i);
            ok(f, "hangup desk n%d", i);
        }
    ok(f, "set desk daily=1");
    empty(f, "call desk");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 3);
    ok(f, "set desk daily=3");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 1);
    assert_given(f, "desk", "n1");
    assert_given(f, "desk", "n2");
    empty(f, "call desk");
    ok(f, "set desk zone=-1440"); /* it is yesterday, and the calls of today count */
    empty(f, "call desk");
    ok(f, "set desk zone=1440"); /* it is tomorrow */
    assert_given(f, "desk", "n3");
}

TEST(zone_change_frees_numbers_with_a_new_day)
{
    struct fixture *f = *state;

    ok(f, "set desk daily=1");
    numbers(f, 3);
    ok(f, "call desk number=n1");
    ok(f, "hangup desk n1");
    ok(f, "set desk zone=1440"); /* it is tomorrow */
    ok(f, "call desk number=n2");
    ok(f, "hangup desk n2");
    ok(f, "set desk zone=0"); /* n1 has had its call today, and n2 tomorrow: that counts, too */
    assert_given(f, "desk", "n3");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 2);
    f->now += 24 * HOUR;
    assert_given(f, "desk", "n1");
    empty(f, "call desk");
    f->now += 24 * HOUR;
    assert_given(f, "desk", "n2");
}

/* A zone to the west brings yesterday back.  If a call of today did not count then, the number
 * would be capped again from midnight on, ahead of the others. */
TEST(a_day_that_comes_twice_hides_no_number)
{
    struct fixture *f = *state;

    ok(f, "set desk daily=1");
    numbers(f, 1);
    ok(f, "call desk number=n1");
    ok(f, "set desk zone=-1440");
    ok(f, "hangup desk n1");
    ok(f, "add desk n2");
    ok(f, "reg desk n2");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 1);
    assert_int_equal(f->r.of.number.of.stats.calls_today, 1);
    f->now += 24 * HOUR;
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, 1);
    assert_given(f, "desk", "n2");
    ok(f, "hangup desk n2");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    f->now += 24 * HOUR;
    assert_given(f, "desk", "n1");
}

/* ---- N16: whatever stands in the way ----------------------------------------------- */

#define MANY 1000

/* n0000 to n0999, each with one call today, followed by the fresh ones in @last. */
static void a_thousand_used(struct fixture *f, const char *group, const char *const *last)
{
    for (int i = 0; i < MANY; i++) {
        ok(f, "add desk n%04d%s", i, group);
        ok(f, "reg desk n%04d", i);
    }
    for (int i = 0; i < MANY; i++) {
        ok(f, "call desk number=n%04d", i);
        ok(f, "hangup desk n%04d", i);
    }
    for (; *last != NULL; last++) {
        ok(f, "add desk %s", *last);
        ok(f, "reg desk %.1s", *last);
    }
}

TEST(fresh_number_is_found_after_1000_capped)
{
    static const char *const last[] = { "f", NULL };
    struct fixture *f = *state;
    uint64_t v;

    a_thousand_used(f, "", last);
    ok(f, "set desk daily=1");
    v = f->r.version;
    assert_given(f, "desk owner=ann", "f");
    assert_int_equal(f->r.version, v + 1);
    ok(f, "hangup desk f");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    assert_int_equal(f->r.of.number.next_ms, MORNING + 14 * HOUR);
    assert_int_equal(f->r.version, v + 2);
    ok(f, "add desk g");
    ok(f, "reg desk g");
    assert_given(f, "desk owner=ann", "g");
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.capped, MANY + 1);
    ok(f, "set desk daily=2"); /* all come back, in the end */
    for (int i = 0; i < MANY + 1; i++)
        ok(f, "call desk");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
}

/* As many as are not put back at once stand in front of it, and the cap keeps them. */
TEST(a_number_of_another_day_is_found_after_1000_capped)
{
    static const char *const last[] = { "f", NULL };
    struct fixture *f = *state;

    a_thousand_used(f, "", last);
    for (int i = 0; i < MANY; i++) { /* the second call of each */
        ok(f, "call desk number=n%04d", i);
        ok(f, "hangup desk n%04d", i);
    }
    ok(f, "set desk daily=1 zone=1440");
    ok(f, "call desk number=f"); /* tomorrow's */
    ok(f, "hangup desk f");
    ok(f, "set desk zone=0");
    empty(f, "call desk"); /* all have been put aside */
    ok(f, "set desk daily=2");
    assert_given(f, "desk owner=ann", "f");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
}

TEST(a_fresh_number_of_a_group_goes_before_those_of_others)
{
    static const char *const last[] = { "f group=a", "h group=b", NULL };
    struct fixture *f = *state;

    a_thousand_used(f, " group=a", last);
    ok(f, "set desk daily=1 order=most-recent");
    assert_given(f, "desk group=a,*", "f");
    empty(f, "call desk group=a");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    assert_int_equal(f->r.of.number.next_ms, MORNING + 14 * HOUR);
    assert_given(f, "desk group=a,*", "h");
}

TEST(due_holds_of_other_groups_hide_no_number)
{
    struct fixture *f = *state;

    for (int i = 0; i < 70; i++) {
        ok(f, "add desk a%02d group=a", i);
        ok(f, "reg desk a%02d", i);
        ok(f, "call desk lease=10");
    }
    ok(f, "add desk b1 group=b");
    ok(f, "reg desk b1");
    ok(f, "call desk lease=11");
    f->now += 1000;
    assert_given(f, "desk group=b,* lease=11", "b1"); /* and not one of the others */
    f->now += 1000;
    assert_given(f, "desk group=b", "b1");
}

/* Nothing of b gets free: they rest, or are not registered any more. */
TEST(next_free_is_right_when_expiries_free_no_number)
{
    struct fixture *f = *state;
    int64_t then;

    ok(f, "set desk rest=100000");
    for (int i = 0; i < 100; i++) {
        ok(f, "add desk a%02d group=a", i);
        ok(f, "reg desk a%02d", i);
        ok(f, "call desk lease=10");
    }
    for (int i = 0; i < 100; i++) {
        ok(f, "add desk b%02d group=b", i);
        ok(f, "reg desk b%02d", i);
        ok(f, "call desk lease=11");
        if (i < 99)
            ok(f, "unreg desk b%02d", i);
    }
    then = f->now + 11 + 100000;
    f->now += 1000;
    empty(f, "call desk group=b");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_true(f->r.of.number.next_ms > f->now);
    /* asked again then, and then again, it comes to the right one, and never after it */
    for (int i = 0; f->r.status == USHER_EMPTY; i++) {
        assert_true(i < 4);
        assert_true(f->r.of.number.next_ms > f->now || i == 0);
        assert_true(f->r.of.number.next_ms <= then);
        f->now = f->r.of.number.next_ms;
        execute_call(f, "desk group=b");
    }
    assert_string_equal(f->r.of.number.number, "b99");
    assert_int_equal(f->now, then);
}

TEST(next_is_the_first_of_rests_holds_and_midnight)
{
    struct fixture *f = *state;

    ok(f, "set desk rest=50 daily=1");
    numbers(f, 4);
    ok(f, "call desk number=n1");
    ok(f, "hangup desk n1 rest=0");
    empty_at(f, "desk group=none", -1); /* USHER_NUMBER_WHY_NO_NUMBER */
    ok(f, "call desk number=n2 lease=7000");
    ok(f, "call desk number=n3");
    ok(f, "call desk number=n4");
    /* n2 will have had its call then, as n1 has: only the day's end frees one */
    empty_at(f, "desk", MORNING + 14 * HOUR);
    ok(f, "set desk daily=0");
    ok(f, "call desk number=n1 lease=9000");
    empty_at(f, "desk", f->now + 7050); /* and it rests after the hold */
    ok(f, "hangup desk n3 rest=7020");
    empty_at(f, "desk", f->now + 7020);
    ok(f, "hangup desk n4 rest=20");
    empty_at(f, "desk", f->now + 20);
}

/* ---- N17: ends of rests, calls that are remembered --------------------------------- */

TEST(a_rest_can_be_lifted_however_long_it_is)
{
    struct fixture *f = *state;

    missing(f, "lift desk n1");
    numbers(f, 2);
    same(f, "lift desk n1");
    ok(f, "call desk");
    same(f, "lift desk n1"); /* it ends no call */
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    ok(f, "hangup desk n1 rest=3153600000000");
    ok(f, "unreg desk n2");
    empty(f, "call desk");
    ok(f, "lift desk n1");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    assert_int_equal(f->r.of.number.until_ms, 0);
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n1 rest=1000");
    ok(f, "unreg desk n1");
    ok(f, "lift desk n1");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_DOWN);
    same(f, "lift desk n1");
    ok(f, "reg desk n1");
    assert_given(f, "desk", "n1");
}

TEST(a_lifted_rest_leaves_the_cap)
{
    struct fixture *f = *state;

    ok(f, "set desk daily=1");
    numbers(f, 1);
    ok(f, "call desk");
    ok(f, "hangup desk n1 rest=1000");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, MORNING + 14 * HOUR); /* for it is capped as well */
    ok(f, "lift desk n1");
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    same(f, "lift desk n1");
    ok(f, "set desk daily=0");
    assert_given(f, "desk", "n1");
}

TEST(a_second_hangup_with_no_rest_ends_the_rest)
{
    struct fixture *f = *state;
    uint64_t token;

    numbers(f, 1);
    ok(f, "call desk");
    token = f->r.of.number.token;
    ok(f, "hangup desk n1 token=%" PRIu64 " rest=3153600000000", token);
    refused(f, "hangup desk n1");
    refused(f, "hangup desk n1 token=%" PRIu64 " rest=5", token);
    stale(f, "hangup desk n1 token=%" PRIu64 " rest=0", token + 1);
    ok(f, "hangup desk n1 token=%" PRIu64 " rest=0", token);
    assert_int_equal(f->r.of.number.until_ms, 0);
    refused(f, "hangup desk n1 token=%" PRIu64 " rest=0", token); /* it does not rest any more */
    assert_given(f, "desk", "n1");
    ok(f, "hangup desk n1 rest=1000");
    ok(f, "set desk strict=1");
    refused(f, "hangup desk n1 rest=0");
    ok(f, "unreg desk n1");
    refused(f, "hangup desk n1 rest=0");
    ok(f, "reg desk n1");
    ok(f, "set desk strict=0");
    ok(f, "hangup desk n1 rest=0");
    assert_given(f, "desk", "n1");
}

TEST(calls_of_the_day_survive_del_and_add)
{
    struct fixture *f = *state;

    ok(f, "set desk daily=2");
    numbers(f, 1);
    ok(f, "call desk");
    ok(f, "hangup desk n1");
    ok(f, "del desk n1");
    missing(f, "show desk n1");
    numbers(f, 1);
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 1);
    assert_int_equal(f->r.of.number.rows[0].used_ms, f->now);
    ok(f, "call desk");
    ok(f, "del desk n1"); /* in its call */
    numbers(f, 1);
    empty(f, "call desk");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    ok(f, "del desk n1");
    f->now = MORNING + 14 * HOUR; /* another day: that is forgotten */
    numbers(f, 1);
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 0);
    assert_int_equal(f->r.of.number.rows[0].used_ms, 0);
    ok(f, "call desk");
}

/* ---- N10, N11: groups and callees -------------------------------------------------- */

static void groups(struct fixture *f)
{
    ok(f, "add desk a1 group=a");
    ok(f, "add desk a2 group=a");
    ok(f, "add desk b1 group=b");
    ok(f, "add desk none");
    ok(f, "reg desk none");
    ok(f, "reg desk b1");
    ok(f, "reg desk a2");
    ok(f, "reg desk a1");
}

TEST(groups_are_tried_in_order)
{
    struct fixture *f = *state;

    groups(f);
    assert_given(f, "desk group=a,b,*", "a2"); /* in a group the pool's order decides */
    assert_given(f, "desk group=a,b,*", "a1");
    assert_given(f, "desk group=a,b,*", "b1");
    assert_given(f, "desk group=a,b,*", "none");
    empty(f, "call desk group=a,b,*");
    ok(f, "hangup desk none");
    empty(f, "call desk group=a,b");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    empty(f, "call desk group=c");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NO_NUMBER);
    ok(f, "hangup desk b1");
    assert_given(f, "desk group=c,b,a", "b1");
    assert_given(f, "desk group=*,a", "none");
}

TEST(a_number_that_moves_keeps_its_place)
{
    struct fixture *f = *state;
    uint64_t version;

    missing(f, "move desk a1 group=b");
    groups(f); /* none, b1, a2, a1: in this order they became idle */
    missing(f, "move desk nowhere group=b");
    same(f, "move desk a1 group=a");
    same(f, "move desk none");
    version = f->r.version;
    ok(f, "move desk a2 group=c req=r");
    assert_int_equal(f->r.version, version + 1);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    ok(f, "move desk a2 group=c req=r");
    assert_true(f->r.repeated && f->r.version == version + 1);
    same(f, "move desk a2 group=c");
    ok(f, "move desk none group=c if-version=%u", (unsigned)version + 1);
    assert_given(f, "desk group=c", "none"); /* idle for longer */
    assert_given(f, "desk group=c", "a2");
    empty(f, "call desk group=c");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    ok(f, "move desk a2");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    ok(f, "move desk none group=a");
    empty(f, "call desk group=c");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NO_NUMBER);
    ok(f, "show desk a2");
    assert_int_equal(f->r.of.number.rows[0].group.size, 0);
    assert_given(f, "desk group=b,a,*", "b1");
    assert_given(f, "desk group=b,a,*", "a1");
    ok(f, "hangup desk none");
    ok(f, "hangup desk a2");
    assert_given(f, "desk group=a", "none"); /* back from its call in its new group */
    empty(f, "call desk group=a");
    assert_given(f, "desk", "a2");
}

TEST(a_number_moves_with_its_rest_its_cap_and_its_callee)
{
    struct fixture *f = *state;

    ok(f, "set desk sticky=60000 daily=2 rest=1000");
    ok(f, "add desk n1 group=a");
    ok(f, "move desk n1 group=b"); /* not registered */
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_DOWN);
    ok(f, "reg desk n1");
    assert_given(f, "desk group=b sticky=zoe lease=500", "n1");
    ok(f, "move desk n1 group=c");
    f->now += 600; /* the hold is over, and its rest is not */
    empty(f, "call desk group=c");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    ok(f, "move desk n1 group=d");
    empty(f, "call desk group=c");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NO_NUMBER);
    empty(f, "call desk group=d");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, f->now + 900);
    f->now += 900;
    empty(f, "call desk group=b,c sticky=zoe"); /* remembered, but not of these groups */
    assert_given(f, "desk group=d sticky=zoe", "n1");
    ok(f, "hangup desk n1 rest=0");
    empty(f, "call desk group=d");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    ok(f, "move desk n1 group=a"); /* aside, and it stays so */
    empty(f, "call desk group=a");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_CAPPED);
    ok(f, "set desk daily=0");
    assert_given(f, "desk group=a", "n1");
}

TEST(group_without_a_free_number_reports_why)
{
    struct fixture *f = *state;

    groups(f);
    ok(f, "unreg desk b1");
    ok(f, "call desk number=a1 lease=500");
    ok(f, "call desk number=a2 lease=300");
    empty(f, "call desk group=b");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_DOWN);
    assert_int_equal(f->r.of.number.next_ms, -1);
    empty(f, "call desk group=b,a");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    assert_int_equal(f->r.of.number.next_ms, f->now + 300);
    ok(f, "set desk rest=1000");
    empty(f, "call desk group=a");
    assert_int_equal(f->r.of.number.next_ms, f->now + 1300); /* and rests */
    f->now += 400;
    empty(f, "call desk group=a");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_BUSY);
    ok(f, "hangup desk a1");
    empty(f, "call desk group=a,b,c");
    assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_RESTING);
    assert_int_equal(f->r.of.number.next_ms, f->now + 900);
}

TEST(callee_gets_the_number_of_its_last_call)
{
    struct fixture *f = *state;

    numbers(f, 3);
    assert_given(f, "desk sticky=+49301234", "n1");
    ok(f, "hangup desk n1");
    assert_given(f, "desk sticky=other", "n2");
    ok(f, "hangup desk n2");
    assert_given(f, "desk sticky=+49301234", "n1"); /* though n3 is idle for longer */
    assert_given(f, "desk sticky=+49301234", "n3"); /* it is busy: as usual, and remembered */
    ok(f, "hangup desk n1");
    ok(f, "hangup desk n3");
    assert_given(f, "desk sticky=+49301234", "n3");
    /* one that was asked for is remembered, too */
    ok(f, "call desk number=n1 sticky=other");
    ok(f, "hangup desk n1");
    assert_given(f, "desk sticky=other", "n1");
    ok(f, "hangup desk n1");
    ok(f, "unreg desk n1");
    assert_given(f, "desk sticky=other", "n2");
}

TEST(a_known_number_must_be_of_a_group_asked_for)
{
    struct fixture *f = *state;

    groups(f);
    ok(f, "call desk number=b1 sticky=p");
    ok(f, "hangup desk b1");
    assert_given(f, "desk sticky=p group=a", "a2");
    ok(f, "hangup desk a2");
    assert_given(f, "desk sticky=p group=b,a", "a2");
    ok(f, "hangup desk a2");
    assert_given(f, "desk sticky=p group=b,*", "a2");
}

TEST(a_known_number_may_be_capped_resting_or_gone)
{
    struct fixture *f = *state;

    numbers(f, 3);
    ok(f, "call desk number=n3 sticky=p");
    ok(f, "hangup desk n3 rest=100");
    assert_given(f, "desk sticky=p", "n1");
    ok(f, "hangup desk n1");
    ok(f, "set desk daily=1");
    assert_given(f, "desk sticky=p", "n2"); /* n1 has had its call, and is passed over */
    ok(f, "show desk n1");
    assert_false(f->r.of.number.rows[0].resting);
    ok(f, "del desk n2");
    ok(f, "set desk daily=0");
    assert_given(f, "desk sticky=p", "n1");
}

TEST(callees_are_remembered_for_a_time)
{
    struct fixture *f = *state;

    ok(f, "set desk sticky=1000");
    numbers(f, 3);
    ok(f, "call desk number=n3 sticky=p");
    ok(f, "hangup desk n3");
    f->now += 999;
    assert_given(f, "desk sticky=p", "n3"); /* and remembered again */
    ok(f, "hangup desk n3");
    f->now += 1000;
    assert_given(f, "desk sticky=p", "n1");
    ok(f, "set desk sticky=0"); /* not at all */
    ok(f, "hangup desk n1");
    ok(f, "call desk number=n1 sticky=q");
    ok(f, "hangup desk n1");
    assert_given(f, "desk sticky=q", "n2");
}

TEST(at_most_sticky_max_callees_are_remembered)
{
    struct fixture *f = *state;

    ok(f, "set desk sticky-max=2");
    numbers(f, 4);
    for (unsigned i = 1; i <= 3; i++) { /* p1 is forgotten for p3 */
        ok(f, "call desk number=n%u sticky=p%u", i, i);
        ok(f, "hangup desk n%u", i);
    }
    assert_given(f, "desk sticky=p3", "n3");
    assert_given(f, "desk sticky=p2", "n2");
    assert_given(f, "desk sticky=p1", "n4");
    ok(f, "set desk sticky-max=0");
    ok(f, "hangup desk n4");
    ok(f, "hangup desk n2");
    assert_given(f, "desk sticky=new", "n1");
    ok(f, "hangup desk n1");
    assert_given(f, "desk sticky=new", "n4"); /* nothing new is remembered */
}

/* ---- N12, N13: exhaustion and statistics ------------------------------------------- */

TEST(an_empty_pool_says_why_and_until_when)
{
    struct fixture *f = *state;
    const struct usher_number_result *n = &f->r.of.number;

    ok(f, "set desk lease=0");
    empty(f, "call desk");
    assert_int_equal(n->why, USHER_NUMBER_WHY_NO_NUMBER);
    assert_int_equal(n->next_ms, -1);
    ok(f, "add desk n1");
    empty(f, "call desk");
    assert_int_equal(n->why, USHER_NUMBER_WHY_DOWN);
    assert_int_equal(n->next_ms, -1);
    ok(f, "reg desk n1");
    ok(f, "call desk");
    empty(f, "call desk");
    assert_int_equal(n->why, USHER_NUMBER_WHY_BUSY);
    assert_int_equal(n->next_ms, -1); /* until hangup: unknown */
    ok(f, "unreg desk n1");
    empty(f, "call desk");
    assert_int_equal(n->why, USHER_NUMBER_WHY_DOWN); /* busy, but does not come back */
    ok(f, "add desk n2");
    ok(f, "reg desk n2");
    ok(f, "call desk number=n2 lease=700");
    ok(f, "add desk n3");
    ok(f, "reg desk n3");
    ok(f, "call desk number=n3");
    ok(f, "hangup desk n3 rest=400");
    empty(f, "call desk");
    assert_int_equal(n->why, USHER_NUMBER_WHY_BUSY);
    assert_int_equal(n->next_ms, f->now + 400); /* the rest ends before the hold */
    ok(f, "unreg desk n3");
    empty(f, "call desk");
    assert_int_equal(n->next_ms, f->now + 700);
    ok(f, "free desk number=n2");
    assert_given(f, "desk", "n2");
}

TEST(statistics_count_calls_and_refusals_of_today)
{
    struct fixture *f = *state;
    const struct usher_number_result_statistics *s = &f->r.of.number.of.stats;
    int64_t midnight = MORNING + 14 * HOUR;

    numbers(f, 2);
    ok(f, "call desk owner=ann");
    same(f, "call desk owner=ann"); /* no call of its own */
    f->now += 5000;
    ok(f, "call desk owner=bob");
    empty(f, "call desk owner=cy");
    empty(f, "call desk group=x");
    refused(f, "call desk number=n1 owner=cy");
    missing(f, "call desk number=n9");
    ok(f, "stats desk");
    assert_int_equal(s->total, 2);
    assert_int_equal(s->busy_up, 2);
    assert_int_equal(s->calls_today, 2);
    assert_int_equal(s->refused_today, 3);
    assert_int_equal(s->longest_hold_ms, 5000);
    ok(f, "hangup desk n1");
    ok(f, "stats desk");
    assert_int_equal(s->longest_hold_ms, 0);
    ok(f, "show desk n1");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 1);
    assert_int_equal(f->r.of.number.rows[0].used_ms, MORNING);
    f->now = midnight - 1;
    ok(f, "stats desk");
    assert_int_equal(s->calls_today, 2);
    assert_int_equal(s->refused_today, 3);
    f->now = midnight;
    ok(f, "stats desk");
    assert_int_equal(s->calls_today, 0);
    assert_int_equal(s->refused_today, 0);
    empty(f, "call desk group=x");
    ok(f, "call desk owner=cy");
    ok(f, "stats desk");
    assert_int_equal(s->calls_today, 1);
    assert_int_equal(s->refused_today, 1);
    ok(f, "show desk n2");
    assert_int_equal(f->r.of.number.rows[0].calls_today, 0); /* that was yesterday */
    assert_int_equal(f->r.of.number.rows[0].used_ms, MORNING + 5000);
}

static void assert_totals(struct fixture *f, int64_t calls, int64_t refusals, int64_t hangups,
                          int64_t expired, int64_t freed)
{
    const struct usher_number_result_statistics *s = &f->r.of.number.of.stats;

    ok(f, "stats desk");
    assert_int_equal(s->calls_total, calls);
    assert_int_equal(s->refused_total, refusals);
    assert_int_equal(s->hangups_total, hangups);
    assert_int_equal(s->expired_total, expired);
    assert_int_equal(s->freed_total, freed);
}

TEST(statistics_count_over_the_life_of_a_pool)
{
    struct fixture *f = *state;
    const struct usher_number_result_statistics *s = &f->r.of.number.of.stats;

    numbers(f, 4);
    assert_totals(f, 0, 0, 0, 0, 0);
    ok(f, "call desk owner=ann");
    same(f, "call desk owner=ann");
    empty(f, "call desk group=x");
    ok(f, "hangup desk n1");
    refused(f, "hangup desk n1");
    assert_totals(f, 1, 1, 1, 0, 0);
    ok(f, "call desk owner=bob lease=1000");
    f->now += 1000;
    assert_totals(f, 2, 1, 1, 1, 0); /* no command has ended it yet */
    ok(f, "sweep desk");
    assert_totals(f, 2, 1, 1, 1, 0);
    ok(f, "set desk lease-max=5000");
    ok(f, "call desk owner=cy");
    f->now += 5000;
    assert_totals(f, 3, 1, 1, 2, 0);
    ok(f, "set desk lease-max=0 zone=-480");
    assert_totals(f, 3, 1, 1, 2, 0);
    ok(f, "call desk owner=di");
    ok(f, "call desk number=n1 owner=ed");
    ok(f, "free desk owner=di");
    ok(f, "unreg desk n1");
    ok(f, "del desk n1");
    ok(f, "del desk n2");
    assert_totals(f, 5, 1, 1, 2, 2);
    f->now += 24 * HOUR;
    assert_totals(f, 5, 1, 1, 2, 2);
    assert_int_equal(s->calls_today, 0);
    assert_int_equal(s->refused_today, 0);
    ok(f, "call desk owner=flo");
    ok(f, "hangup desk n3");
    ok(f, "call desk owner=gus");
    empty(f, "call desk group=x");
    assert_totals(f, 7, 2, 2, 2, 2);
    assert_int_equal(s->calls_today, 2);
    assert_int_equal(s->refused_today, 1);
}

/* An outage moves the ends of two leases, before a command has written that. */
TEST(statistics_do_not_count_leases_that_an_outage_moves)
{
    struct fixture *f = *state;

    numbers(f, 2);
    ok(f, "set desk outage=10000");
    ok(f, "call desk owner=ann lease=1000");
    ok(f, "call desk owner=bob lease=2000");
    f->now += 9000;
    assert_totals(f, 2, 0, 0, 0, 0);
    ok(f, "hangup desk n1");
    assert_totals(f, 2, 0, 1, 0, 0);
    f->now += 10000;
    assert_totals(f, 2, 0, 1, 1, 0);
}

/* ---- lists ------------------------------------------------------------------------- */

TEST(lists_come_in_byte_order_and_in_pages)
{
    struct fixture *f = *state;
    const struct usher_number_result *r = &f->r.of.number;
    static const char *const names[] = {
        "+1", "+10", "+2", "A", "a", "aa", "b", "\xc3\xa9", "\xe5\x8f\xb7", "\xf0\x9f\x93\x9e"
    };
    enum { N = sizeof names / sizeof *names };

    for (size_t i = 0; i < N; i++)
        ok(f, "add desk %s", names[(i * 7 + 3) % N]);
    ok(f, "list desk");
    assert_int_equal(r->n_rows, N);
    assert_false(r->more);
    assert_string_equal(r->number, "");
    for (size_t i = 0; i < N; i++)
        assert_text(r->rows[i].number, names[i]);
    ok(f, "list desk max=4");
    assert_int_equal(r->n_rows, 4);
    assert_true(r->more);
    assert_string_equal(r->number, "A");
    ok(f, "list desk max=4 after=A");
    assert_int_equal(r->n_rows, 4);
    assert_text(r->rows[0].number, "a");
    assert_string_equal(r->number, names[7]);
    ok(f, "list desk max=4 after=%s", names[7]);
    assert_int_equal(r->n_rows, 2);
    assert_false(r->more);
    ok(f, "list desk after=+3"); /* which is not there */
    assert_int_equal(r->n_rows, N - 3);
    ok(f, "list desk after=%s", names[N - 1]);
    assert_int_equal(r->n_rows, 0);
    ok(f, "reg desk b");
    ok(f, "reg desk A");
    ok(f, "call desk number=b owner=ann");
    ok(f, "list desk state=busy+up");
    assert_int_equal(r->n_rows, 1);
    assert_text(r->rows[0].number, "b");
    assert_text(r->rows[0].owner, "ann");
    ok(f, "list desk state=idle+up");
    assert_int_equal(r->n_rows, 1);
    ok(f, "list desk state=busy+down");
    assert_int_equal(r->n_rows, 0);
    ok(f, "list desk state=idle+down owner=ann");
    assert_int_equal(r->n_rows, 0);
    ok(f, "list desk state=busy+up owner=ann");
    assert_int_equal(r->n_rows, 1);
}

/* Pages of any size add up to all of it. */
TEST(pages_neither_repeat_nor_leave_out)
{
    struct fixture *f = *state;
    enum { N = 150 };

    no_twin(f);
    for (unsigned i = 0; i < N; i++) {
        ok(f, "add desk n%u", i * 7919 % 1000);
        if (i % 3 == 0)
            ok(f, "reg desk n%u", i * 7919 % 1000);
    }
    for (unsigned max = 1; max <= 160; max = max * 3 + 1) {
        char after[USHER_NAME_MAX + 1] = "", last[USHER_NAME_MAX + 1] = "";
        unsigned n = 0, up = 0;
        bool more;

        do {
            ok(f, after[0] != '\0' ? "list desk max=%u after=%s" : "list desk max=%u%s", max,
               after);
            assert_true(f->r.of.number.n_rows <= max);
            for (size_t i = 0; i < f->r.of.number.n_rows; i++, n++) {
                const struct usher_text *number = &f->r.of.number.rows[i].number;

                char name[USHER_NAME_MAX + 1];

                (void)snprintf(name, sizeof name, "%.*s", (int)number->size, number->data);
                assert_true(strcmp(last, name) < 0);
                memcpy(last, name, sizeof last);
            }
            more = f->r.of.number.more;
            memcpy(after, f->r.of.number.number, sizeof after);
        } while (more);
        assert_int_equal(n, N);
        after[0] = '\0';
        do {
            ok(f,
               after[0] != '\0' ? "list desk state=idle+up max=%u after=%s"
                                : "list desk state=idle+up max=%u%s",
               max, after);
            up += (unsigned)f->r.of.number.n_rows;
            more = f->r.of.number.more;
            memcpy(after, f->r.of.number.number, sizeof after);
        } while (more);
        assert_int_equal(up, N / 3);
    }
}

/* ---- N14: many --------------------------------------------------------------------- */

TEST(many_numbers_in_one_call)
{
    struct fixture *f = *state;
    enum { N = 1000 };
    static char names[N][16];
    static const char *list[N];
    struct ask_number_bulk_counts counts;
    struct usher_number_result_statistics s;

    no_twin(f);
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "+4930%u", i);
        list[i] = names[i];
    }
    assert_int_equal(
        ask_number_bulk(f->e, USHER_NUMBER_ADD, "desk", list, N / 2, "berlin", &counts), USHER_OK);
    assert_int_equal(counts.ok, N / 2);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_ADD, "desk", list, N, NULL, &counts),
                     USHER_OK);
    assert_int_equal(counts.ok, N / 2);
    assert_int_equal(counts.same, N / 2);
    assert_int_equal(counts.other, 0);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_REG, "desk", list, N, NULL, NULL),
                     USHER_OK);
    assert_int_equal(ask_number_stats(f->e, "desk", &s), USHER_OK);
    assert_int_equal(s.total, N);
    assert_int_equal(s.idle_up, N);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_DEL, "desk", list, N / 4, NULL, &counts),
                     USHER_OK);
    assert_int_equal(counts.ok, N / 4);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_UNREG, "desk", list, N, NULL, &counts),
                     USHER_OK);
    assert_int_equal(counts.ok, N - N / 4);
    assert_int_equal(counts.other, N / 4);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_REG, "desk", list, 0, NULL, &counts),
                     USHER_OK);
    assert_int_equal(counts.ok + counts.same + counts.other, 0);
    list[3] = "a\nb";
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_ADD, "desk", list, 4, NULL, &counts),
                     USHER_INVALID);
    assert_non_null(strstr(usher_message(), "number"));
}

/* One command applies 64 expiries on its way; `sweep` and `free` make 64 changes. */
TEST(pending_expiries_are_applied_in_bounded_steps)
{
    struct fixture *f = *state;
    enum { N = 1100 };
    static char names[N][16];
    static const char *list[N];
    struct usher_operation *calls = calloc(N, sizeof *calls);
    struct usher_result *replies = calloc(N, sizeof *replies);
    uint64_t v, n;

    assert_non_null(calls);
    assert_non_null(replies);
    no_twin(f);
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%u", i);
        list[i] = names[i];
        calls[i].verb = USHER_NUMBER_CALL;
        calls[i].scope = text("desk");
        calls[i].given = USHER_GIVEN_LEASE;
        calls[i].arg.number.lease_ms = 1000;
    }
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_ADD, "desk", list, N, NULL, NULL),
                     USHER_OK);
    assert_int_equal(ask_number_bulk(f->e, USHER_NUMBER_REG, "desk", list, N, NULL, NULL),
                     USHER_OK);
    assert_int_equal(usher_operate(f->e, calls, replies, N), USHER_OK);
    v = replies[N - 1].version;
    assert_int_equal(replies[N - 1].status, USHER_OK);
    f->now += 1000;
    /* reads change nothing, and look at one page */
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.idle_up, USHER_PAGE_MAX);
    assert_int_equal(f->r.of.number.of.stats.busy_up, N - USHER_PAGE_MAX);
    assert_int_equal(f->r.of.number.of.stats.longest_hold_ms, 1000);
    assert_true(f->r.of.number.more);
    assert_int_equal(f->r.version, v);
    same(f, "reg desk n0");
    assert_int_equal(f->r.version, v + 64);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.idle_up, 64 + USHER_PAGE_MAX);
    /* the number in question is brought up to date however many wait before it */
    refused(f, "hangup desk n%d", N - 1);
    assert_int_equal(f->r.version, v + 129);
    ok(f, "sweep desk max=10");
    assert_int_equal(f->r.of.number.count, 10);
    assert_true(f->r.of.number.more);
    for (unsigned left = N - 139; left > 0; left -= (unsigned)f->r.of.number.count) {
        ok(f, "sweep desk");
        assert_int_equal(f->r.of.number.count, left < 64 ? left : 64);
        assert_true(f->r.of.number.more == (left > 64));
    }
    same(f, "sweep desk");
    assert_int_equal(f->r.of.number.count, 0);
    /* free: the same */
    assert_int_equal(usher_operate(f->e, calls, replies, N), USHER_OK);
    for (unsigned left = N; left > 64; left -= 64) {
        ok(f, "free desk all=1");
        assert_int_equal(f->r.of.number.count, 64);
        assert_true(f->r.of.number.more);
    }
    ok(f, "free desk all=1");
    assert_int_equal(f->r.of.number.count, N % 64);
    assert_false(f->r.of.number.more);
    /* the typed functions go on until all is done */
    assert_int_equal(usher_operate(f->e, calls, replies, N), USHER_OK);
    assert_int_equal(ask_number_free_all(f->e, "desk", &n), USHER_OK);
    assert_int_equal(n, N);
    assert_int_equal(usher_operate(f->e, calls, replies, N), USHER_OK);
    f->now += 1000;
    assert_int_equal(ask_number_sweep(f->e, "desk", &n), USHER_OK);
    assert_int_equal(n, N);
    assert_int_equal(ask_number_sweep(f->e, "desk", &n), USHER_SAME);
    free(calls);
    free(replies);
}

TEST(reads_of_a_batch_of_calls_wait_for_their_turn)
{
    static const char *const lines[] = { "call desk lease=0", "stats desk",           "list desk",
                                         "show desk n1",      "changes desk since=0", "set desk" };
    struct fixture *f = *state;

    no_twin(f);
    ok(f, "set desk log=1000");
    numbers(f, 150);
    for (int i = 0; i < 150; i++)
        ok(f, "call desk lease=1000");
    f->now += 1000;
    in_order(f->e, USHER_NUMBER, lines, sizeof lines / sizeof *lines);
}

TEST(commands_of_a_call_share_one_portion_of_expiries)
{
    struct fixture *f = *state;
    enum { N = 500 };
    uint64_t v;

    if (under_test.drivers != NULL)
        return;
    numbers(f, N);
    for (int i = 0; i < N; i++)
        ok(f, "call desk lease=1000");
    v = f->r.version;
    f->now += 1000;
    in_portions(f, "call desk owner=o%u", 256, USHER_OK, 64, 1);
    same(f, "sweep desk");
    assert_int_equal(f->r.version, v + N + 256);
}

/* ---- N15: notices ------------------------------------------------------------------ */

struct heard {
    struct usher_engine *e;
    unsigned n;
    struct usher_notice last;
    char scope[64], subject[64], owner[64];
    uint64_t version; /* of the last one; each must be the next */
    bool gap;
    bool calls_back;
};

static void hear(void *payload, const struct usher_notice *notice)
{
    struct heard *h = payload;

    if (h->version != 0 && notice->version != h->version + 1)
        h->gap = true;
    h->version = notice->version;
    h->n++;
    h->last = *notice;
    (void)snprintf(h->scope, sizeof h->scope, "%.*s", (int)notice->scope.size, notice->scope.data);
    (void)snprintf(h->subject, sizeof h->subject, "%.*s", (int)notice->subject.size,
                   notice->subject.data != NULL ? notice->subject.data : "");
    (void)snprintf(h->owner, sizeof h->owner, "%.*s", (int)notice->owner.size,
                   notice->owner.data != NULL ? notice->owner.data : "");
    if (h->calls_back) {
        h->calls_back = false;
        (void)ask_number_reg(h->e, "desk", "n2");
    }
}

static void assert_heard(struct fixture *f, const struct heard *h, unsigned n, const char *verb,
                         const char *subject, int from, int to)
{
    assert_int_equal(h->n, n);
    assert_false(h->gap);
    assert_int_equal(h->last.version, f->r.version);
    assert_true(h->last.epoch == f->r.epoch);
    assert_int_equal(h->last.noun, USHER_NUMBER);
    assert_string_equal(h->scope, "desk");
    assert_string_equal(usher_verb_word(h->last.verb), verb);
    assert_string_equal(h->subject, subject);
    assert_int_equal(h->last.from, from);
    assert_int_equal(h->last.to, to);
    assert_int_equal(h->last.now_ms, f->now);
}

TEST(each_change_is_notified_in_order)
{
    struct fixture *f = *state;
    struct heard h = { .e = f->e };
    struct usher_watcher *watch;

    assert_int_equal(usher_watch(f->e, USHER_NUMBER, "desk", hear, &h, &watch), USHER_OK);
    ok(f, "set desk rest=100");
    assert_heard(f, &h, 1, "set", "", 0, 0);
    ok(f, "add desk n1");
    assert_heard(f, &h, 2, "add", "n1", NODATA, IDLE_DOWN);
    same(f, "add desk n1");
    ok(f, "reg desk n1");
    assert_heard(f, &h, 3, "reg", "n1", IDLE_DOWN, IDLE_UP);
    ok(f, "call desk owner=ann lease=1000");
    assert_heard(f, &h, 4, "call", "n1", IDLE_UP, BUSY_UP);
    assert_string_equal(h.owner, "ann");
    assert_true(h.last.token == f->r.of.number.token);
    assert_int_equal(h.last.until_ms, f->now + 1000);
    same(f, "call desk owner=ann");
    f->now += 10;
    ok(f, "renew desk n1 token=%" PRIu64, h.last.token);
    assert_heard(f, &h, 5, "renew", "n1", BUSY_UP, BUSY_UP);
    assert_int_equal(h.last.until_ms, f->now + 1000);
    empty(f, "call desk owner=bob");
    stale(f, "hangup desk n1 token=1");
    ok(f, "unreg desk n1");
    assert_heard(f, &h, 6, "unreg", "n1", BUSY_UP, BUSY_DOWN);
    ok(f, "hangup desk n1");
    assert_heard(f, &h, 7, "hangup", "n1", BUSY_DOWN, IDLE_DOWN);
    assert_int_equal(h.last.until_ms, f->now + 100);
    ok(f, "reg desk n1");
    f->now += 100;
    same(f, "reg desk n1");
    assert_heard(f, &h, 9, "expire", "n1", IDLE_UP, IDLE_UP);
    ok(f, "call desk lease=5");
    f->now += 5;
    same(f, "reg desk n1");
    assert_heard(f, &h, 11, "expire", "n1", BUSY_UP, IDLE_UP);
    f->now += 100;
    ok(f, "call desk");
    assert_int_equal(h.n, 13);
    ok(f, "free desk all=1");
    assert_heard(f, &h, 14, "free", "n1", BUSY_UP, IDLE_UP);
    f->now += 100;
    ok(f, "set desk daily=1");
    assert_int_equal(h.n, 16);
    empty(f, "call desk"); /* it has had its call, and that is no change of it */
    assert_int_equal(h.n, 16);
    ok(f, "renew desk n1 token=%" PRIu64 " owner=bob node=m lease=1000", LOST_TOKEN);
    assert_heard(f, &h, 17, "renew", "n1", IDLE_UP, BUSY_UP); /* taken back all the same */
    assert_string_equal(h.owner, "bob");
    assert_true(h.last.token == f->r.of.number.token);
    assert_int_equal(h.last.until_ms, f->now + 1000);
    same(f, "renew desk n1 token=%" PRIu64 " owner=bob node=x lease=1000", LOST_TOKEN);
    ok(f, "del desk n1");
    assert_heard(f, &h, 18, "del", "n1", BUSY_UP, NODATA);
    ok(f, "add other n1"); /* is not watched */
    assert_int_equal(h.n, 18);
    usher_unwatch(f->e, watch);
    ok(f, "add desk n1");
    assert_int_equal(h.n, 18);
}

TEST(a_watcher_may_watch_all_and_use_the_engine)
{
    struct fixture *f = *state;
    struct heard all = { .e = f->e }, desk = { .e = f->e, .calls_back = true };
    struct usher_watcher *w1, *w2;

    no_twin(f);
    ok(f, "add desk n2");
    assert_int_equal(usher_watch(f->e, USHER_NUMBER, NULL, hear, &all, &w1), USHER_OK);
    assert_int_equal(usher_watch(f->e, USHER_NUMBER, "desk", hear, &desk, &w2), USHER_OK);
    ok(f, "add desk n1"); /* whereupon the watcher registers n2 */
    assert_int_equal(desk.n, 2);
    assert_false(desk.gap);
    assert_string_equal(desk.subject, "n2");
    assert_int_equal(all.n, 2);
    assert_int_equal(state_of(f, "n2"), USHER_NUMBER_STATE_IDLE_UP);
    ok(f, "add other n1");
    assert_int_equal(all.n, 3);
    assert_string_equal(all.scope, "other");
    assert_int_equal(desk.n, 2);
    usher_unwatch(f->e, w1);
    ok(f, "add desk n3");
    assert_int_equal(all.n, 3);
    assert_int_equal(desk.n, 3);
    usher_unwatch(f->e, w2);
    assert_int_equal(usher_watch(f->e, USHER_NUMBER, "a{b", hear, &all, &w1), USHER_INVALID);
    assert_int_equal(usher_watch(f->e, USHER_NUMBER, "a", NULL, &all, &w1), USHER_INVALID);
}

/* ---- request ids ------------------------------------------------------------------- */

TEST(a_repeat_gets_the_first_answer)
{
    struct fixture *f = *state;
    uint64_t token, v, first;
    char before[33], after[33];

    numbers(f, 3);
    ok(f, "call desk req=r1 lease=1000");
    assert_false(f->r.repeated);
    token = f->r.of.number.token;
    first = f->r.version;
    ok(f, "call desk req=r2");
    v = f->r.version;
    digest(f, "desk", before);
    ok(f, "call desk req=r1 lease=1000");
    assert_true(f->r.repeated);
    assert_string_equal(f->r.of.number.number, "n1");
    assert_true(f->r.of.number.token == token);
    assert_int_equal(f->r.of.number.until_ms, f->now + 1000);
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
    assert_int_equal(f->r.version, first);
    digest(f, "desk", after);
    assert_string_equal(before, after);
    assert_int_equal(version(f), v);
    /* even when all has changed since */
    ok(f, "del desk n1");
    ok(f, "call desk req=r1 lease=1000");
    assert_true(f->r.repeated);
    assert_string_equal(f->r.of.number.number, "n1");
}

TEST(result_of_every_writing_verb_is_cached)
{
    struct fixture *f = *state;
    uint64_t token;

    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "add desk n1 req=add");
        assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_DOWN);
        assert_int_equal(f->r.version, 1);
        assert_int_equal(f->r.repeated, repeat);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "reg desk n1 req=reg");
        assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_IDLE_UP);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "set desk rest=77 req=set");
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.of.settings.rest_ms, 77);
    }
    ok(f, "call desk lease=10");
    token = f->r.of.number.token;
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "renew desk n1 token=%" PRIu64 " lease=500 req=renew", token);
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.until_ms, f->now + 500);
        assert_true(f->r.of.number.token == token);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "hangup desk n1 req=hangup");
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.until_ms, f->now + 77);
    }
    f->now += 77;
    ok(f, "call desk");
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "free desk all=1 req=free");
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.count, 1);
    }
    for (int repeat = 0; repeat < 2; repeat++) { /* taken back */
        ok(f, "renew desk n1 token=%" PRIu64 " owner=ann node=m lease=9 req=back", LOST_TOKEN);
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.until_ms, f->now + 9);
        assert_true(f->r.of.number.token == f->r.version);
    }
    assert_node(f, "n1", "m");
    invalid(f, "renew desk n1 token=%" PRIu64 " owner=ann node=x lease=9 req=back", LOST_TOKEN);
    ok(f, "hangup desk n1");
    f->now += 77;
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "sweep desk req=sweep");
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.count, 1);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "unreg desk n1 req=unreg");
        assert_int_equal(f->r.repeated, repeat);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        ok(f, "del desk n1 req=del");
        assert_int_equal(f->r.repeated, repeat);
        assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_NODATA);
    }
}

TEST(results_without_a_change_are_not_cached)
{
    struct fixture *f = *state;

    numbers(f, 1);
    same(f, "add desk n1 req=r1");
    ok(f, "call desk req=r2");
    empty(f, "call desk req=r3");
    refused(f, "call desk number=n1 req=r4");
    ok(f, "hangup desk n1");
    ok(f, "call desk req=r3"); /* now there is one */
    assert_false(f->r.repeated);
    ok(f, "hangup desk n1");
    ok(f, "call desk number=n1 req=r4");
    assert_false(f->r.repeated);
    ok(f, "unreg desk n1 req=r1");
    assert_false(f->r.repeated);
    /* reads do not look at it */
    ok(f, "stats desk req=r1");
    assert_false(f->r.repeated);
    ok(f, "stats desk req=new");
}

TEST(a_request_id_is_for_one_verb)
{
    struct fixture *f = *state;
    char before[33], after[33];

    numbers(f, 1);
    ok(f, "call desk owner=ann req=r1");
    digest(f, "desk", before);
    invalid(f, "hangup desk n1 req=r1");
    assert_non_null(strstr(f->r.message, "call"));
    assert_int_equal(f->r.of.number.token, 0); /* nothing of that answer */
    assert_string_equal(f->r.of.number.number, "");
    assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_NODATA);
    assert_false(f->r.repeated);
    invalid(f, "set desk lease=5 req=r1");
    digest(f, "desk", after);
    assert_string_equal(before, after);
    ok(f, "hangup desk n1 req=r2");
    ok(f, "call desk req=r3");
    invalid(f, "sweep desk req=r3"); /* the same arguments: none */
}

/* An answer is that to the first question, not to another one that has its id. */
TEST(a_request_id_is_for_the_same_arguments)
{
    struct fixture *f = *state;
    char before[33], after[33];

    numbers(f, 3);
    ok(f, "call desk owner=ann lease=5000 req=r1");
    digest(f, "desk", before);
    invalid(f, "call desk owner=bob lease=5000 req=r1");
    assert_non_null(strstr(f->r.message, "other arguments"));
    assert_false(f->r.repeated);
    assert_string_equal(f->r.of.number.number, "");
    invalid(f, "call desk owner=ann lease=5001 req=r1");
    invalid(f, "call desk owner=ann req=r1");
    invalid(f, "call desk owner=ann lease=5000 number=n1 req=r1");
    digest(f, "desk", after);
    assert_string_equal(before, after);
    f->now += 7; /* the time is none of them, nor is the order */
    ok(f, "call desk lease=5000 owner=ann req=r1");
    assert_true(f->r.repeated);
    assert_string_equal(f->r.of.number.number, "n1");
}

TEST(results_are_cached_for_an_hour_and_up_to_a_count)
{
    struct fixture *f = *state;

    numbers(f, 2);
    ok(f, "call desk req=r1");
    f->now += HOUR - 1;
    ok(f, "call desk req=r1");
    assert_true(f->r.repeated);
    f->now += 1;
    ok(f, "call desk req=r1");
    assert_false(f->r.repeated);
    assert_string_equal(f->r.of.number.number, "n2");
    ok(f, "set desk requests=2");
    ok(f, "hangup desk n1 req=r2");
    ok(f, "call desk req=r3"); /* r1 is forgotten for it */
    ok(f, "hangup desk n1 req=r2");
    assert_true(f->r.repeated);
    ok(f, "call desk req=r3");
    assert_true(f->r.repeated);
    empty(f, "call desk req=r1");
}

TEST(a_repeat_does_not_expire_anything)
{
    struct fixture *f = *state;
    uint64_t v;

    numbers(f, 1);
    ok(f, "call desk owner=ann lease=10 req=r1");
    v = f->r.version;
    f->now += 100;
    ok(f, "call desk owner=ann lease=10 req=r1");
    assert_true(f->r.repeated);
    assert_int_equal(version(f), v);
}

/* ---- time -------------------------------------------------------------------------- */

TEST(time_does_not_go_backwards_in_a_pool)
{
    struct fixture *f = *state;
    uint64_t token;
    int64_t late;

    numbers(f, 2);
    f->now += 10000;
    late = f->now;
    ok(f, "call desk lease=1000");
    f->now -= 5000; /* the store's clock is set back: a lease begins there */
    ok(f, "call desk lease=10000");
    assert_int_equal(f->r.of.number.until_ms, late + 5000);
    ok(f, "show desk n2");
    assert_int_equal(f->r.of.number.rows[0].used_ms, late - 5000);
    /* the command's own time goes before the engine's */
    ok(f, "hangup desk n2 now=%" PRId64 " rest=5", late + 7);
    assert_int_equal(f->r.of.number.until_ms, late + 12);
    /* only changes move the clock */
    token = token_of(f, "n1");
    refused(f, "hangup desk n2 now=%" PRId64, late + 11);
    f->now = late + 8;
    ok(f, "renew desk n1 token=%" PRIu64 " lease=100", token);
    assert_int_equal(f->r.of.number.until_ms, late + 108);
}

TEST(times_may_be_as_late_as_the_calendar_goes)
{
    struct fixture *f = *state;

    ok(f, "add desk n1 now=0");
    ok(f, "reg desk n1 now=0");
    ok(f, "call desk now=0 lease=%" PRId64, USHER_SPAN_MAX);
    assert_int_equal(f->r.of.number.until_ms, USHER_SPAN_MAX);
    f->now = USHER_TIME_MAX;
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_IDLE_UP);
    ok(f, "call desk lease=%" PRId64, USHER_SPAN_MAX);
    assert_int_equal(f->r.of.number.until_ms, USHER_TIME_MAX + USHER_SPAN_MAX);
    ok(f, "hangup desk n1 rest=%" PRId64, USHER_SPAN_MAX);
    assert_int_equal(f->r.of.number.until_ms, USHER_TIME_MAX + USHER_SPAN_MAX);
}

/* ---- names ------------------------------------------------------------------------- */

/* Groups and lanes are listed with commas; `:`, and `*` at the end, are reserved. */
static bool is_group(const char *name)
{
    return strpbrk(name, ",:") == NULL && name[strlen(name) - 1] != '*';
}

TEST(names_are_never_interpreted)
{
    struct fixture *f = *state;
    static const char *const names[] = {
        "a",    "A",      "\xc3\xa9", "e\xcc\x81", "0",       "00",  "-1",       "*",
        ":",    "|",      "%s",       "'",         "\"",      "\\",  "';drop",   "$1",
        "zone", "number", "clock",    "epoch",     "version", "n:1", "\xc2\xa0", "\xf4\x8f\xbf\xbf",
        "nil",  "1e3",    "a,b",      "}",         "{x}",
    };
    enum { N = sizeof names / sizeof *names };

    /* numbers, groups, owners, callees and request ids of the same names */
    for (size_t i = 0; i < N; i++) {
        bool group = is_group(names[i]);

        ok(f, group ? "add desk %s req=add%s group=%s" : "add desk %s req=add%s", names[i],
           names[i], names[i]);
        ok(f, "reg desk %s", names[i]);
    }
    for (size_t i = 0; i < N; i++) {
        ok(f, "call desk number=%s owner=%s sticky=%s req=%s", names[i], names[i], names[i],
           names[i]);
        assert_string_equal(f->r.of.number.number, names[i]);
        assert_false(f->r.repeated);
    }
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.busy_up, N);
    for (size_t i = 0; i < N; i++) {
        bool group = is_group(names[i]);

        ok(f, "list desk owner=%s", names[i]);
        assert_int_equal(f->r.of.number.n_rows, 1);
        assert_text(f->r.of.number.rows[0].number, names[i]);
        assert_text(f->r.of.number.rows[0].owner, names[i]);
        assert_text(f->r.of.number.rows[0].group, group ? names[i] : "");
        ok(f, "call desk number=%s owner=%s sticky=%s req=%s", names[i], names[i], names[i],
           names[i]);
        assert_true(f->r.repeated);
        assert_string_equal(f->r.of.number.number, names[i]);
        ok(f, "hangup desk %s", names[i]);
        if (!group)
            continue;
        ok(f, "call desk group=%s", names[i]);
        assert_string_equal(f->r.of.number.number, names[i]);
        ok(f, "hangup desk %s", names[i]);
    }
    for (size_t i = 0; i < N; i++) {
        ok(f, "call desk sticky=%s", names[i]);
        assert_string_equal(f->r.of.number.number, names[i]);
        ok(f, "hangup desk %s", names[i]);
    }
}

TEST(the_longest_names_are_kept_whole)
{
    struct fixture *f = *state;
    char name[5][USHER_NAME_MAX + 1];

    for (int i = 0; i < 5; i++) { /* they differ in the last byte; the pool's is plain */
        for (size_t k = 0; k + 3 <= USHER_NAME_MAX; k += 3)
            memcpy(name[i] + k, "\xe5\x8f\xb7", 3);
        memcpy(name[i] + USHER_NAME_MAX - 3, "xx", 2);
        name[i][USHER_NAME_MAX - 1] = (char)('a' + i);
        name[i][USHER_NAME_MAX] = '\0';
    }
    for (int i = 0; i < 2; i++) {
        ok(f, "add %s %s group=%s", name[0], name[i], name[2 + i]);
        ok(f, "reg %s %s", name[0], name[i]);
    }
    ok(f, "call %s owner=%s group=%s sticky=%s req=%s", name[0], name[4], name[3], name[0],
       name[0]);
    assert_string_equal(f->r.of.number.number, name[1]);
    assert_int_equal(f->r.of.number.number_size, USHER_NAME_MAX);
    ok(f, "list %s owner=%s", name[0], name[4]);
    assert_int_equal(f->r.of.number.n_rows, 1);
    assert_text(f->r.of.number.rows[0].number, name[1]);
    assert_text(f->r.of.number.rows[0].group, name[3]);
    assert_text(f->r.of.number.rows[0].owner, name[4]);
    ok(f, "call %s owner=%s group=%s sticky=%s req=%s", name[0], name[4], name[3], name[0],
       name[0]);
    assert_true(f->r.repeated);
    assert_string_equal(f->r.of.number.number, name[1]);
}

/* ---- wrong arguments --------------------------------------------------------------- */

TEST(wrong_arguments_are_named)
{
    struct fixture *f = *state;
    char too_long[USHER_NAME_MAX + 2], groups17[64];
    char before[33], after[33];
    const struct {
        struct usher_operation c;
        const char *names;
    } wrong[] = {
#define C(verb_, ...) { .verb = USHER_NUMBER_##verb_, .scope = text("desk"), __VA_ARGS__ }
#define N .arg.number.number = text("n1")
#define INT(given_, field, value) .given = USHER_GIVEN_##given_, .arg.number.field = (value)
        { { .verb = USHER_NUMBER_STATS }, "scope" },
        { { .verb = USHER_NUMBER_STATS, .scope = { "", 0 } }, "scope" },
        { { .verb = USHER_NUMBER_STATS, .scope = text("a{b") }, "scope" },
        { { .verb = USHER_NUMBER_STATS, .scope = text("a}") }, "scope" },
        { { .verb = USHER_NUMBER_STATS, .scope = text("a\x01") }, "scope" },
        { { .verb = (enum usher_verb)0, .scope = text("desk") }, "verb" },
        { { .verb = USHER_NUMBER_EXPIRE, .scope = text("desk") }, "verb" },
        { { .verb = (enum usher_verb)0x7001, .scope = text("desk") }, "verb" },
        { C(ADD), "number" },
        { C(DEL), "number" },
        { C(REG), "number" },
        { C(UNREG), "number" },
        { C(HANGUP), "number" },
        { C(RENEW, .given = USHER_GIVEN_TOKEN), "number" },
        { C(SHOW), "number" },
        { C(RENEW, N), "token" },
        { C(ADD, .arg.number.number = { "", 0 }), "number" },
        { C(ADD, .arg.number.number = text("a\tb")), "number" },
        { C(ADD, .arg.number.number = text("\xc0\x80")), "number" },
        { C(ADD, .arg.number.number = text("\xed\xa0\x80")), "number" },
        { C(ADD, .arg.number.number = text("\xc2\x85")), "number" },
        { C(ADD, .arg.number.number = { "a\0b", 3 }), "number" },
        { C(ADD, .arg.number.number = { too_long, USHER_NAME_MAX + 1 }), "number" },
        { C(ADD, N, .arg.number.group = text("a,b")), "group" },
        { C(ADD, N, .arg.number.group = text("*")), "group" },
        { C(ADD, N, .arg.number.group = text("")), "group" },
        { C(CALL, .arg.number.group = text("a,,b")), "group" },
        { C(CALL, .arg.number.group = text("a,")), "group" },
        { C(CALL, .arg.number.group = { groups17, 33 }), "group" },
        { C(CALL, N, .arg.number.group = text("a")), "group" },
        { C(CALL, .arg.number.owner = text("\xff")), "owner" },
        { C(CALL, .arg.number.owner = { "", 0 }), "owner" },
        { C(CALL, .arg.number.sticky = { "", 0 }), "sticky" },
        { C(CALL, .request = { "", 0 }), "req" },
        { C(CALL, .request = { too_long, USHER_NAME_MAX + 1 }), "req" },
        { C(LIST, .arg.number.after = text("\n")), "after" },
        { C(LIST, .arg.number.after = text("a"), .arg.number.owner = text("b")), "after" },
        { C(LIST, .arg.number.after = text("9007199254740992"), INT(STATE, state, 5)), "after" },
        { C(LIST, .arg.number.node = text("a"), .arg.number.owner = text("b")), "node" },
        { C(LIST, .arg.number.node = { "", 0 }), "node" },
        { C(ADD, N, .arg.number.node = text("a")), "node" },
        { C(RENEW, .arg.number.after = text("1")), "node" },
        { C(RENEW, N, .arg.number.node = text("a")), "token" },
        { C(RENEW, N, INT(TOKEN, token, 1), .arg.number.after = text("1")), "after" },
        { C(RENEW, N, INT(TOKEN, token, 1), .arg.number.node = text("a")), "node" },
        { C(RENEW, N, .arg.number.node = text("a"), .arg.number.owner = text("b")), "token" },
        { C(RENEW, N, INT(TOKEN, token, 1), .arg.number.node = text("a"),
            .arg.number.owner = text("b"), .arg.number.after = text("1")),
          "after" },
        { C(RENEW, N, INT(TOKEN, token, 1), .arg.number.node = { "", 0 },
            .arg.number.owner = text("b")),
          "node" },
        { C(RENEW, .arg.number.node = text("a"), .arg.number.owner = text("b")), "owner" },
        { C(RENEW, .arg.number.owner = text("b")), "number" },
        { C(RENEW, INT(TOKEN, token, 1), .arg.number.node = text("a")), "token" },
        { C(RENEW, .arg.number.node = text("a"), .arg.number.after = text("x")), "after" },
        { C(FREE, ), "all=1" },
        { C(FREE, INT(ALL, all, 0)), "all" },
        { C(FREE, N, INT(ALL, all, 1)), "all" },
        { C(FREE, .arg.number.node = text("a"), .arg.number.owner = text("b")), "node" },
        { C(CALL, INT(LEASE, lease_ms, -1)), "lease" },
        { C(CALL, INT(LEASE, lease_ms, USHER_SPAN_MAX + 1)), "lease" },
        { C(HANGUP, N, INT(REST, rest_ms, -1)), "rest" },
        { C(HANGUP, N, INT(REST, rest_ms, INT64_MAX)), "rest" },
        { C(LIST, INT(STATE, state, 0)), "state" },
        { C(LIST, INT(STATE, state, 6)), "state" },
        { C(LIST, INT(MAX, max, 0)), "max" },
        { C(LIST, INT(MAX, max, USHER_LIST_MAX + 1)), "max" },
        { C(SWEEP, INT(MAX, max, INT64_MIN)), "max" },
        { C(SET, INT(ORDER, order, 4)), "order" },
        { C(SET, INT(ORDER, order, 0)), "order" },
        { C(SET, INT(DAILY, daily, -1)), "daily" },
        { C(SET, INT(DAILY, daily, 1000000001)), "daily" },
        { C(SET, INT(ZONE, zone_min, 1441)), "zone" },
        { C(SET, INT(ZONE, zone_min, -1441)), "zone" },
        { C(SET, INT(STRICT, strict, 2)), "strict" },
        { C(SET, INT(STICKY_MS, sticky_ms, -1)), "sticky" },
        { C(SET, INT(STICKY_MAX, sticky_max, 1000001)), "sticky-max" },
        { C(SET, INT(REQUESTS, requests, 0)), "requests" },
        { C(SET, INT(REQUESTS, requests, 1000001)), "requests" },
        { C(STATS, .given = USHER_GIVEN_NOW, .now_ms = -1), "now" },
        { C(STATS, .given = USHER_GIVEN_NOW, .now_ms = USHER_TIME_MAX + 1), "now" },
        /* what the verb does not take */
        { C(STATS, N), "number" },
        { C(ADD, N, .arg.number.owner = text("ann")), "owner" },
        { C(REG, N, .arg.number.group = text("a")), "group" },
        { C(HANGUP, N, .arg.number.owner = text("ann")), "owner" },
        { C(LIST, .arg.number.sticky = text("p")), "sticky" },
        { C(CALL, .arg.number.after = text("a")), "after" },
        { C(CALL, .given = USHER_GIVEN_TOKEN), "token" },
        { C(CALL, .given = USHER_GIVEN_REST), "rest" },
        { C(FREE, .given = USHER_GIVEN_MAX, .arg.number.max = 5), "max" },
        { C(HANGUP, N, .given = USHER_GIVEN_LEASE), "lease" },
        { C(SET, .given = USHER_GIVEN_STATE), "state" },
        { C(STATS, .given = UINT32_C(1) << 31), "" }, /* of a version to come */
#undef C
#undef N
#undef INT
    };

    memset(too_long, 'x', sizeof too_long);
    for (int i = 0; i < 17; i++) /* seventeen of one letter */
        memcpy(groups17 + 2 * i, "a,", 2);
    numbers(f, 1);
    digest(f, "desk", before);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (execute(f, &wrong[i].c) != USHER_INVALID ||
            strstr(f->r.message, wrong[i].names) == NULL)
            fail_msg("wrong[%zu]: %s, \"%s\" does not name %s", i, usher_status_word(f->r.status),
                     f->r.message, wrong[i].names);
        assert_int_equal(f->r.epoch, 0);
        assert_int_equal(f->r.version, 0);
        if ((unsigned)wrong[i].c.verb >> 8 != USHER_NUMBER)
            continue;
        assert_int_equal(f->r.of.number.why, USHER_NUMBER_WHY_NONE);
        assert_int_equal(f->r.of.number.next_ms, -1);
    }
    digest(f, "desk", after);
    assert_string_equal(before, after);
}

/* ---- the engine on this store ------------------------------------------------------ */

TEST(a_batch_is_answered_one_by_one_and_in_order)
{
    struct fixture *f = *state;
    enum { N = 8 };
    static struct said said[N];
    struct usher_operation c[N];
    struct usher_result r[N];
    static const enum usher_status want[N] = { USHER_OK,   USHER_OK,    USHER_OK, USHER_INVALID,
                                               USHER_SAME, USHER_EMPTY, USHER_OK, USHER_OK };
    static const char *const lines[N] = { "add desk n1",         "reg desk n1",
                                          "call desk owner=ann", "show desk a",
                                          "call desk owner=ann", "call desk owner=bob",
                                          "hangup desk n1",      "call desk owner=bob" };

    for (size_t i = 0; i < N; i++) {
        said_line(&said[i], USHER_NUMBER, lines[i]);
        c[i] = said[i].c;
    }
    c[3].arg.number.number = (struct usher_text){ "", 0 };
    for (int k = 0; k < 2; k++) {
        struct usher_engine *e = k == 0 ? f->e : f->twin;

        assert_int_equal(usher_operate(e, c, r, N), USHER_OK);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(r[i].status, want[i]);
            usher_result_done(&r[i]);
        }
        assert_true(r[7].of.number.token > r[2].of.number.token);
    }
    assert_int_equal(state_of(f, "n1"), USHER_NUMBER_STATE_BUSY_UP);
    assert_text(f->r.of.number.rows[0].owner, "bob");
}

/* A later command of a batch finds the changes of an earlier one to a number or owner: of plain
 * calls and hangups, which a store may collect, and of other commands between them. */
TEST(commands_of_a_batch_see_earlier_calls_and_hangups)
{
    struct fixture *f = *state;
    enum { N = 28 };
    static struct usher_operation c[N];
    static struct usher_result r[N], twins[N];
    /* four numbers, added and registered, and n4 called: the first call here has token 11 */
    static const char *const lines[N] = { "hangup desk n4 token=9",
                                          "hangup desk n4 token=9",
                                          "call desk owner=ann",
                                          "call desk owner=bob",
                                          "call desk owner=ann",
                                          "hangup desk n1 token=11",
                                          "hangup desk n1 token=11",
                                          "call desk owner=ann",
                                          "hangup desk n2",
                                          "hangup desk n2",
                                          "call desk owner=cy lease=5000",
                                          "call desk owner=dan",
                                          "call desk owner=eve",
                                          "call desk owner=fay",
                                          "hangup desk n3 token=9",
                                          "hangup desk n3 token=72057594037927950",
                                          "hangup desk n3 token=14",
                                          "hangup desk n9 token=12",
                                          "call desk owner=fay",
                                          "renew desk n4 token=16 lease=7000",
                                          "hangup desk n4 token=16",
                                          "call desk owner=gus",
                                          "unreg desk n1",
                                          "hangup desk n1",
                                          "call desk",
                                          "hangup desk n2 rest=1000",
                                          "call desk owner=hal",
                                          "list desk" };
    static const enum usher_status want[] = { USHER_OK,   USHER_REFUSED, USHER_OK,      USHER_OK,
                                              USHER_SAME, USHER_OK,      USHER_REFUSED, USHER_OK,
                                              USHER_OK,   USHER_REFUSED, USHER_OK };
    static struct said said[N];

    numbers(f, 4);
    ok(f, "call desk number=n4 owner=zed");
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < N; i++) {
            said_line(&said[i], USHER_NUMBER, lines[i]);
            c[i] = said[i].c;
        }
        assert_int_equal(usher_operate(f->e, c, r, N), usher_operate(f->twin, c, twins, N));
        for (size_t i = 0; i < N; i++) {
            if (round == 0 && i < sizeof want / sizeof *want)
                assert_int_equal(r[i].status, want[i]);
            if (!replies_equal(c[i].verb, &r[i], &twins[i], stderr))
                fail_msg("%s: that is what %s and memory answer", lines[i], under_test.name);
            usher_result_done(&r[i]);
            usher_result_done(&twins[i]);
        }
        same_digest(f->e, f->twin, USHER_NUMBER, "desk");
        ok(f, "reg desk n1");
        if (round == 1)
            ok(f, "set desk strict=1 lease=3000");
    }
}

/* Rows of replies that are alive at once do not get in each other's way. */
TEST(each_reply_owns_its_rows)
{
    struct fixture *f = *state;
    enum { N = 40 };
    static struct usher_operation c[N];
    static struct usher_result r[N];
    char names[N][16];

    for (unsigned i = 0; i < N; i++) {
        ok(f, "add desk n%02u group=g%02u", i, i);
        (void)snprintf(names[i], sizeof names[i], "n%02u", i);
        memset(&c[i], 0, sizeof c[i]);
        c[i].verb = i % 2 == 0 ? USHER_NUMBER_SHOW : USHER_NUMBER_LIST;
        c[i].scope = text("desk");
        if (i % 2 == 0)
            c[i].arg.number.number = text(names[i]);
    }
    assert_int_equal(usher_operate(f->e, c, r, N), USHER_OK);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(r[i].of.number.n_rows, i % 2 == 0 ? 1 : N);
        for (size_t k = 0; k < r[i].of.number.n_rows; k++) {
            char group[24];

            assert_text(r[i].of.number.rows[k].number, names[i % 2 == 0 ? i : k]);
            (void)snprintf(group, sizeof group, "g%02zu", i % 2 == 0 ? i : k);
            assert_text(r[i].of.number.rows[k].group, group);
        }
    }
    for (unsigned i = 0; i < N; i++)
        usher_result_done(&r[i]);
}

TEST(typed_functions_return_the_same)
{
    struct fixture *f = *state;
    struct ask_number_hold hold, again;
    struct ask_number_call_options opt = { 0 };
    struct usher_number_result_settings set;
    struct usher_number_result_statistics stats;
    struct usher_result r;
    struct usher_engine *e = f->e;
    int64_t until = -5;
    uint64_t n = 77;

    no_twin(f);
    assert_int_equal(ask_number_call(e, "desk", "ann", NULL, &hold), USHER_EMPTY);
    assert_non_null(strstr(usher_message(), "none"));
    assert_int_equal(ask_number_reg(e, "desk", "n1"), USHER_MISSING);
    assert_int_equal(ask_number_add(e, "desk", "n1", "a"), USHER_OK);
    assert_string_equal(usher_message(), "");
    assert_int_equal(ask_number_add(e, "desk", "n1", NULL), USHER_SAME);
    assert_int_equal(ask_number_reg(e, "desk", "n1"), USHER_OK);
    assert_int_equal(ask_number_reg(e, "desk", "n1"), USHER_SAME);
    opt.lease_ms = 1000;
    opt.groups = "b,a";
    assert_int_equal(ask_number_call(e, "desk", "ann", &opt, &hold), USHER_OK);
    assert_string_equal(hold.number, "n1");
    assert_int_equal(hold.until_ms, f->now + 1000);
    assert_true(hold.token == hold.version);
    assert_true(hold.epoch != 0);
    assert_int_equal(ask_number_call(e, "desk", "ann", NULL, &again), USHER_SAME);
    assert_memory_equal(&again, &hold, offsetof(struct ask_number_hold, number));
    again.token = 4711;
    assert_int_equal(ask_number_call(e, "desk", "bob", NULL, &again), USHER_EMPTY);
    assert_int_equal(again.token, 4711); /* written on success only */
    assert_non_null(strstr(usher_message(), "busy"));
    opt = (struct ask_number_call_options){ 0 };
    opt.number = "n1";
    assert_int_equal(ask_number_call(e, "desk", "bob", &opt, &again), USHER_REFUSED);
    opt.number = "n9";
    assert_int_equal(ask_number_call(e, "desk", "bob", &opt, &again), USHER_MISSING);
    f->now += 10;
    assert_int_equal(ask_number_renew(e, "desk", "n1", hold.token, 0, &until), USHER_OK);
    assert_int_equal(until, f->now + 1000);
    assert_int_equal(ask_number_renew(e, "desk", "n1", hold.token + 1, 0, &until), USHER_STALE);
    assert_int_equal(ask_number_renew(e, "desk", "n1", hold.token, -1, &until), USHER_OK);
    assert_int_equal(until, 0);
    assert_int_equal(ask_number_hangup(e, "desk", "n1", hold.token + 1, -1), USHER_STALE);
    assert_int_equal(ask_number_hangup(e, "desk", "n1", hold.token, 50), USHER_OK);
    assert_int_equal(ask_number_hangup(e, "desk", "n1", 0, -1), USHER_REFUSED);
    assert_int_equal(ask_number_show(e, "desk", "n1", &r), USHER_OK);
    assert_int_equal(r.of.number.rows[0].until_ms, f->now + 50);
    assert_text(r.of.number.rows[0].group, "a");
    usher_result_done(&r);
    assert_int_equal(ask_number_show(e, "desk", "n2", &r), USHER_MISSING);
    usher_result_done(&r);
    assert_int_equal(ask_number_list(e, "desk", -1, NULL, NULL, 0, &r), USHER_OK);
    assert_int_equal(r.of.number.n_rows, 1);
    usher_result_done(&r);
    assert_int_equal(ask_number_list(e, "desk", USHER_NUMBER_STATE_BUSY_UP, NULL, NULL, 5, &r),
                     USHER_OK);
    assert_int_equal(r.of.number.n_rows, 0);
    usher_result_done(&r);
    assert_int_equal(ask_number_stats(e, "desk", &stats), USHER_OK);
    assert_int_equal(stats.resting, 1);
    assert_int_equal(stats.calls_today, 1);
    assert_int_equal(ask_number_stats(e, "none", &stats), USHER_MISSING);
    memset(&set, 0, sizeof set);
    assert_int_equal(ask_number_set(e, "desk", 0, &set), USHER_OK);
    assert_true(set.requests > 0);
    set.lease_ms = 9;
    set.strict = 1;
    assert_int_equal(ask_number_set(e, "desk", USHER_GIVEN_STRICT, &set), USHER_OK);
    assert_int_equal(set.strict, 1);
    assert_int_equal(set.lease_ms, 0); /* was not given */
    assert_int_equal(ask_number_set(e, "desk", USHER_GIVEN_STRICT, &set), USHER_SAME);
    assert_int_equal(ask_number_set(e, "none", 0, &set), USHER_MISSING);
    f->now += 50;
    opt.number = NULL;
    opt.request = "r1";
    assert_int_equal(ask_number_call(e, "desk", NULL, &opt, &hold), USHER_OK);
    assert_int_equal(ask_number_call(e, "desk", NULL, &opt, &again), USHER_OK);
    assert_true(again.token == hold.token);
    assert_int_equal(ask_number_hangup(e, "desk", "n1", 0, -1), USHER_REFUSED); /* strict */
    assert_int_equal(ask_number_free(e, "desk", NULL, "n1", &n), USHER_OK);
    assert_int_equal(n, 1);
    assert_int_equal(ask_number_free_all(e, "desk", &n), USHER_SAME);
    assert_int_equal(n, 0);
    assert_int_equal(ask_number_free_all(e, "none", NULL), USHER_MISSING);
    assert_int_equal(ask_number_sweep(e, "desk", NULL), USHER_SAME);
    assert_int_equal(ask_number_sweep(e, "none", NULL), USHER_MISSING);
    assert_int_equal(ask_number_unreg(e, "desk", "n1"), USHER_OK);
    assert_int_equal(ask_number_del(e, "desk", "n1"), USHER_OK);
    assert_int_equal(ask_number_del(e, "desk", "n1"), USHER_SAME);
}

TEST(wrong_call_is_refused_as_a_whole)
{
    struct fixture *f = *state;
    struct usher_operation c = { .verb = USHER_NUMBER_STATS, .scope = text("desk") };
    struct usher_result r;
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e = NULL;
    char url[BACKEND_URL_MAX + 32], d[33];

    memset(&r, 0x5a, sizeof r);
    assert_int_equal(usher_operate(NULL, &c, &r, 1), USHER_INVALID);
    assert_int_equal(usher_operate(f->e, NULL, &r, 1), USHER_INVALID);
    assert_int_equal(usher_operate(f->e, &c, NULL, 1), USHER_INVALID);
    assert_int_equal(usher_operate(f->e, &c, &r, 0), USHER_INVALID);
    assert_int_equal(usher_operate(f->e, &c, &r, USHER_BATCH_MAX + 1), USHER_INVALID);
    assert_int_equal((unsigned char)r.message[0], 0x5a); /* not touched */
    assert_true(strlen(usher_message()) > 0);

    opt.size = sizeof opt.size - 1;
    assert_int_equal(usher_open(f->url, &opt, &e), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "size"));
    opt.size = 0;
    assert_int_equal(usher_open(f->url, &opt, &e), USHER_INVALID);
    assert_int_equal(usher_open(NULL, NULL, &e), USHER_INVALID);
    assert_int_equal(usher_open(f->url, NULL, NULL), USHER_INVALID);
    opt.size = sizeof opt;
    opt.drivers = under_test.drivers;
    (void)snprintf(url, sizeof url, "%s%ctypo=1", f->url, strchr(f->url, '?') != NULL ? '&' : '?');
    assert_int_equal(usher_open(url, &opt, &e), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "typo"));
    assert_int_equal(usher_open("nosuch:x", NULL, &e), USHER_INVALID);
    assert_int_equal(usher_open("", NULL, &e), USHER_INVALID);
    assert_null(e);

    assert_int_equal(ask_number_add(f->e, NULL, "n1", NULL), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "name of the scope is missing"));
    assert_int_equal(ask_number_add(f->e, "desk", NULL, NULL), USHER_INVALID);
    assert_int_equal(usher_digest(f->e, USHER_NUMBER, "a{b", d), USHER_INVALID);
    assert_int_equal(usher_digest(f->e, (enum usher_noun)9, "desk", d), USHER_INVALID);
    usher_close(NULL);
    usher_result_done(NULL);
}

TEST(digests_of_different_states_differ)
{
    struct fixture *f = *state;
    char d[6][33];

    no_twin(f);
    digest(f, "desk", d[0]);
    ok(f, "add desk n1");
    digest(f, "desk", d[1]);
    ok(f, "add desk n2");
    digest(f, "desk", d[2]);
    ok(f, "del desk n2");
    digest(f, "desk", d[3]);
    ok(f, "add other n1");
    digest(f, "other", d[4]);
    ok(f, "stats desk");
    empty(f, "call desk"); /* a refusal is not part of the state */
    digest(f, "desk", d[5]);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(d[i], d[k]);
    assert_string_equal(d[3], d[5]);
}

TEST(a_child_of_fork_is_refused)
{
    struct fixture *f = *state;
    int status;
    pid_t pid;

    numbers(f, 1);
    pid = fork();
    if (pid == 0) {
        struct usher_result r;
        struct usher_operation c = { .verb = USHER_NUMBER_STATS, .scope = text("desk") };
        bool good = usher_operate(f->e, &c, &r, 1) == USHER_INVALID &&
                    strstr(usher_message(), "fork") != NULL &&
                    ask_number_unreg(f->e, "desk", "n1") == USHER_INVALID;

        usher_close(f->e); /* leaves the parent's store alone */
        _exit(good ? 0 : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_given(f, "desk", "n1");
}

/* A child opens an engine of its own and does as the parent does. */
TEST_NEEDS(a_child_opens_its_own, NEEDS_SHARED)
{
    struct fixture *f = *state;
    int status;
    pid_t pid;

    no_twin(f);
    numbers(f, 2);
    assert_given(f, "desk owner=ann", "n1");
    pid = fork();
    if (pid == 0) {
        struct usher_engine *e = NULL;
        struct ask_number_hold hold;
        bool good = usher_open(f->url, NULL, &e) == USHER_OK &&
                    ask_number_call(e, "desk", "child", NULL, &hold) == USHER_OK &&
                    strcmp(hold.number, "n2") == 0;

        usher_close(e);
        _exit(good ? 0 : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    ok(f, "show desk n2");
    assert_text(f->r.of.number.rows[0].owner, "child");
    empty(f, "call desk");
}

TEST_NEEDS(answered_changes_are_there_after_opening_again, NEEDS_DURABLE)
{
    struct fixture *f = *state;
    char before[33], after[33];
    uint64_t epoch, token;

    groups(f);
    ok(f, "set desk order=random rest=100 daily=5 zone=60 strict=1 lease=9000");
    ok(f, "call desk owner=ann sticky=p req=r1 group=b");
    token = f->r.of.number.token;
    epoch = f->r.epoch;
    ok(f, "call desk owner=bob lease=0");
    empty(f, "call desk group=c");
    digest(f, "desk", before);
    suite_close(&f->e);
    f->e = fixture_open(f);
    digest(f, "desk", after);
    assert_string_equal(before, after);
    ok(f, "stats desk");
    assert_true(f->r.epoch == epoch);
    assert_int_equal(f->r.of.number.of.stats.total, 4);
    assert_int_equal(f->r.of.number.of.stats.busy_up, 2);
    assert_int_equal(f->r.of.number.of.stats.calls_today, 2);
    assert_int_equal(f->r.of.number.of.stats.refused_today, 1);
    ok(f, "call desk owner=ann sticky=p group=b req=r1");
    assert_true(f->r.repeated);
    same(f, "call desk owner=ann");
    assert_true(f->r.of.number.token == token);
    refused(f, "hangup desk b1");
    ok(f, "hangup desk b1 token=%" PRIu64, token);
    assert_int_equal(f->r.of.number.until_ms, f->now + 100);
    f->now += 100;
    assert_given(f, "desk sticky=p", "b1");
}

TEST_NEEDS(two_engines_on_one_store_agree, NEEDS_SHARED)
{
    struct fixture *f = *state;
    struct usher_engine *other;
    struct ask_number_hold hold;
    char here[33], there[33];

    no_twin(f);
    other = fixture_open(f);
    numbers(f, 4);
    for (int i = 0; i < 2; i++) { /* turn by turn */
        assert_given(f, "desk", i == 0 ? "n1" : "n3");
        assert_int_equal(ask_number_call(other, "desk", NULL, NULL, &hold), USHER_OK);
        assert_string_equal(hold.number, i == 0 ? "n2" : "n4");
        assert_true(hold.epoch == f->r.epoch);
        assert_int_equal(hold.version, f->r.version + 1);
    }
    empty(f, "call desk");
    assert_int_equal(ask_number_call(other, "desk", NULL, NULL, &hold), USHER_EMPTY);
    assert_int_equal(ask_number_hangup(other, "desk", "n2", 0, -1), USHER_OK);
    assert_given(f, "desk owner=ann", "n2");
    assert_int_equal(ask_number_call(other, "desk", "ann", NULL, &hold), USHER_SAME);
    digest(f, "desk", here);
    assert_int_equal(usher_digest(other, USHER_NUMBER, "desk", there), USHER_OK);
    assert_string_equal(here, there);
    audit(other);
    usher_close(other);
    empty(f, "call desk");
}

/* ---- threads ----------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 150, SHARED = 3 };

struct caller {
    pthread_t thread;
    struct usher_engine *e;
    const char *url;  /* opens its own engine when not NULL */
    atomic_int *held; /* by number: 1 while a thread holds it */
    bool twice;
    enum usher_status wrong;
    unsigned got;
};

static void *call_and_hang_up(void *payload)
{
    struct caller *c = payload;
    struct usher_engine *e = c->e;

    if (c->url != NULL && usher_open(c->url, NULL, &e) != USHER_OK) {
        c->wrong = USHER_UNAVAILABLE;
        return NULL;
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct ask_number_hold hold;
        enum usher_status status = ask_number_call(e, "desk", NULL, NULL, &hold);
        int n;

        if (status == USHER_EMPTY)
            continue;
        if (status != USHER_OK) {
            c->wrong = status;
            break;
        }
        c->got++;
        n = hold.number[1] - '0';
        if (atomic_fetch_add(&c->held[n], 1) != 0)
            c->twice = true;
        atomic_fetch_sub(&c->held[n], 1);
        status = ask_number_hangup(e, "desk", hold.number, hold.token, 0);
        if (status != USHER_OK) {
            c->wrong = status;
            break;
        }
    }
    if (c->url != NULL)
        usher_close(e);
    return NULL;
}

TEST(no_two_threads_get_one_number)
{
    struct fixture *f = *state;
    struct caller callers[THREADS];
    atomic_int held[SHARED + 1];
    unsigned got = 0;

    no_twin(f);
    numbers(f, SHARED);
    for (int i = 0; i <= SHARED; i++)
        atomic_init(&held[i], 0);
    memset(callers, 0, sizeof callers);
    for (int i = 0; i < THREADS; i++) {
        callers[i].e = f->e;
        callers[i].url = under_test.shared && i % 2 != 0 ? f->url : NULL;
        callers[i].held = held;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_and_hang_up, &callers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_false(callers[i].twice);
        assert_int_equal(callers[i].wrong, USHER_OK);
        got += callers[i].got;
    }
    assert_true(got >= ROUNDS);
    ok(f, "stats desk");
    assert_int_equal(f->r.of.number.of.stats.idle_up, SHARED);
    assert_int_equal(f->r.version, 2 * SHARED + 2 * got);
}

/* ---- the list of scopes -------------------------------------------------------------- */

#define LISTED 120

struct listed {
    char scope[4 * LISTED][32]; /* "number/s7" */
    size_t n;
    bool made_again; /* versions are any */
};

static int by_place(const void *a, const void *b)
{
    return strcmp(a, b); /* no name is the beginning of another one here */
}

static void list_one(void *payload, const struct usher_scope_info *info)
{
    struct listed *l = payload;

    assert_true(l->n < sizeof l->scope / sizeof *l->scope && info->size == sizeof *info &&
                info->epoch != 0);
    assert_true(l->made_again || (info->version == 1 && info->due_ms == USHER_NEVER));
    assert_int_equal(info->items, info->noun == USHER_NUMBER ? 1 : 0);
    (void)snprintf(l->scope[l->n++], sizeof l->scope[0], "%s/%.*s", usher_noun_word(info->noun),
                   (int)info->name.size, info->name.data);
}

/* Return whether the store has an order of scopes: then a name is a cursor. */
static bool lists_in_order(const struct fixture *f)
{
    static struct listed none;
    enum usher_status status;

    none.n = 0;
    status = usher_scopes(f->e, LIST_OF(.after = "id/~"), list_one, &none, NULL);
    assert_true(status == USHER_OK || status == USHER_INVALID);
    if (status == USHER_INVALID)
        assert_non_null(strstr(usher_message(), "after is no cursor"));
    return status == USHER_OK;
}

/* Append a page of at most @max scopes, and set @next, where it begins, to the next one. */
static void list_page(const struct fixture *f, size_t max, enum usher_noun noun, struct listed *l,
                      char next[USHER_CURSOR_MAX + 1])
{
    size_t n = l->n;
    char after[USHER_CURSOR_MAX + 1];

    (void)snprintf(after, sizeof after, "%s", next);
    assert_int_equal(usher_scopes(f->e,
                                  LIST_OF(.after = after[0] != '\0' ? after : NULL, .noun = noun,
                                          .max = (int64_t)max),
                                  list_one, l, next),
                     USHER_OK);
    assert_true(l->n - n <= max);
}

/* Sort @l, and remove what came twice. */
static void sort_listed(struct listed *l)
{
    size_t n = 0;

    qsort(l->scope, l->n, sizeof l->scope[0], by_place);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || strcmp(l->scope[i], l->scope[n - 1]) != 0)
            memmove(l->scope[n++], l->scope[i], sizeof l->scope[0]); /* may be itself */
    l->n = n;
}

/* A scope of one of the nouns, with version 1. */
static void make_listed(const struct fixture *f, unsigned i, char place[32])
{
    static const char *const nouns[] = { "number", "room", "id", "queue", "serial" };
    struct usher_queue_result_settings set = { .limit = 5 };
    struct usher_serial_form form = { .prefix = "A" };
    char name[16];

    (void)snprintf(name, sizeof name, "s%03u", i * 77 % 1000);
    (void)snprintf(place, 32, "%s/%s", nouns[i % 5], name);
    if (i % 5 == 0)
        assert_int_equal(ask_number_add(f->e, name, "1", NULL), USHER_OK);
    else if (i % 5 == 1)
        assert_int_equal(ask_room_open(f->e, name, NULL), USHER_OK);
    else if (i % 5 == 2)
        assert_int_equal(ask_id_create(f->e, name, 0, NULL), USHER_OK);
    else if (i % 5 == 3)
        assert_int_equal(ask_queue_set(f->e, name, USHER_GIVEN_QUEUE_LIMIT, &set), USHER_OK);
    else
        assert_int_equal(ask_serial_rule(f->e, name, USHER_GIVEN_SERIAL_PREFIX, &form), USHER_OK);
}

/* All pages together are the whole list, whatever their size; in order, if the store has one. */
TEST(scopes_are_listed_in_pages)
{
    static const size_t sizes[] = { 1, 7, LISTED - 1, LISTED, LISTED + 1, USHER_LIST_MAX };
    static struct listed all, found;
    struct fixture *f = *state;
    bool ordered = lists_in_order(f);
    char next[USHER_CURSOR_MAX + 1] = "";

    all.n = found.n = 0;
    list_page(f, 5, (enum usher_noun)0, &found, next);
    assert_true(found.n == 0 && next[0] == '\0');
    for (unsigned i = 0; i < LISTED; i++)
        make_listed(f, i, all.scope[all.n++]);
    sort_listed(&all);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t pages = 0;

        found.n = 0;
        do {
            size_t n = found.n;

            list_page(f, sizes[k], (enum usher_noun)0, &found, next);
            pages++;
            assert_true(!ordered || next[0] == '\0' || found.n - n == sizes[k]);
            assert_true(pages <= 4 * LISTED);
        } while (next[0] != '\0');
        if (ordered) {
            assert_int_equal(found.n, LISTED);
            assert_int_equal(pages, (LISTED + sizes[k] - 1) / sizes[k]);
            assert_memory_equal(found.scope[0], "number/", 7); /* ids come last */
            assert_memory_equal(found.scope[LISTED - 1], "id/", 3);
            for (size_t i = 1; i < LISTED; i++) /* names in order within a noun */
                assert_true(found.scope[i - 1][0] != found.scope[i][0] ||
                            strcmp(found.scope[i - 1], found.scope[i]) < 0);
        }
        sort_listed(&found);
        assert_int_equal(found.n, LISTED);
        for (size_t i = 0; i < LISTED; i++)
            assert_string_equal(found.scope[i], all.scope[i]);
    }
    /* of one noun */
    found.n = 0;
    do
        list_page(f, 9, USHER_ROOM, &found, next);
    while (next[0] != '\0');
    sort_listed(&found);
    assert_int_equal(found.n, LISTED / 5);
    for (size_t i = 0; i < found.n; i++)
        assert_memory_equal(found.scope[i], "room/", 5);
}

/* A name is a cursor where scopes have an order, also one that does not exist. */
TEST(a_page_of_scopes_begins_after_a_name)
{
    static struct listed found;
    struct fixture *f = *state;
    char place[32], next[USHER_CURSOR_MAX + 1];

    if (!lists_in_order(f))
        return;
    for (unsigned i = 0; i < 12; i++)
        make_listed(f, i, place);
    found.n = 0;
    (void)snprintf(next, sizeof next, "number/z");
    list_page(f, 2, USHER_ROOM, &found, next);
    assert_int_equal(found.n, 2);
    assert_string_equal(next, found.scope[1]);
    (void)snprintf(next, sizeof next, "room/a");
    list_page(f, 2, USHER_NUMBER, &found, next);
    assert_true(found.n == 2 && next[0] == '\0');
    (void)snprintf(next, sizeof next, "room/s0770");
    list_page(f, 1, (enum usher_noun)0, &found, next);
    assert_int_equal(found.n, 3);
    assert_true(strcmp(found.scope[2], "room/s0770") > 0);
    assert_string_equal(next, found.scope[2]);
}

/* Scopes that are there all the time are listed, while others come and go between the pages, also
 * the last one of a page. */
TEST(pages_of_scopes_miss_none_while_others_change)
{
    static const size_t sizes[] = { 1, 2, 5, 40 };
    static const enum usher_noun nouns[] = { USHER_NUMBER, USHER_ROOM, USHER_ID, USHER_QUEUE,
                                             USHER_SERIAL };
    static struct listed all, found, gone;
    struct fixture *f = *state;

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char next[USHER_CURSOR_MAX + 1] = "", text[48];
        unsigned pages = 0, made = 0;

        all.n = found.n = gone.n = 0;
        found.made_again = true;
        for (unsigned i = 0; i < 30; i++)
            make_listed(f, i, all.scope[all.n++]);
        do {
            size_t n = found.n;

            list_page(f, sizes[k], (enum usher_noun)0, &found, next);
            /* a new one before and after the cursor; the last one of the page goes */
            if (made < 30) {
                make_listed(f, 100 + made++, text);
                make_listed(f, 400 + made++, text);
            }
            if (found.n > n && gone.n < 10) {
                const char *last = found.scope[found.n - 1];
                const char *name = strchr(last, '/') + 1;

                (void)usher_drop(f->e, nouns[strcspn("nriqs", (char[]){ last[0], '\0' })], name,
                                 NULL);
                (void)snprintf(gone.scope[gone.n++], sizeof gone.scope[0], "%s", last);
            }
            assert_true(++pages < 2 * LISTED);
        } while (next[0] != '\0');
        sort_listed(&found);
        for (size_t i = 0; i < all.n; i++)
            if (bsearch(all.scope[i], found.scope, found.n, sizeof found.scope[0], by_place) ==
                NULL)
                fail_msg("%s is missing in pages of %zu", all.scope[i], sizes[k]);
        /* the next size begins with an empty store */
        for (unsigned i = 0; i < 500; i++) {
            char name[16];

            if (i >= 30 && (i < 100 || i % 300 - 100 >= 30))
                continue;
            (void)snprintf(name, sizeof name, "s%03u", i * 77 % 1000);
            (void)usher_drop(f->e, nouns[i % 5], name, NULL);
        }
        found.n = 0;
        next[0] = '\0';
        list_page(f, 10, (enum usher_noun)0, &found, next);
        assert_int_equal(found.n, 0);
    }
}

/* Closed rooms of which bans are left are not listed, and fill no page. */
TEST(closed_rooms_take_no_place_in_a_page_of_scopes)
{
    static struct listed found;
    struct fixture *f = *state;
    char next[USHER_CURSOR_MAX + 1] = "", name[8];

    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "r%02u", i);
        assert_int_equal(ask_room_open(f->e, name, NULL), USHER_OK);
        assert_int_equal(ask_room_kick(f->e, name, "eve", HOUR), USHER_OK);
        if (i != 7)
            assert_int_equal(ask_room_close(f->e, name), USHER_OK);
    }
    found.n = 0;
    found.made_again = true;
    list_page(f, 1, (enum usher_noun)0, &found, next);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.scope[0], "room/r07");
    while (next[0] != '\0')
        list_page(f, 1, (enum usher_noun)0, &found, next);
    assert_int_equal(found.n, 1);
}

/* A cursor comes from outside. */
TEST(hostile_cursors_of_scopes_are_refused)
{
    static const char *const hostile[] = {
        "hall",
        "room/",
        "/a",
        "rooms/a/b{",
        "nothing/a",
        ".",
        "1",
        "1.0.-.0.0.0",
        "1.0.-.0.0.0.0",
        "3.0.-.0.0.0.0.0.0",
        "0.0.-.0.0.0.0.0.0",
        "1.2.-.0.0.0.0.0.0",
        "1.0..0.0.0.0.0.0",
        "1.0.--.0.0.0.0.0.0",
        "1.0.-.0.0.0.0.0.0.",
        "1.0.-.0.0.0.0.0.0.0",
        "1.0.-.0.0.7d1.0.0.0",
        "1.0.-.g.0.0.0.0.0",
        "1.0.-.11111111111111111.0.0.0.0.0",
        "1.0.abc.0.0.0.0.0.0",
        "1.0.-.0.0.-1.0.0.0",
        "1.0.-.0.%s%n.0.0.0.0",
        "room/a\nb",
        "\xff\xfe",
    };
    static struct listed found;
    struct fixture *f = *state;
    char place[32], next[USHER_CURSOR_MAX + 1], longest[USHER_CURSOR_MAX + 2];

    for (unsigned i = 0; i < 6; i++)
        make_listed(f, i, place);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        found.n = 0;
        if (usher_scopes(f->e, LIST_OF(.after = hostile[i]), list_one, &found, next) !=
            USHER_INVALID)
            fail_msg("`%s` is a cursor", hostile[i]);
        assert_int_equal(found.n, 0);
        if (strstr(usher_message(), "scopes: after ") == NULL)
            fail_msg("`%s`: %s", hostile[i], usher_message());
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memcpy(longest, "room/", 5);
    assert_int_equal(usher_scopes(f->e, LIST_OF(.after = longest), list_one, &found, NULL),
                     USHER_INVALID);
    assert_non_null(strstr(usher_message(), "after is too long"));
    assert_int_equal(usher_scopes(f->e, LIST_OF(.after = ""), list_one, &found, NULL),
                     USHER_INVALID);
    assert_int_equal(usher_scopes(f->e, LIST_OF(.noun = USHER_ROOMS), list_one, &found, NULL),
                     USHER_INVALID);
    assert_int_equal(
        usher_scopes(f->e, LIST_OF(.noun = (enum usher_noun)99), list_one, &found, NULL),
        USHER_INVALID);
    assert_int_equal(usher_scopes(f->e, LIST_OF(.noun = USHER_ROOM, .max = USHER_LIST_MAX + 1),
                                  list_one, &found, NULL),
                     USHER_INVALID);
    assert_int_equal(usher_scopes(f->e, LIST_OF(.noun = USHER_ROOM), NULL, NULL, NULL),
                     USHER_INVALID);
    /* a cursor of another server, or of nothing: the list is complete, from its beginning */
    if (!lists_in_order(f)) {
        found.n = 0;
        (void)snprintf(next, sizeof next, "1.0.-.abc.123.40.5.6.7");
        do
            list_page(f, 100, (enum usher_noun)0, &found, next);
        while (next[0] != '\0');
        sort_listed(&found);
        assert_int_equal(found.n, 6);
    }
}

/* ---- all --------------------------------------------------------------------------- */

static int begin(void)
{
    uint64_t third = number_from("USHER_THIRD", 0);

    test_offer((under_test.shared ? NEEDS_SHARED : 0) | (under_test.durable ? NEEDS_DURABLE : 0));
    if (!budget_long() && (third != 0 || (under_test.some != NULL && under_test.some()))) {
        third = third != 0 ? third : (uint64_t)time(NULL) % 3 + 1;
        print_message("one test in three: USHER_THIRD=%" PRIu64 "\n", third);
        test_third(third);
    }
    return under_test.start();
}

TEST_PROGRAM(begin, under_test.stop);
