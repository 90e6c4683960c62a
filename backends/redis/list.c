/* SPDX-License-Identifier: MIT */
/*
 * list() passes a page of scopes in the order of SCAN, one master after the other, and reads their
 * headers in one round trip for each master.
 *
 * A cursor is the state of the walk as text: nine fields (write_cursor()).  SCAN keeps no state on
 * the server, so any client can continue.  A cursor has three things in addition to that of SCAN:
 *
 * - identity: cursors of SCAN belong to one process, whose hash tables have a random seed.  After a
 *   failover or restart the master is walked from its beginning.
 * - cut: a page may end within one reply of SCAN.  Then its scopes are taken in order of a hash of
 *   their keys, and the cursor has the hash of the last one.  The next page sends the same SCAN. If
 *   it leads to the same next cursor, the same part of the table was walked.  Each key that was
 *   there all the time was in the first reply, too, and those up to the hash were listed.  If it
 *   leads to another one, all of the reply are listed (some a second time), and the next SCAN is
 *   smaller, so that a page holds all of its reply.
 * - slots: a slot can move from a master that was not walked yet to one that was.  So the owners of
 *   all slots are compared from one reply to the next (CLUSTER NODES, as text).  If they differ, or
 *   a slot is moving, or they are not known, all masters are walked once more.
 *
 * Rejected: to remember the names of a cut reply (a cursor of any size), and to walk the masters
 * twice always.
 */
#include "config.h"

#include "scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha1.h"

/* ---- cursors ------------------------------------------------------------------------ */

struct cursor {
    uint64_t walk;                       /* 1, or 2: all masters once more */
    uint64_t again;                      /* 1: after this walk there is a second one */
    char node[USHER__REDIS_NODE_ID_MAX]; /* the master; "": the first one */
    uint64_t identity;                   /* of its process; 0 = unknown */
    uint64_t scan;                       /* its cursor of SCAN */
    /* A reply that was cut: its COUNT (0: none was cut), the cursor that it returned, and the hash
     * of the last scope that was listed. */
    uint64_t count, next, last;
    uint64_t slots; /* a hash of the owners of all slots; 0 = unknown */
};

static bool read_field(const char **at, uint64_t most, uint64_t *ret)
{
    const char *p = *at;

    *ret = 0;
    for (; *p != '.' && *p != '\0'; p++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, *p);

        if (digit == NULL || p - *at == 16)
            return false;
        *ret = *ret << 4 | (uint64_t)(digit - digits);
    }
    if (p == *at)
        return false;
    *at = *p == '.' ? p + 1 : p;
    return *ret <= most;
}

/* The id of a node, 40 digits, or "-". */
static bool read_node(const char **at, char node[USHER__REDIS_NODE_ID_MAX])
{
    size_t n = strspn(*at, "0123456789abcdef");

    if (n == USHER__REDIS_NODE_ID_MAX - 1)
        memcpy(node, *at, n);
    else if (n != 0 || *(*at)++ != '-')
        return false;
    node[n] = '\0';
    *at += n;
    return *(*at)++ == '.';
}

#define COUNT_MAX 2000 /* keys of one SCAN, which block the server for less than 1 ms */

/* Read @text, which has not been written by this process perhaps. */
static bool read_cursor(const struct usher_text *text, struct cursor *c)
{
    char all[USHER_CURSOR_MAX + 1];
    const char *at = all;
    uint64_t *more[] = { &c->identity, &c->scan, &c->count, &c->next, &c->last, &c->slots };
    bool good;

    memset(c, 0, sizeof *c);
    c->walk = 1;
    if (text->size == 0)
        return true;
    if (text->size >= sizeof all || memchr(text->data, '\0', text->size) != NULL)
        return false;
    memcpy(all, text->data, text->size);
    all[text->size] = '\0';
    good = read_field(&at, 2, &c->walk) && c->walk > 0 && read_field(&at, 1, &c->again) &&
           read_node(&at, c->node);
    for (size_t i = 0; i < sizeof more / sizeof *more && good; i++)
        good = read_field(&at, more[i] == &c->count ? COUNT_MAX : UINT64_MAX, more[i]);
    return good && at == all + text->size && at[-1] != '.';
}

