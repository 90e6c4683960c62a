/* SPDX-License-Identifier: MIT */
/*
 * What every store must do about who is matched with whom: refusals, pauses, strategies, and lanes
 * that somebody serves or nobody does.
 */
#include "config.h"

#include "conformance/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* clang-format off */

/* ---- refusals ------------------------------------------------------------------------ */

static void a_user_whom_all_have_refused_is_offered_to_them_again(void **state)
{
    STORY(*state,
        { "set ttl=0 offer=10000", "ok" }, { "login a", "ok idle" }, { "login b", "ok idle" },
        { "apply u", "ok offer a" }, { "reject a u", "ok u a" }, { "where u", "ok offer b" },
        { "reject b u", "ok u b" }, { "where u", "ok offer a" }, /* idle for longer */
        { "reject a u", "ok u a" }, { "where u", "ok offer b" });
}

static void nobody_waits_for_ever_next_to_idle_agents(void **state)
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
        { "list", "ok x" }, { "where u", "ok offer b" }, { "where v", "ok offer a" });
}

static void a_missed_offer_of_the_only_agent_is_made_again(void **state)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" }, { "apply u", "ok offer ann" },
        { "apply v", "ok queue 0" },
        { "+5000", 0 },
        { "where u", "ok offer ann" }, { "where v", "ok queue 0" }, { "accept ann u", "ok u ann" });
}

static void who_is_busy_or_serves_other_lanes_does_not_count_as_one_to_wait_for(void **state)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann lanes=x", "ok idle" },
        { "login bob lanes=y", "ok idle" }, { "login eve", "ok idle" },
        { "apply e lane=y", "ok offer bob" }, { "apply u lane=x", "ok offer ann" },
        { "pause eve", "ok paused" },
        { "reject ann u", "ok u ann" }, { "where u", "ok offer ann" },
        { "ready eve", "ok idle" }, { "reject ann u", "ok u ann" }, { "where u", "ok offer eve" });
}

static void pull_and_move_override_refusals(void **state)
{
    STORY(*state,
        { "set ttl=0 offer=5000 trigger=pull", "ok" }, { "login a", "ok idle" }, { "login b", "ok idle" },
        { "apply u", "ok queue 0" }, { "pull a", "ok u>a" }, { "reject a u", "ok u a" },
        { "match", "ok u>b" }, { "reject b u", "ok u b" }, { "pull b", "ok u>b" },
        { "reject b u", "ok u b" }, { "set trigger=timer", "ok" }, { "login c", "ok idle" },
        { "match", "ok u>a" }, { "reject a u", "ok u a" }, { "match", "ok u>c" },
        { "reject c u", "ok u c" }, { "logout b", "ok gone" }, { "pause c", "ok paused" },
        { "move u", "ok queue 0" }, { "move u", "same queue 0" }, { "ready c", "ok idle" },
        { "match", "ok u>a" });
}

static void an_agent_that_is_lost_has_missed_what_it_was_offered(void **state)
{
    STORY(*state,
        { "set ttl=1000 offer=60000", "ok" }, { "login c", "ok idle" }, { "login d", "ok idle" },
        { "apply u", "ok offer c" },
        { "+900", 0 },
        { "alive agent=d", "ok idle -" }, { "alive user=u", "ok offer c" },
        { "+100", 0 },
        { "where u", "ok offer d" }, { "login c", "ok idle" }, { "login e", "ok idle" },
        { "reject d u", "ok u d" }, { "where u", "ok offer e" }, { "reject e u", "ok u e" },
        { "where u", "ok offer c" });
}

static void an_agent_that_was_lost_is_not_offered_the_same_user_while_another_is_there(void **state)
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

static void users_only_offered_are_not_dropped_when_their_agent_is_lost(void **state)
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

/* ---- pauses -------------------------------------------------------------------------- */

static void a_pause_outlives_silence(void **state)
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

static void a_pause_asked_for_during_a_visit_is_shown_and_outlives_silence(void **state)
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

static void who_did_not_pause_is_idle_after_silence_whatever_it_did(void **state)
{
    STORY(*state,
        { "set wrapup=60000", "ok" }, { "login ann capacity=2", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok room ann" }, { "pause ann", "ok pausing" }, { "ready ann", "ok busy" },
        { "finish ann.1", "ok a ann" },
        { "+15000", 0 },
        { "login ann", "ok idle" });
}

static void logout_ends_a_pause_of_who_is_there_and_of_who_is_not(void **state)
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

/* clang-format on */

int suite_queue_agents(const struct backend *b)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_user_whom_all_have_refused_is_offered_to_them_again),
        TEST(nobody_waits_for_ever_next_to_idle_agents),
        TEST(a_missed_offer_of_the_only_agent_is_made_again),
        TEST(who_is_busy_or_serves_other_lanes_does_not_count_as_one_to_wait_for),
        TEST(pull_and_move_override_refusals),
        TEST(an_agent_that_is_lost_has_missed_what_it_was_offered),
        TEST(an_agent_that_was_lost_is_not_offered_the_same_user_while_another_is_there),
        TEST(users_only_offered_are_not_dropped_when_their_agent_is_lost),
        TEST(a_pause_outlives_silence),
        TEST(a_pause_asked_for_during_a_visit_is_shown_and_outlives_silence),
        TEST(who_did_not_pause_is_idle_after_silence_whatever_it_did),
        TEST(logout_ends_a_pause_of_who_is_there_and_of_who_is_not),
    };

    queue_backend(b);
    return cmocka_run_group_tests_name(b->name, tests, NULL, NULL);
}
