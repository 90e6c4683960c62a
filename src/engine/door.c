/* SPDX-License-Identifier: MIT */
/*
 * Commands and answers as values.  Operations and results, which they are made of here, are the
 * store's side: a command becomes an operation by the arguments of its verb, a result becomes a
 * reply by the fields that the tables say its verb tells.
 *
 * The replies of one call stand in one block, which goes with the last of them: so that there is
 * always an answer to give, it is allocated before anything is applied.  The values of a reply are
 * in a block of their own, or with a single command in the same one, if they fit.
 */
#include "config.h"

#include <usher/store.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/verbs.h"
#include "engine/door.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/result.h"

#define EPOCH_SIZE 24 /* a multiple of 8 */

#ifdef USHER_HOSTILE
#define SLICE 2      /* commands that are translated at a time */
#define INSIDE 1     /* bytes of values in the block of a single reply */
#define FEW_VALUES 2 /* before the heap is used for them */
#define FEW_BYTES 3
#else
#define SLICE 256
#define INSIDE 640
#define FEW_VALUES 64
#define FEW_BYTES 2048
#endif

/* ---- commands ------------------------------------------------------------------------- */

static size_t size_of(int32_t size, const char *text)
{
    return size >= 0 ? (size_t)size : text != NULL ? strlen(text) : 0;
}

static enum usher_status wrong(struct usher_result *r, const char *field, const char *what)
{
    char line[160];

    (void)snprintf(line, sizeof line, "%s %s", field, what);
    usher_result_fail(r, USHER_INVALID, line);
    return USHER_INVALID;
}

/* Is @v a text where it must be one, and only there? */
static const char *type_fault(const struct usher_value *v, bool text)
{
    if (v->size < USHER_TO_NUL)
        return "has a size that is wrong";
    if (text)
        return v->text == NULL ? "is not a text" : NULL;
    return v->text != NULL ? "is a number, not a text" : NULL;
}

