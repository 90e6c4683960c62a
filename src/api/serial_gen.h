/* SPDX-License-Identifier: MIT */
/* Made by gen_calls.py from serial.txt: do not edit. */
/* clang-format off */

static const struct usher__member serial_options[] = {
    MEMBER(struct usher_serial_options, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_serial_options, lease_ms, LEASE, LEASE, NUMBER),
    MEMBER(struct usher_serial_options, n, N, N, NUMBER),
    MEMBER(struct usher_serial_options, debt, DEBT, DEBT, NUMBER),
    MEMBER(struct usher_serial_options, if_version, IF_VERSION, IF_VERSION, NUMBER),
    MEMBER(struct usher_serial_options, epoch, EPOCH, EPOCH, TOKEN),
    MEMBER(struct usher_serial_options, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_serial_options, max, MAX, MAX, NUMBER),
    MEMBER(struct usher_serial_options, doubt, DOUBT, DOUBT, NUMBER),
    MEMBER(struct usher_serial_options, before, BEFORE, BEFORE, NUMBER),
    MEMBER(struct usher_serial_options, after, AFTER, AFTER, STRING),
    MEMBER(struct usher_serial_options, actor, ACTOR, ACTOR, STRING),
};
GIVE(serial, options)

static const struct usher__member serial_settings[] = {
    MEMBER(struct usher_serial_settings, prefix, PREFIX, PREFIX, STRING),
    MEMBER(struct usher_serial_settings, suffix, SUFFIX, SUFFIX, STRING),
    MEMBER(struct usher_serial_settings, date, DATE, DATE, STRING),
    MEMBER(struct usher_serial_settings, width, WIDTH, WIDTH, NUMBER),
    MEMBER(struct usher_serial_settings, base, BASE, BASE, NUMBER),
    MEMBER(struct usher_serial_settings, start, START, START, NUMBER),
    MEMBER(struct usher_serial_settings, step, STEP, STEP, NUMBER),
    MEMBER(struct usher_serial_settings, radix, RADIX, RADIX, NUMBER),
    MEMBER(struct usher_serial_settings, check, CHECK, CHECK, CODE),
    MEMBER(struct usher_serial_settings, highest, HIGHEST, HIGHEST, NUMBER),
    MEMBER(struct usher_serial_settings, critical, CRITICAL, CRITICAL, NUMBER),
    MEMBER(struct usher_serial_settings, batch, BATCH, BATCH, NUMBER),
    MEMBER(struct usher_serial_settings, reset, RESET, RESET, CODE),
    MEMBER(struct usher_serial_settings, zone_min, ZONE, ZONE, NUMBER),
    MEMBER(struct usher_serial_settings, stamp, STAMP, STAMP, CODE),
    MEMBER(struct usher_serial_settings, mode, MODE, MODE, CODE),
    MEMBER(struct usher_serial_settings, overflow, OVERFLOW, OVERFLOW, CODE),
    MEMBER(struct usher_serial_settings, lease_ms, LEASE, LEASE, NUMBER),
    MEMBER(struct usher_serial_settings, requests, REQUESTS, REQUESTS, NUMBER),
    MEMBER(struct usher_serial_settings, authority, AUTHORITY, AUTHORITY, NUMBER),
    MEMBER(struct usher_serial_settings, log, LOG, LOG, NUMBER),
    MEMBER(struct usher_serial_settings, push, PUSH, PUSH, NUMBER),
};
GIVE(serial, settings)

