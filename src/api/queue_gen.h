/* SPDX-License-Identifier: MIT */
/* Made by gen_calls.py from queue.txt: do not edit. */
/* clang-format off */

static const struct usher__member queue_options[] = {
    MEMBER(struct usher_queue_options, agent, AGENT, AGENT, STRING),
    MEMBER(struct usher_queue_options, user, USER, USER, STRING),
    MEMBER(struct usher_queue_options, lane, LANE, LANE, STRING),
    MEMBER(struct usher_queue_options, lanes, LANES, LANES, STRING),
    MEMBER(struct usher_queue_options, capacity, CAPACITY, CAPACITY, NUMBER),
    MEMBER(struct usher_queue_options, level, LEVEL, LEVEL, NUMBER),
    MEMBER(struct usher_queue_options, priority, PRIORITY, PRIORITY, NUMBER),
    MEMBER(struct usher_queue_options, since_ms, SINCE, SINCE, NUMBER),
    MEMBER(struct usher_queue_options, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_queue_options, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_queue_options, state, STATE, STATE, CODE),
    MEMBER(struct usher_queue_options, after, AFTER, AFTER, STRING),
    MEMBER(struct usher_queue_options, max, MAX, MAX, NUMBER),
    MEMBER(struct usher_queue_options, if_version, IF_VERSION, IF_VERSION, NUMBER),
    MEMBER(struct usher_queue_options, epoch, EPOCH, EPOCH, TOKEN),
    MEMBER(struct usher_queue_options, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_queue_options, session, SESSION, SESSION, STRING),
    MEMBER(struct usher_queue_options, reason, REASON, REASON, STRING),
    MEMBER(struct usher_queue_options, actor, ACTOR, ACTOR, STRING),
};
GIVE(queue, options)

static const struct usher__member queue_settings[] = {
    MEMBER(struct usher_queue_settings, ttl_ms, TTL, TTL, NUMBER),
    MEMBER(struct usher_queue_settings, trigger, TRIGGER, TRIGGER, CODE),
    MEMBER(struct usher_queue_settings, strategy, STRATEGY, STRATEGY, CODE),
    MEMBER(struct usher_queue_settings, offer_ms, OFFER, OFFER, NUMBER),
    MEMBER(struct usher_queue_settings, wrapup_ms, WRAPUP, WRAPUP, NUMBER),
    MEMBER(struct usher_queue_settings, limit, LIMIT, LIMIT, NUMBER),
    MEMBER(struct usher_queue_settings, maxwait_ms, MAXWAIT, MAXWAIT, NUMBER),
    MEMBER(struct usher_queue_settings, grace_ms, GRACE, GRACE, NUMBER),
    MEMBER(struct usher_queue_settings, requeue, REQUEUE, REQUEUE, CODE),
    MEMBER(struct usher_queue_settings, history, HISTORY, HISTORY, NUMBER),
    MEMBER(struct usher_queue_settings, zone_min, ZONE, ZONE, NUMBER),
    MEMBER(struct usher_queue_settings, service_ms, SERVICE, SERVICE, NUMBER),
    MEMBER(struct usher_queue_settings, requests, REQUESTS, REQUESTS, NUMBER),
    MEMBER(struct usher_queue_settings, archive, ARCHIVE, ARCHIVE, NUMBER),
    MEMBER(struct usher_queue_settings, log, LOG, LOG, NUMBER),
    MEMBER(struct usher_queue_settings, ask_again_ms, ASK_AGAIN, ASK_AGAIN, NUMBER),
    MEMBER(struct usher_queue_settings, strict, STRICT, STRICT, NUMBER),
    MEMBER(struct usher_queue_settings, scope_mode, SCOPE_MODE, SCOPE_MODE, CODE),
    MEMBER(struct usher_queue_settings, push, PUSH, PUSH, NUMBER),
};
GIVE(queue, settings)

