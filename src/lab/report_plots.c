/* SPDX-License-Identifier: MIT */
/* The plots of a report: the record is orange and dashed, the replay blue. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report_html.h"

#define TEXT_SIZE 512
#define DASH "\xe2\x80\x93"
#define HOUR_STEPS (SERIES_FINE / 24)
#define CALLERS_FEW 10   /* a share of fewer is not drawn */
#define WAITING_FEW 30   /* of those that still wait */
#define WORST_CALLERS 20 /* at least, in the worst hour */

static const char *const weekdays[7] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
static const char *const line_class[SERIES_SIDES] = { "rl", "pl" };
static const char *const area_class[SERIES_SIDES] = { "raf", "paf" };
static const char *const side_name[SERIES_SIDES] = { "recorded", "replayed" };

static unsigned weekday(int64_t day)
{
    return (unsigned)((day + 3) % 7);
}

static void legend(struct report *r, bool duty)
{
    fputs("<p class=\"key\">", r->page.out);
    for (unsigned side = 0; side < SERIES_SIDES; side++)
        if (r->series.known[side])
            fprintf(r->page.out,
                    "<span><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"%s\" "
                    "d=\"M0 5H26\"/></svg>%s</span>",
                    line_class[side], side_name[side]);
    if (duty && r->series.known[REPLAYED])
        fputs(
            "<span><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"gl\" d=\"M0 5H26\"/>"
            "</svg>on duty</span>",
            r->page.out);
    fputs("</p>\n", r->page.out);
}

static void figure_begin(struct report *r, const char *class)
{
    fprintf(r->page.out, "<figure%s>", class);
}

static void caption_begin(struct report *r)
{
    fputs("<figcaption>", r->page.out);
}

static void table_begin(struct report *r, const char *heads)
{
    fputs("</figcaption><details><summary>As a table</summary>", r->page.out);
    usher__page_table(&r->page, "", heads);
}

static void figure_end(struct report *r)
{
    usher__page_table_end(&r->page);
    fputs("</details></figure>\n", r->page.out);
}

static uint32_t most_of(const uint32_t *number, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = number[i] > most ? number[i] : most;
    return most;
}

/* ---- day by day --------------------------------------------------------------------- */

#define CALENDAR_WIDTH 1120
#define CALENDAR_LEFT 62
#define CELL_WIDTH ((CALENDAR_WIDTH - CALENDAR_LEFT) / 7.0)
#define CELL_HEIGHT 110.0
#define CELL_TOP 24

/* The queue of one day, up or down from the middle of its cell. */
static void cell_side(struct report *r, const struct series_day *d, unsigned side, double x,
                      double middle, double scale)
{
    double width = (CELL_WIDTH - 8) / SERIES_STEPS;
    uint32_t last = 0;
    unsigned run = 0;

    fprintf(r->page.out, "<path class=\"%s\" d=\"M%.1f %.1f", side == RECORDED ? "ra" : "pa", x + 4,
            middle);
    for (unsigned i = 0; i < SERIES_STEPS; i++) {
        uint32_t queue = d->queue[side][i];

        if (queue != last) {
            fprintf(r->page.out, "h%.2fV%.1f", run * width,
                    middle + (side == RECORDED ? -scale : scale) * queue);
            run = 0;
        }
        last = queue;
        run++;
    }
    fprintf(r->page.out, "h%.2fV%.1fZ\"/>", run * width, middle);
}

static void calendar(struct report *r, uint32_t most)
{
    const struct series *s = &r->series;
    double scale = CELL_HEIGHT * 0.40 / (most > 0 ? most : 1);
    int64_t monday = INT64_MIN;
    unsigned row = 0;

    for (size_t i = 0; i < s->n_days; i++) {
        const struct series_day *d = &s->day[i];
        double x = CALENDAR_LEFT + weekday(d->day) * CELL_WIDTH, y, middle;
        char day[SERIES_DAY_SIZE], calls[PAGE_NUMBER];

        if (d->day - weekday(d->day) != monday) {
            row += monday != INT64_MIN;
            monday = d->day - weekday(d->day);
            usher__series_day_text(day, monday);
            fprintf(r->page.out, "<text x=\"%d\" y=\"%.1f\" class=\"e l\">%s</text>",
                    CALENDAR_LEFT - 6, CELL_TOP + (row + 0.52) * CELL_HEIGHT + 4, day + 5);
        }
        y = CELL_TOP + row * CELL_HEIGHT;
        middle = y + CELL_HEIGHT * 0.55;
        for (unsigned side = 0; side < SERIES_SIDES; side++)
            if (s->known[side])
                cell_side(r, d, side, x, middle, scale);
        usher__series_day_text(day, d->day);
        fprintf(
            r->page.out,
            "<path class=\"ax\" d=\"M%.1f %.1fh%.1f\"/><text x=\"%.1f\" y=\"%.1f\" class=\"b2\">"
            "%s<tspan class=\"l\" dx=\"8\">%s</tspan></text>",
            x + 4, middle, CELL_WIDTH - 8, x + 6, y + 12, day + 8,
            usher__page_count(calls, d->calls));
    }
}

