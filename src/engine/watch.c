/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/watch.h"

#include <string.h>

#include "core/pack.h"
#include "core/text.h"
#include "core/verbs.h"
#include "engine/engine.h"
#include "engine/hear.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "change/request_cache.h"
#include "change/work.h"

struct usher_watcher {
    struct usher_watcher *next;
    struct usher__heard *heard; /* NULL: fn is called */
    usher_watch_fn *fn;
    void *payload;
    enum usher_noun noun;
    size_t size;
    bool all;
    bool running; /* fn is being called */
    bool dead;    /* removed: not called any more */
    bool orphan;  /* removed by its own fn: freed when that returns */
    char scope[USHER_NAME_MAX];
};

struct usher__queued {
    struct usher__queued *next;
    size_t size;
    struct usher_notice notice; /* its texts follow */
    char text[];
};

/* The coalesced notices of one room. */
struct usher__gathered {
    struct usher__gathered *next; /* with the same hash */
    struct usher_notice all;      /* the notice that they will be */
    int64_t until_ms;             /* in the time of the commands */
    int64_t until_here_ms;        /* in CLOCK_MONOTONIC, for commands without a time */
    unsigned char *packed;        /* of which all.data.size bytes are used */
    size_t room;
    char name[];
};

#define PLACES 1024u

enum usher_status usher__watches_init(struct usher__watches *w, const struct usher_allocator *alloc)
{
    memset(w, 0, sizeof *w);
    w->alloc = alloc;
    if (pthread_mutex_init(&w->lock, NULL) != 0)
        return USHER_NOMEM;
    if (pthread_cond_init(&w->idle, NULL) != 0) {
        (void)pthread_mutex_destroy(&w->lock);
        return USHER_NOMEM;
    }
    w->ready = true;
    return USHER_OK;
}

static void gathered_drop(struct usher__watches *w, struct usher__gathered **at)
{
    struct usher__gathered *g = *at;

    *at = g->next;
    (void)usher__resize(w->alloc, g->packed, g->room, 0);
    (void)usher__resize(w->alloc, g, sizeof *g + g->all.scope.size, 0);
    atomic_fetch_sub_explicit(&w->n_gathered, 1, memory_order_relaxed);
}

static void gathered_clear(struct usher__watches *w)
{
    for (unsigned i = 0; w->gathered != NULL && i < PLACES; i++)
        while (w->gathered[i] != NULL)
            gathered_drop(w, &w->gathered[i]);
}

static void watchers_free(const struct usher__watches *w, struct usher_watcher *watch)
{
    while (watch != NULL) {
        struct usher_watcher *next = watch->next;

        (void)usher__resize(w->alloc, watch, sizeof *watch, 0);
        watch = next;
    }
}

void usher__watches_done(struct usher__watches *w)
{
    if (!w->ready)
        return;
    while (w->head != NULL) {
        struct usher__queued *q = w->head;

        w->head = q->next;
        (void)usher__resize(w->alloc, q, q->size, 0);
    }
    gathered_clear(w);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__resize(w->alloc, w->gathered, PLACES * sizeof *w->gathered, 0);
    watchers_free(w, w->any);
    for (size_t i = 0; i < w->n_lists; i++)
        watchers_free(w, w->of_scope[i]);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__resize(w->alloc, w->of_scope, w->n_lists * sizeof *w->of_scope, 0);
    (void)pthread_cond_destroy(&w->idle);
    (void)pthread_mutex_destroy(&w->lock);
    w->ready = false;
}

/* ---- watchers ------------------------------------------------------------------------------- */

static bool listens(const struct usher_watcher *watch, const struct usher_notice *n)
{
    struct usher_text scope = { watch->scope, watch->size };

    if (watch->dead)
        return false;
    if (watch->all)
        return watch->noun == 0 || watch->noun == n->noun;
    return watch->noun == n->noun && usher__text_equal(&scope, &n->scope);
}

/* Return the list with the watchers of @scope of @noun, and some others.  The table exists. */
static struct usher_watcher **list_of(const struct usher__watches *w, enum usher_noun noun,
                                      const struct usher_text *scope)
{
    return &w->of_scope[(usher__text_hash(USHER__HASH, scope) + (uint32_t)noun) & (w->n_lists - 1)];
}

