/* SPDX-License-Identifier: MIT */
/* The typed functions of queues: each makes one command, executes it, and unpacks the reply. */
#include "config.h"

#include "lib/calls.h"
#include "lib/util.h"

#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/verbs.h"
#include "change/memory.h"

static void command_init(struct usher_operation *c, enum usher_verb verb, const char *queue)
{
    memset(c, 0, offsetof(struct usher_operation, arg));
    memset(&c->arg.queue, 0, sizeof c->arg.queue);
    c->verb = verb;
    c->scope = text(queue);
}

static enum usher_status execute(struct usher_engine *e, const struct usher_operation *c,
                                 struct usher_result *reply)
{
    enum usher_status status = usher_operate(e, c, reply, 1);
    const char *why;

    if (status == USHER_INVALID)
        return status; /* the engine itself: the reply was not touched */
    if (!USHER_IS_DONE(reply->status)) {
        why = reply->message[0] != '\0' ? reply->message : usher_status_text(reply->status);
        if (reply->of.queue.why != USHER_QUEUE_WHY_NONE && reply->message[0] == '\0')
            why = usher_queue_why_word(reply->of.queue.why);
        usher__message_set("queue %s: %s", usher_verb_word(c->verb), why);
    }
    return reply->status;
}

/* Into *@ret, or nowhere. */
static enum usher_status execute_to(struct usher_engine *e, const struct usher_operation *c,
                                    struct usher_result *ret)
{
    struct usher_result reply;
    enum usher_status status;

    if (ret != NULL)
        return execute(e, c, ret);
    status = usher__engine_check(e);
    if (status != USHER_OK)
        return status;
    status = execute(e, c, &reply);
    usher_result_done(&reply);
    return status;
}

static bool given_to(const void *ret, const char *verb, const char *name)
{
    if (ret == NULL)
        usher__message_set("queue %s: %s is NULL", verb, name);
    return ret != NULL;
}

static enum usher_status seat_of(struct usher_engine *e, const struct usher_operation *c,
                                 struct ask_queue_seat *ret)
{
    struct usher_result reply;
    const struct usher_queue_result *q = &reply.of.queue;
    enum usher_status status;

    if (!given_to(ret, usher_verb_word(c->verb), "ret_seat"))
        return USHER_INVALID;
    status = execute(e, c, &reply);
    if (!USHER_IS_DONE(status))
        return status;
    ret->place = q->place;
    ret->index = q->index;
    ret->wait_ms = q->wait_ms;
    ret->until_ms = q->until_ms;
    ret->token = q->token;
    ret->epoch = reply.epoch;
    ret->version = reply.version;
    (void)usher_queue_room_name(ret->room, reply.epoch, q->login, q->no);
    memcpy(ret->agent, q->agent, q->agent_size + 1);
    return status;
}

static enum usher_status of_agent(struct usher_engine *e, enum usher_verb verb, const char *queue,
                                  const char *agent, struct usher_result *ret)
{
    struct usher_operation c;

    command_init(&c, verb, queue);
    c.arg.queue.agent = text(agent);
    return execute_to(e, &c, ret);
}

enum usher_status ask_queue_set(struct usher_engine *e, const char *queue, uint64_t given,
                                struct usher_queue_result_settings *inout)
{
    struct usher_operation c;
    struct usher_queue_args *a = &c.arg.queue;
    struct usher_result reply;
    enum usher_status status;

    if (!given_to(inout, "set", "inout"))
        return USHER_INVALID;
    command_init(&c, USHER_QUEUE_SET, queue);
    c.given = given & ~(uint64_t)USHER_GIVEN_NOW;
    a->ttl_ms = inout->ttl_ms;
    a->trigger = inout->trigger;
    a->strategy = inout->strategy;
    a->offer_ms = inout->offer_ms;
    a->wrapup_ms = inout->wrapup_ms;
    a->limit = inout->limit;
    a->maxwait_ms = inout->maxwait_ms;
    a->grace_ms = inout->grace_ms;
    a->requeue = inout->requeue;
    a->history = inout->history;
    a->zone_min = inout->zone_min;
    a->service_ms = inout->service_ms;
    a->requests = inout->requests;
    a->archive = inout->archive;
    status = execute(e, &c, &reply);
    if (USHER_IS_DONE(status))
        *inout = reply.of.queue.of.settings;
    return status;
}

enum usher_status ask_queue_login(struct usher_engine *e, const char *queue, const char *agent,
                                  int64_t capacity, const char *lanes, int64_t level,
                                  uint64_t *ret_login)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_QUEUE_LOGIN, queue);
    c.arg.queue.agent = text(agent);
    c.arg.queue.lanes = text(lanes != NULL ? lanes : "*");
    c.arg.queue.capacity = capacity != 0 ? capacity : 1;
    c.arg.queue.level = level;
    c.given = USHER_GIVEN_QUEUE_CAPACITY | USHER_GIVEN_QUEUE_LEVEL;
    status = execute(e, &c, &reply);
    if (ret_login != NULL && USHER_IS_DONE(status))
        *ret_login = reply.of.queue.login;
    return status;
}

