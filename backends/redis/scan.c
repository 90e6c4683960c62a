/* SPDX-License-Identifier: MIT */
/*
 * scan() is used by the audit and the digest.  It finds the scopes with SCAN, reads each, and
 * reports the fields of the hash as records and the members of the sorted sets as entries.  Scopes
 * to whose keys the user has no right are counted, and the others are reported.
 */
#include "config.h"

#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write the pattern prefix{*}:noun*, or for noun 0 prefix{*}:*.  The prefix is escaped. */
static size_t pattern(const struct usher__redis *r, enum usher_noun noun, char *to, size_t size)
{
    size_t n = 0;

    for (const char *p = r->prefix; *p != '\0'; p++) {
        if (strchr("*?[]\\^-", *p) != NULL)
            to[n++] = '\\';
        to[n++] = *p;
    }
    return n + (size_t)snprintf(to + n, size - n, "{*}:%s*",
                                (unsigned)noun != 0 ? usher_noun_word(noun) : "");
}

static bool is_noun(unsigned n)
{
    return usher_noun_word((enum usher_noun)n)[0] != '?';
}

/* Add the scope to which @key belongs to the names of its noun, which is @noun or (0) any.  Return
 * false without memory. */
static bool add_scope(const struct usher__redis *r, enum usher_noun noun,
                      const struct redisReply *key,
                      struct usher__redis_names names[USHER__REDIS_NOUNS])
{
    struct usher_text name;

    for (unsigned n = 1; n < USHER__REDIS_NOUNS; n++)
        if (((unsigned)noun == 0 ? is_noun(n) : n == (unsigned)noun) &&
            usher__redis_scope_of(r, (enum usher_noun)n, key, &name))
            return usher__redis_names_add(r->alloc, &names[n], &name);
    return true;
}

static enum usher_status find_scopes(struct usher__redis *r, enum usher_noun noun,
                                     struct usher__redis_names names[USHER__REDIS_NOUNS],
                                     char message[192])
{
    char match[2 * USHER__REDIS_PREFIX_MAX + 24], cursor[24] = "0";
    size_t size = pattern(r, noun, match, sizeof match);

    do {
        struct redisReply *reply;
        enum usher_status status;

        usher__redis_conn_begin(r->conn, 6);
        usher__redis_conn_arg_str(r->conn, "SCAN");
        usher__redis_conn_arg_str(r->conn, cursor);
        usher__redis_conn_arg_str(r->conn, "MATCH");
        usher__redis_conn_arg(r->conn, match, size);
        usher__redis_conn_arg_str(r->conn, "COUNT");
        usher__redis_conn_arg_str(r->conn, "1000");
        status = usher__redis_ask(r, &reply, message);
        if (status != USHER_OK)
            return status;
        if (reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
            reply->element[0]->len >= (int)sizeof cursor ||
            reply->element[1]->type != REDIS_REPLY_ARRAY) {
            freeReplyObject(reply);
            (void)snprintf(message, 192, "redis: malformed reply to SCAN");
            return USHER_UNAVAILABLE;
        }
        (void)snprintf(cursor, sizeof cursor, "%s", reply->element[0]->str);
        for (size_t i = 0; i < reply->element[1]->elements && status == USHER_OK; i++)
            if (!add_scope(r, noun, reply->element[1]->element[i], names))
                status = USHER_NOMEM;
        freeReplyObject(reply);
        if (status != USHER_OK)
            return status;
    } while (strcmp(cursor, "0") != 0);
    return USHER_OK;
}

/* Report an entry of no known list, so that the audit knows of data that are not understood. */
static enum usher_status strange(usher_scan_fn *fn, void *payload)
{
    struct usher_entry e;
    struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };

    memset(&e, 0, sizeof e);
    return fn(payload, &item);
}

/* The records of listed kinds are in a list by id.  The slots of a record do not contain this list,
 * so it is compared here: both members and records are in byte order. */
struct ids {
    const struct usher__redis_records *records;
    const char *listed;
    size_t at;
};

static bool is_listed(const struct ids *ids, const struct usher_record *r)
{
    return strchr(ids->listed, '0' + r->kind) != NULL;
}

static void ids_skip(struct ids *ids)
{
    while (ids->at < ids->records->n && !is_listed(ids, ids->records->sorted[ids->at]))
        ids->at++;
}

