/* SPDX-License-Identifier: MIT */
/* Recorded calls: which line each took, from when to when. */
#ifndef USHER_CLI_CALLS_H
#define USHER_CLI_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

#include "cli/cli.h"
#include "cli/lines.h"

#define CALLS_MAX 5000000u
#define CALLS_LINE_BYTES 4096u /* of one row of the file */

struct call {
    int64_t start_ms, end_ms; /* start <= end */
    uint32_t line;            /* index in lines */
    uint32_t row;             /* line of the file */
};

struct calls_line {
    struct usher_text name;
    uint32_t index;
};

/* Owns everything.  Zero it first. */
struct calls {
    struct call *call;
    size_t n, room;
    struct calls_line **line; /* in order of appearance */
    size_t n_lines, room_lines;
    void *by_name;      /* of tsearch() */
    uint64_t rows;      /* but for the header */
    uint64_t left_out;  /* that are no calls */
    uint64_t backwards; /* with an exit noted before the entry */
    uint64_t midnight;  /* that ended on the next day */
};

enum calls_format { CALLS_GUESS, CALLS_CSV, CALLS_TECHNION };

/*
 * Read all of @l, sorted by (start, row).  False: @message says what is wrong, with the
 * number of the line in front: "12: arrival_ms is not a number".
 */
bool usher__calls_read(struct calls *c, struct lines *l, enum calls_format format,
                       char message[CLI_MESSAGE_MAX]);
void usher__calls_done(struct calls *c);

/* The line called @name, NULL if there is none. */
const struct calls_line *usher__calls_line(const struct calls *c, const char *name, size_t size);

/* For the readers of formats; @start_ms <= @end_ms.  NULL, or what is wrong. */
const char *usher__calls_add(struct calls *c, const char *line, size_t size, int64_t start_ms,
                             int64_t end_ms, uint64_t row);

/* One format: rows as struct usher_text fields.  Statics of the readers are constants. */
#define CALLS_FIELDS_MAX 64u
struct calls_columns {
    size_t n;
    size_t line, start, end; /* csv: where these columns are */
};
/* Split @row at @by; 0: there are more than CALLS_FIELDS_MAX. */
size_t usher__calls_split(const char *row, size_t size, char by,
                          struct usher_text fields[CALLS_FIELDS_MAX]);

const char *usher__csv_header(struct calls_columns *columns, const struct usher_text *fields,
                              size_t n);
const char *usher__csv_row(struct calls *c, const struct calls_columns *columns,
                           const struct usher_text *fields, size_t n, uint64_t row);
bool usher__technion_is(const char *row, size_t size);
const char *usher__technion_header(const struct usher_text *fields, size_t n);
const char *usher__technion_row(struct calls *c, const struct usher_text *fields, size_t n,
                                uint64_t row);

/* Days since 1970-01-01, or false if there is no such day.  @year from 1970 to 9999. */
bool usher__calls_day(int64_t year, int64_t month, int64_t day, int64_t *ret_day);

#endif
