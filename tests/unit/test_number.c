/* SPDX-License-Identifier: MIT */
/*
 * The core of number pools: the table, the lists that follow from a state, the draw, local
 * days, rests, and what may be a name.
 *
 * The thirty cells of spec/numbers.md stand here a second time, typed by hand.
 */
#include "lib/test.h"

#include "core/number.h"
#include "core/text.h"
#include "core/verbs.h"

#define DAY INT64_C(86400000)
#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)

/* ---- the table --------------------------------------------------------------------- */

static struct usher__move move_of(unsigned from, unsigned event, unsigned guard)
{
    return usher__machine_move(&usher__number_machine, from, event, guard);
}

static const char *cell_text(unsigned from, unsigned event)
{
    static char text[64];

    (void)snprintf(text, sizeof text, "%s, %s", usher__number_machine.state_words[from],
                   usher__number_machine.event_words[event]);
    return text;
}

enum { NODATA, IDLE_DOWN, IDLE_UP, BUSY_DOWN, BUSY_UP };
enum { ADD, DEL, REG, UNREG, CALL, HANGUP, RENEW, EXPIRE, FREE, LIFT, RETAKE, UNREST };

struct cell {
    int from, event, to, status;
};

static const struct cell thirty[] = {
    { NODATA, ADD, IDLE_DOWN, USHER_OK },          { NODATA, DEL, NODATA, USHER_SAME },
    { NODATA, REG, NODATA, USHER_MISSING },        { NODATA, UNREG, NODATA, USHER_MISSING },
    { NODATA, CALL, NODATA, USHER_MISSING },       { NODATA, HANGUP, NODATA, USHER_MISSING },
    { IDLE_UP, ADD, IDLE_UP, USHER_SAME },         { IDLE_UP, DEL, NODATA, USHER_OK },
    { IDLE_UP, REG, IDLE_UP, USHER_SAME },         { IDLE_UP, UNREG, IDLE_DOWN, USHER_OK },
    { IDLE_UP, CALL, BUSY_UP, USHER_OK },          { IDLE_UP, HANGUP, IDLE_UP, USHER_REFUSED },
    { IDLE_DOWN, ADD, IDLE_DOWN, USHER_SAME },     { IDLE_DOWN, DEL, NODATA, USHER_OK },
    { IDLE_DOWN, REG, IDLE_UP, USHER_OK },         { IDLE_DOWN, UNREG, IDLE_DOWN, USHER_SAME },
    { IDLE_DOWN, CALL, IDLE_DOWN, USHER_REFUSED }, { IDLE_DOWN, HANGUP, IDLE_DOWN, USHER_REFUSED },
    { BUSY_UP, ADD, BUSY_UP, USHER_SAME },         { BUSY_UP, DEL, NODATA, USHER_OK },
    { BUSY_UP, REG, BUSY_UP, USHER_SAME },         { BUSY_UP, UNREG, BUSY_DOWN, USHER_OK },
    { BUSY_UP, CALL, BUSY_UP, USHER_REFUSED },     { BUSY_UP, HANGUP, IDLE_UP, USHER_OK },
    { BUSY_DOWN, ADD, BUSY_DOWN, USHER_SAME },     { BUSY_DOWN, DEL, NODATA, USHER_OK },
    { BUSY_DOWN, REG, BUSY_UP, USHER_OK },         { BUSY_DOWN, UNREG, BUSY_DOWN, USHER_SAME },
    { BUSY_DOWN, CALL, BUSY_DOWN, USHER_REFUSED }, { BUSY_DOWN, HANGUP, IDLE_DOWN, USHER_OK },
};

TEST(the_thirty_cells_are_those_of_the_specification)
{
    assert_int_equal(sizeof thirty / sizeof *thirty, 30);
    for (size_t i = 0; i < 30; i++) {
        const struct cell *c = &thirty[i];
        struct usher__move move = move_of((unsigned)c->from, (unsigned)c->event, USHER__ANY);

        if (!move.row || move.to != c->to || move.status != c->status)
            fail_msg("%s: %s, %s", cell_text((unsigned)c->from, (unsigned)c->event),
                     usher_number_state_word(move.to),
                     usher_status_word((enum usher_status)move.status));
    }
}

