/* SPDX-License-Identifier: MIT */
/* What the engine does for queues. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/verbs.h"
#include "engine/nouns.h"

static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_queue_args *a = &command->arg.queue;

    (void)ret_word;
    return command->verb == USHER_QUEUE_ALIVE && (a->agent.data == NULL) == (a->user.data == NULL)
               ? "either agent or user is to be given"
               : NULL;
}

static bool sound(const struct usher_operation *command, const struct usher_result *reply)
{
    (void)command;
    return reply->of.queue.no >= 0 && reply->of.queue.no <= USHER_QUEUE_CAPACITY_MAX;
}

static const char *state_word(unsigned code)
{
    return usher_queue_user_state_word((enum usher_queue_user_state)code);
}

static const char *why_word(unsigned code)
{
    return usher_queue_why_word((enum usher_queue_why)code);
}

const char *usher_queue_room_name(char to[USHER_QUEUE_ROOM_MAX], uint64_t epoch, uint64_t login,
                                  int64_t no)
{
    to[0] = '\0';
    if (no != 0)
        (void)snprintf(to, USHER_QUEUE_ROOM_MAX, "%016" PRIx64 ".%" PRIu64 ".%" PRId64, epoch,
                       login, no);
    return to;
}

static enum usher_subject subject(const struct usher_notice *notice)
{
    /* a user has no token, or an agent */
    return notice->token != 0 && notice->owner.size == 0 ? USHER_SUBJECT_AGENT : USHER_SUBJECT_USER;
}

const struct usher__hooks usher__queue_hooks = {
    .fault = fault,
    .sound = sound,
    .state_word = state_word,
    .why_word = why_word,
    .subject = subject,
    .why_at = offsetof(struct usher_result, of.queue.why),
    .why_due = USHER_QUEUE_WHY_DUE,
    .drop = USHER_QUEUE_DROP,
    .dropped_at = offsetof(struct usher_result, of.queue.count),
    .more_at = offsetof(struct usher_result, of.queue.more),
};
