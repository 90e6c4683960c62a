/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store of serials: spec/serials.md row by row.  As in suite.c a twin, which
 * is a memory store, gets the same commands, and must give the same answer and have the same digest
 * after every command.
 */
#include "lib/test.h"

#include <pthread.h>

#include "conformance/fixture.h"
#include "core/pack.h"
#include "core/verbs.h"
#include "lib/calls.h"
#include "change/request_cache.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define LEAP INT64_C(1709164800000) /* 2024-02-29 00:00 UTC */

static int set_up(void **state)
{
    return fixture_begin(state, USHER_SERIAL, NULL, NULL);
}

TEST_EACH(set_up, fixture_end);

static const char *serial(struct fixture *f, uint64_t i)
{
    (void)usher_serial_text(&f->r, i, f->serial, sizeof f->serial);
    return f->serial;
}

/* The one that `take` gives. */
#define assert_taken(f, rule, want)                  \
    do {                                             \
        ok(f, "take " rule);                         \
        assert_int_equal((f)->r.of.serial.count, 1); \
        assert_string_equal(serial(f, 0), want);     \
    } while (0)

static const struct usher_serial_stock *stock(struct fixture *f, const char *rule)
{
    ok(f, "check %s", rule);
    return &f->r.of.serial.of.stock;
}

/* ---- S1 to S5: the seed's rule ------------------------------------------------------ */

TEST(the_seeds_rule_is_filled_taken_and_exhausted)
{
    struct fixture *f = *state;

    ok(f, "rule ord prefix=O date=%%Y%%m%%d base=1000 max=12 critical=2 batch=4");
    ok(f, "fill ord 5");
    assert_int_equal(f->r.of.serial.count, 5);
    assert_int_equal(f->r.of.serial.left, 7);
    assert_int_equal(stock(f, "ord")->available, 5);
    assert_taken(f, "ord", "O202311141001");
    assert_taken(f, "ord", "O202311141002");
    assert_int_equal(stock(f, "ord")->available, 3);
    assert_int_equal(stock(f, "ord")->recent, 2);
    assert_int_equal(stock(f, "ord")->longterm, 2);
    ok(f, "fill ord 100"); /* stops at max */
    assert_int_equal(f->r.of.serial.count, 7);
    assert_int_equal(f->r.of.serial.left, 0);
    full(f, "fill ord 1");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_EXHAUSTED);
    full(f, "take ord n=100");
    assert_int_equal(f->r.of.serial.left, 10);
    ok(f, "take ord n=10");
    assert_string_equal(serial(f, 9), "O202311141012");
    assert_string_equal(serial(f, 10), "");
    empty(f, "take ord");
    assert_int_equal(stock(f, "ord")->recent, 12); /* what gave nothing does not count */
    ok(f, "setmax ord 3");
    assert_int_equal(f->r.of.serial.max, 15);
    assert_taken(f, "ord", "O202311141013");
    ok(f, "setmaxcur ord 1000000");
    assert_int_equal(f->r.of.serial.cur, 1000000);
    assert_int_equal(f->r.of.serial.max, 1000000);
    same(f, "setmaxcur ord 999999");
    empty(f, "take ord");
    ok(f, "setmax ord 1");
    assert_taken(f, "ord", "O202311141001001");
}

TEST(setmax_and_setmaxcur_change_the_epoch)
{
    struct fixture *f = *state;
    uint64_t epoch;

    ok(f, "rule r max=10");
    epoch = f->r.epoch;
    ok(f, "fill r 4");
    assert_true(f->r.epoch == epoch);
    ok(f, "setmax r 1");
    assert_true(f->r.epoch != epoch);
    epoch = f->r.epoch;
    assert_int_equal(stock(f, "r")->available, 4); /* the stock is in the store, and good */
    assert_true(f->r.epoch == epoch);
    ok(f, "setmaxcur r 5");
    assert_true(f->r.epoch != epoch);
    assert_int_equal(stock(f, "r")->available, 0);
    assert_taken(f, "r", "6");
}

TEST(a_rule_is_shown_changed_and_deleted)
{
    struct fixture *f = *state;

    missing(f, "show r");
    missing(f, "take r");
    same(f, "delete r");
    ok(f, "rule plain"); /* all as it comes */
    ok(f, "rule plain");
    assert_int_equal(f->r.version, 1);
    assert_taken(f, "plain", "1");
    ok(f, "delete plain");
    ok(f, "rule plain");
    assert_taken(f, "plain", "2"); /* what was made and not taken continues */
    ok(f, "rule r prefix=A suffix=/Z width=4 max=100");
    same(f, "rule r prefix=A width=4");
    ok(f, "rule r"); /* shown */
    assert_int_equal(f->r.version, 1);
    assert_taken(f, "r", "A0001/Z");
    ok(f, "rule r prefix= suffix= width=2");
    assert_taken(f, "r", "02");
    refused(f, "rule r base=7");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_KEPT);
    refused(f, "rule r step=7");
    refused(f, "rule r radix=16");
    refused(f, "rule r mode=gapfree");
    refused(f, "rule r max=1");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_ROOM);
    ok(f, "fill r 50");
    refused(f, "rule r width=1");
    ok(f, "delete r");
    missing(f, "take r");
    missing(f, "show r");
    same(f, "delete r");
    ok(f, "rule r prefix=B");
    ok(f, "take r");
    assert_string_equal(serial(f, 0), "B3");
}

TEST(wrong_rules_are_named)
{
    struct fixture *f = *state;

    invalid(f, "rule r check=luhn radix=16");
    assert_non_null(strstr(f->r.message, "check"));
    invalid(f, "rule r reset=day");
    assert_non_null(strstr(f->r.message, "reset"));
    invalid(f, "rule r reset=day date=%%Y%%m");
    invalid(f, "rule r reset=month date=%%Y%%d");
    invalid(f, "rule r date=%%Q");
    assert_non_null(strstr(f->r.message, "date"));
    invalid(f, "rule r prefix=%049d", 0);
    assert_non_null(strstr(f->r.message, "prefix"));
    invalid(f, "rule r suffix=a\tb");
    invalid(f, "rule r radix=9");
    invalid(f, "rule r radix=37");
    invalid(f, "rule r start=0");
    invalid(f, "rule r step=0");
    invalid(f, "rule r width=41");
    missing(f, "show r");
    ok(f, "rule r radix=36 check=mod37-2");
    invalid(f, "rule r check=damm");
    invalid(f, "take r n=1000001");
    invalid(f, "take r n=0");
    invalid(f, "fill r 0");
    invalid(f, "setmax r 0");
    invalid(f, "parse r no~");
    ok(f, "take r");
}

/* ---- S15: 64 bits ------------------------------------------------------------------- */

TEST(serials_are_right_at_every_power_of_ten_and_of_two)
{
    struct fixture *f = *state;
    int64_t edge[24], power = 1;
    int n = 0;

    for (int i = 1; i <= 18; i++)
        edge[n++] = power *= 10;
    edge[n++] = INT64_C(1) << 53;
    edge[n++] = INT64_C(1) << 62;
    ok(f, "rule r prefix=N batch=7 critical=3");
    for (int i = 0; i < n; i++) {
        int64_t next = edge[i] - 4;
        char want[32];

        /* edges in ascending order; 2^53 is below 10^16 */
        if (i >= 18)
            continue;
        if (edge[i] > 10)
            ok(f, "setmaxcur r %" PRId64, next - 1);
        else
            next = 1;
        for (int k = 0; k < 12; k++) {
            (void)snprintf(want, sizeof want, "N%" PRId64, next++);
            ok(f, "take r");
            assert_string_equal(serial(f, 0), want);
            ok(f, "parse r %s", want);
            assert_true(f->r.of.serial.of.parts.number == next - 1);
        }
    }
    for (int i = 18; i < n; i++) {
        char rule[16], want[32];

        (void)snprintf(rule, sizeof rule, "p%d", i);
        ok(f, "rule %s stamp=fill", rule);
        ok(f, "setmaxcur %s %" PRId64, rule, edge[i] - 4);
        ok(f, "fill %s 3", rule);
        ok(f, "fill %s 3", rule);
        ok(f, "take %s n=8", rule);
        assert_int_equal(f->r.of.serial.count, 8);
        for (int k = 0; k < 8; k++) {
            (void)snprintf(want, sizeof want, "%" PRId64, edge[i] - 3 + k);
            assert_string_equal(serial(f, (uint64_t)k), want);
        }
    }
}

TEST(numbers_end_where_63_bits_end)
{
    struct fixture *f = *state;

    ok(f, "rule r critical=5 requests=10");
    ok(f, "setmaxcur r %" PRId64, INT64_MAX - 3);
    full(f, "setmax r 1");
    assert_taken(f, "r", "9223372036854775805");
    assert_int_equal(f->r.of.serial.cur, INT64_MAX);
    full(f, "take r n=1000000");
    ok(f, "take r n=2");
    assert_string_equal(serial(f, 1), "9223372036854775807");
    empty(f, "take r");
    full(f, "fill r 1");
    full(f, "tick r");
    same(f, "setmaxcur r %" PRId64, INT64_MAX);
    /* base and step use the room up, too */
    ok(f, "rule s base=%" PRId64 " step=1000000", INT64_C(9223372036852775807));
    full(f, "take s n=9");
    ok(f, "take s n=2");
    assert_string_equal(serial(f, 1), "9223372036854775807");
    empty(f, "take s");
}

/* ---- S6, S7: demand ----------------------------------------------------------------- */

TEST(a_take_that_leaves_little_makes_more)
{
    struct fixture *f = *state;

    ok(f, "rule r critical=3 batch=10 max=1000");
    ok(f, "take r");
    assert_int_equal(stock(f, "r")->available, 3 + 2); /* critical, and twice what was taken */
    ok(f, "take r");
    assert_int_equal(stock(f, "r")->available, 4);
    ok(f, "take r n=50"); /* more than a batch is made when it is asked for */
    assert_int_equal(f->r.of.serial.count, 50);
    assert_int_equal(stock(f, "r")->available, 10);
    ok(f, "take r n=948");
    assert_int_equal(f->r.of.serial.count, 948);
    empty(f, "take r");
}

TEST(windows_slide_and_a_tick_follows_them)
{
    struct fixture *f = *state;

    ok(f, "rule r batch=1000");
    ok(f, "fill r 100");
    for (int i = 0; i < 10; i++)
        ok(f, "take r n=10");
    assert_int_equal(stock(f, "r")->recent, 100);
    f->now += 31 * MINUTE;
    assert_int_equal(stock(f, "r")->recent, 0);
    assert_int_equal(stock(f, "r")->longterm, 100);
    ok(f, "take r n=60");
    assert_int_equal(stock(f, "r")->recent, 60);
    assert_int_equal(stock(f, "r")->longterm, 160);
    assert_int_equal(stock(f, "r")->target, 60); /* falling: no more than what there was */
    f->now += 31 * MINUTE;
    assert_int_equal(stock(f, "r")->longterm, 60);
    assert_int_equal(stock(f, "r")->target, 1);
    f->now += 31 * MINUTE;
    assert_int_equal(stock(f, "r")->longterm, 0);
    ok(f, "setmaxcur r 10000");
    ok(f, "tick r");
    assert_int_equal(f->r.of.serial.count, 1);
    same(f, "tick r");
    ok(f, "take r n=500");
    ok(f, "rule r batch=20");
    ok(f, "take r n=%" PRId64, stock(f, "r")->available);
    ok(f, "tick r");
    assert_int_equal(f->r.of.serial.count, 20);
}

/* ---- S10: format -------------------------------------------------------------------- */

TEST(each_format_is_printed_and_parsed)
{
    struct fixture *f = *state;

    ok(f, "rule luhn width=8 check=luhn base=4992738 step=100000");
    ok(f, "take luhn");
    assert_string_equal(serial(f, 0), "050927383");
    ok(f, "parse luhn 050927383");
    assert_int_equal(f->r.of.serial.of.parts.number, 1);
    invalid(f, "parse luhn 050927382");
    ok(f, "rule hex prefix=0x radix=16 width=4 base=65533 overflow=widen");
    assert_taken(f, "hex", "0xFFFE");
    ok(f, "take hex n=2");
    assert_string_equal(serial(f, 1), "0x10000");
    ok(f, "rule two width=2 base=97");
    full(f, "take two n=9");
    assert_int_equal(f->r.of.serial.left, 2);
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_EXHAUSTED);
    ok(f, "take two n=2");
    empty(f, "take two");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_EXHAUSTED);
    ok(f, "rule two overflow=widen");
    assert_taken(f, "two", "100");
    ok(f, "rule d date=%%Y/%%j/ check=verhoeff suffix=.pdf");
    ok(f, "take d");
    ok(f, "parse d %s", serial(f, 0));
    assert_int_equal(f->r.of.serial.of.parts.date_size, 9);
}

/* ---- S11: periods ------------------------------------------------------------------- */