static struct usher_watcher **own_list(struct usher__watches *w, const struct usher_watcher *watch)
{
    struct usher_text scope = { watch->scope, watch->size };

    return watch->all ? &w->any : list_of(w, watch->noun, &scope);
}

static void push(struct usher__watches *w, struct usher_watcher *watch)
{
    struct usher_watcher **list = own_list(w, watch);

    watch->next = *list;
    *list = watch;
}

/* Enlarge the table so that its lists stay short, but not while watchers are called, because that
 * iterates over a list.  Return false if there is no table and no memory for one. */
static bool lists_grow(struct usher__watches *w)
{
    size_t n = w->n_lists, more = n == 0 ? 8 : n * 2;
    struct usher_watcher **old = w->of_scope, **lists;

    if (w->n_of_scope < n || (w->delivering && n != 0))
        return true;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    lists = usher__resize(w->alloc, NULL, 0, more * sizeof *lists);
    if (lists == NULL)
        return n != 0;
    for (size_t i = 0; i < more; i++)
        lists[i] = NULL;
    w->of_scope = lists;
    w->n_lists = more;
    for (size_t i = 0; i < n; i++)
        while (old[i] != NULL) {
            struct usher_watcher *watch = old[i];

            old[i] = watch->next;
            push(w, watch);
        }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__resize(w->alloc, old, n * sizeof *old, 0);
    return true;
}

/* Unlink @watch, which is not running, and free it.  Locked. */
static void drop(struct usher__watches *w, struct usher_watcher *watch)
{
    struct usher_watcher **at = own_list(w, watch);

    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    w->n_of_scope -= !watch->all;
    (void)usher__resize(w->alloc, watch, sizeof *watch, 0);
}

/* Append @n to the queue for watchers with a function.  Locked. */
static void keep(struct usher__watches *w, const struct usher_notice *n)
{
    size_t size = sizeof(struct usher__queued) + n->scope.size + n->subject.size + n->owner.size +
                  n->data.size;
    struct usher__queued *q = usher__resize(w->alloc, NULL, 0, size);
    char *at;

    if (q == NULL) {
        atomic_store(&w->dropped, true);
        return;
    }
    q->next = NULL;
    q->size = size;
    q->notice = *n;
    usher__notice_publish(&q->notice);
    at = usher__text_copy(&q->notice.scope, &n->scope, q->text);
    at = usher__text_copy(&q->notice.subject, &n->subject, at);
    at = usher__text_copy(&q->notice.owner, &n->owner, at);
    (void)usher__text_copy(&q->notice.data, &n->data, at);
    if (w->tail != NULL)
        w->tail->next = q;
    else
        w->head = q;
    w->tail = q;
}

static void those_who_collect(const struct usher_watcher *watch, const struct usher_notice *n)
{
    for (; watch != NULL; watch = watch->next)
        if (watch->heard != NULL && listens(watch, n))
            usher__heard_notice(watch->heard, n);
}

/* Give @n to the watchers that collect, and keep it for the others.  Locked. */
static void enqueue(struct usher__watches *w, const struct usher_notice *n)
{
    those_who_collect(w->any, n);
    if (w->n_of_scope != 0)
        those_who_collect(*list_of(w, n->noun, &n->scope), n);
    if (w->n_calls > 0)
        keep(w, n);
}

/* Report a doubt to the watchers that collect; @n without a scope is of any scope. */
static void those_in_doubt(const struct usher_watcher *watch, const struct usher_notice *n)
{
    for (; watch != NULL; watch = watch->next)
        if (watch->heard != NULL && (n->scope.size == 0 || listens(watch, n)))
            usher__heard_doubt(watch->heard, n);
}

void usher__watches_doubt(struct usher__watches *w, enum usher_noun noun,
                          const struct usher_text *scope)
{
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.noun = noun;
    n.scope = *scope;
    (void)pthread_mutex_lock(&w->lock);
    those_in_doubt(w->any, &n);
    if (w->n_of_scope != 0 && scope->size != 0)
        those_in_doubt(*list_of(w, noun, scope), &n);
    for (size_t i = 0; i < w->n_lists && scope->size == 0; i++)
        those_in_doubt(w->of_scope[i], &n);
    (void)pthread_mutex_unlock(&w->lock);
}

