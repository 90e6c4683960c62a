/* SPDX-License-Identifier: MIT */
/*
 * Commands of rooms as steps for the store.
 *
 *  before    put the entries of rooms that are to be opened, but not for an `open` with `epoch`,
 *            which creates no room; erase the rest of old rooms of these names
 *  commands  as they are.  An `open` is executed again if it was refused because the old room is
 *            being erased: earlier commands of the batch have closed it, or another client has
 *            just done so
 *  after     put entries of rooms that are open again, drop those of rooms that are gone
 *
 * room_directory.c explains this order.
 */
#include "config.h"

#include "nouns/room/room_plan.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/check.h"
#include "engine/engine.h"
#include "change/memory.h"
#include "change/result.h"

#define TIDY_TRIES 16
#define WAY_MAX_NS 100000000

/* ---- entries ------------------------------------------------------------------------------ */

#define ENTRY_SIZE                                                       \
    (sizeof(struct usher__room_asked) + sizeof(struct usher_operation) + \
     sizeof(struct usher_result) + sizeof(const struct usher_operation *))

/* Allocate at most @room of them.  Return false if there is no memory. */
static bool entries_open(struct usher__room_entries *t, const struct usher_allocator *alloc,
                         size_t room)
{
    t->alloc = alloc;
    t->n = 0;
    t->room = room;
    t->asked = usher__resize(alloc, NULL, 0, room * ENTRY_SIZE);
    if (t->asked == NULL)
        return false;
    t->commands = (struct usher_operation *)(t->asked + room);
    t->replies = (struct usher_result *)(t->commands + room);
    t->of = (const struct usher_operation **)(t->replies + room);
    return true;
}

static void entries_close(struct usher__room_entries *t)
{
    if (t->asked != NULL)
        (void)usher__resize(t->alloc, t->asked, t->room * ENTRY_SIZE, 0);
    t->asked = NULL;
    t->n = 0;
}

/* Add a command @verb on the entry of the room of @of. */
static struct usher_operation *entries_add(struct usher__room_entries *t, enum usher_verb verb,
                                           const struct usher_operation *of)
{
    struct usher__room_asked *a = &t->asked[t->n];
    struct usher_operation *c = &t->commands[t->n];

    usher__room_asked(a, verb, usher__room_partition_of(&of->scope), of);
    a->c.arg.rooms.room = of->scope;
    *c = a->c;
    t->of[t->n++] = of;
    return c;
}

/* Make of it a query of the room of @of. */
static void show(struct usher_operation *c, const struct usher_operation *of)
{
    memset(c, 0, sizeof *c);
    c->verb = USHER_ROOM_SHOW;
    c->scope = of->scope;
    c->given = of->given & USHER_GIVEN_NOW;
    c->now_ms = of->now_ms;
}

/* ---- steps -------------------------------------------------------------------------------- */

/* Return the deadline of a step; at least 1 ms is left, because the answer may come at once. */
static int64_t deadline(const struct usher__room_plan *p)
{
    int64_t least_ms = p->deadline_ms != 0 ? usher__monotonic_ms() + 1 : 0;

    return p->deadline_ms > least_ms ? p->deadline_ms : least_ms;
}

/* Make a step of @n commands of the plan's own. */
static bool step_own(struct usher__room_plan *p, const struct usher_operation *commands,
                     struct usher_result *replies, size_t n, enum usher__room_stage then,
                     struct usher__step *step)
{
    p->stage = then;
    p->own = replies;
    p->n_own = n;
    *step = (struct usher__step){ commands, replies, n, deadline(p), 0 };
    return n > 0;
}

/* Make a step of the commands on the entries. */
static bool step_entries(struct usher__room_plan *p, enum usher__room_stage then,
                         struct usher__step *step)
{
    return step_own(p, p->entries.commands, p->entries.replies, p->entries.n, then, step);
}

/* Make a step of the commands @from to @end of the application. */
static bool step_commands(struct usher__room_plan *p, size_t from, size_t end,
                          enum usher__room_stage then, struct usher__step *step)
{
    p->stage = then;
    *step = (struct usher__step){ p->commands + from, p->replies + from, end - from, p->deadline_ms,
                                  0 };
    return end > from;
}

