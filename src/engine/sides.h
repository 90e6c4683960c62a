/* SPDX-License-Identifier: MIT */
/*
 * The authority and the history of an engine, as the engine calls them: each call is from inside
 * of it, so that one that uses its engine is told so instead of waiting for itself.
 */
#ifndef USHER_ENGINE_SIDES_H
#define USHER_ENGINE_SIDES_H

#include <usher/authority.h>
#include <usher/history.h>

struct usher_engine;

struct usher__authority_side {
    struct usher_authority base; /* first: this is what the engine has */
    struct usher_authority_ops ops;
    struct usher_authority *own;
    struct usher_engine *e;
};

struct usher__history_side {
    struct usher_history base;
    struct usher_history_ops ops;
    struct usher_history *own;
    struct usher_engine *e;
};

/* @own is the application's, or the URL's, and not NULL.  What @own cannot do, the result cannot.
 */
struct usher_authority *usher__authority_side(struct usher__authority_side *side,
                                              struct usher_engine *e, struct usher_authority *own);
struct usher_history *usher__history_side(struct usher__history_side *side, struct usher_engine *e,
                                          struct usher_history *own);

#endif
