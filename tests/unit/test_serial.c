/* SPDX-License-Identifier: MIT */
/* Serials as pure functions. */
#include "lib/test.h"

#include "core/serial.h"
#include "lib/util.h"

#define DAY INT64_C(86400000)

static struct usher__serial_format plain(void)
{
    struct usher__serial_format f;

    memset(&f, 0, sizeof f);
    f.step = 1;
    f.radix = 10;
    f.overflow = USHER_SERIAL_OVERFLOW_REFUSE;
    return f;
}

static size_t print(const struct usher__serial_format *f, int64_t k, int64_t at_ms,
                    char to[USHER_SERIAL_TEXT_MAX + 1])
{
    return usher__serial_tail(f, usher__serial_head(f, at_ms, to), k, to);
}

static const char *printed(const struct usher__serial_format *f, int64_t k, int64_t at)
{
    static char to[USHER_SERIAL_TEXT_MAX + 1];
    size_t n = print(f, k, at, to);

    assert_true(n <= USHER_SERIAL_TEXT_MAX);
    to[n] = '\0';
    return to;
}

/* ---- check digits: as published ----------------------------------------------------- */

TEST(check_digits_are_as_published)
{
    static const struct {
        unsigned check;
        const char *digits;
        char want;
    } vectors[] = {
        { USHER_SERIAL_CHECK_LUHN, "4992739871", '6' },
        { USHER_SERIAL_CHECK_LUHN, "7992739871", '3' },
        { USHER_SERIAL_CHECK_LUHN, "142857", '2' },
        { USHER_SERIAL_CHECK_LUHN, "", '0' },
        { USHER_SERIAL_CHECK_MOD11_2, "079", 'X' },
        { USHER_SERIAL_CHECK_MOD11_2, "0794", '0' },
        { USHER_SERIAL_CHECK_MOD11_2, "000000021825009", '7' },
        { USHER_SERIAL_CHECK_MOD11_2, "000000021694233", 'X' },
        { USHER_SERIAL_CHECK_MOD37_2, "G123498654321", 'H' },
        { USHER_SERIAL_CHECK_DAMM, "572", '4' },
        { USHER_SERIAL_CHECK_DAMM, "", '0' },
        { USHER_SERIAL_CHECK_VERHOEFF, "236", '3' },
        { USHER_SERIAL_CHECK_VERHOEFF, "12345", '1' },
        { USHER_SERIAL_CHECK_VERHOEFF, "142857", '0' },
        { USHER_SERIAL_CHECK_NONE, "123", '\0' },
    };

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char got =
            usher__check_character(vectors[i].check, vectors[i].digits, strlen(vectors[i].digits));

        if (got != vectors[i].want)
            fail_msg("scheme %u of %s: %c instead of %c", vectors[i].check, vectors[i].digits, got,
                     vectors[i].want);
    }
}

/* The purpose of check digits. */
TEST(check_digits_find_every_single_error_and_most_swaps)
{
    for (unsigned check = USHER_SERIAL_CHECK_LUHN; check <= USHER_SERIAL_CHECK_VERHOEFF; check++) {
        for (int n = 0; n < 3000; n++) {
            char digits[16];
            int size = snprintf(digits, sizeof digits, "%06d", n * 331);
            char want = usher__check_character(check, digits, (size_t)size);

            for (int i = 0; i < size; i++) {
                char was = digits[i];

                for (char c = '0'; c <= '9'; c++) {
                    digits[i] = c;
                    assert_int_equal(usher__check_character(check, digits, (size_t)size) == want,
                                     c == was);
                }
                digits[i] = was;
                if (i + 1 == size || digits[i + 1] == was)
                    continue;
                digits[i] = digits[i + 1];
                digits[i + 1] = was;
                /* Luhn's weakness: 09 and 90 */
                if (check != USHER_SERIAL_CHECK_LUHN ||
                    !((was == '0' && digits[i] == '9') || (was == '9' && digits[i] == '0')))
                    assert_true(usher__check_character(check, digits, (size_t)size) != want);
                digits[i + 1] = digits[i];
                digits[i] = was;
            }
        }
    }
}

/* ---- dates -------------------------------------------------------------------------- */

