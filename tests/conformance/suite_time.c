/* SPDX-License-Identifier: MIT */
/*
 * Requirements for every store: spec/README.md, "Time is an argument".  A wrong clock does no harm
 * to other clients, and a read moves no clock.
 */
#include "lib/test.h"

#include "conformance/fixture.h"
#include "nouns/room/room_directory.h"
#include "lib/calls.h"
#include "lib/util.h"
#include "change/request_cache.h"

#define YEAR_9999 "253402300799999"
#define BATCH 40

static void engine_open(struct fixture *f, const char *more, bool own_clock)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[BACKEND_URL_MAX + 64];

    suite_close(&f->e);
    opt.timeout_ms = 60000;
    opt.drivers = under_test.drivers;
    opt.now_ms = own_clock ? clock_of : NULL;
    opt.payload = &f->now;
    (void)snprintf(url, sizeof url, "%s%s%s", f->url,
                   more[0] == '\0'               ? ""
                   : strchr(f->url, '?') != NULL ? "&"
                                                 : "?",
                   more);
    if (usher_open(url, &opt, &f->e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
}

static int set_up(void **state)
{
    struct fixture *f;

    (void)fixture_begin(state, 0, NULL, NULL);
    f = *state;
    f->now = 0;
    engine_open(f, "", false);
    return 0;
}

TEST_EACH(set_up, fixture_end);

/* @line is done, with a reply for the caller to look at and to give back. */
static enum usher_status line_to(struct fixture *f, enum usher_noun noun, const char *line,
                                 struct usher_result *r)
{
    struct said s;

    said_line(&s, noun, line);
    assert_int_equal(usher_operate(f->e, &s.c, r, 1), USHER_OK);
    return r->status;
}

static enum usher_status done(struct fixture *f, enum usher_noun noun, const char *line)
{
    struct usher_result r;
    enum usher_status status = line_to(f, noun, line, &r);

    usher_result_done(&r);
    return status;
}

static void is_refused(struct fixture *f, enum usher_noun noun, const char *line)
{
    struct usher_result r;

    assert_int_equal(line_to(f, noun, line, &r), USHER_INVALID);
    assert_non_null(strstr(r.message, "now is "));
    assert_non_null(strstr(r.message, "ahead of the store's clock and may be"));
    usher_result_done(&r);
}

/* The digest holds the clock, the version and all deadlines. */
static void nothing_moves(struct fixture *f, enum usher_noun noun, const char *scope,
                          const char *const *lines)
{
    char before[33], after[33];

    assert_int_equal(usher_digest(f->e, noun, scope, before), USHER_OK);
    for (; *lines != NULL; lines++)
        is_refused(f, noun, *lines);
    assert_int_equal(usher_digest(f->e, noun, scope, after), USHER_OK);
    assert_string_equal(before, after);
}

TEST(queue_continues_after_a_time_in_the_year_9999)
{
    static const char *const wrong[] = { "alive q user=v now=" YEAR_9999,
                                         "where q u now=" YEAR_9999,
                                         "stats q now=" YEAR_9999,
                                         "apply q w now=" YEAR_9999,
                                         "sweep q now=" YEAR_9999,
                                         "login q b now=" YEAR_9999,
                                         NULL };
    struct fixture *f = *state;
    struct usher_queue_result_statistics stats;

    assert_int_equal(done(f, USHER_QUEUE, "login q a"), USHER_OK);
    assert_int_equal(done(f, USHER_QUEUE, "apply q u"), USHER_OK);
    assert_int_equal(done(f, USHER_QUEUE, "apply q v"), USHER_OK);
    nothing_moves(f, USHER_QUEUE, "q", wrong);
    assert_int_equal(done(f, USHER_QUEUE, "login q b"), USHER_OK);
    assert_int_equal(ask_queue_stats(f->e, "q", NULL, &stats), USHER_OK);
    assert_int_equal(stats.seated, 2);
    assert_int_equal(stats.agents, 2);
}

TEST(leases_end_in_time_after_a_time_in_the_year_9999)
{
    static const char *const wrong[] = { "add p 2 now=" YEAR_9999, "call p owner=c now=" YEAR_9999,
                                         "show p 1 now=" YEAR_9999, "sweep p now=" YEAR_9999,
                                         NULL };
    struct fixture *f = *state;
    struct ask_number_hold hold;
    struct ask_number_call_options call = { 0 };

    assert_int_equal(done(f, USHER_NUMBER, "add p 1"), USHER_OK);
    assert_int_equal(done(f, USHER_NUMBER, "reg p 1"), USHER_OK);
    nothing_moves(f, USHER_NUMBER, "p", wrong);
    call.lease_ms = 60000;
    assert_int_equal(ask_number_call(f->e, "p", "c", &call, &hold), USHER_OK);
    assert_true(hold.until_ms < ((int64_t)time(NULL) + 3600) * 1000);
    is_refused(f, USHER_NUMBER, "add new 1 now=" YEAR_9999); /* a scope that is not there, too */
    assert_int_equal(done(f, USHER_NUMBER, "stats new"), USHER_MISSING);
}

TEST(every_noun_refuses_a_time_too_far_ahead)
{
    static const struct {
        enum usher_noun noun;
        const char *make, *line;
    } each[] = {
        { USHER_ROOM, "open r", "join r ann now=" YEAR_9999 },
        { USHER_SERIAL, "rule s prefix=A", "take s now=" YEAR_9999 },
        { USHER_ID, "create d", "next d now=" YEAR_9999 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        assert_int_equal(done(f, each[i].noun, each[i].make), USHER_OK);
        is_refused(f, each[i].noun, each[i].line);
    }
}

TEST(skew_limits_how_far_a_time_may_be_ahead)
{
    struct fixture *f = *state;
    int64_t now = (int64_t)time(NULL) * 1000;
    char line[128];

    /* A second by default; the other side of the limit leaves a slow machine enough time. */
    (void)snprintf(line, sizeof line, "add p 1 now=%lld", (long long)now);
    assert_int_equal(done(f, USHER_NUMBER, line), USHER_OK);
    (void)snprintf(line, sizeof line, "add p 2 now=%lld", (long long)now + 240000);
    is_refused(f, USHER_NUMBER, line);
    (void)snprintf(line, sizeof line, "add p 2 now=%lld", (long long)now + 3600000);
    is_refused(f, USHER_NUMBER, line);
    engine_open(f, "skew=7200000", false);
    assert_int_equal(done(f, USHER_NUMBER, line), USHER_OK);
    /* what the scope has seen cannot harm it any more */
    if (under_test.durable) {
        engine_open(f, "", false);
        assert_int_equal(done(f, USHER_NUMBER, line), USHER_SAME);
    }
    assert_int_equal(done(f, USHER_NUMBER, "add p 3"), USHER_OK);
}

/* @line with the time @now at its end. */
static enum usher_status at(struct fixture *f, enum usher_noun noun, int64_t now, const char *line,
                            struct usher_result *r)
{
    char text[160];

    (void)snprintf(text, sizeof text, "%s now=%lld", line, (long long)now);
    return line_to(f, noun, text, r);
}

static enum usher_status done_at(struct fixture *f, enum usher_noun noun, int64_t now,
                                 const char *line)
{
    struct usher_result r;
    enum usher_status status = at(f, noun, now, line, &r);

    usher_result_done(&r);
    return status;
}

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)

static int64_t store_clock(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Reads and writes an hour ahead, with leases and heartbeats of some minutes. */
TEST(clock_that_is_ahead_ends_no_heartbeat_early)
{
    struct fixture *f = *state;
    struct usher_result r;
    int64_t ahead;

    engine_open(f, "skew=7200000", false);
    ahead = store_clock() + HOUR;
    assert_int_equal(done(f, USHER_QUEUE, "set q ttl=600000 wrapup=600000"), USHER_OK);
    assert_int_equal(done(f, USHER_QUEUE, "login q ann"), USHER_OK);
    assert_int_equal(done(f, USHER_QUEUE, "apply q bob"), USHER_OK);
    assert_int_equal(done(f, USHER_QUEUE, "apply q kim"), USHER_OK);
    assert_int_equal(at(f, USHER_QUEUE, ahead, "stats q", &r), USHER_OK);
    assert_int_equal(r.of.queue.of.stats.agents, 1);
    assert_int_equal(r.of.queue.of.stats.waiting, 1);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_QUEUE, ahead, "apply q lou"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, ahead, "sweep q"), USHER_SAME);
    assert_int_equal(done(f, USHER_QUEUE, "alive q agent=ann"), USHER_OK);
    assert_int_equal(done(f, USHER_QUEUE, "where q kim"), USHER_OK);
    /* the wrap-up is counted by the store's clock, too */
    assert_int_equal(done_at(f, USHER_QUEUE, ahead, "leave q bob"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, ahead, "agents q"), USHER_OK);
    assert_int_equal(line_to(f, USHER_QUEUE, "agents q", &r), USHER_OK);
    assert_true(r.of.queue.rows[0].until_ms <= store_clock() + 600000);
    usher_result_done(&r);

    assert_int_equal(done(f, USHER_ROOM, "open r ttl=600000"), USHER_OK);
    assert_int_equal(done(f, USHER_ROOM, "join r ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, ahead, "snapshot r"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, ahead, "join r bob"), USHER_OK);
    assert_int_equal(at(f, USHER_ROOM, ahead, "alive r ann", &r), USHER_OK);
    assert_int_equal(r.of.room.member_state, USHER_ROOM_MEMBER_HERE);
    assert_true(r.of.room.until_ms <= store_clock() + 600000);
    usher_result_done(&r);
}

TEST(clock_that_is_ahead_ends_no_lease_early)
{
    struct fixture *f = *state;
    struct usher_result r;
    char line[96];
    int64_t ahead;

    engine_open(f, "skew=7200000", false);
    ahead = store_clock() + HOUR;
    assert_int_equal(done(f, USHER_NUMBER, "set p lease=600000 rest=600000"), USHER_OK);
    assert_int_equal(done(f, USHER_NUMBER, "add p 1"), USHER_OK);
    assert_int_equal(done(f, USHER_NUMBER, "reg p 1"), USHER_OK);
    assert_int_equal(line_to(f, USHER_NUMBER, "call p owner=a", &r), USHER_OK);
    (void)snprintf(line, sizeof line, "renew p 1 token=%llu lease=700000",
                   (unsigned long long)r.of.number.token);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_NUMBER, ahead, "call p owner=b"), USHER_EMPTY);
    assert_int_equal(done_at(f, USHER_NUMBER, ahead, "sweep p"), USHER_SAME);
    assert_int_equal(at(f, USHER_NUMBER, ahead, line, &r), USHER_OK);
    assert_true(r.of.number.until_ms <= store_clock() + 700000);
    usher_result_done(&r);
    assert_int_equal(at(f, USHER_NUMBER, ahead, "hangup p 1", &r), USHER_OK);
    assert_true(r.of.number.until_ms <= store_clock() + 600000); /* its rest */
    usher_result_done(&r);

    assert_int_equal(done(f, USHER_SERIAL, "rule s mode=gapfree lease=600000"), USHER_OK);
    assert_int_equal(line_to(f, USHER_SERIAL, "reserve s owner=a", &r), USHER_OK);
    (void)snprintf(line, sizeof line, "confirm s 1 token=%llu",
                   (unsigned long long)r.of.serial.rows[0].token);
    usher_result_done(&r);
    assert_int_equal(at(f, USHER_SERIAL, ahead, "reserve s owner=b", &r), USHER_OK);
    assert_true(r.of.serial.rows[0].until_ms <= store_clock() + 600000);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_SERIAL, ahead, line), USHER_OK);
}

