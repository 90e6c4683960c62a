/* SPDX-License-Identifier: MIT */
/*
 * Serials with an authority.
 *
 * A store gives out nothing that it was not granted: a command that needs more is answered
 * `empty` with WHY_GRANT, or WHY_LOST where the store sees itself that it may be behind (Redis:
 * another server than the one grants were installed on).  Nothing was given out then.  The
 * authority is raised, the store is told by `grant`, and the command is sent again.  `grant`
 * compares: a range that begins above what the store knows of shows that the store is behind,
 * and it goes on above.
 *
 * Once for each rule an engine compares the authority with the store by itself: a file that was
 * restored from a copy looks the same to SQLite.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <usher/authority.h>

#include "core/pack.h"
#include "core/serial.h"
#include "core/text.h"
#include "engine/engine.h"
#include "engine/reply.h"
#include "engine/serial.h"

/* Numbers reserved in advance, besides those that are asked for: what one commit of the
 * authority is good for, and what is lost with a store at most. */
#define AHEAD 1000
/* How often a command is sent again when others use up what was granted for it. */
#define TRIES 16

struct ask {
    struct usher_engine *e;
    const struct usher_command *command;
    int64_t deadline_ms;
    char name[USHER_AUTHORITY_NAME_MAX + 1]; /* of the rule at the authority */
    size_t name_size;
    char why[192];
};

bool usher__serial_asks(const struct usher_command *command)
{
    switch (command->verb) {
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
    case USHER_SERIAL_DELETE:
    case USHER_SERIAL_SHOW:
    case USHER_SERIAL_CHECK:
        return true;
    default:
        return false;
    }
}

/* Does it give numbers out? */
static bool issues(enum usher_verb verb)
{
    return verb == USHER_SERIAL_TAKE || verb == USHER_SERIAL_FILL || verb == USHER_SERIAL_TICK ||
           verb == USHER_SERIAL_RESERVE;
}

/* Each period has a maximum of its own. */
static struct usher_text name_in(struct ask *a, int64_t period)
{
    const struct usher_text *scope = &a->command->scope;
    struct usher_text name = { a->name, scope->size };

    memcpy(a->name, scope->data, scope->size);
    if (period != 0)
        name.size += (size_t)snprintf(a->name + scope->size, sizeof a->name - scope->size,
                                      "@%" PRId64, period);
    return name;
}

/* That of the rule itself. */
static struct usher_text rule_name(struct ask *a)
{
    return name_in(a, 0);
}

static void run(struct ask *a, const struct usher_command *c, struct usher_reply *reply)
{
    usher__engine_execute(a->e, c, reply, a->e->waits ? a->deadline_ms : 0);
}

/* A command on the same rule at the same time. */
static struct usher_command another(const struct ask *a, enum usher_verb verb)
{
    struct usher_command c;

    memset(&c, 0, sizeof c);
    c.verb = verb;
    c.scope = a->command->scope;
    c.given = a->command->given & USHER_GIVEN_NOW;
    c.now_ms = a->command->now_ms;
    return c;
}

static void fail(const struct ask *a, enum usher_status status, struct usher_reply *reply)
{
    char line[192];

    (void)snprintf(line, sizeof line, "authority: %.170s",
                   a->why[0] != '\0' ? a->why : usher_status_text(status));
    /* whatever it did, nothing was given out */
    usher_reply_fail(reply, status == USHER_NOMEM ? status : USHER_UNAVAILABLE, line);
}

/* ---- the rule at the authority ------------------------------------------------------ */

