/* SPDX-License-Identifier: MIT */
/* Records, and the lists in which they stand.  See sqlite.c. */
#include "config.h"

#include "records.h"

/* The next record that @st finds; it must stand in @list, and in all of @slots. */
static enum usher_status step(struct connection *c, sqlite3_stmt *st, int64_t list, unsigned slots,
                              struct usher_record *ret_record)
{
    enum usher_status status;
    int rc = sqlite3_step(st);

    if (rc != SQLITE_ROW) {
        memset(ret_record, 0, sizeof *ret_record);
        return rc == SQLITE_DONE ? USHER_MISSING : usher__records_failed(c, rc);
    }
    status = usher__records_read_record(c, st, ret_record);
    if (status == USHER_OK &&
        (sqlite3_column_int64(st, 1) != list || (ret_record->slots & slots) != slots ||
         (slots != 0 && ret_record->order == 0)))
        status = usher__records_corrupt(c, "an index and its table disagree");
    return status;
}

/* The record that the bound @st finds, as step(). */
enum usher_status usher__records_fetch(struct usher_txn *t, sqlite3_stmt *st, int64_t list,
                                       unsigned slots, struct usher_record *ret_record)
{
    struct usher_record r;
    enum usher_status status = step(&t->c, st, list, slots, &r);

    if (status == USHER_OK)
        status = usher__records_keep(t, &r);
    if (status == USHER_OK)
        *ret_record = r;
    (void)sqlite3_reset(st);
    return status;
}

enum usher_status usher__records_find(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, const struct usher_text *id,
                                      struct usher_record *ret_record)
{
    int64_t list = list_of(s->ref, kind);
    const struct cached *c = usher__records_cached_place(t, list, id);
    sqlite3_stmt *st = NULL;
    enum usher_status status;

    if (usher__records_cached_is(t, c, list, id)) {
        struct usher_record r = c->record;

        status = usher__records_keep(t, &r);
        if (status == USHER_OK)
            *ret_record = r;
        return status;
    }
    status = usher__records_get(&t->c, ST_FIND, &st);
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    usher__records_bind_text(st, 3, id);
    status = usher__records_fetch(t, st, list, 0, ret_record);
    if (status == USHER_OK)
        usher__records_cached_put(t, list, ret_record);
    return status;
}

/* ---- the beginnings of lists ---- */

/* Make @f the head of the list, of which nothing is known. */
static void head_begin(struct list_head *f, uint64_t generation, int64_t list,
                       const struct usher_text *by)
{
    f->generation = generation;
    f->list = list;
    f->by = *by;
    (void)usher__records_copy_text(&f->by, f->text);
    f->at = f->n = 0;
    f->want = 1;
}

/* The first record of the list, and the following ones for the next time. */
static enum usher_status head_read(struct usher_txn *t, struct list_head *f, sqlite3_stmt *st,
                                   struct usher_record *ret_record)
{
    struct usher_record r;
    enum usher_status status;

    f->at = f->n = 0;
    while ((status = step(&t->c, st, f->list, 1u, &r)) == USHER_OK) {
        if (f->n == 0) {
            status = usher__records_keep(t, &r);
            if (status != USHER_OK)
                break;
            *ret_record = r;
        }
        if (!usher__records_is_short(&r))
            break;
        f->hi = r.rank;
        f->order = r.order;
        usher__records_cached_fill(&f->records[f->n++], t->generation, f->list, &r);
        if (f->n == f->want)
            break;
    }
    (void)sqlite3_reset(st);
    if (status == USHER_MISSING && f->n != 0)
        status = USHER_OK;
    f->want = f->want * 2 < AHEAD ? f->want * 2 : AHEAD;
    return status;
}

