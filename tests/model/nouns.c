/* SPDX-License-Identifier: MIT */
/* See nouns.h. */
#include "config.h"

#include "model/nouns.h"

#include "model/compare.h"
#include "model/gen.h"
#include "model/model.h"
#include "model/queue_gen.h"
#include "model/queue_model.h"
#include "model/room_gen.h"
#include "model/room_model.h"

/* ---- numbers ----------------------------------------------------------------------- */

static void *number_open(noun_notify *notify, void *payload)
{
    struct model *m = model_open();

    m->notify = notify;
    m->payload = payload;
    return m;
}

static void *number_copy(const void *model, noun_notify *notify, void *payload)
{
    struct model *m = model_copy(model);

    m->notify = notify;
    m->payload = payload;
    return m;
}

static void number_close(void *model)
{
    model_close(model);
}

static struct usher_operation number_resolve(const void *model, void *command)
{
    return gen_resolve(command, model);
}

static void number_execute(void *model, const struct usher_operation *c, struct usher_result *r)
{
    model_execute(model, c, r);
}

static const char *number_fault(const void *model)
{
    return model_fault(model);
}

static const char *number_sums(const void *model)
{
    return model_sums(model);
}

const struct noun_model number_noun = {
    .noun = USHER_NUMBER,
    .open = number_open,
    .copy = number_copy,
    .close = number_close,
    .command_size = sizeof(struct gen_command),
    .resolve = number_resolve,
    .execute = number_execute,
    .reply_done = model_reply_done,
    .fault = number_fault,
    .sums = number_sums,
    .replies_equal = replies_equal,
    .reply_print = reply_print,
};

/* ---- queues ------------------------------------------------------------------------ */

static void *queue_open(noun_notify *notify, void *payload)
{
    struct queue_model *m = queue_model_open();

    m->notify = notify;
    m->payload = payload;
    return m;
}

static void *queue_copy(const void *model, noun_notify *notify, void *payload)
{
    struct queue_model *m = queue_model_copy(model);

    m->notify = notify;
    m->payload = payload;
    return m;
}

static void queue_close(void *model)
{
    queue_model_close(model);
}

static struct usher_operation queue_resolve(const void *model, void *command)
{
    return queue_gen_resolve(command, model);
}

static void queue_execute(void *model, const struct usher_operation *c, struct usher_result *r)
{
    queue_model_execute(model, c, r);
}

static const char *queue_fault(const void *model)
{
    return queue_model_fault(model);
}

static const char *queue_sums(const void *model)
{
    return queue_model_sums(model);
}

const struct noun_model queue_noun = {
    .noun = USHER_QUEUE,
    .open = queue_open,
    .copy = queue_copy,
    .close = queue_close,
    .command_size = sizeof(struct queue_gen_command),
    .resolve = queue_resolve,
    .execute = queue_execute,
    .reply_done = queue_model_reply_done,
    .fault = queue_fault,
    .sums = queue_sums,
    .replies_equal = queue_replies_equal,
    .reply_print = queue_reply_print,
};

/* ---- rooms ------------------------------------------------------------------------- */

static void *room_open(noun_notify *notify, void *payload)
{
    return room_model_open(notify, payload);
}

static void *room_copy(const void *model, noun_notify *notify, void *payload)
{
    return room_model_copy(model, notify, payload);
}

static void room_close(void *model)
{
    room_model_close(model);
}

static struct usher_operation room_resolve(const void *model, void *command)
{
    return room_gen_resolve(command, model);
}

static void room_execute(void *model, const struct usher_operation *c, struct usher_result *r)
{
    room_model_execute(model, c, r);
}

static const char *room_fault(const void *model)
{
    return room_model_fault(model);
}

const struct noun_model room_noun = {
    .noun = USHER_ROOM,
    .open = room_open,
    .copy = room_copy,
    .close = room_close,
    .command_size = sizeof(struct room_gen_command),
    .resolve = room_resolve,
    .execute = room_execute,
    .reply_done = room_model_reply_done,
    .fault = room_fault,
    .replies_equal = room_replies_equal,
    .reply_print = room_reply_print,
};
