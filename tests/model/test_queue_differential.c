/* SPDX-License-Identifier: MIT */
/* Queues: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/lockstep.h"
#include "model/queue_gen.h"

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

static bool last_look(const void *gen, unsigned scope, unsigned i, struct usher_operation *ret)
{
    return queue_gen_last_look(gen, scope, i, ret);
}

int main(void)
{
    static const struct lockstep queues = {
        .name = "queue differential",
        .model = &queue_noun,
        .watched = 50,
        .seed = 20241121,
        .steps = 40000,
        .steps_long = 1000000,
        .gen_open = open_gen,
        .gen_close = close_gen,
        .gen_about = about,
        .gen_scopes = scopes,
        .gen_scope = scope,
        .gen_next = next,
        .last_look = last_look,
    };

    return lockstep_main(&queues);
}
