/* SPDX-License-Identifier: MIT */
/* A change is written.  See sqlite.c. */
#include "config.h"

#include "records.h"

#include "history_table.h"

/* Its place among the due ones that are so at the same time; 0: it is not due. */
static uint64_t due_of(const struct usher_record *r)
{
    return (r->slots & 2u) != 0 ? r->order : 0;
}

/* The shortest statement that makes @to of @was (NULL: not known). */
static enum statement change_of(const struct usher_record *was, const struct usher_record *to)
{
    if (was == NULL || !same_text(&was->group, &to->group) || !same_text(&was->data, &to->data))
        return ST_CHANGE_ALL;
    if (was->slots != to->slots || was->rank != to->rank || was->order != to->order ||
        !same_text(&was->owner, &to->owner))
        return was->until_ms == to->until_ms && due_of(was) == due_of(to) ? ST_CHANGE_LISTS
                                                                          : ST_CHANGE_LISTS_DUE;
    return was->until_ms != to->until_ms ? ST_CHANGE_UNTIL : ST_CHANGE_PLAIN;
}

static bool within(int64_t value, int64_t min)
{
    return value >= min && value <= NUMBER_LIMIT;
}

/* A record that usher__records_read_record() would refuse is not written. */
static bool record_fits(const struct usher_record *r)
{
    bool fits = r->kind >= 1 && r->kind < USHER_KINDS && r->slots < 1 << USHER_SLOTS &&
                within((int64_t)r->rank, 0) && within((int64_t)r->order, r->slots != 0 ? 1 : 0) &&
                within((int64_t)r->token, 0) && within(r->until_ms, 0) && r->id.size >= 1 &&
                r->id.size <= USHER_NAME_MAX && r->owner.size <= USHER_NAME_MAX &&
                r->group.size <= USHER_NAME_MAX && r->data.size <= USHER_VALUE_MAX;

    for (int i = 0; i < USHER_NUMBERS; i++)
        fits = fits && within(r->n[i], -NUMBER_LIMIT);
    return fits;
}

static bool scope_fits(const struct usher_scope *s)
{
    bool fits = s->noun >= 1 && s->name.size >= 1 && s->name.size <= USHER_NAME_MAX &&
                s->epoch != 0 && within((int64_t)s->version, 0) && within(s->clock_ms, 0) &&
                (s->due_ms == INT64_MAX || within(s->due_ms, 0));

    for (int i = 0; i < USHER_COUNTS; i++)
        fits = fits && within(s->counts[i], -NUMBER_LIMIT);
    for (int i = 0; i < USHER_SETTINGS; i++)
        fits = fits && within(s->settings[i], -NUMBER_LIMIT);
    fits = fits && within((int64_t)s->writer, 0) && s->n_gaps <= USHER_GAPS;
    return fits;
}

static enum usher_status does_not_fit(struct connection *c)
{
    if (!c->failed)
        usher__sqlite_say(c->message, "a value is too large to be stored");
    c->failed = true;
    return USHER_UNAVAILABLE;
}

/* ---- rank pages ---- */

bool usher__records_is_ranked(unsigned noun, uint8_t kind)
{
    return (usher_kind_flags((enum usher_noun)noun, kind) & USHER_KIND_RANKED) != 0;
}

/* The kind of @noun that has @flag; USHER_KINDS: none has. */
uint8_t usher__records_kind_with(unsigned noun, enum usher_kind_flag flag)
{
    uint8_t kind = 1;

    while (kind < USHER_KINDS && (usher_kind_flags((enum usher_noun)noun, kind) & flag) == 0)
        kind++;
    return kind;
}

/* Does usher__records_rank() have to count it?  It is of such a kind. */
static bool has_rank(const struct usher_record *r)
{
    return r != NULL && (r->slots & 1u) != 0 && r->group.size != 0;
}

