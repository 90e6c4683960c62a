/* SPDX-License-Identifier: MIT */
/*
 * One line as words, quoted as in a shell:
 *
 *   blanks part words         'as it is, "too"'        "\" \\ \$ \` \n \r \t \x41"
 *   \ before any byte outside of quotes takes it as it is
 *
 * Nothing else is special: no variables, no wildcards, no `;`.  A line whose first byte
 * that is not blank is # is a comment.
 */
#ifndef USHER_PARSE_WORDS_H
#define USHER_PARSE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The words of a line, in memory of the caller. */
struct words {
    char **word; /* each ends with a NUL; the next one begins after it */
    size_t n;    /* 0: a blank line or a comment */
    size_t room; /* of them */
    char *bytes;
    size_t size;
    const char *end; /* after the NUL of the last one */
    bool nul;        /* one has a NUL inside: "\x00" */
};

/* As many words as there may be in @line, or more; as many bytes as they may take. */
size_t usher__words_count(const char *line, size_t size);
#define USHER__WORDS_BYTES(size) ((size) + 1)

/* NULL, or what is wrong with @line (which has no newline at its end). */
const char *usher__words_cut(struct words *w, const char *line, size_t size);

#endif
