/* SPDX-License-Identifier: MIT */
/*
 * Followers of scopes with push=1 on engines that share a Redis server: changes of another engine
 * reach them by a message.  While the clock of this process is stopped no follower reads a log
 * by itself, so changes that are received then came by a message.
 */
#include "lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

#include <usher/store/store.h>

#include "lib/fake.h"
#include "lib/expect.h"
#include "lib/follow.h"
#include "lib/servers.h"
#include "redis.h"

#define PATIENCE_MS FOLLOW_PATIENCE_MS
#define URL_MAX (REDIS_URL_MAX + 64)

static struct redis_server *server;
static char url[URL_MAX];

static void subscribed(struct usher_engine *e, const char *channel, long long n)
{
    follow_until_subscribed(e, server, "NUMSUB", channel, n);
}

/* ---- cases ------------------------------------------------------------------------------------
 */

TEST(a_message_alone_wakes_a_follower)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    uint64_t version = expect_ok(a, "room open hall push=1").version;
    struct usher_watcher *w = follow_room(b, "hall"), *other;

    follow_expect_change(b, version);
    subscribed(b, "{hall}:room", 1);
    follow_stop_clock(true);
    for (int i = 0; i < 20; i++)
        follow_expect_change(b, expect_ok(a, "room set hall f %d", i).version);
    follow_expect_change(b, expect_ok(a, "room join hall ann").version);
    assert_null(usher_collect(b, 0));

    /* two followers of one engine share a subscription; its own changes are received once */
    other = follow_room(b, "hall");
    follow_stop_clock(false);
    for (int i = 0; i < 22; i++)
        usher_event_done(usher_collect(b, PATIENCE_MS));
    usher_unwatch(b, other);
    follow_stop_clock(true);
    for (int i = 0; i < 5; i++) {
        follow_expect_change(b, expect_ok(b, "room set hall own %d", i).version);
        follow_expect_change(b, expect_ok(a, "room set hall g %d", i).version);
    }
    subscribed(b, "{hall}:room", 1);
    usher_unwatch(b, w);
    subscribed(b, "{hall}:room", 0);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

TEST(rooms_share_a_connection)
{
    enum { ROOMS = 100 };
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    char channel[32];
    redisReply *r;

    for (int i = 0; i < ROOMS; i++) {
        char room[16];
        uint64_t version = expect_ok(a, "room open many%d push=1", i).version;

        (void)snprintf(room, sizeof room, "many%d", i);
        (void)follow_room(b, room);
        follow_expect_change(b, version);
    }
    for (int i = 0; i < ROOMS; i++) {
        (void)snprintf(channel, sizeof channel, "{many%d}:room", i);
        subscribed(b, channel, 1);
    }
    r = redis_do(server, "CLIENT", "LIST", "TYPE", "pubsub", NULL);
    assert_true(r != NULL && r->type == REDIS_REPLY_STRING);
    assert_ptr_equal(strchr(r->str, '\n'), r->str + r->len - 1); /* one line */
    freeReplyObject(r);
    follow_stop_clock(true);
    for (int i = 0; i < ROOMS; i++)
        follow_expect_change(b, expect_ok(a, "room set many%d f 1", (i * 37) % ROOMS).version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

static void *work(void *payload)
{
    (void)usher_work(payload, -1);
    return NULL;
}

/* A thread that is in usher_work() drives the connection and reads the log. */
TEST(a_worker_thread_receives_messages)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    uint64_t version = expect_ok(a, "room open work push=1").version;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, work, b), 0);
    (void)follow_room(b, "work");
    follow_expect_change(b, version);
    subscribed(b, "{work}:room", 1);
    follow_stop_clock(true);
    for (int i = 0; i < 20; i++)
        follow_expect_change(b, expect_ok(a, "room set work f %d", i).version);
    follow_stop_clock(false);
    usher_interrupt(b, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    usher_close(b);
    usher_close(a);
}