static void write_cursor(const struct cursor *c, char to[USHER_CURSOR_MAX + 1])
{
    (void)snprintf(to, USHER_CURSOR_MAX + 1,
                   "%" PRIx64 ".%" PRIx64 ".%s.%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64
                   ".%" PRIx64 ".%" PRIx64,
                   c->walk, c->again, c->node[0] != '\0' ? c->node : "-", c->identity, c->scan,
                   c->count, c->next, c->last, c->slots);
}

/* ---- a page -------------------------------------------------------------------------- */

/* A scope that was found.  Its name and the reply belong to it. */
struct found {
    struct usher_text name;
    unsigned noun, node;
    bool asking;              /* requested with ASKING */
    bool refused;             /* the user lacks the right to it */
    struct redisReply *reply; /* its header; NULL: not read */
};

/* A scope of a reply to SCAN. */
struct key {
    struct usher_text name, rest; /* {name}:noun: a key without the prefix */
    unsigned noun;
    uint64_t hash;
};

struct master {
    unsigned number;
    char id[USHER__REDIS_NODE_ID_MAX];
};

struct list {
    struct usher__redis_walk w;
    struct usher_page *page;
    struct cursor at;
    bool ended;
    size_t walked; /* keys that SCAN was asked for, in the current page */
    struct found *found;
    size_t n;
    int64_t format; /* of headers; 0: not read yet */
    struct master masters[USHER__REDIS_NODES_MAX];
    size_t n_masters;
};

static int compare_masters(const void *a, const void *b)
{
    return strcmp(((const struct master *)a)->id, ((const struct master *)b)->id);
}

/* The masters in order of their ids, which a cursor has; of a master without one it is made of the
 * address. */
static void find_masters(struct list *l)
{
    unsigned number[USHER__REDIS_NODES_MAX];
    struct usher__redis_store *s = l->w.store;

    l->n_masters = usher__redis_masters(s, number);
    for (size_t i = 0; i < l->n_masters; i++) {
        l->masters[i].number = number[i];
        if (s->map == NULL)
            continue;
        (void)pthread_mutex_lock(&s->lock);
        memcpy(l->masters[i].id, s->node[number[i]]->id, sizeof l->masters[i].id);
        (void)pthread_mutex_unlock(&s->lock);
        if (strlen(l->masters[i].id) != USHER__REDIS_NODE_ID_MAX - 1) {
            char at[USHER__REDIS_HOST_MAX + 8];
            int size = snprintf(at, sizeof at, "%s:%u", s->node[number[i]]->at.host,
                                (unsigned)s->node[number[i]]->at.port);

            usher__redis_sha1(at, (size_t)size, l->masters[i].id);
        }
    }
    if (l->n_masters > 1)
        qsort(l->masters, l->n_masters, sizeof *l->masters, compare_masters);
}

/* Begin with the master @m. */
static void begin_master(struct cursor *c, const struct master *m)
{
    (void)snprintf(c->node, sizeof c->node, "%s", m->id);
    c->identity = c->scan = c->count = c->next = c->last = 0;
}

/* Return the master that the cursor is at.  If it is none any more, its slots have other owners:
 * the walk continues with the next one, and there is a second walk. */
static size_t current_master(struct list *l)
{
    size_t i = 0;
    int order = 1;

    while (i < l->n_masters && (order = strcmp(l->masters[i].id, l->at.node)) < 0)
        i++;
    if (l->at.node[0] != '\0' && order != 0) {
        l->at.again = 1;
        if (i < l->n_masters)
            begin_master(&l->at, &l->masters[i]);
    }
    return i;
}

/* The master at @i has been walked, or cannot be. */
static size_t next_master(struct list *l, size_t i)
{
    if (++i >= l->n_masters && l->at.walk == 1 && l->at.again != 0) {
        l->at.walk = 2;
        l->at.again = 0;
        i = 0;
    }
    if (i < l->n_masters)
        begin_master(&l->at, &l->masters[i]);
    else
        l->ended = true;
    return i;
}

