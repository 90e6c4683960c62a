/* SPDX-License-Identifier: MIT */
/* Moving visits that have ended into a history: see usher/history.h. */
#ifndef USHER_ENGINE_HISTORY_H
#define USHER_ENGINE_HISTORY_H

#include <usher/history.h>

struct usher__archive;

/* As usher_history_open(), but for the message. */
enum usher_status usher__history_open(const char *url, const struct usher_allocator *alloc,
                                      struct usher_history **ret_history, char message[192]);

/* Has it all the functions that it must have? */
bool usher__history_sound(const struct usher_history *h);

/* What an engine with a history has to remember.  NULL: no memory.  Any thread. */
struct usher__archive *usher__archive_new(struct usher_engine *e);
void usher__archive_free(struct usher__archive *a);

/* Is @command for a history, @e's own or that within its store, and not for the store as it is? */
bool usher__archive_takes(const struct usher_engine *e, const struct usher_operation *command);
/* Is it waited for, or what follows on it? */
bool usher__archive_waits(const struct usher_engine *e, const struct usher_operation *command);
void usher__archive_execute(struct usher_engine *e, const struct usher_operation *command,
                            struct usher_result *reply, int64_t deadline_ms);

/* Is @command on a queue that this engine meets for the first time?  Then nothing is to go to the
 * store behind it before usher__archive_after(). */
bool usher__archive_meets(struct usher_engine *e, const struct usher_operation *command);

/* After commands that were executed: move visits, where it is time to. */
void usher__archive_after(struct usher_engine *e, const struct usher_operation *commands,
                          struct usher_result *replies, size_t n, int64_t deadline_ms);

/* Move what is left of the queues that were used. */
void usher__archive_finish(struct usher_engine *e);

#endif
