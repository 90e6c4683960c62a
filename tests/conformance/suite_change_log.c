/* SPDX-License-Identifier: MIT */
/* Requirements for every store: the log of a scope and its followers.  Rooms have a log of their
 * own (suite_rooms.c). */
#include "lib/test.h"

#include "conformance/fixture.h"

#include <usher/command.h>

#include "core/changes.h"
#include "core/pack.h"
#include "core/text.h"
#include "lib/command_line.h"

static int set_up(void **state)
{
    return fixture_begin(state, 0, NULL, NULL);
}

TEST_EACH(set_up, fixture_end);

static void say(struct fixture *f, enum usher_status want, const char *line)
{
    usher_result_done(&f->r);
    if (line_execute(f->e, &f->r, "%s", line) != want)
        fail_msg("%s: %s (%s)", line, usher_status_word(f->r.status), f->r.message);
}

/* The notice with number @i of the last answer. */
static struct usher_notice notice(struct fixture *f, size_t i)
{
    static const struct usher_text scope = { "p", 1 };
    struct usher_text value = usher__changes_value(&f->r, i);
    struct usher_notice n;

    assert_int_equal(usher_notice_read(f->r.noun, &scope, f->r.epoch, &value, &n), USHER_OK);
    return n;
}

static size_t notices(struct fixture *f)
{
    struct usher__changes changes;

    usher__changes_of(&f->r, &changes);
    return changes.n;
}

/* ---- notices ------------------------------------------------------------------------------- */

/* A time that is not 0 goes into @to from the beginning of the test. */
static size_t put_time(char *to, size_t size, const char *name, int64_t at)
{
    return at != 0 ? (size_t)snprintf(to, size, " %s=+%lld", name, (long long)(at - MORNING)) : 0;
}

static const char *state_word(const struct usher_notice *n, unsigned state)
{
    switch (usher_notice_subject(n)) {
    case USHER_SUBJECT_NUMBER:
        return usher_number_state_word((enum usher_number_state)state);
    case USHER_SUBJECT_AGENT:
        return usher_queue_agent_state_word((enum usher_queue_agent_state)state);
    case USHER_SUBJECT_USER:
        return usher_queue_user_state_word((enum usher_queue_user_state)state);
    default:
        return "-";
    }
}

/* @n without scope, version and time. */
static void put_notice(char *to, size_t size, const struct usher_notice *n)
{
    struct usher_fields fields = usher__fields(&n->data);
    struct usher_text name, value;
    uint64_t version;
    size_t at = (size_t)snprintf(to, size, "%s", usher_verb_word(n->verb));

    if (n->subject.size != 0)
        at += (size_t)snprintf(to + at, size - at, " %.*s %s>%s", (int)n->subject.size,
                               n->subject.data, state_word(n, n->from), state_word(n, n->to));
    if (n->owner.size != 0)
        at +=
            (size_t)snprintf(to + at, size - at, " owner=%.*s", (int)n->owner.size, n->owner.data);
    if (n->token != 0)
        at += (size_t)snprintf(to + at, size - at, " token=%llu", (unsigned long long)n->token);
    at += put_time(to + at, size - at, "until", n->until_ms != USHER_NONE ? n->until_ms : 0);
    if (n->data.size != 0)
        at += (size_t)snprintf(to + at, size - at, " |");
    while (n->data.size != 0 && usher_fields_next(&fields, &name, &value, &version)) {
        char word[20];

        (void)snprintf(word, sizeof word, "%.*s", (int)name.size, name.data);
        if (value.size == strlen("1699956000000") && value.data[0] == '1')
            at += put_time(to + at, size - at, word, strtoll(value.data, NULL, 10));
        else
            at +=
                (size_t)snprintf(to + at, size - at, " %s=%.*s", word, (int)value.size, value.data);
    }
}

/* A command, at a time after the beginning, and the notices that it makes. */
struct step {
    int64_t at;
    const char *line, *notices[4];
};

static void walk(struct fixture *f, const char *noun, const struct step *steps)
{
    uint64_t since = 0;
    size_t wrong = 0;

    for (; steps->line != NULL; steps++) {
        char line[160], got[400];
        size_t n;

        f->now = MORNING + steps->at;
        (void)snprintf(line, sizeof line, "%s %s", noun, steps->line);
        say(f, USHER_OK, line);
        (void)snprintf(line, sizeof line, "%s changes p since=%llu", noun,
                       (unsigned long long)since);
        say(f, USHER_OK, line);
        n = notices(f);
        since = f->r.version;
        for (size_t i = 0; i < 4; i++) {
            const char *want = steps->notices[i] != NULL ? steps->notices[i] : "";

            got[0] = '\0';
            if (i < n) {
                struct usher_notice one = notice(f, i);

                put_notice(got, sizeof got, &one);
            }
            if (strcmp(got, want) != 0) {
                print_error("%s: notice %zu\n  is     %s\n  not    %s\n", steps->line, i + 1, got,
                            want);
                wrong++;
            }
        }
    }
    assert_int_equal(wrong, 0);
}

