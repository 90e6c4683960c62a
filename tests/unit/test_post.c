/* SPDX-License-Identifier: MIT */
/*
 * Posted commands: each has one reply, they are done in order, the descriptor is readable exactly
 * while there is something to collect, and a waiting thread is woken.
 *
 * On memory and SQLite, and on a store that stays at work until the test lets it continue, to test
 * what happens during that time.
 */
#include "lib/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <usher/command.h>
#include <usher/store/store.h>

#include "lib/hooks.h"
#include "lib/stores.h"
#include "lib/util.h"

#define LONG 60 /* s; a test that waits for this time has failed */
#define LONG_MS (LONG * INT64_C(1000))
#define NOW INT64_C(1700000000000)

static void wait_for(sem_t *sem)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG;
    while (sem_timedwait(sem, &until) != 0)
        assert_int_equal(errno, EINTR);
}

/* ---- commands ---- */

/* `number VERB SCOPE TEXT`, with @tag. */
static enum usher_status post_text(struct usher_engine *e, enum usher_verb verb, const char *scope,
                                   uint32_t field, const char *text, uintptr_t tag,
                                   int64_t timeout_ms)
{
    struct usher_value v = USHER_T(field, text);
    struct usher_command c = { (uint32_t)verb, USHER_TO_NUL, scope, &v, 1, (void *)tag };

    return usher_post(e, &c, 1, timeout_ms);
}

static void post_add(struct usher_engine *e, const char *scope, unsigned number, uintptr_t tag)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", number);
    assert_int_equal(post_text(e, USHER_NUMBER_ADD, scope, USHER_FIELD_NUMBER, text, tag, 0),
                     USHER_OK);
}

/* The next event, which is the answer with @tag and @status. */
static void must_collect(struct usher_engine *e, uintptr_t tag, enum usher_status status)
{
    const struct usher_event *event = usher_collect(e, LONG_MS);

    assert_non_null(event);
    assert_int_equal(event->kind, USHER_EVENT_REPLY);
    assert_null(event->notice);
    assert_int_equal((uintptr_t)event->tag, tag);
    assert_ptr_equal(event->tag, event->reply->tag);
    if (event->reply->status != status)
        fail_msg("%" PRIuPTR ": %s (%s)", tag, usher_status_word(event->reply->status),
                 event->reply->message);
    assert_string_equal(usher_message(), "");
    usher_event_done(event);
}

static bool is_readable(struct usher_engine *e)
{
    struct pollfd fd = { usher_fd(e), POLLIN, 0 };

    assert_true(fd.fd >= 0);
    assert_true(poll(&fd, 1, 0) >= 0);
    return fd.revents != 0;
}

static void must_be_silent(struct usher_engine *e)
{
    assert_false(is_readable(e));
    assert_int_equal(usher_timeout(e), -1);
    assert_null(usher_collect(e, 0));
    assert_string_equal(usher_message(), "");
}

/* ---- worlds ---- */

struct world {
    struct hooks hooks;
    struct usher_engine *e;
    struct usher_options opt;
};

static void world_begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->opt = (struct usher_options)USHER_OPTIONS_INIT;
    hooks_alloc(&w->hooks, &w->opt);
}

static void world_open(struct world *w, const struct test_store *store)
{
    char url[STORE_URL_MAX];

    assert_true(store->fresh(url));
    assert_int_equal(usher_open(url, &w->opt, &w->e), USHER_OK);
}

static void world_close(struct world *w)
{
    usher_close(w->e);
    assert_null(hooks_fault(&w->hooks));
}

/* On each store that this program has. */
static void on_each(void (*test)(struct world *w))
{
    for (unsigned i = 0; i < n_stores; i++) {
        struct world w;

        world_begin(&w);
        world_open(&w, &stores[i]);
        test(&w);
        world_close(&w);
    }
}

/* ---- order ---- */

static void in_order(struct world *w)
{
    enum { N = 1000, SCOPES = 7, MOST = 11 };
    uint64_t version[SCOPES] = { 0 };
    size_t n = 0;

    while (n < N) {
        struct usher_command c[MOST];
        struct usher_value v[MOST];
        char scope[MOST][8], number[MOST][8];
        size_t k = 0;

        for (; k < 1 + n % MOST && n + k < N; k++) {
            (void)snprintf(scope[k], sizeof scope[k], "p%zu", (n + k) % SCOPES);
            (void)snprintf(number[k], sizeof number[k], "%zu", n + k);
            v[k] = (struct usher_value)USHER_T(USHER_FIELD_NUMBER, number[k]);
            c[k] =
                (struct usher_command){ USHER_NUMBER_ADD,          USHER_TO_NUL, scope[k], &v[k], 1,
                                        (void *)(uintptr_t)(n + k) };
        }
        assert_int_equal(usher_post(w->e, c, k, 0), USHER_OK);
        memset(scope, '!', sizeof scope); /* they were copied */
        memset(number, '!', sizeof number);
        memset(v, 0xff, sizeof v);
        n += k;
    }
    for (size_t i = 0; i < N; i++) {
        const struct usher_event *event = usher_collect(w->e, 0);

        assert_non_null(event);
        assert_int_equal((uintptr_t)event->tag, i);
        assert_int_equal(event->reply->status, USHER_OK);
        assert_int_equal(event->reply->verb, USHER_NUMBER_ADD);
        assert_true(event->reply->version > version[i % SCOPES]);
        version[i % SCOPES] = event->reply->version;
        usher_event_done(event);
    }
    must_be_silent(w->e);
}

