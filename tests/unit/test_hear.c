/* SPDX-License-Identifier: MIT */
/*
 * Watchers whose notices are collected: each change once, in order, before the reply to its
 * command; a gap takes the place of missing notices; a watcher with `since` has neither a hole nor
 * a repeat, whatever other clients write.
 */
#include "lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <usher/command.h>
#include <usher/extension.h>
#include <usher/store/store.h>

#include "core/changes.h"
#include "lib/calls.h"
#include "lib/rollback_store.h"
#include "lib/hooks.h"
#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/fake_authority.h"
#include "lib/stores.h"
#include "lib/util.h"

#define LONG_MS INT64_C(60000)
#define ROOM "lobby"

/* ---- worlds ---- */

struct world {
    struct hooks hooks;
    struct usher_engine *e;
    struct usher_options opt;
    char url[STORE_URL_MAX];
};

static void world_begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->opt = (struct usher_options)USHER_OPTIONS_INIT;
    hooks_alloc(&w->hooks, &w->opt);
}

static void world_open(struct world *w, const struct test_store *store)
{
    assert_true(store->fresh(w->url));
    assert_int_equal(usher_open(w->url, &w->opt, &w->e), USHER_OK);
}

static void world_close(struct world *w)
{
    usher_close(w->e);
    assert_null(hooks_fault(&w->hooks));
}

static void on_each_with(void (*test)(struct world *w), size_t backlog)
{
    for (unsigned i = 0; i < n_stores; i++) {
        struct world w;

        world_begin(&w);
        w.opt.backlog = backlog;
        world_open(&w, &stores[i]);
        test(&w);
        world_close(&w);
    }
}

static void on_each(void (*test)(struct world *w))
{
    on_each_with(test, 0);
}

static uint64_t set_room(struct usher_engine *e, const char *room, unsigned value)
{
    char line[64];

    (void)snprintf(line, sizeof line, "room set %s f v%u", room, value);
    return expect_ok(e, "%s", line).version;
}

static void add_number(struct usher_engine *e, const char *pool, unsigned number)
{
    char line[64];

    (void)snprintf(line, sizeof line, "number add %s %u", pool, number);
    expect_ok(e, "%s", line);
}

static struct usher_watcher *watch(struct usher_engine *e, enum usher_noun noun, const char *scope,
                                   uintptr_t tag)
{
    struct usher_watcher *watcher = NULL;

    assert_int_equal(usher_watch_events(e, noun, scope, 0, 0, (void *)tag, &watcher), USHER_OK);
    assert_non_null(watcher);
    return watcher;
}

static struct usher_watcher *since(struct usher_engine *e, unsigned flags, uint64_t version)
{
    struct usher_watcher *watcher = NULL;

    assert_int_equal(
        usher_watch_events(e, USHER_ROOM, ROOM, USHER_WATCH_SINCE | flags, version, NULL, &watcher),
        USHER_OK);
    return watcher;
}

static bool is_readable(struct usher_engine *e)
{
    struct pollfd fd = { usher_fd(e), POLLIN, 0 };

    assert_true(fd.fd >= 0);
    assert_true(poll(&fd, 1, 0) >= 0);
    return fd.revents != 0;
}

/* The notices of one scope, in order. */
struct chain {
    uint64_t epoch, version, mark;
    unsigned long notices, gaps;
};

#define OF_OTHERS 77 /* the tag of watchers whose events are no part of it */

static void chain_add(struct chain *c, const struct usher_event *event)
{
    const struct usher_notice *n = event->notice;

    assert_non_null(n);
    assert_null(event->reply);
    if ((uintptr_t)event->tag == OF_OTHERS)
        return;
    if (event->kind == USHER_EVENT_GAP) {
        c->gaps++;
        assert_true(n->before == 0 || c->version == 0 || n->before == c->version);
        c->epoch = n->epoch;
        c->version = n->version;
        c->mark = n->mark;
        return;
    }
    assert_int_equal(event->kind, USHER_EVENT_NOTICE);
    if (n->verb == USHER_NOTICE_LOST)
        return;
    if (c->version != 0 && n->before != c->version)
        fail_msg("version %" PRIu64 " follows on %" PRIu64 ", told was %" PRIu64, n->version,
                 n->before, c->version);
    assert_true(c->mark == 0 || n->was == c->mark);
    assert_true(c->epoch == 0 || n->epoch == c->epoch);
    c->notices++;
    c->epoch = n->epoch;
    c->version = n->version;
    c->mark = n->mark;
}

/* All that is there.  How many events. */
static unsigned chain_collect(struct usher_engine *e, struct chain *c)
{
    const struct usher_event *event;
    unsigned n = 0;

    do {
        while ((event = usher_collect(e, 0)) != NULL) {
            chain_add(c, event);
            usher_event_done(event);
            n++;
        }
        assert_string_equal(usher_message(), "");
    } while (usher_timeout(e) == 0);
    assert_false(is_readable(e));
    return n;
}

/* The next event is a notice of @scope with @tag. */
static void must_hear(struct usher_engine *e, const char *scope, uint64_t version, uintptr_t tag)
{
    const struct usher_event *event;

    assert_true(is_readable(e));
    assert_int_equal(usher_timeout(e), 0);
    event = usher_collect(e, 0);
    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_NOTICE);
    assert_int_equal((uintptr_t)event->tag, tag);
    assert_string_equal(event->notice->scope.data, scope);
    assert_int_equal(event->notice->version, version);
    usher_event_done(event);
}

static void must_miss(struct usher_engine *e, const char *scope, uint64_t before, uint64_t version)
{
    const struct usher_event *event = usher_collect(e, 0);

    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_GAP);
    assert_null(event->reply);
    assert_string_equal(event->notice->scope.data, scope);
    assert_int_equal(event->notice->scope.size, strlen(scope));
    assert_int_equal(event->notice->before, before);
    assert_int_equal(event->notice->version, version);
    usher_event_done(event);
}

static void must_be_silent(struct usher_engine *e)
{
    assert_false(is_readable(e));
    assert_int_equal(usher_timeout(e), -1);
    assert_null(usher_collect(e, 0));
    assert_string_equal(usher_message(), "");
}

/* ---- what this engine changes ---- */

static void all_nouns(struct world *w)
{
    struct usher_watcher *all = watch(w->e, (enum usher_noun)0, NULL, 1);
    struct usher_watcher *rooms = watch(w->e, USHER_ROOM, NULL, 2);
    struct usher_watcher *one = watch(w->e, USHER_NUMBER, "p", 3);
    unsigned heard[4] = { 0 };
    const struct usher_event *event;

    add_number(w->e, "p", 1);
    add_number(w->e, "q", 1);
    expect_ok(w->e, "room open lobby");
    expect_ok(w->e, "room set lobby f v");
    expect(w->e, USHER_SAME, "number add p 1");
    expect_ok(w->e, "id create d");
    while ((event = usher_collect(w->e, 0)) != NULL) {
        uintptr_t tag = (uintptr_t)event->tag;

        assert_int_equal(event->kind, USHER_EVENT_NOTICE);
        assert_true(tag >= 1 && tag <= 3);
        assert_true(tag != 2 || event->notice->noun == USHER_ROOM);
        assert_true(tag != 3 || event->notice->scope.data[0] == 'p');
        assert_int_equal(strlen(event->notice->scope.data), event->notice->scope.size);
        assert_int_equal(strlen(event->notice->subject.data), event->notice->subject.size);
        heard[tag]++;
        usher_event_done(event);
    }
    assert_int_equal(heard[1], 5);
    assert_int_equal(heard[2], 2);
    assert_int_equal(heard[3], 1);
    must_be_silent(w->e);
    usher_unwatch(w->e, one);
    usher_unwatch(w->e, all);
    usher_unwatch(w->e, rooms);
}

/* The next notice is about a thing of this kind. */
static void must_be_of(struct usher_engine *e, enum usher_subject subject)
{
    const struct usher_event *event = usher_collect(e, 0);

    assert_non_null(event);
    assert_int_equal(usher_notice_subject(event->notice), subject);
    usher_event_done(event);
}

