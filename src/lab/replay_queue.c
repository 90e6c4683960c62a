/* SPDX-License-Identifier: MIT */
/*
 * Recorded callers through a queue, in virtual time.
 *
 * A caller applies at the moment at which it did, with its priority and lane, and leaves when its
 * patience is over.  The record has the patience of callers that hung up; the others wait without a
 * limit.  When an agent gets a caller (a notice of the engine), the visit is finished after the
 * recorded service time.  A caller that had hung up has none: it gets that of the caller before it
 * in its lane.
 *
 * Agents of the record are logged in, but paused, from an hour before the first service of
 * the day, so that early callers can wait.  Each is ready from its first to its last service of the
 * day; the last one on duty stays while a caller waits.
 *
 * Each step depends on the matches before it, so on a store each command would have to wait for the
 * answer to the one before.  Therefore the replay first runs on a queue in memory and records the
 * commands with their answers.  Then they go to the store in batches, and its answers must be the
 * same.
 *
 * A caller that finds no agent logged in stays on the line and applies again when an agent logs in,
 * with its first arrival; its patience counts from its first arrival, too.
 *
 * At one moment, ends of service come first, then hang-ups, then logins and logouts of agents, then
 * arrivals.
 */
#include "config.h"

#include "lab/replay_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "lab/heap.h"
#include "cli/progress.h"
#include "cli/run.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define NAME_SIZE 24
#define TEXT_SIZE (2 * NAME_SIZE)
#define BATCH_MAX REPLAY_BATCH_MAX
#define NONE UINT32_MAX

/* Events, in this order; the key of the heap is the kind and an index. */
enum event_kind { SERVICE_ENDS, HANGS_UP, DAY_OPENS, DUTY_BEGINS, DUTY_ENDS, ARRIVES };
#define KIND_SHIFT 32

enum caller_state { OUTSIDE, APPLYING, OUT_OF_HOURS, WAITS, IS_SERVED, WAS_SERVED, HUNG_UP };

struct caller {
    enum caller_state state;
    int64_t wait_ms, service_ms;
    uint32_t agent;
};

struct agent {
    uint64_t login;  /* 0: not logged in */
    uint32_t caller; /* NONE: none */
    bool on_duty;
    bool paused;
    bool goes; /* as soon as it is free */
};

/* One day of an agent. */
struct duty {
    int64_t from_ms, to_ms;
    uint32_t agent;
    int64_t day;
};

/* A command with its answer, in short. */
struct step {
    int64_t now_ms;
    uint64_t login;   /* finish: the room is LOGIN.1 */
    uint64_t version; /* after it */
    uint32_t i;       /* of the caller or the agent */
    uint16_t verb;
    uint8_t status, place;
};

struct queue_replay {
    struct usher_engine *engine; /* that the commands go to */
    const struct calls *calls;
    struct usher_text scope;
    struct caller *callers; /* one for each call */
    const struct calls_names *names;
    struct calls_names own; /* of agents that are not in the record */
    struct agent *agents;
    struct duty *duties;
    size_t n_duties, room_duties;
    struct heap events;
    int64_t now_ms;
    uint64_t waiting, on_duty;
    uint32_t *early; /* callers that found no agent, in order of arrival */
    size_t n_early, room_early;
    uint64_t outside; /* of them, on the line yet */
    struct step *steps;
    size_t n_steps, room_steps;
    struct replay_queue *result;
    enum usher_status failed;
    char *message;
};

/* ---- commands --------------------------------------------------------------------- */

static bool fail(struct queue_replay *r, enum usher_status status, const char *what)
{
    r->failed = status;
    (void)snprintf(r->message, CLI_MESSAGE_MAX, "%s",
                   what[0] != '\0' ? what : usher_status_text(status));
    return false;
}

static void command_init(const struct queue_replay *r, struct usher_operation *c,
                         enum usher_verb verb)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = r->scope;
    c->given = USHER_GIVEN_NOW;
    c->now_ms = r->now_ms;
}

