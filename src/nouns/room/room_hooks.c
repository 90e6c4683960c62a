/* SPDX-License-Identifier: MIT */
/* The hooks of rooms and of their index. */
#include "config.h"

#include <usher/store/store.h>

#include "core/pack.h"
#include "core/text.h"
#include "change/hooks.h"
#include "nouns/room/room_directory.h"
#include "nouns/room/room_plan.h"

/* Check that if-version has an epoch, because a room that is opened again begins at version 1.
 * Check that the first field of `set` and `member` is not repeated. */
static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_room_args *a = &command->arg.room;
    struct usher_fields f = usher__fields(&a->fields);
    struct usher_text name, value;
    uint64_t version;

    if ((command->given & USHER_GIVEN_ROOM_IF_VERSION) != 0 && a->epoch.data == NULL) {
        *ret_word = "if-version";
        return "needs epoch=, as returned with that version";
    }
    if (command->verb == USHER_ROOM_CLOSE && (command->given & USHER_GIVEN_ROOM_BAN) != 0 &&
        a->ban_ms != 0) {
        *ret_word = "ban";
        return "is not 0: `close` can only end bans";
    }
    if ((command->verb != USHER_ROOM_SET && command->verb != USHER_ROOM_MEMBER) ||
        a->fields.data == NULL)
        return NULL;
    while (usher_fields_next(&f, &name, &value, &version))
        if (usher__text_equal(&name, &a->field))
            return "fields have a name twice";
    return NULL;
}

static enum usher_subject subject(const struct usher_notice *notice)
{
    switch (notice->verb) {
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_KICK:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_MEMBER:
    case USHER_ROOM_FADE:
    case USHER_ROOM_DROP:
    case USHER_ROOM_EXPIRE:
        return USHER_SUBJECT_MEMBER;
    case USHER_ROOM_SET:
    case USHER_ROOM_UNSET:
    case USHER_ROOM_ALL:
        return USHER_SUBJECT_FIELD;
    case USHER_ROOM_ROLE:
        return USHER_SUBJECT_ROLE;
    case USHER_ROOM_SHARE:
    case USHER_ROOM_UNSHARE:
        return USHER_SUBJECT_SHARE;
    default:
        return USHER_SUBJECT_NONE;
    }
}

static const char *state_word(unsigned code)
{
    return usher_room_state_word((enum usher_room_state)code);
}

/* Return the word of the state of a member, or of the room itself. */
static const char *told_state(const struct usher_notice *n, enum usher_subject of, unsigned state)
{
    if (of == USHER_SUBJECT_MEMBER)
        return usher_room_member_state_word((enum usher_room_member_state)state);
    switch (n->verb) {
    case USHER_ROOM_OPEN:
    case USHER_ROOM_CLOSE:
    case USHER_ROOM_LOCK:
    case USHER_ROOM_UNLOCK:
    case USHER_ROOM_EMPTY:
    case USHER_ROOM_DONE:
        return usher_room_state_word((enum usher_room_state)state);
    default:
        return NULL;
    }
}

/* A room that could not be opened has other settings than requested. */
static bool has_extras(const struct usher_operation *op, const struct usher_result *r)
{
    return op->verb != USHER_ROOM_OPEN || USHER_IS_DONE(r->status);
}

/* Any other refused command has no `more`. */
static bool unfinished(const struct usher_result *reply)
{
    return reply->of.room.more;
}

static bool closes(enum usher_verb verb)
{
    return verb == USHER_ROOM_CLOSE || verb == USHER_ROOM_EMPTY;
}

static enum usher__gathering gathering(enum usher_verb verb)
{
    switch (verb) {
    case USHER_ROOM_GET:
    case USHER_ROOM_SHOW:
    case USHER_ROOM_STATS:
    case USHER_ROOM_CHANGES:
        return USHER__GATHERING_STAYS;
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_SWEEP:
        return USHER__GATHERING_GROWS;
    case USHER_ROOM_ALIVE:
        return USHER__GATHERING_HIDES;
    default:
        return USHER__GATHERING_ENDS;
    }
}

static const char *drop(struct usher_operation *c)
{
    c->verb = USHER_ROOM_CLOSE;
    c->given = USHER_GIVEN_ROOM_BAN;
    c->arg.room.ban_ms = 0;
    return NULL;
}

static bool is_entry(const struct usher_record *r)
{
    return r->state == USHER_ROOMS_OPEN;
}

static const struct usher__plan_ops plan = {
    .size = sizeof(struct usher__room_plan),
    .begin = usher__room_plan_begin,
    .next = usher__room_plan_next,
    .leave = usher__room_plan_leave,
};

static const struct usher__index directory = {
    .of = USHER_ROOM,
    .in = USHER_ROOMS,
    .part = usher__room_partition,
    .check = usher__room_directory_check,
    .is_entry = is_entry,
};

static const struct usher__copied copied = {
    .row_of_all = USHER_ROOM_ROW_ALL,
    .row_of_notice = USHER_ROOM_ROW_NOTICE,
    .together = USHER_ROOM_PRESENCE,
    .each = usher_room_presence,
    .gathering = gathering,
    .since_at = offsetof(struct usher_result, of.room.since),
    .mark_at = offsetof(struct usher_result, of.room.mark),
    .gone = USHER_ROOM_DONE,
    .closes = closes,
};

static const struct usher__extras extras = { .has = has_extras };

const struct usher__hooks usher__room_hooks = {
    .fault = fault,
    .execute = usher__room_plan_run,
    .plan = &plan,
    .index = &directory,
    .unfinished = unfinished,
    .drop = drop,
    .sweep = USHER_ROOM_SWEEP,
    .state_word = state_word,
    .subject = subject,
    .told_state = told_state,
    .copied = &copied,
    .extras = &extras,
};

const struct usher__hooks usher__rooms_hooks = {
    .index = &directory,
};
