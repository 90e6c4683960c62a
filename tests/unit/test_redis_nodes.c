/* SPDX-License-Identifier: MIT */
/* The numbers of nodes: their count is limited, and a program outlives many nodes. */
#include "lib/test.h"

#include "../../backends/redis/store.h"

static size_t in_use;

static void *resize(void *payload, void *p, size_t old, size_t size)
{
    void *fresh = NULL;

    (void)payload;
    if (size > 0 && (fresh = malloc(size)) == NULL)
        return NULL;
    if (p != NULL && size > 0)
        memcpy(fresh, p, old < size ? old : size);
    in_use += size - old;
    free(p);
    return fresh;
}

static const struct usher_allocator counted = { .resize = resize };

static struct usher__redis_address address(unsigned i)
{
    struct usher__redis_address at;

    memset(&at, 0, sizeof at);
    (void)snprintf(at.host, sizeof at.host, "10.0.%u.%u", i / 250, i % 250);
    at.port = 7000;
    return at;
}

static unsigned number(struct usher__redis_store *s, unsigned i)
{
    struct usher__redis_address at = address(i);

    return usher__redis_node_at(s, &at);
}

TEST(number_of_a_gone_node_is_used_again)
{
    struct usher__redis_store *s = calloc(1, sizeof *s);
    struct usher__redis_node *first;

    assert_non_null(s);
    s->alloc = &counted;
    for (unsigned i = 0; i < USHER__REDIS_NODES_MAX; i++)
        assert_int_equal(number(s, i), i);
    assert_int_equal(number(s, 7), 7);
    assert_int_equal(number(s, 5000), USHER__REDIS_NODES_MAX);
    assert_int_equal(s->n_nodes, USHER__REDIS_NODES_MAX);

    first = s->node[300];
    first->gone = true;
    assert_int_equal(number(s, 5000), 300);
    assert_int_equal(number(s, 5000), 300);
    assert_ptr_not_equal(s->node[300], first);
    assert_string_equal(s->node[300]->at.host, "10.0.20.0");
    assert_string_equal(first->at.host, "10.0.1.50"); /* a caller that has it may read it */
    assert_int_equal(number(s, 300), USHER__REDIS_NODES_MAX);
    s->node[300]->gone = true;
    s->node[1023]->gone = true;
    assert_int_equal(number(s, 300), 300);
    assert_int_equal(number(s, 5001), 1023);
    assert_int_equal(number(s, 5002), USHER__REDIS_NODES_MAX);
    assert_int_equal(s->n_nodes, USHER__REDIS_NODES_MAX);

    usher__redis_nodes_free(s);
    assert_int_equal(in_use, 0);
    free(s);
}
