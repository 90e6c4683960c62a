/* SPDX-License-Identifier: MIT */
/*
 * conn -- see conn.h for the contract.
 *
 * hiredis is used only as the codec: its reader makes the reply objects.  This file owns the
 * socket, so deadlines hold, no SIGPIPE is raised, and the number of bytes sent is known exactly.
 * Requests are formatted here.  Built with hiredis 0.14 and 1.x.
 *
 * Input passes through the frame scanner first, which accepts only RESP2 within the limits of
 * conn.h, and finds the end of each reply.  hiredis receives only whole, checked replies: it would
 * allocate any length that is announced, does not check the end of a bulk, and since version 1
 * accepts further types.
 *
 * Only connect and read wait.  Each is a loop around functions that do not: connect around begin
 * and go_on, read around next.  next also sends while its reply is not complete.  So a server that
 * does not read until its answers are taken cannot deadlock with this client, and one input buffer
 * is enough.
 *
 * Memory: the connection, its output and the table of requests come from the allocator.  The reader
 * of hiredis and its replies come from malloc, or from the allocator that the process has set for
 * hiredis 1.x; about twice the limits of conn.h at most.  getaddrinfo() uses malloc, and OpenSSL
 * its own allocator.
 *
 * A socket is closed, never shut down: after fork() the parent may still use it.
 */
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
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "conn.h"

#define INPUT_SIZE ((size_t)32 << 10)
#define OUTPUT_FIRST ((size_t)4 << 10)
#define OUTPUT_KEEP ((size_t)1 << 20)   /* a larger buffer is not kept for the next batch */
#define READER_KEEP ((size_t)256 << 10) /* a reader of a longer reply is not kept either */
#define REQUESTS_FIRST ((size_t)64)
#define HEADER_MAX ((size_t)24) /* type, 20 digits, CR LF */

#define KEEPALIVE_IDLE 15 /* seconds */
#define KEEPALIVE_INTERVAL 5
#define KEEPALIVE_COUNT 3

#define SHORT_PASSWORD 6 /* bytes; shorter passwords are short ones for say_reply() */

#define NO_TLS "TLS: no handshake in time: does the server speak TLS at this port?"

#define BACKOFF_FIRST 10 /* ms */
#define BACKOFF_MAX 500

/* The TLS layer, or NULL.  Without TLS a constant, so that its functions are never called. */
#ifdef USHER_WITH_TLS
#define TLS(c) ((c)->tls)
#else
#define TLS(c) ((struct usher__redis_tls *)NULL)
#endif

enum frame { FRAME_MORE, FRAME_DONE, FRAME_BAD };

/* The state of the scanner within a reply.  All members are 0 between replies. */
struct scanner {
    enum { AT_TYPE, AT_LINE, AT_LINE_END, AT_BULK, AT_BULK_CR, AT_BULK_LF } at;
    char type;
    bool minus;
    uint64_t number; /* of a $ or * header; then the bytes of a bulk that are left */
    size_t line;     /* bytes of the current line */
    size_t bytes;    /* of the whole reply */
    size_t elements; /* announced by its arrays */
    unsigned depth;
    size_t left[USHER__REDIS_MAX_DEPTH]; /* missing elements of each open array, > 0 */
};

/* The stages of making a connection. */
enum stage {
    NOT_CONNECTED,
    CONNECTING, /* to one address after the other */
    SECURING,
    GREETING,
    RESTING, /* the server is not ready yet: the greeting is repeated after a pause */
    CONNECTED
};

enum step { STEP_AUTH, STEP_SELECT, STEP_NAME, STEP_PING, STEPS };

/* The state of a connection that is being made. */
struct connecting {
    struct addrinfo *list, *at; /* addresses, and the next one; NULL with a socket file */
    int64_t n_left;             /* count of addresses from @at on */
    int64_t deadline_ms;        /* of the whole attempt */
    int64_t until_ms;           /* end of the time for this address, or of the pause */
    int64_t delay_ms;           /* length of the next pause */
    enum step steps[STEPS];     /* the steps of the current greeting */
    size_t n_steps;
    enum usher_status verdict;            /* OK, or the first error that answered a step */
    bool again;                           /* that error is temporary */
    char said[USHER__REDIS_MESSAGE_SIZE]; /* its message */
};

enum batch {
    BATCH_OPEN, /* requests are being appended */
    BATCH_SENT, /* flushed; replies are outstanding */
    BATCH_OVER  /* answered or failed; its counts can still be queried */
};

struct usher__redis_conn {
    const struct usher_allocator *alloc;
    struct usher__redis_conn_options opt;
    struct usher__redis_tls *tls; /* or NULL */
    int fd;                       /* or -1 */
    enum stage stage;
    struct connecting to;
    int io_errno;
    redisReader *reader; /* NULL: made when needed */
    size_t reader_peak;  /* size of the longest reply that it has held */
    struct scanner scan;

    enum batch batch;
    enum usher_status failed; /* OK, or the status that flush must return */
    size_t args_left;         /* missing arguments of the request being appended */
    char *out;
    size_t out_len, out_size;
    size_t sent;      /* bytes handed to the kernel; with TLS, in whole records */
    bool send_failed; /* no more can be sent; answers can still be read */
    size_t *start;    /* offset of each request in @out */
    size_t requests, requests_size;
    size_t answered;
    bool listens; /* the connection is for messages: the batch stays open */

