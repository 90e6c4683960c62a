/* SPDX-License-Identifier: MIT */
/*
 * An event loop on a Redis server that is slow, stopped or gone: no call of the loop blocks, every
 * command has its answer and is executed at most once, and connections survive small timeouts.
 *
 * The duration of a call is measured by the clock of the machine, so bounds are wide: a call that
 * waits takes as long as the outage.
 */
#include "lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <usher/command.h>
#include <usher/room.h>

#include "lib/proxy.h"
#include "lib/servers.h"
#include "lib/util.h"

#define TAGS 4096
#define LONG_MS INT64_C(60000)

static struct redis_server *server;
static struct proxy *proxy;

/* ---- a host ---- */

struct host {
    struct usher_engine *e;
    uintptr_t posted, answered, done, unknown, unavailable;
    enum usher_status status[TAGS];
    int64_t longest_us; /* one call */
    unsigned notices, gaps;
};

static void host_open(struct host *h, const char *options)
{
    char url[96];

    memset(h, 0, sizeof *h);
    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d%s", proxy_port(proxy), options);
    if (usher_open(url, NULL, &h->e) != USHER_OK)
        fail_msg("%s", usher_message());
}

static void took(struct host *h, int64_t began_us)
{
    int64_t us = clock_us() - began_us;

    if (us > h->longest_us)
        h->longest_us = us;
}

static void post_verb(struct host *h, enum usher_verb verb, const char *scope,
                      const struct usher_value *values, size_t n, int64_t timeout_ms)
{
    struct usher_command c = { (uint32_t)verb, USHER_TO_NUL, scope, values, n, (void *)h->posted };
    int64_t began_us = clock_us();

    assert_in_range(h->posted, 0, TAGS - 1);
    assert_int_equal(usher_post(h->e, &c, 1, timeout_ms), USHER_OK);
    took(h, began_us);
    h->posted++;
}

/* Post a command that adds a new number to one of three pools. */
static void post_add(struct host *h, int64_t timeout_ms)
{
    static const char *const pools[] = { "a", "b", "c" };
    char number[24];
    const struct usher_value v = USHER_T(USHER_FIELD_NUMBER, number);

    (void)snprintf(number, sizeof number, "%" PRIuPTR, h->posted);
    post_verb(h, USHER_NUMBER_ADD, pools[h->posted % 3], &v, 1, timeout_ms);
}

static void count_event(struct host *h, const struct usher_event *event)
{
    if (event->kind == USHER_EVENT_REPLY) {
        uintptr_t tag = (uintptr_t)event->tag;
        enum usher_status status = event->reply->status;

        assert_in_range(tag, 0, h->posted - 1);
        assert_int_equal(h->status[tag], 0);
        h->status[tag] = USHER_IS_DONE(status) ? (enum usher_status)1 : status;
        h->answered++;
        h->done += USHER_IS_DONE(status);
        h->unknown += status == USHER_UNKNOWN;
        h->unavailable += status == USHER_UNAVAILABLE;
        if (!USHER_IS_DONE(status) && status != USHER_UNKNOWN && status != USHER_UNAVAILABLE)
            fail_msg("%" PRIuPTR ": %s (%s)", tag, usher_status_word(status),
                     event->reply->message);
    } else {
        h->notices += event->kind == USHER_EVENT_NOTICE;
        h->gaps += event->kind == USHER_EVENT_GAP;
    }
    usher_event_done(event);
}

/* One iteration of the loop, of about a millisecond. */
static void tick(struct host *h)
{
    const struct usher_event *event;
    int64_t timeout_ms = usher_timeout(h->e), began_us;
    struct pollfd fd = { usher_fd(h->e), POLLIN, 0 };

    (void)poll(&fd, 1, timeout_ms == 0 ? 0 : 1);
    do {
        began_us = clock_us();
        event = usher_collect(h->e, 0);
        took(h, began_us);
        if (event != NULL)
            count_event(h, event);
    } while (event != NULL);
}