static const struct usher__member queue_answer[] = {
    MEMBER(struct usher_queue_answer, agent_state, AGENT_STATE, AGENT_STATE, CODE),
    MEMBER(struct usher_queue_answer, place, PLACE, PLACE, CODE),
    MEMBER(struct usher_queue_answer, why, WHY, WHY, CODE),
    MEMBER(struct usher_queue_answer, index, INDEX, INDEX, NUMBER),
    MEMBER(struct usher_queue_answer, wait_ms, WAIT_MS, WAIT_MS, NUMBER),
    MEMBER(struct usher_queue_answer, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_queue_answer, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_queue_answer, login, LOGIN, LOGIN, NUMBER),
    MEMBER(struct usher_queue_answer, rooms, ROOMS, ROOMS, NUMBER),
    MEMBER(struct usher_queue_answer, count, COUNT, COUNT, NUMBER),
    MEMBER(struct usher_queue_answer, room, ROOM, ROOM, CHARS),
    MEMBER(struct usher_queue_answer, user, USER, USER, CHARS),
    MEMBER(struct usher_queue_answer, agent, AGENT, AGENT, CHARS),
    MEMBER(struct usher_queue_answer, after, AFTER, AFTER, CHARS),
    MEMBER(struct usher_queue_answer, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_queue_answer, visit_token, VISIT_TOKEN, VISIT_TOKEN, TOKEN),
    MEMBER(struct usher_queue_answer, reason, REASON, REASON, CHARS),
    MEMBER(struct usher_queue_answer, visit, VISIT, VISIT, CHARS),
    MEMBER(struct usher_queue_answer, lane, LANE, LANE, CHARS),
    MEMBER(struct usher_queue_answer, since_ms, SINCE, SINCE, NUMBER),
    MEMBER(struct usher_queue_answer, waiting, WAITING, WAITING, NUMBER),
    MEMBER(struct usher_queue_answer, outcome, OUTCOME, OUTCOME, CODE),
    MEMBER(struct usher_queue_answer, finished_ms, FINISHED, FINISHED, NUMBER),
};

