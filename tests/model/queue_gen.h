/* SPDX-License-Identifier: MIT */
/*
 * queue_gen -- seeded queue commands for tests: see gen.h.
 *
 * Rooms, tokens and the two sides of an offer are given by what they mean, and resolved
 * against the model as it is when the command is executed.
 */
#ifndef USHER_TESTS_QUEUE_GEN_H
#define USHER_TESTS_QUEUE_GEN_H

#include <usher/store/operation.h>

#include "model/gen.h"
#include "model/queue_model.h"

struct queue_gen_command {
    struct usher_operation c;
    struct usher_text of; /* a user: the room that it is in, the agent */
    bool version_of;      /* if_version is to be added to the version of the queue */
    bool room_of, agent_of;
    bool token_of;  /* token is to be added to that of what the command is about */
    bool elsewhere; /* the room is one of another queue */
    char text[USHER_NAME_MAX + 1];
};

struct queue_gen;

struct queue_gen *queue_gen_open(uint64_t seed);
void queue_gen_close(struct queue_gen *g);
const char *queue_gen_about(const struct queue_gen *g); /* one line */

void queue_gen_next(struct queue_gen *g, struct queue_gen_command *ret);
/* Texts of what is returned may lie in @q. */
struct usher_operation queue_gen_resolve(struct queue_gen_command *q, const struct queue_model *m);

/* What looks at a queue behind a walk: see lockstep.h. */
bool queue_gen_last_look(const struct queue_gen *g, unsigned queue, unsigned i,
                         struct usher_operation *ret);

/* The scopes that there may be. */
unsigned queue_gen_queues(const struct queue_gen *g);
const char *queue_gen_queue(const struct queue_gen *g, unsigned i);

#endif
