/* SPDX-License-Identifier: MIT */
/* Execution of tasks by the store `redis:`: methods of <usher/store/store.h>. */
#ifndef USHER_REDIS_BATCH_H
#define USHER_REDIS_BATCH_H

#include "store.h"

void usher__redis_execute(struct usher_store *store, struct usher_task *tasks, size_t n,
                          const struct usher_context *context);
struct usher_batch *usher__redis_begin(struct usher_store *store, struct usher_task *tasks,
                                       size_t n, const struct usher_context *context);
bool usher__redis_go_on(struct usher_store *store, struct usher_batch *batch,
                        struct usher_wait *ret);
void usher__redis_leave(struct usher_store *store, struct usher_batch *batch);

#endif
