/* SPDX-License-Identifier: MIT */
/*
 * Serials with an authority: see grant.h.
 *
 * A command that needs more than was granted is answered `empty` with WHY_GRANT, or WHY_LOST if the
 * store itself finds that it may have lost grants (another server or file than the one that grants
 * were installed on).  `grant` installs the new range.  The store compares: a range that begins
 * above its own maximum shows that it has lost grants, and it continues above.
 *
 * Once for each rule an engine also compares the authority with the store: a copy that was written
 * over a file looks the same.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/pack.h"
#include "core/serial.h"
#include "core/text.h"
#include "engine/grant.h"
#include "engine/clock.h"
#include "change/result.h"
#include "nouns/definition.h"

/* Numbers reserved in advance, in addition to the requested ones: the numbers for one commit of the
 * authority, and the maximum that is lost with a store. */
#define AHEAD 1000

typedef struct usher__ask ask;

static bool concerns(enum usher_verb verb)
{
    switch (verb) {
    case USHER_SERIAL_RULE:
    case USHER_SERIAL_FILL:
    case USHER_SERIAL_TAKE:
    case USHER_SERIAL_TICK:
    case USHER_SERIAL_SETMAX:
    case USHER_SERIAL_SETMAXCUR:
    case USHER_SERIAL_RESERVE:
    case USHER_SERIAL_CONFIRM:
    case USHER_SERIAL_RETURN:
    case USHER_SERIAL_VOID:
    case USHER_SERIAL_RENEW:
    case USHER_SERIAL_DELETE:
    case USHER_SERIAL_SHOW:
    case USHER_SERIAL_CHECK:
        return true;
    default:
        return false;
    }
}

/* Return whether it issues numbers. */
static bool issues(enum usher_verb verb)
{
    return verb == USHER_SERIAL_TAKE || verb == USHER_SERIAL_FILL || verb == USHER_SERIAL_TICK ||
           verb == USHER_SERIAL_RESERVE;
}

/* ---- the rule in the authority ------------------------------------------------------ */

static size_t form_pack(const struct usher_result *reply, unsigned char to[USHER__FORM_MAX])
{
    const struct usher_serial_result *n = &reply->of.serial;

    return usher__serial_form_pack(&n->of.settings, n->max, &n->rows->format, to);
}

static bool unpack_big(struct usher_unpacker *u, int64_t *ret)
{
    struct usher_text text;

    return usher_unpack_text(u, &text) && usher__wide_read(text.data, text.size, ret) && *ret >= 0;
}

/* Unpack it as the arguments of `rule`; texts point into @data. */
static bool form_unpack(const char *data, size_t size, struct usher_operation *c)
{
    struct usher_serial_args *s = &c->arg.serial;
    struct usher_unpacker u = usher__unpacker(data, size);
    struct usher__serial_format f;
    struct usher_text format;
    uint64_t version;
    size_t n;

    if (!usher_unpack_array(&u, &n) || n != 13 || !usher_unpack_uint(&u, &version) ||
        version != USHER__SERIAL_FORM || !usher_unpack_text(&u, &format) ||
        !usher__serial_unpack(&format, &f) || !unpack_big(&u, &s->start) ||
        !unpack_big(&u, &s->max) || !usher_unpack_int(&u, &s->critical) ||
        !usher_unpack_int(&u, &s->batch) || !usher_unpack_int(&u, &s->reset) ||
        !usher_unpack_int(&u, &s->stamp) || !usher_unpack_int(&u, &s->mode) ||
        !usher_unpack_int(&u, &s->lease_ms) || !usher_unpack_int(&u, &s->requests) ||
        !usher_unpack_int(&u, &s->log) || !usher_unpack_int(&u, &s->push))
        return false;
    s->prefix = f.prefix;
    s->suffix = f.suffix;
    s->date = f.date;
    s->base = f.base;
    s->step = f.step;
    s->width = f.width;
    s->radix = f.radix;
    s->check = f.check;
    s->overflow = f.overflow;
    s->zone_min = f.zone_min;
    s->authority = 1;
    c->given |= USHER_GIVEN_SERIAL_START | USHER_GIVEN_SERIAL_MAX | USHER_GIVEN_SERIAL_CRITICAL |
                USHER_GIVEN_SERIAL_BATCH | USHER_GIVEN_SERIAL_RESET | USHER_GIVEN_SERIAL_STAMP |
                USHER_GIVEN_SERIAL_MODE | USHER_GIVEN_SERIAL_LEASE | USHER_GIVEN_SERIAL_REQUESTS |
                USHER_GIVEN_SERIAL_BASE | USHER_GIVEN_SERIAL_STEP | USHER_GIVEN_SERIAL_WIDTH |
                USHER_GIVEN_SERIAL_RADIX | USHER_GIVEN_SERIAL_CHECK | USHER_GIVEN_SERIAL_OVERFLOW |
                USHER_GIVEN_SERIAL_ZONE | USHER_GIVEN_SERIAL_AUTHORITY | USHER_GIVEN_SERIAL_LOG |
                USHER_GIVEN_SERIAL_PUSH;
    return true;
}

