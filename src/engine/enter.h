/* SPDX-License-Identifier: MIT */
/* Commands as operations. */
#ifndef USHER_ENGINE_ENTER_H
#define USHER_ENGINE_ENTER_H

#include <usher/operation.h>

#define USHER__EPOCH_SIZE 24 /* a multiple of 8 */

/* @command as @op, which points at its texts and at @epoch, in which an epoch is put as the text
 * that it is as an argument.  USHER_INVALID: @r says why; it need only be blank. */
enum usher_status usher__operation_of(const struct usher_command *command,
                                      struct usher_operation *op, char epoch[USHER__EPOCH_SIZE],
                                      struct usher_result *r);

#endif
