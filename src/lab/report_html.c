/* SPDX-License-Identifier: MIT */
/*
 * The report of a replay as a page: no script, nothing from elsewhere, so it can be mailed, kept
 * and printed.  It has no times of this machine: the same record gives the same bytes.  Plots are
 * in report_plots.c.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "lab/report_html.h"

static const struct replay_centre *centre(const struct report *r, enum series_side side)
{
    return side == RECORDED ? &r->result->queue.recorded : &r->result->queue.replayed;
}

uint64_t usher__report_asked(const struct report *r, enum series_side side)
{
    const struct replay_centre *c = centre(r, side);

    return c->served + c->hung_up + c->turned;
}

/* ---- key figures -------------------------------------------------------------------- */

/* A figure of both sides; @good: 1 if more is better, -1 if less is, 0. */
struct key {
    const char *name;
    double value[SERIES_SIDES];
    bool known[SERIES_SIDES];
    int good;
    enum { COUNT, SECONDS, SHARE } kind;
};

static const char *key_text(char to[PAGE_NUMBER], const struct key *k, double value)
{
    if (k->kind == COUNT)
        return usher__page_count(to, (uint64_t)value);
    (void)snprintf(to, PAGE_NUMBER, k->kind == SECONDS ? "%.1f s" : "%.1f %%", value);
    return to;
}

static const char *key_value(char to[PAGE_NUMBER], const struct key *k, enum series_side side)
{
    return k->known[side] ? key_text(to, k, k->value[side]) : "\xe2\x80\x93";
}

static void key_row(struct report *r, const struct key *k)
{
    double change = k->value[REPLAYED] - k->value[RECORDED];
    const char *sign = change > 0 ? "+" : change < 0 ? "\xe2\x88\x92" : "\xc2\xb1";
    const char *class = change * k->good > 0 ? "up" : change * k->good < 0 ? "dn" : "";
    char a[PAGE_NUMBER], b[PAGE_NUMBER], c[PAGE_NUMBER], difference[3 * PAGE_NUMBER] = "";

    if (k->known[RECORDED] && k->known[REPLAYED])
        (void)snprintf(difference, sizeof difference, "<span class=\"%s\">%s%s</span>", class, sign,
                       key_text(c, k, change < 0 ? -change : change));
    usher__page_row(&r->page, "%s\t%s\t%s\t%s", k->name, key_value(a, k, RECORDED),
                    key_value(b, k, REPLAYED), difference);
}

static struct key key_count(const struct report *r, const char *name, uint64_t a, uint64_t b,
                            int good)
{
    return (struct key){
        name, { (double)a, (double)b }, { r->series.known[0], r->series.known[1] }, good, COUNT
    };
}

static struct key key_seconds(const struct report *r, const char *name, int64_t a, int64_t b)
{
    return (struct key){ name,
                         { (double)a / 1000, (double)b / 1000 },
                         { r->series.known[0] && a != CALLS_UNKNOWN,
                           r->series.known[1] && b != CALLS_UNKNOWN },
                         -1,
                         SECONDS };
}

static struct key key_share(const struct report *r, const char *name, uint64_t a, uint64_t of_a,
                            uint64_t b, uint64_t of_b)
{
    return (struct key){ name,
                         { of_a > 0 ? 100 * (double)a / (double)of_a : 0,
                           of_b > 0 ? 100 * (double)b / (double)of_b : 0 },
                         { r->series.known[0] && of_a > 0, r->series.known[1] && of_b > 0 },
                         1,
                         SHARE };
}

static uint64_t calls_of(const struct replay_centre *c)
{
    return c->served + c->hung_up + c->early + c->no_line + c->turned;
}

static void keys(struct report *r)
{
    const struct replay_centre *a = centre(r, RECORDED), *b = centre(r, REPLAYED);
    uint64_t asked_a = usher__report_asked(r, RECORDED), asked_b = usher__report_asked(r, REPLAYED);
    char served[2 * PAGE_NUMBER], asked[2 * PAGE_NUMBER];

    (void)snprintf(served, sizeof served, "within %s, of the served", r->within);
    (void)snprintf(asked, sizeof asked, "within %s, of all that asked", r->within);
    const struct key rows[] = {
        key_count(r, "calls", calls_of(a), calls_of(b), 0),
        key_count(r, "served", a->served, b->served, 1),
        key_count(r, "hung up", a->hung_up + a->early, b->hung_up + b->early, -1),
        key_count(r, "of them, before the queue", a->early, b->early, 0),
        key_count(r, "got no line", a->no_line, b->no_line, -1),
        key_count(r, "no agent came for", a->turned, b->turned, -1),
        key_count(r, "had to wait", a->queued, b->queued, -1),
        key_seconds(r, "mean wait of the served", a->all_ms, b->all_ms),
        key_seconds(r, "mean wait of those that had to", a->wait_ms, b->wait_ms),
        key_seconds(r, "mean wait of those that hung up there", a->gave_up_ms, b->gave_up_ms),
        key_seconds(r, "nine in ten served within", a->ninety_ms, b->ninety_ms),
        key_share(r, served, a->in_time, a->served, b->in_time, b->served),
        key_share(r, asked, a->in_time, asked_a, b->in_time, asked_b),
        key_count(r, "longest queue", a->longest, b->longest, -1),
    };

    usher__page_table(&r->page, "", "\trecorded\treplayed\tdifference");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind != COUNT || rows[i].value[0] + rows[i].value[1] > 0 || i < 3)
            key_row(r, &rows[i]);
    usher__page_table_end(&r->page);
}

