/* SPDX-License-Identifier: MIT */
/*
 * For authors of stores.  There are two ways to write one:
 *
 *  - a *record store* (memory, SQLite, examples/own_store.c): keeps records and ordered
 *    lists of them, without any rule of pools or calls.  usher_local_store() makes a store of it.
 *  - a *store* (Redis): takes whole commands and executes them at the data.
 *
 * Stores and the engine are tightly coupled: this header MAY CHANGE in 0.x, and so may the
 * input and output of a store, struct usher_operation and struct usher_result; a store of your own
 * must then be recompiled.  Programs use usher_execute() (command.h), whose values are stable.
 * Since 0.1.
 */
#ifndef USHER_STORE_STORE_H
#define USHER_STORE_STORE_H

#include <usher/store/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- store ------------------------------------------------------------------------ */

/* Part of the message of an UNAVAILABLE that lasts until the program opens the store again, because
 * its files were replaced.  `usher serve` ends then. */
#define USHER_STORE_GONE "the programs that use it"

/* Capabilities of a store. */
enum usher_capability {
    USHER_CAP_DURABLE = 1u << 0,  /* an answered command survives the process */
    USHER_CAP_SHARED = 1u << 1,   /* other processes may use the same data */
    USHER_CAP_THREADS = 1u << 2,  /* execute() may run on several threads at once, and
                                   * gains nothing from batches: the engine calls it
                                   * directly.  Without it the engine calls it on one
                                   * thread at a time with the tasks that have queued up. */
    USHER_CAP_INSTANT = 1u << 3,  /* never waits; its deadlines are 0 */
    USHER_CAP_TWO = 1u << 4,      /* without THREADS: execute() may run on two threads at
                                   * once, so that one batch is in transit while the other
                                   * one is being made */
    USHER_CAP_MORE = 1u << 5,     /* without either: execute() requests more tasks
                                   * (usher_context.more) before it makes a batch durable, so
                                   * that it need not wait for them before it begins.
                                   * usher_local_store() does. */
    USHER_CAP_LANES = 1u << 6,    /* without THREADS and MORE: the store has several servers, and a
                                   * slow one must not delay commands for another.  Tasks with the
                                   * same lane of route() are executed together, as with or without
                                   * TWO; lanes are independent of each other.  Tasks of one call
                                   * that have several lanes are executed at once by the calling
                                   * thread: execute() may run on any number of threads. */
    USHER_CAP_REPLICAS = 1u << 7, /* without THREADS and MORE: it has replicas, and execute()
                                   * waits for them if a command requests it.  Tasks of which
                                   * one does are executed by the calling thread, as above. */
    USHER_CAP_AT_ONCE = 1u << 8,  /* of a record store: write() takes effect at once and nothing is
                                   * rolled back; a transaction holds one scope */
    USHER_CAPABILITY__WIDE = 0x7fffffff
};

/* One command with the place for its answer.  The engine has checked the arguments and
 * zeroed the reply (all but its texts); reply->alloc is set. */
struct usher_task {
    const struct usher_operation *command;
    struct usher_result *reply;
    /* With USHER_CAP_LANES; else all three are 0. */
    uint16_t lane; /* result of route() */
    uint8_t state; /* the store's own from one attempt to the next; 0 at the first */
    uint8_t again; /* set by execute(), 0 before: the reply is a failure, but the task may be
                    * repeated without having an effect twice: enum usher_again */
};

enum usher_again {
    USHER_AGAIN_NOW = 1,   /* at once, because the place of the scope is now known */
    USHER_AGAIN_LATER = 2, /* after a moment */
    USHER_AGAIN__WIDE = 0x7fffffff
};