static bool form_reads(const char *data, size_t size)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    return form_unpack(data, size, &c);
}

/* Return the highest number that may have been issued, with or without an authority. */
static int64_t issued(const struct usher_serial_result *store)
{
    int64_t cur = store->of.settings.made != 0 ? store->cur : 0;

    return store->granted > cur ? store->granted : cur;
}

/* Store the rule of the store in the authority, with the numbers that were issued without it, or up
 * to
 * @floor by an earlier rule of that name. */
static enum usher_status keep_rule(ask *a, int64_t floor)
{
    struct usher_operation c = usher__grant_another(a, USHER_SERIAL_SHOW);
    struct usher_result reply;
    unsigned char packed[USHER__FORM_MAX];
    struct usher_text data = { (const char *)packed, 0 };
    enum usher_status status = USHER_OK;

    usher__grant_run(a, &c, &reply);
    if (reply.status == USHER_OK && reply.of.serial.n_rows == 1 &&
        reply.of.serial.of.settings.authority != 0) {
        data.size = form_pack(&reply, packed);
        if (data.size <= sizeof packed)
            status = usher__grant_keep(a, 0, &data);
        if (status == USHER_OK)
            status = usher__grant_raise_to(
                a, reply.of.serial.period,
                issued(&reply.of.serial) > floor ? issued(&reply.of.serial) : floor);
    }
    usher_result_done(&reply);
    return status;
}

/* The store has no such rule: recreate it if the authority has it, else return MISSING. */
static enum usher_status restore(ask *a)
{
    struct usher_operation c = usher__grant_another(a, USHER_SERIAL_RULE);
    struct usher_text name = usher__grant_name(a, 0);
    struct usher_authority_entry entry;
    struct usher_result reply;
    enum usher_status status = a->e->authority->ops->read(a->e->authority, USHER_SERIAL, &name,
                                                          a->deadline_ms, &entry, a->why);

    if (status != USHER_OK)
        return status;
    if (entry.data_size == 0)
        return USHER_MISSING; /* deleted, or stored by others only */
    if (!form_unpack(entry.data, entry.data_size, &c)) {
        (void)snprintf(a->why, sizeof a->why, "its entry of the rule cannot be read");
        return USHER_UNAVAILABLE;
    }
    usher__grant_run(a, &c, &reply);
    status = reply.status == USHER_SAME ? USHER_OK : reply.status;
    if (status != USHER_OK)
        (void)snprintf(a->why, sizeof a->why, "the rule cannot be created again: %s: %.120s",
                       usher_status_word(reply.status), reply.message);
    usher_result_done(&reply);
    return status == USHER_OK ? status : USHER_UNAVAILABLE;
}

/* ---- grants ------------------------------------------------------------------------- */

static enum usher_status install(ask *a, const struct usher_authority_range *range, int64_t period)
{
    struct usher_operation c = usher__grant_another(a, USHER_SERIAL_GRANT);
    struct usher_result reply;
    enum usher_status status;

    c.given |= USHER_GIVEN_SERIAL_FROM | USHER_GIVEN_SERIAL_TO | USHER_GIVEN_SERIAL_PERIOD;
    c.arg.serial.from = range->from;
    c.arg.serial.to = range->to;
    c.arg.serial.period = period;
    usher__grant_run(a, &c, &reply);
    status = reply.status;
    if (status > USHER_FULL && status != USHER_STALE) /* stale: another period has begun */
        (void)snprintf(a->why, sizeof a->why, "%.180s", reply.message);
    else
        status = USHER_OK;
    if (reply.status == USHER_OK && reply.of.serial.count > 0)
        usher__grant_log(
            a, USHER_LOG_WARNING,
            "the store has lost grants: numbers of a gap-free rule are lost (see `holds`)");
    usher_result_done(&reply);
    return status;
}

