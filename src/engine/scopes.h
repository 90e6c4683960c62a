/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_SCOPES_H
#define USHER_ENGINE_SCOPES_H

#include <usher/store/store.h>

/* Split @place, NOUN/NAME, into the noun and the name.  Return NULL, or the fault in it. */
const char *usher__place_fault(const struct usher_text *place, unsigned *ret_noun,
                               struct usher_text *ret_name);

/* Scan the records of @scope, or of all scopes of @noun (0: of all).  If that fails, the message
 * begins with @verb. */
enum usher_status usher__engine_scan(struct usher_engine *e, int64_t timeout_ms, const char *verb,
                                     enum usher_noun noun, const struct usher_text *scope,
                                     usher_scan_fn *fn, void *payload);

#endif