static bool ids_next(struct ids *ids, const struct usher_text *member)
{
    struct usher_text id = { member->data + 2, member->size - 2 };
    const struct usher_record *r;

    ids_skip(ids);
    if (ids->at == ids->records->n)
        return false;
    r = ids->records->sorted[ids->at++];
    return member->data[0] == '0' + r->kind && usher__redis_compare_text(&r->id, &id) == 0;
}

static enum usher_status wrong(const char *what, usher_scan_fn *fn, void *payload)
{
    const struct usher_item item = { .kind = USHER_ITEM_FAULT, .fault = what };

    return fn(payload, &item);
}

/* Report the members of the sorted set @name, which has lists from @least to @most and a permanent
 * member. */
static enum usher_status show_set(const char *name, const struct usher__redis_pages *pages,
                                  unsigned least, unsigned most, const char *permanent,
                                  struct ids *ids, usher_scan_fn *fn, void *payload)
{
    enum usher_status status = USHER_OK;
    bool there = false, same = true;

    for (size_t p = 0; p < pages->n; p++) {
        const struct redisReply *page = pages->page[p];

        for (size_t i = 0; i < page->elements && status == USHER_OK; i++) {
            struct usher_text text = usher__redis_text_of(page->element[i]);
            struct usher_entry e;
            struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };

            if (text.data == NULL)
                status = strange(fn, payload);
            else if (text.size == strlen(permanent) && memcmp(text.data, permanent, text.size) == 0)
                there = true;
            else if (ids != NULL && text.size > 2 && text.data[1] == 'n')
                same = ids_next(ids, &text) && same;
            else if (usher__redis_entry_read(text, &e) && e.slot >= least && e.slot <= most)
                status = fn(payload, &item);
            else
                status = strange(fn, payload);
        }
    }
    if (ids != NULL)
        ids_skip(ids);
    if (status == USHER_OK && pages->n == 0) {
        char what[64];

        (void)snprintf(what, sizeof what, "its key :%s is gone", name);
        return wrong(what, fn, payload);
    }
    if (status == USHER_OK && (!there || !same || (ids != NULL && ids->at != ids->records->n)))
        status = strange(fn, payload);
    return status;
}

enum usher_status usher__redis_show_records(const struct usher__redis_reading *from,
                                            usher_scan_fn *fn, void *payload)
{
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &from->scope };
    enum usher_status status = fn(payload, &item);

    for (size_t i = 0; i < from->records.n && status == USHER_OK; i++) {
        struct usher_item shown = { .kind = USHER_ITEM_RECORD, .record = from->records.sorted[i] };

        status = fn(payload, &shown);
    }
    return status;
}

static enum usher_status show_scope(struct usher__redis *r, const struct usher__redis_dump *d,
                                    bool records, usher_scan_fn *fn, void *payload,
                                    char message[192])
{
    struct usher_text head = usher__redis_text_of(d->header.page[0]->element[0]);
    struct usher__redis_reading from;
    struct ids ids = { &from.records, NULL, 0 };
    enum usher_status status = usher__redis_reading_make(r, d, &from, message);

    if (status != USHER_OK)
        return status;
    ids.listed = from.listed;
    status = usher__redis_show_records(&from, fn, payload);
    if (!records) {
        usher__redis_records_done(r, &from.records);
        return status;
    }
    if (status == USHER_OK && usher__redis_is_marked(&head))
        status = wrong("a repair of it is under way, or was interrupted", fn, payload);
    while (from.records.odd-- > 0 && status == USHER_OK)
        status = strange(fn, payload);
    if (status == USHER_OK)
        status = show_set("index", &d->index, 0, 0, "!", &ids, fn, payload);
    if (status == USHER_OK)
        status = show_set("held", &d->held, 1, 2, from.permanent, NULL, fn, payload);
    usher__redis_records_done(r, &from.records);
    return status;
}

/* Records of a scope in a cluster that delay both nodes for a second or more while its slot moves.
 */
#define LARGE 100000
#define NO_RECORDS 3 /* fields: the header, the settings, the gaps */

