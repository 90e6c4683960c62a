/* SPDX-License-Identifier: MIT */
/*
 * Execute commands: check them, give them to the store in the way that it requires, retry, and
 * report the answers to watchers.
 *
 * A store that handles one scope at a time (memory) is called directly.  For one that gains from
 * batches see group_commit.c.
 */
#include "config.h"

#include "engine/execute.h"

#include <time.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/again.h"
#include "engine/grant.h"
#include "engine/check.h"
#include "engine/history.h"
#include "change/hooks.h"
#include "engine/post.h"
#include "change/result.h"
#include "change/work.h"

/* Compiled once for a single command and once for any number. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
void usher__engine_log(const struct usher_engine *e, enum usher_log_level level, const char *line)
{
    struct usher__inside here;

    if (e->opt.log == NULL)
        return;
    usher__callout_begin(&here, e);
    e->opt.log(e->opt.payload, level, line);
    usher__callout_end(&here);
}

static void log_line(void *payload, enum usher_log_level level, const char *line)
{
    usher__engine_log(payload, level, line);
}

/* Return whether @noun is one of the engine itself, of which no watcher gets notices. */
static bool is_hidden(enum usher_noun noun)
{
    const struct usher__noun *n = usher__noun((unsigned)noun);

    return n != NULL && n->hidden;
}

static void notify(void *payload, const struct usher_notice *notice)
{
    struct usher_engine *e = payload;

    if (notice->noun == 0) { /* the store had no memory for some notices */
        usher__watches_doubt(&e->watches, (enum usher_noun)0, &notice->scope);
        return;
    }
    if (e->journal)
        usher__asked_expired(e->asked, e->opt.alloc, notice);
    if (!is_hidden(notice->noun) && atomic_load_explicit(&e->watches.n, memory_order_acquire) != 0)
        usher__watches_queue(&e->watches, notice);
}

/* Set the time of commands without one.  Return false if the application's clock is out of
 * range. */
bool usher__engine_clock(const struct usher_engine *e, struct usher_context *context)
{
    int64_t now_ms = e->opt.now_ms != NULL ? e->opt.now_ms(e->opt.payload) : 0;

    if (e->opt.now_ms != NULL && (now_ms < 1 || now_ms > USHER_TIME_MAX))
        return false;
    context->now_ms = now_ms;
    return true;
}

void usher__engine_clock_refused(const struct usher_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        usher_result_fail(tasks[i].reply, USHER_INVALID,
                          "the application's clock is not from 1 to 253402300799999");
}

/* Return whether the changes by @tasks, or by tasks that may join them, need notices. */
static bool heard(const struct usher_engine *e, const struct usher_task *tasks, size_t n)
{
    if (watched(e) || (e->journal && e->asks))
        return true;
    for (size_t i = 0; e->journal && i < n; i++) {
        const struct usher__needs_grant *grants = usher__hooks_of(tasks[i].command->verb)->grants;

        if (grants != NULL && grants->expired != NULL)
            return true;
    }
    return false;
}

ALWAYS_INLINE bool context_make(struct usher_engine *e, const struct usher_task *tasks, size_t n,
                                struct usher_context *context)
{
    if (!usher__engine_clock(e, context)) {
        usher__engine_clock_refused(tasks, n);
        return false;
    }
    context->notify = heard(e, tasks, n) ? notify : NULL;
    context->log = log_line;
    context->payload = e;
    context->skew_ms = e->skew_ms;
    return true;
}

bool usher__engine_context(struct usher_engine *e, const struct usher_task *tasks, size_t n,
                           struct usher_context *context)
{
    return context_make(e, tasks, n, context);
}

/* Execute @tasks.  @context has its deadline, and the function for more tasks. */
ALWAYS_INLINE void give_to_store(struct usher_engine *e, struct usher_task *tasks, size_t n,
                                 struct usher_context *context)
{
    struct usher__inside here;

    usher__callout_begin(&here, e);
    if (context_make(e, tasks, n, context))
        e->store->ops->execute(e->store, tasks, n, context);
    usher__callout_end(&here);
}

