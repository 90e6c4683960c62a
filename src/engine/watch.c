/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/watch.h"

#include <string.h>

#include "core/text.h"
#include "engine/memory.h"

struct usher_watch {
    struct usher_watch *next;
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

void usher__watches_done(struct usher__watches *w)
{
    if (!w->ready)
        return;
    while (w->head != NULL) {
        struct usher__queued *q = w->head;

        w->head = q->next;
        (void)usher__resize(w->alloc, q, q->size, 0);
    }
    while (w->first != NULL) {
        struct usher_watch *watch = w->first;

        w->first = watch->next;
        (void)usher__resize(w->alloc, watch, sizeof *watch, 0);
    }
    (void)pthread_cond_destroy(&w->idle);
    (void)pthread_mutex_destroy(&w->lock);
    w->ready = false;
}

static char *append(struct usher_text *to, const struct usher_text *from, char *at)
{
    to->data = at;
    to->size = from->size;
    if (from->size != 0)
        memcpy(at, from->data, from->size);
    return at + from->size;
}

void usher__watches_queue(void *payload, const struct usher_notice *n)
{
    struct usher__watches *w = payload;
    size_t size = sizeof(struct usher__queued) + n->scope.size + n->subject.size + n->owner.size +
                  n->data.size;
    struct usher__queued *q;
    char *at;

    if (atomic_load_explicit(&w->n, memory_order_acquire) == 0)
        return;
    q = usher__resize(w->alloc, NULL, 0, size);
    if (q == NULL) {
        atomic_store(&w->dropped, true);
        return;
    }
    q->next = NULL;
    q->size = size;
    q->notice = *n;
    at = append(&q->notice.scope, &n->scope, q->text);
    at = append(&q->notice.subject, &n->subject, at);
    at = append(&q->notice.owner, &n->owner, at);
    (void)append(&q->notice.data, &n->data, at);
    (void)pthread_mutex_lock(&w->lock);
    if (w->tail != NULL)
        w->tail->next = q;
    else
        w->head = q;
    w->tail = q;
    (void)pthread_mutex_unlock(&w->lock);
}

static bool listens(const struct usher_watch *watch, const struct usher_notice *n)
{
    struct usher_text scope = { watch->scope, watch->size };

    return !watch->dead &&
           (watch->all || (watch->noun == n->noun && usher__text_equal(&scope, &n->scope)));
}

/* Unlink @watch, which is not running, and free it.  Locked. */
static void drop(struct usher__watches *w, struct usher_watch *watch)
{
    struct usher_watch **at = &w->first;

    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    (void)usher__resize(w->alloc, watch, sizeof *watch, 0);
}

/* Locked, and unlocked while a watcher runs. */
static void tell(struct usher__watches *w, const struct usher_notice *n)
{
    struct usher_watch *watch = w->first, *next;

    for (; watch != NULL; watch = next) {
        if (listens(watch, n)) {
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
                                     struct usher_watch **ret_watch)
{
    struct usher_watch *watch = usher__resize(w->alloc, NULL, 0, sizeof *watch);

    if (watch == NULL)
        return USHER_NOMEM;
    memset(watch, 0, sizeof *watch);
    watch->fn = fn;
    watch->payload = payload;
    watch->noun = noun;
    watch->all = scope == NULL;
    if (scope != NULL) {
        watch->size = strlen(scope);
        memcpy(watch->scope, scope, watch->size);
    }
    (void)pthread_mutex_lock(&w->lock);
    watch->next = w->first;
    w->first = watch;
    atomic_fetch_add_explicit(&w->n, 1, memory_order_release);
    (void)pthread_mutex_unlock(&w->lock);
    *ret_watch = watch;
    return USHER_OK;
}

void usher__watches_remove(struct usher__watches *w, struct usher_watch *watch)
{
    (void)pthread_mutex_lock(&w->lock);
    atomic_fetch_sub_explicit(&w->n, 1, memory_order_release);
    watch->dead = true;
    if (watch->running && pthread_equal(w->deliverer, pthread_self())) {
        watch->orphan = true;
    } else {
        while (watch->running)
            (void)pthread_cond_wait(&w->idle, &w->lock);
        drop(w, watch);
    }
    (void)pthread_mutex_unlock(&w->lock);
}
