/* SPDX-License-Identifier: MIT */
/*
 * For authors of stores.  There are two ways to write one:
 *
 *  - a *record store* (memory, SQLite, examples/own_store.c): keeps records and ordered
 *    lists of them, knows nothing of pools or calls.  usher_local_store() makes a store of it.
 *  - a *store* (Redis): takes whole commands and does the work where the data are.
 *
 * Stores and the engine are one machine: what is here may change with any 0.x, and so may what a
 * store is given and fills, struct usher_operation and struct usher_result; a store of your own is
 * compiled anew.  Programs have usher_execute() (command.h), whose values stay.  Since 0.1.
 */
#ifndef USHER_STORE_H
#define USHER_STORE_H

#include <usher/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- store: the narrow waist ------------------------------------------------------ */

/* In the message of an UNAVAILABLE that lasts until the program opens the store again, because its
 * files were replaced.  `usher serve` ends then. */
#define USHER_STORE_GONE "the programs that use it"

/* What a store may say of itself. */
enum usher_capability {
    USHER_CAP_DURABLE = 1u << 0,  /* an answer given survives the process */
    USHER_CAP_SHARED = 1u << 1,   /* other processes may use the same data */
    USHER_CAP_THREADS = 1u << 2,  /* execute() may run on several threads at once, and
                                   * gains nothing from batches: the engine calls it
                                   * directly.  Without it the engine calls it on one
                                   * thread at a time with what has queued up. */
    USHER_CAP_INSTANT = 1u << 3,  /* never waits; it is told no deadlines (0) */
    USHER_CAP_TWO = 1u << 4,      /* without THREADS: execute() may run on two threads at
                                   * once, so that one batch is on its way while the other
                                   * one is being made */
    USHER_CAP_MORE = 1u << 5,     /* without either: execute() asks for more tasks
                                   * (usher_context.more) before it makes a batch durable, so
                                   * that it need not wait for them before it begins.
                                   * usher_local_store() does. */
    USHER_CAP_LANES = 1u << 6,    /* without THREADS and MORE: several servers are behind it,
                                   * and one that is slow must not be waited for by who wants
                                   * another.  What route() gives the same lane is executed
                                   * together, as with or without TWO; lanes know nothing of each
                                   * other.  Tasks of one call that have several lanes are
                                   * executed at once by the thread that calls: execute() may run
                                   * on any number of threads. */
    USHER_CAP_REPLICAS = 1u << 7, /* without THREADS and MORE: it has replicas, and execute()
                                   * waits for them where a command asks it to.  Tasks of which
                                   * one does are executed by the thread that calls, as above. */
    USHER_CAP_AT_ONCE = 1u << 8,  /* of a record store: write() takes effect at once and nothing is
                                   * taken back; a transaction holds one scope */
    USHER_CAPABILITY__WIDE = 0x7fffffff
};

/* One command with the place for its answer.  The engine has checked the arguments and
 * zeroed the reply (all but its texts); reply->alloc is set. */
struct usher_task {
    const struct usher_operation *command;
    struct usher_result *reply;
    /* With USHER_CAP_LANES; else all three are 0. */
    uint16_t lane; /* what route() said */
    uint8_t state; /* the store's own from one try to the next; 0 at the first */
    uint8_t again; /* set by execute(), 0 before: the reply is a failure, but the task may be handed
                    * over once more without having an effect twice: enum usher_again */
};

enum usher_again {
    USHER_AGAIN_NOW = 1,   /* for something has been learnt: where the scope is */
    USHER_AGAIN_LATER = 2, /* after a moment */
    USHER_AGAIN__WIDE = 0x7fffffff
};

