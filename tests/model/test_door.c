/* SPDX-License-Identifier: MIT */
/*
 * Commands as values (usher/command.h) have the effect of the same commands as operations, and
 * their replies have the values of the results.
 *
 * A world is some commands of every noun (random_commands.h) in batches.  They are executed by
 * usher_operate() on an empty store; then, on another empty store of that kind, by
 * usher_execute().  Invariants, by name:
 *
 *   heads     each reply has the status, version, due time, … of the result.
 *   values    each value is the field of the result that the tables of the core name;
 *             an absent field has no value; there are no other values.
 *   written   each reply as MessagePack, read by a reader of its own, is equal to that as JSON.
 *   returned  a field that results have is a value of the answer to at least one verb.
 *
 * World i of a run has the seed USHER_SEED + i.  USHER_UNTOLD=1 prints each field that a verb sets
 * and does not return.
 */
#include "lib/test.h"

#include <usher/command.h>
#include <usher/store/store.h>

#include "core/verbs.h"
#include "change/result.h"
#include "lib/packed.h"
#include "lib/stores.h"
#include "model/random_commands.h"
#include "model/gen.h"

#define BATCH_MAX 700
#define VALUES_MAX 40

struct world {
    uint64_t seed;
    const char *store;
    struct random_command *commands;
    struct usher_result *results;
    size_t *batches; /* sizes */
    size_t n, n_batches;
    struct rng rng;
};

/* ---- commands as values --------------------------------------------------------------- */

struct given {
    struct usher_value values[VALUES_MAX];
    char *texts[VALUES_MAX + 1];
    size_t n, n_texts;
};

/* Copy the text to memory that ends with it, so that a checker finds a read past its end. */
static const char *text_of(struct given *g, struct rng *r, const struct usher_text *t,
                           int32_t *ret_size)
{
    bool nul = memchr(t->data, '\0', t->size) == NULL && rng_chance(r, 50);
    char *to = malloc(t->size + 1);

    if (to == NULL)
        abort();
    if (!nul && t->size > 0) {
        free(to);
        to = malloc(t->size);
        if (to == NULL)
            abort();
    }
    memcpy(to, t->data, t->size);
    if (nul || t->size == 0)
        to[t->size] = '\0';
    g->texts[g->n_texts++] = to;
    *ret_size = nul ? USHER_TO_NUL : (int32_t)t->size;
    return to;
}

static struct usher_value *add(struct given *g, uint32_t field)
{
    struct usher_value *v = &g->values[g->n++];

    assert_true(g->n <= VALUES_MAX);
    memset(v, 0, sizeof *v);
    v->field = field;
    return v;
}

static void as_values(const struct usher_operation *c, struct rng *r, struct given *g,
                      struct usher_command *to)
{
    const struct usher__noun *noun = usher__noun((unsigned)c->verb >> 8);
    const struct usher__verb *verb = usher__verb((unsigned)c->verb);

    g->n = g->n_texts = 0;
    for (uint64_t bits = verb->order | verb->keys; bits != 0; bits &= bits - 1) {
        const struct usher__arg *arg = &noun->args[__builtin_ctzll(bits)];
        const char *at = (const char *)c + arg->offset;
        struct usher_value *v;
        struct usher_text t;

        if (arg->type < USHER__ARG_INT) {
            memcpy(&t, at, sizeof t);
            if (t.data == NULL)
                continue;
            v = add(g, arg->code);
            if (arg->code == USHER_FIELD_EPOCH)
                v->number = (int64_t)strtoull(t.data, NULL, 16);
            else
                v->text = text_of(g, r, &t, &v->size);
        } else if ((c->given & arg->given) != 0) {
            v = add(g, arg->code);
            memcpy(&v->number, at, sizeof v->number);
            if (arg->type == USHER__ARG_WORD && v->number >= arg->min && v->number <= arg->max &&
                rng_chance(r, 50)) {
                t.data = arg->words[v->number];
                t.size = strlen(t.data);
                v->text = text_of(g, r, &t, &v->size);
                v->number = 99;
            }
        }
    }
    if (c->request.data != NULL) {
        struct usher_value *v = add(g, USHER_FIELD_REQUEST);

        v->text = text_of(g, r, &c->request, &v->size);
    }
    if ((c->given & USHER_GIVEN_NOW) != 0)
        add(g, USHER_FIELD_NOW)->number = c->now_ms;
    if (rng_chance(r, 10))
        add(g, USHER_FIELD_WAIT)->number = c->wait;
    for (size_t i = g->n; i > 1; i--) { /* in any order */
        size_t k = (size_t)rng_below(r, i);
        struct usher_value v = g->values[k];

        g->values[k] = g->values[i - 1];
        g->values[i - 1] = v;
    }
    memset(to, 0, sizeof *to);
    to->verb = (uint32_t)c->verb;
    to->scope = text_of(g, r, &c->scope, &to->scope_size);
    to->values = g->n > 0 ? g->values : NULL;
    to->n = g->n;
    to->tag = g;
}

static void given_done(struct given *g)
{
    for (size_t i = 0; i < g->n_texts; i++)
        free(g->texts[i]);
}

