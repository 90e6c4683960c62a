/* SPDX-License-Identifier: MIT */
/* Serials: words, the printing of results, and the journal. */
#include "config.h"

#include <usher/store/authority.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/serial.h"
#include "core/serial_machine.h"
#include "nouns/definition.h"
#include "engine/authority.h"
#include "engine/engine.h"
#include "engine/scopes.h"
#include "change/hooks.h"
#include "encode/result_fields.h"

/* ---- words -------------------------------------------------------------------------- */

static const struct {
    const char *word, *text;
} whys[] = {
    [USHER_SERIAL_WHY_NONE] = { "none", "" },
    [USHER_SERIAL_WHY_EXHAUSTED] = { "exhausted", "the maximum is reached" },
    [USHER_SERIAL_WHY_GRANT] = { "grant", "the numbers that the authority granted are used up" },
    [USHER_SERIAL_WHY_LOST] = { "lost",
                                "the store may have lost changes: the authority must grant the "
                                "next numbers" },
    [USHER_SERIAL_WHY_KEPT] = { "kept", "base, step, radix, mode and the presence of a check digit "
                                        "cannot change after numbers were made" },
    [USHER_SERIAL_WHY_ROOM] = { "room", "max or width is too small for numbers already made" },
    [USHER_SERIAL_WHY_MODE] = { "mode", "the verb is for rules of the other mode" },
    [USHER_SERIAL_WHY_HELD] = { "held", "numbers are held, in doubt, returned or lost" },
    [USHER_SERIAL_WHY_FILLS] = { "fills", "the stock has 32 fills (limit 32): take numbers first" },
    [USHER_SERIAL_WHY_BACK] = { "back",
                                "in this zone it is still the previous day, whose numbers may "
                                "have been made: change the zone later" },
    [USHER_SERIAL_WHY_UNKNOWN] = { "unknown", "the number was printed as another serial" },
    [USHER_SERIAL_WHY_RENEWED] = { "renewed", "the hold lasts longer now" },
    [USHER_SERIAL_WHY_DUE] = { "due", "too many expiries are pending on this rule: retry" },
};

const char *usher_serial_why_word(enum usher_serial_why why)
{
    return (unsigned)why < sizeof whys / sizeof *whys ? whys[why].word : "?";
}

const char *usher_serial_why_text(enum usher_serial_why why)
{
    return (unsigned)why < sizeof whys / sizeof *whys ? whys[why].text : "?";
}

/* ---- replies ------------------------------------------------------------------------ */

static uint64_t print(const struct usher_result *reply, uint64_t i, uint64_t max, char *to,
                      size_t size)
{
    uint64_t n = 0;

    if (reply == NULL || reply->noun != USHER_SERIAL)
        return 0;
    for (size_t k = 0; k < reply->of.serial.n_rows; k++) {
        const struct usher_serial_result_row *row = &reply->of.serial.rows[k];
        struct usher__serial_format f;
        char text[USHER_SERIAL_TEXT_MAX + 1];
        size_t head;

        if (row->n <= 0)
            continue;
        if (i >= (uint64_t)row->n) {
            i -= (uint64_t)row->n;
            continue;
        }
        if (!usher__serial_unpack(&row->format, &f))
            break;
        head = usher__serial_head(&f, row->at_ms, text);
        for (; i < (uint64_t)row->n && (int64_t)i <= INT64_MAX - row->first; i++, n++) {
            size_t length = usher__serial_tail(&f, head, row->first + (int64_t)i, text);

            if (length == 0 || size <= length || n == max)
                return n;
            memcpy(to, text, length);
            to[length] = '\0';
            to += length + 1;
            size -= length + 1;
        }
        i = 0;
    }
    return n;
}

uint64_t usher_serial_texts(const struct usher_result *reply, uint64_t i, char *to, size_t size)
{
    return print(reply, i, UINT64_MAX, to, size);
}

size_t usher_serial_text(const struct usher_result *reply, uint64_t i, char *to, size_t size)
{
    char text[USHER_SERIAL_TEXT_MAX + 1] = "";
    size_t length, fits;

    (void)print(reply, i, 1, text, sizeof text);
    length = strlen(text);
    fits = length < size ? length : size - 1;
    if (size > 0) {
        memcpy(to, text, fits);
        to[fits] = '\0';
    }
    return length;
}

