/* SPDX-License-Identifier: MIT */
/*
 * The behavior of a real Redis Cluster for a script whose slot moves, and the rule for keys
 * that follows from it.
 *
 * While a slot is MIGRATING on its source and IMPORTING on its target, every key of the
 * slot is on one of the two.  The source then answers by the keys a command declares:
 * all here: run; none here: ASK; some here: TRYAGAIN.  The target, after ASKING: all here:
 * run; several declared and not all here: TRYAGAIN.  Inside a script the source checks the
 * keys again at each redis.call(), and a key that is absent by then ends the script without
 * undoing its writes.  The rules for the keys of a scope are therefore:
 *
 *   - few of them, all declared, so that they are soon on the same node;
 *   - each exists from the first write on and never becomes empty: a hash has a field and
 *     a sorted set a member that nothing removes (the sentinels).
 *
 * The first half of the tests shows what goes wrong otherwise, the second that keys with
 * sentinels are served at every stage of the move.  Each test has a slot of its own.
 */
#include "lib/test.h"

#include "../lib/servers.h"

/* The work of one command: take the first waiting member if there is one, else put one
 * in, and count in the hash.  "~" sorts last and is the sentinel where there is one. */
static const char work[] =
    "local h, z = KEYS[1], KEYS[2]\n"
    "redis.call('HINCRBY', h, 'version', 1)\n"
    "local first = redis.call('ZRANGEBYLEX', z, '-', '(~', 'LIMIT', 0, 1)[1]\n"
    "if first then\n"
    "    redis.call('ZREM', z, first)\n"
    "    return first\n"
    "end\n"
    "redis.call('ZADD', z, 0, ARGV[1])\n"
    "return 'put'\n";

/* Take the only member and put another one in, as for an index that may become empty. */
static const char replace[] = "local h, z = KEYS[1], KEYS[2]\n"
                              "redis.call('HINCRBY', h, 'version', 1)\n"
                              "redis.call('ZREM', z, 'only')\n"
                              "redis.call('ZADD', z, 0, ARGV[1])\n"
                              "return 'replaced'\n";

TEST_CLUSTER(cluster, 2, NULL);

/* A slot with a hash and a sorted set in it, about to move. */
struct move {
    struct redis_move of;
    struct redis_server *source, *target;
    char hash[32], zset[32];
};

/* Check the reply @r, and free it. */
static void assert_error(redisReply *r, const char *text)
{
    assert_non_null(r);
    if (r->type != REDIS_REPLY_ERROR || strstr(r->str, text) == NULL)
        fail_msg("expected an error with \"%s\", got type %d: %s", text, r->type,
                 r->str != NULL ? r->str : "-");
    freeReplyObject(r);
}

/* Check the reply @r, and free it. */
static void assert_text(redisReply *r, const char *text)
{
    assert_non_null(r);
    if (r->type != REDIS_REPLY_STRING || strcmp(r->str, text) != 0)
        fail_msg("expected \"%s\", got type %d: %s", text, r->type, r->str != NULL ? r->str : "-");
    freeReplyObject(r);
}

/* Check the reply @r, and free it. */
static void assert_integer(redisReply *r, long long n)
{
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_INTEGER);
    assert_int_equal(r->integer, n);
    freeReplyObject(r);
}

static redisReply *run(struct redis_server *s, const struct move *m, const char *script,
                       const char *arg)
{
    return redis_do(s, "EVAL", script, "2", m->hash, m->zset, arg, NULL);
}

/* Run @script as a client that follows ASK. */
static redisReply *run_asking(struct redis_server *s, const struct move *m, const char *script,
                              const char *arg)
{
    assert_true(redis_do_ok(s, "ASKING", NULL));
    return run(s, m, script, arg);
}

/* The keys are named after @tag and have the same slot. */
static void move_init(struct move *m, const char *tag)
{
    redisReply *r;

    snprintf(m->hash, sizeof m->hash, "{%s}h", tag);
    snprintf(m->zset, sizeof m->zset, "{%s}z", tag);
    r = redis_do(cluster->node[0], "CLUSTER", "KEYSLOT", m->hash, NULL);
    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_INTEGER);
    m->source = redis_cluster_owner(cluster, cluster->node[0], (int)r->integer);
    assert_non_null(m->source);
    m->target = cluster->node[m->source == cluster->node[0] ? 1 : 0];
    m->of = (struct redis_move){ cluster, m->source, m->target, (int)r->integer, "", "" };
    freeReplyObject(r);
}

