/* SPDX-License-Identifier: MIT */
/*
 * The log of a scope: the notices of its last changes as records, bounded by a setting, for later
 * reads (`changes`).  The id of a record is its version in 16 digits; it is in slot 0 in order of
 * versions, with the notice in its data and the version before it in n[N_BEFORE].  So the log has
 * no hole: it begins after scope.counts[since] and ends with the scope's version.
 *
 * A noun defines the places of these numbers (struct usher__log).  A noun with a mark, such as
 * rooms, has 52 bits of the SHA-1 of its last notice as stored, which contains the mark of the
 * history before it.  So two histories with the same mark are the same, whatever their versions
 * are.  It costs a change some thousand instructions, and a replica detects by it a store that has
 * lost its last changes and continued with the same versions.
 */
#include "config.h"

#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sha1.h"
#include "core/text.h"
#include "request_cache.h"

typedef struct usher__work work;
typedef struct usher__change change;

#define RECORDS_DEF "core/common_records.def"
#include "record_names.h"

#define ROW_MAX 512 /* maximum size of a row of any noun */

/* The maximum number of the oldest records that a notice erases. */
#define ERASED_MAX 2

/* Pack @n for the log of @w's scope, with its mark. */
static enum usher_status pack(work *w, unsigned buffer, struct usher_notice *n,
                              struct usher_text *ret)
{
    struct usher__packer p = { NULL, 0, 0 };
    bool marked = w->steps->log.mark != 0;

    n->mark = marked ? USHER_EXACT_MAX : 0; /* the longest one */
    usher__notice_pack(&p, n);
    p.size = p.n;
    p.to = usher__buffer(w, buffer, p.n);
    if (p.to == NULL)
        return USHER_NOMEM;
    p.n = 0;
    n->mark = 0;
    usher__notice_pack(&p, n);
    if (marked) {
        n->mark = usher__sha1_52(p.to, p.n);
        p.n--; /* the 0 */
        usher__pack_uint(&p, n->mark);
    }
    ret->data = (const char *)p.to;
    ret->size = p.n;
    return USHER_OK;
}

/* Erase the oldest @n stored ones. */
static enum usher_status erase_oldest(work *w, change *c, int64_t n)
{
    const struct usher__log *log = &w->steps->log;
    int64_t *counts = c->scope->counts;
    struct usher_record old;

    for (; n > 0; n--) {
        enum usher_status status = w->ops->walk(w->txn, &w->scope, log->kind, 0, NULL, 0,
                                                (uint64_t)counts[log->since], false, &old);

        if (status != USHER_OK)
            return status == USHER_MISSING ? USHER_OK : status;
        usher__change_erase(c, &old);
        counts[log->changes]--;
        counts[log->since] = (int64_t)old.order;
    }
    return USHER_OK;
}

/* Add notice @i of @c. */
static enum usher_status add(work *w, change *c, size_t i)
{
    const struct usher__log *log = &w->steps->log;
    int64_t *counts = c->scope->counts;
    struct usher__pending_notice *told = &c->told[i];
    struct usher_notice *n = &told->notice;
    struct usher_record r;
    enum usher_status status;

    memset(&r, 0, sizeof r);
    status = pack(w, USHER__LOG_BUFFER + (unsigned)i, n, &r.data);
    if (status != USHER_OK)
        return status;
    if (log->mark != 0)
        counts[log->mark] = (int64_t)n->mark;
    if (w->steps->log_total != 0)
        counts[w->steps->log_total]++;
    if (counts[log->changes]++ == 0)
        counts[log->since] = (int64_t)n->before;
    r.kind = log->kind;
    r.slots = 1u;
    r.order = n->version;
    r.n[N_BEFORE] = (int64_t)n->before;
    r.id.size = (size_t)snprintf(told->id, sizeof told->id, "%016" PRIu64, r.order);
    r.id.data = told->id;
    usher__change_save(c, &r);
    return USHER_OK;
}

/*
 * Each notice is appended, then up to ERASED_MAX of the oldest are erased while there are more than
 * the setting.  If the setting is 0 and that few are left, these are erased and the notice is not
 * stored: so the log always ends with the scope's version.
 *
 * If several are written at once, one that is not stored yet may have to be left out, so the ones
 * that will stay are counted first.
 */
enum usher_status usher__log_add(work *w, change *c)
{
    const struct usher__log *log = &w->steps->log;
    int64_t *counts = c->scope->counts, limit = c->scope->settings[log->setting];
    int64_t stored = counts[log->changes], n = stored, gone = 0;
    size_t come[USHER__TOLD_MAX], n_come = 0;
    enum usher_status status;

