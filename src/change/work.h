/* SPDX-License-Identifier: MIT */
/*
 * The part of the steps that all nouns share on a record store: the scope's header, its clock and
 * version, request ids, and changes.
 *
 * A command first reads and decides, then writes one change: usher__change_begin(),
 * usher__change_save() …, usher__change_commit().  A change is all or nothing, adds 1 to the
 * version and makes one notice.  An expiry that is due before a command is a change of its own.
 * The same steps in the same order, with the same names, are in backends/redis/lua.
 */
#ifndef USHER_CHANGE_WORK_H
#define USHER_CHANGE_WORK_H

#include <string.h>

#include <usher/store/store.h>

#include "change/hooks.h"
#include "core/machine.h"
#include "core/verbs.h"
#include "core/wide.h"

struct usher__work {
    const struct usher_record_store_ops *ops;
    struct usher_txn *txn;
    const struct usher_context *context;
    const struct usher_operation *command;
    struct usher_result *reply;
    struct usher_scope scope; /* ref NULL: does not exist (yet) */
    uint64_t identity;        /* of the store; 0: it has none */
    uint64_t stored;          /* 0, or: the version last written to the store, while
                               * scope.version is above all that an earlier writer may have
                               * issued: see usher__scope_loaded() */
    uint64_t lost_behind;     /* see usher__scope_version_lost() */
    int64_t due_stored;       /* scope.due_ms in the store */
    int64_t said;             /* the time of the command */
    int64_t clock;            /* the time of the store's own clock */
    int64_t wall;             /* 0, or the machine's clock in this transaction */
    int64_t now;              /* for order and stamps; never before scope.clock_ms */
    int64_t moment;           /* for expiries and the start of deadlines; never after `now`
                               * or `clock` */
    int64_t gap_from, gap_to; /* the last outage of the scope: usher__outage_check() */
    int64_t gap_end;          /* end of a record whose deadline the outage has moved */
    void *grave;              /* NULL, or the ref of the tombstone of `scope`, which does not
                               * exist: see drop.c */
    bool hidden;              /* `scope` is stored, but does not exist for this command */
    bool behind;              /* the following commands are deferred: usher__defer() */
    bool at_once;             /* writes stay, even if the command fails then */
    bool guarded;             /* other programs can write to the store: records are checked */
    const struct usher__steps *steps; /* of the scope's noun */
    const char *fault;                /* a fault of the scope when it was loaded */
    char *trouble;                    /* a fault of a record or a table, with which the command
                                       * fails: USHER__TROUBLE_MAX bytes, "" if there is none */
    unsigned char *answer;            /* a cached answer that is too long for a change */
    size_t answer_size;
    unsigned n_buffers;       /* number of buffers that were used */
    unsigned char *buffer[6]; /* of the noun: usher__buffer() */
    size_t buffer_size[6];
};

#define USHER__TROUBLE_MAX 160

/* Space for most of the answers that are cached for request ids. */
#define USHER__ANSWER 480

/* The size of the id of a notice in a log: its version in 16 digits, or more, and a NUL. */
#define USHER__LOG_ID 24

/* A notice that waits for its change to be written. */
struct usher__pending_notice {
    struct usher_notice notice;
    char subject[USHER_NAME_MAX], owner[USHER_NAME_MAX];
    char id[USHER__LOG_ID]; /* in the log */
};

/* The maximum number of notices of one write, one for each of its versions. */
#define USHER__TOLD_MAX 2

struct usher__change {
    struct usher_scope *scope; /* that of the work, with its new values */
    size_t n;
    struct usher_write writes[USHER_CHANGE_MAX];
    struct usher_text data;  /* of the notice */
    struct usher_text owner; /* of the notice, if the record has none any more */
    int64_t wait_ms;         /* of the notice */
    bool unlogged;           /* it is not added to the log, which is erased */
    bool first;              /* the first of a scope: it follows no version, whatever its own is */
    unsigned char answer[USHER__ANSWER];
    size_t n_told; /* number of versions before the last one */
    struct usher__pending_notice told[USHER__TOLD_MAX];
};

