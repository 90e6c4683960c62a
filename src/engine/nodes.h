/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_NODES_H
#define USHER_ENGINE_NODES_H

#include <usher/store.h>

/* What is known of a store of that name with those capabilities: that it is there. */
void usher__node_init(struct usher_node *node, const char *name, unsigned caps);

#endif
