/* SPDX-License-Identifier: MIT */
/*
 * One partition of the room directory as steps on a record store: see src/engine/room_directory.c.
 *
 * Records: ENTRY (id = room; rank = when it was opened, so that slot 0 is the order of `list`;
 * until_ms = when it is due for a patrol, or the lease of the worker that has it, owner, ends;
 * token = version of the last PUT).
 */
#include "config.h"

#include "nouns/nouns.h"

#include <string.h>

#include "core/text.h"

typedef struct usher__work work;
typedef struct usher__change change;

#define RECORDS_DEF "core/rooms_records.def"
#include "change/record_names.h"
#include "change/record_ranges.h"

enum { SET_REQUESTS = 0 };

/* How long an entry without a room stays, because a client may be about to open it. */
#define OPENING_MS 60000
/* The maximum number of entries in one write. */
#define SOME 40
/* The maximum number of entries that one claim changes: a Redis script takes some 140,000
 * instructions for each. */
#define CLAIM_MAX 100

static void defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    memset(scope->settings, 0, sizeof scope->settings);
    scope->settings[SET_REQUESTS] = 1;
}

static const struct usher_rooms_args *args(const work *w)
{
    return &w->command->arg.rooms;
}

static bool given(const work *w, uint64_t bit)
{
    return (w->command->given & bit) != 0;
}

static enum usher_status find(work *w, struct usher_record *r)
{
    return w->scope.ref != NULL ? w->ops->find(w->txn, &w->scope, KIND_ENTRY, &args(w)->room, r)
                                : USHER_MISSING;
}

static enum usher_status add_row(work *w, const struct usher_record *r)
{
    struct usher_rooms_row row;

    memset(&row, 0, sizeof row);
    row.room = r->id;
    row.state = r->state;
    row.created_ms = (int64_t)r->rank;
    row.token = r->token;
    return usher_result_add_row(w->reply, USHER_ROOMS, &row);
}

static enum usher_status put(work *w)
{
    struct usher_record r;
    change c;
    enum usher_status status = find(w, &r);

    if (status == USHER_OK)
        status = add_row(w, &r); /* as it was */
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    usher__change_begin(w, &c);
    if (status == USHER_MISSING) {
        memset(&r, 0, sizeof r);
        r.kind = KIND_ENTRY;
        r.id = args(w)->room;
        r.rank = (uint64_t)w->now;
        r.until_ms = w->moment;
        r.order = c.scope->version;
        r.slots = 1u | 2u;
        c.scope->counts[COUNT_ENTRIES]++;
    }
    if (given(w, USHER_GIVEN_ROOMS_CLOSED)) { /* not if an engine is about to open it again */
        if (r.state != USHER_ROOMS_OPENING && r.state != USHER_ROOMS_DOUBTED)
            r.state = USHER_ROOMS_CLOSED;
    } else if (r.state != USHER_ROOMS_DOUBTED) {
        r.state = USHER_ROOMS_OPENING;
    }
    if (given(w, USHER_GIVEN_ROOMS_CREATED)) {
        r.state = USHER_ROOMS_OPEN;
        r.rank = (uint64_t)args(w)->created_ms;
    }
    r.token = c.scope->version;
    r.n[N_PUT] = w->moment;
    w->reply->of.rooms.token = r.token;
    usher__change_save(&c, &r);
    return usher__change_commit(w, &c, USHER_ROOMS_PUT, 0, r.state, &r);
}

static enum usher_status drop(work *w)
{
    struct usher_record r;
    change c;
    unsigned before;
    enum usher_status status = find(w, &r);

