/* SPDX-License-Identifier: MIT */
/*
 * Conversion of results of the store to replies for the program, with the values of the fields that
 * the tables define for a verb.
 *
 * The replies of one call are in one block, which is freed with the last of them.  It is allocated
 * before anything is applied, so that there is always an answer.  The values of a reply are in a
 * block of their own; those of a single command are in the same block if they fit.
 */
#include "config.h"

#include "encode/reply.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/pack.h"
#include "core/verbs.h"
#include "change/memory.h"
#include "change/thread.h"
#include "encode/result_fields.h"

#ifdef USHER_HOSTILE
#define INSIDE 1     /* bytes of values in the block of a single reply */
#define FEW_VALUES 2 /* before the heap is used for them */
#define FEW_BYTES 3
#else
#define INSIDE 640
#define FEW_VALUES 64
#define FEW_BYTES 2048
#endif

/* ---- replies ---------------------------------------------------------------------------- */

/* All replies of one call. */
struct heads {
    const struct usher_allocator *alloc;
    atomic_size_t left; /* of them */
    size_t size;        /* of the block */
    size_t inside;      /* bytes in it for the values of a single reply */
};

/* A reply with its block: where each row begins and the last one ends, if there are any; the values
 * of the answer, of its rows, and of the command; the texts.  A batch has a head for each command,
 * so values that can be computed are not in it. */
struct head {
    struct usher_reply r; /* first member */
    uint16_t no;          /* its index in the call */
    uint16_t n_asked;     /* values of the command: usher__reply_asked() */
    uint32_t block_size;  /* 0: the block follows the heads, or there is none */
};

_Static_assert(USHER_BATCH_MAX - 1 <= UINT16_MAX && USHER_WAIT_MAX <= UINT8_MAX, "heads are small");

static struct head *head_of(const struct usher_reply *reply)
{
    return (struct head *)(uintptr_t)reply;
}

static struct heads *heads_of(struct head *head)
{
    return (struct heads *)(void *)(head - head->no) - 1;
}

static size_t rows_size(size_t n_rows)
{
    return n_rows > 0 ? (n_rows + 1) * sizeof(size_t) : 0;
}

/* Return the block of @reply, which begins with the positions of its rows. */
static const size_t *rows_at(const struct usher_reply *reply)
{
    return (const size_t *)(const void *)((const char *)reply->values - rows_size(reply->n_rows));
}

static struct head *heads_new(const struct usher_allocator *alloc, size_t n)
{
    size_t inside = n == 1 ? INSIDE : 0;
    size_t size = sizeof(struct heads) + n * sizeof(struct head) + inside;
    struct heads *h = usher__resize(alloc, NULL, 0, size);
    struct head *first;

    if (h == NULL)
        return NULL;
    h->alloc = alloc;
    atomic_init(&h->left, n);
    h->size = size;
    h->inside = inside;
    first = (struct head *)(void *)(h + 1);
    memset(first, 0, n * sizeof *first);
    for (size_t i = 0; i < n; i++) {
        first[i].no = (uint16_t)i;
        first[i].r.message = "";
        first[i].r.due_ms = USHER_NEVER;
    }
    return first;
}

struct usher_reply *usher__replies_new(const struct usher_allocator *alloc, size_t n)
{
    struct head *first = heads_new(alloc, n);

    return first != NULL ? &first->r : NULL;
}

void usher__replies_undo(struct usher_reply *first)
{
    struct heads *h = heads_of(head_of(first));

    (void)usher__resize(h->alloc, h, h->size, 0);
}

struct usher_reply *usher__reply_at(struct usher_reply *first, size_t i)
{
    return &head_of(first)[i].r;
}

void usher__reply_refuse(struct usher_reply *reply, const struct usher_command *command,
                         const char *message)
{
    reply->status = USHER_UNAVAILABLE;
    reply->verb = command->verb;
    reply->tag = command->tag;
    reply->message = message;
}

