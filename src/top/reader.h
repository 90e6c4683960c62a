/* SPDX-License-Identifier: MIT */
/* A thread that reads the state of the scopes, and executes commands, so that a key is answered
 * whatever the store does. */
#ifndef USHER_TOP_READER_H
#define USHER_TOP_READER_H

#include <usher/command.h>

#include "cli/cli.h"
#include "serve/snapshot.h"
#include "top/job.h"

struct reader;

/* Return a reader of @cli, whose store is open or connected, and of @sn, which is its own from now
 * on; NULL: there is no thread.  Signals are for other threads. */
struct reader *usher__reader_new(struct cli *cli, struct snapshot *sn);
/* Return a descriptor that is readable when something has been read. */
int usher__reader_fd(const struct reader *r);
/* Read the state, if that is not being done. */
void usher__reader_ask(struct reader *r);
/* Execute @job, before the next reading of the state. */
void usher__reader_execute(struct reader *r, struct job *job);
/* Return the state that was read since the last call, which the caller frees; NULL: none.  If the
 * server did not answer, *@ret_failed is true. */
char *usher__reader_take(struct reader *r, bool *ret_failed);
/* Return a job that was executed, which the caller frees; NULL: none. */
struct job *usher__reader_job(struct reader *r);
/* NULL is allowed.  Return false if the thread waits for the store: the process has to end then. */
bool usher__reader_free(struct reader *r);

#endif
