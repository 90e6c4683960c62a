/* SPDX-License-Identifier: MIT */
/*
 * An authority as the manager of ids: for dispensers of a store (see grant.h), and for segments in
 * the process.
 *
 * Its maximum of a name counts integers, not ids: a segment of n ids is n * by integers wide, so
 * that every segment begins on the grid of start and by.
 *
 * A managed dispenser answers `empty` if its segment is used up, and if it is on another server or
 * file than the one on which the segment was installed.  `install` compares: a segment that does
 * not follow the current one shows that the store has lost a segment, and the rest of the current
 * one is not issued.
 */
#include "config.h"

#include <usher/store/authority.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/pack.h"
#include "core/text.h"
#include "engine/grant.h"
#include "change/result.h"
#include "nouns/definition.h"

/* ---- as a manager ------------------------------------------------------------------- */

static struct usher_text name_of(const struct usher_ids_authority *of)
{
    struct usher_text name = { of->name, of->name != NULL ? strlen(of->name) : 0 };

    return name;
}

static int64_t by_of(const struct usher_ids_authority *of)
{
    return of->by != 0 ? of->by : 1;
}

/* Find @at, or the first one after it that is @start + k * @by.  Return false if it overflows. */
static bool on_grid(int64_t start, int64_t by, int64_t at, int64_t *ret)
{
    int64_t rest = (at - start) % by;

    if (rest != 0 && at > INT64_MAX - (by - rest))
        return false;
    *ret = rest != 0 ? at + (by - rest) : at;
    return true;
}

static const char *fault_of(const struct usher_ids_authority *of)
{
    if (of->authority == NULL || of->name == NULL ||
        usher__scope_fault(of->name, strlen(of->name)) != NULL)
        return "the authority or the name is NULL, or the name is invalid";
    if (of->by < 0 || of->by > USHER_ID_BY_MAX || of->start < 0 || of->limit < 0)
        return "start, by or limit is out of range";
    return NULL;
}

static enum usher_status reserve(void *payload, int64_t n, int64_t floor, int64_t deadline_ms,
                                 struct usher_id_range *ret, char message[192])
{
    const struct usher_ids_authority *of = payload;
    const char *fault = fault_of(of);
    int64_t by = by_of(of), start = of->start != 0 ? of->start : 1, first;
    struct usher_authority_want want;
    struct usher_authority_range range;
    enum usher_status status;

    if (fault != NULL || n < 1 || n > USHER_ID_N_MAX) {
        (void)snprintf(message, 192, "%s", fault != NULL ? fault : "n is out of range");
        return USHER_INVALID;
    }
    memset(&want, 0, sizeof want);
    want.noun = USHER_ID;
    want.name = name_of(of);
    if (!on_grid(start - 1, by, floor > start ? floor - 1 : start - 1, &want.floor))
        return USHER_FULL;
    want.n = n * by;
    want.limit = of->limit != 0 ? of->limit : USHER_ID_LIMIT_MAX;
    memset(&range, 0, sizeof range);
    status = of->authority->ops->reserve(of->authority, &want, deadline_ms, &range, message);
    if (status != USHER_OK)
        return status;
    /* it is off the grid if a limit has cut the one before short */
    if (range.from == INT64_MAX || !on_grid(start, by, range.from + 1, &first) || first > range.to)
        return USHER_FULL;
    ret->first = first;
    ret->n = (range.to - first) / by + 1; /* one at the limit needs no space after it */
    ret->by = by;
    return USHER_OK;
}

static void release(void *payload, const struct usher_id_range *range)
{
    const struct usher_ids_authority *of = payload;
    struct usher_text name = name_of(of);
    int64_t limit = of->limit != 0 ? of->limit : USHER_ID_LIMIT_MAX, from = range->first - 1;
    char message[192];

    /* a limit has cut the last one short */
    (void)of->authority->ops->release(
        of->authority, USHER_ID, &name, from,
        range->n > (limit - from) / range->by ? limit : from + range->n * range->by,
        usher__monotonic_ms() + USHER_TIMEOUT_DEFAULT, message);
}

