/* SPDX-License-Identifier: MIT */
/*
 * cable -- two network namespaces and a cable between them that can be pulled out: for what
 * happens to servers that do not see each other and do not know why.
 *
 * Nothing of it has a name outside of this process, and nothing that is sent in it gets out: both
 * namespaces end with the last process in them and the last descriptor, however that ends, and the
 * cable with them.  Needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN) and the program ip.
 */
#ifndef USHER_TESTS_CABLE_H
#define USHER_TESTS_CABLE_H

#include <stdbool.h>

#define CABLE_ENDS 2

struct cable {
    int home;            /* the namespace in which the thread was that laid it */
    int end[CABLE_ENDS]; /* descriptors of namespaces, for redis_server_options.netns */
};

/* Of documentation (RFC 5737): nobody's. */
extern const char *const cable_address[CABLE_ENDS];

/* Why cable_lay() failed; never NULL. */
const char *cable_reason(void);

/* Lays it, plugged in at both ends. */
bool cable_lay(struct cable *c);

/* In a test of cmocka, which is skipped where it cannot be laid, or fails with USHER_NO_SKIP=1. */
void cable_lay_or_skip(struct cable *c);

/* This thread is at home again.  Takes one that was not laid, all zero. */
void cable_done(struct cable *c);

/* Sockets that this thread makes from now on are at this end. */
void cable_enter(const struct cable *c, int end);

/* Return at home, when it is so.  What is sent while it is out does not arrive, and nobody is told.
 */
bool cable_pull(const struct cable *c);
bool cable_plug(const struct cable *c);

#endif