    w->reply->status = USHER_SAME;
    if (status == USHER_MISSING)
        return USHER_OK;
    if (status != USHER_OK)
        return status;
    w->reply->status = USHER_STALE;
    if ((uint64_t)args(w)->token != r.token)
        return USHER_OK;
    before = r.state;
    w->reply->status = USHER_REFUSED;
    if ((before == USHER_ROOMS_OPENING || before == USHER_ROOMS_DOUBTED) &&
        w->moment < r.n[N_PUT] + OPENING_MS) {
        if (before == USHER_ROOMS_DOUBTED)
            return USHER_OK;
        usher__change_begin(w, &c);
        r.state = USHER_ROOMS_DOUBTED; /* the engine that opens it reads it again */
        usher__change_save(&c, &r);
        return usher__change_commit(w, &c, USHER_ROOMS_DROP, before, r.state, &r);
    }
    w->reply->status = USHER_OK;
    usher__change_begin(w, &c);
    usher__change_erase(&c, &r);
    c.scope->erase = --c.scope->counts[COUNT_ENTRIES] == 0;
    return usher__change_commit(w, &c, USHER_ROOMS_DROP, before, 0, &r);
}

static enum usher_status show(work *w)
{
    struct usher_record r;
    enum usher_status status = find(w, &r);

    w->reply->status = status == USHER_MISSING ? status : USHER_OK;
    if (status == USHER_MISSING)
        return USHER_OK;
    return status == USHER_OK ? add_row(w, &r) : status;
}

/* Return whether @r has the time with which the page begins, and was on the page before. */
static bool shown(const work *w, const struct usher_record *r)
{
    const struct usher_text *after = &args(w)->after;
    size_t n = after->size < r->id.size ? after->size : r->id.size;
    int order;

    if (after->data == NULL || (int64_t)r->rank != args(w)->created_ms)
        return false;
    order = memcmp(r->id.data, after->data, n);
    return order < 0 || (order == 0 && r->id.size <= after->size);
}

/* Rooms with the same time are stored in another order than that of their names.  So a page ends
 * with all rooms of a time, or after USHER_PAGE_MAX rooms: then the token of the answer is for the
 * rest of that time. */
static enum usher_status list(work *w)
{
    size_t max = given(w, USHER_GIVEN_ROOMS_MAX) ? (size_t)args(w)->max : USHER_LIST_DEFAULT;
    uint64_t hi = given(w, USHER_GIVEN_ROOMS_CREATED) ? (uint64_t)args(w)->created_ms : 0;
    bool rest = given(w, USHER_GIVEN_ROOMS_TOKEN);
    uint64_t order = rest ? (uint64_t)args(w)->token : 0;
    size_t n = 0;
    struct usher_record r;
    enum usher_status status = USHER_OK;

    for (int looked = 0; w->scope.ref != NULL && status == USHER_OK; looked++) {
        bool same;

        status = w->ops->walk(w->txn, &w->scope, KIND_ENTRY, 0, NULL, hi, order, false, &r);
        if (status != USHER_OK)
            break;
        same = r.rank == hi && order > 0;
        if (looked == USHER_PAGE_MAX || (!same && (n >= max || rest))) {
            w->reply->of.rooms.more = true;
            w->reply->of.rooms.token = same ? order : 0;
            return USHER_OK;
        }
        hi = r.rank;
        order = r.order;
        if (shown(w, &r))
            continue;
        n++;
        status = add_row(w, &r);
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* Make one change with the next entries that @worker has (@done), or that are due; *@left: how many
 * more may be claimed, *@steps: how many may be changed.  *@ret_n: how many were. */
static enum usher_status claim_some(work *w, bool done, int64_t *left, int *steps, size_t *ret_n)
{
    const struct usher_rooms_args *a = args(w);
    uint64_t hi = 0, order = 0;
    struct usher_record r;
    change c;
    enum usher_status status = USHER_OK;

    usher__change_begin_quietly(w, &c);
    while (*steps > 0 && c.n < SOME && (done || *left > 0)) {
        status = w->ops->walk(w->txn, &w->scope, KIND_ENTRY, done ? 2 : 1, done ? &a->worker : NULL,
                              hi, order, false, &r);
        if (status != USHER_OK || (!done && r.until_ms > w->moment))
            break;
        hi = done ? 0 : (uint64_t)r.until_ms;
        order = r.order;
        if (done) { /* not if it was too late: then it is due again */
            if (r.until_ms > w->moment)
                r.until_ms = r.n[N_CLAIMED] + a->every_ms;
            r.owner.data = NULL;
            r.owner.size = 0;
            r.slots = 1u | 2u;
        } else {
            r.until_ms = w->moment + a->lease_ms;
            r.n[N_CLAIMED] = w->moment;
            r.owner = a->worker;
            r.slots = 1u | 2u | 4u;
            --*left;
            status = add_row(w, &r);
            if (status != USHER_OK)
                return status;
        }
        usher__change_save(&c, &r);
        --*steps;
    }
    *ret_n = c.n;
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (c.n == 0)
        return USHER_OK;
    c.scope->version++;
    c.scope->clock_ms = w->now;
    return usher__change_commit(w, &c, USHER_ROOMS_CLAIM, 0, 0, NULL);
}

static enum usher_status claim(work *w)
{
    int64_t left = given(w, USHER_GIVEN_ROOMS_MAX) ? args(w)->max : USHER_LIST_DEFAULT;
    size_t n = 0, all = 0;
    int steps = CLAIM_MAX;
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_SAME;
        return USHER_OK;
    }
    do {
        if (!given(w, USHER_GIVEN_ROOMS_TOKEN))
            status = claim_some(w, true, &left, &steps, &n);
        all += n;
    } while (status == USHER_OK && n > 0);
    w->reply->of.rooms.more = steps == 0;
    do {
        if (status == USHER_OK)
            status = claim_some(w, false, &left, &steps, &n);
        all += n;
    } while (status == USHER_OK && n > 0 && left > 0);
    w->reply->of.rooms.more = w->reply->of.rooms.more || (steps == 0 && left > 0);
    w->reply->status = all > 0 ? USHER_OK : USHER_SAME;
    return status;
}

static enum usher_status run(work *w)
{
    enum usher_status status = usher__request_find(w);

