/* SPDX-License-Identifier: MIT */
/*
 * The status of the servers of a store: their identity, what they may lose, the lag of their
 * replicas, and which of them do not answer.  R18 of the specification of the Redis store.
 */
#include "lib/test.h"

#include <signal.h>

#include "lib/command_line.h"
#include "lib/expect.h"
#include "lib/servers.h"

#define PATIENCE_MS 30000
#define NODES 32

/* Copies of the reported nodes. */
struct report {
    size_t n;
    struct {
        struct usher_node node;
        char address[64], id[48], software[64], policy[32], master[64], why[200];
    } of[NODES];
};

static void copy(char *to, size_t size, const struct usher_text *from)
{
    assert_non_null(from->data);
    assert_true(from->size < size);
    memcpy(to, from->data, from->size);
    to[from->size] = '\0';
}

static void add_node(void *payload, const struct usher_node *node)
{
    struct report *t = payload;

    assert_true(t->n < NODES);
    assert_int_equal(node->size, sizeof *node);
    t->of[t->n].node = *node;
    copy(t->of[t->n].address, sizeof t->of->address, &node->address);
    copy(t->of[t->n].id, sizeof t->of->id, &node->id);
    copy(t->of[t->n].software, sizeof t->of->software, &node->software);
    copy(t->of[t->n].policy, sizeof t->of->policy, &node->policy);
    copy(t->of[t->n].master, sizeof t->of->master, &node->master);
    copy(t->of[t->n].why, sizeof t->of->why, &node->why);
    t->n++;
}

static struct usher_engine *engine_open(const char *url)
{
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;

    opt.timeout_ms = PATIENCE_MS;
    if (usher_open(url, &opt, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

TEST(status_has_a_master_and_its_replica)
{
    static const char *const evicts[] = { "maxmemory-policy allkeys-lru", NULL };
    struct redis_server_options one = { .aof = REDIS_AOF_EVERYSEC, .config = evicts }, two = { 0 };
    struct redis_server *master = redis_server_start(&one), *replica;
    struct usher_engine *e;
    struct report t = { 0 };
    char url[REDIS_URL_MAX], at[64], its[64];
    time_t end = time(NULL) + PATIENCE_MS / 1000;

    assert_non_null(master);
    two.replica_of = master;
    replica = redis_server_start(&two);
    assert_non_null(replica);
    assert_true(
        redis_server_wait_info(replica, "replication", "master_link_status:up", PATIENCE_MS));
    assert_true(redis_server_wait_info(master, "replication", "state=online", PATIENCE_MS));
    (void)snprintf(at, sizeof at, "127.0.0.1:%d", redis_server_port(master));
    (void)snprintf(its, sizeof its, "127.0.0.1:%d", redis_server_port(replica));
    e = engine_open(redis_server_url(master, url));
    expect_ok(e, "number add p 1");
    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_OK);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.of[0].node.role, USHER_NODE_MASTER);
    assert_string_equal(t.of[0].address, at);
    assert_true(strncmp(t.of[0].software, "Redis ", 6) == 0 ||
                strncmp(t.of[0].software, "Valkey ", 7) == 0);
    assert_int_equal(t.of[0].node.durability, USHER_DURABILITY_SECOND);
    assert_string_equal(t.of[0].policy, "allkeys-lru");
    assert_true(t.of[0].node.evicts);
    assert_int_equal(t.of[0].node.replicas, 1);
    assert_int_equal(t.of[0].node.slots, USHER_NONE);
    assert_true(t.of[0].node.identity != 0 && t.of[0].node.identity < UINT64_C(1) << 48);
    assert_true(t.of[0].node.ahead_ms > -60000 && t.of[0].node.ahead_ms < 60000);
    assert_int_equal(t.of[1].node.role, USHER_NODE_REPLICA);
    assert_string_equal(t.of[1].address, its);
    assert_string_equal(t.of[1].master, at);
    assert_true(t.of[1].node.answers);

    /* a stopped replica lags */
    assert_int_equal(redis_server_kill(replica, SIGSTOP), 0);
    for (int i = 0; t.of[1].node.lag_bytes < 1000; i++) {
        char text[64];

        assert_true(time(NULL) < end);
        (void)snprintf(text, sizeof text, "number add p more%d", i);
        expect_ok(e, "%s", text);
        memset(&t, 0, sizeof t);
        assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_OK);
        assert_int_equal(t.n, 2);
    }
    assert_int_equal(redis_server_kill(replica, SIGCONT), 0);
    usher_close(e);