enum usher_status ask_queue_logout(struct usher_engine *e, const char *queue, const char *agent)
{
    return of_agent(e, USHER_QUEUE_LOGOUT, queue, agent, NULL);
}

enum usher_status ask_queue_pause(struct usher_engine *e, const char *queue, const char *agent)
{
    return of_agent(e, USHER_QUEUE_PAUSE, queue, agent, NULL);
}

enum usher_status ask_queue_ready(struct usher_engine *e, const char *queue, const char *agent)
{
    return of_agent(e, USHER_QUEUE_READY, queue, agent, NULL);
}

enum usher_status ask_queue_agent_alive(struct usher_engine *e, const char *queue,
                                        const char *agent, struct usher_result *ret_reply)
{
    return of_agent(e, USHER_QUEUE_ALIVE, queue, agent, ret_reply);
}

enum usher_status ask_queue_room(struct usher_engine *e, const char *queue, const char *agent,
                                 struct usher_result *ret_reply)
{
    return of_agent(e, USHER_QUEUE_ROOM, queue, agent, ret_reply);
}

enum usher_status ask_queue_pull(struct usher_engine *e, const char *queue, const char *agent,
                                 struct usher_result *ret_reply)
{
    return of_agent(e, USHER_QUEUE_PULL, queue, agent, ret_reply);
}

enum usher_status ask_queue_apply(struct usher_engine *e, const char *queue, const char *user,
                                  const struct ask_queue_apply_options *opt,
                                  struct ask_queue_seat *ret_seat)
{
    struct usher_operation c;

    if (opt != NULL && opt->size != sizeof *opt) {
        usher__message_set("queue apply: options.size is not set by ASK_QUEUE_APPLY_OPTIONS_INIT");
        return USHER_INVALID;
    }
    command_init(&c, USHER_QUEUE_APPLY, queue);
    c.arg.queue.user = text(user);
    if (opt != NULL) {
        c.arg.queue.lane = text(opt->lane);
        c.request = text(opt->request);
        c.arg.queue.priority = opt->priority;
        c.given = USHER_GIVEN_QUEUE_PRIORITY;
        if (opt->since_ms != 0) {
            c.arg.queue.since_ms = opt->since_ms;
            c.given |= USHER_GIVEN_QUEUE_SINCE;
        }
    }
    return seat_of(e, &c, ret_seat);
}

static enum usher_status of_user(struct usher_engine *e, enum usher_verb verb, const char *queue,
                                 const char *user, struct ask_queue_seat *ret_seat)
{
    struct usher_operation c;

    command_init(&c, verb, queue);
    c.arg.queue.user = text(user);
    return seat_of(e, &c, ret_seat);
}

enum usher_status ask_queue_where(struct usher_engine *e, const char *queue, const char *user,
                                  struct ask_queue_seat *ret_seat)
{
    return of_user(e, USHER_QUEUE_WHERE, queue, user, ret_seat);
}

enum usher_status ask_queue_user_alive(struct usher_engine *e, const char *queue, const char *user,
                                       struct ask_queue_seat *ret_seat)
{
    return of_user(e, USHER_QUEUE_ALIVE, queue, user, ret_seat);
}

enum usher_status ask_queue_leave(struct usher_engine *e, const char *queue, const char *user)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_LEAVE, queue);
    c.arg.queue.user = text(user);
    return execute_to(e, &c, NULL);
}

enum usher_status ask_queue_finish(struct usher_engine *e, const char *queue, const char *room,
                                   const char *user, uint64_t token)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_FINISH, queue);
    c.arg.queue.room = text(room);
    c.arg.queue.user = text(user);
    if (token != 0) {
        c.arg.queue.token = token;
        c.given = USHER_GIVEN_QUEUE_TOKEN;
    }
    return execute_to(e, &c, NULL);
}

static enum usher_status of_both(struct usher_engine *e, enum usher_verb verb, const char *queue,
                                 const char *agent, const char *user)
{
    struct usher_operation c;

    command_init(&c, verb, queue);
    c.arg.queue.agent = text(agent);
    c.arg.queue.user = text(user);
    return execute_to(e, &c, NULL);
}

enum usher_status ask_queue_accept(struct usher_engine *e, const char *queue, const char *agent,
                                   const char *user)
{
    return of_both(e, USHER_QUEUE_ACCEPT, queue, agent, user);
}

enum usher_status ask_queue_reject(struct usher_engine *e, const char *queue, const char *agent,
                                   const char *user)
{
    return of_both(e, USHER_QUEUE_REJECT, queue, agent, user);
}

enum usher_status ask_queue_match(struct usher_engine *e, const char *queue,
                                  struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_MATCH, queue);
    return execute_to(e, &c, ret_reply);
}

