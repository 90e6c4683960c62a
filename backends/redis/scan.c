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

size_t usher__redis_pattern(const struct usher__redis *r, char *to, size_t size)
{
    size_t n = 0;

    for (const char *p = r->prefix; *p != '\0'; p++) {
        if (strchr("*?[]\\^-", *p) != NULL)
            to[n++] = '\\';
        to[n++] = *p;
    }
    return n + (size_t)snprintf(to + n, size - n, "{*}:");
}

/* Write the pattern prefix{*}:noun*, or for noun 0 prefix{*}:*. */
static size_t pattern(const struct usher__redis *r, enum usher_noun noun, char *to, size_t size)
{
    size_t n = usher__redis_pattern(r, to, size);

    return n + (size_t)snprintf(to + n, size - n, "%s*",
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
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    struct usher_text head = usher__redis_text_of(d->header.page[0]->element[0]);
    struct usher__redis_reading from;
    struct ids ids = { &from.records, NULL, 0 };
    enum usher_status status = usher__redis_reading_make(r, d, &from, message);

    if (status != USHER_OK)
        return status;
    ids.listed = from.listed;
    status = usher__redis_show_records(&from, fn, payload);
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

static void missed(struct usher__redis_walk *w, size_t *count)
{
    if (!usher__redis_walk_missed(w))
        (void)snprintf(w->why, sizeof w->why, "%s", w->message);
    ++*count;
}

void usher__redis_walk_unread(struct usher__redis_walk *w)
{
    missed(w, &w->n_scopes);
}

void usher__redis_walk_silent(struct usher__redis_walk *w, unsigned number)
{
    if (!w->silent[number])
        missed(w, &w->n_silent);
    w->silent[number] = true;
}

bool usher__redis_walk_missed(const struct usher__redis_walk *w)
{
    return w->n_silent + w->n_scopes > 0;
}

enum usher_status usher__redis_walk_node(struct usher__redis_walk *w, unsigned number,
                                         struct usher__redis **ret)
{
    int64_t now_ms = usher__redis_clock_ms(), until_ms = w->deadline_ms;
    enum usher_status status;

    *ret = w->r[number];
    if (w->silent[number])
        return USHER_UNAVAILABLE;
    /* the deadline may have been used up by waiting for other nodes */
    if (until_ms < now_ms + w->patience_ms / 2)
        until_ms = now_ms + w->patience_ms / 2;
    if (*ret == NULL)
        status = usher__redis_own_open(w->store, w->store->node[number], until_ms, &w->r[number],
                                       w->message);
    else
        status = usher__redis_handshake(*ret, until_ms);
    *ret = w->r[number];
    if (status == USHER_OK)
        (*ret)->patience_ms = w->patience_ms;
    if (status != USHER_UNAVAILABLE || w->store->map == NULL ||
        usher__redis_slots_of(w->store, number) == 0)
        return status;
    if (*ret != NULL && w->message[0] == '\0')
        (void)snprintf(w->message, 192, "%s", usher__redis_conn_message((*ret)->conn));
    usher__redis_walk_silent(w, number);
    return status;
}

void usher__redis_walk_open(struct usher__redis_walk *w, struct usher__redis_store *s,
                            int64_t deadline_ms, char message[192])
{
    memset(w, 0, sizeof *w);
    w->store = s;
    w->deadline_ms = deadline_ms;
    w->patience_ms = w->spare_ms = deadline_ms - usher__redis_clock_ms();
    w->message = message;
}

enum usher_status usher__redis_walk_end(const struct usher__redis_walk *w, bool one)
{
    if (!usher__redis_walk_missed(w))
        return USHER_OK;
    if (one && w->n_silent == 0)
        (void)snprintf(w->message, 192, "%s", w->why);
    else
        (void)snprintf(w->message, 192, "incomplete (not read: %zu nodes, %zu scopes): %.100s",
                       w->n_silent, w->n_scopes, w->why);
    return USHER_UNAVAILABLE;
}

void usher__redis_walk_close(struct usher__redis_walk *w)
{
    for (unsigned i = 0; i < USHER__REDIS_NODES_MAX; i++)
        usher__redis_own_close(w->r[i]);
}

/* All scopes share one time for retries.  When it is used up, each scope still has this time: a
 * scope that moves is found with a few tries, and one that cannot be read does not delay the next
 * ones. */
#define AT_LEAST_MS 20

enum usher_status usher__redis_walk_read(struct usher__redis_walk *w, struct usher__redis_dump *d,
                                         bool records, struct usher__redis **ret)
{
    bool one = w->store->map == NULL;
    int64_t begin_ms = usher__redis_clock_ms();
    int64_t until_ms = begin_ms + (one                         ? w->patience_ms
                                   : w->spare_ms > AT_LEAST_MS ? w->spare_ms
                                                               : AT_LEAST_MS);

    for (unsigned tries = 0;; tries++) {
        unsigned number = usher__redis_number_of(w->store, d->name);
        enum usher_status status = usher__redis_walk_node(w, number, ret);

        if (status == USHER_UNAVAILABLE && !one && !w->silent[number] &&
            usher__redis_pause(*ret, tries, until_ms))
            continue; /* another node has its slots now */
        if (status == USHER_UNAVAILABLE && !one && !w->silent[number])
            usher__redis_walk_unread(w);
        if (status == USHER_UNAVAILABLE)
            return status;
        if (status != USHER_OK)
            return status;
        status = records ? usher__redis_read_scope(*ret, d, until_ms, w->message)
                         : usher__redis_read_head(*ret, d, w->message);
        if (tries > 0)
            w->spare_ms -= usher__redis_clock_ms() - begin_ms;
        if (status == USHER_REFUSED) {
            usher__redis_walk_unread(w);
            return USHER_UNAVAILABLE;
        }
        if (one || status != USHER_UNAVAILABLE)
            return status;
        begin_ms = usher__redis_clock_ms();
        usher__redis_dump_done(*ret, d);
        usher__redis_refresh(&w->store->base, until_ms);
        if (!usher__redis_pause(*ret, tries, until_ms)) {
            usher__redis_walk_unread(w);
            return status;
        }
    }
}

static enum usher_status scan_scope(struct usher__redis_walk *w, enum usher_noun noun,
                                    const struct usher_text *name, bool one_of_all,
                                    usher_scan_fn *fn, void *payload)
{
    struct usher__redis_dump d = { .noun = noun, .name = name };
    struct usher__redis *r = NULL;
    enum usher_status status = usher__redis_walk_read(w, &d, true, &r);

    if (status == USHER_OK && one_of_all && w->store->map != NULL)
        warn_of_large(r, &d);
    if (status == USHER_OK)
        status = show_scope(r, &d, fn, payload, w->message);
    else if (status == USHER_MISSING) /* erased since, or never complete, or with a missing key */
        status = usher__redis_show_rest(r, &d, fn, payload, w->message);
    else if (status == USHER_UNAVAILABLE && usher__redis_walk_missed(w))
        status = USHER_OK; /* continue with the others */
    if (r != NULL)
        usher__redis_dump_done(r, &d);
    return status;
}

/* Read the names of all scopes of @noun, or (0) of each noun.  Each master of a cluster is queried
 * twice: a scope that moves to a master that was already queried is found the second time. */
static enum usher_status find_all(struct usher__redis_walk *w, enum usher_noun noun,
                                  struct usher__redis_names names[USHER__REDIS_NOUNS])
{
    unsigned number[USHER__REDIS_NODES_MAX];
    size_t n = usher__redis_masters(w->store, number);
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < (n > 1 ? 2 * n : n) && status == USHER_OK; i++) {
        struct usher__redis *r;

        status = usher__redis_walk_node(w, number[i % n], &r);
        if (status == USHER_OK)
            status = find_scopes(r, noun, names, w->message);
        if (status == USHER_UNAVAILABLE && w->store->map != NULL) {
            usher__redis_walk_silent(w, number[i % n]);
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

#define AT_ONCE 64 /* scopes that are read in one round trip */

struct whole {
    struct usher__redis_dump d;
    struct usher__redis *r; /* the connection by which it is read, or NULL */
    bool is;                /* all of it was read */
};

/* Read those of the @n scopes that fit into a page.  Others, and those that change or fail, are
 * left to scan_scope(). */
static enum usher_status read_whole(struct usher__redis_walk *w, enum usher_noun noun,
                                    const struct usher_text *names, size_t n, struct whole *whole)
{
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < n && status != USHER_NOMEM; i++) {
        unsigned number = usher__redis_number_of(w->store, &names[i]);

        whole[i] = (struct whole){ .d = { .noun = noun, .name = &names[i] } };
        if (w->silent[number])
            continue;
        /* an open connection has requests that are not answered: no handshake between them */
        whole[i].r = w->asked[number] ? w->r[number] : NULL;
        status = whole[i].r != NULL ? USHER_OK : usher__redis_walk_node(w, number, &whole[i].r);
        if (status != USHER_OK) {
            whole[i].r = NULL;
            continue;
        }
        w->asked[number] = true;
        usher__redis_scope_ask(whole[i].r, &whole[i].d);
    }
    for (unsigned number = 0; number < USHER__REDIS_NODES_MAX; number++) {
        if (w->asked[number])
            (void)usher__redis_conn_flush(w->r[number]->conn); /* a failure is met by the read */
        w->asked[number] = false;
    }
    for (size_t i = 0; i < n && status != USHER_NOMEM; i++) {
        struct usher__redis *r = whole[i].r;

        if (r == NULL || usher__redis_conn_answered(r->conn) == usher__redis_conn_requests(r->conn))
            continue; /* not asked, or lost with those before */
        status = usher__redis_scope_take(r, &whole[i].d, &whole[i].is, w->message);
        if (status == USHER_UNAVAILABLE)
            usher__redis_conn_discard(r->conn);
    }
    return status == USHER_NOMEM ? status : USHER_OK;
}

static enum usher_status scan_noun(struct usher__redis_walk *w, enum usher_noun noun,
                                   const struct usher__redis_names *names, usher_scan_fn *fn,
                                   void *payload)
{
    struct whole whole[AT_ONCE];
    enum usher_status status = USHER_OK;

    for (size_t i = 0, n; i < names->n && status == USHER_OK; i += n) {
        n = names->n - i < AT_ONCE ? names->n - i : AT_ONCE;
        memset(whole, 0, sizeof whole);
        status = read_whole(w, noun, &names->text[i], n, whole);
        for (size_t k = 0; k < n; k++) {
            bool is = status == USHER_OK && whole[k].is;

            if (is)
                status = show_scope(whole[k].r, &whole[k].d, fn, payload, w->message);
            if (whole[k].r != NULL)
                usher__redis_dump_done(whole[k].r, &whole[k].d);
            if (status == USHER_OK && !is)
                status = scan_scope(w, noun, &names->text[i + k], true, fn, payload);
        }
    }
    return status;
}

static enum usher_status scan_all(struct usher__redis_walk *w, enum usher_noun noun,
                                  usher_scan_fn *fn, void *payload)
{
    struct usher__redis_names names[USHER__REDIS_NOUNS];
    enum usher_status status;

    memset(names, 0, sizeof names);
    status = find_all(w, noun, names);
    for (unsigned n = 1; n < USHER__REDIS_NOUNS; n++) {
        sort_names(w->store->alloc, &names[n]);
        if (status == USHER_OK)
            status = scan_noun(w, (enum usher_noun)n, &names[n], fn, payload);
        usher__redis_names_done(w->store->alloc, &names[n]);
    }
    return status;
}

enum usher_status usher__redis_scan(struct usher_store *store, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    struct usher__redis_store *s = (struct usher__redis_store *)store;
    struct usher__redis_walk *w = usher__redis_resize(s->alloc, NULL, 0, sizeof *w);
    enum usher_status status = USHER_OK;

    if (w == NULL)
        return USHER_NOMEM;
    usher__redis_walk_open(w, s, deadline_ms, message);
    if (s->map != NULL)
        usher__redis_refresh(store, deadline_ms);
    if (scope == NULL)
        status = scan_all(w, noun, fn, payload);
    for (unsigned n = 1; n < USHER__REDIS_NOUNS && scope != NULL && status == USHER_OK; n++)
        if ((unsigned)noun == 0 ? is_noun(n) : n == (unsigned)noun)
            status = scan_scope(w, (enum usher_noun)n, scope, false, fn, payload);
    if (status == USHER_OK)
        status = usher__redis_walk_end(w, scope != NULL);
    usher__redis_walk_close(w);
    (void)usher__redis_resize(s->alloc, w, sizeof *w, 0);
    return status;
}
