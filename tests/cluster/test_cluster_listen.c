/* SPDX-License-Identifier: MIT */
/*
 * Followers of scopes with push=1 on a cluster.  The changes of another engine reach them by a
 * message of the node that has the scope, before a slot moves or a master is replaced and after
 * that; and they receive each version once while that is done.
 */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "lib/expect.h"
#include "lib/follow.h"
#include "lib/servers.h"

#define MASTERS 3

static struct redis_cluster *cluster;
static char url[REDIS_URL_MAX];

static struct redis_server *home_of(const char *room)
{
    struct redis_server *s =
        redis_cluster_owner(cluster, cluster->node[0], redis_cluster_slot(cluster, room));

    assert_non_null(s);
    return s;
}

/* A room, an engine that changes it, and another one that follows it. */
struct pair {
    const char *room;
    char channel[64];
    struct usher_engine *a, *b;
    pthread_t thread;
    _Atomic bool stop;
    _Atomic uint64_t last; /* version */
};

static void pair_begin(struct pair *p, const char *room)
{
    uint64_t version;

    memset(p, 0, sizeof *p);
    p->room = room;
    (void)snprintf(p->channel, sizeof p->channel, "{%s}:room", room);
    p->a = follow_open(url);
    p->b = follow_open(url);
    version = expect_ok(p->a, "room open %s push=1 log=100000", room).version;
    (void)follow_room(p->b, room);
    follow_expect_change(p->b, version);
    follow_until_subscribed(p->b, home_of(room), "SHARDNUMSUB", p->channel, 1);
}

static void pair_end(struct pair *p)
{
    usher_close(p->b);
    usher_close(p->a);
}

/* Check that a change is received while the clock is stopped. */
static void at_once(const struct pair *p)
{
    expect_ok(p->a, "room get %s", p->room); /* its connection is made */
    follow_stop_clock(true);
    for (int i = 0; i < 3; i++)
        follow_expect_change(p->b, expect_ok(p->a, "room set %s f %d-%d", p->room, i,
                                             (int)(follow_real_ms() % 1000000))
                                       .version);
    follow_stop_clock(false);
}

static void *changes(void *payload)
{
    struct pair *p = payload;

    for (int i = 0; !atomic_load(&p->stop); i++) {
        struct usher_result r;
        struct usher_operation c;

        memset(&c, 0, sizeof c);
        c.verb = USHER_ROOM_SET;
        c.scope = (struct usher_text){ p->room, strlen(p->room) };
        c.arg.room.field = (struct usher_text){ "g", 1 };
        c.arg.room.value = (struct usher_text){ i % 2 == 0 ? "0" : "1", 1 };
        (void)usher_operate(p->a, &c, &r, 1);
        if (r.status == USHER_OK)
            atomic_store(&p->last, r.version);
        usher_result_done(&r);
    }
    return NULL;
}

/* Receive what is made by changes(), each version once, while @change is done in between. */
static void through(struct pair *p, void (*change)(const struct pair *p))
{
    uint64_t seen =
        expect_ok(p->a, "room set %s h %d", p->room, (int)(follow_real_ms() % 1000000)).version;
    int64_t until_ms = follow_real_ms() + FOLLOW_PATIENCE_MS;
    const struct usher_event *event;

    follow_expect_change(p->b, seen);
    assert_int_equal(pthread_create(&p->thread, NULL, changes, p), 0);
    change(p);
    atomic_store(&p->stop, true);
    (void)pthread_join(p->thread, NULL);
    atomic_store(&p->stop, false);
    while (seen < atomic_load(&p->last)) {
        event = usher_collect(p->b, 100);
        if (event == NULL && follow_real_ms() > until_ms)
            fail_msg("version %llu was not received", (unsigned long long)seen + 1);
        if (event == NULL)
            continue;
        if (event->kind != USHER_EVENT_NOTICE || event->notice->before != seen)
            fail_msg("kind %u, from %llu to %llu, after %llu", event->kind,
                     (unsigned long long)event->notice->before,
                     (unsigned long long)event->notice->version, (unsigned long long)seen);
        seen = event->notice->version;
        usher_event_done(event);
    }
    while ((event = usher_collect(p->b, 0)) != NULL)
        usher_event_done(event); /* of commands that were answered UNKNOWN */
}

