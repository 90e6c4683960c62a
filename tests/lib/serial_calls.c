/* SPDX-License-Identifier: MIT */
/* The typed functions of serials, and the printing of what replies tell. */
#include "config.h"

#include "lib/calls.h"
#include "lib/util.h"

#include <usher/store/authority.h>

#include <stdio.h>
#include <string.h>

#include "core/serial.h"
#include "core/serial_machine.h"
#include "core/verbs.h"
#include "engine/authority.h"
#include "engine/engine.h"

/* ---- calls -------------------------------------------------------------------------- */

static void command_init(struct usher_operation *c, enum usher_verb verb, const char *rule)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = text(rule);
}

static enum usher_status execute(struct usher_engine *e, const struct usher_operation *c,
                                 struct usher_result *reply)
{
    enum usher_status status = usher_operate(e, c, reply, 1);

    if (status == USHER_INVALID)
        return status; /* the engine itself: the reply was not touched */
    if (!USHER_IS_DONE(reply->status)) {
        const char *why = usher_serial_why_text(reply->of.serial.why);

        usher__message_set("serial %s: %s", usher_verb_word(c->verb),
                           reply->message[0] != '\0' ? reply->message
                           : why[0] != '\0'          ? why
                                                     : usher_status_text(reply->status));
    }
    return reply->status;
}

/* The same for a reply that nobody will look at again. */
static enum usher_status execute_once(struct usher_engine *e, const struct usher_operation *c,
                                      struct usher_result *reply)
{
    enum usher_status status;

    memset(reply, 0, sizeof *reply);
    status = execute(e, c, reply);
    usher_result_done(reply);
    return status;
}

static bool null(const char *verb, const void *argument)
{
    if (argument == NULL)
        usher__message_set("serial %s: an argument is NULL", verb);
    return argument == NULL;
}

enum usher_status ask_serial_rule(struct usher_engine *e, const char *rule, uint64_t given,
                                  struct usher_serial_form *inout)
{
    struct usher_operation c;
    struct usher_serial_args *a = &c.arg.serial;
    struct usher_result reply;
    enum usher_status status;

    if (null("rule", inout))
        return USHER_INVALID;
    command_init(&c, given != 0 ? USHER_SERIAL_RULE : USHER_SERIAL_SHOW, rule);
    c.given = given & ~(uint64_t)(USHER_GIVEN_NOW | USHER_GIVEN_SERIAL_PREFIX |
                                  USHER_GIVEN_SERIAL_SUFFIX | USHER_GIVEN_SERIAL_DATE);
    if ((given & USHER_GIVEN_SERIAL_PREFIX) != 0)
        a->prefix = text(inout->prefix);
    if ((given & USHER_GIVEN_SERIAL_SUFFIX) != 0)
        a->suffix = text(inout->suffix);
    if ((given & USHER_GIVEN_SERIAL_DATE) != 0)
        a->date = text(inout->date);
    a->width = inout->width;
    a->base = inout->base;
    a->start = inout->start;
    a->step = inout->step;
    a->radix = inout->radix;
    a->check = inout->check;
    a->overflow = inout->overflow;
    a->max = inout->max;
    a->critical = inout->critical;
    a->batch = inout->batch;
    a->reset = inout->reset;
    a->zone_min = inout->zone_min;
    a->stamp = inout->stamp;
    a->mode = inout->mode;
    a->lease_ms = inout->lease_ms;
    a->requests = inout->requests;
    a->authority = inout->authority;
    a->log = inout->log;
    status = execute(e, &c, &reply);
    if (status == USHER_INVALID)
        return status;
    if (USHER_IS_DONE(status) && !usher_serial_form_of(&reply, inout)) {
        usher__message_set("serial rule: the store is damaged: a rule");
        status = USHER_UNAVAILABLE;
    }
    usher_result_done(&reply);
    return status;
}

enum usher_status ask_serial_delete(struct usher_engine *e, const char *rule)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, USHER_SERIAL_DELETE, rule);
    return execute_once(e, &c, &reply);
}

enum usher_status ask_serial_fill(struct usher_engine *e, const char *rule, int64_t n,
                                  int64_t *ret_made, int64_t *ret_left)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_SERIAL_FILL, rule);
    c.given = USHER_GIVEN_SERIAL_N;
    c.arg.serial.n = n;
    status = execute_once(e, &c, &reply);
    if (status == USHER_OK && ret_made != NULL)
        *ret_made = reply.of.serial.count;
    if (status == USHER_OK && ret_left != NULL)
        *ret_left = reply.of.serial.left;
    return status;
}

enum usher_status ask_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                  const char *request, struct usher_result *ret_reply)
{
    struct usher_operation c;

    if (null("take", ret_reply))
        return USHER_INVALID;
    command_init(&c, USHER_SERIAL_TAKE, rule);
    c.given = USHER_GIVEN_SERIAL_N;
    c.arg.serial.n = n;
    c.request = text(request);
    return execute(e, &c, ret_reply);
}

enum usher_status ask_serial_check(struct usher_engine *e, const char *rule,
                                   struct usher_serial_stock *ret_stock)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (null("check", ret_stock))
        return USHER_INVALID;
    command_init(&c, USHER_SERIAL_CHECK, rule);
    status = execute_once(e, &c, &reply);
    if (status == USHER_OK)
        *ret_stock = reply.of.serial.of.stock;
    return status;
}

enum usher_status ask_serial_tick(struct usher_engine *e, const char *rule, int64_t *ret_made)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_SERIAL_TICK, rule);
    status = execute_once(e, &c, &reply);
    if (ret_made != NULL && USHER_IS_DONE(status))
        *ret_made = reply.of.serial.count;
    return status;
}

