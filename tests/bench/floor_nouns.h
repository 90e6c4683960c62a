/* SPDX-License-Identifier: MIT */
/*
 * floor_nouns -- a queue, a room and serials as one would write them for one program, like
 * floor_memory.h: structs that are never freed, chained tables, linked lists, one mutex each.
 *
 *   queue  users by name, a list of the waiting users of each lane, agents with one room each.
 *   room   members by name, a list in the order of their last heartbeats.
 *   serial a counter, and a text made by snprintf().
 *
 * Each has only what its row needs: no deadlines by priority, offers, history, fields, roles, log,
 * checks or stock.
 */
#ifndef USHER_BENCH_FLOOR_NOUNS_H
#define USHER_BENCH_FLOOR_NOUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "floor_memory.h"

struct floor_queue;

/* Lanes of 0 … @n_lanes - 1; room for @n users at the same time. */
struct floor_queue *floor_queue_new(size_t n, unsigned n_lanes, unsigned n_agents);
void floor_queue_free(struct floor_queue *q);
/* Let agent @agent take users of @one and @other from now on, the longest waiting first. */
void floor_queue_login(struct floor_queue *q, unsigned agent, unsigned one, unsigned other);
/* Let @user wait, and return its position.  Returns false if it is there already. */
bool floor_queue_apply(struct floor_queue *q, const char *user, unsigned lane, uint64_t *ret_place);
/* End the visit with @agent, if there is one, and seat the next user: @user.  Returns false if no
 * user waits. */
bool floor_queue_finish(struct floor_queue *q, unsigned agent, char user[FLOOR_NAME]);

struct floor_room;

struct floor_room *floor_room_new(size_t n);
void floor_room_free(struct floor_room *r);
void floor_room_join(struct floor_room *r, const char *member, int64_t now_ms);
/* False: it is not there. */
bool floor_room_alive(struct floor_room *r, const char *member, int64_t now_ms);

#endif
