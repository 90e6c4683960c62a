/* SPDX-License-Identifier: MIT */
/*
 * own_store -- a record store of one's own, in a few hundred lines.
 *
 * The store keeps everything in one array of records and searches it from end to end: slow,
 * and plain to see.  A real one (LMDB, PostgreSQL, …) differs in how it finds and keeps
 * records, not in what it has to know, which is nothing about numbers or calls.  The
 * conformance suite of usher runs on it (tests/conformance/on_own_store.c).
 *
 * A transaction works on a copy of the array: commit keeps the copy, rollback drops it.
 *
 *     cc own_store.c $(pkg-config --cflags --libs usher) -o own_store && ./own_store
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <usher/store/store.h>

/* A record, or (kind 0) a scope, with texts of its own. */
struct row {
    char scope[USHER_NAME_MAX + 1]; /* names hold no NUL */
    struct usher_scope head;        /* of a scope */
    struct usher_record record;     /* of a record; its texts are the four below */
    char id[USHER_NAME_MAX + 1], owner[USHER_NAME_MAX + 1], group[USHER_NAME_MAX + 1];
    char *data;
};

struct table {
    struct row **rows;
    size_t n, room;
};

struct own_store {
    struct usher_record_store base;
    struct table table; /* what is committed */
    struct table work;  /* the transaction's copy */
};

static void row_free(struct row *row)
{
    if (row != NULL)
        free(row->data);
    free(row);
}

static void table_done(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        row_free(t->rows[i]);
    free(t->rows);
    memset(t, 0, sizeof *t);
}

/* ---- texts ------------------------------------------------------------------------ */

static struct usher_text text_of(const char *string)
{
    struct usher_text text = { string, strlen(string) };

    return text;
}

static void text_store(char to[USHER_NAME_MAX + 1], const struct usher_text *from)
{
    if (from->size != 0)
        memmove(to, from->data, from->size);
    to[from->size] = '\0';
}

static bool text_is(const char *string, const struct usher_text *text)
{
    return strlen(string) == text->size && memcmp(string, text->data, text->size) == 0;
}

/* The record of @row as the library sees it. */
static void show(const struct row *row, struct usher_record *ret)
{
    *ret = row->record;
    ret->id = text_of(row->id);
    ret->owner = text_of(row->owner);
    ret->group = text_of(row->group);
    ret->data.data = row->data;
    ret->ref = (void *)(uintptr_t)row;
}

/* ---- rows ------------------------------------------------------------------------- */

/* A copy with data of its own. */
static struct row *row_copy(const struct row *old)
{
    struct row *row = malloc(sizeof *row);

    if (row == NULL)
        return NULL;
    *row = *old;
    if (old->data != NULL) {
        row->data = malloc(old->record.data.size);
        if (row->data == NULL) {
            free(row);
            return NULL;
        }
        memcpy(row->data, old->data, old->record.data.size);
    }
    return row;
}

static bool table_add(struct table *t, struct row *row)
{
    if (t->n == t->room) {
        size_t room = t->room * 2 + 16;
        struct row **rows = realloc(t->rows, room * sizeof(struct row *));

        if (rows == NULL)
            return false;
        t->rows = rows;
        t->room = room;
    }
    t->rows[t->n++] = row;
    return true;
}

static bool table_copy(struct table *to, const struct table *from)
{
    memset(to, 0, sizeof *to);
    for (size_t i = 0; i < from->n; i++) {
        struct row *row = row_copy(from->rows[i]);

        if (row == NULL || !table_add(to, row)) {
            row_free(row);
            table_done(to);
            return false;
        }
    }
    return true;
}

static struct row *scope_row(struct table *t, unsigned noun, const struct usher_text *name)
{
    for (size_t i = 0; i < t->n; i++) {
        struct row *row = t->rows[i];

        if (row->record.kind == 0 && row->head.noun == noun && text_is(row->scope, name))
            return row;
    }
    return NULL;
}

static bool in_scope(const struct row *row, const struct usher_scope *scope, uint8_t kind)
{
    return row->record.kind == kind && row->head.noun == scope->noun &&
           text_is(row->scope, &scope->name);
}

static struct row *record_row(struct table *t, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id)
{
    for (size_t i = 0; i < t->n; i++)
        if (in_scope(t->rows[i], scope, kind) && text_is(t->rows[i]->id, id))
            return t->rows[i];
    return NULL;
}

/* ---- the contract of store.h ------------------------------------------------------ */

static struct own_store *store_of(struct usher_txn *txn)
{
    return (struct own_store *)(void *)txn;
}