void usher_reply_done(struct usher_reply *reply)
{
    struct head *head = head_of(reply);
    struct heads *h;

    if (reply == NULL)
        return;
    h = heads_of(head);
    if (head->block_size != 0)
        (void)usher__resize(h->alloc, (void *)(uintptr_t)rows_at(reply), head->block_size, 0);
    if (atomic_fetch_sub_explicit(&h->left, 1, memory_order_acq_rel) == 1)
        (void)usher__resize(h->alloc, h, h->size, 0);
}

/* ---- the values of one reply -------------------------------------------------------------- */

/* Values with their texts.  `number` has the offset of a text while the texts may still move. */
struct gather {
    const struct usher_allocator *alloc;
    struct usher_value few[FEW_VALUES], *values;
    char few_bytes[FEW_BYTES], *bytes;
    size_t n, room, n_bytes, room_bytes;
    bool nomem;
};

static void gather_begin(struct gather *g, const struct usher_allocator *alloc)
{
    g->alloc = alloc;
    g->values = g->few;
    g->bytes = g->few_bytes;
    g->n = g->n_bytes = 0;
    g->room = FEW_VALUES;
    g->room_bytes = FEW_BYTES;
    g->nomem = false;
}

static void gather_end(struct gather *g)
{
    if (g->values != g->few)
        (void)usher__resize(g->alloc, g->values, g->room * sizeof *g->values, 0);
    if (g->bytes != g->few_bytes)
        (void)usher__resize(g->alloc, g->bytes, g->room_bytes, 0);
}

/* Return @from, moved if necessary, with space for @need; *@room is the available space. */
static void *larger(struct gather *g, void *from, const void *few, size_t used, size_t *room,
                    size_t need, size_t each)
{
    size_t to = *room * 2 > need ? *room * 2 : need;
    void *p = from == few ? usher__resize(g->alloc, NULL, 0, to * each)
                          : usher__resize(g->alloc, from, *room * each, to * each);

    if (p == NULL) {
        g->nomem = true;
        return from;
    }
    if (from == few)
        memcpy(p, few, used * each);
    *room = to;
    return p;
}

static struct usher_value *add(struct gather *g, uint32_t field)
{
    static const struct usher_value none;

    if (g->n == g->room)
        g->values = larger(g, g->values, g->few, g->n, &g->room, g->n + 1, sizeof *g->values);
    if (g->nomem)
        return NULL;
    g->values[g->n] = none;
    g->values[g->n].field = field;
    return &g->values[g->n++];
}

static void add_text(struct gather *g, struct usher_value *v, const char *data, size_t size)
{
    if (g->room_bytes - g->n_bytes < size + 1)
        g->bytes =
            larger(g, g->bytes, g->few_bytes, g->n_bytes, &g->room_bytes, g->n_bytes + size + 1, 1);
    if (g->nomem)
        return;
    if (size != 0)
        memcpy(g->bytes + g->n_bytes, data, size);
    g->bytes[g->n_bytes + size] = '\0';
    v->size = (int32_t)size;
    v->number = (int64_t)g->n_bytes;
    v->text = "";
    g->n_bytes += size + 1;
}

/* usher__put */
static void gather_value(void *to, const struct usher_value *value)
{
    struct gather *g = to;
    struct usher_value *v = add(g, value->field);

    if (v == NULL)
        return;
    if (value->text != NULL)
        add_text(g, v, value->text, (size_t)value->size);
    else
        v->number = value->number;
}

