/* SPDX-License-Identifier: MIT */
/* See calls.h. */
#include "lib/test.h"

#include "lib/calls.h"

#include "lib/util.h"

#include "core/verbs.h"
#include "engine/engine.h"

static void begin(struct usher_operation *c, enum usher_verb verb, const char *scope)
{
    memset(c, 0, sizeof *c);
    c->verb = verb;
    c->scope = text(scope);
}

static const char *why(const struct usher_result *r)
{
    if (r->message[0] != '\0')
        return r->message;
    if (r->noun == USHER_NUMBER && r->of.number.why != USHER_NUMBER_WHY_NONE)
        return usher_number_why_word(r->of.number.why);
    if (r->noun == USHER_QUEUE && r->of.queue.why != USHER_QUEUE_WHY_NONE)
        return usher_queue_why_word(r->of.queue.why);
    return usher_status_text(r->status);
}

/* *@r is the caller's, and not touched if the engine is none. */
static enum usher_status run(struct usher_engine *e, const struct usher_operation *c,
                             struct usher_result *r)
{
    enum usher_status status = usher_operate(e, c, r, 1);

    if (status == USHER_INVALID)
        return status;
    if (!USHER_IS_DONE(r->status))
        usher__message_set("%s: %s", usher_verb_word(c->verb), why(r));
    return r->status;
}

/* The same, but the rows of *@r, which may be NULL, are given back. */
static enum usher_status run_once(struct usher_engine *e, const struct usher_operation *c,
                                  struct usher_result *r)
{
    struct usher_result own;
    enum usher_status status;

    r = r != NULL ? r : &own;
    memset(r, 0, sizeof *r);
    status = run(e, c, r);
    usher_result_done(r);
    return status;
}

/* A command that works in bounded steps, until there is no more to do. */
static enum usher_status in_steps(struct usher_engine *e, struct usher_operation *c,
                                  uint64_t *ret_count)
{
    struct usher_result r;
    char after[USHER_NAME_MAX + 1];
    uint64_t count = 0;
    bool more, some = false;
    enum usher_status status;

    do {
        status = run_once(e, c, &r);
        more = USHER_IS_DONE(status) &&
               (r.noun == USHER_NUMBER   ? r.of.number.more
                : r.noun == USHER_SERIAL ? r.of.serial.more
                                         : status == USHER_OK && r.of.room.more);
        some = some || status == USHER_OK;
        if (status == USHER_OK && r.noun == USHER_NUMBER)
            count += r.of.number.count;
        if (more && c->verb == USHER_NUMBER_RENEW) {
            memcpy(after, r.of.number.number, sizeof after);
            c->arg.number.after = text(after);
        }
    } while (more);
    if (ret_count != NULL && USHER_IS_DONE(status))
        *ret_count = count;
    return status == USHER_SAME && some ? USHER_OK : status;
}

/* Set those settings of @r that are @given, and read all. */
static enum usher_status set(struct usher_engine *e, enum usher_verb verb, const char *scope,
                             uint64_t given, struct usher_result *r)
{
    struct usher_operation c;
    const struct usher__field *result;
    const struct usher__arg *arg;

    begin(&c, verb, scope);
    c.given = given;
    for (unsigned i = 0; usher__setting(verb, i, &result, &arg); i++)
        memcpy((char *)&c + arg->offset, (const char *)r + result->offset, sizeof(int64_t));
    return run_once(e, &c, r);
}

/* ---- numbers ------------------------------------------------------------------------ */

static void number_begin(struct usher_operation *c, enum usher_verb verb, const char *pool,
                         const char *number)
{
    begin(c, verb, pool);
    c->arg.number.number = text(number);
}

static enum usher_status number_do(struct usher_engine *e, enum usher_verb verb, const char *pool,
                                   const char *number, const char *group)
{
    struct usher_operation c;

    number_begin(&c, verb, pool, number);
    c.arg.number.group = text(group);
    return run_once(e, &c, NULL);
}

enum usher_status ask_number_add(struct usher_engine *e, const char *pool, const char *number,
                                 const char *group)
{
    return number_do(e, USHER_NUMBER_ADD, pool, number, group);
}

enum usher_status ask_number_del(struct usher_engine *e, const char *pool, const char *number)
{
    return number_do(e, USHER_NUMBER_DEL, pool, number, NULL);
}

enum usher_status ask_number_reg(struct usher_engine *e, const char *pool, const char *number)
{
    return number_do(e, USHER_NUMBER_REG, pool, number, NULL);
}

enum usher_status ask_number_unreg(struct usher_engine *e, const char *pool, const char *number)
{
    return number_do(e, USHER_NUMBER_UNREG, pool, number, NULL);
}

static void number_token(struct usher_operation *c, uint64_t token)
{
    c->given |= USHER_GIVEN_TOKEN;
    c->arg.number.token = token;
}

static void number_lease(struct usher_operation *c, int64_t lease_ms)
{
    if (lease_ms == 0)
        return;
    c->given |= USHER_GIVEN_LEASE;
    c->arg.number.lease_ms = lease_ms > 0 ? lease_ms : 0;
}