static unsigned weeks(const struct series *s)
{
    unsigned n = 0;

    for (size_t i = 0; i < s->n_days; i++)
        n += i == 0 || s->day[i].day - weekday(s->day[i].day) !=
                           s->day[i - 1].day - weekday(s->day[i - 1].day);
    return n;
}

void usher__report_days(struct report *r)
{
    const struct series *s = &r->series;
    uint32_t most[SERIES_SIDES] = { 0, 0 };
    struct plot plot = { .w = CALENDAR_WIDTH, .h = CELL_TOP + weeks(s) * CELL_HEIGHT };
    char desc[TEXT_SIZE], day[SERIES_DAY_SIZE], x[PAGE_NUMBER];

    for (size_t i = 0; i < s->n_days; i++)
        for (unsigned side = 0; side < SERIES_SIDES; side++) {
            uint32_t queue = most_of(s->day[i].queue[side], SERIES_STEPS);

            most[side] = queue > most[side] ? queue : most[side];
        }
    legend(r, false);
    (void)snprintf(desc, sizeof desc,
                   "A panel for each day: recorded above the line, replayed below it. The longest "
                   "recorded queue is %" PRIu32 ", the longest replayed %" PRIu32 ".",
                   most[RECORDED], most[REPLAYED]);
    figure_begin(r, "");
    usher__plot_begin(&r->page, &plot, "Longest queue in each half hour of each day", desc);
    for (unsigned i = 0; i < 7; i++)
        fprintf(r->page.out, "<text x=\"%.1f\" y=\"14\" class=\"c l\">%s</text>",
                CALENDAR_LEFT + (i + 0.5) * CELL_WIDTH, weekdays[i]);
    calendar(r, most[RECORDED] > most[REPLAYED] ? most[RECORDED] : most[REPLAYED]);
    usher__plot_end(&r->page);
    caption_begin(r);
    usher__series_day_text(day, s->day[s->busiest].day);
    fprintf(
        r->page.out,
        "Longest queue of each half hour: recorded upwards, replayed downwards, both to one scale "
        "(most: %" PRIu32 " and %" PRIu32 "). The day of the month and its calls are in the "
        "corner. The busiest day is %s with %s calls.",
        most[RECORDED], most[REPLAYED], day, usher__page_count(x, s->day[s->busiest].calls));
    if (s->days_left_out > 0)
        fprintf(r->page.out, " %s further days are left out.",
                usher__page_count(x, s->days_left_out));
    table_begin(r, "day\tcalls\tlongest queue recorded\treplayed\thung up recorded\treplayed");
    for (size_t i = 0; i < s->n_days; i++) {
        const struct series_day *d = &s->day[i];

        usher__series_day_text(day, d->day);
        usher__page_row(
            &r->page, "%s %s\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64,
            weekdays[weekday(d->day)], day, d->calls, most_of(d->queue[RECORDED], SERIES_STEPS),
            most_of(d->queue[REPLAYED], SERIES_STEPS), d->count[RECORDED].gave_up,
            d->count[REPLAYED].gave_up);
    }
    figure_end(r);
}

/* ---- the busiest day ---------------------------------------------------------------- */

/* The hours from the first to the last in which anything is: *@from < *@to. */
static void active_hours(const uint32_t *const *series, size_t n, unsigned *from, unsigned *to)
{
    *from = 24;
    *to = 0;
    for (size_t k = 0; k < n; k++)
        for (unsigned i = 0; i < SERIES_FINE; i++)
            if (series[k][i] > 0) {
                unsigned hour = i / HOUR_STEPS;

                *from = hour < *from ? hour : *from;
                *to = hour + 1 > *to ? hour + 1 : *to;
            }
    if (*from >= *to) {
        *from = 0;
        *to = 24;
    }
}

static void hour_ticks(struct report *r, const struct plot *plot, unsigned from, unsigned to)
{
    for (unsigned hour = from; hour <= to; hour += to - from > 12 ? 2 : 1) {
        char label[PAGE_NUMBER];

        (void)snprintf(label, sizeof label, "%u", hour);
        usher__plot_tick_x(&r->page, plot, hour, label);
    }
}

static void steps_of(struct report *r, const struct plot *plot, const char *class, const char *area,
                     const uint32_t number[SERIES_FINE], unsigned from, unsigned to)
{
    double y[SERIES_FINE];

    for (unsigned i = 0; i < SERIES_FINE; i++)
        y[i] = number[i];
    usher__plot_steps(&r->page, plot, class, area, y + (size_t)from * HOUR_STEPS,
                      (size_t)(to - from) * HOUR_STEPS, from, 24.0 / SERIES_FINE);
}