void usher__engine_give(struct usher_engine *e, struct usher_task *tasks, size_t n,
                        struct usher_context *context)
{
    give_to_store(e, tasks, n, context);
}

static int badness(enum usher_status status)
{
    switch (status) {
    case USHER_NOMEM:
        return 1;
    case USHER_UNAVAILABLE:
        return 2;
    case USHER_LOST:
        return 3;
    case USHER_UNKNOWN:
        return 4;
    default:
        return 0;
    }
}

/* Count the failure @reply, and return the worse of @worst and its status. */
static enum usher_status __attribute__((noinline))
worse(struct usher_engine *e, const struct usher_result *reply, enum usher_status worst)
{
    if (reply->status == USHER_UNKNOWN)
        atomic_fetch_add_explicit(&e->unknown, 1, memory_order_relaxed);
    else if (reply->status == USHER_UNAVAILABLE)
        atomic_fetch_add_explicit(&e->unavailable, 1, memory_order_relaxed);
    if (badness(reply->status) <= badness(worst))
        return worst;
    usher__message_set("%s", reply->message);
    return reply->status;
}

/* Report @reply to the watchers and the trace function. */
static void __attribute__((noinline))
reply_tell(struct usher_engine *e, const struct usher_operation *command,
           const struct usher_result *reply)
{
    if (reply->status == USHER_LOST && watched(e))
        usher__watches_lost(&e->watches, command, reply);
    if (reply->status == USHER_UNKNOWN && watched(e) &&
        (usher_operation_flags(command) & USHER_OPERATION_WRITES) != 0)
        usher__watches_doubt(&e->watches, reply->noun, &command->scope);
    if (e->opt.trace != NULL && !is_hidden(reply->noun)) {
        struct usher__inside here;

        usher__callout_begin(&here, e);
        e->opt.trace(e->opt.payload, command, reply);
        usher__callout_end(&here);
    }
}

/* Return the worst of @worst and the statuses of @replies. */
static inline enum usher_status replies_look(struct usher_engine *e,
                                             const struct usher_operation *commands,
                                             const struct usher_result *replies, size_t n,
                                             enum usher_status worst)
{
    for (size_t i = 0; i < n; i++) {
        bool failed = replies[i].status > USHER_INVALID;

        if (failed)
            worst = worse(e, &replies[i], worst);
        if (failed || e->opt.trace != NULL)
            reply_tell(e, &commands[i], &replies[i]);
    }
    return worst;
}

/* Set the lanes of @tasks.  Return true if it is one lane. */
static bool routed(struct usher_engine *e, struct usher_task *tasks, size_t n, int64_t deadline_ms)
{
    const struct usher_store_ops *ops = e->store->ops;
    struct usher__inside here;
    bool one = true;

    usher__callout_begin(&here, e);
    ops->refresh(e->store, deadline_ms);
    for (size_t i = 0; i < n; i++) {
        tasks[i].again = 0;
        tasks[i].lane = (uint16_t)(ops->route(e->store, &tasks[i]) % e->n_lanes);
        one = one && tasks[i].lane == tasks[0].lane;
    }
    usher__callout_end(&here);
    return one;
}

/* Execute @tasks in this thread, at once: no other thread waits for the time that they take. */
static void execute_apart(struct usher_engine *e, struct usher_task *tasks, size_t n,
                          int64_t deadline_ms)
{
    struct usher_context context = { .deadline_ms = deadline_ms };

    atomic_fetch_add(&e->apart, 1);
    give_to_store(e, tasks, n, &context);
    atomic_fetch_sub(&e->apart, 1);
}

/* Return whether one of @tasks waits for replicas, if the store has them. */
static bool waits_for_replicas(const struct usher_engine *e, const struct usher_task *tasks,
                               size_t n)
{
    size_t i = 0;

    if (!e->replicates)
        return false;
    while (i < n && tasks[i].command->wait == 0)
        i++;
    return i < n;
}

unsigned usher__engine_lane(const struct usher_engine *e, const struct usher_operation *command)
{
    struct usher_task task = { .command = command };
    struct usher__inside here;
    unsigned lane = 0;

    if (!e->routes)
        return lane;
    usher__callout_begin(&here, e);
    lane = e->store->ops->route(e->store, &task) % e->n_lanes;
    usher__callout_end(&here);
    return lane;
}