static enum usher_status hold_of(struct usher_engine *e, const struct usher_operation *c,
                                 struct ask_number_hold *ret)
{
    struct usher_result r;
    const struct usher_number_result *n = &r.of.number;
    enum usher_status status = run_once(e, c, &r);

    if (USHER_IS_DONE(status)) {
        ret->token = n->token;
        ret->until_ms = n->until_ms;
        ret->epoch = r.epoch;
        ret->version = r.version;
        memcpy(ret->number, n->number, n->number_size + 1);
    }
    return status;
}

enum usher_status ask_number_call(struct usher_engine *e, const char *pool, const char *owner,
                                  const struct ask_number_call_options *opt,
                                  struct ask_number_hold *ret_hold)
{
    struct usher_operation c;

    number_begin(&c, USHER_NUMBER_CALL, pool, opt != NULL ? opt->number : NULL);
    c.arg.number.owner = text(owner);
    if (opt != NULL) {
        c.arg.number.group = text(opt->groups);
        c.arg.number.sticky = text(opt->sticky);
        c.arg.number.node = text(opt->node);
        c.request = text(opt->request);
        number_lease(&c, opt->lease_ms);
    }
    return hold_of(e, &c, ret_hold);
}

enum usher_status ask_number_hangup(struct usher_engine *e, const char *pool, const char *number,
                                    uint64_t token, int64_t rest_ms)
{
    struct usher_operation c;

    number_begin(&c, USHER_NUMBER_HANGUP, pool, number);
    if (token != 0)
        number_token(&c, token);
    if (rest_ms >= 0) {
        c.given |= USHER_GIVEN_REST;
        c.arg.number.rest_ms = rest_ms;
    }
    return run_once(e, &c, NULL);
}

enum usher_status ask_number_renew(struct usher_engine *e, const char *pool, const char *number,
                                   uint64_t token, int64_t lease_ms, int64_t *ret_until_ms)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    number_begin(&c, USHER_NUMBER_RENEW, pool, number);
    number_token(&c, token);
    number_lease(&c, lease_ms);
    status = run_once(e, &c, &r);
    if (ret_until_ms != NULL && USHER_IS_DONE(status))
        *ret_until_ms = r.of.number.until_ms;
    return status;
}

enum usher_status ask_number_renew_as(struct usher_engine *e, const char *pool, const char *owner,
                                      const struct ask_number_call_options *opt,
                                      struct ask_number_hold *hold)
{
    struct usher_operation c;

    number_begin(&c, USHER_NUMBER_RENEW, pool, hold->number);
    number_token(&c, hold->token);
    c.arg.number.owner = text(owner);
    if (opt != NULL) {
        c.arg.number.node = text(opt->node);
        number_lease(&c, opt->lease_ms);
    }
    return hold_of(e, &c, hold);
}

enum usher_status ask_number_renew_node(struct usher_engine *e, const char *pool, const char *node,
                                        int64_t lease_ms, uint64_t *ret_renewed)
{
    struct usher_operation c;

    begin(&c, USHER_NUMBER_RENEW, pool);
    c.arg.number.node = text(node);
    number_lease(&c, lease_ms);
    return in_steps(e, &c, ret_renewed);
}

enum usher_status ask_number_free(struct usher_engine *e, const char *pool, const char *owner,
                                  const char *number, uint64_t *ret_freed)
{
    struct usher_operation c;

    number_begin(&c, USHER_NUMBER_FREE, pool, number);
    c.arg.number.owner = text(owner);
    return in_steps(e, &c, ret_freed);
}

enum usher_status ask_number_free_all(struct usher_engine *e, const char *pool, uint64_t *ret_freed)
{
    struct usher_operation c;

    begin(&c, USHER_NUMBER_FREE, pool);
    c.given |= USHER_GIVEN_ALL;
    c.arg.number.all = 1;
    return in_steps(e, &c, ret_freed);
}

enum usher_status ask_number_free_node(struct usher_engine *e, const char *pool, const char *node,
                                       uint64_t *ret_freed)
{
    struct usher_operation c;

    begin(&c, USHER_NUMBER_FREE, pool);
    c.arg.number.node = text(node);
    return in_steps(e, &c, ret_freed);
}

enum usher_status ask_number_sweep(struct usher_engine *e, const char *pool, uint64_t *ret_expired)
{
    struct usher_operation c;

    begin(&c, USHER_NUMBER_SWEEP, pool);
    return in_steps(e, &c, ret_expired);
}

enum usher_status ask_number_show(struct usher_engine *e, const char *pool, const char *number,
                                  struct usher_result *ret_reply)
{
    struct usher_operation c;

    number_begin(&c, USHER_NUMBER_SHOW, pool, number);
    return run(e, &c, ret_reply);
}

enum usher_status ask_number_list(struct usher_engine *e, const char *pool, int state,
                                  const char *owner, const char *after, size_t max,
                                  struct usher_result *ret_reply)
{
    struct usher_operation c;