    bool hung_up;   /* the stream has ended */
    bool more;      /* the last read filled @in, or TLS has bytes: read again before waiting */
    bool just_sent; /* no answer can have arrived yet */
    size_t in_pos, in_len;
    char in[INPUT_SIZE];
    char message[USHER__REDIS_MESSAGE_SIZE];
};

/* ---- time -------------------------------------------------------------------------- */

int64_t usher__redis_clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Wait for @events on @fd (-1: only for the deadline).  Return the events that are ready, 0 if the
 * deadline has passed, or -1 with errno. */
static int wait_for(int fd, short events, int64_t deadline)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = events };
        int64_t now = usher__redis_clock_ms();
        int64_t left = deadline > now ? deadline - now : 0;
        int n = poll(&p, 1, left > 3600000 ? 3600000 : (int)left);

        if (n > 0)
            return p.revents;
        if (n == 0 && left == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -1;
    }
}

/* ---- messages ---------------------------------------------------------------------- */

/* Not strerror(): it depends on the locale and, on some systems, is not thread-safe. */
static const char *errno_text(int e)
{
    /* clang-format off */
    switch (e) {
    case ECONNREFUSED:  return "connection refused";
    case ECONNRESET:    return "connection reset by the server";
    case ECONNABORTED:  return "connection aborted";
    case EPIPE:         return "connection closed by the server";
    case ETIMEDOUT:     return "timed out";
    case EHOSTUNREACH:  return "no route to the host";
    case ENETUNREACH:   return "network unreachable";
    case EADDRNOTAVAIL: return "address not available";
    case EAFNOSUPPORT:  return "address family not supported";
    case ENOENT:        return "no such socket file";
    case ENOTSOCK:      return "not a socket";
    case EACCES:
    case EPERM:         return "permission denied";
    case EMFILE:
    case ENFILE:        return "too many open files";
    case ENOBUFS:
    case ENOMEM:        return "the system is out of memory";
    default:            return "system error";
    }
    /* clang-format on */
}

struct line {
    char *text;
    size_t size, len;
};

static void line_add(struct line *l, const char *p, size_t n)
{
    for (size_t i = 0; i < n && l->len + 1 < l->size; i++) {
        if (p[i] == '\r' || p[i] == '\n' || p[i] == '\t')
            l->text[l->len++] = ' ';
        else if (p[i] >= 0x20 && p[i] < 0x7f)
            l->text[l->len++] = p[i];
        else
            l->text[l->len++] = '?';
    }
    l->text[l->len] = '\0';
}

static void line_add_str(struct line *l, const char *s)
{
    line_add(l, s, strlen(s));
}

/* Write the up to 20 digits of @v before @end.  Not snprintf(), because this runs for each
 * argument. */
static char *digits(char *end, uint64_t v)
{
    do
        *--end = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    return end;
}

static void line_add_u64(struct line *l, uint64_t v)
{
    char buf[20];
    char *p = digits(buf + sizeof buf, v);

    line_add(l, p, (size_t)(buf + sizeof buf - p));
}

static struct line message_begin(struct usher__redis_conn *c)
{
    struct line l = { c->message, sizeof c->message / 2, 0 };

    /* A long host name must leave space for the rest of the message. */
    line_add_str(&l, "redis ");
    if (c->opt.unix_path != NULL) {
        line_add_str(&l, c->opt.unix_path);
    } else {
        bool v6 = strchr(c->opt.host, ':') != NULL;

        line_add_str(&l, v6 ? "[" : "");
        line_add_str(&l, c->opt.host);
        line_add_str(&l, v6 ? "]:" : ":");
        line_add_u64(&l, c->opt.port);
    }
    l.size = sizeof c->message;
    line_add_str(&l, ": ");
    return l;
}

static void say(struct usher__redis_conn *c, const char *what, const char *detail)
{
    struct line l = message_begin(c);

    line_add_str(&l, what);
    line_add_str(&l, detail);
}

static void say_errno(struct usher__redis_conn *c, const char *what, int e)
{
    struct line l = message_begin(c);

    line_add_str(&l, what);
    line_add_str(&l, errno_text(e));
    line_add_str(&l, " (errno ");
    line_add_u64(&l, e < 0 ? 0 : (uint64_t)e);
    line_add_str(&l, ")");
}

static bool contains(const char *text, size_t len, const char *word, size_t word_len)
{
    for (size_t i = 0; word_len <= len && i <= len - word_len; i++)
        if (memcmp(text + i, word, word_len) == 0)
            return true;
    return false;
}

/* Return the size of @text up to the arguments of the command, which an error may repeat. */
static size_t without_arguments(const char *text, size_t len)
{
    static const char words[] = ", with args beginning with";
    size_t i = 0;

    while (i < len &&
           (len - i < sizeof words - 1 || memcmp(text + i, words, sizeof words - 1) != 0))
        i++;
    return i;
}

