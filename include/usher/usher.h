/* SPDX-License-Identifier: MIT */
/*
 * usher: hands out scarce things one at a time, never twice.
 *
 * A program opens an engine on a store (memory, SQLite, Redis) by URL and gives it
 * commands.  A command names one scope (a number pool, a queue, a room, a serial rule, an
 * id dispenser), is applied wholly or not at all, and gets one reply with a status, the scope's
 * epoch and its version.
 *
 * Rules that hold for every function here:
 *  - Threads: an engine may be used from any number of threads at once.  It starts none.
 *  - fork(): a child must not use an engine opened by its parent; it is told so
 *    (USHER_INVALID).  It closes it (the parent's goes on undisturbed) and opens its own.
 *    With SQLite the closing comes first and is a must: locks are not inherited, but
 *    SQLite's belief to have them is, and the child's writes could be lost.
 *  - Strings given in are copied or used during the call only.  Results are written into
 *    the caller's memory, on success only unless said otherwise.
 *  - The calls of a noun (usher_NOUN_VERB(): number.h, queue.h, room.h, serial.h, ids.h) have their
 *    arguments in this order: engine, scope, what the verb is about, options, where the answer
 *    goes.  In options and settings 0 or NULL is not given; USHER_NONE, or "", is none, never, off,
 *    said aloud.  An answer is written whatever the status.  Structs that a program fills, or
 *    has filled, begin with their size (…_INIT sets it) and grow at their end; but struct
 *    usher_options must have the size that it has in the library.
 *  - Times are Unix milliseconds, durations milliseconds.
 *  - Names (scope, number, owner, group, peer, request id) are 1..USHER_NAME_MAX bytes of
 *    valid UTF-8 without control characters; scope names also without '{' and '}'.
 *  - The library never prints, exits, raises signals, or changes the locale.
 *  - In C++ some types stand behind functions of the same name: write `struct usher_watcher`.
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

#define USHER_NAME_MAX 255                        /* bytes of a name, without the closing NUL */
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
#define USHER_PAGE_MAX 256   /* records that one page of a list looks at, whatever its max is */
#define USHER_LOG_MAX 100000 /* notices that a scope keeps */
#define USHER_TIMEOUT_DEFAULT 5000 /* ms */
#define USHER_SKEW_DEFAULT 1000    /* ms */

/* ---- answers ---------------------------------------------------------------------- */

/* Name, code, word, meaning.  A code's upper digits are its class, which is the exit status of
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
    X(LOST, 0x32, "lost", "the store went back in time")                                   \
    X(NOMEM, 0x33, "nomem", "out of memory; nothing was applied")

enum usher_status {
#define USHER__S(name, code, word, text) USHER_##name = code,
    USHER_STATUS_MAP(USHER__S)
#undef USHER__S
        USHER_STATUS__WIDE = 0x7fffffff /* all enums are as wide as an int, in C++ too */
};

/* From a version to come there may be further statuses, each of one of these classes. */
enum usher_class {
    USHER_CLASS_DONE = 0,   /* ok, same: what was asked for is so now */
    USHER_CLASS_NO = 1,     /* an answer of the scope: no */
    USHER_CLASS_WRONG = 2,  /* the program's mistake */
    USHER_CLASS_FAILED = 3, /* the store's; or it has lost something */
    USHER_CLASS__WIDE = 0x7fffffff
};
/* The class of a status, also of one that this header does not know. */
#define USHER_CLASS_OF(status) ((enum usher_class)((unsigned)(status) >> 4))
#define USHER_IS_DONE(status) ((unsigned)(status) < 0x10u)

/** The word of @status ("ok", "same", …), "?" if there is none.  Static. */
USHER_API const char *usher_status_word(enum usher_status status);
/** What @status means, one line.  Static. */
USHER_API const char *usher_status_text(enum usher_status status);

/** "0.1.0": the version of the library in use, which may be newer than USHER_VERSION. */
USHER_API const char *usher_version(void);
/** The same as USHER_VERSION_NUMBER. */
USHER_API uint32_t usher_version_number(void);

