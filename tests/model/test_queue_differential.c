/* SPDX-License-Identifier: MIT */
/* Queues: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/compare.h"
#include "model/lockstep.h"
#include "model/queue_gen.h"
#include "model/queue_model.h"

static void *open_gen(uint64_t seed)
{
    return queue_gen_open(seed);
}

static void close_gen(void *gen)
{
    queue_gen_close(gen);
}

static const char *about(const void *gen)
{
    return queue_gen_about(gen);
}

static unsigned scopes(const void *gen)
{
    return queue_gen_queues(gen);
}

static const char *scope(const void *gen, unsigned i)
{
    return queue_gen_queue(gen, i);
}

static void next(void *gen, void *ret_command)
{
    queue_gen_next(gen, ret_command);
}

static void *open_model(lockstep_notify *notify, void *payload)
{
    struct queue_model *m = queue_model_open();

    m->notify = notify;
    m->payload = payload;
    return m;
}

static void close_model(void *model)
{
    queue_model_close(model);
}

static struct usher_command resolve(const void *model, void *command)
{
    return queue_gen_resolve(command, model);
}

static void execute(void *model, const struct usher_command *c, struct usher_reply *r)
{
    queue_model_execute(model, c, r);
}

static const char *fault(const void *model)
{
    return queue_model_fault(model);
}

int main(void)
{
    static const struct lockstep queues = {
        .name = "queue differential",
        .noun = USHER_QUEUE,
        .watched = 50,
        .seed = 20241121,
        .steps = 40000,
        .steps_long = 1000000,
        .gen_open = open_gen,
        .gen_close = close_gen,
        .gen_about = about,
        .gen_scopes = scopes,
        .gen_scope = scope,
        .command_size = sizeof(struct queue_gen_command),
        .gen_next = next,
        .gen_print = gen_print,
        .model_open = open_model,
        .model_close = close_model,
        .model_resolve = resolve,
        .model_execute = execute,
        .model_reply_done = queue_model_reply_done,
        .model_fault = fault,
        .replies_equal = queue_replies_equal,
        .reply_print = queue_reply_print,
    };

    return lockstep_main(&queues);
}
