/* SPDX-License-Identifier: MIT */
/*
 * A room and its directory entry change one after the other, and other clients come in between.  So
 * several threads, each with an engine of its own on one store, open or close one room, once each.
 * One at a time continues, from one command of the store to the next, which the test finds by its
 * request for the time.  Two do so in every possible order, three and four in orders that are
 * drawn. Afterwards there is an entry if, and only if, there is a room: clients that got all their
 * answers leave nothing to repair.
 *
 * USHER_SEED=N: the first of the drawn orders, USHER_ROUNDS=N: how many of them.
 */
#include "lib/test.h"

#include <pthread.h>

#include "nouns/room/room_directory.h"
#include "lib/command_line.h"
#include "lib/stores.h"

#define THREADS 4
#define NOW_MS INT64_C(1700000000000)
#define CHOICES_MAX 400

struct actor {
    struct usher_engine *e;
    const char *verb;
    pthread_t thread;
    unsigned asks;
    bool ended, wrong;
};

/* The thread that continues at each point: drawn, or the first untried order. */
struct choice {
    unsigned char taken, of;
};

static struct actor actor[THREADS];
static struct choice choices[CHOICES_MAX];
static char room[24];
static unsigned cases;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t other;
    unsigned n;    /* actors */
    unsigned goes; /* which one */
    bool staged;   /* orders are kept to */
    bool drawn;
    uint64_t seed, random;
    unsigned made, known; /* choices */
    char order[2 * CHOICES_MAX];
} stage = { .lock = PTHREAD_MUTEX_INITIALIZER, .other = PTHREAD_COND_INITIALIZER };

static unsigned below(unsigned n)
{
    uint64_t z = (stage.random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % n);
}

/* Under the lock: choose the next thread of those that have not ended. */
static void choose(void)
{
    unsigned on[THREADS], n = 0, which = 0;

    for (unsigned i = 0; i < stage.n; i++)
        if (!actor[i].ended)
            on[n++] = i;
    if (n == 0 || stage.made == CHOICES_MAX)
        return;
    if (stage.drawn)
        which = below(n);
    else if (stage.made < stage.known)
        which = choices[stage.made].taken;
    choices[stage.made].taken = (unsigned char)which;
    choices[stage.made].of = (unsigned char)n;
    stage.order[stage.made++] = (char)('0' + on[which]);
    stage.order[stage.made] = '\0';
    stage.goes = on[which];
    (void)pthread_cond_broadcast(&stage.other);
}

/* The next order of all of them; false: that were all. */
static bool next_order(void)
{
    for (stage.known = stage.made; stage.known > 0; stage.known--)
        if (++choices[stage.known - 1].taken < choices[stage.known - 1].of)
            return true;
    return false;
}

static int64_t clock_of(void *payload)
{
    struct actor *a = payload;

    (void)pthread_mutex_lock(&stage.lock);
    if (stage.staged) {
        if (a->asks++ > 0)
            choose();
        while (stage.goes != (unsigned)(a - actor))
            (void)pthread_cond_wait(&stage.other, &stage.lock);
    }
    (void)pthread_mutex_unlock(&stage.lock);
    return NOW_MS;
}

static void *act(void *payload)
{
    struct actor *a = payload;
    struct usher_result r;
    enum usher_status status = line_execute(a->e, &r, "room %s %s", a->verb, room);

    usher_result_done(&r);
    (void)pthread_mutex_lock(&stage.lock);
    a->wrong = !USHER_IS_DONE(status) && status != USHER_MISSING && status != USHER_REFUSED;
    a->ended = true;
    choose();
    (void)pthread_mutex_unlock(&stage.lock);
    return NULL;
}