/* A code by its word. */
static bool by_word(const struct usher__arg *arg, const struct usher_value *v, int64_t *ret)
{
    size_t size = size_of(v->size, v->text);

    for (int64_t i = arg->min; i <= arg->max; i++)
        if (strlen(arg->words[i]) == size && memcmp(arg->words[i], v->text, size) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

/* @epoch: room for the text that an epoch is as an argument. */
static enum usher_status give(const struct usher__arg *arg, const struct usher_value *v,
                              struct usher_operation *op, char epoch[EPOCH_SIZE],
                              struct usher_result *r)
{
    char *to = (char *)op + arg->offset;
    bool is_epoch = arg->code == USHER_FIELD_EPOCH;
    bool text = arg->type < USHER__ARG_INT && !is_epoch;
    bool word = arg->type == USHER__ARG_WORD && v->text != NULL && v->size >= USHER_TO_NUL;
    const char *fault = word ? NULL : type_fault(v, text);
    int64_t number = v->number;

    if (fault != NULL)
        return wrong(r, arg->word, fault);
    if (text || is_epoch) {
        struct usher_text t = { v->text, size_of(v->size, v->text) };

        if (is_epoch) {
            t.size = (size_t)snprintf(epoch, EPOCH_SIZE, "%016" PRIx64, (uint64_t)number);
            t.data = epoch;
        }
        memcpy(to, &t, sizeof t);
        return USHER_OK;
    }
    if (word && !by_word(arg, v, &number))
        return wrong(r, arg->word, "is not one of the words that there are for it");
    memcpy(to, &number, sizeof number);
    op->given |= arg->given;
    return USHER_OK;
}

/* Those of every verb; USHER_MISSING: it is another one. */
static enum usher_status give_common(const struct usher_value *v, struct usher_operation *op,
                                     struct usher_result *r)
{
    const struct usher_field_about *about = usher_about_field(v->field);
    const char *fault;

    if (v->field != USHER_FIELD_REQUEST && v->field != USHER_FIELD_NOW &&
        v->field != USHER_FIELD_WAIT)
        return USHER_MISSING;
    fault = type_fault(v, v->field == USHER_FIELD_REQUEST);
    if (fault != NULL)
        return wrong(r, about->word, fault);
    if (v->field == USHER_FIELD_REQUEST) {
        op->request.data = v->text;
        op->request.size = size_of(v->size, v->text);
    } else if (v->field == USHER_FIELD_NOW) {
        op->given |= USHER_GIVEN_NOW;
        op->now_ms = v->number;
    } else {
        if (v->number < 0 || v->number > USHER_WAIT_MAX)
            return wrong(r, about->word, "is not from 0 to 255");
        op->wait = (uint32_t)v->number;
    }
    return USHER_OK;
}

static const struct usher__arg *arg_of(const struct usher__noun *noun,
                                       const struct usher__verb *verb, uint32_t field)
{
    for (uint32_t bits = verb->order | verb->keys; bits != 0; bits &= bits - 1)
        if (noun->args[__builtin_ctz(bits)].code == field)
            return &noun->args[__builtin_ctz(bits)];
    return NULL;
}

static enum usher_status no_argument(struct usher_result *r, const struct usher_field_about *about,
                                     const struct usher__verb *verb)
{
    char what[80];

    (void)snprintf(what, sizeof what, "(%s) is not an argument of `%s`", about->name, verb->word);
    return wrong(r, about->word, what);
}

/* @c as an operation.  USHER_INVALID: @r says why. */
static enum usher_status enter(const struct usher_command *c, struct usher_operation *op,
                               char epoch[EPOCH_SIZE], struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun(c->verb >> 8);
    const struct usher__verb *verb = usher__verb(c->verb);

    memset(op, 0, sizeof *op);
    op->verb = (enum usher_verb)c->verb;
    if (verb == NULL || noun->noun == USHER_ROOMS)
        return wrong(r, "verb", "is not known");
    if (c->scope_size < USHER_TO_NUL)
        return wrong(r, "name of the scope", "has a size that is wrong");
    if (c->values == NULL && c->n != 0)
        return wrong(r, "values", "are NULL");
    op->scope.data = c->scope;
    op->scope.size = size_of(c->scope_size, c->scope);
    for (size_t i = 0; i < c->n; i++) {
        const struct usher_value *v = &c->values[i];
        const struct usher_field_about *about = usher_about_field(v->field);
        const struct usher__arg *arg;
        enum usher_status status;

        if (about == NULL)
            return wrong(r, "a field", "is not known");
        for (size_t k = 0; k < i; k++)
            if (c->values[k].field == v->field)
                return wrong(r, about->word, "is given twice");
        status = give_common(v, op, r);
        if (status == USHER_MISSING) {
            arg = arg_of(noun, verb, v->field);
            status = arg != NULL ? give(arg, v, op, epoch, r) : no_argument(r, about, verb);
        }
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

/* ---- replies ---------------------------------------------------------------------------- */

/* All replies of one call. */
struct heads {
    const struct usher_allocator *alloc;
    atomic_size_t left; /* of them */
    size_t size;        /* of the block */
    size_t inside;      /* bytes in it for the values of a single reply */
};

struct head {
    struct usher_reply r; /* first, so that it is this */
    struct heads *of;
    void *block;          /* values, then where each row begins, then the texts; NULL: nothing */
    size_t block_size;    /* 0: the block stands after the heads */
    const size_t *row_at; /* n_rows + 1 of them */
    uint32_t asked_at, n_asked; /* of the values: usher__reply_asked() */
};

static struct head *head_of(const struct usher_reply *reply)
{
    return (struct head *)(uintptr_t)reply;
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
        first[i].of = h;
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
    h = head->of;
    if (head->block_size != 0)
        (void)usher__resize(h->alloc, head->block, head->block_size, 0);
    if (atomic_fetch_sub_explicit(&h->left, 1, memory_order_acq_rel) == 1)
        (void)usher__resize(h->alloc, h, h->size, 0);
}

/* ---- what is gathered for one reply -------------------------------------------------------- */

/* Values with their texts, whose place is counted in `number` while the texts may still move. */
struct gather {
    const struct usher_allocator *alloc;
    struct usher_value few[FEW_VALUES], *values;
    char few_bytes[FEW_BYTES], *bytes;
    size_t n, room, n_bytes, room_bytes;
    bool nomem;
    /* Not NULL: nothing is gathered, each value is told to it. */
    const struct usher__listener *listener;
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
    g->listener = NULL;
}

static void gather_end(struct gather *g)
{
    if (g->values != g->few)
        (void)usher__resize(g->alloc, g->values, g->room * sizeof *g->values, 0);
    if (g->bytes != g->few_bytes)
        (void)usher__resize(g->alloc, g->bytes, g->room_bytes, 0);
}

/* @from, or where it has been moved to, with room for @need; *@room is what there is. */
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

static void add_number(struct gather *g, uint32_t field, int64_t number)
{
    struct usher_value *v;

    if (g->listener != NULL) {
        const struct usher_value told = { field, 0, number, NULL };

        g->listener->value(g->listener->payload, &told);
        return;
    }
    v = add(g, field);
    if (v != NULL)
        v->number = number;
}

static void add_text(struct gather *g, uint32_t field, const char *data, size_t size)
{
    struct usher_value *v;

    if (g->listener != NULL) {
        const struct usher_value told = { field, (int32_t)size, 0, size != 0 ? data : "" };

        g->listener->value(g->listener->payload, &told);
        return;
    }
    v = add(g, field);
    if (v == NULL)
        return;
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

/* Into the block of @head, with the texts where they will stay. */
static bool keep(const struct gather *g, struct head *head, const size_t *row_at, size_t n_rows,
                 const char *message)
{
    size_t rows = n_rows > 0 ? (n_rows + 1) * sizeof *row_at : 0;
    size_t said = strlen(message);
    size_t size = g->n * sizeof *g->values + rows + g->n_bytes + (said > 0 ? said + 1 : 0);
    struct heads *h = head->of;
    struct usher_value *values;
    char *bytes;

    if (g->nomem)
        return false;
    if (size == 0)
        return true;
    if (size <= h->inside) {
        head->block = head + 1;
    } else {
        head->block = usher__resize(h->alloc, NULL, 0, size);
        if (head->block == NULL)
            return false;
        head->block_size = size;
    }
    values = head->block;
    if (g->n > 0)
        memcpy(values, g->values, g->n * sizeof *values);
    bytes = (char *)(values + g->n);
    if (rows > 0) {
        head->row_at = memcpy(bytes, row_at, rows);
        bytes += rows;
    }
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
    return true;
}

/* ---- results ------------------------------------------------------------------------------ */

static const uint32_t form_fields[] = {
    USHER_FIELD_PREFIX, USHER_FIELD_SUFFIX,   USHER_FIELD_DATE,  USHER_FIELD_WIDTH,
    USHER_FIELD_BASE,   USHER_FIELD_STEP,     USHER_FIELD_RADIX, USHER_FIELD_CHECK,
    USHER_FIELD_ZONE,   USHER_FIELD_OVERFLOW,
};
static const uint32_t part_fields[] = { USHER_FIELD_PREFIX,     USHER_FIELD_DATE,
                                        USHER_FIELD_SUFFIX,     USHER_FIELD_NUMBER_MADE,
                                        USHER_FIELD_TEXT_VALUE, USHER_FIELD_CHECK_DIGIT };
static const uint32_t notice_fields[] = { USHER_FIELD_VERB,     USHER_FIELD_SUBJECT,
                                          USHER_FIELD_BEFORE,   USHER_FIELD_FROM_STATE,
                                          USHER_FIELD_TO_STATE, USHER_FIELD_DATA,
                                          USHER_FIELD_TIME,     USHER_FIELD_WAS,
                                          USHER_FIELD_MARK };

uint32_t usher__seen_more(uint32_t verb, bool rows, size_t i)
{
    const uint32_t *list = NULL;
    size_t n = 0;

    if (!rows && (verb == USHER_SERIAL_RULE || verb == USHER_SERIAL_SHOW)) {
        list = form_fields;
        n = sizeof form_fields / sizeof *form_fields;
    } else if (!rows && verb == USHER_SERIAL_PARSE) {
        list = part_fields;
        n = sizeof part_fields / sizeof *part_fields;
    } else if (rows && verb == USHER_ROOM_CHANGES) {
        list = notice_fields;
        n = sizeof notice_fields / sizeof *notice_fields;
    }
    return i < n ? list[i] : 0;
}

/* What there is none of is left out: 0 of a time, a token or a reason, what is below zero of what
 * is counted, a name of no bytes. */
static void see_number(struct gather *g, const struct usher__field *f, enum usher_noun noun,
                       int64_t number)
{
    const struct usher_field_about *about = usher_about_field(f->code);

    switch (about->type) {
    case USHER_TYPE_TIME:
        if (number <= 0 || number == USHER_NEVER)
            return;
        break;
    case USHER_TYPE_TOKEN:
        if (number == 0)
            return;
        break;
    case USHER_TYPE_INT:
    case USHER_TYPE_MS:
        if (number < 0)
            return;
        break;
    case USHER_TYPE_CODE:
        if (number == 0 && (f->code == USHER_FIELD_WHY || f->code == USHER_FIELD_PLACE ||
                            usher_code_word(noun, f->code, 0) == NULL))
            return;
        break;
    default:
        break;
    }
    add_number(g, f->code, number);
}

static void see(struct gather *g, const struct usher__field *f, const char *base,
                const struct usher_result *r)
{
    const char *at = base + f->offset;
    struct usher_text text;
    unsigned code;
    size_t size;
    bool yes;
    int64_t number;

    switch (f->type) {
    case USHER__FIELD_INT:
    case USHER__FIELD_UINT:
    case USHER__FIELD_WIDE:
        memcpy(&number, at, sizeof number);
        see_number(g, f, r->noun, number);
        break;
    case USHER__FIELD_CODE:
        memcpy(&code, at, sizeof code);
        see_number(g, f, r->noun, code);
        break;
    case USHER__FIELD_BOOL:
        memcpy(&yes, at, sizeof yes);
        add_number(g, f->code, yes);
        break;
    case USHER__FIELD_NAME:
    case USHER__FIELD_NEXT:
        memcpy(&size, at, sizeof size);
        if (size != 0)
            add_text(g, f->code, at + sizeof size, size);
        break;
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&text, at, sizeof text);
        if (text.size != 0 || usher_about_field(f->code)->type == USHER_TYPE_BYTES)
            add_text(g, f->code, text.data, text.size);
        break;
    default:
        break;
    }
}

/* ---- of one noun ---- */

static bool more_of(const struct usher_result *r)
{
    switch (r->noun) {
    case USHER_NUMBER:
        return r->of.number.more;
    case USHER_QUEUE:
        return r->of.queue.more;
    case USHER_ROOM:
        return r->of.room.more;
    case USHER_SERIAL:
        return r->of.serial.more;
    default:
        return false;
    }
}

static void see_room_of(struct gather *g, uint64_t epoch, uint64_t login, int64_t no)
{
    char name[USHER_QUEUE_ROOM_MAX];

    if (no != 0 && *usher_queue_room_name(name, epoch, login, no) != '\0')
        add_text(g, USHER_FIELD_ROOM, name, strlen(name));
}

static void see_form(struct gather *g, const struct usher_operation *op,
                     const struct usher_result *r)
{
    struct usher_serial_form f;

    if (!usher_serial_form_of(r, &f))
        return;
    add_text(g, USHER_FIELD_PREFIX, f.prefix, strlen(f.prefix));
    add_text(g, USHER_FIELD_SUFFIX, f.suffix, strlen(f.suffix));
    if (op->verb == USHER_SERIAL_PARSE) {
        const struct usher_serial_parts *p = &r->of.serial.of.parts;
        char check = (char)p->check;

        add_text(g, USHER_FIELD_DATE, op->arg.serial.serial.data + p->date_at,
                 (size_t)p->date_size);
        add_number(g, USHER_FIELD_NUMBER_MADE, p->number);
        add_number(g, USHER_FIELD_TEXT_VALUE, p->value);
        if (check != '\0')
            add_text(g, USHER_FIELD_CHECK_DIGIT, &check, 1);
        return;
    }
    add_text(g, USHER_FIELD_DATE, f.date, strlen(f.date));
    add_number(g, USHER_FIELD_WIDTH, f.width);
    add_number(g, USHER_FIELD_BASE, f.base);
    add_number(g, USHER_FIELD_STEP, f.step);
    add_number(g, USHER_FIELD_RADIX, f.radix);
    add_number(g, USHER_FIELD_CHECK, f.check);
    add_number(g, USHER_FIELD_ZONE, f.zone_min);
    add_number(g, USHER_FIELD_OVERFLOW, f.overflow);
}

static void see_notice(struct gather *g, const struct usher_operation *op,
                       const struct usher_result *r, const struct usher_room_result_row *row)
{
    struct usher_notice n;

    if (usher_room_notice(row, &op->scope, r->epoch, &n) != USHER_OK)
        return;
    add_number(g, USHER_FIELD_VERB, n.verb);
    if (n.subject.size != 0)
        add_text(g, USHER_FIELD_SUBJECT, n.subject.data, n.subject.size);
    add_number(g, USHER_FIELD_BEFORE, (int64_t)n.before);
    add_number(g, USHER_FIELD_FROM_STATE, n.from);
    add_number(g, USHER_FIELD_TO_STATE, n.to);
    add_text(g, USHER_FIELD_DATA, n.data.data, n.data.size);
    add_number(g, USHER_FIELD_TIME, n.now_ms);
    add_number(g, USHER_FIELD_WAS, (int64_t)n.was);
    add_number(g, USHER_FIELD_MARK, (int64_t)n.mark);
}

/* The rule itself is asked for. */
static bool is_rule(const struct usher_operation *op)
{
    return op->verb == USHER_SERIAL_RULE || op->verb == USHER_SERIAL_PARSE ||
           (op->verb == USHER_SERIAL_SHOW && op->arg.serial.serial.data == NULL);
}

/* A verb of a queue may be of an agent or of a user, and the result has fields of both. */
static bool queue_applies(const struct usher__field *f, const struct usher_operation *op,
                          const struct usher_queue_result *q)
{
    bool agent = op->arg.queue.agent.data != NULL;

    switch (f->code) {
    case USHER_FIELD_ROOM:
        return op->verb != USHER_QUEUE_ALIVE || !agent;
    case USHER_FIELD_LOGIN:
    case USHER_FIELD_ROOMS:
        return q->login != 0 && agent;
    case USHER_FIELD_AGENT_STATE:
        return agent || q->state != USHER_QUEUE_AGENT_GONE;
    case USHER_FIELD_INDEX:
    case USHER_FIELD_WAIT_MS:
        return q->place != USHER_QUEUE_PLACE_NONE;
    default:
        return true;
    }
}

/* Settings and figures are those of what is there. */
static bool has_extras(const struct usher_operation *op, const struct usher_result *r)
{
    return r->status != USHER_MISSING && (op->verb != USHER_SERIAL_SHOW || is_rule(op)) &&
           (op->verb != USHER_ROOM_OPEN || USHER_IS_DONE(r->status));
}

static void answer(struct gather *g, const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__field *f;
    struct usher__seen seen;
    bool extras = has_extras(op, r);

    if (r->status == USHER_MISSING && r->epoch == 0)
        return;
    usher__seen_begin(&seen, noun, op->verb, false);
    while ((f = usher__seen_next(&seen)) != NULL) {
        if ((seen.list == 2 && !extras) ||
            (r->noun == USHER_QUEUE && !queue_applies(f, op, &r->of.queue)))
            continue;
        if (f->type == USHER__FIELD_ROOM)
            see_room_of(g, r->epoch, r->of.queue.login, r->of.queue.no);
        else if (f->type != USHER__FIELD_NEXT || more_of(r))
            see(g, f, (const char *)r, r);
    }
    if (extras && is_rule(op))
        see_form(g, op, r);
}

static void row(struct gather *g, const struct usher_operation *op, const struct usher_result *r,
                const char *base, uint64_t serial)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__field *f;
    struct usher__seen seen;

    usher__seen_begin(&seen, noun, op->verb, true);
    while ((f = usher__seen_next(&seen)) != NULL) {
        if (f->type == USHER__FIELD_ROOM) {
            const struct usher_queue_result_row *q =
                (const struct usher_queue_result_row *)(const void *)base;

            see_room_of(g, q->epoch != 0 ? q->epoch : r->epoch, q->login, q->no);
        } else if (f->type == USHER__FIELD_SERIAL) {
            char text[USHER_SERIAL_TEXT_MAX + 1];
            size_t size = usher_serial_text(r, serial, text, sizeof text);

            add_text(g, f->code, text, size);
        } else {
            see(g, f, base, r);
        }
    }
    if (op->verb == USHER_ROOM_CHANGES)
        see_notice(g, op, r, (const struct usher_room_result_row *)(const void *)base);
}

/* Rows as a program sees them: the rows of a result, but of serials that were taken one each. */
static size_t rows_of(const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    size_t n;

    memcpy(&n, (const char *)r + noun->n_rows_at, sizeof n);
    /* a rule is shown by a row of no numbers, in which only its form is */
    if (is_rule(op))
        return 0;
    if (op->verb == USHER_SERIAL_TAKE) {
        size_t all = 0;

        for (size_t i = 0; i < n; i++)
            all += (size_t)r->of.serial.rows[i].n;
        return all;
    }
    return n;
}

static void rows(struct gather *g, const struct usher_operation *op, const struct usher_result *r,
                 size_t *row_at, size_t n)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const char *base;
    uint64_t serial = 0;

    memcpy(&base, (const char *)r + noun->rows_at, sizeof base);
    if (op->verb == USHER_SERIAL_TAKE) {
        size_t k = 0;

        for (const struct usher_serial_result_row *s = r->of.serial.rows; k < n; s++)
            for (int64_t i = 0; i < s->n && k < n; i++, k++) {
                struct usher_serial_result_row one = *s;

                one.first += i;
                row_at[k] = g->n;
                row(g, op, r, (const char *)&one, k);
            }
        row_at[n] = g->n;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        row_at[i] = g->n;
        row(g, op, r, base + i * noun->row_size, serial);
        if (r->noun == USHER_SERIAL)
            serial += (uint64_t)r->of.serial.rows[i].n;
    }
    row_at[n] = g->n;
}

static const char not_kept[] = "out of memory for the answer: it may have been applied";

/* What a reply begins with. */
static void leave_head(const struct usher_result *r, struct usher_reply *to)
{
    to->status = r->status;
    to->epoch = r->epoch;
    to->version = r->version;
    to->due_ms = r->due_ms;
    to->repeated = r->repeated;
    to->replicas = r->replicas;
    to->more = r->status < USHER_INVALID && more_of(r);
}

/* It was for another version (if-version), so there is nothing to say but which one there is. */
static bool other_version(const struct usher_operation *op, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)op->verb >> 8);
    int64_t version;

    if (r->status != USHER_STALE || (op->given & noun->if_version) == 0)
        return false;
    memcpy(&version, (const char *)op + noun->if_version_at, sizeof version);
    return (uint64_t)version != r->version;
}

