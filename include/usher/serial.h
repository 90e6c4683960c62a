/* SPDX-License-Identifier: MIT */
/*
 * Serials: formatted business numbers made by a rule.  Included by usher.h.
 *
 * A rule counts k = start, start + 1, …  Serial k is printed as
 *
 *   prefix  date  base + k * step  check digit  suffix
 *
 * In queue mode serials are made ahead: next … cur are in stock, cur is the last one made, and
 * none is made past max.  The stock is two numbers, not a list: a batch of any size is O(1).
 * In gap-free mode each number is reserved, then confirmed or returned, and the lowest returned
 * one goes out first.
 *
 * No serial of a rule comes twice: counters only grow (but for a new period, whose date is in
 * the serial), and what decides how a number is printed (base, step, radix, whether there is a
 * check digit) stays once numbers were made; the zone may change, but never so that the local day
 * goes back.  Prefix, suffix and date may change at any time; that old and new ones differ is up to
 * whoever changes them.
 */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one where it belongs */
#endif
#ifndef USHER_SERIAL_H
#define USHER_SERIAL_H

#ifdef __cplusplus
extern "C" {
#endif

#define USHER_SERIAL_TEXT_MAX 255 /* bytes of a serial, without the closing NUL */
#define USHER_SERIAL_AFFIX_MAX 48 /* bytes of a prefix, a suffix, a date pattern */
#define USHER_SERIAL_WIDTH_MAX 40 /* digits */
#define USHER_SERIAL_STEP_MAX 1000000
#define USHER_SERIAL_TAKE_MAX 1000000 /* serials of one take */
#define USHER_SERIAL_FILL_MAX INT64_C(1000000000000000)
#define USHER_SERIAL_FILLS_MAX 32 /* with stamp=fill: fills that wait to be taken */

enum usher_serial_check_digit {
    USHER_SERIAL_CHECK_NONE = 0,
    USHER_SERIAL_CHECK_LUHN = 1,    /* ISO/IEC 7812-1 */
    USHER_SERIAL_CHECK_MOD11_2 = 2, /* ISO/IEC 7064 MOD 11-2: 0 to 9 or X */
    USHER_SERIAL_CHECK_MOD37_2 = 3, /* ISO/IEC 7064 MOD 37-2: digits and capitals; or * */
    USHER_SERIAL_CHECK_DAMM = 4,
    USHER_SERIAL_CHECK_VERHOEFF = 5,
    USHER_SERIAL_CHECK_DIGIT__WIDE = 0x7fffffff
};

/* k begins again at `start` with each: */
enum usher_serial_reset {
    USHER_SERIAL_RESET_NONE = 0,
    USHER_SERIAL_RESET_DAY = 1,
    USHER_SERIAL_RESET_MONTH = 2,
    USHER_SERIAL_RESET_YEAR = 3,
    USHER_SERIAL_RESET__WIDE = 0x7fffffff
};

/* The date in a serial is that of the */
enum usher_serial_stamp {
    USHER_SERIAL_STAMP_TAKE = 1,
    USHER_SERIAL_STAMP_FILL = 2,
    USHER_SERIAL_STAMP__WIDE = 0x7fffffff
};

enum usher_serial_mode {
    USHER_SERIAL_MODE_QUEUE = 1,
    USHER_SERIAL_MODE_GAPFREE = 2,
    USHER_SERIAL_MODE__WIDE = 0x7fffffff
};

/* A number that has more digits than `width`: */
enum usher_serial_overflow {
    USHER_SERIAL_OVERFLOW_REFUSE = 1, /* is never made: the rule is exhausted */
    USHER_SERIAL_OVERFLOW_WIDEN = 2,
    USHER_SERIAL_OVERFLOW__WIDE = 0x7fffffff
};

/* Of a number of a gap-free rule.  Codes are stored.  Table: src/core/serial.def. */
enum usher_serial_state {
    USHER_SERIAL_STATE_FREE = 0, /* not given out yet */
    USHER_SERIAL_STATE_HELD = 1,
    USHER_SERIAL_STATE_RETURNED = 2,  /* goes out before all higher ones */
    USHER_SERIAL_STATE_CONFIRMED = 3, /* these two for good */
    USHER_SERIAL_STATE_VOIDED = 4,
    /* A store that is lost may have given it out: it is not given out again, and stands in `holds`
     * until it is confirmed or voided, under the token shown there or that of who had it. */
    USHER_SERIAL_STATE_LOST = 5,
    /* Behind those that go out next, and never again: taken, skipped, or settled longer ago than
     * the rule remembers (the last `requests` numbers; with `reset`, periods that have many may
     * take the place of earlier ones before that). */
    USHER_SERIAL_STATE_PAST = 6,
    USHER_SERIAL_STATE__WIDE = 0x7fffffff
};

/* Why nothing was given. */
enum usher_serial_why {
    USHER_SERIAL_WHY_NONE = 0,      /* no such question */
    USHER_SERIAL_WHY_EXHAUSTED = 1, /* max is reached, or the width, or 2^63 - 1 */
    USHER_SERIAL_WHY_GRANT = 2,     /* an authority has to be asked first */
    USHER_SERIAL_WHY_LOST = 3,      /* the same: the store may have gone back in time */
    USHER_SERIAL_WHY_KEPT = 4,      /* base, step, radix, mode and whether there is a check digit
                                     * stay once numbers were made */
    USHER_SERIAL_WHY_ROOM = 5,      /* numbers made, or start, are beyond max or width */
    USHER_SERIAL_WHY_MODE = 6,      /* the verb is for rules of the other mode */
    USHER_SERIAL_WHY_HELD = 7,      /* numbers are held or returned */
    USHER_SERIAL_WHY_FILLS = 8,     /* USHER_SERIAL_FILLS_MAX fills wait to be taken */
    USHER_SERIAL_WHY_BACK = 9,      /* the zone would put the local day back: change it later */
    USHER_SERIAL_WHY__WIDE = 0x7fffffff
};

enum usher_serial_given {
    USHER_GIVEN_SERIAL_WIDTH = 1u << 5,
    USHER_GIVEN_SERIAL_BASE = 1u << 6,
    USHER_GIVEN_SERIAL_START = 1u << 7,
    USHER_GIVEN_SERIAL_STEP = 1u << 8,
    USHER_GIVEN_SERIAL_RADIX = 1u << 9,
    USHER_GIVEN_SERIAL_CHECK = 1u << 10,
    USHER_GIVEN_SERIAL_MAX = 1u << 11,
    USHER_GIVEN_SERIAL_CRITICAL = 1u << 12,
    USHER_GIVEN_SERIAL_BATCH = 1u << 13,
    USHER_GIVEN_SERIAL_RESET = 1u << 14,
    USHER_GIVEN_SERIAL_ZONE = 1u << 15,
    USHER_GIVEN_SERIAL_STAMP = 1u << 16,
    USHER_GIVEN_SERIAL_MODE = 1u << 17,
    USHER_GIVEN_SERIAL_OVERFLOW = 1u << 18,
    USHER_GIVEN_SERIAL_LEASE = 1u << 19,
    USHER_GIVEN_SERIAL_REQUESTS = 1u << 20,
    USHER_GIVEN_SERIAL_N = 1u << 21,
    USHER_GIVEN_SERIAL_BY = 1u << 22,
    USHER_GIVEN_SERIAL_TOKEN = 1u << 23,
    USHER_GIVEN_SERIAL_FROM = 1u << 24,
    USHER_GIVEN_SERIAL_TO = 1u << 25,
    USHER_GIVEN_SERIAL_PERIOD = 1u << 26,
    USHER_GIVEN_SERIAL_AUTHORITY = 1u << 27,
    USHER_GIVEN_SERIAL_DEBT = 1u << 28,
    USHER_GIVEN_SERIAL_IF_VERSION = 1u << 29
};

/* Arguments of the serial verbs; which verb takes which: src/core/serial_verbs.def. */
struct usher_serial_args {
    struct usher_text serial, owner;
    struct usher_text prefix, suffix, date; /* size 0 with data: none */
    int64_t width, base, start, step, radix, check, max, critical, batch, reset, zone_min, stamp,
        mode, overflow, lease_ms, requests;
    int64_t n;  /* take, fill: how many; sweep: changes at most */
    int64_t by; /* setmax */
    uint64_t token;
    int64_t from, to, period; /* grant: (from, to] is the store's */
    int64_t authority;
    int64_t debt;       /* 1: the authority is away.  setmax raises the grant; take gives fewer */
    int64_t if_version; /* only if that is the rule's */
};

/* Numbers in a row, or one of a gap-free rule, or several of them that are lost. */
struct usher_serial_row {
    int64_t first, n; /* first … first + n - 1, all printed with the date of at_ms */
    int64_t at_ms;
    uint64_t token;
    int64_t until_ms;
    enum usher_serial_state state;
    struct usher_text owner;
    struct usher_text format; /* for usher_serial_text() */
};

struct usher_serial_settings {
    int64_t start, critical, batch, reset, stamp, mode, lease_ms, requests, authority;
    int64_t made; /* show: 1: numbers were made in this period */
};

struct usher_serial_stock {
    int64_t available; /* made and not taken */
    int64_t recent;    /* taken in the last half hour, to five minutes */
    int64_t longterm;  /* in the last hour */
    int64_t critical, batch;
    int64_t target;         /* what a tick would fill the stock up to */
    int64_t held, returned; /* of a gap-free rule */
    int64_t taken;          /* the highest number that was ever given out */
    int64_t debt;           /* the authority has not heard of numbers up to this; 0: none */
};

struct usher_serial_parts {
    int64_t number, value;      /* k, and base + k * step */
    int64_t date_at, date_size; /* in the serial */
    int64_t check;              /* the character, 0: none */
};

struct usher_serial_result {
    enum usher_serial_why why;
    int64_t count;    /* take: how many; fill, tick: made; sweep: expired */
    int64_t left;     /* that may still be made */
    int64_t cur, max; /* the last one made; the last one allowed */
    int64_t granted;  /* by the authority */
    int64_t period;
    uint64_t token;
    int64_t until_ms;
    bool more; /* sweep: not all yet, ask again */
    size_t n_rows;
    const struct usher_serial_row *rows; /* owned by the reply */
    union {
        struct usher_serial_settings settings; /* rule, show */
        struct usher_serial_stock stock;       /* check */
        struct usher_serial_parts parts;       /* parse */
    } of;
};

/* ---- functions ---------------------------------------------------------------------- */

struct usher_engine;
struct usher_result;

/* A rule as a whole.  What a field means: `usher help serial rule`. */
struct usher_serial_form {
    char prefix[USHER_SERIAL_AFFIX_MAX + 1], suffix[USHER_SERIAL_AFFIX_MAX + 1];
    char date[USHER_SERIAL_AFFIX_MAX + 1]; /* of %Y %y %m %d %j %H %M %S %% and other text */
    int64_t width;    /* digits at least, zeroes in front; 0: as many as it takes */
    int64_t base;     /* from 0 */
    int64_t start;    /* the first k, from 1; default 1 */
    int64_t step;     /* 1 to USHER_SERIAL_STEP_MAX; default 1 */
    int64_t radix;    /* 10 to 36, capitals; default 10 */
    int64_t check;    /* enum usher_serial_check_digit: over the digits of date and number */
    int64_t overflow; /* enum usher_serial_overflow */
    int64_t max;      /* the last k that may be made; default 2^63 - 1 */
    /* A take that leaves at most `critical` in stock makes more, at most `batch`: up to
     * critical + f, where f is what was taken in the last half hour, plus what that is more
     * than in the half hour before (at least 1).  tick does the same.  Defaults 0, 1000. */
    int64_t critical, batch;
    int64_t reset;     /* enum usher_serial_reset */
    int64_t zone_min;  /* local time, minutes east of UTC; with another one what is in stock gets
                        * the date of the change (stamp) */
    int64_t stamp;     /* enum usher_serial_stamp */
    int64_t mode;      /* enum usher_serial_mode */
    int64_t lease_ms;  /* of a reservation that names none; 0: never; default five minutes */
    int64_t requests;  /* answers kept for request ids, and numbers of which it is known how their
                        * last hold ended (USHER_SERIAL_STATE_PAST); default 10,000 */
    int64_t authority; /* 1: nothing is given out that an authority has not granted */
};

/* Bits of @given for the texts of a form; numbers: USHER_GIVEN_SERIAL_…. */
#define USHER_GIVEN_SERIAL_PREFIX (1u << 2)
#define USHER_GIVEN_SERIAL_SUFFIX (1u << 3)
#define USHER_GIVEN_SERIAL_DATE (1u << 4)

/* A number reserved. */
struct usher_serial_hold {
    uint64_t token;   /* larger for every later hold of the rule */
    int64_t until_ms; /* then it goes out again by itself */
    int64_t number;   /* k */
    uint64_t epoch, version;
    char serial[USHER_SERIAL_TEXT_MAX + 1];
};

/* How one number stands. */
struct usher_serial_found {
    enum usher_serial_state state;
    int64_t number;                         /* k */
    uint64_t token;                         /* of its last hold, where that is known; else 0 */
    int64_t until_ms;                       /* held: the deadline */
    char owner[USHER_NAME_MAX + 1];         /* held: by whom; "": nobody in particular */
    char serial[USHER_SERIAL_TEXT_MAX + 1]; /* as it was printed */
};

/*
 * Statuses common to all: USHER_MISSING (no such rule), USHER_REFUSED (the rule is of the other
 * mode), USHER_INVALID, USHER_UNAVAILABLE, USHER_UNKNOWN, USHER_NOMEM.  Each function names the
 * others.  All are O(log n) or better in numbers held, and none depends on how many serials a
 * call makes or takes.  Threads: any.
 */

/** Make or change rule @rule: those fields of *@inout that @given names (0: just read, and
 *  USHER_MISSING if there is none).  All of them are there on return.  USHER_OK, USHER_SAME;
 * USHER_REFUSED: numbers were made, and base, step, radix, mode and whether there is a check digit
 * stay, or max or width have no room for them, or the local day of another zone is one before; or
 * numbers are held or returned, and reset and the zone of a date stay (see usher_message()). */
USHER_API enum usher_status usher_serial_rule(struct usher_engine *e, const char *rule,
                                              uint32_t given, struct usher_serial_form *inout);

/** Delete it.  Its counters stay: made again under its name, it goes on behind them (with another
 *  base, step, radix or format, that old and new serials differ is up to whoever makes it).
 *  USHER_OK, USHER_SAME (not there); USHER_REFUSED while numbers are held or returned. */
USHER_API enum usher_status usher_serial_delete(struct usher_engine *e, const char *rule);

/** Make @n ahead (1 to USHER_SERIAL_FILL_MAX).  *@ret_made are made and *@ret_left may still be;
 *  both may be NULL.  USHER_OK; USHER_FULL: max is reached. */
USHER_API enum usher_status usher_serial_fill(struct usher_engine *e, const char *rule, int64_t n,
                                              int64_t *ret_made, int64_t *ret_left);

/**
 * Take the next @n (1 to USHER_SERIAL_TAKE_MAX), or as many as there are.  With @request (or
 * NULL) a repeat within an hour gets the same ones.  The reply tells which: as many as
 * ret_reply->of.serial.count, printed by usher_serial_text(); give it back with
 * usher_result_done().  USHER_OK; USHER_EMPTY: max is reached.
 */
USHER_API enum usher_status usher_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                              const char *request, struct usher_result *ret_reply);

