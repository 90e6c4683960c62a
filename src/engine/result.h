/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_RESULT_H
#define USHER_ENGINE_RESULT_H

#include <usher/store.h>

/* A fresh reply to a command of @noun (0: of none that is known): status OK, nothing said.
 * Whatever was there is overwritten. */
void usher__result_init(struct usher_result *reply, enum usher_noun noun,
                        const struct usher_allocator *alloc);

/* Enough for usher__result_init(), usher_result_fail() and usher_result_done(). */
static inline void usher__result_blank(struct usher_result *reply, enum usher_noun noun,
                                       const struct usher_allocator *alloc)
{
    reply->noun = noun;
    reply->block = NULL;
    reply->block_size = 0;
    reply->alloc = alloc;
}

#endif
