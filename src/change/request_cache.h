/* SPDX-License-Identifier: MIT */
/* Answers as bytes: those cached for request ids, and those of stores in other processes. */
#ifndef USHER_CHANGE_REQUEST_CACHE_H
#define USHER_CHANGE_REQUEST_CACHE_H

#include <usher/store/store.h>

#include "core/pack.h"
#include "core/verbs.h"

/* Pack the fields of @reply: those of all verbs of the noun and those of @verb. */
void usher__fields_pack(struct usher__packer *p, const struct usher__noun *noun,
                        enum usher_verb verb, const struct usher_result *reply);
/* Return false if they are invalid; @reply may then be written in part. */
bool usher__fields_unpack(struct usher_unpacker *u, const struct usher__noun *noun,
                          enum usher_verb verb, struct usher_result *reply);

/* Return their number. */
size_t usher__fields_count(const struct usher__noun *noun, enum usher_verb verb);

/* Pack and unpack the rows of @reply, an array of arrays.  MISSING: invalid; NOMEM. */
void usher__rows_pack(struct usher__packer *p, const struct usher__noun *noun,
                      const struct usher_result *reply);
enum usher_status usher__rows_unpack(struct usher_unpacker *u, const struct usher__noun *noun,
                                     struct usher_result *reply);

/*
 * Return a fingerprint (53 bits, never 0) of the arguments of @command, to compare the repeat of a
 * request id.  It contains each argument with its name, packed fields in any order, but not the
 * time and not the arguments that the engine adds.
 */
uint64_t usher__operation_fingerprint(const struct usher_operation *command);

/* Return NULL, or the fault of a cached answer: see usher__request_keep(). */
const char *usher__kept_fault(const struct usher_text *kept, const struct usher__noun *noun);
/* Pack a notice without its noun, scope and epoch, as in logs and in notices of coalesced
 * changes. */
void usher__notice_pack(struct usher__packer *p, const struct usher_notice *n);
/* Return false if it is invalid; @notice may then be written in part. */
bool usher__notice_unpack(struct usher_unpacker *u, struct usher_notice *notice);

/* Make @notice, of a store or a log, one for programs: a time that is 0 becomes USHER_NONE. */
static inline void usher__notice_publish(struct usher_notice *notice)
{
    notice->wait_ms = 0;
    if (notice->until_ms == 0)
        notice->until_ms = USHER_NONE;
    if (notice->due_ms == 0)
        notice->due_ms = USHER_NONE;
}

#endif
