/* SPDX-License-Identifier: MIT */
/*
 * The list of scopes of a cluster, whose masters are walked one after the other, while scopes go to
 * masters that were walked already: each scope that is there all the time is in some page.
 */
#include "lib/test.h"

#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"
#include "lib/util.h"

#define MASTERS 3
#define POOLS 90
#define PATIENCE_MS 60000

static struct redis_cluster *cluster;

static int begin(void)
{
    cluster = redis_cluster_start(MASTERS, MASTERS, NULL);
    return cluster != NULL ? 0 : redis_skip();
}

static void end(void)
{
    redis_cluster_stop(cluster);
}

TEST_PROGRAM(begin, end);

struct listed {
    unsigned seen[POOLS], n;
};

static void see(void *payload, const struct usher_scope_info *info)
{
    struct listed *l = payload;
    char name[32]; /* the text has no NUL */
    unsigned i;

    l->n++;
    (void)snprintf(name, sizeof name, "%.*s", (int)info->name.size, info->name.data);
    if (sscanf(name, "p%u", &i) == 1 && i < POOLS)
        l->seen[i]++;
}

static struct usher_engine *open_filled(void)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    char url[REDIS_URL_MAX];
    struct usher_engine *e;

    opt.timeout_ms = 20000;
    e = engine_on_url(redis_cluster_url(cluster, url), &opt);
    for (int i = 0; i < POOLS; i++)
        expect_done(e, "number add p%d 1", i);
    return e;
}

static void next_page(struct usher_engine *e, struct listed *l, char next[USHER_CURSOR_MAX + 1])
{
    char after[USHER_CURSOR_MAX + 1];

    memcpy(after, next, sizeof after);
    if (usher_scopes(e, LIST_OF(.max = 4, .after = after[0] != '\0' ? after : NULL), see, l,
                     next) != USHER_OK)
        fail_msg("%s", usher_message());
}

/* Return the number of masters that have the pool. */
static int holders(unsigned i)
{
    char key[32];
    int n = 0;

    (void)snprintf(key, sizeof key, "{p%u}:number", i);
    for (int k = 0; k < cluster->nodes; k++) {
        redisReply *keys = redis_do(cluster->node[k], "KEYS", key, NULL);

        n += keys != NULL && keys->type == REDIS_REPLY_ARRAY && keys->elements > 0;
        freeReplyObject(keys);
    }
    return n;
}

static void all_seen(const struct listed *l)
{
    for (unsigned i = 0; i < POOLS; i++)
        if (l->seen[i] == 0)
            fail_msg("p%u is missing, and %d nodes have it", i, holders(i));
}

/* Return the master that the cursor is at. */
static struct redis_server *walked(const char *next)
{
    const char *id = strchr(strchr(next, '.') + 1, '.') + 1;

    for (int i = 0; i < cluster->nodes; i++) {
        char own[41];

        assert_true(redis_node_id(cluster->node[i], own));
        if (strncmp(own, id, 40) == 0)
            return cluster->node[i];
    }
    fail_msg("%s: no such node", next);
    return NULL;
}

static struct redis_server *owner_of(const char *name)
{
    return redis_cluster_owner(cluster, cluster->node[0], redis_cluster_slot(cluster, name));
}

/* List up to the second master.  Return a pool at the third, and *@ret_first, the first one. */
static unsigned up_to_the_second(struct usher_engine *e, struct listed *l,
                                 char next[USHER_CURSOR_MAX + 1], struct redis_server **ret_first)
{
    struct redis_server *second;
    char name[16];
    unsigned i = 0;

    next_page(e, l, next);
    *ret_first = walked(next);
    while (walked(next) == *ret_first)
        next_page(e, l, next);
    second = walked(next);
    for (; i < POOLS; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        if (owner_of(name) != *ret_first && owner_of(name) != second)
            break;
    }
    assert_true(i < POOLS && l->seen[i] == 0);
    return i;
}

TEST(a_scope_that_moves_to_a_walked_master_is_listed)
{
    struct usher_engine *e = open_filled();
    char next[USHER_CURSOR_MAX + 1] = "", name[16];
    struct listed l = { .n = 0 };
    struct redis_server *first;
    unsigned i = up_to_the_second(e, &l, next, &first);
    struct redis_move move = { .cluster = cluster };

    (void)snprintf(name, sizeof name, "p%u", i);
    move.source = owner_of(name);
    move.target = first;
    move.slot = redis_cluster_slot(cluster, name);
    assert_true(redis_move_begin(&move));
    assert_true(redis_move_end(&move));
    while (next[0] != '\0')
        next_page(e, &l, next);
    all_seen(&l);
    usher_close(e);
}

/* The slot keeps its owner, while all keys of the scope are at the other master. */
TEST(a_scope_in_a_slot_that_is_moving_is_listed)
{
    static const char *const keys[] = { "", ":index", ":held" };
    struct usher_engine *e = open_filled();
    char next[USHER_CURSOR_MAX + 1] = "", name[16], key[48];
    struct listed l = { .n = 0 };
    struct redis_server *first;
    unsigned i = up_to_the_second(e, &l, next, &first);
    struct redis_move move = { .cluster = cluster };

    (void)snprintf(name, sizeof name, "p%u", i);
    move.source = owner_of(name);
    move.target = first;
    move.slot = redis_cluster_slot(cluster, name);
    assert_true(redis_move_begin(&move));
    for (size_t k = 0; k < 3; k++) {
        (void)snprintf(key, sizeof key, "{%s}:number%s", name, keys[k]);
        assert_true(redis_move_key(&move, key));
    }
    while (next[0] != '\0')
        next_page(e, &l, next);
    all_seen(&l);
    assert_true(redis_move_end(&move));
    usher_close(e);
}

/* A promoted replica has another id, and perhaps one of a master that was walked already. */
TEST(scopes_of_a_master_that_is_replaced_are_listed)
{
    struct usher_engine *e = open_filled();

    for (int round = 0; round < 2 * MASTERS; round++) {
        char next[USHER_CURSOR_MAX + 1] = "";
        struct listed l = { .n = 0 };
        struct redis_server *master;

        for (int pages = 0; pages <= 3 * round; pages++)
            next_page(e, &l, next);
        assert_true(next[0] != '\0');
        master = round % 2 == 0 ? walked(next)
                                : redis_cluster_owner(cluster, cluster->node[0],
                                                      round / 2 * (16384 / MASTERS) + 100);
        assert_non_null(master);
        assert_true(redis_cluster_wait_agreed(cluster, PATIENCE_MS));
        if (!redis_cluster_hand_over(cluster, master, PATIENCE_MS))
            fail_msg("%s", redis_reason());
        while (next[0] != '\0')
            next_page(e, &l, next);
        all_seen(&l);
    }
    usher_close(e);
}

/* Nothing changes: each scope is listed once, and the masters are walked once. */
TEST(scopes_of_a_quiet_cluster_are_listed_once)
{
    struct usher_engine *e;
    char next[USHER_CURSOR_MAX + 1] = "";
    struct listed l = { .n = 0 };

    assert_true(redis_cluster_wait_agreed(cluster, PATIENCE_MS));
    e = open_filled();
    do
        next_page(e, &l, next);
    while (next[0] != '\0');
    all_seen(&l);
    assert_int_equal(l.n, POOLS);
    usher_close(e);
}
