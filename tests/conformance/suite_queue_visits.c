/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store: when maxwait ends a visit, the history and statistics of visits,
 * and that each read of a queue is right, however many deadlines are due.
 */
#include "lib/test.h"

#include "conformance/story.h"
#include "lib/calls.h"

/* The newest visit in the history: how it ended, how long it waited and talked, and when it ended,
 * counted from @from. */
static void last_visit(struct fixture *f, enum usher_queue_outcome outcome, int64_t wait,
                       int64_t talk, int64_t from, int64_t ended)
{
    const struct usher_queue_result_row *row;

    command(f, "history max=1");
    assert_int_equal(f->r.of.queue.n_rows, 1);
    row = f->r.of.queue.rows;
    assert_string_equal(usher_queue_outcome_word((enum usher_queue_outcome)row->state),
                        usher_queue_outcome_word(outcome));
    assert_int_equal(row->wait_ms, wait);
    assert_int_equal(row->talk_ms, talk);
    assert_int_equal(row->until_ms - from, ended);
}

/* Figures and history say the same, all of today. */
static void adds_up(struct fixture *f)
{
    int64_t seated, wait = 0, talk = 0, finished = 0, stays = 0, without = 0;
    struct usher_queue_result_statistics s;

    command(f, "stats");
    s = f->r.of.queue.of.stats;
    command(f, "history max=1000");
    for (size_t i = 0; i < f->r.of.queue.n_rows; i++) {
        const struct usher_queue_result_row *row = &f->r.of.queue.rows[i];

        without += row->matched_ms == 0;
        if (row->matched_ms == 0)
            continue;
        stays++;
        finished++;
        wait += row->wait_ms;
        talk += row->talk_ms;
    }
    command(f, "list state=seated max=1000");
    for (size_t i = 0; i < f->r.of.queue.n_rows; i++) {
        stays++;
        wait += f->r.of.queue.rows[i].matched_ms - f->r.of.queue.rows[i].applied_ms;
    }
    seated = s.seated_today;
    assert_int_equal(seated, stays);
    assert_int_equal(s.finished_today, finished);
    assert_int_equal(s.abandoned_today + s.timeout_today, without);
    assert_int_equal(s.wait_ms, seated > 0 ? wait / seated : -1);
    assert_int_equal(s.talk_ms, finished > 0 ? talk / finished : -1);
}

/* clang-format off */

/* ---- stays --------------------------------------------------------------------------- */

TEST_EACH(queue_set_up, fixture_end);

TEST(hour_of_talk_is_recorded_when_the_agent_is_lost)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=0 maxwait=60000", "ok" }, { "login ann", "ok idle" },
        { "apply bob", "ok room ann" },
        { "+3600000", 0 },
        { "apply zoe", "ok queue 0" }, { "where bob", "ok room ann" },
        { "logout ann", "ok gone" },
        { "where bob", "ok queue 0" }, { "where zoe", "ok queue 1" }, /* in front */
        { "history", "ok bob:requeued" }, { "history agent=ann", "ok bob:requeued" },
        { "history agent=kim", "ok" });
    last_visit(f, USHER_QUEUE_OUTCOME_REQUEUED, 0, 60 * MINUTE, begin, 60 * MINUTE);
    assert_int_equal(f->r.of.queue.rows[0].agent.size, 3);
    assert_int_equal(f->r.of.queue.rows[0].no, 1);
    adds_up(f);
    STORY(f,
        { "+30000", 0 },
        { "login kim", "ok busy" }, { "where bob", "ok room kim" },
        { "+60000", 0 },
        { "finish kim.1", "ok bob kim" },
        { "history", "ok bob:seated zoe:timeout bob:requeued" },
        { "history agent=ann", "ok bob:requeued" }, { "history agent=kim", "ok bob:seated" });
    last_visit(f, USHER_QUEUE_OUTCOME_SEATED, 30000, MINUTE, begin, 60 * MINUTE + 90000);
    assert_int_equal(f->r.of.queue.rows[0].since_ms, begin);
    assert_int_equal(f->r.of.queue.rows[0].applied_ms, begin + 60 * MINUTE);
    adds_up(f);
    STORY(f, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.seated_today, 2);
    assert_int_equal(f->r.of.queue.of.stats.finished_today, 2);
    assert_int_equal(f->r.of.queue.of.stats.talk_ms, (60 * MINUTE + MINUTE) / 2);
    assert_int_equal(f->r.of.queue.of.stats.wait_ms, 15000);
    assert_int_equal(f->r.of.queue.of.stats.service_seated, 5000); /* 30 s are too long */
    assert_int_equal(f->r.of.queue.of.stats.service_level, 3333); /* zoe timed out */
}

