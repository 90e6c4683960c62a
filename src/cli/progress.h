/* SPDX-License-Identifier: MIT */
/* The progress of long work: on standard error if that is a terminal, else nothing is printed. */
#ifndef USHER_CLI_PROGRESS_H
#define USHER_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what;
    bool on, shown;
    int64_t next_ms; /* time of the next update */
};

void usher__progress_begin(struct progress *p, const char *what);
/* @total is 0 if it is not known. */
void usher__progress_show(struct progress *p, uint64_t done, uint64_t total);
/* Erase the line. */
void usher__progress_end(struct progress *p);

/* CLOCK_MONOTONIC in microseconds. */
int64_t usher__clock_us(void);

#endif