static void day_plot(struct report *r, const char *title, const uint32_t (*sides)[SERIES_FINE],
                     const uint32_t *grey, unsigned from, unsigned to, bool last)
{
    const struct series *s = &r->series;
    struct plot plot = { .w = 1120, .h = last ? 176 : 150, .x0 = from, .x1 = to };
    uint32_t most = grey != NULL ? most_of(grey, SERIES_FINE) : 0;
    char desc[TEXT_SIZE];

    for (unsigned side = 0; side < SERIES_SIDES && sides != NULL; side++) {
        uint32_t of_side = most_of(sides[side], SERIES_FINE);

        most = of_side > most ? of_side : most;
    }
    plot.y1 = usher__plot_round(most);
    plot.top = 18;
    plot.bottom = last ? 38 : 12;
    (void)snprintf(desc, sizeof desc, "From %u to %u h; at most %" PRIu32 ".", from, to, most);
    usher__plot_begin(&r->page, &plot, title, desc);
    usher__plot_ticks_y(&r->page, &plot, "");
    if (last)
        hour_ticks(r, &plot, from, to);
    usher__plot_axes(&r->page, &plot, last ? "hour" : "", title);
    if (grey != NULL)
        steps_of(r, &plot, sides == NULL ? "kl" : "gl", sides == NULL ? "kaf" : NULL, grey, from,
                 to);
    for (unsigned side = 0; side < SERIES_SIDES && sides != NULL; side++)
        if (s->known[side])
            steps_of(r, &plot, line_class[side], grey == NULL ? area_class[side] : NULL,
                     sides[side], from, to);
    usher__plot_end(&r->page);
}

void usher__report_busiest(struct report *r)
{
    const struct series *s = &r->series;
    const uint32_t *const all[] = { s->waiting[0], s->waiting[1], s->talking[0],
                                    s->talking[1], s->lines,      s->on_duty };
    bool queue = s->known[RECORDED] || s->known[REPLAYED], duty = s->known[REPLAYED];
    char day[SERIES_DAY_SIZE];
    unsigned from, to;

    active_hours(all, 5, &from, &to);
    if (queue)
        legend(r, true);
    figure_begin(r, "");
    if (queue) {
        day_plot(r, "callers waiting", s->waiting, NULL, from, to, false);
        day_plot(r, duty ? "agents: talking, and on duty (grey)" : "agents talking", s->talking,
                 duty ? s->on_duty : NULL, from, to, false);
    }
    day_plot(r, "lines busy", NULL, s->lines, from, to, true);
    caption_begin(r);
    usher__series_day_text(day, s->day[s->busiest].day);
    fprintf(r->page.out, "%s, %s, in steps of two minutes (the most in each).",
            weekdays[weekday(s->day[s->busiest].day)], day);
    for (unsigned side = 0; side < SERIES_SIDES; side++)
        if (s->known[side])
            fprintf(r->page.out, " Most waiting, %s: %" PRIu32 ".", side_name[side],
                    most_of(s->waiting[side], SERIES_FINE));
    fprintf(r->page.out, " Most lines busy: %" PRIu32 " of %zu.", most_of(s->lines, SERIES_FINE),
            r->calls->lines.n);
    table_begin(
        r, "hour\twaiting recorded\treplayed\ttalking recorded\treplayed\ton duty\tlines busy");
    for (unsigned hour = from; hour < to; hour++) {
        size_t at = (size_t)hour * HOUR_STEPS;

        usher__page_row(&r->page,
                        "%u" DASH "%u\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32
                        "\t%" PRIu32,
                        hour, hour + 1, most_of(s->waiting[0] + at, HOUR_STEPS),
                        most_of(s->waiting[1] + at, HOUR_STEPS),
                        most_of(s->talking[0] + at, HOUR_STEPS),
                        most_of(s->talking[1] + at, HOUR_STEPS),
                        most_of(s->on_duty + at, HOUR_STEPS), most_of(s->lines + at, HOUR_STEPS));
    }
    figure_end(r);
}

/* ---- waits -------------------------------------------------------------------------- */

static double longer(const struct series *s, unsigned side, size_t i)
{
    return s->n_served[side] > 0 ? (double)s->longer[side][i] / (double)s->n_served[side] : 0;
}

static void minute_ticks(struct report *r, const struct plot *plot, int64_t step_s)
{
    for (int64_t s = 0; (double)s <= plot->x1; s += step_s) {
        char label[PAGE_NUMBER];

        usher__plot_tick_x(&r->page, plot, (double)s, usher__page_span(label, s * 1000));
    }
}

/* The points where nine in ten, and nineteen in twenty, were served. */
static void wait_points(struct report *r, const struct plot *plot, unsigned side)
{
    static const char *const names[] = { "9 in 10", "19 in 20" };

    for (unsigned i = 0; i < 2; i++) {
        int64_t ms = r->series.served[side][2 + i];
        double y = (100 - usher__series_percents[2 + i]);

        if (ms == CALLS_UNKNOWN || (double)ms / 1000 > plot->x1 * 0.85 || y > plot->y1)
            continue;
        fprintf(r->page.out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>",
                side == RECORDED ? "rd" : "pd", usher__plot_x(plot, (double)ms / 1000),
                usher__plot_y(plot, y));
        usher__plot_text(&r->page, plot, (double)ms / 1000, y, 8, -5, "l", names[i]);
    }
}