TEST(a_user_of_a_lost_agent_gets_an_idle_agent)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=15000 maxwait=60000", "ok" }, { "login ann", "ok idle" },
        { "apply bob", "ok room ann" }, { "login eve", "ok idle" });
    for (int i = 0; i < 30; i++) {
        f->now += 10000;
        if (i < 28)
            command(f, "alive agent=ann");
        command(f, "alive agent=eve");
        command(f, "alive user=bob");
    }
    /* ann sent the last heartbeat after 280 s, so she was gone after 295 s */
    STORY(f,
        { "where bob", "ok room eve" }, { "agents", "ok eve:busy" },
        { "history", "ok bob:requeued" }, { "history agent=ann", "ok bob:requeued" });
    last_visit(f, USHER_QUEUE_OUTCOME_REQUEUED, 0, 295000, begin, 295000);
    adds_up(f);
}

TEST(talk_of_a_dropped_user_is_counted)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=0 maxwait=60000 requeue=drop", "ok" }, { "login ann", "ok idle" },
        { "apply bob", "ok room ann" },
        { "+3600000", 0 },
        { "logout ann", "ok gone" }, { "where bob", "missing" },
        { "history agent=ann", "ok bob:dropped" });
    last_visit(f, USHER_QUEUE_OUTCOME_DROPPED, 0, 60 * MINUTE, begin, 60 * MINUTE);
    adds_up(f);
}

TEST(each_stay_of_a_busy_agent_is_a_visit)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann capacity=2", "ok idle" }, { "apply a", "ok room ann" },
        { "+1000", 0 },
        { "apply b", "ok room ann" }, { "apply c", "ok queue 0" },
        { "+1000", 0 },
        { "logout ann", "ok gone" }, { "list", "ok a b c" },
        { "history", "ok b:requeued a:requeued" },
        { "+1000", 0 },
        { "login kim capacity=3", "ok busy" }, { "leave a", "ok a kim" },
        { "+1000", 0 },
        { "logout kim", "ok gone" }, { "list", "ok b c" }, { "leave b", "ok b" },
        { "history", "ok b:left c:requeued b:requeued a:seated b:requeued a:requeued" });
    adds_up(f);
}

TEST(a_queue_that_keeps_no_visits_counts_them)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 history=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "+1000", 0 },
        { "logout ann", "ok gone" }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.visits, 0);
    assert_int_equal(f->r.of.queue.of.stats.finished_today, 1);
    assert_int_equal(f->r.of.queue.of.stats.talk_ms, 1000);
}

/* ---- patience ------------------------------------------------------------------------ */

TEST(a_user_that_comes_back_keeps_its_maxwait)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=0 maxwait=60000", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply bob", "ok queue 0" },
        { "+40000", 0 },
        { "finish ann.1", "ok a ann" }, { "where bob", "ok room ann" },
        { "+3600000", 0 },
        { "logout ann", "ok gone" },
        { "+19999", 0 },
        { "where bob", "ok queue 0" },
        { "+1", 0 },
        { "where bob", "missing" }, { "history", "ok bob:timeout bob:requeued a:seated" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 20000, 0, begin, 60 * MINUTE + 60000);
    adds_up(f);
}

TEST(a_user_that_comes_back_has_ten_seconds_at_least)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 maxwait=60000", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply bob", "ok queue 0" },
        { "+55000", 0 },
        { "finish ann.1", "ok a ann" }, { "where bob", "ok room ann" }, { "logout ann", "ok gone" },
        { "+9999", 0 },
        { "where bob", "ok queue 0" },
        { "+1", 0 },
        { "where bob", "missing" });
    adds_up(f);
}

TEST(time_away_counts_as_waiting)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=5000 grace=60000 maxwait=20000", "ok" }, { "login ann", "ok idle" },
        { "apply bob", "ok room ann" },
        { "+2000", 0 },
        { "logout ann", "ok gone" }, { "where bob", "ok queue 0" },
        { "+19999", 0 },
        { "where bob", "ok away" },
        { "+1", 0 },
        { "where bob", "missing" }, { "history", "ok bob:timeout bob:requeued" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 20000, 0, begin, 22000);
    adds_up(f);
}

/* ---- limits that change -------------------------------------------------------------- */

TEST(another_maxwait_applies_to_waiting_users)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=0 maxwait=3600000", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "apply a", "ok queue 0" },
        { "+1000", 0 },
        { "apply b", "ok queue 1" }, { "set maxwait=300000", "ok" },
        { "+1000", 0 },
        { "apply c", "ok queue 2" },
        { "+297999", 0 },
        { "list", "ok a b c" },
        { "+1", 0 },
        { "list", "ok b c" }, { "set maxwait=0", "ok" },
        { "+3302000", 0 },
        { "list", "ok b c" }, { "set maxwait=3602000", "ok" }, { "list", "ok b c" },
        { "+1000", 0 },
        { "list", "ok c" }, { "history", "ok b:timeout a:timeout" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 3602000, 0, begin + 1000, 3602000);
    adds_up(f);
}

