/* SPDX-License-Identifier: MIT */
/*
 * The audit (like fsck) and the digest, both of the items of a store's usher__engine_scan().
 *
 * The lists of a scope are compared with its records by two sums: each entry that a record should
 * have is hashed into one, each entry found into the other.  Equal sums and counts mean equal sets
 * (except with probability 2^-64), so the audit needs no memory for the entries and does not depend
 * on their order.
 *
 * A scope whose lists or counts do not agree with its records is damaged: the store may be able to
 * repair it (repair() of store.h; scopes of memory and SQLite cannot be damaged).
 */
#include "config.h"

#include "engine/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/text.h"
#include "core/verbs.h"
#include "engine/grant.h"
#include "engine/clock.h"
#include "engine/names.h"
#include "engine/scopes.h"
#include "change/memory.h"
#include "change/hooks.h"
#include "change/request_cache.h"
#include "change/work.h"

/* ---- audit ------------------------------------------------------------------------ */

struct tally {
    uint64_t n, sum;
};

#define OPTIONS_MAX 65536 /* `size` of options of a later version */
#define AHEAD_MS 1000     /* how far ahead the last time of a scope may be */

/* A scope with faults that a repair can remove. */
struct damaged {
    enum usher_noun noun;
    uint64_t faults; /* all faults of the scope */
    size_t size;
    char name[USHER_NAME_MAX + 1];
};

struct audit {
    struct usher_engine *e;
    struct damaged *damaged;
    size_t n_damaged, damaged_room;
    uint64_t before; /* faults before the current scope */
    bool is_damaged; /* the current scope is damaged */
    /* By noun: scopes that an index should have, entries that an index has, and entries of an
     * authority. */
    struct usher__names seen[USHER__NOUNS];
    struct usher__names doubted[USHER__NOUNS]; /* their entries differ from the store */
    bool settled;                              /* they are compared again */
    struct usher_check_result found;
    enum usher_status status; /* of the authority: the reason why the audit ends */
    int64_t timeout_ms;       /* of each answer */
    usher_check_fn *fn;
    void *payload;
    bool open; /* there is a current scope */
    char name[USHER_NAME_MAX + 1];
    struct usher_scope scope;
    const struct usher__steps *steps; /* of the scope's noun; NULL: it is not known */
    struct usher__tally tally;
    struct tally should[USHER_KINDS][USHER_SLOTS][2], is[USHER_KINDS][USHER_SLOTS][2];
    uint8_t last_kind;
    size_t last_size;
    char last[USHER_NAME_MAX];
};

#ifdef __GNUC__
#define LIKE_PRINTF __attribute__((format(printf, 2, 3)))
#define LIKE_VPRINTF __attribute__((format(printf, 2, 0)))
#else
#define LIKE_PRINTF
#define LIKE_VPRINTF
#endif

static void tell_line(const struct audit *a, const char *line)
{
    struct usher__inside here;

    usher__callout_begin(&here, a->e);
    a->fn(a->payload, line);
    usher__callout_end(&here);
}

static void tell_list(const struct audit *a, const char *format, va_list ap) LIKE_VPRINTF;
static void tell_list(const struct audit *a, const char *format, va_list ap)
{
    char line[1024];
    int n;

    if (a->fn == NULL)
        return;
    n = snprintf(line, sizeof line, "%s/%s: ", usher_noun_word((enum usher_noun)a->scope.noun),
                 a->name);
    (void)vsnprintf(line + n, sizeof line - (size_t)n, format, ap);
    tell_line(a, line);
}

static void fault(struct audit *a, const char *format, ...) LIKE_PRINTF;
static void fault(struct audit *a, const char *format, ...)
{
    va_list ap;

    a->found.faults++;
    va_start(ap, format);
    tell_list(a, format, ap);
    va_end(ap);
}

/* Report a line that is no fault. */
static void tell(const struct audit *a, const char *format, ...) LIKE_PRINTF;
static void tell(const struct audit *a, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    tell_list(a, format, ap);
    va_end(ap);
}

