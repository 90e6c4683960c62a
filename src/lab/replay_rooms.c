/* SPDX-License-Identifier: MIT */
/*
 * A room for each visit: what a program does that seats callers with agents.
 *
 * Rooms do not depend on each other, and what each command must answer is known beforehand.  So
 * they go to the store in batches, in the order of time.  If that fails, those still open are
 * closed.
 */
#include "config.h"

#include "lab/replay_rooms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "lab/heap.h"
#include "cli/progress.h"
#include "lab/replay_queue.h"
#include "cli/run.h"

#define ROLE "host"
#define SHARE "screen"

/* The steps of a room, in this order; before the first the room must not exist. */
enum step { OPENS, AGENT_JOINS, CALLER_JOINS, IS_HOST, SHARES, CLOSES, LOOKS };

/* The state of a room, as this replay has made it.  UNSURE: the answer to its opening was lost. */
enum room_is { NOT_OURS, OPEN, UNSURE };

struct rooms_replay {
    struct cli *cli;
    const char *prefix;
    const struct replay_visit *visits;
    size_t n, batch;
    struct replay_rooms *result;
    enum usher_status failed;
    char *message;
    struct usher_operation commands[REPLAY_BATCH_MAX];
    struct usher_result replies[REPLAY_BATCH_MAX];
    enum step steps[REPLAY_BATCH_MAX];
    size_t of[REPLAY_BATCH_MAX]; /* visits */
    enum room_is *is;            /* by visit */
    bool tidying;
    char names[REPLAY_BATCH_MAX][USHER_NAME_MAX + 1];
};

static struct usher_text text(const char *s)
{
    struct usher_text t = { s, strlen(s) };

    return t;
}

/* Each step is a change of its own; a room is gone with the version after its closing. */
static bool as_expected(enum step step, const struct usher_result *reply)
{
    const struct usher_room_result *room = &reply->of.room;

    if (step == LOOKS)
        return reply->status == USHER_MISSING;
    if (reply->status != USHER_OK)
        return false;
    if (step == CLOSES)
        return reply->version == CLOSES + 2 && room->state == USHER_ROOM_STATE_CLOSED &&
               !room->more;
    return reply->version == step + 1u && room->state == USHER_ROOM_STATE_OPEN &&
           room->members == (step >= CALLER_JOINS ? 2 : step >= AGENT_JOINS);
}

static bool flush(struct rooms_replay *r)
{
    bool good = true;

    if (r->n == 0)
        return true;
    usher__run_batch(r->cli->engine, r->commands, r->replies, r->n);
    for (size_t i = 0; i < r->n; i++) {
        const struct usher_result *reply = &r->replies[i];
        enum room_is *is = &r->is[r->of[i]];

        if (r->steps[i] == OPENS && reply->status == USHER_OK)
            *is = OPEN;
        if (r->steps[i] == OPENS && reply->status == USHER_UNKNOWN)
            *is = UNSURE;
        if (r->steps[i] == CLOSES && reply->of.room.state == USHER_ROOM_STATE_CLOSED &&
            reply->status == USHER_OK)
            *is = NOT_OURS;
        if (good && usher__answer_failed(reply->status)) {
            good = false;
            r->failed = reply->status;
            (void)snprintf(r->message, CLI_MESSAGE_MAX, "%s",
                           reply->message[0] != '\0' ? reply->message
                                                     : usher_status_text(reply->status));
        } else if (good && !r->tidying && !as_expected(r->steps[i], reply)) {
            good = false;
            r->failed = USHER_REFUSED;
            (void)snprintf(r->message, CLI_MESSAGE_MAX,
                           "another program uses room %.*s; choose others with --pool=NAME",
                           USHER_NAME_MAX, r->names[i]);
        }
        usher_result_done(&r->replies[i]);
    }
    r->n = 0;
    return good;
}

