/* SPDX-License-Identifier: MIT */
/*
 * A wrapper of the authority of an engine.  A call marks the thread as inside of the engine, so
 * that code that uses its own engine gets an error instead of waiting for itself.  The history has
 * the same: nouns/queue/queue_history.c.
 */
#ifndef USHER_ENGINE_CALLOUT_H
#define USHER_ENGINE_CALLOUT_H

#include <usher/store/authority.h>

struct usher_engine;

struct usher__authority_callout {
    struct usher_authority base; /* first member: the engine has a pointer to it */
    struct usher_authority_ops ops;
    struct usher_authority *own;
    struct usher_engine *e;
};

/* Wrap @own, which is the application's, or the URL's, and not NULL.  The result has the same
 * functions as @own. */
struct usher_authority *usher__authority_callout(struct usher__authority_callout *callout,
                                                 struct usher_engine *e,
                                                 struct usher_authority *own);

#endif
