/* SPDX-License-Identifier: MIT */
/* The descriptors by which threads wait for posted commands and their events. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>
#ifdef HAVE_SYS_EVENTFD_H
#include <sys/eventfd.h>
#endif
#ifdef HAVE_SYS_EPOLL_H
#include <sys/epoll.h>
#endif

#include "engine/post_parts.h"

int usher__descriptor_open(void)
{
#ifdef HAVE_SYS_EVENTFD_H
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
#else
    errno = ENOSYS;
    return -1;
#endif
}

/* Open a descriptor that is readable while @fd or another added one is.  Return -1 on failure. */
int usher__descriptor_loop(int fd)
{
#ifdef HAVE_SYS_EPOLL_H
    struct epoll_event event = { .events = EPOLLIN };
    int loop = epoll_create1(EPOLL_CLOEXEC);

    if (loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) != 0) {
        (void)close(loop);
        loop = -1;
    }
    return loop;
#else
    (void)fd;
    return -1;
#endif
}

/* Add @wait of something under way to the loop, or remove it when a thread drives that.  A socket
 * must not be in the loop when it is closed, because a child of fork() may still have it open.
 * Return false if it cannot be added.  With the lock. */
bool usher__descriptor_loop_set(const struct usher__post *p, const struct usher_wait *wait,
                                bool waits)
{
#ifdef HAVE_SYS_EPOLL_H
    struct epoll_event event = { .events = 0 };

    if (wait->fd < 0)
        return true;
    if ((wait->events & POLLIN) != 0)
        event.events |= EPOLLIN;
    if ((wait->events & POLLOUT) != 0)
        event.events |= EPOLLOUT;
    return epoll_ctl(p->fd[USHER__LOOP], waits ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, wait->fd, &event) ==
           0;
#else
    (void)p;
    (void)wait;
    (void)waits;
    return false;
#endif
}

void usher__descriptors_close(struct usher__post *p)
{
    for (int i = 0; i < USHER__DESCRIPTORS; i++)
        if (p->fd[i] >= 0)
            (void)close(p->fd[i]);
}

/* Make it readable.  Safe in a signal handler. */
void usher__descriptor_raise(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);

    (void)n; /* it fails only if the counter is at its maximum */
}

void usher__descriptor_lower(int fd)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);

    (void)n; /* another thread may have lowered it */
}

void usher__descriptor_set(struct usher__post *p, enum usher__descriptor d, bool up)
{
    if (p->is_up[d] == up)
        return;
    p->is_up[d] = up;
    if (up)
        usher__descriptor_raise(p->fd[d]);
    else
        usher__descriptor_lower(p->fd[d]);
}
