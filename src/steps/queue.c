/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a queue as steps on a record store.  What they mean: src/core/queue_verbs.def,
 * agent.def, user.def.
 *
 * Records
 *   AGENT    id; order = version of login (slot 2 finds it by that), token = version of the last
 *            match; until_ms = the nearer of beat and wrap; data = array: how many lanes, the
 *            lanes, then for each room who is in it ("" nobody)
 *   LINK     id "LOGIN.I": one for each lane of an agent, group = the lane ("*" all), owner =
 *            the agent; in slot 0 while the agent is open, (rank, order) by strategy, order =
 *            16 * a version + I
 *   USER     id; group = lane, order = version of apply; slot 0 while it waits, rank = place; slot
 * 2 while it has a room, owner = the agent, token = version of the match; data = array of agents
 * not to offer it to again LANE     id; users by state; data = array of figures VISIT    id =
 * version of its end; state = outcome, owner = the agent; data = array: user, lane
 *
 * An act is one write with one or more versions: a change of the command, and the matches
 * that follow from it at once.  It holds the agent and the lanes concerned until it is
 * committed, so that each is written once.
 */
#include "config.h"

#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/queue.h"
#include "core/pack.h"
#include "core/text.h"

typedef struct usher__work work;

enum kind { K_AGENT = 1, K_LINK = 2, K_USER = 3, K_LANE = 6, K_VISIT = 7 };

/* counts: 1..5 agents by state, 6..9 users by state */
enum { COUNT_USERS = 5, COUNT_LANES = 10, COUNT_VISITS, COUNT_REQUESTS };

enum {
    SET_TTL,
    SET_TRIGGER,
    SET_STRATEGY,
    SET_OFFER,
    SET_WRAPUP,
    SET_LIMIT,
    SET_MAXWAIT,
    SET_GRACE,
    SET_REQUEUE,
    SET_HISTORY,
    SET_ZONE,
    SET_SERVICE,
    SET_REQUESTS,
    SETTINGS
};

/* n of an agent: SEATED users, OFFERS * 2 + ASKED, … */
enum { A_CAPACITY, A_SEATED, A_BEAT, A_SERVED, A_WRAP, A_LEVEL, A_OFFERS, A_STATE_SINCE };

/* n of a user.  MATCHED: offered or seated at; END: of the offer or of the grace. */
enum { U_SINCE, U_PRIORITY, U_APPLIED, U_BEAT, U_MATCHED, U_NO, U_END, U_PATIENCE };

/* n of a lane: users by state - 1; and its figures. */
enum {
    F_DAY,
    F_SEATED,
    F_WITHIN,
    F_WAIT,
    F_ABANDONED,
    F_TIMEOUT,
    F_FINISHED,
    F_TALK,
    F_PACE, /* 16 * ms between seatings, 0: not known */
    F_LAST,
    FIGURES
};

#define FIGURE_BYTES 7
#define DAY_SHIFT 1000 /* so that days of a local time before 1970 are not below zero */

/* n of a visit. */
enum { V_PRIORITY, V_SINCE, V_APPLIED, V_SEATED, V_END, V_LOGIN, V_NO };

#define LANES_MAX USHER_GROUPS_MAX
#define NAME_PACKED (USHER_NAME_MAX + 3)
#define AGENT_DATA (16 + (LANES_MAX + USHER_CAPACITY_MAX) * NAME_PACKED)
#define FOREVER (INT64_C(1) << 52)
#define PASS_MAX USHER__STEP_MAX /* looked at in vain, for one match */
#define DAY_MS INT64_C(86400000)

static const struct usher_text default_lane = { "default", 7 };
static const struct usher_text all_lanes = { "*", 1 };

struct agent {
    struct usher_record r;
    size_t n_lanes;
    struct usher_text lanes[LANES_MAX], rooms[USHER_CAPACITY_MAX];
    bool dirty;
    bool was_open;
    bool touched; /* its links get a new order */
    bool leaving; /* its rooms are being emptied for good: no events */
};

struct lane {
    struct usher_record r;
    int64_t f[FIGURES];
    bool dirty;
    unsigned char data[FIGURES * FIGURE_BYTES];
};

/* What a change is about: for its notice. */
struct about {
    enum usher_verb verb;
    unsigned from, to;
    struct usher_record r;
};

struct act {
    struct usher__change c;
    bool begun;
    struct about about;
    bool has_agent;
    struct agent agent;
    unsigned n_lanes;
    struct lane lanes[3];
    unsigned char agent_data[AGENT_DATA];
    unsigned char visit_data[2 * NAME_PACKED + 32]; /* the id stands at the end */
    unsigned char user_data[USHER_REJECTS_MAX * NAME_PACKED + 8];
};

/* Who became open or waits again: to be matched once the changes that did it are written. */
struct todo {
    unsigned n_agents, n_users;
    uint64_t agents[USHER__EXPIRE_MAX + 2]; /* by login */
    struct {
        uint64_t rank, order;
    } users[USHER__EXPIRE_MAX + USHER_CAPACITY_MAX];
};

/* One command. */
struct run {
    work *w;
    struct todo *todo;
    bool matched_rows; /* tell of matches in rows */
    uint64_t n_matched;
};

static const struct usher_queue_args *args(const work *w)
{
    return &w->command->arg.queue;
}

static bool given(const work *w, uint32_t bit)
{
    return (w->command->given & bit) != 0;
}

static bool due(const struct usher_record *r, int64_t now)
{
    return r->until_ms != 0 && r->until_ms <= now;
}

/* The nearer of two deadlines, 0 for none. */
static int64_t nearer(int64_t a, int64_t b)
{
    return a == 0 ? b : b == 0 ? a : a < b ? a : b;
}

/* ---- agents ----------------------------------------------------------------------- */

static int64_t used(const struct usher_record *r)
{
    return r->n[A_SEATED] + r->n[A_OFFERS] / 2;
}

static bool asked(const struct usher_record *r)
{
    return r->n[A_OFFERS] % 2 != 0;
}

static bool is_open(const struct usher_record *r)
{
    return r->state >= USHER_AGENT_IDLE && r->state <= USHER_AGENT_BUSY && !asked(r) &&
           r->n[A_WRAP] == 0 && used(r) < r->n[A_CAPACITY];
}

static bool texts_read(struct usher_unpacker *u, struct usher_text *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!usher_unpack_text(u, &to[i]))
            return false;
    return true;
}

/* False: the record is damaged. */
static bool agent_read(struct agent *a)
{
    struct usher_unpacker u = { (const unsigned char *)a->r.data.data,
                                (const unsigned char *)a->r.data.data + a->r.data.size };
    uint64_t n_lanes;
    size_t n;
    int64_t capacity = a->r.n[A_CAPACITY];

    if (capacity < 1 || capacity > USHER_CAPACITY_MAX || !usher_unpack_array(&u, &n) ||
        !usher_unpack_uint(&u, &n_lanes) || n_lanes < 1 || n_lanes > LANES_MAX ||
        n != 1 + n_lanes + (size_t)capacity)
        return false;
    a->n_lanes = (size_t)n_lanes;
    a->dirty = a->touched = a->leaving = false;
    a->was_open = is_open(&a->r);
    return texts_read(&u, a->lanes, a->n_lanes) && texts_read(&u, a->rooms, (size_t)capacity);
}

static enum usher_status damaged(work *w)
{
    usher_reply_fail(w->reply, USHER_UNAVAILABLE, "the store is damaged: an agent cannot be read");
    return USHER_UNAVAILABLE;
}

/* The agent that logged in at version @login, or MISSING. */
static enum usher_status agent_by_login(work *w, uint64_t login, struct usher_record *r)
{
    enum usher_status status;

    if (login == 0 || login >= UINT64_C(1) << 53)
        return USHER_MISSING;
    status = w->ops->walk(w->txn, &w->scope, K_AGENT, 2, NULL, 0, login - 1, false, r);
    return status == USHER_OK && r->order != login ? USHER_MISSING : status;
}

/* The agent of @act: it is read once. */
static enum usher_status agent_hold(work *w, struct act *act, const struct usher_text *id)
{
    enum usher_status status;

    if (act->has_agent)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, K_AGENT, id, &act->agent.r);
    if (status != USHER_OK)
        return status == USHER_MISSING ? damaged(w) : status;
    if (!agent_read(&act->agent))
        return damaged(w);
    act->has_agent = true;
    return USHER_OK;
}

static enum usher_status agent_hold_this(work *w, struct act *act, const struct usher_record *r)
{
    act->agent.r = *r;
    if (!agent_read(&act->agent))
        return damaged(w);
    act->has_agent = true;
    return USHER_OK;
}

static void agent_move(work *w, struct act *act, unsigned event, int64_t at)
{
    struct agent *a = &act->agent;
    unsigned to = usher__machine_move(&usher__agent_machine, a->r.state, event).to;
    int64_t *counts = act->c.scope->counts;

    (void)w;
    if (to != a->r.state) {
        if (a->r.state != USHER_AGENT_GONE)
            counts[a->r.state]--;
        if (to != USHER_AGENT_GONE)
            counts[to]++;
        a->r.n[A_STATE_SINCE] = at;
    }
    a->r.state = (uint8_t)to;
    a->dirty = true;
}

/* Where its links stand while it is open: see enum usher_strategy. */
static uint64_t link_rank(const struct usher_scope *s, const struct usher_record *a,
                          uint64_t version)
{
    switch (s->settings[SET_STRATEGY]) {
    case USHER_STRATEGY_LONGEST_IDLE:
        return used(a) > 0;
    case USHER_STRATEGY_FEWEST_SERVED:
        return (uint64_t)a->n[A_SERVED];
    case USHER_STRATEGY_LEAST_BUSY:
        return (uint64_t)used(a);
    case USHER_STRATEGY_LEVEL:
        return (uint64_t)a->n[A_LEVEL];
    case USHER_STRATEGY_RANDOM:
        return usher__draw(version);
    default:
        return 0;
    }
}

static struct usher_text link_id(char buffer[32], uint64_t login, size_t i)
{
    struct usher_text id = { buffer, 0 };

    id.size = (size_t)snprintf(buffer, 32, "%" PRIu64 ".%zu", login, i);
    return id;
}

/* Each lane's link follows the agent. */
static enum usher_status links_save(work *w, struct act *act, bool fresh)
{
    struct agent *a = &act->agent;
    bool open = is_open(&a->r);
    uint64_t version = act->c.scope->version, base = version;

    if (!fresh && open == a->was_open && !(open && a->touched))
        return USHER_OK;
    if (act->c.scope->settings[SET_STRATEGY] == USHER_STRATEGY_ROUND_ROBIN)
        base = a->r.token;
    for (size_t i = 0; i < a->n_lanes; i++) {
        char buffer[32];
        struct usher_text id = link_id(buffer, a->r.order, i);
        struct usher_record r;

        if (fresh) {
            memset(&r, 0, sizeof r);
            r.kind = K_LINK;
            r.group = a->lanes[i];
            r.owner = a->r.id;
        } else {
            enum usher_status status = w->ops->find(w->txn, &w->scope, K_LINK, &id, &r);

            if (status != USHER_OK)
                return status == USHER_MISSING ? damaged(w) : status;
        }
        if (fresh) {
            memcpy(act->user_data + i * 32, buffer, 32); /* free at a login */
            r.id.data = (const char *)act->user_data + i * 32;
            r.id.size = id.size;
        }
        r.slots = open ? 1u : 0;
        r.rank = open ? link_rank(act->c.scope, &a->r, version) : 0;
        if (open || fresh)
            r.order = base * 16 + i;
        usher__change_save(&act->c, &r);
    }
    return USHER_OK;
}

static enum usher_status links_erase(work *w, struct act *act)
{
    for (size_t i = 0; i < act->agent.n_lanes; i++) {
        char buffer[32];
        struct usher_text id = link_id(buffer, act->agent.r.order, i);
        struct usher_record r;
        enum usher_status status = w->ops->find(w->txn, &w->scope, K_LINK, &id, &r);

        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        usher__change_erase(&act->c, &r);
    }
    return USHER_OK;
}

static enum usher_status agent_save(work *w, struct act *act, bool fresh)
{
    struct agent *a = &act->agent;
    struct usher__packer p = { act->agent_data, sizeof act->agent_data, 0 };

    usher__pack_array(&p, 1 + a->n_lanes + (size_t)a->r.n[A_CAPACITY]);
    usher__pack_uint(&p, a->n_lanes);
    for (size_t i = 0; i < a->n_lanes; i++)
        usher__pack_text(&p, a->lanes[i].data, a->lanes[i].size);
    for (int64_t i = 0; i < a->r.n[A_CAPACITY]; i++)
        usher__pack_text(&p, a->rooms[i].data, a->rooms[i].size);
    a->r.data.data = (const char *)act->agent_data;
    a->r.data.size = p.n;
    a->r.until_ms = nearer(a->r.n[A_BEAT], a->r.n[A_WRAP]);
    a->r.slots = (uint8_t)(4u | (a->r.until_ms != 0 ? 2u : 0));
    usher__change_save(&act->c, &a->r);
    return links_save(w, act, fresh);
}

/* ---- lanes ------------------------------------------------------------------------ */

