/* SPDX-License-Identifier: MIT */
/*
 * scan(): for the audit and the digest.  Finds the scopes with SCAN, reads the hash and the
 * sorted sets of each in pages, and again if the header changed meanwhile, so that what is
 * shown is one moment; then shows the hash as records, the sorted sets as entries.
 *
 * mend(): keeps others out by a mark behind the header (lua/mend.lua), reads a scope in the same
 * way, and puts into the sorted sets what the records should have there and takes out the rest, in
 * steps.
 */
#include "config.h"

#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include <hiredis/hiredis.h>

#include "lua_text.h"
#include "script.h"

struct names {
    struct usher_text *text; /* each with bytes of its own */
    size_t n, room;
};

static void *resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size)
{
    return p == NULL && size == 0 ? NULL : alloc->resize(alloc->payload, p, old, size);
}

static void names_done(const struct usher_allocator *alloc, struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        (void)resize(alloc, (void *)(uintptr_t)names->text[i].data, names->text[i].size, 0);
    (void)resize(alloc, names->text, names->room * sizeof *names->text, 0);
}

static bool names_add(const struct usher_allocator *alloc, struct names *names,
                      const struct usher_text *name)
{
    char *copy;

    if (names->n == names->room) {
        size_t room = names->room * 2 + 64;
        struct usher_text *text =
            resize(alloc, names->text, names->room * sizeof *text, room * sizeof *text);

        if (text == NULL)
            return false;
        names->text = text;
        names->room = room;
    }
    copy = resize(alloc, NULL, 0, name->size);
    if (copy == NULL)
        return false;
    memcpy(copy, name->data, name->size);
    names->text[names->n].data = copy;
    names->text[names->n++].size = name->size;
    return true;
}

static int compare_text(const struct usher_text *a, const struct usher_text *b)
{
    size_t n = a->size < b->size ? a->size : b->size;
    int order = n != 0 ? memcmp(a->data, b->data, n) : 0;

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_names(const void *a, const void *b)
{
    return compare_text(a, b);
}

/* The answer to the oldest command that was begun: an array.  Each has its own time, for nobody
 * knows how many pages there are. */
static enum usher_status ask(struct usher__redis *r, struct redisReply **ret_reply,
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
        freeReplyObject(*ret_reply);
        return USHER_UNAVAILABLE;
    }
    (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
    return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
}

/* The scope that @key is one of the keys of: prefix{scope}:noun, and :index or :held. */
static bool scope_of(const struct usher__redis *r, enum usher_noun noun,
                     const struct redisReply *key, struct usher_text *ret)
{
    static const char *const suffixes[] = { "", ":index", ":held" };
    size_t before = strlen(r->prefix) + 1, size = 0;

    if (key->type != REDIS_REPLY_STRING || (size_t)key->len <= before ||
        memcmp(key->str, r->prefix, before - 1) != 0 || key->str[before - 1] != '{')
        return false;
    for (size_t i = 0; i < 3 && size == 0; i++) {
        char tail[32];
        size_t after =
            (size_t)snprintf(tail, sizeof tail, "}:%s%s", usher_noun_word(noun), suffixes[i]);

        if ((size_t)key->len > before + after &&
            memcmp(key->str + key->len - after, tail, after) == 0)
            size = (size_t)key->len - before - after;
    }
    if (size == 0)
        return false;
    ret->data = key->str + before;
    ret->size = size;
    return size <= USHER_NAME_MAX && memchr(ret->data, '}', size) == NULL;
}

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
                                     struct names *names, char message[192])
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
        status = ask(r, &reply, message);
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

            if (scope_of(r, noun, reply->element[1]->element[i], &name) &&
                !names_add(r->alloc, names, &name))
                status = USHER_NOMEM;
        }
        freeReplyObject(reply);
        if (status != USHER_OK)
            return status;
    } while (strcmp(cursor, "0") != 0);
    if (names->n > 1)
        qsort(names->text, names->n, sizeof *names->text, compare_names);
    return USHER_OK;
}

/* ---- decoding ---------------------------------------------------------------------- */

static struct usher_text text_of(const struct redisReply *reply)
{
    struct usher_text text = { NULL, 0 };

    if (reply->type == REDIS_REPLY_STRING) {
        text.data = reply->str;
        text.size = (size_t)reply->len;
    }
    return text;
}

/* Take @bytes bytes off @text: a number, the highest first. */
static bool take_number(struct usher_text *text, size_t bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if (text->size < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)text->data[i];
    text->data += bytes;
    text->size -= bytes;
    *ret = value;
    return true;
}

/* The same with a sign, of the 7 bytes that numbers have. */
#define NUMBER 7
static bool take_signed(struct usher_text *text, int64_t *ret)
{
    const uint64_t sign = UINT64_C(1) << (8 * NUMBER - 1);
    uint64_t value;

    if (!take_number(text, NUMBER, &value))
        return false;
    *ret = (value & sign) != 0 ? (int64_t)value - (int64_t)(sign << 1) : (int64_t)value;
    return true;
}

/* A text up to a NUL. */
static bool take_name(struct usher_text *text, struct usher_text *ret)
{
    const char *end = text->size != 0 ? memchr(text->data, '\0', text->size) : NULL;

    if (end == NULL || end - text->data > USHER_NAME_MAX)
        return false;
    ret->data = text->data;
    ret->size = (size_t)(end - text->data);
    text->data = end + 1;
    text->size -= ret->size + 1;
    return true;
}

