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
#define USHER_NUMBER_GROUPS_MAX 16                /* groups in one `group=` list of a call */
#define USHER_LIST_TEXT_MAX 4096                  /* bytes of such a list */
#define USHER_TIME_MAX INT64_C(253402300799999)   /* the last ms of the year 9999 */
#define USHER_SPAN_MAX INT64_C(3153600000000)     /* a hundred years in ms */
#define USHER_EXACT_MAX INT64_C(9007199254740991) /* the largest count, version, setting */
#define USHER_NEVER INT64_MAX                     /* a time that does not come */
#define USHER_BATCH_MAX 65536                     /* commands of one usher_operate() */
#define USHER_WAIT_MAX 255                        /* replicas that a command waits for */
#define USHER_LIST_MAX 10000                      /* rows of one list, records moved by one sweep */
#define USHER_LIST_DEFAULT 100
#define USHER_TIMEOUT_DEFAULT 5000 /* ms */
#define USHER_SKEW_DEFAULT 300000  /* ms */

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
     * store's own clock, ms.  One that is farther ahead is USHER_INVALID: a scope's time never
     * goes back, so a wrong clock would end all its leases and then none.  0: the URL's `skew=`,
     * or USHER_SKEW_DEFAULT. */
    int64_t skew_ms;
    /* `clock=given`: times are the application's alone, however far ahead, as in a replay, a
     * simulation or a test. */
    bool clock_given;
    /* The password of a Redis store whose URL has none, as it is now: asked for with each
     * connection that is made, so it may change.  Write at most @size bytes with the NUL to @to
     * (512 are there), or return false: there is none, and the connection is not made.  On any
     * thread that uses the engine; must not use it, and should not take long.  NULL: not asked. */
    bool (*password)(void *payload, char *to, size_t size);
    /* How many commands may be posted (command.h) and not collected at a time; 0: 65,536. */
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
 *
 * With `redis:` and `rediss:` there may be several hosts, too: the one that is a master is used.
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
 * What was posted and not collected (command.h) is dropped: what was begun of it has been applied.
 * NULL is fine.  No call on @e may be under way; from a hook or a watcher of @e it does nothing,
 * and usher_message() says so.  In a child of
 * fork() it gives back the child's copy and leaves the parent's store alone.  (If a call was
 * under way in the parent at the moment of the fork, the copy is left as it is.)
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
    USHER_NOUN__WIDE = 0x7fffffff
};

/* Codes are ABI and stored with request ids: append, never reuse. */
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
    USHER_NUMBER_EXPIRE, /* in notices only: a hold or a rest ended by itself, or the cap keeps it
                          * no more */
    USHER_NUMBER_REST,   /* in notices only: found free, but it has had its calls of the day */
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
    USHER_QUEUE_EXPIRE,  /* in notices only: a deadline has passed */
    USHER_QUEUE_REQUEUE, /* in notices only: a user whose agent is gone */
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
    USHER_ROOM_FADE, /* in notices only: a member is away, offline, removed by itself */
    USHER_ROOM_DROP,
    USHER_ROOM_EXPIRE,
    USHER_ROOM_EMPTY,    /* in notices only: it closes, as nobody was in for a while */
    USHER_ROOM_DONE,     /* in notices only: the last one, nothing of the room is left */
    USHER_ROOM_PRESENCE, /* in notices only: several changes, see usher_room_presence() */
    USHER_ID_CREATE = 0x501,
    USHER_ID_NEXT,
    USHER_ID_SHOW,
    USHER_ID_SET,
    USHER_ID_DELETE,
    USHER_ID_RETURN,
    USHER_ID_INSTALL,

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
    USHER_SERIAL_EXPIRE, /* in notices only: a hold ended by itself */
    USHER_SERIAL_RESET,  /* in notices only: a new period has begun */

    USHER_NOTICE_LOST = 0x701, /* in notices only, of any noun: a command was answered USHER_LOST */

    USHER_ROOMS_PUT = 0x601, /* the index of rooms: the engine's own */
    USHER_ROOMS_DROP,
    USHER_ROOMS_FIND,
    USHER_ROOMS_LIST,
    USHER_ROOMS_CLAIM,
    USHER_VERB__WIDE = 0x7fffffff
};

