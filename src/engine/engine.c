/* SPDX-License-Identifier: MIT */
/* The engine: opens a store with its authority and its history, and closes them. */
#include "config.h"

#include "engine/engine.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "builtin.h"
#include "core/text.h"
#include "engine/grant.h"
#include "engine/authority.h"
#include "engine/history.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "engine/post.h"
#include "engine/url.h"
#include "change/work.h"

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
    if (e->archive != NULL)
        usher__archive()->destroy(e->archive);
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
        if (!usher__struct_take(to, sizeof *to, from)) {
            usher__message_set("open: options.size is %zu: set it with USHER_OPTIONS_INIT, and set "
                               "no members that this version of the library does not know",
                               from->size);
            return USHER_INVALID;
        }
        to->size = sizeof *to;
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
    if (status == USHER_OK && opt->history != NULL) {
        e->archive = usher__archive()->create(e, opt->history);
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
        store->ops->execute == NULL || store->ops->scan == NULL || store->ops->list == NULL ||
        store->ops->close == NULL ||
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
            usher__archive()->finish(e);
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