    /* each of several hosts is reported, in any role, also one that does not answer */
    assert_int_equal(redis_server_kill(replica, SIGSTOP), 0);
    (void)snprintf(url, sizeof url, "redis://%s,%s", at, its);
    e = engine_open(url);
    memset(&t, 0, sizeof t);
    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), its));
    assert_int_equal(t.n, 3);
    assert_string_equal(t.of[2].address, its);
    assert_false(t.of[2].node.answers);
    assert_true(t.of[2].why[0] != '\0');
    assert_int_equal(redis_server_kill(replica, SIGCONT), 0);
    memset(&t, 0, sizeof t);
    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_OK);
    assert_int_equal(t.of[2].node.role, USHER_NODE_REPLICA);
    assert_string_equal(t.of[2].master, at);
    assert_int_equal(t.of[2].node.durability, USHER_DURABILITY_SNAPSHOT);
    usher_close(e);
    redis_server_stop(replica);
    redis_server_stop(master);
}

/* A user without some rights gets the rest of the status. */
TEST(status_leaves_out_what_the_user_may_not_read)
{
    struct redis_server *s = redis_server_start(NULL);
    struct usher_engine *e;
    struct report t = { 0 };
    char url[128];

    assert_non_null(s);
    assert_true(redis_do_ok(s, "ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-info",
                            "-config", NULL));
    (void)snprintf(url, sizeof url, "redis://ann:pw@127.0.0.1:%d", redis_server_port(s));
    e = engine_open(url);
    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_OK);
    assert_int_equal(t.n, 1);
    assert_true(t.of[0].node.answers);
    assert_int_equal(t.of[0].node.role, USHER_NODE_UNKNOWN);
    assert_int_equal(t.of[0].node.durability, USHER_DURABILITY_UNKNOWN);
    assert_int_equal(t.of[0].node.replicas, USHER_NONE);
    assert_true(t.of[0].node.identity == 0);
    assert_true(t.of[0].node.ahead_ms != USHER_NONE);
    usher_close(e);
    redis_server_stop(s);
}

TEST(status_has_all_masters_of_a_cluster)
{
    /* the others must not take it for dead */
    static const char *const config[] = { "cluster-node-timeout 60000", NULL };
    struct redis_server_options options = { .config = config };
    struct redis_cluster *c = redis_cluster_start(3, 3, &options);
    struct usher_engine *e;
    struct report t = { 0 };
    char url[REDIS_URL_MAX], port[16], id[41];
    unsigned masters = 0, replicas = 0, silent = 0;
    int64_t slots = 0;

    assert_non_null(c);
    e = engine_open(redis_cluster_url(c, url));
    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_OK);
    assert_true(redis_node_id(c->node[0], id));
    for (size_t i = 0; i < t.n; i++) {
        if (t.of[i].node.role == USHER_NODE_MASTER) {
            masters++;
            slots += t.of[i].node.slots;
            silent += strcmp(t.of[i].id, id) == 0;
        }
        replicas += t.of[i].node.role == USHER_NODE_REPLICA;
    }
    assert_int_equal(masters, 3);
    assert_int_equal(replicas, 3);
    assert_int_equal(slots, 16384);
    assert_int_equal(silent, 1); /* the id of the first node is reported once */

    assert_int_equal(redis_server_kill(c->node[1], SIGSTOP), 0);
    (void)snprintf(port, sizeof port, ":%d", redis_server_port(c->node[1]));
    memset(&t, 0, sizeof t);
    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher_message(), port));
    masters = silent = 0;
    for (size_t i = 0; i < t.n; i++) {
        masters += t.of[i].node.role == USHER_NODE_MASTER;
        if (!t.of[i].node.answers) {
            assert_non_null(strstr(t.of[i].address, port));
            assert_true(t.of[i].node.slots > 5000);
            silent++;
        }
    }
    assert_int_equal(masters, 2);
    assert_int_equal(silent, 1);
    assert_int_equal(redis_server_kill(c->node[1], SIGCONT), 0);
    usher_close(e);
    redis_cluster_stop(c);
}

static void listen(void *payload, enum usher_log_level level, const char *line)
{
    unsigned *n = payload;

    if (level == USHER_LOG_WARNING && strstr(line, "number large has some 1000") != NULL)
        ++*n;
}

