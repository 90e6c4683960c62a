/* SPDX-License-Identifier: MIT */
/* The hooks of ids. */
#include "config.h"

#include "change/hooks.h"
#include "nouns/definition.h"

static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_id_args *a = &command->arg.id;

    (void)ret_word;
    return command->verb == USHER_ID_CREATE && (command->given & USHER_GIVEN_ID_LIMIT) != 0 &&
                   a->limit < ((command->given & USHER_GIVEN_ID_START) != 0 ? a->start : 1)
               ? "limit is below start"
               : NULL;
}

static const char *why_word(unsigned code)
{
    return usher_id_why_word((enum usher_id_why)code);
}

static const char *drop(struct usher_operation *c)
{
    c->verb = USHER_ID_DELETE;
    return NULL;
}

const struct usher__hooks usher__id_hooks = {
    .fault = fault,
    .why_word = why_word,
    .drop = drop,
    .grants = &usher__id_grants,
};