TEST(each_posted_command_has_one_reply_in_order)
{
    on_each(in_order);
}

/* ---- the descriptor ---- */

static void descriptor(struct world *w)
{
    uintptr_t posted = 0, collected = 0;

    assert_int_equal(usher_timeout(w->e), -1);
    assert_null(usher_collect(w->e, 0));
    must_be_silent(w->e);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 1 + round * round; i++, posted++) {
            post_add(w->e, "p", (unsigned)posted, posted);
            assert_true(is_readable(w->e));
            assert_int_equal(usher_timeout(w->e), 0);
        }
        for (unsigned left = round % 3; collected + left < posted; collected++) {
            assert_true(is_readable(w->e));
            must_collect(w->e, collected, USHER_OK);
        }
        assert_int_equal(is_readable(w->e), collected < posted);
    }
    for (; collected < posted; collected++)
        must_collect(w->e, collected, USHER_OK);
    must_be_silent(w->e);
}

TEST(the_descriptor_is_readable_while_there_is_something)
{
    on_each(descriptor);
}

static void loop(struct world *w)
{
    enum { N = 10000, AHEAD = 300 };
    struct epoll_event wanted = { .events = EPOLLIN }, found;
    int at = epoll_create1(EPOLL_CLOEXEC);
    uintptr_t posted = 0, collected = 0, n = budget_slow() ? N / 10 : N;

    assert_int_equal(epoll_ctl(at, EPOLL_CTL_ADD, usher_fd(w->e), &wanted), 0);
    while (collected < n) {
        const struct usher_event *event;

        for (; posted < n && posted < collected + AHEAD; posted++)
            post_add(w->e, posted % 2 == 0 ? "p" : "q", (unsigned)posted, posted);
        assert_int_equal(epoll_wait(at, &found, 1, (int)LONG_MS), 1);
        while ((event = usher_collect(w->e, 0)) != NULL) {
            assert_int_equal((uintptr_t)event->tag, collected++);
            assert_int_equal(event->reply->status, USHER_OK);
            usher_event_done(event);
        }
    }
    assert_int_equal(epoll_wait(at, &found, 1, 0), 0);
    must_be_silent(w->e);
    (void)close(at);
}

TEST(an_event_loop_of_ten_thousand_commands)
{
    on_each(loop);
}

/* ---- the backlog ---- */

TEST(a_full_backlog_takes_more_when_some_are_collected)
{
    struct usher_command many[6];
    struct world w;

    world_begin(&w);
    w.opt.backlog = 5;
    world_open(&w, stores_named("memory"));
    for (int i = 0; i < 6; i++)
        many[i] = (struct usher_command){ USHER_NUMBER_STATS, USHER_TO_NUL, "p", NULL, 0, NULL };
    assert_int_equal(usher_post(w.e, many, 6, 0), USHER_FULL);
    assert_non_null(strstr(usher_message(), "collected"));
    must_be_silent(w.e);
    for (unsigned i = 0; i < 5; i++)
        post_add(w.e, "p", i, i);
    assert_int_equal(usher_post(w.e, many, 1, 0), USHER_FULL);
    must_collect(w.e, 0, USHER_OK);
    must_collect(w.e, 1, USHER_OK);
    assert_int_equal(usher_post(w.e, many, 3, 0), USHER_FULL);
    assert_int_equal(usher_post(w.e, many, 2, 0), USHER_OK);
    assert_int_equal(usher_post(w.e, many, 1, 0), USHER_FULL);
    for (unsigned i = 2; i < 5; i++)
        must_collect(w.e, i, USHER_OK);
    must_collect(w.e, 0, USHER_OK);
    must_collect(w.e, 0, USHER_OK);
    must_be_silent(w.e);
    world_close(&w);
}

/* ---- what is wrong ---- */