/* Of one number.  Codes are stored. */
enum usher_number_state {
    USHER_NUMBER_STATE_NODATA = 0,
    USHER_NUMBER_STATE_IDLE_DOWN = 1,
    USHER_NUMBER_STATE_IDLE_UP = 2,
    USHER_NUMBER_STATE_BUSY_DOWN = 3,
    USHER_NUMBER_STATE_BUSY_UP = 4,
    USHER_NUMBER_STATE__WIDE = 0x7fffffff
};
#define USHER_NUMBER_STATE_BUSY 5 /* list: either of the last two */

/* Why a call got no number. */
enum usher_number_why {
    USHER_NUMBER_WHY_NONE = 0,      /* no such question: a number was given, or not a call */
    USHER_NUMBER_WHY_NO_NUMBER = 1, /* the pool (or the groups asked for) has no number */
    USHER_NUMBER_WHY_BUSY = 2,      /* at least one is busy and registered: it will come back */
    USHER_NUMBER_WHY_DOWN = 3,      /* all are unregistered */
    USHER_NUMBER_WHY_RESTING = 4,   /* none busy, at least one rests */
    USHER_NUMBER_WHY_CAPPED = 5,    /* nor rests, at least one has had its calls of the day */
    USHER_NUMBER_WHY_DUE = 6,       /* of a store: more was in the way than one command puts aside;
                                     * an engine gives the command again */
    USHER_NUMBER_WHY__WIDE = 0x7fffffff
};

enum usher_number_order {
    USHER_NUMBER_ORDER_LONGEST_IDLE = 1, /* first in, first out, by release */
    USHER_NUMBER_ORDER_MOST_RECENT = 2,
    USHER_NUMBER_ORDER_RANDOM = 3, /* uniform, drawn from the version; alike on all stores */
    USHER_NUMBER_ORDER__WIDE = 0x7fffffff
};

/* Which integer arguments of a command are given (texts: data is not NULL).  NOW is for all
 * nouns; of the others each noun has its own. */
enum usher_given {
    USHER_GIVEN_TOKEN = 1u << 6,
    USHER_GIVEN_LEASE = 1u << 7,
    USHER_GIVEN_REST = 1u << 8,
    USHER_GIVEN_STATE = 1u << 9,
    USHER_GIVEN_MAX = 1u << 10,
    USHER_GIVEN_ORDER = 1u << 11,
    USHER_GIVEN_DAILY = 1u << 12,
    USHER_GIVEN_ZONE = 1u << 13,
    USHER_GIVEN_STRICT = 1u << 14,
    USHER_GIVEN_STICKY_MS = 1u << 15,
    USHER_GIVEN_STICKY_MAX = 1u << 16,
    USHER_GIVEN_REQUESTS = 1u << 17,
    USHER_GIVEN_ALL = 1u << 19,
    USHER_GIVEN_IF_VERSION = 1u << 20,
    USHER_GIVEN_ROOM_AFTER = 1u << 8,
    USHER_GIVEN_ROOM_IF_VERSION = 1u << 9,
    USHER_GIVEN_ROOM_CAPACITY = 1u << 10,
    USHER_GIVEN_ROOM_LINGER = 1u << 11,
    USHER_GIVEN_ROOM_TTL = 1u << 12,
    USHER_GIVEN_ROOM_AWAY = 1u << 13,
    USHER_GIVEN_ROOM_GRACE = 1u << 14,
    USHER_GIVEN_ROOM_LOG = 1u << 15,
    USHER_GIVEN_ROOM_REQUESTS = 1u << 16,
    USHER_GIVEN_ROOM_BAN = 1u << 17,
    USHER_GIVEN_ROOM_SINCE = 1u << 18,
    USHER_GIVEN_ROOM_MAX = 1u << 19,
    USHER_GIVEN_ROOM_PRESENCE = 1u << 20,
    USHER_GIVEN_ROOM_PUSH = 1u << 21,
    USHER_GIVEN_NOW = 1u << 30
};

/* Arguments of the number verbs; which verb takes which: src/core/number_verbs.def. */
struct usher_number_args {
    struct usher_text number;
    struct usher_text owner;
    struct usher_text group;  /* add: one group; call: a list, "A,B,*" */
    struct usher_text sticky; /* call: the peer to be called */
    struct usher_text after;  /* list, renew: where the page before says to go on */
    struct usher_text node;   /* the machine that carries the call, or all of its calls */
    uint64_t token;
    int64_t lease_ms, rest_ms;
    int64_t daily, zone_min, strict, order;
    int64_t sticky_ms, sticky_max, requests;
    int64_t state;      /* list: enum usher_number_state, or USHER_NUMBER_STATE_BUSY */
    int64_t max;        /* list, sweep: rows or changes at most */
    int64_t all;        /* free: 1, every call of the pool */
    int64_t if_version; /* only if that is the pool's */
};