bool usher_serial_form_of(const struct usher_result *reply, struct usher_serial_form *ret_form)
{
    const struct usher_serial_result_settings *set = &reply->of.serial.of.settings;
    struct usher__serial_format f;

    if (reply->noun != USHER_SERIAL || reply->of.serial.n_rows != 1 ||
        !usher__serial_unpack(&reply->of.serial.rows->format, &f))
        return false;
    memset(ret_form, 0, sizeof *ret_form);
    if (f.prefix.size != 0)
        memcpy(ret_form->prefix, f.prefix.data, f.prefix.size);
    if (f.suffix.size != 0)
        memcpy(ret_form->suffix, f.suffix.data, f.suffix.size);
    if (f.date.size != 0)
        memcpy(ret_form->date, f.date.data, f.date.size);
    ret_form->width = f.width;
    ret_form->base = f.base;
    ret_form->start = set->start;
    ret_form->step = f.step;
    ret_form->radix = f.radix;
    ret_form->check = f.check;
    ret_form->overflow = f.overflow;
    ret_form->max = reply->of.serial.max;
    ret_form->critical = set->critical;
    ret_form->batch = set->batch;
    ret_form->reset = set->reset;
    ret_form->zone_min = f.zone_min;
    ret_form->stamp = set->stamp;
    ret_form->mode = set->mode;
    ret_form->lease_ms = set->lease_ms;
    ret_form->requests = set->requests;
    ret_form->authority = set->authority;
    ret_form->log = set->log;
    ret_form->push = set->push;
    return true;
}

static const char *void_fault(const struct usher_operation *command)
{
    bool doubt = (command->given & USHER_GIVEN_SERIAL_DOUBT) != 0;
    bool before = (command->given & USHER_GIVEN_SERIAL_BEFORE) != 0;

    if (!doubt)
        return before                                    ? "before needs doubt=1"
               : command->arg.serial.serial.data == NULL ? "serial is missing"
                                                         : NULL;
    if (command->arg.serial.serial.data != NULL ||
        (command->given & (USHER_GIVEN_SERIAL_TOKEN | USHER_GIVEN_SERIAL_N)) != 0)
        return "doubt=1 excludes serial, token and n";
    return before ? NULL : "before is missing: the version that `holds` returned";
}

static const char *affix_fault(const struct usher_text *affix)
{
    const char *fault = usher__serial_affix_fault(affix->data, affix->size);

    if (fault == NULL && affix->size != 0 && memchr(affix->data, '%', affix->size) != NULL)
        fault = "contains a %: dates belong in date=";
    return fault;
}

/* Checks of arguments beyond their types. */
static const char *fault_of(const struct usher_operation *command, const char **ret_word)
{
    const struct usher_serial_args *a = &command->arg.serial;
    const char *fault;

    if (command->verb == USHER_SERIAL_VOID)
        return void_fault(command);
    if (command->verb != USHER_SERIAL_RULE)
        return NULL;
    *ret_word = "prefix";
    fault = affix_fault(&a->prefix);
    if (fault != NULL)
        return fault;
    *ret_word = "suffix";
    fault = affix_fault(&a->suffix);
    if (fault != NULL)
        return fault;
    *ret_word = "date";
    return usher__serial_date_fault(a->date.data, a->date.size);
}

static bool counts_are_sound(const struct usher_operation *command,
                             const struct usher_result *reply)
{
    const struct usher_serial_result *s = &reply->of.serial;
    int64_t n = 0;

    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].n < 0 || s->rows[i].n > INT64_MAX - n ||
            (s->rows[i].n > USHER_SERIAL_TAKE_MAX && s->rows[i].state != USHER_SERIAL_STATE_LOST))
            return false;
        n += s->rows[i].n;
    }
    return command->verb != USHER_SERIAL_TAKE || n == s->count;
}