static void warn_of_large(struct usher__redis *r, const struct usher__redis_dump *d)
{
    size_t n = 0;
    char line[USHER_NAME_MAX + 128];

    for (size_t p = 0; p < d->fields.n; p++)
        n += d->fields.page[p]->element[1]->elements / 2;
    if (n <= LARGE + NO_RECORDS)
        return;
    (void)snprintf(line, sizeof line,
                   "redis: %s %.*s has some %zu records: a move of its slot blocks both nodes",
                   usher_noun_word(d->noun), (int)d->name->size, d->name->data, n);
    usher__redis_log(r, USHER_LOG_WARNING, line);
}

/* ---- over all masters --------------------------------------------------------------- */

/* The connections of a scan to the nodes, and the parts that it could not read. */
struct eyes {
    struct usher__redis_store *store;
    bool records; /* report records, too */
    int64_t patience_ms, deadline_ms;
    int64_t spare_ms; /* of a cluster: time for scopes that have moved or cannot be read */
    struct usher__redis *r[USHER__REDIS_NODES_MAX];
    bool blind[USHER__REDIS_NODES_MAX];
    size_t n_blind, n_scopes; /* silent nodes; unread scopes of other nodes */
    char why[192];            /* the reason of the first failure */
    char *message;
};

static void not_seen(struct eyes *e, size_t *count)
{
    if (e->n_blind + e->n_scopes == 0)
        (void)snprintf(e->why, sizeof e->why, "%s", e->message);
    ++*count;
}

/* Return a connection to node @number.  UNAVAILABLE: the node does not answer, and is not tried
 * again. */
static enum usher_status eye(struct eyes *e, unsigned number, struct usher__redis **ret)
{
    int64_t now_ms = usher__redis_clock_ms(), until_ms = e->deadline_ms;
    enum usher_status status;

    *ret = e->r[number];
    if (e->blind[number])
        return USHER_UNAVAILABLE;
    /* the deadline may have been used up by waiting for other nodes */
    if (until_ms < now_ms + e->patience_ms / 2)
        until_ms = now_ms + e->patience_ms / 2;
    if (*ret == NULL)
        status = usher__redis_own_open(e->store, e->store->node[number], until_ms, &e->r[number],
                                       e->message);
    else
        status = usher__redis_handshake(*ret, until_ms);
    *ret = e->r[number];
    if (status == USHER_OK)
        (*ret)->patience_ms = e->patience_ms;
    if (status != USHER_UNAVAILABLE || e->store->map == NULL)
        return status;
    if (*ret != NULL && e->message[0] == '\0')
        (void)snprintf(e->message, 192, "%s", usher__redis_conn_message((*ret)->conn));
    e->blind[number] = true;
    not_seen(e, &e->n_blind);
    return status;
}

static void eyes_close(struct eyes *e)
{
    for (unsigned i = 0; i < USHER__REDIS_NODES_MAX; i++)
        usher__redis_free(e->r[i]);
}

/* All scopes share one time for retries.  When it is used up, each scope still has this time: a
 * scope that moves is found with a few tries, and one that cannot be read does not delay the next
 * ones. */
#define AT_LEAST_MS 20

/* Read a scope at its current node.  UNAVAILABLE in a cluster, and where the user lacks the right:
 * it could not be read, and was counted. */
static enum usher_status read_scope(struct eyes *e, struct usher__redis_dump *d,
                                    struct usher__redis **ret)
{
    bool one = e->store->map == NULL;
    int64_t begin_ms = usher__redis_clock_ms();
    int64_t until_ms = begin_ms + (one                         ? e->patience_ms
                                   : e->spare_ms > AT_LEAST_MS ? e->spare_ms
                                                               : AT_LEAST_MS);

    for (unsigned tries = 0;; tries++) {
        unsigned number = usher__redis_number_of(e->store, d->name);
        bool blind = e->blind[number];
        enum usher_status status = eye(e, number, ret);

        if (status == USHER_UNAVAILABLE)
            return blind && !one ? USHER_UNAVAILABLE : status;
        if (status != USHER_OK)
            return status;
        status = e->records ? usher__redis_read_scope(*ret, d, until_ms, e->message)
                            : usher__redis_read_head(*ret, d, e->message);
        if (tries > 0)
            e->spare_ms -= usher__redis_clock_ms() - begin_ms;
        if (status == USHER_REFUSED) {
            not_seen(e, &e->n_scopes);
            return USHER_UNAVAILABLE;
        }
        if (one || status != USHER_UNAVAILABLE)
            return status;
        begin_ms = usher__redis_clock_ms();
        usher__redis_dump_done(*ret, d);
        usher__redis_refresh(&e->store->base, until_ms);
        if (!usher__redis_pause(*ret, tries, until_ms)) {
            not_seen(e, &e->n_scopes);
            return status;
        }
    }
}

