/* SPDX-License-Identifier: MIT */
/* Queues: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/lockstep.h"
#include "model/queue_gen.h"

LOCKSTEP_GEN(queue_gen, queue_gen_open(seed), queues, queue)

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
        LOCKSTEP_METHODS,
        .last_look = last_look,
    };

    return lockstep_main(&queues);
}
