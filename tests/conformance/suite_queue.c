/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store of queues: spec/queue.md row by row, known bugs of other systems,
 * and the rules of queue.h.
 */
#include "lib/test.h"

#include "conformance/story.h"

#include <pthread.h>

#include <usher/store/history.h>

#include "lib/calls.h"

/* ---- the seed ------------------------------------------------------------------------ */

/* clang-format off */

TEST_EACH(queue_set_up, fixture_end);

TEST(one_agent_serves_its_users)
{
    STORY(*state,
        { "set ttl=15000", "ok" },
        { "apply u1", "empty" },
        { "login ann", "ok idle" },
        { "apply u1", "ok room ann" },
        { "apply u2", "ok queue 0" },
        { "apply u3", "ok queue 1" },
        { "apply u2", "same queue 0" },
        { "+10000", 0 },
        { "alive user=u1", "ok room ann" },
        { "alive user=u3", "ok queue 1" },
        { "alive agent=ann", "ok busy u1" },
        { "+6000", 0 }, /* u2 sent no heartbeat */
        { "where u3", "ok queue 0" },
        { "where u2", "missing" },
        { "finish ann.1", "ok u1 ann" },
        { "where u3", "ok room ann" },
        { "+8000", 0 },
        { "alive user=u3", "ok room ann" },
        { "+7000", 0 }, /* ann has said nothing since finish */
        { "where u3", "ok queue 0" },
        { "room ann", "missing" },
        { "login bob", "ok busy" },
        { "where u3", "ok room bob" });
}

TEST(user_is_refused_when_there_is_no_agent)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0", "ok" }, { "apply u", "empty" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_NO_AGENT);
    STORY(f, { "where u", "missing" }, { "list", "ok" });
}

TEST(a_second_apply_changes_neither_place_nor_index)
{
    STORY(*state,
        { "login ann", "ok idle" }, { "apply a", "ok room ann" }, { "apply a", "same room ann" },
        { "apply b", "ok queue 0" }, { "apply c", "ok queue 1" },
        { "+1000", 0 },
        { "apply b priority=9", "same queue 0" },
        { "apply c since=1", "same queue 1" },
        { "list", "ok b c" });
}

TEST(a_heartbeat_is_no_change)
{
    struct fixture *f = *state;
    uint64_t version;

    STORY(f, { "login ann", "ok idle" }, { "apply a", "ok room ann" });
    version = f->r.version;
    STORY(f, { "+5000", 0 }, { "alive user=a", "ok room ann" }, { "alive agent=ann", "ok busy a" });
    assert_int_equal(f->r.version, version);
}

TEST(ttl_zero_drops_no_agent_or_user)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok queue 0" }, { "+900000000", 0 },
        { "where a", "ok room ann" }, { "where b", "ok queue 0" });
}

/* ---- triggers (Q6) ------------------------------------------------------------------- */

TEST(trigger_timer_matches_by_command_only)
{
    STORY(*state,
        { "set trigger=timer ttl=0", "ok" },
        { "login ann capacity=2", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok queue 0" }, { "apply b", "ok queue 1" }, { "apply c", "ok queue 2" },
        { "apply d", "ok queue 3" },
        { "match", "ok a>ann b>bob c>ann" },
        { "match", "same" },
        { "finish bob.1", "ok b bob" },
        { "where d", "ok queue 0" },
        { "match", "ok d>bob" });
}

/* A store serves no other command during a match, so it ends, and the reply says `more`. */
TEST(a_match_ends_after_64)
{
    struct fixture *f = *state;

    STORY(f,
        { "set trigger=timer ttl=0", "ok" }, { "login ann capacity=32", "ok idle" },
        { "login bob capacity=32", "ok idle" }, { "login cid capacity=32", "ok idle" });
    for (int i = 0; i < 70; i++)
        command(f, "apply u%d", i);
    command(f, "match");
    assert_int_equal(f->r.status, USHER_OK);
    assert_int_equal(f->r.of.queue.n_rows, 64);
    assert_true(f->r.of.queue.more);
    STORY(f, { "where u63", "ok room ann" }, { "where u64", "ok queue 0" });
    command(f, "match");
    assert_int_equal(f->r.of.queue.n_rows, 6);
    assert_false(f->r.of.queue.more);
    STORY(f, { "match", "same" });
}

TEST(an_agent_pulls_one_user_after_the_other)
{
    struct fixture *f = *state;

    STORY(f,
        { "set trigger=pull ttl=0", "ok" }, { "login ann capacity=2", "ok idle" });
    STORY(f, { "pull ann", "empty" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_NO_USER);
    STORY(f,
        { "apply a", "ok queue 0" }, { "apply b", "ok queue 1" }, { "apply c", "ok queue 2" },
        { "pull ann", "ok a>ann" }, { "pull ann", "ok b>ann" }, { "pull ann", "refused" },
        { "finish ann.1", "ok a ann" }, { "room ann", "ok busy - b" },
        { "pull nobody", "missing" }, { "pause ann", "ok pausing" }, { "pull ann", "refused" });
}

TEST(waiting_users_are_matched_when_the_trigger_becomes_auto)
{
    STORY(*state,
        { "set trigger=timer ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok queue 0" },
        { "set trigger=auto", "ok" }, { "where a", "ok room ann" });
}

/* ---- modes ---------------------------------------------------------------------------- */

TEST(closed_queue_serves_the_users_that_wait)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 limit=9", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b req=r1", "ok queue 0" }, { "apply c", "ok queue 1" }, { "set mode=closed", "ok" },
        { "set mode=closed", "same" }, { "apply d", "refused" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_CLOSED);
    assert_string_equal(f->r.message, "the queue is closed (mode=)");
    STORY(f, { "apply d req=r2", "refused" }, { "apply c", "same queue 1" },
        { "apply c lane=x", "refused" }, { "finish ann.1", "ok a ann" }, { "where b", "ok room ann" });
    STORY(f, { "apply b req=r1", "ok queue 0" }); /* the first answer */
    assert_true(f->r.repeated);
    STORY(f, { "login bob", "ok busy" }, { "where c", "ok room bob" }, { "leave b", "ok b ann" },
        { "pull ann", "empty" }, { "apply d", "refused" }, { "set mode=open", "ok" },
        { "apply d", "ok room ann" });
}

TEST(stopped_queue_matches_under_no_trigger)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 offer=5000 wrapup=100", "ok" }, { "login ann", "ok idle" },
        { "login bob", "ok idle" }, { "apply a", "ok offer ann" }, { "apply b", "ok offer bob" },
        { "apply c", "ok queue 0" }, { "set mode=stopped", "ok" }, { "apply d", "refused" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_STOPPED);
    /* an offer can be accepted, and a visit can end */
    STORY(f, { "accept ann a", "ok a ann" }, { "reject bob b", "ok b bob" },
        { "where b", "ok queue 0" }, { "where c", "ok queue 1" }, { "finish ann.1", "ok a ann" },
        { "+100", 0 }, { "room ann", "ok idle -" }, { "where b", "ok queue 0" },
        { "login cid", "ok idle" }, { "ready ann", "same idle" }, { "move c priority=1", "ok queue 0" },
        { "match", "same" }, { "set trigger=pull", "ok" }, { "match", "same" });
    STORY(f, { "pull ann", "refused" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_STOPPED);
    STORY(f, { "set trigger=timer", "ok" }, { "match", "same" }, { "set mode=open", "ok" },
        { "where c", "ok queue 0" }, { "match", "ok c>bob b>ann" });
}

TEST(stopped_queue_leaves_an_emptied_room_free)
{
    STORY(*state, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok queue 0" }, { "set mode=stopped", "ok" }, { "finish ann.1", "ok a ann" },
        { "where b", "ok queue 0" }, { "room ann", "ok idle -" });
}

TEST(waiting_users_are_matched_when_a_stop_ends)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0 mode=stopped", "ok" }, { "login ann capacity=32", "ok idle" },
        { "login bob capacity=32", "ok idle" }, { "login cid capacity=32", "ok idle" },
        { "set mode=open trigger=timer", "ok" });
    for (int i = 0; i < 70; i++)
        command(f, "apply u%d", i);
    STORY(f, { "set mode=stopped", "ok" }, { "set trigger=auto", "ok" }, { "where u0", "ok queue 0" },
        { "set mode=closed", "ok" }, { "where u69", "ok room ann" }, { "match", "same" },
        { "set mode=stopped", "ok" }, { "set mode=open", "ok" }, { "apply x", "ok room bob" });
}

TEST(deadlines_continue_in_a_stopped_queue)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=1000 maxwait=1500 grace=300 offer=400 again=100", "ok" }, { "login ann", "ok idle" },
        { "apply a", "ok offer ann" }, { "apply b", "ok queue 0" }, { "set mode=stopped", "ok" },
        { "+400", 0 }, { "where a", "ok queue 0" }, { "alive agent=ann", "ok idle -" },
        { "+300", 0 }, { "alive user=b", "ok queue 1" }, { "+300", 0 }, { "where a", "ok away" },
        { "alive user=b", "ok queue 0" }, { "alive agent=ann", "ok idle -" },
        { "+300", 0 }, { "where a", "missing" }, { "alive user=b", "ok queue 0" }, { "+200", 0 },
        { "where b", "missing" }, { "history", "ok b:timeout a:lost" },
        { "set mode=open strict=1", "ok" }, { "apply c", "ok offer ann" });
}

TEST(reason_of_a_mode_is_kept_until_the_mode_changes)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0 mode=closed reason=lunch", "ok lunch" });
    assert_int_equal(f->r.of.queue.n_rows, 1);
    STORY(f, { "set mode=closed reason=lunch", "same lunch" },
        { "set mode=closed", "same lunch" }, { "stats", "ok lunch" },
        { "set offer=5", "ok lunch" }, { "set reason=storm", "ok storm" },
        { "set mode=stopped", "ok" });
    assert_int_equal(f->r.of.queue.n_rows, 0);
    STORY(f, { "stats", "ok" }, { "set reason=storm req=r", "ok storm" },
        { "login ann", "ok idle" }, { "set mode=open reason=back req=s", "ok back" },
        { "set mode=open reason=back req=s", "ok back" });
    assert_true(f->r.repeated);
    STORY(f, { "set mode=closed reason=x", "ok x" }, { "drop", "ok" }, { "stats", "missing" },
        { "set ttl=0", "ok" });
}

TEST(mode_is_in_the_figures_of_a_queue)
{
    struct fixture *f = *state;

    STORY(f, { "set mode=stopped log=5", "ok" }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.mode, USHER_SCOPE_MODE_STOPPED);
    STORY(f, { "set", "ok" });
    assert_int_equal(f->r.of.queue.of.settings.mode, USHER_SCOPE_MODE_STOPPED);
    STORY(f, { "drop", "ok" }, { "set ttl=0", "ok" }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.mode, USHER_SCOPE_MODE_OPEN);
}

