/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a serial rule as steps on a record store.
 *
 * Records: RULE (id "rule"; data = the packed format, n = granted, debt, and the store that grants
 * were installed on, if it has an identity), FILL
 * (stamp=fill: one fill that waits; n = its last number, its time; in order of fills), HOLD (one
 * number of a gap-free rule; id = rank = period and number; held, its data is the format that it
 * was reserved under), END (how the last hold of a number ended, with its format and in order of
 * tokens; the id is one of a fixed number of places, so that they replace each other: end_name()),
 * LOST (numbers of one period that a lost store may have issued; id = rank = period and first
 * number; its data is the format that they were lost under), REQUEST, CHANGE (a notice
 * of the log: log.c), PAST (id "past"; the highest numbers given out in the current month, in the
 * current year and ever, as far as the counters do not have them).
 *
 * The counters are in the counts of the scope, as pairs (core/wide.h): taken is the last one
 * issued, cur the last one made.  The stock is the numbers between them.
 *
 * The counters belong to the current period of the rule's reset.  PAST has the periods that are
 * coarser, so that a change of the reset continues after all numbers of its new period.  The
 * library reads and writes PAST only when a period begins: usher__serial_enter().
 */
#ifndef USHER_SERIAL_SERIAL_H
#define USHER_SERIAL_SERIAL_H

#include "change/work.h"

#include "core/pack.h"
#include "core/serial.h"
#include "core/serial_machine.h"
#include "core/text.h"

typedef struct usher__work work;
typedef struct usher__change change;

/* The kinds, numbers and counts. */
#define RECORDS_DEF "core/serial_records.def"
#include "change/record_names.h"

enum setting {
    SET_LIMIT, /* the last number that may be printed; follows from the rule */
    SET_MAX = 2,
    SET_START = 4,
    SET_CRITICAL = 6,
    SET_BATCH,
    SET_RESET,
    SET_ZONE,
    SET_STAMP,
    SET_MODE,
    SET_LEASE,
    SET_REQUESTS,
    SET_AUTHORITY,
    SET_RULE, /* 1: there is a rule, plus: */
    SET_LOG,
    SET_LOW, /* 0: start; else the lowest start with which numbers were made */
    SET_PUSH = SET_LOW + 2
};

_Static_assert((int)SET_PUSH < USHER_SETTINGS, "a rule has too many settings");

enum past {
    USED = 1, /* earlier periods have numbers */
    MADE = 2  /* the present one has, though cur is where start is now */
};

#define N_PAST (N_GRANTED + 2) /* the places of a record of PAST */

enum slot { READY, DUE, HELD };

static const struct usher_text rule_id = { "rule", 4 }, past_id = { "past", 4 };

/* The most that one `void` with doubt=1 ends: the journal takes as many rows of one reply. */
#define VOID_MAX 32

#define ID_SIZE 24 /* bytes of the id of a hold, an end or a range, with a NUL */

/* Return a pair of a record; INT64_MAX if it is damaged. */
static inline int64_t pair(const int64_t *at)
{
    return usher__wide_sound(at, INT64_MAX) ? (int64_t)usher__wide(at) : INT64_MAX;
}

static inline void set_pair(int64_t *at, int64_t value)
{
    usher__wide_set(at, (uint64_t)value);
}

/* The rule as it is at w->now. */
struct state {
    int64_t taken, cur, limit, granted, debt, period;
    struct usher_record rule, past; /* past: after usher__serial_enter() */
};

/* Return the last number that may be made now. */
static inline int64_t ceiling(const work *w, const struct state *s)
{
    return w->scope.settings[SET_AUTHORITY] != 0 && s->granted < s->limit ? s->granted : s->limit;
}

static inline int64_t room(const work *w, const struct state *s)
{
    int64_t most = ceiling(w, s);

    return most > s->cur ? most - s->cur : 0;
}

static inline bool must_ask(const work *w, const struct state *s)
{
    return ceiling(w, s) < s->limit;
}

/* Return whether the grants were installed on another store: this may be a copy, which does not
 * have the numbers that were issued since. */
static inline bool is_another(const work *w, const struct state *s)
{
    return w->identity != 0 && s->rule.n[N_STORE] != (int64_t)w->identity;
}

static inline bool lost(const work *w, const struct state *s)
{
    return w->scope.settings[SET_AUTHORITY] != 0 && is_another(w, s);
}

static inline int64_t past(const work *w)
{
    return w->scope.settings[SET_RULE] - 1;
}