static int64_t figure_get(const unsigned char *at)
{
    uint64_t v = (uint64_t)at[0] << 48 | (uint64_t)at[1] << 40 | (uint64_t)at[2] << 32 |
                 (uint64_t)at[3] << 24 | (uint64_t)at[4] << 16 | (uint64_t)at[5] << 8 | at[6];

    return (int64_t)v;
}

static void figure_put(unsigned char *at, int64_t v)
{
    at[0] = (unsigned char)(v >> 48);
    at[1] = (unsigned char)(v >> 40);
    at[2] = (unsigned char)(v >> 32);
    at[3] = (unsigned char)(v >> 24);
    at[4] = (unsigned char)(v >> 16);
    at[5] = (unsigned char)(v >> 8);
    at[6] = (unsigned char)v;
}

/* The lane @id of @act, to be changed.  It may be a new one. */
static enum usher_status lane_hold(work *w, struct act *act, const struct usher_text *id,
                                   struct lane **ret)
{
    struct lane *l;
    enum usher_status status = USHER_MISSING;

    for (unsigned i = 0; i < act->n_lanes; i++)
        if (usher__text_equal(&act->lanes[i].r.id, id)) {
            *ret = &act->lanes[i];
            return USHER_OK;
        }
    l = &act->lanes[act->n_lanes];
    if (w->scope.ref != NULL)
        status = w->ops->find(w->txn, &w->scope, K_LANE, id, &l->r);
    l->dirty = false;
    memset(l->f, 0, sizeof l->f);
    if (status == USHER_MISSING) {
        memset(&l->r, 0, sizeof l->r);
        l->r.kind = K_LANE;
        l->r.id = *id;
    } else if (status != USHER_OK) {
        return status;
    } else {
        const unsigned char *at = (const unsigned char *)l->r.data.data;

        if (l->r.data.size != sizeof l->data)
            return damaged(w);
        for (int i = 0; i < FIGURES; i++, at += FIGURE_BYTES)
            l->f[i] = figure_get(at);
    }
    act->n_lanes++;
    *ret = l;
    return USHER_OK;
}

static void lane_save(struct act *act, struct lane *l)
{
    unsigned char *at = l->data;

    if (l->r.ref == NULL)
        act->c.scope->counts[COUNT_LANES]++;
    for (int i = 0; i < FIGURES; i++, at += FIGURE_BYTES)
        figure_put(at, l->f[i]);
    l->r.data.data = (const char *)l->data;
    l->r.data.size = sizeof l->data;
    usher__change_save(&act->c, &l->r);
}

/* Count in the figures of the day of @at; those of a day before are forgotten, and what
 * belongs to them is counted no more. */
static void figure(const struct usher_scope *s, struct lane *l, int64_t at, int which, int64_t by)
{
    int64_t day = usher__day(at, s->settings[SET_ZONE]) + DAY_SHIFT;

    l->dirty = true;
    if (day > l->f[F_DAY]) {
        for (int i = F_SEATED; i <= F_TALK; i++)
            l->f[i] = 0;
        l->f[F_DAY] = day;
    }
    if (day == l->f[F_DAY])
        l->f[which] += by;
}

/* A user of state @state more (@by 1) or less (-1). */
static void count(struct act *act, struct lane *l, unsigned state, int64_t by)
{
    act->c.scope->counts[COUNT_USERS + state] += by;
    l->r.n[state - 1] += by;
    l->dirty = true;
}

/* ---- acts ------------------------------------------------------------------------- */

static void act_init(struct act *act)
{
    act->begun = false;
    act->has_agent = false;
    act->n_lanes = 0;
}

/* What follows is a change with a version of its own. */
static void act_step(work *w, struct act *act)
{
    if (!act->begun) {
        usher__change_begin(w, &act->c);
        act->begun = true;
    } else {
        usher__change_tell(w, &act->c, act->about.verb, act->about.from, act->about.to,
                           &act->about.r);
    }
}

static void act_about(struct act *act, enum usher_verb verb, unsigned from,
                      const struct usher_record *r)
{
    act->about.verb = verb;
    act->about.from = from;
    act->about.to = r->state;
    act->about.r = *r;
}

static enum usher_status act_commit(work *w, struct act *act)
{
    enum usher_status status = USHER_OK;

    if (!act->begun)
        return USHER_OK;
    if (act->has_agent && act->agent.dirty)
        status = agent_save(w, act, false);
    for (unsigned i = 0; i < act->n_lanes; i++)
        if (act->lanes[i].dirty)
            lane_save(act, &act->lanes[i]);
    if (status == USHER_OK)
        status = usher__change_commit(w, &act->c, act->about.verb, act->about.from, act->about.to,
                                      &act->about.r);
    return status;
}

static void todo_agent(struct run *run, uint64_t login)
{
    struct todo *t = run->todo;

    for (unsigned i = 0; i < t->n_agents; i++)
        if (t->agents[i] == login)
            return;
    if (t->n_agents < sizeof t->agents / sizeof *t->agents)
        t->agents[t->n_agents++] = login;
}

/* In the order of places. */
static void todo_user(struct run *run, const struct usher_record *r)
{
    struct todo *t = run->todo;
    unsigned i = t->n_users;

    if (r->state != USHER_USER_WAITING || i == sizeof t->users / sizeof *t->users)
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

static uint64_t place(const struct usher_record *r)
{
    return ((uint64_t)(USHER_PRIORITY_MAX - r->n[U_PRIORITY]) << 43) + (uint64_t)r->n[U_SINCE];
}

/* What follows from the state of @r: lists, deadline, room. */
static void user_settle(struct usher_record *r, unsigned to)
{
    r->state = (uint8_t)to;
    r->rank = 0;
    r->slots = 0;
    switch (to) {
    case USHER_USER_WAITING:
        r->until_ms = nearer(r->n[U_BEAT], r->n[U_PATIENCE]);
        r->slots = 1u;
        r->rank = place(r);
        break;
    case USHER_USER_AWAY:
        r->until_ms = nearer(r->n[U_END], r->n[U_PATIENCE]);
        break;
    case USHER_USER_OFFERED:
        r->until_ms = nearer(r->n[U_BEAT], r->n[U_END]);
        r->slots = 4u;
        break;
    default:
        r->until_ms = r->n[U_BEAT];
        r->slots = 4u;
        break;
    }
    if (r->slots != 4u) {
        r->owner.data = NULL;
        r->owner.size = 0;
        r->token = 0;
        r->n[U_MATCHED] = r->n[U_NO] = 0;
    }
    if (r->until_ms != 0)
        r->slots |= 2u;
}

static unsigned user_move(const struct usher_record *r, unsigned event)
{
    return usher__machine_move(&usher__user_machine, r->state, event).to;
}

/* Is @agent among those that @u is not to be offered to? */
static bool rejects(const struct usher_record *u, const struct usher_text *agent)
{
    struct usher_unpacker at = { (const unsigned char *)u->data.data,
                                 (const unsigned char *)u->data.data + u->data.size };
    struct usher_text text;
    size_t n;

    if (u->data.size == 0 || !usher_unpack_array(&at, &n))
        return false;
    while (n-- > 0 && usher_unpack_text(&at, &text))
        if (usher__text_equal(&text, agent))
            return true;
    return false;
}

/* Add @agent to them; the oldest is forgotten when there are too many. */
static void reject_add(struct act *act, struct usher_record *u, const struct usher_text *agent)
{
    struct usher_unpacker at = { (const unsigned char *)u->data.data,
                                 (const unsigned char *)u->data.data + u->data.size };
    struct usher__packer p = { act->user_data, sizeof act->user_data, 0 };
    struct usher_text text;
    size_t n = 0;

    if (rejects(u, agent))
        return;
    if (u->data.size != 0)
        (void)usher_unpack_array(&at, &n);
    if (n >= USHER_REJECTS_MAX) {
        (void)usher_unpack_text(&at, &text);
        n = USHER_REJECTS_MAX - 1;
    }
    usher__pack_array(&p, n + 1);
    while (n-- > 0 && usher_unpack_text(&at, &text))
        usher__pack_text(&p, text.data, text.size);
    usher__pack_text(&p, agent->data, agent->size);
    u->data.data = (const char *)act->user_data;
    u->data.size = p.n;
}

/* @u, who is in a room of the agent of @act, is there no more. */
static enum usher_status room_empty(struct run *run, struct act *act, const struct usher_record *u,
                                    int64_t at)
{
    work *w = run->w;
    struct agent *a = &act->agent;
    bool seated = u->state == USHER_USER_SEATED;
    enum usher_status status = agent_hold(w, act, &u->owner);
    int64_t *n = a->r.n;

    if (status != USHER_OK)
        return status;
    if (u->n[U_NO] < 1 || u->n[U_NO] > n[A_CAPACITY])
        return damaged(w);
    a->rooms[u->n[U_NO] - 1].data = "";
    a->rooms[u->n[U_NO] - 1].size = 0;
    n[seated ? A_SEATED : A_OFFERS] -= seated ? 1 : 2;
    a->dirty = true;
    if (a->leaving)
        return USHER_OK;
    a->touched = true;
    if (seated && w->scope.settings[SET_WRAPUP] > 0)
        n[A_WRAP] = at + w->scope.settings[SET_WRAPUP];
    if (used(&a->r) == 0) {
        if (asked(&a->r)) {
            n[A_OFFERS] = 0;
            n[A_WRAP] = 0;
            agent_move(w, act, USHER__AGENT_REST, at);
        } else {
            agent_move(w, act, n[A_WRAP] != 0 ? USHER__AGENT_WRAP : USHER__AGENT_CLEAR, at);
        }
    } else if (seated && n[A_SEATED] == 0) {
        agent_move(w, act, USHER__AGENT_KEEP, at);
    }
    todo_agent(run, a->r.order);
    return USHER_OK;
}

/* The visit of @u is over: count it, keep it, forget the user.  @u still says where it was. */
static enum usher_status visit_end(work *w, struct act *act, struct usher_record *u,
                                   enum usher_outcome outcome, int64_t at)
{
    struct usher_scope *s = act->c.scope;
    bool seated = u->state == USHER_USER_SEATED;
    int64_t *counts = s->counts;
    struct usher_record v, old;
    struct usher__packer p = { act->visit_data, sizeof act->visit_data - 24, 0 };
    struct lane *l;
    char *id = (char *)act->visit_data + sizeof act->visit_data - 24;
    enum usher_status status = lane_hold(w, act, &u->group, &l);

    if (status != USHER_OK)
        return status;
    count(act, l, u->state, -1);
    if (seated) {
        figure(s, l, at, F_FINISHED, 1);
        figure(s, l, at, F_TALK, at - u->n[U_MATCHED]);
    } else {
        figure(s, l, at, outcome == USHER_OUTCOME_TIMEOUT ? F_TIMEOUT : F_ABANDONED, 1);
    }
    usher__change_erase(&act->c, u);
    if (s->settings[SET_HISTORY] == 0 && counts[COUNT_VISITS] == 0)
        return USHER_OK;
    if (s->settings[SET_HISTORY] == 0) { /* it was more once: two go for each that would come */
        uint64_t behind = 0;

        for (int i = 0; i < 2; i++) {
            status = w->ops->walk(w->txn, &w->scope, K_VISIT, 0, NULL, 0, behind, false, &old);
            if (status == USHER_MISSING)
                break;
            if (status != USHER_OK)
                return status;
            behind = old.order;
            usher__change_erase(&act->c, &old);
            counts[COUNT_VISITS]--;
        }
        return USHER_OK;
    }
    memset(&v, 0, sizeof v);
    v.kind = K_VISIT;
    v.state = (uint8_t)outcome;
    v.id.data = id;
    v.id.size = (size_t)snprintf(id, 24, "%" PRIu64, s->version);
    v.until_ms = FOREVER;
    v.owner = u->owner;
    v.n[V_PRIORITY] = u->n[U_PRIORITY];
    v.n[V_SINCE] = u->n[U_SINCE];
    v.n[V_APPLIED] = u->n[U_APPLIED];
    v.n[V_SEATED] = seated ? u->n[U_MATCHED] : 0;
    v.n[V_END] = at;
    if (u->n[U_NO] != 0) {
        v.n[V_LOGIN] = (int64_t)act->agent.r.order;
        v.n[V_NO] = u->n[U_NO];
    }
    usher__pack_array(&p, 2);
    usher__pack_text(&p, u->id.data, u->id.size);
    usher__pack_text(&p, u->group.data, u->group.size);
    v.data.data = (const char *)act->visit_data;
    v.data.size = p.n;
    return usher__change_remember(w, &act->c, &v, &counts[COUNT_VISITS], s->settings[SET_HISTORY]);
}

/* @u goes: a step of @act, told as @verb. */
static enum usher_status user_gone(struct run *run, struct act *act, struct usher_record *u,
                                   enum usher_outcome outcome, unsigned event, enum usher_verb verb,
                                   int64_t at)
{
    work *w = run->w;
    unsigned from = u->state;
    struct usher_record gone;
    enum usher_status status = USHER_OK;

    act_step(w, act);
    if (u->owner.size != 0)
        status = room_empty(run, act, u, at);
    if (status == USHER_OK)
        status = visit_end(w, act, u, outcome, at);
    gone = *u;
    gone.state = (uint8_t)user_move(u, event);
    gone.until_ms = 0;
    act_about(act, verb, from, &gone);
    return status;
}

/* @u changes from one state to another: its lane's counts follow, and it is stored. */
static enum usher_status user_save(work *w, struct act *act, struct usher_record *u, unsigned from)
{
    struct lane *l;
    enum usher_status status = lane_hold(w, act, &u->group, &l);

    if (status != USHER_OK)
        return status;
    if (from != USHER_USER_GONE)
        count(act, l, from, -1);
    count(act, l, u->state, 1);
    usher__change_save(&act->c, u);
    return USHER_OK;
}

/* @u waits again (BACK), or is away (AWAY): a step of @act. */
static enum usher_status user_back(struct run *run, struct act *act, struct usher_record *u,
                                   unsigned event, bool reject, enum usher_verb verb, int64_t at)
{
    work *w = run->w;
    unsigned from = u->state;
    enum usher_status status = USHER_OK;

    act_step(w, act);
    if (u->owner.size != 0) {
        status = room_empty(run, act, u, at);
        if (status == USHER_OK && reject)
            reject_add(act, u, &act->agent.r.id);
    }
    if (status != USHER_OK)
        return status;
    u->n[U_END] = event == USHER__USER_AWAY ? at + w->scope.settings[SET_GRACE] : 0;
    if (event == USHER__USER_AWAY)
        u->n[U_BEAT] = 0;
    user_settle(u, user_move(u, event));
    status = user_save(w, act, u, from);
    act_about(act, verb, from, u);
    if (event == USHER__USER_BACK)
        todo_user(run, u);
    return status;
}

/* ---- matching --------------------------------------------------------------------- */

/* It has a room from now on, for good: the figures. */
static void seated(work *w, struct act *act, struct lane *l, struct usher_record *u)
{
    const struct usher_scope *s = &w->scope;
    int64_t wait = w->now - u->n[U_APPLIED];

    figure(s, l, w->now, F_SEATED, 1);
    figure(s, l, w->now, F_WAIT, wait);
    if (wait <= s->settings[SET_SERVICE])
        figure(s, l, w->now, F_WITHIN, 1);
    act->agent.r.n[A_SERVED]++;
}

/* The pace at which a lane's users get rooms. */
static void pace(work *w, struct lane *l, const struct usher_record *u)
{
    int64_t from = l->f[F_LAST] > u->n[U_APPLIED] ? l->f[F_LAST] : u->n[U_APPLIED];
    int64_t d = w->now - from;

    if (w->now > u->n[U_APPLIED]) {
        if (d > DAY_MS)
            d = DAY_MS;
        l->f[F_PACE] = l->f[F_PACE] == 0 ? 16 * d : (7 * l->f[F_PACE] + 16 * d) / 8;
    }
    l->f[F_LAST] = w->now;
    l->dirty = true;
}

/* Give @u, who waits (stored, or new in this act: @from GONE), to the agent of @act, which is open.
 */
static enum usher_status give(struct run *run, struct act *act, struct usher_record *u, bool stored)
{
    work *w = run->w;
    struct agent *a = &act->agent;
    int64_t offer = w->scope.settings[SET_OFFER], no = 1;
    struct lane *l;
    enum usher_status status;

    act_step(w, act);
    while (a->rooms[no - 1].size != 0)
        no++;
    status = lane_hold(w, act, &u->group, &l);
    if (status != USHER_OK)
        return status;
    a->rooms[no - 1] = u->id;
    a->touched = true;
    a->r.token = act->c.scope->version;
    pace(w, l, u);
    if (offer > 0) {
        a->r.n[A_OFFERS] += 2;
        agent_move(w, act, USHER__AGENT_OFFER, w->now);
        u->n[U_END] = w->now + offer;
    } else {
        a->r.n[A_SEATED]++;
        agent_move(w, act, USHER__AGENT_SEAT, w->now);
        seated(w, act, l, u);
        u->n[U_END] = 0;
    }
    user_settle(u, user_move(u, offer > 0 ? USHER__USER_OFFER : USHER__USER_SEAT));
    u->owner = a->r.id;
    u->token = act->c.scope->version;
    u->n[U_MATCHED] = w->now;
    u->n[U_NO] = no;
    status = user_save(w, act, u, stored ? USHER_USER_WAITING : USHER_USER_GONE);
    act_about(act, USHER_QUEUE_MATCH, USHER_USER_WAITING, u);
    run->n_matched++;
    if (status == USHER_OK && run->matched_rows) {
        struct usher_queue_row row;

        memset(&row, 0, sizeof row);
        row.user = u->id;
        row.agent = a->r.id;
        row.lane = u->group;
        row.login = a->r.order;
        row.no = no;
        row.state = u->state;
        row.priority = u->n[U_PRIORITY];
        row.since_ms = u->n[U_SINCE];
        row.applied_ms = u->n[U_APPLIED];
        row.matched_ms = w->now;
        row.until_ms = u->n[U_END];
        status = usher_reply_add_row(w->reply, USHER_QUEUE, &row);
    }
    return status;
}

/* The first user of @lane (NULL: of all) whom @agent may have.  MISSING. */
static enum usher_status head(work *w, const struct usher_text *lane,
                              const struct usher_text *agent, struct usher_record *r)
{
    uint64_t rank = 0, order = 0;

    for (int i = 0; i < PASS_MAX; i++) {
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, K_USER, 0, lane, rank, order, false, r);

        if (status != USHER_OK || (!due(r, w->now) && (r->data.size == 0 || !rejects(r, agent))))
            return status;
        rank = r->rank;
        order = r->order;
    }
    return USHER_MISSING;
}

