/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store of ids: spec/ids.md row by row, with the bugs of its seed, and the
 * ids of a process that has its segments from the store.
 *
 * The clock is f->now.  Every test ends with the audit.
 */
#include "lib/test.h"

#include "conformance/fixture.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/calls.h"
#include "lib/fake_authority.h"
#include "lib/util.h"

#define NOON INT64_C(1700000000000)

static struct usher_engine *engine_open(struct fixture *f)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    opt.timeout_ms = f->timeout_ms;
    opt.authority = f->authority != NULL ? &f->authority->base : NULL;
    return suite_open(f->url, &f->now, &opt);
}

static int set_up(void **state)
{
    struct fixture *f;

    (void)fixture_begin(state, 0, NULL, NULL);
    f = *state;
    f->now = NOON;
    f->timeout_ms = 60000;
    return 0;
}

static int tear_down(void **state)
{
    struct fake_authority *authority = ((struct fixture *)*state)->authority;

    (void)fixture_end(state);
    if (authority != NULL)
        fake_authority_done(authority);
    free(authority);
    return 0;
}

TEST_EACH(set_up, tear_down);

/* ---- short words ------------------------------------------------------------------ */

static void create(struct fixture *f, const char *name, uint64_t given,
                   struct usher_id_result_settings settings)
{
    enum usher_status status = ask_id_create(f->e, name, given, &settings);

    if (status != USHER_OK)
        fail_msg("create %s: %s (%s)", name, usher_status_word(status), usher_message());
}
#define SET(...) ((struct usher_id_result_settings){ __VA_ARGS__ })

static enum usher_status next(struct fixture *f, const char *name, int64_t n,
                              struct usher_id_range *ret)
{
    struct usher_id_range r;

    memset(ret, 0, sizeof *ret);
    memset(&r, 0, sizeof r);
    {
        enum usher_status status = ask_id_next(f->e, name, n, NULL, &r);

        *ret = r;
        return status;
    }
}

static void assert_next(struct fixture *f, const char *name, int64_t n, int64_t first)
{
    struct usher_id_range r;
    enum usher_status status = next(f, name, n, &r);

    if (status != USHER_OK)
        fail_msg("next %s: %s (%s)", name, usher_status_word(status), usher_message());
    if (r.first != first || r.n != n)
        fail_msg("next %s: %" PRId64 " (%" PRId64 " ids) instead of %" PRId64, name, r.first, r.n,
                 first);
}

static struct usher_id_result_row show(struct fixture *f, const char *name)
{
    struct usher_id_result_row row;

    assert_int_equal(ask_id_show(f->e, name, &row), USHER_OK);
    return row;
}

/* ---- order, uniqueness, 64 bits --------------------------------------------------- */

TEST(the_first_id_is_start_and_others_follow)
{
    struct fixture *f = *state;

    create(f, "plain", 0, SET(0));
    create(f, "later", USHER_GIVEN_ID_START, SET(.start = 1000));
    create(f, "zero", USHER_GIVEN_ID_START, SET(.start = 0));
    for (int64_t i = 0; i < 1100; i++) { /* past two segments */
        assert_next(f, "plain", 1, 1 + i);
        if (i < 20) {
            assert_next(f, "later", 1, 1000 + i);
            assert_next(f, "zero", 1, i);
        }
    }
    assert_int_equal(show(f, "plain").next, 1101);
    assert_int_equal(show(f, "plain").max, 1536);
    assert_int_equal(show(f, "plain").issued, 1100);
    assert_int_equal(show(f, "plain").segments, 3);
    assert_int_equal(show(f, "plain").step, 512);
}

TEST(ids_continue_over_every_power_of_ten_and_of_two)
{
    struct fixture *f = *state;
    int64_t at = 10;
    char name[32];

    for (int p = 1; p <= 18; p++, at *= 10) {
        (void)snprintf(name, sizeof name, "ten%d", p);
        create(f, name, USHER_GIVEN_ID_START, SET(.start = at - 3));
        for (int64_t i = -3; i < 3; i++)
            assert_next(f, name, 1, at + i);
        assert_next(f, name, 1000, at + 3);
        assert_int_equal(show(f, name).next, at + 1003);
        if (p == 18)
            break;
    }
    for (int p = 31; p < 63; p++) {
        at = INT64_C(1) << p;
        (void)snprintf(name, sizeof name, "two%d", p);
        create(f, name, USHER_GIVEN_ID_START, SET(.start = at - 2));
        for (int64_t i = -2; i < 3; i++)
            assert_next(f, name, 1, at + i);
    }
    create(f, "last", USHER_GIVEN_ID_START, SET(.start = INT64_MAX - 1));
    assert_next(f, "last", 1, INT64_MAX - 1);
    assert_next(f, "last", 1, INT64_MAX);
    {
        struct usher_id_range r;

        assert_int_equal(next(f, "last", 1, &r), USHER_FULL);
        assert_int_equal(r.n, 0);
        assert_int_equal(show(f, "last").next, -1);
    }
}

/* The seed compared low and high as texts, so that "9" was beyond "10", and gave what was the
 * counter after its addition. */