/* ---- busy state that is never freed -------------------------------------------------- */

TEST(an_agent_that_is_silent_is_gone_and_its_users_are_first_again)
{
    STORY(*state,
        { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" }, { "apply c", "ok queue 0" },
        { "+14000", 0 },
        { "alive user=a", "ok room ann" }, { "alive user=b", "ok room ann" },
        { "alive user=c", "ok queue 0" },
        { "+2000", 0 },
        { "list", "ok a b c" },
        { "agents", "ok" },
        { "login bob", "ok busy" },
        { "where a", "ok room bob" }, { "where b", "ok queue 0" }, { "where c", "ok queue 1" });
}

TEST(a_user_that_is_silent_frees_the_room_for_the_next)
{
    STORY(*state,
        { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "+10000", 0 },
        { "apply b", "ok queue 0" }, { "alive agent=ann", "ok busy a" },
        { "+5000", 0 },
        { "where b", "ok room ann" }, { "where a", "missing" }, { "history", "ok a:cut" });
}

TEST(users_of_an_agent_that_logs_out_wait_again)
{
    STORY(*state,
        { "set ttl=0", "ok" },
        { "login ann capacity=3", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room bob" }, { "apply c", "ok room ann" },
        { "apply d", "ok room ann" }, { "apply e", "ok queue 0" },
        { "logout ann", "ok gone" }, { "logout ann", "same gone" },
        { "list", "ok a c d e" },
        { "finish bob.1", "ok b bob" }, { "where a", "ok room bob" }, { "list", "ok c d e" });
}

TEST(users_of_a_gone_agent_can_be_dropped)
{
    STORY(*state,
        { "set ttl=0 requeue=drop", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "logout ann", "ok gone" }, { "where a", "missing" }, { "history", "ok a:dropped" });
}

TEST(an_operator_frees_a_stuck_agent_without_a_restart)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 wrapup=60000", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" }, { "apply c", "ok queue 0" },
        { "free ann", "ok busy" });
    assert_int_equal(f->r.of.queue.count, 2);
    STORY(f,
        { "where c", "ok room ann" }, { "history", "ok b:freed a:freed" },
        { "finish ann.1", "ok c ann" }, { "room ann", "ok wrapup - -" },
        { "free ann", "ok idle" }, { "free ann", "same idle" }, { "free nobody", "missing" });
}

TEST(a_room_is_finished_by_force_from_outside)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" },
        { "finish ann.2", "ok b ann" }, { "room ann", "ok busy a -" });
}

/* After any visits, with any kind of end, all agents are idle and no room is in use. */
TEST(agents_are_idle_after_visits_with_every_kind_of_end)
{
    struct fixture *f = *state;
    struct usher_queue_result_statistics s;

    STORY(f, { "set ttl=20000 offer=3000 wrapup=1000 maxwait=60000 history=0", "ok" });
    for (int i = 0; i < 400; i++) {
        int agent = i % 10, user = i * 7 % 40;

        f->now += 250;
        command(f, "login a%d capacity=%d", agent, 1 + agent % 3);
        command(f, "apply u%d priority=%d", user, i % 3);
        command(f, "alive user=u%d", (user + 20) % 40);
        switch (i % 8) {
        case 0:
        case 1:
        case 2:
            if (f->r.of.queue.place == USHER_QUEUE_PLACE_OFFER) {
                char who[32];

                (void)snprintf(who, sizeof who, "%.31s", f->r.of.queue.agent);
                command(f, "accept %s u%d", who, (user + 20) % 40);
            }
            break;
        case 3:
            command(f, "leave u%d", (user + 20) % 40);
            break;
        case 4:
            if (f->r.of.queue.place == USHER_QUEUE_PLACE_OFFER) {
                char who[32];

                (void)snprintf(who, sizeof who, "%.31s", f->r.of.queue.agent);
                command(f, "reject %s u%d", who, (user + 20) % 40);
            }
            break;
        case 5:
            command(f, "finish a%d.1", agent);
            break;
        case 6:
            command(f, i % 16 == 6 ? "pause a%d" : "ready a%d", (agent + 3) % 10);
            break;
        default:
            command(f, i % 16 == 7 ? "free a%d" : "logout a%d", (agent + 5) % 10);
            break;
        }
    }
    for (int i = 0; i < 10; i++)
        command(f, "login a%d capacity=%d", i, 1 + i % 3);
    for (int i = 0; i < 40; i++) /* the remaining users go as well, half of them by a leave */
        if (i % 2 == 0)
            command(f, "leave u%d", i);
    for (int i = 0; i < 6; i++) {
        f->now += 10000;
        for (int k = 0; k < 10; k++)
            command(f, "alive agent=a%d", k);
    }
    for (int i = 0; i < 10; i++)
        command(f, "ready a%d", i);
    STORY(f, { "stats", "ok" });
    s = f->r.of.queue.of.stats;
    assert_int_equal(s.waiting + s.away + s.offered + s.seated, 0);
    assert_int_equal(s.agents, 10);
    assert_int_equal(s.idle, 10);
    assert_int_equal(s.ringing + s.busy + s.wrapup + s.paused, 0);
    assert_in_range(s.seated_today, 20, 400); /* so there were visits of all kinds */
    assert_in_range(s.abandoned_today, 20, 400);
    assert_in_range(s.timeout_today + s.finished_today, 20, 400);
    STORY(f, { "agents", "ok a0:idle a1:idle a2:idle a3:idle a4:idle a5:idle a6:idle a7:idle "
                         "a8:idle a9:idle" });
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(f->r.of.queue.rows[i].used, 0);
}

/* A bug elsewhere: a count of users that one way of leaving does not decrease. */
TEST(users_that_left_do_not_count_for_the_limit)
{
    STORY(*state,
        { "set limit=1 maxwait=40000 ttl=15000", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "apply a", "ok queue 0" }, { "apply b", "full" },
        { "leave a", "ok a" }, { "apply b", "ok queue 0" }, { "apply c", "full" },
        { "+15000", 0 }, { "sweep", "ok 0" }, /* the silence of all is an outage, once */
        { "+15000", 0 }, /* b and ann are lost */
        { "login ann", "ok paused" },
        { "apply c", "ok queue 0" }, { "apply d", "full" },
        { "+14000", 0 }, { "alive user=c", "ok queue 0" }, { "alive agent=ann", "ok paused -" },
        { "+14000", 0 }, { "alive user=c", "ok queue 0" }, { "alive agent=ann", "ok paused -" },
        { "+12000", 0 }, /* c has waited too long */
        { "apply d", "ok queue 0" }, { "apply e", "full" },
        { "ready ann", "ok busy" }, { "where d", "ok room ann" }, { "apply e", "ok queue 0" },
        { "apply g", "full" },
        { "finish ann.1", "ok d ann" }, { "where e", "ok room ann" }, { "apply g", "ok queue 0" },
        { "apply h", "full" });
}

/* ---- double release ------------------------------------------------------------------ */

TEST(late_finish_ends_no_other_visit)
{
    struct fixture *f = *state;
    uint64_t token;

    STORY(f, { "login ann", "ok idle" }, { "apply a", "ok room ann" });
    token = f->r.of.queue.token;
    STORY(f,
        { "apply b", "ok queue 0" },
        { "finish ann.1 user=a", "ok a ann" },
        { "finish ann.1 user=a", "stale b ann" },
        { "where b", "ok room ann" });
    command(f, "finish ann.1 token=%" PRIu64, token);
    assert_string_equal(f->said, "stale b ann");
    assert_int_equal(f->r.of.queue.token, 0); /* which is of b alone */
    command(f, "where b");
    command(f, "finish ann.1 token=%" PRIu64, f->r.of.queue.token);
    assert_string_equal(f->said, "ok b ann");
    STORY(f,
        { "finish ann.1", "refused ann" }, { "room ann", "ok idle -" },
        { "finish ann.2", "missing" }, { "finish 999.1", "lost" }, { "finish x", "missing" },
        { "leave b", "missing b ann" });
}

TEST(leave_and_finish_of_one_visit_free_the_room_once)
{
    struct fixture *f = *state;

    STORY(f,
        { "login ann", "ok idle" }, { "apply a", "ok room ann" }, { "apply b", "ok queue 0" },
        { "leave a", "ok a ann" }, { "finish ann.1 user=a", "stale b ann" },
        { "leave a", "missing a ann" }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.seated, 1);
    assert_int_equal(f->r.of.queue.of.stats.finished_today, 1);
}

/* The user of a room of an earlier login is not the one in the room now. */
TEST(finish_of_a_room_of_an_old_login_ends_no_visit)
{
    struct fixture *f = *state;
    uint64_t login;

    STORY(f, { "set ttl=0", "ok" }, { "login ann lanes=a", "ok idle" });
    login = f->agents[0].login;
    STORY(f,
        { "apply a lane=a", "ok room ann" }, { "logout ann", "ok gone" },
        { "move a lane=b", "ok queue 0" }, { "login ann lanes=b", "ok busy" },
        { "where a", "ok room ann" });
    command(f, "finish %" PRIu64 ".1", login);
    assert_string_equal(f->said, "missing");
    STORY(f,
        { "where a", "ok room ann" }, { "finish ann.1", "ok a ann" }, { "room ann", "ok idle -" });
}

TEST(a_visit_that_both_sides_end_counts_once)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" },
        { "finish ann.1 user=a", "ok a ann" }, { "leave a", "missing a ann" },
        { "finish ann.1 user=a", "refused ann" },
        { "leave b", "ok b ann" }, { "finish ann.2", "refused ann" },
        { "free ann", "same idle" }, { "agents", "ok ann:idle" });
    assert_int_equal(f->r.of.queue.rows[0].used, 0);
    assert_int_equal(f->r.of.queue.rows[0].served, 2);
    STORY(f, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.finished_today, 2);
    assert_int_equal(f->r.of.queue.of.stats.seated, 0);
    STORY(f,
        { "apply c", "ok room ann" }, { "apply d", "ok room ann" }, { "apply e", "ok queue 0" });
}

TEST(a_repeated_request_gets_the_first_answer)
{
    struct fixture *f = *state;

    STORY(f,
        { "login ann", "ok idle" }, { "apply a", "ok room ann" }, { "apply b", "ok queue 0" },
        { "finish ann.1 req=r1", "ok a ann" }, { "finish ann.1 req=r1", "ok a ann" });
    assert_true(f->r.repeated);
    STORY(f, { "where b", "ok room ann" }, { "apply c req=r2", "ok queue 0" },
          { "apply c req=r2", "ok queue 0" }, { "leave c req=r1", "invalid" },
          { "apply d req=r2", "invalid" }, { "apply c priority=1 req=r2", "invalid" },
          { "finish ann.2 req=r1", "invalid" }, { "where d", "missing" });
}