/* If one of the @n commands erased a part of a room, make a step that is a pause of the same
 * length, in which other commands use the store. */
static bool step_way(struct usher__room_plan *p, const struct usher_operation *commands,
                     const struct usher_result *replies, size_t n, struct usher__step *step)
{
    bool erased = false;
    int64_t ns;

    if (!p->e->waits) /* a step takes less time than it takes to sleep */
        return false;
    for (size_t i = 0; i < n && !erased; i++)
        erased = (unsigned)commands[i].verb >> 8 == USHER_ROOM &&
                 replies[i].status < USHER_INVALID && /* so the verb exists */
                 replies[i].of.room.state == USHER_ROOM_STATE_CLOSING &&
                 (usher__verb((unsigned)commands[i].verb)->flags & USHER__WRITES) != 0;
    if (!erased)
        return false;
    ns = usher__monotonic_ns() - p->began_ns;
    *step = (struct usher__step){ .pause_ns = ns < WAY_MAX_NS ? ns : WAY_MAX_NS };
    return ns > 0;
}

/* ---- erase a room ------------------------------------------------------------------------- */

/* Erase the room of @of until nothing is left of it, and continue with @then. */
static void erase(struct usher__room_plan *p, const struct usher_operation *of,
                  enum usher__room_stage then)
{
    p->erases = of;
    p->erased = then;
    p->stage = USHER__ROOM_SWEEP;
}

/* Make a step that erases a part.  It is a sweep, which does no harm if another room of the name is
 * open by now. */
static bool sweep(struct usher__room_plan *p, struct usher__step *step)
{
    struct usher_operation *c = &p->sweep;
    const struct usher_operation *of = p->erases;

    memset(c, 0, sizeof *c);
    c->verb = USHER_ROOM_SWEEP;
    c->scope = of->scope;
    c->given = of->given & USHER_GIVEN_NOW;
    c->now_ms = of->now_ms;
    p->began_ns = p->e->waits ? usher__monotonic_ns() : 0;
    return step_own(p, c, &p->swept, 1, USHER__ROOM_SWEPT, step);
}

static bool swept(struct usher__room_plan *p, struct usher__step *step)
{
    const struct usher_result *r = &p->swept;
    bool way = step_way(p, &p->sweep, r, 1, step);
    /* with `more` members were removed, and the room closes after the last one */
    bool closing = r->status < USHER_INVALID &&
                   (r->of.room.state == USHER_ROOM_STATE_CLOSING || r->of.room.more) &&
                   (p->deadline_ms == 0 || usher__monotonic_ms() < p->deadline_ms);

    usher_result_done(&p->swept);
    p->stage = closing ? USHER__ROOM_SWEEP : p->erased;
    return closing && way;
}

/* ---- before ------------------------------------------------------------------------------- */

static void cannot(struct usher_result *reply, enum usher_status status, const char *why)
{
    char line[192];

    (void)snprintf(line, sizeof line, "the index of rooms cannot be written: %.150s", why);
    usher_result_fail(reply, status == USHER_UNKNOWN ? USHER_UNAVAILABLE : status, line);
}

static bool begin_commands(struct usher__room_plan *p)
{
    entries_close(&p->entries);
    p->at = 0;
    p->began_ns = p->e->waits ? usher__monotonic_ns() : 0;
    p->stage = USHER__ROOM_SECTION;
    return false;
}