/* The cells that a guard changes; all others are as without one. */
static const struct {
    struct cell cell;
    unsigned guard;
} guarded[] = {
    { { IDLE_UP, CALL, IDLE_UP, USHER_REFUSED }, USHER__NUMBER_IF_RESTING },
    { { BUSY_UP, CALL, BUSY_UP, USHER_SAME }, USHER__NUMBER_IF_HOLDER },
    { { BUSY_DOWN, CALL, BUSY_DOWN, USHER_SAME }, USHER__NUMBER_IF_HOLDER },
    { { BUSY_UP, HANGUP, BUSY_UP, USHER_STALE }, USHER__NUMBER_IF_OTHER },
    { { BUSY_DOWN, HANGUP, BUSY_DOWN, USHER_STALE }, USHER__NUMBER_IF_OTHER },
    { { BUSY_UP, HANGUP, BUSY_UP, USHER_REFUSED }, USHER__NUMBER_IF_STRICT },
    { { BUSY_DOWN, HANGUP, BUSY_DOWN, USHER_REFUSED }, USHER__NUMBER_IF_STRICT },
    { { BUSY_UP, RENEW, BUSY_UP, USHER_OK }, USHER__NUMBER_IF_HOLDER },
    { { BUSY_DOWN, RENEW, BUSY_DOWN, USHER_OK }, USHER__NUMBER_IF_HOLDER },
    { { BUSY_UP, FREE, BUSY_UP, USHER_SAME }, USHER__NUMBER_IF_OTHER },
    { { BUSY_DOWN, FREE, BUSY_DOWN, USHER_SAME }, USHER__NUMBER_IF_OTHER },
    { { IDLE_UP, LIFT, IDLE_UP, USHER_OK }, USHER__NUMBER_IF_RESTING },
    { { IDLE_DOWN, LIFT, IDLE_DOWN, USHER_OK }, USHER__NUMBER_IF_RESTING },
    { { BUSY_UP, RETAKE, BUSY_UP, USHER_SAME }, USHER__NUMBER_IF_HOLDER },
    { { BUSY_DOWN, RETAKE, BUSY_DOWN, USHER_SAME }, USHER__NUMBER_IF_HOLDER },
    { { IDLE_UP, UNREST, IDLE_UP, USHER_STALE }, USHER__NUMBER_IF_OTHER },
    { { IDLE_DOWN, UNREST, IDLE_DOWN, USHER_STALE }, USHER__NUMBER_IF_OTHER },
    { { IDLE_UP, UNREST, IDLE_UP, USHER_REFUSED }, USHER__NUMBER_IF_STRICT },
    { { IDLE_DOWN, UNREST, IDLE_DOWN, USHER_REFUSED }, USHER__NUMBER_IF_STRICT },
};

TEST(only_these_guards_make_a_difference)
{
    const struct usher__machine *m = &usher__number_machine;

    for (unsigned k = 0; k < m->n_states * m->n_events * m->n_guards; k++) {
        unsigned guard = k % m->n_guards, event = k / m->n_guards % m->n_events;
        unsigned from = k / m->n_guards / m->n_events;
        struct usher__move want = move_of(from, event, USHER__ANY);
        struct usher__move move = move_of(from, event, guard);

        for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++)
            if (guarded[i].guard == guard && (unsigned)guarded[i].cell.from == from &&
                (unsigned)guarded[i].cell.event == event) {
                want.to = (uint8_t)guarded[i].cell.to;
                want.status = (uint8_t)guarded[i].cell.status;
            }
        if (move.to != want.to || move.status != want.status)
            fail_msg("%s, %s", cell_text(from, event), m->guard_words[guard]);
    }
}

/* Expiry ends each state with a deadline, or it would be due for ever. */
TEST(every_deadline_ends)
{
    for (unsigned from = IDLE_DOWN; from <= BUSY_UP; from++)
        assert_int_equal(move_of(from, EXPIRE, USHER__ANY).status, USHER_OK);
    assert_false(move_of(NODATA, EXPIRE, USHER__ANY).row);
}

