/* SPDX-License-Identifier: MIT */
/* Words into a command, by the tables of core/NOUN_verbs.def. */
#ifndef USHER_CLI_PARSE_H
#define USHER_CLI_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <usher/operation.h>

#include "cli/cli.h"
#include "cli/words.h"
#include "core/verbs.h"

/* Decimal digits, a minus where @min is below zero, nothing else; false when it is none or
 * out of range. */
bool usher__parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);
bool usher__parse_uint(const char *text, uint64_t *ret_value);

/* A duration in ms, as people say it: 1500, 1500ms, 90s, 5m, 2h, 1d. */
bool usher__parse_span(const char *text, int64_t min, int64_t max, int64_t *ret_ms);
#define CLI_SPANS "ms, or as 90s, 5m, 2h, 1d"
#define CLI_NO_SPAN "%s is not a duration from %" PRId64 " to %" PRId64 " " CLI_SPANS

/* @word as it stands in a message: cut if it is long. */
#define CLI_QUOTE_MAX 64
const char *usher__quote(char to[CLI_QUOTE_MAX], const char *word);

/* If @word is KEY=value, and KEY is @key (`_` counts as `-`): where the value begins. */
const char *usher__key_value(const char *word, const char *key);

/* now=MS and req=ID, which every command takes.  *@ret_taken: @word was one of them.  False:
 * it was, and is wrong; @message says how. */
bool usher__parse_common(const char *word, struct usher_operation *command, bool *ret_taken,
                         char message[CLI_MESSAGE_MAX]);

/*
 * @words are NOUN VERB SCOPE ….  The texts of *@ret_command are those words, or in *@ret_block,
 * which the caller frees (NULL: there is none).  False: wrong, and
 * @message says what.
 */
bool usher__parse_command(char *const *words, size_t n, struct usher_operation *ret_command,
                          unsigned char **ret_block, char message[CLI_MESSAGE_MAX]);

/* The same of a line, whose values may have NULs inside. */
bool usher__parse_words(const struct words *w, struct usher_operation *ret_command,
                        unsigned char **ret_block, char message[CLI_MESSAGE_MAX]);

#endif
