/* SPDX-License-Identifier: MIT */
/* Queue transactions: the records of a queue, and changes of one user and one agent. */
#include "config.h"

#include "queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/text.h"
#include "core/wide.h"

bool usher__queue_texts(struct usher_unpacker *u, struct usher_text *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!usher_unpack_text(u, &to[i]))
            return false;
    return true;
}

bool usher__queue_agent_read(struct agent *a)
{
    struct usher_unpacker u = usher__unpacker(a->r.data.data, a->r.data.size);
    uint64_t n_lanes;
    size_t n;
    int64_t capacity = a->r.n[A_CAPACITY];

    if (capacity < 1 || capacity > USHER_QUEUE_CAPACITY_MAX || !usher_unpack_array(&u, &n) ||
        !usher_unpack_uint(&u, &n_lanes) || n_lanes < 1 || n_lanes > LANES_MAX ||
        n < 1 + n_lanes + (size_t)capacity)
        return false;
    a->n_lanes = (size_t)n_lanes;
    n -= 1 + a->n_lanes + (size_t)capacity;
    a->dirty = a->touched = a->served = a->leaving = false;
    a->since = 0; /* 0 for an agent of an earlier version of the library */
    a->session.data = NULL;
    a->session.size = 0;
    a->token = a->r.order;
    a->reason = a->session;
    a->was_open = is_open(&a->r);
    return usher__queue_texts(&u, a->lanes, a->n_lanes) &&
           usher__queue_texts(&u, a->rooms, (size_t)capacity) && (n <= 1 || n == 3 || n == 4) &&
           (n == 0 || usher_unpack_int(&u, &a->since)) &&
           (n < 3 || (usher_unpack_text(&u, &a->session) && usher_unpack_uint(&u, &a->token))) &&
           (n < 4 || usher_unpack_text(&u, &a->reason));
}

struct usher_text usher__queue_lanes_text(const struct agent *a, char to[LANES_TEXT])
{
    struct usher_text text = { to, 0 };

    for (size_t i = 0; i < a->n_lanes; i++) {
        if (i > 0)
            to[text.size++] = ',';
        memcpy(to + text.size, a->lanes[i].data, a->lanes[i].size);
        text.size += a->lanes[i].size;
    }
    return text;
}

enum usher_status usher__queue_agent_by_login(work *w, uint64_t login, struct usher_record *r)
{
    enum usher_status status;

    if (login == 0 || login >= UINT64_C(1) << 53)
        return USHER_MISSING;
    status = w->ops->walk(w->txn, &w->scope, KIND_AGENT, 2, NULL, 0, login - 1, false, r);
    return status == USHER_OK && r->order != login ? USHER_MISSING : status;
}

/* Load the agent of @qc: it is read once. */
static enum usher_status agent_hold(work *w, struct queue_change *qc, const struct usher_text *id)
{
    enum usher_status status;

    if (qc->has_agent)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, KIND_AGENT, id, &qc->agent.r);
    if (status != USHER_OK)
        return status == USHER_MISSING ? damaged(w) : status;
    if (!usher__queue_agent_read(&qc->agent))
        return damaged(w);
    qc->has_agent = true;
    return USHER_OK;
}

enum usher_status usher__queue_agent_hold_this(work *w, struct queue_change *qc,
                                               const struct usher_record *r)
{
    qc->agent.r = *r;
    if (!usher__queue_agent_read(&qc->agent))
        return damaged(w);
    qc->has_agent = true;
    return USHER_OK;
}

struct usher__move usher__queue_agent_move(work *w, const struct usher_record *r, unsigned event,
                                           unsigned guard)
{
    return usher__work_move(w, &usher__agent_machine, r->state, event, guard);
}

void usher__queue_agent_event(work *w, struct queue_change *qc, unsigned event, int64_t at)
{
    struct agent *a = &qc->agent;
    unsigned to = usher__queue_agent_move(w, &a->r, event, USHER__ANY).to;
    int64_t *counts = qc->c.scope->counts;

    if (to != a->r.state) {
        if (a->r.state != USHER_QUEUE_AGENT_GONE)
            counts[a->r.state]--;
        if (to != USHER_QUEUE_AGENT_GONE)
            counts[to]++;
        a->r.n[A_STATE_SINCE] = at;
    }
    a->r.state = (uint8_t)to;
    a->dirty = true;
}