TEST(each_change_of_a_queue_has_a_whole_notice)
{
    static const struct step steps[] = {
        { 0,
          "set p log=200 offer=1000 wrapup=500 grace=300 maxwait=60000 ttl=20000 zone=-60",
          { "set | ttl=20000 offer=1000 wrapup=500 maxwait=60000 grace=300 zone=-60 log=200" } },
        { 0,
          "login p ann lanes=B,A level=3",
          { "login ann gone>idle token=2 | lanes=B,A capacity=1 level=3" } },
        { 0,
          "apply p u1 lane=A priority=5",
          { "apply u1 gone>waiting until=+60000 | lane=A priority=5 since=+0",
            "match u1 waiting>offered owner=ann token=4 until=+1000 | lane=A priority=5 since=+0 room=2.1 visit=4 agent_state=offered" } },
        { 100,
          "reject p ann u1",
          { "reject u1 offered>waiting owner=ann token=4 until=+60000 | lane=A priority=5 since=+0 room=2.1 visit=4 agent_state=idle" } },
        { 200,
          "move p u1 lane=B priority=7 since=1699956000000",
          { "move u1 waiting>waiting until=+60000 | lane=B priority=7 since=+0",
            "match u1 waiting>offered owner=ann token=7 until=+1200 | lane=B priority=7 since=+0 room=2.1 visit=7 agent_state=offered" } },
        { 1200,
          "sweep p",
          { "expire u1 offered>waiting owner=ann token=7 until=+60000 | lane=B priority=7 since=+0 room=2.1 visit=7 agent_state=idle" } }, /* the offer is missed */
        { 1300,
          "apply p u2 lane=A",
          { "apply u2 gone>waiting until=+61300 | lane=A priority=0 since=+1300",
            "match u2 waiting>offered owner=ann token=10 until=+2300 | lane=A priority=0 since=+1300 room=2.1 visit=10 agent_state=offered" } },
        { 1400,
          "accept p ann u2",
          { "accept u2 offered>seated owner=ann token=10 | lane=A priority=0 since=+1300 room=2.1 visit=10 agent_state=busy" } },
        { 1500, "pause p ann", { "pause ann busy>pausing token=10" } },
        { 1600,
          "leave p u2",
          { "leave u2 seated>gone owner=ann token=10 | lane=A outcome=seated room=2.1 visit=10 agent_state=paused" } },
        { 1700, "ready p ann", { "ready ann paused>idle token=10" } },
        { 1700, "leave p u1", { "leave u1 waiting>gone | lane=B outcome=left" } },
        { 1800,
          "apply p u3 lane=B",
          { "apply u3 gone>waiting until=+61800 | lane=B priority=0 since=+1800",
            "match u3 waiting>offered owner=ann token=17 until=+2800 | lane=B priority=0 since=+1800 room=2.1 visit=17 agent_state=offered" } },
        { 1900,
          "accept p ann u3",
          { "accept u3 offered>seated owner=ann token=17 | lane=B priority=0 since=+1800 room=2.1 visit=17 agent_state=busy" } },
        { 2000,
          "leave p u3",
          { "leave u3 seated>gone owner=ann token=17 | lane=B outcome=seated room=2.1 visit=17 agent_state=wrapup agent_until=+2500" } }, /* wrap-up begins */
        { 2500, "sweep p", { "expire ann wrapup>idle token=17" } }, /* and ends */
        { 2600, "set p offer=0 wrapup=0", { "set | offer=0 wrapup=0" } },
        { 2600,
          "apply p u4 lane=A",
          { "apply u4 gone>waiting until=+62600 | lane=A priority=0 since=+2600",
            "match u4 waiting>seated owner=ann token=23 | lane=A priority=0 since=+2600 room=2.1 visit=23 agent_state=busy" } },
        { 2700,
          "logout p ann",
          { "requeue u4 seated>waiting owner=ann token=23 until=+62700 | lane=A priority=0 since=+2600 outcome=requeued room=2.1 visit=23 agent_state=busy",
            "logout ann busy>gone token=23" } }, /* the user is requeued */
        { 2800,
          "login p bob capacity=2",
          { "login bob gone>idle token=26 | lanes=* capacity=2 level=0",
            "match u4 waiting>seated owner=bob token=27 | lane=A priority=0 since=+2600 room=26.1 visit=27 agent_state=busy" } },
        { 2900, "set p requeue=drop", { "set | requeue=2" } },
        { 2900,
          "logout p bob",
          { "requeue u4 seated>gone owner=bob token=27 | lane=A outcome=dropped room=26.1 visit=27 agent_state=busy",
            "logout bob busy>gone token=27" } }, /* the user is dropped */
        { 3000, "login p cat", { "login cat gone>idle token=31 | lanes=* capacity=1 level=0" } },
        { 3000,
          "apply p u5",
          { "apply u5 gone>waiting until=+63000 | lane=default priority=0 since=+3000",
            "match u5 waiting>seated owner=cat token=33 | lane=default priority=0 since=+3000 room=31.1 visit=33 agent_state=busy" } },
        { 3100,
          "free p cat",
          { "free u5 seated>gone owner=cat token=33 | lane=default outcome=freed room=31.1 visit=33 agent_state=idle" } },
        { 3100,
          "apply p u6",
          { "apply u6 gone>waiting until=+63100 | lane=default priority=0 since=+3100",
            "match u6 waiting>seated owner=cat token=36 | lane=default priority=0 since=+3100 room=31.1 visit=36 agent_state=busy" } },
        { 3100,
          "apply p u7",
          { "apply u7 gone>waiting until=+63100 | lane=default priority=0 since=+3100" } },
        { 3100,
          "apply p u8",
          { "apply u8 gone>waiting until=+63100 | lane=default priority=0 since=+3100" } },
        { 3200, "set p ttl=2000", { "set | ttl=2000" } },
        { 4300, "alive p agent=cat", { 0 } },
        { 4300, "alive p user=u8", { 0 } },
        { 5200,
          "sweep p",
          { "expire u6 seated>gone owner=cat token=36 | lane=default outcome=cut room=31.1 visit=36 agent_state=idle",
            "expire u7 waiting>away until=+5500 | lane=default priority=0 since=+3100",
            "match u8 waiting>seated owner=cat token=42 | lane=default priority=0 since=+3100 room=31.1 visit=42 agent_state=busy" } }, /* of two silent users one is cut, the other is away */
        { 5300,
          "alive p user=u7",
          { "alive u7 away>waiting until=+63100 | lane=default priority=0 since=+3100" } },
        { 6100, "alive p agent=cat", { 0 } },
        { 6100, "alive p user=u8", { 0 } },
        { 7100, "alive p agent=cat", { 0 } },
        { 7100, "alive p user=u8", { 0 } },
        { 7300,
          "sweep p",
          { "expire u7 waiting>away until=+7600 | lane=default priority=0 since=+3100" } },
        { 7600,
          "sweep p",
          { "expire u7 away>gone | lane=default outcome=lost" } }, /* and is lost */
        { 7700, "pause p cat", { "pause cat busy>pausing token=42" } },
        { 8800, "alive p user=u8", { 0 } },
        { 9700,
          "sweep p",
          { "requeue u8 seated>gone owner=cat token=42 | lane=default outcome=dropped room=31.1 visit=42 agent_state=pausing",
            "expire cat pausing>gone token=42" } }, /* a silent agent, whose pause is kept */
        { 9800, "logout p cat", { "logout cat paused>gone" } },
        { 9800, "login p dan", { "login dan gone>idle token=50 | lanes=* capacity=1 level=0" } },
        { 9800,
          "apply p u9",
          { "apply u9 gone>waiting until=+69800 | lane=default priority=0 since=+9800",
            "match u9 waiting>seated owner=dan token=52 | lane=default priority=0 since=+9800 room=50.1 visit=52 agent_state=busy" } },
        { 9800,
          "apply p u10",
          { "apply u10 gone>waiting until=+69800 | lane=default priority=0 since=+9800" } },
        { 9800, "set p maxwait=100", { "set | maxwait=100" } },
        { 9900,
          "sweep p",
          { "expire u10 waiting>gone | lane=default outcome=timeout" } }, /* a user has waited for
                                                                             too long */
        { 9900,
          "finish p 50.1",
          { "finish u9 seated>gone owner=dan token=52 | lane=default outcome=seated room=50.1 visit=52 agent_state=idle" } },
        { 99000,
          "login p eve",
          { "expire dan idle>gone token=52",
            "login eve gone>idle token=58 | lanes=* capacity=1 level=0" } },
        { 99000, "login p fay", { "login fay gone>idle token=59 | lanes=* capacity=1 level=0" } },
        { 103000,
          "login p gus",
          { "outage | from=+99000 to=+103000",
            "login gus gone>idle token=61 | lanes=* capacity=1 level=0" } }, /* the store was away
                                                                              */
        { 0, NULL, { 0 } },
    };

    walk(*state, "queue", steps);
}

