/* SPDX-License-Identifier: MIT */
/*
 * The map of a Redis Cluster: the node of each slot.
 *
 * The map is the answer of one node to CLUSTER SLOTS, patched by each MOVED.  A contradiction (a
 * redirect, a node that does not answer or is no master any more) makes it doubtful, and the next
 * thread that has time refreshes it.  One thread at a time does so, at most once a second, so that
 * a failover causes no storm of queries.  Known nodes are queried first, then the hosts of the URL,
 * whose names may lead to other nodes by then.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "store.h"

#define LOOK_MS 1000  /* minimum time between two refreshes; up to an eighth is added */
#define LOOK_SHARE 4  /* a refresh takes a quarter of the time that the thread has left */
#define ANSWER_MS 400 /* deadline of one of several nodes */
#define SILENT_MS 500 /* a node with an open command counts as silent after this time */
#define FIRST_MS 3000 /* deadline of each host when the store is opened */

struct usher__redis_map {
    _Atomic uint16_t owner[USHER__REDIS_SLOTS]; /* a node, or USHER__REDIS_NOBODY */
    _Atomic bool doubtful;
    _Atomic int64_t next_ms; /* no refresh before this time */
    /* With the store's lock. */
    int64_t asked_until_ms; /* deadline of the current refresh */
    unsigned turn;          /* the first node of the next refresh */
    size_t n_known;
    struct usher__redis_member *known; /* the members of the last view, with replicas */
};

/* ---- what is known ------------------------------------------------------------------ */

static void put_known(struct usher__redis_store *s, const struct usher__redis_view *v)
{
    struct usher__redis_map *m = s->map;
    struct usher__redis_member *known =
        usher__redis_resize(s->alloc, NULL, 0, v->n * sizeof *known);

    if (known == NULL)
        return; /* no memory: keep the old members */
    memcpy(known, v->members, v->n * sizeof *known);
    (void)usher__redis_resize(s->alloc, m->known, m->n_known * sizeof *known, 0);
    m->known = known;
    m->n_known = v->n;
}

/* Mark nodes that are no longer in the map; connections to them are closed after use. */
static void leave(struct usher__redis_store *s, const bool *here)
{
    unsigned n = atomic_load(&s->n_nodes);

    for (unsigned i = 0; i < n; i++) {
        struct usher__redis_node *node = s->node[i];

        node->gone = !here[i];
        while (node->gone && node->n_idle > 0)
            usher__redis_free(node->idle[--node->n_idle]);
    }
}

/*
 * Slots that a view does not cover keep their owner.  With the lock.
 */
static void apply(struct usher__redis_store *s, const struct usher__redis_view *v)
{
    unsigned number[USHER__REDIS_MEMBERS_MAX] = { 0 };
    bool here[USHER__REDIS_NODES_MAX] = { false };

    for (size_t i = 0; i < v->n; i++) {
        number[i] = USHER__REDIS_NODES_MAX;
        if (!v->members[i].master)
            continue;
        number[i] = usher__redis_node_at(s, &v->members[i].at);
        if (number[i] == USHER__REDIS_NODES_MAX)
            continue;
        memcpy(s->node[number[i]]->id, v->members[i].id, sizeof v->members[i].id);
        memcpy(s->node[number[i]]->ip, v->members[i].ip, sizeof v->members[i].ip);
    }
    for (unsigned slot = 0; slot < USHER__REDIS_SLOTS; slot++) {
        uint16_t owner = atomic_load_explicit(&s->map->owner[slot], memory_order_relaxed);

        if (v->owner[slot] != USHER__REDIS_NOBODY &&
            number[v->owner[slot]] < USHER__REDIS_NODES_MAX) {
            owner = (uint16_t)number[v->owner[slot]];
            atomic_store_explicit(&s->map->owner[slot], owner, memory_order_relaxed);
        }
        if (owner != USHER__REDIS_NOBODY)
            here[owner] = true;
    }
    leave(s, here);
    put_known(s, v);
}

/* ---- a refresh of the map --------------------------------------------------------------- */

/*
 * A refresh of the map.  The known nodes are queried, which must still have their ids, and then the
 * hosts of the URL.  The first answer is used.  One node is queried at a time, on a connection of
 * its own.
 */
