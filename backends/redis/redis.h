/* SPDX-License-Identifier: MIT */
#ifndef USHER_REDIS_REDIS_H
#define USHER_REDIS_REDIS_H

#include <usher/store/store.h>

/* The driver of `redis:`, `rediss:` and `redis+unix:`.  Connects. */
enum usher_status usher__redis_open(void *payload, struct usher_url *url,
                                    const struct usher_options *opt, int64_t deadline_ms,
                                    struct usher_store **ret_store, char message[192]);

#endif