TEST(each_change_of_a_number_has_a_whole_notice)
{
    static const struct step steps[] = {
        { 0, "set p log=200 rest=50", { "set | rest=50 log=200" } },
        { 0, "add p 1 group=g", { "add 1 nodata>idle+down | group=g" } },
        { 0, "add p 2", { "add 2 nodata>idle+down" } },
        { 0, "reg p 1", { "reg 1 idle+down>idle+up | group=g" } },
        { 0, "reg p 2", { "reg 2 idle+down>idle+up" } },
        { 0,
          "call p owner=ann node=n1 sticky=peer lease=1000 group=g",
          { "call 1 idle+up>busy+up owner=ann token=6 until=+1000 | group=g node=n1 peer=peer" } },
        { 100, "call p owner=bob", { "call 2 idle+up>busy+up owner=bob token=7" } },
        { 200,
          "renew p 1 token=6 lease=2000",
          { "renew 1 busy+up>busy+up owner=ann token=6 until=+2200 | group=g node=n1" } },
        { 300,
          "renew p node=n1",
          { "renew 1 busy+up>busy+up owner=ann token=6 until=+2300 | group=g node=n1" } },
        { 400,
          "unreg p 1",
          { "unreg 1 busy+up>busy+down owner=ann token=6 until=+2300 | group=g node=n1" } },
        { 400,
          "reg p 1",
          { "reg 1 busy+down>busy+up owner=ann token=6 until=+2300 | group=g node=n1" } },
        { 500,
          "move p 1 group=h",
          { "move 1 busy+up>busy+up owner=ann token=6 until=+2300 | group=h node=n1" } },
        { 600, "hangup p 2", { "hangup 2 busy+up>idle+up owner=bob token=7 until=+650" } },
        { 650, "sweep p", { "expire 2 idle+up>idle+up token=7" } },
        { 2300,
          "sweep p",
          { "expire 1 busy+up>idle+up owner=ann token=6 until=+2350 | group=h node=n1 ended=lease" } }, /* the lease ends */
        { 2310, "lift p 1", { "lift 1 idle+up>idle+up token=6 | group=h" } },
        { 2400, "set p lease-max=500", { "set | lease-max=500" } },
        { 2400,
          "call p owner=cat number=1 node=n2 lease=9000",
          { "call 1 idle+up>busy+up owner=cat token=18 until=+2900 | group=h node=n2" } },
        { 2950,
          "sweep p",
          { "expire 1 busy+up>idle+up owner=cat token=18 until=+2950 | group=h node=n2 ended=lease-max",
            "expire 1 idle+up>idle+up token=18 | group=h" } }, /* and lease-max ends this one */
        { 3000,
          "call p number=1 owner=dan node=n3",
          { "call 1 idle+up>busy+up owner=dan token=21 until=+3500 | group=h node=n3" } },
        { 3100,
          "free p node=n3",
          { "free 1 busy+up>idle+up owner=dan token=21 until=+3150 | group=h node=n3" } },
        { 3200,
          "call p number=1 owner=eve node=n3",
          { "expire 1 idle+up>idle+up token=21 | group=h",
            "call 1 idle+up>busy+up owner=eve token=24 until=+3700 | group=h node=n3" } },
        { 3250, "del p 1", { "del 1 busy+up>nodata owner=eve token=24 | group=h node=n3" } },
        { 0, NULL, { 0 } },
    };

    walk(*state, "number", steps);
}

