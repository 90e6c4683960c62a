/* SPDX-License-Identifier: MIT */
/*
 * Ids in the process from a manager that is slow, dead, confused, or in a hurry.
 *
 * Nothing here sleeps for an effect: the manager waits at a gate until the test opens it, and
 * deadlines are real ones.
 */
#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <usher/usher.h>

#include "lib/util.h"

/* ---- a manager -------------------------------------------------------------------- */

struct manager {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t next, by;
    int64_t gap, turn; /* ids to skip in every third segment */
    bool closed;       /* the gate: reserve() waits until it opens */
    unsigned waiting;
    enum usher_status answer; /* OK, or what it fails with */
    int64_t dead_until_ns;
    const struct usher_id_range *instead; /* of a range of our own */
    unsigned requests;
    int64_t largest, smallest;
    struct usher_id_range released;
    unsigned releases;
};

static enum usher_status reserve(void *payload, int64_t n, int64_t floor, int64_t deadline_ms,
                                 struct usher_id_range *ret, char message[192])
{
    struct manager *m = payload;
    enum usher_status status;

    (void)deadline_ms;
    (void)pthread_mutex_lock(&m->lock);
    m->requests++;
    m->waiting++;
    (void)pthread_cond_broadcast(&m->changed);
    while (m->closed)
        (void)pthread_cond_wait(&m->changed, &m->lock);
    m->waiting--;
    status = clock_ns() < m->dead_until_ns ? USHER_UNAVAILABLE : m->answer;
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "the manager is ill");
    } else if (m->instead != NULL) {
        *ret = *m->instead;
    } else {
        if (m->gap > 0 && ++m->turn % 3 == 0)
            m->next += m->gap * m->by;
        if (floor > m->next)
            status = USHER_LOST;
        ret->first = m->next;
        ret->n = n;
        ret->by = m->by;
        ret->token = m->requests;
        m->next += n * m->by;
        if (n > m->largest)
            m->largest = n;
        if (m->smallest == 0 || n < m->smallest)
            m->smallest = n;
    }
    (void)pthread_mutex_unlock(&m->lock);
    return status;
}

static void release(void *payload, const struct usher_id_range *range)
{
    struct manager *m = payload;

    m->released = *range;
    m->releases++;
}

static void manager_init(struct manager *m)
{
    memset(m, 0, sizeof *m);
    (void)pthread_mutex_init(&m->lock, NULL);
    (void)pthread_cond_init(&m->changed, NULL);
    m->next = m->by = 1;
}

static void gate(struct manager *m, bool closed)
{
    (void)pthread_mutex_lock(&m->lock);
    m->closed = closed;
    (void)pthread_cond_broadcast(&m->changed);
    (void)pthread_mutex_unlock(&m->lock);
}

static void answer_with(struct manager *m, enum usher_status status)
{
    (void)pthread_mutex_lock(&m->lock);
    m->answer = status;
    (void)pthread_mutex_unlock(&m->lock);
}

static unsigned requests(struct manager *m)
{
    unsigned n;

    (void)pthread_mutex_lock(&m->lock);
    n = m->requests;
    (void)pthread_mutex_unlock(&m->lock);
    return n;
}

static void wait_for_requests(struct manager *m, unsigned n)
{
    (void)pthread_mutex_lock(&m->lock);
    while (m->requests < n)
        (void)pthread_cond_wait(&m->changed, &m->lock);
    (void)pthread_mutex_unlock(&m->lock);
}

static struct usher_ids *ids_open(struct manager *m, struct usher_ids_options opt)
{
    struct usher_ids_manager manager = { reserve, release, m };
    struct usher_ids *ids = NULL;

    opt.size = sizeof opt;
    if (usher_ids_open_manager(&manager, &opt, &ids) != USHER_OK)
        fail_msg("%s", usher_message());
    return ids;
}
#define OPTIONS(...) ((struct usher_ids_options){ __VA_ARGS__ })

