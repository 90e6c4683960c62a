/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a queue as steps on a record store.  What they mean: src/core/queue_verbs.def,
 * agent.def, user.def.  This is what the files queue*.c have in common; nobody else includes it.
 *
 * Records
 *   AGENT   id; order = version of login (slot 2 finds it by that), token = version of the last
 *           match; until_ms = the nearer of beat and wrap; data = array: how many lanes, the
 *           lanes, for each room who is in it ("" nobody), when it logged in; if it has a session:
 *           its name, and the version at which it began: the token of the login
 *   LINK    id "LOGIN.I": one for each lane of an agent, group = the lane ("*" all), owner =
 *           the agent, token = version of the agent's last change; in slot 0 while the agent is
 *           open, rank = RANKS * the strategy + a rank by it, order = 16 * a version + I.  After
 *           another strategy was set all are ranked anew before anybody is matched: see
 *           usher__queue_rank_anew().
 *           And id "LOGIN.Is", as long as the agent is there: slot 2, owner = the lane, group = the
 *           agent: who serves a lane
 *   USER    id; group = lane, order = version of apply; slot 0 while it waits, rank = place;
 *           slot 2 while it has a room, owner = the agent, token = version of the match;
 *           data = the key of its refusals, "" while it has none
 *   ABSENT  id of an agent that was silent for too long while it was paused, or that went in its
 *           wrap-up: the next login is paused (n[0] is 0) or in wrap-up until n[0]; token = that of
 *           the login that is over
 *   LANE    id; users by state; data = array of figures; slot 0, rank = the day of the figures, or
 *           2^52 while users are in it, order = version at which it came: see
 *           usher__queue_lane_over()
 *   VISIT   id = version of its end; state = outcome, owner = the agent; data = user, a newline
 *           (which no name has), lane: so that a view in SQL can show it
 *   CHANGE  a notice of the log: log.c
 *   REFUSAL state REFUSED, id "KEY.HASH": an agent has refused or missed a user.  KEY is the
 * version of the first refusal of the visit, HASH 13 hex digits of the agent's name; group = KEY,
 *           owner = the agent (slot 2), data = the user, order = version, n[0] = when it was.
 *           Slot 1 until the agent may be asked again, then slot 0, rank = n[0].
 *           State FORGOTTEN, id KEY: slot 1: the other refusals of a visit that has ended are to be
 * erased. State SEARCH, id "?LOGIN": slot 1: an open agent has not looked at all users. See
 * queue_refuse.c.
 *           State LIMITS, id "?": slot 1: deadlines do not yet follow from ttl and maxwait. See
 * queue_limits.c.
 *
 * An act is one write with one or more versions: a change of the command, and the matches
 * that follow from it at once.  It holds the agent and the lanes concerned until it is
 * committed, so that each is written once.
 */
#ifndef USHER_STEPS_QUEUE_H
#define USHER_STEPS_QUEUE_H

#include "work.h"

#include <string.h>

#include "core/pack.h"
#include "core/queue.h"

typedef struct usher__work work;

enum kind {
    K_AGENT = 1,
    K_LINK = 2,
    K_USER = 3,
    K_ABSENT = 5,
    K_LANE = 6,
    K_VISIT = 7,
    K_CHANGE = 8,
    K_REFUSAL = 9
};

/* counts: 1..5 agents by state, 6..9 users by state */
enum {
    COUNT_USERS = 5,
    COUNT_LANES = 10,
    COUNT_VISITS,
    COUNT_REQUESTS,
    COUNT_ABSENT,
    COUNT_OLD,     /* of what other settings made that are to be found: OLD_RANKS, OLD_LIMITS */
    COUNT_FOR_ALL, /* agents that serve all lanes */
    COUNT_CHANGES, /* of the log */
    COUNT_SINCE,
    COUNT_OUTAGE_FROM, /* the last outage */
    COUNT_OUTAGE_TO
};

enum {
#define SETTING_SET(field) SET_##field,
#define SETTING_STATS(field)
#define SETTING_CHANGES(field)
#define EXTRA(verb, type, member, field) SETTING_##verb(field)
#include "core/queue_verbs.def"
#undef SETTING_SET
#undef SETTING_STATS
#undef SETTING_CHANGES
    SETTINGS
};