TEST(notices_of_numbers_name_the_actor_of_the_command)
{
    static const struct step steps[] = {
        { 0, "set p log=200 rest=50 actor=op", { "set | rest=50 log=200 actor=op" } },
        { 0, "set p mode=closed actor=op", { "set | mode=2 actor=op" } },
        { 0, "set p mode=open", { "set | mode=1" } },
        { 0, "add p 1 group=g actor=op", { "add 1 nodata>idle+down | group=g actor=op" } },
        { 0, "reg p 1 actor='a b'", { "reg 1 idle+down>idle+up | group=g actor=a b" } },
        { 0,
          "call p owner=ann node=n1 lease=100",
          { "call 1 idle+up>busy+up owner=ann token=6 until=+100 | group=g node=n1" } },
        /* the expiry before it is no act of the actor */
        { 100,
          "unreg p 1 actor=op",
          { "expire 1 busy+up>idle+up owner=ann token=6 until=+150 | group=g node=n1 ended=lease",
            "unreg 1 idle+up>idle+down token=6 until=+150 | group=g actor=op" } },
        { 100,
          "move p 1 actor=op",
          { "move 1 idle+down>idle+down token=6 until=+150 | actor=op" } },
        { 100, "lift p 1 actor=op", { "lift 1 idle+down>idle+down token=6 | actor=op" } },
        { 100, "reg p 1", { "reg 1 idle+down>idle+up token=6" } },
        { 100, "call p", { "call 1 idle+up>busy+up token=12" } },
        { 100,
          "free p all=1 actor=op",
          { "free 1 busy+up>idle+up token=12 until=+150 | actor=op" } },
        { 150,
          "del p 1 actor=op",
          { "expire 1 idle+up>idle+up token=12", "del 1 idle+up>nodata token=12 | actor=op" } },
        { 0, NULL, { 0 } },
    };

    walk(*state, "number", steps);
}

TEST(notices_of_pauses_have_the_reason)
{
    static const struct step steps[] = {
        { 0, "set p log=200 ttl=1000", { "set | ttl=1000 log=200" } },
        { 0, "login p ann", { "login ann gone>idle token=2 | lanes=* capacity=1 level=0" } },
        { 0,
          "pause p ann reason=tea actor=op",
          { "pause ann idle>paused token=2 | reason=tea actor=op" } },
        { 0, "pause p ann reason=lunch", { "pause ann paused>paused token=2 | reason=lunch" } },
        { 1000,
          "login p ann",
          { "expire ann paused>gone token=2",
            "login ann gone>paused token=6 | lanes=* capacity=1 level=0 reason=lunch" } },
        { 1000, "ready p ann", { "ready ann paused>idle token=6" } },
        { 1000, "pause p ann", { "pause ann idle>paused token=6" } },
        { 0, NULL, { 0 } },
    };

    walk(*state, "queue", steps);
}

TEST(notices_of_queues_name_the_actor_of_the_command)
{
    static const struct step steps[] = {
        { 0,
          "set p log=200 ttl=0 trigger=timer actor=op",
          { "set | ttl=0 trigger=2 log=200 actor=op" } },
        { 0,
          "login p ann capacity=2",
          { "login ann gone>idle token=2 | lanes=* capacity=2 level=0" } },
        { 0, "apply p u1", { "apply u1 gone>waiting | lane=default priority=0 since=+0" } },
        { 0,
          "move p u1 priority=1 actor=op",
          { "move u1 waiting>waiting | lane=default priority=1 since=+0 actor=op" } },
        /* a match is no act of the actor, even if it follows */
        { 0,
          "set p trigger=auto actor=op",
          { "match u1 waiting>seated owner=ann token=5 | lane=default priority=1 since=+0 room=2.1 visit=5 agent_state=busy",
            "set | trigger=1 actor=op" } },
        { 0, "pause p ann actor=op", { "pause ann busy>pausing token=5 | actor=op" } },
        { 0, "apply p u2", { "apply u2 gone>waiting | lane=default priority=0 since=+0" } },
        { 0,
          "free p ann actor=op",
          { "free u1 seated>gone owner=ann token=5 | lane=default outcome=freed room=2.1 visit=5 agent_state=paused actor=op",
            "ready ann paused>idle token=5 | actor=op",
            "match u2 waiting>seated owner=ann token=11 | lane=default priority=0 since=+0 room=2.1 visit=11 agent_state=busy" } },
        { 0,
          "leave p u2 actor=op",
          { "leave u2 seated>gone owner=ann token=11 | lane=default outcome=seated room=2.1 visit=11 agent_state=idle actor=op" } },
        { 0,
          "apply p u3",
          { "apply u3 gone>waiting | lane=default priority=0 since=+0",
            "match u3 waiting>seated owner=ann token=14 | lane=default priority=0 since=+0 room=2.1 visit=14 agent_state=busy" } },
        { 0,
          "logout p ann actor=op",
          { "requeue u3 seated>waiting owner=ann token=14 | lane=default priority=0 since=+0 outcome=requeued room=2.1 visit=14 agent_state=busy",
            "logout ann busy>gone token=14 | actor=op" } },
        { 0, NULL, { 0 } },
    };

    walk(*state, "queue", steps);
}

TEST(notices_of_serials_name_the_actor_of_the_command)
{
    static const struct step steps[] = {
        { 0,
          "rule p width=3 mode=gapfree log=50 actor=op",
          { "rule | width=3 mode=2 log=50 actor=op" } },
        { 0,
          "reserve p owner=ann lease=100",
          { "reserve 1 ->- owner=ann token=2 until=+100 | number=1" } },
        { 0,
          "reserve p owner=bob",
          { "reserve 2 ->- owner=bob token=3 until=+300000 | number=2" } },
        /* the expiry before it is no act of the actor */
        { 100,
          "void p 002 token=3 actor=op",
          { "expire 1 ->- owner=ann token=2 | number=1",
            "void 2 ->- owner=bob token=3 | number=2 actor=op" } },
        { 0, NULL, { 0 } },
    };

    walk(*state, "serial", steps);
}

TEST(notices_of_a_stock_of_serials_name_the_actor_of_the_command)
{
    static const struct step steps[] = {
        { 0, "rule p max=100 log=50 actor=op", { "rule | max=100 log=50 actor=op" } },
        { 0, "fill p 2 actor=op", { "fill | first=1 n=2 actor=op" } },
        { 0, "take p", { "take | first=1 n=1" } },
        { 0, "setmax p 500 actor=op", { "setmax | max=600 cur=2 actor=op" } },
        { 0, "setmaxcur p 10 actor=op", { "setmaxcur | max=600 cur=10 actor=op" } },
        { 0, NULL, { 0 } },
    };

    walk(*state, "serial", steps);
}

/* A call ends by a deadline that another engine applies: the engine that made it gets the notice.
 */
