/* SPDX-License-Identifier: MIT */
/* Counters of the server, for INFO and for /metrics. */
#ifndef USHER_SERVE_METRICS_H
#define USHER_SERVE_METRICS_H

#include <stdint.h>

#include <usher/usher.h>

#include "serve/output.h"

#define FIGURES_NOUNS 9 /* more than the largest code */
#define FIGURES_VERBS 32
#define FIGURES_STATUSES 12
#define FIGURES_BOUNDS 12 /* of seconds */

struct figures {
    int64_t began_ms;
    uint64_t clients;                        /* that there are */
    uint64_t accepted, rejected;             /* rejected: there were too many */
    uint64_t slow, idle, protocol, unwanted; /* closed: by what; unwanted: wrong passwords */
    uint64_t rounds, commands, invalid;      /* invalid: no command of the store at all */
    uint64_t subscriptions, notices, gaps;   /* sent */
    uint64_t tended;                         /* scopes that change in time */
    uint64_t viewers;                        /* streams of /events */
    uint64_t scrapes;                        /* with posted commands that have no reply */
    uint64_t out_bytes, out_most;            /* waiting for readers now, and for one of them */
    uint64_t by[FIGURES_NOUNS][FIGURES_VERBS][FIGURES_STATUSES];
    uint64_t within[FIGURES_BOUNDS + 1]; /* commands, by time from having been read to the answer */
    uint64_t micros;                     /* of all of them */
};

void usher__figures_count(struct figures *f, uint32_t verb, enum usher_status status);
/* @n commands took @us. */
void usher__figures_took(struct figures *f, int64_t us, uint64_t n);

/* As INFO has it, and in the text format of Prometheus. */
void usher__figures_info(const struct figures *f, int64_t now_ms, uint64_t clients_max,
                         struct out *to);
void usher__figures_metrics(struct usher_engine *e, const struct figures *f, struct out *to);

#endif
