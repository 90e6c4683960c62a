/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_ROOM_INDEX_H
#define USHER_ENGINE_ROOM_INDEX_H

#include <usher/usher.h>

/* Before @commands (rooms among them) are given to the store.  Where @replies says `invalid` or
 * worse of an `open`, that must not be. */
void usher__room_index_before(struct usher_engine *e, const struct usher_command *commands,
                              struct usher_reply *replies, size_t n);

/* After they were answered. */
void usher__room_index_after(struct usher_engine *e, const struct usher_command *commands,
                             const struct usher_reply *replies, size_t n);

#endif