/*
 * The row of @reply is how the number of @serial stands.  A row of a number that is not held and
 * has not ended has no date of its own, so it gets the one that @serial has: a row names the serial
 * that was asked for.  False: the number was printed otherwise, so nothing is known of this serial.
 */
static bool names(struct usher_result *reply, const struct usher_text *serial)
{
    struct usher_serial_result_row *row = (void *)(uintptr_t)reply->of.serial.rows;
    struct usher__serial_format f;
    char text[USHER_SERIAL_TEXT_MAX + 1];
    size_t size = usher_serial_text(reply, 0, text, sizeof text);

    if (size == serial->size && memcmp(text, serial->data, size) == 0)
        return true;
    switch (row->state) {
    case USHER_SERIAL_STATE_FREE:
    case USHER_SERIAL_STATE_PAST:
    case USHER_SERIAL_STATE_RETURNED:
    case USHER_SERIAL_STATE_LOST:
        break;
    default:
        return false;
    }
    if (!usher__serial_unpack(&row->format, &f) ||
        !usher__serial_time(&f, serial, row->at_ms, &row->at_ms))
        return false;
    size = usher_serial_text(reply, 0, text, sizeof text);
    return size == serial->size && memcmp(text, serial->data, size) == 0;
}

/* A warning with the settings of a rule: the stock would take all numbers of a period. */
static void batch_is_small(struct usher_result *reply, const struct usher__serial_format *f)
{
    const struct usher_serial_result_settings *set = &reply->of.serial.of.settings;
    int64_t most =
        usher__serial_limit(f, INT64_MAX, USHER_SERIAL_MODE_QUEUE, USHER_SERIAL_RESET_NONE) -
        (set->start - 1);

    if (set->mode == USHER_SERIAL_MODE_QUEUE && set->batch > most)
        (void)snprintf(reply->message, sizeof reply->message,
                       "batch=%" PRId64 " is more than the %" PRId64 " numbers that width=%" PRId64
                       " allows",
                       set->batch, most, f->width);
}

/* `parse` of the serial in @command.  NULL, or what is wrong with it. */
static const char *parsed(const struct usher_operation *command, struct usher_result *reply,
                          const struct usher__serial_format *f)
{
    const struct usher_text *serial = &command->arg.serial.serial;
    struct usher_serial_parts *to = &reply->of.serial.of.parts;
    struct usher__serial_parts parts;
    const char *fault = usher__serial_parse(f, serial, &parts);

    if (fault == NULL && command->verb == USHER_SERIAL_SHOW && !names(reply, serial))
        fault = "serial is unknown: its number was printed as another serial";
    if (fault != NULL || command->verb != USHER_SERIAL_PARSE)
        return fault;
    /* the row has the lowest number that the rule can have made */
    if (parts.number < reply->of.serial.rows->first)
        return "serial does not match this rule: its number is below start";
    to->number = parts.number;
    to->value = parts.value;
    to->date_at = parts.date.data - serial->data;
    to->date_size = (int64_t)parts.date.size;
    to->check = (unsigned char)parts.check;
    return NULL;
}

/* The store has answered with the format of the rule, or of a serial: read that. */
static void answered(const struct usher_operation *command, struct usher_result *reply)
{
    bool rule = command->verb == USHER_SERIAL_RULE;
    const struct usher_text *serial = &command->arg.serial.serial;
    struct usher__serial_format f;
    const char *fault;

    if (reply->status == USHER_STALE && command->verb != USHER_SERIAL_GRANT &&
        serial->data != NULL && reply->of.serial.n_rows == 1 && !names(reply, serial)) {
        reply->of.serial.n_rows = 0;
        reply->of.serial.until_ms = 0;
        reply->of.serial.why = USHER_SERIAL_WHY_UNKNOWN;
    }
    if ((reply->status != USHER_OK && (!rule || reply->status != USHER_SAME)) ||
        (!rule && command->verb != USHER_SERIAL_PARSE &&
         (command->verb != USHER_SERIAL_SHOW || serial->data == NULL)))
        return;
    if (reply->of.serial.n_rows != 1 || !usher__serial_unpack(&reply->of.serial.rows->format, &f)) {
        if (!rule)
            usher_result_fail(reply, USHER_UNAVAILABLE, "the store is damaged: a rule");
        return;
    }
    if (rule) {
        batch_is_small(reply, &f);
        return;
    }
    fault = parsed(command, reply, &f);
    if (fault != NULL)
        usher_result_fail(reply, USHER_INVALID, fault);
}