/* The current scope is complete: remember it if it is damaged. */
static enum usher_status damaged_add(struct audit *a)
{
    struct damaged *t;

    if (!a->is_damaged)
        return USHER_OK;
    a->is_damaged = false;
    if (a->n_damaged == a->damaged_room) {
        size_t room = 2 * a->damaged_room + 4;

        t = usher__resize(a->e->opt.alloc, a->damaged, a->damaged_room * sizeof *t,
                          room * sizeof *t);
        if (t == NULL)
            return USHER_NOMEM;
        a->damaged = t;
        a->damaged_room = room;
    }
    t = &a->damaged[a->n_damaged++];
    t->noun = (enum usher_noun)a->scope.noun;
    t->faults = a->found.faults - a->before;
    t->size = a->scope.name.size;
    memcpy(t->name, a->name, sizeof t->name);
    return USHER_OK;
}

static void audit_done(const struct audit *a)
{
    for (unsigned noun = 0; noun < USHER__NOUNS; noun++) {
        usher__names_done(a->e->opt.alloc, &a->seen[noun]);
        usher__names_done(a->e->opt.alloc, &a->doubted[noun]);
    }
    (void)usher__resize(a->e->opt.alloc, a->damaged, a->damaged_room * sizeof *a->damaged, 0);
}

static uint64_t entry_hash(const struct usher_entry *e)
{
    char bytes[2 * (USHER_NAME_MAX + 1) + 16];
    size_t n = 16;

    memcpy(bytes, &e->hi, 8);
    memcpy(bytes + 8, &e->order, 8);
    memcpy(bytes + n, e->by.data != NULL ? e->by.data : "", e->by.size);
    n += e->by.size;
    bytes[n++] = '\0';
    memcpy(bytes + n, e->id.data, e->id.size);
    return XXH3_64bits(bytes, n + e->id.size);
}

static void tally_add(struct tally *t, const struct usher_entry *e)
{
    t->n++;
    t->sum += entry_hash(e);
}

static const char *const slot_words[USHER_SLOTS] = { "ready", "due", "held" };

static void audit_sums(struct audit *a)
{
    uint64_t before = a->found.faults;

    for (unsigned k = 1; k < USHER_KINDS; k++)
        for (unsigned s = 0; s < USHER_SLOTS; s++)
            for (unsigned by = 0; by < 2; by++)
                if (a->should[k][s][by].n != a->is[k][s][by].n ||
                    a->should[k][s][by].sum != a->is[k][s][by].sum)
                    fault(a,
                          "the %s list of %s records%s and their states disagree: %" PRIu64
                          " entries, %" PRIu64 " records",
                          slot_words[s], usher__kind_word(a->steps, k), by != 0 ? " by text" : "",
                          a->is[k][s][by].n, a->should[k][s][by].n);
    if (usher__scope_dropping(&a->scope))
        return; /* the rest of a dropped scope is not counted */
    for (int i = 0; i < USHER_COUNTS; i++)
        if ((a->steps->counted >> i & 1u) != 0 && a->tally.counts[i] != a->scope.counts[i])
            fault(a, "count %d is %" PRId64 ", but there are %" PRId64, i, a->scope.counts[i],
                  a->tally.counts[i]);
    a->is_damaged = a->is_damaged || a->found.faults > before;
    for (int i = 0; i < 8; i++)
        if (a->tally.sum[i] != a->tally.sums[i])
            fault(a, "parts of sum %d add up to %" PRId64 ", but there are %" PRId64, i,
                  a->tally.sums[i], a->tally.sum[i]);
}

static enum usher_status audit_close(struct audit *a)
{
    if (!a->open)
        return USHER_OK;
    a->open = false;
    if (a->steps != NULL)
        audit_sums(a);
    return damaged_add(a);
}

/* Begin to report about @noun @name. */
static void audit_name(struct audit *a, unsigned noun, const struct usher_text *name)
{
    a->before = a->found.faults;
    a->scope.noun = (uint8_t)noun;
    a->scope.name.size = name->size;
    memcpy(a->name, name->data, name->size);
    a->name[name->size] = '\0';
}

