/* SPDX-License-Identifier: MIT */
/*
 * The listener receives the versions that scripts publish (lua/dispatch.lua), on connections that
 * subscribe, one to each node that has a scope with a follower.
 *
 * A scope with followers is a channel.  A channel without a subscription is in the list `todo`: the
 * next step subscribes to it at the node that has its slot now, as soon as the connection to that
 * node is ready.  When a subscription ends (the connection breaks, the slot moves, the node is no
 * master any more), the channel is put back into that list.  So the first subscription and one
 * after a failover are made in the same way.
 *
 * On a cluster the messages are those of SPUBLISH, which need SSUBSCRIBE at the node that has the
 * slot; on one server, and on clusters before Redis 7, those of PUBLISH.
 *
 * A message is only a hint to read the log.  So a message that is not understood is ignored.  If a
 * server refuses a subscription, it is tried again after a minute; followers read the log until
 * then.
 *
 * The lock protects the table and the members that listen_to() changes.  All others belong to the
 * thread in go_on(), which has the lock only for short times and makes no callback with it.
 */
#include "config.h"

#include "listen.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "info.h"
#include "store.h"

#ifdef USHER_HOSTILE
#define MESSAGES 3 /* messages read from one connection in a step */
#else
#define MESSAGES 256
#endif
#define CONNECT_MS 2000
#define REST_FIRST_MS 50 /* pause before the next connection; doubled each time */
#define REST_MAX_MS 2000
#define CHECK_MS 5000    /* interval of PING; a server that does not answer one has failed */
#define RETRY_MS 500     /* pause before a subscription is tried again */
#define REFUSED_MS 60000 /* likewise after a refusal */
#define MOVES_MAX 3      /* redirects of a channel that are followed at once */
#define ROUNDS 4         /* of a step */
#define TABLE_FIRST ((size_t)64)
#define REQUESTS_FIRST ((size_t)16)

struct ear;

/* A scope with followers. */
struct channel {
    struct channel *next;    /* in its list of the table */
    struct channel *then;    /* in `todo` or `later` */
    struct channel **of_ear; /* the pointer to it in the list of its connection */
    struct channel *beside;  /* the next one of this list */
    /* with the lock: all followers, the new ones, and whether it is in `todo` or `later` */
    size_t followers, fresh;
    bool listed;
    enum { OUT, ASKED, IN } state;
    struct ear *ear;    /* unless OUT */
    unsigned moves;     /* redirects since it was IN */
    int64_t not_before; /* OUT: no try before this time */
    enum usher_noun noun;
    struct usher_text scope, name; /* the name is the key of the scope's hash */
    char text[];
};

/* A connection to a node. */
struct ear {
    struct ear *next;
    struct usher__redis_node *node;
    struct usher__redis *r; /* NULL in the first two stages */
    enum { IDLE, RESTS, PREPARES, ASKS, LISTENS } stage;
    bool shards; /* SSUBSCRIBE, not SUBSCRIBE */
    bool wanted; /* a channel waits for it */
    bool broken; /* it must be made again: no memory for a request, or the node was demoted */
    int64_t until_ms, rest_ms;  /* end of the stage; length of the next pause */
    int64_t check_ms, asked_ms; /* the next PING; the time of an unanswered one, or 0 */
    struct channel *channels;   /* ASKED or IN */
    /* The unanswered requests in order, from requests[first] on: the channel of a subscription, or
     * NULL for another command. */
    struct channel **requests;
    size_t first, n, room;
    struct usher_wait wait;
    bool in_loop;
};

struct usher_listener {
    struct usher__redis_store *s;
    usher_listen_fn *fn;
    void *payload;
    pthread_mutex_t lock;
    struct channel **table; /* with the lock */
    size_t n_lists, n_channels;
    struct channel *todo;  /* with the lock: channels of the next step */
    struct channel *later; /* channels of the step at again_ms */
    struct ear *ears;
    int loop; /* readable while one of several connections is; or -1 */
    int64_t check_ms, again_ms;
    bool told; /* a refusal was logged */
};

