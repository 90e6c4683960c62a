/* SPDX-License-Identifier: MIT */
/*
 * /metrics by libmicrohttpd, in the loop of the server: its descriptor is polled with the others.
 *
 *   GET /metrics                      metrics of the server, and of the scopes of the store
 *   GET /metrics?noun=queue           … of the scopes of a noun
 *   GET /metrics?scope=number/sales   … of this scope
 *
 * The connection is suspended until its scrape (scrape.c) has read the scopes.
 *
 * A request is answered only if its Host is a name of this machine: a page of another site that has
 * its name resolved to 127.0.0.1 (DNS rebinding) sends its own.
 */
#include "config.h"

#include "serve/serve.h"

#ifdef HAVE_LIBMICROHTTPD

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parse/parse.h"
#include "serve/scope_metrics.h"

#define CONNECTIONS_MAX 16
#define CONNECTION_BYTES                                                    \
    ((size_t)524288) /* SERVE_SCOPES_MAX names of any length, and MHD's own \
                      */
#define PATIENCE_MS 10000

/* A connection is for one request, and is closed after PATIENCE_MS even if it is not idle: as many
 * slow clients as there may be connections delay others for that time at most. */
struct connection {
    bool open;
    int fd;
    int64_t until_ms; /* INT64_MAX: it was shut down */
    struct MHD_Connection *handle;
    struct page *page; /* of the request; NULL: none */
    bool suspended;
};

struct http {
    struct MHD_Daemon *daemon;
    int fd;
    struct connection of[CONNECTIONS_MAX];
    char address[160]; /* it listens there, HOST:PORT */
    char named[160];   /* as --http has it */
};

/* ---- requests ----------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *text,
                              size_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "text/plain; version=0.0.4; charset=utf-8");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

/* @host without its port is @name without its port. */
static bool is_named(const char *host, const char *name)
{
    size_t size =
        *host == '[' ? strcspn(host, "]") + (strchr(host, ']') != NULL) : strcspn(host, ":");
    size_t whole = *name == '[' ? strcspn(name, "]") + 1 : strcspn(name, ":");

    return size == whole && strncasecmp(host, name, size) == 0 &&
           (host[size] == '\0' || (host[size] == ':' && strspn(host + size + 1, "0123456789") ==
                                                            strlen(host + size + 1)));
}

static bool is_host_of(const struct http *h, const char *host)
{
    return host != NULL &&
           (is_named(host, "localhost") || is_named(host, "127.0.0.1") || is_named(host, "[::1]") ||
            is_named(host, h->address) || is_named(host, h->named));
}

struct request {
    struct scrape *scrape;
    char fault[160]; /* "": none */
};

static void fault(struct request *r, const char *word, const char *why)
{
    char quoted[PARSE_QUOTE_MAX];

    (void)snprintf(r->fault, sizeof r->fault, "`%s` %s\n", usher__quote(quoted, word), why);
}

/* An argument of the request. */
static enum MHD_Result argument(void *payload, enum MHD_ValueKind kind, const char *key,
                                size_t key_size, const char *word, size_t size)
{
    struct request *r = payload;
    bool noun = key_size == 4 && strcmp(key, "noun") == 0;
    const char *why;

    (void)kind;
    if (!noun && (key_size != 5 || strcmp(key, "scope") != 0)) {
        fault(r, key, "is not an argument: use scope=NOUN/NAME or noun=NOUN");
        return MHD_NO;
    }
    if (word == NULL) {
        word = "";
        size = 0;
    }
    why = noun ? usher__scrape_list(r->scrape, word) : usher__scrape_add(r->scrape, word, size);
    if (why != NULL)
        fault(r, word, why);
    return why == NULL ? MHD_YES : MHD_NO;
}

static enum MHD_Result page(struct server *s, struct MHD_Connection *connection,
                            struct connection *c)
{
    struct out text = { NULL, 0, 0, 0 };
    enum MHD_Result result;

    usher__figures_metrics(s->cli->engine, &s->figures, &text);
    usher__page_print(c->page, &text);
    result = answer(connection, MHD_HTTP_OK, text.data, usher__out_size(&text));
    usher__out_done(&text);
    usher__page_free(c->page);
    c->page = NULL;
    return result;
}

static enum MHD_Result metrics(struct server *s, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *c = info != NULL ? info->socket_context : NULL;
    struct page *g;
    struct request r;

    if (c == NULL)
        return MHD_NO;
    if (c->page != NULL)
        return page(s, connection, c);
    r.fault[0] = '\0';
    g = usher__page_new(s, c);
    r.scrape = usher__page_scrape(g);
    (void)MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, argument, &r);
    if (r.fault[0] != '\0') {
        usher__page_free(g);
        return answer(connection, MHD_HTTP_BAD_REQUEST, r.fault, strlen(r.fault));
    }
    c->handle = connection;
    c->page = g;
    usher__scrape_begin(r.scrape);
    if (usher__scrape_done(r.scrape))
        return page(s, connection, c);
    MHD_suspend_connection(connection);
    c->suspended = true;
    return MHD_YES;
}

void usher__serve_http_resume(void *owner)
{
    struct connection *c = owner;

    c->suspended = false;
    MHD_resume_connection(c->handle);
}