/* Copy them into the block of @head, with the texts in their final places. */
static bool keep(const struct gather *g, struct head *head, const size_t *row_at, size_t n_rows,
                 const char *message)
{
    size_t rows = rows_size(n_rows);
    size_t said = strlen(message);
    size_t size = g->n * sizeof *g->values + rows + g->n_bytes + (said > 0 ? said + 1 : 0);
    struct heads *h = heads_of(head);
    char *block = (char *)(head + 1), *bytes;
    struct usher_value *values;

    if (g->nomem || size > UINT32_MAX)
        return false;
    if (size == 0)
        return true;
    if (size > h->inside) {
        block = usher__resize(h->alloc, NULL, 0, size);
        if (block == NULL)
            return false;
        head->block_size = (uint32_t)size;
    }
    if (rows > 0)
        memcpy(block, row_at, rows);
    values = (struct usher_value *)(void *)(block + rows);
    if (g->n > 0)
        memcpy(values, g->values, g->n * sizeof *values);
    bytes = (char *)(values + g->n);
    if (g->n_bytes > 0)
        memcpy(bytes, g->bytes, g->n_bytes);
    for (size_t i = 0; i < g->n; i++)
        if (values[i].text != NULL) {
            values[i].text = bytes + values[i].number;
            values[i].number = 0;
        }
    if (said > 0)
        head->r.message = memcpy(bytes + g->n_bytes, message, said + 1);
    head->r.values = values;
    head->r.n_rows = (uint32_t)n_rows;
    return true;
}

static void __attribute__((noinline))
row(struct gather *g, const struct usher_operation *op, const struct usher_result *r,
    const char *base, uint64_t before)
{
    usher__result_row(gather_value, g, op, r, base, before);
}

static void rows(struct gather *g, const struct usher_operation *op, const struct usher_result *r,
                 size_t *row_at, size_t n)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__hooks *hooks = usher__hooks((unsigned)r->noun);
    struct usher__row_at at = { .i = 0 };
    const char *base;

    memcpy(&base, (const char *)r + noun->rows_at, sizeof base);
    for (size_t i = 0; i < n; i++) {
        const char *from =
            hooks->rows != NULL ? hooks->rows->next(op, r, &at) : base + i * noun->row_size;

        row_at[i] = g->n;
        row(g, op, r, from, at.before);
    }
    row_at[n] = g->n;
}

const char usher__not_kept[] = "out of memory for the answer: the command may have been applied";

/* Return whether it was for another version or epoch, so that the answer has only the current
 * ones. */
static bool other_version(const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)op->verb >> 8);
    char epoch[17];
    struct usher_text text;
    int64_t version;

    if (r->status != USHER_STALE || noun->if_version == 0 ||
        usher__hooks_of(op->verb)->copied != NULL)
        return false;
    memcpy(&version, (const char *)op + noun->if_version_at, sizeof version);
    memcpy(&text, (const char *)op + noun->epoch_at, sizeof text);
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, r->epoch);
    return ((op->given & noun->if_version) != 0 && (uint64_t)version != r->version) ||
           (text.data != NULL && memcmp(text.data, epoch, 16) != 0);
}

/* Add the values of @op that belong to the answer. */
static void echo(struct gather *g, const struct usher_operation *op, const struct usher_result *r,
                 bool scope)
{
    const struct usher__noun *noun = usher__noun((unsigned)op->verb >> 8);

    for (const struct usher__echo *e = noun->echoes; e->verbs != 0; e++) {
        const struct usher__arg *arg = &noun->args[e->arg];
        const char *at = (const char *)op + arg->offset;
        struct usher_text text;
        int64_t number;

        if ((e->verbs & USHER__VERB_BIT((unsigned)op->verb)) == 0)
            continue;
        if (arg->given == 0) {
            memcpy(&text, at, sizeof text);
            if (text.data != NULL)
                usher__put_text(gather_value, g, e->field, text.data, text.size);
        } else if ((op->given & arg->given) != 0) {
            memcpy(&number, at, sizeof number);
            usher__put_number(gather_value, g, e->field, number);
        }
    }
    if (scope)
        usher__put_text(gather_value, g, USHER__ECHO_SCOPE, op->scope.data, op->scope.size);
    if (op->wait != 0)
        usher__put_number(gather_value, g, USHER_FIELD_WAIT, op->wait);
    if (other_version(op, r))
        usher__put_number(gather_value, g, USHER_FIELD_IF_VERSION, 0);
}