TEST(the_end_of_a_hold_reaches_its_holder)
{
    struct fixture *f = *state;
    struct usher_engine *other;
    struct usher_watcher *watcher;
    struct usher_result r;
    const struct usher_event *event;
    char got[200];

    if (!under_test.shared)
        return;
    say(f, USHER_OK, "number set p log=9");
    say(f, USHER_OK, "number add p 1");
    say(f, USHER_OK, "number reg p 1");
    say(f, USHER_OK, "number call p owner=ann node=n1 lease=1000");
    assert_int_equal(usher_watch_events(f->e, USHER_NUMBER, "p", USHER_WATCH_SINCE, f->r.version,
                                        NULL, &watcher),
                     USHER_OK);
    f->now += 1000;
    other = fixture_open(f);
    assert_int_equal(line_execute(other, &r, "number sweep p"), USHER_OK);
    usher_result_done(&r);
    event = usher_collect(f->e, -1);
    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_NOTICE);
    put_notice(got, sizeof got, event->notice);
    assert_string_equal(got, "expire 1 busy+up>idle+up owner=ann token=4 | node=n1 ended=lease");
    usher_event_done(event);
    usher_unwatch(f->e, watcher);
    usher_close(other);
}

/* ---- the log ------------------------------------------------------------------------------- */

TEST(a_log_has_the_last_notices)
{
    struct fixture *f = *state;

    say(f, USHER_MISSING, "number changes p");
    say(f, USHER_OK, "number add p 1");
    say(f, USHER_REFUSED, "number changes p");
    assert_non_null(strstr(f->r.message, "log="));
    say(f, USHER_OK, "number set p log=3 lease=60000"); /* version 2, the first one of the log */
    say(f, USHER_STALE, "number changes p since=0");
    assert_int_equal(f->r.of.number.since, 1);
    say(f, USHER_OK, "number changes p since=1");
    assert_int_equal(notices(f), 1);
    assert_int_equal(notice(f, 0).verb, USHER_NUMBER_SET);
    say(f, USHER_OK, "number reg p 1");
    say(f, USHER_OK, "number call p owner=ann");
    say(f, USHER_OK, "number changes p since=1 max=2");
    assert_true(notices(f) == 2 && f->r.of.number.more);
    assert_int_equal(notice(f, 1).version, 3);
    say(f, USHER_OK, "number hangup p 1");
    say(f, USHER_STALE, "number changes p since=1");
    assert_int_equal(f->r.of.number.since, 2);
    say(f, USHER_OK, "number changes p since=2");
    assert_true(notices(f) == 3 && !f->r.of.number.more);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(notice(f, i).version, 3 + i);
        assert_int_equal(notice(f, i).before, 2 + i);
    }
    say(f, USHER_OK, "number changes p since=5");
    assert_int_equal(notices(f), 0);
    say(f, USHER_STALE, "number changes p since=6");
    assert_string_equal(f->r.message, "the version does not exist yet");
}

/* A caller is seated as it comes: of the two notices of one write the last is kept. */
TEST(log_may_be_shorter_than_the_notices_of_a_change)
{
    struct fixture *f = *state;

    say(f, USHER_OK, "queue set q log=1");
    say(f, USHER_OK, "queue login q ann");
    say(f, USHER_OK, "queue apply q u1"); /* versions 3 and 4 */
    say(f, USHER_STALE, "queue changes q since=2");
    say(f, USHER_OK, "queue changes q since=3");
    say(f, USHER_OK, "queue set q log=2");
    say(f, USHER_STALE, "queue changes q since=2");
    say(f, USHER_OK, "queue changes q since=3");
}

TEST(log_is_removed_in_steps_when_it_is_turned_off)
{
    struct fixture *f = *state;

    say(f, USHER_OK, "number set p log=8");
    for (int i = 0; i < 9; i++) {
        char line[40];

        (void)snprintf(line, sizeof line, "number add p %d", i);
        say(f, USHER_OK, line);
    }
    /* one less with each change, and what is there goes on to the version that is there */
    say(f, USHER_OK, "number set p log=0");
    for (size_t left = 7; left > 2; left--) {
        char line[60];

        (void)snprintf(line, sizeof line, "number changes p since=%llu",
                       (unsigned long long)f->r.version - left);
        say(f, USHER_OK, line);
        assert_int_equal(notices(f), left);
        (void)snprintf(line, sizeof line, "number reg p %zu", left);
        say(f, USHER_OK, line);
    }
    say(f, USHER_OK, "number unreg p 7");
    say(f, USHER_REFUSED, "number changes p");
    /* another one begins where it is wanted again */
    say(f, USHER_OK, "number set p log=5");
    say(f, USHER_STALE, "number changes p since=1");
    assert_int_equal(f->r.of.number.since, f->r.version - 1);
}

/* ---- what a notice says -------------------------------------------------------------------- */

TEST(a_notice_of_an_end_names_the_owner)
{
    struct fixture *f = *state;
    uint64_t token;

    say(f, USHER_OK, "number set p log=50 rest=5000");
    say(f, USHER_OK, "number add p 1");
    say(f, USHER_OK, "number reg p 1");
    say(f, USHER_OK, "number call p owner=ann lease=1000");
    token = f->r.of.number.token;
    f->now += 1000;
    say(f, USHER_OK, "number show p 1"); /* a read: the expiry is notified when it is written */
    say(f, USHER_OK, "number changes p since=4");
    assert_int_equal(notices(f), 0);
    say(f, USHER_OK, "number sweep p");
    f->now += 5000;
    say(f, USHER_OK, "number call p owner=bob");
    say(f, USHER_OK, "number free p all=1");
    say(f, USHER_OK, "number changes p since=4");
    assert_int_equal(notices(f), 4);
    assert_int_equal(notice(f, 0).verb, USHER_NUMBER_EXPIRE);
    assert_int_equal(notice(f, 0).token, token);
    assert_int_equal(notice(f, 0).until_ms, MORNING + 6000); /* of the rest */
    assert_text(notice(f, 0).subject, "1");
    assert_text(notice(f, 0).owner, "ann");
    assert_int_equal(notice(f, 1).verb, USHER_NUMBER_EXPIRE); /* its rest, which has no owner */
    assert_text(notice(f, 1).owner, "");
    assert_int_equal(notice(f, 2).verb, USHER_NUMBER_CALL);
    assert_text(notice(f, 2).owner, "bob");
    assert_int_equal(notice(f, 3).verb, USHER_NUMBER_FREE);
    assert_text(notice(f, 3).owner, "bob");
}