/* Store @s of the list of @by: PLACE_ADD, PLACE_CHANGE or, its n not used, PLACE_ERASE. */
static enum usher_status rank_page_write(struct usher_txn *t, enum statement i, int64_t list,
                                         const struct usher_text *by, const struct rank_page *s)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, i, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, s->hi);
    bind_int(st, 4, s->order);
    usher__records_bind_text(st, 5, by);
    if (i != ST_PLACE_ERASE)
        bind_int(st, 6, s->n);
    return usher__records_run_one(&t->c, st);
}

/* The one where (@hi, @order) belongs.  MISSING: it would be before the first. */
static enum usher_status rank_page_find(struct usher_txn *t, int64_t list,
                                        const struct usher_text *by, uint64_t hi, uint64_t order,
                                        struct rank_page *ret)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_PLACE, &st);
    int rc;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, usher__records_as_bound(hi));
    bind_int(st, 4, usher__records_as_bound(order));
    usher__records_bind_text(st, 5, by);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        status = usher__records_read_rank_page(&t->c, st, 0, ret);
    else
        status = rc == SQLITE_DONE ? USHER_MISSING : usher__records_failed(&t->c, rc);
    (void)sqlite3_reset(st);
    return status;
}

/* @s is too long: its second half becomes a rank page of its own. */
static enum usher_status rank_page_cut(struct usher_txn *t, int64_t list,
                                       const struct usher_text *by, struct rank_page *s)
{
    struct rank_page half = { 0, 0, s->n - s->n / 2 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_RANK_FROM, &st);
    bool sound = true;
    int rc = SQLITE_ROW;

    if (status != USHER_OK)
        return status;
    s->n /= 2;
    bind_int(st, 1, list);
    usher__records_bind_text(st, 5, by);
    bind_int(st, 6, s->hi);
    bind_int(st, 7, s->order);
    for (int64_t i = 0; i <= s->n && rc == SQLITE_ROW; i++)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        half.hi = usher__records_read_int(st, 0, 0, NUMBER_LIMIT, &sound);
        half.order = usher__records_read_int(st, 1, 0, NUMBER_LIMIT, &sound);
        if (!sound || (half.hi == s->hi && half.order == s->order))
            status = usher__records_corrupt(&t->c, "an index entry");
    } else {
        status = rc == SQLITE_DONE ? usher__records_corrupt(&t->c, "places and their list disagree")
                                   : usher__records_failed(&t->c, rc);
    }
    (void)sqlite3_reset(st);
    if (status == USHER_OK)
        status = rank_page_write(t, ST_PLACE_CHANGE, list, by, s);
    return status == USHER_OK ? rank_page_write(t, ST_PLACE_ADD, list, by, &half) : status;
}

/* @r has come into its list (@by 1) or left it (-1). */
static enum usher_status rank_page_count(struct usher_txn *t, int64_t list,
                                         const struct usher_record *r, int by)
{
    struct rank_page s = { 0, 0, 1 };
    enum usher_status status = rank_page_find(t, list, &r->group, r->rank, r->order, &s);

    if (status == USHER_MISSING)
        return by > 0 ? rank_page_write(t, ST_PLACE_ADD, list, &r->group, &s)
                      : usher__records_corrupt(&t->c, "places and their list disagree");
    if (status != USHER_OK)
        return status;
    s.n += by;
    if (s.n > RANK_PAGE)
        return rank_page_cut(t, list, &r->group, &s);
    return rank_page_write(t, s.n != 0 ? ST_PLACE_CHANGE : ST_PLACE_ERASE, list, &r->group, &s);
}

/* @was has become @to; NULL: it was, or is, not there. */
static enum usher_status rank_pages_follow(struct usher_txn *t, int64_t list,
                                           const struct usher_record *was,
                                           const struct usher_record *to)
{
    bool left = has_rank(was), comes = has_rank(to);
    enum usher_status status = USHER_OK;

    if (left && comes && was->rank == to->rank && was->order == to->order &&
        same_text(&was->group, &to->group))
        return USHER_OK;
    if (left)
        status = rank_page_count(t, list, was, -1);
    if (status == USHER_OK && comes)
        status = rank_page_count(t, list, to, 1);
    return status;
}

