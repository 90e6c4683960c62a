/* SPDX-License-Identifier: MIT */
/*
 * Partition queues of the engine (USHER_CAP_LANES): a caller that waits for the same node as others
 * leaves at its own deadline, at any place in the queue, and its command is not executed.  One that
 * was taken out of the queue at that moment is answered.  Other queues are not affected.
 *
 * The store here has two lanes, as the scope begins with an a or a b, and is at work on a command
 * of scope "a!" until the test says go.
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
#define TICK_MS 11 /* of the clock that deadlines are reckoned by, at most, and a rest */
#define COMMANDS 4096
#define CROWD_MS 8 /* the time that each of many has */

struct fake {
    struct usher_store base;
    sem_t working, go;   /* it is at work; it may go on */
    sem_t looking, look; /* look() number look_waits is there; it may go on */
    unsigned look_waits;
    _Atomic unsigned looks;
    unsigned refuse;                /* how many times "a!" is refused at once when it may go on */
    _Atomic uint8_t done[COMMANDS]; /* by the digits of the scope */
    _Atomic unsigned random;
};

static void wait_for(sem_t *sem)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG;
    assert_int_equal(sem_timedwait(sem, &until), 0);
}

static bool blocks(const struct usher_operation *c)
{
    return c->scope.size == 2 && c->scope.data[1] == '!';
}

/* The digits at its end. */
static unsigned number_of(const struct usher_text *scope)
{
    unsigned n = 0;

    for (size_t i = 0; i < scope->size; i++)
        if (scope->data[i] >= '0' && scope->data[i] <= '9')
            n = n * 10 + (unsigned)(scope->data[i] - '0');
    return n;
}

/* Return the pause of the i-th command: mostly less than CROWD_MS, so that deadlines come while the
 * next batch is taken; sometimes so long that waiting callers have to leave in any schedule. */
static long rest_us_of(unsigned i)
{
    return i % 64 == 63 ? CROWD_MS * 4000L : (long)(i * 7919U % 3000U);
}

static void execute(struct usher_store *s, struct usher_task *tasks, size_t n,
                    const struct usher_context *context)
{
    struct fake *f = (struct fake *)s;

    (void)context;
    for (size_t i = 0; i < n; i++) {
        const struct usher_operation *c = tasks[i].command;

        assert_int_equal(tasks[i].lane, c->scope.data[0] - 'a');
        if (memchr(c->scope.data, '?', c->scope.size) != NULL)
            rest_us(rest_us_of(atomic_fetch_add(&f->random, 1)));
        if (blocks(c)) {
            (void)sem_post(&f->working);
            wait_for(&f->go);
            if (f->refuse > 0) {
                f->refuse--;
                tasks[i].again = USHER_AGAIN_NOW;
                usher_result_fail(tasks[i].reply, USHER_UNAVAILABLE, "it is elsewhere");
                continue;
            }
        }
        atomic_fetch_add(&f->done[number_of(&c->scope)], 1);
        tasks[i].reply->version = 1;
    }
}

static unsigned route(struct usher_store *s, const struct usher_task *task)
{
    (void)s;
    return (unsigned)(task->command->scope.data[0] - 'a');
}

static void look(struct usher_store *s, int64_t deadline_ms)
{
    struct fake *f = (struct fake *)s;

    (void)deadline_ms;
    if (atomic_fetch_add(&f->looks, 1) + 1 == f->look_waits) {
        (void)sem_post(&f->looking);
        wait_for(&f->look);
    }
}

static const struct usher_store_ops ops = {
    .size = sizeof(struct usher_store_ops),
    .name = "fake",
    .caps = USHER_CAP_LANES,
    .execute = execute,
    .scan = scan_nothing,
    .list = list_nothing,
    .close = close_nothing,
    .lanes = 2,
    .route = route,
    .refresh = look,
};

