/* SPDX-License-Identifier: MIT */
/* What the engine does for rooms and for their index. */
#include "config.h"

#include <usher/store.h>

#include "core/pack.h"
#include "core/text.h"
#include "engine/nouns.h"
#include "engine/room_index.h"
#include "engine/room_notice.h"
#include "engine/room_plan.h"

/* `set` and `member`: the first field must not be there a second time. */
static const char *fault(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_room_args *a = &command->arg.room;
    struct usher_fields f = usher__fields(&a->fields);
    struct usher_text name, value;
    uint64_t version;

    (void)ret_word;
    if ((command->verb != USHER_ROOM_SET && command->verb != USHER_ROOM_MEMBER) ||
        a->fields.data == NULL)
        return NULL;
    while (usher_fields_next(&f, &name, &value, &version))
        if (usher__text_equal(&name, &a->field))
            return "fields have one twice";
    return NULL;
}

static const char *state_word(unsigned code)
{
    return usher_room_state_word((enum usher_room_state)code);
}

const struct usher__hooks usher__room_hooks = {
    .fault = fault,
    .execute = usher__room_plan_run,
    .plan_size = sizeof(struct usher__room_plan),
    .plan = usher__room_plan_begin,
    .next = usher__room_plan_next,
    .leave = usher__room_plan_leave,
    .state_word = state_word,
    .subject = usher__room_subject,
    .drop = USHER_ROOM_CLOSE,
    .dropped_at = offsetof(struct usher_result, of.room.count),
    .more_at = offsetof(struct usher_result, of.room.more),
    .index = USHER_ROOMS,
    .index_part = usher__room_partition,
    .index_check = usher__room_index_check,
};

static bool is_entry(const struct usher_record *r)
{
    return r->state == USHER_ROOMS_OPEN;
}

const struct usher__hooks usher__rooms_hooks = {
    .is_entry = is_entry,
};