/* One match of the agent of @act, if there is one to be had: a step.  MISSING: none. */
static enum usher_status match_agent_once(struct run *run, struct act *act)
{
    work *w = run->w;
    struct agent *a = &act->agent;
    struct usher_record best, r;
    bool found = false;

    if (w->scope.counts[COUNT_USERS + USHER_USER_WAITING] == 0 || !is_open(&a->r) ||
        due(&a->r, w->now))
        return USHER_MISSING;
    for (size_t i = 0; i < a->n_lanes; i++) {
        bool all = usher__text_equal(&a->lanes[i], &all_lanes);
        enum usher_status status = head(w, all ? NULL : &a->lanes[i], &a->r.id, &r);

        if (status == USHER_MISSING)
            continue;
        if (status != USHER_OK)
            return status;
        if (!found || r.rank < best.rank || (r.rank == best.rank && r.order < best.order))
            best = r;
        found = true;
    }
    return found ? give(run, act, &best, true) : USHER_MISSING;
}

/* Matches of the agent that logged in at @login, at most @max. */
static enum usher_status match_agent(struct run *run, uint64_t login, int64_t max)
{
    work *w = run->w;

    for (int64_t i = 0; i < max; i++) {
        struct act act;
        struct usher_record r;
        enum usher_status status = agent_by_login(w, login, &r);

        if (status == USHER_MISSING)
            break;
        act_init(&act);
        if (status == USHER_OK)
            status = agent_hold_this(w, &act, &r);
        if (status == USHER_OK)
            status = match_agent_once(run, &act);
        if (status == USHER_MISSING)
            break;
        if (status == USHER_OK)
            status = act_commit(w, &act);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

/* The link behind (*rank, *order) among those of @lane and of agents for all lanes. */
static enum usher_status link_next(work *w, const struct usher_text *lane, uint64_t rank,
                                   uint64_t order, struct usher_record *r)
{
    struct usher_record other;
    enum usher_status one = w->ops->walk(w->txn, &w->scope, K_LINK, 0, lane, rank, order, false, r);
    enum usher_status two;

    if (one != USHER_OK && one != USHER_MISSING)
        return one;
    two = w->ops->walk(w->txn, &w->scope, K_LINK, 0, &all_lanes, rank, order, false, &other);
    if (two != USHER_OK)
        return two == USHER_MISSING ? one : two;
    if (one == USHER_MISSING || other.rank < r->rank ||
        (other.rank == r->rank && other.order < r->order))
        *r = other;
    return USHER_OK;
}

/*
 * The agent that @u is given to, into @act.  With strategy random it is drawn for the next
 * version, see draw() in number.c.  MISSING: none.
 */
static enum usher_status pick(work *w, struct act *act, const struct usher_record *u)
{
    bool random = w->scope.settings[SET_STRATEGY] == USHER_STRATEGY_RANDOM, turned = !random;
    uint64_t version = w->scope.version + 1, rank = random ? usher__draw(version) : 0, order = 0;
    uint32_t left = random ? usher__draw_step(version) : 0;
    bool any = false;

    if (w->scope.counts[USHER_AGENT_IDLE] + w->scope.counts[USHER_AGENT_OFFERED] +
            w->scope.counts[USHER_AGENT_BUSY] ==
        0)
        return USHER_MISSING;
    for (int i = 0; i < PASS_MAX; i++) {
        struct usher_record link;
        enum usher_status status = link_next(w, &u->group, rank, order, &link);

        if (status == USHER_MISSING) {
            if (turned && !any)
                break;
            /* once round without one means that there is none */
            turned = true;
            any = false;
            rank = order = 0;
            continue;
        }
        if (status != USHER_OK)
            return status;
        rank = link.rank;
        order = link.order;
        status = w->ops->find(w->txn, &w->scope, K_AGENT, &link.owner, &act->agent.r);
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        if (due(&act->agent.r, w->now) || rejects(u, &link.owner))
            continue;
        any = random;
        if (left == 0)
            return agent_hold_this(w, act, &act->agent.r);
        left--;
    }
    return USHER_MISSING;
}

/*
 * A match of the user who waits at this place, if it is still there.  The agent that it would
 * be given to takes its best user, who may be another one that is left from a time without
 * trigger or memory: nobody is overtaken.
 */
static enum usher_status match_user(struct run *run, uint64_t rank, uint64_t order)
{
    work *w = run->w;

    for (int i = 0; i < USHER__EXPIRE_MAX; i++) {
        struct act act;
        struct usher_record u;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, K_USER, 0, NULL, rank, order - 1, false, &u);

        if (status == USHER_MISSING ||
            (status == USHER_OK && (u.rank != rank || u.order != order || due(&u, w->now))))
            break;
        act_init(&act);
        if (status == USHER_OK)
            status = pick(w, &act, &u);
        if (status == USHER_OK)
            status = match_agent_once(run, &act);
        if (status == USHER_MISSING)
            break;
        if (status == USHER_OK)
            status = act_commit(w, &act);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

/* Match all who became open or wait again.  What has been written before stands: where it
 * cannot be taken back, a match that has no memory is left to a later command. */
static enum usher_status settle(struct run *run)
{
    work *w = run->w;
    struct todo *t = run->todo;
    bool automatic = w->scope.settings[SET_TRIGGER] == USHER_TRIGGER_AUTO;
    enum usher_status status = USHER_OK;

    for (unsigned i = 0; automatic && status == USHER_OK && i < t->n_agents; i++)
        status = match_agent(run, t->agents[i], USHER_CAPACITY_MAX);
    for (unsigned i = 0; automatic && status == USHER_OK && i < t->n_users; i++)
        status = match_user(run, t->users[i].rank, t->users[i].order);
    t->n_agents = t->n_users = 0;
    if (status == USHER_NOMEM && (w->ops->caps & USHER_CAP_CONCURRENT) != 0) {
        usher__scope_reload(w);
        status = USHER_OK;
    }
    return status;
}

/* ---- agents go -------------------------------------------------------------------- */

/* Of those in the rooms of the agent of @act, the one whose place is first.  MISSING: all
 * rooms are empty. */
static enum usher_status first_in_rooms(work *w, struct act *act, struct usher_record *ret)
{
    const struct agent *a = &act->agent;
    bool found = false;

    for (int64_t i = 0; i < a->r.n[A_CAPACITY]; i++) {
        struct usher_record r;
        enum usher_status status;

        if (a->rooms[i].size == 0)
            continue;
        status = w->ops->find(w->txn, &w->scope, K_USER, &a->rooms[i], &r);
        if (status != USHER_OK)
            return status == USHER_MISSING ? damaged(w) : status;
        if (!found || place(&r) < place(ret) || (place(&r) == place(ret) && r.order < ret->order))
            *ret = r;
        found = true;
    }
    return found ? USHER_OK : USHER_MISSING;
}

/*
 * One change on the way of @r, an agent that goes at the time @at: one of its users leaves
 * it, or, when there are none, it goes itself.  *@ret_gone says which.
 */
static enum usher_status agent_leave(struct run *run, const struct usher_record *r, unsigned event,
                                     enum usher_verb verb, int64_t at, bool *ret_gone)
{
    work *w = run->w;
    struct act act;
    struct usher_record u;
    unsigned from = r->state;
    enum usher_status status;

    act_init(&act);
    status = agent_hold_this(w, &act, r);
    if (status != USHER_OK)
        return status;
    act.agent.leaving = true;
    status = first_in_rooms(w, &act, &u);
    *ret_gone = status == USHER_MISSING;
    if (status == USHER_OK) {
        act.agent.r.n[A_OFFERS] += !asked(&act.agent.r); /* nobody more for it */
        if (w->scope.settings[SET_REQUEUE] == USHER_REQUEUE_FRONT)
            status = user_back(run, &act, &u, USHER__USER_BACK, false, USHER_QUEUE_REQUEUE, at);
        else
            status = user_gone(run, &act, &u, USHER_OUTCOME_DROPPED, USHER__USER_DROP,
                               USHER_QUEUE_REQUEUE, at);
        if (status == USHER_OK)
            status = act_commit(w, &act);
        return status;
    }
    if (status != USHER_MISSING)
        return status;
    act_step(w, &act);
    agent_move(w, &act, event, at);
    act_about(&act, verb, from, &act.agent.r);
    status = links_erase(w, &act);
    usher__change_erase(&act.c, &act.agent.r);
    act.agent.dirty = false;
    if (status == USHER_OK)
        status = act_commit(w, &act);
    return status;
}

/* ---- deadlines -------------------------------------------------------------------- */

/* What happens to @r, an agent, by itself: one change. */
static enum usher_status expire_agent(struct run *run, const struct usher_record *r)
{
    work *w = run->w;
    int64_t at = r->until_ms;
    struct act act;
    unsigned from = r->state;
    bool gone;
    enum usher_status status;

    if (r->n[A_BEAT] != 0 && r->n[A_BEAT] <= at)
        return agent_leave(run, r, USHER__AGENT_LOST, USHER_QUEUE_EXPIRE, at, &gone);
    act_init(&act);
    status = agent_hold_this(w, &act, r);
    if (status != USHER_OK)
        return status;
    act_step(w, &act);
    act.agent.r.n[A_WRAP] = 0;
    act.agent.touched = true;
    agent_move(w, &act, USHER__AGENT_DONE, at);
    act.agent.r.until_ms = act.agent.r.n[A_BEAT];
    act_about(&act, USHER_QUEUE_EXPIRE, from, &act.agent.r);
    todo_agent(run, act.agent.r.order);
    return act_commit(w, &act);
}

/* The same for a user. */
static enum usher_status expire_user(struct run *run, const struct usher_record *r)
{
    work *w = run->w;
    int64_t at = r->until_ms;
    struct usher_record u = *r;
    const int64_t *n = u.n;
    bool waits = u.state == USHER_USER_WAITING || u.state == USHER_USER_AWAY;
    struct act act;
    enum usher_status status;

    act_init(&act);
    if (waits && n[U_PATIENCE] != 0 && n[U_PATIENCE] <= at)
        status = user_gone(run, &act, &u, USHER_OUTCOME_TIMEOUT, USHER__USER_TIMEOUT,
                           USHER_QUEUE_EXPIRE, at);
    else if (u.state == USHER_USER_AWAY)
        status =
            user_gone(run, &act, &u, USHER_OUTCOME_LOST, USHER__USER_DROP, USHER_QUEUE_EXPIRE, at);
    else if (n[U_BEAT] != 0 && n[U_BEAT] <= at && u.state != USHER_USER_SEATED &&
             w->scope.settings[SET_GRACE] > 0)
        status = user_back(run, &act, &u, USHER__USER_AWAY, false, USHER_QUEUE_EXPIRE, at);
    else if (n[U_BEAT] != 0 && n[U_BEAT] <= at)
        status = user_gone(run, &act, &u,
                           u.state == USHER_USER_SEATED ? USHER_OUTCOME_CUT : USHER_OUTCOME_LOST,
                           USHER__USER_DROP, USHER_QUEUE_EXPIRE, at);
    else
        status = user_back(run, &act, &u, USHER__USER_BACK, true, USHER_QUEUE_EXPIRE, at);
    return status == USHER_OK ? act_commit(w, &act) : status;
}

/* One change that is due, of whichever is due first; MISSING: nothing is. */
static enum usher_status expire_next(struct run *run)
{
    work *w = run->w;
    struct usher_record a, u;
    enum usher_status one, two;

    if (w->scope.due_ms > w->now)
        return USHER_MISSING;
    one = w->ops->walk(w->txn, &w->scope, K_AGENT, 1, NULL, 0, 0, false, &a);
    if (one != USHER_OK && one != USHER_MISSING)
        return one;
    two = w->ops->walk(w->txn, &w->scope, K_USER, 1, NULL, 0, 0, false, &u);
    if (two != USHER_OK && two != USHER_MISSING)
        return two;
    w->scope.due_ms = INT64_MAX;
    if (one == USHER_OK)
        w->scope.due_ms = a.until_ms;
    if (two == USHER_OK && u.until_ms < w->scope.due_ms)
        w->scope.due_ms = u.until_ms;
    if (w->scope.due_ms > w->now)
        return USHER_MISSING;
    if (one == USHER_OK && (two != USHER_OK || a.until_ms <= u.until_ms))
        return expire_agent(run, &a);
    return expire_user(run, &u);
}

/* scope.due_ms is only a bound. */
static enum usher_status anything_due(work *w, bool *ret)
{
    static const uint8_t kinds_due[] = { K_AGENT, K_USER };

    *ret = false;
    for (int i = 0; i < 2 && !*ret; i++) {
        struct usher_record r;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, kinds_due[i], 1, NULL, 0, 0, false, &r);

        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        *ret = status == USHER_OK && due(&r, w->now);
    }
    return USHER_OK;
}

/* Up to @max changes that are due, and the matches that follow from them. */
static enum usher_status expire_due(struct run *run, int64_t max, uint64_t *ret_n, bool *ret_more)
{
    enum usher_status status = USHER_OK;

    *ret_n = 0;
    *ret_more = false;
    while (status == USHER_OK) {
        int64_t left = max - (int64_t)*ret_n, portion = USHER__EXPIRE_MAX;

        if (left < portion)
            portion = left;
        while (portion-- > 0 && (status = expire_next(run)) == USHER_OK)
            ++*ret_n;
        if (status == USHER_OK || status == USHER_MISSING) {
            enum usher_status matched = settle(run);

            if (matched != USHER_OK)
                return matched;
        }
        if (status == USHER_OK && (int64_t)*ret_n >= max) {
            return anything_due(run->w, ret_more);
            break;
        }
    }
    return status == USHER_MISSING ? USHER_OK : status;
}

/* The record of @kind (agent or user) with its own deadlines applied.  MISSING. */
static enum usher_status load(struct run *run, unsigned kind, const struct usher_text *id,
                              struct usher_record *r)
{
    work *w = run->w;

    if (w->scope.ref == NULL)
        return USHER_MISSING;
    for (;;) {
        enum usher_status status = w->ops->find(w->txn, &w->scope, (uint8_t)kind, id, r);

        if (status != USHER_OK || !due(r, w->now))
            return status;
        status = kind == K_AGENT ? expire_agent(run, r) : expire_user(run, r);
        if (status != USHER_OK)
            return status;
    }
}

/* ---- answers ---------------------------------------------------------------------- */

static void name_put(size_t *size, char *to, const struct usher_text *from)
{
    *size = from->size;
    if (from->size != 0)
        memcpy(to, from->data, from->size);
    to[from->size] = '\0';
}

static struct usher_queue_reply *reply_of(work *w)
{
    return &w->reply->of.queue;
}

static void answer_names(work *w, const struct usher_text *user, const struct usher_text *agent)
{
    struct usher_queue_reply *q = reply_of(w);

    if (user != NULL)
        name_put(&q->user_size, q->user, user);
    if (agent != NULL)
        name_put(&q->agent_size, q->agent, agent);
}

/* About an agent: login, pause … */
static void answer_agent(work *w, enum usher_status status, const struct usher_record *r)
{
    struct usher_queue_reply *q = reply_of(w);

    w->reply->status = status;
    q->state = (enum usher_agent_state)r->state;
    q->login = r->state != USHER_AGENT_GONE ? r->order : 0;
    q->no = r->state != USHER_AGENT_GONE ? r->n[A_CAPACITY] : 0;
    answer_names(w, NULL, &r->id);
}

static void answer_no_agent(work *w, enum usher_status status, const struct usher_text *id)
{
    w->reply->status = status;
    answer_names(w, NULL, id);
}

/* The version at which the agent @id logged in: that of its rooms. */
static enum usher_status login_of(work *w, const struct usher_text *id, uint64_t *ret)
{
    struct usher_record r;
    enum usher_status status = w->ops->find(w->txn, &w->scope, K_AGENT, id, &r);

    if (status == USHER_MISSING)
        return damaged(w);
    if (status == USHER_OK)
        *ret = r.order;
    return status;
}

/* Where @u is.  @login: of its agent; 0: not known. */
static enum usher_status answer_waiting(work *w, const struct usher_record *u, const struct lane *l)
{
    struct usher_queue_reply *q = reply_of(w);
    uint64_t before = 0;
    int64_t stored = l->r.n[USHER_USER_WAITING - 1] - (u->ref == NULL);
    enum usher_status status = USHER_OK;

    /* one who is new is counted already, but not stored */
    if (stored > 0)
        status = w->ops->rank(w->txn, &w->scope, K_USER, 0, &u->group, u->rank, u->order,
                              (uint64_t)stored, &before);
    q->index = (int64_t)before;
    if (l->f[F_PACE] != 0)
        q->wait_ms = (q->index + 1) * l->f[F_PACE] / 16;
    return status;
}

/* @l: its lane; NULL: not at hand. */
static enum usher_status answer_user(work *w, enum usher_status status,
                                     const struct usher_record *u, uint64_t login, struct lane *l)
{
    static const uint8_t places[] = { USHER_PLACE_NONE, USHER_PLACE_QUEUE, USHER_PLACE_OFFER,
                                      USHER_PLACE_ROOM, USHER_PLACE_AWAY };
    struct usher_queue_reply *q = reply_of(w);

    w->reply->status = status;
    q->place = (enum usher_place)places[u->state];
    q->index = -1;
    q->wait_ms = -1;
    answer_names(w, &u->id, &u->owner);
    if (u->state == USHER_USER_OFFERED || u->state == USHER_USER_SEATED) {
        q->token = u->token;
        q->no = u->n[U_NO];
        q->login = login;
        q->until_ms = u->n[U_END];
        return login != 0 ? USHER_OK : login_of(w, &u->owner, &q->login);
    }
    if (u->state == USHER_USER_WAITING) {
        struct act act;
        enum usher_status read = USHER_OK;

        act_init(&act);
        if (l == NULL)
            read = lane_hold(w, &act, &u->group, &l);
        return read == USHER_OK ? answer_waiting(w, u, l) : read;
    }
    return USHER_OK;
}

static enum usher_status answer_gone(work *w, enum usher_status status,
                                     const struct usher_text *user)
{
    struct usher_queue_reply *q = reply_of(w);

    w->reply->status = status;
    q->index = -1;
    q->wait_ms = -1;
    answer_names(w, user, NULL);
    return USHER_OK;
}

/* ---- verbs of agents -------------------------------------------------------------- */

static int64_t beat(const work *w)
{
    int64_t ttl = w->scope.settings[SET_TTL];

    return ttl > 0 ? w->now + ttl : 0;
}

/* The lanes of a login: "*" alone if it is among them, each once. */
static size_t lanes_of(const work *w, struct usher_text to[LANES_MAX])
{
    struct usher_text list = args(w)->lanes, one;
    size_t n = 0;

    if (list.data == NULL) {
        to[0] = all_lanes;
        return 1;
    }
    while (usher__groups_next(&list, &one)) {
        size_t i = 0;

        if (usher__text_equal(&one, &all_lanes)) {
            to[0] = all_lanes;
            return 1;
        }
        while (i < n && !usher__text_equal(&to[i], &one))
            i++;
        if (i == n)
            to[n++] = one;
    }
    return n;
}

static bool same_login(const work *w, const struct agent *a)
{
    const struct usher_queue_args *g = args(w);
    struct usher_text lanes[LANES_MAX];
    size_t n;

    if ((given(w, USHER_GIVEN_QUEUE_CAPACITY) && g->capacity != a->r.n[A_CAPACITY]) ||
        (given(w, USHER_GIVEN_QUEUE_LEVEL) && g->level != a->r.n[A_LEVEL]))
        return false;
    if (g->lanes.data == NULL)
        return true;
    n = lanes_of(w, lanes);
    for (size_t i = 0; n == a->n_lanes && i < n; i++)
        if (!usher__text_equal(&lanes[i], &a->lanes[i]))
            return false;
    return n == a->n_lanes;
}

/* Without a version: a sign of life is no change to be told of. */
static enum usher_status heartbeat(work *w, struct usher_record *r)
{
    struct usher__change c;

    usher__change_begin(w, &c);
    c.scope->version--;
    usher__change_save(&c, r);
    return w->ops->write(w->txn, c.scope, c.writes, c.n);
}

static enum usher_status agent_alive(work *w, struct usher_record *r)
{
    int64_t at = beat(w);

    if (r->n[A_BEAT] == at)
        return USHER_OK;
    r->n[A_BEAT] = at;
    r->until_ms = nearer(at, r->n[A_WRAP]);
    r->slots = (uint8_t)(4u | (r->until_ms != 0 ? 2u : 0));
    return heartbeat(w, r);
}

static enum usher_status login(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct act act;
    struct usher_record r;
    struct agent *a = &act.agent;
    enum usher_status status = load(run, K_AGENT, &g->agent, &r);

    act_init(&act);
    if (status == USHER_OK) {
        status = agent_hold_this(w, &act, &r);
        if (status != USHER_OK)
            return status;
        if (!same_login(w, a)) {
            answer_agent(w, USHER_REFUSED, &r);
            usher__say(w->reply, USHER_REFUSED,
                       "is logged in with another capacity, level or other lanes");
            return USHER_OK;
        }
        answer_agent(w, USHER_SAME, &r);
        return agent_alive(w, &r);
    }
    if (status != USHER_MISSING)
        return status;
    act_step(w, &act);
    memset(a, 0, sizeof *a);
    a->r.kind = K_AGENT;
    a->r.id = g->agent;
    a->r.order = a->r.token = act.c.scope->version;
    a->r.n[A_CAPACITY] = given(w, USHER_GIVEN_QUEUE_CAPACITY) ? g->capacity : 1;
    a->r.n[A_LEVEL] = given(w, USHER_GIVEN_QUEUE_LEVEL) ? g->level : 0;
    a->r.n[A_BEAT] = beat(w);
    a->n_lanes = lanes_of(w, a->lanes);
    agent_move(w, &act, USHER__AGENT_LOGIN, w->now);
    answer_agent(w, USHER_OK, &a->r);
    status = agent_save(w, &act, true);
    act_about(&act, USHER_QUEUE_LOGIN, USHER_AGENT_GONE, &a->r);
    if (status == USHER_OK)
        status = act_commit(w, &act);
    todo_agent(run, a->r.order);
    return status;
}

static enum usher_status logout(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    bool gone = false;

    while (!gone) {
        struct usher_record r;
        enum usher_status status = load(run, K_AGENT, id, &r);

        if (status == USHER_MISSING) {
            answer_no_agent(w, USHER_SAME, id);
            return USHER_OK;
        }
        if (status == USHER_OK)
            status = agent_leave(run, &r, USHER__AGENT_LOGOUT, USHER_QUEUE_LOGOUT, w->now, &gone);
        if (status != USHER_OK)
            return status;
    }
    answer_no_agent(w, USHER_OK, id);
    return USHER_OK;
}

static enum usher_status pause_or_ready(struct run *run, const struct usher_record *r,
                                        unsigned event, enum usher_verb verb)
{
    work *w = run->w;
    struct act act;
    struct agent *a = &act.agent;
    unsigned from = r->state;
    struct usher__move move = usher__machine_move(&usher__agent_machine, from, event);
    bool ready = event == USHER__AGENT_READY;
    enum usher_status status;

    if (move.status == USHER_OK && used(r) > 0 &&
        (ready ? !asked(r) && r->n[A_WRAP] == 0 : asked(r)))
        move.status = USHER_SAME;
    if (move.status != USHER_OK) {
        answer_agent(w, (enum usher_status)move.status, r);
        return USHER_OK;
    }
    act_init(&act);
    status = agent_hold_this(w, &act, r);
    if (status != USHER_OK)
        return status;
    act_step(w, &act);
    a->touched = true;
    if (ready || used(r) == 0)
        a->r.n[A_WRAP] = 0;
    if (asked(r) == ready)
        a->r.n[A_OFFERS] += ready ? -1 : used(r) > 0;
    agent_move(w, &act, event, w->now);
    a->r.until_ms = nearer(a->r.n[A_BEAT], a->r.n[A_WRAP]);
    act_about(&act, verb, from, &a->r);
    answer_agent(w, USHER_OK, &a->r);
    todo_agent(run, a->r.order);
    return act_commit(w, &act);
}

static enum usher_status agent_verb(struct run *run, unsigned event)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    enum usher_status status = load(run, K_AGENT, id, &r);

    if (status == USHER_MISSING) {
        answer_no_agent(w, USHER_MISSING, id);
        return USHER_OK;
    }
    return status == USHER_OK ? pause_or_ready(run, &r, event, w->command->verb) : status;
}

static enum usher_status free_agent(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    uint64_t n = 0;
    struct usher_record r, u;

    for (;;) {
        struct act act;
        enum usher_status status = load(run, K_AGENT, id, &r);

        if (status == USHER_MISSING) {
            answer_no_agent(w, USHER_MISSING, id);
            return USHER_OK;
        }
        act_init(&act);
        if (status == USHER_OK)
            status = agent_hold_this(w, &act, &r);
        if (status == USHER_OK)
            status = first_in_rooms(w, &act, &u);
        if (status == USHER_MISSING)
            break;
        if (status == USHER_OK && u.state == USHER_USER_SEATED)
            status = user_gone(run, &act, &u, USHER_OUTCOME_FREED, USHER__USER_FINISH,
                               USHER_QUEUE_FREE, w->now);
        else if (status == USHER_OK)
            status = user_back(run, &act, &u, USHER__USER_BACK, true, USHER_QUEUE_FREE, w->now);
        if (status == USHER_OK)
            status = act_commit(w, &act);
        if (status != USHER_OK)
            return status;
        n++;
    }
    reply_of(w)->count = n;
    {
        enum usher_status status = pause_or_ready(run, &r, USHER__AGENT_READY, USHER_QUEUE_READY);

        if (status == USHER_OK && n > 0)
            w->reply->status = USHER_OK;
        return status;
    }
}

/* The rooms of @r as rows. */
static enum usher_status rooms_rows(work *w, const struct usher_record *r)
{
    struct agent a;