TEST(a_killed_connection_loses_no_change)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    uint64_t version = expect_ok(a, "room open cut push=1").version;

    (void)follow_room(b, "cut");
    follow_expect_change(b, version);
    subscribed(b, "{cut}:room", 1);
    for (int round = 0; round < 5; round++) {
        uint64_t first = expect_ok(a, "room set cut f %d", round).version;

        freeReplyObject(redis_do(server, "CLIENT", "KILL", "TYPE", "pubsub", NULL));
        expect_ok(a, "room set cut g %d", round);
        expect_ok(a, "room set cut h %d", round);
        for (uint64_t v = first; v < first + 3; v++)
            follow_expect_change(b, v);
        subscribed(b, "{cut}:room", 1);
        follow_stop_clock(true);
        follow_expect_change(b, expect_ok(a, "room set cut i %d", round).version);
        follow_stop_clock(false);
    }
    /* a server that is restarted with its data */
    assert_true(redis_do_ok(server, "SAVE", NULL));
    assert_int_equal(redis_server_kill(server, SIGTERM), 0);
    assert_null(usher_collect(b, 100));
    assert_true(redis_server_restart(server));
    subscribed(b, "{cut}:room", 1);
    follow_expect_change(
        b,
        expect_ok(a, "room set cut j 1").version); /* the engine connects again, which takes time */
    follow_stop_clock(true);
    follow_expect_change(b, expect_ok(a, "room set cut k 1").version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

TEST(a_user_without_the_right_to_subscribe_reads_the_log)
{
    struct usher_engine *a = follow_open(url), *b;
    char deaf[URL_MAX];

    assert_true(redis_do_ok(server, "ACL", "SETUSER", "deaf", "reset", "on", ">pw", "~*", "+@all",
                            "resetchannels", NULL));
    (void)snprintf(deaf, sizeof deaf, "redis://deaf:pw@127.0.0.1:%d", redis_server_port(server));
    b = follow_open(deaf);
    follow_refused = 0;
    for (int i = 0; i < 3; i++) {
        char room[16];
        uint64_t version = expect_ok(a, "room open deaf%d push=1", i).version;

        (void)snprintf(room, sizeof room, "deaf%d", i);
        (void)follow_room(b, room);
        follow_expect_change(b, version);
    }
    for (int i = 0; i < 6; i++)
        follow_expect_change(b, expect_ok(a, "room set deaf%d f %d", i % 3, i).version);
    assert_int_equal(follow_refused, 1);
    usher_close(b);
    usher_close(a);
}

/* The log is read when the subscription begins, for changes before that. */
TEST(a_change_before_the_subscription_is_received)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    uint64_t version = expect_ok(a, "room open early push=1").version;

    (void)follow_room(b, "early");
    follow_expect_change(b, version); /* the follower has not subscribed yet */
    version = expect_ok(a, "room set early f 1").version;
    follow_stop_clock(true);
    follow_expect_change(b, version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

/* A follower that loses its right reads the log every half second; the clock moves by as much. */
TEST(a_follower_reads_the_log_while_it_is_not_subscribed)
{
    struct usher_engine *a = follow_open(url), *b;
    uint64_t version = expect_ok(a, "room open lost push=1").version;
    char at[URL_MAX];

    assert_true(redis_do_ok(server, "ACL", "SETUSER", "sub", "reset", "on", ">pw", "~*", "+@all",
                            "&*", NULL));
    (void)snprintf(at, sizeof at, "redis://sub:pw@127.0.0.1:%d", redis_server_port(server));
    b = follow_open(at);
    (void)follow_room(b, "lost");
    follow_expect_change(b, version);
    subscribed(b, "{lost}:room", 1);
    follow_stop_clock(true);
    follow_expect_change(b, expect_ok(a, "room set lost f 1").version);
    assert_true(redis_do_ok(server, "ACL", "SETUSER", "sub", "resetchannels", NULL));
    subscribed(b, "{lost}:room", 0);
    follow_drive(b); /* it notices that the connection is closed */
    version = expect_ok(a, "room set lost f 2").version;
    follow_move_clock(600);
    follow_expect_change(b, version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

TEST(push_can_be_turned_on_and_off)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);

    (void)follow_room(b, "knob");
    follow_expect_change(b, expect_ok(a, "room open knob").version);
    follow_expect_change(b, expect_ok(a, "room set knob f 0").version);
    subscribed(b, "{knob}:room", 0);
    for (int round = 0; round < 2; round++) {
        struct usher_engine *who =
            round == 0 ? a : b; /* b receives its own changes without a message */

        follow_expect_change(b, expect_ok(who, "room open knob push=1").version);
        subscribed(b, "{knob}:room", 1);
        follow_stop_clock(true);
        follow_expect_change(b, expect_ok(a, "room set knob f 1%d", round).version);
        follow_expect_change(b, expect_ok(who, "room open knob push=0").version);
        subscribed(b, "{knob}:room", 0);
        follow_stop_clock(false);
        follow_expect_change(b, expect_ok(a, "room set knob f 2%d", round).version);
    }
    usher_close(b);
    usher_close(a);
}

static const struct noun_row {
    enum usher_noun noun;
    const char *word, *on, *off, *change; /* a change is followed by a number */
} nouns[] = {
    { USHER_NUMBER, "number", "number set wire log=100 push=1", "number set wire push=0",
      "number add wire " },
    { USHER_QUEUE, "queue", "queue set wire log=100 ttl=0 push=1", "queue set wire push=0",
      "queue login wire a" },
    { USHER_SERIAL, "serial", "serial rule wire prefix=W log=100 push=1", "serial rule wire push=0",
      "serial take wire n=" },
};

TEST(each_noun_is_followed_by_messages)
{
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        const struct noun_row *row = &nouns[i];
        struct usher_engine *a = follow_open(url), *b = follow_open(url);
        uint64_t version = expect_ok(a, "%s", row->on).version, first;
        char channel[32];
        int n = 0;

        (void)snprintf(channel, sizeof channel, "{wire}:%s", row->word);
        (void)follow_scope(b, row->noun, "wire");
        follow_expect_change(b, version);
        subscribed(b, channel, 1);
        follow_stop_clock(true);
        for (int k = 0; k < 5; k++) {
            follow_expect_change(b, expect_ok(a, "%s%d", row->change, ++n).version);
            follow_expect_change(b, expect_ok(b, "%s%d", row->change, ++n).version);
        }
        follow_stop_clock(false);

        /* the subscription is interrupted */
        first = expect_ok(a, "%s%d", row->change, ++n).version;
        freeReplyObject(redis_do(server, "CLIENT", "KILL", "TYPE", "pubsub", NULL));
        expect_ok(a, "%s%d", row->change, ++n);
        follow_expect_change(b, first);
        follow_expect_change(b, first + 1);
        subscribed(b, channel, 1);

        /* push is turned off and on, by another engine and by its own */
        for (int round = 0; round < 2; round++) {
            struct usher_engine *by = round == 0 ? a : b;

            follow_stop_clock(true);
            follow_expect_change(b, expect_ok(by, "%s", row->off).version);
            subscribed(b, channel, 0);
            follow_stop_clock(false);
            follow_expect_change(b, expect_ok(a, "%s%d", row->change, ++n).version);
            follow_expect_change(b, expect_ok(by, "%s", row->on).version);
            subscribed(b, channel, 1);
            follow_stop_clock(true);
            follow_expect_change(b, expect_ok(a, "%s%d", row->change, ++n).version);
            follow_stop_clock(false);
        }
        usher_close(b);
        usher_close(a);
    }
}

/* The next event of @e is a gap that ends at @version. */
static void expect_gap(struct usher_engine *e, uint64_t version)
{
    const struct usher_event *event = usher_collect(e, PATIENCE_MS);

    assert_true(event != NULL && event->kind == USHER_EVENT_GAP);
    assert_int_equal(event->notice->version, version);
    usher_event_done(event);
}

/* Without a log a follower receives a gap, at once as well. */
TEST(a_scope_without_a_log_is_followed_by_gaps)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    uint64_t version = expect_ok(a, "number set bare push=1").version;

    (void)follow_scope(b, USHER_NUMBER, "bare");
    expect_gap(b, version);
    subscribed(b, "{bare}:number", 1);
    version = expect_ok(a, "number add bare 1").version;
    follow_stop_clock(true);
    expect_gap(b, version);
    /* the engine that drops the scope subscribes no longer */
    follow_expect_change(b, expect_ok(b, "number drop bare").version);
    expect_gap(b, 0);
    subscribed(b, "{bare}:number", 0);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

/* A room that is closed and opened again is still followed. */
TEST(a_room_that_is_opened_again_is_followed)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    const struct usher_event *event;
    uint64_t version = expect_ok(a, "room open phoenix push=1").version;
    bool news = false;

    (void)follow_room(b, "phoenix");
    follow_expect_change(b, version);
    subscribed(b, "{phoenix}:room", 1);
    expect_ok(a, "room close phoenix");
    version = expect_ok(a, "room open phoenix push=1").version;
    while (!news) { /* the notice of closing, or a gap; then that of opening */
        event = usher_collect(b, PATIENCE_MS);
        assert_non_null(event);
        news = event->kind == USHER_EVENT_NOTICE && event->notice->version == version;
        usher_event_done(event);
    }
    subscribed(b, "{phoenix}:room", 1);
    follow_stop_clock(true);
    follow_expect_change(b, expect_ok(a, "room set phoenix f 1").version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

/* The child of a fork leaves the connection to its parent. */
TEST(a_child_leaves_the_connection_to_its_parent)
{
    struct usher_engine *a = follow_open(url), *b = follow_open(url);
    uint64_t version = expect_ok(a, "room open family push=1").version;
    int status = 1;
    pid_t child;

    (void)follow_room(b, "family");
    follow_expect_change(b, version);
    subscribed(b, "{family}:room", 1);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usher_close(b);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    follow_stop_clock(true);
    follow_expect_change(b, expect_ok(a, "room set family f 1").version);
    follow_stop_clock(false);
    usher_close(b);
    usher_close(a);
}

/* ---- a fake server ----------------------------------------------------------------------------
 */

struct seen {
    unsigned on, off, versions;
    uint64_t last;
};

static void see(void *payload, enum usher_noun noun, const struct usher_text *scope,
                enum usher_listen_event event, uint64_t version)
{
    struct seen *seen = payload;

    assert_int_equal(noun, USHER_ROOM);
    assert_true(scope->size == 4 && memcmp(scope->data, "hall", 4) == 0);
    seen->on += event == USHER_LISTEN_ON;
    seen->off += event == USHER_LISTEN_OFF;
    seen->versions += event == USHER_LISTEN_VERSION;
    if (event == USHER_LISTEN_VERSION)
        seen->last = version;
}

static int allocations = -1; /* the number that still succeed; < 0: all of them */

static void *resize(void *payload, void *p, size_t old, size_t size)
{
    if (size > old && allocations == 0)
        return NULL;
    allocations -= size > old && allocations > 0;
    (void)payload;
    if (size != 0)
        return realloc(p, size);
    free(p);
    return NULL;
}

static struct usher_store *store_of(const struct fake *f)
{
    static const struct usher_allocator alloc = { .resize = resize };
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_url at = { "redis+cluster", NULL, NULL, 0 };
    struct usher_store *store = NULL;
    char text[FAKE_URL_MAX], message[192];

    options.alloc = &alloc;
    at.rest = strchr(fake_url(f, text), ':') + 1;
    if (usher__redis_open(NULL, &at, &options, follow_real_ms() + PATIENCE_MS, &store, message) !=
        USHER_OK)
        fail_msg("%s", message);
    return store;
}

/* Drive @l until @node has got @match @n times and @seen has at least the counts of @wanted; then
 * three more times. */
static void drive(struct usher_store *store, struct usher_listener *l, struct fake *f, int node,
                  const char *match, unsigned n, const struct seen *seen, struct seen wanted)
{
    int64_t until_ms = follow_real_ms() + PATIENCE_MS;

    for (int more = 3; more > 0;) {
        struct usher_wait wait = { .fd = -1 };
        struct pollfd fd;

        more -= fake_seen(f, node, match) >= n && seen->on >= wanted.on &&
                seen->off >= wanted.off && seen->versions >= wanted.versions;
        store->ops->listen_go_on(l, &wait);
        fd = (struct pollfd){ wait.fd, wait.events, 0 };
        (void)poll(&fd, 1, 20);
        if (follow_real_ms() > until_ms)
            fail_msg("%u times %s, on %u, off %u, versions %u", fake_seen(f, node, match), match,
                     seen->on, seen->off, seen->versions);
    }
}

#define CONFIRMED "*3\r\n$10\r\nssubscribe\r\n$11\r\n{hall}:room\r\n:1\r\n"
#define SAYS(version) "*3\r\n$8\r\nsmessage\r\n$11\r\n{hall}:room\r\n" version
#define MOVED_AWAY "*3\r\n$12\r\nsunsubscribe\r\n$11\r\n{hall}:room\r\n:0\r\n"

TEST(any_message_of_a_server_is_handled)
{
    static const struct {
        const char *text;
        unsigned on, off, versions; /* at least; of versions, exactly */
        unsigned asked;             /* the number of subscriptions, at least */
    } row[] = {
        { CONFIRMED SAYS("$1\r\n7\r\n"), 1, 0, 1, 1 },
        { CONFIRMED SAYS("$1\r\n7\r\n") SAYS("$1\r\n9\r\n"), 1, 0, 2, 1 },
        { CONFIRMED SAYS("$20\r\n99999999999999999999\r\n"), 1, 0, 0, 1 },
        { CONFIRMED SAYS("$2\r\n-1\r\n"), 1, 0, 0, 1 },
        { CONFIRMED SAYS("$0\r\n\r\n"), 1, 0, 0, 1 },
        { CONFIRMED SAYS("$-1\r\n"), 1, 0, 0, 1 },
        { CONFIRMED SAYS("*1\r\n:1\r\n"), 1, 0, 0, 1 },
        { CONFIRMED "*3\r\n$8\r\nsmessage\r\n$12\r\n{other}:room\r\n$1\r\n7\r\n", 1, 0, 0, 1 },
        { CONFIRMED MOVED_AWAY, 1, 1, 0, 2 },
        { CONFIRMED CONFIRMED, 1, 1, 0, 2 },
        { CONFIRMED ":1\r\n", 1, 1, 0, 2 },
        { CONFIRMED "+PONG\r\n", 1, 1, 0, 2 },
        { CONFIRMED "*0\r\n", 1, 1, 0, 2 },
        { CONFIRMED "*17\r\n", 1, 1, 0, 1 },
        { CONFIRMED "$100000\r\n", 1, 0, 0, 1 },
        { CONFIRMED "nonsense\r\n", 1, 1, 0, 2 },
        { SAYS("$1\r\n7\r\n"), 0, 0, 0, 1 }, /* before the confirmation */
        { MOVED_AWAY, 0, 0, 0, 2 },
        { "*3\r\n$10\r\nssubscribe\r\n$12\r\n{other}:room\r\n:1\r\n", 0, 0, 0, 2 },
        { "*3\r\n$10\r\nssubscribe\r\n$-1\r\n:1\r\n", 0, 0, 0, 2 },
        { "*2\r\n*1\r\n:1\r\n:2\r\n", 0, 0, 0, 2 },
        { "*1000000\r\n", 0, 0, 0, 2 },
        { "$-1\r\n", 0, 0, 0, 2 },
        { "-MOVED\r\n", 0, 0, 0, 2 },
        { "-MOVED 16000 127.0.0.1:1\r\n", 0, 0, 0, 1 },
        { "-CLUSTERDOWN Hash slot not served\r\n", 0, 0, 0, 2 },
        { "-NOPERM no\r\n", 0, 0, 0, 1 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fake *f = fake_start(1);
        struct fake_rule rule = { .match = "SSUBSCRIBE",
                                  .action = FAKE_REPLY,
                                  .text = row[i].text };
        struct usher_text hall = { "hall", 4 };
        struct seen seen = { 0, 0, 0, 0 };
        struct usher_store *store;
        struct usher_listener *l;

        assert_non_null(f);
        fake_rule(f, FAKE_ALL, &rule);
        store = store_of(f);
        l = store->ops->listen(store, see, &seen);
        assert_true(l != NULL && store->ops->listen_to(l, USHER_ROOM, &hall, true));
        follow_stop_clock(row[i].asked == 1); /* the message causes it, not a timer */
        drive(store, l, f, 0, "SSUBSCRIBE", row[i].asked, &seen,
              (struct seen){ row[i].on, row[i].off, row[i].versions, 0 });
        follow_stop_clock(false);
        if (seen.on < row[i].on || seen.off < row[i].off ||
            (row[i].asked == 1 && seen.versions != row[i].versions) || (row[i].on == 0 && seen.on))
            fail_msg("row %zu: on %u, off %u, versions %u", i, seen.on, seen.off, seen.versions);
        assert_true(store->ops->listen_to(l, USHER_ROOM, &hall, false));
        store->ops->listen_end(l);
        store->ops->close(store);
        fake_stop(f);
    }
}

/* A redirect is followed at once; a server without SSUBSCRIBE gets SUBSCRIBE. */
TEST(a_subscription_follows_its_slot)
{
    static const char old[] = "*3\r\n$9\r\nsubscribe\r\n$11\r\n{hall}:room\r\n:1\r\n";
    struct fake *f = fake_start(2);
    struct fake_rule confirm = { .match = "SSUBSCRIBE", .action = FAKE_REPLY, .text = CONFIRMED };
    struct fake_rule plain = { .match = "SUBSCRIBE", .action = FAKE_REPLY, .text = old };
    struct usher_text hall = { "hall", 4 };
    int slot = fake_slot("hall"), home = slot < FAKE_SLOTS / 2 ? 0 : 1;
    struct seen seen = { 0, 0, 0, 0 };
    struct usher_store *store;
    struct usher_listener *l;

    assert_non_null(f);
    fake_error(f, home, "SSUBSCRIBE", 1, "MOVED %d 127.0.0.1:%d", slot, fake_port(f, 1 - home));
    fake_rule(f, 1 - home, &confirm);
    store = store_of(f);
    l = store->ops->listen(store, see, &seen);
    assert_true(store->ops->listen_to(l, USHER_ROOM, &hall, true));
    drive(store, l, f, 1 - home, "SSUBSCRIBE", 1, &seen, (struct seen){ 1, 0, 0, 0 });
    assert_int_equal(seen.on, 1);
    assert_int_equal(fake_seen(f, home, "SSUBSCRIBE"), 1);
    /* a later follower is notified that it is subscribed; the last one ends the subscription */
    assert_true(store->ops->listen_to(l, USHER_ROOM, &hall, true));
    drive(store, l, f, 1 - home, "SSUBSCRIBE", 1, &seen, (struct seen){ 2, 0, 0, 0 });
    assert_int_equal(seen.on, 2);
    store->ops->listen_to(l, USHER_ROOM, &hall, false);
    store->ops->listen_to(l, USHER_ROOM, &hall, false);
    drive(store, l, f, 1 - home, "SUNSUBSCRIBE", 1, &seen, (struct seen){ 2, 0, 0, 0 });
    /* the subscription is made on the next connection */
    fake_clear(f, FAKE_ALL);
    fake_error(f, FAKE_ALL, "SSUBSCRIBE", 0, "ERR unknown command 'SSUBSCRIBE'");
    fake_rule(f, FAKE_ALL, &plain);
    assert_true(store->ops->listen_to(l, USHER_ROOM, &hall, true));
    drive(store, l, f, FAKE_ALL, "SUBSCRIBE", 1, &seen, (struct seen){ 3, 0, 0, 0 });
    assert_int_equal(seen.on, 3);
    store->ops->listen_end(l);
    store->ops->close(store);
    fake_stop(f);
}

/* Without memory a subscription is made later. */
TEST(a_listener_survives_a_lack_of_memory)
{
    struct fake *f = fake_start(1);
    struct fake_rule confirm = { .match = "SSUBSCRIBE", .action = FAKE_REPLY, .text = CONFIRMED };
    struct usher_text hall = { "hall", 4 };
    struct usher_store *store;

    assert_non_null(f);
    fake_rule(f, FAKE_ALL, &confirm);
    store = store_of(f);
    for (int i = 0; i < 12; i++) {
        unsigned before = fake_seen(f, 0, "SSUBSCRIBE");
        struct seen seen = { 0, 0, 0, 0 };
        struct usher_listener *l;

        allocations = i;
        l = store->ops->listen(store, see, &seen);
        if (l != NULL && store->ops->listen_to(l, USHER_ROOM, &hall, true))
            drive(store, l, f, 0, "PING", 0, &seen, (struct seen){ 0, 0, 0, 0 });
        allocations = -1;
        if (l == NULL)
            l = store->ops->listen(store, see, &seen);
        assert_true(l != NULL && store->ops->listen_to(l, USHER_ROOM, &hall, true));
        drive(store, l, f, 0, "SSUBSCRIBE", before + 1, &seen, (struct seen){ 1, 0, 0, 0 });
        assert_true(seen.on > 0);
        store->ops->listen_end(l);
    }
    store->ops->close(store);
    fake_stop(f);
}

static int program_begin(void)
{
    server = redis_server_start(NULL);
    if (server == NULL)
        return redis_skip();
    (void)redis_server_url(server, url);
    return 0;
}

static void program_end(void)
{
    redis_server_stop(server);
}

TEST_PROGRAM(program_begin, program_end);
