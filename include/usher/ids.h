/* SPDX-License-Identifier: MIT */
/*
 * Ids: integers from segments.  Included by usher.h, which has the rules for all functions.
 *
 * A **dispenser** is a scope of a store.  Its `next` issues ids in strict order to all programs on
 * that store.  A program that needs more ids than a store can issue uses struct usher_ids: it takes
 * whole segments and issues their ids in the process, some hundred million a second.  Its ids are
 * unique among all; they are in order within the process.
 *
 * With an authority (usher_options.authority, `?authority=`) a dispenser is managed by default: the
 * authority grants a segment before the store issues any of it.  A store that has lost changes then
 * repeats no id: it continues with a new segment, and the rest of the previous one is a gap, `step`
 * ids at most.  Each `next` on Redis checks that this is still the server that the segment was
 * installed on (a server that gets its first replica counts as another one, too).  A dispenser that
 * is gone is created again, and each engine compares authority and store once.  The same applies to
 * a file of SQLite: a file put in its place is another one, and so is any file after a start of the
 * system.  A copy that was written over the file is noticed only if segments were granted since.
 *
 * While the authority cannot be reached, ids are issued up to the end of the segment; from then on
 * USHER_UNAVAILABLE.  Its numbers start at 1: a dispenser with start 0 begins at `by` there.  A
 * dispenser that is deleted and created again continues after its ids.
 */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one in its place */
#endif
#ifndef USHER_IDS_H
#define USHER_IDS_H

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_ID_LIMIT_MAX INT64_MAX       /* the largest id; the smallest is 0 */
#define USHER_ID_N_MAX INT64_C(1000000000) /* ids of one `next`, of one segment */
#define USHER_ID_BY_MAX INT64_C(1000000)
#define USHER_ID_STEP_DEFAULT 512          /* ids of a segment by default */
#define USHER_ID_STEP_MAX INT64_C(1000000) /* automatic growth of a segment ends here */

/* Why `set` was refused.  Sites that share nothing begin at different starts with the same by; so
 * ids stay start + k * by after any set. */
enum usher_id_why {
    USHER_ID_WHY_NONE = 0,
    USHER_ID_WHY_BACK = 1, /* ids up to there were issued */
    USHER_ID_WHY_CLASS =
        2, /* by is no multiple of its old value: ids of another start would come */
    USHER_ID_WHY__WIDE = 0x7fffffff
};

/* A range of ids: first, first + by, …, n of them. */
struct usher_id_range {
    int64_t first, n, by;
    uint64_t token;          /* to return it */
    uint64_t epoch, version; /* of the dispenser */
};

/* ---- in the process --------------------------------------------------------------- */

/*
 * Segments come from a dispenser of a store, or from a manager of the application's own.  The
 * next one is fetched before the current one ends (share), by one of the callers, or, with
 * `background`, by a thread of the application that calls usher_ids_refill(); then no caller
 * waits for the manager unless segments are used up faster than it answers.
 *
 *   ordered   usher_ids_next(), usher_ids_take(): ids grow in the order of the calls, over all
 *             threads of the process.  One atomic addition each.
 *   fast      usher_ids_local_next(): each thread has a sub-range of `chunk` ids of its own.
 *             Unique over all, growing within a thread.
 *
 * Both may be used on one struct usher_ids.  Ids that were taken and not issued are gaps: a clean
 * close returns as many as it can; a process that dies loses at most its two segments.
 *
 * A manager that fails is called again after 10 ms, 20 ms, … up to 1 s, by one caller at a time.
 * No call fails before the ids at hand are used up; then callers wait up to their deadline.
 *
 * If a store has lost data (its epoch is another one, or its counter fell), segments at or below
 * those that this process got are not used: the counter is raised first.  The process cannot detect
 * ids that other processes got: use an authority that loses nothing for that.
 *
 * usher_id_set() with another `by` ends each open struct usher_ids of that dispenser: from its next
 * segment on it returns USHER_REFUSED, and the application opens another one.  No id comes twice.
 *
 * After fork() a child must open its own: the parent's returns USHER_INVALID there.
 */
struct usher_ids;
struct usher_ids_local;