TEST(a_day_begins_at_midnight_in_the_zone)
{
    struct fixture *f = *state;
    int64_t midnight = LEAP + DAY - 8 * HOUR; /* 2024-03-01 00:00 in UTC+8 */

    f->now = midnight - 1;
    ok(f, "rule r date=%%Y%%m%%d reset=day zone=480 width=3");
    assert_taken(f, "r", "20240229001");
    assert_taken(f, "r", "20240229002");
    ok(f, "fill r 10"); /* of a day that is over soon */
    f->now = midnight;
    assert_int_equal(stock(f, "r")->available, 0);
    assert_taken(f, "r", "20240301001");
    f->now = midnight - HOUR; /* set back over midnight: nothing starts again */
    assert_taken(f, "r", "20240301002");
    f->now = midnight + DAY - 1;
    assert_taken(f, "r", "20240301003");
    f->now = midnight + DAY;
    assert_taken(f, "r", "20240302001");
}

TEST(counter_restarts_each_month_and_year)
{
    struct fixture *f = *state;

    f->now = LEAP;
    ok(f, "rule m date=%%Y%%m- reset=month start=5");
    ok(f, "rule y date=%%y- reset=year");
    ok(f, "take y n=3");
    assert_taken(f, "m", "202402-5");
    f->now = LEAP + DAY - 1;
    assert_taken(f, "m", "202402-6");
    f->now = LEAP + DAY;
    assert_taken(f, "m", "202403-5");
    assert_taken(f, "y", "24-4");
    f->now = LEAP + 307 * DAY - 1;
    assert_taken(f, "y", "24-5");
    f->now = LEAP + 307 * DAY; /* 2025-01-01 */
    assert_taken(f, "y", "25-1");
    assert_taken(f, "m", "202501-5");
}

TEST(rule_that_gets_periods_does_not_restart_at_once)
{
    struct fixture *f = *state;

    ok(f, "rule r date=%%Y%%m%%d-");
    assert_taken(f, "r", "20231114-1");
    ok(f, "rule r reset=day");
    assert_taken(f, "r", "20231114-2");
    f->now -= DAY; /* set back: a rule's time does not go back */
    assert_taken(f, "r", "20231114-3");
    f->now = MORNING + DAY;
    assert_taken(f, "r", "20231115-1");
}

TEST(no_day_comes_twice_when_the_zone_changes)
{
    struct fixture *f = *state;

    f->now = LEAP + 9 * HOUR;
    ok(f, "rule r date=%%Y%%m%%d- reset=day zone=480");
    ok(f, "rule r zone=-600"); /* nothing made yet */
    ok(f, "rule r zone=480");
    ok(f, "take r n=3");
    assert_string_equal(serial(f, 2), "20240229-3");
    f->now += DAY;
    ok(f, "rule r zone=479"); /* no number of the new day */
    refused(f, "rule r zone=-600");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_BACK);
    assert_taken(f, "r", "20240301-1");
    refused(f, "rule r zone=-600 reset=none");
    ok(f, "rule r reset=none");
    refused(f, "rule r zone=-600");
    ok(f, "delete r");
    refused(f, "rule r date=%%Y%%m%%d- reset=day zone=-600");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_BACK);
    ok(f, "rule r date=%%Y%%m%%d- zone=900 reset=day");
    assert_taken(f, "r", "20240302-1");
    refused(f, "rule r zone=480");
    f->now += DAY + 7 * HOUR; /* the third there, too */
    ok(f, "rule r zone=480");
    assert_taken(f, "r", "20240303-1");
    f->now += 12 * HOUR;
    ok(f, "rule r zone=0"); /* the same day there */
    assert_taken(f, "r", "20240303-2");
}

TEST(stock_is_not_dated_back_by_another_zone)
{
    struct fixture *f = *state;

    f->now = LEAP + HOUR;
    ok(f, "rule s date=%%Y-%%j- reset=day stamp=fill");
    ok(f, "rule g date=%%Y-%%j- reset=day mode=gapfree");
    assert_taken(f, "s", "2024-060-1");
    f->now += DAY;
    ok(f, "fill s 2"); /* at one o'clock */
    ok(f, "reserve g lease=%" PRId64, 9 * DAY);
    f->now += 10 * HOUR;
    ok(f, "rule s zone=-120");
    assert_taken(f, "s", "2024-061-1");
    refused(f, "rule g zone=60");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_HELD);
    ok(f, "rule g zone=0 prefix=G");
}

TEST(a_check_digit_does_not_come_or_go_once_numbers_were_made)
{
    struct fixture *f = *state;

    ok(f, "rule r check=luhn");
    ok(f, "rule r check=none");
    ok(f, "rule r check=luhn");
    assert_taken(f, "r", "18");
    refused(f, "rule r check=none"); /* 18 would come again */
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_KEPT);
    ok(f, "rule r check=damm");
    assert_taken(f, "r", "21");
}

TEST(another_start_repeats_no_number)
{
    struct fixture *f = *state;

    ok(f, "rule r max=5");
    ok(f, "take r n=5");
    ok(f, "rule r start=6 max=100");
    ok(f, "rule r start=1");
    refused(f, "rule r base=3");
    assert_taken(f, "r", "6");
    ok(f, "delete r");
    ok(f, "rule r start=%" PRId64, f->r.of.serial.cur + 1);
    ok(f, "rule r start=1");
    assert_int_not_equal(f->r.of.serial.cur, 0);
    ok(f, "rule g mode=gapfree date=%%d%%m%%Y- reset=day");
    ok(f, "reserve g");
    ok(f, "confirm g %s token=%" PRIu64, serial(f, 0), f->r.of.serial.token);
    ok(f, "rule g start=2");
    ok(f, "rule g start=1");
    ok(f, "reserve g");
    assert_string_equal(serial(f, 0), "14112023-2");
    ok(f, "confirm g %s token=%" PRIu64, serial(f, 0), f->r.of.serial.token);
    f->now += DAY;
    ok(f, "rule g start=7"); /* a new day */
    ok(f, "reserve g");
    assert_string_equal(serial(f, 0), "15112023-7");
}

/* ---- S21, S22: settings that change -------------------------------------------------- */

#define MARCH (LEAP + 5 * DAY) /* 2024-03-05 00:00 UTC */

TEST(no_serial_comes_twice_when_reset_goes_back)
{
    struct fixture *f = *state;

    f->now = MARCH;
    ok(f, "rule p prefix=P date=%%Y%%m- reset=month width=3");
    ok(f, "take p n=6");
    assert_string_equal(serial(f, 5), "P202403-006");
    f->now = MARCH + 5 * DAY;
    ok(f, "rule p date=%%Y%%m%%d- reset=day");
    assert_taken(f, "p", "P20240310-007"); /* the month's counter continues */
    f->now += DAY;
    ok(f, "take p n=2");
    assert_string_equal(serial(f, 0), "P20240311-001");
    ok(f, "rule p date=%%Y%%m- reset=month");
    assert_taken(f, "p", "P202403-008");
    ok(f, "rule p date=%%Y- reset=year");
    assert_taken(f, "p", "P2024-009");
    f->now += 30 * DAY;
    ok(f, "rule p date=%%Y%%m- reset=month"); /* April, in the same year */
    assert_taken(f, "p", "P202404-010");
    f->now += 30 * DAY;
    assert_taken(f, "p", "P202405-001");
    ok(f, "rule p date=%%Y- reset=year");
    assert_taken(f, "p", "P2024-011");
    f->now += 300 * DAY;
    assert_taken(f, "p", "P2025-001");
    ok(f, "rule p date= reset=none");
    assert_taken(f, "p", "P012");
    ok(f, "rule p date=%%Y- reset=year");
    assert_taken(f, "p", "P2025-013");
}

TEST(a_confirmed_number_stays_when_reset_goes_back)
{
    struct fixture *f = *state;
    static const char *const want[] = { "202403-1", "202403-2", "20240305-3", "20240306-1",
                                        "202403-4" };

    f->now = MARCH;
    ok(f, "rule g date=%%Y%%m- reset=month mode=gapfree");
    for (unsigned i = 0; i < 5; i++) {
        if (i == 2)
            ok(f, "rule g date=%%Y%%m%%d- reset=day");
        if (i == 3)
            f->now += DAY;
        if (i == 4)
            ok(f, "rule g date=%%Y%%m- reset=month");
        ok(f, "reserve g");
        assert_string_equal(serial(f, 0), want[i]);
        ok(f, "confirm g %s token=%" PRIu64, want[i], f->r.of.serial.token);
    }
}

TEST(stock_is_made_again_when_the_period_changes)
{
    struct fixture *f = *state;

    f->now = MARCH;
    ok(f, "rule s date=%%Y%%m%%d- reset=month stamp=fill");
    ok(f, "fill s 9");
    assert_taken(f, "s", "20240305-1");
    f->now += DAY;
    assert_taken(f, "s", "20240305-2"); /* the date of the fill */
    ok(f, "rule s reset=day");
    assert_taken(f, "s", "20240306-3");
    assert_int_equal(stock(f, "s")->taken, 3);
}

TEST(a_zone_that_moves_to_the_next_day_begins_it)
{
    struct fixture *f = *state;

    f->now = MARCH - 110 * MINUTE; /* 23:10 of the fourth, one hour east */
    ok(f, "rule u date=%%Y%%m%%d- reset=day zone=60 mode=gapfree");
    ok(f, "reserve u");
    assert_string_equal(serial(f, 0), "20240304-1");
    ok(f, "confirm u 20240304-1 token=%" PRIu64, f->r.of.serial.token);
    f->now += 20 * MINUTE;
    ok(f, "rule u zone=150"); /* 00:00 of the fifth */
    ok(f, "reserve u");
    assert_string_equal(serial(f, 0), "20240305-1");
    f->now = MARCH - 30 * MINUTE;
    ok(f, "rule y prefix=Y date=%%Y%%m- reset=month");
    ok(f, "take y n=3");
    f->now = LEAP + DAY + 30 * DAY + 23 * HOUR + 30 * MINUTE; /* the last of March */
    assert_taken(f, "y", "Y202403-4");
    ok(f, "rule y zone=60");
    assert_taken(f, "y", "Y202404-1");
    ok(f, "rule y reset=year"); /* the year has the four of March */
    assert_taken(f, "y", "Y202404-5");
}

TEST(a_zone_without_a_date_brings_no_day_again)
{
    struct fixture *f = *state;

    f->now = MARCH - 30 * MINUTE;
    ok(f, "rule z date=%%Y%%m%%d- reset=day zone=60");
    assert_taken(f, "z", "20240305-1");
    ok(f, "rule z date= reset=none");
    ok(f, "rule z zone=0"); /* the fourth, which no serial shows */
    refused(f, "rule z date=%%Y%%m%%d- reset=day");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_BACK);
    f->now = MARCH;
    ok(f, "rule z date=%%Y%%m%%d- reset=day");
    assert_taken(f, "z", "20240305-2");
}

TEST(a_rule_made_again_continues_after_its_period)
{
    struct fixture *f = *state;

    f->now = MARCH;
    ok(f, "rule r prefix=B date=%%Y%%m- reset=month width=3");
    ok(f, "take r n=3");
    ok(f, "delete r");
    ok(f, "rule r prefix=C width=3");
    ok(f, "take r n=2");
    assert_string_equal(serial(f, 0), "C004");
    ok(f, "delete r");
    f->now += 26 * DAY; /* the last of March */
    ok(f, "rule r prefix=B date=%%Y%%m- reset=month width=3");
    assert_taken(f, "r", "B202403-006");
    ok(f, "delete r");
    f->now += DAY;
    ok(f, "rule r prefix=B date=%%Y%%m- reset=month width=3");
    assert_taken(f, "r", "B202404-001");
    ok(f, "delete r");
    ok(f, "rule r prefix=C width=3");
    assert_taken(f, "r", "C007");
}

/* S29. */
TEST(a_rule_made_again_gap_free_leaves_no_number_out)
{
    struct fixture *f = *state;

    ok(f, "rule r prefix=R");
    ok(f, "fill r 6");
    ok(f, "take r n=2");
    assert_true(stock(f, "r")->available >= 4);
    ok(f, "delete r");
    ok(f, "rule r prefix=R mode=gapfree");
    assert_int_equal(stock(f, "r")->taken, 2);
    ok(f, "reserve r");
    assert_string_equal(serial(f, 0), "R3");
    ok(f, "confirm r R3 token=%" PRIu64, f->r.of.serial.token);
    ok(f, "delete r");
    ok(f, "rule r prefix=R");
    assert_taken(f, "r", "R4");
}

/* S25. */
TEST(a_take_gets_all_or_says_how_many_are_left)
{
    struct fixture *f = *state;

    ok(f, "rule r width=2");
    ok(f, "fill r 90");
    full(f, "take r n=100");
    assert_int_equal(f->r.of.serial.left, 99);
    assert_int_equal(f->r.of.serial.n_rows, 0);
    ok(f, "take r n=97");
    full(f, "take r n=3");
    assert_int_equal(f->r.of.serial.left, 2);
    ok(f, "take r n=2");
    assert_string_equal(serial(f, 1), "99");
    empty(f, "take r n=3");
    empty(f, "take r");
}

TEST(commands_of_a_call_share_one_portion_of_leases)
{
    struct fixture *f = *state;
    uint64_t v;

    ok(f, "rule g mode=gapfree lease=1000");
    for (int i = 0; i < 300; i++)
        ok(f, "reserve g");
    v = f->r.version;
    f->now += 1000;
    in_portions(f, "reserve g owner=o%u", 256, USHER_OK, 64, 0);
    same(f, "sweep g");
    assert_int_equal(f->r.version, v + 300 + 256);
}