/* Run the loop without other work until all commands are answered.  Notices may be left. */
static void answers(struct host *h)
{
    int64_t until_us = clock_us() + LONG_MS * 1000;

    for (;;) {
        const struct usher_event *event;
        struct pollfd fd = { usher_fd(h->e), POLLIN, 0 };

        while ((event = usher_collect(h->e, 0)) != NULL)
            count_event(h, event);
        if (h->answered >= h->posted)
            break;
        if (clock_us() > until_us)
            fail_msg("%" PRIuPTR " of %" PRIuPTR " answers", h->answered, h->posted);
        (void)poll(&fd, 1, (int)usher_timeout(h->e));
    }
}

/* Run ticks with a command each, for @ms.  Return their number. */
static unsigned ticks(struct host *h, int64_t ms, int64_t timeout_ms)
{
    int64_t until_us = clock_us() + ms * 1000;
    unsigned n = 0;

    for (; clock_us() < until_us; n++) {
        if (h->posted < TAGS - 200)
            post_add(h, timeout_ms);
        tick(h);
    }
    return n;
}

/* ---- tests ---- */

#define DELAY_MS 300

TEST(a_slow_server_does_not_block_the_loop)
{
    struct host h;

    host_open(&h, "");
    for (int fresh = 0; fresh < 2; fresh++) {
        (void)ticks(&h, 20, LONG_MS);
        if (fresh == 1)
            proxy_drop(proxy); /* the new connection is to a silent server */
        proxy_set_paused(proxy, true);
        h.longest_us = 0;
        assert_in_range(ticks(&h, DELAY_MS, LONG_MS), 10, 1000000);
        proxy_set_paused(proxy, false);
        print_message("longest %" PRId64 " us\n", h.longest_us);
        assert_in_range(h.longest_us, 0, DELAY_MS * 1000 / 2);
    }
    answers(&h);
    assert_int_equal(h.unavailable, 0);
    assert_true(h.done + h.unknown == h.posted);
    assert_true(h.done > 0);
    usher_close(h.e);
}

#define STOP_MS 1500

TEST(a_stopped_server_does_not_block_the_loop)
{
    struct usher_watcher *room, *all;
    struct host h;

    host_open(&h, "");
    assert_int_equal(usher_watch_events(h.e, USHER_ROOM, "r", USHER_WATCH_SINCE | USHER_WATCH_ALL,
                                        0, NULL, &room),
                     USHER_OK);
    assert_int_equal(usher_watch_events(h.e, USHER_NUMBER, NULL, 0, 0, NULL, &all), USHER_OK);
    (void)ticks(&h, 50, LONG_MS);
    answers(&h);
    assert_true(h.done > 0);
    assert_int_equal(redis_server_kill(server, SIGSTOP), 0);
    h.longest_us = 0;
    assert_in_range(ticks(&h, STOP_MS, 50), 10, 1000000);
    print_message("longest %" PRId64 " us\n", h.longest_us);
    assert_in_range(h.longest_us, 0, STOP_MS * 1000 / 3);
    assert_true(h.unavailable + h.unknown > 0);
    assert_int_equal(redis_server_kill(server, SIGCONT), 0);
    answers(&h);
    h.done = 0;
    post_add(&h, LONG_MS);
    answers(&h);
    assert_int_equal(h.done, 1);
    assert_true(h.unknown == 0 || h.gaps > 0); /* a gap is reported if a notice is missing */
    usher_unwatch(h.e, room);
    usher_unwatch(h.e, all);
    usher_close(h.e);
}

