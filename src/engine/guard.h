/* SPDX-License-Identifier: MIT */
/*
 * What is read from a store that others can write to is looked at before a verb sees it: it is
 * what was asked for, stands where it says, and may be stored as it is (the noun's
 * record_fault(), as in the audit).  So no state out of a file is an index of a table, and every
 * walk gets on.
 */
#ifndef USHER_ENGINE_GUARD_H
#define USHER_ENGINE_GUARD_H

#include <usher/store.h>

#include "steps/work.h"

/* Between the steps and a transaction; the steps take it for their transaction. */
struct usher__guard {
    const struct usher_record_store_ops *ops; /* the store's */
    struct usher_txn *txn;
    char fault[USHER__TROUBLE_MAX]; /* why UNAVAILABLE, or "": then the store knows */
};

/* *@ops become those to be called with a struct usher__guard instead of a transaction of @of. */
void usher__guard_ops(struct usher_record_store_ops *ops, const struct usher_record_store_ops *of);

#endif
