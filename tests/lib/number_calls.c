/* SPDX-License-Identifier: MIT */
/* The typed functions: each makes one command, executes it, and unpacks the reply. */
#include "config.h"

#include "lib/calls.h"
#include "lib/util.h"

#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "core/verbs.h"
#include "change/memory.h"

/* Not what later nouns would use: nobody reads it. */
static void command_init(struct usher_operation *c, enum usher_verb verb, const char *scope,
                         const char *number)
{
    memset(c, 0, offsetof(struct usher_operation, arg));
    memset(&c->arg.number, 0, sizeof c->arg.number);
    c->verb = verb;
    c->scope = text(scope);
    c->arg.number.number = text(number);
}

/* Why a call got nothing, for usher_message(). */
static void explain_empty(const struct usher_result *reply)
{
    const struct usher_number_result *n = &reply->of.number;

    if (n->why == USHER_NUMBER_WHY_NONE)
        return;
    if (n->next_ms >= 0)
        usher__message_set("number call: %s: %s, next at %lld", usher_status_text(reply->status),
                           usher_number_why_word(n->why), (long long)n->next_ms);
    else
        usher__message_set("number call: %s: %s", usher_status_text(reply->status),
                           usher_number_why_word(n->why));
}

static enum usher_status execute(struct usher_engine *e, const struct usher_operation *c,
                                 struct usher_result *reply)
{
    enum usher_status status = usher_operate(e, c, reply, 1);

    if (status == USHER_INVALID)
        return status; /* the engine itself: the reply was not touched */
    if (!USHER_IS_DONE(reply->status)) {
        usher__message_set("number %s: %s", usher_verb_word(c->verb),
                           reply->message[0] != '\0' ? reply->message
                                                     : usher_status_text(reply->status));
        if (c->verb == USHER_NUMBER_CALL)
            explain_empty(reply);
    }
    return reply->status;
}

/* The reply to a command with @status is not needed any more. */
static enum usher_status over(enum usher_status status, struct usher_result *reply)
{
    if (status != USHER_INVALID) /* see execute() */
        usher_result_done(reply);
    return status;
}

static enum usher_status simple(struct usher_engine *e, enum usher_verb verb, const char *pool,
                                const char *number, const char *group)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, verb, pool, number);
    c.arg.number.group = text(group);
    return over(execute(e, &c, &reply), &reply);
}

enum usher_status ask_number_add(struct usher_engine *e, const char *pool, const char *number,
                                 const char *group)
{
    return simple(e, USHER_NUMBER_ADD, pool, number, group);
}

enum usher_status ask_number_del(struct usher_engine *e, const char *pool, const char *number)
{
    return simple(e, USHER_NUMBER_DEL, pool, number, NULL);
}

enum usher_status ask_number_reg(struct usher_engine *e, const char *pool, const char *number)
{
    return simple(e, USHER_NUMBER_REG, pool, number, NULL);
}

enum usher_status ask_number_unreg(struct usher_engine *e, const char *pool, const char *number)
{
    return simple(e, USHER_NUMBER_UNREG, pool, number, NULL);
}

/* 0: not given; < 0: for ever. */
static void lease_of(struct usher_operation *c, int64_t lease_ms)
{
    if (lease_ms == 0)
        return;
    c->given |= USHER_GIVEN_LEASE;
    c->arg.number.lease_ms = lease_ms > 0 ? lease_ms : 0;
}

static void hold_write(const struct usher_result *reply, struct ask_number_hold *ret)
{
    const struct usher_number_result *n = &reply->of.number;

    ret->token = n->token;
    ret->until_ms = n->until_ms;
    ret->epoch = reply->epoch;
    ret->version = reply->version;
    memcpy(ret->number, n->number, n->number_size + 1);
}

static const char *options_fault(const struct ask_number_call_options *opt)
{
    return opt != NULL && opt->size != sizeof *opt
               ? "options.size is not set by ASK_NUMBER_CALL_OPTIONS_INIT"
               : NULL;
}

enum usher_status ask_number_call(struct usher_engine *e, const char *pool, const char *owner,
                                  const struct ask_number_call_options *opt,
                                  struct ask_number_hold *ret_hold)
{
    struct usher_operation c;
    struct usher_number_args *a = &c.arg.number;
    const char *fault = ret_hold == NULL ? "ret_hold is NULL" : options_fault(opt);
    struct usher_result reply;
    enum usher_status status;

    if (fault != NULL) {
        usher__message_set("number call: %s", fault);
        return USHER_INVALID;
    }
    command_init(&c, USHER_NUMBER_CALL, pool, NULL);
    a->owner = text(owner);
    if (opt != NULL) {
        a->number = text(opt->number);
        a->group = text(opt->groups);
        a->sticky = text(opt->sticky);
        a->node = text(opt->node);
        c.request = text(opt->request);
        lease_of(&c, opt->lease_ms);
    }
    status = execute(e, &c, &reply);
    if (USHER_IS_DONE(status))
        hold_write(&reply, ret_hold);
    return over(status, &reply);
}

