/* SPDX-License-Identifier: MIT */
/* The series of a report as JSON. */
#include "config.h"

#include <inttypes.h>

#include "lab/replay_report.h"

static const char *const sides[SERIES_SIDES] = { "recorded", "replayed" };

static void null_json(struct json *j, const char *key)
{
    usher__json_key(j, key);
    fputs("null", j->out);
}

static void numbers_json(struct json *j, const char *key, const uint32_t *number, size_t n)
{
    usher__json_key(j, key);
    for (size_t i = 0; i < n; i++)
        fprintf(j->out, "%c%" PRIu32, i == 0 ? '[' : ',', number[i]);
    putc(']', j->out);
}

static void long_numbers_json(struct json *j, const char *key, const uint64_t *number, size_t n)
{
    usher__json_key(j, key);
    for (size_t i = 0; i < n; i++)
        fprintf(j->out, "%c%" PRIu64, i == 0 ? '[' : ',', number[i]);
    putc(']', j->out);
}

/* CALLS_UNKNOWN: null. */
static void times_json(struct json *j, const char *key, const int64_t *ms, size_t n)
{
    usher__json_key(j, key);
    for (size_t i = 0; i < n; i++) {
        putc(i == 0 ? '[' : ',', j->out);
        if (ms[i] == CALLS_UNKNOWN)
            fputs("null", j->out);
        else
            fprintf(j->out, "%" PRId64, ms[i]);
    }
    putc(']', j->out);
}

static void means_json(struct json *j, const char *key, const double *mean, size_t n)
{
    usher__json_key(j, key);
    for (size_t i = 0; i < n; i++)
        fprintf(j->out, "%c%.2f", i == 0 ? '[' : ',', mean[i]);
    putc(']', j->out);
}

static void day_json(struct json *j, const char *key, int64_t day)
{
    char text[SERIES_DAY_SIZE];

    usher__series_day_text(text, day);
    usher__json_text(j, key, text);
}

static void days_json(struct json *j, const struct series *s)
{
    usher__json_key(j, "days");
    putc('[', j->out);
    j->comma = false;
    for (size_t i = 0; i < s->n_days; i++) {
        const struct series_day *d = &s->day[i];

        usher__json_open(j, NULL);
        day_json(j, "day", d->day);
        usher__json_uint(j, "calls", d->calls);
        for (unsigned side = 0; side < SERIES_SIDES; side++) {
            const struct series_count *c = &d->count[side];

            if (!s->known[side]) {
                null_json(j, sides[side]);
                continue;
            }
            usher__json_open(j, sides[side]);
            usher__json_uint(j, "asked", c->asked);
            usher__json_uint(j, "served", c->served);
            usher__json_uint(j, "in_time", c->in_time);
            usher__json_uint(j, "abandoned", c->gave_up);
            numbers_json(j, "longest_queue", d->queue[side], SERIES_STEPS);
            usher__json_close(j);
        }
        usher__json_close(j);
    }
    putc(']', j->out);
    j->comma = true;
}

static void busiest_json(struct json *j, const struct series *s)
{
    usher__json_open(j, "busiest_day");
    day_json(j, "day", s->day[s->busiest].day);
    usher__json_int(j, "step", 86400000 / SERIES_FINE);
    numbers_json(j, "lines", s->lines, SERIES_FINE);
    if (s->known[REPLAYED])
        numbers_json(j, "on_duty", s->on_duty, SERIES_FINE);
    else
        null_json(j, "on_duty");
    for (unsigned side = 0; side < SERIES_SIDES; side++) {
        if (!s->known[side]) {
            null_json(j, sides[side]);
            continue;
        }
        usher__json_open(j, sides[side]);
        numbers_json(j, "waiting", s->waiting[side], SERIES_FINE);
        numbers_json(j, "talking", s->talking[side], SERIES_FINE);
        usher__json_close(j);
    }
    usher__json_close(j);
}

static void week_json(struct json *j, const struct series *s, unsigned side)
{
    usher__json_key(j, "week");
    for (unsigned day = 0; day < 7; day++) {
        putc(day == 0 ? '[' : ',', j->out);
        for (unsigned hour = 0; hour < 24; hour++) {
            const struct series_count *c = &s->week[side][day][hour];

            fprintf(j->out, "%c[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", hour == 0 ? '[' : ',',
                    c->asked, c->in_time, c->gave_up);
        }
        putc(']', j->out);
    }
    putc(']', j->out);
}

static void hazard_json(struct json *j, const struct series *s)
{
    usher__json_key(j, "giving_up");
    putc('[', j->out);
    j->comma = false;
    for (size_t i = 0; i < SERIES_HAZARD; i++) {
        const struct series_hazard *h = &s->hazard[i];

        usher__json_open(j, NULL);
        usher__json_int(j, "from", (int64_t)i * SERIES_HAZARD_MS);
        usher__json_int(j, "to", (int64_t)(i + 1) * SERIES_HAZARD_MS);
        usher__json_uint(j, "waiting", h->waiting);
        usher__json_uint(j, "hung_up", h->hung_up);
        usher__json_key(j, "share");
        fprintf(j->out, "%.4f", h->share);
        usher__json_key(j, "low");
        fprintf(j->out, "%.4f", h->low);
        usher__json_key(j, "high");
        fprintf(j->out, "%.4f", h->high);
        usher__json_close(j);
    }
    putc(']', j->out);
    j->comma = true;
}

void usher__series_json(struct json *j, const struct series *s)
{
    int64_t curve[SERIES_CURVE];
    uint32_t percents[SERIES_PERCENTS];

    for (size_t i = 0; i < SERIES_CURVE; i++)
        curve[i] = usher__series_curve_ms(i);
    for (size_t i = 0; i < SERIES_PERCENTS; i++)
        percents[i] = usher__series_percents[i];
    usher__json_open(j, "series");
    days_json(j, s);
    usher__json_uint(j, "days_left_out", s->days_left_out);
    usher__json_int(j, "step", 86400000 / SERIES_STEPS);
    busiest_json(j, s);
    times_json(j, "lines_busy", s->lines_busy, s->n_lines_busy);
    times_json(j, "waits_from", curve, SERIES_CURVE);
    numbers_json(j, "percents", percents, SERIES_PERCENTS);
    usher__json_uint(j, "busy_days", s->busy_days);
    if (s->known[REPLAYED])
        means_json(j, "on_duty", s->hour_on_duty, 24);
    else
        null_json(j, "on_duty");
    if (s->known[RECORDED])
        hazard_json(j, s);
    else
        null_json(j, "giving_up");
    for (unsigned side = 0; side < SERIES_SIDES; side++) {
        if (!s->known[side]) {
            null_json(j, sides[side]);
            continue;
        }
        usher__json_open(j, sides[side]);
        means_json(j, "talking", s->hour_talking[side], 24);
        week_json(j, s, side);
        long_numbers_json(j, "waited_longer", s->longer[side], SERIES_CURVE);
        times_json(j, "wait_served", s->served[side], SERIES_PERCENTS);
        times_json(j, "wait_abandoned", s->gave_up[side], SERIES_PERCENTS);
        usher__json_close(j);
    }
    usher__json_close(j);
}
