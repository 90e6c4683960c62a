/* SPDX-License-Identifier: MIT */
/*
 * What all nouns have in common when they run on a record store: the scope's header, its
 * clock and version, request ids, and the making of changes.
 *
 * A command is decided by reading only, then written as one change: usher__change_begin(),
 * usher__change_save() …, usher__change_commit().  A change is all or nothing, adds 1 to the
 * version and makes one notice.  An expiry that a command meets on its way is a change of
 * its own.  The same steps in the same order, with the same names, are in
 * backends/redis/lua.
 */
#ifndef USHER_STEPS_WORK_H
#define USHER_STEPS_WORK_H

#include <string.h>

#include <usher/store.h>

#include "core/machine.h"
#include "core/verbs.h"

struct usher__work {
    const struct usher_record_store_ops *ops;
    struct usher_txn *txn;
    const struct usher_context *context;
    const struct usher_operation *command;
    struct usher_result *reply;
    struct usher_scope scope;         /* ref NULL: does not exist (yet) */
    uint64_t identity;                /* of the store; 0: it has none */
    uint64_t stored;                  /* 0, or the version that `scope` has in the store, while what
                                       * it has here is the last one that nobody may be given: see
                                       * usher__scope_loaded() */
    uint64_t lost_behind;             /* see usher__scope_lost() */
    int64_t due_stored;               /* scope.due_ms as the store has it */
    int64_t said;                     /* the time of the command */
    int64_t clock;                    /* that of the store's own clock */
    int64_t wall;                     /* 0, or what the machine's clock was in this transaction */
    int64_t now;                      /* orders and stamps; never before scope.clock_ms */
    int64_t moment;                   /* ends what is due and begins deadlines; never after `now`
                                       * or `clock` */
    int64_t gap_from, gap_to;         /* the last outage of the scope: usher__outage_look() */
    int64_t gap_end;                  /* when a record ends that the outage has moved */
    void *grave;                      /* NULL, or the ref of what is left of `scope`, which does not
                                       * exist: see drop.c */
    bool hidden;                      /* `scope` is there, but not for this command */
    bool behind;                      /* those that follow come again: usher__come_again() */
    bool at_once;                     /* what was written stays, even if the command fails then */
    bool guarded;                     /* others can write to the store: what it has is checked */
    const struct usher__steps *steps; /* of the scope's noun */
    const char *fault;                /* what was wrong with the scope when it was loaded */
    char *trouble;                    /* what is wrong with a record, or with a table: the command
                                       * fails.  USHER__TROUBLE_MAX, "" if nothing is */
    unsigned char *answer;            /* a kept answer that is too long for a change */
    size_t answer_size;
    unsigned n_buffers;       /* from here on none was asked for */
    unsigned char *buffer[6]; /* the noun's own: usher__buffer() */
    size_t buffer_size[6];
};

#define USHER__TROUBLE_MAX 160

/* Room for most of the answers that are kept for request ids. */
#define USHER__ANSWER 480

/* What a notice is called in a log: its version in 16 digits, or more, and a NUL. */
#define USHER__LOG_ID 24

/* A notice that waits for its change to be written. */
struct usher__told {
    struct usher_notice notice;
    char subject[USHER_NAME_MAX], owner[USHER_NAME_MAX];
    char id[USHER__LOG_ID]; /* in the log */
};

/* Notices of one write, at most: its versions. */
#define USHER__TOLD_MAX 2

struct usher__change {
    struct usher_scope *scope; /* that of the work, from now on as it will be */
    size_t n;
    struct usher_write writes[USHER_CHANGE_MAX];
    struct usher_text data;  /* of the notice */
    struct usher_text owner; /* likewise, if the record has none any more */
    int64_t wait_ms;         /* likewise */
    bool unlogged;           /* the log goes: it has no place in it */
    bool first;              /* of a scope: it follows on no version, whatever its own is */
    unsigned char answer[USHER__ANSWER];
    size_t n_told; /* versions before the last one */
    struct usher__told told[USHER__TOLD_MAX];
};