static void subjects(struct world *w)
{
    static const struct {
        const char *line;
        enum usher_subject subject;
    } steps[] = {
        { "number set p rest=5", USHER_SUBJECT_NONE },
        { "number add p 1", USHER_SUBJECT_NUMBER },
        { "queue login q ann", USHER_SUBJECT_AGENT },
        { "queue apply q bob", USHER_SUBJECT_USER }, /* and is matched: below */
        { "queue pause q ann", USHER_SUBJECT_AGENT },
        { "room open lobby", USHER_SUBJECT_NONE },
        { "room join lobby ann", USHER_SUBJECT_MEMBER },
        { "room set lobby f v", USHER_SUBJECT_FIELD },
        { "room all lobby f v", USHER_SUBJECT_FIELD },
        { "room role lobby host ann", USHER_SUBJECT_ROLE },
        { "room share lobby ann screen", USHER_SUBJECT_SHARE },
        { "id create d", USHER_SUBJECT_NONE },
    };
    struct usher_watcher *all = watch(w->e, (enum usher_noun)0, NULL, 1);

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        expect_ok(w->e, "%s", steps[i].line);
        must_be_of(w->e, steps[i].subject);
        if (strcmp(steps[i].line, "queue apply q bob") == 0)
            must_be_of(w->e, USHER_SUBJECT_USER); /* the match */
    }
    must_be_silent(w->e);
    usher_unwatch(w->e, all);
}

TEST(notice_names_the_kind_of_its_subject)
{
    on_each(subjects);
}

TEST(watcher_receives_notices_of_its_scopes_only)
{
    on_each(all_nouns);
}

static void replies(struct world *w)
{
    enum { N = 300 };
    struct usher_watcher *watcher = watch(w->e, USHER_NUMBER, "p", 7);

    for (uintptr_t i = 0; i < N; i++) {
        char number[8];
        struct usher_value v = USHER_T(USHER_FIELD_NUMBER, number);
        struct usher_command c = {
            USHER_NUMBER_ADD, USHER_TO_NUL, i % 2 == 0 ? "p" : "other", &v, 1, (void *)(1000 + i)
        };

        (void)snprintf(number, sizeof number, "%zu", (size_t)i);
        assert_int_equal(usher_post(w->e, &c, 1, 0), USHER_OK);
    }
    for (uint64_t replied = 0, heard = 0; replied < N;) {
        const struct usher_event *event = usher_collect(w->e, 0);

        assert_non_null(event);
        if (event->kind == USHER_EVENT_NOTICE) {
            assert_int_equal(event->notice->version, ++heard);
        } else {
            assert_int_equal((uintptr_t)event->tag, 1000 + replied);
            if (replied++ % 2 == 0) /* its notice was there before */
                assert_true(event->reply->version <= heard);
        }
        usher_event_done(event);
    }
    must_be_silent(w->e);
    usher_unwatch(w->e, watcher);
}

TEST(a_notice_comes_before_the_reply_to_its_command)
{
    on_each(replies);
}

TEST(an_event_outlives_the_engine)
{
    const struct usher_event *event;
    struct usher_watcher *watcher;
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    watcher = watch(w.e, USHER_ROOM, NULL, 1);
    expect_ok(w.e, "room open lobby");
    expect_ok(w.e, "room set lobby topic hello");
    event = usher_collect(w.e, 0);
    usher_unwatch(w.e, watcher);
    must_be_silent(w.e);
    (void)watch(w.e, USHER_ROOM, NULL, 1); /* what is not collected goes with the engine */
    expect_ok(w.e, "room set lobby topic there");
    usher_close(w.e);
    assert_non_null(event);
    assert_string_equal(event->notice->scope.data, ROOM);
    assert_int_equal(event->notice->verb, USHER_ROOM_OPEN);
    usher_event_done(event);
    assert_null(hooks_fault(&w.hooks));
}

static void of_one(struct world *w)
{
    struct usher_watcher *a = watch(w->e, USHER_NUMBER, "p", 1);
    struct usher_watcher *b = watch(w->e, USHER_NUMBER, "p", 2);

    add_number(w->e, "p", 1);
    add_number(w->e, "p", 2);
    usher_unwatch(w->e, a); /* of four events two stay */
    must_hear(w->e, "p", 1, 2);
    must_hear(w->e, "p", 2, 2);
    must_be_silent(w->e);
    add_number(w->e, "p", 3);
    usher_unwatch(w->e, b);
    must_be_silent(w->e);
    add_number(w->e, "p", 4);
    must_be_silent(w->e);
    usher_unwatch(w->e, NULL);
}

TEST(removed_watcher_gets_no_more_events)
{
    on_each(of_one);
}

TEST(wrong_arguments_of_a_watcher_are_refused)
{
    struct usher_watcher *watcher;
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
#define WRONG(status, noun, scope, flags, version, ret)                                     \
    assert_int_equal(                                                                       \
        usher_watch_events(w.e, (enum usher_noun)(noun), scope, flags, version, NULL, ret), \
        status)
    WRONG(USHER_INVALID, USHER_ROOM, ROOM, 0, 0, NULL);
    WRONG(USHER_INVALID, 99, ROOM, 0, 0, &watcher);
    WRONG(USHER_INVALID, 99, NULL, 0, 0, &watcher);
    WRONG(USHER_INVALID, 0, ROOM, 0, 0, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, "{}", 0, 0, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, ROOM, 8, 0, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, NULL, USHER_WATCH_TEND, 0, &watcher);
    WRONG(USHER_REFUSED, USHER_ID, "i", USHER_WATCH_TEND, 0, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, ROOM, 0, 5, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, ROOM, USHER_WATCH_ALL, 0, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, NULL, USHER_WATCH_SINCE, 0, &watcher);
    WRONG(USHER_INVALID, USHER_ROOM, ROOM, USHER_WATCH_SINCE, UINT64_MAX, &watcher);
#undef WRONG
    assert_string_not_equal(usher_message(), "");
    assert_int_equal(usher_watch_events(NULL, USHER_ROOM, ROOM, 0, 0, NULL, &watcher),
                     USHER_INVALID);
    world_close(&w);
}

/* ---- bytes ---- */

TEST(events_are_bytes)
{
    static const char *const lines[] = {
        "room open lobby presence=60000",
        "room join lobby ann a=b",
        "room join lobby bob",
        "room set lobby f v",
        "number add p 1",
        "number reg p 1",
        "number call p owner=ann",
        "queue login desk ann",
        "queue apply desk bob lane=x",
        "serial rule bill prefix=B",
        "serial take bill",
        "id create d",
    };
    unsigned char bytes[2048], other[2048];
    const struct usher_event *event;
    struct usher_notice n;
    struct world w;
    uint32_t kind;
    unsigned seen = 0, gaps = 0;

    world_begin(&w);
    w.opt.backlog = 10;
    world_open(&w, stores_named("memory"));
    (void)watch(w.e, (enum usher_noun)0, NULL, 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect_ok(w.e, "%s", lines[i]);
    while ((event = usher_collect(w.e, 0)) != NULL) {
        const struct usher_notice *was = event->notice;
        size_t size = usher_event_pack(event, bytes, sizeof bytes);

        assert_true(size > 0 && size <= sizeof bytes);
        assert_int_equal(usher_event_pack(event, NULL, 0), size);
        assert_int_equal(usher_event_unpack(bytes, size, &kind, &n), USHER_OK);
        assert_int_equal(kind, event->kind);
        assert_true(n.noun == was->noun && n.epoch == was->epoch && n.version == was->version &&
                    n.before == was->before && n.now_ms == was->now_ms && n.verb == was->verb &&
                    n.from == was->from && n.to == was->to && n.token == was->token &&
                    n.until_ms == was->until_ms && n.was == was->was && n.mark == was->mark);
        assert_true(text_equal(&n.scope, &was->scope) && text_equal(&n.subject, &was->subject) &&
                    text_equal(&n.owner, &was->owner) && text_equal(&n.data, &was->data));
        for (size_t cut = 0; cut < size; cut++) {
            memcpy(other, bytes, cut);
            assert_int_equal(usher_event_unpack(other, cut, &kind, &n), USHER_INVALID);
            memcpy(other, bytes, size);
            other[cut] ^= 0xff;
            if (usher_event_unpack(other, size, &kind, &n) == USHER_OK)
                (void)hooks_read_notice(&n);
        }
        assert_int_equal(usher_event_unpack(bytes, size + 1, &kind, &n), USHER_INVALID);
        seen++;
        gaps += event->kind == USHER_EVENT_GAP;
        usher_event_done(event);
    }
    assert_true(seen > 10 && gaps == 1);
    world_close(&w);
}

/* Read every value of @r, and pack it again. */
static size_t read_all(const struct usher_reply *r, unsigned char *to, size_t size)
{
    size_t n, texts = 0;

    for (size_t row = 0; row <= r->n_rows; row++) {
        const struct usher_value *v =
            usher_reply_values(r, row < r->n_rows ? row : USHER_ANSWER, &n);

        for (size_t i = 0; i < n; i++)
            texts += v[i].text != NULL ? strlen(v[i].text) : 0;
    }
    assert_true(texts < size);
    return usher_reply_pack(r, to, size);
}

TEST(replies_are_bytes)
{
    static const char *const lines[] = {
        "number add p 1",       "number add p 2 group=A", "number list p",
        "number call p",        "number call p number=9", "queue login desk ann",
        "queue apply desk bob", "queue agents desk",      "room open r",
        "room join r ann c=d",  "room snapshot r",        "serial take nowhere",
    };
    unsigned char bytes[2048], other[2048], again[4096];
    struct usher_command c;
    char room[2048];
    struct usher_reply *reply, *sent;
    unsigned rows = 0;
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t size;

        assert_int_equal(usher_command_parse(lines[i], strlen(lines[i]), room, sizeof room, &c),
                         USHER_OK);
        assert_int_equal(usher_execute(w.e, &c, 1, 0, &reply), USHER_OK);
        size = usher_reply_pack(reply, bytes, sizeof bytes);
        assert_true(size > 0 && size <= sizeof bytes);
        rows += reply->n_rows;
        usher_reply_done(reply);
        assert_int_equal(usher_reply_unpack(bytes, size, &sent), USHER_OK);
        assert_int_equal(read_all(sent, again, sizeof again), size);
        assert_memory_equal(bytes, again, size);
        usher_reply_done(sent);
        for (size_t cut = 0; cut < size; cut++) {
            memcpy(other, bytes, cut);
            assert_int_equal(usher_reply_unpack(other, cut, &sent), USHER_INVALID);
            assert_null(sent);
            for (unsigned bit = 0; bit < 8; bit++) {
                memcpy(other, bytes, size);
                other[cut] ^= (unsigned char)(1u << bit);
                if (usher_reply_unpack(other, size, &sent) == USHER_OK)
                    /* no more than there was; an integer may have become shorter */
                    assert_true(read_all(sent, again, sizeof again) <= size);
                usher_reply_done(sent);
            }
        }
        assert_int_equal(usher_reply_unpack(bytes, size + 1, &sent), USHER_INVALID);
    }
    assert_true(rows >= 4);
    world_close(&w);
}