/* ---- double assignment and capacity -------------------------------------------------- */

TEST(no_agent_has_more_users_than_rooms)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann capacity=3", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" }, { "apply c", "ok room ann" },
        { "apply d", "ok queue 0" }, { "room ann", "ok busy a b c" }, { "pull ann", "refused" },
        { "finish ann.2", "ok b ann" }, { "room ann", "ok busy a d c" });
}

TEST(capacity_is_at_most_thirty_two)
{
    STORY(*state, { "login ann capacity=33", "invalid" }, { "login ann capacity=0", "invalid" },
          { "login ann capacity=32", "ok idle" });
}

TEST(no_user_is_in_two_rooms)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok room ann" }, { "apply a", "same room ann" },
        { "pull bob", "empty" }, { "match", "same" }, { "room bob", "ok idle -" });
}

TEST(an_agent_that_rings_is_not_rung_again_and_no_user_rings_twice)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "login cid capacity=2", "ok idle" },
        { "apply a", "ok offer ann" }, { "apply b", "ok offer bob" }, { "apply c", "ok offer cid" },
        { "apply d", "ok offer cid" }, { "apply e", "ok queue 0" },
        { "apply a", "same offer ann" }, { "pull ann", "refused" }, { "match", "same" },
        { "accept bob a", "refused a bob" }, { "accept ann a", "ok a ann" },
        { "agents", "ok ann:busy bob:offered cid:offered" },
        { "room cid", "ok offered c d" });
}

/* ---- the caller is gone, the agent still rings --------------------------------------- */

TEST(an_offer_has_to_be_accepted)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" },
        { "apply a", "ok offer ann" }, { "room ann", "ok offered a" },
        { "finish ann.1", "refused a ann" },
        { "accept ann b", "missing b ann" }, { "accept bob a", "missing a bob" },
        { "accept ann a", "ok a ann" }, { "accept ann a", "same a ann" },
        { "reject ann a", "refused a ann" },
        { "room ann", "ok busy a" }, { "where a", "ok room ann" },
        { "finish ann.1", "ok a ann" });
}

TEST(a_rejected_user_is_offered_to_another_agent_first)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok offer ann" }, { "reject ann a", "ok a ann" }, { "where a", "ok offer bob" },
        { "room ann", "ok idle -" }, { "accept bob a", "ok a bob" }, { "finish bob.1", "ok a bob" },
        { "apply a", "ok offer ann" });
}

TEST(unanswered_offer_goes_to_the_next_agent)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok offer ann" },
        { "+5000", 0 },
        { "where a", "ok offer bob" },
        { "accept ann a", "refused a ann" }, /* too late */
        { "agents", "ok ann:idle bob:offered" });
}

TEST(a_user_who_leaves_during_an_offer_frees_the_agent_at_once)
{
    STORY(*state,
        { "set ttl=0 offer=5000", "ok" }, { "login ann", "ok idle" },
        { "apply a", "ok offer ann" }, { "apply b", "ok queue 0" },
        { "leave a", "ok a ann" }, { "where b", "ok offer ann" },
        { "accept ann a", "missing a ann" }, { "history", "ok a:left" });
}

TEST(user_lost_during_an_offer_frees_the_agent)
{
    STORY(*state,
        { "set offer=60000", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok offer ann" },
        { "+10000", 0 },
        { "alive agent=ann", "ok offered a" }, { "apply b", "ok queue 0" },
        { "+5000", 0 },
        { "where b", "ok offer ann" }, { "history", "ok a:lost" });
}

TEST(user_gets_its_place_back_when_its_offered_agent_is_lost)
{
    STORY(*state,
        { "set offer=60000", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok offer ann" },
        { "apply b", "ok queue 0" },
        { "+10000", 0 },
        { "alive user=a", "ok offer ann" }, { "alive user=b", "ok queue 0" },
        { "+5000", 0 },
        { "list", "ok a b" },
        { "login ann", "ok offered" }, { "where a", "ok queue 0" }, { "where b", "ok offer ann" });
}

TEST(a_login_again_during_an_offer_changes_nothing)
{
    STORY(*state,
        { "set offer=60000", "ok" }, { "login ann capacity=1", "ok idle" },
        { "apply a", "ok offer ann" },
        { "login ann", "same offered" }, { "login ann capacity=1", "same offered" },
        { "login ann capacity=2", "refused" }, { "login ann lanes=x", "refused" },
        { "accept ann a", "ok a ann" });
}

/* ---- the matcher stalls or is unfair -------------------------------------------------- */

TEST(users_are_served_in_the_order_of_arrival)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok queue 0" }, { "apply c", "ok queue 1" }, { "apply d", "ok queue 2" },
        { "apply e", "ok queue 3" },
        { "leave c", "ok c" },
        { "where d", "ok queue 1" },
        { "finish ann.1", "ok a ann" }, { "where b", "ok room ann" },
        { "finish ann.1", "ok b ann" }, { "where d", "ok room ann" },
        { "finish ann.1", "ok d ann" }, { "where e", "ok room ann" });
}

TEST(agent_of_another_lane_delays_no_user)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann lanes=a", "ok idle" }, { "login bob lanes=b", "ok idle" },
        { "login eve lanes=c", "ok idle" }, { "pause eve", "ok paused" }, { "apply x lane=c", "ok queue 0" },
        { "apply a1 lane=a", "ok room ann" }, { "apply b1 lane=b", "ok room bob" },
        { "apply a2 lane=a", "ok queue 0" }, { "apply b2 lane=b", "ok queue 0" },
        { "pause ann", "ok pausing" },
        { "finish ann.1", "ok a1 ann" }, { "room ann", "ok paused -" },
        { "finish bob.1", "ok b1 bob" }, { "where b2", "ok room bob" },
        { "where a2", "ok queue 0" }, { "ready ann", "ok busy" }, { "where a2", "ok room ann" });
}

/* Those first in the order of agents are paused, in wrap-up, full, have rejected the user, or are
 * gone without a word. */
TEST(agents_that_cannot_take_a_user_delay_no_user)
{
    STORY(*state,
        { "set ttl=30000 offer=60000 wrapup=60000 strategy=level", "ok" },
        { "login full level=0", "ok idle" }, { "apply x", "ok offer full" },
        { "login paused level=1", "ok idle" }, { "pause paused", "ok paused" },
        { "login wrap level=2", "ok idle" }, { "apply y", "ok offer wrap" },
        { "accept wrap y", "ok y wrap" }, { "finish wrap.1", "ok y wrap" },
        { "login gone level=3", "ok idle" },
        { "+20000", 0 },
        { "alive agent=full", "ok offered x" }, { "alive agent=paused", "ok paused -" },
        { "alive agent=wrap", "ok wrapup -" }, { "alive user=x", "ok offer full" },
        { "login no level=4", "ok idle" }, { "login yes level=5", "ok idle" },
        { "+10000", 0 }, /* gone sent no heartbeat */
        { "apply a", "ok offer no" }, { "reject no a", "ok a no" }, { "where a", "ok offer yes" },
        { "agents", "ok full:offered no:idle paused:paused wrap:wrapup yes:offered" });
}

TEST(an_agent_takes_the_best_of_all_its_lanes)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login zoe", "ok idle" }, { "pause zoe", "ok paused" },
        { "apply b1 lane=b", "ok queue 0" }, { "apply a1 lane=a", "ok queue 0" },
        { "apply c1 lane=c priority=5", "ok queue 0" }, { "apply a2 lane=a priority=1", "ok queue 0" },
        { "login ann lanes=a,b", "ok busy" }, { "where a2", "ok room ann" },
        { "finish ann.1", "ok a2 ann" }, { "where b1", "ok room ann" },
        { "login all", "ok busy" }, { "where c1", "ok room all" },
        { "finish all.1", "ok c1 all" }, { "where a1", "ok room all" });
}

TEST(agents_and_users_past_their_ttl_are_not_matched)
{
    STORY(*state,
        { "login ann", "ok idle" }, { "apply a", "ok room ann" }, { "apply b", "ok queue 0" },
        { "+10000", 0 },
        { "apply c", "ok queue 1" }, { "alive agent=ann", "ok busy a" }, { "alive user=a", "ok room ann" },
        { "+5000", 0 },
        { "finish ann.1", "ok a ann" }, { "where c", "ok room ann" }, { "where b", "missing" });
}

