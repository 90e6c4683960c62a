/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/read_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_STEP 65536u

void usher__lines_open(struct lines *l, int fd, size_t max)
{
    memset(l, 0, sizeof *l);
    l->fd = fd;
    l->max = max;
}

void usher__lines_close(struct lines *l)
{
    free(l->buf);
    memset(l, 0, sizeof *l);
    l->fd = -1;
}

/* Read once.  Return false on an error. */
static bool lines_fill(struct lines *l)
{
    ssize_t n;

    if (l->at > 0) {
        memmove(l->buf, l->buf + l->at, l->size - l->at);
        l->size -= l->at;
        l->scanned -= l->at;
        l->at = 0;
    }
    if (l->room - l->size < LINES_STEP) {
        char *more = realloc(l->buf, l->room * 2 + LINES_STEP);

        if (more == NULL) {
            l->error = ENOMEM;
            return false;
        }
        l->buf = more;
        l->room = l->room * 2 + LINES_STEP;
    }
    do
        n = read(l->fd, l->buf + l->size, l->room - l->size);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        l->error = errno;
        return false;
    }
    l->end = n == 0;
    l->size += (size_t)n;
    l->bytes += (uint64_t)n;
    return true;
}

static enum lines_result lines_give(struct lines *l, size_t end, size_t next, char **ret_line,
                                    size_t *ret_size)
{
    static const char mark[] = "\xEF\xBB\xBF";
    bool skipped = l->skipping || end - l->at > l->max;

    /* the byte order mark that some programs write is no part of a name */
    if (l->number == 0 && end - l->at >= 3 && memcmp(l->buf + l->at, mark, 3) == 0)
        l->at += 3;
    *ret_line = l->buf + l->at;
    *ret_size = end - l->at;
    l->number++;
    l->skipping = false;
    l->at = l->scanned = next;
    return skipped ? LINES_LONG : LINES_LINE;
}

enum lines_result usher__lines_next(struct lines *l, bool wait, char **ret_line, size_t *ret_size)
{
    if (l->error != 0)
        return LINES_ERROR;
    for (;;) {
        if (l->scanned < l->size) {
            char *newline = memchr(l->buf + l->scanned, '\n', l->size - l->scanned);

            if (newline != NULL) {
                size_t end = (size_t)(newline - l->buf);

                return lines_give(l, end, end + 1, ret_line, ret_size);
            }
            l->scanned = l->size;
        }
        if (l->end) {
            if (l->at == l->size && !l->skipping)
                return LINES_END;
            return lines_give(l, l->size, l->size, ret_line, ret_size);
        }
        if (l->size - l->at > l->max) {
            l->skipping = true;
            l->at = l->scanned = l->size;
        }
        if (!wait)
            return LINES_LATER;
        if (!lines_fill(l))
            return LINES_ERROR;
    }
}
