/* SPDX-License-Identifier: MIT */
/* The state of ids that a process hands out itself (ids.c), and of their sub-ranges (local.c). */
#ifndef USHER_IDS_INNER_H
#define USHER_IDS_INNER_H

#include <pthread.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine.h"
#include "ids/dispenser.h"

#define MAGIC UINT32_C(0x75696473)
#define NONE UINT64_MAX
#define SCRAPS 64
#define PAST 8
#define BUCKETS 64
struct span {
    uint64_t first, end; /* end: first + n * by; equal: none */
};

struct inner {
    uint32_t magic;
    size_t page, size; /* of the mapping */
    bool wiped;        /* in a child; else nothing is published */
    pid_t pid;
    pthread_mutex_t lock;
    pthread_cond_t came, wanted;
    struct usher_ids_manager manager;
    struct usher__ids_dispenser dispenser; /* the manager, or unused */

    int64_t step, step_least, step_max, life_ms, timeout_ms;
    unsigned share;
    uint64_t chunk, by;
    bool background;

    struct span now;        /* the segment in use */
    struct span past[PAST]; /* the ones before it, as a ring */
    unsigned n_past;
    struct usher_id_range spare; /* the next one; n 0: none */
    uint64_t token, range_epoch; /* of the segment in use */
    uint64_t mark, published;
    uint64_t top;     /* above all ids of this process */
    uint64_t skipped; /* of the segment in use */
    struct span scraps[SCRAPS];
    unsigned n_scraps;

    bool refilling, asked, stopped;
    unsigned refillers; /* threads that wait in usher_ids_refill() */
    int64_t want;       /* ids that one call needs at once */
    int64_t pause_ms, try_ns;
    enum usher_status failure; /* OK: the last request was granted */
    char why[192];

    int64_t began_ns;
    uint64_t spent, lost, segments, failures, waits, waited_ns, longest_ns;
    int64_t segment_ms;
    double rate;
    uint64_t buckets[BUCKETS]; /* calls that came here, by log2 of their ns */
};

/* At the start of a mapping; inner is one page after it. */
struct usher_ids {
    struct usher_ids_head head;
    size_t page; /* 0: wiped, this is a child */
};

struct usher_ids_local {
    struct usher_ids_local_head head;
    struct usher_ids *ids; /* NULL: wiped */
};

static inline int64_t now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static inline size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static inline enum usher_status wrong(const char *message)
{
    usher__message_set("ids: %s", message);
    return USHER_INVALID;
}

static inline struct inner *inner_of(struct usher_ids *ids)
{
    return (struct inner *)(void *)((char *)ids + page_size());
}

/* NULL with a message: closed, or of the parent. */
static inline struct inner *enter(struct usher_ids *ids)
{
    struct inner *p;

    if (ids == NULL) {
        (void)wrong("ids is NULL");
        return NULL;
    }
    p = inner_of(ids);
    if (p->magic != MAGIC || (p->wiped ? ids->page == 0 : p->pid != getpid())) {
        (void)wrong("ids were opened before a fork, or are closed: open them in the child");
        return NULL;
    }
    return p;
}

static inline uint64_t counter(struct usher_ids *ids)
{
    return __atomic_load_n(&ids->head.next, __ATOMIC_RELAXED);
}

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline bool counter_move(struct usher_ids *ids, uint64_t *from, uint64_t to)
{
    return __atomic_compare_exchange_n(&ids->head.next, from, to, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static inline bool within(const struct span *s, uint64_t id, uint64_t by)
{
    return id >= s->first && id < s->end && (id - s->first) % by == 0;
}

struct call {
    uint64_t taken; /* by addition, or NONE */
    uint64_t n;
    bool exact; /* not fewer */
    int64_t deadline_ns;
    struct span got;
    bool waited;
};

/* Serve a call that addition did not serve. */
enum usher_status usher__ids_run(struct usher_ids *ids, struct inner *p, struct call *c,
                                 int64_t timeout_ms);

/* Map @size bytes.  *@ret_wiped: the first @wiped of them are zeros in the child of a fork. */
void *usher__ids_map(size_t size, size_t wiped, bool *ret_wiped);

#endif
