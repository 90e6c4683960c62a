/* SPDX-License-Identifier: MIT */
/* Making a connection: addresses, the socket, TLS, and the greeting. */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "conn_parts.h"

#define KEEPALIVE_IDLE 15 /* seconds */
#define KEEPALIVE_INTERVAL 5
#define KEEPALIVE_COUNT 3

#define NO_TLS "TLS: no handshake in time: does the server speak TLS at this port?"

#define BACKOFF_FIRST 10 /* ms */
#define BACKOFF_MAX 500

/* ---- socket ------------------------------------------------------------------------ */

static void addresses_free(struct usher__redis_conn *c)
{
    if (c->to.list != NULL)
        freeaddrinfo(c->to.list);
    c->to.list = c->to.at = NULL;
}

/* Discard unsent bytes when @fd is closed, so that they do not arrive after a repeated command.
 * While a child of fork() has the socket open, they are still sent.  An open socket is not
 * affected. */
static void forget_unsent(int fd)
{
    const struct linger now = { 1, 0 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void usher__redis_conn_discard(struct usher__redis_conn *c)
{
    if (TLS(c) != NULL)
        usher__redis_tls_end(TLS(c));
    if (c->fd >= 0 && c->batch == BATCH_SENT)
        forget_unsent(c->fd);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->stage = NOT_CONNECTED;
    addresses_free(c);
    if (c->reader != NULL)
        redisReaderFree(c->reader);
    c->reader = NULL;
    c->scan = (struct usher__redis_scanner){ 0 };
    c->in_pos = c->in_len = 0;
    c->more = c->just_sent = false;
    if (c->batch == BATCH_SENT || c->listens)
        c->batch = BATCH_OVER;
    c->listens = false;
}

static void set_option(int fd, int level, int name, int value)
{
    /* The connection works without these options. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void set_options(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE);
#endif
#ifdef TCP_KEEPINTVL
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL);
#endif
#ifdef TCP_KEEPCNT
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
#endif
}

/* Open the socket @c->fd and begin to connect it to @to.  Return 0 or errno. */
static int socket_begin(struct usher__redis_conn *c, const struct sockaddr *to, socklen_t to_len)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int e = fd < 0 ? errno : 0;

    if (e == 0 && connect(fd, to, to_len) != 0 && errno != EINPROGRESS && errno != EINTR)
        e = errno;
    if (e == 0)
        c->fd = fd;
    else if (fd >= 0)
        (void)close(fd);
    return e;
}

/* Return 0 if the socket is connected, EINPROGRESS if not yet, or errno. */
static int socket_state(const struct usher__redis_conn *c)
{
    int e = 0, ready = usher__redis_conn_poll(c->fd, POLLOUT, 0);
    socklen_t e_len = sizeof e;

    if (ready == 0)
        return usher__redis_clock_ms() < c->to.until_ms ? EINPROGRESS : ETIMEDOUT;
    if (ready < 0 || getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &e_len) != 0)
        e = errno;
    return e;
}

/* Begin a pause; each is longer than the one before. */
static void rest(struct connecting *to)
{
    int64_t until = usher__redis_clock_ms() + to->delay_ms;

    to->until_ms = until < to->deadline_ms ? until : to->deadline_ms;
    to->delay_ms = to->delay_ms * 2 < BACKOFF_MAX ? to->delay_ms * 2 : BACKOFF_MAX;
}

/* Connect to the socket file.  While the queue of the listener is full, there is no event to wait
 * for. */
static int unix_begin(struct usher__redis_conn *c)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int64_t now = usher__redis_clock_ms();
    int e;

    if (c->to.delay_ms > 1 && now < c->to.until_ms)
        return EINPROGRESS;
    memcpy(to.sun_path, c->opt.unix_path, strlen(c->opt.unix_path) + 1);
    e = socket_begin(c, (const struct sockaddr *)&to, (socklen_t)sizeof to);
    if (e == EAGAIN && now >= c->to.deadline_ms)
        return ETIMEDOUT;
    if (e != EAGAIN) {
        c->to.until_ms = c->to.deadline_ms;
        return e;
    }
    rest(&c->to);
    return EINPROGRESS;
}

/* Connect to the next address.  Each gets a share of the time, or a dead first one would take all
 * of it.
 */
static int tcp_begin(struct usher__redis_conn *c)
{
    struct connecting *to = &c->to;
    const struct addrinfo *a = to->at;
    int64_t now = usher__redis_clock_ms();

    to->until_ms = to->deadline_ms > now ? now + (to->deadline_ms - now) / to->n_left : now;
    to->n_left--;
    to->at = a->ai_next;
    return socket_begin(c, a->ai_addr, a->ai_addrlen);
}

