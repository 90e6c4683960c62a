/* SPDX-License-Identifier: MIT */
/* Number pools: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/compare.h"
#include "model/gen.h"
#include "model/lockstep.h"
#include "model/model.h"

static void *open_gen(uint64_t seed)
{
    return gen_open(seed, 0);
}

static void close_gen(void *gen)
{
    gen_close(gen);
}

static const char *about(const void *gen)
{
    return gen_about(gen);
}

static unsigned scopes(const void *gen)
{
    return gen_pools(gen);
}

static const char *scope(const void *gen, unsigned i)
{
    return gen_pool(gen, i);
}

static void next(void *gen, void *ret_command)
{
    gen_next(gen, ret_command);
}

static void *open_model(lockstep_notify *notify, void *payload)
{
    struct model *m = model_open();

    m->notify = notify;
    m->payload = payload;
    return m;
}

static void close_model(void *model)
{
    model_close(model);
}

static struct usher_command resolve(const void *model, void *command)
{
    return gen_resolve(command, model);
}

static void execute(void *model, const struct usher_command *c, struct usher_reply *r)
{
    model_execute(model, c, r);
}

static const char *fault(const void *model)
{
    return model_fault(model);
}

int main(void)
{
    static const struct lockstep numbers = {
        .name = "differential",
        .noun = USHER_NUMBER,
        .watched = 50,
        .seed = 20240229,
        .steps = 100000,
        .steps_long = 3400000, /* ten million on three stores */
        .gen_open = open_gen,
        .gen_close = close_gen,
        .gen_about = about,
        .gen_scopes = scopes,
        .gen_scope = scope,
        .command_size = sizeof(struct gen_command),
        .gen_next = next,
        .gen_print = gen_print,
        .model_open = open_model,
        .model_close = close_model,
        .model_resolve = resolve,
        .model_execute = execute,
        .model_reply_done = model_reply_done,
        .model_fault = fault,
        .replies_equal = replies_equal,
        .reply_print = reply_print,
    };

    return lockstep_main(&numbers);
}
