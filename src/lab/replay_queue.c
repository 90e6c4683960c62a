/* SPDX-License-Identifier: MIT */
/*
 * The queue of a replay, on a store.
 *
 * Each step depends on the matches before it, so on a store each command would have to wait for the
 * answer to the one before.  Therefore the replay first runs on a queue in memory (replay_plan.c)
 * and records the commands with their answers.  Then they go to the store in batches, and its
 * answers must be the same.
 */
#include "config.h"

#include "lab/replay_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/answer.h"
#include "cli/progress.h"
#include "cli/run.h"

#define BATCH_MAX REPLAY_BATCH_MAX

struct queue_replay {
    struct usher_engine *engine;
    struct replay_plan *plan; /* of the result */
    struct replay_queue *result;
    int64_t shift_ms; /* of all times */
    enum usher_status failed;
    char *message;
};

static bool fail(struct queue_replay *r, enum usher_status status, const char *what)
{
    r->failed = status;
    (void)snprintf(r->message, CLI_MESSAGE_MAX, "%s",
                   what[0] != '\0' ? what : usher_status_text(status));
    return false;
}

/* ---- rooms -------------------------------------------------------------------------- */

/* Rooms, one for each served caller, from that time on. */
static bool rooms(struct queue_replay *r, struct cli *cli, const char *prefix, size_t batch)
{
    struct replay_visit *visits = usher__cli_resize(NULL, r->plan->calls->n * sizeof *visits);
    char(*names)[REPLAY_NAME_SIZE] = usher__cli_resize(NULL, r->plan->calls->n * sizeof *names);
    size_t n = 0;
    bool good;

    for (uint32_t i = 0; i < r->plan->calls->n; i++) {
        const struct replay_caller *caller = &r->plan->callers[i];
        struct replay_visit *v = &visits[n];

        if (caller->state != WAS_SERVED)
            continue;
        v->no = i;
        v->from_ms = r->plan->calls->call[i].queue_ms + caller->wait_ms;
        v->to_ms = v->from_ms + caller->service_ms;
        v->agent = r->plan->names->name[caller->agent]->name;
        v->caller.data = names[n];
        v->caller.size = (size_t)snprintf(names[n], REPLAY_NAME_SIZE, "call-%" PRIu32, i);
        n++;
    }
    good = usher__replay_rooms(cli, prefix, visits, n, batch, &r->result->rooms, &r->failed,
                               r->message);
    (void)usher__cli_resize(visits, 0);
    (void)usher__cli_resize(names, 0);
    return good;
}

/* ---- commands ------------------------------------------------------------------------ */

static void command_of(const struct queue_replay *r, const struct replay_step *step,
                       char text[REPLAY_TEXT_SIZE], struct usher_operation *c)
{
    usher__replay_command(r->plan, step, text, c);
    c->now_ms += r->shift_ms;
    c->arg.queue.since_ms += r->shift_ms;
}

/* A step from @at on, of @n, failed: remove the agents and users that they brought in. */
static void tidy(struct queue_replay *r, size_t at, size_t n)
{
    enum usher_status failed = r->failed;
    char message[CLI_MESSAGE_MAX], text[REPLAY_TEXT_SIZE];
    bool *caller = usher__cli_resize(NULL, r->plan->calls->n * sizeof *caller);
    bool *agent = usher__cli_resize(NULL, r->plan->names->n * sizeof *agent);
    struct replay_step go = { r->plan->steps[n - 1].now_ms, 0, 0, 0, 0, 0, 0 };
    bool good = true;

    memcpy(message, r->message, sizeof message);
    memset(caller, 0, r->plan->calls->n * sizeof *caller);
    memset(agent, 0, r->plan->names->n * sizeof *agent);
    for (size_t i = 0; i < n; i++) {
        const struct replay_step *step = &r->plan->steps[i];

        if (step->verb == USHER_QUEUE_APPLY)
            caller[step->i] = step->status == USHER_OK;
        else if (step->verb == USHER_QUEUE_LOGIN)
            agent[step->i] = true;
        else if (i < at && (step->verb == USHER_QUEUE_FINISH || step->verb == USHER_QUEUE_LEAVE))
            caller[step->i] = false;
        else if (i < at && step->verb == USHER_QUEUE_LOGOUT)
            agent[step->i] = false;
    }
    for (size_t i = 0; i < r->plan->calls->n + r->plan->names->n && good; i++) {
        bool is_agent = i >= r->plan->calls->n;
        struct usher_operation c;
        struct usher_result reply;

        go.i = (uint32_t)(is_agent ? i - r->plan->calls->n : i);
        go.verb = is_agent ? USHER_QUEUE_LOGOUT : USHER_QUEUE_LEAVE;
        if (!(is_agent ? agent : caller)[go.i])
            continue;
        command_of(r, &go, text, &c);
        usher__run_batch(r->engine, &c, &reply, 1);
        good = !usher__answer_failed(reply.status);
        usher_result_done(&reply);
    }
    r->failed = failed;
    if (good)
        memcpy(r->message, message, sizeof message);
    else
        (void)snprintf(r->message, CLI_MESSAGE_MAX,
                       "%.300s; callers and agents may be left in queue %.80s", message,
                       r->plan->scope.data);
    (void)usher__cli_resize(caller, 0);
    (void)usher__cli_resize(agent, 0);
}

