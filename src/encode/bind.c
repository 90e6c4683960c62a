/* SPDX-License-Identifier: MIT */
/* Convert commands, which have values, to operations, which stores take. */
#include "config.h"

#include "encode/bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/verbs.h"
#include "change/result.h"

static enum usher_status wrong(struct usher_result *r, const char *field, const char *what)
{
    char line[160];

    (void)snprintf(line, sizeof line, "%s %s", field, what);
    usher_result_fail(r, USHER_INVALID, line);
    return USHER_INVALID;
}

/* Check that @v is a text if and only if the argument is one. */
static const char *type_fault(const struct usher_value *v, bool text)
{
    if (v->size < USHER_TO_NUL)
        return "has an invalid size";
    if (text)
        return v->text == NULL ? "must be a text" : NULL;
    return v->text != NULL ? "must be a number, not a text" : NULL;
}

/* Read a code from its word. */
static bool by_word(const struct usher__arg *arg, const struct usher_value *v, int64_t *ret)
{
    size_t size = usher__text_size(v->size, v->text);

    for (int64_t i = arg->min; i <= arg->max; i++)
        if (strlen(arg->words[i]) == size && memcmp(arg->words[i], v->text, size) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

/* Set an argument of the verb: an epoch, which is a number in the program and a text as an
 * argument; a code given by its word; or one of the wrong type. */
static enum usher_status give_own(struct usher__binding *in, const struct usher__arg *arg,
                                  const struct usher_value *v)
{
    char *to = (char *)in->op + arg->offset;
    bool is_epoch = arg->type == USHER__ARG_EPOCH;
    bool word = arg->type == USHER__ARG_WORD && v->text != NULL && v->size >= USHER_TO_NUL;
    const char *fault = word ? NULL : type_fault(v, arg->type < USHER__ARG_INT && !is_epoch);
    int64_t number;

    if (fault != NULL)
        return wrong(in->r, arg->word, fault);
    if (is_epoch) {
        int size = snprintf(in->epoch, USHER__EPOCH_SIZE, "%016" PRIx64, (uint64_t)v->number);
        struct usher_text t = { in->epoch, (size_t)size };

        memcpy(to, &t, sizeof t);
        return USHER_OK;
    }
    if (!by_word(arg, v, &number))
        return wrong(in->r, arg->word, "is not one of its words");
    memcpy(to, &number, sizeof number);
    in->op->given |= arg->given;
    return USHER_OK;
}

static enum usher_status no_argument(const struct usher_field_about *about,
                                     const struct usher__verb *verb, struct usher_result *r)
{
    char what[80];

    (void)snprintf(what, sizeof what, "(%s) is not an argument of `%s`", about->name, verb->word);
    return wrong(r, about->word, what);
}

/* Set an argument that every verb takes. */
static enum usher_status give_common(struct usher__binding *in, const char *word,
                                     const struct usher_value *v)
{
    struct usher_operation *op = in->op;
    const char *fault = type_fault(v, v->field == USHER_FIELD_REQUEST);

    if (fault != NULL)
        return wrong(in->r, word, fault);
    if (v->field == USHER_FIELD_REQUEST) {
        op->request.data = v->text;
        op->request.size = usher__text_size(v->size, v->text);
    } else if (v->field == USHER_FIELD_NOW) {
        op->given |= USHER_GIVEN_NOW;
        op->now_ms = v->number;
    } else {
        if (v->number < 0 || v->number > USHER_WAIT_MAX)
            return wrong(in->r, word, "is not from 0 to 255");
        op->wait = (uint32_t)v->number;
    }
    return USHER_OK;
}

enum usher_status usher__operation_give_other(struct usher__binding *in, struct usher_value v)
{
    const struct usher_field_about *about = usher_about_field(v.field);
    unsigned at = v.field < in->noun->n_arg_at ? in->noun->arg_at[v.field] : 0;
    uint64_t own = usher__taken(in->verb) & UINT64_C(1) << at;
    unsigned common = v.field == USHER_FIELD_REQUEST ? 1
                      : v.field == USHER_FIELD_NOW   ? 2
                      : v.field == USHER_FIELD_WAIT  ? 4
                                                     : 0;

    if (about == NULL)
        return wrong(in->r, "a field", "is unknown");
    if (own == 0 && common == 0)
        return no_argument(about, in->verb, in->r);
    if (own != 0 ? (in->left & own) == 0 : (in->common & common) != 0)
        return wrong(in->r, about->word, "is given twice");
    in->left &= ~own;
    in->common |= common;
    return own != 0 ? give_own(in, &in->noun->args[at - 1], &v) : give_common(in, about->word, &v);
}

enum usher_status usher__operation_not_begun(const struct usher__binding *in)
{
    if (in->verb == NULL || (in->noun->hidden && !in->noun->whole))
        return wrong(in->r, "verb", "is unknown");
    return wrong(in->r, "name of the scope", "has an invalid size");
}

enum usher_status usher__operation_of(const struct usher_command *c, struct usher_operation *op,
                                      char epoch[USHER__EPOCH_SIZE], struct usher_result *r)
{
    struct usher__binding in;
    enum usher_status status;

    in.op = op;
    in.epoch = epoch;
    in.r = r;
    status = usher__operation_begin(&in, c->verb, c->scope, c->scope_size);
    if (status == USHER_OK && c->values == NULL && c->n != 0)
        return wrong(r, "values", "are NULL");
    for (size_t i = 0; i < c->n && status == USHER_OK; i++)
        status = usher__operation_give(&in, &c->values[i]);
    return status;
}