static struct usher_ids_statistics stats(struct usher_ids *ids)
{
    struct usher_ids_statistics s;

    assert_int_equal(usher_ids_stats(ids, &s), USHER_OK);
    return s;
}

/* ---- one request ------------------------------------------------------------------ */

#define CALLERS 64

struct caller {
    struct usher_ids *ids;
    atomic_uint *arrived;
    int64_t id;
    enum usher_status status;
    pthread_t thread;
};

static void *call_once(void *payload)
{
    struct caller *c = payload;

    atomic_fetch_add(c->arrived, 1);
    c->status = usher_ids_next(c->ids, &c->id);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

TEST(sixty_four_callers_of_a_used_up_segment_make_one_request)
{
    struct manager m;
    struct usher_ids *ids;
    struct caller callers[CALLERS];
    atomic_uint arrived;
    int64_t got[CALLERS];

    manager_init(&m);
    ids = ids_open(
        &m, OPTIONS(.step = 100, .life_ms = USHER_NONE, .share = USHER_NONE, .timeout_ms = 60000));
    for (int64_t i = 1; i <= 100; i++)
        assert_int_equal(next_id(ids), i);
    assert_int_equal(requests(&m), 1);
    atomic_init(&arrived, 0);
    gate(&m, true);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ .ids = ids, .arrived = &arrived };
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_once, &callers[i]), 0);
    }
    while (atomic_load(&arrived) < CALLERS)
        (void)sched_yield();
    wait_for_requests(&m, 2);
    gate(&m, false);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].status, USHER_OK);
        got[i] = callers[i].id;
    }
    assert_int_equal(requests(&m), 2);
    qsort(got, CALLERS, sizeof *got, by_value);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(got[i], 101 + i);
    assert_true(stats(ids).waits >= 1);
    usher_ids_close(ids);
}

/* ---- slow ------------------------------------------------------------------------- */

struct refiller {
    struct usher_ids *ids;
    pthread_t thread;
};

static void *refill_always(void *payload)
{
    struct refiller *r = payload;

    while (usher_ids_refill(r->ids, 60000) != USHER_REFUSED)
        ;
    return NULL;
}

TEST(a_thread_does_not_wait_for_the_refill_of_another)
{
    struct manager m;
    struct refiller r;
    int64_t id = 0, deadline;

    manager_init(&m);
    r.ids = ids_open(&m, OPTIONS(.step = 1000, .life_ms = USHER_NONE, .background = true));
    assert_int_equal(pthread_create(&r.thread, NULL, refill_always, &r), 0);
    for (unsigned round = 0; round < 20; round++) {
        gate(&m, true);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(next_id(r.ids), ++id);
        wait_for_requests(&m, 2 + round);
        gate(&m, false);
        deadline = clock_ns() + INT64_C(60000000000);
        while (stats(r.ids).left < 1000 && clock_ns() < deadline)
            (void)sched_yield();
    }
    assert_int_equal(stats(r.ids).waits, 0);
    assert_int_equal(stats(r.ids).issued, 20000);
    assert_int_equal(stats(r.ids).segments, 21);
    assert_int_equal(requests(&m), 21);
    usher_ids_stop(r.ids);
    assert_int_equal(pthread_join(r.thread, NULL), 0);
    usher_ids_close(r.ids);
}

TEST(one_thread_refills_while_the_others_continue)
{
    struct manager m;
    struct caller payer;
    atomic_uint arrived;
    struct usher_ids *ids;

    manager_init(&m);
    ids = ids_open(&m, OPTIONS(.step = 100, .life_ms = USHER_NONE, .timeout_ms = 60000));
    gate(&m, true);
    for (int64_t i = 1; i <= 50; i++)
        assert_int_equal(next_id(ids), i);
    atomic_init(&arrived, 0);
    payer = (struct caller){ .ids = ids, .arrived = &arrived };
    assert_int_equal(pthread_create(&payer.thread, NULL, call_once, &payer), 0);
    wait_for_requests(&m, 2);
    for (int64_t i = 52; i <= 100; i++)
        assert_int_equal(next_id(ids), i);
    gate(&m, false);
    assert_int_equal(pthread_join(payer.thread, NULL), 0);
    assert_int_equal(payer.id, 51);
    assert_int_equal(next_id(ids), 101);
    assert_int_equal(stats(ids).waits, 0);
    usher_ids_close(ids);
}