/* What all commands of one execute() have in common. */
struct usher_context {
    int64_t deadline_ms; /* CLOCK_MONOTONIC, ms; 0 with USHER_CAP_INSTANT */
    int64_t now_ms;      /* for commands without USHER_GIVEN_NOW; 0: the store's clock */
    /* How far a time given (now_ms, or the command's own) may be ahead of the store's clock: one
     * that is farther ahead, and later than the scope's last time, is USHER_INVALID.
     * USHER_TIME_MAX: as far as it likes. */
    int64_t skew_ms;
    /* Tell of each change, in order of version per scope, as soon as it is made; and with a
     * notice of noun 0 and no scope that some could not be told for lack of memory.  NULL:
     * nobody listens.  The texts need to live during the call only.  Cheap; never calls
     * back. */
    void (*notify)(void *payload, const struct usher_notice *notice);
    /* One line for the host's log; NULL: nobody listens. */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    void *payload;
    /* With USHER_CAP_MORE: what other threads want done by now is put behind the tasks that
     * execute() was given, as if it had been among them; returns how many.  Waits a little for
     * those that are likely to come.  NULL, or 0: no more. */
    size_t (*more)(void *payload);
};

/* What a batch that nobody waits for is waiting for: for @events of poll() on @fd (-1: for nothing
 * but the time), and in any case until @until_ms, CLOCK_MONOTONIC. */
struct usher_wait {
    int fd;
    short events;
    int64_t until_ms;
};

struct usher_batch;    /* the store's own */
struct usher_listener; /* likewise */
struct usher_store;
struct usher_scope;
struct usher_record;

/* One thing that scan() shows. */
enum usher_item_kind {
    USHER_ITEM_SCOPE,  /* a scope; its records and entries follow */
    USHER_ITEM_RECORD, /* a record of the last scope, in order of (kind, id) */
    USHER_ITEM_ENTRY,  /* an entry of an ordered list of the last scope, any order */
    USHER_ITEM_FAULT,  /* what the store itself finds wrong with the last scope: for the audit.
                        * With `scope`: with that one, of which there is nothing else to show */
    USHER_ITEM_KIND__WIDE = 0x7fffffff
};
struct usher_entry {
    uint8_t kind, slot;
    struct usher_text by; /* size 0: the list of all */
    uint64_t hi, order;
    struct usher_text id; /* of the record it stands for */
};
struct usher_item {
    enum usher_item_kind kind;
    const struct usher_scope *scope;
    const struct usher_record *record;
    const struct usher_entry *entry;
    const char *fault; /* in a few words */
};
/* Texts live during the call only.  A status other than USHER_OK stops the scan. */
typedef enum usher_status usher_scan_fn(void *payload, const struct usher_item *item);
/* Put right in @scope, all records of which were shown, what follows from them: counts, due_ms. */
typedef void usher_mend_fn(void *payload, struct usher_scope *scope);

/* A row of a log, as of usher_result_add_row().  @place: a number above 0, larger for what was
 * appended later.  A status other than USHER_OK ends the reading, which returns it. */
typedef enum usher_status usher_log_fn(void *payload, const void *row, int64_t place);

/* A listener reports one of these about a scope. */
enum usher_listen_event {
    USHER_LISTEN_ON,      /* changes from now on are published to it: read what was before */
    USHER_LISTEN_OFF,     /* they are not until the next ON */
    USHER_LISTEN_VERSION, /* there is a change with this version */
    USHER_LISTEN_EVENT__WIDE = 0x7fffffff
};
typedef void usher_listen_fn(void *payload, enum usher_noun noun, const struct usher_text *scope,
                             enum usher_listen_event event, uint64_t version);

#define USHER_UNITS 16384 /* units of order of a store, at most */

