/* SPDX-License-Identifier: MIT */
/* Rooms: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/lockstep.h"
#include "model/room_gen.h"

LOCKSTEP_GEN(room_gen, room_gen_open(seed), rooms, room)

int main(void)
{
    static const struct lockstep rooms = {
        .name = "room differential",
        .model = &room_noun,
        .watched = 50,
        .seed = 20251121,
        .steps = 60000,
        .steps_long = 1000000,
        LOCKSTEP_METHODS,
    };

    return lockstep_main(&rooms);
}