/* Read the stored record of @list. */
static enum usher_status read_again(struct usher_txn *t, int64_t list, const void *ref,
                                    struct usher_record *ret)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_READ, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, row_of(ref));
    status = usher__records_fetch(t, st, list, 0, ret);
    return status == USHER_MISSING ? usher__records_corrupt(&t->c, "a row that was read is missing")
                                   : status;
}

/* ---- */

static enum usher_status record_write(struct usher_txn *t, const struct usher_scope *scope,
                                      const struct usher_write *w)
{
    struct usher_record r = w->record;
    int64_t list = list_of(scope->ref, r.kind);
    bool ranked = usher__records_is_ranked(scope->noun, r.kind);
    const struct usher_record *was = r.ref != NULL ? usher__records_seen(t, r.ref) : NULL;
    struct usher_record old;
    enum statement i;
    sqlite3_stmt *st = NULL;
    enum usher_status status;

    if (r.ref == NULL && w->erase) /* before it was ever stored */
        return USHER_OK;
    if (!w->erase && !record_fits(&r))
        return does_not_fit(&t->c);
    if (ranked && r.ref != NULL) {
        /* its texts stay, but another record may take its place in the cache soon */
        if (was != NULL) {
            old = *was;
        } else {
            memset(&old, 0, sizeof old);
            status = read_again(t, list, r.ref, &old);
            if (status != USHER_OK)
                return status;
        }
        was = &old;
    }
    i = r.ref == NULL ? ST_ADD : w->erase ? ST_ERASE : change_of(was, &r);
    status = usher__records_get(&t->c, i, &st);
    if (status != USHER_OK)
        return status;
    if (i == ST_ADD) {
        bind_int(st, 2, list);
        usher__records_bind_text(st, 13, &r.id);
    } else {
        bind_int(st, 1, row_of(r.ref));
    }
    if (i != ST_ERASE) {
        bind_int(st, 3, r.state);
        bind_int(st, 7, (int64_t)r.token);
        for (int k = 0; k < USHER_NUMBERS; k++)
            bind_int(st, k < 4 ? 9 + k : 13 + k, r.n[k]);
    }
    if (i != ST_ERASE && i != ST_CHANGE_PLAIN && i != ST_CHANGE_LISTS)
        bind_int(st, 8, r.until_ms);
    if (i == ST_ADD || i == ST_CHANGE_LISTS_DUE || i == ST_CHANGE_ALL) {
        if (due_of(&r) != 0)
            bind_int(st, 21, (int64_t)due_of(&r));
        else
            (void)sqlite3_bind_null(st, 21);
    }
    if (i == ST_ADD || i == ST_CHANGE_LISTS || i == ST_CHANGE_LISTS_DUE || i == ST_CHANGE_ALL) {
        bind_int(st, 4, r.slots);
        bind_int(st, 5, (int64_t)r.rank);
        bind_int(st, 6, (int64_t)r.order);
        usher__records_bind_text_or_null(st, 14, &r.owner);
    }
    if (i == ST_ADD || i == ST_CHANGE_ALL) {
        usher__records_bind_text_or_null(st, 15, &r.group);
        if (r.data.size != 0)
            (void)sqlite3_bind_blob(st, 16, r.data.data, (int)r.data.size, SQLITE_STATIC);
        else
            (void)sqlite3_bind_null(st, 16);
    }
    status = usher__records_run_one(&t->c, st);
    if (status == USHER_OK && ranked)
        status = rank_pages_follow(t, list, was, i != ST_ERASE ? &r : NULL);
    if (status != USHER_OK)
        return status;
    usher__records_heads_follow(t, list, was, &r, i == ST_ERASE);
    if (was != NULL)
        usher__records_owner_count(t, list, was, -1);
    if (i != ST_ERASE)
        usher__records_owner_count(t, list, &r, 1);
    if (r.ref != NULL)
        usher__records_seen_drop(t, r.ref);
    if (i == ST_ERASE) {
        usher__records_cached_drop(t, list, &r.id);
        return USHER_OK;
    }
    if (i == ST_ADD) {
        r.ref = ref_of(sqlite3_last_insert_rowid(t->c.db));
        if (r.ref == NULL)
            return usher__records_corrupt(&t->c, "no number is left for a record");
    }
    usher__records_cached_put(t, list, &r);
    return USHER_OK;
}

