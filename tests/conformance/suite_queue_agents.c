/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store: the matches of users and agents, that is refusals, pauses,
 * strategies, and lanes with or without an agent.
 */
#include "lib/test.h"

#include "conformance/story.h"
#include "lib/calls.h"

/* clang-format off */

/* ---- refusals ------------------------------------------------------------------------ */

TEST_EACH(queue_set_up, fixture_end);

TEST(user_refused_by_all_agents_is_offered_to_them_again)
{
    STORY(*state,
        { "set ttl=0 offer=10000", "ok" }, { "login a", "ok idle" }, { "login b", "ok idle" },
        { "apply u", "ok offer a" }, { "reject a u", "ok u a" }, { "where u", "ok offer b" },
        { "+1", 0 },
        { "reject b u", "ok u b" }, { "where u", "ok queue 0" },
        { "+4998", 0 },
        { "where u", "ok queue 0" },
        { "+1", 0 },
        { "where u", "ok offer a" }, /* whose refusal is the oldest */
        { "reject a u", "ok u a" }, { "where u", "ok queue 0" },
        { "+1", 0 },
        { "where u", "ok offer b" });
}

TEST(no_user_waits_beside_an_idle_agent)
{
    STORY(*state,
        { "set ttl=0 offer=10000", "ok" }, { "login a", "ok idle" }, { "login b", "ok idle" },
        { "apply u", "ok offer a" },
        { "+10000", 0 },
        { "where u", "ok offer b" },
        { "+10000", 0 },
        { "where u", "ok offer a" },
        { "apply v", "ok offer b" },
        { "apply x", "ok queue 0" },
        { "+10000", 0 },
        /* each of them has first the users that it has not missed */
        { "list", "ok u" }, { "where v", "ok offer a" }, { "where x", "ok offer b" });
}

TEST(a_missed_offer_of_the_only_agent_is_made_again)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" }, { "apply u", "ok offer ann" },
        { "apply v", "ok queue 0" },
        { "+5000", 0 },
        { "where u", "ok queue 0" }, { "where v", "ok offer ann" },
        { "+5000", 0 },
        { "where u", "ok offer ann" }, { "where v", "ok queue 0" }, { "accept ann u", "ok u ann" });
}

TEST(busy_agents_and_other_lanes_do_not_delay_a_user)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann lanes=x", "ok idle" },
        { "login bob lanes=y", "ok idle" }, { "login eve", "ok idle" },
        { "apply e lane=y", "ok offer bob" }, { "accept bob e", "ok e bob" },
        { "apply u lane=x", "ok offer ann" },
        { "pause eve", "ok paused" },
        { "reject ann u", "ok u ann" }, { "where u", "ok queue 0" },
        { "+5000", 0 },
        { "where u", "ok offer ann" },
        { "ready eve", "ok idle" }, { "reject ann u", "ok u ann" }, { "where u", "ok offer eve" });
}

TEST(a_sweep_that_makes_no_version_is_the_same)
{
    STORY(*state,
        { "set ttl=0 offer=60000 again=1000 trigger=timer", "ok" }, { "login ann", "ok idle" },
        { "apply u", "ok queue 0" }, { "match", "ok u>ann" }, { "reject ann u", "ok u ann" },
        { "+1000", 0 },
        /* the refusal ends */
        { "sweep", "same 0" }, { "match", "ok u>ann" },
        { "set trigger=auto", "ok" }, { "reject ann u", "ok u ann" },
        { "+1000", 0 },
        { "sweep", "ok 0 u>ann" }, { "sweep", "same 0" });
}

TEST(a_user_passed_over_goes_to_the_next_agent)
{
    STORY(*state,
        { "set ttl=0 offer=60000 again=1000 strategy=level trigger=timer", "ok" },
        { "login a lanes=x level=1", "ok idle" }, { "login b lanes=x,y", "ok idle" },
        { "apply u lane=x", "ok queue 0" }, { "match", "ok u>b" }, { "reject b u", "ok u b" },
        { "match", "ok u>a" }, { "reject a u", "ok u a" },
        { "apply one lane=x priority=9", "ok queue 0" }, { "apply two lane=x priority=8", "ok queue 1" },
        { "match", "ok one>b two>a" }, { "accept b one", "ok one b" }, { "accept a two", "ok two a" },
        { "apply v lane=y priority=5", "ok queue 0" }, { "set trigger=auto wrapup=1000", "ok" },
        { "finish a.1", "ok two a" }, { "finish b.1", "ok one b" },
        { "+1000", 0 },
        /* both have refused u; b comes first for it, but has v */
        { "where v", "ok offer b" }, { "where u", "ok offer a" });
}