/* If there is no memory for more than the status, the outcome is USHER_UNKNOWN. */
void usher__reply_leave(struct usher_reply *to, const struct usher_operation *op,
                        const struct usher_result *r)
{
    struct head *head = head_of(to);
    const struct usher_allocator *alloc = heads_of(head)->alloc;
    bool answers = usher__result_answers(r);
    size_t n = answers ? usher__result_rows(op, r) : 0;
    size_t *row_at = n > 0 ? usher__resize(alloc, NULL, 0, (n + 1) * sizeof *row_at) : NULL;
    struct gather g;
    size_t asked_at;
    bool kept = false;

    usher__reply_begin(to, r);
    gather_begin(&g, alloc);
    if (n == 0 || row_at != NULL) {
        if (answers)
            usher__result_answer(gather_value, &g, op, r);
        USHER_ASSERT(g.n <= UINT8_MAX);
        to->n = (uint8_t)g.n;
        if (n > 0)
            rows(&g, op, r, row_at, n);
        asked_at = g.n;
        if (r->status < USHER_INVALID)
            echo(&g, op, r,
                 n > 0 &&
                     usher__result_notices(usher__noun((unsigned)r->noun), (uint32_t)op->verb));
        head->n_asked = (uint16_t)(g.n - asked_at);
        kept = keep(&g, head, row_at, n, r->message);
    }
    gather_end(&g);
    if (row_at != NULL)
        (void)usher__resize(alloc, row_at, (n + 1) * sizeof *row_at, 0);
    if (kept)
        return;
    to->n = 0;
    head->n_asked = 0;
    if (to->status < USHER_INVALID) {
        to->status = USHER_UNKNOWN;
        to->message = usher__not_kept;
    } else { /* the text of the status suffices without details */
        to->message = usher_status_text(to->status);
    }
}

struct usher_reply *usher_reply_of(const struct usher_operation *command,
                                   const struct usher_result *result)
{
    struct usher_reply *reply;

    if (command == NULL || result == NULL || usher__verb((unsigned)command->verb) == NULL ||
        (result->status < USHER_INVALID && (unsigned)result->noun != (unsigned)command->verb >> 8))
        return NULL;
    reply = usher__replies_new(usher__allocator(NULL), 1);
    if (reply == NULL)
        return NULL;
    reply->verb = (uint32_t)command->verb;
    usher__reply_leave(reply, command, result);
    return reply;
}

/* Return the verb of @noun whose rows are notices, or 0. */
static uint32_t verb_of_changes(enum usher_noun noun)
{
    const struct usher__noun *n = usher__noun((unsigned)noun);

    for (unsigned i = 0; n != NULL && i < n->n_verbs; i++)
        if ((n->verbs[i].flags & USHER__NOTICES) != 0)
            return n->verbs[i].verb;
    return 0;
}

struct usher_reply *usher_notice_reply(const struct usher_notice *notice)
{
    const uint32_t verb = notice != NULL ? verb_of_changes(notice->noun) : 0;
    struct head *head = verb != 0 ? heads_new(usher__allocator(NULL), 1) : NULL;
    const struct usher__copied *copied;
    size_t row_at[2] = { 0, 0 };
    struct gather g;
    bool kept;

    if (head == NULL)
        return NULL;
    copied = usher__hooks((unsigned)notice->noun)->copied;
    head->r.verb = verb;
    head->r.epoch = notice->epoch;
    head->r.version = notice->version;
    head->r.now_ms = notice->now_ms;
    if (notice->due_ms != USHER_NONE)
        head->r.due_ms = notice->due_ms;
    gather_begin(&g, heads_of(head)->alloc);
    if (copied != NULL) {
        usher__put_number(gather_value, &g, USHER_FIELD_KIND, copied->row_of_notice);
        usher__put_number(gather_value, &g, USHER_FIELD_VERSION, (int64_t)notice->version);
    }
    usher__result_put_notice(gather_value, &g, notice);
    row_at[1] = g.n;
    kept = keep(&g, head, row_at, 1, "");
    gather_end(&g);
    if (kept)
        return &head->r;
    usher__replies_undo(&head->r);
    return NULL;
}