/* renew, expire, free and rest, which the specification describes in words. */
TEST(internal_events_follow_the_specification)
{
    static const struct cell cells[] = {
        { NODATA, RENEW, NODATA, USHER_MISSING },
        { NODATA, FREE, NODATA, USHER_MISSING },
        { NODATA, LIFT, NODATA, USHER_MISSING },
        { IDLE_UP, RENEW, IDLE_UP, USHER_REFUSED },
        { IDLE_DOWN, RENEW, IDLE_DOWN, USHER_REFUSED },
        { BUSY_UP, RENEW, BUSY_UP, USHER_STALE },
        { BUSY_DOWN, RENEW, BUSY_DOWN, USHER_STALE },
        { IDLE_UP, EXPIRE, IDLE_UP, USHER_OK },
        { IDLE_DOWN, EXPIRE, IDLE_DOWN, USHER_OK },
        { BUSY_UP, EXPIRE, IDLE_UP, USHER_OK },
        { BUSY_DOWN, EXPIRE, IDLE_DOWN, USHER_OK },
        { IDLE_UP, FREE, IDLE_UP, USHER_SAME },
        { IDLE_DOWN, FREE, IDLE_DOWN, USHER_SAME },
        { BUSY_UP, FREE, IDLE_UP, USHER_OK },
        { BUSY_DOWN, FREE, IDLE_DOWN, USHER_OK },
        { IDLE_UP, LIFT, IDLE_UP, USHER_SAME },
        { IDLE_DOWN, LIFT, IDLE_DOWN, USHER_SAME },
        { BUSY_UP, LIFT, BUSY_UP, USHER_SAME },
        { BUSY_DOWN, LIFT, BUSY_DOWN, USHER_SAME },
        { NODATA, RETAKE, NODATA, USHER_LOST },
        { IDLE_DOWN, RETAKE, BUSY_DOWN, USHER_OK },
        { IDLE_UP, RETAKE, BUSY_UP, USHER_OK },
        { BUSY_UP, RETAKE, BUSY_UP, USHER_LOST },
        { BUSY_DOWN, RETAKE, BUSY_DOWN, USHER_LOST },
    };

    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct usher__move move =
            move_of((unsigned)cells[i].from, (unsigned)cells[i].event, USHER__ANY);

        assert_int_equal(move.to, cells[i].to);
        assert_int_equal(move.status, cells[i].status);
    }
}

TEST(words_are_those_of_the_specification)
{
    static const char *const states[] = { "nodata", "idle+down", "idle+up", "busy+down",
                                          "busy+up" };
    static const char *const events[] = { "add",   "del",    "reg",  "unreg", "call",   "hangup",
                                          "renew", "expire", "free", "lift",  "retake", "unrest" };

    for (unsigned i = 0; i < 5; i++) {
        assert_string_equal(usher_number_state_word(i), states[i]);
        assert_string_equal(usher__number_machine.state_words[i], states[i]);
        assert_true(strlen(usher__number_machine.state_texts[i]) > 0);
    }
    assert_int_equal(usher__number_machine.n_events, 12);
    for (unsigned i = 0; i < 12; i++) {
        assert_string_equal(usher__number_machine.event_words[i], events[i]);
        assert_true(strlen(usher__number_machine.event_texts[i]) > 0);
    }
    assert_string_equal(usher__number_machine.guard_words[USHER__ANY], "any");
    assert_string_equal(usher_number_state_word(5), "?");
    assert_string_equal(usher_number_why_word(USHER_NUMBER_WHY_RESTING), "resting");
    assert_string_equal(usher_number_why_word(USHER_NUMBER_WHY_NONE), "?");
    assert_string_equal(usher_number_order_word(USHER_NUMBER_ORDER_RANDOM), "random");
    assert_string_equal(usher_number_order_word(4), "?");
    assert_string_equal(usher_status_word(USHER_NOMEM), "nomem");
    assert_string_equal(usher_status_word(2), "?");
    assert_true(strlen(usher_status_text(USHER_STALE)) > 0);
    assert_string_equal(usher_status_text(0x34), "?");
}

