/* SPDX-License-Identifier: MIT */
/*
 * usher: hand out scarce things, each to one holder at a time.
 *
 * A program opens an engine on a store (memory, SQLite, Redis) by URL and executes commands on it.
 * A command names one scope (a number pool, a queue, a room, a serial rule, an id dispenser), is
 * applied completely or not at all, and gets one reply with a status, and the epoch and version of
 * the scope.  usher(3) names the fourteen functions to begin with.
 *
 * Rules for every function:
 *  - Threads: an engine may be used from any number of threads at once.  It starts none.
 *  - fork(): a child must not use an engine opened by its parent: calls return USHER_INVALID.  It
 *    calls usher_close(), which leaves the parent's engine alone, and opens its own.  With SQLite
 *    it must close first: locks are not inherited but SQLite's record of them is, and the child's
 *    writes could be lost.
 *  - Input strings are copied, or used during the call only.  Results are written into the caller's
 *    memory, on success only unless stated otherwise.
 *  - The calls of a noun (usher_NOUN_VERB(): number.h, queue.h, room.h, serial.h, ids.h) have their
 *    arguments in this order: engine, scope, subject of the verb, options, answer.  In options and
 *    settings 0 or NULL = not given; USHER_NONE or "" = explicitly none, never or off (of a code:
 *    …_OFF).  An answer is written for every status.  Structs of the program's begin with their
 *    size (…_INIT sets it) and grow at their end, so they may be shorter than the library's.  Those
 *    without a size never grow.
 *  - Times are Unix milliseconds, durations milliseconds.
 *  - Names (scope, number, owner, group, peer, request id) are 1..USHER_NAME_MAX bytes of
 *    valid UTF-8 without control characters; scope names also without '{' and '}'.
 *  - The library never prints, exits, raises signals, or changes the locale.
 *  - In C++ some types have the name of a function: write `struct usher_watcher`.
 *
 * Since 0.1.
 */
#ifndef USHER_USHER_H
#define USHER_USHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <usher/fields.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(USHER_BUILD) && defined(__GNUC__)
#define USHER_API __attribute__((visibility("default")))
#else
#define USHER_API
#endif

#define USHER_VERSION "0.1.0"
#define USHER_VERSION_NUMBER 0x000100 /* major, minor, patch: 8 bits each */

#define USHER_NONE INT64_MIN                      /* a number that is none or unknown */
#define USHER_NAME_MAX 255                        /* bytes of a name, without the closing NUL */
#define USHER_CURSOR_MAX (USHER_NAME_MAX + 16)    /* bytes of a cursor of usher_scopes() */
#define USHER_VALUE_MAX 65536                     /* bytes of a value */
#define USHER_FIELDS_MAX 32                       /* fields in one text of a command */
#define USHER_NUMBER_GROUPS_MAX 16                /* groups in one `group=` list of a call */
#define USHER_LIST_TEXT_MAX 4096                  /* bytes of such a list */
#define USHER_TIME_MAX INT64_C(253402300799999)   /* the last ms of the year 9999 */
#define USHER_SPAN_MAX INT64_C(3153600000000)     /* a hundred years in ms */
#define USHER_EXACT_MAX INT64_C(9007199254740991) /* the largest count, version, setting */
#define USHER_NEVER INT64_MAX                     /* a time that does not come */
#define USHER_BATCH_MAX 65536                     /* commands of one usher_execute() */
#define USHER_MESSAGE_MAX 192                     /* bytes of a message, with its NUL */
#define USHER_WAIT_MAX 255                        /* replicas that a command waits for */
#define USHER_LIST_MAX 10000                      /* rows of one list, records moved by one sweep */
#define USHER_LIST_DEFAULT 100
#define USHER_PAGE_MAX 256   /* records that one page of a list reads, even if its max is larger */
#define USHER_LOG_MAX 100000 /* notices that a scope keeps */
#define USHER_TIMEOUT_DEFAULT 5000 /* ms */
#define USHER_SKEW_DEFAULT 1000    /* ms */

/* ---- answers ---------------------------------------------------------------------- */

/* X(name, code, word, meaning).  A code's upper digits are its class, which is the exit status of
 * usher(1).  ABI: append to a class, never reuse. */
#define USHER_STATUS_MAP(X)                                                                \
    X(OK, 0x00, "ok", "done")                                                              \
    X(SAME, 0x01, "same", "already so; nothing changed")                                   \
    X(MISSING, 0x10, "missing", "no such thing in this scope")                             \
    X(REFUSED, 0x11, "refused", "not allowed from the current state")                      \
    X(EMPTY, 0x12, "empty", "nothing is free")                                             \
    X(FULL, 0x13, "full", "a limit is reached")                                            \
    X(STALE, 0x14, "stale", "the token, version or expected value is not the current one") \
    X(INVALID, 0x20, "invalid", "the arguments are wrong; the message says which")         \
    X(UNAVAILABLE, 0x30, "unavailable", "no store; nothing was applied")                   \
    X(UNKNOWN, 0x31, "unknown", "sent but not answered; it may have been applied")         \
    X(LOST, 0x32, "lost", "the store lost what this token or version refers to")           \
    X(NOMEM, 0x33, "nomem", "out of memory; nothing was applied")

