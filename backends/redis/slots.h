/* SPDX-License-Identifier: MIT */
/*
 * slots -- which node of a Redis Cluster has a key: slots, maps of the cluster, redirects.
 *
 * Pure functions on texts and replies of servers: no sockets, no clock, no state.  A reply is
 * understood as a whole or not at all.  These functions do not change a map after it is made; its
 * owner may patch `owner` by redirects.
 */
#ifndef USHER_BACKENDS_REDIS_SLOTS_H
#define USHER_BACKENDS_REDIS_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/usher.h>

struct redisReply; /* <hiredis/hiredis.h> */

#define USHER__REDIS_SLOTS 16384
#define USHER__REDIS_HOST_MAX 256      /* with its end */
#define USHER__REDIS_IP_MAX 46         /* with its end */
#define USHER__REDIS_NODE_ID_MAX 41    /* with its end */
#define USHER__REDIS_MASTERS_MAX 1000  /* what Redis Cluster is made for */
#define USHER__REDIS_MEMBERS_MAX 4000  /* with three replicas each */
#define USHER__REDIS_NOBODY UINT16_MAX /* owner of a slot that is not covered */

/* CRC16 of the tag (what is between the first { and the next } of a key, if that is not empty, else
 * the whole key), below USHER__REDIS_SLOTS. */
unsigned usher__redis_slot_of_tag(const char *tag, size_t size);

/* Printable ASCII without space; an IPv6 address has no brackets. */
struct usher__redis_address {
    char host[USHER__REDIS_HOST_MAX];
    uint16_t port;
};

struct usher__redis_member {
    struct usher__redis_address at;
    char ip[USHER__REDIS_IP_MAX];      /* of a host that is a name; "": unknown */
    char id[USHER__REDIS_NODE_ID_MAX]; /* "": unknown */
    bool master;
};

/* The cluster as one node reports it: its members, and the owner of each slot. */
struct usher__redis_view {
    size_t n;
    size_t room;                         /* members that the memory is for */
    struct usher__redis_member *members; /* each address once, NULL if n == 0 */
    uint16_t owner[USHER__REDIS_SLOTS];  /* index of a master, or USHER__REDIS_NOBODY */
    size_t covered;                      /* slots that have an owner */
};

/*
 * Reads the answer to CLUSTER SLOTS that the node at @asked gave: the masters named in it and
 * their replicas.
 *
 *   host      nil or "" is that of @asked.  "?" is a node that does not know its own name, and
 *             port 0 one that cannot be reached this way: they are left out.  If that is the
 *             master of a range, the range has no owner.
 *   twice     if ranges overlap, the later one counts.  An address that is master of one range
 *             is a master; of two ids of an address that of a master counts, else the later one.
 *   ip        of the further fields of a node, which may be anything, "ip" is read.
 *   more      is ignored.
 *
 * No ranges are a view that covers nothing.
 * USHER_OK, USHER_NOMEM, or USHER_INVALID: it is not understood, *@ret is as it was.  So it is
 * with more than the limits above, with more ranges than slots, an id that does not fit, and
 * a host that is too long or has other bytes than an address may have.
 */
enum usher_status usher__redis_view_read(const struct usher_allocator *alloc,
                                         const struct redisReply *reply,
                                         const struct usher__redis_address *asked,
                                         struct usher__redis_view **ret);
/* Takes NULL. */
void usher__redis_view_free(const struct usher_allocator *alloc, struct usher__redis_view *v);

/*
 * Reads an error "MOVED 3999 127.0.0.1:6381" or "ASK ..." of the node at @asked.  The port is
 * after the last colon, an empty host is that of @asked, an IPv6 address may stand in brackets.
 * False: it is anything else, and nothing is written.  So it is with "?", a host not known.
 */
bool usher__redis_redirect_read(const char *text, size_t size,
                                const struct usher__redis_address *asked, unsigned *ret_slot,
                                struct usher__redis_address *ret_to);

/* Reads the answer to SENTINEL GET-MASTER-ADDR-BY-NAME.  False: it is none, and nothing is
 * written. */
bool usher__redis_sentinel_read(const struct redisReply *reply, struct usher__redis_address *ret);

#endif
