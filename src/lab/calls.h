/* SPDX-License-Identifier: MIT */
/* Recorded calls: which line each took, from when to when. */
#ifndef USHER_LAB_CALLS_H
#define USHER_LAB_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/store/operation.h>

#include "cli/cli.h"
#include "cli/read_lines.h"

#define CALLS_MAX 5000000u
#define CALLS_LINE_BYTES 4096u /* of one row of the file */

#define CALLS_NAMED 5u /* rows left out that the report names one by one */

#define CALLS_UNKNOWN (-1)
#define CALLS_NOBODY UINT32_MAX

/* Times that are not known are CALLS_UNKNOWN. */
struct call {
    int64_t start_ms, end_ms; /* of the line; start <= end */
    uint32_t line;            /* index in lines */
    uint32_t row;             /* line of the file */
    /* The caller and the agents.  Unless queue_ms is known, it never got so far. */
    int64_t queue_ms;    /* asks for an agent */
    int64_t wait_ms;     /* until it was served or hung up */
    int64_t patience_ms; /* would hang up after this time */
    int64_t service_ms;
    uint32_t lane;  /* index in lanes */
    uint32_t agent; /* index in agents, CALLS_NOBODY: not known, or not served */
    uint16_t priority;
    bool waited; /* was not served at once */
    bool served; /* the recorded outcome, if calls.outcomes */
};

struct calls_line {
    struct usher_text name;
    uint32_t index;
};

struct calls_names {
    struct calls_line **name; /* in order of appearance */
    size_t n, room;
    void *by_name; /* of tsearch() */
};

/* Owns everything.  Zero it first. */
struct calls {
    struct call *call;
    size_t n, room;
    struct calls_names lines, lanes, agents;
    bool services;     /* it has the lengths of services: a queue can be replayed */
    bool outcomes;     /* it has the callers that were served, and their waits */
    uint64_t rows;     /* but for the header */
    uint64_t left_out; /* that are no calls */
    char *
        why[CALLS_NAMED]; /* of the first of those that make no sense, as messages of _read() are */
    size_t n_why;
    uint64_t backwards; /* with an exit noted before the entry */
    uint64_t midnight;  /* that ended on the next day */
};

enum calls_format { CALLS_GUESS, CALLS_CSV, CALLS_TECHNION };

/*
 * Read all of @l, sorted by (start, row).  A row of a CSV file that makes no sense is left out,
 * unless @strict.  False: @message says what is wrong, with the number of the line in front:
 * "12: arrival_ms is not a number".
 */
bool usher__calls_read(struct calls *c, struct lines *l, enum calls_format format, bool strict,
                       char message[CLI_MESSAGE_MAX]);
void usher__calls_done(struct calls *c);

/* The one called @name, NULL if there is none. */
const struct calls_line *usher__calls_name(const struct calls_names *names, const char *name,
                                           size_t size);
/* Its index; it is a new one, perhaps.  @name is a name, as the store has it. */
uint32_t usher__calls_index(struct calls_names *names, const char *name, size_t size);
void usher__calls_names_done(struct calls_names *names);

/* For the readers of formats: a call on @line, start <= end, of which no more is known;
 * *@ret_call may be completed.  NULL, or what is wrong. */
const char *usher__calls_add(struct calls *c, const char *line, size_t size, int64_t start_ms,
                             int64_t end_ms, uint64_t row, struct call **ret_call);

/* One format: rows as struct usher_text fields.  Statics of the readers are constants. */
#define CALLS_FIELDS_MAX 64u
struct calls_columns {
    size_t n;
    /* csv: where these columns are; SIZE_MAX: nowhere */
    size_t line, start, end, patience, service, priority, lane, wait, agent;
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