/* Links may be ranked by another strategy; deadlines may follow from another ttl or maxwait. */
enum { OLD_RANKS = 1, OLD_LIMITS = 2 };

/* n of an agent: SEATED users, OFFERS * 4 + 2 while it goes + 1 if it ASKED for a pause, … */
enum { A_CAPACITY, A_SEATED, A_BEAT, A_SERVED, A_WRAP, A_LEVEL, A_OFFERS, A_STATE_SINCE };

/* n of a user.  APPLIED: since when it waits, or waited for its room: apply, or the return from a
 * room.  MATCHED: offered or seated at; END: of the offer or of the grace. */
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
    F_DROPPED,
    F_PACE, /* 16 * ms between seatings, 0: not known */
    F_LAST,
    FIGURES
};

/* States of a refusal, and n: REFUSED since when; SEARCH after which place, or which refusal;
 * LIMITS: queue_limits.c. */
enum { R_REFUSED, R_FORGOTTEN, R_SEARCH, R_LIMITS };
enum { R_AT, R_ORDER, R_REFUSALS };

#define FIGURE_BYTES 7
#define DAY_SHIFT 1000 /* so that days of a local time before 1970 are not below zero */

/* n of a visit. */
enum { V_PRIORITY, V_SINCE, V_APPLIED, V_SEATED, V_END, V_LOGIN, V_NO };
#define VISIT_SEPARATOR '\n'

#define LANES_MAX USHER_NUMBER_GROUPS_MAX
#define NAME_PACKED (USHER_NAME_MAX + 3)
#define AGENT_DATA (48 + (LANES_MAX + USHER_QUEUE_CAPACITY_MAX + 1) * NAME_PACKED)
#define RANKS (UINT64_C(1) << 40) /* of a strategy */
#define ABSENT_MAX 10000          /* pauses of agents that are not there */
#define PASS_MAX USHER__STEP_MAX  /* looked at in vain: agents for one match, users in a command */
#define RANKED_MAX 200            /* records that a command brings in line with a changed setting */
#define FORGET_AT_ONCE 8          /* refusals with the end of a visit */
#define FORGET_MAX 50             /* in a step of their own */
#define DAY_MS INT64_C(86400000)

static const struct usher_text all_lanes = { "*", 1 };

struct agent {
    struct usher_record r;
    size_t n_lanes;
    struct usher_text lanes[LANES_MAX], rooms[USHER_QUEUE_CAPACITY_MAX];
    int64_t since; /* login */
    struct usher_text session;
    uint64_t token; /* of the login */
    bool dirty;
    bool was_open;
    bool touched; /* its links get a new order */
    bool served;  /* their rank may be another one, though it has not changed */
    bool leaving; /* its rooms are being emptied for good: no events */
};

/* Its figures stay packed: most changes of a lane are about two or three of them, if any. */
struct lane {
    struct usher_record r; /* data: as stored, or as below */
    bool dirty;
    unsigned char data[FIGURES * FIGURE_BYTES];
};

/* What a change is about: for its notice. */
struct about {
    enum usher_verb verb;
    unsigned from, to;
    struct usher_record r;
    uint64_t login;                   /* of the agent that a user is with, or was; 0: of none */
    enum usher_queue_outcome outcome; /* of the visit that ended */
};

struct act {
    struct usher__change c;
    bool begun;
    enum usher_status failed; /* OK; else it could not be told of, and is not committed */
    bool heard;               /* somebody wants its notices */
    struct about about;
    bool has_agent;
    struct agent agent;
    unsigned n_lanes;
    struct lane lanes[3];
    unsigned char agent_data[AGENT_DATA];
    unsigned char visit_data[2 * USHER_NAME_MAX + 1 + 24]; /* the id stands at the end */
    unsigned char user_data[2 * LANES_MAX * 32];           /* ids at a login; of a refusal */
};

/* Who became open or waits again: to be matched once the changes that did it are written. */
struct todo {
    unsigned n_agents, n_users;
    uint64_t agents[USHER__EXPIRE_MAX + 2]; /* by login */
    struct {
        uint64_t rank, order;
    } users[USHER__EXPIRE_MAX + USHER_QUEUE_CAPACITY_MAX];
};

