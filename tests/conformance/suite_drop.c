/* SPDX-License-Identifier: MIT */
/* Requirements for every store: dropped scopes, and commands for one version only.  A twin, which
 * is a memory store, gets the same commands and must answer the same. */
#include "lib/test.h"

#include "conformance/fixture.h"

#include <pthread.h>

#include "core/verbs.h"
#include "engine/engine.h"
#include "lib/calls.h"
#include "change/work.h"

static int set_up(void **state)
{
    struct fixture *f;

    (void)fixture_begin(state, 0, NULL, NULL);
    f = *state;
    f->twin = suite_open("memory:", &f->now, NULL);
    return 0;
}

TEST_EACH(set_up, fixture_end);

static void count_one(void *payload, const struct usher_scope_info *info)
{
    (void)info;
    ++*(size_t *)payload;
}

static size_t scopes(struct fixture *f, enum usher_noun noun)
{
    size_t n = 0;

    assert_int_equal(usher_scopes(f->e, LIST_OF(.noun = noun), count_one, &n, NULL), USHER_OK);
    return n;
}

/* Nothing of it is there. */
static void gone(struct fixture *f, enum usher_noun noun, const char *scope)
{
    char here[33], nothing[33];

    assert_int_equal(usher_digest(f->e, noun, scope, here), USHER_OK);
    assert_int_equal(usher_digest(f->e, noun, "never there", nothing), USHER_OK);
    assert_string_equal(here, nothing);
    assert_int_equal(scopes(f, noun), 0);
    audit(f->e);
}

/* Both are dropped; returns how many records that were. */
static int64_t drop(struct fixture *f, enum usher_noun noun, const char *scope,
                    enum usher_status want)
{
    int64_t items = -1, there = -1;

    assert_int_equal(usher_drop(f->twin, noun, scope, &there), want);
    if (usher_drop(f->e, noun, scope, &items) != want)
        fail_msg("%s", usher_message());
    assert_int_equal(items, there);
    return items;
}

/* All kinds of records there are. */
static void pool(struct fixture *f)
{
    expected(f, USHER_OK, "number set p daily=1 sticky=60000");
    expected(f, USHER_OK, "number add p 1 group=north");
    expected(f, USHER_OK, "number add p 2 group=north");
    expected(f, USHER_OK, "number add p 3 group=south");
    expected(f, USHER_OK, "number add p 4");
    expected(f, USHER_OK, "number reg p 1");
    expected(f, USHER_OK, "number reg p 2");
    expected(f, USHER_OK, "number reg p 3");
    expected(f, USHER_OK, "number call p sticky=peer node=n1 lease=5000 req=r1");
    expected(f, USHER_OK, "number call p owner=ann");
    expected(f, USHER_OK, "number call p owner=bob number=3");
    expected(f, USHER_OK, "number hangup p 3 rest=1000");
    expected(f, USHER_OK, "number del p 3");
}

TEST(a_dropped_pool_leaves_nothing)
{
    struct fixture *f = *state;
    uint64_t version;

    (void)drop(f, USHER_NUMBER, "p", USHER_SAME);
    pool(f);
    version = f->r.version;
    /* 1, 2, 4, north, peer, r1, the calls of 3, n1 */
    assert_int_equal(drop(f, USHER_NUMBER, "p", USHER_OK), 8);
    gone(f, USHER_NUMBER, "p");
    assert_int_equal(drop(f, USHER_NUMBER, "p", USHER_SAME), 0);
    expected(f, USHER_MISSING, "number stats p");
    assert_true(f->r.epoch == 0 && f->r.version == 0);
    expected(f, USHER_MISSING, "number hangup p 1");
    expected(f, USHER_EMPTY, "number call p");
    expected(f, USHER_MISSING, "number set p");
    gone(f, USHER_NUMBER, "p");
    /* what it had kept is forgotten, its versions are not */
    expected(f, USHER_OK, "number add p 1");
    assert_int_equal(f->r.version, version + 2);
    expected(f, USHER_OK, "number stats p");
    assert_int_equal(f->r.of.number.of.stats.total, 1);
    expected(f, USHER_OK, "number set p");
    assert_int_equal(f->r.of.number.of.settings.daily, 0);
    same_digest(f->e, f->twin, USHER_NUMBER, "p");
    /* and so on */
    assert_int_equal(drop(f, USHER_NUMBER, "p", USHER_OK), 1);
    gone(f, USHER_NUMBER, "p");
    if (under_test.left != NULL)
        assert_int_equal(under_test.left(f->url), 1); /* its version */
}

