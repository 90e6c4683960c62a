/* SPDX-License-Identifier: MIT */
/*
 * room_gen -- seeded room commands for tests: see gen.h.
 *
 * Versions (`if-version=`, `since=`) are given by how far they are from that of the room, an epoch
 * as the room's or an earlier one, and what there must be (`if=`) may be what there is: all are
 * resolved against the model as it is when the command is executed.
 */
#ifndef USHER_TESTS_ROOM_GEN_H
#define USHER_TESTS_ROOM_GEN_H

#include <usher/store/operation.h>

#include "model/gen.h"
#include "model/room_model.h"

#define ROOM_GEN_TEXT 512

struct room_gen_command {
    struct usher_operation c;
    bool version_of; /* if-version, since: to be added to the version of the room */
    bool value_of;   /* if: what there is now */
    enum { ROOM_GEN_NO_EPOCH, ROOM_GEN_EPOCH, ROOM_GEN_EARLIER } epoch_of; /* of the model's room */
    size_t fields_size;
    char fields[ROOM_GEN_TEXT]; /* packed */
    char text[ROOM_GEN_TEXT];   /* that of `if` */
    char epoch[17];
};

struct room_gen;

struct room_gen *room_gen_open(uint64_t seed);
void room_gen_close(struct room_gen *g);
const char *room_gen_about(const struct room_gen *g); /* one line */

void room_gen_next(struct room_gen *g, struct room_gen_command *ret);
/* Texts of what is returned may lie in @q. */
struct usher_operation room_gen_resolve(struct room_gen_command *q, const struct room_model *m);

/* The scopes that there may be. */
unsigned room_gen_rooms(const struct room_gen *g);
const char *room_gen_room(const struct room_gen *g, unsigned i);

#endif