struct usher_store_ops {
    size_t size;      /* sizeof(struct usher_store_ops) of the author's compiler */
    const char *name; /* in messages: "sqlite" */
    unsigned caps;    /* enum usher_capability */
    /* Must.  Apply @n tasks, each wholly or not at all, those on one scope in order;
     * durable on return.  May block until the deadline.  Fills in every reply (status,
     * epoch, version, rest); a failure is a reply that says UNAVAILABLE (surely not
     * applied), UNKNOWN (may have been) or NOMEM (not applied), with a message. */
    void (*execute)(struct usher_store *s, struct usher_task *tasks, size_t n,
                    const struct usher_context *context);
    /* Must.  Show every scope (@noun 0), or those of @noun, or the one named @scope, each
     * as one consistent moment; without @records the scopes alone, of which there may be many.
     * @message takes a line on failure.  The deadline is for waiting: a store that goes on
     * answering may take longer.  With USHER_CAP_LANES, UNAVAILABLE: the others were shown, each
     * whole; @message says how many not. */
    enum usher_status (*scan)(struct usher_store *s, enum usher_noun noun,
                              const struct usher_text *scope, bool records, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192]);
    /* Must.  Cannot fail; takes half-open stores.  Frees @s. */
    void (*close)(struct usher_store *s);
    /* May.  Close @s in a child of fork(), where it is a copy: give back what is this
     * process's own, and leave files, locks and servers alone, which are the parent's.
     * NULL: the copy is left as it is. */
    void (*forget)(struct usher_store *s);
    /* May, if there is a log within the store (append() below), on any thread: tell @fn of those
     * rows of @noun that @which asks for, latest first.  What @which points to is the noun's: of
     * queues struct usher_history_query (history.h).  USHER_OK, USHER_UNAVAILABLE, USHER_NOMEM, or
     * what
     * @fn returned. */
    enum usher_status (*read_log)(struct usher_store *s, enum usher_noun noun, const void *which,
                                  int64_t deadline_ms, usher_log_fn *fn, void *payload,
                                  char message[192]);
    /* May, where lists are stored apart from the records and may be torn from them.  Make those of
     * the one scope anew from its records, which are shown to @fn (without entries), then ask
     * @header for the rest; neither version nor epoch changes.  Nobody else changes the scope
     * meanwhile, and whoever tries is answered UNAVAILABLE; one that was interrupted is done again
     * by the next call.  What is left of a scope without its records goes.  OK: @message says
     * what was done; else it says why not.  The deadline is for waiting. */
    enum usher_status (*mend)(struct usher_store *s, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, usher_mend_fn *header, void *payload,
                              char message[192]);
    /* May.  usher_nodes(), with a deadline for all.  @message takes a line on failure. */
    enum usher_status (*nodes)(struct usher_store *s, int64_t deadline_ms, usher_node_fn *fn,
                               void *payload, char message[192]);
    /* Must with USHER_CAP_LANES, else NULL. */
    unsigned lanes; /* how many at most, up to 65535 */
    /* The lane of @task: < lanes, and the same for all on one scope unless its `state` says
     * otherwise.  Any thread.  O(1). */
    unsigned (*route)(struct usher_store *s, const struct usher_task *task);
    /* Called on a thread that nobody waits for, before tasks are routed: with a deadline, where
     * something is not where it was thought to be, there is time to look. */
    void (*look)(struct usher_store *s, int64_t deadline_ms);
    /* May, all three or none, without INSTANT: execute() that does not wait.  begin() of up to 256
     * tasks, which live until it is over, as does what @context points to; NULL: no memory.  With
     * LANES it does by itself what look() and route() are for, for nobody has called them.  go_on()
     * does what can be done now; true: as execute() returns, and the batch is gone; false: to be
     * called again when what it says has come.  leave() frees a batch that is not over: what was
     * sent of it may be done or not.  One thread at a time for each batch; with others in
     * execute(), whatever the capabilities. */
    struct usher_batch *(*begin)(struct usher_store *s, struct usher_task *tasks, size_t n,
                                 const struct usher_context *context);
    bool (*go_on)(struct usher_store *s, struct usher_batch *batch, struct usher_wait *ret_wait);
    void (*leave)(struct usher_store *s, struct usher_batch *batch);
    /* May, with begin().  The unit of order of @scope: < USHER_UNITS, always the same, any thread.
     * With `notify` in its context a batch has the units of its scopes to itself, so that notices
     * come in order.  A caller first completes batches that have a unit of its commands.  NULL: all
     * scopes are one unit. */
    unsigned (*unit)(struct usher_store *s, const struct usher_text *scope);
    /* May, all four or none, with begin(): the store publishes changes, also those of other
     * processes.  NULL: followers read the log every half second.
     * listen() makes a listener, which calls @fn from listen_go_on() only; NULL: no memory.
     * listen_to() adds a follower of @scope, or (@on false) removes one, which cannot fail; false:
     * no memory.  Any thread, also while another one is in listen_go_on(); it does not wait.
     * listen_go_on() does what can be done without waiting, and sets what it waits for; one thread
     * at a time.  It is called at once after listen_to().
     * listen_end() frees it; it may have followers still. */
    struct usher_listener *(*listen)(struct usher_store *s, usher_listen_fn *fn, void *payload);
    bool (*listen_to)(struct usher_listener *l, enum usher_noun noun,
                      const struct usher_text *scope, bool on);
    void (*listen_go_on)(struct usher_listener *l, struct usher_wait *ret_wait);
    void (*listen_end)(struct usher_listener *l);
};

