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
    USHER_SERIAL_CHECK_OFF = -1, /* in settings, where 0 is not given: NONE */
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
    USHER_SERIAL_RESET_OFF = -1, /* in settings, where 0 is not given: NONE */
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
    USHER_SERIAL_WHY_RENEWED = 12, /* reserve: the owner holds it already, and now for longer */
    USHER_SERIAL_WHY__WIDE = 0x7fffffff
};

/* ---- functions ---------------------------------------------------------------------- */

/** Read the journal of @rule that the engine's authority keeps (journal=1): call @fn for at most
 * opt->max events after opt->row, in the order of writing.  After a loss versions start over, with
 * another epoch.  An issue with a number that had been issued before is `twice`; when it is entered
 * an error is logged.  See usher/authority.h.  @opt may be NULL.  Options: opt->timeout_ms,
 * opt->max, opt->row.  USHER_OK; USHER_INVALID: there is no authority, or none whose journal can be
 * read. */
struct usher_authority_event;
struct usher_list_options;
USHER_API enum usher_status usher_serial_journal(
    struct usher_engine *e, const char *rule, const struct usher_list_options *opt,
    void (*fn)(void *payload, const struct usher_authority_event *event), void *payload);

/** Words for codes; "?" if there is none.  Static. */
USHER_API const char *usher_serial_why_word(enum usher_serial_why why);
USHER_API const char *usher_serial_why_text(enum usher_serial_why why);
USHER_API const char *usher_serial_state_word(enum usher_serial_state state);

/* ---- made by src/api/gen_calls.py: do not edit ----------------------------------------- */
/* clang-format off */

struct usher_reply;

/* Options of the calls of `serial`.  If fewer than five verbs take an option, its comment begins
 * with them.  0 or NULL = not given; USHER_NONE or "" = explicitly none, never or off.  An
 * option that the verb does not take is USHER_INVALID. */
struct usher_serial_options {
    size_t size; /* set by …_INIT */
    void *post; /* not NULL: return at once; usher_collect() returns the reply with this tag */
    int64_t timeout_ms; /* deadline of this call; 0 = the engine's */
    const char *request; /* request id: a repeat returns the first answer */
    int64_t now_ms; /* time of the command; 0 = the engine's clock */
    int64_t wait; /* number of replicas to wait for, after the command */
    const char *owner; /* holds: the holder: an order, a person, a server */
    /* reserve, renew: a reservation expires after this time, and its number is issued again;
     * USHER_NONE: never */
    int64_t lease_ms;
    int64_t n; /* confirm, void, holds, sweep: how many; 1 to 1,000,000,000,000,000 */
    int64_t debt; /* take, setmax: 1: without the authority, while it cannot be reached */
    int64_t if_version; /* only if the scope has this version, else stale; 1 to 2^53 - 1 */
    uint64_t epoch; /* only if the scope has this epoch, else stale */
    int64_t since_version; /* changes: only changes after this version; 0 to 2^53 - 1 */
    int64_t max; /* changes: maximum notices; a page ends after 256; 1 to 10,000 */
    int64_t doubt; /* void, holds: 1: only numbers in doubt */
    /* void: with doubt=1: only numbers reserved at this version or before; 1 to 2^53 - 1 */
    int64_t before;
    const char *after; /* holds: continue where a page ended: its next */
    const char *actor; /* the person or program that gives the command, for its notices */
};
#ifdef __cplusplus
#define USHER_SERIAL_OPTIONS_INIT \
    { sizeof(struct usher_serial_options), NULL, 0, NULL, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    NULL, NULL }
#else
#define USHER_SERIAL_OPTIONS_INIT { .size = sizeof(struct usher_serial_options) }
#endif

/* Settings.  A member that is not given (0 or NULL) keeps its value, or gets its default in a
 * new scope; USHER_NONE = none, never or off; a code …_OFF = its code 0.  Settings read from a
 * reply can be passed back unchanged. */
