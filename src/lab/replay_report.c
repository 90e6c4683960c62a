/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/replay_report.h"

#include <inttypes.h>
#include <string.h>

#include "cli/answer.h"

uint64_t usher__replay_doubles(const struct replay_result *result)
{
    return result->passes[0].doubles + result->passes[1].doubles + result->ids.doubles +
           result->tickets.doubles + result->queue.plan.doubles;
}

static double per_second(uint64_t n, int64_t wall_us)
{
    return wall_us > 0 ? (double)n * 1e6 / (double)wall_us : 0;
}

static void span(const struct calls *c, int64_t *ret_first, int64_t *ret_last)
{
    *ret_first = c->call[0].start_ms;
    *ret_last = c->call[0].end_ms;
    for (size_t i = 1; i < c->n; i++)
        if (c->call[i].end_ms > *ret_last)
            *ret_last = c->call[i].end_ms;
}

/* ---- JSON ------------------------------------------------------------------------- */

static const struct usher_text none;

static void time_json(struct json *j, const char *key, int64_t ms)
{
    usher__json_key(j, key);
    if (ms == CALLS_UNKNOWN)
        fputs("null", j->out);
    else
        fprintf(j->out, "%" PRId64, ms);
}

static uint64_t calls_of(const struct replay_centre *c)
{
    return c->served + c->hung_up + c->early + c->no_line + c->turned;
}

static uint64_t asked_of(const struct replay_centre *c)
{
    return c->served + c->hung_up + c->turned;
}

static void share_json(struct json *j, const char *key, double share)
{
    usher__json_key(j, key);
    fprintf(j->out, "%.4f", share);
}

static void centre_json(struct json *j, const char *key, const struct replay_centre *c)
{
    if (!c->known) {
        usher__json_name(j, key, &none);
        return;
    }
    usher__json_open(j, key);
    usher__json_uint(j, "calls", calls_of(c));
    usher__json_uint(j, "served", c->served);
    usher__json_uint(j, "abandoned", c->hung_up + c->early);
    usher__json_uint(j, "before_queue", c->early);
    usher__json_uint(j, "no_line", c->no_line);
    usher__json_uint(j, "turned_away", c->turned);
    usher__json_uint(j, "found_nobody", c->nobody);
    usher__json_uint(j, "queued", c->queued);
    time_json(j, "wait", c->wait_ms);
    time_json(j, "wait_abandoned", c->gave_up_ms);
    time_json(j, "wait_all", c->all_ms);
    time_json(j, "wait_90", c->ninety_ms);
    usher__json_uint(j, "in_time", c->in_time);
    usher__json_uint(j, "longest_queue", c->longest);
    usher__json_close(j);
}

static void speed_json(struct json *j, uint64_t n, int64_t wall_us)
{
    usher__json_key(j, "seconds");
    fprintf(j->out, "%.6f", (double)wall_us / 1e6);
    usher__json_key(j, "per_second");
    fprintf(j->out, "%.0f", per_second(n, wall_us));
}

static void given_json(struct json *j, const struct replay_result *r)
{
    const struct replay_tickets *t = &r->tickets;

    usher__json_open(j, "ids");
    usher__json_uint(j, "ids", r->ids.n);
    usher__json_int(j, "first", r->ids.first);
    usher__json_int(j, "last", r->ids.last);
    usher__json_uint(j, "doubles", r->ids.doubles);
    speed_json(j, r->ids.n, r->ids.wall_us);
    usher__json_close(j);
    if (t->n == 0) {
        usher__json_name(j, "tickets", &none);
        return;
    }
    usher__json_open(j, "tickets");
    usher__json_uint(j, "tickets", t->n);
    usher__json_text(j, "first", t->first);
    usher__json_text(j, "last", t->last);
    usher__json_uint(j, "days", t->days);
    usher__json_uint(j, "most", t->most);
    usher__json_uint(j, "doubles", t->doubles);
    speed_json(j, t->n, t->wall_us);
    usher__json_close(j);
}

