/* SPDX-License-Identifier: MIT */
/* Lines from a person at a terminal: with history, and words completed by Tab. */
#ifndef USHER_CLI_EDITOR_H
#define USHER_CLI_EDITOR_H

#include <stddef.h>

struct editor;

struct cli;

/* Names of scopes are completed from the store that is open in @cli.  Return NULL if built without
 * a line editor, or if the terminal does not support it. */
struct editor *usher__editor_open(struct cli *cli);
void usher__editor_close(struct editor *e);

/* Return the next line without its newline, valid until the next call, or NULL at the end. */
const char *usher__editor_line(struct editor *e, size_t *ret_size);

#endif
