/* SPDX-License-Identifier: MIT */
/* Made by src/api/gen_calls.py: do not edit. */
/* clang-format off */

static bool is_given(uint32_t verb, uint32_t field)
{
    switch (verb) {
    case USHER_NUMBER_ADD: return field == USHER_FIELD_NUMBER;
    case USHER_NUMBER_DEL: return field == USHER_FIELD_NUMBER;
    case USHER_NUMBER_REG: return field == USHER_FIELD_NUMBER;
    case USHER_NUMBER_UNREG: return field == USHER_FIELD_NUMBER;
    case USHER_NUMBER_CALL: return field == USHER_FIELD_OWNER;
    case USHER_NUMBER_HANGUP: return field == USHER_FIELD_NUMBER || field == USHER_FIELD_TOKEN;
    case USHER_NUMBER_RENEW: return field == USHER_FIELD_NUMBER || field == USHER_FIELD_TOKEN;
    case USHER_NUMBER_LIFT: return field == USHER_FIELD_NUMBER;
    case USHER_NUMBER_MOVE: return field == USHER_FIELD_NUMBER;
    case USHER_NUMBER_SHOW: return field == USHER_FIELD_NUMBER;
    case USHER_QUEUE_LOGIN: return field == USHER_FIELD_AGENT;
    case USHER_QUEUE_LOGOUT: return field == USHER_FIELD_AGENT;
    case USHER_QUEUE_PAUSE: return field == USHER_FIELD_AGENT;
    case USHER_QUEUE_READY: return field == USHER_FIELD_AGENT;
    case USHER_QUEUE_ROOM: return field == USHER_FIELD_AGENT;
    case USHER_QUEUE_APPLY: return field == USHER_FIELD_USER;
    case USHER_QUEUE_WHERE: return field == USHER_FIELD_USER;
    case USHER_QUEUE_LEAVE: return field == USHER_FIELD_USER;
    case USHER_QUEUE_FINISH: return field == USHER_FIELD_ROOM || field == USHER_FIELD_TOKEN;
    case USHER_QUEUE_ACCEPT: return field == USHER_FIELD_AGENT || field == USHER_FIELD_USER;
    case USHER_QUEUE_REJECT: return field == USHER_FIELD_AGENT || field == USHER_FIELD_USER;
    case USHER_QUEUE_PULL: return field == USHER_FIELD_AGENT;
    case USHER_QUEUE_MOVE: return field == USHER_FIELD_USER;
    case USHER_QUEUE_FREE: return field == USHER_FIELD_AGENT;
    case USHER_ROOM_SET: return field == USHER_FIELD_FIELD || field == USHER_FIELD_VALUE;
    case USHER_ROOM_UNSET: return field == USHER_FIELD_FIELD;
    case USHER_ROOM_GET: return field == USHER_FIELD_FIELD;
    case USHER_ROOM_JOIN: return field == USHER_FIELD_MEMBER;
    case USHER_ROOM_LEAVE: return field == USHER_FIELD_MEMBER;
    case USHER_ROOM_KICK: return field == USHER_FIELD_MEMBER;
    case USHER_ROOM_ALIVE: return field == USHER_FIELD_MEMBER;
    case USHER_ROOM_MEMBER: return field == USHER_FIELD_MEMBER || field == USHER_FIELD_FIELD || field == USHER_FIELD_VALUE;
    case USHER_ROOM_ALL: return field == USHER_FIELD_FIELD || field == USHER_FIELD_VALUE;
    case USHER_ROOM_ROLE: return field == USHER_FIELD_ROLE || field == USHER_FIELD_HOLDER;
    case USHER_ROOM_SHARE: return field == USHER_FIELD_MEMBER || field == USHER_FIELD_SHARE;
    case USHER_ROOM_UNSHARE: return field == USHER_FIELD_SHARE;
    case USHER_SERIAL_FILL: return field == USHER_FIELD_N;
    case USHER_SERIAL_TAKE: return field == USHER_FIELD_N;
    case USHER_SERIAL_SETMAX: return field == USHER_FIELD_RAISE;
    case USHER_SERIAL_SETMAXCUR: return field == USHER_FIELD_HIGHEST;
    case USHER_SERIAL_PARSE: return field == USHER_FIELD_SERIAL;
    case USHER_SERIAL_RESERVE: return field == USHER_FIELD_OWNER;
    case USHER_SERIAL_CONFIRM: return field == USHER_FIELD_SERIAL || field == USHER_FIELD_TOKEN;
    case USHER_SERIAL_RENEW: return field == USHER_FIELD_SERIAL || field == USHER_FIELD_TOKEN;
    case USHER_SERIAL_RETURN: return field == USHER_FIELD_SERIAL || field == USHER_FIELD_TOKEN;
    case USHER_SERIAL_VOID: return field == USHER_FIELD_SERIAL || field == USHER_FIELD_TOKEN;
    case USHER_SERIAL_SHOW: return field == USHER_FIELD_SERIAL;
    case USHER_ID_NEXT: return field == USHER_FIELD_N;
    case USHER_ID_RETURN: return field == USHER_FIELD_FIRST || field == USHER_FIELD_N;
    default:
        return false;
    }
}

