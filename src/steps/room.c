/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a room as steps on a record store.
 *
 * Records: MEMBER (id; rank = last heartbeat, so that slot 0 is the order of heartbeats; until_ms
 * = next deadline or end of the ban; order = version of joining, so that slot 2 is the order
 * of joining; data = its fields with their versions), FIELD and ALL (id = field, data = value,
 * order = version of setting), ROLE and SHARE (owner = member, slot 2), CHANGE (id = version in
 * 16 digits, data = the notice), REQUEST.
 *
 * A member goes in one change with all its roles and shares: there are never more of them than
 * fit.  So in every state that anyone can see, each role and share has a member that is there.
 */
#include "config.h"

#include "work.h"

#include <string.h>

#include "core/room.h"
#include "core/text.h"
#include "kept.h"

typedef struct usher__work work;
typedef struct usher__change change;

enum { MEMBER = 1, FIELD, ROLE, REQUEST, SHARE, CHANGE, ALL };

/* The order of scope.counts. */
enum {
    COUNT_MEMBERS = 1, /* here, away or offline */
    COUNT_FIELDS,
    COUNT_ROLES,
    COUNT_REQUESTS,
    COUNT_SHARES,
    COUNT_CHANGES,
    COUNT_ALLS,
    COUNT_BANS,
    COUNT_BYTES, /* of fields and alls, with their names */
    COUNT_STATE,
    COUNT_CREATED,
    COUNT_EMPTY, /* without members: since when */
    COUNT_MARK,  /* of the history up to now */
    COUNT_SINCE  /* the log has all behind this version */
};

/* The order of scope.settings, and that of struct usher_room_result_settings. */
enum {
    SET_CAPACITY,
    SET_LINGER,
    SET_TTL,
    SET_AWAY,
    SET_GRACE,
    SET_LOG,
    SET_REQUESTS,
    SET_PRESENCE,
    SET_PUSH,
    SETTINGS
};

/* record.n of a member. */
enum { N_JOINED, N_ROLES, N_SHARES };

/* Records that a step of closing erases: as many as there is time for while others wait.  (A member
 * with all its roles and shares is more, and goes alone.) */
#define CLOSE_MAX 24
/* A page of a snapshot ends early when it has so many bytes. */
#define PAGE_BYTES 1048576

static void defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    memset(scope->settings, 0, sizeof scope->settings);
    scope->settings[SET_LOG] = USHER_ROOM_LOG_DEFAULT;
    scope->settings[SET_REQUESTS] = USHER__REQUESTS_DEFAULT;
}

static const struct usher_room_args *args(const work *w)
{
    return &w->command->arg.room;
}

static bool given(const work *w, uint32_t bit)
{
    return (w->command->given & bit) != 0;
}

/* ---- the room as a whole ---------------------------------------------------------- */

static unsigned state_of(const work *w)
{
    return w->scope.ref != NULL ? (unsigned)w->scope.counts[COUNT_STATE] : USHER_ROOM_STATE_CLOSED;
}

static struct usher__move room_move(const work *w, unsigned event)
{
    return usher__machine_move(&usher__room_machine, state_of(w), event);
}

/* What every answer has; behind the change that it tells of. */
static void answer(work *w, enum usher_status status)
{
    struct usher_room_result *r = &w->reply->of.room;

    w->reply->status = status;
    r->state = (enum usher_room_state)w->scope.counts[COUNT_STATE];
    r->members = (uint64_t)w->scope.counts[COUNT_MEMBERS];
}

static void answer_name(work *w, const struct usher_text *name)
{
    struct usher_room_result *r = &w->reply->of.room;

    r->name_size = name->size;
    if (name->size != 0)
        memcpy(r->name, name->data, name->size);
    r->name[name->size] = '\0';
}

