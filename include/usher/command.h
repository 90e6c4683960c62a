/* SPDX-License-Identifier: MIT */
/*
 * Commands of every noun and their answers as values: for batches, bindings and servers.
 *
 *     struct usher_value values[] = { USHER_T(USHER_FIELD_OWNER, "call-17"),
 *                                     USHER_N(USHER_FIELD_LEASE, 30000) };
 *     struct usher_command call = { USHER_NUMBER_CALL, USHER_TO_NUL, "sales", values, 2, NULL };
 *     struct usher_reply *reply;
 *
 *     if (USHER_IS_DONE(usher_execute(e, &call, 1, 0, &reply))) {
 *         if (USHER_IS_DONE(reply->status))
 *             dial(usher_reply_text(reply, USHER_ANSWER, USHER_FIELD_NUMBER, NULL));
 *         usher_reply_done(reply);
 *     }
 *
 * usher_verb_takes() lists the fields that a verb takes, usher_verb_tells() those of its answer.
 * The call of the same name describes each verb.  Included by usher.h.
 */
#ifndef USHER_COMMAND_H
#define USHER_COMMAND_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_TO_NUL (-1)     /* a size: up to the NUL */
#define USHER_ANSWER SIZE_MAX /* instead of a row: the answer itself */

/* One argument, or one field of an answer.  Never grows. */
struct usher_value {
    uint32_t field;   /* enum usher_field */
    int32_t size;     /* bytes of the text; in an argument also USHER_TO_NUL */
    int64_t number;   /* value of a number; the 64 bits of a TOKEN */
    const char *text; /* value of a text, NUL-terminated in answers; or the word of a CODE in an
                       * argument; else NULL */
};
/* clang-format off */
#define USHER_N(field, n)    { (field), 0, (n), NULL }
#define USHER_T(field, text) { (field), USHER_TO_NUL, 0, (text) }
/* clang-format on */

/* Never grows: all options of a command are values.  Each field at most once, in any order. */
struct usher_command {
    uint32_t verb;                    /* enum usher_verb */
    int32_t scope_size;               /* in bytes, or USHER_TO_NUL */
    const char *scope;                /* NULL or "" for a verb that is USHER_VERB_WHOLE */
    const struct usher_value *values; /* used during the call only */
    size_t n;
    void *tag; /* returned in the reply */
};

/* Made by the library; read-only, for any thread.  Grows at its end. */
struct usher_reply {
    enum usher_status status;
    uint32_t verb;
    void *tag;
    uint64_t epoch;   /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    int64_t due_ms;   /* nothing in the scope expires before this time; or USHER_NEVER */
    int64_t now_ms;   /* the same clock at the answer: a timer waits for due_ms - now_ms */
    bool repeated;    /* cached result of an earlier command with this request id */
    bool more;        /* not complete: repeat, with USHER_FIELD_AFTER if the answer has it */
    uint8_t replicas; /* with USHER_FIELD_WAIT: replicas that have it; at most USHER_WAIT_MAX */
    uint8_t n;        /* number of @values of the answer; those that do not apply are left out */
    uint32_t n_rows;
    const struct usher_value *values;
    const char *message; /* one line, or "" */
};

/**
 * Execute @n commands.  ret_replies[i] answers commands[i] and belongs to the caller: release it
 * with usher_reply_done().  Commands on one scope are applied in the order given.  Commands of
 * several threads that wait at the same time share one transaction (SQLite) or one pipeline
 * (Redis).  Each command is atomic; the batch is not.
 *
 * Blocks for @timeout_ms at most (1 to USHER_SPAN_MAX; 0 = the engine's timeout).  A verb that is
 * USHER_VERB_WHOLE (`scopes`, `room list`) is many commands, which are executed in the place of
 * that command, each within the engine's timeout.  If a part of the store does not answer, its
 * reply is USHER_UNAVAILABLE with the rows of the other parts and USHER_FIELD_PARTIAL.
 *
 * Returns the worst of: USHER_OK (for all other statuses of replies); USHER_UNAVAILABLE,
 * USHER_UNKNOWN, USHER_LOST, USHER_NOMEM if at least one reply has it; and, without replies,
 * USHER_INVALID (this call itself: NULL, @n of 0 or above USHER_BATCH_MAX, @timeout_ms, an engine
 * of the parent process) or USHER_NOMEM (nothing was applied): then ret_replies[0] is NULL.
 *
 * Cost: that of the store, one allocation for all replies and one for each that has more than a
 * few values.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_execute(struct usher_engine *e,
                                          const struct usher_command *commands, size_t n,
                                          int64_t timeout_ms, struct usher_reply **ret_replies);

/** Release @reply.  NULL is allowed.  Threads: any. */
USHER_API void usher_reply_done(struct usher_reply *reply);