/* A machine's clock that was a day ahead for one command. */
TEST(clock_that_is_set_back_freezes_no_lease)
{
    struct fixture *f = *state;
    struct usher_result r;
    const int64_t t = INT64_C(1700000000000);

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "add p 1"), USHER_OK);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "add p 2"), USHER_OK);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "reg p 1"), USHER_OK);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "reg p 2"), USHER_OK);
    assert_int_equal(done_at(f, USHER_NUMBER, t + DAY, "call p owner=x lease=2000"), USHER_OK);
    assert_int_equal(at(f, USHER_NUMBER, t, "call p owner=y lease=1000", &r), USHER_OK);
    assert_int_equal(r.of.number.until_ms, t + 1000);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_NUMBER, t + 999, "call p owner=z"), USHER_EMPTY);
    assert_int_equal(done_at(f, USHER_NUMBER, t + 1000, "call p owner=z"), USHER_OK);

    assert_int_equal(done_at(f, USHER_QUEUE, t, "set q ttl=1000"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + DAY, "login q eve"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "login q ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 999, "alive q agent=ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 1999, "alive q agent=ann"), USHER_MISSING);

    assert_int_equal(done_at(f, USHER_ROOM, t + DAY, "open r ttl=1000"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, t + DAY, "join r eve"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, t, "alive r eve"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, t + 1000, "alive r eve"), USHER_MISSING);

    assert_int_equal(done_at(f, USHER_SERIAL, t, "rule s mode=gapfree lease=1000"), USHER_OK);
    assert_int_equal(done_at(f, USHER_SERIAL, t + DAY, "reserve s owner=a"), USHER_OK);
    assert_int_equal(done_at(f, USHER_SERIAL, t, "reserve s owner=b"), USHER_OK);
    assert_int_equal(at(f, USHER_SERIAL, t + 1000, "reserve s owner=c", &r), USHER_OK);
    assert_int_equal(r.of.serial.rows[0].first, 2);
    usher_result_done(&r);
}