/* What of @op is told with the answer. */
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
                add_text(g, e->field, text.data, text.size);
        } else if ((op->given & arg->given) != 0) {
            memcpy(&number, at, sizeof number);
            add_number(g, e->field, number);
        }
    }
    if (scope)
        add_text(g, USHER__ECHO_SCOPE, op->scope.data, op->scope.size);
    if (op->wait != 0)
        add_number(g, USHER_FIELD_WAIT, op->wait);
    if (other_version(op, r))
        add_number(g, USHER_FIELD_IF_VERSION, 0);
}

/* What was answered, as the reply @head.  It has no memory for more than that it was done: then it
 * is not known what the answer is. */
static void leave(const struct usher_operation *op, const struct usher_result *r, struct head *head)
{
    struct usher_reply *to = &head->r;
    const struct usher_allocator *alloc = head->of->alloc;
    size_t n = r->status < USHER_INVALID ? rows_of(op, r) : 0;
    size_t *row_at = n > 0 ? usher__resize(alloc, NULL, 0, (n + 1) * sizeof *row_at) : NULL;
    struct gather g;
    bool kept = false;

    leave_head(r, to);
    gather_begin(&g, alloc);
    if (n == 0 || row_at != NULL) {
        if (r->status < USHER_INVALID)
            answer(&g, op, r);
        to->n = g.n;
        if (n > 0)
            rows(&g, op, r, row_at, n);
        head->asked_at = (uint32_t)g.n;
        if (r->status < USHER_INVALID)
            echo(&g, op, r, r->noun == USHER_ROOM && n > 0);
        head->n_asked = (uint32_t)g.n - head->asked_at;
        kept = keep(&g, head, row_at, n, r->message);
    }
    gather_end(&g);
    if (row_at != NULL)
        (void)usher__resize(alloc, row_at, (n + 1) * sizeof *row_at, 0);
    if (kept) {
        to->n_rows = n;
        return;
    }
    to->n = head->n_asked = 0;
    if (to->status < USHER_INVALID) {
        to->status = USHER_UNKNOWN;
        to->message = not_kept;
    } else { /* says enough but for the details */
        to->message = usher_status_text(to->status);
    }
}