TEST(every_day_up_to_the_year_9999_is_dated_as_by_the_c_library)
{
    struct usher__serial_format f = plain();

    f.date = text("%Y-%m-%d %j %H:%M:%S%%");
    for (int64_t day = 0; day < 2932897; day++) {
        time_t at = (time_t)(day * 86400 + day * 7 % 86400);
        char want[64];
        struct tm tm;

        assert_non_null(gmtime_r(&at, &tm));
        assert_true(strftime(want, sizeof want, "%Y-%m-%d %j %H:%M:%S%%0", &tm) > 0);
        if (strcmp(printed(&f, 0, (int64_t)at * 1000 + 999), want) != 0)
            fail_msg("%s instead of %s", printed(&f, 0, (int64_t)at * 1000), want);
        assert_int_equal(usher__serial_period(USHER_SERIAL_RESET_DAY, (int64_t)at * 1000, 0), day);
        assert_int_equal(usher__serial_period(USHER_SERIAL_RESET_MONTH, (int64_t)at * 1000, 0),
                         (tm.tm_year + 1900) * 12 + tm.tm_mon);
        assert_int_equal(usher__serial_period(USHER_SERIAL_RESET_YEAR, (int64_t)at * 1000, 0),
                         tm.tm_year + 1900);
    }
}

TEST(a_date_is_read_as_it_was_printed)
{
    struct usher__serial_format f = plain();
    struct usher_text serial = text("20240229%d-7"), none = text("20241329%d-7");
    int64_t leap = INT64_C(1709164800000); /* 2024-02-29 00:00 UTC */
    int64_t k, period;

    f.date = text("%Y%m%d%%d-");
    assert_true(usher__serial_place(&f, &serial, USHER_SERIAL_RESET_NONE, &k, &period));
    assert_int_equal(k, 7);
    assert_int_equal(period, 0);
    assert_true(usher__serial_place(&f, &serial, USHER_SERIAL_RESET_DAY, &k, &period));
    assert_int_equal(period, leap / DAY);
    assert_false(usher__serial_place(&f, &none, USHER_SERIAL_RESET_NONE, &k, &period));
    assert_true(usher__serial_dated(&f, &serial, leap));
    assert_true(usher__serial_dated(&f, &serial, leap + DAY - 1));
    assert_false(usher__serial_dated(&f, &serial, leap + DAY));
    assert_false(usher__serial_dated(&f, &serial, leap - 1));
    assert_false(usher__serial_dated(&f, &serial, -1));
    assert_false(usher__serial_dated(&f, &serial, INT64_MAX));
}

TEST(zones_shift_the_date)
{
    struct usher__serial_format f = plain();
    int64_t leap = INT64_C(1709164800000); /* 2024-02-29 00:00 UTC */

    f.date = text("%Y%m%d%H%M%S.");
    assert_string_equal(printed(&f, 7, leap), "20240229000000.7");
    f.zone_min = -1;
    assert_string_equal(printed(&f, 7, leap), "20240228235900.7");
    f.zone_min = 480;
    assert_string_equal(printed(&f, 7, leap + DAY - 1), "20240301075959.7");
    f.zone_min = 1440;
    assert_string_equal(printed(&f, 7, USHER_TIME_MAX), "99991231235959.7");
    f.zone_min = -1440;
    assert_string_equal(printed(&f, 7, 0), "19691231000000.7");
}

TEST(date_patterns_have_a_fixed_set)
{
    static const char *const bad[] = { "%", "%Y%", "%e", "%Y%m%D", "%%%", "%s", "a\nb", "\xff" };
    static const struct {
        const char *pattern;
        unsigned finest;
    } good[] = {
        { "", USHER_SERIAL_RESET_NONE },       { "%m%d", USHER_SERIAL_RESET_NONE },
        { "%Y", USHER_SERIAL_RESET_YEAR },     { "%y-%d", USHER_SERIAL_RESET_YEAR },
        { "%Y%m", USHER_SERIAL_RESET_MONTH },  { "%d.%m.%Y", USHER_SERIAL_RESET_DAY },
        { "%y%j", USHER_SERIAL_RESET_DAY },    { "%%Y%%m%%d", USHER_SERIAL_RESET_NONE },
        { "%H%M%S", USHER_SERIAL_RESET_NONE }, { "\xe5\xb9\xb4%Y", USHER_SERIAL_RESET_YEAR }
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_non_null(usher__serial_date_fault(bad[i], strlen(bad[i])));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct usher_text t = text(good[i].pattern);

        assert_null(usher__serial_date_fault(t.data, t.size));
        assert_int_equal(usher__serial_date_finest(&t), good[i].finest);
    }
}