/** Serial @i (from 0) of a reply to take, reserve or holds: at most @size bytes with a NUL.
 *  Returns its size without the NUL, like snprintf; 0: there is no such serial. */
USHER_API size_t usher_serial_text(const struct usher_result *reply, uint64_t i, char *to,
                                   size_t size);

/** Serials of @reply from serial @i on, as many as have room in @size bytes at @to, one behind the
 *  other and each with a NUL.  Returns how many; 0: there is no such serial, or no room for it
 *  (USHER_SERIAL_TEXT_MAX + 1 bytes are enough for one).  Much faster than one by one. */
USHER_API uint64_t usher_serial_texts(const struct usher_result *reply, uint64_t i, char *to,
                                      size_t size);

/** USHER_OK. */
USHER_API enum usher_status usher_serial_check(struct usher_engine *e, const char *rule,
                                               struct usher_serial_stock *ret_stock);

/** Make as many as the demand asks for; @ret_made may be NULL.  USHER_OK; USHER_SAME: enough in
 *  stock; USHER_FULL. */
USHER_API enum usher_status usher_serial_tick(struct usher_engine *e, const char *rule,
                                              int64_t *ret_made);

/** Raise max by @step; the scope gets another epoch.  @ret_max may be NULL.  While the authority of
 *  a rule cannot be reached, what the store may give out without it is raised by @step as well: a
 *  debt, which it is told of when it is back.  USHER_OK; USHER_FULL: it would pass 2^63 - 1. */
