/* SPDX-License-Identifier: MIT */
/*
 * The two commonest commands, a plain call by owner and a plain hangup, as the short way of the
 * script (lua/number_fast.lua) wants them, with the texts that it needs: to put texts together and
 * to take them apart is what takes its time.  Values as MessagePack, nil for what is not given: how
 * many follow (6), then 1  now  lease  owner  [1c OWNER \0  (1c OWNER \0 \255: where the list of
 * what it holds begins, ends 2  now  token  12 TOKEN NUMBER: it in the list of all held  number its
 * place among the fields Tokens are 7 bytes, the highest first.
 *
 * Their answers, if they succeeded on that way: a byte 1 or 2, the epoch (16 hex digits), the
 * version, due and now in 7 bytes each, and of a call its deadline in 7 bytes and the number, of a
 * hangup its token.
 */
#ifndef USHER_REDIS_NUMBER_BRIEF_H
#define USHER_REDIS_NUMBER_BRIEF_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store.h>

/* Bytes that one takes at most. */
#define USHER__REDIS_BRIEF_MAX (64 + 3 * (USHER_NAME_MAX + 16))

bool usher__redis_is_brief(const struct usher_operation *c, const struct usher_context *context);

/* @c is brief: is a record of it read with the header? */
static inline bool usher__redis_brief_reads(const struct usher_operation *c)
{
    return c->verb == USHER_NUMBER_HANGUP;
}

/* @c is brief; @place is where its record, if any, is among those read.  Returns how many bytes
 * were written; *@values grows by the number of values. */
size_t usher__redis_brief(const struct usher_operation *c, const struct usher_context *context,
                          unsigned place, unsigned char to[USHER__REDIS_BRIEF_MAX],
                          unsigned *values);

/* The name of that record. */
size_t usher__redis_brief_field(const struct usher_operation *c,
                                unsigned char to[USHER__REDIS_BRIEF_MAX]);

/* false: it is no such answer to @c, and @reply is as it was. */
bool usher__redis_brief_answer(const struct usher_operation *c, const char *data, size_t size,
                               struct usher_result *reply);

#endif