static enum usher_status add_row(work *w, enum usher_room_row_kind kind,
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

/* An empty room closes by itself: keep scope.due_ms a lower bound of when. */
static void linger(struct usher_scope *s)
{
    int64_t end = s->counts[COUNT_EMPTY] + s->settings[SET_LINGER];

    if (s->counts[COUNT_MEMBERS] == 0 && s->settings[SET_LINGER] > 0 && end < s->due_ms)
        s->due_ms = end;
}

/* ---- changes and their log -------------------------------------------------------- */

/* With the setting `presence`, what these change may wait to be told together with others. */
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

/* Commit @c; the log of a room that closes is about to be erased. */
static enum usher_status commit(work *w, change *c, enum usher_verb verb, unsigned from,
                                unsigned to, const struct usher_record *r)
{
    c->unlogged = c->scope->counts[COUNT_STATE] == USHER_ROOM_STATE_CLOSING;
    c->wait_ms = !c->unlogged && of_presence(w) ? c->scope->settings[SET_PRESENCE] : 0;
    return usher__change_commit(w, c, verb, from, to, r);
}

/* The change of the command itself; the answer is complete. */
static enum usher_status finish(work *w, change *c, unsigned from, unsigned to,
                                const struct usher_record *r)
{
    enum usher_status status = usher__request_keep(w, c);

    return status == USHER_OK ? commit(w, c, w->command->verb, from, to, r) : status;
}

/* ---- members ---------------------------------------------------------------------- */

static bool present(const struct usher_record *r)
{
    return r->state >= USHER_ROOM_MEMBER_HERE && r->state <= USHER_ROOM_MEMBER_OFFLINE;
}

static struct usher__move member_move(unsigned state, unsigned event)
{
    return usher__machine_move(&usher__member_machine, state, event);
}

static bool fades(const struct usher_scope *s)
{
    const int64_t *set = s->settings;

    return set[SET_AWAY] > 0 && (set[SET_TTL] == 0 || set[SET_AWAY] < set[SET_TTL]);
}

/* When something happens by itself to a member that went to @state at @at; 0: never. */
static int64_t deadline(const struct usher_scope *s, unsigned state, int64_t seen, int64_t at)
{
    const int64_t *set = s->settings;

    if (state == USHER_ROOM_MEMBER_OFFLINE)
        return at + set[SET_GRACE];
    if (state == USHER_ROOM_MEMBER_HERE && fades(s))
        return seen + set[SET_AWAY];
    return set[SET_TTL] > 0 ? seen + set[SET_TTL] : 0;
}

/* Put @r, which is present, into @to at the time @at.  What has to follow follows here. */
static void settle(const struct usher_scope *s, struct usher_record *r, unsigned to, int64_t at)
{
    r->state = (uint8_t)to;
    r->until_ms = deadline(s, to, (int64_t)r->rank, at);
    r->slots = (uint8_t)(1u | 4u | (r->until_ms != 0 ? 2u : 0u));
}

/* What happens to @r at its deadline. */
static unsigned due_event(const struct usher_scope *s, const struct usher_record *r)
{
    if (r->state == USHER_ROOM_MEMBER_BANNED)
        return USHER__MEMBER_UNBAN;
    if (r->state == USHER_ROOM_MEMBER_HERE && fades(s))
        return USHER__MEMBER_FADE;
    if (r->state != USHER_ROOM_MEMBER_OFFLINE && s->settings[SET_GRACE] > 0)
        return USHER__MEMBER_DROP;
    return USHER__MEMBER_EXPIRE;
}

static bool due(const struct usher_record *r, int64_t now)
{
    return r->until_ms != 0 && r->until_ms <= now;
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
        if (c->n == USHER_CHANGE_MAX) /* the member says that it has fewer */
            return USHER_UNAVAILABLE;
        order = r.order;
        usher__change_erase(c, &r);
        --*count;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Member @r, which is present, is it no more from @at on: its roles and shares go. */
static enum usher_status drop(work *w, change *c, const struct usher_record *r, int64_t at)
{
    int64_t *counts = c->scope->counts;
    enum usher_status status = USHER_OK;

    if (r->n[N_ROLES] > 0)
        status = erase_owned(w, c, ROLE, &r->id, &counts[COUNT_ROLES]);
    if (status == USHER_OK && r->n[N_SHARES] > 0)
        status = erase_owned(w, c, SHARE, &r->id, &counts[COUNT_SHARES]);
    if (--counts[COUNT_MEMBERS] == 0) {
        counts[COUNT_EMPTY] = at;
        linger(c->scope);
    }
    return status;
}

/* @r is removed at @at by @verb. */
static enum usher_status remove_one(work *w, struct usher_record *r, enum usher_verb verb,
                                    int64_t at)
{
    bool sweeps = w->command->verb == USHER_ROOM_SWEEP;
    change c;
    enum usher_status status = sweeps ? add_row(w, USHER_ROOM_ROW_MEMBER, r) : USHER_OK;

    if (status != USHER_OK)
        return status;
    usher__change_begin(w, &c);
    usher__change_erase(&c, r);
    status = drop(w, &c, r, at);
    if (status == USHER_OK)
        status = commit(w, &c, verb, r->state, USHER_ROOM_MEMBER_ABSENT, r);
    if (status != USHER_OK && sweeps) /* which may end well all the same */
        w->reply->of.room.n_rows--;
    return status;
}

/* What is due for @r, as a change of its own; *@r is then as it is stored. */
static enum usher_status expire_one(work *w, struct usher_record *r)
{
    unsigned event = due_event(&w->scope, r), from = r->state;
    struct usher__move move = member_move(from, event);
    change c;

    if (event == USHER__MEMBER_UNBAN) { /* nobody sees it */
        usher__change_begin_quietly(w, &c);
        usher__change_erase(&c, r);
        c.scope->counts[COUNT_BANS]--;
        return usher__change_write(w, &c);
    }
    if (event == USHER__MEMBER_EXPIRE)
        return remove_one(w, r, USHER_ROOM_EXPIRE, r->until_ms);
    usher__change_begin(w, &c);
    settle(&w->scope, r, move.to, r->until_ms);
    usher__change_save(&c, r);
    return commit(w, &c, event == USHER__MEMBER_FADE ? USHER_ROOM_FADE : USHER_ROOM_DROP, from,
                  move.to, r);
}

/* Find member @id with what is due for it applied.  MISSING. */
static enum usher_status load(work *w, const struct usher_text *id, struct usher_record *r)
{
    for (;;) {
        enum usher_status status =
            w->scope.ref != NULL ? w->ops->find(w->txn, &w->scope, MEMBER, id, r) : USHER_MISSING;

        if (status != USHER_OK || !due(r, w->now))
            return status;
        status = expire_one(w, r);
        if (status != USHER_OK)
            return status;
    }
}

/* The same, and MISSING if it is not present. */
static enum usher_status load_present(work *w, const struct usher_text *id, struct usher_record *r)
{
    enum usher_status status = load(w, id, r);

    return status == USHER_OK && !present(r) ? USHER_MISSING : status;
}

/* ---- closing ---------------------------------------------------------------------- */

static enum usher_status close_begin(work *w, enum usher_verb verb)
{
    unsigned from = state_of(w);
    change c;

    usher__change_begin(w, &c);
    c.scope->counts[COUNT_STATE] = USHER_ROOM_STATE_CLOSING;
    return commit(w, &c, verb, from, USHER_ROOM_STATE_CLOSING, NULL);
}

#define PHASES 6

/* The next record that goes in @phase, behind the one in *@r (all zero: the first). */
static enum usher_status closing_next(work *w, unsigned phase, struct usher_record *r)
{
    static const struct {
        uint8_t kind, slot; /* slot 3: by id */
    } order[PHASES] = { { MEMBER, 2 }, { MEMBER, 1 }, { FIELD, 3 },
                        { ALL, 3 },    { CHANGE, 0 }, { REQUEST, 0 } };
    struct usher_text after = r->id;
    uint64_t hi = order[phase].slot == 1 ? (uint64_t)r->until_ms : 0;

    if (order[phase].slot == 3)
        return w->ops->next(w->txn, &w->scope, order[phase].kind, &after, r);
    return w->ops->walk(w->txn, &w->scope, order[phase].kind, order[phase].slot, NULL, hi, r->order,
                        false, r);
}

static void count_out(int64_t *counts, const struct usher_record *r)
{
    switch (r->kind) {
    case MEMBER:
        counts[COUNT_BANS]--;
        break;
    case FIELD:
        counts[COUNT_FIELDS]--;
        counts[COUNT_BYTES] -= (int64_t)(r->id.size + r->data.size);
        break;
    case ALL:
        counts[COUNT_ALLS]--;
        counts[COUNT_BYTES] -= (int64_t)(r->id.size + r->data.size);
        break;
    case CHANGE:
        counts[COUNT_CHANGES]--;
        break;
    default:
        counts[COUNT_REQUESTS]--;
        break;
    }
}

/* Put what is to go next into @c, as much as it holds.  @ret_all: nothing is left behind it. */
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
            if (c->n > 0 && (int64_t)c->n + each > CLOSE_MAX)
                return USHER_OK;
            usher__change_erase(c, &r);
            if (phase > 0)
                count_out(c->scope->counts, &r);
            else
                status = drop(w, c, &r, w->now);
            if (status != USHER_OK)
                return status;
        }
        if (status != USHER_MISSING)
            return status;
    }
    *ret_all = true;
    return USHER_OK;
}

/* Erase some records of a closing room; with the last of them the room itself. */
static enum usher_status close_step(work *w, uint64_t *ret_n)
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
    c.scope->erase = true;
    return commit(w, &c, USHER_ROOM_DONE, USHER_ROOM_STATE_CLOSING,
                  room_move(w, USHER__ROOM_DONE).to, NULL);
}

static enum usher_status close_room(work *w)
{
    struct usher_room_result *r = &w->reply->of.room;
    struct usher__move move = room_move(w, USHER__ROOM_CLOSE);
    enum usher_status status = USHER_OK;

    if (move.status != USHER_OK) {
        answer(w, (enum usher_status)move.status);
        return USHER_OK;
    }
    if (state_of(w) != move.to)
        status = close_begin(w, USHER_ROOM_CLOSE);
    if (status == USHER_OK)
        status = close_step(w, &r->count);
    answer(w, USHER_OK);
    r->more = w->scope.ref != NULL;
    return status;
}

/* ---- what is due ------------------------------------------------------------------ */

