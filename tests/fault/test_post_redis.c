/* SPDX-License-Identifier: MIT */
/*
 * Posted commands while a Redis server is stopped: each has its answer in time, and later ones are
 * done when the server continues.  The notice of a command is collected before its reply; if the
 * answer is unknown, a gap is collected.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>

#include <usher/command.h>

#include "lib/servers.h"
#include "lib/util.h"

#define N 40
#define TIMEOUT_MS 200
#define LONG_MS INT64_C(60000)
#define TOO_LATE_MS 20000 /* on a machine that is busy with other tests */

TEST_SERVER(server);

/* Events of a watcher, and unknown answers, so far. */
static struct {
    unsigned notices, gaps, unknown;
} seen_events;

static void post(struct usher_engine *e, uintptr_t from, uintptr_t n, int64_t timeout_ms)
{
    for (uintptr_t tag = from; tag < from + n; tag++) {
        char number[24];
        struct usher_value v = USHER_T(USHER_FIELD_NUMBER, number);
        struct usher_command c = {
            USHER_NUMBER_ADD, USHER_TO_NUL, tag % 2 == 0 ? "even" : "odd", &v, 1, (void *)tag
        };

        (void)snprintf(number, sizeof number, "%" PRIuPTR, tag);
        assert_int_equal(usher_post(e, &c, 1, timeout_ms), USHER_OK);
    }
}

/* Return the next reply.  Count the notices and gaps that come before it. */
static const struct usher_event *next_reply(struct usher_engine *e)
{
    const struct usher_event *event = usher_collect(e, LONG_MS);

    while (event != NULL && event->kind != USHER_EVENT_REPLY) {
        seen_events.notices += event->kind == USHER_EVENT_NOTICE;
        seen_events.gaps += event->kind == USHER_EVENT_GAP;
        usher_event_done(event);
        event = usher_collect(e, LONG_MS);
    }
    return event;
}

/* Collect the replies with the tags from @from on, in order, if @done.  If not @done they are
 * unknown or unavailable, and a command without time left may be answered before one that was sent.
 */
static void collect(struct usher_engine *e, uintptr_t from, uintptr_t n, bool done)
{
    bool seen[N] = { false };

    assert_in_range(n, 0, N);
    for (uintptr_t tag = from; tag < from + n; tag++) {
        const struct usher_event *event = next_reply(e);
        enum usher_status status;

        assert_non_null(event);
        assert_in_range((uintptr_t)event->tag, done ? tag : from, done ? tag : from + n - 1);
        assert_false(seen[(uintptr_t)event->tag - from]);
        seen[(uintptr_t)event->tag - from] = true;
        status = event->reply->status;
        seen_events.unknown += status == USHER_UNKNOWN;
        if (done ? !USHER_IS_DONE(status) : status != USHER_UNAVAILABLE && status != USHER_UNKNOWN)
            fail_msg("%" PRIuPTR ": %s (%s)", tag, usher_status_word(status),
                     event->reply->message);
        usher_event_done(event);
    }
}

static void *work(void *payload)
{
    assert_int_equal(usher_work(payload, -1), USHER_UNAVAILABLE);
    return NULL;
}

static void a_stopped_server(bool with_worker)
{
    struct usher_watcher *watcher;
    struct usher_engine *e;
    char url[REDIS_URL_MAX];
    pthread_t worker;
    int64_t began;

    assert_true(redis_do_ok(server, "FLUSHALL", NULL));
    if (usher_open(redis_server_url(server, url), NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    memset(&seen_events, 0, sizeof seen_events);
    assert_int_equal(usher_watch_events(e, USHER_NUMBER, NULL, 0, 0, NULL, &watcher), USHER_OK);
    if (with_worker)
        assert_int_equal(pthread_create(&worker, NULL, work, e), 0);
    post(e, 0, N, LONG_MS);
    collect(e, 0, N, true);
    assert_int_equal(seen_events.notices, N); /* each before its reply */
    assert_int_equal(redis_server_kill(server, SIGSTOP), 0);
    began = clock_ms();
    post(e, N, N, TIMEOUT_MS);
    collect(e, N, N, false);
    assert_true(clock_ms() - began >= TIMEOUT_MS / 2);
    assert_true(clock_ms() - began < TOO_LATE_MS);
    assert_null(usher_collect(e, 0));
    assert_int_equal(redis_server_kill(server, SIGCONT), 0);
    post(e, 2 * N, N, LONG_MS);
    collect(e, 2 * N, N, true);
    assert_null(usher_collect(e, 0));
    assert_true(seen_events.notices >= 2 * N);
    assert_true(seen_events.unknown == 0 ||
                seen_events.gaps > 0); /* a gap is reported if a notice is missing */
    usher_unwatch(e, watcher);
    if (with_worker) {
        usher_interrupt(e, true);
        assert_int_equal(pthread_join(worker, NULL), 0);
    }
    usher_close(e);
}

TEST(a_command_is_answered_while_the_server_is_stopped)
{
    a_stopped_server(false);
}

TEST(a_post_does_not_block_with_a_worker_thread)
{
    a_stopped_server(true);
}
