/* SPDX-License-Identifier: MIT */
/*
 * Any command of any noun, and its answer, as values: for batches, bindings, servers.
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
 * Which fields a verb takes, and which its answer has: usher_verb_takes(), usher_verb_tells(). What
 * each verb does is said with the call of the same name.  Comes with usher.h.
 */
#ifndef USHER_COMMAND_H
#define USHER_COMMAND_H

#include <usher/usher.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_TO_NUL (-1)     /* a size: up to the NUL */
#define USHER_NONE INT64_MIN  /* of an answer: it has no such number */
#define USHER_ANSWER SIZE_MAX /* a row: none, but the answer itself */

/* One argument, or one field of an answer.  Never grows. */
struct usher_value {
    uint32_t field;   /* enum usher_field */
    int32_t size;     /* of the text in bytes; of an argument also USHER_TO_NUL */
    int64_t number;   /* of a field that is a number; of a TOKEN its 64 bits */
    const char *text; /* of a field that is a text; NUL-terminated in answers.  A CODE may be given
                       * by its word, else NULL */
};
/* clang-format off */
#define USHER_N(field, n)    { (field), 0, (n), NULL }
#define USHER_T(field, text) { (field), USHER_TO_NUL, 0, (text) }
/* clang-format on */

/* Never grows: all else about a command is a value.  Each field at most once, in any order. */
struct usher_command {
    uint32_t verb;                    /* enum usher_verb */
    int32_t scope_size;               /* in bytes, or USHER_TO_NUL */
    const char *scope;                /* NULL or "" for a verb that is USHER_VERB_WHOLE */
    const struct usher_value *values; /* used during the call only */
    size_t n;
    void *tag; /* given back in the reply */
};

/* Made by the library, to be read only, by any thread.  Grows at its end. */
struct usher_reply {
    enum usher_status status;
    uint32_t verb;
    void *tag;
    uint64_t epoch;   /* 0: the scope does not exist */
    uint64_t version; /* after the command; of USHER_LOST the last one known not to be lost */
    int64_t due_ms;   /* nothing of the scope changes by itself before; USHER_NEVER */
    int64_t now_ms;   /* the same clock at the answer: a timer waits for due_ms - now_ms */
    bool repeated;    /* the kept answer of an earlier command with this request id */
    bool more;        /* not all yet: ask again, with USHER_FIELD_AFTER if the answer has that */
    uint8_t replicas; /* with USHER_FIELD_WAIT: so many have it; at most USHER_WAIT_MAX */
    uint8_t n;        /* of the answer; what does not apply is not there */
    uint32_t n_rows;
    const struct usher_value *values;
    const char *message; /* one line, "" when there is nothing to say */
};

/**
 * Execute @n commands; ret_replies[i] answers commands[i] and is the caller's, who gives each back
 * with usher_reply_done().  Commands on one scope are applied in the order given.  Commands of
 * several threads that wait at the same time share one transaction (SQLite) or one pipeline
 * (Redis).  Each command is atomic; the batch is not.
 *
 * Blocks for @timeout_ms at most (1 to USHER_SPAN_MAX; 0: the engine's timeout).  A verb that is
 * USHER_VERB_WHOLE (`scopes`, `room list`) is many commands, which are executed in the place of
 * that command, each within the engine's timeout.  If a part of the store does not answer, its
 * reply is USHER_UNAVAILABLE with the rows of the other parts and USHER_FIELD_PARTIAL.
 *
 * Returns the worst of: USHER_OK (whatever the replies say); USHER_UNAVAILABLE, USHER_UNKNOWN,
 * USHER_LOST, USHER_NOMEM when at least one reply says so; and, without replies, USHER_INVALID
 * (this call itself: NULL, @n of 0 or above USHER_BATCH_MAX, @timeout_ms, an engine of the parent
 * process) or USHER_NOMEM (nothing was applied): then ret_replies[0] is NULL.
 *
 * Cost: that of the store, one allocation for all replies and one for each that has more than a
 * few values.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_execute(struct usher_engine *e,
                                          const struct usher_command *commands, size_t n,
                                          int64_t timeout_ms, struct usher_reply **ret_replies);

/** Give @reply back.  NULL is fine.  Any thread. */
USHER_API void usher_reply_done(struct usher_reply *reply);

