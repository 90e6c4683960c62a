/* SPDX-License-Identifier: MIT */
/* Number pools: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/gen.h"
#include "model/lockstep.h"

LOCKSTEP_GEN(gen, gen_open(seed, 0), pools, pool)

int main(void)
{
    static const struct lockstep numbers = {
        .name = "differential",
        .model = &number_noun,
        .watched = 50,
        .seed = 20240229,
        .steps = 100000,
        .steps_long = 3400000, /* ten million on three stores */
        LOCKSTEP_METHODS,
    };

    return lockstep_main(&numbers);
}
