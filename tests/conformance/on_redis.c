/* SPDX-License-Identifier: MIT */
/* One server for all tests; each begins with an empty one. */
#include "config.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

#include "conformance/suite.h"
#include "lib/servers.h"

static struct redis_server *server;

static int start(void)
{
    server = redis_server_start(NULL);
    return server != NULL ? 0 : redis_skip();
}

static bool fresh(char url[BACKEND_URL_MAX])
{
    char of_server[REDIS_URL_MAX];

    if (!redis_do_ok(server, "FLUSHALL", NULL)) {
        (void)fprintf(stderr, "%s\n", redis_reason());
        return false;
    }
    (void)snprintf(url, BACKEND_URL_MAX, "%s", redis_server_url(server, of_server));
    return true;
}

static void stop(void)
{
    redis_server_stop(server);
}

static size_t left(const char *url)
{
    (void)url;
    return redis_server_keys(server);
}

const struct backend under_test = {
    "redis", true, true, start, fresh, stop, NULL, left, false, NULL
};
