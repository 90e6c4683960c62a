/* SPDX-License-Identifier: MIT */
/* Functions of serial rules for the executor, the audit and the digest.  See serial.h. */
#include "config.h"

#include "serial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "change/record_ranges.h"
#include "nouns/definition.h"
#include "nouns/nouns.h"

/* Return whether the rule was deleted. */
static bool gone(const struct usher_scope *scope)
{
    return scope->settings[SET_RULE] == 0;
}

static void taken_over(struct usher_scope *scope, uint64_t last)
{
    if (!gone(scope))
        raise_line(scope, last + 1);
}

static const char *scope_fault(const struct usher_scope *scope)
{
    const int64_t *set = scope->settings, *counts = scope->counts;

    if (set[SET_ZONE] < -1440 || set[SET_ZONE] > 1440)
        return "a time zone";
    if (set[SET_RESET] < USHER_SERIAL_RESET_NONE || set[SET_RESET] > USHER_SERIAL_RESET_YEAR)
        return "a period";
    for (int i = SET_LIMIT; i <= SET_START; i += 2)
        if (!usher__wide_sound(set + i, INT64_MAX))
            return "a limit";
    if (!usher__wide_sound(set + SET_LOW, INT64_MAX))
        return "a limit";
    for (int i = COUNT_TAKEN; i <= COUNT_CUR; i += 2)
        if (!usher__wide_sound(counts + i, INT64_MAX))
            return "a counter";
    if (pair(counts + COUNT_TAKEN) > pair(counts + COUNT_CUR) || pair(set + SET_START) < 1 ||
        counts[COUNT_BUCKET] < 0 || counts[COUNT_BUCKET] > USHER_TIME_MAX / USHER__USE_MS)
        return "a counter";
    for (int i = COUNT_USE; i < COUNT_USE + USHER__USE_PERIODS / 2; i++)
        if (counts[i] < 0)
            return "a count of use";
    if (set[SET_STAMP] < USHER_SERIAL_STAMP_TAKE || set[SET_STAMP] > USHER_SERIAL_STAMP_FILL ||
        set[SET_MODE] < USHER_SERIAL_MODE_QUEUE || set[SET_MODE] > USHER_SERIAL_MODE_GAPFREE)
        return "a setting";
    for (int i = SET_CRITICAL; i <= SET_REQUESTS; i++)
        if (i != SET_ZONE && (set[i] < 0 || set[i] > USHER_SPAN_MAX))
            return "a setting";
    if (set[SET_LOG] < 0 || set[SET_LOG] > USHER_SPAN_MAX || set[SET_PUSH] < 0 || set[SET_PUSH] > 1)
        return "a setting";
    if (counts[COUNT_LINE] < 0 || counts[COUNT_DOUBT] < 0)
        return "a count of numbers in doubt";
    if (set[SET_REQUESTS] < 1) /* the place of an end is the remainder of a division by it */
        return "a setting";
    return NULL;
}

/* Return whether the id of lost numbers follows from their position: they are found by that, and
 * never twice.  @scope may be NULL. */