/* ---- the owners of slots --------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t size)
{
    char hex[41];

    usher__redis_sha1(text, size, hex);
    hex[16] = '\0';
    return strtoull(hex, NULL, 16);
}

/* Return a hash of the masters and their slots in @text, the answer to CLUSTER NODES, whatever the
 * order of its lines; 0: it is not known, or a slot is moving. */
static uint64_t slots_of(const char *text)
{
    uint64_t sum = 0;

    if (strstr(text, "->-") != NULL || strstr(text, "-<-") != NULL)
        return 0;
    while (*text != '\0') {
        char line[1024];
        size_t size = strcspn(text, "\n"), id = strcspn(text, " \n");
        const char *slots = text;

        /* id address flags master ping pong epoch link slots */
        for (int i = 0; i < 8 && slots < text + size; i++)
            slots += strcspn(slots, " \n") + (slots[strcspn(slots, " \n")] == ' ');
        if (slots < text + size && id < sizeof line)
            sum += hash_of(line, (size_t)snprintf(line, sizeof line, "%.*s", (int)id, text)) * 3 +
                   hash_of(slots, (size_t)(text + size - slots));
        text += size + (text[size] == '\n');
    }
    return sum;
}

static void ask_slots(struct usher__redis *r)
{
    usher__redis_conn_begin(r->conn, 2);
    usher__redis_conn_arg_str(r->conn, "CLUSTER");
    usher__redis_conn_arg_str(r->conn, "NODES");
}

/* Read the answer and compare it with the one before.  A user without the right gets an error. */
static enum usher_status take_slots(struct list *l, struct usher__redis *r)
{
    struct redisReply *reply;
    uint64_t slots = 0;
    enum usher_status status =
        usher__redis_conn_read(r->conn, usher__redis_clock_ms() + r->patience_ms, &reply);

    if (status != USHER_OK)
        return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
    if (reply->type == REDIS_REPLY_STRING)
        slots = slots_of(reply->str);
    freeReplyObject(reply);
    if (slots == 0 || (l->at.slots != 0 && l->at.slots != slots))
        l->at.again = 1;
    l->at.slots = slots;
    return USHER_OK;
}

/* ---- SCAN ------------------------------------------------------------------------------ */

/* Write the pattern of the hashes of @nouns: that of one noun, or else of all. */
static size_t pattern(const struct usher__redis *r, unsigned nouns, char *to, size_t size)
{
    bool one = (nouns & (nouns - 1)) == 0;
    size_t n = usher__redis_pattern(r, to, size);
    unsigned noun = 0;

    while (one && nouns >> noun != 1)
        noun++;
    return n + (size_t)snprintf(to + n, size - n, "%s",
                                one ? usher_noun_word((enum usher_noun)noun) : "*");
}

static void ask_scan(const struct list *l, struct usher__redis *r, uint64_t count)
{
    char match[2 * USHER__REDIS_PREFIX_MAX + 24], number[24];
    size_t size = pattern(r, l->page->nouns, match, sizeof match);

    usher__redis_conn_begin(r->conn, 8);
    usher__redis_conn_arg_str(r->conn, "SCAN");
    (void)snprintf(number, sizeof number, "%" PRIu64, l->at.scan);
    usher__redis_conn_arg_str(r->conn, number);
    usher__redis_conn_arg_str(r->conn, "MATCH");
    usher__redis_conn_arg(r->conn, match, size);
    usher__redis_conn_arg_str(r->conn, "COUNT");
    usher__redis_conn_arg_i64(r->conn, (int64_t)count);
    usher__redis_conn_arg_str(r->conn, "TYPE"); /* a scope has two sorted sets, too */
    usher__redis_conn_arg_str(r->conn, "hash");
}

/* Read the reply to SCAN.  UNAVAILABLE: SCAN may be sent again.  REFUSED: that is of no use. */
static enum usher_status take_scan(struct usher__redis *r, uint64_t *ret_next,
                                   struct redisReply **ret, char message[192])
{
    struct redisReply *reply;
    enum usher_status status =
        usher__redis_conn_read(r->conn, usher__redis_clock_ms() + r->patience_ms, &reply);
    char *end = NULL;