/* Return whether numbers are held, in doubt or returned.  (Lost ones: usher__serial_lost_any().) */
static inline bool any_open(const work *w)
{
    const int64_t *counts = w->scope.counts;

    return counts[COUNT_HELD] + counts[COUNT_DOUBT] + counts[COUNT_RETURNED] > 0;
}

/* Return whether numbers were made in the current period. */
static inline bool counted(const work *w, int64_t cur)
{
    return cur != pair(w->scope.settings + SET_START) - 1 || (past(w) & MADE) != 0 || any_open(w);
}

/*
 * Return the state of hold @r.  After a takeover, or if its authority shows a loss, a store may
 * have lost the outcome of numbers that it had issued.  It stores the version as a line
 * (COUNT_LINE).  A number held under an earlier token is in doubt then, and a returned one is lost.
 * So no record is written when the line moves, only the counts are: raise_line().  A record that is
 * in the way of others is written later.
 */
static inline unsigned state_of(const struct usher_scope *scope, const struct usher_record *r)
{
    if ((int64_t)r->token >= scope->counts[COUNT_LINE] ||
        (r->state != USHER_SERIAL_STATE_HELD && r->state != USHER_SERIAL_STATE_RETURNED))
        return r->state;
#ifdef USHER_ROWS
    usher__row_taken(&usher__serial_machine, r->state, USHER__SERIAL_E_LOSE, USHER__ANY);
#endif
    return usher__machine_move(&usher__serial_machine, r->state, USHER__SERIAL_E_LOSE, USHER__ANY)
        .to;
}

static inline void raise_line(struct usher_scope *scope, uint64_t line)
{
    int64_t *counts = scope->counts;

    if ((int64_t)line <= counts[COUNT_LINE])
        return;
    counts[COUNT_LINE] = (int64_t)line;
    counts[COUNT_DOUBT] += counts[COUNT_HELD];
    counts[COUNT_HELD] = counts[COUNT_RETURNED] = 0;
}

/* Return the lowest number that the rule can have made. */
static inline int64_t low(const int64_t *set)
{
    int64_t lowest = pair(set + SET_LOW);

    return lowest != 0 ? lowest : pair(set + SET_START);
}

static inline struct usher__move move_of(work *w, unsigned state, unsigned event, unsigned guard)
{
    return usher__work_move(w, &usher__serial_machine, state, event, guard);
}

/* Return whether @r has expired. */
static inline bool hold_is_due(const work *w, const struct usher_record *r)
{
    return r->until_ms != 0 && r->until_ms <= w->moment &&
           state_of(&w->scope, r) == USHER_SERIAL_STATE_HELD;
}

static inline bool given(const work *w, uint64_t bit)
{
    return (w->command->given & bit) != 0;
}

static inline bool queued(const work *w)
{
    return w->scope.settings[SET_MODE] == USHER_SERIAL_MODE_QUEUE;
}

static inline void count(int64_t *counts, unsigned state, int64_t by)
{
    if (state == USHER_SERIAL_STATE_HELD)
        counts[COUNT_HELD] += by;
    else if (state == USHER_SERIAL_STATE_RETURNED)
        counts[COUNT_RETURNED] += by;
    else if (state == USHER_SERIAL_STATE_DOUBT)
        counts[COUNT_DOUBT] += by;
}

/* ---- serial.c ---- */

/* Fill the members that every reply has.  Return USHER_OK. */
enum usher_status usher__serial_answer(work *w, enum usher_status status, const struct state *s);
enum usher_status usher__serial_turned_down(work *w, enum usher_status status,
                                            enum usher_serial_why why, const struct state *s);
/* On MISSING the reply has the reason. */
enum usher_status usher__serial_load(work *w, struct state *s);
enum usher_status usher__serial_damaged(work *w);
/* Begin the period of @set at w->now.  @made is the last number that was issued in the period
 * before (0: none).  @s continues after the highest number that was issued in the new period, which
 * is
 * *@ret_highest (0: none).  Grants and stock are not taken over: numbers that were made and not
 * taken are made again. */
enum usher_status usher__serial_enter(work *w, struct state *s, const int64_t *set, int64_t made,
                                      int64_t *ret_highest);
void usher__serial_put_past(change *c, struct state *s);
void usher__serial_put_counters(change *c, const struct state *s);
void usher__serial_put_rule(change *c, struct state *s);
/* Erase all fills: no command waits for them any more. */
enum usher_status usher__serial_drop_fills(work *w, change *c);
void usher__serial_add_fill(const work *w, change *c, int64_t last, char id[24]);
enum usher_status usher__serial_add_row(work *w, const struct state *s, int64_t first, int64_t n,
                                        int64_t at);