static void authority_failed(struct audit *a, enum usher_status status, const char *why)
{
    usher__message_set("audit: authority: %s", why[0] != '\0' ? why : usher_status_text(status));
    a->status = status;
}

/* Read the entry of @name in the authority; empty if there is none.  Return false if the query
 * failed. */
static bool entry_of(struct audit *a, enum usher_noun noun, const struct usher_text *name,
                     struct usher_authority_entry *ret)
{
    struct usher_authority *authority = a->e->authority;
    char why[192] = "";
    enum usher_status status = authority->ops->read(
        authority, noun, name, usher__monotonic_ms() + a->timeout_ms, ret, why);

    if (status == USHER_MISSING) {
        ret->max = 0;
        ret->data_size = 0;
    } else if (status != USHER_OK) {
        authority_failed(a, status, why);
        return false;
    }
    return true;
}

/* The maximum of an authority never decreases, so the number in the store must be below it now. */
static void audit_granted(struct audit *a, const struct usher_record *r)
{
    enum usher_noun noun = (enum usher_noun)a->scope.noun;
    char name[USHER_AUTHORITY_NAME_MAX + 1];
    struct usher_text text = { name, 0 }, scope = { a->name, strlen(a->name) };
    struct usher_authority_entry entry;
    int64_t period = 0, granted;

    if (a->e->authority == NULL || a->steps == NULL || a->steps->granted == NULL ||
        a->status != USHER_OK)
        return;
    granted = a->steps->granted(&a->scope, r, &period);
    if (granted < 0)
        return;
    text.size = usher__authority_name(name, &scope, period);
    if (entry_of(a, noun, &text, &entry) && granted > entry.max)
        fault(a, "numbers up to %" PRId64 " may be issued, but the authority's maximum is %" PRId64,
              granted, entry.max);
}

/* Compare the scope with its entry in the authority.  The authority is updated after the store, so
 * if they differ they are compared again later. */
static enum usher_status audit_kept(struct audit *a, const struct usher_record *r)
{
    unsigned char form[USHER__FORM_MAX];
    struct usher_text name = { a->name, strlen(a->name) };
    struct usher_authority_entry entry;
    unsigned noun = a->scope.noun;
    size_t size;
    enum usher_status status = USHER_OK;

    if (a->e->authority == NULL || a->steps == NULL || a->steps->kept == NULL ||
        a->status != USHER_OK)
        return USHER_OK;
    if (!a->steps->kept(&a->scope, r, form, &size))
        return USHER_OK;
    if (!a->settled)
        status = usher__names_add(a->e->opt.alloc, &a->seen[noun], &name);
    if (status != USHER_OK || size == 0 || !entry_of(a, (enum usher_noun)noun, &name, &entry) ||
        (size <= sizeof form && entry.data_size == size && memcmp(entry.data, form, size) == 0))
        return status;
    if (!a->settled)
        return usher__names_add(a->e->opt.alloc, &a->doubted[noun], &name);
    if (entry.data_size == 0)
        tell(a, "the authority does not have it yet: the next use adds it");
    else if (!usher__hooks(noun)->grants->form_reads(entry.data, entry.data_size))
        fault(a, "its entry in the authority cannot be read: it could not be created again");
    else
        tell(a, "differs from its entry in the authority: the next use updates the entry");
    return USHER_OK;
}

/* Return whether gaps are in order, disjoint, and of past versions.  A token in a gap is `lost`. */
static bool gaps_are_sane(const struct usher_scope *s)
{
    for (unsigned i = 0; i < s->n_gaps; i++)
        if (s->gaps[i].last >= s->gaps[i].first || s->gaps[i].first > s->version ||
            (i > 0 && s->gaps[i].last < s->gaps[i - 1].first))
            return false;
    return true;
}

/* A machine whose clock was ahead may have written it.  With `clock=given` any time is right. */
static void audit_clock(const struct audit *a, const struct usher_scope *s)
{
    int64_t ahead_ms = s->clock_ms - usher__wall_ms();

    if (ahead_ms > AHEAD_MS && a->e->skew_ms < USHER_TIME_MAX)
        tell(a,
             "its last time is %" PRId64
             " ms ahead of this machine's clock: until then its changes, "
             "days and periods use that time",
             ahead_ms);
}