/* ---- dead ------------------------------------------------------------------------- */

TEST(nothing_fails_before_the_ids_are_used_up)
{
    struct manager m;
    struct usher_ids *ids;
    struct timespec cpu0, cpu1;
    int64_t id, began, took, used;
    unsigned before;

    manager_init(&m);
    ids = ids_open(&m, OPTIONS(.step = 1000, .life_ms = USHER_NONE));
    for (int64_t i = 1; i <= 600; i++) /* the next one is there from 501 on */
        assert_int_equal(next_id(ids), i);
    answer_with(&m, USHER_UNAVAILABLE);
    for (int64_t i = 601; i <= 2000; i++)
        assert_int_equal(next_id(ids), i);
    before = requests(&m);
    assert_true(before <= 12); /* no more than the halves of halves */
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu0);
    began = clock_ns();
    assert_int_equal(usher_ids_take(ids, 1, 1000, &id), USHER_UNAVAILABLE);
    took = (clock_ns() - began) / 1000000;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu1);
    used = (int64_t)(cpu1.tv_sec - cpu0.tv_sec) * 1000 + (cpu1.tv_nsec - cpu0.tv_nsec) / 1000000;
    assert_non_null(strstr(usher_message(), "ill"));
    assert_true(took >= 999); /* the caller's deadline, not earlier, */
    assert_true(used < 300);  /* and not spent in circles */
    assert_true(requests(&m) - before <= 10);
    assert_true(stats(ids).failures >= 3);
    answer_with(&m, USHER_OK);
    assert_int_equal(usher_ids_take(ids, 1, 60000, &id), USHER_OK);
    assert_int_equal(id, 2001);
    assert_int_equal(next_id(ids), 2002);
    usher_ids_close(ids);
}

TEST(a_waiting_thread_gets_an_id_after_the_outage)
{
    struct manager m;
    struct usher_ids *ids;
    int64_t id = 0;

    manager_init(&m);
    ids = ids_open(&m, OPTIONS(.step = 10, .life_ms = USHER_NONE, .share = USHER_NONE));
    for (int64_t i = 1; i <= 10; i++)
        assert_int_equal(next_id(ids), i);
    m.dead_until_ns = clock_ns() + 1000000000;
    assert_int_equal(usher_ids_take(ids, 1, 60000, &id), USHER_OK);
    assert_int_equal(id, 11);
    assert_true(clock_ns() >= m.dead_until_ns);
    assert_true(requests(&m) >= 4 && requests(&m) <= 12); /* 10, 20, 40 … ms apart */
    usher_ids_close(ids);
}

TEST(a_final_error_is_returned_at_once)
{
    static const enum usher_status finals[] = { USHER_FULL, USHER_MISSING, USHER_REFUSED,
                                                USHER_LOST, USHER_INVALID };
    struct manager m;
    struct usher_ids *ids;
    int64_t id, began;

    for (size_t i = 0; i < sizeof finals / sizeof *finals; i++) {
        manager_init(&m);
        ids = ids_open(&m, OPTIONS(.step = 10, .life_ms = USHER_NONE));
        answer_with(&m, finals[i]);
        for (int64_t k = 1; k <= 10; k++)
            assert_int_equal(next_id(ids), k);
        began = clock_ns();
        for (int k = 0; k < 100; k++)
            assert_int_equal(usher_ids_take(ids, 1, 60000, &id), finals[i]);
        assert_int_equal(usher_ids_next(ids, &id), finals[i]);
        assert_true(clock_ns() - began < INT64_C(30000000000));
        assert_true(requests(&m) < 100);
        usher_ids_close(ids);
    }
}

