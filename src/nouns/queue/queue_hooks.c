/* SPDX-License-Identifier: MIT */
/* The hooks of queues. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/queue.h"
#include "core/text.h"
#include "core/verbs.h"
#include "core/wide.h"
#include "change/hooks.h"
#include "change/print.h"
#include "nouns/definition.h"

static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_queue_args *a = &command->arg.queue;

    (void)ret_word;
    return command->verb == USHER_QUEUE_ALIVE && (a->agent.data == NULL) == (a->user.data == NULL)
               ? "exactly one of agent and user is required"
               : NULL;
}

static bool sound(const struct usher_operation *command, const struct usher_result *reply)
{
    (void)command;
    return reply->of.queue.no >= 0 && reply->of.queue.no <= USHER_QUEUE_CAPACITY_MAX;
}

static const char *state_word(unsigned code)
{
    return usher_queue_user_state_word((enum usher_queue_user_state)code);
}

static const char *why_word(unsigned code)
{
    return usher_queue_why_word((enum usher_queue_why)code);
}

const char *usher_queue_room_name(char to[USHER_QUEUE_ROOM_MAX], uint64_t epoch, uint64_t login,
                                  int64_t no)
{
    char *at = to;

    *at = '\0';
    if (no == 0)
        return to;
    at = usher__hex_put(at, epoch); /* without snprintf(), because each answer has one */
    *at++ = '.';
    at += usher__wide_text((int64_t)login, at);
    *at++ = '.';
    (void)usher__wide_text(no, at);
    return to;
}

/* A verb of a queue may concern an agent or a user, and the result has fields for both. */
static bool applies(const struct usher__field *f, const struct usher_operation *op,
                    const struct usher_result *r)
{
    const struct usher_queue_result *q = &r->of.queue;
    bool agent = op->arg.queue.agent.data != NULL;

    switch (f->code) {
    case USHER_FIELD_ROOM:
    case USHER_FIELD_VISIT:
        return op->verb != USHER_QUEUE_ALIVE || !agent;
    case USHER_FIELD_LOGIN:
    case USHER_FIELD_ROOMS:
        return q->login != 0 && agent;
    case USHER_FIELD_AGENT_STATE:
        return agent || q->state != USHER_QUEUE_AGENT_GONE;
    case USHER_FIELD_REASON: /* the lane of a user is in its place */
        return op->verb != USHER_QUEUE_ALIVE || agent;
    case USHER_FIELD_LANE:
    case USHER_FIELD_SINCE:
    case USHER_FIELD_INDEX:
    case USHER_FIELD_WAIT_MS:
        return q->place != USHER_QUEUE_PLACE_NONE;
    case USHER_FIELD_OUTCOME:
    case USHER_FIELD_FINISHED:
        return q->outcome != USHER_QUEUE_OUTCOME_NONE;
    case USHER_FIELD_UNTIL:
        return q->outcome == USHER_QUEUE_OUTCOME_NONE;
    case USHER_FIELD_WAITING:
        return op->verb == USHER_QUEUE_STATS || q->place == USHER_QUEUE_PLACE_QUEUE;
    default:
        return true;
    }
}

/* Write the name of the visit with @token, or "" if it is 0. */
static size_t visit_name(char *to, uint64_t epoch, uint64_t token)
{
    char *at = to;

    if (token == 0)
        return 0;
    at = usher__hex_put(at, epoch);
    *at++ = '.';
    return (size_t)(at - to) + usher__wide_text((int64_t)token, at);
}

/* Write the name of the room or of the visit. */
static size_t text(const struct usher__field *f, const struct usher_result *r, const char *row,
                   uint64_t before, char to[USHER__MADE_MAX])
{
    const struct usher_queue_result_row *q = (const void *)row;
    uint64_t epoch = q != NULL && q->epoch != 0 ? q->epoch : r->epoch;

    (void)before;
    if (f->code == USHER_FIELD_VISIT)
        return visit_name(to, epoch, q != NULL ? q->token : r->of.queue.token);
    if (q == NULL)
        return strlen(usher_queue_room_name(to, epoch, r->of.queue.login, r->of.queue.no));
    return strlen(usher_queue_room_name(to, epoch, q->login, q->no));
}

static bool place_name(uint64_t epoch, uint64_t login, int64_t i, char to[USHER__MADE_MAX])
{
    return i <= USHER_QUEUE_CAPACITY_MAX && *usher_queue_room_name(to, epoch, login, i) != '\0';
}

static const char *told_state(const struct usher_notice *n, enum usher_subject of, unsigned state)
{
    (void)n;
    if (of == USHER_SUBJECT_AGENT)
        return usher_queue_agent_state_word((enum usher_queue_agent_state)state);
    return of == USHER_SUBJECT_USER
               ? usher_queue_user_state_word((enum usher_queue_user_state)state)
               : NULL;
}

static enum usher_subject subject(const struct usher_notice *notice)
{
    switch (notice->verb) {
    case USHER_QUEUE_LOGIN:
    case USHER_QUEUE_LOGOUT:
    case USHER_QUEUE_PAUSE:
    case USHER_QUEUE_READY:
        return USHER_SUBJECT_AGENT;
    default:
        /* a user has no token, or an agent */
        return notice->token != 0 && notice->owner.size == 0 ? USHER_SUBJECT_AGENT
                                                             : USHER_SUBJECT_USER;
    }
}

/* Write the name of a room or a visit as in an answer, with the epoch of its queue. */
static void told_value(const struct usher_notice *notice, const struct usher_text *name,
                       struct usher_text *value, char to[USHER__TOLD_VALUE])
{
    int size;

    bool room = name->size == 4 && memcmp(name->data, "room", 4) == 0;
    bool visit = name->size == 5 && memcmp(name->data, "visit", 5) == 0;

    if (!(room || visit) || value->size == 0)
        return;
    size = snprintf(to, USHER__TOLD_VALUE, "%016" PRIx64 ".%.*s", notice->epoch, (int)value->size,
                    value->data);
    if (size > 0 && size < USHER__TOLD_VALUE)
        *value = (struct usher_text){ to, (size_t)size };
}

static void lua(struct usher__out *o)
{
    usher__print(o, "local OUTCOMES = '");
    for (unsigned i = 0; i <= USHER_QUEUE_OUTCOME_REQUEUED; i++)
        usher__print(o, "%-10s", usher__outcome_words[i]);
    usher__print(o, "'\nlocal WAIT_BOUNDS = '");
    for (int i = 0; i < USHER__WAIT_BOUNDS; i++)
        usher__print(o, "%" PRId64 " ", usher__wait_bounds[i]);
    usher__print(o, "'\n");
}

static bool unfinished(const struct usher_result *reply)
{
    return reply->of.queue.why == USHER_QUEUE_WHY_DUE;
}

static const char *drop(struct usher_operation *c)
{
    c->verb = USHER_QUEUE_DROP;
    return NULL;
}

const struct usher__hooks usher__queue_hooks = {
    .fault = fault,
    .sound = sound,
    .state_word = state_word,
    .why_word = why_word,
    .subject = subject,
    .told_state = told_state,
    .told_value = told_value,
    .applies = applies,
    .text = text,
    .place_name = place_name,
    .unfinished = unfinished,
    .drop = drop,
    .sweep = USHER_QUEUE_SWEEP,
    .archive = &usher__queue_archive,
    .lua = lua,
};