static bool equal(const struct usher_text *a, const struct usher_text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* ---- channels ------------------------------------------------------------------------------ */

static struct channel **list_of(const struct usher_listener *l, const struct usher_text *name)
{
    uint32_t hash = UINT32_C(2166136261); /* FNV-1a */

    for (size_t i = 0; i < name->size; i++)
        hash = (hash ^ (unsigned char)name->data[i]) * UINT32_C(16777619);
    return &l->table[hash & (l->n_lists - 1)];
}

/* With the lock. */
static struct channel *find(const struct usher_listener *l, const struct usher_text *name)
{
    struct channel *c = l->n_lists != 0 ? *list_of(l, name) : NULL;

    while (c != NULL && !equal(&c->name, name))
        c = c->next;
    return c;
}

static void table_add(struct usher_listener *l, struct channel *c)
{
    struct channel **to = list_of(l, &c->name);

    c->next = *to;
    *to = c;
}

/* Make space for one more channel.  With the lock. */
static bool table_grow(struct usher_listener *l)
{
    size_t n = l->n_lists, more = n != 0 ? 2 * n : TABLE_FIRST;
    struct channel **old = l->table, **lists;

    if (l->n_channels < n)
        return true;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    lists = usher__redis_resize(l->s->alloc, NULL, 0, more * sizeof *lists);
    if (lists == NULL)
        return n != 0;
    for (size_t i = 0; i < more; i++)
        lists[i] = NULL;
    l->table = lists;
    l->n_lists = more;
    for (size_t i = 0; i < n; i++)
        while (old[i] != NULL) {
            struct channel *c = old[i];

            old[i] = c->next;
            table_add(l, c);
        }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__redis_resize(l->s->alloc, old, n * sizeof *old, 0);
    return true;
}

/* With the lock.  NULL: no memory. */
static struct channel *channel_new(struct usher_listener *l, enum usher_noun noun,
                                   const struct usher_text *scope, const struct usher_text *name)
{
    size_t size = sizeof(struct channel) + scope->size + name->size;
    struct channel *c = table_grow(l) ? usher__redis_resize(l->s->alloc, NULL, 0, size) : NULL;

    if (c == NULL)
        return NULL;
    memset(c, 0, sizeof *c);
    c->noun = noun;
    memcpy(c->text, name->data, name->size);
    memcpy(c->text + name->size, scope->data, scope->size);
    c->name = (struct usher_text){ c->text, name->size };
    c->scope = (struct usher_text){ c->text + name->size, scope->size };
    table_add(l, c);
    l->n_channels++;
    return c;
}

static void channel_free(const struct usher_listener *l, struct channel *c)
{
    (void)usher__redis_resize(l->s->alloc, c, sizeof *c + c->scope.size + c->name.size, 0);
}

/* With the lock. */
static void put_todo(struct usher_listener *l, struct channel *c)
{
    if (c->listed)
        return;
    c->listed = true;
    c->then = l->todo;
    l->todo = c;
}

bool usher__redis_listen_to(struct usher_listener *l, enum usher_noun noun,
                            const struct usher_text *scope, bool on)
{
    char key[USHER__REDIS_KEY_MAX];
    struct usher_text name = { key, usher__redis_key(l->s->like, noun, scope, "", key) };
    struct channel *c;

    (void)pthread_mutex_lock(&l->lock);
    c = find(l, &name);
    if (c == NULL && on)
        c = channel_new(l, noun, scope, &name);
    if (c != NULL) {
        USHER_ASSERT(on || c->followers > 0);
        c->followers += on ? 1 : (size_t)-1;
        c->fresh += on;
        put_todo(l, c);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return c != NULL;
}

static void report(const struct usher_listener *l, const struct channel *c,
                   enum usher_listen_event event, uint64_t version)
{
    l->fn(l->payload, c->noun, &c->scope, event, version);
}

/* Add @c to the channels of @e. */
static void channel_join(struct channel *c, struct ear *e)
{
    c->state = ASKED;
    c->ear = e;
    c->beside = e->channels;
    c->of_ear = &e->channels;
    if (c->beside != NULL)
        c->beside->of_ear = &c->beside;
    e->channels = c;
}

static void channel_part(struct channel *c)
{
    *c->of_ear = c->beside;
    if (c->beside != NULL)
        c->beside->of_ear = c->of_ear;
    c->state = OUT;
    c->ear = NULL;
}

/* The subscription to @c has ended or failed: try again, not before @not_before. */
static void channel_out(struct usher_listener *l, struct channel *c, int64_t not_before)
{
    bool was_in = c->state == IN;

    channel_part(c);
    c->not_before = not_before;
    (void)pthread_mutex_lock(&l->lock);
    put_todo(l, c);
    (void)pthread_mutex_unlock(&l->lock);
    if (was_in)
        report(l, c, USHER_LISTEN_OFF, 0);
}

/* ---- requests ------------------------------------------------------------------------------ */

static bool requests_room(const struct usher_listener *l, struct ear *e)
{
    size_t more = e->room != 0 ? 2 * e->room : REQUESTS_FIRST;
    struct channel **p;

    if (e->first != 0 && e->first + e->n == e->room) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        memmove(e->requests, e->requests + e->first, e->n * sizeof *e->requests);
        e->first = 0;
    }
    if (e->first + e->n < e->room)
        return true;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    p = usher__redis_resize(l->s->alloc, e->requests, e->room * sizeof *p, more * sizeof *p);
    if (p == NULL)
        return false;
    e->requests = p;
    e->room = more;
    return true;
}

/* Append a command that has an answer; @name may be NULL.  flush() sends it. */
static void request(const struct usher_listener *l, struct ear *e, const char *word,
                    const struct usher_text *name, struct channel *subscribes)
{
    if (!requests_room(l, e)) {
        e->broken = true;
        return;
    }
    e->requests[e->first + e->n++] = subscribes;
    usher__redis_conn_begin(e->r->conn, name != NULL ? 2 : 1);
    usher__redis_conn_arg_str(e->r->conn, word);
    if (name != NULL)
        usher__redis_conn_arg(e->r->conn, name->data, name->size);
}

/* Return the request that is answered now; false if there is none. */
static bool answered(struct ear *e, struct channel **ret_subscribes)
{
    *ret_subscribes = NULL;
    if (e->n == 0)
        return false;
    *ret_subscribes = e->requests[e->first];
    e->first = --e->n == 0 ? 0 : e->first + 1;
    return true;
}

static void subscribe(const struct usher_listener *l, struct ear *e, struct channel *c)
{
    channel_join(c, e);
    request(l, e, e->shards ? "SSUBSCRIBE" : "SUBSCRIBE", &c->name, c);
}

static void unsubscribe(const struct usher_listener *l, const struct channel *c)
{
    request(l, c->ear, c->ear->shards ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", &c->name, NULL);
}

/* ---- connections ---------------------------------------------------------------------------- */

/* Return the connection to the node with @number; NULL without memory. */
static struct ear *ear_of(struct usher_listener *l, unsigned number)
{
    struct usher__redis_node *node = l->s->node[number];
    struct ear *e = l->ears;

    while (e != NULL && e->node != node)
        e = e->next;
    if (e != NULL)
        return e;
    e = usher__redis_resize(l->s->alloc, NULL, 0, sizeof *e);
    if (e == NULL)
        return NULL;
    memset(e, 0, sizeof *e);
    e->node = node;
    e->rest_ms = REST_FIRST_MS;
    e->wait = (struct usher_wait){ .fd = -1, .until_ms = INT64_MAX };
    e->next = l->ears;
    l->ears = e;
    return e;
}

static void ear_free(const struct usher_listener *l, struct ear *e)
{
    usher__redis_free(e->r);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__redis_resize(l->s->alloc, e->requests, e->room * sizeof *e->requests, 0);
    (void)usher__redis_resize(l->s->alloc, e, sizeof *e, 0);
}

/* The connection has failed: make it again after a pause, if a channel then belongs to its node. */
static void ear_fail(struct usher_listener *l, struct ear *e)
{
    usher__redis_free(e->r);
    e->r = NULL;
    e->n = e->first = 0;
    e->broken = false;
    while (e->channels != NULL)
        channel_out(l, e->channels, 0);
    e->stage = RESTS;
    e->until_ms = usher__redis_clock_ms() + e->rest_ms;
    e->rest_ms = 2 * e->rest_ms < REST_MAX_MS ? 2 * e->rest_ms : REST_MAX_MS;
    usher__redis_doubt(l->s); /* another node may have its slots now */
}

static bool ear_begin(const struct usher_listener *l, struct ear *e)
{
    struct usher__redis_store *s = l->s;

    e->r = usher__redis_new(s, e->node);
    if (e->r == NULL)
        return false;
    (void)pthread_mutex_lock(&s->lock);
    memcpy(e->r->expects, e->node->id, sizeof e->r->expects);
    (void)pthread_mutex_unlock(&s->lock);
    e->until_ms = usher__redis_clock_ms() + CONNECT_MS;
    e->stage = PREPARES;
    return true;
}

/* Query by which command scripts publish on this server (lua/publisher.lua). */
static enum usher_status ask_kind(struct ear *e)
{
    usher__redis_conn_begin(e->r->conn, 2);
    usher__redis_conn_arg_str(e->r->conn, "INFO");
    usher__redis_conn_arg_str(e->r->conn, "cluster");
    e->until_ms = usher__redis_clock_ms() + CONNECT_MS;
    e->stage = ASKS;
    return usher__redis_conn_flush(e->r->conn);
}

static enum usher_status read_kind(struct ear *e)
{
    struct redisReply *reply = NULL;
    enum usher_status status = usher__redis_conn_next(e->r->conn, &reply);
    struct usher_text enabled;

    if (status == USHER__REDIS_WAITS && usher__redis_clock_ms() >= e->until_ms)
        return usher__redis_conn_late(e->r->conn);
    if (status != USHER_OK)
        return status;
    enabled = usher__redis_info(reply, "cluster_enabled");
    e->shards = usher__redis_info_is(&enabled, "1");
    freeReplyObject(reply);
    return USHER_OK;
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Log the refusal once. */
static void refused(struct usher_listener *l, const struct ear *e, const struct redisReply *reply)
{
    char line[USHER__REDIS_MESSAGE_SIZE + 64];

    if (l->told)
        return;
    l->told = true;
    (void)snprintf(line, sizeof line, "%s: followers read their logs instead",
                   usher__redis_conn_explain(e->r->conn, reply));
    usher__redis_log(e->r, USHER_LOG_WARNING, line);
}

/* The error @reply has answered the subscription to @c.  Return false to close the connection. */
static bool not_subscribed(struct usher_listener *l, struct ear *e, struct channel *c,
                           const struct redisReply *reply)
{
    int64_t now_ms = usher__redis_clock_ms();

    switch (usher__redis_classify(reply)) {
    case USHER__REDIS_MOVED:
        if (l->s->map == NULL) /* a node of a cluster with the URL of a server */
            break;
        (void)usher__redis_redirected(e->r, reply, false);
        c->moves++;
        channel_out(l, c, c->moves > MOVES_MAX ? now_ms + RETRY_MS : 0);
        return !e->r->drop;
    case USHER__REDIS_RETRY:
        usher__redis_doubt(l->s);
        channel_out(l, c, now_ms + RETRY_MS);
        return true;
    default:
        break;
    }
    if (e->shards && strstr(reply->str, "unknown command") != NULL) { /* before Redis 7 */
        e->shards = false;
        channel_out(l, c, 0);
        return true;
    }
    refused(l, e, reply);
    channel_out(l, c, now_ms + REFUSED_MS);
    return true;
}

static bool subscribed(struct usher_listener *l, struct channel *c)
{
    size_t followers;

    c->state = IN;
    c->moves = 0;
    (void)pthread_mutex_lock(&l->lock);
    followers = c->followers;
    c->fresh = 0;
    if (followers == 0)
        put_todo(l, c);
    (void)pthread_mutex_unlock(&l->lock);
    if (followers != 0)
        report(l, c, USHER_LISTEN_ON, 0);
    return true;
}

/* Return a version in digits; 0 if it is not one. */
static uint64_t version_of(const struct redisReply *r)
{
    struct usher_text text = { r->str, r->len };
    int64_t n = r->type == REDIS_REPLY_STRING ? usher__redis_natural(&text) : -1;

    return n > 0 ? (uint64_t)n : 0;
}

/* Return whether @r is @word, with an s in front for SSUBSCRIBE and SPUBLISH. */
static bool is_word(const struct redisReply *r, const char *word)
{
    return strcmp(r->str, word) == 0 || (r->str[0] == 's' && strcmp(r->str + 1, word) == 0);
}

/* Handle a message of several parts.  Return false to close the connection. */
static bool parts(struct usher_listener *l, struct ear *e, const struct redisReply *reply)
{
    const struct redisReply *kind = reply->element[0], *name = reply->element[1];
    struct usher_text text = { name->str, name->len };
    struct channel *c, *of;
    uint64_t version;

    if (kind->type != REDIS_REPLY_STRING || name->type != REDIS_REPLY_STRING)
        return false;
    if (is_word(kind, "pong"))
        return answered(e, &of) && of == NULL;
    if (is_word(kind, "subscribe"))
        return answered(e, &of) && of != NULL && equal(&of->name, &text) && subscribed(l, of);
    (void)pthread_mutex_lock(&l->lock);
    c = find(l, &text);
    (void)pthread_mutex_unlock(&l->lock);
    if (c != NULL && (c->state != IN || c->ear != e))
        c = NULL;
    if (is_word(kind, "unsubscribe")) {
        if (c != NULL) { /* the slot moves */
            channel_out(l, c, 0);
            return true;
        }
        return answered(e, &of) && of == NULL;
    }
    if (!is_word(kind, "message") || reply->elements != 3)
        return false;
    version = version_of(reply->element[2]);
    if (c != NULL && version != 0)
        report(l, c, USHER_LISTEN_VERSION, version);
    return true;
}

/* Handle a message.  Return false to close the connection: it is not understood. */
static bool message(struct usher_listener *l, struct ear *e, const struct redisReply *reply)
{
    struct channel *of;

    e->asked_ms = 0;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2)
        return parts(l, e, reply);
    if (!answered(e, &of))
        return false;
    if (reply->type == REDIS_REPLY_ERROR) /* a refusal of PING is an answer, too */
        return of == NULL || not_subscribed(l, e, of, reply);
    return of == NULL && reply->type == REDIS_REPLY_STATUS;
}

/* Return USHER__REDIS_WAITS if all messages were read, OK if there are more. */
static enum usher_status read_messages(struct usher_listener *l, struct ear *e)
{
    enum usher_status status = USHER_OK;

    for (int i = 0; i < MESSAGES && status == USHER_OK; i++) {
        struct redisReply *reply = NULL;

        status = usher__redis_conn_next(e->r->conn, &reply);
        if (status == USHER_OK && !message(l, e, reply))
            status = USHER_UNAVAILABLE;
        freeReplyObject(reply);
    }
    return status;
}

/* ---- a step --------------------------------------------------------------------------------- */

/* Use the connection for messages; channels wait for that. */
static void ear_listens(struct usher_listener *l, struct ear *e)
{
    usher__redis_conn_listen(e->r->conn);
    e->stage = LISTENS;
    e->rest_ms = REST_FIRST_MS;
    e->asked_ms = 0;
    e->check_ms = usher__redis_clock_ms() + CHECK_MS;
    l->again_ms = 0;
}

/* Send a PING at its time.  Return false if the last one was not answered. */
static bool check(const struct usher_listener *l, struct ear *e)
{
    int64_t now_ms = usher__redis_clock_ms();

    if (now_ms < e->check_ms)
        return true;
    if (e->asked_ms != 0)
        return now_ms - e->asked_ms < CHECK_MS;
    request(l, e, "PING", NULL, NULL);
    e->asked_ms = now_ms;
    e->check_ms = now_ms + CHECK_MS;
    return true;
}

static enum usher_status listen_on(struct usher_listener *l, struct ear *e)
{
    enum usher_status status = read_messages(l, e);
    bool more = status == USHER_OK;

    if (more || status == USHER__REDIS_WAITS)
        status =
            !e->broken && check(l, e) ? usher__redis_conn_flush(e->r->conn) : USHER_UNAVAILABLE;
    if (status != USHER_OK)
        return status;
    usher__redis_wants(e->r, &e->wait);
    e->wait.until_ms = more ? 0 : e->check_ms;
    return USHER__REDIS_WAITS;
}

/* Continue.  Return USHER__REDIS_WAITS to wait for e->wait; any other status is a failure. */
static enum usher_status ear_try(struct usher_listener *l, struct ear *e)
{
    enum usher_status status = USHER_OK;

    if (e->stage == PREPARES) {
        status = usher__redis_prepare(e->r, 0, e->until_ms);
        if (status == USHER__REDIS_WAITS)
            usher__redis_wants(e->r, &e->wait);
        if (status != USHER_OK)
            return status;
        e->shards = l->s->map != NULL;
        if (e->shards)
            ear_listens(l, e);
        else
            status = ask_kind(e);
    }
    if (status == USHER_OK && e->stage == ASKS) {
        status = read_kind(e);
        if (status == USHER__REDIS_WAITS) {
            usher__redis_wants(e->r, &e->wait);
            e->wait.until_ms = e->until_ms;
        }
        if (status != USHER_OK)
            return status;
        ear_listens(l, e);
    }
    return status == USHER_OK ? listen_on(l, e) : status;
}

static void ear_go_on(struct usher_listener *l, struct ear *e)
{
    e->wait = (struct usher_wait){ .fd = -1, .until_ms = INT64_MAX };
    if (e->stage == RESTS && usher__redis_clock_ms() >= e->until_ms) {
        /* the channels of this node are looked up again */
        e->stage = IDLE;
        e->wanted = false;
        l->again_ms = 0;
    } else if (e->stage == IDLE && e->wanted && !ear_begin(l, e)) {
        ear_fail(l, e);
    }
    if (e->stage >= PREPARES && ear_try(l, e) != USHER__REDIS_WAITS)
        ear_fail(l, e);
    if (e->stage == RESTS)
        e->wait = (struct usher_wait){ .fd = -1, .until_ms = e->until_ms };
}

/* Subscribe to @c, which has followers.  Return false if that is not possible now. */
static bool channel_try(struct usher_listener *l, struct channel *c, int64_t now_ms)
{
    struct ear *e;

    if (now_ms < c->not_before) {
        l->again_ms = c->not_before < l->again_ms ? c->not_before : l->again_ms;
        return false;
    }
    e = ear_of(l, usher__redis_number_of(l->s, &c->scope));
    if (e == NULL) {
        l->again_ms = now_ms + RETRY_MS < l->again_ms ? now_ms + RETRY_MS : l->again_ms;
        return false;
    }
    e->wanted = true;
    if (e->stage != LISTENS)
        return false;
    subscribe(l, e, c);
    return true;
}

/* Subscribe to or unsubscribe from @c, which was in `todo` or `later`. */
static void channel_do(struct usher_listener *l, struct channel *c, int64_t now_ms)
{
    size_t followers, fresh;
    bool gone;

    (void)pthread_mutex_lock(&l->lock);
    followers = c->followers;
    fresh = c->fresh;
    c->fresh = 0;
    c->listed = false;
    (void)pthread_mutex_unlock(&l->lock);
    if (followers != 0) {
        if (c->state == IN && fresh != 0)
            report(l, c, USHER_LISTEN_ON, 0);
        if (c->state != OUT || channel_try(l, c, now_ms))
            return;
        (void)pthread_mutex_lock(&l->lock);
        if (!c->listed) {
            c->listed = true;
            c->then = l->later;
            l->later = c;
        }
        (void)pthread_mutex_unlock(&l->lock);
        return;
    }
    if (c->state == ASKED) /* unsubscribe after the answer */
        return;
    if (c->state == IN) {
        unsubscribe(l, c);
        channel_part(c);
    }
    (void)pthread_mutex_lock(&l->lock);
    gone = c->followers == 0 && !c->listed;
    if (gone) {
        struct channel **at = list_of(l, &c->name);

        while (*at != c)
            at = &(*at)->next;
        *at = c->next;
        l->n_channels--;
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (gone)
        channel_free(l, c);
}

/* Do so for all channels in `todo`, and at again_ms for those in `later`. */
static void channels_do(struct usher_listener *l)
{
    int64_t now_ms = usher__redis_clock_ms();
    struct channel *c, *next, *later = NULL;

    if (now_ms >= l->again_ms) {
        later = l->later;
        l->later = NULL;
        l->again_ms = INT64_MAX;
    }
    (void)pthread_mutex_lock(&l->lock);
    c = l->todo;
    l->todo = NULL;
    (void)pthread_mutex_unlock(&l->lock);
    for (; c != NULL; c = next) {
        next = c->then;
        channel_do(l, c, now_ms);
    }
    for (c = later; c != NULL; c = next) {
        next = c->then;
        channel_do(l, c, now_ms);
    }
}

/* Find the channels whose slot is at another node, and the nodes that are no master any more. */
static void places_check(struct usher_listener *l)
{
    struct channel *next;

    for (struct ear *e = l->ears; e != NULL; e = e->next) {
        if (e->stage != LISTENS)
            continue;
        e->broken = e->broken || e->r->demotions != atomic_load(&e->node->demotions);
        for (struct channel *c = e->channels; c != NULL; c = next) {
            next = c->beside;
            if (c->state != IN || l->s->node[usher__redis_number_of(l->s, &c->scope)] == e->node)
                continue;
            unsubscribe(l, c);
            channel_out(l, c, 0);
        }
    }
}

/* Close the connections without channels. */
static void ears_clean(struct usher_listener *l)
{
    struct ear **at = &l->ears;

    while (*at != NULL) {
        struct ear *e = *at;

        if (e->channels == NULL && (e->stage == LISTENS || (e->stage == IDLE && !e->wanted))) {
            *at = e->next;
            ear_free(l, e);
        } else {
            at = &e->next;
        }
    }
}

static bool has_todo(struct usher_listener *l)
{
    bool has;

    (void)pthread_mutex_lock(&l->lock);
    has = l->todo != NULL;
    (void)pthread_mutex_unlock(&l->lock);
    return has || l->again_ms <= usher__redis_clock_ms();
}

/* Set what the listener waits for: the one connection, or the first event of several. */
static void ears_wait(struct usher_listener *l, bool more, struct usher_wait *ret)
{
    size_t n = 0;
    bool all = true;

    *ret = (struct usher_wait){ .fd = -1, .until_ms = l->again_ms };
    for (struct ear *e = l->ears; e != NULL; e = e->next) {
        if (e->wait.until_ms < ret->until_ms)
            ret->until_ms = e->wait.until_ms;
        if (e->wait.fd < 0)
            continue;
        ret->fd = e->wait.fd;
        ret->events = e->wait.events;
        n++;
    }
    if (l->ears != NULL && l->check_ms < ret->until_ms)
        ret->until_ms = l->check_ms;
    if (n > 1 && l->loop < 0)
        l->loop = usher__redis_loop_open();
    for (struct ear *e = l->ears; e != NULL && n > 1; e = e->next)
        all = l->loop >= 0 && usher__redis_loop_set(l->loop, &e->wait, &e->in_loop, true) && all;
    if (n > 1) {
        ret->fd = l->loop;
        ret->events = POLLIN;
    }
    if (more)
        ret->until_ms = 0;
    else if (!all) /* without memory or descriptors they are polled */
        ret->until_ms = usher__redis_clock_ms() + 1;
}

void usher__redis_listen_go_on(struct usher_listener *l, struct usher_wait *ret_wait)
{
    int64_t now_ms = usher__redis_clock_ms();
    bool more = true;

    /* a socket must not be in the loop when it is closed: a child of fork() may have it open */
    for (struct ear *e = l->ears; e != NULL; e = e->next)
        (void)usher__redis_loop_set(l->loop, &e->wait, &e->in_loop, false);
    if (now_ms >= l->check_ms) {
        l->check_ms = now_ms + CHECK_MS;
        places_check(l);
    }
    for (int i = 0; i < ROUNDS && more; i++) {
        channels_do(l);
        for (struct ear *e = l->ears; e != NULL; e = e->next)
            ear_go_on(l, e);
        more = has_todo(l);
    }
    if (!more)
        ears_clean(l);
    ears_wait(l, more, ret_wait);
}

/* ---- begin and end -------------------------------------------------------------------------- */

struct usher_listener *usher__redis_listen(struct usher_store *store, usher_listen_fn *fn,
                                           void *payload)
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct usher_listener *l = usher__redis_resize(s->alloc, NULL, 0, sizeof *l);

    if (l == NULL)
        return NULL;
    memset(l, 0, sizeof *l);
    l->s = s;
    l->fn = fn;
    l->payload = payload;
    l->loop = -1;
    l->check_ms = usher__redis_clock_ms() + CHECK_MS;
    l->again_ms = INT64_MAX;
    if (pthread_mutex_init(&l->lock, NULL) == 0)
        return l;
    (void)usher__redis_resize(s->alloc, l, sizeof *l, 0);
    return NULL;
}

void usher__redis_listen_end(struct usher_listener *l)
{
    /* a child of fork() shares the loop with its parent, so nothing is removed from it */
    if (l->loop >= 0)
        (void)close(l->loop);
    while (l->ears != NULL) {
        struct ear *e = l->ears;

        l->ears = e->next;
        ear_free(l, e);
    }
    for (size_t i = 0; i < l->n_lists; i++)
        while (l->table[i] != NULL) {
            struct channel *c = l->table[i];

            l->table[i] = c->next;
            channel_free(l, c);
        }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__redis_resize(l->s->alloc, l->table, l->n_lists * sizeof *l->table, 0);
    (void)pthread_mutex_destroy(&l->lock);
    (void)usher__redis_resize(l->s->alloc, l, sizeof *l, 0);
}
