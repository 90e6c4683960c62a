/* SPDX-License-Identifier: MIT */
/*
 * Calls as `usher trace` writes them: a header with the names of the columns, in any order,
 * then a row a call.  Without quotes: no field of ours needs them.
 *
 *   line         the line it came in on
 *   arrival_ms   Unix milliseconds
 *   release_ms   when the line was free again
 *
 * are needed; with the next two the queue can be replayed
 *
 *   patience_ms  how long the caller would wait; empty: unknown
 *   service_ms   how long it takes to serve
 *   priority     0, 1 … (0)
 *   lane         which line of waiting people (default)
 *
 * and with these, what became of the caller is known:
 *
 *   wait_ms      until it was served, or hung up
 *   agent        who served it; empty: it hung up
 *
 * Other columns are skipped.
 */
#include "config.h"

#include "lab/calls.h"

#include <string.h>

#include "core/text.h"

#define CSV_NONE SIZE_MAX
#define CSV_SPAN_MAX INT64_C(31536000000) /* a year */

static bool csv_is(const struct usher_text *field, const char *name)
{
    return field->size == strlen(name) && memcmp(field->data, name, field->size) == 0;
}

const char *usher__csv_header(struct calls_columns *columns, const struct usher_text *fields,
                              size_t n)
{
    const struct {
        const char *name;
        size_t *at;
        const char *missing; /* NULL: need not be there */
    } names[] = {
        { "line", &columns->line, "the header has no column line" },
        { "arrival_ms", &columns->start, "the header has no column arrival_ms" },
        { "release_ms", &columns->end, "the header has no column release_ms" },
        { "patience_ms", &columns->patience, NULL },
        { "service_ms", &columns->service, NULL },
        { "priority", &columns->priority, NULL },
        { "lane", &columns->lane, NULL },
        { "wait_ms", &columns->wait, NULL },
        { "agent", &columns->agent, NULL },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].at = CSV_NONE;
        for (size_t j = 0; j < n; j++) {
            if (!csv_is(&fields[j], names[i].name))
                continue;
            if (*names[i].at != CSV_NONE)
                return "the header has a column twice";
            *names[i].at = j;
        }
        if (*names[i].at == CSV_NONE && names[i].missing != NULL)
            return names[i].missing;
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

/* The caller and the agents: @call asks for one as soon as it arrives. */
static const char *csv_queue(const struct calls_columns *columns, const struct usher_text *fields,
                             const struct usher_text *lane, struct call *call)
{
    int64_t priority = 0;

    if (!csv_time(&fields[columns->service], &call->service_ms) || call->service_ms > CSV_SPAN_MAX)
        return "service_ms is not a number from 0 to 31536000000";
    call->patience_ms = CALLS_UNKNOWN;
    if (fields[columns->patience].size > 0 &&
        (!csv_time(&fields[columns->patience], &call->patience_ms) ||
         call->patience_ms > CSV_SPAN_MAX))
        return "patience_ms is not a number from 0 to 31536000000";
    if (columns->priority != CSV_NONE &&
        (!csv_time(&fields[columns->priority], &priority) || priority > USHER_QUEUE_PRIORITY_MAX))
        return "priority is not a number from 0 to 1000";
    if (usher__name_fault(lane->data, lane->size) != NULL ||
        memchr(lane->data, ',', lane->size) != NULL || (lane->size == 1 && lane->data[0] == '*'))
        return "lane is not the name of one lane";
    call->priority = (uint16_t)priority;
    return NULL;
}

/* The outcome of the call. */
static const char *csv_outcome(const struct calls_columns *columns, const struct usher_text *fields,
                               struct call *call)
{
    const struct usher_text *agent = &fields[columns->agent];

    if (!csv_time(&fields[columns->wait], &call->wait_ms) || call->wait_ms > CSV_SPAN_MAX)
        return "wait_ms is not a number from 0 to 31536000000";
    call->served = agent->size > 0;
    call->waited = call->wait_ms > 0 || !call->served;
    if (!call->served && call->patience_ms == CALLS_UNKNOWN)
        call->patience_ms = call->wait_ms;
    if (call->served && usher__name_fault(agent->data, agent->size) != NULL)
        return "agent is too long or not UTF-8 without control characters";
    return NULL;
}

/* All of the row is looked at before any of it is kept: one that makes no sense leaves no trace. */
const char *usher__csv_row(struct calls *c, const struct calls_columns *columns,
                           const struct usher_text *fields, size_t n, uint64_t row)
{
    static const struct usher_text none = { "default", 7 };
    const struct usher_text *line = &fields[columns->line];
    const struct usher_text *lane = columns->lane != CSV_NONE ? &fields[columns->lane] : &none;
    bool queues = columns->service != CSV_NONE && columns->patience != CSV_NONE;
    bool tells = queues && columns->wait != CSV_NONE && columns->agent != CSV_NONE;
    struct call given = { 0 }, *call;
    int64_t start, end;
    const char *fault = NULL;

    (void)n; /* is columns->n */
    if (!csv_time(&fields[columns->start], &start))
        return "arrival_ms is not a number from 0 to 253402300799999";
    if (!csv_time(&fields[columns->end], &end))
        return "release_ms is not a number from 0 to 253402300799999";
    if (end < start)
        return "release_ms is before arrival_ms";
    given.wait_ms = CALLS_UNKNOWN;
    if (queues)
        fault = csv_queue(columns, fields, lane, &given);
    if (fault == NULL && tells)
        fault = csv_outcome(columns, fields, &given);
    if (fault == NULL)
        fault = usher__calls_add(c, line->data, line->size, start, end, row, &call);
    if (fault != NULL || !queues)
        return fault;
    call->queue_ms = start;
    call->wait_ms = given.wait_ms;
    call->patience_ms = given.patience_ms;
    call->service_ms = given.service_ms;
    call->priority = given.priority;
    call->waited = given.waited;
    call->served = given.served;
    call->lane = usher__calls_index(&c->lanes, lane->data, lane->size);
    if (given.served)
        call->agent = usher__calls_index(&c->agents, fields[columns->agent].data,
                                         fields[columns->agent].size);
    c->services = true;
    c->outcomes = c->outcomes || tells;
    return NULL;
}
