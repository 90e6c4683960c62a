/* SPDX-License-Identifier: MIT */
/* See nouns.h. */
#include "config.h"

#include "model/nouns.h"

#include "model/gen.h"
#include "model/model.h"
#include "model/queue_gen.h"
#include "model/queue_model.h"
#include "model/room_gen.h"
#include "model/room_model.h"

/* The methods of a model whose functions begin with @prefix, and of its generator. */
#define METHODS(name, prefix, gen)                                                 \
    static void name##_close(void *model)                                          \
    {                                                                              \
        prefix##_close(model);                                                     \
    }                                                                              \
    static struct usher_operation name##_resolve(const void *model, void *command) \
    {                                                                              \
        return gen##_resolve(command, model);                                      \
    }                                                                              \
    static void name##_execute(void *model, const struct usher_operation *c,       \
                               struct usher_result *r)                             \
    {                                                                              \
        prefix##_execute(model, c, r);                                             \
    }                                                                              \
    static const char *name##_fault(const void *model)                             \
    {                                                                              \
        return prefix##_fault(model);                                              \
    }

/* Those of a model that is given its watcher after it was opened. */
#define WATCHED_METHODS(name, type, prefix)                                                \
    static struct type *name##_watched(struct type *m, noun_notify *notify, void *payload) \
    {                                                                                      \
        m->notify = notify;                                                                \
        m->payload = payload;                                                              \
        return m;                                                                          \
    }                                                                                      \
    static void *name##_open(noun_notify *notify, void *payload)                           \
    {                                                                                      \
        return name##_watched(prefix##_open(), notify, payload);                           \
    }                                                                                      \
    static void *name##_copy(const void *model, noun_notify *notify, void *payload)        \
    {                                                                                      \
        return name##_watched(prefix##_copy(model), notify, payload);                      \
    }                                                                                      \
    static const char *name##_sums(const void *model)                                      \
    {                                                                                      \
        return prefix##_sums(model);                                                       \
    }

METHODS(number, model, gen)
WATCHED_METHODS(number, model, model)
METHODS(queue, queue_model, queue_gen)
WATCHED_METHODS(queue, queue_model, queue_model)
METHODS(room, room_model, room_gen)

static void *room_open(noun_notify *notify, void *payload)
{
    return room_model_open(notify, payload);
}

static void *room_copy(const void *model, noun_notify *notify, void *payload)
{
    return room_model_copy(model, notify, payload);
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
};

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
};

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
};
