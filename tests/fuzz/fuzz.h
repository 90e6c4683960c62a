/* SPDX-License-Identifier: MIT */
/* fuzz -- what every fuzz target includes first. */
#ifndef USHER_TESTS_FUZZ_H
#define USHER_TESTS_FUZZ_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* End the process, which libFuzzer reports, unless @good. */
static inline void must_hold(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

#endif
