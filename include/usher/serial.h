/* SPDX-License-Identifier: MIT */
/*
 * Serials: formatted business numbers made by a rule.  Included by usher.h, which has the rules for
 * all functions.
 *
 * A rule counts k = start, start + 1, …  Serial k is printed as
 *
 *   prefix  date  base + k * step  check digit  suffix
 *
 * In queue mode serials are made ahead: next … cur are in stock, cur is the last one made, and
 * none is made past max.  The stock is two numbers, not a list: a batch of any size is O(1).
 * In gap-free mode each number is reserved, then confirmed or returned, and the lowest returned
 * one is issued first.
 *
 * No serial of a rule is issued twice, even if settings change.  A counter grows, and begins again
 * only with a new period, whose date is in the serial.  The rule remembers the highest numbers that
 * were issued in the current month, in the current year and ever.  So a finer reset continues the
 * counter of the period, a coarser one continues after its own highest number, and so does a rule
 * that is created again after a delete.  Base, step, radix and the presence of a check digit are
 * fixed once numbers were made.  The zone may change, but never so that the local day goes back.
 *
 * Prefix, suffix and date may change at any time.  The application must ensure that two formats do
 * not print the same text: date=%Y%m with number 10007 prints as date=%Y%m%d with number 007 on the
 * tenth.
 */
#ifndef USHER_USHER_H
#include <usher/usher.h> /* which includes this one in its place */
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

/* The period after which k begins again at `start`. */
enum usher_serial_reset {
    USHER_SERIAL_RESET_NONE = 0,
    USHER_SERIAL_RESET_DAY = 1,
    USHER_SERIAL_RESET_MONTH = 2,
    USHER_SERIAL_RESET_YEAR = 3,
    USHER_SERIAL_RESET__WIDE = 0x7fffffff
};

/* The event that gives a serial its date. */
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

/* Handling of a number that has more digits than `width`. */
enum usher_serial_overflow {
    USHER_SERIAL_OVERFLOW_REFUSE = 1, /* it is never made: the rule is exhausted */
    USHER_SERIAL_OVERFLOW_WIDEN = 2,
    USHER_SERIAL_OVERFLOW__WIDE = 0x7fffffff
};

/* State of a number of a gap-free rule.  Codes are stored.  Table: src/core/serial.def. */
enum usher_serial_state {
    USHER_SERIAL_STATE_FREE = 0, /* not issued yet */
    USHER_SERIAL_STATE_HELD = 1,
    USHER_SERIAL_STATE_RETURNED = 2,  /* issued again before all higher ones of its period */
    USHER_SERIAL_STATE_CONFIRMED = 3, /* final, like the next one */
    USHER_SERIAL_STATE_VOIDED = 4,
    /* A store that is lost may have issued it.  It is not issued again, and is listed by `holds`
     * until it is confirmed or voided, with the token listed there or that of the lost hold. */
    USHER_SERIAL_STATE_LOST = 5,
    /* It was reserved before another server or file took over the store (Redis, SQLite), or before
     * its authority showed a loss.  The store may have lost the end of the hold.  Nothing changes
     * for the holder: confirm, return and void with the token have the same answers.  It does not
     * expire, no other caller gets it, and its owner gets another number.  If it is returned it
     * becomes voided.  void with doubt=1 ends all of them. */
    USHER_SERIAL_STATE_DOUBT = 6,
    /* Below the numbers that are issued next, and never issued again: taken, skipped, or settled
     * longer ago than the rule remembers (the last `requests` numbers; with `reset`, periods that
     * have many may replace earlier ones before that). */
    USHER_SERIAL_STATE_PAST = 7,
    USHER_SERIAL_STATE__WIDE = 0x7fffffff
};