void usher__report_waits(struct report *r)
{
    static const char *const names[SERIES_PERCENTS] = { "half",     "8 in 10",   "9 in 10",
                                                        "19 in 20", "99 in 100", "all" };
    const struct series *s = &r->series;
    struct plot plot = { .w = 640, .h = 330, .x1 = 600, .right = 26, .left = 52 };
    double x[SERIES_CURVE], y[SERIES_SIDES][SERIES_CURVE], most = 0;
    double limit_s = (double)r->result->within_ms / 1000;
    char desc[TEXT_SIZE];

    for (size_t i = 0; i < SERIES_CURVE; i++) {
        x[i] = (double)usher__series_curve_ms(i) / 1000;
        for (unsigned side = 0; side < SERIES_SIDES; side++) {
            y[side][i] = 100 * longer(s, side, i);
            most = y[side][i] > most ? y[side][i] : most;
        }
    }
    plot.y1 = usher__plot_round(most);
    (void)snprintf(
        desc, sizeof desc,
        "Longer than 20 seconds: %.1f %% recorded, %.1f %% replayed. Longer than 2 minutes: "
        "%.1f %% and %.1f %%.",
        y[0][10], y[1][10], y[0][36], y[1][36]);
    figure_begin(r, "");
    usher__plot_begin(&r->page, &plot, "Share of the served that waited longer than a time", desc);
    usher__plot_ticks_y(&r->page, &plot, " %");
    minute_ticks(r, &plot, 60);
    usher__plot_axes(&r->page, &plot, "", "of the served waited longer than");
    if (limit_s < plot.x1) {
        fprintf(r->page.out, "<path class=\"tgt\" d=\"M%.1f %.1fV%.1f\"/>",
                usher__plot_x(&plot, limit_s), plot.top, plot.h - plot.bottom);
        usher__plot_text(&r->page, &plot, limit_s, plot.y1, limit_s > 500 ? -4 : 4, 12,
                         limit_s > 500 ? "e l" : "l", r->within);
    }
    for (unsigned side = 0; side < SERIES_SIDES; side++)
        if (s->known[side]) {
            usher__plot_line(&r->page, &plot, line_class[side], x, y[side], SERIES_CURVE);
            wait_points(r, &plot, side);
        }
    usher__plot_end(&r->page);
    caption_begin(r);
    fprintf(r->page.out,
            "The waits of the served. %s A point: nine in ten, or nineteen in twenty, "
            "waited no longer.",
            desc);
    table_begin(r, "waited at most\trecorded\treplayed\thung up, recorded\thung up, replayed");
    for (size_t i = 0; i < SERIES_PERCENTS; i++) {
        char a[PAGE_NUMBER], b[PAGE_NUMBER], c[PAGE_NUMBER], d[PAGE_NUMBER];

        usher__page_row(&r->page, "%s\t%s\t%s\t%s\t%s", names[i],
                        s->known[0] ? usher__page_span(a, s->served[0][i]) : DASH,
                        s->known[1] ? usher__page_span(b, s->served[1][i]) : DASH,
                        s->known[0] ? usher__page_span(c, s->gave_up[0][i]) : DASH,
                        s->known[1] ? usher__page_span(d, s->gave_up[1][i]) : DASH);
    }
    figure_end(r);
}

static void hazard_bar(struct report *r, const struct plot *plot, size_t i)
{
    const struct series_hazard *h = &r->series.hazard[i];
    double from = (double)i * SERIES_HAZARD_MS / 1000, width = (double)SERIES_HAZARD_MS / 1000;
    double x = usher__plot_x(plot, from), y = usher__plot_y(plot, 100 * h->share);
    double middle = usher__plot_x(plot, from + width / 2);

    fprintf(r->page.out,
            "<rect class=\"rb\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
            "<path class=\"err\" d=\"M%.1f %.1fV%.1f\"/>",
            x + 1.5, y, usher__plot_x(plot, from + width) - x - 3, usher__plot_y(plot, 0) - y,
            middle, usher__plot_y(plot, 100 * h->low), usher__plot_y(plot, 100 * h->high));
}

