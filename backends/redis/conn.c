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
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "conn_parts.h"

#define OUTPUT_FIRST ((size_t)4 << 10)
#define OUTPUT_KEEP ((size_t)1 << 20)   /* a larger buffer is not kept for the next batch */
#define READER_KEEP ((size_t)256 << 10) /* a reader of a longer reply is not kept either */
#define REQUESTS_FIRST ((size_t)64)
#define HEADER_MAX ((size_t)24) /* type, 20 digits, CR LF */

/* ---- time -------------------------------------------------------------------------- */

int64_t usher__redis_clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Wait for @events on @fd (-1: only for the deadline).  Return the events that are ready, 0 if the
 * deadline has passed, or -1 with errno. */
int usher__redis_conn_poll(int fd, short events, int64_t deadline)
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

/* ---- memory ------------------------------------------------------------------------ */

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
void usher__redis_conn_say_io(struct usher__redis_conn *c)
{
    const char *why = TLS(c) != NULL ? usher__redis_tls_text(TLS(c), &c->io_errno) : "";

    if (why[0] != '\0')
        usher__redis_conn_say(c, why, "");
    else
        usher__redis_conn_say_errno(c, "", c->io_errno);
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
void usher__redis_conn_wait_on(const struct usher__redis_conn *c, int64_t deadline)
{
    int64_t until = usher__redis_conn_until(c);
    short events;
    int fd = usher__redis_conn_wants(c, &events);

    (void)usher__redis_conn_poll(fd, events, until < deadline ? until : deadline);
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
static enum usher__redis_frame take(struct usher__redis_conn *c, redisReply **ret_reply)
{
    while (c->in_pos < c->in_len) {
        const char *p = c->in + c->in_pos;
        void *reply = NULL;
        size_t used;
        enum usher__redis_frame is =
            usher__redis_frame_scan(&c->scan, p, c->in_len - c->in_pos, &used);

        if (c->listens &&
            (c->scan.bytes > USHER__REDIS_MAX_MESSAGE || c->scan.elements > USHER__REDIS_MAX_PARTS))
            is = FRAME_BAD;
        if (is == FRAME_BAD) {
            /* an alert of a server that was greeted without TLS */
            usher__redis_conn_say(c,
                                  c->scan.type == 0x15
                                      ? "protocol error: the server speaks TLS: use `rediss:`"
                                      : "protocol error: not a reply of Redis, or too large",
                                  "");
            return FRAME_BAD;
        }
        c->in_pos += used;
        if (redisReaderFeed(c->reader, p, used) == REDIS_OK && is == FRAME_MORE)
            continue;
        if (redisReaderGetReply(c->reader, &reply) != REDIS_OK || reply == NULL) {
            if (c->reader->err == REDIS_ERR_OOM)
                usher__redis_conn_say(c, "out of memory for the reply", "");
            else
                usher__redis_conn_say(c, "protocol error: ", c->reader->errstr);
            return FRAME_BAD;
        }
        if (c->scan.bytes > c->reader_peak)
            c->reader_peak = c->scan.bytes;
        c->scan = (struct usher__redis_scanner){ 0 };
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
        usher__redis_conn_say(c, "connection closed by the server", "");
    else if (n == IO_FAILED)
        usher__redis_conn_say_io(c);
    return n > 0 || n == IO_AGAIN;
}

/* Return whether the connection has no input between two batches.  A server sends nothing then,
 * unless it closes the connection, perhaps with an error.  Without this check the first command
 * after a long pause would be `unknown`. */
static bool is_quiet(struct usher__redis_conn *c)
{
    redisReply *reply = NULL;
    enum usher__redis_frame is;

    if (c->in_pos == c->in_len && !fill(c))
        return false;
    if (c->in_pos == c->in_len)
        return true;
    is = take(c, &reply);
    if (is == FRAME_DONE && reply->type == REDIS_REPLY_ERROR)
        usher__redis_conn_explain(c, reply);
    else if (is != FRAME_BAD)
        usher__redis_conn_say(c, "protocol error: a reply without a request", "");
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

void usher__redis_conn_reset(struct usher__redis_conn *c)
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
        usher__redis_conn_reset(c);
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
        usher__redis_conn_say(
            c, status == USHER_NOMEM ? "out of memory" : "request with a wrong argument count", "");
        usher__redis_conn_discard(c);
    } else if (c->sent == c->out_len) {
        usher__redis_conn_reset(c);
    }
    return status;
}

void usher__redis_conn_listen(struct usher__redis_conn *c)
{
    USHER_ASSERT(c->stage == CONNECTED && c->batch != BATCH_SENT);
    usher__redis_conn_reset(c);
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
            usher__redis_conn_say(c, "request not made: replies are outstanding", "");
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
        usher__redis_conn_say(
            c, status == USHER_NOMEM ? "out of memory" : "request with a wrong argument count", "");
        return status;
    }
    if (c->fd < 0) {
        usher__redis_conn_say(c, "not connected", "");
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
            usher__redis_conn_say_io(c);
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
            usher__redis_conn_say(c, "protocol error: a reply without a request", "");
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
        usher__redis_conn_say(c, "out of memory", "");
        status = USHER_UNAVAILABLE;
    }
    while (status == USHER_OK) {
        enum usher__redis_frame is = take(c, ret_reply);

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
        usher__redis_conn_say(c, "no reply is outstanding", "");
        return USHER_INVALID;
    }
    c->just_sent = false;
    for (;;) {
        redisReply *reply = NULL;
        enum usher__redis_frame is = take(c, &reply);

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
    usher__redis_conn_say(c, "no answer in time", "");
    return lose(c);
}

bool usher__redis_conn_wait(struct usher__redis_conn *c, int64_t deadline_ms, bool *late)
{
    if (*late)
        return false;
    /* Read once more for bytes that have already arrived, but not for those that follow. */
    *late = usher__redis_clock_ms() >= deadline_ms;
    usher__redis_conn_wait_on(c, deadline_ms);
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