/* Read the rule.  MISSING: there is none with an authority, or it cannot be read; the answer of the
 * command itself has the reason. */
static enum usher_status look(ask *a, struct usher_serial_result *ret)
{
    struct usher_operation c = usher__grant_another(a, USHER_SERIAL_SHOW);
    struct usher_result reply;
    bool there;

    usher__grant_run(a, &c, &reply);
    there = reply.status == USHER_OK && reply.of.serial.of.settings.authority != 0;
    *ret = reply.of.serial;
    usher_result_done(&reply);
    return there ? USHER_OK : USHER_MISSING;
}

/* A process that was granted a range installs it within this time, unless it was killed. */
#define ARRIVES_MS 500

/* The authority has granted numbers up to @from that @store does not have.  Another process may be
 * about to install them: a store that gets the later range first would count the numbers of the
 * other process as lost. */
static void wait_for_others(ask *a, const struct usher_serial_result *store, int64_t from)
{
    static const struct timespec pause = { 0, 1000000 };
    int64_t begun = usher__monotonic_ms(), most = (a->deadline_ms - begun) / 2;
    int64_t until = begun + (most < ARRIVES_MS ? most : ARRIVES_MS);
    struct usher_serial_result now;

    while (look(a, &now) == USHER_OK && now.period == store->period && issued(&now) < from &&
           usher__monotonic_ms() < until)
        (void)nanosleep(&pause, NULL);
}

/* Limit a grant in advance, in addition to @n, to an eighth of the rest of a bounded period,
 * because a loss of the store must not use up the period. */
static enum usher_status bounded(ask *a, const struct usher_authority_want *want, int64_t n,
                                 int64_t *ret_n)
{
    struct usher_authority_entry entry;
    int64_t from = want->floor, most;
    enum usher_status status;

    *ret_n = n + AHEAD;
    if (want->limit == INT64_MAX)
        return USHER_OK;
    status = a->e->authority->ops->read(a->e->authority, USHER_SERIAL, &want->name, a->deadline_ms,
                                        &entry, a->why);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (status == USHER_OK && entry.max > from)
        from = entry.max;
    most = want->limit > from ? (want->limit - from) / 8 : 0;
    if (*ret_n > most)
        *ret_n = n > most ? n : most;
    return USHER_OK;
}

/* Raise the maximum by @n above that of @store, and by some in advance if @ahead.  Install the
 * range in the store. */
static enum usher_status raise_by(ask *a, const struct usher_serial_result *store, int64_t n,
                                  bool ahead)
{
    const struct usher_authority_ops *ops = a->e->authority->ops;
    struct usher_authority_entry entry;
    struct usher_authority_range range;
    struct usher_authority_want want;
    enum usher_status status;

    memset(&want, 0, sizeof want);
    want.noun = USHER_SERIAL;
    want.name = usher__grant_name(a, store->period);
    want.floor = store->granted > store->cur ? store->granted : store->cur;
    want.n = n;
    want.limit = store->left > INT64_MAX - store->cur ? INT64_MAX : store->cur + store->left;
    status = ahead ? bounded(a, &want, n, &want.n) : USHER_OK;
    if (status != USHER_OK)
        return status;
    status = ops->reserve(a->e->authority, &want, a->deadline_ms, &range, a->why);
    if (status == USHER_FULL) { /* nothing is left, and the store has to record that */
        status =
            ops->read(a->e->authority, USHER_SERIAL, &want.name, a->deadline_ms, &entry, a->why);
        range.from = range.to = entry.max;
    }
    if (status != USHER_OK)
        return status;
    if (range.from > want.floor && store->why != USHER_SERIAL_WHY_LOST)
        wait_for_others(a, store, range.from);
    status = install(a, &range, store->period);
    if (status == USHER_UNAVAILABLE && range.to > range.from) { /* the store does not have it */
        char why[192];

        (void)ops->release(a->e->authority, USHER_SERIAL, &want.name, range.from, range.to,
                           a->deadline_ms, why);
    }
    return status;
}