/* The first one among the ready records of @list (@by NULL: of all), which is what @st asks. */
static enum usher_status head_walk(struct usher_txn *t, int64_t list, const struct usher_text *by,
                                   sqlite3_stmt *st, struct usher_record *ret_record)
{
    static const struct usher_text all = { "", 0 };
    const struct usher_text *text = by != NULL ? by : &all;
    struct list_head *f = &t->heads[usher__records_hash_of((uint64_t)list, text) % HEADS];
    struct usher_record r;
    enum usher_status status;

    if (text->size > SHORT)
        return usher__records_fetch(t, st, list, 1u, ret_record);
    if (f->generation != t->generation || f->list != list || !same_text(&f->by, text))
        head_begin(f, t->generation, list, text);
    while (f->at < f->n && f->records[f->at].record.ref == NULL)
        f->at++;
    if (f->at == f->n)
        return head_read(t, f, st, ret_record);
    r = f->records[f->at].record;
    status = usher__records_keep(t, &r);
    if (status == USHER_OK)
        *ret_record = r;
    return status;
}

/* @was (NULL: not known) has become @to, which is stored, or with @gone is not any more. */
void usher__records_heads_follow(struct usher_txn *t, int64_t list, const struct usher_record *was,
                                 const struct usher_record *to, bool gone)
{
    bool left = was == NULL || (was->slots & 1u) != 0, comes = !gone && (to->slots & 1u) != 0;

    for (struct list_head *f = t->heads; f < t->heads + HEADS; f++) {
        if (f->generation != t->generation || f->list != list)
            continue;
        if (comes && (f->by.size == 0 || same_text(&f->by, &to->group)) &&
            (to->rank < f->hi || (to->rank == f->hi && to->order <= f->order)))
            f->generation = 0;
        else if (left)
            for (size_t i = f->at; i < f->n; i++)
                if (f->records[i].record.ref == to->ref)
                    f->records[i].record.ref = NULL;
    }
}

/* ---- what an owner holds ---- */

static bool owner_is(const struct usher_txn *t, const struct owner *o, int64_t list,
                     const struct usher_text *name)
{
    return o->generation == t->generation && o->list == list && o->size == name->size &&
           memcmp(o->name, name->data, name->size) == 0;
}

/* The place of @name, or one that it may have: the first free one of a few, or else one of another
 * owner. */
static struct owner *owner_place(struct usher_txn *t, int64_t list, const struct usher_text *name)
{
    uint32_t hash = usher__records_hash_of((uint64_t)list, name);
    struct owner *free = NULL;

    for (uint32_t i = 0; i < OWNERS_NEAR; i++) {
        struct owner *o = &t->owners[(hash + i) % OWNERS];

        if (owner_is(t, o, list, name))
            return o;
        if (free == NULL && o->generation != t->generation)
            free = o;
    }
    return free != NULL ? free : &t->owners[hash % OWNERS];
}

static void owner_holds_nothing(struct usher_txn *t, struct owner *o, int64_t list,
                                const struct usher_text *name)
{
    if (name->size == 0 || name->size > SHORT_OWNER)
        return;
    o->generation = t->generation;
    o->list = list;
    o->n = 0;
    o->size = (uint32_t)name->size;
    memcpy(o->name, name->data, name->size);
}

/* @r has come to its owner, or may have (@by 1), or has surely left its owner (-1). */
void usher__records_owner_count(struct usher_txn *t, int64_t list, const struct usher_record *r,
                                int by)
{
    struct owner *o;

    if ((r->slots & 4u) == 0 || r->owner.size == 0)
        return;
    o = owner_place(t, list, &r->owner);
    if (!owner_is(t, o, list, &r->owner))
        return;
    if (by > 0)
        o->n++;
    else if (o->n > 0)
        o->n--;
}

/* ---- */