static const struct usher__member serial_answer[] = {
    MEMBER(struct usher_serial_answer, why, WHY, WHY, CODE),
    MEMBER(struct usher_serial_answer, count, COUNT, COUNT, NUMBER),
    MEMBER(struct usher_serial_answer, left, LEFT, LEFT, NUMBER),
    MEMBER(struct usher_serial_answer, made, MADE, MADE, NUMBER),
    MEMBER(struct usher_serial_answer, cur, CUR, CUR, NUMBER),
    MEMBER(struct usher_serial_answer, highest, HIGHEST, HIGHEST, NUMBER),
    MEMBER(struct usher_serial_answer, granted, GRANTED, GRANTED, NUMBER),
    MEMBER(struct usher_serial_answer, period, PERIOD, PERIOD, NUMBER),
    MEMBER(struct usher_serial_answer, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_serial_answer, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_serial_answer, state, STATE, STATE, CODE),
    MEMBER(struct usher_serial_answer, number_made, NUMBER_MADE, NUMBER_MADE, NUMBER),
    MEMBER(struct usher_serial_answer, n, N, N, NUMBER),
    MEMBER(struct usher_serial_answer, text_value, TEXT_VALUE, TEXT_VALUE, NUMBER),
    MEMBER(struct usher_serial_answer, at_ms, AT, AT, NUMBER),
    MEMBER(struct usher_serial_answer, owner, OWNER, OWNER, CHARS),
    MEMBER(struct usher_serial_answer, serial, SERIAL, SERIAL, CHARS),
    MEMBER(struct usher_serial_answer, prefix, PREFIX, PREFIX, CHARS),
    MEMBER(struct usher_serial_answer, date, DATE, DATE, CHARS),
    MEMBER(struct usher_serial_answer, suffix, SUFFIX, SUFFIX, CHARS),
    MEMBER(struct usher_serial_answer, check_digit, CHECK_DIGIT, CHECK_DIGIT, CHARS),
    MEMBER(struct usher_serial_answer, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_serial_answer, after, AFTER, AFTER, CHARS),
};

static const struct usher__member serial_row[] = {
    MEMBER(struct usher_serial_row, serial, SERIAL, SERIAL, STRING),
    MEMBER(struct usher_serial_row, number_made, NUMBER_MADE, NUMBER_MADE, NUMBER),
    MEMBER(struct usher_serial_row, n, N, N, NUMBER),
    MEMBER(struct usher_serial_row, at_ms, AT, AT, NUMBER),
    MEMBER(struct usher_serial_row, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_serial_row, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_serial_row, state, STATE, STATE, CODE),
    MEMBER(struct usher_serial_row, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_serial_row, value, VALUE, VALUE, BYTES),
    MEMBER(struct usher_serial_row, version, VERSION, VERSION, NUMBER),
    MEMBER(struct usher_serial_row, verb, VERB, VERB, CODE),
    MEMBER(struct usher_serial_row, subject, SUBJECT, SUBJECT, STRING),
    MEMBER(struct usher_serial_row, before, BEFORE, BEFORE, NUMBER),
    MEMBER(struct usher_serial_row, from_state, FROM_STATE, FROM_STATE, NUMBER),
    MEMBER(struct usher_serial_row, to_state, TO_STATE, TO_STATE, NUMBER),
    MEMBER(struct usher_serial_row, data, DATA, DATA, BYTES),
    MEMBER(struct usher_serial_row, time_ms, TIME, TIME, NUMBER),
    MEMBER(struct usher_serial_row, first, FIRST, FIRST, NUMBER),
    MEMBER(struct usher_serial_row, actor, ACTOR, ACTOR, STRING),
};

static const struct usher__member serial_statistics[] = {
    MEMBER(struct usher_serial_statistics, left, LEFT, LEFT, NUMBER),
    MEMBER(struct usher_serial_statistics, cur, CUR, CUR, NUMBER),
    MEMBER(struct usher_serial_statistics, highest, HIGHEST, HIGHEST, NUMBER),
    MEMBER(struct usher_serial_statistics, granted, GRANTED, GRANTED, NUMBER),
    MEMBER(struct usher_serial_statistics, period, PERIOD, PERIOD, NUMBER),
    MEMBER(struct usher_serial_statistics, available, AVAILABLE, AVAILABLE, NUMBER),
    MEMBER(struct usher_serial_statistics, recent, RECENT, RECENT, NUMBER),
    MEMBER(struct usher_serial_statistics, longterm, LONGTERM, LONGTERM, NUMBER),
    MEMBER(struct usher_serial_statistics, critical, CRITICAL, CRITICAL, NUMBER),
    MEMBER(struct usher_serial_statistics, batch, BATCH, BATCH, NUMBER),
    MEMBER(struct usher_serial_statistics, target, TARGET, TARGET, NUMBER),
    MEMBER(struct usher_serial_statistics, held, HELD, HELD, NUMBER),
    MEMBER(struct usher_serial_statistics, returned, RETURNED, RETURNED, NUMBER),
    MEMBER(struct usher_serial_statistics, taken, TAKEN, TAKEN, NUMBER),
    MEMBER(struct usher_serial_statistics, debt, DEBT, DEBT, NUMBER),
    MEMBER(struct usher_serial_statistics, doubt, DOUBT, DOUBT, NUMBER),
};