TEST(segment_has_its_exact_end_at_every_power_of_ten)
{
    struct fixture *f = *state;
    int64_t at = 10;
    char name[32];
    struct usher_id_range r;

    for (int p = 1; p <= 18; p++) {
        (void)snprintf(name, sizeof name, "managed%d", p);
        create(f, name, USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
        assert_int_equal(ask_id_install(f->e, name, at - 2, 4, -1), USHER_OK);
        for (int64_t i = -2; i < 2; i++)
            assert_next(f, name, 1, at + i);
        assert_int_equal(next(f, name, 1, &r), USHER_EMPTY);
        assert_int_equal(show(f, name).next, at + 2);
        assert_int_equal(show(f, name).max, at + 1);
        if (p < 18)
            at *= 10;
    }
}

TEST(segment_issues_its_first_id_and_none_after_its_last)
{
    struct fixture *f = *state;
    struct usher_id_range r;

    create(f, "seg", USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
    assert_int_equal(ask_id_install(f->e, "seg", 1, 512, -1), USHER_OK);
    for (int64_t i = 1; i <= 512; i++)
        assert_next(f, "seg", 1, i);
    assert_int_equal(next(f, "seg", 1, &r), USHER_EMPTY);
}

TEST(id_after_a_refill_is_larger_than_all_before)
{
    struct fixture *f = *state;
    struct usher_id_range r;
    int64_t last = 0;

    create(f, "seg", USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
    for (int64_t i = 0; i < 20; i++) {
        assert_int_equal(ask_id_install(f->e, "seg", 1 + i * 5, 5, i == 0 ? -1 : i * 5), USHER_OK);
        for (int k = 0; k < 5; k++) {
            assert_int_equal(next(f, "seg", 1, &r), USHER_OK);
            assert_true(r.first > last);
            last = r.first;
        }
    }
    assert_int_equal(last, 100);
}

TEST(used_up_and_missing_dispensers_have_two_statuses)
{
    struct fixture *f = *state;
    struct usher_id_range r;
    struct usher_id_result_row row;

    create(f, "seg", USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
    assert_int_equal(next(f, "seg", 1, &r), USHER_EMPTY);
    assert_int_equal(next(f, "other", 1, &r), USHER_MISSING);
    assert_int_equal(ask_id_show(f->e, "other", &row), USHER_MISSING);
    assert_int_equal(ask_id_install(f->e, "other", 1, 1, -1), USHER_MISSING);
    assert_int_equal(ask_id_delete(f->e, "other"), USHER_SAME);
}

TEST(range_is_contiguous)
{
    struct fixture *f = *state;

    create(f, "r", USHER_GIVEN_ID_STEP, SET(.step = 10));
    assert_next(f, "r", 4, 1);
    assert_next(f, "r", 25, 5); /* over several segments */
    assert_next(f, "r", 1, 30);
    assert_next(f, "r", USHER_ID_N_MAX, 31);
    assert_next(f, "r", 1, 31 + USHER_ID_N_MAX);
}

TEST(sites_with_their_own_offsets_stay_disjoint)
{
    struct fixture *f = *state;
    char seen[3001] = { 0 };

    for (int64_t site = 1; site <= 3; site++) {
        char name[32];

        (void)snprintf(name, sizeof name, "site%" PRId64, site);
        create(f, name, USHER_GIVEN_ID_START | USHER_GIVEN_ID_BY | USHER_GIVEN_ID_STEP,
               SET(.start = site, .by = 3, .step = 7));
        for (int64_t i = 0; i < 200; i += 5) {
            struct usher_id_range r;

            assert_int_equal(next(f, name, 5, &r), USHER_OK);
            assert_int_equal(r.by, 3);
            for (int64_t k = 0; k < 5; k++) {
                assert_int_equal((r.first + k * 3) % 3, site % 3);
                assert_int_equal(seen[r.first + k * 3]++, 0);
            }
        }
    }
}

/* Two sites stay disjoint after any change of by or next. */
TEST(sites_stay_disjoint_after_any_setting)
{
    struct fixture *f = *state;
    struct usher_id_result_settings s = SET(.by = 3);
    struct usher_id_range r;

    create(f, "A", USHER_GIVEN_ID_START | USHER_GIVEN_ID_BY, SET(.start = 1, .by = 2));
    create(f, "B", USHER_GIVEN_ID_START | USHER_GIVEN_ID_BY, SET(.start = 2, .by = 2));
    assert_next(f, "A", 3, 1);
    assert_next(f, "B", 4, 2);
    assert_int_equal(ask_id_set(f->e, "A", USHER_GIVEN_ID_BY, &s, 0), USHER_REFUSED);
    assert_int_equal(s.why, USHER_ID_WHY_CLASS);
    s.by = 1;
    assert_int_equal(ask_id_set(f->e, "B", USHER_GIVEN_ID_BY, &s, 0), USHER_REFUSED);
    assert_next(f, "A", 1, 7);
    assert_int_equal(next(f, "A", 1, &r), USHER_OK);
    assert_int_equal(r.first, 9);
    s.by = 4; /* 1, 5, 9, 13 … */
    assert_int_equal(ask_id_set(f->e, "A", USHER_GIVEN_ID_BY, &s, 0), USHER_OK);
    assert_int_equal(s.why, USHER_ID_WHY_NONE);
    assert_int_equal(ask_id_return(f->e, "A", &r), USHER_STALE);
    assert_next(f, "A", 3, 13);
    /* up to the next one of its own */
    create(f, "s", USHER_GIVEN_ID_START | USHER_GIVEN_ID_BY, SET(.start = 1, .by = 3));
    assert_next(f, "s", 2, 1);
    assert_int_equal(ask_id_set(f->e, "s", USHER_GIVEN_ID_NEXT, &s, 8), USHER_OK);
    assert_int_equal(show(f, "s").next, 10);
    assert_int_equal(ask_id_set(f->e, "s", USHER_GIVEN_ID_NEXT, &s, 9), USHER_REFUSED);
    assert_int_equal(s.why, USHER_ID_WHY_BACK);
    assert_int_equal(ask_id_set(f->e, "s", USHER_GIVEN_ID_NEXT, &s, 10), USHER_SAME);
    assert_next(f, "s", 3, 10);
    s.by = 6;
    assert_int_equal(
        ask_id_set(f->e, "s", USHER_GIVEN_ID_BY | USHER_GIVEN_ID_NEXT, &s, INT64_MAX - 7),
        USHER_OK);
    assert_next(f, "s", 1, INT64_MAX - 6); /* 2^63 - 1 is 1 of 6, and so is 7 */
    assert_int_equal(next(f, "s", 1, &r), USHER_OK);
    assert_int_equal(next(f, "s", 1, &r), USHER_FULL);
}

TEST(limit_is_an_error_with_the_ids_that_are_left)
{
    struct fixture *f = *state;
    struct usher_id_range r;
    struct usher_id_result_settings s = SET(0);

    create(f, "l", USHER_GIVEN_ID_START | USHER_GIVEN_ID_LIMIT, SET(.start = 5, .limit = 9));
    assert_next(f, "l", 2, 5);
    assert_int_equal(next(f, "l", 4, &r), USHER_FULL);
    assert_int_equal(r.first, 7);
    assert_int_equal(r.n, 3);
    assert_next(f, "l", 3, 7);
    assert_int_equal(next(f, "l", 1, &r), USHER_FULL);
    assert_int_equal(r.n, 0);
    s.limit = 10;
    assert_int_equal(ask_id_set(f->e, "l", USHER_GIVEN_ID_LIMIT, &s, 0), USHER_OK);
    assert_next(f, "l", 1, 10);
    assert_int_equal(next(f, "l", 1, &r), USHER_FULL);
}

/* ---- retries, returns, installs --------------------------------------------------- */

TEST(a_repeated_request_gets_the_first_range)
{
    struct fixture *f = *state;
    struct usher_id_range a, b;

    create(f, "t", USHER_GIVEN_ID_START, SET(.start = INT64_C(9007199254740990)));
    assert_int_equal(ask_id_next(f->e, "t", 5, "req-1", &a), USHER_OK);
    assert_next(f, "t", 1, a.first + 5);
    assert_int_equal(ask_id_next(f->e, "t", 5, "req-1", &b), USHER_OK);
    assert_int_equal(a.first, b.first);
    assert_int_equal(a.n, b.n);
    assert_true(a.token == b.token);
    assert_int_equal(ask_id_next(f->e, "t", 6, "req-1", &b), USHER_INVALID);
    assert_next(f, "t", 1, a.first + 6);
}

TEST(the_unused_end_of_the_newest_range_comes_back)
{
    struct fixture *f = *state;
    struct usher_id_range r, old;

    create(f, "t", 0, SET(0));
    assert_int_equal(next(f, "t", 100, &r), USHER_OK);
    r.first += 40; /* forty were used */
    r.n -= 40;
    assert_int_equal(ask_id_return(f->e, "t", &r), USHER_OK);
    assert_int_equal(show(f, "t").issued, 40);
    assert_next(f, "t", 1, 41);
    assert_int_equal(next(f, "t", 10, &old), USHER_OK);
    assert_next(f, "t", 1, 52);
    /* other callers got later ids: a gap */
    assert_int_equal(ask_id_return(f->e, "t", &old), USHER_STALE);
    assert_next(f, "t", 1, 53);
}

TEST(a_range_comes_back_once)
{
    struct fixture *f = *state;
    struct usher_id_range r, again;

    create(f, "t", 0, SET(0));
    assert_int_equal(next(f, "t", 10, &r), USHER_OK);
    assert_int_equal(ask_id_return(f->e, "t", &r), USHER_OK);
    assert_int_equal(ask_id_return(f->e, "t", &r), USHER_SAME);
    assert_int_equal(show(f, "t").issued, 0);
    assert_int_equal(next(f, "t", 10, &again), USHER_OK);
    assert_int_equal(again.first, r.first);
    /* a late repeat does not take them from their new owner */
    assert_int_equal(ask_id_return(f->e, "t", &r), USHER_STALE);
    assert_next(f, "t", 1, 11);
    assert_int_equal(next(f, "t", 10, &r), USHER_OK);
    r.epoch++;
    assert_int_equal(ask_id_return(f->e, "t", &r), USHER_STALE);
    assert_next(f, "t", 1, 22);
}

/* No authority has granted the ids between the range and the next segment. */
TEST(no_range_reaches_over_the_start_of_a_segment)
{
    struct fixture *f = *state;
    struct usher_id_range r;

    create(f, "m", USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
    assert_int_equal(ask_id_install(f->e, "m", 1, 10, -1), USHER_OK);
    assert_int_equal(next(f, "m", 10, &r), USHER_OK);
    assert_int_equal(ask_id_install(f->e, "m", 1000, 10, 10), USHER_OK);
    r.first = 995;
    r.n = 5;
    assert_int_equal(ask_id_return(f->e, "m", &r), USHER_STALE);
    assert_next(f, "m", 1, 1000);
    assert_int_equal(next(f, "m", 9, &r), USHER_OK);
    assert_int_equal(ask_id_install(f->e, "m", 1010, 10, 1009), USHER_OK); /* goes on */
    assert_int_equal(ask_id_return(f->e, "m", &r), USHER_OK);
    assert_next(f, "m", 1, 1001);
}

TEST(one_of_two_installers_wins)
{
    struct fixture *f = *state;

    create(f, "m", USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
    assert_int_equal(ask_id_install(f->e, "m", 1, 10, -1), USHER_OK);
    assert_next(f, "m", 10, 1);
    assert_int_equal(ask_id_install(f->e, "m", 11, 10, 10), USHER_OK);
    assert_int_equal(ask_id_install(f->e, "m", 21, 10, 10), USHER_STALE);
    assert_next(f, "m", 1, 11);
    /* ids never come again, whatever the manager says */
    assert_int_equal(ask_id_install(f->e, "m", 15, 10, 20), USHER_REFUSED);
    /* what is left goes first */
    assert_int_equal(ask_id_install(f->e, "m", 21, 10, 20), USHER_OK);
    assert_next(f, "m", 19, 12);
    create(f, "own", 0, SET(0));
    assert_int_equal(ask_id_install(f->e, "own", 600, 10, 512), USHER_REFUSED);
}

/* ---- settings --------------------------------------------------------------------- */

TEST(the_step_follows_how_long_segments_last)
{
    struct fixture *f = *state;

    create(f, "s", USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_LIFE | USHER_GIVEN_ID_STEP_MAX,
           SET(.step = 10, .life_ms = 1000, .step_max = 35));
    assert_next(f, "s", 10, 1);
    f->now += 999;
    assert_next(f, "s", 1, 11);
    assert_int_equal(show(f, "s").step, 20);
    assert_int_equal(show(f, "s").lasted_ms, 999);
    assert_int_equal(show(f, "s").max, 30);
    assert_next(f, "s", 20, 12);
    assert_int_equal(show(f, "s").step, 35); /* at most */
    f->now += 1000;
    assert_next(f, "s", 40, 32);
    assert_int_equal(show(f, "s").step, 35); /* neither short nor long */
    f->now += 2000;
    assert_next(f, "s", 40, 72);
    assert_int_equal(show(f, "s").step, 17);
    f->now += 20000;
    assert_next(f, "s", 40, 112);
    f->now += 20000;
    assert_next(f, "s", 40, 152);
    assert_int_equal(show(f, "s").step, 10); /* at least */
}

TEST(a_counter_is_raised_and_never_lowered)
{
    struct fixture *f = *state;
    struct usher_id_result_settings s = SET(0);
    struct usher_id_range r;

    create(f, "c", 0, SET(0));
    assert_int_equal(next(f, "c", 10, &r), USHER_OK);
    assert_int_equal(ask_id_set(f->e, "c", USHER_GIVEN_ID_NEXT, &s, 10), USHER_REFUSED);
    assert_int_equal(ask_id_set(f->e, "c", USHER_GIVEN_ID_NEXT, &s, 11), USHER_SAME);
    assert_int_equal(ask_id_set(f->e, "c", USHER_GIVEN_ID_NEXT, &s, 5000), USHER_OK);
    assert_int_equal(ask_id_return(f->e, "c", &r), USHER_STALE);
    assert_next(f, "c", 1, 5000);
    assert_int_equal(show(f, "c").max, 5511);
}

TEST(dispensers_are_made_shown_changed_and_deleted)
{
    struct fixture *f = *state;
    struct usher_id_result_settings s = SET(.step = 7);
    struct usher_id_range r;

    create(f, "a", USHER_GIVEN_ID_STEP, SET(.step = 7));
    assert_int_equal(ask_id_create(f->e, "a", USHER_GIVEN_ID_STEP, &s), USHER_SAME);
    s.step = 8;
    assert_int_equal(ask_id_create(f->e, "a", USHER_GIVEN_ID_STEP, &s), USHER_REFUSED);
    create(f, "b", 0, SET(0));
    assert_next(f, "a", 3, 1);
    assert_next(f, "b", 1, 1);
    assert_int_equal(ask_id_set(f->e, "a", USHER_GIVEN_ID_STEP, &s, 0), USHER_OK);
    assert_int_equal(s.step, 8);
    assert_int_equal(s.by, 1);
    assert_int_equal(ask_id_set(f->e, "a", 0, &s, 0), USHER_OK);
    assert_int_equal(ask_id_delete(f->e, "a"), USHER_OK);
    assert_int_equal(ask_id_delete(f->e, "a"), USHER_SAME);
    assert_int_equal(next(f, "a", 1, &r), USHER_MISSING);
    assert_int_equal(ask_id_set(f->e, "a", 0, &s, 0), USHER_MISSING);
    create(f, "a", 0, SET(0));
    assert_next(f, "a", 1, 1);
    assert_next(f, "b", 1, 2);
}

TEST(wrong_arguments_are_named)
{
    struct fixture *f = *state;
    struct usher_id_range r;
    struct usher_id_result_settings s;
    const struct {
        uint64_t given;
        struct usher_id_result_settings s;
        const char *name;
    } wrong[] = {
        { USHER_GIVEN_ID_STEP, SET(.step = 0), "step" },
        { USHER_GIVEN_ID_STEP, SET(.step = USHER_ID_N_MAX + 1), "step" },
        { USHER_GIVEN_ID_BY, SET(.by = 0), "by" },
        { USHER_GIVEN_ID_BY, SET(.by = USHER_ID_BY_MAX + 1), "by" },
        { USHER_GIVEN_ID_START, SET(.start = -1), "start" },
        { USHER_GIVEN_ID_LIMIT, SET(.limit = -1), "limit" },
        { USHER_GIVEN_ID_LIMIT | USHER_GIVEN_ID_START, SET(.start = 5, .limit = 4), "limit" },
        { USHER_GIVEN_ID_LIMIT, SET(.limit = 0), "limit" },
        { USHER_GIVEN_ID_MANAGED, SET(.managed = 2), "managed" },
        { USHER_GIVEN_ID_LIFE, SET(.life_ms = USHER_NONE), "life" },
        { USHER_GIVEN_ID_REQUESTS, SET(.requests = 0), "requests" },
        { USHER_GIVEN_ID_NEXT, SET(0), "next" },
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        s = wrong[i].s;
        assert_int_equal(ask_id_create(f->e, "w", wrong[i].given, &s), USHER_INVALID);
        assert_non_null(strstr(usher_message(), wrong[i].name));
    }
    create(f, "w", 0, SET(0));
    assert_int_equal(next(f, "w", 0, &r), USHER_INVALID);
    assert_int_equal(next(f, "w", USHER_ID_N_MAX + 1, &r), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "n is not"));
    s = SET(0);
    assert_int_equal(ask_id_set(f->e, "w", USHER_GIVEN_ID_NEXT, &s, -1), USHER_INVALID);
    assert_int_equal(ask_id_set(f->e, "w", USHER_GIVEN_ID_START, &s, 0), USHER_INVALID);
    assert_int_equal(ask_id_install(f->e, "w", -1, 1, -1), USHER_INVALID);
    assert_int_equal(ask_id_next(NULL, "w", 1, NULL, &r), USHER_INVALID);
    assert_next(f, "w", 1, 1);
}

/* ---- in the process --------------------------------------------------------------- */

static struct usher_ids *ids_open(struct usher_engine *e, const char *name, int64_t step)
{
    struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
    struct usher_ids *ids = NULL;

    opt.step = step;
    opt.life_ms = USHER_NONE;
    if (usher_ids_open(e, name, &opt, &ids) != USHER_OK)
        fail_msg("%s", usher_message());
    return ids;
}

TEST(ids_of_the_process_come_from_the_store)
{
    struct fixture *f = *state;
    struct usher_ids *ids;
    struct usher_ids_local *local;
    int64_t id = 0, first, last = 0;

    create(f, "p", USHER_GIVEN_ID_START | USHER_GIVEN_ID_BY,
           SET(.start = INT64_C(9999999999), .by = 2));
    ids = ids_open(f->e, "p", 20);
    assert_int_equal(next_id(ids), INT64_C(9999999999));
    for (int i = 1; i < 100; i++)
        assert_int_equal(next_id(ids), INT64_C(9999999999) + 2 * i);
    assert_int_equal(usher_ids_take(ids, 3, 0, &first), USHER_OK);
    assert_true(first >= INT64_C(9999999999) + 200);
    assert_int_equal(next_id(ids), first + 6);
    assert_int_equal(usher_ids_take(ids, 100, 0, &first), USHER_OK); /* more than a segment */
    assert_true(next_id(ids) > first + 198);
    assert_int_equal(usher_ids_local_open(ids, &local), USHER_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(usher_ids_local_next(local, &id), USHER_OK);
        assert_true(id > first + 198 && id > last && id % 2 == 1);
        last = id;
    }
    usher_ids_local_close(local);
    usher_ids_close(ids);
}

TEST(a_clean_close_returns_the_rest)
{
    struct fixture *f = *state;

    create(f, "p", 0, SET(0));
    for (int64_t i = 0; i < 10; i++) {
        /* 7 of 10, then 3 and 4 with the next segment fetched before */
        struct usher_ids *ids = ids_open(f->e, "p", 10);
        struct usher_ids_local *local;
        int64_t id = 0;

        for (int64_t k = 0; k < 14; k++)
            assert_int_equal(next_id(ids), 1 + i * 16 + k);
        assert_int_equal(usher_ids_local_open(ids, &local), USHER_OK);
        assert_int_equal(usher_ids_local_next(local, &id), USHER_OK);
        assert_int_equal(id, 1 + i * 16 + 14);
        usher_ids_local_close(local);
        assert_int_equal(next_id(ids), 1 + i * 16 + 15);
        usher_ids_close(ids);
    }
    assert_int_equal(show(f, "p").issued, 160);
    assert_next(f, "p", 1, 161);
    { /* not if other callers got later ids */
        struct usher_ids *ids = ids_open(f->e, "p", 10);

        assert_int_equal(next_id(ids), 162);
        assert_next(f, "p", 1, 172);
        usher_ids_close(ids);
        assert_next(f, "p", 1, 173);
    }
}

TEST(the_limit_is_reached_to_the_last_id)
{
    struct fixture *f = *state;
    struct usher_ids *ids;
    int64_t id = 0;

    create(f, "p", USHER_GIVEN_ID_LIMIT, SET(.limit = 25));
    ids = ids_open(f->e, "p", 10);
    for (int64_t i = 1; i <= 25; i++)
        assert_int_equal(next_id(ids), i);
    assert_int_equal(usher_ids_next(ids, &id), USHER_FULL);
    assert_non_null(strstr(usher_message(), "limit"));
    usher_ids_close(ids);
    assert_int_equal(show(f, "p").issued, 25);
}

/* As when a Redis has lost what it knew: another epoch, or a counter that fell. */
TEST(lost_dispenser_continues_above_the_issued_ids)
{
    struct fixture *f = *state;
    struct usher_ids *ids;
    int64_t last = 0;

    create(f, "p", 0, SET(0));
    ids = ids_open(f->e, "p", 10);
    for (int i = 0; i < 25; i++)
        last = next_id(ids);
    assert_int_equal(ask_id_delete(f->e, "p"), USHER_OK);
    create(f, "p", 0, SET(0));
    for (int i = 0; i < 100; i++) {
        int64_t id = next_id(ids);

        assert_true(id > last);
        last = id;
    }
    usher_ids_close(ids);
    assert_true(show(f, "p").next >= last + 1);
}

TEST(a_managed_dispenser_keeps_callers_waiting_for_install)
{
    struct fixture *f = *state;
    struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
    struct usher_ids *ids;
    int64_t id = 0;

    create(f, "m", USHER_GIVEN_ID_MANAGED, SET(.managed = 1));
    assert_int_equal(ask_id_install(f->e, "m", 1, 5, -1), USHER_OK);
    opt.step = 5;
    opt.life_ms = USHER_NONE;
    opt.timeout_ms = 50;
    assert_int_equal(usher_ids_open(f->e, "m", &opt, &ids), USHER_OK);
    for (int64_t i = 1; i <= 5; i++)
        assert_int_equal(next_id(ids), i);
    assert_int_equal(usher_ids_next(ids, &id), USHER_EMPTY);
    assert_int_equal(ask_id_install(f->e, "m", 101, 5, 5), USHER_OK);
    assert_int_equal(usher_ids_take(ids, 1, 10000, &id), USHER_OK);
    assert_int_equal(id, 101);
    usher_ids_close(ids);
}

TEST(ids_end_with_a_fork)
{
    struct fixture *f = *state;
    struct usher_ids *ids;
    struct usher_ids_local *local;
    int64_t id = 0, mine = 0;
    int status;
    pid_t pid;

    create(f, "p", 0, SET(0));
    ids = ids_open(f->e, "p", 100);
    assert_int_equal(usher_ids_local_open(ids, &local), USHER_OK);
    assert_int_equal(usher_ids_local_next(local, &mine), USHER_OK);
    assert_int_equal(next_id(ids), 51); /* a sub-range does not pass the mark */
    pid = fork();
    if (pid == 0) {
        bool good = usher_ids_next(ids, &id) == USHER_INVALID &&
                    strstr(usher_message(), "fork") != NULL &&
                    usher_ids_local_next(local, &id) == USHER_INVALID &&
                    usher_ids_take(ids, 1, 0, &id) == USHER_INVALID &&
                    usher_ids_refill(ids, 0) == USHER_INVALID;

        usher_ids_local_close(local);
        usher_ids_close(ids); /* returns nothing */
        usher_close(f->e);
        _exit(good ? 0 : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(next_id(ids), 52);
    assert_int_equal(usher_ids_local_next(local, &id), USHER_OK);
    assert_int_equal(id, mine + 1);
    usher_ids_local_close(local);
    usher_ids_close(ids);
}

/* ---- granted by an authority -------------------------------------------------------- */

/* f->e again, on a store that knows nothing, with f->authority. */
static void begin_with_authority(struct fixture *f, int64_t timeout_ms)
{
    suite_close(&f->e);
    assert_true(under_test.fresh(f->url));
    if (f->authority == NULL) {
        f->authority = malloc(sizeof *f->authority);
        assert_non_null(f->authority);
        fake_authority_init(f->authority);
    }
    f->timeout_ms = timeout_ms;
    f->e = engine_open(f);
}

static int64_t granted(struct fixture *f)
{
    struct usher_id_range r = { .first = -1 };

    if (ask_id_next(f->e, "fed", 1, NULL, &r) != USHER_OK)
        fail_msg("%s", usher_message());
    return r.first;
}

TEST(segments_are_granted_without_an_install)
{
    struct fixture *f = *state;
    struct usher_id_range r, again;

    begin_with_authority(f, 60000);
    create(f, "fed", USHER_GIVEN_ID_STEP, SET(.step = 7));
    assert_int_equal(show(f, "fed").managed, 1);
    for (int64_t i = 1; i <= 100; i++)
        assert_int_equal(granted(f), i);
    assert_int_equal(f->authority->requests, 15);
    assert_int_equal(ask_id_next(f->e, "fed", 50, NULL, &r), USHER_OK);
    assert_int_equal(r.n, 50);
    assert_int_equal(r.first, 101); /* what is left goes first */
    assert_int_equal(ask_id_next(f->e, "fed", 5, "req", &r), USHER_OK);
    assert_int_equal(ask_id_next(f->e, "fed", 5, "req", &again), USHER_OK);
    assert_int_equal(again.first, r.first);
    assert_int_equal(ask_id_next(f->e, "fed", 0, NULL, &r), USHER_INVALID);
    /* who says so does without */
    create(f, "own", USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_MANAGED, SET(.step = 3, .managed = 0));
    for (int64_t i = 1; i <= 10; i++)
        assert_next(f, "own", 1, i);
    assert_int_equal(f->authority->n, 1);
    assert_int_equal(ask_id_next(f->e, "nobody", 1, NULL, &r), USHER_MISSING);
}

TEST(granted_ids_stay_on_their_grid_and_below_the_limit)
{
    struct fixture *f = *state;
    struct usher_id_result_settings set = SET(.limit = 100);
    struct usher_id_range r;
    int64_t want = 5;

    begin_with_authority(f, 60000);
    create(f, "fed",
           USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_BY | USHER_GIVEN_ID_START | USHER_GIVEN_ID_LIMIT,
           SET(.step = 3, .by = 4, .start = 5, .limit = 50));
    for (; want <= 49; want += 4)
        assert_int_equal(granted(f), want);
    assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_FULL);
    begin_with_authority(f, 60000); /* lost; and nothing is left */
    assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_FULL);
    assert_int_equal(r.first, -1);
    assert_int_equal(r.n, 0);
    assert_int_equal(ask_id_set(f->e, "fed", USHER_GIVEN_ID_LIMIT, &set, 0), USHER_OK);
    for (; want <= 97; want += 4)
        assert_int_equal(granted(f), want);
    create(f, "zero", USHER_GIVEN_ID_BY | USHER_GIVEN_ID_START, SET(.by = 10, .start = 0));
    assert_next(f, "zero", 1, 10); /* numbers of an authority are from 1 */
}

TEST(an_authority_that_fails_is_an_error_at_the_deadline)
{
    struct fixture *f = *state;
    struct usher_id_range r = { .first = -1 };
    unsigned before;

    begin_with_authority(f, 2000);
    create(f, "fed", USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_BY, SET(.step = 3, .by = 2));
    for (int64_t i = 0; i < 2; i++)
        assert_int_equal(granted(f), 1 + 2 * i);
    before = f->authority->requests;
    atomic_store(&f->authority->answer, USHER_UNAVAILABLE);
    assert_int_equal(granted(f), 5); /* which was granted before */
    assert_int_equal(f->authority->requests, before);
    assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "the authority is out"));
    /* after 10, 20, 40 … 640 ms */
    assert_in_range(f->authority->requests - before, 1, 8);
    atomic_store(&f->authority->answer, USHER_FULL);
    assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_FULL);
    atomic_store(&f->authority->answer, USHER_OK);
    assert_int_equal(granted(f), 7);
    /* not known whether it was raised: a gap */
    atomic_store(&f->authority->answer, USHER_UNKNOWN);
    for (int i = 0; i < 2; i++)
        (void)granted(f);
    assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_UNAVAILABLE);
    atomic_store(&f->authority->answer, USHER_OK); /* for the audit */
}

TEST(store_after_a_loss_starts_above_the_authority)
{
    struct fixture *f = *state;

    begin_with_authority(f, 60000);
    create(f, "fed", USHER_GIVEN_ID_STEP, SET(.step = 10));
    for (int i = 1; i <= 25; i++)
        assert_int_equal(granted(f), i);
    for (int round = 0; round < 5; round++) {
        begin_with_authority(f, 60000);
        assert_int_equal(granted(f), round == 0 ? 31 : 31 + 20 * round);
        assert_int_equal(show(f, "fed").step, 10); /* made again as it was */
        for (int i = 0; i < 12; i++)
            (void)granted(f);
    }
    assert_int_equal(ask_id_delete(f->e, "fed"), USHER_OK);
    begin_with_authority(f, 60000);
    {
        struct usher_id_range r;

        assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_MISSING);
    }
    create(f, "fed", USHER_GIVEN_ID_STEP, SET(.step = 10));
    assert_int_equal(granted(f), 131); /* recreated: larger than all of them */
}

