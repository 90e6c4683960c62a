/* SPDX-License-Identifier: MIT */
/* No metrics yet. */
#include "config.h"

#include "serve/serve.h"
const char *usher__serve_http_open(struct server *s, const char *where)
{
    (void)s;
    (void)where;
    return "needs libmicrohttpd, which this program is built without";
}
void usher__serve_http_close(struct server *s)
{
    (void)s;
}
int usher__serve_http_fd(const struct server *s)
{
    (void)s;
    return -1;
}
int usher__serve_http_timeout(const struct server *s)
{
    (void)s;
    return -1;
}
void usher__serve_http_run(struct server *s)
{
    (void)s;
}
