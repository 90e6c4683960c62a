/* SPDX-License-Identifier: MIT */
/*
 * usher trace: a made-up day of calls, as CSV (csv.c).
 *
 * The same options give the same bytes everywhere (random.h).
 *
 * A call takes the lowest free line, as in a group of trunks that is hunted from one end, so
 * the first lines have much to do and the last ones little.
 *
 * Arrivals follow the profile of the day: N of them drawn from it (--calls), or a Poisson
 * process with it as rate (--lambda), by thinning one of constant rate.  With --agents there
 * is no day: a Poisson process of constant rate goes on for as many calls as are asked for,
 * and who calls waits for an agent (trace_queue.c).
 */
#include "config.h"

#include "lab/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/calls.h"
#include "lab/heap.h"
#include "cli/parse.h"
#include "lab/random.h"
#include "lab/trace_queue.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define LINES_MAX 100000
#define SECONDS_MAX 86400
#define RATE_MAX 3600000 /* an hour: one a millisecond */
#define AGENTS_MAX 10000
#define LAMBDA_DEFAULT 100

/* Rate in each hour of the day, in percent of the mean; the sum is 2400. */
static const unsigned profile[24] = { 10,  6,   4,   4,   6,   14,  40,  110, 170, 210, 220, 200,
                                      180, 170, 180, 180, 170, 150, 120, 100, 70,  50,  24,  12 };
#define PROFILE_MAX 220u
#define PROFILE_SUM 2400u

/* ---- lines ------------------------------------------------------------------------ */

struct trunk {
    struct heap free, busy; /* keys are lines; at_ms is 0 in free */
};

/* The lowest free line for a call from @now_ms to @until_ms; 0: all are busy. */
static uint32_t take_line(struct trunk *t, int64_t now_ms, int64_t until_ms)
{
    uint64_t line;

    while (t->busy.n > 0 && t->busy.entry[0].at_ms <= now_ms)
        usher__heap_push(&t->free, 0, usher__heap_pop(&t->busy).key);
    if (t->free.n == 0)
        return 0;
    line = usher__heap_pop(&t->free).key;
    usher__heap_push(&t->busy, until_ms, line);
    return (uint32_t)line;
}

/* ---- the day ---------------------------------------------------------------------- */

struct day {
    int64_t calls, lines, lambda, agents; /* 0: not given */
    int64_t service_s, patience_s, mu, theta;
    int64_t service_ms, patience_ms; /* means */
    uint64_t seed;
    int64_t start_ms;
};

