/* SPDX-License-Identifier: MIT */
/*
 * Nodes that have names: three masters that announce host names, and a URL with such a name.  A
 * name that cannot be resolved fails only commands that need its node, and only while the name is
 * announced.
 */
#include "lib/test.h"

#include "lib/command_line.h"
#include "lib/servers.h"
#include "lib/util.h"

#define MASTERS 3
#define TIMEOUT_MS 3000
#define PATIENCE_MS 60000

static struct redis_cluster *cluster;
static char pool[MASTERS][16]; /* one on each */

static struct usher_engine *opened(const char *host)
{
    struct usher_options options = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    char url[128];

    options.timeout_ms = TIMEOUT_MS;
    (void)snprintf(url, sizeof url, "redis+cluster://%s:%d", host,
                   redis_server_port(cluster->node[0]));
    if (usher_open(url, &options, &e) != USHER_OK)
        fail_msg("%s: %s", url, usher_message());
    return e;
}

static void must(struct usher_engine *e, const char *verb, unsigned k, enum usher_status status,
                 const char *words)
{
    struct usher_result r;

    if (line_execute(e, &r, "number %s %s 100", verb, pool[k]) != status ||
        strstr(r.message, words) == NULL)
        fail_msg("number %s %s: %s (%s)", verb, pool[k], usher_status_word(r.status), r.message);
    usher_result_done(&r);
}

static void name_pools(void)
{
    for (unsigned k = 0, i = 0; k < MASTERS; i++) {
        char key[24];
        redisReply *r;

        (void)snprintf(pool[k], sizeof pool[k], "p%u", i);
        (void)snprintf(key, sizeof key, "{%s}", pool[k]);
        r = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", key, NULL);
        assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER);
        k += redis_cluster_owner(cluster, cluster->node[0], (int)r->integer) == cluster->node[k];
        freeReplyObject(r);
    }
}

/* Let all nodes announce @name for the last one. */
static void announce(const char *name)
{
    int64_t end_ms = clock_ms() + PATIENCE_MS;

    assert_true(redis_do_ok(cluster->node[MASTERS - 1], "CONFIG", "SET",
                            "cluster-announce-hostname", name, NULL));
    for (int i = 0; i < MASTERS;) {
        redisReply *r = redis_do(cluster->node[i], "CLUSTER", "SLOTS", NULL);
        bool says = false;

        assert_true(r != NULL && r->type == REDIS_REPLY_ARRAY);
        for (size_t k = 0; k < r->elements; k++) {
            const redisReply *node = r->element[k]->element[2];

            says = says ||
                   (node->element[1]->integer == redis_server_port(cluster->node[MASTERS - 1]) &&
                    node->element[0]->type == REDIS_REPLY_STRING &&
                    strcmp(node->element[0]->str, name) == 0);
        }
        freeReplyObject(r);
        i += says;
        assert_true(clock_ms() < end_ms);
    }
}

TEST(nodes_are_found_by_their_names)
{
    struct usher_engine *e = opened("localhost");
    struct usher_check_result found = { 0 };

    for (unsigned k = 0; k < MASTERS; k++)
        must(e, "add", k, USHER_OK, "");
    for (unsigned k = 0; k < MASTERS; k++)
        must(e, "del", k, USHER_OK, "");
    assert_int_equal(usher_check(e, NULL, NULL, NULL, &found), USHER_OK);
    assert_true(found.scopes == MASTERS && found.faults == 0);
    usher_close(e);
}

/* The answer to CLUSTER SLOTS has the address as well. */
TEST(an_unresolved_name_fails_only_commands_of_its_node)
{
    char name[100]; /* a part of it is longer than 63, so no server is queried for it */
    struct usher_engine *before = opened("127.0.0.1"), *e;
    struct usher_check_result found = { 0 };

    for (unsigned k = 0; k < MASTERS; k++)
        must(before, "add", k, USHER_OK, "");
    memset(name, 'x', 70);
    memcpy(name + 70, ".example", sizeof ".example");
    announce(name);
    e = opened("localhost");
    for (unsigned k = 0; k < MASTERS; k++)
        must(e, "add", k, USHER_SAME, "");
    assert_int_equal(usher_check(e, NULL, NULL, NULL, &found), USHER_OK);
    assert_true(found.scopes == MASTERS && found.faults == 0 && !found.partial);
    must(before, "add", MASTERS - 1, USHER_SAME, "");
    announce("localhost");
    must(e, "add", MASTERS - 1, USHER_SAME, "");
    usher_close(before);
    usher_close(e);
}

static int program_begin(void)
{
    static const char *const config[] = { "cluster-announce-hostname localhost",
                                          "cluster-preferred-endpoint-type hostname", NULL };
    struct redis_server_options options = { .config = config };

    cluster = redis_cluster_start(MASTERS, 0, &options);
    if (cluster == NULL)
        return redis_skip();
    name_pools();
    return 0;
}

static void program_end(void)
{
    redis_cluster_stop(cluster);
}

TEST_PROGRAM(program_begin, program_end);
