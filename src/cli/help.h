/* SPDX-License-Identifier: MIT */
/* What `usher help TOPIC` tells beyond what the tables say. */
#ifndef USHER_CLI_HELP_H
#define USHER_CLI_HELP_H

struct help_topic {
    const char *word, *title, *text;
};
extern const struct help_topic usher__help_topics[]; /* ends with word NULL */

/* A noun whose verbs are the events of the machine of its word: help shows their rows. */
struct help_moves {
    const char *machine;
    const char *given;               /* what the guards are */
    const char *verb, *text, *event; /* with that verb, besides: that, and the rows of that event */
};
extern const struct help_moves usher__help_moves[]; /* ends with machine NULL */

#endif
