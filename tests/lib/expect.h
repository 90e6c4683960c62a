/* SPDX-License-Identifier: MIT */
/*
 * expect -- a command as a line of words (command_line.h) and the status that it must be answered
 * with:
 *
 *     token = expect(e, USHER_OK, "number call p owner=%s", owner).of.number.token;
 *
 * A test whose line is answered otherwise fails, with the place of the call, the answer and its
 * message.  The result is the answer: its rows are given back, and all else in it can be used.
 */
#ifndef USHER_LIB_EXPECT_H
#define USHER_LIB_EXPECT_H

#include <usher/store/operation.h>

/* The statuses that expect_at() accepts, in place of one. */
enum {
    EXPECT_DONE = -1, /* USHER_IS_DONE() */
    EXPECT_ANY = -2
};

#define expect(e, want, ...) expect_at(__FILE__, __LINE__, (e), (int)(want), __VA_ARGS__)
#define expect_ok(e, ...) expect((e), USHER_OK, __VA_ARGS__)
#define expect_done(e, ...) expect((e), EXPECT_DONE, __VA_ARGS__)
#define answer_to(e, ...) expect((e), EXPECT_ANY, __VA_ARGS__)

struct usher_result expect_at(const char *file, int at, struct usher_engine *e, int want,
                              const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
