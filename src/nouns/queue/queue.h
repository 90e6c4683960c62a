/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a queue as steps on a record store.  src/core/queue_verbs.def, agent.def and
 * user.def define their meaning.  Only the files queue*.c include this header.
 *
 * Records (src/core/queue_records.def has their numbers)
 *   AGENT   id; order = version of login (slot 2 finds it by that), token = version of the last
 *           match; until_ms = the nearer of beat and wrap; data = array: the number of lanes, the
 *           lanes, the user of each room ("": empty), the time of the login; if it has a session:
 *           its name, and the version at which it began: the token of the login; if its pause has
 *           a reason: the same two, and the reason
 *   LINK    id "LOGIN.I": one for each lane of an agent, group = the lane ("*" all), owner =
 *           the agent, token = version of the agent's last change; in slot 0 while the agent is
 *           open, rank = RANKS * the strategy + a rank by it, order = 16 * a version + I.  After
 *           another strategy was set, all are ranked again before the next match: see
 *           usher__queue_rank_anew().
 *           Also id "LOGIN.Is", while the agent exists: slot 2, owner = the lane, group = the
 *           agent: the agents of a lane
 *   USER    id; group = lane, order = version of apply; slot 0 while it waits, rank = place;
 *           slot 2 while it has a room, owner = the agent, token = version of the match;
 *           data = the key of its refusals, "" while it has none
 *   ABSENT  id of an agent that missed its heartbeat while it was paused, or that left during its
 *           wrap-up: the next login is paused (ABSENT_UNTIL is 0) or in wrap-up until then;
 *           token = that of the login that is over; data = the reason of the pause
 *   LANE    id; users by state; data = array of statistics; slot 0, rank = the day of them, or
 *           2^52 while users are in it, order = version at which it was created: see
 *           usher__queue_lane_over()
 *   VISIT   id = version of its end; state = outcome, owner = the agent, data = the lane; slot 0,
 *           group = the user, so that the last one of a user is found
 *   CHANGE  a notice of the log: log.c
 *   REFUSAL state REFUSED, id "KEY.HASH": an agent has refused or missed a user.  KEY is the
 *           version of the first refusal of the visit, HASH 13 hex digits of the agent's
 *           name; group = KEY, owner = the agent (slot 2), data = the user, order = version,
 *           R_AT = its time.  Slot 1 until the user may be offered again, then slot 0, rank =
 *           R_AT.
 *           State FORGOTTEN, id KEY: slot 1: the other refusals of a visit that has ended
 *           have to be erased.
 *           State SEARCH, id "?LOGIN": slot 1: an open agent has not searched all users.  See
 *           queue_refuse.c.
 *           State LIMITS, id "?": slot 1: not all deadlines follow the new ttl and maxwait.
 *           See queue_limits.c.
 *           State REASON, id "?mode": slot 0, data = the reason of the mode.
 *
 * A queue transaction (struct queue_change) is one write with one or more versions: a change by the
 * command, and the matches that follow from it at once.  It has the agent and the lanes concerned
 * in memory until it is committed, so that each is written once.
 */
#ifndef USHER_QUEUE_QUEUE_H
#define USHER_QUEUE_QUEUE_H

#include "change/work.h"

#include <string.h>

#include "core/pack.h"
#include "core/queue.h"

typedef struct usher__work work;

/* The kinds, numbers, figures and counts. */
#define RECORDS_DEF "core/queue_records.def"
#include "change/record_names.h"

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

/* The values of stats. */
enum {
#define SETTING_SET(field)
#define SETTING_STATS(field) STAT_##field,
#define SETTING_CHANGES(field)
#define EXTRA(verb, type, member, field) SETTING_##verb(field)
#include "core/queue_verbs.def"
#undef SETTING_SET
#undef SETTING_STATS
#undef SETTING_CHANGES
    STATS
};

/* Links may be ranked by an earlier strategy; deadlines may follow an earlier ttl or maxwait. */
enum { OLD_RANKS = 1, OLD_LIMITS = 2 };

/* States of a refusal. */
enum { R_REFUSED, R_FORGOTTEN, R_SEARCH, R_LIMITS, R_REASON };

