/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_ROOM_INDEX_H
#define USHER_ENGINE_ROOM_INDEX_H

#include <usher/operation.h>

/* Before @commands (rooms among them) are given to the store.  Where @replies says `invalid` or
 * worse of an `open`, that must not be.  What is left of old rooms of the names of those is erased,
 * as far as @deadline_ms allows (0: whatever time it takes). */
void usher__room_index_before(struct usher_engine *e, const struct usher_operation *commands,
                              struct usher_result *replies, size_t n, int64_t deadline_ms);

/* After they were answered. */
void usher__room_index_after(struct usher_engine *e, const struct usher_operation *commands,
                             const struct usher_result *replies, size_t n, int64_t deadline_ms);

/* Is one of the @n commands on the room of @command? */
bool usher__room_any_on(const struct usher_operation *commands, size_t n,
                        const struct usher_operation *command);

/* If @command is an `open` that was refused because the old room of the name is being erased: erase
 * the rest of that, and ask again. */
void usher__room_reopen(struct usher_engine *e, const struct usher_operation *command,
                        struct usher_result *reply, int64_t deadline_ms);

/* Who erased a part of a room leaves the store to others for as long as that took (@took_ns): so
 * long.  0: nobody did. */
int64_t usher__room_way_ns(const struct usher_operation *commands,
                           const struct usher_result *replies, size_t n, int64_t took_ns);

/* The part of the index, a scope of the noun `rooms`, that @room stands in. */
#define USHER__ROOM_PARTITION 8
void usher__room_partition(const struct usher_text *room, char name[USHER__ROOM_PARTITION]);

/*
 * Do the index and the room called @room agree?  Asked of the store as it is now, so that nobody
 * who opens or closes it meanwhile is taken for a fault.  *@ret_fault: NULL, or what is wrong; with
 * @repair that is mended, and *@ret_repaired says so.
 */
enum usher_status usher__room_index_check(struct usher_engine *e, const struct usher_text *room,
                                          bool repair, const char **ret_fault, bool *ret_repaired);

#endif