/* Append @text with "***" for each argument in quotes that is equal to @secret. */
static void line_add_quoting(struct line *l, const char *text, size_t len, const char *secret)
{
    size_t n = strlen(secret);

    for (size_t i = 0; i < len; i++) {
        line_add(l, text + i, 1);
        if (len - i >= n + 2 && strchr("'\"`", text[i]) != NULL && text[i + n + 1] == text[i] &&
            memcmp(text + i + 1, secret, n) == 0) {
            line_add_str(l, "***");
            i += n;
        }
    }
}

/*
 * Servers and proxies repeat the arguments of commands that they refuse.  A text that contains the
 * password is not shown.  A short password may be part of any word.  Omitting such a text, or these
 * bytes of it, would hide why a command was refused, and reveal the password.  So a short password
 * is left out only if it is an argument in quotes.
 */
static void say_reply(struct usher__redis_conn *c, const char *text, size_t len)
{
    const char *secret = c->opt.password != NULL ? c->opt.password : "";
    struct line l = message_begin(c);
    size_t begin = l.len, n = strlen(secret);

    len = without_arguments(text, len);
    if (n > 0 && n < SHORT_PASSWORD) {
        line_add_quoting(&l, text, len, secret);
        return;
    }
    line_add(&l, text, len);
    if (n > 0 &&
        (contains(text, len, secret, n) || contains(l.text + begin, l.len - begin, secret, n))) {
        l.len = begin;
        line_add_str(&l, "an error that repeats the password");
    }
}

const char *usher__redis_conn_message(const struct usher__redis_conn *c)
{
    return c->message;
}

void usher__redis_conn_refuse(struct usher__redis_conn *c, const char *why)
{
    say(c, why, "");
}

void usher__redis_conn_note(struct usher__redis_conn *c, const char *line)
{
    struct line l = { c->message, sizeof c->message, 0 };

    line_add_str(&l, line);
}

const char *usher__redis_conn_explain(struct usher__redis_conn *c, const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        say_reply(c, reply->str, reply->len);
    else
        say(c, "a reply of the wrong type", "");
    return c->message;
}

/* ---- memory ------------------------------------------------------------------------ */

static void *resize(struct usher__redis_conn *c, void *p, size_t old, size_t size)
{
    return c->alloc->resize(c->alloc->payload, p, old, size);
}

/* Return a larger size for a buffer of @size that needs @used + @need; 0 if it would overflow. */
static size_t size_for(size_t size, size_t first, size_t used, size_t need)
{
    if (need > SIZE_MAX / 4 - used)
        return 0;
    if (size < first)
        size = first;
    while (size < used + need)
        size *= 2;
    return size;
}

/* ---- socket ------------------------------------------------------------------------ */

/* Only the following three functions access the stream. */
static ssize_t io_read(struct usher__redis_conn *c, void *p, size_t size)
{
    ssize_t n;

    if (TLS(c) != NULL) {
        n = usher__redis_tls_read(TLS(c), p, size);
        c->more = n == (ssize_t)size || (n != IO_FAILED && usher__redis_tls_holds(TLS(c)));
        return n;
    }
    do
        n = recv(c->fd, p, size, 0);
    while (n < 0 && errno == EINTR);
    c->more = n == (ssize_t)size;
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return IO_AGAIN;
    c->io_errno = errno;
    return IO_FAILED;
}

static ssize_t io_write(struct usher__redis_conn *c, const void *p, size_t size)
{
    ssize_t n;

    if (TLS(c) != NULL)
        return usher__redis_tls_write(TLS(c), p, size);
    do
        n = send(c->fd, p, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return IO_AGAIN;
    c->io_errno = errno;
    return IO_FAILED;
}

/* Write the message for IO_FAILED. */
static void io_say(struct usher__redis_conn *c)
{
    const char *why = TLS(c) != NULL ? usher__redis_tls_text(TLS(c), &c->io_errno) : "";

    if (why[0] != '\0')
        say(c, why, "");
    else
        say_errno(c, "", c->io_errno);
}

bool usher__redis_conn_is_connected(const struct usher__redis_conn *c)
{
    return c->stage == CONNECTED;
}

int usher__redis_conn_wants(const struct usher__redis_conn *c, short *ret_events)
{
    bool to_send =
        (c->batch == BATCH_SENT || c->listens) && c->sent < c->out_len && !c->send_failed;
    short reading = POLLIN, writing = POLLOUT;

    if (c->stage == CONNECTING) {
        *ret_events = POLLOUT;
        return c->fd;
    }
    if (TLS(c) != NULL) {
        reading = usher__redis_tls_events(TLS(c), false);
        writing = usher__redis_tls_events(TLS(c), true);
    }
    *ret_events = to_send ? (short)(reading | writing) : reading;
    return c->fd;
}

int64_t usher__redis_conn_until(const struct usher__redis_conn *c)
{
    return c->stage == CONNECTED ? INT64_MAX : c->to.until_ms;
}

/* Wait for the events that the connection wants, until @deadline. */
static void wait_on(const struct usher__redis_conn *c, int64_t deadline)
{
    int64_t until = usher__redis_conn_until(c);
    short events;
    int fd = usher__redis_conn_wants(c, &events);

    (void)wait_for(fd, events, until < deadline ? until : deadline);
}

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
    c->scan = (struct scanner){ 0 };
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
    int e = 0, ready = wait_for(c->fd, POLLOUT, 0);
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
        say_errno(c, "cannot connect: ", e);
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
        say(c, "out of memory", "");
        return USHER_NOMEM;
    }
    if (rc != 0) {
        say(c, "cannot connect: ",
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
        say(c, NO_TLS, "");
        return USHER_UNAVAILABLE;
    }
    if (n == IO_FAILED)
        io_say(c);
    /* a server or proxy that does not speak TLS may close or reset the connection */
    if (n == 0 || (n == IO_FAILED && c->io_errno == ECONNRESET))
        say(c,
            "TLS: connection closed by the server in the handshake: if it does not speak TLS, use `redis:`",
            "");
    return n > 0 ? USHER_OK : USHER_UNAVAILABLE;
}
#endif