/* How long the answer to a request id is cached, at most; the default number of them. */
#define USHER__REQUEST_MS INT64_C(3600000)
#define USHER__REQUESTS_DEFAULT 10000
/* The maximum number of deadlines that one command applies, before it or as a `sweep`, and of
 * changes by a command with one change for each record.  A Redis script takes 100,000 to 400,000
 * instructions for each. */
#define USHER__EXPIRE_MAX 64
/* The maximum number of changes by one command, so that other commands do not wait for long. */
#define USHER__STEP_MAX 1000
/* A time that is never reached, for records that are limited by their number only. */
#define USHER__FOREVER (INT64_C(1) << 52)

/* The table has no row for the event: fail the command, and write nothing of it. */
void usher__no_row(struct usher__work *w, const struct usher__machine *m, unsigned from,
                   unsigned event);

#ifdef USHER_ROWS
/* For `make rows`: the row of @m was used. */
void usher__row_taken(const struct usher__machine *m, unsigned from, unsigned event,
                      unsigned guard);
#endif

/* Return the move for @event in state @from if @guard is true. */
static inline struct usher__move usher__work_move(struct usher__work *w,
                                                  const struct usher__machine *m, unsigned from,
                                                  unsigned event, unsigned guard)
{
    struct usher__move move = usher__machine_move(m, from, event, guard);

    USHER_ASSERT(move.row);
    if (!move.row)
        usher__no_row(w, m, from, event);
#ifdef USHER_ROWS
    usher__row_taken(m, from, event, guard);
#endif
    return move;
}

/* Set both times of the command: its own, but never before the scope's last one, and the moment,
 * which is not after the store's clock.  So a command with a clock that is ahead causes no early
 * expiry, and a scope whose last time is ahead delays no deadline. */
static inline void usher__work_time(struct usher__work *w, int64_t last)
{
    w->now = w->said > last ? w->said : last;
    w->moment = w->now < w->clock ? w->now : w->clock;
}

/* Return `now` of the answer: unlike the moment it advances while the scope's last time is ahead,
 * so a timer that waits for due - now is right. */
static inline int64_t usher__work_answered(const struct usher__work *w)
{
    return w->said < w->clock ? w->said : w->clock;
}

/* Return the time of the change that is being made: the moment, or an earlier time that was set by
 * usher__work_as_of(). */
static inline int64_t usher__work_at(const struct usher__work *w)
{
    return w->now < w->moment ? w->now : w->moment;
}

/* Let a read apply an expiry at its own time, so that it advances the scope's clock no further. */
static inline void usher__work_as_of(struct usher__work *w, int64_t at)
{
    w->now = at > w->scope.clock_ms ? at : w->scope.clock_ms;
}

/* Return the version of the next change. */
static inline uint64_t usher__version_next(const struct usher__work *w)
{
    return w->scope.version + 1;
}

/* Begin a change without a version, a notice and a time.  All members are set, so that it can get
 * both later and be committed. */
static inline void usher__change_begin_quietly(struct usher__work *w, struct usher__change *c)
{
    c->scope = &w->scope;
    c->n = 0;
    c->data.data = NULL;
    c->data.size = 0;
    c->owner.size = 0;
    c->wait_ms = 0;
    c->unlogged = false;
    c->first = false;
    c->n_told = 0;
}

static inline void usher__change_begin(struct usher__work *w, struct usher__change *c)
{
    usher__change_begin_quietly(w, c);
    c->scope->version++;
    c->scope->clock_ms = w->now;
}

/* Write a change without a version. */
enum usher_status usher__change_write(struct usher__work *w, struct usher__change *c);

/* ---- drop.c ---- */

/* counts[0] of a scope of a noun that has `drops`. */
enum { USHER__COUNT_DROP = 0, USHER__DROPPING = 1, USHER__DROPPED = 2 };

/* The maximum number of records that a step of dropping erases: a few changes. */
#define USHER__DROP_MAX 240

/* Return whether @s is being dropped; whether only its version is left. */
bool usher__scope_dropping(const struct usher_scope *s);
bool usher__scope_dropped(const struct usher_scope *s);

/* Return whether w->scope may be one of those two: a fast check, because most are not. */
static inline bool usher__tombstone_blocks(const struct usher__work *w)
{
    return w->scope.ref != NULL && w->scope.counts[USHER__COUNT_DROP] != 0;
}

