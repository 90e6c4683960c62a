/* SPDX-License-Identifier: MIT */
/* A pipeline of tasks to one server, without waiting. */
#ifndef USHER_REDIS_PIPELINE_H
#define USHER_REDIS_PIPELINE_H

#include "store.h"

#define USHER__REDIS_TASKS_MAX 512

/* The calls that are sent, and their answers so far. */
struct usher__redis_calls {
    struct usher_task *tasks;
    size_t n, left, calls;
    const struct usher_context *context;
    /* The call and the request whose answer is read next; `lost` is not OK if no answer can come.
     */
    size_t at, request;
    enum usher_status lost;
    bool asked;                /* the answer to ASKING was read */
    struct redisReply *asking; /* this answer */
    /* For each task: it is answered; it was once sent without an answer. */
    bool done[USHER__REDIS_TASKS_MAX], doubt[USHER__REDIS_TASKS_MAX];
    /* Tasks on one scope are sent as one call of its script: next[] links them.  first[k] is the
     * first task of call number k; ASKING is sent before it if asks[k] is set. */
    uint16_t next[USHER__REDIS_TASKS_MAX], first[USHER__REDIS_TASKS_MAX];
    bool asks[USHER__REDIS_TASKS_MAX];
    /* Nouns for which a call contains the text of the script, and the number of that call; nouns
     * whose text the server refused, and the reason. */
    unsigned texts, refused;
    uint16_t carrier[USHER__REDIS_NOUNS];
    char refusal[USHER__REDIS_MESSAGE_SIZE];
    bool own_clock; /* the calls contain the time of this machine's clock */
    bool at_once;   /* the next try differs because of an answer: no pause before it */
};

struct usher__redis_pipeline {
    struct usher__redis *r;
    enum { USHER__REDIS_PREPARING, USHER__REDIS_READING, USHER__REDIS_PAUSING } stage;
    unsigned tries;
    size_t before; /* open tasks when this try was sent */
    bool late;     /* the deadline had already passed before */
    int64_t until_ms;
    enum usher_status status;            /* of the connection in the last try */
    char why[USHER__REDIS_MESSAGE_SIZE]; /* the last failure before the deadline */
    struct usher__redis_calls b;
};

/* Begin to execute @n tasks (at most TASKS_MAX) by @r, which belongs to the caller.  All arguments
 * must outlive it. */
void usher__redis_pipeline_begin(struct usher__redis_pipeline *t, struct usher__redis *r,
                                 struct usher_task *tasks, size_t n,
                                 const struct usher_context *context);
/* Continue.  Return true if all tasks are answered, false to wait for *@ret. */
bool usher__redis_pipeline_continue(struct usher__redis_pipeline *t, struct usher_wait *ret);
/* Stop; later answers are discarded. */
void usher__redis_pipeline_release(struct usher__redis_pipeline *t);

#endif