/* ---- numbers ------------------------------------------------------------------------ */

static void round_trip(const struct usher__serial_format *f, int64_t k, int64_t at)
{
    char to[USHER_SERIAL_TEXT_MAX + 1], other[USHER_SERIAL_TEXT_MAX + 1],
        packed[USHER__SERIAL_FORMAT_MAX];
    struct usher_text serial = { to, print(f, k, at, to) };
    struct usher__packer p = { (unsigned char *)packed, sizeof packed, 0 };
    struct usher__serial_format again;
    struct usher__serial_parts parts;
    struct usher_text data = { packed, 0 };
    int64_t number;

    if (k > (INT64_MAX - f->base) / f->step) {
        assert_int_equal(serial.size, 0);
        return;
    }
    assert_true(serial.size > 0);
    assert_true(usher__serial_number(f, &serial, &number));
    assert_true(number == k);
    assert_null(usher__serial_parse(f, &serial, &parts));
    assert_true(parts.number == k && parts.value == f->base + k * f->step);
    usher__serial_pack(&p, f);
    assert_true(p.n <= sizeof packed);
    data.size = p.n;
    assert_true(usher__serial_unpack(&data, &again));
    assert_int_equal(print(&again, k, at, other), serial.size);
    assert_memory_equal(other, to, serial.size);
}

static int64_t edges[128];
static int n_edges;

static void edges_make(void)
{
    int64_t power = 1;

    n_edges = 0;
    for (int i = 0; i <= 18; i++) {
        for (int64_t by = -1; by <= 1; by++)
            edges[n_edges++] = power + by;
        power *= i < 18 ? 10 : 1;
    }
    for (int64_t by = -1; by <= 1; by++)
        edges[n_edges++] = (INT64_C(1) << 53) + by;
    edges[n_edges++] = INT64_MAX - 1;
    edges[n_edges++] = INT64_MAX;
}

TEST(numbers_are_printed_and_read_at_every_edge)
{
    char want[32];

    edges_make();
    for (int i = 0; i < n_edges; i++) {
        struct usher__serial_format f = plain();

        (void)snprintf(want, sizeof want, "%" PRId64, edges[i]);
        assert_string_equal(printed(&f, edges[i], 0), want);
        (void)snprintf(want, sizeof want, "%025" PRId64, edges[i]);
        f.width = 25;
        assert_string_equal(printed(&f, edges[i], 0), want);
        f.prefix = text("A-");
        f.suffix = text("/9");
        f.date = text("%Y%m%d");
        for (f.radix = 10; f.radix <= 36; f.radix++) {
            f.check = f.radix == 10 ? i % 6
                      : i % 2 != 0  ? USHER_SERIAL_CHECK_MOD37_2
                                    : USHER_SERIAL_CHECK_NONE;
            for (f.width = 0; f.width <= 40; f.width += 8)
                round_trip(&f, edges[i], edges[i] % USHER_TIME_MAX);
        }
        f.radix = 10;
        f.width = 0;
        f.base = 1000;
        f.step = 7;
        round_trip(&f, edges[i], 0);
    }
}

TEST(serial_in_another_format_is_not_read)
{
    static const char *const bad[] = { "",
                                       "X",
                                       "A20240229017/",
                                       "A20240229017/Y",
                                       "B20240229017/X",
                                       "A20241329017/X",
                                       "A2024022917/X",
                                       "A20240229027/X",
                                       "A202402290017/X",
                                       "A2024022901a/X" };
    struct usher__serial_format f = plain();
    struct usher__serial_parts parts;
    struct usher_text t;

    f.prefix = text("A");
    f.suffix = text("/X");
    f.date = text("%Y%m%d");
    f.width = 3;
    f.base = 7;
    f.step = 10;
    t = text(printed(&f, 1, INT64_C(1709164800000)));
    assert_memory_equal(t.data, "A20240229017/X", t.size);
    assert_null(usher__serial_parse(&f, &t, &parts));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        t = text(bad[i]);
        if (strcmp(bad[i], "A20240229027/X") == 0) {
            assert_null(usher__serial_parse(&f, &t, &parts)); /* the next one */
            continue;
        }
        if (usher__serial_parse(&f, &t, &parts) == NULL)
            fail_msg("%s was read", bad[i]);
    }
    t = text("A20240229018/X"); /* no step leads there */
    assert_non_null(usher__serial_parse(&f, &t, &parts));
    f.check = USHER_SERIAL_CHECK_LUHN;
    t = text("A20240229017/X");
    assert_non_null(usher__serial_parse(&f, &t, &parts));
    t = text(printed(&f, 1, INT64_C(1709164800000)));
    assert_null(usher__serial_parse(&f, &t, &parts));
    assert_int_equal(parts.check, t.data[12]);
    /* beyond 63 bits */
    f = plain();
    t = text("9223372036854775807");
    assert_null(usher__serial_parse(&f, &t, &parts));
    t = text("9223372036854775808");
    assert_non_null(usher__serial_parse(&f, &t, &parts));
    t = text("99999999999999999999");
    assert_non_null(usher__serial_parse(&f, &t, &parts));
}