/* Users whose time is over already leave after the change, in the order of their arrival. */
TEST(a_lower_maxwait_ends_no_younger_one_before_an_older_one)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "apply a priority=1", "ok queue 0" },
        { "+1000", 0 },
        { "apply b priority=3", "ok queue 0" },
        { "+1000", 0 },
        { "apply c priority=2", "ok queue 1" }, { "set maxwait=500", "ok" }, { "list", "ok b c a" },
        { "+1", 0 },
        { "list", "ok c" }, { "history", "ok b:timeout a:timeout" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 1001, 0, begin + 1000, 1001);
    STORY(f, { "+499", 0 }, { "list", "ok" }, { "history", "ok c:timeout b:timeout a:timeout" });
    adds_up(f);
}

TEST(another_maxwait_applies_to_users_in_every_state)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=5000 grace=60000", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "apply bob", "ok queue 0" },
        { "+3000", 0 }, { "alive agent=ann", "ok paused -" },
        { "+3000", 0 },
        { "where bob", "ok away" }, { "set maxwait=10000 ttl=0", "ok" },
        { "+3999", 0 },
        { "where bob", "ok away" },
        { "+1", 0 },
        { "where bob", "missing" }, { "history", "ok bob:timeout" },
        /* An offer is not cut: a user that has waited too long by its end leaves then. */
        { "set maxwait=0 offer=10000", "ok" }, { "ready ann", "ok idle" }, { "apply bob", "ok offer ann" },
        { "+5000", 0 },
        { "set maxwait=1000", "ok" },
        { "+4999", 0 },
        { "where bob", "ok offer ann" },
        { "+1", 0 },
        { "where bob", "missing" }, { "history", "ok bob:timeout bob:timeout" },
        /* In a room patience does not pass. */
        { "set maxwait=0 offer=0", "ok" }, { "pause ann", "ok paused" }, { "apply bob", "ok queue 0" },
        { "+20000", 0 },
        { "ready ann", "ok busy" }, { "set maxwait=35000", "ok" },
        { "+3600000", 0 },
        { "logout ann", "ok gone" },
        { "+14999", 0 },
        { "where bob", "ok queue 0" },
        { "+1", 0 },
        { "where bob", "missing" });
    adds_up(f);
}

TEST(another_ttl_counts_from_the_change)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply bob", "ok room ann" },
        { "+3600000", 0 },
        { "set ttl=20000", "ok" },
        { "+19000", 0 },
        { "alive user=bob", "ok room ann" },
        { "+999", 0 },
        { "agents", "ok ann:busy" },
        { "+1", 0 },
        { "agents", "ok" }, { "where bob", "ok queue 0" },
        /* No silent agent ends then. */
        { "set ttl=0", "ok" }, { "login ann", "ok busy" },
        { "+3600000", 0 },
        { "agents", "ok ann:busy" }, { "where bob", "ok room ann" },
        /* A lower one counts from the change as well, */
        { "set ttl=100000", "ok" },
        { "+90000", 0 },
        { "set ttl=15000", "ok" }, { "alive user=bob", "ok room ann" },
        { "+14000", 0 }, { "alive user=bob", "ok room ann" },
        { "+999", 0 },
        { "agents", "ok ann:busy" },
        { "+1", 0 },
        { "agents", "ok" },
        /* and a higher one from the last sign of life. */
        { "login ann", "ok busy" },
        { "+13000", 0 }, { "alive user=bob", "ok room ann" },
        { "set ttl=30000", "ok" },
        { "+16999", 0 }, { "alive user=bob", "ok room ann" },
        { "agents", "ok ann:busy" },
        { "+1", 0 },
        { "agents", "ok" });
}

/* More than one command brings in line with it, agents as well. */
TEST(new_limits_apply_to_hundreds_of_users)
{
    struct fixture *f = *state;
    const struct usher_queue_result_statistics *stats = &f->r.of.queue.of.stats;
    enum { N = 700 };

    if (under_test.drivers != NULL) /* a store whose every step is a walk over all there is */
        return;
    STORY(f, { "set ttl=0", "ok" });
    for (int i = 0; i < N; i++) {
        command(f, "login a%d lanes=l", i);
        command(f, "apply u%d lane=l", i);
        command(f, "apply w%d lane=m", i);
        if (i == 0) {
            command(f, "login mia lanes=m");
            command(f, "pause mia");
        }
    }
    command(f, "stats");
    assert_true(stats->waiting >= N - 1);
    STORY(f, { "set ttl=15000 maxwait=1000 strategy=level", "ok" }, { "set maxwait=5000", "ok" });
    f->now += 4000;
    command(f, "stats");
    assert_true(stats->waiting >= N - 1);
    f->now += 1000;
    command(f, "stats");
    assert_int_equal(stats->waiting, 0);
    assert_true(stats->timeout_today >= N - 1);
    assert_int_equal(stats->agents, N + 1);
    f->now += 9999;
    STORY(f, { "alive agent=mia", "ok paused -" });
    command(f, "stats");
    assert_int_equal(stats->agents, N + 1);
    f->now += 1;
    command(f, "stats");
    assert_int_equal(stats->agents, 1);
}

