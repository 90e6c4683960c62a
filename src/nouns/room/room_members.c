/* SPDX-License-Identifier: MIT */
/* Members of a room: join, leave, kick, alive.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

struct usher__move usher__room_member_move(work *w, unsigned state, unsigned event)
{
    return usher__work_move(w, &usher__member_machine, state, event, USHER__ANY);
}

static bool fades(const struct usher_scope *s)
{
    const int64_t *set = s->settings;

    return set[SET_AWAY] > 0 && (set[SET_TTL] == 0 || set[SET_AWAY] < set[SET_TTL]);
}

/* Return the deadline of a member that went to @state at @at; 0: none. */
static int64_t deadline(const struct usher_scope *s, unsigned state, int64_t seen, int64_t at)
{
    const int64_t *set = s->settings;

    if (state == USHER_ROOM_MEMBER_OFFLINE)
        return at + set[SET_GRACE];
    if (state == USHER_ROOM_MEMBER_HERE && fades(s))
        return seen + set[SET_AWAY];
    return set[SET_TTL] > 0 ? seen + set[SET_TTL] : 0;
}

/* Put @r, which is present, into @to at the time @at, with all values that follow from the
 * state. */
void usher__room_settle(const struct usher_scope *s, struct usher_record *r, unsigned to,
                        int64_t at)
{
    r->state = (uint8_t)to;
    r->until_ms = deadline(s, to, (int64_t)r->rank, at);
    r->slots = usher__machine_lists(&usher__member_machine, to, r->until_ms);
}

int64_t usher__room_beat(const struct usher_scope *s)
{
    return s->settings[fades(s) ? SET_AWAY : SET_TTL];
}

int64_t usher__room_life_ends(const struct usher_scope *s, const struct usher_record *r)
{
    (void)s;
    return present(r) ? r->until_ms : 0;
}

/* A heartbeat does not set the room's clock, so the last one is that of the members. */
enum usher_status usher__room_last(work *w, int64_t *ret_ms)
{
    struct usher_record r;
    enum usher_status status =
        w->ops->walk(w->txn, &w->scope, KIND_MEMBER, 0, NULL, UINT64_MAX, UINT64_MAX, true, &r);