static void move(const struct pair *p)
{
    struct redis_move m;
    char key[64];

    memset(&m, 0, sizeof m);
    m.cluster = cluster;
    m.slot = redis_cluster_slot(cluster, p->room);
    m.source = home_of(p->room);
    m.target = m.source == cluster->node[0] ? cluster->node[1] : cluster->node[0];
    assert_true(redis_move_begin(&m));
    (void)snprintf(key, sizeof key, "{%s}:room", p->room);
    assert_true(redis_move_key(&m, key));
    assert_true(redis_move_end(&m));
    assert_true(redis_cluster_wait_agreed(cluster, FOLLOW_PATIENCE_MS));
}

TEST(a_slot_that_moves_is_followed)
{
    struct pair p;

    pair_begin(&p, "hall");
    at_once(&p);
    for (int round = 0; round < 3; round++) {
        through(&p, move);
        follow_until_subscribed(p.b, home_of(p.room), "SHARDNUMSUB", p.channel, 1);
        at_once(&p);
    }
    pair_end(&p);
}

TEST(each_noun_is_followed)
{
    static const struct {
        enum usher_noun noun;
        const char *word, *set, *given, *change, *what;
    } row[] = {
        { USHER_NUMBER, "number", "set", "", "add", "" },
        { USHER_QUEUE, "queue", "set", "ttl=0", "login", "a" },
        { USHER_SERIAL, "serial", "rule", "prefix=W", "take", "n=" },
    };

    for (int i = 0; i < 9; i++) {
        unsigned n = (unsigned)i % 3;
        struct usher_engine *a = follow_open(url), *b = follow_open(url);
        char scope[16], channel[32];
        uint64_t version;

        (void)snprintf(scope, sizeof scope, "wire%d", i);
        (void)snprintf(channel, sizeof channel, "{%s}:%s", scope, row[n].word);
        version =
            expect_ok(a, "%s %s %s push=1 log=100 %s", row[n].word, row[n].set, scope, row[n].given)
                .version;
        (void)follow_scope(b, row[n].noun, scope);
        follow_expect_change(b, version);
        follow_until_subscribed(b, home_of(scope), "SHARDNUMSUB", channel, 1);
        follow_stop_clock(true);
        for (int k = 1; k < 4; k++)
            follow_expect_change(
                b, expect_ok(a, "%s %s %s %s%d", row[n].word, row[n].change, scope, row[n].what, k)
                       .version);
        follow_stop_clock(false);
        usher_close(b);
        usher_close(a);
    }
}

static void hand_over(const struct pair *p)
{
    assert_true(redis_cluster_hand_over(cluster, home_of(p->room), FOLLOW_PATIENCE_MS));
}

TEST(a_follower_leaves_a_replaced_master)
{
    struct pair p;

    pair_begin(&p, "court");
    at_once(&p);
    for (int round = 0; round < 2; round++) {
        through(&p, hand_over);
        follow_until_subscribed(p.b, home_of(p.room), "SHARDNUMSUB", p.channel, 1);
        at_once(&p);
    }
    pair_end(&p);
}

/* Another node gets the slot when the others notice that its master has died. */
TEST(a_follower_leaves_a_dead_master)
{
    struct redis_server *old, *now;
    struct pair p;
    uint64_t version;
    const struct usher_event *event;
    int slot;

    pair_begin(&p, "den");
    slot = redis_cluster_slot(cluster, p.room);
    old = home_of(p.room);
    version = expect_ok(p.a, "room set den f 0 wait=1").version;
    follow_expect_change(p.b, version);
    assert_int_equal(redis_server_kill(old, SIGKILL), 0);
    version = expect_ok(p.a, "room set den f 1").version; /* waits for the replica */
    do { /* it is a gap if the replica did not have all */
        event = usher_collect(p.b, FOLLOW_PATIENCE_MS);
        assert_non_null(event);
        if (event->notice->version == version)
            version = 0;
        usher_event_done(event);
    } while (version != 0);
    now = redis_cluster_owner(cluster, cluster->node[old == cluster->node[0] ? 1 : 0], slot);
    assert_true(now != NULL && now != old);
    follow_until_subscribed(p.b, now, "SHARDNUMSUB", p.channel, 1);
    at_once(&p);
    pair_end(&p);
    assert_true(redis_server_restart(old));
}

static int program_begin(void)
{
    cluster = redis_cluster_start(MASTERS, MASTERS, NULL);
    if (cluster == NULL)
        return redis_skip();
    (void)redis_cluster_url(cluster, url);
    return 0;
}

static void program_end(void)
{
    redis_cluster_stop(cluster);
}

TEST_PROGRAM(program_begin, program_end);
