/* SPDX-License-Identifier: MIT */
/*
 * The handshake, which prepares a connection for a batch: it is connected to a server that is the
 * master, and the server has the scripts of the batch.  No function here waits.
 *
 * At most one query is open at a time.  It has its own deadline: a batch with less time leaves it,
 * and the next user of the connection continues.  So a store with a small timeout recovers from an
 * outage, however many queries are necessary.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "clock.h"
#include "info.h"
#include "script.h"
#include "sha1.h"
#include "store.h"

#define ROLE_MS 1000 /* maximum age of the known role and identity of the server */
/* Queries of the handshake have this deadline of their own.  A shorter batch leaves the query
 * running for the next user of the connection.  In a cluster it also limits longer batches, because
 * another node may have the slots of one that cannot be reached. */
#define CONNECT_MS 1000
/* The search for the master among several hosts takes at most a quarter of the time of its batch,
 * so that a silent host leaves time for the command. */
#define SEARCH_SHARE 4
#define SEARCH_MS 100 /* minimum */

/* ---- queries -------------------------------------------------------------------------- */

void usher__redis_log(const struct usher__redis *r, enum usher_log_level level, const char *line)
{
    if (r->log != NULL)
        r->log(r->log_payload, level, line);
}

static void ask(struct usher__redis *r, const char *command, const char *what)
{
    usher__redis_conn_begin(r->conn, 2);
    usher__redis_conn_arg_str(r->conn, command);
    usher__redis_conn_arg_str(r->conn, what);
}

/* Send the @n queries that were appended. */
static enum usher_status send_questions(struct usher__redis *r, enum usher__redis_asks asks,
                                        unsigned n)
{
    r->asks = asks;
    r->n_questions = n;
    r->n_replies = 0;
    r->sent_ms = usher__redis_clock_ms();
    return usher__redis_conn_flush(r->conn);
}

void usher__redis_replies_free(struct usher__redis *r)
{
    while (r->n_replies > 0)
        freeReplyObject(r->replies[--r->n_replies]);
}

static enum usher_status read_replies(struct usher__redis *r)
{
    while (r->n_replies < r->n_questions) {
        enum usher_status status = usher__redis_conn_next(r->conn, &r->replies[r->n_replies]);

        if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() >= r->until_ms)
            return usher__redis_conn_late(r->conn);
        if (status != USHER_OK)
            return status;
        r->n_replies++;
    }
    return USHER_OK;
}

/* ---- the server -------------------------------------------------------------------- */

/* Log how durable the server is; see usher__redis_durability(). */
static void describe(const struct usher__redis *r, const struct redisReply *persistence,
                     const struct redisReply *memory, const struct redisReply *fsync)
{
    if (usher__redis_evicts(memory))
        usher__redis_log(r, USHER_LOG_WARNING,
                         "redis: maxmemory-policy is allkeys-*: scopes may vanish");
    switch (usher__redis_durability(persistence, fsync)) {
    case USHER_DURABILITY_SNAPSHOT:
        usher__redis_log(r, USHER_LOG_NOTICE, "redis: appendonly is off: a restart loses commands");
        break;
    case USHER_DURABILITY_FILE:
        if (fsync->type == REDIS_REPLY_ARRAY) /* otherwise the server does not report appendfsync */
            usher__redis_log(r, USHER_LOG_INFO,
                             "redis: appendfsync no: a power cut loses half a minute");
        break;
    case USHER_DURABILITY_SECOND:
        usher__redis_log(r, USHER_LOG_INFO,
                         "redis: appendfsync everysec: a power cut loses a second");
        break;
    case USHER_DURABILITY_DISK:
        usher__redis_log(r, USHER_LOG_INFO, "redis: appendfsync always: answers are on disk");
        break;
    default:
        break;
    }
}

/* Query the settings and the time of a master, once for each master. */
static enum usher_status ask_settings(struct usher__redis *r)
{
    ask(r, "INFO", "persistence");
    ask(r, "INFO", "memory");
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "CONFIG");
    usher__redis_conn_arg_str(r->conn, "GET");
    usher__redis_conn_arg_str(r->conn, "appendfsync");
    usher__redis_conn_begin(r->conn, 1);
    usher__redis_conn_arg_str(r->conn, "TIME");
    r->sent_us = usher__redis_wall_us();
    return send_questions(r, USHER__REDIS_ASKS_SETTINGS, 4);
}

