/* SPDX-License-Identifier: MIT */
/* Lines from a person at a terminal: with history, and words completed by Tab. */
#ifndef USHER_CLI_EDITOR_H
#define USHER_CLI_EDITOR_H

#include <stddef.h>

struct editor;

/* NULL: built without a line editor, or it does not like the terminal. */
struct editor *usher__editor_open(void);
void usher__editor_close(struct editor *e);

/* The next line without its newline; NULL: the end.  Lives until the next call. */
const char *usher__editor_line(struct editor *e, size_t *ret_size);

#endif