/* Data that all commands of one execute() share. */
struct usher_context {
    int64_t deadline_ms; /* CLOCK_MONOTONIC, ms; 0 with USHER_CAP_INSTANT */
    int64_t now_ms;      /* for commands without USHER_GIVEN_NOW; 0: the store's clock */
    /* How far a time given (now_ms, or the command's own) may be ahead of the store's clock: one
     * that is farther ahead, and later than the scope's last time, is USHER_INVALID.
     * USHER_TIME_MAX: no limit. */
    int64_t skew_ms;
    /* Report each change, in order of version per scope, as soon as it is made.  A notice of noun 0
     * without a scope reports that notices are missing for lack of memory.  NULL: there are no
     * watchers.  The texts need to live during the call only.  Cheap; never calls the store. */
    void (*notify)(void *payload, const struct usher_notice *notice);
    /* Write one line to the host's log; NULL: there is none. */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    void *payload;
    /* With USHER_CAP_MORE: append the tasks of other threads that have queued up since to the tasks
     * of execute(), as if they had been among them, and return their number.  Waits a little for
     * those that are likely to come.  NULL, or 0: no more. */
    size_t (*more)(void *payload);
};

/* The event that an asynchronous batch waits for: @events of poll() on @fd (-1: only the time), and
 * in any case the time @until_ms, CLOCK_MONOTONIC. */
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