/* The command that a step stands for; its texts are in @text. */
static void command_make(const struct queue_replay *r, const struct step *step,
                         char text[TEXT_SIZE], struct usher_operation *c)
{
    struct usher_queue_args *a = &c->arg.queue;
    struct usher_text user = { text, 0 };

    command_init(r, c, (enum usher_verb)step->verb);
    c->now_ms = step->now_ms;
    switch (step->verb) {
    case USHER_QUEUE_APPLY:
        a->lane = r->calls->lanes.name[r->calls->call[step->i].lane]->name;
        a->priority = r->calls->call[step->i].priority;
        c->given |= USHER_GIVEN_QUEUE_PRIORITY;
        a->since_ms = r->calls->call[step->i].queue_ms;
        if (step->now_ms != a->since_ms)
            c->given |= USHER_GIVEN_QUEUE_SINCE;
        break;
    case USHER_QUEUE_FINISH:
        a->room.data = text + NAME_SIZE;
        a->room.size =
            (size_t)snprintf(text + NAME_SIZE, TEXT_SIZE - NAME_SIZE, "%" PRIu64 ".1", step->login);
        break;
    case USHER_QUEUE_LEAVE:
        break;
    default:
        a->agent = r->names->name[step->i]->name;
        return;
    }
    user.size = (size_t)snprintf(text, NAME_SIZE, "call-%" PRIu32, step->i);
    a->user = user;
}

/* Execute and note it.  Anything but @wanted (or that the caller is turned away) is a fault. */
static bool execute(struct queue_replay *r, enum usher_verb verb, uint32_t i, uint64_t login,
                    enum usher_status wanted, struct usher_result *reply)
{
    struct step step = { r->now_ms, login, 0, i, (uint16_t)verb, 0, 0 };
    struct usher_operation c;
    char text[TEXT_SIZE];

    command_make(r, &step, text, &c);
    usher__run_batch(r->engine, &c, reply, 1);
    usher_result_done(reply);
    if (usher__answer_failed(reply->status))
        return fail(r, reply->status, reply->message);
    if (reply->status != wanted && (verb != USHER_QUEUE_APPLY || reply->status != USHER_EMPTY))
        return fail(r, USHER_REFUSED, "the queue gave a wrong answer");
    step.version = reply->version;
    step.status = (uint8_t)reply->status;
    step.place = (uint8_t)reply->of.queue.place;
    if (r->n_steps == r->room_steps) {
        r->room_steps = r->room_steps * 2 + 1024;
        r->steps = usher__cli_resize(r->steps, r->room_steps * sizeof *r->steps);
    }
    r->steps[r->n_steps++] = step;
    return true;
}

/* The index in "call-N", NONE if it is not ours. */
static uint32_t caller_of(const struct queue_replay *r, const struct usher_text *name)
{
    char text[NAME_SIZE];
    unsigned long i;

    if (name->size < 6 || name->size >= sizeof text || memcmp(name->data, "call-", 5) != 0)
        return NONE;
    memcpy(text, name->data, name->size);
    text[name->size] = '\0';
    i = strtoul(text + 5, NULL, 10);
    return i < r->calls->n ? (uint32_t)i : NONE;
}

static bool agent_command(struct queue_replay *r, enum usher_verb verb, uint32_t agent)
{
    struct usher_result reply;
    struct agent *a = &r->agents[agent];

    if (!execute(r, verb, agent, 0, USHER_OK, &reply))
        return false;
    if (verb == USHER_QUEUE_LOGIN)
        a->login = reply.of.queue.login;
    if (verb == USHER_QUEUE_LOGOUT)
        a->login = 0;
    a->paused = verb == USHER_QUEUE_PAUSE;
    return true;
}

/* ---- what happens ------------------------------------------------------------------ */

static void push(struct queue_replay *r, int64_t at_ms, enum event_kind kind, uint32_t i)
{
    usher__heap_push(&r->events, at_ms, (uint64_t)kind << KIND_SHIFT | i);
}

