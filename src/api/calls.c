/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "api/calls.h"

#include <stdio.h>
#include <string.h>

#include "engine/door.h"
#include "engine/engine.h"
#include "encode/bind.h"
#include "change/memory.h"
#include "change/result.h"
#include "encode/result_fields.h"
#include "encode/answer.h"

/* The beginning of the structs of all nouns. */
struct options {
    size_t size;
    void *post;
    int64_t timeout_ms;
    const char *request;
    int64_t now_ms, wait;
};

#define VALUES_MAX 64    /* maximum of one call: more than any noun has members to give */
#define STRUCT_MAX 65536 /* maximum of `size` in a struct of a later version */
#define HERE_MAX 1024    /* maximum size of options and settings in this version */

/* Inlined once for each noun, whose tables are constants, so that the compiler evaluates them, and
 * a few instructions remain for each member.  A loop that reads the tables takes five times as
 * many. */
#define INTO static inline __attribute__((always_inline)) void

/* ---- arguments -------------------------------------------------------------------------- */

static enum usher_status __attribute__((noinline)) refuse(uint32_t verb, const char *what)
{
    struct usher_verb_about about = { .size = sizeof about };

    (void)usher_about_verb(verb, &about);
    usher__message_set("%s %s: %s", about.noun, about.word, what);
    return USHER_INVALID;
}

struct usher_value usher__call_bytes(uint32_t field, const struct usher_text *text)
{
    struct usher_value v = { field, 0, 0, text != NULL ? text->data : NULL };

    if (v.text != NULL)
        v.size = text->size < INT32_MAX ? (int32_t)text->size : INT32_MAX;
    return v;
}

/* Copy a struct of another size than in this version. */
static const void *__attribute__((noinline))
copied_here(const void *p, const struct usher__shape *shape, void *copy)
{
    return shape->size <= HERE_MAX && usher__struct_take(copy, shape->size, p) ? copy : NULL;
}

/* Return @p, of the program, as a struct of the size in this version: members after the end of an
 * older, shorter one are not given.  NULL: it is longer, and sets members that this version does
 * not have. */
static inline const void *as_here(const void *p, const struct usher__shape *shape, void *copy)
{
    size_t size;

    memcpy(&size, p, sizeof size);
    return size == shape->size ? p : copied_here(p, shape, copy);
}

/* One command on the caller's stack: it is filled value by value and executed, and its answer is
 * written.  Nothing is allocated for it. */
struct asking {
    struct usher_operation op;
    struct usher_result r;
    char epoch[USHER__EPOCH_SIZE];
    struct usher__binding in;
    enum usher_status status; /* of the values so far: the first fault counts */
};

/* The destination of the arguments of a call: an operation; or, if it is posted or has a reply, the
 * values of a command. */
struct usher__given {
    struct asking *ask;         /* NULL: a command */
    struct usher_command *c;    /* its n counts them */
    struct usher_value *values; /* VALUES_MAX of them */
};

INTO give(const struct usher__given *to, const struct usher_value *v)
{
    struct asking *ask = to->ask;

    if (ask != NULL) {
        if (ask->status == USHER_OK)
            ask->status = usher__operation_give(&ask->in, v);
    } else {
        to->values[to->c->n++] = *v;
    }
}

/* Give the member @m at @at, if it is set. */
static void __attribute__((noinline))
give_member(const struct usher__given *to, const struct usher__member *m, const char *at)
{
    struct usher_value v = { m->field, 0, 0, NULL };
    struct usher_text text;
    int code;

    switch (m->kind) {
    case USHER__MEMBER_CODE:
        memcpy(&code, at, sizeof code);
        v.number = code != USHER__CODE_OFF ? code : 0;
        if (code != 0)
            give(to, &v);
        return;
    case USHER__MEMBER_STRING:
        memcpy(&v.text, at, sizeof v.text);
        v.size = USHER_TO_NUL;
        break;
    case USHER__MEMBER_BYTES:
        memcpy(&text, at, sizeof text);
        v = usher__call_bytes(m->field, &text);
        break;
    default:
        memcpy(&v.number, at, sizeof v.number);
        if (v.number == 0)
            return;
        if (v.number == USHER_NONE && m->kind == USHER__MEMBER_NUMBER)
            v.number = 0;
        give(to, &v);
        return;
    }
    if (v.text != NULL)
        give(to, &v);
}

