/* SPDX-License-Identifier: MIT */
/* Number pools: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/gen.h"
#include "model/lockstep.h"

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

int main(void)
{
    static const struct lockstep numbers = {
        .name = "differential",
        .model = &number_noun,
        .watched = 50,
        .seed = 20240229,
        .steps = 100000,
        .steps_long = 3400000, /* ten million on three stores */
        .gen_open = open_gen,
        .gen_close = close_gen,
        .gen_about = about,
        .gen_scopes = scopes,
        .gen_scope = scope,
        .gen_next = next,
    };

    return lockstep_main(&numbers);
}
