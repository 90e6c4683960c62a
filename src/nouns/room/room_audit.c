/* SPDX-License-Identifier: MIT */
/* Functions of rooms for the executor, the audit and the digest.  See room.h. */
#include "config.h"

#include "room.h"

#include <string.h>

#include "change/record_ranges.h"
#include "nouns/nouns.h"

static const char *scope_fault(const struct usher_scope *scope)
{
    int64_t state = scope->counts[COUNT_STATE];

    if (state < USHER_ROOM_STATE_CLOSED || state > USHER_ROOM_STATE_CLOSING ||
        (state == USHER_ROOM_STATE_CLOSED && scope->counts[COUNT_BANS] == 0))
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

/* Return whether only bans are left of it. */
static bool scope_gone(const struct usher_scope *scope)
{
    return scope->counts[COUNT_STATE] == USHER_ROOM_STATE_CLOSED;
}

static const char *member_fault(const struct usher_record *r)
{
    if (r->state == USHER_ROOM_MEMBER_ABSENT || r->state > USHER_ROOM_MEMBER_BANNED)
        return "has an unknown state";
    if (!present(r) && (r->rank != 0 || r->until_ms == 0))
        return "is banned without an end, or has heartbeats";
    if (r->slots != usher__machine_lists(&usher__member_machine, r->state, r->until_ms))
        return "is in lists that do not match its state";
    return NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    const char *range = range_fault(r);

    if (usher__is_newer(scope, r->order))
        return "is newer than its scope";
    if (range != NULL)
        return range;
    switch (r->kind) {
    case KIND_MEMBER:
        return member_fault(r);
    case KIND_FIELD:
    case KIND_ALL:
        return r->slots != 0 ? "stands in a list" : NULL;
    case KIND_ROLE:
    case KIND_SHARE:
        return r->slots != 4u || r->owner.size == 0 ? "has no owner" : NULL;
    case KIND_CHANGE:
        return usher__log_fault(&usher__room_steps.log, scope, r);
    default:
        return NULL;
    }
}

/* Weigh by member, so that sums over all of them agree only if those of each one do. */
static int64_t weighed(const struct usher_text *name, int64_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < name->size; i++)
        hash = (hash ^ (unsigned char)name->data[i]) * UINT64_C(1099511628211);
    return (int64_t)(hash * (uint64_t)n);
}

/* Add @r to the totals: each member has the roles and shares of its record, and no other has
 * any. */
static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_MEMBER:
        if (present(r)) {
            t->counts[COUNT_MEMBERS]++;
            usher__tally_add(&t->sum[0], weighed(&r->id, r->n[N_ROLES]), 1);
            usher__tally_add(&t->sum[1], weighed(&r->id, r->n[N_SHARES]), 1);
        } else {
            t->counts[COUNT_BANS]++;
        }
        break;
    case KIND_FIELD:
        t->counts[COUNT_FIELDS]++;
        t->counts[COUNT_BYTES] += (int64_t)(r->id.size + r->data.size);
        break;
    case KIND_ALL:
        t->counts[COUNT_ALLS]++;
        t->counts[COUNT_BYTES] += (int64_t)(r->id.size + r->data.size);
        break;
    case KIND_ROLE:
        t->counts[COUNT_ROLES]++;
        usher__tally_add(&t->sums[0], weighed(&r->owner, 1), 1);
        break;
    case KIND_SHARE:
        t->counts[COUNT_SHARES]++;
        usher__tally_add(&t->sums[1], weighed(&r->owner, 1), 1);
        break;
    case KIND_CHANGE:
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
    return kind == KIND_MEMBER ? usher_room_member_state_word((enum usher_room_member_state)state)
                               : NULL;
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "V_FADE", USHER_ROOM_FADE },
    { "V_DROP", USHER_ROOM_DROP },
    { "V_EXPIRE", USHER_ROOM_EXPIRE },
    { "V_EMPTY", USHER_ROOM_EMPTY },
    { "V_DONE", USHER_ROOM_DONE },
    { "V_OUTAGE", USHER_ROOM_OUTAGE },
    { "ROLES_MAX", USHER_ROOM_ROLES_MAX },
    { "SHARES_MAX", USHER_ROOM_SHARES_MAX },
    { "FIELDS_MAX", USHER_ROOM_FIELDS_MAX },
    { "BYTES_MAX", USHER_ROOM_BYTES_MAX },
    { "BANS_MAX", USHER_ROOM_BANS_MAX },
    { "OWN_FIELDS_MAX", USHER_ROOM_MEMBER_FIELDS_MAX },
    { "VALUE_MAX", USHER_VALUE_MAX },
    { "DATA_MAX", USHER_NOTICE_DATA_MAX },
    { "PAGE_BYTES", PAGE_BYTES },
    { "ROW_WORK", ROW_WORK },
    { "CLOSE_MAX", CLOSE_MAX },
    { "BANS_KEPT", 3600000 }, /* the keys of a closed room, after its last ban */
    { "ROW_FIELD", USHER_ROOM_ROW_FIELD },
    { "ROW_ALL", USHER_ROOM_ROW_ALL },
    { "ROW_ROLE", USHER_ROOM_ROW_ROLE },
    { "ROW_MEMBER", USHER_ROOM_ROW_MEMBER },
    { "ROW_SHARE", USHER_ROOM_ROW_SHARE },
    { "ROW_NOTICE", USHER_ROOM_ROW_NOTICE },
    { NULL, 0 },
};

static const struct usher__lives lives = {
    .kinds = { KIND_MEMBER, 0 },
    .from = COUNT_OUTAGE_FROM,
    .to = COUNT_OUTAGE_TO,
    .verb = USHER_ROOM_OUTAGE,
    .beat = usher__room_beat,
    .deadline = usher__room_life_ends,
    .last = usher__room_last,
};

const struct usher__steps usher__room_steps = {
    .defaults = usher__room_defaults,
    .run = usher__room_run,
    .scope_fault = scope_fault,
    .gone = scope_gone,
    .record_fault = record_fault,
    .tally = tally,
    .lives = &lives,
    .kinds = kinds,
    .state_word = state_word,
    .sought_at = offsetof(struct usher_operation, arg.room.member),
    .sought_kind = KIND_MEMBER,
    .first = "1:",
    .listed = "237",
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .settings_verb = USHER_ROOM_OPEN,
    .constants = constants,
    .log = { KIND_CHANGE, SET_LOG, COUNT_CHANGES, COUNT_SINCE, COUNT_MARK },
    .log_total = COUNT_LOGGED,
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .items = 1u << COUNT_MEMBERS,
    .counted = ((1u << (COUNT_BYTES + 1)) - 1) & ~1u,
    .statistics = 1u << COUNT_PUSHED,
};
