/* SPDX-License-Identifier: MIT */
/* The typed functions of ids: each makes one command, executes it, and unpacks the reply. */
#include "config.h"

#include "lib/calls.h"
#include "lib/util.h"

#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void command_init(struct usher_operation *c, enum usher_verb verb, const char *name)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = text(name);
}

/* The reply is the caller's to give back. */
static enum usher_status execute(struct usher_engine *e, const struct usher_operation *c,
                                 struct usher_result *reply)
{
    enum usher_status status = usher_operate(e, c, reply, 1);

    if (status == USHER_INVALID)
        return status; /* the engine itself: the reply was not touched */
    if (!USHER_IS_DONE(reply->status))
        usher__message_set("id %s: %s", usher_verb_word(c->verb),
                           reply->message[0] != '\0' ? reply->message
                                                     : usher_status_text(reply->status));
    return reply->status;
}

static enum usher_status wrong(const char *message)
{
    usher__message_set("id %s", message);
    return USHER_INVALID;
}

static void settings_to(struct usher_operation *c, const struct usher_id_result_settings *s)
{
    struct usher_id_args *a = &c->arg.id;

    a->start = s->start;
    a->step = s->step;
    a->by = s->by;
    a->limit = s->limit;
    a->step_max = s->step_max;
    a->life_ms = s->life_ms;
    a->managed = s->managed;
    a->requests = s->requests;
}

enum usher_status ask_id_create(struct usher_engine *e, const char *name, uint64_t given,
                                const struct usher_id_result_settings *settings)
{
    struct usher_operation c;
    struct usher_result reply;

    if (settings == NULL && given != 0)
        return wrong("create: settings is NULL");
    command_init(&c, USHER_ID_CREATE, name);
    c.given = given & ~(uint64_t)USHER_GIVEN_NOW;
    if (settings != NULL)
        settings_to(&c, settings);
    return execute(e, &c, &reply);
}

enum usher_status ask_id_next(struct usher_engine *e, const char *name, int64_t n,
                              const char *request, struct usher_id_range *ret_range)
{
    struct usher_operation c;
    struct usher_result reply;
    const struct usher_id_result *r = &reply.of.id;
    enum usher_status status;

    if (ret_range == NULL)
        return wrong("next: ret_range is NULL");
    command_init(&c, USHER_ID_NEXT, name);
    c.request = text(request);
    c.given = USHER_GIVEN_ID_N;
    c.arg.id.n = n;
    status = execute(e, &c, &reply);
    if (status == USHER_OK || status == USHER_FULL) {
        ret_range->first = r->first;
        ret_range->n = r->n;
        ret_range->by = r->by;
        ret_range->token = r->token;
        ret_range->epoch = reply.epoch;
        ret_range->version = reply.version;
    }
    return status;
}

enum usher_status ask_id_return(struct usher_engine *e, const char *name,
                                const struct usher_id_range *range)
{
    struct usher_operation c;
    struct usher_result reply;
    char epoch[17];

    if (range == NULL)
        return wrong("return: range is NULL");
    command_init(&c, USHER_ID_RETURN, name);
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, range->epoch);
    c.arg.id.epoch = text(epoch);
    c.given = USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N | USHER_GIVEN_ID_TOKEN;
    c.arg.id.first = range->first;
    c.arg.id.n = range->n;
    c.arg.id.token = range->token;
    return execute(e, &c, &reply);
}

enum usher_status ask_id_show(struct usher_engine *e, const char *name,
                              struct usher_id_result_row *ret_row)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (ret_row == NULL)
        return wrong("show: ret_row is NULL");
    command_init(&c, USHER_ID_SHOW, name);
    status = execute(e, &c, &reply);
    if (status == USHER_INVALID)
        return status;
    if (status == USHER_OK)
        *ret_row = reply.of.id.rows[0];
    usher_result_done(&reply);
    return status;
}

enum usher_status ask_id_set(struct usher_engine *e, const char *name, uint64_t given,
                             struct usher_id_result_settings *inout, int64_t next)
{
    struct usher_operation c;
    struct usher_result reply;
    enum usher_status status;

    if (inout == NULL)
        return wrong("set: inout is NULL");
    command_init(&c, USHER_ID_SET, name);
    c.given = given & ~(uint64_t)USHER_GIVEN_NOW;
    settings_to(&c, inout);
    c.arg.id.next = next;
    status = execute(e, &c, &reply);
    if (USHER_IS_DONE(status))
        *inout = reply.of.id.of.settings;
    if (status == USHER_REFUSED) {
        inout->why = reply.of.id.of.settings.why;
        usher__message_set("id set: %s", inout->why == USHER_ID_WHY_BACK
                                             ? "ids up to there were given out"
                                             : "by can only become a multiple of itself");
    }
    return status;
}

enum usher_status ask_id_delete(struct usher_engine *e, const char *name)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, USHER_ID_DELETE, name);
    return execute(e, &c, &reply);
}

enum usher_status ask_id_install(struct usher_engine *e, const char *name, int64_t first, int64_t n,
                                 int64_t max)
{
    struct usher_operation c;
    struct usher_result reply;

    command_init(&c, USHER_ID_INSTALL, name);
    c.given = USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N;
    c.arg.id.first = first;
    c.arg.id.n = n;
    if (max >= 0) {
        c.given |= USHER_GIVEN_ID_MAX;
        c.arg.id.max = max;
    }
    return execute(e, &c, &reply);
}
