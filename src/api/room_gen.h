/* SPDX-License-Identifier: MIT */
/* Made by gen_calls.py from room.txt: do not edit. */
/* clang-format off */

static const struct usher__member room_options[] = {
    MEMBER(struct usher_room_options, fields, FIELDS, FIELDS, BYTES),
    MEMBER(struct usher_room_options, expected, IF, IF, BYTES),
    MEMBER(struct usher_room_options, if_version, IF_VERSION, IF_VERSION, NUMBER),
    MEMBER(struct usher_room_options, epoch, EPOCH, EPOCH, TOKEN),
    MEMBER(struct usher_room_options, ban_ms, BAN, BAN, NUMBER),
    MEMBER(struct usher_room_options, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_room_options, after_version, AFTER_VERSION, AFTER_VERSION, NUMBER),
    MEMBER(struct usher_room_options, ttl_ms, TTL, TTL, NUMBER),
    MEMBER(struct usher_room_options, max, MAX, MAX, NUMBER),
    MEMBER(struct usher_room_options, versions, VERSIONS, VERSIONS, NUMBER),
    MEMBER(struct usher_room_options, actor, ACTOR, ACTOR, STRING),
};
GIVE(room, options)

static const struct usher__member room_settings[] = {
    MEMBER(struct usher_room_settings, capacity, CAPACITY, CAPACITY, NUMBER),
    MEMBER(struct usher_room_settings, linger_ms, LINGER, LINGER, NUMBER),
    MEMBER(struct usher_room_settings, ttl_ms, TTL, TTL, NUMBER),
    MEMBER(struct usher_room_settings, away_ms, AWAY, AWAY, NUMBER),
    MEMBER(struct usher_room_settings, grace_ms, GRACE, GRACE, NUMBER),
    MEMBER(struct usher_room_settings, log, LOG, LOG, NUMBER),
    MEMBER(struct usher_room_settings, requests, REQUESTS, REQUESTS, NUMBER),
    MEMBER(struct usher_room_settings, presence_ms, PRESENCE, PRESENCE, NUMBER),
    MEMBER(struct usher_room_settings, push, PUSH, PUSH, NUMBER),
};
GIVE(room, settings)

static const struct usher__member room_answer[] = {
    MEMBER(struct usher_room_answer, state, STATE, STATE, CODE),
    MEMBER(struct usher_room_answer, member_state, MEMBER_STATE, MEMBER_STATE, CODE),
    MEMBER(struct usher_room_answer, members, MEMBERS, MEMBERS, NUMBER),
    MEMBER(struct usher_room_answer, count, COUNT, COUNT, NUMBER),
    MEMBER(struct usher_room_answer, since_version, SINCE_VERSION, SINCE_VERSION, NUMBER),
    MEMBER(struct usher_room_answer, mark, MARK, MARK, TOKEN),
    MEMBER(struct usher_room_answer, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_room_answer, created_ms, CREATED, CREATED, NUMBER),
    MEMBER(struct usher_room_answer, name, NAME, NAME, CHARS),
    MEMBER(struct usher_room_answer, owner, OWNER, OWNER, CHARS),
};

static const struct usher__member room_row[] = {
    MEMBER(struct usher_room_row, kind, KIND, KIND, CODE),
    MEMBER(struct usher_room_row, member_state, MEMBER_STATE, MEMBER_STATE, CODE),
    MEMBER(struct usher_room_row, name, NAME, NAME, STRING),
    MEMBER(struct usher_room_row, owner, OWNER, OWNER, STRING),
    MEMBER(struct usher_room_row, value, VALUE, VALUE, BYTES),
    MEMBER(struct usher_room_row, version, VERSION, VERSION, NUMBER),
    MEMBER(struct usher_room_row, since_ms, SINCE, SINCE, NUMBER),
    MEMBER(struct usher_room_row, seen_ms, SEEN, SEEN, NUMBER),
    MEMBER(struct usher_room_row, verb, VERB, VERB, CODE),
    MEMBER(struct usher_room_row, subject, SUBJECT, SUBJECT, STRING),
    MEMBER(struct usher_room_row, before, BEFORE, BEFORE, NUMBER),
    MEMBER(struct usher_room_row, from_state, FROM_STATE, FROM_STATE, NUMBER),
    MEMBER(struct usher_room_row, to_state, TO_STATE, TO_STATE, NUMBER),
    MEMBER(struct usher_room_row, data, DATA, DATA, BYTES),
    MEMBER(struct usher_room_row, time_ms, TIME, TIME, NUMBER),
    MEMBER(struct usher_room_row, was, WAS, WAS, TOKEN),
    MEMBER(struct usher_room_row, mark, MARK, MARK, TOKEN),
    MEMBER(struct usher_room_row, token, TOKEN, TOKEN, TOKEN),
    MEMBER(struct usher_room_row, until_ms, UNTIL, UNTIL, NUMBER),
    MEMBER(struct usher_room_row, actor, ACTOR, ACTOR, STRING),
};