    if (status == USHER_OK && (int64_t)r.rank > *ret_ms)
        *ret_ms = (int64_t)r.rank;
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Return the event of @r at its deadline. */
unsigned usher__room_due_event(const struct usher_scope *s, const struct usher_record *r)
{
    if (r->state == USHER_ROOM_MEMBER_BANNED)
        return USHER__MEMBER_UNBAN;
    if (r->state == USHER_ROOM_MEMBER_HERE && fades(s))
        return USHER__MEMBER_FADE;
    if (r->state != USHER_ROOM_MEMBER_OFFLINE && s->settings[SET_GRACE] > 0)
        return USHER__MEMBER_DROP;
    return USHER__MEMBER_EXPIRE;
}

/* Erase all records of @kind that belong to @owner. */
static enum usher_status erase_owned(work *w, change *c, uint8_t kind,
                                     const struct usher_text *owner, int64_t *count)
{
    struct usher_record r;
    uint64_t order = 0;
    enum usher_status status;

    while ((status = w->ops->walk(w->txn, &w->scope, kind, 2, owner, 0, order, false, &r)) ==
           USHER_OK) {
        if (c->n == USHER_CHANGE_MAX) /* the record of the member has fewer */
            return USHER_UNAVAILABLE;
        order = r.order;
        usher__change_erase(c, &r);
        --*count;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Member @r, which is present, is absent from @at on: erase its roles and shares. */
enum usher_status usher__room_drop(work *w, change *c, const struct usher_record *r, int64_t at)
{
    int64_t *counts = c->scope->counts;
    enum usher_status status = USHER_OK;

    if (r->n[N_ROLES] > 0)
        status = erase_owned(w, c, KIND_ROLE, &r->id, &counts[COUNT_ROLES]);
    if (status == USHER_OK && r->n[N_SHARES] > 0)
        status = erase_owned(w, c, KIND_SHARE, &r->id, &counts[COUNT_SHARES]);
    if (--counts[COUNT_MEMBERS] == 0) {
        counts[COUNT_EMPTY] = at;
        usher__room_linger(c->scope);
    }
    return status;
}

/* Remove @r at @at by @verb. */
enum usher_status usher__room_remove_one(work *w, struct usher_record *r, enum usher_verb verb,
                                         int64_t at)
{
    bool sweeps = w->command->verb == USHER_ROOM_SWEEP;
    change c;
    enum usher_status status = sweeps ? usher__room_add_row(w, USHER_ROOM_ROW_MEMBER, r) : USHER_OK;

    if (status != USHER_OK)
        return status;
    usher__change_begin(w, &c);
    c.scope->counts[COUNT_LOST]++;
    usher__change_erase(&c, r);
    status = usher__room_drop(w, &c, r, at);
    if (status == USHER_OK)
        status = usher__room_commit(w, &c, verb, r->state, USHER_ROOM_MEMBER_ABSENT, r);
    if (status != USHER_OK && sweeps) /* the command may still succeed */
        w->reply->of.room.n_rows--;
    return status;
}

/* Apply what is due for @r, as a change of its own; *@r is then as stored. */
enum usher_status usher__room_expire_one(work *w, struct usher_record *r)
{
    unsigned event = usher__room_due_event(&w->scope, r), from = r->state;
    struct usher__move move = usher__room_member_move(w, from, event);
    change c;

    if (event == USHER__MEMBER_UNBAN) { /* without a version and a notice */
        usher__change_begin_quietly(w, &c);
        usher__change_erase(&c, r);
        c.scope->counts[COUNT_BANS]--;
        return usher__room_bans_write(w, &c);
    }
    if (usher__outage_end(w, r->until_ms) != 0) {
        usher__change_begin_quietly(w, &c);
        r->until_ms = usher__outage_end(w, r->until_ms);
        usher__change_save(&c, r);
        return usher__change_write(w, &c);
    }
    if (move.to == USHER_ROOM_MEMBER_ABSENT)
        return usher__room_remove_one(w, r, USHER_ROOM_EXPIRE, r->until_ms);
    usher__change_begin(w, &c);
    usher__room_settle(&w->scope, r, move.to, r->until_ms);
    usher__change_save(&c, r);
    return usher__room_commit(
        w, &c, event == USHER__MEMBER_FADE ? USHER_ROOM_FADE : USHER_ROOM_DROP, from, move.to, r);
}

/* Find member @id, and apply what is due for it.  MISSING. */
enum usher_status usher__room_load(work *w, const struct usher_text *id, struct usher_record *r)
{
    for (;;) {
        enum usher_status status = w->scope.ref != NULL
                                       ? w->ops->find(w->txn, &w->scope, KIND_MEMBER, id, r)
                                       : USHER_MISSING;

        if (status != USHER_OK || !due(r, w->moment))
            return status;
        status = usher__room_expire_one(w, r);
        if (status != USHER_OK)
            return status;
    }
}

/* The same, and MISSING if it is not present. */
enum usher_status usher__room_load_present(work *w, const struct usher_text *id,
                                           struct usher_record *r)
{
    enum usher_status status = usher__room_load(w, id, r);

    return status == USHER_OK && !present(r) ? USHER_MISSING : status;
}

/* ---- join, leave, kick, alive ------------------------------------------------------ */

static enum usher_status answer_member(work *w, enum usher_status status,
                                       const struct usher_record *r)
{
    struct usher_room_result *reply = &w->reply->of.room;

    usher__room_answer(w, status);
    usher__room_answer_name(w, &args(w)->member);
    reply->member_state = (enum usher_room_member_state)r->state;
    reply->until_ms = r->until_ms;
    return USHER_OK;
}

/* A heartbeat of @r.  One with an earlier time changes nothing, unless the store's clock was set
 * back. */
static void see(const work *w, struct usher_record *r)
{
    if (w->moment > (int64_t)r->rank || (int64_t)r->rank > w->clock)
        r->rank = (uint64_t)w->moment;
}

static enum usher_status answer_absent(work *w, enum usher_status status)
{
    struct usher_record r;

    memset(&r, 0, sizeof r);
    return answer_member(w, status, &r);
}

/* Write a heartbeat without a version. */
static enum usher_status beat_quietly(work *w, change *c, const struct usher_record *r,
                                      uint64_t seen, int64_t until_ms)
{
    if (r->rank == seen && r->until_ms == until_ms)
        return USHER_OK;
    usher__change_begin_quietly(w, c);
    usher__change_save(c, r);
    return usher__change_write(w, c);
}

/* Check whether there is a place for one more.  Expired members do not take a place, so they are
 * removed.  *@ret_more: there are more of them. */
static enum usher_status make_place(work *w, bool *ret_place, bool *ret_more)
{
    const struct usher_scope *s = &w->scope;
    uint64_t n;
    enum usher_status status = USHER_OK;

    *ret_place = true;
    *ret_more = false;
    if (s->settings[SET_CAPACITY] == 0 || s->counts[COUNT_MEMBERS] < s->settings[SET_CAPACITY])
        return status;
    if (s->due_ms <= w->moment)
        status = usher__room_expire_due(w, USHER__EXPIRE_MAX, &n, ret_more);
    *ret_place = s->counts[COUNT_MEMBERS] < s->settings[SET_CAPACITY];
    return status;
}

/* @r is not in the room: let it join, if it may. */
static enum usher_status join_new(work *w, struct usher_record *r)
{
    const struct usher_room_args *a = args(w);
    bool place, more, changed, full;
    change c;
    enum usher_status status;

    if (usher__room_move(w, USHER__ROOM_JOIN).status == USHER_REFUSED) {
        answer_absent(w, USHER_REFUSED);
        return usher__room_turn_down(w, USHER_REFUSED, "the room is locked");
    }
    status = make_place(w, &place, &more);
    if (status != USHER_OK)
        return status;
    if (!place && more)
        return usher__room_come_again(w);
    if (!usher__room_gate(w, USHER__ROOM_JOIN)) /* it was empty for so long that it has closed */
        return USHER_OK;
    if (!place) {
        answer_absent(w, USHER_FULL);
        return usher__room_turn_down(w, USHER_FULL, "the room is full");
    }
    memset(r, 0, sizeof *r);
    r->kind = KIND_MEMBER;
    r->id = a->member;
    status = usher__room_merge(w, true, NULL, &r->data, &changed, &full);
    if (status != USHER_OK)
        return status;
    if (full) {
        answer_absent(w, USHER_FULL);
        return usher__room_turn_down(w, USHER_FULL, too_many_fields);
    }
    usher__change_begin(w, &c);
    r->rank = (uint64_t)w->moment;
    r->order = c.scope->version;
    r->n[N_JOINED] = w->now;
    usher__room_settle(c.scope, r,
                       usher__room_member_move(w, USHER_ROOM_MEMBER_ABSENT, USHER__MEMBER_JOIN).to,
                       w->moment);
    c.scope->counts[COUNT_MEMBERS]++;
    c.scope->counts[COUNT_JOINED]++;
    c.scope->counts[COUNT_EMPTY] = 0;
    usher__change_save(&c, r);
    status = usher__room_tell_fields(w, &c, NULL, NULL);
    if (status != USHER_OK)
        return status;
    answer_member(w, USHER_OK, r);
    return usher__room_finish(w, &c, USHER_ROOM_MEMBER_ABSENT, r->state, r);
}

enum usher_status usher__room_join(work *w)
{
    struct usher_record r, before;
    struct usher__move move;
    bool changed, full;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_load(w, &args(w)->member, &r);
    if (status == USHER_MISSING)
        return join_new(w, &r);
    if (status != USHER_OK)
        return status;
    before = r;
    move = usher__room_member_move(w, r.state, USHER__MEMBER_JOIN);
    if (move.status == USHER_REFUSED) {
        answer_member(w, USHER_REFUSED, &r);
        return usher__room_turn_down(w, USHER_REFUSED, "the member is banned");
    }
    status = usher__room_merge(w, true, NULL, &r.data, &changed, &full);
    if (status != USHER_OK || w->reply->status == USHER_UNAVAILABLE)
        return status;
    if (full) {
        answer_member(w, USHER_FULL, &r);
        return usher__room_turn_down(w, USHER_FULL, too_many_fields);
    }
    if (!changed)
        r.data = before.data;
    see(w, &r);
    usher__room_settle(&w->scope, &r, move.to, w->moment);
    if (move.status == USHER_SAME && !changed) {
        answer_member(w, USHER_SAME, &r);
        return beat_quietly(w, &c, &r, before.rank, before.until_ms);
    }
    usher__change_begin(w, &c);
    usher__change_save(&c, &r);
    status = usher__room_tell_fields(w, &c, NULL, NULL);
    if (status != USHER_OK)
        return status;
    answer_member(w, USHER_OK, &r);
    return usher__room_finish(w, &c, before.state, r.state, &r);
}

/* Set the version and mark that a replica should have, after the change. */
void usher__room_answer_point(work *w)
{
    w->reply->of.room.since = usher__scope_public_version(w);
    w->reply->of.room.mark = (uint64_t)w->scope.counts[COUNT_MARK];
}

enum usher_status usher__room_alive(work *w)
{
    change c;
    struct usher_record *r = usher__change_first(&c);
    struct usher__move move;
    unsigned from;
    uint64_t seen;
    int64_t until_ms;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_load(w, &args(w)->member, r);
    if (status == USHER_MISSING) {
        move = usher__room_member_move(w, USHER_ROOM_MEMBER_ABSENT, USHER__MEMBER_BEAT);
        return answer_absent(w, (enum usher_status)move.status);
    }
    if (status != USHER_OK)
        return status;
    from = r->state;
    seen = r->rank;
    until_ms = r->until_ms;
    move = usher__room_member_move(w, from, USHER__MEMBER_BEAT);
    if (move.status != USHER_OK)
        return answer_member(w, (enum usher_status)move.status, r);
    see(w, r);
    usher__room_settle(&w->scope, r, move.to, w->moment);
    answer_member(w, USHER_OK, r);
    usher__room_answer_point(w);
    if (from == r->state)
        return beat_quietly(w, &c, r, seen, until_ms);
    usher__change_begin(w, &c);
    usher__change_save(&c, r);
    status = usher__room_finish(w, &c, from, r->state, r);
    usher__room_answer_point(w);
    return status;
}

enum usher_status usher__room_leave(work *w, unsigned event)
{
    struct usher_record r;
    struct usher__move move;
    bool ban = event == USHER__MEMBER_BAN;
    unsigned from;
    change c;
    enum usher_status status;

    if (!usher__room_gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = usher__room_load(w, &args(w)->member, &r);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = KIND_MEMBER;
        r.id = args(w)->member;
    } else if (status != USHER_OK) {
        return status;
    }
    from = r.state;
    move = usher__room_member_move(w, from, event);
    if (ban && from == USHER_ROOM_MEMBER_BANNED && r.until_ms == w->moment + args(w)->ban_ms)
        move.status = USHER_SAME; /* it has that end already */
    if (move.status != USHER_OK)
        return answer_member(w, (enum usher_status)move.status, &r);
    if (ban && from != USHER_ROOM_MEMBER_BANNED &&
        w->scope.counts[COUNT_BANS] >= USHER_ROOM_BANS_MAX) {
        answer_member(w, USHER_FULL, &r);
        return usher__room_turn_down(w, USHER_FULL, "the room has too many bans (limit 1000)");
    }
    usher__change_begin(w, &c);
    c.scope->counts[COUNT_KICKED] += present(&r) && event != USHER__MEMBER_LEAVE;
    if (!ban)
        usher__change_erase(&c, &r);
    if (present(&r))
        status = usher__room_drop(w, &c, &r, w->moment);
    else
        status = USHER_OK;
    if (status != USHER_OK)
        return status;
    if (from == USHER_ROOM_MEMBER_BANNED)
        c.scope->counts[COUNT_BANS]--;
    r.state = move.to;
    r.until_ms = 0;
    if (ban) {
        r.until_ms = w->moment + args(w)->ban_ms;
        r.slots = usher__machine_lists(&usher__member_machine, r.state, r.until_ms);
        r.rank = 0;
        r.order = c.scope->version;
        memset(r.n, 0, sizeof r.n);
        r.data.data = NULL;
        r.data.size = 0;
        c.scope->counts[COUNT_BANS]++;
        usher__change_save(&c, &r);
    }
    answer_member(w, USHER_OK, &r);
    return usher__room_finish(w, &c, from, move.to, &r);
}

/* Lift a ban in a room that is closed, or being closed, without a version or notice. */
static enum usher_status lift_closed(work *w)
{
    struct usher_record r;
    change c;
    enum usher_status status;

    if (usher__room_rests(&w->scope) && usher__other_version(w))
        return w->reply->status == USHER_STALE ? usher__room_stale(w) : USHER_OK;
    status = usher__room_load(w, &args(w)->member, &r);
    if (status == USHER_MISSING || (status == USHER_OK && r.state != USHER_ROOM_MEMBER_BANNED)) {
        (void)usher__room_gate(w, USHER__ROOM_CHANGE);
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    usher__change_begin_quietly(w, &c);
    usher__change_erase(&c, &r);
    c.scope->counts[COUNT_BANS]--;
    status = usher__room_bans_write(w, &c);
    r.state = (uint8_t)usher__room_member_move(w, r.state, USHER__MEMBER_UNBAN).to;
    r.until_ms = 0;
    answer_member(w, USHER_OK, &r);
    return status;
}

enum usher_status usher__room_kick(work *w)
{
    if (!given(w, USHER_GIVEN_ROOM_BAN))
        return usher__room_leave(w, USHER__MEMBER_KICK);
    if (args(w)->ban_ms == 0 && w->scope.ref != NULL &&
        (state_of(w) == USHER_ROOM_STATE_CLOSED || state_of(w) == USHER_ROOM_STATE_CLOSING))
        return lift_closed(w);
    return usher__room_leave(w, args(w)->ban_ms > 0 ? USHER__MEMBER_BAN : USHER__MEMBER_UNBAN);
}
