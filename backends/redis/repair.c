/* SPDX-License-Identifier: MIT */
/*
 * repair(), the repair of a scope: it locks the scope by a mark after the header (lua/repair.lua),
 * reads it as scan() does, adds the missing members of its records to the sorted sets, and removes
 * the others, in steps.
 */
#include "config.h"

#include "scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "lua_text.h"

#define HEAD_DUE (1u + 16 + 2 * USHER__REDIS_NUMBER)

/* Return the text of lua/repair.lua. */
static const char *steps_text(void)
{
    const struct usher__redis_lua_text *t = usher__redis_lua_texts;

    while (strcmp(t->name, "repair") != 0)
        t++;
    return t->text;
}

/* Begin a step of lua/repair.lua; @more arguments follow.  @sha "": send the text of the script. */
static void step_begin(struct usher__redis *r, const char sha[41],
                       const struct usher__redis_dump *d, const char *op, const char *mark,
                       unsigned more)
{
    static const char *const suffixes[] = { "", ":index", ":held" };

    usher__redis_conn_begin(r->conn, 8 + more);
    usher__redis_conn_arg_str(r->conn, sha[0] != '\0' ? "EVALSHA" : "EVAL");
    usher__redis_conn_arg_str(r->conn, sha[0] != '\0' ? sha : steps_text());
    usher__redis_conn_arg_str(r->conn, "3");
    for (int i = 0; i < 3; i++) {
        char key[USHER__REDIS_KEY_MAX];
        size_t size = usher__redis_key(r, d->noun, d->name, suffixes[i], key);

        usher__redis_conn_arg(r->conn, key, size);
    }
    usher__redis_conn_arg_str(r->conn, op);
    usher__redis_conn_arg(r->conn, mark, USHER__REDIS_MARK);
}

/* Read its answer: @n integers; missing ones are 0. */
static enum usher_status step_end(struct usher__redis *r, long long *ret, size_t n,
                                  char message[192])
{
    struct redisReply *reply;
    enum usher_status status = usher__redis_ask(r, &reply, message);

    if (status != USHER_OK)
        return status == USHER_REFUSED ? USHER_UNAVAILABLE : status;
    for (size_t i = 0; i < n; i++)
        ret[i] = i < reply->elements && reply->element[i]->type == REDIS_REPLY_INTEGER
                     ? reply->element[i]->integer
                     : 0;
    freeReplyObject(reply);
    return USHER_OK;
}

/* Load lua/repair.lua.  @sha is "" if the server refuses SCRIPT, or a proxy closes the connection
 * at it; then there is a new connection. */
static enum usher_status load_steps(struct usher__redis *r, char sha[41], char message[192])
{
    struct redisReply *reply;
    enum usher_status status;

    sha[0] = '\0';
    usher__redis_conn_begin(r->conn, 3);
    usher__redis_conn_arg_str(r->conn, "SCRIPT");
    usher__redis_conn_arg_str(r->conn, "LOAD");
    usher__redis_conn_arg_str(r->conn, steps_text());
    status = usher__redis_conn_flush(r->conn);
    if (status == USHER_OK)
        status = usher__redis_conn_read(r->conn, usher__redis_clock_ms() + r->patience_ms, &reply);
    if (status == USHER_OK) {
        if (reply->type == REDIS_REPLY_STRING && reply->len == 40)
            memcpy(sha, reply->str, 41);
        freeReplyObject(reply);
        return USHER_OK;
    }
    if (status != USHER_NOMEM) {
        usher__redis_conn_discard(r->conn);
        status = usher__redis_handshake(r, usher__redis_clock_ms() + r->patience_ms);
    }
    if (status != USHER_OK)
        (void)snprintf(message, 192, "%s", usher__redis_conn_message(r->conn));
    return status == USHER_OK || status == USHER_NOMEM ? status : USHER_UNAVAILABLE;
}

static const char no_mark[] = "................";

enum usher_status usher__redis_show_rest(struct usher__redis *r, const struct usher__redis_dump *d,
                                         usher_scan_fn *fn, void *payload, char message[192])
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
    item.fault = there[0] != 0 ? "its header is missing"
                               : "its hash is missing, with all its records; lists are left";
    return fn(payload, &item);
}

/* Members of a sorted set, each with its own bytes. */
static void number_put(char **at, uint64_t value)
{
    for (int i = USHER__REDIS_NUMBER - 1; i >= 0; i--)
        *(*at)++ = (char)(value >> (8 * i) & 0xff);
}