/* A source of segments other than a store.  Called on a thread that uses the ids, one
 * at a time. */
struct usher_ids_manager {
    /* Write about @n ids (at least one) that no other caller has or will get to *@ret_range; none
     * below @floor; first, n and by must be set, the rest is for release().  Return by
     * @deadline_ms (CLOCK_MONOTONIC, ms).  USHER_OK; USHER_FULL, USHER_MISSING, USHER_REFUSED,
     * USHER_INVALID and USHER_LOST are final for the waiting callers; others are retried. */
    enum usher_status (*reserve)(void *payload, int64_t n, int64_t floor, int64_t deadline_ms,
                                 struct usher_id_range *ret_range, char message[192]);
    /* May be NULL.  Return the rest of a range of reserve(): @range has its token and epoch. */
    void (*release)(void *payload, const struct usher_id_range *range);
    void *payload;
};

struct usher_ids_options {
    size_t size;        /* set by USHER_IDS_OPTIONS_INIT */
    int64_t step;       /* ids of the first segment; 0 = the dispenser's (a manager: 512) */
    int64_t step_max;   /* largest step; 0 = USHER_ID_STEP_MAX */
    int64_t life_ms;    /* the step is doubled if a segment lasts less, halved if twice as long;
                         * 0 = 1000; USHER_NONE: the step is fixed */
    int64_t share;      /* fetch the next segment when this percentage is left, 1 to 99; 0 = 50;
                         * USHER_NONE: only when nothing is left */
    int64_t chunk;      /* ids of one sub-range; 0 = 256 */
    int64_t timeout_ms; /* deadline of each call; 0 = USHER_TIMEOUT_DEFAULT */
    bool background;    /* another thread calls usher_ids_refill() all the time */
};
/* clang-format off */
#ifdef __cplusplus
#define USHER_IDS_OPTIONS_INIT { sizeof(struct usher_ids_options) }
#else
#define USHER_IDS_OPTIONS_INIT { .size = sizeof(struct usher_ids_options) }
#endif
/* clang-format on */

/**
 * Open ids from dispenser @name of @e, which must outlive them.  @opt may be NULL.  The first
 * segment is taken here.  USHER_OK; statuses of usher_id_next(); USHER_NOMEM.
 */
USHER_API enum usher_status usher_ids_open(struct usher_engine *e, const char *name,
                                           const struct usher_ids_options *opt,
                                           struct usher_ids **ret_ids);

/** Open ids from @manager, which is copied. */
USHER_API enum usher_status usher_ids_open_manager(const struct usher_ids_manager *manager,
                                                   const struct usher_ids_options *opt,
                                                   struct usher_ids **ret_ids);

/** Return the ids that are left, if they are still the newest, and free @ids.  No call may be in
 *  progress and no usher_ids_local open.  NULL is allowed.  In a child of fork(): only frees. */
USHER_API void usher_ids_close(struct usher_ids *ids);

/**
 * Take the next @n ids (1 to USHER_ID_N_MAX), one after another, in the order of calls.  A range
 * that does not fit into the current segment skips the rest of it.  Waits at most @timeout_ms (0 =
 * as opened); a request that this caller makes itself is bounded by the engine's timeout instead.
 *
 * USHER_OK           *@ret_first is written
 * USHER_FULL, …      the status of the dispenser or manager
 * USHER_UNAVAILABLE  no ids came in time
 * USHER_INVALID      an argument; or opened before a fork
 */
USHER_API enum usher_status usher_ids_take(struct usher_ids *ids, int64_t n, int64_t timeout_ms,
                                           int64_t *ret_first);

/**
 * For a thread of the application: wait up to @timeout_ms until the next segment is needed, and
 * fetch it.  USHER_OK: done; USHER_SAME: none was needed; else the status of the failure: call
 * again, this function makes the pauses between attempts.  usher_ids_stop() ends the wait.
 */
USHER_API enum usher_status usher_ids_refill(struct usher_ids *ids, int64_t timeout_ms);

/** Make usher_ids_refill() return USHER_REFUSED at once from now on, to end that thread.  Callers
 * then fetch segments themselves. */
USHER_API void usher_ids_stop(struct usher_ids *ids);

