/* SPDX-License-Identifier: MIT */
/* The parts of watchers with events that logs and gaps, sweeps and the events themselves share. */
#ifndef USHER_ENGINE_HEAR_PARTS_H
#define USHER_ENGINE_HEAR_PARTS_H

#include "engine/engine.h"
#include "engine/hear.h"
#include "engine/timers.h"

#define RETRY_MS 100 /* there was no memory, or no answer */
#define LOOK_MS 2000 /* interval of reading the clock: it may be set, and the machine may sleep */

/* Time until the next sweep, if the store answers that nothing is due yet.  It is doubled with each
 * such answer, because the clock of the store may be much slower. */
#define EARLY_MS 3

/* The position of a follower in the history of its scope. */
struct place {
    uint64_t epoch;   /* 0: no scope, or one that is not known yet */
    uint64_t version; /* of the last notice that was appended */
    uint64_t mark;    /* at this version; 0: not known */
};

struct usher__heard {
    struct usher__timer due; /* first member; the time is look_ms or tend_ms */
    struct usher__post *p;
    struct usher__heard *then[2];  /* in `behind`, in `gaps` */
    struct usher__post_lane *lane; /* with `listed`: whose `behind` */
    void *tag;
    enum usher_noun noun;

    /* the pending gap, with `missed` */
    bool missed; /* it is in `gaps` */
    struct usher_notice gap;
    struct told *spare; /* for the next gap; NULL: has to be allocated */

    /* with `follows` */
    bool follows;
    bool current; /* all known notices were appended */
    bool listed;  /* in `behind` */
    bool reading; /* its log is being read */
    bool dead;    /* removed during that */
    bool closing; /* the last notice was that its room is being closed */
    bool newer;   /* a notice after `place` came while its log was read: `newest` */
    bool ahead;   /* notices were appended while it was read: the answer is older than `place` */
    struct place place, newest;
    bool may_listen;    /* the store can publish its changes */
    bool listens;       /* it is a follower of the store's listener */
    bool subscribed;    /* changes are published to it now */
    uint64_t published; /* the last published version of this subscription */
    int64_t every_ms;   /* interval of reading the log; 0: never */
    int64_t first_ms;   /* from the first reading to the second one; 0: that was done */
    int64_t look_ms;    /* time to read the log */

    /* with `tends` */
    bool tends;
    bool sweeps;     /* its scope has to be swept */
    bool sweeping;   /* `reading` is a sweep */
    int64_t tend_ms; /* time of the next sweep, if something is due then */
    int64_t due_ms;  /* by the wall clock; 0: at tend_ms */
    int64_t early_ms;
    int64_t ahead_ms; /* how far the store's clock is ahead of the engine's */
    uint64_t told;    /* version of the newest notice from which `tend_ms` may be */

    size_t scope_size;
    char scope[USHER_NAME_MAX];
    char gap_scope[USHER_NAME_MAX];
};

static inline struct usher__heard *heard_of(struct usher__timer *due)
{
    return (struct usher__heard *)(uintptr_t)due;
}

/* An event. */
struct told {
    struct usher__node node; /* first member */
    struct usher__heard *of; /* alive while this is in a list */
    const struct usher_allocator *alloc;
    size_t size;
    struct usher_notice notice;
    char text[];
};

static inline struct told *told_of(const struct usher__node *node)
{
    return (struct told *)(uintptr_t)node;
}

static inline void set_due(struct usher__heard *h)
{
    usher__timers_set(&h->p->heards, &h->due, h->look_ms < h->tend_ms ? h->look_ms : h->tend_ms);
}

/* Read the log at @ms; INT64_MAX: never. */
static inline void look_at(struct usher__heard *h, int64_t ms)
{
    h->look_ms = ms;
    set_due(h);
}

static inline void tend_at(struct usher__heard *h, int64_t ms)
{
    h->tend_ms = ms;
    set_due(h);
}

/* ---- logs ---- */

/* List @h as one with a command to execute. */
void usher__heard_list(struct usher__heard *h);

/* ---- events ---- */

void usher__told_free(struct told *t);
/* Append an event with @n for @h.  Return false if there is no space or no memory. */
bool usher__heard_append(struct usher__heard *h, const struct usher_notice *n);
/* Allocate a gap with space for the name of any scope. */
struct told *usher__heard_gap_new(struct usher__heard *h);
/* Append an event with @gap for @h.  Return false if there is no memory. */
bool usher__heard_append_gap(struct usher__heard *h, const struct usher_notice *gap);

/* ---- sweeps ---- */

/* Return the time of the store's clock, as far as it is known. */
int64_t usher__heard_store_ms(const struct usher__heard *h);
/* Set the store's clock from an answer to a command of the engine's own; 0: it failed.  The time of
 * a notice cannot be used, because the command of the change may have had another time (now=). */
void usher__heard_set_clock(struct usher__heard *h, int64_t now_ms);
/* Sweep in @ms, whether something is due or not. */
void usher__heard_sweep_in(struct usher__heard *h, int64_t ms);
/* Forget the time: the next sweep depends on later notices and answers. */
void usher__heard_tend_not(struct usher__heard *h);
/* Sweep at @due_ms (0: not known), before which nothing is due, but not before @least_ms from
 * now. */
void usher__heard_tend(struct usher__heard *h, int64_t due_ms, int64_t least_ms);
void usher__heard_swept(struct usher__heard *h, const struct usher_result *r);
void usher__heard_sweep_command(struct usher__heard *h, struct usher_operation *c);

#endif
