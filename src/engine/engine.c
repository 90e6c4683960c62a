/* SPDX-License-Identifier: MIT */
/*
 * The engine: opens a store, checks commands, and gives them to the store.
 *
 * A store that handles one scope at a time (memory) is called directly.  One that gains
 * from batches (SQLite: one transaction; Redis: one pipeline) is called by one thread at a
 * time.  A thread that finds the store free becomes the leader.  It executes all commands that are
 * in the queue, wakes the others, and hands the lead to the first thread that has queued up since.
 */
#include "config.h"

#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "builtin.h"
#include "core/changes.h"
#include "core/text.h"
#include "core/verbs.h"
#include "engine/again.h"
#include "engine/grant.h"
#include "engine/authority.h"
#include "engine/check.h"
#include "engine/hear.h"
#include "engine/history.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "engine/post.h"
#include "change/result.h"
#include "engine/url.h"
#include "change/work.h"

/* The maximum number of tasks that one call gives to the store, and that one leader collects. */
#ifdef USHER_HOSTILE
#define CHUNK 2
#define GATHER 3
#else
#define CHUNK 256
#define GATHER 512
#endif

/* The hostile build tests the code without it. */
#if defined(HAVE_SEM_CLOCKWAIT) && !defined(USHER_HOSTILE)
#define USHER_SEM_CLOCKWAIT 1
#endif

/* Compiled once for a single command and once for any number. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
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

uint32_t usher_version_number(void)
{
    return USHER_VERSION_NUMBER;
}

const char *usher_version(void)
{
    return USHER_VERSION;
}

int64_t usher__monotonic_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t usher__monotonic_ms(void)
{
    return usher__monotonic_ns() / 1000000;
}

/* ---- open and close --------------------------------------------------------------- */

/* Map a page that the kernel wipes in the child of a fork.  Return NULL if it cannot. */
static const volatile char *page_open(void)
{
#ifdef MADV_WIPEONFORK
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, size);
        return NULL;
    }
    *page = 1;
    return page;
#else
    return NULL;
#endif
}

static void page_close(const volatile char *page)
{
    if (page != NULL)
        (void)munmap((void *)(uintptr_t)page, (size_t)sysconf(_SC_PAGESIZE));
}

bool usher__engine_forked(const struct usher_engine *e)
{
    return e->here != NULL ? *e->here == 0 : e->pid != getpid();
}

static bool lanes_new(struct usher_engine *e)
{
    const struct usher_store_ops *has = e->store->ops;
    size_t n = e->routes ? has->lanes : 1;

    e->lanes = usher__resize(e->opt.alloc, NULL, 0, n * sizeof *e->lanes);
    if (e->lanes == NULL)
        return false;
    memset(e->lanes, 0, n * sizeof *e->lanes);
    e->room_lanes = n;
    for (; e->n_lanes < n; e->n_lanes++) {
        e->lanes[e->n_lanes].leaders_max = (has->caps & USHER_CAP_TWO) != 0 ? 2 : 1;
        if (pthread_mutex_init(&e->lanes[e->n_lanes].lock, NULL) != 0)
            return false;
    }
    return true;
}

static void lanes_free(struct usher_engine *e)
{
    while (e->n_lanes > 0)
        (void)pthread_mutex_destroy(&e->lanes[--e->n_lanes].lock);
    (void)usher__resize(e->opt.alloc, e->lanes, e->room_lanes * sizeof *e->lanes, 0);
}

/* Return whether a thread is in the store, or was when the process was forked. */
static bool led(const struct usher_engine *e)
{
    unsigned i = 0;

    while (i < e->n_lanes && e->lanes[i].leaders == 0)
        i++;
    return i < e->n_lanes || atomic_load(&e->apart) != 0;
}

