/* SPDX-License-Identifier: MIT */
/*
 * The two commonest commands, a plain call by owner and a plain hangup, in the form of the fast
 * path of the script (lua/number_fast.lua).  They contain the texts that it needs, because
 * composing and splitting texts takes most of its time.  The values are MessagePack, nil if not
 * given.  First comes their count, 6:
 *
 *   1  now  lease  owner  [1c OWNER \0  (1c OWNER \0 \255
 *      The last two are the bounds of the list of the owner's holds.
 *   2  now  token  12 TOKEN NUMBER  number  index
 *      The fourth is the member in the list of all holds; the last is the index of the record
 *      among the fields.
 *
 * Tokens are 7 bytes, the highest first.
 *
 * An answer of the fast path has a byte 1 or 2, the epoch (16 hex digits), the version, due and now
 * in 7 bytes each; then a call has its deadline in 7 bytes and the number, a hangup its token.
 */
#ifndef USHER_REDIS_NUMBER_FAST_H
#define USHER_REDIS_NUMBER_FAST_H

#include <stdbool.h>
#include <stddef.h>

#include <usher/store/store.h>

/* Maximum size of a command. */
#define USHER__REDIS_FAST_MAX (64 + 3 * (USHER_NAME_MAX + 16))

bool usher__redis_is_fast(const struct usher_operation *c, const struct usher_context *context);

/* Return whether the record of @c, a command of the fast path, is read with the header. */
static inline bool usher__redis_fast_reads(const struct usher_operation *c)
{
    return c->verb == USHER_NUMBER_HANGUP;
}

/* Write @c, a command of the fast path.  @place is the index of its record, if any, among the
 * fields.  Return how many bytes were written; *@values grows by the number of values. */
size_t usher__redis_fast(const struct usher_operation *c, const struct usher_context *context,
                         unsigned place, unsigned char to[USHER__REDIS_FAST_MAX], unsigned *values);

/* Write the name of that record. */
size_t usher__redis_fast_field(const struct usher_operation *c,
                               unsigned char to[USHER__REDIS_FAST_MAX]);

/* Read such an answer to @c.  Return false, and do not change @reply, if it is another one. */
bool usher__redis_fast_answer(const struct usher_operation *c, const char *data, size_t size,
                              struct usher_result *reply);

#endif