static enum usher_status begin(struct usher_record_store *s, enum usher_noun noun,
                               const struct usher_text *scope, bool write, int64_t deadline_ms,
                               struct usher_txn **ret_txn)
{
    struct own_store *store = (struct own_store *)s;

    (void)noun, (void)scope, (void)write, (void)deadline_ms;
    if (!table_copy(&store->work, &store->table))
        return USHER_NOMEM;
    *ret_txn = (struct usher_txn *)(void *)store;
    return USHER_OK;
}

static enum usher_status commit(struct usher_txn *txn)
{
    struct own_store *store = store_of(txn);

    table_done(&store->table);
    store->table = store->work;
    memset(&store->work, 0, sizeof store->work);
    return USHER_OK;
}

static void rollback(struct usher_txn *txn)
{
    table_done(&store_of(txn)->work);
}

static enum usher_status scope_find(struct usher_txn *txn, enum usher_noun noun,
                                    const struct usher_text *name, struct usher_scope *ret_scope)
{
    struct row *row = scope_row(&store_of(txn)->work, (unsigned)noun, name);

    if (row == NULL)
        return USHER_MISSING;
    *ret_scope = row->head;
    ret_scope->name = *name;
    ret_scope->ref = store_of(txn); /* anything but NULL: it is stored */
    return USHER_OK;
}

static enum usher_status find(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    struct row *row = record_row(&store_of(txn)->work, scope, kind, id);

    if (row == NULL)
        return USHER_MISSING;
    show(row, ret_record);
    return USHER_OK;
}

/* The first half of the order of a slot: see store.h. */
static uint64_t hi_of(const struct usher_record *r, uint8_t slot)
{
    return slot == 0 ? r->rank : slot == 1 ? (uint64_t)r->until_ms : 0;
}

static bool before(uint64_t hi, uint64_t order, uint64_t than_hi, uint64_t than_order)
{
    return hi != than_hi ? hi < than_hi : order < than_order;
}

static enum usher_status walk(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    struct table *t = &store_of(txn)->work;
    const struct row *best = NULL;

    for (size_t i = 0; i < t->n; i++) {
        const struct row *row = t->rows[i];
        const struct usher_record *r = &row->record;
        uint64_t hi = hi_of(r, slot), best_hi;

        if (!in_scope(row, scope, kind) || (r->slots >> slot & 1u) == 0 ||
            (by != NULL && !text_is(slot == 2 ? row->owner : row->group, by)))
            continue;
        if (back ? !before(hi, r->order, after_hi, after_order)
                 : !before(after_hi, after_order, hi, r->order))
            continue;
        best_hi = best != NULL ? hi_of(&best->record, slot) : 0;
        if (best == NULL || before(hi, r->order, best_hi, best->record.order) != back)
            best = row;
    }
    if (best == NULL)
        return USHER_MISSING;
    show(best, ret_record);
    return USHER_OK;
}

/* The row of @kind with the smallest id greater than @after. */
static enum usher_status rank(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    struct table *t = &store_of(txn)->work;

    *ret = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct row *row = t->rows[i];
        const struct usher_record *r = &row->record;

        if (in_scope(row, scope, kind) && (r->slots >> slot & 1u) != 0 && text_is(row->group, by) &&
            before(hi_of(r, slot), r->order, hi, order))
            ++*ret;
    }
    return USHER_OK;
}

static const struct row *next_row(const struct table *t, const struct usher_scope *scope,
                                  uint8_t kind, const char *after)
{
    const struct row *best = NULL;

    for (size_t i = 0; i < t->n; i++)
        if (in_scope(t->rows[i], scope, kind) && strcmp(t->rows[i]->id, after) > 0 &&
            (best == NULL || strcmp(t->rows[i]->id, best->id) < 0))
            best = t->rows[i];
    return best;
}

static enum usher_status next(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    char id[USHER_NAME_MAX + 1];
    const struct row *row;

    text_store(id, after);
    row = next_row(&store_of(txn)->work, scope, kind, id);
    if (row == NULL)
        return USHER_MISSING;
    show(row, ret_record);
    return USHER_OK;
}

/* A row of its own for @record of @scope, with copies of the texts. */
static struct row *row_of(const struct usher_scope *scope, const struct usher_record *record)
{
    struct row row;

    memset(&row, 0, sizeof row);
    row.record = *record;
    row.head.noun = scope->noun;
    text_store(row.scope, &scope->name);
    text_store(row.id, &record->id);
    text_store(row.owner, &record->owner);
    text_store(row.group, &record->group);
    row.data = record->data.size != 0 ? (char *)(uintptr_t)record->data.data : NULL;
    return row_copy(&row);
}

