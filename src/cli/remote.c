/* SPDX-License-Identifier: MIT */
/*
 * A client of `usher serve`.  A connection begins with the version of the library, so the server
 * has the same tables of verbs.
 *
 * Each answer has a deadline.  If it passes, or if the server ends or breaks the protocol, the
 * connection is closed, and commands that were sent without an answer are `unknown`.
 */
#include "config.h"

#include "cli/remote_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <usher/store/store.h>

#include "cli/cli.h"
#include "core/verbs.h"
#include "parse/parse.h"

#define LINE_MAX_BYTES ((size_t)65536)
#define TEXT_MAX ((size_t)67108864) /* of an answer: a page of a list has less */
#define VALUES_MAX ((size_t)65536)  /* of an answer with parts */
#define DEPTH_MAX 6
#define READ_BYTES ((size_t)65536)
#define LISTEN_AGAIN_MS 500
#define AHEAD_BYTES ((size_t)65536) /* of commands that are sent before their replies are read */

struct remote {
    int fd, listening; /* listening: the connection of usher__remote_listen(), -1: none */
    int64_t deadline_ms;
    int64_t listen_again_ms; /* after `listening` was lost: not before */
    struct bytes in, out;
    size_t values; /* of the answer that is read */
    struct remote_place place;
    bool sent;                        /* something of a command may have come to the server */
    char message[REMOTE_MESSAGE_MAX]; /* "": the connection is good */
};

static int64_t clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Give the connection up.  Return false. */
static bool broken(struct remote *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool broken(struct remote *r, const char *format, ...)
{
    va_list ap;

    if (r->message[0] == '\0') {
        va_start(ap, format);
        (void)vsnprintf(r->message, sizeof r->message, format, ap);
        va_end(ap);
    }
    if (r->fd >= 0)
        (void)close(r->fd);
    r->fd = -1;
    return false;
}

#define NO_PROTOCOL "the server does not speak the protocol of `usher serve`"

/* ---- bytes -------------------------------------------------------------------------------- */

static bool wait_for(struct remote *r, short events)
{
    int64_t left_ms = r->deadline_ms - clock_ms();
    struct pollfd fd = { .fd = r->fd, .events = events };
    int n = 0;

    while (left_ms > 0 && (n = poll(&fd, 1, left_ms < 60000 ? (int)left_ms : 60000)) <= 0) {
        if (n < 0 && errno != EINTR)
            return broken(r, "%s", strerror(errno));
        left_ms = r->deadline_ms - clock_ms();
    }
    return n > 0 ||
           broken(r, "the server does not answer within %" PRId64 " ms", r->place.timeout_ms);
}

static bool read_more(struct remote *r)
{
    char *at = usher__bytes_space(&r->in, READ_BYTES);
    ssize_t n;

    if (r->fd < 0)
        return false;
    do {
        if (!wait_for(r, POLLIN))
            return false;
        n = recv(r->fd, at, READ_BYTES, 0);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n <= 0)
        return broken(r, "the server closed the connection");
    r->in.end += (size_t)n;
    return true;
}

static bool write_all(struct remote *r)
{
    struct bytes *b = &r->out;

    while (r->fd >= 0 && b->from < b->end) {
        ssize_t n = send(r->fd, b->data + b->from, b->end - b->from, MSG_NOSIGNAL);

        if (n > 0) {
            b->from += (size_t)n;
            r->sent = true;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(r, POLLOUT))
                return false;
        } else if (errno != EINTR) {
            /* the reason may be in what it has sent before it closed */
            break;
        }
    }
    b->from = b->end = 0;
    return r->fd >= 0;
}

/* ---- answers ------------------------------------------------------------------------------ */

/* Read the next line without its end.  It lives until more is read. */
static bool read_line(struct remote *r, char **ret, size_t *ret_size)
{
    size_t seen = 0;

    for (;;) {
        char *begin = r->in.data + r->in.from;
        size_t size = r->in.end - r->in.from;
        char *end = size > seen ? memchr(begin + seen, '\n', size - seen) : NULL;

        if (end != NULL && end > begin && end[-1] == '\r') {
            *ret = begin;
            *ret_size = (size_t)(end - begin) - 1;
            r->in.from += *ret_size + 2;
            begin[*ret_size] = '\0';
            return strlen(begin) == *ret_size || broken(r, NO_PROTOCOL);
        }
        if (end != NULL || size > LINE_MAX_BYTES)
            return broken(r, NO_PROTOCOL);
        seen = size;
        if (!read_more(r))
            return false;
    }
}

