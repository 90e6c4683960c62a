/* SPDX-License-Identifier: MIT */
/* Listening sockets: socket files and loopback addresses, nothing that a network reaches. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/serve.h"
#include "parse/parse.h"

#define BACKLOG 511
#define INHERITED_FIRST 3 /* as systemd hands them over */

union address {
    struct sockaddr any;
    struct sockaddr_un file;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
};

static const char *add(struct server *s, int fd)
{
    if (s->n_listeners == SERVE_LISTEN_MAX)
        return "is one address too many (limit 16)";
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    s->listeners[s->n_listeners++] = (struct listener){ .fd = fd };
    return NULL;
}

/* ---- socket files ------------------------------------------------------------------------- */

/* Removes the socket file of a dead server.  NULL, or the reason why not. */
static const char *make_way(const union address *a)
{
    struct stat st;
    bool listens;
    int fd;

    if (lstat(a->file.sun_path, &st) != 0)
        return errno == ENOENT ? NULL : strerror(errno);
    if (!S_ISSOCK(st.st_mode))
        return "exists and is not a socket";
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return strerror(errno);
    /* one that accepts nothing, and has as many waiting as it may (EAGAIN), listens as well */
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    listens = connect(fd, &a->any, sizeof a->file) == 0 || errno != ECONNREFUSED;
    (void)close(fd);
    if (listens)
        return "is in use: another server listens there";
    return unlink(a->file.sun_path) == 0 || errno == ENOENT ? NULL : strerror(errno);
}

static const char *listen_file(struct server *s, const char *path)
{
    union address a;
    const char *fault;
    struct stat st;
    size_t size = strlen(path) + 1;
    int fd;

    memset(&a, 0, sizeof a);
    a.file.sun_family = AF_UNIX;
    if (size == 1 || size > sizeof a.file.sun_path)
        return "has no path, or one that is too long for a socket";
    memcpy(a.file.sun_path, path, size);
    fault = make_way(&a);
    if (fault != NULL)
        return fault;
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return strerror(errno);
    if (bind(fd, &a.any, sizeof a.file) != 0 || listen(fd, BACKLOG) != 0 || lstat(path, &st) != 0) {
        fault = strerror(errno);
        (void)close(fd);
        return fault;
    }
    fault = add(s, fd);
    if (fault == NULL) {
        struct listener *l = &s->listeners[s->n_listeners - 1];

        l->path = memcpy(usher__cli_resize(NULL, size), path, size);
        l->device = (uint64_t)st.st_dev;
        l->inode = (uint64_t)st.st_ino;
    }
    return fault;
}

/* ---- addresses ---------------------------------------------------------------------------- */

/* HOST:PORT, [::1]:PORT.  NULL, or what is wrong. */
static const char *read_address(const char *where, union address *ret, socklen_t *ret_size)
{
    const char *colon = strrchr(where, ':');
    char host[64];
    size_t size = colon != NULL ? (size_t)(colon - where) : 0;
    int64_t port;

    memset(ret, 0, sizeof *ret);
    if (colon == NULL || size == 0 || size >= sizeof host)
        return "is neither unix:PATH nor HOST:PORT";
    if (!usher__parse_int(colon + 1, 0, 65535, &port))
        return "has no port from 0 to 65535";
    memcpy(host, where, size);
    host[size] = '\0';
    if (strcmp(host, "localhost") == 0)
        (void)snprintf(host, sizeof host, "127.0.0.1");
    if (inet_pton(AF_INET, host, &ret->ip4.sin_addr) == 1) {
        ret->ip4.sin_family = AF_INET;
        ret->ip4.sin_port = htons((uint16_t)port);
        *ret_size = sizeof ret->ip4;
        return ntohl(ret->ip4.sin_addr.s_addr) >> 24 == 127
                   ? NULL
                   : "is not a loopback address (127.0.0.1, [::1]): connections are not encrypted; put a proxy or ssh in front";
    }
    if (size > 2 && host[0] == '[' && host[size - 1] == ']') {
        host[size - 1] = '\0';
        if (inet_pton(AF_INET6, host + 1, &ret->ip6.sin6_addr) == 1) {
            ret->ip6.sin6_family = AF_INET6;
            ret->ip6.sin6_port = htons((uint16_t)port);
            *ret_size = sizeof ret->ip6;
            return IN6_IS_ADDR_LOOPBACK(&ret->ip6.sin6_addr)
                       ? NULL
                       : "is not a loopback address (127.0.0.1, [::1]): connections are not encrypted; put a proxy or ssh in front";
        }
    }
    return "is not a loopback address: use 127.0.0.1, [::1] or localhost";
}