/* ---- gaps ---- */

static void full(struct world *w)
{
    struct usher_watcher *watcher = watch(w->e, USHER_NUMBER, NULL, 1);

    for (unsigned i = 1; i <= 10; i++)
        add_number(w->e, "p", i);
    for (unsigned i = 1; i <= 4; i++)
        must_hear(w->e, "p", i, 1);
    must_miss(w->e, "p", 4, 10);
    must_be_silent(w->e);
    for (unsigned i = 11; i <= 13; i++)
        add_number(w->e, "p", i);
    for (unsigned i = 11; i <= 13; i++)
        must_hear(w->e, "p", i, 1);
    /* notices that come while a gap is pending are part of it, though there is space for them */
    for (unsigned i = 14; i <= 18; i++)
        add_number(w->e, "p", i);
    must_hear(w->e, "p", 14, 1);
    add_number(w->e, "p", 19);
    for (unsigned i = 15; i <= 17; i++)
        must_hear(w->e, "p", i, 1);
    must_miss(w->e, "p", 17, 19);
    must_be_silent(w->e);
    /* of several scopes: of any */
    for (unsigned i = 20; i <= 24; i++)
        add_number(w->e, "p", i);
    add_number(w->e, "q", 1);
    add_number(w->e, "p", 25);
    for (unsigned i = 20; i <= 21; i++)
        must_hear(w->e, "p", i, 1);
    add_number(w->e, "q", 2); /* after the gap */
    for (unsigned i = 22; i <= 23; i++)
        must_hear(w->e, "p", i, 1);
    must_miss(w->e, "", 0, 0);
    must_hear(w->e, "q", 2, 1);
    must_be_silent(w->e);
    usher_unwatch(w->e, watcher);
}

TEST(notices_beyond_the_limit_become_one_gap)
{
    on_each_with(full, 4);
}

TEST(a_gap_goes_with_its_watcher)
{
    struct usher_watcher *a, *b;
    struct world w;

    world_begin(&w);
    w.opt.backlog = 1;
    world_open(&w, stores_named("memory"));
    a = watch(w.e, USHER_NUMBER, "p", 1);
    b = watch(w.e, USHER_NUMBER, "p", 2);
    for (unsigned i = 1; i <= 5; i++)
        add_number(w.e, "p", i);
    usher_unwatch(w.e, b); /* collected first: the space was its own */
    must_miss(w.e, "p", 0, 5);
    must_be_silent(w.e);
    for (unsigned i = 6; i <= 9; i++)
        add_number(w.e, "p", i);
    usher_unwatch(w.e, a);
    must_be_silent(w.e);
    world_close(&w);
}

static void nap(void)
{
    const struct timespec some = { 0, 120000000 };

    (void)nanosleep(&some, NULL);
}

/* A store that does not know. */
static void doubt_execute(struct usher_store *s, struct usher_task *tasks, size_t n,
                          const struct usher_context *context)
{
    (void)s;
    (void)context;
    for (size_t i = 0; i < n; i++)
        usher_result_fail(tasks[i].reply, USHER_UNKNOWN, "who knows");
}

static enum usher_status doubt_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    (void)s;
    (void)noun;
    (void)scope;
    (void)deadline_ms;
    (void)fn;
    (void)payload;
    message[0] = '\0';
    return USHER_UNAVAILABLE;
}

TEST(command_with_unknown_outcome_is_a_gap)
{
    static const struct usher_store_ops ops = {
        .size = sizeof(struct usher_store_ops),
        .name = "doubt",
        .execute = doubt_execute,
        .scan = doubt_scan,
        .list = list_nothing,
        .close = close_nothing,
    };
    struct usher_store store = { &ops };
    struct usher_watcher *all, *other, *follows = NULL;
    struct usher_engine *e;

    assert_int_equal(usher_open_store(&store, NULL, &e), USHER_OK);
    all = watch(e, USHER_ROOM, NULL, 1);
    other = watch(e, USHER_ROOM, "other", 2);
    assert_int_equal(
        usher_watch_events(e, USHER_ROOM, "lobby", USHER_WATCH_SINCE, 0, (void *)3, &follows),
        USHER_OK);
    expect(e, USHER_UNKNOWN, "room set lobby f v");
    must_miss(e, "lobby", 0, 0);
    assert_null(usher_collect(e, 0)); /* the log was asked for, and will be again */
    nap();
    assert_null(usher_collect(e, 0));
    assert_true(usher_timeout(e) > 0);
    usher_unwatch(e, follows);
    usher_unwatch(e, other);
    usher_unwatch(e, all);
    must_be_silent(e);
    usher_close(e);
}

/* Every allocation fails once, then for ever. */
struct faulty {
    struct usher_allocator alloc;
    struct hooks *hooks;
    unsigned long n, fail_at; /* 0: never */
    bool for_ever, fired;
};

static void *faulty_resize(void *payload, void *p, size_t old, size_t size)
{
    struct faulty *f = payload;

    if (size > old || p == NULL) {
        f->n++;
        if (f->fail_at != 0 && (f->n == f->fail_at || (f->for_ever && f->n > f->fail_at))) {
            f->fired = true;
            return NULL;
        }
    }
    return f->hooks->alloc.resize(f->hooks->alloc.payload, p, old, size);
}

/* Collect until the chain has come to @version of the room. */
static void chain_until(struct usher_engine *e, struct chain *c, uint64_t version)
{
    for (int i = 0; i < 100 && c->version != version; i++) {
        (void)chain_collect(e, c);
        if (c->version != version)
            nap();
    }
    assert_int_equal(c->version, version);
}