    begin(&c, USHER_NUMBER_LIST, pool);
    c.arg.number.owner = text(owner);
    c.arg.number.after = text(after);
    c.arg.number.state = state;
    c.arg.number.max = (int64_t)max;
    c.given = (state >= 0 ? USHER_GIVEN_STATE : 0u) | (max != 0 ? USHER_GIVEN_MAX : 0u);
    return run(e, &c, ret_reply);
}

enum usher_status ask_number_list_node(struct usher_engine *e, const char *pool, const char *node,
                                       struct usher_result *ret_reply)
{
    struct usher_operation c;

    begin(&c, USHER_NUMBER_LIST, pool);
    c.given |= USHER_GIVEN_STATE;
    c.arg.number.state = USHER_NUMBER_STATE_BUSY;
    c.arg.number.node = text(node);
    return run(e, &c, ret_reply);
}

enum usher_status ask_number_stats(struct usher_engine *e, const char *pool,
                                   struct usher_number_result_statistics *ret_stats)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_NUMBER_STATS, pool);
    status = run_once(e, &c, &r);
    if (status == USHER_OK)
        *ret_stats = r.of.number.of.stats;
    return status;
}

enum usher_status ask_number_set(struct usher_engine *e, const char *pool, uint64_t given,
                                 struct usher_number_result_settings *inout)
{
    struct usher_result r;
    enum usher_status status;

    r.of.number.of.settings = *inout;
    status = set(e, USHER_NUMBER_SET, pool, given, &r);
    if (USHER_IS_DONE(status))
        *inout = r.of.number.of.settings;
    return status;
}

#define BULK 64

enum usher_status ask_number_bulk(struct usher_engine *e, enum usher_verb verb, const char *pool,
                                  const char *const *numbers, size_t n, const char *group,
                                  struct ask_number_bulk_counts *ret_counts)
{
    struct ask_number_bulk_counts counts = { 0, 0, 0 };
    struct usher_operation *c = malloc(BULK * sizeof *c); /* a thread's stack may be small */
    struct usher_result *r = malloc(BULK * sizeof *r);
    enum usher_status status = c != NULL && r != NULL ? USHER_OK : USHER_NOMEM;

    for (size_t from = 0; from < n && status == USHER_OK; from += BULK) {
        size_t k = n - from < BULK ? n - from : BULK;

        for (size_t i = 0; i < k; i++) {
            number_begin(&c[i], verb, pool, numbers[from + i]);
            c[i].arg.number.group = text(group);
        }
        status = usher_operate(e, c, r, k);
        for (size_t i = 0; i < k && status != USHER_INVALID; i++) {
            counts.ok += r[i].status == USHER_OK;
            counts.same += r[i].status == USHER_SAME;
            counts.other += r[i].status == USHER_MISSING || r[i].status == USHER_REFUSED;
            if (status == USHER_OK && r[i].status >= USHER_INVALID) {
                status = r[i].status;
                usher__message_set("number %zu: %s", from + i + 1, why(&r[i]));
            }
        }
    }
    free(c);
    free(r);
    if (ret_counts != NULL)
        *ret_counts = counts;
    return status;
}

/* ---- queues ------------------------------------------------------------------------- */

static void queue_begin(struct usher_operation *c, enum usher_verb verb, const char *queue,
                        const char *user)
{
    begin(c, verb, queue);
    c->arg.queue.user = text(user);
}

static enum usher_status seat_of(struct usher_engine *e, const struct usher_operation *c,
                                 struct ask_queue_seat *ret)
{
    struct usher_result r;
    const struct usher_queue_result *q = &r.of.queue;
    enum usher_status status = run_once(e, c, &r);

    if (!USHER_IS_DONE(status))
        return status;
    ret->place = q->place;
    ret->index = q->index;
    ret->until_ms = q->until_ms;
    ret->token = q->token;
    ret->epoch = r.epoch;
    ret->version = r.version;
    (void)usher_queue_room_name(ret->room, r.epoch, q->login, q->no);
    memcpy(ret->agent, q->agent, q->agent_size + 1);
    return status;
}

enum usher_status ask_queue_set(struct usher_engine *e, const char *queue, uint64_t given,
                                struct usher_queue_result_settings *inout)
{
    struct usher_result r;
    enum usher_status status;

    r.of.queue.of.settings = *inout;
    status = set(e, USHER_QUEUE_SET, queue, given, &r);
    if (USHER_IS_DONE(status))
        *inout = r.of.queue.of.settings;
    return status;
}

enum usher_status ask_queue_login(struct usher_engine *e, const char *queue, const char *agent,
                                  int64_t capacity, const char *lanes, int64_t level,
                                  uint64_t *ret_login)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_QUEUE_LOGIN, queue);
    c.arg.queue.agent = text(agent);
    c.arg.queue.lanes = text(lanes != NULL ? lanes : "*");
    c.arg.queue.capacity = capacity != 0 ? capacity : 1;
    c.arg.queue.level = level;
    c.given = USHER_GIVEN_QUEUE_CAPACITY | USHER_GIVEN_QUEUE_LEVEL;
    status = run_once(e, &c, &r);
    if (ret_login != NULL && USHER_IS_DONE(status))
        *ret_login = r.of.queue.login;
    return status;
}

