/* SPDX-License-Identifier: MIT */
/* The room as a whole: open, lock, answers; and the table of its verbs.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

void usher__room_defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    usher__settings_default(USHER_ROOM_OPEN, scope->settings);
}

struct usher__move usher__room_move(work *w, unsigned event)
{
    return usher__work_move(w, &usher__room_machine, state_of(w), event, USHER__ANY);
}

/* Set the members that every answer has, after the change. */
enum usher_status usher__room_answer(work *w, enum usher_status status)
{
    struct usher_room_result *r = &w->reply->of.room;

    w->reply->status = status;
    r->state = (enum usher_room_state)w->scope.counts[COUNT_STATE];
    r->members = (uint64_t)w->scope.counts[COUNT_MEMBERS];
    return USHER_OK;
}

void usher__room_answer_name(work *w, const struct usher_text *name)
{
    struct usher_room_result *r = &w->reply->of.room;

    r->name_size = name->size;
    if (name->size != 0)
        memcpy(r->name, name->data, name->size);
    r->name[name->size] = '\0';
}

enum usher_status usher__room_add_row(work *w, enum usher_room_row_kind kind,
                                      const struct usher_record *r)
{
    struct usher_room_result_row row;

    memset(&row, 0, sizeof row);
    row.kind = (int)kind;
    row.id = r->id;
    row.owner = r->owner;
    row.value = r->data;
    row.version = r->order;
    if (kind == USHER_ROOM_ROW_MEMBER) {
        row.state = r->state;
        row.since_ms = r->n[N_JOINED];
        row.seen_ms = (int64_t)r->rank;
    }
    return usher_result_add_row(w->reply, USHER_ROOM, &row);
}

/* Keep scope.due_ms a lower bound of the time at which an empty room closes. */
void usher__room_linger(struct usher_scope *s)
{
    int64_t end = s->counts[COUNT_EMPTY] + s->settings[SET_LINGER];

    if (s->counts[COUNT_MEMBERS] == 0 && s->settings[SET_LINGER] > 0 && end < s->due_ms)
        s->due_ms = end;
}

/* ---- changes and their log -------------------------------------------------------- */

/* Return whether notices of the command may be coalesced, with the setting `presence`. */
static bool of_presence(const work *w)
{
    switch (w->command->verb) {
    case USHER_ROOM_JOIN:
    case USHER_ROOM_LEAVE:
    case USHER_ROOM_ALIVE:
    case USHER_ROOM_SWEEP:
        return true;
    default:
        return false;
    }
}

/* Set the actor of the command as the data of the notice of @c, if the command has one. */
static enum usher_status tell_actor(work *w, change *c)
{
    const struct usher__notice_field said = { "actor", 0, &args(w)->actor };

    return said.text->data != NULL && usher__change_observed(w, c)
               ? usher__change_data(w, c, &said, 1)
               : USHER_OK;
}

/* Commit @c; not into the log if the room closes, because that is about to be erased. */
enum usher_status usher__room_commit(work *w, change *c, enum usher_verb verb, unsigned from,
                                     unsigned to, const struct usher_record *r)
{
    c->unlogged = c->scope->counts[COUNT_STATE] == USHER_ROOM_STATE_CLOSING;
    c->wait_ms = !c->unlogged && of_presence(w) ? c->scope->settings[SET_PRESENCE] : 0;
    if (verb == w->command->verb && c->data.size == 0) {
        enum usher_status status = tell_actor(w, c);

        if (status != USHER_OK)
            return status;
    }
    return usher__change_commit(w, c, verb, from, to, r);
}

/* Commit the change of the command itself; the answer is complete. */
enum usher_status usher__room_finish(work *w, change *c, unsigned from, unsigned to,
                                     const struct usher_record *r)
{
    enum usher_status status = usher__request_keep(w, c);

    return status == USHER_OK ? usher__room_commit(w, c, w->command->verb, from, to, r) : status;
}

/* ---- checks ----------------------------------------------------------------------- */

/* Return whether the command may do @event to the room; false: answered. */
bool usher__room_gate(work *w, unsigned event)
{
    struct usher__move move = usher__room_move(w, event);

    if (USHER_IS_DONE(move.status))
        return true;
    usher__room_answer(w, (enum usher_status)move.status);
    return false;
}

