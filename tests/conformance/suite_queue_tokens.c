/* SPDX-License-Identifier: MIT */
/*
 * Every store compares tokens: that of the login of an agent, of the visit of a user, of an offer
 * or a room.
 */
#include "lib/test.h"

#include "conformance/story.h"

static void says(struct fixture *f, const char *want, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void says(struct fixture *f, const char *want, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    command(f, "%s", line);
    if (strcmp(f->said, want) != 0)
        print_error("%s\n", line);
    assert_string_equal(f->said, want);
}

/* The token of the login that the last answer is about. */
static uint64_t login_token(const struct fixture *f)
{
    assert_int_not_equal(f->r.of.queue.token, 0);
    return f->r.of.queue.token;
}

/* That of the visit: usher_queue_answer.visit_token. */
static uint64_t visit_token(const struct fixture *f)
{
    assert_int_not_equal(f->r.of.queue.count, 0);
    return f->r.of.queue.count;
}

/* clang-format off */

/* ---- agents -------------------------------------------------------------------------- */

TEST_EACH(queue_set_up, fixture_end);

TEST(a_session_that_was_replaced_changes_nothing)
{
    static const char *const verbs[] = { "alive", "pause", "ready", "pull", "logout" };
    struct fixture *f = *state;
    uint64_t one, two, version, login;

    STORY(f, { "login ann session=one capacity=2", "ok idle" });
    one = login_token(f);
    login = f->r.of.queue.login;
    assert_int_equal(one, login);
    STORY(f, { "apply bob", "ok room ann" }, { "+10000", 0 }, { "alive user=bob", "ok room ann" },
          { "login ann session=two", "ok busy" });
    two = login_token(f);
    version = f->r.version;
    assert_int_equal(two, version);
    assert_int_equal(f->r.of.queue.login, login); /* its rooms are the same */
    f->now += 4000;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        says(f, "stale", "%s %sann token=%" PRIu64, verbs[i], i == 0 ? "agent=" : "", one);
        assert_int_equal(f->r.version, version);
        assert_int_equal(f->r.of.queue.token, 0); /* the answer does not give the present one away */
        assert_int_equal(f->r.of.queue.n_rows, 0);
    }
    STORY(f, { "where bob", "ok room ann" }, { "room ann", "ok busy bob -" });
    assert_int_equal(login_token(f), two);
    says(f, "ok pausing", "pause ann token=%" PRIu64, two);
    says(f, "ok busy", "ready ann token=%" PRIu64, two);
    says(f, "empty", "pull ann token=%" PRIu64, two);
    assert_int_equal(f->r.of.queue.token, 0);
    says(f, "ok busy bob -", "alive agent=ann token=%" PRIu64, two);
    assert_int_equal(login_token(f), two);
    says(f, "ok gone", "logout ann token=%" PRIu64, two);
    says(f, "same gone", "logout ann token=%" PRIu64, two);
    says(f, "missing", "pause ann token=%" PRIu64, two);
    STORY(f, { "login ann session=one", "ok busy" });
}

TEST(a_stale_command_is_no_sign_of_life)
{
    static const char *const verbs[] = { "alive agent=ann", "pause ann", "ready ann", "pull ann" };
    struct fixture *f = *state;
    uint64_t one;

    STORY(f, { "login ann session=one", "ok idle" });
    one = login_token(f);
    STORY(f, { "login ann session=two", "ok idle" }, { "+14999", 0 });
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        says(f, "stale", "%s token=%" PRIu64, verbs[i], one);
    f->now++;
    STORY(f, { "room ann", "missing" });
}

TEST(a_login_without_another_session_keeps_the_token)
{
    struct fixture *f = *state;
    uint64_t token;

    STORY(f, { "login ann", "ok idle" });
    token = login_token(f);
    STORY(f, { "login ann", "same idle" });
    assert_int_equal(login_token(f), token);
    STORY(f, { "login ann session=a", "ok idle" }); /* it had none */
    token = login_token(f);
    STORY(f, { "login ann session=a", "same idle" }, { "login ann", "same idle" },
          { "login ann session=b capacity=2", "refused" });
    assert_int_equal(login_token(f), token);
    STORY(f, { "agents", "ok ann:idle" });
    assert_int_equal(f->r.of.queue.rows[0].token, token);
    says(f, "ok idle -", "alive agent=ann token=%" PRIu64, token);
}