enum usher_status ask_queue_apply(struct usher_engine *e, const char *queue, const char *user,
                                  const struct ask_queue_apply_options *opt,
                                  struct ask_queue_seat *ret_seat)
{
    struct usher_operation c;

    queue_begin(&c, USHER_QUEUE_APPLY, queue, user);
    if (opt != NULL) {
        c.arg.queue.lane = text(opt->lane);
        c.request = text(opt->request);
        c.arg.queue.priority = opt->priority;
        c.arg.queue.since_ms = opt->since_ms;
        c.given = USHER_GIVEN_QUEUE_PRIORITY | (opt->since_ms != 0 ? USHER_GIVEN_QUEUE_SINCE : 0u);
    }
    return seat_of(e, &c, ret_seat);
}

enum usher_status ask_queue_where(struct usher_engine *e, const char *queue, const char *user,
                                  struct ask_queue_seat *ret_seat)
{
    struct usher_operation c;

    queue_begin(&c, USHER_QUEUE_WHERE, queue, user);
    return seat_of(e, &c, ret_seat);
}

enum usher_status ask_queue_leave(struct usher_engine *e, const char *queue, const char *user)
{
    struct usher_operation c;

    queue_begin(&c, USHER_QUEUE_LEAVE, queue, user);
    return run_once(e, &c, NULL);
}

enum usher_status ask_queue_finish(struct usher_engine *e, const char *queue, const char *room,
                                   const char *user, uint64_t token)
{
    struct usher_operation c;

    queue_begin(&c, USHER_QUEUE_FINISH, queue, user);
    c.arg.queue.room = text(room);
    c.arg.queue.token = token;
    c.given = token != 0 ? USHER_GIVEN_QUEUE_TOKEN : 0u;
    return run_once(e, &c, NULL);
}

enum usher_status ask_queue_history(struct usher_engine *e, const char *queue,
                                    const struct ask_queue_visit_filter *filter, const char *after,
                                    size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    queue_begin(&c, USHER_QUEUE_HISTORY, queue, filter != NULL ? filter->user : NULL);
    if (filter != NULL) {
        c.arg.queue.agent = text(filter->agent);
        c.arg.queue.since_ms = filter->since_ms;
        c.arg.queue.until_ms = filter->until_ms;
        c.given = USHER_GIVEN_QUEUE_SINCE | (filter->until_ms != 0 ? USHER_GIVEN_QUEUE_UNTIL : 0u);
    }
    c.arg.queue.after = text(after);
    c.arg.queue.max = (int64_t)max;
    c.given |= max != 0 ? USHER_GIVEN_QUEUE_MAX : 0u;
    return run(e, &c, ret_reply);
}

enum usher_status ask_queue_drain(struct usher_engine *e, const char *queue, uint64_t *ret_moved)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_QUEUE_DRAIN, queue);
    status = run_once(e, &c, &r);
    if (ret_moved != NULL && USHER_IS_DONE(status))
        *ret_moved = r.of.queue.count;
    return status;
}

enum usher_status ask_queue_stats(struct usher_engine *e, const char *queue, const char *lane,
                                  struct usher_queue_result_statistics *ret_stats)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_QUEUE_STATS, queue);
    c.arg.queue.lane = text(lane);
    status = run_once(e, &c, &r);
    if (status == USHER_OK)
        *ret_stats = r.of.queue.of.stats;
    return status;
}

/* ---- rooms -------------------------------------------------------------------------- */

static const struct usher_text *or_none(const struct usher_text *t)
{
    static const struct usher_text none;

    return t != NULL ? t : &none;
}

static void room_begin(struct usher_operation *c, enum usher_verb verb, const char *room,
                       const char *member)
{
    begin(c, verb, room);
    c->arg.room.member = text(member);
}

/* A field, value or expected value that is NULL is not given. */
static enum usher_status field_do(struct usher_engine *e, enum usher_verb verb, const char *room,
                                  const char *member, const char *field,
                                  const struct usher_text *value, const struct usher_text *expected)
{
    struct usher_operation c;

    room_begin(&c, verb, room, member);
    c.arg.room.field = text(field);
    c.arg.room.value = *or_none(value);
    c.arg.room.expected = *or_none(expected);
    return run_once(e, &c, NULL);
}