static bool add(struct rooms_replay *r, size_t visit, enum step step, int64_t now)
{
    const struct replay_visit *v = &r->visits[visit];
    static const enum usher_verb verbs[] = { USHER_ROOM_OPEN, USHER_ROOM_JOIN,  USHER_ROOM_JOIN,
                                             USHER_ROOM_ROLE, USHER_ROOM_SHARE, USHER_ROOM_CLOSE,
                                             USHER_ROOM_SHOW };
    struct usher_operation *c = &r->commands[r->n];
    struct usher_room_args *a = &c->arg.room;
    char *name = r->names[r->n];

    memset(c, 0, sizeof *c);
    c->verb = verbs[step];
    c->given = USHER_GIVEN_NOW;
    c->now_ms = now;
    (void)snprintf(name, sizeof r->names[0], "%s-%" PRIu32, r->prefix, v->no);
    c->scope = text(name);
    switch (step) {
    case OPENS:
    case CLOSES:
    case LOOKS:
        break;
    case CALLER_JOINS:
        a->member = v->caller;
        break;
    case IS_HOST:
        a->role = text(ROLE);
        a->expected = text("");
        a->member = v->agent;
        break;
    case SHARES:
        a->share = text(SHARE);
        a->member = v->agent;
        break;
    default:
        a->member = v->agent;
        break;
    }
    r->of[r->n] = visit;
    r->steps[r->n++] = step;
    return r->n < r->batch || flush(r);
}

static int by_time(const void *a, const void *b)
{
    const struct replay_visit *x = a, *y = b;

    if (x->from_ms != y->from_ms)
        return x->from_ms < y->from_ms ? -1 : 1;
    return x->no < y->no ? -1 : x->no > y->no;
}

/* All visits, in the order of time; of one moment those that end come first. */
static bool play(struct rooms_replay *r, size_t n)
{
    struct progress progress;
    struct heap ends;
    uint64_t open = 0;
    bool good = true;

    memset(&ends, 0, sizeof ends);
    usher__progress_begin(&progress, "rooms", "commands");
    /* a batch may have all of a room, so that another program's room would be found too late */
    for (size_t i = 0; good && i < n; i++)
        good = add(r, i, LOOKS, r->visits[i].from_ms);
    good = good && flush(r);
    for (size_t i = 0; good && (i < n || ends.n > 0);) {
        if (ends.n > 0 && (i == n || ends.entry[0].at_ms <= r->visits[i].from_ms)) {
            struct heap_entry end = usher__heap_pop(&ends);

            good = add(r, (size_t)end.key, CLOSES, end.at_ms);
            open--;
            continue;
        }
        for (int step = OPENS; good && step < CLOSES; step++)
            good = add(r, i, (enum step)step, r->visits[i].from_ms);
        if (++open > r->result->most_open)
            r->result->most_open = open;
        usher__heap_push(&ends, r->visits[i].to_ms, i);
        i++;
        usher__progress_show(&progress, i, n);
    }
    good = good && flush(r);
    usher__progress_end(&progress);
    usher__heap_done(&ends);
    return good;
}

/* It failed: close what is open, and say what that cannot be done with. */
static void tidy(struct rooms_replay *r, size_t n)
{
    enum usher_status failed = r->failed;
    char message[CLI_MESSAGE_MAX];
    uint64_t left = 0;
    bool good = true;

    memcpy(message, r->message, sizeof message);
    r->tidying = true;
    for (size_t i = 0; i < n && good; i++)
        if (r->is[i] == OPEN)
            good = add(r, i, CLOSES, r->visits[i].to_ms);
    (void)(good && flush(r));
    for (size_t i = 0; i < n; i++)
        left += r->is[i] != NOT_OURS;
    r->failed = failed;
    if (left > 0)
        (void)snprintf(r->message, CLI_MESSAGE_MAX,
                       "%.300s; %" PRIu64 " of the rooms called %.80s-N may be left", message, left,
                       r->prefix);
    else
        memcpy(r->message, message, sizeof message);
}

bool usher__replay_rooms(struct cli *cli, const char *prefix, struct replay_visit *visits, size_t n,
                         size_t batch, struct replay_rooms *ret, enum usher_status *ret_status,
                         char ret_message[CLI_MESSAGE_MAX])
{
    struct rooms_replay *r = usher__cli_resize(NULL, sizeof *r);
    int64_t begin;
    bool good;

    memset(r, 0, sizeof *r);
    memset(ret, 0, sizeof *ret);
    r->cli = cli;
    r->prefix = prefix;
    r->visits = visits;
    r->batch = batch;
    r->result = ret;
    r->message = ret_message;
    r->is = usher__cli_resize(NULL, (n + 1) * sizeof *r->is);
    memset(r->is, 0, (n + 1) * sizeof *r->is);
    if (n > 0)
        qsort(visits, n, sizeof *visits, by_time);
    begin = usher__clock_us();
    good = play(r, n);
    if (!good)
        tidy(r, n);
    ret->wall_us = usher__clock_us() - begin;
    ret->rooms = n;
    ret->moves = n * (CLOSES + 2);
    *ret_status = r->failed;
    (void)usher__cli_resize(r->is, 0);
    (void)usher__cli_resize(r, 0);
    return good;
}
