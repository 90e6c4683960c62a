/* SPDX-License-Identifier: MIT */
/* The store of examples/own_store.c, which knows nothing but include/usher/store/store.h. */
#include "config.h"

#define OWN_STORE_IN_TEST
#include "../../examples/own_store.c"

#include "conformance/suite.h"

static int start(void)
{
    return 0;
}

static bool fresh(char url[BACKEND_URL_MAX])
{
    (void)snprintf(url, BACKEND_URL_MAX, "own:");
    return true;
}

static void stop(void)
{
}

static const struct usher_driver driver = { "own", own_store_open, NULL, NULL };
const struct backend under_test = { "own", false,   false, start, fresh,
                                    stop,  &driver, NULL,  false, NULL };
