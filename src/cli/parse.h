/* SPDX-License-Identifier: MIT */
/* Words into a command, with memory of the program. */
#ifndef USHER_CLI_PARSE_H
#define USHER_CLI_PARSE_H

#include "cli/cli.h"
#include "words/parse.h"
#include "words/words.h"

/* As usher__words_cut().  Zero @w first, usher__words_done() at last; it may be used again and
 * again. */
const char *usher__words_split(struct words *w, const char *line, size_t size);
void usher__words_done(struct words *w);

/*
 * @words are NOUN VERB SCOPE ….  The texts of *@ret_command are those words, or in *@ret_block,
 * which the caller frees (NULL: there is none).  False: wrong, and @message says what.
 */
bool usher__parse_command(char *const *words, size_t n, struct usher_operation *ret_command,
                          unsigned char **ret_block, char message[CLI_MESSAGE_MAX]);

/* The same of a line, whose values may have NULs inside. */
bool usher__parse_words(const struct words *w, struct usher_operation *ret_command,
                        unsigned char **ret_block, char message[CLI_MESSAGE_MAX]);

#endif
