/* SPDX-License-Identifier: MIT */
/* Made by gen_calls.py from number.txt: do not edit. */
/* clang-format off */

static const struct usher__member number_options[] = {
    MEMBER(struct usher_number_options, number, NUMBER, NUMBER, STRING),
    MEMBER(struct usher_number_options, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_number_options, node, NODE, NODE, STRING),
    MEMBER(struct usher_number_options, group, GROUP, GROUP, STRING),
    MEMBER(struct usher_number_options, groups, GROUPS, GROUPS, STRING),
    MEMBER(struct usher_number_options, sticky, STICKY, STICKY, STRING),
    MEMBER(struct usher_number_options, lease_ms, LEASE, LEASE, NUMBER),
    MEMBER(struct usher_number_options, rest_ms, REST, REST, NUMBER),
    MEMBER(struct usher_number_options, state, STATE, STATE, CODE),
    MEMBER(struct usher_number_options, all, ALL, ALL, NUMBER),
    MEMBER(struct usher_number_options, after, AFTER, AFTER, STRING),
    MEMBER(struct usher_number_options, max, MAX, MAX, NUMBER),
    MEMBER(struct usher_number_options, if_version, IF_VERSION, IF_VERSION, NUMBER),
    MEMBER(struct usher_number_options, epoch, EPOCH, EPOCH, TOKEN),
    MEMBER(struct usher_number_options, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_number_options, reason, REASON, REASON, STRING),
    MEMBER(struct usher_number_options, actor, ACTOR, ACTOR, STRING),
};
GIVE(number, options)

static const struct usher__member number_settings[] = {
    MEMBER(struct usher_number_settings, order, ORDER, ORDER, CODE),
    MEMBER(struct usher_number_settings, lease_ms, LEASE, LEASE, NUMBER),
    MEMBER(struct usher_number_settings, rest_ms, REST, REST, NUMBER),
    MEMBER(struct usher_number_settings, daily, DAILY, DAILY, NUMBER),
    MEMBER(struct usher_number_settings, zone_min, ZONE, ZONE, NUMBER),
    MEMBER(struct usher_number_settings, strict, STRICT, STRICT, NUMBER),
    MEMBER(struct usher_number_settings, sticky_ms, STICKY_MS, STICKY_MS, NUMBER),
    MEMBER(struct usher_number_settings, sticky_max, STICKY_MAX, STICKY_MAX, NUMBER),
    MEMBER(struct usher_number_settings, requests, REQUESTS, REQUESTS, NUMBER),
    MEMBER(struct usher_number_settings, gap_ms, GAP, GAP, NUMBER),
    MEMBER(struct usher_number_settings, log, LOG, LOG, NUMBER),
    MEMBER(struct usher_number_settings, lease_max_ms, LEASE_MAX, LEASE_MAX, NUMBER),
    MEMBER(struct usher_number_settings, outage_ms, OUTAGE, OUTAGE, NUMBER),
    MEMBER(struct usher_number_settings, scope_mode, SCOPE_MODE, SCOPE_MODE, CODE),
    MEMBER(struct usher_number_settings, push, PUSH, PUSH, NUMBER),
};
GIVE(number, settings)

static const struct usher__member number_answer[] = {
    MEMBER(struct usher_number_answer, state, STATE, STATE, CODE),
    MEMBER(struct usher_number_answer, why, WHY, WHY, CODE),
    MEMBER(struct usher_number_answer, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_number_answer, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_number_answer, next_free_ms, NEXT_FREE, NEXT_FREE, NUMBER),
    MEMBER(struct usher_number_answer, count, COUNT, COUNT, NUMBER),
    MEMBER(struct usher_number_answer, number, NUMBER, NUMBER, CHARS),
    MEMBER(struct usher_number_answer, after, AFTER, AFTER, CHARS),
    MEMBER(struct usher_number_answer, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_number_answer, owner, OWNER, OWNER, CHARS),
};

