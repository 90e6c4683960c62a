/* SPDX-License-Identifier: MIT */
/*
 * Where scopes are in a Redis Cluster.
 *
 * The map is what some node told (CLUSTER SLOTS), patched by each MOVED.  What does not fit (a
 * redirect, a node that does not answer, one that is no master any more) makes it doubtful, and the
 * next thread that has time asks for it anew: one at a time and at most once a second, so that a
 * failover is no storm of such questions.  First those are asked who are known, then the hosts of
 * the URL, whose names may lead to others by now.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "store.h"

#define LOOK_MS 1000  /* between two questions, at least; and up to an eighth more */
#define LOOK_SHARE 4  /* so much of the time that a thread has left is for it, a quarter */
#define ANSWER_MS 400 /* one of several has this long for its answer */
#define SILENT_MS 500 /* a node with something under way that has said nothing for so long */
#define FIRST_MS 3000 /* each host of the URL at the beginning */

struct usher__redis_map {
    _Atomic uint16_t owner[USHER__REDIS_SLOTS]; /* the number of a node, or NOBODY */
    _Atomic bool doubtful;
    _Atomic int64_t next_ms; /* not to be asked for before */
    /* With the store's lock. */
    bool asked_for; /* a thread is at it */
    unsigned turn;  /* so that it is not always the same node */
    size_t n_known;
    struct usher__redis_member *known; /* of the last view: replicas, too */
};

/* ---- what is known ------------------------------------------------------------------ */

static void put_known(struct usher__redis_store *s, const struct usher__redis_view *v)
{
    struct usher__redis_map *m = s->map;
    struct usher__redis_member *known =
        usher__redis_resize(s->alloc, NULL, 0, v->n * sizeof *known);

    if (known == NULL)
        return; /* those of before will do */
    memcpy(known, v->members, v->n * sizeof *known);
    (void)usher__redis_resize(s->alloc, m->known, m->n_known * sizeof *known, 0);
    m->known = known;
    m->n_known = v->n;
}

/* Nodes that are not in the map any more are left: who uses a connection closes it. */
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
 * A view says nothing of slots that it does not cover: they stay with whom they were.  With the
 * lock.
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
        if (number[i] < USHER__REDIS_NODES_MAX)
            memcpy(s->node[number[i]]->id, v->members[i].id, sizeof v->members[i].id);
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

/* ---- asking ------------------------------------------------------------------------- */

/* The answer to MYID and then that to SLOTS, of @r, which is to be the node @id, "": whichever. */
static enum usher_status question(struct usher__redis *r, const char *id, int64_t deadline_ms,
                                  struct redisReply **ret)
{
    static const char *const words[] = { "MYID", "SLOTS" };
    struct redisReply *mine = NULL;
    bool other;
    enum usher_status status = usher__redis_password(r);

    if (status == USHER_OK)
        status = usher__redis_conn_connect(r->conn, deadline_ms);
    if (status != USHER_OK)
        return status;
    for (size_t i = 0; i < 2; i++) {
        usher__redis_conn_begin(r->conn, 2);
        usher__redis_conn_arg_str(r->conn, "CLUSTER");
        usher__redis_conn_arg_str(r->conn, words[i]);
    }
    status = usher__redis_conn_flush(r->conn);
    if (status == USHER_OK)
        status = usher__redis_conn_read(r->conn, deadline_ms, &mine);
    if (status == USHER_OK)
        status = usher__redis_conn_read(r->conn, deadline_ms, ret);
    /* who may not ask goes without */
    other = status == USHER_OK && id[0] != '\0' && mine->type == REDIS_REPLY_STRING &&
            strcmp(mine->str, id) != 0;
    freeReplyObject(mine);
    if (other) {
        freeReplyObject(*ret);
        *ret = NULL;
        usher__redis_conn_refuse(r->conn, "another node has this address now");
        status = USHER_UNAVAILABLE;
    }
    return status;
}

/* What the node @of says, on a connection of its own. */
static enum usher_status ask(struct usher__redis_store *s, const struct usher__redis_member *of,
                             int64_t deadline_ms, struct usher__redis_view **ret, char message[192])
{
    const struct usher__redis_address *at = &of->at;
    struct usher__redis_node node = { .at = *at };
    struct usher__redis *r = usher__redis_new(s, &node);
    struct redisReply *reply = NULL;
    enum usher_status status = USHER_NOMEM;

    if (r == NULL)
        return status;
    status = question(r, of->id, deadline_ms, &reply);
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
    } else if (reply->type == REDIS_REPLY_ERROR) {
        (void)snprintf(message, 192, "%s%s", usher__redis_conn_explain(r->conn, reply),
                       strstr(reply->str, "cluster support disabled") != NULL ? " (use redis://)"
                                                                              : "");
        status = USHER_UNAVAILABLE;
    } else {
        status = usher__redis_view_read(s->alloc, reply, at, ret);
        if (status == USHER_OK && (*ret)->covered == 0) {
            usher__redis_view_free(s->alloc, *ret);
            status = USHER_UNAVAILABLE;
        }
        if (status != USHER_OK)
            (void)snprintf(message, 192, "redis %.100s:%u: %s", at->host, (unsigned)at->port,
                           status == USHER_INVALID ? "the answer to CLUSTER SLOTS is not understood"
                           : status == USHER_NOMEM ? "out of memory"
                                                   : "no slot of the cluster is served");
    }
    freeReplyObject(reply);
    usher__redis_free(r);
    return status == USHER_OK || status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
}

