/* SPDX-License-Identifier: MIT */
/* nodes(): reports each server of the store with its own data.  A server that does not answer has a
 * row, too; masters report their replicas. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "clock.h"
#include "info.h"
#include "store.h"

#define EACH_MS 2000 /* deadline of one of several servers */
#define REPLICAS_MAX 100

struct telling {
    usher_node_fn *fn;
    void *payload;
    size_t silent; /* count of servers that did not answer */
    char *message; /* the failure of the first of them */
};

static struct usher_node nothing(void)
{
    struct usher_node node;

    memset(&node, 0, sizeof node);
    node.size = sizeof node;
    node.slots = node.replicas = node.lag_bytes = node.lag_ms = node.ahead_ms = USHER_NONE;
    node.address.data = node.id.data = node.software.data = "";
    node.policy.data = node.master.data = node.why.data = "";
    return node;
}

static struct usher_text text(const char *string)
{
    struct usher_text t = { string, strlen(string) };

    return t;
}

enum { INFO, FSYNC, TIME, SCRIPT_TIME, QUESTIONS };

/* Read the answers to all queries; on failure there are none. */
static enum usher_status ask(struct usher__redis *r, int64_t deadline_ms,
                             struct redisReply *replies[QUESTIONS], int64_t *ret_sent,
                             int64_t *ret_received)
{
    enum usher_status status = usher__redis_password(r);
    size_t n = 0;

    if (status == USHER_OK)
        status = usher__redis_conn_connect(r->conn, deadline_ms);
    if (status != USHER_OK)
        return status;
    usher__redis_conn_begin(r->conn, 1);
    usher__redis_conn_arg_str(r->conn, "INFO");
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "CONFIG");
    usher__redis_conn_arg_str(r->conn, "GET");
    usher__redis_conn_arg_str(r->conn, "appendfsync");
    usher__redis_conn_begin(r->conn, 1);
    usher__redis_conn_arg_str(r->conn, "TIME");
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "EVAL");
    usher__redis_conn_arg_str(r->conn, "return redis.pcall('TIME').err and 0 or 1");
    usher__redis_conn_arg_str(r->conn, "0");
    *ret_sent = usher__redis_wall_us();
    status = usher__redis_conn_flush(r->conn);
    while (n < QUESTIONS && status == USHER_OK) {
        status = usher__redis_conn_read(r->conn, deadline_ms, &replies[n]);
        n += status == USHER_OK;
    }
    *ret_received = usher__redis_wall_us();
    while (status != USHER_OK && n > 0)
        freeReplyObject(replies[--n]);
    return status;
}

/* Read @replies of a server into @node, which contains its address and position. */
static void read_answers(struct usher_node *node, struct redisReply *const replies[QUESTIONS],
                         int64_t sent, int64_t received, char software[USHER__REDIS_SOFTWARE_MAX],
                         char master[300])
{
    const struct redisReply *info = replies[INFO];
    struct usher_text role = usher__redis_info(info, "role");
    struct usher_text replid = usher__redis_info(info, "master_replid");
    struct usher_text count = usher__redis_info(info, "connected_slaves");
    int64_t time = usher__redis_time(replies[TIME]), replicas = usher__redis_natural(&count);

    node->answers = true;
    node->durability = usher__redis_durability(info, replies[FSYNC]);
    node->evicts = usher__redis_evicts(info);
    node->policy = usher__redis_info(info, "maxmemory_policy");
    usher__redis_software(info, software);
    node->software = text(software);
    /* without the right to EVAL the scripts cannot be queried */
    node->own_clocks =
        replies[TIME]->type == REDIS_REPLY_ERROR ||
        (replies[SCRIPT_TIME]->type == REDIS_REPLY_INTEGER && replies[SCRIPT_TIME]->integer == 0);
    if (time >= 0) /* the server read its clock between the two */
        node->ahead_ms = (time - sent - (received - sent) / 2) / 1000;
    if (usher__redis_info_is(&role, "master")) {
        char digits[13];

        node->role = USHER_NODE_MASTER;
        node->replicas = replicas >= 0 && replicas < INT32_MAX ? replicas : USHER_NONE;
        (void)snprintf(digits, sizeof digits, "%.*s", replid.size < 12 ? (int)replid.size : 12,
                       replid.data);
        node->identity = strtoull(digits, NULL, 16);
    } else if (role.size > 0) {
        struct usher_text host = usher__redis_info(info, "master_host"),
                          port = usher__redis_info(info, "master_port");

        node->role = USHER_NODE_REPLICA;
        (void)snprintf(master, 300, "%.*s:%.*s", host.size < 256 ? (int)host.size : 256, host.data,
                       port.size < 8 ? (int)port.size : 8, port.data);
        node->master = text(master);
    }
}

/* Report a server that does not answer; the message of @r has the reason. */
static void silent(struct telling *t, const struct usher__redis *r, struct usher_node *node)
{
    if (t->silent++ == 0)
        (void)snprintf(t->message, 192, "%s", usher__redis_conn_message(r->conn));
    node->why = text(usher__redis_conn_message(r->conn));
    t->fn(t->payload, node);
}

