/* SPDX-License-Identifier: MIT */
/* The state of a thread: the message of its last call, and the engines whose callouts it runs. */
#ifndef USHER_CHANGE_THREAD_H
#define USHER_CHANGE_THREAD_H

#include <stdbool.h>

struct usher_engine;

#define USHER__MESSAGE_SIZE 256 /* of usher_message() */

/* The code that a thread runs: a store, a hook, an authority or a history of an engine, which must
 * not call that engine. */
struct usher__inside {
    const struct usher_engine *e;
    struct usher__inside *outer;
    struct usher__thread *thread;      /* the thread that runs it */
    char message[USHER__MESSAGE_SIZE]; /* the message of the call so far */
};

/* No thread reads the state of another. */
struct usher__thread {
    struct usher__inside *inside;      /* innermost first */
    char message[USHER__MESSAGE_SIZE]; /* what usher_message() returns */
};
extern _Thread_local struct usher__thread usher__this_thread;

/* Set what usher_message() returns in this thread. */
void usher__message_clear(void);
void usher__message_set(const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* Around each call out of the engine.  Calls in between do not change usher_message() of the call
 * that is under way. */
void usher__callout_begin(struct usher__inside *here, const struct usher_engine *e);
void usher__callout_end(const struct usher__inside *here);

/* Return whether @t runs a callout of @e. */
bool usher__is_inside(const struct usher__thread *t, const struct usher_engine *e);

#endif