/* ---- the door -------------------------------------------------------------------------------- */

static enum usher_status call_fault(const struct usher_command *commands, size_t n,
                                    int64_t timeout_ms, struct usher_reply **ret_replies)
{
    const char *fault = NULL;

    if (n == 0 || n > USHER_BATCH_MAX)
        fault = "n is not from 1 to 65536";
    else if (commands == NULL || ret_replies == NULL)
        fault = "commands or ret_replies is NULL";
    else if (timeout_ms < 0 || timeout_ms > USHER_SPAN_MAX)
        fault = "timeout_ms is not from 0 to a hundred years";
    if (fault == NULL)
        return USHER_OK;
    usher__message_set("execute: %s", fault);
    return USHER_INVALID;
}

/* What lasts for one slice of a batch. */
struct slice {
    struct usher_operation *ops;
    struct usher_result *results;
    size_t *at; /* of which entry each is */
    char (*epochs)[EPOCH_SIZE];
    struct usher__entry *entries;
    size_t room; /* of each of them */
    void *block; /* NULL: there is room for one, in here */
    struct {
        struct usher_operation op;
        struct usher_result result;
        size_t at;
        char epoch[EPOCH_SIZE];
        struct usher__entry entry;
    } one;
};
#define SLICE_SIZE(n)                                                                       \
    ((n) * (sizeof(struct usher_operation) + sizeof(struct usher_result) + sizeof(size_t) + \
            sizeof(struct usher__entry) + EPOCH_SIZE))

