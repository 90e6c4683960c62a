/* SPDX-License-Identifier: MIT */
/* See left_out.h. */
#include "lib/test.h"

#include "lib/left_out.h"

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