void usher__tombstone_write(struct usher__work *w);

/* Called after w->scope was loaded: one that was dropped does not exist. */
static inline void usher__tombstone_loaded(struct usher__work *w)
{
    w->grave = NULL;
    w->hidden = false;
    if (usher__tombstone_blocks(w))
        usher__tombstone_write(w);
}

/* Called before w->command is run.  A scope that is being dropped is missing, and a command that
 * creates it again does a step of the drop first.  *@ret_done: there are more steps, and that is
 * answered. */
enum usher_status usher__tombstone_answer(struct usher__work *w, bool *ret_done);

/* Run the verb itself: *@ret_n records were erased, and *@ret_more.  Answer all but these. */
enum usher_status usher__drop(struct usher__work *w, uint64_t *ret_n, bool *ret_more);

/* ---- work.c ---- */

/*
 * Check `if-version=` and `epoch=`, after the expiries that are due.  Return whether the command is
 * for another version or epoch than w->scope has, or for a scope that does not exist and that it
 * would create.  Then the answer is STALE or MISSING and nothing else (rooms add current values),
 * or LOST.  A version above that of the scope may be one of an earlier scope of this name, so it is
 * LOST only if the store has a record of lost versions.  (One check is enough: if more is due than
 * a command applies before its verb, no reply had the version.)
 */
bool usher__is_other_version(struct usher__work *w);
static inline bool usher__other_version(struct usher__work *w)
{
    const struct usher__noun *noun = usher__noun(w->scope.noun);
    struct usher_text epoch;

    memcpy(&epoch, (const char *)w->command + noun->epoch_at, sizeof epoch);
    return ((w->command->given & noun->if_version) != 0 || epoch.data != NULL) &&
           usher__is_other_version(w);
}

/* Return another epoch, as random as @epoch. */
uint64_t usher__epoch_next(uint64_t epoch);

/* Initialise w->scope as one that does not exist. */
void usher__scope_fresh(struct usher__work *w);

/*
 * Called after w->scope was loaded from the store.  If another store wrote it last, or this one did
 * before it went back in time, that writer may have issued versions after the one that is stored.
 * So the next change gets a version that cannot have been reached, and the versions in between are
 * a gap.  The gap is stored with the next change that has a version; until then answers have the
 * stored version.
 */
void usher__scope_new_writer(struct usher__work *w);
static inline void usher__scope_loaded(struct usher__work *w)
{
    w->stored = 0;
    if (w->identity != w->scope.writer && w->identity != 0)
        usher__scope_new_writer(w);
}

/* Return the version of w->scope for answers. */
static inline uint64_t usher__scope_public_version(const struct usher__work *w)
{
    return w->stored != 0 ? w->stored : w->scope.version;
}

/* The minimum jump of versions at a takeover. */
#define USHER__JUMP (UINT64_C(1) << 20)

/* Return whether @version, which a client has from this scope, was issued by a store that lost it.
 * If so, `w->lost_behind` is the last version that is known not to be lost. */
bool usher__scope_version_lost(struct usher__work *w, uint64_t version);

/* Return the version of @s before @version. */
uint64_t usher__version_before(const struct usher_scope *s, uint64_t version);

/* Answer LOST after that; @what: the argument that shows it, in a word. */
enum usher_status usher__say_lost(struct usher__work *w, const char *what);

/* Return buffer @i of @w with space for @size bytes; its content is kept.  NULL: no memory. Buffers
 * exist until the command is done. */
unsigned char *usher__buffer(struct usher__work *w, unsigned i, size_t size);

/* Return the place of the first, or the next, record of @c, so that it can be loaded there and need
 * not be copied.  The first may be loaded before the change is begun. */
static inline struct usher_record *usher__change_first(struct usher__change *c)
{
    return &c->writes[0].record; /* cppcheck-suppress uninitvar */
}

static inline struct usher_record *usher__change_next(struct usher__change *c)
{
    USHER_ASSERT(c->n < USHER_CHANGE_MAX);
    return &c->writes[c->n].record;
}