static bool keep_text(struct remote_value *v, const char *data, size_t size)
{
    char *copy = usher__cli_resize(NULL, size + 1);

    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    v->text.data = copy;
    v->text.size = size;
    return true;
}

static bool read_text(struct remote *r, struct remote_value *v, size_t size)
{
    while (r->in.end - r->in.from < size + 2)
        if (!read_more(r))
            return false;
    if (memcmp(r->in.data + r->in.from + size, "\r\n", 2) != 0)
        return broken(r, NO_PROTOCOL);
    (void)keep_text(v, r->in.data + r->in.from, size);
    r->in.from += size + 2;
    return true;
}

static bool read_value(struct remote *r, struct remote_value *v, int depth);

static bool read_list(struct remote *r, struct remote_value *v, int64_t n, int depth)
{
    if (n < 0 || (uint64_t)n > VALUES_MAX - r->values || depth == DEPTH_MAX)
        return broken(r, NO_PROTOCOL);
    r->values += (size_t)n;
    v->of = n > 0 ? usher__cli_resize(NULL, (size_t)n * sizeof *v->of) : NULL;
    if (n > 0)
        memset(v->of, 0, (size_t)n * sizeof *v->of);
    v->n = (size_t)n;
    for (size_t i = 0; i < v->n; i++)
        if (!read_value(r, &v->of[i], depth + 1))
            return false;
    return true;
}

static bool read_value(struct remote *r, struct remote_value *v, int depth)
{
    char *line = NULL;
    size_t size = 0;
    int64_t n = 0;
    bool number;

    if (!read_line(r, &line, &size))
        return false;
    if (size == 0)
        return broken(r, NO_PROTOCOL);
    number = usher__parse_int(line + 1, INT64_MIN + 1, INT64_MAX, &n);
    switch (line[0]) {
    case '+':
    case '-':
        v->type = line[0] == '+' ? REMOTE_TEXT : REMOTE_ERROR;
        return keep_text(v, line + 1, size - 1);
    case '_':
        v->type = REMOTE_NULL;
        return size == 1 || broken(r, NO_PROTOCOL);
    case '#':
        v->type = REMOTE_BOOL;
        v->number = line[1] == 't';
        return size == 2 || broken(r, NO_PROTOCOL);
    case ':':
        v->type = REMOTE_INT;
        v->number = n;
        return number || broken(r, NO_PROTOCOL);
    case '$':
        v->type = REMOTE_TEXT;
        if (!number || n < 0 || (uint64_t)n > TEXT_MAX)
            return broken(r, NO_PROTOCOL);
        return read_text(r, v, (size_t)n);
    case '*':
        v->type = REMOTE_LIST;
        return number ? read_list(r, v, n, depth) : broken(r, NO_PROTOCOL);
    case '%':
        v->type = REMOTE_MAP;
        return number && n >= 0 && n <= (int64_t)VALUES_MAX ? read_list(r, v, 2 * n, depth)
                                                            : broken(r, NO_PROTOCOL);
    default:
        return broken(r, NO_PROTOCOL);
    }
}

void usher__remote_value_free(struct remote_value *v)
{
    for (size_t i = 0; i < v->n; i++)
        usher__remote_value_free(&v->of[i]);
    (void)usher__cli_resize(v->of, 0);
    (void)usher__cli_resize((void *)(uintptr_t)v->text.data, 0);
    memset(v, 0, sizeof *v);
}

const struct remote_value *usher__remote_get(const struct remote_value *v, const char *key,
                                             int type)
{
    for (size_t i = 0; i + 1 < v->n; i += 2)
        if (v->of[i].type == REMOTE_TEXT && strcmp(v->of[i].text.data, key) == 0)
            return (int)v->of[i + 1].type == type ? &v->of[i + 1] : NULL;
    return NULL;
}

static bool read_answer(struct remote *r, struct remote_value *v)
{
    memset(v, 0, sizeof *v);
    r->values = 0;
    if (r->fd >= 0 && read_value(r, v, 0))
        return true;
    usher__remote_value_free(v);
    return false;
}

