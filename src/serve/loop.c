/* SPDX-License-Identifier: MIT */
/*
 * Sockets: accept clients, read, write, close.  One poll() a round, so the work is O(clients) a
 * round; under load a round has a command of each client.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <usher/command.h>

#include "serve/serve.h"
#include "serve/state.h"

#define ACCEPT_AT_ONCE 64
#define ACCEPT_AGAIN_MS 100
#define FLUSH_MS 2000 /* to write the last answers after a signal */
#define IDLE_LOOK_MS 1000

/* Set by a signal, which is all that it does. */
static volatile sig_atomic_t told_to_stop;

static void stop(int signal)
{
    (void)signal;
    told_to_stop = 1;
}

void usher__serve_say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    usher__cli_log(format, ap);
    va_end(ap);
}

int64_t usher__serve_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t usher__serve_now_ms(void)
{
    return usher__serve_now_us() / 1000;
}

/* ---- clients ------------------------------------------------------------------------------ */

static void client_close(struct server *s, size_t i)
{
    struct client *c = s->clients[i];

    usher__serve_forget(s, c);
    usher__viewer_free(c->viewer);
    (void)close(c->fd);
    usher__out_done(&c->out);
    (void)usher__cli_resize(c->in, 0);
    (void)usher__cli_resize(c->steps, 0);
    (void)usher__cli_resize(c, 0);
    s->clients[i] = s->clients[--s->n_clients];
}

static void client_new(struct server *s, int fd)
{
    struct client *c = usher__cli_resize(NULL, sizeof *c);
    int on = 1;

    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->id = ++s->last_id;
    c->known = s->secret[0] == '\0';
    c->need = 1;
    c->seen_ms = c->moved_ms = usher__serve_now_ms();
    /* of a socket file it fails, and does not matter */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (s->n_clients == s->clients_room) {
        s->clients_room = s->clients_room > 0 ? 2 * s->clients_room : 16;
        /* an array of pointers */
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        s->clients = usher__cli_resize((void *)s->clients, s->clients_room * sizeof *s->clients);
    }
    s->clients[s->n_clients++] = c;
    s->figures.accepted++;
}

static void turn_away(struct server *s, int fd)
{
    static const char why[] = "-ERR max number of clients reached\r\n";

    (void)send(fd, why, sizeof why - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(fd);
    if (s->figures.rejected++ == 0)
        usher__serve_say("a client was refused: %zu clients are connected (limit --clients=)",
                         s->n_clients);
}

static void accept_all(struct server *s, int listener)
{
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                s->accept_again_ms = usher__serve_now_ms() + ACCEPT_AGAIN_MS;
                usher__serve_say("a client cannot be accepted: %s", strerror(errno));
            }
            return;
        }
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (s->n_clients >= s->limits.clients)
            turn_away(s, fd);
        else
            client_new(s, fd);
    }
}

/* ---- bytes -------------------------------------------------------------------------------- */

/* Keeps at most one whole command, and the bytes after it that came with the same read. */
static void client_read(struct client *c, int64_t now_ms)
{
    ssize_t n;

    if (c->in_room - c->end < SERVE_READ / 4) {
        c->in_room = c->end + SERVE_READ;
        c->in = usher__cli_resize(c->in, c->in_room);
    }
    n = recv(c->fd, c->in + c->end, c->in_room - c->end, 0);
    if (n > 0) {
        c->end += (size_t)n;
        c->seen_ms = now_ms;
        c->ready = c->end - c->from >= c->need;
    } else if (n == 0) {
        c->hung_up = true;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        c->hung_up = c->deaf = true;
    }
}

void usher__serve_write(struct client *c)
{
    size_t size = usher__out_size(&c->out);
    ssize_t n;

    if (size == 0 || c->gone)
        return;
    n = send(c->fd, c->out.data + c->out.from, size, MSG_NOSIGNAL);
    if (n > 0) {
        usher__out_wrote(&c->out, (size_t)n);
        c->seen_ms = c->moved_ms = usher__serve_now_ms();
    } else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        c->deaf = true;
    }
    if (c->deaf)
        usher__out_wrote(&c->out, usher__out_size(&c->out));
}

