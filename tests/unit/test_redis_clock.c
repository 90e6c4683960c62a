/* SPDX-License-Identifier: MIT */
/* The log lines about a server's clock, from the times of the query and its answer. */
#include "lib/test.h"

#include "../../backends/redis/clock.h"

#define S INT64_C(1000000)
#define T (INT64_C(1790000000) * S) /* some time */

static void said(int64_t sent, int64_t received, int64_t server, const char *words)
{
    char line[USHER__REDIS_CLOCK_LINE] = "before";

    assert_int_equal(usher__redis_clock_line(sent, received, server, line), words != NULL);
    assert_true(memchr(line, '\0', sizeof line) != NULL);
    if (words == NULL)
        assert_string_equal(line, "");
    else if (strstr(line, words) == NULL)
        fail_msg("%s: not %s", line, words);
}

TEST(right_clock_is_not_logged)
{
    said(T, T, T, NULL);
    said(T, T + 300, T + 100, NULL);
    said(T, T, T + S, NULL);
    said(T, T, T - S, NULL);
}

TEST(a_clock_off_by_more_than_a_second_is_logged)
{
    said(T, T, T + S + 1, "is ahead of this machine's by 1.0 s");
    said(T, T, T - S - 1, "is behind this machine's by 1.0 s");
    said(T, T, T + 2 * S + S / 2, "ahead of this machine's by 2.5 s");
    said(T, T, T + 3600 * S, "so leases end early");
    said(T, T, T - 3600 * S, "so leases end late");
    said(T, T, 0, "behind this machine's by 1790000000.0 s");
    said(0, 0, INT64_C(999999999999999999), "ahead of this machine's by 999999999999.9 s");
}

/* It read its clock at some moment between, so the round trip is in its favour. */
TEST(round_trip_is_not_counted_as_clock_error)
{
    for (int64_t way = 0; way <= 20 * S; way += S / 4) {
        said(T, T + way, T + way + S, NULL);
        said(T, T + way, T - S, NULL);
        said(T, T + way, T + way + S + 1, "ahead of this machine's by 1.0 s");
        said(T, T + way, T - S - 1, "behind this machine's by 1.0 s");
    }
}

TEST(offset_is_unknown_when_the_local_clock_was_set)
{
    said(T, T - 1, T + 3600 * S, NULL);
    said(T + 3600 * S, T, T, NULL);
}
