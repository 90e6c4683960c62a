/* SPDX-License-Identifier: MIT */
/* Conversion of results to replies, of which a program reads values; and the values of an answer
 * that are not in the tables of the core. */
#ifndef USHER_ENCODE_REPLY_H
#define USHER_ENCODE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "change/hooks.h"

/* Return the @i-th field of an answer to @verb, or of its rows, that is in no table; 0: no more. */
uint32_t usher__result_extra(uint32_t verb, bool rows, size_t i);

/* Allocate @n empty replies in one block; each is freed with usher_reply_done().  NULL: no
 * memory. */
struct usher_reply *usher__replies_new(const struct usher_allocator *alloc, size_t n);
/* Free all of them, which are empty. */
void usher__replies_undo(struct usher_reply *first);
/* Return number @i of them. */
struct usher_reply *usher__reply_at(struct usher_reply *first, size_t i);

/* Fill @to, which is empty, with the answer @r to @op. */
void usher__reply_leave(struct usher_reply *to, const struct usher_operation *op,
                        const struct usher_result *r);

/* Fill @reply, which is empty: @command was not applied.  @message is static. */
void usher__reply_refuse(struct usher_reply *reply, const struct usher_command *command,
                         const char *message);

/* A list of a whole store, which is no answer to a command on one scope. */
struct usher__listing {
    uint32_t verb; /* its fields and rows are those of this verb */
    size_t n;
    bool more;
    void (*say)(usher__put *put, void *to, const struct usher_result *r); /* the next position */
    void (*say_row)(usher__put *put, void *to, const struct usher_result *r, size_t i);
};
/* Return NULL if there is no memory. */
struct usher_reply *usher__reply_of_list(const struct usher_allocator *alloc,
                                         const struct usher_result *r,
                                         const struct usher__listing *list);

/* Return the values of the command that belong to the answer: the echoes of core/NOUN_verbs.def,
 * WAIT, and the name of the scope if there are rows with notices. */
const struct usher_value *usher__reply_asked(const struct usher_reply *reply, size_t *ret_n);
#define USHER__ECHO_SCOPE 0 /* as a field */

/* The message for a command that was done, if there is no memory for its answer. */
extern const char usher__not_kept[];

#endif