USHER_API enum usher_status usher_serial_setmax(struct usher_engine *e, const char *rule,
                                                int64_t step, int64_t *ret_max);

/** Go on behind @cur: the stock up to there is dropped, max is raised if need be, the scope gets
 *  another epoch.  USHER_OK; USHER_SAME: it is that far already; USHER_FULL: the width has
 *  no room. */
USHER_API enum usher_status usher_serial_setmaxcur(struct usher_engine *e, const char *rule,
                                                   int64_t cur);

/** Take @serial apart.  USHER_OK; USHER_INVALID: it is none of this rule, or its check digit is
 *  wrong (usher_message()). */
USHER_API enum usher_status usher_serial_parse(struct usher_engine *e, const char *rule,
                                               const char *serial,
                                               struct usher_serial_parts *ret_parts);

/** Hold the lowest number there is for @owner (NULL: nobody in particular) for @lease_ms (0: the
 *  rule's; < 0: until it is confirmed, returned or spoilt: no clock decides).  The same owner gets
 * the number it holds (USHER_SAME).  @request may be NULL. USHER_OK; USHER_EMPTY: max is reached.
 */
USHER_API enum usher_status usher_serial_reserve(struct usher_engine *e, const char *rule,
                                                 const char *owner, int64_t lease_ms,
                                                 const char *request,
                                                 struct usher_serial_hold *ret_hold);