/* Settings that cannot be read are skipped. */
static void settings_told(const struct usher__redis *r)
{
    int64_t received = usher__redis_wall_us(), time = usher__redis_time(r->replies[3]);
    char line[USHER__REDIS_CLOCK_LINE];

    describe(r, r->replies[0], r->replies[1], r->replies[2]);
    if (time >= 0 && usher__redis_clock_line(r->sent_us, received, time, line))
        usher__redis_log(r, USHER_LOG_WARNING, line);
}

/* Return the first 12 digits of a replication id as a number, like lua/identity.lua. */
static uint64_t server_of(const char *identity)
{
    char digits[13];

    (void)snprintf(digits, sizeof digits, "%.12s", identity);
    return strtoull(digits, NULL, 16);
}

/* Query the id of the node: another node may have its address now. */
static enum usher_status ask_node(struct usher__redis *r)
{
    ask(r, "CLUSTER", "MYID");
    return send_questions(r, USHER__REDIS_ASKS_NODE, 1);
}

static enum usher_status node_told(struct usher__redis *r)
{
    const struct redisReply *reply = r->replies[0];

    /* without the right the id is not checked */
    if (reply->type == REDIS_REPLY_STRING && strcmp(reply->str, r->expects) != 0) {
        usher__redis_conn_refuse(r->conn, "another node has this address now");
        return USHER_UNAVAILABLE;
    }
    return USHER_OK;
}

/*
 * Query the role and identity of the server.  A replica returns old data to reads, and names and
 * virtual addresses lead to another server after a failover.  So the query is sent on each new
 * connection, and again when the answer is older than ROLE_MS.  If the user lacks the right, the
 * role is unknown.
 */
static enum usher_status ask_role(struct usher__redis *r)
{
    ask(r, "INFO", "replication");
    return send_questions(r, USHER__REDIS_ASKS_ROLE, 1);
}

bool usher__redis_refuse_replica(struct usher__redis_conn *conn, const struct redisReply *reply)
{
    struct usher_text role = usher__redis_info(reply, "role");

    if (role.size > 0 && !usher__redis_info_is(&role, "master")) {
        struct usher_text host = usher__redis_info(reply, "master_host"),
                          port = usher__redis_info(reply, "master_port");
        char why[160];

        if (host.size > 0)
            (void)snprintf(why, sizeof why, "the server is a replica of %.*s:%.*s",
                           host.size < 100 ? (int)host.size : 100, host.data,
                           port.size < 8 ? (int)port.size : 8, port.data);
        else
            (void)snprintf(why, sizeof why, "the server is not a master: its role is `%.*s`",
                           role.size < 40 ? (int)role.size : 40, role.data);
        usher__redis_conn_refuse(conn, why);
        return true;
    }
    return false;
}

/* Use the answer.  *@ret_other: the settings of this master must be logged. */
static enum usher_status role_told(struct usher__redis *r, bool *ret_other)
{
    const struct redisReply *reply = r->replies[0];
    struct usher_text role = usher__redis_info(reply, "role"), identity;

    if (role.size == 0 && r->tells && r->asked_ms == 0)
        usher__redis_log(
            r, USHER_LOG_WARNING,
            "redis: the user lacks the right to INFO: the role of the server is unknown");
    if (usher__redis_refuse_replica(r->conn, reply))
        return USHER_UNAVAILABLE;
    identity = usher__redis_info(reply, "master_replid");
    if (role.size > 0 && identity.size == 0 && r->tells && r->asked_ms == 0)
        usher__redis_log(r, USHER_LOG_WARNING,
                         "redis: the server has no master_replid: losses are not detected");
    *ret_other = r->tells && (r->asked_ms == 0 || identity.size != strlen(r->identity) ||
                              memcmp(identity.data, r->identity, identity.size) != 0);
    if (identity.size < sizeof r->identity) {
        memcpy(r->identity, identity.data, identity.size);
        r->identity[identity.size] = '\0';
        r->server = server_of(r->identity);
    }
    r->asked_ms = r->sent_ms;
    return USHER_OK;
}

/* Return whether the server may be a Sentinel: its section replication is empty. */
static bool may_be_sentinel(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING && reply->len == 0;
}

