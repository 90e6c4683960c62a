/* SPDX-License-Identifier: MIT */
/*
 * One line of the shell as words, quoted as in a shell:
 *
 *   blanks part words         'as it is, "too"'        "\" \\ \$ \` \n \r \t \x41"
 *   \ before any byte outside of quotes takes it as it is
 *
 * Nothing else is special: no variables, no wildcards, no `;`.  A line whose first byte
 * that is not blank is # is a comment.
 */
#ifndef USHER_CLI_WORDS_H
#define USHER_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Owns its memory; zero it first, usher__words_done() at last.  May be used again and again. */
struct words {
    char **word; /* each ends with a NUL, behind which the next one begins */
    size_t n;    /* 0: a blank line or a comment */
    size_t room;
    char *bytes;
    size_t size;
    const char *end; /* behind the NUL of the last one */
    bool nul;        /* one has a NUL inside: "\x00" */
};

/* NULL, or what is wrong with @line (which has no newline at its end). */
const char *usher__words_split(struct words *w, const char *line, size_t size);
void usher__words_done(struct words *w);

#endif
