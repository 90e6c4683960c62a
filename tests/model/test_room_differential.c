/* SPDX-License-Identifier: MIT */
/* Rooms: the model and every store in lockstep (lockstep.h). */
#include "config.h"

#include "model/lockstep.h"
#include "model/room_gen.h"

static void *open_gen(uint64_t seed)
{
    return room_gen_open(seed);
}

static void close_gen(void *gen)
{
    room_gen_close(gen);
}

static const char *about(const void *gen)
{
    return room_gen_about(gen);
}

static unsigned scopes(const void *gen)
{
    return room_gen_rooms(gen);
}

static const char *scope(const void *gen, unsigned i)
{
    return room_gen_room(gen, i);
}

static void next(void *gen, void *ret_command)
{
    room_gen_next(gen, ret_command);
}

int main(void)
{
    static const struct lockstep rooms = {
        .name = "room differential",
        .model = &room_noun,
        .watched = 50,
        .seed = 20251121,
        .steps = 60000,
        .steps_long = 1000000,
        .gen_open = open_gen,
        .gen_close = close_gen,
        .gen_about = about,
        .gen_scopes = scopes,
        .gen_scope = scope,
        .gen_next = next,
    };

    return lockstep_main(&rooms);
}
