/* SPDX-License-Identifier: MIT */
/* What every store must do with the log of a scope and who follows it, whatever the noun: rooms,
 * which have a log of their own, are in suite_rooms.c. */
#include "config.h"

#include "conformance/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <usher/command.h>

#include "core/changes.h"
#include "lib/line.h"

#define MORNING INT64_C(1699956000000)

struct fixture {
    char url[BACKEND_URL_MAX];
    struct usher_engine *e;
    int64_t now;
    struct usher_result r; /* the last answer */
};

static const struct backend *backend;

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->now = MORNING;
    assert_true(backend->fresh(f->url));
    f->e = suite_open(backend, f->url, &f->now, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    usher_result_done(&f->r);
    audit(f->e);
    usher_close(f->e);
    free(f);
    return 0;
}

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

static void same_text(struct usher_text text, const char *want)
{
    assert_int_equal(text.size, strlen(want));
    if (text.size != 0)
        assert_memory_equal(text.data, want, text.size);
}

/* ---- the log ------------------------------------------------------------------------------- */

static void a_log_has_the_last_notices(void **state)
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
    assert_string_equal(f->r.message, "there is no such version");
}

/* A caller is seated as it comes: of the two notices of one write the last is kept. */
static void a_log_may_be_shorter_than_one_change_tells(void **state)
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

static void a_log_goes_by_steps_when_none_is_wanted(void **state)
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

static void what_has_ended_was_somebodys(void **state)
{
    struct fixture *f = *state;
    uint64_t token;

    say(f, USHER_OK, "number set p log=50 rest=5000");
    say(f, USHER_OK, "number add p 1");
    say(f, USHER_OK, "number reg p 1");
    say(f, USHER_OK, "number call p owner=ann lease=1000");
    token = f->r.of.number.token;
    f->now += 1000;
    say(f, USHER_OK, "number show p 1"); /* a read: it is told when it is written */
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
    same_text(notice(f, 0).subject, "1");
    same_text(notice(f, 0).owner, "ann");
    assert_int_equal(notice(f, 1).verb, USHER_NUMBER_EXPIRE); /* its rest: nobody's */
    same_text(notice(f, 1).owner, "");
    assert_int_equal(notice(f, 2).verb, USHER_NUMBER_CALL);
    same_text(notice(f, 2).owner, "bob");
    assert_int_equal(notice(f, 3).verb, USHER_NUMBER_FREE);
    same_text(notice(f, 3).owner, "bob");
}

static void a_change_of_settings_says_which(void **state)
{
    struct fixture *f = *state;
    struct usher_fields fields = { 0 };
    struct usher_text name, value;
    struct usher_notice n;
    uint64_t version;

    say(f, USHER_OK, "number set p log=50 zone=-60 order=random");
    say(f, USHER_OK, "number changes p");
    n = notice(f, 0);
    fields.at = (const unsigned char *)n.data.data;
    fields.end = fields.at + n.data.size;
    assert_true(usher_fields_next(&fields, &name, &value, &version));
    same_text(name, "order");
    same_text(value, "3");
    assert_true(usher_fields_next(&fields, &name, &value, &version));
    same_text(name, "zone");
    same_text(value, "-60");
    assert_true(usher_fields_next(&fields, &name, &value, &version));
    same_text(name, "log");
    same_text(value, "50");
    assert_false(usher_fields_next(&fields, &name, &value, &version));
}

/* ---- what meets it ------------------------------------------------------------------------- */

static void what_changes_nothing_is_no_news(void **state)
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

static void a_log_goes_with_its_scope(void **state)
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
    if (backend->left != NULL)
        assert_true(backend->left(f->url) < 20);
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

static void who_follows_hears_each_change_once(void **state)
{
    struct fixture *f = *state;
    struct usher_engine *other;
    struct usher_watcher *watcher;
    uint64_t heard = 1;
    char line[40];

    say(f, USHER_OK, "number add p none");
    say(f, USHER_OK, "number set p log=20");
    if (!backend->shared)
        return;
    other = suite_open(backend, f->url, &f->now, NULL);
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
    /* what is behind the log's beginning is said to be missing */
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

/* What @noun tells of these commands, done by the engine that follows them, at once; and where a
 * line is "hear", to another one by the log. */
static void all_is_heard(struct fixture *f, enum usher_noun noun, const char *scope,
                         const char *const *lines)
{
    const unsigned flags = USHER_WATCH_SINCE | USHER_WATCH_ALL;
    struct usher_engine *other = NULL;
    struct usher_watcher *mine, *others;
    uint64_t heard = 0, heard_there = 0;

    say(f, USHER_OK, *lines++);
    assert_int_equal(usher_watch_events(f->e, noun, scope, flags, 0, NULL, &mine), USHER_OK);
    if (backend->shared) {
        other = suite_open(backend, f->url, &f->now, NULL);
        assert_int_equal(usher_watch_events(other, noun, scope, flags, 0, NULL, &others), USHER_OK);
    }
    for (; *lines != NULL; lines++) {
        if (strncmp(*lines, "now ", 4) == 0) {
            f->now += atoi(*lines + 4);
        } else if (strcmp(*lines, "hear") != 0) {
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

static void each_noun_is_followed(void **state)
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
        "hear",
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
        "id create p log=9",
        "id next p",
        "id next p n=700",
        "id set p by=3",
        "id set p step=9",
        "id delete p",
        "hear",
        NULL,
    };
    static const char *const serial[] = {
        "serial rule p log=50 width=4 max=20 critical=1 batch=3",
        "serial take p n=2",
        "hear",
        "serial setmax p 20", /* another epoch */
        "serial take p",
        "serial setmaxcur p 30",
        "hear",
        "serial setmax p 1",
        "serial take p n=2",
        "serial delete p",
        "serial rule p log=9",
        "serial take p",
        "hear",
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
        "hear",
        NULL,
    };
    struct fixture *f = *state;

    all_is_heard(f, USHER_QUEUE, "p", queue);
    all_is_heard(f, USHER_ID, "p", id);
    all_is_heard(f, USHER_SERIAL, "p", serial);
    all_is_heard(f, USHER_SERIAL, "g", gapfree);
}

/* A log is that of all who had the name, where their versions go on. */
static void what_is_made_anew_goes_on_in_its_log(void **state)
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

int suite_news(const struct backend *b)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_log_has_the_last_notices),
        TEST(a_log_goes_by_steps_when_none_is_wanted),
        TEST(what_has_ended_was_somebodys),
        TEST(a_change_of_settings_says_which),
        TEST(what_changes_nothing_is_no_news),
        TEST(a_log_goes_with_its_scope),
        TEST(who_follows_hears_each_change_once),
        TEST(each_noun_is_followed),
        TEST(what_is_made_anew_goes_on_in_its_log),
        TEST(a_log_may_be_shorter_than_one_change_tells),
    };

    backend = b;
    return suite_tests(b, b->name, tests);
}
