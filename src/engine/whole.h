/* SPDX-License-Identifier: MIT */
#ifndef USHER_ENGINE_WHOLE_H
#define USHER_ENGINE_WHOLE_H

#include <usher/usher.h>

/* @place is NOUN/NAME: the noun and the name.  NULL, or what is wrong with it. */
const char *usher__place_fault(const struct usher_text *place, unsigned *ret_noun,
                               struct usher_text *ret_name);

#endif