    a.r = *r;
    if (!agent_read(&a))
        return damaged(w);
    for (int64_t i = 0; i < r->n[A_CAPACITY]; i++) {
        struct usher_queue_row row;
        enum usher_status status;

        memset(&row, 0, sizeof row);
        row.user = a.rooms[i];
        row.login = r->order;
        row.no = i + 1;
        if (a.rooms[i].size != 0) {
            struct usher_record u;

            status = w->ops->find(w->txn, &w->scope, K_USER, &a.rooms[i], &u);
            if (status != USHER_OK)
                return status == USHER_MISSING ? damaged(w) : status;
            row.lane = u.group;
            row.state = u.state;
            row.priority = u.n[U_PRIORITY];
            row.since_ms = u.n[U_SINCE];
            row.applied_ms = u.n[U_APPLIED];
            row.matched_ms = u.n[U_MATCHED];
            row.until_ms = u.until_ms;
        }
        status = usher_reply_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
    return USHER_OK;
}

static enum usher_status room(struct run *run, bool alive)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    enum usher_status status = load(run, K_AGENT, id, &r);

    if (status == USHER_MISSING) {
        answer_no_agent(w, USHER_MISSING, id);
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    if (alive) {
        uint64_t order = r.order;

        status = agent_alive(w, &r);
        /* it may be open without need: a match had no memory, or the trigger was another */
        if (status == USHER_OK && is_open(&r)) {
            todo_agent(run, order);
            status = settle(run);
        }
        if (status == USHER_OK)
            status = w->ops->find(w->txn, &w->scope, K_AGENT, id, &r);
        if (status != USHER_OK)
            return status;
    }
    answer_agent(w, USHER_OK, &r);
    return rooms_rows(w, &r);
}

/* ---- verbs of users --------------------------------------------------------------- */

/* @u says that it is alive; one that was away is back. */
static enum usher_status user_alive(struct run *run, struct usher_record *u)
{
    work *w = run->w;
    int64_t at = beat(w);
    struct act act;
    unsigned from = u->state;
    enum usher_status status;