/* False: it has come through without a failure. */
static bool oom_run(const struct test_store *store, unsigned long at, bool for_ever, unsigned flags)
{
    enum { OTHERS = 8 }; /* so many that the next watcher makes what they stand in grow */
    struct usher_watcher *other[OTHERS] = { NULL };
    struct faulty f = { { faulty_resize, NULL }, NULL, 0, 0, false, false };
    struct usher_watcher *watcher = NULL;
    struct chain chain = { 0 };
    const struct usher_event *event;
    enum usher_status status;
    struct world w;
    uint64_t last;
    bool fired;

    world_begin(&w);
    f.alloc.payload = &f;
    f.hooks = &w.hooks;
    w.opt.alloc = &f.alloc;
    world_open(&w, store);
    expect_ok(w.e, "room open lobby");
    for (unsigned i = 0; i < 3; i++)
        (void)set_room(w.e, ROOM, i);
    for (unsigned i = 0; !for_ever && i < OTHERS; i++) {
        char scope[16];

        (void)snprintf(scope, sizeof scope, "other%u", i);
        other[i] = watch(w.e, USHER_ROOM, scope, OF_OTHERS);
    }
    f.fail_at = f.n + at;
    f.for_ever = for_ever;
    status = usher_watch_events(w.e, USHER_ROOM, ROOM, flags, 0, NULL, &watcher);
    assert_true(status == USHER_OK || (f.fired && status == USHER_NOMEM));
    for (unsigned i = 3; i < 8; i++) {
        struct usher_result r;

        (void)line_execute(w.e, &r, "room set lobby f v%u", i);
        usher_result_done(&r);
        if (i == 5)
            while ((event = usher_collect(w.e, 0)) != NULL) {
                chain_add(&chain, event);
                usher_event_done(event);
            }
    }
    fired = f.fired;
    f.fail_at = 0;
    last = set_room(w.e, ROOM, 99);
    if (status == USHER_OK) {
        chain_until(w.e, &chain, last);
        assert_true(fired || chain.gaps == 0);
        if ((flags & USHER_WATCH_SINCE) != 0)
            assert_true(chain.gaps == 0 && chain.notices == last);
        else if (!fired)
            assert_true(chain.notices == 6);
        usher_unwatch(w.e, watcher);
    }
    for (unsigned i = 0; i < OTHERS; i++)
        usher_unwatch(w.e, other[i]);
    assert_null(usher_collect(w.e, 0));
    world_close(&w);
    return fired;
}

TEST(a_watcher_without_memory_gets_a_gap)
{
    for (unsigned i = 0; i < n_stores; i++)
        for (unsigned k = 0; k < 8; k++)
            for (unsigned long at = 1; at < 200; at++)
                if (!oom_run(&stores[i], at, (k & 1) != 0,
                             ((k & 2) != 0 ? USHER_WATCH_SINCE : 0u) |
                                 ((k & 4) != 0 ? USHER_WATCH_TEND : 0u)))
                    break;
}

/* ---- since ---- */

static void log_first(struct world *w)
{
    struct chain chain = { 0 };
    struct usher_watcher *watcher;
    uint64_t last = 0;

    expect_ok(w->e, "room open lobby");
    for (unsigned i = 0; i < 220; i++)
        last = set_room(w->e, ROOM, i);
    watcher = since(w->e, 0, 20);
    chain.version = 20;
    assert_true(is_readable(w->e));
    last = set_room(w->e, ROOM, 1000); /* before the log was read */
    assert_int_equal(chain_collect(w->e, &chain), last - 20);
    assert_int_equal(chain.version, last);
    for (unsigned i = 0; i < 10; i++) {
        last = set_room(w->e, ROOM, 2000 + i);
        assert_int_equal(chain_collect(w->e, &chain), 1);
    }
    assert_int_equal(chain.version, last);
    assert_int_equal(chain.gaps, 0);
    usher_unwatch(w->e, watcher);
    /* what is there already */
    watcher = since(w->e, 0, last);
    assert_int_equal(chain_collect(w->e, &chain), 0);
    (void)set_room(w->e, ROOM, 3000);
    assert_int_equal(chain_collect(w->e, &chain), 1);
    usher_unwatch(w->e, watcher);
    must_be_silent(w->e);
}

TEST(a_watcher_gets_the_log_before_new_notices)
{
    on_each(log_first);
}

static void small_backlog(struct world *w)
{
    struct chain chain = { 0 };
    struct usher_watcher *watcher;
    uint64_t last = 0;

    expect_ok(w->e, "room open lobby");
    watcher = since(w->e, 0, 0);
    for (unsigned i = 0; i < 50; i++)
        last = set_room(w->e, ROOM, i);
    (void)chain_collect(w->e, &chain);
    for (unsigned i = 0; i < 50; i++)
        last = set_room(w->e, ROOM, i + 100);
    (void)chain_collect(w->e, &chain);
    assert_int_equal(chain.version, last);
    assert_int_equal(chain.notices, last);
    assert_int_equal(chain.gaps, 0);
    usher_unwatch(w->e, watcher);
}

TEST(watcher_of_a_log_loses_nothing_when_backlog_is_full)
{
    on_each_with(small_backlog, 3);
}

static void short_log(struct world *w)
{
    struct chain chain = { 0 };
    struct usher_watcher *watcher;
    uint64_t last = 0;

    expect_ok(w->e, "room open lobby log=5");
    for (unsigned i = 0; i < 20; i++)
        last = set_room(w->e, ROOM, i);
    watcher = since(w->e, 0, 3);
    must_miss(w->e, ROOM, 3, last);
    chain.version = last;
    last = set_room(w->e, ROOM, 100);
    assert_int_equal(chain_collect(w->e, &chain), 1);
    assert_int_equal(chain.version, last);
    usher_unwatch(w->e, watcher);
    /* of a room that is not as far yet: another one of the name */
    watcher = since(w->e, 0, last + 10);
    must_miss(w->e, ROOM, last + 10, last);
    (void)set_room(w->e, ROOM, 101);
    assert_int_equal(chain_collect(w->e, &chain), 1);
    usher_unwatch(w->e, watcher);
}

TEST(a_log_that_does_not_reach_back_is_a_gap)
{
    on_each(short_log);
}

static void no_log(struct world *w)
{
    struct usher_engine *other = NULL;
    struct usher_watcher *watcher;
    struct usher_options opt = USHER_OPTIONS_INIT;

    assert_int_equal(
        usher_watch_events(w->e, USHER_NUMBER, "p", USHER_WATCH_SINCE, 0, (void *)1, &watcher),
        USHER_OK);
    add_number(w->e, "p", 1); /* before anything was read */
    must_hear(w->e, "p", 1, 1);
    assert_null(usher_collect(w->e, 0));
    usher_unwatch(w->e, watcher);
    assert_int_equal(
        usher_watch_events(w->e, USHER_NUMBER, "p", USHER_WATCH_SINCE, 0, (void *)1, &watcher),
        USHER_OK);
    must_miss(w->e, "p", 0, 1);
    add_number(w->e, "p", 2);
    must_hear(w->e, "p", 2, 1);
    if (strncmp(w->url, "memory", 6) != 0) { /* what another made is not known */
        assert_int_equal(usher_open(w->url, &opt, &other), USHER_OK);
        add_number(other, "p", 3);
        add_number(w->e, "p", 4);
        must_miss(w->e, "p", 2, 4);
        expect_ok(other, "number set p log=9");
        add_number(other, "p", 5);
        add_number(w->e, "p", 6);
        for (uint64_t version = 5; version <= 7; version++)
            must_hear(w->e, "p", version, 1);
        usher_close(other);
    }
    usher_unwatch(w->e, watcher);
}

/* Changes of this engine are notified; those of others are a gap, until a log is kept, which begins
 * with the command that sets it. */
TEST(pool_without_a_log_is_notified_with_gaps)
{
    on_each(no_log);
}

/* ---- to tend ---- */

static struct usher_watcher *tend(struct usher_engine *e, enum usher_noun noun, const char *scope,
                                  unsigned flags, uintptr_t tag)
{
    struct usher_watcher *watcher = NULL;

    assert_int_equal(
        usher_watch_events(e, noun, scope, USHER_WATCH_TEND | flags, 0, (void *)tag, &watcher),
        USHER_OK);
    return watcher;
}

/* The next event that comes, which is a notice of @verb, and by itself. */
static void must_come(struct usher_engine *e, enum usher_verb verb, int64_t not_before_ms)
{
    const struct usher_event *event = usher_collect(e, LONG_MS);
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_NOTICE);
    if (event->notice->verb != verb)
        fail_msg("%s in place of %s", usher_verb_word(event->notice->verb), usher_verb_word(verb));
    if ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 < not_before_ms)
        fail_msg("%s comes too early", usher_verb_word(verb));
    usher_event_done(event);
}