/* ---- what a reply should say ------------------------------------------------------------ */

static char why[400]; /* it does not */

static bool fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fault(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return false;
}

struct wanted {
    const struct usher_reply *reply;
    size_t row;
    size_t n; /* values that should be there so far */
};

static const struct usher_value *value(const struct wanted *w, uint32_t field)
{
    size_t n;
    const struct usher_value *v = usher_reply_values(w->reply, w->row, &n);

    for (size_t i = 0; i < n; i++)
        if (v[i].field == field)
            return &v[i];
    return NULL;
}

static const char *name_of(uint32_t field)
{
    return usher_about_field(field)->name;
}

static bool wants_number(struct wanted *w, uint32_t field, int64_t number, bool there)
{
    const struct usher_value *v = value(w, field);

    if (!there)
        return v == NULL || fault("%s is there", name_of(field));
    w->n++;
    if (v == NULL)
        return fault("%s is not there", name_of(field));
    if (v->text != NULL || v->size != 0 || v->number != number ||
        usher_about_field(field)->type >= USHER_TYPE_TEXT ||
        usher_reply_int(w->reply, w->row, field) != number ||
        usher_reply_text(w->reply, w->row, field, NULL) != NULL)
        return fault("%s is %" PRId64 ", not %" PRId64, name_of(field), v->number, number);
    return true;
}

static bool wants_text(struct wanted *w, uint32_t field, const char *data, size_t size, bool there)
{
    const struct usher_value *v = value(w, field);
    size_t got;

    if (!there)
        return v == NULL || fault("%s is there", name_of(field));
    w->n++;
    if (v == NULL)
        return fault("%s is not there", name_of(field));
    if (v->text == NULL || v->number != 0 || v->size != (int32_t)size ||
        (size != 0 && memcmp(v->text, data, size) != 0) || v->text[size] != '\0' ||
        usher_about_field(field)->type < USHER_TYPE_TEXT ||
        usher_reply_text(w->reply, w->row, field, &got) != v->text || got != size ||
        usher_reply_int(w->reply, w->row, field) != USHER_NONE)
        return fault("%s is `%s`, not `%.*s`", name_of(field), v->text != NULL ? v->text : "(none)",
                     (int)size, data);
    return true;
}

/* A number of a result, is it there?  See command.h: what does not apply is not. */
static bool is_there(const struct usher__field *f, enum usher_noun noun, int64_t number)
{
    switch (usher_about_field(f->code)->type) {
    case USHER_TYPE_TIME:
        return number > 0 && number != USHER_NEVER;
    case USHER_TYPE_TOKEN:
        return number != 0;
    case USHER_TYPE_INT:
    case USHER_TYPE_MS:
    case USHER_TYPE_SHARE:
        return number >= 0;
    case USHER_TYPE_CODE:
        return number != 0 || (usher_code_word(noun, f->code, 0) != NULL &&
                               f->code != USHER_FIELD_WHY && f->code != USHER_FIELD_PLACE);
    default:
        return true;
    }
}

static bool wants_room(struct wanted *w, uint64_t epoch, uint64_t login, int64_t no)
{
    char name[USHER_QUEUE_ROOM_MAX];

    (void)usher_queue_room_name(name, epoch, login, no);
    return wants_text(w, USHER_FIELD_ROOM, name, strlen(name), no != 0);
}

static bool wants_visit(struct wanted *w, uint64_t epoch, uint64_t token)
{
    char name[48];
    int size = snprintf(name, sizeof name, "%016" PRIx64 ".%" PRIu64, epoch, token);

    return wants_text(w, USHER_FIELD_VISIT, name, (size_t)size, token != 0);
}

static bool wants_field(struct wanted *w, const struct usher__field *f, const char *base,
                        const struct usher_result *r)
{
    const char *at = base + f->offset;
    struct usher_text t;
    int64_t number;
    size_t size;
    int code;

    switch (f->type) {
    case USHER__FIELD_BOOL:
        return wants_number(w, f->code, *(const bool *)at, true);
    case USHER__FIELD_CODE:
        memcpy(&code, at, sizeof code);
        if (value(w, f->code) != NULL && code != 0 &&
            usher_reply_word(w->reply, w->row, f->code) == NULL)
            return fault("%s %d has no word", name_of(f->code), code);
        return wants_number(w, f->code, code, is_there(f, r->noun, code));
    case USHER__FIELD_NAME:
        memcpy(&size, at, sizeof size);
        return wants_text(w, f->code, at + sizeof size, size, size != 0);
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&t, at, sizeof t);
        return wants_text(w, f->code, t.data, t.size,
                          t.size != 0 || usher_about_field(f->code)->type == USHER_TYPE_BYTES);
    default:
        memcpy(&number, at, sizeof number);
        return wants_number(w, f->code, number, is_there(f, r->noun, number));
    }
}

static bool more_of(const struct usher_result *r)
{
    return r->noun == USHER_NUMBER   ? r->of.number.more
           : r->noun == USHER_QUEUE  ? r->of.queue.more
           : r->noun == USHER_ROOM   ? r->of.room.more
           : r->noun == USHER_SERIAL ? r->of.serial.more
           : r->noun == USHER_ID     ? r->of.id.more
                                     : false;
}