static void execute_lanes(struct usher_engine *e, struct usher_task *tasks, size_t n,
                          int64_t deadline_ms)
{
    if (routed(e, tasks, n, deadline_ms) && !waits_for_replicas(e, tasks, n))
        usher__group_commit(e, &e->lanes[tasks[0].lane], tasks, n, deadline_ms);
    else
        execute_apart(e, tasks, n, deadline_ms);
}

/* Retry @tasks in the thread that has them, so that no other thread waits for the retry. */
static void __attribute__((noinline))
execute_again(struct usher_engine *e, struct usher_task *tasks, size_t n, int64_t deadline_ms)
{
    struct usher_task rest[CHUNK];
    bool doubt[CHUNK];
    struct usher__again again = { .tasks = tasks, .n = n, .rest = rest, .doubt = doubt };
    int64_t pause_ns;

    while (usher__again_begin(&again, e->opt.alloc, deadline_ms, &pause_ns)) {
        struct timespec ts = { 0, (long)pause_ns }; /* less than a second */

        if (pause_ns > 0)
            (void)nanosleep(&ts, NULL);
        execute_lanes(e, rest, again.n_rest, deadline_ms);
        usher__again_end(&again);
    }
}

/* Execute @tasks on a store that is used by one thread at a time, or has lanes. */
static void __attribute__((noinline))
give_shared(struct usher_engine *e, struct usher_task *tasks, size_t n, int64_t deadline_ms)
{
    if (e->routes) {
        bool again = false;

        for (size_t i = 0; i < n; i++)
            tasks[i].state = 0;
        execute_lanes(e, tasks, n, deadline_ms);
        for (size_t i = 0; i < n; i++)
            again = again || tasks[i].again != 0;
        if (again)
            execute_again(e, tasks, n, deadline_ms);
    } else if (waits_for_replicas(e, tasks, n)) {
        execute_apart(e, tasks, n, deadline_ms);
    } else {
        usher__group_commit(e, e->lanes, tasks, n, deadline_ms);
    }
}

/* Execute @tasks in the way that the store requires. */
static inline void give(struct usher_engine *e, struct usher_task *tasks, size_t n,
                        int64_t deadline_ms)
{
    if (e->combines) {
        give_shared(e, tasks, n, deadline_ms);
    } else {
        struct usher_context context = { .deadline_ms = deadline_ms };

        give_to_store(e, tasks, n, &context);
    }
}

/* Return whether nothing of the command itself was done, because too many expiries had to be done
 * before. */
static bool unfinished(const struct usher_task *t)
{
    const struct usher__hooks *hooks = usher__hooks_of(t->command->verb);

    return t->reply->status == USHER_REFUSED && hooks->unfinished != NULL &&
           hooks->unfinished(t->reply);
}

/* Return whether a command after @tasks[i] on its scope was done before it. */
static bool overtaken(const struct usher_task *tasks, size_t i, size_t n)
{
    const struct usher_operation *c = tasks[i].command;

    for (size_t k = i + 1; k < n; k++)
        if ((unsigned)tasks[k].command->verb >> 8 == (unsigned)c->verb >> 8 &&
            !unfinished(&tasks[k]) && tasks[k].reply->status < USHER_INVALID &&
            usher__text_equal(&c->scope, &tasks[k].command->scope))
            return true;
    return false;
}

bool usher__engine_unfinished(struct usher_engine *e, struct usher_task *tasks, size_t n,
                              int64_t deadline_ms, size_t *at)
{
    for (; *at < n; ++*at) {
        struct usher_task *t = &tasks[*at];
        const char *why = NULL;

        if (!unfinished(t))
            continue;
        if (overtaken(tasks, *at, n))
            why = "not executed: a later command on the same scope was executed";
        else if (e->waits && usher__monotonic_ms() >= deadline_ms)
            why = "timed out: too many expiries are pending on this scope";
        usher_result_done(t->reply);
        if (why == NULL) {
            usher__result_init(t->reply, (enum usher_noun)((unsigned)t->command->verb >> 8),
                               e->opt.alloc);
            return true;
        }
        usher_result_fail(t->reply, USHER_UNAVAILABLE, why);
    }
    return false;
}

