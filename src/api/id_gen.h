/* SPDX-License-Identifier: MIT */
/* Made by gen_calls.py from id.txt: do not edit. */
/* clang-format off */

static const struct usher__member id_options[] = {
    MEMBER(struct usher_id_options, next, NEXT, NEXT, NUMBER),
    MEMBER(struct usher_id_options, epoch, EPOCH, EPOCH, TOKEN),
    MEMBER(struct usher_id_options, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_id_options, if_version, IF_VERSION, IF_VERSION, NUMBER),
    MEMBER(struct usher_id_options, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_id_options, max, MAX, MAX, NUMBER),
};
GIVE(id, options)

static const struct usher__member id_settings[] = {
    MEMBER(struct usher_id_settings, start, START, START, NUMBER),
    MEMBER(struct usher_id_settings, step, STEP, STEP_FIRST, NUMBER),
    MEMBER(struct usher_id_settings, by, BY, BY, NUMBER),
    MEMBER(struct usher_id_settings, limit, LIMIT, LIMIT, NUMBER),
    MEMBER(struct usher_id_settings, step_max, STEP_MAX, STEP_MAX, NUMBER),
    MEMBER(struct usher_id_settings, life_ms, LIFE, LIFE, NUMBER),
    MEMBER(struct usher_id_settings, managed, MANAGED, MANAGED, NUMBER),
    MEMBER(struct usher_id_settings, requests, REQUESTS, REQUESTS, NUMBER),
    MEMBER(struct usher_id_settings, log, LOG, LOG, NUMBER),
};
GIVE(id, settings)

static const struct usher__member id_answer[] = {
    MEMBER(struct usher_id_answer, first, FIRST, FIRST, NUMBER),
    MEMBER(struct usher_id_answer, n, N, N, NUMBER),
    MEMBER(struct usher_id_answer, next, NEXT, NEXT, NUMBER),
    MEMBER(struct usher_id_answer, highest, HIGHEST, HIGHEST, NUMBER),
    MEMBER(struct usher_id_answer, step, STEP, STEP, NUMBER),
    MEMBER(struct usher_id_answer, by, BY, BY, NUMBER),
    MEMBER(struct usher_id_answer, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_id_answer, why, WHY, WHY, CODE),
    MEMBER(struct usher_id_answer, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
};

static const struct usher__member id_row[] = {
    MEMBER(struct usher_id_row, next, NEXT, NEXT, NUMBER),
    MEMBER(struct usher_id_row, highest, HIGHEST, HIGHEST, NUMBER),
    MEMBER(struct usher_id_row, step, STEP, STEP, NUMBER),
    MEMBER(struct usher_id_row, start, START, START, NUMBER),
    MEMBER(struct usher_id_row, by, BY, BY, NUMBER),
    MEMBER(struct usher_id_row, limit, LIMIT, LIMIT, NUMBER),
    MEMBER(struct usher_id_row, issued, ISSUED, ISSUED, NUMBER),
    MEMBER(struct usher_id_row, segments, SEGMENTS, SEGMENTS, NUMBER),
    MEMBER(struct usher_id_row, began_ms, BEGAN, BEGAN, NUMBER),
    MEMBER(struct usher_id_row, lasted_ms, LASTED, LASTED, NUMBER),
    MEMBER(struct usher_id_row, managed, MANAGED, MANAGED, NUMBER),
    MEMBER(struct usher_id_row, value, VALUE, VALUE, BYTES),
    MEMBER(struct usher_id_row, version, VERSION, VERSION, NUMBER),
    MEMBER(struct usher_id_row, verb, VERB, VERB, CODE),
    MEMBER(struct usher_id_row, subject, SUBJECT, SUBJECT, STRING),
    MEMBER(struct usher_id_row, before, BEFORE, BEFORE, NUMBER),
    MEMBER(struct usher_id_row, from_state, FROM_STATE, FROM_STATE, NUMBER),
    MEMBER(struct usher_id_row, to_state, TO_STATE, TO_STATE, NUMBER),
    MEMBER(struct usher_id_row, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_id_row, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_id_row, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_id_row, data, DATA, DATA, BYTES),
    MEMBER(struct usher_id_row, time_ms, TIME, TIME, NUMBER),
    MEMBER(struct usher_id_row, first, FIRST, FIRST, NUMBER),
    MEMBER(struct usher_id_row, n, N, N, NUMBER),
};

static const uint8_t id_answer_at[] = {
    [USHER_FIELD_FIRST] = 1,
    [USHER_FIELD_N] = 2,
    [USHER_FIELD_NEXT] = 3,
    [USHER_FIELD_HIGHEST] = 4,
    [USHER_FIELD_STEP] = 5,
    [USHER_FIELD_BY] = 6,
    [USHER_FIELD_TOKEN] = 7,
    [USHER_FIELD_WHY] = 8,
    [USHER_FIELD_SINCE_VERSION] = 9,
};

static void id_answer_tell(const struct usher_operation *op, const struct usher_result *r,
                              struct usher__answer *a)
{
    const uint32_t verb = op != NULL ? USHER__VERB_BIT((unsigned)op->verb) : 0;
    const size_t size = a->size;

    TELL_NONE(id);
    if (op == NULL)
        return;
#define V(name) USHER__VERB_BIT(USHER_ID_##name)
#define OUT(type, member, field, verbs) TELL_FIELD(id, USHER_ID, type, member, field, verbs)
#include "core/id_verbs.def"
#undef V
}

static const struct usher__calls id_calls = {
    USHER_ID,
    SHAPE(id, options, GIVEN(id, options)),
    SHAPE(id, settings, GIVEN(id, settings)),
    SHAPE(id, answer, TOLD(id, answer)),
    SHAPE(id, row, SHOWN),
    { .n = 0 },
};

enum usher_status usher_id_create(struct usher_engine *e, const char *dispenser,
                                  const struct usher_id_settings *settings,
                                  const struct usher_id_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &id_calls, USHER_ID_CREATE, dispenser, NULL, 0, settings, opt, NULL, ret);
}