enum usher_status {
#define USHER__S(name, code, word, text) USHER_##name = code,
    USHER_STATUS_MAP(USHER__S)
#undef USHER__S
        USHER_STATUS__WIDE = 0x7fffffff /* all enums are as wide as an int, in C++ too */
};

/* Later versions may add statuses, each in one of these classes. */
enum usher_class {
    USHER_CLASS_DONE = 0,   /* ok, same: the requested state holds */
    USHER_CLASS_NO = 1,     /* refused by the state of the scope */
    USHER_CLASS_WRONG = 2,  /* an error of the caller */
    USHER_CLASS_FAILED = 3, /* the store failed, or lost data */
    USHER_CLASS__WIDE = 0x7fffffff
};
/* The class of a status, also of one that this header does not know. */
#define USHER_CLASS_OF(status) ((enum usher_class)((unsigned)(status) >> 4))
#define USHER_IS_DONE(status) ((unsigned)(status) < 0x10u)

/** Return the word of @status ("ok", "same", …), or "?".  Static. */
USHER_API const char *usher_status_word(enum usher_status status);
/** Return a one-line description of @status.  Static. */
USHER_API const char *usher_status_text(enum usher_status status);

/** Return the version of the library in use, "0.1.0"; it may be newer than USHER_VERSION. */
USHER_API const char *usher_version(void);
/** The same as USHER_VERSION_NUMBER. */
USHER_API uint32_t usher_version_number(void);

/* ---- hooks and options ------------------------------------------------------------ */

/*
 * Allocator.  resize(payload, NULL, 0, n) allocates, resize(payload, p, old, n) resizes, and
 * resize(payload, p, old, 0) frees and returns NULL.  `old` is the exact current size.  Called from
 * any thread that uses the engine.  NULL instead of the struct: malloc().  Never grows.  SQLite and
 * hiredis' reply reader have process-wide allocators of their own.
 */
struct usher_allocator {
    void *(*resize)(void *payload, void *p, size_t old, size_t size);
    void *payload;
};

enum usher_log_level {
    USHER_LOG_DEBUG,
    USHER_LOG_INFO,
    USHER_LOG_NOTICE,  /* normal, but of interest to an operator */
    USHER_LOG_WARNING, /* something is wrong or at risk */
    USHER_LOG_ERROR,   /* something was not done */
    USHER_LOG_LEVEL__WIDE = 0x7fffffff
};

struct usher_operation;
struct usher_result;
struct usher_driver;    /* store/store.h: a URL scheme of your own */
struct usher_authority; /* authority.h */
struct usher_history;   /* history.h */

/*
 * Options of usher_open().
 *
 * Callbacks (alloc, now_ms, log, trace, the authority, the history, and that of usher_check()) must
 * not use the engine that calls them: such a call returns USHER_INVALID.  They may use another
 * engine.  alloc, now_ms and log are called on any thread that uses the engine, while it holds
 * locks: they should be quick.
 */
