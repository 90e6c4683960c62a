/* SPDX-License-Identifier: MIT */
/* One descriptor for several events, for callers that can wait for one descriptor only. */
#include "config.h"

#include <poll.h>
#ifdef HAVE_SYS_EPOLL_H
#include <sys/epoll.h>
#endif

#include "store.h"

int usher__redis_loop_open(void)
{
#ifdef HAVE_SYS_EPOLL_H
    return epoll_create1(EPOLL_CLOEXEC);
#else
    return -1;
#endif
}

bool usher__redis_loop_set(int loop, const struct usher_wait *wait, bool *in_loop, bool waits_there)
{
#ifdef HAVE_SYS_EPOLL_H
    struct epoll_event event = { .events = 0 };

    if (*in_loop == waits_there || wait->fd < 0)
        return true;
    if ((wait->events & POLLIN) != 0)
        event.events |= EPOLLIN;
    if ((wait->events & POLLOUT) != 0)
        event.events |= EPOLLOUT;
    if (epoll_ctl(loop, waits_there ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, wait->fd, &event) != 0)
        return false;
    *in_loop = waits_there;
    return true;
#else
    (void)loop;
    (void)wait;
    (void)in_loop;
    return !waits_there;
#endif
}
