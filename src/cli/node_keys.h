/* SPDX-License-Identifier: MIT */
/* The keys of a server in the answer to `status`: written as JSON and for clients of `serve`, and
 * read from such an answer. */
#ifndef USHER_CLI_NODE_KEYS_H
#define USHER_CLI_NODE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/usher.h>

#define NODE_KEYS_MAX 20
#define NODE_HEX_MAX 13

struct node_value {
    const char *key;
    enum { NODE_TEXT, NODE_INT, NODE_BOOL } type;
    struct usher_text text;
    int64_t number;
    char hex[NODE_HEX_MAX]; /* the text of an identity */
};

/* Write the values that are known to @to, and return their number. */
size_t usher__node_values(const struct usher_node *node, struct node_value to[NODE_KEYS_MAX]);

/* A node of which nothing is known. */
void usher__node_empty(struct usher_node *node);
/* Set the member of *@node for @v.  Return false if @v has another type than the key, or a word
 * that is unknown; other keys are left out. */
bool usher__node_set(struct usher_node *node, const struct node_value *v);

#endif