/* Set the place of the link @r of @a, which is open: see enum usher_queue_strategy.  It depends on
 * both records. */
static void link_place(const struct usher_scope *s, const struct usher_record *a,
                       struct usher_record *r)
{
    uint64_t rank = 0, base = r->token;

    switch (s->settings[SET_STRATEGY]) {
    case USHER_QUEUE_STRATEGY_LONGEST_IDLE:
        rank = used(a) > 0;
        break;
    case USHER_QUEUE_STRATEGY_FEWEST_SERVED:
        rank = (uint64_t)a->n[A_SERVED];
        break;
    case USHER_QUEUE_STRATEGY_LEAST_BUSY:
        rank = (uint64_t)used(a);
        break;
    case USHER_QUEUE_STRATEGY_LEVEL:
        rank = (uint64_t)a->n[A_LEVEL];
        break;
    case USHER_QUEUE_STRATEGY_RANDOM:
        rank = usher__draw(r->token);
        break;
    default:
        base = a->token;
        break;
    }
    r->rank = (uint64_t)s->settings[SET_STRATEGY] * RANKS + rank % RANKS;
    r->order = base * 16 + r->order % 16;
}

static struct usher_text link_id(char buffer[32], uint64_t login, size_t i)
{
    struct usher_text id = { buffer, usher__wide_text((int64_t)login, buffer) };

    buffer[id.size++] = '.';
    id.size += usher__wide_text((int64_t)i, buffer + id.size);
    return id;
}

/* Save the records of the lanes that @a serves; @qc is its login. */
static void servers_save(struct queue_change *qc, const struct agent *a)
{
    char *ids = (char *)qc->user_data + (size_t)LANES_MAX * 32; /* free at a login */

    for (size_t i = 0; i < a->n_lanes; i++, ids += 32) {
        struct usher_record r = { .kind = KIND_LINK, .slots = 4u };

        r.id = link_id(ids, a->r.order, i);
        ids[r.id.size++] = 's';
        r.owner = a->lanes[i];
        r.group = a->r.id;
        r.order = a->r.order * 16 + i;
        usher__change_save(&qc->c, &r);
    }
    qc->c.scope->counts[COUNT_FOR_ALL] += usher__text_equal(&a->lanes[0], &all_lanes);
}

enum usher_status usher__queue_server(work *w, const struct usher_text *lane, uint64_t order,
                                      struct usher_record *r)
{
    return w->ops->walk(w->txn, &w->scope, KIND_LINK, 2, lane, 0, order, false, r);
}

/* Save the links of the agent to its lanes. */
static enum usher_status links_save(work *w, struct queue_change *qc, bool fresh)
{
    struct agent *a = &qc->agent;
    bool open = is_open(&a->r);

    if (!fresh && open == a->was_open && !(open && (a->touched || a->served)))
        return USHER_OK;
    for (size_t i = 0; i < a->n_lanes; i++) {
        char buffer[32];
        struct usher_text id = link_id(buffer, a->r.order, i);
        struct usher_record r;

        if (fresh) {
            memset(&r, 0, sizeof r);
            r.kind = KIND_LINK;
            r.group = a->lanes[i];
            r.owner = a->r.id;
            r.order = a->r.order * 16 + i;
        } else {
            enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_LINK, &id, &r);

            if (status != USHER_OK)
                return status == USHER_MISSING ? damaged(w) : status;
        }
        if (fresh) {
            memcpy(qc->user_data + i * 32, buffer, 32); /* free at a login */
            r.id.data = (const char *)qc->user_data + i * 32;
            r.id.size = id.size;
        }
        r.slots = open ? 1u : 0;
        r.rank = 0;
        if (open && (a->touched || !a->was_open))
            r.token = qc->c.scope->version;
        if (open)
            link_place(qc->c.scope, &a->r, &r);
        usher__change_save(&qc->c, &r);
    }
    return USHER_OK;
}

enum usher_status usher__queue_links_erase(work *w, struct queue_change *qc)
{
    for (size_t i = 0; i < qc->agent.n_lanes; i++) {
        char buffer[32];
        struct usher_text id = link_id(buffer, qc->agent.r.order, i);
        struct usher_record r;
        enum usher_status status = w->ops->find(w->txn, &w->scope, KIND_LINK, &id, &r);

        if (status == USHER_OK) {
            usher__change_erase(&qc->c, &r);
            buffer[id.size++] = 's';
            status = w->ops->find(w->txn, &w->scope, KIND_LINK, &id, &r);
        }
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        usher__change_erase(&qc->c, &r);
    }
    qc->c.scope->counts[COUNT_FOR_ALL] -= usher__text_equal(&qc->agent.lanes[0], &all_lanes);
    return USHER_OK;
}