static void queue_json(struct json *j, const struct replay_result *r)
{
    const struct replay_queue *q = &r->queue;

    usher__json_open(j, "queue");
    usher__json_uint(j, "agents", q->plan.names->n);
    usher__json_uint(j, "on_duty", q->plan.most_on_duty);
    usher__json_uint(j, "doubles", q->plan.doubles);
    usher__json_uint(j, "transitions", q->plan.moves);
    speed_json(j, q->plan.moves, q->wall_us);
    usher__json_text(j, "patience", r->measured ? "measured" : "recorded");
    usher__json_int(j, "within", r->within_ms);
    centre_json(j, "recorded", &q->recorded);
    centre_json(j, "replayed", &q->replayed);
    usher__json_close(j);
}

static void rooms_json(struct json *j, const struct replay_rooms *r)
{
    usher__json_open(j, "rooms");
    usher__json_uint(j, "rooms", r->rooms);
    usher__json_uint(j, "open", r->most_open);
    usher__json_uint(j, "transitions", r->moves);
    speed_json(j, r->moves, r->wall_us);
    usher__json_close(j);
}

static void agents_json(struct json *j, const char *key, uint64_t agents)
{
    usher__json_key(j, key);
    if (agents == 0)
        fputs("null", j->out);
    else
        fprintf(j->out, "%" PRIu64, agents);
}

static void target_json(struct json *j, const struct replay_result *r)
{
    const struct staffing *s = &r->staffing;

    usher__json_open(j, "target");
    usher__json_int(j, "percent", s->percent);
    usher__json_int(j, "within", s->within_ms);
    usher__json_uint(j, "asked", s->asked);
    agents_json(j, "agents", s->agents);
    agents_json(j, "erlang_a", s->erlang_a);
    agents_json(j, "erlang_c", s->erlang_c);
    usher__json_key(j, "tried");
    putc('[', j->out);
    j->comma = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct staffing_point *p = &s->point[i];

        usher__json_open(j, NULL);
        usher__json_uint(j, "agents", p->agents);
        usher__json_uint(j, "in_time", p->in_time);
        usher__json_uint(j, "abandoned", p->gave_up);
        time_json(j, "wait_90", p->ninety_ms);
        share_json(j, "share", (double)p->in_time / (double)s->asked);
        share_json(j, "erlang_a", p->a.in_time);
        share_json(j, "erlang_a_abandoned", p->a.gave_up);
        share_json(j, "erlang_c", p->c.in_time);
        usher__json_close(j);
    }
    putc(']', j->out);
    j->comma = true;
    usher__json_close(j);
}

