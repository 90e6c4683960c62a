/* SPDX-License-Identifier: MIT */
/* See left_out.h. */
#include "config.h"

#include "lib/left_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && strcmp(value, "1") == 0;
}

void left_out(const char *reason)
{
    print_message("left out: %s\n", reason);
    if (is_set("USHER_NO_SKIP") && !is_set("USHER_LEAVE_OUT"))
        fail_msg("nothing may be skipped");
    skip();
}