static bool stands_by_its_first(const struct usher_scope *scope, const struct usher_record *r)
{
    char id[ID_SIZE];
    size_t size = (size_t)snprintf(id, sizeof id, "%" PRIu64, r->rank);
    uint64_t rank = (uint64_t)pair(r->n + N_NUMBER);

    if (r->id.size != size || memcmp(r->id.data, id, size) != 0)
        return false;
    if (scope == NULL)
        return true;
    if (scope->settings[SET_RESET] != USHER_SERIAL_RESET_NONE) {
        if (pair(r->n + N_UPTO) >> USHER__GAPFREE_BITS != 0)
            return false;
        rank += (uint64_t)r->n[N_PERIOD] << USHER__GAPFREE_BITS;
    } else if (r->n[N_PERIOD] != 0) {
        return false;
    }
    return r->rank == rank;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    const char *range = range_fault(r);
    struct usher__serial_format f;

    if (usher__is_newer(scope, r->order) || usher__is_newer(scope, r->token))
        return "is newer than its scope";
    if (range != NULL)
        return range;
    switch (r->kind) {
    case KIND_RULE:
        if (!usher__serial_unpack(&r->data, &f))
            return "has a format that cannot be read";
        if (scope == NULL)
            return NULL;
        if (scope->settings[SET_RULE] == 0)
            return "exists although the rule was deleted";
        if (usher__serial_limit(&f, pair(scope->settings + SET_MAX), scope->settings[SET_MODE],
                                scope->settings[SET_RESET]) != pair(scope->settings + SET_LIMIT))
            return "has a limit that does not match it";
        if (pair(scope->counts + COUNT_CUR) > pair(scope->settings + SET_LIMIT))
            return "has made numbers above its limit";
        return NULL;
    case KIND_FILL:
        return scope != NULL && (pair(r->n + N_LAST) > pair(scope->counts + COUNT_CUR) ||
                                 pair(r->n + N_LAST) <= pair(scope->counts + COUNT_TAKEN))
                   ? "is not in the stock"
                   : NULL;
    case KIND_HOLD:
        if (r->state != USHER_SERIAL_STATE_HELD && r->state != USHER_SERIAL_STATE_RETURNED &&
            r->state != USHER_SERIAL_STATE_DOUBT)
            return "has an unknown state";
        if (r->state != USHER_SERIAL_STATE_RETURNED && (r->until_ms < 0 || r->token != r->order))
            return "has an invalid deadline, or a token that is not its version";
        if (r->state == USHER_SERIAL_STATE_DOUBT &&
            (r->until_ms != 0 || (scope != NULL && (int64_t)r->token >= scope->counts[COUNT_LINE])))
            return "is in doubt and has a deadline, or is held since before the store had a new writer";
        if (r->state == USHER_SERIAL_STATE_RETURNED && (r->owner.size != 0 || r->until_ms != 0))
            return "is returned and has an owner or a deadline";
        if (r->slots != usher__machine_lists(&usher__serial_machine, r->state, r->until_ms))
            return "is in lists that do not match its state";
        if (scope != NULL && r->n[N_PERIOD] == scope->counts[COUNT_PERIOD] &&
            pair(r->n + N_NUMBER) > pair(scope->counts + COUNT_CUR))
            return "is a number that was not yet made";
        return NULL;
    case KIND_END:
        if (r->state < USHER_SERIAL_STATE_RETURNED || r->state > USHER_SERIAL_STATE_VOIDED)
            return "has an unknown state";
        return r->order != r->token ? "is not in the order of its token" : NULL;
    case KIND_LOST:
        if (r->state != USHER_SERIAL_STATE_LOST ||
            r->slots != usher__machine_lists(&usher__serial_machine, r->state, 0))
            return "has an unknown state, or is in lists that do not match it";
        if (pair(r->n + N_NUMBER) > pair(r->n + N_UPTO))
            return "has numbers out of range";
        if (scope != NULL && r->n[N_PERIOD] == scope->counts[COUNT_PERIOD] &&
            pair(r->n + N_UPTO) > pair(scope->counts + COUNT_CUR))
            return "covers numbers that were not yet made";
        if (!stands_by_its_first(scope, r))
            return "is not in the order of its first number";
        return NULL;
    case KIND_PAST:
    case KIND_REQUEST:
        return NULL;
    case KIND_CHANGE:
        return usher__log_fault(&usher__serial_steps.log, scope, r);
    default:
        return "has an unknown kind";
    }
}

static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case KIND_RULE:
        break;
    case KIND_FILL:
        t->counts[COUNT_FILLS]++;
        break;
    case KIND_HOLD:
        count(t->counts, state_of(t->scope, r), 1);
        break;
    case KIND_END:
    case KIND_LOST:
    case KIND_PAST:
        break;
    case KIND_CHANGE:
        usher__log_tally(&usher__serial_steps.log, t, r);
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}

static const char *state_word(unsigned kind, unsigned state)
{
    return kind == KIND_HOLD || kind == KIND_END || kind == KIND_LOST
               ? usher_serial_state_word((enum usher_serial_state)state)
               : NULL;
}

/* Return the grant, without a debt that an operator has added while the authority was away. */
static int64_t granted(const struct usher_scope *scope, const struct usher_record *r,
                       int64_t *ret_period)
{
    *ret_period = scope->counts[COUNT_PERIOD];
    return r != NULL && r->kind == KIND_RULE && scope->settings[SET_AUTHORITY] != 0 &&
                   pair(r->n + N_GRANT) > pair(r->n + N_DEBT)
               ? pair(r->n + N_GRANT)
               : -1;
}

size_t usher__serial_form_pack(const struct usher_serial_result_settings *set, int64_t max,
                               const struct usher_text *format, unsigned char to[USHER__FORM_MAX])
{
    struct usher__packer p;

    p.to = to;
    p.size = USHER__FORM_MAX;
    p.n = 0;
    usher__pack_array(&p, 13);
    usher__pack_uint(&p, USHER__SERIAL_FORM);
    usher__pack_text(&p, format->data, format->size);
    usher__pack_wide(&p, set->start);
    usher__pack_wide(&p, max);
    usher__pack_int(&p, set->critical);
    usher__pack_int(&p, set->batch);
    usher__pack_int(&p, set->reset);
    usher__pack_int(&p, set->stamp);
    usher__pack_int(&p, set->mode);
    usher__pack_int(&p, set->lease_ms);
    usher__pack_int(&p, set->requests);
    usher__pack_int(&p, set->log);
    usher__pack_int(&p, set->push);
    return p.n;
}