/* The last notice of the changes asked for.  Its texts are in @r, which the caller gives back. */
static struct usher_notice last_notice(struct fixture *f, enum usher_noun noun, const char *changes,
                                       struct usher_result *r)
{
    struct usher_notice n;
    const struct usher_text *packed;
    char line[64];
    struct usher_unpacker u;

    (void)snprintf(line, sizeof line, "changes %s", changes);
    assert_int_equal(line_to(f, noun, line, r), USHER_OK);
    packed = noun == USHER_ROOM     ? &r->of.room.rows[r->of.room.n_rows - 1].value
             : noun == USHER_NUMBER ? &r->of.number.rows[r->of.number.n_rows - 1].value
                                    : &r->of.queue.rows[r->of.queue.n_rows - 1].value;
    u = (struct usher_unpacker){ (const unsigned char *)packed->data,
                                 (const unsigned char *)packed->data + packed->size };
    memset(&n, 0, sizeof n);
    assert_true(usher__notice_unpack(&u, &n));
    return n;
}

/* The last notice of the changes asked for is an outage between @from and @to. */
static void outage_is(struct fixture *f, enum usher_noun noun, const char *changes, int64_t from,
                      int64_t to)
{
    struct usher_result r;
    struct usher_notice n = last_notice(f, noun, changes, &r);
    char want[64];
    struct usher_text name, value;
    struct usher_unpacker u;
    size_t fields;

    assert_string_equal(usher_verb_word(n.verb), "outage");
    u = (struct usher_unpacker){ (const unsigned char *)n.data.data,
                                 (const unsigned char *)n.data.data + n.data.size };
    assert_true(usher_unpack_array(&u, &fields));
    assert_int_equal(fields, 4);
    for (int i = 0; i < 2; i++) {
        assert_true(usher_unpack_text(&u, &name) && usher_unpack_text(&u, &value));
        assert_memory_equal(name.data, i == 0 ? "from" : "to", name.size);
        (void)snprintf(want, sizeof want, "%lld", (long long)(i == 0 ? from : to));
        assert_int_equal(value.size, strlen(want));
        assert_memory_equal(value.data, want, value.size);
    }
    usher_result_done(&r);
}

