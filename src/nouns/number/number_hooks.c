/* SPDX-License-Identifier: MIT */
/* The hooks of numbers. */
#include "config.h"

#include <string.h>

#include "core/text.h"
#include "core/verbs.h"
#include "change/hooks.h"
#include "nouns/number/number.h"

static const char *renew_fault(const struct usher_operation *command)
{
    const struct usher_number_args *a = &command->arg.number;
    uint64_t token;

    if (a->number.data != NULL && a->after.data != NULL)
        return "after and number exclude each other";
    if (a->number.data != NULL) /* the node of a hold that is taken back */
        return a->node.data != NULL && a->owner.data == NULL ? "number and node together need owner"
                                                             : NULL;
    if (a->node.data == NULL)
        return "number or node is missing";
    if ((command->given & USHER_GIVEN_TOKEN) != 0)
        return "token needs number";
    if (a->owner.data != NULL)
        return "owner needs number";
    return a->after.data != NULL && !usher__text_token(&a->after, &token) ? "after is not a token"
                                                                          : NULL;
}

static const char *free_fault(const struct usher_operation *command)
{
    const struct usher_number_args *a = &command->arg.number;
    bool given = a->owner.data != NULL || a->node.data != NULL || a->number.data != NULL;

    if (a->owner.data != NULL && a->node.data != NULL)
        return "owner and node exclude each other";
    if (!given && (command->given & USHER_GIVEN_ALL) == 0)
        return "owner, node or number is missing (or all=1, which ends every call of the pool)";
    return given && (command->given & USHER_GIVEN_ALL) != 0 ? "all=1 excludes the other arguments"
                                                            : NULL;
}

static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_number_args *a = &command->arg.number;
    uint64_t token;

    (void)ret_word;
    switch (command->verb) {
    case USHER_NUMBER_CALL:
        return a->number.data != NULL && a->group.data != NULL
                   ? "number and group exclude each other"
                   : NULL;
    case USHER_NUMBER_RENEW:
        return renew_fault(command);
    case USHER_NUMBER_FREE:
        return free_fault(command);
    case USHER_NUMBER_LIST:
        if (a->owner.data != NULL && a->node.data != NULL)
            return "owner and node exclude each other";
        return a->after.data != NULL && usher__number_lists_holds(command) &&
                       !usher__text_token(&a->after, &token)
                   ? "after is not a token; calls are listed by token"
                   : NULL;
    default:
        return NULL;
    }
}

/* Clear all but the text, which is long and has a size and a NUL. */
static void fresh(struct usher_result *reply)
{
    struct usher_number_result *n = &reply->of.number;

    memset(n, 0, offsetof(struct usher_number_result, number) + 1);
    n->why = USHER_NUMBER_WHY_NONE;
    n->next_ms = -1;
    n->since = 0;
    n->n_rows = 0;
    n->rows = NULL;
    memset(&n->of, 0, sizeof n->of);
}

static const char *state_word(unsigned code)
{
    return code <= USHER_NUMBER_STATE_BUSY ? usher__number_list_words[code] : "?";
}

static const char *why_word(unsigned code)
{
    return usher_number_why_word((enum usher_number_why)code);
}

static enum usher_subject subject(const struct usher_notice *notice)
{
    (void)notice;
    return USHER_SUBJECT_NUMBER;
}

static const char *told_state(const struct usher_notice *n, enum usher_subject of, unsigned state)
{
    (void)n;
    return of == USHER_SUBJECT_NUMBER ? usher_number_state_word((enum usher_number_state)state)
                                      : NULL;
}

static bool unfinished(const struct usher_result *reply)
{
    return reply->of.number.why == USHER_NUMBER_WHY_DUE;
}

static const char *drop(struct usher_operation *c)
{
    c->verb = USHER_NUMBER_DROP;
    return NULL;
}

const struct usher__hooks usher__number_hooks = {
    .fault = fault,
    .fresh = fresh,
    .state_word = state_word,
    .why_word = why_word,
    .subject = subject,
    .told_state = told_state,
    .unfinished = unfinished,
    .drop = drop,
    .sweep = USHER_NUMBER_SWEEP,
    .lua = usher__number_lua,
};