enum usher_status usher__queue_rank_anew(work *w, int64_t max)
{
    uint64_t strategy = (uint64_t)w->scope.settings[SET_STRATEGY], rank = 0, order = 0;
    enum usher_status status = USHER_OK;

    while (status == USHER_OK && max > 0 && (w->scope.counts[COUNT_OLD] & OLD_RANKS) != 0) {
        struct usher__change c;

        usher__change_begin_quietly(w, &c);
        while (status == USHER_OK && max > 0 && c.n < USHER_CHANGE_MAX) {
            struct usher_record *r = usher__change_next(&c), a;

            status = w->ops->walk(w->txn, &w->scope, KIND_LINK, 0, NULL, rank, order, false, r);
            if (status == USHER_OK && r->rank / RANKS == strategy) {
                rank = (strategy + 1) * RANKS - 1; /* after all of these */
                order = (UINT64_C(1) << 53) - 1;
            } else if (status == USHER_OK) {
                rank = r->rank;
                order = r->order;
                status = w->ops->find(w->txn, &w->scope, KIND_AGENT, &r->owner, &a);
                if (status == USHER_MISSING)
                    return damaged(w);
                link_place(&w->scope, &a, r);
                usher__change_save(&c, r);
                max--;
            }
        }
        if (status == USHER_MISSING)
            c.scope->counts[COUNT_OLD] &= ~(int64_t)OLD_RANKS;
        if (status == USHER_OK || status == USHER_MISSING)
            status = usher__change_write(w, &c);
    }
    return status;
}

enum usher_status usher__queue_agent_save(work *w, struct queue_change *qc, bool fresh)
{
    struct agent *a = &qc->agent;
    struct usher__packer p = { qc->agent_data, sizeof qc->agent_data, 0 };
    bool reason = a->reason.size != 0, session = reason || a->session.size != 0;

    usher__pack_array(&p, 2 + a->n_lanes + (size_t)a->r.n[A_CAPACITY] + (session ? 2 : 0) + reason);
    usher__pack_uint(&p, a->n_lanes);
    for (size_t i = 0; i < a->n_lanes; i++)
        usher__pack_text(&p, a->lanes[i].data, a->lanes[i].size);
    for (int64_t i = 0; i < a->r.n[A_CAPACITY]; i++)
        usher__pack_text(&p, a->rooms[i].data, a->rooms[i].size);
    usher__pack_int(&p, a->since);
    if (session) {
        usher__pack_text(&p, a->session.data, a->session.size);
        usher__pack_uint(&p, a->token);
    }
    if (reason)
        usher__pack_text(&p, a->reason.data, a->reason.size);
    a->r.data.data = (const char *)qc->agent_data;
    a->r.data.size = p.n;
    usher__queue_agent_settle(&a->r);
    usher__change_save(&qc->c, &a->r);
    if (fresh)
        servers_save(qc, a);
    return links_save(w, qc, fresh);
}

/* ---- lanes ------------------------------------------------------------------------ */

enum usher_status usher__queue_lane_hold(work *w, struct queue_change *qc,
                                         const struct usher_text *id, struct lane **ret)
{
    struct lane *l;
    enum usher_status status = USHER_MISSING;

    for (unsigned i = 0; i < qc->n_lanes; i++)
        if (usher__text_equal(&qc->lanes[i].r.id, id)) {
            *ret = &qc->lanes[i];
            return USHER_OK;
        }
    l = &qc->lanes[qc->n_lanes];
    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, KIND_LANE, id, &l->r);
    l->dirty = l->turned = false;
    if (status == USHER_MISSING) {
        memset(&l->r, 0, sizeof l->r);
        l->r.kind = KIND_LANE;
        l->r.id = *id;
        l->r.data.data = memset(l->data, 0, sizeof l->data);
    } else if (status != USHER_OK) {
        return status;
    } else if (l->r.data.size != sizeof l->data) {
        return damaged(w);
    }
    l->r.data.size = sizeof l->data;
    qc->n_lanes++;
    *ret = l;
    return USHER_OK;
}

