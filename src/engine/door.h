/* SPDX-License-Identifier: MIT */
/* Commands that are values, executed: what calls, and those that are posted, have in common. */
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

/* usher_execute() of @n commands within @timeout_ms, which is not 0.  Without memory for all of
 * them it executes them one by one: each has its answer. */
void usher__door_execute(struct usher_engine *e, const struct usher__entry *entries, size_t n,
                         int64_t timeout_ms);

/*
 * The same without waiting, for commands that fly (flight.h).  @entries are copied, what they point
 * to is not.  NULL: no memory, and nothing is done.  go_on: true, all are done; false: to be called
 * again when *@ret_wait has come.  end: with @over the replies are there; without it what was sent
 * may be done or not, and none is.
 */
struct usher__crossing;
struct usher__crossing *usher__door_begin(struct usher_engine *e,
                                          const struct usher__entry *entries, size_t n,
                                          int64_t timeout_ms);
bool usher__door_go_on(struct usher__crossing *c, struct usher_wait *ret_wait);
void usher__door_end(struct usher__crossing *c, bool over);

/* Is a call of @n commands, and their replies, that are @there, one that can be made?  If not,
 * usher_message() says why. */
enum usher_status usher__door_fault(bool there, size_t n, int64_t timeout_ms);

#endif