struct usher__redis_refresh {
    struct usher__redis_store *s;
    size_t room;           /* capacity of `known` */
    size_t n_known, n, at; /* nodes and hosts to query, and the next one */
    unsigned turn;         /* the first host */
    int64_t each_ms, deadline_ms;
    /* The connection to the queried node, or NULL. */
    struct usher__redis *r;
    struct usher__redis_node node;     /* the node of this connection */
    char id[USHER__REDIS_NODE_ID_MAX]; /* its expected id; "": any */
    bool sent;                         /* it is connected, and the queries were sent */
    struct redisReply *mine;           /* the answer to the first query */
    int64_t until_ms;                  /* the deadline of the answers */
    enum usher_status status;
    char message[USHER__REDIS_MESSAGE_SIZE];
    struct usher__redis_member known[];
};

static size_t refresh_size(size_t room)
{
    return sizeof(struct usher__redis_refresh) + room * sizeof(struct usher__redis_member);
}

/* Make a refresh with memory for @room known nodes. */
static struct usher__redis_refresh *refresh_new(struct usher__redis_store *s, size_t room,
                                                int64_t each_ms, int64_t deadline_ms)
{
    struct usher__redis_refresh *l = usher__redis_resize(s->alloc, NULL, 0, refresh_size(room));

    if (l == NULL)
        return NULL;
    memset(l, 0, sizeof *l);
    l->s = s;
    l->room = room;
    l->n = s->like->n_hosts;
    l->each_ms = each_ms;
    l->deadline_ms = deadline_ms;
    l->status = USHER_UNAVAILABLE;
    return l;
}

static void refresh_free(struct usher__redis_refresh *l)
{
    freeReplyObject(l->mine);
    usher__redis_free(l->r);
    (void)usher__redis_resize(l->s->alloc, l, refresh_size(l->room), 0);
}

/* Begin to query the next node.  The first node and the first host are queried even after the
 * deadline. */
static enum usher_status ask_next(struct usher__redis_refresh *l)
{
    const struct usher__redis_store *s = l->s;
    int64_t now_ms = usher__redis_clock_ms();
    enum usher_status status;

    if (l->at != 0 && l->at != l->n_known && now_ms >= l->deadline_ms)
        l->at = l->at < l->n_known ? l->n_known : l->n;
    if (l->at == l->n)
        return USHER_UNAVAILABLE;
    memset(&l->node, 0, sizeof l->node);
    if (l->at < l->n_known) {
        l->node.at = l->known[l->at].at;
        memcpy(l->node.ip, l->known[l->at].ip, sizeof l->node.ip);
        memcpy(l->id, l->known[l->at].id, sizeof l->id);
    } else {
        l->node.at = s->like->hosts[(l->turn + l->at - l->n_known) % s->like->n_hosts];
        l->id[0] = '\0';
    }
    l->message[0] = '\0';
    l->at++;
    l->sent = false;
    l->until_ms = now_ms + l->each_ms < l->deadline_ms ? now_ms + l->each_ms : l->deadline_ms;
    l->r = usher__redis_new(l->s, &l->node);
    if (l->r == NULL)
        return USHER_NOMEM;
    status = usher__redis_password(l->r);
    return status == USHER_OK ? usher__redis_conn_begin_connect(l->r->conn, l->until_ms) : status;
}

/* Send the two queries to the connected node. */
static enum usher_status send_questions(struct usher__redis_refresh *l)
{
    static const char *const words[] = { "MYID", "SLOTS" };

    for (size_t i = 0; i < 2; i++) {
        usher__redis_conn_begin(l->r->conn, 2);
        usher__redis_conn_arg_str(l->r->conn, "CLUSTER");
        usher__redis_conn_arg_str(l->r->conn, words[i]);
    }
    l->sent = true;
    return usher__redis_conn_flush(l->r->conn);
}

/* Use the answers: the map in @reply. */
static enum usher_status told(struct usher__redis_refresh *l, const struct redisReply *reply)
{
    const struct usher__redis_address *at = &l->node.at;
    struct usher__redis_store *s = l->s;
    struct usher__redis_view *v = NULL;
    enum usher_status status;

