/* SPDX-License-Identifier: MIT */
/* follow -- see follow.h. */
#include "lib/test.h"

#include "follow.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "command_line.h"

static _Atomic int64_t stopped_ns; /* CLOCK_MONOTONIC; 0: it runs */

/* In programs that are linked with -Wl,--wrap=clock_gettime. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    int64_t at = atomic_load(&stopped_ns);

    if (rc == 0 && id == CLOCK_MONOTONIC && at != 0) {
        ts->tv_sec = (time_t)(at / 1000000000);
        ts->tv_nsec = (long)(at % 1000000000);
    }
    return rc;
}

void follow_stop_clock(bool stop)
{
    struct timespec ts = { 0, 0 };

    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
    atomic_store(&stopped_ns, stop ? (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec : 0);
}

void follow_move_clock(int64_t ms)
{
    atomic_fetch_add(&stopped_ns, ms * 1000000);
}

int64_t follow_real_ms(void)
{
    struct timespec ts = { 0, 0 };

    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- engines --------------------------------------------------------------------------------- */

int follow_refused;

static void count_line(void *payload, enum usher_log_level level, const char *line)
{
    (void)payload;
    (void)level;
    if (strstr(line, "read their logs instead") != NULL)
        follow_refused++;
}

struct usher_engine *follow_open(const char *url)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    options.timeout_ms = FOLLOW_PATIENCE_MS;
    options.log = count_line;
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

struct usher_watcher *follow_scope(struct usher_engine *e, enum usher_noun noun, const char *scope)
{
    struct usher_watcher *w;

    assert_int_equal(
        usher_watch_events(e, noun, scope, USHER_WATCH_SINCE | USHER_WATCH_ALL, 0, NULL, &w),
        USHER_OK);
    return w;
}

struct usher_watcher *follow_room(struct usher_engine *e, const char *room)
{
    return follow_scope(e, USHER_ROOM, room);
}

/* Wait on the descriptor of @e alone, or with the clock running as it says. */
static void wait_for(struct usher_engine *e, int64_t until_ms)
{
    struct pollfd fd = { usher_fd(e), POLLIN, 0 };
    int64_t ms = atomic_load(&stopped_ns) != 0 ? -1 : usher_timeout(e),
            left = until_ms - follow_real_ms();

    if (left <= 0)
        fail_msg("nothing was received");
    (void)poll(&fd, 1, (int)(ms < 0 || ms > left ? left : ms));
}

void follow_expect_change(struct usher_engine *e, uint64_t version)
{
    int64_t until_ms = follow_real_ms() + FOLLOW_PATIENCE_MS;
    const struct usher_event *event;

    while ((event = usher_collect(e, 0)) == NULL)
        wait_for(e, until_ms);
    if (event->kind != USHER_EVENT_NOTICE || event->notice->version != version)
        fail_msg("event of kind %u, version %" PRIu64 " instead of %" PRIu64, event->kind,
                 event->notice->version, version);
    usher_event_done(event);
}

void follow_drive(struct usher_engine *e)
{
    struct pollfd fd = { usher_fd(e), POLLIN, 0 };

    do
        assert_null(usher_collect(e, 0));
    while (poll(&fd, 1, 50) > 0);
}

void follow_until_subscribed(struct usher_engine *e, struct redis_server *s, const char *how,
                             const char *channel, long long n)
{
    struct pollfd fd = { usher_fd(e), POLLIN, 0 };
    int64_t until_ms = follow_real_ms() + FOLLOW_PATIENCE_MS;
    long long have = -1;

    while (have != n) {
        redisReply *r = redis_do(s, "PUBSUB", how, channel, NULL);

        assert_true(r != NULL && r->type == REDIS_REPLY_ARRAY && r->elements == 2);
        have = r->element[1]->integer;
        freeReplyObject(r);
        assert_null(usher_collect(e, 0));
        if (have != n)
            (void)poll(&fd, 1, 5);
        if (follow_real_ms() > until_ms)
            fail_msg("%lld subscribe to %s, not %lld", have, channel, n);
    }
}
