/* SPDX-License-Identifier: MIT */
#ifndef USHER_CLI_SILENCE_H
#define USHER_CLI_SILENCE_H

#include "cli/cli.h"

/* After `queue login` and `queue apply` on a terminal, print the deadline for the next heartbeat of
 * the agent or user. */
void usher__cli_silence(struct cli *cli, const struct usher_operation *command);

#endif
