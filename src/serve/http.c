/* SPDX-License-Identifier: MIT */
/*
 * /metrics by libmicrohttpd, in the loop of the server: its descriptor is polled with the others.
 *
 *   GET /metrics                      figures of the server
 *   GET /metrics?scope=number/sales   and of scopes, as `stats` (or `show`, `check`) tells them
 */
#include "config.h"

#include "serve/serve.h"

#ifdef HAVE_LIBMICROHTTPD

#include <inttypes.h>
#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

#include <usher/command.h>

#include "core/verbs.h"

#define SCOPES_MAX 64
#define CONNECTIONS_MAX 16
#define PATIENCE_MS 10000

struct http {
    struct MHD_Daemon *daemon;
    int fd;
};

/* ---- scopes ------------------------------------------------------------------------------- */

/* The verb with figures of @scope, which is NOUN/NAME.  0: it is not. */
static uint32_t verb_of(const char *scope)
{
    const char *slash = strchr(scope, '/');
    const struct usher__noun *noun;

    for (unsigned i = 0; slash != NULL && (noun = usher__noun_at(i)) != NULL; i++)
        if (strlen(noun->word) == (size_t)(slash - scope) &&
            strncmp(noun->word, scope, (size_t)(slash - scope)) == 0)
            for (unsigned k = 0; k < noun->n_verbs; k++)
                if ((noun->verbs[k].flags & USHER__FIGURES) != 0)
                    return noun->verbs[k].verb;
    return 0;
}

static void label(struct out *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            usher__out_put(to, "\\", 1);
        usher__out_put(to, *text == '\n' ? " " : text, 1);
    }
}

static void figure(struct out *to, const char *scope, const char *key, int64_t number)
{
    usher__out_print(to, "usher_scope{scope=\"");
    label(to, scope);
    usher__out_print(to, "\",key=\"%s\"} %" PRId64 "\n", key, number);
}

static void figures(struct out *to, const char *scope, const struct usher_reply *reply)
{
    size_t n = 0;
    const struct usher_value *values = usher_reply_values(reply, USHER_ANSWER, &n);

    figure(to, scope, "there", USHER_IS_DONE(reply->status));
    if (!USHER_IS_DONE(reply->status))
        return;
    figure(to, scope, "version", (int64_t)reply->version);
    for (size_t i = 0; i < n; i++) {
        const struct usher_field_about *about = usher_about_field(values[i].field);

        if (about != NULL && about->type != USHER_TYPE_TOKEN && about->type != USHER_TYPE_CODE &&
            about->type < USHER_TYPE_TEXT)
            figure(to, scope, about->word, values[i].number);
    }
}

struct asking {
    struct server *server;
    struct out *to;
    size_t n;
};

static enum MHD_Result scope(void *payload, enum MHD_ValueKind kind, const char *key,
                             const char *word)
{
    struct asking *a = payload;
    struct usher_command command = { 0, USHER_TO_NUL, NULL, NULL, 0, NULL };
    struct usher_reply *reply;

    (void)kind;
    if (strcmp(key, "scope") != 0 || word == NULL || (command.verb = verb_of(word)) == 0 ||
        a->n == SCOPES_MAX)
        return MHD_YES;
    if (a->n++ == 0)
        usher__out_print(a->to, "# HELP usher_scope What a scope tells of itself.\n"
                                "# TYPE usher_scope gauge\n");
    command.scope = strchr(word, '/') + 1;
    (void)usher_execute(a->server->cli->engine, &command, 1, 0, &reply);
    if (reply != NULL)
        figures(a->to, word, reply);
    usher_reply_done(reply);
    return MHD_YES;
}

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
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result request(void *payload, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *data_size /* NOLINT(readability-non-const-parameter) */,
                               void **state)
{
    static const char nothing[] = "there is /metrics\n", no_way[] = "only GET\n";
    struct server *s = payload;
    struct out text = { NULL, 0, 0, 0 };
    struct asking a = { s, &text, 0 };
    enum MHD_Result result;

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
    if (strcmp(url, "/metrics") != 0)
        return answer(connection, MHD_HTTP_NOT_FOUND, nothing, sizeof nothing - 1);
    usher__figures_metrics(&s->figures, &text);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, scope, &a);
    result = answer(connection, MHD_HTTP_OK, text.data, usher__out_size(&text));
    usher__out_done(&text);
    return result;
}

/* ---- the loop ----------------------------------------------------------------------------- */

const char *usher__serve_http_open(struct server *s, const char *where)
{
    const union MHD_DaemonInfo *info;
    char address[160];
    struct http *h;
    int fd = -1;
    const char *fault = usher__serve_bind(where, &fd);

    if (fault != NULL)
        return fault;
    h = usher__cli_resize(NULL, sizeof *h);
    h->daemon =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request, s, MHD_OPTION_LISTEN_SOCKET,
                         (MHD_socket)fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                         MHD_OPTION_CONNECTION_TIMEOUT, PATIENCE_MS / 1000u, MHD_OPTION_END);
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
    usher__serve_address(fd, address, sizeof address);
    usher__serve_say("metrics on http://%s/metrics", address);
    return NULL;
}

void usher__serve_http_close(struct server *s)
{
    if (s->http == NULL)
        return;
    MHD_stop_daemon(s->http->daemon); /* closes the socket, too */
    s->http = usher__cli_resize(s->http, 0);
}

int usher__serve_http_fd(const struct server *s)
{
    return s->http != NULL ? s->http->fd : -1;
}

int usher__serve_http_timeout(const struct server *s)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (s->http == NULL || MHD_get_timeout(s->http->daemon, &ms) != MHD_YES)
        return -1;
    return ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
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
    do {
        before = connections(s->http);
        (void)MHD_run(s->http->daemon);
    } while (connections(s->http) < before);
}

#else

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