/* Begin.  An `open` whose reply is `invalid` or worse after this must not be executed. */
static bool begin(struct usher__room_plan *p, struct usher__step *step)
{
    size_t opens = 0;
    bool memory;

    for (size_t i = 0; i < p->n; i++)
        opens += p->commands[i].verb == USHER_ROOM_OPEN;
    if (opens == 0) { /* the most common: one step */
        p->began_ns = p->e->waits ? usher__monotonic_ns() : 0;
        return step_commands(p, 0, p->n, USHER__ROOM_GIVE_WAY, step);
    }
    memory = entries_open(&p->entries, p->e->opt.alloc, opens);
    for (size_t i = 0; i < p->n; i++) {
        struct usher_result *reply = &p->replies[i];

        if (p->commands[i].verb != USHER_ROOM_OPEN)
            continue;
        usher__result_init(reply, USHER_ROOM, p->e->opt.alloc);
        if (!memory)
            cannot(reply, USHER_NOMEM, usher_status_text(USHER_NOMEM));
        else if (usher__operation_check(&p->commands[i], NULL, reply) != USHER_OK)
            reply->status = USHER_OK; /* refused later, where all commands are checked */
        else if (p->commands[i].arg.room.epoch.data == NULL)
            (void)entries_add(&p->entries, USHER_ROOMS_PUT, &p->commands[i]);
    }
    return memory ? step_entries(p, USHER__ROOM_PUT, step) : begin_commands(p);
}

/* The entries were put: query the rooms that had one before. */
static bool put(struct usher__room_plan *p, struct usher__step *step)
{
    struct usher__room_entries *t = &p->entries;
    size_t all = t->n;

    t->n = 0;
    for (size_t i = 0; i < all; i++) {
        const struct usher_operation *of = t->of[i];
        bool known = t->replies[i].of.rooms.n_rows > 0;

        if (t->replies[i].status >= USHER_INVALID)
            cannot(&p->replies[of - p->commands], t->replies[i].status, t->replies[i].message);
        usher_result_done(&t->replies[i]);
        /* commands before it in the batch have to be executed before it */
        if (!known || usher__room_any_on(p->commands, (size_t)(of - p->commands), of))
            continue;
        show(&t->commands[t->n], of);
        t->of[t->n++] = of;
    }
    return step_entries(p, USHER__ROOM_SEEN, step);
}

/* Some of them are being closed.  An old room may keep the answer to the request id of the `open`:
 * such an `open` is sent first, and REFUSED in its reply marks it for section(). */
static bool seen(struct usher__room_plan *p)
{
    struct usher__room_entries *t = &p->entries;
    size_t all = t->n;

    t->n = 0;
    for (size_t i = 0; i < all; i++) {
        bool closing = t->replies[i].status == USHER_MISSING &&
                       t->replies[i].of.room.state == USHER_ROOM_STATE_CLOSING;

        usher_result_done(&t->replies[i]);
        if (closing && t->of[i]->request.data != NULL)
            p->replies[t->of[i] - p->commands].status = USHER_REFUSED;
        else if (closing)
            t->of[t->n++] = t->of[i];
    }
    p->at = 0;
    p->stage = USHER__ROOM_ERASE_NEXT;
    return false;
}

static bool erase_next(struct usher__room_plan *p)
{
    if (p->at == p->entries.n)
        return begin_commands(p);
    erase(p, p->entries.of[p->at++], USHER__ROOM_ERASE_NEXT);
    return false;
}

/* ---- the commands ------------------------------------------------------------------------- */

bool usher__room_any_on(const struct usher_operation *commands, size_t n,
                        const struct usher_operation *command)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned)commands[i].verb >> 8 == USHER_ROOM &&
            usher__text_equal(&commands[i].scope, &command->scope))
            return true;
    return false;
}

/*
 * Make a step of the commands up to the next `open` that must not be executed, or whose room is
 * being closed, or that follows other commands on its room, which may have closed it.  The plan
 * waits for that `open`, so that the commands after it find the new room.
 */
static bool section(struct usher__room_plan *p, struct usher__step *step)
{
    size_t from = p->from;

    while (p->at < p->n) {
        const struct usher_operation *c = &p->commands[p->at];
        size_t i = p->at++;
        bool left_out;

        if (c->verb != USHER_ROOM_OPEN)
            continue;
        left_out = p->replies[i].status >= USHER_INVALID;
        if (!left_out && p->replies[i].status != USHER_REFUSED &&
            !usher__room_any_on(p->commands, i, c))
            continue;
        p->from = i + 1;
        return step_commands(p, from, left_out ? i : i + 1,
                             left_out ? USHER__ROOM_SECTION : USHER__ROOM_REOPEN, step);
    }
    p->from = p->n;
    return step_commands(p, from, p->n, USHER__ROOM_GIVE_WAY, step);
}

