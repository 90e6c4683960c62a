/* SPDX-License-Identifier: MIT */
/* The state of the scopes (state.h) for a program that is no server: of its own store, or of a
 * server, which is asked for its state. */
#ifndef USHER_SERVE_SNAPSHOT_H
#define USHER_SERVE_SNAPSHOT_H

#include <usher/usher.h>

#include "cli/cli.h"

struct snapshot;

/* Return a reader of the store of @cli, which is open or connected, of the scopes @only (as of
 * /state.json; "": all).  NULL: there is a fault in @only, which is *@ret_fault, in *@ret_word. */
struct snapshot *usher__snapshot_new(struct cli *cli, const char *only, const char **ret_fault,
                                     char ret_word[USHER_NAME_MAX + 1]);
/* Read the state, as one object of JSON without a newline, which lives until the next call.  Scopes
 * that have not changed are not read again.  Blocks as long as the store takes.  NULL: the server
 * did not answer, and @message has the reason. */
const char *usher__snapshot_read(struct snapshot *sn, char message[CLI_MESSAGE_MAX]);
/* NULL is allowed.  Return false if a thread is still at work: the process has to end then. */
bool usher__snapshot_free(struct snapshot *sn);

#endif