/* With default settings: agents and users have 15 s, and no command comes for 20 s. */
TEST(store_that_was_away_ends_no_heartbeat)
{
    struct fixture *f = *state;
    struct usher_result r;
    const int64_t t = INT64_C(1700000000000), back = t + 20000;

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "set q log=100"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "login q ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "login q eve"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "apply q bob"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "apply q joe"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "apply q kim"), USHER_OK);
    assert_int_equal(at(f, USHER_QUEUE, back, "where q kim", &r), USHER_OK); /* a read, too */
    assert_int_equal(r.of.queue.index, 0);
    usher_result_done(&r);
    outage_is(f, USHER_QUEUE, "q", t, back);
    assert_int_equal(done_at(f, USHER_QUEUE, back, "alive q user=kim"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, back + 5000, "alive q agent=ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, back + 5000, "alive q user=bob"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, back + 5000, "alive q user=joe"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, back + 14999, "alive q user=kim"), USHER_OK);
    assert_int_equal(at(f, USHER_QUEUE, back + 14999, "stats q", &r), USHER_OK);
    assert_int_equal(r.of.queue.of.stats.agents, 2);
    usher_result_done(&r);
    /* once: eve has not reported since then */
    assert_int_equal(done_at(f, USHER_QUEUE, back + 15000, "alive q agent=eve"), USHER_MISSING);
    assert_int_equal(done_at(f, USHER_QUEUE, back + 15000, "where q joe"), USHER_OK);

    assert_int_equal(done_at(f, USHER_ROOM, t, "open r ttl=15000 log=100"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, t, "join r ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, t, "join r eve"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, t + 1000, "alive r ann"), USHER_OK);
    assert_int_equal(at(f, USHER_ROOM, back, "show r", &r), USHER_OK); /* a read writes nothing */
    assert_int_equal(r.of.room.members, 2);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_ROOM, back, "alive r ann"), USHER_OK);
    outage_is(f, USHER_ROOM, "r", t + 1000, back);
    assert_int_equal(done_at(f, USHER_ROOM, back + 14999, "alive r ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_ROOM, back + 15000, "alive r eve"), USHER_MISSING);
}

/* All who were there during an outage get the same deadline.  Those who came later are still seen
 * in the next outage. */
TEST(many_that_end_hide_no_outage)
{
    enum { MANY = 100 }; /* more than one step looks at */
    struct fixture *f = *state;
    struct usher_result r;
    const int64_t t = INT64_C(1700000000000), back = t + 20000, again = t + 45000;
    char line[64];

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "set q log=10000"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "login q ann"), USHER_OK);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(line, sizeof line, "apply q u%d", i);
        assert_int_equal(done_at(f, USHER_QUEUE, t, line), USHER_OK);
    }
    assert_int_equal(done_at(f, USHER_QUEUE, back, "alive q agent=ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, back + 5000, "apply q bob"), USHER_OK);
    assert_int_equal(at(f, USHER_QUEUE, back + 5000, "apply q eve", &r), USHER_OK);
    (void)snprintf(line, sizeof line, "q since=%" PRIu64 " max=1", r.version);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_QUEUE, again, "where q u1"), USHER_MISSING);
    outage_is(f, USHER_QUEUE, line, t + 35000, again); /* it comes before the first end */
    assert_int_equal(done_at(f, USHER_QUEUE, again, "alive q user=bob"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, again, "alive q user=eve"), USHER_OK);
}

/* How many numbers of pool p are held at the time @t. */
static int64_t held_at(struct fixture *f, int64_t t)
{
    struct usher_result r;
    int64_t n;

    assert_int_equal(at(f, USHER_NUMBER, t, "stats p", &r), USHER_OK);
    n = r.of.number.of.stats.busy_up;
    usher_result_done(&r);
    return n;
}

TEST(lease_that_ends_in_an_outage_continues)
{
    struct fixture *f = *state;
    struct usher_result r;
    const int64_t t = INT64_C(1700000000000), back = t + 60000;
    char line[64], renew[64];

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "set p outage=20000 lease=30000 log=100"),
                     USHER_OK);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(line, sizeof line, "add p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
    }
    assert_int_equal(done_at(f, USHER_NUMBER, t, "call p owner=ann number=n0"), USHER_OK);
    assert_int_equal(at(f, USHER_NUMBER, t, "call p owner=bob number=n1", &r), USHER_OK);
    (void)snprintf(renew, sizeof renew, "renew p n1 token=%" PRIu64, r.of.number.token);
    usher_result_done(&r);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "call p owner=cid number=n2 lease=50000"),
                     USHER_OK);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "call p owner=dan number=n3 lease=0"), USHER_OK);

    /* a read shows it and writes nothing */
    assert_int_equal(at(f, USHER_NUMBER, back, "show p n2", &r), USHER_OK);
    assert_int_equal(r.of.number.until_ms, back + 20000);
    usher_result_done(&r);
    assert_int_equal(held_at(f, back), 4);
    assert_int_equal(at(f, USHER_NUMBER, back, "sweep p", &r), USHER_OK);
    assert_int_equal(r.of.number.count, 0);
    assert_int_equal(r.due_ms, back + 20000);
    usher_result_done(&r);
    outage_is(f, USHER_NUMBER, "p", t, back);
    assert_int_equal(done_at(f, USHER_NUMBER, back, "sweep p"), USHER_SAME);

    /* a clock that is set back: a lease that would end in the outage is moved as the others are */
    assert_int_equal(at(f, USHER_NUMBER, back - 40000, renew, &r), USHER_OK);
    assert_int_equal(r.of.number.until_ms, back + 20000);
    usher_result_done(&r);
    assert_int_equal(last_notice(f, USHER_NUMBER, "p", &r).until_ms, back + 20000);
    usher_result_done(&r);

    /* a holder reports, the others do not: once is enough */
    assert_int_equal(done_at(f, USHER_NUMBER, back + 15000, renew), USHER_OK);
    assert_int_equal(held_at(f, back + 19999), 4);
    assert_int_equal(held_at(f, back + 20000), 2);
    assert_int_equal(at(f, USHER_NUMBER, back + 20000, "sweep p", &r), USHER_OK);
    assert_int_equal(r.of.number.count, 2);
    usher_result_done(&r);

    /* one lease alone is no outage, and without the setting none is */
    assert_int_equal(held_at(f, back + 90000), 1);
    assert_int_equal(done_at(f, USHER_NUMBER, back + 90000, "call p owner=ann number=n0"),
                     USHER_OK);
    assert_int_equal(done_at(f, USHER_NUMBER, back + 90000, "call p owner=cid number=n2"),
                     USHER_OK);
    assert_int_equal(held_at(f, back + 150000), 3);
    assert_int_equal(done_at(f, USHER_NUMBER, back + 90000, "set p outage=0"), USHER_OK);
    assert_int_equal(held_at(f, back + 150000), 1);
}