struct usher_options {
    size_t size;                         /* set by USHER_OPTIONS_INIT */
    const struct usher_allocator *alloc; /* must outlive the engine */
    /* Deadline of each call, ms; 0 = USHER_TIMEOUT_DEFAULT.  It does not cover host name lookups:
     * use addresses if the resolver may be slow. */
    int64_t timeout_ms;
    /* The application's clock, Unix ms; NULL = the store's own. */
    int64_t (*now_ms)(void *payload);
    /* Log callback: one line without newline (connection lost, a store that may lose writes, …). */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    /* Trace callback: each command and its answer, on the thread that executed it. */
    void (*trace)(void *payload, const struct usher_operation *command,
                  const struct usher_result *reply);
    void *payload;                      /* of the callbacks above, and of password() */
    const struct usher_driver *drivers; /* additional URL schemes, a linked list */
    /* Grants ranges of serials and ids, so that none is issued twice even if the store is lost.
     * NULL = that of the URL, or none.  Owned by the application. */
    struct usher_authority *authority;
    bool journal; /* record the life of each serial with the authority; needs one */
    /* Receives ended visits of queues.  NULL = that of the URL, or none.  Owned by the
     * application. */
    struct usher_history *history;
    /* How far a time from the application (`now`, or now_ms() above) may be ahead of the store's
     * own clock, ms.  A later time is USHER_INVALID.  Within this limit it orders and stamps, but
     * ends nothing early: expiries and the start of durations follow the store's clock.
     * 0 = the URL's `skew=`, or USHER_SKEW_DEFAULT. */
    int64_t skew_ms;
    /* `clock=given`: the application's time is the store's clock, however far ahead, as in a
     * replay, a simulation or a test. */
    bool clock_given;
    /* Return the password of a Redis store whose URL has none.  Called for each new connection, so
     * the password may change.  Write at most @size bytes (512) including the NUL to @to, or return
     * false: the connection is then not made.  Runs on any thread that uses the engine; must not
     * use the engine, and should return quickly.  NULL = no password. */
    bool (*password)(void *payload, char *to, size_t size);
    /* Maximum posted commands (command.h), and maximum notices of watchers, that are not yet
     * collected; 0 = 65,536. */
    size_t backlog;
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_OPTIONS_INIT { sizeof(struct usher_options) }
#else
#define USHER_OPTIONS_INIT { .size = sizeof(struct usher_options) }
#endif
/* clang-format on */

/* ---- engine ----------------------------------------------------------------------- */

struct usher_engine;

/**
 * Open an engine on the store named by @url:
 *
 *   memory:                                    this process only
 *   sqlite:PATH[?sync=full|normal|off]         one file, any number of processes
 *   redis://[user[:password]@]host[:port][/db] one server (default 127.0.0.1:6379)
 *   rediss://...                               the same over TLS
 *   redis+unix://[user[:password]@]/path       the same over a socket file
 *   redis+cluster://[user[:password]@]host[:port][,host[:port]...]
 *                                              Redis Cluster, by up to 32 of its nodes
 *   rediss+cluster://...                       the same over TLS
 *   redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/name
 *                                              the master of that name, whose address is queried
 *                                              from up to 32 Sentinels (default port 26379)
 *   rediss+sentinel://...                      the same over TLS, to the Sentinels as well
 *
 * `redis:` and `rediss:` may list several hosts, too: the one that is a master is used, and if two
 * are masters, neither (USHER_UNAVAILABLE).
 *
 * Options follow `?` and are joined by `&`: `timeout=MS`, `skew=MS`, `clock=store|given`,
 * `authority=sqlite:PATH` (authority.h), `journal=0|1` and `history=sqlite:PATH` (history.h) for
 * all; `sync=` and `create=0|1` for SQLite (0 = do not create the file); `prefix=TEXT`,
 * `name=TEXT`, `db=N` and `password-file=PATH` for Redis (instead of a password: the one line of
 * that file, read again for each connection); `ca=FILE` (trusted certificates), `cert=FILE` and
 * `key=FILE` (the client's own) and `tls-name=NAME` (the name in the server's certificate; default
 * the host) for TLS.  In a URL, bytes may be written %XX.
 * @opt may be NULL.  This connects to Redis.
 *
 * USHER_MISSING      create=0, and there is no such file
 * USHER_INVALID      the URL or an option is wrong, or the file is not ours
 * USHER_UNAVAILABLE  the store cannot be opened or reached
 * USHER_NOMEM
 * usher_message() has the reason.
 *
 * Cost: memory < 1 ms, SQLite some ms, Redis a few round trips.
 */
USHER_API enum usher_status usher_open(const char *url, const struct usher_options *opt,
                                       struct usher_engine **ret_engine);

/**
 * Close @e and its store.  NULL is allowed.
 *
 * No other call on @e may be in progress.  Called from a callback or watcher of @e, this does
 * nothing and sets usher_message().  With a history, ended visits are moved there first, within the
 * timeout.  Posted commands that have begun are completed, others are dropped, and so are events
 * that were not collected (command.h).
 *
 * In a child of fork() this releases the child's copy and leaves the parent's store alone.  If a
 * call was in progress in the parent at the time of the fork, the copy is not released.
 */
USHER_API void usher_close(struct usher_engine *e);

/**
 * Return the error message of this thread's last call: one line, outermost layer first; "" after
 * success.  Never NULL; valid until the thread's next call.
 */
USHER_API const char *usher_message(void);

/* ---- commands and replies --------------------------------------------------------- */

/* Borrowed bytes.  data NULL = not given. */
struct usher_text {
    const char *data;
    size_t size;
};

enum usher_noun {
    USHER_NUMBER = 1,
    USHER_QUEUE = 2,
    USHER_ROOM = 3,
    USHER_SERIAL = 4,
    USHER_ID = 5,
    USHER_ROOMS = 6, /* the room directory: the engine's own */
    USHER_STORE = 8, /* the store as a whole: no noun of a scope, but of some verbs */
    USHER_NOUN__WIDE = 0x7fffffff
};

/* Whether a number pool or a queue accepts calls or users, and serves them (setting `mode`). */
enum usher_scope_mode {
    USHER_SCOPE_MODE_OPEN = 1,    /* accepts and serves */
    USHER_SCOPE_MODE_CLOSED = 2,  /* accepts no new calls or users; users that wait are served */
    USHER_SCOPE_MODE_STOPPED = 3, /* serves none of the waiting users, either */
    USHER_SCOPE_MODE__WIDE = 0x7fffffff
};

/* Codes are ABI and stored with request ids: append, never reuse.  Codes of a noun from 0xc0 on are
 * of notices only. */
enum usher_verb {
    USHER_NUMBER_ADD = 0x101,
    USHER_NUMBER_DEL,
    USHER_NUMBER_REG,
    USHER_NUMBER_UNREG,
    USHER_NUMBER_CALL,
    USHER_NUMBER_HANGUP,
    USHER_NUMBER_RENEW,
    USHER_NUMBER_FREE,
    USHER_NUMBER_SHOW,
    USHER_NUMBER_LIST,
    USHER_NUMBER_STATS,
    USHER_NUMBER_SET,
    USHER_NUMBER_SWEEP,
    USHER_NUMBER_LIFT,
    USHER_NUMBER_DROP,
    USHER_NUMBER_CHANGES,
    USHER_NUMBER_MOVE,
    USHER_NUMBER_EXPIRE = 0x1c0, /* a hold or a rest expired */
    USHER_NUMBER_OUTAGE,         /* no command reached the pool for a while: leases continue */
    USHER_QUEUE_SET = 0x201,
    USHER_QUEUE_LOGIN,
    USHER_QUEUE_LOGOUT,
    USHER_QUEUE_PAUSE,
    USHER_QUEUE_READY,
    USHER_QUEUE_ALIVE,
    USHER_QUEUE_ROOM,
    USHER_QUEUE_APPLY,
    USHER_QUEUE_WHERE,
    USHER_QUEUE_LEAVE,
    USHER_QUEUE_FINISH,
    USHER_QUEUE_ACCEPT,
    USHER_QUEUE_REJECT,
    USHER_QUEUE_PULL,
    USHER_QUEUE_MATCH,
    USHER_QUEUE_SWEEP,
    USHER_QUEUE_LIST,
    USHER_QUEUE_AGENTS,
    USHER_QUEUE_STATS,
    USHER_QUEUE_HISTORY,
    USHER_QUEUE_MOVE,
    USHER_QUEUE_FREE,
    USHER_QUEUE_DRAIN,
    USHER_QUEUE_DROP,
    USHER_QUEUE_CHANGES,
    USHER_QUEUE_LANES,
    USHER_QUEUE_INTERVALS,
    USHER_QUEUE_WAITS,
    USHER_QUEUE_EXPIRE = 0x2c0, /* a deadline has passed */
    USHER_QUEUE_REQUEUE,        /* a user whose agent is gone */
    USHER_QUEUE_OUTAGE, /* no command reached the queue for a while: heartbeats stay valid */
    USHER_ROOM_OPEN = 0x301,
    USHER_ROOM_CLOSE,
    USHER_ROOM_LOCK,
    USHER_ROOM_UNLOCK,
    USHER_ROOM_SET,
    USHER_ROOM_UNSET,
    USHER_ROOM_GET,
    USHER_ROOM_JOIN,
    USHER_ROOM_LEAVE,
    USHER_ROOM_KICK,
    USHER_ROOM_ALIVE,
    USHER_ROOM_MEMBER,
    USHER_ROOM_ALL,
    USHER_ROOM_ROLE,
    USHER_ROOM_SHARE,
    USHER_ROOM_UNSHARE,
    USHER_ROOM_SHOW,
    USHER_ROOM_SNAPSHOT,
    USHER_ROOM_CHANGES,
    USHER_ROOM_SWEEP,
    USHER_ROOM_STATS,
    USHER_ROOM_FADE = 0x3c0, /* a member without heartbeats is away, offline or removed */
    USHER_ROOM_DROP,
    USHER_ROOM_EXPIRE,
    USHER_ROOM_EMPTY,    /* it closes, because it was empty for `linger` */
    USHER_ROOM_DONE,     /* the last one, nothing of the room is left */
    USHER_ROOM_PRESENCE, /* several changes, see usher_room_presence() */
    USHER_ROOM_OUTAGE,   /* no command reached the room for a while: heartbeats stay valid */
    USHER_ID_CREATE = 0x501,
    USHER_ID_NEXT,
    USHER_ID_SHOW,
    USHER_ID_SET,
    USHER_ID_DELETE,
    USHER_ID_RETURN,
    USHER_ID_INSTALL,
    USHER_ID_CHANGES,

