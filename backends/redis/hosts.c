/* SPDX-License-Identifier: MIT */
/*
 * The search for the master if the URL has several hosts.  Each new connection makes one.
 *
 * If the hosts are servers, all of them are queried for their role at the same time.  The only
 * master is used, on the connection on which it answered.  If two answer that they are masters,
 * neither is used: one of them is cut off, or was started again without its data, and calls at the
 * wrong one are lost.
 *
 * If the hosts are Sentinels, all of them are queried for the address of the master, and the
 * address that most of them return is used.
 *
 * No function here waits.  A host that has not answered by the end of the search counts as no
 * master.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "info.h"
#include "store.h"

struct host {
    struct usher__redis_conn *conn;
    enum { HOST_CONNECTS, HOST_ASKED, HOST_ANSWERED, HOST_FAILED } stage;
    bool with_password; /* of a Sentinel: it requires the password */
    bool in_loop;
    struct usher_wait wait;
    int64_t sent_ms;
    struct redisReply *reply;           /* of a host that has answered */
    struct usher__redis_address master; /* the answer of a Sentinel; "": unknown */
};

struct usher__redis_search {
    int loop; /* readable while one of several hosts can continue; or -1 */
    size_t n;
    struct host host[];
};

static bool asks_sentinels(const struct usher__redis *r)
{
    return r->sentinel[0] != '\0';
}

/* ---- hosts ------------------------------------------------------------------------- */

static enum usher_status host_connect(struct usher__redis *r, size_t i)
{
    struct host *h = &r->search->host[i];
    struct usher__redis_conn_options o = r->options;
    enum usher_status status;

    if (o.tls.name == o.host) /* each host proves its own name */
        o.tls.name = r->hosts[i].host;
    o.host = r->hosts[i].host;
    o.port = r->hosts[i].port;
    if (asks_sentinels(r)) {
        o.db = 0;
        if (!h->with_password)
            o.user = o.password = NULL;
    }
    usher__redis_conn_close(h->conn);
    h->conn = NULL;
    h->stage = HOST_CONNECTS;
    status = usher__redis_conn_open(r->alloc, &o, &h->conn);
    USHER_ASSERT(status == USHER_OK ||
                 status == USHER_NOMEM); /* usher__redis_parse() has checked the options */
    return status == USHER_OK ? usher__redis_conn_begin_connect(h->conn, r->until_ms) : status;
}

static enum usher_status host_ask(const struct usher__redis *r, struct host *h)
{
    if (asks_sentinels(r)) {
        usher__redis_conn_begin(h->conn, 3);
        usher__redis_conn_arg_str(h->conn, "SENTINEL");
        usher__redis_conn_arg_str(h->conn, "GET-MASTER-ADDR-BY-NAME");
        usher__redis_conn_arg_str(h->conn, r->sentinel);
    } else {
        usher__redis_conn_begin(h->conn, 2);
        usher__redis_conn_arg_str(h->conn, "INFO");
        usher__redis_conn_arg_str(h->conn, "replication");
    }
    h->stage = HOST_ASKED;
    h->sent_ms = usher__redis_clock_ms();
    return usher__redis_conn_flush(h->conn);
}

/* Use the answer of a host. */
static enum usher_status host_answered(const struct usher__redis *r, struct host *h)
{
    h->stage = HOST_ANSWERED;
    if (!asks_sentinels(r))
        return USHER_OK;
    if (h->reply->type == REDIS_REPLY_NIL)
        return USHER_OK;
    if (usher__redis_sentinel_read(h->reply, &h->master))
        return USHER_OK;
    if (h->reply->type == REDIS_REPLY_ERROR && strstr(h->reply->str, "unknown command") != NULL)
        usher__redis_conn_refuse(h->conn, "the server is not a Sentinel");
    else
        (void)usher__redis_conn_explain(h->conn, h->reply);
    return USHER_UNAVAILABLE;
}

/* Return whether to repeat the query with the password.  A Sentinel gets it only if it requires
 * one. */
static bool host_wants_password(const struct usher__redis *r, const struct host *h)
{
    return asks_sentinels(r) && !h->with_password && r->options.password != NULL &&
           h->stage == HOST_CONNECTS &&
           strstr(usher__redis_conn_message(h->conn), ": NOAUTH ") != NULL;
}

static enum usher_status host_step(struct usher__redis *r, size_t i)
{
    struct host *h = &r->search->host[i];
    enum usher_status status = USHER_OK;

    if (h->stage == HOST_CONNECTS) {
        status = usher__redis_conn_go_on(h->conn);
        if (status == USHER_UNAVAILABLE && host_wants_password(r, h)) {
            h->with_password = true;
            status = host_connect(r, i);
            if (status == USHER_OK)
                status = usher__redis_conn_go_on(h->conn);
        }
        if (status == USHER_OK)
            status = host_ask(r, h);
    }
    if (status == USHER_OK)
        status = usher__redis_conn_next(h->conn, &h->reply);
    return status == USHER_OK ? host_answered(r, h) : status;
}

