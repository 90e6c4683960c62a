/* SPDX-License-Identifier: MIT */
/*
 * Reads the hash and the sorted sets of a scope in pages, again if the header has changed, so that
 * the result is consistent.  Then makes records of the hash.  Each scan has its own connection.
 */
#include "config.h"

#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void usher__redis_names_done(const struct usher_allocator *alloc, struct usher__redis_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        (void)usher__redis_resize(alloc, (void *)(uintptr_t)names->text[i].data,
                                  names->text[i].size, 0);
    (void)usher__redis_resize(alloc, names->text, names->room * sizeof *names->text, 0);
}

bool usher__redis_names_add(const struct usher_allocator *alloc, struct usher__redis_names *names,
                            const struct usher_text *name)
{
    char *copy;

    if (names->n == names->room) {
        size_t room = names->room * 2 + 64;
        struct usher_text *text = usher__redis_resize(
            alloc, names->text, names->room * sizeof *text, room * sizeof *text);

        if (text == NULL)
            return false;
        names->text = text;
        names->room = room;
    }
    copy = usher__redis_resize(alloc, NULL, 0, name->size);
    if (copy == NULL)
        return false;
    memcpy(copy, name->data, name->size);
    names->text[names->n].data = copy;
    names->text[names->n++].size = name->size;
    return true;
}

int usher__redis_compare_text(const struct usher_text *a, const struct usher_text *b)
{
    size_t n = a->size < b->size ? a->size : b->size;
    int order = n != 0 ? memcmp(a->data, b->data, n) : 0;

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

int usher__redis_compare_names(const void *a, const void *b)
{
    return usher__redis_compare_text(a, b);
}

/* Return whether @node, which does not answer as a master, has no slots any more. */
static bool is_replaced(struct usher__redis_store *s, struct usher__redis_node *node,
                        int64_t deadline_ms)
{
    bool gone;

    if (s->map == NULL)
        return false;
    usher__redis_doubt(s);
    usher__redis_refresh(&s->base, deadline_ms);
    (void)pthread_mutex_lock(&s->lock);
    gone = node->gone;
    (void)pthread_mutex_unlock(&s->lock);
    return gone;
}

enum usher_status usher__redis_own_open(struct usher__redis_store *s,
                                        struct usher__redis_node *node, int64_t deadline_ms,
                                        struct usher__redis **ret, char message[192])
{
    struct usher__redis *own = usher__redis_take(s, node);
    enum usher_status status;

    if (own == NULL)
        return USHER_NOMEM;
    own->patience_ms = deadline_ms - usher__redis_clock_ms();
    if (own->asked_ms != 0) /* 0: its settings are not logged yet */
        own->asked_ms = 1;
    *ret = own;
    for (unsigned tries = 0;; tries++) {
        status = usher__redis_handshake(own, deadline_ms);
        if (status == USHER_OK || is_replaced(s, node, deadline_ms) ||
            !usher__redis_pause(own, tries, deadline_ms))
            break;
    }
    if (status != USHER_OK)
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(own->conn));
    return status;
}

void usher__redis_own_close(struct usher__redis *own)
{
    if (own == NULL)
        return;
    if (usher__redis_conn_answered(own->conn) < usher__redis_conn_requests(own->conn))
        usher__redis_conn_discard(own->conn);
    usher__redis_give(own);
}

bool usher__redis_lacks_keys(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOPERM ", 7) == 0 &&
           strstr(reply->str, " to access ") != NULL;
}