/* Continue with the unfinished tasks, one by one and in order, so that other threads are served
 * between two portions of the expiries.  Those left over are answered as not done. */
static void __attribute__((noinline))
finish(struct usher_engine *e, struct usher_task *tasks, size_t n, int64_t deadline_ms)
{
    size_t at = 0;

    while (usher__engine_unfinished(e, tasks, n, deadline_ms, &at))
        give(e, &tasks[at], 1, deadline_ms);
}

ALWAYS_INLINE size_t make_tasks(struct usher_engine *e, const struct usher_operation *commands,
                                struct usher_result *replies, size_t n, struct usher_task *tasks)
{
    const struct usher_text *scope = NULL;
    size_t n_tasks = 0;

    for (size_t i = 0; i < n; i++) {
        usher__result_init(&replies[i], (enum usher_noun)((unsigned)commands[i].verb >> 8),
                           e->opt.alloc);
        if (usher__operation_check(&commands[i], scope, &replies[i]) == USHER_OK) {
            scope = &commands[i].scope;
            tasks[n_tasks++] = (struct usher_task){ .command = &commands[i], .reply = &replies[i] };
        }
    }
    return n_tasks;
}

size_t usher__engine_tasks(struct usher_engine *e, const struct usher_operation *commands,
                           struct usher_result *replies, size_t n, struct usher_task *tasks)
{
    return make_tasks(e, commands, replies, n, tasks);
}

static inline void answered(const struct usher_task *t)
{
    const struct usher__hooks *hooks = usher__hooks_of(t->command->verb);

    if (hooks->answered != NULL)
        hooks->answered(t->command, t->reply);
}

void usher__engine_answered(const struct usher_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        answered(&tasks[i]);
}

/* Execute at most CHUNK commands. */
ALWAYS_INLINE void execute_chunk(struct usher_engine *e, const struct usher_operation *commands,
                                 struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    struct usher_task tasks[CHUNK];
    size_t n_tasks = make_tasks(e, commands, replies, n, tasks);

    if (n_tasks > 0) {
        give(e, tasks, n_tasks, deadline_ms);
        for (size_t i = 0; i < n_tasks; i++) {
            if (unfinished(&tasks[i]))
                finish(e, tasks + i, n_tasks - i, deadline_ms);
            answered(&tasks[i]);
        }
    }
}

void usher__engine_execute(struct usher_engine *e, const struct usher_operation *command,
                           struct usher_result *reply, int64_t deadline_ms)
{
    execute_chunk(e, command, reply, 1, deadline_ms);
}

void usher__engine_execute_all(struct usher_engine *e, const struct usher_operation *commands,
                               struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    execute_chunk(e, commands, replies, n, deadline_ms);
}

/* Return how many of the commands, CHUNK at most, go to the store as they are.  The next one needs
 * the authority or a history. */
ALWAYS_INLINE size_t plain(struct usher_engine *e, const struct usher_operation *commands, size_t n)
{
    size_t i = 0;

    if (e->authority == NULL && e->history == NULL && e->store->ops->read_log == NULL)
        return n < CHUNK ? n : CHUNK;
    for (; i < n && i < CHUNK; i++) {
        if (e->authority != NULL && usher__needs_grant(&commands[i]))
            break;
        if (usher__archive_owns(e, &commands[i]))
            break;
        if (e->history != NULL && usher__archive_of(&commands[i]) != NULL &&
            usher__archive_of(&commands[i])->first_seen(e, &commands[i]))
            return i + 1;
    }
    return i;
}

/* Return the hooks of the first noun that executes its commands itself, or NULL if there is none.
 * Lower *@n if commands of another noun follow that are executed alone. */