/* ---- lists ------------------------------------------------------------------------- */

static unsigned lists(unsigned state, int64_t until_ms)
{
    return usher__machine_lists(&usher__number_machine, state, until_ms);
}

TEST(the_lists_follow_from_the_state)
{
    enum { IDLE = 1, DUE = 2, HELD = 4 };

    assert_int_equal(lists(NODATA, 0), 0);
    assert_int_equal(lists(IDLE_DOWN, 0), 0);
    assert_int_equal(lists(IDLE_UP, 0), IDLE);
    assert_int_equal(lists(BUSY_DOWN, 0), HELD);
    assert_int_equal(lists(BUSY_UP, 0), HELD);
    assert_int_equal(lists(IDLE_DOWN, 5), DUE);
    assert_int_equal(lists(IDLE_UP, 5), DUE);
    assert_int_equal(lists(BUSY_DOWN, 5), DUE | HELD);
    assert_int_equal(lists(BUSY_UP, 5), DUE | HELD);
    assert_int_equal(lists(BUSY_UP, INT64_MAX), DUE | HELD);
}

/* ---- the draw ---------------------------------------------------------------------- */

/* The same formula in 64-bit arithmetic cut to 32 bits, as the Redis script has to do it. */
static uint64_t mixed(uint64_t x)
{
    x = ((x ^ (x >> 16)) * 0x85ebca6b) & 0xffffffff;
    x = ((x ^ (x >> 13)) * 0xc2b2ae35) & 0xffffffff;
    return x ^ (x >> 16);
}

TEST(the_draw_is_the_same_for_ever)
{
    static const struct {
        uint64_t version;
        uint32_t draw;
    } vectors[] = {
        { UINT64_C(0x0), UINT32_C(0xaa3e5b61) },
        { UINT64_C(0x1), UINT32_C(0x6f0b28e6) },
        { UINT64_C(0x2), UINT32_C(0x226eb3e8) },
        { UINT64_C(0x3), UINT32_C(0xe7c2db91) },
        { UINT64_C(0x4), UINT32_C(0x06dee630) },
        { UINT64_C(0x3e8), UINT32_C(0xb0a396ca) },
        { UINT64_C(0x80000000), UINT32_C(0x11a4345f) },
        { UINT64_C(0xffffffff), UINT32_C(0x82f01567) },
        { UINT64_C(0x100000000), UINT32_C(0x70f6c6d8) },
        { UINT64_C(0x100000001), UINT32_C(0xd2745ae2) },
        { UINT64_C(0x10000000000), UINT32_C(0x2d9547bf) },
        { UINT64_C(0x1fffffffffffff), UINT32_C(0x18f28b78) },
        { UINT64_C(0x20000000000000), UINT32_C(0x11c8a3a4) },
        { UINT64_C(0xffffffffffffffff), UINT32_C(0x31e0d324) },
    };

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint64_t v = vectors[i].version;

        assert_int_equal(usher__draw(v), vectors[i].draw);
        assert_int_equal(usher__draw(v),
                         mixed((v & 0xffffffff) ^ mixed(((v >> 32) + 0x9e3779b9) & 0xffffffff)));
    }
}

/* No two of 2^32 versions in a row draw the same: checked on a part of them. */
TEST(versions_in_a_row_draw_different_numbers)
{
    enum { N = 1 << 16 };
    uint32_t *draws = malloc(N * sizeof *draws);
    uint64_t bits[32] = { 0 };

    assert_non_null(draws);
    for (unsigned i = 0; i < N; i++) {
        draws[i] = usher__draw(UINT64_C(0xffff0000) + i + (UINT64_C(7) << 32));
        for (unsigned b = 0; b < 32; b++)
            bits[b] += draws[i] >> b & 1;
    }
    for (unsigned b = 0; b < 32; b++) /* 6 standard deviations of 128 */
        assert_in_range(bits[b], N / 2 - 768, N / 2 + 768);
    for (unsigned step = N / 2; step > 0; step /= 2) /* Shell sort */
        for (unsigned i = step; i < N; i++)
            for (unsigned j = i; j >= step && draws[j - step] > draws[j]; j -= step) {
                uint32_t t = draws[j];

                draws[j] = draws[j - step];
                draws[j - step] = t;
            }
    for (unsigned i = 1; i < N; i++)
        assert_true(draws[i - 1] < draws[i]);
    free(draws);
}

