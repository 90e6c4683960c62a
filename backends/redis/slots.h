/* SPDX-License-Identifier: MIT */
/*
 * slots -- the node that has a key in a Redis Cluster: slots, maps of the cluster, redirects.
 *
 * Pure functions on texts and replies of servers: no sockets, no clock, no state.  A reply is
 * accepted as a whole or not at all.  These functions do not change a map after it is made; its
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
#define USHER__REDIS_MASTERS_MAX 1000  /* the limit of Redis Cluster */
#define USHER__REDIS_MEMBERS_MAX 4000  /* with three replicas each */
#define USHER__REDIS_NOBODY UINT16_MAX /* owner of a slot that is not covered */

/* Return the CRC16 of the tag, below USHER__REDIS_SLOTS.  The tag is the text between the first {
 * of a key and the next }, or the whole key if that text is empty. */
unsigned usher__redis_slot_of_tag(const char *tag, size_t size);

/* Printable ASCII without space; an IPv6 address has no brackets. */
struct usher__redis_address {
    char host[USHER__REDIS_HOST_MAX];
    uint16_t port;
};

struct usher__redis_member {
    struct usher__redis_address at;
    char ip[USHER__REDIS_IP_MAX];      /* if the host is a name; "": unknown */
    char id[USHER__REDIS_NODE_ID_MAX]; /* "": unknown */
    bool master;
};

/* The cluster as one node reports it: its members, and the owner of each slot. */
struct usher__redis_view {
    size_t n;
    size_t room;                         /* capacity of `members` */
    struct usher__redis_member *members; /* each address once, NULL if n == 0 */
    uint16_t owner[USHER__REDIS_SLOTS];  /* index of a master, or USHER__REDIS_NOBODY */
    size_t covered;                      /* slots that have an owner */
};

/*
 * Read the answer of the node at @asked to CLUSTER SLOTS: its masters and their replicas.
 *
 *   host      nil or "" is the host of @asked.  "?" is a node that does not know its own name, and
 * port 0 a node that cannot be reached in this way.  Such nodes are left out; a range with such a
 *             master has no owner.
 *   twice     If ranges overlap, the later one counts.  An address that is master of one range is a
 *             master.  If an address has two ids, that of a master counts, or else the later one.
 *   ip        A node can have any further fields; only "ip" is read.
 *   more      Other elements are ignored.
 *
 * An answer without ranges is a view without covered slots.
 * Returns USHER_OK, USHER_NOMEM, or USHER_INVALID: the answer is not understood, and *@ret is not
 * changed. It is also invalid if it exceeds the limits above, has more ranges than slots, or an id
 * that is too long, or a host that is too long or has bytes that are not allowed in an address.
 */
enum usher_status usher__redis_view_read(const struct usher_allocator *alloc,
                                         const struct redisReply *reply,
                                         const struct usher__redis_address *asked,
                                         struct usher__redis_view **ret);
/* @v may be NULL. */
void usher__redis_view_free(const struct usher_allocator *alloc, struct usher__redis_view *v);

/*
 * Read an error "MOVED 3999 127.0.0.1:6381" or "ASK ..." of the node at @asked.  The port follows
 * the last colon, an empty host is that of @asked, and an IPv6 address may be in brackets.  Return
 * false, and write nothing, for any other text, and for "?", an unknown host.
 */
bool usher__redis_redirect_read(const char *text, size_t size,
                                const struct usher__redis_address *asked, unsigned *ret_slot,
                                struct usher__redis_address *ret_to);

/* Read the answer to SENTINEL GET-MASTER-ADDR-BY-NAME.  Return false, and write nothing, for any
 * other reply. */
bool usher__redis_sentinel_read(const struct redisReply *reply, struct usher__redis_address *ret);

#endif
