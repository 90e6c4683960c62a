/* SPDX-License-Identifier: MIT */
/* The texts of `usher help TOPIC` that the tables do not contain. */
#ifndef USHER_CLI_HELP_H
#define USHER_CLI_HELP_H

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

#endif
