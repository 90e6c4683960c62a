/* SPDX-License-Identifier: MIT */
/* Commands that change something: which key has one, its question, and its words. */
#ifndef USHER_TOP_ACT_H
#define USHER_TOP_ACT_H

#include "top/detail.h"

struct question {
    const char *title;
    char text[200];
    char name[JOB_WORD_MAX]; /* to be typed; "": y is enough */
    struct job *job;         /* the command; NULL: there is no question */
};

/* Write the question of @key on the screen @d.  Return NULL, or the reason why there is none; ""
 * if the key has no command. */
const char *usher__act_ask(struct question *q, const struct detail *d, uint32_t key, unsigned id);
/* Append the keys that have a command there. */
void usher__act_keys(char *to, size_t size, const struct detail *d);

#endif