    if (from != USHER_USER_AWAY) {
        unsigned slots = u->slots & 5u;

        if (u->n[U_BEAT] == at)
            return USHER_OK;
        u->n[U_BEAT] = at;
        u->until_ms = from == USHER_USER_WAITING   ? nearer(at, u->n[U_PATIENCE])
                      : from == USHER_USER_OFFERED ? nearer(at, u->n[U_END])
                                                   : at;
        u->slots = (uint8_t)(slots | (u->until_ms != 0 ? 2u : 0));
        return heartbeat(w, u);
    }
    act_init(&act);
    act_step(w, &act);
    u->n[U_BEAT] = at;
    u->n[U_END] = 0;
    user_settle(u, user_move(u, USHER__USER_APPLY));
    status = user_save(w, &act, u, from);
    act_about(&act, w->command->verb, from, u);
    todo_user(run, u);
    return status == USHER_OK ? act_commit(w, &act) : status;
}

/* Where the user of the command is by now. */
static enum usher_status tell_user(struct run *run, enum usher_status status)
{
    work *w = run->w;
    struct usher_record u;
    enum usher_status found = w->ops->find(w->txn, &w->scope, K_USER, &args(w)->user, &u);

    return found == USHER_OK ? answer_user(w, status, &u, 0, NULL) : found;
}

/* The user is here: it says that it is alive, and is told where it is. */
static enum usher_status user_again(struct run *run, struct usher_record *u, bool apply)
{
    bool back = u->state == USHER_USER_AWAY;
    enum usher_status status = user_alive(run, u);

    if (status == USHER_OK)
        status = settle(run);
    return status == USHER_OK ? tell_user(run, apply && !back ? USHER_SAME : USHER_OK) : status;
}

static enum usher_status where(struct run *run, bool alive)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->user;
    struct usher_record u;
    enum usher_status status = load(run, K_USER, id, &u);

    if (status == USHER_MISSING)
        return answer_gone(w, USHER_MISSING, id);
    if (status != USHER_OK)
        return status;
    return alive ? user_again(run, &u, false) : answer_user(w, USHER_OK, &u, 0, NULL);
}

static int64_t agents(const struct usher_scope *s)
{
    int64_t n = 0;

    for (int i = USHER_AGENT_IDLE; i <= USHER_AGENT_PAUSED; i++)
        n += s->counts[i];
    return n;
}

static enum usher_status apply(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    const int64_t *set = w->scope.settings, *counts = w->scope.counts;
    bool automatic = set[SET_TRIGGER] == USHER_TRIGGER_AUTO, found = false, alone;
    struct act act;
    struct usher_record u, new;
    struct lane *l;
    uint64_t token_login = 0;
    enum usher_status status = load(run, K_USER, &g->user, &u);

    if (status == USHER_OK)
        return user_again(run, &u, true);
    if (status != USHER_MISSING)
        return status;
    status = answer_gone(w, USHER_EMPTY, &g->user);
    if (agents(&w->scope) == 0) {
        reply_of(w)->why = USHER_QUEUE_WHY_NO_AGENT;
        return status;
    }
    memset(&new, 0, sizeof new);
    new.kind = K_USER;
    new.id = g->user;
    new.group = g->lane.data != NULL ? g->lane : default_lane;
    new.n[U_PRIORITY] = given(w, USHER_GIVEN_QUEUE_PRIORITY) ? g->priority : 0;
    new.n[U_SINCE] = given(w, USHER_GIVEN_QUEUE_SINCE) ? g->since_ms : w->now;
    new.n[U_APPLIED] = w->now;
    new.n[U_BEAT] = beat(w);
    new.n[U_PATIENCE] = set[SET_MAXWAIT] > 0 ? w->now + set[SET_MAXWAIT] : 0;
    new.order = usher__version_next(w);
    act_init(&act);
    status = lane_hold(w, &act, &new.group, &l);
    if (status == USHER_OK && automatic) {
        /* the match has the version behind that of apply */
        w->scope.version++;
        status = pick(w, &act, &new);
        w->scope.version--;
        found = status == USHER_OK;
        if (status == USHER_MISSING)
            status = USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    alone = l->r.n[USHER_USER_WAITING - 1] == 0;
    if (set[SET_LIMIT] > 0 && !found &&
        counts[COUNT_USERS + USHER_USER_WAITING] + counts[COUNT_USERS + USHER_USER_AWAY] >=
            set[SET_LIMIT]) {
        w->reply->status = USHER_FULL;
        return USHER_OK;
    }
    if (l->r.ref == NULL && counts[COUNT_LANES] >= USHER_LANES_MAX) {
        usher__say(w->reply, USHER_FULL, "the queue has %d lanes", USHER_LANES_MAX);
        return USHER_OK;
    }
    act_step(w, &act);
    user_settle(&new, user_move(&new, USHER__USER_APPLY));
    act_about(&act, USHER_QUEUE_APPLY, USHER_USER_GONE, &new);
    if (found && alone) {
        token_login = act.agent.r.order;
        status = give(run, &act, &new, false);
    } else {
        act.has_agent = false;
        status = user_save(w, &act, &new, USHER_USER_GONE);
        if (found)
            todo_user(run, &new);
    }
    if (status == USHER_OK && !found)
        status = answer_user(w, USHER_OK, &new, 0, l);
    else if (status == USHER_OK && alone)
        status = answer_user(w, USHER_OK, &new, token_login, l);
    if (status == USHER_OK)
        status = act_commit(w, &act);
    if (status == USHER_OK && found && !alone) {
        status = settle(run);
        if (status == USHER_OK)
            status = tell_user(run, USHER_OK);
    }
    return status;
}

/* After a seated user has left the agent of @act: the next one, in the same write. */
static enum usher_status next_at_once(struct run *run, struct act *act)
{
    enum usher_status status;

    if (run->w->scope.settings[SET_TRIGGER] != USHER_TRIGGER_AUTO)
        return USHER_OK;
    status = match_agent_once(run, act);
    run->todo->n_agents--; /* room_empty() put it there: one room is free, one match is all */
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status end_visit(struct run *run, struct usher_record *u,
                                   enum usher_outcome outcome, unsigned event)
{
    work *w = run->w;
    struct usher_queue_reply *q = reply_of(w);
    struct act act;
    bool room = u->owner.size != 0;
    enum usher_status status;

    answer_names(w, &u->id, &u->owner);
    q->index = -1;
    q->wait_ms = -1;
    q->no = u->n[U_NO];
    q->token = u->token;
    act_init(&act);
    status = user_gone(run, &act, u, outcome, event, w->command->verb, w->now);
    if (status == USHER_OK && room) {
        q->login = act.agent.r.order;
        status = next_at_once(run, &act);
    }
    w->reply->status = USHER_OK;
    return status == USHER_OK ? act_commit(w, &act) : status;
}

static enum usher_status leave(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->user;
    struct usher_record u;
    enum usher_status status = load(run, K_USER, id, &u);

    if (status == USHER_MISSING)
        return answer_gone(w, USHER_MISSING, id);
    if (status != USHER_OK)
        return status;
    return end_visit(run, &u,
                     u.state == USHER_USER_SEATED ? USHER_OUTCOME_SEATED : USHER_OUTCOME_LEFT,
                     USHER__USER_LEAVE);
}

/* "LOGIN.NO" of digits; false: no room is called so. */
static bool room_parse(const struct usher_text *text, uint64_t *ret_login, int64_t *ret_no)
{
    uint64_t number[2] = { 0, 0 };
    unsigned part = 0, digits = 0;

    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];

        if (c == '.' && part == 0 && digits > 0) {
            part = 1;
            digits = 0;
        } else if (c >= '0' && c <= '9' && digits < 16 && (c != '0' || digits > 0)) {
            number[part] = number[part] * 10 + (unsigned)(c - '0');
            digits++;
        } else {
            return false;
        }
    }
    *ret_login = number[0];
    *ret_no = (int64_t)number[1];
    return part == 1 && digits > 0;
}

/* The user in @room.  MISSING: no such room; EMPTY: nobody is in it. */
static enum usher_status in_room(struct run *run, const struct usher_text *room,
                                 struct usher_record *u)
{
    work *w = run->w;
    uint64_t login;
    int64_t no;