/* bob has a maxwait of 15 s.  10 s are over when ann is offered bob, with 10 s to answer. */
static void offered_late(struct fixture *f)
{
    STORY(f,
        { "set ttl=0 offer=10000 maxwait=15000", "ok" }, { "login ann", "ok idle" },
        { "pause ann", "ok paused" }, { "apply bob", "ok queue 0" },
        { "+10000", 0 },
        { "ready ann", "ok offered" },
        { "+9000", 0 },
        { "where bob", "ok offer ann" }); /* the maxwait of bob ended 4 s ago */
}

TEST(an_offer_under_way_is_not_cut)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    offered_late(f);
    STORY(f,
        { "accept ann bob", "ok bob ann" },
        { "+3600000", 0 },
        { "where bob", "ok room ann" }, { "logout ann", "ok gone" }, { "where bob", "ok queue 0" },
        { "+9999", 0 },
        { "where bob", "ok queue 0" },
        { "+1", 0 },
        { "where bob", "missing" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 10000, 0, begin, 19000 + 60 * MINUTE + 10000);
    adds_up(f);
}

TEST(maxwait_is_applied_when_the_offer_ends)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    offered_late(f);
    STORY(f, { "+1000", 0 }, { "where bob", "missing" }, { "history", "ok bob:timeout" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 20000, 0, begin, 20000);
    adds_up(f);
}

TEST(maxwait_is_applied_when_the_offer_is_rejected)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    offered_late(f);
    STORY(f, { "reject ann bob", "ok bob ann" }, { "where bob", "missing" }, { "agents", "ok ann:idle" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 19000, 0, begin, 19000);
    adds_up(f);
}

TEST(maxwait_is_applied_when_the_agent_of_the_offer_leaves)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    offered_late(f);
    STORY(f, { "login eve", "ok idle" }, { "logout ann", "ok gone" }, { "where bob", "missing" });
    last_visit(f, USHER_QUEUE_OUTCOME_TIMEOUT, 19000, 0, begin, 19000);
    adds_up(f);
}

TEST(an_offer_that_ends_in_time_leaves_the_rest)
{
    STORY(*state,
        { "set ttl=0 offer=5000 maxwait=15000", "ok" }, { "login ann", "ok idle" },
        { "apply bob", "ok offer ann" },
        { "+4000", 0 },
        { "pause ann", "ok pausing" }, { "reject ann bob", "ok bob ann" }, { "where bob", "ok queue 0" },
        { "+10999", 0 },
        { "where bob", "ok queue 0" },
        { "+1", 0 },
        { "where bob", "missing" });
    adds_up(*state);
}

/* ---- looking ------------------------------------------------------------------------- */

/* clang-format on */

/* Add @n waiting users whose heartbeats are due: during ttl only agents sent some. */
static void silent_users(struct fixture *f, int n)
{
    static struct usher_operation c[64];
    static struct usher_result r[64];
    static char name[64][16];
    static int made;

    command(f, "login ann lanes=x");
    command(f, "login eve");
    command(f, "pause eve"); /* the users wait for this agent */
    for (int i = 0; i < n; i += 64) {
        size_t k = n - i < 64 ? (size_t)(n - i) : 64;

        for (size_t j = 0; j < k; j++) {
            memset(&c[j], 0, sizeof c[j]);
            c[j].verb = USHER_QUEUE_APPLY;
            c[j].scope = text("desk");
            (void)snprintf(name[j], sizeof name[j], "u%d", made++);
            c[j].arg.queue.user = text(name[j]);
        }
        for (int twin = 0; twin < 2; twin++) {
            assert_int_equal(usher_operate(twin ? f->twin : f->e, c, r, k), USHER_OK);
            for (size_t j = 0; j < k; j++) {
                assert_int_equal(r[j].status, USHER_OK);
                usher_result_done(&r[j]);
            }
        }
    }
    f->now += 10000;
    command(f, "alive agent=ann");
    command(f, "alive agent=eve");
    f->now += 5000;
}

TEST(queue_statistics_are_right_with_thousands_due)
{
    struct fixture *f = *state;
    int n = budget_wrapped() ? 300 : 3000;

    silent_users(f, n);
    STORY(f, { "stats", "ok *1" });
    assert_int_equal(f->r.of.queue.of.stats.waiting, 0);
    assert_int_equal(f->r.of.queue.of.stats.abandoned_today, n);
    assert_int_equal(f->r.of.queue.of.stats.longest_wait_ms, 0);
    assert_int_equal(f->r.of.queue.of.stats.agents, 2);
}