TEST(pull_and_move_override_refusals)
{
    STORY(*state,
        { "set ttl=0 offer=5000 again=1000 trigger=pull", "ok" }, { "login a", "ok idle" },
        { "login b", "ok idle" },
        { "apply u", "ok queue 0" }, { "pull a", "ok u>a" }, { "reject a u", "ok u a" },
        { "match", "ok u>b" }, { "reject b u", "ok u b" }, { "match", "same" },
        { "pull b", "ok u>b" }, { "reject b u", "ok u b" }, { "set trigger=timer", "ok" },
        { "match", "same" },
        { "+1000", 0 },
        { "match", "ok u>a" }, { "reject a u", "ok u a" }, { "match", "ok u>b" },
        { "reject b u", "ok u b" }, { "match", "same" },
        { "move u", "ok queue 0" }, { "move u", "same queue 0" }, { "match", "ok u>a" });
}

TEST(offer_to_a_lost_agent_counts_as_missed)
{
    STORY(*state,
        { "set ttl=1000 offer=60000 again=1", "ok" }, { "login c", "ok idle" },
        { "login d", "ok idle" }, { "apply u", "ok offer c" },
        { "+900", 0 },
        { "alive agent=d", "ok idle -" }, { "alive user=u", "ok offer c" },
        { "+100", 0 },
        { "where u", "ok offer d" }, { "login c", "ok idle" }, { "login e", "ok idle" },
        { "reject d u", "ok u d" }, { "where u", "ok offer e" }, { "reject e u", "ok u e" },
        { "where u", "ok queue 0" },
        { "+1", 0 },
        { "where u", "ok offer c" });
}

TEST(user_of_a_lost_agent_is_offered_to_another_one_first)
{
    STORY(*state,
        { "set ttl=1000 offer=60000 strategy=level", "ok" }, { "login c", "ok idle" },
        { "login d level=1", "ok idle" }, { "pause d", "ok paused" }, { "apply u", "ok offer c" },
        { "+900", 0 },
        { "alive agent=d", "ok paused -" }, { "alive user=u", "ok offer c" },
        { "+100", 0 },
        { "where u", "ok queue 0" }, { "set trigger=timer", "ok" }, { "login c", "ok idle" },
        { "ready d", "ok idle" }, { "match", "ok u>d" });
}

/* 40 agents of one level, and one of the next. */
static void level_log_in(struct fixture *f)
{
    command(f, "set ttl=0 offer=30000 strategy=level again=86400000");
    for (int i = 0; i < 40; i++)
        command(f, "login a%02d level=0", i);
    command(f, "login boss level=1");
}

TEST(next_level_is_offered_after_any_number_of_refusals)
{
    struct fixture *f = *state;

    level_log_in(f);
    command(f, "apply u");
    for (int i = 0; i < 40; i++) {
        command(f, "reject a%02d u", i);
        assert_int_equal(f->r.status, USHER_OK);
    }
    STORY(f, { "where u", "ok offer boss" }, { "leave u", "ok u boss" },
          /* and all of that is forgotten with the visit */
          { "apply u", "ok offer a00" });
}

TEST(next_level_is_offered_after_any_number_of_misses)
{
    struct fixture *f = *state;

    level_log_in(f);
    command(f, "apply u");
    for (int i = 0; i < 40; i++)
        STORY(f, { "+30000", 0 }, { "match", "same" });
    STORY(f, { "where u", "ok offer boss" });
}

TEST(a_refusal_delays_no_other_user)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 offer=10000", "ok" }, { "login ann lanes=x,y", "ok idle" },
        { "apply u lane=x priority=9", "ok offer ann" }, { "apply v lane=y", "ok queue 0" },
        { "reject ann u", "ok u ann" }, { "where v", "ok offer ann" }, { "reject ann v", "ok v ann" },
        { "apply w lane=x", "ok offer ann" }, { "where u", "ok queue 0" }, { "where v", "ok queue 0" },
        { "+1000", 0 },
        { "accept ann w", "ok w ann" }, { "finish ann.1", "ok w ann" }, { "agents", "ok ann:idle" });
    assert_int_equal(f->r.due_ms, MORNING + 5000); /* when it is asked again */
    STORY(f,
        { "+4000", 0 },
        { "where u", "ok offer ann" });
}