/* Reads wait, too: no command may be executed after a later one on its scope. */
TEST(reads_of_a_batch_wait_for_a_command_before_them)
{
    static const char *const lines[] = { "reserve g",         "show g",      "check g",
                                         "holds g",           "parse g 101", "show g 101",
                                         "changes g since=0", "rule g" };
    struct fixture *f = *state;

    no_twin(f);
    ok(f, "rule g mode=gapfree lease=1000 log=1000");
    for (int i = 0; i < 150; i++)
        ok(f, "reserve g");
    f->now += 1000;
    in_order(f->e, USHER_SERIAL, lines, sizeof lines / sizeof *lines);
}

TEST(a_rule_warns_of_a_batch_beyond_its_width)
{
    struct fixture *f = *state;

    ok(f, "rule r date=%%Y%%m%%d- reset=day width=3");
    assert_string_equal(f->r.message,
                        "batch=1000 is more than the 999 numbers that width=3 allows");
    ok(f, "rule r batch=999");
    assert_string_equal(f->r.message, "");
    ok(f, "rule r batch=1000 overflow=widen");
    assert_string_equal(f->r.message, "");
}

TEST(a_percent_sign_belongs_in_the_date)
{
    struct fixture *f = *state;

    invalid(f, "rule r prefix=%%Y-");
    assert_non_null(strstr(f->r.message, "prefix contains a %: dates belong in date="));
    invalid(f, "rule r suffix=/%%Y");
    assert_non_null(strstr(f->r.message, "suffix contains a %: dates belong in date="));
    ok(f, "rule r date=%%Y-");
}

/* F8. */
TEST(no_number_below_start_is_of_a_rule)
{
    struct fixture *f = *state;

    ok(f, "rule r prefix=V start=5 base=100 step=3");
    assert_taken(f, "r", "V115");
    invalid(f, "parse r V112");
    invalid(f, "parse r V116");
    invalid(f, "show r V112");
    ok(f, "parse r V115");
    ok(f, "rule r start=3");
    ok(f, "rule r start=9");
    ok(f, "parse r V115");
    ok(f, "parse r V109");
    invalid(f, "parse r V106");
    ok(f, "delete r");
    ok(f, "rule r prefix=V start=9 base=100 step=3");
    ok(f, "parse r V115");
    invalid(f, "parse r V106");
}

/* The identity of a store is no part of its digest. */
TEST(a_rule_with_a_grant_has_one_digest_on_all_stores)
{
    struct fixture *f = *state;

    ok(f, "rule s mode=gapfree requests=5 authority=1");
    ok(f, "grant s 0 10");
    digests_agree(f, "s");
}

TEST(the_date_is_that_of_the_take_or_that_of_the_fill)
{
    struct fixture *f = *state;

    ok(f, "rule t date=%%d-");
    ok(f, "rule s date=%%d- stamp=fill");
    ok(f, "fill t 3");
    ok(f, "fill s 3");
    f->now += DAY;
    ok(f, "fill s 2");
    assert_taken(f, "t", "15-1");
    assert_taken(f, "s", "14-1");
    f->now += DAY;
    ok(f, "take s n=7");
    assert_int_equal(f->r.of.serial.n_rows, 3);
    assert_string_equal(serial(f, 0), "14-2");
    assert_string_equal(serial(f, 1), "14-3");
    assert_string_equal(serial(f, 2), "15-4");
    assert_string_equal(serial(f, 3), "15-5");
    assert_string_equal(serial(f, 4), "16-6");
    assert_string_equal(serial(f, 6), "16-8");
    for (int i = 0; i < 31; i++)
        ok(f, "fill s 1");
    full(f, "fill s 1");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_FILLS);
    f->now += DAY;
    ok(f, "rule s stamp=take");
    ok(f, "rule s stamp=fill");
    ok(f, "take s n=2");
    assert_string_equal(serial(f, 1), "17-10");
}

TEST(serials_are_printed_many_at_once_as_one_by_one)
{
    struct fixture *f = *state;
    static const char *const forms[] = { "check=none", "check=luhn",
                                         "radix=36 check=mod37-2 suffix=/Z" };

    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        char all[4096];
        uint64_t n = 0, k;

        ok(f,
           "rule m%zu prefix=A date=%%y%%m%%d. width=3 step=7 base=950 overflow=widen stamp=fill %s",
           form, forms[form]);
        ok(f, "fill m%zu 5", form);
        f->now += DAY;
        ok(f, "fill m%zu 30", form);
        ok(f, "take m%zu n=35", form);
        assert_int_equal(f->r.of.serial.n_rows, 2);
        /* over the end of a row, and of a buffer, which ends at any byte */
        for (size_t room = USHER_SERIAL_TEXT_MAX + 1; n < 35; n += k, room += 13) {
            const char *one = all;

            k = usher_serial_texts(&f->r, n, all, room);
            assert_in_range(k, 1, 35 - n);
            for (uint64_t i = 0; i < k; i++, one += strlen(one) + 1)
                assert_string_equal(one, serial(f, n + i));
            assert_true(n + k == 35 || (size_t)(one - all) + strlen(serial(f, n + k)) + 1 > room);
        }
        assert_int_equal(usher_serial_texts(&f->r, 0, all, sizeof all), 35);
        assert_int_equal(usher_serial_texts(&f->r, 35, all, sizeof all), 0);
        assert_int_equal(usher_serial_texts(&f->r, 0, all, strlen(serial(f, 0))), 0);
    }
    assert_int_equal(usher_serial_texts(NULL, 0, NULL, 0), 0);
}

/* ---- S14: repeats ------------------------------------------------------------------- */

TEST(a_repeat_gets_the_first_serials)
{
    struct fixture *f = *state;

    ok(f, "rule r prefix=A date=%%d stamp=fill");
    ok(f, "fill r 2");
    f->now += DAY;
    ok(f, "take r n=5 req=one");
    assert_string_equal(serial(f, 4), "A155");
    ok(f, "take r n=5");
    ok(f, "rule r prefix=B");
    f->now += MINUTE;
    ok(f, "take r n=5 req=one");
    assert_true(f->r.repeated);
    assert_int_equal(f->r.of.serial.count, 5);
    assert_string_equal(serial(f, 0), "A141");
    assert_string_equal(serial(f, 4), "A155");
    ok(f, "fill r 7 req=two");
    ok(f, "fill r 7 req=two");
    assert_true(f->r.repeated);
    invalid(f, "take r req=two");   /* an id is for one verb */
    invalid(f, "fill r 8 req=two"); /* … and for the same arguments */
    invalid(f, "take r n=4 req=one");
    full(f, "setmax r 5 req=four");
}

/* ---- S12: gap-free ------------------------------------------------------------------ */

TEST(numbers_that_come_back_go_out_first_and_in_order)
{
    struct fixture *f = *state;
    uint64_t token[6];
    char number[6][USHER_SERIAL_TEXT_MAX + 1];

    ok(f, "rule i prefix=I mode=gapfree max=6");
    refused(f, "take i");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_MODE);
    refused(f, "fill i 3");
    refused(f, "tick i");
    refused(f, "setmaxcur i 3");
    for (int i = 0; i < 6; i++) {
        ok(f, "reserve i owner=o%d", i);
        token[i] = f->r.of.serial.token;
        memcpy(number[i], serial(f, 0), USHER_SERIAL_TEXT_MAX + 1);
    }
    assert_string_equal(number[5], "I6");
    empty(f, "reserve i");
    same(f, "reserve i owner=o3");
    assert_string_equal(serial(f, 0), "I4");
    assert_true(f->r.of.serial.token == token[3]);
    ok(f, "return i I5 token=%" PRIu64, token[4]);
    ok(f, "return i I2 token=%" PRIu64, token[1]);
    ok(f, "confirm i I1 token=%" PRIu64, token[0]);
    same(f, "confirm i I1 token=%" PRIu64, token[0]);
    stale(f, "confirm i I3 token=%" PRIu64, token[3]); /* the token of another one */
    stale(f, "return i I3 token=0");
    lost(f, "return i I3 token=999999"); /* no owner has it yet, or any more */
    lost(f, "void i I9 token=999999");   /* nor is it taken: no store has gone before this one */
    invalid(f, "return i J3 token=%" PRIu64, token[2]);
    invalid(f, "return i I03 token=%" PRIu64, token[2]);
    ok(f, "void i I3 token=%" PRIu64, token[2]);
    ok(f, "reserve i owner=o9");
    assert_string_equal(serial(f, 0), "I2");
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "I5");
    empty(f, "reserve i");
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 4);
    ok(f, "holds i owner=o9");
    assert_int_equal(f->r.of.serial.n_rows, 1);
    ok(f, "holds i n=2");
    assert_true(f->r.of.serial.more);
    refused(f, "delete i");
    refused(f, "rule i reset=year date=%%Y");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_HELD);
}

/* state and token of the number that `show` or a stale answer returns */
#define assert_stands(f, want, of_token)                                                  \
    do {                                                                                  \
        assert_int_equal((f)->r.of.serial.n_rows, 1);                                     \
        assert_string_equal(usher_serial_state_word((f)->r.of.serial.rows->state), want); \
        assert_true((f)->r.of.serial.token == (of_token));                                \
        if ((f)->r.status == USHER_STALE) /* a hold's token is its holder's */            \
            assert_int_equal((f)->r.of.serial.rows->token, 0);                            \
    } while (0)

/* The authority has granted more than the store has recorded.  A lost store issued the numbers
 * between, and they stay in doubt until a client settles them. */
TEST(serials_of_a_lost_store_are_in_doubt)
{
    struct fixture *f = *state;
    uint64_t mine, held, of_lost, ended;

    if (under_test.durable)
        no_twin(f); /* a store that has an identity notes it down with a grant */
    ok(f, "rule i prefix=I mode=gapfree authority=1 lease=60000");
    ok(f, "grant i 0 3");
    assert_int_equal(f->r.of.serial.count, 0);
    ok(f, "reserve i");
    mine = f->r.of.serial.token;
    ok(f, "grant i 9 12");
    assert_int_equal(f->r.of.serial.count, 8);
    same(f, "grant i 9 12");
    ok(f, "show i serial=I5");
    of_lost = f->r.of.serial.token;
    assert_stands(f, "lost", of_lost);
    ok(f, "show i serial=I9");
    assert_stands(f, "lost", of_lost);
    ok(f, "show i serial=I10");
    assert_stands(f, "free", 0);
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "I10");
    held = f->r.of.serial.token;
    stale(f, "confirm i I5 token=%" PRIu64, mine);
    assert_stands(f, "lost", 0);
    /* nor do tokens which no hold has: that of a change of the rule, that of a hold which ended */
    stale(f, "confirm i I5 token=1");
    assert_stands(f, "lost", 0);
    ok(f, "reserve i");
    ended = f->r.of.serial.token;
    ok(f, "void i I11 token=%" PRIu64, ended);
    for (int i = 0; i < 3; i++) {
        static const char *const verbs[] = { "confirm", "return", "void" };

        stale(f, "%s i I5 token=%" PRIu64, verbs[i], ended);
        assert_stands(f, "lost", 0);
    }
    ok(f, "confirm i I5 token=%" PRIu64, of_lost);
    assert_stands(f, "confirmed", f->r.version);
    same(f, "confirm i I5 token=%" PRIu64, of_lost);
    stale(f, "void i I5 token=%" PRIu64, of_lost);
    ok(f, "return i I9 token=%" PRIu64, of_lost); /* and never goes out again */
    same(f, "return i I9 token=%" PRIu64, of_lost);
    same(f, "void i I9 token=%" PRIu64, of_lost);
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 4);
    assert_true(f->r.of.serial.rows[2].first == 2 && f->r.of.serial.rows[2].n == 3);
    assert_true(f->r.of.serial.rows[3].first == 6 && f->r.of.serial.rows[3].n == 3);
    assert_true(f->r.of.serial.rows[3].token == of_lost);
    ok(f, "holds i n=3");
    assert_true(f->r.of.serial.more);
    invalid(f, "void i I6 token=%" PRIu64 " n=4", of_lost);
    invalid(f, "void i I10 token=%" PRIu64 " n=2", held);
    ok(f, "void i I7 token=%" PRIu64 " n=2", of_lost);
    assert_true(f->r.of.serial.rows[0].first == 7 && f->r.of.serial.rows[0].n == 2);
    same(f, "void i I7 token=%" PRIu64 " n=2", of_lost);
    ok(f, "confirm i I2 token=%" PRIu64 " n=3 req=r1", of_lost);
    ok(f, "confirm i I2 token=%" PRIu64 " n=3 req=r1", of_lost);
    assert_true(f->r.repeated);
    ok(f, "confirm i I1 token=%" PRIu64, mine);
    ok(f, "void i I10 token=%" PRIu64, held);
    refused(f, "delete i");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_HELD);
    refused(f, "rule i reset=year date=%%Y");
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 1);
    ok(f, "confirm i I6 token=%" PRIu64, of_lost);
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 0);
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "I12");
    ok(f, "void i I12 token=%" PRIu64, f->r.of.serial.token);
    ok(f, "delete i");
}