/* More than one command puts off; a hold that `lease-max` ends is over all the same. */
TEST(an_outage_moves_hundreds_of_leases)
{
    enum { MANY = 250 };
    struct fixture *f = *state;
    const int64_t t = INT64_C(1700000000000), back = t + 60000;
    char line[64];

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "set p outage=20000 lease=30000 lease-max=70000"),
                     USHER_OK);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(line, sizeof line, "add p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "call p owner=u%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
    }
    assert_int_equal(held_at(f, back), MANY);
    /* no number is handed out again, though most leases are still to be moved */
    assert_int_equal(done_at(f, USHER_NUMBER, back, "call p owner=eve"), USHER_EMPTY);
    assert_int_equal(done_at(f, USHER_NUMBER, back + 9999, "call p owner=eve"), USHER_EMPTY);
    assert_int_equal(held_at(f, back + 9999), MANY);
    assert_int_equal(held_at(f, back + 10000), 0); /* by `lease-max` */
    assert_int_equal(done_at(f, USHER_NUMBER, back + 10000, "call p owner=eve"), USHER_OK);
}

/* More rests than a command looks at end before the leases; then the store is away again. */
TEST(rests_hide_no_outage)
{
    enum { MANY = 262, CALLS = 2 };
    struct fixture *f = *state;
    const int64_t t = INT64_C(1700000000000), back = t + 60000, again = t + 120000;
    uint64_t token[MANY];
    struct usher_result r;
    char line[64];

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "set p outage=20000 lease=30000 rest=5000"),
                     USHER_OK);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(line, sizeof line, "add p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "call p number=n%d owner=u%d", i, i);
        assert_int_equal(at(f, USHER_NUMBER, t, line, &r), USHER_OK);
        token[i] = r.of.number.token;
        usher_result_done(&r);
        (void)snprintf(line, sizeof line, "hangup p n%d", i);
        if (i >= CALLS)
            assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
    }
    assert_int_equal(held_at(f, back), CALLS);
    assert_int_equal(done_at(f, USHER_NUMBER, back, "call p number=n0 owner=eve"), USHER_REFUSED);
    assert_int_equal(held_at(f, back + 19999), CALLS);
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(line, sizeof line, "renew p n%d token=%" PRIu64, i, token[i]);
        assert_int_equal(done_at(f, USHER_NUMBER, back + 1, line), USHER_OK);
    }
    /* the second outage moves both once more, to its own end */
    assert_int_equal(done_at(f, USHER_NUMBER, again, "call p number=n1 owner=eve"), USHER_REFUSED);
    assert_int_equal(held_at(f, again + 19999), CALLS);
    assert_int_equal(held_at(f, again + 20000), 0);
}

/* More commands than one call of Redis has, and more leases that ended than one command applies:
 * the later calls know by the given times that the first one left some. */
TEST(a_long_batch_with_given_times_keeps_its_order)
{
    enum { N = 200 };
    static struct said said[N];
    static struct usher_operation c[N];
    static struct usher_result r[N];
    struct fixture *f = *state;
    const int64_t t = INT64_C(1700000000000);
    char line[64];

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_NUMBER, t, "set p lease=1000"), USHER_OK);
    for (int i = 0; i < N; i++) {
        (void)snprintf(line, sizeof line, "add p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg p n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        assert_int_equal(done_at(f, USHER_NUMBER, t, "call p"), USHER_OK);
    }
    for (int i = 0; i < N; i++) {
        (void)snprintf(line, sizeof line, "call p owner=o%d now=%" PRId64, i, t + 1000);
        said_line(&said[i], USHER_NUMBER, line);
        c[i] = said[i].c;
    }
    assert_int_equal(usher_operate(f->e, c, r, N), USHER_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(r[i].status, USHER_OK);
        usher_result_done(&r[i]);
    }
}

/* A sweep is a bounded step, whatever it is asked for. */
TEST(a_sweep_makes_sixty_four_changes)
{
    enum { MANY = 100, MOST = 64 };
    static const struct {
        enum usher_noun noun;
        const char *first, *each, *sweep;
    } of[] = {
        { USHER_NUMBER, "set s lease=1000", "call s owner=u", "sweep s max=10000" },
        { USHER_QUEUE, "set s ttl=0 maxwait=1000", "apply s u", "sweep s max=10000" },
        { USHER_ROOM, "open s ttl=1000", "join s u", "sweep s max=10000" },
        { USHER_SERIAL, "rule s mode=gapfree lease=1000", "reserve s owner=u", "sweep s n=10000" },
    };
    struct fixture *f = *state;
    const int64_t t = INT64_C(1700000000000), end = t + 1000;
    struct usher_result r;
    char line[64];

    engine_open(f, "clock=given", false);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(line, sizeof line, "add s n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg s n%d", i);
        assert_int_equal(done_at(f, USHER_NUMBER, t, line), USHER_OK);
    }
    assert_int_equal(done_at(f, USHER_QUEUE, t, "login s ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "pause s ann"), USHER_OK);
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        int64_t count[2];
        bool more[2];

        assert_int_equal(done_at(f, of[k].noun, t, of[k].first), USHER_OK);
        for (int i = 0; i < MANY; i++) {
            (void)snprintf(line, sizeof line, "%s%d", of[k].each, i);
            assert_int_equal(done_at(f, of[k].noun, t, line), USHER_OK);
        }
        if (of[k].noun == USHER_ROOM) /* the silence is no outage */
            assert_int_equal(done_at(f, USHER_ROOM, end - 1, "set s topic x"), USHER_OK);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(at(f, of[k].noun, end, of[k].sweep, &r), USHER_OK);
            count[i] = of[k].noun == USHER_NUMBER  ? (int64_t)r.of.number.count
                       : of[k].noun == USHER_QUEUE ? (int64_t)r.of.queue.count
                       : of[k].noun == USHER_ROOM  ? (int64_t)r.of.room.count
                                                   : (int64_t)r.of.serial.count;
            more[i] = of[k].noun == USHER_NUMBER  ? r.of.number.more
                      : of[k].noun == USHER_QUEUE ? r.of.queue.more
                      : of[k].noun == USHER_ROOM  ? r.of.room.more
                                                  : r.of.serial.more;
            usher_result_done(&r);
        }
        assert_int_equal(count[0], MOST);
        assert_int_equal(count[1], MANY - MOST);
        assert_true(more[0] && !more[1]);
    }
}