static const uint8_t serial_answer_at[] = {
    [USHER_FIELD_WHY] = 1,
    [USHER_FIELD_COUNT] = 2,
    [USHER_FIELD_LEFT] = 3,
    [USHER_FIELD_MADE] = 4,
    [USHER_FIELD_CUR] = 5,
    [USHER_FIELD_HIGHEST] = 6,
    [USHER_FIELD_GRANTED] = 7,
    [USHER_FIELD_PERIOD] = 8,
    [USHER_FIELD_TOKEN] = 9,
    [USHER_FIELD_UNTIL] = 10,
    [USHER_FIELD_STATE] = 11,
    [USHER_FIELD_NUMBER_MADE] = 12,
    [USHER_FIELD_N] = 13,
    [USHER_FIELD_TEXT_VALUE] = 14,
    [USHER_FIELD_AT] = 15,
    [USHER_FIELD_OWNER] = 16,
    [USHER_FIELD_SERIAL] = 17,
    [USHER_FIELD_PREFIX] = 18,
    [USHER_FIELD_DATE] = 19,
    [USHER_FIELD_SUFFIX] = 20,
    [USHER_FIELD_CHECK_DIGIT] = 21,
    [USHER_FIELD_SINCE_VERSION] = 22,
    [USHER_FIELD_AFTER] = 23,
};

static void serial_answer_tell(const struct usher_operation *op, const struct usher_result *r,
                              struct usher__answer *a)
{
    const uint32_t verb = op != NULL ? USHER__VERB_BIT((unsigned)op->verb) : 0;
    const size_t size = a->size;

    TELL_NONE(serial);
    if (op == NULL)
        return;
#define V(name) USHER__VERB_BIT(USHER_SERIAL_##name)
#define OUT(type, member, field, verbs) TELL_FIELD(serial, USHER_SERIAL, type, member, field, verbs)
#include "core/serial_verbs.def"
#undef V
}

static const struct usher__calls serial_calls = {
    USHER_SERIAL,
    SHAPE(serial, options, GIVEN(serial, options)),
    SHAPE(serial, settings, GIVEN(serial, settings)),
    SHAPE(serial, answer, TOLD(serial, answer)),
    SHAPE(serial, row, SHOWN),
    SHAPE(serial, statistics, SHOWN),
};

enum usher_status usher_serial_set(struct usher_engine *e, const char *rule,
                                   const struct usher_serial_settings *settings,
                                   const struct usher_serial_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &serial_calls, USHER_SERIAL_RULE, rule, NULL, 0, settings, opt, NULL, ret);
}