/* ---- once for each rule ------------------------------------------------------------- */

/* Another process with a new grant installs it in less than this. */
#define ON_ITS_WAY_MS 20

/* Update the rule in the authority: it lacks one that was created or changed without it.  If the
 * store has lost grants, the entry may be newer than the store. */
static enum usher_status keep_if_other(ask *a, bool behind)
{
    struct usher_operation c = usher__grant_another(a, USHER_SERIAL_SHOW);
    struct usher_text name = usher__grant_name(a, 0);
    unsigned char packed[USHER__FORM_MAX];
    struct usher_authority_entry entry;
    struct usher_result reply;
    size_t size = 0;
    enum usher_status status = a->e->authority->ops->read(a->e->authority, USHER_SERIAL, &name,
                                                          a->deadline_ms, &entry, a->why);

    if (status == USHER_MISSING)
        entry.data_size = 0;
    else if (status != USHER_OK)
        return status;
    if (behind && entry.data_size != 0)
        return USHER_OK;
    usher__grant_run(a, &c, &reply);
    if (reply.status == USHER_OK && reply.of.serial.n_rows == 1)
        size = form_pack(&reply, packed);
    usher_result_done(&reply);
    if (size == 0 || size > sizeof packed ||
        (size == entry.data_size && memcmp(packed, entry.data, size) == 0))
        return USHER_OK;
    status = keep_rule(a, 0);
    if (status == USHER_OK && entry.data_size != 0) {
        (void)snprintf(a->why, sizeof a->why, "%.*s", (int)a->command->scope.size,
                       a->command->scope.data);
        usher__grant_log(
            a, USHER_LOG_WARNING,
            "the authority had another definition of a rule: that of the store replaces it");
    }
    return status;
}

/* Check whether the store has lost grants, or the authority lacks numbers of the store (a debt). */
static enum usher_status verify(ask *a)
{
    static const struct timespec pause = { 0, ON_ITS_WAY_MS * 1000000L };
    const struct usher_authority_ops *ops = a->e->authority->ops;
    struct usher_authority_entry entry;
    struct usher_authority_range range;
    struct usher_serial_result store;
    struct usher_text name;
    int64_t seen = -1;
    enum usher_status status;

    for (;;) {
        status = look(a, &store);
        if (status == USHER_MISSING)
            return USHER_OK;
        name = usher__grant_name(a, store.period);
        entry.max = 0;
        status = ops->read(a->e->authority, USHER_SERIAL, &name, a->deadline_ms, &entry, a->why);
        if (status != USHER_OK && status != USHER_MISSING)
            return status;
        if (entry.max < issued(&store)) {
            status = raise_by(a, &store, 0, false);
            return status == USHER_OK ? keep_if_other(a, false) : status;
        }
        if (entry.max <= store.granted || entry.max <= store.cur)
            return keep_if_other(a, false);
        if (entry.max == seen)
            break; /* it stays lower: the store has lost grants */
        seen = entry.max;
        (void)nanosleep(&pause, NULL);
    }
    range.from = range.to = entry.max;
    status = keep_if_other(a, true);
    return status == USHER_OK ? install(a, &range, store.period) : status;
}

/* ---- the journal -------------------------------------------------------------------- */

#define EVENTS (USHER_SERIAL_FILLS_MAX + 1)

/* Return the time of the command, or of this machine, which is close enough to that of the
 * store. */
static int64_t time_of(const ask *a)
{
    if ((a->command->given & USHER_GIVEN_NOW) != 0)
        return a->command->now_ms;
    return a->e->opt.now_ms != NULL ? a->e->opt.now_ms(a->e->opt.payload) : usher__wall_ms();
}

/* Return the period of the number in @row: a number that was returned in a past period keeps that
 * period, and its date. */
static int64_t period_of(ask *a, const struct usher_serial_result *n,
                         const struct usher_serial_result_row *row)
{
    struct usher_operation c = usher__grant_another(a, USHER_SERIAL_SHOW);
    int64_t period = n->period;
    struct usher__serial_format f;
    struct usher_result reply;

    if (period == 0 || a->command->verb == USHER_SERIAL_TAKE ||
        !usher__serial_unpack(&row->format, &f))
        return period;
    for (int64_t reset = USHER_SERIAL_RESET_DAY; reset <= USHER_SERIAL_RESET_YEAR; reset++)
        if (usher__serial_period(reset, row->at_ms, f.zone_min) == period)
            return period;
    usher__grant_run(a, &c, &reply); /* find which of them it is */
    if (reply.status == USHER_OK)
        period = usher__serial_period(reply.of.serial.of.settings.reset, row->at_ms, f.zone_min);
    usher_result_done(&reply);
    return period;
}