static const struct usher__member number_row[] = {
    MEMBER(struct usher_number_row, number, NUMBER, NUMBER, STRING),
    MEMBER(struct usher_number_row, group, GROUP, GROUP, STRING),
    MEMBER(struct usher_number_row, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_number_row, node, NODE, NODE, STRING),
    MEMBER(struct usher_number_row, state, STATE, STATE, CODE),
    MEMBER(struct usher_number_row, resting, RESTING, RESTING, NUMBER),
    MEMBER(struct usher_number_row, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_number_row, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_number_row, calls_today, CALLS_TODAY, CALLS_TODAY, NUMBER),
    MEMBER(struct usher_number_row, used_ms, USED, USED, NUMBER),
    MEMBER(struct usher_number_row, capped, CAPPED, CAPPED, NUMBER),
    MEMBER(struct usher_number_row, age_ms, AGE, AGE, NUMBER),
    MEMBER(struct usher_number_row, value, VALUE, VALUE, BYTES),
    MEMBER(struct usher_number_row, version, VERSION, VERSION, NUMBER),
    MEMBER(struct usher_number_row, verb, VERB, VERB, CODE),
    MEMBER(struct usher_number_row, subject, SUBJECT, SUBJECT, STRING),
    MEMBER(struct usher_number_row, before, BEFORE, BEFORE, NUMBER),
    MEMBER(struct usher_number_row, from_state, FROM_STATE, FROM_STATE, NUMBER),
    MEMBER(struct usher_number_row, to_state, TO_STATE, TO_STATE, NUMBER),
    MEMBER(struct usher_number_row, data, DATA, DATA, BYTES),
    MEMBER(struct usher_number_row, time_ms, TIME, TIME, NUMBER),
    MEMBER(struct usher_number_row, actor, ACTOR, ACTOR, STRING),
    MEMBER(struct usher_number_row, reason, REASON, REASON, STRING),
};

static const struct usher__member number_statistics[] = {
    MEMBER(struct usher_number_statistics, total, TOTAL, TOTAL, NUMBER),
    MEMBER(struct usher_number_statistics, idle_up, IDLE_UP, IDLE_UP, NUMBER),
    MEMBER(struct usher_number_statistics, idle_down, IDLE_DOWN, IDLE_DOWN, NUMBER),
    MEMBER(struct usher_number_statistics, busy_up, BUSY_UP, BUSY_UP, NUMBER),
    MEMBER(struct usher_number_statistics, busy_down, BUSY_DOWN, BUSY_DOWN, NUMBER),
    MEMBER(struct usher_number_statistics, resting_numbers, RESTING_NUMBERS, RESTING_NUMBERS, NUMBER),
    MEMBER(struct usher_number_statistics, calls_today, CALLS_TODAY, CALLS_TODAY, NUMBER),
    MEMBER(struct usher_number_statistics, refused_today, REFUSED_TODAY, REFUSED_TODAY, NUMBER),
    MEMBER(struct usher_number_statistics, longest_hold_ms, LONGEST_HOLD, LONGEST_HOLD, NUMBER),
    MEMBER(struct usher_number_statistics, capped_numbers, CAPPED_NUMBERS, CAPPED_NUMBERS, NUMBER),
    MEMBER(struct usher_number_statistics, scope_mode, SCOPE_MODE, SCOPE_MODE, CODE),
    MEMBER(struct usher_number_statistics, calls_total, CALLS_TOTAL, CALLS_TOTAL, NUMBER),
    MEMBER(struct usher_number_statistics, refused_total, REFUSED_TOTAL, REFUSED_TOTAL, NUMBER),
    MEMBER(struct usher_number_statistics, hangups_total, HANGUPS_TOTAL, HANGUPS_TOTAL, NUMBER),
    MEMBER(struct usher_number_statistics, expired_total, EXPIRED_TOTAL, EXPIRED_TOTAL, NUMBER),
    MEMBER(struct usher_number_statistics, freed_total, FREED_TOTAL, FREED_TOTAL, NUMBER),
};

static const uint8_t number_answer_at[] = {
    [USHER_FIELD_STATE] = 1,
    [USHER_FIELD_WHY] = 2,
    [USHER_FIELD_TOKEN] = 3,
    [USHER_FIELD_UNTIL] = 4,
    [USHER_FIELD_NEXT_FREE] = 5,
    [USHER_FIELD_COUNT] = 6,
    [USHER_FIELD_NUMBER] = 7,
    [USHER_FIELD_AFTER] = 8,
    [USHER_FIELD_SINCE_VERSION] = 9,
    [USHER_FIELD_OWNER] = 10,
};

static void number_answer_tell(const struct usher_operation *op, const struct usher_result *r,
                              struct usher__answer *a)
{
    const uint32_t verb = op != NULL ? USHER__VERB_BIT((unsigned)op->verb) : 0;
    const size_t size = a->size;

    TELL_NONE(number);
    if (op == NULL)
        return;
#define V(name) USHER__VERB_BIT(USHER_NUMBER_##name)
#define OUT(type, member, field, verbs) TELL_FIELD(number, USHER_NUMBER, type, member, field, verbs)
#include "core/number_verbs.def"
#undef V
}