static enum usher_status audit_scope(struct audit *a, const struct usher_scope *s)
{
    const struct usher__index *index = usher__hooks(s->noun)->index;
    enum usher_status status = audit_close(a);

    if (status != USHER_OK)
        return status;
    a->found.scopes += usher__scope_listed(s);
    memset(&a->tally, 0, sizeof a->tally);
    a->steps = usher__steps(s->noun);
    memset(a->should, 0, sizeof a->should);
    memset(a->is, 0, sizeof a->is);
    a->open = true;
    a->last_kind = 0;
    a->last_size = 0;
    a->scope = *s;
    a->tally.scope = &a->scope;
    audit_name(a, s->noun, &s->name);
    if (a->steps == NULL)
        fault(a, "has an unknown noun: %u", (unsigned)s->noun);
    else if (a->steps->scope_fault(s) != NULL)
        fault(a, "has %s that is not valid", a->steps->scope_fault(s));
    if (s->epoch == 0)
        fault(a, "has no epoch");
    if (s->version == 0 || s->version >= UINT64_C(1) << 53)
        fault(a, "has version %" PRIu64, s->version);
    audit_clock(a, s);
    if (!gaps_are_sane(s))
        fault(a, "its gaps of lost versions overlap, or are out of order");
    if (usher__scope_fault(s->name.data, s->name.size) != NULL)
        fault(a, "its name %s", usher__scope_fault(s->name.data, s->name.size));
    else
        audit_granted(a, NULL);
    if (index != NULL && index->of == s->noun)
        status = usher__names_add(a->e->opt.alloc, &a->seen[s->noun], &s->name);
    return status == USHER_OK ? audit_kept(a, NULL) : status;
}

static void audit_order(struct audit *a, const struct usher_record *r)
{
    size_t n = a->last_size < r->id.size ? a->last_size : r->id.size;
    int order = a->last_kind < r->kind ? -1 : a->last_kind > r->kind;

    if (order == 0)
        order = memcmp(a->last, r->id.data, n);
    if (order == 0)
        order = a->last_size < r->id.size ? -1 : 1;
    if (a->last_kind != 0 && order >= 0)
        fault(a, "record %.*s is out of order, or listed twice", (int)r->id.size, r->id.data);
    a->last_kind = r->kind;
    a->last_size = r->id.size;
    memcpy(a->last, r->id.data, r->id.size);
}

static enum usher_status audit_record(struct audit *a, const struct usher_record *r)
{
    const struct usher__index *index = usher__hooks(a->scope.noun)->index;
    const char *what = r->kind == 0 || r->kind >= USHER_KINDS
                           ? "has an unknown kind"
                           : usher__name_fault(r->id.data, r->id.size);

    if (a->steps == NULL)
        return USHER_OK;
    if (what != NULL) {
        fault(a, "a record %s", what);
        return USHER_OK;
    }
    audit_order(a, r);
    what = a->steps->record_fault(&a->scope, r);
    if (what == NULL && r->kind == USHER_KIND_REQUEST)
        what = usher__kept_fault(&r->data, usher__noun(a->scope.noun));
    if (what != NULL)
        fault(a, "%s %.*s %s", usher__kind_word(a->steps, r->kind), (int)r->id.size, r->id.data,
              what);
    for (unsigned s = 0; s < USHER_SLOTS; s++) {
        const struct usher_text *by = s == 2 ? &r->owner : &r->group;
        struct usher_entry e = { .kind = r->kind, .slot = (uint8_t)s, .order = r->order };

        if ((r->slots >> s & 1u) == 0)
            continue;
        e.id = r->id;
        e.hi = s == 0 ? r->rank : s == 1 ? (uint64_t)r->until_ms : 0;
        tally_add(&a->should[r->kind][s][0], &e);
        e.by = *by;
        if (by->size != 0)
            tally_add(&a->should[r->kind][s][1], &e);
        if (s == 1 && r->until_ms < a->scope.due_ms) {
            fault(a, "%s %.*s is due before the scope's next due time",
                  usher__kind_word(a->steps, r->kind), (int)r->id.size, r->id.data);
            a->is_damaged = true;
        }
    }
    a->steps->tally(&a->tally, r);
    if (what == NULL) {
        enum usher_status status;

        audit_granted(a, r);
        status = audit_kept(a, r);
        if (status != USHER_OK)
            return status;
    }
    return index != NULL && index->in == a->scope.noun && index->is_entry(r)
               ? usher__names_add(a->e->opt.alloc, &a->seen[a->scope.noun], &r->id)
               : USHER_OK;
}