/* An operator says that the numbers below are in use elsewhere; then the store is lost. */
TEST(ids_skipped_by_an_operator_reach_the_authority)
{
    struct fixture *f = *state;
    struct usher_id_result_settings s = SET(0);

    begin_with_authority(f, 1000);
    create(f, "fed", USHER_GIVEN_ID_STEP, SET(.step = 10));
    assert_int_equal(granted(f), 1);
    assert_int_equal(ask_id_set(f->e, "fed", USHER_GIVEN_ID_NEXT, &s, 5000), USHER_OK);
    begin_with_authority(f, 1000);
    assert_in_range(granted(f), 5000, 5020);
    /* a setting that the authority does not receive is not applied */
    atomic_store(&f->authority->answer, USHER_UNAVAILABLE);
    assert_int_equal(ask_id_set(f->e, "fed", USHER_GIVEN_ID_NEXT, &s, 9000), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "the authority is out"));
    assert_in_range(show(f, "fed").next, 5000, 5020);
    atomic_store(&f->authority->answer, USHER_OK);
}

TEST(granted_ids_end_at_the_largest_id)
{
    struct fixture *f = *state;
    struct usher_id_result_settings s = SET(0);
    struct usher_id_range r;

    begin_with_authority(f, 60000);
    for (int64_t by = 1; by <= 1000000; by = by * 7 + 3) {
        assert_int_equal(USHER_IS_DONE(ask_id_delete(f->e, "fed")), true);
        create(f, "fed", USHER_GIVEN_ID_STEP | USHER_GIVEN_ID_BY, SET(.step = 99999, .by = by));
        if (by == 1)
            assert_int_equal(granted(f), 1);
        assert_int_equal(ask_id_set(f->e, "fed", USHER_GIVEN_ID_NEXT, &s, INT64_MAX - by),
                         USHER_OK);
        while (ask_id_next(f->e, "fed", 1, NULL, &r) == USHER_OK)
            assert_true(r.first > INT64_MAX - by - 1 && (r.first - 1) % by == 0);
        assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_FULL);
        (void)ask_id_set(f->e, "fed", USHER_GIVEN_ID_NEXT, &s, INT64_MAX);
        assert_int_equal(ask_id_next(f->e, "fed", 1, NULL, &r), USHER_FULL);
    }
}

