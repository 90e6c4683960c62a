/* SPDX-License-Identifier: MIT */
/*
 * Calls as `usher trace` writes them: a header with the names of the columns, in any order,
 * then a row a call.  Without quotes: no field of ours needs them.
 *
 *   call         a name for the call                        arrival_ms   Unix milliseconds
 *   line         the line it came in on      (needed)       release_ms   when the line was
 *   patience_ms  how long the caller waits                               free again
 *   service_ms   how long it takes to serve  (both needed)
 *   priority     0, 1 …
 *   lane         which line of waiting people
 *
 * Other columns are skipped.
 */
#include "config.h"

#include "cli/calls.h"

#include <string.h>

#define CSV_NONE SIZE_MAX

static bool csv_is(const struct usher_text *field, const char *name)
{
    return field->size == strlen(name) && memcmp(field->data, name, field->size) == 0;
}

const char *usher__csv_header(struct calls_columns *columns, const struct usher_text *fields,
                              size_t n)
{
    static const char *const names[] = { "line", "arrival_ms", "release_ms" };
    size_t *const at[] = { &columns->line, &columns->start, &columns->end };

    for (size_t i = 0; i < 3; i++) {
        *at[i] = CSV_NONE;
        for (size_t j = 0; j < n; j++) {
            if (!csv_is(&fields[j], names[i]))
                continue;
            if (*at[i] != CSV_NONE)
                return "the header has a column twice";
            *at[i] = j;
        }
        if (*at[i] == CSV_NONE)
            return i == 0   ? "the header has no column line"
                   : i == 1 ? "the header has no column arrival_ms"
                            : "the header has no column release_ms";
    }
    return NULL;
}

static bool csv_time(const struct usher_text *field, int64_t *ret_ms)
{
    int64_t ms = 0;

    for (size_t i = 0; i < field->size; i++) {
        unsigned digit = (unsigned)((unsigned char)field->data[i] - '0');

        if (digit > 9)
            return false;
        ms = ms * 10 + (int64_t)digit;
        if (ms > USHER_TIME_MAX)
            return false;
    }
    *ret_ms = ms;
    return field->size > 0;
}

const char *usher__csv_row(struct calls *c, const struct calls_columns *columns,
                           const struct usher_text *fields, size_t n, uint64_t row)
{
    const struct usher_text *line = &fields[columns->line];
    int64_t start, end;

    (void)n; /* is columns->n */
    if (!csv_time(&fields[columns->start], &start))
        return "arrival_ms is not a number from 0 to 253402300799999";
    if (!csv_time(&fields[columns->end], &end))
        return "release_ms is not a number from 0 to 253402300799999";
    if (end < start)
        return "release_ms is before arrival_ms";
    return usher__calls_add(c, line->data, line->size, start, end, row);
}