TEST(every_verb_is_right_with_hundreds_due)
{
    static const struct line verbs[] = {
        { "apply new", "ok queue 0" }, { "list", "ok" },
        { "where u640", "missing" },   { "agents", "ok ann:idle eve:paused" },
        { "room ann", "ok idle -" },   { "alive user=u1", "missing" },
        { "match", "same" },           { "pull ann", "empty" },
        { "leave u1", "missing u1" },  { "move u1 priority=3", "missing" },
        { "set service=1", "ok" },     { "history agent=nobody", "ok …" },
        { "logout ann", "ok gone" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        silent_users(f, budget_wrapped() ? 70 : 200); /* more than one command applies */
        story_at(f, __FILE__, __LINE__, &verbs[i], 1);
        assert_int_equal(f->r.of.queue.why,
                         i == 7 ? USHER_QUEUE_WHY_NO_USER : USHER_QUEUE_WHY_NONE);
    }
}

TEST(reads_of_a_batch_of_applies_wait_for_their_turn)
{
    static const char *const lines[] = { "apply desk zoe", "where desk zoe", "stats desk",
                                         "list desk",      "agents desk",    "history desk",
                                         "set desk",       "leave desk zoe" };
    struct fixture *f = *state;

    silent_users(f, 150);
    no_twin(f);
    in_order(f->e, USHER_QUEUE, lines, sizeof lines / sizeof *lines);
}

TEST(commands_of_a_call_share_one_portion_of_deadlines)
{
    struct fixture *f = *state;

    silent_users(f, 330);
    in_portions(f, "apply desk new%u", 256, USHER_OK, 64, 0);
    STORY(f, { "stats", "ok *1" });
    assert_int_equal(f->r.of.queue.of.stats.abandoned_today, 330);
}

/* Read all pages of @verb, which may have up to 10,000 rows each; return how many rows they have.
 */
static size_t pages_of(struct fixture *f, const char *verb, unsigned *ret_pages)
{
    const struct usher_queue_result *q = &f->r.of.queue;
    char next[USHER_NAME_MAX + 1] = "";
    size_t rows = 0;

    *ret_pages = 0;
    do {
        if (next[0] == '\0')
            command(f, "%s max=10000", verb);
        else
            command(f, "%s max=10000 after=%s", verb, next);
        assert_int_equal(f->r.status, USHER_OK);
        assert_true(q->n_rows <= USHER_PAGE_MAX);
        rows += q->n_rows;
        (void)snprintf(next, sizeof next, "%s", q->agent);
        ++*ret_pages;
    } while (q->more);
    return rows;
}

/* No page holds the server up, whatever its max is. */
TEST(a_page_of_a_list_ends_by_its_work)
{
    enum { N = 2 * USHER_PAGE_MAX + 1 };
    struct fixture *f = *state;
    unsigned pages;

    command(f, "set trigger=pull history=%d", N);
    for (int i = 0; i < N; i++)
        command(f, "login a%d", i);
    for (int i = 0; i < N; i++)
        command(f, "apply u%d", i);
    assert_int_equal(pages_of(f, "agents", &pages), N);
    assert_int_equal(pages, 3);
    assert_int_equal(pages_of(f, "list", &pages), N);
    assert_int_equal(pages, 3);
    assert_int_equal(pages_of(f, "list lane=none", &pages), 0);
    for (int i = 0; i < N; i++)
        command(f, "leave u%d", i);
    assert_int_equal(pages_of(f, "history", &pages), N);
    assert_int_equal(pages, 3);
    assert_int_equal(pages_of(f, "history agent=a0", &pages), 0);
    assert_int_equal(pages, 3);
    assert_int_equal(pages_of(f, "history user=u0", &pages), 1);
    assert_int_equal(pages, 1);
}

/* With a descriptor for a loop of the host's, and without. */
TEST(a_posted_command_comes_after_due_expiries)
{
    struct fixture *f = *state;
    const struct usher_value who = USHER_T(USHER_FIELD_USER, "u7");
    const struct usher_command c[] = {
        { USHER_QUEUE_STATS, USHER_TO_NUL, "desk", NULL, 0, NULL },
        { USHER_QUEUE_WHERE, USHER_TO_NUL, "desk", &who, 1, NULL },
        { USHER_QUEUE_STATS, USHER_TO_NUL, "desk", NULL, 0, NULL },
    };

    for (int loop = 0; loop < 2; loop++) {
        silent_users(f, budget_wrapped() ? 70 : 200); /* more than one command applies */
        if (loop == 1)
            assert_true(usher_fd(f->e) >= 0);
        assert_int_equal(usher_post(f->e, c, 3, 0), USHER_OK);
        for (size_t i = 0; i < 3; i++) {
            const struct usher_event *event = usher_collect(f->e, -1);

            assert_non_null(event);
            assert_int_equal(event->kind, USHER_EVENT_REPLY);
            assert_int_equal(event->reply->verb, c[i].verb);
            assert_int_equal(event->reply->status, i == 1 ? USHER_MISSING : USHER_OK);
            if (i != 1)
                assert_int_equal(usher_reply_int(event->reply, USHER_ANSWER, USHER_FIELD_WAITING),
                                 0);
            usher_event_done(event);
        }
        STORY(f, { "stats", "ok *1" });
    }
}

TEST(a_batch_keeps_its_order_though_much_is_due)
{
    struct fixture *f = *state;
    static struct usher_operation c[64];
    static struct usher_result r[64];

    silent_users(f, 500);
    for (size_t i = 0; i < 64; i++) {
        memset(&c[i], 0, sizeof c[i]);
        c[i].verb = i % 2 == 0 ? USHER_QUEUE_APPLY : USHER_QUEUE_LEAVE;
        c[i].scope = text("desk");
        c[i].arg.queue.user = text("a");
    }
    for (int twin = 0; twin < 2; twin++) {
        assert_int_equal(usher_operate(twin ? f->twin : f->e, c, r, 64), USHER_OK);
        for (size_t i = 0; i < 64; i++) {
            assert_int_equal(r[i].status, USHER_OK);
            assert_true(i == 0 || r[i].version == r[i - 1].version + 1);
            usher_result_done(&r[i]);
        }
    }
}

/* A read with a clock ahead applies what is due by then, and moves the clock no further. */
TEST(read_moves_the_clock_no_further_than_due_expiries)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f, { "set ttl=0 wrapup=5000", "ok" }, { "login ann", "ok idle" },
          { "apply a", "ok room ann" });
    command(f, "stats now=%" PRId64, begin + 60 * MINUTE);
    command(f, "where a now=%" PRId64, begin + 60 * MINUTE);
    STORY(f, { "apply b", "ok queue 0" }, { "list", "ok b" });
    assert_int_equal(f->r.of.queue.rows[0].applied_ms, begin);
    /* wrap-up ends by itself, and b follows */
    STORY(f, { "finish ann.1", "ok a ann" });
    command(f, "room ann now=%" PRId64, begin + 60 * MINUTE);
    assert_string_equal(f->said, "ok busy b");
    assert_int_equal(f->r.of.queue.rows[0].matched_ms, begin + 5000);
    f->now += 1000;
    STORY(f, { "apply c", "ok queue 0" }, { "list", "ok c" });
    assert_int_equal(f->r.of.queue.rows[0].since_ms, begin + 5000);
    f->now += 10000;
    STORY(f, { "apply d", "ok queue 1" }, { "list", "ok c d" });
    assert_int_equal(f->r.of.queue.rows[1].applied_ms, begin + 11000);
    adds_up(f);
}

