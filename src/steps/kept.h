/* SPDX-License-Identifier: MIT */
/* Answers as bytes: kept for request ids, and from stores that execute elsewhere. */
#ifndef USHER_STEPS_KEPT_H
#define USHER_STEPS_KEPT_H

#include <usher/store.h>

#include "core/pack.h"
#include "core/verbs.h"

/* The fields of @reply that the noun has for all its verbs and those of @verb. */
void usher__fields_pack(struct usher__packer *p, const struct usher__noun *noun,
                        enum usher_verb verb, const struct usher_result *reply);
/* false: not understood; @reply has then been written to in part. */
bool usher__fields_unpack(struct usher_unpacker *u, const struct usher__noun *noun,
                          enum usher_verb verb, struct usher_result *reply);

/* How many they are. */
size_t usher__fields_count(const struct usher__noun *noun, enum usher_verb verb);

/* The rows of @reply, an array of arrays.  MISSING: not understood; NOMEM. */
void usher__rows_pack(struct usher__packer *p, const struct usher__noun *noun,
                      const struct usher_result *reply);
enum usher_status usher__rows_unpack(struct usher_unpacker *u, const struct usher__noun *noun,
                                     struct usher_result *reply);

/*
 * What a repeat of a request id is compared by: a print (53 bits, never 0) of the arguments of
 * @command, each by its name, packed fields in any order.  Neither the time nor what the engine
 * adds by itself is among them.
 */
uint64_t usher__operation_print(const struct usher_operation *command);

/* NULL, or what is wrong with an answer as it is kept: see usher__request_keep(). */
const char *usher__kept_fault(const struct usher_text *kept, const struct usher__noun *noun);
/* A notice of a room but for its noun, scope and epoch: as it is kept in logs, and told together
 * with others. */
void usher__notice_pack(struct usher__packer *p, const struct usher_notice *n);
/* false: not understood; @notice has then been written to in part. */
bool usher__notice_unpack(struct usher_unpacker *u, struct usher_notice *notice);

#endif