static int by_int64(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

struct taker {
    struct usher_engine *e;
    pthread_barrier_t *all; /* begin together */
    int64_t id[20];
    bool wrong;
    pthread_t thread;
};

static void *be_granted(void *payload)
{
    struct taker *p = payload;
    int64_t last = 0;

    (void)pthread_barrier_wait(p->all);
    for (int i = 0; i < 20; i++) {
        struct usher_id_range r = { .first = -1 };

        if (ask_id_next(p->e, "fed", 1, NULL, &r) != USHER_OK || r.first <= last)
            p->wrong = true;
        last = p->id[i] = r.first;
    }
    return NULL;
}

/* Each takes 20 of them; all, in order, in @all. */
static void be_many(struct usher_engine *const *engines, size_t n_engines, size_t n, int64_t *all)
{
    struct taker *takers = calloc(n, sizeof *takers);
    pthread_barrier_t begin;

    assert_non_null(takers);
    assert_int_equal(pthread_barrier_init(&begin, NULL, (unsigned)n), 0);
    for (size_t i = 0; i < n; i++) {
        takers[i].e = engines[i % n_engines];
        takers[i].all = &begin;
        assert_int_equal(pthread_create(&takers[i].thread, NULL, be_granted, &takers[i]), 0);
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        assert_false(takers[i].wrong);
        memcpy(all + i * 20, takers[i].id, sizeof takers[i].id);
    }
    (void)pthread_barrier_destroy(&begin);
    free(takers);
    qsort(all, n * 20, sizeof *all, by_int64);
    for (size_t i = 1; i < n * 20; i++)
        assert_true(all[i] > all[i - 1]);
}

TEST(sixty_four_callers_of_a_used_up_dispenser_make_one_request)
{
    struct fixture *f = *state;
    int64_t all[64 * 20];

    begin_with_authority(f, 60000);
    create(f, "fed", USHER_GIVEN_ID_STEP, SET(.step = 2000));
    atomic_store(&f->authority->delay_ms, 20);
    be_many(&f->e, 1, 64, all);
    assert_int_equal(f->authority->requests, 1);
    assert_int_equal(all[64 * 20 - 1], 64 * 20);
}

TEST_NEEDS(engines_that_share_an_authority_never_give_one_id, NEEDS_SHARED)
{
    struct fixture *f = *state;
    struct usher_engine *e[2];
    int64_t all[16 * 20];

    begin_with_authority(f, 60000);
    e[0] = f->e;
    e[1] = engine_open(f); /* of memory: a store of its own */
    for (int i = 0; i < 2; i++) {
        struct usher_id_result_settings set = SET(.step = 7);
        enum usher_status status = ask_id_create(e[i], "fed", USHER_GIVEN_ID_STEP, &set);

        assert_true(USHER_IS_DONE(status));
    }
    be_many(e, 2, 16, all);
    usher_close(e[1]);
}

TEST(segments_in_the_process_are_granted_too)
{
    struct fixture *f = *state;
    struct usher_ids *ids;
    int64_t last = 0;

    begin_with_authority(f, 60000);
    create(f, "fed", USHER_GIVEN_ID_STEP, SET(.step = 10));
    for (int round = 0; round < 3; round++) {
        ids = ids_open(f->e, "fed", 50);
        for (int i = 0; i < 170; i++) {
            int64_t id = next_id(ids);

            assert_true(id > last);
            last = id;
        }
        usher_ids_close(ids);
        if (round == 1)
            begin_with_authority(f, 60000); /* lost */
    }
    assert_in_range(last, 3 * 170, 3 * 170 + 2 * 50);
}

/* ---- many at once ----------------------------------------------------------------- */

#define THREADS 8
#define PROCESSES 8
#define FROM_STORE 25
#define FROM_PROCESS 500
#define FROM_LOCAL 500
#define A_THREAD (FROM_STORE + FROM_PROCESS + FROM_LOCAL)

struct given {
    int64_t id, begun_ns, done_ns; /* done 0: not by a call to the store */
};

struct crowd {
    struct usher_engine *e;
    struct usher_ids *ids;
    struct given *given; /* A_THREAD of them */
    const char *wrong;
    pthread_t thread;
};

static void *be_one_of_many(void *payload)
{
    struct crowd *c = payload;
    struct given *g = c->given;
    struct usher_ids_local *local;
    int64_t last = 0;

    for (int i = 0; i < FROM_STORE; i++, g++) {
        struct usher_id_range r;

        g->begun_ns = clock_ns();
        if (ask_id_next(c->e, "strict", 1, NULL, &r) != USHER_OK)
            c->wrong = "next";
        g->done_ns = clock_ns();
        g->id = r.first;
    }
    for (int i = 0; i < FROM_PROCESS; i++, g++) {
        if (usher_ids_next(c->ids, &g->id) != USHER_OK)
            c->wrong = "ids_next";
        if (g->id <= last)
            c->wrong = "order within a thread";
        last = g->id;
    }
    if (usher_ids_local_open(c->ids, &local) != USHER_OK) {
        c->wrong = "local_open";
        return NULL;
    }
    last = 0;
    for (int i = 0; i < FROM_LOCAL; i++, g++) {
        if (usher_ids_local_next(local, &g->id) != USHER_OK)
            c->wrong = "local_next";
        if (g->id <= last)
            c->wrong = "order within a sub-range";
        last = g->id;
    }
    usher_ids_local_close(local);
    return NULL;
}

/* NULL, or what went wrong. */
static const char *crowd(struct usher_engine *e, struct given *given)
{
    struct crowd crowd[THREADS];
    struct usher_ids_options opt = USHER_IDS_OPTIONS_INIT;
    struct usher_ids *ids;
    const char *wrong = NULL;

    opt.step = 100;
    opt.chunk = 20;
    opt.timeout_ms = 60000;
    if (usher_ids_open(e, "process", &opt, &ids) != USHER_OK)
        return "ids_open";
    for (int i = 0; i < THREADS; i++) {
        crowd[i] = (struct crowd){ .e = e, .ids = ids, .given = given + i * A_THREAD };
        if (pthread_create(&crowd[i].thread, NULL, be_one_of_many, &crowd[i]) != 0)
            return "pthread_create";
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(crowd[i].thread, NULL);
        if (crowd[i].wrong != NULL)
            wrong = crowd[i].wrong;
    }
    usher_ids_close(ids);
    return wrong;
}

static int by_id(const void *a, const void *b)
{
    const struct given *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void check_all(struct given *all, size_t threads)
{
    struct given *part = calloc(threads, A_THREAD * sizeof *part);
    size_t n = 0;
    int64_t begun = 0;

    assert_non_null(part);
    /* of the store: unique, dense, and in the order of time */
    for (size_t t = 0; t < threads; t++, n += FROM_STORE)
        memcpy(part + n, all + t * A_THREAD, FROM_STORE * sizeof *part);
    qsort(part, n, sizeof *part, by_id);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(part[i].id, i + 1);
        /* no call with a smaller id began after this call ended */
        assert_true(part[i].done_ns >= begun);
        begun = part[i].begun_ns > begun ? part[i].begun_ns : begun;
    }
    /* of the processes: unique */
    n = 0;
    for (size_t t = 0; t < threads; t++, n += A_THREAD - FROM_STORE)
        memcpy(part + n, all + t * A_THREAD + FROM_STORE, (A_THREAD - FROM_STORE) * sizeof *part);
    qsort(part, n, sizeof *part, by_id);
    assert_true(part[0].id >= 1);
    for (size_t i = 1; i < n; i++)
        assert_true(part[i].id > part[i - 1].id);
    free(part);
}

TEST(no_two_threads_get_one_id)
{
    struct fixture *f = *state;
    struct given *all = calloc(THREADS * A_THREAD, sizeof *all);
    const char *wrong;

    assert_non_null(all);
    create(f, "strict", 0, SET(0));
    create(f, "process", 0, SET(0));
    wrong = crowd(f->e, all);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    check_all(all, THREADS);
    free(all);
}

/* 8 processes of 8 threads each. */
TEST_NEEDS(no_two_processes_get_one_id, NEEDS_SHARED)
{
    struct fixture *f = *state;
    size_t size = PROCESSES * THREADS * A_THREAD * sizeof(struct given);
    struct given *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[PROCESSES];

    assert_true(all != MAP_FAILED);
    create(f, "strict", 0, SET(0));
    create(f, "process", 0, SET(0));
    suite_close(&f->e);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct usher_engine *e = engine_open(f);
            const char *wrong = crowd(e, all + i * THREADS * A_THREAD);

            if (wrong != NULL)
                print_error("%s: %s\n", wrong, usher_message());
            usher_close(e);
            _exit(wrong == NULL ? 0 : 1);
        }
        assert_true(pids[i] > 0);
    }
    f->e = engine_open(f);
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    check_all(all, PROCESSES * THREADS);
    (void)munmap(all, size);
}