/* Commit a change of a hold, whose notice has the number as data. */
enum usher_status usher__serial_commit(work *w, change *c, enum usher_verb verb, unsigned from,
                                       unsigned to, const struct usher_record *r);
enum usher_status usher__serial_finish(work *w, change *c, const struct usher_record *r,
                                       unsigned from, unsigned to);
/* The same for a change of the rule, whose notice has @n numbers. */
enum usher_status usher__serial_finish_saying(work *w, change *c,
                                              const struct usher__notice_field *said, size_t n);
void usher__serial_defaults(struct usher_scope *scope);
/* Compute the demand counters at w->now. */
int64_t usher__serial_use_now(const work *w, int64_t use[USHER__USE_PERIODS / 2],
                              int64_t *ret_recent, int64_t *ret_longterm);
/* See usher__defer(). */
enum usher_status usher__serial_come_again(work *w);
/* On MISSING the reply is complete. */
enum usher_status usher__serial_run(work *w);

/* ---- serial_holds.c ---- */

/* Store the numbers after s->cur up to @last as lost, because their outcome is not known: otherwise
 * they would be a silent gap.  Return their count. */
int64_t usher__serial_lose(work *w, change *c, const struct state *s, int64_t last,
                           char id[ID_SIZE]);
/* Check whether any number is lost. */
enum usher_status usher__serial_lost_any(work *w, bool *ret_any);
/* Apply up to @max due expiries; *@ret_n is their number. */
enum usher_status usher__serial_expire_due(work *w, int64_t max, uint64_t *ret_n, bool *ret_more);
enum usher_status usher__serial_add_hold(work *w, const struct state *s,
                                         const struct usher_record *r);
enum usher_status usher__serial_reserve(work *w);
/* Write the state of number @k of @period, which the command names, as a record, after due
 * expiries: HELD or RETURNED, the end of its last hold if that is known, FREE or PAST.  Its token
 * is that of the last hold. */
enum usher_status usher__serial_standing(work *w, const struct state *s, int64_t k, int64_t period,
                                         struct usher_record *r);
/* Return whether @serial is the printed form of @r. */
bool usher__serial_tells(const struct usher_record *r, const struct usher_text *serial);
/* Return whether @serial is number @k printed by @format; *@at_ms is then its time. */
bool usher__serial_printed_by(const struct usher_text *format, const struct usher_text *serial,
                              int64_t k, int64_t *at_ms);
/* Find the number that the command names: as the rule prints now, or as one was printed that is
 * held, has ended or is lost; or was lost, and was settled by token @claim (0: none).  On MISSING
 * the reply has the reason. */
enum usher_status usher__serial_named(work *w, const struct state *s, int64_t claim, int64_t *ret_k,
                                      int64_t *ret_period);
/* confirm, return, void, renew: the token identifies the hold, and the serial must be that of the
 * hold. */
enum usher_status usher__serial_settle_hold(work *w, unsigned event);
/* Change @r to its current state: one in doubt has no deadline, and one that was returned and is
 * lost becomes a range of one number.  Its token is the line, so it does not change later. */
void usher__serial_show_state(const work *w, const struct state *s, struct usher_record *r);
/* Save the move of @r from state @from to @to in @c.  @id must exist until that is written. */
enum usher_status usher__serial_save_hold(work *w, change *c, struct usher_record *r, unsigned from,
                                          unsigned to, char id[ID_SIZE]);

/* ---- serial_lists.c ---- */

/* `void` with doubt=1. */
enum usher_status usher__serial_void_doubt(work *w);
enum usher_status usher__serial_sweep(work *w);
/* Change @n to the values after all due expiries. */
enum usher_status usher__serial_without_due(work *w, struct usher_serial_stock *n);
/* List numbers held or in doubt, or only those of an owner or in doubt; those whose hold is over,
 * the first to end first, and those returned; those lost.  Each list continues after (hi,
 * order). */
enum usher_status usher__serial_holds(work *w);

/* ---- serial_rule.c ---- */

void usher__serial_settings_of(const int64_t *set, struct usher_serial_result_settings *n);
enum usher_status usher__serial_show(work *w);
enum usher_status usher__serial_rule(work *w);
/* The counters and the zone stay, so that a rule that is created again repeats no number. */
enum usher_status usher__serial_delete_rule(work *w);

#endif