/* Sleep until the step @at is due; returns the number of steps from there that are. */
static size_t due_steps(const struct queue_replay *r, const struct replay_pace *pace,
                        int64_t begin_us, size_t at)
{
    const struct replay_step *steps = r->plan->steps;
    size_t left = r->plan->n_steps - at, n = 1;

    if (left > pace->batch)
        left = pace->batch;
    if (pace->speed == 0)
        return left;
    for (;;) {
        int64_t elapsed_us = usher__clock_us() - begin_us;
        int64_t due_us = (steps[at].now_ms - steps[0].now_ms) * 1000 / pace->speed;
        struct timespec pause = { 0, 0 };

        if (elapsed_us >= due_us) {
            while (n < left &&
                   (steps[at + n].now_ms - steps[0].now_ms) * 1000 / pace->speed <= elapsed_us)
                n++;
            return n;
        }
        pause.tv_sec = (time_t)((due_us - elapsed_us) / 1000000);
        pause.tv_nsec = (long)((due_us - elapsed_us) % 1000000 * 1000);
        (void)nanosleep(&pause, NULL);
    }
}

/* The steps in batches; versions are @ahead of those in memory. */
static bool play(struct queue_replay *r, const struct replay_pace *pace, uint64_t ahead)
{
    static struct usher_operation commands[BATCH_MAX];
    static struct usher_result replies[BATCH_MAX];
    static char texts[BATCH_MAX][REPLAY_TEXT_SIZE];
    int64_t begin_us = usher__clock_us();
    struct progress progress;
    bool good = true;

    usher__progress_begin(&progress, "queue", "commands");
    for (size_t at = 0, n; good && at < r->plan->n_steps; at += n) {
        n = due_steps(r, pace, begin_us, at);
        for (size_t i = 0; i < n; i++) {
            struct replay_step step = r->plan->steps[at + i];

            step.login += ahead;
            command_of(r, &step, texts[i], &commands[i]);
        }
        usher__run_batch(r->engine, commands, replies, n);
        for (size_t i = 0; i < n; i++) {
            const struct replay_step *step = &r->plan->steps[at + i];

            if (good && usher__answer_failed(replies[i].status))
                good = fail(r, replies[i].status, replies[i].message);
            if (good && (replies[i].status != (enum usher_status)step->status ||
                         replies[i].version != step->version + ahead ||
                         replies[i].of.queue.place != (enum usher_queue_place)step->place))
                good = fail(r, USHER_REFUSED, "another program uses the queue");
            usher_result_done(&replies[i]);
        }
        if (!good)
            tidy(r, at, at + n);
        usher__progress_show(&progress, at, r->plan->n_steps);
    }
    usher__progress_end(&progress);
    return good;
}

static int64_t wall_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool usher__replay_queue(struct cli *cli, const struct calls *calls, const char *scope,
                         const char *room_prefix, const struct replay_scenario *scenario,
                         const struct replay_pace *pace, struct replay_queue *ret,
                         enum usher_status *ret_status, char ret_message[CLI_MESSAGE_MAX])
{
    struct queue_replay r;
    uint64_t version = 0;
    int64_t begin;
    bool good;

    memset(&r, 0, sizeof r);
    memset(ret, 0, sizeof *ret);
    r.result = ret;
    r.plan = &ret->plan;
    r.message = ret_message;
    good = usher__replay_plan(calls, scope, scenario, &ret->plan, &r.failed, ret_message);
    r.engine = cli->engine;
    if (pace->speed > 0)
        r.shift_ms = wall_ms() - calls->call[0].start_ms;
    good = good &&
           usher__replay_prepare(r.engine, &r.plan->scope, calls->call[0].start_ms + r.shift_ms,
                                 &version, &r.failed, ret_message);
    begin = usher__clock_us();
    good = good && play(&r, pace, version - r.plan->version);
    ret->wall_us = usher__clock_us() - begin;
    good = good && rooms(&r, cli, room_prefix, pace->batch);
    *ret_status = r.failed;
    return good;
}

void usher__replay_queue_done(struct replay_queue *q)
{
    usher__replay_plan_done(&q->plan);
}