/* How long the answer to a request id is kept, at most; how many by default. */
#define USHER__REQUEST_MS INT64_C(3600000)
#define USHER__REQUESTS_DEFAULT 10000
/* Deadlines that one command applies, on its way or as a `sweep`, and changes of another command
 * that makes one of each record: a Redis script takes 100,000 to 400,000 instructions for each. */
#define USHER__EXPIRE_MAX 64
/* Changes made by a command that makes many: a bounded step, so that nobody waits for long. */
#define USHER__STEP_MAX 1000
/* A time that does not come: of records that go by their number only. */
#define USHER__FOREVER (INT64_C(1) << 52)

/* There is no row for what happens: the command fails, and nothing of it is written. */
void usher__no_row(struct usher__work *w, const struct usher__machine *m, unsigned from,
                   unsigned event);

#ifdef USHER_ROWS
/* Of `make rows`: the row of @m was taken. */
void usher__row_taken(const struct usher__machine *m, unsigned from, unsigned event,
                      unsigned guard);
#endif

/* What @event does in state @from if @guard holds. */
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
 * which is not after the store's clock.  So a command with a clock that is ahead ends nothing
 * early, and a scope whose last time is ahead delays no deadline. */
static inline void usher__work_time(struct usher__work *w, int64_t last)
{
    w->now = w->said > last ? w->said : last;
    w->moment = w->now < w->clock ? w->now : w->clock;
}

/* `now` of the answer: unlike the moment it does not stand still while the scope's last time
 * is ahead, so a timer that waits for due - now is right. */
static inline int64_t usher__work_answered(const struct usher__work *w)
{
    return w->said < w->clock ? w->said : w->clock;
}

/* When the change that is made happens: at the moment, or earlier by usher__work_as_of(). */
static inline int64_t usher__work_at(const struct usher__work *w)
{
    return w->now < w->moment ? w->now : w->moment;
}

/* A read applies what is due as of then, so that it takes the scope's clock no further. */
static inline void usher__work_as_of(struct usher__work *w, int64_t at)
{
    w->now = at > w->scope.clock_ms ? at : w->scope.clock_ms;
}

/* The version of the change that will be begun next. */
static inline uint64_t usher__version_next(const struct usher__work *w)
{
    return w->scope.version + 1;
}

/* One that nobody sees: no version, no notice, and no time that is kept.  Whole, so that it may
 * get both later and be committed. */
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

/* Records that a step of dropping erases, at most: a few changes. */
#define USHER__DROP_MAX 240

/* @s is being dropped; nothing of it is left but its version. */
bool usher__scope_dropping(const struct usher_scope *s);
bool usher__scope_dropped(const struct usher_scope *s);

/* May w->scope be one of those two?  Most are not, and this says so at once. */
static inline bool usher__drop_meets(const struct usher__work *w)
{
    return w->scope.ref != NULL && w->scope.counts[USHER__COUNT_DROP] != 0;
}

void usher__drop_bury(struct usher__work *w);

/* w->scope was loaded: one that was dropped does not exist. */
static inline void usher__drop_loaded(struct usher__work *w)
{
    w->grave = NULL;
    w->hidden = false;
    if (usher__drop_meets(w))
        usher__drop_bury(w);
}

/* Before w->command is run: what is being dropped is not there, and who makes the scope anew first
 * does a step of it.  *@ret_done: there are more of them, and that is answered. */
enum usher_status usher__drop_meet(struct usher__work *w, bool *ret_done);

/* The verb itself: *@ret_n records are gone, and there are more.  Answers all but these. */
enum usher_status usher__drop(struct usher__work *w, uint64_t *ret_n, bool *ret_more);

/* ---- work.c ---- */

/*
 * `if-version=` and `epoch=`, asked when what is due has been applied: is the command for another
 * version or epoch than w->scope has, or for a scope that is not there and that it would make?
 * That is answered: STALE or MISSING and nothing else (rooms add what there is), or LOST.  A
 * version above that of the scope may be one of an earlier scope of this name; LOST only where the
 * store knows that it lost versions.  (One check is enough: if more was due than a command applies
 * before its verb, no reply has had the version.)
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

/* Another epoch, as random as @epoch. */
uint64_t usher__epoch_next(uint64_t epoch);