enum usher_status usher__queue_lane_over(work *w, struct usher_record *r)
{
    uint64_t today = (uint64_t)usher__queue_day(&w->scope, w->now);
    uint64_t rank = 0, order = 0;

    if (w->scope.ref == NULL)
        return USHER_MISSING;
    for (;;) {
        struct usher_record server;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, KIND_LANE, 0, NULL, rank, order, false, r);

        if (status == USHER_OK && r->rank >= today)
            status = USHER_MISSING;
        if (status != USHER_OK)
            return status;
        if (r->n[L_WAITING] == 0 && r->n[L_OFFERED] == 0 && r->n[L_SEATED] == 0 &&
            r->n[L_AWAY] == 0) {
            status = usher__queue_server(w, &r->id, 0, &server);
            if (status != USHER_OK)
                return status == USHER_MISSING ? USHER_OK : status;
        }
        rank = r->rank;
        order = r->order;
    }
}

/* A day that is later than all others. */
#define LANE_IN_USE (UINT64_C(1) << 52)

static void lane_save(struct queue_change *qc, struct lane *l)
{
    if (l->r.ref == NULL) {
        qc->c.scope->counts[COUNT_LANES]++;
        l->r.order = qc->c.scope->version;
    }
    l->r.slots = 1u;
    /* a search for a lane without users stops before those with users */
    l->r.rank = (l->r.n[L_WAITING] | l->r.n[L_OFFERED] | l->r.n[L_SEATED] | l->r.n[L_AWAY]) != 0
                    ? LANE_IN_USE
                    : (uint64_t)figure(l, F_DAY);
    usher__change_save(&qc->c, &l->r);
    if (l->turned)
        usher__change_save(&qc->c, &l->earlier.r);
}

void usher__queue_count(struct queue_change *qc, struct lane *l, unsigned state, int64_t by)
{
    qc->c.scope->counts[COUNT_USERS + state] += by;
    l->r.n[state - 1] += by;
    l->dirty = true;
}

/* ---- queue transactions --------------------------------------------------------------- */

void usher__queue_change_init(struct queue_change *qc)
{
    qc->begun = false;
    qc->failed = USHER_OK;
    qc->has_agent = false;
    qc->n_lanes = 0;
}

static struct usher_text text_of(const char *word)
{
    return (struct usher_text){ word, strlen(word) };
}

/* Add the actor of the command to @fields, if the change is one of its own: `free` ends with
 * `ready`. Return the number of fields. */
static size_t add_actor(const work *w, enum usher_verb verb, struct usher__notice_field *field)
{
    const struct usher_text *actor = &args(w)->actor;
    bool own = verb == w->command->verb ||
               (verb == USHER_QUEUE_READY && w->command->verb == USHER_QUEUE_FREE);

    if (!own || actor->data == NULL)
        return 0;
    *field = (struct usher__notice_field){ "actor", 0, actor };
    return 1;
}

/* Add data to the notice of a user: the lane; priority and arrival while the user is in the queue;
 * the outcome of a visit that has ended; the room that the user has, or had until this change, and
 * the visit, with the state of the agent after it. */
static enum usher_status add_user_data(work *w, struct queue_change *qc)
{
    const struct subject *subject = &qc->subject;
    const int64_t *n = subject->r.n;
    struct usher_text outcome = text_of(usher_queue_outcome_word(subject->outcome)), state;
    char name[2 * USHER__WIDE_TEXT];
    struct usher_text room = { name, 0 };
    struct usher__notice_field fields[9] = { { "lane", 0, &subject->r.group } };
    size_t k = 1;

    if (subject->to != USHER_QUEUE_USER_GONE) {
        fields[k++] = (struct usher__notice_field){ "priority", n[U_PRIORITY], NULL };
        fields[k++] = (struct usher__notice_field){ "since", n[U_SINCE], NULL };
    }
    if (subject->outcome != USHER_QUEUE_OUTCOME_NONE)
        fields[k++] = (struct usher__notice_field){ "outcome", 0, &outcome };
    if (subject->login != 0) {
        const struct usher_record *a = &qc->agent.r;

        room.size = usher__wide_text((int64_t)subject->login, name);
        name[room.size++] = '.';
        room.size += usher__wide_text(n[U_NO], name + room.size);
        fields[k++] = (struct usher__notice_field){ "room", 0, &room };
        fields[k++] = (struct usher__notice_field){ "visit", (int64_t)subject->r.token, NULL };
        state = text_of(usher_queue_agent_state_word(shown(a)));
        fields[k++] = (struct usher__notice_field){ "agent_state", 0, &state };
        if (usher__queue_agent_until(a) != 0)
            fields[k++] =
                (struct usher__notice_field){ "agent_until", usher__queue_agent_until(a), NULL };
    }
    k += add_actor(w, subject->verb, &fields[k]);
    return usher__change_data(w, &qc->c, fields, k);
}