static void move_begin(struct move *m)
{
    assert_true(redis_move_begin(&m->of));
}

static void move_key(const struct move *m, const char *key)
{
    assert_true(redis_move_key(&m->of, key));
}

/* Move the remaining keys, because a slot with keys cannot change its owner. */
static void move_end(const struct move *m)
{
    assert_true(redis_move_end(&m->of));
}

/* A command with one key is executed by the node that has the key. */
static redisReply *version(struct redis_server *s, const struct move *m, bool asking)
{
    if (asking)
        assert_true(redis_do_ok(s, "ASKING", NULL));
    return redis_do(s, "HGET", m->hash, "version", NULL);
}

static redisReply *members(struct redis_server *s, const struct move *m, bool asking)
{
    if (asking)
        assert_true(redis_do_ok(s, "ASKING", NULL));
    return redis_do(s, "ZCARD", m->zset, NULL);
}

/* ---- what goes wrong ---- */

TEST(a_script_is_refused_while_one_of_its_keys_does_not_exist)
{
    struct move m;

    move_init(&m, "one-missing");
    assert_true(redis_do_ok(m.source, "HSET", m.hash, "version", "7", NULL));
    move_begin(&m);

    /* This does not end before the move ends. */
    assert_error(run(m.source, &m, work, "ann"), "TRYAGAIN");
    assert_error(run_asking(m.target, &m, work, "ann"), "TRYAGAIN");
    assert_text(version(m.source, &m, false), "7");

    /* The slot's last key has moved, and still the target cannot serve both. */
    move_key(&m, m.hash);
    assert_error(run(m.source, &m, work, "ann"), "ASK ");
    assert_error(run_asking(m.target, &m, work, "ann"), "TRYAGAIN");
    assert_text(version(m.target, &m, true), "7");

    move_end(&m);
    assert_text(run(m.target, &m, work, "ann"), "put");
    assert_text(version(m.target, &m, false), "8");
}

TEST(a_scope_cannot_begin_on_either_node_while_its_slot_moves)
{
    struct move m;

    move_init(&m, "none-yet");
    move_begin(&m);
    assert_error(run(m.source, &m, work, "ann"), "ASK ");
    assert_error(run_asking(m.target, &m, work, "ann"), "TRYAGAIN");
    move_end(&m);
    assert_text(run(m.target, &m, work, "ann"), "put");
}

TEST(a_script_whose_keys_all_exist_runs_on_the_source)
{
    struct move m;

    move_init(&m, "all-there");
    assert_true(redis_do_ok(m.source, "HSET", m.hash, "version", "7", NULL));
    assert_true(redis_do_ok(m.source, "ZADD", m.zset, "0", "ann", "0", "bob", NULL));
    move_begin(&m);
    assert_text(run(m.source, &m, work, "eve"), "ann");
    assert_text(version(m.source, &m, false), "8");
    assert_integer(members(m.source, &m, false), 1);
    move_end(&m);
}

TEST(refilling_a_key_on_the_source_fails_and_leaves_writes)
{
    struct move m;

    move_init(&m, "emptied");
    assert_true(redis_do_ok(m.source, "HSET", m.hash, "version", "7", NULL));
    assert_true(redis_do_ok(m.source, "ZADD", m.zset, "0", "only", NULL));
    move_begin(&m);
    assert_error(run(m.source, &m, replace, "new"), "non local key");
    assert_text(version(m.source, &m, false), "8");     /* written */
    assert_error(members(m.source, &m, false), "ASK "); /* removed, not replaced */
    move_end(&m);
}

TEST(refilling_a_key_on_the_target_succeeds)
{
    struct move m;

    move_init(&m, "emptied-there");
    assert_true(redis_do_ok(m.source, "HSET", m.hash, "version", "7", NULL));
    assert_true(redis_do_ok(m.source, "ZADD", m.zset, "0", "only", NULL));
    move_begin(&m);
    move_key(&m, m.hash);
    move_key(&m, m.zset);
    /* The target refuses absent keys only in commands with several. */
    assert_text(run_asking(m.target, &m, replace, "new"), "replaced");
    assert_text(version(m.target, &m, true), "8");
    move_end(&m);
}