TEST(offer_made_by_a_read_has_its_full_time)
{
    struct fixture *f = *state;
    int64_t begin = f->now;

    STORY(f, { "set ttl=0 wrapup=5000", "ok" }, { "login ann", "ok idle" },
          { "apply a", "ok room ann" }, { "apply b", "ok queue 0" }, { "set offer=3000", "ok" },
          { "finish ann.1", "ok a ann" }, { "+60000", 0 }, { "where b", "ok offer ann" });
    assert_int_equal(f->r.of.queue.until_ms, begin + 63000);
    STORY(f, { "+2999", 0 }, { "accept ann b", "ok b ann" });
    adds_up(f);
}

/* ---- rooms and tokens ---------------------------------------------------------------- */

TEST(no_two_rooms_of_a_store_have_one_name)
{
    struct fixture *f = *state;
    struct ask_queue_seat one, two;

    no_twin(f);
    assert_int_equal(ask_queue_login(f->e, "desk", "ann", 1, NULL, 0, NULL), USHER_OK);
    assert_int_equal(ask_queue_login(f->e, "other", "ann", 1, NULL, 0, NULL), USHER_OK);
    assert_int_equal(ask_queue_apply(f->e, "desk", "bob", NULL, &one), USHER_OK);
    assert_int_equal(ask_queue_apply(f->e, "other", "bob", NULL, &two), USHER_OK);
    assert_int_equal(one.token, two.token);
    assert_string_not_equal(one.room, two.room);
    assert_int_equal(ask_queue_finish(f->e, "desk", two.room, NULL, 0), USHER_MISSING);
    assert_int_equal(ask_queue_finish(f->e, "other", one.room, NULL, 0), USHER_MISSING);
    assert_int_equal(ask_queue_finish(f->e, "desk", one.room, NULL, one.token), USHER_OK);
    /* the part after the epoch is enough */
    assert_int_equal(ask_queue_finish(f->e, "other", strchr(two.room, '.') + 1, NULL, 0), USHER_OK);
    assert_int_equal(ask_queue_finish(f->e, "other", strchr(two.room, '.'), NULL, 0),
                     USHER_MISSING);
}

/* Row 0 of @reply, which is freed, has the visit @name. */
static void row_has_visit(struct usher_reply *reply, const char *name)
{
    struct usher_queue_row row = USHER_QUEUE_ROW_INIT;

    assert_true(usher_queue_row_of(reply, 0, &row));
    assert_string_equal(row.visit, name);
    usher_reply_done(reply);
}