/**
 * The values of row @row, or with USHER_ANSWER those of the answer; *@ret_n is their number.  They
 * live until usher_reply_done().  NULL: there is no such row.  O(1).
 */
USHER_API const struct usher_value *usher_reply_values(const struct usher_reply *reply, size_t row,
                                                       size_t *ret_n);
/** One number; USHER_NONE: it is not there.  O(values of the row). */
USHER_API int64_t usher_reply_int(const struct usher_reply *reply, size_t row, uint32_t field);
/** One text, NUL-terminated; NULL: it is not there.  @ret_size may be NULL.  O(values of the row).
 */
USHER_API const char *usher_reply_text(const struct usher_reply *reply, size_t row, uint32_t field,
                                       size_t *ret_size);
/** The word of a CODE; NULL: it is not there.  Static.  O(values of the row). */
USHER_API const char *usher_reply_word(const struct usher_reply *reply, size_t row, uint32_t field);

/* ---- as text -------------------------------------------------------------------------------- */

/**
 * The command that @line is, as usher(1) takes it and as its shell does, quotes and all: NOUN VERB
 * SCOPE, then the arguments that must be given in their order, then others as key=value; durations
 * in ms or as 90s, 5m, 2h, 1d.  @line_size in bytes, without a newline.
 *
 * It and its texts live in @room, of @size bytes, which is the caller's and may be anywhere.  Twice
 * the line and 2 KiB are enough for any line.  The tag is NULL.
 *
 * USHER_OK       *@ret_command is the command.  Whether the engine takes it is said by its reply
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
 * @reply in some form: at most @size bytes at @to, the last of them a NUL.  Which keys there are
 * and in which order is a public interface (`usher help json`): new ones go behind the old ones.
 *
 * JSON: a number beyond 2^53 is a string, as readers keep doubles; a token is one always.  A value
 * of type BYTES (of fields, shares, histories of rooms) that is not UTF-8 is the object
 * {"b64":"…"}, its bytes in base64; no other value looks like it, so none is lost.  In a message
 * such a byte is \u00NN.  Controls below U+0020, U+0085, U+2028 and U+2029 are escaped: the object
 * is one line for every reader.
 *
 * PACKED, for any library of MessagePack: the same keys.  Numbers and tokens are integers of 64
 * bits, a share is a float 64; names, words and what the program made are str; what is any bytes
 * (fields of type BYTES, values in rooms) is bin.
 *
 * RESP has the same keys and values in the same order, bytes as they are; what is a number in JSON
 * is an integer.  RESP2 has no truth values, which are 0 and 1 there, and no fractions, which are
 * texts.  A reply that failed (USHER_CLASS_WRONG, USHER_CLASS_FAILED) is an error: its first word
 * is that of the status in capitals, behind LOST stands the version, then the message.
 *
 * Returns the bytes of all of it without the NUL, whether they fit or not: with @to NULL and @size
 * 0 it asks how many there are.  0: @reply is NULL or there is no such form.
 *
 * Cost: O(values).  Threads: any.  Since 0.1.
 */
USHER_API size_t usher_reply_write(const struct usher_reply *reply, enum usher_form form, char *to,
                                   size_t size);

/** The same of a notice. */
USHER_API size_t usher_notice_write(const struct usher_notice *notice, enum usher_form form,
                                    char *to, size_t size);

/* ---- without waiting ------------------------------------------------------------------------ */

