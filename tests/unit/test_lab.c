/* SPDX-License-Identifier: MIT */
/*
 * The models and estimates of the laboratory: Erlang's models against their closed forms and
 * against a slow integration, and patience against a record worked out by hand.
 *
 * The parts of the program are included, because they are in no library.
 */
#include "lib/test.h"

#include <math.h>

#include "lab/erlang.c"
#include "lab/patience.c"
#include "lab/random.c"
#include "cli/progress.c"
#include "cli/util.c"

static void near(double value, double wanted, double error)
{
    if (!(fabs(value - wanted) <= error))
        fail_msg("%.9f is not %.9f +- %g", value, wanted, error);
}

TEST(erlang_b_and_c_have_their_closed_forms)
{
    const struct erlang e = { 1, 1, 0 };
    struct erlang_level level;

    near(usher__erlang_b(1, 2), 1.0 / 5, 1e-15);
    near(usher__erlang_b(3, 1), 3.0 / 4, 1e-15);
    near(usher__erlang_b(5, 0), 1, 0);
    /* two agents, one erlang: a third waits, and the rest of a wait has the rate 2 - 1 */
    level = usher__erlang(&e, 2, 3);
    near(level.waits, 1.0 / 3, 1e-15);
    near(level.in_time, 1 - exp(-3) / 3, 1e-15);
    near(level.gave_up, 0, 0);
    /* one agent: the queue grows for ever */
    level = usher__erlang(&e, 1, 3);
    near(level.waits, 1, 0);
    near(level.in_time, 0, 0);
}

/* Each waiting caller leaves at the rate mu, as if it had an agent: as many agents as callers. */
TEST(erlang_a_with_equal_rates_is_a_poisson_distribution)
{
    const struct erlang e = { 6, 1, 1 };
    double p = exp(-6.0), fewer = 0, gave_up = 0;

    for (int k = 0; k < 60; k++) {
        fewer += k < 4 ? p : 0;
        gave_up += k > 4 ? p * (k - 4) / 6 : 0;
        p *= 6.0 / (k + 1);
    }
    near(usher__erlang(&e, 4, 0).waits, 1 - fewer, 1e-12);
    near(usher__erlang(&e, 4, 0).in_time, fewer, 1e-12);
    near(usher__erlang(&e, 4, 0).gave_up, gave_up, 1e-12);
    /* after a long time each caller was served or has hung up */
    near(usher__erlang(&e, 4, 1e6).in_time, 1 - gave_up, 1e-12);
}

/* The share served within @t of callers that find @j waiting, in small steps of time. */
static double integrate(const struct erlang *e, unsigned n, unsigned j, double t)
{
    enum { STEPS = 10000, MOST = 64 };
    double at[MOST + 1] = { 0 }, dt = t / STEPS, served = 0;

    at[j] = 1;
    for (int step = 0; step < STEPS; step++)
        for (unsigned k = 0; k <= j; k++) {
            double leaves = (n * e->mu + k * e->theta) * dt, moved = at[k] * leaves;

            at[k] -= moved + at[k] * e->theta * dt;
            if (k == 0)
                served += moved;
            else
                at[k - 1] += moved;
        }
    return served;
}