/* Whether there is a room, and whether it has an entry. */
static void check_outcome(struct usher_engine *e)
{
    char part[USHER__ROOM_PARTITION];
    struct usher_text name = { room, strlen(room) };
    struct usher_operation c;
    struct usher_result r;
    bool open, entry;

    memset(&c, 0, sizeof c);
    c.verb = USHER_ROOM_SHOW;
    c.scope = name;
    (void)usher_operate(e, &c, &r, 1);
    open = r.status == USHER_OK;
    assert_true(open || r.status == USHER_MISSING);
    usher_result_done(&r);
    usher__room_partition(&name, part);
    c.verb = USHER_ROOMS_FIND;
    c.scope.data = part;
    c.scope.size = strlen(part);
    c.arg.rooms.room = name;
    (void)usher_operate(e, &c, &r, 1);
    entry = r.status == USHER_OK;
    assert_true(entry || r.status == USHER_MISSING);
    usher_result_done(&r);
    if (entry != open) {
        for (unsigned i = 0; i < stage.n; i++)
            print_error("%u: room %s\n", i, actor[i].verb);
        if (stage.drawn)
            print_error("USHER_SEED=%" PRIu64 " USHER_ROUNDS=1: ", stage.seed);
        fail_msg("in the order %s: %s", stage.order,
                 open ? "the room has no entry" : "an entry is left over");
    }
}

/* One order; @before: whether the room is open at first. */
static void one_case(bool before)
{
    struct usher_result r;

    (void)snprintf(room, sizeof room, "r%u", cases++);
    if (before) {
        assert_int_equal(line_execute(actor[0].e, &r, "room open %s", room), USHER_OK);
        usher_result_done(&r);
    }
    stage.made = 0;
    stage.goes = THREADS;
    stage.staged = true;
    for (unsigned i = 0; i < stage.n; i++) {
        actor[i].ended = actor[i].wrong = false;
        actor[i].asks = 0;
    }
    for (unsigned i = 0; i < stage.n; i++)
        assert_int_equal(pthread_create(&actor[i].thread, NULL, act, &actor[i]), 0);
    (void)pthread_mutex_lock(&stage.lock);
    choose();
    (void)pthread_mutex_unlock(&stage.lock);
    for (unsigned i = 0; i < stage.n; i++)
        (void)pthread_join(actor[i].thread, NULL);
    stage.staged = false;
    for (unsigned i = 0; i < stage.n; i++)
        assert_false(actor[i].wrong);
    assert_true(stage.made < CHOICES_MAX);
    check_outcome(actor[0].e);
}

static const char *const verbs[] = { "open", "close" };

static void two_in_every_order(void)
{
    stage.n = 2;
    stage.drawn = false;
    for (unsigned what = 0; what < 8; what++) {
        actor[0].verb = verbs[what & 1];
        actor[1].verb = verbs[what >> 1 & 1];
        stage.known = 0;
        do
            one_case((what & 4) != 0);
        while (next_order());
    }
}

static void more_in_drawn_orders(uint64_t seed, uint64_t n)
{
    stage.drawn = true;
    for (; n > 0; n--, seed++) {
        stage.seed = stage.random = seed;
        stage.n = 3 + below(THREADS - 2);
        for (unsigned i = 0; i < stage.n; i++)
            actor[i].verb = verbs[below(2)];
        one_case(below(2) != 0);
    }
}

static void on_store(const char *name)
{
    const struct test_store *store = stores_named(name);
    struct usher_check_result found = { 0 };
    char url[STORE_URL_MAX];

    if (store == NULL) {
        stores_skip(name);
        return;
    }
    assert_true(store->fresh(url));
    for (unsigned i = 0; i < THREADS; i++) {
        struct usher_options opt = USHER_OPTIONS_INIT;

        opt.now_ms = clock_of;
        opt.payload = &actor[i];
        assert_int_equal(usher_open(url, &opt, &actor[i].e), USHER_OK);
    }
    cases = 0;
    two_in_every_order();
    print_message("%s: %u orders of two\n", name, cases);
    assert_true(cases > 300);
    more_in_drawn_orders(number_from("USHER_SEED", 1), budget_of("USHER_ROUNDS", 2000));
    assert_int_equal(usher_check(actor[0].e, NULL, NULL, NULL, &found), USHER_OK);
    assert_true(found.scopes > 0 && found.faults == 0);
    for (unsigned i = 0; i < THREADS; i++)
        usher_close(actor[i].e);
}

TEST(rooms_and_entries_go_together_on_sqlite)
{
    on_store("sqlite");
}

TEST(rooms_and_entries_go_together_on_redis)
{
    on_store("redis");
}

TEST_PROGRAM(stores_start, stores_stop);