/* Why no number was issued, or a command was refused. */
enum usher_serial_why {
    USHER_SERIAL_WHY_NONE = 0,      /* does not apply */
    USHER_SERIAL_WHY_EXHAUSTED = 1, /* max is reached, or the width, or 2^63 - 1 */
    USHER_SERIAL_WHY_GRANT = 2,     /* an authority must grant numbers first */
    USHER_SERIAL_WHY_LOST = 3,      /* the same: the store may have gone back in time */
    USHER_SERIAL_WHY_KEPT = 4,      /* base, step, radix, mode and the presence of a check digit are
                                     * fixed once numbers were made */
    USHER_SERIAL_WHY_ROOM = 5,      /* numbers made, or start, are beyond max or width */
    USHER_SERIAL_WHY_MODE = 6,      /* the verb is for rules of the other mode */
    USHER_SERIAL_WHY_HELD = 7,      /* numbers are held or returned */
    USHER_SERIAL_WHY_FILLS = 8,     /* USHER_SERIAL_FILLS_MAX fills wait to be taken */
    USHER_SERIAL_WHY_BACK = 9,      /* the zone would put the local day back: change it later */
    USHER_SERIAL_WHY_DUE = 10,      /* stores only: nothing was done, because more was due than one
                                     * command applies; the engine repeats the command */
    USHER_SERIAL_WHY_UNKNOWN = 11, /* no such serial is known: its number was printed differently */
    USHER_SERIAL_WHY__WIDE = 0x7fffffff
};

/* ---- functions ---------------------------------------------------------------------- */

/** Read the journal of @rule that the engine's authority keeps (journal=1): call @fn for at most
 * @max events (0 = all) after @row (0 = from the beginning), in the order of writing.  After a loss
 * versions start over, with another epoch.  An issue with a number that had been issued before is
 * `twice`; when it is entered an error is logged.  See usher/authority.h.  USHER_OK; USHER_INVALID:
 * there is no authority, or none whose journal can be read. */
struct usher_authority_event;
USHER_API enum usher_status usher_serial_journal(
    struct usher_engine *e, const char *rule, uint64_t row, size_t max,
    void (*fn)(void *payload, const struct usher_authority_event *event), void *payload);

/** Call @fn with the name of each rule, in any order.  O(records of rules). */
typedef void usher_serial_rules_fn(void *payload, const char *rule);
USHER_API enum usher_status usher_serial_rules(struct usher_engine *e, usher_serial_rules_fn *fn,
                                               void *payload);

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_serial_why_word(enum usher_serial_why why);
USHER_API const char *usher_serial_why_text(enum usher_serial_why why);
USHER_API const char *usher_serial_state_word(enum usher_serial_state state);

/* ---- made by src/calls/make.py: do not edit -------------------------------------------- */
/* clang-format off */

struct usher_reply;

/* What a call of the noun `serial` may be given: the verbs that take it stand in front, if they
 * are few.  0 or NULL is not given; USHER_NONE is none, never, off, and so is "".  What the verb
 * does not take is USHER_INVALID. */
struct usher_serial_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: do not wait, usher_collect() gives the reply with this tag */
    int64_t timeout_ms; /* so long at most; not given: the engine's */
    const char *request; /* request id: a repeat gets the first answer */
    int64_t now_ms; /* the time of the command; not given: the engine's clock */
    int64_t wait; /* replicas to wait for, when it is done */
    const char *owner; /* holds: who holds it: an order, a person, a server */
    /* reserve: a number held goes out again after this time; none: no clock decides */
    int64_t lease_ms;
    int64_t n; /* confirm, void, holds, sweep: how many; 1 to 1,000,000,000,000,000 */
    int64_t debt; /* take, setmax: 1: by hand, while the authority cannot be reached */
    /* grant: as check answers: only if it is still this one, else stale; -1 to 2,932,896 */
    int64_t period;
    int64_t if_version; /* only if it has this version, else stale; 1 to 2^53 - 1 */
    uint64_t epoch; /* only if it has this epoch, as answered, else stale */
    int64_t since_version; /* changes: of the changes after this version; 0 to 2^53 - 1 */
    int64_t max; /* changes: the most notices; a page ends after 256; 1 to 10,000 */
    int64_t doubt; /* void, holds: 1: only numbers in doubt */
    /* void: with doubt=1: those reserved at this version or before; 1 to 2^53 - 1 */
    int64_t before;
    const char *after; /* holds: go on where a page ended: its next */
};
#ifdef __cplusplus
#define USHER_SERIAL_OPTIONS_INIT \
    { sizeof(struct usher_serial_options), NULL, 0, NULL, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, NULL }
