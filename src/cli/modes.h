/* SPDX-License-Identifier: MIT */
/* The scopes of a store that are closed or stopped (`set ... mode=closed`), for `status`. */
#ifndef USHER_CLI_MODES_H
#define USHER_CLI_MODES_H

#include <stdbool.h>

#include <usher/usher.h>

#define MODES_SCOPES_MAX 10000 /* of a noun, that are read */

struct mode_of {
    struct usher_text scope; /* NOUN/NAME */
    const char *mode;
    struct usher_text reason; /* size 0: none was given */
};

typedef void usher__mode_fn(void *payload, const struct mode_of *m);

/* Call @fn for each scope that is not open.  It may not use @e.  Return false if not all scopes
 * were read: there are more than MODES_SCOPES_MAX, or the store did not answer. */
bool usher__modes(struct usher_engine *e, usher__mode_fn *fn, void *payload);

#endif