static int64_t until_of(struct usher_engine *e, const char *line)
{
    struct usher_result r;
    int64_t due_ms;

    assert_int_equal(line_execute(e, &r, "%s", line), USHER_OK);
    due_ms = r.due_ms;
    usher_result_done(&r);
    return due_ms;
}

static void tended(struct world *w)
{
    struct usher_watcher *watchers[3];
    int64_t due_ms;

    /* a hold, whose scope is made later; and again after another call of its number */
    watchers[0] = tend(w->e, USHER_NUMBER, "p", 0, 1);
    assert_null(usher_collect(w->e, 0));
    expect_ok(w->e, "number add p 1");
    expect_ok(w->e, "number reg p 1");
    must_hear(w->e, "p", 1, 1);
    must_hear(w->e, "p", 2, 1);
    for (int i = 0; i < 3; i++) {
        due_ms = until_of(w->e, "number call p owner=ann lease=30");
        must_come(w->e, USHER_NUMBER_CALL, 0);
        must_come(w->e, USHER_NUMBER_EXPIRE, due_ms);
    }
    /* the next caller is seated when the wrap-up is over */
    watchers[1] = tend(w->e, USHER_QUEUE, "q", 0, 2);
    expect_ok(w->e, "queue set q wrapup=30");
    expect_ok(w->e, "queue login q ann");
    expect_ok(w->e, "queue apply q bob");
    expect_ok(w->e, "queue apply q cid");
    (void)until_of(w->e, "queue leave q bob");
    must_come(w->e, USHER_QUEUE_SET, 0);
    must_come(w->e, USHER_QUEUE_LOGIN, 0);
    must_come(w->e, USHER_QUEUE_APPLY, 0);
    must_come(w->e, USHER_QUEUE_MATCH, 0);
    must_come(w->e, USHER_QUEUE_APPLY, 0);
    must_come(w->e, USHER_QUEUE_LEAVE, 0);
    must_come(w->e, USHER_QUEUE_EXPIRE, 0); /* ann's wrap-up */
    must_come(w->e, USHER_QUEUE_MATCH, 0);  /* cid */
    /* a room without members closes, with a log as well */
    watchers[2] = tend(w->e, USHER_ROOM, ROOM, USHER_WATCH_SINCE, 3);
    assert_null(usher_collect(w->e, 0));
    due_ms = until_of(w->e, "room open lobby linger=30");
    must_come(w->e, USHER_ROOM_OPEN, 0);
    must_come(w->e, USHER_ROOM_EMPTY, due_ms);
    for (int i = 0; i < 3; i++)
        usher_unwatch(w->e, watchers[i]);
}

TEST(a_swept_scope_changes_without_commands)
{
    on_each(tended);
}

/* Another engine makes the hold: what the watcher reads of the log says when it ends. */
TEST(hold_of_another_engine_is_swept)
{
    for (unsigned i = 0; i < n_stores; i++) {
        struct usher_watcher *watcher;
        struct usher_engine *other;
        struct world w;
        int64_t due_ms;

        if (strcmp(stores[i].name, "memory") == 0) /* it has one engine */
            continue;
        world_begin(&w);
        world_open(&w, &stores[i]);
        assert_int_equal(usher_open(w.url, NULL, &other), USHER_OK);
        expect_ok(other, "number set p log=10");
        expect_ok(other, "number add p 1");
        expect_ok(other, "number reg p 1");
        watcher = tend(w.e, USHER_NUMBER, "p", USHER_WATCH_SINCE, 1);
        must_come(w.e, USHER_NUMBER_SET, 0);
        must_come(w.e, USHER_NUMBER_ADD, 0);
        must_come(w.e, USHER_NUMBER_REG, 0);
        assert_null(usher_collect(w.e, 0));
        due_ms = until_of(other, "number call p owner=ann lease=100");
        must_come(w.e, USHER_NUMBER_CALL, 0);
        must_come(w.e, USHER_NUMBER_EXPIRE, due_ms);
        usher_unwatch(w.e, watcher);
        usher_close(other);
        world_close(&w);
    }
}

static int64_t later_clock(void *payload)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 + *(const int64_t *)payload;
}

/* A machine has slept, or its clock was set: the timer does not stand for what was left before. */
TEST(a_clock_that_steps_forward_is_noticed)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_watcher *watcher;
    struct usher_engine *e;
    int64_t step = -3 * INT64_C(3600000), due_ms;

    opt.now_ms = later_clock;
    opt.payload = &step;
    assert_int_equal(usher_open("memory:", &opt, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    expect_ok(e, "number reg p 1");
    due_ms = until_of(e, "number call p lease=7200000");
    watcher = tend(e, USHER_NUMBER, "p", 0, 1);
    assert_null(usher_collect(e, 0));
    assert_in_range(usher_timeout(e), 1, 10000);
    step = 0;
    must_come(e, USHER_NUMBER_EXPIRE, due_ms);
    usher_unwatch(e, watcher);
    usher_close(e);
}

static int64_t ahead_clock(void *payload)
{
    int64_t half_an_hour = 1800000;

    (void)payload;
    return later_clock(&half_an_hour);
}

/* The clock of the application is half an hour ahead of the store's: it is swept when the lease
 * ends, and not again and again until then. */
TEST(a_clock_that_differs_makes_no_busy_loop)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct hooks hooks;
    struct usher_watcher *watcher;
    struct usher_engine *e;

    memset(&hooks, 0, sizeof hooks);
    hooks_trace(&hooks, &opt);
    opt.now_ms = ahead_clock;
    assert_int_equal(usher_open("memory:?skew=3600000", &opt, &e), USHER_OK);
    watcher = tend(e, USHER_NUMBER, "p", 0, 1);
    expect_ok(e, "number add p 1");
    expect_ok(e, "number reg p 1");
    (void)until_of(e, "number call p lease=300");
    must_come(e, USHER_NUMBER_ADD, 0);
    must_come(e, USHER_NUMBER_REG, 0);
    must_come(e, USHER_NUMBER_CALL, 0);
    /* who names a time that has passed does not delay the end */
    expect_ok(e, "number add p 2 now=1000");
    must_come(e, USHER_NUMBER_ADD, 0);
    must_come(e, USHER_NUMBER_EXPIRE, 0);
    /* commands, one sweep to begin with and one when the lease ends, which may be one early */
    assert_in_range(atomic_load(&hooks.traced), 5, 7);
    usher_unwatch(e, watcher);
    usher_close(e);
}

/* Many at once, with one timer: each within moments, and nothing is asked between. */
TEST(many_scopes_share_one_timer)
{
    enum { SCOPES = 200 };
    static struct usher_watcher *watchers[SCOPES];
    struct world w;
    unsigned expired = 0;
    char line[80], scope[16];

    world_begin(&w);
    hooks_trace(&w.hooks, &w.opt);
    world_open(&w, stores_named("memory"));
    for (unsigned i = 0; i < SCOPES; i++) {
        (void)snprintf(scope, sizeof scope, "p%u", i);
        watchers[i] = tend(w.e, USHER_NUMBER, scope, 0, i);
        add_number(w.e, scope, 1);
        (void)snprintf(line, sizeof line, "number reg %s 1", scope);
        expect_ok(w.e, "%s", line);
        (void)snprintf(line, sizeof line, "number call %s lease=%u", scope, 50 + i);
        expect_ok(w.e, "%s", line);
    }
    while (expired < SCOPES) {
        const struct usher_event *event = usher_collect(w.e, LONG_MS);

        assert_non_null(event);
        expired += event->notice->verb == USHER_NUMBER_EXPIRE;
        usher_event_done(event);
    }
    while (usher_timeout(w.e) != -1) /* one more is to come where a sweep was early */
        assert_null(usher_collect(w.e, usher_timeout(w.e)));
    /* three commands, a first sweep and one when the lease ends; on a slow machine the lease may
     * end before the first sweep */
    print_message("%" PRIu64 " commands\n", (uint64_t)atomic_load(&w.hooks.traced));
    assert_in_range(atomic_load(&w.hooks.traced), SCOPES * 4, SCOPES * 5 + SCOPES / 2);
    for (unsigned i = 0; i < SCOPES; i++)
        usher_unwatch(w.e, watchers[i]);
    world_close(&w);
}

/* ---- many ---- */

#define SCOPES 300u
#define ALL 900u /* so many that there are more lists than for two each of the first */

