/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/replay.h"

#include <inttypes.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/json.h"

static double per_second(const struct replay_pass *p)
{
    return p->wall_us > 0 ? (double)p->moves * 1e6 / (double)p->wall_us : 0;
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

static void report_json(FILE *out, const char *file, const struct calls *c,
                        const struct replay_pass *passes, size_t n)
{
    struct json j = { out, false };
    uint64_t doubles = 0;
    int64_t first, last;

    for (size_t i = 0; i < n; i++)
        doubles += passes[i].doubles;
    span(c, &first, &last);
    putc('{', out);
    usher__json_text(&j, "status", usher_status_word(doubles > 0 ? USHER_REFUSED : USHER_OK));
    usher__json_text(&j, "file", file);
    usher__json_uint(&j, "rows", c->rows);
    usher__json_uint(&j, "calls", c->n);
    usher__json_uint(&j, "left_out", c->left_out);
    usher__json_uint(&j, "backwards", c->backwards);
    usher__json_uint(&j, "midnight", c->midnight);
    usher__json_uint(&j, "lines", c->n_lines);
    usher__json_int(&j, "first", first);
    usher__json_int(&j, "last", last);
    usher__json_key(&j, "passes");
    for (size_t i = 0; i < n; i++) {
        const struct replay_pass *p = &passes[i];

        fputs(i == 0 ? "[{" : ",{", out);
        j.comma = false;
        usher__json_text(&j, "name", p->name);
        usher__json_uint(&j, "calls", c->n);
        usher__json_uint(&j, "refused", p->refused);
        usher__json_uint(&j, "doubles", p->doubles);
        usher__json_uint(&j, "peak", p->peak);
        usher__json_uint(&j, "transitions", p->moves);
        usher__json_uint(&j, "least", p->least);
        usher__json_uint(&j, "most", p->most);
        usher__json_key(&j, "seconds");
        fprintf(out, "%.6f", (double)p->wall_us / 1e6);
        usher__json_key(&j, "per_second");
        fprintf(out, "%.0f}", per_second(p));
    }
    fputs("]}\n", out);
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

static void report_text(FILE *out, const char *file, const char *store, const struct calls *c,
                        const struct replay_pass *passes)
{
    const struct replay_pass *own = &passes[0], *any = &passes[1];
    char text[GROUPED_MAX], from[CLI_TIME_MAX], to[CLI_TIME_MAX];
    int64_t first, last;

    span(c, &first, &last);
    usher__time_text(from, first);
    usher__time_text(to, last);
    fputs("Replay of ", out);
    usher__plain_text(out, file, strlen(file));
    /* the rest of the URL may hold a password */
    fprintf(out, " on the %.*s store\n\n", (int)strcspn(store, ":"), store);
    fprintf(out, "  %s calls on %zu lines, %.16s to %.16s\n", grouped(text, c->n), c->n_lines, from,
            to);
    fact(out, c->left_out, "row left out: it is no call", "rows left out: they are no calls");
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
    row(out, "transitions a second", (uint64_t)per_second(own), (uint64_t)per_second(any));
}

void usher__replay_report(FILE *out, bool json, const char *file, const char *store,
                          const struct calls *c, const struct replay_pass *passes, size_t n)
{
    if (json)
        report_json(out, file, c, passes, n);
    else
        report_text(out, file, store, c, passes);
}