/* On a cluster, where a large scope blocks the migration of its slot. */
TEST(a_check_warns_of_a_large_scope)
{
    enum { PART = 1000 };
    static struct usher_operation c[PART];
    static struct usher_result r[PART];
    static char names[PART][16];
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct redis_cluster *cluster;
    struct usher_engine *e;
    struct usher_check_result found;
    char url[REDIS_URL_MAX], digest[33];
    unsigned warned = 0;

    if (budget_slow()) {
        print_message("too slow here for 100,001 numbers\n");
        return;
    }
    cluster = redis_cluster_start(3, 0, NULL);
    assert_non_null(cluster);
    opt.timeout_ms = PATIENCE_MS;
    opt.log = listen;
    opt.payload = &warned;
    assert_int_equal(usher_open(redis_cluster_url(cluster, url), &opt, &e), USHER_OK);
    for (unsigned from = 0; from < 100000; from += PART) {
        for (unsigned i = 0; i < PART; i++) {
            memset(&c[i], 0, sizeof c[i]);
            c[i].verb = USHER_NUMBER_ADD;
            c[i].scope = (struct usher_text){ "large", 5 };
            c[i].arg.number.number =
                (struct usher_text){ names[i],
                                     (size_t)snprintf(names[i], sizeof names[i], "%u", from + i) };
        }
        assert_int_equal(usher_operate(e, c, r, PART), USHER_OK);
        for (unsigned i = 0; i < PART; i++)
            usher_result_done(&r[i]);
    }
    expect_ok(e, "number add small 1");
    assert_int_equal(usher_check(e, NULL, NULL, NULL, &found), USHER_OK);
    assert_true(found.faults == 0 && found.scopes == 2);
    assert_int_equal(warned, 0);
    expect_ok(e, "number add large one-more");
    expect_ok(e, "number add large and-another");
    expect_ok(e, "number add large and-a-third");
    assert_int_equal(usher_check(e, NULL, NULL, NULL, &found), USHER_OK);
    assert_int_equal(warned, 1);
    assert_true(found.faults == 0);
    assert_int_equal(usher_digest(e, USHER_NUMBER, "large", digest), USHER_OK);
    assert_int_equal(warned, 1);
    usher_close(e);
    redis_cluster_stop(cluster);
}

TEST(status_counts_failed_commands)
{
    struct redis_server *s = redis_server_start(NULL);
    struct usher_options opt = USHER_OPTIONS_INIT;
    struct usher_engine *e;
    struct usher_result r;
    char url[REDIS_URL_MAX];
    uint64_t unknown = 9, unavailable = 9;

    assert_non_null(s);
    opt.timeout_ms = budget_slow() ? 3000 : 1000;
    assert_int_equal(usher_open(redis_server_url(s, url), &opt, &e), USHER_OK);
    expect_ok(e, "number add p 1");
    assert_int_equal(usher_failures(e, &unknown, &unavailable), USHER_OK);
    assert_true(unknown == 0 && unavailable == 0);
    assert_int_equal(redis_server_kill(s, SIGSTOP), 0);
    assert_int_equal(line_execute(e, &r, "number add p 2"), USHER_UNKNOWN);
    usher_result_done(&r);
    assert_int_equal(redis_server_kill(s, SIGKILL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(line_execute(e, &r, "number add p 3"), USHER_UNAVAILABLE);
        usher_result_done(&r);
    }
    assert_int_equal(usher_failures(e, &unknown, &unavailable), USHER_OK);
    assert_int_equal(unknown, 1);
    assert_int_equal(unavailable, 2);
    assert_int_equal(usher_failures(e, NULL, &unavailable), USHER_INVALID);
    assert_int_equal(usher_nodes(e, NULL, NULL, NULL), USHER_INVALID);
    usher_close(e);
    redis_server_stop(s);
}

TEST(status_of_memory_has_one_node)
{
    struct usher_engine *e = engine_open("memory:");
    struct report t = { 0 };

    assert_int_equal(usher_nodes(e, NULL, add_node, &t), USHER_OK);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.of[0].node.role, USHER_NODE_ITSELF);
    assert_int_equal(t.of[0].node.durability, USHER_DURABILITY_NONE);
    assert_string_equal(t.of[0].software, "memory");
    usher_close(e);
}

TEST_PROGRAM(redis_needed, NULL);