/* Called by the engine with each notice of the queue. */
static void hear(void *payload, const struct usher_notice *notice)
{
    struct queue_replay *r = payload;
    const struct calls_line *name;
    struct caller *caller;
    struct agent *agent;
    uint32_t i;

    r->result->moves++;
    if (notice->verb != USHER_QUEUE_MATCH)
        return;
    i = caller_of(r, &notice->subject);
    name = usher__calls_name(r->names, notice->owner.data, notice->owner.size);
    if (i == NONE || name == NULL)
        return; /* the next command finds that another program is here */
    caller = &r->callers[i];
    agent = &r->agents[name->index];
    r->result->doubles += agent->caller != NONE;
    r->waiting -= caller->state == WAITS;
    caller->wait_ms = r->now_ms - r->calls->call[i].queue_ms;
    caller->state = IS_SERVED;
    caller->agent = name->index;
    agent->caller = i;
    push(r, r->now_ms + caller->service_ms, SERVICE_ENDS, i);
}

static bool asks(struct queue_replay *r, uint32_t i)
{
    struct caller *caller = &r->callers[i];
    struct usher_result reply;

    caller->state = APPLYING;
    if (!execute(r, USHER_QUEUE_APPLY, i, 0, USHER_OK, &reply))
        return false;
    if (reply.status == USHER_EMPTY) {
        caller->state = OUT_OF_HOURS;
        r->outside++;
    } else if (caller->state == APPLYING) {
        caller->state = WAITS;
        r->waiting++;
    }
    if (r->waiting + r->outside > r->result->replayed.longest)
        r->result->replayed.longest = r->waiting + r->outside;
    return true;
}

static bool arrives(struct queue_replay *r, uint32_t i)
{
    const struct call *call = &r->calls->call[i];
    struct caller *caller = &r->callers[i];

    if (!asks(r, i))
        return false;
    if (caller->state == OUT_OF_HOURS) {
        if (r->n_early == r->room_early) {
            r->room_early = r->room_early * 2 + 64;
            r->early = usher__cli_resize(r->early, r->room_early * sizeof *r->early);
        }
        r->early[r->n_early++] = i;
        r->result->replayed.nobody++;
    } else if (caller->state != WAITS) {
        return true; /* served at once */
    }
    r->result->replayed.queued++;
    if (call->patience_ms != CALLS_UNKNOWN)
        push(r, r->now_ms + call->patience_ms, HANGS_UP, i);
    return true;
}

/* An agent has logged in. */
static bool early_ask_again(struct queue_replay *r)
{
    bool good = true;

    for (size_t k = 0; k < r->n_early && good; k++)
        if (r->callers[r->early[k]].state == OUT_OF_HOURS) {
            r->outside--;
            good = asks(r, r->early[k]);
        }
    r->n_early = 0;
    return good;
}

static bool hangs_up(struct queue_replay *r, uint32_t i)
{
    struct caller *caller = &r->callers[i];
    struct usher_result reply;

    if (caller->state != WAITS && caller->state != OUT_OF_HOURS)
        return true; /* served in time */
    caller->wait_ms = r->now_ms - r->calls->call[i].queue_ms;
    if (caller->state == OUT_OF_HOURS) {
        caller->state = HUNG_UP;
        r->outside--;
        return true; /* the queue does not know it */
    }
    caller->state = HUNG_UP;
    r->waiting--;
    return execute(r, USHER_QUEUE_LEAVE, i, 0, USHER_OK, &reply);
}

/* An agent at its last service is off duty once it is free and not needed. */
static bool may_go(struct queue_replay *r, uint32_t i)
{
    struct agent *a = &r->agents[i];

    if (!a->goes || a->caller != NONE)
        return true;
    if (r->on_duty == 1 && r->waiting > 0)
        return !a->paused || agent_command(r, USHER_QUEUE_READY, i);
    a->goes = a->on_duty = false;
    r->on_duty--;
    return agent_command(r, USHER_QUEUE_LOGOUT, i);
}