/*
 * usher_post() takes commands and returns at once; usher_collect() hands out their replies, one
 * event at a time.  An event loop watches one descriptor and one timer; no thread is started and
 * nothing calls back.
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
 * usher_collect() also does what is posted, up to 256 commands at a time.
 *
 *  - On memory it never waits.
 *  - On Redis (also over TLS, where the master is one of several hosts, and on a cluster) it does
 *    what can be done now and comes back to the rest when the descriptor or the timer says so:
 *    connecting, handshake, scripts, answers, another try after a failure, which node of a cluster
 *    has a scope.  A node that does not answer holds up what was posted for its own scopes, and
 *    what is read of their logs (of more than 16 nodes, for those of others in its share as well);
 *    and `room open`, `close` and `sweep`, for the index of rooms is on all nodes, of one another.
 *    usher_collect() stands still only for the name of a host that a name server has to be asked
 *    for, with each new connection (addresses and names in a local file are not asked for), and for
 *    the program's own functions.  An authority, a history and a journal are such functions, and
 *    what is done with the store on both sides of them is waited for, too: with an authority
 *    `serial` and `id` commands that may have to ask it; with a history those of queues; with a
 *    journal all.  A verb that is USHER_VERB_WHOLE is many commands and is waited for, too.
 *  - On SQLite it waits for the disk.
 *
 * A program whose loop must not wait for that gives usher_work() a thread of its own.
 * examples/epoll.c is a whole program.
 *
 * Posted commands are done in the order of posting, one batch after the other, and their events
 * come in that order; on a cluster in that of each scope, and on Redis those that wait for replicas
 * (USHER_FIELD_WAIT) hold up no others but those on their scopes.  What is cancelled, or has no
 * time left before it is begun, is answered at once and so may be earlier.  There is no order
 * between them and the commands of other calls. usher_watch_events() has what is changed collected
 * as well, before the reply to who changed it.
 *
 * The first of these calls (but usher_cancel(), usher_timeout(), usher_interrupt()) takes three
 * descriptors, four on Redis, which usher_close() gives back; an engine that never posts has none.
 * What is under way for several nodes of a cluster has one more.  In a watcher of the engine they
 * may be called, but usher_collect() and usher_work() with a timeout of 0 only.  After fork() the
 * child's calls answer as all calls do, and leave the parent's descriptors alone.
 */
enum usher_event_kind {
    USHER_EVENT_REPLY = 1, /* to a command that was posted */
    USHER_EVENT_NOTICE,    /* of a watcher: one change (usher.h); see usher_watch_events() */
    USHER_EVENT_GAP,       /* of a watcher: something was not told */
    USHER_EVENT_KIND__WIDE = 0x7fffffff
};

/* Made by the library, to be read only, by any thread.  Never grows. */
struct usher_event {
    uint32_t kind; /* enum usher_event_kind; others may come: give them back unread */
    uint32_t reserved;
    void *tag;                         /* of the command, or of the watcher */
    const struct usher_reply *reply;   /* goes with the event: no usher_reply_done(); else NULL */
    const struct usher_notice *notice; /* goes with the event; NULL with a REPLY */
};

/**
 * Have @n commands done later.  They are copied with their values and texts.  Each gets exactly one
 * event: also one that is wrong (its reply is USHER_INVALID and says why), and one for which there
 * is no memory any more.
 *
 * A command has @timeout_ms (1 to USHER_SPAN_MAX; 0: the engine's timeout) from now on.  If that is
 * over before the command is begun, it is not begun and its reply is USHER_UNAVAILABLE.  Commands
 * that are done together share the time of the one that has the least left, which is at least half
 * of what each of them has left.  What takes longer than that, to connect to a server say, goes on
 * for the commands behind them.
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
 * The next event, a reply, a notice or a gap, which is the caller's until usher_event_done(). NULL:
 * none within @timeout_ms (0: do not wait for other threads; < 0: for ever), interrupted, or the
 * call itself failed, as usher_message() then says: an engine of the parent process, no memory, no
 * descriptors.
 *
 * If there is none yet and no thread is in usher_work(), it executes the next batch of what is
 * posted; where that waits (above) it takes as long as usher_execute() would, whatever @timeout_ms.
 *
 * Cost: of an event that is there, O(1).  Threads: any, several at a time: each event is handed out
 * once, and while one of them executes the others wait.  Since 0.1.
 */