/* Store @r (its slots are set), and keep scope.due_ms a lower bound. */
static inline void usher__change_save(struct usher__change *c, const struct usher_record *r)
{
    struct usher_write *write = &c->writes[c->n++];

    USHER_ASSERT(c->n <= USHER_CHANGE_MAX);
    USHER_ASSERT(r->kind >= 1 && r->kind < USHER_KINDS && r->slots < 1u << USHER_SLOTS);
    write->erase = false;
    if (&write->record != r)
        write->record = *r;
    if ((r->slots & 2u) != 0 && r->until_ms < c->scope->due_ms)
        c->scope->due_ms = r->until_ms;
}

static inline void usher__change_erase(struct usher__change *c, const struct usher_record *r)
{
    struct usher_write *write = &c->writes[c->n++];

    USHER_ASSERT(c->n <= USHER_CHANGE_MAX);
    USHER_ASSERT(r->kind >= 1 && r->kind < USHER_KINDS);
    write->erase = true;
    if (&write->record != r)
        write->record = *r;
}

/*
 * Write it and report its notice.  @verb, @from, @to and @r (NULL: the scope itself) are for the
 * notice.  A change that was begun is committed, or else the command has failed.
 */
enum usher_status usher__change_commit(struct usher__work *w, struct usher__change *c,
                                       enum usher_verb verb, unsigned from, unsigned to,
                                       const struct usher_record *r);

/* Add packed fields to the next notice of @c: names and texts, or digits if @text is NULL.  Does
 * nothing if the notice is not needed. */
struct usher__notice_field {
    const char *name;
    int64_t value;
    const struct usher_text *text;
};

enum usher_status usher__change_data(struct usher__work *w, struct usher__change *c,
                                     const struct usher__notice_field *said, size_t n);

/* Add the settings, values and names that the command gives. */
enum usher_status usher__change_data_settings(struct usher__work *w, struct usher__change *c);

/*
 * For a write with several changes: end one change of @c, with this notice.  The rest has the next
 * version.  At most USHER__TOLD_MAX - 1 times.
 */
void usher__change_split(struct usher__work *w, struct usher__change *c, enum usher_verb verb,
                         unsigned from, unsigned to, const struct usher_record *r);

/* Store the corrected scope.due_ms, although nothing else was changed: else each reply would
 * contain the old one again. */
static inline bool usher__due_moved(const struct usher__work *w)
{
    return w->scope.ref != NULL && w->scope.due_ms != w->due_stored;
}
enum usher_status usher__due_store(struct usher__work *w);

/* Reload the scope after a write that failed but does not fail the command. */
void usher__scope_reload(struct usher__work *w);

/*
 * Save @r as the newest of a bounded set (a kind whose records are in slot 0 in order of version).
 * At most two of the oldest are erased for it if there are more than @limit of them, or if their
 * time is over (never with USHER__FOREVER).  @count is the entry of c->scope.counts that counts
 * them.
 */
enum usher_status usher__change_remember(struct usher__work *w, struct usher__change *c,
                                         struct usher_record *r, int64_t *count, int64_t limit);

/*
 * Cache the answer in w->reply, which is complete but for the version, in @c for a repeat of this
 * command's request id.  Does nothing without a request id.
 */
enum usher_status usher__request_save(struct usher__work *w, struct usher__change *c);
static inline enum usher_status usher__request_keep(struct usher__work *w, struct usher__change *c)
{
    return w->command->request.data == NULL ? USHER_OK : usher__request_save(w, c);
}

/* The same for a command that made several changes, or none of its own: a write without a version
 * after the last of them.  If these cannot be rolled back and there is no memory for it, the
 * command is done and its answer is not cached. */
enum usher_status usher__request_keep_last(struct usher__work *w);

/* Return the cached answer of an earlier command with the same request id; MISSING: there is
 * none. */
enum usher_status usher__request_check(struct usher__work *w);
static inline enum usher_status usher__request_find(struct usher__work *w)
{
    return w->command->request.data == NULL || w->scope.ref == NULL ? USHER_MISSING
                                                                    : usher__request_check(w);
}