static bool wants_form(struct wanted *w, const struct usher_operation *c,
                       const struct usher_result *r)
{
    struct usher_serial_form f;
    const struct usher_serial_parts *p = &r->of.serial.of.parts;
    char digit = (char)p->check;

    if (!usher_serial_form_of(r, &f))
        return true;
    if (!wants_text(w, USHER_FIELD_PREFIX, f.prefix, strlen(f.prefix), true) ||
        !wants_text(w, USHER_FIELD_SUFFIX, f.suffix, strlen(f.suffix), true))
        return false;
    if (c->verb == USHER_SERIAL_PARSE)
        return wants_text(w, USHER_FIELD_DATE, c->arg.serial.serial.data + p->date_at,
                          (size_t)p->date_size, true) &&
               wants_number(w, USHER_FIELD_NUMBER_MADE, p->number, true) &&
               wants_number(w, USHER_FIELD_TEXT_VALUE, p->value, true) &&
               wants_text(w, USHER_FIELD_CHECK_DIGIT, &digit, 1, digit != '\0');
    return wants_text(w, USHER_FIELD_DATE, f.date, strlen(f.date), true) &&
           wants_number(w, USHER_FIELD_WIDTH, f.width, true) &&
           wants_number(w, USHER_FIELD_BASE, f.base, true) &&
           wants_number(w, USHER_FIELD_STEP, f.step, true) &&
           wants_number(w, USHER_FIELD_RADIX, f.radix, true) &&
           wants_number(w, USHER_FIELD_CHECK, f.check, true) &&
           wants_number(w, USHER_FIELD_ZONE, f.zone_min, true) &&
           wants_number(w, USHER_FIELD_OVERFLOW, f.overflow, true);
}

/* Members of a row with a notice, by their names in the data. */
static const struct {
    enum usher_noun noun;
    const char *name;
    uint32_t field;
} in_data[] = {
    { USHER_NUMBER, "group", USHER_FIELD_GROUP },
    { USHER_NUMBER, "node", USHER_FIELD_NODE },
    { USHER_NUMBER, "actor", USHER_FIELD_ACTOR },
    { USHER_QUEUE, "lane", USHER_FIELD_LANE },
    { USHER_QUEUE, "lanes", USHER_FIELD_LANES },
    { USHER_QUEUE, "priority", USHER_FIELD_PRIORITY },
    { USHER_QUEUE, "since", USHER_FIELD_SINCE },
    { USHER_QUEUE, "outcome", USHER_FIELD_OUTCOME },
    { USHER_QUEUE, "room", USHER_FIELD_ROOM },
    { USHER_QUEUE, "visit", USHER_FIELD_VISIT },
    { USHER_QUEUE, "reason", USHER_FIELD_REASON },
    { USHER_QUEUE, "agent_state", USHER_FIELD_AGENT_STATE },
    { USHER_QUEUE, "capacity", USHER_FIELD_CAPACITY },
    { USHER_QUEUE, "level", USHER_FIELD_LEVEL },
    { USHER_QUEUE, "actor", USHER_FIELD_ACTOR },
    { USHER_ROOM, "actor", USHER_FIELD_ACTOR },
    { USHER_SERIAL, "actor", USHER_FIELD_ACTOR },
    { USHER_SERIAL, "number", USHER_FIELD_NUMBER_MADE },
    { USHER_SERIAL, "first", USHER_FIELD_FIRST },
    { USHER_SERIAL, "n", USHER_FIELD_N },
    { USHER_ID, "first", USHER_FIELD_FIRST },
    { USHER_ID, "n", USHER_FIELD_N },
};

/* A value of the data, as a text of its field. */
static bool wants_data(struct wanted *w, enum usher_noun noun, uint32_t field,
                       const struct usher_text *text)
{
    const struct usher_value *v = value(w, field);
    char is[32];
    const char *word;

    w->n++;
    if (v == NULL)
        return fault("%s is not there", name_of(field));
    if (v->text != NULL && (field == USHER_FIELD_ROOM || field == USHER_FIELD_VISIT))
        /* after the epoch */
        return (size_t)v->size == 17 + text->size &&
               memcmp(v->text + 17, text->data, text->size) == 0;
    if (v->text != NULL)
        return (size_t)v->size == text->size && memcmp(v->text, text->data, text->size) == 0;
    (void)snprintf(is, sizeof is, "%" PRId64, v->number);
    word = usher_about_field(field)->type == USHER_TYPE_CODE
               ? usher_code_word(noun, field, v->number)
               : is;
    return (word != NULL && strlen(word) == text->size &&
            memcmp(word, text->data, text->size) == 0) ||
           fault("%s is not that of the notice", name_of(field));
}

