/* SPDX-License-Identifier: MIT */
/* The URL of a server: usher+unix:PATH and usher+tcp:HOST:PORT, with
 * ?timeout=MS&password-file=FILE. */
#include "config.h"

#include "cli/remote_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <usher/store/store.h>

#include "parse/parse.h"

#define TIMEOUT_MS 10000

const char *usher__secret_read(const char *path, char secret[REMOTE_SECRET_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return strerror(errno);
    if (fstat(fd, &st) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        (void)close(fd);
        return "can be read or written by others than its owner (chmod 600)";
    }
    n = read(fd, secret, REMOTE_SECRET_MAX);
    (void)close(fd);
    if (n <= 0)
        return "has no password in its first line";
    if (n == REMOTE_SECRET_MAX)
        return "has more than 511 bytes";
    secret[n] = '\0';
    secret[strcspn(secret, "\r\n")] = '\0';
    return secret[0] != '\0' ? NULL : "has no password in its first line";
}

/* Read an option of the URL, of @size bytes.  Return NULL, or the fault. */
static const char *option(struct remote_place *p, const char *word, size_t size)
{
    char value[1024];
    const char *equals = memchr(word, '=', size);
    size_t key = equals != NULL ? (size_t)(equals - word) : size;

    if (equals == NULL ||
        usher_url_unescape(equals + 1, size - key - 1, value, sizeof value) != USHER_OK)
        return "has an option without a value";
    if (key == 7 && memcmp(word, "timeout", 7) == 0)
        return usher__parse_span(value, 1, 86400000, &p->timeout_ms) ? NULL : "has a wrong timeout";
    if (key == 13 && memcmp(word, "password-file", 13) == 0)
        return usher__secret_read(value, p->secret);
    return "has an unknown option: there are timeout and password-file";
}

/* Read HOST:PORT.  Return NULL, or the fault. */
static const char *tcp_address(struct remote_place *p, const char *where)
{
    struct sockaddr_in *to = (struct sockaddr_in *)(void *)&p->address;
    struct sockaddr_in6 *to6 = (struct sockaddr_in6 *)(void *)&p->address;
    const char *colon = strrchr(where, ':');
    char host[64];
    int64_t port;

    if (colon == NULL || colon == where || (size_t)(colon - where) >= sizeof host ||
        !usher__parse_int(colon + 1, 1, 65535, &port))
        return "has no HOST:PORT";
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - where), where);
    if (strcmp(host, "localhost") == 0)
        (void)snprintf(host, sizeof host, "127.0.0.1");
    if (inet_pton(AF_INET, host, &to->sin_addr) == 1 && ntohl(to->sin_addr.s_addr) >> 24 == 127) {
        to->sin_family = AF_INET;
        to->sin_port = htons((uint16_t)port);
        p->size = sizeof *to;
        return NULL;
    }
    memset(&p->address, 0, sizeof p->address);
    if (strcmp(host, "[::1]") != 0)
        return "has no address of this machine: connections are not encrypted";
    to6->sin6_family = AF_INET6;
    to6->sin6_addr = in6addr_loopback;
    to6->sin6_port = htons((uint16_t)port);
    p->size = sizeof *to6;
    return NULL;
}

#define UNIX "usher+unix:"
#define TCP "usher+tcp:"

bool usher__remote_is(const char *url)
{
    return strncmp(url, UNIX, strlen(UNIX)) == 0 || strncmp(url, TCP, strlen(TCP)) == 0;
}

const char *usher__remote_place(const char *url, struct remote_place *p)
{
    const char *rest = url, *fault = NULL;
    struct sockaddr_un *to = (struct sockaddr_un *)(void *)&p->address;
    size_t length;

    memset(p, 0, sizeof *p);
    p->timeout_ms = TIMEOUT_MS;
    p->file = strncmp(url, UNIX, strlen(UNIX)) == 0;
    rest += strlen(p->file ? UNIX : TCP);
    length = strcspn(rest, "?");
    if (strncmp(rest, "//", 2) == 0) {
        rest += 2;
        length -= 2;
    }
    if (length == 0 || usher_url_unescape(rest, length, p->what, sizeof p->what) != USHER_OK)
        return p->file ? "has no path" : "has no HOST:PORT";
    if (!p->file) {
        fault = tcp_address(p, p->what);
    } else if (strlen(p->what) >= sizeof to->sun_path) {
        fault = "has a path that is too long for a socket";
    } else {
        to->sun_family = AF_UNIX;
        memcpy(to->sun_path, p->what, strlen(p->what) + 1);
        p->size = sizeof *to;
    }
    for (rest += length; fault == NULL && *rest != '\0'; rest += length) {
        length = strcspn(++rest, "&");
        fault = option(p, rest, length);
    }
    return fault;
}