enum usher_status ask_number_hangup(struct usher_engine *e, const char *pool, const char *number,
                                    uint64_t token, int64_t rest_ms)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, USHER_NUMBER_HANGUP, pool, number);
    if (token != 0) {
        c.given |= USHER_GIVEN_TOKEN;
        c.arg.number.token = token;
    }
    if (rest_ms >= 0) {
        c.given |= USHER_GIVEN_REST;
        c.arg.number.rest_ms = rest_ms;
    }
    return over(execute(e, &c, &reply), &reply);
}

enum usher_status ask_number_renew(struct usher_engine *e, const char *pool, const char *number,
                                   uint64_t token, int64_t lease_ms, int64_t *ret_until_ms)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_NUMBER_RENEW, pool, number);
    c.given |= USHER_GIVEN_TOKEN;
    c.arg.number.token = token;
    lease_of(&c, lease_ms);
    status = execute(e, &c, &reply);
    if (ret_until_ms != NULL && USHER_IS_DONE(status))
        *ret_until_ms = reply.of.number.until_ms;
    return over(status, &reply);
}

enum usher_status ask_number_renew_as(struct usher_engine *e, const char *pool, const char *owner,
                                      const struct ask_number_call_options *opt,
                                      struct ask_number_hold *hold)
{
    const char *fault = owner == NULL  ? "owner is NULL"
                        : hold == NULL ? "hold is NULL"
                                       : options_fault(opt);
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (fault != NULL) {
        usher__message_set("number renew: %s", fault);
        return USHER_INVALID;
    }
    command_init(&c, USHER_NUMBER_RENEW, pool, hold->number);
    c.given |= USHER_GIVEN_TOKEN;
    c.arg.number.token = hold->token;
    c.arg.number.owner = text(owner);
    if (opt != NULL) {
        c.arg.number.node = text(opt->node);
        lease_of(&c, opt->lease_ms);
    }
    status = execute(e, &c, &reply);
    if (USHER_IS_DONE(status))
        hold_write(&reply, hold);
    return over(status, &reply);
}

/* A command that works in bounded steps, until it says that there is no more. */
static enum usher_status in_steps(struct usher_engine *e, struct usher_operation *c,
                                  uint64_t *ret_count)
{
    struct usher_result reply;
    char after[USHER_NAME_MAX + 1];
    uint64_t count = 0;
    enum usher_status status;
    bool more;

    do {
        status = execute(e, c, &reply);
        more = USHER_IS_DONE(status) && reply.of.number.more;
        if (status == USHER_OK)
            count += reply.of.number.count;
        if (more && c->verb == USHER_NUMBER_RENEW) {
            memcpy(after, reply.of.number.number, sizeof after);
            c->arg.number.after = text(after);
        }
    } while (more);
    if (status == USHER_SAME && count > 0)
        status = USHER_OK;
    if (ret_count != NULL && USHER_IS_DONE(status))
        *ret_count = count;
    return status;
}

enum usher_status ask_number_free(struct usher_engine *e, const char *pool, const char *owner,
                                  const char *number, uint64_t *ret_freed)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_FREE, pool, number);
    c.arg.number.owner = text(owner);
    return in_steps(e, &c, ret_freed);
}

enum usher_status ask_number_free_all(struct usher_engine *e, const char *pool, uint64_t *ret_freed)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_FREE, pool, NULL);
    c.given |= USHER_GIVEN_ALL;
    c.arg.number.all = 1;
    return in_steps(e, &c, ret_freed);
}

enum usher_status ask_number_free_node(struct usher_engine *e, const char *pool, const char *node,
                                       uint64_t *ret_freed)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_FREE, pool, NULL);
    c.arg.number.node = text(node);
    return in_steps(e, &c, ret_freed);
}

enum usher_status ask_number_renew_node(struct usher_engine *e, const char *pool, const char *node,
                                        int64_t lease_ms, uint64_t *ret_renewed)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_RENEW, pool, NULL);
    c.arg.number.node = text(node);
    lease_of(&c, lease_ms);
    return in_steps(e, &c, ret_renewed);
}

enum usher_status ask_number_lift(struct usher_engine *e, const char *pool, const char *number)
{
    return simple(e, USHER_NUMBER_LIFT, pool, number, NULL);
}

enum usher_status ask_number_sweep(struct usher_engine *e, const char *pool, uint64_t *ret_expired)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_SWEEP, pool, NULL);
    return in_steps(e, &c, ret_expired);
}

enum usher_status ask_number_show(struct usher_engine *e, const char *pool, const char *number,
                                  struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_SHOW, pool, number);
    if (ret_reply == NULL) {
        usher__message_set("number show: ret_reply is NULL");
        return USHER_INVALID;
    }
    return execute(e, &c, ret_reply);
}

static enum usher_status list(struct usher_engine *e, struct usher_operation *c, const char *after,
                              size_t max, struct usher_result *ret_reply)
{
    if (ret_reply == NULL) {
        usher__message_set("number list: ret_reply is NULL");
        return USHER_INVALID;
    }
    c->arg.number.after = text(after);
    if (max != 0) {
        c->given |= USHER_GIVEN_MAX;
        c->arg.number.max = max <= USHER_LIST_MAX ? (int64_t)max : USHER_LIST_MAX + 1;
    }
    return execute(e, c, ret_reply);
}