/* A client of the lost store may have used it as well. */
TEST(a_number_held_before_a_loss_is_in_doubt)
{
    struct fixture *f = *state;
    uint64_t token[6], other;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i prefix=I mode=gapfree authority=1 lease=60000");
    ok(f, "grant i 0 8");
    for (int i = 0; i < 6; i++) {
        ok(f, "reserve i owner=o%d", i + 1);
        token[i] = f->r.of.serial.token;
    }
    ok(f, "return i I4 token=%" PRIu64, token[3]);
    ok(f, "grant i 9 20");
    assert_int_equal(stock(f, "i")->doubt, 5);
    assert_true(stock(f, "i")->held == 0 && stock(f, "i")->returned == 0);
    ok(f, "show i serial=I1");
    assert_stands(f, "doubt", token[0]);
    assert_true(f->r.of.serial.rows->owner.size == 2 && f->r.of.serial.until_ms == 0);
    /* its holder notices nothing */
    stale(f, "confirm i I2 token=%" PRIu64, token[0]);
    assert_stands(f, "doubt", 0);
    for (int i = 0; i < 2; i++) {
        expect(f, __FILE__, __LINE__, i == 0 ? USHER_OK : USHER_SAME, "return i I1 token=%" PRIu64,
               token[0]);
        assert_stands(f, "voided", token[0]);
        expect(f, __FILE__, __LINE__, i == 0 ? USHER_OK : USHER_SAME, "confirm i I2 token=%" PRIu64,
               token[1]);
        assert_stands(f, "confirmed", token[1]);
        expect(f, __FILE__, __LINE__, i == 0 ? USHER_OK : USHER_SAME, "void i I5 token=%" PRIu64,
               token[4]);
        assert_stands(f, "voided", token[4]);
    }
    /* its owner gets another number, no clock ends it, and no other caller gets it */
    ok(f, "reserve i owner=o3");
    assert_string_equal(serial(f, 0), "I10");
    other = f->r.of.serial.token;
    same(f, "reserve i owner=o3");
    assert_string_equal(serial(f, 0), "I10");
    f->now += 60000;
    ok(f, "sweep i");
    ok(f, "show i serial=I3");
    assert_stands(f, "doubt", token[2]);
    ok(f, "show i serial=I10");
    assert_stands(f, "returned", other);
    ok(f, "reserve i owner=o3");
    assert_string_equal(serial(f, 0), "I10");
    /* one that was returned may have gone out again: it is lost, and listed */
    ok(f, "show i serial=I4");
    assert_stands(f, "lost", f->r.of.serial.rows->token);
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 5);
    assert_true(f->r.of.serial.rows[0].first == 3 && f->r.of.serial.rows[0].token == token[2]);
    assert_int_equal(f->r.of.serial.rows[0].state, USHER_SERIAL_STATE_DOUBT);
    assert_true(f->r.of.serial.rows[3].first == 4 && f->r.of.serial.rows[3].n == 1);
    assert_int_equal(f->r.of.serial.rows[3].state, USHER_SERIAL_STATE_LOST);
    ok(f, "confirm i I4 token=%" PRIu64, f->r.of.serial.rows[3].token);
    stale(f, "return i I4 token=%" PRIu64, token[3]);
    ok(f, "holds i doubt=1");
    assert_int_equal(f->r.of.serial.n_rows, 2);
    ok(f, "holds i owner=o3");
    assert_int_equal(f->r.of.serial.n_rows, 2);
    ok(f, "holds i owner=o3 doubt=1");
    assert_int_equal(f->r.of.serial.n_rows, 1);
}

/* A row is of the serial that was asked for, or there is none. */
TEST(a_serial_is_shown_under_its_own_name)
{
    static const char *const events[] = { "confirm", "return", "void" };
    struct fixture *f = *state;
    uint64_t token;

    f->now = LEAP + 10 * HOUR;
    ok(f, "rule d prefix=D date=%%Y%%m%%d- width=3");
    ok(f, "take d");
    assert_string_equal(serial(f, 0), "D20240229-001");
    f->now += DAY;
    ok(f, "show d serial=D20240229-001");
    assert_string_equal(serial(f, 0), "D20240229-001");
    assert_stands(f, "past", 0);
    ok(f, "show d serial=D20270228-002");
    invalid(f, "show d serial=D20240230-001"); /* no such day */
    ok(f, "rule q prefix=Q date=%%Y- reset=year width=2");
    ok(f, "take q n=3");
    ok(f, "show q serial=Q2027-02");
    assert_string_equal(serial(f, 0), "Q2027-02");
    assert_stands(f, "free", 0);
    ok(f, "show q serial=Q2021-02");
    assert_string_equal(serial(f, 0), "Q2021-02");
    assert_stands(f, "past", 0);
    ok(f, "rule g prefix=G date=%%Y%%m%%d- mode=gapfree requests=2 lease=0");
    ok(f, "reserve g owner=o");
    assert_string_equal(serial(f, 0), "G20240301-1");
    token = f->r.of.serial.token;
    for (int i = 0; i < 3; i++) {
        stale(f, "%s g G20240301-1 token=1", events[i]);
        assert_stands(f, "held", 0);
        assert_string_equal(serial(f, 0), "G20240301-1");
        stale(f, "%s g G20240302-1 token=%" PRIu64, events[i], token); /* is not its name */
        assert_int_equal(f->r.of.serial.n_rows, 0);
        assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_UNKNOWN);
        stale(f, "%s g G20240302-5 token=%" PRIu64, events[i], token);
        assert_stands(f, "free", 0);
        assert_string_equal(serial(f, 0), "G20240302-5");
    }
    invalid(f, "show g serial=G20240302-1");
    ok(f, "confirm g G20240301-1 token=%" PRIu64, token);
    for (int i = 0; i < 2; i++) {
        ok(f, "reserve g");
        ok(f, "void g %s token=%" PRIu64, serial(f, 0), f->r.of.serial.token);
    }
    f->now += DAY;
    ok(f, "show g serial=G20240301-1");
    assert_string_equal(serial(f, 0), "G20240301-1");
    assert_stands(f, "past", 0);
}

static void assert_unknown(struct fixture *f)
{
    assert_int_equal(f->r.of.serial.n_rows, 0);
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_UNKNOWN);
}

/* The number of a serial that was never issued may be confirmed or void as another serial. */
TEST(a_number_that_has_ended_is_found_by_its_issued_serial)
{
    static const char *const events[] = { "confirm", "return", "void" };
    static const char *const resets[] = { "none", "month" };
    struct fixture *f = *state;
    uint64_t token;

    f->now = LEAP - 15 * DAY + 10 * HOUR;
    for (int i = 0; i < 4; i++) {
        const char *end = i % 2 == 0 ? "confirm" : "void";

        ok(f, "rule r%d prefix=R date=%%Y%%m%%d- reset=%s mode=gapfree", i, resets[i / 2]);
        ok(f, "reserve r%d", i);
        assert_string_equal(serial(f, 0), "R20240214-1");
        token = f->r.of.serial.token;
        ok(f, "%s r%d R20240214-1 token=%" PRIu64, end, i, token);
        f->now += DAY;
        ok(f, "show r%d serial=R20240214-1", i);
        assert_string_equal(serial(f, 0), "R20240214-1");
        assert_stands(f, i % 2 == 0 ? "confirmed" : "voided", token);
        same(f, "%s r%d R20240214-1 token=%" PRIu64, end, i, token);
        invalid(f, "show r%d serial=R20240215-1", i); /* today's */
        assert_non_null(strstr(f->r.message, "unknown"));
        invalid(f, "show r%d serial=R20240216-1", i);
        for (int k = 0; k < 3; k++) {
            stale(f, "%s r%d R20240215-1 token=%" PRIu64, events[k], i, token);
            assert_unknown(f);
            stale(f, "%s r%d R20240215-1 token=1", events[k], i);
            if (token != 1)
                assert_unknown(f);
        }
        if (i < 2) { /* no period: there is one number 1 */
            invalid(f, "show r%d serial=R20240115-1", i);
        } else {
            ok(f, "show r%d serial=R20240115-1", i);
            assert_string_equal(serial(f, 0), "R20240115-1");
            assert_stands(f, "past", 0);
            ok(f, "show r%d serial=R20240315-1", i);
            assert_string_equal(serial(f, 0), "R20240315-1");
            assert_stands(f, "free", 0);
            stale(f, "void r%d R20240315-1 token=%" PRIu64, i, token);
            assert_string_equal(serial(f, 0), "R20240315-1");
        }
        f->now -= DAY;
    }
}

/* When numbers that are lost were printed is not known, until their holders show them. */
TEST(settled_lost_number_is_found_by_its_shown_serial)
{
    static const struct {
        const char *date, *was, *other;
    } rules[] = {
        { "%Y%m%d-", "20240229-", "20240301-" }, /* in a leap year, by then in another one */
        { "%m%d-", "0229-", "0301-" },
        { "%y.%j/", "24.060/", "25.060/" },
        { "%d%H%M%S-", "31235958-", "31235959-" },
        { "%Y%d.", "202431.", "202430." },
        { "%j-", "366-", "365-" },
        { "%H-", "23-", "22-" },
        { "%%%m-", "%11-", "%10-" },
    };
    struct fixture *f = *state;
    uint64_t of_lost;

    if (under_test.durable)
        no_twin(f);
    f->now = LEAP + 400 * DAY;
    for (size_t i = 0; i < 2 * sizeof rules / sizeof *rules; i++) {
        const char *was = rules[i / 2].was, *other = rules[i / 2].other;
        const char *end = i % 2 == 0 ? "confirm" : "void";

        ok(f, "rule r%zu prefix=R date=%s mode=gapfree authority=1 zone=60", i, rules[i / 2].date);
        ok(f, "grant r%zu 9 12", i);
        of_lost = f->r.version;
        f->now += 100 * DAY;
        stale(f, "confirm r%zu R%s5 token=1", i, was);
        assert_stands(f, "lost", 0);
        ok(f, "%s r%zu R%s5 token=%" PRIu64, end, i, was, of_lost);
        assert_int_equal(strncmp(serial(f, 0) + 1, was, strlen(was)), 0);
        same(f, "%s r%zu R%s5 token=%" PRIu64, end, i, was, of_lost);
        assert_int_equal(strncmp(serial(f, 0) + 1, was, strlen(was)), 0);
        f->now += DAY;
        ok(f, "show r%zu serial=R%s5", i, was);
        assert_int_equal(strncmp(serial(f, 0) + 1, was, strlen(was)), 0);
        assert_stands(f, i % 2 == 0 ? "confirmed" : "voided", f->r.of.serial.token);
        invalid(f, "show r%zu serial=R%s5", i, other);
        assert_true(f->r.of.serial.n_rows == 0);
        stale(f, "%s r%zu R%s5 token=%" PRIu64, end, i, other, of_lost);
        assert_unknown(f);
        f->now -= 101 * DAY;
    }
    /* there is no such day, and these numbers were never printed by another format */
    ok(f, "rule i prefix=I date=%%Y%%m%%d- mode=gapfree authority=1");
    ok(f, "grant i 9 12");
    stale(f, "confirm i I20230229-5 token=%" PRIu64, f->r.version);
    ok(f, "rule i suffix=/J");
    stale(f, "confirm i I20240229-5/J token=%" PRIu64, f->r.version - 1);
    assert_unknown(f);
    ok(f, "confirm i I20240229-5 token=%" PRIu64, f->r.version - 1);
    /* one that was returned may have gone out again under either format */
    ok(f, "rule j prefix=A mode=gapfree authority=1");
    ok(f, "grant j 0 5");
    ok(f, "reserve j");
    ok(f, "reserve j");
    ok(f, "return j A1 token=%" PRIu64, f->r.version - 1);
    ok(f, "return j A2 token=%" PRIu64, f->r.version - 1);
    ok(f, "rule j prefix=B");
    ok(f, "grant j 9 12");
    ok(f, "holds j");
    of_lost = f->r.of.serial.rows->token;
    ok(f, "confirm j A1 token=%" PRIu64, of_lost);
    assert_string_equal(serial(f, 0), "A1");
    ok(f, "show j serial=A1");
    assert_stands(f, "confirmed", f->r.of.serial.token);
    invalid(f, "show j serial=B1");
    ok(f, "confirm j B2 token=%" PRIu64, of_lost);
    assert_string_equal(serial(f, 0), "B2");
    ok(f, "show j serial=B2");
    assert_stands(f, "confirmed", f->r.of.serial.token);
    invalid(f, "show j serial=A2");
}