void usher__report_hazard(struct report *r)
{
    const struct series *s = &r->series;
    struct plot plot = { .w = 640, .h = 330, .x1 = 300, .right = 26, .left = 52 };
    double theta = usher__survival_rate(&r->result->survival), flat = 100 * -expm1(-15 * theta);
    double most = flat;
    char desc[TEXT_SIZE], mean[PAGE_NUMBER] = DASH;

    if (!s->known[RECORDED])
        return;
    for (size_t i = 0; i < SERIES_HAZARD; i++)
        if (s->hazard[i].waiting >= WAITING_FEW && 100 * s->hazard[i].high > most)
            most = 100 * s->hazard[i].high;
    plot.y1 = usher__plot_round(most);
    if (theta > 0)
        (void)usher__page_span(mean, (int64_t)(1000 / theta));
    (void)snprintf(
        desc, sizeof desc,
        "%.1f %% of those that wait at all hang up within 15 seconds; %.1f %% of those that "
        "still wait after 2 minutes do so in the next 15 seconds.",
        100 * s->hazard[0].share, 100 * s->hazard[8].share);
    figure_begin(r, "");
    usher__plot_begin(&r->page, &plot, "Share that hangs up, by how long it has waited", desc);
    usher__plot_ticks_y(&r->page, &plot, " %");
    minute_ticks(r, &plot, 30);
    usher__plot_axes(&r->page, &plot, "", "hang up within the next 15 s");
    for (size_t i = 0; i < SERIES_HAZARD; i++)
        if (s->hazard[i].waiting >= WAITING_FEW)
            hazard_bar(r, &plot, i);
    fprintf(r->page.out, "<path class=\"tgt\" d=\"M%.1f %.1fH%.1f\"/>", plot.left,
            usher__plot_y(&plot, flat), plot.w - plot.right);
    usher__plot_text(&r->page, &plot, plot.x1, flat, 0, -5, "e l",
                     "if it were memoryless (Erlang A)");
    usher__plot_end(&r->page);
    caption_begin(r);
    fprintf(r->page.out,
            "Recorded patience, with bounds of 95 %%. %s Mean patience, if it were memoryless: %s.",
            desc, mean);
    table_begin(r, "waited, s\tstill waiting\thang up within 15 s\t%\tbounds");
    for (size_t i = 0; i < SERIES_HAZARD; i++) {
        const struct series_hazard *h = &s->hazard[i];
        char a[PAGE_NUMBER];

        usher__page_row(&r->page, "%zu" DASH "%zu\t%s\t%" PRIu64 "\t%.1f\t%.1f" DASH "%.1f", i * 15,
                        i * 15 + 15, usher__page_count(a, h->waiting), h->hung_up, 100 * h->share,
                        100 * h->low, 100 * h->high);
    }
    figure_end(r);
}

/* ---- by weekday and hour ------------------------------------------------------------ */

static unsigned shade(double share)
{
    return share >= 0.9 ? 1 : share >= 0.8 ? 2 : share >= 0.6 ? 3 : share >= 0.4 ? 4 : 5;
}

static double share_of(const struct series_count *c)
{
    return c->asked > 0 ? (double)c->in_time / (double)c->asked : 0;
}

static void week_cell(struct report *r, const struct series_count *c, unsigned day, unsigned hour,
                      double x, double y, double width)
{
    double share = share_of(c);

    if (c->asked < CALLERS_FEW) {
        fprintf(r->page.out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"25.5\" class=\"h0\"/>", x, y,
                width - 1.5);
        return;
    }
    fprintf(
        r->page.out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"25.5\" class=\"h%u\"><title>%s %u" DASH
        "%u h: %" PRIu64 " of %" PRIu64 " within %s</title></rect><text x=\"%.1f\" y=\"%.1f\" "
        "class=\"c t%u\">%.0f</text>",
        x, y, width - 1.5, shade(share), weekdays[day], hour, hour + 1, c->in_time, c->asked,
        r->within, x + width / 2 - 0.7, y + 18, shade(share), 100 * share);
}

