/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/replay_tickets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/answer.h"
#include "cli/progress.h"
#include "lab/replay_queue.h"
#include "cli/run.h"

/* Commands of one kind, each with its time. */
struct giving {
    struct cli *cli;
    const char *scope;
    size_t batch;
    struct usher_operation commands[REPLAY_BATCH_MAX];
    struct usher_result replies[REPLAY_BATCH_MAX];
    /* False: it is not a valid link of an agent and a lane. */
    bool (*given)(struct giving *g, const struct usher_result *reply);
    struct replay_ids *ids;
    struct replay_tickets *tickets;
    int64_t zone_min;
    int64_t day, number; /* of the last ticket; day -1: none */
    enum usher_status *status;
    char *message;
};

static bool fail(struct giving *g, enum usher_status status, const char *what)
{
    *g->status = status;
    (void)snprintf(g->message, CLI_MESSAGE_MAX, "%s: %s", g->scope,
                   what[0] != '\0' ? what : usher_status_text(status));
    return false;
}

static struct usher_operation *command(struct giving *g, size_t i, enum usher_verb verb,
                                       int64_t now_ms)
{
    struct usher_operation *c = &g->commands[i];

    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope.data = g->scope;
    c->scope.size = strlen(g->scope);
    c->given = USHER_GIVEN_NOW;
    c->now_ms = now_ms;
    return c;
}

/* The first of g->commands alone. */
static bool run_one(struct giving *g)
{
    bool good;

    usher__run_batch(g->cli->engine, g->commands, g->replies, 1);
    good = !usher__answer_failed(g->replies[0].status) ||
           fail(g, g->replies[0].status, g->replies[0].message);
    usher_result_done(&g->replies[0]);
    return good;
}

/* The scope is gone, also when it failed; then with its message. */
static bool drop(struct giving *g, bool good, enum usher_verb verb, int64_t now_ms)
{
    enum usher_status failed = *g->status;
    char message[CLI_MESSAGE_MAX];
    bool gone;

    memcpy(message, g->message, sizeof message);
    (void)command(g, 0, verb, now_ms);
    gone = run_one(g);
    if (good)
        return gone;
    *g->status = failed;
    if (gone)
        memcpy(g->message, message, sizeof message);
    else
        (void)snprintf(g->message, CLI_MESSAGE_MAX, "%.300s; %.80s may be left", message, g->scope);
    return false;
}

/* The scopes that the replay deletes in the end must not exist before. */
static bool is_unused(struct giving *g, enum usher_verb show, int64_t now_ms)
{
    bool there;

    (void)command(g, 0, show, now_ms);
    usher__run_batch(g->cli->engine, g->commands, g->replies, 1);
    there = g->replies[0].status == USHER_OK;
    if (usher__answer_failed(g->replies[0].status))
        return fail(g, g->replies[0].status, g->replies[0].message);
    usher_result_done(&g->replies[0]);
    return !there ||
           fail(g, USHER_REFUSED, "there is one already; choose another with --pool=NAME");
}

/* @verb at each of @n times, which do not fall. */
static bool give(struct giving *g, const char *name, enum usher_verb verb, const int64_t *times,
                 size_t n, int64_t *ret_wall_us)
{
    struct progress progress;
    int64_t begin = usher__clock_us();
    bool good = true;

    usher__progress_begin(&progress, name, "commands");
    for (size_t at = 0, k; good && at < n; at += k) {
        k = n - at < g->batch ? n - at : g->batch;
        for (size_t i = 0; i < k; i++)
            (void)command(g, i, verb, times[at + i]);
        usher__run_batch(g->cli->engine, g->commands, g->replies, k);
        for (size_t i = 0; i < k; i++) {
            if (good && g->replies[i].status != USHER_OK)
                good = fail(g, g->replies[i].status, g->replies[i].message);
            if (good && !g->given(g, &g->replies[i]))
                good = fail(g, USHER_REFUSED, "the store gave a wrong answer");
            usher_result_done(&g->replies[i]);
        }
        usher__progress_show(&progress, at, n);
    }
    *ret_wall_us = usher__clock_us() - begin;
    usher__progress_end(&progress);
    return good;
}

static struct giving *giving_new(struct cli *cli, const char *scope, size_t batch,
                                 enum usher_status *status, char *message)
{
    struct giving *g = usher__cli_resize(NULL, sizeof *g);

    memset(g, 0, sizeof *g);
    g->cli = cli;
    g->scope = scope;
    g->batch = batch;
    g->status = status;
    g->message = message;
    return g;
}

/* ---- ids ---------------------------------------------------------------------------- */

