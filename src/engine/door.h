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

/* What hears of the answer to one command: its head, then each value of the answer and, if it has
 * one row only, of that, then its head again.  All are gone when these return; texts have no NUL
 * behind them. */
struct usher__listener {
    bool wants; /* of what is done, too; else only of what is not */
    void (*begin)(void *payload, const struct usher_reply *reply);
    void (*value)(void *payload, const struct usher_value *value);
    void (*end)(void *payload, const struct usher_reply *reply);
    void *payload;
};

/* Execute one command and tell @listener of the answer; nothing is allocated for it.  USHER_OK: it
 * was executed, with *@ret_status; USHER_INVALID: the call itself, as usher_message() says.  @e is
 * checked by the caller. */
enum usher_status usher__door_ask(struct usher_engine *e, const struct usher_command *command,
                                  int64_t timeout_ms, const struct usher__listener *listener,
                                  enum usher_status *ret_status);

#endif
