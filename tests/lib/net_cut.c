/* SPDX-License-Identifier: MIT */
/* See net_cut.h. */
#include "config.h"

#include "lib/net_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include "lib/left_out.h"

const char *const net_cut_address[NET_CUT_ENDS] = { "192.0.2.1", "192.0.2.2" };

static char reason[256] = "no failure";

const char *net_cut_reason(void)
{
    return reason;
}

#ifdef __linux__
static int here(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static void be_in(int netns)
{
    if (setns(netns, CLONE_NEWNET) != 0) {
        perror("cable: setns");
        abort();
    }
}

static bool ip(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool ip(const char *format, ...)
{
    char words[160], command[200];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    (void)snprintf(command, sizeof command, "ip %s", words);
    if (system(command) == 0)
        return true;
    (void)snprintf(reason, sizeof reason, "`%s` fails", command);
    return false;
}

/* Link addresses of the ends. */
static const char *const mac[NET_CUT_ENDS] = { "02:00:00:00:00:01", "02:00:00:00:00:02" };

/* The address of the other end is known for good.  Otherwise the kernel could ask for it after the
 * carrier is lost, keep packets until the cable is plugged in again, and send them then, although
 * their connection was closed in the meantime. */
static bool plug_in(int end)
{
    return ip("link set lo up") && ip("address add %s/24 dev cable", net_cut_address[end]) &&
           ip("link set cable up") &&
           ip("neighbour replace %s lladdr %s dev cable nud permanent", net_cut_address[1 - end],
              mac[1 - end]);
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        (void)close(fd);
    return good;
}

/* A user namespace in which this process is root, with a network of its own. */
static bool become_root(void)
{
    char users[32], groups[32];

    (void)snprintf(users, sizeof users, "0 %u 1", (unsigned)getuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getgid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups) &&
           ip("link set lo up");
}

enum { AS_IT_IS, AS_ROOT, NOT_HERE };

void net_cut_prepare(void)
{
    struct net_cut c;
    int status;
    pid_t child = fork(); /* a process that has become root cannot go back */

    if (child == 0)
        _exit(net_cut_lay(&c) ? AS_IT_IS : become_root() && net_cut_lay(&c) ? AS_ROOT : NOT_HERE);
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == AS_ROOT && !become_root()) {
        perror("cable: a user namespace");
        abort();
    }
}

bool net_cut_lay(struct net_cut *c)
{
    bool good;

    memset(c, 0, sizeof *c);
    c->home = here();
    good = c->home > 0;
    for (int i = 0; i < NET_CUT_ENDS && good; i++)
        good = unshare(CLONE_NEWNET) == 0 && (c->end[i] = here()) > 0;
    if (!good)
        (void)snprintf(reason, sizeof reason, "no network namespaces here: %s", strerror(errno));
    /* in the last one */
    good =
        good &&
        ip("link add cable address %s type veth peer name cable address %s netns /proc/%ld/fd/%d",
           mac[1], mac[0], (long)getpid(), c->end[0]) &&
        plug_in(1);
    if (good) {
        be_in(c->end[0]);
        good = plug_in(0);
    }
    if (c->end[0] > 0) /* or it could not leave */
        be_in(c->home);
    if (!good)
        net_cut_done(c);
    return good;
}

void net_cut_enter(const struct net_cut *c, int end)
{
    be_in(c->end[end]);
}

/* The other end stays up, without a carrier: so addresses there are there still. */
static bool set(const struct net_cut *c, const char *to)
{
    bool good;

    be_in(c->end[1]);
    good = ip("link set cable %s", to);
    be_in(c->home);
    return good;
}

bool net_cut_pull(const struct net_cut *c)
{
    return set(c, "down");
}

bool net_cut_plug(const struct net_cut *c)
{
    return set(c, "up");
}

void net_cut_done(struct net_cut *c)
{
    if (c->home <= 0)
        return;
    if (c->end[0] > 0)
        be_in(c->home);
    for (int i = 0; i < NET_CUT_ENDS; i++)
        if (c->end[i] > 0)
            (void)close(c->end[i]);
    (void)close(c->home);
    memset(c, 0, sizeof *c);
}
#else
void net_cut_prepare(void)
{
}

bool net_cut_lay(struct net_cut *c)
{
    (void)c;
    (void)snprintf(reason, sizeof reason, "no network namespaces on this system");
    return false;
}

void net_cut_done(struct net_cut *c)
{
    (void)c;
}

void net_cut_enter(const struct net_cut *c, int end)
{
    (void)c;
    (void)end;
}

bool net_cut_pull(const struct net_cut *c)
{
    (void)c;
    return false;
}

bool net_cut_plug(const struct net_cut *c)
{
    (void)c;
    return false;
}
#endif

void net_cut_lay_or_skip(struct net_cut *c)
{
    if (!net_cut_lay(c))
        left_out(net_cut_reason());
}