struct usher_ids_manager usher_ids_authority_manager(struct usher_ids_authority *of)
{
    struct usher_ids_manager manager = { reserve, release, of };

    return manager;
}

/* ---- for a dispenser of a store ------------------------------------------------------ */

typedef struct usher__ask ask;

static bool concerns(enum usher_verb verb)
{
    switch (verb) {
    case USHER_ID_CREATE:
    case USHER_ID_NEXT:
    case USHER_ID_SET:
    case USHER_ID_SHOW:
    case USHER_ID_DELETE:
        return true;
    default:
        return false;
    }
}

static enum usher_status restore(ask *a)
{
    struct usher_operation c = usher__grant_another(a, USHER_ID_CREATE);
    struct usher_text name = usher__grant_name(a, 0);
    struct usher_authority_entry entry;
    struct usher_result reply;
    enum usher_status status = a->e->authority->ops->read(a->e->authority, USHER_ID, &name,
                                                          a->deadline_ms, &entry, a->why);

    if (status != USHER_OK)
        return status;
    if (entry.data_size == 0)
        return USHER_MISSING; /* deleted, or stored by others only */
    if (!usher__id_form_unpack(entry.data, entry.data_size, &c)) {
        (void)snprintf(a->why, sizeof a->why, "its entry of the dispenser cannot be read");
        return USHER_UNAVAILABLE;
    }
    usher__grant_run(a, &c, &reply);
    status = reply.status;
    if (status > USHER_REFUSED) /* refused: another one was created since */
        (void)snprintf(a->why, sizeof a->why, "the dispenser cannot be created again: %.120s",
                       reply.message);
    usher_result_done(&reply);
    return status <= USHER_REFUSED ? USHER_OK : USHER_UNAVAILABLE;
}

/* Read the dispenser.  MISSING: there is none, or it is not managed. */
static enum usher_status look(ask *a, struct usher_id_result_row *ret_row, uint64_t *ret_epoch)
{
    struct usher_operation c = usher__grant_another(a, USHER_ID_SHOW);
    struct usher_result reply;
    enum usher_status status;

    usher__grant_run(a, &c, &reply);
    status = reply.status;
    if (status == USHER_OK) {
        *ret_row = reply.of.id.rows[0];
        *ret_epoch = reply.epoch;
        status = ret_row->managed != 0 ? USHER_OK : USHER_MISSING;
    } else if (status != USHER_MISSING) {
        (void)snprintf(a->why, sizeof a->why, "%.180s", reply.message);
    }
    usher_result_done(&reply);
    return status;
}

static bool needs(const struct usher_result *reply)
{
    return reply->status == USHER_EMPTY;
}

static enum usher_status segment(ask *a, const struct usher_id_result_row *row, uint64_t epoch,
                                 int64_t n)
{
    struct usher_ids_authority of = { a->e->authority, a->name, row->start, row->by, row->limit };
    struct usher_operation c = usher__grant_another(a, USHER_ID_INSTALL);
    struct usher_text name = usher__grant_name(a, 0);
    struct usher_id_range range;
    struct usher_result reply;
    char digits[17];
    enum usher_status status;

    if (row->max == USHER_ID_LIMIT_MAX)
        return USHER_FULL;
    a->name[name.size] = '\0';
    if (of.start == 0) /* its numbers begin with 1 */
        of.start = of.by;
    status =
        reserve(&of, n > row->step ? n : row->step, row->next > row->max ? row->next : row->max + 1,
                a->deadline_ms, &range, a->why);
    if (status != USHER_OK)
        return status;
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, epoch);
    c.given |= USHER_GIVEN_ID_FIRST | USHER_GIVEN_ID_N | (row->max >= 0 ? USHER_GIVEN_ID_MAX : 0u);
    c.arg.id.epoch.data = digits;
    c.arg.id.epoch.size = 16;
    c.arg.id.first = range.first;
    c.arg.id.n = range.n;
    c.arg.id.max = row->max;
    usher__grant_run(a, &c, &reply);
    status = reply.status;
    if (status == USHER_UNAVAILABLE) /* the store does not have it */
        release(&of, &range);
    if (status > USHER_FULL && status != USHER_STALE && status != USHER_MISSING)
        (void)snprintf(a->why, sizeof a->why, "%.180s", reply.message);
    else
        status = USHER_OK; /* stale: another engine was first; all other statuses are tried */
    usher_result_done(&reply);
    return status;
}