/* w->scope does not exist, or not any more. */
void usher__scope_fresh(struct usher__work *w);

/*
 * w->scope was loaded from the store.  If another store wrote it last, or this one did before it
 * went back in time, then nobody knows what that one gave out behind the version that is here.
 * So the next change gets a version that cannot have been reached, and what is between is a
 * gap.  It is stored with the next change that has a version; until then the scope shows the
 * version that it has.
 */
void usher__scope_take_over(struct usher__work *w);
static inline void usher__scope_loaded(struct usher__work *w)
{
    w->stored = 0;
    if (w->identity != w->scope.writer && w->identity != 0)
        usher__scope_take_over(w);
}

/* The version of w->scope as anybody may see it. */
static inline uint64_t usher__scope_shown(const struct usher__work *w)
{
    return w->stored != 0 ? w->stored : w->scope.version;
}

/* How far versions jump, at least. */
#define USHER__JUMP (UINT64_C(1) << 20)

/* Was @version, which a client has from this scope, given out by a store that lost it?  If so,
 * w->lost_behind is the last version that is known not to be lost. */
bool usher__scope_lost(struct usher__work *w, uint64_t version);

/* The version of @s before @version. */
uint64_t usher__version_before(const struct usher_scope *s, uint64_t version);

/* The answer where that has just been so; @what: that which shows it, in a word. */
enum usher_status usher__say_lost(struct usher__work *w, const char *what);

/* Buffer @i of @w with room for @size bytes, what it holds kept.  NULL: no memory.  They stay
 * until the command is done. */
unsigned char *usher__buffer(struct usher__work *w, unsigned i, size_t size);

/* Where the first, or the next, record of @c will be copied to: one that was loaded there is not
 * copied.  The first may be loaded before the change is begun. */
static inline struct usher_record *usher__change_first(struct usher__change *c)
{
    return &c->writes[0].record; /* cppcheck-suppress uninitvar */
}

static inline struct usher_record *usher__change_next(struct usher__change *c)
{
    USHER_ASSERT(c->n < USHER_CHANGE_MAX);
    return &c->writes[c->n].record;
}

/* Store @r (its slots are set); keeps scope.due_ms a lower bound. */
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
 * Write it and tell of it.  @verb, @from, @to and @r (NULL: the scope itself) are for the
 * notice.  A change that was begun is committed, or else the command has failed.
 */
enum usher_status usher__change_commit(struct usher__work *w, struct usher__change *c,
                                       enum usher_verb verb, unsigned from, unsigned to,
                                       const struct usher_record *r);

/* The next notice of @c has packed fields: names and texts, or digits where @text is NULL.  Nothing
 * where nobody is told. */
struct usher__said {
    const char *name;
    int64_t value;
    const struct usher_text *text;
};

enum usher_status usher__change_says(struct usher__work *w, struct usher__change *c,
                                     const struct usher__said *said, size_t n);

/* In this way, which settings the command gives. */
enum usher_status usher__change_given(struct usher__work *w, struct usher__change *c);

/*
 * For a write that is several changes: what @c has so far is one, to be told of like this, and
 * what follows has the next version.  At most USHER__TOLD_MAX - 1 of them.
 */
void usher__change_tell(struct usher__work *w, struct usher__change *c, enum usher_verb verb,
                        unsigned from, unsigned to, const struct usher_record *r);

/* The store has scope.due_ms as it has been found to be, though nothing else was changed: else each
 * reply would tell the old one again. */
static inline bool usher__due_moved(const struct usher__work *w)
{
    return w->scope.ref != NULL && w->scope.due_ms != w->due_stored;
}
enum usher_status usher__due_store(struct usher__work *w);

/* After a write that failed and is not to fail the command: the scope as it is stored. */
void usher__scope_reload(struct usher__work *w);

/*
 * Save @r as the newest of a bounded memory (a kind whose records stand in slot 0 in order
 * of version): at most two of the oldest go for it when there are more than @limit of them
 * or their time is over (USHER__FOREVER of all of them: never).  @count is the entry of
 * c->scope.counts that counts them.
 */
