/* SPDX-License-Identifier: MIT */
/* The figures of a scope, and how urgent it is.  The wallboard has the same rules: judge() in
 * wallboard.html. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_walk.h"
#include "core/text.h"
#include "top/model.h"
#include "top/text.h"

#define HOUR_MS INT64_C(3600000)
#define REFUSED_MINUTES 10
#define FEW 20 /* users of a day: below it no share is judged */

const struct column_about usher__top_columns[COLUMNS] = {
#define COLUMN(code, title, width, kind) { title, width, kind },
#include "top/figures.def"
};

static const char *const keys[FIGURES] = {
#define FIGURE(code, key) key,
#include "top/figures.def"
};

static const struct {
    unsigned noun;
    const char *key;
} hours[] = {
#define HOUR(noun, key) { USHER_##noun, key },
#include "top/figures.def"
};

/* ---- reading ------------------------------------------------------------------------------- */

static size_t put_code(char *to, unsigned code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0u | code >> 6);
        to[1] = (char)(0x80u | (code & 0x3fu));
        return 2;
    }
    to[0] = (char)(0xe0u | code >> 12);
    to[1] = (char)(0x80u | (code >> 6 & 0x3fu));
    to[2] = (char)(0x80u | (code & 0x3fu));
    return 3;
}

void usher__top_unquote(char *to, size_t size, const char *json)
{
    size_t n = 0;

    for (json++; *json != '"' && *json != '\0' && n + 4 < size; json++) {
        if (*json != '\\') {
            to[n++] = *json;
            continue;
        }
        json++;
        if (*json == 'u' && memchr(json, '\0', 5) == NULL) {
            char digits[5] = { json[1], json[2], json[3], json[4], '\0' };

            n += put_code(to + n, (unsigned)strtoul(digits, NULL, 16));
            json += 4;
        } else if (*json == '\0') {
            break;
        } else {
            const char *escape = strchr("n\nr\rt\tb\bf\f", *json);

            to[n++] = escape != NULL ? escape[1] : *json;
        }
    }
    to[n] = '\0';
}

/* Return the number at @json, with @scale parts of 1; a large one is a string. */
static int64_t number_at(const char *json, int64_t scale)
{
    json += *json == '"';
    if ((*json < '0' || *json > '9') && *json != '-')
        return USHER_NONE;
    if (scale != 1)
        return (int64_t)(strtod(json, NULL) * (double)scale + 0.5);
    return strtoll(json, NULL, 10);
}

static void read_stats(struct row *r, const char *stats)
{
    const char *mode = usher__json_find(stats, "mode");

    for (unsigned i = 0; i < FIGURES; i++) {
        const char *at = usher__json_find(stats, keys[i]);

        r->figure[i] =
            at != NULL ? number_at(at, i == FIGURE_SERVICE_LEVEL ? 10000 : 1) : USHER_NONE;
    }
    r->mode[0] = '\0';
    if (mode != NULL && strncmp(mode, "\"open\"", 6) != 0)
        usher__top_unquote(r->mode, sizeof r->mode, mode);
}

/* Return the sum of the last @minutes of the array @at; USHER_NONE: no minute is known. */
static int64_t sum_of(const char *at, int64_t minutes)
{
    int64_t value[ROW_HOUR] = { 0 }, n = 0, sum = USHER_NONE;

    for (at = at != NULL ? usher__json_first(at) : NULL; at != NULL && n < ROW_HOUR;
         at = usher__json_next(at))
        value[n++] = number_at(at, 1);
    for (int64_t i = n > minutes ? n - minutes : 0; i < n; i++)
        if (value[i] != USHER_NONE)
            sum = (sum != USHER_NONE ? sum : 0) + value[i];
    return sum;
}

static void read_hour(struct row *r, const char *hour)
{
    r->n_hour = 0;
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
        const char *at = hours[i].noun == r->noun ? usher__json_find(hour, hours[i].key) : NULL;

        for (at = at != NULL ? usher__json_first(at) : NULL; at != NULL && r->n_hour < ROW_HOUR;
             at = usher__json_next(at)) {
            int64_t number = number_at(at, 1);

            r->hour[r->n_hour++] = number != USHER_NONE ? (int32_t)number : -1;
        }
    }
    r->refused = sum_of(usher__json_find(hour, "refused"), REFUSED_MINUTES);
    r->passed = sum_of(usher__json_find(hour, "issued"), ROW_HOUR);
}

void usher__top_read(struct row *r, const char *json)
{
    const char *at;

    at = usher__json_find(json, "version");
    r->version = at != NULL ? strtoull(at + (*at == '"'), NULL, 10) : 0;
    at = usher__json_find(json, "epoch");
    r->epoch = at != NULL ? strtoull(at + 1, NULL, 16) : 0;
    at = usher__json_find(json, "at");
    r->at_ms = at != NULL ? number_at(at, 1) : 0;
    at = usher__json_find(json, "stats");
    if (at != NULL)
        read_stats(r, at);
    at = usher__json_find(json, "hour");
    if (at != NULL)
        read_hour(r, at);
}

/* ---- judging ------------------------------------------------------------------------------- */