TEST(invalid_segment_of_a_manager_is_not_used)
{
    static const struct {
        struct usher_id_range range;
        enum usher_status status;
    } wrong[] = {
        { { .first = 1, .n = 10, .by = 1 }, USHER_LOST }, /* had before */
        { { .first = 10, .n = 10, .by = 1 }, USHER_LOST },
        { { .first = 100, .n = 0, .by = 1 }, USHER_INVALID },
        { { .first = 100, .n = -1, .by = 1 }, USHER_INVALID },
        { { .first = -100, .n = 5, .by = 1 }, USHER_INVALID },
        { { .first = 100, .n = 5, .by = 0 }, USHER_INVALID },
        { { .first = INT64_MAX - 5, .n = 10, .by = 1 }, USHER_INVALID },
        { { .first = 100, .n = USHER_ID_N_MAX + 1, .by = 1 }, USHER_INVALID },
        { { .first = 100, .n = 10, .by = 2 }, USHER_REFUSED }, /* another distance */
    };
    struct manager m;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct usher_ids *ids;
        int64_t id = 0;

        manager_init(&m);
        ids = ids_open(&m, OPTIONS(.step = 10, .life_ms = USHER_NONE, .share = USHER_NONE));
        for (int64_t k = 1; k <= 10; k++)
            assert_int_equal(next_id(ids), k);
        m.instead = &wrong[i].range;
        assert_int_equal(usher_ids_take(ids, 1, 1000, &id), wrong[i].status);
        assert_true(usher_message()[0] != '\0');
        usher_ids_close(ids);
    }
}

TEST(a_refiller_keeps_the_pauses)
{
    struct manager m;
    struct usher_ids *ids;
    int64_t id, began = clock_ns();
    unsigned n;

    manager_init(&m);
    ids = ids_open(
        &m, OPTIONS(.step = 10, .life_ms = USHER_NONE, .background = true, .timeout_ms = 50));
    assert_int_equal(usher_ids_refill(ids, 0), USHER_SAME);
    for (int64_t k = 1; k <= 6; k++)
        assert_int_equal(next_id(ids), k);
    answer_with(&m, USHER_UNAVAILABLE);
    for (n = 0; n < 5; n++) { /* 0, 10, 20, 40, 80 ms */
        assert_int_equal(usher_ids_refill(ids, 60000), USHER_UNAVAILABLE);
        assert_non_null(strstr(usher_message(), "ill"));
    }
    assert_true(clock_ns() - began >= 140000000);
    assert_int_equal(requests(&m), 6);
    assert_int_equal(usher_ids_refill(ids, 1), USHER_SAME);
    answer_with(&m, USHER_OK);
    assert_int_equal(usher_ids_refill(ids, 60000), USHER_OK);
    assert_int_equal(usher_ids_refill(ids, 0), USHER_SAME);
    for (int64_t k = 7; k <= 20; k++)
        assert_int_equal(next_id(ids), k);
    /* no refiller is there: the caller goes itself */
    assert_int_equal(usher_ids_take(ids, 1, 60000, &id), USHER_OK);
    assert_int_equal(id, 21);
    usher_ids_stop(ids);
    assert_int_equal(usher_ids_refill(ids, 60000), USHER_REFUSED);
    usher_ids_close(ids);
}

/* ---- close, options, figures ------------------------------------------------------ */