static const struct usher__calls number_calls = {
    USHER_NUMBER,
    SHAPE(number, options, GIVEN(number, options)),
    SHAPE(number, settings, GIVEN(number, settings)),
    SHAPE(number, answer, TOLD(number, answer)),
    SHAPE(number, row, SHOWN),
    SHAPE(number, statistics, SHOWN),
};

enum usher_status usher_number_add(struct usher_engine *e, const char *pool, const char *number,
                                   const struct usher_number_options *opt,
                                   struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_ADD, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_del(struct usher_engine *e, const char *pool, const char *number,
                                   const struct usher_number_options *opt,
                                   struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_DEL, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_reg(struct usher_engine *e, const char *pool, const char *number,
                                   const struct usher_number_options *opt,
                                   struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_REG, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_unreg(struct usher_engine *e, const char *pool, const char *number,
                                     const struct usher_number_options *opt,
                                     struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_UNREG, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_call(struct usher_engine *e, const char *pool, const char *owner,
                                    const struct usher_number_options *opt,
                                    struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_OWNER, USHER_TO_NUL, 0, owner } };

    return usher__call(e, &number_calls, USHER_NUMBER_CALL, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_hangup(struct usher_engine *e, const char *pool, const char *number,
                                      uint64_t token, const struct usher_number_options *opt,
                                      struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &number_calls, USHER_NUMBER_HANGUP, pool, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_number_renew(struct usher_engine *e, const char *pool, const char *number,
                                     uint64_t token, const struct usher_number_options *opt,
                                     struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &number_calls, USHER_NUMBER_RENEW, pool, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_number_free(struct usher_engine *e, const char *pool,
                                    const struct usher_number_options *opt,
                                    struct usher_number_answer *ret)
{
    return usher__call(e, &number_calls, USHER_NUMBER_FREE, pool, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_number_lift(struct usher_engine *e, const char *pool, const char *number,
                                    const struct usher_number_options *opt,
                                    struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_LIFT, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_move(struct usher_engine *e, const char *pool, const char *number,
                                    const struct usher_number_options *opt,
                                    struct usher_number_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_MOVE, pool, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_number_show(struct usher_engine *e, const char *pool, const char *number,
                                    const struct usher_number_options *opt,
                                    struct usher_reply **ret)
{
    const struct usher_value given[] = { { USHER_FIELD_NUMBER, USHER_TO_NUL, 0, number } };

    return usher__call(e, &number_calls, USHER_NUMBER_SHOW, pool, given, 1, NULL, opt, NULL, ret);
}

enum usher_status usher_number_list(struct usher_engine *e, const char *pool,
                                    const struct usher_number_options *opt,
                                    struct usher_reply **ret)
{
    return usher__call(e, &number_calls, USHER_NUMBER_LIST, pool, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_number_stats(struct usher_engine *e, const char *pool,
                                     const struct usher_number_options *opt,
                                     struct usher_reply **ret)
{
    return usher__call(e, &number_calls, USHER_NUMBER_STATS, pool, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_number_set(struct usher_engine *e, const char *pool,
                                   const struct usher_number_settings *settings,
                                   const struct usher_number_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &number_calls, USHER_NUMBER_SET, pool, NULL, 0, settings, opt, NULL, ret);
}

enum usher_status usher_number_sweep(struct usher_engine *e, const char *pool,
                                     const struct usher_number_options *opt,
                                     struct usher_number_answer *ret)
{
    return usher__call(e, &number_calls, USHER_NUMBER_SWEEP, pool, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_number_changes(struct usher_engine *e, const char *pool,
                                       const struct usher_number_options *opt,
                                       struct usher_reply **ret)
{
    return usher__call(e, &number_calls, USHER_NUMBER_CHANGES, pool, NULL, 0, NULL, opt, NULL, ret);
}

bool usher_number_answer_of(const struct usher_reply *reply, struct usher_number_answer *ret)
{
    return usher__call_answer(&number_calls, &number_calls.answer, reply, ret);
}

bool usher_number_settings_of(const struct usher_reply *reply, struct usher_number_settings *ret)
{
    return usher__call_values(&number_calls, &number_calls.settings, reply, USHER_ANSWER, ret);
}

bool usher_number_statistics_of(const struct usher_reply *reply, struct usher_number_statistics *ret)
{
    return usher__call_values(&number_calls, &number_calls.statistics, reply, USHER_ANSWER, ret);
}

bool usher_number_row_of(const struct usher_reply *reply, size_t i, struct usher_number_row *ret)
{
    return i != USHER_ANSWER && usher__call_values(&number_calls, &number_calls.row, reply, i, ret);
}