#define TWICE_LOOKS 10

static void see(void *payload, const struct usher_authority_event *event)
{
    bool *twice = payload;

    *twice = event->twice;
}

/* Log that it was issued or settled before: an error, unless the end of the reservation before is
 * still to be recorded by another engine. */
static void tell_twice(ask *a, const struct usher_authority_event *event)
{
    static const struct timespec pause = { 0, ON_ITS_WAY_MS * 1000000L };
    const struct usher_authority_ops *ops = a->e->authority->ops;
    bool twice = true;

    if (event->verb == USHER_SERIAL_RESERVE && ops->events != NULL) {
        for (int i = 0; i < TWICE_LOOKS && twice; i++) {
            (void)nanosleep(&pause, NULL);
            if (ops->events(a->e->authority, USHER_SERIAL, &event->name, event->row - 1, 1,
                            a->deadline_ms, see, &twice, a->why) != USHER_OK)
                break;
        }
    }
    if (!twice)
        return;
    (void)snprintf(a->why, sizeof a->why, "number %" PRId64, event->first);
    if (event->n > 1)
        (void)snprintf(a->why, sizeof a->why, "of numbers %" PRId64 " to %" PRId64, event->first,
                       event->first + (event->n - 1));
    if (event->period != 0)
        (void)snprintf(a->why + strlen(a->why), sizeof a->why - strlen(a->why),
                       " of period %" PRId64, event->period);
    (void)snprintf(a->why + strlen(a->why), sizeof a->why - strlen(a->why),
                   ", row %" PRIu64 " of the journal", event->row);
    {
        char line[128 + USHER_NAME_MAX];

        (void)snprintf(line, sizeof line, "serial/%.*s: %s a second time", (int)event->name.size,
                       event->name.data,
                       event->verb == USHER_SERIAL_TAKE || event->verb == USHER_SERIAL_RESERVE
                           ? "issued"
                       : event->verb == USHER_SERIAL_CONFIRM ? "confirmed"
                                                             : "ended");
        usher__grant_log(a, USHER_LOG_ERROR, line);
    }
}

static void journal(ask *a, const struct usher_result *reply)
{
    const struct usher_authority_ops *ops = a->e->authority->ops;
    const struct usher_serial_result *n = &reply->of.serial;
    struct usher_authority_event events[EVENTS];
    char texts[EVENTS][USHER_SERIAL_TEXT_MAX + 1];
    /* the row has the date in the serial, which is that of the reservation */
    enum usher_verb verb =
        n->why == USHER_SERIAL_WHY_RENEWED ? USHER_SERIAL_RENEW : a->command->verb;
    bool issues_any = issues(verb);
    bool holds = verb == USHER_SERIAL_RESERVE || verb == USHER_SERIAL_RENEW;
    bool voids = (a->command->given & USHER_GIVEN_SERIAL_DOUBT) != 0;
    int64_t now = issues_any ? 0 : time_of(a);
    uint64_t before = 0;
    size_t k = 0;

    for (; k < n->n_rows && k < EVENTS; k++) {
        struct usher_authority_event *event = &events[k];

        memset(event, 0, sizeof *event);
        event->noun = USHER_SERIAL;
        event->verb = verb;
        event->name = a->command->scope;
        event->period = period_of(a, n, &n->rows[k]);
        event->epoch = reply->epoch;
        event->again = reply->repeated;
        event->first = n->rows[k].first;
        event->n = n->rows[k].n;
        event->now_ms = issues_any ? n->rows[k].at_ms : now;
        event->until_ms = !holds                     ? USHER_NONE
                          : n->rows[k].until_ms == 0 ? USHER_NEVER
                                                     : n->rows[k].until_ms;
        event->version = reply->version;
        if (voids) /* each by a change of its own */
            event->version -= n->n_rows - 1 - k;
        event->owner = n->rows[k].owner;
        event->text.data = texts[k];
        event->text.size = usher_serial_text(reply, before, texts[k], sizeof texts[k]);
        before += (uint64_t)n->rows[k].n;
    }
    usher__asked_journal(a->e, a->deadline_ms); /* reservations that ended before it */
    if (k == 0)
        return;
    if (ops->journal(a->e->authority, events, k, a->deadline_ms, a->why) != USHER_OK) {
        usher__grant_log(a, USHER_LOG_ERROR, "serials were issued that are not in the journal");
        return;
    }
    for (size_t i = 0; i < k; i++)
        if (events[i].twice)
            tell_twice(a, &events[i]);
}