const char *usher__serve_bind(const char *where, int *ret_fd)
{
    union address a;
    socklen_t size = 0;
    const char *fault = read_address(where, &a, &size);
    int fd, on = 1;

    if (fault != NULL)
        return fault;
    fd = socket(a.any.sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        return strerror(errno);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &a.any, size) != 0 || listen(fd, BACKLOG) != 0) {
        fault = strerror(errno);
        (void)close(fd);
        return fault;
    }
    *ret_fd = fd;
    return NULL;
}

void usher__serve_address(int fd, char *to, size_t size)
{
    union address a;
    socklen_t length = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";

    memset(&a, 0, sizeof a);
    (void)getsockname(fd, &a.any, &length);
    if (a.any.sa_family == AF_UNIX)
        (void)snprintf(to, size, "unix:%.*s", (int)sizeof a.file.sun_path, a.file.sun_path);
    else if (a.any.sa_family == AF_INET)
        (void)snprintf(to, size, "%s:%u",
                       inet_ntop(AF_INET, &a.ip4.sin_addr, host, sizeof host) != NULL ? host : "?",
                       (unsigned)ntohs(a.ip4.sin_port));
    else
        (void)snprintf(to, size, "[%s]:%u",
                       inet_ntop(AF_INET6, &a.ip6.sin6_addr, host, sizeof host) != NULL ? host
                                                                                        : "?",
                       (unsigned)ntohs(a.ip6.sin6_port));
}

/* ---- all of them -------------------------------------------------------------------------- */

const char *usher__serve_listen(struct server *s, const char *where)
{
    const char *fault;
    int fd = -1;

    if (strncmp(where, "unix:", 5) == 0)
        return listen_file(s, where + 5);
    fault = usher__serve_bind(where, &fd);
    return fault != NULL ? fault : add(s, fd);
}

const char *usher__serve_inherit(struct server *s)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"), *fault = NULL;
    int64_t whose, n;

    if (pid == NULL || fds == NULL || !usher__parse_int(pid, 1, INT32_MAX, &whose) ||
        whose != (int64_t)getpid())
        return NULL;
    if (!usher__parse_int(fds, 0, SERVE_LISTEN_MAX, &n))
        return "LISTEN_FDS is not a number from 0 to 16";
    for (int fd = INHERITED_FIRST; fault == NULL && fd < INHERITED_FIRST + (int)n; fd++) {
        int listens = 0;
        socklen_t size = sizeof listens;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
            fault = "LISTEN_FDS: one of them does not listen";
        else
            fault = add(s, fd);
    }
    return fault;
}

void usher__serve_deaf(struct server *s)
{
    struct stat st;

    for (size_t i = 0; i < s->n_listeners; i++) {
        struct listener *l = &s->listeners[i];

        /* not that of another server, which has taken the place */
        if (l->path != NULL && lstat(l->path, &st) == 0 && (uint64_t)st.st_dev == l->device &&
            (uint64_t)st.st_ino == l->inode)
            (void)unlink(l->path);
        (void)usher__cli_resize(l->path, 0);
        (void)close(l->fd);
    }
    s->n_listeners = 0;
}