/* Holds expire while only the loop runs, and no call waits for the sweep. */
TEST(a_scope_is_swept_without_blocking)
{
    const struct usher_value number = USHER_T(USHER_FIELD_NUMBER, "1"),
                             lease = USHER_N(USHER_FIELD_LEASE, 40);
    struct usher_watcher *watcher;
    struct host h;

    host_open(&h, "");
    assert_int_equal(
        usher_watch_events(h.e, USHER_NUMBER, "p", USHER_WATCH_TEND, 0, NULL, &watcher), USHER_OK);
    post_verb(&h, USHER_NUMBER_ADD, "p", &number, 1, LONG_MS);
    post_verb(&h, USHER_NUMBER_REG, "p", &number, 1, LONG_MS);
    answers(&h);
    h.longest_us = 0;
    for (unsigned i = 1; i <= 3; i++) {
        post_verb(&h, USHER_NUMBER_CALL, "p", &lease, 1, LONG_MS);
        answers(&h);
        while (h.notices < 2 + 2 * i)
            tick(&h);
    }
    assert_int_equal(h.done, 5);
    assert_int_equal(h.gaps, 0);
    assert_int_equal(redis_server_kill(server, SIGSTOP), 0);
    post_verb(&h, USHER_NUMBER_CALL, "p", &lease, 1, LONG_MS);
    assert_in_range(ticks(&h, DELAY_MS, LONG_MS), 10, 1000000);
    assert_int_equal(redis_server_kill(server, SIGCONT), 0);
    while (h.notices < 10)
        tick(&h);
    print_message("longest %" PRId64 " us\n", h.longest_us);
    assert_in_range(h.longest_us, 0, DELAY_MS * 1000 / 2);
    answers(&h);
    usher_unwatch(h.e, watcher);
    usher_close(h.e);
}

/* A room and the index of rooms are two scopes: an `open` is several round trips. */
TEST(a_room_is_opened_and_closed_without_blocking)
{
    static const enum usher_verb verbs[] = { USHER_ROOM_OPEN, USHER_ROOM_CLOSE, USHER_ROOM_OPEN };
    const struct usher_value member = USHER_T(USHER_FIELD_MEMBER, "ann");
    struct usher_reply *rooms;
    struct host h;

    host_open(&h, "");
    post_add(&h, LONG_MS);
    post_verb(&h, USHER_ROOM_OPEN, "before", NULL, 0, LONG_MS); /* loads the scripts */
    answers(&h);
    proxy_set_drip(proxy, 1000);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        int64_t began_us = clock_us();

        h.longest_us = 0;
        post_verb(&h, verbs[i], "room", NULL, 0, LONG_MS);
        while (h.answered < h.posted)
            tick(&h);
        began_us = clock_us() - began_us;
        print_message("%" PRId64 " us, longest %" PRId64 " us\n", began_us, h.longest_us);
        assert_in_range(began_us, 100000, LONG_MS * 1000);
        assert_in_range(h.longest_us, 0, began_us / 2);
    }
    proxy_set_drip(proxy, 0);
    /* in one batch: the old room of the name is closed before the new one is opened */
    post_verb(&h, USHER_ROOM_JOIN, "room", &member, 1, LONG_MS);
    post_verb(&h, USHER_ROOM_CLOSE, "room", NULL, 0, LONG_MS);
    post_verb(&h, USHER_ROOM_OPEN, "room", NULL, 0, LONG_MS);
    post_verb(&h, USHER_ROOM_CLOSE, "before", NULL, 0, LONG_MS);
    answers(&h);
    assert_int_equal(h.done, h.posted);
    assert_int_equal(usher_room_list(h.e, NULL, &rooms), USHER_OK);
    assert_int_equal(rooms->n_rows, 1);
    assert_string_equal(usher_reply_text(rooms, 0, USHER_FIELD_NAME, NULL), "room");
    usher_reply_done(rooms);
    usher_close(h.e);
}

#define ROOMS 40

/* Connections break, or the engine is closed, at any step of an `open`: after any answer, a room
 * that is open has an entry. */
