/* SPDX-License-Identifier: MIT */
/*
 * scan(): for the audit and the digest.  Finds the pools with SCAN, has the script dump each
 * (one moment, but all of it at once: meant for people, not for hot paths), and shows the
 * hash as records, the sorted set as entries.
 */
#include "config.h"

#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

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

/* One command, one answer that is an array. */
static enum usher_status ask(struct usher__redis *r, int64_t deadline_ms,
                             struct redisReply **ret_reply, char message[192])
{
    enum usher_status status = usher__redis_conn_flush(r->conn);

    if (status == USHER_OK)
        status = usher__redis_conn_read(r->conn, deadline_ms, ret_reply);
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

/* The pool that @key is the hash of: prefix{pool}:number. */
static bool pool_of(const struct usher__redis *r, const struct redisReply *key,
                    struct usher_text *ret)
{
    static const char tail[] = "}:number";
    size_t before = strlen(r->prefix) + 1, after = sizeof tail - 1;
    size_t size;

    if (key->type != REDIS_REPLY_STRING || (size_t)key->len <= before + after ||
        memcmp(key->str, r->prefix, before - 1) != 0 || key->str[before - 1] != '{' ||
        memcmp(key->str + key->len - after, tail, after) != 0)
        return false;
    size = (size_t)key->len - before - after;
    ret->data = key->str + before;
    ret->size = size;
    return size <= USHER_NAME_MAX && memchr(ret->data, '}', size) == NULL;
}

/* prefix{*}:number, the prefix taken as it stands. */
static size_t pattern(const struct usher__redis *r, char *to)
{
    size_t n = 0;

    for (const char *p = r->prefix; *p != '\0'; p++) {
        if (strchr("*?[]\\^-", *p) != NULL)
            to[n++] = '\\';
        to[n++] = *p;
    }
    for (const char *p = "{*}:number"; *p != '\0'; p++)
        to[n++] = *p;
    return n;
}

static enum usher_status find_pools(struct usher__redis *r, int64_t deadline_ms,
                                    struct names *names, char message[192])
{
    char match[2 * USHER__REDIS_PREFIX_MAX + 16], cursor[24] = "0";
    size_t size = pattern(r, match);

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
        status = ask(r, deadline_ms, &reply, message);
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

