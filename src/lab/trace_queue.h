/* SPDX-License-Identifier: MIT */
/* A made-up call centre in which callers wait for agents, for `usher trace --agents=N`. */
#ifndef USHER_LAB_TRACE_QUEUE_H
#define USHER_LAB_TRACE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_caller {
    /* given */
    int64_t arrival_ms, patience_ms, service_ms;
    unsigned priority; /* 0 or 1 */
    unsigned lane;     /* for the caller of trace_queue() */
    /* what came of it */
    bool lost;      /* all lines were busy */
    uint32_t line;  /* from 1; held until release */
    uint32_t agent; /* from 1; 0: hung up */
    int64_t wait_ms, release_ms;
};

/*
 * Let @n callers, in order of arrival, wait for @agents agents that serve all lanes: priority 1
 * before 0, then first come first served; the agent idle for longest takes a caller.  At one
 * moment, ends of service come first, then hang-ups, then arrivals.  @lines lines, the lowest
 * free one first; a caller that finds none is lost.  Returns the number of lost ones.
 */
uint64_t usher__trace_queue(struct trace_caller *callers, size_t n, int64_t agents, int64_t lines);

#endif
