/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/replay.h"

#include <inttypes.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/json.h"

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

static void centre_json(struct json *j, const char *key, const struct replay_centre *c)
{
    if (!c->known) {
        usher__json_name(j, key, &none);
        return;
    }
    usher__json_open(j, key);
    usher__json_uint(j, "calls", c->served + c->hung_up + c->early + c->turned);
    usher__json_uint(j, "served", c->served);
    usher__json_uint(j, "abandoned", c->hung_up + c->early);
    usher__json_uint(j, "before_queue", c->early);
    usher__json_uint(j, "turned_away", c->turned);
    usher__json_uint(j, "found_nobody", c->nobody);
    usher__json_uint(j, "queued", c->queued);
    time_json(j, "wait", c->wait_ms);
    time_json(j, "wait_abandoned", c->gave_up_ms);
    time_json(j, "wait_all", c->all_ms);
    time_json(j, "wait_90", c->ninety_ms);
    usher__json_uint(j, "within_20s", c->in_time);
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

static void queue_json(struct json *j, const struct replay_queue *q)
{
    usher__json_open(j, "queue");
    usher__json_uint(j, "agents", q->agents);
    usher__json_uint(j, "on_duty", q->most_on_duty);
    usher__json_uint(j, "doubles", q->doubles);
    usher__json_uint(j, "transitions", q->moves);
    speed_json(j, q->moves, q->wall_us);
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

static void report_json(FILE *out, const char *file, const struct calls *c,
                        const struct replay_result *r)
{
    struct json j = { out, false };
    uint64_t doubles = r->passes[0].doubles + r->passes[1].doubles + r->ids.doubles +
                       r->tickets.doubles + r->queue.doubles;
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
    if (r->queue.agents > 0) {
        queue_json(&j, &r->queue);
        rooms_json(&j, &r->queue.rooms);
    }
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

static void queue_text(FILE *out, const struct replay_queue *q)
{
    const struct replay_centre *a = &q->recorded, *b = &q->replayed;
    char x[GROUPED_MAX], y[GROUPED_MAX];

    fprintf(out, "\n  %-34s %12s %12s\n", "callers and agents", "recorded", "replayed");
    pair(out, "calls", a->known, a->served + a->hung_up + a->early,
         b->served + b->hung_up + b->early + b->turned);
    pair(out, "served", a->known, a->served, b->served);
    pair(out, "hung up", a->known, a->hung_up + a->early, b->hung_up + b->early);
    pair(out, "  of them, before the queue", a->known, a->early, b->early);
    if (b->turned > 0)
        pair(out, "no agent came on duty for", false, 0, b->turned);
    if (b->nobody > 0)
        pair(out, "found no agent on duty at first", false, 0, b->nobody);
    pair(out, "had to wait", a->known, a->queued, b->queued);
    times(out, "mean wait of those, if served", a->known, a->wait_ms, b->wait_ms);
    times(out, "mean wait of those that hung up", a->known, a->gave_up_ms, b->gave_up_ms);
    times(out, "mean wait of all served", a->known, a->all_ms, b->all_ms);
    times(out, "nine in ten served within", a->known, a->ninety_ms, b->ninety_ms);
    fprintf(out, "  %-34s %12s %12s\n", "served within 20 s",
            share(x, a->known, a->in_time, a->served), share(y, true, b->in_time, b->served));
    pair(out, "longest queue", a->known, a->longest, b->longest);
    pair(out, "agents on duty, at most", false, 0, q->most_on_duty);
    pair(out, "given an agent in use (never)", false, 0, q->doubles);
    pair(out, "transitions", false, 0, q->moves);
    fprintf(out, "  %-34s %12s %12.3f\n", "seconds", "-", (double)q->wall_us / 1e6);
    fprintf(out, "\n  %-34s %12s %12s\n", "a room for each served caller", "", "replayed");
    pair(out, "rooms", false, 0, q->rooms.rooms);
    pair(out, "open at once, at most", false, 0, q->rooms.most_open);
    pair(out, "transitions", false, 0, q->rooms.moves);
    fprintf(out, "  %-34s %12s %12.3f\n", "seconds", "-", (double)q->rooms.wall_us / 1e6);
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
    row(out, "refused", own->refused, any->refused);
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
    if (r->queue.agents > 0)
        queue_text(out, &r->queue);
    else if (c->services)
        fputs("\n  No queue: the record names no agents; say how many with --agents=N\n", out);
}

void usher__replay_report(FILE *out, bool json, const char *file, const char *store,
                          const struct calls *c, const struct replay_result *result)
{
    if (json)
        report_json(out, file, c, result);
    else
        report_text(out, file, store, c, result);
}