struct usher_ids_statistics {
    uint64_t issued;     /* ids, sub-ranges of threads included */
    uint64_t lost;       /* ids skipped: gaps made here */
    uint64_t segments;   /* fetched */
    uint64_t failures;   /* of the manager */
    uint64_t waits;      /* calls that waited for a segment */
    uint64_t waited_us;  /* total of these waits */
    uint64_t longest_us; /* longest of these waits */
    uint64_t p9999_ns;   /* 99.99 of 100 ids were issued in at most this time: the upper end of a
                          * bucket (a power of two); 64 if all were that fast */
    int64_t step;        /* of the next segment */
    int64_t left;        /* ids at hand */
    int64_t segment_ms;  /* life of the last segment; USHER_NONE: the first is in use */
    double rate;         /* ids a second of that segment */
};

/** Read the statistics since the opening.  Threads: any. */
USHER_API enum usher_status usher_ids_stats(struct usher_ids *ids,
                                            struct usher_ids_statistics *ret);

/** Open a sub-range for the calling thread: only one thread at a time may use it.  Takes one page
 * of memory. */
USHER_API enum usher_status usher_ids_local_open(struct usher_ids *ids,
                                                 struct usher_ids_local **ret_local);
/** Close a sub-range.  Its rest is returned if it is the newest, or kept for the next sub-range. */
USHER_API void usher_ids_local_close(struct usher_ids_local *local);

/* Private: the data of the inline functions below.  All zero in a child of fork(). */
struct usher_ids_head {
    uint64_t next;
    char apart[120]; /* another cache line, and not the one fetched with it */
    uint64_t end;    /* ids below may be taken by addition; 0: none */
    uint64_t by;
};
struct usher_ids_local_head {
    uint64_t next, end, by;
};
USHER_API enum usher_status usher_ids_more(struct usher_ids *ids, uint64_t taken, int64_t *ret_id);
USHER_API enum usher_status usher_ids_local_more(struct usher_ids_local *local, int64_t *ret_id);

/** Take the next id, in the order of calls.  Statuses as usher_ids_take().  One atomic addition
 *  while the segment lasts.  Threads: any. */
static inline enum usher_status usher_ids_next(struct usher_ids *ids, int64_t *ret_id)
{
    struct usher_ids_head *h = (struct usher_ids_head *)(void *)ids;
    /* Read before the addition: its result is then of this segment or a later one. */
    uint64_t end = __atomic_load_n(&h->end, __ATOMIC_ACQUIRE), id = UINT64_MAX;
    int64_t other; /* so that the caller's variable can be a register, without a memory write */
    enum usher_status status;

    if (__builtin_expect(end != 0, 1)) {
        id = __atomic_fetch_add(&h->next, h->by, __ATOMIC_RELAXED);
        if (__builtin_expect(id < end, 1)) {
            *ret_id = (int64_t)id;
            return USHER_OK;
        }
    }
    status = usher_ids_more(ids, id, &other);
    if (status == USHER_OK)
        *ret_id = other;
    return status;
}

/** Take the next id of this thread's sub-range.  Statuses as usher_ids_take(). */
static inline enum usher_status usher_ids_local_next(struct usher_ids_local *local, int64_t *ret_id)
{
    struct usher_ids_local_head *h = (struct usher_ids_local_head *)(void *)local;
    uint64_t id = h->next;
    int64_t other;
    enum usher_status status;

    if (__builtin_expect(id < h->end, 1)) {
        h->next = id + h->by;
        *ret_id = (int64_t)id;
        return USHER_OK;
    }
    status = usher_ids_local_more(local, &other);
    if (status == USHER_OK)
        *ret_id = other;
    return status;
}

/* ---- an authority as the manager ------------------------------------------------------ */

/* The data of usher_ids_authority_manager(); the caller's, and must outlive the manager. */
struct usher_ids_authority {
    struct usher_authority *authority; /* authority.h */
    const char *name;                  /* name of the maximum that is raised */
    int64_t start;                     /* the first id, from 1; 0 = 1 */
    int64_t by;                        /* 0 = 1 */
    int64_t limit;                     /* 0 = USHER_ID_LIMIT_MAX */
};

