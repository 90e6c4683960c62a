/* SPDX-License-Identifier: MIT */
/*
 * usher replay FILE: recorded calls through a pool of numbers, in virtual time; the ids and
 * tickets of each (replay_tickets.c); and their callers through a queue (replay_queue.c).
 *
 * A call is two events.  At one moment, the ends of earlier calls come first, then the calls
 * that begin, in the order of the file; one that begins and ends at once does so alone.
 *
 * Commands go to the store in batches.  A call ends by `hangup` with its token.  If its begin
 * is in the same batch, so that the token is not known yet, it ends by `free` of its owner: no
 * other program uses the pool, so the effect is the same.  With --batch=1 each command waits for
 * the answer to the one before.
 */
#include "config.h"

#include "lab/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "core/text.h"

#define BATCH_MAX REPLAY_BATCH_MAX
#define OWNER_MAX 24

struct event {
    int64_t at_ms;
    uint32_t call;
    bool late; /* not the end of an earlier call */
    bool end;
};

/* The state of a call in the current pass. */
struct progress_of_call {
    uint64_t token;
    uint32_t line; /* the one it got */
    bool waiting;  /* its begin stands in the batch */
    bool holds;
    bool refused;
};

struct replay {
    struct cli *cli;
    const struct calls *calls;
    struct event *events; /* 2 * calls->n */
    struct progress_of_call *of;
    const struct calls_names *lines; /* of the current pass */
    struct calls_names own;          /* with --lines */
    uint32_t *users;                 /* by line: calls that hold it */
    uint64_t *uses;                  /* by line: calls that got it */
    uint64_t busy;
    bool any; /* second pass */
    char pool[USHER_NAME_MAX + 1];
    struct replay_pass *pass;
    struct usher_operation commands[BATCH_MAX];
    struct usher_result replies[BATCH_MAX];
    struct event batch[BATCH_MAX];
    char owners[BATCH_MAX][OWNER_MAX];
    size_t n, batch_size;
    enum usher_status failed;
    char message[CLI_MESSAGE_MAX];
};

static bool fail(struct replay *r, enum usher_status status, const char *what)
{
    r->failed = status;
    (void)snprintf(r->message, sizeof r->message, "%s",
                   what[0] != '\0' ? what : usher_status_text(status));
    return false;
}

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    if (x->late != y->late)
        return x->late ? 1 : -1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return x->end - y->end;
}

static void make_events(struct replay *r)
{
    for (size_t i = 0; i < r->calls->n; i++) {
        const struct call *call = &r->calls->call[i];
        struct event *event = &r->events[2 * i];

        event[0].at_ms = call->start_ms;
        event[1].at_ms = call->end_ms;
        event[0].call = event[1].call = (uint32_t)i;
        event[0].late = true;
        event[1].late = call->end_ms == call->start_ms;
        event[0].end = false;
        event[1].end = true;
    }
    qsort(r->events, 2 * r->calls->n, sizeof *r->events, compare_events);
}

/* ---- commands --------------------------------------------------------------------- */

static struct usher_operation *command(struct replay *r, enum usher_verb verb, int64_t now_ms)
{
    struct usher_operation *c = &r->commands[r->n];

    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope.data = r->pool;
    c->scope.size = strlen(r->pool);
    c->given = USHER_GIVEN_NOW;
    c->now_ms = now_ms;
    r->n++;
    return c;
}

/* A call was answered. */
static bool began(struct replay *r, const struct event *event, const struct usher_result *reply)
{
    struct progress_of_call *of = &r->of[event->call];
    const struct calls_line *line;

    of->waiting = false;
    if (reply->status == USHER_REFUSED || reply->status == USHER_EMPTY) {
        r->pass->refused++;
        of->refused = true;
        return true;
    }
    line = usher__calls_name(r->lines, reply->of.number.number, reply->of.number.number_size);
    if (reply->status != USHER_OK || line == NULL)
        return fail(r, USHER_REFUSED, "another program uses the pool");
    of->holds = true;
    of->line = line->index;
    of->token = reply->of.number.token;
    r->pass->doubles += r->users[of->line]++ > 0;
    r->uses[of->line]++;
    if (++r->busy > r->pass->peak)
        r->pass->peak = r->busy;
    return true;
}

static bool ended(struct replay *r, const struct event *event, const struct usher_result *reply)
{
    struct progress_of_call *of = &r->of[event->call];

    if (!of->holds) /* it was refused in this batch, and there was nothing to free */
        return true;
    if (reply->status != USHER_OK)
        return fail(r, USHER_REFUSED, "another program uses the pool");
    of->holds = false;
    r->users[of->line]--;
    r->busy--;
    return true;
}

