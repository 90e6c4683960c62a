/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/lab.h"

#include <string.h>

#include "cli/cli.h"
#include "lab/replay.h"
#include "lab/trace.h"

int usher__lab(struct cli *cli, char *const *words, size_t n)
{
    return strcmp(words[0], "trace") == 0 ? usher__lab_trace(cli, words, n)
                                          : usher__lab_replay(cli, words, n);
}