/* Free an engine, also a half-open one; usher_close() closes the store. */
static void engine_free(struct usher_engine *e)
{
    const struct usher_allocator *alloc = e->opt.alloc;

    usher__watches_done(&e->watches);
    usher__archive_free(e->archive);
    lanes_free(e);
    usher__asked_close(e->asked, alloc, usher__engine_forked(e));
    usher__post_close(atomic_load(&e->post), usher__engine_forked(e));
    page_close(e->here);
    e->magic = 0;
    (void)usher__resize(alloc, e, sizeof *e, 0);
}

/* Check and copy the options; NULL: all default. */
static enum usher_status options_import(struct usher_options *to, const struct usher_options *from)
{
    memset(to, 0, sizeof *to);
    to->size = sizeof *to;
    if (from != NULL) {
        if (from->size != sizeof *to) {
            usher__message_set("open: options.size is %zu, not %zu: set it with "
                               "USHER_OPTIONS_INIT",
                               from->size, sizeof *to);
            return USHER_INVALID;
        }
        memcpy(to, from, from->size);
        if (to->timeout_ms < 0 || to->timeout_ms > USHER_SPAN_MAX) {
            usher__message_set("open: options.timeout_ms is out of range");
            return USHER_INVALID;
        }
        if (to->skew_ms < 0 || to->skew_ms > USHER_SPAN_MAX) {
            usher__message_set("open: options.skew_ms is out of range");
            return USHER_INVALID;
        }
        if (to->alloc != NULL && to->alloc->resize == NULL) {
            usher__message_set("open: options.alloc has no resize");
            return USHER_INVALID;
        }
        if (to->authority != NULL && !usher__authority_sound(to->authority)) {
            usher__message_set("open: the authority lacks a required method");
            return USHER_INVALID;
        }
        if (to->history != NULL && !usher__history_sound(to->history)) {
            usher__message_set("open: the history lacks a required method");
            return USHER_INVALID;
        }
    }
    to->alloc = usher__allocator(to->alloc);
    if (to->timeout_ms == 0)
        to->timeout_ms = USHER_TIMEOUT_DEFAULT;
    return USHER_OK;
}

static enum usher_status engine_new(struct usher_store *store, const struct usher_options *opt,
                                    struct usher_engine **ret_engine)
{
    struct usher_engine *e = usher__resize(opt->alloc, NULL, 0, sizeof *e);
    enum usher_status status;

    if (e == NULL)
        return USHER_NOMEM;
    memset(e, 0, sizeof *e);
    e->opt = *opt;
    e->timeout_ms = opt->timeout_ms;
    e->skew_ms = opt->clock_given    ? USHER_TIME_MAX
                 : opt->skew_ms != 0 ? opt->skew_ms
                                     : USHER_SKEW_DEFAULT;
    if (opt->authority != NULL)
        e->authority = usher__authority_callout(&e->authority_callout, e, opt->authority);
    if (opt->history != NULL)
        e->history = usher__history_callout(&e->history_callout, e, opt->history);
    e->journal = opt->journal && opt->authority != NULL && opt->authority->ops->journal != NULL;
    e->pid = getpid();
    e->here = page_open();
    e->combines = (store->ops->caps & USHER_CAP_THREADS) == 0;
    e->asks = (store->ops->caps & (USHER_CAP_TWO | USHER_CAP_MORE)) == USHER_CAP_MORE;
    e->routes = e->combines && !e->asks && (store->ops->caps & USHER_CAP_LANES) != 0;
    e->replicates = e->combines && !e->asks && (store->ops->caps & USHER_CAP_REPLICAS) != 0;
    e->waits = (store->ops->caps & USHER_CAP_INSTANT) == 0;
    e->store = store;
    status = lanes_new(e) ? usher__watches_init(&e->watches, opt->alloc) : USHER_NOMEM;
    if (status == USHER_OK && e->authority != NULL) {
        e->asked = usher__asked_open(opt->alloc);
        status = e->asked != NULL ? USHER_OK : USHER_NOMEM;
    }
    if (status == USHER_OK && e->history != NULL) {
        e->archive = usher__archive_new(e);
        status = e->archive != NULL ? USHER_OK : USHER_NOMEM;
    }
    if (status != USHER_OK) {
        engine_free(e);
        return status;
    }
    e->magic = USHER__ENGINE_MAGIC;
    *ret_engine = e;
    return USHER_OK;
}