TEST(the_limit_is_the_last_number_that_fits)
{
    struct usher__serial_format f = plain();

    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == INT64_MAX);
    assert_true(usher__serial_limit(&f, 12, 0, 0) == 12);
    f.width = 3;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == 999);
    f.radix = 16;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == 4095);
    f.base = 95;
    f.step = 100;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == 40);
    assert_string_equal(printed(&f, 40, 0), "FFF");
    f.base = 4096;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == 0);
    f.overflow = USHER_SERIAL_OVERFLOW_WIDEN;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == (INT64_MAX - 4096) / 100);
    f = plain();
    f.width = 19;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == INT64_MAX);
    f.width = 18;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == INT64_C(999999999999999999));
    f.step = USHER_SERIAL_STEP_MAX;
    assert_true(usher__serial_limit(&f, INT64_MAX, 0, 0) == INT64_C(999999999999));
    f = plain();
    assert_true(usher__serial_limit(&f, INT64_MAX, USHER_SERIAL_MODE_GAPFREE, 0) ==
                (INT64_C(1) << 53) - 1);
    assert_true(usher__serial_limit(&f, INT64_MAX, USHER_SERIAL_MODE_GAPFREE,
                                    USHER_SERIAL_RESET_DAY) == (INT64_C(1) << 31) - 1);
}

/* ---- demand ------------------------------------------------------------------------- */

TEST(sliding_windows_agree_with_a_plain_model)
{
    int64_t taken[4000][2];
    int64_t bucket = 0, use[USHER__USE_PERIODS / 2] = { 0 };
    int64_t now = INT64_C(1699920000000);
    int n = 0;

    srand(7);
    for (int i = 0; i < 4000; i++) {
        int64_t recent = 0, longterm = 0, period;

        now += rand() % 20 == 0 ? rand() % 5000000 : rand() % 60000;
        usher__use_slide(&bucket, use, now);
        taken[n][0] = now / USHER__USE_MS;
        taken[n][1] = rand() % 1000;
        usher__use_add(bucket, use, taken[n][1]);
        n++;
        period = now / USHER__USE_MS;
        for (int k = 0; k < n; k++) {
            recent += taken[k][0] > period - 6 ? taken[k][1] : 0;
            longterm += taken[k][0] > period - 12 ? taken[k][1] : 0;
        }
        assert_true(usher__use_sum(bucket, use, 6) == recent);
        assert_true(usher__use_sum(bucket, use, 12) == longterm);
    }
    usher__use_add(bucket, use, INT64_C(1) << 40); /* does not spill into its neighbour */
    usher__use_add(bucket, use, INT64_C(1) << 40);
    assert_true(usher__use_sum(bucket, use, 1) == USHER__USE_MAX);
    for (int i = 0; i < 6; i++)
        assert_true(use[i] >= 0 && use[i] < INT64_C(1) << 53);
}

TEST(peaks_ask_for_more_and_troughs_for_less)
{
    assert_int_equal(usher__serial_target(0, 0, 0), 1);
    assert_int_equal(usher__serial_target(10, 0, 0), 11);
    assert_int_equal(usher__serial_target(10, 100, 200), 110); /* steady */
    assert_int_equal(usher__serial_target(10, 100, 150), 160); /* rising by 50 */
    assert_int_equal(usher__serial_target(10, 50, 150), 60);   /* falling */
    assert_int_equal(usher__serial_target(10, 0, 100), 11);
}