TEST(a_thousand_refusals_at_once_make_few_changes)
{
    struct fixture *f = *state;
    uint64_t before;

    STORY(f, { "set ttl=0 offer=10000 again=1", "ok" }, { "login ann", "ok idle" },
          { "apply u", "ok offer ann" });
    before = f->r.version;
    for (int i = 0; i < 1000; i++)
        command(f, "reject ann u");
    assert_int_equal(f->r.status, USHER_REFUSED);
    assert_int_equal(f->r.version, before + 1);
}

TEST(search_past_refused_users_continues_in_the_next_command)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0 offer=60000 again=86400000", "ok" }, { "login ann", "ok idle" });
    for (int i = 0; i < 1100; i++)
        command(f, "apply u%04d", i);
    for (int i = 0; i < 1100; i++) {
        command(f, "reject ann u%04d", i);
        assert_int_equal(f->r.status, USHER_OK);
    }
    STORY(f, { "pause ann", "ok paused" }, { "apply z", "ok queue 1100" }, { "ready ann", "ok idle" });
    assert_int_equal(f->r.due_ms, f->now);
    STORY(f, { "where z", "ok offer ann" }, { "where u0000", "ok queue 0" });
}

/* ---- signs of life, wrap-up ------------------------------------------------------------- */

TEST(each_command_of_an_agent_is_a_sign_of_life)
{
    STORY(*state,
        { "set ttl=1000 offer=600", "ok" }, { "login ann", "ok idle" }, { "login eve", "ok idle" },
        { "apply u", "ok offer ann" },
        { "+500", 0 },
        { "accept ann u", "ok u ann" }, { "alive user=u", "ok room ann" }, { "pull eve", "empty" },
        { "+900", 0 },
        { "pause ann", "ok pausing" }, { "alive user=u", "ok room ann" }, { "ready eve", "same idle" },
        { "+900", 0 },
        { "finish ann.1", "ok u ann" }, { "reject eve u", "missing u eve" },
        { "+600", 0 },
        { "login zoe", "ok idle" }, /* so that the silence is no outage */
        { "+300", 0 },
        { "agents", "ok ann:paused eve:idle zoe:idle" },
        { "+100", 0 },
        { "agents", "ok zoe:idle" });
}

TEST(a_wrap_up_outlives_silence_and_logout)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=1000 wrapup=5000", "ok" }, { "login ann", "ok idle" }, { "apply u", "ok room ann" },
        { "finish ann.1", "ok u ann" },
        { "+2000", 0 }, /* ann has said nothing */
        { "agents", "ok" }, { "login ann", "ok wrapup" }, { "logout ann", "ok gone" },
        { "logout ann", "same gone" }, { "login ann", "ok wrapup" }, { "apply v", "ok queue 0" },
        { "agents", "ok ann:wrapup" });
    assert_int_equal(f->r.of.queue.rows[0].until_ms, MORNING + 5000);
    STORY(f,
        { "set ttl=0", "ok" }, { "alive user=v", "ok queue 0" }, { "alive agent=ann", "ok wrapup -" },
        { "+2999", 0 },
        { "where v", "ok queue 0" },
        { "+1", 0 },
        { "where v", "ok room ann" }, { "finish ann.1", "ok v ann" }, { "ready ann", "ok idle" },
        { "logout ann", "ok gone" }, { "login ann", "ok idle" });
}

TEST(a_wrap_up_ends_at_its_time_while_the_agent_is_gone)
{
    STORY(*state,
        { "set ttl=1000 wrapup=5000", "ok" }, { "login ann", "ok idle" }, { "apply u", "ok room ann" },
        { "finish ann.1", "ok u ann" },
        { "+5000", 0 },
        { "login ann", "ok idle" });
}

TEST(apply_moves_no_user_to_another_lane)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply u", "ok room ann" },
        { "apply v lane=x", "ok queue 0" }, { "apply v lane=y", "refused" }, { "apply v", "same queue 0" },
        { "apply v lane=x", "same queue 0" }, { "apply u lane=y", "same room ann" });
}

TEST(a_visit_from_time_0_on_adds_up)
{
    struct fixture *f = *state;
    const struct usher_queue_result_row *row;

    STORY(f, { "set ttl=0 now=0", "ok" }, { "login ann now=0", "ok idle" },
          { "apply u now=0", "ok room ann" }, { "leave u now=5000", "ok u ann" });
    command(f, "stats now=5000");
    assert_int_equal(f->r.of.queue.of.stats.wait_ms, 0);
    assert_int_equal(f->r.of.queue.of.stats.talk_ms, 5000);
    STORY(f, { "history", "ok u:seated" });
    row = &f->r.of.queue.rows[0];
    assert_int_equal(row->wait_ms, 0);
    assert_int_equal(row->talk_ms, 5000);
}

