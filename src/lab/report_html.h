/* SPDX-License-Identifier: MIT */
/* The parts of a report as a page. */
#ifndef USHER_LAB_REPORT_HTML_H
#define USHER_LAB_REPORT_HTML_H

#include "lab/page.h"
#include "lab/replay_report.h"

struct report {
    struct page page;
    const struct calls *calls;
    const struct replay_result *result;
    struct series series;
    char within[PAGE_NUMBER]; /* "20 s" */
};

/* Callers that asked for an agent and got a line. */
uint64_t usher__report_asked(const struct report *r, enum series_side side);

/* Figures, each with its caption and a table. */
void usher__report_days(struct report *r);
void usher__report_busiest(struct report *r);
void usher__report_waits(struct report *r);
void usher__report_hazard(struct report *r);
void usher__report_week(struct report *r);
void usher__report_agents(struct report *r);
void usher__report_lines(struct report *r);
void usher__report_target(struct report *r);

#endif
