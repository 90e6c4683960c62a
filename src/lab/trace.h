/* SPDX-License-Identifier: MIT */
#ifndef USHER_LAB_TRACE_H
#define USHER_LAB_TRACE_H

#include <stddef.h>

#include "cli/cli.h"

/* Made-up calls, on standard output.  Returns the exit code. */
int usher__lab_trace(struct cli *cli, char *const *words, size_t n);

#endif
