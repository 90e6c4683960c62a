/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>

#include "conformance/suite.h"

static int start(void)
{
    return 0;
}

static bool fresh(char url[BACKEND_URL_MAX])
{
    (void)snprintf(url, BACKEND_URL_MAX, "memory:");
    return true;
}

static void stop(void)
{
}

const struct backend under_test = { "memory", false, false, start, fresh,
                                    stop,     NULL,  NULL,  false, NULL };