/* The status of the first word of an error, in capitals; 0: it is none of the store. */
static enum usher_status error_status(const char *error, const char **ret_message)
{
    static const enum usher_status statuses[] = {
#define USHER__S(name, code, word, text) USHER_##name,
        USHER_STATUS_MAP(USHER__S)
#undef USHER__S
    };
    size_t size = strcspn(error, " ");

    *ret_message = error + size + (error[size] == ' ');
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        const char *word = usher_status_word(statuses[i]);
        size_t k = 0;

        while (k < size && word[k] != '\0' && (char)(word[k] - 'a' + 'A') == error[k])
            k++;
        if (k == size && word[k] == '\0' && USHER_CLASS_OF(statuses[i]) >= USHER_CLASS_WRONG)
            return statuses[i];
    }
    *ret_message = error;
    return USHER_REFUSED;
}

/* ---- connecting --------------------------------------------------------------------------- */

/* Give the connection up, because of errno. */
static enum usher_status fail(struct remote *r)
{
    const char *what = r->place.what;
    int error = errno;

    if (error == ENOENT || error == ECONNREFUSED)
        (void)broken(r, "no server listens on %.80s: `usher serve --listen=%s…` starts one", what,
                     r->place.file ? "unix:" : "");
    else if (error == EACCES)
        (void)broken(r, "%.80s: permission denied: this user may not connect", what);
    else
        (void)broken(r, "%.80s: %s", what, strerror(error));
    return USHER_UNAVAILABLE;
}