/* ---- hooks and options ------------------------------------------------------------ */

/*
 * Memory.  resize(payload, NULL, 0, n) allocates, (p, old, n) resizes, (p, old, 0) frees
 * and returns NULL; `old` is exact.  Called from any thread that uses the engine.
 * NULL for the whole struct: malloc.  hiredis' reply reader and SQLite allocate for
 * themselves (their allocators are process-wide and theirs to configure).
 */
struct usher_allocator {
    void *(*resize)(void *payload, void *p, size_t old, size_t size);
    void *payload;
};

enum usher_log_level {
    USHER_LOG_DEBUG,
    USHER_LOG_INFO,
    USHER_LOG_NOTICE,  /* all is as it was set up, but whoever runs it should know */
    USHER_LOG_WARNING, /* something is not as it should be */
    USHER_LOG_ERROR,   /* something was not done */
    USHER_LOG_LEVEL__WIDE = 0x7fffffff
};

struct usher_operation;
struct usher_result;
struct usher_driver;    /* store.h: a URL scheme of one's own */
struct usher_authority; /* authority.h */
struct usher_history;   /* history.h */

/*
 * Hooks (alloc, now_ms, log, trace), the authority, the history and what usher_audit() and
 * usher_check() tell must not use the engine that calls them: it tells them so (USHER_INVALID).
 * Another engine they may use.  alloc, now_ms and log are called on any thread that uses the
 * engine, with locks of it held: they should be quick.
 */
struct usher_options {
    size_t size;                         /* set by USHER_OPTIONS_INIT */
    const struct usher_allocator *alloc; /* must outlive the engine */
    /* Per call; 0: USHER_TIMEOUT_DEFAULT.  Of looking up a host's name nobody knows: use addresses
     * where the resolver may be slow. */
    int64_t timeout_ms;
    /* The application's clock, Unix ms; NULL: the store's own. */
    int64_t (*now_ms)(void *payload);
    /* One line, no newline; a connection lost, a store that may lose writes, … */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    /* Each command with its answer, on the thread that executed it. */
    void (*trace)(void *payload, const struct usher_operation *command,
                  const struct usher_result *reply);
    void *payload;                      /* of the hooks: the three above, and password() */
    const struct usher_driver *drivers; /* further URL schemes, a linked list */
    /* What serials and ids are issued from, so that none comes twice though the store is
     * lost; NULL: that of the URL, or none.  Stays the application's. */
    struct usher_authority *authority;
    bool journal; /* tell it of each number's life; of no use without it */
    /* Where visits of queues go when they have ended; NULL: that of the URL, or none.  Stays the
     * application's. */
    struct usher_history *history;
    /* How far a time that the application gives (`now`, or now_ms() above) may be ahead of the
     * store's own clock, ms.  A time farther ahead is USHER_INVALID.  Within this limit it orders
     * and stamps, but ends nothing early: what is due ends, and what begins is counted, by the
     * store's clock.  0: the URL's `skew=`, or USHER_SKEW_DEFAULT. */
    int64_t skew_ms;
    /* `clock=given`: the application's time is the store's clock, however far ahead, as in a
     * replay, a simulation or a test. */
    bool clock_given;
    /* The password of a Redis store whose URL has none, as it is now: asked for with each
     * connection that is made, so it may change.  Write at most @size bytes with the NUL to @to
     * (512 are there), or return false: there is none, and the connection is not made.  On any
     * thread that uses the engine; must not use it, and should not take long.  NULL: not asked. */
    bool (*password)(void *payload, char *to, size_t size);
    /* How many commands may be posted (command.h) and not collected at a time, and how many
     * notices of watchers not collected; 0: 65,536. */
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
 * With `redis:` and `rediss:` there may be several hosts, too: the one that is a master is used,
 * and if two are masters, neither (USHER_UNAVAILABLE).
 *
 * Options follow `?` and are joined by `&`: `timeout=MS`, `skew=MS`, `clock=store|given`,
 * `authority=sqlite:PATH` (authority.h), `journal=0|1` and `history=sqlite:PATH` (history.h) for
 * all, `sync=` and `create=0|1` for SQLite (0: a file that is not there is not made),
 * `prefix=TEXT`, `name=TEXT`, `db=N` and `password-file=PATH` (instead of a password: the one line
 * of that file, read again for each connection) for Redis; over TLS `ca=FILE` (whose certificates
 * are trusted), `cert=FILE` and `key=FILE` (our own) and `tls-name=NAME` (whom the server's is for;
 * the host).  In a URL, bytes may be written %XX.
 * @opt may be NULL.  Redis is connected here.
 *
 * USHER_MISSING      create=0, and there is no such file
 * USHER_INVALID      the URL or an option is wrong, or the file is not ours
 * USHER_UNAVAILABLE  the store cannot be opened or reached
 * USHER_NOMEM
 * usher_message() says why.
 *
 * Cost: memory < 1 ms, SQLite some ms, Redis a few round trips.
 */
USHER_API enum usher_status usher_open(const char *url, const struct usher_options *opt,
                                       struct usher_engine **ret_engine);

/**
 * Close @e and its store; with a history, ended visits are moved there before, within the timeout.
 * What was posted or heard and not collected (command.h) is dropped: what was begun has been
 * applied. NULL is fine.  No call on @e may be under way; from a hook or a watcher of @e it does
 * nothing, and usher_message() says so.  In a child of fork() it gives back the child's copy and
 * leaves the parent's store alone.  (If a call was under way in the parent at the moment of the
 * fork, the copy is left as it is.)
 */
USHER_API void usher_close(struct usher_engine *e);

/**
 * What the calling thread's last call of this library has to say: one line, outermost
 * layer first, "" after success.  Never NULL; valid until the thread's next call.
 */
USHER_API const char *usher_message(void);

/* ---- commands and replies --------------------------------------------------------- */

/* Bytes that belong to somebody else.  data NULL: not given. */
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
    USHER_ROOMS = 6, /* the index of rooms: the engine's own */
    USHER_STORE = 8, /* the store as a whole: no noun of a scope, but of some verbs */
    USHER_NOUN__WIDE = 0x7fffffff
};