/* The command before `at` is an `open`.  If the old room of the name is being erased: erase the
 * rest of it, and execute the `open` again. */
static bool reopen(struct usher__room_plan *p, enum usher__room_stage then)
{
    const struct usher_result *reply = &p->replies[p->at - 1];

    p->stage = then;
    if (reply->status != USHER_REFUSED || reply->of.room.state != USHER_ROOM_STATE_CLOSING)
        return false;
    p->reopened = then;
    erase(p, &p->commands[p->at - 1], USHER__ROOM_AGAIN);
    return false;
}

static bool again(struct usher__room_plan *p, struct usher__step *step)
{
    usher_result_done(&p->replies[p->at - 1]);
    return step_commands(p, p->at - 1, p->at, p->reopened, step);
}

static bool give_way(struct usher__room_plan *p, struct usher__step *step)
{
    p->at = 0;
    p->stage = USHER__ROOM_LAST;
    return step_way(p, p->commands, p->replies, p->n, step);
}

/* Check whether another client has just begun to close the room of an `open`. */
static bool last(struct usher__room_plan *p)
{
    while (p->at < p->n) {
        const struct usher_operation *c = &p->commands[p->at++];

        if (c->verb == USHER_ROOM_OPEN && !usher__room_any_on(c + 1, p->n - p->at, c))
            return reopen(p, USHER__ROOM_LAST);
    }
    p->stage = USHER__ROOM_AFTER;
    return false;
}

/* ---- after -------------------------------------------------------------------------------- */

/* Set the verb of the update of the directory for @command.  Return false if none is needed. */
static bool follows(const struct usher_operation *command, const struct usher_result *reply,
                    enum usher_verb *ret_verb)
{
    const struct usher_room_result *r = &reply->of.room;
    bool closed = reply->epoch != 0 && r->state == USHER_ROOM_STATE_CLOSED;
    bool rests = closed && reply->due_ms != USHER_NEVER;
    bool gone = closed && !rests;
    bool open = command->verb == USHER_ROOM_OPEN && reply->status != USHER_MISSING;

    /* the room of a stale answer exists; the answer may have no other values */
    if (reply->noun != USHER_ROOM || reply->status >= USHER_INVALID || reply->status == USHER_STALE)
        return false;
    /* A room of which bans are left keeps an entry, by which a patrol finds them.  The bans may end
     * without a command, so the entry records that there may be no such room. */
    rests = rests && command->verb == USHER_ROOM_CLOSE && reply->status == USHER_OK;
    *ret_verb = open || rests ? USHER_ROOMS_PUT : USHER_ROOMS_FIND;
    /* an `open` that found no room may have erased the rest of it */
    return command->verb == USHER_ROOM_OPEN || gone || rests ||
           (command->verb == USHER_ROOM_CLOSE && reply->status == USHER_SAME);
}

static bool after(struct usher__room_plan *p, struct usher__step *step)
{
    enum usher_verb verb;
    size_t all = 0;

    p->stage = USHER__ROOM_TELL;
    for (size_t i = 0; i < p->n; i++)
        all += follows(&p->commands[i], &p->replies[i], &verb);
    if (all == 0 || !entries_open(&p->entries, p->e->opt.alloc, all))
        return false;
    for (size_t i = 0; i < p->n; i++) {
        struct usher_operation *c;

        if (!follows(&p->commands[i], &p->replies[i], &verb))
            continue;
        c = entries_add(&p->entries, verb, &p->commands[i]);
        if (verb != USHER_ROOMS_PUT)
            continue;
        if (p->commands[i].verb != USHER_ROOM_OPEN) {
            c->given |= USHER_GIVEN_ROOMS_CLOSED;
            c->arg.rooms.closed = 1;
            continue;
        }
        c->given |= USHER_GIVEN_ROOMS_CREATED;
        c->arg.rooms.created_ms = p->replies[i].of.room.created_ms;
    }
    return step_entries(p, USHER__ROOM_FOUND, step);
}