TEST(a_change_of_settings_says_which)
{
    struct fixture *f = *state;
    struct usher_fields fields;
    struct usher_text name, value;
    struct usher_notice n;
    uint64_t version;

    say(f, USHER_OK, "number set p log=50 zone=-60 order=random");
    say(f, USHER_OK, "number changes p");
    n = notice(f, 0);
    usher_fields_begin(&fields, &n.data);
    assert_true(usher_fields_next(&fields, &name, &value, &version));
    assert_text(name, "order");
    assert_text(value, "3");
    assert_true(usher_fields_next(&fields, &name, &value, &version));
    assert_text(name, "zone");
    assert_text(value, "-60");
    assert_true(usher_fields_next(&fields, &name, &value, &version));
    assert_text(name, "log");
    assert_text(value, "50");
    assert_false(usher_fields_next(&fields, &name, &value, &version));
}

/* ---- what meets it ------------------------------------------------------------------------- */

TEST(a_command_without_a_change_makes_no_notice)
{
    struct fixture *f = *state;

    say(f, USHER_OK, "number set p log=50 req=a");
    say(f, USHER_OK, "number set p log=50 req=a");
    assert_true(f->r.repeated);
    say(f, USHER_OK, "number add p 1 req=b");
    say(f, USHER_OK, "number add p 1 req=b");
    say(f, USHER_SAME, "number add p 1");
    say(f, USHER_STALE, "number add p 2 if-version=1");
    say(f, USHER_OK, "number add p 2 if-version=2");
    say(f, USHER_REFUSED, "number hangup p 1");
    say(f, USHER_OK, "number changes p");
    assert_int_equal(notices(f), 3);
}

TEST(log_is_removed_with_its_scope)
{
    struct fixture *f = *state;
    int64_t items = 0;

    say(f, USHER_OK, "number set p log=500");
    for (int i = 0; i < 300; i++) {
        char line[40];

        (void)snprintf(line, sizeof line, "number add p %d", i);
        say(f, USHER_OK, line);
    }
    assert_int_equal(usher_drop(f->e, USHER_NUMBER, "p", &items), USHER_OK);
    assert_int_equal(items, 601);
    say(f, USHER_MISSING, "number changes p");
    say(f, USHER_OK, "number add p 1");
    say(f, USHER_REFUSED, "number changes p");
    say(f, USHER_OK, "queue set p log=500");
    for (int i = 0; i < 300; i++)
        say(f, USHER_OK, i % 2 == 0 ? "queue login p ann" : "queue logout p ann");
    assert_int_equal(usher_drop(f->e, USHER_QUEUE, "p", &items), USHER_OK);
    assert_int_equal(items, 301);
    say(f, USHER_MISSING, "queue changes p");
    if (under_test.left != NULL)
        assert_true(under_test.left(f->url) < 20);
}

/* ---- who follows it ------------------------------------------------------------------------ */

/* Up to @last of a scope of @noun: no version twice, none left out.  How many gaps. */
static unsigned hear_of(struct usher_engine *e, enum usher_noun noun, uint64_t *from, uint64_t last)
{
    unsigned gaps = 0;

    while (*from < last) {
        const struct usher_event *event = usher_collect(e, -1);

        assert_non_null(event);
        if (event->kind == USHER_EVENT_GAP)
            gaps++;
        else
            assert_int_equal(event->notice->version, *from + 1);
        assert_int_equal(event->notice->before, *from);
        assert_int_equal(event->notice->noun, noun);
        *from = event->notice->version;
        usher_event_done(event);
    }
    assert_int_equal(*from, last);
    return gaps;
}

static unsigned hear(struct usher_engine *e, uint64_t *from, uint64_t last)
{
    return hear_of(e, USHER_NUMBER, from, last);
}

TEST(a_follower_receives_each_change_once)
{
    struct fixture *f = *state;
    struct usher_engine *other;
    struct usher_watcher *watcher;
    uint64_t heard = 1;
    char line[40];

    say(f, USHER_OK, "number add p none");
    say(f, USHER_OK, "number set p log=20");
    if (!under_test.shared)
        return;
    other = fixture_open(f);
    for (int life = 0; life < 3; life++) { /* it goes on where it was */
        assert_int_equal(usher_watch_events(other, USHER_NUMBER, "p",
                                            USHER_WATCH_SINCE | USHER_WATCH_ALL, heard, NULL,
                                            &watcher),
                         USHER_OK);
        for (int i = 0; i < 8; i++) {
            struct usher_result r;

            (void)snprintf(line, sizeof line, "number add p %d.%d", life, i);
            say(f, USHER_OK, line);
            (void)snprintf(line, sizeof line, "number reg p %d.%d", life, i);
            assert_int_equal(line_execute(other, &r, "%s", line), USHER_OK);
            usher_result_done(&r);
        }
        assert_int_equal(hear(other, &heard, f->r.version + 1), 0);
        usher_unwatch(other, watcher);
        say(f, USHER_OK, life % 2 == 0 ? "number set p lease=1000" : "number set p lease=0");
    }
    /* versions before the beginning of the log are a gap */
    for (int i = 0; i < 30; i++) {
        (void)snprintf(line, sizeof line, "number add p x%d", i);
        say(f, USHER_OK, line);
    }
    assert_int_equal(usher_watch_events(other, USHER_NUMBER, "p",
                                        USHER_WATCH_SINCE | USHER_WATCH_ALL, heard, NULL, &watcher),
                     USHER_OK);
    assert_int_equal(hear(other, &heard, f->r.version), 1);
    /* and so is what there is no log for any more */
    say(f, USHER_OK, "number set p log=1");
    say(f, USHER_OK, "number set p log=0");
    for (int i = 0; i < 30; i++) {
        (void)snprintf(line, sizeof line, "number del p x%d", i);
        say(f, USHER_OK, line);
    }
    say(f, USHER_REFUSED, "number changes p");
    assert_true(hear(other, &heard, f->r.version) >= 1);
    usher_unwatch(other, watcher);
    usher_close(other);
}

