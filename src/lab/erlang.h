/* SPDX-License-Identifier: MIT */
/* Erlang's models of a centre in steady state: exact, by recursion. */
#ifndef USHER_LAB_ERLANG_H
#define USHER_LAB_ERLANG_H

#include <stdint.h>

/* Rates are per second.  theta 0: callers wait without a limit (Erlang C); else Erlang A. */
struct erlang {
    double lambda; /* callers */
    double mu;     /* services of one agent */
    double theta;  /* hang-ups of one waiting caller */
};

struct erlang_level {
    double waits;   /* share of callers that is not served at once */
    double in_time; /* share served within the time asked for */
    double gave_up; /* share that hangs up */
};

/* The share of calls that finds all of @n lines busy (Erlang B). */
double usher__erlang_b(double offered, uint64_t n);

/* With @n agents.  In Erlang C with too few agents the queue grows for ever: all wait, and none is
 * served in time. */
struct erlang_level usher__erlang(const struct erlang *e, uint64_t n, double within_s);

#endif
