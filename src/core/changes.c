/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "changes.h"

#include <string.h>

const struct usher__verb *usher__changes_verb(enum usher_noun noun)
{
    const struct usher__noun *of = usher__noun((unsigned)noun);

    for (unsigned i = 0; of != NULL && i < of->n_verbs; i++)
        if ((of->verbs[i].flags & USHER__NOTICES) != 0)
            return &of->verbs[i];
    return NULL;
}

static void give(struct usher_operation *c, const struct usher__noun *noun, unsigned field,
                 int64_t value)
{
    const struct usher__arg *arg = &noun->args[noun->arg_at[field] - 1];

    memcpy((char *)c + arg->offset, &value, sizeof value);
    c->given |= arg->given;
}

void usher__changes_ask(struct usher_operation *c, enum usher_noun noun,
                        const struct usher_text *scope, uint64_t since, size_t max)
{
    const struct usher__noun *of = usher__noun((unsigned)noun);

    memset(c, 0, sizeof *c);
    c->verb = (enum usher_verb)usher__changes_verb(noun)->verb;
    c->scope = *scope;
    give(c, of, USHER_FIELD_SINCE_VERSION, (int64_t)since);
    give(c, of, USHER_FIELD_MAX, (int64_t)max);
}

/* Return @field of the answer to @verb of @noun; NULL: it has none. */
static const struct usher__field *field_of(enum usher_noun noun, const struct usher__verb *verb,
                                           unsigned field)
{
    const struct usher__field *f;
    struct usher__result_walk seen;

    usher__result_walk_begin(&seen, usher__noun((unsigned)noun), USHER__VERB_BIT(verb->verb),
                             false);
    while ((f = usher__result_walk_next(&seen)) != NULL)
        if (f->code == field)
            return f;
    return NULL;
}

/* Return the value of that field in @r, or NULL. */
static const void *find(const struct usher_result *r, const struct usher__verb *verb,
                        unsigned field)
{
    const struct usher__field *f = field_of(r->noun, verb, field);

    return f != NULL ? (const char *)r + f->offset : NULL;
}

bool usher__changes_pushes(enum usher_noun noun)
{
    const struct usher__verb *verb = usher__changes_verb(noun);

    return verb != NULL && field_of(noun, verb, USHER_FIELD_PUSH) != NULL;
}

bool usher__changes_set_push(unsigned verb)
{
    const struct usher__verb *v = usher__verb(verb);
    const struct usher__noun *noun = v != NULL ? usher__noun(verb >> 8) : NULL;
    unsigned at =
        noun != NULL && USHER_FIELD_PUSH < noun->n_arg_at ? noun->arg_at[USHER_FIELD_PUSH] : 0;

    return at != 0 && ((v->order | v->keys) >> (at - 1) & 1u) != 0;
}

void usher__changes_of(const struct usher_result *r, struct usher__changes *ret)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    const struct usher__verb *verb = usher__changes_verb(r->noun);
    const void *mark = find(r, verb, USHER_FIELD_MARK), *push = find(r, verb, USHER_FIELD_PUSH);
    int64_t pushes = 0;

    memset(ret, 0, sizeof *ret);
    memcpy(&ret->n, (const char *)r + noun->n_rows_at, sizeof ret->n);
    memcpy(&ret->more, find(r, verb, USHER_FIELD_MORE), sizeof ret->more);
    memcpy(&ret->since, find(r, verb, USHER_FIELD_SINCE_VERSION), sizeof ret->since);
    if (mark != NULL)
        memcpy(&ret->mark, mark, sizeof ret->mark);
    if (push != NULL)
        memcpy(&pushes, push, sizeof pushes);
    ret->pushes = pushes == 1;
}

bool usher__changes_go_on(uint64_t from_epoch, uint64_t from, uint64_t epoch, uint64_t version)
{
    uint64_t n = epoch - from_epoch; /* no log keeps more than USHER_LOG_MAX; versions may jump */

    return epoch == from_epoch || (version > from && n <= version - from && n <= USHER_LOG_MAX);
}

struct usher_text usher__changes_value(const struct usher_result *r, size_t i)
{
    const struct usher__noun *noun = usher__noun((unsigned)r->noun);
    struct usher_text value = { NULL, 0 };
    const char *rows;

    memcpy(&rows, (const char *)r + noun->rows_at, sizeof rows);
    for (unsigned k = 0; k < noun->n_row; k++)
        if (noun->row[k].code == USHER_FIELD_VALUE)
            memcpy(&value, rows + i * noun->row_size + noun->row[k].offset, sizeof value);
    return value;
}
