/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_SCOPES_H
#define USHER_ENGINE_SCOPES_H

#include <usher/store/store.h>

/* Return whether usher_scopes() lists @s, and usher_check() counts it: it is no index of the
 * engine, and not gone. */
bool usher__scope_listed(const struct usher_scope *s);

/* Split @place, NOUN/NAME, into the noun and the name.  Return NULL, or the fault in it. */
const char *usher__place_fault(const struct usher_text *place, unsigned *ret_noun,
                               struct usher_text *ret_name);

/* Scan the records of @scope, or of all scopes of @noun (0: of all).  If that fails, the message
 * begins with @verb. */
enum usher_status usher__engine_scan(struct usher_engine *e, int64_t timeout_ms, const char *verb,
                                     enum usher_noun noun, const struct usher_text *scope,
                                     usher_scan_fn *fn, void *payload);

/* Options that a list takes in addition to a timeout. */
enum usher__list_takes {
    USHER__LIST_NOW = 1u << 0,
    USHER__LIST_MAX = 1u << 1,
    USHER__LIST_AFTER = 1u << 2,
    USHER__LIST_CREATED = 1u << 3,
    USHER__LIST_NOUN = 1u << 4,
    USHER__LIST_PATROL = 1u << 5, /* every_ms, lease_ms */
    USHER__LIST_ROW = 1u << 6
};

/* Write @from, of a program (of any size; NULL: none), to *@o, with a timeout.  Return NULL, or
 * the fault in it. */
const char *usher__list_options(const struct usher_engine *e, const struct usher_list_options *from,
                                unsigned takes, struct usher_list_options *o);

#endif