TEST(an_open_room_is_listed_when_connections_break)
{
    static const enum proxy_fault_kind kinds[] = { PROXY_SWALLOW_REPLY, PROXY_DROP_REQUEST,
                                                   PROXY_CUT_REQUEST, PROXY_CUT_REPLY };
    struct usher_reply *rooms;
    unsigned open = 0;
    struct host h;
    char url[96];

    host_open(&h, "");
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", proxy_port(proxy));
    for (unsigned i = 0; i < ROOMS; i++) {
        struct proxy_fault f = {
            .kind = kinds[i % 4], .match = "EVALSHA", .skip = i / 4 % 6, .bytes = i
        };
        char room[16];

        (void)snprintf(room, sizeof room, "r%u", i);
        proxy_arm(proxy, &f);
        post_verb(&h, USHER_ROOM_OPEN, room, NULL, 0, LONG_MS);
        if (i % 3 == 0)
            post_verb(&h, USHER_ROOM_CLOSE, room, NULL, 0, LONG_MS);
        if (i % 5 != 4) {
            answers(&h);
            continue;
        }
        for (unsigned k = 0; k < i / 5; k++)
            tick(&h);
        usher_close(h.e);
        h.answered = h.posted;
        if (usher_open(url, NULL, &h.e) != USHER_OK)
            fail_msg("%s", usher_message());
    }
    proxy_arm(proxy, &(struct proxy_fault){ .kind = PROXY_NO_FAULT });
    assert_int_equal(usher_room_list(h.e, NULL, &rooms), USHER_OK);
    for (unsigned i = 0; i < ROOMS; i++) {
        char room[16];
        bool there = false;
        enum usher_status status;

        (void)snprintf(room, sizeof room, "r%u", i);
        for (uint32_t k = 0; k < rooms->n_rows && !there; k++)
            there = strcmp(usher_reply_text(rooms, k, USHER_FIELD_NAME, NULL), room) == 0;
        status = usher_room_stats(h.e, room, NULL, NULL);
        if ((status == USHER_OK) != there)
            fail_msg("%s: %s, %s", room, usher_status_word(status),
                     there ? "listed" : "not listed");
        open += status == USHER_OK;
    }
    usher_reply_done(rooms);
    print_message("%u of %d are open\n", open, ROOMS);
    assert_in_range(open, 1, ROOMS - 1);
    usher_close(h.e);
}

struct scarce {
    size_t live, n, fails; /* bytes; allocations since they may fail, and which one does */
};

static void *scarce_resize(void *payload, void *old, size_t had, size_t size)
{
    struct scarce *s = payload;
    void *p = NULL;

    if (size == 0) {
        free(old);
        s->live -= had;
        return NULL;
    }
    if (size > had && s->fails != 0 && ++s->n == s->fails)
        return NULL;
    p = realloc(old, size);
    if (p != NULL)
        s->live += size - had;
    return p;
}

/* Each allocation fails once: commands are answered, nothing leaks, and open rooms are listed. */
TEST(a_room_is_opened_with_little_memory)
{
    static const enum usher_verb verbs[] = { USHER_ROOM_OPEN, USHER_ROOM_CLOSE, USHER_ROOM_OPEN };
    struct scarce s = { 0, 0, 0 };
    const struct usher_allocator alloc = { scarce_resize, &s };
    struct usher_options options = USHER_OPTIONS_INIT;
    bool failed = true;
    size_t k = 0;
    char url[96];

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", redis_server_port(server));
    options.alloc = &alloc;
    while (failed) {
        struct host h = { .posted = 0 };
        struct usher_command c[3];
        struct usher_reply *rooms;
        enum usher_status status;

        assert_int_equal(usher_open(url, &options, &h.e), USHER_OK);
        for (h.posted = 0; h.posted < 3; h.posted++)
            c[h.posted] =
                (struct usher_command){ (uint32_t)verbs[h.posted], USHER_TO_NUL, "room", NULL, 0,
                                        (void *)h.posted };
        s.n = 0;
        s.fails = ++k;
        if (usher_post(h.e, c, 3, LONG_MS) != USHER_OK)
            h.posted = 0;
        while (h.answered < h.posted) {
            const struct usher_event *event = usher_collect(h.e, 100);

            h.answered += event != NULL;
            usher_event_done(event);
        }
        failed = s.n >= k;
        s.fails = 0;
        assert_int_equal(usher_room_list(h.e, NULL, &rooms), USHER_OK);
        status = usher_room_stats(h.e, "room", NULL, NULL);
        assert_int_equal(rooms->n_rows, status == USHER_OK);
        assert_true(failed || status == USHER_OK);
        usher_reply_done(rooms);
        usher_close(h.e);
        assert_int_equal(s.live, 0);
    }
    print_message("%zu allocations\n", k);
    assert_true(k > 20);
}