/* One command. */
struct run {
    work *w;
    struct todo *todo;
    bool matched_rows; /* tell of matches in rows */
    bool passed;       /* a user that an agent has refused was left to another agent */
    bool whole;        /* a search goes on until it is done */
    unsigned looked;   /* at users in vain */
    uint64_t n_matched;
};

static inline const struct usher_queue_args *args(const work *w)
{
    return &w->command->arg.queue;
}

static inline bool given(const work *w, uint64_t bit)
{
    return (w->command->given & bit) != 0;
}

/* By the time of the command, which may be later than that of the change that is being made. */
/* From @from to @to: a store's clock that is set back makes nothing last less than no time. */
static inline int64_t lasted(int64_t from, int64_t to)
{
    return to > from ? to - from : 0;
}

static inline bool due(const work *w, const struct usher_record *r)
{
    return r->until_ms != 0 && r->until_ms <= w->moment;
}

/* The nearer of two deadlines, 0 for none. */
static inline int64_t nearer(int64_t a, int64_t b)
{
    return a == 0 ? b : b == 0 ? a : a < b ? a : b;
}

/* ---- agents ----------------------------------------------------------------------- */

static inline int64_t used(const struct usher_record *r)
{
    return r->n[A_SEATED] + r->n[A_OFFERS] / 4;
}

static inline bool asked(const struct usher_record *r)
{
    return r->n[A_OFFERS] % 2 != 0;
}

/* On its way out: nobody more for it. */
static inline bool goes(const struct usher_record *r)
{
    return r->n[A_OFFERS] / 2 % 2 != 0;
}

/* The state of an agent as it is told. */
static inline enum usher_queue_agent_state shown(const struct usher_record *r)
{
    bool in_use = r->state == USHER_QUEUE_AGENT_OFFERED || r->state == USHER_QUEUE_AGENT_BUSY;

    return in_use && asked(r) ? USHER_QUEUE_AGENT_PAUSING : (enum usher_queue_agent_state)r->state;
}

/* When the state of @r, an agent, ends by itself; 0: at no certain time. */
static inline int64_t usher__queue_agent_until(const struct usher_record *r)
{
    return r->state == USHER_QUEUE_AGENT_WRAPUP ? r->n[A_WRAP] : 0;
}

static inline bool is_open(const struct usher_record *r)
{
    return r->state >= USHER_QUEUE_AGENT_IDLE && r->state <= USHER_QUEUE_AGENT_BUSY &&
           r->n[A_OFFERS] % 4 == 0 && r->n[A_WRAP] == 0 && used(r) < r->n[A_CAPACITY];
}

static inline uint64_t place(const struct usher_record *r)
{
    return ((uint64_t)(USHER_QUEUE_PRIORITY_MAX - r->n[U_PRIORITY]) << 43) +
           (uint64_t)r->n[U_SINCE];
}

static inline struct usher_queue_result *reply_of(work *w)
{
    return &w->reply->of.queue;
}

static inline enum usher_status damaged(work *w)
{
    static const char line[] = "the store is damaged: an agent cannot be read";

    memcpy(w->trouble, line, sizeof line);
    return USHER_UNAVAILABLE;
}

/* ---- figures of a lane ------------------------------------------------------------ */

