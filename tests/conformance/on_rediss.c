/* SPDX-License-Identifier: MIT */
/* As on_redis, over TLS.  The engine does not know what is beneath its connection, so without
 * USHER_LONG=1 and a pattern there are some tests only. */
#include "lib/test.h"

#include <hiredis/hiredis.h>

#include "conformance/suite.h"
#include "lib/certs.h"
#include "lib/servers.h"

static struct redis_server *server;
static char dir[64], ca_file[96], server_file[96];
static int tls_port;

static int start(void)
{
    struct redis_server_options options = { 0 };
    char port[32], cert[160], key[160], ca[160];
    const char *const config[] = { port, cert, key, ca, "tls-auth-clients no", NULL };
    const char *tmp = getenv("TMPDIR");
    struct cert authority, own;

    if (!budget_long())
        cmocka_set_test_filter("*thread*"); /* a pattern on the command line replaces it */
    (void)snprintf(dir, sizeof dir, "%.40s/usher-tls-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        return 1;
    }
    (void)snprintf(ca_file, sizeof ca_file, "%s/ca.pem", dir);
    (void)snprintf(server_file, sizeof server_file, "%s/server.pem", dir);
    authority = cert_make("a CA", NULL, NULL, -60, 86400);
    own = cert_make("a server", &authority, "IP:127.0.0.1", -60, 86400);
    cert_write(&authority, ca_file);
    cert_write_both(&own, server_file);
    cert_free(&own);
    cert_free(&authority);

    tls_port = redis_free_port();
    (void)snprintf(port, sizeof port, "tls-port %d", tls_port);
    (void)snprintf(cert, sizeof cert, "tls-cert-file %s", server_file);
    (void)snprintf(key, sizeof key, "tls-key-file %s", server_file);
    (void)snprintf(ca, sizeof ca, "tls-ca-cert-file %s", ca_file);
    options.config = config;
    server = redis_server_start(&options);
    return server != NULL ? 0 : redis_skip();
}

static bool fresh(char url[BACKEND_URL_MAX])
{
    if (!redis_do_ok(server, "FLUSHALL", NULL)) {
        (void)fprintf(stderr, "%s\n", redis_reason());
        return false;
    }
    (void)snprintf(url, BACKEND_URL_MAX, "rediss://127.0.0.1:%d?ca=%s", tls_port, ca_file);
    return true;
}

static void stop(void)
{
    redis_server_stop(server);
    (void)unlink(ca_file);
    (void)unlink(server_file);
    (void)rmdir(dir);
}

static size_t left(const char *url)
{
    (void)url;
    return redis_server_keys(server);
}

/* The tests treat it as the same store. */
const struct backend under_test = { "redis", true, true, start, fresh,
                                    stop,    NULL, left, false, budget_slow };