enum usher_status ask_room_open(struct usher_engine *e, const char *room,
                                const struct usher_room_result_settings *settings)
{
    struct usher_operation c;
    struct usher_room_args *a = &c.arg.room;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_ROOM_OPEN, room);
    if (settings != NULL) {
        c.given = USHER_GIVEN_ROOM_CAPACITY | USHER_GIVEN_ROOM_LINGER | USHER_GIVEN_ROOM_TTL |
                  USHER_GIVEN_ROOM_AWAY | USHER_GIVEN_ROOM_GRACE | USHER_GIVEN_ROOM_PRESENCE |
                  USHER_GIVEN_ROOM_PUSH | (settings->log != 0 ? USHER_GIVEN_ROOM_LOG : 0u) |
                  (settings->requests != 0 ? USHER_GIVEN_ROOM_REQUESTS : 0u);
        a->capacity = settings->capacity;
        a->linger_ms = settings->linger_ms;
        a->ttl_ms = settings->ttl_ms;
        a->away_ms = settings->away_ms;
        a->grace_ms = settings->grace_ms;
        a->presence_ms = settings->presence_ms;
        a->push = settings->push;
        a->log = settings->log;
        a->requests = settings->requests;
    }
    do
        status = run_once(e, &c, &r);
    while (status == USHER_REFUSED && r.of.room.state == USHER_ROOM_STATE_CLOSING);
    return status;
}

enum usher_status ask_room_close(struct usher_engine *e, const char *room)
{
    struct usher_operation c;

    begin(&c, USHER_ROOM_CLOSE, room);
    return in_steps(e, &c, NULL);
}

enum usher_status ask_room_unlock(struct usher_engine *e, const char *room)
{
    return field_do(e, USHER_ROOM_UNLOCK, room, NULL, NULL, NULL, NULL);
}

enum usher_status ask_room_set(struct usher_engine *e, const char *room, const char *field,
                               const struct usher_text *value, const struct usher_text *expected)
{
    return field_do(e, USHER_ROOM_SET, room, NULL, field, value, expected);
}

enum usher_status ask_room_join(struct usher_engine *e, const char *room, const char *member,
                                const struct usher_text *fields)
{
    return ask_room_share(e, room, member, NULL, fields);
}

enum usher_status ask_room_leave(struct usher_engine *e, const char *room, const char *member)
{
    return field_do(e, USHER_ROOM_LEAVE, room, member, NULL, NULL, NULL);
}

enum usher_status ask_room_kick(struct usher_engine *e, const char *room, const char *member,
                                int64_t ban_ms)
{
    struct usher_operation c;

    room_begin(&c, USHER_ROOM_KICK, room, member);
    c.arg.room.ban_ms = ban_ms;
    c.given = ban_ms >= 0 ? USHER_GIVEN_ROOM_BAN : 0u;
    return run_once(e, &c, NULL);
}

enum usher_status ask_room_alive(struct usher_engine *e, const char *room, const char *member,
                                 uint64_t *ret_epoch, uint64_t *ret_version, uint64_t *ret_mark)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    room_begin(&c, USHER_ROOM_ALIVE, room, member);
    status = run_once(e, &c, &r);
    if (status == USHER_OK) {
        if (ret_epoch != NULL)
            *ret_epoch = r.epoch;
        if (ret_version != NULL)
            *ret_version = r.of.room.since;
        if (ret_mark != NULL)
            *ret_mark = r.of.room.mark;
    }
    return status;
}

enum usher_status ask_room_member(struct usher_engine *e, const char *room, const char *member,
                                  const char *field, const struct usher_text *value,
                                  const struct usher_text *expected)
{
    return field_do(e, USHER_ROOM_MEMBER, room, member, field, value, expected);
}

enum usher_status ask_room_all(struct usher_engine *e, const char *room, const char *field,
                               const struct usher_text *value)
{
    return field_do(e, USHER_ROOM_ALL, room, NULL, field, value, NULL);
}

enum usher_status ask_room_role(struct usher_engine *e, const char *room, const char *role,
                                const char *member, const char *expected)
{
    struct usher_operation c;

    room_begin(&c, USHER_ROOM_ROLE, room, member);
    c.arg.room.role = text(role);
    c.arg.room.expected = text(expected);
    return run_once(e, &c, NULL);
}

/* @share NULL: join. */
enum usher_status ask_room_share(struct usher_engine *e, const char *room, const char *member,
                                 const char *share, const struct usher_text *fields)
{
    struct usher_operation c;

    room_begin(&c, share != NULL ? USHER_ROOM_SHARE : USHER_ROOM_JOIN, room, member);
    c.arg.room.share = text(share);
    c.arg.room.fields = *or_none(fields);
    return run_once(e, &c, NULL);
}

enum usher_status ask_room_unshare(struct usher_engine *e, const char *room, const char *share)
{
    struct usher_operation c;

    begin(&c, USHER_ROOM_UNSHARE, room);
    c.arg.room.share = text(share);
    return run_once(e, &c, NULL);
}

static enum usher_status room_read(struct usher_engine *e, enum usher_verb verb, const char *room,
                                   uint64_t given, uint64_t after, uint64_t since, size_t max,
                                   struct usher_result *ret_reply)
{
    struct usher_operation c;