static bool kept(const struct usher_scope *scope, const struct usher_record *r,
                 unsigned char to[USHER__FORM_MAX], size_t *ret_size)
{
    struct usher_serial_result_settings set;

    *ret_size = 0;
    if (r == NULL || r->kind != KIND_RULE)
        return false;
    memset(&set, 0, sizeof set);
    usher__serial_settings_of(scope->settings, &set);
    if (set.authority != 0)
        *ret_size = usher__serial_form_pack(&set, pair(scope->settings + SET_MAX), &r->data, to);
    return true;
}

static const char *const kinds[USHER_KINDS] = {
#define RECORD(name, code, word, ...) [code] = (word),
#include RECORDS_DEF
};

static const struct usher__constant constants[] = {
    { "V_EXPIRE", USHER_SERIAL_EXPIRE },
    { "V_RESET", USHER_SERIAL_RESET },
    { "WHY_EXHAUSTED", USHER_SERIAL_WHY_EXHAUSTED },
    { "WHY_GRANT", USHER_SERIAL_WHY_GRANT },
    { "WHY_LOST", USHER_SERIAL_WHY_LOST },
    { "WHY_KEPT", USHER_SERIAL_WHY_KEPT },
    { "WHY_ROOM", USHER_SERIAL_WHY_ROOM },
    { "WHY_MODE", USHER_SERIAL_WHY_MODE },
    { "WHY_HELD", USHER_SERIAL_WHY_HELD },
    { "WHY_FILLS", USHER_SERIAL_WHY_FILLS },
    { "WHY_BACK", USHER_SERIAL_WHY_BACK },
    { "WHY_DUE", USHER_SERIAL_WHY_DUE },
    { "WHY_UNKNOWN", USHER_SERIAL_WHY_UNKNOWN },
    { "WHY_RENEWED", USHER_SERIAL_WHY_RENEWED },
    { "USED", USED },
    { "MADE", MADE },
    { "FILLS_MAX", USHER_SERIAL_FILLS_MAX },
    { "WIDTH_MAX", USHER_SERIAL_WIDTH_MAX },
    { "USE_MS", USHER__USE_MS },
    { "USE_BIT", INT64_C(1) << USHER__USE_BITS },
    { "RANK_BIT", INT64_C(1) << USHER__GAPFREE_BITS },
    { "SERIAL_PAST", USHER_SERIAL_STATE_PAST },
    { "MOD37_2", USHER_SERIAL_CHECK_MOD37_2 },
    { "TAKE_MAX", USHER_SERIAL_TAKE_MAX },
    { "VOID_MAX", VOID_MAX },
    { NULL, 0 },
};

const struct usher__steps usher__serial_steps = {
    .defaults = usher__serial_defaults,
    .run = usher__serial_run,
    .defer = usher__serial_come_again,
    .taken_over = taken_over,
    .gone = gone,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .granted = granted,
    .kept = kept,
    .kinds = kinds,
    .state_word = state_word,
    .first = "3:",
    .listed = "",
    .count_names = {
#define COUNT(name, at, text) [at] = #name,
#include RECORDS_DEF
    },
    .setting_names = {
        [SET_LIMIT] = "LIMIT",
        [SET_MAX] = "MAX",
        [SET_START] = "START",
        [SET_CRITICAL] = "CRITICAL",
        [SET_BATCH] = "BATCH",
        [SET_RESET] = "RESET",
        [SET_ZONE] = "ZONE",
        [SET_STAMP] = "STAMP",
        [SET_MODE] = "MODE",
        [SET_LEASE] = "LEASE",
        [SET_REQUESTS] = "REQUESTS",
        [SET_AUTHORITY] = "AUTHORITY",
        [SET_RULE] = "RULE",
        [SET_LOG] = "LOG",
        [SET_PUSH] = "PUSH",
        [SET_LOW] = "LOW",
    },
    .constants = constants,
    .log = { KIND_CHANGE, SET_LOG, COUNT_CHANGES, COUNT_SINCE, 0 },
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .store_kind = KIND_RULE,
    .store_n = N_STORE,
    .items = 1u << COUNT_HELD | 1u << COUNT_DOUBT,
    .statistics = 1u << COUNT_LINE,
    .own = USHER_GIVEN_SERIAL_DEBT,
    .counted = 1u << COUNT_REQUESTS | 1u << COUNT_HELD | 1u << COUNT_RETURNED | 1u << COUNT_FILLS |
               1u << COUNT_CHANGES | 1u << COUNT_DOUBT,
};
