/* SPDX-License-Identifier: MIT */
/* Conversion of commands to operations. */
#ifndef USHER_ENCODE_BIND_H
#define USHER_ENCODE_BIND_H

#include <string.h>

#include <usher/store/operation.h>

#include "core/verbs.h"

#define USHER__EPOCH_SIZE 24 /* a multiple of 8 */

/* An operation while it is filled, value by value. */
struct usher__binding {
    struct usher_operation *op; /* points at the texts of the values and at @epoch */
    char *epoch;                /* USHER__EPOCH_SIZE bytes: as an argument an epoch is a text */
    struct usher_result *r;     /* blank; gets the message of a fault */
    const struct usher__noun *noun;
    const struct usher__verb *verb;
    uint64_t left;   /* arguments that may still be given: bit i + 1 for args[i] of the noun */
    unsigned common; /* the given arguments that every verb takes; see bind.c */
};

/* Return the size of a text that may end with its NUL; NULL has 0. */
static inline size_t usher__text_size(int32_t size, const char *text)
{
    return size >= 0 ? (size_t)size : text != NULL ? strlen(text) : 0;
}

/* The arguments that @verb takes, as bits of usher__binding.left. */
static inline uint64_t usher__taken(const struct usher__verb *verb)
{
    return (verb->order | verb->keys) << 1;
}

/* Set the message of a failed begin. */
enum usher_status usher__operation_not_begun(const struct usher__binding *in);

/* Begin; @op, @epoch and @r of @in are set.  On USHER_INVALID @in->r has the reason, and the caller
 * gives no values. */
static inline enum usher_status usher__operation_begin(struct usher__binding *in, uint32_t verb,
                                                       const char *scope, int32_t scope_size)
{
    struct usher_operation *op = in->op;

    in->noun = usher__noun(verb >> 8);
    in->verb = usher__verb(verb);
    memset(op, 0, offsetof(struct usher_operation, arg));
    op->verb = (enum usher_verb)verb;
    if (in->verb == NULL || (in->noun->hidden && !in->noun->whole) || scope_size < USHER_TO_NUL)
        return usher__operation_not_begun(in);
    memset(&op->arg, 0, in->noun->args_size);
    op->scope.data = scope;
    op->scope.size = usher__text_size(scope_size, scope);
    in->left = usher__taken(in->verb);
    in->common = 0;
    return USHER_OK;
}

/* The rare cases of usher__operation_give(). */
enum usher_status usher__operation_give_other(struct usher__binding *in, struct usher_value v);

/* Give it @v.  USHER_INVALID as above.  Texts and numbers of the right type are stored here. */
static inline enum usher_status usher__operation_give(struct usher__binding *in,
                                                      const struct usher_value *v)
{
    unsigned at = v->field < in->noun->n_arg_at ? in->noun->arg_at[v->field] : 0;

    if ((in->left >> at & 1) != 0 && v->size >= USHER_TO_NUL) { /* bit 0 is never set */
        const struct usher__arg *arg = &in->noun->args[at - 1];
        char *to = (char *)in->op + arg->offset;
        bool text = v->text != NULL;

        if (text && arg->type < USHER__ARG_INT && arg->code != USHER_FIELD_EPOCH) {
            const struct usher_text t = { v->text,
                                          v->size >= 0 ? (size_t)v->size : strlen(v->text) };

            in->left &= ~(UINT64_C(1) << at);
            memcpy(to, &t, sizeof t);
            return USHER_OK;
        }
        if (!text && arg->type >= USHER__ARG_INT) {
            in->left &= ~(UINT64_C(1) << at);
            in->op->given |= arg->given;
            memcpy(to, &v->number, sizeof v->number);
            return USHER_OK;
        }
    }
    return usher__operation_give_other(in, *v);
}

/* Convert @command to @op.  On USHER_INVALID @r, which must be blank, has the reason. */
enum usher_status usher__operation_of(const struct usher_command *command,
                                      struct usher_operation *op, char epoch[USHER__EPOCH_SIZE],
                                      struct usher_result *r);

#endif
