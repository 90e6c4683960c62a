/* SPDX-License-Identifier: MIT */
/*
 * Recorded callers through a queue in memory, in virtual time.
 *
 * A caller applies at the moment at which it did, with its priority and lane, and leaves when its
 * patience is over, unless that is unknown.  When an agent gets a caller (a notice of the engine),
 * the visit is finished after the recorded service time.  A caller that had hung up has none: it
 * gets that of the caller before it in its lane.
 *
 * Agents of the record are logged in, but paused, from an hour before the first service of
 * the day, so that early callers can wait.  Each is ready from its first to its last service of the
 * day; the last one on duty stays while a caller waits.
 *
 * A caller that finds no agent logged in stays on the line and applies again when an agent logs in,
 * with its first arrival; its patience counts from its first arrival, too.
 *
 * At one moment, ends of service come first, then hang-ups, then logins and logouts of agents, then
 * arrivals.
 */
#include "config.h"

#include "lab/replay_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer.h"
#include "lab/heap.h"
#include "cli/run.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define NAME_SIZE REPLAY_NAME_SIZE
#define TEXT_SIZE REPLAY_TEXT_SIZE
#define NONE UINT32_MAX

/* Events, in this order; the key of the heap is the kind and an index. */
enum event_kind { SERVICE_ENDS, HANGS_UP, DAY_OPENS, DUTY_BEGINS, DUTY_ENDS, ARRIVES };
#define KIND_SHIFT 32

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

struct centre {
    struct usher_engine *engine;
    const struct calls *calls;
    const struct replay_scenario *scenario;
    struct replay_plan *plan;
    struct replay_caller *callers;   /* of the plan */
    const struct calls_names *names; /* of the plan */
    struct agent *agents;
    struct duty *duties;
    size_t n_duties, room_duties;
    struct heap events;
    int64_t now_ms;
    uint64_t waiting, on_duty;
    uint32_t *early; /* callers that found no agent, in order of arrival */
    size_t n_early, room_early;
    uint64_t outside; /* of them, on the line yet */
    enum usher_status failed;
    char *message;
};

/* ---- commands --------------------------------------------------------------------- */

static bool plan_fail(enum usher_status *ret_status, char *message, enum usher_status status,
                      const char *what)
{
    *ret_status = status;
    (void)snprintf(message, CLI_MESSAGE_MAX, "%s",
                   what[0] != '\0' ? what : usher_status_text(status));
    return false;
}

static bool fail(struct centre *r, enum usher_status status, const char *what)
{
    return plan_fail(&r->failed, r->message, status, what);
}

static void command_init(const struct usher_text *scope, int64_t now_ms, enum usher_verb verb,
                         struct usher_operation *c)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = *scope;
    c->given = USHER_GIVEN_NOW;
    c->now_ms = now_ms;
}

void usher__replay_command(const struct replay_plan *p, const struct replay_step *step,
                           char text[REPLAY_TEXT_SIZE], struct usher_operation *c)
{
    struct usher_queue_args *a = &c->arg.queue;
    struct usher_text user = { text, 0 };

    command_init(&p->scope, step->now_ms, (enum usher_verb)step->verb, c);
    switch (step->verb) {
    case USHER_QUEUE_APPLY:
        a->lane = p->calls->lanes.name[p->calls->call[step->i].lane]->name;
        a->priority = p->calls->call[step->i].priority;
        c->given |= USHER_GIVEN_QUEUE_PRIORITY;
        a->since_ms = p->calls->call[step->i].queue_ms;
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
        a->agent = p->names->name[step->i]->name;
        return;
    }
    user.size = (size_t)snprintf(text, NAME_SIZE, "call-%" PRIu32, step->i);
    a->user = user;
}

/* Execute and note it.  Anything but @wanted (or that the caller is turned away) is a fault. */
static bool execute(struct centre *r, enum usher_verb verb, uint32_t i, uint64_t login,
                    enum usher_status wanted, struct usher_result *reply)
{
    struct replay_step step = { r->now_ms, login, 0, i, (uint16_t)verb, 0, 0 };
    struct replay_plan *p = r->plan;
    struct usher_operation c;
    char text[TEXT_SIZE];