/* Require the notices of these commands on @noun: the engine that executes them gets them at once,
 * and at each line "follow" another engine gets them from the log. */
static void all_is_heard(struct fixture *f, enum usher_noun noun, const char *scope,
                         const char *const *lines)
{
    const unsigned flags = USHER_WATCH_SINCE | USHER_WATCH_ALL;
    struct usher_engine *other = NULL;
    struct usher_watcher *mine, *others;
    uint64_t heard = 0, heard_there = 0;

    say(f, USHER_OK, *lines++);
    assert_int_equal(usher_watch_events(f->e, noun, scope, flags, 0, NULL, &mine), USHER_OK);
    if (under_test.shared) {
        other = fixture_open(f);
        assert_int_equal(usher_watch_events(other, noun, scope, flags, 0, NULL, &others), USHER_OK);
    }
    for (; *lines != NULL; lines++) {
        if (strncmp(*lines, "now ", 4) == 0) {
            f->now += atoi(*lines + 4);
        } else if (strcmp(*lines, "follow") != 0) {
            say(f, USHER_OK, *lines);
            assert_int_equal(hear_of(f->e, noun, &heard, f->r.version), 0);
        } else if (other != NULL) {
            assert_int_equal(hear_of(other, noun, &heard_there, f->r.version), 0);
        }
    }
    assert_true(heard > 5);
    usher_unwatch(f->e, mine);
    if (other != NULL) {
        usher_unwatch(other, others);
        usher_close(other);
    }
}

TEST(each_noun_is_followed)
{
    /* one act that is two changes; deadlines, and what follows from them; a log of few */
    static const char *const queue[] = {
        "queue set p log=50 wrapup=1000 maxwait=60000",
        "queue login p ann",
        "queue apply p u1 lane=vip",
        "queue apply p u2",
        "queue leave p u1",
        "now 1000",
        "queue sweep p",
        "follow",
        "queue set p log=1",
        "queue leave p u2",
        "queue apply p u3",
        "queue move p u3 priority=2",
        "now 1000",
        "queue sweep p",
        "queue leave p u3",
        "queue logout p ann",
        NULL,
    };
    static const char *const id[] = {
        "id create p log=9", "id next p",   "id next p n=700", "id set p by=3",
        "id set p step=9",   "id delete p", "follow",          NULL,
    };
    static const char *const serial[] = {
        "serial rule p log=50 width=4 max=20 critical=1 batch=3",
        "serial take p n=2",
        "follow",
        "serial setmax p 20", /* another epoch */
        "serial take p",
        "serial setmaxcur p 30",
        "follow",
        "serial setmax p 1",
        "serial take p n=2",
        "serial delete p",
        "serial rule p log=9",
        "serial take p",
        "follow",
        NULL,
    };
    static const char *const gapfree[] = {
        "serial rule g log=9 mode=gapfree lease=1000 max=20",
        "serial reserve g owner=ann",
        "serial reserve g owner=bob",
        "serial confirm g 1 token=2",
        "now 1000",
        "serial sweep g",
        "serial reserve g owner=bob",
        "serial setmax g 1",
        "follow",
        NULL,
    };
    struct fixture *f = *state;

    all_is_heard(f, USHER_QUEUE, "p", queue);
    all_is_heard(f, USHER_ID, "p", id);
    all_is_heard(f, USHER_SERIAL, "p", serial);
    all_is_heard(f, USHER_SERIAL, "g", gapfree);
}

/* Successive scopes of one name share a log if their versions continue. */
TEST(a_recreated_scope_continues_its_log)
{
    struct fixture *f = *state;

    say(f, USHER_OK, "id create p log=5");
    say(f, USHER_OK, "id next p n=3");
    say(f, USHER_OK, "id delete p");
    say(f, USHER_OK, "id changes p since=1");
    assert_int_equal(notices(f), 2);
    assert_int_equal(notice(f, 1).verb, USHER_ID_DELETE);
    say(f, USHER_OK, "id create p log=2");
    say(f, USHER_OK, "id changes p since=2");
    assert_int_equal(notices(f), 2);
    assert_int_equal(notice(f, 1).verb, USHER_ID_CREATE);
    say(f, USHER_OK, "serial rule p log=5");
    say(f, USHER_OK, "serial take p n=3");
    say(f, USHER_OK, "serial delete p");
    say(f, USHER_OK, "serial changes p since=1");
    assert_int_equal(notices(f), 2);
    assert_int_equal(notice(f, 1).verb, USHER_SERIAL_DELETE);
    say(f, USHER_OK, "serial rule p");
    say(f, USHER_OK, "serial take p"); /* no log is wanted any more */
    say(f, USHER_REFUSED, "serial changes p");
}

/* ---- a notice as a row ---- */

/* The next notice with @verb, as bytes that were sent. */
static struct usher_notice next_sent(struct fixture *f, enum usher_verb verb,
                                     unsigned char bytes[2048])
{
    const struct usher_event *event;
    struct usher_notice n = { 0 };
    uint32_t kind;
    size_t size;

    while ((event = usher_collect(f->e, 0)) != NULL) {
        size = event->notice->verb == verb ? usher_event_pack(event, bytes, 2048) : 0;
        usher_event_done(event);
        assert_true(size <= 2048);
        if (size != 0) {
            assert_int_equal(usher_event_unpack(bytes, size, &kind, &n), USHER_OK);
            return n;
        }
    }
    fail_msg("no %s", usher_verb_word(verb));
    return n;
}