static void report_json(FILE *out, const char *file, const struct calls *c,
                        const struct replay_result *r)
{
    struct json j = { out, false };
    uint64_t doubles = usher__replay_doubles(r);
    struct series series;
    int64_t first, last;

    span(c, &first, &last);
    usher__json_open(&j, NULL);
    usher__json_text(&j, "status", usher_status_word(doubles > 0 ? USHER_REFUSED : USHER_OK));
    usher__json_text(&j, "file", file);
    usher__json_uint(&j, "rows", c->rows);
    usher__json_uint(&j, "calls", c->n);
    usher__json_uint(&j, "left_out", c->left_out);
    if (c->n_why > 0) {
        usher__json_key(&j, "left_out_rows");
        for (size_t i = 0; i < c->n_why; i++) {
            putc(i == 0 ? '[' : ',', out);
            usher__json_string(out, c->why[i], strlen(c->why[i]));
        }
        putc(']', out);
    }
    usher__json_uint(&j, "backwards", c->backwards);
    usher__json_uint(&j, "midnight", c->midnight);
    usher__json_uint(&j, "lines", c->lines.n);
    usher__json_int(&j, "first", first);
    usher__json_int(&j, "last", last);
    usher__json_key(&j, "passes");
    putc('[', out);
    j.comma = false;
    for (size_t i = 0; i < 2; i++) {
        const struct replay_pass *p = &r->passes[i];

        usher__json_open(&j, NULL);
        usher__json_text(&j, "name", p->name);
        usher__json_uint(&j, "calls", c->n);
        if (i == 1 && r->no_line != NULL) {
            usher__json_uint(&j, "lines", p->lines);
            share_json(&j, "erlang_b", r->blocked);
        }
        usher__json_uint(&j, "refused", p->refused);
        usher__json_uint(&j, "doubles", p->doubles);
        usher__json_uint(&j, "peak", p->peak);
        usher__json_uint(&j, "transitions", p->moves);
        usher__json_uint(&j, "least", p->least);
        usher__json_uint(&j, "most", p->most);
        speed_json(&j, p->moves, p->wall_us);
        usher__json_close(&j);
    }
    putc(']', out);
    given_json(&j, r);
    if (r->queue.plan.calls != NULL) {
        queue_json(&j, r);
        rooms_json(&j, &r->queue.rooms);
    }
    if (r->staffing.percent > 0)
        target_json(&j, r);
    usher__series(c, r->recorded, &r->queue.plan, r->zone_min, r->within_ms, &series);
    usher__series_json(&j, &series);
    usher__series_done(&series);
    fputs("}\n", out);
}

/* ---- text ------------------------------------------------------------------------- */

#define GROUPED_MAX 32

/* 33066 as 33,066. */
static const char *grouped(char to[GROUPED_MAX], uint64_t value)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            to[at++] = ',';
        to[at++] = digits[i];
    }
    to[at] = '\0';
    return to;
}

static void row(FILE *out, const char *what, uint64_t a, uint64_t b)
{
    char x[GROUPED_MAX], y[GROUPED_MAX];

    fprintf(out, "  %-34s %12s %12s\n", what, grouped(x, a), grouped(y, b));
}

static void fact(FILE *out, uint64_t value, const char *one, const char *many)
{
    char text[GROUPED_MAX];

    if (value != 0)
        fprintf(out, "  %s %s\n", grouped(text, value), value == 1 ? one : many);
}

static void pair(FILE *out, const char *what, bool known, uint64_t a, uint64_t b)
{
    char x[GROUPED_MAX] = "-", y[GROUPED_MAX];

    fprintf(out, "  %-34s %12s %12s\n", what, known ? grouped(x, a) : x, grouped(y, b));
}

static const char *seconds(char to[GROUPED_MAX], bool known, int64_t ms)
{
    if (!known || ms == CALLS_UNKNOWN)
        return "-";
    (void)snprintf(to, GROUPED_MAX, "%.1f s", (double)ms / 1000);
    return to;
}

static void times(FILE *out, const char *what, bool known, int64_t a, int64_t b)
{
    char x[GROUPED_MAX], y[GROUPED_MAX];

    fprintf(out, "  %-34s %12s %12s\n", what, seconds(x, known, a), seconds(y, true, b));
}

static const char *share(char to[GROUPED_MAX], bool known, uint64_t part, uint64_t whole)
{
    if (!known || whole == 0)
        return "-";
    (void)snprintf(to, GROUPED_MAX, "%.1f %%", 100 * (double)part / (double)whole);
    return to;
}

/* 20000 as "20 s", 1500 as "1.5 s". */
static const char *limit(char to[GROUPED_MAX], int64_t ms)
{
    (void)snprintf(to, GROUPED_MAX, ms % 1000 == 0 ? "%.0f s" : "%.3g s", (double)ms / 1000);
    return to;
}