/* A store's own struct begins with this one. */
struct usher_store {
    const struct usher_store_ops *ops;
};

/**
 * An engine on @store, which it owns from then on (on failure it is still the caller's).
 * USHER_OK, USHER_INVALID, USHER_NOMEM.
 */
USHER_API enum usher_status usher_open_store(struct usher_store *store,
                                             const struct usher_options *opt,
                                             struct usher_engine **ret_engine);

/* ---- record store ----------------------------------------------------------------- */

/*
 * A record has an id, a state, a few numbers and texts, all the same for every kind, so
 * that a store needs one table.  What the numbers mean: src/steps/.
 *
 * Order.  A record stands in up to USHER_SLOTS ordered lists ("slots").  Which ones is
 * computed from its state by the library and put into `slots`; the store only has to keep
 * them in order:
 *
 *   slot 0, the ready ones   by (rank, order)       and again for each `group`
 *   slot 1, the due ones     by (until_ms, order)   and again for each `group`
 *   slot 2, the held ones    by (0, order)          and again for each `owner`
 *
 * That is: a slot of a kind is one list of all its records that have the bit, and one list
 * for each text they carry in `group` or `owner`, where that text is not empty.  The pair
 * is unique within a slot of a kind of a scope; below it is called (hi, order).
 */

/* Kinds of records are numbers from 1 to USHER_KINDS - 1, which are stored; each noun has its own,
 * all have REQUEST. */
#define USHER_KIND_REQUEST 4 /* the answer to a request id */
#define USHER_KINDS 10

/* What a store may want to know of a kind. */
enum usher_kind_flag {
    USHER_KIND_RANKED = 1u << 0, /* rank() is asked of its slot 0, by group */
    USHER_KIND_LISTED = 1u << 1, /* next() is asked of it by commands; of others by nobody but
                                  * scan() is their order by id needed */
    USHER_KIND_LOGGED = 1u << 2, /* each was appended to the log as it was made */
    USHER_KIND_FLAG__WIDE = 0x7fffffff
};

/** Bits of enum usher_kind_flag; 0 if there is no such kind.  O(1). */
USHER_API unsigned usher_kind_flags(enum usher_noun noun, uint8_t kind);

#define USHER_SLOTS 3
#define USHER_NUMBERS 8 /* the last four are seldom used */
#define USHER_COUNTS 20
#define USHER_SETTINGS 20
#define USHER_CHANGE_MAX 56 /* writes of one change, at most */
#define USHER_GAPS 8

/* Versions that another store may have given out: those above `last` up to `first`.  None of them
 * is ever given out again. */
struct usher_gap {
    uint64_t last, first;
};

struct usher_record {
    uint8_t kind, state;
    uint8_t slots;  /* bit s: stands in slot s */
    uint64_t rank;  /* its place in slot 0; 0 outside of it.  < 2^53 */
    uint64_t order; /* < 2^53 */
    uint64_t token;
    int64_t until_ms;
    int64_t n[USHER_NUMBERS];
    struct usher_text id, owner, group;
    struct usher_text data; /* at most USHER_VALUE_MAX */
    void *ref;              /* the store's own; NULL: not stored yet */
};

