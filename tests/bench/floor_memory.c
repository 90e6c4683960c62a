/* SPDX-License-Identifier: MIT */
/* A pool owns its numbers, in one array: no allocation after floor_pool_new(). */
#include "config.h"

#include "floor_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct number {
    struct number *next_number, *next_owner; /* in their buckets */
    struct number *prev, *next;              /* free ones, in order of release */
    uint64_t token, calls;
    int64_t used_ms;
    char number[FLOOR_NAME], owner[FLOOR_NAME];
    bool busy;
};

struct floor_pool {
    pthread_mutex_t lock;
    uint64_t version;
    int64_t clock_ms;
    struct number *first, *last; /* free */
    struct number **numbers, **owners;
    size_t mask, n;
    struct number *all;
};

static void *get(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (p == NULL)
        abort();
    return p;
}

static struct number **bucket_of(const struct floor_pool *p, struct number **table,
                                 const char *name)
{
    return &table[XXH3_64bits(name, strlen(name)) & p->mask];
}

static void append(struct floor_pool *p, struct number *x)
{
    x->next = NULL;
    x->prev = p->last;
    if (p->last != NULL)
        p->last->next = x;
    else
        p->first = x;
    p->last = x;
}

static void take_first(struct floor_pool *p)
{
    p->first = p->first->next;
    if (p->first != NULL)
        p->first->prev = NULL;
    else
        p->last = NULL;
}

static void tick(struct floor_pool *p)
{
    struct timespec ts;
    int64_t now;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    now = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
    if (p->clock_ms < now)
        p->clock_ms = now;
}

struct floor_pool *floor_pool_new(size_t n)
{
    struct floor_pool *p = get(1, sizeof *p);
    size_t buckets = 16;

    while (buckets < n)
        buckets *= 2;
    p->mask = buckets - 1;
    p->numbers = get(buckets, sizeof *p->numbers);
    p->owners = get(buckets, sizeof *p->owners);
    p->all = get(n, sizeof *p->all);
    if (pthread_mutex_init(&p->lock, NULL) != 0)
        abort();
    return p;
}

void floor_pool_free(struct floor_pool *p)
{
    (void)pthread_mutex_destroy(&p->lock);
    free(p->numbers);
    free(p->owners);
    free(p->all);
    free(p);
}

void floor_pool_add(struct floor_pool *p, const char *number)
{
    struct number *x = &p->all[p->n++], **bucket = bucket_of(p, p->numbers, number);

    memcpy(x->number, number, strlen(number) + 1);
    x->next_number = *bucket;
    *bucket = x;
    append(p, x);
}

bool floor_pool_call(struct floor_pool *p, const char *owner, struct floor_hold *ret_hold)
{
    struct number **bucket = bucket_of(p, p->owners, owner), *x;

    (void)pthread_mutex_lock(&p->lock);
    tick(p);
    for (x = *bucket; x != NULL && strcmp(x->owner, owner) != 0; x = x->next_owner)
        ;
    if (x == NULL) {
        x = p->first;
        if (x == NULL) {
            (void)pthread_mutex_unlock(&p->lock);
            return false;
        }
        take_first(p);
        x->busy = true;
        x->token = ++p->version;
        x->calls++;
        x->used_ms = p->clock_ms;
        memcpy(x->owner, owner, strlen(owner) + 1);
        x->next_owner = *bucket;
        *bucket = x;
    }
    ret_hold->token = x->token;
    memcpy(ret_hold->number, x->number, strlen(x->number) + 1);
    (void)pthread_mutex_unlock(&p->lock);
    return true;
}

bool floor_pool_hangup(struct floor_pool *p, const char *number, uint64_t token)
{
    struct number **bucket = bucket_of(p, p->numbers, number), *x;
    bool done = false;

    (void)pthread_mutex_lock(&p->lock);
    tick(p);
    for (x = *bucket; x != NULL && strcmp(x->number, number) != 0; x = x->next_number)
        ;
    if (x != NULL && x->busy && x->token == token) {
        for (bucket = bucket_of(p, p->owners, x->owner); *bucket != x;
             bucket = &(*bucket)->next_owner)
            ;
        *bucket = x->next_owner;
        x->busy = false;
        p->version++;
        append(p, x);
        done = true;
    }
    (void)pthread_mutex_unlock(&p->lock);
    return done;
}