/* Apply what is due at @now, up to @max changes; *@ret_n says how many it were. */
static enum usher_status expire_until(work *w, int64_t now, int64_t max, uint64_t *ret_n,
                                      bool *ret_more)
{
    bool reads = w->command->verb == USHER_ROOM_SNAPSHOT;
    struct usher_record r;
    uint64_t erased;

    *ret_n = 0;
    *ret_more = false;
    while (w->scope.due_ms <= now) {
        struct usher_scope *s = &w->scope;
        enum usher_status status = w->ops->walk(w->txn, s, MEMBER, 1, NULL, 0, 0, false, &r);

        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        if (status == USHER_OK && due(&r, now)) {
            if ((int64_t)*ret_n >= max) {
                *ret_more = true;
                return USHER_OK;
            }
            if (reads)
                usher__work_as_of(w, r.until_ms);
            status = expire_one(w, &r);
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
        linger(s);
        if (s->due_ms > now)
            break;
        /* nobody came */
        if (reads)
            usher__work_as_of(w, s->due_ms);
        status = close_begin(w, USHER_ROOM_EMPTY);
        if (status == USHER_OK)
            status = close_step(w, &erased);
        ++*ret_n;
        return status;
    }
    return USHER_OK;
}

static enum usher_status expire_due(work *w, int64_t max, uint64_t *ret_n, bool *ret_more)
{
    int64_t now = w->now;
    enum usher_status status = expire_until(w, now, max, ret_n, ret_more);

    w->now = now;
    return status;
}

/*
 * For reads: how many members there are once everything due has happened, which writes
 * nothing.  False: the room is closed by then.
 */
static enum usher_status look(work *w, bool *ret_open, uint64_t *ret_members)
{
    const struct usher_scope *s = &w->scope;
    int64_t members = s->counts[COUNT_MEMBERS], empty = s->counts[COUNT_EMPTY];
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    *ret_members = 0;
    *ret_open = s->ref != NULL && s->counts[COUNT_STATE] != USHER_ROOM_STATE_CLOSING;
    if (!*ret_open)
        return USHER_OK;
    while (s->due_ms <= w->now &&
           (status = w->ops->walk(w->txn, s, MEMBER, 1, NULL, hi, order, false, &r)) == USHER_OK &&
           due(&r, w->now)) {
        hi = (uint64_t)r.until_ms;
        order = r.order;
        while (present(&r) && due(&r, w->now)) {
            unsigned to = member_move(r.state, due_event(s, &r)).to;

            if (to != USHER_ROOM_MEMBER_ABSENT) {
                settle(s, &r, to, r.until_ms);
                continue;
            }
            r.state = USHER_ROOM_MEMBER_ABSENT;
            members--;
            if (r.until_ms > empty)
                empty = r.until_ms;
        }
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    *ret_open =
        members > 0 || s->settings[SET_LINGER] == 0 || empty + s->settings[SET_LINGER] > w->now;
    *ret_members = (uint64_t)members;
    return USHER_OK;
}

/* ---- checks ----------------------------------------------------------------------- */

/* May the command do @event to the room?  False: no, and that is answered. */
static bool gate(work *w, unsigned event)
{
    struct usher__move move = room_move(w, event);

    if (USHER_IS_DONE(move.status))
        return true;
    answer(w, (enum usher_status)move.status);
    return false;
}

static const char not_in[] = "the member is not in the room";

static enum usher_status turn_down(work *w, enum usher_status status, const char *why)
{
    answer(w, status);
    (void)usher__say(w->reply, status, "%s", why);
    return USHER_OK;
}

/* ---- open, lock, unlock ----------------------------------------------------------- */

static void settings_from(work *w, const int64_t *set)
{
    struct usher_room_result_settings *s = &w->reply->of.room.settings;

    s->capacity = set[SET_CAPACITY];
    s->linger_ms = set[SET_LINGER];
    s->ttl_ms = set[SET_TTL];
    s->away_ms = set[SET_AWAY];
    s->grace_ms = set[SET_GRACE];
    s->log = set[SET_LOG];
    s->requests = set[SET_REQUESTS];
    s->presence_ms = set[SET_PRESENCE];
    s->push = set[SET_PUSH];
}

static enum usher_status open_room(work *w)
{
    const struct usher_room_args *a = args(w);
    const struct {
        uint32_t bit;
        int64_t value;
    } from[SETTINGS] = {
        [SET_CAPACITY] = { USHER_GIVEN_ROOM_CAPACITY, a->capacity },
        [SET_LINGER] = { USHER_GIVEN_ROOM_LINGER, a->linger_ms },
        [SET_TTL] = { USHER_GIVEN_ROOM_TTL, a->ttl_ms },
        [SET_AWAY] = { USHER_GIVEN_ROOM_AWAY, a->away_ms },
        [SET_GRACE] = { USHER_GIVEN_ROOM_GRACE, a->grace_ms },
        [SET_LOG] = { USHER_GIVEN_ROOM_LOG, a->log },
        [SET_REQUESTS] = { USHER_GIVEN_ROOM_REQUESTS, a->requests },
        [SET_PRESENCE] = { USHER_GIVEN_ROOM_PRESENCE, a->presence_ms },
        [SET_PUSH] = { USHER_GIVEN_ROOM_PUSH, a->push },
    };
    int64_t new[USHER_SETTINGS];
    unsigned state = state_of(w), event = USHER__ROOM_OPEN;
    struct usher__move move;
    change c;

    /* a new room begins with a clock of its own, whoever has erased the old one */
    if (state == USHER_ROOM_STATE_CLOSED && given(w, USHER_GIVEN_NOW))
        w->now = w->command->now_ms;
    else if (state == USHER_ROOM_STATE_CLOSED && w->context->now_ms != 0)
        w->now = w->context->now_ms;

    memcpy(new, w->scope.settings, sizeof new);
    for (int i = 0; i < SETTINGS; i++)
        if (given(w, from[i].bit))
            new[i] = from[i].value;
    if (state != USHER_ROOM_STATE_CLOSED && memcmp(new, w->scope.settings, sizeof new) != 0)
        event = USHER__ROOM_TUNE;
    move = room_move(w, event);
    if (move.status != USHER_OK) {
        settings_from(w, w->scope.settings);
        w->reply->of.room.created_ms = w->scope.counts[COUNT_CREATED];
        if (move.status == USHER_REFUSED)
            return turn_down(w, USHER_REFUSED, "the room is being closed");
        answer(w, (enum usher_status)move.status);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    memcpy(c.scope->settings, new, sizeof new);
    c.scope->counts[COUNT_STATE] = move.to;
    if (state == USHER_ROOM_STATE_CLOSED) {
        c.scope->counts[COUNT_CREATED] = w->now;
        c.scope->counts[COUNT_EMPTY] = w->now;
    }
    linger(c.scope);
    answer(w, USHER_OK);
    settings_from(w, new);
    w->reply->of.room.created_ms = c.scope->counts[COUNT_CREATED];
    return finish(w, &c, state, move.to, NULL);
}

static enum usher_status lock_room(work *w, unsigned event)
{
    unsigned from = state_of(w);
    struct usher__move move = room_move(w, event);
    change c;

    if (!gate(w, event))
        return USHER_OK;
    if (move.status != USHER_OK) {
        answer(w, (enum usher_status)move.status);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    c.scope->counts[COUNT_STATE] = move.to;
    answer(w, USHER_OK);
    return finish(w, &c, from, move.to, NULL);
}

/* ---- fields ----------------------------------------------------------------------- */

/* What a notice says: @field and @value if they are given, then the command's fields. */
static enum usher_status tell_fields(work *w, change *c, const struct usher_text *field,
                                     const struct usher_text *value)
{
    static const char too_large[1] = { (char)(unsigned char)0xc0 };
    struct usher_text names[USHER_ROOM_GIVEN_FIELDS_MAX + 1],
        values[USHER_ROOM_GIVEN_FIELDS_MAX + 1];
    struct usher_fields f = { 0 };
    size_t n = 0;
    uint64_t version;

    if (field != NULL) {
        names[0] = *field;
        values[0] = *value;
        n = 1;
    }
    f.at = (const unsigned char *)args(w)->fields.data;
    f.end = f.at + args(w)->fields.size;
    if (args(w)->fields.data != NULL)
        while (n <= USHER_ROOM_GIVEN_FIELDS_MAX &&
               usher_fields_next(&f, &names[n], &values[n], &version))
            n++;
    if (n == 0)
        return USHER_OK;
    c->data.size = usher_fields_pack(names, values, n, NULL, 0);
    if (c->data.size > USHER_NOTICE_DATA_MAX) {
        c->data.data = too_large;
        c->data.size = sizeof too_large;
        return USHER_OK;
    }
    c->data.data = (const char *)usher__buffer(w, 1, c->data.size);
    if (c->data.data == NULL)
        return USHER_NOMEM;
    (void)usher_fields_pack(names, values, n, (unsigned char *)(uintptr_t)c->data.data,
                            c->data.size);
    return USHER_OK;
}

/* `if=`, `if-version=`: is @now (size 0: nothing) what it must be?  False: STALE, answered with
 * @now. */
static enum usher_status expected(work *w, enum usher_room_row_kind kind,
                                  const struct usher_record *now, bool *ret_as_expected)
{
    const struct usher_text *must = &args(w)->expected;

    *ret_as_expected = must->data == NULL || usher__text_equal(must, &now->data);
    if (*ret_as_expected)
        return USHER_OK;
    answer(w, USHER_STALE);
    return now->id.size != 0 ? add_row(w, kind, now) : USHER_OK;
}

/* The value of @field as FIELD or ALL; absent: id of size 0. */
static enum usher_status find_value(work *w, uint8_t kind, const struct usher_text *field,
                                    struct usher_record *r)
{
    enum usher_status status = w->ops->find(w->txn, &w->scope, kind, field, r);

    if (status == USHER_MISSING) {
        memset(r, 0, sizeof *r);
        r->kind = kind;
        return USHER_OK;
    }
    return status;
}

/* Put @value of @field into @c as FIELD or ALL.  FULL. */
static enum usher_status put_value(work *w, change *c, struct usher_record *r,
                                   const struct usher_text *field, const struct usher_text *value)
{
    int64_t *counts = c->scope->counts;
    int64_t *count = &counts[r->kind == FIELD ? COUNT_FIELDS : COUNT_ALLS];

    (void)w;
    if (r->id.size == 0)
        ++*count;
    else
        counts[COUNT_BYTES] -= (int64_t)(r->id.size + r->data.size);
    r->id = *field;
    r->data = *value;
    r->order = c->scope->version;
    counts[COUNT_BYTES] += (int64_t)(r->id.size + r->data.size);
    if (*count > USHER_ROOM_FIELDS_MAX || counts[COUNT_BYTES] > USHER_ROOM_BYTES_MAX)
        return USHER_FULL;
    usher__change_save(c, r);
    return USHER_OK;
}

/* One field as set by the command: nothing if it has that value already. */
static enum usher_status set_one(work *w, change *c, const struct usher_text *field,
                                 const struct usher_text *value)
{
    struct usher_record r;
    enum usher_status status = find_value(w, FIELD, field, &r);

    if (status != USHER_OK || (r.id.size != 0 && usher__text_equal(&r.data, value)))
        return status;
    return put_value(w, c, &r, field, value);
}

static enum usher_status set_fields(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_scope before = w->scope;
    struct usher_fields f = { 0 };
    struct usher_text name, value;
    struct usher_record r;
    uint64_t version;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = find_value(w, FIELD, &a->field, &r);
    if (status == USHER_OK)
        status = expected(w, USHER_ROOM_ROW_FIELD, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    usher__change_begin(w, &c);
    status = set_one(w, &c, &a->field, &a->value);
    if (a->fields.data != NULL) {
        f.at = (const unsigned char *)a->fields.data;
        f.end = f.at + a->fields.size;
        while (status == USHER_OK && usher_fields_next(&f, &name, &value, &version))
            status = set_one(w, &c, &name, &value);
    }
    if (status == USHER_FULL || (status == USHER_OK && c.n == 0)) {
        w->scope = before;
        if (status == USHER_FULL)
            return turn_down(w, USHER_FULL, "the room has too many fields, or too large ones");
        answer(w, USHER_SAME);
        return USHER_OK;
    }
    if (status == USHER_OK)
        status = tell_fields(w, &c, &a->field, &a->value);
    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK);
    memset(&r, 0, sizeof r);
    r.id = a->field;
    return finish(w, &c, 0, 0, &r);
}

static enum usher_status unset(work *w)
{
    struct usher_record r;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = find_value(w, FIELD, &args(w)->field, &r);
    if (status == USHER_OK)
        status = expected(w, USHER_ROOM_ROW_FIELD, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    if (r.id.size == 0) {
        answer(w, USHER_SAME);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    usher__change_erase(&c, &r);
    count_out(c.scope->counts, &r);
    answer(w, USHER_OK);
    return finish(w, &c, 0, 0, &r);
}

static enum usher_status set_all(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_scope before = w->scope;
    struct usher_record r;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = find_value(w, ALL, &a->field, &r);
    if (status == USHER_OK)
        status = expected(w, USHER_ROOM_ROW_ALL, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    usher__change_begin(w, &c);
    status = put_value(w, &c, &r, &a->field, &a->value);
    if (status == USHER_FULL) {
        w->scope = before;
        return turn_down(w, USHER_FULL, "the room has too many fields, or too large ones");
    }
    status = tell_fields(w, &c, &a->field, &a->value);
    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK);
    return finish(w, &c, 0, 0, &r);
}

/* ---- fields of members and shares ------------------------------------------------- */

struct entry {
    struct usher_text name, value;
    uint64_t version;
};

/* The fields of a member or a share as they are being changed. */
struct fields {
    size_t n;
    bool changed, full;
    struct entry entry[USHER_ROOM_MEMBER_FIELDS_MAX];
};

/* False: they cannot be read. */
static bool fields_read(struct fields *all, const struct usher_text *data)
{
    struct usher_fields f = { 0 };

    all->n = 0;
    all->changed = false;
    all->full = false;
    f.at = (const unsigned char *)data->data;
    f.end = f.at + data->size;
    if (data->size == 0)
        return true;
    while (all->n < USHER_ROOM_MEMBER_FIELDS_MAX &&
           usher_fields_next(&f, &all->entry[all->n].name, &all->entry[all->n].value,
                             &all->entry[all->n].version))
        all->n++;
    return f.left == 0;
}

static struct entry *fields_find(struct fields *all, const struct usher_text *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (usher__text_equal(&all->entry[i].name, name))
            return &all->entry[i];
    return NULL;
}

/* @name becomes @value at @version, unless it is so already; a value of all members that was
 * set later (at @all_version) stands before it. */
static void fields_set(struct fields *all, const struct usher_text *name,
                       const struct usher_text *value, uint64_t version, uint64_t all_version)
{
    struct entry *e = fields_find(all, name);

    if (e != NULL && e->version > all_version && usher__text_equal(&e->value, value))
        return;
    if (e == NULL) {
        if (all->n == USHER_ROOM_MEMBER_FIELDS_MAX) {
            all->full = true;
            return;
        }
        e = &all->entry[all->n++];
        e->name = *name;
    }
    e->value = *value;
    e->version = version;
    all->changed = true;
}

/* Pack them into buffer 0. */
static enum usher_status fields_write(work *w, struct fields *all, struct usher_text *ret)
{
    for (int pass = 0;; pass++) {
        struct usher__packer p = { pass == 0 ? NULL : w->buffer[0],
                                   pass == 0 ? 0 : w->buffer_size[0], 0 };

        ret->data = (const char *)p.to;
        ret->size = 0;
        if (all->n == 0)
            return USHER_OK;
        usher__pack_array(&p, 3 * all->n);
        for (size_t i = 0; i < all->n; i++) {
            usher__pack_text(&p, all->entry[i].name.data, all->entry[i].name.size);
            usher__pack_text(&p, all->entry[i].value.data, all->entry[i].value.size);
            usher__pack_uint(&p, all->entry[i].version);
        }
        ret->size = p.n;
        if (p.n > USHER_VALUE_MAX)
            all->full = true;
        if (all->full || pass == 1)
            return USHER_OK;
        if (usher__buffer(w, 0, p.n) == NULL)
            return USHER_NOMEM;
    }
}

/*
 * The fields of @data with those that the command sets, at the version of the next change.
 * *@data is then the new text, in a buffer.  @of_member: values of all members count.
 */
static enum usher_status merge(work *w, bool of_member, const struct usher_text *field,
                               struct usher_text *data, bool *ret_changed, bool *ret_full)
{
    const struct usher_room_args *a = args(w);
    struct fields all;
    struct usher_fields f = { 0 };
    struct usher_text name, value;
    uint64_t version = usher__version_next(w), none;
    bool one = field != NULL;
    enum usher_status status = USHER_OK;

    if (!fields_read(&all, data)) {
        usher_result_fail(w->reply, USHER_UNAVAILABLE, "the store is damaged: packed fields");
        *ret_changed = *ret_full = false;
        return USHER_OK;
    }
    f.at = (const unsigned char *)a->fields.data;
    f.end = f.at + a->fields.size;
    while (one || (a->fields.data != NULL && usher_fields_next(&f, &name, &value, &none))) {
        struct usher_record r;

        if (one) {
            name = *field;
            value = a->value;
            one = false;
        }
        r.order = 0;
        if (of_member)
            status = find_value(w, ALL, &name, &r);
        if (status != USHER_OK)
            return status;
        fields_set(&all, &name, &value, version, r.order);
    }
    status = fields_write(w, &all, data);
    *ret_changed = all.changed;
    *ret_full = all.full;
    return status;
}

static const char too_many_fields[] = "its fields are too many, or too large";

static enum usher_status set_member(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_record r, all, now;
    struct fields own;
    const struct entry *e;
    bool as_expected, changed, full;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    answer_name(w, &a->member);
    status = load_present(w, &a->member, &r);
    if (status == USHER_MISSING)
        return turn_down(w, USHER_MISSING, not_in);
    if (status == USHER_OK)
        status = find_value(w, ALL, &a->field, &all);
    if (status != USHER_OK)
        return status;
    if (a->expected.data != NULL && fields_read(&own, &r.data)) {
        e = fields_find(&own, &a->field);
        now = all;
        if (e != NULL && e->version > all.order) {
            now.id = e->name;
            now.data = e->value;
            now.order = e->version;
        }
        status = expected(w, USHER_ROOM_ROW_FIELD, &now, &as_expected);
        if (status != USHER_OK || !as_expected)
            return status;
    }
    status = merge(w, true, &a->field, &r.data, &changed, &full);
    if (status != USHER_OK || w->reply->status == USHER_UNAVAILABLE)
        return status;
    if (full)
        return turn_down(w, USHER_FULL, too_many_fields);
    if (!changed) {
        answer(w, USHER_SAME);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    usher__change_save(&c, &r);
    status = tell_fields(w, &c, &a->field, &a->value);
    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK);
    return finish(w, &c, r.state, r.state, &r);
}

/* ---- join, leave, kick, alive ------------------------------------------------------ */

static void answer_member(work *w, enum usher_status status, const struct usher_record *r)
{
    struct usher_room_result *reply = &w->reply->of.room;

    answer(w, status);
    answer_name(w, &args(w)->member);
    reply->member_state = (enum usher_room_member_state)r->state;
    reply->until_ms = r->until_ms;
}

static void answer_absent(work *w, enum usher_status status)
{
    struct usher_record r;

    memset(&r, 0, sizeof r);
    answer_member(w, status, &r);
}

/* A heartbeat that nobody sees: no version. */
static enum usher_status beat_quietly(work *w, change *c, const struct usher_record *r,
                                      uint64_t seen, int64_t until_ms)
{
    if (r->rank == seen && r->until_ms == until_ms)
        return USHER_OK;
    usher__change_begin_quietly(w, c);
    usher__change_save(c, r);
    return usher__change_write(w, c);
}

/* Is there a place for one more?  Whoever is gone by now does not take one. */
static enum usher_status make_place(work *w, bool *ret_place)
{
    const struct usher_scope *s = &w->scope;
    uint64_t n;
    bool more;
    enum usher_status status = USHER_OK;

    *ret_place = true;
    if (s->settings[SET_CAPACITY] == 0 || s->counts[COUNT_MEMBERS] < s->settings[SET_CAPACITY])
        return status;
    if (s->due_ms <= w->now)
        status = expire_due(w, USHER__STEP_MAX, &n, &more);
    *ret_place = s->counts[COUNT_MEMBERS] < s->settings[SET_CAPACITY];
    return status;
}

/* @r is not in the room: it comes, if it may. */
static enum usher_status join_new(work *w, struct usher_record *r)
{
    const struct usher_room_args *a = args(w);
    bool place, changed, full;
    change c;
    enum usher_status status;

    if (state_of(w) == USHER_ROOM_STATE_LOCKED) {
        answer_absent(w, (enum usher_status)room_move(w, USHER__ROOM_JOIN).status);
        return turn_down(w, w->reply->status, "the room is locked");
    }
    status = make_place(w, &place);
    if (status != USHER_OK)
        return status;
    if (!gate(w, USHER__ROOM_JOIN)) /* it was so empty that it closed */
        return USHER_OK;
    if (!place) {
        answer_absent(w, USHER_FULL);
        return turn_down(w, USHER_FULL, "the room is full");
    }
    memset(r, 0, sizeof *r);
    r->kind = MEMBER;
    r->id = a->member;
    status = merge(w, true, NULL, &r->data, &changed, &full);
    if (status != USHER_OK)
        return status;
    if (full) {
        answer_absent(w, USHER_FULL);
        return turn_down(w, USHER_FULL, too_many_fields);
    }
    usher__change_begin(w, &c);
    r->rank = (uint64_t)w->now;
    r->order = c.scope->version;
    r->n[N_JOINED] = w->now;
    settle(c.scope, r, member_move(USHER_ROOM_MEMBER_ABSENT, USHER__MEMBER_JOIN).to, w->now);
    c.scope->counts[COUNT_MEMBERS]++;
    c.scope->counts[COUNT_EMPTY] = 0;
    usher__change_save(&c, r);
    status = tell_fields(w, &c, NULL, NULL);
    if (status != USHER_OK)
        return status;
    answer_member(w, USHER_OK, r);
    return finish(w, &c, USHER_ROOM_MEMBER_ABSENT, r->state, r);
}

static enum usher_status join(work *w)
{
    struct usher_record r, before;
    struct usher__move move;
    bool changed, full;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = load(w, &args(w)->member, &r);
    if (status == USHER_MISSING)
        return join_new(w, &r);
    if (status != USHER_OK)
        return status;
    before = r;
    move = member_move(r.state, USHER__MEMBER_JOIN);
    if (move.status == USHER_REFUSED) {
        answer_member(w, USHER_REFUSED, &r);
        return turn_down(w, USHER_REFUSED, "it is banned");
    }
    status = merge(w, true, NULL, &r.data, &changed, &full);
    if (status != USHER_OK || w->reply->status == USHER_UNAVAILABLE)
        return status;
    if (full) {
        answer_member(w, USHER_FULL, &r);
        return turn_down(w, USHER_FULL, too_many_fields);
    }
    if (!changed)
        r.data = before.data;
    if ((uint64_t)w->now > r.rank)
        r.rank = (uint64_t)w->now;
    settle(&w->scope, &r, move.to, w->now);
    if (move.status == USHER_SAME && !changed) {
        answer_member(w, USHER_SAME, &r);
        return beat_quietly(w, &c, &r, before.rank, before.until_ms);
    }
    usher__change_begin(w, &c);
    usher__change_save(&c, &r);
    status = tell_fields(w, &c, NULL, NULL);
    if (status != USHER_OK)
        return status;
    answer_member(w, USHER_OK, &r);
    return finish(w, &c, before.state, r.state, &r);
}

/* What a replica should have; behind the change that it tells of. */
static void answer_point(work *w)
{
    w->reply->of.room.since = usher__scope_shown(w);
    w->reply->of.room.mark = (uint64_t)w->scope.counts[COUNT_MARK];
}

static enum usher_status alive(work *w)
{
    change c;
    struct usher_record *r = usher__change_first(&c);
    struct usher__move move;
    unsigned from;
    uint64_t seen;
    int64_t until_ms;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = load(w, &args(w)->member, r);
    if (status == USHER_MISSING) {
        answer_absent(w, USHER_MISSING);
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    from = r->state;
    seen = r->rank;
    until_ms = r->until_ms;
    move = member_move(from, USHER__MEMBER_BEAT);
    if (move.status != USHER_OK) {
        answer_member(w, (enum usher_status)move.status, r);
        return USHER_OK;
    }
    if ((uint64_t)w->now > r->rank)
        r->rank = (uint64_t)w->now;
    settle(&w->scope, r, move.to, w->now);
    answer_member(w, USHER_OK, r);
    answer_point(w);
    if (from == r->state)
        return beat_quietly(w, &c, r, seen, until_ms);
    usher__change_begin(w, &c);
    usher__change_save(&c, r);
    status = finish(w, &c, from, r->state, r);
    answer_point(w);
    return status;
}

static enum usher_status leave(work *w, unsigned event)
{
    struct usher_record r;
    struct usher__move move;
    bool ban = event == USHER__MEMBER_BAN;
    unsigned from;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = load(w, &args(w)->member, &r);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = MEMBER;
        r.id = args(w)->member;
    } else if (status != USHER_OK) {
        return status;
    }
    from = r.state;
    if (event == USHER__MEMBER_UNBAN && from != USHER_ROOM_MEMBER_BANNED)
        event = USHER__MEMBER_KICK; /* there is no ban to end */
    move = member_move(from, event);
    if (move.status != USHER_OK ||
        (ban && from == USHER_ROOM_MEMBER_BANNED && r.until_ms == w->now + args(w)->ban_ms)) {
        answer_member(w, USHER_SAME, &r);
        return USHER_OK;
    }
    if (ban && from != USHER_ROOM_MEMBER_BANNED &&
        w->scope.counts[COUNT_BANS] >= USHER_ROOM_BANS_MAX) {
        answer_member(w, USHER_FULL, &r);
        return turn_down(w, USHER_FULL, "the room has too many bans");
    }
    usher__change_begin(w, &c);
    if (!ban)
        usher__change_erase(&c, &r);
    if (present(&r))
        status = drop(w, &c, &r, w->now);
    else
        status = USHER_OK;
    if (status != USHER_OK)
        return status;
    if (from == USHER_ROOM_MEMBER_BANNED)
        c.scope->counts[COUNT_BANS]--;
    r.state = move.to;
    r.until_ms = 0;
    if (ban) {
        r.until_ms = w->now + args(w)->ban_ms;
        r.slots = 2u;
        r.rank = 0;
        r.order = c.scope->version;
        memset(r.n, 0, sizeof r.n);
        r.data.data = NULL;
        r.data.size = 0;
        c.scope->counts[COUNT_BANS]++;
        usher__change_save(&c, &r);
    }
    answer_member(w, USHER_OK, &r);
    return finish(w, &c, from, move.to, &r);
}

static enum usher_status kick(work *w)
{
    if (!given(w, USHER_GIVEN_ROOM_BAN))
        return leave(w, USHER__MEMBER_KICK);
    return leave(w, args(w)->ban_ms > 0 ? USHER__MEMBER_BAN : USHER__MEMBER_UNBAN);
}

/* ---- roles ------------------------------------------------------------------------ */

/* Role @id with what is due for its holder applied; vacant: id of size 0. */
static enum usher_status load_role(work *w, const struct usher_text *id, struct usher_record *r)
{
    char name[USHER_NAME_MAX];
    struct usher_text owner = { name, 0 };
    struct usher_record holder;
    enum usher_status status = find_value(w, ROLE, id, r);

    if (status != USHER_OK || r->id.size == 0)
        return status;
    owner.size = r->owner.size;
    memcpy(name, r->owner.data, owner.size);
    status = load(w, &owner, &holder);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    return find_value(w, ROLE, id, r);
}

/* One role or share more or less for member @id. */
static enum usher_status recount(work *w, change *c, const struct usher_text *id, int n, int64_t by)
{
    struct usher_record r;
    enum usher_status status = w->ops->find(w->txn, &w->scope, MEMBER, id, &r);

    if (status == USHER_OK) {
        r.n[n] += by;
        usher__change_save(c, &r);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status set_role(work *w)
{
    const struct usher_room_args *a = args(w);
    static const struct usher_text holder_word = { "holder", 6 };
    struct usher_record r, member;
    bool vacate = a->member.size == 0;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    if (!vacate)
        status = load_present(w, &a->member, &member);
    else
        status = USHER_OK;
    if (status == USHER_MISSING)
        return turn_down(w, USHER_MISSING, not_in);
    if (status == USHER_OK)
        status = load_role(w, &a->role, &r);
    if (status != USHER_OK)
        return status;
    answer_name(w, &r.owner);
    if (a->expected.data != NULL && !usher__text_equal(&a->expected, &r.owner)) {
        answer(w, USHER_STALE);
        return USHER_OK;
    }
    if (usher__text_equal(&a->member, &r.owner)) {
        answer(w, USHER_SAME);
        return USHER_OK;
    }
    if (!vacate && member.n[N_ROLES] >= USHER_ROOM_ROLES_MAX)
        return turn_down(w, USHER_FULL, "the member has too many roles");
    if (r.id.size == 0 && w->scope.counts[COUNT_ROLES] >= USHER_ROOM_FIELDS_MAX)
        return turn_down(w, USHER_FULL, "the room has too many roles");
    usher__change_begin(w, &c);
    status = tell_fields(w, &c, &holder_word, &a->member);
    if (status == USHER_OK && r.id.size != 0)
        status = recount(w, &c, &r.owner, N_ROLES, -1);
    if (status == USHER_OK && !vacate)
        status = recount(w, &c, &a->member, N_ROLES, 1);
    if (status != USHER_OK)
        return status;
    c.scope->counts[COUNT_ROLES] += (r.id.size == 0) - vacate;
    if (vacate) {
        usher__change_erase(&c, &r);
    } else {
        r.id = a->role;
        r.slots = 4u;
        r.order = r.token = c.scope->version;
        r.owner = a->member;
        usher__change_save(&c, &r);
    }
    r.owner = a->member;
    answer_name(w, &a->member);
    answer(w, USHER_OK);
    return finish(w, &c, 0, 0, &r);
}

/* ---- shares ----------------------------------------------------------------------- */

/* Share @id with what is due for its owner applied; none: id of size 0. */
static enum usher_status load_share(work *w, const struct usher_text *id, struct usher_record *r)
{
    char name[USHER_NAME_MAX];
    struct usher_text owner = { name, 0 };
    struct usher_record member;
    enum usher_status status = find_value(w, SHARE, id, r);

    if (status != USHER_OK || r->id.size == 0)
        return status;
    owner.size = r->owner.size;
    memcpy(name, r->owner.data, owner.size);
    status = load(w, &owner, &member);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    return find_value(w, SHARE, id, r);
}

static enum usher_status share(work *w)
{
    const struct usher_room_args *a = args(w);
    struct usher_record r, member;
    bool as_expected = false, changed, full;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    answer_name(w, &a->share);
    member.n[N_SHARES] = 0;
    status = load_share(w, &a->share, &r);
    if (status == USHER_OK)
        status = load_present(w, &a->member, &member);
    if (status == USHER_MISSING)
        return turn_down(w, USHER_MISSING, not_in);
    if (status == USHER_OK)
        status = find_value(w, SHARE, &a->share, &r); /* its texts may have moved */
    if (status == USHER_OK)
        status = expected(w, USHER_ROOM_ROW_SHARE, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    if (r.id.size != 0 && !usher__text_equal(&r.owner, &a->member))
        return turn_down(w, USHER_REFUSED, "it is another member's");
    if (r.id.size == 0 && member.n[N_SHARES] >= USHER_ROOM_SHARES_MAX)
        return turn_down(w, USHER_FULL, "the member has too many shares");
    status = merge(w, false, NULL, &r.data, &changed, &full);
    if (status != USHER_OK || w->reply->status == USHER_UNAVAILABLE)
        return status;
    if (full)
        return turn_down(w, USHER_FULL, too_many_fields);
    if (r.id.size != 0 && !changed) {
        answer(w, USHER_SAME);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    if (r.id.size == 0) {
        r.id = a->share;
        r.owner = a->member;
        r.slots = 4u;
        r.order = c.scope->version;
        c.scope->counts[COUNT_SHARES]++;
        status = recount(w, &c, &a->member, N_SHARES, 1);
    }
    usher__change_save(&c, &r);
    if (status == USHER_OK)
        status = tell_fields(w, &c, NULL, NULL);
    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK);
    return finish(w, &c, 0, 0, &r);
}

static enum usher_status unshare(work *w)
{
    struct usher_record r;
    bool as_expected = false;
    change c;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    answer_name(w, &args(w)->share);
    status = find_value(w, SHARE, &args(w)->share, &r);
    if (status == USHER_OK)
        status = expected(w, USHER_ROOM_ROW_SHARE, &r, &as_expected);
    if (status != USHER_OK || !as_expected)
        return status;
    if (r.id.size == 0) {
        answer(w, USHER_SAME);
        return USHER_OK;
    }
    usher__change_begin(w, &c);
    usher__change_erase(&c, &r);
    c.scope->counts[COUNT_SHARES]--;
    status = recount(w, &c, &r.owner, N_SHARES, -1);
    if (status != USHER_OK)
        return status;
    answer(w, USHER_OK);
    return finish(w, &c, 0, 0, &r);
}

/* ---- sweep ------------------------------------------------------------------------ */

static enum usher_status sweep(work *w)
{
    struct usher_room_result *reply = &w->reply->of.room;
    int64_t max = given(w, USHER_GIVEN_ROOM_MAX) ? args(w)->max : USHER__STEP_MAX;
    int64_t ttl = args(w)->ttl_ms;
    uint64_t version = w->scope.version;
    struct usher_record r;
    enum usher_status status;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    status = expire_due(w, max, &reply->count, &reply->more);
    while (status == USHER_OK && given(w, USHER_GIVEN_ROOM_TTL) && !reply->more &&
           w->scope.ref != NULL && state_of(w) != USHER_ROOM_STATE_CLOSING) {
        status = w->ops->walk(w->txn, &w->scope, MEMBER, 0, NULL, 0, 0, false, &r);
        if (status != USHER_OK || (int64_t)r.rank + ttl > w->now)
            break;
        if ((int64_t)reply->count >= max) {
            reply->more = true;
            break;
        }
        status = remove_one(w, &r, USHER_ROOM_EXPIRE, w->now);
        if (usher__work_stops(w, status, reply->count)) {
            reply->more = true;
            status = USHER_OK;
            break;
        }
        reply->count++;
    }
    if (status == USHER_MISSING)
        status = USHER_OK;
    answer(w, reply->count > 0 ? USHER_OK : USHER_SAME);
    /* bans that ended have no version: nothing that a kept answer could be called by */
    if (status == USHER_OK && w->scope.ref != NULL && w->scope.version != version)
        status = usher__request_keep_last(w);
    return status;
}

/* ---- reads ------------------------------------------------------------------------ */

/* Rows of all records of @kind, by id. */
static enum usher_status add_rows(work *w, uint8_t kind, enum usher_room_row_kind item)
{
    struct usher_record r;
    struct usher_text after = { NULL, 0 };
    enum usher_status status;

    while ((status = w->ops->next(w->txn, &w->scope, kind, &after, &r)) == USHER_OK) {
        after = r.id;
        status = add_row(w, item, &r);
        if (status != USHER_OK)
            return status;
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Begin a read.  False: there is no such room, which is answered. */
static enum usher_status read_begin(work *w, bool *ret_open)
{
    uint64_t members;
    enum usher_status status = look(w, ret_open, &members);

    if (status != USHER_OK)
        return status;
    answer(w, *ret_open ? USHER_OK : USHER_MISSING);
    w->reply->of.room.members = members;
    if (!*ret_open && w->scope.ref != NULL)
        w->reply->of.room.state = USHER_ROOM_STATE_CLOSING;
    return USHER_OK;
}

static enum usher_status get(work *w)
{
    struct usher_record r;
    bool open;
    enum usher_status status = read_begin(w, &open);

    if (status != USHER_OK || !open)
        return status;
    if (args(w)->field.data == NULL)
        return add_rows(w, FIELD, USHER_ROOM_ROW_FIELD);
    status = find_value(w, FIELD, &args(w)->field, &r);
    if (status == USHER_OK && r.id.size != 0)
        return add_row(w, USHER_ROOM_ROW_FIELD, &r);
    w->reply->status = USHER_MISSING;
    return status;
}

static enum usher_status show(work *w)
{
    bool open;
    enum usher_status status = read_begin(w, &open);

    if (status != USHER_OK || !open)
        return status;
    settings_from(w, w->scope.settings);
    w->reply->of.room.created_ms = w->scope.counts[COUNT_CREATED];
    return USHER_OK;
}

static enum usher_status add_notice(work *w, const struct usher_record *r)
{
    return add_row(w, USHER_ROOM_ROW_NOTICE, r);
}

static enum usher_status changes(work *w)
{
    struct usher_room_result *reply = &w->reply->of.room;
    struct usher__log_asked asked = {
        .since = (uint64_t)args(w)->since,
        .max = given(w, USHER_GIVEN_ROOM_MAX) ? (size_t)args(w)->max : USHER_LIST_DEFAULT,
        .bytes = SIZE_MAX,
        .row = add_notice,
    };
    bool open;
    enum usher_status status = read_begin(w, &open);

    if (status != USHER_OK || !open)
        return status;
    reply->count = (uint64_t)w->scope.counts[COUNT_CHANGES];
    reply->since = (uint64_t)w->scope.counts[COUNT_SINCE];
    reply->mark = (uint64_t)w->scope.counts[COUNT_MARK];
    return usher__log_read(w, &asked, &reply->more);
}

/* Member @m and its shares; adds to *@bytes. */
static enum usher_status add_member(work *w, const struct usher_record *m, size_t *bytes)
{
    struct usher_record r;
    uint64_t order = 0;
    enum usher_status status = add_row(w, USHER_ROOM_ROW_MEMBER, m);

    *bytes += m->data.size;
    while (status == USHER_OK && m->n[N_SHARES] > 0) {
        status = w->ops->walk(w->txn, &w->scope, SHARE, 2, &m->id, 0, order, false, &r);
        if (status != USHER_OK)
            break;
        order = r.order;
        *bytes += r.data.size;
        status = add_row(w, USHER_ROOM_ROW_SHARE, &r);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status snapshot(work *w)
{
    const struct usher_room_args *a = args(w);
    size_t max = given(w, USHER_GIVEN_ROOM_MAX) ? (size_t)a->max : USHER_LIST_DEFAULT;
    struct usher_room_result *reply = &w->reply->of.room;
    size_t bytes = 0, n = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    if (!gate(w, USHER__ROOM_CHANGE))
        return USHER_OK;
    answer(w, USHER_OK);
    answer_point(w);
    reply->since = (uint64_t)a->after;
    if (given(w, USHER_GIVEN_ROOM_SINCE)) {
        struct usher__log_asked asked = { (uint64_t)a->since, max, PAGE_BYTES, add_notice, &bytes };

        status = usher__log_read(w, &asked, &reply->more);
        if (status != USHER_OK || w->reply->status != USHER_OK || reply->more)
            return status;
    }
    if (a->after == 0) {
        status = add_rows(w, FIELD, USHER_ROOM_ROW_FIELD);
        if (status == USHER_OK)
            status = add_rows(w, ROLE, USHER_ROOM_ROW_ROLE);
    }
    /* on every page: without them its members' fields would say nothing */
    if (status == USHER_OK)
        status = add_rows(w, ALL, USHER_ROOM_ROW_ALL);
    while (status == USHER_OK && (status = w->ops->walk(w->txn, &w->scope, MEMBER, 2, NULL, 0,
                                                        reply->since, false, &r)) == USHER_OK) {
        if (n == max || (n > 0 && bytes >= PAGE_BYTES)) {
            reply->more = true;
            return USHER_OK;
        }
        n++;
        reply->since = r.order;
        status = add_member(w, &r, &bytes);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* ---- all together ----------------------------------------------------------------- */

static enum usher_status run(work *w)
{
    uint64_t n;
    bool more;
    enum usher_status status;

    switch (w->command->verb) {
    case USHER_ROOM_GET:
        return get(w);
    case USHER_ROOM_SHOW:
        return show(w);
    case USHER_ROOM_CHANGES:
        return changes(w);
    default:
        break;
    }
    status = usher__request_find(w);
    if (status != USHER_MISSING)
        return status;
    status = USHER_OK;
    if (state_of(w) == USHER_ROOM_STATE_CLOSING) {
        if (w->command->verb != USHER_ROOM_CLOSE)
            status = close_step(w, &n); /* the closer may be dead */
    } else if (w->scope.due_ms <= w->now && w->command->verb != USHER_ROOM_SWEEP) {
        status = expire_due(
            w, w->command->verb == USHER_ROOM_SNAPSHOT ? USHER__STEP_MAX : USHER__EXPIRE_MAX, &n,
            &more);
    }
    if (status != USHER_OK)
        return status;
    /* of one that is being closed all that is left to do is to erase it */
    if (state_of(w) != USHER_ROOM_STATE_CLOSING && usher__other_version(w))
        return USHER_OK;
    switch (w->command->verb) {
    case USHER_ROOM_OPEN:
        return open_room(w);
    case USHER_ROOM_CLOSE:
        return close_room(w);
    case USHER_ROOM_LOCK:
        return lock_room(w, USHER__ROOM_LOCK);
    case USHER_ROOM_UNLOCK:
        return lock_room(w, USHER__ROOM_UNLOCK);
    case USHER_ROOM_SET:
        return set_fields(w);
    case USHER_ROOM_UNSET:
        return unset(w);
    case USHER_ROOM_JOIN:
        return join(w);
    case USHER_ROOM_LEAVE:
        return leave(w, USHER__MEMBER_LEAVE);
    case USHER_ROOM_KICK:
        return kick(w);
    case USHER_ROOM_ALIVE:
        return alive(w);
    case USHER_ROOM_MEMBER:
        return set_member(w);
    case USHER_ROOM_ALL:
        return set_all(w);
    case USHER_ROOM_ROLE:
        return set_role(w);
    case USHER_ROOM_SHARE:
        return share(w);
    case USHER_ROOM_UNSHARE:
        return unshare(w);
    case USHER_ROOM_SNAPSHOT:
        return snapshot(w);
    default:
        return sweep(w);
    }
}

/* ---- for the executor, the audit and the digest ------------------------------------ */

static const char *scope_fault(const struct usher_scope *scope)
{
    int64_t state = scope->counts[COUNT_STATE];

    if (state < USHER_ROOM_STATE_OPEN || state > USHER_ROOM_STATE_CLOSING)
        return "the state of a room";
    for (int i = 0; i < SETTINGS; i++)
        if (scope->settings[i] < 0 || scope->settings[i] > USHER_SPAN_MAX)
            return "a setting of a room";
    if (scope->settings[SET_PUSH] > 1)
        return "a setting of a room";
    if (scope->counts[COUNT_MARK] < 0 || scope->counts[COUNT_MARK] > USHER_EXACT_MAX)
        return "the mark of a room";
    if (scope->counts[COUNT_SINCE] < 0 || (uint64_t)scope->counts[COUNT_SINCE] > scope->version)
        return "the log of a room";
    return NULL;
}

static const char *member_fault(const struct usher_record *r)
{
    unsigned slots = r->until_ms != 0 ? 2u : 0u;

    if (r->state == USHER_ROOM_MEMBER_ABSENT || r->state > USHER_ROOM_MEMBER_BANNED)
        return "has no known state";
    if (present(r))
        slots |= 1u | 4u;
    else if (r->rank != 0 || r->until_ms == 0)
        return "is banned without an end, or has heartbeats";
    if (r->slots != slots)
        return "stands in lists that do not follow from its state";
    if (r->n[N_ROLES] < 0 || r->n[N_ROLES] > USHER_ROOM_ROLES_MAX || r->n[N_SHARES] < 0 ||
        r->n[N_SHARES] > USHER_ROOM_SHARES_MAX)
        return "has a number of roles or shares that cannot be";
    return NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    if (usher__is_newer(scope, r->order))
        return "is newer than its scope";
    switch (r->kind) {
    case MEMBER:
        return member_fault(r);
    case FIELD:
    case ALL:
        return r->slots != 0 ? "stands in a list" : NULL;
    case ROLE:
    case SHARE:
        return r->slots != 4u || r->owner.size == 0 ? "belongs to nobody" : NULL;
    case CHANGE:
        return usher__log_fault(&usher__room_steps.log, scope, r);
    default:
        return NULL;
    }
}

/* Per member, so that sums over all of them agree only if each one's do. */
static int64_t weighed(const struct usher_text *name, int64_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < name->size; i++)
        hash = (hash ^ (unsigned char)name->data[i]) * UINT64_C(1099511628211);
    return (int64_t)(hash * (uint64_t)n);
}

/* Each member has the roles and shares that it says, and no other has any. */
static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case MEMBER:
        if (present(r)) {
            t->counts[COUNT_MEMBERS]++;
            usher__tally_add(&t->sum[0], weighed(&r->id, r->n[N_ROLES]), 1);
            usher__tally_add(&t->sum[1], weighed(&r->id, r->n[N_SHARES]), 1);
        } else {
            t->counts[COUNT_BANS]++;
        }
        break;
    case FIELD:
        t->counts[COUNT_FIELDS]++;
        t->counts[COUNT_BYTES] += (int64_t)(r->id.size + r->data.size);
        break;
    case ALL:
        t->counts[COUNT_ALLS]++;
        t->counts[COUNT_BYTES] += (int64_t)(r->id.size + r->data.size);
        break;
    case ROLE:
        t->counts[COUNT_ROLES]++;
        usher__tally_add(&t->sums[0], weighed(&r->owner, 1), 1);
        break;
    case SHARE:
        t->counts[COUNT_SHARES]++;
        usher__tally_add(&t->sums[1], weighed(&r->owner, 1), 1);
        break;
    case CHANGE:
        if (t->scope->counts[COUNT_STATE] != USHER_ROOM_STATE_CLOSING)
            usher__log_tally(&usher__room_steps.log, t, r);
        else
            t->counts[COUNT_CHANGES]++;
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}

static const char *state_word(unsigned kind, unsigned state)
{
    return kind == MEMBER ? usher_room_member_state_word((enum usher_room_member_state)state)
                          : NULL;
}

static const char *const kinds[USHER_KINDS] = { "?",       "member", "field",  "role",
                                                "request", "share",  "change", "all value" };

static const struct usher__constant constants[] = {
    { "V_FADE", USHER_ROOM_FADE },
    { "V_DROP", USHER_ROOM_DROP },
    { "V_EXPIRE", USHER_ROOM_EXPIRE },
    { "V_EMPTY", USHER_ROOM_EMPTY },
    { "V_DONE", USHER_ROOM_DONE },
    { "SETTINGS", SETTINGS },
    { "ROLES_MAX", USHER_ROOM_ROLES_MAX },
    { "SHARES_MAX", USHER_ROOM_SHARES_MAX },
    { "FIELDS_MAX", USHER_ROOM_FIELDS_MAX },
    { "BYTES_MAX", USHER_ROOM_BYTES_MAX },
    { "BANS_MAX", USHER_ROOM_BANS_MAX },
    { "OWN_FIELDS_MAX", USHER_ROOM_MEMBER_FIELDS_MAX },
    { "VALUE_MAX", USHER_VALUE_MAX },
    { "DATA_MAX", USHER_NOTICE_DATA_MAX },
    { "PAGE_BYTES", PAGE_BYTES },
    { "CLOSE_MAX", CLOSE_MAX },
    { "ROW_FIELD", USHER_ROOM_ROW_FIELD },
    { "ROW_ALL", USHER_ROOM_ROW_ALL },
    { "ROW_ROLE", USHER_ROOM_ROW_ROLE },
    { "ROW_MEMBER", USHER_ROOM_ROW_MEMBER },
    { "ROW_SHARE", USHER_ROOM_ROW_SHARE },
    { "ROW_NOTICE", USHER_ROOM_ROW_NOTICE },
    { NULL, 0 },
};

const struct usher__steps usher__room_steps = {
    .defaults = defaults,
    .run = run,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .kinds = kinds,
    .state_word = state_word,
    .sought_at = offsetof(struct usher_operation, arg.room.member),
    .sought_kind = MEMBER,
    .first = "1:",
    .listed = "237",
    .count_names = {
        [COUNT_MEMBERS] = "MEMBERS",
        [COUNT_FIELDS] = "FIELDS",
        [COUNT_ROLES] = "ROLES",
        [COUNT_REQUESTS] = "REQUESTS",
        [COUNT_SHARES] = "SHARES",
        [COUNT_CHANGES] = "CHANGES",
        [COUNT_ALLS] = "ALLS",
        [COUNT_BANS] = "BANS",
        [COUNT_BYTES] = "BYTES",
        [COUNT_STATE] = "STATE",
        [COUNT_CREATED] = "CREATED",
        [COUNT_EMPTY] = "EMPTY",
        [COUNT_MARK] = "MARK",
        [COUNT_SINCE] = "SINCE",
    },
    .setting_names = {
        [SET_CAPACITY] = "CAPACITY",
        [SET_LINGER] = "LINGER",
        [SET_TTL] = "TTL",
        [SET_AWAY] = "AWAY",
        [SET_GRACE] = "GRACE",
        [SET_LOG] = "LOG",
        [SET_REQUESTS] = "REQUESTS",
        [SET_PRESENCE] = "PRESENCE",
        [SET_PUSH] = "PUSH",
    },
    .constants = constants,
    .log = { CHANGE, SET_LOG, COUNT_CHANGES, COUNT_SINCE, COUNT_MARK },
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .items = 1u << COUNT_MEMBERS,
    .counted = ((1u << (COUNT_BYTES + 1)) - 1) & ~1u,
};