    usher__replay_command(r->plan, &step, text, &c);
    usher__run_batch(r->engine, &c, reply, 1);
    usher_result_done(reply);
    if (usher__answer_failed(reply->status))
        return fail(r, reply->status, reply->message);
    if (reply->status != wanted && (verb != USHER_QUEUE_APPLY || reply->status != USHER_EMPTY))
        return fail(r, USHER_REFUSED, "the queue gave a wrong answer");
    step.version = reply->version;
    step.status = (uint8_t)reply->status;
    step.place = (uint8_t)reply->of.queue.place;
    if (p->n_steps == p->room_steps) {
        p->room_steps = p->room_steps * 2 + 1024;
        p->steps = usher__cli_resize(p->steps, p->room_steps * sizeof *p->steps);
    }
    p->steps[p->n_steps++] = step;
    return true;
}

/* The index in "call-N", NONE if it is not ours. */
static uint32_t caller_of(const struct centre *r, const struct usher_text *name)
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

static bool agent_command(struct centre *r, enum usher_verb verb, uint32_t agent)
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

static void push(struct centre *r, int64_t at_ms, enum event_kind kind, uint32_t i)
{
    usher__heap_push(&r->events, at_ms, (uint64_t)kind << KIND_SHIFT | i);
}

/* Called by the engine with each notice of the queue. */
static void hear(void *payload, const struct usher_notice *notice)
{
    struct centre *r = payload;
    const struct calls_line *name;
    struct replay_caller *caller;
    struct agent *agent;
    uint32_t i;

    r->plan->moves++;
    if (notice->verb != USHER_QUEUE_MATCH)
        return;
    i = caller_of(r, &notice->subject);
    name = usher__calls_name(r->names, notice->owner.data, notice->owner.size);
    if (i == NONE || name == NULL)
        return; /* the next command finds that another program is here */
    caller = &r->callers[i];
    agent = &r->agents[name->index];
    r->plan->doubles += agent->caller != NONE;
    r->waiting -= caller->state == WAITS;
    caller->wait_ms = r->now_ms - r->calls->call[i].queue_ms;
    caller->state = IS_SERVED;
    caller->agent = name->index;
    agent->caller = i;
    push(r, r->now_ms + caller->service_ms, SERVICE_ENDS, i);
}

static bool asks(struct centre *r, uint32_t i)
{
    struct replay_caller *caller = &r->callers[i];
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
    if (r->waiting + r->outside > r->plan->longest)
        r->plan->longest = r->waiting + r->outside;
    return true;
}

static bool arrives(struct centre *r, uint32_t i)
{
    struct replay_caller *caller = &r->callers[i];

    if (!asks(r, i))
        return false;
    if (caller->state == OUT_OF_HOURS) {
        if (r->n_early == r->room_early) {
            r->room_early = r->room_early * 2 + 64;
            r->early = usher__cli_resize(r->early, r->room_early * sizeof *r->early);
        }
        r->early[r->n_early++] = i;
        r->plan->nobody++;
    } else if (caller->state != WAITS) {
        return true; /* served at once */
    }
    caller->waited = true;
    if (r->scenario->patience[i] != CALLS_UNKNOWN)
        push(r, r->now_ms + r->scenario->patience[i], HANGS_UP, i);
    return true;
}

/* An agent has logged in. */
static bool early_ask_again(struct centre *r)
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

