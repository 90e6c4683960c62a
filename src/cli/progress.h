/* SPDX-License-Identifier: MIT */
/* The progress of long work: on standard error if that is a terminal, else nothing is printed. */
#ifndef USHER_CLI_PROGRESS_H
#define USHER_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what, *unit;
    bool on, shown;
    int64_t begin_ms;
    int64_t next_ms; /* time of the next update */
};

/* @unit of what is counted, in the plural; NULL: no rate is shown. */
void usher__progress_begin(struct progress *p, const char *what, const char *unit);
/* @total is 0 if it is not known. */
void usher__progress_show(struct progress *p, uint64_t done, uint64_t total);
/* The line of it, with the rate and the time left once a second has elapsed. */
#define PROGRESS_LINE 160
const char *usher__progress_line(char to[PROGRESS_LINE], const struct progress *p, uint64_t done,
                                 uint64_t total, int64_t elapsed_ms);
/* Erase the line. */
void usher__progress_end(struct progress *p);

/* CLOCK_MONOTONIC in microseconds. */
int64_t usher__clock_us(void);

#endif