/* Report a fault that the store itself found, also of a scope that cannot be read. */
static enum usher_status audit_fault(struct audit *a, const struct usher_item *item)
{
    enum usher_status status = USHER_OK;

    if (item->scope == NULL) {
        fault(a, "%s", item->fault);
        a->is_damaged = true;
        return USHER_OK;
    }
    status = audit_close(a);
    a->found.scopes +=
        usher__noun(item->scope->noun) == NULL || !usher__noun(item->scope->noun)->hidden;
    audit_name(a, item->scope->noun, &item->scope->name);
    fault(a, "%s", item->fault);
    a->is_damaged = true;
    return status == USHER_OK ? damaged_add(a) : status;
}

static enum usher_status audit_item(void *payload, const struct usher_item *item)
{
    struct audit *a = payload;

    switch (item->kind) {
    case USHER_ITEM_SCOPE:
        return audit_scope(a, item->scope);
    case USHER_ITEM_RECORD:
        return audit_record(a, item->record);
    case USHER_ITEM_FAULT:
        return audit_fault(a, item);
    default: {
        const struct usher_entry *e = item->entry;

        if (e->kind == 0 || e->kind >= USHER_KINDS || e->slot >= USHER_SLOTS ||
            e->by.size > USHER_NAME_MAX || e->id.size > USHER_NAME_MAX) {
            fault(a, "an entry is of an unknown list");
            a->is_damaged = true;
        } else {
            tally_add(&a->is[e->kind][e->slot][e->by.size != 0], e);
        }
        break;
    }
    }
    return USHER_OK;
}

/* ---- repair -------------------------------------------------------------------------- */

static enum usher_status tally_item(void *payload, const struct usher_item *item)
{
    struct audit *a = payload;

    if (item->kind == USHER_ITEM_SCOPE) {
        memset(&a->tally, 0, sizeof a->tally);
        a->steps = usher__steps(item->scope->noun);
        a->scope = *item->scope;
        a->scope.due_ms = INT64_MAX;
        a->tally.scope = &a->scope;
    } else if (item->kind == USHER_ITEM_RECORD && a->steps != NULL) {
        const struct usher_record *r = item->record;

        a->steps->tally(&a->tally, r);
        if ((r->slots & 2u) != 0 && r->until_ms < a->scope.due_ms)
            a->scope.due_ms = r->until_ms;
    }
    return USHER_OK;
}

static void tally_header(void *payload, struct usher_scope *scope)
{
    const struct audit *a = payload;

    for (int i = 0; i < USHER_COUNTS && a->steps != NULL; i++)
        if ((a->steps->counted >> i & 1u) != 0)
            scope->counts[i] = a->tally.counts[i];
    if (a->scope.due_ms < scope->due_ms)
        scope->due_ms = a->scope.due_ms;
}

/* Repair a damaged scope, and check it again: the faults that it no longer has are repaired. */
static enum usher_status repair(struct audit *a, const struct damaged *t)
{
    const struct usher_store_ops *ops = a->e->store->ops;
    struct usher_text name = { t->name, t->size };
    struct audit again;
    char why[192] = "", line[512];
    enum usher_status status =
        ops->repair(a->e->store, t->noun, &name, usher__monotonic_ms() + a->timeout_ms, tally_item,
                    tally_header, a, why);