TEST(stay_with_an_agent_has_one_name_and_no_other_has_it)
{
    struct fixture *f = *state;
    struct usher_queue_options seated = USHER_QUEUE_OPTIONS_INIT, log = USHER_QUEUE_OPTIONS_INIT;
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT, b = USHER_QUEUE_ANSWER_INIT;
    struct usher_queue_settings set = USHER_QUEUE_SETTINGS_INIT;
    char name[USHER_QUEUE_ROOM_MAX], room[USHER_QUEUE_ROOM_MAX];
    struct usher_reply *r;

    no_twin(f);
    set.log = 50;
    assert_int_equal(usher_queue_set(f->e, "desk", &set, NULL, NULL), USHER_OK);
    assert_int_equal(usher_queue_login(f->e, "desk", "ann", NULL, NULL), USHER_OK);
    assert_int_equal(usher_queue_apply(f->e, "desk", "u", NULL, &a), USHER_OK);
    (void)snprintf(name, sizeof name, "%.16s.%" PRIu64, a.room, a.token);
    (void)snprintf(room, sizeof room, "%s", a.room);
    assert_string_equal(a.visit, name);
    assert_int_equal(usher_queue_apply(f->e, "desk", "v", NULL, &b), USHER_OK);
    assert_string_equal(b.visit, "");
    assert_int_equal(usher_queue_where(f->e, "desk", "u", NULL, &a), USHER_OK);
    assert_string_equal(a.visit, name);
    assert_int_equal(usher_queue_room(f->e, "desk", "ann", NULL, &r), USHER_OK);
    row_has_visit(r, name);
    seated.state = USHER_QUEUE_USER_SEATED;
    assert_int_equal(usher_queue_list(f->e, "desk", &seated, &r), USHER_OK);
    row_has_visit(r, name);
    assert_int_equal(usher_queue_leave(f->e, "desk", "u", NULL, &a), USHER_OK);
    assert_string_equal(a.visit, name);
    assert_int_equal(usher_queue_history(f->e, "desk", NULL, &r), USHER_OK);
    row_has_visit(r, name);
    log.since_version = 3; /* the match */
    assert_int_equal(usher_queue_changes(f->e, "desk", &log, &r), USHER_OK);
    row_has_visit(r, name);
    /* the same room, another user */
    assert_int_equal(usher_queue_where(f->e, "desk", "v", NULL, &b), USHER_OK);
    assert_string_equal(b.room, room);
    assert_string_not_equal(b.visit, name);
}

TEST(each_answer_with_a_match_has_its_token)
{
    struct fixture *f = *state;
    uint64_t token;

    STORY(f, { "set ttl=0 trigger=pull", "ok" }, { "login ann capacity=2", "ok idle" },
          { "apply a", "ok queue 0" }, { "apply b", "ok queue 1" }, { "pull ann", "ok a>ann" });
    token = f->r.of.queue.rows[0].token;
    STORY(f, { "where a", "ok room ann" });
    assert_int_equal(f->r.of.queue.token, token);
    STORY(f, { "match", "ok b>ann" });
    assert_int_equal(f->r.of.queue.rows[0].token, f->r.version);
    STORY(f, { "room ann", "ok busy a b" });
    assert_int_equal(f->r.of.queue.rows[0].token, token);
    token = f->r.of.queue.rows[1].token;
    STORY(f, { "list state=seated", "ok a b" });
    assert_int_equal(f->r.of.queue.rows[1].token, token);
    command(f, "finish ann.2 token=%" PRIu64, token - 1);
    assert_string_equal(f->said, "stale b ann");
    command(f, "finish ann.2 token=%" PRIu64, token);
    assert_string_equal(f->said, "ok b ann");
}

/* ---- answers ------------------------------------------------------------------------- */

TEST(place_of_a_user_has_lane_arrival_and_line)
{
    struct fixture *f = *state;
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT;

    no_twin(f);
    STORY(f, { "set ttl=0 trigger=pull", "ok" }, { "login ann", "ok idle" },
          { "apply u lane=b since=5", "ok queue 0" }, { "apply v lane=b", "ok queue 1" },
          { "apply w", "ok queue 0" });
    assert_int_equal(usher_queue_where(f->e, f->scope, "u", NULL, &a), USHER_OK);
    assert_string_equal(a.lane, "b");
    assert_int_equal(a.since_ms, 5);
    assert_int_equal(a.waiting, 2);
    STORY(f, { "pull ann", "ok u>ann" });
    assert_int_equal(usher_queue_where(f->e, f->scope, "u", NULL, &a), USHER_OK);
    assert_string_equal(a.lane, "b");
    assert_int_equal(a.since_ms, 5);
    assert_int_equal(a.waiting, USHER_NONE);
    assert_int_equal(usher_queue_where(f->e, f->scope, "x", NULL, &a), USHER_MISSING);
    assert_string_equal(a.lane, "");
    assert_int_equal(a.since_ms, USHER_NONE);
}

TEST(heartbeat_of_a_user_is_answered_as_where)
{
    struct fixture *f = *state;
    struct usher_queue_options user = USHER_QUEUE_OPTIONS_INIT;
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT;
    struct usher_reply *r;

    no_twin(f);
    STORY(f, { "login ann", "ok idle" }, { "apply u lane=b", "ok room ann" },
          { "apply v lane=b", "ok queue 0" });
    user.user = "v";
    assert_int_equal(usher_queue_alive(f->e, f->scope, &user, &r), USHER_OK);
    assert_true(usher_queue_answer_of(r, &a));
    assert_string_equal(a.lane, "b");
    assert_string_equal(a.reason, "");
    assert_int_equal(a.since_ms, f->now);
    assert_int_equal(a.waiting, 1);
    usher_reply_done(r);
}