/* ---- frames ------------------------------------------------------------------------ */

/* The header line of a $ or * is complete. */
static enum frame frame_value(struct scanner *s);

static enum frame frame_header(struct scanner *s)
{
    if (s->line == 0)
        return FRAME_BAD;
    if (s->minus)
        return s->number == 1 ? frame_value(s) : FRAME_BAD; /* -1: nil */
    if (s->type == '$') {
        s->at = s->number > 0 ? AT_BULK : AT_BULK_CR;
        return FRAME_MORE;
    }
    if (s->number == 0)
        return frame_value(s);
    if (s->number > USHER__REDIS_MAX_ELEMENTS - s->elements || s->depth == USHER__REDIS_MAX_DEPTH)
        return FRAME_BAD;
    s->elements += (size_t)s->number;
    s->left[s->depth++] = (size_t)s->number;
    s->at = AT_TYPE;
    return FRAME_MORE;
}

/* A value is complete, and perhaps the arrays of which it is the last element. */
static enum frame frame_value(struct scanner *s)
{
    s->at = AT_TYPE;
    while (s->depth > 0) {
        if (--s->left[s->depth - 1] > 0)
            return FRAME_MORE;
        s->depth--;
    }
    return FRAME_DONE;
}

/* Scan one byte of a line, except its type byte and its end. */
static bool frame_line(struct scanner *s, char ch)
{
    if (ch == '\n' || ++s->line > USHER__REDIS_MAX_LINE)
        return false;
    if (s->type == '+' || s->type == '-')
        return true;
    if (s->type == ':')
        return s->line <= 20; /* hiredis checks the number strictly */
    if (ch == '-' && s->line == 1) {
        s->minus = true;
        return true;
    }
    if (ch < '0' || ch > '9' || (s->line > (s->minus ? 2u : 1u) && s->number == 0))
        return false;
    s->number = s->number * 10 + (uint64_t)(ch - '0');
    return s->number <= USHER__REDIS_MAX_REPLY;
}

/* Scan up to @n bytes, but not beyond the end of a reply. */
static enum frame frame_scan(struct scanner *s, const char *p, size_t n, size_t *ret_used)
{
    enum frame is = FRAME_MORE;
    size_t i = 0;

    while (is == FRAME_MORE && i < n) {
        size_t step = 1;
        char ch = p[i];

        switch (s->at) {
        case AT_TYPE:
            s->type = ch;
            s->minus = false;
            s->number = 0;
            s->line = 0;
            s->at = AT_LINE;
            if (ch == '\0' || strchr("+-:$*", ch) == NULL)
                is = FRAME_BAD;
            break;
        case AT_LINE:
            if (ch == '\r')
                s->at = AT_LINE_END;
            else if (!frame_line(s, ch))
                is = FRAME_BAD;
            break;
        case AT_LINE_END:
            if (ch != '\n')
                is = FRAME_BAD;
            else if (s->type == '$' || s->type == '*')
                is = frame_header(s);
            else
                is = frame_value(s);
            break;
        case AT_BULK:
            step = s->number < n - i ? (size_t)s->number : n - i;
            s->number -= step;
            if (s->number == 0)
                s->at = AT_BULK_CR;
            break;
        case AT_BULK_CR:
            s->at = AT_BULK_LF;
            if (ch != '\r')
                is = FRAME_BAD;
            break;
        case AT_BULK_LF:
            is = ch == '\n' ? frame_value(s) : FRAME_BAD;
            break;
        }
        if (step > USHER__REDIS_MAX_REPLY - s->bytes)
            is = FRAME_BAD;
        else
            s->bytes += step;
        i += step;
    }
    *ret_used = i;
    return is;
}

/* ---- replies ----------------------------------------------------------------------- */

/* Make a reader for the next batch, unless there is one that is not too large. */
static bool reader_ready(struct usher__redis_conn *c)
{
    if (c->reader != NULL && c->reader_peak > READER_KEEP) {
        redisReaderFree(c->reader);
        c->reader = NULL;
    }
    if (c->reader == NULL) {
        c->reader = redisReaderCreate();
        c->reader_peak = 0;
        if (c->reader == NULL)
            return false;
        /* When hiredis 0.14 shrinks its buffer, it asserts that memory is available. */
        c->reader->maxbuf = 0;
    }
    return true;
}