enum usher_status ask_serial_setmax(struct usher_engine *e, const char *rule, int64_t step,
                                    int64_t *ret_max)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    command_init(&c, USHER_SERIAL_SETMAX, rule);
    c.given = USHER_GIVEN_SERIAL_BY;
    c.arg.serial.by = step;
    status = execute_once(e, &c, &reply);
    if (ret_max != NULL && status == USHER_OK)
        *ret_max = reply.of.serial.max;
    return status;
}

enum usher_status ask_serial_setmaxcur(struct usher_engine *e, const char *rule, int64_t cur)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, USHER_SERIAL_SETMAXCUR, rule);
    c.given = USHER_GIVEN_SERIAL_MAX;
    c.arg.serial.max = cur;
    return execute_once(e, &c, &reply);
}

enum usher_status ask_serial_parse(struct usher_engine *e, const char *rule, const char *serial,
                                   struct usher_serial_parts *ret_parts)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (null("parse", ret_parts))
        return USHER_INVALID;
    command_init(&c, USHER_SERIAL_PARSE, rule);
    c.arg.serial.serial = text(serial);
    status = execute_once(e, &c, &reply);
    if (status == USHER_OK)
        *ret_parts = reply.of.serial.of.parts;
    return status;
}

enum usher_status ask_serial_reserve(struct usher_engine *e, const char *rule, const char *owner,
                                     int64_t lease_ms, const char *request,
                                     struct ask_serial_hold *ret_hold)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (null("reserve", ret_hold))
        return USHER_INVALID;
    command_init(&c, USHER_SERIAL_RESERVE, rule);
    c.arg.serial.owner = text(owner);
    c.request = text(request);
    if (lease_ms != 0) {
        c.given = USHER_GIVEN_SERIAL_LEASE;
        c.arg.serial.lease_ms = lease_ms > 0 ? lease_ms : 0;
    }
    memset(&reply, 0, sizeof reply);
    status = execute(e, &c, &reply);
    if (USHER_IS_DONE(status)) {
        ret_hold->token = reply.of.serial.token;
        ret_hold->until_ms = reply.of.serial.until_ms;
        ret_hold->number = reply.of.serial.n_rows == 1 ? reply.of.serial.rows->first : 0;
        ret_hold->epoch = reply.epoch;
        ret_hold->version = reply.version;
        (void)usher_serial_text(&reply, 0, ret_hold->serial, sizeof ret_hold->serial);
    }
    usher_result_done(&reply);
    return status;
}

static enum usher_status settle(struct usher_engine *e, enum usher_verb verb, const char *rule,
                                const char *serial, uint64_t token)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, verb, rule);
    c.given = USHER_GIVEN_SERIAL_TOKEN;
    c.arg.serial.token = token;
    c.arg.serial.serial = text(serial);
    return execute_once(e, &c, &reply);
}

enum usher_status ask_serial_confirm(struct usher_engine *e, const char *rule, const char *serial,
                                     uint64_t token)
{
    return settle(e, USHER_SERIAL_CONFIRM, rule, serial, token);
}

enum usher_status ask_serial_return(struct usher_engine *e, const char *rule, const char *serial,
                                    uint64_t token)
{
    return settle(e, USHER_SERIAL_RETURN, rule, serial, token);
}

enum usher_status ask_serial_void(struct usher_engine *e, const char *rule, const char *serial,
                                  uint64_t token)
{
    return settle(e, USHER_SERIAL_VOID, rule, serial, token);
}

enum usher_status ask_serial_number(struct usher_engine *e, const char *rule, const char *serial,
                                    struct ask_serial_found *ret_number)
{
    struct usher_operation c;
    struct usher_result reply;
    const struct usher_serial_result_row *row;
    enum usher_status status;

    if (null("number", ret_number) || null("number", serial))
        return USHER_INVALID;
    command_init(&c, USHER_SERIAL_SHOW, rule);
    c.arg.serial.serial = text(serial);
    memset(&reply, 0, sizeof reply);
    status = execute(e, &c, &reply);
    if (status == USHER_OK && reply.of.serial.n_rows == 1) {
        row = reply.of.serial.rows;
        memset(ret_number, 0, sizeof *ret_number);
        ret_number->state = row->state;
        ret_number->number = row->first;
        ret_number->token = reply.of.serial.token;
        ret_number->until_ms = row->until_ms;
        if (row->owner.size != 0)
            memcpy(ret_number->owner, row->owner.data, row->owner.size);
        (void)usher_serial_text(&reply, 0, ret_number->serial, sizeof ret_number->serial);
    }
    usher_result_done(&reply);
    return status;
}

enum usher_status ask_serial_holds(struct usher_engine *e, const char *rule, const char *owner,
                                   size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    if (null("holds", ret_reply))
        return USHER_INVALID;
    command_init(&c, USHER_SERIAL_HOLDS, rule);
    c.arg.serial.owner = text(owner);
    if (max != 0) {
        c.given = USHER_GIVEN_SERIAL_N;
        c.arg.serial.n = max <= USHER_LIST_MAX ? (int64_t)max : USHER_LIST_MAX + 1;
    }
    return execute(e, &c, ret_reply);
}

enum usher_status ask_serial_sweep(struct usher_engine *e, const char *rule, uint64_t *ret_expired)
{
    struct usher_operation c;
    struct usher_result reply;
    uint64_t n = 0;
    enum usher_status status;

    command_init(&c, USHER_SERIAL_SWEEP, rule);
    do {
        status = execute_once(e, &c, &reply);
        if (status == USHER_OK)
            n += (uint64_t)reply.of.serial.count;
    } while (status == USHER_OK && reply.of.serial.more);
    if (status == USHER_SAME && n > 0)
        status = USHER_OK;
    if (ret_expired != NULL && USHER_IS_DONE(status))
        *ret_expired = n;
    return status;
}