    if (status == USHER_NOMEM)
        return status;
    if (a->fn != NULL) {
        (void)snprintf(line, sizeof line, "%s/%s: %s%s", usher_noun_word(t->noun), t->name,
                       status != USHER_OK ? "could not be repaired: " : "",
                       why[0] != '\0' ? why : usher_status_text(status));
        tell_line(a, line);
    }
    if (status != USHER_OK)
        return USHER_OK;
    memset(&again, 0, sizeof again);
    again.e = a->e;
    status = usher__engine_scan(a->e, a->timeout_ms, "audit", t->noun, &name, audit_item, &again);
    if (status == USHER_OK)
        status = audit_close(&again);
    if (status == USHER_OK && again.found.faults < t->faults)
        a->found.repaired += t->faults - again.found.faults;
    audit_done(&again);
    return status;
}

static bool is_damaged(const struct audit *a, enum usher_noun noun, const char *name, size_t size)
{
    for (size_t i = 0; i < a->n_damaged; i++)
        if (a->damaged[i].noun == noun && a->damaged[i].size == size &&
            memcmp(a->damaged[i].name, name, size) == 0)
            return true;
    return false;
}

/* ---- indexes ----------------------------------------------------------------------- */

/* The scope called @name was only in the index, or not in it, when they were read: check it now. */
static enum usher_status check_indexed(struct audit *a, enum usher_noun noun,
                                       const unsigned char *name, bool repair)
{
    const struct usher__index *index = usher__hooks(noun)->index;
    struct usher_text text = { (const char *)name + 1, *name };
    char part[USHER_NAME_MAX + 1];
    const char *what;
    bool repaired;
    enum usher_status status = index->check(a->e, &text, repair, &what, &repaired);

    /* a damaged partition does not answer, and is reported already */
    index->part(&text, part);
    if (status == USHER_UNAVAILABLE &&
        (is_damaged(a, noun, text.data, text.size) || is_damaged(a, index->in, part, strlen(part))))
        return USHER_OK;
    if (status != USHER_OK || what == NULL)
        return status;
    a->scope.noun = (uint8_t)noun;
    memcpy(a->name, text.data, text.size);
    a->name[text.size] = '\0';
    fault(a, "%s", what);
    a->found.repaired += repaired;
    return USHER_OK;
}

/* Long enough for a client that has changed the scope and is about to update the index. */
#define SETTLE_NS 100000000

/* Compare the scopes of @noun with their index, which is in other scopes. */
static enum usher_status check_index(struct audit *a, enum usher_noun noun, bool repair)
{
    const struct timespec settle = { 0, SETTLE_NS };
    const struct usher__names *there = &a->seen[noun],
                              *indexed = &a->seen[usher__hooks(noun)->index->in];
    size_t n = there->n + indexed->n, s = 0, i = 0;
    const unsigned char **scopes, **entries;
    bool waited = false;
    enum usher_status status = USHER_OK;

    if (n == 0)
        return USHER_OK;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    scopes = usher__resize(a->e->opt.alloc, NULL, 0, n * sizeof *scopes);
    if (scopes == NULL)
        return USHER_NOMEM;
    entries = scopes + there->n;
    usher__names_list(there, scopes);
    usher__names_list(indexed, entries);
    while (status == USHER_OK && (s < there->n || i < indexed->n)) {
        int order = s == there->n     ? 1
                    : i == indexed->n ? -1
                                      : usher__names_order(&scopes[s], &entries[i]);

        if (order == 0) {
            s++;
            i++;
            continue;
        }
        if (!waited)
            (void)nanosleep(&settle, NULL);
        waited = true;
        status = check_indexed(a, noun, order < 0 ? scopes[s++] : entries[i++], repair);
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    (void)usher__resize(a->e->opt.alloc, scopes, n * sizeof *scopes, 0);
    return status;
}

static enum usher_status check_indexes(struct audit *a, bool repair)
{
    enum usher_status status = USHER_OK;