static const struct usher__member queue_row[] = {
    MEMBER(struct usher_queue_row, user, USER, USER, STRING),
    MEMBER(struct usher_queue_row, agent, AGENT, AGENT, STRING),
    MEMBER(struct usher_queue_row, lane, LANE, LANE, STRING),
    MEMBER(struct usher_queue_row, lanes, LANES, LANES, STRING),
    MEMBER(struct usher_queue_row, room, ROOM, ROOM, STRING),
    MEMBER(struct usher_queue_row, user_state, USER_STATE, USER_STATE, CODE),
    MEMBER(struct usher_queue_row, agent_state, AGENT_STATE, AGENT_STATE, CODE),
    MEMBER(struct usher_queue_row, outcome, OUTCOME, OUTCOME, CODE),
    MEMBER(struct usher_queue_row, priority, PRIORITY, PRIORITY, NUMBER),
    MEMBER(struct usher_queue_row, since_ms, SINCE, SINCE, NUMBER),
    MEMBER(struct usher_queue_row, applied_ms, APPLIED, APPLIED, NUMBER),
    MEMBER(struct usher_queue_row, matched_ms, MATCHED, MATCHED, NUMBER),
    MEMBER(struct usher_queue_row, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_queue_row, finished_ms, FINISHED, FINISHED, NUMBER),
    MEMBER(struct usher_queue_row, waited_ms, WAITED, WAITED, NUMBER),
    MEMBER(struct usher_queue_row, talked_ms, TALKED, TALKED, NUMBER),
    MEMBER(struct usher_queue_row, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_queue_row, version, VERSION, VERSION, NUMBER),
    MEMBER(struct usher_queue_row, login, LOGIN, LOGIN, NUMBER),
    MEMBER(struct usher_queue_row, capacity, CAPACITY, CAPACITY, NUMBER),
    MEMBER(struct usher_queue_row, used_rooms, USED_ROOMS, USED_ROOMS, NUMBER),
    MEMBER(struct usher_queue_row, served, SERVED, SERVED, NUMBER),
    MEMBER(struct usher_queue_row, level, LEVEL, LEVEL, NUMBER),
    MEMBER(struct usher_queue_row, logged_in_ms, LOGGED_IN, LOGGED_IN, NUMBER),
    MEMBER(struct usher_queue_row, state_since_ms, STATE_SINCE, STATE_SINCE, NUMBER),
    MEMBER(struct usher_queue_row, value, VALUE, VALUE, BYTES),
    MEMBER(struct usher_queue_row, verb, VERB, VERB, CODE),
    MEMBER(struct usher_queue_row, subject, SUBJECT, SUBJECT, STRING),
    MEMBER(struct usher_queue_row, before, BEFORE, BEFORE, NUMBER),
    MEMBER(struct usher_queue_row, from_state, FROM_STATE, FROM_STATE, NUMBER),
    MEMBER(struct usher_queue_row, to_state, TO_STATE, TO_STATE, NUMBER),
    MEMBER(struct usher_queue_row, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_queue_row, data, DATA, DATA, BYTES),
    MEMBER(struct usher_queue_row, time_ms, TIME, TIME, NUMBER),
    MEMBER(struct usher_queue_row, visit_token, VISIT_TOKEN, VISIT_TOKEN, TOKEN),
    MEMBER(struct usher_queue_row, actor, ACTOR, ACTOR, STRING),
    MEMBER(struct usher_queue_row, reason, REASON, REASON, STRING),
    MEMBER(struct usher_queue_row, waiting, WAITING, WAITING, NUMBER),
    MEMBER(struct usher_queue_row, longest_wait_ms, LONGEST_WAIT, LONGEST_WAIT, NUMBER),
    MEMBER(struct usher_queue_row, offered, OFFERED, OFFERED, NUMBER),
    MEMBER(struct usher_queue_row, seated, SEATED, SEATED, NUMBER),
    MEMBER(struct usher_queue_row, users_away, USERS_AWAY, USERS_AWAY, NUMBER),
    MEMBER(struct usher_queue_row, seated_today, SEATED_TODAY, SEATED_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, abandoned_today, ABANDONED_TODAY, ABANDONED_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, timeout_today, TIMEOUT_TODAY, TIMEOUT_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, finished_today, FINISHED_TODAY, FINISHED_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, service_level, SERVICE_LEVEL, SERVICE_LEVEL, NUMBER),
    MEMBER(struct usher_queue_row, mean_wait_ms, MEAN_WAIT, MEAN_WAIT, NUMBER),
    MEMBER(struct usher_queue_row, mean_talk_ms, MEAN_TALK, MEAN_TALK, NUMBER),
    MEMBER(struct usher_queue_row, arrived_today, ARRIVED_TODAY, ARRIVED_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, within_today, WITHIN_TODAY, WITHIN_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, abandoned_within_today, ABANDONED_WITHIN_TODAY, ABANDONED_WITHIN_TODAY, NUMBER),
    MEMBER(struct usher_queue_row, quarter_ms, QUARTER, QUARTER, NUMBER),
    MEMBER(struct usher_queue_row, arrived, ARRIVED, ARRIVED, NUMBER),
    MEMBER(struct usher_queue_row, seated_in, SEATED_IN, SEATED_IN, NUMBER),
    MEMBER(struct usher_queue_row, within, WITHIN, WITHIN, NUMBER),
    MEMBER(struct usher_queue_row, abandoned, ABANDONED, ABANDONED, NUMBER),
    MEMBER(struct usher_queue_row, timeout, TIMEOUT, TIMEOUT, NUMBER),
    MEMBER(struct usher_queue_row, wait_sum_ms, WAIT_SUM, WAIT_SUM, NUMBER),
    MEMBER(struct usher_queue_row, talk_sum_ms, TALK_SUM, TALK_SUM, NUMBER),
    MEMBER(struct usher_queue_row, up_to_ms, UP_TO, UP_TO, NUMBER),
    MEMBER(struct usher_queue_row, seated_total, SEATED_TOTAL, SEATED_TOTAL, NUMBER),
    MEMBER(struct usher_queue_row, agents_paused, AGENTS_PAUSED, AGENTS_PAUSED, NUMBER),
    MEMBER(struct usher_queue_row, visit, VISIT, VISIT, STRING),
};

