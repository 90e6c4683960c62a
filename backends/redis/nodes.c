/* SPDX-License-Identifier: MIT */
/*
 * The servers of a store and the connections to them.  Without a cluster there is a single node,
 * which is the master among the hosts.  A cluster has a node for each address that was ever
 * reported.
 *
 * A connection is taken, used by one thread, and given back.  If too many are idle, it is closed.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store.h"

void *usher__redis_resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

/* ---- connections ------------------------------------------------------------------- */

void usher__redis_free(struct usher__redis *r)
{
    if (r == NULL)
        return;
    usher__redis_search_end(r);
    if (r->conn != NULL)
        usher__redis_conn_close(r->conn);
    usher__redis_replies_free(r);
    (void)usher__redis_resize(r->alloc, r->packed, r->packed_size, 0);
    (void)usher__redis_resize(r->alloc, r->tables, r->tables != NULL ? sizeof *r->tables : 0, 0);
    explicit_bzero(r->password, sizeof r->password);
    (void)usher__redis_resize(r->alloc, r, sizeof *r, 0);
}

/* Return the copy in @to of @text, which is inside @from. */
static const char *moved(const char *text, const struct usher__redis *from,
                         const struct usher__redis *to)
{
    const char *begin = (const char *)from;

    if (text == NULL || text < begin || text >= begin + sizeof *from)
        return text; /* a constant, outside of @from */
    return (const char *)to + (text - begin);
}

void usher__redis_point(struct usher__redis *r, const struct usher__redis_address *at)
{
    bool own_name = r->options.tls.name == r->options.host;

    memcpy(r->host, at->host, sizeof r->host);
    r->options.host = r->host;
    r->options.port = at->port;
    if (own_name) /* each node proves its own name */
        r->options.tls.name = r->host;
}

struct usher__redis *usher__redis_new(struct usher__redis_store *s, struct usher__redis_node *node)
{
    const struct usher__redis *like = s->like;
    struct usher__redis *r = usher__redis_resize(s->alloc, NULL, 0, sizeof *r);

    if (r == NULL)
        return NULL;
    *r = *like;
    r->conn = NULL;
    r->tables = NULL;
    r->store = s;
    r->node = node;
    r->random ^= (uint64_t)(uintptr_t)r ^ (uint64_t)usher__redis_clock_ms();
    r->options.host = moved(like->options.host, like, r);
    r->options.unix_path = moved(like->options.unix_path, like, r);
    r->options.user = moved(like->options.user, like, r);
    r->options.password = moved(like->options.password, like, r);
    r->options.client_name = moved(like->options.client_name, like, r);
    r->options.tls.ca = moved(like->options.tls.ca, like, r);
    r->options.tls.cert = moved(like->options.tls.cert, like, r);
    r->options.tls.key = moved(like->options.tls.key, like, r);
    r->options.tls.name = moved(like->options.tls.name, like, r);
    if (s->map != NULL) {
        usher__redis_point(r, &node->at);
        (void)pthread_mutex_lock(&s->lock);
        memcpy(r->ip, node->ip, sizeof r->ip);
        (void)pthread_mutex_unlock(&s->lock);
        r->options.ip = r->ip;
        r->n_hosts = 1;
    }
    if (usher__redis_conn_open(r->alloc, &r->options, &r->conn) != USHER_OK) {
        usher__redis_free(r);
        return NULL;
    }
    return r;
}

struct usher__redis *usher__redis_take(struct usher__redis_store *s, struct usher__redis_node *node)
{
    struct usher__redis *r = NULL;
    bool tells = false;
    char id[USHER__REDIS_NODE_ID_MAX], ip[USHER__REDIS_IP_MAX];

    (void)pthread_mutex_lock(&s->lock);
    if (node->n_idle > 0) {
        r = node->idle[--node->n_idle];
    } else {
        tells = !node->told;
        node->told = true;
    }
    memcpy(id, node->id, sizeof id);
    memcpy(ip, node->ip, sizeof ip);
    (void)pthread_mutex_unlock(&s->lock);
    if (r == NULL && (r = usher__redis_new(s, node)) != NULL)
        r->tells = tells;
    if (r != NULL) {
        memcpy(r->expects, id, sizeof id);
        memcpy(r->ip, ip, sizeof ip);
    }
    return r;
}