/* Put @row into the place of the row with the same kind and id, or of a new one. */
static bool put(struct table *t, const struct usher_scope *scope, struct row *row)
{
    struct usher_text id = text_of(row->id);

    for (size_t i = 0; i < t->n; i++) {
        if (in_scope(t->rows[i], scope, row->record.kind) && text_is(t->rows[i]->id, &id)) {
            row_free(t->rows[i]);
            t->rows[i] = row;
            return true;
        }
    }
    return table_add(t, row);
}

static void erase(struct table *t, const struct usher_scope *scope, struct row *row)
{
    struct usher_text id = text_of(row->id);

    for (size_t i = 0; i < t->n; i++) {
        if (in_scope(t->rows[i], scope, row->record.kind) && text_is(t->rows[i]->id, &id)) {
            row_free(t->rows[i]);
            t->rows[i] = t->rows[--t->n];
            break;
        }
    }
    row_free(row);
}

/* A change that fails half-way is undone by the rollback that follows. */
static enum usher_status write_change(struct usher_txn *txn, struct usher_scope *scope,
                                      const struct usher_write *writes, size_t n)
{
    struct table *t = &store_of(txn)->work;
    struct row *rows[USHER_CHANGE_MAX] = { NULL };
    struct row *head = scope_row(t, scope->noun, &scope->name);
    bool done = true;

    /* The texts in @writes may be those of rows that are about to go: copy all first. */
    for (size_t i = 0; i < n && done; i++) {
        rows[i] = row_of(scope, &writes[i].record);
        done = rows[i] != NULL;
    }
    if (done && head == NULL) {
        struct usher_record none = { 0 };

        head = row_of(scope, &none);
        done = head != NULL && table_add(t, head);
        if (!done)
            row_free(head);
    }
    for (size_t i = 0; i < n; i++) {
        if (!done)
            row_free(rows[i]);
        else if (writes[i].erase)
            erase(t, scope, rows[i]);
        else if (!put(t, scope, rows[i])) {
            row_free(rows[i]);
            done = false;
        }
    }
    if (!done)
        return USHER_NOMEM;
    if (scope->erase) {
        size_t i = 0;

        while (t->rows[i] != head)
            i++;
        t->rows[i] = t->rows[--t->n];
        row_free(head);
        scope->ref = NULL;
        return USHER_OK;
    }
    scope->ref = store_of(txn); /* anything but NULL: it is stored */
    head->head = *scope;
    return USHER_OK;
}

static const char *slot_by(const struct row *row, unsigned slot)
{
    return slot == 2 ? row->owner : row->group;
}

/* The lists of this store are no more than what its records say, so that is what it shows. */
static enum usher_status scan_entries(const struct table *t, const struct usher_scope *scope,
                                      usher_scan_fn *fn, void *payload)
{
    enum usher_status status = USHER_OK;

    for (size_t i = 0; i < t->n; i++) {
        const struct row *row = t->rows[i];
        const struct usher_record *r = &row->record;

        for (unsigned slot = 0; slot < USHER_SLOTS && status == USHER_OK; slot++) {
            struct usher_entry entry = { r->kind,     (uint8_t)slot,
                                         { NULL, 0 }, hi_of(r, (uint8_t)slot),
                                         r->order,    text_of(row->id) };
            struct usher_item item = { USHER_ITEM_ENTRY, NULL, NULL, &entry, NULL };

            if (!in_scope(row, scope, r->kind) || (r->slots >> slot & 1u) == 0)
                continue;
            status = fn(payload, &item);
            entry.by = text_of(slot_by(row, slot));
            if (status == USHER_OK && entry.by.size != 0)
                status = fn(payload, &item);
        }
    }
    return status;
}

static enum usher_status scan_scope(const struct table *t, const struct row *head,
                                    usher_scan_fn *fn, void *payload)
{
    struct usher_scope scope = head->head;
    struct usher_item item = { USHER_ITEM_SCOPE, &scope, NULL, NULL, NULL };
    enum usher_status status;

    scope.name = text_of(head->scope);
    status = fn(payload, &item);
    for (unsigned kind = 1; kind < USHER_KINDS; kind++) {
        const struct row *row = next_row(t, &scope, (uint8_t)kind, "");

        for (; row != NULL && status == USHER_OK;
             row = next_row(t, &scope, (uint8_t)kind, row->id)) {
            struct usher_record record;
            struct usher_item shown = { USHER_ITEM_RECORD, NULL, &record, NULL, NULL };

            show(row, &record);
            status = fn(payload, &shown);
        }
    }
    return status == USHER_OK ? scan_entries(t, &scope, fn, payload) : status;
}