/*
 * The head of a list of K numbers that became idle at versions in a row is each of them
 * equally often: chi-square of the smallest of K draws, over many lists.
 */
static double chi_square_of_heads(uint64_t from, uint64_t stride, unsigned k, unsigned lists)
{
    unsigned heads[64] = { 0 };
    double expected = (double)lists / k, sum = 0;

    for (unsigned i = 0; i < lists; i++) {
        unsigned head = 0;

        for (unsigned j = 1; j < k; j++)
            if (usher__draw(from + (i * (uint64_t)k + j) * stride) <
                usher__draw(from + (i * (uint64_t)k + head) * stride))
                head = j;
        heads[head]++;
    }
    for (unsigned j = 0; j < k; j++)
        sum += (heads[j] - expected) * (heads[j] - expected) / expected;
    return sum;
}

TEST(the_head_of_a_list_is_a_fair_draw)
{
    static const struct {
        unsigned k;
        double most; /* chi-square with k - 1 degrees of freedom, 1 in 10^6 */
    } cases[] = { { 2, 23.93 },  { 3, 27.63 }, { 5, 33.38 },
                  { 10, 44.81 }, { 16, 55.4 }, { 50, 109.0 } };
    static const uint64_t froms[] = { 1, 1000000, UINT64_C(1) << 32,
                                      (UINT64_C(1) << 53) - 9999999 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t f = 0; f < sizeof froms / sizeof *froms; f++)
            for (uint64_t stride = 1; stride <= 4; stride++) { /* a call and its hangup: 2 */
                double chi = chi_square_of_heads(froms[f], stride, cases[i].k, 20000);

                if (!(chi < cases[i].most))
                    fail_msg("%u numbers, stride %u: chi-square %.1f", cases[i].k, (unsigned)stride,
                             chi);
            }
}

/* A rank that is drawn is below all others. */
_Static_assert(USHER__RANK_QUEUED > UINT32_MAX, "usher__draw() has 32 bits");

/* ---- days -------------------------------------------------------------------------- */

TEST(days_begin_at_local_midnight)
{
    static const struct {
        int64_t now, zone, day;
    } days[] = {
        { 0, 0, 0 },
        { DAY - 1, 0, 0 },
        { DAY, 0, 1 },
        { -1, 0, -1 },
        { -DAY, 0, -1 },
        { -DAY - 1, 0, -2 },
        /* Nepal, 5:45 east */
        { 18 * HOUR + 15 * MINUTE - 1, 345, 0 },
        { 18 * HOUR + 15 * MINUTE, 345, 1 },
        /* Beijing: midnight is 16:00 UTC of the day before */
        { 16 * HOUR - 1, 480, 0 },
        { 16 * HOUR, 480, 1 },
        /* California in winter: it is still the day before 1970 there */
        { 0, -480, -1 },
        { 8 * HOUR - 1, -480, -1 },
        { 8 * HOUR, -480, 0 },
        { 0, -1440, -1 },
        { 0, 1440, 1 },
        { DAY - 1, 1440, 1 },
        { USHER_TIME_MAX, 0, 2932896 },
        { USHER_TIME_MAX, 1440, 2932897 },
        /* 2024-02-29 and the day after, UTC */
        { INT64_C(1709164800000), 0, 19782 },
        { INT64_C(1709251199999), 0, 19782 },
        { INT64_C(1709251200000), 0, 19783 },
    };

    for (size_t i = 0; i < sizeof days / sizeof *days; i++)
        assert_int_equal(usher__day(days[i].now, days[i].zone), days[i].day);
}

