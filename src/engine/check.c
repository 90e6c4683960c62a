/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/check.h"

#include <inttypes.h>
#include <string.h>

#include "core/serial.h"
#include "core/text.h"
#include "core/verbs.h"
#include "steps/work.h"

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
    case USHER__ARG_FIELDS:
        return usher__fields_fault(text->data, text->size);
    default:
        return usher__name_fault(text->data, text->size);
    }
}

/* `set` and `member`: the first field must not be there a second time. */
static bool field_twice(const struct usher_room_args *a)
{
    struct usher_fields f = { 0 };
    struct usher_text name, value;
    uint64_t version;

    if (a->fields.data == NULL)
        return false;
    f.at = (const unsigned char *)a->fields.data;
    f.end = f.at + a->fields.size;
    while (usher_fields_next(&f, &name, &value, &version))
        if (usher__text_equal(&name, &a->field))
            return true;
    return false;
}

/* Arguments that do not go with each other. */
static const char *conflict(const struct usher_operation *command)
{
    const struct usher_number_args *a = &command->arg.number;
    const struct usher_id_args *id = &command->arg.id;
    uint64_t token;
    bool given;

    switch (command->verb) {
    case USHER_NUMBER_CALL:
        if (a->number.data != NULL && a->group.data != NULL)
            return "number and group exclude each other";
        return NULL;
    case USHER_NUMBER_RENEW:
        if (a->number.data != NULL && a->after.data != NULL)
            return "after goes without a number";
        if (a->number.data != NULL) /* the node of a hold that is taken back */
            return a->node.data != NULL && a->owner.data == NULL
                       ? "node with a number goes with owner"
                       : NULL;
        if (a->node.data == NULL)
            return "number or node is missing";
        if ((command->given & USHER_GIVEN_TOKEN) != 0)
            return "token goes with a number";
        if (a->owner.data != NULL)
            return "owner goes with a number";
        return a->after.data != NULL && !usher__text_token(&a->after, &token)
                   ? "after is not a token"
                   : NULL;
    case USHER_NUMBER_FREE:
        if (a->owner.data != NULL && a->node.data != NULL)
            return "owner and node exclude each other";
        given = a->owner.data != NULL || a->node.data != NULL || a->number.data != NULL;
        if (!given && (command->given & USHER_GIVEN_ALL) == 0)
            return "owner, node or number is missing (or all=1, which ends every call of the pool)";
        return given && (command->given & USHER_GIVEN_ALL) != 0 ? "all goes alone" : NULL;
    case USHER_NUMBER_LIST:
        if (a->owner.data != NULL && a->node.data != NULL)
            return "owner and node exclude each other";
        if (a->after.data != NULL && usher__number_lists_holds(command) &&
            !usher__text_token(&a->after, &token))
            return "after is not a token, as calls are listed by";
        return NULL;
    case USHER_ID_CREATE:
        if ((command->given & USHER_GIVEN_ID_LIMIT) != 0 &&
            id->limit < ((command->given & USHER_GIVEN_ID_START) != 0 ? id->start : 1))
            return "limit is below start";
        return NULL;
    case USHER_ROOM_SET:
    case USHER_ROOM_MEMBER:
        return field_twice(&command->arg.room) ? "fields have one twice" : NULL;
    case USHER_QUEUE_ALIVE:
        if ((command->arg.queue.agent.data == NULL) == (command->arg.queue.user.data == NULL))
            return "either agent or user is to be given";
        return NULL;
    default:
        return NULL;
    }
}

/* What the types of a serial's arguments do not say. */
static const char *serial_fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_serial_args *a = &command->arg.serial;
    const char *fault;

    if (command->verb != USHER_SERIAL_RULE)
        return NULL;
    *ret_word = "prefix";
    fault = usher__serial_affix_fault(a->prefix.data, a->prefix.size);
    if (fault != NULL)
        return fault;
    *ret_word = "suffix";
    fault = usher__serial_affix_fault(a->suffix.data, a->suffix.size);
    if (fault != NULL)
        return fault;
    *ret_word = "date";
    return usher__serial_date_fault(a->date.data, a->date.size);
}

static enum usher_status not_taken(const struct usher__verb *verb, const struct usher__arg *arg,
                                   struct usher_result *reply)
{
    return usher__say(reply, USHER_INVALID, "%s is not an argument of `%s`", arg->word, verb->word);
}

/* Those that must be there, numbers as well; texts each as its type says, and no others. */
static enum usher_status texts_check(const struct usher__noun *noun, const struct usher__verb *verb,
                                     const struct usher_operation *command,
                                     struct usher_result *reply)
{
    uint32_t given = noun->texts(command), bits;
    uint32_t missing = verb->order & ~((given & verb->texts) | (command->given & ~verb->texts));

    if (missing != 0)
        return usher__say(reply, USHER_INVALID, "%s is missing",
                          noun->args[__builtin_ctz(missing)].word);
    for (bits = verb->texts & given; bits != 0; bits &= bits - 1) {
        const struct usher__arg *arg = &noun->args[__builtin_ctz(bits)];
        const char *fault = text_fault(arg, text_of(command, arg));

        if (fault != NULL)
            return usher__say(reply, USHER_INVALID, "%s %s", arg->word, fault);
    }
    bits = verb->empty & given;
    return bits == 0 ? USHER_OK : not_taken(verb, &noun->args[__builtin_ctz(bits)], reply);
}

/* Numbers that the verb takes, and those given that it does not take. */
static enum usher_status ints_check(const struct usher__noun *noun, const struct usher__verb *verb,
                                    const struct usher_operation *command,
                                    struct usher_result *reply)
{
    uint32_t bits = command->given & verb->given & ~(uint32_t)USHER_GIVEN_NOW;

    for (; bits != 0; bits &= bits - 1) {
        const struct usher__arg *arg = &noun->args[__builtin_ctz(bits)];
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
    return usher__say(reply, USHER_INVALID, "an argument given is not known");
}

enum usher_status usher__operation_check(const struct usher_operation *command,
                                         const struct usher_text *known, struct usher_result *reply)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    const struct usher__noun *noun;
    const char *fault;
    enum usher_status status;

    if (verb == NULL)
        return usher__say(reply, USHER_INVALID, "verb %d is not known", (int)command->verb);
    noun = usher__noun((unsigned)command->verb >> 8);
    if (command->scope.data == NULL)
        return usher__say(reply, USHER_INVALID, "name of the scope is missing");
    if (known == NULL || known->data != command->scope.data || known->size != command->scope.size) {
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
    if ((command->given & ~(uint32_t)USHER_GIVEN_NOW & ~noun->token) != 0 ||
        (command->given & ~verb->given) != 0) {
        status = ints_check(noun, verb, command, reply);
        if (status != USHER_OK)
            return status;
    }
    if ((verb->flags & USHER__NEEDS_TOKEN) != 0 && usher__token_missing(noun, verb, command))
        return usher__say(reply, USHER_INVALID, "token is missing");
    if (noun->noun == USHER_SERIAL) {
        const char *word = NULL;

        fault = serial_fault(command, &word);
        if (fault != NULL)
            return usher__say(reply, USHER_INVALID, "%s %s", word, fault);
    }
    fault = conflict(command);
    if (fault != NULL)
        return usher__say(reply, USHER_INVALID, "%s", fault);
    return USHER_OK;
}