/**
 * Return the values of row @row, or with USHER_ANSWER those of the answer; *@ret_n is their number.
 * They live until usher_reply_done().  NULL: there is no such row.  O(1).
 */
USHER_API const struct usher_value *usher_reply_values(const struct usher_reply *reply, size_t row,
                                                       size_t *ret_n);
/** Return one number; USHER_NONE: it is not there.  O(values of the row). */
USHER_API int64_t usher_reply_int(const struct usher_reply *reply, size_t row, uint32_t field);
/** Return one text, NUL-terminated; NULL: it is not there.  @ret_size may be NULL.  O(values of the
 * row). */
USHER_API const char *usher_reply_text(const struct usher_reply *reply, size_t row, uint32_t field,
                                       size_t *ret_size);
/** Return the word of a CODE; NULL: it is not there.  Static.  O(values of the row). */
USHER_API const char *usher_reply_word(const struct usher_reply *reply, size_t row, uint32_t field);

/* ---- as text -------------------------------------------------------------------------------- */

/**
 * Parse a line of words as usher(1) and its shell do, including quotes: NOUN VERB SCOPE, then the
 * required arguments in their order, then others as key=value; durations in ms or as 90s, 5m, 2h,
 * 1d.  @line_size in bytes, without a newline.
 *
 * The command and its texts live in the caller's buffer @room, of @size bytes and any alignment.
 * Twice the line and 2 KiB are enough for any line.  The tag is NULL.
 *
 * USHER_OK       *@ret_command is the command; the engine may still reject it in its reply
 * USHER_INVALID  it is no command, as usher_message() explains; or it has no words, or more than
 *                64; or an argument is NULL
 * USHER_FULL     @room is too small
 *
 * Cost: O(line), no allocation.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_command_parse(const char *line, size_t line_size, void *room,
                                                size_t size, struct usher_command *ret_command);

enum usher_form {
    USHER_FORM_JSON = 1,   /* one object without a newline, as of usher(1) with --json */
    USHER_FORM_PACKED = 2, /* the same object in MessagePack, a map */
    USHER_FORM_RESP2 = 3,  /* Redis' protocol: the same as a flat array of keys and values */
    USHER_FORM_RESP3 = 4,  /* as a map */
    USHER_FORM__WIDE = 0x7fffffff
};

/**
 * Write @reply in @form: at most @size bytes at @to, the last of them a NUL.  The keys and their
 * order are a public interface (`usher help json`): new ones are appended.
 *
 * JSON: a number beyond 2^53 is a string, because readers keep doubles; a token always is.  A value
 * of type BYTES (of fields, shares, histories of rooms) that is not UTF-8 is the object
 * {"b64":"…"}, its bytes in base64; no other value looks like it, so none is lost.  In a message
 * such a byte is \u00NN.  Controls below U+0020, U+0085, U+2028 and U+2029 are escaped: the object
 * is one line for every reader.
 *
 * PACKED, for any library of MessagePack: the same keys.  Numbers and tokens are integers of 64
 * bits, a share is a float 64; names, words and texts made by the library are str; fields of any
 * bytes (of type BYTES, values in rooms) are bin.
 *
 * RESP has the same keys and values in the same order, bytes as they are; a number in JSON is an
 * integer.  RESP2 has no truth values, which are 0 and 1 there, and no fractions, which are texts.
 * A reply that failed (USHER_CLASS_WRONG, USHER_CLASS_FAILED) is an error: the word of its status
 * in capitals, the version after LOST, then the message.
 *
 * Returns the length of all of it without the NUL, even if it does not fit: @to NULL and @size 0
 * query the length.  0: @reply is NULL or there is no such form.
 *
 * Cost: O(values).  Threads: any.  Since 0.1.
 */
