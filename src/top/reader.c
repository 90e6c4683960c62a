/* SPDX-License-Identifier: MIT */
/*
 * One lock protects what is between the thread and its owner.  The thread has the snapshot and the
 * connection of the program alone.
 */
#include "config.h"

#include "top/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reader {
    struct cli *cli;
    struct snapshot *snapshot;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    int pipe[2];
    bool wanted, reading, busy, end;
    struct job_list waiting, done;
    bool failed;
    char *json; /* NULL: none */
};

static void wake(struct reader *r)
{
    while (write(r->pipe[1], "", 1) < 0 && errno == EINTR)
        ; /* if the pipe is full, it is readable, too */
}

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(usher__cli_resize(NULL, size), text, size);
}

/* With the lock, which it releases while it reads. */
static void read_state(struct reader *r)
{
    char message[CLI_MESSAGE_MAX];
    const char *json;

    r->wanted = false;
    r->reading = true;
    (void)pthread_mutex_unlock(&r->lock);
    json = usher__snapshot_read(r->snapshot, message);
    (void)pthread_mutex_lock(&r->lock);
    r->reading = false;
    r->failed = json == NULL;
    if (json != NULL) {
        (void)usher__cli_resize(r->json, 0);
        r->json = copy(json);
    }
    wake(r);
}

/* The same. */
static void execute(struct reader *r, struct job *job)
{
    (void)pthread_mutex_unlock(&r->lock);
    usher__job_run(job, r->cli);
    (void)pthread_mutex_lock(&r->lock);
    usher__jobs_put(&r->done, job);
    wake(r);
}

static void *run(void *payload)
{
    struct reader *r = payload;

    (void)pthread_mutex_lock(&r->lock);
    while (!r->end) {
        struct job *job = usher__jobs_take(&r->waiting);

        r->busy = job != NULL || r->wanted;
        if (job != NULL)
            execute(r, job);
        else if (r->wanted)
            read_state(r);
        else
            (void)pthread_cond_wait(&r->more, &r->lock);
    }
    r->busy = false;
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

struct reader *usher__reader_new(struct cli *cli, struct snapshot *sn)
{
    struct reader *r = usher__cli_resize(NULL, sizeof *r);
    sigset_t all, mask;
    int rc;

    memset(r, 0, sizeof *r);
    r->cli = cli;
    r->snapshot = sn;
    if (pipe(r->pipe) != 0)
        return usher__cli_resize(r, 0);
    for (int i = 0; i < 2; i++)
        (void)fcntl(r->pipe[i], F_SETFL, O_NONBLOCK);
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->more, NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
    rc = pthread_create(&r->thread, NULL, run, r);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return rc == 0 ? r : usher__cli_resize(r, 0);
}

int usher__reader_fd(const struct reader *r)
{
    return r->pipe[0];
}

void usher__reader_ask(struct reader *r)
{
    (void)pthread_mutex_lock(&r->lock);
    r->wanted = r->wanted || !r->reading;
    (void)pthread_cond_signal(&r->more);
    (void)pthread_mutex_unlock(&r->lock);
}

void usher__reader_execute(struct reader *r, struct job *job)
{
    (void)pthread_mutex_lock(&r->lock);
    usher__jobs_put(&r->waiting, job);
    (void)pthread_cond_signal(&r->more);
    (void)pthread_mutex_unlock(&r->lock);
}

struct job *usher__reader_job(struct reader *r)
{
    struct job *job;

    (void)pthread_mutex_lock(&r->lock);
    job = usher__jobs_take(&r->done);
    (void)pthread_mutex_unlock(&r->lock);
    return job;
}

char *usher__reader_take(struct reader *r, bool *ret_failed)
{
    char bytes[64], *json;

    (void)pthread_mutex_lock(&r->lock);
    while (read(r->pipe[0], bytes, sizeof bytes) > 0)
        ;
    json = r->json;
    r->json = NULL;
    *ret_failed = r->failed;
    r->failed = false;
    (void)pthread_mutex_unlock(&r->lock);
    return json;
}

bool usher__reader_free(struct reader *r)
{
    bool busy;

    if (r == NULL)
        return true;
    (void)pthread_mutex_lock(&r->lock);
    r->end = true;
    busy = r->busy;
    (void)pthread_cond_signal(&r->more);
    (void)pthread_mutex_unlock(&r->lock);
    if (busy)
        return false;
    (void)pthread_join(r->thread, NULL);
    if (!usher__snapshot_free(r->snapshot))
        return false;
    (void)close(r->pipe[0]);
    (void)close(r->pipe[1]);
    (void)pthread_cond_destroy(&r->more);
    (void)pthread_mutex_destroy(&r->lock);
    while (r->waiting.first != NULL)
        usher__job_free(usher__jobs_take(&r->waiting));
    while (r->done.first != NULL)
        usher__job_free(usher__jobs_take(&r->done));
    (void)usher__cli_resize(r->json, 0);
    (void)usher__cli_resize(r, 0);
    return true;
}
