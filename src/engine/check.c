/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/check.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "change/hooks.h"
#include "change/work.h"

static const struct usher_text *text_of(const struct usher_operation *command,
                                        const struct usher__arg *arg)
{
    return (const struct usher_text *)(const void *)((const char *)command + arg->offset);
}

static int64_t int_of(const struct usher_operation *command, const struct usher__arg *arg)
{
    int64_t value;

    memcpy(&value, (const char *)command + arg->offset, sizeof value);
    return value;
}

static const char *text_fault(const struct usher__arg *arg, const struct usher_text *text)
{
    switch (arg->type) {
    case USHER__ARG_GROUP:
        return usher__group_fault(text->data, text->size);
    case USHER__ARG_GROUPS:
        return usher__groups_fault(text->data, text->size);
    case USHER__ARG_VALUE:
        return text->size > USHER_VALUE_MAX ? "has more than 65536 bytes" : NULL;
    case USHER__ARG_MAYBE:
        return text->size != 0 ? usher__name_fault(text->data, text->size) : NULL;
    case USHER__ARG_EPOCH:
        return usher__epoch_fault(text->data, text->size);
    case USHER__ARG_TEXT:
        return NULL; /* the hook reports it */
    case USHER__ARG_FIELDS:
        return usher__fields_fault(text->data, text->size);
    default:
        return usher__name_fault(text->data, text->size);
    }
}

static enum usher_status not_taken(const struct usher__verb *verb, const struct usher__arg *arg,
                                   struct usher_result *reply)
{
    return usher__say(reply, USHER_INVALID, "%s is not an argument of `%s`", arg->word, verb->word);
}

/* Check that required arguments are given, that texts are valid for their types, and that no other
 * texts are given. */
static enum usher_status texts_check(const struct usher__noun *noun, const struct usher__verb *verb,
                                     const struct usher_operation *command,
                                     struct usher_result *reply)
{
    uint64_t given = noun->texts(command), bits;
    uint64_t missing = verb->order & ~((given & verb->texts) | (command->given & ~verb->texts));

    if (missing != 0)
        return usher__say(reply, USHER_INVALID, "%s is missing",
                          noun->args[__builtin_ctzll(missing)].word);
    for (bits = verb->texts & given; bits != 0; bits &= bits - 1) {
        const struct usher__arg *arg = &noun->args[__builtin_ctzll(bits)];
        const char *fault = text_fault(arg, text_of(command, arg));

        if (fault != NULL)
            return usher__say(reply, USHER_INVALID, "%s %s", arg->word, fault);
    }
    bits = verb->empty & given;
    return bits == 0 ? USHER_OK : not_taken(verb, &noun->args[__builtin_ctzll(bits)], reply);
}

/* Check the ranges of numbers, and that no others are given. */
static enum usher_status ints_check(const struct usher__noun *noun, const struct usher__verb *verb,
                                    const struct usher_operation *command,
                                    struct usher_result *reply)
{
    uint64_t bits = command->given & verb->given & ~(uint64_t)USHER_GIVEN_NOW;

    for (; bits != 0; bits &= bits - 1) {
        const struct usher__arg *arg = &noun->args[__builtin_ctzll(bits)];
        int64_t value;

        if (arg->type == USHER__ARG_TOKEN)
            continue;
        value = int_of(command, arg);
        if (value < arg->min || value > usher__arg_max(verb, arg))
            return usher__say(reply, USHER_INVALID, "%s is not from %" PRId64 " to %" PRId64,
                              arg->word, arg->min, usher__arg_max(verb, arg));
    }
    if ((command->given & ~verb->given) == 0)
        return USHER_OK;
    for (unsigned i = 0; i < noun->n_args; i++)
        if ((command->given & ~verb->given & noun->args[i].given) != 0)
            return not_taken(verb, &noun->args[i], reply);
    /* of a later version */
    return usher__say(reply, USHER_INVALID, "unknown argument");
}

/* Check what only the noun can check. */
static inline enum usher_status own_check(const struct usher_operation *command,
                                          struct usher_result *reply)
{
    const struct usher__hooks *hooks = usher__hooks_of(command->verb);
    const char *word = NULL, *fault = NULL;

    if (hooks->fault != NULL)
        fault = hooks->fault(command, &word);
    if (fault == NULL)
        return USHER_OK;
    return word != NULL ? usher__say(reply, USHER_INVALID, "%s %s", word, fault)
                        : usher__say(reply, USHER_INVALID, "%s", fault);
}

enum usher_status usher__operation_check(const struct usher_operation *command,
                                         const struct usher_text *known, struct usher_result *reply)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    const struct usher__noun *noun;
    const char *fault;
    enum usher_status status;

    if (verb == NULL)
        return usher__say(reply, USHER_INVALID, "unknown verb %d", (int)command->verb);
    noun = usher__noun((unsigned)command->verb >> 8);
    if (noun->whole && command->scope.size != 0)
        return usher__say(reply, USHER_INVALID, "`%s` has no scope", verb->word);
    if (!noun->whole && command->scope.data == NULL)
        return usher__say(reply, USHER_INVALID, "name of the scope is missing");
    if (noun->whole && command->wait != 0)
        return usher__say(reply, USHER_INVALID, "wait is not an argument of `%s`", verb->word);
    if (noun->whole) {
        /* nothing else to check */
    } else if (known == NULL || known->data != command->scope.data ||
               known->size != command->scope.size) {
        fault = usher__scope_fault(command->scope.data, command->scope.size);
        if (fault != NULL)
            return usher__say(reply, USHER_INVALID, "name of the scope %s", fault);
    }
    if (command->request.data != NULL) {
        fault = usher__name_fault(command->request.data, command->request.size);
        if (fault != NULL)
            return usher__say(reply, USHER_INVALID, "req %s", fault);
    }
    if ((command->given & USHER_GIVEN_NOW) != 0 &&
        (command->now_ms < 0 || command->now_ms > USHER_TIME_MAX))
        return usher__say(reply, USHER_INVALID, "now is not from 0 to %" PRId64, USHER_TIME_MAX);
    if (command->wait > USHER_WAIT_MAX)
        return usher__say(reply, USHER_INVALID, "wait is not from 0 to %d", USHER_WAIT_MAX);
    status = texts_check(noun, verb, command, reply);
    if (status != USHER_OK)
        return status;
    if ((command->given & ~(uint64_t)USHER_GIVEN_NOW & ~noun->token) != 0 ||
        (command->given & ~verb->given) != 0) {
        status = ints_check(noun, verb, command, reply);
        if (status != USHER_OK)
            return status;
    }
    if ((verb->flags & USHER__NEEDS_TOKEN) != 0 && usher__token_missing(noun, verb, command))
        return usher__say(reply, USHER_INVALID, "token is missing");
    return own_check(command, reply);
}
