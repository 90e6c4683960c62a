/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/rollback_store.h"

#define OWN_STORE_IN_TEST
#include "../../examples/own_store.c"

struct rollback_copy {
    struct table table;
};

static struct own_store *latest;
static uint64_t identity = 1;

static unsigned long looks;

static enum usher_status rollback_find(struct usher_txn *txn, const struct usher_scope *scope,
                                       uint8_t kind, const struct usher_text *id,
                                       struct usher_record *ret)
{
    looks++;
    return own_store_ops.find(txn, scope, kind, id, ret);
}

static enum usher_status rollback_walk(struct usher_txn *txn, const struct usher_scope *scope,
                                       uint8_t kind, uint8_t slot, const struct usher_text *by,
                                       uint64_t hi, uint64_t order, bool back,
                                       struct usher_record *ret)
{
    looks++;
    return own_store_ops.walk(txn, scope, kind, slot, by, hi, order, back, ret);
}

unsigned long rollback_lookups(void)
{
    return looks;
}

static uint64_t identity_now(struct usher_record_store *s)
{
    (void)s;
    return identity;
}

static enum usher_status rollback_open(void *payload, struct usher_url *url,
                                       const struct usher_options *opt, int64_t deadline_ms,
                                       struct usher_store **ret_store, char line[192])
{
    static struct usher_record_store_ops ops;
    struct own_store *store = calloc(1, sizeof *store);
    enum usher_status status;

    (void)payload, (void)url, (void)deadline_ms, (void)line;
    (void)own_store_open;
    if (store == NULL)
        return USHER_NOMEM;
    ops = own_store_ops;
    ops.name = "rollback";
    ops.identity = identity_now;
    ops.find = rollback_find;
    ops.walk = rollback_walk;
    store->base.ops = &ops;
    status = usher_local_store(&store->base, opt->alloc, ret_store);
    if (status != USHER_OK)
        close_store(&store->base);
    else
        latest = store;
    return status;
}

const struct usher_driver rollback_driver = { "rollback", rollback_open, NULL, NULL };

void rollback_change_identity(void)
{
    identity++;
}

struct rollback_copy *rollback_copy(void)
{
    struct rollback_copy *copy = calloc(1, sizeof *copy);

    if (copy != NULL && !table_copy(&copy->table, &latest->table)) {
        free(copy);
        return NULL;
    }
    return copy;
}

void rollback_free(struct rollback_copy *copy)
{
    if (copy != NULL)
        table_done(&copy->table);
    free(copy);
}

void rollback_become(const struct rollback_copy *copy, uint64_t which)
{
    struct table table;

    if (!table_copy(&table, &copy->table))
        abort();
    table_done(&latest->table);
    latest->table = table;
    identity = which;
}

void rollback_to(const struct rollback_copy *copy)
{
    rollback_become(copy, identity + 1);
}
