/* SPDX-License-Identifier: MIT */
/* Number pools for the executor, the audit and the digest. */
#include "config.h"

#include "number_parts.h"

#include <string.h>

#include "change/record_ranges.h"
#include "nouns/nouns.h"

static void defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    usher__settings_default(USHER_NUMBER_SET, scope->settings);
}

/* In minutes; checked because others can write to the store, and days are computed with it. */
#define ZONE_MAX 1440
/* Bits of the longest span. */
#define SPAN_BITS 42
_Static_assert(USHER_SPAN_MAX >> SPAN_BITS == 0, "USHER_SPAN_MAX has more bits than SPAN_BITS");

static const char *scope_fault(const struct usher_scope *scope)
{
    const int64_t *set = scope->settings;
    int64_t zone = set[USHER__SET_ZONE];
    uint64_t any = 0;

    /* This is checked at each command of a store that caches no scopes, so for all at once: none is
     * below 0, or too large for computing times. */
    for (unsigned i = 0; i < USHER__SETTINGS; i++)
        any |= i != USHER__SET_ZONE ? (uint64_t)set[i] : 0;
    if (set[USHER__SET_ORDER] < USHER_NUMBER_ORDER_LONGEST_IDLE ||
        set[USHER__SET_ORDER] > USHER_NUMBER_ORDER_RANDOM)
        return "an order";
    if (any >> SPAN_BITS != 0)
        return "a setting";
    if (set[USHER__SET_OUTAGE_FROM] < 0 ||
        set[USHER__SET_OUTAGE_TO] < set[USHER__SET_OUTAGE_FROM] ||
        set[USHER__SET_OUTAGE_TO] > USHER_TIME_MAX)
        return "an outage";
    return zone < -ZONE_MAX || zone > ZONE_MAX ? "a time zone" : NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    const char *range = range_fault(r);

    if (r->kind != KIND_DAY &&
        (usher__is_newer(scope, r->order) || usher__is_newer(scope, r->token)))
        return "is newer than its scope";
    if (r->kind < KIND_NUMBER || r->kind > KIND_REASON)
        return "has an unknown kind";
    if (range != NULL)
        return range;
    if (r->kind == KIND_CHANGE)
        return usher__log_fault(&usher__number_steps.log, scope, r);
    if (r->kind == KIND_REASON &&
        (r->slots != USHER__LIST_READY || r->data.size == 0 || r->data.size > USHER_NAME_MAX))
        return "is no reason of a mode";
    if (r->kind != USHER_KIND_REQUEST && r->kind != KIND_REASON && r->data.size != 0 &&
        (r->kind != KIND_NUMBER || !busy(r->state) || r->data.size > USHER_NAME_MAX))
        return "has data without a meaning";
    if (r->kind == KIND_NODE && (r->slots != 1u << USHER__NUMBER_HELD || r->owner.size == 0 ||
                                 r->order == 0 || r->order != r->token))
        return "is not in the list of a node";
    if (r->kind != KIND_NUMBER)
        return NULL;
    if (r->state == USHER_NUMBER_STATE_NODATA || r->state > USHER_NUMBER_STATE_BUSY_UP)
        return "has an unknown state";
    if (r->slots != usher__machine_lists(&usher__number_machine, r->state, r->until_ms))
        return "is in lists that do not match its state";
    if ((r->slots & (1u << USHER__NUMBER_IDLE)) == 0 ? r->rank != 0
        : over_cap(r) ? r->rank != usher__number_rank_capped(r->n[N_DAY], r->n[N_CALLS],
                                                             usher__number_rank_drawn(r->rank))
                      : r->rank != USHER__RANK_QUEUED && r->rank != usher__draw(r->order))
        return "has a rank that does not match its version or its calls";
    if (!busy(r->state) && r->owner.size != 0)
        return "is idle and has an owner";
    if (busy(r->state) && r->token != r->order)
        return "is held under a token that is not its version";
    if (busy(r->state) && (r->n[N_LEASE] == 0) != (r->until_ms == 0))
        return "has a lease without a deadline, or a deadline without a lease";
    return NULL;
}

/* Add @r to the totals: the counts of groups must add up to the numbers in groups, and the holds of
 * nodes must be in their lists. */