USHER_API size_t usher_reply_write(const struct usher_reply *reply, enum usher_form form, char *to,
                                   size_t size);

/** Write @notice in @form, as usher_reply_write() does. */
USHER_API size_t usher_notice_write(const struct usher_notice *notice, enum usher_form form,
                                    char *to, size_t size);

/**
 * Make a reply of @notice, as of `changes` with one row: usher_NOUN_row_of(reply, 0, &row) or the
 * values of the row.  The row has the subject under its own name (usher_queue_row.user), and what
 * the data of the notice have, such as the room of a seated user.  The reply is the caller's:
 * usher_reply_done().  NULL: no memory, or @notice is NULL or of no noun of scopes.  @notice may be
 * of an event, of a watcher, or unpacked.  O(texts).  Threads: any.  Since 0.1.
 */
USHER_API struct usher_reply *usher_notice_reply(const struct usher_notice *notice);

/**
 * Read the notice in the `value` of a row of `changes`, of @scope of @noun.  Its texts point into
 * @value and @scope.  @epoch is that of the reply.  USHER_OK, USHER_INVALID.
 */
USHER_API enum usher_status usher_notice_read(enum usher_noun noun, const struct usher_text *scope,
                                              uint64_t epoch, const struct usher_text *value,
                                              struct usher_notice *ret_notice);

/* ---- without waiting ------------------------------------------------------------------------ */

/*
 * usher_post() takes commands and returns at once; usher_collect() returns their replies, one event
 * at a time.  An event loop watches one descriptor and one timer; no thread is started and there
 * are no callbacks.
 *
 *     epoll_ctl(loop, EPOLL_CTL_ADD, usher_fd(e), ...);
 *     for (;;) {
 *         epoll_wait(loop, ..., (int)usher_timeout(e));
 *         while ((event = usher_collect(e, 0)) != NULL) {
 *             ...
 *             usher_event_done(event);
 *         }
 *     }
 *
 * usher_collect() also executes posted commands, up to 256 at a time.
 *
 *  - On memory it never waits.
 *  - On Redis (also over TLS, where the master is one of several hosts, and on a cluster) it does
 *    what can be done now and continues when the descriptor or the timer fires: connecting,
 *    handshake, scripts, answers, retries after a failure, search for the node of a scope.  A node
 *    that does not answer delays the commands posted for its own scopes, and reads of their logs
 *    (with more than 16 nodes, also those of other scopes in its share).  It also makes `room
 *    open`, `close` and `sweep` delay one another, because the room directory is on all nodes.
 *    usher_collect() blocks only while a name server is queried for the name of a host, with each
 *    new connection (not for addresses and names in a local file), and in the program's own
 *    functions.  An authority, a history and a journal are such functions, and the work on the
 *    store before and after their calls blocks, too: with an authority that of `serial` and `id`
 *    commands that may need a grant; with a history that of queues; with a journal all.  A verb
 *    that is USHER_VERB_WHOLE is many commands and blocks, too.
 *  - On SQLite it waits for the disk.
 *
 * A program whose loop must not wait for that gives usher_work() a thread of its own.
 * examples/epoll.c is a complete program.
 *
 * Posted commands are executed in the order of posting, one batch after the other, and their events
 * come in that order; on a cluster in that of each scope, and on Redis those that wait for replicas
 * (USHER_FIELD_WAIT) delay only others on the same scopes.  A command that is cancelled, or has no
 * time left before it is begun, is answered at once and so may be earlier.  There is no order
 * between posted commands and those of other calls.  With usher_watch_events() changes are
 * collected as well, before the reply to the command that made them.
 *
 * The first of these calls (except usher_cancel(), usher_timeout(), usher_interrupt()) opens three
 * descriptors, four on Redis, which usher_close() closes; an engine that never posts has none.
 * Batches in progress on several nodes of a cluster have one more.  A watcher of the engine may use
 * these calls, but usher_collect() and usher_work() with a timeout of 0 only.  After fork() the
 * child's calls return USHER_INVALID as all calls do, and leave the parent's descriptors alone.
 */