static bool service_ends(struct queue_replay *r, uint32_t i)
{
    struct caller *caller = &r->callers[i];
    uint32_t agent = caller->agent;
    struct usher_result reply;

    caller->state = WAS_SERVED;
    r->agents[agent].caller = NONE;
    return execute(r, USHER_QUEUE_FINISH, i, r->agents[agent].login, USHER_OK, &reply) &&
           may_go(r, agent);
}

static bool day_opens(struct queue_replay *r, uint32_t i)
{
    for (size_t k = i; k < r->n_duties && r->duties[k].day == r->duties[i].day; k++) {
        uint32_t agent = r->duties[k].agent;

        if (r->agents[agent].login == 0 && (!agent_command(r, USHER_QUEUE_LOGIN, agent) ||
                                            !agent_command(r, USHER_QUEUE_PAUSE, agent)))
            return false;
    }
    return early_ask_again(r);
}

static bool duty_begins(struct queue_replay *r, uint32_t i)
{
    uint32_t agent = r->duties[i].agent;
    struct agent *a = &r->agents[agent];

    a->goes = false;
    if (!a->on_duty) {
        a->on_duty = true;
        if (++r->on_duty > r->result->most_on_duty)
            r->result->most_on_duty = r->on_duty;
    }
    if (a->login == 0)
        return agent_command(r, USHER_QUEUE_LOGIN, agent) && early_ask_again(r);
    return !a->paused || agent_command(r, USHER_QUEUE_READY, agent);
}

static bool duty_ends(struct queue_replay *r, uint32_t i)
{
    uint32_t agent = r->duties[i].agent;
    struct agent *a = &r->agents[agent];

    a->goes = true;
    if (a->caller != NONE && (r->on_duty > 1 || r->waiting == 0) &&
        !agent_command(r, USHER_QUEUE_PAUSE, agent))
        return false;
    return may_go(r, agent);
}

static bool happens(struct queue_replay *r, const struct heap_entry *event)
{
    uint32_t i = (uint32_t)event->key;

    r->now_ms = event->at_ms;
    switch ((enum event_kind)(event->key >> KIND_SHIFT)) {
    case SERVICE_ENDS:
        return service_ends(r, i);
    case HANGS_UP:
        return hangs_up(r, i);
    case DAY_OPENS:
        return day_opens(r, i);
    case DUTY_BEGINS:
        return duty_begins(r, i);
    case DUTY_ENDS:
        return duty_ends(r, i);
    default:
        return arrives(r, i);
    }
}

/* ---- times of duty ------------------------------------------------------------------ */

static int compare_duties(const void *a, const void *b)
{
    const struct duty *x = a, *y = b;

    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return x->agent < y->agent ? -1 : x->agent > y->agent;
}

static void duty_add(struct queue_replay *r, const struct duty *d)
{
    if (r->n_duties == r->room_duties) {
        r->room_duties = r->room_duties * 2 + 64;
        r->duties = usher__cli_resize(r->duties, r->room_duties * sizeof *r->duties);
    }
    r->duties[r->n_duties++] = *d;
}

/* Services of the record, then those of one agent and day made one. */
static void duties_recorded(struct queue_replay *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->calls->n; i++) {
        const struct call *c = &r->calls->call[i];
        struct duty d = { c->queue_ms + c->wait_ms, 0, c->agent, 0 };

        if (c->agent == CALLS_NOBODY)
            continue;
        d.to_ms = d.from_ms + c->service_ms;
        d.day = d.from_ms / DAY_MS;
        duty_add(r, &d);
    }
    if (r->n_duties > 0)
        qsort(r->duties, r->n_duties, sizeof *r->duties, compare_duties);
    for (size_t i = 0; i < r->n_duties; i++) {
        const struct duty *d = &r->duties[i];
        struct duty *last = n > 0 ? &r->duties[n - 1] : NULL;

        if (last != NULL && compare_duties(last, d) == 0) {
            last->from_ms = d->from_ms < last->from_ms ? d->from_ms : last->from_ms;
            last->to_ms = d->to_ms > last->to_ms ? d->to_ms : last->to_ms;
        } else {
            r->duties[n++] = *d;
        }
    }
    r->n_duties = n;
}

