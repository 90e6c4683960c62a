/* SPDX-License-Identifier: MIT */
/* Histories (usher/store/history.h), and the part of the engine in them. */
#ifndef USHER_ENGINE_HISTORY_H
#define USHER_ENGINE_HISTORY_H

#include <usher/store/history.h>

#include "change/hooks.h"

struct usher__archive;

/* As usher_history_open(), but with the message in @message. */
enum usher_status usher__history_open(const char *url, const struct usher_allocator *alloc,
                                      struct usher_history **ret_history, char message[192]);

/* Return whether it has all required functions. */
bool usher__history_sound(const struct usher_history *h);

/* The noun whose ended rows move to a history: its hook `archive`. */
struct usher__archive_ops {
    /* Create the state of @e for the history @own, and set e->history, which calls it.  Return NULL
     * if there is no memory. */
    struct usher__archive *(*create)(struct usher_engine *e, struct usher_history *own);
    void (*destroy)(struct usher__archive *a);
    /* Return whether @command is for a history, that of @e or one in its store. */
    bool (*owns)(const struct usher_engine *e, const struct usher_operation *command);
    void (*execute)(struct usher_engine *e, const struct usher_operation *command,
                    struct usher_result *reply, int64_t deadline_ms);
    /* Return whether @command is the first one of this engine on its scope.  Then the next command
     * must not go to the store before `after`. */
    bool (*first_seen)(struct usher_engine *e, const struct usher_operation *command);
    /* After commands: move the rows for which it is time. */
    void (*after)(struct usher_engine *e, const struct usher_operation *commands,
                  struct usher_result *replies, size_t n, int64_t deadline_ms);
    /* Move the remaining rows of the scopes that were used. */
    void (*finish)(struct usher_engine *e);
};

static inline const struct usher__archive_ops *usher__archive_of(
    const struct usher_operation *command)
{
    return usher__hooks_of(command->verb)->archive;
}

/* As `owns`, for any noun. */
static inline bool usher__archive_owns(const struct usher_engine *e,
                                       const struct usher_operation *command)
{
    const struct usher__archive_ops *ops = usher__archive_of(command);

    return ops != NULL && ops->owns(e, command);
}

/* The noun with a history. */
const struct usher__archive_ops *usher__archive(void);

#endif
