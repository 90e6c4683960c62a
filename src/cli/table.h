/* SPDX-License-Identifier: MIT */
/* Tables for people: columns as wide as their content. */
#ifndef USHER_CLI_TABLE_H
#define USHER_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <usher/store/operation.h>

#define TABLE_COLUMNS_MAX 24u

/* Owns everything.  Zero it first; cells come row by row, one for each column. */
struct table {
    const char *head[TABLE_COLUMNS_MAX]; /* static */
    bool right[TABLE_COLUMNS_MAX];       /* numbers */
    size_t n_columns;
    char **cell;
    size_t n, room;
};

void usher__cli_table_column(struct table *t, const char *head, bool right);
void usher__cli_table_text(struct table *t, const char *text, size_t size);
void usher__cli_table_number(struct table *t, int64_t number);
/* Write a duration in its largest unit: "45 s", "12 min". */
void usher__cli_table_span(struct table *t, int64_t ms);
/* Write a time relative to @now_ms: "45 s ago", "in 12 min". */
void usher__cli_table_moment(struct table *t, int64_t ms, int64_t now_ms);
/* Write the rows of the list @reply, or the values of an answer and of its only row by their names;
 * durations are relative to @now_ms. */
void usher__cli_table_rows(struct table *t, const struct usher_reply *reply, int64_t now_ms);
void usher__cli_table_values(struct table *t, const struct usher_reply *reply, int64_t now_ms);
/* Free the memory of @t. */
void usher__cli_table_done(struct table *t);
/* Print the table without empty columns, and free the memory of @t. */
void usher__cli_table_print(struct table *t, FILE *out);

/* Print the rows of an answer as a table.  Return false, and print nothing, if it is no list or an
 * empty one. */
bool usher__cli_table_answer(FILE *out, const struct usher_operation *command,
                             const struct usher_reply *result);

#endif