enum usher_status usher__change_remember(struct usher__work *w, struct usher__change *c,
                                         struct usher_record *r, int64_t *count, int64_t limit);

/*
 * Add to @c what makes a repeat of this command's request id get the answer in w->reply,
 * which is complete but for the version.  Nothing without a request id.
 */
enum usher_status usher__request_save(struct usher__work *w, struct usher__change *c);
static inline enum usher_status usher__request_keep(struct usher__work *w, struct usher__change *c)
{
    return w->command->request.data == NULL ? USHER_OK : usher__request_save(w, c);
}

/* The same for a command that made several changes, or none of its own: a write without a
 * version behind the last of them.  Where these cannot be taken back and there is no memory for
 * it, the command is done and its answer is not kept. */
enum usher_status usher__request_keep_last(struct usher__work *w);

/* Answer from an earlier command with the same request id: MISSING if there is none. */
enum usher_status usher__request_look(struct usher__work *w);
static inline enum usher_status usher__request_find(struct usher__work *w)
{
    return w->command->request.data == NULL || w->scope.ref == NULL ? USHER_MISSING
                                                                    : usher__request_look(w);
}

/*
 * More was to be done before the command, or in its way, than one command does: that much is done,
 * and the command is to come again when others have had their turn, as the engine has it do.  So
 * must the commands after it in the same transaction (Redis: call), or they would overtake it; and
 * those after a command that was executed though more is due, because each would apply another
 * portion. The noun reports why: DUE.
 */
enum usher_status usher__come_again(struct usher__work *w);

/*
 * A command that makes many changes failed with @status after @n of them: true if it has to
 * stop there and tell what it did (memory has run out, and the store does not take back).
 * The scope is then as after the last of them.
 */
bool usher__work_stops(struct usher__work *w, enum usher_status status, uint64_t n);

/* Changes of a sweep that is asked for @max of them, if that is @given. */
static inline int64_t usher__sweep_max(bool given, int64_t max)
{
    return given && max < USHER__EXPIRE_MAX ? max : USHER__EXPIRE_MAX;
}

/* Read @text, "HI.ORDER", the place in a list where a page ended.  False: it is not that. */
bool usher__cursor(const struct usher_text *text, uint64_t *ret_hi, uint64_t *ret_order);

/* For record_fault(). */
static inline bool usher__is_newer(const struct usher_scope *scope, uint64_t version)
{
    return scope != NULL && version > scope->version;
}

/* For tally(): sums of what may be anything, so that they wrap. */
static inline void usher__tally_add(int64_t *sum, int64_t n, int64_t weight)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)n * (uint64_t)weight);
}

/*
 * A store outage ends no heartbeat.  It was away if no command that writes reached the
 * scope for longer than half of `beat` although two signs of life were due in that time, or if
 * another server has the scope now and one was.  Then deadlines between the last command and the
 * moment are moved to the moment + `beat`, each when it comes up.  Deadlines that an outage has
 * moved are not moved by the next one: until the end of the last one + `beat` a gap does not begin.
 *
 * usher__outage_look() sets w->gap_from and w->gap_to, and writes nothing; usher__outage() makes it
 * a change of its own.  Both come before anything that is due is applied.
 */
enum usher_status usher__outage_look(struct usher__work *w, bool *ret_new);
enum usher_status usher__outage(struct usher__work *w);

/* When a record that would have ended at @at for want of a sign of life ends instead; 0: then. */
static inline int64_t usher__outage_end(const struct usher__work *w, int64_t at)
{
    return at > w->gap_from && at <= w->gap_to ? w->gap_end : 0;
}