    begin(&c, verb, room);
    c.arg.room.after = (int64_t)after;
    c.arg.room.since = (int64_t)since;
    c.arg.room.max = (int64_t)max;
    c.given = given | (after != 0 ? USHER_GIVEN_ROOM_AFTER : 0u) |
              (since != 0 ? USHER_GIVEN_ROOM_SINCE : 0u) | (max != 0 ? USHER_GIVEN_ROOM_MAX : 0u);
    return run(e, &c, ret_reply);
}

enum usher_status ask_room_snapshot(struct usher_engine *e, const char *room, uint64_t after,
                                    uint64_t since, size_t max, struct usher_result *ret_reply)
{
    return room_read(e, USHER_ROOM_SNAPSHOT, room, 0, after, since, max, ret_reply);
}

enum usher_status ask_room_changes(struct usher_engine *e, const char *room, uint64_t since,
                                   size_t max, struct usher_result *ret_reply)
{
    return room_read(e, USHER_ROOM_CHANGES, room, USHER_GIVEN_ROOM_SINCE, 0, since, max, ret_reply);
}

enum usher_status ask_room_sweep(struct usher_engine *e, const char *room, int64_t ttl_ms,
                                 struct usher_result *ret_reply)
{
    struct usher_operation c;

    begin(&c, USHER_ROOM_SWEEP, room);
    c.arg.room.ttl_ms = ttl_ms;
    c.given = ttl_ms > 0 ? USHER_GIVEN_ROOM_TTL : 0u;
    return run(e, &c, ret_reply);
}

enum usher_replica_next replica_take(struct usher_replica *r,
                                     const struct usher_replica_question *q,
                                     const struct usher_result *result)
{
    struct usher_operation c;
    struct usher_reply *reply, *sent = NULL;
    enum usher_replica_next next;
    unsigned char *bytes;
    size_t size;

    begin(&c, q->kind == USHER_REPLICA_REPLAY ? USHER_ROOM_CHANGES : USHER_ROOM_SNAPSHOT, "r");
    reply = usher_reply_of(&c, result);
    size = usher_reply_pack(reply, NULL, 0);
    bytes = malloc(size + 1);
    if (bytes == NULL)
        abort();
    (void)usher_reply_pack(reply, bytes, size);
    (void)usher_reply_unpack(bytes, size, &sent);
    next = usher_replica_answer(r, q->ticket, sent);
    usher_reply_done(sent);
    usher_reply_done(reply);
    free(bytes);
    return next;
}

/* ---- serials ------------------------------------------------------------------------ */

enum usher_status ask_serial_rule(struct usher_engine *e, const char *rule, uint64_t given,
                                  struct usher_serial_form *inout)
{
    struct usher_operation c;
    struct usher_serial_args *a = &c.arg.serial;
    struct usher_result r;
    enum usher_status status;

    begin(&c, given != 0 ? USHER_SERIAL_RULE : USHER_SERIAL_SHOW, rule);
    c.given = given & ~(uint64_t)(USHER_GIVEN_SERIAL_PREFIX | USHER_GIVEN_SERIAL_SUFFIX |
                                  USHER_GIVEN_SERIAL_DATE);
    a->prefix = text((given & USHER_GIVEN_SERIAL_PREFIX) != 0 ? inout->prefix : NULL);
    a->suffix = text((given & USHER_GIVEN_SERIAL_SUFFIX) != 0 ? inout->suffix : NULL);
    a->date = text((given & USHER_GIVEN_SERIAL_DATE) != 0 ? inout->date : NULL);
    a->width = inout->width;
    a->base = inout->base;
    a->start = inout->start;
    a->step = inout->step;
    a->radix = inout->radix;
    a->check = inout->check;
    a->overflow = inout->overflow;
    a->max = inout->max;
    a->critical = inout->critical;
    a->batch = inout->batch;
    a->reset = inout->reset;
    a->zone_min = inout->zone_min;
    a->stamp = inout->stamp;
    a->mode = inout->mode;
    a->lease_ms = inout->lease_ms;
    a->requests = inout->requests;
    a->authority = inout->authority;
    a->log = inout->log;
    a->push = inout->push;
    memset(&r, 0, sizeof r);
    status = run(e, &c, &r);
    if (USHER_IS_DONE(status) && !usher_serial_form_of(&r, inout)) {
        usher__message_set("serial rule: the store is damaged: a rule");
        status = USHER_UNAVAILABLE;
    }
    usher_result_done(&r);
    return status;
}

/* @n is given if its bit is. */
static enum usher_status serial_do(struct usher_engine *e, enum usher_verb verb, const char *rule,
                                   uint64_t given, int64_t n, struct usher_result *r)
{
    struct usher_operation c;

    begin(&c, verb, rule);
    c.given = given;
    if (given == USHER_GIVEN_SERIAL_N)
        c.arg.serial.n = n;
    else if (given == USHER_GIVEN_SERIAL_BY)
        c.arg.serial.by = n;
    else if (given == USHER_GIVEN_SERIAL_MAX)
        c.arg.serial.max = n;
    return run_once(e, &c, r);
}