#define DATA_FORMAT 1

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static size_t form_pack(const struct usher_reply *reply, unsigned char to[512])
{
    const struct usher_serial_settings *set = &reply->of.serial.of.settings;
    const struct usher_text *format = &reply->of.serial.rows->format;
    struct usher__packer p = { to, 512, 0 };

    usher__pack_array(&p, 11);
    usher__pack_uint(&p, DATA_FORMAT);
    usher__pack_text(&p, format->data, format->size);
    usher__pack_wide(&p, set->start);
    usher__pack_wide(&p, reply->of.serial.max);
    usher__pack_int(&p, set->critical);
    usher__pack_int(&p, set->batch);
    usher__pack_int(&p, set->reset);
    usher__pack_int(&p, set->stamp);
    usher__pack_int(&p, set->mode);
    usher__pack_int(&p, set->lease_ms);
    usher__pack_int(&p, set->requests);
    return p.n;
}

static bool unpack_big(struct usher_unpacker *u, int64_t *ret)
{
    struct usher_text text;

    return usher_unpack_text(u, &text) && usher__wide_read(text.data, text.size, ret) && *ret >= 0;
}

/* As the arguments of `rule`; texts point into @data. */
static bool form_unpack(const char *data, size_t size, struct usher_command *c)
{
    struct usher_serial_args *s = &c->arg.serial;
    struct usher_unpacker u = { (const unsigned char *)data, (const unsigned char *)data + size };
    struct usher__serial_format f;
    struct usher_text format;
    uint64_t version;
    size_t n;

    if (!usher_unpack_array(&u, &n) || n != 11 || !usher_unpack_uint(&u, &version) ||
        version != DATA_FORMAT || !usher_unpack_text(&u, &format) ||
        !usher__serial_unpack(&format, &f) || !unpack_big(&u, &s->start) ||
        !unpack_big(&u, &s->max) || !usher_unpack_int(&u, &s->critical) ||
        !usher_unpack_int(&u, &s->batch) || !usher_unpack_int(&u, &s->reset) ||
        !usher_unpack_int(&u, &s->stamp) || !usher_unpack_int(&u, &s->mode) ||
        !usher_unpack_int(&u, &s->lease_ms) || !usher_unpack_int(&u, &s->requests))
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
                USHER_GIVEN_SERIAL_ZONE | USHER_GIVEN_SERIAL_AUTHORITY;
    return true;
}

static enum usher_status keep(struct ask *a, const struct usher_text *data)
{
    struct usher_authority_want want;
    struct usher_authority_range range;

    memset(&want, 0, sizeof want);
    want.noun = USHER_SERIAL;
    want.name = rule_name(a);
    want.limit = INT64_MAX;
    want.data = *data;
    return a->e->authority->ops->reserve(a->e->authority, &want, a->deadline_ms, &range, a->why);
}

/* Have the authority keep the rule as it is in the store now. */
static enum usher_status keep_rule(struct ask *a)
{
    struct usher_command c = another(a, USHER_SERIAL_SHOW);
    struct usher_reply reply;
    unsigned char packed[512];
    struct usher_text data = { (const char *)packed, 0 };
    enum usher_status status = USHER_OK;

    run(a, &c, &reply);
    if (reply.status == USHER_OK && reply.of.serial.n_rows == 1 &&
        reply.of.serial.of.settings.authority != 0) {
        data.size = form_pack(&reply, packed);
        if (data.size <= sizeof packed)
            status = keep(a, &data);
    }
    usher_reply_done(&reply);
    return status;
}

/* The store has no such rule: make it again, if the authority keeps it.  MISSING. */
static enum usher_status restore(struct ask *a)
{
    struct usher_command c = another(a, USHER_SERIAL_RULE);
    struct usher_text name = rule_name(a);
    struct usher_authority_entry entry;
    struct usher_reply reply;
    enum usher_status status = a->e->authority->ops->read(a->e->authority, USHER_SERIAL, &name,
                                                          a->deadline_ms, &entry, a->why);

