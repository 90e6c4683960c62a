/* SPDX-License-Identifier: MIT */
#ifndef USHER_ROOM_ROOM_DIRECTORY_H
#define USHER_ROOM_ROOM_DIRECTORY_H

#include <usher/store/operation.h>

/* Return whether one of the @n commands is on the room of @command. */
bool usher__room_any_on(const struct usher_operation *commands, size_t n,
                        const struct usher_operation *command);

/* The part of the directory, a scope of the noun `rooms`, with the entry of @room. */
#define USHER__ROOM_PARTITION 8
void usher__room_partition(const struct usher_text *room, char name[USHER__ROOM_PARTITION]);
unsigned usher__room_partition_of(const struct usher_text *room);

/* One command on a part of the directory. */
struct usher__room_asked {
    struct usher_operation c;
    char scope[USHER__ROOM_PARTITION];
};

/* Make one.  Its time is that of @of, a command of the application, if that has one. */
void usher__room_asked(struct usher__room_asked *a, enum usher_verb verb, unsigned partition,
                       const struct usher_operation *of);

/* usher_room_list() and usher_room_patrol(), with results: of.room.name and of.room.created_ms are
 * the end of the page; with of.room.partial a part of the store did not answer. */
enum usher_status usher__room_list(struct usher_engine *e, const char *after, int64_t created_ms,
                                   size_t max, int64_t now_ms, struct usher_result *ret_reply);
enum usher_status usher__room_patrol(struct usher_engine *e, const char *worker, size_t batch,
                                     int64_t every_ms, int64_t lease_ms, int64_t now_ms,
                                     struct usher_result *ret_reply);

/*
 * Check that the directory and the room called @room agree.  Both are read several times, so that a
 * client that opens or closes the room during the check causes no fault.  *@ret_fault: NULL, or the
 * fault; with @repair it is repaired, and *@ret_repaired set.
 */
enum usher_status usher__room_directory_check(struct usher_engine *e, const struct usher_text *room,
                                              bool repair, const char **ret_fault,
                                              bool *ret_repaired);

#endif