    for (unsigned noun = 1; noun < USHER__NOUNS && status == USHER_OK; noun++) {
        const struct usher__index *index = usher__hooks(noun)->index;

        if (index == NULL || index->of != noun)
            continue;
        status = check_index(a, (enum usher_noun)noun, repair);
        if (status != USHER_OK)
            usher__message_set("audit: %s: %s", usher_noun_word(index->in),
                               usher_status_text(status));
    }
    return status;
}

/* ---- the authority ------------------------------------------------------------------ */

static enum usher_status kept_item(void *payload, const struct usher_item *item)
{
    struct audit *a = payload;

    if (item->kind == USHER_ITEM_SCOPE) {
        a->scope = *item->scope;
        a->steps = usher__steps(item->scope->noun);
        audit_name(a, item->scope->noun, &item->scope->name);
        return audit_kept(a, NULL);
    }
    return item->kind == USHER_ITEM_RECORD ? audit_kept(a, item->record) : USHER_OK;
}

/* Compare those that differ again, because the authority may just have been updated. */
static enum usher_status check_doubted(struct audit *a)
{
    const struct timespec settle = { 0, SETTLE_NS };
    enum usher_status status = USHER_OK;

    for (unsigned noun = 1; noun < USHER__NOUNS; noun++) {
        const unsigned char *at = a->doubted[noun].bytes;

        if (a->doubted[noun].n > 0 && !a->settled) {
            (void)nanosleep(&settle, NULL);
            a->settled = true;
        }
        for (size_t i = 0; i < a->doubted[noun].n && status == USHER_OK; i++, at += 1 + *at) {
            struct usher_text name = { (const char *)at + 1, *at };

            status = usher__engine_scan(a->e, a->timeout_ms, "audit", (enum usher_noun)noun, &name,
                                        kept_item, a);
            if (status == USHER_OK)
                status = a->status;
        }
    }
    return status;
}

/* Return whether a name in the authority is valid, and begin to report about it. */
static bool is_name(struct audit *a, enum usher_noun noun, const struct usher_text *name)
{
    const char *what =
        name->size > USHER_NAME_MAX ? "is too long" : usher__scope_fault(name->data, name->size);
    struct usher_text none = { "?", 1 };

    audit_name(a, noun, what == NULL ? name : &none);
    if (what != NULL)
        fault(a, "a name of the authority %s", what);
    return what == NULL;
}

static void twice_event(void *payload, const struct usher_authority_event *event)
{
    struct audit *a = payload;

    if (!is_name(a, event->noun, &event->name))
        return;
    if (event->n > 1)
        fault(a,
              "of numbers %" PRId64 " to %" PRId64
              " some were issued or settled a second time: row %" PRIu64 " of the journal",
              event->first, (int64_t)((uint64_t)event->first + (uint64_t)event->n - 1), event->row);
    else
        fault(a,
              "number %" PRId64 " was issued or settled a second time: row %" PRIu64
              " of the journal",
              event->first, event->row);
}

struct lookup {
    struct audit *a;
    const unsigned char **names;
    size_t n;
    enum usher_noun noun;
};

/* An entry that is not in the store: it is recreated with its next use, and continues above the
 * maximum.  So that is no fault; and stores that share an authority have different scopes. */
static void kept_entry(void *payload, const struct usher_text *name,
                       const struct usher_authority_entry *entry)
{
    const struct lookup *l = payload;
    unsigned char key[1 + USHER_NAME_MAX];
    const unsigned char *at = key;

    if (!is_name(l->a, l->noun, name))
        return;
    key[0] = (unsigned char)name->size;
    memcpy(key + 1, name->data, name->size);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    if ((l->n == 0 || bsearch(&at, l->names, l->n, sizeof *l->names, usher__names_order) == NULL) &&
        !is_damaged(l->a, l->noun, name->data, name->size))
        tell(
            l->a,
            "the authority has it and the store does not: its next use creates it again, above %" PRId64,
            entry->max);
}

static enum usher_status check_entries(struct audit *a, enum usher_noun noun)
{
    struct usher_authority *authority = a->e->authority;
    struct lookup l = { a, NULL, a->seen[noun].n, noun };
    /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
    size_t size = l.n * sizeof *l.names;
    char why[192] = "";
    enum usher_status status;