static void duties_always(struct queue_replay *r, int64_t agents, int64_t from_ms)
{
    for (int64_t i = 1; i <= agents; i++) {
        struct duty d = { from_ms, INT64_MAX, 0, 0 };
        char name[NAME_SIZE];
        int n = snprintf(name, sizeof name, "agent-%" PRId64, i);

        d.agent = usher__calls_index(&r->own, name, (size_t)n);
        duty_add(r, &d);
    }
}

static void schedule(struct queue_replay *r)
{
    for (size_t i = 0; i < r->n_duties; i++) {
        const struct duty *d = &r->duties[i];
        int64_t opens_ms = d->from_ms;
        size_t k = i;

        push(r, d->from_ms, DUTY_BEGINS, (uint32_t)i);
        if (d->to_ms != INT64_MAX)
            push(r, d->to_ms, DUTY_ENDS, (uint32_t)i);
        if (i > 0 && r->duties[i - 1].day == d->day)
            continue;
        for (; k < r->n_duties && r->duties[k].day == d->day; k++)
            if (r->duties[k].from_ms < opens_ms)
                opens_ms = r->duties[k].from_ms;
        if (d->to_ms != INT64_MAX)
            push(r, opens_ms > HOUR_MS ? opens_ms - HOUR_MS : 0, DAY_OPENS, (uint32_t)i);
    }
    for (size_t i = 0; i < r->calls->n; i++)
        if (r->calls->call[i].queue_ms != CALLS_UNKNOWN)
            push(r, r->calls->call[i].queue_ms, ARRIVES, (uint32_t)i);
}

/* Service times of all callers, those not known from the one before in the lane. */
static void services(struct queue_replay *r)
{
    const struct calls *calls = r->calls;
    int64_t *last = usher__cli_resize(NULL, calls->lanes.n * sizeof *last), sum = 0, n = 0;

    for (size_t i = 0; i < calls->n; i++)
        if (calls->call[i].service_ms != CALLS_UNKNOWN) {
            sum += calls->call[i].service_ms;
            n++;
        }
    for (size_t i = 0; i < calls->lanes.n; i++)
        last[i] = n > 0 ? sum / n : 0;
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *c = &calls->call[i];

        if (c->queue_ms == CALLS_UNKNOWN)
            continue;
        if (c->service_ms != CALLS_UNKNOWN)
            last[c->lane] = c->service_ms;
        r->callers[i].service_ms = last[c->lane];
    }
    (void)usher__cli_resize(last, 0);
}

/* ---- figures ------------------------------------------------------------------------ */

static int compare_waits(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Sums up; the waits of those served are @waits, which gets sorted. */
struct sums {
    int64_t *waits;
    size_t n;
    int64_t after_queue_ms, gave_up_ms;
    uint64_t after_queue;
};

static void sum_served(struct sums *s, struct replay_centre *c, int64_t wait_ms, bool waited)
{
    c->served++;
    c->in_time += wait_ms <= REPLAY_IN_TIME_MS;
    s->waits[s->n++] = wait_ms;
    s->after_queue += waited;
    s->after_queue_ms += waited ? wait_ms : 0;
}

static void sum_up(struct sums *s, struct replay_centre *c)
{
    int64_t all = 0;

    qsort(s->waits, s->n, sizeof *s->waits, compare_waits);
    for (size_t i = 0; i < s->n; i++)
        all += s->waits[i];
    c->known = true;
    c->wait_ms = s->after_queue > 0 ? s->after_queue_ms / (int64_t)s->after_queue : CALLS_UNKNOWN;
    c->gave_up_ms = c->hung_up > 0 ? s->gave_up_ms / (int64_t)c->hung_up : CALLS_UNKNOWN;
    c->all_ms = s->n > 0 ? all / (int64_t)s->n : CALLS_UNKNOWN;
    c->ninety_ms = s->n > 0 ? s->waits[(s->n * 9 + 9) / 10 - 1] : CALLS_UNKNOWN;
}

/* The largest number of waiting callers: one that leaves at the moment of an arrival is gone. */
static uint64_t longest_recorded(const struct calls *calls)
{
    struct heap h;
    uint64_t now = 0, most = 0;

    memset(&h, 0, sizeof h);
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *c = &calls->call[i];

        if (c->queue_ms == CALLS_UNKNOWN || !c->waited || c->wait_ms == 0)
            continue;
        usher__heap_push(&h, c->queue_ms, 1);
        usher__heap_push(&h, c->queue_ms + c->wait_ms, 0);
    }
    while (h.n > 0)
        if (usher__heap_pop(&h).key == 0)
            now--;
        else if (++now > most)
            most = now;
    usher__heap_done(&h);
    return most;
}