    if (status != USHER_OK)
        return status;
    if (entry.data_size == 0)
        return USHER_MISSING; /* deleted, or known to others only */
    if (!form_unpack(entry.data, entry.data_size, &c)) {
        (void)snprintf(a->why, sizeof a->why, "the rule that it keeps cannot be read");
        return USHER_UNAVAILABLE;
    }
    run(a, &c, &reply);
    status = reply.status == USHER_SAME ? USHER_OK : reply.status;
    if (status != USHER_OK)
        (void)snprintf(a->why, sizeof a->why, "the rule cannot be made again: %.120s",
                       reply.message);
    usher_reply_done(&reply);
    return status == USHER_OK ? status : USHER_UNAVAILABLE;
}

/* ---- grants ------------------------------------------------------------------------- */

static enum usher_status install(struct ask *a, const struct usher_authority_range *range,
                                 int64_t period)
{
    struct usher_command c = another(a, USHER_SERIAL_GRANT);
    struct usher_reply reply;
    enum usher_status status;

    c.given |= USHER_GIVEN_SERIAL_FROM | USHER_GIVEN_SERIAL_TO | USHER_GIVEN_SERIAL_PERIOD;
    c.arg.serial.from = range->from;
    c.arg.serial.to = range->to;
    c.arg.serial.period = period;
    run(a, &c, &reply);
    status = reply.status;
    if (status > USHER_FULL && status != USHER_STALE) /* stale: another period has begun */
        (void)snprintf(a->why, sizeof a->why, "%.180s", reply.message);
    else
        status = USHER_OK;
    usher_reply_done(&reply);
    return status;
}

/* Raise the maximum by @n above what @store says and tell the store. */
static enum usher_status raise_by(struct ask *a, const struct usher_serial_reply *store, int64_t n)
{
    const struct usher_authority_ops *ops = a->e->authority->ops;
    struct usher_authority_entry entry;
    struct usher_authority_range range;
    struct usher_authority_want want;
    enum usher_status status;

    memset(&want, 0, sizeof want);
    want.noun = USHER_SERIAL;
    want.name = name_in(a, store->period);
    want.floor = store->granted > store->cur ? store->granted : store->cur;
    want.n = n;
    want.limit = store->left > INT64_MAX - store->cur ? INT64_MAX : store->cur + store->left;
    status = ops->reserve(a->e->authority, &want, a->deadline_ms, &range, a->why);
    if (status == USHER_FULL) { /* nothing is left, and the store has to know it */
        status =
            ops->read(a->e->authority, USHER_SERIAL, &want.name, a->deadline_ms, &entry, a->why);
        range.from = range.to = entry.max;
    }
    return status == USHER_OK ? install(a, &range, store->period) : status;
}

/* ---- once for each rule ------------------------------------------------------------- */

static uint64_t verified_hash(const struct usher_text *scope)
{
    uint64_t hash = XXH3_64bits(scope->data, scope->size);

    return hash != 0 ? hash : 1;
}

static bool verified(struct usher_engine *e, uint64_t hash)
{
    for (unsigned i = 0; i < USHER__VERIFIED; i++)
        if (atomic_load_explicit(&e->verified[i], memory_order_relaxed) == hash)
            return true;
    return false;
}

/* Is the store behind the authority, or the authority behind the store (a debt)? */
static enum usher_status verify(struct ask *a)
{
    const struct usher_authority_ops *ops = a->e->authority->ops;
    struct usher_command c = another(a, USHER_SERIAL_SHOW);
    struct usher_authority_entry entry;
    struct usher_authority_range range;
    struct usher_serial_reply store;
    struct usher_reply reply;
    struct usher_text name;
    bool there;
    enum usher_status status;

    run(a, &c, &reply);
    there = reply.status == USHER_OK && reply.of.serial.of.settings.authority != 0;
    store = reply.of.serial;
    usher_reply_done(&reply);
    if (!there)
        return USHER_OK; /* what is wrong will be seen by the command itself */
    name = name_in(a, store.period);
    entry.max = 0;
    status = ops->read(a->e->authority, USHER_SERIAL, &name, a->deadline_ms, &entry, a->why);
    if (status != USHER_OK && status != USHER_MISSING)
        return status;
    if (entry.max < store.granted)
        return raise_by(a, &store, 0);
    if (entry.max == store.granted)
        return USHER_OK;
    range.from = range.to = entry.max;
    return install(a, &range, store.period);
}