enum usher_status ask_serial_delete(struct usher_engine *e, const char *rule)
{
    return serial_do(e, USHER_SERIAL_DELETE, rule, 0, 0, NULL);
}

enum usher_status ask_serial_fill(struct usher_engine *e, const char *rule, int64_t n)
{
    return serial_do(e, USHER_SERIAL_FILL, rule, USHER_GIVEN_SERIAL_N, n, NULL);
}

enum usher_status ask_serial_tick(struct usher_engine *e, const char *rule)
{
    return serial_do(e, USHER_SERIAL_TICK, rule, 0, 0, NULL);
}

enum usher_status ask_serial_setmaxcur(struct usher_engine *e, const char *rule, int64_t cur)
{
    return serial_do(e, USHER_SERIAL_SETMAXCUR, rule, USHER_GIVEN_SERIAL_MAX, cur, NULL);
}

enum usher_status ask_serial_setmax(struct usher_engine *e, const char *rule, int64_t step,
                                    int64_t *ret_max)
{
    struct usher_result r;
    enum usher_status status =
        serial_do(e, USHER_SERIAL_SETMAX, rule, USHER_GIVEN_SERIAL_BY, step, &r);

    if (ret_max != NULL && status == USHER_OK)
        *ret_max = r.of.serial.max;
    return status;
}

enum usher_status ask_serial_check(struct usher_engine *e, const char *rule,
                                   struct usher_serial_stock *ret_stock)
{
    struct usher_result r;
    enum usher_status status = serial_do(e, USHER_SERIAL_CHECK, rule, 0, 0, &r);

    if (status == USHER_OK)
        *ret_stock = r.of.serial.of.stock;
    return status;
}

enum usher_status ask_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                  const char *request, struct usher_result *ret_reply)
{
    struct usher_operation c;

    begin(&c, USHER_SERIAL_TAKE, rule);
    c.given = USHER_GIVEN_SERIAL_N;
    c.arg.serial.n = n;
    c.request = text(request);
    return run(e, &c, ret_reply);
}

enum usher_status ask_serial_reserve(struct usher_engine *e, const char *rule, const char *owner,
                                     int64_t lease_ms, const char *request,
                                     struct ask_serial_hold *ret_hold)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_SERIAL_RESERVE, rule);
    c.arg.serial.owner = text(owner);
    c.request = text(request);
    c.given = lease_ms != 0 ? USHER_GIVEN_SERIAL_LEASE : 0u;
    c.arg.serial.lease_ms = lease_ms > 0 ? lease_ms : 0;
    memset(&r, 0, sizeof r);
    status = run(e, &c, &r);
    if (USHER_IS_DONE(status)) {
        ret_hold->token = r.of.serial.token;
        ret_hold->until_ms = r.of.serial.until_ms;
        ret_hold->number = r.of.serial.n_rows == 1 ? r.of.serial.rows->first : 0;
        ret_hold->epoch = r.epoch;
        ret_hold->version = r.version;
        (void)usher_serial_text(&r, 0, ret_hold->serial, sizeof ret_hold->serial);
    }
    usher_result_done(&r);
    return status;
}

static enum usher_status hold_end(struct usher_engine *e, enum usher_verb verb, const char *rule,
                                  const char *serial, uint64_t token)
{
    struct usher_operation c;

    begin(&c, verb, rule);
    c.given = USHER_GIVEN_SERIAL_TOKEN;
    c.arg.serial.token = token;
    c.arg.serial.serial = text(serial);
    return run_once(e, &c, NULL);
}

enum usher_status ask_serial_confirm(struct usher_engine *e, const char *rule, const char *serial,
                                     uint64_t token)
{
    return hold_end(e, USHER_SERIAL_CONFIRM, rule, serial, token);
}

enum usher_status ask_serial_return(struct usher_engine *e, const char *rule, const char *serial,
                                    uint64_t token)
{
    return hold_end(e, USHER_SERIAL_RETURN, rule, serial, token);
}

enum usher_status ask_serial_renew(struct usher_engine *e, const char *rule, const char *serial,
                                   uint64_t token, int64_t lease_ms)
{
    struct usher_operation c;

    begin(&c, USHER_SERIAL_RENEW, rule);
    c.given = USHER_GIVEN_SERIAL_TOKEN | USHER_GIVEN_SERIAL_LEASE;
    c.arg.serial.token = token;
    c.arg.serial.serial = text(serial);
    c.arg.serial.lease_ms = lease_ms;
    return run_once(e, &c, NULL);
}

enum usher_status ask_serial_void(struct usher_engine *e, const char *rule, const char *serial,
                                  uint64_t token)
{
    return hold_end(e, USHER_SERIAL_VOID, rule, serial, token);
}