enum usher_event_kind {
    USHER_EVENT_REPLY = 1, /* to a posted command */
    USHER_EVENT_NOTICE,    /* of a watcher: one change (usher.h); see usher_watch_events() */
    USHER_EVENT_GAP,       /* of a watcher: notices are missing */
    USHER_EVENT_KIND__WIDE = 0x7fffffff
};

/* Made by the library; read-only, for any thread.  Never grows. */
struct usher_event {
    uint32_t kind; /* enum usher_event_kind; there may be others: release them unread */
    uint32_t reserved;
    void *tag;                         /* of the command, or of the watcher */
    const struct usher_reply *reply;   /* part of the event: no usher_reply_done(); else NULL */
    const struct usher_notice *notice; /* part of the event; NULL with a REPLY */
};

/**
 * Post @n commands for later execution.  They are copied with their values and texts.  Each gets
 * exactly one event, even if it is wrong (its reply is USHER_INVALID with a message) or if memory
 * runs out.
 *
 * A command has @timeout_ms (1 to USHER_SPAN_MAX; 0 = the engine's timeout) from now on.  If that
 * is over before the command is begun, it is not begun and its reply is USHER_UNAVAILABLE.
 * Commands that are executed together share the time of the one that has the least left, which is
 * at least half of what each of them has left.  An operation that takes longer than that, such as
 * connecting to a server, continues for the next commands.
 *
 * USHER_OK       posted
 * USHER_FULL     nothing is posted: with them more than usher_options.backlog commands would be
 *                posted and not collected
 * USHER_INVALID  nothing is posted: NULL, @n of 0 or above USHER_BATCH_MAX, @timeout_ms, an engine
 *                of the parent process
 * USHER_NOMEM    nothing is posted: no memory or, with the first call, no descriptors
 *
 * Cost: two allocations for all; some 300 bytes for each command (1 KiB if @n is 1), its values and
 * texts.  Never waits.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_post(struct usher_engine *e, const struct usher_command *commands,
                                       size_t n, int64_t timeout_ms);

/**
 * Return the next event, a reply, a notice or a gap, which is the caller's until
 * usher_event_done().  NULL: none within @timeout_ms (0: do not wait for other threads; < 0: no
 * limit), interrupted, or the call itself failed and usher_message() has the reason: an engine of
 * the parent process, no memory, no descriptors.
 *
 * If there is none yet and no thread is in usher_work(), this executes the next batch of posted
 * commands.  If that blocks (above), it takes as long as usher_execute() would, even beyond
 * @timeout_ms.
 *
 * Cost: O(1) for an event that is there.  Threads: any, several at a time: each event is returned
 * once, and while one of them executes the others wait.  Since 0.1.
 */
USHER_API const struct usher_event *usher_collect(struct usher_engine *e, int64_t timeout_ms);

/** Release @event with its reply or notice.  NULL is allowed.  Threads: any, also after
 * usher_close().  Since 0.1. */
USHER_API void usher_event_done(const struct usher_event *event);

/**
 * Return a descriptor that is readable exactly while usher_collect(e, 0) has an event to return, or
 * work to execute or continue: for poll(), epoll and the like, level-triggered.  It is the
 * engine's: do not read, write or close it.  -1: an engine of the parent process, no memory, no
 * descriptors, or a system without eventfd().
 *
 * Cost: O(1).  Threads: any.  Since 0.1.
 */
USHER_API int usher_fd(struct usher_engine *e);