static bool epoch_read(const struct usher_text *text, uint64_t *ret)
{
    uint64_t epoch = 0;

    if (text->size != 16)
        return false;
    for (size_t i = 0; i < 16; i++) {
        char c = text->data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            return false;
        epoch = epoch << 4 | (uint64_t)digit;
    }
    *ret = epoch;
    return true;
}

static bool ints_read(struct usher_text *text, int64_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!take_signed(text, &to[i]))
            return false;
    return true;
}

/* A header is MARK bytes longer while the scope is being mended. */
#define HEAD 157
#define HEAD_DUE (1u + 16 + 2 * NUMBER)
#define MARK 16

static bool is_marked(const struct usher_text *head)
{
    return head->size == HEAD + MARK;
}

/* @known: the format. */
static bool head_read(struct usher_text text, int64_t known, struct usher_scope *s)
{
    struct usher_text epoch;
    uint64_t format, clock;
    int64_t due;

    if (is_marked(&text))
        text.size = HEAD;
    if (!take_number(&text, 1, &format) || (int64_t)format != known || text.size < 16)
        return false;
    epoch.data = text.data;
    epoch.size = 16;
    text.data += 16;
    text.size -= 16;
    if (!epoch_read(&epoch, &s->epoch) || !take_number(&text, NUMBER, &s->version) ||
        !take_number(&text, NUMBER, &clock) || !take_signed(&text, &due) ||
        !take_number(&text, NUMBER, &s->writer) || !ints_read(&text, s->counts, USHER_COUNTS) ||
        text.size != 0)
        return false;
    s->clock_ms = (int64_t)clock;
    s->due_ms = due >= 0 ? due : INT64_MAX;
    return true;
}

/* size 0: none. */
static bool gaps_read(struct usher_text text, struct usher_scope *s)
{
    s->n_gaps = 0;
    while (text.size > 0) {
        struct usher_gap *gap = &s->gaps[s->n_gaps];

        if (s->n_gaps++ == USHER_GAPS || !take_number(&text, NUMBER, &gap->last) ||
            !take_number(&text, NUMBER, &gap->first))
            return false;
    }
    return true;
}

/* {a, b, …}: the settings of a scope that has none stored. */
static bool defaults_read(const char *text, struct usher_scope *s)
{
    if (text == NULL || *text++ != '{')
        return false;
    for (int i = 0; i < USHER_SETTINGS; i++) {
        char *end;

        s->settings[i] = strtoll(text, &end, 10);
        if (end == text)
            return false;
        text = *end == ',' ? end + 1 : end;
    }
    return *text == '}';
}

static bool settings_read(struct usher_text text, struct usher_scope *s)
{
    return ints_read(&text, s->settings, USHER_SETTINGS) && text.size == 0;
}

/* In the byte of the slots: there are more numbers. */
#define MORE 128u

/* The word that a record begins with: @words, as in usher_table(). */
#define WORD 10u
#define STATES 10u
static bool take_word(struct usher_text *text, const char *words, unsigned kind, unsigned state)
{
    if (text->size < WORD || state >= STATES ||
        memcmp(text->data, words + (((size_t)kind - 1) * STATES + state) * WORD, WORD) != 0)
        return false;
    text->data += WORD;
    text->size -= WORD;
    return true;
}

/* A field of the hash as a record. */
static bool record_read(const char *words, const struct redisReply *field,
                        const struct redisReply *value, struct usher_record *r)
{
    struct usher_text name = text_of(field), text = text_of(value);
    uint64_t state, slots, until;

    memset(r, 0, sizeof *r);
    if (name.size < 3 || name.size > USHER_NAME_MAX + 2 || name.data[1] != ':' ||
        name.data[0] < '1' || name.data[0] >= '0' + USHER_KINDS)
        return false;
    r->kind = (uint8_t)(name.data[0] - '0');
    r->id.data = name.data + 2;
    r->id.size = name.size - 2;
    if (text.size <= WORD || !take_word(&text, words, r->kind, (unsigned char)text.data[WORD]) ||
        !take_number(&text, 1, &state) || !take_number(&text, 1, &slots) ||
        !take_number(&text, NUMBER, &r->rank) || !take_number(&text, NUMBER, &r->order) ||
        !take_number(&text, NUMBER, &r->token) || !take_number(&text, NUMBER, &until) ||
        !ints_read(&text, r->n, (slots & MORE) != 0 ? USHER_NUMBERS : 4) ||
        !take_name(&text, &r->owner) || !take_name(&text, &r->group) || text.size > USHER_VALUE_MAX)
        return false;
    r->state = (uint8_t)state;
    r->slots = (uint8_t)(slots & ~(uint64_t)MORE);
    r->until_ms = (int64_t)until;
    if (text.size != 0)
        r->data = text;
    return true;
}

