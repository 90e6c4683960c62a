/* SPDX-License-Identifier: MIT */
/*
 * The verbs of a room as steps on a record store.
 *
 * Records: MEMBER (id; rank = last heartbeat, so that slot 0 is the order of heartbeats; until_ms
 * = next deadline or end of the ban; order = version of joining, so that slot 2 is the order
 * of joining; data = its fields with their versions), FIELD and ALL (id = field, data = value,
 * order = version of setting), ROLE and SHARE (owner = member, slot 2), CHANGE (id = version in
 * 16 digits, data = the notice), REQUEST.
 *
 * A member is removed in one change with all its roles and shares: there are never more of them
 * than fit.  So in every visible state each role and share belongs to a present member.
 *
 * A ban applies to the room's name.  When a room with bans is closed, its header and these records
 * stay, in the state CLOSED, until the last ban ends: usher__room_rests().  For every command but
 * these three the room does not exist then: `open` makes a new one, with another epoch and a
 * version above the old ones; `kick` with ban=0 lifts a ban; `close` with ban=0 ends all of them.
 */
#ifndef USHER_ROOM_ROOM_H
#define USHER_ROOM_ROOM_H

#include "change/work.h"

#include "core/room.h"
#include "core/text.h"
#include "change/request_cache.h"

typedef struct usher__work work;
typedef struct usher__change change;

/* The kinds, numbers and counts. */
#define RECORDS_DEF "core/room_records.def"
#include "change/record_names.h"

enum {
#define SETTING_OPEN(field) SET_##field,
#define SETTING_SHOW(field)
#define SETTING_STATS(field)
#define SETTING_ALIVE(field)
#define SETTING_SNAPSHOT(field)
#define SETTING_CHANGES(field)
#define EXTRA(verb, type, member, field) SETTING_##verb(field)
#include "core/room_verbs.def"
    SETTINGS
};

/* The number of records that a step of closing erases while other commands wait.  (A member with
 * all its roles and shares is more, and is a step of its own.) */
#define CLOSE_MAX 24
/* A page of a snapshot ends early when it has this size. */
#define PAGE_BYTES 1048576
/* The cost of a row of a page, in bytes: some 55,000 instructions of a Redis server, so a page of
 * 400 members is 22 million. */
#define ROW_WORK 2560

static const char not_in[] = "the member is not in the room";
static const char too_many_fields[] = "the member or share has too many fields, or too large ones";

static inline const struct usher_room_args *args(const work *w)
{
    return &w->command->arg.room;
}

static inline bool given(const work *w, uint64_t bit)
{
    return (w->command->given & bit) != 0;
}

static inline unsigned state_of(const work *w)
{
    return w->scope.ref != NULL ? (unsigned)w->scope.counts[COUNT_STATE] : USHER_ROOM_STATE_CLOSED;
}

/* Return whether the room is closed, and only its bans are left. */
static inline bool usher__room_rests(const struct usher_scope *s)
{
    return s->ref != NULL && s->counts[COUNT_STATE] == USHER_ROOM_STATE_CLOSED;
}

static inline bool present(const struct usher_record *r)
{
    return r->state >= USHER_ROOM_MEMBER_HERE && r->state <= USHER_ROOM_MEMBER_OFFLINE;
}

static inline bool due(const struct usher_record *r, int64_t now)
{
    return r->until_ms != 0 && r->until_ms <= now;
}

/* ---- room.c ---- */

struct usher__move usher__room_move(work *w, unsigned event);
/* Set the members that every answer has; call it after the change.  Return USHER_OK. */
enum usher_status usher__room_answer(work *w, enum usher_status status);
void usher__room_answer_name(work *w, const struct usher_text *name);
enum usher_status usher__room_add_row(work *w, enum usher_room_row_kind kind,
                                      const struct usher_record *r);
/* Keep scope.due_ms a lower bound of the time at which an empty room closes. */
void usher__room_linger(struct usher_scope *s);
/* Commit @c; not into the log if the room closes, because that is about to be erased. */
enum usher_status usher__room_commit(work *w, change *c, enum usher_verb verb, unsigned from,
                                     unsigned to, const struct usher_record *r);
/* Commit the change of the command itself; the answer is complete. */
enum usher_status usher__room_finish(work *w, change *c, unsigned from, unsigned to,
                                     const struct usher_record *r);
/* Return whether the command may do @event to the room; false: answered. */
bool usher__room_gate(work *w, unsigned event);
enum usher_status usher__room_turn_down(work *w, enum usher_status status, const char *why);
void usher__room_settings_from(work *w, const int64_t *set);
enum usher_status usher__room_run(work *w);
/* See usher__defer(). */
enum usher_status usher__room_come_again(work *w);
void usher__room_defaults(struct usher_scope *scope);

