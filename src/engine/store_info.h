/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_STORE_INFO_H
#define USHER_ENGINE_STORE_INFO_H

#include <usher/store/store.h>

/* Initialise @node for a store of that name with those capabilities, which answers. */
void usher__node_init(struct usher_node *node, const char *name, unsigned caps);

#endif