TEST(using_an_absent_undeclared_key_fails_and_leaves_writes)
{
    static const char undeclared[] = "redis.call('HINCRBY', KEYS[1], 'version', 1)\n"
                                     "redis.call('ZADD', ARGV[1], 0, 'ann')\n";
    struct move m;

    move_init(&m, "undeclared");
    assert_true(redis_do_ok(m.source, "HSET", m.hash, "version", "7", NULL));
    move_begin(&m);
    assert_error(redis_do(m.source, "EVAL", undeclared, "1", m.hash, m.zset, NULL),
                 "non local key");
    assert_text(version(m.source, &m, false), "8");
    move_end(&m);
}

/* ---- what works ---- */

static void begin_with_sentinels(struct move *m, const char *tag)
{
    move_init(m, tag);
    assert_true(redis_do_ok(m->source, "HSET", m->hash, "version", "0", NULL));
    assert_true(redis_do_ok(m->source, "ZADD", m->zset, "0", "~", NULL));
    move_begin(m);
}

TEST(with_sentinels_the_source_serves_an_empty_index)
{
    struct move m;

    begin_with_sentinels(&m, "stage-none");
    for (int i = 0; i < 2; i++) { /* empty, filled, empty, filled, empty */
        assert_text(run(m.source, &m, work, "ann"), "put");
        assert_text(run(m.source, &m, work, "bob"), "ann");
    }
    assert_text(version(m.source, &m, false), "4");
    assert_integer(members(m.source, &m, false), 1);
    move_end(&m);
}

TEST(with_sentinels_a_member_replaced_in_a_script_is_no_failure)
{
    struct move m;

    begin_with_sentinels(&m, "stage-replace");
    assert_true(redis_do_ok(m.source, "ZADD", m.zset, "0", "only", NULL));
    assert_text(run(m.source, &m, replace, "new"), "replaced");
    assert_text(version(m.source, &m, false), "1");
    assert_integer(members(m.source, &m, false), 2);
    move_end(&m);
}

TEST(with_sentinels_keys_on_both_nodes_are_refused)
{
    struct move m;

    begin_with_sentinels(&m, "stage-half");
    move_key(&m, m.hash);
    assert_error(run(m.source, &m, work, "ann"), "TRYAGAIN");
    assert_error(run_asking(m.target, &m, work, "ann"), "TRYAGAIN");
    assert_text(version(m.target, &m, true), "0");
    assert_integer(members(m.source, &m, false), 1);

    /* This error ends when the other key has moved. */
    move_key(&m, m.zset);
    assert_error(run(m.source, &m, work, "ann"), "ASK ");
    assert_text(run_asking(m.target, &m, work, "ann"), "put");
    assert_text(version(m.target, &m, true), "1");
    move_end(&m);
}

TEST(with_sentinels_the_target_serves_all_moved_keys)
{
    struct move m;

    begin_with_sentinels(&m, "stage-both");
    move_key(&m, m.hash);
    move_key(&m, m.zset);
    assert_error(run(m.source, &m, work, "ann"), "ASK ");
    assert_text(run_asking(m.target, &m, work, "ann"), "put");
    assert_text(run_asking(m.target, &m, work, "bob"), "ann");
    assert_error(run(m.target, &m, work, "eve"), "MOVED "); /* ASKING is valid for one command */
    assert_text(version(m.target, &m, true), "2");
    assert_integer(members(m.target, &m, true), 1);
    move_end(&m);
}

TEST(after_the_move_the_source_redirects_to_the_target)
{
    struct move m;

    begin_with_sentinels(&m, "stage-end");
    move_key(&m, m.hash);
    move_key(&m, m.zset);
    move_end(&m);
    assert_error(run(m.source, &m, work, "ann"), "MOVED ");
    assert_text(run(m.target, &m, work, "ann"), "put");
    assert_text(version(m.target, &m, false), "1");
}