TEST(close_returns_unused_ids)
{
    struct manager m;
    struct usher_ids *ids;

    manager_init(&m);
    ids = ids_open(&m, OPTIONS(.step = 10, .life_ms = USHER_NONE));
    assert_int_equal(next_id(ids), 1);
    usher_ids_close(ids);
    assert_int_equal(m.releases, 1);
    assert_int_equal(m.released.first, 2);
    assert_int_equal(m.released.n, 9);
    assert_int_equal(m.released.token, 1);
    m.next = 2;
    ids = ids_open(&m, OPTIONS(.step = 10, .life_ms = USHER_NONE));
    for (int64_t k = 2; k <= 8; k++)
        assert_int_equal(next_id(ids), k);
    usher_ids_close(ids); /* with the next one, which goes on from it */
    assert_int_equal(m.releases, 2);
    assert_int_equal(m.released.first, 9);
    assert_int_equal(m.released.n, 13);
    assert_int_equal(m.released.token, 3);
    m.next = 100;
    ids = ids_open(&m, OPTIONS(.step = 10, .life_ms = USHER_NONE));
    m.next = 200;
    for (int64_t k = 100; k <= 106; k++)
        assert_int_equal(next_id(ids), k);
    usher_ids_close(ids); /* only the newest */
    assert_int_equal(m.released.first, 200);
    assert_int_equal(m.released.n, 10);
}

TEST(wrong_options_are_refused)
{
    const struct usher_ids_options wrong[] = {
        OPTIONS(.size = 1),
        OPTIONS(.size = sizeof *wrong, .step = -1),
        OPTIONS(.size = sizeof *wrong, .step_max = USHER_ID_N_MAX + 1),
        OPTIONS(.size = sizeof *wrong, .share = 100),
        OPTIONS(.size = sizeof *wrong, .chunk = -1),
        OPTIONS(.size = sizeof *wrong, .life_ms = USHER_SPAN_MAX + 1),
        OPTIONS(.size = sizeof *wrong, .timeout_ms = -1),
    };
    struct manager m;
    struct usher_ids_manager manager = { reserve, NULL, &m };
    struct usher_ids *ids = NULL;
    struct usher_ids_local *local;
    int64_t id = 0;

    manager_init(&m);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(usher_ids_open_manager(&manager, &wrong[i], &ids), USHER_INVALID);
    assert_int_equal(usher_ids_open_manager(NULL, NULL, &ids), USHER_INVALID);
    assert_int_equal(usher_ids_open_manager(&manager, NULL, NULL), USHER_INVALID);
    assert_int_equal(usher_ids_open(NULL, "x", NULL, &ids), USHER_INVALID);
    answer_with(&m, USHER_UNAVAILABLE);
    assert_int_equal(usher_ids_open_manager(&manager, NULL, &ids), USHER_UNAVAILABLE);
    assert_null(ids);
    answer_with(&m, USHER_OK);
    assert_int_equal(usher_ids_open_manager(&manager, NULL, &ids), USHER_OK);
    assert_int_equal(usher_ids_take(ids, 0, 0, &id), USHER_INVALID);
    assert_int_equal(usher_ids_take(ids, USHER_ID_N_MAX + 1, 0, &id), USHER_INVALID);
    assert_int_equal(usher_ids_take(ids, 1, -1, &id), USHER_INVALID);
    assert_int_equal(usher_ids_take(ids, 1, 0, NULL), USHER_INVALID);
    assert_int_equal(usher_ids_refill(ids, -1), USHER_INVALID);
    assert_int_equal(usher_ids_stats(ids, NULL), USHER_INVALID);
    assert_int_equal(usher_ids_stats(NULL, NULL), USHER_INVALID);
    assert_int_equal(usher_ids_local_open(ids, NULL), USHER_INVALID);
    assert_int_equal(usher_ids_local_open(NULL, &local), USHER_INVALID);
    assert_int_equal(usher_ids_local_more(NULL, &id), USHER_INVALID);
    usher_ids_local_close(NULL);
    usher_ids_close(NULL);
    usher_ids_close(ids);
}