static int compare_times(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* @d->calls moments drawn from the profile. */
static int64_t *arrivals_drawn(const struct day *d, size_t *ret_n)
{
    struct random s = usher__random(d->seed, 1);
    size_t n = (size_t)d->calls;
    int64_t *at = usher__cli_resize(NULL, n * sizeof *at);

    for (size_t i = 0; i < n; i++) {
        uint64_t share = usher__random_below(&s, PROFILE_SUM);
        unsigned hour = 0;

        while (share >= profile[hour])
            share -= profile[hour++];
        at[i] = hour * HOUR_MS + (int64_t)usher__random_below(&s, HOUR_MS);
    }
    qsort(at, n, sizeof *at, compare_times);
    *ret_n = n;
    return at;
}

/* A Poisson process, in steps of a microsecond. */
static int64_t *arrivals_poisson(const struct day *d, size_t *ret_n)
{
    struct random s = usher__random(d->seed, 1);
    int64_t gap_us = HOUR_MS * 1000 * 100 / (d->lambda * PROFILE_MAX);
    size_t n = 0, room = 0;
    int64_t *at = NULL;

    for (int64_t now_us = 0;;) {
        now_us += usher__random_exponential(&s, gap_us);
        if (now_us >= DAY_MS * 1000)
            break;
        if (usher__random_below(&s, PROFILE_MAX) >= profile[now_us / 1000 / HOUR_MS])
            continue;
        if (n == room) {
            room = room * 2 + 1024;
            at = usher__cli_resize(at, room * sizeof *at);
        }
        at[n++] = now_us / 1000;
    }
    *ret_n = n;
    return at;
}

/* @d->calls of a Poisson process with the same rate all the time. */
static int64_t *arrivals_steady(const struct day *d, size_t *ret_n)
{
    struct random s = usher__random(d->seed, 1);
    size_t n = (size_t)d->calls;
    int64_t *at = usher__cli_resize(NULL, n * sizeof *at), now_us = 0;

    for (size_t i = 0; i < n; i++) {
        now_us += usher__random_exponential(&s, HOUR_MS * 1000 / d->lambda);
        at[i] = now_us / 1000;
    }
    *ret_n = n;
    return at;
}

/* 70, 20 and 10 of 100 */
static const char *lane_word(uint64_t share)
{
    return share < 70 ? "service" : share < 90 ? "sales" : "support";
}

/* Prints callers that wait for agents.  Returns the number that found no line. */
static uint64_t print_queue(const struct day *d, const int64_t *at, size_t n)
{
    struct random service = usher__random(d->seed, 2), patience = usher__random(d->seed, 3);
    struct random kind = usher__random(d->seed, 4);
    struct trace_caller *callers = usher__cli_resize(NULL, n * sizeof *callers);
    uint64_t id = 0, lost;

    memset(callers, 0, n * sizeof *callers);
    for (size_t i = 0; i < n; i++) {
        callers[i].arrival_ms = at[i];
        callers[i].service_ms = usher__random_exponential(&service, d->service_ms);
        callers[i].patience_ms = usher__random_exponential(&patience, d->patience_ms);
        callers[i].priority = usher__random_below(&kind, 100) < 15;
        callers[i].lane = (unsigned)usher__random_below(&kind, 100);
    }
    lost = usher__trace_queue(callers, n, d->agents, d->lines);
    puts("call,line,arrival_ms,patience_ms,service_ms,priority,lane,release_ms,wait_ms,agent");
    for (size_t i = 0; i < n; i++) {
        const struct trace_caller *c = &callers[i];

        if (c->lost)
            continue;
        printf("%" PRIu64 ",L%05" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%u,%s,%" PRId64
               ",%" PRId64 ",",
               ++id, c->line, d->start_ms + c->arrival_ms, c->patience_ms, c->service_ms,
               c->priority, lane_word(c->lane), d->start_ms + c->release_ms, c->wait_ms);
        if (c->agent != 0)
            printf("A%05" PRIu32, c->agent);
        putchar('\n');
    }
    (void)usher__cli_resize(callers, 0);
    return lost;
}

/* Returns how many calls found no line. */
static uint64_t print_day(const struct day *d, const int64_t *at, size_t n)
{
    struct random service = usher__random(d->seed, 2), patience = usher__random(d->seed, 3);
    struct random kind = usher__random(d->seed, 4);
    struct trunk t;
    uint64_t id = 0;

    memset(&t, 0, sizeof t);
    for (int64_t i = 1; i <= d->lines; i++)
        usher__heap_push(&t.free, 0, (uint64_t)i);

    puts("call,line,arrival_ms,patience_ms,service_ms,priority,lane,release_ms");
    for (size_t i = 0; i < n; i++) {
        int64_t service_ms = usher__random_exponential(&service, d->service_ms);
        int64_t patience_ms = usher__random_exponential(&patience, d->patience_ms);
        uint64_t priority = usher__random_below(&kind, 100), lane = usher__random_below(&kind, 100);
        uint32_t line = take_line(&t, at[i], at[i] + service_ms);

        if (line == 0)
            continue;
        printf("%" PRIu64 ",L%05" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%s,%" PRId64 "\n",
               ++id, line, d->start_ms + at[i], patience_ms, service_ms, priority < 15,
               lane_word(lane), d->start_ms + at[i] + service_ms);
    }
    usher__heap_done(&t.free);
    usher__heap_done(&t.busy);
    return n - id;
}

/* ---- options ---------------------------------------------------------------------- */

static bool start_option(const char *value, int64_t *ret_ms)
{
    char parts[3][8];
    int64_t part[3], day;

    /* YYYY-MM-DD, to the letter */
    if (strlen(value) != 10 || value[4] != '-' || value[7] != '-')
        return false;
    (void)snprintf(parts[0], sizeof parts[0], "%.4s", value);
    (void)snprintf(parts[1], sizeof parts[1], "%.2s", value + 5);
    (void)snprintf(parts[2], sizeof parts[2], "%.2s", value + 8);
    for (int i = 0; i < 3; i++)
        if (!usher__parse_int(parts[i], 0, 9999, &part[i]))
            return false;
    if (!usher__calls_day(part[0], part[1], part[2], &day))
        return false;
    *ret_ms = day * DAY_MS;
    return true;
}

static bool trace_option(struct day *d, const char *word, char message[CLI_MESSAGE_MAX])
{
    const struct {
        const char *key;
        int64_t *to;
        int64_t max;
    } numbers[] = {
        { "--calls", &d->calls, CALLS_MAX },
        { "--lines", &d->lines, LINES_MAX },
        { "--lambda", &d->lambda, 200000 }, /* a day of them is below CALLS_MAX */
        { "--service", &d->service_s, SECONDS_MAX },
        { "--patience", &d->patience_s, SECONDS_MAX },
        { "--mu", &d->mu, RATE_MAX },
        { "--theta", &d->theta, RATE_MAX },
        { "--agents", &d->agents, AGENTS_MAX },
    };
    char quoted[PARSE_QUOTE_MAX];
    const char *value;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        value = usher__key_value(word, numbers[i].key);
        if (value == NULL)
            continue;
        if (usher__parse_int(value, 1, numbers[i].max, numbers[i].to))
            return true;
        (void)snprintf(message, CLI_MESSAGE_MAX, "%s is not a number from 1 to %" PRId64,
                       numbers[i].key + 2, numbers[i].max);
        return false;
    }
    if ((value = usher__key_value(word, "--seed")) != NULL) {
        if (usher__parse_uint(value, &d->seed))
            return true;
        (void)snprintf(message, CLI_MESSAGE_MAX, "seed is not a number from 0 to %" PRIu64,
                       UINT64_MAX);
    } else if ((value = usher__key_value(word, "--start")) != NULL) {
        if (start_option(value, &d->start_ms))
            return true;
        (void)snprintf(message, CLI_MESSAGE_MAX, "start is not a day YYYY-MM-DD since 1970");
    } else {
        (void)snprintf(message, CLI_MESSAGE_MAX, "`%s` is not an argument of `trace`",
                       usher__quote(quoted, word));
    }
    return false;
}

