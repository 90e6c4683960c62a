/* SPDX-License-Identifier: MIT */
/*
 * proxy -- see proxy.h.
 *
 * One thread runs a poll() loop.  It holds the lock except inside poll(), so whatever a
 * test sets is either before or after a step of the loop.  Connections belong to the
 * thread alone; to close them the test asks and waits for the loop's next turn.
 *
 * A connection keeps one mark for each request in flight, because replies come in the
 * order of requests: the mark says what happens to the reply.  A request is judged when
 * it is complete, a reply likewise; only whole ones move on, unless a fault cuts them.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proxy.h"

#include "lib/util.h"

#define READ_MAX 65536
#define HELD_MAX ((size_t)8 << 20) /* stop reading one side while the other lags */
#define MATCH_MAX 256

struct bytes {
    char *p;
    size_t n, room;
};

/* How far a RESP value has been looked at. */
struct scan {
    size_t at;
    uint64_t missing; /* values still to come inside it; 0: not begun */
};

enum mark_kind { MARK_PASS, MARK_SWALLOW, MARK_CUT, MARK_ANSWER };

struct mark {
    enum mark_kind kind;
    unsigned arming; /* which proxy_arm() it counts for */
    size_t bytes;
};

struct conn {
    struct conn *next;
    int client, server; /* -1: closed */
    bool is_raw;        /* not RESP: just pass bytes */
    bool is_lost;       /* the blackhole took bytes of it */
    bool client_ended;  /* it sends no more, or we want no more of it */
    bool server_ended;
    bool break_now;                  /* close as soon as @down is sent */
    int64_t drip_at;                 /* when the next byte may leave */
    struct bytes in, up, back, down; /* client > in > up > server > back > down > client */
    struct scan request, reply;
    struct mark *marks; /* a queue: marks[first .. first + count) */
    size_t first, count, room;
};

struct proxy {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turned; /* @turns or @fired changed */
    int listener, port;
    int wake[2];
    struct conn *conns; /* the thread's */

    /* under the lock */
    int target;
    bool stop, is_paused, is_blackhole, is_refusing, is_shut, drop;
    int64_t drip_us;
    enum proxy_fault_kind kind;
    unsigned skip, times, fired, arming;
    size_t bytes;
    char match[MATCH_MAX];
    struct bytes answer;
    uint64_t asked, turns; /* the loop has done all that was asked before @turns */
    struct proxy_counts counts;
};