/* Take the next reply out of the input buffer.  FRAME_MORE: the buffer is empty now; FRAME_BAD: the
 * message contains the reason. */
static enum frame take(struct usher__redis_conn *c, redisReply **ret_reply)
{
    while (c->in_pos < c->in_len) {
        const char *p = c->in + c->in_pos;
        void *reply = NULL;
        size_t used;
        enum frame is = frame_scan(&c->scan, p, c->in_len - c->in_pos, &used);

        if (c->listens &&
            (c->scan.bytes > USHER__REDIS_MAX_MESSAGE || c->scan.elements > USHER__REDIS_MAX_PARTS))
            is = FRAME_BAD;
        if (is == FRAME_BAD) {
            /* an alert of a server that was greeted without TLS */
            say(c,
                c->scan.type == 0x15 ? "protocol error: the server speaks TLS: use `rediss:`"
                                     : "protocol error: not a reply of Redis, or too large",
                "");
            return FRAME_BAD;
        }
        c->in_pos += used;
        if (redisReaderFeed(c->reader, p, used) == REDIS_OK && is == FRAME_MORE)
            continue;
        if (redisReaderGetReply(c->reader, &reply) != REDIS_OK || reply == NULL) {
            if (c->reader->err == REDIS_ERR_OOM)
                say(c, "out of memory for the reply", "");
            else
                say(c, "protocol error: ", c->reader->errstr);
            return FRAME_BAD;
        }
        if (c->scan.bytes > c->reader_peak)
            c->reader_peak = c->scan.bytes;
        c->scan = (struct scanner){ 0 };
        *ret_reply = reply;
        return FRAME_DONE;
    }
    return FRAME_MORE;
}

/* Fill the empty input buffer.  Return false if the stream has ended; the message contains the
 * reason. */
static bool fill(struct usher__redis_conn *c)
{
    ssize_t n = io_read(c, c->in, sizeof c->in);

    c->in_pos = 0;
    c->in_len = n > 0 ? (size_t)n : 0;
    c->hung_up = n == 0 || n == IO_FAILED;
    if (n == 0)
        say(c, "connection closed by the server", "");
    else if (n == IO_FAILED)
        io_say(c);
    return n > 0 || n == IO_AGAIN;
}

/* Return whether the connection has no input between two batches.  A server sends nothing then,
 * unless it closes the connection, perhaps with an error.  Without this check the first command
 * after a long pause would be `unknown`. */
static bool is_quiet(struct usher__redis_conn *c)
{
    redisReply *reply = NULL;
    enum frame is;

    if (c->in_pos == c->in_len && !fill(c))
        return false;
    if (c->in_pos == c->in_len)
        return true;
    is = take(c, &reply);
    if (is == FRAME_DONE && reply->type == REDIS_REPLY_ERROR)
        usher__redis_conn_explain(c, reply);
    else if (is != FRAME_BAD)
        say(c, "protocol error: a reply without a request", "");
    freeReplyObject(reply);
    return false;
}

/* ---- requests ---------------------------------------------------------------------- */

static bool out_reserve(struct usher__redis_conn *c, size_t need)
{
    size_t size;
    char *p;

    if (need <= c->out_size - c->out_len)
        return true;
    size = size_for(c->out_size, OUTPUT_FIRST, c->out_len, need);
    p = size == 0 ? NULL : resize(c, c->out, c->out_size, size);
    if (p == NULL) {
        c->failed = USHER_NOMEM;
        return false;
    }
    c->out = p;
    c->out_size = size;
    return true;
}

static bool start_reserve(struct usher__redis_conn *c)
{
    size_t size;
    size_t *p;

    if (c->requests < c->requests_size)
        return true;
    size = c->requests_size == 0 ? REQUESTS_FIRST : c->requests_size * 2;
    p = size > SIZE_MAX / sizeof *p
            ? NULL
            : resize(c, c->start, c->requests_size * sizeof *p, size * sizeof *p);
    if (p == NULL) {
        c->failed = USHER_NOMEM;
        return false;
    }
    c->start = p;
    c->requests_size = size;
    return true;
}

/* Append a header.  HEADER_MAX bytes must have been reserved. */
static void out_header(struct usher__redis_conn *c, char type, uint64_t v)
{
    char buf[20];
    char *p = digits(buf + sizeof buf, v);
    size_t n = (size_t)(buf + sizeof buf - p);

    c->out[c->out_len++] = type;
    memcpy(c->out + c->out_len, p, n);
    c->out_len += n;
    c->out[c->out_len++] = '\r';
    c->out[c->out_len++] = '\n';
}

static void batch_reset(struct usher__redis_conn *c)
{
    if (c->out_size > OUTPUT_KEEP) {
        resize(c, c->out, c->out_size, 0);
        c->out = NULL;
        c->out_size = 0;
    }
    c->out_len = c->sent = 0;
    c->send_failed = false;
    c->requests = c->answered = 0;
    c->args_left = 0;
    c->failed = USHER_OK;
    c->batch = BATCH_OPEN;
}