#define WAITS (USHER__WAIT_BOUNDS + 1) /* numbers of the histogram; the last one has no bound */
#define FIGURES (F_WAITS + WAITS)
#define FIGURE_BYTES 7
#define FIGURES_BYTES ((size_t)FIGURES * FIGURE_BYTES)
#define COUNTED F_ARRIVED /* the first figure that counts: it is of a day */
#define DAY_SHIFT 10000   /* minutes, so that a midnight before 1970 is not below zero */
#define QUARTER_MIN 15
#define QUARTER_MS (QUARTER_MIN * INT64_C(60000))
#define QUARTERS_MAX 97 /* of a day, if its midnight is within one */
#define QUARTER_BYTES ((size_t)(F_TALK + 1 - F_QUARTER) * FIGURE_BYTES)
#define EARLIER_MAX (FIGURES_BYTES + QUARTERS_MAX * QUARTER_BYTES)

/* States of KIND_LANE. */
enum { LANE_NOW, LANE_EARLIER };

#define LANES_MAX USHER_NUMBER_GROUPS_MAX
#define NAME_PACKED (USHER_NAME_MAX + 3)
#define LANES_TEXT (LANES_MAX * (USHER_NAME_MAX + 1))
#define AGENT_DATA (48 + (LANES_MAX + USHER_QUEUE_CAPACITY_MAX + 2) * NAME_PACKED)
#define RANKS (UINT64_C(1) << 40) /* of a strategy */
#define ABSENT_MAX 10000          /* pauses of absent agents */
#define PASS_MAX USHER__STEP_MAX  /* skipped records: agents for one match, users in a command */
#define RANKED_MAX 200            /* records that a command adapts to a changed setting */
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
    uint64_t token;           /* of the login */
    struct usher_text reason; /* of its pause */
    bool dirty;
    bool was_open;
    bool touched; /* its links get a new order */
    bool served;  /* the rank of its links may be another one, although it has not changed */
    bool leaving; /* its rooms are being emptied for good: no events */
};

/* Figures of a lane from before its present quarter hour: see queue_figures.c. */
struct earlier {
    struct usher_record r; /* its data are below */
    char id[24];
    unsigned char data[EARLIER_MAX];
};

/* A lane.  Its statistics stay packed: most changes of a lane concern few of them. */
struct lane {
    struct usher_record r; /* data: as stored, or as below */
    bool dirty;
    bool turned; /* a quarter hour or a day has ended: `earlier` is to be written */
    unsigned char data[FIGURES_BYTES];
    struct earlier earlier;
};

/* The subject of a change, for its notice. */
struct subject {
    enum usher_verb verb;
    unsigned from, to;
    struct usher_record r;
    uint64_t login;                   /* of the current or last agent of a user; 0: of none */
    enum usher_queue_outcome outcome; /* of the visit that ended */
};

struct queue_change {
    struct usher__change c;
    bool begun;
    enum usher_status failed; /* OK; else its notice could not be made, and it is not committed */
    bool heard;               /* its notices are needed */
    struct subject subject;
    bool has_agent;
    struct agent agent;
    unsigned n_lanes;
    struct lane lanes[3];
    struct lane over;       /* a lane that a new one replaces */
    struct earlier removed; /* figures of all such lanes */
    unsigned char agent_data[AGENT_DATA];
    char visit_id[USHER__WIDE_TEXT];
    unsigned char user_data[2 * LANES_MAX * 32]; /* ids at a login; of a refusal */
};

/* Agents that became open and users that wait again: they are matched after their changes were
 * written. */
struct pending {
    unsigned n_agents, n_users;
    uint64_t agents[USHER__EXPIRE_MAX + 2]; /* by login */
    struct {
        uint64_t rank, order;
    } users[USHER__EXPIRE_MAX + USHER_QUEUE_CAPACITY_MAX];
};