    if (status != USHER_OK) {
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
        return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
    }
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[0]->type == REDIS_REPLY_STRING && reply->element[0]->len > 0 &&
        reply->element[1]->type == REDIS_REPLY_ARRAY)
        *ret_next = strtoull(reply->element[0]->str, &end, 10);
    if (end != NULL && *end == '\0') {
        *ret = reply;
        return USHER_OK;
    }
    status = usher__redis_classify(reply) == USHER__REDIS_RETRY ? USHER_UNAVAILABLE : USHER_REFUSED;
    (void)snprintf(message, 192, "%s",
                   reply->type == REDIS_REPLY_ERROR ? usher__redis_conn_explain(r->conn, reply)
                                                    : "redis: malformed reply to SCAN");
    freeReplyObject(reply);
    usher__redis_conn_discard(r->conn); /* replies may be outstanding */
    return status;
}

/* Send SCAN, and read its reply.  In a cluster the owners of slots are read after it, and before
 * the first one of a list. */
static enum usher_status scan(struct list *l, struct usher__redis *r, uint64_t count,
                              uint64_t *ret_next, struct redisReply **ret)
{
    bool cluster = l->w.store->map != NULL, first = cluster && l->at.slots == 0;
    enum usher_status status;

    if (first)
        ask_slots(r);
    ask_scan(l, r, count);
    if (cluster)
        ask_slots(r);
    status = usher__redis_conn_flush(r->conn);
    if (status == USHER_OK && first)
        status = take_slots(l, r);
    if (status != USHER_OK) {
        (void)snprintf(l->w.message, 192, "%s", usher__redis_conn_message(r->conn));
        return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
    }
    status = take_scan(r, ret_next, ret, l->w.message);
    if (status == USHER_OK && cluster) {
        status = take_slots(l, r);
        if (status != USHER_OK)
            freeReplyObject(*ret);
    }
    return status;
}

/* ---- the scopes of a reply ------------------------------------------------------------- */

/* Read @key, the hash of a scope of one of the nouns. */
static bool read_key(const struct list *l, const struct usher__redis *r,
                     const struct redisReply *key, struct key *ret)
{
    for (unsigned noun = 1; noun < USHER__REDIS_NOUNS; noun++) {
        char whole[USHER__REDIS_KEY_MAX];

        if ((l->page->nouns >> noun & 1u) != 0 &&
            usher__redis_scope_of(r, (enum usher_noun)noun, key, &ret->name) &&
            usher__redis_key(r, (enum usher_noun)noun, &ret->name, "", whole) == (size_t)key->len) {
            ret->noun = noun;
            ret->rest.data = ret->name.data - 1;
            ret->rest.size = (size_t)(key->str + key->len - ret->rest.data);
            return true;
        }
    }
    return false;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = ((const struct key *)a)->hash, y = ((const struct key *)b)->hash;

    return (x > y) - (x < y);
}

/* Add @k, with a copy of its name. */
static bool add(struct list *l, const struct key *k, unsigned node)
{
    struct found *f = &l->found[l->n];
    char *name = usher__redis_resize(l->w.store->alloc, NULL, 0, k->name.size);

    if (name == NULL)
        return false;
    memcpy(name, k->name.data, k->name.size);
    memset(f, 0, sizeof *f);
    f->name.data = name;
    f->name.size = k->name.size;
    f->noun = k->noun;
    f->node = node;
    l->n++;
    return true;
}

/* Add the @n scopes of a reply to a SCAN with @count, which returned @next.  More than the page has
 * place for are left to the next page. */
