/* SPDX-License-Identifier: MIT */
/* Asynchronous calls of the engine, for stores with asynchronous batches (store.h). */
#ifndef USHER_ENGINE_FLIGHT_H
#define USHER_ENGINE_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store/store.h>

struct usher__flight;

/* Return whether commands of @verb can be asynchronous.  Those that consist of several commands of
 * the store cannot. */
bool usher__flies(const struct usher_engine *e, unsigned verb);

/* Begin usher_operate() of @n commands, all of which can be.  They and @results must exist until it
 * is ended.  Return NULL, and do nothing, if there is no memory. */
struct usher__flight *usher__flight_begin(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *results, size_t n,
                                          int64_t timeout_ms);
/* Do what can be done now.  Return true if all are answered, and watchers were notified; false:
 * call it again when *@ret_wait has come. */
bool usher__flight_go_on(struct usher__flight *f, struct usher_wait *ret_wait);
/* Free it.  If it is not over, commands that were sent may be done or not, and watchers are not
 * notified. */
void usher__flight_end(struct usher__flight *f);

#endif