    if (status != USHER_MISSING)
        return status;
    switch (w->command->verb) {
    case USHER_ROOMS_PUT:
        return put(w);
    case USHER_ROOMS_DROP:
        return drop(w);
    case USHER_ROOMS_FIND:
        return show(w);
    case USHER_ROOMS_LIST:
        return list(w);
    default:
        return claim(w);
    }
}

static const char *scope_fault(const struct usher_scope *scope)
{
    return scope->counts[COUNT_ENTRIES] < 0 ? "the index of rooms" : NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    const char *range = range_fault(r);

    if (usher__is_newer(scope, r->order) || usher__is_newer(scope, r->token))
        return "is newer than its scope";
    if (range != NULL)
        return range;
    if (r->kind != KIND_ENTRY || r->state < USHER_ROOMS_OPENING || r->state > USHER_ROOMS_CLOSED)
        return "has an unknown kind or state";
    if (r->slots != (r->owner.size != 0 ? 7u : 3u))
        return "is in lists that do not match its state";
    return NULL;
}

static void tally(struct usher__tally *t, const struct usher_record *r)
{
    (void)r;
    t->counts[COUNT_ENTRIES]++;
}

static const char *state_word(unsigned kind, unsigned state)
{
    static const char *const words[] = {
        [USHER_ROOMS_OPENING] = "opening",
        [USHER_ROOMS_OPEN] = "open",
        [USHER_ROOMS_DOUBTED] = "doubted",
        [USHER_ROOMS_CLOSED] = "closed",
    };

    if (kind != KIND_ENTRY)
        return NULL;
    return state >= USHER_ROOMS_OPENING && state <= USHER_ROOMS_CLOSED ? words[state] : "?";
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "OPENING", USHER_ROOMS_OPENING }, { "OPEN", USHER_ROOMS_OPEN },
    { "DOUBTED", USHER_ROOMS_DOUBTED }, { "CLOSED", USHER_ROOMS_CLOSED },
    { "OPENING_MS", OPENING_MS },       { "SOME", SOME },
    { "CLAIM_MAX", CLAIM_MAX },         { NULL, 0 },
};

const struct usher__steps usher__rooms_steps = {
    .defaults = defaults,
    .run = run,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .kinds = kinds,
    .state_word = state_word,
    .first = "1:",
    .listed = "-",
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .setting_names = { [SET_REQUESTS] = "REQUESTS" },
    .constants = constants,
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .counted = 1u << COUNT_ENTRIES,
};