static enum usher_status raise(ask *a, const struct usher_operation *c, struct usher_result *reply)
{
    int64_t n = (c->given & USHER_GIVEN_ID_N) != 0 ? c->arg.id.n : 1;
    struct usher_id_result_row row;
    uint64_t epoch;
    enum usher_status status = look(a, &row, &epoch);

    if (status == USHER_MISSING)
        return USHER_OK; /* deleted since */
    if (status == USHER_OK)
        status = segment(a, &row, epoch, n);
    if (status == USHER_FULL)
        reply->of.id.first = -1;
    return status;
}

/* Store the dispenser of the store in the authority, which must not issue ids below its next
 * one. */
static enum usher_status keep(ask *a, const struct usher_result *reply)
{
    const struct usher_id_result_settings *s = &reply->of.id.of.settings;
    int64_t next = reply->of.id.next;
    unsigned char packed[USHER__FORM_MAX];
    struct usher_text data = { (const char *)packed, usher__id_form_pack(s, packed) };

    if (s->managed == 0)
        return USHER_OK;
    return usher__grant_keep(a, next < 0 ? s->limit : next > 0 ? next - 1 : 0, &data);
}

/* The same if the entry differs: the authority lacks a dispenser that was created or changed
 * without it. */
static enum usher_status keep_if_other(ask *a, const struct usher_authority_entry *entry)
{
    struct usher_operation set = usher__grant_another(a, USHER_ID_SET);
    unsigned char packed[USHER__FORM_MAX];
    struct usher_result reply;
    enum usher_status status = USHER_OK;
    size_t size;

    usher__grant_run(a, &set, &reply);
    if (reply.status == USHER_OK) {
        size = usher__id_form_pack(&reply.of.id.of.settings, packed);
        if (size != entry->data_size || memcmp(packed, entry->data, size) != 0) {
            status = keep(a, &reply);
            if (status == USHER_OK && entry->data_size != 0) {
                (void)snprintf(a->why, sizeof a->why, "%.*s", (int)a->command->scope.size,
                               a->command->scope.data);
                usher__grant_log(a, USHER_LOG_WARNING,
                                 "the authority had another definition of a dispenser: that of "
                                 "the store replaces it");
            }
        }
    }
    usher_result_done(&reply);
    return status;
}

static enum usher_status verify(ask *a)
{
    const struct usher_authority_ops *ops = a->e->authority->ops;
    struct usher_text name = usher__grant_name(a, 0);
    struct usher_authority_entry entry;
    struct usher_authority_range range;
    struct usher_authority_want want;
    struct usher_id_result_row row;
    bool behind;
    uint64_t epoch;
    enum usher_status status = look(a, &row, &epoch);

    if (status == USHER_MISSING)
        return USHER_OK; /* the command itself reports the fault */
    if (status != USHER_OK)
        return status;
    entry.max = 0;
    entry.data_size = 0;
    status = ops->read(a->e->authority, USHER_ID, &name, a->deadline_ms, &entry, a->why);
    behind = row.max >= 0 && row.max < entry.max - (row.by - 1);
    /* if the store has lost changes, the entry may be newer */
    if ((status == USHER_OK || status == USHER_MISSING) && (!behind || entry.data_size == 0))
        status = keep_if_other(a, &entry);
    if (status != USHER_OK)
        return status;
    if (!behind) {
        if (row.max <= entry.max)
            return USHER_OK;
        memset(&want, 0, sizeof want);
        want.noun = USHER_ID;
        want.name = name;
        want.floor = row.max;
        want.limit = INT64_MAX;
        return ops->reserve(a->e->authority, &want, a->deadline_ms, &range, a->why);
    }
    status = segment(a, &row, epoch, 1);
    return status == USHER_FULL ? USHER_OK : status;
}

/* The next id of a dispenser without a segment follows the highest one that the authority has
 * granted under its name: before the dispenser was deleted, or before the store was lost. */
