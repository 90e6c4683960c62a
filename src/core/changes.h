/* SPDX-License-Identifier: MIT */
/* The verbs `changes` and `sweep` of any noun, by its tables. */
#ifndef USHER_CORE_CHANGES_H
#define USHER_CORE_CHANGES_H

#include "verbs.h"

/* NULL: scopes of @noun keep no log. */
const struct usher__verb *usher__changes_verb(enum usher_noun noun);

/* Ask for the notices of @scope behind @since, @max at most.  @noun keeps a log. */
void usher__changes_ask(struct usher_operation *c, enum usher_noun noun,
                        const struct usher_text *scope, uint64_t since, size_t max);

/* What is answered. */
struct usher__changes {
    size_t n; /* notices */
    bool more;
    uint64_t since; /* the log reaches back to this version */
    uint64_t mark;  /* of the scope now; 0: it has none */
    bool pushes;    /* its changes are published: the setting `push` */
};

/* Does @noun have the setting `push`? */
bool usher__changes_pushes(enum usher_noun noun);

void usher__changes_of(const struct usher_result *r, struct usher__changes *ret);

/* Is what has @epoch at @version of the same history as what had @from_epoch at @from?  A rule of
 * serials gets another epoch with some of its changes, one more each time; a scope that was made
 * anew, any other. */
bool usher__changes_go_on(uint64_t from_epoch, uint64_t from, uint64_t epoch, uint64_t version);

/* The notice with number @i, for usher_notice_read(). */
struct usher_text usher__changes_value(const struct usher_result *r, size_t i);

#endif