struct usher_reply *usher__reply_of_list(const struct usher_allocator *alloc,
                                         const struct usher_result *r,
                                         const struct usher__listing *list)
{
    struct head *head = heads_new(alloc, 1);
    size_t *row_at = usher__resize(alloc, NULL, 0, (list->n + 1) * sizeof *row_at);
    struct gather g;
    bool kept = false;

    gather_begin(&g, alloc);
    if (head != NULL && row_at != NULL) {
        usher__reply_begin(&head->r, r);
        head->r.verb = list->verb;
        head->r.more = list->more;
        list->say(gather_value, &g, r);
        head->r.n = (uint8_t)g.n;
        for (size_t i = 0; i < list->n; i++) {
            row_at[i] = g.n;
            list->say_row(gather_value, &g, r, i);
        }
        row_at[list->n] = g.n;
        kept = keep(&g, head, row_at, list->n, r->message);
    }
    gather_end(&g);
    if (row_at != NULL)
        (void)usher__resize(alloc, row_at, (list->n + 1) * sizeof *row_at, 0);
    if (kept || head == NULL)
        return head != NULL ? &head->r : NULL;
    usher__replies_undo(&head->r);
    return NULL;
}

/* ---- reading ---------------------------------------------------------------------------- */

const struct usher_value *usher_reply_values(const struct usher_reply *reply, size_t row,
                                             size_t *ret_n)
{
    if (row == USHER_ANSWER) {
        *ret_n = reply->n;
        return reply->values;
    }
    *ret_n = 0;
    if (row >= reply->n_rows)
        return NULL;
    *ret_n = rows_at(reply)[row + 1] - rows_at(reply)[row];
    return reply->values + rows_at(reply)[row];
}

const struct usher_value *usher__reply_asked(const struct usher_reply *reply, size_t *ret_n)
{
    const struct head *head = head_of(reply);

    *ret_n = head->n_asked;
    if (head->n_asked == 0)
        return NULL;
    return reply->values + (reply->n_rows > 0 ? rows_at(reply)[reply->n_rows] : reply->n);
}

static const struct usher_value *value_of(const struct usher_reply *reply, size_t row,
                                          uint32_t field)
{
    size_t n;
    const struct usher_value *values = usher_reply_values(reply, row, &n);

    for (size_t i = 0; i < n; i++)
        if (values[i].field == field)
            return &values[i];
    return NULL;
}

int64_t usher_reply_int(const struct usher_reply *reply, size_t row, uint32_t field)
{
    const struct usher_value *v = value_of(reply, row, field);

    return v != NULL && v->text == NULL ? v->number : USHER_NONE;
}

const char *usher_reply_text(const struct usher_reply *reply, size_t row, uint32_t field,
                             size_t *ret_size)
{
    const struct usher_value *v = value_of(reply, row, field);

    if (v == NULL || v->text == NULL)
        return NULL;
    if (ret_size != NULL)
        *ret_size = (size_t)v->size;
    return v->text;
}

const char *usher_reply_word(const struct usher_reply *reply, size_t row, uint32_t field)
{
    const struct usher_value *v = value_of(reply, row, field);

    return v != NULL && v->text == NULL
               ? usher_code_word((enum usher_noun)(reply->verb >> 8), field, v->number)
               : NULL;
}

/* ---- as bytes --------------------------------------------------------------------------- */

/* An array: the form, the members of struct usher_reply but the tag, and five arrays: the values of
 * the answer, how many values each row has, the values of all rows, and those of the command.  A
 * value is its field, then a number or a text, by the type of the field. */