TEST(a_day_ends_where_the_next_one_begins)
{
    static const int64_t times[] = {
        -3 * DAY - 1, -DAY, -1, 0, 1, HOUR, DAY - 1, DAY, INT64_C(1709251199999), USHER_TIME_MAX
    };

    for (int64_t zone = -1440; zone <= 1440; zone += 15)
        for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
            int64_t end = usher__day_end(times[i], zone), day = usher__day(times[i], zone);

            assert_true(end > times[i]);
            assert_true(end - times[i] <= DAY);
            assert_int_equal(usher__day(end, zone), day + 1);
            assert_int_equal(usher__day(end - 1, zone), day);
            assert_int_equal((end + zone * MINUTE) % DAY, 0);
        }
    assert_int_equal(usher__day_end(0, 0), DAY);
    assert_int_equal(usher__day_end(0, -480), 8 * HOUR);
    assert_int_equal(usher__day_end(16 * HOUR, 480), 40 * HOUR);
}

/* ---- the cap ----------------------------------------------------------------------- */

TEST(a_number_that_had_its_calls_is_capped_until_midnight)
{
    int64_t now = 10 * DAY + HOUR;

    assert_false(usher__number_capped(now, 3, 2, 10, 0));
    assert_true(usher__number_capped(now, 3, 3, 10, 0));
    assert_true(usher__number_capped(now, 3, 4, 10, 0));
    assert_true(usher__number_capped(11 * DAY - 1, 3, 3, 10, 0));
    assert_false(usher__number_capped(11 * DAY, 3, 3, 10, 0));
    /* its calls were of another day */
    assert_false(usher__number_capped(now, 3, 3, 9, 0));
    /* or of one that is still to come, by another zone */
    assert_true(usher__number_capped(now, 3, 3, 11, 0));
    /* the day is the pool's */
    assert_true(usher__number_capped(now, 1, 1, 9, -120));
    assert_false(usher__number_capped(now, 1, 1, 8, -120));
    /* no cap */
    assert_false(usher__number_capped(now, 0, 1000000, 10, 0));
}

/* After all offered numbers, by day and then by calls; exact in a double, and in 53 bits. */
TEST(ranks_of_capped_numbers_are_in_order_of_day_and_calls)
{
    static const int64_t days[] = { -1, 0, 1, 19782, 2932896, 2932897 };
    static const int64_t calls[] = { 1, 2, 75, 999999999, 1000000000, (1 << 30) - 1 };
    uint64_t last = USHER__RANK_CAPPED;

    for (size_t d = 0; d < sizeof days / sizeof *days; d++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            for (int drawn = 0; drawn < 2; drawn++) {
                uint64_t rank = usher__number_rank_capped(days[d], calls[c], drawn != 0);

                assert_true(rank > last);
                assert_true(rank < UINT64_C(1) << 53);
                assert_true(usher__number_rank_drawn(rank) == (drawn != 0));
                last = rank;
            }
        }
    /* more calls than a cap can be are all the same */
    assert_true(usher__number_rank_capped(5, 1 << 30, false) ==
                usher__number_rank_capped(5, INT64_MAX, false));
    assert_true(usher__number_rank_capped(5, INT64_MAX, true) <
                usher__number_rank_capped(6, 0, false));
}

/* ---- names ------------------------------------------------------------------------- */

static bool name_ok(const char *s)
{
    return usher__name_fault(s, strlen(s)) == NULL;
}

TEST(names_have_1_to_255_bytes)
{
    char name[257];

    memset(name, 'x', sizeof name);
    assert_string_equal(usher__name_fault(name, 0), "is empty");
    for (size_t n = 1; n <= 255; n++)
        assert_null(usher__name_fault(name, n));
    assert_string_equal(usher__name_fault(name, 256), "is longer than 255 bytes");
    assert_string_equal(usher__name_fault(name, SIZE_MAX), "is longer than 255 bytes");
    /* bytes count, not characters */
    for (size_t i = 0; i + 3 <= 255; i += 3)
        memcpy(name + i, "\xe5\x8f\xb7", 3);
    assert_null(usher__name_fault(name, 255));
    assert_non_null(usher__name_fault(name, 254));
}