static const char *state_word(unsigned code)
{
    return usher_serial_state_word((enum usher_serial_state)code);
}

static const char *why_word(unsigned code)
{
    return usher_serial_why_word((enum usher_serial_why)code);
}

static enum usher_subject subject(const struct usher_notice *notice)
{
    (void)notice;
    return USHER_SUBJECT_SERIAL;
}

static const char *told_state(const struct usher_notice *n, enum usher_subject of, unsigned state)
{
    (void)n;
    return of == USHER_SUBJECT_SERIAL ? usher_serial_state_word((enum usher_serial_state)state)
                                      : NULL;
}

/* ---- results -------------------------------------------------------------------------------- */

/* The rule itself is asked for. */
static bool is_rule(const struct usher_operation *op)
{
    return op->verb == USHER_SERIAL_RULE || op->verb == USHER_SERIAL_PARSE ||
           (op->verb == USHER_SERIAL_SHOW && op->arg.serial.serial.data == NULL);
}

static uint32_t says(uint32_t verb, size_t i)
{
    static const uint32_t form[] = {
        USHER_FIELD_PREFIX,
        USHER_FIELD_SUFFIX,
        USHER_FIELD_DATE,
        USHER_FIELD_WIDTH,
        USHER_FIELD_BASE,
        USHER_FIELD_STEP,
        USHER_FIELD_RADIX,
        USHER_FIELD_CHECK,
        USHER_FIELD_ZONE,
        USHER_FIELD_OVERFLOW,
        0,
    };
    static const uint32_t parts[] = { USHER_FIELD_PREFIX,
                                      USHER_FIELD_DATE,
                                      USHER_FIELD_SUFFIX,
                                      USHER_FIELD_NUMBER_MADE,
                                      USHER_FIELD_TEXT_VALUE,
                                      USHER_FIELD_CHECK_DIGIT,
                                      0 };

    if (verb == USHER_SERIAL_PARSE)
        return i < sizeof parts / sizeof *parts ? parts[i] : 0;
    return (verb == USHER_SERIAL_RULE || verb == USHER_SERIAL_SHOW) &&
                   i < sizeof form / sizeof *form
               ? form[i]
               : 0;
}

static void say_parts(usher__put *put, void *to, const struct usher_operation *op,
                      const struct usher_result *r)
{
    const struct usher_serial_parts *p = &r->of.serial.of.parts;
    char check = (char)p->check;

    usher__put_text(put, to, USHER_FIELD_DATE, op->arg.serial.serial.data + p->date_at,
                    (size_t)p->date_size);
    usher__put_number(put, to, USHER_FIELD_NUMBER_MADE, p->number);
    usher__put_number(put, to, USHER_FIELD_TEXT_VALUE, p->value);
    if (check != '\0')
        usher__put_text(put, to, USHER_FIELD_CHECK_DIGIT, &check, 1);
}

static void say(usher__put *put, void *to, const struct usher_operation *op,
                const struct usher_result *r)
{
    struct usher_serial_form f;

    if (!is_rule(op) || !usher_serial_form_of(r, &f))
        return;
    usher__put_text(put, to, USHER_FIELD_PREFIX, f.prefix, strlen(f.prefix));
    usher__put_text(put, to, USHER_FIELD_SUFFIX, f.suffix, strlen(f.suffix));
    if (op->verb == USHER_SERIAL_PARSE) {
        say_parts(put, to, op, r);
        return;
    }
    usher__put_text(put, to, USHER_FIELD_DATE, f.date, strlen(f.date));
    usher__put_number(put, to, USHER_FIELD_WIDTH, f.width);
    usher__put_number(put, to, USHER_FIELD_BASE, f.base);
    usher__put_number(put, to, USHER_FIELD_STEP, f.step);
    usher__put_number(put, to, USHER_FIELD_RADIX, f.radix);
    usher__put_number(put, to, USHER_FIELD_CHECK, f.check);
    usher__put_number(put, to, USHER_FIELD_ZONE, f.zone_min);
    usher__put_number(put, to, USHER_FIELD_OVERFLOW, f.overflow);
}

