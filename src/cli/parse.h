/* SPDX-License-Identifier: MIT */
/* Make a command of words, in memory of the program. */
#ifndef USHER_CLI_PARSE_H
#define USHER_CLI_PARSE_H

#include "cli/cli.h"
#include "parse/parse.h"
#include "parse/words.h"

/* As usher__words_cut().  Zero @w before the first use, and call usher__words_done() after the
 * last. */
const char *usher__words_split(struct words *w, const char *line, size_t size);
void usher__words_done(struct words *w);

/*
 * @words are NOUN VERB SCOPE ….  The texts of *@ret_command are those words, or in *@ret_block,
 * which the caller frees (NULL: there is none).  Return false with the reason in @message.
 */
bool usher__parse_command(char *const *words, size_t n, struct usher_operation *ret_command,
                          unsigned char **ret_block, char message[CLI_MESSAGE_MAX]);

/* The same for a line, whose values may contain NULs. */
bool usher__parse_words(const struct words *w, struct usher_operation *ret_command,
                        unsigned char **ret_block, char message[CLI_MESSAGE_MAX]);

#endif