static enum usher_status connecting(struct usher__redis_conn *c)
{
    bool is_unix = c->opt.unix_path != NULL;

    for (;;) {
        int e = c->fd >= 0 ? 0 : is_unix ? unix_begin(c) : tcp_begin(c);

        if (e == 0)
            e = socket_state(c);
        if (e == EINPROGRESS)
            return USHER__REDIS_WAITS;
        if (e == 0)
            break;
        usher__redis_conn_say_errno(c, "cannot connect: ", e);
        if (c->fd >= 0)
            (void)close(c->fd);
        c->fd = -1;
        if (is_unix || c->to.at == NULL)
            return USHER_UNAVAILABLE;
    }
    addresses_free(c);
    if (!is_unix)
        set_options(c->fd);
    c->to.until_ms = c->to.deadline_ms;
    c->to.delay_ms = BACKOFF_FIRST;
    return USHER_OK;
}

static enum usher_status addresses_find(struct usher__redis_conn *c)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICSERV };
    char port[21] = { 0 };
    char *p = digits(port + sizeof port - 1, c->opt.port);
    int rc = getaddrinfo(c->opt.host, p, &hints, &c->to.list);

    if (rc != 0 && rc != EAI_MEMORY && c->opt.ip != NULL && c->opt.ip[0] != '\0') {
        hints.ai_flags |= AI_NUMERICHOST;
        if (getaddrinfo(c->opt.ip, p, &hints, &c->to.list) == 0)
            rc = 0;
    }
    if (rc == EAI_MEMORY) {
        usher__redis_conn_say(c, "out of memory", "");
        return USHER_NOMEM;
    }
    if (rc != 0) {
        usher__redis_conn_say(c, "cannot connect: ",
                              rc == EAI_AGAIN ? "the name cannot be resolved now" : "no such host");
        return USHER_UNAVAILABLE;
    }
    c->to.at = c->to.list;
    for (struct addrinfo *a = c->to.list; a != NULL; a = a->ai_next)
        c->to.n_left++;
    return USHER_OK;
}

#ifdef USHER_WITH_TLS
/* Continue the handshake of TLS.  Nothing else is sent before the server has proved its identity.
 */
static enum usher_status securing(struct usher__redis_conn *c)
{
    ssize_t n = usher__redis_tls_handshake(TLS(c));

    if (n == IO_AGAIN) {
        if (usher__redis_clock_ms() < c->to.deadline_ms)
            return USHER__REDIS_WAITS;
        usher__redis_conn_say(c, NO_TLS, "");
        return USHER_UNAVAILABLE;
    }
    if (n == IO_FAILED)
        usher__redis_conn_say_io(c);
    /* a server or proxy that does not speak TLS may close or reset the connection */
    if (n == 0 || (n == IO_FAILED && c->io_errno == ECONNRESET))
        usher__redis_conn_say(
            c,
            "TLS: connection closed by the server in the handshake: if it does not speak TLS, use `redis:`",
            "");
    return n > 0 ? USHER_OK : USHER_UNAVAILABLE;
}
#endif

/* ---- handshake --------------------------------------------------------------------- */

static bool code_is(const redisReply *r, const char *code)
{
    size_t n = strlen(code);

    return r->len >= n && memcmp(r->str, code, n) == 0 && (r->len == n || r->str[n] == ' ');
}

/* Return whether the connection can be used despite the error @r. */
static bool step_tolerates(enum step step, const redisReply *r)
{
    if (step == STEP_NAME) /* PING fails as well, unless the server closes the connection */
        return !code_is(r, "DENIED") && !contains(r->str, r->len, "max number of clients", 21);
    return step == STEP_PING &&
           (code_is(r, "NOPERM") || code_is(r, "MASTERDOWN") || code_is(r, "MISCONF"));
}

/* Return the size of an error up to the arguments in quotes.  An unknown AUTH is answered with its
 * arguments, cut to some length, and a part of the password would not be recognised. */
static size_t auth_words(const redisReply *r)
{
    size_t n = 0;

    while (n < r->len && strchr("'\"`", r->str[n]) == NULL)
        n++;
    return n;
}

static void step_begin(struct usher__redis_conn *c, enum step step, size_t argc)
{
    c->to.steps[c->to.n_steps++] = step;
    usher__redis_conn_begin(c, argc);
}

/* Send one greeting. */
static enum usher_status greet(struct usher__redis_conn *c)
{
    const struct usher__redis_conn_options *o = &c->opt;