static enum usher_status add_keys(struct list *l, struct key *keys, size_t n,
                                  const struct master *m, uint64_t count, uint64_t next)
{
    struct cursor *c = &l->at;
    bool again = c->count != 0, same = again && c->next == next;
    size_t left = l->page->max - l->n, from = 0;

    if (again || n > left) {
        for (size_t i = 0; i < n; i++)
            keys[i].hash = hash_of(keys[i].rest.data, keys[i].rest.size);
        qsort(keys, n, sizeof *keys, compare_keys);
        while (same && from < n && keys[from].hash <= c->last)
            from++;
    }
    for (size_t i = from; i < n && i - from < left; i++)
        if (!add(l, &keys[i], m->number))
            return USHER_NOMEM;
    if (n - from <= left) {
        c->scan = next;
        c->count = c->next = c->last = 0;
    } else if (again && !same && count > 1) {
        c->count = count / 2;
        c->next = next;
        c->last = 0;
    } else {
        c->count = count;
        c->next = next;
        c->last = left > 0 ? keys[from + left - 1].hash : c->last;
    }
    return USHER_OK;
}

static enum usher_status add_reply(struct list *l, const struct usher__redis *r,
                                   const struct redisReply *reply, const struct master *m,
                                   uint64_t count, uint64_t next)
{
    const struct usher_allocator *alloc = l->w.store->alloc;
    size_t size = (reply->elements + 1) * sizeof(struct key), n = 0;
    struct key *keys = usher__redis_resize(alloc, NULL, 0, size);
    enum usher_status status;

    if (keys == NULL)
        return USHER_NOMEM;
    for (size_t i = 0; i < reply->elements; i++)
        n += read_key(l, r, reply->element[i], &keys[n]);
    status = add_keys(l, keys, n, m, count, next);
    (void)usher__redis_resize(alloc, keys, size, 0);
    return status;
}

/* Return the keys that the next SCAN walks: as many as should have the scopes that the page still
 * needs, judged by those before. */
static uint64_t count_of(const struct list *l)
{
    size_t left = l->page->max - l->n, count;

    if (l->at.count != 0)
        return l->at.count;
    if (l->walked == 0) /* a scope has three keys */
        count = left * 3;
    else if (l->n == 0)
        count = l->walked * 2;
    else
        count = left > COUNT_MAX ? COUNT_MAX : left * (l->walked / l->n + 1);
    return count < 64 ? 64 : count > COUNT_MAX ? COUNT_MAX : count;
}

/* Walk the master @m until the page is full, or the time is over, or the master has no more.
 * UNAVAILABLE: it does not answer. */
static enum usher_status walk_master(struct list *l, const struct master *m, bool *ret_done)
{
    int64_t until_ms = usher__redis_clock_ms() + l->w.patience_ms;

    *ret_done = false;
    for (unsigned tries = 0;; tries++) {
        struct usher__redis *r;
        struct redisReply *reply = NULL;
        uint64_t count = count_of(l), next = 0;
        enum usher_status status = usher__redis_walk_node(&l->w, m->number, &r);

        if (status != USHER_OK)
            return status;
        if (l->at.identity != 0 && r->server != 0 && l->at.identity != r->server)
            begin_master(&l->at, m);
        l->at.identity = r->server;
        status = scan(l, r, count, &next, &reply);
        if (status == USHER_UNAVAILABLE && usher__redis_pause(r, tries, until_ms))
            continue;
        if (status != USHER_OK)
            return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
        l->walked += count;
        status = add_reply(l, r, reply->element[1], m, count, next);
        freeReplyObject(reply);
        *ret_done = l->at.count == 0 && l->at.scan == 0;
        if (status != USHER_OK || *ret_done || l->n == l->page->max ||
            usher__redis_clock_ms() >= until_ms)
            return status;
    }
}

/* Return whether the master at @i has no slots any more: others have its scopes. */
static bool is_replaced(const struct list *l, size_t i)
{
    return l->w.store->map != NULL && usher__redis_slots_of(l->w.store, l->masters[i].number) == 0;
}

/* Find the scopes of the page. */
static enum usher_status find(struct list *l)
{
    size_t i = current_master(l);
    enum usher_status status = USHER_OK;
    bool done = true;

