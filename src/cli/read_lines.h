/* SPDX-License-Identifier: MIT */
/*
 * Lines of a file of any content: a line longer than the limit is skipped in bounded memory and
 * reported as such.
 */
#ifndef USHER_CLI_READ_LINES_H
#define USHER_CLI_READ_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines {
    int fd; /* the caller's; -1: only the content of the buffer is read */
    size_t max;
    uint64_t number; /* of the last line returned, from 1 */
    uint64_t bytes;  /* read so far */
    int error;       /* errno of a read that failed */
    /* private */
    char *buf;
    size_t at, size, room, scanned;
    bool end, skipping;
};

enum lines_result {
    LINES_LINE,
    LINES_LONG,  /* a line longer than max, which was skipped */
    LINES_LATER, /* the buffer has no whole line, and reading would wait */
    LINES_END,
    LINES_ERROR
};

/* Lines of @fd of at most @max bytes each. */
void usher__lines_open(struct lines *l, int fd, size_t max);
void usher__lines_close(struct lines *l);

/* Return the next line without its newline, the first one without the byte order mark of UTF-8; it
 * is valid until the next call.  Without @wait nothing is read.  The last line needs no newline. */
enum lines_result usher__lines_next(struct lines *l, bool wait, char **ret_line, size_t *ret_size);

#endif