enum usher_status usher__redis_ask(struct usher__redis *r, struct redisReply **ret_reply,
                                   char message[192])
{
    enum usher_status status = usher__redis_conn_flush(r->conn);

    if (status == USHER_OK)
        status =
            usher__redis_conn_read(r->conn, usher__redis_clock_ms() + r->patience_ms, ret_reply);
    if (status == USHER_OK) {
        if ((*ret_reply)->type == REDIS_REPLY_ARRAY)
            return USHER_OK;
        (void)snprintf(message, 192, "%s", usher__redis_conn_explain(r->conn, *ret_reply));
        if (usher__redis_lacks_keys(*ret_reply)) {
            freeReplyObject(*ret_reply);
            return USHER_REFUSED;
        }
        if (r->store->map != NULL) {
            enum usher__redis_class class = usher__redis_classify(*ret_reply);

            if (class == USHER__REDIS_MOVED)
                (void)usher__redis_redirected(r, *ret_reply, false);
            usher__redis_conn_discard(r->conn); /* other requests are dropped, too */
        }
        freeReplyObject(*ret_reply);
        return USHER_UNAVAILABLE;
    }
    (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
    return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
}

static void pages_done(const struct usher__redis *r, struct usher__redis_pages *pages)
{
    for (size_t i = 0; i < pages->n; i++)
        freeReplyObject(pages->page[i]);
    (void)usher__redis_resize(r->alloc, pages->page, pages->room * sizeof(struct redisReply *), 0);
    memset(pages, 0, sizeof *pages);
}

/* Takes ownership of @reply, also on failure. */
static bool pages_add(const struct usher__redis *r, struct usher__redis_pages *pages,
                      struct redisReply *reply)
{
    const size_t each = sizeof(struct redisReply *);

    if (pages->n == pages->room) {
        size_t room = pages->room * 2 + 16;
        struct redisReply **page =
            usher__redis_resize(r->alloc, pages->page, pages->room * each, room * each);

        if (page == NULL) {
            freeReplyObject(reply);
            return false;
        }
        pages->page = page;
        pages->room = room;
    }
    pages->page[pages->n++] = reply;
    return true;
}

void usher__redis_dump_done(const struct usher__redis *r, struct usher__redis_dump *d)
{
    pages_done(r, &d->header);
    pages_done(r, &d->fields);
    pages_done(r, &d->index);
    pages_done(r, &d->held);
}

#define PAGE "1000"
#define PAGE_SIZE 1000u

static void ask_header(struct usher__redis *r, const struct usher__redis_dump *d)
{
    char key[USHER__REDIS_KEY_MAX];
    size_t size = usher__redis_key(r, d->noun, d->name, "", key);

    usher__redis_conn_begin(r->conn, 5);
    usher__redis_conn_arg_str(r->conn, "HMGET");
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg_str(r->conn, "head");
    usher__redis_conn_arg_str(r->conn, "settings");
    usher__redis_conn_arg_str(r->conn, "gaps");
}

static enum usher_status take_header(struct usher__redis *r, struct usher__redis_dump *d,
                                     char message[192])
{
    struct redisReply *reply;
    enum usher_status status = usher__redis_ask(r, &reply, message);

    if (status != USHER_OK)
        return status;
    if (reply->elements != 3) {
        freeReplyObject(reply);
        (void)snprintf(message, 192, "redis: malformed reply to HMGET");
        return USHER_UNAVAILABLE;
    }
    return pages_add(r, &d->header, reply) ? USHER_OK : USHER_NOMEM;
}

static enum usher_status read_header(struct usher__redis *r, struct usher__redis_dump *d,
                                     char message[192])
{
    ask_header(r, d);
    return take_header(r, d, message);
}

bool usher__redis_head_missing(const struct usher__redis_dump *d)
{
    return d->header.page[0]->element[0]->type == REDIS_REPLY_NIL;
}

static void ask_fields(struct usher__redis *r, const struct usher__redis_dump *d,
                       const char *cursor)
{
    char key[USHER__REDIS_KEY_MAX];
    size_t size = usher__redis_key(r, d->noun, d->name, "", key);

    usher__redis_conn_begin(r->conn, 5);
    usher__redis_conn_arg_str(r->conn, "HSCAN");
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg_str(r->conn, cursor);
    usher__redis_conn_arg_str(r->conn, "COUNT");
    usher__redis_conn_arg_str(r->conn, PAGE);
}

#define CURSOR 24
static enum usher_status take_fields(struct usher__redis *r, struct usher__redis_dump *d,
                                     char cursor[CURSOR], char message[192])
{
    struct redisReply *reply;
    enum usher_status status = usher__redis_ask(r, &reply, message);

    if (status != USHER_OK)
        return status;
    if (reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[0]->len >= CURSOR || reply->element[1]->type != REDIS_REPLY_ARRAY) {
        freeReplyObject(reply);
        (void)snprintf(message, 192, "redis: malformed reply to HSCAN");
        return USHER_UNAVAILABLE;
    }
    (void)snprintf(cursor, CURSOR, "%s", reply->element[0]->str);
    return pages_add(r, &d->fields, reply) ? USHER_OK : USHER_NOMEM;
}

/* A sorted set, and the beginning of its next page; size 0: no further page. */
struct set {
    const char *suffix;
    struct usher__redis_pages *pages;
    size_t size;
    char from[2 * USHER__REDIS_MEMBER_MAX];
};

static void ask_members(struct usher__redis *r, const struct usher__redis_dump *d,
                        const struct set *set)
{
    char key[USHER__REDIS_KEY_MAX];
    size_t size = usher__redis_key(r, d->noun, d->name, set->suffix, key);

    usher__redis_conn_begin(r->conn, 7);
    usher__redis_conn_arg_str(r->conn, "ZRANGEBYLEX");
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg(r->conn, set->from, set->size);
    usher__redis_conn_arg_str(r->conn, "+");
    usher__redis_conn_arg_str(r->conn, "LIMIT");
    usher__redis_conn_arg_str(r->conn, "0");
    usher__redis_conn_arg_str(r->conn, PAGE);
}

static enum usher_status take_members(struct usher__redis *r, struct set *set, char message[192])
{
    struct redisReply *reply;
    const struct redisReply *last;
    enum usher_status status = usher__redis_ask(r, &reply, message);

    if (status != USHER_OK)
        return status;
    if (reply->elements == 0) {
        freeReplyObject(reply);
        set->size = 0;
        return USHER_OK;
    }
    last = reply->element[reply->elements - 1];
    if (last->type != REDIS_REPLY_STRING || (size_t)last->len >= sizeof set->from) {
        freeReplyObject(reply);
        (void)snprintf(message, 192, "redis: malformed reply to ZRANGEBYLEX");
        return USHER_UNAVAILABLE;
    }
    set->from[0] = '(';
    memcpy(set->from + 1, last->str, (size_t)last->len);
    set->size = 1 + (size_t)last->len;
    return pages_add(r, set->pages, reply) ? USHER_OK : USHER_NOMEM;
}

/* Read all pages of all keys.  The beginning of a page is in the page before, so one page of each
 * key is requested at a time. */
static enum usher_status read_pages(struct usher__redis *r, struct usher__redis_dump *d,
                                    char message[192])
{
    char cursor[CURSOR] = "0";
    struct set sets[] = { { ":index", &d->index, 1, "-" }, { ":held", &d->held, 1, "-" } };
    enum usher_status status = USHER_OK;
    bool fields = true;

    while (status == USHER_OK && (fields || sets[0].size != 0 || sets[1].size != 0)) {
        bool asked[] = { sets[0].size != 0, sets[1].size != 0 };

        if (fields)
            ask_fields(r, d, cursor);
        for (int i = 0; i < 2; i++)
            if (asked[i])
                ask_members(r, d, &sets[i]);
        if (fields) {
            status = take_fields(r, d, cursor, message);
            fields = strcmp(cursor, "0") != 0;
        }
        for (int i = 0; i < 2 && status == USHER_OK; i++)
            if (asked[i])
                status = take_members(r, &sets[i], message);
    }
    if (status == USHER_REFUSED) /* replies are outstanding */
        usher__redis_conn_discard(r->conn);
    return status;
}

static bool same_header(const struct usher__redis_dump *d)
{
    for (size_t i = 0; i < 3; i++) {
        struct usher_text a = usher__redis_text_of(d->header.page[0]->element[i]);
        struct usher_text b = usher__redis_text_of(d->header.page[1]->element[i]);

        if (usher__redis_compare_text(&a, &b) != 0)
            return false;
    }
    return true;
}

void usher__redis_scope_ask(struct usher__redis *r, const struct usher__redis_dump *d)
{
    const struct set index = { ":index", NULL, 1, "-" }, held = { ":held", NULL, 1, "-" };

    ask_header(r, d);
    ask_fields(r, d, "0");
    ask_members(r, d, &index);
    ask_members(r, d, &held);
    ask_header(r, d);
}

enum usher_status usher__redis_scope_take(struct usher__redis *r, struct usher__redis_dump *d,
                                          bool *ret_whole, char message[192])
{
    struct set sets[] = { { ":index", &d->index, 1, "-" }, { ":held", &d->held, 1, "-" } };
    enum usher_status status = take_header(r, d, message), first = status;
    char cursor[CURSOR] = "";

    /* the answers to all are read, also if the user lacks the right to the first key */
    for (int i = 0; i < 4 && (status == USHER_OK || status == USHER_REFUSED); i++) {
        status = i == 0  ? take_fields(r, d, cursor, message)
                 : i < 3 ? take_members(r, &sets[i - 1], message)
                         : take_header(r, d, message);
        first = first == USHER_OK ? status : first;
    }
    *ret_whole = first == USHER_OK && !usher__redis_head_missing(d) && strcmp(cursor, "0") == 0 &&
                 d->index.n > 0 && d->index.page[0]->elements < PAGE_SIZE && d->held.n > 0 &&
                 d->held.page[0]->elements < PAGE_SIZE && same_header(d);
    return status == USHER_OK ? first : status;
}

enum usher_status usher__redis_read_scope(struct usher__redis *r, struct usher__redis_dump *d,
                                          int64_t deadline_ms, char message[192])
{
    for (unsigned tries = 0;; tries++) {
        enum usher_status status = read_header(r, d, message);

        if (status == USHER_OK && usher__redis_head_missing(d))
            return USHER_MISSING;
        if (status == USHER_OK)
            status = read_pages(r, d, message);
        if (status == USHER_OK)
            status = read_header(r, d, message);
        if (status != USHER_OK || same_header(d))
            return status;
        usher__redis_dump_done(r, d);
        if (!usher__redis_pause(r, tries, deadline_ms)) {
            (void)snprintf(message, 192, "redis: the scope changes faster than it can be read");
            return USHER_UNAVAILABLE;
        }
    }
}

enum usher_status usher__redis_read_head(struct usher__redis *r, struct usher__redis_dump *d,
                                         char message[192])
{
    enum usher_status status = read_header(r, d, message);

    return status == USHER_OK && usher__redis_head_missing(d) ? USHER_MISSING : status;
}

static int compare_records(const void *a, const void *b)
{
    const struct usher_record *x = *(const struct usher_record *const *)a;
    const struct usher_record *y = *(const struct usher_record *const *)b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return usher__redis_compare_text(&x->id, &y->id);
}

void usher__redis_records_done(const struct usher__redis *r, struct usher__redis_records *all)
{
    (void)usher__redis_resize(r->alloc, all->record, all->room * sizeof *all->record, 0);
    (void)usher__redis_resize(r->alloc, all->sorted,
                              all->room * sizeof(const struct usher_record *), 0);
}

static bool is_header(const struct redisReply *field)
{
    struct usher_text name = usher__redis_text_of(field);

    return (name.size == 4 &&
            (memcmp(name.data, "head", 4) == 0 || memcmp(name.data, "gaps", 4) == 0)) ||
           (name.size == 8 && memcmp(name.data, "settings", 8) == 0);
}

/* Make the records.  HSCAN may return a field twice. */
static bool records_make(const struct usher__redis *r, const struct usher__redis_dump *d,
                         const char *words, struct usher__redis_records *all)
{
    size_t room = 1, n = 0;

    for (size_t p = 0; p < d->fields.n; p++)
        room += d->fields.page[p]->element[1]->elements / 2;
    memset(all, 0, sizeof *all);
    all->room = room;
    all->record = usher__redis_resize(r->alloc, NULL, 0, room * sizeof *all->record);
    all->sorted =
        usher__redis_resize(r->alloc, NULL, 0, room * sizeof(const struct usher_record *));
    if (all->record == NULL || all->sorted == NULL) {
        usher__redis_records_done(r, all);
        return false;
    }
    for (size_t p = 0; p < d->fields.n; p++) {
        const struct redisReply *page = d->fields.page[p]->element[1];

        for (size_t i = 0; i + 1 < page->elements; i += 2) {
            if (is_header(page->element[i]))
                continue;
            if (usher__redis_record_read(words, page->element[i], page->element[i + 1],
                                         &all->record[n]))
                n++;
            else
                all->odd++;
        }
    }
    for (size_t i = 0; i < n; i++)
        all->sorted[i] = &all->record[i];
    if (n > 1)
        qsort(all->sorted, n, sizeof(const struct usher_record *), compare_records);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_records(&all->sorted[i], &all->sorted[all->n - 1]) != 0)
            all->sorted[all->n++] = all->sorted[i];
    return true;
}

