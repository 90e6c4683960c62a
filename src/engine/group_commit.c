/* SPDX-License-Identifier: MIT */
/*
 * Group commit: commands of many threads become one batch of the store.
 *
 * A store that gains from batches (SQLite: one transaction; Redis: one pipeline) is called by one
 * thread at a time.  A thread that finds the store free becomes the leader.  It executes all
 * commands that are in the queue, wakes the others, and hands the lead to the first thread that has
 * queued up since.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "engine/execute.h"

/* The hostile build tests the code without it. */
#if defined(HAVE_SEM_CLOCKWAIT) && !defined(USHER_HOSTILE)
#define USHER_SEM_CLOCKWAIT 1
#endif

/* How often a leader lets other threads run before it begins, at most. */
#define PATIENCE 32

struct usher__waiter {
    struct usher__waiter *next;
    struct usher_task *tasks;
    size_t n;
    int64_t deadline_ms;
    bool lead; /* woken to lead; else its tasks are done */
    sem_t wake;
    size_t n_heirs; /* done waiters after it in the list, which it has to wake */
};

/* Take the first one out of the queue, which is not empty. */
static struct usher__waiter *queue_take(struct usher__lane *l)
{
    struct usher__waiter *w = l->first;

    USHER_ASSERT(w != NULL && l->queued > 0);
    l->first = w->next;
    if (l->first == NULL)
        l->last = NULL;
    w->next = NULL;
    l->queued--;
    return w;
}

/*
 * Wake the @n waiters from @w on, whose tasks are done.
 *
 * Each woken waiter wakes half of those after it.  To wake a thread costs about as much as the
 * thread then does before it sleeps again.  So the waiters would wait for a single thread that
 * wakes all of them, and if a processor is idle, each of them interrupts that thread again.  A
 * waiter may be gone as soon as it is woken.
 */
static void wake(struct usher__waiter *w, size_t n)
{
    while (n > 0) {
        struct usher__waiter *heir = w->next;

        USHER_ASSERT(w != NULL);
        w->n_heirs = (n - 1) / 2;
        n -= w->n_heirs + 1;
        for (size_t i = 0; i < w->n_heirs; i++)
            heir = heir->next;
        (void)sem_post(&w->wake);
        w = heir;
    }
}

/* A batch: the tasks of the leader, and those of the waiters that it took out of the queue. */
struct usher__batch {
    struct usher_context context;
    struct usher__waiter *last; /* of the waiters; the leader is the first */
    size_t n, n_waiters;
    int64_t latest_ms; /* latest deadline of the waiters */
    int patience;      /* how often the leader may still yield to other threads */
    struct usher_task tasks[GATHER];
};

/*
 * Return whether @w may join @b.  A batch has one deadline, the earliest of its commands, and each
 * of them keeps at least half of the time that it has left.
 */
static bool shares_time(const struct usher__waiter *w, const struct usher__batch *b)
{
    int64_t first = b->context.deadline_ms, last = b->latest_ms, now_ms;

    if (first == last && w->deadline_ms == first)
        return true; /* or the store does not wait */
    if (w->deadline_ms < first)
        first = w->deadline_ms;
    if (w->deadline_ms > last)
        last = w->deadline_ms;
    now_ms = usher__monotonic_ms();
    return (last - now_ms) / 2 <= first - now_ms;
}

/* Move waiters from the queue into @b, as far as there is space.  With the lock. */
static void gather(struct usher__lane *l, struct usher__batch *b)
{
    while (l->first != NULL && b->n + l->first->n <= GATHER && shares_time(l->first, b) &&
           (l->leaders_max == 1 || b->n_waiters < l->expected)) {
        struct usher__waiter *w = queue_take(l);

        b->last = b->last->next = w;
        memcpy(b->tasks + b->n, w->tasks, w->n * sizeof *w->tasks);
        b->n += w->n;
        b->n_waiters++;
        l->under_way++;
        /* a command waits no longer than its caller allows */
        if (w->deadline_ms < b->context.deadline_ms)
            b->context.deadline_ms = w->deadline_ms;
        if (w->deadline_ms > b->latest_ms)
            b->latest_ms = w->deadline_ms;
    }
}

