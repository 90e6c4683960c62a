/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "engine/check.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "steps/work.h"

static const struct usher_text *text_of(const struct usher_command *command,
                                        const struct usher__arg *arg)
{
    return (const struct usher_text *)(const void *)((const char *)command + arg->offset);
}

static int64_t int_of(const struct usher_command *command, const struct usher__arg *arg)
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
    default:
        return usher__name_fault(text->data, text->size);
    }
}

/* Two arguments that exclude each other.  The same fields for all number verbs. */
static const char *conflict(const struct usher_command *command)
{
    const struct usher_number_args *a = &command->arg.number;

    if (command->verb == USHER_NUMBER_CALL && a->number.data != NULL && a->group.data != NULL)
        return "number and group exclude each other";
    if (command->verb == USHER_NUMBER_LIST && a->owner.data != NULL && a->after.data != NULL)
        return "owner and after exclude each other";
    return NULL;
}

enum usher_status usher__command_check(const struct usher_command *command,
                                       struct usher_reply *reply)
{
    const struct usher__verb *verb = usher__verb((unsigned)command->verb);
    const struct usher__noun *noun;
    const char *fault;
    uint32_t taken;

    if (verb == NULL)
        return usher__say(reply, USHER_INVALID, "verb %d is not known", (int)command->verb);
    noun = usher__noun((unsigned)command->verb >> 8);
    if (command->scope.data == NULL)
        return usher__say(reply, USHER_INVALID, "%s is missing", noun->word);
    fault = usher__scope_fault(command->scope.data, command->scope.size);
    if (fault != NULL)
        return usher__say(reply, USHER_INVALID, "name of the scope %s", fault);
    if (command->request.data != NULL) {
        fault = usher__name_fault(command->request.data, command->request.size);
        if (fault != NULL)
            return usher__say(reply, USHER_INVALID, "req %s", fault);
    }
    if ((command->given & USHER_GIVEN_NOW) != 0 &&
        (command->now_ms < 0 || command->now_ms > USHER_TIME_MAX))
        return usher__say(reply, USHER_INVALID, "now is not from 0 to %" PRId64,
                          USHER_TIME_MAX);

    taken = verb->order | verb->keys;
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        bool takes = (taken >> i & 1u) != 0;

        if (arg->given == 0) {
            const struct usher_text *text = text_of(command, arg);

            if (text->data == NULL) {
                if ((verb->order >> i & 1u) != 0)
                    return usher__say(reply, USHER_INVALID, "%s is missing", arg->word);
            } else if (takes) {
                fault = text_fault(arg, text);
                if (fault != NULL)
                    return usher__say(reply, USHER_INVALID, "%s %s", arg->word, fault);
            }
        } else if (takes && (command->given & arg->given) != 0 &&
                   arg->type != USHER__ARG_TOKEN) {
            int64_t value = int_of(command, arg);

            if (value < arg->min || value > arg->max)
                return usher__say(reply, USHER_INVALID, "%s is not from %" PRId64 " to %" PRId64,
                                  arg->word, arg->min, arg->max);
        }
    }
    /* Texts of other rows may share a field (group), so look at the fields taken. */
    for (unsigned i = 0; i < noun->n_args; i++) {
        const struct usher__arg *arg = &noun->args[i];
        bool shared = false;

        if ((taken >> i & 1u) != 0)
            continue;
        if (arg->given != 0) {
            if ((command->given & arg->given) != 0)
                return usher__say(reply, USHER_INVALID, "%s is not an argument of `%s`",
                                  arg->word, verb->word);
            continue;
        }
        if (text_of(command, arg)->data == NULL)
            continue;
        for (unsigned j = 0; j < noun->n_args; j++)
            if ((taken >> j & 1u) != 0 && noun->args[j].offset == arg->offset)
                shared = true;
        if (!shared)
            return usher__say(reply, USHER_INVALID, "%s is not an argument of `%s`",
                              arg->word, verb->word);
    }
    if ((verb->flags & USHER__NEEDS_TOKEN) != 0 && (command->given & USHER_GIVEN_TOKEN) == 0)
        return usher__say(reply, USHER_INVALID, "token is missing");
    fault = conflict(command);
    if (fault != NULL)
        return usher__say(reply, USHER_INVALID, "%s", fault);
    return USHER_OK;
}