TEST(another_session_changes_neither_state_nor_rank)
{
    struct fixture *f = *state;

    STORY(f,
        { "set ttl=0 wrapup=1000", "ok" },
        { "login ann session=a", "ok idle" }, { "login bob", "ok idle" },
        { "login ann session=b", "ok idle" },
        { "apply u", "ok room ann" }, /* it is idle for longer, still */
        { "login ann session=c", "ok busy" }, { "pause ann", "ok pausing" },
        { "login ann session=d", "ok pausing" }, { "finish ann.1", "ok u ann" },
        { "login ann session=e", "ok paused" }, { "ready ann", "ok idle" },
        { "pause bob", "ok paused" }, { "apply u", "ok room ann" },
        { "finish ann.1", "ok u ann" }, { "login ann session=f", "ok wrapup" },
        { "apply u", "ok queue 0" }, { "+1000", 0 }, { "where u", "ok room ann" });
}

TEST(an_offer_is_accepted_by_the_next_session)
{
    struct fixture *f = *state;
    uint64_t offer;

    STORY(f, { "set offer=5000", "ok" }, { "login ann session=one", "ok idle" },
          { "apply bob", "ok offer ann" });
    offer = f->r.of.queue.token;
    STORY(f, { "login ann session=two", "ok offered" });
    says(f, "ok bob ann", "accept ann bob token=%" PRIu64, offer);
    says(f, "same bob ann", "accept ann bob token=%" PRIu64, offer);
}

TEST(a_late_logout_ends_no_pause_of_a_later_login)
{
    struct fixture *f = *state;
    uint64_t first, second;

    STORY(f, { "login ann session=one", "ok idle" });
    first = login_token(f);
    STORY(f, { "login ann session=two", "ok idle" });
    second = login_token(f);
    STORY(f, { "pause ann", "ok paused" }, { "+20000", 0 }, { "room ann", "missing" });
    says(f, "stale", "logout ann token=%" PRIu64, first);
    STORY(f, { "login ann", "ok paused" }, { "+20000", 0 });
    says(f, "stale", "logout ann token=%" PRIu64, second); /* that was the login before */
    STORY(f, { "login ann", "ok paused" });
    first = login_token(f);
    f->now += 20000;
    says(f, "ok gone", "logout ann token=%" PRIu64, first);
    STORY(f, { "login ann", "ok idle" });
}

/* ---- offers -------------------------------------------------------------------------- */

TEST(a_late_answer_to_an_offer_is_not_one_to_the_next)
{
    struct fixture *f = *state;
    uint64_t old, now;

    STORY(f, { "set ttl=0 offer=5000 again=1", "ok" }, { "login ann", "ok idle" },
          { "apply bob", "ok offer ann" });
    old = f->r.of.queue.token;
    STORY(f, { "+5001", 0 }, { "where bob", "ok offer ann" });
    now = f->r.of.queue.token;
    assert_int_not_equal(now, old);
    says(f, "stale bob ann", "reject ann bob token=%" PRIu64, old);
    says(f, "stale bob ann", "accept ann bob token=%" PRIu64, old);
    STORY(f, { "where bob", "ok offer ann" });
    assert_int_equal(f->r.of.queue.token, now);
    says(f, "ok bob ann", "reject ann bob token=%" PRIu64, now);
    says(f, "stale bob ann", "reject ann bob token=%" PRIu64, now); /* it waits */
    says(f, "missing zoe ann", "reject ann zoe token=%" PRIu64, now);
    STORY(f, { "login cid", "ok offered" }, { "where bob", "ok offer cid" });
    now = f->r.of.queue.token;
    says(f, "refused bob ann", "accept ann bob token=%" PRIu64, now);
    says(f, "ok bob cid", "accept cid bob token=%" PRIu64, now);
    says(f, "refused bob cid", "reject cid bob token=%" PRIu64, now); /* is no offer any more */
}

TEST(a_late_answer_to_an_offer_is_no_sign_of_life)
{
    struct fixture *f = *state;
    uint64_t old;

    STORY(f, { "set offer=1000 again=1", "ok" }, { "login ann", "ok idle" },
          { "apply bob", "ok offer ann" });
    old = f->r.of.queue.token;
    STORY(f, { "+14999", 0 }, { "alive user=bob", "ok offer ann" });
    says(f, "stale bob ann", "accept ann bob token=%" PRIu64, old);
    f->now++;
    STORY(f, { "room ann", "missing" });
}

/* ---- users --------------------------------------------------------------------------- */

