/* SPDX-License-Identifier: MIT */
/* Closing, and expiries of a room.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

/* ---- closing ---------------------------------------------------------------------- */

static enum usher_status close_begin(work *w, unsigned to, enum usher_verb verb)
{
    unsigned from = state_of(w);
    change c;

    usher__change_begin(w, &c);
    c.scope->counts[COUNT_STATE] = to;
    return usher__room_commit(w, &c, verb, from, to, NULL);
}

#define PHASES 6

/* Find the next record to erase in @phase, after the one in *@r (all zero: the first). */
static enum usher_status closing_next(work *w, unsigned phase, struct usher_record *r)
{
    static const struct {
        uint8_t kind, slot; /* slot 3: by id */
    } order[PHASES] = { { KIND_MEMBER, 2 }, { KIND_MEMBER, 1 }, { KIND_FIELD, 3 },
                        { KIND_ALL, 3 },    { KIND_CHANGE, 0 }, { KIND_REQUEST, 0 } };
    struct usher_text after = r->id;
    uint64_t hi = order[phase].slot == 1 ? (uint64_t)r->until_ms : 0;

    if (order[phase].slot == 3)
        return w->ops->next(w->txn, &w->scope, order[phase].kind, &after, r);
    return w->ops->walk(w->txn, &w->scope, order[phase].kind, order[phase].slot, NULL, hi, r->order,
                        false, r);
}

void usher__room_count_out(int64_t *counts, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_MEMBER:
        counts[COUNT_BANS]--;
        break;
    case KIND_FIELD:
        counts[COUNT_FIELDS]--;
        counts[COUNT_BYTES] -= (int64_t)(r->id.size + r->data.size);
        break;
    case KIND_ALL:
        counts[COUNT_ALLS]--;
        counts[COUNT_BYTES] -= (int64_t)(r->id.size + r->data.size);
        break;
    case KIND_CHANGE:
        counts[COUNT_CHANGES]--;
        break;
    default:
        counts[COUNT_REQUESTS]--;
        break;
    }
}

/* `close` with ban=0 ends the bans as well. */
static bool ends_bans(const work *w)
{
    return w->command->verb == USHER_ROOM_CLOSE && given(w, USHER_GIVEN_ROOM_BAN);
}

/* Erase the next records in @c, as many as it holds: all but bans that last.  *@ret_all: nothing
 * else is left. */
static enum usher_status closing_some(work *w, change *c, bool *ret_all)
{
    *ret_all = false;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct usher_record r;
        enum usher_status status;

        memset(&r, 0, sizeof r);
        while ((status = closing_next(w, phase, &r)) == USHER_OK) {
            int64_t each = phase == 0 ? 1 + r.n[N_ROLES] + r.n[N_SHARES] : 1;

            if (phase == 1 && present(&r)) /* it is in @c already */
                continue;
            if (phase == 1 && !ends_bans(w) && !due(&r, w->moment)) {
                status = USHER_MISSING;
                break;
            }
            if (c->n > 0 && (int64_t)c->n + each > CLOSE_MAX)
                return USHER_OK;
            usher__change_erase(c, &r);
            if (phase > 0)
                usher__room_count_out(c->scope->counts, &r);
            else
                status = usher__room_drop(w, c, &r, usher__work_at(w));
            if (status != USHER_OK)
                return status;
        }
        if (status != USHER_MISSING)
            return status;
    }
    *ret_all = true;
    return USHER_OK;
}

/* Change the scope to one of which only bans are left. */
static enum usher_status rest(work *w, struct usher_scope *s)
{
    int64_t bans = s->counts[COUNT_BANS];
    struct usher_record r;
    enum usher_status status = w->ops->walk(w->txn, s, KIND_MEMBER, 1, NULL, 0, 0, false, &r);

    usher__room_defaults(s);
    s->counts[COUNT_BANS] = bans;
    s->n_gaps = 0;
    s->due_ms = r.until_ms;
    return status;
}

enum usher_status usher__room_bans_write(work *w, change *c)
{
    enum usher_status status;

    c->scope->erase = usher__room_rests(c->scope) && c->scope->counts[COUNT_BANS] == 0;
    status = usher__change_write(w, c);
    if (status == USHER_OK && c->scope->erase)
        usher__scope_fresh(w);
    c->scope->erase = false;
    return status;
}

/* Erase some records of a closing room; with the last of them the room itself. */
enum usher_status usher__room_close_step(work *w, uint64_t *ret_n)
{
    bool all;
    change c;
    enum usher_status status;

    usher__change_begin_quietly(w, &c);
    status = closing_some(w, &c, &all);
    if (status == USHER_OK && c.n > 0)
        status = usher__change_write(w, &c);
    if (status != USHER_OK)
        return status;
    *ret_n = c.n;
    if (!all)
        return USHER_OK;
    usher__change_begin(w, &c);
    c.unlogged = true;
    c.scope->erase = c.scope->counts[COUNT_BANS] == 0;
    if (!c.scope->erase)
        status = rest(w, c.scope);
    if (status != USHER_OK)
        return status;
    return usher__change_commit(w, &c, USHER_ROOM_DONE, USHER_ROOM_STATE_CLOSING,
                                USHER_ROOM_STATE_CLOSED, NULL);
}

/* A step that ends the bans of a closed room. */
static enum usher_status end_bans(work *w)
{
    struct usher_room_result *reply = &w->reply->of.room;
    struct usher_record r;
    change c;
    enum usher_status status = USHER_OK;