/* With @plain the answers only have to be there. */
static bool flush(struct replay *r, bool plain)
{
    bool good = true;

    if (r->n == 0)
        return true;
    usher__run_batch(r->cli->engine, r->commands, r->replies, r->n);
    for (size_t i = 0; i < r->n; i++) {
        const struct usher_result *reply = &r->replies[i];

        if (good && usher__answer_failed(reply->status))
            good = fail(r, reply->status, reply->message);
        if (!plain)
            r->pass->moves += reply->status == USHER_OK;
        if (good && !plain)
            good = r->batch[i].end ? ended(r, &r->batch[i], reply) : began(r, &r->batch[i], reply);
        usher_result_done(&r->replies[i]);
    }
    r->n = 0;
    return good;
}

static void name_owner(struct replay *r, struct usher_operation *c, const struct call *call)
{
    char *owner = r->owners[r->n - 1];

    c->arg.number.owner.data = owner;
    c->arg.number.owner.size = (size_t)snprintf(owner, OWNER_MAX, "row-%" PRIu32, call->row);
}

static bool play(struct replay *r, const struct event *event)
{
    const struct call *call = &r->calls->call[event->call];
    struct progress_of_call *of = &r->of[event->call];
    struct usher_operation *c;

    if (event->end && !of->waiting && !of->holds)
        return true; /* it was refused */
    r->batch[r->n] = *event;
    if (!event->end) {
        c = command(r, USHER_NUMBER_CALL, event->at_ms);
        name_owner(r, c, call);
        if (!r->any)
            c->arg.number.number = r->calls->lines.name[call->line]->name;
        of->waiting = true;
    } else if (of->waiting) {
        c = command(r, USHER_NUMBER_FREE, event->at_ms);
        name_owner(r, c, call);
    } else {
        c = command(r, USHER_NUMBER_HANGUP, event->at_ms);
        c->arg.number.number = r->lines->name[of->line]->name;
        c->arg.number.token = of->token;
        c->given |= USHER_GIVEN_TOKEN;
    }
    return r->n < r->batch_size || flush(r, false);
}

/* ---- the pool --------------------------------------------------------------------- */

static bool each_line(struct replay *r, enum usher_verb verb, int64_t now_ms)
{
    for (size_t i = 0; i < r->lines->n; i++) {
        command(r, verb, now_ms)->arg.number.number = r->lines->name[i]->name;
        if (r->n == BATCH_MAX && !flush(r, true))
            return false;
    }
    return flush(r, true);
}

/* A pool with no numbers in it: ours from now on. */
static bool is_empty(struct replay *r, int64_t now_ms)
{
    struct usher_operation *c = command(r, USHER_NUMBER_STATS, now_ms);
    int64_t total;

    r->n = 0;
    usher__run_batch(r->cli->engine, c, r->replies, 1);
    if (usher__answer_failed(r->replies[0].status))
        return fail(r, r->replies[0].status, r->replies[0].message);
    total = r->replies[0].status == USHER_OK ? r->replies[0].of.number.of.stats.total : 0;
    usher_result_done(&r->replies[0]);
    if (total != 0) {
        (void)snprintf(r->message, sizeof r->message,
                       "pool %s has numbers in it; choose another with --pool=NAME", r->pool);
        r->failed = USHER_REFUSED;
        return false;
    }
    return true;
}

/* Plain settings, and the lines in it. */
static bool prepare(struct replay *r, int64_t now_ms)
{
    struct usher_operation *c = command(r, USHER_NUMBER_SET, now_ms);

    c->given |= USHER_GIVEN_ORDER | USHER_GIVEN_LEASE | USHER_GIVEN_REST | USHER_GIVEN_DAILY |
                USHER_GIVEN_STRICT;
    c->arg.number.order = USHER_NUMBER_ORDER_LONGEST_IDLE;
    return flush(r, true) && each_line(r, USHER_NUMBER_ADD, now_ms) &&
           each_line(r, USHER_NUMBER_REG, now_ms);
}

/* It failed: our numbers go. */
static void tidy(struct replay *r, int64_t now_ms)
{
    enum usher_status failed = r->failed;
    char message[CLI_MESSAGE_MAX];

    memcpy(message, r->message, sizeof message);
    if (each_line(r, USHER_NUMBER_DEL, now_ms))
        memcpy(r->message, message, sizeof message);
    else
        (void)snprintf(r->message, sizeof r->message, "%.300s; numbers may be left in pool %.80s",
                       message, r->pool);
    r->failed = failed;
}