    if (w->scope.ref == NULL || !room_parse(room, &login, &no))
        return USHER_MISSING;
    for (;;) {
        struct agent a;
        enum usher_status status = agent_by_login(w, login, &a.r);

        if (status == USHER_OK && due(&a.r, w->now)) {
            status = expire_agent(run, &a.r);
            if (status != USHER_OK)
                return status;
            continue;
        }
        if (status != USHER_OK)
            return status;
        if (!agent_read(&a))
            return damaged(w);
        if (no > a.r.n[A_CAPACITY])
            return USHER_MISSING;
        reply_of(w)->login = login;
        reply_of(w)->no = no;
        answer_names(w, NULL, &a.r.id);
        if (a.rooms[no - 1].size == 0)
            return USHER_EMPTY;
        status = w->ops->find(w->txn, &w->scope, K_USER, &a.rooms[no - 1], u);
        if (status == USHER_MISSING)
            return damaged(w);
        if (status != USHER_OK || !due(u, w->now))
            return status;
        status = expire_user(run, u);
        if (status != USHER_OK)
            return status;
    }
}

static enum usher_status finish(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct usher_record u;
    enum usher_status status = in_room(run, &g->room, &u);

    reply_of(w)->index = reply_of(w)->wait_ms = -1;
    if (status == USHER_MISSING || status == USHER_EMPTY) {
        w->reply->status = status == USHER_MISSING ? USHER_MISSING : USHER_REFUSED;
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    if ((g->user.data != NULL && !usher__text_equal(&g->user, &u.id)) ||
        (given(w, USHER_GIVEN_QUEUE_TOKEN) && g->token != u.token)) {
        answer_names(w, &u.id, &u.owner);
        reply_of(w)->token = u.token;
        w->reply->status = USHER_STALE;
        return USHER_OK;
    }
    if (usher__machine_move(&usher__user_machine, u.state, USHER__USER_FINISH).status != USHER_OK) {
        answer_names(w, &u.id, &u.owner);
        w->reply->status = USHER_REFUSED;
        return USHER_OK;
    }
    return end_visit(run, &u, USHER_OUTCOME_SEATED, USHER__USER_FINISH);
}

/* accept and reject: the agent and the user named, if they have to do with each other. */
static enum usher_status offered(struct run *run, struct usher_record *a, struct usher_record *u)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct usher_queue_reply *q = reply_of(w);
    enum usher_status status = load(run, K_USER, &g->user, u), two;

    answer_names(w, &g->user, &g->agent);
    q->index = q->wait_ms = -1;
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    /* an agent that goes changes the user, and the other way round */
    two = load(run, K_AGENT, &g->agent, a);
    if (two != USHER_OK)
        return two;
    if (status == USHER_OK)
        status = load(run, K_USER, &g->user, u);
    if (status == USHER_OK)
        status = w->ops->find(w->txn, &w->scope, K_AGENT, &g->agent, a);
    if (status != USHER_OK)
        return status;
    if (!usher__text_equal(&u->owner, &a->id))
        return USHER_REFUSED;
    q->login = a->order;
    q->no = u->n[U_NO];
    q->token = u->token;
    q->state = (enum usher_agent_state)a->state;
    return USHER_OK;
}

static enum usher_status accept_or_reject(struct run *run, bool accept)
{
    work *w = run->w;
    struct usher_record a, u;
    struct act act;
    unsigned from;
    struct usher__move move;
    struct lane *l;
    enum usher_status status = offered(run, &a, &u);

    if (status == USHER_MISSING || status == USHER_REFUSED) {
        w->reply->status = status;
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    from = u.state;
    move = usher__machine_move(&usher__user_machine, from,
                               accept ? USHER__USER_SEAT : USHER__USER_BACK);
    if (!accept && from == USHER_USER_SEATED)
        move.status = USHER_REFUSED; /* it is no offer any more */
    if (move.status != USHER_OK) {
        w->reply->status = (enum usher_status)move.status;
        return USHER_OK;
    }
    act_init(&act);
    status = agent_hold_this(w, &act, &a);
    if (status != USHER_OK)
        return status;
    if (!accept) {
        status = user_back(run, &act, &u, USHER__USER_BACK, true, USHER_QUEUE_REJECT, w->now);
    } else {
        act_step(w, &act);
        status = lane_hold(w, &act, &u.group, &l);
        if (status != USHER_OK)
            return status;
        act.agent.r.n[A_OFFERS] -= 2;
        act.agent.r.n[A_SEATED]++;
        agent_move(w, &act, USHER__AGENT_SEAT, w->now);
        u.n[U_MATCHED] = w->now;
        u.n[U_END] = 0;
        seated(w, &act, l, &u);
        u.state = move.to;
        u.until_ms = u.n[U_BEAT];
        u.slots = (uint8_t)(4u | (u.until_ms != 0 ? 2u : 0));
        status = user_save(w, &act, &u, from);
        act_about(&act, USHER_QUEUE_ACCEPT, from, &u);
    }
    reply_of(w)->state = (enum usher_agent_state)act.agent.r.state;
    w->reply->status = USHER_OK;
    return status == USHER_OK ? act_commit(w, &act) : status;
}

/* ---- pull, match, sweep ----------------------------------------------------------- */

static enum usher_status pull(struct run *run)
{
    work *w = run->w;
    const struct usher_text *id = &args(w)->agent;
    struct usher_record r;
    struct act act;
    enum usher_status status = load(run, K_AGENT, id, &r);

    if (status == USHER_MISSING) {
        answer_no_agent(w, USHER_MISSING, id);
        return USHER_OK;
    }
    if (status != USHER_OK)
        return status;
    answer_agent(w, USHER_OK, &r);
    if (!is_open(&r)) {
        w->reply->status = USHER_REFUSED;
        return USHER_OK;
    }
    act_init(&act);
    status = agent_hold_this(w, &act, &r);
    if (status == USHER_OK)
        status = match_agent_once(run, &act);
    if (status == USHER_MISSING) {
        w->reply->status = USHER_EMPTY;
        reply_of(w)->why = USHER_QUEUE_WHY_NO_USER;
        return USHER_OK;
    }
    if (status == USHER_OK)
        reply_of(w)->state = (enum usher_agent_state)act.agent.r.state;
    return status == USHER_OK ? act_commit(w, &act) : status;
}

static enum usher_status match(struct run *run)
{
    work *w = run->w;
    uint64_t before = UINT64_MAX;
    enum usher_status status = USHER_OK;

    while (status == USHER_OK && run->n_matched != before && run->n_matched < USHER__STEP_MAX) {
        uint64_t rank = 0, order = 0;

        before = run->n_matched;
        while (w->scope.counts[COUNT_USERS + USHER_USER_WAITING] > 0) {
            struct usher_record link, a;

            status = w->ops->walk(w->txn, &w->scope, K_LINK, 0, NULL, rank, order, false, &link);
            if (status == USHER_OK && run->n_matched >= USHER__STEP_MAX)
                reply_of(w)->more = true;
            if (status != USHER_OK || run->n_matched >= USHER__STEP_MAX)
                break;
            rank = link.rank;
            order = link.order;
            status = w->ops->find(w->txn, &w->scope, K_AGENT, &link.owner, &a);
            if (status == USHER_MISSING)
                return damaged(w);
            if (status == USHER_OK)
                status = match_agent(run, a.order, 1);
            if (status != USHER_OK)
                return status;
        }
        if (status == USHER_MISSING)
            status = USHER_OK;
    }
    if (status == USHER_OK)
        w->reply->status = run->n_matched > 0 ? USHER_OK : USHER_SAME;
    return status;
}

/* ---- move ------------------------------------------------------------------------- */

static enum usher_status move_user(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    struct usher_record u, new;
    struct usher__move move;
    struct act act;
    struct lane *from, *to;
    enum usher_status status = load(run, K_USER, &g->user, &u);

    if (status == USHER_MISSING)
        return answer_gone(w, USHER_MISSING, &g->user);
    if (status != USHER_OK)
        return status;
    move = usher__machine_move(&usher__user_machine, u.state, USHER__USER_MOVE);
    if (move.status != USHER_OK)
        return answer_user(w, (enum usher_status)move.status, &u, 0, NULL);
    new = u;
    if (g->lane.data != NULL)
        new.group = g->lane;
    if (given(w, USHER_GIVEN_QUEUE_PRIORITY))
        new.n[U_PRIORITY] = g->priority;
    if (given(w, USHER_GIVEN_QUEUE_SINCE))
        new.n[U_SINCE] = g->since_ms;
    if (usher__text_equal(&new.group, &u.group) && place(&new) == place(&u))
        return answer_user(w, USHER_SAME, &u, 0, NULL);
    act_init(&act);
    status = lane_hold(w, &act, &u.group, &from);
    if (status == USHER_OK)
        status = lane_hold(w, &act, &new.group, &to);
    if (status != USHER_OK)
        return status;
    if (to->r.ref == NULL && w->scope.counts[COUNT_LANES] >= USHER_LANES_MAX) {
        usher__say(w->reply, USHER_FULL, "the queue has %d lanes", USHER_LANES_MAX);
        return USHER_OK;
    }
    act_step(w, &act);
    if (new.state == USHER_USER_WAITING)
        new.rank = place(&new);
    count(&act, from, u.state, -1);
    count(&act, to, u.state, 1);
    usher__change_save(&act.c, &new);
    act_about(&act, USHER_QUEUE_MOVE, u.state, &new);
    todo_user(run, &new);
    status = act_commit(w, &act);
    if (status == USHER_OK)
        status = settle(run);
    return status == USHER_OK ? tell_user(run, USHER_OK) : status;
}

/* ---- settings --------------------------------------------------------------------- */

static void settings_from(const int64_t *set, struct usher_queue_settings *s)
{
    s->ttl_ms = set[SET_TTL];
    s->trigger = set[SET_TRIGGER];
    s->strategy = set[SET_STRATEGY];
    s->offer_ms = set[SET_OFFER];
    s->wrapup_ms = set[SET_WRAPUP];
    s->limit = set[SET_LIMIT];
    s->maxwait_ms = set[SET_MAXWAIT];
    s->grace_ms = set[SET_GRACE];
    s->requeue = set[SET_REQUEUE];
    s->history = set[SET_HISTORY];
    s->zone_min = set[SET_ZONE];
    s->service_ms = set[SET_SERVICE];
    s->requests = set[SET_REQUESTS];
}

static enum usher_status set(struct run *run)
{
    work *w = run->w;
    const struct usher_queue_args *g = args(w);
    uint32_t bits = w->command->given & ~(uint32_t)USHER_GIVEN_NOW;
    int64_t new[USHER_SETTINGS];
    const struct {
        uint32_t bit;
        int64_t value;
    } values[SETTINGS] = {
        [SET_TTL] = { USHER_GIVEN_QUEUE_TTL, g->ttl_ms },
        [SET_TRIGGER] = { USHER_GIVEN_QUEUE_TRIGGER, g->trigger },
        [SET_STRATEGY] = { USHER_GIVEN_QUEUE_STRATEGY, g->strategy },
        [SET_OFFER] = { USHER_GIVEN_QUEUE_OFFER, g->offer_ms },
        [SET_WRAPUP] = { USHER_GIVEN_QUEUE_WRAPUP, g->wrapup_ms },
        [SET_LIMIT] = { USHER_GIVEN_QUEUE_LIMIT, g->limit },
        [SET_MAXWAIT] = { USHER_GIVEN_QUEUE_MAXWAIT, g->maxwait_ms },
        [SET_GRACE] = { USHER_GIVEN_QUEUE_GRACE, g->grace_ms },
        [SET_REQUEUE] = { USHER_GIVEN_QUEUE_REQUEUE, g->requeue },
        [SET_HISTORY] = { USHER_GIVEN_QUEUE_HISTORY, g->history },
        [SET_ZONE] = { USHER_GIVEN_QUEUE_ZONE, g->zone_min },
        [SET_SERVICE] = { USHER_GIVEN_QUEUE_SERVICE, g->service_ms },
        [SET_REQUESTS] = { USHER_GIVEN_QUEUE_REQUESTS, g->requests },
    };
    struct usher__change c;
    bool waited;
    enum usher_status status;