TEST(a_late_leave_ends_no_later_visit)
{
    struct fixture *f = *state;
    uint64_t old, now, version;

    STORY(f, { "set trigger=pull", "ok" }, { "login ann", "ok idle" }, { "apply bob", "ok queue 0" });
    old = visit_token(f);
    assert_int_equal(old, f->r.version);
    says(f, "ok bob", "leave bob token=%" PRIu64, old);
    says(f, "missing bob", "leave bob token=%" PRIu64, old);
    STORY(f, { "apply bob", "ok queue 0" });
    now = visit_token(f);
    version = f->r.version;
    f->now += 14999;
    says(f, "stale bob", "leave bob token=%" PRIu64, old);
    says(f, "stale", "where bob token=%" PRIu64, old);
    says(f, "stale", "move bob priority=1 token=%" PRIu64, old);
    says(f, "stale", "alive user=bob token=%" PRIu64, old);
    assert_int_equal(f->r.version, version);
    assert_int_equal(f->r.of.queue.count, 0);
    STORY(f, { "list", "ok bob" });
    assert_int_equal(f->r.of.queue.rows[0].version, now);
    assert_int_equal(f->r.of.queue.rows[0].priority, 0);
    says(f, "ok queue 0", "where bob token=%" PRIu64, now);
    says(f, "ok queue 0", "move bob priority=1 token=%" PRIu64, now);
    f->now++;
    STORY(f, { "where bob", "missing" }); /* the stale heartbeat was none */
}

TEST(a_visit_keeps_its_token_until_it_ends)
{
    struct fixture *f = *state;
    uint64_t visit, match;

    STORY(f, { "set ttl=0 offer=5000", "ok" }, { "login ann session=a", "ok idle" },
          { "apply bob", "ok offer ann" });
    visit = visit_token(f);
    STORY(f, { "apply bob", "same offer ann" });
    assert_int_equal(visit_token(f), visit);
    STORY(f, { "accept ann bob", "ok bob ann" }, { "where bob", "ok room ann" });
    match = f->r.of.queue.token;
    assert_int_equal(visit_token(f), visit);
    says(f, "stale bob", "leave bob token=%" PRIu64, match); /* of the room, not of the visit */
    STORY(f, { "logout ann", "ok gone" }, { "login cid lanes=x", "ok idle" },
          { "where bob", "ok queue 0" });
    assert_int_equal(visit_token(f), visit);
    says(f, "ok offer cid", "move bob lane=x token=%" PRIu64, visit);
    assert_int_equal(visit_token(f), visit);
    says(f, "ok offer cid", "alive user=bob token=%" PRIu64, visit);
    says(f, "ok bob cid", "leave bob token=%" PRIu64, visit);
    STORY(f, { "apply bob lane=x", "ok offer cid" });
    assert_int_not_equal(visit_token(f), visit);
}

/* ---- strict -------------------------------------------------------------------------- */

TEST(strict_queue_requires_tokens)
{
    static const char *const wanting[] = {
        "alive agent=ann", "alive user=bob", "pause ann", "ready ann", "pull ann", "logout ann",
        "leave bob", "move bob priority=3", "accept ann bob", "reject ann bob", "finish ann.1",
        "logout nobody", "leave nobody", "finish x",
    };
    struct fixture *f = *state;
    uint64_t visit, login;

    STORY(f, { "set trigger=pull offer=1000", "ok" }, { "login ann", "ok idle" },
          { "apply bob", "ok queue 0" }, { "set strict=1", "ok" }, { "set strict=1", "same" });
    for (size_t i = 0; i < sizeof wanting / sizeof *wanting; i++) {
        says(f, "invalid", "%s", wanting[i]);
        assert_string_equal(f->r.message, "token is missing: the queue is strict");
    }
    /* what was there before has tokens, too */
    STORY(f, { "login ann", "same idle" });
    login = login_token(f);
    STORY(f, { "apply bob", "same queue 0" });
    visit = visit_token(f);
    STORY(f, { "where bob", "ok queue 0" }, { "room ann", "ok idle -" }, { "list", "ok bob" },
          { "agents", "ok ann:idle" }, { "stats", "ok" }, { "sweep", "same 0" }, { "match", "ok bob>ann" });
    says(f, "ok bob ann", "accept ann bob token=%" PRIu64, f->r.of.queue.rows[0].token);
    says(f, "ok busy bob", "alive agent=ann token=%" PRIu64, login);
    says(f, "ok room ann", "alive user=bob token=%" PRIu64, visit);
    says(f, "ok bob ann", "finish ann.1 token=%" PRIu64, f->r.of.queue.token);
    STORY(f, { "free ann", "same idle" }, { "drain", "ok 0 bob:seated" }, { "set strict=0", "ok" },
          { "logout ann", "ok gone" });
}