/* The rest of a closed sub-range goes to others, but not to one that has had larger ids. */
TEST(leftover_ids_keep_the_order_of_each_sub_range)
{
    struct manager m;
    struct usher_ids *ids;
    struct usher_ids_local *a, *b, *c;
    int64_t id;

    manager_init(&m);
    ids =
        ids_open(&m, OPTIONS(.step = 20, .life_ms = USHER_NONE, .chunk = 10, .share = USHER_NONE));
    assert_int_equal(usher_ids_local_open(ids, &a), USHER_OK);
    assert_int_equal(usher_ids_local_open(ids, &b), USHER_OK);
    assert_int_equal(usher_ids_local_open(ids, &c), USHER_OK);
    assert_int_equal(usher_ids_local_next(a, &id), USHER_OK);
    assert_int_equal(id, 1);
    for (int64_t want = 11; want <= 20; want++) {
        assert_int_equal(usher_ids_local_next(b, &id), USHER_OK);
        assert_int_equal(id, want);
    }
    usher_ids_local_close(a); /* 2 to 10 are left */
    assert_int_equal(stats(ids).left, 9);
    assert_int_equal(usher_ids_local_next(b, &id), USHER_OK);
    assert_int_equal(id, 21);
    for (int64_t want = 31; want <= 40; want++) /* the segment goes first */
        assert_int_equal(next_id(ids), want);
    assert_int_equal(usher_ids_local_next(c, &id), USHER_OK);
    assert_int_equal(id, 2);
    usher_ids_local_close(b);
    usher_ids_local_close(c);
    usher_ids_close(ids);
}

/* A segment that does not lie on the grid of the one before, as after `set next=`, when an id
 * after the old segment has been taken already. */
TEST(each_segment_has_its_own_grid)
{
    struct manager m;
    struct usher_ids *ids;

    manager_init(&m);
    m.by = 3;
    ids = ids_open(&m, OPTIONS(.step = 3, .life_ms = USHER_NONE, .share = USHER_NONE));
    for (int64_t want = 1; want <= 7; want += 3)
        assert_int_equal(next_id(ids), want);
    m.next = 11;
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_id(ids) % 3, 2);
    usher_ids_close(ids);
}

TEST(a_busy_process_asks_for_larger_segments)
{
    struct manager m;
    struct usher_ids *ids;
    int64_t last = 0;

    manager_init(&m);
    ids = ids_open(&m, OPTIONS(.step = 10, .step_max = 640, .life_ms = 3600000));
    for (int i = 0; i < 5000; i++) {
        int64_t id = next_id(ids);

        assert_int_equal(id, last + 1);
        last = id;
    }
    assert_int_equal(m.smallest, 10);
    assert_int_equal(m.largest, 640);
    assert_int_equal(stats(ids).step, 640);
    assert_true(stats(ids).rate > 0);
    assert_true(stats(ids).segment_ms >= 0);
    assert_int_equal(stats(ids).issued, 5000);
    assert_true(stats(ids).p9999_ns > 0);
    usher_ids_close(ids);
}

/* ---- many threads ----------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 6000

struct crowd {
    struct usher_ids *ids;
    atomic_llong *largest; /* of all calls that are done */
    int64_t *got;
    size_t n;
    const char *wrong;
    pthread_t thread;
    unsigned seed;
    int64_t by;
};

static void keep(struct crowd *c, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        c->got[c->n++] = first + i * c->by;
}

static void *ordered(void *payload)
{
    struct crowd *c = payload;

    for (int i = 0; i < ROUNDS; i++) {
        long long before = atomic_load(c->largest), last;
        int64_t id, n = 1;
        enum usher_status status;

        c->seed = c->seed * 1103515245u + 12345u;
        if ((c->seed >> 16) % 16 == 0) {
            n = 1 + (c->seed >> 20) % 12;
            status = usher_ids_take(c->ids, n, 0, &id);
        } else {
            status = usher_ids_next(c->ids, &id);
        }
        if (status != USHER_OK) {
            c->wrong = usher_status_word(status);
            return NULL;
        }
        /* every call that was done before this one began has smaller ids */
        if (id <= before)
            c->wrong = "not in the order of calls";
        keep(c, id, n);
        last = id + (n - 1) * c->by;
        before = atomic_load(c->largest);
        while (last > before && !atomic_compare_exchange_weak(c->largest, &before, last))
            ;
    }
    return NULL;
}