    /* without the right the id is not checked */
    if (l->id[0] != '\0' && l->mine->type == REDIS_REPLY_STRING &&
        strcmp(l->mine->str, l->id) != 0) {
        usher__redis_conn_refuse(l->r->conn, "another node has this address now");
        return USHER_UNAVAILABLE;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        (void)snprintf(
            l->message, sizeof l->message, "%s%s", usher__redis_conn_explain(l->r->conn, reply),
            strstr(reply->str, "cluster support disabled") != NULL ? " (use redis://)" : "");
        return USHER_UNAVAILABLE;
    }
    status = usher__redis_view_read(s->alloc, reply, at, &v);
    if (status == USHER_OK && v->covered != 0) {
        (void)pthread_mutex_lock(&s->lock);
        apply(s, v);
        (void)pthread_mutex_unlock(&s->lock);
        usher__redis_view_free(s->alloc, v);
        return USHER_OK;
    }
    (void)snprintf(l->message, sizeof l->message, "redis %.100s:%u: %s", at->host,
                   (unsigned)at->port,
                   status == USHER_INVALID ? "malformed reply to CLUSTER SLOTS"
                   : status == USHER_NOMEM ? "out of memory"
                                           : "no node serves a slot of the cluster");
    if (status == USHER_OK)
        usher__redis_view_free(s->alloc, v);
    return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
}

/* Drive the query of one node: connect, send, read.  USHER__REDIS_WAITS. */
static enum usher_status ask_on(struct usher__redis_refresh *l)
{
    struct redisReply *reply = NULL;
    enum usher_status status = USHER_OK;

    if (!l->sent) {
        status = usher__redis_conn_go_on(l->r->conn);
        if (status == USHER_OK)
            status = send_questions(l);
    }
    if (status == USHER_OK && l->mine == NULL)
        status = usher__redis_conn_next(l->r->conn, &l->mine);
    if (status == USHER_OK)
        status = usher__redis_conn_next(l->r->conn, &reply);
    if (status == USHER_OK)
        status = told(l, reply);
    freeReplyObject(reply);
    return status;
}

/* The query has timed out. */
static enum usher_status ask_late(struct usher__redis_refresh *l)
{
    if (l->sent)
        return usher__redis_conn_late(l->r->conn);
    usher__redis_conn_slow(l->r->conn);
    return USHER_UNAVAILABLE;
}

/* End the query of a node, answered or not. */
static void asked(struct usher__redis_refresh *l, enum usher_status status)
{
    if (status != USHER_OK && l->message[0] == '\0')
        (void)snprintf(l->message, sizeof l->message, "%s", usher__redis_conn_message(l->r->conn));
    freeReplyObject(l->mine);
    l->mine = NULL;
    usher__redis_free(l->r);
    l->r = NULL;
    l->status = status == USHER_OK || status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
}

bool usher__redis_refresh_continue(struct usher__redis_refresh *l, struct usher_wait *ret)
{
    for (;;) {
        enum usher_status status = USHER_OK;

        if (l->r == NULL && l->at < l->n)
            status = ask_next(l);
        if (l->r == NULL) { /* no memory, no time or no node is left */
            l->status = status == USHER_NOMEM ? status : l->status;
            return true;
        }
        if (status == USHER_OK)
            status = ask_on(l);
        if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() < l->until_ms) {
            usher__redis_wants(l->r, ret);
            ret->until_ms = l->until_ms < ret->until_ms ? l->until_ms : ret->until_ms;
            return false;
        }
        asked(l, status == USHER__REDIS_WAITS ? ask_late(l) : status);
        if (l->status != USHER_UNAVAILABLE)
            return true;
    }
}

static void refresh_finish(struct usher__redis_refresh *l)
{
    struct usher_wait wait;

    while (!usher__redis_refresh_continue(l, &wait))
        usher__redis_wait(&wait, INT64_MAX);
}

/* Return whether @node has open commands and does not answer. */
static bool is_silent(struct usher__redis_node *node)
{
    return atomic_load_explicit(&node->mute, memory_order_relaxed) ||
           (atomic_load_explicit(&node->under_way, memory_order_relaxed) != 0 &&
            usher__redis_clock_ms() - atomic_load_explicit(&node->heard_ms, memory_order_relaxed) >
                SILENT_MS);
}