enum usher_status usher__room_turn_down(work *w, enum usher_status status, const char *why)
{
    usher__room_answer(w, status);
    (void)usher__say(w->reply, status, "%s", why);
    return USHER_OK;
}

/* ---- open, lock, unlock ----------------------------------------------------------- */

void usher__room_settings_from(work *w, const int64_t *set)
{
    usher__settings_tell(w, USHER_ROOM_OPEN, set);
}

/* Add all settings to the notice. */
static enum usher_status tell_settings(work *w, change *c)
{
    struct usher__notice_field said[SETTINGS + 1];
    const struct usher__field *told;
    const struct usher__arg *given;
    size_t n = 0;

    for (; usher__setting(USHER_ROOM_OPEN, (unsigned)n, &told, &given); n++) {
        said[n].name = given->word;
        said[n].value = c->scope->settings[n];
        said[n].text = NULL;
    }
    if (args(w)->actor.data != NULL)
        said[n++] = (struct usher__notice_field){ "actor", 0, &args(w)->actor };
    return usher__change_data(w, c, said, n);
}

static enum usher_status open_room(work *w)
{
    int64_t new[USHER_SETTINGS];
    unsigned state = state_of(w), event = USHER__ROOM_OPEN;
    struct usher__move move;
    change c;
    enum usher_status status;

    /* a new room has its own clock, independent of that of an erased one */
    if (w->scope.ref == NULL)
        usher__work_time(w, 0);

    (void)usher__settings_given(w, USHER_ROOM_OPEN, new);
    if (state != USHER_ROOM_STATE_CLOSED && memcmp(new, w->scope.settings, sizeof new) != 0)
        event = USHER__ROOM_TUNE;
    move = usher__room_move(w, event);
    if (move.status != USHER_OK) {
        usher__room_settings_from(w, w->scope.settings);
        w->reply->of.room.created_ms = w->scope.counts[COUNT_CREATED];
        if (move.status == USHER_REFUSED)
            return usher__room_turn_down(w, USHER_REFUSED, "the room is being closed");
        return usher__room_answer(w, (enum usher_status)move.status);
    }
    if (usher__room_rests(&w->scope))
        w->scope.epoch = usher__epoch_next(w->scope.epoch);
    usher__change_begin(w, &c);
    c.first = state == USHER_ROOM_STATE_CLOSED;
    memcpy(c.scope->settings, new, sizeof new);
    c.scope->counts[COUNT_STATE] = move.to;
    if (state == USHER_ROOM_STATE_CLOSED) {
        c.scope->counts[COUNT_CREATED] = w->now;
        c.scope->counts[COUNT_EMPTY] = w->moment;
    }
    usher__room_linger(c.scope);
    usher__room_answer(w, USHER_OK);
    usher__room_settings_from(w, new);
    w->reply->of.room.created_ms = c.scope->counts[COUNT_CREATED];
    status = tell_settings(w, &c);
    return status == USHER_OK ? usher__room_finish(w, &c, state, move.to, NULL) : status;
}

static enum usher_status lock_room(work *w, unsigned event)
{
    unsigned from = state_of(w);
    struct usher__move move = usher__room_move(w, event);
    change c;

    if (!usher__room_gate(w, event))
        return USHER_OK;
    if (move.status != USHER_OK)
        return usher__room_answer(w, (enum usher_status)move.status);
    usher__change_begin(w, &c);
    c.scope->counts[COUNT_STATE] = move.to;
    usher__room_answer(w, USHER_OK);
    return usher__room_finish(w, &c, from, move.to, NULL);
}

/* ---- sweep ------------------------------------------------------------------------ */

