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

static const struct backend under_test = { "memory", false, false, start, fresh,
                                           stop,     NULL,  NULL,  false, NULL };

int main(int argc, char **argv)
{
    return suite_main(&under_test, argc, argv);
}
