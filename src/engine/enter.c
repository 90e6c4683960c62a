/* SPDX-License-Identifier: MIT */
/* Commands, which are values, as operations, which stores take. */
#include "config.h"

#include "engine/enter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/verbs.h"
#include "engine/result.h"

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

/* What needs more than to be kept: an epoch is a number to the program and a text as an argument,
 * for which @epoch has room; a code may be given by its word; and what is of the wrong type. */
static enum usher_status give_else(const struct usher__arg *arg, const struct usher_value *v,
                                   struct usher_operation *op, char epoch[USHER__EPOCH_SIZE],
                                   struct usher_result *r)
{
    char *to = (char *)op + arg->offset;
    bool is_epoch = arg->code == USHER_FIELD_EPOCH;
    bool word = arg->type == USHER__ARG_WORD && v->text != NULL && v->size >= USHER_TO_NUL;
    const char *fault = word ? NULL : type_fault(v, arg->type < USHER__ARG_INT && !is_epoch);
    int64_t number;

    if (fault != NULL)
        return wrong(r, arg->word, fault);
    if (is_epoch) {
        int size = snprintf(epoch, USHER__EPOCH_SIZE, "%016" PRIx64, (uint64_t)v->number);
        struct usher_text t = { epoch, (size_t)size };

        memcpy(to, &t, sizeof t);
        return USHER_OK;
    }
    if (!by_word(arg, v, &number))
        return wrong(r, arg->word, "is not one of the words that there are for it");
    memcpy(to, &number, sizeof number);
    op->given |= arg->given;
    return USHER_OK;
}

static inline enum usher_status give(const struct usher__arg *arg, const struct usher_value *v,
                                     struct usher_operation *op, char epoch[USHER__EPOCH_SIZE],
                                     struct usher_result *r)
{
    char *to = (char *)op + arg->offset;
    bool text = arg->type < USHER__ARG_INT;

    if (text != (v->text != NULL) || v->size < USHER_TO_NUL || arg->code == USHER_FIELD_EPOCH)
        return give_else(arg, v, op, epoch, r);
    if (text) {
        const struct usher_text t = { v->text, size_of(v->size, v->text) };

        memcpy(to, &t, sizeof t);
    } else {
        memcpy(to, &v->number, sizeof v->number);
        op->given |= arg->given;
    }
    return USHER_OK;
}

static enum usher_status no_argument(const struct usher_field_about *about,
                                     const struct usher__verb *verb, struct usher_result *r)
{
    char what[80];

    (void)snprintf(what, sizeof what, "(%s) is not an argument of `%s`", about->name, verb->word);
    return wrong(r, about->word, what);
}

/* What is no argument of @verb alone: of every one, or of none. */
static enum usher_status give_common(const struct usher__verb *verb, const struct usher_value *v,
                                     struct usher_operation *op, struct usher_result *r)
{
    const struct usher_field_about *about = usher_about_field(v->field);
    const char *fault;

    if (about == NULL)
        return wrong(r, "a field", "is not known");
    if (v->field != USHER_FIELD_REQUEST && v->field != USHER_FIELD_NOW &&
        v->field != USHER_FIELD_WAIT)
        return no_argument(about, verb, r);
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

/* Is the field of @values[@i] that of one before it? */
static bool twice(const struct usher_value *values, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (values[k].field == values[i].field)
            return true;
    return false;
}

enum usher_status usher__operation_of(const struct usher_command *c, struct usher_operation *op,
                                      char epoch[USHER__EPOCH_SIZE], struct usher_result *r)
{
    const struct usher__noun *noun = usher__noun(c->verb >> 8);
    const struct usher__verb *verb = usher__verb(c->verb);
    uint64_t taken;

    memset(op, 0, offsetof(struct usher_operation, arg));
    op->verb = (enum usher_verb)c->verb;
    if (verb == NULL || noun->noun == USHER_ROOMS)
        return wrong(r, "verb", "is not known");
    if (c->scope_size < USHER_TO_NUL)
        return wrong(r, "name of the scope", "has a size that is wrong");
    if (c->values == NULL && c->n != 0)
        return wrong(r, "values", "are NULL");
    memset(&op->arg, 0, noun->args_size);
    op->scope.data = c->scope;
    op->scope.size = size_of(c->scope_size, c->scope);
    taken = verb->order | verb->keys;
    for (size_t i = 0; i < c->n; i++) {
        const struct usher_value *v = &c->values[i];
        unsigned at = v->field < noun->n_arg_at ? noun->arg_at[v->field] : 0;
        bool own = at != 0 && (taken >> (at - 1) & 1) != 0;
        enum usher_status status;

        if (twice(c->values, i) && usher_about_field(v->field) != NULL)
            return wrong(r, usher_about_field(v->field)->word, "is given twice");
        status = own ? give(&noun->args[at - 1], v, op, epoch, r) : give_common(verb, v, op, r);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}