static enum MHD_Result request(void *payload, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *data_size /* NOLINT(readability-non-const-parameter) */,
                               void **state)
{
    static const char nothing[] = "not found: only /metrics is served\n", no_way[] = "only GET\n",
                      stranger[] = "the Host of the request is not this machine\n";
    struct server *s = payload;

    (void)version;
    (void)data;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return *data_size != 0
                   ? MHD_NO
                   : answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, no_way, sizeof no_way - 1);
    if (*state == NULL) { /* its head has come; the answer is to the whole */
        *state = s;
        return MHD_YES;
    }
    if (!is_host_of(s->http,
                    MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return answer(connection, MHD_HTTP_FORBIDDEN, stranger, sizeof stranger - 1);
    if (strcmp(url, "/metrics") != 0)
        return answer(connection, MHD_HTTP_NOT_FOUND, nothing, sizeof nothing - 1);
    return metrics(s, connection);
}

/* ---- connections -------------------------------------------------------------------------- */

static void connection(void *payload, struct MHD_Connection *connection, void **state,
                       enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info;
    struct http *h = payload;
    struct connection *c = *state;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (c == NULL)
            return;
        usher__page_free(c->page);
        c->page = NULL;
        c->open = false;
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (c = h->of; info != NULL && c < h->of + CONNECTIONS_MAX; c++) {
        if (c->open)
            continue;
        *c = (struct connection){ .open = true,
                                  .fd = info->connect_fd,
                                  .until_ms = usher__serve_now_ms() + PATIENCE_MS };
        *state = c;
        return;
    }
}

/* MHD closes a connection that is shut down; one that is suspended, when it is resumed. */
static void shut_late(struct http *h)
{
    int64_t now_ms = usher__serve_now_ms();

    for (struct connection *c = h->of; c < h->of + CONNECTIONS_MAX; c++)
        if (c->open && c->until_ms <= now_ms) {
            (void)shutdown(c->fd, SHUT_RDWR);
            c->until_ms = INT64_MAX;
        }
}

/* ---- the loop ----------------------------------------------------------------------------- */

const char *usher__serve_http_open(struct server *s, const char *where)
{
    const union MHD_DaemonInfo *info;
    struct http *h;
    int fd = -1;
    const char *fault = usher__serve_bind(where, &fd);

    if (fault != NULL)
        return fault;
    h = usher__cli_resize(NULL, sizeof *h);
    memset(h, 0, sizeof *h);
    h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, request,
                                 s, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
                                 MHD_OPTION_NOTIFY_CONNECTION, connection, h, MHD_OPTION_END);
    info = h->daemon != NULL ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (info == NULL) {
        if (h->daemon != NULL)
            MHD_stop_daemon(h->daemon);
        (void)close(fd);
        (void)usher__cli_resize(h, 0);
        return "cannot be served by libmicrohttpd";
    }
    h->fd = info->epoll_fd;
    s->http = h;
    (void)snprintf(h->named, sizeof h->named, "%s", where);
    usher__serve_address(fd, h->address, sizeof h->address);
    usher__serve_say("metrics on http://%s/metrics", h->address);
    return NULL;
}

void usher__serve_http_close(struct server *s)
{
    if (s->http == NULL)
        return;
    for (struct connection *c = s->http->of; c < s->http->of + CONNECTIONS_MAX; c++)
        if (c->suspended) {
            (void)shutdown(c->fd, SHUT_RDWR);
            c->suspended = false;
            MHD_resume_connection(c->handle);
        }
    (void)MHD_run(s->http->daemon);
    MHD_stop_daemon(s->http->daemon); /* closes the socket, too */
    s->http = usher__cli_resize(s->http, 0);
}

int usher__serve_http_fd(const struct server *s)
{
    return s->http != NULL ? s->http->fd : -1;
}

int usher__serve_http_timeout(const struct server *s)
{
    int64_t now_ms = usher__serve_now_ms();
    MHD_UNSIGNED_LONG_LONG ms;
    int wait = -1;

    if (s->http == NULL)
        return -1;
    if (MHD_get_timeout(s->http->daemon, &ms) == MHD_YES)
        wait = ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
    for (const struct connection *c = s->http->of; c < s->http->of + CONNECTIONS_MAX; c++) {
        int left = !c->open || c->until_ms == INT64_MAX ? -1
                   : c->until_ms > now_ms               ? (int)(c->until_ms - now_ms)
                                                        : 0;

        if (left >= 0 && (wait < 0 || left < wait))
            wait = left;
    }
    return wait;
}

static unsigned connections(const struct http *h)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info != NULL ? info->num_connections : 0;
}

/* With as many connections as there may be, MHD takes the listening socket out of its epoll set,
 * and puts it back at the beginning of a run: so there is another run after one that closed some.
 */
void usher__serve_http_run(struct server *s)
{
    unsigned before;

    if (s->http == NULL)
        return;
    shut_late(s->http);
    do {
        before = connections(s->http);
        (void)MHD_run(s->http->daemon);
    } while (connections(s->http) < before);
}

#else

void usher__serve_http_resume(void *owner)
{
    (void)owner;
}

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

#endif
