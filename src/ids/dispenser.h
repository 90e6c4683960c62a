/* SPDX-License-Identifier: MIT */
/* A dispenser of a store as the manager of ids that a process hands out itself. */
#ifndef USHER_IDS_DISPENSER_H
#define USHER_IDS_DISPENSER_H

#include <usher/ids.h>

struct usher__ids_dispenser {
    struct usher_engine *e;
    char name[USHER_NAME_MAX + 1];
    uint64_t nonce, turn; /* request ids */
    int64_t doubted; /* the size of the request with this id, if it may have been granted; or 0 */
};

/* Return the manager with the dispenser called @name, which is valid.  It uses @d. */
struct usher_ids_manager usher__ids_dispenser(struct usher__ids_dispenser *d,
                                              struct usher_engine *e, const char *name);

#endif
