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

/* How many records were looked for in it so far, by id or in a list. */
unsigned long rollback_lookups(void);

/* It is another store from now on, with everything that it has. */
void rollback_change_identity(void);

/* All that is in it; NULL: no memory.  To be freed. */
struct rollback_copy *rollback_copy(void);
void rollback_free(struct rollback_copy *copy);

/* It has what @copy has, and is another store.  Not while a command runs. */
void rollback_to(const struct rollback_copy *copy);

/* The same, and which store it is: for who keeps several that are asked in turn. */
void rollback_become(const struct rollback_copy *copy, uint64_t which);

#endif
