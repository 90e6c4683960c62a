/* SPDX-License-Identifier: MIT */
/* The parts of posted commands that post.c and the files post_*.c share. */
#ifndef USHER_ENGINE_POST_PARTS_H
#define USHER_ENGINE_POST_PARTS_H

#include <usher/command.h>

#include <stdatomic.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/post.h"

#ifdef HAVE_SYS_EPOLL_H
#define HAS_LOOP true
#else
#define HAS_LOOP false /* a thread that collects waits for the store */
#endif

/* A waiting thread checks again after this time: another thread may have begun something and left
 * it, so that no thread drives it. */
#define HELP_MS 500

/* The commands of one call; they, their values and their texts follow. */
struct parcel {
    const struct usher_allocator *alloc;
    atomic_size_t left; /* events that were not freed */
    size_t size;        /* of the block */
    int64_t deadline_ms;
};

struct posted {
    struct usher__node node; /* first member */
    unsigned home;           /* index in usher__post.homes, with lanes */
    struct parcel *of;
    struct usher_reply *reply; /* of the event */
    struct usher_command command;
};

/* Remove and return the first one of @l, which is not empty. */
static inline struct usher__node *take(struct usher__nodes *l)
{
    struct usher__node *node = l->first;

    USHER_ASSERT(node != NULL);
    l->first = node->next;
    if (l->first == NULL)
        l->last = NULL;
    return node;
}

/* Return the command whose first member is @node. */
static inline struct posted *posted_of(struct usher__node *node)
{
    return (struct posted *)(void *)node;
}

static inline void append_all(struct usher__nodes *to, const struct usher__nodes *from)
{
    if (from->first == NULL)
        return;
    if (to->last != NULL)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
}

static inline bool is_under_way(const struct usher__post_lane *l)
{
    return l->crossing != NULL || l->reading != NULL;
}

static inline size_t text_size(int32_t size, const char *text)
{
    size_t n = 0;

    if (text != NULL && size >= 0)
        n = (size_t)size;
    else if (text != NULL && size == USHER_TO_NUL)
        n = strlen(text);
    return n < INT32_MAX ? n : INT32_MAX; /* no text may be that long */
}

/* ---- post.c ---- */

/* Advance what is under way in @l, which no thread drives, as far as possible without waiting. With
 * the lock, which is released during that. */
void usher__post_go_on(struct usher__post *p, struct usher__post_lane *l);
/* Return the time that is left until @until_ms, for poll(). */
int usher__post_ms_until(int64_t until_ms);

/* ---- post_block.c ---- */

/* Copy @n commands of a call.  NULL: no memory. */
struct parcel *usher__parcel_new(const struct usher_allocator *alloc,
                                 const struct usher_command *commands, size_t n);

/* ---- post_descriptors.c ---- */

int usher__descriptor_open(void);
/* Open a descriptor that is readable while @fd or another added one is.  Return -1 on failure. */
int usher__descriptor_loop(int fd);
/* Add @wait of something under way to the loop, or remove it when a thread drives that.  A socket
 * must not be in the loop when it is closed, because a child of fork() may still have it open.
 * Return false if it cannot be added.  With the lock. */
bool usher__descriptor_loop_set(const struct usher__post *p, const struct usher_wait *wait,
                                bool waits);
void usher__descriptors_close(struct usher__post *p);
/* Make it readable.  Safe in a signal handler. */
void usher__descriptor_raise(int fd);
void usher__descriptor_lower(int fd);
void usher__descriptor_set(struct usher__post *p, enum usher__descriptor d, bool up);

#endif