static void assert_seated(const struct usher_queue_row *row, const char *room)
{
    assert_string_equal(row->user, "bob");
    assert_string_equal(row->agent, "ann");
    assert_string_equal(row->lane, "default");
    assert_string_equal(row->room, room);
    assert_int_equal(row->user_state, USHER_QUEUE_USER_SEATED);
    assert_int_equal(row->agent_state, USHER_QUEUE_AGENT_BUSY);
    assert_int_equal(row->priority, 7);
    assert_int_equal(row->since_ms, MORNING);
    assert_int_equal(row->outcome, USHER_QUEUE_OUTCOME_NONE);
    assert_true(row->token != 0 && row->version != 0);
}

TEST(a_notice_of_a_queue_is_a_row)
{
    struct fixture *f = *state;
    struct usher_queue_options opt = USHER_QUEUE_OPTIONS_INIT;
    struct usher_queue_answer a = USHER_QUEUE_ANSWER_INIT;
    struct usher_queue_row row = USHER_QUEUE_ROW_INIT;
    struct usher_reply *reply;
    struct usher_watcher *w;
    struct usher_notice n;
    unsigned char bytes[2048];

    assert_null(usher_notice_reply(NULL));
    assert_int_equal(usher_watch_events(f->e, USHER_QUEUE, "p", 0, 0, NULL, &w), USHER_OK);
    say(f, USHER_OK, "queue set p log=50");
    say(f, USHER_OK, "queue login p ann lanes=default,x capacity=2");
    opt.priority = 7;
    assert_int_equal(usher_queue_apply(f->e, "p", "bob", &opt, &a), USHER_OK);

    n = next_sent(f, USHER_QUEUE_LOGIN, bytes);
    reply = usher_notice_reply(&n);
    assert_true(usher_queue_row_of(reply, 0, &row));
    assert_string_equal(row.agent, "ann");
    assert_null(row.user);
    assert_string_equal(row.lanes, "default,x");
    assert_int_equal(row.capacity, 2);
    assert_int_equal(row.agent_state, USHER_QUEUE_AGENT_IDLE);
    usher_reply_done(reply);

    n = next_sent(f, USHER_QUEUE_MATCH, bytes);
    reply = usher_notice_reply(&n);
    assert_int_equal(reply->verb, USHER_QUEUE_CHANGES);
    assert_true(reply->epoch == a.epoch && reply->version == n.version && reply->n_rows == 1);
    assert_true(usher_queue_row_of(reply, 0, &row));
    assert_seated(&row, a.room);
    assert_false(usher_queue_row_of(reply, 1, &row));
    usher_reply_done(reply);

    /* a row of the log has the same */
    assert_int_equal(usher_queue_changes(f->e, "p", NULL, &reply), USHER_OK);
    assert_true(usher_queue_row_of(reply, reply->n_rows - 1, &row));
    assert_seated(&row, a.room);
    usher_reply_done(reply);
    usher_unwatch(f->e, w);
}

TEST(a_notice_of_another_noun_is_a_row)
{
    struct fixture *f = *state;
    struct usher_number_row number = USHER_NUMBER_ROW_INIT;
    struct usher_serial_row serial = USHER_SERIAL_ROW_INIT;
    struct usher_room_row room = USHER_ROOM_ROW_INIT;
    struct usher_id_row id = USHER_ID_ROW_INIT;
    struct usher_reply *reply;
    struct usher_watcher *w;
    struct usher_notice n;
    unsigned char bytes[2048];

    assert_int_equal(usher_watch_events(f->e, 0, NULL, 0, 0, NULL, &w), USHER_OK);
    say(f, USHER_OK, "number add p 100 group=A");
    say(f, USHER_OK, "number reg p 100 actor=op");
    n = next_sent(f, USHER_NUMBER_REG, bytes);
    reply = usher_notice_reply(&n);
    assert_true(usher_number_row_of(reply, 0, &number));
    assert_string_equal(number.actor, "op");
    usher_reply_done(reply);
    say(f, USHER_OK, "number call p owner=ann node=m");
    n = next_sent(f, USHER_NUMBER_CALL, bytes);
    reply = usher_notice_reply(&n);
    assert_true(usher_number_row_of(reply, 0, &number));
    assert_string_equal(number.number, "100");
    assert_string_equal(number.group, "A");
    assert_string_equal(number.node, "m");
    assert_null(number.actor);
    assert_int_equal(number.state, USHER_NUMBER_STATE_BUSY_UP);
    usher_reply_done(reply);
    n.due_ms = USHER_NONE; /* as in a notice of the log */
    reply = usher_notice_reply(&n);
    assert_int_equal(reply->due_ms, USHER_NEVER);
    usher_reply_done(reply);

    say(f, USHER_OK, "room open p");
    say(f, USHER_OK, "room join p ann name=x");
    n = next_sent(f, USHER_ROOM_JOIN, bytes);
    reply = usher_notice_reply(&n);
    assert_true(usher_room_row_of(reply, 0, &room));
    assert_int_equal(room.kind, USHER_ROOM_ROW_NOTICE);
    assert_string_equal(room.subject, "ann");
    assert_null(room.name); /* not the field `name` of the member */
    assert_int_equal(room.member_state, USHER_ROOM_MEMBER_HERE);
    assert_int_equal(room.version, 2);
    usher_reply_done(reply);

    say(f, USHER_OK, "serial rule p");
    say(f, USHER_OK, "serial fill p 5");
    n = next_sent(f, USHER_SERIAL_FILL, bytes);
    reply = usher_notice_reply(&n);
    assert_true(usher_serial_row_of(reply, 0, &serial));
    assert_int_equal(serial.first, 1);
    assert_int_equal(serial.n, 5);
    usher_reply_done(reply);

    say(f, USHER_OK, "id create p");
    say(f, USHER_OK, "id next p n=3");
    n = next_sent(f, USHER_ID_NEXT, bytes);
    reply = usher_notice_reply(&n);
    assert_true(usher_id_row_of(reply, 0, &id));
    assert_int_equal(id.first, 1);
    assert_int_equal(id.n, 3);
    usher_reply_done(reply);
    usher_unwatch(f->e, w);
}
