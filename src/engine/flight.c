/* SPDX-License-Identifier: MIT */
/*
 * A call of the engine that does not wait.
 *
 * It does what execute_chunk() does, but does not wait.  Commands are checked, and the valid ones
 * are a batch of the store.  A command before which too many expiries had to be done is another
 * batch, alone, until it is done.  If a noun has a plan for its commands, that is repeated for each
 * step.  There is no leader and no queue: the call has a connection of its own, and one such call
 * is under way at a time.
 */
#include "config.h"

#include "engine/flight.h"

#include <string.h>

#include "core/verbs.h"
#include "engine/again.h"
#include "engine/grant.h"
#include "engine/engine.h"
#include "engine/history.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "change/result.h"

struct usher__flight {
    struct usher_engine *e;
    const struct usher_operation *commands;
    struct usher_result *results;
    size_t n;
    const struct usher__hooks *own; /* of the noun with a plan; NULL: one step */
    void *plan;
    struct usher__step step;
    size_t n_tasks;            /* of the step */
    size_t at;                 /* no task before it is unfinished */
    struct usher_batch *batch; /* NULL: no batch is with the store */
    bool counts;               /* in e->claiming */
    bool pauses;               /* until until_ms, before the next batch */
    int64_t until_ms;
    struct usher_context context;
    struct usher__again again; /* retries of the tasks that the store got, all or one */
    struct usher_task *tasks;
};

/* Return the size of the call with its plan, its tasks, and with lanes as many tasks to retry. */
static size_t size_of(const struct usher_engine *e, const struct usher__hooks *own, size_t n)
{
    size_t again = e->routes ? n * (sizeof(struct usher_task) + sizeof(bool)) : 0;

    return sizeof(struct usher__flight) + (own != NULL ? own->plan->size : 0) +
           n * sizeof(struct usher_task) + again;
}

bool usher__flies(const struct usher_engine *e, unsigned verb)
{
    const struct usher_operation command = { .verb = (enum usher_verb)verb };

    const struct usher__hooks *hooks = usher__hooks(verb >> 8);

    if (e->store->ops->begin == NULL || e->journal ||
        (hooks->execute != NULL && hooks->plan == NULL) ||
        (e->history != NULL && hooks->archive != NULL) || usher__archive_owns(e, &command))
        return false;
    return e->authority == NULL || !usher__needs_grant(&command);
}

/* The batch has ended. */
static void landed(struct usher__flight *f)
{
    f->batch = NULL;
    if (f->counts)
        atomic_fetch_sub(&f->e->claiming, 1);
    f->counts = false;
}

/* Give @n tasks to the store. */
static void give(struct usher__flight *f, struct usher_task *tasks, size_t n)
{
    struct usher_engine *e = f->e;
    struct usher__inside here;

    usher__callout_begin(&here, e);
    if (usher__engine_context(e, tasks, n, &f->context)) {
        f->batch = e->store->ops->begin(e->store, tasks, n, &f->context);
        for (size_t i = 0; i < n && f->batch == NULL; i++)
            usher_result_fail(tasks[i].reply, USHER_NOMEM, "out of memory");
    }
    f->counts = f->batch != NULL && f->context.notify != NULL;
    if (f->counts)
        atomic_fetch_add(&e->claiming, 1);
    usher__callout_end(&here);
}

/* Begin the first try of @n tasks. */
static void take_off(struct usher__flight *f, struct usher_task *tasks, size_t n)
{
    f->again.tasks = tasks;
    f->again.n = n;
    f->again.n_rest = 0;
    f->again.tries = 0;
    for (size_t i = 0; i < n; i++)
        tasks[i].state = tasks[i].again = 0;
    if (n > 0)
        give(f, tasks, n);
}

static void pause_for(struct usher__flight *f, int64_t ns)
{
    f->pauses = true;
    f->until_ms = ns == 0 ? 0 : (usher__monotonic_ns() + ns) / 1000000 + 1;
}

/* Begin the step. */
static void step_begin(struct usher__flight *f)
{
    const struct usher__step *s = &f->step;

    f->at = 0;
    f->context.deadline_ms = s->deadline_ms;
    f->n_tasks = s->n > 0 ? usher__engine_tasks(f->e, s->commands, s->replies, s->n, f->tasks) : 0;
    take_off(f, f->tasks, f->n_tasks);
    if (s->n == 0)
        pause_for(f, s->pause_ns);
}

