/* SPDX-License-Identifier: MIT */
/* The last hour of a scope by minutes (serve/hour.c). */
#include "lib/test.h"

#include "serve/hour.h"

#define COUNTS 2u /* series 1 is a count */
#define BEGIN INT64_C(29928105)

static size_t take(struct hour *h, int64_t gauge, int64_t count, int64_t minute)
{
    const int64_t sample[HOUR_SERIES] = { gauge, count, USHER_NONE };

    return usher__hour_sample(h, sample, COUNTS, minute);
}

static void require(const struct hour *h, size_t ago, int32_t gauge, int32_t count)
{
    assert_int_equal(usher__hour_value(h, 0, ago), gauge);
    assert_int_equal(usher__hour_value(h, 1, ago), count);
    assert_int_equal(usher__hour_value(h, 2, ago), HOUR_UNKNOWN);
}

TEST(a_minute_has_its_last_gauge_and_its_count)
{
    struct hour h;

    usher__hour_begin(&h, BEGIN);
    assert_int_equal(take(&h, 5, 100, BEGIN), 0);
    assert_int_equal(take(&h, 7, 103, BEGIN), 0);
    assert_int_equal(h.n, 0);
    assert_int_equal(take(&h, 1, 104, BEGIN + 1), 1);
    assert_int_equal(h.n, 1);
    require(&h, 1, 7, HOUR_UNKNOWN); /* the count at its begin is not known */
    assert_int_equal(take(&h, 2, 110, BEGIN + 1), 0);
    assert_int_equal(take(&h, 9, 110, BEGIN + 2), 1);
    require(&h, 1, 2, 7);
    require(&h, 2, 7, HOUR_UNKNOWN);
    /* a count of the day begins again at midnight */
    assert_int_equal(take(&h, 9, 4, BEGIN + 2), 0);
    assert_int_equal(take(&h, 9, 4, BEGIN + 3), 1);
    require(&h, 1, 9, 4);
}

TEST(minutes_without_a_sample_are_unknown)
{
    struct hour h;

    usher__hour_begin(&h, BEGIN);
    (void)take(&h, 1, 10, BEGIN);
    (void)take(&h, 2, 11, BEGIN + 1);
    assert_int_equal(take(&h, 3, 19, BEGIN + 4), 3);
    assert_int_equal(h.n, 4);
    require(&h, 3, 2, 1);
    require(&h, 2, HOUR_UNKNOWN, HOUR_UNKNOWN);
    require(&h, 1, HOUR_UNKNOWN, HOUR_UNKNOWN);
    /* and so is the count of the minute after them */
    (void)take(&h, 4, 20, BEGIN + 5);
    require(&h, 1, 3, HOUR_UNKNOWN);
    (void)take(&h, 5, 22, BEGIN + 6);
    require(&h, 1, 4, 1);
    (void)take(&h, USHER_NONE, USHER_NONE, BEGIN + 6);
    (void)take(&h, 5, 22, BEGIN + 7);
    require(&h, 1, HOUR_UNKNOWN, HOUR_UNKNOWN);
}

TEST(an_hour_has_sixty_minutes)
{
    struct hour h;

    usher__hour_begin(&h, BEGIN);
    for (int i = 0; i < 150; i++)
        (void)take(&h, i, 2 * i, BEGIN + i);
    assert_int_equal(h.n, HOUR_MINUTES);
    for (size_t ago = 1; ago <= HOUR_MINUTES; ago++)
        require(&h, ago, 149 - (int32_t)ago, 2);
    (void)take(&h, INT64_MAX / 2, 300, BEGIN + 150);
    (void)take(&h, 0, 300, BEGIN + 151);
    require(&h, 1, INT32_MAX, 2);
    /* a gap of an hour, of a minute less, of more */
    for (int64_t gap = HOUR_MINUTES - 1; gap <= HOUR_MINUTES + 1; gap++) {
        usher__hour_begin(&h, BEGIN);
        for (int i = 0; i < 70; i++)
            (void)take(&h, 4, 4, BEGIN + i);
        assert_int_equal(take(&h, 4, 4, BEGIN + 69 + gap), (size_t)gap);
        assert_int_equal(h.n, HOUR_MINUTES);
        for (size_t ago = 1; ago < (size_t)gap && ago <= HOUR_MINUTES; ago++)
            require(&h, ago, HOUR_UNKNOWN, HOUR_UNKNOWN);
        if (gap <= HOUR_MINUTES)
            require(&h, (size_t)gap, 4, 0);
    }
}