static struct {
    struct usher_engine *e;
    unsigned called[ALL], others, second, wrong;
    struct usher_watcher *watchers[ALL];
    bool more; /* the next one that is called has more watch */
} many;

static unsigned number_of(const struct usher_text *scope)
{
    unsigned n = 0;

    for (size_t i = 1; i < scope->size; i++)
        n = n * 10 + (unsigned)(scope->data[i] - '0');
    return n;
}

static void call_of_one(void *payload, const struct usher_notice *n)
{
    unsigned *called = payload;
    char scope[16];

    many.wrong += called != &many.called[number_of(&n->scope)];
    ++*called;
    if (!many.more)
        return;
    many.more = false;
    for (unsigned i = SCOPES; i < ALL; i++) {
        (void)snprintf(scope, sizeof scope, "p%u", i);
        assert_int_equal(usher_watch(many.e, USHER_NUMBER, scope, call_of_one, &many.called[i],
                                     &many.watchers[i]),
                         USHER_OK);
    }
}

static unsigned count_collected(struct usher_engine *e)
{
    unsigned n = 0;

    for (const struct usher_event *event; (event = usher_collect(e, 0)) != NULL; n++)
        usher_event_done(event);
    return n;
}

static void call_of_any(void *payload, const struct usher_notice *n)
{
    (void)n;
    ++*(unsigned *)payload;
}

/* The watchers of a scope are notified of a change, and no others are; even if watchers are added
 * during the notification, or some have been removed. */
static void of_many(struct world *w)
{
    static struct usher_watcher *collected[SCOPES];
    struct usher_watcher *any, *second;
    char scope[16];

    memset(&many, 0, sizeof many);
    many.e = w->e;
    /* after the other watcher of the scope, which adds more */
    assert_int_equal(usher_watch(w->e, USHER_NUMBER, "p0", call_of_any, &many.second, &second),
                     USHER_OK);
    assert_int_equal(usher_watch(w->e, 0, NULL, call_of_any, &many.others, &any), USHER_OK);
    for (unsigned i = 0; i < SCOPES; i++) {
        (void)snprintf(scope, sizeof scope, "p%u", i);
        collected[i] = watch(w->e, USHER_NUMBER, scope, i + 1);
        assert_int_equal(
            usher_watch(w->e, USHER_NUMBER, scope, call_of_one, &many.called[i], &many.watchers[i]),
            USHER_OK);
    }
    many.more = true;
    for (unsigned i = 0; i < ALL; i++) {
        (void)snprintf(scope, sizeof scope, "p%u", i);
        add_number(w->e, scope, 1);
        assert_int_equal(many.called[i], 1);
        if (i < SCOPES) {
            const struct usher_event *event = usher_collect(w->e, 0);

            assert_non_null(event);
            assert_int_equal((uintptr_t)event->tag, i + 1);
            usher_event_done(event);
        }
        assert_null(usher_collect(w->e, 0));
        if (i % 2 == 0)
            usher_unwatch(w->e, many.watchers[i]);
        if (i < SCOPES && i % 3 == 0)
            usher_unwatch(w->e, collected[i]);
    }
    for (unsigned i = 0; i < ALL; i++) {
        (void)snprintf(scope, sizeof scope, "p%u", i);
        add_number(w->e, scope, 2);
        assert_int_equal(many.called[i], i % 2 == 0 ? 1 : 2);
        assert_int_equal(count_collected(w->e), i < SCOPES && i % 3 != 0 ? 1 : 0);
    }
    assert_int_equal(many.wrong, 0);
    assert_int_equal(many.others, ALL * 2);
    assert_int_equal(many.second, 2);
    usher_unwatch(w->e, second);
    usher_unwatch(w->e, any);
    for (unsigned i = 0; i < SCOPES; i++)
        if (i % 3 != 0)
            usher_unwatch(w->e, collected[i]);
}

TEST(each_of_many_watchers_receives_its_own_scope)
{
    on_each(of_many);
}

static void of_no_room(struct world *w)
{
    struct chain chain = { 0 };
    struct usher_watcher *watcher = since(w->e, 0, 0);

    assert_int_equal(chain_collect(w->e, &chain), 0);
    expect_ok(w->e, "room open lobby");
    expect_ok(w->e, "room join lobby ann");
    assert_int_equal(chain_collect(w->e, &chain), 2);
    for (int turn = 0; turn < 3; turn++) {
        assert_int_equal(ask_room_close(w->e, ROOM), USHER_OK);
        (void)chain_collect(w->e, &chain);
        assert_int_equal(chain.gaps, 0);
        memset(&chain, 0, sizeof chain); /* to the end; then one of another epoch */
        expect_ok(w->e, "room open lobby");
        assert_true(chain_collect(w->e, &chain) == 1 && chain.version == 1);
    }
    usher_unwatch(w->e, watcher);
    assert_int_equal(ask_room_close(w->e, ROOM), USHER_OK);
    watcher = since(w->e, 0, 5);
    must_miss(w->e, ROOM, 5, 0);
    memset(&chain, 0, sizeof chain);
    expect_ok(w->e, "room open lobby");
    assert_int_equal(chain_collect(w->e, &chain), 1);
    usher_unwatch(w->e, watcher);
}

TEST(watcher_follows_a_room_that_closes_and_opens)
{
    on_each(of_no_room);
}

static void together(struct world *w)
{
    struct chain chain = { 0 };
    struct usher_watcher *watcher = since(w->e, 0, 0), *late;
    uint64_t last;

    expect_ok(w->e, "room open lobby presence=60000");
    for (unsigned i = 0; i < 10; i++) {
        char line[40];

        (void)snprintf(line, sizeof line, "room join lobby m%u", i);
        expect_ok(w->e, "%s", line);
        if (i == 0)
            (void)chain_collect(w->e, &chain); /* reads the log: the rest is one event */
    }
    last = set_room(w->e, ROOM, 1);
    (void)chain_collect(w->e, &chain);
    assert_int_equal(chain.version, last);
    assert_int_equal(chain.gaps, 0);
    /* a watcher that begins in between has some of the coalesced changes */
    expect_ok(w->e, "room leave lobby m1");
    expect_ok(w->e, "room leave lobby m2");
    late = since(w->e, 0, last);
    {
        const struct usher_event *event = usher_collect(w->e, 0);

        assert_non_null(event);
        assert_int_equal(event->notice->verb, USHER_ROOM_LEAVE);
        usher_event_done(event);
    }
    usher_unwatch(w->e, watcher);
    expect_ok(w->e, "room leave lobby m3");
    chain.version = last + 1;
    chain.mark = 0;
    last = set_room(w->e, ROOM, 2);
    (void)chain_collect(w->e, &chain);
    assert_int_equal(chain.version, last);
    usher_unwatch(w->e, late);
}

TEST(coalesced_notices_come_once)
{
    on_each(together);
}

static void two_engines(struct world *w)
{
    struct usher_engine *other;
    struct chain all = { 0 };
    struct usher_watcher *watcher;
    uint64_t last;

    if (strncmp(w->url, "memory:", 7) == 0)
        return;
    assert_int_equal(usher_open(w->url, NULL, &other), USHER_OK);
    expect_ok(other, "room open lobby");
    watcher = since(w->e, 0, 0);
    assert_int_equal(chain_collect(w->e, &all), 1);
    (void)set_room(other, ROOM, 1);
    (void)set_room(other, ROOM, 2);
    assert_int_equal(chain_collect(w->e, &all), 0);
    last = set_room(w->e, ROOM, 3); /* shows the two */
    assert_int_equal(chain_collect(w->e, &all), 3);
    assert_int_equal(all.version, last);
    /* another room of the name */
    assert_int_equal(ask_room_close(other, ROOM), USHER_OK);
    expect_ok(other, "room open lobby");
    last = set_room(w->e, ROOM, 4);
    must_miss(w->e, ROOM, all.version, 0);
    memset(&all, 0, sizeof all);
    assert_int_equal(chain_collect(w->e, &all), 2);
    assert_int_equal(all.version, last);
    usher_unwatch(w->e, watcher);

    watcher = since(w->e, USHER_WATCH_ALL, last);
    assert_int_equal(chain_collect(w->e, &all), 0);
    assert_true(usher_timeout(w->e) > 0 && usher_timeout(w->e) <= 500);
    last = set_room(other, ROOM, 5);
    {
        const struct usher_event *event = usher_collect(w->e, LONG_MS);

        assert_non_null(event);
        chain_add(&all, event);
        usher_event_done(event);
    }
    assert_int_equal(all.version, last);
    usher_unwatch(w->e, watcher);
    usher_close(other);
}