/* A byte of an answer each millisecond: connecting takes longer than the timeout of a command. */
TEST(a_connection_completes_after_commands_timed_out)
{
    struct proxy_counts before, after;
    struct host h;
    int64_t until_us;

    host_open(&h, "");
    post_add(&h, LONG_MS); /* loads the script */
    answers(&h);
    proxy_set_drip(proxy, 1000);
    proxy_drop(proxy);
    proxy_count(proxy, &before);
    (void)ticks(&h, 700, 5);
    assert_true(h.unavailable > 0);
    proxy_set_drip(proxy, 0);
    answers(&h);
    h.done = 0;
    until_us = clock_us() + LONG_MS * 1000;
    while (h.done < 3) {
        if (h.posted == h.answered && h.posted < TAGS)
            post_add(&h, 20);
        tick(&h);
        assert_true(clock_us() < until_us);
    }
    proxy_count(proxy, &after);
    print_message("%" PRIu64 " connections\n", after.connections - before.connections);
    assert_in_range(after.connections - before.connections, 1, 20);
    answers(&h);
    usher_close(h.e);
}

/* Serials are taken while connections break: none is taken twice, and none that was answered is
 * missing. */
TEST(serials_are_taken_once_while_connections_break)
{
    static const enum proxy_fault_kind kinds[] = { PROXY_SWALLOW_REPLY, PROXY_DROP_REQUEST,
                                                   PROXY_CUT_REQUEST, PROXY_CUT_REPLY };
    const struct usher_value rule = USHER_T(USHER_FIELD_PREFIX, "");
    bool seen[TAGS] = { false };
    uintptr_t most = 0, got = 0;
    struct host h;

    host_open(&h, "");
    post_verb(&h, USHER_SERIAL_RULE, "s", &rule, 1, LONG_MS);
    answers(&h);
    assert_int_equal(h.done, 1);
    for (unsigned i = 0; i < 40; i++) {
        struct proxy_fault f = {
            .kind = kinds[i % 4], .match = "EVALSHA", .skip = i % 3, .bytes = i
        };
        uintptr_t to = h.posted + 25;
        int64_t until_us = clock_us() + LONG_MS * 1000;

        proxy_arm(proxy, &f);
        while (h.posted < to || h.answered < h.posted) {
            struct pollfd fd = { usher_fd(h.e), POLLIN, 0 };
            const struct usher_event *event;

            assert_true(clock_us() < until_us);
            for (int k = 0; k < 5 && h.posted < to; k++)
                post_verb(&h, USHER_SERIAL_TAKE, "s", NULL, 0, LONG_MS);
            (void)poll(&fd, 1, (int)usher_timeout(h.e));
            while ((event = usher_collect(h.e, 0)) != NULL) {
                if (USHER_IS_DONE(event->reply->status)) {
                    int64_t n = strtoll(usher_reply_text(event->reply, 0, USHER_FIELD_SERIAL, NULL),
                                        NULL, 10);

                    assert_in_range(n, 0, TAGS - 1);
                    assert_false(seen[n]);
                    seen[n] = true;
                    got++;
                    most = (uintptr_t)n > most ? (uintptr_t)n : most;
                }
                count_event(&h, event);
            }
        }
    }
    proxy_arm(proxy, &(struct proxy_fault){ .kind = PROXY_NO_FAULT });
    print_message("%" PRIuPTR " done, %" PRIuPTR " unknown, %" PRIuPTR
                  " unavailable, up to %" PRIuPTR "\n",
                  h.done, h.unknown, h.unavailable, most);
    assert_true(h.unknown > 0);
    /* serials in between had an unknown answer */
    assert_true(most >= got && most <= got + h.unknown);
    usher_close(h.e);
}

