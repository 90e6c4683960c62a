/* SPDX-License-Identifier: MIT */
/* What `usher help TOPIC` tells beyond what the tables say. */
#ifndef USHER_CLI_HELP_H
#define USHER_CLI_HELP_H

struct help_topic {
    const char *word, *title, *text;
};
extern const struct help_topic usher__help_topics[]; /* ends with word NULL */

#endif