static void wrong(struct world *w)
{
    struct usher_value twice[] = { USHER_T(USHER_FIELD_NUMBER, "1"),
                                   USHER_T(USHER_FIELD_NUMBER, "1") };
    struct usher_value number[] = { USHER_N(USHER_FIELD_NUMBER, 1) };
    struct usher_value size[] = { { USHER_FIELD_NUMBER, -7, 0, "1" } };
    struct usher_value text[] = { USHER_T(USHER_FIELD_LEASE, "1") };
    struct usher_value none[] = { { USHER_FIELD_NUMBER, 3, 0, NULL } };
    struct usher_value good[] = { { USHER_FIELD_NUMBER, 1, 0, "12" } };
    struct usher_value many[600];
    const struct usher_command c[] = {
        { 0, USHER_TO_NUL, "p", NULL, 0, NULL },
        { 0xffffffff, USHER_TO_NUL, "p", NULL, 0, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", twice, 2, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", number, 1, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", size, 1, NULL },
        { USHER_NUMBER_SET, USHER_TO_NUL, "p", text, 1, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", none, 1, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", NULL, 3, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, NULL, good, 1, NULL },
        { USHER_NUMBER_ADD, -9, "p", good, 1, NULL },
        { USHER_NUMBER_ADD, 0, "p", good, 1, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", many, 600, NULL },
        { USHER_NUMBER_ADD, USHER_TO_NUL, "p", NULL, 0, NULL },
        { USHER_NUMBER_ADD, 1, "pool", good, 1, NULL },
    };
    enum { N = sizeof c / sizeof *c };
    struct usher_reply *replies[N];

    for (unsigned i = 0; i < 600; i++)
        many[i] = (struct usher_value)USHER_N(1 + i, 0);
    assert_null(usher_about_field(250)); /* as post.c has it */
    assert_int_equal(usher_execute(w->e, c, N, 0, replies), USHER_OK);
    assert_int_equal(usher_post(w->e, c, N, 0), USHER_OK);
    for (unsigned i = 0; i < N; i++) {
        const struct usher_event *event = usher_collect(w->e, 0);

        assert_non_null(event);
        assert_int_equal(replies[i]->status, i < N - 1 ? USHER_INVALID : USHER_OK);
        assert_int_equal(event->reply->status, i < N - 1 ? USHER_INVALID : USHER_SAME);
        assert_string_equal(event->reply->message, replies[i]->message);
        assert_int_equal(event->reply->verb, c[i].verb);
        usher_event_done(event);
        usher_reply_done(replies[i]);
    }
    must_be_silent(w->e);
}

TEST(an_invalid_posted_command_is_answered_like_a_call)
{
    on_each(wrong);
}

TEST(wrong_call_posts_nothing)
{
    struct usher_command c = { USHER_NUMBER_STATS, USHER_TO_NUL, "p", NULL, 0, NULL };
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    assert_int_equal(usher_post(NULL, &c, 1, 0), USHER_INVALID);
    assert_int_equal(usher_post(w.e, NULL, 1, 0), USHER_INVALID);
    assert_int_equal(usher_post(w.e, &c, 0, 0), USHER_INVALID);
    assert_int_equal(usher_post(w.e, &c, USHER_BATCH_MAX + 1, 0), USHER_INVALID);
    assert_int_equal(usher_post(w.e, &c, 1, -1), USHER_INVALID);
    assert_int_equal(usher_post(w.e, &c, 1, INT64_MAX), USHER_INVALID);
    assert_string_not_equal(usher_message(), "");
    assert_null(usher_collect(NULL, 0));
    assert_int_equal(usher_fd(NULL), -1);
    assert_int_equal(usher_timeout(NULL), -1);
    assert_int_equal(usher_work(NULL, 0), USHER_INVALID);
    assert_int_equal(usher_cancel(NULL, NULL), USHER_INVALID);
    usher_interrupt(NULL, true);
    usher_event_done(NULL);
    assert_int_equal(usher_cancel(w.e, NULL), USHER_MISSING);
    must_be_silent(w.e);
    world_close(&w);
}

/* ---- the same state ---- */

static size_t story(struct usher_command *c, struct usher_value (*v)[3], char (*text)[16])
{
    static const enum usher_verb verbs[] = { USHER_NUMBER_ADD, USHER_NUMBER_REG, USHER_NUMBER_CALL,
                                             USHER_NUMBER_CALL, USHER_NUMBER_FREE };
    size_t n = 0;

    for (unsigned i = 0; i < 60; i++)
        for (unsigned k = 0; k < sizeof verbs / sizeof *verbs; k++, n++) {
            bool calls = verbs[k] == USHER_NUMBER_CALL;

            (void)snprintf(text[n], sizeof text[n], "%u", calls ? i / 2 * 2 + k : i);
            v[n][0] = (struct usher_value)USHER_T(calls ? USHER_FIELD_OWNER : USHER_FIELD_NUMBER,
                                                  text[n]);
            v[n][1] = (struct usher_value)USHER_N(USHER_FIELD_NOW, NOW + (int64_t)n);
            c[n] = (struct usher_command){ verbs[k], USHER_TO_NUL,        "p", v[n],
                                           2,        (void *)(uintptr_t)n };
        }
    return n;
}

TEST(the_same_commands_make_the_same_digest)
{
    enum { N = 300 };
    static struct usher_command c[N];
    static struct usher_value v[N][3];
    static char text[N][16];
    static struct usher_reply *replies[N];
    size_t n = story(c, v, text);
    char executed[33], posted[33];

    assert_int_equal(n, N);
    for (unsigned i = 0; i < n_stores; i++) {
        struct world w, other;

        world_begin(&w);
        w.opt.clock_given = true;
        world_open(&w, &stores[i]);
        assert_int_equal(usher_execute(w.e, c, n, 0, replies), USHER_OK);
        assert_int_equal(usher_digest(w.e, USHER_NUMBER, "p", executed), USHER_OK);
        world_begin(&other);
        other.opt.clock_given = true;
        usher_close(w.e); /* a fresh store is instead of the one before */
        w.e = NULL;
        world_open(&other, &stores[i]);
        assert_int_equal(usher_post(other.e, c, n, 0), USHER_OK);
        for (size_t k = 0; k < n; k++)
            must_collect(other.e, k, replies[k]->status);
        assert_int_equal(usher_digest(other.e, USHER_NUMBER, "p", posted), USHER_OK);
        assert_string_equal(executed, posted);
        world_close(&other);
        for (size_t k = 0; k < n; k++)
            usher_reply_done(replies[k]);
        assert_null(hooks_fault(&w.hooks));
    }
}

/* ---- a store that is at work until the test says go ---- */

struct slow {
    struct usher_store base;
    sem_t working, go; /* it is at work with a batch; it may go on */
    _Atomic bool free; /* it does not wait */
    unsigned batches;
    size_t n[64];
    int64_t left_ms[64];
};

static void slow_execute(struct usher_store *s, struct usher_task *tasks, size_t n,
                         const struct usher_context *context)
{
    struct slow *f = (struct slow *)s;

    (void)tasks;
    assert_true(f->batches < 64);
    f->n[f->batches] = n;
    f->left_ms[f->batches++] = context->deadline_ms - clock_ms();
    if (!atomic_load(&f->free)) {
        (void)sem_post(&f->working);
        wait_for(&f->go);
    }
}

static const struct usher_store_ops slow_ops = {
    .size = sizeof(struct usher_store_ops),
    .name = "slow",
    .execute = slow_execute,
    .scan = scan_nothing,
    .list = list_nothing,
    .close = close_nothing,
};

struct thread {
    struct usher_engine *e;
    pthread_t id;
    int64_t timeout_ms;
    enum usher_status status;
    const struct usher_event *event;
};

static void *work_main(void *payload)
{
    struct thread *t = payload;

    t->status = usher_work(t->e, t->timeout_ms);
    return NULL;
}

static void *collect_main(void *payload)
{
    struct thread *t = payload;

    t->event = usher_collect(t->e, t->timeout_ms);
    return NULL;
}

static void begin(struct thread *t, struct usher_engine *e, void *(*run)(void *),
                  int64_t timeout_ms)
{
    memset(t, 0, sizeof *t);
    t->e = e;
    t->timeout_ms = timeout_ms;
    assert_int_equal(pthread_create(&t->id, NULL, run, t), 0);
}

static void end(struct thread *t)
{
    assert_int_equal(pthread_join(t->id, NULL), 0);
}

static void slow_open(struct world *w, struct slow *f)
{
    memset(f, 0, sizeof *f);
    f->base.ops = &slow_ops;
    assert_int_equal(sem_init(&f->working, 0, 0), 0);
    assert_int_equal(sem_init(&f->go, 0, 0), 0);
    world_begin(w);
    assert_int_equal(usher_open_store(&f->base, &w->opt, &w->e), USHER_OK);
}

static enum usher_status post_stats(struct usher_engine *e, uintptr_t tag, int64_t timeout_ms)
{
    struct usher_command c = { USHER_NUMBER_STATS, USHER_TO_NUL, "p", NULL, 0, (void *)tag };

    return usher_post(e, &c, 1, timeout_ms);
}

TEST(a_cancelled_command_is_not_executed)
{
    struct thread worker;
    struct slow f;
    struct world w;

    slow_open(&w, &f);
    assert_int_equal(post_stats(w.e, 1, LONG_MS), USHER_OK);
    begin(&worker, w.e, work_main, -1);
    wait_for(&f.working); /* with the first */
    for (uintptr_t tag = 2; tag <= 5; tag++)
        assert_int_equal(post_stats(w.e, tag & 3, LONG_MS), USHER_OK); /* 2, 3, 0, 1 */
    assert_false(is_readable(w.e));                                    /* the worker does them */
    assert_int_equal(usher_cancel(w.e, (void *)9), USHER_MISSING);
    assert_string_not_equal(usher_message(), "");
    assert_int_equal(usher_cancel(w.e, (void *)1), USHER_OK); /* the last; the first is begun */
    assert_int_equal(usher_cancel(w.e, (void *)1), USHER_MISSING);
    assert_true(is_readable(w.e));
    {
        const struct usher_event *event = usher_collect(w.e, 0);

        assert_int_equal((uintptr_t)event->tag, 1);
        assert_int_equal(event->reply->status, USHER_UNAVAILABLE);
        assert_int_equal(event->reply->verb, USHER_NUMBER_STATS);
        assert_string_equal(event->reply->message, "cancelled");
        usher_event_done(event);
    }
    assert_false(is_readable(w.e));
    assert_int_equal(usher_cancel(w.e, (void *)3), USHER_OK);
    must_collect(w.e, 3, USHER_UNAVAILABLE);
    assert_int_equal(usher_cancel(w.e, NULL), USHER_OK); /* 2 and 0 */
    must_collect(w.e, 2, USHER_UNAVAILABLE);
    must_collect(w.e, 0, USHER_UNAVAILABLE);
    assert_int_equal(usher_cancel(w.e, NULL), USHER_MISSING);
    (void)sem_post(&f.go);
    must_collect(w.e, 1, USHER_OK);
    must_be_silent(w.e);
    usher_interrupt(w.e, true);
    end(&worker);
    assert_int_equal(worker.status, USHER_UNAVAILABLE);
    assert_int_equal(f.batches, 1);
    world_close(&w);
}

TEST(a_posted_command_ends_at_its_deadline_after_a_batch)
{
    struct thread worker;
    struct slow f;
    struct world w;
    uint64_t unknown, unavailable;
    int64_t began;

    slow_open(&w, &f);
    assert_int_equal(post_stats(w.e, 1, LONG_MS), USHER_OK);
    begin(&worker, w.e, work_main, -1);
    wait_for(&f.working);
    assert_int_equal(post_stats(w.e, 2, LONG_MS), USHER_OK);
    assert_true(usher_timeout(w.e) > LONG_MS / 2);
    began = clock_ms();
    assert_int_equal(post_stats(w.e, 3, 30), USHER_OK);
    assert_true(usher_timeout(w.e) <= 30);
    assert_null(usher_collect(w.e, 0));
    must_collect(w.e, 3, USHER_UNAVAILABLE);
    assert_true(clock_ms() - began < LONG_MS / 2);
    assert_false(is_readable(w.e));
    assert_true(usher_timeout(w.e) > LONG_MS / 2);
    atomic_store(&f.free, true);
    (void)sem_post(&f.go);
    must_collect(w.e, 1, USHER_OK);
    must_collect(w.e, 2, USHER_OK);
    assert_int_equal(usher_failures(w.e, &unknown, &unavailable), USHER_OK);
    assert_int_equal(unknown, 0);
    assert_int_equal(unavailable, 1);
    usher_interrupt(w.e, true);
    end(&worker);
    world_close(&w);
}

TEST(a_long_deadline_is_not_cut_by_a_short_one)
{
    static const int64_t ms[] = { 60000, 59000, 9000, 60000, 50000, 25000 };
    struct slow f;
    struct world w;

    slow_open(&w, &f);
    atomic_store(&f.free, true);
    for (unsigned i = 0; i < sizeof ms / sizeof *ms; i++)
        assert_int_equal(post_stats(w.e, i, ms[i]), USHER_OK);
    for (unsigned i = 0; i < sizeof ms / sizeof *ms; i++)
        must_collect(w.e, i, USHER_OK);
    assert_int_equal(f.batches, 4);
    assert_int_equal(f.n[0], 2);
    assert_int_equal(f.n[1], 1);
    assert_int_equal(f.n[2], 2);
    assert_int_equal(f.n[3], 1);
    assert_true(f.left_ms[0] > 50000 && f.left_ms[0] <= 59000);
    assert_true(f.left_ms[1] > 1000 && f.left_ms[1] <= 9000);
    world_close(&w);
}

TEST(commands_are_posted_while_the_store_is_at_work)
{
    struct thread collector;
    struct slow f;
    struct world w;

    slow_open(&w, &f);
    assert_int_equal(post_stats(w.e, 0, LONG_MS), USHER_OK);
    begin(&collector, w.e, collect_main, -1); /* without a worker it is who executes */
    wait_for(&f.working);
    for (uintptr_t i = 1; i <= 3; i++)
        assert_int_equal(post_stats(w.e, i, LONG_MS), USHER_OK);
    assert_false(is_readable(w.e)); /* one batch after the other */
    assert_null(usher_collect(w.e, 0));
    assert_int_equal(usher_work(w.e, 0), USHER_SAME);
    assert_true(usher_timeout(w.e) <= LONG_MS);
    assert_int_equal(usher_cancel(w.e, NULL), USHER_OK);
    for (uintptr_t i = 1; i <= 3; i++)
        must_collect(w.e, i, USHER_UNAVAILABLE);
    assert_int_equal(usher_timeout(w.e), -1);
    assert_int_equal(post_stats(w.e, 1, USHER_SPAN_MAX), USHER_OK);
    assert_int_equal(usher_timeout(w.e), INT32_MAX);
    assert_int_equal(post_stats(w.e, 2, LONG_MS), USHER_OK);
    assert_int_equal(post_stats(w.e, 3, 0), USHER_OK); /* the engine's */
    assert_true(usher_timeout(w.e) <= USHER_TIMEOUT_DEFAULT);
    atomic_store(&f.free, true);
    (void)sem_post(&f.go);
    end(&collector);
    assert_int_equal((uintptr_t)collector.event->tag, 0);
    usher_event_done(collector.event);
    for (uintptr_t i = 1; i <= 3; i++)
        must_collect(w.e, i, USHER_OK);
    must_be_silent(w.e);
    world_close(&w);
}

/* ---- threads ---- */

struct crowd {
    struct usher_engine *e;
    pthread_t worker;
    sem_t executed;
    atomic_size_t collected, strangers; /* commands executed by another thread than the worker */
    atomic_uchar seen[5001];
};

static void crowd_trace(void *payload, const struct usher_operation *command,
                        const struct usher_result *reply)
{
    struct crowd *c = payload;

    (void)command;
    (void)reply;
    if (!pthread_equal(pthread_self(), c->worker))
        atomic_fetch_add(&c->strangers, 1);
    (void)sem_post(&c->executed);
}

static void *crowd_collect(void *payload)
{
    struct crowd *c = payload;
    const struct usher_event *event;

    while ((event = usher_collect(c->e, -1)) != NULL) {
        assert_int_equal(event->reply->status, USHER_OK);
        assert_int_equal(atomic_fetch_add(&c->seen[(uintptr_t)event->tag], 1), 0);
        usher_event_done(event);
        atomic_fetch_add(&c->collected, 1);
    }
    return NULL;
}

static void *crowd_work(void *payload)
{
    struct crowd *c = payload;

    c->worker = pthread_self();
    assert_int_equal(usher_work(c->e, -1), USHER_UNAVAILABLE);
    return NULL;
}

TEST(worker_executes_while_two_threads_collect)
{
    enum { N = 5000 };
    static struct crowd c;

    for (unsigned i = 0; i < n_stores; i++) {
        pthread_t worker, collector[2];
        struct world w;
        time_t until = time(NULL) + LONG;
        size_t n = budget_slow() ? N / 10 : N;

        memset(&c, 0, sizeof c);
        assert_int_equal(sem_init(&c.executed, 0, 0), 0);
        world_begin(&w);
        w.opt.backlog = 100;
        w.opt.payload = &c;
        w.opt.trace = crowd_trace;
        world_open(&w, &stores[i]);
        c.e = w.e;
        assert_int_equal(pthread_create(&worker, NULL, crowd_work, &c), 0);
        post_add(w.e, "p", 0, 0);
        wait_for(&c.executed); /* the worker is there, and stays */
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&collector[k], NULL, crowd_collect, &c), 0);
        for (size_t k = 1; k < n; k++) {
            char text[16];

            (void)snprintf(text, sizeof text, "%zu", k);
            while (post_text(w.e, USHER_NUMBER_ADD, "p", USHER_FIELD_NUMBER, text, k, LONG_MS) ==
                   USHER_FULL)
                (void)sched_yield();
        }
        while (atomic_load(&c.collected) < n && time(NULL) < until)
            (void)sched_yield();
        usher_interrupt(w.e, true);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_join(collector[k], NULL), 0);
        assert_int_equal(pthread_join(worker, NULL), 0);
        assert_int_equal(atomic_load(&c.collected), n);
        assert_int_equal(atomic_load(&c.strangers), 0);
        world_close(&w);
    }
}

