/* SPDX-License-Identifier: MIT */
/*
 * /metrics by libmicrohttpd, in the loop of the server: its descriptor is polled with the others.
 *
 *   GET /metrics                      metrics of the server
 *   GET /metrics?scope=number/sales   and of scopes, as `stats` (or `show`, `check`) has them
 *
 * A request is answered only if its Host is a name of this machine: a page of another site that has
 * its name resolved to 127.0.0.1 (DNS rebinding) sends its own.
 */
#include "config.h"

#include "serve/serve.h"

#ifdef HAVE_LIBMICROHTTPD

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <usher/command.h>

#include "core/text.h"
#include "core/verbs.h"

#define SCOPES_MAX 1000
#define CONNECTIONS_MAX 16
#define CONNECTION_BYTES ((size_t)524288) /* SCOPES_MAX names of any length, and what MHD needs */
#define PATIENCE_MS 10000

/* A connection is for one request, and is closed after PATIENCE_MS even if it is not idle: as many
 * slow clients as there may be connections delay others for that time at most. */
struct connection {
    bool open;
    int fd;
    int64_t until_ms;
};

struct http {
    struct MHD_Daemon *daemon;
    int fd;
    struct connection of[CONNECTIONS_MAX];
    char address[160]; /* it listens there, HOST:PORT */
    char named[160];   /* as --http has it */
};

/* ---- scopes ------------------------------------------------------------------------------- */

/* The verb with statistics of @scope, which is NOUN/NAME.  0: it is not. */
static uint32_t verb_of(const char *scope)
{
    const char *slash = strchr(scope, '/');
    const struct usher__noun *noun;

    for (unsigned i = 0; slash != NULL && (noun = usher__noun_at(i)) != NULL; i++)
        if (!noun->hidden && strlen(noun->word) == (size_t)(slash - scope) &&
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
    bool done = USHER_IS_DONE(reply->status);

    if (done || reply->status == USHER_MISSING)
        figure(to, scope, "there", done);
    else /* whether it is there is not known */
        figure(to, scope, "failed", 1);
    if (!done)
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
    size_t n;
    struct usher_command commands[SCOPES_MAX];
    const char *words[SCOPES_MAX];
    struct usher_reply *replies[SCOPES_MAX];
    char fault[160]; /* what is wrong with the request; "": nothing */
};

static void fault(struct asking *a, const char *word, const char *why)
{
    char quoted[PARSE_QUOTE_MAX];

    if (a->fault[0] == '\0')
        (void)snprintf(a->fault, sizeof a->fault, "`%s` %s\n", usher__quote(quoted, word), why);
}

/* An argument of the request. */
static enum MHD_Result scope(void *payload, enum MHD_ValueKind kind, const char *key,
                             size_t key_size, const char *word, size_t size)
{
    struct asking *a = payload;
    const char *slash = word != NULL ? strchr(word, '/') : NULL;
    uint32_t verb = slash != NULL ? verb_of(word) : 0;

    (void)kind;
    if (key_size != 5 || strcmp(key, "scope") != 0)
        fault(a, key, "is not an argument: use scope=NOUN/NAME");
    else if (verb == 0)
        fault(a, word != NULL ? word : "", "is not a scope: write NOUN/NAME, as in number/sales");
    else if (strlen(word) != size || usher__scope_fault(slash + 1, strlen(slash + 1)) != NULL)
        fault(a, word, "is not a scope: its name is invalid");
    else if (a->n == SCOPES_MAX)
        fault(a, word, "is one scope too many (limit 1000)");
    else {
        a->commands[a->n] = (struct usher_command){ verb, USHER_TO_NUL, slash + 1, NULL, 0, NULL };
        a->words[a->n++] = word;
    }
    return a->fault[0] == '\0' ? MHD_YES : MHD_NO;
}

/* All of them are one batch. */
static void scopes(struct server *s, struct asking *a, struct out *to)
{
    usher__out_print(to, "# HELP usher_scope Figures of a scope.\n"
                         "# TYPE usher_scope gauge\n");
    (void)usher_execute(s->cli->engine, a->commands, a->n, 0, a->replies);
    for (size_t i = 0; i < a->n; i++) {
        if (a->replies[i] != NULL)
            figures(to, a->words[i], a->replies[i]);
        else
            figure(to, a->words[i], "failed", 1);
        usher_reply_done(a->replies[i]);
    }
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

static enum MHD_Result metrics(struct server *s, struct MHD_Connection *connection)
{
    struct asking *a = usher__cli_resize(NULL, sizeof *a);
    struct out text = { NULL, 0, 0, 0 };
    enum MHD_Result result;

    memset(a, 0, sizeof *a);
    (void)MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, scope, a);
    if (a->fault[0] != '\0') {
        result = answer(connection, MHD_HTTP_BAD_REQUEST, a->fault, strlen(a->fault));
    } else {
        usher__figures_metrics(&s->figures, &text);
        if (a->n > 0)
            scopes(s, a, &text);
        result = answer(connection, MHD_HTTP_OK, text.data, usher__out_size(&text));
        usher__out_done(&text);
    }
    (void)usher__cli_resize(a, 0);
    return result;
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
        if (c != NULL)
            c->open = false;
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (c = h->of; info != NULL && c < h->of + CONNECTIONS_MAX; c++) {
        if (c->open)
            continue;
        *c = (struct connection){ true, info->connect_fd, usher__serve_now_ms() + PATIENCE_MS };
        *state = c;
        return;
    }
}

/* MHD closes a connection that is shut down. */
static void shut_late(const struct http *h)
{
    int64_t now_ms = usher__serve_now_ms();

    for (const struct connection *c = h->of; c < h->of + CONNECTIONS_MAX; c++)
        if (c->open && c->until_ms <= now_ms)
            (void)shutdown(c->fd, SHUT_RDWR);
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
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, request, s, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION, connection, h, MHD_OPTION_END);
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
        int left = !c->open ? -1 : c->until_ms > now_ms ? (int)(c->until_ms - now_ms) : 0;

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