TEST(names_are_utf8_without_control_characters)
{
    static const char *const good[] = {
        " ",
        "~",
        "a",
        "\xc2\xa0",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "\xe5\x8f\xb7\xe7\xa0\x81\xe6\xb1\xa0",
        "12345678",
        "1234567\xc3\xa9",
        "\xe2\x80\xa8",
    };
    static const char *const bad[] = {
        "\x01",
        "\x1f",
        "\x7f",
        "\t",
        "\n",
        "a\r",
        "1234567\x7f",
        "12345678\x1f",
        "1234\x7fxyz",
        "\xc2\x80",
        "\xc2\x85",
        "\xc2\x9f", /* C1 controls */
        "\x80",
        "\xbf",
        "\xff",
        "\xfe", /* no first byte */
        "\xc0\x80",
        "\xc0\xaf",
        "\xc1\xbf", /* overlong: 2 bytes */
        "\xe0\x80\x80",
        "\xe0\x9f\xbf", /* 3 */
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", /* 4 */
        "\xed\xa0\x80",
        "\xed\xbf\xbf",             /* surrogates */
        "\xed\xa0\xbd\xed\xb8\x80", /* a pair of them */
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", /* above U+10FFFF */
        "\xf8\x88\x80\x80\x80",
        "\xfc\x84\x80\x80\x80\x80",
        "\xc3",
        "\xe5\x8f",
        "\xf0\x90\x80",
        "\xe5",
        "\xf0\x90", /* cut */
        "\xc3\x28",
        "\xe5\x28\xb7",
        "\xe5\x8f\x28",
        "\xf0\x90\x28\x80",
        "\xf0\x90\x80\x28",
        "\xc3\xc3\xa9",
        "1234567\xc3",
        "aaaaaaa\xe5\x8f",
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!name_ok(good[i]))
            fail_msg("good[%zu] is taken to be wrong", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (name_ok(bad[i]))
            fail_msg("bad[%zu] is taken to be a name", i);
    assert_non_null(usher__name_fault("a\0b", 3));
    assert_non_null(usher__name_fault("12345678\0", 9));
}

/* Every code point, encoded; and every pair of bytes, against the same encoder. */
static size_t encode(unsigned long code, char to[4])
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

TEST(every_code_point_is_classified_correctly)
{
    static bool pair[256][256];
    char bytes[16];

    for (unsigned long code = 0; code < 0x110400; code++) {
        bool good = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) && code >= 0x20 &&
                    !(code >= 0x7f && code <= 0x9f);
        size_t n = encode(code, bytes);

        if ((usher__name_fault(bytes, n) == NULL) != good)
            fail_msg("U+%04lX", code);
        if (good && n == 2)
            pair[(unsigned char)bytes[0]][(unsigned char)bytes[1]] = true;
        /* the same in the eight bytes that are looked at together */
        memcpy(bytes + 7, bytes, n);
        memset(bytes, 'a', 7);
        if ((usher__name_fault(bytes, n + 7) == NULL) != good)
            fail_msg("U+%04lX after seven letters", code);
    }
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            bool plain = a >= 0x20 && a < 0x7f && b >= 0x20 && b < 0x7f;

            bytes[0] = (char)a;
            bytes[1] = (char)b;
            assert_int_equal(usher__name_fault(bytes, 2) == NULL, plain || pair[a][b]);
        }
}

TEST(scope_names_have_no_braces)
{
    assert_null(usher__scope_fault("desk", 4));
    assert_null(usher__scope_fault("a,b*", 4));
    assert_non_null(usher__scope_fault("{", 1));
    assert_non_null(usher__scope_fault("a}", 2));
    assert_non_null(usher__scope_fault("a{b}c", 5));
    assert_non_null(usher__scope_fault("", 0));
    assert_non_null(usher__scope_fault("\x7f{", 2));
}

TEST(groups_have_no_commas_and_are_not_the_star)
{
    assert_null(usher__group_fault("212", 3));
    assert_null(usher__group_fault("*a", 2));
    assert_non_null(usher__group_fault("**", 2)); /* reserved */
    assert_non_null(usher__group_fault("a*", 2));
    assert_non_null(usher__group_fault("a:1", 3));
    assert_non_null(usher__group_fault("*", 1));
    assert_non_null(usher__group_fault("a,b", 3));
    assert_non_null(usher__group_fault(",", 1));
    assert_non_null(usher__group_fault("", 0));
    assert_non_null(usher__group_fault("\n", 1));
}