/* A member of the sorted set that stands for a record: KIND, list, position, id. */
static bool entry_read(struct usher_text text, struct usher_entry *e)
{
    char list;

    memset(e, 0, sizeof *e);
    if (text.size < 2 || text.data[0] < '1' || text.data[0] >= '0' + USHER_KINDS)
        return false;
    e->kind = (uint8_t)(text.data[0] - '0');
    list = text.data[1];
    text.data += 2;
    text.size -= 2;
    if (list >= 'a' && list <= 'c') {
        const char *end = memchr(text.data, '\0', text.size);

        if (end == NULL || end == text.data || end - text.data > USHER_NAME_MAX)
            return false;
        e->by.data = text.data;
        e->by.size = (size_t)(end - text.data);
        text.data = end + 1;
        text.size -= e->by.size + 1;
        list = (char)(list - 'a' + '0');
    }
    if (list < '0' || list > '2')
        return false;
    e->slot = (uint8_t)(list - '0');
    if ((e->slot != 2 && !take_number(&text, 7, &e->hi)) || !take_number(&text, 7, &e->order) ||
        text.size == 0 || text.size > USHER_NAME_MAX)
        return false;
    e->id = text;
    return true;
}

/* ---- one scope --------------------------------------------------------------------- */

/* Replies that are kept, because what is shown points into them. */
struct pages {
    struct redisReply **page;
    size_t n, room;
};

static void pages_done(const struct usher__redis *r, struct pages *pages)
{
    for (size_t i = 0; i < pages->n; i++)
        freeReplyObject(pages->page[i]);
    (void)resize(r->alloc, pages->page, pages->room * sizeof(struct redisReply *), 0);
    memset(pages, 0, sizeof *pages);
}

/* Takes @reply in any case. */
static bool pages_add(const struct usher__redis *r, struct pages *pages, struct redisReply *reply)
{
    const size_t each = sizeof(struct redisReply *);

    if (pages->n == pages->room) {
        size_t room = pages->room * 2 + 16;
        struct redisReply **page = resize(r->alloc, pages->page, pages->room * each, room * each);

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

/* A scope as it was read. */
struct dump {
    enum usher_noun noun;
    const struct usher_text *name;
    struct pages header; /* two: before and behind the rest */
    struct pages fields, index, held;
};

static void dump_done(const struct usher__redis *r, struct dump *d)
{
    pages_done(r, &d->header);
    pages_done(r, &d->fields);
    pages_done(r, &d->index);
    pages_done(r, &d->held);
}

#define PAGE "1000"

static enum usher_status read_header(struct usher__redis *r, struct dump *d, char message[192])
{
    char key[USHER__REDIS_KEY_MAX];
    size_t size = usher__redis_key(r, d->noun, d->name, "", key);
    struct redisReply *reply;
    enum usher_status status;

    usher__redis_conn_begin(r->conn, 5);
    usher__redis_conn_arg_str(r->conn, "HMGET");
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg_str(r->conn, "head");
    usher__redis_conn_arg_str(r->conn, "settings");
    usher__redis_conn_arg_str(r->conn, "gaps");
    status = ask(r, &reply, message);
    if (status != USHER_OK)
        return status;
    if (reply->elements != 3) {
        freeReplyObject(reply);
        (void)snprintf(message, 192, "redis: HMGET is not understood");
        return USHER_UNAVAILABLE;
    }
    return pages_add(r, &d->header, reply) ? USHER_OK : USHER_NOMEM;
}

static void ask_fields(struct usher__redis *r, const struct dump *d, const char *cursor)
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
static enum usher_status take_fields(struct usher__redis *r, struct dump *d, char cursor[CURSOR],
                                     char message[192])
{
    struct redisReply *reply;
    enum usher_status status = ask(r, &reply, message);

    if (status != USHER_OK)
        return status;
    if (reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[0]->len >= CURSOR || reply->element[1]->type != REDIS_REPLY_ARRAY) {
        freeReplyObject(reply);
        (void)snprintf(message, 192, "redis: HSCAN is not understood");
        return USHER_UNAVAILABLE;
    }
    (void)snprintf(cursor, CURSOR, "%s", reply->element[0]->str);
    return pages_add(r, &d->fields, reply) ? USHER_OK : USHER_NOMEM;
}

/* A sorted set, and where its next page begins; size 0: there is none behind the last one. */
struct set {
    const char *suffix;
    struct pages *pages;
    size_t size;
    char from[2 * USHER__REDIS_MEMBER_MAX];
};

static void ask_members(struct usher__redis *r, const struct dump *d, const struct set *set)
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
    enum usher_status status = ask(r, &reply, message);

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
        (void)snprintf(message, 192, "redis: ZRANGEBYLEX is not understood");
        return USHER_UNAVAILABLE;
    }
    set->from[0] = '(';
    memcpy(set->from + 1, last->str, (size_t)last->len);
    set->size = 1 + (size_t)last->len;
    return pages_add(r, set->pages, reply) ? USHER_OK : USHER_NOMEM;
}

/* All pages of all keys; what to ask for next is in the page before, so one of each at a time. */
static enum usher_status read_pages(struct usher__redis *r, struct dump *d, char message[192])
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
    return status;
}

static bool same_header(const struct dump *d)
{
    for (size_t i = 0; i < 3; i++) {
        struct usher_text a = text_of(d->header.page[0]->element[i]);
        struct usher_text b = text_of(d->header.page[1]->element[i]);

        if (compare_text(&a, &b) != 0)
            return false;
    }
    return true;
}