enum usher_status usher_open_store(struct usher_store *store, const struct usher_options *opt,
                                   struct usher_engine **ret_engine)
{
    struct usher_options options;
    enum usher_status status;

    usher__message_clear();
    if (ret_engine == NULL || store == NULL || store->ops == NULL ||
        store->ops->size < sizeof *store->ops || store->ops->name == NULL ||
        store->ops->execute == NULL || store->ops->scan == NULL || store->ops->close == NULL ||
        ((store->ops->caps & USHER_CAP_LANES) != 0 &&
         (store->ops->route == NULL || store->ops->refresh == NULL || store->ops->lanes == 0 ||
          store->ops->lanes > UINT16_MAX))) {
        usher__message_set("open: the store lacks a required method");
        return USHER_INVALID;
    }
    status = options_import(&options, opt);
    if (status == USHER_OK) {
        status = engine_new(store, &options, ret_engine);
        if (status == USHER_NOMEM)
            usher__message_set("open: out of memory");
    }
    return status;
}

static const struct usher_driver *driver_of(const char *scheme, const struct usher_options *opt)
{
    const struct usher_driver *d;

    for (d = opt->drivers; d != NULL; d = d->next)
        if (strcmp(d->scheme, scheme) == 0)
            return d;
    for (d = usher__builtin_drivers; d->scheme != NULL; d++)
        if (strcmp(d->scheme, scheme) == 0)
            return d;
    return NULL;
}

/* Report why @scheme has no driver: it may have one in another build. */
static void no_driver(const char *scheme)
{
    static const struct {
        const char *scheme, *why;
    } known[] = {
#ifndef USHER_WITH_SQLITE
        { "sqlite", "this is built without SQLite" },
#endif
#ifndef USHER_WITH_REDIS
        { "redis", "this is built without Redis" },
        { "redis+unix", "this is built without Redis" },
        { "redis+cluster", "this is built without Redis" },
        { "redis+sentinel", "this is built without Redis" },
        { "rediss", "this is built without Redis" },
        { "rediss+cluster", "this is built without Redis" },
        { "rediss+sentinel", "this is built without Redis" },
#elif !defined USHER_WITH_TLS
        { "rediss", "this is built without TLS" },
        { "rediss+cluster", "this is built without TLS" },
        { "rediss+sentinel", "this is built without TLS" },
#endif
        { NULL, NULL },
    };

    for (size_t i = 0; known[i].scheme != NULL; i++) {
        if (strcmp(known[i].scheme, scheme) == 0) {
            usher__message_set("open: %s: %s", scheme, known[i].why);
            return;
        }
    }
    usher__message_set(
        "open: unknown store `%.40s:` (known: memory, sqlite, redis, rediss and variants of them)",
        scheme);
}

/* Set @opt by the options of the URL, and open the authority and the history.  The caller has to
 * close *@authority and *@history also if this fails. */
static enum usher_status open_authority_history(struct usher__url *u, struct usher_options *opt,
                                                struct usher_authority **authority,
                                                struct usher_history **history)
{
    char why[192] = "";
    const char *timeout = usher__url_option(&u->url, "timeout");
    const char *skew = usher__url_option(&u->url, "skew");
    const char *clock = usher__url_option(&u->url, "clock");
    const char *where = usher__url_option(&u->url, "authority");
    const char *journal = usher__url_option(&u->url, "journal");
    const char *visits = usher__url_option(&u->url, "history");
    int64_t keeps = 0;
    enum usher_status status;