static enum usher_status scope_add(struct usher_txn *t, struct usher_scope *s)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_SCOPE_ADD, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 2, s->noun);
    usher__records_bind_text(st, 3, &s->name);
    bind_int(st, 4, (int64_t)s->epoch);
    bind_int(st, 5, (int64_t)s->version);
    bind_int(st, 6, s->clock_ms);
    if (s->due_ms != INT64_MAX)
        bind_int(st, 7, s->due_ms);
    else
        (void)sqlite3_bind_null(st, 7);
    for (int i = 0; i < USHER_COUNTS; i++)
        bind_int(st, 8 + i, s->counts[i]);
    for (int i = 0; i < USHER_SETTINGS; i++)
        bind_int(st, 8 + USHER_COUNTS + i, s->settings[i]);
    bind_int(st, 8 + USHER_COUNTS + USHER_SETTINGS, (int64_t)s->writer);
    status = usher__records_run_one(&t->c, st);
    if (status != USHER_OK)
        return status;
    s->ref = ref_of(sqlite3_last_insert_rowid(t->c.db));
    return s->ref != NULL ? USHER_OK
                          : usher__records_corrupt(&t->c, "no number is left for a scope");
}

static enum usher_status scope_erase(struct usher_txn *t, struct usher_scope *s)
{
    struct header *h = usher__records_header_place(t, s->noun, &s->name);
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_SCOPE_ERASE, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, row_of(s->ref));
    status = usher__records_run_one(&t->c, st);
    if (status != USHER_OK)
        return status;
    if (usher__records_header_is(t, h, s->noun, &s->name))
        h->generation = 0;
    s->ref = NULL;
    usher__records_arena_reset(t);
    return USHER_OK;
}

/* A failure on the way leaves the change half made: no usher__records_commit() after that. */
enum usher_status usher__records_write_change(struct usher_txn *t, struct usher_scope *s,
                                              const struct usher_write *writes, size_t n)
{
    struct usher_scope new = *s;
    struct header *h = usher__records_header_place(t, s->noun, &s->name);
    bool is_new = s->ref == NULL;
    enum usher_status status = USHER_OK;

    if (!scope_fits(s))
        return does_not_fit(&t->c);
    if (is_new)
        status = scope_add(t, &new);
    for (size_t i = 0; i < n && status == USHER_OK; i++)
        status = record_write(t, &new, &writes[i]);
    if (status == USHER_OK && s->erase)
        return scope_erase(t, s);
    if (status != USHER_OK)
        return status;
    if (is_new || !usher__records_header_is(t, h, s->noun, &s->name)) {
        status = usher__records_header_put(t, h, &new);
        if (status != USHER_OK)
            return status;
        h->set = h->taken = !is_new;
    } else {
        h->set |= memcmp(h->scope.settings, new.settings, sizeof new.settings) != 0;
        h->taken |= h->scope.writer != new.writer || h->scope.n_gaps != new.n_gaps;
        new.name = h->scope.name;
        h->scope = new;
    }
    h->changed = !is_new;
    s->ref = new.ref;
    usher__records_arena_reset(t);
    return USHER_OK;
}

enum usher_status usher__records_append(struct usher_txn *t, const struct usher_scope *s,
                                        const void *row)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_VISIT_ADD, &st);
    int rc;

    if (status != USHER_OK)
        return status;
    rc = usher__visit_add(st, &s->name, s->epoch, row);
    return rc == SQLITE_DONE ? USHER_OK : usher__records_failed(&t->c, rc);
}
