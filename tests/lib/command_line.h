/* SPDX-License-Identifier: MIT */
/*
 * command_line -- commands of any noun as they are typed, and answers as they are printed: for
 * tests that do the same with all nouns.
 */
#ifndef USHER_LIB_COMMAND_LINE_H
#define USHER_LIB_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "parse/words.h"

struct line {
    struct usher_operation c; /* its texts are in here: give it back with line_done() */
    struct words words;
    unsigned char *block;
};

/* Read a line such as "queue apply desk ann lane=x".  Aborts with a message if it is no command. */
void line_read(struct line *l, const char *text);
void line_done(struct line *l);

/* Write a command of @verb on @scope with its required arguments only, from the tables. */
void line_of_verb(char *to, size_t size, uint32_t verb, const char *scope);

/* Read a line and execute it on @e.  Returns the status of the reply, which the caller owns. */
enum usher_status line_execute(struct usher_engine *e, struct usher_result *ret_reply,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Return the answer in JSON, as far as it follows from the state of the scope: without the epoch,
 * `repeated`, and `due`, which may be too early.  The caller frees it. */
char *line_answer(const struct usher_operation *c, const struct usher_result *r);

/* Execute `number` and the rest of the line at the time @origin + @at.  Requires the status @want
 * and a hold until @origin + @until (0: for ever).  Returns its token. */
uint64_t line_execute_hold(struct usher_engine *e, int64_t origin, enum usher_status want,
                           int64_t at, int64_t until, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