TEST(changes_of_other_engines_are_notified)
{
    on_each(two_engines);
}

/* Another engine makes changes between coalesced ones. */
static void between(struct world *w)
{
    struct usher_watcher *watcher;
    struct usher_engine *other;
    const struct usher_event *event;
    bool seen = false;
    uint64_t last;

    if (strncmp(w->url, "memory:", 7) == 0)
        return;
    assert_int_equal(usher_open(w->url, NULL, &other), USHER_OK);
    watcher = since(w->e, 0, expect_ok(w->e, "room open lobby presence=60000").version);
    assert_null(usher_collect(w->e, 0));
    expect_ok(w->e, "room join lobby ann");
    expect_ok(other, "room join lobby bob");
    expect_ok(w->e, "room join lobby cem");
    last = set_room(w->e, ROOM, 1);
    for (uint64_t version = 1; version < last;) {
        struct usher_text bob = { "bob", 3 };

        event = usher_collect(w->e, 0);
        assert_non_null(event);
        assert_int_equal(event->kind, USHER_EVENT_NOTICE);
        assert_int_equal(event->notice->before, version);
        version = event->notice->version;
        seen = seen || text_equal(&event->notice->subject, &bob);
        usher_event_done(event);
    }
    assert_true(seen);
    usher_unwatch(w->e, watcher);
    usher_close(other);
}

TEST(a_change_between_coalesced_joins_comes_in_order)
{
    on_each(between);
}

/* Joins of one interval arrive together; no version is missing, so the log is not read. */
TEST(joins_without_a_hole_need_no_read)
{
    struct world w;
    struct usher_watcher *watcher;
    const struct usher_event *event;
    uint64_t before, last, version = 1;

    world_begin(&w);
    hooks_trace(&w.hooks, &w.opt);
    world_open(&w, stores_named("memory"));
    watcher = since(w.e, 0, expect_ok(w.e, "room open lobby presence=60000").version);
    assert_null(usher_collect(w.e, 0));
    before = atomic_load(&w.hooks.traced);
    expect_ok(w.e, "room join lobby ann");
    expect_ok(w.e, "room join lobby bob");
    expect_ok(w.e, "room join lobby cem");
    last = set_room(w.e, ROOM, 1);
    assert_int_equal(last, 5);
    while (version < last) {
        event = usher_collect(w.e, 0);
        assert_non_null(event);
        assert_int_equal(event->notice->before, version);
        version = event->notice->version;
        usher_event_done(event);
    }
    assert_int_equal(atomic_load(&w.hooks.traced) - before, 4);
    usher_unwatch(w.e, watcher);
    world_close(&w);
}

/* The reader of the log waits in here for a change that comes after its read. */
struct meanwhile {
    struct usher_engine *e;
    enum usher_verb reads; /* the log */
    const char *line;      /* the change */
    atomic_int step;       /* 1: the log was read, 2: there is another change */
};

static void trace_meanwhile(void *payload, const struct usher_operation *command,
                            const struct usher_result *reply)
{
    struct meanwhile *m = payload;

    (void)reply;
    if (command->verb != m->reads || atomic_load(&m->step) != 0)
        return;
    atomic_store(&m->step, 1);
    while (atomic_load(&m->step) != 2)
        (void)sched_yield();
}

static void *change_meanwhile(void *payload)
{
    struct meanwhile *m = payload;

    while (atomic_load(&m->step) != 1)
        (void)sched_yield();
    expect_ok(m->e, "%s", m->line);
    atomic_store(&m->step, 2);
    return NULL;
}

static void meanwhile_begin(struct meanwhile *m, struct world *w, pthread_t *thread)
{
    world_begin(w);
    w->opt.trace = trace_meanwhile;
    w->opt.payload = m;
    world_open(w, stores_named("memory"));
    m->e = w->e;
    assert_int_equal(pthread_create(thread, NULL, change_meanwhile, m), 0);
}