    memcpy(new, w->scope.settings, sizeof new);
    for (int i = 0; i < SETTINGS; i++)
        if ((bits & values[i].bit) != 0)
            new[i] = values[i].value;
    settings_from(new, &reply_of(w)->of.settings);
    if (bits == 0 || (w->scope.ref != NULL && memcmp(new, w->scope.settings, sizeof new) == 0)) {
        w->reply->status = bits != 0 ? USHER_SAME : w->scope.ref != NULL ? USHER_OK : USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    usher__change_begin(w, &c);
    waited = w->scope.settings[SET_TRIGGER] != USHER_TRIGGER_AUTO;
    memcpy(c.scope->settings, new, sizeof new);
    status = usher__change_commit(w, &c, USHER_QUEUE_SET, 0, 0, NULL);
    if (status == USHER_OK && waited && new[SET_TRIGGER] == USHER_TRIGGER_AUTO) {
        status = match(run); /* from now on nobody waits for it */
        w->reply->status = USHER_OK;
    }
    return status;
}

/* ---- lists and figures ------------------------------------------------------------ */

static size_t rows_max(const work *w)
{
    return given(w, USHER_GIVEN_QUEUE_MAX) ? (size_t)args(w)->max : USHER_LIST_DEFAULT;
}

/* "HI.ORDER", where a page of users ended.  False: it is not that. */
static bool cursor_parse(const struct usher_text *text, uint64_t *ret_hi, uint64_t *ret_order)
{
    uint64_t number[2] = { 0, 0 };
    unsigned part = 0, digits = 0;

    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];