/* A message for the reply; cut to fit.  Returns @status. */
enum usher_status usher__say(struct usher_result *reply, enum usher_status status,
                             const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* What the records of a scope add up to; zeroed at its start. */
struct usher__tally {
    const struct usher_scope *scope;
    int64_t counts[USHER_COUNTS]; /* what scope.counts should be */
    int64_t sum[8], sums[8];      /* to be equal, by pairs: the noun's own */
};

struct usher__constant {
    const char *name;
    int64_t value;
};

/* What an authority keeps of a scope (form.h), at most. */
#define USHER__FORM_MAX 512

/* Where a noun keeps its log (log.c): the kind of its records; how many notices there may be, of
 * the settings; of the counts how many there are, behind which version all are there, and the mark
 * of the last one (0: it has none).  kind 0: no log. */
struct usher__log {
    uint8_t kind, setting, changes, since, mark;
};

/* Deadlines in a gap that are looked at, at most, for signs of life that did not come.  When 256
 * pass without a command, that is an outage, whatever ended: a look does not see what comes later.
 */
#define USHER__OUTAGE_LOOKS 256

/* The records of a noun that live by signs of life.  Slot 1 has them by their next deadline. */
struct usher__lives {
    uint8_t kinds[2]; /* 0: no second one */
    uint8_t from, to; /* of the counts, or of the settings: the last outage */
    bool in_settings;
    enum usher_verb verb;
    /* In which time a sign of life is expected, the shortest; 0: none is. */
    int64_t (*beat)(const struct usher_scope *scope);
    /* When @r ends for want of a sign of life; 0: it does not. */
    int64_t (*deadline)(const struct usher_scope *scope, const struct usher_record *r);
    /* May be NULL.  The last sign of life, where these do not set the scope's clock. */
    enum usher_status (*last)(struct usher__work *w, int64_t *ret_ms);
};

/* One noun: what the executor, the audit and the digest need to know of it. */
struct usher__steps {
    /* Counts and settings of a scope that does not exist yet. */
    void (*defaults)(struct usher_scope *scope);
    /* Run w->command and fill in the reply.  Returns a status only when the store failed
     * (UNAVAILABLE, NOMEM): nothing of the command was applied then. */
    enum usher_status (*run)(struct usher__work *w);
    /* What makes @scope useless to compute with, or NULL. */
    const char *(*scope_fault)(const struct usher_scope *scope);
    /* Whether @r may stand in the store as it is: NULL, or what is wrong.  With @scope NULL it is
     * looked at by itself: that is asked of each record when it is read from where others can
     * write, also in the middle of a change. */
    const char *(*record_fault)(const struct usher_scope *scope, const struct usher_record *r);
    /* Count @r. */
    void (*tally)(struct usher__tally *t, const struct usher_record *r);
    /* May be NULL.  Another store wrote @scope last, and @last is the last version that is known
     * not to be lost: usher__scope_take_over(). */
    void (*taken_over)(struct usher_scope *scope, uint64_t last);
    /* May be NULL.  Of @scope nothing is there but what has been given out. */
    bool (*gone)(const struct usher_scope *scope);
    /* May be NULL.  Up to which number the scope (@r NULL) or its record @r says that an authority
     * has granted, and under which period of the name; -1: it says nothing of the kind. */
    int64_t (*granted)(const struct usher_scope *scope, const struct usher_record *r,
                       int64_t *ret_period);
    /* May be NULL.  True: @r (NULL: the scope itself) is what tells of a rule or dispenser that
     * there is one; *@ret_size: of what an authority keeps of it, packed; 0: none keeps it. */
    bool (*kept)(const struct usher_scope *scope, const struct usher_record *r,
                 unsigned char to[USHER__FORM_MAX], size_t *ret_size);
    const struct usher__lives *lives; /* may be NULL */
    const char *const *kinds;         /* words, by kind: usher__kind_word() */
    /* The word of a record's state; NULL: those of this kind have none. */
    const char *(*state_word)(unsigned kind, unsigned state);
    /* The text in a command, if it is given, that is the id of a record to be looked for, and the
     * kind of that; 0: none is. */
    uint16_t sought_at;
    uint8_t sought_kind;
    /* May be NULL.  Its verb `drop` erases records by kind and slot, two digits each, in this
     * order; slot 3: by id.  Not all of its scopes' records stand in a list: those that do not are
     * named by id. */
    const char *drops;
    enum usher_verb drop_verb;
    enum usher_status (*come_again)(struct usher__work *w); /* usher__come_again(), with a why */
    const char *first;  /* "KIND:" of the record that a first argument names */
    const char *listed; /* kinds that next() is used on, as digits */
    uint8_t ranked;     /* the kind that rank() is used on; 0: none */
    uint8_t logged;     /* the kind whose records are appended to a log; 0: none */
    /* For the Redis script: K.COUNT_…, K.SET_…, and more, up to a NULL. */
    const char *count_names[USHER_COUNTS], *setting_names[USHER_SETTINGS];
    /* scope.settings are those of this verb (usher__setting()); or 0, and they have names above. */
    unsigned settings_verb;
    const struct usher__constant *constants;
    struct usher__log log;
    uint8_t requests;     /* of the counts, that of kept answers */
    uint8_t requests_max; /* of the settings, how many there may be */
    uint32_t counted;     /* bits of counts that must be what tally() says */
    uint32_t statistics;  /* bits of counts that are no state: not in the digest */
    uint8_t store_kind;   /* in records of this kind (0: of none), … */
    uint8_t store_n;      /* … this number is the identity of the store: not in the digest */
    uint32_t items;       /* bits of counts that are how much a person says is in it */
    uint64_t own;         /* bits of command.given that the engine adds by itself */
};

extern const struct usher__steps *const usher__noun_steps[USHER__NOUNS]; /* nouns.c */

/* NULL: no such noun. */
static inline const struct usher__steps *usher__steps(unsigned noun)
{
    return noun < USHER__NOUNS ? usher__noun_steps[noun] : NULL;
}

static inline const char *usher__kind_word(const struct usher__steps *steps, unsigned kind)
{
    return steps->kinds[kind] != NULL ? steps->kinds[kind] : "?";
}

/* Of a noun with settings_verb. */
void usher__settings_default(unsigned verb, int64_t settings[USHER_SETTINGS]);
/* Those of the scope, changed as the command says.  False: it says nothing of them. */
bool usher__settings_given(const struct usher__work *w, unsigned verb, int64_t to[USHER_SETTINGS]);
void usher__settings_tell(struct usher__work *w, unsigned verb,
                          const int64_t settings[USHER_SETTINGS]);

/* ---- log.c ---- */

/* Of usher__buffer(): for usher__change_says(), and as the log keeps it; of each notice of a change
 * another one. */
#define USHER__SAID_BUFFER 2
#define USHER__LOG_BUFFER 4
#define USHER__LOG_SUM 7 /* of usher__tally.sum */

/* Are notices of @s, a scope of @w's noun, kept, or some that are left? */
static inline bool usher__log_kept(const struct usher__work *w, const struct usher_scope *s)
{
    const struct usher__log *log = &w->steps->log;

    return log->kind != 0 && (s->settings[log->setting] | s->counts[log->changes]) != 0;
}

/* Does anything need the notice of @c? */
static inline bool usher__is_told(const struct usher__work *w, const struct usher__change *c)
{
    return w->context->notify != NULL || usher__log_kept(w, c->scope);
}

/* Put the notices of @c, which is about to be committed, into the log; they get their marks.  Only
 * where usher__log_kept(). */
enum usher_status usher__log_add(struct usher__work *w, struct usher__change *c);

/* Answer the verb `changes` of @w's noun, of which nothing is at @ret_since and @ret_more but what
 * is told.  MISSING; else as usher__log_read(). */
enum usher_status usher__log_changes(struct usher__work *w, uint64_t *ret_since, bool *ret_more);

struct usher__log_asked {
    uint64_t since;
    size_t max;   /* notices */
    size_t bytes; /* and that many, but for the last one */
    enum usher_status (*row)(struct usher__work *w, const struct usher_record *r);
    size_t *ret_bytes; /* may be NULL: so many they were */
};

/* Rows of the notices behind a version.  *@ret_more: there are others.  Answered: REFUSED, no log
 * is kept; STALE, it does not reach back so far; LOST, the store has not. */
enum usher_status usher__log_read(struct usher__work *w, const struct usher__log_asked *asked,
                                  bool *ret_more);

/* For record_fault() and tally(), of a notice. */
const char *usher__log_fault(const struct usher__log *log, const struct usher_scope *scope,
                             const struct usher_record *r);
void usher__log_tally(const struct usher__log *log, struct usher__tally *t,
                      const struct usher_record *r);

#endif