/* Continue host @i.  Return OK or NOMEM. */
static enum usher_status host_go_on(struct usher__redis *r, size_t i)
{
    struct host *h = &r->search->host[i];
    enum usher_status status = host_step(r, i);

    if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() >= r->until_ms) {
        if (h->stage == HOST_CONNECTS)
            usher__redis_conn_slow(h->conn);
        else
            (void)usher__redis_conn_late(h->conn);
        status = USHER_UNAVAILABLE;
    }
    if (status == USHER__REDIS_WAITS) {
        h->wait.fd = usher__redis_conn_wants(h->conn, &h->wait.events);
        h->wait.until_ms = usher__redis_conn_until(h->conn);
        if (h->wait.until_ms > r->until_ms)
            h->wait.until_ms = r->until_ms;
        return USHER_OK;
    }
    if (status == USHER_OK)
        return USHER_OK;
    h->stage = HOST_FAILED;
    return status == USHER_NOMEM ? USHER_NOMEM : USHER_UNAVAILABLE;
}

static bool is_over(const struct host *h)
{
    return h->stage == HOST_ANSWERED || h->stage == HOST_FAILED;
}

/* ---- what they answered ------------------------------------------------------------ */

static bool is_master(const struct host *h)
{
    struct usher_text role = usher__redis_info(h->reply, "role");

    return h->stage == HOST_ANSWERED && usher__redis_info_is(&role, "master");
}

/* Return whether both hosts are the same server: they have the same replication id. */
static bool same_server(const struct host *a, const struct host *b)
{
    struct usher_text one = usher__redis_info(a->reply, "master_replid");
    struct usher_text other = usher__redis_info(b->reply, "master_replid");

    return one.size > 0 && one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
}

static void write_host(const struct usher__redis_address *at, char *to, size_t size)
{
    bool colons = strchr(at->host, ':') != NULL;

    (void)snprintf(to, size, "%s%.50s%s:%u", colons ? "[" : "", at->host, colons ? "]" : "",
                   (unsigned)at->port);
}

/* Report why no host is used: the answer of a server, or the failure of the first. */
static enum usher_status none(struct usher__redis *r)
{
    const struct usher__redis_search *s = r->search;
    char line[USHER__REDIS_MESSAGE_SIZE + 32];
    bool answered;
    size_t i = 0;

    while (i < s->n && s->host[i].stage != HOST_ANSWERED)
        i++;
    answered = i < s->n;
    i = answered ? i : 0;
    if (answered && asks_sentinels(r))
        usher__redis_conn_refuse(s->host[i].conn, "the Sentinel has no master of this name");
    else if (answered)
        (void)usher__redis_refuse_replica(s->host[i].conn, s->host[i].reply);
    (void)snprintf(line, sizeof line, "%s%s",
                   !answered && asks_sentinels(r) ? "no Sentinel replies: " : "",
                   usher__redis_conn_message(s->host[i].conn));
    usher__redis_conn_note(r->conn, line);
    return USHER_UNAVAILABLE;
}

/* Use host @i, which is the master, on the connection on which it answered. */
static enum usher_status use(struct usher__redis *r, size_t i)
{
    struct host *h = &r->search->host[i];

    usher__redis_point(r, &r->hosts[i]);
    usher__redis_conn_close(r->conn);
    r->conn = h->conn;
    h->conn = NULL;
    r->replies[0] = h->reply;
    h->reply = NULL;
    r->n_replies = r->n_questions = 1;
    r->sent_ms = h->sent_ms;
    return USHER_OK;
}

/* A server whose role is not known (INFO is refused) is used if none is a master. */
static enum usher_status choose_server(struct usher__redis *r)
{
    const struct usher__redis_search *s = r->search;
    size_t master = s->n, unknown = s->n;

    for (size_t i = s->n; i-- > 0;) {
        const struct host *h = &s->host[i];

        if (h->stage == HOST_ANSWERED && usher__redis_info(h->reply, "role").size == 0)
            unknown = i;
        if (!is_master(h))
            continue;
        if (master < s->n && !same_server(h, &s->host[master])) {
            char one[64], other[64], line[USHER__REDIS_MESSAGE_SIZE];

            write_host(&r->hosts[i], one, sizeof one);
            write_host(&r->hosts[master], other, sizeof other);
            (void)snprintf(line, sizeof line, "redis %s and %s: both report that they are masters",
                           one, other);
            usher__redis_conn_note(r->conn, line);
            return USHER_UNAVAILABLE;
        }
        master = i;
    }
    if (master == s->n)
        master = unknown;
    return master < s->n ? use(r, master) : none(r);
}

/* Return how many Sentinels returned the same address as number @i. */
static size_t votes(const struct usher__redis_search *s, size_t i)
{
    const struct usher__redis_address *at = &s->host[i].master;
    size_t n = 0;

    for (size_t k = 0; k < s->n && at->host[0] != '\0'; k++)
        n += s->host[k].master.port == at->port && strcmp(s->host[k].master.host, at->host) == 0;
    return n;
}