/*
 * Defer the command: more expiries are due before it than one command applies.  That many are
 * applied, and the engine executes the command again after others.  The commands after it in the
 * same transaction (Redis: call) are deferred as well, or they would overtake it.  So are those
 * after a command that was executed though more is due, because each would apply another portion.
 * The noun sets the reason: DUE.
 */
enum usher_status usher__defer(struct usher__work *w);

/*
 * A command with many changes failed with @status after @n of them.  Return true if it has to stop
 * there and report what it did (no memory, and the store cannot roll back).  The scope is then as
 * after the last of them.
 */
bool usher__work_stops(struct usher__work *w, enum usher_status status, uint64_t n);

/* Return the maximum number of changes of a sweep: at most @max, if that is @given. */
static inline int64_t usher__sweep_max(bool given, int64_t max)
{
    return given && max < USHER__EXPIRE_MAX ? max : USHER__EXPIRE_MAX;
}

/* Read @text, "HI.ORDER", the place in a list where a page ended.  Return false if it is none. */
bool usher__cursor(const struct usher_text *text, uint64_t *ret_hi, uint64_t *ret_order);

/* For record_fault(). */
static inline bool usher__is_newer(const struct usher_scope *scope, uint64_t version)
{
    return scope != NULL && version > scope->version;
}

enum usher__record_type {
    USHER__RECORD_COUNT, /* a number, a version, a code */
    USHER__RECORD_TIME,  /* in ms since 1970; 0: none */
    USHER__RECORD_DAY,   /* since 1970 */
    USHER__RECORD_WIDE   /* of 63 bits: this number and the next one (core/wide.h) */
};

/* Return whether the number of a record at @n is of @type, and from @min to @max. */
static inline bool usher__record_n_valid(const int64_t *n, enum usher__record_type type,
                                         int64_t min, int64_t max)
{
    if (type == USHER__RECORD_WIDE)
        return usher__wide_sound(n, (uint64_t)max) && (int64_t)usher__wide(n) >= min;
    return *n >= min && *n <= max;
}

/* For tally(): add any numbers, so that sums wrap. */
static inline void usher__tally_add(int64_t *sum, int64_t n, int64_t weight)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)n * (uint64_t)weight);
}

/*
 * A store outage does not expire heartbeats.  The store was away if no command that writes reached
 * the scope for longer than half of `beat` although two heartbeats were due in that time, or if
 * another server has the scope now and one was due.  Then deadlines between the last command and
 * the moment are moved to the moment + `beat`, each when it comes up.  Deadlines that an outage has
 * moved are not moved by the next one: until the end of the last one + `beat` no gap begins.
 *
 * usher__outage_check() sets w->gap_from and w->gap_to, and writes nothing; usher__outage() makes
 * it a change of its own.  Both come before anything that is due is applied.
 */
enum usher_status usher__outage_check(struct usher__work *w, bool *ret_new);
enum usher_status usher__outage(struct usher__work *w);

/* Return the new end of a record that would have expired at @at without a heartbeat; 0: no
 * other. */
static inline int64_t usher__outage_end(const struct usher__work *w, int64_t at)
{
    return at > w->gap_from && at <= w->gap_to ? w->gap_end : 0;
}