    c->to.n_steps = 0;
    c->to.verdict = USHER_OK;
    c->to.again = false;
    if (o->password != NULL) {
        step_begin(c, STEP_AUTH, o->user != NULL ? 3 : 2);
        usher__redis_conn_arg_str(c, "AUTH");
        if (o->user != NULL)
            usher__redis_conn_arg_str(c, o->user);
        usher__redis_conn_arg_str(c, o->password);
    }
    if (o->db != 0) {
        step_begin(c, STEP_SELECT, 2);
        usher__redis_conn_arg_str(c, "SELECT");
        usher__redis_conn_arg_i64(c, o->db);
    }
    if (o->client_name != NULL) {
        step_begin(c, STEP_NAME, 3);
        usher__redis_conn_arg_str(c, "CLIENT");
        usher__redis_conn_arg_str(c, "SETNAME");
        usher__redis_conn_arg_str(c, o->client_name);
    }
    /* A server that loads its data accepts the commands before, but not this one. */
    step_begin(c, STEP_PING, 1);
    usher__redis_conn_arg_str(c, "PING");
    c->stage = GREETING;
    c->to.until_ms = c->to.deadline_ms;
    return usher__redis_conn_flush(c);
}

/* Evaluate the answer to a step. */
static void step_answered(struct usher__redis_conn *c, enum step step, const redisReply *r)
{
    struct connecting *to = &c->to;
    bool bad =
        r->type == REDIS_REPLY_ERROR ? !step_tolerates(step, r) : r->type != REDIS_REPLY_STATUS;

    /* The first error causes those after it. */
    if (!bad || to->verdict != USHER_OK)
        return;
    to->verdict = USHER_UNAVAILABLE;
    to->again = usher__redis_classify(r) == USHER__REDIS_RETRY;
    if (r->type == REDIS_REPLY_ERROR && step == STEP_AUTH)
        usher__redis_conn_say_reply(c, r->str, auth_words(r));
    else if (r->type == REDIS_REPLY_ERROR && step == STEP_SELECT &&
             contains(r->str, r->len, "unknown command", 15))
        usher__redis_conn_say(
            c, "the server has no databases: if it is a Sentinel, use redis+sentinel:", "");
    else
        usher__redis_conn_explain(c, r);
    memcpy(to->said, c->message, sizeof to->said);
}

static enum usher_status greeting(struct usher__redis_conn *c)
{
    struct connecting *to = &c->to;
    enum usher_status status = USHER_OK;

    while (c->answered < to->n_steps) {
        enum step step = to->steps[c->answered];
        redisReply *r = NULL;

        status = usher__redis_conn_next(c, &r);
        if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() < to->deadline_ms)
            return status;
        if (r == NULL)
            break;
        step_answered(c, step, r);
        freeReplyObject(r);
    }
    if (status == USHER__REDIS_WAITS)
        status = usher__redis_conn_late(c);
    if (status == USHER_OK)
        return to->verdict;
    /* If the server refused and closed the connection, report the refusal. */
    if (to->verdict != USHER_OK)
        memcpy(c->message, to->said, sizeof to->said);
    else if (c->hung_up && c->answered == 0 && to->said[0] == '\0' && TLS(c) == NULL &&
             c->opt.unix_path == NULL)
        usher__redis_conn_say(
            c,
            "the server closes the connection at the first command: if it speaks TLS, use `rediss:`",
            "");
    to->again = false;
    return status == USHER_NOMEM ? USHER_NOMEM : USHER_UNAVAILABLE;
}

/* Begin the next stage. */
static enum usher_status stage_next(struct usher__redis_conn *c)
{
    switch (c->stage) {
    case CONNECTING:
#ifdef USHER_WITH_TLS
        if (TLS(c) != NULL) {
            enum usher_status status = usher__redis_tls_begin(TLS(c), c->fd);

            c->stage = SECURING;
            if (status != USHER_OK)
                usher__redis_conn_say_io(c);
            return status;
        }
#endif
        return greet(c);
    case GREETING:
        c->stage = CONNECTED;
        c->to.said[0] = '\0';
        return USHER_OK;
    default: /* SECURING, RESTING */
        return greet(c);
    }
}

/* Return whether there is time for another greeting of a server that is not ready. */
static bool may_rest(struct usher__redis_conn *c)
{
    if (c->stage != GREETING || !c->to.again || usher__redis_clock_ms() >= c->to.deadline_ms)
        return false;
    c->stage = RESTING;
    rest(&c->to);
    return true;
}

/* Wait until the pause is over, or the server closes the connection. */
static enum usher_status resting(struct usher__redis_conn *c)
{
    if (usher__redis_clock_ms() < c->to.until_ms && usher__redis_conn_poll(c->fd, POLLIN, 0) == 0)
        return USHER__REDIS_WAITS;
    return usher__redis_clock_ms() < c->to.deadline_ms ? USHER_OK : USHER_UNAVAILABLE;
}