/* ---- room_close.c ---- */

void usher__room_count_out(int64_t *counts, const struct usher_record *r);
/* Erase some records of a closing room; with the last of them the room itself. */
enum usher_status usher__room_close_step(work *w, uint64_t *ret_n);
enum usher_status usher__room_close(work *w);
/* Write @c, which erased bans, without a version and a notice.  With the last ban of a closed room
 * the rest is erased. */
enum usher_status usher__room_bans_write(work *w, change *c);
enum usher_status usher__room_expire_due(work *w, int64_t max, uint64_t *ret_n, bool *ret_more);
/* A room as if all due expiries were applied. */
struct room_now {
    bool open;
    int64_t members, roles, shares, lost;
};

/* For reads: return in *@ret what the room is now.  Nothing is written. */
enum usher_status usher__room_check(work *w, struct room_now *ret);

/* ---- room_members.c ---- */

struct usher__move usher__room_member_move(work *w, unsigned state, unsigned event);
/* Put @r, which is present, into @to at the time @at, with all values that follow from the
 * state. */
void usher__room_settle(const struct usher_scope *s, struct usher_record *r, unsigned to,
                        int64_t at);
/* For usher__lives. */
int64_t usher__room_beat(const struct usher_scope *s);
int64_t usher__room_life_ends(const struct usher_scope *s, const struct usher_record *r);
enum usher_status usher__room_last(work *w, int64_t *ret_ms);
/* Return the event of @r at its deadline. */
unsigned usher__room_due_event(const struct usher_scope *s, const struct usher_record *r);
/* Member @r, which is present, is absent from @at on: erase its roles and shares. */
enum usher_status usher__room_drop(work *w, change *c, const struct usher_record *r, int64_t at);
/* Remove @r at @at by @verb. */
enum usher_status usher__room_remove_one(work *w, struct usher_record *r, enum usher_verb verb,
                                         int64_t at);
/* Apply what is due for @r, as a change of its own; *@r is then as stored. */
enum usher_status usher__room_expire_one(work *w, struct usher_record *r);
/* Find member @id, and apply what is due for it.  MISSING. */
enum usher_status usher__room_load(work *w, const struct usher_text *id, struct usher_record *r);
/* The same, and MISSING if it is not present. */
enum usher_status usher__room_load_present(work *w, const struct usher_text *id,
                                           struct usher_record *r);
enum usher_status usher__room_join(work *w);
/* Set the version and mark that a replica should have; call it after the change. */
void usher__room_answer_point(work *w);
enum usher_status usher__room_alive(work *w);
enum usher_status usher__room_leave(work *w, unsigned event);
enum usher_status usher__room_kick(work *w);

/* ---- room_roles.c ---- */

enum usher_status usher__room_set_role(work *w);
/* Answer STALE, with the holder of the role. */
enum usher_status usher__room_stale_role(work *w);
enum usher_status usher__room_share(work *w);
enum usher_status usher__room_unshare(work *w);

/* ---- room_fields.c ---- */

/* Set the data of a notice: @field and @value if they are given, then the command's fields. */
enum usher_status usher__room_tell_fields(work *w, change *c, const struct usher_text *field,
                                          const struct usher_text *value);
/* Check `if=` and `if-version=`: whether @now (size 0: none) is the expected value.  If not, the
 * answer is STALE with @now. */
enum usher_status usher__room_expected(work *w, enum usher_room_row_kind kind,
                                       const struct usher_record *now, bool *ret_as_expected);
/* Find the value of @field as FIELD or ALL; absent: id of size 0. */
enum usher_status usher__room_find_value(work *w, uint8_t kind, const struct usher_text *field,
                                         struct usher_record *r);
enum usher_status usher__room_set_fields(work *w);
enum usher_status usher__room_unset(work *w);
enum usher_status usher__room_set_all(work *w);
/*
 * Merge the fields of @data with those that the command sets, at the version of the next change.
 * *@data is then the new text, in a buffer.  @of_member: values of all members apply.
 */
enum usher_status usher__room_merge(work *w, bool of_member, const struct usher_text *field,
                                    struct usher_text *data, bool *ret_changed, bool *ret_full);
enum usher_status usher__room_set_member(work *w);
/* `if-version=` is not the version: answer with the current value of what the command names. */
enum usher_status usher__room_stale(work *w);

/* ---- room_queries.c ---- */

enum usher_status usher__room_get(work *w);
enum usher_status usher__room_show(work *w);
enum usher_status usher__room_stats(work *w);
enum usher_status usher__room_changes(work *w);
enum usher_status usher__room_snapshot(work *w);

#endif