/* ---- commands ----------------------------------------------------------------------- */

static bool changes_rule(const struct usher_operation *c)
{
    const struct usher_serial_args *s = &c->arg.serial;

    return (c->given & ~((uint64_t)USHER_GIVEN_NOW | (uint64_t)USHER_GIVEN_SERIAL_IF_VERSION)) !=
               0 ||
           s->prefix.data != NULL || s->suffix.data != NULL || s->date.data != NULL;
}

/* Return how many numbers the command may need in addition to granted ones. */
static int64_t needs(const struct usher_operation *c)
{
    return (c->given & USHER_GIVEN_SERIAL_N) != 0 ? c->arg.serial.n : 1;
}

static bool needs_grant(const struct usher_result *reply)
{
    return reply->status == USHER_EMPTY && (reply->of.serial.why == USHER_SERIAL_WHY_GRANT ||
                                            reply->of.serial.why == USHER_SERIAL_WHY_LOST);
}

static enum usher_status raise(ask *a, const struct usher_operation *c, struct usher_result *reply)
{
    /* no gap-free numbers in advance, so that a lost store leaves the smallest gap */
    return raise_by(a, &reply->of.serial, needs(c), c->verb != USHER_SERIAL_RESERVE);
}

/* While the authority is away, a take gets only as many as were granted. */
static bool less(ask *a, const struct usher_operation *c, struct usher_result *reply)
{
    struct usher_operation some = *c;

    if (c->verb != USHER_SERIAL_TAKE || reply->of.serial.why != USHER_SERIAL_WHY_GRANT)
        return false;
    some.given |= USHER_GIVEN_SERIAL_DEBT;
    some.arg.serial.debt = 1;
    usher_result_done(reply);
    usher__grant_run(a, &some, reply);
    return !needs_grant(reply);
}

/* Before the rule is created, shown or changed, recreate it if the store has lost it, or numbers
 * would be counted by another period.  *@ret_floor: the number up to which a deleted rule of this
 * name may have issued numbers that the store does not have. */
static enum usher_status before_rule(ask *a, struct usher_operation *c, struct usher_result *reply,
                                     int64_t *ret_floor)
{
    struct usher_operation show = usher__grant_another(a, USHER_SERIAL_SHOW);
    struct usher_text name;
    int64_t known;
    bool there, changes = changes_rule(c);
    struct usher_authority_entry entry;
    enum usher_status status;

    *ret_floor = 0;
    usher__grant_run(a, &show, reply);
    there = reply->status != USHER_MISSING;
    known = there ? 0 : reply->of.serial.granted; /* of a rule that was deleted */
    usher_result_done(reply);
    if (there && !changes)
        return USHER_OK;
    status = there ? usher__grant_reachable(a) : restore(a);
    if (status == USHER_MISSING) {
        name = usher__grant_name(a, 0);
        status = a->e->authority->ops->read(a->e->authority, USHER_SERIAL, &name, a->deadline_ms,
                                            &entry, a->why);
        *ret_floor = status == USHER_OK && entry.max > known ? entry.max : 0;
        status = status == USHER_MISSING ? USHER_OK : status;
    } else if (status == USHER_OK) {
        status = usher__grant_verify(a, &usher__serial_grants, true);
        if (!changes)
            return status;
    }
    if ((c->given & USHER_GIVEN_SERIAL_AUTHORITY) == 0) {
        c->given |= USHER_GIVEN_SERIAL_AUTHORITY;
        c->arg.serial.authority = 1;
    }
    return status;
}

