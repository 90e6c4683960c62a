/* SPDX-License-Identifier: MIT */
/* compare -- two answers to the same command, and two notices of the same change, field by
 * field of the tables (core/verbs.h).  Not compared: epochs (but that there is one), messages, who
 * owns what. */
#ifndef USHER_TESTS_COMPARE_H
#define USHER_TESTS_COMPARE_H

#include <stdbool.h>
#include <stdio.h>

#include <usher/store/operation.h>

/* True when they are equal.  Else writes a line for each difference to @f (NULL: none). */
bool replies_equal(enum usher_verb verb, const struct usher_result *a, const struct usher_result *b,
                   FILE *f);
/* Cut @r to the visits that the queue keeps, which are those of the model.  A @store with a history
 * of its own returns older visits after them, which test_visits.c tests. */
void queue_history_cut(const char *store, const struct usher_operation *c,
                       const struct usher_result *model, struct usher_result *r);
bool notices_equal(const struct usher_notice *a, const struct usher_notice *b, FILE *f);

/* All of it, some lines. */
void reply_print(FILE *f, enum usher_verb verb, const struct usher_result *r);
void notice_print(FILE *f, const struct usher_notice *n); /* one line */

#endif