USHER_API const struct usher_event *usher_collect(struct usher_engine *e, int64_t timeout_ms);

/** Give @event back, with its reply or notice.  NULL is fine.  Any thread, also after
 * usher_close().  Since 0.1. */
USHER_API void usher_event_done(const struct usher_event *event);

/**
 * A descriptor that is readable exactly while usher_collect(e, 0) has something to hand out, to
 * execute or to go on with: for poll(), epoll and the like, level-triggered.  It is the engine's:
 * do not read, write or close it.  -1: an engine of the parent process, no memory, no descriptors,
 * or a system without eventfd().
 *
 * Cost: O(1).  Threads: any.  Since 0.1.
 */
USHER_API int usher_fd(struct usher_engine *e);

/**
 * In how many ms usher_collect() should be called though the descriptor is silent: the time of what
 * waits or is under way is over then, a server is to be tried again, or a watcher looks at its log.
 * It may be too early, never too late. 0: now; INT32_MAX at most, so it fits an int.  -1: there is
 * no need (or the engine is of the parent process).  Ask again after each usher_post() and
 * usher_collect().
 *
 * Cost: O(1).  Threads: any.  Since 0.1.
 */
USHER_API int64_t usher_timeout(struct usher_engine *e);

/**
 * Take back what is posted with @tag (NULL: everything, whatever its tag) and not begun: its reply
 * is USHER_UNAVAILABLE with the message "cancelled".  What was begun, though it may not be sent
 * yet, is answered as if nothing had been cancelled.
 *
 * USHER_OK       at least one command was taken back
 * USHER_MISSING  none: it is begun or answered, or was never posted
 * USHER_INVALID  an engine of the parent process
 *
 * Cost: O(commands that wait).  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_cancel(struct usher_engine *e, const void *tag);

/**
 * Do what is posted, for a thread of the program that may wait for the store.  While a thread is in
 * here, usher_collect() begins nothing and so does not wait for the store.
 *
 * With @timeout_ms < 0 it works until it is interrupted: usher_work(e, -1) is all that such a
 * thread needs.  Otherwise it waits so long for something to do, does what there is, and returns
 * when nothing is left or the time is over; usher_collect() may execute before it is called again.
 *
 * USHER_OK           something was done
 * USHER_SAME         nothing was posted within @timeout_ms
 * USHER_UNAVAILABLE  usher_interrupt() was called; what was done until then is done
 * USHER_INVALID      an engine of the parent process
 * USHER_NOMEM        no memory or no descriptors
 *
 * Threads: any.  More than one are of no use: batches are done one after the other.  None may be in
 * here when usher_close() is called: interrupt them and wait for their end.  Since 0.1.
 */
USHER_API enum usher_status usher_work(struct usher_engine *e, int64_t timeout_ms);

/**
 * With @on, end all waiting in usher_collect() and usher_work(), now and until it is switched off:
 * the one returns events that are there and executes if it has to, but waits no more; the other
 * begins nothing and returns USHER_UNAVAILABLE.  What is with the store goes on to its end or its
 * deadline, and usher_execute() and the calls of nouns take no notice.
 *
 * Cost: O(1).  Threads: any, a signal handler too.  Since 0.1.
 */
USHER_API void usher_interrupt(struct usher_engine *e, bool on);

/* ---- to watch ------------------------------------------------------------------------------- */

enum usher_watch_flag {
    USHER_WATCH_SINCE = 1u << 0, /* first what is behind @since, from the scope's log */
    USHER_WATCH_ALL = 1u << 1,   /* with SINCE: also what other engines change, as it is published
                                  * or from the log every half second */
    USHER_WATCH_TEND = 1u << 2,  /* sweep the scope when something of it is due */
    USHER_WATCH_FLAG__WIDE = 0x7fffffff
};