static enum usher_status scan_scope(struct eyes *e, enum usher_noun noun,
                                    const struct usher_text *name, bool one_of_all,
                                    usher_scan_fn *fn, void *payload)
{
    struct usher__redis_dump d = { .noun = noun, .name = name };
    struct usher__redis *r = NULL;
    enum usher_status status = read_scope(e, &d, &r);

    if (status == USHER_OK && one_of_all && e->records && e->store->map != NULL)
        warn_of_large(r, &d);
    if (status == USHER_OK)
        status = show_scope(r, &d, e->records, fn, payload, e->message);
    else if (status == USHER_MISSING && !e->records)
        status = USHER_OK;
    else if (status == USHER_MISSING) /* erased since, or never complete, or with a missing key */
        status = usher__redis_show_rest(r, &d, fn, payload, e->message);
    else if (status == USHER_UNAVAILABLE && e->n_blind + e->n_scopes > 0)
        status = USHER_OK; /* continue with the others */
    if (r != NULL)
        usher__redis_dump_done(r, &d);
    return status;
}

/* Read the names of all scopes of @noun, or (0) of each noun.  Each master of a cluster is queried
 * twice: a scope that moves to a master that was already queried is found the second time. */
static enum usher_status find_all(struct eyes *e, enum usher_noun noun,
                                  struct usher__redis_names names[USHER__REDIS_NOUNS])
{
    unsigned number[USHER__REDIS_NODES_MAX];
    size_t n = usher__redis_masters(e->store, number);
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < (n > 1 ? 2 * n : n) && status == USHER_OK; i++) {
        struct usher__redis *r;

        status = eye(e, number[i % n], &r);
        if (status == USHER_OK)
            status = find_scopes(r, noun, names, e->message);
        if (status == USHER_UNAVAILABLE && e->store->map != NULL) {
            if (!e->blind[number[i % n]]) {
                e->blind[number[i % n]] = true;
                not_seen(e, &e->n_blind);
            }
            status = USHER_OK;
        }
    }
    return status;
}

/* Sort @names and remove duplicates. */
static void sort_names(const struct usher_allocator *alloc, struct usher__redis_names *names)
{
    size_t n = 0;

    if (names->n > 1)
        qsort(names->text, names->n, sizeof *names->text, usher__redis_compare_names);
    for (size_t i = 0; i < names->n; i++) {
        if (n == 0 || usher__redis_compare_text(&names->text[i], &names->text[n - 1]) != 0)
            names->text[n++] = names->text[i];
        else
            (void)usher__redis_resize(alloc, (void *)(uintptr_t)names->text[i].data,
                                      names->text[i].size, 0);
    }
    names->n = n;
}

/* Headers in one request. */
#define HEADS 64

struct head {
    struct usher__redis_dump d;
    unsigned node;
    bool asked, refused;
    struct usher__redis *r; /* the connection by which it was read, or NULL */
};

/* Read those of the @n headers that are at node @number, with one write.  read_scope() reads the
 * headers that this does not return. */
static enum usher_status read_heads(struct eyes *e, unsigned number, struct head *heads, size_t n)
{
    struct usher__redis *r;
    enum usher_status status = e->blind[number] ? USHER_UNAVAILABLE : eye(e, number, &r);