static void given(struct report *r)
{
    const struct replay_result *x = r->result;
    char a[PAGE_NUMBER];

    usher__page_table(&r->page, "", "given out\tnumber\ttwice");
    usher__page_row(&r->page, "lines, each call its own\t%s\t%" PRIu64,
                    usher__page_count(a, r->calls->n - x->passes[0].refused), x->passes[0].doubles);
    usher__page_row(&r->page, "lines, any that is free\t%s\t%" PRIu64,
                    usher__page_count(a, r->calls->n - x->passes[1].refused), x->passes[1].doubles);
    usher__page_row(&r->page, "ids\t%s\t%" PRIu64, usher__page_count(a, x->ids.n), x->ids.doubles);
    usher__page_row(&r->page, "tickets\t%s\t%" PRIu64, usher__page_count(a, x->tickets.n),
                    x->tickets.doubles);
    if (r->series.known[REPLAYED])
        usher__page_row(&r->page, "places with agents\t%s\t%" PRIu64,
                        usher__page_count(a, x->queue.replayed.served), x->queue.plan.doubles);
    usher__page_table_end(&r->page);
    fputs(
        "<p class=\"note\">Nothing may be given out twice: a report with another figure than 0 here "
        "ends with an error.</p>",
        r->page.out);
}

/* ---- large figures ------------------------------------------------------------------ */

static void large(struct report *r, const char *name, const struct key *k)
{
    char a[PAGE_NUMBER], b[PAGE_NUMBER];

    fprintf(r->page.out,
            "<div><dt>%s</dt><dd><span>%s</span> <i aria-label=\"replayed\">\xe2\x86\x92</i> "
            "<b>%s</b></dd></div>",
            name, key_value(a, k, RECORDED), key_value(b, k, REPLAYED));
}

static void large_figures(struct report *r)
{
    const struct replay_centre *a = centre(r, RECORDED), *b = centre(r, REPLAYED);
    struct key level = key_share(r, "", a->in_time, usher__report_asked(r, RECORDED), b->in_time,
                                 usher__report_asked(r, REPLAYED));
    struct key gave_up = key_count(r, "", a->hung_up + a->early, b->hung_up + b->early, -1);
    struct key wait = key_seconds(r, "", a->all_ms, b->all_ms);
    struct key ninety = key_seconds(r, "", a->ninety_ms, b->ninety_ms);
    char name[2 * PAGE_NUMBER];

    fputs("<p class=\"key\"><span class=\"rec\">recorded</span> \xe2\x86\x92 "
          "<b class=\"rep\">replayed</b></p><dl>",
          r->page.out);
    (void)snprintf(name, sizeof name, "Within %s, of all that asked", r->within);
    large(r, name, &level);
    large(r, "Hung up", &gave_up);
    large(r, "Mean wait of the served", &wait);
    large(r, "Nine in ten served within", &ninety);
    fputs("</dl>\n", r->page.out);
    if (r->series.known[RECORDED] && r->series.known[REPLAYED])
        fputs(
            "<p class=\"note\">The recorded centre may have had skills, breaks and other work; the "
            "replayed one gives any caller to any agent on duty. So the difference is the most "
            "that pooling could gain, and no merit of the program.</p>\n",
            r->page.out);
}

/* ---- all of it ---------------------------------------------------------------------- */