struct usher_serial_settings {
    size_t size; /* set by …_INIT */
    /* text before the date and number; up to 48 bytes, may be empty; "" = none */
    const char *prefix;
    const char *suffix; /* text after the serial; up to 48 bytes, may be empty */
    const char *date; /* date after the prefix: %Y %y %m %d %j %H %M %S %% and other text */
    /* minimum digits of the number, with leading zeroes; USHER_NONE: as many as necessary; 0
     * to 40; default USHER_NONE */
    int64_t width;
    int64_t base; /* serial k has the number base + k * step; 0 to 2^63 - 1; default USHER_NONE */
    int64_t start; /* the first k; 1 to 2^63 - 1; default 1 */
    int64_t step; /* difference from one number to the next; 1 to 1,000,000; default 1 */
    int64_t radix; /* radix of the number; digits above 9 are capitals; 10 to 36; default 10 */
    /* check digit over the digits of date and number; default none */
    enum usher_serial_check_digit check;
    /* the last k that may be made; setmaxcur: numbers up to this count as taken; 0 to 2^63 -
     * 1; default 2^63 - 1 */
    int64_t highest;
    /* low-water mark: a take that leaves this stock or less refills it; the stock is refilled
     * to critical + f, at most batch at a time, where f = takes of the last 30 minutes + their
     * growth over the 30 minutes before, at least 1; tick does the same; 0 to 1,000,000,000;
     * default USHER_NONE */
    int64_t critical;
    /* maximum numbers that one automatic refill makes; 1 to 1,000,000,000; default 1000 */
    int64_t batch;
    /* k begins at start again with each of these periods; default none */
    enum usher_serial_reset reset;
    /* local time, minutes east of UTC; a change must not put the day back; USHER_NONE: UTC;
     * after a change of the zone the serials in stock get the date of the change (stamp);
     * -1440 to 1440; default USHER_NONE */
    int64_t zone_min;
    enum usher_serial_stamp stamp; /* the event that gives a serial its date; default take */
    /* made ahead, or reserved one by one without gaps; default queue */
    enum usher_serial_mode mode;
    /* handling of numbers with more digits than width; default refuse */
    enum usher_serial_overflow overflow;
    /* a reservation expires after this time, and its number is issued again; USHER_NONE:
     * never; default 5m */
    int64_t lease_ms;
    /* maximum results for request ids, and maximum ends of holds, that are kept; for ends of
     * holds see USHER_SERIAL_STATE_PAST; 1 to 1,000,000; default 10,000 */
    int64_t requests;
    /* 1: numbers are issued only if an authority has granted them; default USHER_NONE */
    int64_t authority;
    /* maximum notices kept for changes and watch; USHER_NONE: no log; 0 to 100,000; default
     * USHER_NONE */
    int64_t log;
    /* 1: Redis publishes new versions, on the channel {RULE}:serial; see push in
     * usher_room_settings (room.h); default USHER_NONE */
    int64_t push;
};
#ifdef __cplusplus
#define USHER_SERIAL_SETTINGS_INIT \
    { sizeof(struct usher_serial_settings), NULL, NULL, NULL, 0, 0, 0, 0, 0, (enum \
    usher_serial_check_digit)0, 0, 0, 0, (enum usher_serial_reset)0, 0, (enum \
    usher_serial_stamp)0, (enum usher_serial_mode)0, (enum usher_serial_overflow)0, 0, 0, 0, 0, \
    0 }
#else
#define USHER_SERIAL_SETTINGS_INIT { .size = sizeof(struct usher_serial_settings) }
#endif

/* Answer, written for every status.  Members that do not apply are USHER_NONE (numbers), ""
 * (texts) or 0 (codes, tokens). */