/* One moment of a scope.  Again while somebody writes and there is time. */
static enum usher_status read_scope(struct usher__redis *r, struct dump *d, int64_t deadline_ms,
                                    char message[192])
{
    for (unsigned tries = 0;; tries++) {
        enum usher_status status = read_header(r, d, message);

        if (status == USHER_OK && d->header.page[0]->element[0]->type == REDIS_REPLY_NIL)
            return USHER_MISSING;
        if (status == USHER_OK)
            status = read_pages(r, d, message);
        if (status == USHER_OK)
            status = read_header(r, d, message);
        if (status != USHER_OK || same_header(d))
            return status;
        dump_done(r, d);
        if (!usher__redis_pause(r, tries, deadline_ms)) {
            (void)snprintf(message, 192, "redis: the scope is written to all the time");
            return USHER_UNAVAILABLE;
        }
    }
}

static int compare_records(const void *a, const void *b)
{
    const struct usher_record *x = *(const struct usher_record *const *)a;
    const struct usher_record *y = *(const struct usher_record *const *)b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return compare_text(&x->id, &y->id);
}

/* An entry of no known list: how the audit is told that something is not understood. */
static enum usher_status strange(usher_scan_fn *fn, void *payload)
{
    struct usher_entry e;
    struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };

    memset(&e, 0, sizeof e);
    return fn(payload, &item);
}

struct records {
    struct usher_record *record;        /* in any order */
    const struct usher_record **sorted; /* in order of kind and id, each once */
    size_t n, room;
    size_t odd; /* fields that are not understood */
};

static void records_done(const struct usher__redis *r, struct records *all)
{
    (void)resize(r->alloc, all->record, all->room * sizeof *all->record, 0);
    (void)resize(r->alloc, all->sorted, all->room * sizeof(const struct usher_record *), 0);
}

static bool is_header(const struct redisReply *field)
{
    struct usher_text name = text_of(field);

    return (name.size == 4 &&
            (memcmp(name.data, "head", 4) == 0 || memcmp(name.data, "gaps", 4) == 0)) ||
           (name.size == 8 && memcmp(name.data, "settings", 8) == 0);
}

/* HSCAN may show a field twice. */
static bool records_make(const struct usher__redis *r, const struct dump *d, const char *words,
                         struct records *all)
{
    size_t room = 1, n = 0;