            if (pool_of(r, reply->element[1]->element[i], &name) &&
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

static bool head(struct usher_text text, struct usher_scope *s)
{
    struct usher_text epoch;
    int64_t format, version, due;

    if (!usher__redis_take_int(&text, &format) || format != 1 ||
        !usher__redis_take_word(&text, &epoch) || epoch.size != 16 ||
        !usher__redis_take_int(&text, &version) || version < 0 ||
        !usher__redis_take_int(&text, &s->clock_ms) || !usher__redis_take_int(&text, &due))
        return false;
    s->epoch = 0;
    for (size_t i = 0; i < 16; i++) {
        char c = epoch.data[i];

        s->epoch = s->epoch << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    s->version = (uint64_t)version;
    s->due_ms = due >= 0 ? due : INT64_MAX;
    memset(s->counts, 0, sizeof s->counts);
    for (int i = 1; i < USHER_COUNTS; i++)
        if (!usher__redis_take_int(&text, &s->counts[i]))
            return false;
    return true;
}

static bool settings(struct usher_text text, struct usher_scope *s)
{
    static const int64_t defaults[] = { 0, 0, 0, 0, 0, 0, INT64_C(604800000), 10000, 10000 };
    size_t n = sizeof defaults / sizeof *defaults;

    memset(s->settings, 0, sizeof s->settings);
    memcpy(s->settings, defaults, sizeof defaults);
    if (text.size == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (!usher__redis_take_int(&text, &s->settings[i]))
            return false;
    return true;
}

static bool cut(struct usher_text *text, struct usher_text *ret)
{
    const char *tab = text->size != 0 ? memchr(text->data, '\t', text->size) : NULL;

    if (tab == NULL)
        return false;
    ret->data = text->data;
    ret->size = (size_t)(tab - text->data);
    text->data = tab + 1;
    text->size -= ret->size + 1;
    return true;
}

static bool take_unsigned(struct usher_text *text, uint64_t *ret)
{
    int64_t value;

    if (!usher__redis_take_int(text, &value) || value < 0)
        return false;
    *ret = (uint64_t)value;
    return true;
}

static bool number(struct usher_text text, struct usher_record *r)
{
    struct usher_text words, state;
    int code;

    if (!cut(&text, &words) || !cut(&text, &r->owner) || !usher__redis_take_word(&words, &state) ||
        (code = usher__redis_state(&state)) < 0 || !take_unsigned(&words, &r->token) ||
        !usher__redis_take_int(&words, &r->until_ms) || !take_unsigned(&words, &r->order) ||
        !take_unsigned(&words, &r->rank))
        return false;
    for (int i = 0; i < 4; i++)
        if (!usher__redis_take_int(&words, &r->n[i]))
            return false;
    r->group = text;
    r->state = (uint8_t)code;
    r->slots = 0;
    if (code == USHER_NUMBER_IDLE_UP && r->until_ms == 0)
        r->slots |= 1u;
    if (r->until_ms != 0)
        r->slots |= 2u;
    if (code == USHER_NUMBER_BUSY_UP || code == USHER_NUMBER_BUSY_DOWN)
        r->slots |= 4u;
    return r->owner.size <= USHER_NAME_MAX && r->group.size <= USHER_NAME_MAX;
}

static bool remembered(struct usher_text text, struct usher_record *r, struct usher_text *rest)
{
    struct usher_text words;

    r->slots = 1u;
    *rest = text;
    return cut(rest, &words) && take_unsigned(&words, &r->order) &&
           usher__redis_take_int(&words, &r->until_ms);
}

/* A field of the hash: 1 a record, 0 none, -1 not understood. */
static int record(const struct redisReply *field, const struct redisReply *value,
                  struct usher_record *r)
{
    struct usher_text name = text_of(field), text = text_of(value);
    bool good;

    if ((name.size == 4 && memcmp(name.data, "head", 4) == 0) ||
        (name.size == 8 && memcmp(name.data, "settings", 8) == 0))
        return 0;
    memset(r, 0, sizeof *r);
    if (name.size < 3 || name.size > USHER_NAME_MAX + 2 || name.data[1] != ':')
        return -1;
    r->id.data = name.data + 2;
    r->id.size = name.size - 2;
    switch (name.data[0]) {
    case 'n':
        r->kind = USHER_KIND_NUMBER;
        good = number(text, r);
        break;
    case 'g':
        r->kind = USHER_KIND_GROUP;
        good = usher__redis_take_int(&text, &r->n[0]) && usher__redis_take_int(&text, &r->n[1]) &&
               usher__redis_take_int(&text, &r->n[2]);
        break;
    case 's':
        r->kind = USHER_KIND_STICKY;
        good = remembered(text, r, &r->owner) && r->owner.size <= USHER_NAME_MAX;
        break;
    case 'r':
        r->kind = USHER_KIND_REQUEST;
        good = remembered(text, r, &r->data);
        break;
    default:
        good = false;
        break;
    }
    return good ? 1 : -1;
}

/* Take @digits decimal digits off @text. */
static bool take_digits(struct usher_text *text, size_t digits, uint64_t *ret)
{
    uint64_t value = 0;

    if (text->size < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text->data[i] - '0');
    }
    text->data += digits;
    text->size -= digits;
    *ret = value;
    return true;
}

/* A member of the sorted set that stands for a record; false: not understood. */
static bool entry(struct usher_text text, struct usher_entry *e)
{
    char letter = text.data[0], list = letter;

    memset(e, 0, sizeof *e);
    text.data++;
    text.size--;
    e->kind = USHER_KIND_NUMBER;
    if (letter == 'I' || letter == 'D' || letter == 'H') {
        list = (char)(letter + 32);
        if (!cut(&text, &e->by) || e->by.size == 0)
            return false;
    }
    switch (list) {
    case 'i':
        if (!take_digits(&text, 10, &e->hi))
            return false;
        break;
    case 'd':
        e->slot = 1;
        if (!take_digits(&text, 16, &e->hi))
            return false;
        break;
    case 'h':
        e->slot = 2;
        break;
    case 's':
        e->kind = USHER_KIND_STICKY;
        break;
    case 'r':
        e->kind = USHER_KIND_REQUEST;
        break;
    default:
        return false;
    }
    if (!take_digits(&text, 16, &e->order) || text.size < 2 || text.data[0] != '\t')
        return false;
    e->id.data = text.data + 1;
    e->id.size = text.size - 1;
    return true;
}

/* ---- one pool ---------------------------------------------------------------------- */

static int compare_records(const void *a, const void *b)
{
    const struct usher_record *x = a, *y = b;

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

/* All ids stand in the list `n`; it has no counterpart among the slots, so it is compared
 * here: @members come in byte order, as the records do. */
static enum usher_status show_entries(const struct redisReply *members,
                                      const struct usher_record *records, size_t n,
                                      usher_scan_fn *fn, void *payload)
{
    enum usher_status status = USHER_OK;
    size_t at = 0;
    bool permanent = false, same = true;

    while (at < n && records[at].kind < USHER_KIND_NUMBER)
        at++;
    for (size_t i = 0; i < members->elements && status == USHER_OK; i++) {
        struct usher_text text = text_of(members->element[i]);
        struct usher_entry e;
        struct usher_item item = { .kind = USHER_ITEM_ENTRY, .entry = &e };

        if (text.size == 1 && text.data[0] == '!') {
            permanent = true;
        } else if (text.size > 1 && text.data[0] == 'n') {
            text.data++;
            text.size--;
            same = same && at < n && records[at].kind == USHER_KIND_NUMBER &&
                   compare_text(&records[at].id, &text) == 0;
            at++;
        } else if (text.size > 1 && entry(text, &e)) {
            status = fn(payload, &item);
        } else {
            status = strange(fn, payload);
        }
    }
    if (status == USHER_OK &&
        (!permanent || !same || (at < n && records[at].kind == USHER_KIND_NUMBER)))
        status = strange(fn, payload);
    return status;
}

static enum usher_status show_pool(struct usher__redis *r, const struct usher_text *name,
                                   const struct redisReply *dump, usher_scan_fn *fn, void *payload,
                                   char message[192])
{
    struct usher_scope scope = { .noun = USHER_NUMBER, .name = *name };
    struct usher_item item = { .kind = USHER_ITEM_SCOPE, .scope = &scope };
    struct usher_record *records;
    size_t n = 0, size, odd = 0;
    enum usher_status status;

    if (dump->elements != 4 || dump->element[2]->type != REDIS_REPLY_ARRAY ||
        dump->element[3]->type != REDIS_REPLY_ARRAY) {
        struct usher_text why = { "", 0 };

        if (dump->elements == 2)
            why = text_of(dump->element[1]);
        (void)snprintf(message, 192, "pool %.*s: %.*s", (int)(name->size > 60 ? 60 : name->size),
                       name->data, (int)(why.size > 100 ? 100 : why.size),
                       why.data != NULL ? why.data : "");
        return USHER_INVALID;
    }
    if (text_of(dump->element[0]).size == 0)
        return USHER_OK; /* gone meanwhile, or never there */
    if (!head(text_of(dump->element[0]), &scope) || !settings(text_of(dump->element[1]), &scope)) {
        (void)snprintf(message, 192, "pool %.*s: its header is not understood",
                       (int)(name->size > 60 ? 60 : name->size), name->data);
        return USHER_INVALID;
    }
    size = (dump->element[2]->elements / 2 + 1) * sizeof *records;
    records = resize(r->alloc, NULL, 0, size);
    if (records == NULL)
        return USHER_NOMEM;
    for (size_t i = 0; i + 1 < dump->element[2]->elements; i += 2) {
        int found =
            record(dump->element[2]->element[i], dump->element[2]->element[i + 1], &records[n]);

        n += found > 0;
        odd += found < 0;
    }
    qsort(records, n, sizeof *records, compare_records);
    status = fn(payload, &item);
    for (size_t i = 0; i < n && status == USHER_OK; i++) {
        struct usher_item shown = { .kind = USHER_ITEM_RECORD, .record = &records[i] };

        status = fn(payload, &shown);
    }
    while (odd-- > 0 && status == USHER_OK)
        status = strange(fn, payload);
    if (status == USHER_OK)
        status = show_entries(dump->element[3], records, n, fn, payload);
    (void)resize(r->alloc, records, size, 0);
    return status;
}

static enum usher_status scan_pool(struct usher__redis *r, const struct usher_text *name,
                                   int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                   char message[192])
{
    char key[USHER__REDIS_KEY_MAX];
    size_t size;
    struct redisReply *dump;
    enum usher_status status;

    usher__redis_conn_begin(r->conn, 7);
    usher__redis_conn_arg_str(r->conn, "EVAL");
    usher__redis_conn_arg(r->conn, r->script, r->script_size);
    usher__redis_conn_arg_str(r->conn, "2");
    size = usher__redis_key(r, name, "", key);
    usher__redis_conn_arg(r->conn, key, size);
    size = usher__redis_key(r, name, ":index", key);
    usher__redis_conn_arg(r->conn, key, size);
    usher__redis_conn_arg_str(r->conn, "dump");
    usher__redis_conn_arg_str(r->conn, "");
    status = ask(r, deadline_ms, &dump, message);
    if (status != USHER_OK)
        return status;
    status = show_pool(r, name, dump, fn, payload, message);
    freeReplyObject(dump);
    return status;
}

static enum usher_status scan(struct usher__redis *r, const struct usher_text *scope,
                              int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                              char message[192])
{
    struct names names = { NULL, 0, 0 };
    enum usher_status status;

    for (unsigned tries = 0;; tries++) {
        status = usher__redis_ready(r, deadline_ms);
        if (status == USHER_OK || !usher__redis_pause(r, tries, deadline_ms))
            break;
    }
    if (status != USHER_OK) {
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
        return status;
    }
    if (scope != NULL)
        return scan_pool(r, scope, deadline_ms, fn, payload, message);
    status = find_pools(r, deadline_ms, &names, message);
    for (size_t i = 0; i < names.n && status == USHER_OK; i++)
        if (i == 0 || compare_text(&names.text[i], &names.text[i - 1]) != 0)
            status = scan_pool(r, &names.text[i], deadline_ms, fn, payload, message);
    names_done(r->alloc, &names);
    return status;
}

/* Others go on executing commands meanwhile: a scan has a connection of its own. */
enum usher_status usher__redis_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192])
{
    const struct usher__redis *r = (const struct usher__redis *)s;
    struct usher__redis *own;
    enum usher_status status;

    if ((unsigned)noun != 0 && noun != USHER_NUMBER)
        return USHER_OK;
    own = resize(r->alloc, NULL, 0, sizeof *own);
    if (own == NULL)
        return USHER_NOMEM;
    memset(own, 0, sizeof *own);
    own->alloc = r->alloc;
    own->script = r->script; /* neither is ever changed */
    own->script_size = r->script_size;
    own->looked = true;
    own->random = (uint64_t)deadline_ms;
    memcpy(own->prefix, r->prefix, sizeof own->prefix);
    status = usher__redis_conn_open(own->alloc, &r->options, &own->conn);
    if (status == USHER_OK) {
        status = scan(own, scope, deadline_ms, fn, payload, message);
        usher__redis_conn_close(own->conn);
    }
    (void)resize(r->alloc, own, sizeof *own, 0);
    return status;
}