/**
 * Have the changes that this engine makes on scope @scope of @noun (NULL: on all scopes of it; 0:
 * of all nouns) collected by usher_collect(), as events with @tag.  A NOTICE is one change
 * (usher.h), told once, in order of version per scope, after it is durable; USHER_NOTICE_LOST
 * likewise.  Its texts have a NUL behind them and live, as all of it does, until
 * usher_event_done(): on any thread, also after usher_close().
 *
 * The notices of what a posted command changed are collected before its reply (and before its
 * `wait` is over), but for those that a room with `presence` tells together later, and those that
 * come from a log.  Of other calls they may be collected before these return.  Several threads that
 * collect take the events of one scope in order, whatever they do then.
 *
 * A GAP says that something was, or may have been, missed: more than usher_options.backlog notices
 * were not collected, there was no memory, or a command was answered USHER_UNKNOWN.  It is told
 * once, where it belongs; what is told behind it is complete again.  Of its notice there are: noun
 * and scope (size 0: any that the watcher is of); `before`, behind which something is missing;
 * `epoch`, `version` and `mark`, behind which it goes on.  0 of these is not known.
 *
 * With USHER_WATCH_SINCE (one scope with a log: a room, or another one with the setting log) the
 * watcher is told of all changes behind version @since (0: from the beginning), whoever made
 * them, each once and without a hole: first those in the log, then those that are made.  What is
 * not collected in time it takes from the log later; a GAP comes only where the log does not reach
 * back (to `since` or to what was told), or there is none, the store lost what was told
 * (usher.h), or the scope is gone (then all three are 0) or another one (version 0: all of it is
 * told now).  Of a room that closes USHER_ROOM_DONE may be left out.
 * What other engines change is told with the next change of this one, or with USHER_WATCH_ALL
 * within half a second.  On Redis the engine subscribes to a room with push=1, and the notice of
 * such a change comes at once; usher_collect(), usher_work() and usher_fd() do that, too.  The log
 * is read by usher_collect() or usher_work() as if `changes` were posted, and without an answer
 * again and again; usher_timeout() says when.
 *
 * With USHER_WATCH_TEND (one scope) what is due happens in time, without anybody's command: a hold
 * or a rest ends, an agent's wrap-up is over and the next caller is seated, a room without members
 * closes.  When it is due usher_timeout() is over, and usher_collect() or usher_work() sweeps the
 * scope, as if `sweep` were posted; so one timer, that of usher_timeout(), keeps any number of
 * scopes moving.  It goes by what this engine changes (and reads, with SINCE) and by its own clock:
 * where the store has another one, that of Redis, it asks every few milliseconds until that is as
 * far.  What another engine has made due before is swept when this one comes to know of it.
 *
 * USHER_OK
 * USHER_REFUSED  TEND, and nothing of @noun is ever due, or time is given
 *                (usher_options.clock_given)
 * USHER_INVALID  an argument, or an engine of the parent process
 * USHER_NOMEM    no memory or, with the first call, no descriptors
 *
 * Cost: some 2 KiB; a copy of each notice (some 300 bytes and its texts) on the thread that makes
 * the change.  Never waits.  What was begun before, by another thread or posted and not answered
 * yet, may not be told, and `before` of the next notice shows it; with SINCE it is, within the
 * engine's timeout.  usher_unwatch() ends it.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_watch_events(struct usher_engine *e, enum usher_noun noun,
                                               const char *scope, unsigned flags, uint64_t since,
                                               void *tag, struct usher_watcher **ret_watcher);

/**
 * A NOTICE or GAP as bytes, for who has no engine: to feed a replica at the other end of a network.
 * Writes at most @size of them to @to and returns how many there are, whether they fit or not; 0
 * for other events.  They mean the same on every machine, and to a program of the same form only
 * (the library's soname).  O(texts).  Threads: any.  Since 0.1.
 */
USHER_API size_t usher_event_pack(const struct usher_event *event, unsigned char *to, size_t size);
/**
 * Read them: *@ret_kind is NOTICE or GAP, and the texts of *@ret_notice point into @bytes (without
 * NULs).  Bytes from elsewhere do no harm; what the notice says is not judged.  USHER_OK;
 * USHER_INVALID: not understood, and *@ret_notice has nothing to be read.  O(1).  Threads: any.
 * Since 0.1.
 */
