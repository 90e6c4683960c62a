/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "calls/calls.h"

#include <stdio.h>
#include <string.h>

#include "engine/door.h"
#include "engine/engine.h"

/* As the structs of all nouns begin. */
struct options {
    size_t size;
    void *post;
    int64_t timeout_ms;
    const char *request;
    int64_t now_ms, wait;
};

#define VALUES_MAX 64    /* of one call: more than any noun has members to give */
#define STRUCT_MAX 65536 /* bytes that a size of a later version may say */
#define HERE_MAX 1024    /* those that options and settings have here */

/* ---- what is given ----------------------------------------------------------------------- */

static enum usher_status refuse(uint32_t verb, const char *what)
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

/* @p, of the program, as a struct of the size that it has here: what is behind an older, shorter
 * one is not given.  NULL: it is longer, and says something that is not known here. */
static const void *as_here(const void *p, const struct usher__shape *shape, void *copy)
{
    size_t size;

    memcpy(&size, p, sizeof size);
    if (size == shape->size)
        return p;
    if (size < sizeof size || size > STRUCT_MAX || shape->size > HERE_MAX)
        return NULL;
    for (size_t i = shape->size; i < size; i++)
        if (((const char *)p)[i] != 0)
            return NULL;
    memset(copy, 0, shape->size);
    memcpy(copy, p, size < shape->size ? size : shape->size);
    return copy;
}

/* The members of @from that are given, as values. */
static size_t add_members(const struct usher__shape *shape, const void *from,
                          struct usher_value *values)
{
    size_t n = 0;

    for (size_t i = 0; i < shape->n; i++) {
        const struct usher__member *m = &shape->members[i];
        const char *at = (const char *)from + m->offset;
        struct usher_value v = { m->field, 0, 0, NULL };
        struct usher_text text;

        switch (m->kind) {
        case USHER__MEMBER_STRING:
            memcpy(&v.text, at, sizeof v.text);
            if (v.text == NULL)
                continue;
            v.size = USHER_TO_NUL;
            break;
        case USHER__MEMBER_BYTES:
            memcpy(&text, at, sizeof text);
            if (text.data == NULL)
                continue;
            v = usher__call_bytes(m->field, &text);
            break;
        default:
            memcpy(&v.number, at, sizeof v.number);
            if (v.number == 0)
                continue;
            if (v.number == USHER_NONE && m->kind == USHER__MEMBER_NUMBER)
                v.number = 0;
            break;
        }
        values[n++] = v;
    }
    return n;
}

/* What the verb is about: a text that is NULL and a token that is 0 are not given. */
static size_t add_given(const struct usher_value *given, size_t n_given, struct usher_value *values)
{
    size_t n = 0;

    for (size_t i = 0; i < n_given; i++) {
        const struct usher_value *v = &given[i];
        enum usher_type type;

        if (v->text == NULL && v->number == 0) {
            type = usher_about_field(v->field)->type;
            if (type == USHER_TYPE_TEXT || type == USHER_TYPE_BYTES || type == USHER_TYPE_TOKEN)
                continue;
        }
        values[n++] = *v;
    }
    return n;
}

static size_t add_common(const struct options *o, struct usher_value *values)
{
    size_t n = 0;

    if (o->request != NULL)
        values[n++] = (struct usher_value)USHER_T(USHER_FIELD_REQUEST, o->request);
    if (o->now_ms != 0)
        values[n++] = (struct usher_value)USHER_N(USHER_FIELD_NOW, o->now_ms);
    if (o->wait != 0)
        values[n++] = (struct usher_value)USHER_N(USHER_FIELD_WAIT, o->wait);
    return n;
}

/* ---- what is told ------------------------------------------------------------------------- */

static const struct usher_value *find(const struct usher_value *values, size_t n, uint32_t field)
{
    for (size_t i = 0; i < n; i++)
        if (values[i].field == field)
            return &values[i];
    return NULL;
}

/* Into *@to those members that it has room for; @more is looked at for what @values do not have. */
static void tell_members(const struct usher__shape *shape, bool settings,
                         const struct usher_value *values, size_t n, const struct usher_value *more,
                         size_t n_more, void *to)
{
    size_t size;

    memcpy(&size, to, sizeof size);
    for (size_t i = 0; i < shape->n; i++) {
        const struct usher__member *m = &shape->members[i];
        const struct usher_value *v;

        if ((size_t)m->offset + m->size > size)
            continue;
        v = find(values, n, m->told);
        if (v == NULL)
            v = find(more, n_more, m->told);
        usher__tell_member(m, v, settings, (char *)to + m->offset);
    }
}