static void *fast(void *payload)
{
    struct crowd *c = payload;
    struct usher_ids_local *local = NULL;
    int64_t last = 0;

    for (int i = 0; i < ROUNDS; i++) {
        int64_t id = 0;

        if (i % 500 == 0) { /* now and then another one */
            usher_ids_local_close(local);
            if (usher_ids_local_open(c->ids, &local) != USHER_OK) {
                c->wrong = "local_open";
                return NULL;
            }
            last = 0;
        }
        if (usher_ids_local_next(local, &id) != USHER_OK)
            c->wrong = "local_next";
        if (id <= last)
            c->wrong = "not growing within a thread";
        last = id;
        keep(c, id, 1);
    }
    usher_ids_local_close(local);
    return NULL;
}

static void crowd_runs(struct usher_ids_options opt, int64_t by, int64_t gap, unsigned n_fast,
                       bool background)
{
    struct manager m;
    struct crowd crowd[THREADS];
    struct refiller r;
    atomic_llong largest;
    int64_t *all;
    size_t n = 0, room = (size_t)THREADS * ROUNDS * 12;
    struct usher_ids_statistics s;

    manager_init(&m);
    m.by = by;
    m.gap = gap;
    opt.timeout_ms = 60000;
    opt.background = background;
    r.ids = ids_open(&m, opt);
    if (background)
        assert_int_equal(pthread_create(&r.thread, NULL, refill_always, &r), 0);
    all = malloc(room * sizeof *all);
    assert_non_null(all);
    atomic_init(&largest, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        crowd[i] = (struct crowd){ .ids = r.ids, .largest = &largest, .seed = i, .by = by };
        crowd[i].got = all + i * (room / THREADS);
        assert_int_equal(
            pthread_create(&crowd[i].thread, NULL, i < n_fast ? fast : ordered, &crowd[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        if (crowd[i].wrong != NULL)
            fail_msg("%s", crowd[i].wrong);
        memmove(all + n, crowd[i].got, crowd[i].n * sizeof *all);
        n += crowd[i].n;
    }
    qsort(all, n, sizeof *all, by_value);
    assert_true(all[0] >= 1);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal((all[i] - 1) % by, 0);
        if (i > 0 && all[i] <= all[i - 1])
            fail_msg("%lld twice", (long long)all[i]);
    }
    s = stats(r.ids);
    assert_true(s.issued >= n); /* sub-ranges in scraps count as given */
    /* one whose caller slept through eight segments is lost */
    if (n_fast == 0)
        assert_true(s.issued - n <= s.segments);
    if (background) {
        usher_ids_stop(r.ids);
        assert_int_equal(pthread_join(r.thread, NULL), 0);
    }
    usher_ids_close(r.ids);
    free(all);
}

TEST(ids_are_unique_and_in_the_order_of_calls)
{
    crowd_runs(OPTIONS(.step = 17, .life_ms = USHER_NONE), 1, 0, 0, false);
    crowd_runs(OPTIONS(.step = 17, .life_ms = USHER_NONE), 3, 1, 0, false);
    crowd_runs(OPTIONS(.step = 12, .life_ms = USHER_NONE, .share = USHER_NONE), 1, 1000, 0, false);
    crowd_runs(OPTIONS(.step = 13, .life_ms = USHER_NONE, .share = 99), 7, 2, 0, true);
    crowd_runs(OPTIONS(.step = 64, .step_max = 4096), 1, 0, 0, true);
}

TEST(sub_ranges_are_unique_beside_ordered_ids)
{
    crowd_runs(OPTIONS(.step = 50, .life_ms = USHER_NONE, .chunk = 8), 1, 0, THREADS, false);
    crowd_runs(OPTIONS(.step = 50, .life_ms = USHER_NONE, .chunk = 8), 3, 1, THREADS / 2, false);
    crowd_runs(OPTIONS(.step = 20, .life_ms = USHER_NONE, .chunk = 64, .share = USHER_NONE), 1, 3,
               5, true);
}