static enum usher_status ask_kind(struct usher__redis *r)
{
    ask(r, "INFO", "server");
    return send_questions(r, USHER__REDIS_ASKS_KIND, 1);
}

static enum usher_status kind_told(struct usher__redis *r)
{
    struct usher_text mode = usher__redis_info(r->replies[0], "redis_mode");

    if (!usher__redis_info_is(&mode, "sentinel"))
        return USHER_OK;
    usher__redis_conn_refuse(r->conn,
                             "the server is a Sentinel: use redis+sentinel://HOST:PORT/NAME");
    return USHER_UNAVAILABLE;
}

/* ---- scripts ----------------------------------------------------------------------- */

/* Expect the server of a new connection to have the known scripts; a missing one is loaded after
 * NOSCRIPT. So if many clients connect at once, after a restart or a promotion, only the first ones
 * send it. */
static void expect_scripts(struct usher__redis *r)
{
    struct usher__redis_store *s = r->store;

    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < USHER__REDIS_NOUNS; i++) {
        memcpy(r->script[i].sha, s->script[i].sha, sizeof r->script[i].sha);
        r->script[i].missing = false;
        r->script[i].may = USHER__REDIS_MAY_NOTHING;
    }
    (void)pthread_mutex_unlock(&s->lock);
    r->no_eval = r->no_script = r->no_time = false;
}

/* Later connections expect the script of @noun under this name. */
static void keep_sha(struct usher__redis *r, enum usher_noun noun, const char *sha)
{
    memcpy(r->script[noun].sha, sha, USHER__REDIS_SHA_MAX);
    (void)pthread_mutex_lock(&r->store->lock);
    memcpy(r->store->script[noun].sha, sha, USHER__REDIS_SHA_MAX);
    (void)pthread_mutex_unlock(&r->store->lock);
}

static bool sha_from(struct usher__redis *r, enum usher_noun noun, const struct redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING || reply->len != USHER__REDIS_SHA_MAX - 1)
        return false;
    for (size_t i = 0; i < reply->len; i++)
        if (strchr("0123456789abcdef", reply->str[i]) == NULL)
            return false;
    keep_sha(r, noun, reply->str);
    return true;
}

static enum usher_status make_text(const struct usher_allocator *alloc, enum usher_noun noun,
                                   struct usher__redis_script *script)
{
    const char *word = usher_noun_word(noun);
    size_t size;
    enum usher_status status = usher__redis_script(word, NULL, 0, &size);

    if (status != USHER_OK)
        return status;
    script->text = usher__redis_resize(alloc, NULL, 0, size + 1);
    if (script->text == NULL)
        return USHER_NOMEM;
    script->size = size;
    return usher__redis_script(word, script->text, size + 1, &size);
}

enum usher_status usher__redis_text(struct usher__redis *r, enum usher_noun noun,
                                    struct usher_text *ret)
{
    struct usher__redis_store *s = r->store;
    struct usher__redis_script *script = &s->script[noun];
    enum usher_status status = USHER_OK;

    (void)pthread_mutex_lock(&s->lock);
    if (script->text == NULL)
        status = make_text(s->alloc, noun, script);
    ret->data = script->text;
    ret->size = script->size;
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

enum usher_status usher__redis_name_script(struct usher__redis *r, enum usher_noun noun)
{
    struct usher_text text;
    char sha[USHER__REDIS_SHA_MAX];
    enum usher_status status = usher__redis_text(r, noun, &text);

    if (status != USHER_OK)
        return status;
    usher__redis_sha1(text.data, text.size, sha);
    keep_sha(r, noun, sha);
    r->script[noun].missing = true;
    return USHER_OK;
}

static enum usher_status ask_script(struct usher__redis *r, enum usher_noun noun)
{
    struct usher_text text;
    enum usher_status status = usher__redis_text(r, noun, &text);

    if (status != USHER_OK)
        return status;
    r->loads = noun;
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "SCRIPT");
    usher__redis_conn_arg_str(r->conn, "LOAD");
    usher__redis_conn_arg(r->conn, text.data, text.size);
    return send_questions(r, USHER__REDIS_ASKS_SCRIPT, 1);
}

static enum usher_status script_told(struct usher__redis *r)
{
    enum usher__redis_class class = usher__redis_classify(r->replies[0]);