TEST(cancel_leaves_a_command_that_has_begun)
{
    struct host h;
    int64_t began_us;

    host_open(&h, "");
    post_add(&h, LONG_MS);
    answers(&h);
    proxy_set_paused(proxy, true);
    post_add(&h, LONG_MS);
    tick(&h);
    post_add(&h, LONG_MS);
    assert_int_equal(usher_cancel(h.e, (void *)2), USHER_OK);
    assert_int_equal(usher_cancel(h.e, (void *)1), USHER_MISSING);
    tick(&h);
    assert_int_equal(h.status[2], USHER_UNAVAILABLE);
    assert_int_equal(h.status[1], 0);
    began_us = clock_us();
    usher_interrupt(h.e, true);
    assert_null(usher_collect(h.e, -1));
    usher_interrupt(h.e, false);
    assert_null(usher_collect(h.e, 20));
    proxy_set_paused(proxy, false);
    answers(&h);
    assert_int_equal(h.status[1], 1);
    proxy_set_paused(proxy, true);
    post_add(&h, LONG_MS);
    tick(&h);
    usher_close(h.e); /* does not wait for the server */
    proxy_set_paused(proxy, false);
    assert_in_range(clock_us() - began_us, 0, LONG_MS * 1000 / 2);
}

TEST(a_child_leaves_posted_commands_to_its_parent)
{
    struct host h;
    pid_t child;
    int how = 0;

    host_open(&h, "");
    post_add(&h, LONG_MS);
    answers(&h);
    proxy_set_paused(proxy, true);
    post_add(&h, LONG_MS);
    tick(&h);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool refused = usher_collect(h.e, 0) == NULL && usher_fd(h.e) == -1;

        usher_close(h.e);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    proxy_set_paused(proxy, false);
    answers(&h);
    assert_int_equal(h.done, 2);
    usher_close(h.e);
}

/* One of two hosts is silent: the search for the master does not block the loop. */
TEST(the_loop_finds_the_master_among_several_hosts)
{
    struct redis_server *silent = redis_server_start(NULL);
    struct host h;
    char url[96];

    assert_non_null(silent);
    host_open(&h, "");
    usher_close(h.e);
    assert_int_equal(redis_server_kill(silent, SIGSTOP), 0);
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d", redis_server_port(silent),
                   proxy_port(proxy));
    if (usher_open(url, NULL, &h.e) != USHER_OK)
        fail_msg("%s", usher_message());
    proxy_drop(proxy);
    for (int i = 0; i < 3; i++)
        post_add(&h, 12000);
    answers(&h);
    assert_int_equal(h.done, 3);
    /* an interrupted search is continued */
    proxy_drop(proxy);
    while (h.done < 4) {
        if (h.posted == h.answered && h.posted < TAGS)
            post_add(&h, 60);
        tick(&h);
    }
    print_message("longest turn %" PRId64 " us\n", h.longest_us);
    assert_true(h.longest_us < 3000000);
    usher_close(h.e);
    redis_server_stop(silent);
}

/* With a watcher, a scope is in one batch at a time: a blocking call first completes posted
 * batches. */
TEST(a_call_completes_posted_batches_of_its_scope)
{
    struct usher_watcher *watcher;
    struct host h;

    host_open(&h, "");
    assert_int_equal(usher_watch_events(h.e, USHER_NUMBER, NULL, 0, 0, NULL, &watcher), USHER_OK);
    for (int i = 0; i < 200; i++) {
        struct usher_value v = USHER_T(USHER_FIELD_NUMBER, "called");
        struct usher_command c = {
            i % 2 == 0 ? USHER_NUMBER_ADD : USHER_NUMBER_DEL, USHER_TO_NUL, "a", &v, 1, NULL
        };
        struct usher_reply *reply;
        const struct usher_value mine = USHER_T(USHER_FIELD_NUMBER, "posted");

        post_verb(&h, i % 2 == 0 ? USHER_NUMBER_ADD : USHER_NUMBER_DEL, "a", &mine, 1, LONG_MS);
        tick(&h); /* the batch is under way */
        assert_int_equal(usher_execute(h.e, &c, 1, LONG_MS, &reply), USHER_OK);
        assert_true(USHER_IS_DONE(reply->status));
        assert_string_equal(usher_message(), "");
        usher_reply_done(reply);
    }
    answers(&h);
    assert_int_equal(h.notices, 400);
    assert_int_equal(h.done, 200);
    usher_unwatch(h.e, watcher);
    usher_close(h.e);
}

