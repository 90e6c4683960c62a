/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_AUTHORITY_H
#define USHER_ENGINE_AUTHORITY_H

#include <usher/store/authority.h>

/* As usher_authority_open(), but with the message in @message. */
enum usher_status usher__authority_open(const char *url, const struct usher_allocator *alloc,
                                        struct usher_authority **ret_authority, char message[192]);

/* Return whether it has all required functions. */
bool usher__authority_sound(const struct usher_authority *a);

/* usher_authority_events() with valid arguments. */
enum usher_status usher__authority_events(struct usher_authority *a, enum usher_noun noun,
                                          const char *name, uint64_t row, size_t max,
                                          int64_t deadline_ms, usher_authority_event_fn *fn,
                                          void *payload);

#endif
