/* SPDX-License-Identifier: MIT */
/*
 * Work that takes long: lists of the whole store, `check`, `status`, `drop`.  A thread executes it,
 * so no client waits for the work of another one.  There are two threads, each with a queue of its
 * own: lists do not wait for a check of the whole store.  A thread begins with its first work.
 *
 * A thread has a work from the moment it takes it from the queue until it appends it to the list of
 * those that are done.  Then it writes a byte to a pipe, which the loop polls.  One lock protects
 * the queues and the list.  Work is never cancelled.
 */
#include "config.h"

#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define END_MS 2000 /* timeout of work in progress at the end */

struct work_list {
    struct work *first, *last;
};

struct worker {
    struct workers *of;
    pthread_t thread;
    bool begun; /* there is a thread */
    bool busy;
    struct work_list waiting;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct worker worker[SERVE_WORKERS];
    struct work_list done;
    int pipe[2];
    bool end;
};

static void append(struct work_list *l, struct work *w)
{
    w->next = NULL;
    if (l->last != NULL)
        l->last->next = w;
    else
        l->first = w;
    l->last = w;
}

static struct work *take(struct work_list *l)
{
    struct work *w = l->first;

    if (w != NULL && (l->first = w->next) == NULL)
        l->last = NULL;
    return w;
}

/* With the lock. */
static void finish(struct workers *all, struct work *w)
{
    append(&all->done, w);
    while (write(all->pipe[1], "", 1) < 0 && errno == EINTR)
        ; /* if the pipe is full, it is readable, too */
}

static void *run(void *payload)
{
    struct worker *me = payload;
    struct workers *all = me->of;
    struct work *w;

    (void)pthread_mutex_lock(&all->lock);
    while (!all->end) {
        w = take(&me->waiting);
        if (w == NULL) {
            (void)pthread_cond_wait(&all->more, &all->lock);
            continue;
        }
        me->busy = true;
        (void)pthread_mutex_unlock(&all->lock);
        w->run(w);
        w->ran = true;
        (void)pthread_mutex_lock(&all->lock);
        me->busy = false;
        finish(all, w);
    }
    (void)pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Return NULL if the system has no pipe for it. */
static struct workers *begin(void)
{
    struct workers *all = usher__cli_resize(NULL, sizeof *all);

    memset(all, 0, sizeof *all);
    if (pipe(all->pipe) != 0) {
        (void)usher__cli_resize(all, 0);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        (void)fcntl(all->pipe[i], F_SETFL, O_NONBLOCK);
        (void)fcntl(all->pipe[i], F_SETFD, FD_CLOEXEC);
    }
    (void)pthread_mutex_init(&all->lock, NULL);
    (void)pthread_cond_init(&all->more, NULL);
    for (unsigned i = 0; i < SERVE_WORKERS; i++)
        all->worker[i].of = all;
    return all;
}

bool usher__serve_work(struct server *s, enum serve_worker which, struct work *w)
{
    struct workers *all = s->workers != NULL ? s->workers : (s->workers = begin());
    struct worker *worker;

    w->ran = false;
    if (all == NULL)
        return false;
    worker = &all->worker[which];
    if (!worker->begun && pthread_create(&worker->thread, NULL, run, worker) != 0)
        return false;
    worker->begun = true;
    (void)pthread_mutex_lock(&all->lock);
    append(&worker->waiting, w);
    (void)pthread_cond_broadcast(&all->more);
    (void)pthread_mutex_unlock(&all->lock);
    return true;
}

int usher__serve_work_fd(const struct server *s)
{
    return s->workers != NULL ? s->workers->pipe[0] : -1;
}

void usher__serve_work_collect(struct server *s)
{
    struct workers *all = s->workers;
    struct work_list done;
    struct work *w;
    char bytes[64];

    if (all == NULL)
        return;
    (void)pthread_mutex_lock(&all->lock);
    while (read(all->pipe[0], bytes, sizeof bytes) > 0)
        ;
    done = all->done;
    all->done = (struct work_list){ NULL, NULL };
    (void)pthread_mutex_unlock(&all->lock);
    while ((w = take(&done)) != NULL)
        w->done(s, w);
}

static bool is_busy(struct workers *all)
{
    bool busy = false;

    (void)pthread_mutex_lock(&all->lock);
    for (unsigned i = 0; i < SERVE_WORKERS; i++)
        busy = busy || all->worker[i].busy;
    (void)pthread_mutex_unlock(&all->lock);
    return busy;
}

bool usher__serve_work_end(struct server *s)
{
    struct workers *all = s->workers;
    int64_t end_ms = usher__serve_now_ms() + END_MS, left;
    struct work *w;

    if (all == NULL)
        return true;
    (void)pthread_mutex_lock(&all->lock);
    all->end = true;
    for (unsigned i = 0; i < SERVE_WORKERS; i++)
        while ((w = take(&all->worker[i].waiting)) != NULL)
            append(&all->done, w);
    (void)pthread_cond_broadcast(&all->more);
    (void)pthread_mutex_unlock(&all->lock);
    usher__serve_work_collect(s);
    while (is_busy(all) && (left = end_ms - usher__serve_now_ms()) > 0) {
        struct pollfd fd = { .fd = all->pipe[0], .events = POLLIN };

        (void)poll(&fd, 1, (int)left);
        usher__serve_work_collect(s);
    }
    if (is_busy(all))
        return false;
    for (unsigned i = 0; i < SERVE_WORKERS; i++)
        if (all->worker[i].begun)
            (void)pthread_join(all->worker[i].thread, NULL);
    usher__serve_work_collect(s);
    (void)close(all->pipe[0]);
    (void)close(all->pipe[1]);
    (void)pthread_cond_destroy(&all->more);
    (void)pthread_mutex_destroy(&all->lock);
    s->workers = usher__cli_resize(all, 0);
    return true;
}