struct usher_scope {
    uint8_t noun;
    struct usher_text name;
    uint64_t epoch, version;
    int64_t clock_ms; /* time of the last change */
    int64_t due_ms;   /* nothing is due before; INT64_MAX: nothing at all */
    int64_t counts[USHER_COUNTS];
    int64_t settings[USHER_SETTINGS];
    void *ref;  /* the store's own; NULL: not stored yet */
    bool erase; /* for write(): the scope goes with it; no record of it is left then.  false in
                 * what scope() gives. */
    /* Which store wrote it last (identity() below), and, oldest first, what stores before may have
     * given out.  One without an identity keeps none of the three: both numbers are 0 there. */
    uint8_t n_gaps;
    uint64_t writer;
    struct usher_gap gaps[USHER_GAPS];
};

struct usher_write {
    bool erase;
    struct usher_record record; /* as find() or walk() gave it, then changed */
};

struct usher_txn; /* the store's own */

struct usher_record_store;

struct usher_record_store_ops {
    size_t size;
    const char *name;
    /* With USHER_CAP_THREADS several transactions may be under way at once, each on a thread of its
     * own.  One of them has any number of scopes (@scope of begin is NULL), with USHER_CAP_AT_ONCE
     * one (@scope). */
    unsigned caps;
    /* Must.  Statuses below: OK; MISSING where it says so; UNAVAILABLE or NOMEM, after
     * which the library calls rollback().  @write false: nothing will be written. */
    enum usher_status (*begin)(struct usher_record_store *s, enum usher_noun noun,
                               const struct usher_text *scope, bool write, int64_t deadline_ms,
                               struct usher_txn **ret_txn);
    /* Must.  Durable on return.  Ends the transaction in any case; on failure rolled back,
     * or, with UNKNOWN, perhaps not. */
    enum usher_status (*commit)(struct usher_txn *txn);
    /* Must.  Cannot fail.  With USHER_CAP_AT_ONCE it only ends the transaction. */
    void (*rollback)(struct usher_txn *txn);
    /* Must.  MISSING.  ret_scope->name stays as the caller gave it. */
    enum usher_status (*scope)(struct usher_txn *txn, enum usher_noun noun,
                               const struct usher_text *name, struct usher_scope *ret_scope);
    /* Must.  MISSING.  Texts of records live until the next write(), commit() or
     * rollback() of the transaction. */
    enum usher_status (*find)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record);
    /* Must.  The first record in slot @slot (of those that carry @by; NULL: of all) behind
     * (after_hi, after_order), or with @back the last one before it.  To begin:
     * (0, 0), or back from (UINT64_MAX, UINT64_MAX).  MISSING: no more. */
    enum usher_status (*walk)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record);
    /* Must.  How many stand before (@hi, @order) among the records in slot 0 of kind
     * that is USHER_KIND_RANKED that carry @by in `group` (never NULL).  @slot is 0.
     * The pair itself need not be there.  Cost: O(log n), or as near as the store comes. */
    enum usher_status (*rank)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret);
    /* Must.  The record of @kind with the smallest id greater (in byte order) than @after
     * (size 0: the very first).  MISSING: no more. */
    enum usher_status (*next)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record);
    /* Must.  One change: store @scope (create it when its ref is NULL, and set ref) and do
     * @n <= USHER_CHANGE_MAX writes (0: the scope alone), all or nothing.  Texts in @writes may
     * come from records of this transaction.  With scope->erase (then it is stored, and the writes
     * erase the last of its records) nothing of it is left afterwards, and ref is set to NULL. */
    enum usher_status (*write)(struct usher_txn *txn, struct usher_scope *scope,
                               const struct usher_write *writes, size_t n);
    /* Must.  As scan() of a store; other threads may be in a transaction meanwhile. */
    enum usher_status (*scan)(struct usher_record_store *s, enum usher_noun noun,
                              const struct usher_text *scope, bool records, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192]);
    /* Must.  Why the last operation of the calling transaction failed, one line, or "". */
    const char *(*message)(struct usher_record_store *s);
    /* Must.  Cannot fail; takes half-open stores.  Frees @s. */
    void (*close)(struct usher_record_store *s);
    /* May.  As forget() of a store. */
    void (*forget)(struct usher_record_store *s);
    /* May, both or none, without USHER_CAP_AT_ONCE: a log within the store, to which is only added.
     * append(): @row, of the noun of @scope as of usher_result_add_row(), is there for good if the
     * transaction is committed; it outlives the scope.  read_log(): as that of a store; other
     * threads may be in a transaction meanwhile. */
    enum usher_status (*append)(struct usher_txn *txn, const struct usher_scope *scope,
                                const void *row);
    enum usher_status (*read_log)(struct usher_record_store *s, enum usher_noun noun,
                                  const void *which, int64_t deadline_ms, usher_log_fn *fn,
                                  void *payload, char message[192]);
    /* May.  find() will soon be asked for this @id, by another command of the transaction: a store
     * that has its records in memory can begin to fetch it.  Changes nothing, cannot fail, and
     * takes no time to speak of.  NULL: it is not told. */
    void (*expect)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                   const struct usher_text *id);
    /* May.  Which store this is: a number from 1 to 2^48 - 1 that is another one wherever something
     * that was durable may be gone (an older copy was put in its place).  What a scope was last
     * written under another one makes its versions jump, so that none comes twice and a token
     * of what is gone is told from an old one.  O(1), cannot fail; 0, or NULL: nobody knows. */
    uint64_t (*identity)(struct usher_record_store *s);
    /* May.  What there is to know of it, where @node says nothing yet or only what follows from
     * `caps`; texts live as long as the store.  Cannot fail. */
    void (*node)(struct usher_record_store *s, struct usher_node *node);
};