/* The silence of one, or of few in a queue that others use, is theirs. */
TEST(silence_of_clients_is_no_outage)
{
    struct fixture *f = *state;
    const int64_t t = INT64_C(1700000000000);

    engine_open(f, "clock=given", false);
    assert_int_equal(done_at(f, USHER_QUEUE, t, "login q ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 20000, "alive q agent=ann"), USHER_MISSING);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 20000, "login q ann"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 20000, "login q eve"), USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 20000, "login q joe"), USHER_OK);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(done_at(f, USHER_QUEUE, t + 20000 + i * 5000, "alive q agent=joe"),
                         USHER_OK);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 40000, "alive q agent=ann"), USHER_MISSING);
    assert_int_equal(done_at(f, USHER_QUEUE, t + 40000, "alive q agent=eve"), USHER_MISSING);
}

TEST(wrong_clock_of_an_application_is_reported)
{
    struct fixture *f = *state;
    struct usher_number_result_statistics stats;

    f->now = ((int64_t)time(NULL) + 86400) * 1000; /* a day ahead */
    engine_open(f, "", true);
    assert_int_equal(ask_number_add(f->e, "p", "1", NULL), USHER_INVALID);
    assert_non_null(strstr(usher_message(), "ahead of the store's clock"));
    assert_int_equal(ask_number_stats(f->e, "p", &stats), USHER_INVALID);
    f->now -= INT64_C(86400000);
    assert_int_equal(ask_number_add(f->e, "p", "1", NULL), USHER_OK);
    f->now -= INT64_C(86400000) * 365; /* a year back: the scope's time does not go back */
    assert_int_equal(ask_number_reg(f->e, "p", "1"), USHER_OK);
}

/* A check asks the store once more for a room that is in the index alone. */
TEST(check_needs_no_right_clock)
{
    struct fixture *f = *state;
    struct usher_text r = text("r");
    struct usher_check_result found;
    char part[USHER__ROOM_PARTITION], line[64];

    usher__room_partition(&r, part);
    (void)snprintf(line, sizeof line, "put %s r created=1", part);
    f->now = (int64_t)time(NULL) * 1000;
    engine_open(f, "", true);
    assert_int_equal(done(f, USHER_ROOMS, line), USHER_OK);
    f->now += INT64_C(86400000);
    assert_int_equal(done(f, USHER_ROOM, "show r"), USHER_INVALID);
    assert_int_equal(usher_check(f->e, NULL, NULL, NULL, &found), USHER_OK);
    assert_int_equal(found.faults, 1);
    f->now -= INT64_C(86400000);
    assert_int_equal(usher_check(f->e, &repairing, NULL, NULL, &found), USHER_OK);
    assert_int_equal(found.repaired, 1);
}

TEST(virtual_time_may_be_any)
{
    struct fixture *f = *state;
    struct usher_engine *e = NULL;
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[BACKEND_URL_MAX + 64];

    engine_open(f, "clock=given", false);
    assert_int_equal(done(f, USHER_NUMBER, "add p 1 now=" YEAR_9999), USHER_OK);
    engine_open(f, "clock=store", false);
    is_refused(f, USHER_NUMBER, "add q 1 now=" YEAR_9999);
    opt.drivers = under_test.drivers;
    for (int i = 0; i < 3; i++) {
        (void)snprintf(url, sizeof url, "%s%c%s", f->url, strchr(f->url, '?') != NULL ? '&' : '?',
                       (const char *const[]){ "clock=mine", "skew=0", "skew=1s" }[i]);
        assert_int_equal(usher_open(url, &opt, &e), USHER_INVALID);
        assert_non_null(strstr(usher_message(), i == 0 ? "clock is not" : "skew is not"));
    }
}

/* Calls and hangups that share a transaction, or a script's call, with those of a wrong clock. */
TEST(wrong_clock_in_a_batch_fails_only_its_own_command)
{
    struct fixture *f = *state;
    struct usher_operation c[BATCH];
    struct usher_result r[BATCH];
    char names[BATCH][32], line[64];
    int64_t now = (int64_t)time(NULL) * 1000;

    for (int i = 0; i < BATCH; i++) {
        (void)snprintf(line, sizeof line, "add p n%d", i);
        assert_int_equal(done(f, USHER_NUMBER, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg p n%d", i);
        assert_int_equal(done(f, USHER_NUMBER, line), USHER_OK);
    }
    memset(c, 0, sizeof c);
    for (int i = 0; i < BATCH; i++) {
        (void)snprintf(names[i], sizeof names[i], "o%d", i);
        c[i].verb = USHER_NUMBER_CALL;
        c[i].scope = text("p");
        c[i].arg.number.owner = text(names[i]);
        c[i].given = USHER_GIVEN_NOW;
        c[i].now_ms = i % 3 == 1 ? now + INT64_C(86400000) : now;
    }
    assert_int_equal(usher_operate(f->e, c, r, BATCH), USHER_OK);
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(r[i].status, i % 3 == 1 ? USHER_INVALID : USHER_OK);
        c[i].verb = USHER_NUMBER_HANGUP;
        memset(&c[i].arg, 0, sizeof c[i].arg);
        (void)snprintf(names[i], sizeof names[i], "%s", i % 3 == 1 ? "n0" : r[i].of.number.number);
        c[i].arg.number.number = text(names[i]);
        usher_result_done(&r[i]);
    }
    assert_int_equal(usher_operate(f->e, c, r, BATCH), USHER_OK);
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(r[i].status, i % 3 == 1 ? USHER_INVALID : USHER_OK);
        usher_result_done(&r[i]);
    }
}

