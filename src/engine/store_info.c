/* SPDX-License-Identifier: MIT */
/* The servers of an engine, for people and monitors. */
#include "config.h"

#include "engine/store_info.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/scopes.h"

const char *usher_durability_word(enum usher_durability durability)
{
    static const char *const words[] = { "unknown", "none", "snapshot", "second", "file", "disk" };

    return (unsigned)durability < sizeof words / sizeof *words ? words[durability] : "?";
}

const char *usher_node_role_word(enum usher_node_role role)
{
    static const char *const words[] = { "unknown", "itself", "master", "replica" };

    return (unsigned)role < sizeof words / sizeof *words ? words[role] : "?";
}

void usher__node_init(struct usher_node *node, const char *name, unsigned caps)
{
    memset(node, 0, sizeof *node);
    node->size = sizeof *node;
    node->role = USHER_NODE_ITSELF;
    node->answers = true;
    if ((caps & USHER_CAP_DURABLE) == 0)
        node->durability = USHER_DURABILITY_NONE;
    node->slots = node->replicas = node->lag_bytes = node->lag_ms = node->ahead_ms = USHER_NONE;
    node->software.data = name;
    node->software.size = strlen(name);
    node->address.data = node->id.data = node->policy.data = "";
    node->master.data = node->why.data = "";
}

enum usher_status usher_nodes(struct usher_engine *e, const struct usher_list_options *opt,
                              usher_node_fn *fn, void *payload)
{
    enum usher_status status = usher__engine_check(e);
    const struct usher_store_ops *ops;
    struct usher_list_options o;
    const char *fault;
    char why[192] = "";

    if (status != USHER_OK)
        return status;
    fault = usher__list_options(e, opt, 0, &o);
    if (fault != NULL || fn == NULL) {
        usher__message_set("nodes: %s", fault != NULL ? fault : "fn is NULL");
        return USHER_INVALID;
    }
    ops = e->store->ops;
    if (ops->nodes == NULL) {
        struct usher_node node;

        usher__node_init(&node, ops->name, ops->caps);
        fn(payload, &node);
        return USHER_OK;
    }
    status = ops->nodes(e->store, usher__monotonic_ms() + o.timeout_ms, fn, payload, why);
    if (status != USHER_OK)
        usher__message_set("nodes: %s", why[0] != '\0' ? why : usher_status_text(status));
    return status;
}

enum usher_status usher_failures(struct usher_engine *e, uint64_t *ret_unknown,
                                 uint64_t *ret_unavailable)
{
    enum usher_status status = usher__engine_check(e);

    if (status != USHER_OK)
        return status;
    if (ret_unknown == NULL || ret_unavailable == NULL) {
        usher__message_set("failures: an address is NULL");
        return USHER_INVALID;
    }
    *ret_unknown = atomic_load_explicit(&e->unknown, memory_order_relaxed);
    *ret_unavailable = atomic_load_explicit(&e->unavailable, memory_order_relaxed);
    return USHER_OK;
}