/* Compare the answer of `room`, or of `alive` with its heartbeat, with these values. */
static void room_has(struct fixture *f, bool alive, const char *lanes, int64_t until,
                     const char *reason)
{
    struct usher_queue_options agent = USHER_QUEUE_OPTIONS_INIT;
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT;
    struct usher_queue_row row = USHER_QUEUE_ROW_INIT;
    struct usher_reply *r;

    agent.agent = "ann";
    assert_int_equal(alive ? usher_queue_alive(f->e, f->scope, &agent, &r)
                           : usher_queue_room(f->e, f->scope, "ann", NULL, &r),
                     USHER_OK);
    assert_true(usher_queue_answer_of(r, &a));
    assert_true(usher_queue_row_of(r, 0, &row));
    assert_string_equal(row.lanes, lanes);
    assert_int_equal(a.until_ms, until);
    assert_string_equal(a.reason, reason);
    assert_string_equal(a.lane, "");
    assert_true(usher_queue_row_of(r, 1, &row));
    assert_null(row.lanes);
    usher_reply_done(r);
}

TEST(room_has_lanes_wrapup_and_reason)
{
    struct fixture *f = *state;

    no_twin(f);
    STORY(f, { "set ttl=0 wrapup=5000", "ok" }, { "login ann lanes=b,a capacity=2", "ok idle" },
          { "apply u lane=a", "ok room ann" });
    room_has(f, false, "b,a", USHER_NONE, "");
    STORY(f, { "leave u", "ok u ann" });
    room_has(f, false, "b,a", f->now + 5000, "");
    room_has(f, true, "b,a", f->now + 5000, "");
    STORY(f, { "pause ann reason=tea", "ok paused" });
    room_has(f, false, "b,a", USHER_NONE, "tea");
    room_has(f, true, "b,a", USHER_NONE, "tea");
}

/* ---- how a visit ended --------------------------------------------------------------- */

/* Compare the last answer, which is `missing`: the visit ended @ago ms before now. */
static void ended(struct fixture *f, enum usher_queue_outcome outcome, int64_t ago,
                  const char *agent)
{
    const struct usher_queue_result *q = &f->r.of.queue;

    assert_int_equal(f->r.status, USHER_MISSING);
    assert_string_equal(usher_queue_outcome_word(q->outcome), usher_queue_outcome_word(outcome));
    assert_int_equal(q->until_ms, outcome != USHER_QUEUE_OUTCOME_NONE ? f->now - ago : 0);
    assert_string_equal(q->agent, agent);
}

TEST(user_whose_visit_has_ended_is_answered_how_and_when)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=10000 maxwait=5000", "ok" }, { "login ann", "ok idle" },
          { "apply a", "ok room ann" }, { "apply b", "ok queue 0" }, { "apply c", "ok queue 1" },
          { "where x", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_NONE, 0, "");
    STORY(f, { "+1000", 0 }, { "leave b", "ok b" }, { "+4000", 0 }, { "where b", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_LEFT, 4000, "");
    STORY(f, { "alive user=c", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_TIMEOUT, 0, "");
    STORY(f, { "finish ann.1", "ok a ann" }, { "+1", 0 }, { "leave a", "missing a ann" });
    ended(f, USHER_QUEUE_OUTCOME_SEATED, 1, "ann");
    /* the last visit counts */
    STORY(f, { "apply b", "ok room ann" }, { "apply c", "ok queue 0" },
          { "where b", "ok room ann" });
    assert_int_equal(f->r.of.queue.outcome, USHER_QUEUE_OUTCOME_NONE);
    STORY(f, { "leave b", "ok b ann" }, { "where b", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_SEATED, 0, "ann");
    STORY(f, { "+5000", 0 }, { "alive agent=ann", "ok busy c" }, { "+6000", 0 },
          { "where c", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_CUT, 1000, "ann");
    STORY(f, { "set requeue=drop", "ok" }, { "apply d", "ok room ann" },
          { "logout ann", "ok gone" }, { "where d", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_DROPPED, 0, "ann");
}

TEST(end_of_a_visit_is_answered_as_long_as_the_queue_keeps_it)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0 history=2", "ok" }, { "login ann lanes=x", "ok idle" },
          { "login bob", "ok idle" }, { "pause bob", "ok paused" }, { "apply a", "ok queue 0" },
          { "leave a", "ok a" }, { "apply b", "ok queue 0" }, { "leave b", "ok b" },
          { "where a", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_LEFT, 0, "");
    STORY(f, { "apply b", "ok queue 0" }, { "leave b", "ok b" }, { "where a", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_NONE, 0, "");
    STORY(f, { "history user=b", "ok b:left b:left" }, { "history user=b max=1", "ok b:left …" },
          { "set history=0", "ok" }, { "apply c", "ok queue 0" }, { "leave c", "ok c" },
          { "where c", "missing" });
    ended(f, USHER_QUEUE_OUTCOME_NONE, 0, "");
}