struct usher_record_store {
    const struct usher_record_store_ops *ops;
};

/**
 * A store that executes commands on @records, which it owns from then on (on failure it is
 * still the caller's).  USHER_OK, USHER_INVALID, USHER_NOMEM.
 */
USHER_API enum usher_status usher_local_store(struct usher_record_store *records,
                                              const struct usher_allocator *alloc,
                                              struct usher_store **ret_store);

/**
 * Append a copy of @row, a struct usher_NOUN_result_row of @noun, to the rows of @reply.  USHER_OK,
 * USHER_NOMEM (@reply unchanged), USHER_INVALID (no such noun).
 */
USHER_API enum usher_status usher_result_add_row(struct usher_result *reply, enum usher_noun noun,
                                                 const void *row);

/**
 * Make @reply say @status and @message (cut to fit) and nothing else, whatever it says now;
 * with USHER_OK and "" it is as the engine gave it to the store.
 */
USHER_API void usher_result_fail(struct usher_result *reply, enum usher_status status,
                                 const char *message);

/* What there is to know of a command for one who sends it elsewhere. */
enum usher_operation_flag {
    USHER_OPERATION_WRITES = 1u << 0,  /* else it only reads */
    USHER_OPERATION_CREATES = 1u << 1, /* brings its scope into being */
    /* May be sent again when its answer was lost, without having an effect twice: with a
     * request id, reads, and verbs that come out the same (src/core/NOUN_verbs.def). */
    USHER_OPERATION_REPEATABLE = 1u << 2,
    /* And in any order with others of its verb. */
    USHER_OPERATION_COMMUTES = 1u << 3,
    USHER_OPERATION_FLAG__WIDE = 0x7fffffff
};

/** Bits of enum usher_operation_flag; 0 if the verb is not known.  O(1). */
USHER_API unsigned usher_operation_flags(const struct usher_operation *command);

/* ---- commands and answers as bytes ------------------------------------------------- */

