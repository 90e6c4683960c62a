/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_ROOM_INDEX_H
#define USHER_ENGINE_ROOM_INDEX_H

#include <usher/usher.h>

/* Before @command of a room is given to the store: a status from `invalid` on means that it must
 * not be; @why says why. */
enum usher_status usher__room_index_before(struct usher_engine *e,
                                           const struct usher_command *command, char why[192]);

/* After it was answered. */
void usher__room_index_after(struct usher_engine *e, const struct usher_command *command,
                             const struct usher_reply *reply);

#endif
