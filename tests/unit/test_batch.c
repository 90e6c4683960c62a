/* SPDX-License-Identifier: MIT */
/*
 * Batches of the engine for a store that asks for more (USHER_CAP_MORE): a caller that comes while
 * the store is at work joins the batch, unless that has a disadvantage for it.
 *
 * The store here is at work until the test has put another thread's command into the queue.
 */
#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include <usher/store/store.h>

#include "engine/engine.h"
#include "lib/util.h"

#define LONG 60    /* s; a test that waits for this time has failed */
#define BATCHES 64 /* most of a test */
#define HOUR_MS 3600000

struct fake {
    struct usher_store base;
    sem_t working, go; /* it has begun the first batch; it may ask for more */
    unsigned held;     /* batches that wait, from the first on */
    _Atomic unsigned batches;
    size_t n[BATCHES];  /* tasks of each batch, in the end */
    bool told[BATCHES]; /* it has a watcher */
    int64_t deadline_ms[BATCHES];
    int64_t now_ms[BATCHES]; /* at its end */
    _Atomic int64_t clock;
};

static void wait_for(sem_t *sem)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG;
    assert_int_equal(sem_timedwait(sem, &until), 0);
}

static void execute(struct usher_store *s, struct usher_task *tasks, size_t n,
                    const struct usher_context *context)
{
    struct fake *f = (struct fake *)s;
    unsigned batch = atomic_fetch_add(&f->batches, 1);
    size_t more = n;

    assert_true(batch < BATCHES);
    if (batch < f->held) {
        (void)sem_post(&f->working);
        wait_for(&f->go);
    }
    for (size_t i = 0; more > 0;
         n += more = context->more != NULL ? context->more(context->payload) : 0)
        for (; i < n; i++)
            tasks[i].reply->version = batch + 1;
    f->n[batch] = n;
    f->told[batch] = context->notify != NULL;
    f->deadline_ms[batch] = context->deadline_ms;
    f->now_ms[batch] = context->now_ms;
}

static const struct usher_store_ops ops = {
    .size = sizeof(struct usher_store_ops),
    .name = "fake",
    .caps = USHER_CAP_MORE,
    .execute = execute,
    .scan = scan_nothing,
    .list = list_nothing,
    .close = close_nothing,
};

static int64_t now(void *payload)
{
    return atomic_load(&((struct fake *)payload)->clock);
}

struct caller {
    struct usher_engine *e;
    pthread_t thread;
    struct usher_result reply;
    enum usher_status status;
    int64_t timeout_ms; /* 0: the engine's */
};

static void *call(void *payload)
{
    struct caller *c = payload;
    struct usher_operation command;

    memset(&command, 0, sizeof command);
    command.verb = USHER_NUMBER_STATS;
    command.scope.data = "p";
    command.scope.size = 1;
    c->status = usher__engine_operate(c->e, &command, &c->reply, 1, c->timeout_ms);
    return NULL;
}

static void caller_begin_with(struct caller *c, struct usher_engine *e, int64_t timeout_ms)
{
    memset(c, 0, sizeof *c);
    c->e = e;
    c->timeout_ms = timeout_ms;
    assert_int_equal(pthread_create(&c->thread, NULL, call, c), 0);
}

static void caller_begin(struct caller *c, struct usher_engine *e)
{
    caller_begin_with(c, e, 0);
}

static void wait_queued(struct usher_engine *e, size_t n)
{
    time_t end = time(NULL) + LONG;
    size_t queued = 0;

    while (queued < n) {
        assert_true(time(NULL) < end);
        (void)sched_yield();
        (void)pthread_mutex_lock(&e->lanes->lock);
        queued = e->lanes->queued;
        (void)pthread_mutex_unlock(&e->lanes->lock);
    }
}

static void queued_is(struct usher_engine *e, size_t n)
{
    (void)pthread_mutex_lock(&e->lanes->lock);
    assert_int_equal(e->lanes->queued, n);
    (void)pthread_mutex_unlock(&e->lanes->lock);
}

static struct usher_engine *open_fake_with(struct fake *f, const struct usher_store_ops *own)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    memset(f, 0, sizeof *f);
    f->base.ops = own;
    f->held = 1;
    atomic_store(&f->clock, 100);
    opt.now_ms = now;
    opt.payload = f;
    assert_int_equal(sem_init(&f->working, 0, 0), 0);
    assert_int_equal(sem_init(&f->go, 0, 0), 0);
    assert_int_equal(usher_open_store(&f->base, &opt, &e), USHER_OK);
    return e;
}

static struct usher_engine *open_fake(struct fake *f)
{
    return open_fake_with(f, &ops);
}

/* One is at work, @n others come; then it goes on, and all end. */
static void run(struct fake *f, struct usher_engine *e, struct caller *callers, size_t n)
{
    wait_queued(e, n);
    (void)sem_post(&f->go);
    for (size_t i = 0; i <= n; i++)
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    usher_close(e);
}