static const struct usher__member queue_statistics[] = {
    MEMBER(struct usher_queue_statistics, waiting, WAITING, WAITING, NUMBER),
    MEMBER(struct usher_queue_statistics, users_away, USERS_AWAY, USERS_AWAY, NUMBER),
    MEMBER(struct usher_queue_statistics, offered, OFFERED, OFFERED, NUMBER),
    MEMBER(struct usher_queue_statistics, seated, SEATED, SEATED, NUMBER),
    MEMBER(struct usher_queue_statistics, agents, AGENTS, AGENTS, NUMBER),
    MEMBER(struct usher_queue_statistics, agents_idle, AGENTS_IDLE, AGENTS_IDLE, NUMBER),
    MEMBER(struct usher_queue_statistics, agents_offered, AGENTS_OFFERED, AGENTS_OFFERED, NUMBER),
    MEMBER(struct usher_queue_statistics, agents_busy, AGENTS_BUSY, AGENTS_BUSY, NUMBER),
    MEMBER(struct usher_queue_statistics, agents_wrapup, AGENTS_WRAPUP, AGENTS_WRAPUP, NUMBER),
    MEMBER(struct usher_queue_statistics, agents_paused, AGENTS_PAUSED, AGENTS_PAUSED, NUMBER),
    MEMBER(struct usher_queue_statistics, longest_wait_ms, LONGEST_WAIT, LONGEST_WAIT, NUMBER),
    MEMBER(struct usher_queue_statistics, longest_since_ms, LONGEST_SINCE, LONGEST_SINCE, NUMBER),
    MEMBER(struct usher_queue_statistics, seated_today, SEATED_TODAY, SEATED_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, abandoned_today, ABANDONED_TODAY, ABANDONED_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, timeout_today, TIMEOUT_TODAY, TIMEOUT_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, finished_today, FINISHED_TODAY, FINISHED_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, service_level, SERVICE_LEVEL, SERVICE_LEVEL, NUMBER),
    MEMBER(struct usher_queue_statistics, mean_wait_ms, MEAN_WAIT, MEAN_WAIT, NUMBER),
    MEMBER(struct usher_queue_statistics, mean_talk_ms, MEAN_TALK, MEAN_TALK, NUMBER),
    MEMBER(struct usher_queue_statistics, dropped_today, DROPPED_TODAY, DROPPED_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, visits, VISITS, VISITS, NUMBER),
    MEMBER(struct usher_queue_statistics, scope_mode, SCOPE_MODE, SCOPE_MODE, CODE),
    MEMBER(struct usher_queue_statistics, arrived_today, ARRIVED_TODAY, ARRIVED_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, within_today, WITHIN_TODAY, WITHIN_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, abandoned_within_today, ABANDONED_WITHIN_TODAY, ABANDONED_WITHIN_TODAY, NUMBER),
    MEMBER(struct usher_queue_statistics, service_seated, SERVICE_SEATED, SERVICE_SEATED, NUMBER),
    MEMBER(struct usher_queue_statistics, arrived_total, ARRIVED_TOTAL, ARRIVED_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, seated_total, SEATED_TOTAL, SEATED_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, within_total, WITHIN_TOTAL, WITHIN_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, abandoned_total, ABANDONED_TOTAL, ABANDONED_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, abandoned_within_total, ABANDONED_WITHIN_TOTAL, ABANDONED_WITHIN_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, timeout_total, TIMEOUT_TOTAL, TIMEOUT_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, finished_total, FINISHED_TOTAL, FINISHED_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, dropped_total, DROPPED_TOTAL, DROPPED_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, wait_total_ms, WAIT_TOTAL, WAIT_TOTAL, NUMBER),
    MEMBER(struct usher_queue_statistics, talk_total_ms, TALK_TOTAL, TALK_TOTAL, NUMBER),
};