/* One command. */
struct run {
    work *w;
    struct pending *pending;
    bool matched_rows; /* the answer has matches as rows */
    bool passed;       /* a user that an agent has refused was left to another agent */
    bool whole;        /* a search continues until it is done */
    unsigned looked;   /* number of users that were skipped */
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

/* Return whether a queue with the settings @set matches by itself. */
static inline bool automatic(const int64_t *set)
{
    return set[SET_TRIGGER] == USHER_QUEUE_TRIGGER_AUTO &&
           set[SET_SCOPE_MODE] != USHER_SCOPE_MODE_STOPPED;
}

/* Return the time from @from to @to, at least 0, because a store's clock may be set back. */
static inline int64_t lasted(int64_t from, int64_t to)
{
    return to > from ? to - from : 0;
}

/* Return whether @r is due at the time of the command, which may be later than that of the
 * change. */
static inline bool due(const work *w, const struct usher_record *r)
{
    return r->until_ms != 0 && r->until_ms <= w->moment;
}

/* Return the earlier of two deadlines, which are 0 for none. */
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

/* Return whether the agent is leaving: it gets no more users. */
static inline bool goes(const struct usher_record *r)
{
    return r->n[A_OFFERS] / 2 % 2 != 0;
}

/* Return the state of an agent for answers and notices. */
static inline enum usher_queue_agent_state shown(const struct usher_record *r)
{
    bool in_use = r->state == USHER_QUEUE_AGENT_OFFERED || r->state == USHER_QUEUE_AGENT_BUSY;

    return in_use && asked(r) ? USHER_QUEUE_AGENT_PAUSING : (enum usher_queue_agent_state)r->state;
}

/* Return when the state of @r, an agent, expires; 0: at no certain time. */
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

/* ---- statistics of a lane --------------------------------------------------------- */

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

/* Read seven bytes as twice four, for which compilers make fast code. */
static inline int64_t figure_of(const void *data, int which)
{
    const unsigned char *at = (const unsigned char *)data + (size_t)which * FIGURE_BYTES;

    return (int64_t)((uint64_t)four_get(at) << 24 | (four_get(at + 3) & 0xffffffu));
}

static inline int64_t figure(const struct lane *l, int which)
{
    return figure_of(l->r.data.data, which);
}

static inline void figure_put(unsigned char *data, int which, int64_t v)
{
    unsigned char *at = data + (size_t)which * FIGURE_BYTES;

    four_put(at + 3, (uint32_t)v);
    four_put(at, (uint32_t)((uint64_t)v >> 24));
}

static inline void figure_set(struct lane *l, int which, int64_t v)
{
    if (l->r.data.data != (const char *)l->data)
        l->r.data.data = memcpy(l->data, l->r.data.data, sizeof l->data);
    figure_put(l->data, which, v);
    l->dirty = true;
}

static inline void figure_add(struct lane *l, int which, int64_t by)
{
    figure_set(l, which, figure(l, which) + by);
}

/* Return whether @verb only reads: it does not advance the clock of the queue. */
static inline bool usher__queue_reads(enum usher_verb verb)
{
    return verb == USHER_QUEUE_WHERE || verb == USHER_QUEUE_ROOM || verb == USHER_QUEUE_LIST ||
           verb == USHER_QUEUE_AGENTS || verb == USHER_QUEUE_STATS || verb == USHER_QUEUE_HISTORY ||
           verb == USHER_QUEUE_LANES || verb == USHER_QUEUE_INTERVALS || verb == USHER_QUEUE_WAITS;
}

/* ---- queue_change.c ---- */

bool usher__queue_texts(struct usher_unpacker *u, struct usher_text *to, size_t n);
/* Return false if the record is damaged. */
bool usher__queue_agent_read(struct agent *a);
/* Return the lanes of @a as one text, "A,B", which is written to @to. */
struct usher_text usher__queue_lanes_text(const struct agent *a, char to[LANES_TEXT]);
/* Find the agent that logged in at version @login, or MISSING. */
enum usher_status usher__queue_agent_by_login(work *w, uint64_t login, struct usher_record *r);
enum usher_status usher__queue_agent_hold_this(work *w, struct queue_change *qc,
                                               const struct usher_record *r);
void usher__queue_agent_event(work *w, struct queue_change *qc, unsigned event, int64_t at);
enum usher_status usher__queue_links_erase(work *w, struct queue_change *qc);
/*
 * Rank up to @max links of another strategy by the current one, without a version and a notice,
 * because agents do not change.  OLD_RANKS is cleared when none is left.
 */
enum usher_status usher__queue_rank_anew(work *w, int64_t max);
enum usher_status usher__queue_agent_save(work *w, struct queue_change *qc, bool fresh);
/* Load the lane @id of @qc for a change.  It may be a new one. */
enum usher_status usher__queue_lane_hold(work *w, struct queue_change *qc,
                                         const struct usher_text *id, struct lane **ret);
/* Find the first logged-in agent after @order that names @lane (which may be "*"), or MISSING. */
enum usher_status usher__queue_server(work *w, const struct usher_text *lane, uint64_t order,
                                      struct usher_record *r);
/*
 * Find a lane that can be erased for a new one: it has no users, no agent names it, and its
 * statistics are not of today.  MISSING: all are in use.
 */
enum usher_status usher__queue_lane_over(work *w, struct usher_record *r);
/* Count a user of state @state in (@by 1) or out (-1). */
void usher__queue_count(struct queue_change *qc, struct lane *l, unsigned state, int64_t by);
void usher__queue_change_init(struct queue_change *qc);
/* Begin another change, with its own version. */
void usher__queue_change_step(work *w, struct queue_change *qc);
void usher__queue_change_subject(struct queue_change *qc, enum usher_verb verb, unsigned from,
                                 const struct usher_record *r);
enum usher_status usher__queue_change_commit(work *w, struct queue_change *qc);
void usher__queue_pending_agent(struct run *run, uint64_t login);
/* Insert in the order of places. */
void usher__queue_pending_user(struct run *run, const struct usher_record *r);
/* Set the values of @r that follow from its state: lists, deadline, room. */
void usher__queue_user_settle(struct usher_record *r, unsigned to);
void usher__queue_agent_settle(struct usher_record *r);
/* Return the move of @r, a user, for @event; the same for an agent. */
struct usher__move usher__queue_user_move(work *w, const struct usher_record *r, unsigned event);
struct usher__move usher__queue_agent_move(work *w, const struct usher_record *r, unsigned event,
                                           unsigned guard);
/* Store @u, which has changed its state, and update the counts of its lane. */
enum usher_status usher__queue_user_save(work *w, struct queue_change *qc, struct usher_record *u,
                                         unsigned from);
/*
 * Move @u from where it is to the state @to, in a step of @qc with a notice of @verb.  Either it
 * leaves (GONE), and its visit ends with @outcome; or it waits again or is away, and its agent has
 * refused it (@reject).
 */
enum usher_status usher__queue_user_leaves(struct run *run, struct queue_change *qc,
                                           struct usher_record *u, unsigned to,
                                           enum usher_queue_outcome outcome, bool reject,
                                           enum usher_verb verb, int64_t at);

/* ---- queue_match.c ---- */

/* @u has its room from now on: update the statistics. */
enum usher_status usher__queue_seated(work *w, struct queue_change *qc, struct lane *l,
                                      struct usher_record *u);
/* Give @u, a waiting user (@stored, or new in @qc), to the agent of @qc, which is open. */
enum usher_status usher__queue_give(struct run *run, struct queue_change *qc,
                                    struct usher_record *u, bool stored);
/* The position of an agent's search for a user: after this place among the waiting users, or after
 * this one of its refusals. */
struct search {
    bool refusals;
    uint64_t rank, order;
};

/* Make one match for the agent of @qc, if possible: a step.  MISSING: there is none.  FULL: it has
 * not searched all users. */
enum usher_status usher__queue_match_agent_once(struct run *run, struct queue_change *qc,
                                                struct search *search);
/* Make at most @max matches for the agent that logged in at @login. */
enum usher_status usher__queue_match_agent(struct run *run, uint64_t login, int64_t max,
                                           struct search *search);
/*
 * Find the agent for @u: the first of the open ones by strategy that has not refused it, or, if all
 * have, the one whose refusal is the oldest and that may get it again.  With strategy random it is
 * drawn for the next version, see draw() in number.c.  MISSING: there is none.
 */
enum usher_status usher__queue_pick(work *w, const struct usher_record *u, struct usher_record *a);
/* Match all agents that became open and users that wait again.  Earlier writes stay: if they cannot
 * be rolled back, a match for which there is no memory is left to a later command. */
enum usher_status usher__queue_settle(struct run *run);
enum usher_status usher__queue_pull(struct run *run);
enum usher_status usher__queue_match(struct run *run);

/* ---- queue_limits.c ---- */

/* Add a change to @c: it sets @new, and deadlines of agents and users have to follow. */
void usher__queue_limits_change(work *w, struct usher__change *c,
                                const int64_t new[USHER_SETTINGS]);
/* Adapt up to @max deadlines.  OLD_LIMITS is cleared when none is left. */
enum usher_status usher__queue_limits_reach(work *w, int64_t max);

/* ---- queue_refuse.c ---- */

/* Find the refusal *@r of @u by @agent, which has rejected or missed it. */
enum usher_status usher__queue_refused(work *w, const struct usher_record *u,
                                       const struct usher_text *agent, struct usher_record *r);
/* Add to @qc: @agent has refused or missed @u at the time @at. */
enum usher_status usher__queue_refuse(work *w, struct queue_change *qc, struct usher_record *u,
                                      const struct usher_text *agent, int64_t at);
/* Add to @qc: @agent gets the user again, or takes it by itself. */
enum usher_status usher__queue_refuse_no_more(work *w, struct queue_change *qc,
                                              const struct usher_record *u,
                                              const struct usher_text *agent);
/* Add to @qc: erase all refusals of @u, some of them later. */
enum usher_status usher__queue_forget(work *w, struct queue_change *qc,
                                      const struct usher_record *u, int64_t at);
/* Store the search of the agent that logged in at @login: the next command continues it. */
enum usher_status usher__queue_search_later(work *w, uint64_t login, const struct search *search);
/* Apply a refusal, @r, that is due: one change. */
enum usher_status usher__queue_expire_refusal(struct run *run, struct usher_record *r);
const char *usher__queue_refusal_fault(const struct usher_record *r);

/* ---- queue_token.c ---- */

/* Return whether the command has no token, although the queue and the verb require one. */
bool usher__queue_token_missing(const work *w);
/* Return whether the command has another token than @current, that of its subject if that exists
 * (`found`).  Then the answer is `stale`, or `lost`. */
bool usher__queue_token_other(work *w, bool found, uint64_t current);
/* The same for a command about a login, a visit or an offer. */
enum usher_status usher__queue_token_check(struct run *run, bool *ret_other);

/* ---- queue_due.c ---- */

/* Find the first user by place in the rooms of the agent of @qc.  MISSING: all rooms are empty. */
enum usher_status usher__queue_first_in_rooms(work *w, struct queue_change *qc,
                                              struct usher_record *ret);
/*
 * Make one change of @r, an agent that leaves at the time @at: one of its users leaves it, or, if
 * it has none, it leaves itself (*@ret_gone).
 */
enum usher_status usher__queue_agent_leave(struct run *run, const struct usher_record *r,
                                           unsigned event, enum usher_verb verb, int64_t at,
                                           bool *ret_gone);
/* Apply what is due for @r, an agent: one change. */
enum usher_status usher__queue_expire_agent(struct run *run, const struct usher_record *r);
/* The same for a user. */
enum usher_status usher__queue_expire_user(struct run *run, const struct usher_record *r);
/* Apply up to @max changes that are due, and the matches that follow from them.  *@ret_n: the
 * number of these changes that made a version. */
enum usher_status usher__queue_expire_due(struct run *run, int64_t max, uint64_t *ret_n,
                                          bool *ret_more);
/* Load the record of @kind (agent or user), or MISSING. */
enum usher_status usher__queue_load(struct run *run, unsigned kind, const struct usher_text *id,
                                    struct usher_record *r);

/* ---- queue_answer.c ---- */

void usher__queue_answer_names(work *w, const struct usher_text *user,
                               const struct usher_text *agent);
/* Answer about an agent: login, pause … */
void usher__queue_answer_agent(work *w, enum usher_status status, const struct usher_record *r);
enum usher_status usher__queue_answer_no_agent(work *w, enum usher_status status,
                                               const struct usher_text *id);

/* Return when the state of @u ends if the user stays alive; 0: at no certain time. */
int64_t usher__queue_user_until(const struct usher_record *u);
/* Return @u as a row, without its agent. */
struct usher_queue_result_row usher__queue_user_row(const struct usher_record *u);
/* Find the version at which the agent @id logged in: that of its rooms. */
enum usher_status usher__queue_login_of(work *w, const struct usher_text *id, uint64_t *ret);
/* Return whether the answer has the lane of a user instead of its name: where and alive. */
bool usher__queue_answers_lane(const work *w);
/* @l: its lane; NULL: not loaded. */
enum usher_status usher__queue_answer_user(work *w, enum usher_status status,
                                           const struct usher_record *u, uint64_t login,
                                           struct lane *l);
enum usher_status usher__queue_answer_gone(work *w, enum usher_status status,
                                           const struct usher_text *user);
/* The same for `missing`, with the end of the last visit of @user. */
enum usher_status usher__queue_answer_ended(work *w, const struct usher_text *user);

/* ---- queue_agents.c ---- */

int64_t usher__queue_beat(const work *w);
/* Write without a version, because a heartbeat has no notice. */
enum usher_status usher__queue_heartbeat(work *w, struct usher_record *r);
/* Find the pause or the wrap-up of the agent of the command from before it left, or MISSING. */
enum usher_status usher__queue_absent(work *w, struct usher_record *r);
/* A command of the agent @r is a heartbeat. */
enum usher_status usher__queue_agent_alive(struct run *run, struct usher_record *r);
enum usher_status usher__queue_login(struct run *run);
enum usher_status usher__queue_logout(struct run *run);
enum usher_status usher__queue_agent_verb(struct run *run, unsigned event);
enum usher_status usher__queue_free(struct run *run);
enum usher_status usher__queue_room(struct run *run, bool alive);

/* ---- queue_users.c ---- */

enum usher_status usher__queue_where(struct run *run, bool alive);
/* Return OK if a logged-in agent serves @lane, or MISSING. */
enum usher_status usher__queue_served(work *w, const struct usher_text *lane);
int64_t usher__queue_agents_now(const struct usher_scope *s);
enum usher_status usher__queue_apply(struct run *run);
enum usher_status usher__queue_leave(struct run *run);
enum usher_status usher__queue_finish(struct run *run);
enum usher_status usher__queue_accept_or_reject(struct run *run, bool accept);
enum usher_status usher__queue_move(struct run *run);

/* ---- queue_figures.c ---- */

/* Return the local midnight before @at, as F_DAY has it. */
int64_t usher__queue_day(const struct usher_scope *s, int64_t at);
/* Begin the day and the quarter hour of @at in @l.  An event is counted after this. */
enum usher_status usher__queue_figures_at(work *w, struct lane *l, int64_t at);
/* Count a user that was seated at @at after it waited for @wait. */
enum usher_status usher__queue_count_seated(work *w, struct lane *l, int64_t at, int64_t wait);
/* Count a visit or stay of @u that ended at @at. */
enum usher_status usher__queue_count_ended(work *w, struct lane *l, const struct usher_record *u,
                                           enum usher_queue_outcome outcome, int64_t at);
/* Load the earlier figures of the lane with this order; 0: those of removed lanes.  If there are
 * none, they are zeros. */
enum usher_status usher__queue_earlier(work *w, uint64_t order, struct earlier *e);
/* Erase the lane qc->over, and keep what it has counted. */
enum usher_status usher__queue_lane_remove(work *w, struct queue_change *qc);
/* Find the first lane after @after, or MISSING. */
enum usher_status usher__queue_lane_next(work *w, const struct usher_text *after,
                                         struct usher_record *r);

/* ---- queue_reads.c ---- */

/* Add the reason of the mode, if there is one, to the answer. */
enum usher_status usher__queue_tell_reason(work *w, const struct usher__reason *reason);
enum usher_status usher__queue_list(work *w);
enum usher_status usher__queue_agents(work *w);
enum usher_status usher__queue_stats(work *w);
enum usher_status usher__queue_lanes(work *w);
enum usher_status usher__queue_intervals(work *w);
enum usher_status usher__queue_waits(work *w);
enum usher_status usher__queue_history(work *w);
enum usher_status usher__queue_drain(work *w);

/* ---- queue_audit.c ---- */

const char *usher__queue_scope_fault(const struct usher_scope *scope);
const char *usher__queue_record_fault(const struct usher_scope *scope,
                                      const struct usher_record *r);
/* Totals: 0 users in rooms, and by the rooms; 1 users of lanes, and by the lanes; 2 links of open
 * agents, and open agents; 3 logins of links, and of agents; 4 agents of lanes. */
void usher__queue_tally(struct usher__tally *t, const struct usher_record *r);

#endif
