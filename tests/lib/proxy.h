/* SPDX-License-Identifier: MIT */
/*
 * proxy -- a Redis connection that breaks on request, for fault tests.
 *
 * Listens on a free port of 127.0.0.1 and forwards to a server's port.  It understands
 * where a request and its reply begin and end, so that a fault hits one chosen command:
 *
 *     struct proxy_fault f = { .kind = PROXY_SWALLOW_REPLY, .match = "EVALSHA" };
 *     proxy_arm(p, &f);
 *     ... the next EVALSHA runs on the server, its reply never arrives ...
 *     assert_int_equal(proxy_fired(p), 1);
 *
 * Commands ahead of the chosen one in a pipeline are answered before the connection
 * breaks.  Those after it may have been run (reply faults) or were not sent (request
 * faults).  Each request is taken to have one reply: no SUBSCRIBE, no CLIENT REPLY.
 * Anything that is not RESP2 (TLS, say) is forwarded as it comes, without faults by
 * command and without counting.
 *
 * One thread of its own serves all connections.  Every function may be called from any
 * thread; what it sets holds for all bytes the proxy has not yet taken in.
 */
#ifndef USHER_TESTS_PROXY_H
#define USHER_TESTS_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proxy;

enum proxy_fault_kind {
    PROXY_NO_FAULT,
    PROXY_SWALLOW_REPLY, /* run the command, drop its reply, close */
    PROXY_CUT_REPLY,     /* run it, pass the first @bytes of its reply, close */
    PROXY_DROP_REQUEST,  /* close instead of forwarding the command */
    PROXY_CUT_REQUEST,   /* forward the first @bytes of the command, close */
    PROXY_ANSWER         /* do not forward it, answer @reply; the connection stays */
};

struct proxy_fault {
    enum proxy_fault_kind kind;
    const char *match; /* only requests that contain this; NULL: all.  Copied */
    unsigned skip;     /* number of them that pass first */
    unsigned times;    /* number of requests after those that are hit; 0 means 1 */
    size_t bytes;      /* more than there are: the whole; a request then runs */
    const char *reply; /* of PROXY_ANSWER: complete RESP text.  Copied */
    size_t reply_size; /* 0: up to its NUL */
};

/* @port 0: none yet, connections are closed at once.  NULL on failure. */
struct proxy *proxy_start(int port);

/* Closes everything and joins the thread.  Takes NULL. */
void proxy_stop(struct proxy *p);

int proxy_port(const struct proxy *p);

/* For connections accepted from now on. */
void proxy_set_target(struct proxy *p, int port);

/* Replaces the fault armed before and its count. */
void proxy_arm(struct proxy *p, const struct proxy_fault *f);

/* How often the armed fault hit. */
unsigned proxy_fired(struct proxy *p);

/* Waits until proxy_fired() is at least @n. */
bool proxy_wait_fired(struct proxy *p, unsigned n, int timeout_ms);

/* Replies leave one byte at a time, @delay_us apart.  0: at once. */
void proxy_set_drip(struct proxy *p, int64_t delay_us);

/* Requests vanish: accepted, read, never forwarded nor answered.  Connections that lost
 * bytes this way are closed when it ends. */
void proxy_set_blackhole(struct proxy *p, bool on);

/* Nothing moves in either direction and nothing is lost; goes on when it ends. */
void proxy_set_paused(struct proxy *p, bool on);

/* New connections are refused, existing ones stay.  Returns when it is so. */
void proxy_set_refuse(struct proxy *p, bool on);

/* Closes every connection now.  Returns when it is done. */
void proxy_drop(struct proxy *p);

struct proxy_counts {
    uint64_t connections; /* accepted */
    uint64_t requests;    /* forwarded whole */
    uint64_t replies;     /* forwarded whole, or made up by PROXY_ANSWER */
    uint64_t cut;         /* requests and replies dropped or cut by a fault */
};

void proxy_count(struct proxy *p, struct proxy_counts *ret);

#endif
