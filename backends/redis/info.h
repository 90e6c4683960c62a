/* SPDX-License-Identifier: MIT */
/* Readers of answers to INFO, TIME and CONFIG GET, which are hostile input. */
#ifndef USHER_BACKENDS_REDIS_INFO_H
#define USHER_BACKENDS_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

struct redisReply; /* <hiredis/hiredis.h> */

/* The value of @field, of @reply that is to be the text of an INFO, up to the end of the line; ""
 * if there is none. */
struct usher_text usher__redis_info(const struct redisReply *reply, const char *field);

bool usher__redis_info_is(const struct usher_text *value, const char *word);

/* Write the name of the product and its version to @to: "Valkey 8.1.1"; "" if @info has no version.
 */
#define USHER__REDIS_SOFTWARE_MAX 64
void usher__redis_software(const struct redisReply *info, char to[USHER__REDIS_SOFTWARE_MAX]);

/* A number of 1 to 18 digits; -1: it is none. */
int64_t usher__redis_natural(const struct usher_text *text);

/* The answer to TIME in microseconds; -1: it is none. */
int64_t usher__redis_time(const struct redisReply *reply);

/* How durable a server is: @info has the section persistence, @fsync is the answer to CONFIG GET
 * appendfsync, which managed services refuse. */
enum usher_durability usher__redis_durability(const struct redisReply *info,
                                              const struct redisReply *fsync);

/* May it take keys away that have no time to live?  @info has the section memory. */
bool usher__redis_evicts(const struct redisReply *info);

/* Replica number @i of the master whose section replication is in @info, into @node, whose address
 * is written to @address.  false: there is no such one. */
#define USHER__REDIS_ADDRESS_MAX 300
bool usher__redis_replica(const struct redisReply *info, unsigned i, struct usher_node *node,
                          char address[USHER__REDIS_ADDRESS_MAX]);

#endif