/* Commands wait after two hundred expired holds, and for a replica that does not exist. */
TEST(a_command_waits_for_replicas)
{
    const int64_t now = INT64_C(1700000000000);
    struct host h;
    struct usher_value v[3];

    host_open(&h, "");
    for (int i = 0; i < 200; i++) {
        char number[12];

        (void)snprintf(number, sizeof number, "%d", i);
        v[0] = (struct usher_value)USHER_T(USHER_FIELD_NUMBER, number);
        v[1] = (struct usher_value)USHER_N(USHER_FIELD_NOW, now);
        post_verb(&h, USHER_NUMBER_ADD, "a", v, 2, LONG_MS);
        post_verb(&h, USHER_NUMBER_REG, "a", v, 2, LONG_MS);
    }
    for (int i = 0; i < 200; i++) {
        char owner[12];

        (void)snprintf(owner, sizeof owner, "%d", i);
        v[0] = (struct usher_value)USHER_T(USHER_FIELD_OWNER, owner);
        v[1] = (struct usher_value)USHER_N(USHER_FIELD_NOW, now);
        v[2] = (struct usher_value)USHER_N(USHER_FIELD_LEASE, 10);
        post_verb(&h, USHER_NUMBER_CALL, "a", v, 3, LONG_MS);
    }
    answers(&h);
    assert_int_equal(h.done, 600);
    v[0] = (struct usher_value)USHER_T(USHER_FIELD_OWNER, "late");
    v[1] = (struct usher_value)USHER_N(USHER_FIELD_NOW, now + 600000);
    v[2] = (struct usher_value)USHER_N(USHER_FIELD_WAIT, 1);
    post_verb(&h, USHER_NUMBER_CALL, "a", v, 3, 2000);
    answers(&h);
    assert_int_equal(h.done, 601);
    usher_close(h.e);
}

#define THREADS 3
#define EACH 200

static void *post_some(void *payload)
{
    struct usher_engine *e = payload;

    for (int i = 0; i < EACH; i++) {
        char number[24];
        const struct usher_value v = USHER_T(USHER_FIELD_NUMBER, number);
        const struct usher_command c = { USHER_NUMBER_ADD, USHER_TO_NUL, "t", &v, 1, NULL };

        (void)snprintf(number, sizeof number, "%d", i);
        if (usher_post(e, &c, 1, LONG_MS) != USHER_OK)
            abort();
    }
    return NULL;
}

static void *collect_some(void *payload)
{
    struct usher_engine *e = payload;
    const struct usher_event *event;
    uintptr_t n = 0;

    while ((event = usher_collect(e, 1000)) != NULL) {
        n += USHER_IS_DONE(event->reply->status);
        usher_event_done(event);
    }
    return (void *)n;
}

TEST(several_threads_post_and_collect)
{
    pthread_t posters[THREADS], collectors[2];
    uintptr_t n = 0;
    struct host h;

    host_open(&h, "");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&posters[i], NULL, post_some, h.e), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&collectors[i], NULL, collect_some, h.e), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(posters[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        void *got;

        assert_int_equal(pthread_join(collectors[i], &got), 0);
        n += (uintptr_t)got;
    }
    n += (uintptr_t)collect_some(h.e);
    assert_int_equal(n, THREADS * EACH);
    usher_close(h.e);
}

static int program_begin(void)
{
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
    proxy = proxy_start(redis_server_port(server));
    return proxy != NULL ? 0 : 1;
}

static void program_end(void)
{
    proxy_stop(proxy);
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