static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_NUMBER:
        if (r->state <= USHER_NUMBER_STATE_BUSY_UP)
            count(t->counts, r, 1);
        if (r->group.size != 0)
            count_group(t->sum, r, 1);
        if (r->data.size != 0)
            t->sum[3]++;
        if (over_cap(r))
            t->sum[4]++;
        break;
    case KIND_GROUP:
        for (int i = 0; i < 3; i++)
            usher__tally_add(&t->sums[i], r->n[i], 1);
        break;
    case KIND_STICKY:
        t->counts[COUNT_STICKY]++;
        break;
    case KIND_NODE:
        t->sums[3]++;
        break;
    case KIND_DAY:
        usher__tally_add(&t->sums[4], r->n[N_CAPPED], 1);
        break;
    case KIND_CHANGE:
        usher__log_tally(&usher__number_steps.log, t, r);
        break;
    case KIND_PAST:
        t->counts[COUNT_PAST]++;
        break;
    case KIND_REASON:
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}

static const char *state_word(unsigned kind, unsigned state)
{
    return kind == KIND_NUMBER ? usher_number_state_word((enum usher_number_state)state) : NULL;
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "V_EXPIRE", USHER_NUMBER_EXPIRE },
    { "V_OUTAGE", USHER_NUMBER_OUTAGE },
    { "SET_OUTAGE_FROM", USHER__SET_OUTAGE_FROM },
    { "SET_OUTAGE_TO", USHER__SET_OUTAGE_TO },
    { "QUEUED", USHER__RANK_QUEUED },
    { "ASIDE", USHER__RANK_CAPPED },
    { "DRAW_STEPS", USHER__DRAW_STEPS },
    { "PAST_MAX", PAST_MAX },
    { "DAYS_AHEAD", DAYS_AHEAD },
    { "JUDGE_MAX", JUDGE_MAX },
    { "JUDGE_ON_WAY", JUDGE_ON_WAY },
    { "JUDGE_IDLE", JUDGE_IDLE },
    { "JUDGE_BOTH", JUDGE_BOTH },
    { "JUDGE_RESTS", JUDGE_RESTS },
    { "FOREVER", USHER__FOREVER },
    { "BUSY", USHER_NUMBER_STATE_BUSY },
    { NULL, 0 },
};

static int64_t beat(const struct usher_scope *scope)
{
    return scope->settings[USHER__SET_OUTAGE];
}

static int64_t lease_ends(const struct usher_scope *scope, const struct usher_record *r)
{
    (void)scope;
    return busy(r->state) ? r->until_ms : 0;
}

static const struct usher__lives lives = {
    .kinds = { KIND_NUMBER },
    .from = USHER__SET_OUTAGE_FROM,
    .to = USHER__SET_OUTAGE_TO,
    .in_settings = true,
    .verb = USHER_NUMBER_OUTAGE,
    .beat = beat,
    .deadline = lease_ends,
};

const struct usher__steps usher__number_steps = {
    .defaults = defaults,
    .run = usher__number_run,
    .lives = &lives,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .kinds = kinds,
    .state_word = state_word,
    .sought_at = offsetof(struct usher_operation, arg.number.number),
    .sought_kind = KIND_NUMBER,
    .drops = "132330405062708090",
    .drop_verb = USHER_NUMBER_DROP,
    .defer = usher__number_defer,
    .first = "1:",
    .listed = "12",
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .settings_verb = USHER_NUMBER_SET,
    .constants = constants,
    .log = { KIND_CHANGE, USHER__SET_LOG, COUNT_CHANGES, COUNT_SINCE, 0 },
    .requests = COUNT_REQUESTS,
    .requests_max = USHER__SET_REQUESTS,
    .counted = (((1u << (COUNT_REQUESTS + 1)) - 1) & ~1u) | 1u << COUNT_CAPPED |
               1u << COUNT_PAST | 1u << COUNT_CHANGES,
    .items = 0x1e, /* numbers, by state */
    .statistics = 1u << COUNT_REFUSED | 1u << COUNT_REFUSED_DAY |
                  1u << COUNT_REFUSED_BEFORE |
                  1u << COUNT_JUDGE | 1u << COUNT_JUDGE_HI,
};