static enum usher_status verify_once(struct ask *a, bool again)
{
    uint64_t hash = verified_hash(&a->command->scope);
    enum usher_status status;
    unsigned i;

    if (verified(a->e, hash) && !again)
        return USHER_OK;
    status = verify(a);
    if (status == USHER_OK && !again) {
        i = atomic_fetch_add_explicit(&a->e->verified_next, 1, memory_order_relaxed);
        atomic_store_explicit(&a->e->verified[i % USHER__VERIFIED], hash, memory_order_relaxed);
    }
    return status;
}

/* ---- the journal -------------------------------------------------------------------- */

#define EVENTS (USHER_SERIAL_FILLS_MAX + 1)

static void journal(struct ask *a, const struct usher_reply *reply)
{
    const struct usher_authority_ops *ops = a->e->authority->ops;
    const struct usher_serial_reply *n = &reply->of.serial;
    struct usher_authority_event events[EVENTS];
    char text[USHER_SERIAL_MAX + 1];
    size_t k = 0;

    for (; k < n->n_rows && k < EVENTS; k++) {
        struct usher_authority_event *event = &events[k];

        memset(event, 0, sizeof *event);
        event->noun = USHER_SERIAL;
        event->verb = a->command->verb;
        event->name = name_in(a, n->period);
        event->first = n->rows[k].first;
        event->n = n->rows[k].n;
        event->now_ms = n->rows[k].at_ms;
        event->version = reply->version;
        event->owner = n->rows[k].owner;
        if (n->count == 1) {
            event->text.data = text;
            event->text.size = usher_serial_text(reply, 0, text, sizeof text);
        }
    }
    if (k > 0 && ops->journal(a->e->authority, events, k, a->deadline_ms, a->why) != USHER_OK &&
        a->e->opt.log != NULL) {
        char line[256];

        (void)snprintf(line, sizeof line, "serials were given out that are not in the journal: %s",
                       a->why);
        a->e->opt.log(a->e->opt.payload, USHER_LOG_ERROR, line);
    }
}

/* ---- commands ----------------------------------------------------------------------- */

static bool changes_rule(const struct usher_command *c)
{
    const struct usher_serial_args *s = &c->arg.serial;

    return (c->given & ~(uint32_t)USHER_GIVEN_NOW) != 0 || s->prefix.data != NULL ||
           s->suffix.data != NULL || s->date.data != NULL;
}

/* Is the authority there?  A name that it does not know is fine. */
static enum usher_status reachable(struct ask *a)
{
    struct usher_text name = rule_name(a);
    struct usher_authority_entry entry;
    enum usher_status status = a->e->authority->ops->read(a->e->authority, USHER_SERIAL, &name,
                                                          a->deadline_ms, &entry, a->why);

    return status == USHER_MISSING ? USHER_OK : status;
}

/* How many numbers beyond those granted the command may need. */
static int64_t needs(const struct usher_command *c)
{
    bool given = (c->given & USHER_GIVEN_SERIAL_N) != 0;

    if (c->verb == USHER_SERIAL_RESERVE)
        return 1; /* a lost store leaves a gap: of no more than it must */
    return (given ? c->arg.serial.n : 1) + AHEAD;
}

