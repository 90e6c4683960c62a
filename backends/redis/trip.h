/* SPDX-License-Identifier: MIT */
/* Tasks on their way to one server and back, without waiting. */
#ifndef USHER_REDIS_TRIP_H
#define USHER_REDIS_TRIP_H

#include "store.h"

#define USHER__REDIS_TASKS_MAX 512

/* The calls that are sent, and their answers so far. */
struct usher__redis_calls {
    struct usher_task *tasks;
    size_t n, left, calls;
    const struct usher_context *context;
    /* The answer that is read next: to which call, which request; `lost`, not OK: none comes. */
    size_t at, request;
    enum usher_status lost;
    bool asked;                /* the one to ASKING was read: */
    struct redisReply *asking; /* it */
    /* For each task: is it answered; was it ever sent and not answered? */
    bool done[USHER__REDIS_TASKS_MAX], doubt[USHER__REDIS_TASKS_MAX];
    /* Tasks on one scope are sent as one call of its script: each names the next one, and the
     * last none.  first[k] begins the call of number k, before which asks[k] has ASKING sent. */
    uint16_t next[USHER__REDIS_TASKS_MAX], first[USHER__REDIS_TASKS_MAX];
    bool asks[USHER__REDIS_TASKS_MAX];
    /* Nouns for which a call carries the text of the script, and which call that is; nouns whose
     * text the server refused, and why. */
    unsigned texts, refused;
    uint16_t carrier[USHER__REDIS_NOUNS];
    char refusal[USHER__REDIS_MESSAGE_SIZE];
    bool own_clock; /* its calls have the time of this machine's clock */
    bool at_once;   /* an answer says how the next try differs: no pause before it */
};

struct usher__redis_trip {
    struct usher__redis *r;
    enum { USHER__REDIS_PREPARING, USHER__REDIS_READING, USHER__REDIS_PAUSING } stage;
    unsigned tries;
    size_t before; /* what was left when this try was sent */
    bool late;     /* the deadline was over before */
    int64_t until_ms;
    enum usher_status status;            /* of the last try: that of the connection */
    char why[USHER__REDIS_MESSAGE_SIZE]; /* what happened before time ran out */
    struct usher__redis_calls b;
};

/* @n tasks, TASKS_MAX at most, by @r, which is the caller's.  All of them live until it is over. */
void usher__redis_trip_begin(struct usher__redis_trip *t, struct usher__redis *r,
                             struct usher_task *tasks, size_t n,
                             const struct usher_context *context);
/* Go on.  true: all is answered; false: it waits for *@ret. */
bool usher__redis_trip_go_on(struct usher__redis_trip *t, struct usher_wait *ret);
/* Give it up: its answers are thrown away. */
void usher__redis_trip_leave(struct usher__redis_trip *t);

#endif
