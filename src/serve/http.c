/* SPDX-License-Identifier: MIT */
/*
 * HTTP by libmicrohttpd, in the loop of the server: its descriptor is polled with the others.
 *
 *   GET /                               the wallboard (wallboard.html), which shows /events
 *   GET /metrics                        metrics of the server, and of the scopes of the store
 *   GET /metrics?noun=queue             … of the scopes of a noun
 *   GET /metrics?scope=number/sales     … of this scope
 *
 *   GET /state.json                     the state of the scopes (viewer.c)
 *   GET /state.json?only=queue,room/x   … of a noun and a scope
 *   GET /events                         the same as a stream, and its changes; only= as well
 *
 * The connection is suspended until its scrape (scrape.c) has read the scopes, and a stream while
 * there is nothing to send.
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
#include "serve/state.h"
#include "serve/wallboard.h"

#define CONNECTIONS_MAX 16 /* and those of viewers */
#define CONNECTION_BYTES                                                    \
    ((size_t)524288) /* SERVE_SCOPES_MAX names of any length, and MHD's own \
                      */
#define PATIENCE_MS 10000
#define STATE_PATIENCE_MS 60000 /* a list and two passes of commands */
#define STREAM_PIECE ((size_t)16384)
#define STREAM_BUFFER 131072 /* bytes of a stream that the system keeps */
#define TEXT "text/plain; version=0.0.4; charset=utf-8"

/* A connection is for one request, and is closed after PATIENCE_MS even if it is not idle: as many
 * slow clients as there may be connections delay others for that time at most. */
struct connection {
    bool open;
    int fd;
    int64_t until_ms; /* INT64_MAX: it was shut down */
    struct MHD_Connection *handle;
    struct page *page;     /* of the request; NULL: none */
    struct viewer *viewer; /* likewise */
    bool suspended;
    bool ending; /* a stream: the server ends */
};

struct http {
    struct MHD_Daemon *daemon;
    int fd;
    struct connection *of;
    size_t n_of;
    char address[160]; /* it listens there, HOST:PORT */
    char named[160];   /* as --http has it */
};

/* ---- requests ----------------------------------------------------------------------------- */

#define NO_CONTENT "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned code, const char *type,
                               const char *policy, struct MHD_Response *response)
{
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Content-Security-Policy", policy);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (code == MHD_HTTP_SERVICE_UNAVAILABLE)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "5");
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const char *text, size_t size)
{
    return respond(
        connection, code, type, NO_CONTENT,
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
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
    struct scrape *scrape; /* of /metrics, or … */
    struct viewer *viewer; /* … of the others */
    char fault[160];       /* "": none */
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
    result = answer(connection, MHD_HTTP_OK, TEXT, text.data, usher__out_size(&text));
    usher__out_done(&text);
    usher__page_free(c->page);
    c->page = NULL;
    return result;
}

/* The answer comes later. */
static enum MHD_Result suspend(struct MHD_Connection *connection, struct connection *c)
{
    MHD_suspend_connection(connection);
    c->suspended = true;
    return MHD_YES;
}

static enum MHD_Result metrics(struct server *s, struct MHD_Connection *connection,
                               struct connection *c)
{
    struct page *g;
    struct request r;

    if (c->page != NULL)
        return page(s, connection, c);
    r.fault[0] = '\0';
    g = usher__page_new(s, c);
    r.scrape = usher__page_scrape(g);
    (void)MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, argument, &r);
    if (r.fault[0] != '\0') {
        usher__page_free(g);
        return answer(connection, MHD_HTTP_BAD_REQUEST, TEXT, r.fault, strlen(r.fault));
    }
    c->page = g;
    usher__scrape_begin(r.scrape);
    if (usher__scrape_done(r.scrape))
        return page(s, connection, c);
    return suspend(connection, c);
}

void usher__serve_http_resume(void *owner)
{
    struct connection *c = owner;

    if (!c->suspended)
        return;
    c->suspended = false;
    MHD_resume_connection(c->handle);
}

void usher__serve_http_shut(void *owner)
{
    struct connection *c = owner;

    (void)shutdown(c->fd, SHUT_RDWR);
    usher__serve_http_resume(c);
}

/* ---- viewers ------------------------------------------------------------------------------ */

/* An argument of the request. */
static enum MHD_Result only(void *payload, enum MHD_ValueKind kind, const char *key,
                            size_t key_size, const char *word, size_t size)
{
    struct request *r = payload;
    char wrong[USHER_NAME_MAX + 1];
    const char *why;

    (void)kind;
    if (key_size != 4 || strcmp(key, "only") != 0) {
        fault(r, key, "is not an argument: use only=NOUN,NOUN/NAME");
        return MHD_NO;
    }
    why = usher__viewer_only(r->viewer, word != NULL ? word : "", word != NULL ? size : 0, wrong);
    if (why != NULL)
        fault(r, wrong, why);
    return why == NULL ? MHD_YES : MHD_NO;
}

/* Return the next bytes of a stream. */
static ssize_t events(void *payload, uint64_t place, char *to, size_t size)
{
    struct connection *c = payload;
    size_t n = usher__viewer_take(c->viewer, to, size < STREAM_PIECE ? size : STREAM_PIECE);

    (void)place;
    if (n > 0)
        return (ssize_t)n;
    if (c->ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    (void)suspend(c->handle, c);
    return 0;
}

static enum MHD_Result stream(struct MHD_Connection *connection, struct connection *c)
{
    int size = STREAM_BUFFER;

    c->until_ms = INT64_MAX;
    (void)setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return respond(
        connection, MHD_HTTP_OK, "text/event-stream", NO_CONTENT,
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, events, c, NULL));
}