void usher__redis_give(struct usher__redis *r)
{
    struct usher__redis_store *s = r->store;
    struct usher__redis_node *node = r->node;
    bool kept;

    (void)pthread_mutex_lock(&s->lock);
    kept = !node->gone && node->n_idle < USHER__REDIS_IDLE_MAX;
    if (kept)
        node->idle[node->n_idle++] = r;
    (void)pthread_mutex_unlock(&s->lock);
    if (!kept)
        usher__redis_free(r);
}

/* ---- nodes ------------------------------------------------------------------------- */

/*
 * If all numbers are used, return that of a node without slots to give it to a new node.  A thread
 * can continue to use the old node, because it stays until the store is closed.  A command that
 * waits for the number is sent to the new node, which redirects it.
 */
static unsigned gone_one(const struct usher__redis_store *s)
{
    unsigned i = 0;

    while (i < USHER__REDIS_NODES_MAX && !s->node[i]->gone)
        i++;
    return i;
}

unsigned usher__redis_node_at(struct usher__redis_store *s, const struct usher__redis_address *at)
{
    unsigned n = atomic_load(&s->n_nodes), i = 0;
    struct usher__redis_node *node;

    while (i < n && (s->node[i]->at.port != at->port || strcmp(s->node[i]->at.host, at->host) != 0))
        i++;
    if (i == USHER__REDIS_NODES_MAX)
        i = gone_one(s);
    else if (i < n)
        return i;
    if (i == USHER__REDIS_NODES_MAX)
        return i;
    node = usher__redis_resize(s->alloc, NULL, 0, sizeof *node);
    if (node == NULL)
        return USHER__REDIS_NODES_MAX;
    memset(node, 0, sizeof *node);
    node->at = *at;
    node->before = s->node[i];
    atomic_store(&s->node[i], node);
    if (i == n)
        atomic_store(&s->n_nodes, n + 1);
    return i;
}

void usher__redis_nodes_free(struct usher__redis_store *s)
{
    unsigned n = atomic_load(&s->n_nodes);

    for (unsigned i = 0; i < n; i++) {
        struct usher__redis_node *node = s->node[i];

        while (node != NULL) {
            struct usher__redis_node *before = node->before;

            while (node->n_idle > 0)
                usher__redis_free(node->idle[--node->n_idle]);
            (void)usher__redis_resize(s->alloc, node, sizeof *node, 0);
            node = before;
        }
    }
}

/* ---- order ------------------------------------------------------------------------- */

_Static_assert(USHER__REDIS_SLOTS == USHER_UNITS, "a unit is a slot");

unsigned usher__redis_unit(struct usher_store *store, const struct usher_text *scope)
{
    (void)store;
    return usher__redis_slot_of_tag(scope->data, scope->size);
}

static unsigned slot_of(const struct usher_task *task)
{
    return usher__redis_slot_of_tag(task->command->scope.data, task->command->scope.size);
}

static bool is_claimed(const struct usher__redis_store *s, const struct usher_task *tasks, size_t n)
{
    bool taken = false;

    for (size_t i = 0; i < n && !taken; i++) {
        unsigned slot = slot_of(&tasks[i]);

        taken = (s->claimed[slot / 64] >> (slot % 64) & 1) != 0;
    }
    return taken;
}

bool usher__redis_claim(struct usher__redis_store *s, const struct usher_task *tasks, size_t n,
                        int64_t deadline_ms)
{
    struct timespec until = { .tv_sec = deadline_ms / 1000,
                              .tv_nsec = (long)(deadline_ms % 1000) * 1000000 };
    bool late = deadline_ms < 0, taken;

    (void)pthread_mutex_lock(&s->lock);
    while ((taken = is_claimed(s, tasks, n)) && !late)
        late = pthread_cond_timedwait(&s->released, &s->lock, &until) == ETIMEDOUT;
    for (size_t i = 0; i < n && !taken; i++) {
        unsigned slot = slot_of(&tasks[i]);

        s->claimed[slot / 64] |= UINT64_C(1) << (slot % 64);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return !taken;
}

void usher__redis_release(struct usher__redis_store *s, const struct usher_task *tasks, size_t n)
{
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < n; i++) {
        unsigned slot = slot_of(&tasks[i]);

        s->claimed[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    }
    (void)pthread_cond_broadcast(&s->released);
    (void)pthread_mutex_unlock(&s->lock);
}

void usher__redis_release_slots(struct usher__redis_store *s,
                                const uint64_t slots[USHER__REDIS_SLOTS / 64])
{
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < USHER__REDIS_SLOTS / 64; i++)
        s->claimed[i] &= ~slots[i];
    (void)pthread_cond_broadcast(&s->released);
    (void)pthread_mutex_unlock(&s->lock);
}
