/* SPDX-License-Identifier: MIT */
/*
 * hooks -- hooks of an engine with checks: an allocator that knows the size of each block and may
 * fail, a trace that reads all of each command and answer, a log.
 */
#ifndef USHER_TESTS_HOOKS_H
#define USHER_TESTS_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

struct hooks {
    struct usher_allocator alloc;
    atomic_ulong blocks, bytes; /* allocated now */
    atomic_ulong calls;         /* of the allocator */
    unsigned fail_every;        /* about one in this many allocations fails; 0: none */
    atomic_ulong failed;
    atomic_ulong traced, logged;
    unsigned long read; /* sum of all that was read, so that the compiler keeps the reads */
};

/* Set the allocator, trace and log of @opt to @h.  The clock stays as it is. */
void hooks_set(struct hooks *h, struct usher_options *opt);
/* Set one of them. */
void hooks_alloc(struct hooks *h, struct usher_options *opt);
void hooks_trace(struct hooks *h, struct usher_options *opt);
void hooks_log(struct hooks *h, struct usher_options *opt);

/* Return NULL if no block is left, or the fault. */
const char *hooks_fault(const struct hooks *h);

/* Read all bytes of a notice, command or answer.  Returns a value made of them. */
unsigned long hooks_read_notice(const struct usher_notice *n);
unsigned long hooks_read_command(const struct usher_operation *c);
unsigned long hooks_read_reply(const struct usher_operation *c, const struct usher_result *r);

#endif