/* For batches of @n.  false: no memory, and there is room for one. */
static bool slice_begin(struct slice *s, const struct usher_allocator *alloc, size_t n)
{
    s->room = n < SLICE ? n : SLICE;
    s->block = n > 1 ? usher__resize(alloc, NULL, 0, SLICE_SIZE(s->room)) : NULL;
    if (s->block == NULL) {
        s->room = 1;
        s->ops = &s->one.op;
        s->results = &s->one.result;
        s->at = &s->one.at;
        s->epochs = &s->one.epoch;
        s->entries = &s->one.entry;
        return n == 1;
    }
    s->ops = s->block;
    s->results = (struct usher_result *)(s->ops + s->room);
    s->entries = (struct usher__entry *)(s->results + s->room);
    s->at = (size_t *)(s->entries + s->room);
    s->epochs = (char(*)[EPOCH_SIZE])(s->at + s->room);
    return true;
}

static void slice_end(const struct slice *s, const struct usher_allocator *alloc)
{
    if (s->block != NULL)
        (void)usher__resize(alloc, s->block, SLICE_SIZE(s->room), 0);
}

/* Up to @s->room commands.  Answers the worst of what there was. */
static enum usher_status slice(struct usher_engine *e, const struct slice *s,
                               const struct usher__entry *entries, size_t n, int64_t timeout_ms)
{
    enum usher_status worst = USHER_OK;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const struct usher_command *command = entries[i].command;
        struct usher_result *r = &s->results[k];

        usher__result_init(r, (enum usher_noun)(command->verb >> 8), e->opt.alloc);
        entries[i].reply->verb = command->verb;
        entries[i].reply->tag = command->tag;
        if (enter(command, &s->ops[k], s->epochs[k], r) == USHER_OK)
            s->at[k++] = i;
        else
            leave(&s->ops[k], r, head_of(entries[i].reply));
    }
    if (k > 0)
        worst = usher__engine_operate(e, s->ops, s->results, k, timeout_ms);
    for (size_t i = 0; i < k; i++) {
        struct head *head = head_of(entries[s->at[i]].reply);

        if (worst == USHER_INVALID) /* the engine itself: results are not touched */
            usher_result_fail(&s->results[i], USHER_INVALID, usher_message());
        leave(&s->ops[i], &s->results[i], head);
        usher_result_done(&s->results[i]);
        if (head->r.status == USHER_UNKNOWN && worst < USHER_UNKNOWN)
            worst = USHER_UNKNOWN;
    }
    return worst == USHER_INVALID ? USHER_OK : worst;
}