/* Five minutes between seatings. */
TEST(an_estimate_counts_seatings_and_what_has_passed_since)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 offer=60000 again=1", "ok" }, { "login ann", "ok idle" },
        { "apply u", "ok offer ann" }, { "accept ann u", "ok u ann" }, { "apply v", "ok queue 0" },
        { "+300000", 0 },
        { "finish ann.1", "ok u ann" }, { "accept ann v", "ok v ann" }, { "apply w", "ok queue 0" });
    assert_int_equal(f->r.of.queue.wait_ms, 300000);
    STORY(f, { "finish ann.1", "ok v ann" }, { "reject ann w", "ok w ann" }, { "+1", 0 },
          { "reject ann w", "ok w ann" }, { "where w", "ok queue 0" });
    assert_int_equal(f->r.of.queue.wait_ms, 300000); /* refusals are no seatings */
    STORY(f, { "pause ann", "ok paused" }, { "+3600000", 0 }, { "where w", "ok queue 0" });
    assert_int_equal(f->r.of.queue.wait_ms, 3600001);
    STORY(f, { "logout ann", "ok gone" }, { "where w", "ok queue 0" });
    assert_int_equal(f->r.of.queue.wait_ms, -1);
}

TEST(users_only_offered_are_not_dropped_when_their_agent_is_lost)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=1000 offer=60000 requeue=drop", "ok" }, { "login c capacity=2", "ok idle" },
        { "apply u", "ok offer c" }, { "apply v", "ok offer c" }, { "accept c v", "ok v c" },
        { "+900", 0 },
        { "alive user=u", "ok offer c" }, { "alive user=v", "ok room c" },
        { "+100", 0 },
        { "where v", "missing" }, { "where u", "ok queue 0" }, { "history", "ok v:dropped" },
        { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.dropped_today, 1);
    assert_int_equal(f->r.of.queue.of.stats.finished_today, 1);
    assert_int_equal(f->r.of.queue.of.stats.abandoned_today, 0);
}

/* ---- strategies ---------------------------------------------------------------------- */

TEST(another_strategy_decides_from_the_next_match_on)
{
    STORY(*state,
        { "set ttl=0 strategy=random", "ok" }, { "login a", "ok idle" }, { "+1", 0 },
        { "login b", "ok idle" }, { "+1", 0 }, { "login c", "ok idle" },
        { "set strategy=longest-idle", "ok" },
        { "apply u1", "ok room a" }, { "leave u1", "ok u1 a" },
        { "apply u2", "ok room b" }, { "leave u2", "ok u2 b" },
        { "apply u3", "ok room c" }, { "leave u3", "ok u3 c" },
        { "apply u4", "ok room a" }, { "leave u4", "ok u4 a" });
}

TEST(levels_count_only_while_they_are_the_strategy)
{
    STORY(*state,
        { "set ttl=0 strategy=level", "ok" }, { "login a level=5", "ok idle" },
        { "login b level=3", "ok idle" }, { "login c level=4", "ok idle" },
        { "set strategy=longest-idle", "ok" }, { "apply u1", "ok room a" }, { "leave u1", "ok u1 a" },
        { "set strategy=level", "ok" }, { "apply u2", "ok room b" }, { "apply u3", "ok room c" },
        { "apply u4", "ok room a" });
}

TEST(strategy_counts_visits_from_before_it_was_set)
{
    STORY(*state,
        { "set ttl=0 strategy=level", "ok" }, { "login a capacity=3 level=1", "ok idle" },
        { "login b capacity=3 level=2", "ok idle" }, { "login c capacity=3 level=3", "ok idle" },
        { "apply u1", "ok room a" }, { "apply u2", "ok room a" }, { "apply u3", "ok room a" },
        { "apply u4", "ok room b" }, { "leave u1", "ok u1 a" }, { "leave u2", "ok u2 a" },
        { "leave u4", "ok u4 b" }, { "pause c", "ok paused" }, { "ready c", "ok idle" },
        /* a: three served, one in a room; b: one, matched last; c: none, idle for the shortest time */
        { "set strategy=round-robin", "ok" }, { "match", "same" }, { "apply x", "ok room c" },
        { "leave x", "ok x c" }, { "apply x", "ok room a" }, { "leave x", "ok x a" },
        { "set strategy=fewest-served", "ok" }, { "apply x", "ok room b" }, { "leave x", "ok x b" },
        { "apply x", "ok room c" }, { "leave x", "ok x c" },
        { "set strategy=least-busy", "ok" }, { "apply x", "ok room b" }, { "leave x", "ok x b" },
        { "set strategy=longest-idle", "ok" }, { "apply x", "ok room c" }, { "leave x", "ok x c" });
}