    /* a proxy that does not know the command may return any text */
    if (class == USHER__REDIS_REFUSED || class == USHER__REDIS_SCRIPT_ERROR)
        return USHER_REFUSED;
    if (class == USHER__REDIS_OK && sha_from(r, r->loads, r->replies[0]))
        return USHER_OK;
    (void)usher__redis_conn_explain(r->conn, r->replies[0]);
    return USHER_UNAVAILABLE;
}

/* ---- what comes next --------------------------------------------------------------- */

/* Return the deadline of a query that has one of @n shares of the time, but at least @least ms. */
static int64_t until_of(const struct usher__redis *r, int64_t deadline_ms, int n, int64_t least)
{
    int64_t now_ms = usher__redis_clock_ms();
    int64_t share = (deadline_ms - now_ms) / n;

    if (share < least || r->store->map != NULL)
        share = least;
    return now_ms + share;
}

/* Connect to the server of r->conn.  If Sentinels named it, it has half of the time: if it is
 * silent, they are queried again in the other half, and may name another server. */
static enum usher_status connect_server(struct usher__redis *r, int64_t deadline_ms)
{
    r->until_ms = until_of(r, deadline_ms, r->named ? 2 : 1, r->named ? SEARCH_MS : CONNECT_MS);
    r->asks = USHER__REDIS_CONNECTS;
    return usher__redis_conn_begin_connect(r->conn, r->until_ms);
}

/* Connect; if there are several hosts, begin with the search for the master. */
static enum usher_status connect_any(struct usher__redis *r, int64_t deadline_ms)
{
    enum usher_status status = usher__redis_password(r);

    if (status != USHER_OK)
        return status;
    expect_scripts(r);
    if (r->n_hosts < 2 && r->sentinel[0] == '\0')
        return connect_server(r, deadline_ms);
    r->until_ms = until_of(r, deadline_ms, SEARCH_SHARE, SEARCH_MS);
    r->asks = USHER__REDIS_SEARCHES;
    return usher__redis_search_begin(r);
}

/* Return the first of @nouns without a script on the server, or USHER__REDIS_NOUNS. */
static unsigned missing_script(const struct usher__redis *r, unsigned nouns)
{
    unsigned noun = 0;

    while (noun < USHER__REDIS_NOUNS &&
           ((nouns >> noun & 1) == 0 || r->script[noun].sha[0] != '\0'))
        noun++;
    return noun;
}

/* Begin the next query that is needed.  *@ret_ready: none is. */
static enum usher_status begin(struct usher__redis *r, unsigned nouns, int64_t deadline_ms,
                               bool *ret_ready)
{
    unsigned demotions = atomic_load(&r->node->demotions), noun;

    if (demotions != r->demotions)
        usher__redis_conn_discard(r->conn);
    r->demotions = demotions;
    if (!usher__redis_conn_is_connected(r->conn))
        return connect_any(r, deadline_ms);
    r->until_ms = until_of(r, deadline_ms, 1, CONNECT_MS);
    if (usher__redis_clock_ms() - r->asked_ms >= ROLE_MS)
        return ask_role(r);
    noun = missing_script(r, nouns);
    if (noun < USHER__REDIS_NOUNS)
        return ask_script(r, (enum usher_noun)noun);
    *ret_ready = true;
    return USHER_OK;
}

/* Handle the answer to the open query. */
static enum usher_status told(struct usher__redis *r, int64_t deadline_ms)
{
    enum usher__redis_asks asked = r->asks;
    enum usher_status status = USHER_OK;
    bool other = false, roleless = false;

    r->asks = USHER__REDIS_ASKS_NOTHING;
    if (asked == USHER__REDIS_SEARCHES && r->sentinel[0] != '\0')
        return connect_server(r, deadline_ms);
    if (asked == USHER__REDIS_SEARCHES) {
        asked = USHER__REDIS_ASKS_ROLE; /* the search has queried the role already */
        r->until_ms = until_of(r, deadline_ms, 1, CONNECT_MS);
    }
    switch (asked) {
    case USHER__REDIS_CONNECTS:
        return r->expects[0] != '\0' ? ask_node(r) : ask_role(r);
    case USHER__REDIS_ASKS_NODE:
        status = node_told(r);
        break;
    case USHER__REDIS_ASKS_ROLE:
        roleless = may_be_sentinel(r->replies[0]);
        if (!roleless)
            status = role_told(r, &other);
        break;
    case USHER__REDIS_ASKS_KIND:
        status = kind_told(r);
        if (status == USHER_OK)
            status = role_told(r, &other);
        break;
    case USHER__REDIS_ASKS_SETTINGS:
        settings_told(r);
        break;
    default:
        status = script_told(r);
        break;
    }
    if (status == USHER_REFUSED)
        return status;
    usher__redis_replies_free(r);
    if (status != USHER_OK)
        return status;
    if (asked == USHER__REDIS_ASKS_NODE)
        return ask_role(r);
    if (roleless)
        return ask_kind(r);
    return other ? ask_settings(r) : USHER_OK;
}