/** The number is used; it is not needed and goes out again; it is spoilt.  @serial is as it was
 *  reserved, whatever has become of prefix, suffix, date and width since.  USHER_OK; USHER_SAME: it
 *  was done before under @token; USHER_STALE: @token is not the hold of @serial (any more), and
 *  nothing is changed; usher_serial_number() says what is; USHER_INVALID: no such serial is known,
 *  as there; USHER_LOST: the store has lost that it
 *  gave it out under @token, and somebody else has it.
 *
 *  If nobody has it, whoever shows the token of a hold that the store has lost settles it still; it
 *  does not go out again then, nor when it is returned.  The numbers before it that are lost as
 * well become USHER_SERIAL_STATE_LOST, as do those that an authority has granted beyond what the
 * store knows: they stand in `holds` until somebody settles them, by a token of his own that was
 * lost or by the one that is shown there (a command may settle `n` of them at once). */
USHER_API enum usher_status usher_serial_confirm(struct usher_engine *e, const char *rule,
                                                 const char *serial, uint64_t token);
USHER_API enum usher_status usher_serial_return(struct usher_engine *e, const char *rule,
                                                const char *serial, uint64_t token);
USHER_API enum usher_status usher_serial_void(struct usher_engine *e, const char *rule,
                                              const char *serial, uint64_t token);