static void week_map(struct report *r, unsigned side, unsigned from, unsigned to)
{
    const struct series *s = &r->series;
    struct plot plot = { .w = 560, .h = 216 };
    double width = (plot.w - 50) / (to - from);
    const struct series_count *worst = NULL;
    uint64_t asked = 0, in_time = 0;
    char desc[TEXT_SIZE], title[TEXT_SIZE], heads[TEXT_SIZE] = "";
    unsigned worst_day = 0, worst_hour = 0;
    size_t size = 0;

    for (unsigned day = 0; day < 7; day++)
        for (unsigned hour = 0; hour < 24; hour++) {
            const struct series_count *c = &s->week[side][day][hour];

            asked += c->asked;
            in_time += c->in_time;
            if (c->asked < WORST_CALLERS || (worst != NULL && share_of(worst) <= share_of(c)))
                continue;
            worst = c;
            worst_day = day;
            worst_hour = hour;
        }
    size = (size_t)snprintf(desc, sizeof desc, "%.1f %% of all that asked were served within %s.",
                            asked > 0 ? 100 * (double)in_time / (double)asked : 0, r->within);
    if (worst != NULL)
        (void)snprintf(desc + size, sizeof desc - size,
                       " Worst hour: %s %u" DASH "%u h with %.0f %%.", weekdays[worst_day],
                       worst_hour, worst_hour + 1, 100 * share_of(worst));
    (void)snprintf(title, sizeof title, "Service level by weekday and hour, %s", side_name[side]);
    figure_begin(r, "");
    usher__plot_begin(&r->page, &plot, title, desc);
    for (unsigned hour = from; hour < to; hour++)
        fprintf(r->page.out, "<text x=\"%.1f\" y=\"14\" class=\"c l\">%u</text>",
                44 + (hour - from + 0.5) * width, hour);
    for (unsigned day = 0; day < 7; day++) {
        fprintf(r->page.out, "<text x=\"38\" y=\"%u\" class=\"e\">%s</text>", 40 + day * 27,
                weekdays[day]);
        for (unsigned hour = from; hour < to; hour++)
            week_cell(r, &s->week[side][day][hour], day, hour, 44 + (hour - from) * width,
                      22 + day * 27, width);
    }
    usher__plot_end(&r->page);
    caption_begin(r);
    fprintf(r->page.out, "<b>%s</b>: %s", side == RECORDED ? "Recorded" : "Replayed", desc);
    size = 0;
    for (unsigned hour = from; hour < to; hour++)
        size += (size_t)snprintf(heads + size, sizeof heads - size, "\t%u", hour);
    table_begin(r, heads);
    for (unsigned day = 0; day < 7; day++) {
        char cells[TEXT_SIZE];

        size = 0;
        for (unsigned hour = from; hour < to; hour++) {
            const struct series_count *c = &s->week[side][day][hour];
            char text[PAGE_NUMBER] = "\xc2\xb7";

            if (c->asked >= CALLERS_FEW)
                (void)snprintf(text, sizeof text, "%.0f", 100 * share_of(c));
            size += (size_t)snprintf(cells + size, sizeof cells - size, "\t%s", text);
        }
        usher__page_row(&r->page, "%s%s", weekdays[day], cells);
    }
    figure_end(r);
}

void usher__report_week(struct report *r)
{
    static const char *const names[] = { "90 % and more",      "80", "60", "40", "less",
                                         "fewer than 10 asked" };
    const struct series *s = &r->series;
    unsigned from = 24, to = 0;

    for (unsigned side = 0; side < SERIES_SIDES; side++)
        for (unsigned day = 0; day < 7; day++)
            for (unsigned hour = 0; hour < 24; hour++)
                if (s->week[side][day][hour].asked >= CALLERS_FEW) {
                    from = hour < from ? hour : from;
                    to = hour + 1 > to ? hour + 1 : to;
                }
    if (from >= to) {
        from = 0;
        to = 24;
    }
    fprintf(r->page.out,
            "<p>Of all that asked in the hour, per cent served within %s.</p>"
            "<div class=\"two\">",
            r->within);
    for (unsigned side = 0; side < SERIES_SIDES; side++)
        if (s->known[side])
            week_map(r, side, from, to);
    fputs("</div><p class=\"key\">", r->page.out);
    for (unsigned i = 0; i < 6; i++)
        fprintf(
            r->page.out,
            "<span><svg viewBox=\"0 0 14 10\" aria-hidden=\"true\"><rect class=\"h%u\" width=\"14\" "
            "height=\"10\"/></svg>%s</span>",
            i == 5 ? 0 : i + 1, names[i]);
    fputs("</p>\n", r->page.out);
}

/* ---- agents and lines --------------------------------------------------------------- */

void usher__report_agents(struct report *r)
{
    const struct series *s = &r->series;
    struct plot plot = { .w = 640, .h = 300, .x1 = 24, .bottom = 38 };
    double sum[SERIES_SIDES] = { 0, 0 }, duty = 0, most = 0;

    for (unsigned i = 0; i < 24; i++) {
        most = s->hour_on_duty[i] > most ? s->hour_on_duty[i] : most;
        duty += s->hour_on_duty[i];
        for (unsigned side = 0; side < SERIES_SIDES; side++) {
            most = s->hour_talking[side][i] > most ? s->hour_talking[side][i] : most;
            sum[side] += s->hour_talking[side][i];
        }
    }
    plot.y1 = usher__plot_round(most);
    figure_begin(r, "");
    usher__plot_begin(&r->page, &plot, "Agents by hour of the day",
                      "Mean numbers of agents that talk, recorded and replayed, and on duty.");
    usher__plot_ticks_y(&r->page, &plot, "");
    hour_ticks(r, &plot, 0, 24);
    usher__plot_axes(&r->page, &plot, "hour", "agents, mean");
    if (s->known[REPLAYED])
        usher__plot_steps(&r->page, &plot, "gl", "gaf", s->hour_on_duty, 24, 0, 1);
    for (unsigned side = 0; side < SERIES_SIDES; side++)
        if (s->known[side])
            usher__plot_steps(&r->page, &plot, line_class[side], NULL, s->hour_talking[side], 24, 0,
                              1);
    usher__plot_end(&r->page);
    caption_begin(r);
    fprintf(r->page.out,
            "Agents on duty (grey) and talking, mean of the %" PRIu64
            " days with at least half the "
            "calls of the busiest.",
            s->busy_days);
    for (unsigned side = 0; side < SERIES_SIDES; side++)
        if (s->known[side] && duty > 0)
            fprintf(r->page.out, " Talking of on duty, %s: %.0f %%.", side_name[side],
                    100 * sum[side] / duty);
    table_begin(r, "hour\ton duty\ttalking recorded\treplayed");
    for (unsigned i = 0; i < 24; i++)
        usher__page_row(&r->page, "%u" DASH "%u\t%.2f\t%.2f\t%.2f", i, i + 1, s->hour_on_duty[i],
                        s->hour_talking[0][i], s->hour_talking[1][i]);
    figure_end(r);
}