/* @op was answered with @r, of which @listener hears. */
static void tell(const struct usher_operation *op, const struct usher_result *r,
                 const struct usher_allocator *alloc, const struct usher__listener *listener)
{
    struct usher_reply reply = { .verb = (uint32_t)op->verb, .message = r->message };
    struct gather g;
    size_t row_at[2];

    leave_head(r, &reply);
    listener->begin(listener->payload, &reply);
    if (r->status < USHER_INVALID) {
        gather_begin(&g, alloc);
        g.listener = listener;
        answer(&g, op, r);
        if (rows_of(op, r) == 1)
            rows(&g, op, r, row_at, 1);
        gather_end(&g);
    }
    listener->end(listener->payload, &reply);
}

enum usher_status usher__door_ask(struct usher_engine *e, const struct usher_command *command,
                                  int64_t timeout_ms, const struct usher__listener *listener,
                                  enum usher_status *ret_status)
{
    struct usher_reply *none;
    struct usher_operation op;
    struct usher_result r;
    char epoch[EPOCH_SIZE];
    enum usher_status status = call_fault(command, 1, timeout_ms, &none);

    if (status != USHER_OK)
        return status;
    usher__result_init(&r, (enum usher_noun)(command->verb >> 8), e->opt.alloc);
    if (enter(command, &op, epoch, &r) == USHER_OK) {
        status = usher__engine_operate(e, &op, &r, 1, timeout_ms != 0 ? timeout_ms : e->timeout_ms);
        if (status == USHER_INVALID)
            return status; /* the engine itself: the result is not touched */
    }
    *ret_status = r.status;
    if (listener->wants || !USHER_IS_DONE(r.status))
        tell(&op, &r, e->opt.alloc, listener);
    usher_result_done(&r);
    return USHER_OK;
}

