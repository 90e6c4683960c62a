/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_SCOPES_H
#define USHER_ENGINE_SCOPES_H

#include <usher/usher.h>

/* Split @place, NOUN/NAME, into the noun and the name.  Return NULL, or the fault in it. */
const char *usher__place_fault(const struct usher_text *place, unsigned *ret_noun,
                               struct usher_text *ret_name);

#endif