static enum usher_status sweep(work *w)
{
    struct usher_room_result *reply = &w->reply->of.room;
    int64_t max = usher__sweep_max(given(w, USHER_GIVEN_ROOM_MAX), args(w)->max);
    int64_t ttl = args(w)->ttl_ms;
    uint64_t version = w->scope.version;
    struct usher_record r;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_expire_due(w, max, &reply->count, &reply->more);
    while (status == USHER_OK && given(w, USHER_GIVEN_ROOM_TTL) && !reply->more &&
           w->scope.ref != NULL && state_of(w) != USHER_ROOM_STATE_CLOSING) {
        status = w->ops->walk(w->txn, &w->scope, KIND_MEMBER, 0, NULL, 0, 0, false, &r);
        if (status != USHER_OK || (int64_t)r.rank + ttl > w->moment)
            break;
        if ((int64_t)reply->count >= max) {
            reply->more = true;
            break;
        }
        status = usher__room_remove_one(w, &r, USHER_ROOM_EXPIRE, w->moment);
        if (usher__work_stops(w, status, reply->count)) {
            reply->more = true;
            status = USHER_OK;
            break;
        }
        reply->count++;
    }
    if (status == USHER_MISSING)
        status = USHER_OK;
    usher__room_answer(w, reply->count > 0 ? USHER_OK : USHER_SAME);
    /* expired bans have no version that could identify a cached answer */
    if (status == USHER_OK && w->scope.ref != NULL && w->scope.version != version)
        status = usher__request_keep_last(w);
    return status;
}

/* ---- all together ----------------------------------------------------------------- */

enum usher_status usher__room_come_again(work *w)
{
    w->reply->of.room.more = true; /* the engine recognises it by that */
    return usher__defer(w);
}

/* An `open` with epoch= creates no room. */
static enum usher_status gone(work *w)
{
    uint64_t epoch = w->reply->epoch, version = w->reply->version;

    usher_result_fail(w->reply, USHER_MISSING, "");
    w->reply->epoch = epoch;
    w->reply->version = version;
    return USHER_OK;
}

enum usher_status usher__room_run(work *w)
{
    uint64_t n;
    bool more, over;
    enum usher_status status;

    if (w->behind)
        return usher__room_come_again(w);
    switch (w->command->verb) {
    case USHER_ROOM_GET:
        return usher__room_get(w);
    case USHER_ROOM_SHOW:
        return usher__room_show(w);
    case USHER_ROOM_STATS:
        return usher__room_stats(w);
    case USHER_ROOM_CHANGES:
        return usher__room_changes(w);
    default:
        break;
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    status = USHER_OK;
    if (state_of(w) == USHER_ROOM_STATE_CLOSING) {
        if (w->command->verb != USHER_ROOM_CLOSE)
            status = usher__room_close_step(w, &n); /* the client that closed it may be dead */
    } else if (w->scope.due_ms <= w->moment &&
               (w->command->verb != USHER_ROOM_SWEEP || usher__room_rests(&w->scope))) {
        status = usher__room_expire_due(w, USHER__EXPIRE_MAX, &n, &more);
    }
    if (status != USHER_OK)
        return status;
    if (usher__room_rests(&w->scope) && w->command->verb == USHER_ROOM_OPEN &&
        args(w)->epoch.data != NULL)
        return gone(w);
    /* a room that is being closed only has to be erased */
    over = state_of(w) == USHER_ROOM_STATE_CLOSING || usher__room_rests(&w->scope);
    if (!over && usher__other_version(w))
        return w->reply->status == USHER_STALE ? usher__room_stale(w) : USHER_OK;
    switch (w->command->verb) {
    case USHER_ROOM_OPEN:
        return open_room(w);
    case USHER_ROOM_CLOSE:
        return usher__room_close(w);
    case USHER_ROOM_LOCK:
        return lock_room(w, USHER__ROOM_LOCK);
    case USHER_ROOM_UNLOCK:
        return lock_room(w, USHER__ROOM_UNLOCK);
    case USHER_ROOM_SET:
        return usher__room_set_fields(w);
    case USHER_ROOM_UNSET:
        return usher__room_unset(w);
    case USHER_ROOM_JOIN:
        return usher__room_join(w);
    case USHER_ROOM_LEAVE:
        return usher__room_leave(w, USHER__MEMBER_LEAVE);
    case USHER_ROOM_KICK:
        return usher__room_kick(w);
    case USHER_ROOM_ALIVE:
        return usher__room_alive(w);
    case USHER_ROOM_MEMBER:
        return usher__room_set_member(w);
    case USHER_ROOM_ALL:
        return usher__room_set_all(w);
    case USHER_ROOM_ROLE:
        return usher__room_set_role(w);
    case USHER_ROOM_SHARE:
        return usher__room_share(w);
    case USHER_ROOM_UNSHARE:
        return usher__room_unshare(w);
    case USHER_ROOM_SNAPSHOT:
        return usher__room_snapshot(w);
    default:
        return sweep(w);
    }
}
