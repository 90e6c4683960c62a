/* SPDX-License-Identifier: MIT */
/* Checks of the arguments of a command. */
#ifndef USHER_ENGINE_CHECK_H
#define USHER_ENGINE_CHECK_H

#include <usher/store/operation.h>

/* Return USHER_OK, or USHER_INVALID with the argument and its fault in reply->message.  A given
 * argument that the verb does not take is a fault, too.  @known may be NULL, or the name of a scope
 * that was found valid: most commands of a batch have the same. */
enum usher_status usher__operation_check(const struct usher_operation *command,
                                         const struct usher_text *known,
                                         struct usher_result *reply);

#endif
