/* SPDX-License-Identifier: MIT */
/* Which fields of a result a program sees in the answer to a verb. */
#ifndef USHER_ENGINE_DOOR_H
#define USHER_ENGINE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/verbs.h"

/* A walk over the fields of the tables of a noun that belong to the answer to one verb, or to its
 * rows. */
struct usher__seen {
    const struct usher__field *lists[3];
    unsigned n[3];
    unsigned list, i;
    uint32_t bit;
};

void usher__seen_begin(struct usher__seen *seen, const struct usher__noun *noun, uint32_t verb,
                       bool rows);
/* NULL: that was all. */
const struct usher__field *usher__seen_next(struct usher__seen *seen);

/* Those behind them, which no table has: the @i-th, 0: no more. */
uint32_t usher__seen_more(uint32_t verb, bool rows, size_t i);

#endif