TEST(each_agent_is_free_when_its_own_wrap_up_ends)
{
    STORY(*state,
        { "set ttl=0 wrapup=10000", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room bob" },
        { "finish ann.1", "ok a ann" }, { "room ann", "ok wrapup -" },
        { "apply c", "ok queue 0" }, { "apply d", "ok queue 1" },
        { "+6000", 0 },
        { "finish bob.1", "ok b bob" },
        { "+4000", 0 },
        { "where c", "ok room ann" }, { "where d", "ok queue 0" },
        { "+6000", 0 },
        { "where d", "ok room bob" });
}

/* ---- wrap-up and pause are never lost (Q12) ------------------------------------------- */

TEST(a_pause_takes_effect_when_the_visit_ends)
{
    STORY(*state,
        { "set ttl=0 wrapup=5000", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "pause ann", "ok pausing" }, { "pause ann", "same pausing" },
        { "apply b", "ok queue 0" }, { "finish ann.1", "ok a ann" }, { "room ann", "ok paused - -" },
        { "+60000", 0 },
        { "where b", "ok queue 0" }, { "pause ann", "same paused" },
        { "ready ann", "ok busy" }, { "where b", "ok room ann" });
}

TEST(ready_takes_a_pause_back_and_ends_wrap_up)
{
    STORY(*state,
        { "set ttl=0 wrapup=5000", "ok" }, { "login ann", "ok idle" }, { "ready ann", "same idle" },
        { "apply a", "ok room ann" }, { "pause ann", "ok pausing" }, { "ready ann", "ok busy" },
        { "ready ann", "same busy" },
        { "finish ann.1", "ok a ann" }, { "room ann", "ok wrapup -" }, { "apply b", "ok queue 0" },
        { "ready ann", "ok busy" }, { "where b", "ok room ann" },
        { "finish ann.1", "ok b ann" }, { "pause ann", "ok paused" },
        { "+5000", 0 },
        { "room ann", "ok paused -" });
}

TEST(neither_a_heartbeat_nor_a_login_again_ends_wrap_up_or_pause)
{
    STORY(*state,
        { "set ttl=0 wrapup=5000", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok room ann" }, { "finish ann.1", "ok a ann" }, { "pause bob", "ok paused" },
        { "apply b", "ok queue 0" },
        { "login ann", "same wrapup" }, { "alive agent=ann", "ok wrapup -" },
        { "room ann", "ok wrapup -" }, { "pull ann", "refused" }, { "match", "same" },
        { "free ann", "ok busy" }, /* an operator may */
        { "finish ann.1", "ok b ann" }, { "apply c", "ok queue 0" },
        { "login bob", "same paused" }, { "alive agent=bob", "ok paused -" },
        { "pull bob", "refused" }, { "match", "same" },
        { "+4999", 0 }, { "where c", "ok queue 0" }, { "+1", 0 }, { "where c", "ok room ann" });
}

/* Each end of a visit begins wrap-up; until its end the agent gets no user in other rooms. */
TEST(wrap_up_holds_while_other_rooms_are_in_use)
{
    STORY(*state,
        { "set ttl=0 wrapup=5000", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room ann" },
        { "finish ann.1", "ok a ann" }, { "apply c", "ok queue 0" }, { "pull ann", "refused" },
        { "+4999", 0 }, { "where c", "ok queue 0" },
        { "+1", 0 }, { "where c", "ok room ann" }, { "room ann", "ok busy c b" });
}

TEST(wrap_up_begins_at_the_deadline_of_a_lost_user)
{
    STORY(*state,
        { "set wrapup=10000", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "+10000", 0 },
        { "alive agent=ann", "ok busy a" },
        { "+5000", 0 },
        { "room ann", "ok wrapup -" },
        { "+9999", 0 },
        { "alive agent=ann", "ok wrapup -" },
        { "+1", 0 },
        { "room ann", "ok idle -" });
}

/* ---- places (Q9, Q15) ----------------------------------------------------------------- */

/* The join order of Asterisk's test (queues/position_priority_maxlen): callers with a priority that
 * request a position.  Here a position is requested by an arrival before that of the user there.
 * As in Asterisk, no user gets before a larger priority or after a smaller one. */
TEST(positions_equal_those_of_asterisk)
{
    static const struct {
        const char *priority;
        int before;        /* the row whose arrival it wants to be ahead of; -1: none */
        const char *index; /* got, from 0 */
    } table[] = {
        { "0", -1, "0" }, { "0", -1, "1" }, { "1", -1, "0" }, { "1", -1, "1" }, { "2", -1, "0" },
        { "0", 1, "4" },  /* wants position 5, gets it */
        { "0", -1, "6" }, /* 200 */
        { "0", 0, "3" },  /* 1: before all of its priority */
        { "8", 2, "0" },  /* 3: but there is no user of its priority */
        { "1", -1, "4" }, /* 7: after all of its priority */
        { "1", 3, "3" },  /* 4 */
    };
    struct fixture *f = *state;
    char want[16];

    STORY(f, { "set ttl=0 limit=11", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" });
    for (int i = 0; i < 11; i++) {
        int64_t since = table[i].before < 0 ? MORNING + i * 1000 : MORNING + table[i].before * 1000 - 1;

        f->now = MORNING + i * 1000;
        command(f, "apply u%d priority=%s since=%" PRId64, i, table[i].priority, since);
        (void)snprintf(want, sizeof want, "ok queue %s", table[i].index);
        assert_string_equal(f->said, want);
    }
    STORY(f, { "apply v priority=2", "full" }, { "list", "ok u8 u4 u2 u10 u3 u9 u7 u0 u5 u1 u6" });
}

TEST(larger_priority_is_first_and_equal_ones_follow)
{
    STORY(*state,
        { "set ttl=0 limit=6", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "apply a", "ok queue 0" }, { "apply b", "ok queue 1" },
        { "apply c priority=1", "ok queue 0" }, { "apply d priority=1", "ok queue 1" },
        { "apply e priority=2", "ok queue 0" },
        { "apply f priority=1000", "ok queue 0" },
        { "apply g priority=2", "full" }, { "where g", "missing" },
        { "list", "ok f e c d a b" },
        { "apply h priority=1001", "invalid" });
}

TEST(a_call_back_keeps_the_place_of_its_arrival)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply x", "ok room ann" },
        { "+60000", 0 },
        { "apply a", "ok queue 0" });
    command(f, "apply b since=%" PRId64, f->now - 30000);
    assert_string_equal(f->said, "ok queue 0");
    command(f, "apply c since=%" PRId64, f->now + 1);
    assert_string_equal(f->said, "invalid");
    STORY(f, { "list", "ok b a" });
}

TEST(a_user_back_within_the_grace_keeps_its_place)
{
    STORY(*state,
        { "set grace=30000", "ok" }, { "login ann", "ok idle" }, { "apply x", "ok room ann" },
        { "apply a", "ok queue 0" }, { "apply b", "ok queue 1" },
        { "+14000", 0 },
        { "alive agent=ann", "ok busy x" }, { "alive user=x", "ok room ann" },
        { "alive user=b", "ok queue 1" },
        { "+2000", 0 },
        { "where a", "ok away" }, { "where b", "ok queue 0" },
        { "apply a", "ok queue 0" }, { "where b", "ok queue 1" },
        { "+10000", 0 },
        { "alive agent=ann", "ok busy x" }, { "alive user=x", "ok room ann" },
        { "alive user=b", "ok queue 1" },
        { "+6000", 0 },
        { "finish ann.1", "ok x ann" }, { "where b", "ok room ann" }, /* a is away */
        { "alive agent=ann", "ok busy b" }, { "alive user=b", "ok room ann" },
        { "+14000", 0 },
        { "alive agent=ann", "ok busy b" }, { "alive user=b", "ok room ann" },
        { "+14000", 0 },
        { "alive agent=ann", "ok busy b" }, { "alive user=b", "ok room ann" },
        { "+2000", 0 },
        { "where a", "missing" });
}

TEST(an_operator_moves_a_waiting_user)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann lanes=x", "ok idle" }, { "login eve lanes=default,y,vip", "ok idle" },
        { "pause eve", "ok paused" },
        { "apply a", "ok queue 0" }, { "apply b", "ok queue 1" }, { "apply c", "ok queue 2" },
        { "move c priority=5", "ok queue 0" }, { "list", "ok c a b" },
        { "move c priority=5", "same queue 0" }, { "move c priority=0", "ok queue 2" },
        { "move a lane=x", "ok room ann" }, { "move a lane=y", "refused" },
        { "move nobody lane=x", "missing" }, { "list", "ok b c" });
}

TEST(positions_are_right_among_many)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" });
    for (int i = 0; i < 300; i++) {
        command(f, "apply u%d lane=%s", i, i % 3 == 0 ? "b" : "a");
        assert_int_equal(f->r.of.queue.index, i % 3 == 0 ? i / 3 : i - i / 3 - 1);
    }
    for (int i = 0; i < 300; i += 2)
        command(f, "leave u%d", i);
    for (int i = 1, n = 0; i < 300; i += 2)
        if (i % 3 != 0) {
            command(f, "where u%d", i);
            assert_int_equal(f->r.of.queue.index, n++);
        }
}

/* ---- strategies (Q16) ----------------------------------------------------------------- */

TEST(the_agent_that_is_idle_the_longest_comes_first)
{
    STORY(*state,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "login bob capacity=2", "ok idle" },
        { "apply a", "ok room ann" }, { "finish ann.1", "ok a ann" },
        { "apply b", "ok room bob" }, { "apply c", "ok room ann" }, { "apply d", "ok room bob" });
}

