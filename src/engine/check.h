/* SPDX-License-Identifier: MIT */
/* Are the arguments of a command what its verb takes? */
#ifndef USHER_ENGINE_CHECK_H
#define USHER_ENGINE_CHECK_H

#include <usher/operation.h>

/* USHER_OK, or USHER_INVALID with the argument and what is wrong with it in
 * reply->message.  A given argument that the verb does not take is wrong, too.
 * @known may be NULL, or a scope's name that has been found good: most commands of a batch
 * have the same. */
enum usher_status usher__operation_check(const struct usher_operation *command,
                                         const struct usher_text *known,
                                         struct usher_result *reply);

#endif