/* The step is done.  Begin the next one, and return whether there is one. */
static bool next_step(struct usher__flight *f)
{
    usher__engine_answered(f->tasks, f->n_tasks);
    if (f->own == NULL || !f->own->plan->next(f->plan, &f->step))
        return false;
    step_begin(f);
    return true;
}

/* A try is over.  Return true if there is another one, after a pause. */
static bool tries_again(struct usher__flight *f)
{
    int64_t ns;

    if (!f->e->routes)
        return false;
    if (f->again.n_rest > 0)
        usher__again_end(&f->again);
    if (!usher__again_begin(&f->again, f->e->opt.alloc, f->context.deadline_ms, &ns))
        return false;
    pause_for(f, ns);
    return true;
}

struct usher__flight *usher__flight_begin(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *results, size_t n,
                                          int64_t timeout_ms)
{
    const struct usher__hooks *own = usher__engine_executes(commands, n);
    struct usher__flight *f = usher__resize(e->opt.alloc, NULL, 0, size_of(e, own, n));

    if (f == NULL)
        return NULL;
    memset(f, 0, sizeof *f);
    f->e = e;
    f->commands = commands;
    f->results = results;
    f->n = n;
    f->own = own;
    f->plan = f + 1;
    f->tasks = (struct usher_task *)(void *)((char *)f->plan + (own != NULL ? own->plan->size : 0));
    f->again.rest = f->tasks + n;
    f->again.doubt = (bool *)(f->again.rest + n); /* with lanes */
    f->step = (struct usher__step){ commands, results, n, usher__monotonic_ms() + timeout_ms, 0 };
    if (own != NULL) {
        own->plan->begin(f->plan, e, commands, results, n, f->step.deadline_ms);
        if (!own->plan->next(f->plan, &f->step))
            f->step.n = 0; /* none of them is valid: all are answered */
    }
    step_begin(f);
    return f;
}

/* Advance the batch of the store.  Return false if it waits. */
static bool batch_go_on(struct usher__flight *f, struct usher_wait *ret_wait)
{
    struct usher_engine *e = f->e;
    struct usher__inside here;
    bool over;

    usher__callout_begin(&here, e);
    atomic_fetch_add(&e->apart, 1);
    over = e->store->ops->go_on(e->store, f->batch, ret_wait);
    atomic_fetch_sub(&e->apart, 1);
    usher__callout_end(&here);
    if (over)
        landed(f);
    return over;
}

/* Advance the tasks of the step.  Return false if the store waits. */
static bool tasks_go_on(struct usher__flight *f, struct usher_wait *ret_wait)
{
    for (;;) {
        if (f->pauses && usher__monotonic_ms() < f->until_ms) {
            *ret_wait = (struct usher_wait){ .fd = -1, .until_ms = f->until_ms };
            return false;
        }
        if (f->pauses && f->again.n_rest > 0)
            give(f, f->again.rest, f->again.n_rest);
        f->pauses = false;
        if (f->batch != NULL && !batch_go_on(f, ret_wait))
            return false;
        if (tries_again(f))
            continue;
        if (!usher__engine_unfinished(f->e, f->tasks, f->n_tasks, f->context.deadline_ms, &f->at))
            return true;
        take_off(f, &f->tasks[f->at], 1);
    }
}

bool usher__flight_go_on(struct usher__flight *f, struct usher_wait *ret_wait)
{
    do
        if (!tasks_go_on(f, ret_wait))
            return false;
    while (next_step(f));
    usher__engine_tell(f->e, f->commands, f->results, f->n);
    return true;
}

void usher__flight_end(struct usher__flight *f)
{
    struct usher__inside here;

    if (f->batch != NULL) {
        usher__callout_begin(&here, f->e);
        f->e->store->ops->leave(f->e->store, f->batch);
        usher__callout_end(&here);
        landed(f);
    }
    if (f->own != NULL)
        f->own->plan->leave(f->plan);
    (void)usher__resize(f->e->opt.alloc, f, size_of(f->e, f->own, f->n), 0);
}