TEST(round_robin_takes_whose_last_match_is_the_longest_ago)
{
    STORY(*state,
        { "set ttl=0 strategy=round-robin", "ok" }, { "login ann", "ok idle" },
        { "login bob", "ok idle" }, { "login cid", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room bob" },
        { "finish bob.1", "ok b bob" }, { "finish ann.1", "ok a ann" },
        { "apply c", "ok room cid" }, { "apply d", "ok room ann" }, { "apply e", "ok room bob" });
}

TEST(strategies_choose_by_served_load_and_level)
{
    STORY(*state,
        { "set ttl=0 strategy=fewest-served", "ok" },
        { "login ann", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok room ann" }, { "finish ann.1", "ok a ann" },
        { "apply b", "ok room bob" }, { "finish bob.1", "ok b bob" },
        { "apply c", "ok room ann" }, { "finish ann.1", "ok c ann" }, { "apply d", "ok room bob" },
        { "logout ann", "ok gone" }, { "logout bob", "ok gone" }, { "leave d", "ok d" },
        { "set strategy=least-busy", "ok" },
        { "login cid capacity=3", "ok idle" }, { "login dan capacity=3", "ok idle" },
        { "apply e", "ok room cid" }, { "apply f", "ok room dan" }, { "finish cid.1", "ok e cid" },
        { "apply g", "ok room cid" }, { "apply h", "ok room dan" }, { "apply i", "ok room cid" },
        { "logout cid", "ok gone" }, { "logout dan", "ok gone" },
        { "leave f", "ok f" }, { "leave g", "ok g" }, { "leave h", "ok h" }, { "leave i", "ok i" },
        { "set strategy=level", "ok" },
        { "login eve level=2 capacity=9", "ok idle" }, { "login fay level=1", "ok idle" },
        { "apply j", "ok room fay" }, { "apply k", "ok room eve" }, { "finish fay.1", "ok j fay" },
        { "apply l", "ok room fay" });
}

TEST(random_agents_are_drawn_fairly)
{
    struct fixture *f = *state;
    int got[5] = { 0 };

    STORY(f, { "set ttl=0 strategy=random history=0", "ok" });
    for (int i = 0; i < 5; i++)
        command(f, "login a%d", i);
    for (int i = 0; i < 1000; i++) {
        int agent;

        command(f, "apply u");
        assert_int_equal(f->r.of.queue.place, USHER_QUEUE_PLACE_ROOM);
        agent = f->r.of.queue.agent[1] - '0';
        got[agent]++;
        command(f, "finish a%d.1", agent);
    }
    for (int i = 0; i < 5; i++) /* 200 each; five standard deviations are 63 */
        assert_in_range(got[i], 137, 263);
}

/* ---- limits, estimates, figures (Q17, Q18, Q19) ---------------------------------------- */

TEST(a_user_leaves_after_its_maximum_wait)
{
    STORY(*state,
        { "set ttl=0 maxwait=10000", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok queue 0" },
        { "+9999", 0 }, { "where b", "ok queue 0" }, { "apply c", "ok queue 1" },
        { "+1", 0 }, { "where b", "missing" }, { "where c", "ok queue 0" }, { "where a", "ok room ann" },
        { "history", "ok b:timeout" });
}

TEST(the_estimate_follows_the_pace_of_the_lane)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok queue 0" });
    assert_int_equal(f->r.of.queue.wait_ms, -1);
    STORY(f,
        { "apply c", "ok queue 1" }, { "+60000", 0 }, { "finish ann.1", "ok a ann" },
        { "apply d", "ok queue 1" });
    assert_int_equal(f->r.of.queue.wait_ms, 120000);
    STORY(f, { "+20000", 0 }, { "finish ann.1", "ok b ann" }, { "where d", "ok queue 0" });
    assert_int_equal(f->r.of.queue.wait_ms, 55000); /* (7 * 60 + 20) / 8 */
}

TEST(queue_statistics_are_those_of_today)
{
    struct fixture *f = *state;
    struct usher_queue_result_statistics s;

    STORY(f,
        { "set ttl=0 service=10000 offer=0", "ok" }, { "login ann", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok queue 0" }, { "apply c lane=x", "ok queue 0" },
        { "apply d", "ok queue 1" },
        { "+30000", 0 },
        { "finish ann.1", "ok a ann" }, { "leave d", "ok d" }, { "stats", "ok" });
    s = f->r.of.queue.of.stats;
    assert_int_equal(s.waiting, 1);
    assert_int_equal(s.seated, 1);
    assert_int_equal(s.agents, 1);
    assert_int_equal(s.busy, 1);
    assert_int_equal(s.longest_wait_ms, 30000);
    assert_int_equal(s.seated_today, 2);
    assert_int_equal(s.abandoned_today, 1);
    assert_int_equal(s.finished_today, 1);
    assert_int_equal(s.service_level, 3333); /* a, of a, b and d */
    assert_int_equal(s.service_seated, 5000);
    assert_int_equal(s.arrived_today, 4);
    assert_int_equal(s.within_today, 1);
    assert_int_equal(s.abandoned_within_today, 0);
    assert_int_equal(s.wait_ms, 15000);
    assert_int_equal(s.talk_ms, 30000);
    STORY(f, { "stats lane=x", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.waiting, 1);
    assert_int_equal(f->r.of.queue.of.stats.seated_today, 0);
    assert_int_equal(f->r.of.queue.of.stats.service_level, -1);
    STORY(f, { "+86400000", 0 }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.seated_today, 0);
    assert_int_equal(f->r.of.queue.of.stats.service_level, -1);
    assert_int_equal(f->r.of.queue.of.stats.waiting, 1);
}

/* Abandoned within `service`, it counts for neither side; timed out, it counts for all. */
TEST(service_level_is_of_all_arrivals)
{
    struct fixture *f = *state;
    const struct usher_queue_result_statistics *s = &f->r.of.queue.of.stats;

    STORY(f,
        { "set ttl=0 service=10000 maxwait=60000", "ok" }, { "login ann", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok queue 0" }, { "+10000", 0 },
        { "leave b", "ok b" }, { "stats", "ok" });
    assert_int_equal(s->service_level, 10000);
    assert_int_equal(s->abandoned_within_today, 1);
    STORY(f, { "apply c", "ok queue 0" }, { "+60000", 0 }, { "stats", "ok" });
    assert_int_equal(s->timeout_today, 1);
    assert_int_equal(s->service_level, 5000);
    assert_int_equal(s->service_seated, 10000);
    STORY(f, { "apply d", "ok queue 0" }, { "+10001", 0 }, { "leave d", "ok d" }, { "stats", "ok" });
    assert_int_equal(s->abandoned_today, 2);
    assert_int_equal(s->abandoned_within_today, 1);
    assert_int_equal(s->service_level, 3333);
}

TEST(quarter_hours_add_up_to_today)
{
    struct fixture *f = *state;
    const struct usher_queue_result *q = &f->r.of.queue;
    int64_t quarter;

    STORY(f, { "intervals", "missing" }, { "set ttl=0 service=10000", "ok" }, { "login ann", "ok idle" },
        { "intervals", "ok" });
    f->now += 900000 - f->now % 900000;
    quarter = f->now;
    STORY(f,
        { "apply a lane=x", "ok room ann" }, { "apply b lane=y", "ok queue 0" }, { "+900000", 0 },
        { "finish ann.1", "ok a ann" }, { "apply c lane=y", "ok queue 0" }, { "+1800000", 0 },
        { "leave c", "ok c" }, { "intervals", "ok   " });
    assert_int_equal(q->n_rows, 3);
    assert_int_equal(q->rows[0].since_ms, quarter);
    assert_int_equal(q->rows[0].priority, 2); /* arrived */
    assert_int_equal(q->rows[0].used, 1);     /* within */
    assert_int_equal(q->rows[1].since_ms, quarter + 900000);
    assert_int_equal(q->rows[1].capacity, 1); /* seated */
    assert_int_equal(q->rows[1].wait_ms, 900000);
    assert_int_equal(q->rows[1].talk_ms, 900000);
    assert_int_equal(q->rows[2].served, 1); /* abandoned */
    STORY(f, { "intervals lane=x", "ok  " }, { "intervals lane=nosuch", "ok" });
    STORY(f, { "waits", "ok                " });
    assert_int_equal(q->n_rows, 16);
    assert_int_equal(q->rows[0].until_ms, 5000);
    assert_int_equal(q->rows[0].served, 1);
    assert_int_equal(q->rows[10].served, 1); /* 300 s */
    assert_int_equal(q->rows[11].served, 1); /* 600 s */
    assert_int_equal(q->rows[12].served, 2); /* 1,200 s */
    assert_int_equal(q->rows[15].until_ms, -1);
    assert_int_equal(q->rows[15].served, 2);
    STORY(f, { "+86400000", 0 }, { "intervals", "ok" }, { "waits lane=x", "ok                " });
    assert_int_equal(q->rows[15].served, 1);
}

/* They are sums of the lanes that there are, and of those that were removed. */
TEST(totals_never_decrease)
{
    struct fixture *f = *state;
    const struct usher_queue_result_statistics *s = &f->r.of.queue.of.stats;

    STORY(f,
        { "set ttl=0 service=10000", "ok" }, { "login ann", "ok idle" }, { "apply a lane=x", "ok room ann" },
        { "apply b lane=y", "ok queue 0" }, { "+20000", 0 }, { "finish ann.1", "ok a ann" },
        { "finish ann.1", "ok b ann" }, { "stats lane=y", "ok" });
    assert_int_equal(s->arrived_total, 1);
    assert_int_equal(s->wait_total_ms, 20000);
    assert_int_equal(s->within_total, 0);
    STORY(f, { "+86400000", 0 }, { "apply c lane=y", "ok room ann" }, { "finish ann.1", "ok c ann" },
        { "stats lane=y", "ok" });
    assert_int_equal(s->seated_today, 1);
    assert_int_equal(s->arrived_total, 2);
    assert_int_equal(s->seated_total, 2);
    assert_int_equal(s->wait_total_ms, 20000);
    STORY(f, { "set zone=-600", "ok" }, { "apply d lane=y", "ok room ann" }, { "set zone=600", "ok" },
        { "apply e lane=y", "ok queue 0" }, { "leave e", "ok e" }, { "finish ann.1", "ok d ann" },
        { "+86400000", 0 },
        { "apply f lane=z", "ok room ann" }, /* x goes, which is a day older */
        { "stats lane=x", "ok" });
    assert_int_equal(s->arrived_total, 0);
    STORY(f, { "stats", "ok" });
    assert_int_equal(s->arrived_total, 6);
    assert_int_equal(s->seated_total, 5);
    assert_int_equal(s->abandoned_total, 1);
    assert_int_equal(s->abandoned_within_total, 1);
    assert_int_equal(s->finished_total, 4);
    assert_int_equal(s->talk_total_ms, 20000);
    assert_int_equal(s->seated_today, 1);
}

TEST(the_longest_wait_is_found_in_any_priority)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" }, { "apply a", "ok queue 0" },
        { "+5000", 0 }, { "apply b priority=9", "ok queue 0" }, { "apply c priority=3", "ok queue 1" },
        { "+1000", 0 }, { "stats", "ok *1" });
    assert_int_equal(f->r.of.queue.of.stats.longest_wait_ms, 6000);
}

static void expect_longest(struct fixture *f, int64_t wait_ms, int64_t since_ms, bool more)
{
    command(f, "stats");
    assert_int_equal(f->r.of.queue.of.stats.longest_wait_ms, wait_ms);
    assert_int_equal(f->r.of.queue.of.stats.longest_since_ms, since_ms);
    assert_int_equal(f->r.of.queue.more, more);
}

TEST(the_longest_wait_counts_waiting_and_not_talk)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login eve", "ok idle" }, { "pause eve", "ok paused" },
        { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "+3600000", 0 },
        { "logout ann", "ok gone" });
    expect_longest(f, 0, 3600000, false); /* a waits again */
    STORY(f, { "+1000", 0 }, { "apply b", "ok queue 1" }, { "+5000", 0 });
    expect_longest(f, 6000, 3606000, false);
    STORY(f, { "apply c priority=7", "ok queue 0" }, { "+500", 0 }, { "move a priority=7", "ok queue 0" });
    expect_longest(f, 6500, 3606500, false); /* of a, before c, in the first priority */
    STORY(f, { "leave a", "ok a" });
    expect_longest(f, 5500, 5500, false);
}

TEST(given_arrival_does_not_count_as_waiting)
{
    struct fixture *f = *state;
    int64_t now = f->now;

    STORY(f, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" },
        { "apply a", "ok queue 0" }, { "+1000", 0 });
    for (int i = 0; i < 1000; i++) /* they stand before a, but have not waited longer */
        command(f, "apply u%d since=%" PRId64, i, now - 1 - i);
    expect_longest(f, 1000, 2000, false);
    command(f, "apply v since=%" PRId64, now - 2000);
    expect_longest(f, 0, 3000, true); /* a is the 1,002nd */
    STORY(f, { "leave v", "ok v" }, { "leave u7", "ok u7" });
    expect_longest(f, 1000, 2000, false);
    command(f, "move a since=%" PRId64, f->now); /* now it is the last one */
    STORY(f, { "+10", 0 });
    expect_longest(f, 10, 2010, false);
}

/* The users of all visits, latest first, read in pages of @max. */
static const char *all_visits(struct fixture *f, int max)
{
    static char users[1024];
    char after[USHER_NAME_MAX + 1] = "";

    users[0] = '\0';
    do {
        struct usher_queue_result *q = &f->r.of.queue;

        if (after[0] != '\0')
            command(f, "history max=%d after=%s", max, after);
        else
            command(f, "history max=%d", max);
        for (size_t i = 0; i < q->n_rows; i++)
            add(users, sizeof users, "%.*s ", (int)q->rows[i].user.size, q->rows[i].user.data);
        (void)snprintf(after, sizeof after, "%s", q->agent);
    } while (f->r.of.queue.more);
    return users;
}

/* Require the visits that a store returns: the @kept ones of the queue, or @all that ended. */
static void history_tells(struct fixture *f, const char *kept, const char *all)
{
    struct usher_engine *twin = f->twin;

    if (under_test.keeps_visits) /* the twin does not */
        f->twin = NULL;
    command(f, "history");
    assert_string_equal(f->said, under_test.keeps_visits ? all : kept);
    f->twin = twin;
}

TEST(ended_visits_are_kept_with_all_fields_of_a_history)
{
    struct fixture *f = *state;
    const struct usher_queue_result_row *r;

    STORY(f,
        { "set ttl=0 history=2", "ok" }, { "login ann", "ok idle" }, { "apply z", "ok room ann" },
        { "apply a priority=7 lane=vip", "ok queue 0" },
        { "+30000", 0 }, { "finish ann.1", "ok z ann" }, { "+20000", 0 },
        { "finish ann.1", "ok a ann" }, { "apply b", "ok room ann" }, { "apply c", "ok queue 0" },
        { "leave c", "ok c" },
        { "history max=1", "ok c:left …" }, { "history since=99999999999999", "invalid" });
    history_tells(f, "ok c:left a:seated", "ok c:left a:seated z:seated");
    r = &f->r.of.queue.rows[1];
    assert_int_equal(r->priority, 7);
    assert_int_equal(r->applied_ms, MORNING);
    assert_int_equal(r->matched_ms, MORNING + 30000);
    assert_int_equal(r->until_ms, MORNING + 50000);
    assert_int_equal(r->wait_ms, 30000);
    assert_int_equal(r->talk_ms, 20000);
    assert_int_equal(r->no, 1);
    assert_int_equal(r->login, f->agents[0].login);
    assert_memory_equal(r->lane.data, "vip", 3);
    assert_memory_equal(r->agent.data, "ann", 3);
}

/* It returns each visit once; other stores return those that the queue keeps. */
TEST(store_with_a_history_returns_all_visits)
{
    struct fixture *f = *state;

    no_twin(f);
    STORY(f,
        { "history", "missing" }, { "set ttl=0 history=2", "ok" }, { "login ann", "ok idle" },
        { "history", "ok" }, { "apply a", "ok room ann" }, { "leave a", "ok a ann" },
        { "apply b", "ok room ann" }, { "+1000", 0 }, { "leave b", "ok b ann" },
        { "apply a", "ok room ann" }, { "apply c", "ok queue 0" }, { "leave c", "ok c" },
        { "leave a", "ok a ann" }, { "apply d", "ok room ann" }, { "leave d", "ok d ann" });
    if (!under_test.keeps_visits) {
        assert_string_equal(all_visits(f, 1), "d a ");
        return;
    }
    for (int history = 5; history >= 0; history--) {
        for (int max = 1; max < 7; max++)
            assert_string_equal(all_visits(f, max),
                                &"d d d d d d a c b a "[2 * (size_t)history]);
        STORY(f,
            { "history user=a", "ok a:seated a:seated" }, { "history agent=bob", "ok" },
            { "history user=c agent=ann", "ok" }, { "history user=c", "ok c:left" },
            { "history until=1699956000000", "ok a:seated" },
            { "history since=1699956001000 until=1699956001000 user=b", "ok b:seated" });
        command(f, "set history=%d", history);
        STORY(f, { "apply d", "ok room ann" }, { "leave d", "ok d ann" }, { "+1", 0 });
    }
}

TEST(a_place_in_a_long_queue_is_counted)
{
    enum { USERS = 1200 };
    struct fixture *f = *state;

    STORY(f, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" });
    for (int i = 0; i < USERS; i++)
        command(f, "apply u%04d priority=%d", i, i % 3);
    for (int i = 0; i < USERS; i += 5)
        command(f, "leave u%04d", i);
    for (int i = 1; i < USERS; i += 13) {
        char want[40];
        int before = 0;

        if (i % 5 == 0)
            continue;
        for (int k = 0; k < USERS; k++)
            before += k % 5 != 0 && (k % 3 > i % 3 || (k % 3 == i % 3 && k < i));
        (void)snprintf(want, sizeof want, "ok queue %d", before);
        command(f, "where u%04d", i);
        assert_string_equal(f->said, want);
    }
}

TEST(ended_visits_are_found_by_user_agent_and_time)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann capacity=2", "ok idle" }, { "login bob", "ok idle" },
        { "apply a", "ok room ann" }, { "apply b", "ok room bob" }, { "apply c", "ok room ann" },
        { "apply d", "ok queue 0" }, { "leave d", "ok d" }, { "+1000", 0 },
        { "finish ann.1", "ok a ann" }, { "+1000", 0 }, { "finish bob.1", "ok b bob" },
        { "apply a", "ok room bob" }, { "+1000", 0 }, { "leave a", "ok a bob" },
        { "finish ann.2", "ok c ann" },
        { "history", "ok c:seated a:seated b:seated a:seated d:left" },
        { "history user=a", "ok a:seated a:seated" },
        { "history user=a max=1", "ok a:seated …" },
        { "history agent=ann", "ok c:seated a:seated" },
        { "history agent=ann user=c", "ok c:seated" }, { "history agent=nobody", "ok" },
        { "history since=1699956001000 until=1699956002000", "ok b:seated a:seated" },
        { "history until=1699956000000", "ok d:left" },
        { "history since=1699956003001", "ok" });
}