static const struct usher__member room_statistics[] = {
    MEMBER(struct usher_room_statistics, capacity, CAPACITY, CAPACITY, NUMBER),
    MEMBER(struct usher_room_statistics, roles, ROLES, ROLES, NUMBER),
    MEMBER(struct usher_room_statistics, shares, SHARES, SHARES, NUMBER),
    MEMBER(struct usher_room_statistics, joined_total, JOINED_TOTAL, JOINED_TOTAL, NUMBER),
    MEMBER(struct usher_room_statistics, left_total, LEFT_TOTAL, LEFT_TOTAL, NUMBER),
    MEMBER(struct usher_room_statistics, lost_total, LOST_TOTAL, LOST_TOTAL, NUMBER),
    MEMBER(struct usher_room_statistics, kicked_total, KICKED_TOTAL, KICKED_TOTAL, NUMBER),
    MEMBER(struct usher_room_statistics, changes_total, CHANGES_TOTAL, CHANGES_TOTAL, NUMBER),
};

static const uint8_t room_answer_at[] = {
    [USHER_FIELD_STATE] = 1,
    [USHER_FIELD_MEMBER_STATE] = 2,
    [USHER_FIELD_MEMBERS] = 3,
    [USHER_FIELD_COUNT] = 4,
    [USHER_FIELD_SINCE_VERSION] = 5,
    [USHER_FIELD_MARK] = 6,
    [USHER_FIELD_UNTIL] = 7,
    [USHER_FIELD_CREATED] = 8,
    [USHER_FIELD_NAME] = 9,
    [USHER_FIELD_OWNER] = 10,
};

static void room_answer_tell(const struct usher_operation *op, const struct usher_result *r,
                              struct usher__answer *a)
{
    const uint32_t verb = op != NULL ? USHER__VERB_BIT((unsigned)op->verb) : 0;
    const size_t size = a->size;

    TELL_NONE(room);
    if (op == NULL)
        return;
#define V(name) USHER__VERB_BIT(USHER_ROOM_##name)
#define OUT(type, member, field, verbs) TELL_FIELD(room, USHER_ROOM, type, member, field, verbs)
#include "core/room_verbs.def"
#undef V
}

static const struct usher__calls room_calls = {
    USHER_ROOM,
    SHAPE(room, options, GIVEN(room, options)),
    SHAPE(room, settings, GIVEN(room, settings)),
    SHAPE(room, answer, TOLD(room, answer)),
    SHAPE(room, row, SHOWN),
    SHAPE(room, statistics, SHOWN),
};

enum usher_status usher_room_open(struct usher_engine *e, const char *room,
                                  const struct usher_room_settings *settings,
                                  const struct usher_room_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_OPEN, room, NULL, 0, settings, opt, NULL, ret);
}

enum usher_status usher_room_close(struct usher_engine *e, const char *room,
                                   const struct usher_room_options *opt,
                                   struct usher_room_answer *ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_CLOSE, room, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_room_lock(struct usher_engine *e, const char *room,
                                  const struct usher_room_options *opt,
                                  struct usher_room_answer *ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_LOCK, room, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_room_unlock(struct usher_engine *e, const char *room,
                                    const struct usher_room_options *opt,
                                    struct usher_room_answer *ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_UNLOCK, room, NULL, 0, NULL, opt, ret, NULL);
}

enum usher_status usher_room_set(struct usher_engine *e, const char *room, const char *field,
                                 const struct usher_text *value,
                                 const struct usher_room_options *opt,
                                 struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_FIELD, USHER_TO_NUL, 0, field }, usher__call_bytes(USHER_FIELD_VALUE, value) };

    return usher__call(e, &room_calls, USHER_ROOM_SET, room, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_room_unset(struct usher_engine *e, const char *room, const char *field,
                                   const struct usher_room_options *opt,
                                   struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_FIELD, USHER_TO_NUL, 0, field } };

    return usher__call(e, &room_calls, USHER_ROOM_UNSET, room, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_room_get(struct usher_engine *e, const char *room, const char *field,
                                 const struct usher_room_options *opt, struct usher_reply **ret)
{
    const struct usher_value given[] = { { USHER_FIELD_FIELD, USHER_TO_NUL, 0, field } };

    return usher__call(e, &room_calls, USHER_ROOM_GET, room, given, 1, NULL, opt, NULL, ret);
}

enum usher_status usher_room_join(struct usher_engine *e, const char *room, const char *member,
                                  const struct usher_room_options *opt,
                                  struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_MEMBER, USHER_TO_NUL, 0, member } };

    return usher__call(e, &room_calls, USHER_ROOM_JOIN, room, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_room_leave(struct usher_engine *e, const char *room, const char *member,
                                   const struct usher_room_options *opt,
                                   struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_MEMBER, USHER_TO_NUL, 0, member } };

    return usher__call(e, &room_calls, USHER_ROOM_LEAVE, room, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_room_kick(struct usher_engine *e, const char *room, const char *member,
                                  const struct usher_room_options *opt,
                                  struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_MEMBER, USHER_TO_NUL, 0, member } };

    return usher__call(e, &room_calls, USHER_ROOM_KICK, room, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_room_alive(struct usher_engine *e, const char *room, const char *member,
                                   const struct usher_room_options *opt,
                                   struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_MEMBER, USHER_TO_NUL, 0, member } };

    return usher__call(e, &room_calls, USHER_ROOM_ALIVE, room, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_room_member(struct usher_engine *e, const char *room, const char *member,
                                    const char *field, const struct usher_text *value,
                                    const struct usher_room_options *opt,
                                    struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_MEMBER, USHER_TO_NUL, 0, member }, { USHER_FIELD_FIELD, USHER_TO_NUL, 0, field }, usher__call_bytes(USHER_FIELD_VALUE, value) };

    return usher__call(e, &room_calls, USHER_ROOM_MEMBER, room, given, 3, NULL, opt, ret, NULL);
}