static enum usher_status stage_try(struct usher__redis_conn *c)
{
    switch (c->stage) {
    case CONNECTING:
        return connecting(c);
#ifdef USHER_WITH_TLS
    case SECURING:
        return securing(c);
#endif
    case GREETING:
        return greeting(c);
    default:
        return resting(c);
    }
}

enum usher_status usher__redis_conn_begin_connect(struct usher__redis_conn *c, int64_t deadline_ms)
{
    enum usher_status status = USHER_OK;

    usher__redis_conn_discard(c);
    usher__redis_conn_reset(c);
    memset(&c->to, 0, sizeof c->to);
    c->to.deadline_ms = c->to.until_ms = deadline_ms;
    c->to.delay_ms = 1;
    if (c->opt.unix_path == NULL)
        status = addresses_find(c);
    if (status == USHER_OK)
        c->stage = CONNECTING;
    return status;
}

enum usher_status usher__redis_conn_go_on(struct usher__redis_conn *c)
{
    while (c->stage != CONNECTED) {
        enum usher_status status = stage_try(c);

        if (status == USHER_OK)
            status = stage_next(c);
        if (status == USHER_OK || (status == USHER_UNAVAILABLE && may_rest(c)))
            continue;
        if (status != USHER__REDIS_WAITS)
            usher__redis_conn_discard(c);
        return status;
    }
    return USHER_OK;
}

void usher__redis_conn_slow(struct usher__redis_conn *c)
{
    if (c->stage == CONNECTING)
        usher__redis_conn_say_errno(c, "cannot connect: ", ETIMEDOUT);
    else if ((c->stage == GREETING || c->stage == RESTING) && c->to.said[0] != '\0')
        memcpy(c->message, c->to.said,
               sizeof c->message); /* the reason why the server is not ready */
    else
        usher__redis_conn_say(c, c->stage == SECURING ? NO_TLS : "no answer in time", "");
}

bool usher__redis_conn_said_why(const struct usher__redis_conn *c)
{
    return c->stage != CONNECTED && c->to.said[0] != '\0';
}

enum usher_status usher__redis_conn_connect(struct usher__redis_conn *c, int64_t deadline_ms)
{
    enum usher_status status = usher__redis_conn_begin_connect(c, deadline_ms);

    while (status == USHER_OK || status == USHER__REDIS_WAITS) {
        status = usher__redis_conn_go_on(c);
        if (status != USHER__REDIS_WAITS)
            break;
        usher__redis_conn_wait_on(c, deadline_ms);
    }
    return status;
}

enum usher_status usher__redis_conn_open(const struct usher_allocator *alloc,
                                         const struct usher__redis_conn_options *opt,
                                         struct usher__redis_conn **ret_conn)
{
    struct usher__redis_conn *c;

    if (opt->unix_path != NULL) {
        size_t n = strlen(opt->unix_path);

        if (n == 0 || n >= sizeof((struct sockaddr_un *)NULL)->sun_path)
            return USHER_INVALID;
    } else if (opt->host == NULL || opt->host[0] == '\0' || opt->port == 0) {
        return USHER_INVALID;
    }
    if ((opt->user != NULL && opt->password == NULL) || opt->db < 0)
        return USHER_INVALID;
#ifndef USHER_WITH_TLS
    if (opt->over_tls)
        return USHER_INVALID;
#endif
    /* For OpenSSL a name that begins with a dot matches any name with this end. */
    if (opt->over_tls &&
        (opt->unix_path != NULL || opt->tls.name == NULL || opt->tls.name[0] == '\0' ||
         opt->tls.name[0] == '.' || (opt->tls.key != NULL && opt->tls.cert == NULL)))
        return USHER_INVALID;
    c = alloc->resize(alloc->payload, NULL, 0, sizeof *c);
    if (c == NULL)
        return USHER_NOMEM;
    memset(c, 0, sizeof *c);
    c->alloc = alloc;
    c->opt = *opt;
    c->fd = -1;
#ifdef USHER_WITH_TLS
    if (opt->over_tls && (c->tls = usher__redis_tls_open(alloc, &opt->tls)) == NULL) {
        c->alloc->resize(c->alloc->payload, c, sizeof *c, 0);
        return USHER_NOMEM;
    }
#endif
    *ret_conn = c;
    return USHER_OK;
}

void usher__redis_conn_close(struct usher__redis_conn *c)
{
    if (c == NULL)
        return;
    usher__redis_conn_discard(c);
    if (c->out != NULL)
        resize(c, c->out, c->out_size, 0);
    if (c->start != NULL)
        resize(c, c->start, c->requests_size * sizeof *c->start, 0);
    if (TLS(c) != NULL)
        usher__redis_tls_close(TLS(c));
    c->alloc->resize(c->alloc->payload, c, sizeof *c, 0);
}