static size_t most_votes(const struct usher__redis_search *s)
{
    size_t best = 0;

    for (size_t i = 1; i < s->n; i++)
        if (votes(s, i) > votes(s, best))
            best = i;
    return best;
}

static enum usher_status choose_address(struct usher__redis *r)
{
    const struct usher__redis_search *s = r->search;
    size_t best = most_votes(s);
    struct usher__redis_conn *conn;
    enum usher_status status;

    if (votes(s, best) == 0)
        return none(r);
    usher__redis_point(r, &s->host[best].master);
    status = usher__redis_conn_open(r->alloc, &r->options, &conn);
    if (status != USHER_OK) {
        usher__redis_conn_note(r->conn, status == USHER_NOMEM
                                            ? "redis: out of memory"
                                            : "redis: the Sentinels return no address");
        return status == USHER_NOMEM ? USHER_NOMEM : USHER_UNAVAILABLE;
    }
    usher__redis_conn_close(r->conn);
    r->conn = conn;
    r->named = true;
    return USHER_OK;
}

/* ---- the search -------------------------------------------------------------------- */

static size_t search_size(size_t n)
{
    return sizeof(struct usher__redis_search) + n * sizeof(struct host);
}

void usher__redis_search_end(struct usher__redis *r)
{
    struct usher__redis_search *s = r->search;

    if (s == NULL)
        return;
    /* a child of fork() shares the loop with its parent, so nothing is removed from it */
    if (s->loop >= 0)
        (void)close(s->loop);
    for (size_t i = 0; i < s->n; i++) {
        usher__redis_conn_close(s->host[i].conn);
        freeReplyObject(s->host[i].reply);
    }
    (void)usher__redis_resize(r->alloc, s, search_size(s->n), 0);
    r->search = NULL;
}

enum usher_status usher__redis_search_begin(struct usher__redis *r)
{
    struct usher__redis_search *s;
    enum usher_status status = USHER_OK;

    usher__redis_search_end(r);
    s = usher__redis_resize(r->alloc, NULL, 0, search_size(r->n_hosts));
    if (s == NULL) {
        usher__redis_conn_note(r->conn, "redis: out of memory");
        return USHER_NOMEM;
    }
    memset(s, 0, search_size(r->n_hosts));
    s->loop = -1;
    s->n = r->n_hosts;
    r->search = s;
    r->named = false;
    for (size_t i = 0; i < s->n && status != USHER_NOMEM; i++) {
        status = host_connect(r, i);
        if (status != USHER_OK)
            s->host[i].stage = HOST_FAILED;
    }
    return status == USHER_NOMEM ? USHER_NOMEM : USHER_OK;
}

/* Return whether the search can end before all hosts have answered. */
static bool is_decided(const struct usher__redis *r)
{
    const struct usher__redis_search *s = r->search;
    size_t i = 0;

    if (asks_sentinels(r))
        return votes(s, most_votes(s)) > s->n / 2;
    while (i < s->n && is_over(&s->host[i]))
        i++;
    return i == s->n;
}

enum usher_status usher__redis_search_go_on(struct usher__redis *r)
{
    struct usher__redis_search *s = r->search;
    enum usher_status status = USHER_OK;
    bool over = true;

    for (size_t i = 0; i < s->n && status != USHER_NOMEM; i++) {
        struct host *h = &s->host[i];

        if (is_over(h))
            continue;
        /* its socket may be closed now, and a child of fork() may still have it open */
        (void)usher__redis_loop_set(s->loop, &h->wait, &h->in_loop, false);
        status = host_go_on(r, i);
        over = over && is_over(h);
    }
    if (status == USHER_NOMEM) {
        usher__redis_conn_note(r->conn, "redis: out of memory");
    } else {
        if (!over && !is_decided(r))
            return USHER__REDIS_WAITS;
        status = asks_sentinels(r) ? choose_address(r) : choose_server(r);
    }
    usher__redis_search_end(r);
    return status;
}

void usher__redis_search_wants(const struct usher__redis *r, struct usher_wait *ret)
{
    struct usher__redis_search *s = r->search;
    bool all = true;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct host *h = &s->host[i];

        if (is_over(h))
            continue;
        if (n++ == 0)
            *ret = h->wait;
        else if (h->wait.until_ms < ret->until_ms)
            ret->until_ms = h->wait.until_ms;
    }
    if (n < 2)
        return;
    if (s->loop < 0)
        s->loop = usher__redis_loop_open();
    for (size_t i = 0; i < s->n; i++) {
        struct host *h = &s->host[i];

        if (!is_over(h))
            all =
                s->loop >= 0 && usher__redis_loop_set(s->loop, &h->wait, &h->in_loop, true) && all;
    }
    ret->fd = s->loop;
    ret->events = POLLIN;
    if (!all) /* without memory or descriptors they are polled */
        ret->until_ms = usher__redis_clock_ms() + 1;
}