/* ---- a call -------------------------------------------------------------------------------- */

/* Of a call that failed before there was an answer. */
static enum usher_status nothing_told(const struct usher__calls *of, enum usher_status status,
                                      struct usher__answer *answer)
{
    struct usher_reply none = { .due_ms = USHER_NEVER, .message = usher_message() };

    if (answer == NULL || answer->size < sizeof *answer || answer->size > STRUCT_MAX)
        return status;
    usher__tell_head(&of->answer, answer, &none);
    return status;
}

static enum usher_status call(struct usher_engine *e, const struct usher__calls *of,
                              const struct usher_command *c, int64_t timeout_ms,
                              struct usher__answer *answer, struct usher_reply **ret_reply)
{
    struct usher_reply *reply;
    enum usher_status status, answered;

    if (ret_reply == NULL) {
        status = usher__door_ask(e, c, timeout_ms, &of->answer, answer, &answered);
        return status == USHER_OK ? answered : nothing_told(of, status, answer);
    }
    status = usher_execute(e, c, 1, timeout_ms, &reply);
    if (reply == NULL)
        return status;
    if (!USHER_IS_DONE(reply->status)) {
        int64_t why = usher_reply_int(reply, USHER_ANSWER, USHER_FIELD_WHY);

        usher__tell_message(reply, why != USHER_NONE ? why : 0);
    }
    *ret_reply = reply;
    return reply->status;
}

enum usher_status usher__call(struct usher_engine *e, const struct usher__calls *of, uint32_t verb,
                              const char *scope, const struct usher_value *given, size_t n_given,
                              const void *settings, const void *opt, void *answer,
                              struct usher_reply **ret_reply)
{
    struct usher_value values[VALUES_MAX];
    struct usher_command c = { verb, USHER_TO_NUL, scope, values, 0, NULL };
    struct usher__answer *to = answer;
    uint64_t opt_here[HERE_MAX / 8], settings_here[HERE_MAX / 8];
    const struct options *o = opt != NULL ? as_here(opt, &of->options, opt_here) : NULL;
    const void *s = settings != NULL ? as_here(settings, &of->settings, settings_here) : NULL;
    enum usher_status status = usher__engine_check(e);

    if (ret_reply != NULL)
        *ret_reply = NULL;
    if (status == USHER_OK) {
        if (to != NULL && (to->size < sizeof *to || to->size > STRUCT_MAX))
            status = refuse(verb, "the size of the answer is not set");
        else if ((opt != NULL && o == NULL) || (settings != NULL && s == NULL))
            status = refuse(verb, "the size of options or settings is not set, or they say what "
                                  "this version of the library does not know");
    }
    if (status != USHER_OK)
        return nothing_told(of, status, to);
    c.n = add_given(given, n_given, values);
    if (s != NULL)
        c.n += add_members(&of->settings, s, values + c.n);
    if (o == NULL)
        return call(e, of, &c, 0, to, ret_reply);
    c.n += add_common(o, values + c.n);
    c.n += add_members(&of->options, o, values + c.n);
    c.tag = o->post;
    if (c.tag != NULL)
        return usher_post(e, &c, 1, o->timeout_ms);
    return call(e, of, &c, o->timeout_ms, to, ret_reply);
}

/* ---- what a reply says --------------------------------------------------------------------- */

/* May @reply be read as one of @of, into @ret? */
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
    usher__tell_head(shape, ret, reply);
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
#define SHAPE(noun, which)                                              \
    {                                                                   \
        noun##_##which, sizeof noun##_##which / sizeof *noun##_##which, \
            sizeof(struct usher_##noun##_##which), NULL, 0              \
    }
#define SHAPE_AT(noun, which)                                                                      \
    {                                                                                              \
        noun##_##which, sizeof noun##_##which / sizeof *noun##_##which,                            \
            sizeof(struct usher_##noun##_##which), noun##_##which##_at, sizeof noun##_##which##_at \
    }

#include "calls/made_id.h"
#include "calls/made_number.h"
#include "calls/made_queue.h"
#include "calls/made_room.h"
#include "calls/made_serial.h"

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
