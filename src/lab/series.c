/* SPDX-License-Identifier: MIT */
/*
 * A series over time is a level (callers that wait, lines in use), made of changes in order of
 * time. At one moment what ends comes first.  A walk reads its most and its mean, step by step.
 */
#include "config.h"

#include "lab/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define STEP_MS (DAY_MS / SERIES_STEPS)
#define FINE_MS (DAY_MS / SERIES_FINE)

const unsigned usher__series_percents[SERIES_PERCENTS] = { 50, 80, 90, 95, 99, 100 };

int64_t usher__series_curve_ms(size_t i)
{
    return i < 30 ? (int64_t)i * 2000 : 60000 + (int64_t)(i - 30) * 10000;
}

/* ---- levels ------------------------------------------------------------------------- */

struct level_change {
    int64_t at_ms;
    int64_t by;
};

struct level {
    struct level_change *change;
    size_t n, room;
};

static void level_add(struct level *l, int64_t at_ms, int64_t by)
{
    if (l->n == l->room) {
        l->room = l->room * 2 + 1024;
        l->change = usher__cli_resize(l->change, l->room * sizeof *l->change);
    }
    l->change[l->n++] = (struct level_change){ at_ms, by };
}

static void level_span(struct level *l, int64_t from_ms, int64_t to_ms)
{
    if (to_ms <= from_ms)
        return;
    level_add(l, from_ms, 1);
    level_add(l, to_ms, -1);
}

static int compare_changes(const void *a, const void *b)
{
    const struct level_change *x = a, *y = b;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    return x->by < y->by ? -1 : x->by > y->by;
}

static void level_sort(struct level *l)
{
    if (l->n > 0)
        qsort(l->change, l->n, sizeof *l->change, compare_changes);
}

struct walk {
    const struct level *level;
    size_t next;
    int64_t now_ms, value;
    uint32_t most;
    double mean;
};

/* Advance to @end_ms; most and mean are those of the time since the last call. */
static void walk_to(struct walk *w, int64_t end_ms)
{
    int64_t begin_ms = w->now_ms, area = 0;

    w->most = (uint32_t)w->value;
    for (; w->next < w->level->n && w->level->change[w->next].at_ms < end_ms; w->next++) {
        const struct level_change *c = &w->level->change[w->next];

        if (c->at_ms > w->now_ms) {
            area += w->value * (c->at_ms - w->now_ms);
            w->now_ms = c->at_ms;
        }
        w->value += c->by;
        if (w->value > (int64_t)w->most)
            w->most = (uint32_t)w->value;
    }
    area += w->value * (end_ms - w->now_ms);
    w->now_ms = end_ms;
    w->mean = end_ms > begin_ms ? (double)area / (double)(end_ms - begin_ms) : 0;
}

/* The most in @n steps from @from_ms on. */
static void walk_steps(struct walk *w, int64_t from_ms, int64_t step_ms, size_t n, uint32_t *ret)
{
    walk_to(w, from_ms);
    for (size_t i = 0; i < n; i++) {
        walk_to(w, from_ms + (int64_t)(i + 1) * step_ms);
        ret[i] = w->most;
    }
}

/* ---- days --------------------------------------------------------------------------- */

static int64_t local_day(const struct series *s, int64_t ms)
{
    int64_t local = ms + s->zone_ms;

    return local >= 0 ? local / DAY_MS : (local - DAY_MS + 1) / DAY_MS;
}

static unsigned local_hour(const struct series *s, int64_t ms)
{
    return (unsigned)((ms + s->zone_ms - local_day(s, ms) * DAY_MS) / HOUR_MS);
}

static int64_t begin_of(const struct series *s, size_t i)
{
    return s->day[i].day * DAY_MS - s->zone_ms;
}

void usher__series_day_text(char to[SERIES_DAY_SIZE], int64_t day)
{
    char text[CLI_TIME_MAX];

    usher__time_text(text, day * DAY_MS);
    (void)snprintf(to, SERIES_DAY_SIZE, "%.10s", text);
}

/* Calls are in order of their start. */
static void days_find(struct series *s, const struct calls *calls)
{
    int64_t last = INT64_MIN;

    s->day = usher__cli_resize(NULL, SERIES_DAYS_MAX * sizeof *s->day);
    for (size_t i = 0; i < calls->n; i++) {
        int64_t day = local_day(s, calls->call[i].start_ms);

        if (day != last) {
            if (s->n_days == SERIES_DAYS_MAX) {
                s->days_left_out++;
                last = day;
                continue;
            }
            memset(&s->day[s->n_days], 0, sizeof *s->day);
            s->day[s->n_days++].day = day;
            last = day;
        }
        if (s->days_left_out == 0)
            s->day[s->n_days - 1].calls++;
    }
    for (size_t i = 1; i < s->n_days; i++)
        if (s->day[i].calls > s->day[s->busiest].calls)
            s->busiest = i;
}