/* Add data to the notice of a login: lanes, capacity and level of the agent, and the reason of its
 * pause. */
static enum usher_status add_login_data(work *w, struct queue_change *qc)
{
    const struct agent *a = &qc->agent;
    char names[LANES_TEXT];
    const struct usher_text lanes = usher__queue_lanes_text(a, names);
    const struct usher__notice_field fields[] = { { "lanes", 0, &lanes },
                                                  { "capacity", a->r.n[A_CAPACITY], NULL },
                                                  { "level", a->r.n[A_LEVEL], NULL },
                                                  { "reason", 0, &a->reason } };

    return usher__change_data(w, &qc->c, fields, a->reason.size != 0 ? 4 : 3);
}

/* Add data to the notice of an agent: the reason of a pause that has begun, or another one, and the
 * actor. */
static enum usher_status add_agent_data(work *w, struct queue_change *qc)
{
    struct usher__notice_field fields[2];
    size_t n = 0;

    if (qc->subject.verb == USHER_QUEUE_PAUSE && qc->agent.reason.size != 0)
        fields[n++] = (struct usher__notice_field){ "reason", 0, &qc->agent.reason };
    n += add_actor(w, qc->subject.verb, &fields[n]);
    return n != 0 ? usher__change_data(w, &qc->c, fields, n) : USHER_OK;
}

static enum usher_status add_data(work *w, struct queue_change *qc)
{
    if (!qc->heard)
        return USHER_OK;
    if (qc->subject.r.kind == KIND_USER)
        return add_user_data(w, qc);
    if (qc->subject.verb == USHER_QUEUE_LOGIN)
        return add_login_data(w, qc);
    return add_agent_data(w, qc);
}

void usher__queue_change_step(work *w, struct queue_change *qc)
{
    if (!qc->begun) {
        usher__change_begin(w, &qc->c);
        qc->begun = true;
        qc->heard = usher__change_observed(w, &qc->c);
        return;
    }
    if (qc->failed == USHER_OK)
        qc->failed = add_data(w, qc);
    usher__change_split(w, &qc->c, qc->subject.verb, qc->subject.from, qc->subject.to,
                        &qc->subject.r);
}

void usher__queue_change_subject(struct queue_change *qc, enum usher_verb verb, unsigned from,
                                 const struct usher_record *r)
{
    bool agent = r->kind == KIND_AGENT;

    qc->subject.verb = verb;
    qc->subject.from = from;
    qc->subject.to = agent ? shown(r) : r->state;
    qc->subject.outcome = USHER_QUEUE_OUTCOME_NONE;
    qc->subject.login =
        r->kind == KIND_USER && r->owner.size != 0 && qc->has_agent ? qc->agent.r.order : 0;
    if (qc->heard) {
        qc->subject.r = *r;
        /* without the deadline of a heartbeat: the next heartbeat moves it, and makes no notice */
        qc->subject.r.until_ms = agent                  ? usher__queue_agent_until(r)
                                 : r->kind == KIND_USER ? usher__queue_user_until(r)
                                                        : 0;
    }
}

enum usher_status usher__queue_change_commit(work *w, struct queue_change *qc)
{
    enum usher_status status = qc->failed;

    if (!qc->begun || status != USHER_OK)
        return status;
    if (qc->has_agent && qc->agent.dirty)
        status = usher__queue_agent_save(w, qc, false);
    for (unsigned i = 0; i < qc->n_lanes; i++)
        if (qc->lanes[i].dirty)
            lane_save(qc, &qc->lanes[i]);
    if (status == USHER_OK)
        status = add_data(w, qc);
    if (status == USHER_OK)
        status = usher__change_commit(w, &qc->c, qc->subject.verb, qc->subject.from, qc->subject.to,
                                      &qc->subject.r);
    return status;
}