#define DECADES 5

void usher__report_lines(struct report *r)
{
    static const char *const names[] = { "100 %", "10 %", "1 %", "0.1 %", "0.01 %", "0.001 %" };
    const struct series *s = &r->series;
    const struct replay_pass *own = &r->result->passes[0], *any = &r->result->passes[1];
    struct plot plot = { .w = 640, .h = 300, .y0 = -DECADES, .left = 58 };
    double total = 0, tail;
    char a[PAGE_NUMBER], b[PAGE_NUMBER], c[PAGE_NUMBER], d[PAGE_NUMBER], desc[TEXT_SIZE];
    size_t step = s->n_lines_busy / 12 + 1;

    for (size_t i = 0; i < s->n_lines_busy; i++)
        total += (double)s->lines_busy[i];
    total = total > 0 ? total : 1;
    plot.x0 = 0.5;
    plot.x1 = (double)(s->n_lines_busy > 1 ? s->n_lines_busy : 2) - 0.5;
    (void)snprintf(desc, sizeof desc,
                   "At most %zu of %zu lines were busy; none in %.1f %% of the time.",
                   s->n_lines_busy - 1, r->calls->lines.n, 100 * (double)s->lines_busy[0] / total);
    figure_begin(r, "");
    usher__plot_begin(&r->page, &plot, "Share of the time with at least a number of lines busy",
                      desc);
    for (unsigned i = 0; i <= DECADES; i++)
        usher__plot_tick_y(&r->page, &plot, -(double)i, names[i]);
    for (size_t i = step; i < s->n_lines_busy; i += step) {
        (void)snprintf(a, sizeof a, "%zu", i);
        usher__plot_tick_x(&r->page, &plot, (double)i, a);
    }
    usher__plot_axes(&r->page, &plot, "", "of the time at least this many lines are busy");
    tail = total;
    for (size_t i = 1; i < s->n_lines_busy; i++) {
        double y, x = usher__plot_x(&plot, (double)i - 0.38);

        tail -= (double)s->lines_busy[i - 1];
        if (tail / total < 1e-5)
            break;
        y = usher__plot_y(&plot, log10(tail / total));
        fprintf(r->page.out,
                "<rect class=\"kb\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x, y,
                usher__plot_x(&plot, (double)i + 0.38) - x, plot.h - plot.bottom - y);
    }
    usher__plot_end(&r->page);
    caption_begin(r);
    fprintf(
        r->page.out,
        "%s Each call on its own line gives a line %s to %s calls; any line that is free, %s to "
        "%s.",
        desc, usher__page_count(a, own->least), usher__page_count(b, own->most),
        usher__page_count(c, any->least), usher__page_count(d, any->most));
    if (r->result->no_line != NULL)
        fprintf(r->page.out,
                " With %" PRIu64 " lines %s calls find none (%.2f %%; by Erlang B %.2f %%).",
                any->lines, usher__page_count(a, any->refused),
                100 * (double)any->refused / (double)r->calls->n, 100 * r->result->blocked);
    table_begin(r, "lines busy\thours\t%\tat least, %");
    tail = total;
    for (size_t i = 0; i < s->n_lines_busy; i++) {
        usher__page_row(&r->page, "%zu\t%.2f\t%.3f\t%.3f", i, (double)s->lines_busy[i] / 3600000,
                        100 * (double)s->lines_busy[i] / total, 100 * tail / total);
        tail -= (double)s->lines_busy[i];
    }
    figure_end(r);
}

/* ---- what if ------------------------------------------------------------------------ */

static void agents_text(char to[PAGE_NUMBER], uint64_t agents)
{
    if (agents == 0)
        (void)snprintf(to, PAGE_NUMBER, "no number up to %d", STAFFING_AGENTS_MAX);
    else
        (void)usher__page_count(to, agents);
}

static void target_points(struct report *r, const struct plot *plot)
{
    const struct staffing *t = &r->result->staffing;

    for (size_t i = 0; i < t->n; i++) {
        const struct staffing_point *p = &t->point[i];
        double share = t->asked > 0 ? 100 * (double)p->in_time / (double)t->asked : 0;
        double x = usher__plot_x(plot, (double)p->agents), y = usher__plot_y(plot, share);
        char text[2 * PAGE_NUMBER], n[PAGE_NUMBER];

        fprintf(r->page.out, "<circle class=\"pd\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>", x, y);
        if (p->agents != t->agents)
            continue;
        (void)snprintf(text, sizeof text, "%s agents: %.1f %%", usher__page_count(n, p->agents),
                       share);
        fprintf(r->page.out, "<circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"13\"/>", x, y);
        usher__plot_text(&r->page, plot, (double)p->agents, share, x > plot->w / 2 ? -14 : 14,
                         x > plot->w / 2 ? -14 : 26, x > plot->w / 2 ? "b" : "b s", text);
    }
}