struct usher_serial_answer {
    size_t size; /* set by …_INIT */
    uint64_t epoch; /* of the scope; 0 = it does not exist */
    uint64_t version; /* of the scope after the command; for USHER_LOST: the last one not lost */
    int64_t due_ms; /* nothing in the scope expires before this time; or USHER_NEVER */
    int64_t now_ms; /* the same clock at the answer: a timer waits for due_ms - now_ms */
    int64_t replicas; /* with wait: number of replicas that have it */
    bool repeated; /* cached result of an earlier command with this request id */
    bool more; /* not complete: call again */
    char message[USHER_MESSAGE_MAX]; /* one line, or "" */
    enum usher_serial_why why; /* reason of a refusal */
    int64_t count; /* number of changes */
    int64_t left; /* numbers that may still be made */
    int64_t made; /* show: numbers were made */
    int64_t cur; /* the last number made */
    int64_t highest; /* check, setmax, setmaxcur, show: the last number allowed */
    int64_t granted; /* check: the last number that may be issued */
    int64_t period; /* rule, check, show: start of the period, in days since 1970 */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t until_ms; /* when it expires */
    enum usher_serial_state state; /* the state, after the command */
    int64_t number_made; /* parse: the number that is printed */
    int64_t n; /* number of items */
    int64_t text_value; /* parse: the value that is printed */
    int64_t at_ms; /* time of the printed date */
    char owner[USHER_NAME_MAX + 1]; /* the holder */
    char serial[USHER_SERIAL_TEXT_MAX + 1]; /* a serial as printed */
    char prefix[USHER_SERIAL_AFFIX_MAX + 1]; /* parse, show: text before the date and number */
    /* parse, show: the date, a pattern of strftime; of a serial: as printed */
    char date[USHER_SERIAL_TEXT_MAX + 1];
    char suffix[USHER_SERIAL_AFFIX_MAX + 1]; /* parse, show: text after the number */
    char check_digit[2]; /* parse: the check digit */
    int64_t since_version; /* changes: a version */
    char after[USHER_NAME_MAX + 1]; /* holds: the end of a page, where the next one continues */
};
#ifdef __cplusplus
#define USHER_SERIAL_ANSWER_INIT \
    { sizeof(struct usher_serial_answer), 0, 0, 0, 0, 0, false, false, "", (enum \
    usher_serial_why)0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (enum usher_serial_state)0, 0, 0, 0, 0, "", \
    "", "", "", "", "", 0, "" }
#else
#define USHER_SERIAL_ANSWER_INIT { .size = sizeof(struct usher_serial_answer) }
#endif

/* One row of a reply.  Texts belong to the reply and live as long.  Members that do not apply
 * are USHER_NONE (numbers), NULL (texts) or 0 (codes, tokens). */
struct usher_serial_row {
    size_t size; /* set by …_INIT */
    const char *serial; /* a serial as printed */
    int64_t number_made; /* the number that is printed */
    int64_t n; /* number of items */
    int64_t at_ms; /* time of the printed date */
    uint64_t token; /* fencing token of the hold; every later hold of the scope has another one */
    int64_t until_ms; /* when it expires */
    enum usher_serial_state state; /* the state, after the command */
    const char *owner; /* the holder */
    struct usher_text value; /* a value */
    int64_t version; /* version of the last change */
    enum usher_verb verb; /* verb of the change */
    const char *subject; /* subject of the change */
    int64_t before; /* version before the change */
    int64_t from_state; /* state before the change */
    int64_t to_state; /* state after it */
    struct usher_text data; /* data to make the change in a copy */
    int64_t time_ms; /* time of the change */
    int64_t first; /* the first id of a range */
    const char *actor; /* the person or program that gave the command */
};
#ifdef __cplusplus
#define USHER_SERIAL_ROW_INIT \
    { sizeof(struct usher_serial_row), NULL, 0, 0, 0, 0, 0, (enum usher_serial_state)0, NULL, { \
    NULL, 0 }, 0, (enum usher_verb)0, NULL, 0, 0, 0, { NULL, 0 }, 0, 0, NULL }
#else
#define USHER_SERIAL_ROW_INIT { .size = sizeof(struct usher_serial_row) }
#endif