void usher__queue_pending_agent(struct run *run, uint64_t login)
{
    struct pending *t = run->pending;

    for (unsigned i = 0; i < t->n_agents; i++)
        if (t->agents[i] == login)
            return;
    if (t->n_agents < sizeof t->agents / sizeof *t->agents)
        t->agents[t->n_agents++] = login;
}

void usher__queue_pending_user(struct run *run, const struct usher_record *r)
{
    struct pending *t = run->pending;
    unsigned i = t->n_users;

    if (r->state != USHER_QUEUE_USER_WAITING || i == sizeof t->users / sizeof *t->users)
        return;
    for (; i > 0 && (t->users[i - 1].rank > r->rank ||
                     (t->users[i - 1].rank == r->rank && t->users[i - 1].order > r->order));
         i--)
        t->users[i] = t->users[i - 1];
    t->users[i].rank = r->rank;
    t->users[i].order = r->order;
    t->n_users++;
}

/* ---- users ------------------------------------------------------------------------ */

void usher__queue_agent_settle(struct usher_record *r)
{
    r->until_ms = nearer(r->n[A_BEAT], r->n[A_WRAP]);
    r->slots = usher__machine_lists(&usher__agent_machine, r->state, r->until_ms);
}

void usher__queue_user_settle(struct usher_record *r, unsigned to)
{
    r->state = (uint8_t)to;
    switch (to) {
    case USHER_QUEUE_USER_WAITING:
        r->until_ms = nearer(r->n[U_BEAT], r->n[U_PATIENCE]);
        break;
    case USHER_QUEUE_USER_AWAY:
        r->until_ms = nearer(r->n[U_END], r->n[U_PATIENCE]);
        break;
    case USHER_QUEUE_USER_OFFERED:
        r->until_ms = nearer(r->n[U_BEAT], r->n[U_END]);
        break;
    default:
        r->until_ms = r->n[U_BEAT];
        break;
    }
    r->slots = usher__machine_lists(&usher__user_machine, to, r->until_ms);
    r->rank = (r->slots & USHER__LIST_READY) != 0 ? place(r) : 0;
    if ((r->slots & USHER__LIST_HELD) == 0) {
        r->owner.data = NULL;
        r->owner.size = 0;
        r->token = 0;
        r->n[U_MATCHED] = r->n[U_NO] = 0;
    }
}

struct usher__move usher__queue_user_move(work *w, const struct usher_record *r, unsigned event)
{
    return usher__work_move(w, &usher__user_machine, r->state, event,
                            w->scope.settings[SET_GRACE] > 0 ? USHER__USER_IF_GRACE : USHER__ANY);
}

/* Remove @u from its room of the agent of @qc. */
static enum usher_status room_empty(struct run *run, struct queue_change *qc,
                                    const struct usher_record *u, int64_t at)
{
    work *w = run->w;
    struct agent *a = &qc->agent;
    bool seated = u->state == USHER_QUEUE_USER_SEATED;
    enum usher_status status = agent_hold(w, qc, &u->owner);
    int64_t *n = a->r.n;
    unsigned event = USHER__AGENT_KEEP;

    if (status != USHER_OK)
        return status;
    if (u->n[U_NO] < 1 || u->n[U_NO] > n[A_CAPACITY] ||
        !usher__text_equal(&a->rooms[u->n[U_NO] - 1], &u->id))
        return damaged(w);
    a->rooms[u->n[U_NO] - 1].data = "";
    a->rooms[u->n[U_NO] - 1].size = 0;
    n[seated ? A_SEATED : A_OFFERS] -= seated ? 1 : 4;
    a->dirty = true;
    if (a->leaving)
        return USHER_OK;
    a->touched = true;
    if (seated && w->scope.settings[SET_WRAPUP] > 0)
        n[A_WRAP] = at + w->scope.settings[SET_WRAPUP];
    if (used(&a->r) == 0)
        event = n[A_OFFERS] != 0 ? USHER__AGENT_REST
                : n[A_WRAP] != 0 ? USHER__AGENT_WRAP
                                 : USHER__AGENT_CLEAR;
    if (event == USHER__AGENT_REST)
        n[A_OFFERS] = n[A_WRAP] = 0;
    if (event != USHER__AGENT_KEEP || (seated && n[A_SEATED] == 0))
        usher__queue_agent_event(w, qc, event, at);
    usher__queue_pending_agent(run, a->r.order);
    return USHER_OK;
}