/** Return a manager for usher_ids_open_manager(): @of->authority commits segments before a caller
 *  gets them.  A released segment is returned to it, if it is the newest. */
USHER_API struct usher_ids_manager usher_ids_authority_manager(struct usher_ids_authority *of);

/* ---- ids that hide their order ---------------------------------------------------- */

/*
 * A bijection of first … last onto itself that depends on a key: it maps a counter to ids that look
 * random, none twice, and with the key back to the counter.  It hides their count and the next one
 * from a reader.  It is no encryption: do not protect secrets with it.
 * Key, first and last must stay the same for the life of the ids.
 */
struct usher_scrambler {
    uint64_t first, size;
    uint64_t keys[8];
    unsigned bits; /* of half a number */
};

/** USHER_OK; USHER_INVALID: @key is NULL or empty, or not 0 <= @first <= @last.  These three leave
 *  usher_message() as it is. */
USHER_API enum usher_status usher_scramble_init(struct usher_scrambler *s, const void *key,
                                                size_t key_size, int64_t first, int64_t last);
/** Map @id to its code; -1: @id is not from first to last.  Some ten nanoseconds.  Threads: any. */
USHER_API int64_t usher_scramble(const struct usher_scrambler *s, int64_t id);
/** Return the id that usher_scramble() maps to @code. */
USHER_API int64_t usher_unscramble(const struct usher_scrambler *s, int64_t code);

/** Return the word of @why; "?" if there is none.  Static. */
USHER_API const char *usher_id_why_word(enum usher_id_why why);

/* ---- made by src/api/gen_calls.py: do not edit ----------------------------------------- */
/* clang-format off */

struct usher_reply;

/* Options of the calls of `id`.  If fewer than five verbs take an option, its comment begins
 * with them.  0 or NULL = not given; USHER_NONE or "" = explicitly none, never or off.  An
 * option that the verb does not take is USHER_INVALID. */
