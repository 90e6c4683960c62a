/* SPDX-License-Identifier: MIT */
/*
 * rollback_store -- a record store that fails over, with the URL `rollback:`.  It is the store of
 * examples/own_store.c with an identity.  A test can give it another identity, or set it back to an
 * earlier state.  Each engine has a store of its own; the functions use the one opened last.
 */
#ifndef USHER_LIB_ROLLBACK_STORE_H
#define USHER_LIB_ROLLBACK_STORE_H

#include <usher/store/store.h>

extern const struct usher_driver rollback_driver;

/* Return the number of records read so far, by id or in a list. */
unsigned long rollback_lookups(void);

/* Give the store another identity; its content stays. */
void rollback_change_identity(void);

/* Return a copy of the content, which the caller frees; NULL: no memory. */
struct rollback_copy *rollback_copy(void);
void rollback_free(struct rollback_copy *copy);

/* Set the content to @copy, and give the store another identity.  Not while a command runs. */
void rollback_to(const struct rollback_copy *copy);

/* Set the content to @copy, with the identity @which: for a test with several stores in turn. */
void rollback_become(const struct rollback_copy *copy, uint64_t which);

#endif