TEST(work_returns_the_number_of_finished_commands)
{
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    assert_int_equal(usher_work(w.e, 0), USHER_SAME);
    assert_int_equal(usher_work(w.e, 1), USHER_SAME);
    for (unsigned i = 0; i < 10; i++)
        post_add(w.e, "p", i, i);
    assert_int_equal(usher_work(w.e, LONG_MS), USHER_OK);
    assert_string_equal(usher_message(), "");
    assert_int_equal(usher_work(w.e, 0), USHER_SAME);
    for (unsigned i = 0; i < 10; i++)
        must_collect(w.e, i, USHER_OK);
    post_add(w.e, "p", 11, 11);
    usher_interrupt(w.e, true);
    assert_int_equal(usher_work(w.e, -1), USHER_UNAVAILABLE); /* and it is not begun */
    assert_string_not_equal(usher_message(), "");
    assert_int_equal(usher_cancel(w.e, NULL), USHER_OK);
    must_collect(w.e, 11, USHER_UNAVAILABLE);
    world_close(&w);
}

static void *fd_main(void *payload)
{
    return (void *)(intptr_t)usher_fd(payload);
}

TEST(all_first_calls_get_one_descriptor)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    void *fd[THREADS];
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, fd_main, w.e), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], &fd[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal((intptr_t)fd[i], usher_fd(w.e));
    world_close(&w);
}