/* A reader is slow if a message was left out because more waits for it than may, or if half of that
 * waits for it and it has taken nothing for a while. */
static void judge(struct server *s, struct client *c, int64_t now_ms)
{
    if (!usher__serve_is_stuck(s, c))
        c->moved_ms = now_ms;
    if (c->gone || (!c->slow && now_ms - c->moved_ms <= s->limits.slow_ms))
        return;
    usher__serve_say("client %llu closed: it does not read, and %zu bytes wait for it",
                     (unsigned long long)c->id, usher__out_size(&c->out));
    s->figures.slow++;
    c->gone = true;
}

/* Reads what a client sends after a protocol error: unread bytes would destroy our answer to it. */
static void drain(const struct client *c)
{
    char bytes[4096];

    (void)shutdown(c->fd, SHUT_WR);
    for (int i = 0; i < 16 && recv(c->fd, bytes, sizeof bytes, 0) > 0; i++)
        ;
}

static void write_all(struct server *s)
{
    int64_t now_ms = usher__serve_now_ms();

    s->figures.out_bytes = s->figures.out_most = 0;
    for (size_t i = 0; i < s->n_clients; i++) {
        struct client *c = s->clients[i];
        size_t size;

        usher__serve_write(c);
        judge(s, c, now_ms);
        size = usher__out_size(&c->out);
        s->figures.out_bytes += size;
        if (size > s->figures.out_most)
            s->figures.out_most = size;
        if (c->closing && size == 0) {
            drain(c);
            c->gone = true;
        }
        /* what it has sent before it hung up is done */
        if (c->hung_up && !c->ready && !c->waits && size == 0)
            c->gone = true;
    }
    for (size_t i = s->n_clients; i-- > 0;)
        if (s->clients[i]->gone)
            client_close(s, i);
    s->figures.clients = s->n_clients;
}

static void close_idle(struct server *s, int64_t now_ms)
{
    if (s->limits.idle_ms == 0)
        return;
    for (size_t i = s->n_clients; i-- > 0;) {
        struct client *c = s->clients[i];

        if (c->channels == 0 && !c->ready && !c->waits && now_ms - c->seen_ms > s->limits.idle_ms) {
            s->figures.idle++;
            client_close(s, i);
        }
    }
}

/* ---- rounds ------------------------------------------------------------------------------- */

static bool is_ready(const struct server *s)
{
    for (size_t i = 0; i < s->n_clients; i++)
        if (s->clients[i]->ready && !s->clients[i]->waits &&
            !usher__serve_is_stuck(s, s->clients[i]))
            return true;
    return false;
}