static void die(const char *what)
{
    fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- bytes ---- */

static void *grow(void *p, size_t size)
{
    p = realloc(p, size);
    if (p == NULL)
        die("realloc");
    return p;
}

static void bytes_put(struct bytes *b, const char *p, size_t n)
{
    if (n == 0)
        return;
    if (n > b->room - b->n) {
        b->room = (b->n + n) * 2;
        b->p = grow(b->p, b->room);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void bytes_drop(struct bytes *b, size_t n)
{
    b->n -= n;
    if (b->n > 0)
        memmove(b->p, b->p + n, b->n);
}

/* ---- RESP2 ---- */

/* A count after a type byte, -1 for null. */
static bool read_count(const char *p, const char *end, int64_t *ret)
{
    int64_t n = 0;

    if (end - p == 2 && p[0] == '-' && p[1] == '1') {
        *ret = -1;
        return true;
    }
    if (p == end || end - p > 15)
        return false;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9')
            return false;
        n = n * 10 + (*p - '0');
    }
    *ret = n;
    return true;
}

/* Goes on where @s stopped.  1: a whole value ends at s->at; 0: more bytes are needed;
 * -1: this is not RESP2. */
static int scan_value(struct scan *s, const struct bytes *b)
{
    if (s->missing == 0) {
        s->missing = 1;
        s->at = 0;
    }
    while (s->missing > 0) {
        const char *line = b->p + s->at, *cr;
        size_t left = b->n - s->at, used;
        int64_t n;

        if (left == 0)
            return 0;
        if (line[0] == '\0' || strchr("+-:$*", line[0]) == NULL)
            return -1;
        cr = memchr(line, '\r', left);
        if (cr == NULL || (size_t)(cr - line) + 2 > left)
            return 0;
        if (cr[1] != '\n')
            return -1;
        used = (size_t)(cr - line) + 2;
        if (line[0] == '$' || line[0] == '*') {
            if (!read_count(line + 1, cr, &n))
                return -1;
            if (line[0] == '*' && n > 0)
                s->missing += (uint64_t)n;
            if (line[0] == '$' && n >= 0)
                used += (size_t)n + 2;
        }
        if (used > left)
            return 0;
        s->at += used;
        s->missing--;
    }
    return 1;
}

/* ---- one connection ---- */

static void push_mark(struct conn *c, struct mark m)
{
    if (c->first + c->count == c->room) {
        if (c->first > 0) {
            memmove(c->marks, c->marks + c->first, c->count * sizeof *c->marks);
            c->first = 0;
        } else {
            c->room = c->room * 2 + 16;
            c->marks = grow(c->marks, c->room * sizeof *c->marks);
        }
    }
    c->marks[c->first + c->count++] = m;
}

static void pop_mark(struct conn *c)
{
    c->first = --c->count > 0 ? c->first + 1 : 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void conn_free(struct conn *c)
{
    close_fd(&c->client);
    close_fd(&c->server);
    free(c->in.p);
    free(c->up.p);
    free(c->back.p);
    free(c->down.p);
    free(c->marks);
    free(c);
}

static void count_hit(struct proxy *p, unsigned arming)
{
    p->counts.cut++;
    if (arming == p->arming)
        p->fired++;
}

/* The armed fault's kind if it is this request's turn. */
static enum proxy_fault_kind fault_for(struct proxy *p, const char *request, size_t n)
{
    size_t len = strlen(p->match);

    if (p->kind == PROXY_NO_FAULT || p->times == 0)
        return PROXY_NO_FAULT;
    if (len > 0 && memmem(request, n, p->match, len) == NULL)
        return PROXY_NO_FAULT;
    if (p->skip > 0) {
        p->skip--;
        return PROXY_NO_FAULT;
    }
    p->times--;
    return p->kind;
}

static void take_request(struct proxy *p, struct conn *c, size_t n)
{
    struct mark m = { MARK_PASS, p->arming, p->bytes };
    size_t sent = n;

    switch (fault_for(p, c->in.p, n)) {
    case PROXY_NO_FAULT:
        break;
    case PROXY_SWALLOW_REPLY:
        m.kind = MARK_SWALLOW;
        break;
    case PROXY_CUT_REPLY:
        m.kind = MARK_CUT;
        break;
    case PROXY_ANSWER:
        m.kind = MARK_ANSWER;
        sent = 0;
        break;
    case PROXY_DROP_REQUEST:
        c->client_ended = true;
        sent = 0;
        break;
    case PROXY_CUT_REQUEST:
        if (p->bytes >= n) { /* whole: it will run and have a reply */
            m.kind = MARK_SWALLOW;
            break;
        }
        c->client_ended = true;
        sent = p->bytes;
        break;
    }
    bytes_put(&c->up, c->in.p, sent);
    if (c->client_ended)
        count_hit(p, p->arming);
    else
        push_mark(c, m);
    if (sent == n)
        p->counts.requests++;
    bytes_drop(&c->in, n);
}

static void take_requests(struct proxy *p, struct conn *c)
{
    int found = 0;

    while (!c->is_raw && !c->client_ended && (found = scan_value(&c->request, &c->in)) == 1)
        take_request(p, c, c->request.at);
    /* Redis takes commands as arrays only; anything else is its own protocol. */
    if (found < 0 || (c->in.n > 0 && c->in.p[0] != '*'))
        c->is_raw = true;
    if (c->is_raw) {
        bytes_put(&c->up, c->in.p, c->in.n);
        c->in.n = 0;
    }
}

/* Replies that this proxy makes up leave when those before them have. */
static void give_answers(struct proxy *p, struct conn *c)
{
    while (c->count > 0 && c->marks[c->first].kind == MARK_ANSWER) {
        bytes_put(&c->down, p->answer.p, p->answer.n);
        p->counts.replies++;
        if (c->marks[c->first].arming == p->arming)
            p->fired++;
        pop_mark(c);
    }
}

static void take_reply(struct proxy *p, struct conn *c, size_t n)
{
    struct mark m = { MARK_PASS, 0, 0 };
    size_t sent = n;

    if (c->count > 0) {
        m = c->marks[c->first];
        pop_mark(c);
    }
    if (m.kind == MARK_SWALLOW)
        sent = 0;
    else if (m.kind == MARK_CUT)
        sent = m.bytes < n ? m.bytes : n;
    bytes_put(&c->down, c->back.p, sent);
    if (m.kind == MARK_PASS) {
        p->counts.replies++;
    } else {
        count_hit(p, m.arming);
        c->break_now = true;
    }
    bytes_drop(&c->back, n);
}

static void take_replies(struct proxy *p, struct conn *c)
{
    int found = 0;

    give_answers(p, c);
    while (!c->is_raw && !c->break_now && (found = scan_value(&c->reply, &c->back)) == 1) {
        take_reply(p, c, c->reply.at);
        if (!c->break_now)
            give_answers(p, c);
    }
    if (c->break_now)
        return;
    if (found < 0)
        c->is_raw = true;
    /* Half a reply of a server that ends passes on, unless it was to be hit. */
    if (c->is_raw || (c->server_ended && (c->count == 0 || c->marks[c->first].kind == MARK_PASS))) {
        bytes_put(&c->down, c->back.p, c->back.n);
        c->back.n = 0;
    }
}

/* Returns whether the connection sends no more. */
static bool receive(int fd, struct bytes *b)
{
    char buf[READ_MAX];
    ssize_t n = recv(fd, buf, sizeof buf, 0);

    if (n > 0)
        bytes_put(b, buf, (size_t)n);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Returns whether the other side takes no more. */
static bool transmit(int fd, struct bytes *b, size_t max)
{
    ssize_t n = send(fd, b->p, b->n < max ? b->n : max, MSG_NOSIGNAL);

    if (n > 0)
        bytes_drop(b, (size_t)n);
    return n < 0 && errno != EAGAIN && errno != EINTR;
}

/* Until the next byte may leave. */
static int64_t drip_left(const struct proxy *p, const struct conn *c)
{
    return p->drip_us > 0 ? c->drip_at - clock_us() : 0;
}

static void serve_client(struct proxy *p, struct conn *c, short events)
{
    if (events & (POLLIN | POLLHUP | POLLERR) && !c->client_ended) {
        if (receive(c->client, &c->in))
            c->client_ended = true;
        if (p->is_blackhole) {
            c->is_lost = c->is_lost || c->in.n > 0;
            c->in.n = 0;
        } else {
            bool ended = c->client_ended;

            c->client_ended = false; /* what came with the end still counts */
            take_requests(p, c);
            c->client_ended = c->client_ended || ended;
            give_answers(p, c);
        }
    }
    if (events & (POLLOUT | POLLHUP | POLLERR) && c->down.n > 0 && drip_left(p, c) <= 0) {
        if (transmit(c->client, &c->down, p->drip_us > 0 ? 1 : c->down.n)) {
            c->client_ended = true;
            c->down.n = 0;
            close_fd(&c->client);
        }
        c->drip_at = clock_us() + p->drip_us;
    }
}

static void serve_server(struct proxy *p, struct conn *c, short events)
{
    if (events & (POLLOUT | POLLHUP | POLLERR) && c->up.n > 0 &&
        transmit(c->server, &c->up, c->up.n))
        c->up.n = 0; /* its end will be read, after what it still said */
    if (events & (POLLIN | POLLHUP | POLLERR) && !c->server_ended) {
        if (receive(c->server, &c->back))
            c->server_ended = true;
        take_replies(p, c);
    }
}

static bool is_over(const struct proxy *p, const struct conn *c)
{
    if (c->is_lost && !p->is_blackhole)
        return true;
    if (c->down.n > 0 && c->client >= 0)
        return false;
    if (c->break_now || c->server_ended)
        return true;
    /* Without its client a connection lives until the server has answered all that was
     * sent: those commands were on their way and must run. */
    return c->client_ended && c->up.n == 0 && (c->count == 0 || c->is_raw || c->is_lost);
}

/* ---- sockets ---- */

static void set_flags(int fd)
{
    int one = 1;

    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET };

    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* Return a socket bound to @port (0: any) that does not listen: connecting is refused, and no other
 * process gets the port. */
static int bind_port(int port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    if (fd < 0)
        return -1;
    set_flags(fd);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_to(int port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0)
        return -1;
    if (port == 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        return -1;
    }
    set_flags(fd);
    return fd;
}

static void accept_one(struct proxy *p)
{
    struct conn *c;
    int fd = accept(p->listener, NULL, NULL);

    if (fd < 0)
        return;
    set_flags(fd);
    p->counts.connections++;
    c = grow(NULL, sizeof *c);
    memset(c, 0, sizeof *c);
    c->client = fd;
    c->server = connect_to(p->target);
    c->server_ended = c->server < 0;
    c->next = p->conns;
    p->conns = c;
}

/* ---- the loop ---- */

static void shut(struct proxy *p, bool on)
{
    if (on) {
        close(p->listener);
        p->listener = bind_port(p->port);
    }
    if (p->listener < 0 || (!on && listen(p->listener, 64) != 0))
        die("port");
    p->is_shut = on;
}

static void reap(struct proxy *p)
{
    struct conn **at = &p->conns, *c;

    while ((c = *at) != NULL) {
        if (p->drop || is_over(p, c)) {
            *at = c->next;
            conn_free(c);
        } else {
            at = &c->next;
        }
    }
    p->drop = false;
}

/* @wait_us falls to the next byte that may leave. */
static void conn_poll(const struct proxy *p, const struct conn *c, struct pollfd fds[2],
                      int64_t *wait_us)
{
    int64_t left = drip_left(p, c);

    fds[0] = (struct pollfd){ -1, 0, 0 };
    fds[1] = (struct pollfd){ -1, 0, 0 };
    if (p->is_paused)
        return;
    if (!c->client_ended && c->up.n < HELD_MAX)
        fds[0].events |= POLLIN;
    if (c->down.n > 0 && c->client >= 0) {
        if (left <= 0)
            fds[0].events |= POLLOUT;
        else if (*wait_us < 0 || left < *wait_us)
            *wait_us = left;
    }
    if (!c->server_ended && !c->break_now && c->down.n < HELD_MAX)
        fds[1].events |= POLLIN;
    if (c->up.n > 0)
        fds[1].events |= POLLOUT;
    if (fds[0].events != 0)
        fds[0].fd = c->client;
    if (fds[1].events != 0)
        fds[1].fd = c->server;
}

static void *loop(void *payload)
{
    struct proxy *p = payload;
    struct pollfd *fds = NULL;
    char drain[64];

    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct conn *c;
        struct timespec limit, *timeout = NULL;
        int64_t wait_us = -1;
        size_t n = 2;

        if (p->is_refusing != p->is_shut)
            shut(p, p->is_refusing);
        if (!p->is_paused || p->drop)
            reap(p);
        p->turns = p->asked;
        pthread_cond_broadcast(&p->turned);

        for (c = p->conns; c != NULL; c = c->next)
            n += 2;
        fds = grow(fds, n * sizeof *fds);
        fds[0] = (struct pollfd){ p->wake[0], POLLIN, 0 };
        fds[1] = (struct pollfd){ p->is_shut || p->is_paused ? -1 : p->listener, POLLIN, 0 };
        n = 2;
        for (c = p->conns; c != NULL; c = c->next, n += 2)
            conn_poll(p, c, fds + n, &wait_us);
        if (wait_us >= 0) {
            limit.tv_sec = (time_t)(wait_us / 1000000);
            limit.tv_nsec = (long)(wait_us % 1000000) * 1000;
            timeout = &limit;
        }

        pthread_mutex_unlock(&p->lock);
        if (ppoll(fds, (nfds_t)n, timeout, NULL) < 0 && errno != EINTR)
            die("ppoll");
        pthread_mutex_lock(&p->lock);

        if (fds[0].revents != 0 && read(p->wake[0], drain, sizeof drain) < 0 && errno != EAGAIN)
            die("read");
        /* A request that came since then goes first: start another turn. */
        if (p->turns != p->asked)
            continue;
        n = 2;
        for (c = p->conns; c != NULL; c = c->next, n += 2) {
            serve_client(p, c, fds[n].revents);
            serve_server(p, c, fds[n + 1].revents);
        }
        if (fds[1].revents != 0)
            accept_one(p);
    }
    p->drop = true;
    reap(p);
    pthread_mutex_unlock(&p->lock);
    free(fds);
    return NULL;
}

/* ---- for the test ---- */

/* With the lock held: wakes the loop and waits until it has turned. */
static void ask(struct proxy *p)
{
    uint64_t mine = ++p->asked;

    if (write(p->wake[1], "", 1) < 0 && errno != EAGAIN)
        die("write");
    while (p->turns < mine)
        pthread_cond_wait(&p->turned, &p->lock);
}

struct proxy *proxy_start(int port)
{
    struct proxy *p = grow(NULL, sizeof *p);
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    pthread_condattr_t attr;
    sigset_t all, old;

    memset(p, 0, sizeof *p);
    p->target = port;
    p->listener = bind_port(0);
    if (p->listener < 0 || listen(p->listener, 64) != 0 ||
        getsockname(p->listener, (struct sockaddr *)&a, &len) != 0 || pipe(p->wake) != 0) {
        close_fd(&p->listener);
        free(p);
        return NULL;
    }
    p->port = ntohs(a.sin_port);
    for (int i = 0; i < 2; i++)
        if (fcntl(p->wake[i], F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(p->wake[i], F_SETFL, O_NONBLOCK) != 0)
            die("fcntl");
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->turned, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the test's threads */
    errno = pthread_create(&p->thread, NULL, loop, p);
    if (errno != 0)
        die("pthread_create");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return p;
}

void proxy_stop(struct proxy *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    if (write(p->wake[1], "", 1) < 0 && errno != EAGAIN)
        die("write");
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->turned);
    pthread_mutex_destroy(&p->lock);
    close_fd(&p->listener);
    close_fd(&p->wake[0]);
    close_fd(&p->wake[1]);
    free(p->answer.p);
    free(p);
}

int proxy_port(const struct proxy *p)
{
    return p->port;
}

void proxy_set_target(struct proxy *p, int port)
{
    pthread_mutex_lock(&p->lock);
    p->target = port;
    pthread_mutex_unlock(&p->lock);
}

void proxy_arm(struct proxy *p, const struct proxy_fault *f)
{
    const char *match = f->match != NULL ? f->match : "";
    const char *reply = f->reply != NULL ? f->reply : "";

    if (strlen(match) >= MATCH_MAX) {
        errno = EINVAL;
        die("proxy_arm");
    }
    pthread_mutex_lock(&p->lock);
    p->kind = f->kind;
    snprintf(p->match, sizeof p->match, "%s", match);
    p->answer.n = 0;
    bytes_put(&p->answer, reply, f->reply_size > 0 ? f->reply_size : strlen(reply));
    p->skip = f->skip;
    p->times = f->times > 0 ? f->times : 1;
    p->bytes = f->bytes;
    p->fired = 0;
    p->arming++;
    pthread_mutex_unlock(&p->lock);
}

unsigned proxy_fired(struct proxy *p)
{
    unsigned n;

    pthread_mutex_lock(&p->lock);
    n = p->fired;
    pthread_mutex_unlock(&p->lock);
    return n;
}

bool proxy_wait_fired(struct proxy *p, unsigned n, int timeout_ms)
{
    struct timespec until;
    int64_t end = clock_us() + (int64_t)timeout_ms * 1000;
    bool done;

    until.tv_sec = (time_t)(end / 1000000);
    until.tv_nsec = (long)(end % 1000000) * 1000;
    pthread_mutex_lock(&p->lock);
    while (p->fired < n && pthread_cond_timedwait(&p->turned, &p->lock, &until) == 0)
        continue;
    done = p->fired >= n;
    pthread_mutex_unlock(&p->lock);
    return done;
}

void proxy_set_drip(struct proxy *p, int64_t delay_us)
{
    pthread_mutex_lock(&p->lock);
    p->drip_us = delay_us;
    ask(p);
    pthread_mutex_unlock(&p->lock);
}

void proxy_set_blackhole(struct proxy *p, bool on)
{
    pthread_mutex_lock(&p->lock);
    p->is_blackhole = on;
    ask(p);
    pthread_mutex_unlock(&p->lock);
}

void proxy_set_paused(struct proxy *p, bool on)
{
    pthread_mutex_lock(&p->lock);
    p->is_paused = on;
    ask(p);
    pthread_mutex_unlock(&p->lock);
}

void proxy_set_refuse(struct proxy *p, bool on)
{
    pthread_mutex_lock(&p->lock);
    p->is_refusing = on;
    ask(p);
    pthread_mutex_unlock(&p->lock);
}

void proxy_drop(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->drop = true;
    ask(p);
    pthread_mutex_unlock(&p->lock);
}

void proxy_count(struct proxy *p, struct proxy_counts *ret)
{
    pthread_mutex_lock(&p->lock);
    *ret = p->counts;
    pthread_mutex_unlock(&p->lock);
}