enum usher_status usher_room_all(struct usher_engine *e, const char *room, const char *field,
                                 const struct usher_text *value,
                                 const struct usher_room_options *opt,
                                 struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_FIELD, USHER_TO_NUL, 0, field }, usher__call_bytes(USHER_FIELD_VALUE, value) };

    return usher__call(e, &room_calls, USHER_ROOM_ALL, room, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_room_role(struct usher_engine *e, const char *room, const char *role,
                                  const char *holder, const struct usher_room_options *opt,
                                  struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_ROLE, USHER_TO_NUL, 0, role }, { USHER_FIELD_HOLDER, USHER_TO_NUL, 0, holder } };

    return usher__call(e, &room_calls, USHER_ROOM_ROLE, room, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_room_share(struct usher_engine *e, const char *room, const char *member,
                                   const char *share, const struct usher_room_options *opt,
                                   struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_MEMBER, USHER_TO_NUL, 0, member }, { USHER_FIELD_SHARE, USHER_TO_NUL, 0, share } };

    return usher__call(e, &room_calls, USHER_ROOM_SHARE, room, given, 2, NULL, opt, ret, NULL);
}

enum usher_status usher_room_unshare(struct usher_engine *e, const char *room, const char *share,
                                     const struct usher_room_options *opt,
                                     struct usher_room_answer *ret)
{
    const struct usher_value given[] = { { USHER_FIELD_SHARE, USHER_TO_NUL, 0, share } };

    return usher__call(e, &room_calls, USHER_ROOM_UNSHARE, room, given, 1, NULL, opt, ret, NULL);
}

enum usher_status usher_room_show(struct usher_engine *e, const char *room,
                                  const struct usher_room_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_SHOW, room, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_room_stats(struct usher_engine *e, const char *room,
                                   const struct usher_room_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_STATS, room, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_room_snapshot(struct usher_engine *e, const char *room,
                                      const struct usher_room_options *opt,
                                      struct usher_reply **ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_SNAPSHOT, room, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_room_changes(struct usher_engine *e, const char *room,
                                     const struct usher_room_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_CHANGES, room, NULL, 0, NULL, opt, NULL, ret);
}

enum usher_status usher_room_sweep(struct usher_engine *e, const char *room,
                                   const struct usher_room_options *opt, struct usher_reply **ret)
{
    return usher__call(e, &room_calls, USHER_ROOM_SWEEP, room, NULL, 0, NULL, opt, NULL, ret);
}

bool usher_room_answer_of(const struct usher_reply *reply, struct usher_room_answer *ret)
{
    return usher__call_answer(&room_calls, &room_calls.answer, reply, ret);
}

bool usher_room_settings_of(const struct usher_reply *reply, struct usher_room_settings *ret)
{
    return usher__call_values(&room_calls, &room_calls.settings, reply, USHER_ANSWER, ret);
}

bool usher_room_statistics_of(const struct usher_reply *reply, struct usher_room_statistics *ret)
{
    return usher__call_values(&room_calls, &room_calls.statistics, reply, USHER_ANSWER, ret);
}

bool usher_room_row_of(const struct usher_reply *reply, size_t i, struct usher_room_row *ret)
{
    return i != USHER_ANSWER && usher__call_values(&room_calls, &room_calls.row, reply, i, ret);
}
