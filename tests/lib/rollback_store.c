/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/rollback_store.h"

#define OWN_STORE_IN_TEST
#include "../../examples/own_store.c"

struct fickle_copy {
    struct table table;
};

static struct own_store *latest;
static uint64_t identity = 1;

static unsigned long looks;

static enum usher_status fickle_find(struct usher_txn *txn, const struct usher_scope *scope,
                                     uint8_t kind, const struct usher_text *id,
                                     struct usher_record *ret)
{
    looks++;
    return own_store_ops.find(txn, scope, kind, id, ret);
}

static enum usher_status fickle_walk(struct usher_txn *txn, const struct usher_scope *scope,
                                     uint8_t kind, uint8_t slot, const struct usher_text *by,
                                     uint64_t hi, uint64_t order, bool back,
                                     struct usher_record *ret)
{
    looks++;
    return own_store_ops.walk(txn, scope, kind, slot, by, hi, order, back, ret);
}

unsigned long fickle_looks(void)
{
    return looks;
}

static uint64_t identity_now(struct usher_record_store *s)
{
    (void)s;
    return identity;
}

static enum usher_status fickle_open(void *payload, struct usher_url *url,
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
    ops.name = "fickle";
    ops.identity = identity_now;
    ops.find = fickle_find;
    ops.walk = fickle_walk;
    store->base.ops = &ops;
    status = usher_local_store(&store->base, opt->alloc, ret_store);
    if (status != USHER_OK)
        close_store(&store->base);
    else
        latest = store;
    return status;
}

const struct usher_driver fickle_driver = { "fickle", fickle_open, NULL, NULL };

void fickle_another(void)
{
    identity++;
}

struct fickle_copy *fickle_copy(void)
{
    struct fickle_copy *copy = calloc(1, sizeof *copy);

    if (copy != NULL && !table_copy(&copy->table, &latest->table)) {
        free(copy);
        return NULL;
    }
    return copy;
}

void fickle_free(struct fickle_copy *copy)
{
    if (copy != NULL)
        table_done(&copy->table);
    free(copy);
}

void fickle_be(const struct fickle_copy *copy, uint64_t which)
{
    struct table table;

    if (!table_copy(&table, &copy->table))
        abort();
    table_done(&latest->table);
    latest->table = table;
    identity = which;
}

void fickle_back(const struct fickle_copy *copy)
{
    fickle_be(copy, identity + 1);
}