/* Statistics.  A figure that does not exist is USHER_NONE. */
struct usher_serial_statistics {
    size_t size; /* set by …_INIT */
    int64_t left; /* numbers that may still be made */
    int64_t cur; /* the last number made */
    int64_t highest; /* the last number allowed */
    int64_t granted; /* the last number that may be issued */
    int64_t period; /* start of the period, in days since 1970 */
    int64_t available; /* numbers in stock */
    int64_t recent; /* taken in the last half hour */
    int64_t longterm; /* taken in the last hour */
    int64_t critical; /* low-water mark of the stock */
    int64_t batch; /* maximum numbers made at a time */
    int64_t target; /* stock that a tick would make */
    int64_t held; /* numbers held */
    int64_t returned; /* numbers returned */
    int64_t taken; /* the highest number ever issued */
    int64_t debt; /* last number that may be issued beyond the grant */
    /* numbers in doubt, reserved before another server or file took over the store */
    int64_t doubt;
};
#ifdef __cplusplus
#define USHER_SERIAL_STATISTICS_INIT \
    { sizeof(struct usher_serial_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#else
#define USHER_SERIAL_STATISTICS_INIT { .size = sizeof(struct usher_serial_statistics) }
#endif

/* Arguments of every call: the engine @e, the rule, the subject of the verb, @opt (may be NULL),
 * and where to write the answer (may be NULL).  A reply belongs to the caller: release it with
 * usher_reply_done().  It is NULL if the call itself failed.  With opt->post the call returns
 * like usher_post(), and the answer arrives as an event.  In addition to the statuses listed,
 * every call may return USHER_INVALID, USHER_UNAVAILABLE (nothing changed), USHER_UNKNOWN (no
 * answer: it may have been applied), USHER_LOST and USHER_NOMEM; usher_message() has the
 * details.  Threads: any.  Since 0.1. */

/**
 * Change the given settings of @rule (NULL: none, only read them), and create the rule if it does
 * not exist.  The reply has all of them: usher_serial_settings_of().  Its message warns if batch is
 * more than the numbers that width allows.
 *
 * USHER_OK, USHER_SAME
 * USHER_MISSING  none is given, and there is no such rule
 * USHER_REFUSED  why.  Once numbers were made, base, step, radix, mode and the presence of a check
 *                digit are fixed, highest and width must leave space for these numbers, and the
 *                local day must not go back with another zone.  While numbers are held or returned,
 *                reset is fixed, and so is the zone of a date
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_serial_set(struct usher_engine *e, const char *rule,
                                             const struct usher_serial_settings *settings,
                                             const struct usher_serial_options *opt,
                                             struct usher_reply **ret);

/**
 * Make @n serials ahead (1 to USHER_SERIAL_FILL_MAX).  USHER_OK: count were made, left more are
 * possible; USHER_FULL: the highest is reached.
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_serial_fill(struct usher_engine *e, const char *rule, int64_t n,
                                              const struct usher_serial_options *opt,
                                              struct usher_serial_answer *ret);

/**
 * Take the next @n serials (1 to USHER_SERIAL_TAKE_MAX), a row each.  With a request a repeat
 * within an hour returns the same ones.  debt = 1: take fewer if the authority is away.  USHER_OK;
 * USHER_FULL: fewer are left, as many as the answer's left; USHER_EMPTY: none is left.
 * Options: opt->debt, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_take(struct usher_engine *e, const char *rule, int64_t n,
                                              const struct usher_serial_options *opt,
                                              struct usher_reply **ret);

/** Read the stock: usher_serial_statistics_of().  USHER_OK. */
USHER_API enum usher_status usher_serial_stats(struct usher_engine *e, const char *rule,
                                               const struct usher_serial_options *opt,
                                               struct usher_reply **ret);

/**
 * Refill the stock to match the demand.  USHER_OK: count; USHER_SAME: enough in stock; USHER_FULL.
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_tick(struct usher_engine *e, const char *rule,
                                              const struct usher_serial_options *opt,
                                              struct usher_serial_answer *ret);

/**
 * Raise the highest by @raise; the scope gets another epoch.  While the authority of a rule cannot
 * be reached, the numbers that the store may issue without it are raised by as much: a debt, which
 * the authority receives when it is back.  USHER_OK: highest; USHER_FULL: it would pass 2^63 - 1.
 * Options: opt->debt, opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_serial_setmax(struct usher_engine *e, const char *rule,
                                                int64_t raise,
                                                const struct usher_serial_options *opt,
                                                struct usher_serial_answer *ret);

/**
 * Continue after @highest: the stock up to there is dropped, the highest is raised if necessary,
 * the scope gets another epoch.  USHER_OK; USHER_SAME: it is already that far; USHER_FULL: the
 * number does not fit the width.
 * Options: opt->if_version, opt->epoch, opt->actor.
 */
USHER_API enum usher_status usher_serial_setmaxcur(struct usher_engine *e, const char *rule,
                                                   int64_t highest,
                                                   const struct usher_serial_options *opt,
                                                   struct usher_serial_answer *ret);

/**
 * Parse @serial into its parts.  USHER_OK: number_made, text_value, prefix, date, suffix,
 * check_digit; USHER_INVALID: the rule cannot have made it (another form, a number below the lowest
 * start), or its check digit is wrong.
 */
USHER_API enum usher_status usher_serial_parse(struct usher_engine *e, const char *rule,
                                               const char *serial,
                                               const struct usher_serial_options *opt,
                                               struct usher_serial_answer *ret);

/**
 * Reserve the lowest number of the current period for @owner (NULL = anonymous) for opt->lease_ms
 * (not given: the rule's; USHER_NONE: no expiry, until it is confirmed, returned or voided).  The
 * same owner gets the number it holds (USHER_SAME), unless that is in doubt
 * (USHER_SERIAL_STATE_DOUBT): then it gets another one.  If it gives opt->lease_ms, and the hold
 * would end later by it, the hold is extended: USHER_OK, why USHER_SERIAL_WHY_RENEWED, the same
 * token.  A number may go to another owner when the hold ends, so do not show it before it is
 * confirmed.  USHER_OK: serial, token, until_ms; USHER_EMPTY: the highest is reached.
 * Options: opt->lease_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_reserve(struct usher_engine *e, const char *rule,
                                                 const char *owner,
                                                 const struct usher_serial_options *opt,
                                                 struct usher_serial_answer *ret);

/**
 * Confirm that the reserved number is used.  @serial is the text that was reserved, even if prefix,
 * suffix, date or width have changed since.
 *
 * USHER_OK
 * USHER_SAME     it was confirmed before under @token
 * USHER_STALE    @token is not, or no longer, the hold of @serial, and nothing is changed: the
 *                answer has state, and the owner and until_ms of a hold, never its token
 * USHER_INVALID  no such serial is known
 * USHER_LOST     the store lost this hold, and another caller has the number
 *
 * If no other caller has the number, a caller that presents the token of a lost hold still settles
 * it; it is then not issued again, not even if it is returned.  The numbers before it that are lost
 * as well become `lost`, and so do those that an authority has granted beyond the numbers that the
 * store has recorded.  usher_serial_holds() lists them until a caller settles them, by its own
 * token of a lost hold or by the token listed there (opt->n of them at once).
 * Options: opt->n, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_confirm(struct usher_engine *e, const char *rule,
                                                 const char *serial, uint64_t token,
                                                 const struct usher_serial_options *opt,
                                                 struct usher_serial_answer *ret);

/**
 * Hold the serial for opt->lease_ms from now on (not given: the lease of the rule; USHER_NONE: no
 * expiry), which may end it earlier than before.  USHER_SAME: its end does not change, as of a
 * number in doubt, which no clock ends.  Other statuses as usher_serial_confirm(); a lost hold is
 * USHER_LOST, because no clock ends it, and its token still settles it.
 * Options: opt->lease_ms, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_renew(struct usher_engine *e, const char *rule,
                                               const char *serial, uint64_t token,
                                               const struct usher_serial_options *opt,
                                               struct usher_serial_answer *ret);

/**
 * Return a number that is not needed: it is issued again in its period; one in doubt becomes void.
 * Statuses as usher_serial_confirm().
 * Options: opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_return(struct usher_engine *e, const char *rule,
                                                const char *serial, uint64_t token,
                                                const struct usher_serial_options *opt,
                                                struct usher_serial_answer *ret);

/**
 * Void the number: it is spoilt and never issued again.  A number that was returned in a past
 * period is voided with the token that usher_serial_holds() returns.  Statuses as
 * usher_serial_confirm().
 *
 * For operators, with opt->doubt = 1 and @serial NULL: void all numbers in doubt that were reserved
 * at version opt->before or earlier.  With the version of usher_serial_holds() no number is voided
 * that its answer lacks.  One call does a bounded step: repeat it while the answer has more.
 * USHER_OK: count; USHER_SAME: none is in doubt.
 * Options: opt->n, opt->if_version, opt->epoch, opt->doubt, opt->before, opt->actor.
 */
USHER_API enum usher_status usher_serial_void(struct usher_engine *e, const char *rule,
                                              const char *serial, uint64_t token,
                                              const struct usher_serial_options *opt,
                                              struct usher_serial_answer *ret);

/**
 * Show the state of @serial as a row; NULL: the rule.  Writes nothing.  USHER_OK; USHER_MISSING;
 * USHER_INVALID: it is none of this rule, its check digit is wrong, or its number is held, or was
 * confirmed or voided, as another serial.
 *
 * A serial in an earlier format of the rule is known while its number is held, or while the end of
 * its last hold is remembered.  It is searched among the 1,000 numbers longest held and the 1,000
 * ends of the latest holds.
 */
USHER_API enum usher_status usher_serial_show(struct usher_engine *e, const char *rule,
                                              const char *serial,
                                              const struct usher_serial_options *opt,
                                              struct usher_reply **ret);

/**
 * List numbers held or in doubt as rows, oldest first (by opt->owner, or with opt->doubt = 1 those
 * in doubt, or all).  If all are listed, returned ones follow: first those whose hold is over and
 * has not been written yet, then the others, lowest first.  Returned numbers of past periods have a
 * token, for void.  Lost ones come last.
 *
 * A page has at most opt->n rows (not given: 100), after opt->after.  While the reply has more,
 * give its answer's after as opt->after, even if a page has no rows: a page reads at most
 * USHER_PAGE_MAX numbers.  A number that does not change while the pages are read is in exactly one
 * of them.  USHER_OK; USHER_INVALID: no page ended at opt->after.
 * Options: opt->owner, opt->n, opt->doubt, opt->after.
 */
USHER_API enum usher_status usher_serial_holds(struct usher_engine *e, const char *rule,
                                               const struct usher_serial_options *opt,
                                               struct usher_reply **ret);

/**
 * Apply expiries that are due, at most 64 changes.  Never needed for correctness.  Repeat it while
 * the answer has more.  USHER_OK: count; USHER_SAME.
 * Options: opt->n, opt->if_version, opt->epoch.
 */
USHER_API enum usher_status usher_serial_sweep(struct usher_engine *e, const char *rule,
                                               const struct usher_serial_options *opt,
                                               struct usher_serial_answer *ret);

/**
 * Read the change log of @rule, even if it was deleted since: changes after opt->since_version as
 * rows, oldest first, at most opt->max (not given: 100).  data has the number of a hold, first and
 * n of those made or taken, other arguments and changes, and actor if the command has opt->actor.
 * usher_watch_events() follows the log.
 *
 * USHER_OK
 * USHER_MISSING
 * USHER_REFUSED  the rule keeps no log (setting log)
 * USHER_STALE    the log starts later, at the answer's since_version; or no such version yet
 * USHER_LOST     the store lost that version
 * Options: opt->epoch, opt->since_version, opt->max.
 */
USHER_API enum usher_status usher_serial_changes(struct usher_engine *e, const char *rule,
                                                 const struct usher_serial_options *opt,
                                                 struct usher_reply **ret);

/* Copy the answer, the settings, the statistics or row @i of @reply into a struct.  Texts belong
 * to the reply and live as long, except those of the answer.  Return false, and do not write
 * *@ret, if @reply is NULL or of another noun, if there is no such row, or if the size is not
 * set.  O(members * values). */
USHER_API bool usher_serial_answer_of(const struct usher_reply *reply, struct usher_serial_answer *ret);
USHER_API bool usher_serial_settings_of(const struct usher_reply *reply, struct usher_serial_settings *ret);
USHER_API bool usher_serial_statistics_of(const struct usher_reply *reply, struct usher_serial_statistics *ret);
USHER_API bool usher_serial_row_of(const struct usher_reply *reply, size_t i, struct usher_serial_row *ret);
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