    if (i >= l->n_masters)
        i = next_master(l, i);
    else if (l->at.node[0] == '\0')
        memcpy(l->at.node, l->masters[i].id, sizeof l->at.node);
    while (!l->ended && l->n < l->page->max && done && status == USHER_OK) {
        status = walk_master(l, &l->masters[i], &done);
        if (status == USHER_UNAVAILABLE && is_replaced(l, i)) {
            find_masters(l);
            i = current_master(l);
            status = USHER_OK;
            done = true;
            if (i >= l->n_masters)
                i = next_master(l, i);
            continue;
        }
        if (status == USHER_UNAVAILABLE && l->w.store->map != NULL) {
            usher__redis_walk_silent(&l->w, l->masters[i].number);
            status = USHER_OK;
            done = true;
        }
        if (done)
            i = next_master(l, i);
    }
    return status;
}

/* ---- headers --------------------------------------------------------------------------- */

/* Request the headers of the scopes that were found at node @number.  A scope can be at a node that
 * does not own its slot yet: ASKING reads it there. */
static void ask_heads(struct list *l, unsigned number, struct usher__redis *r)
{
    for (size_t i = 0; i < l->n; i++) {
        struct found *f = &l->found[i];
        char key[USHER__REDIS_KEY_MAX];
        size_t size;

        if (f->node != number)
            continue;
        f->asking = usher__redis_number_of(l->w.store, &f->name) != number;
        if (f->asking) {
            usher__redis_conn_begin(r->conn, 1);
            usher__redis_conn_arg_str(r->conn, "ASKING");
        }
        size = usher__redis_key(r, (enum usher_noun)f->noun, &f->name, "", key);
        usher__redis_conn_begin(r->conn, 4);
        usher__redis_conn_arg_str(r->conn, "HMGET");
        usher__redis_conn_arg(r->conn, key, size);
        usher__redis_conn_arg_str(r->conn, "head");
        usher__redis_conn_arg_str(r->conn, "settings");
    }
}

/* Read the next answer.  A scope whose header is not in it is read again by itself. */
static enum usher_status take_head(struct list *l, struct found *f, struct usher__redis *r)
{
    int64_t until_ms = usher__redis_clock_ms() + r->patience_ms;
    struct redisReply *reply = NULL;
    enum usher_status status = USHER_OK;

    for (int i = f->asking ? 0 : 1; i < 2 && status == USHER_OK; i++) {
        if (reply != NULL)
            freeReplyObject(reply);
        reply = NULL;
        status = usher__redis_conn_read(r->conn, until_ms, &reply);
    }
    if (status != USHER_OK)
        return status;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        f->reply = reply;
        return USHER_OK;
    }
    if (usher__redis_lacks_keys(reply)) {
        (void)snprintf(l->w.message, 192, "%s", usher__redis_conn_explain(r->conn, reply));
        usher__redis_walk_unread(&l->w);
        f->refused = true;
    }
    freeReplyObject(reply);
    return USHER_OK;
}

/* Read the headers of all scopes, from all nodes at once. */
static enum usher_status read_heads(struct list *l)
{
    bool sent[USHER__REDIS_NODES_MAX] = { false }, lost[USHER__REDIS_NODES_MAX] = { false };

    for (size_t i = 0; i < l->n; i++) {
        unsigned number = l->found[i].node;

        if (sent[number])
            continue;
        ask_heads(l, number, l->w.r[number]);
        sent[number] = true;
        lost[number] = usher__redis_conn_flush(l->w.r[number]->conn) != USHER_OK;
    }
    for (size_t i = 0; i < l->n; i++) {
        struct found *f = &l->found[i];
        enum usher_status status = USHER_OK;

        if (!lost[f->node])
            status = take_head(l, f, l->w.r[f->node]);
        if (status == USHER_NOMEM) {
            for (unsigned number = 0; number < USHER__REDIS_NODES_MAX; number++)
                if (sent[number]) /* replies are outstanding */
                    usher__redis_conn_discard(l->w.r[number]->conn);
            return status;
        }
        lost[f->node] = lost[f->node] || status != USHER_OK;
    }
    return USHER_OK;
}

/* Pass a scope to @fn: @header begins with its head and settings.  One whose header cannot be read
 * is counted. */