USHER_API enum usher_status usher_event_unpack(const unsigned char *bytes, size_t size,
                                               uint32_t *ret_kind, struct usher_notice *ret_notice);

/* ---- what there is: for bindings, servers, shells ------------------------------------------- */

enum usher_type {
    USHER_TYPE_INT = 1,
    USHER_TYPE_BOOL,
    USHER_TYPE_CODE,
    USHER_TYPE_MS,
    USHER_TYPE_TIME,
    USHER_TYPE_MIN,
    USHER_TYPE_TOKEN,
    USHER_TYPE_TEXT, /* this one and those after it are texts */
    USHER_TYPE_BYTES,
    USHER_TYPE__WIDE = 0x7fffffff
};

enum usher_verb_flag {
    USHER_VERB_WRITES = 1u << 0,     /* changes the scope */
    USHER_VERB_CREATES = 1u << 1,    /* makes it */
    USHER_VERB_REPEATABLE = 1u << 2, /* a repeat does no harm, also without a request id */
    USHER_VERB_WHOLE = 1u << 3,      /* of the store as a whole: it has no scope */
    USHER_VERB_FLAG__WIDE = 0x7fffffff
};

/* Static.  Grows at the end. */
struct usher_field_about {
    uint32_t field;
    enum usher_type type;
    const char *name; /* "LEASE" */
    const char *word; /* "lease", as in usher(1) and JSON; not of one field alone */
    const char *help;
};
/* Set `size` to that of the struct; grows at the end. */
struct usher_verb_about {
    size_t size;
    uint32_t verb;
    uint32_t flags;                 /* enum usher_verb_flag */
    const char *noun, *word, *help; /* noun: "" if its word is all that is typed: `scopes` */
};

/* What a verb takes.  Set `size` to that of the struct; grows at the end. */
struct usher_argument_about {
    size_t size;
    uint32_t field;
    bool must;
    int64_t min, max; /* of a number; of a CODE those that can be given.  Of texts both are 0 */
    /* what it is when not given: a setting of a scope that is made, and the like; or USHER_NONE */
    int64_t standard;
    const char *help; /* one line; "0: …" is what USHER_NONE is */
};

/** By code; NULL or false: there is none.  usher_next_verb(0), (that), …: all that can be given,
 * then 0. */
USHER_API const struct usher_field_about *usher_about_field(uint32_t field);
USHER_API bool usher_about_verb(uint32_t verb, struct usher_verb_about *ret_about);
USHER_API uint32_t usher_next_verb(uint32_t verb);
/** The verb of these words ("number", "call"), 0: none.  @noun NULL or "": one of a word by itself
 * ("scopes"). */
USHER_API uint32_t usher_verb_of(const char *noun, const char *word);
/** The field that @word is for @verb ("lease"), 0: it takes none such. */
USHER_API uint32_t usher_field_of(uint32_t verb, const char *word);
/** The @i-th field that @verb takes, those that must be given first; 0: no more.  Those of every
 *  verb (REQUEST, NOW, WAIT) are last.  @ret_must may be NULL. */
USHER_API uint32_t usher_verb_takes(uint32_t verb, size_t i, bool *ret_must);
/** What @field is to @verb; false: it takes none such, or it is one of every verb. */
USHER_API bool usher_about_argument(uint32_t verb, uint32_t field,
                                    struct usher_argument_about *ret_about);
/** The @i-th field that an answer to @verb may have, or with @rows a row of it; 0: no more. */
USHER_API uint32_t usher_verb_tells(uint32_t verb, bool rows, size_t i);
/** The word of @code of @field of @noun ("round-robin"); NULL: there is none.  Static. */
USHER_API const char *usher_code_word(enum usher_noun noun, uint32_t field, int64_t code);

#ifdef __cplusplus
}
#endif

#endif