static const uint8_t queue_answer_at[] = {
    [USHER_FIELD_AGENT_STATE] = 1,
    [USHER_FIELD_PLACE] = 2,
    [USHER_FIELD_WHY] = 3,
    [USHER_FIELD_INDEX] = 4,
    [USHER_FIELD_WAIT_MS] = 5,
    [USHER_FIELD_UNTIL] = 6,
    [USHER_FIELD_TOKEN] = 7,
    [USHER_FIELD_LOGIN] = 8,
    [USHER_FIELD_ROOMS] = 9,
    [USHER_FIELD_COUNT] = 10,
    [USHER_FIELD_ROOM] = 11,
    [USHER_FIELD_USER] = 12,
    [USHER_FIELD_AGENT] = 13,
    [USHER_FIELD_AFTER] = 14,
    [USHER_FIELD_SINCE_VERSION] = 15,
    [USHER_FIELD_VISIT_TOKEN] = 16,
    [USHER_FIELD_REASON] = 17,
    [USHER_FIELD_VISIT] = 18,
    [USHER_FIELD_LANE] = 19,
    [USHER_FIELD_SINCE] = 20,
    [USHER_FIELD_WAITING] = 21,
    [USHER_FIELD_OUTCOME] = 22,
    [USHER_FIELD_FINISHED] = 23,
};

static void queue_answer_tell(const struct usher_operation *op, const struct usher_result *r,
                              struct usher__answer *a)
{
    const uint32_t verb = op != NULL ? USHER__VERB_BIT((unsigned)op->verb) : 0;
    const size_t size = a->size;

    TELL_NONE(queue);
    if (op == NULL)
        return;
#define V(name) USHER__VERB_BIT(USHER_QUEUE_##name)
#define OUT(type, member, field, verbs) TELL_FIELD(queue, USHER_QUEUE, type, member, field, verbs)
#include "core/queue_verbs.def"
#undef V
}

static const struct usher__calls queue_calls = {
    USHER_QUEUE,
    SHAPE(queue, options, GIVEN(queue, options)),
    SHAPE(queue, settings, GIVEN(queue, settings)),
    SHAPE(queue, answer, TOLD(queue, answer)),
    SHAPE(queue, row, SHOWN),
    SHAPE(queue, statistics, SHOWN),
};

enum usher_status usher_queue_set(struct usher_engine *e, const char *queue,
                                  const struct usher_queue_settings *settings,
                                  const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_SET, queue, NULL, 0, settings, opt, NULL, ret);
}