static enum usher_status scan(struct usher_record_store *s, enum usher_noun noun,
                              const struct usher_text *scope, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char line[192])
{
    const struct table *t = &((struct own_store *)s)->table;
    enum usher_status status = USHER_OK;

    (void)deadline_ms;
    line[0] = '\0';
    for (size_t i = 0; i < t->n && status == USHER_OK; i++) {
        const struct row *row = t->rows[i];

        if (row->record.kind == 0 && ((unsigned)noun == 0 || row->head.noun == (unsigned)noun) &&
            (scope == NULL || text_is(row->scope, scope)))
            status = scan_scope(t, row, fn, payload);
    }
    return status;
}

/* The order of scopes: by noun, then by name. */
static int compare_scope(const struct row *row, unsigned noun, const char *name)
{
    if (row->head.noun != noun)
        return row->head.noun < noun ? -1 : 1;
    return strcmp(row->scope, name);
}

/* Each scope is the smallest one after the last, which costs O(rows) here. */
static enum usher_status list(struct usher_record_store *s, unsigned nouns,
                              const struct usher_scope *after, int64_t deadline_ms,
                              usher_scan_fn *fn, void *payload, char line[192])
{
    const struct table *t = &((struct own_store *)s)->table;
    char name[USHER_NAME_MAX + 1] = "";
    unsigned noun = 0;
    enum usher_status status = USHER_OK;

    (void)deadline_ms;
    line[0] = '\0';
    if (after != NULL) {
        noun = after->noun;
        text_store(name, &after->name);
    }
    while (status == USHER_OK) {
        const struct row *first = NULL;
        struct usher_scope scope;
        struct usher_item item = { USHER_ITEM_SCOPE, &scope, NULL, NULL, NULL };

        for (size_t i = 0; i < t->n; i++) {
            const struct row *row = t->rows[i];

            if (row->record.kind == 0 && (nouns >> row->head.noun & 1u) != 0 &&
                compare_scope(row, noun, name) > 0 &&
                (first == NULL || compare_scope(row, first->head.noun, first->scope) < 0))
                first = row;
        }
        if (first == NULL)
            break;
        noun = first->head.noun;
        (void)snprintf(name, sizeof name, "%s", first->scope);
        scope = first->head;
        scope.name = text_of(name);
        status = fn(payload, &item);
    }
    return status;
}

static const char *message(struct usher_record_store *s)
{
    (void)s;
    return "";
}

static void close_store(struct usher_record_store *s)
{
    struct own_store *store = (struct own_store *)s;

    table_done(&store->table);
    table_done(&store->work);
    free(store);
}

static const struct usher_record_store_ops own_store_ops = {
    sizeof(struct usher_record_store_ops),
    "own",
    0,
    begin,
    commit,
    rollback,
    scope_find,
    find,
    walk,
    rank,
    next,
    write_change,
    scan,
    list,
    message,
    close_store,
    close_store,
    NULL, /* no history within */
    NULL,
    NULL, /* nothing is fetched ahead */
    NULL, /* nothing is durable */
    NULL, /* there is no more to know of it */
};

/* The driver of `own:`. */
static enum usher_status own_store_open(void *payload, struct usher_url *url,
                                        const struct usher_options *opt, int64_t deadline_ms,
                                        struct usher_store **ret_store, char line[192])
{
    struct own_store *store = calloc(1, sizeof *store);
    enum usher_status status = USHER_NOMEM;

    (void)payload, (void)url, (void)deadline_ms, (void)line;
    if (store == NULL)
        return USHER_NOMEM;
    store->base.ops = &own_store_ops;
    status = usher_local_store(&store->base, opt->alloc, ret_store);
    if (status != USHER_OK)
        close_store(&store->base);
    return status;
}

#ifndef OWN_STORE_IN_TEST
int main(void)
{
    struct usher_driver driver = { "own", own_store_open, NULL, NULL };
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *engine;
    struct usher_number_answer hold = USHER_NUMBER_ANSWER_INIT;
    struct usher_check_result found;

    options.drivers = &driver;
    if (usher_open("own:", &options, &engine) != USHER_OK ||
        usher_number_add(engine, "desk", "+4930123456", NULL, NULL) != USHER_OK ||
        usher_number_reg(engine, "desk", "+4930123456", NULL, NULL) != USHER_OK ||
        usher_number_call(engine, "desk", "ann", NULL, &hold) != USHER_OK ||
        usher_number_hangup(engine, "desk", hold.number, hold.token, NULL, NULL) != USHER_OK ||
        usher_check(engine, NULL, NULL, NULL, &found) != USHER_OK || found.faults != 0) {
        fprintf(stderr, "own_store: %s\n", usher_message());
        return 1;
    }
    printf("ann called with %s, version %llu\n", hold.number, (unsigned long long)hold.version);
    usher_close(engine);
    return 0;
}
#endif