/* Return the token of an entry whose room may not exist, or 0 if it is known to exist. */
static uint64_t doubtful(enum usher_verb verb, const struct usher_result *reply)
{
    const struct usher_rooms_result *r = &reply->of.rooms;

    if (reply->status != USHER_OK)
        return 0;
    if (verb == USHER_ROOMS_FIND)
        return r->rows->token;
    /* before this put another client may have found no entry to drop, or have failed to drop it */
    return r->n_rows == 0 || r->rows->state == USHER_ROOMS_DOUBTED ? r->token : 0;
}

/* The entries were found or put: query the rooms themselves. */
static bool found(struct usher__room_plan *p, struct usher__step *step)
{
    struct usher__room_entries *t = &p->entries;
    size_t all = t->n;

    t->n = 0;
    for (size_t i = 0; i < all; i++) {
        uint64_t token = doubtful(t->commands[i].verb, &t->replies[i]);
        struct usher_operation *c, *drop;

        usher_result_done(&t->replies[i]);
        if (token == 0)
            continue;
        drop = &t->asked[t->n].c;
        c = entries_add(t, USHER_ROOMS_DROP, t->of[i]);
        drop->given |= USHER_GIVEN_ROOMS_TOKEN;
        drop->arg.rooms.token = (int64_t)token;
        show(c, t->of[t->n - 1]);
    }
    return step_entries(p, USHER__ROOM_LOOKED, step);
}

/* Drop the entries of rooms that do not exist. */
static bool looked(struct usher__room_plan *p, struct usher__step *step)
{
    struct usher__room_entries *t = &p->entries;
    size_t all = t->n;

    t->n = 0;
    for (size_t i = 0; i < all; i++) {
        const struct usher_result *r = &t->replies[i];
        bool there = r->status != USHER_MISSING || r->epoch != 0;

        usher_result_done(&t->replies[i]);
        if (there)
            continue;
        t->commands[t->n] = t->asked[i].c;
        t->of[t->n++] = t->of[i];
    }
    return step_entries(p, USHER__ROOM_DROPPED, step);
}

/* A client that put an entry during that may have seen the room that is gone since, so it is
 * queried again.  That is done a few times only, because a patrol finds it, too. */
static bool dropped(struct usher__room_plan *p, struct usher__step *step)
{
    struct usher__room_entries *t = &p->entries;
    size_t all = t->n;

    t->n = 0;
    for (size_t i = 0; i < all; i++) {
        bool stale = t->replies[i].status == USHER_STALE && p->tries < TIDY_TRIES;

        usher_result_done(&t->replies[i]);
        if (stale)
            (void)entries_add(t, USHER_ROOMS_FIND, t->of[i]);
    }
    p->tries++;
    if (t->n > 0)
        return step_entries(p, USHER__ROOM_FOUND, step);
    p->stage = USHER__ROOM_TELL;
    return false;
}