TEST(an_accepted_offer_counts_as_served_at_once)
{
    STORY(*state,
        { "set ttl=0 offer=5000 strategy=fewest-served", "ok" }, { "login a capacity=4", "ok idle" },
        { "login b capacity=4", "ok idle" }, { "apply u1", "ok offer a" }, { "apply u2", "ok offer b" },
        { "accept a u1", "ok u1 a" }, { "apply u3", "ok offer b" }, { "accept b u2", "ok u2 b" },
        { "accept b u3", "ok u3 b" }, { "apply u4", "ok offer a" });
}

/* The agents are ranked again by several commands and several writes. */
TEST(new_strategy_ranks_all_idle_agents_however_many)
{
    struct fixture *f = *state;
    char lanes[64] = "", want[64];
    enum { N = 700 };

    if (under_test.drivers != NULL) /* a store whose every step is a walk over all there is */
        return;
    command(f, "set ttl=0 strategy=level");
    for (int i = 0; i < N; i++) {
        (void)snprintf(lanes, sizeof lanes, "l%d,all", i % 7);
        /* of two that served as many the one with the lower level is the later one */
        command(f, "login a%d lanes=%s level=%d", i, lanes, N - i);
    }
    STORY(f, { "set strategy=longest-idle", "ok" }, { "set strategy=longest-idle", "same" });
    command(f, "apply u lane=all");
    assert_string_equal(f->said, "ok room a0");
    STORY(f, { "set strategy=level", "ok" }); /* the next command does what is left */
    command(f, "apply v lane=all");
    (void)snprintf(want, sizeof want, "ok room a%d", N - 1);
    assert_string_equal(f->said, want);
    STORY(f, { "set strategy=longest-idle trigger=timer", "ok" }, { "apply w lane=l1", "ok queue 0" },
        { "match", "ok w>a1" }, { "set strategy=random", "ok" },
        { "set strategy=level trigger=auto", "ok" }, { "apply x lane=all", "ok room a698" });
}

/* As many as no single command gives rooms to. */
TEST(trigger_auto_matches_all_users_however_many)
{
    struct usher_queue_result_statistics stats;
    struct fixture *f = *state;
    enum { N = 2300 };

    if (under_test.drivers != NULL) /* a store whose every step is a walk over all there is */
        return;
    command(f, "set ttl=0 trigger=pull");
    for (int i = 0; i < N; i++) {
        command(f, "login a%d level=%d", i, 1000 - i % 1000);
        command(f, "apply u%d", i);
    }
    STORY(f, { "set trigger=auto strategy=level wrapup=1", "ok" });
    assert_int_equal(ask_queue_stats(f->e, "desk", NULL, &stats), USHER_OK);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.seated, N);
    command(f, "where u0");
    assert_string_equal(f->said, "ok room a999"); /* the strategy is that of the same command */
    STORY(f, { "set trigger=auto", "same" });
}

/* ---- pauses -------------------------------------------------------------------------- */

TEST(a_pause_outlives_silence)
{
    STORY(*state,
        { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "+16500", 0 },
        { "room ann", "missing" }, { "apply bob", "empty" }, { "ready ann", "missing" },
        { "login ann", "ok paused" }, { "apply bob", "ok queue 0" }, { "login ann", "same paused" },
        { "ready ann", "ok busy" }, { "where bob", "ok room ann" }, { "finish ann.1", "ok bob ann" },
        { "+16500", 0 },
        { "login ann", "ok idle" }); /* it was ready */
}

TEST(pause_requested_during_a_visit_outlives_silence)
{
    STORY(*state,
        { "login ann capacity=2", "ok idle" }, { "apply a", "ok room ann" }, { "apply b", "ok room ann" },
        { "pause ann", "ok pausing" }, { "agents", "ok ann:pausing" }, { "room ann", "ok pausing a b" },
        { "finish ann.1", "ok a ann" }, { "agents", "ok ann:pausing" },
        { "+10000", 0 },
        { "alive user=b", "ok room ann" },
        { "+5000", 0 },
        { "where b", "ok queue 0" }, { "login ann", "ok paused" }, { "where b", "ok queue 0" },
        { "ready ann", "ok busy" });
}