static bool is_silent_at(struct usher__redis_store *s, const struct usher__redis_address *at)
{
    unsigned n = atomic_load(&s->n_nodes), i = 0;

    while (i < n && (s->node[i]->at.port != at->port || strcmp(s->node[i]->at.host, at->host) != 0))
        i++;
    return i < n && is_silent(s->node[i]);
}

/* Copy the known nodes to @to, beginning with number @turn, the silent ones last: the command of
 * the thread may be for a node that answers, and should not wait for silent ones. */
static size_t put_in_turn(struct usher__redis_store *s, unsigned turn,
                          struct usher__redis_member *to)
{
    const struct usher__redis_map *m = s->map;
    size_t n = 0;

    for (int silent = 0; silent < 2; silent++)
        for (size_t i = 0; i < m->n_known; i++) {
            const struct usher__redis_member *of = &m->known[(turn + i) % m->n_known];

            if (n < m->n_known && is_silent_at(s, &of->at) == (silent == 1))
                to[n++] = *of;
        }
    return n;
}

/* Return whether the calling thread must refresh the map.  It then reports the end of the refresh.
 * After
 * @until_ms another thread may, because the refresh may have been left. */
static bool claim(struct usher__redis_map *m, int64_t now_ms, int64_t until_ms)
{
    if (now_ms < m->asked_until_ms || now_ms < atomic_load(&m->next_ms))
        return false;
    m->asked_until_ms = until_ms;
    /* a contradiction from now on needs another refresh */
    atomic_store(&m->doubtful, false);
    atomic_store(&m->next_ms, now_ms + LOOK_MS + now_ms * 31 % (LOOK_MS / 8));
    return true;
}