/* One item of scan(). */
enum usher_item_kind {
    USHER_ITEM_SCOPE,  /* a scope; its records and entries follow */
    USHER_ITEM_RECORD, /* a record of the last scope, in order of (kind, id) */
    USHER_ITEM_ENTRY,  /* an entry of an ordered list of the last scope, any order */
    USHER_ITEM_FAULT,  /* a fault that the store itself finds in the last scope: for the audit.
                        * With `scope`: in that one, which has no other items */
    USHER_ITEM_KIND__WIDE = 0x7fffffff
};
struct usher_entry {
    uint8_t kind, slot;
    struct usher_text by; /* size 0: the list of all */
    uint64_t hi, order;
    struct usher_text id; /* of its record */
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
/* A page of scopes, of list(). */
struct usher_page {
    unsigned nouns;                  /* 1 << noun of each noun that is listed */
    size_t max;                      /* maximum scopes; > 0 */
    struct usher_text after;         /* `next` of the page before; size 0: the first page */
    char next[USHER_CURSOR_MAX + 1]; /* set by list(): where the next page begins; "": the end */
};
/* Compute the members of @scope that follow from its records, after all were passed: counts,
 * due_ms. */
typedef void usher_repair_fn(void *payload, struct usher_scope *scope);

/* A row of a log, as of usher_result_add_row().  @place: a number above 0, larger for rows
 * appended later.  A status other than USHER_OK ends the reading, which returns it. */
typedef enum usher_status usher_log_fn(void *payload, const void *row, int64_t place);

/* A listener reports one of these about a scope. */
enum usher_listen_event {
    USHER_LISTEN_ON,      /* changes from now on are published to it: read the earlier ones */
    USHER_LISTEN_OFF,     /* changes are not published until the next ON */
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
    /* Must.  Apply @n tasks, each completely or not at all, those on one scope in order;
     * durable on return.  May block until the deadline.  Fills in every reply (status,
     * epoch, version, rest); a failure is a reply with UNAVAILABLE (surely not applied),
     * UNKNOWN (may have been) or NOMEM (not applied), and a message. */
    void (*execute)(struct usher_store *s, struct usher_task *tasks, size_t n,
                    const struct usher_context *context);
    /* Must.  Pass every scope (@noun 0), or those of @noun, or the one named @scope, to @fn, each
     * as one consistent snapshot.  @message takes a line on failure.  The deadline covers the
     * waiting: a store that continues to answer may take longer.  With USHER_CAP_LANES or
     * USHER_CAP_REPLICAS, UNAVAILABLE: scopes are missing, and @message has the reason; those that
     * were passed are complete. */
    enum usher_status (*scan)(struct usher_store *s, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192]);
    /* Must.  Pass a page of scopes, without their records, to @fn, and set page->next.  Settings
     * that are not stored may be 0 instead of their defaults, and gaps left out.  A scope
     * that exists during all pages is in one of them at least.  A store whose scopes have an order
     * passes each once, by noun and in byte order of names; its cursors are NOUN/NAME.  Another
     * store has cursors of its own, and may pass a scope twice, or fewer than page->max although
     * there is a next page.  INVALID: page->after is no cursor of this store, and @message begins
     * with "after".  UNAVAILABLE: as for scan(), and page->next continues after the scopes that are
     * missing.  O(scopes passed), or O(keys that the server walks). */
    enum usher_status (*list)(struct usher_store *s, struct usher_page *page, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192]);
    /* Must.  Cannot fail; takes half-open stores.  Frees @s. */
    void (*close)(struct usher_store *s);
    /* May.  Close @s in a child of fork(), where it is a copy: release the resources of this
     * process, and leave files, locks and servers alone, which are the parent's.
     * NULL: the copy is not released. */
    void (*forget)(struct usher_store *s);
    /* May, if there is a log within the store (append() below), on any thread: call @fn with the
     * rows of @noun that match @which, latest first.  The type of @which depends on the noun: for
     * queues struct usher_history_query (store/history.h).  USHER_OK, USHER_UNAVAILABLE,
     * USHER_NOMEM, or the status of @fn. */
    enum usher_status (*read_log)(struct usher_store *s, enum usher_noun noun, const void *which,
                                  int64_t deadline_ms, usher_log_fn *fn, void *payload,
                                  char message[192]);
    /* May, if lists are stored apart from the records and may differ from them.  Rebuild those of
     * the one scope from its records, which are passed to @fn (without entries), then call @header
     * for the rest; neither version nor epoch changes.  No other command changes the scope during
     * the repair: it is answered UNAVAILABLE.  An interrupted repair is repeated by the next call.
     * The rest of a scope without its records is removed.  OK: @message has a description; else
     * the reason of the failure.  The deadline covers the waiting. */
    enum usher_status (*repair)(struct usher_store *s, enum usher_noun noun,
                                const struct usher_text *scope, int64_t deadline_ms,
                                usher_scan_fn *fn, usher_repair_fn *header, void *payload,
                                char message[192]);
    /* May.  usher_nodes(), with a deadline for all.  @message takes a line on failure. */
    enum usher_status (*nodes)(struct usher_store *s, int64_t deadline_ms, usher_node_fn *fn,
                               void *payload, char message[192]);
    /* Must with USHER_CAP_LANES, else NULL. */
    unsigned lanes; /* number of lanes, up to 65535 */
    /* Return the lane of @task: < lanes, and the same for all on one scope unless its `state`
     * requires another one.  Any thread.  O(1). */
    unsigned (*route)(struct usher_store *s, const struct usher_task *task);
    /* Refresh the map of scopes to servers if it is outdated, within the deadline.  Called before
     * tasks are routed, on a thread that delays no other one. */
    void (*refresh)(struct usher_store *s, int64_t deadline_ms);
    /* May, all three or none, without INSTANT: an execute() that does not wait.  begin() takes up
     * to 256 tasks, which live until the batch is over, as does @context with its data; NULL: no
     * memory.  With LANES it does the work of refresh() and route() itself, because the engine does
     * not call them.  go_on() does what can be done now; true: the replies are as after execute(),
     * and the batch is freed; false: call it again after the event in *@ret_wait.  leave() frees a
     * batch that is not over: the tasks that were sent may be applied or not.  One thread at a time
     * for each batch; with others in execute(), under any capabilities. */
    struct usher_batch *(*begin)(struct usher_store *s, struct usher_task *tasks, size_t n,
                                 const struct usher_context *context);
    bool (*go_on)(struct usher_store *s, struct usher_batch *batch, struct usher_wait *ret_wait);
    void (*leave)(struct usher_store *s, struct usher_batch *batch);
    /* May, with begin().  Return the unit of order of @scope: < USHER_UNITS, always the same, any
     * thread.  With `notify` in its context a batch locks the units of its scopes, so that notices
     * come in order.  A caller first completes batches that have a unit of its commands.  NULL: all
     * scopes are one unit. */
    unsigned (*unit)(struct usher_store *s, const struct usher_text *scope);
    /* May, all four or none, with begin(): the store publishes changes, also those of other
     * processes.  NULL: followers read the log every half second.
     * listen() makes a listener, which calls @fn from listen_go_on() only; NULL: no memory.
     * listen_to() adds a follower of @scope, or (@on false) removes one, which cannot fail; false:
     * no memory.  Any thread, also while another one is in listen_go_on(); it does not wait.
     * listen_go_on() does what can be done without waiting, and sets *@ret_wait; one thread at a
     * time.  It is called at once after listen_to().
     * listen_end() frees the listener; it may still have followers. */
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
 * Open an engine on @store, which it owns from then on (on failure it is still the caller's).
 * USHER_OK, USHER_INVALID, USHER_NOMEM.
 */
USHER_API enum usher_status usher_open_store(struct usher_store *store,
                                             const struct usher_options *opt,
                                             struct usher_engine **ret_engine);

/* ---- record store ----------------------------------------------------------------- */

/*
 * A record has an id, a state, a few numbers and texts, all the same for every kind, so that a
 * store needs one table.  src/nouns/ defines the numbers.
 *
 * Order.  A record is in up to USHER_SLOTS ordered lists ("slots").  The library computes
 * `slots` from the state of the record; the store only has to keep the lists in order:
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

/* Properties of a kind that a store may use. */
enum usher_kind_flag {
    USHER_KIND_RANKED = 1u << 0, /* rank() is called for its slot 0, by group */
    USHER_KIND_LISTED = 1u << 1, /* commands call next() for it; the order by id of other kinds is
                                  * needed by scan() only */
    USHER_KIND_LOGGED = 1u << 2, /* each was appended to the log when it was created */
    USHER_KIND_FLAG__WIDE = 0x7fffffff
};

/** Return the bits of enum usher_kind_flag; 0 if there is no such kind.  O(1). */
USHER_API unsigned usher_kind_flags(enum usher_noun noun, uint8_t kind);

#define USHER_SLOTS 3
#define USHER_NUMBERS 8 /* the last four are seldom used */
#define USHER_COUNTS 24
#define USHER_SETTINGS 20
#define USHER_CHANGE_MAX 56 /* maximum writes of one change */
#define USHER_GAPS 8

/* Versions that another store may have issued: those above `last` up to `first`.  None of them
 * is ever issued again. */
struct usher_gap {
    uint64_t last, first;
};

struct usher_record {
    uint8_t kind, state;
    uint8_t slots;  /* bit s: is in slot s */
    uint64_t rank;  /* its position in slot 0; 0 outside of it.  < 2^53 */
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
    int64_t due_ms;   /* nothing is due before; INT64_MAX: never */
    int64_t counts[USHER_COUNTS];
    int64_t settings[USHER_SETTINGS];
    void *ref;  /* the store's own; NULL: not stored yet */
    bool erase; /* for write(): delete the scope; no record of it is left then.  false in results of
                 * scope() */
    /* The identity of the store that wrote it last (identity() below), and, oldest first, the
     * versions that earlier stores may have issued.  A store without an identity keeps none of the
     * three: both numbers are 0 there. */
    uint8_t n_gaps;
    uint64_t writer;
    struct usher_gap gaps[USHER_GAPS];
};

struct usher_write {
    bool erase;
    struct usher_record record; /* result of find() or walk(), then changed */
};

struct usher_txn; /* the store's own */

struct usher_record_store;

struct usher_record_store_ops {
    size_t size;
    const char *name;
    /* With USHER_CAP_THREADS several transactions may be open at once, each on a thread of its own.
     * A transaction has any number of scopes (@scope of begin is NULL), with USHER_CAP_AT_ONCE one
     * (@scope). */
    unsigned caps;
    /* Must.  Statuses of this and the functions below: OK; MISSING where it is listed; UNAVAILABLE
     * or NOMEM, after which the library calls rollback().  @write false: nothing will be written.
     */
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
    /* Must.  Read the first record in slot @slot (of those that carry @by; NULL: of all) after
     * (after_hi, after_order), or with @back the last one before it.  To begin:
     * (0, 0), or back from (UINT64_MAX, UINT64_MAX).  MISSING: no more. */
    enum usher_status (*walk)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record);
    /* Must.  Count the records before (@hi, @order) in slot 0 of a kind that is
     * USHER_KIND_RANKED, among those that carry @by in `group` (never NULL).  @slot is 0.
     * The pair itself need not be there.  Cost: O(log n), or the nearest that the store can do. */
    enum usher_status (*rank)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret);
    /* Must.  Read the record of @kind with the smallest id greater (in byte order) than @after
     * (size 0: the very first).  MISSING: no more. */
    enum usher_status (*next)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record);
    /* Must.  Write one change: store @scope (create it if its ref is NULL, and set ref) and do
     * @n <= USHER_CHANGE_MAX writes (0: the scope alone), all or nothing.  Texts in @writes may
     * come from records of this transaction.  With scope->erase (then it is stored, and the writes
     * erase the last of its records) nothing of it is left afterwards, and ref is set to NULL. */
    enum usher_status (*write)(struct usher_txn *txn, struct usher_scope *scope,
                               const struct usher_write *writes, size_t n);
    /* Must.  The same as scan() of a store; other threads may be in a transaction at the time. */
    enum usher_status (*scan)(struct usher_record_store *s, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192]);
    /* Must.  Pass the scopes of @nouns (1 << noun) after @after, of which noun and name count
     * (NULL: from the first), to @fn, without their records, by noun and in byte order of names.
     * @fn ends the list by another status than OK, which is returned.  Other threads may be in a
     * transaction at the time.  O(log n) for each scope that is passed. */
    enum usher_status (*list)(struct usher_record_store *s, unsigned nouns,
                              const struct usher_scope *after, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char message[192]);
    /* Must.  Return the reason why the last operation of the calling transaction failed, one line,
     * or "". */
    const char *(*message)(struct usher_record_store *s);
    /* Must.  Cannot fail; takes half-open stores.  Frees @s. */
    void (*close)(struct usher_record_store *s);
    /* May.  As forget() of a store. */
    void (*forget)(struct usher_record_store *s);
    /* May, both or none, without USHER_CAP_AT_ONCE: an append-only log within the store.
     * append(): @row, of the noun of @scope as of usher_result_add_row(), is permanent if the
     * transaction is committed; it outlives the scope.  read_log(): as that of a store; other
     * threads may be in a transaction at the time. */
    enum usher_status (*append)(struct usher_txn *txn, const struct usher_scope *scope,
                                const void *row);
    enum usher_status (*read_log)(struct usher_record_store *s, enum usher_noun noun,
                                  const void *which, int64_t deadline_ms, usher_log_fn *fn,
                                  void *payload, char message[192]);
    /* May.  Prefetch the record of @id, which another command of the transaction will find() soon:
     * a store with its records in memory can begin to load it.  Changes nothing, cannot fail, and
     * takes almost no time.  NULL: no prefetch. */
    void (*expect)(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                   const struct usher_text *id);
    /* May.  Return the identity of the store: a number from 1 to 2^48 - 1 that changes whenever
     * durable data may be gone (an older copy was put in its place).  If a scope was last written
     * under another identity, its versions jump, so that none is issued twice and a lost token
     * can be distinguished from an outdated one.  O(1), cannot fail; 0, or NULL: unknown. */
    uint64_t (*identity)(struct usher_record_store *s);
    /* May.  Fill in the members of @node that are not set yet or only follow from `caps`; texts
     * live as long as the store.  Cannot fail. */
    void (*node)(struct usher_record_store *s, struct usher_node *node);
};