enum usher_status usher__redis_not_understood(const struct usher__redis_dump *d, const char *what,
                                              char message[192])
{
    (void)snprintf(message, 192, "%s %.*s: %s", usher_noun_word(d->noun),
                   (int)(d->name->size > 60 ? 60 : d->name->size), d->name->data, what);
    return USHER_INVALID;
}

const struct usher__redis_tables *usher__redis_tables(struct usher__redis *r, enum usher_noun noun)
{
    if (r->tables == NULL)
        r->tables = usher__redis_resize(r->alloc, NULL, 0, sizeof *r->tables);
    else if (r->tables->noun == noun)
        return r->tables;
    if (r->tables != NULL)
        (void)usher__redis_tables_of(noun, r->tables);
    return r->tables;
}

enum usher_status usher__redis_reading_make(struct usher__redis *r,
                                            const struct usher__redis_dump *d,
                                            struct usher__redis_reading *to, char message[192])
{
    struct usher_text head = usher__redis_text_of(d->header.page[0]->element[0]);
    struct usher_text settings = usher__redis_text_of(d->header.page[0]->element[1]);
    struct usher_text gaps = usher__redis_text_of(d->header.page[0]->element[2]);
    const struct usher__redis_tables *t = usher__redis_tables(r, d->noun);

    if (t == NULL)
        return USHER_NOMEM;
    to->listed = t->listed;
    to->permanent = t->permanent;
    memset(&to->scope, 0, sizeof to->scope);
    to->scope.noun = (uint8_t)d->noun;
    to->scope.name = *d->name;
    if (t->noun != d->noun ||
        strlen(t->words) != (size_t)(USHER_KINDS - 1) * USHER__REDIS_STATES * USHER__REDIS_WORD)
        return usher__redis_not_understood(d, "this library has no tables for it", message);
    if (!usher__redis_head_read(head, strtoll(t->format, NULL, 10), &to->scope))
        return usher__redis_not_understood(d, "its header cannot be read", message);
    if (settings.data != NULL ? !usher__redis_settings_read(settings, &to->scope)
                              : !usher__redis_defaults_read(t->defaults, &to->scope))
        return usher__redis_not_understood(d, "its settings cannot be read", message);
    if (!usher__redis_gaps_read(gaps, &to->scope))
        return usher__redis_not_understood(d, "its gaps cannot be read", message);
    return records_make(r, d, t->words, &to->records) ? USHER_OK : USHER_NOMEM;
}