static int64_t left_ms(int64_t until_ms)
{
    int64_t left = until_ms - usher__monotonic_ms();

    return left > 0 ? left : 1;
}

enum usher_status usher_execute(struct usher_engine *e, const struct usher_command *commands,
                                size_t n, int64_t timeout_ms, struct usher_reply **ret_replies)
{
    enum usher_status worst = usher__engine_check(e);
    struct slice s;
    struct head *heads;
    int64_t until_ms;

    if (worst == USHER_OK)
        worst = call_fault(commands, n, timeout_ms, ret_replies);
    if (ret_replies != NULL)
        *ret_replies = NULL;
    if (worst != USHER_OK)
        return worst;
    heads = heads_new(e->opt.alloc, n);
    if (heads == NULL || !slice_begin(&s, e->opt.alloc, n)) {
        if (heads != NULL)
            (void)usher__resize(e->opt.alloc, heads->of, heads->of->size, 0);
        usher__message_set("execute: out of memory");
        return USHER_NOMEM;
    }
    until_ms = usher__monotonic_ms() + (timeout_ms != 0 ? timeout_ms : e->timeout_ms);
    for (size_t i = 0; i < n; i++)
        ret_replies[i] = &heads[i].r;
    for (size_t from = 0, k; from < n; from += k) {
        enum usher_status status;

        for (k = 0; k < s.room && k < n - from; k++)
            s.entries[k] = (struct usher__entry){ &commands[from + k], &heads[from + k].r };
        status = slice(e, &s, s.entries, k, left_ms(until_ms));
        worst = status > worst ? status : worst;
    }
    slice_end(&s, e->opt.alloc);
    return worst;
}

struct usher_reply *usher_reply_of(const struct usher_operation *command,
                                   const struct usher_result *result)
{
    struct head *head;

    if (command == NULL || result == NULL || usher__verb((unsigned)command->verb) == NULL ||
        (result->status < USHER_INVALID && (unsigned)result->noun != (unsigned)command->verb >> 8))
        return NULL;
    head = heads_new(usher__allocator(NULL), 1);
    if (head == NULL)
        return NULL;
    head->r.verb = (uint32_t)command->verb;
    leave(command, result, head);
    return &head->r;
}