static bool pass(struct replay *r, const char *pool, bool any, struct replay_pass *result)
{
    const struct calls *c = r->calls;
    size_t n = 2 * c->n;
    struct progress progress;
    bool good;
    int64_t begin;

    memset(result, 0, sizeof *result);
    result->name = any ? "any line" : "own line";
    r->pass = result;
    r->any = any;
    r->busy = 0;
    r->lines = any && r->own.n > 0 ? &r->own : &c->lines;
    result->lines = r->lines->n;
    memset(r->of, 0, c->n * sizeof *r->of);
    r->users = usher__cli_resize(r->users, r->lines->n * sizeof *r->users);
    r->uses = usher__cli_resize(r->uses, r->lines->n * sizeof *r->uses);
    memset(r->users, 0, r->lines->n * sizeof *r->users);
    memset(r->uses, 0, r->lines->n * sizeof *r->uses);
    (void)snprintf(r->pool, sizeof r->pool, "%s-%s", pool, any ? "any" : "own");
    if (!is_empty(r, r->events[0].at_ms))
        return false;

    usher__progress_begin(&progress, result->name, "events");
    begin = usher__clock_us();
    good = prepare(r, r->events[0].at_ms);
    for (size_t i = 0; i < n && good; i++) {
        good = play(r, &r->events[i]);
        if (i % 1024 == 0)
            usher__progress_show(&progress, i, n);
    }
    good = good && flush(r, false);
    result->wall_us = usher__clock_us() - begin;
    usher__progress_end(&progress);
    if (!good) {
        tidy(r, r->events[n - 1].at_ms);
        return false;
    }

    result->least = UINT64_MAX;
    for (size_t i = 0; i < r->lines->n; i++) {
        if (r->uses[i] < result->least)
            result->least = r->uses[i];
        if (r->uses[i] > result->most)
            result->most = r->uses[i];
    }
    return each_line(r, USHER_NUMBER_DEL, r->events[n - 1].at_ms);
}

/* ---- all of it ---------------------------------------------------------------------- */

static int read_calls(struct cli *cli, const struct replay_options *o, struct calls *calls)
{
    char message[CLI_MESSAGE_MAX];
    struct lines lines;
    int fd = STDIN_FILENO;
    bool good;

    if (strcmp(o->file, "-") != 0)
        fd = open(o->file, O_RDONLY | O_CLOEXEC);
    else if (cli->shell)
        return usher__cli_fail(cli, USHER_INVALID,
                               "file - is standard input, which the shell reads");
    if (fd < 0)
        return usher__cli_fail(cli, USHER_INVALID, "file %s: %s", o->file, strerror(errno));
    usher__lines_open(&lines, fd, CALLS_LINE_BYTES);
    good = usher__calls_read(calls, &lines, o->format, o->strict, message);
    usher__lines_close(&lines);
    if (fd != STDIN_FILENO)
        (void)close(fd);
    return good ? 0 : usher__cli_fail(cli, USHER_INVALID, "%s:%s", o->file, message);
}

/* False: it failed. */
static bool given(struct replay *r, const struct replay_options *o, struct replay_result *ret)
{
    (void)snprintf(r->pool, sizeof r->pool, "%s-ids", o->pool);
    if (!usher__replay_ids(r->cli, r->calls, r->pool, r->batch_size, &ret->ids, &r->failed,
                           r->message))
        return false;
    (void)snprintf(r->pool, sizeof r->pool, "%s-tickets", o->pool);
    return usher__replay_tickets(r->cli, r->calls, r->pool, o->zone_min, r->batch_size,
                                 &ret->tickets, &r->failed, r->message);
}

/* The lines of --lines. */
static void own_lines(struct replay *r, int64_t n)
{
    for (int64_t i = 1; i <= n; i++) {
        char name[OWNER_MAX];
        int size = snprintf(name, sizeof name, "line-%" PRId64, i);

        (void)usher__calls_index(&r->own, name, (size_t)size);
    }
}