static bool id_given(struct giving *g, const struct usher_result *reply)
{
    int64_t id = reply->of.id.first;

    if (g->ids->n++ == 0)
        g->ids->first = id;
    else
        g->ids->doubles += id <= g->ids->last;
    g->ids->last = id;
    return reply->of.id.n == 1;
}

bool usher__replay_ids(struct cli *cli, const struct calls *calls, const char *scope, size_t batch,
                       struct replay_ids *ret, enum usher_status *ret_status,
                       char ret_message[CLI_MESSAGE_MAX])
{
    struct giving *g = giving_new(cli, scope, batch, ret_status, ret_message);
    int64_t *times = usher__cli_resize(NULL, calls->n * sizeof *times);
    bool good;

    memset(ret, 0, sizeof *ret);
    g->ids = ret;
    g->given = id_given;
    for (size_t i = 0; i < calls->n; i++)
        times[i] = calls->call[i].start_ms;
    good = is_unused(g, USHER_ID_SHOW, times[0]);
    if (good) {
        (void)command(g, 0, USHER_ID_CREATE, times[0]);
        good = run_one(g) && give(g, "ids", USHER_ID_NEXT, times, calls->n, &ret->wall_us);
        good = drop(g, good, USHER_ID_DELETE, times[calls->n - 1]);
    }
    (void)usher__cli_resize(times, 0);
    (void)usher__cli_resize(g, 0);
    return good;
}

/* ---- tickets -------------------------------------------------------------------------- */

static bool ticket_given(struct giving *g, const struct usher_result *reply)
{
    const struct usher_serial_result_row *row = reply->of.serial.rows;
    struct replay_tickets *t = g->tickets;
    char should[64];
    int64_t local, day;
    struct tm tm;
    time_t seconds;

    if (reply->of.serial.n_rows != 1 || row->n != 1)
        return false;
    local = row->at_ms + g->zone_min * 60000;
    day = local / 86400000;
    seconds = (time_t)(local / 1000);
    (void)usher_serial_text(reply, 0, t->last, sizeof t->last);
    if (gmtime_r(&seconds, &tm) == NULL)
        return false;
    (void)snprintf(should, sizeof should, "TK-%04d%02d%02d-%06" PRId64, tm.tm_year + 1900,
                   tm.tm_mon + 1, tm.tm_mday, row->first);
    if (t->n++ == 0)
        memcpy(t->first, t->last, sizeof t->first);
    t->doubles += strcmp(should, t->last) != 0 || day < g->day ||
                  (day == g->day ? row->first <= g->number : row->first < 1);
    t->days += day != g->day;
    if ((uint64_t)row->first > t->most)
        t->most = (uint64_t)row->first;
    g->day = day;
    g->number = row->first;
    return true;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

bool usher__replay_tickets(struct cli *cli, const struct calls *calls, const char *scope,
                           int64_t zone_min, size_t batch, struct replay_tickets *ret,
                           enum usher_status *ret_status, char ret_message[CLI_MESSAGE_MAX])
{
    static const struct usher_text prefix = { "TK-", 3 }, date = { "%Y%m%d-", 7 };
    struct giving *g = giving_new(cli, scope, batch, ret_status, ret_message);
    int64_t *times = usher__cli_resize(NULL, calls->n * sizeof *times);
    struct usher_serial_args *rule;
    struct usher_operation *c;
    size_t n = 0;
    bool good = true;

    memset(ret, 0, sizeof *ret);
    g->tickets = ret;
    g->given = ticket_given;
    g->zone_min = zone_min;
    g->day = -1;
    for (size_t i = 0; i < calls->n; i++)
        if (calls->call[i].queue_ms != CALLS_UNKNOWN)
            times[n++] = calls->call[i].queue_ms;
    if (n > 0) {
        qsort(times, n, sizeof *times, compare_times);
        good = is_unused(g, USHER_SERIAL_SHOW, times[0]);
    }
    if (n > 0 && good) {
        c = command(g, 0, USHER_SERIAL_RULE, times[0]);
        c->given |= USHER_GIVEN_SERIAL_WIDTH | USHER_GIVEN_SERIAL_OVERFLOW |
                    USHER_GIVEN_SERIAL_RESET | USHER_GIVEN_SERIAL_ZONE;
        rule = &c->arg.serial;
        rule->prefix = prefix;
        rule->date = date;
        rule->width = 6;
        rule->overflow = USHER_SERIAL_OVERFLOW_WIDEN;
        rule->reset = USHER_SERIAL_RESET_DAY;
        rule->zone_min = zone_min;
        good = run_one(g) && give(g, "tickets", USHER_SERIAL_TAKE, times, n, &ret->wall_us);
        good = drop(g, good, USHER_SERIAL_DELETE, times[n - 1]);
    }
    (void)usher__cli_resize(times, 0);
    (void)usher__cli_resize(g, 0);
    return good;
}