/* Give those of @n members that are set. */
INTO give_members(const struct usher__given *to, const struct usher__member *members, size_t n,
                  const void *from)
{
#pragma GCC unroll 64
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)from + members[i].offset;
        uint64_t first = 0;

        /* Most are not set, and one that is not set begins with zeros, whatever its kind. */
        memcpy(&first, at, members[i].kind == USHER__MEMBER_CODE ? sizeof(int) : sizeof first);
        if (first != 0 || sizeof(char *) < sizeof first)
            give_member(to, &members[i], at);
    }
}

/* Return whether the subject of a verb is given: a text that is not NULL, a token that is not 0. */
static bool is_given(const struct usher_value *v)
{
    enum usher_type type;

    if (v->text != NULL || v->number != 0)
        return true;
    type = usher_about_field(v->field)->type;
    return type != USHER_TYPE_TEXT && type != USHER_TYPE_BYTES && type != USHER_TYPE_TOKEN;
}

/* Give the members with which the options of all nouns begin. */
static void give_common(const struct usher__given *to, const struct options *o)
{
    const struct usher_value values[] = { USHER_T(USHER_FIELD_REQUEST, o->request),
                                          USHER_N(USHER_FIELD_NOW, o->now_ms),
                                          USHER_N(USHER_FIELD_WAIT, o->wait) };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].text != NULL || values[i].number != 0)
            give(to, &values[i]);
}

/* ---- answers ----------------------------------------------------------------------------- */

static const struct usher_value *find(const struct usher_value *values, size_t n, uint32_t field)
{
    for (size_t i = 0; i < n; i++)
        if (values[i].field == field)
            return &values[i];
    return NULL;
}

/* Write those members that *@to has space for; @more is searched for fields that @values lack. */
static void tell_members(const struct usher__shape *shape, bool settings,
                         const struct usher_value *values, size_t n, const struct usher_value *more,
                         size_t n_more, void *to)
{
    size_t size;

    memcpy(&size, to, sizeof size);
    for (size_t i = 0; i < shape->n; i++) {
        const struct usher__member *m = &shape->members[i];
        const struct usher_value *v;

        if (!usher__fits(m, size))
            continue;
        v = find(values, n, m->told);
        if (v == NULL)
            v = find(more, n_more, m->told);
        usher__answer_fill_member(m, v, settings, (char *)to + m->offset);
    }
}

/* ---- a call -------------------------------------------------------------------------------- */

/* Answer a call that failed before there was an answer. */
static enum usher_status __attribute__((noinline))
nothing_told(const struct usher__calls *of, enum usher_status status, struct usher__answer *answer)
{
    struct usher_reply none = { .due_ms = USHER_NEVER, .message = usher_message() };

    if (answer == NULL || answer->size < sizeof *answer || answer->size > STRUCT_MAX)
        return status;
    usher__answer_fill_head(&of->answer, answer, &none);
    return status;
}

/* A call.  Its structs have the size of this version, or are NULL. */
struct call {
    const struct usher__calls *of;
    uint32_t verb;
    const char *scope;
    const struct usher_value *given;
    size_t n_given;
    const void *settings;
    const struct options *opt;
};

INTO give_all(const struct usher__given *to, const struct call *c)
{
    for (size_t i = 0; i < c->n_given; i++)
        if (is_given(&c->given[i]))
            give(to, &c->given[i]);
    if (c->settings != NULL)
        c->of->settings.give(to, c->settings);
    if (c->opt == NULL)
        return;
    if (c->opt->request != NULL || c->opt->now_ms != 0 || c->opt->wait != 0)
        give_common(to, c->opt);
    c->of->options.give(to, c->opt);
}

static inline enum usher_status ask(struct usher_engine *e, const struct call *c,
                                    struct usher__answer *answer)
{
    struct asking a;
    const struct usher__given to = { .ask = &a };
    int64_t timeout_ms = c->opt != NULL ? c->opt->timeout_ms : 0;
    enum usher_status status = timeout_ms != 0 ? usher__door_fault(true, 1, timeout_ms) : USHER_OK;

    a.in.op = &a.op;
    a.in.epoch = a.epoch;
    a.in.r = &a.r;
    usher__result_blank(&a.r, (enum usher_noun)(c->verb >> 8), e->opt.alloc);
    a.status = usher__operation_begin(&a.in, c->verb, c->scope, USHER_TO_NUL);
    give_all(&to, c);
    if (status == USHER_OK && a.status == USHER_OK)
        status = usher__engine_operate(e, &a.op, &a.r, 1, timeout_ms);
    if (status == USHER_INVALID) /* a fault of the call or the engine: the result was not written */
        return nothing_told(c->of, status, answer);
    status = a.r.status;
    if (answer != NULL || !USHER_IS_DONE(status))
        usher__answer_fill(&a.op, &a.r, &c->of->answer, answer);
    usher_result_done(&a.r);
    return status;
}