void usher__watches_published(struct usher__watches *w, enum usher_noun noun,
                              const struct usher_text *scope, enum usher_listen_event event,
                              uint64_t version)
{
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.noun = noun;
    n.scope = *scope;
    (void)pthread_mutex_lock(&w->lock);
    if (w->n_of_scope != 0)
        for (const struct usher_watcher *watch = *list_of(w, noun, scope); watch != NULL;
             watch = watch->next)
            if (watch->heard != NULL && listens(watch, &n))
                usher__heard_published(watch->heard, event, version);
    (void)pthread_mutex_unlock(&w->lock);
}

/* ---- coalesced notices ------------------------------------------------------------ */

/* Return the pointer to the coalesced notices of @room, or the place for it.  Locked. */
static struct usher__gathered **place_of(const struct usher__watches *w,
                                         const struct usher_text *room)
{
    struct usher__gathered **at;

    for (at = &w->gathered[usher__text_hash(USHER__HASH, room) % PLACES]; *at != NULL;
         at = &(*at)->next)
        if (usher__text_equal(&(*at)->all.scope, room))
            break;
    return at;
}

static void tell_gathered(struct usher__watches *w, struct usher__gathered **at)
{
    struct usher_notice *all = &(*at)->all;

    all->data.data = (const char *)(*at)->packed;
    enqueue(w, all);
    gathered_drop(w, at);
}

static bool table_made(struct usher__watches *w)
{
    if (w->gathered == NULL) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        w->gathered = usher__resize(w->alloc, NULL, 0, PLACES * sizeof *w->gathered);
        for (unsigned i = 0; w->gathered != NULL && i < PLACES; i++)
            w->gathered[i] = NULL;
    }
    return w->gathered != NULL;
}

/* Create an empty one for the room of @n. */
static bool gathered_new(struct usher__watches *w, struct usher__gathered **at,
                         const struct usher_notice *n)
{
    struct usher__gathered *g = usher__resize(w->alloc, NULL, 0, sizeof *g + n->scope.size);

    if (g == NULL)
        return false;
    memset(g, 0, sizeof *g);
    g->all.noun = n->noun;
    g->all.epoch = n->epoch;
    g->all.verb = usher__hooks((unsigned)n->noun)->copied->together;
    g->all.token = n->version;
    g->all.before = n->before;
    g->all.was = n->was;
    (void)usher__text_copy(&g->all.scope, &n->scope, g->name);
    g->until_ms = n->now_ms + n->wait_ms;
    g->until_here_ms = usher__monotonic_ms() + n->wait_ms;
    *at = g;
    atomic_fetch_add_explicit(&w->n_gathered, 1, memory_order_relaxed);
    return true;
}

/* Add @n to the coalesced notices of its room.  Return false, and change nothing, if there is no
 * memory. */
static bool gather_one(struct usher__watches *w, struct usher__gathered **at,
                       const struct usher_notice *n, size_t size)
{
    struct usher__packer p = { NULL, size, 0 };
    struct usher__gathered *g;
    bool made = *at == NULL;

    if (made && !gathered_new(w, at, n))
        return false;
    g = *at;
    if (g->room - g->all.data.size < size) {
        size_t room = 2 * (g->all.data.size + size);
        unsigned char *packed = usher__resize(w->alloc, g->packed, g->room, room);

        if (packed == NULL) {
            if (made)
                gathered_drop(w, at);
            return false;
        }
        g->packed = packed;
        g->room = room;
    }
    p.to = g->packed + g->all.data.size;
    usher__notice_pack(&p, n);
    g->all.data.size += size;
    g->all.version = n->version;
    g->all.now_ms = n->now_ms;
    g->all.mark = n->mark;
    return true;
}

static bool time_is_over(const struct usher__gathered *g, int64_t now_ms)
{
    return now_ms != 0 ? now_ms >= g->until_ms : usher__monotonic_ms() >= g->until_here_ms;
}

/* Return whether there is a jump (work.h) up to @version: then the store may have lost the
 * changes. */
static bool has_jumped(const struct usher__gathered *g, uint64_t version)
{
    return version > g->all.version && version - g->all.version >= USHER__JUMP;
}

/* Coalesce the notice of a room, and return whether that was done.  Earlier ones that cannot wait
 * for it are queued first. */
