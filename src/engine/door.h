/* SPDX-License-Identifier: MIT */
/* What a program sees in an answer besides what the tables of the core name, and what posted
 * commands share with those that are executed. */
#ifndef USHER_ENGINE_DOOR_H
#define USHER_ENGINE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>

/* The @i-th field of an answer to @verb, or of its rows, that is in no table; 0: no more. */
uint32_t usher__seen_more(uint32_t verb, bool rows, size_t i);

/* @n empty replies in one block; each is given back with usher_reply_done().  NULL: no memory. */
struct usher_reply *usher__replies_new(const struct usher_allocator *alloc, size_t n);
/* Number @i of them. */
struct usher_reply *usher__reply_at(struct usher_reply *first, size_t i);

/* @reply, which is empty: @command was not applied.  @message is static. */
void usher__reply_refuse(struct usher_reply *reply, const struct usher_command *command,
                         const char *message);

/* What of the command belongs to the answer as it is told: the echoes of core/NOUN_verbs.def, WAIT,
 * and the name of the scope if there are rows of a room. */
const struct usher_value *usher__reply_asked(const struct usher_reply *reply, size_t *ret_n);
#define USHER__ECHO_SCOPE 0 /* as a field */

/* A command, and the empty reply that becomes its answer. */
struct usher__entry {
    const struct usher_command *command;
    struct usher_reply *reply;
};

/* usher_execute() of @n commands within @timeout_ms, which is not 0.  Without memory for all of
 * them it executes them one by one: each has its answer. */
void usher__door_execute(struct usher_engine *e, const struct usher__entry *entries, size_t n,
                         int64_t timeout_ms);

/* What a call hears: the head of a reply, the values of its answer and, if it has one row only,
 * those of that; all are gone when it returns. */
typedef void usher__told_fn(void *payload, const struct usher_reply *reply,
                            const struct usher_value *values, size_t n,
                            const struct usher_value *row, size_t n_row);

/* Execute one command and tell @told of the answer; nothing is allocated for it but what is large.
 * With @told NULL it is told to @failed, if it is not done; who is told may be told that it is not
 * known any more.  USHER_OK: it was executed, with *@ret_status; USHER_INVALID: the call itself, as
 * usher_message() says.  @e is checked by the caller. */
enum usher_status usher__door_ask(struct usher_engine *e, const struct usher_command *command,
                                  int64_t timeout_ms, usher__told_fn *told, usher__told_fn *failed,
                                  void *payload, enum usher_status *ret_status);

#endif