static enum usher_status show(struct list *l, const struct found *f,
                              const struct redisReply *header, usher_scan_fn *fn, void *payload)
{
    struct usher_text head = usher__redis_text_of(header->element[0]);
    struct usher_text settings = usher__redis_text_of(header->element[1]);
    const struct usher__redis_dump d = { .noun = (enum usher_noun)f->noun, .name = &f->name };
    struct usher_scope s;
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &s };

    if (l->format == 0) {
        const struct usher__redis_tables *t = usher__redis_tables(l->w.r[f->node], d.noun);

        if (t == NULL)
            return USHER_NOMEM;
        l->format = strtoll(t->format, NULL, 10);
    }
    memset(&s, 0, sizeof s);
    s.noun = (uint8_t)f->noun;
    s.name = f->name;
    if (head.data != NULL && usher__redis_head_read(head, l->format, &s) &&
        (settings.data == NULL || usher__redis_settings_read(settings, &s)))
        return fn(payload, &item);
    (void)usher__redis_not_understood(&d, "its header cannot be read", l->w.message);
    usher__redis_walk_unread(&l->w);
    return USHER_OK;
}

/* Read the header of @f where the scope is now, and pass it on. */
static enum usher_status show_moved(struct list *l, const struct found *f, usher_scan_fn *fn,
                                    void *payload)
{
    struct usher__redis_dump d = { .noun = (enum usher_noun)f->noun, .name = &f->name };
    struct usher__redis *r = NULL;
    enum usher_status status = usher__redis_walk_read(&l->w, &d, false, &r);

    if (status == USHER_OK)
        status = show(l, f, d.header.page[0], fn, payload);
    else if (status == USHER_MISSING ||
             (status == USHER_UNAVAILABLE && usher__redis_walk_missed(&l->w)))
        status = USHER_OK;
    if (r != NULL)
        usher__redis_dump_done(r, &d);
    return status;
}

static enum usher_status show_all(struct list *l, usher_scan_fn *fn, void *payload)
{
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < l->n && status == USHER_OK; i++) {
        const struct found *f = &l->found[i];
        bool there = f->reply != NULL && f->reply->element[0]->type != REDIS_REPLY_NIL;

        if (there)
            status = show(l, f, f->reply, fn, payload);
        else if (!f->refused && (f->reply == NULL || l->w.store->map != NULL))
            status = show_moved(l, f, fn, payload);
    }
    return status;
}

static void list_done(struct list *l, size_t size)
{
    const struct usher_allocator *alloc = l->w.store->alloc;

    for (size_t i = 0; l->found != NULL && i < l->n; i++) {
        const struct found *f = &l->found[i];

        if (f->reply != NULL)
            freeReplyObject(f->reply);
        (void)usher__redis_resize(alloc, (void *)(uintptr_t)f->name.data, f->name.size, 0);
    }
    (void)usher__redis_resize(alloc, l->found, size, 0);
    usher__redis_walk_close(&l->w);
    (void)usher__redis_resize(alloc, l, sizeof *l, 0);
}

enum usher_status usher__redis_list(struct usher_store *store, struct usher_page *page,
                                    int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                    char message[192])
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct list *l = usher__redis_resize(s->alloc, NULL, 0, sizeof *l);
    size_t size = page->max * sizeof(struct found);
    enum usher_status status;

    page->next[0] = '\0';
    if (l == NULL)
        return USHER_NOMEM;
    memset(l, 0, sizeof *l);
    usher__redis_walk_open(&l->w, s, deadline_ms, message);
    l->page = page;
    if (!read_cursor(&page->after, &l->at)) {
        (void)snprintf(message, 192, "after is no cursor of a Redis store: give `next` of a page");
        list_done(l, 0);
        return USHER_INVALID;
    }
    l->found = usher__redis_resize(s->alloc, NULL, 0, size);
    if (s->map != NULL)
        usher__redis_refresh(store, deadline_ms);
    find_masters(l);
    status = l->found != NULL ? find(l) : USHER_NOMEM;
    if (status == USHER_OK)
        status = read_heads(l);
    if (status == USHER_OK)
        status = show_all(l, fn, payload);
    if (status == USHER_OK && !l->ended)
        write_cursor(&l->at, page->next);
    if (status == USHER_OK)
        status = usher__redis_walk_end(&l->w, false);
    list_done(l, l->found != NULL ? size : 0);
    return status;
}