#define BYTES_FORM 1
#define BYTES_MEMBERS 14

/* Return whether the values of @field are texts. */
static bool field_is_text(uint32_t field)
{
    const struct usher_field_about *about = usher_about_field(field);

    return field == USHER__ECHO_SCOPE || (about != NULL && about->type >= USHER_TYPE_TEXT);
}

static void values_pack(struct usher__packer *p, const struct usher_value *values, size_t n)
{
    usher__pack_array(p, 2 * n);
    for (size_t i = 0; i < n; i++) {
        usher__pack_uint(p, values[i].field);
        if (values[i].text != NULL)
            usher__pack_text(p, values[i].text, (size_t)values[i].size);
        else
            usher__pack_int(p, values[i].number);
    }
}

size_t usher_reply_pack(const struct usher_reply *reply, unsigned char *to, size_t size)
{
    struct usher__packer p = { NULL, to != NULL ? size : 0, 0 };
    const size_t *row_at;
    const struct usher_value *asked;
    size_t n_asked;

    if (reply == NULL)
        return 0;
    p.to = to;
    row_at = reply->n_rows > 0 ? rows_at(reply) : NULL;
    usher__pack_array(&p, BYTES_MEMBERS);
    usher__pack_uint(&p, BYTES_FORM);
    usher__pack_uint(&p, (unsigned)reply->status);
    usher__pack_uint(&p, reply->verb);
    usher__pack_uint(&p, reply->epoch);
    usher__pack_uint(&p, reply->version);
    usher__pack_int(&p, reply->due_ms);
    usher__pack_int(&p, reply->now_ms);
    usher__pack_uint(&p, (reply->repeated ? 1u : 0u) | (reply->more ? 2u : 0u));
    usher__pack_uint(&p, reply->replicas);
    usher__pack_text(&p, reply->message, strlen(reply->message));
    values_pack(&p, reply->values, reply->n);
    usher__pack_array(&p, reply->n_rows);
    for (size_t i = 0; i < reply->n_rows; i++)
        usher__pack_uint(&p, row_at[i + 1] - row_at[i]);
    values_pack(&p, row_at != NULL ? reply->values + reply->n : NULL,
                row_at != NULL ? row_at[reply->n_rows] - reply->n : 0);
    asked = usher__reply_asked(reply, &n_asked);
    values_pack(&p, asked, n_asked);
    return p.n;
}

static bool uint_unpack(struct usher_unpacker *u, uint64_t max, uint64_t *ret)
{
    return usher_unpack_uint(u, ret) && *ret <= max;
}

/* Read values, at most @max, and add them to @g. */
static bool values_unpack(struct usher_unpacker *u, struct gather *g, size_t max)
{
    size_t n;

    if (!usher_unpack_array(u, &n) || n % 2 != 0 || n / 2 > max)
        return false;
    for (n /= 2; n > 0; n--) {
        struct usher_value v = { 0, 0, 0, NULL };
        struct usher_text text;
        uint64_t field;

        if (!uint_unpack(u, UINT32_MAX, &field))
            return false;
        v.field = (uint32_t)field;
        if (!field_is_text(v.field)) {
            if (usher_about_field(v.field) == NULL || !usher_unpack_int(u, &v.number))
                return false;
        } else {
            if (!usher_unpack_text(u, &text) || text.size > INT32_MAX)
                return false;
            v.size = (int32_t)text.size;
            v.text = text.size > 0 ? text.data : "";
        }
        gather_value(g, &v);
    }
    return true;
}