        if (c == '.' && part == 0 && digits > 0) {
            part = 1;
            digits = 0;
        } else if (c >= '0' && c <= '9' && digits < 16) {
            number[part] = number[part] * 10 + (unsigned)(c - '0');
            digits++;
        } else {
            return false;
        }
    }
    *ret_hi = number[0];
    *ret_order = number[1];
    return part == 1 && digits > 0;
}

static enum usher_status list(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_reply *q = reply_of(w);
    unsigned state = given(w, USHER_GIVEN_QUEUE_STATE) ? (unsigned)g->state : USHER_USER_WAITING;
    uint8_t slot = state == USHER_USER_WAITING ? 0 : state == USHER_USER_AWAY ? 1 : 2;
    const struct usher_text *lane = g->lane.data != NULL ? &g->lane : NULL;
    uint64_t hi = 0, order = 0;
    size_t max = rows_max(w);
    enum usher_status status = USHER_OK;

    if (g->after.data != NULL)
        (void)cursor_parse(&g->after, &hi, &order);
    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (int looked = 0;; looked++) {
        struct usher_record r;
        struct usher_queue_row row;

        status = w->ops->walk(w->txn, &w->scope, K_USER, slot, slot == 2 ? NULL : lane, hi, order,
                              false, &r);
        if (status == USHER_MISSING)
            return USHER_OK;
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max || looked == USHER_LIST_MAX) {
            q->more = true;
            q->agent_size =
                (size_t)snprintf(q->agent, sizeof q->agent, "%" PRIu64 ".%" PRIu64, hi, order);
            return USHER_OK;
        }
        hi = slot == 0 ? r.rank : slot == 1 ? (uint64_t)r.until_ms : 0;
        order = r.order;
        if (r.state != state || (lane != NULL && !usher__text_equal(lane, &r.group)))
            continue;
        memset(&row, 0, sizeof row);
        row.user = r.id;
        row.agent = r.owner;
        row.lane = r.group;
        row.state = r.state;
        row.priority = r.n[U_PRIORITY];
        row.since_ms = r.n[U_SINCE];
        row.applied_ms = r.n[U_APPLIED];
        row.matched_ms = r.n[U_MATCHED];
        row.until_ms = r.until_ms;
        row.no = r.n[U_NO];
        if (row.no != 0)
            status = login_of(w, &r.owner, &row.login);
        if (status == USHER_OK)
            status = usher_reply_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

static enum usher_status list_agents(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_reply *q = reply_of(w);
    struct usher_text after = g->after;
    size_t max = rows_max(w);

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (;;) {
        char lanes[LANES_MAX * (USHER_NAME_MAX + 1)];
        struct agent a;
        struct usher_queue_row row;
        size_t n = 0;
        enum usher_status status = w->ops->next(w->txn, &w->scope, K_AGENT, &after, &a.r);

        if (status == USHER_MISSING) {
            q->agent_size = 0;
            q->agent[0] = '\0';
            return USHER_OK;
        }
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max) {
            q->more = true; /* after q->agent */
            return USHER_OK;
        }
        after = a.r.id;
        answer_names(w, NULL, &a.r.id);
        if (!agent_read(&a))
            return damaged(w);
        for (size_t i = 0; i < a.n_lanes; i++) {
            if (i > 0)
                lanes[n++] = ',';
            memcpy(lanes + n, a.lanes[i].data, a.lanes[i].size);
            n += a.lanes[i].size;
        }
        memset(&row, 0, sizeof row);
        row.agent = a.r.id;
        row.lanes.data = lanes;
        row.lanes.size = n;
        row.login = a.r.order;
        row.state = a.r.state;
        row.matched_ms = a.r.n[A_STATE_SINCE];
        row.until_ms = a.r.until_ms;
        row.capacity = a.r.n[A_CAPACITY];
        row.used = used(&a.r);
        row.served = a.r.n[A_SERVED];
        row.level = a.r.n[A_LEVEL];
        status = usher_reply_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

/* How long the one waits who waits longest.  In each priority it is the first one: the next
 * priority is found behind the last place that this one could have. */
static enum usher_status longest_wait(work *w, const struct usher_text *lane, int64_t *ret)
{
    uint64_t rank = 0, order = 0;

    *ret = 0;
    for (;;) {
        struct usher_record r;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, K_USER, 0, lane, rank, order, false, &r);

        if (status == USHER_MISSING)
            return USHER_OK;
        if (status != USHER_OK)
            return status;
        if (w->now - r.n[U_SINCE] > *ret)
            *ret = w->now - r.n[U_SINCE];
        rank = ((uint64_t)(USHER_PRIORITY_MAX - r.n[U_PRIORITY]) << 43) +
               (uint64_t)USHER_QUEUE_TIME_MAX;
        order = (UINT64_C(1) << 53) - 1;
    }
}

static enum usher_status stats(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_stats *s = &reply_of(w)->of.stats;
    const int64_t *counts = w->scope.counts;
    int64_t f[FIGURES] = { 0 }, day = usher__day(w->now, w->scope.settings[SET_ZONE]) + DAY_SHIFT;
    struct usher_text id = { NULL, 0 };
    enum usher_status status = USHER_OK;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    while (status == USHER_OK) {
        struct act act;
        struct lane *l;

        act_init(&act);
        if (g->lane.data != NULL) {
            id = g->lane;
        } else {
            struct usher_record r;

            status = w->ops->next(w->txn, &w->scope, K_LANE, &id, &r);
            if (status != USHER_OK)
                break;
            id = r.id;
        }
        status = lane_hold(w, &act, &id, &l);
        if (status != USHER_OK)
            return status;
        s->waiting += l->r.n[USHER_USER_WAITING - 1];
        s->away += l->r.n[USHER_USER_AWAY - 1];
        s->offered += l->r.n[USHER_USER_OFFERED - 1];
        s->seated += l->r.n[USHER_USER_SEATED - 1];
        for (int i = F_SEATED; i <= F_TALK && l->f[F_DAY] == day; i++)
            f[i] += l->f[i];
        if (g->lane.data != NULL)
            break;
    }
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    s->idle = counts[USHER_AGENT_IDLE];
    s->ringing = counts[USHER_AGENT_OFFERED];
    s->busy = counts[USHER_AGENT_BUSY];
    s->wrapup = counts[USHER_AGENT_WRAPUP];
    s->paused = counts[USHER_AGENT_PAUSED];
    s->agents = agents(&w->scope);
    s->seated_today = f[F_SEATED];
    s->abandoned_today = f[F_ABANDONED];
    s->timeout_today = f[F_TIMEOUT];
    s->finished_today = f[F_FINISHED];
    s->service_level = f[F_SEATED] > 0 ? f[F_WITHIN] * 10000 / f[F_SEATED] : -1;
    s->wait_ms = f[F_SEATED] > 0 ? f[F_WAIT] / f[F_SEATED] : -1;
    s->talk_ms = f[F_FINISHED] > 0 ? f[F_TALK] / f[F_FINISHED] : -1;
    w->reply->status = USHER_OK;
    return longest_wait(w, g->lane.data != NULL ? &g->lane : NULL, &s->longest_wait_ms);
}

static enum usher_status history(work *w)
{
    const struct usher_queue_args *g = args(w);
    struct usher_queue_reply *q = reply_of(w);
    uint64_t before = UINT64_MAX, hi = 0;
    size_t max = rows_max(w);

    if (g->after.data != NULL)
        (void)cursor_parse(&g->after, &hi, &before);
    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    w->reply->status = USHER_OK;
    for (int looked = 0;; looked++) {
        struct usher_record r;
        struct usher_queue_row row;
        struct usher_text texts[2];
        struct usher_unpacker u;
        size_t n;
        enum usher_status status =
            w->ops->walk(w->txn, &w->scope, K_VISIT, 0, NULL, before == UINT64_MAX ? before : 0,
                         before, true, &r);

        if (status == USHER_MISSING)
            return USHER_OK;
        if (status != USHER_OK)
            return status;
        if (q->n_rows == max || looked == USHER_LIST_MAX) {
            q->more = true;
            q->agent_size = (size_t)snprintf(q->agent, sizeof q->agent, "0.%" PRIu64, before);
            return USHER_OK;
        }
        before = r.order;
        if (given(w, USHER_GIVEN_QUEUE_SINCE) && r.n[V_END] < g->since_ms)
            continue;
        u.at = (const unsigned char *)r.data.data;
        u.end = u.at + r.data.size;
        if (!usher_unpack_array(&u, &n) || n != 2 || !texts_read(&u, texts, 2))
            return damaged(w);
        memset(&row, 0, sizeof row);
        row.user = texts[0];
        row.lane = texts[1];
        row.agent = r.owner;
        row.state = r.state;
        row.login = (uint64_t)r.n[V_LOGIN];
        row.no = r.n[V_NO];
        row.priority = r.n[V_PRIORITY];
        row.since_ms = r.n[V_SINCE];
        row.applied_ms = r.n[V_APPLIED];
        row.matched_ms = r.n[V_SEATED];
        row.until_ms = r.n[V_END];
        row.wait_ms = (r.n[V_SEATED] != 0 ? r.n[V_SEATED] : r.n[V_END]) - r.n[V_APPLIED];
        row.talk_ms = r.n[V_SEATED] != 0 ? r.n[V_END] - r.n[V_SEATED] : 0;
        status = usher_reply_add_row(w->reply, USHER_QUEUE, &row);
        if (status != USHER_OK)
            return status;
    }
}

/* ---- all together ----------------------------------------------------------------- */

static enum usher_status verb(struct run *run)
{
    work *w = run->w;

    switch (w->command->verb) {
    case USHER_QUEUE_SET:
        return set(run);
    case USHER_QUEUE_LOGIN:
        return login(run);
    case USHER_QUEUE_LOGOUT:
        return logout(run);
    case USHER_QUEUE_PAUSE:
        return agent_verb(run, USHER__AGENT_PAUSE);
    case USHER_QUEUE_READY:
        return agent_verb(run, USHER__AGENT_READY);
    case USHER_QUEUE_ALIVE:
        return args(w)->agent.data != NULL ? room(run, true) : where(run, true);
    case USHER_QUEUE_ROOM:
        return room(run, false);
    case USHER_QUEUE_APPLY:
        return apply(run);
    case USHER_QUEUE_WHERE:
        return where(run, false);
    case USHER_QUEUE_LEAVE:
        return leave(run);
    case USHER_QUEUE_FINISH:
        return finish(run);
    case USHER_QUEUE_ACCEPT:
        return accept_or_reject(run, true);
    case USHER_QUEUE_REJECT:
        return accept_or_reject(run, false);
    case USHER_QUEUE_PULL:
        run->matched_rows = true;
        return pull(run);
    case USHER_QUEUE_MATCH:
        run->matched_rows = true;
        return match(run);
    case USHER_QUEUE_LIST:
        return list(w);
    case USHER_QUEUE_AGENTS:
        return list_agents(w);
    case USHER_QUEUE_STATS:
        return stats(w);
    case USHER_QUEUE_HISTORY:
        return history(w);
    case USHER_QUEUE_MOVE:
        return move_user(run);
    default:
        return free_agent(run);
    }
}

static bool reads(enum usher_verb verb)
{
    return verb == USHER_QUEUE_WHERE || verb == USHER_QUEUE_ROOM || verb == USHER_QUEUE_LIST ||
           verb == USHER_QUEUE_AGENTS || verb == USHER_QUEUE_STATS || verb == USHER_QUEUE_HISTORY;
}

/* The agent that a verb was about has been given somebody since. */
static enum usher_status agent_now(work *w)
{
    enum usher_verb v = w->command->verb;
    struct usher_record r;
    enum usher_status status;

    if (v != USHER_QUEUE_LOGIN && v != USHER_QUEUE_READY && v != USHER_QUEUE_FREE &&
        v != USHER_QUEUE_REJECT)
        return USHER_OK;
    status = w->ops->find(w->txn, &w->scope, K_AGENT, &args(w)->agent, &r);
    if (status == USHER_OK)
        reply_of(w)->state = (enum usher_agent_state)r.state;
    return status == USHER_MISSING ? USHER_OK : status;
}

/* What is wrong with the arguments that only the time, or the form of a text, tells; NULL: nothing.
 * Asked before anything is applied, so that `invalid` changes nothing. */
static const char *arguments_fault(const work *w)
{
    const struct usher_queue_args *g = args(w);
    enum usher_verb v = w->command->verb;
    uint64_t hi, order;

    if ((v == USHER_QUEUE_APPLY || v == USHER_QUEUE_LOGIN) && w->now > USHER_QUEUE_TIME_MAX)
        return "now is later than a queue can tell";
    if ((v == USHER_QUEUE_APPLY || v == USHER_QUEUE_MOVE) && given(w, USHER_GIVEN_QUEUE_SINCE) &&
        g->since_ms > w->now)
        return "since is in the future";
    if ((v == USHER_QUEUE_LIST || v == USHER_QUEUE_HISTORY) && g->after.data != NULL &&
        !cursor_parse(&g->after, &hi, &order))
        return "after is not where a page ended";
    return NULL;
}

static enum usher_status run(work *w)
{
    struct todo todo;
    struct run run = { .w = w, .todo = &todo };
    enum usher_verb v = w->command->verb;
    uint64_t n = 0, version;
    bool more = false;
    const char *fault;
    int64_t max = reads(v) ? USHER__STEP_MAX : USHER__EXPIRE_MAX;
    enum usher_status status = usher__request_find(w);

    if (status != USHER_MISSING)
        return status;
    status = USHER_OK;
    fault = arguments_fault(w);
    if (fault != NULL) {
        usher_reply_fail(w->reply, USHER_INVALID, fault);
        return USHER_OK;
    }
    todo.n_agents = todo.n_users = 0;
    version = w->scope.version;
    if (v == USHER_QUEUE_SWEEP) {
        run.matched_rows = true;
        max = given(w, USHER_GIVEN_QUEUE_MAX) ? args(w)->max : USHER__STEP_MAX;
    }
    if (w->scope.ref != NULL && w->scope.due_ms <= w->now) {
        status = expire_due(&run, max, &n, &more);
        if (status != USHER_OK)
            return status;
    }
    if (v == USHER_QUEUE_SWEEP) {
        w->reply->status = w->scope.ref == NULL ? USHER_MISSING : n > 0 ? USHER_OK : USHER_SAME;
        reply_of(w)->count = n;
        reply_of(w)->more = more;
    } else {
        version = w->scope.version;
        run.n_matched = 0;
        status = verb(&run);
        if (status == USHER_OK)
            status = settle(&run);
        if (status == USHER_OK && run.n_matched > 0)
            status = agent_now(w);
    }
    if (status == USHER_OK && w->reply->status == USHER_OK && w->scope.version != version)
        status = usher__request_keep_last(w);
    return status;
}

/* ---- for the executor, the audit and the digest ------------------------------------ */

static void defaults(struct usher_scope *scope)
{
    memset(scope->counts, 0, sizeof scope->counts);
    memset(scope->settings, 0, sizeof scope->settings);
    scope->settings[SET_TTL] = 15000;
    scope->settings[SET_HISTORY] = 1000;
    scope->settings[SET_SERVICE] = 20000;
    scope->settings[SET_REQUESTS] = USHER__REQUESTS_DEFAULT;
}

/* Minutes; the store is not ours alone, and days are computed with it. */
#define ZONE_MAX 1440

static const char *scope_fault(const struct usher_scope *scope)
{
    int64_t zone = scope->settings[SET_ZONE];

    for (int i = 0; i < SETTINGS; i++)
        if (i != SET_ZONE && (scope->settings[i] < 0 || scope->settings[i] > USHER_SPAN_MAX))
            return "a setting";
    return zone < -ZONE_MAX || zone > ZONE_MAX ? "a time zone" : NULL;
}

static const char *agent_fault(const struct usher_record *r)
{
    struct agent a;
    int64_t n = 0;

    a.r = *r;
    if (!agent_read(&a))
        return "has rooms that cannot be read";
    for (int64_t i = 0; i < r->n[A_CAPACITY]; i++)
        n += a.rooms[i].size != 0;
    if (n != used(r) || r->n[A_SEATED] < 0 || r->n[A_OFFERS] < 0)
        return "has counts that are not those of its rooms";
    if (r->until_ms != nearer(r->n[A_BEAT], r->n[A_WRAP]) ||
        r->slots != (4u | (r->until_ms != 0 ? 2u : 0)))
        return "stands in lists that do not follow from its state";
    switch (r->state) {
    case USHER_AGENT_IDLE:
        return n != 0 || asked(r) || r->n[A_WRAP] != 0 ? "is idle and has something to do" : NULL;
    case USHER_AGENT_OFFERED: /* asked without a user: on its way out */
        return r->n[A_SEATED] != 0 || (n == 0 && !asked(r)) ? "is offered to, but not" : NULL;
    case USHER_AGENT_BUSY:
        return r->n[A_SEATED] == 0 && !asked(r) ? "is busy without a user" : NULL;
    case USHER_AGENT_WRAPUP:
        return n != 0 || r->n[A_WRAP] == 0 ? "is in wrap-up without an end" : NULL;
    case USHER_AGENT_PAUSED:
        return n != 0 || asked(r) || r->n[A_WRAP] != 0 ? "is paused and has users" : NULL;
    default:
        return "has no known state";
    }
}

static const char *user_fault(const struct usher_record *r)
{
    struct usher_record should = *r;

    if (r->state == USHER_USER_GONE || r->state > USHER_USER_AWAY)
        return "has no known state";
    if (r->n[U_PRIORITY] < 0 || r->n[U_PRIORITY] > USHER_PRIORITY_MAX || r->n[U_SINCE] < 0 ||
        r->n[U_SINCE] > USHER_QUEUE_TIME_MAX)
        return "has no place";
    user_settle(&should, r->state);
    if (should.slots != r->slots || should.rank != r->rank || should.until_ms != r->until_ms)
        return "stands in lists that do not follow from its state";
    if ((r->owner.size != 0) != (r->n[U_NO] != 0) || should.owner.size != r->owner.size)
        return "is in a room of nobody, or in none of somebody";
    if (r->state == USHER_USER_OFFERED && r->n[U_END] == 0)
        return "is offered without an end";
    if (r->state == USHER_USER_AWAY && r->n[U_END] == 0)
        return "is away without an end";
    return r->group.size == 0 ? "is in no lane" : NULL;
}

static const char *record_fault(const struct usher_scope *scope, const struct usher_record *r)
{
    if (r->order > (r->kind == K_LINK ? scope->version * 16 + 15 : scope->version) ||
        r->token > scope->version)
        return "is newer than its scope";
    switch (r->kind) {
    case K_AGENT:
        return agent_fault(r);
    case K_LINK:
        return r->slots > 1 || r->group.size == 0 || r->owner.size == 0 ||
                       (r->slots == 0 && r->rank != 0)
                   ? "is not what it should be"
                   : NULL;
    case K_USER:
        return user_fault(r);
    case K_LANE:
        return r->slots != 0 || r->n[0] < 0 || r->n[1] < 0 || r->n[2] < 0 || r->n[3] < 0
                   ? "has counts that cannot be"
                   : NULL;
    case K_VISIT:
    case USHER_KIND_REQUEST:
        return r->slots != 1 ? "stands in lists that do not follow from its state" : NULL;
    default:
        return "is of no known kind";
    }
}

/* LOGIN of a link's id. */
static uint32_t link_login(const struct usher_text *id)
{
    uint64_t login = 0;

    for (size_t i = 0; i < id->size && id->data[i] >= '0' && id->data[i] <= '9'; i++)
        login = login * 10 + (unsigned)(id->data[i] - '0');
    return (uint32_t)login;
}

/* 31 bits of the texts; different sets of them have different sums, as good as always. */
static int64_t text_hash(uint32_t h, const struct usher_text *text)
{
    for (size_t i = 0; i < text->size; i++)
        h = (h ^ (unsigned char)text->data[i]) * UINT32_C(16777619);
    return h >> 1;
}

/* Sums: 0 users in rooms and what rooms say, 1 users of lanes and what lanes say, 2 open
 * agents' links and agents that are open, 3 logins of links and of agents. */
static void tally(struct usher__tally *t, const struct usher_record *r)
{
    switch (r->kind) {
    case K_AGENT: {
        struct agent a;

        if (r->state > USHER_AGENT_PAUSED)
            break;
        t->counts[r->state]++;
        a.r = *r;
        if (!agent_read(&a))
            break;
        for (int64_t i = 0; i < r->n[A_CAPACITY]; i++)
            if (a.rooms[i].size != 0)
                t->sums[0] +=
                    text_hash((uint32_t)(text_hash((uint32_t)i + 1, &r->id)), &a.rooms[i]);
        for (size_t i = 0; i < a.n_lanes; i++) {
            t->sum[2] += text_hash(is_open(r) ? 3 : 1, &a.lanes[i]);
            t->sum[3] += text_hash((uint32_t)r->order, &r->id);
        }
        break;
    }
    case K_LINK:
        t->sums[2] += text_hash(r->slots != 0 ? 3 : 1, &r->group);
        t->sums[3] += text_hash(link_login(&r->id), &r->owner);
        break;
    case K_USER:
        if (r->state > USHER_USER_AWAY)
            break;
        t->counts[COUNT_USERS + r->state]++;
        t->sum[1] += text_hash(r->state, &r->group);
        if (r->owner.size != 0)
            t->sum[0] += text_hash((uint32_t)(text_hash((uint32_t)r->n[U_NO], &r->owner)), &r->id);
        break;
    case K_LANE:
        t->counts[COUNT_LANES]++;
        for (uint32_t state = USHER_USER_WAITING; state <= USHER_USER_AWAY; state++)
            t->sums[1] += r->n[state - 1] * text_hash(state, &r->id);
        break;
    case K_VISIT:
        t->counts[COUNT_VISITS]++;
        break;
    default:
        t->counts[COUNT_REQUESTS]++;
        break;
    }
}

static const char *const kinds[USHER_KINDS] = { "?",       "agent", "link", "user",
                                                "request", "?",     "lane", "visit" };

static const struct usher__constant constants[] = {
    { "V_EXPIRE", USHER_QUEUE_EXPIRE },
    { "V_REQUEUE", USHER_QUEUE_REQUEUE },
    { "DRAW_STEPS", USHER__DRAW_STEPS },
    { "SETTINGS", SETTINGS },
    { "FIGURES", FIGURES },
    { "CAPACITY_MAX", USHER_CAPACITY_MAX },
    { "PRIORITY_MAX", USHER_PRIORITY_MAX },
    { "LANES_MAX", USHER_LANES_MAX },
    { "REJECTS_MAX", USHER_REJECTS_MAX },
    { "PLACE_MAX", USHER_QUEUE_TIME_MAX },
    { "FOREVER", FOREVER },
    { "DAY_SHIFT", DAY_SHIFT },
    { NULL, 0 },
};

const struct usher__steps usher__queue_steps = {
    .defaults = defaults,
    .run = run,
    .scope_fault = scope_fault,
    .record_fault = record_fault,
    .tally = tally,
    .kinds = kinds,
    .first = "1:",
    .listed = "16",
    .count_names = {
        [COUNT_LANES] = "LANES",
        [COUNT_VISITS] = "VISITS",
        [COUNT_REQUESTS] = "REQUESTS",
    },
    .setting_names = {
        [SET_TTL] = "TTL",
        [SET_TRIGGER] = "TRIGGER",
        [SET_STRATEGY] = "STRATEGY",
        [SET_OFFER] = "OFFER",
        [SET_WRAPUP] = "WRAPUP",
        [SET_LIMIT] = "LIMIT",
        [SET_MAXWAIT] = "MAXWAIT",
        [SET_GRACE] = "GRACE",
        [SET_REQUEUE] = "REQUEUE",
        [SET_HISTORY] = "HISTORY",
        [SET_ZONE] = "ZONE",
        [SET_SERVICE] = "SERVICE",
        [SET_REQUESTS] = "REQUESTS",
    },
    .constants = constants,
    .requests = COUNT_REQUESTS,
    .requests_max = SET_REQUESTS,
    .counted = ((1u << (COUNT_REQUESTS + 1)) - 1) & ~1u,
    .statistics = 0,
};