/* Write a message for the reply, truncated if necessary, and return @status. */
enum usher_status usher__say(struct usher_result *reply, enum usher_status status,
                             const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Totals of the records of a scope, zeroed at its start. */
struct usher__tally {
    const struct usher_scope *scope;
    int64_t counts[USHER_COUNTS]; /* the expected scope.counts */
    int64_t sum[8], sums[8];      /* must be equal by pairs; defined by the noun */
};

struct usher__constant {
    const char *name;
    int64_t value;
};

/* The log of a noun (log.c): the kind of its records; the index of the setting for the maximum
 * number of notices; the indexes of the counts for their number, the version after which all are
 * there, and the mark of the last one (0: it has none).  kind 0: no log. */
struct usher__log {
    uint8_t kind, setting, changes, since, mark;
};

/* The maximum number of deadlines in a gap that are checked for missing heartbeats.  If 256 pass
 * without a command, it is an outage in any case. */
#define USHER__OUTAGE_LOOKS 256

/* The records of a noun that need heartbeats.  Slot 1 has them by their next deadline. */
struct usher__lives {
    uint8_t kinds[2]; /* 0: no second one */
    uint8_t from, to; /* the indexes of the last outage, in the counts or the settings */
    bool in_settings;
    enum usher_verb verb;
    /* Return the shortest time in which a heartbeat is expected; 0: none is. */
    int64_t (*beat)(const struct usher_scope *scope);
    /* Return when @r expires without a heartbeat; 0: it does not. */
    int64_t (*deadline)(const struct usher_scope *scope, const struct usher_record *r);
    /* May be NULL.  Read the time of the last heartbeat, if heartbeats do not set the scope's
     * clock. */
    enum usher_status (*last)(struct usher__work *w, int64_t *ret_ms);
};

/* The steps of one noun, as the executor, the audit and the digest use them. */
struct usher__steps {
    /* Set counts and settings of a scope that does not exist yet. */
    void (*defaults)(struct usher_scope *scope);
    /* Run w->command and fill in the reply.  Return another status than OK only if the store failed
     * (UNAVAILABLE, NOMEM): nothing of the command was applied then. */
    enum usher_status (*run)(struct usher__work *w);
    /* Return the fault that makes @scope unusable, or NULL. */
    const char *(*scope_fault)(const struct usher_scope *scope);
    /* Return NULL if @r may be stored as it is, or its fault.  With @scope NULL it is checked by
     * itself: that is done for each record that is read from a store to which others can write,
     * also in the middle of a change. */
    const char *(*record_fault)(const struct usher_scope *scope, const struct usher_record *r);
    /* Add @r to the totals. */
    void (*tally)(struct usher__tally *t, const struct usher_record *r);
    /* May be NULL.  Another store wrote @scope last, and @last is the last version that is known
     * not to be lost: usher__scope_new_writer(). */
    void (*taken_over)(struct usher_scope *scope, uint64_t last);
    /* May be NULL.  Return whether only the issued numbers of @scope are left. */
    bool (*gone)(const struct usher_scope *scope);
    /* May be NULL.  Return the number up to which an authority has granted, by the scope (@r NULL)
     * or its record @r, and the period of the name; -1: it has no such number. */
    int64_t (*granted)(const struct usher_scope *scope, const struct usher_record *r,
                       int64_t *ret_period);
    /* May be NULL.  Return whether @r (NULL: the scope itself) is the record of an existing rule or
     * dispenser.  *@ret_size: the size of its packed record for an authority; 0: it has none. */
    bool (*kept)(const struct usher_scope *scope, const struct usher_record *r,
                 unsigned char to[USHER__FORM_MAX], size_t *ret_size);
    const struct usher__lives *lives; /* may be NULL */
    const char *const *kinds;         /* words by kind: usher__kind_word() */
    /* Return the word of a record's state; NULL: this kind has none. */
    const char *(*state_word)(unsigned kind, unsigned state);
    /* The offset of the text in a command that is the id of the record that it needs, and the kind
     * of that record; 0: none. */
    uint16_t sought_at;
    uint8_t sought_kind;
    /* May be NULL.  The verb `drop` erases records by kind and slot, two digits each, in this
     * order; slot 3: by id, for kinds whose records are not all in a list. */
    const char *drops;
    enum usher_verb drop_verb;
    enum usher_status (*defer)(struct usher__work *w); /* usher__defer(), with a why */
    const char *first;  /* "KIND:" of the record that a first argument names */
    const char *listed; /* kinds for which next() is used, as digits */
    uint8_t ranked;     /* the kind for which rank() is used; 0: none */
    uint8_t logged;     /* the kind whose records are appended to a log; 0: none */
    /* For the Redis script: K.COUNT_…, K.SET_…, and others, up to a NULL. */
    const char *count_names[USHER_COUNTS], *setting_names[USHER_SETTINGS];
    /* The verb whose settings are in scope.settings (usher__setting()); 0: they have the names
     * above. */
    unsigned settings_verb;
    const struct usher__constant *constants;
    struct usher__log log;
    uint8_t log_total;    /* the index of the count of all notices ever logged; 0: none */
    uint8_t requests;     /* the index of the count of cached answers */
    uint8_t requests_max; /* the index of the setting for their maximum */
    uint32_t counted;     /* bits of counts that must be equal to the totals of tally() */
    uint32_t statistics;  /* bits of counts that are statistics: not in the digest */
    uint8_t store_kind;   /* in records of this kind (0: none), … */
    uint8_t store_n;      /* … this number is the identity of the store: not in the digest */
    uint32_t items;       /* bits of counts that make up the number of items for people */
    uint64_t own;         /* bits of command.given that the engine adds */
};

extern const struct usher__steps *const usher__noun_steps[USHER__NOUNS]; /* builtin.c */

/* Return NULL if there is no such noun. */
static inline const struct usher__steps *usher__steps(unsigned noun)
{
    return noun < USHER__NOUNS ? usher__noun_steps[noun] : NULL;
}

static inline const char *usher__kind_word(const struct usher__steps *steps, unsigned kind)
{
    return steps->kinds[kind] != NULL ? steps->kinds[kind] : "?";
}

/* Set the defaults of a noun with settings_verb. */
void usher__settings_default(unsigned verb, int64_t settings[USHER_SETTINGS]);
/* Write the settings of the scope, changed by the command.  Return false if it gives none. */
bool usher__settings_given(const struct usher__work *w, unsigned verb, int64_t to[USHER_SETTINGS]);
void usher__settings_tell(struct usher__work *w, unsigned verb,
                          const int64_t settings[USHER_SETTINGS]);

/* The reason of the mode of a scope: a record with the text as its data, which is empty if there is
 * none. */
struct usher__reason {
    struct usher_record r;
    bool changes;
};

/* Load the reason into a record of @kind and @state, as it is after the command: @given (data NULL:
 * not given) replaces it, and without one a change of the mode (@changed) deletes it. */
enum usher_status usher__reason_load(struct usher__work *w, uint8_t kind, uint8_t state,
                                     const struct usher_text *given, bool changed,
                                     struct usher__reason *reason);
/* Add the change of @reason to @c. */
void usher__reason_save(struct usher__change *c, const struct usher__reason *reason);

/* ---- log.c ---- */

/* Buffers (usher__buffer()) for usher__change_data(), and for notices of the log: one for each
 * notice of a change. */
#define USHER__SAID_BUFFER 2
#define USHER__LOG_BUFFER 4
#define USHER__LOG_SUM 7 /* index in usher__tally.sum */

/* Return whether @s, a scope of @w's noun, keeps a log, or still has notices. */
static inline bool usher__log_kept(const struct usher__work *w, const struct usher_scope *s)
{
    const struct usher__log *log = &w->steps->log;

    return log->kind != 0 && (s->settings[log->setting] | s->counts[log->changes]) != 0;
}

/* Return whether a watcher or the log needs the notice of @c. */
static inline bool usher__change_observed(const struct usher__work *w,
                                          const struct usher__change *c)
{
    return w->context->notify != NULL || usher__log_kept(w, c->scope);
}

/* Add the notices of @c, which is about to be committed, to the log, and set their marks.  Only if
 * usher__log_kept(). */
enum usher_status usher__log_add(struct usher__work *w, struct usher__change *c);

/* Answer the verb `changes` of @w's noun; *@ret_since and *@ret_more are members of the answer.
 * MISSING; else as usher__log_read(). */
enum usher_status usher__log_changes(struct usher__work *w, uint64_t *ret_since, bool *ret_more);

struct usher__log_asked {
    uint64_t since;
    size_t max;   /* notices */
    size_t bytes; /* of notices, without the last one */
    enum usher_status (*row)(struct usher__work *w, const struct usher_record *r);
    size_t *ret_bytes; /* may be NULL: the size of all of them */
};

/* Add rows of the notices after a version.  *@ret_more: there are others.  Answers REFUSED if there
 * is no log, STALE if it does not reach back that far, LOST if the store has lost the version. */
enum usher_status usher__log_read(struct usher__work *w, const struct usher__log_asked *asked,
                                  bool *ret_more);

/* For record_fault() and tally() of a notice. */
const char *usher__log_fault(const struct usher__log *log, const struct usher_scope *scope,
                             const struct usher_record *r);
void usher__log_tally(const struct usher__log *log, struct usher__tally *t,
                      const struct usher_record *r);

#endif