struct usher_id_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: return at once; usher_collect() returns the reply with this tag */
    int64_t timeout_ms; /* deadline of this call; 0 = the engine's */
    const char *request; /* request id: a repeat returns the first answer */
    int64_t now_ms; /* time of the command; 0 = the engine's clock */
    int64_t wait; /* number of replicas to wait for, after the command */
    int64_t next; /* set: skip the ids below this one; the counter never goes back; 0 to 2^63 - 1 */
    uint64_t epoch; /* only if the scope has this epoch, else stale */
    uint64_t token; /* return: the token of the answer; if it is not current: stale */
    /* create, next, set, return: only if the scope has this version, else stale; 1 to 2^53 - 1 */
    int64_t if_version;
    int64_t since_version; /* changes: only changes after this version; 0 to 2^53 - 1 */
    int64_t max; /* changes: maximum notices; a page ends after 256; 1 to 10,000 */
};
#ifdef __cplusplus
#define USHER_ID_OPTIONS_INIT \
    { sizeof(struct usher_id_options), NULL, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_ID_OPTIONS_INIT { .size = sizeof(struct usher_id_options) }
#endif

/* Settings.  A member that is not given (0 or NULL) keeps its value, or gets its default in a
 * new scope; USHER_NONE = none, never or off; a code …_OFF = its code 0.  Settings read from a
 * reply can be passed back unchanged. */
struct usher_id_settings {
    size_t size; /* set by …_INIT */
    int64_t start; /* the first id; 0 to 2^63 - 1; default 1 */
    int64_t step; /* number of ids of the first segment; 1 to 1,000,000,000; default 512 */
    /* difference from one id to the next; sites share one by=, each with its own start=; 1 to
     * 1,000,000; default 1 */
    int64_t by;
    int64_t limit; /* the largest id; 0 to 2^63 - 1; default 2^63 - 1 */
    int64_t step_max; /* the largest step; 1 to 1,000,000,000; default 1,000,000 */
    /* the step doubles if a segment lasts less, halves if twice as long; USHER_NONE: it is
     * fixed; default USHER_NONE */
    int64_t life_ms;
    int64_t managed; /* 1: segments come from an authority, or by install; default USHER_NONE */
    int64_t requests; /* maximum results kept for request ids; 1 to 1,000,000; default 10,000 */
    /* maximum notices kept for changes and watch; USHER_NONE: no log; 0 to 100,000; default
     * USHER_NONE */
    int64_t log;
};
#ifdef __cplusplus
#define USHER_ID_SETTINGS_INIT \
    { sizeof(struct usher_id_settings), 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_ID_SETTINGS_INIT { .size = sizeof(struct usher_id_settings) }
#endif

/* Answer, written for every status.  Members that do not apply are USHER_NONE (numbers), ""
 * (texts) or 0 (codes, tokens). */
struct usher_id_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    int64_t due_ms; /* nothing in the scope expires before this time; or USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: number of replicas that have it */
    bool repeated; /* cached result of an earlier command with this request id */
    bool more; /* not complete: call again */
    char message[USHER_MESSAGE_MAX]; /* one line, or "" */
    int64_t first; /* next, return: the first id of a range */
    int64_t n; /* next, return: number of items */
    int64_t next; /* the next id */
    int64_t highest; /* the last number allowed */
    /* next, show, return: difference from one number to the next; of ids: ids of a segment */
    int64_t step;
    int64_t by; /* next, return: difference from one id to the next */
    /* next: fencing token of the hold; every later hold of the scope has another one */
    uint64_t token;
    enum usher_id_why why; /* set: reason of a refusal */
    int64_t since_version; /* changes: a version */
};
#ifdef __cplusplus
#define USHER_ID_ANSWER_INIT \
    { sizeof(struct usher_id_answer), 0, 0, 0, 0, 0, false, false, "", 0, 0, 0, 0, 0, 0, 0, \
    (enum usher_id_why)0, 0 }
#else
#define USHER_ID_ANSWER_INIT { .size = sizeof(struct usher_id_answer) }
#endif

/* One row of a reply.  Texts belong to the reply and live as long.  Members that do not apply
 * are USHER_NONE (numbers), NULL (texts) or 0 (codes, tokens). */
struct usher_id_row {
    size_t size; /* set by …_INIT */
    int64_t next; /* the next id */
    int64_t highest; /* the last number allowed */
    int64_t step; /* difference from one number to the next; of ids: ids of a segment */
    int64_t start; /* the first one */
    int64_t by; /* difference from one id to the next */
    int64_t limit; /* upper limit */
    int64_t issued; /* ids issued */
    int64_t segments; /* number of segments until now */
    int64_t began_ms; /* start of the current segment */
    int64_t lasted_ms; /* life of the previous segment */
    int64_t managed; /* its segments are installed from outside */
    struct usher_text value; /* a value */
    int64_t version; /* version of the last change */
    enum usher_verb verb; /* verb of the change */
    const char *subject; /* subject of the change */
    int64_t before; /* version before the change */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    const char *owner; /* the holder */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t until_ms; /* when it expires */
    struct usher_text data; /* data to make the change in a copy */
    int64_t time_ms; /* time of the change */
    int64_t first; /* the first id of a range */
    int64_t n; /* number of items */
};
#ifdef __cplusplus
#define USHER_ID_ROW_INIT \
    { sizeof(struct usher_id_row), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { NULL, 0 }, 0, (enum \
    usher_verb)0, NULL, 0, 0, 0, NULL, 0, 0, { NULL, 0 }, 0, 0, 0 }
#else
#define USHER_ID_ROW_INIT { .size = sizeof(struct usher_id_row) }
#endif

/* Arguments of every call: the engine @e, the dispenser, the subject of the verb, @opt (may be
 * NULL), and where to write the answer (may be NULL).  A reply belongs to the caller: release it
 * with usher_reply_done().  It is NULL if the call itself failed.  With opt->post the call
 * returns like usher_post(), and the answer arrives as an event.  In addition to the statuses
 * listed, every call may return USHER_INVALID, USHER_UNAVAILABLE (nothing changed),
 * USHER_UNKNOWN (no answer: it may have been applied), USHER_LOST and USHER_NOMEM;
 * usher_message() has the details.  Threads: any.  Since 0.1. */

/**
 * Create @dispenser.  USHER_OK; USHER_SAME: it is there, with these settings; USHER_REFUSED: it is
 * there with others.
 * Options: opt->epoch, opt->if_version.
 */
USHER_API enum usher_status usher_id_create(struct usher_engine *e, const char *dispenser,
                                            const struct usher_id_settings *settings,
                                            const struct usher_id_options *opt,
                                            struct usher_reply **ret);

/**
 * Take the next @n ids (1 to USHER_ID_N_MAX): first, first + by, ….  A repeat with the same
 * request returns the same ids; no other caller gets them.  One round trip.
 *
 * USHER_OK     first, n, by, token
 * USHER_FULL   the limit is reached; first and n are the ids that are left, if any
 * USHER_EMPTY  the segment of a managed dispenser has fewer left; it waits for `install`
 * Options: opt->epoch, opt->if_version.
 */
USHER_API enum usher_status usher_id_next(struct usher_engine *e, const char *dispenser, int64_t n,
                                          const struct usher_id_options *opt,
                                          struct usher_id_answer *ret);

/** Show @dispenser as a row.  Writes nothing.  USHER_OK, USHER_MISSING. */
USHER_API enum usher_status usher_id_stats(struct usher_engine *e, const char *dispenser,
                                           const struct usher_id_options *opt,
                                           struct usher_reply **ret);

/**
 * Change the given settings (not start, managed).  With opt->next the counter is raised to that, or
 * to the first id after it that is start + k * by.  The reply has all settings:
 * usher_id_settings_of().  After a change of by each open struct usher_ids of @dispenser returns
 * USHER_REFUSED from its next segment on: open another one.  USHER_OK, USHER_SAME, USHER_MISSING;
 * USHER_REFUSED: the counter is already higher, or by is no multiple of its old value: why.
 * Options: opt->next, opt->epoch, opt->if_version.
 */
USHER_API enum usher_status usher_id_set(struct usher_engine *e, const char *dispenser,
                                         const struct usher_id_settings *settings,
                                         const struct usher_id_options *opt,
                                         struct usher_reply **ret);

/**
 * Return @n ids from @first on, with opt->token and opt->epoch of the answer that gave them.
 * These are all ids of that answer, or the last ones of it.  The caller must have used none of
 * them, and may use none from then on, for every status.
 *
 * USHER_OK     no other id was issued since, so they are issued again
 * USHER_SAME   they were returned before
 * USHER_STALE  another caller has got an id since; they stay unused
 * USHER_LOST   the store lost that it issued them, and may issue them to others
 * Options: opt->epoch, opt->token, opt->if_version.
 */
USHER_API enum usher_status usher_id_return(struct usher_engine *e, const char *dispenser,
                                            int64_t first, int64_t n,
                                            const struct usher_id_options *opt,
                                            struct usher_id_answer *ret);

/**
 * Read the change log of @dispenser, even if it was deleted since: changes after
 * opt->since_version as rows, oldest first, at most opt->max (not given: 100).  data of next,
 * return and install: first and n.  usher_watch_events() follows the log.
 *
 * USHER_OK
 * USHER_MISSING
 * USHER_REFUSED  the dispenser keeps no log (setting log)
 * USHER_STALE    the log starts later, at the answer's since_version; or no such version yet
 * USHER_LOST     the store lost that version
 * Options: opt->epoch, opt->since_version, opt->max.
 */
USHER_API enum usher_status usher_id_changes(struct usher_engine *e, const char *dispenser,
                                             const struct usher_id_options *opt,
                                             struct usher_reply **ret);

/* Copy the answer, the settings, the statistics or row @i of @reply into a struct.  Texts belong
 * to the reply and live as long, except those of the answer.  Return false, and do not write
 * *@ret, if @reply is NULL or of another noun, if there is no such row, or if the size is not
 * set.  O(members * values). */
USHER_API bool usher_id_answer_of(const struct usher_reply *reply, struct usher_id_answer *ret);
USHER_API bool usher_id_settings_of(const struct usher_reply *reply, struct usher_id_settings *ret);
USHER_API bool usher_id_row_of(const struct usher_reply *reply, size_t i, struct usher_id_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
