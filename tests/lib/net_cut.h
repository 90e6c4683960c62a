/* SPDX-License-Identifier: MIT */
/*
 * net_cut -- two network namespaces and a cable between them that can be pulled out, for tests of
 * servers that cannot reach each other.
 *
 * The namespaces have no name outside of this process, and no packet leaves them.  They end with
 * their last process and descriptor, and the cable with them.  net_cut needs the program ip, and
 * CAP_SYS_ADMIN and CAP_NET_ADMIN: root has them, and an ordinary user has them in a user namespace
 * (net_cut_prepare()), unless the machine forbids it.
 */
#ifndef USHER_LIB_NET_CUT_H
#define USHER_LIB_NET_CUT_H

#include <stdbool.h>

#define NET_CUT_ENDS 2

struct net_cut {
    int home;              /* the namespace of the thread that made it */
    int end[NET_CUT_ENDS]; /* descriptors of namespaces, for redis_server_options.netns */
};

/* Addresses for documentation (RFC 5737), which no host has. */
extern const char *const net_cut_address[NET_CUT_ENDS];

/* Return why net_cut_lay() failed; never NULL. */
const char *net_cut_reason(void);

/* Make this process root in a user namespace with a loopback interface of its own, if it may not
 * make network namespaces otherwise.  Call it at the beginning of main(), before any thread, socket
 * or server. */
void net_cut_prepare(void);

/* Make the namespaces and the cable, plugged in at both ends. */
bool net_cut_lay(struct net_cut *c);

/* The same in a test, which is left out if the cable cannot be made (left_out.h). */
void net_cut_lay_or_skip(struct net_cut *c);

/* Return this thread to its own namespace, and free @c, which may be all zero. */
void net_cut_done(struct net_cut *c);

/* Let this thread make its sockets at the end @end from now on. */
void net_cut_enter(const struct net_cut *c, int end);

/* Pull the cable out, and return when it is out.  Packets sent since then are dropped silently. */
bool net_cut_pull(const struct net_cut *c);
bool net_cut_plug(const struct net_cut *c);

#endif