TEST(erlang_a_agrees_with_an_integration)
{
    const struct erlang rows[] = {
        { 200.0 / 3600, 20.0 / 3600, 12.0 / 3600 },
        { 200.0 / 3600, 20.0 / 3600, 120.0 / 3600 },
        { 300.0 / 3600, 20.0 / 3600, 12.0 / 3600 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct erlang *e = &rows[i];
        struct erlang_level level = usher__erlang(e, 14, 20);
        double weight = 1, sum = 1 / usher__erlang_b(e->lambda / e->mu, 14), waits = 0, late = 0;

        for (unsigned j = 0; j < 60; j++) {
            waits += weight;
            sum += j > 0 ? weight : 0;
            late += weight * (1 - integrate(e, 14, j, 20));
            weight *= e->lambda / (14 * e->mu + (j + 1) * e->theta);
        }
        near(level.waits, waits / sum, 1e-6);
        near(level.in_time, 1 - late / sum, 2e-4);
    }
    /* published: 14 agents, 10 erlangs, patience 5/3 of the service */
    near(usher__erlang(&rows[0], 14, 20).waits, 0.14526, 5e-6);
    near(usher__erlang(&rows[0], 14, 20).gave_up, 0.013984, 5e-7);
}

TEST(erlang_a_works_for_large_and_odd_centres)
{
    const struct erlang large = { 10000, 1, 0.5 }, patient = { 3, 1, 1e-9 }, odd = { 3, 1, 1e-12 };
    const struct erlang c = { 3, 1, 0 };
    double last = 0;

    for (uint64_t n = 9000; n < 11000; n += 100) {
        double in_time = usher__erlang(&large, n, 0.02).in_time;

        assert_true(in_time > last - 1e-12 && in_time < 1 + 1e-12);
        last = in_time;
    }
    near(last, 1, 1e-6);
    /* with nearly endless patience it is Erlang C */
    near(usher__erlang(&patient, 4, 2).in_time, usher__erlang(&c, 4, 2).in_time, 1e-6);
    /* a queue so long that none is served in time, and which is not walked to its end */
    near(usher__erlang(&odd, 2, 2).in_time, 0, 0);
    near(usher__erlang(&odd, 2, 2).gave_up, 1.0 / 3, 1e-9);
    near(usher__erlang(&odd, 0, 2).gave_up, 1, 0);
}

/* Hang-ups after 2, 4 and 4 s; services after 1, 3, 4 and 9 s. */
static struct call record[] = {
    { .wait_ms = 4000, .patience_ms = 4000 },
    { .wait_ms = 9000, .patience_ms = CALLS_UNKNOWN, .served = true },
    { .wait_ms = 1000, .patience_ms = CALLS_UNKNOWN, .served = true },
    { .wait_ms = 2000, .patience_ms = 2000 },
    { .wait_ms = 3000, .patience_ms = CALLS_UNKNOWN, .served = true },
    { .wait_ms = 4000, .patience_ms = 4000 },
    { .wait_ms = 4000, .patience_ms = CALLS_UNKNOWN, .served = true },
    { .queue_ms = CALLS_UNKNOWN, .wait_ms = CALLS_UNKNOWN, .patience_ms = CALLS_UNKNOWN },
};
static const struct calls calls = { .call = record, .n = 8, .outcomes = true };

TEST(survival_is_the_estimate_of_kaplan_and_meier)
{
    struct survival s;

    usher__survival(&calls, &s);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.step[0].wait_ms, 2000);
    near(s.step[0].left, 5.0 / 6, 1e-15); /* one of six */
    assert_int_equal(s.step[1].wait_ms, 4000);
    near(s.step[1].left, 5.0 / 6 * 2 / 4, 1e-15);
    near(usher__survival_rate(&s), 3.0 / 27, 1e-15);
    usher__survival_done(&s);
}

TEST(patience_is_longer_than_the_recorded_wait)
{
    uint64_t soon = 0, sooner = 0, n = 4000;
    int64_t tail = 0;
    struct survival s;

    usher__survival(&calls, &s);
    for (uint64_t seed = 0; seed < n; seed++) {
        int64_t *patience = usher__patience(&calls, &s, seed);
        int64_t *same = usher__patience(&calls, &s, seed);

        assert_memory_equal(patience, same, calls.n * sizeof *patience);
        assert_int_equal(patience[0], 4000);
        assert_int_equal(patience[3], 2000);
        assert_int_equal(patience[7], CALLS_UNKNOWN);
        for (size_t i = 0; i < 7; i++)
            assert_true(patience[i] >= record[i].wait_ms);
        assert_true(patience[2] == 2000 || patience[2] >= 4000);
        assert_true(patience[4] >= 4000);
        soon += patience[4] == 4000;
        sooner += patience[2] == 2000;
        tail += patience[1] - 9000;
        (void)usher__cli_resize(patience, 0);
        (void)usher__cli_resize(same, 0);
    }
    /* half of those that waited 3 s, a sixth of those that waited 1 s; then at the mean rate */
    near((double)soon / (double)n, 0.5, 0.04);
    near((double)sooner / (double)n, 1.0 / 6, 0.03);
    near((double)tail / (double)n, 9000, 700);
    usher__survival_done(&s);
}

TEST(patience_is_unknown_unless_it_is_measured)
{
    int64_t *patience = usher__patience(&calls, NULL, 1);

    for (size_t i = 0; i < calls.n; i++)
        assert_int_equal(patience[i], record[i].patience_ms);
    (void)usher__cli_resize(patience, 0);
}

TEST(progress_has_the_rate_and_the_time_left)
{
    struct progress p = { .what = "queue", .unit = "commands" };
    char line[PROGRESS_LINE];

    assert_string_equal(usher__progress_line(line, &p, 50, 200, 999),
                        "queue [#######.......................]  25 %");
    assert_string_equal(usher__progress_line(line, &p, 50, 200, 2000),
                        "queue [#######.......................]  25 %, 25 commands/s, 0:06 left");
    assert_string_equal(usher__progress_line(line, &p, 1, 601, 10000),
                        "queue [..............................]   0 %, 0 commands/s, 100:00 left");
    assert_string_equal(usher__progress_line(line, &p, 201, 200, 2000),
                        "queue [##############################] 100 %, 100 commands/s, 0:00 left");
    assert_string_equal(usher__progress_line(line, &p, 300, 0, 2000), "queue 300, 150 commands/s");
    p.unit = NULL;
    assert_string_equal(usher__progress_line(line, &p, 7, 0, 2000), "queue 7");
}