struct caller {
    struct usher_engine *e;
    pthread_t thread;
    const char *scope;
    struct usher_result reply;
    enum usher_status status;
    int64_t begin_ms, end_ms;
};

static enum usher_status call_once(struct usher_engine *e, const char *scope,
                                   struct usher_result *reply)
{
    struct usher_operation command;

    memset(&command, 0, sizeof command);
    command.verb = USHER_NUMBER_STATS;
    command.scope.data = scope;
    command.scope.size = strlen(scope);
    return usher_operate(e, &command, reply, 1);
}

static void *call(void *payload)
{
    struct caller *c = payload;

    c->begin_ms = clock_ms();
    c->status = call_once(c->e, c->scope, &c->reply);
    c->end_ms = clock_ms();
    return NULL;
}

static void caller_begin(struct caller *c, struct usher_engine *e, const char *scope)
{
    memset(c, 0, sizeof *c);
    c->e = e;
    c->scope = scope;
    assert_int_equal(pthread_create(&c->thread, NULL, call, c), 0);
}

static void wait_queued(struct usher_engine *e, size_t n)
{
    time_t end = time(NULL) + LONG;
    size_t queued = SIZE_MAX;

    while (queued != n) {
        assert_true(time(NULL) < end);
        (void)sched_yield();
        (void)pthread_mutex_lock(&e->lanes[0].lock);
        queued = e->lanes[0].queued;
        (void)pthread_mutex_unlock(&e->lanes[0].lock);
    }
}

static struct usher_engine *open_fake(struct fake *f, int64_t timeout_ms)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    memset(f, 0, sizeof *f);
    f->base.ops = &ops;
    opt.timeout_ms = timeout_ms;
    assert_int_equal(sem_init(&f->working, 0, 0), 0);
    assert_int_equal(sem_init(&f->go, 0, 0), 0);
    assert_int_equal(sem_init(&f->looking, 0, 0), 0);
    assert_int_equal(sem_init(&f->look, 0, 0), 0);
    assert_int_equal(usher_open_store(&f->base, &opt, &e), USHER_OK);
    return e;
}

static void left_at_its_deadline(struct caller *c, int64_t timeout_ms)
{
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    assert_int_equal(c->status, USHER_UNAVAILABLE);
    assert_non_null(strstr(c->reply.message, "earlier commands still wait for the store"));
    if (c->end_ms - c->begin_ms < timeout_ms - TICK_MS)
        fail_msg("left after %d ms", (int)(c->end_ms - c->begin_ms));
}

/* Require an answer, unless the machine itself stood still for the timeout. */
static void answered(struct caller *c, int64_t timeout_ms)
{
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    if (c->end_ms - c->begin_ms < timeout_ms - TICK_MS)
        assert_int_equal(c->status, USHER_OK);
}

TEST(a_caller_waiting_for_a_node_leaves_at_its_deadline)
{
    enum { TIMEOUT_MS = 50 };
    struct fake f;
    struct usher_engine *e = open_fake(&f, TIMEOUT_MS);
    struct usher_result reply;
    struct caller leader, waiter[3];

    caller_begin(&leader, e, "a!");
    wait_for(&f.working);
    for (unsigned i = 0; i < 3; i++)
        caller_begin(&waiter[i], e, "a");
    for (unsigned i = 0; i < 3; i++)
        left_at_its_deadline(&waiter[i], TIMEOUT_MS);
    wait_queued(e, 0);
    assert_int_equal(call_once(e, "b", &reply), USHER_OK); /* the leader of "a" is at work yet */
    assert_int_equal(atomic_load(&f.done[0]), 1);
    (void)sem_post(&f.go);
    assert_int_equal(pthread_join(leader.thread, NULL), 0);
    assert_int_equal(leader.status, USHER_OK);
    assert_int_equal(call_once(e, "a", &reply), USHER_OK);
    assert_int_equal(atomic_load(&f.done[0]), 3);
    usher_close(e);
}

