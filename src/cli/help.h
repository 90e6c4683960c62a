/* SPDX-License-Identifier: MIT */
/* The texts of `usher help TOPIC` that the tables do not contain, and the keys of answers. */
#ifndef USHER_CLI_HELP_H
#define USHER_CLI_HELP_H

#include <stdio.h>

#include <usher/usher.h>

struct usher__noun;
struct usher__verb;

struct help_topic {
    const char *word, *title, *text;
};
extern const struct help_topic usher__help_topics[]; /* ends with word NULL */

/* A noun whose verbs are the events of the machine of its word: help shows their rows. */
struct help_moves {
    const char *machine;
    const char *given; /* explains the guards */
    /* the text, and the rows of the event, follow the help of that verb */
    const char *verb, *text, *event;
};
extern const struct help_moves usher__help_moves[]; /* ends with machine NULL */

/* Print the keys of the answer to @verb. */
void usher__help_answer(FILE *out, const struct usher__noun *noun, const struct usher__verb *verb);

/* Return the text of `usher help` with @n words, which the caller frees.  USHER_OK, USHER_MISSING
 * (no such topic), USHER_NOMEM. */
enum usher_status usher__help_text(const char *const *words, size_t n, char **ret_text,
                                   size_t *ret_size);

#endif