static void target_curve(struct report *r, const struct plot *plot, const char *class, bool c)
{
    const struct staffing *t = &r->result->staffing;

    fprintf(r->page.out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < t->n; i++)
        fprintf(r->page.out, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
                usher__plot_x(plot, (double)t->point[i].agents),
                usher__plot_y(plot, 100 * (c ? t->point[i].c : t->point[i].a).in_time));
    fputs("\"/>", r->page.out);
}

static void target_table(struct report *r)
{
    const struct staffing *t = &r->result->staffing;

    table_begin(r,
                "agents\treplayed, %\thung up, %\t9 in 10 served within\tErlang A, %\thung up, %\t"
                "Erlang C, %");
    for (size_t i = 0; i < t->n; i++) {
        const struct staffing_point *p = &t->point[i];
        char n[PAGE_NUMBER], a[PAGE_NUMBER], b[PAGE_NUMBER], ninety[PAGE_NUMBER];

        usher__page_row(&r->page, "%s\t%s\t%s\t%s\t%.1f\t%.1f\t%.1f",
                        usher__page_count(n, p->agents),
                        usher__page_share(a, (double)p->in_time, (double)t->asked),
                        usher__page_share(b, (double)p->gave_up, (double)t->asked),
                        usher__page_span(ninety, p->ninety_ms), 100 * p->a.in_time,
                        100 * p->a.gave_up, 100 * p->c.in_time);
    }
}

void usher__report_target(struct report *r)
{
    const struct staffing *t = &r->result->staffing;
    double first = (double)t->point[0].agents, last = (double)t->point[t->n - 1].agents;
    struct plot plot = { .w = 1120, .h = 380, .x0 = first - 0.5, .x1 = last + 0.5, .y1 = 100 };
    double step = usher__plot_round((last - first) / 12 + 0.01);
    char desc[TEXT_SIZE], n[PAGE_NUMBER], a[PAGE_NUMBER], c[PAGE_NUMBER];

    plot.left = 56;
    step = step < 1 ? 1 : ceil(step);
    agents_text(n, t->agents);
    agents_text(a, t->erlang_a);
    agents_text(c, t->erlang_c);
    fputs(
        "<p class=\"key\"><span><svg viewBox=\"0 0 14 12\" aria-hidden=\"true\"><circle class=\"pd\" "
        "cx=\"7\" cy=\"6\" r=\"5\"/></svg>replayed</span><span><svg viewBox=\"0 0 26 10\" "
        "aria-hidden=\"true\"><path class=\"al\" d=\"M0 5H26\"/></svg>Erlang A</span><span>"
        "<svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"cl\" d=\"M0 5H26\"/></svg>"
        "Erlang C</span></p>",
        r->page.out);
    (void)snprintf(desc, sizeof desc,
                   "Fewest agents for %" PRId64 " %% within %s: %s replayed, %s by Erlang A, %s by "
                   "Erlang C.",
                   t->percent, r->within, n, a, c);
    figure_begin(r, " class=\"wide\"");
    usher__plot_begin(&r->page, &plot, "Service level against the number of agents", desc);
    for (unsigned i = 0; i <= 5; i++) {
        char label[PAGE_NUMBER];

        (void)snprintf(label, sizeof label, "%u %%", i * 20);
        usher__plot_tick_y(&r->page, &plot, i * 20, label);
    }
    for (uint64_t x = t->point[0].agents; (double)x <= last; x += (uint64_t)step) {
        char label[PAGE_NUMBER];

        usher__plot_tick_x(&r->page, &plot, (double)x, usher__page_count(label, x));
    }
    usher__plot_axes(&r->page, &plot, "", "of all that asked, served in time, by agents");
    fprintf(r->page.out, "<path class=\"tgt\" d=\"M%.1f %.1fH%.1f\"/>", plot.left,
            usher__plot_y(&plot, (double)t->percent), plot.w - plot.right);
    target_curve(r, &plot, "cl", true);
    target_curve(r, &plot, "al", false);
    target_points(r, &plot);
    usher__plot_end(&r->page);
    caption_begin(r);
    fprintf(
        r->page.out,
        "%s %s Erlang's models take each hour of the record by itself, in a steady state.", desc,
        r->result->measured
            ? "In the replay callers of unknown patience have one drawn from those that hung up "
              "(Kaplan and Meier)."
            : "In the replay callers of unknown patience wait as long as it takes.");
    target_table(r);
    figure_end(r);
}