static void figures_recorded(const struct calls *calls, struct sums *s, struct replay_centre *c)
{
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->call[i];

        if (call->queue_ms == CALLS_UNKNOWN) {
            c->early++;
            continue;
        }
        c->queued += call->waited;
        if (call->served) {
            sum_served(s, c, call->wait_ms, call->waited);
        } else {
            c->hung_up++;
            s->gave_up_ms += call->wait_ms;
        }
    }
    c->longest = longest_recorded(calls);
    sum_up(s, c);
}

static void figures_replayed(const struct queue_replay *r, struct sums *s, struct replay_centre *c)
{
    for (size_t i = 0; i < r->calls->n; i++) {
        const struct caller *caller = &r->callers[i];

        c->early += caller->state == OUTSIDE;
        c->turned += caller->state == OUT_OF_HOURS;
        if (caller->state == WAS_SERVED)
            sum_served(s, c, caller->wait_ms, caller->wait_ms > 0);
        if (caller->state == HUNG_UP) {
            c->hung_up++;
            s->gave_up_ms += caller->wait_ms;
        }
    }
    sum_up(s, c);
}

/* ---- rooms -------------------------------------------------------------------------- */

/* Rooms, one for each served caller, from that time on. */
static bool rooms(struct queue_replay *r, struct cli *cli, const char *prefix, size_t batch)
{
    struct replay_visit *visits = usher__cli_resize(NULL, r->calls->n * sizeof *visits);
    char(*names)[NAME_SIZE] = usher__cli_resize(NULL, r->calls->n * sizeof *names);
    size_t n = 0;
    bool good;

    for (uint32_t i = 0; i < r->calls->n; i++) {
        const struct caller *caller = &r->callers[i];
        struct replay_visit *v = &visits[n];

        if (caller->state != WAS_SERVED)
            continue;
        v->no = i;
        v->from_ms = r->calls->call[i].queue_ms + caller->wait_ms;
        v->to_ms = v->from_ms + caller->service_ms;
        v->agent = r->names->name[caller->agent]->name;
        v->caller.data = names[n];
        v->caller.size = (size_t)snprintf(names[n], NAME_SIZE, "call-%" PRIu32, i);
        n++;
    }
    good = usher__replay_rooms(cli, prefix, visits, n, batch, &r->result->rooms, &r->failed,
                               r->message);
    (void)usher__cli_resize(visits, 0);
    (void)usher__cli_resize(names, 0);
    return good;
}

/* ---- all of it ---------------------------------------------------------------------- */