#ifdef __cplusplus
}
#endif
#include <usher/ids.h>
#include <usher/queue.h>
#include <usher/room.h>
#include <usher/serial.h>
#ifdef __cplusplus
extern "C" {
#endif

/* One command.  Zero it first; a zero field is one not given. */
struct usher_operation {
    enum usher_verb verb;
    uint32_t given; /* USHER_GIVEN_… */
    struct usher_text scope;
    struct usher_text request; /* request id: a repeat gets the first answer; another verb, or
                                * other arguments, under the same id are invalid */
    int64_t now_ms;            /* with USHER_GIVEN_NOW */
    /* When it is done, wait until so many replicas of the store have it, or only a tenth is left of
     * the time there was (0.12 s at least, half at most), so that the answer is back before the
     * deadline: see `replicas` of the reply, which has to be compared.  At most USHER_WAIT_MAX;
     * 0: do not wait.  Holds up nobody who does not wait himself. */
    uint32_t wait;
    union {
        struct usher_number_args number;
        struct usher_id_args id;
        struct usher_room_args room;
        struct usher_serial_args serial;
        struct usher_queue_args queue;
        struct usher_rooms_args rooms;
        uint64_t reserve[40]; /* so that later nouns do not change the size */
    } arg;
};

struct usher_number_settings {
    int64_t order;      /* enum usher_number_order */
    int64_t lease_ms;   /* of a call that names none; 0: until hangup */
    int64_t rest_ms;    /* after a call */
    int64_t daily;      /* calls of one number per local day; 0: no cap */
    int64_t zone_min;   /* the pool's local time, minutes east of UTC */
    int64_t strict;     /* 1: hangup needs the token */
    int64_t sticky_ms;  /* how long a callee's number is remembered; default 7 days */
    int64_t sticky_max; /* how many callees; default 10,000 */
    int64_t requests;   /* how many answers are kept for request ids, each for less than an
                         * hour; default 10,000 */
};

/* All due expiries applied. */
struct usher_number_statistics {
    int64_t total, idle_up, idle_down, busy_up, busy_down;
    int64_t resting;         /* of idle_up */
    int64_t calls_today;     /* numbers given out since local midnight */
    int64_t refused_today;   /* calls answered `empty` or `refused` since then */
    int64_t longest_hold_ms; /* age of the oldest hold, 0 without holds */
    /* Of idle_up: that stand aside, having had their calls of the day.  When the cap is lowered, a
     * number counts as soon as a call has met it. */
    int64_t capped;
};

struct usher_number_row {
    struct usher_text number, group, owner; /* size 0: none */
    enum usher_number_state state;
    bool resting;
    uint64_t token;   /* of the current or the last hold, 0: never held */
    int64_t until_ms; /* busy: end of the hold; idle: end of the rest; 0: none */
    int64_t calls_today;
    int64_t used_ms;        /* the last call began, 0: never */
    bool capped;            /* idle+up, and has had its calls of the day */
    int64_t age_ms;         /* busy: how long by now, else 0 */
    struct usher_text node; /* busy: the machine that carries the call, size 0: not said */
};

struct usher_number_result {
    enum usher_number_state state; /* of the number, after the command */
    enum usher_number_why why;     /* empty and refused calls, else USHER_NUMBER_WHY_NONE */
    uint64_t token;                /* of the hold; `stale`: the current one */
    int64_t until_ms;
    /* Nothing gets free by itself before then: ask again; -1: nothing will.  (A number is free
     * then, unless more than 64 holds and rests end before that free none: of numbers not
     * registered, or that rest again.) */
    int64_t next_ms;
    uint64_t count; /* free, renew of a node, sweep: how many; drop: records erased */
    bool more;      /* free, renew of a node, sweep, list, drop: not all yet, ask again */
    size_t number_size;
    char number[USHER_NAME_MAX + 1]; /* NUL-terminated; list, renew of a node: where to go on, or
                                      * "" */
    size_t n_rows;                   /* show: 0 or 1; list */
    const struct usher_number_row *rows; /* owned by the reply */
    union {
        struct usher_number_settings settings; /* set */
        struct usher_number_statistics stats;  /* stats */
    } of;
};

/* The answer to one command.  Filled by usher_operate(); give back what it owns with
 * usher_result_done(). */
struct usher_result {
    enum usher_status status;
    enum usher_noun noun; /* of the command: the member of `of`; 0: none that is known */
    bool repeated;        /* the kept answer of an earlier command with this request id */
    /* With `wait`: how many replicas are known to have what the scope was after it; 0 where a store
     * has none (memory, SQLite), or could not tell. */
    uint32_t replicas;
    uint64_t epoch;   /* 0: the scope does not exist */
    uint64_t version; /* after the command; of USHER_LOST: the last one known not to be lost */
    /* Nothing of the scope changes by itself before: a lease, a rest, an offer, a sign of life that
     * does not come, … ends then at the earliest.  A host sets its timer to it and sends a `sweep`
     * when it is there: that, like any command that writes, applies and tells what is due, and its
     * reply has the next one.  What was to end may have gone meanwhile: then the sweep is `same`.
     * USHER_NEVER: nothing ends; also of a scope that does not exist, and of a failure. */
    int64_t due_ms;
    union {
        struct usher_number_result number;
        struct usher_id_result id;
        struct usher_room_result room;
        struct usher_serial_result serial;
        struct usher_queue_result queue;
        struct usher_rooms_result rooms;
        uint64_t reserve[100];
    } of;
    char message[192]; /* one line, "" when there is nothing to say */
    void *block;       /* private */
    size_t block_size;
    const struct usher_allocator *alloc;
};

/**
 * Execute @n commands; @replies[i] answers @commands[i].  Commands on one scope are applied
 * in the order given.  Commands of several threads that wait at the same time share one
 * transaction (SQLite) or one pipeline (Redis).  Each command is atomic; the batch is not.
 *
 * All @n replies are always filled in.  Returns the worst of: USHER_OK (whatever the
 * replies say), USHER_INVALID (this call itself: NULL, @n of 0 or > USHER_BATCH_MAX, an
 * engine of the parent process; replies are then not touched),
 * USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_LOST, USHER_NOMEM when at least one reply says so.
 *
 * Blocks at most for the engine's timeout.  Threads: any.  Since 0.1.
 */
USHER_API enum usher_status usher_operate(struct usher_engine *e,
                                          const struct usher_operation *commands,
                                          struct usher_result *replies, size_t n);

/** Free what @reply owns (rows); the rest of it stays readable.  NULL is fine. */
USHER_API void usher_result_done(struct usher_result *reply);

/** Words for the codes in replies; "?" if there is none.  Static. */
USHER_API const char *usher_verb_word(enum usher_verb verb);
USHER_API const char *usher_noun_word(enum usher_noun noun);
USHER_API const char *usher_number_state_word(enum usher_number_state state);
USHER_API const char *usher_number_why_word(enum usher_number_why why);
USHER_API const char *usher_number_order_word(enum usher_number_order order);
USHER_API const char *usher_queue_agent_state_word(enum usher_queue_agent_state state);
USHER_API const char *usher_queue_user_state_word(enum usher_queue_user_state state);
USHER_API const char *usher_queue_place_word(enum usher_queue_place place);
USHER_API const char *usher_queue_why_word(enum usher_queue_why why);
USHER_API const char *usher_queue_outcome_word(enum usher_queue_outcome outcome);
USHER_API const char *usher_queue_trigger_word(enum usher_queue_trigger trigger);
USHER_API const char *usher_queue_strategy_word(enum usher_queue_strategy strategy);
USHER_API const char *usher_queue_requeue_word(enum usher_queue_requeue requeue);

/* ---- numbers: a shared pool ------------------------------------------------------- */

/* One number held for one call. */
struct usher_number_hold {
    /* Fencing token: another one for each hold of the pool, whatever its store has lost meanwhile,
     * and larger for every later one, but where two servers were masters at the same time: those of
     * the one that is given up may be larger than those of the other.  One of a store that has no
     * identity (memory) as long as the pool is not made anew. */
    uint64_t token;
    int64_t until_ms; /* 0: until hangup */
    uint64_t epoch, version;
    char number[USHER_NAME_MAX + 1];
};

/*
 * Statuses common to all number functions: USHER_INVALID (an argument; or the engine was
 * opened before a fork), USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: may
 * have been applied), USHER_NOMEM.  Each function names the others.
 * The transition table is src/core/number.def (`usher tables number`).
 */

/** Put @number into @pool, idle+down; the pool comes into being with its first number.
 *  @group may be NULL.  USHER_OK; USHER_SAME if it is there (its group stays). O(log n). */
USHER_API enum usher_status usher_number_add(struct usher_engine *e, const char *pool,
                                             const char *number, const char *group);

/** Take @number out of @pool, even in a call.  Its calls of the day are remembered (of the last
 *  10,000 numbers) should it be put back.  USHER_OK; USHER_SAME if it is not there.  O(log n). */
USHER_API enum usher_status usher_number_del(struct usher_engine *e, const char *pool,
                                             const char *number);

/** Register: @number may be given out.  USHER_OK, USHER_SAME, USHER_MISSING.  O(log n). */
USHER_API enum usher_status usher_number_reg(struct usher_engine *e, const char *pool,
                                             const char *number);

/** Unregister; a call under way goes on.  USHER_OK, USHER_SAME, USHER_MISSING. O(log n). */
USHER_API enum usher_status usher_number_unreg(struct usher_engine *e, const char *pool,
                                               const char *number);

struct usher_number_call_options {
    size_t size;         /* set by USHER_NUMBER_CALL_OPTIONS_INIT */
    const char *number;  /* this one, or NULL: the pool's order decides */
    const char *groups;  /* "A,B,*": tried in order, * is any; NULL: any */
    const char *sticky;  /* the callee: prefer the number last used for it; or NULL */
    int64_t lease_ms;    /* 0: the pool's; < 0: until hangup */
    const char *request; /* request id or NULL */
    /* The machine that carries the call, or NULL: with it go all of its calls at once, while @owner
     * names this one. */
    const char *node;
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_NUMBER_CALL_OPTIONS_INIT { sizeof(struct usher_number_call_options) }
#else
#define USHER_NUMBER_CALL_OPTIONS_INIT { .size = sizeof(struct usher_number_call_options) }
#endif
/* clang-format on */

/**
 * Take a free number of @pool for one call of @owner (may be NULL: nobody in particular).
 *
 * The number stays busy until usher_number_hangup(), or until the lease ends after the last
 * usher_number_renew() if there is a lease.  Asking again with the same @owner returns the
 * number already held (USHER_SAME).  @opt may be NULL.
 *
 * USHER_OK, USHER_SAME  *@ret_hold is written
 * USHER_EMPTY           nothing is free; usher_message() says why and until when
 * USHER_MISSING         opt->number is not in the pool
 * USHER_REFUSED         opt->number is busy, unregistered, resting, or has had its calls of the day
 * USHER_UNKNOWN         no answer: ask again with the same @owner or request id
 *
 * Cost: O(log n).  Threads: any.  Since 0.1.  Table: event `call`.
 */
USHER_API enum usher_status usher_number_call(struct usher_engine *e, const char *pool,
                                              const char *owner,
                                              const struct usher_number_call_options *opt,
                                              struct usher_number_hold *ret_hold);

/**
 * End the call on @number.  @token 0: not given (refused by a strict pool).  @rest_ms is how
 * long the number rests before it is offered again, < 0: the pool's; 0 ends the rest of one
 * whose call is over already.
 * USHER_OK; USHER_STALE if @token is not the current one: somebody else's call goes on;
 * USHER_LOST if the store has lost what @token was given for: the number may be somebody else's;
 * USHER_REFUSED if it is not busy; USHER_MISSING.  O(log n).
 */
USHER_API enum usher_status usher_number_hangup(struct usher_engine *e, const char *pool,
                                                const char *number, uint64_t token,
                                                int64_t rest_ms);

/**
 * Extend a hold: it ends @lease_ms from now (0: as long as its last lease; < 0: at hangup).
 * USHER_OK, USHER_SAME; USHER_STALE, USHER_LOST, USHER_REFUSED, USHER_MISSING as for hangup.
 * @ret_until_ms may be NULL.  O(log n).
 */
USHER_API enum usher_status usher_number_renew(struct usher_engine *e, const char *pool,
                                               const char *number, uint64_t token, int64_t lease_ms,
                                               int64_t *ret_until_ms);

/**
 * As usher_number_renew() of @hold->number and @hold->token, by @owner, who takes the number back
 * if the store has lost that it was given out and nobody else has it: though it is not registered,
 * rests, or has had its calls of the day.  @hold is then a new one, with another token; asked
 * again, it is the same, so no request id is needed.  It ends with the call: do not call
 * usher_number_call() besides.
 *
 * @opt may be NULL, or that of the call.  lease_ms: it ends so long from now (0: as long as its
 * last lease, one taken back as long as the pool's; < 0: at hangup).  node: of one that is taken
 * back; one that is there keeps the node, or none, that it began with, as it does when
 * usher_number_call() is asked again.  What else is in *@opt is not looked at.
 *
 * USHER_OK, USHER_SAME  *@hold is written
 * USHER_LOST            somebody else has the number, or it is not in the pool any more
 * USHER_STALE, USHER_REFUSED, USHER_MISSING  as for hangup
 *
 * Cost: O(log n).  Threads: any.  Since 0.1.  Table: events `renew`, `retake`.
 */
USHER_API enum usher_status usher_number_renew_as(struct usher_engine *e, const char *pool,
                                                  const char *owner,
                                                  const struct usher_number_call_options *opt,
                                                  struct usher_number_hold *hold);

/**
 * For operators: end the rest of @number, however long it was to be.  Its calls of the day stay: if
 * the pool's cap is reached, no call gets it before the cap is raised or the day is over.
 * USHER_OK; USHER_SAME if it does not rest; USHER_MISSING.  O(log n).
 */
USHER_API enum usher_status usher_number_lift(struct usher_engine *e, const char *pool,
                                              const char *number);

/**
 * Extend all holds of @node, as usher_number_renew() does one: in bounded steps, oldest first, each
 * a change of its own.  @ret_renewed may be NULL.
 * USHER_OK; USHER_SAME if there was nothing to extend; USHER_MISSING: no such pool.
 */
USHER_API enum usher_status usher_number_renew_node(struct usher_engine *e, const char *pool,
                                                    const char *node, int64_t lease_ms,
                                                    uint64_t *ret_renewed);

/**
 * For operators: end calls by force.  Those of @owner, or that on @number.  Works in bounded
 * steps until none is left.  @ret_freed may be NULL.
 * USHER_OK; USHER_SAME if there was nothing to free; USHER_MISSING: no such pool or number;
 * USHER_INVALID: neither is given.
 */
USHER_API enum usher_status usher_number_free(struct usher_engine *e, const char *pool,
                                              const char *owner, const char *number,
                                              uint64_t *ret_freed);

/** The same for every call of @pool. */
USHER_API enum usher_status usher_number_free_all(struct usher_engine *e, const char *pool,
                                                  uint64_t *ret_freed);

/** The same for all calls of @node, a machine that is gone. */
USHER_API enum usher_status usher_number_free_node(struct usher_engine *e, const char *pool,
                                                   const char *node, uint64_t *ret_freed);

/** One number, as it is with all due expiries applied; texts live in *@ret_reply until
 *  usher_result_done().  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status usher_number_show(struct usher_engine *e, const char *pool,
                                              const char *number, struct usher_result *ret_reply);

/** Numbers in byte order after @after (NULL: from the start), at most @max (0: 100) rows.
 *  @state -1: all.  With @owner (not NULL: only what it holds) or a busy state: calls, oldest
 *  first, from the index of what is held.  When reply.of.number.more, go on after
 *  reply.of.number.number: a number or, of calls, the token of the last one.
 *  USHER_OK, USHER_MISSING (no such pool).  One command looks at USHER_LIST_MAX numbers
 *  at most. */
USHER_API enum usher_status usher_number_list(struct usher_engine *e, const char *pool, int state,
                                              const char *owner, const char *after, size_t max,
                                              struct usher_result *ret_reply);

/** The calls of @node in the same way, oldest first. */
USHER_API enum usher_status usher_number_list_node(struct usher_engine *e, const char *pool,
                                                   const char *node, const char *after, size_t max,
                                                   struct usher_result *ret_reply);

/** USHER_OK, USHER_MISSING.  O(1) plus expiries that are due. */
USHER_API enum usher_status usher_number_stats(struct usher_engine *e, const char *pool,
                                               struct usher_number_statistics *ret_stats);

/** Change those settings of @pool that @given names (USHER_GIVEN_…; 0: just read them); the
 *  pool comes into being if need be.  A change of order holds for numbers as they become
 *  idle; those idle before go first.  @inout has all of them on return.
 *  USHER_OK, USHER_SAME; USHER_MISSING (@given is 0 and there is no such pool). */
USHER_API enum usher_status usher_number_set(struct usher_engine *e, const char *pool,
                                             uint32_t given, struct usher_number_settings *inout);

/** Apply due expiries now, in bounded steps until none is left.  Never needed for
 *  correctness.  @ret_expired may be NULL.  USHER_OK, USHER_SAME, USHER_MISSING. */
USHER_API enum usher_status usher_number_sweep(struct usher_engine *e, const char *pool,
                                               uint64_t *ret_expired);

/* What usher_number_bulk() did, by answer. */
struct usher_number_bulk_counts {
    uint64_t ok, same, other; /* other: missing or refused */
};

/**
 * @verb (USHER_NUMBER_ADD, _DEL, _REG or _UNREG) for each of @n numbers, in batches.
 * @group is for ADD, or NULL.  Stops after the first batch with a failure; *@ret_counts (may
 * be NULL) then says how far it came.
 */
USHER_API enum usher_status usher_number_bulk(struct usher_engine *e, enum usher_verb verb,
                                              const char *pool, const char *const *numbers,
                                              size_t n, const char *group,
                                              struct usher_number_bulk_counts *ret_counts);

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
    struct usher_text subject; /* the number, user or agent; none for `set`.  Of a queue it is an
                                * agent if token is not 0 and there is no owner, else a user */
    uint8_t from, to;          /* states of the subject; 0,0 for `set` */
    uint64_t token;
    int64_t until_ms;
    struct usher_text owner;
    /* What it takes to make the same change in a copy: packed fields (room.h), size 0 if there
     * is nothing more to say.  One byte, MessagePack's nil: they are too large to be told.
     * Of a number of a gap-free rule: its digits. */
    struct usher_text data;
    /* Of a room: marks of its history without this change and with it, see room.h. */
    uint64_t was, mark;
    /* As a store tells it: so long may it be kept to be told together with others (`presence` of
     * a room).  0 in what watchers hear. */
    int64_t wait_ms;
};

typedef void usher_watch_fn(void *payload, const struct usher_notice *notice);
struct usher_watcher;

/**
 * Call @fn for each change that this engine makes on scope @scope of @noun (NULL: every
 * scope), in order of version, after the change is durable and on a thread that uses the
 * engine; and for each command of this engine on such a scope that is answered USHER_LOST.  @fn may
 * use the engine; its changes are told afterwards.  A notice that cannot be kept for lack of memory
 * is dropped and logged: `before` of the next one shows it. USHER_OK, USHER_INVALID, USHER_NOMEM.
 */
USHER_API enum usher_status usher_watch(struct usher_engine *e, enum usher_noun noun,
                                        const char *scope, usher_watch_fn *fn, void *payload,
                                        struct usher_watcher **ret_watch);

/** Stop; when it returns, @fn is not running (unless called from @fn) and never will. */
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
 * issued twice; @fn is told, too, what it keeps and the store does not have, which is no fault.
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
 *  opened.  Any thread.  USHER_OK, USHER_INVALID. */
USHER_API enum usher_status usher_failures(struct usher_engine *e, uint64_t *ret_unknown,
                                           uint64_t *ret_unavailable);

/* What usher_check() found. */
struct usher_check_result {
    uint64_t faults;
    uint64_t repaired; /* of the faults */
    uint64_t scopes;   /* that were looked at */
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
 * The Redis script of @noun ("number"), complete, as the library loads it.  Writes at most
 * @size bytes including the NUL and always the full length (without NUL) to *@ret_length,
 * like snprintf.  USHER_OK, USHER_INVALID (no such noun, or built without Redis).
 */
USHER_API enum usher_status usher_lua(const char *noun, char *buffer, size_t size,
                                      size_t *ret_length);

/* LUA: the constants that the Redis script of the noun begins with. */
enum usher_table_format {
    USHER_TABLE_MARKDOWN,
    USHER_TABLE_DOT,
    USHER_TABLE_LUA,
    USHER_TABLE_FORMAT__WIDE = 0x7fffffff
};

/** The transition table of @noun ("number"), in the way of usher_lua(). */
USHER_API enum usher_status usher_table(const char *noun, enum usher_table_format format,
                                        char *buffer, size_t size, size_t *ret_length);

#ifdef __cplusplus
}
#endif

#include <usher/command.h>

#endif