enum usher_status usher_queue_login(struct usher_engine *e, const char *queue, const char *agent,
                                    const struct usher_queue_options *opt,
                                    struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_LOGIN, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_logout(struct usher_engine *e, const char *queue, const char *agent,
                                     const struct usher_queue_options *opt,
                                     struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_LOGOUT, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_pause(struct usher_engine *e, const char *queue, const char *agent,
                                    const struct usher_queue_options *opt,
                                    struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_PAUSE, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_ready(struct usher_engine *e, const char *queue, const char *agent,
                                    const struct usher_queue_options *opt,
                                    struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_READY, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_alive(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_ALIVE, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_room(struct usher_engine *e, const char *queue, const char *agent,
                                   const struct usher_queue_options *opt, struct usher_reply **ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_ROOM, queue, given, 1, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_apply(struct usher_engine *e, const char *queue, const char *user,
                                    const struct usher_queue_options *opt,
                                    struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_USER, USHER_TO_NUL, 0, user } };

    return usher__call(e, &queue_calls, USHER_QUEUE_APPLY, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_where(struct usher_engine *e, const char *queue, const char *user,
                                    const struct usher_queue_options *opt,
                                    struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_USER, USHER_TO_NUL, 0, user } };

    return usher__call(e, &queue_calls, USHER_QUEUE_WHERE, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_leave(struct usher_engine *e, const char *queue, const char *user,
                                    const struct usher_queue_options *opt,
                                    struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_USER, USHER_TO_NUL, 0, user } };

    return usher__call(e, &queue_calls, USHER_QUEUE_LEAVE, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_finish(struct usher_engine *e, const char *queue, const char *room,
                                     uint64_t token, const struct usher_queue_options *opt,
                                     struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_ROOM, USHER_TO_NUL, 0, room }, { USHER_FIELD_TOKEN, 0, (int64_t)token, NULL } };

    return usher__call(e, &queue_calls, USHER_QUEUE_FINISH, queue, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_accept(struct usher_engine *e, const char *queue, const char *agent,
                                     const char *user, const struct usher_queue_options *opt,
                                     struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent }, { USHER_FIELD_USER, USHER_TO_NUL, 0, user } };

    return usher__call(e, &queue_calls, USHER_QUEUE_ACCEPT, queue, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_reject(struct usher_engine *e, const char *queue, const char *agent,
                                     const char *user, const struct usher_queue_options *opt,
                                     struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent }, { USHER_FIELD_USER, USHER_TO_NUL, 0, user } };

    return usher__call(e, &queue_calls, USHER_QUEUE_REJECT, queue, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_pull(struct usher_engine *e, const char *queue, const char *agent,
                                   const struct usher_queue_options *opt,
                                   struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_PULL, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_match(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_MATCH, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_sweep(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_SWEEP, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_list(struct usher_engine *e, const char *queue,
                                   const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_LIST, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_agents(struct usher_engine *e, const char *queue,
                                     const struct usher_queue_options *opt,
                                     struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_AGENTS, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_history(struct usher_engine *e, const char *queue,
                                      const struct usher_queue_options *opt,
                                      struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_HISTORY, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_drain(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_DRAIN, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_stats(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_STATS, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_lanes(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_LANES, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_intervals(struct usher_engine *e, const char *queue,
                                        const struct usher_queue_options *opt,
                                        struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_INTERVALS, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_waits(struct usher_engine *e, const char *queue,
                                    const struct usher_queue_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_WAITS, queue, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_queue_move(struct usher_engine *e, const char *queue, const char *user,
                                   const struct usher_queue_options *opt,
                                   struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_USER, USHER_TO_NUL, 0, user } };

    return usher__call(e, &queue_calls, USHER_QUEUE_MOVE, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_free(struct usher_engine *e, const char *queue, const char *agent,
                                   const struct usher_queue_options *opt,
                                   struct usher_queue_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_AGENT, USHER_TO_NUL, 0, agent } };

    return usher__call(e, &queue_calls, USHER_QUEUE_FREE, queue, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_queue_changes(struct usher_engine *e, const char *queue,
                                      const struct usher_queue_options *opt,
                                      struct usher_reply **ret)
{
    return usher__call(e, &queue_calls, USHER_QUEUE_CHANGES, queue, NULL, 0, NULL, opt, NULL, ret);
}

bool usher_queue_answer_of(const struct usher_reply *reply, struct usher_queue_answer *ret)
{
    return usher__call_answer(&queue_calls, &queue_calls.answer, reply, ret);
}

bool usher_queue_settings_of(const struct usher_reply *reply, struct usher_queue_settings *ret)
{
    return usher__call_values(&queue_calls, &queue_calls.settings, reply, USHER_ANSWER, ret);
}

bool usher_queue_statistics_of(const struct usher_reply *reply, struct usher_queue_statistics *ret)
{
    return usher__call_values(&queue_calls, &queue_calls.statistics, reply, USHER_ANSWER, ret);
}

bool usher_queue_row_of(const struct usher_reply *reply, size_t i, struct usher_queue_row *ret)
{
    return i != USHER_ANSWER && usher__call_values(&queue_calls, &queue_calls.row, reply, i, ret);
}