TEST(queue_may_become_strict_within_a_batch)
{
    struct fixture *f = *state;
    struct usher_operation c[5];
    struct usher_result r[5];

    STORY(f, { "set trigger=pull", "ok" }, { "login ann", "ok idle" }, { "apply bob", "ok queue 0" },
          { "apply cid", "ok queue 1" });
    memset(c, 0, sizeof c);
    for (size_t i = 0; i < 5; i++) {
        c[i].scope = text("desk");
        c[i].verb = i == 1 ? USHER_QUEUE_SET : USHER_QUEUE_LEAVE;
        c[i].arg.queue.user = i == 1 ? (struct usher_text){ NULL, 0 } : text(i == 0 ? "bob" : "cid");
    }
    c[1].given = USHER_GIVEN_QUEUE_STRICT;
    c[1].arg.queue.strict = 1;
    c[3].given = c[4].given = USHER_GIVEN_QUEUE_TOKEN;
    c[3].arg.queue.token = visit_token(f) - 1;
    c[4].arg.queue.token = visit_token(f);
    for (int twin = 0; twin < 2; twin++) {
        assert_int_equal(usher_operate(twin ? f->twin : f->e, c, r, 5), USHER_OK);
        assert_int_equal(r[0].status, USHER_OK);
        assert_int_equal(r[1].status, USHER_OK);
        assert_int_equal(r[2].status, USHER_INVALID);
        assert_int_equal(r[3].status, USHER_STALE);
        assert_int_equal(r[4].status, USHER_OK);
        for (size_t i = 0; i < 5; i++)
            usher_result_done(&r[i]);
    }
}

/* ---- with all the rest --------------------------------------------------------------- */

TEST(a_token_that_was_never_issued_is_lost)
{
    static const char *const verbs[] = {
        "alive agent=ann", "alive user=bob", "alive user=nobody", "pause ann", "ready nobody",
        "pull ann", "logout ann", "logout nobody", "leave bob", "where bob", "move bob priority=3",
        "accept ann bob", "reject ann bob", "finish ann.1",
    };
    struct fixture *f = *state;

    STORY(f, { "login ann", "ok idle" }, { "apply bob", "ok room ann" });
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        command(f, "%s token=9007199254740990", verbs[i]);
        assert_int_equal(f->r.status, USHER_LOST);
        assert_string_equal(f->r.message, "the token was issued by a history that the store has lost");
    }
    STORY(f, { "where bob", "ok room ann" });
}

TEST(a_request_with_a_token_gets_its_answer_again)
{
    struct fixture *f = *state;
    uint64_t one, two;

    STORY(f, { "login ann session=a req=r1", "ok idle" });
    one = login_token(f);
    STORY(f, { "login ann session=b req=r2", "ok idle" });
    two = login_token(f);
    STORY(f, { "login ann session=a req=r1", "ok idle" }); /* a late repeat takes nothing over */
    assert_true(f->r.repeated);
    assert_int_equal(login_token(f), one);
    STORY(f, { "login ann session=c req=r1", "invalid" }, { "room ann", "ok idle -" });
    assert_int_equal(login_token(f), two);
    STORY(f, { "apply bob req=r3", "ok room ann" }, { "apply bob req=r3", "ok room ann" });
    assert_true(f->r.repeated);
    says(f, "ok bob ann", "leave bob req=r4 token=%" PRIu64, visit_token(f));
    says(f, "invalid", "leave bob req=r4 token=%" PRIu64, one);
}

TEST(a_session_is_there_after_opening_again)
{
    struct fixture *f = *state;
    uint64_t one, two;

    STORY(f, { "set ttl=0", "ok" }, { "login ann session=one lanes=b,a capacity=3", "ok idle" });
    one = login_token(f);
    STORY(f, { "apply u lane=a", "ok room ann" }, { "login ann session=two", "ok busy" });
    two = login_token(f);
    if (under_test.durable) {
        suite_close(&f->e);
        f->e = fixture_open(f);
    }
    STORY(f, { "apply v lane=b", "ok room ann" }, { "room ann", "ok busy u v -" },
          { "login ann session=two", "same busy" });
    assert_int_equal(login_token(f), two);
    says(f, "stale", "pause ann token=%" PRIu64, one);
    says(f, "ok pausing", "pause ann token=%" PRIu64, two);
}

/* clang-format on */