static struct series_day *day_of(struct series *s, int64_t ms)
{
    int64_t day = local_day(s, ms);
    size_t from = 0, to = s->n_days;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (s->day[middle].day < day)
            from = middle + 1;
        else
            to = middle;
    }
    return from < s->n_days && s->day[from].day == day ? &s->day[from] : NULL;
}

static void count_add(struct series_count *c, const struct replay_caller *caller, int64_t within_ms)
{
    c->asked++;
    c->served += caller->state == WAS_SERVED;
    c->in_time += caller->state == WAS_SERVED && caller->wait_ms <= within_ms;
    c->gave_up += caller->state == HUNG_UP;
}

/* ---- waits -------------------------------------------------------------------------- */

static int compare_waits(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The waits of callers in @state, in order; the caller frees them. */
static int64_t *waits_of(const struct calls *calls, const struct replay_caller *callers,
                         enum replay_fate state, size_t *ret_n)
{
    int64_t *waits = usher__cli_resize(NULL, calls->n * sizeof *waits);
    size_t n = 0;

    for (size_t i = 0; i < calls->n; i++)
        if (callers[i].state == state)
            waits[n++] = callers[i].wait_ms;
    if (n > 0)
        qsort(waits, n, sizeof *waits, compare_waits);
    *ret_n = n;
    return waits;
}

static void percentiles(const int64_t *waits, size_t n, int64_t ret[SERIES_PERCENTS])
{
    for (size_t i = 0; i < SERIES_PERCENTS; i++)
        ret[i] = n > 0 ? waits[(n * usher__series_percents[i] + 99) / 100 - 1] : CALLS_UNKNOWN;
}

static void waits_add(struct series *s, const struct calls *calls,
                      const struct replay_caller *callers, enum series_side side)
{
    size_t n, k = 0;
    int64_t *waits = waits_of(calls, callers, WAS_SERVED, &n);

    percentiles(waits, n, s->served[side]);
    s->n_served[side] = n;
    for (size_t i = 0; i < SERIES_CURVE; i++) {
        while (k < n && waits[k] <= usher__series_curve_ms(i))
            k++;
        s->longer[side][i] = n - k;
    }
    (void)usher__cli_resize(waits, 0);
    waits = waits_of(calls, callers, HUNG_UP, &n);
    percentiles(waits, n, s->gave_up[side]);
    s->n_gave_up[side] = n;
    (void)usher__cli_resize(waits, 0);
}

static void hazard_add(struct series *s, const struct calls *calls,
                       const struct replay_caller *callers)
{
    for (size_t i = 0; i < calls->n; i++) {
        int64_t wait_ms = callers[i].wait_ms;

        if (callers[i].state == OUTSIDE || wait_ms == 0)
            continue;
        for (size_t k = 0; k < SERIES_HAZARD; k++) {
            int64_t from_ms = (int64_t)k * SERIES_HAZARD_MS;

            s->hazard[k].waiting += wait_ms >= from_ms;
            s->hazard[k].hung_up += callers[i].state == HUNG_UP && wait_ms >= from_ms &&
                                    wait_ms < from_ms + SERIES_HAZARD_MS;
        }
    }
    for (size_t k = 0; k < SERIES_HAZARD; k++) {
        struct series_hazard *h = &s->hazard[k];
        double bound;

        if (h->waiting == 0)
            continue;
        h->share = (double)h->hung_up / (double)h->waiting;
        bound = 1.96 * sqrt(h->share * (1 - h->share) / (double)h->waiting);
        h->low = h->share > bound ? h->share - bound : 0;
        h->high = h->share + bound < 1 ? h->share + bound : 1;
    }
}

/* ---- by time ------------------------------------------------------------------------ */

static bool is_busy(const struct series *s, size_t i)
{
    return s->day[i].calls * 2 >= s->day[s->busiest].calls;
}

/* The means by hour over the busy days. */
static void hours_add(const struct series *s, const struct level *l, double ret[24])
{
    struct walk w = { .level = l, .now_ms = begin_of(s, 0) };

    for (size_t i = 0; i < s->n_days; i++) {
        if (!is_busy(s, i))
            continue;
        walk_to(&w, begin_of(s, i));
        for (unsigned hour = 0; hour < 24; hour++) {
            walk_to(&w, begin_of(s, i) + (int64_t)(hour + 1) * HOUR_MS);
            ret[hour] += w.mean / (double)s->busy_days;
        }
    }
}

static void fine_add(const struct series *s, const struct level *l, uint32_t ret[SERIES_FINE])
{
    struct walk w = { .level = l, .now_ms = begin_of(s, 0) };

    walk_steps(&w, begin_of(s, s->busiest), FINE_MS, SERIES_FINE, ret);
}

static void side_add(struct series *s, const struct calls *calls,
                     const struct replay_caller *callers, enum series_side side, int64_t within_ms)
{
    struct level waiting = { 0 }, talking = { 0 };
    struct walk w = { .level = &waiting, .now_ms = begin_of(s, 0) };

    s->known[side] = true;
    for (size_t i = 0; i < calls->n; i++) {
        const struct replay_caller *caller = &callers[i];
        int64_t asked_ms = calls->call[i].queue_ms, until_ms;
        struct series_day *day;

        if (caller->state == OUTSIDE)
            continue;
        until_ms = asked_ms + caller->wait_ms;
        day = day_of(s, asked_ms);
        if (day != NULL)
            count_add(&day->count[side], caller, within_ms);
        count_add(&s->week[side][(local_day(s, asked_ms) + 3) % 7][local_hour(s, asked_ms)], caller,
                  within_ms);
        if (caller->state != OUT_OF_HOURS)
            level_span(&waiting, asked_ms, until_ms);
        if (caller->state == WAS_SERVED && caller->service_ms > 0)
            level_span(&talking, until_ms, until_ms + caller->service_ms);
    }
    level_sort(&waiting);
    level_sort(&talking);
    for (size_t i = 0; i < s->n_days; i++)
        walk_steps(&w, begin_of(s, i), STEP_MS, SERIES_STEPS, s->day[i].queue[side]);
    fine_add(s, &waiting, s->waiting[side]);
    fine_add(s, &talking, s->talking[side]);
    hours_add(s, &talking, s->hour_talking[side]);
    waits_add(s, calls, callers, side);
    (void)usher__cli_resize(waiting.change, 0);
    (void)usher__cli_resize(talking.change, 0);
}

static void duty_add(struct series *s, const struct replay_plan *plan)
{
    struct level on_duty = { 0 };
    uint64_t last = 0;

    for (size_t i = 0; i < plan->n_duty; i++) {
        level_add(&on_duty, plan->duty[i].at_ms, (int64_t)plan->duty[i].n - (int64_t)last);
        last = plan->duty[i].n;
    }
    level_sort(&on_duty);
    fine_add(s, &on_duty, s->on_duty);
    hours_add(s, &on_duty, s->hour_on_duty);
    (void)usher__cli_resize(on_duty.change, 0);
}

static void lines_add(struct series *s, const struct calls *calls)
{
    struct level lines = { 0 };
    size_t busy = 0, most = 0;

    for (size_t i = 0; i < calls->n; i++)
        level_span(&lines, calls->call[i].start_ms, calls->call[i].end_ms);
    level_sort(&lines);
    fine_add(s, &lines, s->lines);
    for (size_t i = 0; i < lines.n; i++) {
        busy += (size_t)lines.change[i].by;
        most = busy > most ? busy : most;
    }
    s->n_lines_busy = most + 1;
    s->lines_busy = usher__cli_resize(NULL, s->n_lines_busy * sizeof *s->lines_busy);
    memset(s->lines_busy, 0, s->n_lines_busy * sizeof *s->lines_busy);
    for (size_t i = 0; i < lines.n; i++) {
        busy += (size_t)lines.change[i].by;
        if (i + 1 < lines.n)
            s->lines_busy[busy] += lines.change[i + 1].at_ms - lines.change[i].at_ms;
    }
    (void)usher__cli_resize(lines.change, 0);
}

void usher__series(const struct calls *calls, const struct replay_caller *recorded,
                   const struct replay_plan *plan, int64_t zone_min, int64_t within_ms,
                   struct series *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->zone_ms = zone_min * 60000;
    days_find(ret, calls);
    for (size_t i = 0; i < ret->n_days; i++)
        ret->busy_days += is_busy(ret, i);
    lines_add(ret, calls);
    if (recorded != NULL) {
        side_add(ret, calls, recorded, RECORDED, within_ms);
        hazard_add(ret, calls, recorded);
    }
    if (plan->calls != NULL) {
        side_add(ret, calls, plan->callers, REPLAYED, within_ms);
        duty_add(ret, plan);
    }
}

void usher__series_done(struct series *s)
{
    (void)usher__cli_resize(s->day, 0);
    (void)usher__cli_resize(s->lines_busy, 0);
    memset(s, 0, sizeof *s);
}