TEST(a_change_during_a_read_of_the_log_is_notified)
{
    struct meanwhile m = { .reads = USHER_ROOM_CHANGES, .line = "room set lobby f v2" };
    struct chain chain = { 0 };
    struct usher_watcher *watcher;
    pthread_t thread;
    struct world w;

    meanwhile_begin(&m, &w, &thread);
    expect_ok(w.e, "room open lobby");
    watcher = since(w.e, 0, 0);
    assert_int_equal(chain_collect(w.e, &chain), 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(chain.version, 2);
    usher_unwatch(w.e, watcher);
    world_close(&w);
}

TEST(a_change_of_a_pool_during_a_read_is_no_gap)
{
    struct meanwhile m = { .reads = USHER_NUMBER_CHANGES, .line = "number add p 2" };
    struct usher_watcher *watcher;
    pthread_t thread;
    struct world w;

    meanwhile_begin(&m, &w, &thread);
    add_number(w.e, "p", 1);
    assert_int_equal(
        usher_watch_events(w.e, USHER_NUMBER, "p", USHER_WATCH_SINCE, 1, (void *)1, &watcher),
        USHER_OK);
    while (atomic_load(&m.step) != 2)
        (void)usher_work(w.e, 0);
    must_hear(w.e, "p", 2, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(usher_collect(w.e, 0));
    usher_unwatch(w.e, watcher);
    world_close(&w);
}

/* ---- what a store lost ---- */

TEST(loss_of_changes_is_notified)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_watcher *live, *watcher;
    const struct usher_event *event;
    struct rollback_copy *copy;
    struct usher_engine *e;
    unsigned lost = 0, gaps = 0;
    uint64_t had, last = 0;
    char line[64];

    options.drivers = &rollback_driver;
    assert_int_equal(usher_open("rollback:", &options, &e), USHER_OK);
    expect_ok(e, "room open lobby");
    (void)set_room(e, ROOM, 1);
    copy = rollback_copy();
    assert_non_null(copy);
    live = watch(e, USHER_ROOM, NULL, 1);
    assert_int_equal(
        usher_watch_events(e, USHER_ROOM, ROOM, USHER_WATCH_SINCE, 0, (void *)2, &watcher),
        USHER_OK);
    (void)set_room(e, ROOM, 2);
    had = set_room(e, ROOM, 3);
    while ((event = usher_collect(e, 0)) != NULL)
        usher_event_done(event);
    rollback_to(copy);
    (void)set_room(e, ROOM, 4);
    (void)snprintf(line, sizeof line, "room changes lobby since=%" PRIu64, had);
    expect(e, USHER_LOST, "%s", line);
    while ((event = usher_collect(e, 0)) != NULL) {
        const struct usher_notice *n = event->notice;

        if (n->verb == USHER_NOTICE_LOST && event->kind == USHER_EVENT_NOTICE) {
            lost++;
        } else if ((uintptr_t)event->tag == 2 && event->kind == USHER_EVENT_GAP) {
            assert_int_equal(n->before, had);
            assert_true(n->version < had);
            last = n->version;
            gaps++;
        } else if ((uintptr_t)event->tag == 2) {
            assert_int_equal(n->before, last);
            last = n->version;
        }
        usher_event_done(event);
    }
    assert_true(lost >= 2);
    assert_int_equal(gaps, 1);
    assert_true(last > had);
    rollback_free(copy);
    usher_unwatch(e, live);
    usher_unwatch(e, watcher);
    usher_close(e);
}

/* ---- with an authority ---- */

TEST(serials_of_an_authority_are_notified)
{
    static struct fake_authority authority;
    struct usher_watcher *watcher;
    const struct usher_event *event;
    struct world w;
    unsigned heard = 0, replied = 0;

    fake_authority_init(&authority);
    world_begin(&w);
    w.opt.authority = &authority.base;
    w.opt.journal = true;
    world_open(&w, stores_named("memory"));
    expect_ok(w.e, "serial rule bill prefix=B");
    watcher = watch(w.e, USHER_SERIAL, NULL, 1);
    for (uintptr_t i = 0; i < 20; i++) {
        struct usher_command c = { USHER_SERIAL_TAKE, USHER_TO_NUL, "bill", NULL, 0, (void *)i };

        assert_int_equal(usher_post(w.e, &c, 1, 0), USHER_OK);
    }
    while ((event = usher_collect(w.e, 0)) != NULL) {
        if (event->kind == USHER_EVENT_REPLY) {
            assert_int_equal(event->reply->status, USHER_OK);
            assert_int_equal((uintptr_t)event->tag, replied++);
            assert_true(heard >= replied);
        } else {
            assert_int_equal(event->kind, USHER_EVENT_NOTICE);
            heard++;
        }
        usher_event_done(event);
    }
    assert_int_equal(replied, 20);
    usher_unwatch(w.e, watcher);
    world_close(&w);
    fake_authority_done(&authority);
}

/* ---- processes and threads ---- */

TEST(child_process_receives_no_events)
{
    struct usher_watcher *watcher, *childs;
    const struct usher_event *event;
    struct world w;
    pid_t pid;
    int status;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    watcher = watch(w.e, USHER_NUMBER, NULL, 1);
    add_number(w.e, "p", 1);
    add_number(w.e, "p", 2);
    event = usher_collect(w.e, 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (usher_watch_events(w.e, USHER_NUMBER, NULL, 0, 0, NULL, &childs) != USHER_INVALID ||
            usher_collect(w.e, 0) != NULL || usher_fd(w.e) != -1 || usher_timeout(w.e) != -1)
            _exit(1);
        usher_unwatch(w.e, watcher);
        usher_close(w.e);
        usher_event_done(event);
        _exit(hooks_fault(&w.hooks) != NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    usher_event_done(event);
    must_hear(w.e, "p", 2, 1);
    must_be_silent(w.e);
    usher_unwatch(w.e, watcher);
    world_close(&w);
}

static void called(void *payload, const struct usher_notice *notice)
{
    const struct usher_event *event = usher_collect(payload, 0);

    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_NOTICE);
    assert_int_equal(event->notice->version, notice->version);
    usher_event_done(event);
}

TEST(a_callback_may_collect)
{
    struct usher_watcher *one, *two;
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    assert_int_equal(usher_watch(w.e, USHER_NUMBER, "p", called, w.e, &one), USHER_OK);
    two = watch(w.e, USHER_NUMBER, "p", 1);
    for (unsigned i = 0; i < 5; i++)
        add_number(w.e, "p", i);
    must_be_silent(w.e);
    usher_unwatch(w.e, one);
    usher_unwatch(w.e, two);
    world_close(&w);
}

enum { WRITERS = 3, COLLECTORS = 2 };

struct crowd {
    struct usher_engine *e;
    unsigned each;
    pthread_mutex_t lock; /* collectors keep the order by it */
    struct chain chain;
    atomic_bool over;
    atomic_ulong seen;
};

/* Some other value than now. */
static uint64_t change_room(struct usher_engine *e)
{
    static atomic_uint value;
    struct usher_result r;
    uint64_t version;

    if (!USHER_IS_DONE(line_execute(e, &r, "room set lobby f w%u", atomic_fetch_add(&value, 1))))
        fail_msg("%s", r.message);
    version = r.version;
    usher_result_done(&r);
    return version;
}

static void *write_some(void *payload)
{
    struct crowd *c = payload;

    for (unsigned i = 0; i < c->each; i++)
        (void)change_room(c->e);
    return NULL;
}

static void *collect_some(void *payload)
{
    struct crowd *c = payload;

    while (!atomic_load(&c->over)) {
        const struct usher_event *event;

        (void)pthread_mutex_lock(&c->lock);
        event = usher_collect(c->e, 0);
        if (event != NULL && event->tag == NULL)
            chain_add(&c->chain, event);
        (void)pthread_mutex_unlock(&c->lock);
        if (event != NULL)
            atomic_fetch_add(&c->seen, 1);
        usher_event_done(event);
    }
    return NULL;
}

static void crowded(struct world *w)
{
    struct crowd c = { .e = w->e, .each = (unsigned)budget_of("USHER_CROWD", 400) };
    pthread_t writers[WRITERS], collectors[COLLECTORS];
    struct usher_watcher *watcher;
    uint64_t last;

    assert_int_equal(pthread_mutex_init(&c.lock, NULL), 0);
    expect_ok(w->e, "room open lobby log=100000");
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_some, &c), 0);
    watcher = since(w->e, 0, 0); /* they are at it */
    for (unsigned i = 0; i < COLLECTORS; i++)
        assert_int_equal(pthread_create(&collectors[i], NULL, collect_some, &c), 0);
    for (unsigned i = 0; i < 50; i++) { /* others come and go */
        struct usher_watcher *some = NULL;

        assert_int_equal(usher_watch_events(w->e, USHER_ROOM, ROOM,
                                            (i % 2 == 0 ? USHER_WATCH_SINCE : 0u) |
                                                (i % 4 > 1 ? USHER_WATCH_TEND : 0u),
                                            0, (void *)1, &some),
                         USHER_OK);
        for (unsigned long until = atomic_load(&c.seen) + 3; atomic_load(&c.seen) < until;)
            (void)change_room(w->e);
        usher_unwatch(w->e, some);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(writers[i], NULL), 0);
    last = change_room(w->e);
    for (bool there = false; !there;) {
        (void)pthread_mutex_lock(&c.lock);
        there = c.chain.version >= last;
        (void)pthread_mutex_unlock(&c.lock);
    }
    atomic_store(&c.over, true);
    for (unsigned i = 0; i < COLLECTORS; i++)
        assert_int_equal(pthread_join(collectors[i], NULL), 0);
    assert_int_equal(c.chain.gaps, 0);
    assert_int_equal(c.chain.notices, last);
    usher_unwatch(w->e, watcher);
    assert_null(usher_collect(w->e, 0));
    (void)pthread_mutex_destroy(&c.lock);
}

TEST(no_change_is_missed_with_many_writers_and_collectors)
{
    on_each(crowded);
    on_each_with(crowded, 2);
}

/* ---- extensions ---- */

static void ext_told(void *payload, const struct usher_extension_event *event)
{
    unsigned *n = payload;

    if (event->what == USHER_EXTENSION_MADE || event->what == USHER_EXTENSION_SET)
        ++*n;
}

TEST(events_are_passed_to_an_extension)
{
    struct usher_text value = { "3", 1 };
    struct usher_extension *x;
    const struct usher_event *event;
    struct usher_watcher *watcher;
    struct world w;
    unsigned n = 0;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    expect_ok(w.e, "room open lobby");
    assert_int_equal(usher_room_extend(w.e, "board", ext_told, &n, &x), USHER_OK);
    watcher = since(w.e, 0, 0);
    assert_int_equal(usher_extension_set(x, ROOM, "page", &value, NULL), USHER_OK);
    assert_int_equal(n, 1); /* at once */
    while ((event = usher_collect(w.e, 0)) != NULL) {
        usher_extension_hear(x, event->notice);
        usher_event_done(event);
    }
    assert_int_equal(n, 2); /* and by the event */
    usher_extension_unwatch(x);
    value.data = "4";
    assert_int_equal(usher_extension_set(x, ROOM, "page", &value, NULL), USHER_OK);
    assert_int_equal(n, 2);
    event = usher_collect(w.e, 0);
    assert_non_null(event);
    usher_extension_hear(x, event->notice);
    usher_event_done(event);
    assert_int_equal(n, 3);
    usher_unwatch(w.e, watcher);
    usher_extension_close(x);
    world_close(&w);
}

/* Some changes of a rule of serials increase its epoch; a recreated rule has any. */
TEST(an_epoch_that_grows_with_the_versions_is_of_one_history)
{
    const uint64_t e = UINT64_C(0x1122334455667788), jump = UINT64_C(1) << 47;

    assert_true(usher__changes_go_on(e, 5, e, 5) && usher__changes_go_on(e, 5, e, 3));
    assert_true(usher__changes_go_on(e, 5, e + 1, 6) && usher__changes_go_on(e, 5, e + 2, 9));
    assert_false(usher__changes_go_on(e, 5, e + 2, 6));
    assert_false(usher__changes_go_on(e, 5, e + 1, 5));
    assert_false(usher__changes_go_on(e, 5, e - 1, 9));
    /* versions jump where a store changes hands: that says nothing of epochs */
    assert_true(usher__changes_go_on(e, 5, e + 1, jump));
    assert_false(usher__changes_go_on(e, 5, e + jump / 2, jump));
}

static int program_begin(void)
{
    if (getenv("USHER_STORES") == NULL)
        (void)setenv("USHER_STORES", "memory,sqlite", 1); /* Redis: model/test_hear_random */
    return stores_start();
}

TEST_PROGRAM(program_begin, stores_stop);