TEST(reason_of_a_pause_is_kept_until_it_is_over)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann reason=tea", "ok paused" },
        { "agents", "ok teaann:paused" }, { "pause ann", "same paused" },
        { "pause ann reason=tea", "same paused" }, { "agents", "ok teaann:paused" },
        { "pause ann reason=lunch", "ok paused" }, { "agents", "ok lunchann:paused" },
        { "login ann session=s", "ok paused" }, { "agents", "ok lunchann:paused" },
        { "ready ann", "ok idle" }, { "agents", "ok ann:idle" }, { "pause ann", "ok paused" },
        { "agents", "ok ann:paused" }, { "pause ann reason=tea", "ok paused" },
        { "free ann", "ok idle" }, { "agents", "ok ann:idle" },
        /* one that is asked for during a visit */
        { "apply u", "ok room ann" }, { "pause ann reason=tea", "ok pausing" },
        { "pause ann", "same pausing" }, { "pause ann reason=lunch", "ok pausing" },
        { "stats", "ok" }, { "leave u", "ok u ann" }, { "agents", "ok lunchann:paused" },
        { "logout ann", "ok gone" }, { "login ann", "ok idle" }, { "agents", "ok ann:idle" });
}

TEST(reason_of_a_pause_outlives_silence)
{
    STORY(*state,
        { "set ttl=1000", "ok" }, { "login ann", "ok idle" }, { "pause ann reason=tea", "ok paused" },
        { "+1000", 0 },
        { "agents", "ok" }, { "login ann", "ok paused" }, { "agents", "ok teaann:paused" },
        { "stats", "ok tea*1" }, { "ready ann", "ok idle" },
        { "+1000", 0 },
        { "login ann", "ok idle" }, { "stats", "ok" });
}

/* The rest of a wrap-up is kept without the reason of a pause that `logout` ends. */
TEST(wrap_up_after_logout_has_no_reason)
{
    struct fixture *f = *state;
    struct usher_check_result found = { .faults = 99 };

    STORY(f,
        { "set ttl=0 wrapup=60000", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" }, { "leave a", "ok a ann" },
        { "pause ann reason=tea", "ok pausing" }, { "logout ann", "ok gone" });
    assert_int_equal(usher_check(f->e, NULL, NULL, NULL, &found), USHER_OK);
    assert_int_equal(found.faults, 0);
    STORY(f, { "login ann", "ok wrapup" }, { "agents", "ok ann:wrapup" });
}

TEST(paused_agents_are_counted_by_reason)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 reason=storm", "ok storm" }, { "login a lanes=x", "ok idle" },
        { "login b", "ok idle" }, { "login c lanes=x,y", "ok idle" }, { "login d", "ok idle" },
        { "login e lanes=y", "ok idle" },
        { "stats", "ok storm" }, { "pause b reason=tea", "ok paused" },
        { "pause c reason=lunch", "ok paused" }, { "pause d", "ok paused" },
        { "pause a reason=tea", "ok paused" },
        { "stats", "ok storm tea*2 lunch*1 *1" }, { "stats lane=x", "ok storm tea*2 lunch*1 *1" },
        { "stats lane=y", "ok storm lunch*1 tea*1 *1" }, { "stats lane=z", "ok storm tea*1 *1" },
        { "ready a", "ok idle" }, { "stats", "ok storm tea*1 lunch*1 *1" });
    assert_int_equal(f->r.of.queue.of.stats.paused, 3);
}

TEST(at_most_a_thousand_agents_are_read_for_reasons)
{
    struct fixture *f = *state;

    command(f, "set ttl=0");
    for (int i = 0; i < 1001; i++)
        command(f, "login a%d", i);
    STORY(f, { "pause a999 reason=tea", "ok paused" }, { "stats", "ok tea*1" },
        { "pause a1000 reason=tea", "ok paused" }, { "stats", "ok tea*1 …" },
        { "ready a999", "ok idle" }, { "stats", "ok …" });
}

