/* SPDX-License-Identifier: MIT */
#ifndef USHER_CHANGE_RESULT_H
#define USHER_CHANGE_RESULT_H

#include <usher/store/store.h>

/* Initialise a reply to a command of @noun (0: of no known noun): status OK, without values.  It is
 * overwritten, not freed. */
void usher__result_init(struct usher_result *reply, enum usher_noun noun,
                        const struct usher_allocator *alloc);

/* Initialise it enough for usher__result_init(), usher_result_fail() and usher_result_done(). */
static inline void usher__result_blank(struct usher_result *reply, enum usher_noun noun,
                                       const struct usher_allocator *alloc)
{
    reply->noun = noun;
    reply->block = NULL;
    reply->block_size = 0;
    reply->alloc = alloc;
}

#endif