/**
 * Return the ms after which usher_collect() should be called even if the descriptor is not
 * readable: then the deadline of a command has passed, a server is to be tried again, or a watcher
 * reads its log.  It may be too early, never too late.  0: now; INT32_MAX at most, so it fits an
 * int.  -1: no need (or the engine is of the parent process).  Call it again after each
 * usher_post() and usher_collect().
 *
 * Cost: O(1).  Threads: any.  Since 0.1.
 */
USHER_API int64_t usher_timeout(struct usher_engine *e);

/**
 * Cancel commands that are posted with @tag (NULL = with any tag) and not begun: the reply is
 * USHER_UNAVAILABLE with the message "cancelled".  A command that was begun, even if it is not sent
 * yet, is answered as if nothing had been cancelled.
 *
 * USHER_OK       at least one command was cancelled
 * USHER_MISSING  none: it is begun or answered, or was never posted
 * USHER_INVALID  an engine of the parent process
 *
 * Cost: O(commands that wait).  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_cancel(struct usher_engine *e, const void *tag);

/**
 * Execute posted commands, on a thread of the program that may wait for the store.  While a thread
 * is in here, usher_collect() begins nothing and so does not wait for the store.
 *
 * With @timeout_ms < 0 it works until it is interrupted: usher_work(e, -1) is all that such a
 * thread needs.  Otherwise it waits up to @timeout_ms for commands, executes them, and returns when
 * none are left or the time is over; usher_collect() may execute before it is called again.
 *
 * USHER_OK           something was done
 * USHER_SAME         nothing was posted within @timeout_ms
 * USHER_UNAVAILABLE  usher_interrupt() was called; commands executed before stay executed
 * USHER_INVALID      an engine of the parent process
 * USHER_NOMEM        no memory or no descriptors
 *
 * Threads: any.  A second thread gains nothing: batches are executed one after the other.  None may
 * be in here when usher_close() is called: interrupt them and wait for their end.  Since 0.1.
 */
USHER_API enum usher_status usher_work(struct usher_engine *e, int64_t timeout_ms);

/**
 * With @on, end all waiting in usher_collect() and usher_work(), now and until it is switched off:
 * usher_collect() returns events that are there and executes if it has to, but no longer waits;
 * usher_work() begins nothing and returns USHER_UNAVAILABLE.  Commands that the store has continue
 * to their end or deadline.  usher_execute() and the calls of nouns are not affected.
 *
 * Cost: O(1).  Threads: any, a signal handler too.  Since 0.1.
 */
USHER_API void usher_interrupt(struct usher_engine *e, bool on);

/* ---- watching ------------------------------------------------------------------------------- */

enum usher_watch_flag {
    USHER_WATCH_SINCE = 1u << 0, /* start with the changes after @since, from the scope's log */
    USHER_WATCH_ALL = 1u << 1,   /* with SINCE: also changes by other engines, as they are published
                                  * or from the log every half second */
    USHER_WATCH_TEND = 1u << 2,  /* sweep the scope when an expiry is due */
    USHER_WATCH_FLAG__WIDE = 0x7fffffff
};