static bool list_ok(const char *s)
{
    return usher__groups_fault(s, strlen(s)) == NULL;
}

TEST(lists_of_groups_have_1_to_16_of_them)
{
    char list[USHER_LIST_TEXT_MAX + 2];
    size_t n;

    assert_true(list_ok("a"));
    assert_true(list_ok("*"));
    assert_true(list_ok("a,b,*"));
    assert_true(list_ok("a,a"));
    assert_true(list_ok("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"));
    assert_false(list_ok("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"));
    assert_false(list_ok(""));
    assert_false(list_ok(","));
    assert_false(list_ok("a,"));
    assert_false(list_ok(",a"));
    assert_false(list_ok("a,,b"));
    assert_false(list_ok("a,\x01"));
    assert_false(list_ok("a,\xed\xa0\x80,b"));
    /* sixteen of the longest are 4095 bytes */
    for (n = 0; n < 16; n++) {
        memset(list + n * 256, 'x', 255);
        list[n * 256 + 255] = ',';
    }
    assert_null(usher__groups_fault(list, 4095));
    assert_non_null(usher__groups_fault(list, 4096)); /* ends with a comma */
    list[4095] = 'x';
    assert_non_null(usher__groups_fault(list, 4096)); /* the last one is too long */
    assert_non_null(usher__groups_fault(list, 4097));
}

TEST(lists_of_groups_are_split_in_order)
{
    static const char text[] = "a,bb,*,\xe5\x8f\xb7";
    static const char *const want[] = { "a", "bb", "*", "\xe5\x8f\xb7" };
    struct usher_text list = { text, sizeof text - 1 }, group;
    size_t n = 0;

    while (usher__groups_next(&list, &group)) {
        assert_true(n < 4);
        assert_int_equal(group.size, strlen(want[n]));
        assert_memory_equal(group.data, want[n], group.size);
        n++;
    }
    assert_int_equal(n, 4);
    assert_false(usher__groups_next(&list, &group));
}

/* ---- verbs ------------------------------------------------------------------------- */

TEST(verbs_are_found_by_code_and_by_word)
{
    static const char *const words[] = { "add",   "del",  "reg",  "unreg",  "call",  "hangup",
                                         "renew", "free", "show", "list",   "stats", "set",
                                         "sweep", "lift", "drop", "changes" };
    const struct usher__noun *noun = usher__noun(USHER_NUMBER);

    assert_non_null(noun);
    assert_ptr_equal(usher__noun_by_word("number"), noun);
    assert_ptr_equal(usher__noun_at(0), noun);
    assert_null(usher__noun_at(1000));
    assert_null(usher__noun(0));
    assert_null(usher__noun(1000));
    assert_null(usher__noun_by_word("numbers"));
    assert_true(noun->n_verbs >= sizeof words / sizeof *words);
    for (unsigned i = 0; i < noun->n_verbs; i++) {
        const struct usher__verb *verb = usher__verb((unsigned)USHER_NUMBER_ADD + i);

        assert_non_null(verb);
        assert_int_equal(verb->verb, (unsigned)USHER_NUMBER_ADD + i);
        if (i < sizeof words / sizeof *words) /* these codes are for ever */
            assert_string_equal(verb->word, words[i]);
        assert_string_equal(usher_verb_word((enum usher_verb)verb->verb), verb->word);
        assert_true(strlen(verb->help) > 0);
    }
    assert_null(usher__verb(USHER_NUMBER_EXPIRE)); /* in notices only */
    assert_null(usher__verb(0));
    assert_null(usher__verb(0x100));
    assert_null(usher__verb(0x7001));
    assert_null(usher__verb(UINT32_MAX));
    assert_string_equal(usher_verb_word(USHER_NUMBER_EXPIRE), "expire");
    assert_string_equal(usher_verb_word((enum usher_verb)0x1ff), "?");
    assert_string_equal(usher_noun_word(USHER_NUMBER), "number");
    assert_string_equal(usher_noun_word((enum usher_noun)9), "?");
}