static bool wants_subject(struct wanted *w, const struct usher_notice *n)
{
    const struct usher_text *s = &n->subject;

    switch (usher_notice_subject(n)) {
    case USHER_SUBJECT_NUMBER:
        return wants_text(w, USHER_FIELD_NUMBER, s->data, s->size, true) &&
               wants_number(w, USHER_FIELD_STATE, n->to, true);
    case USHER_SUBJECT_AGENT:
        return wants_text(w, USHER_FIELD_AGENT, s->data, s->size, true) &&
               wants_number(w, USHER_FIELD_AGENT_STATE, n->to, true);
    case USHER_SUBJECT_USER:
        return wants_text(w, USHER_FIELD_USER, s->data, s->size, true) &&
               wants_number(w, USHER_FIELD_USER_STATE, n->to, true) &&
               wants_text(w, USHER_FIELD_AGENT, n->owner.data, n->owner.size, n->owner.size != 0);
    case USHER_SUBJECT_MEMBER:
        return wants_number(w, USHER_FIELD_MEMBER_STATE, n->to, true);
    case USHER_SUBJECT_ROLE:
    case USHER_SUBJECT_SHARE:
        return wants_text(w, USHER_FIELD_OWNER, n->owner.data, n->owner.size, n->owner.size != 0);
    default:
        return true;
    }
}

static bool wants_rest(struct wanted *w, const struct usher_notice *n)
{
    struct usher_text name, text;
    struct usher_fields f;
    uint64_t version;

    if (!wants_subject(w, n))
        return false;
    usher_fields_begin(&f, &n->data);
    while (usher_fields_next(&f, &name, &text, &version))
        for (size_t i = 0; i < sizeof in_data / sizeof *in_data; i++)
            if (in_data[i].noun == n->noun && strlen(in_data[i].name) == name.size &&
                memcmp(in_data[i].name, name.data, name.size) == 0 &&
                !wants_data(w, n->noun, in_data[i].field, &text))
                return false;
    return true;
}

static bool wants_notice(struct wanted *w, const struct usher_operation *c,
                         const struct usher_result *r, const struct usher_text *value)
{
    bool room = r->noun == USHER_ROOM;
    struct usher_notice n;

    if (usher_notice_read(r->noun, &c->scope, 1, value, &n) != USHER_OK)
        return fault("no notice");
    if (!room &&
        (!wants_text(w, USHER_FIELD_OWNER, n.owner.data, n.owner.size, n.owner.size != 0) ||
         !wants_number(w, USHER_FIELD_VERSION, (int64_t)n.version, true)))
        return false;
    return wants_number(w, USHER_FIELD_VERB, n.verb, true) &&
           wants_text(w, USHER_FIELD_SUBJECT, n.subject.data, n.subject.size,
                      n.subject.size != 0) &&
           wants_number(w, USHER_FIELD_BEFORE, (int64_t)n.before, true) &&
           wants_number(w, USHER_FIELD_FROM_STATE, n.from, true) &&
           wants_number(w, USHER_FIELD_TO_STATE, n.to, true) &&
           wants_text(w, USHER_FIELD_DATA, n.data.data, n.data.size, true) &&
           wants_number(w, USHER_FIELD_TIME, n.now_ms, true) &&
           wants_number(w, USHER_FIELD_TOKEN, (int64_t)n.token, n.token != 0) &&
           wants_number(w, USHER_FIELD_UNTIL, n.until_ms, n.until_ms != USHER_NONE) &&
           wants_number(w, USHER_FIELD_WAS, (int64_t)n.was, room) &&
           wants_number(w, USHER_FIELD_MARK, (int64_t)n.mark, room) && wants_rest(w, &n);
}

static bool is_rule(const struct usher_operation *c)
{
    return c->verb == USHER_SERIAL_RULE || c->verb == USHER_SERIAL_PARSE ||
           (c->verb == USHER_SERIAL_SHOW && c->arg.serial.serial.data == NULL);
}

/* The last version that watchers have depends on how batches are cut. */
static bool depends_on_batch(const struct usher_operation *c, uint32_t code)
{
    return c->verb == USHER_ROOM_ALIVE &&
           (code == USHER_FIELD_SINCE_VERSION || code == USHER_FIELD_MARK);
}

/* Return whether an answer has the field: one about an agent, or about a user. */
static bool applies(const struct usher_operation *c, const struct usher_result *r, uint32_t code)
{
    const struct usher_queue_result *q = &r->of.queue;
    bool of_agent = c->arg.queue.agent.data != NULL;

    if (r->noun != USHER_QUEUE)
        return true;
    if (code == USHER_FIELD_INDEX || code == USHER_FIELD_WAIT_MS || code == USHER_FIELD_LANE ||
        code == USHER_FIELD_SINCE)
        return q->place != USHER_QUEUE_PLACE_NONE;
    if (code == USHER_FIELD_WAITING)
        return c->verb == USHER_QUEUE_STATS || q->place == USHER_QUEUE_PLACE_QUEUE;
    if (code == USHER_FIELD_REASON)
        return c->verb != USHER_QUEUE_ALIVE || of_agent;
    if (code == USHER_FIELD_OUTCOME || code == USHER_FIELD_FINISHED)
        return q->outcome != USHER_QUEUE_OUTCOME_NONE;
    if (code == USHER_FIELD_UNTIL)
        return q->outcome == USHER_QUEUE_OUTCOME_NONE;
    if (code == USHER_FIELD_LOGIN || code == USHER_FIELD_ROOMS)
        return of_agent && q->login != 0;
    if (code == USHER_FIELD_AGENT_STATE)
        return of_agent || q->state != USHER_QUEUE_AGENT_GONE;
    return (code != USHER_FIELD_ROOM && code != USHER_FIELD_VISIT) ||
           c->verb != USHER_QUEUE_ALIVE || !of_agent;
}