TEST(a_token_from_before_a_drop_never_becomes_valid)
{
    struct fixture *f = *state;
    uint64_t token = 0, own;

    for (int i = 0; i < 3; i++) {
        expected(f, USHER_OK, "number add p 1");
        expected(f, USHER_OK, "number reg p 1");
        if (i > 0) {
            expected(f, USHER_REFUSED, "number hangup p 1 token=%" PRIu64, token);
            expected(f, USHER_OK, "number call p owner=bob req=r");
            assert_false(f->r.repeated);
            assert_true(f->r.of.number.token != token);
            own = f->r.of.number.token;
            expected(f, USHER_STALE, "number hangup p 1 token=%" PRIu64, token);
            expected(f, USHER_STALE, "number renew p 1 token=%" PRIu64 " lease=1000", token);
            expected(f, USHER_OK, "number show p 1");
            assert_int_equal(f->r.of.number.state, USHER_NUMBER_STATE_BUSY_UP);
            expected(f, USHER_OK, "number hangup p 1 token=%" PRIu64, own);
            (void)drop(f, USHER_NUMBER, "p", USHER_OK);
            continue;
        }
        expected(f, USHER_OK, "number call p owner=ann req=r");
        token = f->r.of.number.token;
        (void)drop(f, USHER_NUMBER, "p", USHER_OK);
        expected(f, USHER_MISSING, "number hangup p 1 token=%" PRIu64, token);
        expected(f, USHER_MISSING, "number renew p 1 token=%" PRIu64, token);
    }
}

static void many(struct fixture *f, const char *pool, unsigned n)
{
    static struct usher_operation c[1000];
    static struct usher_result r[1000];
    static char names[1000][16];

    for (unsigned from = 0, k; from < n; from += k) {
        k = n - from < 1000 ? n - from : 1000;
        memset(c, 0, k * sizeof *c);
        for (unsigned i = 0; i < k; i++) {
            c[i].verb = USHER_NUMBER_ADD;
            c[i].scope = text(pool);
            (void)snprintf(names[i], sizeof names[i], "n%u", from + i);
            c[i].arg.number.number = text(names[i]);
            c[i].arg.number.group = text(i % 3 == 0 ? "a" : "b");
        }
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(usher_operate(twice ? f->twin : f->e, c, r, k), USHER_OK);
            for (unsigned i = 0; i < k; i++)
                usher_result_done(&r[i]);
        }
    }
}

/* A step is bounded; between two of them the pool is not there, and nothing is wrong. */
TEST(a_large_pool_goes_in_bounded_steps)
{
    struct fixture *f = *state;
    enum { N = 3 * USHER__DROP_MAX };
    uint64_t version, n = 0;
    unsigned steps = 0;

    many(f, "p", N);
    expected(f, USHER_STALE, "number drop p if-version=1");
    expected(f, USHER_OK, "number show p n7");
    expected(f, USHER_OK, "number drop p");
    version = f->r.version;
    for (;; steps++) {
        assert_true(f->r.of.number.count <= USHER__DROP_MAX);
        assert_int_equal(f->r.version, version);
        n += f->r.of.number.count;
        if (!f->r.of.number.more)
            break;
        assert_int_equal(scopes(f, USHER_NUMBER), 1);
        audit(f->e);
        same_digest(f->e, f->twin, USHER_NUMBER, "p");
        expected(f, USHER_MISSING, "number show p n700");
        assert_true(f->r.epoch == 0 && f->r.version == 0 && f->r.due_ms == USHER_NEVER);
        expected(f, USHER_MISSING, "number hangup p n700 token=7");
        expected(f, USHER_MISSING, "number sweep p");
        expected(f, USHER_EMPTY, "number call p owner=ann req=r");
        expected(f, USHER_MISSING, "number free p all=1");
        expected(f, USHER_MISSING, "number list p");
        assert_int_equal(f->r.of.number.n_rows, 0);
        expected(f, USHER_OK, "number drop p if-version=%llu", (unsigned long long)version);
    }
    assert_int_equal(n, N + 2);
    assert_int_equal(steps, 3);
    gone(f, USHER_NUMBER, "p");
}

/* A command that creates it again waits until the old one is gone; the client that was erasing that
 * finds another one. */