struct judging {
    struct row *r;
    const struct thresholds *t;
    int64_t grown_ms;
};

static int64_t figure(const struct row *r, enum figure code)
{
    return r->figure[code] != USHER_NONE ? r->figure[code] : 0;
}

/* The reason @format, which is @level, is shown if it is the worst so far. */
static void reason(struct judging *j, enum level level, const char *text)
{
    if (level == LEVEL_NONE || level <= j->r->level)
        return;
    j->r->level = level;
    (void)snprintf(j->r->why, sizeof j->r->why, "%s", text);
}

static void reason_span(struct judging *j, enum level level, const char *format, int64_t ms)
{
    char text[ROW_WHY], span[TOP_TEXT_MAX];

    /* a format of this file */
    (void)snprintf(text, sizeof text, "%s%s", format, usher__top_span(span, ms, true));
    reason(j, level, text);
}

/* A fault of the day does not make the row urgent: it is shown if nothing else is. */
static void remark(struct judging *j, const char *text)
{
    if (j->r->why[0] == '\0')
        (void)snprintf(j->r->why, sizeof j->r->why, "%s", text);
}

static enum level level(const struct judging *j, enum threshold code, int64_t part, int64_t whole)
{
    return usher__thresholds_level(j->t, code, part, whole);
}

static void judge_queue(struct judging *j)
{
    struct row *r = j->r;
    int64_t waiting = figure(r, FIGURE_WAITING), agents = figure(r, FIGURE_AGENTS);
    int64_t wait_ms = waiting > 0 ? figure(r, FIGURE_LONGEST_WAIT) + j->grown_ms : 0;
    int64_t gone = figure(r, FIGURE_ABANDONED_TODAY) + figure(r, FIGURE_TIMEOUT_TODAY);
    int64_t came = figure(r, FIGURE_SEATED_TODAY) + gone;
    char text[ROW_WHY];

    if (waiting > 0) {
        reason_span(j, level(j, THRESHOLD_WAIT, wait_ms, 1000), "longest wait ", wait_ms);
        (void)snprintf(text, sizeof text, "%" PRId64 " waiting", waiting);
        reason(j, level(j, THRESHOLD_WAITING, waiting, 1), text);
        reason(j, agents == 0 ? LEVEL_ALARM : LEVEL_NONE, "no agent is logged in");
    }
    if (came >= FEW && r->figure[FIGURE_SERVICE_LEVEL] != USHER_NONE &&
        level(j, THRESHOLD_LEVEL, r->figure[FIGURE_SERVICE_LEVEL], 10000) != LEVEL_NONE)
        remark(j, "today: service level");
    if (came >= FEW && level(j, THRESHOLD_ABANDONED, gone, came) != LEVEL_NONE)
        remark(j, "today: many gave up");
    r->score =
        (double)waiting * 1e4 + (double)wait_ms / 10 +
        (agents > 0 ? (1 - (double)figure(r, FIGURE_AGENTS_IDLE) / (double)agents) * 1e3 : 0);
    r->cell[COLUMN_WAIT] = waiting;
    r->cell[COLUMN_BUSY] = figure(r, FIGURE_AGENTS_BUSY);
    r->cell[COLUMN_FREE] = figure(r, FIGURE_AGENTS_IDLE);
    r->cell[COLUMN_OLDEST] = waiting > 0 ? wait_ms : CELL_NONE;
    r->cell[COLUMN_TODAY] = figure(r, FIGURE_SEATED_TODAY);
    r->cell[COLUMN_LOST] = gone;
    r->cell[COLUMN_LEVEL] = came > 0 ? r->figure[FIGURE_SERVICE_LEVEL] : CELL_NONE;
    r->cell[COLUMN_WRAP] = figure(r, FIGURE_AGENTS_WRAPUP);
    r->cell[COLUMN_PAUSED] = figure(r, FIGURE_AGENTS_PAUSED);
    r->cell[COLUMN_USE] = agents > 0 ? figure(r, FIGURE_AGENTS_BUSY) * 10000 / agents : 0;
}