    if (log->mark != 0)
        c->told[0].notice.was = (uint64_t)counts[log->mark];
    if (c->unlogged) {
        if (log->mark != 0)
            counts[log->mark] = 0;
        return USHER_OK;
    }
    for (size_t i = 0; i <= c->n_told; i++) {
        if (limit == 0 && n <= ERASED_MAX) {
            gone += n;
            n = 0;
            continue;
        }
        come[n_come++] = i;
        n++;
        for (int k = 0; k < ERASED_MAX && n > limit; k++) {
            n--;
            gone++;
        }
    }
    status = erase_oldest(w, c, gone < stored ? gone : stored);
    for (size_t i = 0; i < n_come && status == USHER_OK; i++) {
        if (stored + (int64_t)i >= gone)
            status = add(w, c, come[i]);
        else
            counts[log->since] = (int64_t)c->told[come[i]].notice.version;
    }
    return status;
}

enum usher_status usher__log_read(work *w, const struct usher__log_asked *asked, bool *ret_more)
{
    const struct usher__log *log = &w->steps->log;
    uint64_t since = asked->since, shown = usher__scope_public_version(w);
    size_t bytes = 0;
    struct usher_record r;
    enum usher_status status;

    *ret_more = false;
    if (usher__other_version(w))
        return USHER_OK;
    if (!usher__log_kept(w, &w->scope)) {
        (void)usher__say(w->reply, USHER_REFUSED,
                         "there is no change log: set log=N to keep the last N changes");
        return USHER_OK;
    }
    /* A higher version may be of an earlier scope of the name, so it is lost only if the store has
     * a record of lost versions. */
    if (w->scope.n_gaps > 0 && usher__scope_version_lost(w, since))
        return usher__say_lost(w, "version");
    if (since < (uint64_t)w->scope.counts[log->since] || since > shown) {
        w->reply->status = USHER_STALE;
        if (since > shown)
            (void)usher__say(w->reply, USHER_STALE, "the version does not exist yet");
        return USHER_OK;
    }
    for (size_t n = 0; (status = w->ops->walk(w->txn, &w->scope, log->kind, 0, NULL, 0, since,
                                              false, &r)) == USHER_OK;
         n++) {
        if (n == asked->max || n == USHER_PAGE_MAX || (n > 0 && bytes >= asked->bytes)) {
            *ret_more = true;
            break;
        }
        since = r.order;
        bytes += r.data.size;
        status = asked->row(w, &r);
        if (status != USHER_OK)
            return status;
    }
    if (asked->ret_bytes != NULL)
        *asked->ret_bytes = bytes;
    return status == USHER_MISSING ? USHER_OK : status;
}

static enum usher_status add_notice(work *w, const struct usher_record *r)
{
    const struct usher__noun *noun = usher__noun(w->scope.noun);
    unsigned char row[ROW_MAX];

    USHER_ASSERT(noun->row_size <= sizeof row);
    memset(row, 0, noun->row_size);
    for (unsigned k = 0; k < noun->n_row; k++)
        if (noun->row[k].code == USHER_FIELD_VALUE)
            memcpy(row + noun->row[k].offset, &r->data, sizeof r->data);
    return usher_result_add_row(w->reply, (enum usher_noun)noun->noun, row);
}

enum usher_status usher__log_changes(work *w, uint64_t *ret_since, bool *ret_more)
{
    struct usher__log_asked asked = { .max = USHER_LIST_DEFAULT,
                                      .bytes = SIZE_MAX,
                                      .row = add_notice };
    int64_t value;

    if (w->scope.ref == NULL) {
        w->reply->status = USHER_MISSING;
        return USHER_OK;
    }
    if (usher__operation_number(w->command, USHER_FIELD_SINCE_VERSION, &value))
        asked.since = (uint64_t)value;
    if (usher__operation_number(w->command, USHER_FIELD_MAX, &value))
        asked.max = (size_t)value;
    w->reply->status = USHER_OK;
    *ret_since = (uint64_t)w->scope.counts[w->steps->log.since];
    return usher__log_read(w, &asked, ret_more);
}

const char *usher__log_fault(const struct usher__log *log, const struct usher_scope *scope,
                             const struct usher_record *r)
{
    char id[USHER__LOG_ID];
    struct usher_text text = { id, 0 };

    text.size = (size_t)snprintf(id, sizeof id, "%016" PRIu64, r->order);
    if (!usher__text_equal(&text, &r->id))
        return "is not named by its version";
    if (scope != NULL && r->order <= (uint64_t)scope->counts[log->since])
        return "is older than the log";
    if (r->n[N_BEFORE] < 0 || (uint64_t)r->n[N_BEFORE] >= r->order)
        return "does not follow the version before it";
    return r->slots != 1u ? "is not in its list" : NULL;
}

void usher__log_tally(const struct usher__log *log, struct usher__tally *t,
                      const struct usher_record *r)
{
    t->counts[log->changes]++;
    /* each follows the one before, so the sum of the steps leads from the log's beginning to now */
    t->sum[USHER__LOG_SUM] = (int64_t)t->scope->version - t->scope->counts[log->since];
    usher__tally_add(&t->sums[USHER__LOG_SUM], (int64_t)(r->order - (uint64_t)r->n[N_BEFORE]), 1);
}
