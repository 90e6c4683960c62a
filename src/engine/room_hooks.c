/* SPDX-License-Identifier: MIT */
/* What the engine does for rooms. */
#include "config.h"

#include <time.h>

#include "core/pack.h"
#include "core/text.h"
#include "engine/engine.h"
#include "engine/nouns.h"
#include "engine/room_index.h"
#include "engine/room_notice.h"

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

/* What has waited to be told together may have waited long enough. */
static void tell_together(struct usher_engine *e, const struct usher_operation *commands,
                          struct usher_result *replies, size_t n)
{
    int64_t now_ms = e->opt.now_ms != NULL ? e->opt.now_ms(e->opt.payload) : 0;

    for (size_t i = 0; i < n; i++)
        if ((unsigned)commands[i].verb >> 8 == USHER_ROOM)
            usher__watches_meet(&e->watches, &commands[i], &replies[i],
                                (commands[i].given & USHER_GIVEN_NOW) != 0 ? commands[i].now_ms
                                                                           : now_ms);
}

static void executed(struct usher_engine *e, const struct usher_operation *commands,
                     struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    usher__room_index_after(e, commands, replies, n, deadline_ms);
    if (atomic_load_explicit(&e->watches.n_gathered, memory_order_relaxed) != 0)
        tell_together(e, commands, replies, n);
}

static void give_way(int64_t ns)
{
    struct timespec pause = { 0, (long)ns };

    if (ns > 0)
        (void)nanosleep(&pause, NULL);
}

/*
 * Commands of rooms with what the index has to know of them.  An `open` behind other commands on
 * its room may find that they have closed it: it is waited for, so that those behind it meet the
 * new one.
 */
static void execute(struct usher_engine *e, const struct usher_operation *commands,
                    struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    size_t from = 0;
    int64_t began_ns;

    usher__room_index_before(e, commands, replies, n, deadline_ms);
    began_ns = e->waits ? usher__monotonic_ns() : 0;
    for (size_t i = 0; i < n; i++) {
        bool left_out, waits;
        size_t end;

        if (commands[i].verb != USHER_ROOM_OPEN)
            continue;
        left_out = replies[i].status >= USHER_INVALID;
        waits = !left_out && usher__room_any_on(commands, i, &commands[i]);
        if (!left_out && !waits)
            continue;
        end = waits ? i + 1 : i;
        if (end > from)
            usher__engine_execute_all(e, commands + from, replies + from, end - from, deadline_ms);
        if (waits)
            usher__room_reopen(e, &commands[i], &replies[i], deadline_ms);
        from = i + 1;
    }
    if (n > from)
        usher__engine_execute_all(e, commands + from, replies + from, n - from, deadline_ms);
    if (e->waits) /* else a step takes less time than it takes to sleep */
        give_way(usher__room_way_ns(commands, replies, n, usher__monotonic_ns() - began_ns));
    for (size_t i = 0; i < n; i++) /* somebody else has begun to close it a moment ago */
        if (commands[i].verb == USHER_ROOM_OPEN &&
            !usher__room_any_on(commands + i + 1, n - i - 1, &commands[i]))
            usher__room_reopen(e, &commands[i], &replies[i], deadline_ms);
    executed(e, commands, replies, n, deadline_ms);
}

const struct usher__hooks usher__room_hooks = {
    .fault = fault,
    .execute = execute,
    .executed = executed,
    .state_word = state_word,
    .subject = usher__room_subject,
    .drop = USHER_ROOM_CLOSE,
    .dropped_at = offsetof(struct usher_result, of.room.count),
    .more_at = offsetof(struct usher_result, of.room.more),
};