/* ---- interruption ---- */

static void interruption(struct world *w)
{
    struct thread collector, worker;

    usher_interrupt(w->e, true); /* before anything was posted */
    assert_null(usher_collect(w->e, -1));
    assert_int_equal(usher_work(w->e, -1), USHER_UNAVAILABLE);
    post_add(w->e, "p", 1, 1);
    must_collect(w->e, 1, USHER_OK); /* it need not wait */
    usher_interrupt(w->e, false);
    for (unsigned round = 0; round < 50; round++) {
        begin(&collector, w->e, collect_main, -1);
        begin(&worker, w->e, work_main, -1);
        for (unsigned i = 0; i < round; i++)
            (void)sched_yield();
        usher_interrupt(w->e, true);
        end(&collector);
        end(&worker);
        assert_null(collector.event);
        assert_int_equal(worker.status, USHER_UNAVAILABLE);
        usher_interrupt(w->e, false);
        assert_null(usher_collect(w->e, 1));
        post_add(w->e, "p", 2 + round, round);
        must_collect(w->e, round, USHER_OK);
        must_be_silent(w->e);
    }
}

TEST(interrupt_ends_a_wait)
{
    on_each(interruption);
}

static struct usher_engine *_Atomic signalled;
static _Atomic unsigned handled;