static int shorter(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* The time until there is work without input from a client; ms, -1: for ever. */
static int patience(const struct server *s, int64_t now_ms)
{
    int wait = -1;

    if (is_ready(s) || usher__serve_can_resume(s))
        return 0;
    if (usher__serve_watches(s))
        wait = shorter(wait, (int)usher_timeout(s->cli->engine));
    if (s->limits.idle_ms != 0 && s->n_clients > 0)
        wait = shorter(wait, IDLE_LOOK_MS);
    if (s->figures.out_most >= s->limits.out / 2)
        wait = shorter(wait, s->limits.slow_ms < IDLE_LOOK_MS ? (int)s->limits.slow_ms + 1
                                                              : IDLE_LOOK_MS);
    if (s->accept_again_ms > now_ms)
        wait = shorter(wait, (int)(s->accept_again_ms - now_ms));
    wait = shorter(wait, usher__viewers_timeout(s));
    return shorter(wait, usher__serve_http_timeout(s));
}

static void watch_fd(struct server *s, size_t *n, int fd, short events)
{
    s->polled[(*n)++] = (struct pollfd){ .fd = fd, .events = events };
}

/* Clients come first, in their order; then the listening sockets, the engine, HTTP, the threads. */
static size_t polled(struct server *s, int64_t now_ms)
{
    size_t n = 0, wanted = s->n_clients + SERVE_LISTEN_MAX + 3;

    if (s->polled_room < wanted) {
        s->polled_room = 2 * wanted;
        s->polled = usher__cli_resize(s->polled, s->polled_room * sizeof *s->polled);
    }
    for (size_t i = 0; i < s->n_clients; i++) {
        const struct client *c = s->clients[i];
        bool reads = c->steps == NULL && !c->ready && !c->waits && !c->hung_up && !c->closing;

        watch_fd(s, &n, c->fd,
                 (short)((reads ? POLLIN : 0) | (usher__out_size(&c->out) > 0 ? POLLOUT : 0)));
    }
    for (size_t i = 0; i < s->n_listeners; i++)
        watch_fd(s, &n, s->accept_again_ms > now_ms ? -1 : s->listeners[i].fd, POLLIN);
    watch_fd(s, &n, usher__serve_watches(s) ? usher_fd(s->cli->engine) : -1, POLLIN);
    watch_fd(s, &n, usher__serve_http_fd(s), POLLIN);
    watch_fd(s, &n, usher__serve_work_fd(s), POLLIN);
    return n;
}

static void read_all(struct server *s, size_t clients, int64_t now_ms)
{
    for (size_t i = 0; i < clients; i++) {
        struct client *c = s->clients[i];

        if ((s->polled[i].revents & POLLIN) != 0)
            client_read(c, now_ms);
        else if ((s->polled[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 && !c->ready)
            c->gone = true; /* otherwise its commands are done first, and it is read to its end */
    }
    for (size_t i = 0; i < s->n_listeners; i++)
        if ((s->polled[clients + i].revents & POLLIN) != 0)
            accept_all(s, s->polled[clients + i].fd);
}

/* Answer the clients whose state has been read. */
static void answer_viewers(struct server *s)
{
    for (size_t i = 0; i < s->n_clients; i++) {
        struct client *c = s->clients[i];
        const char *json;
        size_t size;

        if (c->viewer == NULL || !usher__viewer_has(c->viewer))
            continue;
        json = usher__viewer_json(c->viewer, &size);
        usher__out_map(&c->out, c->resp3, 1);
        usher__out_word(&c->out, "state");
        usher__out_text(&c->out, json, size - 1); /* without the newline */
        usher__viewer_free(c->viewer);
        c->viewer = NULL;
        c->waits = false;
        c->ready = !c->closing && c->end - c->from >= c->need;
    }
}

static void one_round(struct server *s, const sigset_t *mask)
{
    size_t clients = s->n_clients, n;
    int64_t now_ms = usher__serve_now_ms(), began_us;
    int wait = patience(s, now_ms);
    struct timespec t = { wait / 1000, (long)(wait % 1000) * 1000000 };

    n = polled(s, now_ms);
    if (ppoll(s->polled, n, wait < 0 ? NULL : &t, mask) < 0)
        return; /* a signal */
    began_us = usher__serve_now_us();
    read_all(s, clients, began_us / 1000);
    usher__serve_work_collect(s);
    usher__serve_round(s, began_us);
    usher__viewers_run(s);
    answer_viewers(s);
    write_all(s);
    close_idle(s, began_us / 1000);
    usher__serve_http_run(s);
}

/* Executes the commands that were read, and writes the answers to clients that read them soon. */
static void finish(struct server *s)
{
    int64_t end_ms = usher__serve_now_ms() + FLUSH_MS, left;

    while ((is_ready(s) || s->figures.out_bytes > 0) &&
           (left = end_ms - usher__serve_now_ms()) > 0) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_clients; i++)
            if (usher__out_size(&s->clients[i]->out) > 0)
                watch_fd(s, &n, s->clients[i]->fd, POLLOUT);
        if (is_ready(s))
            usher__serve_round(s, usher__serve_now_us());
        else if (poll(s->polled, n, (int)left) <= 0)
            break;
        write_all(s);
    }
    while (s->n_clients > 0)
        client_close(s, s->n_clients - 1);
}

void usher__serve_loop(struct server *s)
{
    struct sigaction action;
    sigset_t blocked, mask;

    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN; /* the reader of the log may end */
    (void)sigaction(SIGPIPE, &action, NULL);
    /* they come while it waits, or not at all */
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigaddset(&blocked, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &blocked, &mask);
    while (!told_to_stop && s->gone[0] == '\0')
        one_round(s, &mask);
    usher__serve_deaf(s);
    finish(s);
}