static bool gather(struct usher__watches *w, const struct usher_notice *n)
{
    struct usher__packer p = { NULL, 0, 0 };
    struct usher__gathered **at;

    if (!table_made(w))
        return false;
    usher__notice_pack(&p, n);
    at = place_of(w, &n->scope);
    if (*at != NULL &&
        (n->wait_ms == 0 || (*at)->all.epoch != n->epoch || has_jumped(*at, n->version) ||
         time_is_over(*at, n->now_ms) || (*at)->all.data.size + p.n > USHER_NOTICE_DATA_MAX)) {
        tell_gathered(w, at);
        at = place_of(w, &n->scope);
    }
    if (n->wait_ms == 0)
        return false;
    if (!gather_one(w, at, n, p.n)) {
        if (*at != NULL)
            tell_gathered(w, at);
        return false;
    }
    return true;
}

void usher__watches_queue(void *payload, const struct usher_notice *n)
{
    struct usher__watches *w = payload;
    bool gathers =
        usher__hooks((unsigned)n->noun)->copied != NULL &&
        (n->wait_ms > 0 || atomic_load_explicit(&w->n_gathered, memory_order_relaxed) != 0);

    if (atomic_load_explicit(&w->n, memory_order_acquire) == 0)
        return;
    (void)pthread_mutex_lock(&w->lock);
    if (!gathers || !gather(w, n))
        enqueue(w, n);
    (void)pthread_mutex_unlock(&w->lock);
}

/* Return the subject of @command: the first name that is required, or that has the word of its noun
 * (the number of `renew` is optional). */
static struct usher_text subject_of(const struct usher__noun *noun, const struct usher__verb *verb,
                                    const struct usher_operation *command)
{
    struct usher_text name = { NULL, 0 };

    for (unsigned i = 0; i < noun->n_args && name.data == NULL; i++)
        if (noun->args[i].type == USHER__ARG_NAME &&
            ((verb->order >> i & 1u) != 0 || strcmp(noun->args[i].word, noun->word) == 0))
            memcpy(&name, (const char *)command + noun->args[i].offset, sizeof name);
    return name;
}

void usher__watches_lost(struct usher__watches *w, const struct usher_operation *command,
                         const struct usher_result *reply)
{
    const struct usher__noun *noun = usher__noun(reply->noun);
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    struct usher_notice n;

    memset(&n, 0, sizeof n);
    n.noun = reply->noun;
    n.scope = command->scope;
    n.epoch = reply->epoch;
    n.version = n.before = reply->version;
    n.now_ms = (command->given & USHER_GIVEN_NOW) != 0 ? command->now_ms : 0;
    n.verb = USHER_NOTICE_LOST;
    n.subject = subject_of(noun, verb, command);
    for (unsigned i = 0; i < noun->n_args; i++)
        if (noun->token == UINT64_C(1) << i && (command->given & noun->args[i].given) != 0)
            memcpy(&n.token, (const char *)command + noun->args[i].offset, sizeof n.token);
    usher__watches_queue(w, &n);
}

void usher__watches_meet(struct usher__watches *w, const struct usher_operation *command,
                         struct usher_result *reply, int64_t now_ms)
{
    const struct usher__copied *copied = usher__hooks_of(command->verb)->copied;
    enum usher__gathering does;
    struct usher__gathered **at;