    for (size_t p = 0; p < d->fields.n; p++)
        room += d->fields.page[p]->element[1]->elements / 2;
    memset(all, 0, sizeof *all);
    all->room = room;
    all->record = resize(r->alloc, NULL, 0, room * sizeof *all->record);
    all->sorted = resize(r->alloc, NULL, 0, room * sizeof(const struct usher_record *));
    if (all->record == NULL || all->sorted == NULL) {
        records_done(r, all);
        return false;
    }
    for (size_t p = 0; p < d->fields.n; p++) {
        const struct redisReply *page = d->fields.page[p]->element[1];

        for (size_t i = 0; i + 1 < page->elements; i += 2) {
            if (is_header(page->element[i]))
                continue;
            if (record_read(words, page->element[i], page->element[i + 1], &all->record[n]))
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

/* Those of listed kinds stand in a list by id; it has no counterpart among the slots, so it
 * is compared here: members come in byte order, as the records do. */
struct ids {
    const struct records *records;
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
    return member->data[0] == '0' + r->kind && compare_text(&r->id, &id) == 0;
}

static enum usher_status wrong(const char *what, usher_scan_fn *fn, void *payload)
{
    const struct usher_item item = { .kind = USHER_ITEM_FAULT, .fault = what };

    return fn(payload, &item);
}

/* The members of one sorted set, @name: of lists from @least to @most, and a permanent one. */
static enum usher_status show_set(const char *name, const struct pages *pages, unsigned least,
                                  unsigned most, const char *permanent, struct ids *ids,
                                  usher_scan_fn *fn, void *payload)
{
    enum usher_status status = USHER_OK;
    bool there = false, same = true;

    for (size_t p = 0; p < pages->n; p++) {
        const struct redisReply *page = pages->page[p];

        for (size_t i = 0; i < page->elements && status == USHER_OK; i++) {
            struct usher_text text = text_of(page->element[i]);
            struct usher_entry e;
            struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };

            if (text.data == NULL)
                status = strange(fn, payload);
            else if (text.size == strlen(permanent) && memcmp(text.data, permanent, text.size) == 0)
                there = true;
            else if (ids != NULL && text.size > 2 && text.data[1] == 'n')
                same = ids_next(ids, &text) && same;
            else if (entry_read(text, &e) && e.slot >= least && e.slot <= most)
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

static enum usher_status not_understood(const struct dump *d, const char *what, char message[192])
{
    (void)snprintf(message, 192, "%s %.*s: %s", usher_noun_word(d->noun),
                   (int)(d->name->size > 60 ? 60 : d->name->size), d->name->data, what);
    return USHER_INVALID;
}

/* What a scope is read with, and what was read. */
struct reading {
    struct usher_scope scope;
    struct records records;
    char listed[USHER__REDIS_CONSTANT_MAX], permanent[USHER__REDIS_CONSTANT_MAX];
};

/* With OK there are records to be given back. */
static enum usher_status reading_make(const struct usher__redis *r, const struct dump *d,
                                      struct reading *to, char message[192])
{
    struct usher_text head = text_of(d->header.page[0]->element[0]);
    struct usher_text settings = text_of(d->header.page[0]->element[1]);
    struct usher_text gaps = text_of(d->header.page[0]->element[2]);
    char format[USHER__REDIS_CONSTANT_MAX], defaults[USHER__REDIS_CONSTANT_MAX];
    char words[USHER__REDIS_CONSTANT_MAX];
    const char *noun = usher_noun_word(d->noun);

    memset(&to->scope, 0, sizeof to->scope);
    to->scope.noun = (uint8_t)d->noun;
    to->scope.name = *d->name;
    if (!usher__redis_constant(noun, "FORMAT", format) ||
        !usher__redis_constant(noun, "PERMANENT", to->permanent) ||
        !usher__redis_constant(noun, "WORDS", words) ||
        strlen(words) != (size_t)(USHER_KINDS - 1) * STATES * WORD ||
        !usher__redis_constant(noun, "DEFAULTS", defaults) ||
        !usher__redis_constant(noun, "LISTED", to->listed))
        return not_understood(d, "its tables are not known", message);
    if (!head_read(head, strtoll(format, NULL, 10), &to->scope))
        return not_understood(d, "its header is not understood", message);
    if (settings.data != NULL ? !settings_read(settings, &to->scope)
                              : !defaults_read(defaults, &to->scope))
        return not_understood(d, "its settings are not understood", message);
    if (!gaps_read(gaps, &to->scope))
        return not_understood(d, "its gaps are not understood", message);
    return records_make(r, d, words, &to->records) ? USHER_OK : USHER_NOMEM;
}

static enum usher_status show_records(const struct reading *from, usher_scan_fn *fn, void *payload)
{
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &from->scope };
    enum usher_status status = fn(payload, &item);

    for (size_t i = 0; i < from->records.n && status == USHER_OK; i++) {
        struct usher_item shown = { .kind = USHER_ITEM_RECORD, .record = from->records.sorted[i] };

        status = fn(payload, &shown);
    }
    return status;
}

static enum usher_status show_scope(struct usher__redis *r, const struct dump *d, usher_scan_fn *fn,
                                    void *payload, char message[192])
{
    struct usher_text head = text_of(d->header.page[0]->element[0]);
    struct reading from;
    struct ids ids = { &from.records, from.listed, 0 };
    enum usher_status status = reading_make(r, d, &from, message);

    if (status != USHER_OK)
        return status;
    status = show_records(&from, fn, payload);
    if (status == USHER_OK && is_marked(&head))
        status = wrong("it is being mended, or that was broken off", fn, payload);
    while (from.records.odd-- > 0 && status == USHER_OK)
        status = strange(fn, payload);
    if (status == USHER_OK)
        status = show_set("index", &d->index, 0, 0, "!", &ids, fn, payload);
    if (status == USHER_OK)
        status = show_set("held", &d->held, 1, 2, from.permanent, NULL, fn, payload);
    records_done(r, &from.records);
    return status;
}

/* ---- mending ------------------------------------------------------------------------ */

/* A step of lua/mend.lua: begun here, to be followed by @more arguments. */
static void step_begin(struct usher__redis *r, const char sha[41], const struct dump *d,
                       const char *op, const char *mark, unsigned more)
{
    static const char *const suffixes[] = { "", ":index", ":held" };

    usher__redis_conn_begin(r->conn, 8 + more);
    usher__redis_conn_arg_str(r->conn, "EVALSHA");
    usher__redis_conn_arg(r->conn, sha, 40);
    usher__redis_conn_arg_str(r->conn, "3");
    for (int i = 0; i < 3; i++) {
        char key[USHER__REDIS_KEY_MAX];
        size_t size = usher__redis_key(r, d->noun, d->name, suffixes[i], key);

        usher__redis_conn_arg(r->conn, key, size);
    }
    usher__redis_conn_arg_str(r->conn, op);
    usher__redis_conn_arg(r->conn, mark, MARK);
}

/* Its answer: @n integers, the others 0. */
static enum usher_status step_end(struct usher__redis *r, long long *ret, size_t n,
                                  char message[192])
{
    struct redisReply *reply;
    enum usher_status status = ask(r, &reply, message);

    if (status != USHER_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        ret[i] = i < reply->elements && reply->element[i]->type == REDIS_REPLY_INTEGER
                     ? reply->element[i]->integer
                     : 0;
    freeReplyObject(reply);
    return USHER_OK;
}

/* Have the server know lua/mend.lua. */
static enum usher_status load_steps(struct usher__redis *r, char sha[41], char message[192])
{
    const struct usher__redis_lua_text *t = usher__redis_lua_texts;
    struct redisReply *reply;
    enum usher_status status;

    while (strcmp(t->name, "mend") != 0)
        t++;
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "SCRIPT");
    usher__redis_conn_arg_str(r->conn, "LOAD");
    usher__redis_conn_arg_str(r->conn, t->text);
    status = usher__redis_conn_flush(r->conn);
    if (status == USHER_OK)
        status = usher__redis_conn_read(r->conn, usher__redis_clock_ms() + r->patience_ms, &reply);
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
        return status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
    }
    if (reply->type == REDIS_REPLY_STRING && reply->len == 40) {
        memcpy(sha, reply->str, 41);
    } else {
        (void)snprintf(message, 192, "%s", usher__redis_conn_explain(r->conn, reply));
        status = USHER_UNAVAILABLE;
    }
    freeReplyObject(reply);
    return status;
}

static const char no_mark[] = "................";

/* There is no header.  Asked by a script: for one moment of all three keys. */
static enum usher_status show_rest(struct usher__redis *r, const struct dump *d, usher_scan_fn *fn,
                                   void *payload, char message[192])
{
    const struct usher_scope scope = { .noun = (uint8_t)d->noun, .name = *d->name };
    struct usher_item item = { .kind = USHER_ITEM_FAULT, .scope = &scope };
    long long there[4] = { 0 };
    char sha[41];
    enum usher_status status = load_steps(r, sha, message);

    if (status == USHER_OK) {
        step_begin(r, sha, d, "look", no_mark, 0);
        status = step_end(r, there, 4, message);
    }
    if (status != USHER_OK || there[3] != 0 || there[0] + there[1] + there[2] == 0)
        return status;
    item.fault = there[0] != 0 ? "its header is gone"
                               : "its hash is gone, with all that was in it; lists are left";
    return fn(payload, &item);
}

/* Members of a sorted set, each with bytes of its own. */
static void number_put(char **at, uint64_t value)
{
    for (int i = NUMBER - 1; i >= 0; i--)
        *(*at)++ = (char)(value >> (8 * i) & 0xff);
}

static bool member_add(const struct usher__redis *r, struct names *set, unsigned kind, char list,
                       const struct usher_text *by, const uint64_t *place, size_t places,
                       const struct usher_text *id)
{
    char bytes[USHER__REDIS_MEMBER_MAX], *at = bytes;
    struct usher_text member = { bytes, 0 };

    *at++ = (char)('0' + kind);
    *at++ = list;
    if (by != NULL) {
        memcpy(at, by->data, by->size);
        at += by->size;
        *at++ = '\0';
    }
    for (size_t i = 0; i < places; i++)
        number_put(&at, place[i]);
    memcpy(at, id->data, id->size);
    member.size = (size_t)(at - bytes) + id->size;
    return names_add(r->alloc, set, &member);
}

/* Where @m stands in slot @slot: in the list of all, and in that of its text. */
static bool members_of_slot(const struct usher__redis *r, struct names *set,
                            const struct usher_record *m, unsigned slot)
{
    const struct usher_text *by = slot == 2 ? &m->owner : &m->group;
    const uint64_t place[] = { slot == 0 ? m->rank : (uint64_t)m->until_ms, m->order };
    const uint64_t *from = slot == 2 ? place + 1 : place;
    size_t n = slot == 2 ? 1 : 2;

    if ((m->slots >> slot & 1u) == 0)
        return true;
    return member_add(r, set, m->kind, (char)('0' + slot), NULL, from, n, &m->id) &&
           (by->size == 0 || member_add(r, set, m->kind, (char)('a' + slot), by, from, n, &m->id));
}

/* What should be in the two sorted sets. */
static bool members_make(const struct usher__redis *r, const struct reading *from,
                         struct names sets[2])
{
    struct usher_text mark = { "!", 1 }, permanent = { from->permanent, strlen(from->permanent) };
    bool good = names_add(r->alloc, &sets[0], &mark) && names_add(r->alloc, &sets[1], &permanent);

    for (size_t i = 0; i < from->records.n && good; i++) {
        const struct usher_record *m = from->records.sorted[i];

        good = members_of_slot(r, &sets[0], m, 0) && members_of_slot(r, &sets[1], m, 1) &&
               members_of_slot(r, &sets[1], m, 2) &&
               (strchr(from->listed, '0' + m->kind) == NULL ||
                member_add(r, &sets[0], m->kind, 'n', NULL, NULL, 0, &m->id));
    }
    for (int i = 0; i < 2 && good; i++)
        qsort(sets[i].text, sets[i].n, sizeof *sets[i].text, compare_names);
    return good;
}

/* What is there; the texts are those of the pages. */
static bool members_there(const struct usher__redis *r, const struct pages *pages,
                          struct usher_text **ret, size_t *ret_n)
{
    size_t n = 0;

    for (size_t p = 0; p < pages->n; p++)
        n += pages->page[p]->elements;
    *ret_n = n;
    *ret = resize(r->alloc, NULL, 0, (n + 1) * sizeof **ret);
    if (*ret == NULL)
        return false;
    n = 0;
    for (size_t p = 0; p < pages->n; p++)
        for (size_t i = 0; i < pages->page[p]->elements; i++)
            (*ret)[n++] = text_of(pages->page[p]->element[i]);
    if (n > 1)
        qsort(*ret, n, sizeof **ret, compare_names);
    return true;
}

/* One who mends a scope. */
struct mend {
    struct usher__redis *r;
    const struct dump *d;
    const char *sha, *mark;
    unsigned long long in, out; /* members */
    char *message;
};

#define STEP_MAX 1000

/* ZADD or ZREM those of @text. */
static enum usher_status put_step(struct mend *m, int set, bool add, const struct usher_text *text,
                                  size_t n)
{
    struct usher__redis *r = m->r;
    long long done = 0;
    enum usher_status status;

    if (n == 0)
        return USHER_OK;
    step_begin(r, m->sha, m->d, "put", m->mark, (unsigned)(2 + (add ? 2 : 1) * n));
    usher__redis_conn_arg_str(r->conn, set == 0 ? "2" : "3");
    usher__redis_conn_arg_str(r->conn, add ? "ZADD" : "ZREM");
    for (size_t i = 0; i < n; i++) {
        if (add)
            usher__redis_conn_arg_str(r->conn, "0");
        usher__redis_conn_arg(r->conn, text[i].data, text[i].size);
    }
    status = step_end(r, &done, 1, m->message);
    if (status == USHER_OK && done == 0) {
        (void)snprintf(m->message, 192, "others have mended or torn it meanwhile");
        return USHER_UNAVAILABLE;
    }
    return status;
}

/* Make what is @there what should be: both in order. */
static enum usher_status put_right(struct mend *m, int set, const struct names *should,
                                   const struct usher_text *there, size_t n)
{
    struct usher_text in[STEP_MAX], out[STEP_MAX];
    size_t i = 0, k = 0, n_in = 0, n_out = 0;
    enum usher_status status = USHER_OK;

    while (status == USHER_OK && (i < should->n || k < n)) {
        int order = i == should->n ? 1 : k == n ? -1 : compare_text(&should->text[i], &there[k]);

        if (order < 0)
            in[n_in++] = should->text[i];
        else if (order > 0)
            out[n_out++] = there[k];
        i += order <= 0;
        k += order >= 0;
        m->in += order < 0;
        m->out += order > 0;
        if (n_in == STEP_MAX) {
            status = put_step(m, set, true, in, n_in);
            n_in = 0;
        }
        if (n_out == STEP_MAX && status == USHER_OK) {
            status = put_step(m, set, false, out, n_out);
            n_out = 0;
        }
    }
    if (status == USHER_OK)
        status = put_step(m, set, true, in, n_in);
    return status == USHER_OK ? put_step(m, set, false, out, n_out) : status;
}

/* The header of before with the counts and the due time of @s, and without a mark. */
static enum usher_status put_header(struct mend *m, const struct usher_scope *s)
{
    struct usher_text head = text_of(m->d->header.page[0]->element[0]);
    char bytes[HEAD], *at = bytes + HEAD_DUE;
    long long done = 0;
    enum usher_status status;

    if (head.data == NULL || head.size < HEAD)
        return not_understood(m->d, "its header is not understood", m->message);
    memcpy(bytes, head.data, HEAD);
    number_put(&at, s->due_ms == INT64_MAX ? UINT64_MAX : (uint64_t)s->due_ms);
    at += NUMBER; /* the writer */
    for (size_t i = 0; i < USHER_COUNTS; i++)
        number_put(&at, (uint64_t)s->counts[i]);
    step_begin(m->r, m->sha, m->d, "end", m->mark, 1);
    usher__redis_conn_arg(m->r->conn, bytes, HEAD);
    status = step_end(m->r, &done, 1, m->message);
    if (status == USHER_OK && done == 0) {
        (void)snprintf(m->message, 192, "others have mended or torn it meanwhile");
        return USHER_UNAVAILABLE;
    }
    return status;
}

/* Behind the mark: read it all, and put it right. */
static enum usher_status mend_marked(struct mend *m, struct dump *d, usher_scan_fn *fn,
                                     usher_mend_fn *header, void *payload, int64_t deadline_ms)
{
    struct names should[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
    struct reading from;
    enum usher_status status = read_scope(m->r, d, deadline_ms, m->message);

    if (status == USHER_MISSING) {
        (void)snprintf(m->message, 192, "it is gone");
        return USHER_UNAVAILABLE;
    }
    if (status == USHER_OK)
        status = reading_make(m->r, d, &from, m->message);
    if (status != USHER_OK)
        return status;
    status = show_records(&from, fn, payload);
    if (status == USHER_OK) {
        header(payload, &from.scope);
        if (!members_make(m->r, &from, should))
            status = USHER_NOMEM;
    }
    for (int i = 0; i < 2 && status == USHER_OK; i++) {
        struct usher_text *there;
        size_t n;

        if (!members_there(m->r, i == 0 ? &d->index : &d->held, &there, &n)) {
            status = USHER_NOMEM;
            break;
        }
        status = put_right(m, i, &should[i], there, n);
        (void)resize(m->r->alloc, there, (n + 1) * sizeof *there, 0);
    }
    if (status == USHER_OK)
        status = put_header(m, &from.scope);
    names_done(m->r->alloc, &should[0]);
    names_done(m->r->alloc, &should[1]);
    records_done(m->r, &from.records);
    return status;
}

static enum usher_status drop_rest(struct mend *m)
{
    long long gone = 0;
    enum usher_status status;

    step_begin(m->r, m->sha, m->d, "drop", no_mark, 0);
    status = step_end(m->r, &gone, 1, m->message);
    if (status == USHER_OK && gone == 0) {
        (void)snprintf(m->message, 192, "it has no header that is understood");
        return USHER_UNAVAILABLE;
    }
    if (status == USHER_OK)
        (void)snprintf(m->message, 192,
                       "the scope is lost: its hash is gone, and what was left of its lists was "
                       "removed");
    return status;
}

static enum usher_status mend(struct usher__redis *r, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, usher_mend_fn *header, void *payload,
                              char message[192])
{
    struct dump d = { .noun = noun, .name = scope };
    char sha[41], mark[MARK + 1], permanent[USHER__REDIS_CONSTANT_MAX];
    struct mend m = { .r = r, .d = &d, .sha = sha, .mark = mark, .message = message };
    uint64_t random = (uint64_t)usher__redis_clock_ms() ^ (uint64_t)(uintptr_t)&d;
    long long was[4] = { 0 };
    enum usher_status status = load_steps(r, sha, message);

    if (status != USHER_OK)
        return status;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random *= UINT64_C(0x9e3779b97f4a7c15);
    (void)snprintf(mark, sizeof mark, "%016" PRIx64, random);
    if (!usher__redis_constant(usher_noun_word(noun), "PERMANENT", permanent))
        return not_understood(&d, "its tables are not known", message);
    step_begin(r, sha, &d, "begin", mark, 1);
    usher__redis_conn_arg_str(r->conn, permanent);
    status = step_end(r, was, 4, message);
    if (status == USHER_OK && was[0] == 0)
        return drop_rest(&m);
    if (status == USHER_OK)
        status = mend_marked(&m, &d, fn, header, payload, deadline_ms);
    dump_done(r, &d);
    if (status == USHER_OK)
        (void)snprintf(message, 192, "mended%s%s: %llu entries put into the lists, %llu taken out",
                       was[1] == 0 ? ", :index was gone" : "",
                       was[2] == 0 ? ", :held was gone" : "", m.in + (unsigned long long)was[3],
                       m.out);
    return status;
}

/* ---- many ---------------------------------------------------------------------------- */

static enum usher_status scan_scope(struct usher__redis *r, enum usher_noun noun,
                                    const struct usher_text *name, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    struct dump d = { .noun = noun, .name = name };
    enum usher_status status = read_scope(r, &d, deadline_ms, message);

    if (status == USHER_OK)
        status = show_scope(r, &d, fn, payload, message);
    else if (status == USHER_MISSING) /* gone meanwhile, or never there, or torn */
        status = show_rest(r, &d, fn, payload, message);
    dump_done(r, &d);
    return status;
}

static enum usher_status scan_noun(struct usher__redis *r, enum usher_noun noun,
                                   int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                   char message[192])
{
    struct names names = { NULL, 0, 0 };
    enum usher_status status = find_scopes(r, noun, &names, message);

    for (size_t i = 0; i < names.n && status == USHER_OK; i++)
        if (i == 0 || compare_text(&names.text[i], &names.text[i - 1]) != 0)
            status = scan_scope(r, noun, &names.text[i], deadline_ms, fn, payload, message);
    names_done(r->alloc, &names);
    return status;
}

/* A connection of its own: others go on executing commands meanwhile. */
static enum usher_status own_open(struct usher_store *s, int64_t deadline_ms,
                                  struct usher__redis **ret, char message[192])
{
    const struct usher__redis *r = ((const struct usher__redis_store *)s)->lane[0];
    struct usher__redis *own = resize(r->alloc, NULL, 0, sizeof *own);
    enum usher_status status;

    if (own == NULL)
        return USHER_NOMEM;
    memset(own, 0, sizeof *own);
    own->alloc = r->alloc;
    own->random = (uint64_t)deadline_ms;
    own->patience_ms = deadline_ms - usher__redis_clock_ms();
    memcpy(own->prefix, r->prefix, sizeof own->prefix);
    status = usher__redis_conn_open(own->alloc, &r->options, &own->conn);
    if (status != USHER_OK) {
        (void)resize(r->alloc, own, sizeof *own, 0);
        return status;
    }
    for (unsigned tries = 0;; tries++) {
        status = usher__redis_ready(own, deadline_ms);
        if (status == USHER_OK || !usher__redis_pause(own, tries, deadline_ms))
            break;
    }
    if (status != USHER_OK)
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(own->conn));
    *ret = own;
    return status;
}

static void own_close(struct usher__redis *own)
{
    if (own == NULL)
        return;
    usher__redis_conn_close(own->conn);
    (void)resize(own->alloc, own, sizeof *own, 0);
}

enum usher_status usher__redis_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    struct usher__redis *r = NULL;
    enum usher_status status = own_open(s, deadline_ms, &r, message);

    for (unsigned n = 1; n < USHER__REDIS_NOUNS && status == USHER_OK; n++) {
        if (((unsigned)noun != 0 && n != (unsigned)noun) ||
            usher_noun_word((enum usher_noun)n)[0] == '?')
            continue;
        if (scope != NULL)
            status = scan_scope(r, (enum usher_noun)n, scope, deadline_ms, fn, payload, message);
        else
            status = scan_noun(r, (enum usher_noun)n, deadline_ms, fn, payload, message);
    }
    own_close(r);
    return status;
}

enum usher_status usher__redis_mend(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, usher_mend_fn *header, void *payload,
                                    char message[192])
{
    struct usher__redis *r = NULL;
    enum usher_status status = own_open(s, deadline_ms, &r, message);

    if (status == USHER_OK)
        status = mend(r, noun, scope, deadline_ms, fn, header, payload, message);
    own_close(r);
    return status;
}