static bool member_add(const struct usher__redis *r, struct usher__redis_names *set, unsigned kind,
                       char list, const struct usher_text *by, const uint64_t *place, size_t places,
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
    return usher__redis_names_add(r->alloc, set, &member);
}

/* Add the members of a record in slot @slot: in the list of all, and in that of its text. */
static bool members_of_slot(const struct usher__redis *r, struct usher__redis_names *set,
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

/* Make the members that should be in the two sorted sets. */
static bool members_make(const struct usher__redis *r, const struct usher__redis_reading *from,
                         struct usher__redis_names sets[2])
{
    struct usher_text mark = { "!", 1 }, permanent = { from->permanent, strlen(from->permanent) };
    bool good = usher__redis_names_add(r->alloc, &sets[0], &mark) &&
                usher__redis_names_add(r->alloc, &sets[1], &permanent);

    for (size_t i = 0; i < from->records.n && good; i++) {
        const struct usher_record *m = from->records.sorted[i];

        good = members_of_slot(r, &sets[0], m, 0) && members_of_slot(r, &sets[1], m, 1) &&
               members_of_slot(r, &sets[1], m, 2) &&
               (strchr(from->listed, '0' + m->kind) == NULL ||
                member_add(r, &sets[0], m->kind, 'n', NULL, NULL, 0, &m->id));
    }
    for (int i = 0; i < 2 && good; i++)
        qsort(sets[i].text, sets[i].n, sizeof *sets[i].text, usher__redis_compare_names);
    return good;
}

/* Collect the existing members; their texts point into the pages. */
static bool members_there(const struct usher__redis *r, const struct usher__redis_pages *pages,
                          struct usher_text **ret, size_t *ret_n)
{
    size_t n = 0;

    for (size_t p = 0; p < pages->n; p++)
        n += pages->page[p]->elements;
    *ret_n = n;
    *ret = usher__redis_resize(r->alloc, NULL, 0, (n + 1) * sizeof **ret);
    if (*ret == NULL)
        return false;
    n = 0;
    for (size_t p = 0; p < pages->n; p++)
        for (size_t i = 0; i < pages->page[p]->elements; i++)
            (*ret)[n++] = usher__redis_text_of(pages->page[p]->element[i]);
    if (n > 1)
        qsort(*ret, n, sizeof **ret, usher__redis_compare_names);
    return true;
}

/* The state of a repair. */
struct repair {
    struct usher__redis *r;
    const struct usher__redis_dump *d;
    const char *sha, *mark;
    unsigned long long in, out; /* members added, removed */
    char *message;
};

#define STEP_MAX 1000

/* End a step.  It fails if the mark is not there any more. */
static enum usher_status step_done(struct repair *m)
{
    long long done = 0;
    enum usher_status status = step_end(m->r, &done, 1, m->message);

    if (status != USHER_OK || done != 0)
        return status;
    (void)snprintf(m->message, 192, "another client has repaired or damaged it in the meantime");
    return USHER_UNAVAILABLE;
}

/* Add or remove the members in @text. */
static enum usher_status put_step(struct repair *m, int set, bool add,
                                  const struct usher_text *text, size_t n)
{
    struct usher__redis *r = m->r;

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
    return step_done(m);
}

/* Change the members in @there to those that should be there.  Both are sorted. */
static enum usher_status put_right(struct repair *m, int set,
                                   const struct usher__redis_names *should,
                                   const struct usher_text *there, size_t n)
{
    struct usher_text in[STEP_MAX], out[STEP_MAX];
    size_t i = 0, k = 0, n_in = 0, n_out = 0;
    enum usher_status status = USHER_OK;

    while (status == USHER_OK && (i < should->n || k < n)) {
        int order = i == should->n ? 1
                    : k == n       ? -1
                                   : usher__redis_compare_text(&should->text[i], &there[k]);

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

/* Write the former header with the counts and the due time of @s, without the mark. */
static enum usher_status put_header(struct repair *m, const struct usher_scope *s)
{
    struct usher_text head = usher__redis_text_of(m->d->header.page[0]->element[0]);
    char bytes[USHER__REDIS_HEAD], *at = bytes + HEAD_DUE;

    if (head.data == NULL || head.size < USHER__REDIS_HEAD)
        return usher__redis_not_understood(m->d, "its header cannot be read", m->message);
    memcpy(bytes, head.data, USHER__REDIS_HEAD);
    number_put(&at, s->due_ms == INT64_MAX ? UINT64_MAX : (uint64_t)s->due_ms);
    at += USHER__REDIS_NUMBER; /* the writer */
    for (size_t i = 0; i < USHER_COUNTS; i++)
        number_put(&at, (uint64_t)s->counts[i]);
    step_begin(m->r, m->sha, m->d, "end", m->mark, 1);
    usher__redis_conn_arg(m->r->conn, bytes, USHER__REDIS_HEAD);
    return step_done(m);
}

/* Read the scope and repair it.  The mark must be set. */
static enum usher_status repair_marked(struct repair *m, struct usher__redis_dump *d,
                                       usher_scan_fn *fn, usher_repair_fn *header, void *payload,
                                       int64_t deadline_ms)
{
    struct usher__redis_names should[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
    struct usher__redis_reading from;
    enum usher_status status = usher__redis_read_scope(m->r, d, deadline_ms, m->message);

    if (status == USHER_MISSING) {
        (void)snprintf(m->message, 192, "it is gone");
        return USHER_UNAVAILABLE;
    }
    if (status == USHER_REFUSED)
        return USHER_UNAVAILABLE;
    if (status == USHER_OK)
        status = usher__redis_reading_make(m->r, d, &from, m->message);
    if (status != USHER_OK)
        return status;
    status = usher__redis_show_records(&from, fn, payload);
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
        (void)usher__redis_resize(m->r->alloc, there, (n + 1) * sizeof *there, 0);
    }
    if (status == USHER_OK)
        status = put_header(m, &from.scope);
    usher__redis_names_done(m->r->alloc, &should[0]);
    usher__redis_names_done(m->r->alloc, &should[1]);
    usher__redis_records_done(m->r, &from.records);
    return status;
}

static enum usher_status drop_rest(struct repair *m)
{
    long long gone = 0;
    enum usher_status status;

    step_begin(m->r, m->sha, m->d, "drop", no_mark, 0);
    status = step_end(m->r, &gone, 1, m->message);
    if (status == USHER_OK && gone == 0) {
        (void)snprintf(m->message, 192, "it has no header that can be read");
        return USHER_UNAVAILABLE;
    }
    if (status == USHER_OK)
        (void)snprintf(m->message, 192,
                       "the scope is lost: its hash is missing; the rest of its lists was removed");
    return status;
}

static enum usher_status repair(struct usher__redis *r, enum usher_noun noun,
                                const struct usher_text *scope, int64_t deadline_ms,
                                usher_scan_fn *fn, usher_repair_fn *header, void *payload,
                                char message[192])
{
    struct usher__redis_dump d = { .noun = noun, .name = scope };
    char sha[41], mark[USHER__REDIS_MARK + 1];
    const struct usher__redis_tables *tables;
    struct repair m = { .r = r, .d = &d, .sha = sha, .mark = mark, .message = message };
    uint64_t random = (uint64_t)usher__redis_clock_ms() ^ (uint64_t)(uintptr_t)&d;
    long long was[4] = { 0 };
    enum usher_status status = load_steps(r, sha, message);

    if (status != USHER_OK)
        return status;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random *= UINT64_C(0x9e3779b97f4a7c15);
    (void)snprintf(mark, sizeof mark, "%016" PRIx64, random);
    tables = usher__redis_tables(r, noun);
    if (tables == NULL)
        return USHER_NOMEM;
    if (tables->noun != noun)
        return usher__redis_not_understood(&d, "this library has no tables for it", message);
    step_begin(r, sha, &d, "begin", mark, 1);
    usher__redis_conn_arg_str(r->conn, tables->permanent);
    status = step_end(r, was, 4, message);
    if (status == USHER_OK && was[0] == 0)
        return drop_rest(&m);
    if (status == USHER_OK)
        status = repair_marked(&m, &d, fn, header, payload, deadline_ms);
    usher__redis_dump_done(r, &d);
    if (status == USHER_OK)
        (void)snprintf(message, 192, "repaired%s%s: %llu entries added to the lists, %llu removed",
                       was[1] == 0 ? ", :index was missing" : "",
                       was[2] == 0 ? ", :held was missing" : "", m.in + (unsigned long long)was[3],
                       m.out);
    return status;
}

enum usher_status usher__redis_repair(struct usher_store *s, enum usher_noun noun,
                                      const struct usher_text *scope, int64_t deadline_ms,
                                      usher_scan_fn *fn, usher_repair_fn *header, void *payload,
                                      char message[192])
{
    struct usher__redis *r = NULL;
    struct usher__redis_store *store = (struct usher__redis_store *)s;
    unsigned number = usher__redis_number_of(store, scope);
    enum usher_status status =
        usher__redis_own_open(store, store->node[number], deadline_ms, &r, message);

    if (status == USHER_OK)
        status = repair(r, noun, scope, deadline_ms, fn, header, payload, message);
    usher__redis_own_close(r);
    return status;
}