static void on_signal(int sig)
{
    (void)sig;
    usher_interrupt(atomic_load(&signalled), true);
    atomic_fetch_add(&handled, 1);
}

TEST(a_signal_handler_may_interrupt)
{
    struct sigaction act = { .sa_handler = on_signal }, before;
    struct thread collector;
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    atomic_store(&signalled, w.e);
    assert_int_equal(sigaction(SIGUSR1, &act, &before), 0);
    for (unsigned round = 0; round < 50; round++) {
        begin(&collector, w.e, collect_main, -1);
        for (unsigned i = 0; i < round; i++)
            (void)sched_yield();
        /* On the thread that waits, or is about to, and on this one.  Under the thread sanitizer a
         * thread may keep a signal back, so it gets them until it has handled one. */
        for (unsigned n = atomic_load(&handled); atomic_load(&handled) == n;) {
            if (round % 2 == 0)
                (void)pthread_kill(collector.id, SIGUSR1);
            else
                assert_int_equal(raise(SIGUSR1), 0);
            (void)sched_yield();
        }
        end(&collector);
        assert_null(collector.event);
        usher_interrupt(w.e, false);
    }
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    world_close(&w);
}

/* ---- the end ---- */

static void left(struct world *w)
{
    const struct usher_event *event[3];

    for (unsigned i = 0; i < 10; i++)
        post_add(w->e, "p", i, i);
    for (unsigned i = 0; i < 3; i++)
        event[i] = usher_collect(w->e, 0);
    for (unsigned i = 10; i < 20; i++)
        post_add(w->e, "p", i, i);
    usher_close(w->e);
    w->e = NULL;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal((uintptr_t)event[i]->tag, i);
        assert_int_equal(event[i]->reply->status, USHER_OK);
        usher_event_done(event[i]);
    }
}