/* Return the row of `history` for the visit of @u, which still has the values of its room. */
static struct usher_queue_result_row visit_row(const struct queue_change *qc,
                                               const struct usher_record *u,
                                               enum usher_queue_outcome outcome, int64_t at)
{
    struct usher_queue_result_row row = { .user = u->id, .agent = u->owner, .lane = u->group };
    bool seated = u->state == USHER_QUEUE_USER_SEATED;

    row.state = (int)outcome;
    if (u->n[U_NO] != 0) {
        row.login = qc->agent.r.order;
        row.no = u->n[U_NO];
    }
    row.priority = u->n[U_PRIORITY];
    row.since_ms = u->n[U_SINCE];
    row.applied_ms = u->n[U_APPLIED];
    row.matched_ms = seated ? u->n[U_MATCHED] : 0;
    row.until_ms = at;
    row.wait_ms = lasted(row.applied_ms, seated ? row.matched_ms : at);
    row.talk_ms = seated ? lasted(row.matched_ms, at) : 0;
    row.version = qc->c.scope->version;
    row.token = u->token;
    return row;
}

/* End the visit of @u, or its stay with an agent that left: count and store it.  @u still has the
 * values of its room. */
static enum usher_status visit_end(work *w, struct queue_change *qc, struct lane *l,
                                   const struct usher_record *u, enum usher_queue_outcome outcome,
                                   int64_t at)
{
    struct usher_scope *s = qc->c.scope;
    int64_t *counts = s->counts;
    struct usher_record v, old;
    int64_t archive = s->settings[SET_ARCHIVE], history = s->settings[SET_HISTORY];
    enum usher_status status = usher__queue_count_ended(w, l, u, outcome, at);

    if (status != USHER_OK)
        return status;
    if (w->ops->append != NULL) {
        struct usher_queue_result_row row = visit_row(qc, u, outcome, at);

        status = w->ops->append(w->txn, s, &row);
    }
    if (status != USHER_OK)
        return status;
    if (archive == 0 && history == 0 && counts[COUNT_VISITS] == 0)
        return USHER_OK;
    if (archive == 0 && history == 0) { /* it was larger before: two are erased for each new one */
        uint64_t behind = 0;

        for (int i = 0; i < 2; i++) {
            status = w->ops->walk(w->txn, &w->scope, KIND_VISIT, 0, NULL, 0, behind, false, &old);
            if (status == USHER_MISSING)
                break;
            if (status != USHER_OK)
                return status;
            behind = old.order;
            usher__change_erase(&qc->c, &old);
            counts[COUNT_VISITS]--;
        }
        return USHER_OK;
    }
    memset(&v, 0, sizeof v);
    v.kind = KIND_VISIT;
    v.state = (uint8_t)outcome;
    v.id.data = qc->visit_id;
    v.id.size = usher__wide_text((int64_t)s->version, qc->visit_id);
    v.until_ms = USHER__FOREVER;
    v.owner = u->owner;
    v.group = u->id;
    v.data = u->group;
    v.n[VISIT_PRIORITY] = u->n[U_PRIORITY];
    v.n[VISIT_SINCE] = u->n[U_SINCE];
    v.n[VISIT_APPLIED] = u->n[U_APPLIED];
    v.n[VISIT_SEATED] = u->state == USHER_QUEUE_USER_SEATED ? u->n[U_MATCHED] : 0;
    v.n[VISIT_END] = at;
    v.n[VISIT_LOGIN] = u->n[U_NO] != 0 ? (int64_t)qc->agent.r.order : 0;
    v.n[VISIT_NO] = u->n[U_NO];
    v.n[VISIT_TOKEN] = (int64_t)u->token;
    if (archive == 0)
        return usher__change_remember(w, &qc->c, &v, &counts[COUNT_VISITS], history);
    /* none is erased before it is in a history: see drain */
    v.slots = 1u;
    v.order = s->version;
    counts[COUNT_VISITS]++;
    usher__change_save(&qc->c, &v);
    return USHER_OK;
}