static bool hangs_up(struct centre *r, uint32_t i)
{
    struct replay_caller *caller = &r->callers[i];
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

static void on_duty(struct centre *r, int change)
{
    struct replay_plan *p = r->plan;

    r->on_duty += (uint64_t)change;
    if (r->on_duty > p->most_on_duty)
        p->most_on_duty = r->on_duty;
    if (p->n_duty == p->room_duty) {
        p->room_duty = p->room_duty * 2 + 64;
        p->duty = usher__cli_resize(p->duty, p->room_duty * sizeof *p->duty);
    }
    p->duty[p->n_duty++] = (struct replay_duty){ r->now_ms, r->on_duty };
}

/* An agent at its last service is off duty once it is free and not needed. */
static bool may_go(struct centre *r, uint32_t i)
{
    struct agent *a = &r->agents[i];

    if (!a->goes || a->caller != NONE)
        return true;
    if (r->on_duty == 1 && r->waiting > 0)
        return !a->paused || agent_command(r, USHER_QUEUE_READY, i);
    a->goes = a->on_duty = false;
    on_duty(r, -1);
    return agent_command(r, USHER_QUEUE_LOGOUT, i);
}

static bool service_ends(struct centre *r, uint32_t i)
{
    struct replay_caller *caller = &r->callers[i];
    uint32_t agent = caller->agent;
    struct usher_result reply;

    caller->state = WAS_SERVED;
    r->agents[agent].caller = NONE;
    return execute(r, USHER_QUEUE_FINISH, i, r->agents[agent].login, USHER_OK, &reply) &&
           may_go(r, agent);
}

static bool day_opens(struct centre *r, uint32_t i)
{
    for (size_t k = i; k < r->n_duties && r->duties[k].day == r->duties[i].day; k++) {
        uint32_t agent = r->duties[k].agent;

        if (r->agents[agent].login == 0 && (!agent_command(r, USHER_QUEUE_LOGIN, agent) ||
                                            !agent_command(r, USHER_QUEUE_PAUSE, agent)))
            return false;
    }
    return early_ask_again(r);
}

static bool duty_begins(struct centre *r, uint32_t i)
{
    uint32_t agent = r->duties[i].agent;
    struct agent *a = &r->agents[agent];

    a->goes = false;
    if (!a->on_duty) {
        a->on_duty = true;
        on_duty(r, 1);
    }
    if (a->login == 0)
        return agent_command(r, USHER_QUEUE_LOGIN, agent) && early_ask_again(r);
    return !a->paused || agent_command(r, USHER_QUEUE_READY, agent);
}

static bool duty_ends(struct centre *r, uint32_t i)
{
    uint32_t agent = r->duties[i].agent;
    struct agent *a = &r->agents[agent];

    a->goes = true;
    if (a->caller != NONE && (r->on_duty > 1 || r->waiting == 0) &&
        !agent_command(r, USHER_QUEUE_PAUSE, agent))
        return false;
    return may_go(r, agent);
}

static bool happens(struct centre *r, const struct heap_entry *event)
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

static void duty_add(struct centre *r, const struct duty *d)
{
    if (r->n_duties == r->room_duties) {
        r->room_duties = r->room_duties * 2 + 64;
        r->duties = usher__cli_resize(r->duties, r->room_duties * sizeof *r->duties);
    }
    r->duties[r->n_duties++] = *d;
}

/* Services of the record, then those of one agent and day made one. */
static void duties_recorded(struct centre *r)
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

static void duties_always(struct centre *r, int64_t agents, int64_t from_ms)
{
    for (int64_t i = 1; i <= agents; i++) {
        struct duty d = { from_ms, INT64_MAX, 0, 0 };
        char name[NAME_SIZE];
        int n = snprintf(name, sizeof name, "agent-%" PRId64, i);

        d.agent = usher__calls_index(&r->plan->own, name, (size_t)n);
        duty_add(r, &d);
    }
}

static bool has_no_line(const struct centre *r, size_t i)
{
    return r->scenario->no_line != NULL && r->scenario->no_line[i];
}

static void schedule(struct centre *r)
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
        if (r->calls->call[i].queue_ms != CALLS_UNKNOWN && !has_no_line(r, i))
            push(r, r->calls->call[i].queue_ms, ARRIVES, (uint32_t)i);
}

/* Service times of all callers, those not known from the one before in the lane. */
static void services(struct centre *r)
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

/* ---- all of it ---------------------------------------------------------------------- */