    usher__change_begin_quietly(w, &c);
    memset(&r, 0, sizeof r);
    while (c.n < CLOSE_MAX &&
           (status = w->ops->walk(w->txn, &w->scope, KIND_MEMBER, 1, NULL, (uint64_t)r.until_ms,
                                  r.order, false, &r)) == USHER_OK) {
        usher__change_erase(&c, &r);
        c.scope->counts[COUNT_BANS]--;
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    reply->count = c.n;
    status = usher__room_bans_write(w, &c);
    usher__room_answer(w, USHER_OK);
    reply->more = w->scope.ref != NULL;
    return status;
}

enum usher_status usher__room_close(work *w)
{
    struct usher_room_result *r = &w->reply->of.room;
    struct usher__move move = usher__room_move(w, USHER__ROOM_CLOSE);
    enum usher_status status = USHER_OK;

    if (usher__room_rests(&w->scope) && ends_bans(w))
        return end_bans(w);
    if (move.status != USHER_OK)
        return usher__room_answer(w, (enum usher_status)move.status);
    if (state_of(w) != move.to)
        status = close_begin(w, move.to, USHER_ROOM_CLOSE);
    if (status == USHER_OK)
        status = usher__room_close_step(w, &r->count);
    usher__room_answer(w, USHER_OK);
    r->more = state_of(w) == USHER_ROOM_STATE_CLOSING;
    return status;
}

/* ---- what is due ------------------------------------------------------------------ */

/* Apply what is due at @now, up to @max changes; *@ret_n is their number. */
static enum usher_status expire_until(work *w, int64_t now, int64_t max, uint64_t *ret_n,
                                      bool *ret_more)
{
    bool reads = w->command->verb == USHER_ROOM_SNAPSHOT;
    struct usher_record r;
    uint64_t erased;

    *ret_n = 0;
    *ret_more = false;
    if (w->scope.due_ms <= now) {
        enum usher_status status;

        if (reads)
            usher__work_as_of(w, 0);
        status = usher__outage(w);
        if (status != USHER_OK)
            return status;
    }
    while (w->scope.due_ms <= now) {
        struct usher_scope *s = &w->scope;
        enum usher_status status = w->ops->walk(w->txn, s, KIND_MEMBER, 1, NULL, 0, 0, false, &r);

        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        if (status == USHER_OK && due(&r, now)) {
            if ((int64_t)*ret_n >= max) {
                *ret_more = w->behind = true;
                return USHER_OK;
            }
            if (reads)
                usher__work_as_of(w, r.until_ms);
            status = usher__room_expire_one(w, &r);
            if (usher__work_stops(w, status, *ret_n)) {
                *ret_more = true;
                return USHER_OK;
            }
            if (status != USHER_OK)
                return status;
            ++*ret_n;
            continue;
        }
        s->due_ms = status == USHER_OK ? r.until_ms : INT64_MAX;
        usher__room_linger(s);
        if (s->due_ms > now)
            break;
        /* no member has joined */
        if (reads)
            usher__work_as_of(w, s->due_ms);
        status = close_begin(w, usher__room_move(w, USHER__ROOM_EMPTY).to, USHER_ROOM_EMPTY);
        if (status == USHER_OK)
            status = usher__room_close_step(w, &erased);
        ++*ret_n;
        return status;
    }
    return USHER_OK;
}

enum usher_status usher__room_expire_due(work *w, int64_t max, uint64_t *ret_n, bool *ret_more)
{
    int64_t now = w->now;
    enum usher_status status = expire_until(w, w->moment, max, ret_n, ret_more);

    w->now = now;
    return status;
}

/* Return what the room would be if due expiries were applied, at most USHER_PAGE_MAX of them. */
enum usher_status usher__room_check(work *w, struct room_now *ret)
{
    const struct usher_scope *s = &w->scope;
    int64_t empty = s->counts[COUNT_EMPTY];
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;
    int n = 0;
    bool gap;

    memset(ret, 0, sizeof *ret);
    ret->open = state_of(w) == USHER_ROOM_STATE_OPEN || state_of(w) == USHER_ROOM_STATE_LOCKED;
    if (!ret->open)
        return USHER_OK;
    ret->members = s->counts[COUNT_MEMBERS];
    ret->roles = s->counts[COUNT_ROLES];
    ret->shares = s->counts[COUNT_SHARES];
    ret->lost = s->counts[COUNT_LOST];
    if (s->due_ms <= w->moment)
        status = usher__outage_check(w, &gap);
    while (status == USHER_OK && n++ < USHER_PAGE_MAX && s->due_ms <= w->moment &&
           (status = w->ops->walk(w->txn, s, KIND_MEMBER, 1, NULL, hi, order, false, &r)) ==
               USHER_OK &&
           due(&r, w->moment)) {
        hi = (uint64_t)r.until_ms;
        order = r.order;
        while (present(&r) && due(&r, w->moment)) {
            unsigned to = usher__room_member_move(w, r.state, usher__room_due_event(s, &r)).to;

            if (usher__outage_end(w, r.until_ms) != 0) {
                r.until_ms = usher__outage_end(w, r.until_ms);
                continue;
            }
            if (to != USHER_ROOM_MEMBER_ABSENT) {
                usher__room_settle(s, &r, to, r.until_ms);
                continue;
            }
            r.state = USHER_ROOM_MEMBER_ABSENT;
            ret->members--;
            ret->roles -= r.n[N_ROLES];
            ret->shares -= r.n[N_SHARES];
            ret->lost++;
            if (r.until_ms > empty)
                empty = r.until_ms;
        }
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    ret->open = ret->members > 0 || s->settings[SET_LINGER] == 0 ||
                empty + s->settings[SET_LINGER] > w->moment;
    return USHER_OK;
}