/* Queue coalesced notices that have waited long enough. */
static void tell_together(struct usher__room_plan *p)
{
    struct usher_engine *e = p->e;
    int64_t now_ms;

    if (atomic_load_explicit(&e->watches.n_gathered, memory_order_relaxed) == 0)
        return;
    now_ms = e->opt.now_ms != NULL ? e->opt.now_ms(e->opt.payload) : 0;
    for (size_t i = 0; i < p->n; i++)
        if ((unsigned)p->commands[i].verb >> 8 == USHER_ROOM)
            usher__watches_meet(
                &e->watches, &p->commands[i], &p->replies[i],
                (p->commands[i].given & USHER_GIVEN_NOW) != 0 ? p->commands[i].now_ms : now_ms);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* Initialise @p so that it owns no memory, because its allocator is not known yet. */
static void plan_init(struct usher__room_plan *p, struct usher_engine *e, int64_t deadline_ms)
{
    p->e = e;
    p->commands = NULL;
    p->replies = NULL;
    p->n = 0;
    p->deadline_ms = deadline_ms;
    p->stage = USHER__ROOM_BEGIN;
    p->from = p->at = 0;
    p->tries = 0;
    p->n_own = 0;
    p->entries.asked = NULL;
}

void usher__room_plan_begin(void *plan, struct usher_engine *e,
                            const struct usher_operation *commands, struct usher_result *replies,
                            size_t n, int64_t deadline_ms)
{
    struct usher__room_plan *p = plan;

    plan_init(p, e, deadline_ms);
    p->commands = commands;
    p->replies = replies;
    p->n = n;
}

/* Begin the next stage.  Return true if it begins with *@step. */
static bool go_on(struct usher__room_plan *p, struct usher__step *step)
{
    switch (p->stage) {
    case USHER__ROOM_BEGIN:
        return begin(p, step);
    case USHER__ROOM_PUT:
        return put(p, step);
    case USHER__ROOM_SEEN:
        return seen(p);
    case USHER__ROOM_ERASE_NEXT:
        return erase_next(p);
    case USHER__ROOM_SECTION:
        return section(p, step);
    case USHER__ROOM_REOPEN:
        return reopen(p, USHER__ROOM_SECTION);
    case USHER__ROOM_AGAIN:
        return again(p, step);
    case USHER__ROOM_GIVE_WAY:
        return give_way(p, step);
    case USHER__ROOM_LAST:
        return last(p);
    case USHER__ROOM_AFTER:
        return after(p, step);
    case USHER__ROOM_FOUND:
        return found(p, step);
    case USHER__ROOM_LOOKED:
        return looked(p, step);
    case USHER__ROOM_DROPPED:
        return dropped(p, step);
    case USHER__ROOM_SWEEP:
        return sweep(p, step);
    case USHER__ROOM_SWEPT:
        return swept(p, step);
    case USHER__ROOM_TELL:
    case USHER__ROOM_END:
        tell_together(p);
        p->stage = USHER__ROOM_END;
    }
    return false;
}

bool usher__room_plan_next(void *plan, struct usher__step *ret_step)
{
    struct usher__room_plan *p = plan;

    p->n_own = 0; /* each stage frees its own answers */
    while (p->stage != USHER__ROOM_END)
        if (go_on(p, ret_step))
            return true;
    return false;
}

void usher__room_plan_leave(void *plan)
{
    struct usher__room_plan *p = plan;

    for (size_t i = 0; i < p->n_own; i++)
        usher_result_done(&p->own[i]);
    p->n_own = 0;
    entries_close(&p->entries);
}

static void run(struct usher__room_plan *p)
{
    struct usher__step step;

    while (usher__room_plan_next(p, &step)) {
        struct timespec pause = { 0, (long)step.pause_ns };

        if (step.n == 0)
            (void)nanosleep(&pause, NULL);
        else
            usher__engine_execute_all(p->e, step.commands, step.replies, step.n, step.deadline_ms);
    }
    usher__room_plan_leave(p);
}

void usher__room_plan_run(struct usher_engine *e, const struct usher_operation *commands,
                          struct usher_result *replies, size_t n, int64_t deadline_ms)
{
    struct usher__room_plan p;

    usher__room_plan_begin(&p, e, commands, replies, n, deadline_ms);
    run(&p);
}

/* Run the stages from the entry of the room of @of on, which is found or put. */
static void run_entry(struct usher_engine *e, enum usher_verb verb,
                      const struct usher_operation *of, int64_t created_ms)
{
    struct usher__room_plan p;
    struct usher__step step;
    struct usher_operation *c;

    plan_init(&p, e, e->waits ? usher__monotonic_ms() + e->timeout_ms : 0);
    if (!entries_open(&p.entries, e->opt.alloc, 1))
        return;
    c = entries_add(&p.entries, verb, of);
    if (verb == USHER_ROOMS_PUT) {
        c->given |= USHER_GIVEN_ROOMS_CREATED;
        c->arg.rooms.created_ms = created_ms;
    }
    (void)step_entries(&p, USHER__ROOM_FOUND, &step);
    usher__engine_execute_all(e, step.commands, step.replies, step.n, step.deadline_ms);
    run(&p);
}

void usher__room_tidy(struct usher_engine *e, const struct usher_operation *of)
{
    run_entry(e, USHER_ROOMS_FIND, of, 0);
}

void usher__room_put(struct usher_engine *e, const struct usher_operation *of, int64_t created_ms)
{
    run_entry(e, USHER_ROOMS_PUT, of, created_ms);
}
