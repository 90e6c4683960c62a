/* SPDX-License-Identifier: MIT */
/* MessagePack, written down once more. */
#ifndef USHER_TESTS_PACKER_H
#define USHER_TESTS_PACKER_H

#include <usher/operation.h>

/* Begin with zeros; `at` is the caller's, to be given to free(). */
struct packed {
    unsigned char *at;
    size_t n, room;
};

void put_byte(struct packed *p, unsigned b);
void put_uint(struct packed *p, uint64_t value);
void put_text(struct packed *p, const struct usher_text *t);
void put_array(struct packed *p, size_t n);
/* As a log keeps it. */
void put_notice(struct packed *p, const struct usher_notice *n);

#endif
