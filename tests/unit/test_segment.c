/* SPDX-License-Identifier: MIT */
/* The arithmetic of segments, of 64 bits in two, and the scrambling of ids. */
#include "lib/test.h"

#include "core/segment.h"
#include "core/wide.h"

/* ---- 64 bits in two --------------------------------------------------------------- */

static void round_trip(uint64_t value)
{
    char text[USHER__WIDE_TEXT], want[32];
    int64_t at[2], back;

    usher__wide_set(at, value);
    assert_true(at[1] < INT64_C(1000000000) && at[1] >= 0 && at[0] >= 0);
    assert_true(usher__wide(at) == value);
    assert_true(usher__wide_sound(at, value));
    assert_false(value > 0 && usher__wide_sound(at, value - 1));
    if (value > INT64_MAX)
        return;
    (void)snprintf(want, sizeof want, "%lld", (long long)value);
    assert_int_equal(usher__wide_text((int64_t)value, text), strlen(want));
    assert_string_equal(text, want);
    assert_true(usher__wide_read(text, strlen(text), &back));
    assert_true((uint64_t)back == value);
}

TEST(wide_numbers_are_printed_and_read_again)
{
    uint64_t at = 1;

    for (int p = 0; p < 20; p++, at *= 10)
        for (uint64_t off = 0; off < 5; off++)
            if (at + off >= 2)
                round_trip(at + off - 2);
    for (int p = 0; p < 64; p++)
        for (uint64_t off = 0; off < 3; off++)
            round_trip((UINT64_C(1) << p) + off - 1);
    round_trip(UINT64_C(18446000000000000000) - 1);
}

TEST(text_that_is_no_number_is_refused)
{
    static const char *const wrong[] = { "",
                                         "01",
                                         "-0",
                                         "-2",
                                         "1a",
                                         "a1",
                                         "/",
                                         ":",
                                         "-",
                                         "9223372036854775808",
                                         "99999999999999999999" };
    char text[USHER__WIDE_TEXT];
    int64_t value = 7;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(usher__wide_read(wrong[i], strlen(wrong[i]), &value));
    assert_int_equal(value, 7);
    assert_int_equal(usher__wide_text(-1, text), 2);
    assert_true(usher__wide_read(text, 2, &value));
    assert_int_equal(value, -1);
    assert_true(usher__wide_read("0", 1, &value));
    assert_int_equal(value, 0);
}