static void queue_text(FILE *out, const struct replay_result *r)
{
    const struct replay_queue *q = &r->queue;
    const struct replay_centre *a = &q->recorded, *b = &q->replayed;
    char x[GROUPED_MAX], y[GROUPED_MAX], what[2 * GROUPED_MAX];

    fprintf(out, "\n  %-34s %12s %12s\n", "callers and agents", "recorded", "replayed");
    if (r->measured)
        fprintf(out, "  %-34s %12s %12s\n", "patience", "-", "measured");
    pair(out, "calls", a->known, calls_of(a), calls_of(b));
    pair(out, "served", a->known, a->served, b->served);
    pair(out, "hung up", a->known, a->hung_up + a->early, b->hung_up + b->early);
    pair(out, "  of them, before the queue", a->known, a->early, b->early);
    if (b->no_line > 0)
        pair(out, "got no line", false, 0, b->no_line);
    if (b->turned > 0)
        pair(out, "no agent came on duty for", false, 0, b->turned);
    if (b->nobody > 0)
        pair(out, "found no agent on duty at first", false, 0, b->nobody);
    pair(out, "had to wait", a->known, a->queued, b->queued);
    times(out, "mean wait of those, if served", a->known, a->wait_ms, b->wait_ms);
    times(out, "mean wait of those that hung up", a->known, a->gave_up_ms, b->gave_up_ms);
    times(out, "mean wait of all served", a->known, a->all_ms, b->all_ms);
    times(out, "nine in ten served within", a->known, a->ninety_ms, b->ninety_ms);
    (void)snprintf(what, sizeof what, "of the served, within %s", limit(x, r->within_ms));
    fprintf(out, "  %-34s %12s %12s\n", what, share(x, a->known, a->in_time, a->served),
            share(y, true, b->in_time, b->served));
    (void)snprintf(what, sizeof what, "of those that asked, within %s", limit(x, r->within_ms));
    fprintf(out, "  %-34s %12s %12s\n", what, share(x, a->known, a->in_time, asked_of(a)),
            share(y, true, b->in_time, asked_of(b)));
    pair(out, "longest queue", a->known, a->longest, b->longest);
    pair(out, "agents on duty, at most", false, 0, q->plan.most_on_duty);
    pair(out, "given an agent in use (never)", false, 0, q->plan.doubles);
    pair(out, "transitions", false, 0, q->plan.moves);
    fprintf(out, "  %-34s %12s %12.3f\n", "seconds", "-", (double)q->wall_us / 1e6);
    fprintf(out, "\n  %-34s %12s %12s\n", "a room for each served caller", "", "replayed");
    pair(out, "rooms", false, 0, q->rooms.rooms);
    pair(out, "open at once, at most", false, 0, q->rooms.most_open);
    pair(out, "transitions", false, 0, q->rooms.moves);
    fprintf(out, "  %-34s %12s %12.3f\n", "seconds", "-", (double)q->rooms.wall_us / 1e6);
}

static const char *count(char to[GROUPED_MAX], uint64_t n)
{
    return n == 0 ? "-" : grouped(to, n);
}

static void target_text(FILE *out, const struct staffing *s)
{
    char x[GROUPED_MAX], y[GROUPED_MAX], z[GROUPED_MAX];

    fprintf(out, "\n  agents for %" PRId64 " %% of those that ask within %s\n\n", s->percent,
            limit(x, s->within_ms));
    fprintf(out, "  %-21s %12s %12s %12s\n", "", "replayed", "Erlang A", "Erlang C");
    fprintf(out, "  %-21s %12s %12s %12s\n", "fewest agents", count(x, s->agents),
            count(y, s->erlang_a), count(z, s->erlang_c));
    for (size_t i = 0; i < s->n; i++) {
        const struct staffing_point *p = &s->point[i];

        (void)snprintf(y, sizeof y, "with %s", grouped(x, p->agents));
        fprintf(out, "  %-21s %12s %10.1f %% %10.1f %%\n", y, share(x, true, p->in_time, s->asked),
                100 * p->a.in_time, 100 * p->c.in_time);
    }
}