#else
#define USHER_SERIAL_OPTIONS_INIT { .size = sizeof(struct usher_serial_options) }
#endif

/* Settings: not given, they stay as they are, or of what is made anew have their defaults;
 * USHER_NONE is none, never, off.  As they come back they can be given again. */
struct usher_serial_settings {
    size_t size; /* set by …_INIT */
    /* in front of the serial; up to 48 bytes, perhaps none; none: "" said aloud */
    const char *prefix;
    const char *suffix; /* text after the serial; up to 48 bytes, may be empty */
    const char *date; /* date after the prefix: %Y %y %m %d %j %H %M %S %% and other text */
    /* digits of the number, zeroes in front; none: as many as it takes; 0 to 40; default none */
    int64_t width;
    int64_t base; /* serial k has the number base + k * step; 0 to 2^63 - 1; default none */
    int64_t start; /* the first k; 1 to 2^63 - 1; default 1 */
    int64_t step; /* from one number to the next; 1 to 1,000,000; default 1 */
    int64_t radix; /* of the number; digits above 9 are capitals; 10 to 36; default 10 */
    /* enum usher_serial_check_digit; check digit over the digits of date and number; default
     * none */
    int64_t check;
    /* the last k that may be made; setmaxcur: up to here they count as taken; 0 to 2^63 - 1;
     * default 2^63 - 1 */
    int64_t highest;
    /* a take that leaves this stock or less makes more; at most batch, up to critical + f,
     * where f is what was taken in the last half hour, plus what that is more than in the half
     * hour before (at least 1); tick does the same; 0 to 1,000,000,000; default none */
    int64_t critical;
    /* how many are made at once by themselves, at most; 1 to 1,000,000,000; default 1000 */
    int64_t batch;
    /* enum usher_serial_reset; k begins at start again with each of these; default none */
    int64_t reset;
    /* local time, minutes east of UTC; not so that the day goes back; none: UTC; with another
     * one what is in stock gets the date of the change (stamp); -1440 to 1440; default none */
    int64_t zone_min;
    int64_t stamp; /* enum usher_serial_stamp; whose date a serial has; default take */
    /* enum usher_serial_mode; made ahead, or reserved one by one without gaps; default queue */
    int64_t mode;
    /* enum usher_serial_overflow; what becomes of numbers with more digits than width; default
     * refuse */
    int64_t overflow;
    /* a number held goes out again after this time; none: no clock decides; default 5m */
    int64_t lease_ms;
    /* how many answers, and ends of holds, are kept; of the ends see USHER_SERIAL_STATE_PAST;
     * 1 to 1,000,000; default 10,000 */
    int64_t requests;
    int64_t authority; /* 1: nothing is given out that an authority has not granted; default none */
    /* how many notices are kept for changes and watch; none: none; 0 to 100,000; default none */
    int64_t log;
};
#ifdef __cplusplus
#define USHER_SERIAL_SETTINGS_INIT \
    { sizeof(struct usher_serial_settings), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_SERIAL_SETTINGS_INIT { .size = sizeof(struct usher_serial_settings) }
#endif

/* An answer, written whatever the status.  What it has nothing to say of is USHER_NONE, "", of a
 * token 0. */
struct usher_serial_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* 0: the scope does not exist */
    uint64_t version; /* after the command; of USHER_LOST the last one known not to be lost */
    int64_t due_ms; /* nothing of the scope changes by itself before; USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: so many have it */
    bool repeated; /* the kept answer of an earlier command with this request id */
    bool more; /* not all yet: ask again */
    char message[USHER_MESSAGE_MAX]; /* one line, "" when there is nothing to say */
    int64_t why; /* why not */
    int64_t count; /* how many were done */
    int64_t left; /* numbers that may still be made */
    int64_t made; /* show: numbers were made */
    int64_t cur; /* the last number made */
    int64_t highest; /* check, setmax, setmaxcur, show: the last number there may be */
    int64_t granted; /* check, grant: the last number that may be given out */
    int64_t period; /* rule, check, show, grant: days since 1970 on which the period began */
    uint64_t token; /* of a hold: another one for every later hold of the scope */
    int64_t until_ms; /* when it ends by itself */
    int64_t state; /* the state, after the command */
    int64_t number_made; /* parse: the number that is printed */
    int64_t n; /* how many */
    int64_t text_value; /* parse: the value that is printed */
    int64_t at_ms; /* of the date that is printed */
    char owner[USHER_NAME_MAX + 1]; /* who holds it */
    char serial[USHER_SERIAL_TEXT_MAX + 1]; /* a serial, as it is printed */
    char prefix[USHER_SERIAL_AFFIX_MAX + 1]; /* parse, show: what stands in front */
    /* parse, show: the date, a pattern of strftime; of a serial: as it is printed */
    char date[USHER_SERIAL_TEXT_MAX + 1];
    char suffix[USHER_SERIAL_AFFIX_MAX + 1]; /* parse, show: what stands behind */
    char check_digit[2]; /* parse: the check digit */
    int64_t since_version; /* changes: a version */
    char after[USHER_NAME_MAX + 1]; /* holds: where the page before ended */
};
#ifdef __cplusplus
#define USHER_SERIAL_ANSWER_INIT \
    { sizeof(struct usher_serial_answer), 0, 0, 0, 0, 0, false, false, "", 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0, 0, 0, 0, "", "", "", "", "", "", 0, "" }
