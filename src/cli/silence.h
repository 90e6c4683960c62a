/* SPDX-License-Identifier: MIT */
#ifndef USHER_CLI_SILENCE_H
#define USHER_CLI_SILENCE_H

#include "cli/cli.h"

/* @command is done.  On a terminal, after `queue login` and `queue apply`: print until when its
 * agent or user may be silent. */
void usher__cli_silence(const struct cli *cli, const struct usher_operation *command);

#endif
