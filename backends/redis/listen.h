/* SPDX-License-Identifier: MIT */
/* Published versions of rooms, on connections that subscribe. */
#ifndef USHER_REDIS_LISTEN_H
#define USHER_REDIS_LISTEN_H

#include <usher/store/store.h>

/* See store.h. */
struct usher_listener *usher__redis_listen(struct usher_store *s, usher_listen_fn *fn,
                                           void *payload);
bool usher__redis_listen_to(struct usher_listener *l, enum usher_noun noun,
                            const struct usher_text *scope, bool on);
void usher__redis_listen_go_on(struct usher_listener *l, struct usher_wait *ret_wait);
void usher__redis_listen_end(struct usher_listener *l);

#endif