TEST(impossible_counter_is_found)
{
    static const int64_t good[][2] = { { 0, 0 }, { 0, 999999999 }, { 9223372036, 854775807 } };
    static const int64_t bad[][2] = {
        { 9223372036, 854775808 }, { 9223372037, 0 }, { -1, 0 }, { 0, -1 }, { 0, 1000000000 }
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(usher__wide_sound(good[i], INT64_MAX));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(usher__wide_sound(bad[i], INT64_MAX));
}

/* ---- segments --------------------------------------------------------------------- */

TEST(a_segment_gives_its_first_and_its_last)
{
    struct usher__segment g = { 1, 513, INT64_MAX, 1 };
    uint64_t first;

    for (uint64_t i = 1; i <= 512; i++) {
        assert_int_equal(usher__segment_carve(&g, 1, &first), USHER_OK);
        assert_true(first == i);
    }
    assert_int_equal(usher__segment_carve(&g, 1, &first), USHER_EMPTY);
    assert_true(g.next == 513);
    usher__segment_extend(&g, 1, 512);
    assert_true(g.end == 1025);
    usher__segment_extend(&g, 10000, 512);
    assert_true(g.end == 513 + 10000);
    assert_int_equal(usher__segment_carve(&g, 10000, &first), USHER_OK);
    assert_int_equal(usher__segment_carve(&g, 1, &first), USHER_EMPTY);
}

TEST(ids_that_were_skipped_are_not_in_the_next_segment)
{
    struct usher__segment g = { 5000, 1536, INT64_MAX, 3 };

    usher__segment_extend(&g, 1, 10); /* 5000, 5003, …, 5027 */
    assert_true(g.end == 5028);
    g = (struct usher__segment){ 1537, 1535, INT64_MAX, 3 }; /* 1, 4, …, 1534 are used up */
    usher__segment_extend(&g, 1, 512);
    assert_true(g.end == 1535 + 1536);
}

TEST(nothing_passes_the_limit_and_nothing_wraps)
{
    struct usher__segment g = { (uint64_t)INT64_MAX - 2, (uint64_t)INT64_MAX + 100, INT64_MAX, 1 };
    uint64_t first;

    assert_int_equal(usher__segment_carve(&g, 4, &first), USHER_FULL);
    assert_int_equal(usher__segment_rest(&g, 100), 3);
    assert_int_equal(usher__segment_rest(&g, 2), 2);
    assert_int_equal(usher__segment_carve(&g, 3, &first), USHER_OK);
    assert_int_equal(usher__segment_carve(&g, 1, &first), USHER_FULL);
    assert_int_equal(usher__segment_carve(&g, 1000000000, &first), USHER_FULL);
    assert_int_equal(usher__segment_rest(&g, 100), 0);
}

TEST(the_step_doubles_and_halves_within_bounds)
{
    assert_int_equal(usher__segment_step(100, 5, 0, 10, 1000), 100);
    assert_int_equal(usher__segment_step(100, 9, 10, 10, 1000), 200);
    assert_int_equal(usher__segment_step(600, 9, 10, 10, 1000), 1000);
    assert_int_equal(usher__segment_step(100, 10, 10, 10, 1000), 100);
    assert_int_equal(usher__segment_step(100, 19, 10, 10, 1000), 100);
    assert_int_equal(usher__segment_step(100, 20, 10, 10, 1000), 50);
    assert_int_equal(usher__segment_step(15, 20, 10, 10, 1000), 10);
    assert_int_equal(usher__segment_step(5000, 15, 10, 5000, 1000), 5000);
}

TEST(refill_mark_leaves_its_share)
{
    assert_int_equal(usher__segment_mark(1000, 20), 800);
    assert_int_equal(usher__segment_mark(10, 50), 5);
    assert_int_equal(usher__segment_mark(1, 50), 1);
    assert_int_equal(usher__segment_mark(3, 99), 1);
    assert_true(usher__segment_mark(UINT64_MAX, 50) > UINT64_MAX / 2 - 100);
}

/* ---- scrambled -------------------------------------------------------------------- */

TEST(scrambling_is_a_bijection_and_decodes)
{
    static const int64_t sizes[] = { 1, 2, 3, 4, 5, 15, 16, 17, 100, 255, 256, 257, 5000, 65537 };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct usher_scrambler s;
        int64_t first = (int64_t)i * 1000, last = first + sizes[i] - 1;
        char *seen = calloc((size_t)sizes[i], 1);

        assert_non_null(seen);
        assert_int_equal(usher_scramble_init(&s, "a key", 5, first, last), USHER_OK);
        for (int64_t id = first; id <= last; id++) {
            int64_t code = usher_scramble(&s, id);

            assert_true(code >= first && code <= last);
            assert_int_equal(seen[code - first]++, 0);
            assert_int_equal(usher_unscramble(&s, code), id);
        }
        assert_int_equal(usher_scramble(&s, last + 1), -1);
        assert_int_equal(usher_unscramble(&s, first - 1), -1);
        assert_int_equal(usher_scramble(&s, -5), -1);
        free(seen);
    }
}

TEST(the_largest_range_decodes)
{
    struct usher_scrambler s;

    assert_int_equal(usher_scramble_init(&s, "k", 1, 0, INT64_MAX), USHER_OK);
    for (int64_t i = 0; i < 1000; i++) {
        int64_t id = INT64_MAX / 1000 * i + i, code = usher_scramble(&s, id);

        assert_true(code >= 0);
        assert_int_equal(usher_unscramble(&s, code), id);
    }
    assert_int_equal(usher_scramble_init(&s, "k", 1, 1, INT64_MAX), USHER_OK);
    assert_int_equal(usher_unscramble(&s, usher_scramble(&s, INT64_MAX)), INT64_MAX);
    assert_int_equal(usher_scramble(&s, 0), -1);
}

TEST(scramble_depends_on_the_key_and_parts_neighbours)
{
    struct usher_scrambler a, b;
    int alike = 0, neighbours = 0, changed = 0;

    assert_int_equal(usher_scramble_init(&a, "key-1", 5, 0, 999999), USHER_OK);
    assert_int_equal(usher_scramble_init(&b, "key-2", 5, 0, 999999), USHER_OK);
    for (int64_t id = 0; id < 10000; id++) {
        int64_t x = usher_scramble(&a, id), y = usher_scramble(&a, id + 1);

        alike += x == usher_scramble(&b, id);
        neighbours += x - y <= 10 && y - x <= 10;
        changed += __builtin_popcountll((uint64_t)(x ^ y));
    }
    assert_true(alike < 10);
    assert_true(neighbours < 10);
    /* of 20 bits about half */
    assert_true(changed > 90000 && changed < 110000);
}

TEST(a_scramble_needs_a_key_and_a_range)
{
    struct usher_scrambler s;

    assert_int_equal(usher_scramble_init(NULL, "k", 1, 0, 1), USHER_INVALID);
    assert_int_equal(usher_scramble_init(&s, NULL, 1, 0, 1), USHER_INVALID);
    assert_int_equal(usher_scramble_init(&s, "k", 0, 0, 1), USHER_INVALID);
    assert_int_equal(usher_scramble_init(&s, "k", 1, -1, 1), USHER_INVALID);
    assert_int_equal(usher_scramble_init(&s, "k", 1, 2, 1), USHER_INVALID);
}