/* By hand, all together; not those that are in doubt since later. */
TEST(numbers_in_doubt_are_voided_together)
{
    struct fixture *f = *state;
    uint64_t token[40];

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i prefix=I mode=gapfree authority=1 lease=0");
    ok(f, "grant i 0 40");
    for (int i = 0; i < 40; i++) {
        ok(f, "reserve i owner=o");
        if (i < 39) {
            ok(f, "reserve i");
            i++;
        }
        token[i] = f->r.of.serial.token;
        ok(f, "grant i %d %d", 100 * (i + 1), 100 * (i + 1) + 40);
    }
    assert_int_equal(stock(f, "i")->doubt, 40);
    invalid(f, "void i doubt=1");
    invalid(f, "void i before=5");
    invalid(f, "void i");
    invalid(f, "void i I1 doubt=1 before=5");
    invalid(f, "void i doubt=1 before=5 n=3");
    same(f, "void i doubt=1 before=2");
    assert_int_equal(f->r.of.serial.count, 0);
    refused(f, "delete i");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_HELD);
    refused(f, "rule i reset=year date=%%Y");
    ok(f, "void i doubt=1 before=%" PRIu64, token[1]);
    assert_int_equal(f->r.of.serial.count, 2);
    assert_string_equal(serial(f, 0), "I1");
    assert_int_equal(f->r.of.serial.rows[0].state, USHER_SERIAL_STATE_VOIDED);
    ok(f, "holds i doubt=1");
    assert_int_equal(f->r.of.serial.n_rows, 38);
    ok(f, "void i doubt=1 before=%" PRIu64 " req=r", f->r.version);
    assert_int_equal(f->r.of.serial.count, 32);
    assert_true(f->r.of.serial.more);
    ok(f, "void i doubt=1 before=%" PRIu64, f->r.version);
    assert_int_equal(f->r.of.serial.count, 6);
    assert_false(f->r.of.serial.more);
    assert_int_equal(stock(f, "i")->doubt, 0);
    ok(f, "show i serial=I1");
    assert_string_equal(usher_serial_state_word(f->r.of.serial.rows->state), "voided");
}

/* More stood in the way of the next number than one command moves: it is the right one still. */
TEST(reserve_is_right_with_many_expiries_before_it)
{
    struct fixture *f = *state;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i prefix=I mode=gapfree authority=1 lease=1000 max=400");
    ok(f, "grant i 0 200");
    for (int i = 0; i < 150; i++)
        ok(f, "reserve i");
    f->now += 1000;
    for (int i = 0; i < 150; i++)
        ok(f, "reserve i lease=9000");
    assert_string_equal(serial(f, 0), "I150");
    for (int i = 0; i < 150; i++)
        ok(f, "return i I%d token=%" PRIu64, i + 1, f->r.version - 149);
    ok(f, "grant i 399 400"); /* all but one is lost */
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "I400");
    empty(f, "reserve i");
    ok(f, "holds i n=1000");
    f->now += 1000;
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "I400");
}

/* The earlier owner of one of them must still be able to name it. */
TEST(rule_is_fixed_while_numbers_of_a_past_period_are_lost)
{
    static const char *const others[] = { "base=100", "step=7", "radix=16", "check=luhn",
                                          "mode=queue" };
    struct fixture *f = *state;
    uint64_t of_lost;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i date=%%Y%%m%%d- reset=day mode=gapfree authority=1");
    ok(f, "grant i 9 12");
    assert_int_equal(f->r.of.serial.count, 9);
    of_lost = f->r.version;
    f->now += DAY;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        refused(f, "rule i %s", others[i]);
        assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_KEPT);
    }
    ok(f, "rule i critical=5"); /* what no number depends on */
    refused(f, "delete i");
    ok(f, "confirm i 20231114-5 token=%" PRIu64, of_lost);
    ok(f, "void i 20231114-1 token=%" PRIu64 " n=4", of_lost);
    refused(f, "rule i base=100");
    ok(f, "void i 20231114-6 token=%" PRIu64 " n=4", of_lost);
    refused(f, "rule i base=100"); /* a coarser reset would come back to numbers of yesterday */
    ok(f, "rule i mode=queue");
    ok(f, "delete i");
}

/* It was printed by then, and `holds` returns it so. */
TEST(a_number_that_is_lost_keeps_the_format_of_its_loss)
{
    struct fixture *f = *state;
    uint64_t of_lost;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i prefix=G mode=gapfree authority=1");
    ok(f, "grant i 9 12");
    of_lost = f->r.version;
    ok(f, "rule i prefix=H width=4");
    ok(f, "grant i 19 22"); /* of these, and of those */
    ok(f, "show i serial=G5");
    assert_string_equal(serial(f, 0), "G5");
    assert_stands(f, "lost", of_lost);
    invalid(f, "show i serial=G11"); /* it is H0011 */
    invalid(f, "confirm i G11 token=%" PRIu64, of_lost);
    invalid(f, "confirm i X5 token=%" PRIu64, of_lost);
    stale(f, "confirm i G5 token=1");
    assert_stands(f, "lost", 0);
    ok(f, "confirm i G5 token=%" PRIu64, of_lost);
    assert_string_equal(serial(f, 0), "G5");
    same(f, "confirm i G5 token=%" PRIu64, of_lost);
    stale(f, "void i G5 token=%" PRIu64, of_lost);
    ok(f, "void i G6 token=%" PRIu64 " n=4", of_lost);
    ok(f, "void i G1 token=%" PRIu64 " n=4", of_lost);
    same(f, "void i G1 token=%" PRIu64 " n=4", of_lost); /* nothing of that format is lost now */
    ok(f, "show i serial=G1");
    assert_stands(f, "voided", f->r.of.serial.token);
    ok(f, "void i H0010 token=%" PRIu64 " n=10", of_lost + 2);
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 0);
}

/* Numbers of two periods stand in one order, in which there is no place for it. */
TEST(a_number_beyond_those_of_a_period_is_not_one_of_the_next)
{
    static const char *const beyond[] = { "20231113-2147483649", "20231113-2147483653",
                                          "20231113-9223372036854775807" };
    struct fixture *f = *state;
    uint64_t token, of_lost;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i date=%%Y%%m%%d- reset=day mode=gapfree authority=1");
    ok(f, "grant i 0 3");
    ok(f, "reserve i lease=60000");
    assert_string_equal(serial(f, 0), "20231114-1");
    token = f->r.of.serial.token;
    ok(f, "grant i 9 12");
    of_lost = f->r.version;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        ok(f, "show i serial=%s", beyond[i]);
        assert_stands(f, "past", (uint64_t)0);
        assert_true(f->r.of.serial.rows->first > INT32_MAX);
        stale(f, "confirm i %s token=%" PRIu64, beyond[i], token);
        assert_stands(f, "past", 0);
        stale(f, "void i %s token=%" PRIu64, beyond[i], of_lost);
        assert_stands(f, "past", 0);
    }
    ok(f, "show i serial=20231114-5");
    assert_stands(f, "lost", of_lost);
    ok(f, "show i serial=20231114-1");
    assert_stands(f, "doubt", token);
}

/* A client has printed it on an invoice. */
TEST(a_number_keeps_the_format_it_was_reserved_under)
{
    struct fixture *f = *state;
    char first[USHER_SERIAL_TEXT_MAX + 1];
    uint64_t token, later;

    ok(f, "rule r prefix=A mode=gapfree date=%%S- lease=60000");
    f->now += 1000; /* A01-1 */
    ok(f, "reserve r owner=o");
    memcpy(first, serial(f, 0), sizeof first);
    assert_string_equal(first, "A01-1");
    token = f->r.of.serial.token;
    ok(f, "rule r prefix=B suffix=/x width=4");
    same(f, "reserve r owner=o");
    assert_string_equal(serial(f, 0), first);
    ok(f, "holds r");
    assert_string_equal(serial(f, 0), first);
    ok(f, "show r serial=%s", first);
    assert_stands(f, "held", token);
    invalid(f, "confirm r C01-1 token=%" PRIu64, token);
    ok(f, "confirm r %s token=%" PRIu64, first, token);
    assert_string_equal(serial(f, 0), first);
    same(f, "confirm r %s token=%" PRIu64, first, token);
    assert_string_equal(serial(f, 0), first);
    ok(f, "show r serial=%s", first);
    assert_stands(f, "confirmed", token);
    assert_string_equal(serial(f, 0), first);
    invalid(f, "show r serial=B01-0001/x"); /* is not what it was printed as */
    /* one that comes back goes out as the rule is then */
    ok(f, "reserve r owner=p");
    assert_string_equal(serial(f, 0), "B01-0002/x");
    token = f->r.of.serial.token;
    ok(f, "rule r suffix= width=0");
    ok(f, "return r B01-0002/x token=%" PRIu64, token);
    assert_string_equal(serial(f, 0), "B01-0002/x");
    same(f, "return r B01-0002/x token=%" PRIu64, token);
    ok(f, "reserve r owner=q");
    assert_string_equal(serial(f, 0), "B01-2");
    later = f->r.of.serial.token;
    stale(f, "confirm r B01-0002/x token=%" PRIu64, token); /* it is no hold any more */
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_UNKNOWN);
    stale(f, "confirm r B01-2 token=%" PRIu64, token);
    assert_stands(f, "held", 0);
    assert_int_equal(f->r.of.serial.rows->owner.size, 1);
    stale(f, "void r B01-2 token=%" PRIu64, token + 1);
    assert_stands(f, "held", 0);
    ok(f, "void r B01-2 token=%" PRIu64, later);
}

/* Each day has a number 1, and prefix and suffix come and go. */
TEST(a_hold_is_settled_by_the_serial_that_was_printed)
{
    struct fixture *f = *state;
    char first[USHER_SERIAL_TEXT_MAX + 1];
    uint64_t token[2];

    ok(f, "rule r date=%%Y%%%%d%%m%%d- reset=day mode=gapfree lease=0"); /* %%d is no day */
    ok(f, "reserve r owner=o");
    assert_string_equal(serial(f, 0), "2023%d1114-1");
    token[0] = f->r.of.serial.token;
    f->now += INT64_C(86400000);
    ok(f, "reserve r owner=p");
    assert_string_equal(serial(f, 0), "2023%d1115-1");
    token[1] = f->r.of.serial.token;
    stale(f, "confirm r 2023%%d1115-1 token=%" PRIu64, token[0]);
    assert_stands(f, "held", 0);
    stale(f, "confirm r 2023%%d1114-1 token=%" PRIu64, token[1]);
    assert_stands(f, "held", 0);
    ok(f, "rule r prefix=N");
    stale(f, "void r 2023%%d1115-1 token=%" PRIu64, token[0]);
    assert_stands(f, "held", 0);
    stale(f, "void r 2023%%d1114-1 token=%" PRIu64, token[1]);
    assert_stands(f, "held", 0);
    invalid(f, "void r 2023%%d1116-1 token=%" PRIu64, token[1]);
    ok(f, "confirm r 2023%%d1114-1 token=%" PRIu64, token[0]);
    ok(f, "return r 2023%%d1115-1 token=%" PRIu64, token[1]);
    same(f, "confirm r 2023%%d1114-1 token=%" PRIu64, token[0]); /* of another number 1 */
    ok(f, "show r serial=2023%%d1115-1");
    assert_stands(f, "returned", token[1]);
    memcpy(first, serial(f, 0), sizeof first);
    assert_string_equal(first, "2023%d1115-1");
    ok(f, "show r serial=N2023%%d1115-1"); /* as it will go out */
    assert_stands(f, "returned", token[1]);
    assert_string_equal(serial(f, 0), "N2023%d1115-1");
}

/* Holds that are over but not yet written are listed after the current ones. */
TEST(ended_holds_are_listed_after_current_ones)
{
    struct fixture *f = *state;

    ok(f, "rule r prefix=R mode=gapfree lease=0");
    ok(f, "reserve r owner=a lease=2000");
    ok(f, "reserve r owner=b lease=1000");
    ok(f, "reserve r owner=c");
    ok(f, "rule r prefix=S");
    f->now += 2000;
    ok(f, "holds r n=1");
    assert_true(f->r.of.serial.more);
    ok(f, "holds r");
    assert_int_equal(f->r.of.serial.n_rows, 3);
    assert_string_equal(serial(f, 0), "R3");
    assert_int_equal(f->r.of.serial.rows[0].state, USHER_SERIAL_STATE_HELD);
    for (int i = 1; i < 3; i++) { /* the first to end first; as they will go out */
        assert_int_equal(f->r.of.serial.rows[i].state, USHER_SERIAL_STATE_RETURNED);
        assert_int_equal(f->r.of.serial.rows[i].first, 3 - i);
        assert_int_equal(f->r.of.serial.rows[i].owner.size, 0);
        assert_true(f->r.of.serial.rows[i].token == 0);
    }
    assert_string_equal(serial(f, 1), "S2");
    ok(f, "holds r owner=a");
    assert_int_equal(f->r.of.serial.n_rows, 0);
    ok(f, "sweep r");
    ok(f, "holds r");
    assert_int_equal(f->r.of.serial.n_rows, 3);
    assert_int_equal(f->r.of.serial.rows[1].first, 1);
    assert_string_equal(serial(f, 2), "S2");
}

/* All that `holds` with @more arguments lists, in pages of @n (0: not given), into @to, with room
 * for 700.  How often each number of each period is listed is the caller's to judge. */
static size_t listed(struct fixture *f, const char *more, int n, struct usher_serial_result_row *to)
{
    char after[USHER_NAME_MAX + 8] = "", size[16] = "";
    size_t all = 0;

    if (n != 0)
        (void)snprintf(size, sizeof size, " n=%d", n);
    for (;;) {
        const struct usher_serial_result *r = &f->r.of.serial;

        ok(f, "holds i%s%s%s", more, size, after);
        assert_true(r->n_rows <= (size_t)(n != 0 && n < USHER_PAGE_MAX ? n
                                          : n != 0                     ? USHER_PAGE_MAX
                                                                       : USHER_LIST_DEFAULT));
        for (size_t i = 0; i < r->n_rows; i++) {
            assert_true(all < 700);
            to[all] = r->rows[i];
            to[all].owner.data = to[all].format.data = NULL;
            all++;
        }
        assert_int_equal(r->more, r->of.page.next_size != 0);
        assert_int_equal(r->of.page.next[r->of.page.next_size], 0);
        if (!r->more)
            return all;
        (void)snprintf(after, sizeof after, " after=%s", r->of.page.next);
    }
}