TEST(close_drops_posted_commands_and_keeps_collected_replies)
{
    on_each(left);
}

/* Every allocation fails once, then for ever: whatever is posted has its answer. */
struct faulty {
    struct usher_allocator alloc;
    struct hooks *hooks;
    unsigned long n, fail_at; /* 0: never */
    bool for_ever, fired;
};

static void *faulty_resize(void *payload, void *p, size_t old, size_t size)
{
    struct faulty *f = payload;

    if (size != 0) {
        f->n++;
        if (f->fail_at != 0 && (f->n == f->fail_at || (f->for_ever && f->n > f->fail_at))) {
            f->fired = true;
            return NULL;
        }
    }
    return f->hooks->alloc.resize(f->hooks->alloc.payload, p, old, size);
}

static bool oom_run(const struct test_store *store, unsigned long at, bool for_ever)
{
    enum { N = 6 };
    struct faulty f = { { faulty_resize, NULL }, NULL, 0, 0, false, false };
    struct usher_command c[N];
    struct world w;
    uintptr_t posted = 0;
    bool fired;

    world_begin(&w);
    f.alloc.payload = &f;
    f.hooks = &w.hooks;
    w.opt.alloc = &f.alloc;
    world_open(&w, store);
    f.fail_at = f.n + at;
    f.for_ever = for_ever;
    for (uintptr_t i = 0; i < N; i++)
        c[i] = (struct usher_command){ USHER_NUMBER_SHOW, USHER_TO_NUL, "p", NULL, 0, (void *)i };
    for (unsigned i = 0; i < 2; i++) {
        char text[4];
        enum usher_status status;

        (void)snprintf(text, sizeof text, "%u", i);
        status = post_text(w.e, USHER_NUMBER_ADD, "p", USHER_FIELD_NUMBER, text, posted, LONG_MS);
        assert_true(status == USHER_OK || (f.fired && status == USHER_NOMEM));
        posted += status == USHER_OK;
    }
    for (uintptr_t i = 0; i < N; i++) {
        c[i].verb = USHER_NUMBER_STATS;
        c[i].tag = (void *)(posted + i);
    }
    if (usher_post(w.e, c, N, LONG_MS) == USHER_OK)
        posted += N;
    else
        assert_true(f.fired);
    for (uintptr_t i = 0; i < posted; i++) {
        const struct usher_event *event = usher_collect(w.e, 0);

        assert_non_null(event);
        assert_int_equal((uintptr_t)event->tag, i);
        if (event->reply->status != USHER_OK)
            assert_true(f.fired); /* NOMEM, UNKNOWN, or MISSING after those */
        usher_event_done(event);
    }
    assert_null(usher_collect(w.e, 0));
    fired = f.fired;
    f.fail_at = 0;
    f.fired = false;
    assert_true(usher_fd(w.e) >= 0);
    post_add(w.e, "p", 7, 7);
    must_collect(w.e, 7, USHER_OK);
    must_be_silent(w.e);
    world_close(&w);
    return fired;
}