enum usher_status ask_number_list(struct usher_engine *e, const char *pool, int state,
                                  const char *owner, const char *after, size_t max,
                                  struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_LIST, pool, NULL);
    c.arg.number.owner = text(owner);
    if (state >= 0) {
        c.given |= USHER_GIVEN_STATE;
        c.arg.number.state = state;
    }
    return list(e, &c, after, max, ret_reply);
}

enum usher_status ask_number_list_node(struct usher_engine *e, const char *pool, const char *node,
                                       const char *after, size_t max,
                                       struct usher_result *ret_reply)
{
    struct usher_operation c;

    command_init(&c, USHER_NUMBER_LIST, pool, NULL);
    c.given |= USHER_GIVEN_STATE; /* though @node is NULL: only what is held */
    c.arg.number.state = USHER_NUMBER_STATE_BUSY;
    c.arg.number.node = text(node);
    return list(e, &c, after, max, ret_reply);
}

enum usher_status ask_number_stats(struct usher_engine *e, const char *pool,
                                   struct usher_number_result_statistics *ret_stats)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_NUMBER_STATS, pool, NULL);
    if (ret_stats == NULL) {
        usher__message_set("number stats: ret_stats is NULL");
        return USHER_INVALID;
    }
    status = execute(e, &c, &reply);
    if (status == USHER_OK)
        *ret_stats = reply.of.number.of.stats;
    return status;
}

enum usher_status ask_number_set(struct usher_engine *e, const char *pool, uint64_t given,
                                 struct usher_number_result_settings *inout)
{
    struct usher_operation c;
    const struct usher__field *told;
    const struct usher__arg *arg;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_NUMBER_SET, pool, NULL);
    if (inout == NULL) {
        usher__message_set("number set: inout is NULL");
        return USHER_INVALID;
    }
    c.given = given & ~(uint64_t)USHER_GIVEN_NOW;
    reply.of.number.of.settings = *inout;
    for (unsigned i = 0; usher__setting(USHER_NUMBER_SET, i, &told, &arg); i++)
        memcpy((char *)&c + arg->offset, (const char *)&reply + told->offset, sizeof(int64_t));
    status = execute(e, &c, &reply);
    if (USHER_IS_DONE(status))
        *inout = reply.of.number.of.settings;
    return status;
}

#define BULK 64

enum usher_status ask_number_bulk(struct usher_engine *e, enum usher_verb verb, const char *pool,
                                  const char *const *numbers, size_t n, const char *group,
                                  struct ask_number_bulk_counts *ret_counts)
{
    struct ask_number_bulk_counts counts = { 0, 0, 0 };
    enum usher_status status = usher__engine_check(e);
    struct usher_operation *commands;
    struct usher_result *replies;

    if (status != USHER_OK)
        return status;
    if ((verb != USHER_NUMBER_ADD && verb != USHER_NUMBER_DEL && verb != USHER_NUMBER_REG &&
         verb != USHER_NUMBER_UNREG) ||
        (numbers == NULL && n != 0)) {
        usher__message_set("number bulk: %s",
                           numbers == NULL ? "numbers is NULL" : "verb is not for bulk work");
        return USHER_INVALID;
    }
    /* too large for small stacks */
    commands = usher__resize(e->opt.alloc, NULL, 0, BULK * sizeof *commands);
    replies = usher__resize(e->opt.alloc, NULL, 0, BULK * sizeof *replies);
    if (commands == NULL || replies == NULL) {
        usher__message_set("number bulk: out of memory");
        status = USHER_NOMEM;
    }
    for (size_t from = 0; from < n && status == USHER_OK;) {
        size_t k = n - from < BULK ? n - from : BULK;

        for (size_t i = 0; i < k; i++) {
            command_init(&commands[i], verb, pool, numbers[from + i]);
            commands[i].arg.number.group = text(group);
        }
        status = usher_operate(e, commands, replies, k);
        if (status == USHER_INVALID)
            break;
        for (size_t i = 0; i < k; i++) {
            if (replies[i].status == USHER_OK)
                counts.ok++;
            else if (replies[i].status == USHER_SAME)
                counts.same++;
            else if (replies[i].status == USHER_MISSING || replies[i].status == USHER_REFUSED)
                counts.other++;
            else if (status == USHER_OK) {
                status = replies[i].status;
                usher__message_set("number %s: number %zu: %s", usher_verb_word(verb), from + i + 1,
                                   replies[i].message[0] != '\0'
                                       ? replies[i].message
                                       : usher_status_text(replies[i].status));
            }
        }
        from += k;
    }
    (void)usher__resize(e->opt.alloc, commands, BULK * sizeof *commands, 0);
    (void)usher__resize(e->opt.alloc, replies, BULK * sizeof *replies, 0);
    if (ret_counts != NULL)
        *ret_counts = counts;
    return status;
}