static void given_text(FILE *out, const struct replay_ids *ids, const struct replay_tickets *t)
{
    char x[GROUPED_MAX], y[GROUPED_MAX];

    fprintf(out, "\n  %-34s %12s %12s\n", "given out", "ids", "tickets");
    pair(out, "each call one, each caller one", true, ids->n, t->n);
    pair(out, "twice, or out of order (never)", true, ids->doubles, t->doubles);
    fprintf(out, "  %-34s %12.3f %12.3f\n", "seconds", (double)ids->wall_us / 1e6,
            (double)t->wall_us / 1e6);
    if (t->n > 0)
        fprintf(out, "  %s to %s, %s %s, at most %s a day\n", t->first, t->last,
                grouped(x, t->days), t->days == 1 ? "day" : "days", grouped(y, t->most));
}

static void report_text(FILE *out, const char *file, const char *store, const struct calls *c,
                        const struct replay_result *r)
{
    const struct replay_pass *own = &r->passes[0], *any = &r->passes[1];
    char text[GROUPED_MAX], from[CLI_TIME_MAX], to[CLI_TIME_MAX];
    int64_t first, last;

    span(c, &first, &last);
    usher__time_text(from, first);
    usher__time_text(to, last);
    fputs("Replay of ", out);
    usher__plain_text(out, file, strlen(file));
    /* the rest of the URL may hold a password */
    fprintf(out, " on the %.*s store\n\n", (int)strcspn(store, ":"), store);
    fprintf(out, "  %s calls on %zu lines, %.16s to %.16s\n", grouped(text, c->n), c->lines.n, from,
            to);
    fact(out, c->left_out, "row left out: it is not a call", "rows left out: they are not calls");
    for (size_t i = 0; i < c->n_why; i++)
        fprintf(out, "    line %s\n", c->why[i]);
    if (c->n_why > 0 && c->left_out > c->n_why)
        fputs("    ...\n", out);
    fact(out, c->backwards, "call whose exit was noted before its entry",
         "calls whose exit was noted before their entry");
    fact(out, c->midnight, "call past midnight", "calls past midnight");
    fprintf(out, "\n  %-34s %12s %12s\n", "each call takes", own->name, any->name);
    row(out, "calls", c->n, c->n);
    row(out, "lines", own->lines, any->lines);
    row(out, "refused", own->refused, any->refused);
    if (r->no_line != NULL)
        fprintf(out, "  %-34s %12s %10.1f %%\n", "  by Erlang B, hour by hour", "-",
                100 * r->blocked);
    row(out, "given a line in use (never)", own->doubles, any->doubles);
    row(out, "busy at once, at most", own->peak, any->peak);
    row(out, "calls of the line with most", own->most, any->most);
    row(out, "calls of the line with fewest", own->least, any->least);
    row(out, "transitions", own->moves, any->moves);
    fprintf(out, "  %-34s %12.3f %12.3f\n", "seconds", (double)own->wall_us / 1e6,
            (double)any->wall_us / 1e6);
    row(out, "transitions a second", (uint64_t)per_second(own->moves, own->wall_us),
        (uint64_t)per_second(any->moves, any->wall_us));
    given_text(out, &r->ids, &r->tickets);
    if (r->queue.plan.calls != NULL)
        queue_text(out, r);
    if (r->staffing.percent > 0)
        target_text(out, &r->staffing);
    else if (c->services && r->queue.plan.calls == NULL)
        fputs("\n  No queue: the record names no agents; say how many with --agents=N\n", out);
}

void usher__replay_report(FILE *out, enum replay_form form, const char *file, const char *store,
                          const struct calls *c, const struct replay_result *result)
{
    if (form == REPLAY_JSON)
        report_json(out, file, c, result);
    else if (form == REPLAY_HTML)
        usher__report_html(out, file, c, result);
    else
        report_text(out, file, store, c, result);
}