    if (timeout != NULL && !usher__decimal(timeout, 1, USHER_SPAN_MAX, &opt->timeout_ms)) {
        usher__message_set("open: timeout is not a number of milliseconds");
        return USHER_INVALID;
    }
    if (skew != NULL && !usher__decimal(skew, 1, USHER_SPAN_MAX, &opt->skew_ms)) {
        usher__message_set("open: skew is not a number of milliseconds from 1 to %" PRId64,
                           USHER_SPAN_MAX);
        return USHER_INVALID;
    }
    if (clock != NULL && strcmp(clock, "given") != 0 && strcmp(clock, "store") != 0) {
        usher__message_set("open: clock is not `store` or `given`");
        return USHER_INVALID;
    }
    opt->clock_given = clock != NULL ? strcmp(clock, "given") == 0 : opt->clock_given;
    if (journal != NULL && !usher__decimal(journal, 0, 1, &keeps)) {
        usher__message_set("open: journal is not 0 or 1");
        return USHER_INVALID;
    }
    opt->journal = opt->journal || keeps == 1;
    if (where != NULL && opt->authority == NULL) {
        status = usher__authority_open(where, opt->alloc, authority, why);
        if (status != USHER_OK) {
            usher__message_set("open: authority: %s", why);
            return status;
        }
        opt->authority = *authority;
    }
    if (keeps == 1 && opt->authority == NULL) {
        usher__message_set("open: journal=1 needs authority=, which keeps the journal");
        return USHER_INVALID;
    }
    if (visits != NULL && opt->history == NULL) {
        status = usher__history_open(visits, opt->alloc, history, why);
        if (status != USHER_OK) {
            usher__message_set("open: history: %s", why);
            return status;
        }
        opt->history = *history;
    }
    return USHER_OK;
}

/* Open the store of the URL.  Options that no part of the library has used are invalid. */
static enum usher_status open_driver(const struct usher_driver *driver, struct usher__url *u,
                                     const struct usher_options *opt,
                                     struct usher_store **ret_store)
{
    char why[192] = "";
    enum usher_status status = driver->open(
        driver->payload, &u->url, opt, usher__monotonic_ms() + opt->timeout_ms, ret_store, why);

    if (status != USHER_OK) {
        usher__message_set("open: %s", why[0] != '\0' ? why : usher_status_text(status));
        return status;
    }
    for (size_t i = 0; i < u->url.n_options; i++) {
        if (u->options[i].used)
            continue;
        usher__message_set("open: %s: has no option `%.40s`", u->url.scheme, u->options[i].key);
        (*ret_store)->ops->close(*ret_store);
        return USHER_INVALID;
    }
    return USHER_OK;
}

static enum usher_status open_url(struct usher__url *u, struct usher_options *opt,
                                  struct usher_engine **ret_engine)
{
    const struct usher_driver *driver = driver_of(u->url.scheme, opt);
    struct usher_authority *authority = NULL;
    struct usher_history *history = NULL;
    struct usher_store *store = NULL;
    enum usher_status status;

    if (driver == NULL) {
        no_driver(u->url.scheme);
        return USHER_INVALID;
    }
    status = open_authority_history(u, opt, &authority, &history);
    if (status == USHER_OK)
        status = open_driver(driver, u, opt, &store);
    if (status == USHER_OK) {
        status = engine_new(store, opt, ret_engine);
        if (status != USHER_OK) {
            usher__message_set("open: out of memory");
            store->ops->close(store);
        }
    }
    if (status != USHER_OK) {
        usher_authority_close(authority);
        usher_history_close(history);
        return status;
    }
    (*ret_engine)->authority_owned = authority != NULL;
    (*ret_engine)->history_owned = history != NULL;
    return USHER_OK;
}

enum usher_status usher_open(const char *url, const struct usher_options *opt,
                             struct usher_engine **ret_engine)
{
    struct usher_options options;
    struct usher__url u;
    char why[192];
    enum usher_status status;

    usher__message_clear();
    if (url == NULL || ret_engine == NULL) {
        usher__message_set("open: %s is NULL", url == NULL ? "url" : "ret_engine");
        return USHER_INVALID;
    }
    status = options_import(&options, opt);
    if (status != USHER_OK)
        return status;
    status = usher__url_parse(url, &u, why);
    if (status != USHER_OK) {
        usher__message_set("open: %s", why);
        return status;
    }
    return open_url(&u, &options, ret_engine);
}