#else
#define USHER_SERIAL_ANSWER_INIT { .size = sizeof(struct usher_serial_answer) }
#endif

/* One row of a reply.  Texts are the reply's and live as long; what does not apply is
 * USHER_NONE, NULL, of a token 0. */
struct usher_serial_row {
    size_t size; /* set by …_INIT */
    const char *serial; /* a serial, as it is printed */
    int64_t number_made; /* the number that is printed */
    int64_t n; /* how many */
    int64_t at_ms; /* of the date that is printed */
    uint64_t token; /* of a hold: another one for every later hold of the scope */
    int64_t until_ms; /* when it ends by itself */
    int64_t state; /* the state, after the command */
    const char *owner; /* who holds it */
    struct usher_text value; /* a value */
    int64_t version; /* at which this was set */
    int64_t verb; /* of a change */
    const char *subject; /* what a change is about */
    int64_t before; /* the version before */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    struct usher_text data; /* of a change: what it takes to make it in a copy */
    int64_t time_ms; /* of the change */
};
#ifdef __cplusplus
#define USHER_SERIAL_ROW_INIT \
    { sizeof(struct usher_serial_row), NULL, 0, 0, 0, 0, 0, 0, NULL, { NULL, 0 }, 0, 0, NULL, 0, \
    0, 0, { NULL, 0 }, 0 }
#else
#define USHER_SERIAL_ROW_INIT { .size = sizeof(struct usher_serial_row) }
#endif