static bool nothing_else(const struct wanted *w)
{
    size_t n;

    (void)usher_reply_values(w->reply, w->row, &n);
    return w->n == n || fault("%zu values, not %zu", n, w->n);
}

static bool answer_same(const struct usher_operation *c, const struct usher_result *r,
                        const struct usher_reply *reply)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__field *lists[] = { noun->outs, noun->views, noun->extras };
    const unsigned sizes[] = { noun->n_outs, noun->n_views, noun->n_extras };
    struct wanted w = { reply, USHER_ANSWER, 0 };
    bool there = r->status != USHER_MISSING && (c->verb != USHER_SERIAL_SHOW || is_rule(c)) &&
                 (c->verb != USHER_ROOM_OPEN || USHER_IS_DONE(r->status));

    if (r->status == USHER_MISSING && r->epoch == 0)
        return nothing_else(&w);
    for (unsigned list = 0; list < 3; list++)
        for (unsigned i = 0; i < sizes[list]; i++) {
            const struct usher__field *f = &lists[list][i];
            size_t size;

            if ((f->verbs >> (((unsigned)c->verb & 0xff) - 1) & 1u) == 0 || (list == 2 && !there))
                continue;
            if (!applies(c, r, f->code)) {
                if (value(&w, f->code) != NULL)
                    return fault("%s is there", name_of(f->code));
                continue;
            }
            if (depends_on_batch(c, f->code)) {
                w.n += value(&w, f->code) != NULL;
                continue;
            }
            if (f->type == USHER__FIELD_NEXT) {
                memcpy(&size, (const char *)r + f->offset, sizeof size);
                if (!wants_text(&w, f->code, (const char *)r + f->offset + sizeof size, size,
                                size != 0 && more_of(r)))
                    return false;
            } else if (f->type == USHER__FIELD_MADE && f->code == USHER_FIELD_ROOM) {
                if (!wants_room(&w, reply->epoch, r->of.queue.login, r->of.queue.no))
                    return false;
            } else if (f->type == USHER__FIELD_MADE && f->code == USHER_FIELD_VISIT) {
                if (!wants_visit(&w, reply->epoch, r->of.queue.token))
                    return false;
            } else if (!wants_field(&w, f, (const char *)r, r)) {
                return false;
            }
        }
    return (!there || !is_rule(c) || wants_form(&w, c, r)) && nothing_else(&w);
}

/* Row @row of the reply, of @base; @serial: which serial of the result it is. */
static bool row_same(const struct usher_operation *c, const struct usher_result *r,
                     const struct usher_reply *reply, size_t row, const char *base, size_t serial)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    struct wanted w = { reply, row, 0 };

    for (unsigned list = 0; list < 2; list++) {
        unsigned n = list == 0 ? noun->n_row : noun->n_row_views;

        for (unsigned i = 0; i < n; i++) {
            const struct usher__field *f = list == 0 ? &noun->row[i] : &noun->row_views[i];
            char text[USHER_SERIAL_TEXT_MAX + 1];

            if ((f->verbs >> (((unsigned)c->verb & 0xff) - 1) & 1u) == 0)
                continue;
            if (c->verb == USHER_ROOM_CHANGES && f->code == USHER_FIELD_OWNER)
                continue; /* wants_subject() */
            if (f->type == USHER__FIELD_MADE &&
                (f->code == USHER_FIELD_ROOM || f->code == USHER_FIELD_VISIT)) {
                const struct usher_queue_result_row *q = (const void *)base;
                const struct usher_value *v = value(&w, f->code);
                uint64_t epoch = reply->epoch;

                /* of a queue that was there before: another one on each of the two */
                if (q->epoch != 0 && v != NULL)
                    epoch = strtoull(v->text, NULL, 16);
                if (f->code == USHER_FIELD_ROOM ? !wants_room(&w, epoch, q->login, q->no)
                                                : !wants_visit(&w, epoch, q->token))
                    return false;
            } else if (f->type == USHER__FIELD_MADE) {
                size_t size = usher_serial_text(r, serial, text, sizeof text);

                if (!wants_text(&w, f->code, text, size, true))
                    return false;
            } else if (!wants_field(&w, f, base, r)) {
                return false;
            }
        }
    }
    if ((usher__verb((unsigned)c->verb)->flags & USHER__NOTICES) != 0) {
        static const size_t values[] = {
            [USHER_NUMBER] = offsetof(struct usher_number_result_row, value),
            [USHER_QUEUE] = offsetof(struct usher_queue_result_row, value),
            [USHER_ROOM] = offsetof(struct usher_room_result_row, value),
            [USHER_SERIAL] = offsetof(struct usher_serial_result_row, value),
            [USHER_ID] = offsetof(struct usher_id_result_row, value),
        };
        struct usher_text packed;

        memcpy(&packed, base + values[r->noun], sizeof packed);
        if (!wants_notice(&w, c, r, &packed))
            return false;
    }
    return nothing_else(&w);
}