static enum MHD_Result state(struct MHD_Connection *connection, struct connection *c)
{
    size_t size;
    const char *json = usher__viewer_json(c->viewer, &size);

    return answer(connection, MHD_HTTP_OK, "application/json", json, size);
}

/* Answer with the state, @once or as a stream; without a body if the method is HEAD. */
static enum MHD_Result view(struct server *s, struct MHD_Connection *connection,
                            struct connection *c, bool once, bool head)
{
    static const char full[] = "there are as many streams of events as may be (limit --viewers)\n",
                      ends[] = "the server ends\n";
    struct request r;

    if (c->viewer != NULL && !usher__viewer_has(c->viewer))
        return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, TEXT, ends, sizeof ends - 1);
    if (c->viewer != NULL)
        return state(connection, c);
    r.fault[0] = '\0';
    r.viewer = usher__viewer_new(s, c, once);
    (void)MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, only, &r);
    if (r.fault[0] != '\0') {
        usher__viewer_free(r.viewer);
        return answer(connection, MHD_HTTP_BAD_REQUEST, TEXT, r.fault, strlen(r.fault));
    }
    if (head) {
        usher__viewer_free(r.viewer);
        return answer(connection, MHD_HTTP_OK, once ? "application/json" : "text/event-stream", "",
                      0);
    }
    if (!usher__viewer_begin(r.viewer)) {
        usher__viewer_free(r.viewer);
        return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, TEXT, full, sizeof full - 1);
    }
    c->viewer = r.viewer;
    if (!once)
        return stream(connection, c);
    c->until_ms = usher__serve_now_ms() + STATE_PATIENCE_MS;
    return usher__viewer_has(c->viewer) ? state(connection, c) : suspend(connection, c);
}

static enum MHD_Result wallboard(struct MHD_Connection *connection)
{
    return respond(connection, MHD_HTTP_OK, "text/html; charset=utf-8", WALLBOARD_POLICY,
                   MHD_create_response_from_buffer(usher__wallboard_size,
                                                   (void *)(uintptr_t)usher__wallboard,
                                                   MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result request(void *payload, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *data_size /* NOLINT(readability-non-const-parameter) */,
                               void **state)
{
    static const char nothing[] = "not found: /, /metrics, /state.json and /events are served\n",
                      no_way[] = "only GET\n",
                      stranger[] = "the Host of the request is not this machine\n";
    struct server *s = payload;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *c = info != NULL ? info->socket_context : NULL;

    (void)version;
    (void)data;
    if (c == NULL)
        return MHD_NO;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return *data_size != 0 ? MHD_NO
                               : answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, TEXT, no_way,
                                        sizeof no_way - 1);
    if (*state == NULL) { /* its head has come; the answer is to the whole */
        *state = s;
        return MHD_YES;
    }
    if (!is_host_of(s->http,
                    MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return answer(connection, MHD_HTTP_FORBIDDEN, TEXT, stranger, sizeof stranger - 1);
    c->handle = connection;
    if (strcmp(url, "/metrics") == 0)
        return metrics(s, connection, c);
    if (strcmp(url, "/state.json") == 0 || strcmp(url, "/events") == 0)
        return view(s, connection, c, url[1] == 's', strcmp(method, MHD_HTTP_METHOD_HEAD) == 0);
    if (strcmp(url, "/") == 0)
        return wallboard(connection);
    return answer(connection, MHD_HTTP_NOT_FOUND, TEXT, nothing, sizeof nothing - 1);
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
        usher__viewer_free(c->viewer);
        c->page = NULL;
        c->viewer = NULL;
        c->open = false;
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (c = h->of; info != NULL && c < h->of + h->n_of; c++) {
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

    for (struct connection *c = h->of; c < h->of + h->n_of; c++)
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
    h->n_of = CONNECTIONS_MAX + s->limits.viewers;
    h->of = usher__cli_resize(NULL, h->n_of * sizeof *h->of);
    memset(h->of, 0, h->n_of * sizeof *h->of);
    h->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, request, s,
                         MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)h->n_of, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
                         MHD_OPTION_NOTIFY_CONNECTION, connection, h, MHD_OPTION_END);
    info = h->daemon != NULL ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (info == NULL) {
        if (h->daemon != NULL)
            MHD_stop_daemon(h->daemon);
        (void)close(fd);
        (void)usher__cli_resize(h->of, 0);
        (void)usher__cli_resize(h, 0);
        return "cannot be served by libmicrohttpd";
    }
    h->fd = info->epoll_fd;
    s->http = h;
    (void)snprintf(h->named, sizeof h->named, "%s", where);
    usher__serve_address(fd, h->address, sizeof h->address);
    usher__serve_say("http://%s/ is the wallboard; /metrics, /state.json and /events", h->address);
    return NULL;
}

void usher__serve_http_close(struct server *s)
{
    if (s->http == NULL)
        return;
    for (struct connection *c = s->http->of; c < s->http->of + s->http->n_of; c++)
        if (c->open) {
            c->ending = true;
            usher__serve_http_shut(c);
        }
    (void)MHD_run(s->http->daemon);
    MHD_stop_daemon(s->http->daemon); /* closes the socket, too */
    (void)usher__cli_resize(s->http->of, 0);
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
    if (MHD_get_timeout(s->http->daemon, &ms) == MHD_YES && (wait < 0 || ms < (unsigned)wait))
        wait = ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
    for (const struct connection *c = s->http->of; c < s->http->of + s->http->n_of; c++) {
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

void usher__serve_http_shut(void *owner)
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
