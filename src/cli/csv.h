/* SPDX-License-Identifier: MIT */
/* Lists as CSV (RFC 4180): --csv. */
#ifndef USHER_CLI_CSV_H
#define USHER_CLI_CSV_H

#include <stdio.h>

#include <usher/usher.h>

#include "cli/cli.h"

/* Execute a command whose answer has rows, page after page, and print them.  Return the exit code.
 * A verb without rows is refused before it is executed. */
int usher__csv_run(struct cli *cli, char *const *words, size_t n);

/* Return whether the answer to @command has rows. */
bool usher__csv_has_rows(const struct usher_operation *command);

/* Report that @what has no rows.  Return the exit code. */
int usher__csv_refuse(const struct cli *cli, const char *what);

/* Print the names of the columns of notices, and a notice. */
void usher__csv_notices(FILE *out);
void usher__csv_notice(FILE *out, const struct usher_notice *notice);

/* Print the names of @columns (ends with NULL), and a row for each object of @array, the text of a
 * JSON array. */
void usher__csv_objects(FILE *out, const char *const *columns, const char *array);

#endif