static bool rows_same(const struct usher_operation *c, const struct usher_result *r,
                      const struct usher_reply *reply)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const char *rows;
    size_t n, k = 0, serial = 0;

    memcpy(&n, (const char *)r + noun->n_rows_at, sizeof n);
    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    if (is_rule(c))
        return reply->n_rows == 0 || fault("a rule has rows");
    for (size_t i = 0; i < n; i++) {
        const char *base = rows + i * noun->row_size;
        struct usher_serial_result_row one;

        if (c->verb != USHER_SERIAL_TAKE) {
            if (k >= reply->n_rows)
                return fault("%" PRIu32 " rows only", reply->n_rows);
            if (!row_same(c, r, reply, k++, base, serial))
                return false;
            if (r->noun == USHER_SERIAL)
                serial += (size_t)r->of.serial.rows[i].n;
            continue;
        }
        memcpy(&one, base, sizeof one);
        for (int64_t each = one.n; each > 0; each--, one.first++, k++)
            if (k >= reply->n_rows || !row_same(c, r, reply, k, (const char *)&one, k))
                return why[0] != '\0' ? false : fault("%" PRIu32 " rows only", reply->n_rows);
    }
    if (usher_reply_values(reply, k, &n) != NULL || n != 0)
        return fault("a row too many");
    return k == reply->n_rows || fault("%" PRIu32 " rows, not %zu", reply->n_rows, k);
}

/* A reply that was sent as bytes is the same in every form. */
static bool same_when_sent(const struct usher_reply *reply)
{
    const size_t size = usher_reply_pack(reply, NULL, 0);
    const size_t length = usher_reply_write(reply, USHER_FORM_JSON, NULL, 0);
    unsigned char *bytes = malloc(2 * size + 1);
    char *text = malloc(2 * (length + 1));
    struct usher_reply *sent = NULL;
    bool good = false;

    if (bytes != NULL && text != NULL && usher_reply_pack(reply, bytes, size) == size &&
        usher_reply_unpack(bytes, size, &sent) == USHER_OK) {
        good = usher_reply_pack(sent, bytes + size, size) == size &&
               memcmp(bytes, bytes + size, size) == 0 &&
               usher_reply_write(reply, USHER_FORM_JSON, text, length + 1) ==
                   usher_reply_write(sent, USHER_FORM_JSON, text + length + 1, length + 1) &&
               strcmp(text, text + length + 1) == 0;
        usher_reply_done(sent);
    }
    free(bytes);
    free(text);
    return good || fault("another reply in bytes");
}

static bool same(const struct usher_operation *c, const struct usher_result *r,
                 const struct usher_reply *reply)
{
    why[0] = '\0';
    if (!same_when_sent(reply))
        return false;
    if (reply->status != r->status)
        return fault("%s `%s`, not %s `%s`", usher_status_word(reply->status), reply->message,
                     usher_status_word(r->status), r->message);
    if (reply->verb != (uint32_t)c->verb || (reply->epoch != 0) != (r->epoch != 0) ||
        reply->version != r->version || reply->due_ms != r->due_ms ||
        reply->repeated != r->repeated || reply->replicas != r->replicas)
        return fault("the head is another one");
    if (strcmp(reply->message, r->message) != 0)
        return fault("message `%s`, not `%s`", reply->message, r->message);
    if (r->status >= USHER_INVALID)
        return (reply->n == 0 && reply->n_rows == 0 && !reply->more) ||
               fault("a failure has values");
    if (reply->more != more_of(r))
        return fault("more is another one");
    return answer_same(c, r, reply) && rows_same(c, r, reply);
}

/* ---- as bytes ------------------------------------------------------------------------------ */

static char *written(const struct usher_reply *reply, enum usher_form form, size_t *ret_size)
{
    size_t size = usher_reply_write(reply, form, NULL, 0);
    char *to = malloc(size + 1);

    if (to == NULL || usher_reply_write(reply, form, to, size + 1) != size || to[size] != '\0')
        abort();
    *ret_size = size;
    return to;
}

/* A token is a string in JSON and an integer in MessagePack: digits alone lose their quotes. */
static void unquote(char *json)
{
    char *to = json;

    while (*json != '\0') {
        size_t n = strcspn(json, "\"");
        size_t digits;

        memmove(to, json, n);
        to += n;
        json += n;
        if (*json == '\0')
            break;
        digits = json[1] == '-' ? 1 : 0;
        digits += strspn(json + 1 + digits, "0123456789");
        if (json[1 + digits] == '"') {
            memmove(to, json + 1, digits);
            to += digits;
            json += digits + 2;
            continue;
        }
        n = 1;
        while (json[n] != '"')
            n += json[n] == '\\' ? 2 : 1;
        memmove(to, json, n + 1);
        to += n + 1;
        json += n + 1;
    }
    *to = '\0';
}