static bool has_call(uint32_t verb)
{
    return verb != USHER_NUMBER_DROP &&
           verb != USHER_QUEUE_DROP &&
           verb != USHER_SERIAL_DELETE &&
           verb != USHER_SERIAL_GRANT &&
           verb != USHER_ID_DELETE &&
           verb != USHER_ID_INSTALL;
}

static bool has_settings(uint32_t verb)
{
    return verb == USHER_NUMBER_SET || verb == USHER_QUEUE_SET || verb == USHER_ROOM_OPEN || verb == USHER_SERIAL_RULE || verb == USHER_ID_CREATE || verb == USHER_ID_SET;
}

static enum usher_status give(struct usher_engine *e, const struct given_values *t, uint32_t verb, const char *scope,
                              const void *settings, const void *opt, void *answer, struct usher_reply **reply)
{
    switch (verb) {
    case USHER_NUMBER_ADD: return usher_number_add(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, answer);
    case USHER_NUMBER_DEL: return usher_number_del(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, answer);
    case USHER_NUMBER_REG: return usher_number_reg(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, answer);
    case USHER_NUMBER_UNREG: return usher_number_unreg(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, answer);
    case USHER_NUMBER_CALL: return usher_number_call(e, scope, string_of(t, USHER_FIELD_OWNER), opt, answer);
    case USHER_NUMBER_HANGUP: return usher_number_hangup(e, scope, string_of(t, USHER_FIELD_NUMBER), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_NUMBER_RENEW: return usher_number_renew(e, scope, string_of(t, USHER_FIELD_NUMBER), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_NUMBER_FREE: return usher_number_free(e, scope, opt, answer);
    case USHER_NUMBER_LIFT: return usher_number_lift(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, answer);
    case USHER_NUMBER_MOVE: return usher_number_move(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, answer);
    case USHER_NUMBER_SHOW: return usher_number_show(e, scope, string_of(t, USHER_FIELD_NUMBER), opt, reply);
    case USHER_NUMBER_LIST: return usher_number_list(e, scope, opt, reply);
    case USHER_NUMBER_STATS: return usher_number_stats(e, scope, opt, reply);
    case USHER_NUMBER_SET: return usher_number_set(e, scope, settings, opt, reply);
    case USHER_NUMBER_SWEEP: return usher_number_sweep(e, scope, opt, answer);
    case USHER_NUMBER_CHANGES: return usher_number_changes(e, scope, opt, reply);
    case USHER_QUEUE_SET: return usher_queue_set(e, scope, settings, opt, reply);
    case USHER_QUEUE_LOGIN: return usher_queue_login(e, scope, string_of(t, USHER_FIELD_AGENT), opt, answer);
    case USHER_QUEUE_LOGOUT: return usher_queue_logout(e, scope, string_of(t, USHER_FIELD_AGENT), opt, answer);
    case USHER_QUEUE_PAUSE: return usher_queue_pause(e, scope, string_of(t, USHER_FIELD_AGENT), opt, answer);
    case USHER_QUEUE_READY: return usher_queue_ready(e, scope, string_of(t, USHER_FIELD_AGENT), opt, answer);
    case USHER_QUEUE_ALIVE: return usher_queue_alive(e, scope, opt, reply);
    case USHER_QUEUE_ROOM: return usher_queue_room(e, scope, string_of(t, USHER_FIELD_AGENT), opt, reply);
    case USHER_QUEUE_APPLY: return usher_queue_apply(e, scope, string_of(t, USHER_FIELD_USER), opt, answer);
    case USHER_QUEUE_WHERE: return usher_queue_where(e, scope, string_of(t, USHER_FIELD_USER), opt, answer);
    case USHER_QUEUE_LEAVE: return usher_queue_leave(e, scope, string_of(t, USHER_FIELD_USER), opt, answer);
    case USHER_QUEUE_FINISH: return usher_queue_finish(e, scope, string_of(t, USHER_FIELD_ROOM), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_QUEUE_ACCEPT: return usher_queue_accept(e, scope, string_of(t, USHER_FIELD_AGENT), string_of(t, USHER_FIELD_USER), opt, answer);
    case USHER_QUEUE_REJECT: return usher_queue_reject(e, scope, string_of(t, USHER_FIELD_AGENT), string_of(t, USHER_FIELD_USER), opt, answer);
    case USHER_QUEUE_PULL: return usher_queue_pull(e, scope, string_of(t, USHER_FIELD_AGENT), opt, answer);
    case USHER_QUEUE_MATCH: return usher_queue_match(e, scope, opt, reply);
    case USHER_QUEUE_SWEEP: return usher_queue_sweep(e, scope, opt, reply);
    case USHER_QUEUE_LIST: return usher_queue_list(e, scope, opt, reply);
    case USHER_QUEUE_AGENTS: return usher_queue_agents(e, scope, opt, reply);
    case USHER_QUEUE_HISTORY: return usher_queue_history(e, scope, opt, reply);
    case USHER_QUEUE_DRAIN: return usher_queue_drain(e, scope, opt, reply);
    case USHER_QUEUE_STATS: return usher_queue_stats(e, scope, opt, reply);
    case USHER_QUEUE_LANES: return usher_queue_lanes(e, scope, opt, reply);
    case USHER_QUEUE_INTERVALS: return usher_queue_intervals(e, scope, opt, reply);
    case USHER_QUEUE_WAITS: return usher_queue_waits(e, scope, opt, reply);
    case USHER_QUEUE_MOVE: return usher_queue_move(e, scope, string_of(t, USHER_FIELD_USER), opt, answer);
    case USHER_QUEUE_FREE: return usher_queue_free(e, scope, string_of(t, USHER_FIELD_AGENT), opt, answer);
    case USHER_QUEUE_CHANGES: return usher_queue_changes(e, scope, opt, reply);
    case USHER_ROOM_OPEN: return usher_room_open(e, scope, settings, opt, reply);
    case USHER_ROOM_CLOSE: return usher_room_close(e, scope, opt, answer);
    case USHER_ROOM_LOCK: return usher_room_lock(e, scope, opt, answer);
    case USHER_ROOM_UNLOCK: return usher_room_unlock(e, scope, opt, answer);
    case USHER_ROOM_SET: return usher_room_set(e, scope, string_of(t, USHER_FIELD_FIELD), bytes_of(t, USHER_FIELD_VALUE), opt, answer);
    case USHER_ROOM_UNSET: return usher_room_unset(e, scope, string_of(t, USHER_FIELD_FIELD), opt, answer);
    case USHER_ROOM_GET: return usher_room_get(e, scope, string_of(t, USHER_FIELD_FIELD), opt, reply);
    case USHER_ROOM_JOIN: return usher_room_join(e, scope, string_of(t, USHER_FIELD_MEMBER), opt, answer);
    case USHER_ROOM_LEAVE: return usher_room_leave(e, scope, string_of(t, USHER_FIELD_MEMBER), opt, answer);
    case USHER_ROOM_KICK: return usher_room_kick(e, scope, string_of(t, USHER_FIELD_MEMBER), opt, answer);
    case USHER_ROOM_ALIVE: return usher_room_alive(e, scope, string_of(t, USHER_FIELD_MEMBER), opt, answer);
    case USHER_ROOM_MEMBER: return usher_room_member(e, scope, string_of(t, USHER_FIELD_MEMBER), string_of(t, USHER_FIELD_FIELD), bytes_of(t, USHER_FIELD_VALUE), opt, answer);
    case USHER_ROOM_ALL: return usher_room_all(e, scope, string_of(t, USHER_FIELD_FIELD), bytes_of(t, USHER_FIELD_VALUE), opt, answer);
    case USHER_ROOM_ROLE: return usher_room_role(e, scope, string_of(t, USHER_FIELD_ROLE), string_of(t, USHER_FIELD_HOLDER), opt, answer);
    case USHER_ROOM_SHARE: return usher_room_share(e, scope, string_of(t, USHER_FIELD_MEMBER), string_of(t, USHER_FIELD_SHARE), opt, answer);
    case USHER_ROOM_UNSHARE: return usher_room_unshare(e, scope, string_of(t, USHER_FIELD_SHARE), opt, answer);
    case USHER_ROOM_SHOW: return usher_room_show(e, scope, opt, reply);
    case USHER_ROOM_STATS: return usher_room_stats(e, scope, opt, reply);
    case USHER_ROOM_SNAPSHOT: return usher_room_snapshot(e, scope, opt, reply);
    case USHER_ROOM_CHANGES: return usher_room_changes(e, scope, opt, reply);
    case USHER_ROOM_SWEEP: return usher_room_sweep(e, scope, opt, reply);
    case USHER_SERIAL_RULE: return usher_serial_set(e, scope, settings, opt, reply);
    case USHER_SERIAL_FILL: return usher_serial_fill(e, scope, number_of(t, USHER_FIELD_N), opt, answer);
    case USHER_SERIAL_TAKE: return usher_serial_take(e, scope, number_of(t, USHER_FIELD_N), opt, reply);
    case USHER_SERIAL_CHECK: return usher_serial_stats(e, scope, opt, reply);
    case USHER_SERIAL_TICK: return usher_serial_tick(e, scope, opt, answer);
    case USHER_SERIAL_SETMAX: return usher_serial_setmax(e, scope, number_of(t, USHER_FIELD_RAISE), opt, answer);
    case USHER_SERIAL_SETMAXCUR: return usher_serial_setmaxcur(e, scope, number_of(t, USHER_FIELD_HIGHEST), opt, answer);
    case USHER_SERIAL_PARSE: return usher_serial_parse(e, scope, string_of(t, USHER_FIELD_SERIAL), opt, answer);
    case USHER_SERIAL_RESERVE: return usher_serial_reserve(e, scope, string_of(t, USHER_FIELD_OWNER), opt, answer);
    case USHER_SERIAL_CONFIRM: return usher_serial_confirm(e, scope, string_of(t, USHER_FIELD_SERIAL), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_SERIAL_RENEW: return usher_serial_renew(e, scope, string_of(t, USHER_FIELD_SERIAL), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_SERIAL_RETURN: return usher_serial_return(e, scope, string_of(t, USHER_FIELD_SERIAL), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_SERIAL_VOID: return usher_serial_void(e, scope, string_of(t, USHER_FIELD_SERIAL), token_of(t, USHER_FIELD_TOKEN), opt, answer);
    case USHER_SERIAL_SHOW: return usher_serial_show(e, scope, string_of(t, USHER_FIELD_SERIAL), opt, reply);
    case USHER_SERIAL_HOLDS: return usher_serial_holds(e, scope, opt, reply);
    case USHER_SERIAL_SWEEP: return usher_serial_sweep(e, scope, opt, answer);
    case USHER_SERIAL_CHANGES: return usher_serial_changes(e, scope, opt, reply);
    case USHER_ID_CREATE: return usher_id_create(e, scope, settings, opt, reply);
    case USHER_ID_NEXT: return usher_id_next(e, scope, number_of(t, USHER_FIELD_N), opt, answer);
    case USHER_ID_SHOW: return usher_id_stats(e, scope, opt, reply);
    case USHER_ID_SET: return usher_id_set(e, scope, settings, opt, reply);
    case USHER_ID_RETURN: return usher_id_return(e, scope, number_of(t, USHER_FIELD_FIRST), number_of(t, USHER_FIELD_N), opt, answer);
    case USHER_ID_CHANGES: return usher_id_changes(e, scope, opt, reply);
    default:
        fail();
        return USHER_INVALID;
    }
}

static bool is_reply(uint32_t verb)
{
    return verb == USHER_NUMBER_SHOW ||
           verb == USHER_NUMBER_LIST ||
           verb == USHER_NUMBER_STATS ||
           verb == USHER_NUMBER_SET ||
           verb == USHER_NUMBER_CHANGES ||
           verb == USHER_QUEUE_SET ||
           verb == USHER_QUEUE_ALIVE ||
           verb == USHER_QUEUE_ROOM ||
           verb == USHER_QUEUE_MATCH ||
           verb == USHER_QUEUE_SWEEP ||
           verb == USHER_QUEUE_LIST ||
           verb == USHER_QUEUE_AGENTS ||
           verb == USHER_QUEUE_HISTORY ||
           verb == USHER_QUEUE_DRAIN ||
           verb == USHER_QUEUE_STATS ||
           verb == USHER_QUEUE_LANES ||
           verb == USHER_QUEUE_INTERVALS ||
           verb == USHER_QUEUE_WAITS ||
           verb == USHER_QUEUE_CHANGES ||
           verb == USHER_ROOM_OPEN ||
           verb == USHER_ROOM_GET ||
           verb == USHER_ROOM_SHOW ||
           verb == USHER_ROOM_STATS ||
           verb == USHER_ROOM_SNAPSHOT ||
           verb == USHER_ROOM_CHANGES ||
           verb == USHER_ROOM_SWEEP ||
           verb == USHER_SERIAL_RULE ||
           verb == USHER_SERIAL_TAKE ||
           verb == USHER_SERIAL_CHECK ||
           verb == USHER_SERIAL_SHOW ||
           verb == USHER_SERIAL_HOLDS ||
           verb == USHER_SERIAL_CHANGES ||
           verb == USHER_ID_CREATE ||
           verb == USHER_ID_SHOW ||
           verb == USHER_ID_SET ||
           verb == USHER_ID_CHANGES;
}