enum usher_status ask_queue_sweep(struct usher_engine *e, const char *queue, uint64_t *ret_expired)
{
    struct usher_operation c;
    uint64_t total = 0;
    enum usher_status status;
    bool more;

    command_init(&c, USHER_QUEUE_SWEEP, queue);
    do {
        struct usher_result reply;

        status = execute(e, &c, &reply);
        if (!USHER_IS_DONE(status))
            return status;
        total += reply.of.queue.count;
        more = reply.of.queue.more;
        usher_result_done(&reply);
    } while (more);
    if (ret_expired != NULL)
        *ret_expired = total;
    return total > 0 ? USHER_OK : USHER_SAME;
}

static enum usher_status page(struct usher_engine *e, struct usher_operation *c, const char *after,
                              size_t max, struct usher_result *ret_reply)
{
    if (!given_to(ret_reply, usher_verb_word(c->verb), "ret_reply"))
        return USHER_INVALID;
    c->arg.queue.after = text(after);
    if (max != 0) {
        c->arg.queue.max = max <= INT64_MAX ? (int64_t)max : INT64_MAX;
        c->given |= USHER_GIVEN_QUEUE_MAX;
    }
    return execute(e, c, ret_reply);
}

enum usher_status ask_queue_list(struct usher_engine *e, const char *queue, const char *lane,
                                 int state, const char *after, size_t max,
                                 struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_LIST, queue);
    c.arg.queue.lane = text(lane);
    if (state >= 0) {
        c.arg.queue.state = state;
        c.given = USHER_GIVEN_QUEUE_STATE;
    }
    return page(e, &c, after, max, ret_reply);
}

enum usher_status ask_queue_agents(struct usher_engine *e, const char *queue, const char *after,
                                   size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_AGENTS, queue);
    return page(e, &c, after, max, ret_reply);
}

enum usher_status ask_queue_history(struct usher_engine *e, const char *queue,
                                    const struct ask_queue_visit_filter *filter, const char *after,
                                    size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_HISTORY, queue);
    if (filter != NULL && filter->size != sizeof *filter) {
        usher__message_set(
            "queue history: filter.size is not set: use ASK_QUEUE_VISIT_FILTER_INIT");
        return USHER_INVALID;
    }
    if (filter != NULL) {
        c.arg.queue.user = text(filter->user);
        c.arg.queue.agent = text(filter->agent);
        c.arg.queue.since_ms = filter->since_ms;
        c.arg.queue.until_ms = filter->until_ms;
        c.given = USHER_GIVEN_QUEUE_SINCE | (filter->until_ms != 0 ? USHER_GIVEN_QUEUE_UNTIL : 0u);
    }
    return page(e, &c, after, max, ret_reply);
}

enum usher_status ask_queue_drain(struct usher_engine *e, const char *queue, uint64_t *ret_moved)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (e->history == NULL) {
        usher__message_set("queue drain: the engine has no history");
        return USHER_INVALID;
    }
    command_init(&c, USHER_QUEUE_DRAIN, queue);
    status = execute(e, &c, &reply);
    if (ret_moved != NULL && USHER_IS_DONE(status))
        *ret_moved = reply.of.queue.count;
    return status;
}

enum usher_status ask_queue_stats(struct usher_engine *e, const char *queue, const char *lane,
                                  struct usher_queue_result_statistics *ret_stats)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (!given_to(ret_stats, "stats", "ret_stats"))
        return USHER_INVALID;
    command_init(&c, USHER_QUEUE_STATS, queue);
    c.arg.queue.lane = text(lane);
    status = execute(e, &c, &reply);
    if (status == USHER_OK)
        *ret_stats = reply.of.queue.of.stats;
    return status;
}

enum usher_status ask_queue_move(struct usher_engine *e, const char *queue, const char *user,
                                 const char *lane, int64_t priority, int64_t since_ms,
                                 struct ask_queue_seat *ret_seat)
{
    struct usher_operation c;

    command_init(&c, USHER_QUEUE_MOVE, queue);
    c.arg.queue.user = text(user);
    c.arg.queue.lane = text(lane);
    if (priority >= 0) {
        c.arg.queue.priority = priority;
        c.given |= USHER_GIVEN_QUEUE_PRIORITY;
    }
    if (since_ms >= 0) {
        c.arg.queue.since_ms = since_ms;
        c.given |= USHER_GIVEN_QUEUE_SINCE;
    }
    return seat_of(e, &c, ret_seat);
}

enum usher_status ask_queue_free(struct usher_engine *e, const char *queue, const char *agent,
                                 uint64_t *ret_freed)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_QUEUE_FREE, queue);
    c.arg.queue.agent = text(agent);
    status = execute(e, &c, &reply);
    if (ret_freed != NULL && USHER_IS_DONE(status))
        *ret_freed = reply.of.queue.count;
    return status;
}