/* Sets plain settings; the queue must be empty.  *@ret_version: its version after that. */
static bool prepare(struct queue_replay *r, uint64_t *ret_version)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(r, &c, USHER_QUEUE_STATS);
    usher__run_batch(r->engine, &c, &reply, 1);
    usher_result_done(&reply);
    if (usher__answer_failed(reply.status))
        return fail(r, reply.status, reply.message);
    if (reply.status == USHER_OK) {
        const struct usher_queue_result_statistics *s = &reply.of.queue.of.stats;

        if (s->agents + s->waiting + s->away + s->offered + s->seated > 0) {
            (void)snprintf(r->message, CLI_MESSAGE_MAX,
                           "queue %s is not empty; choose another with --pool=NAME", r->scope.data);
            r->failed = USHER_REFUSED;
            return false;
        }
    }
    command_init(r, &c, USHER_QUEUE_SET);
    c.given |= USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_TRIGGER | USHER_GIVEN_QUEUE_STRATEGY |
               USHER_GIVEN_QUEUE_OFFER | USHER_GIVEN_QUEUE_WRAPUP | USHER_GIVEN_QUEUE_LIMIT |
               USHER_GIVEN_QUEUE_MAXWAIT | USHER_GIVEN_QUEUE_GRACE | USHER_GIVEN_QUEUE_HISTORY;
    c.arg.queue.trigger = USHER_QUEUE_TRIGGER_AUTO;
    c.arg.queue.strategy = USHER_QUEUE_STRATEGY_LONGEST_IDLE;
    usher__run_batch(r->engine, &c, &reply, 1);
    usher_result_done(&reply);
    *ret_version = reply.version;
    return !usher__answer_failed(reply.status) || fail(r, reply.status, reply.message);
}

/* All events, on a queue in memory. */
static bool plan(struct queue_replay *r, uint64_t *ret_version)
{
    struct usher_watcher *watch;
    enum usher_status status = usher_open("memory:?clock=given", NULL, &r->engine);
    bool good;

    if (status != USHER_OK)
        return fail(r, status, usher_message());
    good = prepare(r, ret_version);
    status = usher_watch(r->engine, USHER_QUEUE, r->scope.data, hear, r, &watch);
    if (status != USHER_OK) {
        good = fail(r, status, usher_message());
        usher_close(r->engine);
        return good;
    }
    while (good && r->events.n > 0) {
        struct heap_entry event = usher__heap_pop(&r->events);

        good = happens(r, &event);
    }
    for (uint32_t i = 0; good && i < r->names->n; i++)
        if (r->agents[i].login != 0)
            good = agent_command(r, USHER_QUEUE_LOGOUT, i);
    usher_unwatch(r->engine, watch);
    usher_close(r->engine);
    return good;
}

/* A step from @at on, of @n, failed: remove the agents and users that they brought in. */
static void tidy(struct queue_replay *r, size_t at, size_t n)
{
    enum usher_status failed = r->failed;
    char message[CLI_MESSAGE_MAX], text[TEXT_SIZE];
    bool *caller = usher__cli_resize(NULL, r->calls->n * sizeof *caller);
    bool *agent = usher__cli_resize(NULL, r->names->n * sizeof *agent);
    struct step go = { r->steps[n - 1].now_ms, 0, 0, 0, 0, 0, 0 };
    bool good = true;

    memcpy(message, r->message, sizeof message);
    memset(caller, 0, r->calls->n * sizeof *caller);
    memset(agent, 0, r->names->n * sizeof *agent);
    for (size_t i = 0; i < n; i++) {
        const struct step *step = &r->steps[i];

        if (step->verb == USHER_QUEUE_APPLY)
            caller[step->i] = step->status == USHER_OK;
        else if (step->verb == USHER_QUEUE_LOGIN)
            agent[step->i] = true;
        else if (i < at && (step->verb == USHER_QUEUE_FINISH || step->verb == USHER_QUEUE_LEAVE))
            caller[step->i] = false;
        else if (i < at && step->verb == USHER_QUEUE_LOGOUT)
            agent[step->i] = false;
    }
    for (size_t i = 0; i < r->calls->n + r->names->n && good; i++) {
        bool is_agent = i >= r->calls->n;
        struct usher_operation c;
        struct usher_result reply;

        go.i = (uint32_t)(is_agent ? i - r->calls->n : i);
        go.verb = is_agent ? USHER_QUEUE_LOGOUT : USHER_QUEUE_LEAVE;
        if (!(is_agent ? agent : caller)[go.i])
            continue;
        command_make(r, &go, text, &c);
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
                       r->scope.data);
    (void)usher__cli_resize(caller, 0);
    (void)usher__cli_resize(agent, 0);
}