/* Read the members before the values. */
static bool members_unpack(struct usher_unpacker *u, struct usher_reply *r,
                           char message[USHER_MESSAGE_MAX])
{
    uint64_t form, status, verb, flags, replicas;
    struct usher_text text;
    size_t members;

    if (!usher_unpack_array(u, &members) || members != BYTES_MEMBERS ||
        !uint_unpack(u, BYTES_FORM, &form) || form != BYTES_FORM ||
        !uint_unpack(u, UINT8_MAX, &status) || !uint_unpack(u, UINT16_MAX, &verb) ||
        !usher_unpack_uint(u, &r->epoch) || !usher_unpack_uint(u, &r->version) ||
        !usher_unpack_int(u, &r->due_ms) || !usher_unpack_int(u, &r->now_ms) ||
        !uint_unpack(u, 3, &flags) || !uint_unpack(u, UINT8_MAX, &replicas) ||
        !usher_unpack_text(u, &text) || text.size >= USHER_MESSAGE_MAX ||
        *usher_status_word((enum usher_status)status) == '?' || usher__verb((unsigned)verb) == NULL)
        return false;
    if (text.size > 0)
        memcpy(message, text.data, text.size);
    message[text.size] = '\0';
    r->status = (enum usher_status)status;
    r->verb = (uint32_t)verb;
    r->repeated = (flags & 1) != 0;
    r->more = (flags & 2) != 0;
    r->replicas = (uint8_t)replicas;
    return true;
}

/* Read the number of values of each of @n rows: the positions at which they begin and end. */
static bool rows_unpack(struct usher_unpacker *u, size_t first, size_t *row_at, size_t n)
{
    const size_t most = (size_t)(u->end - u->at); /* a value has two bytes at least */

    row_at[0] = first;
    for (size_t i = 0; i < n; i++) {
        uint64_t values;

        if (!uint_unpack(u, most, &values) || row_at[i] > first + most)
            return false;
        row_at[i + 1] = row_at[i] + (size_t)values;
    }
    return true;
}

/* Read the values into @head.  USHER_OK, USHER_INVALID, USHER_NOMEM. */
static enum usher_status reply_unpack(struct usher_unpacker *u, struct head *head)
{
    const struct usher_allocator *alloc = heads_of(head)->alloc;
    enum usher_status status = USHER_INVALID;
    char message[USHER_MESSAGE_MAX];
    size_t *row_at = NULL, n = 0;
    struct gather g;
    size_t asked_at;

    gather_begin(&g, alloc);
    if (members_unpack(u, &head->r, message) && values_unpack(u, &g, UINT8_MAX) &&
        usher_unpack_array(u, &n)) {
        head->r.n = (uint8_t)g.n;
        row_at = usher__resize(alloc, NULL, 0, (n + 1) * sizeof *row_at);
        if (row_at == NULL)
            status = USHER_NOMEM;
        else if (rows_unpack(u, g.n, row_at, n) && values_unpack(u, &g, UINT32_MAX) &&
                 row_at[n] == g.n) {
            asked_at = g.n;
            if (values_unpack(u, &g, UINT16_MAX) && u->at == u->end) {
                head->n_asked = (uint16_t)(g.n - asked_at);
                status = keep(&g, head, row_at, n, message) ? USHER_OK : USHER_NOMEM;
            }
        }
    }
    if (g.nomem)
        status = USHER_NOMEM;
    gather_end(&g);
    (void)usher__resize(alloc, row_at, row_at != NULL ? (n + 1) * sizeof *row_at : 0, 0);
    return status;
}

enum usher_status usher_reply_unpack(const unsigned char *bytes, size_t size,
                                     struct usher_reply **ret_reply)
{
    struct usher_unpacker u = usher__unpacker(bytes, size);
    struct usher_reply *reply;
    enum usher_status status;

    usher__message_clear();
    *ret_reply = NULL;
    reply = usher__replies_new(usher__allocator(NULL), 1);
    status = reply != NULL ? reply_unpack(&u, head_of(reply)) : USHER_NOMEM;
    if (status == USHER_OK) {
        *ret_reply = reply;
        return USHER_OK;
    }
    usher_reply_done(reply);
    usher__message_set(status == USHER_NOMEM ? "reply unpack: out of memory"
                                             : "reply unpack: malformed reply");
    return status;
}