/* Let another thread run.  Return false if @b has yielded often enough.  With the lock. */
static bool wait_a_little(struct usher__lane *l, struct usher__batch *b)
{
    if (b->patience == 0)
        return false;
    b->patience--;
    (void)pthread_mutex_unlock(&l->lock);
    (void)sched_yield();
    (void)pthread_mutex_lock(&l->lock);
    return true;
}

/*
 * usher_context.more of a store with USHER_CAP_MORE.  The threads of the last batch may soon come
 * with their next commands, and the store is faster with many commands at once.  It begins with the
 * commands that are there, while the others come.
 */
static size_t more(void *payload)
{
    struct usher_engine *e = payload;
    struct usher__lane *l = e->lanes;
    struct usher__batch *b = l->batch;
    size_t from = b->n;

    (void)pthread_mutex_lock(&l->lock);
    do {
        if (b->context.notify == NULL && watched(e))
            break; /* a thread that has begun to watch must get notices of its own command */
        gather(l, b);
    } while (b->n == from && b->n_waiters < l->expected && wait_a_little(l, b));
    (void)pthread_mutex_unlock(&l->lock);
    /* none of the new commands is earlier than the leader's own */
    if (b->n != from && !usher__engine_clock(e, &b->context)) {
        usher__engine_clock_refused(b->tasks + from, b->n - from);
        b->n = from;
    }
    return b->n - from;
}

/* Copy the results in the tasks of the store back to the tasks of the waiters. */
static void return_tasks(const struct usher__batch *b, struct usher__waiter *w)
{
    size_t from = 0;

    for (size_t i = 0; i < b->n_waiters; i++, w = w->next) {
        memcpy(w->tasks, b->tasks + from, w->n * sizeof *w->tasks);
        from += w->n;
    }
}

/* As the leader, which is not in the queue: execute the tasks of @me and of the queue, in all at
 * most GATHER. */
static void lead(struct usher_engine *e, struct usher__lane *l, struct usher__waiter *me)
{
    struct usher__batch b;
    struct usher__waiter *next = NULL;

    USHER_ASSERT(me->n <= GATHER && me->next == NULL);
    b.context.deadline_ms = b.latest_ms = me->deadline_ms;
    b.context.more = e->asks ? more : NULL;
    b.last = me;
    b.n = me->n;
    b.n_waiters = 1;
    b.patience = PATIENCE;
    memcpy(b.tasks, me->tasks, me->n * sizeof *b.tasks);
    (void)pthread_mutex_lock(&l->lock);
    l->under_way++;
    if (e->asks)
        l->batch = &b; /* cppcheck-suppress autoVariables */
    else
        while (l->queued + 1 < l->expected && wait_a_little(l, &b))
            ;
    gather(l, &b);
    if (l->first != NULL && l->leaders < l->leaders_max) {
        l->leaders++;
        next = queue_take(l);
        next->lead = true;
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (next != NULL)
        (void)sem_post(&next->wake);
    usher__engine_give(e, b.tasks, b.n, &b.context);
    if (e->routes)
        return_tasks(&b, me);

    (void)pthread_mutex_lock(&l->lock);
    USHER_ASSERT(l->under_way >= b.n_waiters && l->leaders >= 1 && l->leaders <= l->leaders_max);
    USHER_ASSERT((l->first == NULL) == (l->queued == 0));
    l->expected = (l->queued + l->under_way + l->leaders_max - 1) / l->leaders_max;
    l->under_way -= b.n_waiters;
    next = NULL;
    if (l->first != NULL) {
        next = queue_take(l);
        next->lead = true;
    } else {
        l->leaders--;
    }
    (void)pthread_mutex_unlock(&l->lock);
    /* Not under the lock, because they would wait for it; the next leader first. */
    if (next != NULL)
        (void)sem_post(&next->wake);
    wake(me->next, b.n_waiters - 1);
}

/* Remove @w from the queue if it is still in it.  With the lock. */
static bool queue_leave(struct usher__lane *l, struct usher__waiter *w)
{
    struct usher__waiter *before = NULL, *at = l->first;

    for (; at != NULL && at != w; at = at->next)
        before = at;
    if (at == NULL)
        return false;
    USHER_ASSERT(l->queued > 0);
    *(before != NULL ? &before->next : &l->first) = w->next;
    if (l->last == w)
        l->last = before;
    w->next = NULL;
    l->queued--;
    return true;
}

/* For clang's thread sanitizer, which does not support sem_clockwait() and does not see that it
 * orders the code before the post. */
static void acquired(sem_t *wake)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    int value;

    (void)sem_getvalue(wake, &value);
#endif
#endif
    (void)wake;
}