/*
 * For stores that execute commands elsewhere (Redis).  Both ways it is MessagePack.
 *
 * A command is an array: verb (its code), now or nil, request id or nil, epoch for a scope
 * that does not exist yet (16 hex digits) or nil, 1 if notices are wanted or else 0, with a
 * request id a print of the arguments (an integer: a repeat must have the same) or else nil, then
 * the arguments in the order of src/core/NOUN_verbs.def, nil for those not given; nils at
 * the end are left out.  A token above USHER_EXACT_MAX, which nothing has, is 2^53.
 *
 * An answer is an array:
 *   status      its code
 *   epoch       16 hex digits
 *   version
 *   due         ms; -1: nothing is due
 *   now         ms; the store's clock
 *   repeated    1 if it is the kept answer of an earlier command, else 0
 *   notices     an array, below
 *   rows        an array; each row is an array of its fields
 * The fields of the reply follow as they stand in src/core/NOUN_verbs.def, then a message if there
 * is one.  An answer that failed (`invalid` and later) has a status and a message, and epoch and
 * notices if what had ended by itself was applied before the command failed.
 *
 * A notice is an array: verb, version, from, to, token, until, now, owner, subject, data.  That of
 * a room has was, mark and the time that it may wait, too.  Two versions in place of one are its
 * own and the one before, where they do not follow on each other.  A text between two notices is
 * the epoch of the notices after it, where that is not the epoch of the answer.
 */

/**
 * Write @command to @to, at most @size bytes.  @now_ms 0: the store's clock.  Returns how
 * many bytes it takes, whether they fit or not.  O(size of the texts).
 */
USHER_API size_t usher_operation_pack(const struct usher_operation *command, int64_t now_ms,
                                      uint64_t epoch, bool notices, unsigned char *to, size_t size);

/**
 * Read the answer to @command into @reply, which is as the engine gave it to the store, and
 * tell its notices to @context.  USHER_OK, USHER_NOMEM, USHER_INVALID (not understood: it is
 * not such an answer); after the latter two @reply is undefined but for what
 * usher_result_fail() needs.
 */
USHER_API enum usher_status usher_result_unpack(const struct usher_operation *command,
                                                const void *data, size_t size,
                                                struct usher_result *reply,
                                                const struct usher_context *context);

/* What is left of a text to be read as MessagePack.  The functions take one value off its
 * front; false: it is none of that kind, cut short, or out of range, and stays. */
struct usher_unpacker {
    const unsigned char *at, *end;
};
USHER_API bool usher_unpack_array(struct usher_unpacker *u, size_t *ret_n);
USHER_API bool usher_unpack_int(struct usher_unpacker *u, int64_t *ret);
USHER_API bool usher_unpack_uint(struct usher_unpacker *u, uint64_t *ret);
/** *@ret points into what is read. */
USHER_API bool usher_unpack_text(struct usher_unpacker *u, struct usher_text *ret);

/* ---- URL schemes ------------------------------------------------------------------ */

/*
 * One option of a store URL after `?`, unescaped.
 */
struct usher_url_option {
    const char *key, *value;
    bool used; /* set by open() for those it knows; one left unused is USHER_INVALID */
};

struct usher_url {
    const char *scheme; /* "sqlite" */
    const char *rest;   /* between "scheme:" and "?", not unescaped */
    struct usher_url_option *options;
    size_t n_options;
};

/* Put into usher_options.drivers; must outlive usher_open(). */
struct usher_driver {
    const char *scheme;
    enum usher_status (*open)(void *payload, struct usher_url *url, const struct usher_options *opt,
                              int64_t deadline_ms, struct usher_store **ret_store,
                              char message[192]);
    void *payload;
    const struct usher_driver *next;
};

/**
 * Replace %XX and write at most @size bytes with a NUL.  USHER_INVALID: a bad escape, a NUL
 * byte, or too long.
 */
USHER_API enum usher_status usher_url_unescape(const char *from, size_t length, char *to,
                                               size_t size);

#ifdef __cplusplus
}
#endif

#endif