enum usher_status usher_id_next(struct usher_engine *e, const char *dispenser, int64_t n,
                                const struct usher_id_options *opt, struct usher_id_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_N, 0, n, NULL } };

    return usher__call(e, &id_calls, USHER_ID_NEXT, dispenser, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_id_stats(struct usher_engine *e, const char *dispenser,
                                 const struct usher_id_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &id_calls, USHER_ID_SHOW, dispenser, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_id_set(struct usher_engine *e, const char *dispenser,
                               const struct usher_id_settings *settings,
                               const struct usher_id_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &id_calls, USHER_ID_SET, dispenser, NULL, 0, settings, opt, NULL, ret);
}

enum usher_status usher_id_return(struct usher_engine *e, const char *dispenser, int64_t first,
                                  int64_t n, const struct usher_id_options *opt,
                                  struct usher_id_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_FIRST, 0, first, NULL }, { USHER_FIELD_N, 0, n, NULL } };

    return usher__call(e, &id_calls, USHER_ID_RETURN, dispenser, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_id_changes(struct usher_engine *e, const char *dispenser,
                                   const struct usher_id_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &id_calls, USHER_ID_CHANGES, dispenser, NULL, 0, NULL, opt, NULL, ret);
}

bool usher_id_answer_of(const struct usher_reply *reply, struct usher_id_answer *ret)
{
    return usher__call_answer(&id_calls, &id_calls.answer, reply, ret);
}

bool usher_id_settings_of(const struct usher_reply *reply, struct usher_id_settings *ret)
{
    return usher__call_values(&id_calls, &id_calls.settings, reply, USHER_ANSWER, ret);
}

bool usher_id_row_of(const struct usher_reply *reply, size_t i, struct usher_id_row *ret)
{
    return i != USHER_ANSWER && usher__call_values(&id_calls, &id_calls.row, reply, i, ret);
}