/**
 * Deliver the changes that this engine makes to @scope of @noun (NULL = to all its scopes; 0 = of
 * all nouns) as events with @tag, to be collected by usher_collect().  A NOTICE is one change
 * (usher.h), delivered once, in order of version per scope, after it is durable; USHER_NOTICE_LOST
 * likewise.  Its texts are NUL-terminated and live, like the rest of it, until usher_event_done():
 * on any thread, also after usher_close().
 *
 * The notices of a posted command are collected before its reply (and before its `wait` is over),
 * except those that a room with `presence` coalesces, and those from a log.  Notices of other calls
 * may be collected before the calls return.  Several threads that collect receive the events of one
 * scope in order.
 *
 * A GAP means that notices are, or may be, missing: more than usher_options.backlog notices were
 * not collected, there was no memory, or a command was answered USHER_UNKNOWN.  It comes once, in
 * its place in the order; the notices after it are complete again.  Its notice has noun and scope
 * (size 0: any scope of the watcher); `before`, the last version before the gap; `epoch`, `version`
 * and `mark`, after which they continue.  0 of these is unknown.
 *
 * With USHER_WATCH_SINCE (one scope with a log: a room, or another one with the setting log) the
 * watcher receives all changes after version @since (0 = from the beginning), made by any engine,
 * each once and without a hole: first those in the log, then new ones.  Notices that are not
 * collected in time are read from the log later.  A GAP comes only if
 *  - the log does not reach back to `since` or to the last notice, or there is none,
 *  - the store lost notices that were delivered (usher.h),
 *  - the scope is gone (then all three are 0) or another one (version 0: all of it follows).
 *
 * If a room closes, USHER_ROOM_DONE may be left out.
 *
 * Changes by other engines
 * are delivered with the next change of this one, or with USHER_WATCH_ALL within half a second.  On
 * Redis the engine subscribes to a scope with push=1, and the notice of such a change comes at
 * once; usher_collect(), usher_work() and usher_fd() do that, too.  The log is read by
 * usher_collect() or usher_work() as if `changes` were posted, and repeatedly until there is an
 * answer; usher_timeout() returns the time.
 *
 * With USHER_WATCH_TEND (one scope) expiries are applied in time, without another command: a hold
 * or a rest ends, an agent's wrap-up is over and the next caller is seated, a room without members
 * closes.  When one is due usher_timeout() is over, and usher_collect() or usher_work() sweeps the
 * scope, as if `sweep` were posted; so one timer, that of usher_timeout(), serves any number of
 * scopes.  The time follows from the changes that this engine makes (and reads, with SINCE) and
 * from its own clock.  If the store has another clock, that of Redis, it retries every few
 * milliseconds until that clock is as far.  An earlier expiry that another engine caused is swept
 * when this one learns of it.
 *
 * USHER_OK
 * USHER_REFUSED  TEND: nothing of @noun is ever due, or time is given
 *                (usher_options.clock_given)
 * USHER_INVALID  an argument, or an engine of the parent process
 * USHER_NOMEM    no memory or, with the first call, no descriptors
 *
 * Cost: some 2 KiB; a copy of each notice (some 300 bytes and its texts) on the thread that makes
 * the change.  Never waits.  Changes of commands that were begun before, by another thread or
 * posted and not answered yet, may be missing, and `before` of the next notice shows it; with SINCE
 * they arrive within the engine's timeout.  usher_unwatch() ends it.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_watch_events(struct usher_engine *e, enum usher_noun noun,
                                               const char *scope, unsigned flags, uint64_t since,
                                               void *tag, struct usher_watcher **ret_watcher);

/**
 * Write a NOTICE or GAP as bytes for a program without an engine, such as a replica at the other
 * end of a network.  Writes at most @size bytes to @to and returns their number, even if they do
 * not fit; 0 for other events.  The bytes are the same on every machine, and for programs with the
 * same soname of the library only.  O(texts).  Threads: any.  Since 0.1.
 */
USHER_API size_t usher_event_pack(const struct usher_event *event, unsigned char *to, size_t size);
/**
 * Read bytes of usher_event_pack(): *@ret_kind is NOTICE or GAP, and the texts of *@ret_notice
 * point into @bytes (without NULs).  Any bytes are safe to read; the contents of the notice are not
 * checked.  USHER_OK; USHER_INVALID: not such bytes, and *@ret_notice is not to be read.  O(1).
 * Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_event_unpack(const unsigned char *bytes, size_t size,
                                               uint32_t *ret_kind, struct usher_notice *ret_notice);

/**
 * Write @reply as bytes, all of it but the tag, as usher_event_pack() writes an event.  @to NULL
 * and
 * @size 0 query the length.  0: @reply is NULL.  O(values).  Threads: any.  Since 0.1.
 */