/* Take what the first of @n says who says something, beginning with number @turn.  They are @known,
 * and still have to be who they were, or (NULL) the hosts of the URL. */
static enum usher_status ask_some(struct usher__redis_store *s,
                                  const struct usher__redis_member *known, size_t n, unsigned turn,
                                  int64_t each_ms, int64_t deadline_ms, char message[192])
{
    enum usher_status status = USHER_UNAVAILABLE;

    for (size_t i = 0; i < n && status == USHER_UNAVAILABLE; i++) {
        int64_t until_ms = usher__redis_clock_ms() + each_ms;
        struct usher__redis_member of = { .master = false };
        struct usher__redis_view *v;

        if (i > 0 && until_ms - each_ms >= deadline_ms)
            break;
        if (known != NULL)
            of = known[(turn + i) % n];
        else
            of.at = s->like->hosts[(turn + i) % n];
        status = ask(s, &of, until_ms < deadline_ms ? until_ms : deadline_ms, &v, message);
        if (status != USHER_OK)
            continue;
        (void)pthread_mutex_lock(&s->lock);
        apply(s, v);
        (void)pthread_mutex_unlock(&s->lock);
        usher__redis_view_free(s->alloc, v);
    }
    return status;
}

/* Has @node something under way, and says nothing? */
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

/* Those that are known, beginning with number @turn, and behind them those that are silent: who
 * asks may have a command for a node that is well, and should not wait for them. */
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

static void look_now(struct usher__redis_store *s, int64_t deadline_ms)
{
    struct usher__redis_map *m = s->map;
    struct usher__redis_member *known = NULL;
    size_t n = 0, size = 0;
    unsigned turn = 0;
    int64_t now_ms = usher__redis_clock_ms();
    enum usher_status status = USHER_UNAVAILABLE;
    char message[192];
    bool mine;

    /* the thread has a command of its own, perhaps for a node that is well */
    if (deadline_ms > now_ms)
        deadline_ms = now_ms + (deadline_ms - now_ms) / LOOK_SHARE;
    (void)pthread_mutex_lock(&s->lock);
    mine = !m->asked_for && now_ms >= atomic_load(&m->next_ms);
    if (mine) {
        m->asked_for = true;
        turn = m->turn++;
        /* what is found out from now on needs another look */
        atomic_store(&m->doubtful, false);
        atomic_store(&m->next_ms, now_ms + LOOK_MS + now_ms * 31 % (LOOK_MS / 8));
        known = usher__redis_resize(s->alloc, NULL, 0, m->n_known * sizeof *known);
        size = m->n_known * sizeof *known;
        n = known != NULL ? put_in_turn(s, turn, known) : 0;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (!mine)
        return;
    if (n > 0)
        status = ask_some(s, known, n, 0, ANSWER_MS, deadline_ms, message);
    if (status == USHER_UNAVAILABLE)
        status = ask_some(s, NULL, s->like->n_hosts, turn, ANSWER_MS, deadline_ms, message);
    (void)usher__redis_resize(s->alloc, known, known != NULL ? size : 0, 0);
    if (status != USHER_OK)
        atomic_store(&m->doubtful, true);
    (void)pthread_mutex_lock(&s->lock);
    m->asked_for = false;
    (void)pthread_mutex_unlock(&s->lock);
}

void usher__redis_look(struct usher_store *store, int64_t deadline_ms)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;

    if (atomic_load_explicit(&s->map->doubtful, memory_order_relaxed) &&
        usher__redis_clock_ms() >= atomic_load_explicit(&s->map->next_ms, memory_order_relaxed))
        look_now(s, deadline_ms);
}

void usher__redis_doubt(struct usher__redis_store *s)
{
    if (s->map != NULL)
        atomic_store(&s->map->doubtful, true);
}

/* ---- who has it --------------------------------------------------------------------- */

static unsigned owner_of(struct usher__redis_store *s, const struct usher_text *scope)
{
    unsigned slot = usher__redis_slot_of_tag(scope->data, scope->size);
    uint16_t owner = atomic_load_explicit(&s->map->owner[slot], memory_order_relaxed);

    /* whoever is asked says who has it, or that nobody has */
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
        usher__redis_doubt(s); /* somebody else may have its slots by now */
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
    if (!asks) /* with ASK it is still whose it was */
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
        r->drop = true; /* it thinks that it is somebody else: another one behind a proxy */
        number = USHER__REDIS_NODES_MAX;
    }
    return number;
}

/* ---- open and close ----------------------------------------------------------------- */

enum usher_status usher__redis_map_open(struct usher__redis_store *s, int64_t deadline_ms,
                                        char message[192])
{
    struct usher__redis_map *m = usher__redis_resize(s->alloc, NULL, 0, sizeof *m);

    if (m == NULL) {
        (void)snprintf(message, 192, "redis: out of memory");
        return USHER_NOMEM;
    }
    memset(m, 0, sizeof *m);
    for (unsigned slot = 0; slot < USHER__REDIS_SLOTS; slot++)
        atomic_init(&m->owner[slot], USHER__REDIS_NOBODY);
    atomic_init(&m->next_ms, 0);
    s->map = m;
    return ask_some(s, NULL, s->like->n_hosts, 0, FIRST_MS, deadline_ms, message);
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