/* Codes are ABI and stored with request ids: append, never reuse.  From 0xc0 of a noun on: verbs
 * that only notices have. */
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
    USHER_NUMBER_EXPIRE = 0x1c0, /* a hold or a rest ended by itself */
    USHER_NUMBER_OUTAGE,         /* no command reached the pool for a while: leases go on */
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
    USHER_QUEUE_EXPIRE = 0x2c0, /* a deadline has passed */
    USHER_QUEUE_REQUEUE,        /* a user whose agent is gone */
    USHER_QUEUE_OUTAGE,         /* no command reached the queue for a while: heartbeats go on */
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
    USHER_ROOM_FADE = 0x3c0, /* a member is away, offline, removed by itself */
    USHER_ROOM_DROP,
    USHER_ROOM_EXPIRE,
    USHER_ROOM_EMPTY,    /* it closes, as nobody was in for a while */
    USHER_ROOM_DONE,     /* the last one, nothing of the room is left */
    USHER_ROOM_PRESENCE, /* several changes, see usher_room_presence() */
    USHER_ROOM_OUTAGE,   /* no command reached the room for a while: heartbeats go on */
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
    USHER_SERIAL_EXPIRE = 0x4c0, /* a hold ended by itself */
    USHER_SERIAL_RESET,          /* a new period has begun */

    USHER_NOTICE_LOST = 0x701, /* in notices only, of any noun: a command was answered USHER_LOST */

    USHER_ROOMS_PUT = 0x601, /* the index of rooms: the engine's own */
    USHER_ROOMS_DROP,
    USHER_ROOMS_FIND,
    USHER_ROOMS_LIST,
    USHER_ROOMS_CLAIM,

    /* Without a scope, for usher_execute() and usher_post() (command.h). */
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