/* The version of the visit in @row of the last answer, and when it ended: for drain. */
static void drain_up_to(struct fixture *f, size_t row)
{
    const struct usher_queue_result_row *r = &f->r.of.queue.rows[row];
    uint64_t version = r->version;
    int64_t until = r->until_ms;

    assert_true(row < f->r.of.queue.n_rows);
    command(f, "drain token=%" PRIu64 " until=%" PRId64, version, until);
}

TEST(archived_visit_stays_until_it_is_drained)
{
    struct fixture *f = *state;
    uint64_t version;

    STORY(f,
        { "drain", "missing 0" }, { "set ttl=0 history=0 archive=3", "ok" }, { "drain", "same 0" },
        { "login ann capacity=4", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok room ann" }, { "apply c", "ok room ann" }, { "apply d", "ok room ann" },
        { "finish ann.1", "ok a ann" }, { "+10", 0 }, { "finish ann.2", "ok b ann" },
        { "apply e", "ok room ann" }, { "finish ann.3", "ok c ann" },
        /* no new user; visits still end, and heartbeats count */
        { "apply g", "full" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_HISTORY);
    STORY(f,
        { "apply e", "same room ann" }, { "leave d", "ok d ann" },
        { "drain max=2", "ok 0 a:seated b:seated …" },
        { "history", "ok d:seated c:seated b:seated a:seated" },
        { "drain max=2", "ok 0 a:seated b:seated …" });
    version = f->r.version;
    drain_up_to(f, 1);
    assert_string_equal(f->said, "ok 2 c:seated d:seated");
    assert_int_equal(f->r.version, version); /* no watcher is notified */
    drain_up_to(f, 0);
    assert_string_equal(f->said, "ok 1 d:seated");
    /* a version given again by a store that went back in time: it ends later */
    command(f, "drain token=%" PRIu64 " until=%" PRId64, f->r.version, MORNING);
    assert_string_equal(f->said, "ok 0 d:seated");
    STORY(f, { "apply g", "ok room ann" }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.visits, 1);
    history_tells(f, "ok d:seated", "ok d:seated c:seated b:seated a:seated");
    /* what was kept goes when it is to be kept no more, two for each that would come */
    STORY(f, { "set archive=0", "ok" });
    history_tells(f, "ok d:seated", "ok d:seated c:seated b:seated a:seated");
    STORY(f, { "leave g", "ok g ann" });
    history_tells(f, "ok", "ok g:seated d:seated c:seated b:seated a:seated");
    STORY(f, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.visits, 0);
}

TEST(verb_that_ends_a_visit_returns_the_agents_state)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok room ann" },
        { "apply b", "ok queue 0" }, { "finish ann.1", "ok a ann" });
    assert_int_equal(f->r.of.queue.state, USHER_QUEUE_AGENT_BUSY); /* with b by now */
    STORY(f,
        { "leave b", "ok b ann" });
    assert_int_equal(f->r.of.queue.state, USHER_QUEUE_AGENT_IDLE);
    STORY(f,
        { "set wrapup=1000", "ok" }, { "apply c", "ok room ann" }, { "leave c", "ok c ann" });
    assert_int_equal(f->r.of.queue.state, USHER_QUEUE_AGENT_WRAPUP);
    STORY(f,
        { "apply d", "ok queue 0" }, { "leave d", "ok d" });
    assert_int_equal(f->r.of.queue.state, USHER_QUEUE_AGENT_GONE); /* there was none */
}

TEST(agents_are_listed_with_the_time_of_their_login)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0", "ok" }, { "login ann lanes=a,b capacity=3", "ok idle" }, { "+7000", 0 },
        { "login bob", "ok idle" }, { "+7000", 0 }, { "apply a lane=a", "ok room ann" },
        { "pause ann", "ok pausing" }, { "login ann lanes=b,a", "same pausing" },
        { "agents", "ok ann:pausing bob:idle" });
    assert_int_equal(f->r.of.queue.rows[0].since_ms, MORNING);
    assert_int_equal(f->r.of.queue.rows[0].matched_ms, MORNING + 14000);
    assert_int_equal(f->r.of.queue.rows[1].since_ms, MORNING + 7000);
}

TEST(missing_queue_is_missing_for_all_its_verbs)
{
    STORY(*state,
        { "match", "missing" }, { "sweep", "missing 0" }, { "list", "missing" },
        { "agents", "missing" }, { "stats", "missing" }, { "history", "missing" },
        { "drain", "missing 0" }, { "set", "missing" }, { "set ttl=0", "ok" }, { "match", "same" });
}

TEST(an_offered_user_is_not_dropped_with_its_agent)
{
    struct fixture *f = *state;
    const struct usher_queue_result_statistics *s = &f->r.of.queue.of.stats;

    STORY(f,
        { "set ttl=0 requeue=drop offer=5000", "ok" }, { "login ann capacity=2", "ok idle" },
        { "apply a", "ok offer ann" }, { "apply b", "ok offer ann" }, { "accept ann b", "ok b ann" },
        { "apply c", "ok queue 0" }, { "logout ann", "ok gone" }, { "leave c", "ok c" },
        { "history", "ok c:left b:dropped" }, { "where a", "ok queue 0" }, { "stats", "ok" });
    assert_int_equal(s->dropped_today, 1);
    assert_int_equal(s->finished_today, 1);
    assert_int_equal(s->abandoned_today, 1); /* c */
    STORY(f,
        { "+86400000", 0 }, { "stats", "ok" });
    assert_int_equal(s->dropped_today, 0);
}