    USHER_SERIAL_RULE = 0x401,
    USHER_SERIAL_FILL,
    USHER_SERIAL_TAKE,
    USHER_SERIAL_CHECK,
    USHER_SERIAL_TICK,
    USHER_SERIAL_SETMAX,
    USHER_SERIAL_SETMAXCUR,
    USHER_SERIAL_PARSE,
    USHER_SERIAL_RESERVE,
    USHER_SERIAL_CONFIRM,
    USHER_SERIAL_RETURN,
    USHER_SERIAL_VOID,
    USHER_SERIAL_SHOW,
    USHER_SERIAL_DELETE,
    USHER_SERIAL_HOLDS,
    USHER_SERIAL_SWEEP,
    USHER_SERIAL_GRANT,
    USHER_SERIAL_CHANGES,
    USHER_SERIAL_RENEW,
    USHER_SERIAL_EXPIRE = 0x4c0, /* a hold expired */
    USHER_SERIAL_RESET,          /* a new period has begun */

    USHER_NOTICE_LOST = 0x701, /* in notices only, of any noun: a command was answered USHER_LOST */

    USHER_ROOMS_PUT = 0x601, /* the room directory: the engine's own */
    USHER_ROOMS_DROP,
    USHER_ROOMS_FIND,
    USHER_ROOMS_LIST,
    USHER_ROOMS_CLAIM,

