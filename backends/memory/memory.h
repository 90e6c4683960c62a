/* SPDX-License-Identifier: MIT */
#ifndef USHER_MEMORY_MEMORY_H
#define USHER_MEMORY_MEMORY_H

#include <usher/store/store.h>

/* The driver of `memory:`.  Takes no options. */
enum usher_status usher__memory_open(void *payload, struct usher_url *url,
                                     const struct usher_options *opt, int64_t deadline_ms,
                                     struct usher_store **ret_store, char message[192]);

#endif
