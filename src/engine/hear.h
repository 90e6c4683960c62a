/* SPDX-License-Identifier: MIT */
/* Watchers whose notices are collected as events: their part of `struct usher__post`. */
#ifndef USHER_ENGINE_HEAR_H
#define USHER_ENGINE_HEAR_H

#include "engine/post.h"

/* A watcher, with the notices that were not collected yet. */
struct usher__heard;

/* The parameters of a watcher. */
struct usher__hearing {
    enum usher_noun noun; /* 0: any */
    const char *scope;    /* NULL: any */
    unsigned flags;       /* enum usher_watch_flag */
    uint64_t since;       /* with USHER_WATCH_SINCE */
    int64_t under_way_ms; /* the longest time of a command that was begun before */
    void *tag;
};

/* Create a watcher that gets no notices yet.  Return NULL if there is no memory. */
struct usher__heard *usher__heard_new(struct usher__post *p, const struct usher__hearing *how);
/* Let it get notices from now on: one that follows a log reads the log. */
void usher__heard_begin(struct usher__heard *h);
/* Remove it and its events.  A thread that reads its log continues with that. */
void usher__heard_remove(struct usher__heard *h);

/* Give it @n, which is durable.  The calls come one after the other. */
void usher__heard_notice(struct usher__heard *h, const struct usher_notice *n);
/* Changes of its scope are published to it (store.h). */
void usher__heard_published(struct usher__heard *h, enum usher_listen_event event,
                            uint64_t version);
/* Report that there may be changes of @n's scope without notices, or, if @n has no scope, of any
 * scope; for a watcher of one scope, of that scope. */
void usher__heard_doubt(struct usher__heard *h, const struct usher_notice *n);

/* ---- by post.c, with the lock of @p -------------------------------------------------------- */

/* Return whether a log of @l has to be read, and there is space for its notices. */
bool usher__heard_can_read(const struct usher__post *p, const struct usher__post_lane *l);
/* Return whether the next readings can be asynchronous (flight.h). */
bool usher__heards_fly(const struct usher_engine *e, const struct usher__post_lane *l);
/* Read some logs.  The lock is released during that. */
void usher__heards_read(struct usher_engine *e, struct usher__post *p, struct usher__post_lane *l);
/* The same without waiting, if `room changes` can be asynchronous (flight.h), as in door.h; call
 * go_on without the lock.  Return NULL if there is no memory: the logs are read later. */
struct usher__reading;
struct usher_wait;
struct usher__reading *usher__reading_begin(struct usher_engine *e, struct usher__post *p,
                                            struct usher__post_lane *l);
bool usher__reading_go_on(struct usher__reading *r, struct usher_wait *ret_wait);
void usher__reading_end(struct usher__reading *r, bool over);
/* Its commands, which do not change. */
size_t usher__reading_size(const struct usher__reading *r);
const struct usher_operation *usher__reading_at(const struct usher__reading *r, size_t i);
/* Return the earliest time at which a watcher has to do something. */
int64_t usher__heards_ms(const struct usher__post *p);
/* Do what is due at @now_ms. */
void usher__heards_look(struct usher__post *p, int64_t now_ms);
/* @node, a notice or a gap, was removed from the ready events. */
void usher__heard_taken(struct usher__post *p, const struct usher__node *node);
/* Free all watchers, at the end. */
void usher__heards_drop(struct usher__post *p);

/* ---- */

/* usher_event_done() for a notice or a gap. */
void usher__heard_done(const struct usher_event *event);

#endif