static void head(struct report *r, const char *file)
{
    char a[PAGE_NUMBER], first[SERIES_DAY_SIZE], last[SERIES_DAY_SIZE];
    const struct series *s = &r->series;

    usher__series_day_text(first, s->day[0].day);
    usher__series_day_text(last, s->day[s->n_days - 1].day);
    fputs("<header><h1>Replay of ", r->page.out);
    usher__page_text(r->page.out, file);
    fprintf(r->page.out,
            "</h1><p class=\"sub\">%s calls on %zu lines, %s to %s (times as recorded).",
            usher__page_count(a, r->calls->n), r->calls->lines.n, first, last);
    if (r->calls->left_out > 0)
        fprintf(r->page.out, " %s rows left out: they are no calls.",
                usher__page_count(a, r->calls->left_out));
    if (r->result->no_line != NULL)
        fprintf(r->page.out, " Replayed with %" PRIu64 " lines.", r->result->passes[1].lines);
    if (s->known[REPLAYED])
        fprintf(r->page.out,
                " Replayed with %zu agents%s in one queue: larger priority first, then first come, "
                "first served. Patience is %s.",
                r->result->queue.plan.names->n,
                r->result->queue.plan.own.n > 0
                    ? ", all the time,"
                    : " of the record, each from its first to its last service of the day,",
                r->result->measured ? "measured" : "as recorded");
    fputs("</p></header>\n<main>\n", r->page.out);
}

static void section(struct report *r, const char *id, const char *title)
{
    fprintf(r->page.out, "<h2 id=\"%s\">%s</h2>\n", id, title);
}

static void how(struct report *r, const char *file)
{
    char x[PAGE_NUMBER], y[PAGE_NUMBER], z[PAGE_NUMBER];

    section(r, "how", "How this was made");
    fputs("<p><code>usher replay ", r->page.out);
    usher__page_text(r->page.out, file);
    fputs(" --report=html", r->page.out);
    if (r->result->staffing.percent > 0)
        fprintf(r->page.out, " --target=%" PRId64 "/%" PRId64 "ms", r->result->staffing.percent,
                r->result->within_ms);
    if (r->result->queue.plan.own.n > 0)
        fprintf(r->page.out, " --agents=%zu", r->result->queue.plan.own.n);
    if (r->result->no_line != NULL)
        fprintf(r->page.out, " --lines=%" PRIu64, r->result->passes[1].lines);
    if (r->result->measured)
        fprintf(r->page.out, " --patience=measured --seed=%" PRIu64, r->result->seed);
    if (r->result->zone_min != 0)
        fprintf(r->page.out, " --zone=%" PRId64, r->result->zone_min);
    fputs("</code>, usher " PACKAGE_VERSION ". ", r->page.out);
    if (r->series.known[REPLAYED])
        fprintf(
            r->page.out,
            "%s of %s calls asked for an agent; %s hung up before. The service level counts those "
            "that hung up as not served in time; the line \xe2\x80\x9cof the served\xe2\x80\x9d "
            "leaves them out. ",
            usher__page_count(x, usher__report_asked(r, REPLAYED)),
            usher__page_count(y, r->calls->n), usher__page_count(z, centre(r, REPLAYED)->early));
    fputs(
        "A wait ends when an agent is given; patience is known only of callers that hung up. Days "
        "begin at midnight of the record.</p>\n",
        r->page.out);
}

void usher__report_html(FILE *out, const char *file, const struct calls *c,
                        const struct replay_result *result)
{
    struct report r = { .calls = c, .result = result };
    char title[512];
    bool queue;

    usher__series(c, result->recorded, &result->queue.plan, result->zone_min, result->within_ms,
                  &r.series);
    (void)snprintf(r.within, sizeof r.within, result->within_ms % 1000 == 0 ? "%.0f s" : "%.3g s",
                   (double)result->within_ms / 1000);
    (void)snprintf(title, sizeof title, "Replay of %.400s", file);
    usher__page_begin(&r.page, out, title);
    queue = r.series.known[RECORDED] || r.series.known[REPLAYED];
    head(&r, file);
    if (queue)
        large_figures(&r);
    section(&r, "key", "Key figures");
    fputs("<div class=\"two kf\"><div class=\"keys\">", out);
    if (queue)
        keys(&r);
    fputs("</div><div class=\"keys\">", out);
    given(&r);
    fputs("</div></div>\n", out);
    if (queue) {
        section(&r, "days", "Day by day");
        usher__report_days(&r);
    }
    section(&r, "day", "The busiest day");
    usher__report_busiest(&r);
    if (queue) {
        section(&r, "waits", "Waits, and giving up");
        fputs("<div class=\"two\">", out);
        usher__report_waits(&r);
        usher__report_hazard(&r);
        fputs("</div>\n", out);
        section(&r, "level", "Service level by weekday and hour");
        usher__report_week(&r);
    }
    section(&r, "agents", queue ? "Agents and lines" : "Lines");
    fputs("<div class=\"two\">", out);
    if (queue)
        usher__report_agents(&r);
    usher__report_lines(&r);
    fputs("</div>\n", out);
    if (result->staffing.percent > 0 && result->staffing.n > 0) {
        section(&r, "target", "Agents for a service level");
        usher__report_target(&r);
    }
    how(&r, file);
    fputs("</main>", out);
    usher__page_end(&r.page);
    usher__series_done(&r.series);
}