void usher__door_execute(struct usher_engine *e, const struct usher__entry *entries, size_t n,
                         int64_t timeout_ms)
{
    int64_t until_ms = usher__monotonic_ms() + timeout_ms;
    struct slice s;

    (void)slice_begin(&s, e->opt.alloc, n);
    for (size_t from = 0, k; from < n; from += k) {
        k = n - from < s.room ? n - from : s.room;
        (void)slice(e, &s, entries + from, k, left_ms(until_ms));
    }
    slice_end(&s, e->opt.alloc);
}

/* ---- lists of rooms: of the whole store, so no command of one scope ------------------------- */

/* @r, which is given back, as a reply. */
static enum usher_status rooms_reply(struct usher_engine *e, struct usher_result *r,
                                     enum usher_status status, struct usher_reply **ret)
{
    const struct usher_room_result *room = &r->of.room;
    struct head *head = heads_new(e->opt.alloc, 1);
    size_t n = room->n_rows;
    size_t *row_at = usher__resize(e->opt.alloc, NULL, 0, (n + 1) * sizeof *row_at);
    struct gather g;

    gather_begin(&g, e->opt.alloc);
    if (room->more) {
        add_text(&g, USHER_FIELD_NAME, room->name, room->name_size);
        add_number(&g, USHER_FIELD_CREATED, room->created_ms);
    }
    for (size_t i = 0; i < n && row_at != NULL; i++) {
        const struct usher_room_result_row *row = &room->rows[i];

        row_at[i] = g.n;
        add_number(&g, USHER_FIELD_KIND, row->kind);
        add_text(&g, USHER_FIELD_NAME, row->id.data, row->id.size);
        add_number(&g, USHER_FIELD_SINCE, row->since_ms);
    }
    if (row_at != NULL)
        row_at[n] = g.n;
    if (head != NULL && row_at != NULL && keep(&g, head, row_at, n, r->message)) {
        leave_head(r, &head->r);
        head->r.verb = USHER_ROOM_SHOW; /* fields and rows are read as those of a room */
        head->r.more = room->more;
        head->r.n = room->more ? 2 : 0;
        head->r.n_rows = n;
        *ret = &head->r;
    } else {
        if (head != NULL)
            (void)usher__resize(e->opt.alloc, head->of, head->of->size, 0);
        usher__message_set("room: %s", not_kept);
        status = USHER_NOMEM;
    }
    gather_end(&g);
    if (row_at != NULL)
        (void)usher__resize(e->opt.alloc, row_at, (n + 1) * sizeof *row_at, 0);
    usher_result_done(r);
    return status;
}

/* Is there somebody to answer to? */
static enum usher_status rooms_check(struct usher_engine *e, struct usher_reply **ret)
{
    enum usher_status status = usher__engine_check(e);

    if (ret != NULL)
        *ret = NULL;
    if (status != USHER_OK || ret != NULL)
        return status;
    usher__message_set("room: ret_reply is NULL");
    return USHER_INVALID;
}

enum usher_status usher_room_list(struct usher_engine *e, const char *after, int64_t created_ms,
                                  size_t max, int64_t now_ms, struct usher_reply **ret_reply)
{
    enum usher_status status = rooms_check(e, ret_reply);
    struct usher_result r;

    if (status != USHER_OK)
        return status;
    status = usher_room_list_result(e, after, created_ms, max, now_ms, &r);
    return rooms_reply(e, &r, status, ret_reply);
}

enum usher_status usher_room_patrol(struct usher_engine *e, const char *worker, size_t batch,
                                    int64_t every_ms, int64_t lease_ms, int64_t now_ms,
                                    struct usher_reply **ret_reply)
{
    enum usher_status status = rooms_check(e, ret_reply);
    struct usher_result r;

    if (status != USHER_OK)
        return status;
    status = usher_room_patrol_result(e, worker, batch, every_ms, lease_ms, now_ms, &r);
    return rooms_reply(e, &r, status, ret_reply);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

const struct usher_value *usher_reply_values(const struct usher_reply *reply, size_t row,
                                             size_t *ret_n)
{
    const struct head *head = head_of(reply);

    if (row == USHER_ANSWER) {
        *ret_n = reply->n;
        return reply->values;
    }
    *ret_n = 0;
    if (row >= reply->n_rows)
        return NULL;
    *ret_n = head->row_at[row + 1] - head->row_at[row];
    return reply->values + head->row_at[row];
}

const struct usher_value *usher__reply_asked(const struct usher_reply *reply, size_t *ret_n)
{
    const struct head *head = head_of(reply);

    *ret_n = head->n_asked;
    return head->n_asked > 0 ? reply->values + head->asked_at : NULL;
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