static void run_to_the_end(struct ask *a, const struct usher_command *c, struct usher_reply *reply)
{
    bool restored = false;

    for (int i = 0; i < TRIES; i++) {
        const struct usher_serial_reply *n = &reply->of.serial;
        enum usher_status status = USHER_OK;
        struct usher_serial_reply store;

        run(a, c, reply);
        if (reply->status == USHER_MISSING && !restored) {
            restored = true;
            status = restore(a);
            if (status == USHER_MISSING)
                return;
        } else if (reply->status == USHER_EMPTY &&
                   (n->why == USHER_SERIAL_WHY_GRANT || n->why == USHER_SERIAL_WHY_LOST)) {
            store = *n;
            status = raise_by(a, &store, needs(c));
        } else {
            return;
        }
        if (status != USHER_OK) {
            fail(a, status, reply);
            return;
        }
        usher_reply_done(reply);
    }
    (void)snprintf(a->why, sizeof a->why, "others use up all that it grants");
    fail(a, USHER_UNAVAILABLE, reply);
}

void usher__serial_execute(struct usher_engine *e, const struct usher_command *command,
                           struct usher_reply *reply)
{
    struct usher_text nothing = { "", 0 };
    struct usher_command c = *command;
    struct ask a;
    enum usher_status status = USHER_OK;

    a.e = e;
    a.command = command;
    a.deadline_ms = usher__monotonic_ms() + e->timeout_ms;
    a.why[0] = '\0';
    if (command->scope.data == NULL || command->scope.size > USHER_NAME_MAX ||
        usher__scope_fault(command->scope.data, command->scope.size) != NULL) {
        run(&a, command, reply); /* which says what is wrong */
        return;
    }
    if (c.verb == USHER_SERIAL_RULE && changes_rule(&c)) {
        struct usher_command show = another(&a, USHER_SERIAL_SHOW);

        if ((c.given & USHER_GIVEN_SERIAL_AUTHORITY) == 0) {
            c.given |= USHER_GIVEN_SERIAL_AUTHORITY;
            c.arg.serial.authority = 1;
        }
        status = reachable(&a);
        if (status == USHER_OK) { /* what the store has lost is there before it is changed */
            run(&a, &show, reply);
            if (reply->status == USHER_MISSING && restore(&a) == USHER_UNAVAILABLE)
                status = USHER_UNAVAILABLE;
            usher_reply_done(reply);
        }
    } else if (c.verb == USHER_SERIAL_SETMAX && reachable(&a) != USHER_OK) {
        /* by hand, for the time being: see S9 of the specification */
        c.given |= USHER_GIVEN_SERIAL_DEBT;
        c.arg.serial.debt = 1;
    } else if (c.verb == USHER_SERIAL_DELETE) {
        status = reachable(&a);
    } else if (issues(c.verb)) {
        status = verify_once(&a, false);
        if (c.verb == USHER_SERIAL_TICK && status == USHER_OK)
            (void)verify_once(&a, true); /* pays debts */
        /* While the authority is away, what was granted before is given out. */
        if (status == USHER_UNAVAILABLE)
            status = USHER_OK;
    }
    if (status != USHER_OK) {
        usher__reply_init(reply, USHER_SERIAL, e->opt.alloc);
        fail(&a, status, reply);
        return;
    }
    run_to_the_end(&a, &c, reply);
    if (reply->status != USHER_OK)
        return;
    switch (c.verb) {
    case USHER_SERIAL_RULE:
    case USHER_SERIAL_SETMAX:
    case USHER_SERIAL_SETMAXCUR:
        status = keep_rule(&a);
        break;
    case USHER_SERIAL_DELETE:
        status = keep(&a, &nothing);
        break;
    case USHER_SERIAL_TAKE:
    case USHER_SERIAL_RESERVE:
    case USHER_SERIAL_CONFIRM:
    case USHER_SERIAL_RETURN:
    case USHER_SERIAL_VOID:
        if (e->journal && e->authority->ops->journal != NULL)
            journal(&a, reply);
        break;
    default:
        break;
    }
    if (status != USHER_OK && e->opt.log != NULL) {
        char line[256];

        (void)snprintf(line, sizeof line, "the authority keeps an older form of a rule: %s", a.why);
        e->opt.log(e->opt.payload, USHER_LOG_WARNING, line);
    }
}