    /* Verbs without a scope, for usher_execute() and usher_post() (command.h). */
    USHER_STORE_SCOPES = 0x801,
    USHER_STORE_ROOM_LIST,
    USHER_STORE_ROOM_PATROL,
    USHER_STORE_SERIAL_LIST,
    USHER_STORE_SERIAL_JOURNAL,
    USHER_STORE_NUMBER_DIGEST,
    USHER_STORE_QUEUE_DIGEST,
    USHER_STORE_ROOM_DIGEST,
    USHER_STORE_SERIAL_DIGEST,
    USHER_STORE_ID_DIGEST,
    USHER_VERB__WIDE = 0x7fffffff
};

/** Words for the codes in replies; "?" if there is none.  Static. */
USHER_API const char *usher_verb_word(enum usher_verb verb);
USHER_API const char *usher_noun_word(enum usher_noun noun);
USHER_API const char *usher_scope_mode_word(enum usher_scope_mode mode);

/* ---- notices ---------------------------------------------------------------------- */

/*
 * One change of one scope.  Never grows.
 *
 * `before` is the version that the change follows.  If it is not the last version that a watcher
 * received, notices are missing.  Versions are not consecutive after another server took over.
 *
 * A notice with verb USHER_NOTICE_LOST is not a change: a command was answered USHER_LOST.
 * `subject` and `token` (if it had one) are those of the command; `version` and `before` are the
 * last version known not to be lost.  It follows the changes of its batch.
 */
struct usher_notice {
    enum usher_noun noun;
    struct usher_text scope;
    uint64_t epoch, version;
    uint64_t before; /* the previous version: version - 1, except after a takeover */
    int64_t now_ms;
    enum usher_verb verb;
    struct usher_text subject; /* see usher_notice_subject(); empty for `set` */
    uint8_t from, to;          /* states of the subject before and after; 0 for `set` */
    uint64_t token;
    int64_t until_ms; /* USHER_NONE: none */
    /* The holder of the subject: of a hold that the change ended, the one that had it; of a user of
     * a queue, the agent that it is or was with. */
    struct usher_text owner;
    /* The data a copy needs to make the same change, as packed fields (room.h); may be empty.  A
     * single byte, MessagePack's nil, means that it is too large for a notice.  Contents: settings
     * of numbers, queues, serials and ids that were given, numbers in digits; the numbers of
     * serials and ids as `first` and `n`, or `number`; for numbers and queues see
     * usher_number_changes() and usher_queue_changes().  `room` of a user of a queue is LOGIN.N;
     * usher_notice_write() and usher_notice_reply() put EPOCH. before it, as in answers.  The
     * latter (command.h) makes members of a row of it. */
    struct usher_text data;
    /* Rooms: marks of the history before and after this change, see room.h. */
    uint64_t was, mark;
    /* From a store: how long delivery may be delayed to coalesce notices (`presence` of a room).
     * 0 in notices that watchers receive. */
    int64_t wait_ms;
    /* After this change nothing in the scope expires before this time; or USHER_NEVER.
     * USHER_NONE: unknown, as in notices read from a log.  In a notice from a store 0 is
     * USHER_NONE, here and in until_ms. */
    int64_t due_ms;
};

/* Kind of the subject of a change. */
enum usher_subject {
    USHER_SUBJECT_NONE = 0, /* the scope itself, or unknown */
    USHER_SUBJECT_NUMBER,
    USHER_SUBJECT_AGENT,
    USHER_SUBJECT_USER,
    USHER_SUBJECT_MEMBER,
    USHER_SUBJECT_FIELD, /* of a room, or of all members */
    USHER_SUBJECT_ROLE,
    USHER_SUBJECT_SHARE,
    USHER_SUBJECT_SERIAL, /* of a gap-free rule */
    USHER_SUBJECT__WIDE = 0x7fffffff
};

/** Return the kind of the subject of @notice; `from` and `to` are its states.  They are 0 for
 *  fields, roles and shares; without a subject they are those of the room.  O(1).  Threads: any. */
USHER_API enum usher_subject usher_notice_subject(const struct usher_notice *notice);

typedef void usher_watch_fn(void *payload, const struct usher_notice *notice);
struct usher_watcher;

/**
 * Take usher_watch_events() (command.h) for programs with an event loop, and to miss nothing; this
 * one to act on the thread that makes the change.
 *
 * Call @fn for each change that this engine makes to @scope of @noun, and for each of its commands
 * there that is answered USHER_LOST.  @scope NULL = every scope; @noun 0 = every noun.
 *
 * @fn runs on a thread that uses the engine, in order of version, after the change is durable.  It
 * may use the engine; notices of its own changes follow later.  If memory runs out, a notice is
 * dropped and logged, and `before` of the next one shows the gap.
 *
 * USHER_OK, USHER_INVALID, USHER_NOMEM
 */
USHER_API enum usher_status usher_watch(struct usher_engine *e, enum usher_noun noun,
                                        const char *scope, usher_watch_fn *fn, void *payload,
                                        struct usher_watcher **ret_watch);

/** Stop @watch.  After the return @fn is not running (unless called from @fn) and never will, and
 *  no event of a watcher whose notices are collected (command.h) is collected any more.
 *  NULL is allowed.  O(events that were not collected). */
USHER_API void usher_unwatch(struct usher_engine *e, struct usher_watcher *watch);

/* ---- looking inside --------------------------------------------------------------- */

/* A scope as it is stored. */
struct usher_scope_info {
    size_t size; /* of this struct in the library in use: it may grow at its end */
    enum usher_noun noun;
    struct usher_text name; /* lives until the callback returns */
    uint64_t epoch, version;
    int64_t due_ms; /* as in a reply */
    /* Number of records in it: numbers; agents and users; members; held gap-free serials. */
    int64_t items;
};

/* Options of the lists: usher_scopes(), usher_room_list(), usher_room_patrol(),
 * usher_serial_journal(), usher_nodes().  One that a list does not take is USHER_INVALID. */
struct usher_list_options {
    size_t size;          /* set by USHER_LIST_OPTIONS_INIT */
    int64_t timeout_ms;   /* of each answer of a server, not of the whole; 0 = the engine's */
    int64_t now_ms;       /* rooms: time of the command; 0 = the engine's clock */
    int64_t max;          /* all but nodes: maximum rows, 1 to USHER_LIST_MAX, 0 =
                           * USHER_LIST_DEFAULT; in a journal any number, 0 = all */
    const char *after;    /* scopes: next of the page before; room list: its last room */
    int64_t created_ms;   /* room list: with after: when that room was opened; 0 = look it up */
    enum usher_noun noun; /* scopes: only of this noun */
    int64_t every_ms;     /* room patrol: from one patrol of a room to the next; 0 = a minute */
    int64_t lease_ms;     /* room patrol: for how long a worker has a room; 0 = 30 s */
    uint64_t row;         /* journal: events after this row */
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_LIST_OPTIONS_INIT \
    { sizeof(struct usher_list_options), 0, 0, 0, NULL, 0, (enum usher_noun)0, 0, 0, 0 }
#else
#define USHER_LIST_OPTIONS_INIT { .size = sizeof(struct usher_list_options) }
#endif
/* clang-format on */

typedef void usher_scope_fn(void *payload, const struct usher_scope_info *info);

/**
 * List a page of the scopes: call @fn for each.  @ret_next (may be NULL) is where the next page
 * begins: give it as opt->after; "" = this is the last page.
 *
 * In memory and in SQLite the scopes come by noun, then in byte order of names.  A cursor is
 * "NOUN/NAME" there, and the page begins after that name, whether it exists or not.
 *
 * On Redis they come in no order, and a cursor is an opaque text for that store.  A scope that
 * exists during all pages is listed; it may be listed twice, and a page may have fewer than
 * opt->max scopes, or none, although there is a next one.  In a cluster all masters are walked a
 * second time if the owners of slots changed, or if a slot was moving.  A scope that moves again in
 * the second walk can be missed, and one that moves without such a trace.
 *
 * Dropped and deleted scopes are not listed.  Changes nothing.  @fn must not use @e.  @opt may be
 * NULL.  Options: opt->timeout_ms, opt->noun, opt->after, opt->max.
 *
 * USHER_OK
 * USHER_UNAVAILABLE  also if a node of a cluster does not answer, or the user has no right to some
 *                    scopes on Redis: @fn got the others, usher_message() names what is missing,
 * and
 *                    @ret_next continues after it; "" if nothing was listed
 * USHER_INVALID, USHER_NOMEM
 *
 * Cost: O(scopes of the page); on Redis O(keys that the page walks), and the scopes of a page are
 * read in one round trip for each node.
 */
USHER_API enum usher_status usher_scopes(struct usher_engine *e,
                                         const struct usher_list_options *opt, usher_scope_fn *fn,
                                         void *payload, char ret_next[USHER_CURSOR_MAX + 1]);

/**
 * For operators: erase @scope of @noun with everything in it.
 *
 * The scope disappears with the first step; the rest is erased in bounded steps.  After each one
 * other commands run, for as long as the step took.  A command that creates the scope again waits
 * until it is empty, or returns USHER_UNAVAILABLE at its deadline.
 *
 * All holds end.  Their tokens and rooms are never issued again under this name: a command that
 * presents one gets USHER_MISSING or USHER_STALE.  Watchers receive one change (USHER_NUMBER_DROP,
 * USHER_QUEUE_DROP, USHER_ROOM_CLOSE and _DONE, …).  Visits of a queue in a history stay there.
 * A rule that is created again continues after the numbers that were taken in its period, and makes
 * again those that were made and not taken.  With another base, step, radix or format the
 * application must ensure that old and new serials differ.  A dispenser that is created again
 * continues after its ids if an authority grants its segments, else it begins at its start.
 *
 * For a program that must not wait: post the verb of the noun (USHER_NUMBER_DROP, _QUEUE_DROP,
 * _ROOM_CLOSE, _SERIAL_DELETE, _ID_DELETE) as values (command.h), again while the reply has more.
 *
 * *@ret_items (may be NULL) is the number of records erased, even on failure; 1 for a rule or
 * dispenser.
 *
 * USHER_OK
 * USHER_SAME     it does not exist
 * USHER_REFUSED  a queue with ended visits that its `archive` keeps for the history, or a rule with
 *                numbers held, in doubt, returned or lost; see usher_message()
 * USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM  it may be partly erased: call again
 * USHER_INVALID
 *
 * Cost: O(records).  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_drop(struct usher_engine *e, enum usher_noun noun,
                                       const char *scope, int64_t *ret_items);

/* The acknowledged commands that a crash loses.  It is always a suffix: if one survives, all before
 * it do. */
enum usher_durability {
    USHER_DURABILITY_UNKNOWN = 0,
    USHER_DURABILITY_NONE = 1,     /* the process of the store ends: all */
    USHER_DURABILITY_SNAPSHOT = 2, /* the server ends: all since its last snapshot */
    USHER_DURABILITY_SECOND = 3, /* the server is killed, or a power cut: the last second or two */
    USHER_DURABILITY_FILE = 4,   /* a power cut: what the system had not yet written */
    USHER_DURABILITY_DISK = 5,   /* none, unless the disk fails */
    USHER_DURABILITY__WIDE = 0x7fffffff
};

enum usher_node_role {
    USHER_NODE_UNKNOWN = 0,
    USHER_NODE_ITSELF = 1, /* no server: a file, or this process */
    USHER_NODE_MASTER = 2,
    USHER_NODE_REPLICA = 3,
    USHER_NODE_ROLE__WIDE = 0x7fffffff
};

/** "unknown", "none", "snapshot", … and "unknown", "itself", "master", "replica"; "?". */
USHER_API const char *usher_durability_word(enum usher_durability durability);
USHER_API const char *usher_node_role_word(enum usher_node_role role);

/* One server or file of a store.  A number that is unknown or does not apply is USHER_NONE. */
struct usher_node {
    size_t size; /* of this struct in the library in use: it may grow at its end */
    enum usher_node_role role;
    enum usher_durability durability;
    bool answers;      /* it responded */
    bool evicts;       /* it may evict keys when memory is full (maxmemory-policy allkeys-*) */
    int64_t slots;     /* hash slots of a cluster master, of 16384 */
    int64_t replicas;  /* connected replicas */
    int64_t lag_bytes; /* replication lag of a replica, bytes */
    int64_t lag_ms;    /* time since the replica's last acknowledgement, 1 s steps */
    int64_t ahead_ms;  /* its clock minus this machine's, ms */
    uint64_t identity; /* as scopes keep it (store/store.h); 0 = none, or unknown */
    /* "" = unknown.  All texts live until the callback returns. */
    struct usher_text address;  /* HOST:PORT, or a path */
    struct usher_text id;       /* in a cluster, 40 digits */
    struct usher_text software; /* "Redis 7.0.15" */
    struct usher_text policy;   /* maxmemory-policy */
    struct usher_text master;   /* of a replica: its master */
    struct usher_text why;      /* why it does not answer */
    bool own_clocks; /* its scripts may not read its clock: each client's clock is used instead */
};

typedef void usher_node_fn(void *payload, const struct usher_node *node);

/**
 * Call @fn for each server of the store: in a cluster all masters, each with the replicas it
 * reports as connected.  Changes nothing.  @fn must not use @e.  Takes at most two seconds for each
 * server, and the timeout in all.  @opt may be NULL.  Options: opt->timeout_ms.
 *
 * USHER_OK
 * USHER_UNAVAILABLE  a server does not answer; @fn received it and all others
 * USHER_INVALID, USHER_NOMEM
 */
USHER_API enum usher_status usher_nodes(struct usher_engine *e,
                                        const struct usher_list_options *opt, usher_node_fn *fn,
                                        void *payload);

/** Count the commands of @e that ended as USHER_UNKNOWN and as USHER_UNAVAILABLE since it was
 *  opened, except cancelled ones.  USHER_OK, USHER_INVALID.  Threads: any. */
USHER_API enum usher_status usher_failures(struct usher_engine *e, uint64_t *ret_unknown,
                                           uint64_t *ret_unavailable);

struct usher_check_options {
    size_t size;        /* set by USHER_CHECK_OPTIONS_INIT */
    int64_t timeout_ms; /* of each answer of a server, not of the whole; 0 = the engine's */
    bool repair;        /* repair what can be repaired, while other commands run */
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_CHECK_OPTIONS_INIT { sizeof(struct usher_check_options), 0, false }
#else
#define USHER_CHECK_OPTIONS_INIT { .size = sizeof(struct usher_check_options) }
#endif
/* clang-format on */

/* Result of usher_check(). */
struct usher_check_result {
    uint64_t faults;
    uint64_t repaired; /* of the faults */
    uint64_t scopes;   /* checked, of those that usher_scopes() lists */
    bool partial;      /* some scopes could not be read */
};

typedef void usher_check_fn(void *payload, const char *line);

/**
 * Check every invariant of the store, like fsck.  @fn receives one line for each fault and each
 * repaired scope; NULL = only count.  @opt may be NULL.
 *
 * With an authority, also check that the store cannot issue what was not granted, that the
 * authority and the store agree on rules and dispensers, and that no serial in the journal was
 * issued twice.  @fn also receives a line for each rule or dispenser that only the authority has,
 * and (unless time is given) for each scope whose last time is over 1 s ahead of this machine's
 * clock: neither is a fault.
 *
 * Repairable are the room directory (missing entries are added, entries without a room removed)
 * and, on Redis, the lists and counts of a scope, which are rebuilt from its records.  The lists of
 * a scope whose records are gone are removed.
 *
 * USHER_OK           even if faults were found or remain
 * USHER_UNAVAILABLE  if *@ret_result has partial: some scopes could not be read; *@ret_result has
 *                    the others, but scopes were not compared with each other or with the
 *                    authority; usher_message() has the reason
 *
 * On any other status *@ret_result is not written.  O(records).
 */
USHER_API enum usher_status usher_check(struct usher_engine *e,
                                        const struct usher_check_options *opt, usher_check_fn *fn,
                                        void *payload, struct usher_check_result *ret_result);

/** Compute a 128-bit digest of the state of @scope without its epoch, as 32 hex digits and a
 *  NUL.  Equal on every store after the same commands.  A scope that does not exist has the
 *  digest of an empty one.  O(records); the timeout applies as for usher_check(). */
USHER_API enum usher_status usher_digest(struct usher_engine *e, enum usher_noun noun,
                                         const char *scope, char ret_digest[33]);

/**
 * Write the Redis script of @noun ("number") for direct calls: that of the library with the part
 * that reads such calls and writes their answers.  Writes at most @size bytes including the NUL and
 * always the full length (without NUL) to *@ret_length, like snprintf.  USHER_OK, USHER_INVALID (no
 * such noun, or built without Redis).
 */
USHER_API enum usher_status usher_lua(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);

/* Formats of usher_table(); LUA: constants of the Redis script of the noun. */
enum usher_table_format {
    USHER_TABLE_MARKDOWN,
    USHER_TABLE_DOT,
    USHER_TABLE_LUA,        /* the constants of the library's script */
    USHER_TABLE_LUA_DIRECT, /* these and the ones of JSON: usher_lua() */
    USHER_TABLE_FORMAT__WIDE = 0x7fffffff
};

/** Write the transition table of @noun ("number"), as usher_lua() does. */
USHER_API enum usher_status usher_table(const char *noun, enum usher_table_format format,
                                        char *buffer, size_t size, size_t *ret_length);

#ifdef __cplusplus
}
#endif

#include <usher/ids.h>
#include <usher/number.h>
#include <usher/queue.h>
#include <usher/room.h>
#include <usher/serial.h>

#include <usher/command.h>

#endif