TEST(pool_can_be_created_while_it_is_dropped)
{
    static const char *const lines[] = { "drop p", "call p", "add p 1", "reg p 1", "call p" };
    struct fixture *f = *state;
    struct said s[5];
    struct usher_operation c[5];
    struct usher_result r[5];
    uint64_t version;

    many(f, "p", 1000);
    expected(f, USHER_OK, "number drop p");
    version = f->r.version;
    assert_true(f->r.of.number.more);
    expected(f, USHER_OK, "number add p n1");
    assert_int_equal(f->r.version, version + 1);
    expected(f, USHER_OK, "number reg p n1");
    expected(f, USHER_OK, "number call p");
    expected(f, USHER_STALE, "number drop p if-version=%llu", (unsigned long long)version);
    expected(f, USHER_OK, "number stats p");
    assert_int_equal(f->r.of.number.of.stats.total, 1);
    same_digest(f->e, f->twin, USHER_NUMBER, "p");
    /* all in one batch */
    for (int i = 0; i < 5; i++) {
        said_line(&s[i], USHER_NUMBER, lines[i]);
        c[i] = s[i].c;
    }
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(usher_operate(twice ? f->twin : f->e, c, r, 5), USHER_OK);
        assert_int_equal(r[0].status, USHER_OK);
        assert_int_equal(r[0].of.number.count, 1);
        assert_int_equal(r[1].status, USHER_EMPTY);
        assert_int_equal(r[2].status, USHER_OK);
        assert_int_equal(r[4].status, USHER_OK);
        assert_true(r[4].of.number.token == r[2].version + 2 && r[2].version == r[0].version + 1);
        assert_true(r[2].epoch != r[0].epoch);
        for (int i = 0; i < 5; i++)
            usher_result_done(&r[i]);
    }
    same_digest(f->e, f->twin, USHER_NUMBER, "p");
    audit(f->e);
    (void)drop(f, USHER_NUMBER, "p", USHER_OK);
    gone(f, USHER_NUMBER, "p");
}

/* The time of the old pool is gone with it. */
TEST(recreated_pool_begins_at_its_own_time)
{
    struct fixture *f = *state;

    many(f, "p", 400);
    expected(f, USHER_OK, "number drop p now=%lld", (long long)f->now + 5000);
    assert_true(f->r.of.number.more);
    expected(f, USHER_MISSING, "number show p n1 now=%lld", (long long)f->now + 1000);
    expected(f, USHER_OK, "number add p n1 now=%lld", (long long)f->now + 1000);
    expected(f, USHER_OK, "number reg p n1 now=%lld", (long long)f->now + 1000);
    expected(f, USHER_OK, "number call p lease=3000 now=%lld", (long long)f->now + 1000);
    assert_int_equal(f->r.of.number.until_ms, f->now + 4000);
    same_digest(f->e, f->twin, USHER_NUMBER, "p");
}

/* A command that reads its settings creates no pool and returns none. */
TEST(reads_of_a_scope_being_dropped_find_nothing)
{
    struct fixture *f = *state;

    many(f, "p", 1000);
    expected(f, USHER_OK, "number drop p");
    assert_true(f->r.of.number.more);
    expected(f, USHER_MISSING, "number set p");
    assert_true(f->r.epoch == 0 && f->r.version == 0);
    expected(f, USHER_MISSING, "number stats p");
    audit(f->e);
}

struct heard {
    unsigned n, drops;
    uint64_t version;
};

static void hear(void *payload, const struct usher_notice *notice)
{
    struct heard *h = payload;

    h->n++;
    h->drops += notice->verb == USHER_NUMBER_DROP || notice->verb == USHER_QUEUE_DROP;
    assert_int_equal(notice->version, notice->before + 1);
    h->version = notice->version;
}

TEST(drop_is_notified_as_one_change)
{
    struct fixture *f = *state;
    struct usher_watcher *watch;
    struct heard heard = { 0 };

    many(f, "p", 600);
    expected(f, USHER_OK, "number reg p n1");
    expected(f, USHER_OK, "number call p owner=ann lease=1000");
    assert_int_equal(usher_watch(f->e, USHER_NUMBER, "p", hear, &heard, &watch), USHER_OK);
    f->now += 2000; /* due expiries are not notified any more */
    (void)drop(f, USHER_NUMBER, "p", USHER_OK);
    assert_true(heard.n == 1 && heard.drops == 1);
    expected(f, USHER_OK, "number add p n1");
    assert_int_equal(heard.n, 2);
    usher_unwatch(f->e, watch);
}

TEST(a_request_id_is_removed_with_its_pool)
{
    struct fixture *f = *state;

    expected(f, USHER_OK, "number add p 1 req=a");
    expected(f, USHER_INVALID, "number drop p req=a");
    expected(f, USHER_OK, "number drop p req=b");
    expected(f, USHER_SAME, "number drop p req=b");
    expected(f, USHER_OK, "number add p 1 req=b");
    assert_false(f->r.repeated);
    expected(f, USHER_OK, "number add p 1 req=b");
    assert_true(f->r.repeated);
}