/* Figures.  What there is none of is USHER_NONE. */
struct usher_serial_statistics {
    size_t size; /* set by …_INIT */
    int64_t left; /* numbers that may still be made */
    int64_t cur; /* the last number made */
    int64_t highest; /* the last number there may be */
    int64_t granted; /* the last number that may be given out */
    int64_t period; /* days since 1970 on which the period began */
    int64_t available; /* numbers in stock */
    int64_t recent; /* taken in the last half hour */
    int64_t longterm; /* taken in the half hour before */
    int64_t critical; /* make more when so few are left */
    int64_t batch; /* make at most so many at a time */
    int64_t target; /* so many are to be in stock */
    int64_t held; /* numbers held */
    int64_t returned; /* numbers given back */
    int64_t taken; /* numbers taken */
    int64_t debt; /* what was given out beyond the grant */
    int64_t doubt; /* numbers in doubt, which were reserved before the store changed hands */
};
#ifdef __cplusplus
#define USHER_SERIAL_STATISTICS_INIT \
    { sizeof(struct usher_serial_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_SERIAL_STATISTICS_INIT { .size = sizeof(struct usher_serial_statistics) }
#endif

/* All calls: @e, then the rule, then what the verb is about, then @opt (NULL: nothing), then
 * where the answer goes (NULL: nowhere).  A reply is the caller's, who gives it back with
 * usher_reply_done(); it is NULL if the call itself failed.  With opt->post the call returns as
 * usher_post() does, and the answer comes as an event.  Besides what each one names they return
 * USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no answer: it may have been
 * applied), USHER_LOST and USHER_NOMEM; usher_message() says more.  Any thread.  Since 0.1. */

/**
 * Make or change @rule: those settings that are given (NULL: none, they are only read).  The reply
 * has all of them: usher_serial_settings_of().  Its message warns when batch is more than the
 * numbers that width allows.  USHER_OK, USHER_SAME; USHER_MISSING: none is
 * given, and there is no such rule; USHER_REFUSED: numbers were made, and base, step, radix, mode
 * and whether there is a check digit stay, or highest or width have no room for them, or the local
 * day of another zone is one before; or numbers are held or returned, and reset and the zone of a
 * date stay: why.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_rule(struct usher_engine *e, const char *rule,
                                              const struct usher_serial_settings *settings,
                                              const struct usher_serial_options *opt,
                                              struct usher_reply **ret);

/**
 * Make @n ahead (1 to USHER_SERIAL_FILL_MAX).  USHER_OK: count are made and left may still be;
 * USHER_FULL: the highest is reached.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_fill(struct usher_engine *e, const char *rule, int64_t n,
                                              const struct usher_serial_options *opt,
                                              struct usher_serial_answer *ret);

/**
 * Take the next @n (1 to USHER_SERIAL_TAKE_MAX), a row each.  With a request a repeat within an
 * hour gets the same ones.  debt = 1: take fewer if the authority is away.  USHER_OK;
 * USHER_FULL: fewer are left, and left says how many; USHER_EMPTY: none is left.
 * Takes opt->debt, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                              const struct usher_serial_options *opt,
                                              struct usher_reply **ret);

/** What is in stock: usher_serial_statistics_of().  USHER_OK. */
USHER_API enum usher_status usher_serial_check(struct usher_engine *e, const char *rule,
                                               const struct usher_serial_options *opt,
                                               struct usher_reply **ret);

/**
 * Make as many as the demand asks for.  USHER_OK: count; USHER_SAME: enough in stock; USHER_FULL.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_tick(struct usher_engine *e, const char *rule,
                                              const struct usher_serial_options *opt,
                                              struct usher_serial_answer *ret);

/**
 * Raise the highest by @raise; the scope gets another epoch.  While the authority of a rule cannot
 * be reached, what the store may give out without it is raised by as much: a debt, which it is
 * told of when it is back.  USHER_OK: highest; USHER_FULL: it would pass 2^63 - 1.
 * Takes opt->debt, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_setmax(struct usher_engine *e, const char *rule,
                                                int64_t raise,
                                                const struct usher_serial_options *opt,
                                                struct usher_serial_answer *ret);

/**
 * Go on behind @highest: the stock up to there is dropped, the highest is raised if need be, the
 * scope gets another epoch.  USHER_OK; USHER_SAME: it is that far already; USHER_FULL: the width
 * has no room.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_setmaxcur(struct usher_engine *e, const char *rule,
                                                   int64_t highest,
                                                   const struct usher_serial_options *opt,
                                                   struct usher_serial_answer *ret);

/**
 * Take @serial apart.  USHER_OK: number_made, text_value, prefix, date, suffix, check_digit;
 * USHER_INVALID: the rule cannot have made it (another form, a number below the lowest start), or
 * its check digit is wrong.
 */
USHER_API enum usher_status usher_serial_parse(struct usher_engine *e, const char *rule,
                                               const char *serial,
                                               const struct usher_serial_options *opt,
                                               struct usher_serial_answer *ret);

/**
 * Hold the lowest number of the present period for @owner (NULL: it has no name) for
 * opt->lease_ms (not given: the rule's; USHER_NONE: until it is confirmed, returned or spoilt: no
 * clock decides).  The same owner gets the number it holds (USHER_SAME), unless that is in doubt
 * (USHER_SERIAL_STATE_DOUBT): then it gets another one.  USHER_OK: serial, token, until_ms;
 * USHER_EMPTY: the highest is reached.
 * Takes opt->lease_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_reserve(struct usher_engine *e, const char *rule,
                                                 const char *owner,
                                                 const struct usher_serial_options *opt,
                                                 struct usher_serial_answer *ret);

/**
 * The number is used.  @serial is as it was reserved, whatever has become of prefix, suffix, date
 * and width since.  USHER_OK; USHER_SAME: it was done before under @token; USHER_STALE: @token is
 * not the hold of @serial (any more), and nothing is changed: the answer has state, and the owner
 * and until_ms of a hold, never its token; USHER_INVALID: no such serial is known; USHER_LOST: the
 * store has lost that it gave it out under @token, and another caller has it.
 *
 * If no other caller has it, the caller that shows the token of a lost hold settles it still; it
 * does not go out again then, nor when it is returned.  The numbers before it that are lost as
 * well become `lost`, as do those that an authority has granted beyond what the store knows: they
 * stand in usher_serial_holds() until somebody settles them, by a token of his own that was lost
 * or by the one that is shown there (opt->n of them at once).
 * Takes opt->n, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_confirm(struct usher_engine *e, const char *rule,
                                                 const char *serial, uint64_t token,
                                                 const struct usher_serial_options *opt,
                                                 struct usher_serial_answer *ret);

/**
 * The number is not needed and goes out again in its period; one in doubt becomes void.  Statuses
 * as usher_serial_confirm().
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_return(struct usher_engine *e, const char *rule,
                                                const char *serial, uint64_t token,
                                                const struct usher_serial_options *opt,
                                                struct usher_serial_answer *ret);

/**
 * The number is spoilt.  One that was returned in a period that is over is void by the token that
 * usher_serial_holds() shows.  Statuses as usher_serial_confirm().
 *
 * For operators, with opt->doubt = 1 and @serial NULL: all numbers in doubt that were reserved at
 * version opt->before or earlier (that of usher_serial_holds(), so no number is void that its
 * answer lacks).  One bounded step: while the answer has more, ask again.  USHER_OK: count;
 * USHER_SAME: none is in doubt.
 * Takes opt->n, opt->if_version, opt->epoch, opt->doubt, opt->before.
 */
USHER_API enum usher_status usher_serial_void(struct usher_engine *e, const char *rule,
                                              const char *serial, uint64_t token,
                                              const struct usher_serial_options *opt,
                                              struct usher_serial_answer *ret);

/**
 * How @serial stands, as a row; NULL: the rule.  Writes nothing.  USHER_OK; USHER_MISSING;
 * USHER_INVALID: it is none of this rule, its check digit is wrong, or its number is held, or was
 * confirmed or void, as another serial.  One that is not printed as
 * the rule prints now is known while its number is held or it is remembered how its last hold
 * ended; it is looked for among the 1,000 numbers longest held and the 1,000 ends of the latest
 * holds.
 */
USHER_API enum usher_status usher_serial_show(struct usher_engine *e, const char *rule,
                                              const char *serial,
                                              const struct usher_serial_options *opt,
                                              struct usher_reply **ret);

/**
 * Delete @rule.  Its counters stay: a rule made again under its name continues after the numbers
 * that were taken in its period, and makes again those that were made and not taken.  With another
 * base, step, radix or format the application has to see to it that old and new serials differ.
 * USHER_OK; USHER_SAME: not there; USHER_REFUSED while numbers are held, in doubt, returned or
 * lost.
 * Takes opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_delete(struct usher_engine *e, const char *rule,
                                                const struct usher_serial_options *opt,
                                                struct usher_serial_answer *ret);

/**
 * Numbers held or in doubt as rows, the oldest first (by opt->owner, or with opt->doubt = 1 those
 * in doubt, or all).  After all come those returned: first those whose hold is over and has not
 * been written yet, then the others, the lowest first.  Those of periods that are over have a
 * token, for void.  Those lost come last.  opt->n (not given: 100) at most, following opt->after.
 * While the reply has more, give its answer's after as opt->after, also when a page has no rows: a
 * page looks at USHER_PAGE_MAX numbers at most.  A number that does not change while the pages are
 * read is in exactly one of them.  USHER_OK; USHER_INVALID: no page ended at opt->after.
 * Takes opt->owner, opt->n, opt->doubt, opt->after.
 */
USHER_API enum usher_status usher_serial_holds(struct usher_engine *e, const char *rule,
                                               const struct usher_serial_options *opt,
                                               struct usher_reply **ret);

/**
 * Apply what is due now, at most 64 changes.  Never needed for correctness.  While the answer has
 * more, ask again.  USHER_OK: count; USHER_SAME.
 * Takes opt->n, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_sweep(struct usher_engine *e, const char *rule,
                                               const struct usher_serial_options *opt,
                                               struct usher_serial_answer *ret);

/**
 * For authorities: numbers behind @from up to @to are the store's to give out.  USHER_OK,
 * USHER_SAME, USHER_REFUSED.
 * Takes opt->period, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_grant(struct usher_engine *e, const char *rule,
                                               int64_t from, int64_t to,
                                               const struct usher_serial_options *opt,
                                               struct usher_serial_answer *ret);

/**
 * Notices of the changes after opt->since_version as rows, opt->max (not given: 100) at most,
 * oldest first: all that @rule keeps by its setting log, also when it was deleted since.  data has
 * the number of a hold, first and n of those made or taken, and what else was given or changed.
 * USHER_OK, USHER_MISSING; USHER_REFUSED: no log is kept; USHER_STALE: it does not reach back so
 * far (the answer's since_version says how far), or it is newer than the rule; USHER_LOST.
 * usher_watch_events() follows it.
 * Takes opt->epoch, opt->since_version, opt->max.
 */
USHER_API enum usher_status usher_serial_changes(struct usher_engine *e, const char *rule,
                                                 const struct usher_serial_options *opt,
                                                 struct usher_reply **ret);

/* What @reply says, as a struct: its answer, its settings or figures, row @i.  Texts of all but
 * the answer are the reply's and live as long.  False, and *@ret is not written: NULL, another
 * noun's, no such row, or a size that is not set.  O(members * values). */
USHER_API bool usher_serial_answer_of(const struct usher_reply *reply, struct usher_serial_answer *ret);
USHER_API bool usher_serial_settings_of(const struct usher_reply *reply, struct usher_serial_settings *ret);
USHER_API bool usher_serial_statistics_of(const struct usher_reply *reply, struct usher_serial_statistics *ret);
USHER_API bool usher_serial_row_of(const struct usher_reply *reply, size_t i, struct usher_serial_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
