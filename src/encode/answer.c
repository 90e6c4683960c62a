/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "encode/answer.h"

#include <stdio.h>
#include <string.h>

#include "change/thread.h"
#include "encode/reply.h"
#include "encode/result_fields.h"

void usher__answer_fill_member(const struct usher__member *m, const struct usher_value *v,
                               bool settings, void *to)
{
    const char *string = v != NULL ? v->text : NULL;
    struct usher_text text = { string, v != NULL ? (size_t)v->size : 0 };
    int64_t number = v != NULL ? v->number : settings ? 0 : USHER_NONE;
    int code;

    switch (m->kind) {
    case USHER__MEMBER_CODE:
        code = v != NULL ? (int)number : 0;
        if (settings && v != NULL && code == 0)
            code = USHER__CODE_OFF;
        memcpy(to, &code, sizeof code);
        break;
    case USHER__MEMBER_NUMBER:
        if (settings && v != NULL && number == 0)
            number = USHER_NONE;
        memcpy(to, &number, sizeof number);
        break;
    case USHER__MEMBER_TOKEN:
        number = v != NULL ? number : 0;
        memcpy(to, &number, sizeof number);
        break;
    case USHER__MEMBER_STRING:
        memcpy(to, &string, sizeof string);
        break;
    case USHER__MEMBER_BYTES:
        memcpy(to, &text, sizeof text);
        break;
    case USHER__MEMBER_CHARS:
        text.size = text.size < m->size ? text.size : m->size - 1u;
        if (string != NULL)
            memcpy(to, string, text.size);
        ((char *)to)[text.size] = '\0';
        break;
    default:
        break;
    }
}

static inline void tell_begin(struct usher__answer *a, const struct usher_reply *r)
{
    a->epoch = r->epoch;
    a->version = r->version;
    a->due_ms = r->due_ms;
    a->now_ms = r->now_ms;
    a->replicas = r->replicas;
    a->repeated = r->repeated;
    a->more = r->more;
    a->message[0] = '\0';
    if (*r->message != '\0')
        (void)snprintf(a->message, sizeof a->message, "%s", r->message);
}

void usher__answer_fill_head(const struct usher__shape *shape, struct usher__answer *a,
                             const struct usher_reply *r)
{
    tell_begin(a, r);
    shape->tell(NULL, NULL, a);
}

void usher__answer_fill_message(const struct usher_reply *r, int64_t why)
{
    const char *word =
        why != 0 ? usher_code_word((enum usher_noun)(r->verb >> 8), USHER_FIELD_WHY, why) : NULL;
    struct usher_verb_about about = { .size = sizeof about };

    (void)usher_about_verb(r->verb, &about);
    if (*r->message != '\0')
        usher__message_set("%s %s: %s", about.noun, about.word, r->message);
    else
        usher__message_set("%s %s: %s%s%s", about.noun, about.word, usher_status_text(r->status),
                           word != NULL ? ": " : "", word != NULL ? word : "");
}

struct telling {
    const struct usher__shape *shape;
    struct usher__answer *answer;
    uint64_t told; /* members, by bit */
};

/* If the answer and its row both have a field, the first counts. */
static void tell_value(void *to, const struct usher_value *v)
{
    struct telling *t = to;
    unsigned at = v->field < t->shape->n_at ? t->shape->at[v->field] : 0;
    const struct usher__member *m;

    if (at == 0 || (t->told >> at & 1) != 0)
        return;
    m = &t->shape->members[at - 1];
    if (!usher__fits(m, t->answer->size))
        return;
    t->told |= UINT64_C(1) << at;
    usher__answer_fill_member(m, v, false, (char *)t->answer + m->offset);
}

/* Write any answer, also with settings, statistics, the values of a row, and values made of several
 * fields. */
static void tell_all(struct telling *t, const struct usher__noun *noun,
                     const struct usher_operation *op, const struct usher_result *r)
{
    usher__result_answer(tell_value, t, op, r);
    if ((noun->row_verbs & USHER__VERB_BIT((unsigned)op->verb)) != 0 &&
        usher__result_rows(op, r) == 1) {
        const char *row;

        memcpy(&row, (const char *)r + noun->rows_at, sizeof row);
        usher__result_row(tell_value, t, op, r, row, 0);
    }
}

/* Return the code of the reason why @r is not done, or 0. */
static int64_t why_of(const struct usher__noun *noun, const struct usher_operation *op,
                      const struct usher_result *r)
{
    unsigned at = USHER_FIELD_WHY < noun->n_out_at ? noun->out_at[USHER_FIELD_WHY] : 0;
    const struct usher__field *f = at != 0 ? &noun->outs[at - 1] : NULL;
    struct usher_value v;

    return f != NULL && usher__field_is_part(f, op, r, r->noun) &&
                   usher__result_get(f, (const char *)r, r->noun, &v)
               ? v.number
               : 0;
}

/* Write the reason to usher_message(). */
static void __attribute__((noinline))
tell_why(const struct usher__noun *noun, const struct usher_operation *op,
         const struct usher_result *r, bool says)
{
    struct usher_reply reply;

    reply.verb = (uint32_t)op->verb;
    reply.status = r->status;
    reply.message = r->message;
    usher__answer_fill_message(&reply, says ? why_of(noun, op, r) : 0);
}

void usher__answer_fill(const struct usher_operation *op, const struct usher_result *r,
                        const struct usher__shape *shape, struct usher__answer *answer)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    uint32_t more = noun->view_verbs | noun->extra_verbs | noun->row_verbs;
    bool says = r->status < USHER_INVALID && (r->status != USHER_MISSING || r->epoch != 0);

    if (answer != NULL) {
        const struct usher__hooks *hooks = usher__hooks((unsigned)r->noun);
        bool plain = (more & USHER__VERB_BIT((unsigned)op->verb)) == 0 &&
                     (hooks->extras == NULL || hooks->extras->says == NULL ||
                      hooks->extras->says((uint32_t)op->verb, 0) == 0);
        struct usher_reply reply;

        reply.message = r->message;
        usher__reply_begin(&reply, r);
        tell_begin(answer, &reply);
        shape->tell(says && plain ? op : NULL, r, answer);
        if (says && !plain)
            tell_all(&(struct telling){ shape, answer, 0 }, noun, op, r);
    }
    if (!USHER_IS_DONE(r->status))
        tell_why(noun, op, r, says);
}