static bool has_extras(const struct usher_operation *op, const struct usher_result *r)
{
    (void)r;
    return op->verb != USHER_SERIAL_SHOW || is_rule(op);
}

/* Serials that were taken are a row each.  A rule is shown by a row of no numbers, in which only
 * its form is. */
static size_t rows_count(const struct usher_operation *op, const struct usher_result *r)
{
    size_t all = 0;

    if (is_rule(op))
        return 0;
    if (op->verb != USHER_SERIAL_TAKE)
        return r->of.serial.n_rows;
    for (size_t i = 0; i < r->of.serial.n_rows; i++)
        all += (size_t)r->of.serial.rows[i].n;
    return all;
}

static const char *next_row(const struct usher_operation *op, const struct usher_result *r,
                            struct usher__row_at *at)
{
    const struct usher_serial_result_row *from = r->of.serial.rows;
    struct usher_serial_result_row *one = (void *)at->room;

    _Static_assert(sizeof *one <= sizeof at->room, "a row has room");
    if (op->verb != USHER_SERIAL_TAKE) {
        if (at->i > 0)
            at->before += (uint64_t)from[at->i - 1].n;
        return (const char *)&from[at->i++];
    }
    if (at->i > 0 || at->within > 0)
        at->before++;
    while (at->within == from[at->i].n) {
        at->i++;
        at->within = 0;
    }
    *one = from[at->i];
    one->first += at->within++;
    return (const char *)one;
}

static size_t text(const struct usher__field *f, const struct usher_result *r, const char *row,
                   uint64_t before, char to[USHER__MADE_MAX])
{
    (void)f;
    (void)row;
    return usher_serial_text(r, before, to, USHER__MADE_MAX);
}

_Static_assert(USHER__MADE_MAX > USHER_SERIAL_TEXT_MAX, "a serial has room");

static const struct usher__extras extras = { .has = has_extras, .says = says, .say = say };
static const struct usher__row_ops rows = { .count = rows_count, .next = next_row };

static bool unfinished(const struct usher_result *reply)
{
    return reply->of.serial.why == USHER_SERIAL_WHY_DUE;
}

static const char *drop(struct usher_operation *c)
{
    c->verb = USHER_SERIAL_DELETE;
    return "numbers of it are held, in doubt, returned or lost";
}

const struct usher__hooks usher__serial_hooks = {
    .fault = fault_of,
    .sound = counts_are_sound,
    .answered = answered,
    .state_word = state_word,
    .unfinished = unfinished,
    .why_word = why_word,
    .subject = subject,
    .told_state = told_state,
    .extras = &extras,
    .rows = &rows,
    .text = text,
    .drop = drop,
    .sweep = USHER_SERIAL_SWEEP,
    .grants = &usher__serial_grants,
};

/* ---- journal ------------------------------------------------------------------------------ */

enum usher_status usher_serial_journal(struct usher_engine *e, const char *rule,
                                       const struct usher_list_options *opt,
                                       usher_authority_event_fn *fn, void *payload)
{
    enum usher_status status = usher__engine_check(e);
    struct usher_list_options o;
    const char *fault;

    if (status != USHER_OK)
        return status;
    fault = usher__list_options(e, opt, USHER__LIST_MAX | USHER__LIST_ROW, &o);
    if (fault != NULL || rule == NULL || fn == NULL) {
        usher__message_set("serial journal: %s", fault != NULL ? fault : "rule or fn is NULL");
        return USHER_INVALID;
    }
    if (e->authority == NULL) {
        usher__message_set("serial journal: the store has no authority, which keeps the journal");
        return USHER_INVALID;
    }
    return usher__authority_events(e->authority, USHER_SERIAL, rule, o.row, (size_t)o.max,
                                   usher__monotonic_ms() + o.timeout_ms, fn, payload);
}