bool usher__replay_prepare(struct usher_engine *engine, const struct usher_text *scope,
                           int64_t now_ms, uint64_t *ret_version, enum usher_status *ret_status,
                           char ret_message[CLI_MESSAGE_MAX])
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(scope, now_ms, USHER_QUEUE_STATS, &c);
    usher__run_batch(engine, &c, &reply, 1);
    usher_result_done(&reply);
    if (usher__answer_failed(reply.status))
        return plan_fail(ret_status, ret_message, reply.status, reply.message);
    if (reply.status == USHER_OK) {
        const struct usher_queue_result_statistics *s = &reply.of.queue.of.stats;

        if (s->agents + s->waiting + s->away + s->offered + s->seated > 0) {
            (void)snprintf(ret_message, CLI_MESSAGE_MAX,
                           "queue %s is not empty; choose another with --pool=NAME", scope->data);
            *ret_status = USHER_REFUSED;
            return false;
        }
    }
    command_init(scope, now_ms, USHER_QUEUE_SET, &c);
    c.given |= USHER_GIVEN_QUEUE_TTL | USHER_GIVEN_QUEUE_TRIGGER | USHER_GIVEN_QUEUE_STRATEGY |
               USHER_GIVEN_QUEUE_OFFER | USHER_GIVEN_QUEUE_WRAPUP | USHER_GIVEN_QUEUE_LIMIT |
               USHER_GIVEN_QUEUE_MAXWAIT | USHER_GIVEN_QUEUE_GRACE | USHER_GIVEN_QUEUE_HISTORY;
    c.arg.queue.trigger = USHER_QUEUE_TRIGGER_AUTO;
    c.arg.queue.strategy = USHER_QUEUE_STRATEGY_LONGEST_IDLE;
    usher__run_batch(engine, &c, &reply, 1);
    usher_result_done(&reply);
    *ret_version = reply.version;
    return !usher__answer_failed(reply.status) ||
           plan_fail(ret_status, ret_message, reply.status, reply.message);
}

static bool run_events(struct centre *r)
{
    struct usher_watcher *watch;
    enum usher_status status = usher_open("memory:?clock=given", NULL, &r->engine);
    bool good;

    if (status != USHER_OK)
        return fail(r, status, usher_message());
    good = usher__replay_prepare(r->engine, &r->plan->scope, r->now_ms, &r->plan->version,
                                 &r->failed, r->message);
    status = usher_watch(r->engine, USHER_QUEUE, r->plan->scope.data, hear, r, &watch);
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

bool usher__replay_plan(const struct calls *calls, const char *scope,
                        const struct replay_scenario *scenario, struct replay_plan *ret,
                        enum usher_status *ret_status, char ret_message[CLI_MESSAGE_MAX])
{
    struct centre r;
    bool good;

    memset(&r, 0, sizeof r);
    memset(ret, 0, sizeof *ret);
    ret->calls = r.calls = calls;
    ret->scope.data = scope;
    ret->scope.size = strlen(scope);
    ret->callers = usher__cli_resize(NULL, calls->n * sizeof *ret->callers);
    memset(ret->callers, 0, calls->n * sizeof *ret->callers);
    ret->names = scenario->agents > 0 ? &ret->own : &calls->agents;
    r.plan = ret;
    r.scenario = scenario;
    r.callers = ret->callers;
    r.names = ret->names;
    r.message = ret_message;
    if (scenario->agents > 0)
        duties_always(&r, scenario->agents, calls->call[0].start_ms);
    else
        duties_recorded(&r);
    r.agents = usher__cli_resize(NULL, r.names->n * sizeof *r.agents);
    memset(r.agents, 0, r.names->n * sizeof *r.agents);
    for (size_t i = 0; i < r.names->n; i++)
        r.agents[i].caller = NONE;
    services(&r);
    schedule(&r);

    r.now_ms = r.events.entry[0].at_ms;
    good = run_events(&r);
    *ret_status = r.failed;
    usher__heap_done(&r.events);
    (void)usher__cli_resize(r.early, 0);
    (void)usher__cli_resize(r.agents, 0);
    (void)usher__cli_resize(r.duties, 0);
    return good;
}

void usher__replay_plan_done(struct replay_plan *p)
{
    usher__calls_names_done(&p->own);
    (void)usher__cli_resize(p->callers, 0);
    (void)usher__cli_resize(p->steps, 0);
    (void)usher__cli_resize(p->duty, 0);
    memset(p, 0, sizeof *p);
}

struct replay_caller *usher__replay_recorded(const struct calls *calls)
{
    struct replay_caller *callers = usher__cli_resize(NULL, calls->n * sizeof *callers);

    memset(callers, 0, calls->n * sizeof *callers);
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->call[i];

        if (call->queue_ms == CALLS_UNKNOWN)
            continue;
        callers[i].state = call->served ? WAS_SERVED : HUNG_UP;
        callers[i].wait_ms = call->wait_ms;
        callers[i].service_ms = call->service_ms;
        callers[i].agent = call->agent;
        callers[i].waited = call->waited;
    }
    return callers;
}
