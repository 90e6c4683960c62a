/* SPDX-License-Identifier: MIT */
/* Watchers whose notices are collected as events: their part of `struct usher__post`. */
#ifndef USHER_ENGINE_HEAR_H
#define USHER_ENGINE_HEAR_H

#include "engine/post.h"

/* What one watcher has heard and was not told yet. */
struct usher__heard;

/* How it hears. */
struct usher__hearing {
    enum usher_noun noun; /* 0: any */
    const char *scope;    /* NULL: any */
    unsigned flags;       /* enum usher_watch_flag */
    uint64_t since;       /* with USHER_WATCH_SINCE */
    int64_t under_way_ms; /* no command that was begun before takes longer */
    void *tag;
};

/* One that hears nothing yet.  NULL: no memory. */
struct usher__heard *usher__heard_new(struct usher__post *p, const struct usher__hearing *how);
/* It is told of what happens from now on: one that follows a log reads it. */
void usher__heard_begin(struct usher__heard *h);
/* None of its events is collected from now on.  A thread that reads its log goes on with that. */
void usher__heard_remove(struct usher__heard *h);

/* It hears @n, which is durable.  The callers come one after the other. */
void usher__heard_notice(struct usher__heard *h, const struct usher_notice *n);
/* Changes of its scope are published to it (store.h). */
void usher__heard_published(struct usher__heard *h, enum usher_listen_event event,
                            uint64_t version);
/* There may be changes of @n's scope that nobody could tell it of; without one, of any: of a
 * watcher of one scope, of that. */
void usher__heard_doubt(struct usher__heard *h, const struct usher_notice *n);

/* ---- by post.c, with the lock of @p -------------------------------------------------------- */

/* Is there a log to be read in @l, and room for what comes of it? */
bool usher__heard_can_read(const struct usher__post *p, const struct usher__post_lane *l);
/* Do those that are read next not have to be waited for (flight.h)? */
bool usher__heards_fly(const struct usher_engine *e, const struct usher__post_lane *l);
/* Read some.  Others have the lock meanwhile. */
void usher__heards_read(struct usher_engine *e, struct usher__post *p, struct usher__post_lane *l);
/* The same without waiting, where `room changes` flies (flight.h), as with the door; go_on without
 * the lock.  NULL: no memory, and they are read later. */
struct usher__reading;
struct usher_wait;
struct usher__reading *usher__reading_begin(struct usher_engine *e, struct usher__post *p,
                                            struct usher__post_lane *l);
bool usher__reading_go_on(struct usher__reading *r, struct usher_wait *ret_wait);
void usher__reading_end(struct usher__reading *r, bool over);
/* Its commands, which stay as they are. */
size_t usher__reading_size(const struct usher__reading *r);
const struct usher_operation *usher__reading_at(const struct usher__reading *r, size_t i);
/* No watcher has to do anything by itself before. */
int64_t usher__heards_ms(const struct usher__post *p);
/* What is to be done by @now_ms. */
void usher__heards_look(struct usher__post *p, int64_t now_ms);
/* @node, a notice or a gap, was taken out of what is ready. */
void usher__heard_taken(struct usher__post *p, const struct usher__node *node);
/* Free all watchers: at the end. */
void usher__heards_drop(struct usher__post *p);

/* ---- */

/* usher_event_done() of a notice or a gap. */
void usher__heard_done(const struct usher_event *event);

#endif