static bool same_rows(const struct usher_serial_result_row *a,
                      const struct usher_serial_result_row *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].first != b[i].first || a[i].n != b[i].n || a[i].token != b[i].token ||
            a[i].state != b[i].state || a[i].at_ms != b[i].at_ms)
            return false;
    return true;
}

/* Page after page there is each of 600 once: held, over, returned, returned in a period that is
 * over, lost; and none that is confirmed or void. */
TEST(holds_are_listed_in_pages)
{
    static const int sizes[] = { 7, 256, 10000 };
    static const char *const wrong[] = {
        "x",    "0",     "0.1",   "4.0.1",  "0.5.1",
        "0.0.", "0.0.x", "-.0.1", "00.0.1", "0.0.12345678901234567"
    };
    static struct usher_serial_result_row whole[700], pages[700];
    struct fixture *f = *state;
    size_t n, of[USHER_SERIAL_STATE_DOUBT + 1] = { 0 };
    uint64_t of_lost;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule i date=%%Y%%m%%d- reset=day mode=gapfree lease=0 authority=1");
    ok(f, "grant i 0 40");
    for (int i = 0; i < 40; i++)
        ok(f, "reserve i");
    for (int i = 0; i < 40; i++)
        ok(f, "return i 20231114-%d token=%" PRIu64, i + 1, f->r.version - 39);
    f->now += DAY;
    ok(f, "grant i 9 150");
    of_lost = f->r.version;
    for (int i = 2; i < 9; i += 2)
        ok(f, "void i 20231115-%d token=%" PRIu64, i, of_lost);
    for (int i = 0; i < 120; i++)
        ok(f, "reserve i");
    for (int i = 0; i < 120; i++)
        ok(f, "return i 20231115-%d token=%" PRIu64, i + 10, f->r.version - 119);
    f->now += DAY;
    ok(f, "grant i 0 450");
    for (int i = 0; i < 300; i++)
        ok(f, "reserve i lease=%d", 60000 - i % 3);
    for (int i = 0; i < 140; i++)
        ok(f, "reserve i owner=o%d", i);
    for (int i = 0; i < 10; i++)
        ok(f, "%s i 20231116-%d token=%" PRIu64,
           i < 5   ? "return"
           : i < 8 ? "confirm"
                   : "void",
           i + 301, f->r.version - 139);
    f->now += 60000;
    n = listed(f, "", 0, whole);
    assert_int_equal(n, 600);
    for (size_t i = 0; i < n; i++) {
        of[whole[i].state]++;
        for (size_t k = 0; k < i; k++)
            assert_true(whole[i].first != whole[k].first ||
                        whole[i].at_ms / DAY != whole[k].at_ms / DAY);
    }
    assert_int_equal(of[USHER_SERIAL_STATE_HELD], 130);
    assert_int_equal(of[USHER_SERIAL_STATE_RETURNED], 300 + 5 + 120);
    assert_int_equal(of[USHER_SERIAL_STATE_LOST], 40 + 5);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(listed(f, "", sizes[i], pages), n);
        assert_true(same_rows(whole, pages, n));
    }
    assert_int_equal(listed(f, " owner=o77", 0, pages), 1);
    assert_int_equal(pages[0].first, 378);
    assert_int_equal(listed(f, " doubt=1", 0, pages), 0);
    /* those whose hold is over are not listed among those that are held, and a page ends all the
     * same */
    ok(f, "holds i n=5");
    assert_true(f->r.of.serial.n_rows == 0 && f->r.of.serial.more);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        invalid(f, "holds i after=%s", wrong[i]);
        assert_non_null(strstr(f->r.message, "after is not the `next` of a page"));
    }
    ok(f, "holds i after=1.0.0");
    invalid(f, "holds i after=1.0.0 owner=o77");
    invalid(f, "holds i after=2.0.0 doubt=1");
    ok(f, "holds i after=3.9999999999999999.9999999999999999");
    assert_true(f->r.of.serial.n_rows == 0 && !f->r.of.serial.more);
}

/* Holds that begin or end between two pages hide no number that is listed all the time. */
TEST(pages_of_holds_are_right_with_changes_between_them)
{
    struct fixture *f = *state;
    char after[USHER_NAME_MAX + 8] = "";
    int seen[64] = { 0 }, page = 0;
    bool touched[64] = { false };

    ok(f, "rule i prefix=I mode=gapfree lease=0");
    for (int i = 1; i <= 40; i++)
        ok(f, "reserve i owner=o%d lease=%d", i, i > 30 ? 1000 * i : 0);
    for (int i = 1; i <= 10; i++)
        ok(f, "return i I%d token=%" PRIu64, i, f->r.version - 39);
    do {
        struct usher_serial_result_row row[3];

        ok(f, "holds i n=3%s", after);
        (void)snprintf(after, sizeof after, " after=%s", f->r.of.serial.of.page.next);
        if (!f->r.of.serial.more)
            after[0] = '\0';
        for (size_t i = 0; i < f->r.of.serial.n_rows; i++) {
            row[i] = f->r.of.serial.rows[i];
            seen[row[i].first]++;
        }
        if (f->r.of.serial.n_rows < 3)
            continue;
        if (row[0].state == USHER_SERIAL_STATE_HELD) {
            ok(f, "return i I%" PRId64 " token=%" PRIu64, row[0].first, row[0].token);
            touched[row[0].first] = true;
        }
        if (page % 2 == 0 && row[2].state == USHER_SERIAL_STATE_HELD) { /* the page ended there */
            ok(f, "confirm i I%" PRId64 " token=%" PRIu64, row[2].first, row[2].token);
            touched[row[2].first] = true;
        }
        ok(f, "reserve i"); /* the lowest */
        touched[f->r.of.serial.rows->first] = true;
        if (page == 3 || page == 9) /* some that are still to come are over in the next page */
            f->now += 36000;
        page++;
    } while (after[0] != '\0');
    assert_true(page > 9);
    for (int i = 1; i <= 40; i++)
        assert_true(touched[i] || seen[i] >= 1);
    for (int i = 11; i <= 30; i++)
        assert_true(touched[i] || seen[i] == 1);
}

/* The answer was lost: is it done, or has it ended by itself? */
TEST(a_settled_serial_is_reported_when_settled_again)
{
    struct fixture *f = *state;
    uint64_t token[6];

    ok(f, "rule g prefix=G width=3 mode=gapfree lease=1000 requests=4");
    for (int i = 0; i < 6; i++) {
        ok(f, "reserve g");
        token[i] = f->r.of.serial.token;
    }
    for (int i = 0; i < 2; i++) {
        static const char *const words[3][2] = { { "confirm", "confirmed" },
                                                 { "return", "returned" },
                                                 { "void", "voided" } };

        for (int k = 0; k < 3; k++) {
            if (i == 0)
                ok(f, "%s g G00%d token=%" PRIu64, words[k][0], k + 1, token[k]);
            else
                same(f, "%s g G00%d token=%" PRIu64, words[k][0], k + 1, token[k]);
            assert_string_equal(usher_serial_state_word(f->r.of.serial.rows->state), words[k][1]);
            assert_int_equal(f->r.of.serial.until_ms, 0);
            for (int other = 0; other < 3; other++)
                if (other != k) {
                    stale(f, "%s g G00%d token=%" PRIu64, words[other][0], k + 1, token[k]);
                    assert_stands(f, words[k][1], 0);
                }
        }
    }
    stale(f, "confirm g G004 token=%" PRIu64, token[4]); /* is of G005 */
    assert_stands(f, "held", 0);
    stale(f, "confirm g G009 token=%" PRIu64, token[3]);
    assert_stands(f, "free", 0);
    /* late: it has come back by itself, and went to another one */
    f->now += 1000;
    stale(f, "confirm g G004 token=%" PRIu64, token[3]);
    assert_stands(f, "returned", 0);
    same(f, "return g G004 token=%" PRIu64, token[3]);
    ok(f, "reserve g"); /* 2 */
    ok(f, "confirm g G002 token=%" PRIu64, f->r.of.serial.token);
    stale(f, "return g G002 token=%" PRIu64, token[1]);
    ok(f, "reserve g");
    assert_string_equal(serial(f, 0), "G004");
    token[1] = f->r.of.serial.token;
    stale(f, "confirm g G004 token=%" PRIu64, token[3]);
    assert_stands(f, "held", 0);
    ok(f, "confirm g G004 token=%" PRIu64, token[1]);
    stale(f, "confirm g G004 token=%" PRIu64, token[3]);
    assert_stands(f, "confirmed", 0);
    /* the last four numbers are remembered */
    for (int i = 5; i <= 8; i++) {
        ok(f, "reserve g");
        ok(f, "confirm g %s token=%" PRIu64, serial(f, 0), f->r.of.serial.token);
    }
    ok(f, "show g serial=G004");
    assert_stands(f, "past", 0);
    ok(f, "show g serial=G005");
    assert_string_equal(usher_serial_state_word(f->r.of.serial.rows->state), "confirmed");
    ok(f, "show g serial=G009");
    assert_stands(f, "free", 0);
    ok(f, "delete g");
    ok(f, "rule g prefix=G");
    assert_taken(f, "g", "G9");
}

TEST(one_number_is_shown)
{
    struct fixture *f = *state;

    ok(f, "rule q prefix=Q base=100 check=luhn batch=3 critical=2");
    ok(f, "take q n=2");
    ok(f, "show q serial=%s", serial(f, 1));
    assert_stands(f, "past", 0);
    assert_string_equal(serial(f, 0), "Q1024");
    ok(f, "show q serial=Q1032"); /* in stock */
    assert_stands(f, "free", 0);
    invalid(f, "show q serial=Q1033");
    assert_non_null(strstr(f->r.message, "check digit"));
    invalid(f, "show q serial=R1032");
    missing(f, "show nobody serial=Q1032");
    /* each period has its own */
    f->now = LEAP + 10 * HOUR; /* the 29th of February */
    ok(f, "rule d date=%%Y%%m%%d- reset=day");
    ok(f, "take d n=3");
    f->now += DAY;
    ok(f, "take d");
    assert_string_equal(serial(f, 0), "20240301-1");
    ok(f, "show d serial=20240229-3");
    assert_stands(f, "past", 0);
    ok(f, "show d serial=20240301-1");
    assert_stands(f, "past", 0);
    ok(f, "show d serial=20240301-2");
    assert_stands(f, "free", 0);
    ok(f, "show d serial=20240302-1");
    assert_stands(f, "free", 0);
    ok(f, "rule m prefix=M date=%%y/%%m- reset=month mode=gapfree lease=864000000");
    ok(f, "reserve m");
    assert_string_equal(serial(f, 0), "M24/03-1");
    f->now += 31 * DAY - 10 * HOUR; /* the first of April: its ten days are over */
    ok(f, "show m serial=M24/03-1");
    assert_string_equal(usher_serial_state_word(f->r.of.serial.rows->state), "returned");
    ok(f, "reserve m");
    assert_string_equal(serial(f, 0), "M24/04-1");
    ok(f, "show m serial=M24/03-1");
    assert_stands(f, "returned", f->r.of.serial.rows->token);
    ok(f, "show m serial=M24/04-1");
    assert_stands(f, "held", f->r.of.serial.rows->token);
    ok(f, "show m serial=M24/03-2");
    assert_stands(f, "past", 0);
    ok(f, "show m serial=M24/04-2");
    assert_stands(f, "free", 0);
    invalid(f, "show m serial=M24/13-1");
    ok(f, "rule y date=%%j.%%Y. reset=day");
    ok(f, "take y");
    assert_string_equal(serial(f, 0), "092.2024.1");
    ok(f, "show y serial=092.2024.1");
    assert_stands(f, "past", 0);
    ok(f, "show y serial=093.2024.1");
    assert_stands(f, "free", 0);
    ok(f, "show y serial=091.2024.1");
    assert_stands(f, "past", 0);
}

TEST(a_hold_that_is_late_goes_out_again)
{
    struct fixture *f = *state;
    uint64_t token;

    ok(f, "rule i mode=gapfree lease=1000");
    ok(f, "reserve i owner=a");
    token = f->r.of.serial.token;
    ok(f, "reserve i owner=b lease=5000");
    f->now += 999;
    same(f, "reserve i owner=a");
    f->now += 1;
    assert_int_equal(stock(f, "i")->held, 1);
    assert_int_equal(stock(f, "i")->returned, 1);
    ok(f, "holds i");
    stale(f, "confirm i 1 token=%" PRIu64, token);
    ok(f, "reserve i owner=a");
    assert_string_equal(serial(f, 0), "1");
    assert_true(f->r.of.serial.token > token);
    f->now += 10000;
    ok(f, "sweep i");
    assert_int_equal(f->r.of.serial.count, 2);
    same(f, "sweep i");
    ok(f, "reserve i req=x");
    ok(f, "reserve i req=x");
    assert_true(f->r.repeated);
    assert_string_equal(serial(f, 0), "1");
    f->now += 2000;
    for (int i = 0; i < 100; i++)
        ok(f, "reserve i");
    f->now += 10000;
    ok(f, "sweep i n=30");
    assert_true(f->r.of.serial.more);
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "1");
}

