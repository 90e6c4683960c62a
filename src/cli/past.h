/* SPDX-License-Identifier: MIT */
/* The lines of the shell on a terminal, kept in a file from one session to the next. */
#ifndef USHER_CLI_PAST_H
#define USHER_CLI_PAST_H

#include <stddef.h>

/*
 * $XDG_STATE_HOME/usher/history or ~/.local/state/usher/history, readable by its owner only.
 * Calls @fn with each line that is kept, the oldest first.  Returns where usher__past_add() writes;
 * -1: there is no home, or it takes no file.
 */
int usher__past_open(void (*fn)(void *payload, const char *line), void *payload);

/* Sessions at the same time add to the same file, so it is done at once.  @line has no newline. */
void usher__past_add(int fd, const char *line, size_t size);

#endif