/* ---- notices ---------------------------------------------------------------------- */

/* One change of one scope.  Each follows on the version that it says it does (`before`): so a
 * listener sees what it has missed, and that nothing is missing where a store changed hands.
 * USHER_NOTICE_LOST is no change: somebody was told USHER_LOST.  It says of what (`subject`, and
 * `token` where one was shown); `version` and `before` are the last version known not to be lost.
 * It is told behind the changes of its batch. */
struct usher_notice {
    enum usher_noun noun;
    struct usher_text scope;
    uint64_t epoch, version;
    uint64_t before; /* the version before: version - 1, but where the store changed hands */
    int64_t now_ms;
    enum usher_verb verb;
    struct usher_text subject; /* none for `set`; else see usher_notice_subject() */
    uint8_t from, to;          /* states of the subject; 0,0 for `set` */
    uint64_t token;
    int64_t until_ms;
    struct usher_text owner; /* of a hold that has ended: whose it was */
    /* What it takes to make the same change in a copy: packed fields (room.h), size 0 if there
     * is nothing more to say.  One byte, MessagePack's nil: they are too large to be told.  Of the
     * settings of numbers, queues, serials and ids those that are given, numbers in digits; of
     * serials and ids which numbers: `first` and `n`, or `number`; of numbers and queues see
     * usher_number_changes() and usher_queue_changes().  `room` of a user of a queue is LOGIN.N;
     * usher_notice_write() puts EPOCH. before it, as in answers. */
    struct usher_text data;
    /* Of a room: marks of its history without this change and with it, see room.h. */
    uint64_t was, mark;
    /* As a store tells it: so long may it be kept to be told together with others (`presence` of
     * a room).  0 in what watchers hear. */
    int64_t wait_ms;
    /* Behind this change nothing of the scope changes by itself before; USHER_NEVER.  0: not known,
     * as of what comes from a log. */
    int64_t due_ms;
};