/* Report the server of @r and its replicas.  @node contains what is known without a query. */
static void tell(struct telling *t, struct usher__redis *r, struct usher_node *node,
                 int64_t deadline_ms)
{
    struct redisReply *replies[QUESTIONS];
    char software[USHER__REDIS_SOFTWARE_MAX], master[300];
    int64_t sent, received;
    enum usher_status status = ask(r, deadline_ms, replies, &sent, &received);

    if (status != USHER_OK) {
        silent(t, r, node);
        return;
    }
    read_answers(node, replies, sent, received, software, master);
    t->fn(t->payload, node);
    for (unsigned i = 0; i < REPLICAS_MAX && node->role == USHER_NODE_MASTER; i++) {
        struct usher_node replica = nothing();
        char address[USHER__REDIS_ADDRESS_MAX];

        if (!usher__redis_replica(replies[INFO], i, &replica, address))
            break;
        replica.master = node->address;
        t->fn(t->payload, &replica);
    }
    for (size_t i = 0; i < QUESTIONS; i++)
        freeReplyObject(replies[i]);
}

static void write_address(const char *host, uint16_t port, char address[USHER__REDIS_ADDRESS_MAX])
{
    bool colons = strchr(host, ':') != NULL;

    (void)snprintf(address, USHER__REDIS_ADDRESS_MAX, "%s%s%s:%u", colons ? "[" : "", host,
                   colons ? "]" : "", (unsigned)port);
}

/* Set @r to host number @host of the URL. */
static enum usher_status at_host(struct usher__redis *r, size_t host)
{
    struct usher__redis_conn *conn;
    enum usher_status status;

    usher__redis_point(r, &r->hosts[host]);
    status = usher__redis_conn_open(r->alloc, &r->options, &conn);
    if (status != USHER_OK)
        return status;
    usher__redis_conn_close(r->conn);
    r->conn = conn;
    return USHER_OK;
}

/* Report node @number of the store, or without a cluster host number @host of the URL. */
static enum usher_status tell_of(struct usher__redis_store *s, struct telling *t, unsigned number,
                                 size_t host, int32_t slots, int64_t deadline_ms)
{
    struct usher__redis *r = usher__redis_new(s, s->node[number]);
    struct usher_node node = nothing();
    int64_t until_ms = usher__redis_clock_ms() + EACH_MS;
    char address[USHER__REDIS_ADDRESS_MAX], id[USHER__REDIS_NODE_ID_MAX] = "";
    enum usher_status status = r != NULL ? USHER_OK : USHER_NOMEM;
    bool known;

    if (status == USHER_OK && host > 0)
        status = at_host(r, host);
    if (status == USHER_OK) {
        until_ms = until_ms < deadline_ms ? until_ms : deadline_ms;
        known = r->sentinel[0] == '\0' || usher__redis_handshake(r, until_ms) == USHER_OK;
        if (!known)
            (void)snprintf(address, sizeof address, "%s", r->sentinel);
        else if (r->sentinel[0] != '\0')
            write_address(r->options.host, r->options.port, address);
        else if (r->options.unix_path != NULL)
            (void)snprintf(address, sizeof address, "%s", r->options.unix_path);
        else if (s->map != NULL)
            write_address(s->node[number]->at.host, s->node[number]->at.port, address);
        else
            write_address(r->hosts[host].host, r->hosts[host].port, address);
        (void)pthread_mutex_lock(&s->lock);
        memcpy(id, s->node[number]->id, sizeof id);
        (void)pthread_mutex_unlock(&s->lock);
        node.address = text(address);
        node.id = text(id);
        node.slots = slots >= 0 ? slots : USHER_NONE;
        if (known)
            tell(t, r, &node, until_ms);
        else
            silent(t, r, &node);
    }
    usher__redis_free(r);
    return status;
}

enum usher_status usher__redis_nodes(struct usher_store *store, int64_t deadline_ms,
                                     usher_node_fn *fn, void *payload, char message[192])
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct telling t = { fn, payload, 0, message };
    enum usher_status status = USHER_OK;

    if (s->map != NULL) {
        unsigned number[USHER__REDIS_NODES_MAX];
        size_t n;

        usher__redis_refresh(store, deadline_ms);
        n = usher__redis_masters(s, number);
        for (size_t i = 0; i < n && status == USHER_OK; i++)
            status = tell_of(s, &t, number[i], 0, usher__redis_slots_of(s, number[i]), deadline_ms);
    } else {
        /* Sentinels return only the master */
        size_t n = s->like->n_hosts > 0 && s->like->sentinel[0] == '\0' ? s->like->n_hosts : 1;

        for (size_t i = 0; i < n && status == USHER_OK; i++)
            status = tell_of(s, &t, 0, i, -1, deadline_ms);
    }
    if (status != USHER_OK)
        (void)snprintf(message, 192, "redis: %s", usher_status_text(status));
    return status == USHER_OK && t.silent > 0 ? USHER_UNAVAILABLE : status;
}