USHER_API size_t usher_reply_pack(const struct usher_reply *reply, unsigned char *to, size_t size);
/**
 * Read bytes of usher_reply_pack().  The reply is the caller's: usher_reply_done().  Any bytes are
 * safe to read; the contents of the values are not checked.  USHER_OK; USHER_INVALID: not such
 * bytes; USHER_NOMEM.  O(values).  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_reply_unpack(const unsigned char *bytes, size_t size,
                                               struct usher_reply **ret_reply);

/* ---- introspection: for bindings, servers, shells ------------------------------------------- */

enum usher_type {
    USHER_TYPE_INT = 1,
    USHER_TYPE_BOOL,
    USHER_TYPE_CODE,
    USHER_TYPE_MS,
    USHER_TYPE_TIME,
    USHER_TYPE_MIN,
    USHER_TYPE_TOKEN,
    USHER_TYPE_SHARE, /* of 10,000; JSON and metrics have a decimal fraction */
    USHER_TYPE_TEXT,  /* this one and those after it are texts */
    USHER_TYPE_BYTES,
    USHER_TYPE__WIDE = 0x7fffffff
};

enum usher_verb_flag {
    USHER_VERB_WRITES = 1u << 0,     /* changes the scope */
    USHER_VERB_CREATES = 1u << 1,    /* creates it if it does not exist */
    USHER_VERB_REPEATABLE = 1u << 2, /* safe to repeat, also without a request id */
    USHER_VERB_WHOLE = 1u << 3,      /* of the store as a whole: it has no scope */
    USHER_VERB_FLAG__WIDE = 0x7fffffff
};

/* Static.  Grows at the end. */
struct usher_field_about {
    uint32_t field;
    enum usher_type type;
    const char *name; /* "LEASE" */
    const char *word; /* "lease", as in usher(1) and JSON; several fields may share one */
    const char *help;
};
/* Set `size` to that of the struct; grows at the end. */
struct usher_verb_about {
    size_t size;
    uint32_t verb;
    uint32_t flags;                 /* enum usher_verb_flag */
    const char *noun, *word, *help; /* noun: "" if the word alone is the command: `scopes` */
};

/* An argument of a verb.  Set `size` to that of the struct; grows at the end. */
struct usher_argument_about {
    size_t size;
    uint32_t field;
    bool must;        /* required */
    int64_t min, max; /* range of a number, or of the codes of a CODE that are accepted; texts: 0 */
    /* default, such as of a setting of a scope that is created; or USHER_NONE */
    int64_t standard;
    const char *help; /* one line; "0: …" is the meaning of USHER_NONE */
};

/** Return the description of a code; NULL or false: there is none.  usher_next_verb(0), then of the
 * verb it returned, …: all verbs of commands, then 0. */
USHER_API const struct usher_field_about *usher_about_field(uint32_t field);
USHER_API bool usher_about_verb(uint32_t verb, struct usher_verb_about *ret_about);
USHER_API uint32_t usher_next_verb(uint32_t verb);
/** Return the verb of these words ("number", "call"), 0: none.  @noun NULL or "": a verb of one
 * word ("scopes"). */
USHER_API uint32_t usher_verb_of(const char *noun, const char *word);
/** Return the field of @verb with the word @word ("lease"), 0: it takes none such. */
USHER_API uint32_t usher_field_of(uint32_t verb, const char *word);
/** Return the @i-th field that @verb takes, required ones first; 0: no more.  Those of every verb
 *  (REQUEST, NOW, WAIT) are last.  @ret_must may be NULL. */
USHER_API uint32_t usher_verb_takes(uint32_t verb, size_t i, bool *ret_must);
/** Describe @field as an argument of @verb; false: it takes none such, or every verb takes it. */
USHER_API bool usher_about_argument(uint32_t verb, uint32_t field,
                                    struct usher_argument_about *ret_about);
/** Return the @i-th field that an answer to @verb may have, or with @rows a row of it; 0: no more.
 */
USHER_API uint32_t usher_verb_tells(uint32_t verb, bool rows, size_t i);
/** Return the word of @code of @field of @noun ("round-robin"); NULL: there is none.  Static. */
USHER_API const char *usher_code_word(enum usher_noun noun, uint32_t field, int64_t code);

#ifdef __cplusplus
}
#endif

#endif