static bool written_same(const struct usher_reply *reply)
{
    size_t json_size, packed_size, read_size;
    char *json = written(reply, USHER_FORM_JSON, &json_size);
    char *packed = written(reply, USHER_FORM_PACKED, &packed_size), *read = NULL;
    FILE *f = open_memstream(&read, &read_size);
    bool good = f != NULL && packed_print(packed, packed_size, f);

    if (f == NULL || fclose(f) != 0)
        abort();
    unquote(json);
    unquote(read);
    if (!good || strcmp(json, read) != 0)
        good = fault("%s; packed: %.100s", json, read);
    free(json);
    free(packed);
    free(read);
    return good;
}

/* ---- returned fields ---------------------------------------------------------------------- */

enum { OUTS, EXTRAS, ROW, LISTS };

static const struct usher__field *list_of(const struct usher__noun *noun, unsigned list,
                                          unsigned *ret_n)
{
    *ret_n = list == OUTS ? noun->n_outs : list == EXTRAS ? noun->n_extras : noun->n_row;
    return list == OUTS ? noun->outs : list == EXTRAS ? noun->extras : noun->row;
}

static uint32_t set[USHER_ROOMS][LISTS][80]; /* by noun, list, field: verbs that set it */

/* Return the bits of the verbs that return the field @f. */
static uint32_t returned_by(const struct usher__noun *noun, unsigned list,
                            const struct usher__field *f)
{
    const struct usher__field *views = list == ROW ? noun->row_views : noun->views;
    unsigned n = list == ROW ? noun->n_row_views : noun->n_views;
    uint32_t verbs = f->verbs;

    for (unsigned i = 0; i < n; i++)
        /* the number of a room comes with its login */
        if (views[i].offset == f->offset ||
            (views[i].type == USHER__FIELD_MADE && f->code == USHER_FIELD_ROOMS))
            verbs |= views[i].verbs;
    return verbs;
}

static bool differs(const struct usher__field *f, const char *a, const char *b)
{
    size_t size = f->type == USHER__FIELD_BOOL   ? sizeof(bool)
                  : f->type == USHER__FIELD_CODE ? sizeof(int)
                                                 : sizeof(int64_t);

    if (f->type == USHER__FIELD_TEXT || f->type == USHER__FIELD_VALUE)
        return ((const struct usher_text *)(const void *)(a + f->offset))->size != 0;
    return memcmp(a + f->offset, b + f->offset, size) != 0;
}

static void learn(const struct usher_operation *c, const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    uint32_t verb = 1u << (((unsigned)c->verb & 0xff) - 1);
    static const char zero[1024];
    struct usher_result fresh;
    const char *rows;
    size_t n_rows;

    if (r->status >= USHER_INVALID)
        return;
    usher__result_init(&fresh, r->noun, NULL);
    memcpy(&n_rows, (const char *)r + noun->n_rows_at, sizeof n_rows);
    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    for (unsigned list = 0; list < LISTS; list++) {
        unsigned n;
        const struct usher__field *f = list_of(noun, list, &n);

        for (unsigned i = 0; i < n; i++)
            for (size_t k = 0; k < (list == ROW ? n_rows : 1); k++)
                if ((list != EXTRAS || f[i].verb == (unsigned)c->verb) &&
                    differs(&f[i], list == ROW ? rows + k * noun->row_size : (const char *)r,
                            list == ROW ? zero : (const char *)&fresh))
                    set[noun->noun][list][i] |= verb;
    }
}

TEST(each_setting_that_is_set_is_returned)
{
    bool print = number_from("USHER_UNTOLD", 0) != 0;
    unsigned unreturned = 0;

    for (unsigned code = 1; code < USHER_ROOMS; code++) {
        const struct usher__noun *noun = usher__noun(code);

        for (unsigned list = 0; list < LISTS; list++) {
            unsigned n;
            const struct usher__field *f = list_of(noun, list, &n);

            for (unsigned i = 0; i < n; i++) {
                uint32_t returned = returned_by(noun, list, &f[i]),
                         not = set[code][list][i] & ~returned;

                if (f[i].code == USHER_FIELD_FORM) /* seen as the serials that are made of it */
                    continue;
                if (set[code][list][i] != 0 && returned == 0) {
                    print_message("%s %s: set, and returned by no verb\n", noun->word,
                                  name_of(f[i].code));
                    unreturned++;
                }
                for (; print && not != 0; not &= not -1)
                    print_message("%s %s %s%s is not told\n", noun->word,
                                  noun->verbs[__builtin_ctz(not )].word, list == ROW ? "row " : "",
                                  name_of(f[i].code));
            }
        }
    }
    assert_int_equal(unreturned, 0);
}

/* ---- worlds -------------------------------------------------------------------------------- */

