/* SPDX-License-Identifier: MIT */
/* What was posted, and not collected yet (command.h). */
#ifndef USHER_ENGINE_POST_H
#define USHER_ENGINE_POST_H

#include <stdbool.h>

struct usher__post;

/* Drop all of it.  Takes NULL.  In the child of a fork (@forked) its own descriptors are closed,
 * and what another thread of the parent had locked stays as it is. */
void usher__post_close(struct usher__post *p, bool forked);

#endif
