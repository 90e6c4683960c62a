/* SPDX-License-Identifier: MIT */
/* Replies, of which a program reads values, made of results; and what a program sees in an answer
 * besides what the tables of the core name. */
#ifndef USHER_ENGINE_REPLY_H
#define USHER_ENGINE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/operation.h>

#include "engine/nouns.h"

/* The @i-th field of an answer to @verb, or of its rows, that is in no table; 0: no more. */
uint32_t usher__seen_more(uint32_t verb, bool rows, size_t i);

/* @n empty replies in one block; each is given back with usher_reply_done().  NULL: no memory. */
struct usher_reply *usher__replies_new(const struct usher_allocator *alloc, size_t n);
/* All of them are given back, with nothing in them. */
void usher__replies_undo(struct usher_reply *first);
/* Number @i of them. */
struct usher_reply *usher__reply_at(struct usher_reply *first, size_t i);

/* @to, which is empty, is the answer @r to @op. */
void usher__reply_leave(struct usher_reply *to, const struct usher_operation *op,
                        const struct usher_result *r);

/* @reply, which is empty: @command was not applied.  @message is static. */
void usher__reply_refuse(struct usher_reply *reply, const struct usher_command *command,
                         const char *message);

/* What is listed of a whole store: no command of one scope. */
struct usher__listing {
    uint32_t verb; /* its fields and rows are read as those of this one */
    size_t n;
    bool more;
    void (*say)(usher__put *put, void *to, const struct usher_result *r); /* where to go on */
    void (*say_row)(usher__put *put, void *to, const struct usher_result *r, size_t i);
};
/* NULL: no memory. */
struct usher_reply *usher__reply_of_list(const struct usher_allocator *alloc,
                                         const struct usher_result *r,
                                         const struct usher__listing *list);

/* What of the command belongs to the answer as it is told: the echoes of core/NOUN_verbs.def, WAIT,
 * and the name of the scope if there are rows with notices. */
const struct usher_value *usher__reply_asked(const struct usher_reply *reply, size_t *ret_n);
#define USHER__ECHO_SCOPE 0 /* as a field */

/* What is said of a command that was done, when there is no memory for its answer. */
extern const char usher__not_kept[];

#endif