TEST(a_caller_joins_the_next_batch)
{
    struct fake f;
    struct usher_engine *e = open_fake(&f);
    struct caller callers[3];

    caller_begin(&callers[0], e);
    wait_for(&f.working);
    for (int i = 1; i < 3; i++)
        caller_begin(&callers[i], e);
    run(&f, e, callers, 2);
    assert_int_equal(f.batches, 1);
    assert_int_equal(f.n[0], 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(callers[i].status, USHER_OK);
        assert_true(callers[i].reply.version == 1);
    }
}

TEST(clock_is_read_when_a_caller_joins)
{
    struct fake f;
    struct usher_engine *e = open_fake(&f);
    struct caller callers[2];

    caller_begin(&callers[0], e);
    wait_for(&f.working);
    atomic_store(&f.clock, 200);
    caller_begin(&callers[1], e);
    run(&f, e, callers, 1);
    assert_int_equal(f.batches, 1);
    assert_true(f.now_ms[0] == 200);
}

TEST(clock_out_of_range_fails_only_its_own_command)
{
    struct fake f;
    struct usher_engine *e = open_fake(&f);
    struct caller callers[2];

    caller_begin(&callers[0], e);
    wait_for(&f.working);
    atomic_store(&f.clock, -1);
    caller_begin(&callers[1], e);
    run(&f, e, callers, 1);
    assert_int_equal(f.batches, 1);
    assert_int_equal(f.n[0], 1);
    assert_true(f.now_ms[0] == 100);
    assert_int_equal(callers[0].reply.status, USHER_OK);
    assert_int_equal(callers[1].reply.status, USHER_INVALID);
}

static void take_notice(void *payload, const struct usher_notice *notice)
{
    (void)payload;
    (void)notice;
}

TEST(a_new_watcher_joins_no_batch_without_notices)
{
    struct fake f;
    struct usher_engine *e = open_fake(&f);
    struct usher_watcher *watch;
    struct caller callers[2];

    caller_begin(&callers[0], e);
    wait_for(&f.working);
    assert_int_equal(usher_watch(e, USHER_NUMBER, NULL, take_notice, NULL, &watch), USHER_OK);
    caller_begin(&callers[1], e);
    run(&f, e, callers, 1);
    assert_int_equal(f.batches, 2);
    assert_false(f.told[0]);
    assert_true(f.told[1]);
}

TEST(many_threads_are_all_woken)
{
    enum { THREADS = 40 };
    struct fake f;
    struct usher_engine *e = open_fake(&f);
    struct caller callers[THREADS + 1];
    size_t n = 0;

    caller_begin(&callers[0], e);
    wait_for(&f.working);
    for (int i = 1; i <= THREADS; i++)
        caller_begin(&callers[i], e);
    run(&f, e, callers, THREADS);
    for (unsigned i = 0; i < f.batches; i++)
        n += f.n[i];
    assert_int_equal(n, THREADS + 1);
}

/* A store that asks for more (SQLite), and one that has two batches at a time (one Redis). */
TEST(a_caller_leaves_the_queue_at_its_deadline)
{
    for (unsigned leaders = 1; leaders <= 2; leaders++) {
        struct usher_store_ops own = ops;
        struct fake f;
        struct usher_engine *e;
        struct caller callers[2], late;

        own.caps = leaders == 1 ? USHER_CAP_MORE : USHER_CAP_TWO;
        e = open_fake_with(&f, &own);
        f.held = leaders;
        for (unsigned i = 0; i < leaders; i++)
            caller_begin_with(&callers[i], e, HOUR_MS);
        for (unsigned i = 0; i < leaders; i++)
            wait_for(&f.working);
        caller_begin_with(&late, e, 50);
        assert_int_equal(pthread_join(late.thread, NULL), 0); /* while the store is at work */
        assert_int_equal(late.status, USHER_UNAVAILABLE);
        assert_non_null(strstr(late.reply.message, "timed out: earlier commands"));
        queued_is(e, 0);
        for (unsigned i = 0; i < leaders; i++)
            (void)sem_post(&f.go);
        for (unsigned i = 0; i < leaders; i++) {
            assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
            assert_int_equal(callers[i].status, USHER_OK);
        }
        usher_close(e);
        assert_int_equal(f.batches, leaders);
    }
}

/* The one with a minute is between two with an hour, and joins neither. */
TEST(a_batch_leaves_each_command_half_of_its_time)
{
    struct fake f;
    struct usher_engine *e = open_fake(&f);
    struct caller callers[4];

    caller_begin_with(&callers[0], e, HOUR_MS);
    wait_for(&f.working);
    for (size_t i = 1; i < 4; i++) {
        caller_begin_with(&callers[i], e, i == 2 ? HOUR_MS / 60 : HOUR_MS);
        wait_queued(e, i);
    }
    run(&f, e, callers, 3);
    assert_int_equal(f.batches, 3);
    assert_int_equal(f.n[0], 2); /* the first two */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(callers[i].status, USHER_OK);
    assert_true(f.deadline_ms[0] - f.deadline_ms[1] > HOUR_MS / 2);
    assert_true(f.deadline_ms[2] - f.deadline_ms[1] > HOUR_MS / 2);
}
