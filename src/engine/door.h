/* SPDX-License-Identifier: MIT */
/* Commands that are values, executed: what calls, and those that are posted, have in common. */
#ifndef USHER_ENGINE_DOOR_H
#define USHER_ENGINE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/command.h>

#include "engine/enter.h"
#include "engine/tell.h"

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

/* One command on the caller's stack: filled value by value, executed, and its answer told.  Nothing
 * is allocated for it. */
struct usher__asking {
    struct usher_operation op;
    struct usher_result r;
    char epoch[USHER__EPOCH_SIZE];
    struct usher__entering in;
    enum usher_status status; /* of the values so far: the first fault counts */
};

/* Begin with @verb and @scope; @e is checked by the caller. */
void usher__door_begin_ask(struct usher__asking *a, const struct usher_engine *e, uint32_t verb,
                           const char *scope);

/* Give it @v. */
static inline void usher__door_give(struct usher__asking *a, const struct usher_value *v)
{
    if (a->status == USHER_OK)
        a->status = usher__operation_give(&a->in, v);
}

/* Execute it and tell the answer to @answer, a struct of @shape, which may be NULL;
 * usher_message() says what is not done.  USHER_OK: it was executed, with *@ret_status;
 * USHER_INVALID: the call itself. */
enum usher_status usher__door_ask(struct usher_engine *e, struct usher__asking *a,
                                  int64_t timeout_ms, const struct usher__shape *shape,
                                  struct usher__answer *answer, enum usher_status *ret_status);

#endif