struct dropper {
    struct usher_engine *e;
    int64_t items;
    enum usher_status status;
};

static void *drop_it(void *payload)
{
    struct dropper *d = payload;

    d->status = usher_drop(d->e, USHER_NUMBER, "p", &d->items);
    return NULL;
}

TEST(two_clients_may_drop_a_pool_at_once)
{
    struct fixture *f = *state;
    struct usher_engine *other = under_test.shared ? fixture_open(f) : f->e;
    struct dropper d[2] = { { .e = f->e }, { .e = other } };
    pthread_t thread[2];

    many(f, "p", 2000);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, drop_it, &d[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_true(USHER_IS_DONE(d[i].status));
    assert_int_equal(d[0].items + d[1].items, 2002);
    gone(f, USHER_NUMBER, "p");
    if (other != f->e)
        usher_close(other);
}

TEST(queue_is_dropped_with_its_agents_and_users)
{
    struct fixture *f = *state;
    char room[USHER_QUEUE_ROOM_MAX];

    expected(f, USHER_OK, "queue set q grace=60000 maxwait=1000000");
    expected(f, USHER_OK, "queue login q ann lanes=a,b capacity=2");
    expected(f, USHER_OK, "queue login q bob lanes=a");
    expected(f, USHER_OK, "queue apply q u1 lane=a req=r");
    assert_int_equal(f->r.of.queue.place, USHER_QUEUE_PLACE_ROOM);
    (void)usher_queue_room_name(room, f->r.epoch, f->r.of.queue.login, f->r.of.queue.no);
    for (char name = 'a'; name < 'i'; name++)
        expected(f, USHER_OK, "queue apply q w%c lane=%c", name, name < 'e' ? 'a' : 'b');
    expected(f, USHER_OK, "queue leave q u1");
    expected(f, USHER_OK, "queue pause q bob");
    f->now += 14000;
    expected(f, USHER_OK, "queue alive q agent=ann");
    f->now += 2000; /* bob is absent, who waited is away */
    expected(f, USHER_OK, "queue stats q");
    assert_true(drop(f, USHER_QUEUE, "q", USHER_OK) > 12);
    gone(f, USHER_QUEUE, "q");
    expected(f, USHER_MISSING, "queue where q wa");
    expected(f, USHER_MISSING, "queue stats q");
    expected(f, USHER_OK, "queue login q ann");
    expected(f, USHER_OK, "queue apply q u1");
    expected(f, USHER_MISSING, "queue finish q %s", room);
    expected(f, USHER_OK, "queue where q u1");
    assert_int_equal(f->r.of.queue.place, USHER_QUEUE_PLACE_ROOM);
    same_digest(f->e, f->twin, USHER_QUEUE, "q");
}

TEST(visits_that_wait_for_the_history_are_not_lost_with_a_queue)
{
    struct fixture *f = *state;

    expected(f, USHER_OK, "queue set q archive=10");
    expected(f, USHER_OK, "queue login q ann");
    expected(f, USHER_OK, "queue apply q u1");
    expected(f, USHER_OK, "queue leave q u1");
    (void)drop(f, USHER_QUEUE, "q", USHER_REFUSED);
    assert_non_null(strstr(usher_message(), "drain"));
    expected(f, USHER_REFUSED, "queue drop q");
    assert_int_equal(f->r.of.queue.why, USHER_QUEUE_WHY_HISTORY);
    expected(f, USHER_OK, "queue drain q");
    assert_int_equal(f->r.of.queue.n_rows, 1);
    expected(f, USHER_OK, "queue drain q token=%llu",
             (unsigned long long)f->r.of.queue.rows->version);
    (void)drop(f, USHER_QUEUE, "q", USHER_OK);
    gone(f, USHER_QUEUE, "q");
}

TEST(rooms_rules_and_dispensers_are_dropped)
{
    struct fixture *f = *state;

    assert_int_equal(ask_room_open(f->e, "r", NULL), USHER_OK);
    assert_int_equal(ask_room_open(f->twin, "r", NULL), USHER_OK);
    for (int i = 0; i < 60; i++)
        expected(f, USHER_OK, "room join r m%d", i);
    assert_true(drop(f, USHER_ROOM, "r", USHER_OK) > 60);
    gone(f, USHER_ROOM, "r");
    (void)drop(f, USHER_ROOM, "r", USHER_SAME);

    expected(f, USHER_OK, "serial rule s mode=gapfree");
    expected(f, USHER_OK, "serial reserve s owner=ann");
    (void)drop(f, USHER_SERIAL, "s", USHER_REFUSED);
    assert_non_null(strstr(usher_message(), "held"));
    expected(f, USHER_OK, "serial confirm s 1 token=%llu",
             (unsigned long long)f->r.of.serial.token);
    assert_int_equal(drop(f, USHER_SERIAL, "s", USHER_OK), 1);
    assert_int_equal(scopes(f, USHER_SERIAL), 0);
    (void)drop(f, USHER_SERIAL, "s", USHER_SAME);
    expected(f, USHER_OK, "serial rule s mode=gapfree");
    expected(f, USHER_OK, "serial reserve s owner=ann");
    assert_int_equal(f->r.of.serial.cur, 2);

    expected(f, USHER_OK, "id create d");
    assert_int_equal(drop(f, USHER_ID, "d", USHER_OK), 1);
    assert_int_equal(scopes(f, USHER_ID), 0);
    (void)drop(f, USHER_ID, "d", USHER_SAME);

    (void)drop(f, USHER_ROOMS, "d", USHER_INVALID);
    (void)drop(f, (enum usher_noun)99, "d", USHER_INVALID);
    (void)drop(f, USHER_NUMBER, "", USHER_INVALID);
    (void)drop(f, USHER_NUMBER, NULL, USHER_INVALID);
}

/* Every verb that writes, of every noun, may be for one version alone. */
TEST(a_command_for_another_version_changes_nothing)
{
    static const char *const before[] = {
        "number add s 1",        "number reg s 1", "queue login s ann", "queue apply s zoe",
        "serial rule s width=4", "serial take s",  "id create s",       "id next s",
    };
    static const char *const lines[] = {
        "number add s 2",
        "number del s 1",
        "number reg s 1",
        "number unreg s 1",
        "number call s owner=ann",
        "number hangup s 1",
        "number free s all=1",
        "number set s rest=5",
        "number sweep s",
        "number lift s 1",
        "number move s 1 group=g",
        "number drop s",
        "queue set s ttl=5",
        "queue login s bob",
        "queue logout s ann",
        "queue pause s ann",
        "queue ready s ann",
        "queue alive s user=zoe",
        "queue apply s eve",
        "queue leave s zoe",
        "queue match s",
        "queue sweep s",
        "queue free s ann",
        "queue stats s",
        "queue drain s",
        "queue drop s",
        "serial rule s max=5",
        "serial take s",
        "serial fill s 3",
        "serial tick s",
        "serial setmaxcur s 9",
        "serial delete s",
        "id next s",
        "id set s step=9",
        "id delete s",
    };
    struct fixture *f = *state;
    char digest[2][33];

    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        expected(f, USHER_OK, "%s", before[i]);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        enum usher_noun noun = lines[i][0] == 'n'   ? USHER_NUMBER
                               : lines[i][0] == 'q' ? USHER_QUEUE
                               : lines[i][0] == 's' ? USHER_SERIAL
                                                    : USHER_ID;

        assert_int_equal(usher_digest(f->e, noun, "s", digest[0]), USHER_OK);
        expected(f, USHER_STALE, "%s if-version=1", lines[i]);
        assert_true(f->r.version > 1 && f->r.epoch != 0);
        assert_int_equal(usher_digest(f->e, noun, "s", digest[1]), USHER_OK);
        assert_string_equal(digest[0], digest[1]);
    }
    expected(f, USHER_OK, "number add s 2 if-version=2");
    expected(f, USHER_STALE, "number add s 3 if-version=2");
    /* what is not there is not made, and a repeat gets its answer */
    expected(f, USHER_MISSING, "number add t 1 if-version=1");
    expected(f, USHER_MISSING, "queue login t ann if-version=1");
    expected(f, USHER_MISSING, "id create t if-version=1");
    expected(f, USHER_MISSING, "serial rule t width=4 if-version=1");
    expected(f, USHER_MISSING, "room open t if-version=1 epoch=0000000000000001");
    expected(f, USHER_OK, "number add s 3 if-version=3 req=r");
    expected(f, USHER_OK, "number add s 3 if-version=3 req=r");
    assert_true(f->r.repeated && f->r.version == 4);
    /* what is due comes first, and is a change */
    expected(f, USHER_OK, "number call s owner=ann lease=1000 if-version=4");
    f->now += 2000;
    expected(f, USHER_STALE, "number add s 4 if-version=5");
    assert_int_equal(f->r.version, 6);
}
