/* SPDX-License-Identifier: MIT */
/* "Did you mean …?" */
#ifndef USHER_PARSE_SUGGEST_H
#define USHER_PARSE_SUGGEST_H

#include <stddef.h>

/* Looks at one word after the other and keeps the one most like @word; starts as {word}. */
struct closest {
    const char *word;
    const char *best; /* NULL: nothing is like it */
    unsigned distance;
};
void usher__closest_try(struct closest *c, const char *candidate);

#endif