/* It has less time left than its neighbours in the queue, because this is its second try. */
static void from_the_middle(const char *follower)
{
    const int64_t timeout_ms = budget_slow() ? 8000 : 3000; /* a loaded machine is slow, too */
    struct fake f;
    struct usher_engine *e = open_fake(&f, timeout_ms);
    struct caller early, leader, before, last, after;
    struct usher_result reply;

    f.refuse = 1;
    f.look_waits = 3; /* that of its second try */
    caller_begin(&early, e, "a!");
    wait_for(&f.working);
    caller_begin(&leader, e, "a!");
    wait_queued(e, 1);
    (void)sem_post(&f.go);
    wait_for(&f.working); /* of the leader */
    wait_for(&f.looking);
    while (clock_ms() < early.begin_ms + timeout_ms / 2)
        rest_us(1000);
    caller_begin(&before, e, "a");
    wait_queued(e, 1);
    (void)sem_post(&f.look);
    wait_queued(e, 2);
    if (follower != NULL) {
        caller_begin(&last, e, follower);
        wait_queued(e, 3);
    }
    left_at_its_deadline(&early, timeout_ms);
    caller_begin(&after, e, "a");
    wait_queued(e, follower != NULL ? 3 : 2);
    (void)sem_post(&f.go);
    answered(&before, timeout_ms);
    answered(&after, timeout_ms);
    if (follower != NULL)
        answered(&last, timeout_ms);
    assert_int_equal(pthread_join(leader.thread, NULL), 0);
    assert_int_equal(leader.status, USHER_OK);
    assert_int_equal(call_once(e, "a", &reply), USHER_OK);
    usher_close(e);
}

TEST(a_caller_leaves_the_middle_of_the_queue)
{
    from_the_middle("a");
}

TEST(a_caller_leaves_the_end_of_the_queue)
{
    from_the_middle(NULL);
}

/* ---- many, whose deadlines come while they are taken out -------------------------------- */

struct crowd {
    struct usher_engine *e;
    struct fake *f;
    unsigned from, to;
    unsigned n_left;
    char bad[160];
};

static void *crowd_main(void *payload)
{
    struct crowd *c = payload;

    for (unsigned i = c->from; i < c->to; i++) {
        struct usher_result r;
        enum usher_status status;
        unsigned done;
        char scope[16];

        (void)snprintf(scope, sizeof scope, "a%s%u", i % 3 == 0 ? "?" : "", i);
        if (i % 2 == 0) /* else all are in one batch each time, and none waits for another batch */
            rest_us((long)(i * 7919U % 3000U));
        status = call_once(c->e, scope, &r);
        done = atomic_load(&c->f->done[i]);

        c->n_left += status == USHER_UNAVAILABLE;
        if ((status != USHER_OK && status != USHER_UNAVAILABLE) || done != (status == USHER_OK))
            (void)snprintf(c->bad, sizeof c->bad, "command %u: %s, done %u times", i,
                           usher_status_word(status), done);
        usher_result_done(&r);
    }
    return NULL;
}

TEST(a_caller_that_left_has_executed_nothing)
{
    enum { THREADS = 8 };
    struct fake f;
    struct usher_engine *e = open_fake(&f, CROWD_MS);
    struct crowd crowd[THREADS];
    pthread_t thread[THREADS];
    unsigned each = (COMMANDS - 1) / THREADS, n_left = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        crowd[i] =
            (struct crowd){ .e = e, .f = &f, .from = 1 + i * each, .to = 1 + (i + 1) * each };
        assert_int_equal(pthread_create(&thread[i], NULL, crowd_main, &crowd[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        if (crowd[i].bad[0] != '\0')
            fail_msg("%s", crowd[i].bad);
        n_left += crowd[i].n_left;
    }
    print_message("%u of %u left\n", n_left, each * THREADS);
    assert_true(n_left > 0);
    assert_true(n_left < each * THREADS);
    wait_queued(e, 0);
    usher_close(e);
}
