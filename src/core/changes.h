/* SPDX-License-Identifier: MIT */
/* The verb `changes` of any noun, by its tables. */
#ifndef USHER_CORE_CHANGES_H
#define USHER_CORE_CHANGES_H

#include "verbs.h"

/* Return NULL if scopes of @noun have no log. */
const struct usher__verb *usher__changes_verb(enum usher_noun noun);

/* Make a command for the notices of @scope after @since, at most @max.  @noun has a log. */
void usher__changes_ask(struct usher_operation *c, enum usher_noun noun,
                        const struct usher_text *scope, uint64_t since, size_t max);

/* The answer. */
struct usher__changes {
    size_t n; /* notices */
    bool more;
    uint64_t since; /* the log reaches back to this version */
    uint64_t mark;  /* the current mark of the scope; 0: it has none */
    bool pushes;    /* its changes are published: the setting `push` */
};

/* Return whether @noun has the setting `push`. */
bool usher__changes_pushes(enum usher_noun noun);

/* Return whether @verb can change it. */
bool usher__changes_set_push(unsigned verb);

void usher__changes_of(const struct usher_result *r, struct usher__changes *ret);

/* Return whether @epoch at @version belongs to the same history as @from_epoch at @from.  A serial
 * rule gets another epoch with some of its changes, higher by one each time; a scope that was
 * created again has a random one. */
bool usher__changes_go_on(uint64_t from_epoch, uint64_t from, uint64_t epoch, uint64_t version);

/* Return the notice with number @i, for usher_notice_read(). */
struct usher_text usher__changes_value(const struct usher_result *r, size_t i);

#endif
