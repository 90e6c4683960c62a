/* SPDX-License-Identifier: MIT */
/* Move visits that have ended into a history: see usher/history.h. */
#ifndef USHER_ENGINE_HISTORY_H
#define USHER_ENGINE_HISTORY_H

#include <usher/store/history.h>

struct usher__archive;

/* As usher_history_open(), but with the message in @message. */
enum usher_status usher__history_open(const char *url, const struct usher_allocator *alloc,
                                      struct usher_history **ret_history, char message[192]);

/* Return whether it has all required functions. */
bool usher__history_sound(const struct usher_history *h);

/* Create the state of an engine for its history.  Return NULL if there is no memory.  Any
 * thread. */
struct usher__archive *usher__archive_new(struct usher_engine *e);
void usher__archive_free(struct usher__archive *a);

/* Return whether @command is for a history, that of @e or one in its store. */
bool usher__archive_owns(const struct usher_engine *e, const struct usher_operation *command);
/* Return whether @command, or the work after it, waits for a history. */
bool usher__archive_blocks(const struct usher_engine *e, const struct usher_operation *command);
void usher__archive_execute(struct usher_engine *e, const struct usher_operation *command,
                            struct usher_result *reply, int64_t deadline_ms);

/* Return whether @command is the first one of this engine on its queue.  Then the next command must
 * not go to the store before usher__archive_drain(). */
bool usher__archive_first_seen(struct usher_engine *e, const struct usher_operation *command);

/* After commands: move visits of queues for which it is time. */
void usher__archive_drain(struct usher_engine *e, const struct usher_operation *commands,
                          struct usher_result *replies, size_t n, int64_t deadline_ms);

/* Move the remaining visits of the queues that were used. */
void usher__archive_finish(struct usher_engine *e);

#endif