enum usher_status usher_serial_fill(struct usher_engine *e, const char *rule, int64_t n,
                                    const struct usher_serial_options *opt,
                                    struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_N, 0, n, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_FILL, rule, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                    const struct usher_serial_options *opt,
                                    struct usher_reply **ret)
{
    const struct usher_value given[] = { { USHER_FIELD_N, 0, n, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_TAKE, rule, given, 1, NULL, opt, NULL, ret);
}

enum usher_status usher_serial_stats(struct usher_engine *e, const char *rule,
                                     const struct usher_serial_options *opt,
                                     struct usher_reply **ret)
{
    return usher__call(e, &serial_calls, USHER_SERIAL_CHECK, rule, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_serial_tick(struct usher_engine *e, const char *rule,
                                    const struct usher_serial_options *opt,
                                    struct usher_serial_answer *ret)
{
    return usher__call(e, &serial_calls, USHER_SERIAL_TICK, rule, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_setmax(struct usher_engine *e, const char *rule, int64_t raise,
                                      const struct usher_serial_options *opt,
                                      struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_RAISE, 0, raise, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_SETMAX, rule, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_setmaxcur(struct usher_engine *e, const char *rule, int64_t highest,
                                         const struct usher_serial_options *opt,
                                         struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_HIGHEST, 0, highest, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_SETMAXCUR, rule, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_parse(struct usher_engine *e, const char *rule, const char *serial,
                                     const struct usher_serial_options *opt,
                                     struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SERIAL, USHER_TO_NUL, 0, serial } };

    return usher__call(e, &serial_calls, USHER_SERIAL_PARSE, rule, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_reserve(struct usher_engine *e, const char *rule, const char *owner,
                                       const struct usher_serial_options *opt,
                                       struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_OWNER, USHER_TO_NUL, 0, owner } };

    return usher__call(e, &serial_calls, USHER_SERIAL_RESERVE, rule, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_confirm(struct usher_engine *e, const char *rule, const char *serial,
                                       uint64_t token, const struct usher_serial_options *opt,
                                       struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SERIAL, USHER_TO_NUL, 0, serial }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_CONFIRM, rule, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_renew(struct usher_engine *e, const char *rule, const char *serial,
                                     uint64_t token, const struct usher_serial_options *opt,
                                     struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SERIAL, USHER_TO_NUL, 0, serial }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_RENEW, rule, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_return(struct usher_engine *e, const char *rule, const char *serial,
                                      uint64_t token, const struct usher_serial_options *opt,
                                      struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SERIAL, USHER_TO_NUL, 0, serial }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_RETURN, rule, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_void(struct usher_engine *e, const char *rule, const char *serial,
                                    uint64_t token, const struct usher_serial_options *opt,
                                    struct usher_serial_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SERIAL, USHER_TO_NUL, 0, serial }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &serial_calls, USHER_SERIAL_VOID, rule, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_show(struct usher_engine *e, const char *rule, const char *serial,
                                    const struct usher_serial_options *opt,
                                    struct usher_reply **ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SERIAL, USHER_TO_NUL, 0, serial } };

    return usher__call(e, &serial_calls, USHER_SERIAL_SHOW, rule, given, 1, NULL, opt, NULL, ret);
}

enum usher_status usher_serial_holds(struct usher_engine *e, const char *rule,
                                     const struct usher_serial_options *opt,
                                     struct usher_reply **ret)
{
    return usher__call(e, &serial_calls, USHER_SERIAL_HOLDS, rule, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_serial_sweep(struct usher_engine *e, const char *rule,
                                     const struct usher_serial_options *opt,
                                     struct usher_serial_answer *ret)
{
    return usher__call(e, &serial_calls, USHER_SERIAL_SWEEP, rule, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_serial_changes(struct usher_engine *e, const char *rule,
                                       const struct usher_serial_options *opt,
                                       struct usher_reply **ret)
{
    return usher__call(e, &serial_calls, USHER_SERIAL_CHANGES, rule, NULL, 0, NULL, opt, NULL, ret);
}

bool usher_serial_answer_of(const struct usher_reply *reply, struct usher_serial_answer *ret)
{
    return usher__call_answer(&serial_calls, &serial_calls.answer, reply, ret);
}

bool usher_serial_settings_of(const struct usher_reply *reply, struct usher_serial_settings *ret)
{
    return usher__call_values(&serial_calls, &serial_calls.settings, reply, USHER_ANSWER, ret);
}

bool usher_serial_statistics_of(const struct usher_reply *reply, struct usher_serial_statistics *ret)
{
    return usher__call_values(&serial_calls, &serial_calls.statistics, reply, USHER_ANSWER, ret);
}

bool usher_serial_row_of(const struct usher_reply *reply, size_t i, struct usher_serial_row *ret)
{
    return i != USHER_ANSWER && usher__call_values(&serial_calls, &serial_calls.row, reply, i, ret);
}
