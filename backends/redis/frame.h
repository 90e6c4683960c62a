/* SPDX-License-Identifier: MIT */
/* The end of each reply in the bytes of a server.  Only RESP2 within the limits of conn.h is
 * accepted. */
#ifndef USHER_BACKENDS_REDIS_FRAME_H
#define USHER_BACKENDS_REDIS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conn.h"

enum usher__redis_frame { FRAME_MORE, FRAME_DONE, FRAME_BAD };

/* The state of the scanner within a reply.  All members are 0 between replies. */
struct usher__redis_scanner {
    enum { AT_TYPE, AT_LINE, AT_LINE_END, AT_BULK, AT_BULK_CR, AT_BULK_LF } at;
    char type;
    bool minus;
    uint64_t number; /* of a $ or * header; then the bytes of a bulk that are left */
    size_t line;     /* bytes of the current line */
    size_t bytes;    /* of the whole reply */
    size_t elements; /* announced by its arrays */
    unsigned depth;
    size_t left[USHER__REDIS_MAX_DEPTH]; /* missing elements of each open array, > 0 */
};

/* Scan up to @n bytes, but not beyond the end of a reply. */
enum usher__redis_frame usher__redis_frame_scan(struct usher__redis_scanner *s, const char *p,
                                                size_t n, size_t *ret_used);

#endif