enum usher_status usher__engine_check(const struct usher_engine *e)
{
    struct usher__thread *t = &usher__this_thread;

    t->message[0] = '\0';
    if (e == NULL || e->magic != USHER__ENGINE_MAGIC) {
        usher__message_set("the engine is NULL or closed");
        return USHER_INVALID;
    }
    if (usher__engine_forked(e)) {
        usher__message_set("the engine was opened before a fork: open one in the child");
        return USHER_INVALID;
    }
    if (usher__is_inside(t, e)) {
        usher__message_set("a callback must not call the engine that invoked it");
        return USHER_INVALID;
    }
    return USHER_OK;
}

void usher_close(struct usher_engine *e)
{
    if (e == NULL || e->magic != USHER__ENGINE_MAGIC)
        return;
    if (!usher__engine_forked(e) &&
        (usher__is_inside(&usher__this_thread, e) || usher__watches_on(&e->watches, NULL))) {
        usher__message_set("close: called from a callback of this engine: it stays open");
        return;
    }
    if (!usher__engine_forked(e)) {
        usher__post_leave(atomic_load(&e->post), false);
        if (e->history != NULL)
            usher__archive_finish(e);
        e->store->ops->close(e->store);
        if (e->authority_owned)
            e->authority->ops->close(e->authority);
        usher_history_close(e->history_owned ? e->history : NULL);
    } else {
        /* A leader that was in the store is not in this process: its locks stay locked. */
        if (led(e) || e->store->ops->forget == NULL ||
            !usher__post_leave(atomic_load(&e->post), true))
            return;
        e->store->ops->forget(e->store);
        if (e->authority_owned && e->authority->ops->forget != NULL)
            e->authority->ops->forget(e->authority);
        if (e->history_owned && e->history->ops->forget != NULL)
            e->history->ops->forget(e->history);
    }
    engine_free(e);
}

/* ---- execute ---------------------------------------------------------------------- */

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
static bool clock_read(const struct usher_engine *e, struct usher_context *context)
{
    int64_t now_ms = e->opt.now_ms != NULL ? e->opt.now_ms(e->opt.payload) : 0;

    if (e->opt.now_ms != NULL && (now_ms < 1 || now_ms > USHER_TIME_MAX))
        return false;
    context->now_ms = now_ms;
    return true;
}

static void clock_refused(const struct usher_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        usher_result_fail(tasks[i].reply, USHER_INVALID,
                          "the application's clock is not from 1 to 253402300799999");
}