enum usher_status ask_serial_number(struct usher_engine *e, const char *rule, const char *serial,
                                    struct ask_serial_found *ret_number)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_SERIAL_SHOW, rule);
    c.arg.serial.serial = text(serial);
    memset(&r, 0, sizeof r);
    status = run(e, &c, &r);
    if (status == USHER_OK && r.of.serial.n_rows == 1) {
        const struct usher_serial_result_row *row = r.of.serial.rows;

        memset(ret_number, 0, sizeof *ret_number);
        ret_number->state = row->state;
        ret_number->number = row->first;
        ret_number->token = r.of.serial.token;
        ret_number->until_ms = row->until_ms;
        if (row->owner.size != 0)
            memcpy(ret_number->owner, row->owner.data, row->owner.size);
        (void)usher_serial_text(&r, 0, ret_number->serial, sizeof ret_number->serial);
    }
    usher_result_done(&r);
    return status;
}

enum usher_status ask_serial_holds(struct usher_engine *e, const char *rule, const char *owner,
                                   size_t max, struct usher_result *ret_reply)
{
    struct usher_operation c;

    begin(&c, USHER_SERIAL_HOLDS, rule);
    c.arg.serial.owner = text(owner);
    c.arg.serial.n = (int64_t)max;
    c.given = max != 0 ? USHER_GIVEN_SERIAL_N : 0u;
    return run(e, &c, ret_reply);
}

enum usher_status ask_serial_sweep(struct usher_engine *e, const char *rule)
{
    struct usher_operation c;

    begin(&c, USHER_SERIAL_SWEEP, rule);
    return in_steps(e, &c, NULL);
}

/* ---- ids ---------------------------------------------------------------------------- */

static void id_begin(struct usher_operation *c, enum usher_verb verb, const char *name,
                     uint64_t given, const struct usher_id_result_settings *s)
{
    static const struct usher_id_result_settings none;
    struct usher_id_args *a = &c->arg.id;

    begin(c, verb, name);
    c->given = given;
    s = s != NULL ? s : &none;
    a->start = s->start;
    a->step = s->step;
    a->by = s->by;
    a->limit = s->limit;
    a->step_max = s->step_max;
    a->life_ms = s->life_ms;
    a->managed = s->managed;
    a->requests = s->requests;
}

enum usher_status ask_id_create(struct usher_engine *e, const char *name, uint64_t given,
                                const struct usher_id_result_settings *settings)
{
    struct usher_operation c;

    id_begin(&c, USHER_ID_CREATE, name, given, settings);
    return run_once(e, &c, NULL);
}

enum usher_status ask_id_next(struct usher_engine *e, const char *name, int64_t n,
                              const char *request, struct usher_id_range *ret_range)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_ID_NEXT, name);
    c.request = text(request);
    c.given = USHER_GIVEN_ID_N;
    c.arg.id.n = n;
    status = run_once(e, &c, &r);
    if (status == USHER_OK || status == USHER_FULL) {
        ret_range->first = r.of.id.first;
        ret_range->n = r.of.id.n;
        ret_range->by = r.of.id.by;
        ret_range->token = r.of.id.token;
        ret_range->epoch = r.epoch;
        ret_range->version = r.version;
    }
    return status;
}

enum usher_status ask_id_return(struct usher_engine *e, const char *name,
                                const struct usher_id_range *range)
{
    struct usher_operation c;
    char epoch[17];

    begin(&c, USHER_ID_RETURN, name);
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, range->epoch);
    c.arg.id.epoch = text(epoch);
    c.given = USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N | USHER_GIVEN_ID_TOKEN;
    c.arg.id.first = range->first;
    c.arg.id.n = range->n;
    c.arg.id.token = range->token;
    return run_once(e, &c, NULL);
}

enum usher_status ask_id_show(struct usher_engine *e, const char *name,
                              struct usher_id_result_row *ret_row)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    begin(&c, USHER_ID_SHOW, name);
    memset(&r, 0, sizeof r);
    status = run(e, &c, &r);
    if (status == USHER_OK)
        *ret_row = r.of.id.rows[0];
    usher_result_done(&r);
    return status;
}

enum usher_status ask_id_set(struct usher_engine *e, const char *name, uint64_t given,
                             struct usher_id_result_settings *inout, int64_t next)
{
    struct usher_operation c;
    struct usher_result r;
    enum usher_status status;

    id_begin(&c, USHER_ID_SET, name, given, inout);
    c.arg.id.next = next;
    status = run_once(e, &c, &r);
    if (USHER_IS_DONE(status))
        *inout = r.of.id.of.settings;
    if (status == USHER_REFUSED)
        inout->why = r.of.id.of.settings.why;
    return status;
}

enum usher_status ask_id_delete(struct usher_engine *e, const char *name)
{
    struct usher_operation c;

    begin(&c, USHER_ID_DELETE, name);
    return run_once(e, &c, NULL);
}

enum usher_status ask_id_install(struct usher_engine *e, const char *name, int64_t first, int64_t n,
                                 int64_t max)
{
    struct usher_operation c;

    begin(&c, USHER_ID_INSTALL, name);
    c.given = USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N | (max >= 0 ? USHER_GIVEN_ID_MAX : 0u);
    c.arg.id.first = first;
    c.arg.id.n = n;
    c.arg.id.max = max;
    return run_once(e, &c, NULL);
}