struct usher_record_store {
    const struct usher_record_store_ops *ops;
};

/**
 * Make a store that executes commands on @records, which it owns from then on (on failure it is
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
 * Replace the contents of @reply by @status and @message (cut to fit); with USHER_OK and "" it is
 * as the engine gave it to the store.
 */
USHER_API void usher_result_fail(struct usher_result *reply, enum usher_status status,
                                 const char *message);

/* Properties of a command for code that sends it elsewhere. */
enum usher_operation_flag {
    USHER_OPERATION_WRITES = 1u << 0,  /* else it only reads */
    USHER_OPERATION_CREATES = 1u << 1, /* creates its scope if it does not exist */
    /* May be sent again if its answer was lost, without having an effect twice: with a
     * request id, reads, and idempotent verbs (src/core/NOUN_verbs.def). */
    USHER_OPERATION_REPEATABLE = 1u << 2,
    /* The same, and in any order with others of its verb. */
    USHER_OPERATION_COMMUTES = 1u << 3,
    USHER_OPERATION_FLAG__WIDE = 0x7fffffff
};

/** Return the bits of enum usher_operation_flag; 0 if the verb is unknown.  O(1). */
USHER_API unsigned usher_operation_flags(const struct usher_operation *command);

/* ---- commands and answers as bytes ------------------------------------------------- */