TEST(a_hold_is_renewed_by_its_token)
{
    struct fixture *f = *state;
    uint64_t ann, bob, version;
    int64_t end;

    ok(f, "rule i mode=gapfree lease=1000 prefix=I");
    ok(f, "reserve i owner=ann");
    ann = f->r.of.serial.token;
    f->now += 999;
    ok(f, "renew i I1 token=%" PRIu64, ann);
    assert_true(f->r.of.serial.token == ann && f->r.of.serial.until_ms == f->now + 1000);
    assert_true(f->r.due_ms <= f->now + 1000);
    same(f, "renew i I1 token=%" PRIu64, ann);
    ok(f, "renew i I1 token=%" PRIu64 " lease=500", ann); /* earlier, too */
    assert_true(f->r.due_ms <= f->now + 500);
    ok(f, "renew i I1 token=%" PRIu64 " lease=0", ann);
    assert_int_equal(f->r.of.serial.until_ms, 0);
    f->now += 400 * DAY;
    ok(f, "renew i I1 token=%" PRIu64 " lease=2000", ann);
    version = f->r.version;
    end = f->now + 2000;
    stale(f, "renew i I1 token=%" PRIu64, ann + 1); /* of the change, not of a hold */
    assert_true(f->r.of.serial.until_ms == end && f->r.of.serial.rows[0].token == 0);
    invalid(f, "renew i X1 token=%" PRIu64, ann);
    stale(f, "renew i I2 token=%" PRIu64, ann);
    assert_true(f->r.version == version);
    /* the printed serial stays, whatever becomes of the rule */
    ok(f, "rule i prefix=J");
    ok(f, "renew i I1 token=%" PRIu64 " lease=3000", ann);
    assert_string_equal(serial(f, 0), "I1");
    f->now += 3000; /* too late */
    stale(f, "renew i I1 token=%" PRIu64, ann);
    assert_int_equal(f->r.of.serial.rows[0].state, USHER_SERIAL_STATE_RETURNED);
    ok(f, "reserve i owner=bob");
    assert_string_equal(serial(f, 0), "J1");
    bob = f->r.of.serial.token;
    stale(f, "renew i I1 token=%" PRIu64, ann);
    ok(f, "renew i J1 token=%" PRIu64 " lease=9000 req=once", bob);
    f->now += 5000;
    ok(f, "renew i J1 token=%" PRIu64 " lease=9000 req=once", bob);
    assert_true(f->r.repeated && f->r.of.serial.until_ms == f->now + 4000);
    ok(f, "confirm i J1 token=%" PRIu64, bob);
    stale(f, "renew i J1 token=%" PRIu64, bob);
    refused(f, "rule i mode=queue");
    ok(f, "rule q");
    refused(f, "renew q 1 token=1");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_MODE);
}

TEST(an_owner_that_reserves_again_may_extend_its_hold)
{
    struct fixture *f = *state;
    uint64_t token;
    int64_t end;

    ok(f, "rule i mode=gapfree lease=1000 log=100");
    ok(f, "reserve i owner=zoe lease=60000");
    token = f->r.of.serial.token;
    f->now += 30000;
    same(f, "reserve i owner=zoe"); /* the lease of the rule extends nothing */
    ok(f, "reserve i owner=zoe lease=60000");
    end = f->now + 60000;
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_RENEWED);
    assert_true(f->r.of.serial.token == token && f->r.of.serial.until_ms == end);
    assert_string_equal(serial(f, 0), "1");
    same(f, "reserve i owner=zoe lease=59999"); /* nor does one that ends earlier */
    assert_true(f->r.of.serial.until_ms == end);
    f->now = end - 1;
    same(f, "reserve i owner=zoe");
    ok(f, "reserve i owner=zoe lease=0");
    assert_true(f->r.of.serial.until_ms == 0 && f->r.of.serial.token == token);
    same(f, "reserve i owner=zoe lease=90000"); /* it never ends */
    f->now += 400 * DAY;
    assert_int_equal(stock(f, "i")->held, 1);
    assert_int_equal(stock(f, "i")->taken, 1);
    ok(f, "changes i since=0");
    assert_int_equal(f->r.of.serial.n_rows, 4); /* rule, reserve, and two renewals */
    ok(f, "confirm i 1 token=%" PRIu64, token);
}

/* No clock, sweep or other owner ends it: only a decision of its own owner does. */
TEST(a_hold_without_a_deadline_is_ended_by_its_token_only)
{
    struct fixture *f = *state;
    struct ask_serial_hold hold;
    uint64_t ann, bob;

    ok(f, "rule i mode=gapfree lease=1000");
    ok(f, "reserve i owner=ann lease=0");
    ann = f->r.of.serial.token;
    assert_int_equal(f->r.of.serial.until_ms, 0);
    assert_true(f->r.due_ms == INT64_MAX);
    ok(f, "reserve i owner=bob");
    bob = f->r.of.serial.token;
    assert_true(f->r.due_ms == f->now + 1000);
    f->now += 400 * DAY;
    assert_int_equal(stock(f, "i")->held, 1);
    assert_int_equal(stock(f, "i")->returned, 1);
    ok(f, "sweep i");
    assert_int_equal(f->r.of.serial.count, 1);
    assert_true(f->r.due_ms == INT64_MAX);
    same(f, "sweep i");
    same(f, "reserve i owner=ann");
    assert_int_equal(f->r.of.serial.token, ann);
    stale(f, "confirm i 2 token=%" PRIu64, bob);
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 2);
    assert_int_equal(f->r.of.serial.rows[0].until_ms, 0);
    ok(f, "return i 1 token=%" PRIu64, ann);
    same(f, "return i 1 token=%" PRIu64, ann);
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "1");

    /* the rule itself may say so; a command may still name an end, and from C < 0 is never */
    ok(f, "rule i lease=0");
    ok(f, "reserve i owner=cid");
    assert_int_equal(f->r.of.serial.until_ms, 0);
    ok(f, "reserve i lease=1");
    assert_true(f->r.of.serial.until_ms == f->now + 1);
    f->now += 1000;
    same(f, "reserve i owner=cid");
    assert_int_equal(stock(f, "i")->held, 1);
    same(f, "sweep i");
    ok(f, "rule j mode=gapfree");
    assert_int_equal(ask_serial_reserve(f->e, "j", "dan", -1, NULL, &hold), USHER_OK);
    assert_int_equal(hold.until_ms, 0);
    assert_int_equal(ask_serial_confirm(f->e, "j", hold.serial, hold.token), USHER_OK);
}

TEST(a_number_of_a_past_period_is_given_to_no_new_document)
{
    struct fixture *f = *state;
    char last[USHER_SERIAL_TEXT_MAX + 1];
    uint64_t token[2];

    f->now = LEAP + 307 * DAY - 1000;
    ok(f, "rule i prefix=R date=%%Y- mode=gapfree reset=year width=4 check=damm");
    for (int i = 0; i < 2; i++) {
        ok(f, "reserve i lease=%d", i == 0 ? 100000 : 500);
        token[i] = f->r.of.serial.token;
    }
    f->now += 2000;
    ok(f, "holds i"); /* 2 is over, and that is not written yet */
    assert_int_equal(f->r.of.serial.n_rows, 2);
    assert_true(f->r.of.serial.rows[1].first == 2 && f->r.of.serial.rows[1].token == token[1]);
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "R2025-00017");
    ok(f, "return i R2025-00017 token=%" PRIu64, f->r.of.serial.token);
    ok(f, "return i R2024-00013 token=%" PRIu64, token[0]);
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "R2025-00017");
    ok(f, "reserve i");
    assert_string_equal(serial(f, 0), "R2025-00025");
    /* both of 2024 are open, and a token of theirs settles them */
    ok(f, "holds i");
    assert_int_equal(f->r.of.serial.n_rows, 4);
    for (int i = 0; i < 2; i++) {
        const struct usher_serial_result_row *row = &f->r.of.serial.rows[2 + i];

        assert_int_equal(row->state, USHER_SERIAL_STATE_RETURNED);
        assert_true(row->first == i + 1 && row->token == token[i]);
    }
    assert_string_equal(serial(f, 2), "R2024-00013");
    assert_int_equal(stock(f, "i")->returned, 2);
    refused(f, "delete i");
    stale(f, "void i R2024-00021 token=%" PRIu64, token[0]);
    stale(f, "confirm i R2024-00013 token=%" PRIu64, token[0]);
    ok(f, "rule i requests=7"); /* the end of the hold is kept elsewhere from now on */
    for (int i = 0; i < 2; i++) {
        const char *const serials[] = { "R2024-00013", "R2024-00021" };

        ok(f, "void i %s token=%" PRIu64, serials[i], token[i]);
        assert_stands(f, "voided", token[i]);
        same(f, "void i %s token=%" PRIu64, serials[i], token[i]);
        ok(f, "show i serial=%s", serials[i]);
        assert_stands(f, "voided", token[i]);
    }
    assert_int_equal(stock(f, "i")->returned, 0);
    /* one of the present period goes out again, so void is stale */
    ok(f, "reserve i lease=500");
    token[0] = f->r.of.serial.token;
    memcpy(last, serial(f, 0), sizeof last);
    ok(f, "return i %s token=%" PRIu64, last, token[0]);
    stale(f, "void i %s token=%" PRIu64, last, token[0]);
    assert_stands(f, "returned", 0);
}

/* ---- many at once ------------------------------------------------------------------- */

#define CLIENTS 16
#define NUMBERS 400

struct client {
    struct usher_engine *e;
    unsigned seed;
    unsigned char *used; /* by number: 1 confirmed, 2 voided; each is written once */
    int twice;
};

/* Reserves, confirms, returns, voids, and now and then dies with what it has. */
static void *client_run(void *payload)
{
    struct client *c = payload;

    for (int i = 0; i < NUMBERS / 4; i++) {
        struct ask_serial_hold h;
        int what = rand_r(&c->seed) % 10;

        if (ask_serial_reserve(c->e, "i", NULL, 0, NULL, &h) != USHER_OK)
            continue;
        if (what < 5) {
            if (ask_serial_confirm(c->e, "i", h.serial, h.token) == USHER_OK)
                c->twice += c->used[h.number]++ != 0;
        } else if (what < 8) {
            (void)ask_serial_return(c->e, "i", h.serial, h.token);
        } else if (what < 9) {
            if (ask_serial_void(c->e, "i", h.serial, h.token) == USHER_OK)
                c->twice += c->used[h.number]++ != 0;
        }
    }
    return NULL;
}

TEST(sixteen_clients_leave_no_gap)
{
    struct fixture *f = *state;
    unsigned char used[CLIENTS * NUMBERS] = { 0 };
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    struct ask_serial_hold h;
    int64_t highest = 0;

    no_twin(f);
    ok(f, "rule i prefix=I mode=gapfree lease=60000");
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){ f->e, (unsigned)i, used, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, client_run, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(clients[i].twice, 0);
    }
    f->now += 60001; /* those who died are late */
    for (int i = 0; i < CLIENTS * NUMBERS; i++)
        highest = used[i] != 0 ? i : highest;
    do {
        assert_int_equal(ask_serial_reserve(f->e, "i", NULL, 0, NULL, &h), USHER_OK);
        assert_int_equal(ask_serial_confirm(f->e, "i", h.serial, h.token), USHER_OK);
        assert_int_equal(used[h.number]++, 0);
    } while (h.number <= highest || stock(f, "i")->returned > 0);
    for (int64_t i = 1; i <= h.number; i++)
        assert_int_equal(used[i], 1);
    assert_int_equal(stock(f, "i")->held, 0);
}

struct taker {
    struct usher_engine *e;
    int64_t first[200], n[200];
    int ranges;
};

static void *taker_run(void *payload)
{
    struct taker *t = payload;

    for (int i = 0; i < 100; i++) {
        struct usher_result r;

        if (ask_serial_take(t->e, "r", 1 + i % 7, NULL, &r) != USHER_OK)
            continue;
        for (size_t k = 0; k < r.of.serial.n_rows && t->ranges < 200; k++) {
            t->first[t->ranges] = r.of.serial.rows[k].first;
            t->n[t->ranges++] = r.of.serial.rows[k].n;
        }
        usher_result_done(&r);
    }
    return NULL;
}