static bool watched(const struct usher_engine *e)
{
    return atomic_load_explicit(&e->watches.n, memory_order_acquire) != 0;
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
    if (!clock_read(e, context)) {
        clock_refused(tasks, n);
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
    if (b->n != from && !clock_read(e, &b->context)) {
        clock_refused(b->tasks + from, b->n - from);
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
    give_to_store(e, b.tasks, b.n, &b.context);
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

static void __attribute__((noinline))
combine(struct usher_engine *e, struct usher__lane *l, struct usher_task *tasks, size_t n,
        int64_t deadline_ms)
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
        combine(e, &e->lanes[tasks[0].lane], tasks, n, deadline_ms);
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
        combine(e, e->lanes, tasks, n, deadline_ms);
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
        if (e->history != NULL && usher__archive_first_seen(e, &commands[i]))
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
        usher__archive_execute(e, command, reply, deadline_ms);
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
            usher__archive_drain(e, commands + from, replies + from, k,
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

/* ---- watch ------------------------------------------------------------------------ */

/* Check the arguments of both kinds of watchers. */
static enum usher_status watch_check(const char *call, enum usher_noun noun, const char *scope,
                                     const char *fault)
{
    const struct usher__noun *of = usher__noun((unsigned)noun);

    if (fault == NULL && (scope != NULL || noun != 0) && (of == NULL || of->hidden))
        fault = "unknown noun";
    if (fault != NULL) {
        usher__message_set("%s: %s", call, fault);
        return USHER_INVALID;
    }
    if (scope != NULL && usher__scope_fault(scope, strlen(scope)) != NULL) {
        usher__message_set("%s: scope %s", call, usher__scope_fault(scope, strlen(scope)));
        return USHER_INVALID;
    }
    return USHER_OK;
}

enum usher_status usher_watch(struct usher_engine *e, enum usher_noun noun, const char *scope,
                              usher_watch_fn *fn, void *payload, struct usher_watcher **ret_watch)
{
    enum usher_status status = usher__engine_check(e);

    if (status == USHER_OK)
        status = watch_check("watch", noun, scope,
                             fn == NULL || ret_watch == NULL ? "fn or ret_watch is NULL" : NULL);
    if (status != USHER_OK)
        return status;
    status = usher__watches_add(&e->watches, noun, scope, fn, payload, NULL, ret_watch);
    if (status != USHER_OK)
        usher__message_set("watch: out of memory");
    return status;
}

static const char *flags_fault(const char *scope, unsigned flags, uint64_t since,
                               struct usher_watcher **ret_watcher)
{
    bool follows = (flags & USHER_WATCH_SINCE) != 0;

    if (ret_watcher == NULL)
        return "ret_watcher is NULL";
    if ((flags & ~(unsigned)(USHER_WATCH_SINCE | USHER_WATCH_ALL | USHER_WATCH_TEND)) != 0)
        return "unknown flags";
    if ((flags & USHER_WATCH_TEND) != 0 && scope == NULL)
        return "USHER_WATCH_TEND needs a scope";
    if (follows ? since > INT64_MAX : since != 0)
        return follows ? "since is out of range" : "since without USHER_WATCH_SINCE";
    if (!follows && (flags & USHER_WATCH_ALL) != 0)
        return "USHER_WATCH_ALL without USHER_WATCH_SINCE";
    return follows && scope == NULL ? "USHER_WATCH_SINCE needs a scope" : NULL;
}

static const char *refusal(const struct usher_engine *e, enum usher_noun noun, unsigned flags)
{
    if ((flags & USHER_WATCH_TEND) != 0 && usher__hooks((unsigned)noun)->sweep == 0)
        return "scopes of this noun have no expiries";
    if ((flags & USHER_WATCH_TEND) != 0 && e->opt.clock_given)
        return "clock=given: the engine does not know when an expiry is due";
    return NULL;
}

enum usher_status usher_watch_events(struct usher_engine *e, enum usher_noun noun,
                                     const char *scope, unsigned flags, uint64_t since, void *tag,
                                     struct usher_watcher **ret_watcher)
{
    struct usher__hearing how = { noun, scope, flags, since, 0, tag };
    enum usher_status status = usher__engine_check(e);
    struct usher__heard *heard = NULL;
    struct usher__post *p;
    const char *why;

    if (status == USHER_OK)
        status = watch_check("watch", noun, scope, flags_fault(scope, flags, since, ret_watcher));
    if (status != USHER_OK)
        return status;
    why = refusal(e, noun, flags);
    if (why != NULL) {
        usher__message_set("watch: %s", why);
        return USHER_REFUSED;
    }
    p = usher__post_of(e, "watch");
    if (p == NULL)
        return USHER_NOMEM;
    how.under_way_ms = e->timeout_ms;
    heard = usher__heard_new(p, &how);
    status = heard != NULL
                 ? usher__watches_add(&e->watches, noun, scope, NULL, NULL, heard, ret_watcher)
                 : USHER_NOMEM;
    if (status == USHER_OK) {
        usher__heard_begin(heard);
        return status;
    }
    if (heard != NULL)
        usher__heard_remove(heard);
    usher__message_set("watch: out of memory");
    return status;
}

void usher_unwatch(struct usher_engine *e, struct usher_watcher *watch)
{
    if (usher__engine_check(e) == USHER_OK && watch != NULL)
        usher__watches_remove(&e->watches, watch);
}