static enum usher_status user_gone(struct run *run, struct queue_change *qc, struct usher_record *u,
                                   enum usher_queue_outcome outcome, enum usher_verb verb,
                                   int64_t at)
{
    work *w = run->w;
    unsigned from = u->state;
    enum usher_status status = USHER_OK;
    struct lane *l;

    usher__queue_change_step(w, qc);
    if (u->owner.size != 0)
        status = room_empty(run, qc, u, at);
    if (status == USHER_OK)
        status = usher__queue_lane_hold(w, qc, &u->group, &l);
    if (status == USHER_OK)
        status = visit_end(w, qc, l, u, outcome, at);
    if (status == USHER_OK)
        status = usher__queue_forget(w, qc, u, at);
    if (status != USHER_OK)
        return status;
    usher__queue_count(qc, l, from, -1);
    usher__change_erase(&qc->c, u);
    usher__queue_change_subject(qc, verb, from, u);
    qc->subject.to = USHER_QUEUE_USER_GONE;
    qc->subject.outcome = outcome;
    qc->subject.r.until_ms = 0;
    return status;
}

enum usher_status usher__queue_user_save(work *w, struct queue_change *qc, struct usher_record *u,
                                         unsigned from)
{
    struct lane *l;
    enum usher_status status = usher__queue_lane_hold(w, qc, &u->group, &l);

    if (status != USHER_OK)
        return status;
    if (from != USHER_QUEUE_USER_GONE)
        usher__queue_count(qc, l, from, -1);
    usher__queue_count(qc, l, u->state, 1);
    usher__change_save(&qc->c, u);
    return USHER_OK;
}

/* @u, which still has the values of its room, waits from now on.  Time in a room does not count as
 * waiting: it has the patience that was left when it got the room.  Time in an offer counts, but an
 * offer is not cut: a user whose patience ends during an offer times out at the end of the
 * offer. */
static void patience_back(struct usher_record *u, int64_t at)
{
    int64_t *n = u->n, left = n[U_PATIENCE] - n[U_MATCHED];

    if (u->state == USHER_QUEUE_USER_SEATED) {
        n[U_APPLIED] = at;
        if (n[U_PATIENCE] != 0)
            n[U_PATIENCE] =
                at + (left > USHER_QUEUE_PATIENCE_LEFT ? left : USHER_QUEUE_PATIENCE_LEFT);
    } else if (n[U_PATIENCE] != 0 && n[U_PATIENCE] < at) {
        n[U_PATIENCE] = at;
    }
}

static enum usher_status user_back(struct run *run, struct queue_change *qc, struct usher_record *u,
                                   unsigned to, bool reject, enum usher_verb verb, int64_t at)
{
    work *w = run->w;
    unsigned from = u->state;
    struct usher_text agent = u->owner;
    uint64_t token = u->token;
    int64_t no = u->n[U_NO];
    struct lane *l;
    enum usher_status status = USHER_OK;

    usher__queue_change_step(w, qc);
    if (u->owner.size != 0) {
        status = room_empty(run, qc, u, at);
        if (status == USHER_OK && reject)
            status = usher__queue_refuse(w, qc, u, &qc->agent.r.id, at);
        if (status == USHER_OK && from == USHER_QUEUE_USER_SEATED)
            status = usher__queue_lane_hold(w, qc, &u->group, &l);
        if (status == USHER_OK && from == USHER_QUEUE_USER_SEATED)
            status = visit_end(w, qc, l, u, USHER_QUEUE_OUTCOME_REQUEUED, at);
    }
    if (status != USHER_OK)
        return status;
    patience_back(u, at);
    u->n[U_END] = to == USHER_QUEUE_USER_AWAY ? at + w->scope.settings[SET_GRACE] : 0;
    if (to == USHER_QUEUE_USER_AWAY)
        u->n[U_BEAT] = 0;
    usher__queue_user_settle(u, to);
    status = usher__queue_user_save(w, qc, u, from);
    usher__queue_change_subject(qc, verb, from, u);
    if (agent.size != 0) { /* like the end of a hold, which has its owner and token */
        qc->subject.login = qc->agent.r.order;
        qc->subject.r.owner = agent;
        qc->subject.r.token = token;
        qc->subject.r.n[U_NO] = no;
        if (from == USHER_QUEUE_USER_SEATED)
            qc->subject.outcome = USHER_QUEUE_OUTCOME_REQUEUED;
    }
    usher__queue_pending_user(run, u);
    return status;
}

enum usher_status usher__queue_user_leaves(struct run *run, struct queue_change *qc,
                                           struct usher_record *u, unsigned to,
                                           enum usher_queue_outcome outcome, bool reject,
                                           enum usher_verb verb, int64_t at)
{
    return to == USHER_QUEUE_USER_GONE ? user_gone(run, qc, u, outcome, verb, at)
                                       : user_back(run, qc, u, to, reject, verb, at);
}