/* Post @c, or execute it for a reply. */
static enum usher_status __attribute__((noinline))
command(struct usher_engine *e, const struct call *c, struct usher_reply **ret_reply)
{
    struct usher_value values[VALUES_MAX];
    struct usher_command command = { c->verb, USHER_TO_NUL, c->scope, values, 0, NULL };
    const struct usher__given to = { .c = &command, .values = values };
    int64_t timeout_ms = c->opt != NULL ? c->opt->timeout_ms : 0;
    struct usher_reply *reply;
    enum usher_status status;

    give_all(&to, c);
    command.tag = c->opt != NULL ? c->opt->post : NULL;
    if (command.tag != NULL || ret_reply == NULL)
        return usher_post(e, &command, 1, timeout_ms);
    status = usher_execute(e, &command, 1, timeout_ms, &reply);
    if (reply == NULL)
        return status;
    if (!USHER_IS_DONE(reply->status)) {
        int64_t why = usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_WHY);

        usher__answer_fill_message(reply, why != USHER_NONE ? why : 0);
    }
    *ret_reply = reply;
    return reply->status;
}

enum usher_status usher__call(struct usher_engine *e, const struct usher__calls *of, uint32_t verb,
                              const char *scope, const struct usher_value *given, size_t n_given,
                              const void *settings, const void *opt, void *answer,
                              struct usher_reply **ret_reply)
{
    struct usher__answer *to = answer;
    uint64_t opt_here[HERE_MAX / 8], settings_here[HERE_MAX / 8];
    struct call c = { of, verb, scope, given, n_given, NULL, NULL };
    enum usher_status status = usher__engine_check(e);

    c.opt = opt != NULL ? as_here(opt, &of->options, opt_here) : NULL;
    c.settings = settings != NULL ? as_here(settings, &of->settings, settings_here) : NULL;
    if (ret_reply != NULL)
        *ret_reply = NULL;
    if (status == USHER_OK) {
        if (to != NULL && (to->size < sizeof *to || to->size > STRUCT_MAX))
            status = refuse(verb, "answer: initialise the struct with its _INIT");
        else if ((opt != NULL && c.opt == NULL) || (settings != NULL && c.settings == NULL))
            status = refuse(verb,
                            "options or settings: initialise the struct with its _INIT, and set no "
                            "members that this version of the library does not know");
    }
    if (status != USHER_OK)
        return nothing_told(of, status, to);
    if (ret_reply != NULL || (c.opt != NULL && c.opt->post != NULL)) {
        const struct call copy = c; /* values without an address may stay in registers */

        return command(e, &copy, ret_reply);
    }
    return ask(e, &c, to);
}

/* ---- reading replies ----------------------------------------------------------------------- */

/* Return whether @reply can be read as one of @of, into @ret. */
static bool readable(const struct usher__calls *of, const struct usher_reply *reply,
                     const void *ret, size_t least)
{
    size_t size;

    if (reply == NULL || ret == NULL || reply->verb >> 8 != (uint32_t)of->noun)
        return false;
    memcpy(&size, ret, sizeof size);
    return size >= least && size <= STRUCT_MAX;
}

bool usher__call_answer(const struct usher__calls *of, const struct usher__shape *shape,
                        const struct usher_reply *reply, void *ret)
{
    const struct usher_value *row = NULL;
    size_t n = 0;

    if (!readable(of, reply, ret, sizeof(struct usher__answer)))
        return false;
    if (reply->n_rows == 1)
        row = usher_reply_values(reply, 0, &n);
    usher__answer_fill_head(shape, ret, reply);
    tell_members(shape, false, reply->values, reply->n, row, n, ret);
    return true;
}

bool usher__call_values(const struct usher__calls *of, const struct usher__shape *shape,
                        const struct usher_reply *reply, size_t i, void *ret)
{
    const struct usher_value *values;
    size_t n;

    if (!readable(of, reply, ret, sizeof(size_t)))
        return false;
    values = usher_reply_values(reply, i, &n);
    if (i != USHER_ANSWER && values == NULL)
        return false;
    tell_members(shape, shape == &of->settings, values, n, NULL, 0, ret);
    return true;
}

/* ---- the tables, and the calls -------------------------------------------------------------- */

#define MEMBER(type, member, field, told, kind)                                    \
    {                                                                              \
        USHER_FIELD_##field, USHER_FIELD_##told, (uint16_t)offsetof(type, member), \
            (uint16_t)sizeof(((type *)0)->member), USHER__MEMBER_##kind            \
    }
