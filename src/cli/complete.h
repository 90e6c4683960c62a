/* SPDX-License-Identifier: MIT */
/* The words that can stand at the end of a line, for Tab in the shell and in bash. */
#ifndef USHER_CLI_COMPLETE_H
#define USHER_CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/usher.h>

struct cli;

#define GUESSES 128 /* more than a noun has verbs, or a verb keys */
#define GUESS_SIZE (USHER_NAME_MAX + 1)

/* The words that are possible at the cursor and begin with what is typed.  Set @cli and @opens, the
 * rest to 0. */
struct guess {
    struct cli *cli;
    bool opens;        /* names of scopes: open the store if it is not open */
    const char *typed; /* the word at the cursor */
    const char *begin; /* of it, or of its value */
    size_t size;
    char common[GUESS_SIZE + 16]; /* the longest common beginning */
    size_t common_size;
    unsigned n; /* all; the first GUESSES are kept */
    bool more;  /* there are words that are not known */
    struct {
        const char *word, *end; /* end: a blank, "=" or "/" */
    } all[GUESSES];
    char *names; /* GUESSES words of GUESS_SIZE bytes: those that are in no table */
};

/* Collect the words for the end of @line, which lives as long as @g. */
void usher__guess(struct guess *g, const char *line, size_t size);
void usher__guess_done(struct guess *g);

#endif
