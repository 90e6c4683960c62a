/* SPDX-License-Identifier: MIT */
/*
 * story -- what the suites of queues have in common.
 *
 * A test is a story: commands as on the command line, on the queue "desk", each with its answer in
 * short; "+5000" lets five seconds pass.  A room is called AGENT.N here.  The clock is f->now,
 * given by the engine's hook.  A twin, which is a memory store, gets the same commands and must
 * answer the same; every test ends with the audit, and compares the digests of both.
 */
#ifndef USHER_TESTS_STORY_H
#define USHER_TESTS_STORY_H

#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "conformance/fixture.h"

#define MINUTE INT64_C(60000)

int queue_set_up(void **state);

/* More of a text. */
void add(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One command; its answer is f->r, and in short f->said. */
void command(struct fixture *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct line {
    const char *command, *want;
};

void story_at(struct fixture *f, const char *file, int at, const struct line *lines, size_t n);

#define STORY(f, ...)                                                           \
    do {                                                                        \
        static const struct line lines[] = { __VA_ARGS__ };                     \
        story_at((f), __FILE__, __LINE__, lines, sizeof lines / sizeof *lines); \
    } while (0)

#endif