void usher__redis_conn_begin(struct usher__redis_conn *c, size_t argc)
{
    if (c->batch == BATCH_OVER)
        batch_reset(c);
    if (c->failed != USHER_OK)
        return;
    if (c->batch == BATCH_SENT || c->args_left != 0 || argc == 0) {
        c->failed = USHER_INVALID;
        return;
    }
    if (!start_reserve(c) || !out_reserve(c, HEADER_MAX))
        return;
    c->start[c->requests++] = c->out_len;
    c->args_left = argc;
    out_header(c, '*', argc);
}

void usher__redis_conn_arg(struct usher__redis_conn *c, const void *p, size_t len)
{
    if (c->failed != USHER_OK)
        return;
    if (c->batch != BATCH_OPEN || c->args_left == 0) {
        c->failed = USHER_INVALID;
        return;
    }
    if (len > SIZE_MAX / 8) {
        c->failed = USHER_NOMEM;
        return;
    }
    if (!out_reserve(c, HEADER_MAX + len + 2))
        return;
    c->args_left--;
    out_header(c, '$', len);
    if (len > 0)
        memcpy(c->out + c->out_len, p, len);
    c->out_len += len;
    c->out[c->out_len++] = '\r';
    c->out[c->out_len++] = '\n';
}

void usher__redis_conn_arg_str(struct usher__redis_conn *c, const char *s)
{
    usher__redis_conn_arg(c, s, strlen(s));
}

void usher__redis_conn_arg_i64(struct usher__redis_conn *c, int64_t v)
{
    char buf[21];
    char *p = digits(buf + sizeof buf, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);

    if (v < 0)
        *--p = '-';
    usher__redis_conn_arg(c, p, (size_t)(buf + sizeof buf - p));
}

static void send_some(struct usher__redis_conn *c)
{
    while (c->sent < c->out_len) {
        ssize_t n = io_write(c, c->out + c->sent, c->out_len - c->sent);

        if (n == IO_FAILED)
            c->send_failed = true; /* replies may have arrived: reading ends the batch */
        if (n <= 0)
            return;
        c->sent += (size_t)n;
    }
}

/* Flush a connection that is for messages. */
static enum usher_status flush_listening(struct usher__redis_conn *c)
{
    enum usher_status status = c->failed;

    if (status == USHER_OK && c->args_left != 0)
        status = USHER_INVALID;
    if (status == USHER_OK && !c->send_failed)
        send_some(c);
    if (status != USHER_OK) { /* a part of a request may be in the buffer */
        say(c, status == USHER_NOMEM ? "out of memory" : "request with a wrong argument count", "");
        usher__redis_conn_discard(c);
    } else if (c->sent == c->out_len) {
        batch_reset(c);
    }
    return status;
}

void usher__redis_conn_listen(struct usher__redis_conn *c)
{
    USHER_ASSERT(c->stage == CONNECTED && c->batch != BATCH_SENT);
    batch_reset(c);
    c->listens = true;
}

enum usher_status usher__redis_conn_flush(struct usher__redis_conn *c)
{
    enum usher_status status = c->failed;

    if (c->listens)
        return flush_listening(c);
    if (c->batch == BATCH_SENT) {
        c->failed = USHER_OK;
        if (status != USHER_OK) {
            say(c, "request not made: replies are outstanding", "");
            return status;
        }
        if (!c->send_failed)
            send_some(c);
        return USHER_OK;
    }
    if (status == USHER_OK && (c->batch == BATCH_OVER || c->requests == 0))
        return USHER_OK;
    c->batch = BATCH_OVER;
    if (status == USHER_OK && c->args_left != 0)
        status = USHER_INVALID;
    if (status == USHER_OK && c->fd >= 0 && !reader_ready(c))
        status = USHER_NOMEM;
    if (status != USHER_OK) {
        c->failed = USHER_OK;
        say(c, status == USHER_NOMEM ? "out of memory" : "request with a wrong argument count", "");
        return status;
    }
    if (c->fd < 0) {
        say(c, "not connected", "");
        return USHER_UNAVAILABLE;
    }
    if (is_quiet(c)) {
        send_some(c);
        if (!c->send_failed || c->sent > 0) {
            c->batch = BATCH_SENT;
            c->just_sent = true;
            return USHER_OK;
        }
        if (is_quiet(c))
            io_say(c);
    }
    usher__redis_conn_discard(c);
    return USHER_UNAVAILABLE;
}

size_t usher__redis_conn_requests(const struct usher__redis_conn *c)
{
    return c->requests;
}

size_t usher__redis_conn_answered(const struct usher__redis_conn *c)
{
    return c->answered;
}

