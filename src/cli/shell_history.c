/* SPDX-License-Identifier: MIT */
/* The history of the shell.  Failures are not reported, because the shell works without it. */
#include "config.h"

#include "cli/shell_history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define PAST_MAX (256u << 10) /* bytes; a longer file is cut to its newer half */
#define PAST_LINE 4096u       /* a longer line is not kept */

/* Create the directories of @path after its first @root bytes. */
static bool make_way(char *path, size_t root)
{
    for (char *p = path + root + 1; (p = strchr(p, '/')) != NULL; p++) {
        bool there;

        *p = '\0';
        there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!there)
            return false;
    }
    return true;
}

static bool find_file(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int size;

    if (state != NULL && state[0] == '/') {
        size = snprintf(path, PATH_MAX, "%s/usher/history", state);
        return size > 0 && size < PATH_MAX && make_way(path, 0);
    }
    if (home == NULL || home[0] != '/')
        return false;
    size = snprintf(path, PATH_MAX, "%s/.local/state/usher/history", home);
    /* the home itself is not created */
    return size > 0 && size < PATH_MAX && make_way(path, strlen(home));
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0600);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* Return the end of the file, from the beginning of a line on, or NULL if the file is empty. */
static char *newest(int fd, size_t max, size_t *ret_size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)max ? end - (off_t)max : 0;
    size_t size = end > 0 ? (size_t)(end - from) : 0;
    char *text, *begin;
    ssize_t n;

    if (size == 0)
        return NULL;
    text = usher__cli_resize(NULL, size + 1);
    n = pread(fd, text, size, from);
    text[n > 0 ? n : 0] = '\0';
    begin = from > 0 ? strchr(text, '\n') : text - 1;
    if (begin == NULL) {
        (void)usher__cli_resize(text, 0);
        return NULL;
    }
    *ret_size = strlen(begin + 1);
    memmove(text, begin + 1, *ret_size + 1);
    return text;
}

/* If the file is too long, replace it, and @fd, by a new one with its newer half. */
static int cut(const char *path, int fd)
{
    char beside[PATH_MAX];
    struct stat st;
    size_t size;
    char *text;
    int half;

    if (fstat(fd, &st) != 0 || st.st_size <= (off_t)PAST_MAX ||
        snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) >= (int)sizeof beside)
        return fd;
    half = open_file(beside, O_TRUNC);
    if (half < 0)
        return fd;
    text = newest(fd, PAST_MAX / 2, &size);
    if (text != NULL && write(half, text, size) == (ssize_t)size && rename(beside, path) == 0) {
        (void)close(fd);
        fd = half;
    } else {
        (void)close(half);
        (void)unlink(beside);
    }
    (void)usher__cli_resize(text, 0);
    return fd;
}

int usher__past_open(void (*fn)(void *payload, const char *line), void *payload)
{
    char path[PATH_MAX], *text, *line, *next;
    size_t size;
    int fd;

    if (!find_file(path))
        return -1;
    fd = open_file(path, 0);
    if (fd < 0)
        return -1;
    fd = cut(path, fd);
    text = newest(fd, PAST_MAX, &size);
    for (line = text; line != NULL && (next = strchr(line, '\n')) != NULL; line = next + 1) {
        *next = '\0';
        if (next > line)
            fn(payload, line);
    }
    (void)usher__cli_resize(text, 0);
    return fd;
}

void usher__past_add(int fd, const char *line, size_t size)
{
    char text[PAST_LINE];

    if (fd < 0 || size == 0 || size + 1 > sizeof text)
        return;
    memcpy(text, line, size);
    text[size] = '\n';
    if (write(fd, text, size + 1) < 0)
        return; /* a full disk is no reason to stop */
}