TEST(an_agent_without_a_pause_is_idle_after_silence)
{
    STORY(*state,
        { "set wrapup=60000", "ok" }, { "login ann capacity=2", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok room ann" }, { "pause ann", "ok pausing" }, { "ready ann", "ok busy" },
        { "finish ann.1", "ok a ann" },
        { "+7000", 0 }, { "apply c", "ok queue 0" }, /* so that the silence is no outage */
        { "+7000", 0 }, { "alive user=c", "ok queue 0" }, { "leave c", "ok c" },
        { "+1000", 0 }, /* the wrap-up goes on */
        { "login ann", "ok wrapup" }, { "logout ann", "ok gone" },
        { "+45000", 0 },
        { "login ann", "ok idle" });
}

TEST(logout_ends_a_pause_of_present_and_lost_agents)
{
    STORY(*state,
        { "login ann", "ok idle" }, { "pause ann", "ok paused" }, { "logout ann", "ok gone" },
        { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "+15000", 0 },
        { "logout ann", "ok gone" }, { "logout ann", "same gone" }, { "login ann", "ok idle" },
        { "pause ann", "ok paused" },
        { "+15000", 0 },
        { "sweep", "ok 1" }, { "logout bob", "same gone" }, { "logout ann", "ok gone" },
        { "login ann", "ok idle" });
}

/* ---- lanes --------------------------------------------------------------------------- */

TEST(lane_statistics_count_the_agents_that_serve_it)
{
    struct fixture *f = *state;
    const struct usher_queue_result_statistics *s = &f->r.of.queue.of.stats;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann lanes=sales,billing", "ok idle" },
        { "login bob lanes=sales", "ok idle" }, { "login eve lanes=billing", "ok idle" },
        { "pause eve", "ok paused" }, { "login zoe", "ok idle" }, { "apply u lane=sales", "ok room ann" },
        { "stats lane=sales", "ok" });
    assert_int_equal(s->agents, 3);
    assert_int_equal(s->busy, 1);
    assert_int_equal(s->idle, 2);
    assert_int_equal(s->paused, 0);
    STORY(f, { "stats lane=billing", "ok *1" });
    assert_int_equal(s->agents, 3);
    assert_int_equal(s->busy, 1);
    assert_int_equal(s->idle, 1);
    assert_int_equal(s->paused, 1);
    STORY(f, { "stats lane=nobody", "ok" });
    assert_int_equal(s->agents, 1); /* zoe serves all */
    STORY(f, { "logout zoe", "ok gone" }, { "logout bob", "ok gone" }, { "stats lane=nobody", "ok" });
    assert_int_equal(s->agents, 0);
    STORY(f, { "stats lane=sales", "ok" });
    assert_int_equal(s->agents, 1);
    assert_int_equal(s->waiting + s->seated, 1);
    STORY(f, { "stats", "ok *1" });
    assert_int_equal(s->agents, 2);
    STORY(f, { "login zoe", "ok idle" }, { "logout ann", "ok gone" }, { "logout eve", "ok gone" },
        { "stats lane=any", "ok" });
    assert_int_equal(s->agents, 1); /* of the whole queue: all serve all lanes */
}

TEST(a_user_in_a_lane_without_agents_is_refused)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=1000", "ok" }, { "login ann lanes=sales", "ok idle" }, { "apply u lane=billing", "empty" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_NO_AGENT);
    STORY(f,
        { "where u", "missing" }, { "apply u", "empty" }, { "pause ann", "ok paused" },
        { "apply u lane=sales", "ok queue 0" }, { "apply u lane=billing", "refused" },
        { "login bob", "ok busy" }, { "apply v lane=billing", "ok queue 0" },
        { "+900", 0 },
        { "alive agent=ann", "ok paused -" },
        { "+100", 0 },
        { "apply w lane=billing", "empty" }, { "set trigger=pull", "ok" }, { "apply w lane=billing", "empty" },
        { "apply w lane=sales", "ok queue 0" });
}

TEST(unused_lanes_make_way_for_others)
{
    struct fixture *f = *state;

    if (under_test.drivers != NULL) /* a store whose every step is a walk over all there is */
        return;
    STORY(f,
        { "set ttl=0", "ok" }, { "login ann lanes=l0,l1", "ok idle" }, { "login eve", "ok idle" },
        { "pause eve", "ok paused" });
    for (int i = 0; i < USHER_QUEUE_LANES_MAX; i++) {
        command(f, "apply u%d lane=l%d", i, i);
        if (i != 3)
            command(f, "leave u%d", i);
    }
    STORY(f, { "apply v lane=new", "full" }, { "+86400000", 0 },
        { "apply v lane=new", "ok queue 0" }, { "leave v", "ok v" }); /* for l2: ann names l0 and l1 */
    for (int i = 0; i < 996; i++) {
        command(f, "apply v lane=n%d", i);
        assert_string_equal(f->said, "ok queue 0");
        command(f, "leave v");
    }
    STORY(f, /* l0 and l1 are named, in l3 a user waits, and the others are of today */
        { "apply v lane=more", "full" }, { "where u3", "ok queue 0" }, { "apply v lane=l1", "ok room ann" },
        { "leave v", "ok v ann" }, { "move u3 lane=n0", "ok queue 0" }, { "apply v lane=more", "ok queue 0" },
        { "leave v", "ok v" }, { "apply v lane=another", "full" }, { "logout ann", "ok gone" },
        { "apply v lane=another", "ok queue 0" }, { "leave v", "ok v" }, { "apply v lane=last", "full" },
        { "stats", "ok *1" });
    assert_int_equal(f->r.of.queue.of.stats.abandoned_today, 999);
}