static void execute(ask *a, struct usher_result *reply)
{
    static const struct usher_text nothing = { "", 0 };
    struct usher_operation c = *a->command;
    struct usher_serial_result store;
    int64_t floor = 0;
    enum usher_status status = USHER_OK;

    if (c.verb == USHER_SERIAL_RULE) {
        status = before_rule(a, &c, reply, &floor);
    } else if (c.verb == USHER_SERIAL_SETMAX && usher__grant_reachable(a) != USHER_OK) {
        /* an operator's raise without the authority: see S9 of the specification */
        c.given |= USHER_GIVEN_SERIAL_DEBT;
        c.arg.serial.debt = 1;
    } else if (c.verb == USHER_SERIAL_SETMAXCUR) { /* the authority has to record skipped numbers */
        if (usher__grant_reachable(a) != USHER_OK && look(a, &store) == USHER_OK)
            status = USHER_UNAVAILABLE;
    } else if (c.verb == USHER_SERIAL_DELETE) {
        status = usher__grant_reachable(a);
        if (status == USHER_OK && look(a, &store) == USHER_MISSING &&
            restore(a) == USHER_UNAVAILABLE) /* the entry of a lost rule has to be erased, too */
            status = USHER_UNAVAILABLE;
        if (status == USHER_OK && look(a, &store) == USHER_OK)
            floor = issued(&store);
    } else if (issues(c.verb)) {
        status = usher__grant_verify(a, &usher__serial_grants,
                                     c.verb == USHER_SERIAL_TICK); /* which settles debts */
        /* While the authority is away, earlier grants are used. */
        if (status == USHER_UNAVAILABLE)
            status = USHER_OK;
    }
    if (status != USHER_OK) {
        usher__result_init(reply, USHER_SERIAL, a->e->opt.alloc);
        usher__grant_fail(a, status, reply);
        return;
    }
    usher__grant_until_done(a, &usher__serial_grants, &c, reply);
    if (reply->status != USHER_OK)
        return;
    switch (c.verb) {
    case USHER_SERIAL_RULE:
    case USHER_SERIAL_SETMAX:
    case USHER_SERIAL_SETMAXCUR:
        status = keep_rule(a, floor);
        break;
    case USHER_SERIAL_DELETE: /* a later rule of the name may have other periods */
        status = usher__grant_keep(a, floor, &nothing);
        break;
    case USHER_SERIAL_TAKE:
    case USHER_SERIAL_RESERVE:
    case USHER_SERIAL_CONFIRM:
    case USHER_SERIAL_RETURN:
    case USHER_SERIAL_VOID:
    case USHER_SERIAL_RENEW:
        if (a->e->journal)
            journal(a, reply);
        break;
    default:
        break;
    }
    if (status != USHER_OK) {
        usher__grant_forget(a);
        usher__grant_log(a, USHER_LOG_WARNING, "the authority has an older definition of a rule");
    }
}

/* ---- expired reservations ---------------------------------------------------------------- */

static bool expired(const struct usher_notice *notice, struct usher_authority_event *ret_event)
{
    struct usher_fields f = usher__fields(&notice->data);
    struct usher_text name, digits;
    int64_t number, rank;
    uint64_t version;

    /* another state: the number is in doubt, or lost, and has not ended */
    if (notice->verb != USHER_SERIAL_EXPIRE || notice->to != USHER_SERIAL_STATE_RETURNED)
        return false;
    /* the number, and its rank in its period: see rank_of() */
    if (!usher_fields_next(&f, &name, &digits, &version) ||
        !usher__wide_read(digits.data, digits.size, &number) ||
        !usher__wide_read(notice->subject.data, notice->subject.size, &rank))
        return false;
    memset(ret_event, 0, sizeof *ret_event);
    ret_event->noun = USHER_SERIAL;
    ret_event->verb = USHER_SERIAL_EXPIRE;
    ret_event->name = notice->scope;
    ret_event->first = number;
    ret_event->n = 1;
    ret_event->now_ms = notice->now_ms;
    ret_event->until_ms = USHER_NONE;
    ret_event->period = (rank - number) >> USHER__GAPFREE_BITS;
    ret_event->epoch = notice->epoch;
    ret_event->version = notice->version;
    return true;
}

const struct usher__needs_grant usher__serial_grants = {
    .concerns = concerns,
    .execute = execute,
    .form_reads = form_reads,
    .expired = expired,
    .needs = needs_grant,
    .restore = restore,
    .raise = raise,
    .verify = verify,
    .less = less,
};