/* The callers through the queue, and the search for the number of agents.  False: it failed. */
static bool queue(struct replay *r, const struct replay_options *o, struct replay_result *ret)
{
    struct replay_scenario scenario = { .agents = o->agents, .no_line = ret->no_line };
    struct replay_pace pace = { r->batch_size, o->speed };
    char rooms[USHER_NAME_MAX + 1];
    int64_t *patience;
    bool good = true;

    if (!r->calls->services ||
        (o->agents == 0 && o->target.percent == 0 && r->calls->agents.n == 0))
        return true;
    if (o->measured && !r->calls->outcomes)
        return fail(r, USHER_INVALID, "patience=measured needs the outcome of callers");
    if (r->calls->outcomes)
        usher__survival(r->calls, &ret->survival);
    scenario.patience = patience =
        usher__patience(r->calls, o->measured ? &ret->survival : NULL, o->seed);
    (void)snprintf(r->pool, sizeof r->pool, "%s-queue", o->pool);
    (void)snprintf(rooms, sizeof rooms, "%s-room", o->pool);
    if (o->agents > 0 || r->calls->agents.n > 0)
        good = usher__replay_queue(r->cli, r->calls, r->pool, rooms, &scenario, &pace, &ret->queue,
                                   &r->failed, r->message);
    if (good && ret->queue.plan.calls != NULL) {
        usher__replay_figures(r->calls, ret->queue.plan.callers, ret->within_ms,
                              &ret->queue.replayed);
        ret->queue.replayed.nobody = ret->queue.plan.nobody;
        ret->queue.replayed.longest = ret->queue.plan.longest;
    }
    if (good && r->calls->outcomes) {
        ret->recorded = usher__replay_recorded(r->calls);
        usher__replay_figures(r->calls, ret->recorded, ret->within_ms, &ret->queue.recorded);
        ret->queue.recorded.longest = usher__replay_longest(r->calls);
    }
    ret->staffing = o->target;
    if (good && o->target.percent > 0)
        good = usher__staffing(r->calls, &scenario, usher__survival_rate(&ret->survival),
                               &ret->staffing, &r->failed, r->message);
    (void)usher__cli_resize(patience, 0);
    return good;
}

static void result_done(struct replay_result *result)
{
    usher__replay_queue_done(&result->queue);
    usher__survival_done(&result->survival);
    usher__staffing_done(&result->staffing);
    (void)usher__cli_resize(result->recorded, 0);
    (void)usher__cli_resize(result->no_line, 0);
}

/* Both passes.  False: it failed. */
static bool passes(struct replay *r, const struct replay_options *o, struct replay_result *ret)
{
    if (!pass(r, o->pool, false, &ret->passes[0]) || !pass(r, o->pool, true, &ret->passes[1]))
        return false;
    if (o->lines == 0)
        return true;
    ret->no_line = usher__cli_resize(NULL, r->calls->n * sizeof *ret->no_line);
    for (size_t i = 0; i < r->calls->n; i++)
        ret->no_line[i] = r->of[i].refused;
    ret->blocked = usher__load_blocked(r->calls, (uint64_t)o->lines);
    return true;
}

static int replay(struct cli *cli, const struct replay_options *o, const struct calls *calls)
{
    struct replay *r = usher__cli_resize(NULL, sizeof *r);
    struct replay_result result;
    int rc = 0;

    memset(&result, 0, sizeof result);
    memset(r, 0, sizeof *r);
    result.within_ms = o->target.percent > 0 ? o->target.within_ms : REPLAY_IN_TIME_MS;
    result.measured = o->measured;
    result.seed = o->seed;
    result.zone_min = o->zone_min;
    r->cli = cli;
    r->calls = calls;
    r->batch_size = (size_t)o->batch;
    r->events = usher__cli_resize(NULL, 2 * calls->n * sizeof *r->events);
    r->of = usher__cli_resize(NULL, calls->n * sizeof *r->of);
    own_lines(r, o->lines);
    make_events(r);
    if (passes(r, o, &result) && given(r, o, &result) && queue(r, o, &result))
        usher__replay_report(stdout, o->form, o->file, cli->store, calls, &result);
    else
        rc = usher__cli_fail(cli, r->failed, "%s", r->message);
    if (rc == 0 && usher__replay_doubles(&result) > 0)
        rc = usher__cli_exit_code(USHER_REFUSED);
    result_done(&result);
    usher__calls_names_done(&r->own);
    (void)usher__cli_resize(r->events, 0);
    (void)usher__cli_resize(r->of, 0);
    (void)usher__cli_resize(r->users, 0);
    (void)usher__cli_resize(r->uses, 0);
    (void)usher__cli_resize(r, 0);
    return rc;
}

int usher__lab_replay(struct cli *cli, char *const *words, size_t n)
{
    struct replay_options o = { .pool = "replay",
                                .batch = BATCH_MAX,
                                .seed = 1,
                                .form = cli->json ? REPLAY_JSON : REPLAY_TEXT };
    char message[CLI_MESSAGE_MAX];
    struct calls calls;
    int rc;

    for (size_t i = 1; i < n; i++)
        if (!usher__replay_option(&o, words[i], message))
            return usher__cli_fail(cli, USHER_INVALID, "%s", message);
    if (o.file == NULL)
        return usher__cli_fail(cli, USHER_INVALID, "file is missing: usher replay FILE");
    if (cli->shell && cli->json)
        o.form = REPLAY_JSON;
    memset(&calls, 0, sizeof calls);
    rc = read_calls(cli, &o, &calls);
    cli->clock_given = true;
    if (rc == 0)
        rc = usher__cli_open(cli, CLI_WRITES);
    if (rc == 0)
        rc = replay(cli, &o, &calls);
    usher__calls_done(&calls);
    return rc;
}