/* Sets the options that were not given; refuses those that exclude each other. */
static const char *settle(struct day *d)
{
    static const int64_t years_h = INT64_C(100) * 365 * 24;

    if (d->agents == 0 && d->calls != 0 && d->lambda != 0)
        return "calls and lambda exclude each other";
    if (d->service_s != 0 && d->mu != 0)
        return "service and mu exclude each other";
    if (d->patience_s != 0 && d->theta != 0)
        return "patience and theta exclude each other";
    d->service_ms = d->mu != 0          ? (HOUR_MS + d->mu / 2) / d->mu
                    : d->service_s != 0 ? d->service_s * 1000
                                        : 180000;
    d->patience_ms = d->theta != 0        ? (HOUR_MS + d->theta / 2) / d->theta
                     : d->patience_s != 0 ? d->patience_s * 1000
                                          : 300000;
    if (d->lines == 0)
        d->lines = d->agents != 0 ? LINES_MAX : 50;
    if (d->lambda == 0)
        d->lambda = LAMBDA_DEFAULT;
    if (d->agents != 0 && d->calls == 0)
        d->calls = 24 * d->lambda;
    if (d->agents != 0 && d->calls / d->lambda > years_h)
        return "these calls take more than 100 years at this lambda: fewer calls, or a larger lambda";
    return NULL;
}

int usher__lab_trace(struct cli *cli, char *const *words, size_t n)
{
    struct day d = { .seed = 1 };
    char message[CLI_MESSAGE_MAX];
    const char *fault;
    int64_t *at;
    size_t n_at;
    uint64_t lost;
    bool drawn;

    if (cli->shell)
        return usher__cli_fail(cli, USHER_INVALID, "`trace` is not for the shell");
    (void)start_option("2024-01-01", &d.start_ms);
    for (size_t i = 1; i < n; i++)
        if (!trace_option(&d, words[i], message))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    drawn = d.calls != 0;
    fault = settle(&d);
    if (fault != NULL)
        return usher__cli_fail(cli, USHER_INVALID, "%s", fault);
    at = d.agents != 0 ? arrivals_steady(&d, &n_at)
         : drawn       ? arrivals_drawn(&d, &n_at)
                       : arrivals_poisson(&d, &n_at);
    lost = d.agents != 0 ? print_queue(&d, at, n_at) : print_day(&d, at, n_at);
    (void)usher__cli_resize(at, 0);
    if (lost > 0)
        fprintf(stderr, "usher: %" PRIu64 " calls found all lines busy and were left out\n", lost);
    return 0;
}