static void judge_number(struct judging *j)
{
    struct row *r = j->r;
    int64_t up =
        figure(r, FIGURE_TOTAL) - figure(r, FIGURE_IDLE_DOWN) - figure(r, FIGURE_BUSY_DOWN);
    int64_t left = figure(r, FIGURE_IDLE_UP) - figure(r, FIGURE_RESTING) - figure(r, FIGURE_CAPPED);
    int64_t busy = figure(r, FIGURE_BUSY_UP) + figure(r, FIGURE_BUSY_DOWN);
    int64_t hold_ms =
        figure(r, FIGURE_LONGEST_HOLD) > 0 ? figure(r, FIGURE_LONGEST_HOLD) + j->grown_ms : 0;
    int64_t refused = r->refused != USHER_NONE ? r->refused : 0;
    enum level held = level(j, THRESHOLD_HOLD, hold_ms, 1000);
    char text[ROW_WHY], span[TOP_TEXT_MAX];

    (void)snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " free", left, up);
    if (up > 0)
        reason(j, level(j, THRESHOLD_FREE, left, up), text);
    reason_span(j, held == LEVEL_ALARM ? LEVEL_WARNING : LEVEL_NONE, "held for ", hold_ms);
    if (held == LEVEL_WARNING) {
        (void)snprintf(text, sizeof text, "held for %s", usher__top_span(span, hold_ms, true));
        remark(j, text);
    }
    (void)snprintf(text, sizeof text, "%" PRId64 " refused in 10 min", refused);
    if (level(j, THRESHOLD_REFUSED, refused, 1) != LEVEL_NONE)
        remark(j, text);
    r->score = (up > 0 ? (1 - (double)left / (double)up) * 1e5 : 0) + (double)refused;
    r->cell[COLUMN_BUSY] = busy;
    r->cell[COLUMN_FREE] = left;
    r->cell[COLUMN_OLDEST] = hold_ms > 0 ? hold_ms : CELL_NONE;
    r->cell[COLUMN_TODAY] = figure(r, FIGURE_CALLS_TODAY);
    r->cell[COLUMN_LOST] = figure(r, FIGURE_REFUSED_TODAY);
    r->cell[COLUMN_REST] = figure(r, FIGURE_RESTING);
    r->cell[COLUMN_CAP] = figure(r, FIGURE_CAPPED);
    r->cell[COLUMN_DOWN] = figure(r, FIGURE_IDLE_DOWN);
    r->cell[COLUMN_USE] = figure(r, FIGURE_TOTAL) > 0 ? busy * 10000 / figure(r, FIGURE_TOTAL) : 0;
}

static void judge_room(struct judging *j)
{
    struct row *r = j->r;
    int64_t members = figure(r, FIGURE_MEMBERS), capacity = figure(r, FIGURE_CAPACITY);
    char text[ROW_WHY];

    (void)snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " members", members, capacity);
    if (capacity > 0)
        reason(j, level(j, THRESHOLD_FULL, members, capacity), text);
    r->score = (double)r->level * 4e6 + (double)members;
    r->cell[COLUMN_BUSY] = members;
    r->cell[COLUMN_FREE] = capacity > 0 ? capacity - members : CELL_EMPTY;
    r->cell[COLUMN_USE] = capacity > 0 ? members * 10000 / capacity : CELL_EMPTY;
}

/* Serials and ids: how long they last. */
static void judge_stock(struct judging *j, int64_t left, int64_t hourly)
{
    struct row *r = j->r;
    double lasts_ms = hourly > 0 ? (double)left / (double)hourly * (double)HOUR_MS : 9e18;
    int64_t ms = lasts_ms < 9e18 ? (int64_t)lasts_ms : CELL_NONE;

    if (ms != CELL_NONE)
        reason_span(j, level(j, THRESHOLD_LEFT, ms, 1000), "lasts ", ms);
    r->score = (double)r->level * 4e6 + 1e6 / (1 + lasts_ms / (double)HOUR_MS);
    r->cell[COLUMN_FREE] = left;
    r->cell[COLUMN_OLDEST] = ms;
}

/* Return the changes of the last minute. */
static int64_t rate_of(struct row *r, int64_t now_ms)
{
    size_t last = 0;

    if (r->n_rate > 0 && r->version < r->rate[0].version) /* another scope of this name */
        r->n_rate = 0;
    if (r->n_rate == 0 || now_ms - r->rate[0].ms >= 10000) {
        memmove(&r->rate[1], &r->rate[0], (ROW_RATES - 1) * sizeof r->rate[0]);
        r->rate[0].ms = now_ms;
        r->rate[0].version = r->version;
        r->n_rate += r->n_rate < ROW_RATES;
    }
    while (last + 1 < r->n_rate && now_ms - r->rate[last + 1].ms <= 60000)
        last++;
    return (int64_t)(r->version - r->rate[last].version);
}

void usher__top_judge(struct row *r, const struct thresholds *t, int64_t grown_ms, int64_t now_ms)
{
    struct judging j = { r, t, grown_ms };

    r->level = LEVEL_NONE;
    r->why[0] = '\0';
    for (unsigned i = 0; i < COLUMNS; i++)
        r->cell[i] = CELL_EMPTY;
    switch (r->noun) {
    case USHER_QUEUE:
        judge_queue(&j);
        break;
    case USHER_NUMBER:
        judge_number(&j);
        break;
    case USHER_ROOM:
        judge_room(&j);
        break;
    case USHER_SERIAL:
        judge_stock(&j, figure(r, FIGURE_AVAILABLE) + figure(r, FIGURE_LEFT),
                    figure(r, FIGURE_LONGTERM));
        break;
    default:
        judge_stock(&j,
                    figure(r, FIGURE_LIMIT) -
                        figure(r, FIGURE_ISSUED) *
                            (r->figure[FIGURE_BY] > 0 ? r->figure[FIGURE_BY] : 1),
                    r->passed != USHER_NONE ? r->passed : 0);
        break;
    }
    if (r->mode[0] != '\0')
        remark(&j, r->mode);
    r->cell[COLUMN_RATE] = rate_of(r, now_ms);
}
