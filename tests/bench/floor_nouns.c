/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "floor_nouns.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static void *get(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (p == NULL)
        abort();
    return p;
}

static size_t buckets_for(size_t n)
{
    size_t buckets = 16;

    while (buckets < n)
        buckets *= 2;
    return buckets;
}

/* ---- queue ------------------------------------------------------------------------ */

struct user {
    struct user *next_user; /* in its bucket */
    struct user *next;      /* in its lane; of those not in use */
    uint64_t place;
    unsigned lane;
    char name[FLOOR_NAME];
};

struct floor_lane {
    struct user *first, *last;
    uint64_t came, went;
};

struct floor_agent {
    unsigned lanes[2];
    struct user *user;
};

struct floor_queue {
    pthread_mutex_t lock;
    uint64_t version;
    struct user **users, *spare, *all;
    size_t mask;
    struct floor_lane *lanes;
    struct floor_agent *agents;
};

struct floor_queue *floor_queue_new(size_t n, unsigned n_lanes, unsigned n_agents)
{
    struct floor_queue *q = get(1, sizeof *q);
    size_t buckets = buckets_for(n);

    q->mask = buckets - 1;
    q->users = get(buckets, sizeof *q->users);
    q->all = get(n, sizeof *q->all);
    for (size_t i = n; i-- > 0;) {
        q->all[i].next = q->spare;
        q->spare = &q->all[i];
    }
    q->lanes = get(n_lanes, sizeof *q->lanes);
    q->agents = get(n_agents, sizeof *q->agents);
    if (pthread_mutex_init(&q->lock, NULL) != 0)
        abort();
    return q;
}

void floor_queue_free(struct floor_queue *q)
{
    (void)pthread_mutex_destroy(&q->lock);
    free(q->users);
    free(q->all);
    free(q->lanes);
    free(q->agents);
    free(q);
}

void floor_queue_login(struct floor_queue *q, unsigned agent, unsigned one, unsigned other)
{
    q->agents[agent].lanes[0] = one;
    q->agents[agent].lanes[1] = other;
}

static struct user **user_at(const struct floor_queue *q, const char *name)
{
    struct user **at = &q->users[XXH3_64bits(name, strlen(name)) & q->mask];

    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next_user;
    return at;
}

bool floor_queue_apply(struct floor_queue *q, const char *user, unsigned lane, uint64_t *ret_place)
{
    struct floor_lane *l = &q->lanes[lane];
    struct user **at, *u;

    (void)pthread_mutex_lock(&q->lock);
    at = user_at(q, user);
    if (*at != NULL || q->spare == NULL) {
        (void)pthread_mutex_unlock(&q->lock);
        return false;
    }
    *at = u = q->spare;
    q->spare = u->next;
    u->next_user = u->next = NULL;
    u->place = ++q->version;
    u->lane = lane;
    memcpy(u->name, user, strlen(user) + 1);
    if (l->last != NULL)
        l->last->next = u;
    else
        l->first = u;
    l->last = u;
    *ret_place = l->came++ - l->went;
    (void)pthread_mutex_unlock(&q->lock);
    return true;
}

bool floor_queue_finish(struct floor_queue *q, unsigned agent, char user[FLOOR_NAME])
{
    struct floor_agent *a = &q->agents[agent];
    struct floor_lane *l;
    struct user *u, *best = NULL;

    (void)pthread_mutex_lock(&q->lock);
    q->version++;
    u = a->user;
    if (u != NULL) {
        *user_at(q, u->name) = u->next_user;
        u->next = q->spare;
        q->spare = u;
    }
    for (int i = 0; i < 2; i++) {
        u = q->lanes[a->lanes[i]].first;
        if (u != NULL && (best == NULL || u->place < best->place))
            best = u;
    }
    a->user = best;
    if (best != NULL) {
        l = &q->lanes[best->lane];
        l->first = best->next;
        if (l->first == NULL)
            l->last = NULL;
        l->went++;
        memcpy(user, best->name, sizeof best->name);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return best != NULL;
}

/* ---- room ------------------------------------------------------------------------- */

struct member {
    struct member *next_member; /* in its bucket */
    struct member *prev, *next; /* in the order of signs of life */
    int64_t seen_ms;
    char name[FLOOR_NAME];
};

struct floor_room {
    pthread_mutex_t lock;
    struct member **members, *first, *last, *all;
    size_t mask, n;
};

struct floor_room *floor_room_new(size_t n)
{
    struct floor_room *r = get(1, sizeof *r);
    size_t buckets = buckets_for(n);

    r->mask = buckets - 1;
    r->members = get(buckets, sizeof *r->members);
    r->all = get(n, sizeof *r->all);
    if (pthread_mutex_init(&r->lock, NULL) != 0)
        abort();
    return r;
}

void floor_room_free(struct floor_room *r)
{
    (void)pthread_mutex_destroy(&r->lock);
    free(r->members);
    free(r->all);
    free(r);
}

static struct member **member_at(const struct floor_room *r, const char *name)
{
    struct member **at = &r->members[XXH3_64bits(name, strlen(name)) & r->mask];

    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next_member;
    return at;
}

static void append(struct floor_room *r, struct member *m, int64_t now_ms)
{
    m->seen_ms = now_ms;
    m->next = NULL;
    m->prev = r->last;
    if (r->last != NULL)
        r->last->next = m;
    else
        r->first = m;
    r->last = m;
}

void floor_room_join(struct floor_room *r, const char *member, int64_t now_ms)
{
    struct member *m = &r->all[r->n++], **at = member_at(r, member);

    memcpy(m->name, member, strlen(member) + 1);
    *at = m;
    append(r, m, now_ms);
}

bool floor_room_alive(struct floor_room *r, const char *member, int64_t now_ms)
{
    struct member *m;

    (void)pthread_mutex_lock(&r->lock);
    m = *member_at(r, member);
    if (m != NULL && m != r->last) {
        m->next->prev = m->prev;
        if (m->prev != NULL)
            m->prev->next = m->next;
        else
            r->first = m->next;
        append(r, m, now_ms);
    } else if (m != NULL) {
        m->seen_ms = now_ms;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return m != NULL;
}
