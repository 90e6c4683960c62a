/* SPDX-License-Identifier: MIT */
/*
 * The search starts at the answer of Erlang A.  From there it takes steps of 1, 2, 4, ... agents up
 * or down until the answer is between two numbers, and then halves.  Each number that is tried is
 * a replay on a queue in memory.  Some numbers around the answer are replayed as well, so that a
 * curve can be drawn.
 */
#include "config.h"

#include "lab/staffing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "lab/replay_figures.h"

#define HOUR_MS INT64_C(3600000)
#define AROUND 3u /* numbers on each side of the answer */

/* ---- load --------------------------------------------------------------------------- */

static int compare_hours(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int compare_loads(const void *a, const void *b)
{
    const struct staffing_hour *x = a, *y = b;

    return x->callers < y->callers ? -1 : x->callers > y->callers;
}

/* Join the entries with the same number of callers; returns how many are left. */
static size_t join_hours(struct staffing_hour *hour, size_t n)
{
    size_t left = 0;

    if (n > 0)
        qsort(hour, n, sizeof *hour, compare_loads);
    for (size_t i = 0; i < n; i++)
        if (left > 0 && hour[left - 1].callers == hour[i].callers)
            hour[left - 1].hours += hour[i].hours;
        else
            hour[left++] = hour[i];
    return left;
}

/* @hours, which get sorted, as entries; returns how many. */
static size_t count_hours(int64_t *hours, size_t n, struct staffing_hour *ret)
{
    size_t entries = 0;

    if (n > 0)
        qsort(hours, n, sizeof *hours, compare_hours);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i; next < n && hours[next] == hours[i]; next++)
            ;
        ret[entries++] = (struct staffing_hour){ next - i, 1 };
    }
    return join_hours(ret, entries);
}

void usher__load(const struct calls *calls, const bool *no_line, double theta,
                 struct staffing_load *ret)
{
    int64_t *hours = usher__cli_resize(NULL, calls->n * sizeof *hours), service_ms = 0, served = 0;
    size_t n = 0;

    memset(ret, 0, sizeof *ret);
    ret->hour = usher__cli_resize(NULL, calls->n * sizeof *ret->hour);
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->call[i];

        if (call->service_ms != CALLS_UNKNOWN) {
            service_ms += call->service_ms;
            served++;
        }
        if (call->queue_ms != CALLS_UNKNOWN && (no_line == NULL || !no_line[i]))
            hours[n++] = call->queue_ms / HOUR_MS;
    }
    ret->asked = n;
    ret->n = count_hours(hours, n, ret->hour);
    /* a mean below a millisecond is one */
    ret->mu = service_ms > served ? (double)served * 1000 / (double)service_ms : 1000;
    ret->theta = theta;
    (void)usher__cli_resize(hours, 0);
}

void usher__load_done(struct staffing_load *load)
{
    (void)usher__cli_resize(load->hour, 0);
    memset(load, 0, sizeof *load);
}

struct erlang_level usher__load_level(const struct staffing_load *load, uint64_t agents,
                                      double within_s, bool patient)
{
    struct erlang_level sum = { 0, 0, 0 };

    for (size_t i = 0; i < load->n; i++) {
        const struct staffing_hour *h = &load->hour[i];
        struct erlang e = { (double)h->callers / 3600, load->mu, patient ? 0 : load->theta };
        struct erlang_level level = usher__erlang(&e, agents, within_s);
        double weight = (double)h->callers * (double)h->hours / (double)load->asked;

        sum.waits += weight * level.waits;
        sum.in_time += weight * level.in_time;
        sum.gave_up += weight * level.gave_up;
    }
    return sum;
}

double usher__load_blocked(const struct calls *calls, uint64_t lines)
{
    double blocked = 0, held_s = 0;
    size_t first = 0;

    /* calls are sorted by their start */
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->call[i];
        size_t next = i + 1;

        held_s += (double)(call->end_ms - call->start_ms) / 1000;
        if (next < calls->n && calls->call[next].start_ms / HOUR_MS == call->start_ms / HOUR_MS)
            continue;
        blocked += (double)(next - first) * usher__erlang_b(held_s / 3600, lines);
        first = next;
        held_s = 0;
    }
    return blocked / (double)calls->n;
}

/* The smallest number of agents that is enough by a model. */
static uint64_t by_model(const struct staffing_load *load, const struct staffing *s, bool patient)
{
    double share = (double)s->percent / 100, within_s = (double)s->within_ms / 1000;
    uint64_t from = 0, to = 1;

    while (usher__load_level(load, to, within_s, patient).in_time < share) {
        if (to == STAFFING_AGENTS_MAX)
            return 0;
        from = to;
        to = 2 * to < STAFFING_AGENTS_MAX ? 2 * to : STAFFING_AGENTS_MAX;
    }
    while (to - from > 1) {
        uint64_t middle = from + (to - from) / 2;

        if (usher__load_level(load, middle, within_s, patient).in_time < share)
            from = middle;
        else
            to = middle;
    }
    return to;
}