static void tell_next(ask *a, struct usher_result *reply)
{
    struct usher_id_result *r = &reply->of.id;
    struct usher_text name = usher__grant_name(a, 0);
    struct usher_authority_entry entry;
    bool shows = a->command->verb == USHER_ID_SHOW;
    int64_t start = shows ? r->rows[0].start : r->of.settings.start;
    int64_t by = shows ? r->rows[0].by : r->of.settings.by;
    int64_t managed = shows ? r->rows[0].managed : r->of.settings.managed;

    if (managed == 0 || r->max >= 0 || r->next < 0 ||
        a->e->authority->ops->read(a->e->authority, USHER_ID, &name, a->deadline_ms, &entry,
                                   a->why) != USHER_OK ||
        entry.max < r->next || entry.max == INT64_MAX ||
        !on_grid(start, by, entry.max + 1, &r->next))
        return;
    if (shows)
        ((struct usher_id_result_row *)(uintptr_t)r->rows)->next = r->next;
}

static bool form_reads(const char *data, size_t size)
{
    struct usher_operation c;

    memset(&c, 0, sizeof c);
    return usher__id_form_unpack(data, size, &c);
}

static void execute(ask *a, struct usher_result *reply)
{
    static const struct usher_text nothing = { "", 0 };
    struct usher_operation c = *a->command;
    struct usher_operation show = usher__grant_another(a, USHER_ID_SHOW);
    struct usher_id_result_row row;
    uint64_t epoch;
    bool managed = true;
    enum usher_status status = USHER_OK;

    switch (c.verb) {
    case USHER_ID_CREATE:
        if ((c.given & USHER_GIVEN_ID_MANAGED) == 0) {
            c.given |= USHER_GIVEN_ID_MANAGED;
            c.arg.id.managed = 1;
        }
        managed = c.arg.id.managed != 0;
        if (managed)
            status = usher__grant_reachable(a);
        if (managed && status == USHER_OK) { /* a lost dispenser is recreated before */
            usher__grant_run(a, &show, reply);
            if (reply->status == USHER_MISSING && restore(a) == USHER_UNAVAILABLE)
                status = USHER_UNAVAILABLE;
            usher_result_done(reply);
        }
        break;
    case USHER_ID_DELETE:
        status = usher__grant_reachable(a);
        break;
    case USHER_ID_SET: /* the authority has to record skipped ids */
        if ((c.given & USHER_GIVEN_ID_NEXT) != 0 && usher__grant_reachable(a) != USHER_OK &&
            look(a, &row, &epoch) == USHER_OK)
            status = USHER_UNAVAILABLE;
        break;
    case USHER_ID_NEXT:
        status = usher__grant_verify(a, &usher__id_grants, false);
        if (status == USHER_UNAVAILABLE) /* the rest of the segment is issued */
            status = USHER_OK;
        break;
    default:
        break;
    }
    if (status != USHER_OK) {
        usher__result_init(reply, USHER_ID, a->e->opt.alloc);
        usher__grant_fail(a, status, reply);
        return;
    }
    if (managed)
        usher__grant_until_done(a, &usher__id_grants, &c, reply);
    else
        usher__grant_run(a, &c, reply);
    if (reply->status == USHER_OK && (c.verb == USHER_ID_CREATE || c.verb == USHER_ID_SET))
        status = keep(a, reply);
    else if (reply->status == USHER_OK && c.verb == USHER_ID_DELETE)
        status = usher__grant_keep(a, 0, &nothing);
    if (status != USHER_OK) {
        usher__grant_forget(a);
        usher__grant_log(a, USHER_LOG_WARNING,
                         "the authority has an older definition of a dispenser");
    }
    if (USHER_IS_DONE(reply->status) && (c.verb == USHER_ID_CREATE || c.verb == USHER_ID_SHOW))
        tell_next(a, reply);
}

const struct usher__needs_grant usher__id_grants = {
    .concerns = concerns,
    .execute = execute,
    .form_reads = form_reads,
    .needs = needs,
    .restore = restore,
    .raise = raise,
    .verify = verify,
};