TEST(lane_statistics_count_a_thousand_agents)
{
    struct fixture *f = *state;
    struct usher_queue_result *q = &f->r.of.queue;

    STORY(f, { "set ttl=0", "ok" }, { "login eve", "ok idle" }, { "login joe lanes=b", "ok idle" });
    for (int i = 0; i < 999; i++)
        command(f, "login g%d lanes=a", i);
    STORY(f, { "stats lane=a", "ok" });
    assert_int_equal(q->of.stats.idle, 1000);
    assert_false(q->more);
    STORY(f, { "login ann lanes=a,b", "ok idle" }, { "stats lane=a", "ok …" });
    assert_int_equal(q->of.stats.idle, 1000);
    assert_true(q->more);
    STORY(f, { "stats", "ok" }); /* of the whole queue all are counted */
    assert_int_equal(q->of.stats.idle, 1002);
    assert_false(q->more);
    STORY(f, { "stats lane=b", "ok" });
    assert_int_equal(q->of.stats.idle, 3);
    assert_false(q->more);
}

/* waiting, longest_wait, seated_today */
TEST(lanes_are_listed_with_their_statistics)
{
    struct fixture *f = *state;
    const struct usher_queue_result *q = &f->r.of.queue;

    STORY(f,
        { "lanes", "missing" }, { "set ttl=0 service=5000", "ok" }, { "lanes", "ok" },
        { "login ann lanes=b", "ok idle" }, { "login bob", "ok idle" }, { "pause bob", "ok paused" },
        { "apply u lane=b", "ok room ann" }, { "apply v lane=c", "ok queue 0" }, { "+10000", 0 },
        { "apply w lane=a", "ok queue 0" }, { "apply x lane=b", "ok queue 0" }, { "+2000", 0 },
        { "leave x", "ok x" }, { "lanes", "ok a:1,2000,0 b:0,0,1 c:1,12000,0" });
    assert_int_equal(q->rows[1].matched_ms, 1);  /* seated */
    assert_int_equal(q->rows[1].no, 10000);      /* service_level */
    assert_int_equal(q->rows[0].no, -1);
    assert_int_equal(q->rows[1].used, 1);        /* abandoned_today */
    assert_int_equal(q->rows[1].wait_ms, 0);
    assert_int_equal(q->rows[1].talk_ms, -1);
    STORY(f,
        { "lanes max=2", "ok a:1,2000,0 b:0,0,1 …" }, { "lanes after=b", "ok c:1,12000,0" },
        { "lanes after=bb max=1", "ok c:1,12000,0" }, { "lanes after=c", "ok" },
        { "finish ann.1", "ok u ann" }, { "+86400000", 0 },
        { "lanes", "ok a:1,86402000,0 b:0,0,0 c:1,86412000,0" });
}

/* The arrival of each user is earlier than its wait, so each is passed over. */
TEST(a_page_of_lanes_ends_after_a_thousand_users)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0", "ok" }, { "login eve", "ok idle" }, { "pause eve", "ok paused" });
    for (int lane = 'a'; lane <= 'c'; lane++)
        for (int i = 1; i <= 500; i++)
            command(f, "apply u%c%d lane=%c since=%" PRId64, lane, i, lane, f->now - i);
    STORY(f, { "lanes", "ok a:500,0,0 b:500,0,0 …" }, { "lanes after=b", "ok c:500,0,0" });
}

TEST(order_of_lanes_has_no_effect)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login eve", "ok idle" }, { "pause eve", "ok paused" },
        { "apply a lane=a", "ok queue 0" }, { "+1", 0 }, { "apply b lane=b", "ok queue 0" },
        { "login ann lanes=b,a", "ok busy" }, { "where a", "ok room ann" },
        { "login ann lanes=a,b", "same busy" }, { "login ann lanes=a,b,a", "same busy" },
        { "login ann lanes=a", "refused" }, { "login ann lanes=a,c", "refused" },
        { "login ann lanes=a,b,c", "refused" });
}

/* clang-format on */