/* Close the connection, and forget the open query. */
static void give_up(struct usher__redis *r)
{
    usher__redis_search_end(r);
    usher__redis_conn_discard(r->conn);
    usher__redis_replies_free(r);
    r->asks = USHER__REDIS_ASKS_NOTHING;
}

enum usher_status usher__redis_prepare(struct usher__redis *r, unsigned nouns, int64_t deadline_ms)
{
    bool ready = false;

    while (!ready) {
        enum usher_status status = USHER_OK;

        if (r->asks == USHER__REDIS_ASKS_NOTHING) {
            status = begin(r, nouns, deadline_ms, &ready);
        } else {
            status = r->asks == USHER__REDIS_SEARCHES   ? usher__redis_search_go_on(r)
                     : r->asks == USHER__REDIS_CONNECTS ? usher__redis_conn_go_on(r->conn)
                                                        : read_replies(r);
            if (status == USHER__REDIS_WAITS)
                return status;
            if (status == USHER_OK)
                status = told(r, deadline_ms);
        }
        if (status == USHER_OK)
            continue;
        if (status == USHER_REFUSED)
            return status;
        /* A proxy may close the connection at SCRIPT.  The next one does without. */
        if (r->asks == USHER__REDIS_ASKS_SCRIPT && status != USHER_NOMEM)
            (void)usher__redis_name_script(r, r->loads);
        give_up(r);
        return status == USHER_UNKNOWN ? USHER_UNAVAILABLE : status; /* a query changes nothing */
    }
    return USHER_OK;
}

void usher__redis_wants(const struct usher__redis *r, struct usher_wait *ret)
{
    int64_t conn_ms = usher__redis_conn_until(r->conn);

    if (r->asks == USHER__REDIS_SEARCHES) {
        usher__redis_search_wants(r, ret);
        return;
    }
    ret->fd = usher__redis_conn_wants(r->conn, &ret->events);
    ret->until_ms =
        r->asks == USHER__REDIS_ASKS_NOTHING || conn_ms < r->until_ms ? conn_ms : r->until_ms;
}

void usher__redis_wait_some(struct pollfd *fds, nfds_t n, int64_t until_ms)
{
    int64_t left_ms = until_ms - usher__redis_clock_ms();

    (void)poll(fds, n, left_ms > 3600000 ? 3600000 : left_ms > 0 ? (int)left_ms : 0);
}

void usher__redis_wait(const struct usher_wait *wait, int64_t deadline_ms)
{
    struct pollfd p = { .fd = wait->fd, .events = wait->events };

    usher__redis_wait_some(&p, 1, wait->until_ms < deadline_ms ? wait->until_ms : deadline_ms);
}

bool usher__redis_wait_for(struct usher__redis *r, int64_t deadline_ms)
{
    struct usher_wait wait;

    if (usher__redis_clock_ms() >= deadline_ms) {
        usher__redis_conn_slow(r->conn);
        return false;
    }
    usher__redis_wants(r, &wait);
    usher__redis_wait(&wait, deadline_ms);
    return true;
}

enum usher_status usher__redis_handshake(struct usher__redis *r, int64_t deadline_ms)
{
    enum usher_status status = usher__redis_prepare(r, 0, deadline_ms);

    while (status == USHER__REDIS_WAITS) {
        if (!usher__redis_wait_for(r, deadline_ms)) {
            give_up(r); /* the next user of the connection would wait for this answer */
            return USHER_UNAVAILABLE;
        }
        status = usher__redis_prepare(r, 0, deadline_ms);
    }
    return status;
}
