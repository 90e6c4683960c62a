/* SPDX-License-Identifier: MIT */
/* Three masters for all tests; each begins with empty ones. */
#include "config.h"

#include <stdio.h>

#include <hiredis/hiredis.h>

#include "conformance/suite.h"
#include "lib/budget.h"
#include "lib/servers.h"

#define MASTERS 3

static struct redis_cluster *nodes;

static int start(void)
{
    nodes = redis_cluster_start(MASTERS, 0, NULL);
    return nodes != NULL ? 0 : redis_skip();
}

static bool fresh(char url[BACKEND_URL_MAX])
{
    char of_cluster[REDIS_URL_MAX];

    for (int i = 0; i < MASTERS; i++) {
        if (!redis_do_ok(nodes->node[i], "FLUSHALL", NULL)) {
            (void)fprintf(stderr, "%s\n", redis_reason());
            return false;
        }
    }
    (void)snprintf(url, BACKEND_URL_MAX, "%s", redis_cluster_url(nodes, of_cluster));
    return true;
}

static void stop(void)
{
    redis_cluster_stop(nodes);
}

static size_t left(const char *url)
{
    size_t n = 0;

    (void)url;
    for (int i = 0; i < MASTERS; i++)
        n += redis_server_keys(nodes->node[i]);
    return n;
}

const struct backend under_test = { "redis", true, true, start, fresh,
                                    stop,    NULL, left, false, budget_slow };