TEST(lists_come_in_pages)
{
    struct fixture *f = *state;
    char next[300];
    int n = 0;

    STORY(f, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" });
    for (int i = 0; i < 25; i++)
        command(f, "apply u%02d", i);
    command(f, "list max=10");
    for (;;) {
        for (size_t i = 0; i < f->r.of.queue.n_rows; i++) {
            char want[16];

            (void)snprintf(want, sizeof want, "u%02d", n++);
            assert_memory_equal(f->r.of.queue.rows[i].user.data, want, 3);
        }
        if (!f->r.of.queue.more)
            break;
        (void)snprintf(next, sizeof next, "%s", f->r.of.queue.agent);
        command(f, "list max=10 after=%s", next);
    }
    assert_int_equal(n, 25);
    STORY(f, { "list after=nonsense", "invalid" }, { "history after=1", "invalid" });
    /* those of the one list say nothing of the other */
    STORY(f, { "list state=seated after=0.2", "ok" }, { "list state=seated after=1.2", "invalid" },
          { "list state=offered after=1.2", "invalid" }, { "list state=away after=1.2", "ok" },
          { "history after=2.2", "invalid" });
}

/* ---- notices, time, typed functions ----------------------------------------------------- */

struct heard {
    char line[2048];
    uint64_t version;
};

static void hear(void *payload, const struct usher_notice *n)
{
    struct heard *h = payload;

    assert_int_equal(n->version, h->version + 1);
    h->version = n->version;
    add(h->line, sizeof h->line, "%s %.*s %u>%u", usher_verb_word(n->verb), (int)n->subject.size,
        n->subject.size != 0 ? n->subject.data : "", n->from, n->to);
    if (n->owner.size != 0)
        add(h->line, sizeof h->line, " %.*s", (int)n->owner.size, n->owner.data);
    add(h->line, sizeof h->line, "; ");
}

TEST(each_change_is_notified_with_its_subject)
{
    struct fixture *f = *state;
    struct usher_watcher *watch;
    struct heard h = { "", 0 };

    assert_int_equal(usher_watch(f->e, USHER_QUEUE, "desk", hear, &h, &watch), USHER_OK);
    STORY(f,
        { "set ttl=1000 offer=500", "ok" }, { "login ann", "ok idle" }, { "apply a", "ok offer ann" },
        { "accept ann a", "ok a ann" }, { "apply b", "ok queue 0" }, { "finish ann.1", "ok a ann" },
        { "alive user=b", "ok offer ann" }, { "pause ann", "ok pausing" }, { "+500", 0 },
        { "sweep", "ok 1" }, { "+500", 0 }, { "sweep", "ok 2" });
    usher_unwatch(f->e, watch);
    assert_string_equal(h.line,
        "set  0>0; login ann 0>1; apply a 0>1; match a 1>2 ann; accept a 2>3 ann; apply b 0>1; "
        "finish a 3>0 ann; match b 1>2 ann; pause ann 2>6; expire b 2>1 ann; expire ann 5>0; "
        "expire b 1>0; ");
}

/* clang-format on */

TEST(times_end_in_the_year_2248)
{
    struct fixture *f = *state;

    f->now = USHER_QUEUE_TIME_MAX;
    STORY(f, { "login ann", "ok idle" }, { "apply a", "ok room ann" }, { "apply b", "ok queue 0" });
    f->now++;
    STORY(f, { "login bob", "invalid" }, { "apply c", "invalid" }, { "where b", "ok queue 0" });
}

TEST(lane_beyond_the_limit_is_refused)
{
    struct fixture *f = *state;

    /* a store whose every step is a walk over all there is; a machine on which it takes long */
    if (under_test.drivers != NULL || budget_wrapped())
        return;
    STORY(f, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "pause ann", "ok paused" });
    for (int i = 0; i < USHER_QUEUE_LANES_MAX; i++)
        command(f, "apply u%d lane=l%d", i, i);
    STORY(f, { "apply v lane=one-more", "full" }, { "apply v lane=l1", "ok queue 1" },
          { "move v lane=one-more", "full" });
}

TEST(due_expiries_are_applied_in_bounded_steps)
{
    struct fixture *f = *state;

    STORY(f, { "login ann", "ok idle" }, { "pause ann", "ok paused" });
    for (int i = 0; i < 150; i++)
        command(f, "apply u%d", i);
    STORY(f, { "+10000", 0 }, { "alive agent=ann", "ok paused -" });
    command(f, "apply late");
    STORY(f, { "+5000", 0 }, { "sweep max=50", "ok 50 …" }, { "where late", "ok queue 0" },
          { "sweep", "same 0" });
}

TEST(one_user_is_offered_refused_moved_and_swept)
{
    struct fixture *f = *state;

    STORY(f, { "set", "missing" }, { "set offer=5000", "ok" }, { "apply a", "empty" });
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_NO_AGENT);
    STORY(f, { "login ann", "ok idle" }, { "login ann lanes=*", "same idle" },
          { "apply a lane=vip priority=3", "ok offer ann" });
    assert_int_equal(f->r.of.queue.until_ms, f->now + 5000);
    STORY(f, { "apply b priority=10", "ok queue 0" }, { "reject ann a", "ok a ann" },
          { "accept ann a", "refused a ann" }, { "accept ann b", "ok b ann" },
          { "room ann", "ok busy b" }, { "alive agent=ann", "ok busy b" },
          { "alive user=a", "ok queue 0" }, { "where nobody", "missing" },
          { "move a priority=9", "ok queue 0" }, { "list lane=vip", "ok a" });
    assert_int_equal(f->r.of.queue.rows[0].priority, 9);
    STORY(f, { "agents max=5", "ok ann:busy" }, { "finish ann.1 user=a", "stale b ann" },
          { "finish ann.1 user=b", "ok b ann" }, { "pull ann", "refused" }, { "match", "same" },
          { "leave a", "ok a ann" }, { "history", "ok a:left b:seated" }, { "stats", "ok" });
    assert_int_equal(f->r.of.queue.of.stats.idle, 1);
    STORY(f, { "pause ann", "ok paused" }, { "ready ann", "ok idle" }, { "free ann", "same idle" },
          { "+60000", 0 }, { "sweep", "ok 1" }, { "logout ann", "same gone" });
}

/* ---- threads, opening again ---------------------------------------------------------- */

#define THREADS 4
#define VISITS 60

struct thread {
    struct fixture *f;
    int i;
    int seated, failed;
};

/* Each thread is a user that comes, is seated or waits, and leaves; all share the agents. */
static void *visitor(void *payload)
{
    struct thread *t = payload;

    for (int i = 0; i < VISITS; i++) {
        char user[32];
        struct ask_queue_seat seat;
        enum usher_status status;

        (void)snprintf(user, sizeof user, "u%d-%d", t->i, i);
        status = ask_queue_apply(t->f->e, "desk", user, NULL, &seat);
        while (USHER_IS_DONE(status) && seat.place != USHER_QUEUE_PLACE_ROOM)
            status = ask_queue_where(t->f->e, "desk", user, &seat);
        if (!USHER_IS_DONE(status) ||
            ask_queue_finish(t->f->e, "desk", seat.room, user, seat.token) != USHER_OK)
            t->failed++;
        t->seated++;
    }
    return NULL;
}

TEST(threads_are_served_one_by_one)
{
    struct fixture *f = *state;
    struct thread threads[THREADS];
    pthread_t ids[THREADS];
    struct usher_queue_result_statistics stats;

    no_twin(f);
    STORY(f, { "set ttl=0", "ok" }, { "login ann", "ok idle" }, { "login bob", "ok idle" });
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){ f, i, 0, 0 };
        assert_int_equal(pthread_create(&ids[i], NULL, visitor, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(ids[i], NULL), 0);
        assert_int_equal(threads[i].failed, 0);
    }
    assert_int_equal(ask_queue_stats(f->e, "desk", NULL, &stats), USHER_OK);
    assert_int_equal(stats.seated_today, THREADS * VISITS);
    assert_int_equal(stats.waiting + stats.seated, 0);
}

TEST_NEEDS(pause_wrap_up_and_places_are_there_after_opening_again, NEEDS_DURABLE)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0 wrapup=60000", "ok" }, { "login ann", "ok idle" },
          { "login bob", "ok idle" }, { "pause bob", "ok paused" }, { "apply a", "ok room ann" },
          { "apply b", "ok queue 0" }, { "apply c priority=1", "ok queue 0" },
          { "finish ann.1", "ok a ann" });
    suite_close(&f->e);
    f->e = fixture_open(f);
    STORY(f, { "agents", "ok ann:wrapup bob:paused" }, { "list", "ok c b" }, { "+60000", 0 },
          { "where c", "ok room ann" }, { "ready bob", "ok busy" }, { "where b", "ok room bob" });
}

TEST_NEEDS(seated_users_stay_seated_after_a_restart, NEEDS_DURABLE)
{
    struct fixture *f = *state;

    STORY(f, { "login ann", "ok idle" }, { "apply a", "ok room ann" });
    suite_close(&f->e);
    f->e = fixture_open(f);
    STORY(f, { "login ann", "same busy" }, { "room ann", "ok busy a" }, { "apply b", "ok queue 0" },
          { "finish ann.1", "ok a ann" }, { "where b", "ok room ann" });
}

TEST_NEEDS(mode_and_reason_are_kept_over_a_restart, NEEDS_DURABLE)
{
    struct fixture *f = *state;

    STORY(f, { "set ttl=0 limit=5 mode=closed reason=storm", "ok storm" },
          { "login ann", "ok idle" });
    suite_close(&f->e);
    f->e = fixture_open(f);
    STORY(f, { "apply a", "refused" }, { "stats", "ok storm" }, { "set mode=open", "ok" },
          { "apply a", "ok room ann" }, { "set mode=stopped limit=0", "ok" });
    suite_close(&f->e);
    f->e = fixture_open(f);
    STORY(f, { "finish ann.1", "ok a ann" }, { "apply b", "refused" }, { "set mode=open", "ok" },
          { "apply b", "ok room ann" });
}

TEST_NEEDS(queue_statistics_are_not_doubled_by_opening_again, NEEDS_DURABLE)
{
    struct fixture *f = *state;
    struct usher_queue_result_statistics before;

    STORY(f, { "set ttl=0 limit=1", "ok" }, { "login ann", "ok idle" },
          { "apply a", "ok room ann" }, { "apply b", "ok queue 0" }, { "+1000", 0 },
          { "finish ann.1", "ok a ann" }, { "apply c", "ok queue 0" }, { "leave c", "ok c" },
          { "apply d", "ok queue 0" }, { "stats", "ok" });
    before = f->r.of.queue.of.stats;
    for (int i = 0; i < 3; i++) {
        suite_close(&f->e);
        f->e = fixture_open(f);
    }
    STORY(f, { "stats", "ok" });
    assert_memory_equal(&f->r.of.queue.of.stats, &before, sizeof before);
    STORY(f, { "apply e", "full" }, { "leave d", "ok d" }, { "apply e", "ok queue 0" });
}