struct usher__redis_refresh *usher__redis_refresh_begin(struct usher__redis_store *s,
                                                        int64_t deadline_ms)
{
    struct usher__redis_map *m = s->map;
    struct usher__redis_refresh *l = NULL;
    int64_t now_ms;

    if (!atomic_load_explicit(&m->doubtful, memory_order_relaxed))
        return NULL;
    now_ms = usher__redis_clock_ms();
    if (now_ms < atomic_load_explicit(&m->next_ms, memory_order_relaxed))
        return NULL;
    /* leave time for the command of this thread, which may be for a node that answers */
    if (deadline_ms > now_ms)
        deadline_ms = now_ms + (deadline_ms - now_ms) / LOOK_SHARE;
    (void)pthread_mutex_lock(&s->lock);
    if (claim(m, now_ms, deadline_ms + LOOK_MS)) {
        l = refresh_new(s, m->n_known, ANSWER_MS, deadline_ms);
        if (l != NULL) {
            l->turn = m->turn++;
            l->n_known = put_in_turn(s, l->turn, l->known);
            l->n += l->n_known;
        } else { /* no memory: try again later */
            atomic_store(&m->doubtful, true);
            m->asked_until_ms = 0;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return l;
}

void usher__redis_refresh_end(struct usher__redis_refresh *l)
{
    struct usher__redis_store *s;

    if (l == NULL)
        return;
    s = l->s;
    if (l->status != USHER_OK)
        atomic_store(&s->map->doubtful, true);
    refresh_free(l);
    (void)pthread_mutex_lock(&s->lock);
    s->map->asked_until_ms = 0;
    (void)pthread_mutex_unlock(&s->lock);
}

void usher__redis_refresh(struct usher_store *store, int64_t deadline_ms)
{
    struct usher__redis_refresh *l =
        usher__redis_refresh_begin((struct usher__redis_store *)store, deadline_ms);

    if (l == NULL)
        return;
    refresh_finish(l);
    usher__redis_refresh_end(l);
}

void usher__redis_doubt(struct usher__redis_store *s)
{
    if (s->map != NULL)
        atomic_store(&s->map->doubtful, true);
}

/* ---- owners ------------------------------------------------------------------------- */

static unsigned owner_of(struct usher__redis_store *s, const struct usher_text *scope)
{
    unsigned slot = usher__redis_slot_of_tag(scope->data, scope->size);
    uint16_t owner = atomic_load_explicit(&s->map->owner[slot], memory_order_relaxed);

    /* any node can redirect the command, or report that no node has the slot */
    return owner != USHER__REDIS_NOBODY ? owner : slot % atomic_load(&s->n_nodes);
}

unsigned usher__redis_route(struct usher_store *store, const struct usher_task *task)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    unsigned number;
    struct usher__redis_node *node;

    if ((task->state & USHER__REDIS_ASKING) != 0)
        return task->lane;
    number = owner_of(s, &task->command->scope);
    node = s->node[number];
    if (is_silent(node))
        usher__redis_doubt(s); /* another node may have its slots now */
    return number;
}

unsigned usher__redis_number_of(struct usher__redis_store *s, const struct usher_text *scope)
{
    return s->map == NULL ? 0 : owner_of(s, scope);
}

size_t usher__redis_masters(struct usher__redis_store *s, unsigned to[USHER__REDIS_NODES_MAX])
{
    bool has[USHER__REDIS_NODES_MAX] = { false };
    size_t n = 0;

    for (unsigned slot = 0; s->map != NULL && slot < USHER__REDIS_SLOTS; slot++) {
        uint16_t owner = atomic_load(&s->map->owner[slot]);

        if (owner != USHER__REDIS_NOBODY)
            has[owner] = true;
    }
    has[0] = has[0] || s->map == NULL;
    for (unsigned i = 0; i < USHER__REDIS_NODES_MAX; i++)
        if (has[i])
            to[n++] = i;
    return n;
}

int32_t usher__redis_slots_of(struct usher__redis_store *s, unsigned number)
{
    int32_t n = 0;

    for (unsigned slot = 0; slot < USHER__REDIS_SLOTS; slot++)
        n += atomic_load(&s->map->owner[slot]) == number;
    return n;
}

unsigned usher__redis_redirected(struct usher__redis *r, const struct redisReply *reply, bool asks)
{
    struct usher__redis_store *s = r->store;
    struct usher__redis_address to;
    unsigned slot, number;

    if (!usher__redis_redirect_read(reply->str, reply->len, &r->node->at, &slot, &to)) {
        usher__redis_doubt(s);
        return USHER__REDIS_NODES_MAX;
    }
    if (!asks) /* with ASK the owner of the slot does not change */
        usher__redis_doubt(s);
    (void)pthread_mutex_lock(&s->lock);
    number = usher__redis_node_at(s, &to);
    if (number < USHER__REDIS_NODES_MAX && s->node[number] != r->node) {
        s->node[number]->gone = false;
        if (!asks)
            atomic_store(&s->map->owner[slot], (uint16_t)number);
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (number < USHER__REDIS_NODES_MAX && s->node[number] == r->node) {
        r->drop = true; /* the node names itself: a proxy has led to another node */
        number = USHER__REDIS_NODES_MAX;
    }
    return number;
}

/* ---- open and close ----------------------------------------------------------------- */

enum usher_status usher__redis_map_open(struct usher__redis_store *s, int64_t deadline_ms,
                                        char message[192])
{
    struct usher__redis_map *m = usher__redis_resize(s->alloc, NULL, 0, sizeof *m);
    struct usher__redis_refresh *l;
    enum usher_status status;

    if (m == NULL) {
        (void)snprintf(message, 192, "redis: out of memory");
        return USHER_NOMEM;
    }
    memset(m, 0, sizeof *m);
    for (unsigned slot = 0; slot < USHER__REDIS_SLOTS; slot++)
        atomic_init(&m->owner[slot], USHER__REDIS_NOBODY);
    atomic_init(&m->next_ms, 0);
    s->map = m;
    l = refresh_new(s, 0, FIRST_MS, deadline_ms);
    if (l == NULL) {
        (void)snprintf(message, 192, "redis: out of memory");
        return USHER_NOMEM;
    }
    refresh_finish(l);
    status = l->status;
    (void)snprintf(message, 192, "%s", l->message);
    refresh_free(l);
    return status;
}

void usher__redis_map_free(struct usher__redis_store *s)
{
    struct usher__redis_map *m = s->map;

    if (m == NULL)
        return;
    (void)usher__redis_resize(s->alloc, m->known, m->n_known * sizeof *m->known, 0);
    (void)usher__redis_resize(s->alloc, m, sizeof *m, 0);
    s->map = NULL;
}