    if (l.n > 0) {
        l.names = usher__resize(a->e->opt.alloc, NULL, 0, size);
        if (l.names == NULL)
            return USHER_NOMEM;
        usher__names_list(&a->seen[noun], l.names);
    }
    status = authority->ops->entries(authority, noun, usher__monotonic_ms() + a->timeout_ms,
                                     kept_entry, &l, why);
    if (status != USHER_OK)
        authority_failed(a, status, why);
    (void)usher__resize(a->e->opt.alloc, l.names, size, 0);
    return status;
}

static enum usher_status check_authority(struct audit *a)
{
    struct usher_authority *authority = a->e->authority;
    char why[192] = "";
    enum usher_status status;

    if (authority == NULL)
        return USHER_OK;
    status = check_doubted(a);
    for (unsigned noun = 1;
         noun < USHER__NOUNS && status == USHER_OK && authority->ops->entries != NULL; noun++)
        if (usher__hooks(noun)->grants != NULL)
            status = check_entries(a, (enum usher_noun)noun);
    if (status != USHER_OK || authority->ops->twice == NULL)
        return status;
    status = authority->ops->twice(authority, usher__monotonic_ms() + a->timeout_ms, twice_event, a,
                                   why);
    if (status != USHER_OK)
        authority_failed(a, status, why);
    return status;
}

/* Write the options @from, which may be shorter or longer than in this version, to *@ret.  Return
 * false if they are not valid. */
static bool options_read(const struct usher_check_options *from, struct usher_check_options *ret)
{
    *ret = (struct usher_check_options)USHER_CHECK_OPTIONS_INIT;
    if (from == NULL)
        return true;
    if (from->size < sizeof from->size || from->size > OPTIONS_MAX)
        return false;
    for (size_t i = sizeof *ret; i < from->size; i++)
        if (((const char *)from)[i] != 0)
            return false;
    memcpy(ret, from, from->size < sizeof *ret ? from->size : sizeof *ret);
    return ret->timeout_ms >= 0 && ret->timeout_ms <= USHER_SPAN_MAX;
}

enum usher_status usher_check(struct usher_engine *e, const struct usher_check_options *opt,
                              usher_check_fn *fn, void *payload,
                              struct usher_check_result *ret_result)
{
    struct usher_check_options o;
    struct audit a;
    char why[256]; /* a part of the store was not read */
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (ret_result == NULL || !options_read(opt, &o)) {
        usher__message_set("check: %s", ret_result == NULL
                                            ? "ret_result is NULL"
                                            : "options are not set by USHER_CHECK_OPTIONS_INIT");
        return USHER_INVALID;
    }
    memset(&a, 0, sizeof a);
    a.e = e;
    a.timeout_ms = o.timeout_ms != 0 ? o.timeout_ms : e->timeout_ms;
    a.fn = fn;
    a.payload = payload;
    status = usher__engine_scan(e, a.timeout_ms, "audit", (enum usher_noun)0, NULL, audit_item, &a);
    if (status == USHER_UNAVAILABLE && a.status == USHER_OK && a.found.scopes > 0 &&
        (e->store->ops->caps & (USHER_CAP_LANES | USHER_CAP_REPLICAS)) != 0) {
        a.found.partial = true;
        (void)snprintf(why, sizeof why, "%s", usher_message());
        status = USHER_OK;
    }
    if (status == USHER_OK)
        status = a.status;
    if (status == USHER_OK)
        status = audit_close(&a);
    for (size_t i = 0;
         i < a.n_damaged && status == USHER_OK && o.repair && e->store->ops->repair != NULL; i++)
        status = repair(&a, &a.damaged[i]);
    /* a missing room may be in the part that was not read */
    if (status == USHER_OK && !a.found.partial)
        status = check_indexes(&a, o.repair);
    if (status == USHER_OK && !a.found.partial)
        status = check_authority(&a);
    audit_done(&a);
    if (status == USHER_OK)
        *ret_result = a.found;
    if (status == USHER_OK && a.found.partial) {
        usher__message_set("%s", why);
        status = USHER_UNAVAILABLE;
    }
    return status;
}
