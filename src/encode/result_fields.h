/* SPDX-License-Identifier: MIT */
/*
 * The values of a result, one after the other.  Two files keep them, each in its own way, so this
 * is compiled into both, with the function for a value inlined.
 *
 * Values that do not exist are left out: a time, a token or a reason that is 0, a count below zero,
 * an empty name.  Texts are valid as long as the result, and do not end with a NUL.
 */
#ifndef USHER_ENCODE_RESULT_FIELDS_H
#define USHER_ENCODE_RESULT_FIELDS_H

#include <string.h>

#include <usher/store/operation.h>

#include "core/verbs.h"
#include "change/hooks.h"

#define USHER__INLINE static inline __attribute__((always_inline))

USHER__INLINE void usher__put_number(usher__put *put, void *to, uint32_t field, int64_t number)
{
    const struct usher_value v = { field, 0, number, NULL };

    put(to, &v);
}

USHER__INLINE void usher__put_text(usher__put *put, void *to, uint32_t field, const char *data,
                                   size_t size)
{
    const struct usher_value v = { field, (int32_t)size, 0, size != 0 ? data : "" };

    put(to, &v);
}

USHER__INLINE bool usher__left_out(const struct usher__field *f, enum usher_noun noun,
                                   int64_t number)
{
    if (number > 0 && number != USHER_NEVER)
        return false; /* the common case, whatever the type */
    switch (f->told) {
    case USHER_TYPE_TIME:
        return number <= 0 || number == USHER_NEVER;
    case USHER_TYPE_TOKEN:
        return number == 0;
    case USHER_TYPE_INT:
    case USHER_TYPE_MS:
    case USHER_TYPE_SHARE:
        return number < 0;
    case USHER_TYPE_CODE:
        return number == 0 && (f->code == USHER_FIELD_WHY || f->code == USHER_FIELD_PLACE ||
                               usher_code_word(noun, f->code, 0) == NULL);
    default:
        return false;
    }
}

/* Read the field at @base.  Return false if it has no value. */
USHER__INLINE bool usher__result_get(const struct usher__field *f, const char *base,
                                     enum usher_noun noun, struct usher_value *v)
{
    const char *at = base + f->offset;
    struct usher_text text = { NULL, 0 };
    unsigned code;
    bool yes;

    v->field = f->code;
    v->size = 0;
    v->text = NULL;
    switch (f->type) {
    case USHER__FIELD_INT:
    case USHER__FIELD_UINT:
    case USHER__FIELD_WIDE:
        memcpy(&v->number, at, sizeof v->number);
        return !usher__left_out(f, noun, v->number);
    case USHER__FIELD_CODE:
        memcpy(&code, at, sizeof code);
        v->number = code;
        return !usher__left_out(f, noun, v->number);
    case USHER__FIELD_BOOL:
        memcpy(&yes, at, sizeof yes);
        v->number = yes;
        return true;
    case USHER__FIELD_NAME:
    case USHER__FIELD_NEXT:
        memcpy(&text.size, at, sizeof text.size);
        text.data = at + sizeof text.size;
        break;
    case USHER__FIELD_TEXT:
    case USHER__FIELD_VALUE:
        memcpy(&text, at, sizeof text);
        break;
    default:
        break;
    }
    v->size = (int32_t)text.size;
    v->number = 0;
    v->text = text.size != 0 ? text.data : "";
    return text.size != 0 || f->told == USHER_TYPE_BYTES;
}

USHER__INLINE void usher__result_put(usher__put *put, void *to, const struct usher__field *f,
                                     const char *base, enum usher_noun noun)
{
    struct usher_value v;

    if (usher__result_get(f, base, noun, &v))
        put(to, &v);
}

/* Return `more` of @r: there are more rows after those of @r, or more to do. */
USHER__INLINE bool usher__result_more(const struct usher_result *r)
{
    size_t at = usher__noun((unsigned)r->noun)->more_at;
    bool more = false;

    if (at != 0)
        memcpy(&more, (const char *)r + at, sizeof more);
    return more;
}