    for (size_t i = 0; i < n; i++)
        heads[i].asked = heads[i].asked || heads[i].node == number;
    if (status != USHER_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        if (heads[i].node == number)
            usher__redis_head_ask(r, &heads[i].d);
    for (size_t i = 0; i < n && status == USHER_OK; i++) {
        if (heads[i].node != number)
            continue;
        status = usher__redis_head_take(r, &heads[i].d, e->message);
        if (status == USHER_OK)
            heads[i].r = r;
        if (status == USHER_REFUSED) {
            not_seen(e, &e->n_scopes);
            heads[i].refused = true;
            status = USHER_OK;
        }
    }
    if (status != USHER_OK) /* replies are outstanding */
        usher__redis_conn_discard(r->conn);
    return status;
}

/* Report the headers of @n scopes of @noun. */
static enum usher_status scan_heads(struct eyes *e, enum usher_noun noun,
                                    const struct usher_text *names, size_t n, usher_scan_fn *fn,
                                    void *payload)
{
    struct head heads[HEADS];
    enum usher_status status = USHER_OK;

    memset(heads, 0, sizeof heads);
    for (size_t i = 0; i < n; i++) {
        heads[i].d.noun = noun;
        heads[i].d.name = &names[i];
        heads[i].node = usher__redis_number_of(e->store, &names[i]);
    }
    for (size_t i = 0; i < n && status != USHER_NOMEM; i++)
        if (!heads[i].asked)
            status = read_heads(e, heads[i].node, heads, n);
    status = status == USHER_NOMEM ? status : USHER_OK;
    for (size_t i = 0; i < n; i++) {
        struct head *h = &heads[i];

        if (h->refused)
            continue;
        if (status == USHER_OK && h->r == NULL)
            status = scan_scope(e, noun, h->d.name, true, fn, payload);
        else if (status == USHER_OK && !usher__redis_head_missing(&h->d))
            status = show_scope(h->r, &h->d, false, fn, payload, e->message);
        if (h->r != NULL)
            usher__redis_dump_done(h->r, &h->d);
    }
    return status;
}

static enum usher_status scan_noun(struct eyes *e, enum usher_noun noun,
                                   const struct usher__redis_names *names, usher_scan_fn *fn,
                                   void *payload)
{
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < names->n && status == USHER_OK;) {
        size_t n = names->n - i < HEADS ? names->n - i : HEADS;

        if (e->records)
            n = 1;
        status = e->records ? scan_scope(e, noun, &names->text[i], true, fn, payload)
                            : scan_heads(e, noun, &names->text[i], n, fn, payload);
        i += n;
    }
    return status;
}

static enum usher_status scan_all(struct eyes *e, enum usher_noun noun, usher_scan_fn *fn,
                                  void *payload)
{
    struct usher__redis_names names[USHER__REDIS_NOUNS];
    enum usher_status status;

    memset(names, 0, sizeof names);
    status = find_all(e, noun, names);
    for (unsigned n = 1; n < USHER__REDIS_NOUNS; n++) {
        sort_names(e->store->alloc, &names[n]);
        if (status == USHER_OK)
            status = scan_noun(e, (enum usher_noun)n, &names[n], fn, payload);
        usher__redis_names_done(e->store->alloc, &names[n]);
    }
    return status;
}

enum usher_status usher__redis_scan(struct usher_store *store, enum usher_noun noun,
                                    const struct usher_text *scope, bool records,
                                    int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                    char message[192])
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct eyes *e = usher__redis_resize(s->alloc, NULL, 0, sizeof *e);
    enum usher_status status = USHER_OK;

    if (e == NULL)
        return USHER_NOMEM;
    memset(e, 0, sizeof *e);
    e->store = s;
    e->records = records;
    e->deadline_ms = deadline_ms;
    e->patience_ms = e->spare_ms = deadline_ms - usher__redis_clock_ms();
    e->message = message;
    if (s->map != NULL)
        usher__redis_refresh(store, deadline_ms);
    if (scope == NULL)
        status = scan_all(e, noun, fn, payload);
    for (unsigned n = 1; n < USHER__REDIS_NOUNS && scope != NULL && status == USHER_OK; n++)
        if ((unsigned)noun == 0 ? is_noun(n) : n == (unsigned)noun)
            status = scan_scope(e, (enum usher_noun)n, scope, false, fn, payload);
    if (status == USHER_OK && e->n_blind + e->n_scopes > 0) {
        if (scope != NULL && e->n_blind == 0)
            (void)snprintf(message, 192, "%s", e->why);
        else
            (void)snprintf(message, 192, "incomplete (not read: %zu nodes, %zu scopes): %.100s",
                           e->n_blind, e->n_scopes, e->why);
        status = USHER_UNAVAILABLE;
    }
    eyes_close(e);
    (void)usher__redis_resize(s->alloc, e, sizeof *e, 0);
    return status;
}