TEST(no_two_threads_take_the_same_serial)
{
    struct fixture *f = *state;
    struct taker takers[CLIENTS];
    pthread_t threads[CLIENTS];
    static unsigned char seen[CLIENTS * 400 + 1];
    int64_t total = 0;

    no_twin(f);
    memset(seen, 0, sizeof seen);
    memset(takers, 0, sizeof takers);
    ok(f, "rule r critical=10 batch=50");
    for (int i = 0; i < CLIENTS; i++) {
        takers[i].e = f->e;
        assert_int_equal(pthread_create(&threads[i], NULL, taker_run, &takers[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int k = 0; k < takers[i].ranges; k++)
            for (int64_t j = 0; j < takers[i].n[k]; j++, total++)
                assert_int_equal(seen[takers[i].first[k] + j]++, 0);
    }
    assert_int_equal(total, CLIENTS * 395); /* no client found the stock empty */
    assert_int_equal(stock(f, "r")->taken, total);
}

/* ---- grants, as an engine with an authority sends them ------------------------------ */

TEST(no_number_is_issued_without_a_grant)
{
    struct fixture *f = *state;

    if (under_test.durable)
        no_twin(f); /* a store that has an identity notes it down with a grant */
    ok(f, "rule r authority=1 batch=5 max=1000");
    invalid(f, "grant r 5 4");
    empty(f, "take r");
    assert_true(f->r.of.serial.why == USHER_SERIAL_WHY_GRANT ||
                f->r.of.serial.why == USHER_SERIAL_WHY_LOST);
    ok(f, "grant r 0 10");
    same(f, "grant r 0 10");
    ok(f, "take r n=7");
    assert_string_equal(serial(f, 6), "7");
    empty(f, "take r n=7");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_GRANT);
    stale(f, "grant r 10 20 period=7");
    ok(f, "grant r 10 20 period=0");
    ok(f, "take r n=7");
    assert_string_equal(serial(f, 0), "8");
    ok(f, "grant r 30 40"); /* the authority is further than the store knows */
    ok(f, "take r");
    assert_string_equal(serial(f, 0), "31");
    ok(f, "setmax r 10 debt=1");
    ok(f, "rule s max=5");
    invalid(f, "grant s 0 10");
}

/* The authority is further than the rule may count. */
TEST(a_grant_beyond_the_limit_uses_up_the_rule)
{
    struct fixture *f = *state;
    uint64_t version;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule g mode=gapfree authority=1");
    ok(f, "grant g 6503182416126120255 9223372036854775807");
    empty(f, "reserve g");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_EXHAUSTED);
    ok(f, "rule q max=100 authority=1 batch=5");
    ok(f, "grant q 0 1000");
    ok(f, "take q n=10");
    ok(f, "rule q max=50");
    ok(f, "grant q 3000 3000");
    assert_int_equal(f->r.of.serial.cur, 50);
    version = f->r.version;
    same(f, "grant q 3000 3000"); /* each engine compares, and that changes nothing */
    assert_int_equal(f->r.version, version);
    empty(f, "take q");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_EXHAUSTED);
    audit(f->e);
    /* what lies between is others' */
    ok(f, "setmax q 10000");
    empty(f, "take q");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_GRANT);
    ok(f, "grant q 3000 3010");
    assert_taken(f, "q", "3001");
    /* nor does a period begin beyond it */
    ok(f, "rule d max=10 date=%%Y%%m%%d- reset=day");
    assert_int_equal(f->r.status, USHER_OK);
    ok(f, "take d");
    refused(f, "rule d start=1000");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_ROOM);
    f->now += DAY;
    ok(f, "take d");
    /* without periods neither: such a rule could not be made again after a loss */
    ok(f, "rule e max=10");
    ok(f, "take e");
    refused(f, "rule e start=1000");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_ROOM);
    /* used up without a grant, by setmaxcur: no impossible grant is requested */
    ok(f, "rule h max=100 authority=1 batch=5");
    ok(f, "grant h 0 10");
    ok(f, "setmaxcur h 100");
    ok(f, "grant h 3000 3000");
    empty(f, "take h");
    assert_int_equal(f->r.of.serial.why, USHER_SERIAL_WHY_EXHAUSTED);
}

TEST(rule_without_a_maximum_continues_in_debt)
{
    struct fixture *f = *state;

    if (under_test.durable)
        no_twin(f);
    ok(f, "rule r authority=1 batch=5");
    ok(f, "grant r 0 3");
    ok(f, "take r n=3");
    empty(f, "take r");
    full(f, "setmax r 4");
    ok(f, "setmax r 4 debt=1");
    assert_int_equal(f->r.of.serial.max, INT64_MAX);
    assert_int_equal(f->r.of.serial.granted, 7);
    ok(f, "take r n=4");
    assert_string_equal(serial(f, 3), "7");
    empty(f, "take r");
    assert_int_equal(stock(f, "r")->debt, 7);
    ok(f, "setmax r 9223372036854775807 debt=1");
    assert_int_equal(f->r.of.serial.granted, INT64_MAX);
    full(f, "setmax r 1 debt=1");
}

/* ---- all together ------------------------------------------------------------------- */

static int below(unsigned *seed, int n)
{
    return (int)((unsigned)rand_r(seed) % (unsigned)n);
}

static void random_line(struct fixture *f, unsigned *seed, char line[512])
{
    static const char *const rules[] = { "q", "g", "d", "w" };
    static const char *const makes[] = {
        "rule q prefix=Q base=100 max=400 critical=2 batch=9",
        "rule g prefix=G date=%Y%m mode=gapfree reset=month lease=20000 width=5 check=luhn",
        "rule d date=%Y%m%d reset=day stamp=fill zone=330 critical=4 batch=6 radix=36",
        "rule w width=2 stamp=fill overflow=refuse max=80 step=1 start=3",
    };
    static const char *const changes[] = {
        "prefix=Z",   "suffix=-s",  "critical=5", "batch=2",    "zone=60",  "width=6",
        "stamp=take", "stamp=fill", "max=90",     "requests=3", "step=2",   "overflow=widen",
        "reset=none", "reset=day",  "reset=year", "lease=5000", "radix=11", "check=mod37-2",
        "start=9",    "date=%y%j",  "zone=-900",  "check=none", "start=1",  "lease=0"
    };
    const char *rule = rules[below(seed, 4)];
    int64_t cur = f->r.of.serial.cur % 1000;
    static char again[512];
    char req[32] = "";

    if (f->r.version == 0)
        again[0] = '\0';
    if (below(seed, 4) == 0)
        (void)snprintf(req, sizeof req, " req=r%d", below(seed, 12));
    switch (below(seed, 27)) {
    case 0:
    case 1:
        (void)snprintf(line, 512, "%s%s", makes[below(seed, 4)], req);
        break;
    case 2:
        (void)snprintf(line, 512, "rule %s %s%s", rule, changes[below(seed, 24)], req);
        break;
    case 3:
    case 4:
    case 5:
        (void)snprintf(line, 512, "fill %s %d%s", rule, 1 + below(seed, 9), req);
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        (void)snprintf(line, 512, "take %s n=%d%s", rule, 1 + below(seed, 12), req);
        break;
    case 10:
        (void)snprintf(line, 512, "check %s", rule);
        break;
    case 11:
        (void)snprintf(line, 512, "tick %s%s", rule, req);
        break;
    case 12:
        (void)snprintf(line, 512, "setmax %s %d%s", rule, 1 + below(seed, 9), req);
        break;
    case 13:
        (void)snprintf(line, 512, "setmaxcur %s %" PRId64 "%s", rule, cur + below(seed, 5), req);
        break;
    case 14:
    case 15:
    case 16:
        (void)snprintf(line, 512, "reserve g owner=o%d%s", below(seed, 6), req);
        break;
    case 17:
        (void)snprintf(line, 512, "reserve g lease=%d%s",
                       below(seed, 4) != 0 ? 1 + below(seed, 90000) : 0, req);
        break;
    case 18:
    case 19:
    case 20: { /* of a hold that the rule shows */
        static const char *const verbs[] = { "confirm", "return", "void" };
        struct said s;

        said_line(&s, USHER_SERIAL, "holds g");
        (void)execute(f, &s.c);
        if (f->r.status == USHER_OK && f->r.of.serial.n_rows > 0) {
            size_t i = (size_t)below(seed, (int)f->r.of.serial.n_rows);
            uint64_t token = f->r.of.serial.rows[i].token;

            (void)snprintf(line, 512, "%s g %s token=%" PRIu64 "%s", verbs[below(seed, 3)],
                           serial(f, i), token + (below(seed, 9) == 0), req);
            memcpy(again, line, sizeof again);
            break;
        }
        (void)snprintf(line, 512, "confirm g G2023110000118 token=3");
        break;
    }
    case 24: /* the last one, or another verb of it */
        if (again[0] == '\0')
            (void)snprintf(line, 512, "show g");
        else if (below(seed, 3) == 0)
            (void)snprintf(line, 512, "void%s", strchr(again, ' '));
        else
            memcpy(line, again, sizeof again);
        break;
    case 25: {
        char text[USHER_SERIAL_TEXT_MAX + 1];

        (void)snprintf(text, sizeof text, "%s", serial(f, 0));
        if (text[0] != '\0' && below(seed, 3) == 0)
            text[strlen(text) - 1] = (char)('0' + below(seed, 10));
        if (text[0] != '\0')
            (void)snprintf(line, 512, "show %s serial=%s", rule, text);
        else
            (void)snprintf(line, 512, "show g");
        break;
    }
    case 21:
        (void)snprintf(line, 512, "sweep %s n=%d%s", rule, 1 + below(seed, 3), req);
        break;
    case 22:
        (void)snprintf(line, 512, below(seed, 6) == 0 ? "delete %s%s" : "show %s", rule, req);
        break;
    default:
        (void)snprintf(line, 512, "holds %s", rule);
        break;
    }
}

TEST(random_commands_are_answered_alike)
{
    struct fixture *f = *state;
    unsigned seed = (unsigned)number_from("USHER_SEED", 1);
    long n = (long)budget_of("USHER_STEPS", 6000);
    long counts[USHER_NOMEM + 1] = { 0 };

    for (long i = 0; i < n; i++) {
        char line[512];
        struct said s;

        f->now += below(&seed, 50) == 0 ? below(&seed, 20) * HOUR : below(&seed, 4000);
        if (below(&seed, 40) == 0)
            f->now -= HOUR;
        random_line(f, &seed, line);
        if (getenv("USHER_VERBOSE") != NULL)
            print_message("%ld %s\n", i, line);
        said_line(&s, USHER_SERIAL, line);
        counts[execute(f, &s.c)]++;
    }
    /* the commands did something, and were turned down for every reason there is */
    for (int s = USHER_OK; s <= USHER_INVALID; s++)
        if (usher_status_word((enum usher_status)s)[0] != '?')
            assert_true(n < 6000 || counts[s] > 0);
    assert_int_equal(counts[USHER_UNAVAILABLE] + counts[USHER_UNKNOWN] + counts[USHER_NOMEM], 0);
}

struct heard {
    unsigned n;
    char lines[8][48];
    uint64_t epochs[8];
};

static void hear(void *payload, const struct usher_notice *n)
{
    struct heard *h = payload;

    if (h->n < 8)
        h->epochs[h->n] = n->epoch;
    if (h->n < 8)
        (void)snprintf(h->lines[h->n], sizeof h->lines[0], "%s %" PRIu64, usher_verb_word(n->verb),
                       n->version);
    h->n++;
}

/* An applied expiry is a change, though the command that applied it is invalid. */
TEST(an_expiry_before_an_invalid_command_is_notified)
{
    static const char *const lines[] = { "rule r radix=14 check=luhn", "confirm r nonsense token=9",
                                         "grant r 1 2" };
    struct fixture *f = *state;
    struct usher_watcher *here, *there;
    struct heard h[2] = { { 0 }, { 0 } };

    assert_int_equal(usher_watch(f->e, USHER_SERIAL, "r", hear, &h[0], &here), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_SERIAL, "r", hear, &h[1], &there), USHER_OK);
    ok(f, "rule r mode=gapfree lease=10");
    for (unsigned i = 0; i < 3; i++) {
        ok(f, "reserve r");
        f->now += 4000;
        invalid(f, "%s", lines[i]);
        for (unsigned k = 0; k < 2; k++) {
            char line[48];

            (void)snprintf(line, sizeof line, "expire %u", 3 + 2 * i);
            assert_int_equal(h[k].n, 3 + 2 * i);
            assert_string_equal(h[k].lines[2 + 2 * i], line);
        }
    }
    usher_unwatch(f->e, here);
    usher_unwatch(f->twin, there);
}

/* Expiries that a command applies have the epoch before, if the command changes it. */
TEST(notice_has_the_epoch_of_its_change)
{
    struct fixture *f = *state;
    struct usher_watcher *here, *there;
    struct heard h[2] = { { 0 }, { 0 } };

    assert_int_equal(usher_watch(f->e, USHER_SERIAL, "r", hear, &h[0], &here), USHER_OK);
    assert_int_equal(usher_watch(f->twin, USHER_SERIAL, "r", hear, &h[1], &there), USHER_OK);
    ok(f, "rule r mode=gapfree lease=10 max=5");
    ok(f, "reserve r");
    f->now += 4000;
    ok(f, "setmax r 7");
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(h[k].n, 4); /* rule, reserve, expire, setmax */
        assert_string_equal(h[k].lines[2], "expire 3");
        assert_string_equal(h[k].lines[3], "setmax 4");
        assert_true(h[k].epochs[1] == h[k].epochs[0] && h[k].epochs[2] == h[k].epochs[0]);
        assert_true(h[k].epochs[3] != h[k].epochs[0]);
    }
    usher_unwatch(f->e, here);
    usher_unwatch(f->twin, there);
}
