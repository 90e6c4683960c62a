/* SPDX-License-Identifier: MIT */
/*
 * The calls of each noun: one table of members for each of a noun's structs, and one function that
 * makes of them the values of a command, and of an answer's values the members.  NOUN_gen.h has
 * the tables and the calls themselves.
 */
#ifndef USHER_API_CALLS_H
#define USHER_API_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

#include "encode/answer.h"

struct usher__calls {
    enum usher_noun noun;
    struct usher__shape options, settings, answer, row, statistics;
};

/* NULL: there is no such noun. */
const struct usher__calls *usher__calls_of(enum usher_noun noun);

/* Give @verb with @given and what is in @settings and @opt, which may be NULL.  The answer is
 * written to @answer, or a reply to *@ret_reply; each may be NULL. */
enum usher_status usher__call(struct usher_engine *e, const struct usher__calls *of, uint32_t verb,
                              const char *scope, const struct usher_value *given, size_t n_given,
                              const void *settings, const void *opt, void *answer,
                              struct usher_reply **ret_reply);

struct usher_value usher__call_bytes(uint32_t field, const struct usher_text *text);

/* The answer of @reply, and the values of row @i (or USHER_ANSWER: of the answer) as @shape. */
bool usher__call_answer(const struct usher__calls *of, const struct usher__shape *shape,
                        const struct usher_reply *reply, void *ret);
bool usher__call_values(const struct usher__calls *of, const struct usher__shape *shape,
                        const struct usher_reply *reply, size_t i, void *ret);

#endif