static inline uint32_t four_get(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void four_put(unsigned char *at, uint32_t v)
{
    at[0] = (unsigned char)(v >> 24);
    at[1] = (unsigned char)(v >> 16);
    at[2] = (unsigned char)(v >> 8);
    at[3] = (unsigned char)v;
}

/* Seven bytes as twice four, which a compiler knows to do at once. */
static inline int64_t figure(const struct lane *l, int which)
{
    const unsigned char *at = (const unsigned char *)l->r.data.data + (size_t)which * FIGURE_BYTES;

    return (int64_t)((uint64_t)four_get(at) << 24 | (four_get(at + 3) & 0xffffffu));
}

static inline void figure_set(struct lane *l, int which, int64_t v)
{
    unsigned char *at = l->data + (size_t)which * FIGURE_BYTES;

    if (l->r.data.data != (const char *)l->data)
        l->r.data.data = memcpy(l->data, l->r.data.data, sizeof l->data);
    four_put(at + 3, (uint32_t)v);
    four_put(at, (uint32_t)((uint64_t)v >> 24));
    l->dirty = true;
}

/* Verbs that look: they do not move the clock of the queue. */
static inline bool usher__queue_reads(enum usher_verb verb)
{
    return verb == USHER_QUEUE_WHERE || verb == USHER_QUEUE_ROOM || verb == USHER_QUEUE_LIST ||
           verb == USHER_QUEUE_AGENTS || verb == USHER_QUEUE_STATS || verb == USHER_QUEUE_HISTORY;
}

/* ---- queue_act.c ---- */

bool usher__queue_texts(struct usher_unpacker *u, struct usher_text *to, size_t n);
/* False: the record is damaged. */
bool usher__queue_agent_read(struct agent *a);
/* The agent that logged in at version @login, or MISSING. */
enum usher_status usher__queue_agent_by_login(work *w, uint64_t login, struct usher_record *r);
enum usher_status usher__queue_agent_hold_this(work *w, struct act *act,
                                               const struct usher_record *r);
void usher__queue_agent_event(work *w, struct act *act, unsigned event, int64_t at);
enum usher_status usher__queue_links_erase(work *w, struct act *act);
/*
 * Up to @max links that another strategy has ranked are ranked by the one in force, without a
 * version and a notice: agents are as they were.  OLD_RANKS is gone when none is left.
 */
enum usher_status usher__queue_rank_anew(work *w, int64_t max);
enum usher_status usher__queue_agent_save(work *w, struct act *act, bool fresh);
/* The lane @id of @act, to be changed.  It may be a new one. */
enum usher_status usher__queue_lane_hold(work *w, struct act *act, const struct usher_text *id,
                                         struct lane **ret);
/* OK: a logged-in agent names @lane (which may be "*"), the first one behind *order; MISSING. */
enum usher_status usher__queue_server(work *w, const struct usher_text *lane, uint64_t order,
                                      struct usher_record *r);
/*
 * Before a new lane comes: one that is over, which goes for it: nobody is in it, no agent names it,
 * and its figures are not of today.  MISSING: all are living.
 */
enum usher_status usher__queue_lane_over(work *w, struct usher_record *r);
/* Count in the figures of the day of @at; those of a day before are forgotten, and what
 * belongs to them is counted no more. */
void usher__queue_figure(const struct usher_scope *s, struct lane *l, int64_t at, int which,
                         int64_t by);
/* A user of state @state more (@by 1) or less (-1). */
void usher__queue_count(struct act *act, struct lane *l, unsigned state, int64_t by);
void usher__queue_act_init(struct act *act);
/* What follows is a change with a version of its own. */
void usher__queue_act_step(work *w, struct act *act);
void usher__queue_act_about(struct act *act, enum usher_verb verb, unsigned from,
                            const struct usher_record *r);
enum usher_status usher__queue_act_commit(work *w, struct act *act);
void usher__queue_todo_agent(struct run *run, uint64_t login);
/* In the order of places. */
void usher__queue_todo_user(struct run *run, const struct usher_record *r);
/* What follows from the state of @r: lists, deadline, room. */
void usher__queue_user_settle(struct usher_record *r, unsigned to);
void usher__queue_agent_settle(struct usher_record *r);
/* What @event does to @r, a user; the same for an agent. */
struct usher__move usher__queue_user_move(work *w, const struct usher_record *r, unsigned event);
struct usher__move usher__queue_agent_move(work *w, const struct usher_record *r, unsigned event,
                                           unsigned guard);
/* @u changes from one state to another: its lane's counts follow, and it is stored. */
enum usher_status usher__queue_user_save(work *w, struct act *act, struct usher_record *u,
                                         unsigned from);
/*
 * @u leaves where it is for the state @to, a step of @act told as @verb: it goes (GONE), and its
 * visit has ended with @outcome; or it waits again or is away, and has refused its agent (@reject).
 */
enum usher_status usher__queue_user_leaves(struct run *run, struct act *act, struct usher_record *u,
                                           unsigned to, enum usher_queue_outcome outcome,
                                           bool reject, enum usher_verb verb, int64_t at);

/* ---- queue_match.c ---- */

/* It has a room from now on, for good: the figures. */
void usher__queue_seated(work *w, struct act *act, struct lane *l, struct usher_record *u);
/* Give @u, who waits (stored, or new in this act: @from GONE), to the agent of @act, which is open.
 */
enum usher_status usher__queue_give(struct run *run, struct act *act, struct usher_record *u,
                                    bool stored);
/* The search of an agent for a user goes on after this place among those who wait, or
 * after this one of its refusals. */
struct search {
    bool refusals;
    uint64_t rank, order;
};

/* One match of the agent of @act, if there is one to be had: a step.  MISSING: none.  FULL: it has
 * not looked at all. */
enum usher_status usher__queue_match_agent_once(struct run *run, struct act *act,
                                                struct search *search);
/* Matches of the agent that logged in at @login, at most @max. */
enum usher_status usher__queue_match_agent(struct run *run, uint64_t login, int64_t max,
                                           struct search *search);
/*
 * The agent that @u is given to: the first of the open ones by strategy that has not refused it,
 * or, if all have, the one whose refusal is the oldest and may be asked again.  With strategy
 * random it is drawn for the next version, see draw() in number.c.  MISSING: none.
 */
enum usher_status usher__queue_pick(work *w, const struct usher_record *u, struct usher_record *a);
/* Match all who became open or wait again.  What has been written before stands: where it
 * cannot be taken back, a match that has no memory is left to a later command. */
enum usher_status usher__queue_settle(struct run *run);
enum usher_status usher__queue_pull(struct run *run);
enum usher_status usher__queue_match(struct run *run);

/* ---- queue_limits.c ---- */

/* A change of @c: it sets @new, and deadlines of agents and users are to follow. */
void usher__queue_limits_change(work *w, struct usher__change *c,
                                const int64_t new[USHER_SETTINGS]);
/* Up to @max deadlines do so.  OLD_LIMITS is gone when none is left. */
enum usher_status usher__queue_limits_reach(work *w, int64_t max);

/* ---- queue_refuse.c ---- */

/* Has @agent refused or missed @u?  *@r: how. */
enum usher_status usher__queue_refused(work *w, const struct usher_record *u,
                                       const struct usher_text *agent, struct usher_record *r);
/* A change of @act: @agent has refused or missed @u at the time @at. */
enum usher_status usher__queue_refuse(work *w, struct act *act, struct usher_record *u,
                                      const struct usher_text *agent, int64_t at);
/* A change of @act: @agent is asked again, or takes it by itself. */
enum usher_status usher__queue_refuse_no_more(work *w, struct act *act,
                                              const struct usher_record *u,
                                              const struct usher_text *agent);
/* A change of @act: all refusals of @u are forgotten, some of them later. */
enum usher_status usher__queue_forget(work *w, struct act *act, const struct usher_record *u,
                                      int64_t at);
/* The search of the agent that logged in at @login goes on in the next command. */
enum usher_status usher__queue_search_later(work *w, uint64_t login, const struct search *search);
/* A refusal, @r, is due: one change. */
enum usher_status usher__queue_expire_refusal(struct run *run, struct usher_record *r);
const char *usher__queue_refusal_fault(const struct usher_record *r);

/* ---- queue_token.c ---- */

/* The command has no token, though the queue and the verb want one. */
bool usher__queue_token_missing(const work *w);
/* The command has a token, and it is not @current, that of what the command is about, if that is
 * there
 * (@found): the answer is `stale`, or `lost`. */
bool usher__queue_token_other(work *w, bool found, uint64_t current);
/* The same for a command about a login, a visit or an offer. */
enum usher_status usher__queue_token_check(struct run *run, bool *ret_other);

/* ---- queue_due.c ---- */

/* Of those in the rooms of the agent of @act, the one whose place is first.  MISSING: all
 * rooms are empty. */
enum usher_status usher__queue_first_in_rooms(work *w, struct act *act, struct usher_record *ret);
/*
 * One change on the way of @r, an agent that goes at the time @at: one of its users leaves
 * it, or, when there are none, it goes itself.  *@ret_gone says which.
 */
enum usher_status usher__queue_agent_leave(struct run *run, const struct usher_record *r,
                                           unsigned event, enum usher_verb verb, int64_t at,
                                           bool *ret_gone);
/* What happens to @r, an agent, by itself: one change. */
enum usher_status usher__queue_expire_agent(struct run *run, const struct usher_record *r);
/* The same for a user. */
enum usher_status usher__queue_expire_user(struct run *run, const struct usher_record *r);
/* Up to @max changes that are due, and the matches that follow from them.  *@ret_n: of these
 * changes, how many made a version. */
enum usher_status usher__queue_expire_due(struct run *run, int64_t max, uint64_t *ret_n,
                                          bool *ret_more);
/* The record of @kind (agent or user).  MISSING. */
enum usher_status usher__queue_load(struct run *run, unsigned kind, const struct usher_text *id,
                                    struct usher_record *r);

/* ---- queue_answer.c ---- */

void usher__queue_answer_names(work *w, const struct usher_text *user,
                               const struct usher_text *agent);
/* About an agent: login, pause … */
void usher__queue_answer_agent(work *w, enum usher_status status, const struct usher_record *r);
enum usher_status usher__queue_answer_no_agent(work *w, enum usher_status status,
                                               const struct usher_text *id);

/* When the state of @u ends if the user stays alive; 0: at no certain time. */
int64_t usher__queue_user_until(const struct usher_record *u);
/* @u as a row, but for its agent. */
struct usher_queue_result_row usher__queue_user_row(const struct usher_record *u);
/* The version at which the agent @id logged in: that of its rooms. */
enum usher_status usher__queue_login_of(work *w, const struct usher_text *id, uint64_t *ret);
/* @l: its lane; NULL: not at hand. */
enum usher_status usher__queue_answer_user(work *w, enum usher_status status,
                                           const struct usher_record *u, uint64_t login,
                                           struct lane *l);
enum usher_status usher__queue_answer_gone(work *w, enum usher_status status,
                                           const struct usher_text *user);

/* ---- queue_agents.c ---- */

int64_t usher__queue_beat(const work *w);
/* Without a version: a sign of life is no change to be told of. */
enum usher_status usher__queue_heartbeat(work *w, struct usher_record *r);
/* The pause or the wrap-up of the agent of the command, from before it went.  MISSING. */
enum usher_status usher__queue_absent(work *w, struct usher_record *r);
/* A command of the agent @r is a sign of life. */
enum usher_status usher__queue_agent_alive(struct run *run, struct usher_record *r);
enum usher_status usher__queue_login(struct run *run);
enum usher_status usher__queue_logout(struct run *run);
enum usher_status usher__queue_agent_verb(struct run *run, unsigned event);
enum usher_status usher__queue_free(struct run *run);
enum usher_status usher__queue_room(struct run *run, bool alive);

/* ---- queue_users.c ---- */

enum usher_status usher__queue_where(struct run *run, bool alive);
/* OK: a logged-in agent serves @lane.  MISSING. */
enum usher_status usher__queue_served(work *w, const struct usher_text *lane);
int64_t usher__queue_agents_now(const struct usher_scope *s);
enum usher_status usher__queue_apply(struct run *run);
enum usher_status usher__queue_leave(struct run *run);
enum usher_status usher__queue_finish(struct run *run);
enum usher_status usher__queue_accept_or_reject(struct run *run, bool accept);
enum usher_status usher__queue_move(struct run *run);

/* ---- queue_reads.c ---- */

enum usher_status usher__queue_list(work *w);
enum usher_status usher__queue_agents(work *w);
enum usher_status usher__queue_stats(work *w);
enum usher_status usher__queue_history(work *w);
enum usher_status usher__queue_drain(work *w);

/* ---- queue_audit.c ---- */

const char *usher__queue_scope_fault(const struct usher_scope *scope);
const char *usher__queue_record_fault(const struct usher_scope *scope,
                                      const struct usher_record *r);
/* Sums: 0 users in rooms and what rooms say, 1 users of lanes and what lanes say, 2 open
 * agents' links and agents that are open, 3 logins of links and of agents, 4 who serves which lane.
 */
void usher__queue_tally(struct usher__tally *t, const struct usher_record *r);

#endif
