/* SPDX-License-Identifier: MIT */
/*
 * net_cut -- two network namespaces and a cable between them that can be pulled out: for what
 * happens to servers that do not see each other and do not know why.
 *
 * Nothing of it has a name outside of this process, and nothing that is sent in it gets out: both
 * namespaces end with the last process in them and the last descriptor, however that ends, and the
 * cable with them.  Needs the program ip, and CAP_SYS_ADMIN and CAP_NET_ADMIN: root has them, and
 * an ordinary user has them in a user namespace (net_cut_prepare()), unless the machine forbids it.
 */
#ifndef USHER_LIB_NET_CUT_H
#define USHER_LIB_NET_CUT_H

#include <stdbool.h>

#define NET_CUT_ENDS 2

struct net_cut {
    int home;              /* the namespace in which the thread was that laid it */
    int end[NET_CUT_ENDS]; /* descriptors of namespaces, for redis_server_options.netns */
};

/* Addresses for documentation (RFC 5737), which no host has. */
extern const char *const net_cut_address[NET_CUT_ENDS];

/* Why net_cut_lay() failed; never NULL. */
const char *net_cut_reason(void);

/* At the beginning of main(), before any thread, socket or server: where this process may not make
 * network namespaces, but may make a user namespace, it becomes root in one, with a loopback
 * interface of its own. */
void net_cut_prepare(void);

/* Lays it, plugged in at both ends. */
bool net_cut_lay(struct net_cut *c);

/* In a test of cmocka, which is left out where it cannot be laid (left_out.h). */
void net_cut_lay_or_skip(struct net_cut *c);

/* This thread is at home again.  Takes one that was not laid, all zero. */
void net_cut_done(struct net_cut *c);

/* Sockets that this thread makes from now on are at this end. */
void net_cut_enter(const struct net_cut *c, int end);

/* Pull the cable out, and return when it is out.  Packets sent since then are dropped silently. */
bool net_cut_pull(const struct net_cut *c);
bool net_cut_plug(const struct net_cut *c);

#endif
