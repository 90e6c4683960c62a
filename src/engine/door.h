/* SPDX-License-Identifier: MIT */
/* Execution of commands given as values, for calls and for posted commands. */
#ifndef USHER_ENGINE_DOOR_H
#define USHER_ENGINE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>

struct usher_wait;

/* A command, and the empty reply that becomes its answer. */
struct usher__entry {
    const struct usher_command *command;
    struct usher_reply *reply;
};

/* usher_execute() of @n commands within @timeout_ms, which is not 0.  If there is no memory for all
 * of them, it executes them one by one, and each has its answer. */
void usher__door_execute(struct usher_engine *e, const struct usher__entry *entries, size_t n,
                         int64_t timeout_ms);

/*
 * The same without waiting, for commands that can be asynchronous (flight.h).  @entries are copied,
 * but not what they point to.  begin: NULL if there is no memory; then nothing is done.  go_on:
 * true if all are done; false: call it again when *@ret_wait has come.  end: with @over the replies
 * are complete; without it the commands that were sent may be done or not, and there are no
 * replies.
 */
struct usher__crossing;
struct usher__crossing *usher__door_begin(struct usher_engine *e,
                                          const struct usher__entry *entries, size_t n,
                                          int64_t timeout_ms);
bool usher__door_go_on(struct usher__crossing *c, struct usher_wait *ret_wait);
void usher__door_end(struct usher__crossing *c, bool over);

/* Check the arguments of a call: @n commands, whether they and the replies are @there (not NULL),
 * and the timeout.  If they are invalid, usher_message() has the reason. */
enum usher_status usher__door_fault(bool there, size_t n, int64_t timeout_ms);

#endif