/* ---- replays ------------------------------------------------------------------------ */

struct search {
    const struct calls *calls;
    struct replay_scenario scenario;
    struct staffing_load load;
    struct staffing *s;
    struct progress progress;
    enum usher_status *failed;
    char *message;
};

static bool reaches(const struct staffing *s, const struct staffing_point *p)
{
    return (double)p->in_time * 100 >= (double)s->percent * (double)s->asked;
}

/* The place of @agents among the points. */
static size_t find_point(const struct staffing *s, uint64_t agents)
{
    size_t i = 0;

    while (i < s->n && s->point[i].agents < agents)
        i++;
    return i;
}

/* Replay with @agents, unless that was done.  *@ret: they are enough. */
static bool try_agents(struct search *search, uint64_t agents, bool *ret)
{
    struct staffing *s = search->s;
    size_t at = find_point(s, agents);
    double within_s = (double)s->within_ms / 1000;
    struct staffing_point point;
    struct replay_centre centre;
    struct replay_plan plan;
    bool good;

    if (at < s->n && s->point[at].agents == agents) {
        *ret = reaches(s, &s->point[at]);
        return true;
    }
    usher__progress_show(&search->progress, agents, 0);
    search->scenario.agents = (int64_t)agents;
    good = usher__replay_plan(search->calls, "target", &search->scenario, &plan, search->failed,
                              search->message);
    if (good) {
        usher__replay_figures(search->calls, plan.callers, s->within_ms, &centre);
        point = (struct staffing_point){ agents,
                                         centre.in_time,
                                         centre.hung_up,
                                         centre.ninety_ms,
                                         usher__load_level(&search->load, agents, within_s, false),
                                         usher__load_level(&search->load, agents, within_s, true) };
        if (s->n == s->room) {
            s->room = s->room * 2 + 16;
            s->point = usher__cli_resize(s->point, s->room * sizeof *s->point);
        }
        memmove(&s->point[at + 1], &s->point[at], (s->n - at) * sizeof *s->point);
        s->point[at] = point;
        s->n++;
        *ret = reaches(s, &point);
    }
    usher__replay_plan_done(&plan);
    return good;
}

/* *@ret_from agents are not enough (0: not tried), *@ret_to are (0: none are). */
static bool enclose(struct search *search, uint64_t start, uint64_t *ret_from, uint64_t *ret_to)
{
    uint64_t from = 0, to = 0, step = 1, agents = start;
    bool enough;

    for (;; step *= 2) {
        if (!try_agents(search, agents, &enough))
            return false;
        if (enough)
            to = agents;
        else
            from = agents;
        if ((from > 0 && to > 0) || (enough && agents == 1))
            break;
        if (!enough && agents == STAFFING_AGENTS_MAX)
            break;
        if (enough)
            agents = agents > step ? agents - step : 1;
        else
            agents = agents + step < STAFFING_AGENTS_MAX ? agents + step : STAFFING_AGENTS_MAX;
    }
    *ret_from = from;
    *ret_to = to;
    return true;
}

static bool replay_all(struct search *search)
{
    struct staffing *s = search->s;
    uint64_t from, to, last;
    bool enough;

    if (!enclose(search, s->erlang_a > 0 ? s->erlang_a : STAFFING_AGENTS_MAX, &from, &to))
        return false;
    while (to > 0 && to - from > 1) {
        uint64_t middle = from + (to - from) / 2;

        if (!try_agents(search, middle, &enough))
            return false;
        if (enough)
            to = middle;
        else
            from = middle;
    }
    s->agents = to;
    last = to + AROUND < STAFFING_AGENTS_MAX ? to + AROUND : STAFFING_AGENTS_MAX;
    for (uint64_t agents = to > AROUND ? to - AROUND : 1; to > 0 && agents <= last; agents++)
        if (!try_agents(search, agents, &enough))
            return false;
    return true;
}

bool usher__staffing(const struct calls *calls, const struct replay_scenario *scenario,
                     double theta, struct staffing *s, enum usher_status *ret_status,
                     char ret_message[CLI_MESSAGE_MAX])
{
    struct search search = { .calls = calls, .scenario = *scenario, .s = s };
    bool good;

    search.failed = ret_status;
    search.message = ret_message;
    usher__load(calls, scenario->no_line, theta, &search.load);
    s->asked = search.load.asked;
    if (s->asked == 0) {
        usher__load_done(&search.load);
        return true;
    }
    s->erlang_a = by_model(&search.load, s, false);
    s->erlang_c = by_model(&search.load, s, true);
    usher__progress_begin(&search.progress, "target: agents", NULL);
    good = replay_all(&search);
    usher__progress_end(&search.progress);
    usher__load_done(&search.load);
    return good;
}

void usher__staffing_done(struct staffing *s)
{
    (void)usher__cli_resize(s->point, 0);
    memset(s, 0, sizeof *s);
}