TEST(a_read_of_a_room_does_not_move_its_clock)
{
    struct fixture *f = *state;
    struct usher_result r;

    engine_open(f, "clock=given", false);
    assert_int_equal(done(f, USHER_ROOM, "open r ttl=1000 now=1000"), USHER_OK);
    assert_int_equal(done(f, USHER_ROOM, "join r ann now=2000"), USHER_OK);
    assert_int_equal(done(f, USHER_ROOM, "snapshot r now=" YEAR_9999), USHER_OK);
    /* ann's time ended at 3000, which the room has seen now, and no later one */
    assert_int_equal(done(f, USHER_ROOM, "join r bob now=3500"), USHER_OK);
    assert_int_equal(line_to(f, USHER_ROOM, "snapshot r now=4499", &r), USHER_OK);
    assert_int_equal(r.of.room.members, 1);
    usher_result_done(&r);
    assert_int_equal(line_to(f, USHER_ROOM, "snapshot r now=4500", &r), USHER_OK);
    assert_int_equal(r.of.room.members, 0);
    usher_result_done(&r);
}

/* ---- when something ends by itself -------------------------------------------------------------
 */

#define NONE USHER_NEVER

TEST(reply_has_the_time_of_the_next_expiry)
{
    static const struct {
        enum usher_noun noun;
        const char *line;
        enum usher_status status;
        int64_t due_ms;
    } steps[] = {
        { USHER_NUMBER, "set p lease=500 rest=100 now=1000", USHER_OK, NONE },
        { USHER_NUMBER, "add p 1 now=1000", USHER_OK, NONE },
        { USHER_NUMBER, "reg p 1 now=1000", USHER_OK, NONE },
        { USHER_NUMBER, "call p owner=ann now=2000", USHER_OK, 2500 },
        { USHER_NUMBER, "call p owner=bob now=2000", USHER_EMPTY, 2500 },
        { USHER_NUMBER, "stats p now=2100", USHER_OK, 2500 },
        { USHER_NUMBER, "renew p 1 token=4 lease=900 req=r now=2200", USHER_OK, 2500 },
        /* it was renewed since: nothing ended, and when something will is known again */
        { USHER_NUMBER, "sweep p now=2500", USHER_SAME, 3100 },
        { USHER_NUMBER, "stats p now=2500", USHER_OK, 3100 },
        { USHER_NUMBER, "renew p 1 token=4 lease=900 req=r now=2500", USHER_OK, 3100 },
        { USHER_NUMBER, "sweep p now=3100", USHER_OK, 3200 }, /* it rests */
        { USHER_NUMBER, "sweep p now=3200", USHER_OK, NONE },
        { USHER_NUMBER, "show p 1 now=3200", USHER_OK, NONE },
        { USHER_NUMBER, "call p owner=ann now=4000", USHER_OK, 4500 },
        { USHER_NUMBER, "hangup p 1 rest=0 now=4100", USHER_OK, 4500 },
        { USHER_NUMBER, "stats p now=9000", USHER_OK, 4500 }, /* a read stores nothing */
        { USHER_NUMBER, "unreg p 1 now=9000", USHER_OK, NONE },
        { USHER_NUMBER, "stats nobody now=9000", USHER_MISSING, NONE },
        /* the next caller is seated in time, without any command */
        { USHER_QUEUE, "set q ttl=0 wrapup=500 trigger=auto now=1000", USHER_OK, NONE },
        { USHER_QUEUE, "login q ann now=1000", USHER_OK, NONE },
        { USHER_QUEUE, "apply q u now=1000", USHER_OK, NONE },
        { USHER_QUEUE, "apply q v now=1000", USHER_OK, NONE },
        { USHER_QUEUE, "leave q u now=2000", USHER_OK, 2500 },
        { USHER_QUEUE, "sweep q now=2500", USHER_OK, NONE },
        { USHER_QUEUE, "where q v now=2600", USHER_OK, NONE },
        { USHER_ROOM, "open r linger=1000 ttl=300 now=1000", USHER_OK, 2000 },
        { USHER_ROOM, "join r ann now=1500", USHER_OK, 1800 },
        { USHER_ROOM, "alive r ann now=1700", USHER_OK, 1800 },
        { USHER_ROOM, "sweep r now=1800", USHER_SAME, 2000 },
        { USHER_ROOM, "sweep r now=2000", USHER_OK, 3000 },
        { USHER_ROOM, "sweep r now=3000", USHER_OK, NONE }, /* there is no room any more */
        { USHER_SERIAL, "rule s prefix=A mode=gapfree now=1000", USHER_OK, NONE },
        { USHER_SERIAL, "reserve s owner=ann lease=700 now=1000", USHER_OK, 1700 },
        { USHER_SERIAL, "sweep s now=1700", USHER_OK, NONE },
        { USHER_ID, "create d now=1000", USHER_OK, NONE },
        { USHER_ID, "next d now=1000", USHER_OK, NONE },
    };
    struct fixture *f = *state;

    engine_open(f, "clock=given", false);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct usher_result r;

        (void)line_to(f, steps[i].noun, steps[i].line, &r);
        if (r.status != steps[i].status || r.due_ms != steps[i].due_ms)
            fail_msg("%s: %s (%s), due %lld, not %lld", steps[i].line, usher_status_word(r.status),
                     r.message, (long long)r.due_ms, (long long)steps[i].due_ms);
        usher_result_done(&r);
    }
}