TEST(posted_commands_are_answered_without_memory)
{
    for (unsigned i = 0; i < n_stores; i++)
        for (int for_ever = 0; for_ever < 2; for_ever++)
            for (unsigned long at = 1; oom_run(&stores[i], at, for_ever != 0); at++)
                assert_true(at < 1000);
}

TEST(without_descriptors_nothing_is_posted)
{
    struct rlimit limit, few;
    struct world w;

    if (budget_wrapped())
        skip(); /* valgrind keeps some for itself */
    world_begin(&w);
    world_open(&w, stores_named("memory"));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (rlim_t n = 0; n < 3; n++) {
        int next = dup(0);

        assert_true(next >= 0);
        (void)close(next);
        few = limit;
        few.rlim_cur = (rlim_t)next + n;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(usher_fd(w.e), -1);
        assert_int_equal(post_stats(w.e, 1, 0), USHER_NOMEM);
        assert_non_null(strstr(usher_message(), "descriptors"));
        assert_null(usher_collect(w.e, -1));
        assert_int_equal(usher_work(w.e, -1), USHER_NOMEM);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    must_be_silent(w.e);
    world_close(&w);
}

/* In the child: 0, or what was wrong. */
static int child(struct usher_engine *e)
{
    struct usher_command c = { USHER_NUMBER_STATS, USHER_TO_NUL, "p", NULL, 0, NULL };

    if (usher_post(e, &c, 1, 0) != USHER_INVALID || usher_work(e, 0) != USHER_INVALID ||
        usher_cancel(e, NULL) != USHER_INVALID)
        return 1;
    if (usher_collect(e, -1) != NULL || usher_fd(e) != -1 || usher_timeout(e) != -1)
        return 2;
    usher_interrupt(e, true);
    usher_close(e);
    return 0;
}

static void forked(struct world *w)
{
    int status;
    pid_t pid;

    post_add(w->e, "p", 1, 1);
    post_add(w->e, "p", 2, 2);
    must_collect(w->e, 1, USHER_OK);
    for (unsigned i = 0; i < 2; i++) { /* with something in it, and silent */
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(child(w->e));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        if (i == 0) {
            assert_true(is_readable(w->e));
            must_collect(w->e, 2, USHER_OK);
        }
        must_be_silent(w->e);
        assert_null(usher_collect(w->e, 1));
    }
    post_add(w->e, "p", 3, 3);
    must_collect(w->e, 3, USHER_OK);
}

TEST(a_child_leaves_the_parents_descriptors_alone)
{
    on_each(forked);
}

/* ---- hooks ---- */

static void hook(void *payload, const struct usher_operation *command,
                 const struct usher_result *reply)
{
    struct usher_engine *e = *(struct usher_engine **)payload;
    struct usher_command c = { USHER_NUMBER_STATS, USHER_TO_NUL, "p", NULL, 0, NULL };

    (void)command;
    (void)reply;
    assert_int_equal(usher_post(e, &c, 1, 0), USHER_INVALID);
    assert_null(usher_collect(e, -1));
    assert_int_equal(usher_work(e, -1), USHER_INVALID);
    assert_int_equal(usher_fd(e), -1);
}

TEST(a_hook_must_not_post)
{
    struct world w;

    world_begin(&w);
    w.opt.trace = hook;
    w.opt.payload = &w.e;
    world_open(&w, stores_named("memory"));
    post_add(w.e, "p", 1, 1);
    must_collect(w.e, 1, USHER_OK);
    must_be_silent(w.e);
    world_close(&w);
}

static void heard(void *payload, const struct usher_notice *notice)
{
    struct usher_engine *e = payload;

    if (notice->verb == USHER_NUMBER_ADD && notice->version < 5)
        post_add(e, "p", 100 + (unsigned)notice->version, 2);
    assert_null(usher_collect(e, 0)); /* who executes has not come back yet */
}

TEST(a_watcher_may_post)
{
    struct usher_watcher *watch;
    struct world w;

    world_begin(&w);
    world_open(&w, stores_named("memory"));
    assert_int_equal(usher_watch(w.e, USHER_NUMBER, "p", heard, w.e, &watch), USHER_OK);
    post_add(w.e, "p", 1, 1);
    must_collect(w.e, 1, USHER_OK);
    for (unsigned version = 1; version < 5; version++)
        must_collect(w.e, 2, USHER_OK);
    must_be_silent(w.e);
    usher_unwatch(w.e, watch);
    world_close(&w);
}

static int program_begin(void)
{
    if (getenv("USHER_STORES") == NULL)
        (void)setenv("USHER_STORES", "memory,sqlite", 1); /* Redis: fault/test_post_redis */
    return stores_start();
}

TEST_PROGRAM(program_begin, stores_stop);
