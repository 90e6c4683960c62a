/* SPDX-License-Identifier: MIT */
/*
 * A call of the engine that does not wait.
 *
 * It is what execute_chunk() is, with the waiting taken out: commands are checked, those that are
 * good are a batch of the store, and one of which there was too much to be done before is another
 * batch, alone, until it is done.  No leader, no queue: it has a connection of its own, and one
 * such call is under way at a time.
 */
#include "config.h"

#include "engine/flight.h"

#include <string.h>

#include "core/verbs.h"
#include "engine/again.h"
#include "engine/ask.h"
#include "engine/engine.h"
#include "engine/history.h"
#include "engine/memory.h"
#include "engine/result.h"
#include "engine/room_index.h"

struct usher__flight {
    struct usher_engine *e;
    const struct usher_operation *commands;
    struct usher_result *results;
    size_t n, n_tasks;
    size_t at;                 /* no task before is unfinished */
    struct usher_batch *batch; /* NULL: none is with the store */
    bool counts;               /* in e->claiming */
    bool pauses;               /* until then, before the rest is handed over once more */
    bool done;                 /* by the store: it gives way */
    int64_t began_ns, until_ms;
    struct usher_context context;
    struct usher__again again; /* of those that were handed to the store, all or one */
    struct usher_task *tasks;
};

/* It, its tasks, and of a store with lanes as many that are handed over once more. */
static size_t size_of(const struct usher_engine *e, size_t n)
{
    size_t again = e->routes ? n * (sizeof(struct usher_task) + sizeof(bool)) : 0;

    return sizeof(struct usher__flight) + n * sizeof(struct usher_task) + again;
}

bool usher__flies(const struct usher_engine *e, unsigned verb)
{
    const struct usher_operation command = { .verb = (enum usher_verb)verb };

    if (e->store->ops->begin == NULL || e->journal)
        return false;
    switch (verb >> 8) {
    case USHER_QUEUE:
        return e->history == NULL && !usher__archive_takes(e, &command);
    case USHER_ROOM:
        return verb != USHER_ROOM_OPEN && verb != USHER_ROOM_CLOSE && verb != USHER_ROOM_SWEEP;
    default:
        return e->authority == NULL || !usher__asks(&command);
    }
}

/* The store has taken its batch back. */
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

    usher__enter(&here, e);
    if (usher__engine_context(e, tasks, n, &f->context)) {
        f->batch = e->store->ops->begin(e->store, tasks, n, &f->context);
        for (size_t i = 0; i < n && f->batch == NULL; i++)
            usher_result_fail(tasks[i].reply, USHER_NOMEM, "out of memory");
    }
    f->counts = f->batch != NULL && f->context.notify != NULL;
    if (f->counts)
        atomic_fetch_add(&e->claiming, 1);
    usher__leave(&here);
}

/* The first try of @n tasks. */
static void take_off(struct usher__flight *f, struct usher_task *tasks, size_t n)
{
    f->again.tasks = tasks;
    f->again.n = n;
    f->again.n_rest = 0;
    f->again.tries = 0;
    for (size_t i = 0; i < n; i++)
        tasks[i].state = tasks[i].again = 0;
    give(f, tasks, n);
}

/* A try is over.  true: there is to be another one, in a moment. */
static bool tries_again(struct usher__flight *f)
{
    int64_t ns;

    if (!f->e->routes)
        return false;
    if (f->again.n_rest > 0)
        usher__again_end(&f->again);
    if (!usher__again_begin(&f->again, f->e->opt.alloc, f->context.deadline_ms, &ns))
        return false;
    f->pauses = true;
    f->until_ms = ns == 0 ? 0 : (usher__monotonic_ns() + ns) / 1000000 + 1;
    return true;
}

struct usher__flight *usher__flight_begin(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *results, size_t n,
                                          int64_t timeout_ms)
{
    struct usher__flight *f = usher__resize(e->opt.alloc, NULL, 0, size_of(e, n));

    if (f == NULL)
        return NULL;
    memset(f, 0, sizeof *f);
    f->e = e;
    f->commands = commands;
    f->results = results;
    f->n = n;
    f->tasks = (struct usher_task *)(void *)(f + 1);
    f->again.rest = f->tasks + n;
    f->again.doubt = (bool *)(f->again.rest + n); /* with lanes */
    f->context.deadline_ms = usher__monotonic_ms() + timeout_ms;
    f->began_ns = usher__monotonic_ns();
    f->n_tasks = usher__engine_tasks(e, commands, results, n, f->tasks);
    if (f->n_tasks > 0)
        take_off(f, f->tasks, f->n_tasks);
    return f;
}

/* The store has done all of it.  true: nothing is waited for; false: it gives way until then. */
static bool arrived(struct usher__flight *f)
{
    int64_t way_ns =
        usher__room_way_ns(f->commands, f->results, f->n, usher__monotonic_ns() - f->began_ns);

    f->done = true;
    f->until_ms = (usher__monotonic_ns() + way_ns) / 1000000 + 1;
    return way_ns == 0;
}

/* Go on with what is with the store.  false: it waits. */
static bool batch_go_on(struct usher__flight *f, struct usher_wait *ret_wait)
{
    struct usher_engine *e = f->e;
    struct usher__inside here;
    bool over;

    usher__enter(&here, e);
    atomic_fetch_add(&e->apart, 1);
    over = e->store->ops->go_on(e->store, f->batch, ret_wait);
    atomic_fetch_sub(&e->apart, 1);
    usher__leave(&here);
    if (over)
        landed(f);
    return over;
}

/* The store has its tasks, or there is nothing (more) that it is to do.  false: it waits. */
static bool tasks_go_on(struct usher__flight *f, struct usher_wait *ret_wait)
{
    for (;;) {
        if (f->pauses && usher__monotonic_ms() < f->until_ms) {
            *ret_wait = (struct usher_wait){ .fd = -1, .until_ms = f->until_ms };
            return false;
        }
        if (f->pauses)
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
    if (!f->done && !tasks_go_on(f, ret_wait))
        return false;
    if (!f->done && !arrived(f)) {
        *ret_wait = (struct usher_wait){ .fd = -1, .until_ms = f->until_ms };
        return false;
    }
    usher__engine_tell(f->e, f->commands, f->results, f->n, f->tasks, f->n_tasks,
                       f->context.deadline_ms);
    return true;
}

void usher__flight_end(struct usher__flight *f)
{
    struct usher__inside here;

    if (f->batch != NULL) {
        usher__enter(&here, f->e);
        f->e->store->ops->leave(f->e->store, f->batch);
        usher__leave(&here);
        landed(f);
    }
    (void)usher__resize(f->e->opt.alloc, f, size_of(f->e, f->n), 0);
}
