/* SPDX-License-Identifier: MIT */
/* A call of the engine that does not wait: for stores that can do a batch so (store.h). */
#ifndef USHER_ENGINE_FLIGHT_H
#define USHER_ENGINE_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store.h>

struct usher__flight;

/* Can commands of @verb be done so?  Not those that are more than one command of the store. */
bool usher__flies(const struct usher_engine *e, unsigned verb);

/* Begin usher_operate() of @n commands, all of which can.  They and @results live until it is
 * ended.  NULL: no memory, and nothing is done. */
struct usher__flight *usher__flight_begin(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *results, size_t n,
                                          int64_t timeout_ms);
/* Do what can be done now.  true: all are answered, and watchers were told; false: again when
 * *@ret_wait has come. */
bool usher__flight_go_on(struct usher__flight *f, struct usher_wait *ret_wait);
/* Free it.  If it is not over what was sent may be done or not, and nobody is told. */
void usher__flight_end(struct usher__flight *f);

#endif