static inline const struct usher__hooks *executes(const struct usher_operation *commands, size_t *n)
{
    const struct usher__hooks *own = NULL;

    for (size_t i = 0; i < *n; i++) {
        const struct usher__hooks *hooks = usher__hooks_of(commands[i].verb);

        if (hooks->execute == NULL)
            continue;
        if (hooks->plan == NULL) {
            *n = i > 0 ? i : 1;
            return i > 0 ? own : hooks;
        }
        own = own == NULL ? hooks : own;
    }
    return own;
}

const struct usher__hooks *usher__engine_executes(const struct usher_operation *commands, size_t n)
{
    return executes(commands, &n);
}

/* Call the watchers at the end of a call. */
static void deliver(struct usher_engine *e)
{
    if (watched(e) && usher__watches_deliver(&e->watches))
        log_line(e, USHER_LOG_WARNING, "out of memory: notices were dropped");
}

void usher__engine_tell(struct usher_engine *e, const struct usher_operation *commands,
                        const struct usher_result *replies, size_t n)
{
    (void)replies_look(e, commands, replies, n, USHER_OK);
    deliver(e);
}

/* Execute one command that consists of several commands of the store. */
static void execute_aside(struct usher_engine *e, const struct usher_operation *command,
                          struct usher_result *reply, int64_t deadline_ms)
{
    if (usher__archive_owns(e, command))
        usher__archive_of(command)->execute(e, command, reply, deadline_ms);
    else
        usher__grant_execute(e, command, reply, deadline_ms);
}

enum usher_status usher_operate(struct usher_engine *e, const struct usher_operation *commands,
                                struct usher_result *replies, size_t n)
{
    enum usher_status status = usher__engine_check(e);

    return status == USHER_OK ? usher__engine_operate(e, commands, replies, n, 0) : status;
}

/* Return the deadline for an authority or a history, which may wait though the store does not. */
static int64_t side_deadline(const struct usher_engine *e, int64_t deadline_ms, int64_t timeout_ms)
{
    return e->waits ? deadline_ms : usher__monotonic_ms() + timeout_ms;
}

ALWAYS_INLINE enum usher_status operate(struct usher_engine *e,
                                        const struct usher_operation *commands,
                                        struct usher_result *replies, size_t n, int64_t timeout_ms)
{
    enum usher_status worst = USHER_OK;
    int64_t deadline_ms; /* of the whole batch */

    if (timeout_ms == 0)
        timeout_ms = e->timeout_ms;
    deadline_ms = e->waits ? usher__monotonic_ms() + timeout_ms : 0;
    if (atomic_load_explicit(&e->claiming, memory_order_relaxed) != 0 && watched(e))
        usher__post_settle(e, commands, n, deadline_ms);
    for (size_t from = 0, k; from < n; from += k) {
        const struct usher__hooks *own;

        k = plain(e, commands + from, n - from);
        own = executes(commands + from, &k);
        if (own != NULL) {
            own->execute(e, commands + from, replies + from, k, deadline_ms);
        } else if (k > 0) {
            execute_chunk(e, commands + from, replies + from, k, deadline_ms);
        } else {
            k = 1;
            execute_aside(e, commands + from, replies + from,
                          side_deadline(e, deadline_ms, timeout_ms));
        }
        if (e->history != NULL)
            usher__archive()->after(e, commands + from, replies + from, k,
                                    side_deadline(e, deadline_ms, timeout_ms));
        worst = replies_look(e, commands + from, replies + from, k, worst);
    }
    if (e->journal)
        usher__asked_journal(e, side_deadline(e, deadline_ms, timeout_ms));
    deliver(e);
    return worst;
}

enum usher_status usher__engine_operate(struct usher_engine *e,
                                        const struct usher_operation *commands,
                                        struct usher_result *replies, size_t n, int64_t timeout_ms)
{
    if (commands == NULL || replies == NULL || n == 0 || n > USHER_BATCH_MAX) {
        usher__message_set("execute: %s", n == 0 || n > USHER_BATCH_MAX
                                              ? "n is not from 1 to 65536"
                                              : "commands or replies is NULL");
        return USHER_INVALID;
    }
    /* a single command, as of every typed call, has separate code without the loops */
    return n == 1 ? operate(e, commands, replies, 1, timeout_ms)
                  : operate(e, commands, replies, n, timeout_ms);
}