int64_t usher__records_as_bound(uint64_t value)
{
    return value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

enum usher_status usher__records_walk(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, uint8_t slot, const struct usher_text *by,
                                      uint64_t after_hi, uint64_t after_order, bool back,
                                      struct usher_record *ret_record)
{
    /* the others of a list follow in the order of WALKS */
    static const enum statement walks[USHER_SLOTS][2] = {
        { ST_READY, ST_READY_BY },
        { ST_DUE, ST_DUE_BY },
        { ST_HELD, ST_HELD_BY },
    };
    int64_t list = list_of(s->ref, kind);
    unsigned way = back ? 1 : 0;
    struct owner *owner = NULL; /* set if the query is for all that the owner holds */
    sqlite3_stmt *st = NULL;
    enum usher_status status;

    if (slot == 2 && by != NULL && !back && after_hi == 0 && after_order == 0) {
        owner = owner_place(t, list, by);
        if (owner_is(t, owner, list, by) && owner->n == 0)
            return USHER_MISSING;
    }
    if (slot == 2) {
        if (after_hi != 0) { /* all of them are before */
            if (!back)
                return USHER_MISSING;
            after_order = UINT64_MAX;
        }
    } else if (back ? after_hi == UINT64_MAX : after_hi == 0 && after_order == 0) {
        way += 2;
    }
    status =
        usher__records_get(&t->c, (enum statement)((unsigned)walks[slot][by != NULL] + way), &st);
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    if (slot != 2 && way < 2)
        bind_int(st, 3, usher__records_as_bound(after_hi));
    if (slot == 2 || way < 2)
        bind_int(st, 4, usher__records_as_bound(after_order));
    if (by != NULL)
        usher__records_bind_text(st, 5, by);
    if (slot == 0 && way == 2)
        return head_walk(t, list, by, st, ret_record);
    status = usher__records_fetch(t, st, list, 1u << slot, ret_record);
    if (status == USHER_MISSING && owner != NULL)
        owner_holds_nothing(t, owner, list, by);
    return status;
}

enum usher_status usher__records_read_rank_page(struct connection *c, sqlite3_stmt *st, int i,
                                                struct rank_page *ret)
{
    bool sound = true;

    ret->hi = usher__records_read_int(st, i, 0, NUMBER_LIMIT, &sound);
    ret->order = usher__records_read_int(st, i + 1, 0, NUMBER_LIMIT, &sound);
    ret->n = usher__records_read_int(st, i + 2, 1, NUMBER_LIMIT, &sound);
    return sound ? USHER_OK : usher__records_corrupt(c, "a place");
}

/* How many records stand in a list from @from on and before (@hi, @order); more than @max of them
 * are not counted. */
enum usher_status usher__records_count_within(struct connection *c, int64_t list,
                                              const struct usher_text *by,
                                              const struct rank_page *from, int64_t hi,
                                              int64_t order, int64_t max, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(c, ST_RANK, &st);
    int64_t n = 0;
    int rc;

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, hi);
    bind_int(st, 4, order);
    usher__records_bind_text(st, 5, by);
    bind_int(st, 6, from->hi);
    bind_int(st, 7, from->order);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW && n <= max)
        n++;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = usher__records_failed(c, rc);
    (void)sqlite3_reset(st);
    *ret = n;
    return status;
}

/* Those of the rank pages before, and those of its own that stand before it. */
enum usher_status usher__records_rank(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, uint8_t slot, const struct usher_text *by,
                                      uint64_t hi, uint64_t order, uint64_t *ret)
{
    int64_t list = list_of(s->ref, kind), before = 0, within = 0;
    struct rank_page last = { 0, 0, 0 };
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_PLACES, &st);
    int rc = SQLITE_DONE;

    (void)slot;
    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    bind_int(st, 3, usher__records_as_bound(hi));
    bind_int(st, 4, usher__records_as_bound(order));
    usher__records_bind_text(st, 5, by);
    while (status == USHER_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        before += last.n;
        status = usher__records_read_rank_page(&t->c, st, 0, &last);
    }
    if (status == USHER_OK && rc != SQLITE_DONE)
        status = usher__records_failed(&t->c, rc);
    (void)sqlite3_reset(st);
    if (status == USHER_OK && last.n != 0)
        status = usher__records_count_within(&t->c, list, by, &last, usher__records_as_bound(hi),
                                             usher__records_as_bound(order), last.n, &within);
    *ret = (uint64_t)(before + within);
    return status;
}

enum usher_status usher__records_next(struct usher_txn *t, const struct usher_scope *s,
                                      uint8_t kind, const struct usher_text *after,
                                      struct usher_record *ret_record)
{
    int64_t list = list_of(s->ref, kind);
    sqlite3_stmt *st = NULL;
    enum usher_status status = usher__records_get(&t->c, ST_NEXT, &st);

    if (status != USHER_OK)
        return status;
    bind_int(st, 1, list);
    usher__records_bind_text(st, 3, after);
    return usher__records_fetch(t, st, list, 0, ret_record);
}