/* The steps in batches; versions are @ahead of those in memory. */
static bool play(struct queue_replay *r, size_t batch, uint64_t ahead)
{
    static struct usher_operation commands[BATCH_MAX];
    static struct usher_result replies[BATCH_MAX];
    static char texts[BATCH_MAX][TEXT_SIZE];
    struct progress progress;
    bool good = true;

    usher__progress_begin(&progress, "queue");
    for (size_t at = 0, n; good && at < r->n_steps; at += n) {
        n = r->n_steps - at < batch ? r->n_steps - at : batch;
        for (size_t i = 0; i < n; i++) {
            struct step step = r->steps[at + i];

            step.login += ahead;
            command_make(r, &step, texts[i], &commands[i]);
        }
        usher__run_batch(r->engine, commands, replies, n);
        for (size_t i = 0; i < n; i++) {
            const struct step *step = &r->steps[at + i];

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
        usher__progress_show(&progress, at, r->n_steps);
    }
    usher__progress_end(&progress);
    return good;
}

bool usher__replay_queue(struct cli *cli, const struct calls *calls, const char *scope,
                         const char *room_prefix, int64_t agents, size_t batch,
                         struct replay_queue *ret, enum usher_status *ret_status,
                         char ret_message[CLI_MESSAGE_MAX])
{
    struct queue_replay r;
    struct sums sums;
    uint64_t planned = 0, version = 0;
    int64_t begin;
    bool good;

    memset(&r, 0, sizeof r);
    memset(ret, 0, sizeof *ret);
    r.calls = calls;
    r.scope.data = scope;
    r.scope.size = strlen(scope);
    r.result = ret;
    r.message = ret_message;
    r.callers = usher__cli_resize(NULL, calls->n * sizeof *r.callers);
    memset(r.callers, 0, calls->n * sizeof *r.callers);
    if (agents > 0) {
        duties_always(&r, agents, calls->call[0].start_ms);
        r.names = &r.own;
    } else {
        duties_recorded(&r);
        r.names = &calls->agents;
    }
    r.agents = usher__cli_resize(NULL, r.names->n * sizeof *r.agents);
    memset(r.agents, 0, r.names->n * sizeof *r.agents);
    for (size_t i = 0; i < r.names->n; i++)
        r.agents[i].caller = NONE;
    ret->agents = r.names->n;
    services(&r);
    schedule(&r);

    r.now_ms = r.events.entry[0].at_ms;
    good = plan(&r, &planned);
    r.engine = cli->engine;
    r.now_ms = calls->call[0].start_ms;
    good = good && prepare(&r, &version);
    begin = usher__clock_us();
    good = good && play(&r, batch, version - planned);
    ret->wall_us = usher__clock_us() - begin;
    good = good && rooms(&r, cli, room_prefix, batch);
    if (good) {
        memset(&sums, 0, sizeof sums);
        sums.waits = usher__cli_resize(NULL, calls->n * sizeof *sums.waits);
        figures_replayed(&r, &sums, &ret->replayed);
        if (calls->outcomes) {
            int64_t *waits = sums.waits;

            memset(&sums, 0, sizeof sums);
            sums.waits = waits;
            figures_recorded(calls, &sums, &ret->recorded);
        }
        (void)usher__cli_resize(sums.waits, 0);
    }
    *ret_status = r.failed;
    usher__heap_done(&r.events);
    usher__calls_names_done(&r.own);
    (void)usher__cli_resize(r.early, 0);
    (void)usher__cli_resize(r.agents, 0);
    (void)usher__cli_resize(r.duties, 0);
    (void)usher__cli_resize(r.steps, 0);
    (void)usher__cli_resize(r.callers, 0);
    return good;
}