/*
 * For stores that execute commands elsewhere (Redis).  Commands and answers are MessagePack.
 *
 * A command is an array: verb (its code), now or nil, request id or nil, epoch for a scope
 * that does not exist yet (16 hex digits) or nil, 1 if notices are wanted or else 0, with a
 * request id a fingerprint of the arguments (an integer: a repeat must have the same) or else nil,
 * then the arguments in the order of src/core/NOUN_verbs.def, nil for those not given; nils at
 * the end are left out.  A token above USHER_EXACT_MAX, which is never issued, is 2^53.
 *
 * An answer is an array:
 *   status      its code
 *   epoch       16 hex digits
 *   version
 *   due         ms; -1: nothing is due
 *   now         ms; the store's clock
 *   repeated    1 if it is the cached result of an earlier command, else 0
 *   notices     an array, below
 *   rows        an array; each row is an array of its fields
 * The fields of the reply follow in the order of src/core/NOUN_verbs.def, then a message if there
 * is one.  An answer that failed (`invalid` and later) has a status and a message, and epoch and
 * notices if due expiries were applied before the command failed.
 *
 * A notice is an array: verb, version, from, to, token, until, now, owner, subject, data.  That of
 * a room also has was, mark and the time by which it may be delayed.  Two versions instead of one
 * are its own and the one before, if they are not consecutive.  A text between two notices is the
 * epoch of the notices after it, if that is not the epoch of the answer.
 */