/* Calls and hangups that share a script's call. */
TEST(each_reply_of_a_batch_has_its_next_due_time)
{
    static const char *const owners[3] = { "ann", "bob", "cid" };
    static const int64_t leases[3] = { 900, 500, 700 }, due[3] = { 2900, 2500, 2500 };
    struct fixture *f = *state;
    struct usher_operation c[3];
    struct usher_result r[3];

    engine_open(f, "clock=given", false);
    for (int i = 0; i < 3; i++) {
        char line[32];

        (void)snprintf(line, sizeof line, "add p %d now=1000", i);
        assert_int_equal(done(f, USHER_NUMBER, line), USHER_OK);
        (void)snprintf(line, sizeof line, "reg p %d now=1000", i);
        assert_int_equal(done(f, USHER_NUMBER, line), USHER_OK);
    }
    memset(c, 0, sizeof c);
    for (int i = 0; i < 3; i++) {
        c[i].verb = USHER_NUMBER_CALL;
        c[i].scope = text("p");
        c[i].arg.number.owner = text(owners[i]);
        c[i].arg.number.lease_ms = leases[i];
        c[i].given = USHER_GIVEN_NOW | USHER_GIVEN_LEASE;
        c[i].now_ms = 2000;
    }
    assert_int_equal(usher_operate(f->e, c, r, 3), USHER_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].status, USHER_OK);
        assert_true(r[i].due_ms == due[i]);
        usher_result_done(&r[i]);
        c[i].verb = USHER_NUMBER_HANGUP;
        memset(&c[i].arg, 0, sizeof c[i].arg);
        c[i].arg.number.number = text((const char *const[]){ "0", "1", "2" }[i]);
        c[i].given = USHER_GIVEN_NOW;
        c[i].now_ms = 2100;
    }
    assert_int_equal(usher_operate(f->e, c, r, 3), USHER_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].status, USHER_OK);
        assert_true(r[i].due_ms == 2500);
        usher_result_done(&r[i]);
    }
}

static void line_of_check(void *payload, const char *line)
{
    char *found = payload;

    (void)snprintf(found + strlen(found), 512 - strlen(found), "%s\n", line);
}

/* No fault, and not of a store with virtual time. */
TEST(check_names_a_scope_whose_time_is_ahead)
{
    struct fixture *f = *state;
    struct usher_check_result result;
    char found[512] = "";

    assert_int_equal(done(f, USHER_NUMBER, "add now 1"), USHER_OK);
    assert_int_equal(usher_check(f->e, NULL, line_of_check, found, &result), USHER_OK);
    assert_string_equal(found, "");
    engine_open(f, "skew=7200000", false);
    assert_int_equal(done_at(f, USHER_NUMBER, store_clock() + HOUR, "add later 1"), USHER_OK);
    assert_int_equal(usher_check(f->e, NULL, line_of_check, found, &result), USHER_OK);
    assert_int_equal(result.faults, 0);
    assert_memory_equal(found, "number/later: its last time is 3", 32);
    assert_non_null(strstr(found, " ms ahead of this machine's clock"));
    assert_null(strstr(found, "number/now"));
    found[0] = '\0';
    engine_open(f, "clock=given", true);
    f->now = 1;
    assert_int_equal(usher_check(f->e, NULL, line_of_check, found, &result), USHER_OK);
    assert_string_equal(found, "");
}

/* On the short ways as well, and of the kept answer of a request; a time that has passed is the
 * answer's, one that is still to come is not. */
TEST(an_answer_has_the_clock_that_due_is_by)
{
    static const struct {
        enum usher_noun noun;
        const char *line;
    } steps[] = {
        { USHER_NUMBER, "add p 1" },
        { USHER_NUMBER, "reg p 1" },
        { USHER_NUMBER, "call p owner=ann lease=60000" },
        { USHER_NUMBER, "hangup p 1" },
        { USHER_NUMBER, "call p owner=ann req=r1" },
        { USHER_NUMBER, "call p owner=ann req=r1" },
        { USHER_NUMBER, "stats p" },
        { USHER_NUMBER, "stats nowhere" },
        { USHER_SERIAL, "rule s prefix=A width=6" },
        { USHER_SERIAL, "fill s 9" },
        { USHER_SERIAL, "take s" },
        { USHER_ID, "create i" },
        { USHER_ID, "next i" },
        { USHER_ROOM, "open r ttl=60000" },
        { USHER_ROOM, "join r ann" },
        { USHER_ROOM, "alive r ann" },
        { USHER_QUEUE, "login q bob" },
        { USHER_QUEUE, "apply q lou" },
    };
    struct fixture *f = *state;
    struct usher_result r;

    for (int round = 0; round < 3; round++) {
        /* as it is; a minute ago; a minute ahead, which skew= allows */
        engine_open(f, round == 2 ? "skew=100000" : "", round != 0);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            int64_t before = store_clock(), after, back = 0;
            char line[120];

            if (round == 1)
                back = 60000;
            f->now = before - (round == 1 ? 60000 : -60000);
            (void)snprintf(line, sizeof line, "%s", steps[i].line);
            assert_true(line_to(f, steps[i].noun, line, &r) < USHER_INVALID);
            after = store_clock();
            if (r.now_ms < before - back || r.now_ms > after - back)
                fail_msg("round %d, %s: %lld is not from %lld to %lld", round, line,
                         (long long)r.now_ms, (long long)(before - back),
                         (long long)(after - back));
            usher_result_done(&r);
        }
    }
    assert_int_equal(line_to(f, USHER_NUMBER, "stats p now=" YEAR_9999, &r), USHER_INVALID);
    assert_int_equal(r.now_ms, 0);
    usher_result_done(&r);
    engine_open(f, "clock=given", true);
    f->now = 5;
    assert_true(line_to(f, USHER_NUMBER, "stats p", &r) < USHER_INVALID);
    assert_int_equal(r.now_ms, 5);
    usher_result_done(&r);
}