size_t usher__redis_conn_unsent_from(const struct usher__redis_conn *c)
{
    size_t lo = 0, hi = c->requests;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (c->start[mid] < c->sent)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Discard the connection; the message contains the reason. */
static enum usher_status lose(struct usher__redis_conn *c)
{
    usher__redis_conn_discard(c);
    return c->start[c->answered] < c->sent ? USHER_UNKNOWN : USHER_UNAVAILABLE;
}

/* Accept @reply, the next one from the server. */
static enum usher_status answer(struct usher__redis_conn *c, redisReply *reply,
                                redisReply **ret_reply)
{
    size_t end = c->answered + 1 < c->requests ? c->start[c->answered + 1] : c->out_len;

    if (end > c->sent) {
        /* Before it has read the whole request, a server sends only errors. */
        if (reply->type == REDIS_REPLY_ERROR)
            usher__redis_conn_explain(c, reply);
        else
            say(c, "protocol error: a reply without a request", "");
        freeReplyObject(reply);
        return lose(c);
    }
    if (++c->answered == c->requests)
        c->batch = BATCH_OVER;
    *ret_reply = reply;
    return USHER_OK;
}

/* Return the next message. */
static enum usher_status next_message(struct usher__redis_conn *c, struct redisReply **ret_reply)
{
    enum usher_status status = USHER_OK;
    bool tried = false;

    if (c->reader == NULL && !reader_ready(c)) {
        say(c, "out of memory", "");
        status = USHER_UNAVAILABLE;
    }
    while (status == USHER_OK) {
        enum frame is = take(c, ret_reply);

        if (is == FRAME_DONE)
            return USHER_OK;
        if (is == FRAME_MORE && tried && !c->more)
            return USHER__REDIS_WAITS;
        tried = true;
        if (is == FRAME_MORE)
            status = usher__redis_conn_flush(c);
        if (is == FRAME_BAD || (status == USHER_OK && !fill(c)))
            status = USHER_UNAVAILABLE;
    }
    usher__redis_conn_discard(c);
    return USHER_UNAVAILABLE;
}

enum usher_status usher__redis_conn_next(struct usher__redis_conn *c, struct redisReply **ret_reply)
{
    bool tried = c->just_sent;

    if (c->listens)
        return next_message(c, ret_reply);
    if (c->batch != BATCH_SENT) {
        say(c, "no reply is outstanding", "");
        return USHER_INVALID;
    }
    c->just_sent = false;
    for (;;) {
        redisReply *reply = NULL;
        enum frame is = take(c, &reply);

        if (is == FRAME_DONE)
            return answer(c, reply, ret_reply);
        if (is == FRAME_BAD)
            return lose(c);
        if (tried && !c->more)
            return USHER__REDIS_WAITS;
        tried = true;
        if (c->sent < c->out_len && !c->send_failed)
            send_some(c);
        if (!fill(c))
            return lose(c);
    }
}

enum usher_status usher__redis_conn_late(struct usher__redis_conn *c)
{
    say(c, "no answer in time", "");
    return lose(c);
}

bool usher__redis_conn_wait(struct usher__redis_conn *c, int64_t deadline_ms, bool *late)
{
    if (*late)
        return false;
    /* Read once more for bytes that have already arrived, but not for those that follow. */
    *late = usher__redis_clock_ms() >= deadline_ms;
    wait_on(c, deadline_ms);
    return true;
}

enum usher_status usher__redis_conn_read(struct usher__redis_conn *c, int64_t deadline_ms,
                                         struct redisReply **ret_reply)
{
    bool late = false;

    for (;;) {
        enum usher_status status = usher__redis_conn_next(c, ret_reply);

        if (status != USHER__REDIS_WAITS)
            return status;
        if (!usher__redis_conn_wait(c, deadline_ms, &late))
            return usher__redis_conn_late(c);
    }
}

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
        say_reply(c, r->str, auth_words(r));
    else if (r->type == REDIS_REPLY_ERROR && step == STEP_SELECT &&
             contains(r->str, r->len, "unknown command", 15))
        say(c, "the server has no databases: if it is a Sentinel, use redis+sentinel:", "");
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
        say(c,
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
                io_say(c);
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
    if (usher__redis_clock_ms() < c->to.until_ms && wait_for(c->fd, POLLIN, 0) == 0)
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
    batch_reset(c);
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
        say_errno(c, "cannot connect: ", ETIMEDOUT);
    else if ((c->stage == GREETING || c->stage == RESTING) && c->to.said[0] != '\0')
        memcpy(c->message, c->to.said,
               sizeof c->message); /* the reason why the server is not ready */
    else
        say(c, c->stage == SECURING ? NO_TLS : "no answer in time", "");
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
        wait_on(c, deadline_ms);
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

/* ---- classes ----------------------------------------------------------------------- */

struct text {
    const char *p;
    size_t n;
};

static bool skip(struct text *t, const char *prefix)
{
    size_t n = strlen(prefix);

    if (t->n < n || memcmp(t->p, prefix, n) != 0)
        return false;
    t->p += n;
    t->n -= n;
    return true;
}

static bool skip_number(struct text *t)
{
    size_t n = 0;

    while (n < t->n && t->p[n] >= '0' && t->p[n] <= '9')
        n++;
    t->p += n;
    t->n -= n;
    return n > 0;
}

/* Return whether the first word of @t is in @list, whose words are separated and enclosed by
 * spaces. */
static bool word_in(const struct text *t, const char *list)
{
    size_t n = 0;
    const char *end;

    while (n < t->n && t->p[n] != ' ')
        n++;
    for (const char *s = list + 1; *s != '\0'; s = end + 1) {
        end = strchr(s, ' ');
        if ((size_t)(end - s) == n && memcmp(s, t->p, n) == 0)
            return true;
    }
    return false;
}

static bool begins_with_one_of(const struct text *t, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct text rest = *t;

        if (skip(&rest, list[i]))
            return true;
    }
    return false;
}

static bool holds(const struct text *t, const char *words)
{
    return contains(t->p, t->n, words, strlen(words));
}

static bool holds_one_of(const struct text *t, const char *const *list, size_t n)
{
    size_t i = 0;

    while (i < n && !holds(t, list[i]))
        i++;
    return i < n;
}

/* Classify an error about the state of the server inside a script.  redis.call() of a write checks
 * the state only before the first write of a script: READONLY, OOM, MISCONF and NOREPLICAS in Redis
 * 7, OOM in 6.2.  Redis 6.2 checks the others each time, but they cannot change while a script
 * runs, except one: see raised_62(). */
static enum usher__redis_class classify_inside(const struct text *t)
{
    if (word_in(t, " NOREPLICAS "))
        return USHER__REDIS_RETRY;
    return word_in(t, " READONLY OOM MISCONF ") ? USHER__REDIS_REFUSED : USHER__REDIS_SCRIPT_ERROR;
}

/* "@user_script: 1: -CODE text" */
static enum usher__redis_class classify_62(struct text *t)
{
    return skip(t, "@user_script: ") && skip_number(t) && skip(t, ": -")
               ? classify_inside(t)
               : USHER__REDIS_SCRIPT_ERROR;
}

/* Likewise for an error that redis.call() raised anywhere in the script.  Another thread of the
 * server flushes the append-only file, and may fail between two writes. */
static enum usher__redis_class raised_62(struct text *t)
{
    return holds(t, "-MISCONF Errors writing to the AOF file") ? USHER__REDIS_SCRIPT_ERROR
                                                               : classify_62(t);
}

/*
 * Return whether the server certainly refused the command before it ran a script.  Servers report
 * the failure of a command inside a script in the same words, and an unknown server may omit that
 * it was in a script.  So only unambiguous errors count.
 */
static bool at_the_door(const struct text *t)
{
    /* clang-format off */
    static const char *const never_ran[] = {
        "ERR Error compiling script",
        "ERR Protocol error",
        "ERR max number of clients",
        "ERR This instance has cluster support disabled",
    };
    static const char *const of_a_command[] = {
        "ERR unknown command",
        "ERR wrong number of arguments",
        "NOPERM ",
    };
    /* the commands that are sent, except SCAN and HSCAN; 6.2 names only the container of a
     * subcommand */
    static const char *const ours[] = {
        "'evalsha'", "'EVALSHA'", "`EVALSHA`",
        "'eval'", "'EVAL'", "`EVAL`",
        "'script|load'", "'script'", "'SCRIPT'", "`SCRIPT`",
        "'asking'", "'ASKING'", "`ASKING`",
    };
    /* clang-format on */

    if (begins_with_one_of(t, never_ran, sizeof never_ran / sizeof *never_ran))
        return true;
    /* keys, databases, and the error of lua/rights.lua */
    if (word_in(t, " NOPERM ") && (holds(t, " to access ") || holds(t, " the user lacks ")))
        return true;
    return begins_with_one_of(t, of_a_command, sizeof of_a_command / sizeof *of_a_command) &&
           holds_one_of(t, ours, sizeof ours / sizeof *ours);
}

enum usher__redis_class usher__redis_classify(const struct redisReply *reply)
{
    struct text t = { reply->str, reply->len };

    if (reply->type != REDIS_REPLY_ERROR)
        return USHER__REDIS_OK;

    /* 7.0: "CODE text script: <sha>, on @user_script:1."; Valkey 9.1 has no sha:
     * "CODE text script: on @user_script:1." */
    if (holds(&t, " script: ") && holds(&t, "on @user_script:"))
        return classify_inside(&t);

    /* 6.2: "ERR Error running script (call to f_<sha>): @user_script:1: @user_script: 1:
     * -CODE text", and only errors of redis.call() itself have the dash. */
    if (skip(&t, "ERR Error running script")) {
        const char *colon;

        if (!skip(&t, " (call to f_") || (colon = memchr(t.p, ')', t.n)) == NULL)
            return USHER__REDIS_SCRIPT_ERROR;
        t.n -= (size_t)(colon - t.p);
        t.p = colon;
        return skip(&t, "): @user_script:") && skip_number(&t) && skip(&t, ": ")
                   ? raised_62(&t)
                   : USHER__REDIS_SCRIPT_ERROR;
    }
    if (holds(&t, "@user_script")) /* lua/dispatch.lua returns it before it has written anything */
        return classify_62(&t);

    if (word_in(&t, " LOADING BUSY TRYAGAIN CLUSTERDOWN MASTERDOWN NOREPLICAS "))
        return USHER__REDIS_RETRY;
    if (word_in(&t, " NOSCRIPT "))
        return USHER__REDIS_NOSCRIPT;
    if (word_in(&t, " MOVED "))
        return USHER__REDIS_MOVED;
    if (word_in(&t, " ASK "))
        return USHER__REDIS_ASK;
    if (word_in(&t, " READONLY OOM MISCONF NOAUTH WRONGPASS CROSSSLOT DENIED ") || at_the_door(&t))
        return USHER__REDIS_REFUSED;
    return USHER__REDIS_SCRIPT_ERROR;
}