/* What a change is about. */
enum usher_subject {
    USHER_SUBJECT_NONE = 0, /* the scope itself, or nothing that is known */
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

/** What the subject of @notice is, and so whose states `from` and `to` are: those of fields, roles
 *  and shares are 0, and of rooms without a subject those of the room.  O(1).  Threads: any. */
USHER_API enum usher_subject usher_notice_subject(const struct usher_notice *notice);

typedef void usher_watch_fn(void *payload, const struct usher_notice *notice);
struct usher_watcher;

/**
 * Call @fn for each change that this engine makes on scope @scope of @noun (NULL: every
 * scope of it; 0: of every noun), in order of version, after the change is durable and on a thread
 * that uses the engine; and for each command of this engine on such a scope that is answered
 * USHER_LOST.  @fn may use the engine; its changes are told afterwards.  A notice that cannot be
 * kept for lack of memory is dropped and logged: `before` of the next one shows it.  For an event
 * loop, and to be told of what was missed: usher_watch_events() (command.h).  USHER_OK,
 * USHER_INVALID, USHER_NOMEM.
 */
USHER_API enum usher_status usher_watch(struct usher_engine *e, enum usher_noun noun,
                                        const char *scope, usher_watch_fn *fn, void *payload,
                                        struct usher_watcher **ret_watch);

/** Stop; when it returns, @fn is not running (unless called from @fn) and never will, and of a
 *  watcher whose notices are collected (command.h) no event is collected any more.  O(events that
 *  were not collected).  NULL is fine. */
USHER_API void usher_unwatch(struct usher_engine *e, struct usher_watcher *watch);

/* ---- looking inside --------------------------------------------------------------- */

/* A scope as it is stored. */
struct usher_scope_info {
    size_t size; /* of this, as the library knows it: it may grow at its end */
    enum usher_noun noun;
    struct usher_text name; /* lives until the callback returns */
    uint64_t epoch, version;
    int64_t due_ms; /* as in a reply */
    /* How much is in it: numbers; agents and users; members; gap-free serials that are held. */
    int64_t items;
};

typedef void usher_scope_fn(void *payload, const struct usher_scope_info *info);

/**
 * Tell @fn of the scopes of @noun (0: of every noun), by noun, then in byte order of names: those
 * behind @after ("number/sales": where a page ended; NULL: from the beginning), @max of them at
 * most (1 to USHER_LIST_MAX; 0: USHER_LIST_DEFAULT).  *@ret_more (may be NULL): there are more.
 * Not of those that were dropped or deleted.  Changes nothing.  @fn must not use @e.
 *
 * USHER_OK; USHER_UNAVAILABLE: of a cluster also when a node does not answer, then @fn was told of
 * the scopes of all others, and usher_message() says what was not seen; USHER_INVALID, USHER_NOMEM.
 * O(scopes of the store) a page, on Redis keys of the server; the timeout is for waiting.
 */
USHER_API enum usher_status usher_scopes(struct usher_engine *e, enum usher_noun noun,
                                         const char *after, size_t max, usher_scope_fn *fn,
                                         void *payload, bool *ret_more);

/**
 * For operators: erase @scope of @noun, whatever is in it, while others go on working: in bounded
 * steps, behind each of which the store is left to others for as long as it took.  From the first
 * step on it is not there for anybody; who makes it anew in the meantime waits for the rest to go,
 * or is told that it is USHER_UNAVAILABLE when the timeout is over. Holds that are out are over: of
 * their tokens and rooms none is ever given out again under the name, so who comes with one is told
 * that it is `missing` or `stale`.  Watchers are told of one change (USHER_NUMBER_DROP,
 * USHER_QUEUE_DROP, USHER_ROOM_CLOSE and _DONE, …).  Visits of a queue that are in a history stay
 * there.  A rule and a dispenser are deleted as by usher_serial_delete() and usher_id_delete():
 * made anew, a rule and, with an authority, a dispenser go on behind what they have given out.
 *
 * *@ret_items (may be NULL): how many records this call erased, also if it failed; of a rule or a
 * dispenser 1.
 *
 * USHER_OK; USHER_SAME: it is not there; USHER_REFUSED: a queue with ended visits that its
 * `archive` keeps for the history, a rule whose numbers are held: usher_message() says so;
 * USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM: it may be gone in part: call again;
 * USHER_INVALID.  O(records).  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_drop(struct usher_engine *e, enum usher_noun noun,
                                       const char *scope, int64_t *ret_items);

/** Check every invariant of the store, like fsck; @fn gets one line per fault (NULL: only
 *  count).  With an authority: also that nothing may be given out that it has not granted, that it
 *  keeps rules and dispensers as they are in the store, and that no serial in its journal was
 *  issued twice.  @fn also gets a line of what the authority keeps and the store does not have, and
 *  (where time is not given) of each scope whose last time is over 1 s ahead of this machine's
 *  clock: neither is a fault.
 *  USHER_OK even when faults were found; *@ret_faults counts them.  O(records): the engine's
 *  timeout is for the single answer of a server, not for all of it. */
typedef void usher_audit_fn(void *payload, const char *line);
USHER_API enum usher_status usher_audit(struct usher_engine *e, usher_audit_fn *fn, void *payload,
                                        uint64_t *ret_faults);

/* What is lost of what was answered, in each case with all before it. */
enum usher_durability {
    USHER_DURABILITY_UNKNOWN = 0,
    USHER_DURABILITY_NONE = 1,     /* all, when the process of the store ends */
    USHER_DURABILITY_SNAPSHOT = 2, /* when it ends, what came since the last copy that it made */
    USHER_DURABILITY_SECOND = 3, /* when it is killed, or the power goes, the last second or two */
    USHER_DURABILITY_FILE = 4,   /* when the power goes, what the system had not written */
    USHER_DURABILITY_DISK = 5,   /* nothing while the disk is sound */
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

#define USHER_NODE_NO_CLOCK INT64_MIN

/* A server, or a file, behind a store. */
struct usher_node {
    size_t size; /* of this, as the library knows it: it may grow at its end */
    enum usher_node_role role;
    enum usher_durability durability;
    bool answers;
    bool evicts;       /* takes scopes away when its memory is full (allkeys-*) */
    int32_t slots;     /* it has, of 16384; -1: it is not of a cluster, or a replica */
    int32_t replicas;  /* connected to it; -1: not known */
    int64_t lag_bytes; /* of a replica, behind its master; -1: not known */
    int64_t lag_ms;    /* since the master has heard of it, to a second; -1: not known */
    int64_t ahead_ms;  /* its clock is before that of this machine, < 0: behind; NO_CLOCK */
    uint64_t identity; /* as scopes keep it (store.h); 0: none, or not known */
    /* "" where not known; all live until the callback returns. */
    struct usher_text address;  /* HOST:PORT, or a path */
    struct usher_text id;       /* in a cluster, 40 digits */
    struct usher_text software; /* "Redis 7.0.15" */
    struct usher_text policy;   /* maxmemory-policy */
    struct usher_text master;   /* of a replica: whose */
    struct usher_text why;      /* it does not answer */
    bool own_clocks; /* its scripts may not read its clock: each client's clock is used instead */
};

typedef void usher_node_fn(void *payload, const struct usher_node *node);

/**
 * Tell @fn of each server behind @e: of a cluster all masters, and of each the replicas that are
 * connected to it, as it says.  Changes nothing.  USHER_OK; USHER_UNAVAILABLE (a server does not
 * answer: @fn was told of it and of all others), USHER_INVALID, USHER_NOMEM.  At most two seconds
 * for each server, within the engine's timeout for all.  @fn must not use @e.
 */
USHER_API enum usher_status usher_nodes(struct usher_engine *e, usher_node_fn *fn, void *payload);

/** How many commands of @e have ended as USHER_UNKNOWN and as USHER_UNAVAILABLE since it was
 *  opened, but for those that were cancelled.  Any thread.  USHER_OK, USHER_INVALID. */
USHER_API enum usher_status usher_failures(struct usher_engine *e, uint64_t *ret_unknown,
                                           uint64_t *ret_unavailable);

/* What usher_check() found. */
struct usher_check_result {
    uint64_t faults;
    uint64_t repaired; /* of the faults */
    uint64_t scopes;   /* that were looked at, of those that usher_scopes() lists */
    bool partial;      /* not all was seen */
};

#define USHER_CHECK_REPAIR 1u /* flag: mend what can be mended, while others go on working */

/**
 * The same, and more to know of it.  @flags: 0, or USHER_CHECK_REPAIR.  What can be mended: the
 * index of rooms (a room that is not in it is put in, an entry without a room is dropped); on
 * Redis, the lists and counts of a scope, from its records, and what is left of one whose records
 * are gone is removed.  @fn gets a line for each scope that this was done to, too. USHER_OK,
 * however many faults were found, and left.  USHER_UNAVAILABLE with *@ret_result.partial: not all
 * was seen, usher_message() says why; what was is in *@ret_result, but scopes were not compared
 * with each other, nor with the authority.  Else, not OK, nothing is in it.
 */
USHER_API enum usher_status usher_check(struct usher_engine *e, unsigned flags, usher_audit_fn *fn,
                                        void *payload, struct usher_check_result *ret_result);

/** 128 bits over the whole state of scope @scope but for its epoch, as 32 hex digits and a
 *  NUL.  Equal on every store after the same commands.  A scope that does not exist has the
 *  digest of nothing.  O(records); the timeout is as with usher_audit(). */
USHER_API enum usher_status usher_digest(struct usher_engine *e, enum usher_noun noun,
                                         const char *scope, char ret_digest[33]);

/**
 * The Redis script of @noun ("number") for direct calls: that of the library with the part that
 * reads such calls and writes their answers.  Writes at most @size bytes including the NUL and
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

/** The transition table of @noun ("number"), in the way of usher_lua(). */
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