/**
 * Write @command to @to, at most @size bytes.  @now_ms 0: the store's clock.  Returns the number
 * of bytes, even if they do not fit.  O(size of the texts).
 */
USHER_API size_t usher_operation_pack(const struct usher_operation *command, int64_t now_ms,
                                      uint64_t epoch, bool notices, unsigned char *to, size_t size);

/**
 * Read the answer to @command into @reply, which is as the engine gave it to the store, and
 * report its notices to @context.  USHER_OK, USHER_NOMEM, USHER_INVALID (it is not such an
 * answer); after the latter two only usher_result_fail() may be called with @reply.
 */
USHER_API enum usher_status usher_result_unpack(const struct usher_operation *command,
                                                const void *data, size_t size,
                                                struct usher_result *reply,
                                                const struct usher_context *context);

/* The unread rest of a MessagePack text.  Each function reads one value; false: the next one is of
 * another kind, cut short, or out of range, and stays unread. */
struct usher_unpacker {
    const unsigned char *at, *end;
};
USHER_API bool usher_unpack_array(struct usher_unpacker *u, size_t *ret_n);
USHER_API bool usher_unpack_int(struct usher_unpacker *u, int64_t *ret);
USHER_API bool usher_unpack_uint(struct usher_unpacker *u, uint64_t *ret);
/** Read a text; *@ret points into the input. */
USHER_API bool usher_unpack_text(struct usher_unpacker *u, struct usher_text *ret);

/* ---- URL schemes ------------------------------------------------------------------ */

/*
 * One option of a store URL after `?`, unescaped.
 */
struct usher_url_option {
    const char *key, *value;
    bool used; /* set by open() for known options; an unused one is USHER_INVALID */
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
