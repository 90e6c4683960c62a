/* SPDX-License-Identifier: MIT */
/* What of serials is done where replies are read, for any store. */
#ifndef USHER_ENGINE_SERIAL_H
#define USHER_ENGINE_SERIAL_H

#include <usher/usher.h>

/* The store has answered `parse` with the rule: take the serial apart. */
void usher__serial_parsed(const struct usher_command *command, struct usher_reply *reply);

struct usher_engine;

/* Is it a command that an engine with an authority has to execute by usher__serial_execute()? */
bool usher__serial_asks(const struct usher_command *command);

/*
 * Execute @command with the help of e->authority: what the store may give out is raised there
 * first; a rule that the store has lost is made again.
 */
void usher__serial_execute(struct usher_engine *e, const struct usher_command *command,
                           struct usher_reply *reply);

#endif
