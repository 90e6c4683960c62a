/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "change/validate.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "change/work.h"

static struct usher__validator *guard_of(struct usher_txn *txn)
{
    return (struct usher__validator *)(void *)txn;
}

static enum usher_status damaged(struct usher__validator *g, const struct usher_scope *scope,
                                 const struct usher_record *r, const char *what)
{
    bool printable = usher__name_fault(r->id.data, r->id.size) == NULL;

    USHER_ASSERT(r->kind < USHER_KINDS && usher__steps(scope->noun) != NULL);
    (void)snprintf(g->fault, sizeof g->fault, "the store is damaged: %s %.*s %s",
                   usher__kind_word(usher__steps(scope->noun), r->kind),
                   printable ? (int)r->id.size : 1, printable ? r->id.data : "?", what);
    return USHER_UNAVAILABLE;
}

/* Check that @r was read and is a valid record of this scope and kind. */
static enum usher_status sound(struct usher__validator *g, const struct usher_scope *scope,
                               uint8_t kind, const struct usher_record *r)
{
    const char *what = r->kind != kind ? "is of another kind than requested"
                                       : usher__steps(scope->noun)->record_fault(NULL, r);

    return what == NULL ? USHER_OK : damaged(g, scope, r, what);
}

static enum usher_status load(struct usher_txn *txn, enum usher_noun noun,
                              const struct usher_text *name, struct usher_scope *ret_scope)
{
    const struct usher__validator *g = guard_of(txn);

    return g->ops->scope(g->txn, noun, name, ret_scope);
}

static enum usher_status find(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *id, struct usher_record *ret_record)
{
    struct usher__validator *g = guard_of(txn);
    enum usher_status status = g->ops->find(g->txn, scope, kind, id, ret_record);

    if (status == USHER_OK && !usher__text_equal(&ret_record->id, id))
        return damaged(g, scope, ret_record, "is not the one that was requested");
    return status == USHER_OK ? sound(g, scope, kind, ret_record) : status;
}

/* Return -1 if @r is before (@hi, @order) in the list of @slot, and so on. */
static int compare(const struct usher_record *r, uint8_t slot, uint64_t hi, uint64_t order)
{
    uint64_t mine = slot == 0 ? r->rank : slot == 1 ? (uint64_t)r->until_ms : 0;

    if (mine != hi)
        return mine < hi ? -1 : 1;
    return r->order < order ? -1 : r->order > order;
}

static enum usher_status walk(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t after_hi,
                              uint64_t after_order, bool back, struct usher_record *ret_record)
{
    struct usher__validator *g = guard_of(txn);
    const struct usher_record *r = ret_record;
    enum usher_status status =
        g->ops->walk(g->txn, scope, kind, slot, by, after_hi, after_order, back, ret_record);

    if (status != USHER_OK)
        return status;
    if ((r->slots >> slot & 1u) == 0 ||
        (by != NULL && !usher__text_equal(by, slot == 2 ? &r->owner : &r->group)) ||
        compare(r, slot, after_hi, after_order) != (back ? -1 : 1))
        return damaged(g, scope, r, "is in a list where it does not belong");
    return sound(g, scope, kind, r);
}

static enum usher_status rank(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              uint8_t slot, const struct usher_text *by, uint64_t hi,
                              uint64_t order, uint64_t *ret)
{
    const struct usher__validator *g = guard_of(txn);

    return g->ops->rank(g->txn, scope, kind, slot, by, hi, order, ret);
}

/* Return whether @id follows @after in byte order; all texts follow an empty one. */
static bool follows(const struct usher_text *id, const struct usher_text *after)
{
    size_t n = id->size < after->size ? id->size : after->size;
    int order = n != 0 ? memcmp(id->data, after->data, n) : 0;

    return order != 0 ? order > 0 : id->size > after->size;
}

static enum usher_status next(struct usher_txn *txn, const struct usher_scope *scope, uint8_t kind,
                              const struct usher_text *after, struct usher_record *ret_record)
{
    struct usher__validator *g = guard_of(txn);
    enum usher_status status = g->ops->next(g->txn, scope, kind, after, ret_record);

    if (status != USHER_OK)
        return status;
    if (!follows(&ret_record->id, after))
        return damaged(g, scope, ret_record, "is out of order");
    return sound(g, scope, kind, ret_record);
}

static enum usher_status write(struct usher_txn *txn, struct usher_scope *scope,
                               const struct usher_write *writes, size_t n)
{
    const struct usher__validator *g = guard_of(txn);

    return g->ops->write(g->txn, scope, writes, n);
}

static enum usher_status append(struct usher_txn *txn, const struct usher_scope *scope,
                                const void *row)
{
    const struct usher__validator *g = guard_of(txn);

    return g->ops->append(g->txn, scope, row);
}

void usher__validator_ops(struct usher_record_store_ops *ops,
                          const struct usher_record_store_ops *of)
{
    memset(ops, 0, sizeof *ops);
    ops->size = sizeof *ops;
    ops->name = of->name;
    ops->caps = of->caps;
    ops->scope = load;
    ops->find = find;
    ops->walk = walk;
    ops->rank = rank;
    ops->next = next;
    ops->write = write;
    ops->append = of->append != NULL ? append : NULL;
}
