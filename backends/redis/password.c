/* SPDX-License-Identifier: MIT */
/* The password of a connection: that of the URL, or the current one of a file or the application,
 * for passwords that change while a program runs. */
#include "config.h"

#include "redis.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

static enum usher_status refuse(struct usher__redis *r, const char *why)
{
    explicit_bzero(r->password, sizeof r->password);
    usher__redis_conn_refuse(r->conn, why);
    return USHER_UNAVAILABLE;
}

/* Read a whole regular file.  Return -1 if it is not one, is too long, or cannot be read. */
static ssize_t read_file(const char *path, char *to, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    size_t n = 0;
    ssize_t got = -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        do {
            got = read(fd, to + n, size - n);
            if (got > 0)
                n += (size_t)got;
        } while ((got > 0 && n < size) || (got < 0 && errno == EINTR));
    }
    (void)close(fd);
    return got < 0 || n == size ? -1 : (ssize_t)n;
}

static enum usher_status from_file(struct usher__redis *r)
{
    ssize_t got = read_file(r->password_file, r->password, sizeof r->password);
    size_t n = got > 0 ? (size_t)got : 0;

    if (got < 0)
        return refuse(r, "the file of password-file= cannot be read, or is too long");
    if (n > 0 && r->password[n - 1] == '\n')
        n--;
    if (n > 0 && r->password[n - 1] == '\r')
        n--;
    r->password[n] = '\0';
    if (strlen(r->password) != n || strchr(r->password, '\n') != NULL)
        return refuse(r, "the file of password-file= has more than one line");
    return n > 0 ? USHER_OK : refuse(r, "the file of password-file= is empty");
}

enum usher_status usher__redis_password(struct usher__redis *r)
{
    if (r->password_file[0] != '\0')
        return from_file(r);
    if (r->ask_password == NULL)
        return USHER_OK;
    if (!r->ask_password(r->log_payload, r->password, sizeof r->password))
        return refuse(r, "the application has no password");
    if (memchr(r->password, '\0', sizeof r->password) == NULL)
        return refuse(r, "the password of the application is too long");
    return USHER_OK;
}