/*
 * sem_clockwait() by CLOCK_MONOTONIC.  Without it (musl) the wait is by the wall clock, in slices,
 * because the wall clock may be set in between; the end of a slice is EINTR.
 */
static int wait_until(sem_t *wake, int64_t deadline_ms)
{
#ifdef USHER_SEM_CLOCKWAIT
    struct timespec until = { .tv_sec = deadline_ms / 1000,
                              .tv_nsec = (long)(deadline_ms % 1000) * 1000000 };

    return sem_clockwait(wake, CLOCK_MONOTONIC, &until);
#else
    enum { SLICE_MS = 1000 };
    int64_t left_ms = deadline_ms - usher__monotonic_ms();
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    left_ms = left_ms < 0 ? 0 : left_ms > SLICE_MS ? SLICE_MS : left_ms;
    until.tv_sec += left_ms / 1000;
    until.tv_nsec += (long)(left_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (sem_timedwait(wake, &until) == 0)
        return 0;
    if (errno == ETIMEDOUT && usher__monotonic_ms() < deadline_ms)
        errno = EINTR;
    return -1;
#endif
}

/*
 * Wait for a leader to execute the tasks of @me, or to be one.  The waiter leaves the queue at its
 * deadline, because the batches before it may have more time.  A waiter that a leader has taken out
 * of the queue continues to wait: the leader's batch keeps its deadline.  Return false if it left.
 */
static bool await(const struct usher_engine *e, struct usher__lane *l, struct usher__waiter *me)
{
    bool left = false;
    int error = 0;

    while (e->waits && error != ETIMEDOUT) {
        if (wait_until(&me->wake, me->deadline_ms) == 0) {
            acquired(&me->wake);
            return true;
        }
        error = errno; /* or it was a signal */
    }
    if (error == ETIMEDOUT) {
        (void)pthread_mutex_lock(&l->lock);
        left = queue_leave(l, me);
        (void)pthread_mutex_unlock(&l->lock);
    }
    while (!left && sem_wait(&me->wake) != 0) /* a signal */
        ;
    return !left;
}

void usher__group_commit(struct usher_engine *e, struct usher__lane *l, struct usher_task *tasks,
                         size_t n, int64_t deadline_ms)
{
    struct usher__waiter me = { .tasks = tasks, .n = n, .deadline_ms = deadline_ms };
    bool leads;

    (void)sem_init(&me.wake, 0, 0);
    (void)pthread_mutex_lock(&l->lock);
    leads = l->leaders < l->leaders_max;
    if (leads) {
        l->leaders++;
    } else {
        /* it is out of the queue before this function returns */
        if (l->last != NULL)
            l->last->next = &me;
        else
            l->first = &me; /* cppcheck-suppress autoVariables */
        l->last = &me;      /* cppcheck-suppress autoVariables */
        l->queued++;
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (!leads) {
        if (await(e, l, &me)) {
            leads = me.lead;
            wake(me.next, me.n_heirs);
        } else {
            for (size_t i = 0; i < n; i++)
                usher_result_fail(tasks[i].reply, USHER_UNAVAILABLE,
                                  "timed out: earlier commands still wait for the store");
        }
    }
    if (leads)
        lead(e, l, &me);
    (void)sem_destroy(&me.wake);
}
