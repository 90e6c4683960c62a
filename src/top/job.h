/* SPDX-License-Identifier: MIT */
/* A command of `usher top`, in words, and its reply. */
#ifndef USHER_TOP_JOB_H
#define USHER_TOP_JOB_H

#include <usher/command.h>

#include "cli/cli.h"

#define JOB_WORDS 8
#define JOB_WORD_MAX (USHER_NAME_MAX + 32)

struct job {
    struct job *next;
    unsigned id; /* of its owner */
    bool acts;   /* it changes something */
    bool again;  /* it was sent again */
    size_t n;
    char word[JOB_WORDS][JOB_WORD_MAX];
    struct usher_reply *reply; /* NULL: there is none, and @message has the reason */
    char message[CLI_MESSAGE_MAX];
};

struct job_list {
    struct job *first, *last;
};

/* Return a job without words. */
struct job *usher__job_new(unsigned id, bool acts);
/* Append a word. */
void usher__job_word(struct job *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Execute it on the store of @cli. */
void usher__job_run(struct job *j, struct cli *cli);
/* NULL is allowed. */
void usher__job_free(struct job *j);
void usher__jobs_put(struct job_list *l, struct job *j);
/* Return the first one, or NULL. */
struct job *usher__jobs_take(struct job_list *l);

#endif