    if (atomic_load_explicit(&w->n_gathered, memory_order_relaxed) == 0 ||
        reply->status >= USHER_INVALID || reply->repeated || copied == NULL)
        return;
    does = copied->gathering(command->verb);
    if (does == USHER__GATHERING_STAYS)
        return;
    (void)pthread_mutex_lock(&w->lock);
    at = place_of(w, &command->scope);
    /* An earlier command of the same batch has not seen any of the changes. */
    if (*at != NULL && ((*at)->all.epoch != reply->epoch || reply->version < (*at)->all.token))
        at = NULL;
    if (at != NULL && *at != NULL &&
        (does == USHER__GATHERING_ENDS || has_jumped(*at, reply->version) ||
         time_is_over(*at, now_ms))) {
        tell_gathered(w, at);
    } else if (at != NULL && *at != NULL && does == USHER__GATHERING_HIDES &&
               reply->status == USHER_OK && (*at)->all.epoch == reply->epoch) {
        uint64_t since;

        memcpy(&since, (char *)reply + copied->since_at, sizeof since);
        if ((*at)->all.token <= since) {
            memcpy((char *)reply + copied->since_at, &(*at)->all.before, sizeof since);
            memcpy((char *)reply + copied->mark_at, &(*at)->all.was, sizeof since);
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* ---- delivery ---------------------------------------------------------------------- */

/* Call the watchers from @watch on.  Locked, and unlocked while a watcher runs. */
static void call(struct usher__watches *w, struct usher_watcher *watch,
                 const struct usher_notice *n)
{
    struct usher_watcher *next;

    for (; watch != NULL; watch = next) {
        if (watch->heard == NULL && listens(watch, n)) {
            watch->running = true;
            (void)pthread_mutex_unlock(&w->lock);
            watch->fn(watch->payload, n);
            (void)pthread_mutex_lock(&w->lock);
            watch->running = false;
            (void)pthread_cond_broadcast(&w->idle);
        }
        next = watch->next; /* read under the lock and used under it */
        if (watch->orphan)
            drop(w, watch);
    }
}

static void tell(struct usher__watches *w, const struct usher_notice *n)
{
    call(w, w->any, n);
    if (w->n_of_scope != 0)
        call(w, *list_of(w, n->noun, &n->scope), n);
}

bool usher__watches_deliver(struct usher__watches *w)
{
    (void)pthread_mutex_lock(&w->lock);
    if (!w->delivering) {
        w->delivering = true;
        w->deliverer = pthread_self();
        while (w->head != NULL) {
            struct usher__queued *q = w->head;

            w->head = q->next;
            if (w->head == NULL)
                w->tail = NULL;
            tell(w, &q->notice);
            (void)usher__resize(w->alloc, q, q->size, 0);
        }
        w->delivering = false;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return atomic_exchange(&w->dropped, false);
}

enum usher_status usher__watches_add(struct usher__watches *w, enum usher_noun noun,
                                     const char *scope, usher_watch_fn *fn, void *payload,
                                     struct usher__heard *heard, struct usher_watcher **ret_watch)
{
    struct usher_watcher *watch = usher__resize(w->alloc, NULL, 0, sizeof *watch);

    if (watch == NULL)
        return USHER_NOMEM;
    memset(watch, 0, sizeof *watch);
    watch->heard = heard;
    watch->fn = fn;
    watch->payload = payload;
    watch->noun = noun;
    watch->all = scope == NULL;
    if (scope != NULL) {
        watch->size = strlen(scope);
        memcpy(watch->scope, scope, watch->size);
    }
    (void)pthread_mutex_lock(&w->lock);
    if (!watch->all && !lists_grow(w)) {
        (void)pthread_mutex_unlock(&w->lock);
        (void)usher__resize(w->alloc, watch, sizeof *watch, 0);
        return USHER_NOMEM;
    }
    push(w, watch);
    w->n_of_scope += !watch->all;
    w->n_calls += heard == NULL;
    atomic_fetch_add_explicit(&w->n, 1, memory_order_release);
    (void)pthread_mutex_unlock(&w->lock);
    *ret_watch = watch;
    return USHER_OK;
}

void usher__watches_remove(struct usher__watches *w, struct usher_watcher *watch)
{
    (void)pthread_mutex_lock(&w->lock);
    if (atomic_fetch_sub_explicit(&w->n, 1, memory_order_release) == 1)
        gathered_clear(w); /* no watcher is left */
    watch->dead = true;
    w->n_calls -= watch->heard == NULL;
    if (watch->heard != NULL)
        usher__heard_remove(watch->heard);
    if (watch->running && pthread_equal(w->deliverer, pthread_self())) {
        watch->orphan = true;
    } else {
        while (watch->running)
            (void)pthread_cond_wait(&w->idle, &w->lock);
        drop(w, watch);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

bool usher__watches_on(struct usher__watches *w, const struct usher_watcher *watch)
{
    bool on;

    (void)pthread_mutex_lock(&w->lock);
    on = w->delivering && pthread_equal(w->deliverer, pthread_self()) &&
         (watch == NULL || watch->running);
    (void)pthread_mutex_unlock(&w->lock);
    return on;
}

/* ---- watchers of a program --------------------------------------------------------------------
 */

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