/* Wait for the end of connect().  Return 0, or the error. */
static int connected(int fd, int64_t left_ms)
{
    struct pollfd one = { .fd = fd, .events = POLLOUT };
    int error = 0;
    socklen_t size = sizeof error;

    if (poll(&one, 1, left_ms > 0 ? (int)left_ms : 0) <= 0)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

/* Return a descriptor, or -1 with errno. */
static int connect_to(const struct remote *r)
{
    int fd = socket(r->place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, error = 0;

    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (connect(fd, (const struct sockaddr *)(const void *)&r->place.address, r->place.size) !=
           0) {
        int64_t left_ms = r->deadline_ms - clock_ms();

        error = errno;
        if (error != EAGAIN || left_ms <= 0) {
            error = error == EINPROGRESS || error == EINTR ? connected(fd, left_ms) : error;
            break;
        }
        (void)poll(NULL, 0, 10); /* of a socket file: as many wait as may wait */
        error = 0;
    }
    if (error == 0)
        return fd;
    (void)close(fd);
    errno = error;
    return -1;
}

/* HELLO 3, and packed answers. */
static enum usher_status greet(struct remote *r)
{
    struct remote_value v;
    const struct remote_value *server;
    enum usher_status status = USHER_OK;
    const char *message;
    bool is_usher;

    if (r->place.secret[0] != '\0') {
        usher__bytes_put(&r->out,
                         "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n");
        usher__bytes_word(&r->out, r->place.secret, strlen(r->place.secret));
    } else {
        usher__bytes_put(&r->out, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
    }
    usher__bytes_put(&r->out, "*3\r\n$6\r\nCLIENT\r\n$6\r\nPACKED\r\n");
    usher__bytes_word(&r->out, usher_version(), strlen(usher_version()));
    (void)write_all(r);
    if (!read_answer(r, &v))
        return USHER_UNAVAILABLE;
    server = usher__remote_get(&v, "server", REMOTE_TEXT);
    is_usher = server != NULL && strcmp(server->text.data, "usher") == 0;
    if (v.type == REMOTE_ERROR && strncmp(v.text.data, "NOAUTH", 6) == 0)
        (void)broken(r, "the server requires a password: add ?password-file=FILE to the URL");
    else if (v.type == REMOTE_ERROR && strncmp(v.text.data, "WRONGPASS", 9) == 0)
        (void)broken(r, "the server refuses the password of password-file");
    else if (v.type == REMOTE_ERROR && strncmp(v.text.data, "ERR max", 7) == 0)
        (void)broken(r, "the server has as many clients as it may (limit --clients=)");
    else if (v.type == REMOTE_ERROR && strncmp(v.text.data, "ERR no password", 15) == 0)
        (void)broken(r, "the server has no password: remove password-file from the URL");
    else if (!is_usher)
        (void)broken(r, NO_PROTOCOL);
    usher__remote_value_free(&v);
    if (r->fd < 0 || !read_answer(r, &v))
        return USHER_UNAVAILABLE;
    if (v.type == REMOTE_ERROR) {
        status = USHER_UNAVAILABLE;
        (void)error_status(v.text.data, &message);
        (void)broken(r, "this is usher %s, and %.100s", usher_version(),
                     strncmp(message, "NOPROTO ", 8) == 0 ? message + 8 : NO_PROTOCOL);
    }
    usher__remote_value_free(&v);
    r->sent = false;
    return status;
}

static struct remote *new_remote(void)
{
    struct remote *r = usher__cli_resize(NULL, sizeof *r);

    memset(r, 0, sizeof *r);
    r->fd = r->listening = -1;
    return r;
}

enum usher_status usher__remote_open(const char *url, struct remote **ret,
                                     char message[REMOTE_MESSAGE_MAX])
{
    struct remote *r = new_remote();
    enum usher_status status = USHER_INVALID;
    const char *fault = usher__remote_place(url, &r->place);

    *ret = NULL;
    if (fault != NULL) {
        (void)snprintf(message, REMOTE_MESSAGE_MAX, "the URL of the server %s", fault);
    } else {
        r->deadline_ms = clock_ms() + r->place.timeout_ms;
        r->fd = connect_to(r);
        status = r->fd >= 0 ? greet(r) : fail(r);
        (void)snprintf(message, REMOTE_MESSAGE_MAX, "%s", r->message);
    }
    if (status != USHER_OK) {
        usher__remote_close(r);
        return status;
    }
    *ret = r;
    return USHER_OK;
}

void usher__remote_close(struct remote *r)
{
    if (r == NULL)
        return;
    if (r->fd >= 0)
        (void)close(r->fd);
    if (r->listening >= 0)
        (void)close(r->listening);
    (void)usher__cli_resize(r->in.data, 0);
    (void)usher__cli_resize(r->out.data, 0);
    (void)usher__cli_resize(r, 0);
}

/* ---- commands ----------------------------------------------------------------------------- */

/* Make a reply of a failure. */
static struct usher_reply *failure(const struct usher_operation *op, enum usher_status status,
                                   const char *message)
{
    struct usher_result result;

    memset(&result, 0, sizeof result);
    result.status = status;
    result.noun = (enum usher_noun)((unsigned)op->verb >> 8);
    result.due_ms = USHER_NEVER;
    (void)snprintf(result.message, sizeof result.message, "%s", message);
    return usher_reply_of(op, &result);
}

/* Return the reply that @v is to @op, or NULL if it is none. */
static struct usher_reply *reply_of(const struct usher_operation *op, const struct remote_value *v)
{
    struct usher_reply *reply = NULL;
    const char *message;
    enum usher_status status;

    if (v->type == REMOTE_ERROR) {
        status = error_status(v->text.data, &message);
        return failure(op, status, message);
    }
    if (v->type != REMOTE_TEXT ||
        usher_reply_unpack((const unsigned char *)v->text.data, v->text.size, &reply) != USHER_OK)
        return NULL;
    if (reply->verb == (uint32_t)op->verb)
        return reply;
    usher_reply_done(reply);
    return NULL;
}

static struct usher_reply *read_reply(struct remote *r, const struct usher_operation *op)
{
    struct usher_reply *reply = NULL;
    struct remote_value v;

    r->deadline_ms = clock_ms() + r->place.timeout_ms;
    if (read_answer(r, &v)) {
        reply = reply_of(op, &v);
        usher__remote_value_free(&v);
        if (reply == NULL)
            (void)broken(r, NO_PROTOCOL);
    }
    return reply != NULL ? reply
                         : failure(op, r->sent ? USHER_UNKNOWN : USHER_UNAVAILABLE, r->message);
}

void usher__remote_execute(struct remote *r, const struct usher_operation *commands,
                           struct usher_reply **ret_replies, size_t n)
{
    size_t sent = 0;

    for (size_t i = 0; i < n; i++) {
        if (sent == i) { /* both ends could wait for the other to read, if all were sent */
            while (sent < n && r->out.end < AHEAD_BYTES)
                usher__bytes_command(&r->out, &commands[sent++]);
            r->deadline_ms = clock_ms() + r->place.timeout_ms;
            r->sent = false;
            (void)write_all(r);
        }
        ret_replies[i] = read_reply(r, &commands[i]);
    }
}

static bool has_keys(const struct remote_value *v, const char *const *keys)
{
    bool all = v->type == REMOTE_MAP;

    for (; all && *keys != NULL; keys++) {
        all = false;
        for (size_t i = 0; i + 1 < v->n; i += 2)
            all = all || (v->of[i].type == REMOTE_TEXT && strcmp(v->of[i].text.data, *keys) == 0);
    }
    return all;
}

enum usher_status usher__remote_ask(struct remote *r, const char *const *words, size_t n,
                                    int64_t long_ms, const char *const *needs,
                                    struct remote_value *ret, char message[REMOTE_MESSAGE_MAX])
{
    enum usher_status status = USHER_OK;
    const char *text;
    char head[32];

    (void)snprintf(head, sizeof head, "*%zu\r\n", n);
    usher__bytes_put(&r->out, head);
    for (size_t i = 0; i < n; i++)
        usher__bytes_word(&r->out, words[i], strlen(words[i]));
    r->deadline_ms = clock_ms() + (long_ms != 0 ? long_ms : r->place.timeout_ms);
    r->sent = false;
    (void)write_all(r);
    if (long_ms != 0 && (r->in.from < r->in.end || read_more(r)))
        /* the answer has begun: its rest comes soon */
        r->deadline_ms = clock_ms() + r->place.timeout_ms;
    if (!read_answer(r, ret)) {
        (void)snprintf(message, REMOTE_MESSAGE_MAX, "%s", r->message);
        return r->sent ? USHER_UNKNOWN : USHER_UNAVAILABLE;
    }
    if (ret->type == REMOTE_ERROR) {
        status = error_status(ret->text.data, &text);
        (void)snprintf(message, REMOTE_MESSAGE_MAX, "%s", text);
    } else if (!has_keys(ret, needs)) {
        (void)broken(r, NO_PROTOCOL);
        status = USHER_UNKNOWN;
        (void)snprintf(message, REMOTE_MESSAGE_MAX, "%s", r->message);
    }
    if (status != USHER_OK)
        usher__remote_value_free(ret);
    return status;
}

/* ---- waiting for changes ------------------------------------------------------------------ */

/* A server that refuses the subscription has nothing to send, and the caller waits its time. */
bool usher__remote_listen(struct remote *r, const char *scope)
{
    struct bytes out = { NULL, 0, 0, 0 };
    char head[32];
    bool sent;

    r->deadline_ms = clock_ms() + r->place.timeout_ms;
    if (r->listening < 0 && clock_ms() < r->listen_again_ms)
        return false;
    if (r->listening < 0) {
        r->listening = connect_to(r);
        if (r->listening < 0)
            return false; /* the other connection shows whether the server is gone */
        if (r->place.secret[0] != '\0') {
            usher__bytes_put(&out, "*2\r\n$4\r\nAUTH\r\n");
            usher__bytes_word(&out, r->place.secret, strlen(r->place.secret));
        }
    }
    usher__bytes_put(&out, "*2\r\n$9\r\nSUBSCRIBE\r\n");
    /* its last ? begins parameters, of which there are none */
    (void)snprintf(head, sizeof head, "$%zu\r\n", strlen(scope) + 1);
    usher__bytes_put(&out, head);
    usher__bytes_put(&out, scope);
    usher__bytes_put(&out, "?\r\n");
    sent = send(r->listening, out.data, out.end, MSG_NOSIGNAL) == (ssize_t)out.end;
    (void)usher__cli_resize(out.data, 0);
    if (!sent) { /* a part of a command */
        (void)close(r->listening);
        r->listening = -1;
    }
    return sent;
}

bool usher__remote_wait(struct remote *r, int64_t ms)
{
    struct pollfd fd = { .fd = r->listening, .events = POLLIN };
    char bytes[4096];
    ssize_t n;

    if (poll(&fd, 1, (int)ms) <= 0)
        return true;
    while ((n = recv(r->listening, bytes, sizeof bytes, 0)) > 0)
        ;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    (void)close(r->listening);
    r->listening = -1;
    r->listen_again_ms = clock_ms() + LISTEN_AGAIN_MS;
    return false;
}