/* Return whether the answer has settings and statistics (result_fields.c). */
bool usher__result_has_extras(const struct usher_operation *op, const struct usher_result *r);
/* Return whether @f, a field of answers to @op, is part of the answer @r. */
USHER__INLINE bool usher__field_applies(const struct usher__field *f,
                                        const struct usher_operation *op,
                                        const struct usher_result *r, enum usher_noun noun)
{
    return (USHER__APPLY >> noun & 1u) == 0 || usher__hooks(noun)->applies(f, op, r);
}
/* Return whether @f is part of the answer @r to @op. */
USHER__INLINE bool usher__field_is_part(const struct usher__field *f,
                                        const struct usher_operation *op,
                                        const struct usher_result *r, enum usher_noun noun)
{
    return (f->verbs & USHER__VERB_BIT((unsigned)op->verb)) != 0 &&
           usher__field_applies(f, op, r, noun);
}
USHER__INLINE bool usher__verb_is_changes(uint32_t verb)
{
    const struct usher__verb *known = usher__verb(verb);

    return known != NULL && (known->flags & USHER__NOTICES) != 0;
}
/* Return the field in which rows of @verb have a notice, or another value; NULL: none. */
const struct usher__field *usher__result_notices(const struct usher__noun *noun, uint32_t verb);
/* Put the values that a row with the notice @n has. */
void usher__result_put_notice(usher__put *put, void *to, const struct usher_notice *n);
void usher__result_notice(usher__put *put, void *to, const struct usher_operation *op,
                          const struct usher_result *r, const char *base);

/* Return whether there is more than a message. */
USHER__INLINE bool usher__result_answers(const struct usher_result *r)
{
    const struct usher__noun *noun;
    bool partial = false;

    if (r->status < USHER_INVALID)
        return true;
    noun = usher__noun((unsigned)r->noun); /* NULL: a verb that is not known */
    if (noun != NULL && noun->partial_at != 0)
        memcpy(&partial, (const char *)r + noun->partial_at, sizeof partial);
    return partial;
}

/* Return the number of rows for a program: see the hook `rows`. */
size_t usher__result_rows(const struct usher_operation *op, const struct usher_result *r);

/* Set all members of a reply but verb, tag, values, rows and message. */
USHER__INLINE void usher__reply_begin(struct usher_reply *to, const struct usher_result *r)
{
    to->status = r->status;
    to->epoch = r->epoch;
    to->version = r->version;
    to->due_ms = r->due_ms;
    to->now_ms = r->now_ms;
    to->repeated = r->repeated;
    to->replicas = (uint8_t)(r->replicas < USHER_WAIT_MAX ? r->replicas : USHER_WAIT_MAX);
    to->more = r->status < USHER_INVALID && usher__result_more(r);
}

/* Put a text that is made of others: see the hook `text`. */
USHER__INLINE void usher__result_made(usher__put *put, void *to, const struct usher__field *f,
                                      const struct usher_result *r, const char *row,
                                      uint64_t before)
{
    char text[USHER__MADE_MAX];
    size_t size = usher__hooks((unsigned)r->noun)->text(f, r, row, before, text);

    if (size != 0)
        usher__put_text(put, to, f->code, text, size);
}

/* Put the values of the answer, without its rows. */
USHER__INLINE void usher__result_answer(usher__put *put, void *to, const struct usher_operation *op,
                                        const struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__extras *own = usher__hooks((unsigned)r->noun)->extras;
    const struct usher__field *f;
    struct usher__result_walk seen;
    bool extras;

    if (r->status == USHER_MISSING && r->epoch == 0 && !noun->whole)
        return;
    usher__result_walk_begin(&seen, noun, USHER__VERB_BIT((unsigned)op->verb), false);
    extras = seen.n[2] != 0 && usher__result_has_extras(op, r);
    if (!extras)
        seen.n[2] = 0;
    while ((f = usher__result_walk_next(&seen)) != NULL) {
        if (!usher__field_is_part(f, op, r, r->noun))
            continue;
        if (f->type == USHER__FIELD_MADE)
            usher__result_made(put, to, f, r, NULL, 0);
        else if (f->type != USHER__FIELD_NEXT || usher__result_more(r))
            usher__result_put(put, to, f, (const char *)r, r->noun);
    }
    if (own != NULL && own->say != NULL && usher__result_has_extras(op, r))
        own->say(put, to, op, r);
}

/* Put the values of the row at @base; @before: see struct usher__row_at. */
USHER__INLINE void usher__result_row(usher__put *put, void *to, const struct usher_operation *op,
                                     const struct usher_result *r, const char *base,
                                     uint64_t before)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__field *f;
    struct usher__result_walk seen;

    usher__result_walk_begin(&seen, noun, USHER__VERB_BIT((unsigned)op->verb), true);
    while ((f = usher__result_walk_next(&seen)) != NULL) {
        if (f->type == USHER__FIELD_MADE)
            usher__result_made(put, to, f, r, base, before);
        else
            usher__result_put(put, to, f, base, r->noun);
    }
    if (usher__verb_is_changes((uint32_t)op->verb))
        usher__result_notice(put, to, op, r, base);
}

#endif
