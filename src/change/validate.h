/* SPDX-License-Identifier: MIT */
/*
 * Validation of records of a store that other programs can write to, before a verb uses them.  A
 * record must have the requested key, be at its position in its list, and be one that may be stored
 * (the noun's record_fault(), as in the audit).  So no state of a file is used unchecked as an
 * index of a table, and every iteration ends.
 */
#ifndef USHER_CHANGE_VALIDATE_H
#define USHER_CHANGE_VALIDATE_H

#include <usher/store/store.h>

#include "change/work.h"

/* A wrapper of a transaction; the steps use it as their transaction. */
struct usher__validator {
    const struct usher_record_store_ops *ops; /* the store's */
    struct usher_txn *txn;
    char fault[USHER__TROUBLE_MAX]; /* the reason of UNAVAILABLE, or "": then the store has it */
};

/* Set *@ops to those that are called with a struct usher__validator instead of a transaction of
 * @of. */
void usher__validator_ops(struct usher_record_store_ops *ops,
                          const struct usher_record_store_ops *of);

#endif