#define MEMBERS(noun, which) noun##_##which, sizeof noun##_##which / sizeof *noun##_##which
#define SHAPE(noun, which, ...)                                                  \
    {                                                                            \
        MEMBERS(noun, which), sizeof(struct usher_##noun##_##which), __VA_ARGS__ \
    }
#define SHOWN .tell = NULL
#define GIVEN(noun, which) .give = noun##_##which##_give
#define TOLD(noun, which) \
    .at = noun##_##which##_at, .n_at = sizeof noun##_##which##_at, .tell = noun##_##which##_tell

#define GIVE(noun, which)                                                              \
    static void noun##_##which##_give(const struct usher__given *to, const void *from) \
    {                                                                                  \
        give_members(to, MEMBERS(noun, which), from);                                  \
    }

/* Answers are written by code made from the rows OUT of each noun's table (core/NOUN_verbs.def). */
enum {
#define F(name, code, type, ...) TYPE_OF_##name = USHER_TYPE_##type,
    USHER_FIELD_MAP(F)
#undef F
};

INTO tell_none(const struct usher__member *members, size_t n, bool all, struct usher__answer *a)
{
    const int64_t none = USHER_NONE, zero = 0;

#pragma GCC unroll 64
    for (size_t i = 0; i < n; i++) {
        const struct usher__member *m = &members[i];
        char *to = (char *)a + m->offset;

        if (!all && !usher__fits(m, a->size))
            break;
        if (m->kind == USHER__MEMBER_CHARS)
            *to = '\0';
        else if (m->kind == USHER__MEMBER_CODE)
            memset(to, 0, sizeof(int));
        else
            memcpy(to, m->kind == USHER__MEMBER_NUMBER ? &none : &zero, sizeof none);
    }
}

/* The values that are the same for all members. */
struct told {
    const struct usher_operation *op;
    const struct usher_result *r;
    enum usher_noun noun;
    uint32_t verb; /* its bit */
    size_t size;   /* of the answer */
};

/* Write the member with number @at, which counts from 1; 0: the answer has no such member. */
INTO tell_field(const struct usher__member *members, unsigned at, const struct usher__field *f,
                const struct told *t, struct usher__answer *a)
{
    const struct usher__member *m = &members[at != 0 ? at - 1 : 0];
    struct usher_value v;

    if (at == 0 || (f->verbs & t->verb) == 0 || !usher__fits(m, t->size) ||
        !usher__field_applies(f, t->op, t->r, t->noun) ||
        !usher__result_get(f, (const char *)t->r, t->noun, &v))
        return;
    if (v.text == NULL && m->kind != USHER__MEMBER_CODE)
        memcpy((char *)a + m->offset, &v.number, sizeof v.number);
    else
        usher__answer_fill_member(m, &v, false, (char *)a + m->offset);
}

#define TELL_NONE(noun)                                  \
    if (a->size >= sizeof(struct usher_##noun##_answer)) \
        tell_none(MEMBERS(noun, answer), true, a);       \
    else                                                 \
        tell_none(MEMBERS(noun, answer), false, a)
#define TELL_FIELD(noun, code, type, where, field, verbs)                                      \
    {                                                                                          \
        static const struct usher__field f = { USHER__FIELD_##type,                            \
                                               TYPE_OF_##field,                                \
                                               0,                                              \
                                               offsetof(struct usher_result, of.noun.where),   \
                                               USHER_FIELD_##field,                            \
                                               verbs };                                        \
        const size_t n = sizeof noun##_answer_at;                                              \
        unsigned at = USHER_FIELD_##field < n ? noun##_answer_at[USHER_FIELD_##field % n] : 0; \
        const struct told t = { op, r, code, verb, size };                                     \
                                                                                               \
        tell_field(noun##_answer, at, &f, &t, a);                                              \
    }
#define ALL_VERBS UINT32_MAX

#include "api/id_gen.h"
#include "api/number_gen.h"
#include "api/queue_gen.h"
#include "api/room_gen.h"
#include "api/serial_gen.h"

const struct usher__calls *usher__calls_of(enum usher_noun noun)
{
    switch (noun) {
    case USHER_NUMBER:
        return &number_calls;
    case USHER_QUEUE:
        return &queue_calls;
    case USHER_ROOM:
        return &room_calls;
    case USHER_SERIAL:
        return &serial_calls;
    case USHER_ID:
        return &id_calls;
    default:
        return NULL;
    }
}
