/* SPDX-License-Identifier: MIT */
/*
 * scan(): for the audit and the digest.  Finds the scopes with SCAN, reads each, and shows the hash
 * as records, the sorted sets as entries.
 */
#include "config.h"

#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* prefix{*}:noun*, the prefix taken as it stands. */
static size_t pattern(const struct usher__redis *r, enum usher_noun noun, char *to, size_t size)
{
    size_t n = 0;

    for (const char *p = r->prefix; *p != '\0'; p++) {
        if (strchr("*?[]\\^-", *p) != NULL)
            to[n++] = '\\';
        to[n++] = *p;
    }
    return n + (size_t)snprintf(to + n, size - n, "{*}:%s*", usher_noun_word(noun));
}

static enum usher_status find_scopes(struct usher__redis *r, enum usher_noun noun,
                                     struct usher__redis_names *names, char message[192])
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
            (void)snprintf(message, 192, "redis: SCAN is not understood");
            return USHER_UNAVAILABLE;
        }
        (void)snprintf(cursor, sizeof cursor, "%s", reply->element[0]->str);
        for (size_t i = 0; i < reply->element[1]->elements && status == USHER_OK; i++) {
            struct usher_text name;

            if (usher__redis_scope_of(r, noun, reply->element[1]->element[i], &name) &&
                !usher__redis_names_add(r->alloc, names, &name))
                status = USHER_NOMEM;
        }
        freeReplyObject(reply);
        if (status != USHER_OK)
            return status;
    } while (strcmp(cursor, "0") != 0);
    if (names->n > 1)
        qsort(names->text, names->n, sizeof *names->text, usher__redis_compare_names);
    return USHER_OK;
}

/* An entry of no known list: how the audit is told that something is not understood. */
static enum usher_status strange(usher_scan_fn *fn, void *payload)
{
    struct usher_entry e;
    struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };

    memset(&e, 0, sizeof e);
    return fn(payload, &item);
}

/* Those of listed kinds stand in a list by id; it has no counterpart among the slots, so it
 * is compared here: members come in byte order, as the records do. */
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

/* The members of one sorted set, @name: of lists from @least to @most, and a permanent one. */
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
    struct ids ids = { &from.records, from.listed, 0 };
    enum usher_status status = usher__redis_reading_make(r, d, &from, message);

    if (status != USHER_OK)
        return status;
    status = usher__redis_show_records(&from, fn, payload);
    if (status == USHER_OK && usher__redis_is_marked(&head))
        status = wrong("it is being mended, or that was broken off", fn, payload);
    while (from.records.odd-- > 0 && status == USHER_OK)
        status = strange(fn, payload);
    if (status == USHER_OK)
        status = show_set("index", &d->index, 0, 0, "!", &ids, fn, payload);
    if (status == USHER_OK)
        status = show_set("held", &d->held, 1, 2, from.permanent, NULL, fn, payload);
    usher__redis_records_done(r, &from.records);
    return status;
}

static enum usher_status scan_scope(struct usher__redis *r, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    struct usher__redis_dump d = { .noun = noun, .name = name };
    enum usher_status status = usher__redis_read_scope(r, &d, deadline_ms, message);

    if (status == USHER_OK)
        status = show_scope(r, &d, fn, payload, message);
    else if (status == USHER_MISSING) /* gone meanwhile, or never there, or torn */
        status = usher__redis_show_rest(r, &d, fn, payload, message);
    usher__redis_dump_done(r, &d);
    return status;
}

static enum usher_status scan_noun(struct usher__redis *r, enum usher_noun noun,
                                   int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                   char message[192])
{
    struct usher__redis_names names = { NULL, 0, 0 };
    enum usher_status status = find_scopes(r, noun, &names, message);

    for (size_t i = 0; i < names.n && status == USHER_OK; i++)
        if (i == 0 || usher__redis_compare_text(&names.text[i], &names.text[i - 1]) != 0)
            status = scan_scope(r, noun, &names.text[i], deadline_ms, fn, payload, message);
    usher__redis_names_done(r->alloc, &names);
    return status;
}

enum usher_status usher__redis_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    struct usher__redis *r = NULL;
    enum usher_status status = usher__redis_own_open(s, deadline_ms, &r, message);

    for (unsigned n = 1; n < USHER__REDIS_NOUNS && status == USHER_OK; n++) {
        if (((unsigned)noun != 0 && n != (unsigned)noun) ||
            usher_noun_word((enum usher_noun)n)[0] == '?')
            continue;
        if (scope != NULL)
            status = scan_scope(r, (enum usher_noun)n, scope, deadline_ms, fn, payload, message);
        else
            status = scan_noun(r, (enum usher_noun)n, deadline_ms, fn, payload, message);
    }
    usher__redis_own_close(r);
    return status;
}
