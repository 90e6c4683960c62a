/* SPDX-License-Identifier: MIT */
/*
 * The log of a scope: the notices of its last changes as records, bounded by a setting, for who
 * asks later (`changes`).  Each is called by its version in 16 digits, stands in slot 0 in order of
 * versions, has the notice in its data and the version before it in n[N_BEFORE].  So what is there
 * has no hole: it begins behind scope.counts[since] and ends with the scope's version.
 *
 * A noun says where it has these numbers (struct usher__log).  Who has a mark, as rooms do, has 52
 * bits of the SHA-1 of its last notice as it stands in the log, in which is the mark of the history
 * before it: so two that have one mark are one, whatever their versions are.  It costs a change
 * some thousand instructions, and is what a replica knows a store by that has lost its tail and
 * gone on under the same versions.
 */
#include "config.h"

#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sha1.h"
#include "core/text.h"
#include "kept.h"

typedef struct usher__work work;
typedef struct usher__change change;

enum { N_BEFORE };

#define ROW_MAX 256 /* bytes of a row of any noun */

/* Of the oldest, each change erases so many at most. */
#define ERASED_MAX 2

/* Pack @n, with its mark, for the log of @w's scope. */
static enum usher_status pack(work *w, struct usher_notice *n, struct usher_text *ret)
{
    struct usher__packer p = { NULL, 0, 0 };
    bool marked = w->steps->log.mark != 0;

    n->mark = marked ? USHER_EXACT_MAX : 0; /* the longest one */
    usher__notice_pack(&p, n);
    p.size = p.n;
    p.to = usher__buffer(w, USHER__LOG_BUFFER, p.n);
    if (p.to == NULL)
        return USHER_NOMEM;
    p.n = 0;
    n->mark = 0;
    usher__notice_pack(&p, n);
    if (marked) {
        n->mark = usher__sha1_52(p.to, p.n);
        p.n--; /* that 0 */
        usher__pack_uint(&p, n->mark);
    }
    ret->data = (const char *)p.to;
    ret->size = p.n;
    return USHER_OK;
}

/* Erase the oldest while there are more than @limit. */
static enum usher_status erase_oldest(work *w, change *c, int64_t limit)
{
    const struct usher__log *log = &w->steps->log;
    int64_t *counts = c->scope->counts, *count = &counts[log->changes];
    struct usher_record old;
    uint64_t behind = (uint64_t)counts[log->since];

    for (int i = 0; i < ERASED_MAX; i++) {
        enum usher_status status;

        if (*count <= limit)
            break;
        status = w->ops->walk(w->txn, &w->scope, log->kind, 0, NULL, 0, behind, false, &old);

        if (status == USHER_MISSING)
            break;
        if (status != USHER_OK)
            return status;
        behind = old.order;
        usher__change_erase(c, &old);
        --*count;
        counts[log->since] = (int64_t)old.order;
    }
    return USHER_OK;
}

enum usher_status usher__log_add(work *w, change *c, struct usher__told *told)
{
    const struct usher__log *log = &w->steps->log;
    int64_t *counts = c->scope->counts, *count = &counts[log->changes];
    int64_t limit = c->scope->settings[log->setting];
    struct usher_notice *n = &told->notice;
    struct usher_record r;
    enum usher_status status;

    if (log->mark != 0)
        n->was = (uint64_t)counts[log->mark];
    if (c->unlogged) {
        if (log->mark != 0)
            counts[log->mark] = 0;
        return USHER_OK;
    }
    /* None is wanted any more.  Until all go at once each change adds one and takes two, so that
     * what is there always ends with the scope's version. */
    if (limit == 0 && *count <= ERASED_MAX)
        return erase_oldest(w, c, limit);
    memset(&r, 0, sizeof r);
    status = pack(w, n, &r.data);
    if (status != USHER_OK)
        return status;
    if (log->mark != 0)
        counts[log->mark] = (int64_t)n->mark;
    if (*count == 0)
        counts[log->since] = (int64_t)n->before;
    r.kind = log->kind;
    r.slots = 1u;
    r.order = n->version;
    r.n[N_BEFORE] = (int64_t)n->before;
    r.id.size = (size_t)snprintf(told->id, sizeof told->id, "%016" PRIu64, r.order);
    r.id.data = told->id;
    usher__change_save(c, &r);
    ++*count;
    return erase_oldest(w, c, limit);
}

enum usher_status usher__log_read(work *w, const struct usher__log_asked *asked, bool *ret_more)
{
    const struct usher__log *log = &w->steps->log;
    uint64_t since = asked->since, shown = usher__scope_shown(w);
    size_t bytes = 0;
    struct usher_record r;
    enum usher_status status;

    *ret_more = false;
    if (!usher__log_kept(w, &w->scope)) {
        (void)usher__say(w->reply, USHER_REFUSED,
                         "no log is kept: with log=N the last N notices are");
        return USHER_OK;
    }
    /* One above the version may be of a scope of the name that is no more, so only where versions
     * were lost it is. */
    if (w->scope.n_gaps > 0 && usher__scope_lost(w, since))
        return usher__say_lost(w, "version");
    if (since < (uint64_t)w->scope.counts[log->since] || since > shown) {
        w->reply->status = USHER_STALE;
        if (since > shown)
            (void)usher__say(w->reply, USHER_STALE, "there is no such version");
        return USHER_OK;
    }
    for (size_t n = 0; (status = w->ops->walk(w->txn, &w->scope, log->kind, 0, NULL, 0, since,
                                              false, &r)) == USHER_OK;
         n++) {
        if (n == asked->max || (n > 0 && bytes >= asked->bytes)) {
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
    struct usher__log_asked asked = { .max = USHER_LIST_DEFAULT, .bytes = SIZE_MAX,
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
        return "is not called by its version";
    if (scope != NULL && r->order <= (uint64_t)scope->counts[log->since])
        return "is older than the log";
    if (r->n[N_BEFORE] < 0 || (uint64_t)r->n[N_BEFORE] >= r->order)
        return "does not follow on a version before it";
    return r->slots != 1u ? "is in no list" : NULL;
}

void usher__log_tally(const struct usher__log *log, struct usher__tally *t,
                      const struct usher_record *r)
{
    t->counts[log->changes]++;
    /* each follows on the one before: so the steps lead from the log's beginning to now */
    t->sum[USHER__LOG_SUM] = (int64_t)t->scope->version - t->scope->counts[log->since];
    usher__tally_add(&t->sums[USHER__LOG_SUM], (int64_t)(r->order - (uint64_t)r->n[N_BEFORE]), 1);
}