/* Each agent has its own engine, and all engines see the state of all agents. */
TEST_NEEDS(an_agent_of_one_engine_serves_the_users_of_another, NEEDS_SHARED)
{
    struct fixture *f = *state;
    struct usher_engine *mine = f->e, *other = fixture_open(f);

    STORY(f, { "set wrapup=5000", "ok" }, { "login ann", "ok idle" });
    f->e = other;
    STORY(f, { "apply a", "ok room ann" }, { "apply b", "ok queue 0" });
    f->e = mine;
    STORY(f, { "room ann", "ok busy a" }, { "pause ann", "ok pausing" });
    f->e = other;
    STORY(f, { "leave a", "ok a ann" }, { "where b", "ok queue 0" });
    f->e = mine;
    STORY(f, { "room ann", "ok paused -" }, { "ready ann", "ok busy" });
    f->e = other;
    STORY(f, { "where b", "ok room ann" });
    f->e = mine;
    usher_close(other); /* a closed engine removes no agent or user */
    STORY(f, { "+5000", 0 }, { "room ann", "ok busy b" }, { "finish ann.1 user=b", "ok b ann" },
          { "room ann", "ok wrapup -" });
}

/* ---- histories ----------------------------------------------------------------------- */

#define KEPT_MAX 256

/* A history of the application, which fails on request. */
struct kept {
    struct usher_history base;
    pthread_mutex_t lock;
    size_t n, puts;
    enum { WELL, REFUSES, KEEPS_AND_FORGETS_TO_SAY, FORGETS } mode;
    struct {
        uint64_t epoch;
        char queue[32], user[32], agent[32], lane[32];
        struct usher_queue_result_row row; /* but for the texts */
    } visits[KEPT_MAX];
};

static void copy(char to[32], const struct usher_text *t)
{
    (void)snprintf(to, 32, "%.*s", (int)t->size, t->size != 0 ? t->data : "");
}

static enum usher_status kept_put(struct usher_history *h, const struct usher_text *queue,
                                  uint64_t epoch, const struct usher_queue_result_row *visits,
                                  size_t n, int64_t deadline_ms, char why[192])
{
    struct kept *k = (struct kept *)h;

    (void)deadline_ms;
    (void)pthread_mutex_lock(&k->lock);
    k->puts++;
    for (size_t i = 0; i < n && (k->mode == WELL || k->mode == KEEPS_AND_FORGETS_TO_SAY); i++) {
        size_t at = 0;
        char user[32];

        copy(user, &visits[i].user);
        while (at < k->n &&
               (k->visits[at].epoch != epoch || k->visits[at].row.version != visits[i].version ||
                strcmp(k->visits[at].user, user) != 0))
            at++;
        if (at < k->n)
            continue;
        assert_true(k->n < KEPT_MAX);
        k->visits[at].epoch = epoch;
        k->visits[at].row = visits[i];
        copy(k->visits[at].queue, queue);
        copy(k->visits[at].user, &visits[i].user);
        copy(k->visits[at].agent, &visits[i].agent);
        copy(k->visits[at].lane, &visits[i].lane);
        k->n++;
    }
    (void)pthread_mutex_unlock(&k->lock);
    if (k->mode == WELL)
        return USHER_OK;
    (void)snprintf(why, 192, "the disk is full");
    return k->mode == REFUSES ? USHER_UNAVAILABLE : USHER_UNKNOWN;
}

static enum usher_status kept_read(struct usher_history *h, const struct usher_history_query *q,
                                   int64_t deadline_ms, usher_history_fn *fn, void *payload,
                                   char why[192])
{
    struct kept *k = (struct kept *)h;
    enum usher_status status = USHER_OK;
    size_t told = 0;

    (void)deadline_ms;
    (void)why;
    for (size_t i = k->n; i-- > 0 && status == USHER_OK && told < q->max;) {
        struct usher_queue_result_row row = k->visits[i].row;

        row.user = text(k->visits[i].user);
        row.agent = text(k->visits[i].agent);
        row.lane = text(k->visits[i].lane);
        if ((q->before != 0 && (int64_t)i + 1 >= q->before) ||
            (q->version != 0 && k->visits[i].epoch == q->epoch && row.version >= q->version) ||
            (q->user.data != NULL && (q->user.size != row.user.size ||
                                      memcmp(q->user.data, row.user.data, row.user.size) != 0)) ||
            row.until_ms < q->since_ms || row.until_ms > q->until_ms)
            continue;
        told++;
        status = fn(payload, &row, (int64_t)i + 1);
    }
    return status;
}

static void kept_close(struct usher_history *h)
{
    (void)h;
}

static const struct usher_history_ops kept_ops = {
    .size = sizeof kept_ops, .name = "kept", .put = kept_put, .read = kept_read, .close = kept_close
};

/* Open f->e again, with a history that the caller owns. */
static void with_history(struct fixture *f, struct kept *k)
{
    struct usher_options opt = USHER_OPTIONS_INIT;

    no_twin(f);
    suite_close(&f->e);
    opt.history = &k->base;
    f->e = suite_open(f->url, &f->now, &opt);
}

static void kept_init(struct kept *k)
{
    memset(k, 0, sizeof *k);
    k->base.ops = &kept_ops;
    (void)pthread_mutex_init(&k->lock, NULL);
}

TEST(history_has_each_visit_once_after_any_failure)
{
    struct fixture *f = *state;
    char after[USHER_NAME_MAX + 1];
    struct kept k;
    uint64_t moved = 0;

    kept_init(&k);
    with_history(f, &k);
    STORY(f, { "set ttl=0 history=0", "ok" }, { "login ann", "ok idle" }, { "set", "ok" });
    assert_int_equal(f->r.of.queue.of.settings.archive, USHER_QUEUE_ARCHIVE_DEFAULT);
    STORY(f, { "apply a", "ok room ann" }, { "finish ann.1", "ok a ann" },
          { "apply b", "ok room ann" }, { "finish ann.1", "ok b ann" });
    k.mode = REFUSES;
    assert_int_equal(ask_queue_drain(f->e, "desk", NULL), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), "history: the disk is full"));
    assert_int_equal(k.n, 0);
    assert_string_equal(all_visits(f, 1), "b a ");
    k.mode = FORGETS;
    assert_int_equal(ask_queue_drain(f->e, "desk", NULL), USHER_UNAVAILABLE);
    assert_string_equal(all_visits(f, 5), "b a ");
    k.mode = KEEPS_AND_FORGETS_TO_SAY; /* then they are here and there */
    assert_int_equal(ask_queue_drain(f->e, "desk", NULL), USHER_UNAVAILABLE);
    assert_int_equal(k.n, 2);
    STORY(f, { "apply c", "ok room ann" }, { "leave c", "ok c ann" });
    assert_string_equal(all_visits(f, 1), "c b a ");
    assert_string_equal(all_visits(f, 2), "c b a ");
    k.mode = WELL;
    assert_int_equal(ask_queue_drain(f->e, "desk", &moved), USHER_OK);
    assert_int_equal(moved, 3);
    assert_int_equal(k.n, 3);
    assert_int_equal(ask_queue_drain(f->e, "desk", &moved), USHER_SAME);
    assert_int_equal(moved, 0);
    STORY(f, { "apply d", "ok room ann" }, { "leave d", "ok d ann" }, { "stats", "ok" },
          { "history user=c", "ok c:seated" }, { "history user=d", "ok d:seated" },
          { "history max=2", "ok d:seated c:seated …" });
    for (int max = 1; max < 6; max++)
        assert_string_equal(all_visits(f, max), "d c b a ");
    assert_int_equal(ask_queue_drain(f->e, "nowhere", NULL), USHER_MISSING);
    /* one page of some, moved between two pages */
    STORY(f, { "apply e", "ok room ann" }, { "leave e", "ok e ann" },
          { "history max=1", "ok e:seated …" });
    (void)snprintf(after, sizeof after, "%s", f->r.of.queue.agent);
    assert_int_equal(ask_queue_drain(f->e, "desk", NULL), USHER_OK);
    command(f, "history max=1 after=%s", after);
    assert_string_equal(f->said, "ok d:seated …");
    /* what is left is moved as the engine is closed */
    STORY(f, { "apply f", "ok room ann" }, { "leave f", "ok f ann" });
    suite_close(&f->e);
    assert_int_equal(k.n, 6);
    assert_string_equal(k.visits[5].user, "f");
    assert_string_equal(k.visits[5].agent, "ann");
    assert_string_equal(k.visits[5].queue, "desk");
    f->e = fixture_open(f);
}

TEST(user_is_not_refused_when_a_history_takes_visits)
{
    struct fixture *f = *state;
    struct kept k;

    kept_init(&k);
    with_history(f, &k);
    STORY(f, { "set ttl=0 archive=2", "ok" }, { "login ann", "ok idle" });
    for (int i = 0; i < 9; i++)
        STORY(f, { "apply a", "ok room ann" }, { "leave a", "ok a ann" });
    k.mode = REFUSES;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask_queue_leave(f->e, "desk", "a"), USHER_MISSING);
        command(f, "apply a");
        command(f, "leave a");
    }
    command(f, "apply b"); /* now it has to be emptied, and cannot */
    assert_string_equal(f->said, "full");
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_HISTORY);
    k.mode = WELL;
    assert_int_equal(ask_queue_drain(f->e, "desk", NULL), USHER_OK);
    STORY(f, { "apply b", "ok room ann" });
    suite_close(&f->e);
    f->e = fixture_open(f);
    assert_true(k.n >= 10 && k.n <= 11);
}

TEST_NEEDS(engines_share_a_history, NEEDS_SHARED)
{
    struct fixture *f = *state;
    struct usher_engine *plain;
    struct kept k;
    struct ask_queue_seat seat;

    kept_init(&k);
    with_history(f, &k);
    plain = fixture_open(f);
    STORY(f, { "set ttl=0 history=0", "ok" }, { "login ann", "ok idle" });
    for (int i = 0; i < 5; i++) { /* an engine without a history drops none */
        assert_int_equal(ask_queue_apply(plain, "desk", "a", NULL, &seat), USHER_OK);
        assert_int_equal(ask_queue_leave(plain, "desk", "a"), USHER_OK);
    }
    assert_int_equal(ask_queue_drain(plain, "desk", NULL), USHER_OK); /* and drains none */
    assert_string_equal(all_visits(f, 2), "a a a a a ");
    assert_int_equal(ask_queue_drain(f->e, "desk", NULL), USHER_OK);
    assert_int_equal(k.n, 5);
    usher_close(plain);
    suite_close(&f->e);
    f->e = fixture_open(f);
}
