/* SPDX-License-Identifier: MIT */
/* Functions that read answers to INFO, TIME and CONFIG GET, which are hostile input. */
#ifndef USHER_BACKENDS_REDIS_INFO_H
#define USHER_BACKENDS_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

struct redisReply; /* <hiredis/hiredis.h> */

/* Return the value of @field in @reply, the text of an INFO, up to the end of the line; "" if there
 * is none. */
struct usher_text usher__redis_info(const struct redisReply *reply, const char *field);

bool usher__redis_info_is(const struct usher_text *value, const char *word);

/* Write the name of the product and its version to @to: "Valkey 8.1.1"; "" if @info has no version.
 */
#define USHER__REDIS_SOFTWARE_MAX 64
void usher__redis_software(const struct redisReply *info, char to[USHER__REDIS_SOFTWARE_MAX]);

/* Return a number of 1 to 18 digits, or -1. */
int64_t usher__redis_natural(const struct usher_text *text);

/* Return the answer to TIME in microseconds, or -1. */
int64_t usher__redis_time(const struct redisReply *reply);

/* Return how durable a server is.  @info has the section persistence; @fsync is the answer to
 * CONFIG GET appendfsync, which managed services refuse. */
enum usher_durability usher__redis_durability(const struct redisReply *info,
                                              const struct redisReply *fsync);

/* Return whether the server can evict keys without a time to live.  @info: the section memory. */
bool usher__redis_evicts(const struct redisReply *info);

/* Read replica number @i of a master into @node, and its address into @address.  @info has the
 * section replication.  Return false if there is no such replica. */
#define USHER__REDIS_ADDRESS_MAX 300
bool usher__redis_replica(const struct redisReply *info, unsigned i, struct usher_node *node,
                          char address[USHER__REDIS_ADDRESS_MAX]);

#endif