static void as_operations(struct world *w, const struct test_store *store)
{
    static const unsigned extremes[] = { 0, 0, 2, 20 };
    static struct usher_operation commands[BATCH_MAX];
    struct usher_engine *e = engine_on_store(store);
    struct random_options opt;
    struct random_listener ear;
    struct random_commands *b;

    memset(&ear, 0, sizeof ear);
    memset(&opt, 0, sizeof opt);
    opt.seed = w->seed;
    opt.nouns =
        rng_chance(&w->rng, 40) ? RANDOM_SPOKEN : 1u << (1 + rng_below(&w->rng, USHER_ROOMS - 1));
    opt.requests = (unsigned)rng_below(&w->rng, 3) * 15;
    opt.extremes = extremes[rng_below(&w->rng, 4)];
    opt.wrong = (unsigned)rng_below(&w->rng, 3) * 5;
    opt.presence = rng_chance(&w->rng, 30);
    opt.least = rng_chance(&w->rng, 20);
    b = random_open(&opt);
    for (size_t at = 0, k; at < w->n; at += k) {
        size_t most = rng_chance(&w->rng, 60) ? 1 : rng_chance(&w->rng, 80) ? 20 : BATCH_MAX;

        k = 1 + (size_t)rng_below(&w->rng, most);
        k = w->n - at < k ? w->n - at : k;
        w->batches[w->n_batches++] = k;
        for (size_t i = 0; i < k; i++) {
            random_next(b, &w->commands[at + i]);
            random_epoch_mend(&w->commands[at + i]);
            random_resolve(&w->commands[at + i], &ear);
            commands[i] = w->commands[at + i].c;
        }
        assert_int_not_equal(usher_operate(e, commands, w->results + at, k), USHER_INVALID);
        for (size_t i = 0; i < k; i++) {
            random_listen(&ear, &commands[i], &w->results[at + i]);
            random_learn(b, &commands[i], &w->results[at + i]);
            learn(&commands[i], &w->results[at + i]);
        }
    }
    random_close(b);
    usher_close(e);
}

/* False: @ret_at is where it is otherwise. */
static bool as_values_all(struct world *w, const struct test_store *store, size_t *ret_at)
{
    static struct usher_command commands[BATCH_MAX];
    static struct usher_reply *replies[BATCH_MAX];
    static struct given given[BATCH_MAX];
    struct usher_engine *e = engine_on_store(store);
    struct random_listener ear;
    bool good = true;
    size_t at = 0;

    memset(&ear, 0, sizeof ear);
    for (size_t i = 0; i < w->n_batches && good; at += w->batches[i++]) {
        size_t n = w->batches[i];

        for (size_t k = 0; k < n; k++) {
            random_resolve(&w->commands[at + k], &ear);
            as_values(&w->commands[at + k].c, &w->rng, &given[k], &commands[k]);
        }
        assert_int_not_equal(usher_execute(e, commands, n, 0, replies), USHER_INVALID);
        for (size_t k = 0; k < n; k++) {
            const struct usher_operation *c = &w->commands[at + k].c;
            struct usher_result result = { .epoch = replies[k]->epoch };

            assert_ptr_equal(replies[k]->tag, &given[k]);
            random_listen(&ear, c, &result);
            if (good && !(same(c, &w->results[at + k], replies[k]) && written_same(replies[k]))) {
                *ret_at = at + k;
                good = false;
            }
            given_done(&given[k]);
            usher_reply_done(replies[k]);
        }
    }
    usher_close(e);
    return good;
}

static size_t world_run(const struct test_store *store, uint64_t seed)
{
    struct world w = { .seed = seed, .store = store->name };
    size_t bad = 0;
    bool good;

    rng_seed(&w.rng, ~seed);
    w.n = rng_chance(&w.rng, 70) ? 100 + (size_t)rng_below(&w.rng, 300) : 2000;
    w.commands = calloc(w.n, sizeof *w.commands);
    w.results = calloc(w.n, sizeof *w.results);
    w.batches = calloc(w.n, sizeof *w.batches);
    if (w.commands == NULL || w.results == NULL || w.batches == NULL)
        abort();
    as_operations(&w, store);
    good = as_values_all(&w, store, &bad);
    if (!good) {
        (void)fprintf(stderr, "\nUSHER_SEED=%" PRIu64 " USHER_STORES=%s: command %zu: %s\n  ", seed,
                      store->name, bad, why);
        gen_print(stderr, &w.commands[bad].c);
        (void)fputc('\n', stderr);
    }
    for (size_t i = 0; i < w.n; i++)
        usher_result_done(&w.results[i]);
    free(w.commands);
    free(w.results);
    free(w.batches);
    if (!good)
        fail();
    return w.n;
}

TEST(values_of_a_reply_equal_the_result)
{
    uint64_t most = budget_of("USHER_STEPS", budget_long() ? 300000 : 24000) / n_stores;

    for (unsigned i = 0; i < n_stores; i++) {
        uint64_t seed = number_from("USHER_SEED", 5001), steps = 0;
        unsigned worlds = 0;

        for (; steps < most; seed++, worlds++)
            steps += world_run(&stores[i], seed);
        print_message("%s: %u worlds, %" PRIu64 " commands\n", stores[i].name, worlds, steps);
    }
}

TEST(redis_takes_part)
{
    if (stores_named("redis") == NULL)
        stores_skip("redis");
}

static int program_begin(void)
{
    print_message("USHER_SEED=%" PRIu64 "\n", number_from("USHER_SEED", 5001));
    return stores_start();
}

TEST_PROGRAM(program_begin, stores_stop);
