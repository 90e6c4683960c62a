/* SPDX-License-Identifier: MIT */
/* The lines of the shell on a terminal, kept in a file from one session to the next. */
#ifndef USHER_CLI_SHELL_HISTORY_H
#define USHER_CLI_SHELL_HISTORY_H

#include <stddef.h>

/*
 * $XDG_STATE_HOME/usher/history or ~/.local/state/usher/history, readable by its owner only.
 * Call @fn with each line of the file, the oldest first.  Return the descriptor for
 * usher__past_add(), or -1 if there is no home, or no file can be created in it.
 */
int usher__past_open(void (*fn)(void *payload, const char *line), void *payload);

/* Append @line, which has no newline, with one write, because several sessions may use the file. */
void usher__past_add(int fd, const char *line, size_t size);

#endif