/** How @serial stands.  Writes nothing.  USHER_OK; USHER_INVALID: it is none of this rule, or its
 *  check digit is wrong (usher_message()).  One that is not printed as the rule prints now is known
 *  while its number is held or it is remembered how its last hold ended; it is looked for among the
 * 1,000 numbers longest held and the 1,000 ends of the latest holds. */
USHER_API enum usher_status usher_serial_number(struct usher_engine *e, const char *rule,
                                                const char *serial,
                                                struct usher_serial_found *ret_number);

/** Tell the journal of @rule that the engine's authority keeps (journal=1) to @fn: at most @max
 * events (0: all) behind @row (0: from the beginning), in the order in which it was written: after
 * a loss versions begin anew, with another epoch.  An issue of numbers of which one had been issued
 * before is `twice`; when that is entered an error is logged.  See usher/authority.h.  USHER_OK;
 * USHER_INVALID: there is no authority, or none whose journal can be read. */
struct usher_authority_event;
USHER_API enum usher_status usher_serial_journal(
    struct usher_engine *e, const char *rule, uint64_t row, size_t max,
    void (*fn)(void *payload, const struct usher_authority_event *event), void *payload);

/** Numbers held, the oldest first (by @owner, or NULL: all, and behind them those returned, whose
 * hold is over and has not been written yet before the others, which come the lowest first; and
 * those lost), at most @max rows (0: 100).  USHER_OK.  O(rows), and holds that are over. */
USHER_API enum usher_status usher_serial_holds(struct usher_engine *e, const char *rule,
                                               const char *owner, size_t max,
                                               struct usher_result *ret_reply);

/** Apply due expiries now, until none is left; never needed for correctness.  USHER_OK,
 *  USHER_SAME. */
USHER_API enum usher_status usher_serial_sweep(struct usher_engine *e, const char *rule,
                                               uint64_t *ret_expired);

/** The rule in a reply to `rule` or `show`.  False: there is none. */
USHER_API bool usher_serial_form_of(const struct usher_result *reply,
                                    struct usher_serial_form *ret_form);

/** Call @fn with the name of each rule there is, in any order.  O(records of rules). */
typedef void usher_serial_rules_fn(void *payload, const char *rule);
USHER_API enum usher_status usher_serial_rules(struct usher_engine *e, usher_serial_rules_fn *fn,
                                               void *payload);

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_serial_why_word(enum usher_serial_why why);
USHER_API const char *usher_serial_why_text(enum usher_serial_why why);
USHER_API const char *usher_serial_state_word(enum usher_serial_state state);

#ifdef __cplusplus
}
#endif

#endif
