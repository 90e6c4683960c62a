/* SPDX-License-Identifier: MIT */
/* The fake nodes of tests/lib/fake.h, seen through the connection of the store and by a whole
 * engine. */
#include "lib/test.h"

#include <hiredis/hiredis.h>

#include <usher/store/store.h>

#include "conn.h"
#include "core/verbs.h"
#include "change/memory.h"
#include "change/result.h"
#include "lib/calls.h"
#include "lib/fake.h"

#define LONG 60000 /* ms; a test that gets there has failed */
#define SHORT 50   /* ms; of waits that must end by their deadline */
#define WORDS_MAX 8

#define KEY "{desk}:number"
#define SHA "9b6a6a4d7d1b7e3d9b6a6a4d7d1b7e3d9b6a6a4d"
#define CALL "EVALSHA " SHA " 1 " KEY

/* ---- a client ---- */

static struct usher__redis_conn *client_of(struct fake *f, int node)
{
    struct usher__redis_conn_options opt = { .host = "127.0.0.1" };
    struct usher__redis_conn *c = NULL;

    opt.port = (uint16_t)fake_port(f, node);
    assert_int_equal(usher__redis_conn_open(usher__allocator(NULL), &opt, &c), USHER_OK);
    return c;
}

static int64_t in_ms(int64_t ms)
{
    return usher__redis_clock_ms() + ms;
}

static struct usher__redis_conn *connected(struct fake *f, int node)
{
    struct usher__redis_conn *c = client_of(f, node);

    if (usher__redis_conn_connect(c, in_ms(LONG)) != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(c));
    return c;
}

/* @line is words with a space between. */
static void add(struct usher__redis_conn *c, const char *line)
{
    size_t n = 1;

    for (const char *p = line; *p != '\0'; p++)
        n += *p == ' ';
    usher__redis_conn_begin(c, n);
    while (n-- > 0) {
        size_t size = strcspn(line, " ");

        usher__redis_conn_arg(c, line, size);
        line += size + 1;
    }
}

static void flush(struct usher__redis_conn *c)
{
    if (usher__redis_conn_flush(c) != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(c));
}

static redisReply *next(struct usher__redis_conn *c)
{
    redisReply *r = NULL;

    if (usher__redis_conn_read(c, in_ms(LONG), &r) != USHER_OK)
        fail_msg("%s", usher__redis_conn_message(c));
    return r;
}

static redisReply *say(struct usher__redis_conn *c, const char *line)
{
    add(c, line);
    flush(c);
    return next(c);
}

static void assert_next_is(struct usher__redis_conn *c, int type, const char *text)
{
    redisReply *r = next(c);

    assert_int_equal(r->type, type);
    assert_string_equal(r->str, text);
    freeReplyObject(r);
}

static void assert_says(struct usher__redis_conn *c, const char *line, int type, const char *text)
{
    add(c, line);
    flush(c);
    assert_next_is(c, type, text);
}

static void assert_text_has(struct usher__redis_conn *c, const char *line, const char *part)
{
    redisReply *r = say(c, line);

    assert_int_equal(r->type, REDIS_REPLY_STRING);
    if (strstr(r->str, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, r->str);
    freeReplyObject(r);
}

/* A script that is called by hand says which node it ran on, and when. */
static void assert_ran(const redisReply *r, int node, uint64_t version)
{
    if (r->type == REDIS_REPLY_ERROR)
        fail_msg("%s", r->str);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    assert_string_equal(r->element[0]->str, "status");
    assert_string_equal(r->element[1]->str, "ok");
    assert_true(strtoull(r->element[3]->str, NULL, 16) == FAKE_EPOCH(node));
    assert_true(strtoull(r->element[5]->str, NULL, 10) == version);
}

static void assert_call_runs(struct usher__redis_conn *c, int node, uint64_t version)
{
    redisReply *r = say(c, CALL);

    assert_ran(r, node, version);
    freeReplyObject(r);
}

/* The call fails with @word, the slot of KEY and the address of @node. */
static void assert_call_fails(struct usher__redis_conn *c, const char *word, const struct fake *f,
                              int node)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%s %d 127.0.0.1:%d", word, fake_slot(KEY),
                   fake_port(f, node));
    assert_says(c, CALL, REDIS_REPLY_ERROR, text);
}

static void assert_lost(struct usher__redis_conn *c, int64_t deadline)
{
    redisReply *r = NULL;

    assert_int_equal(usher__redis_conn_read(c, deadline, &r), USHER_UNKNOWN);
    assert_null(r);
    assert_false(usher__redis_conn_is_connected(c));
}

/* The slot of KEY is node 0's. */
static struct fake *fake_with(int nodes)
{
    struct fake *f = fake_start(nodes);

    assert_non_null(f);
    fake_give(f, FAKE_ALL, fake_slot(KEY), fake_slot(KEY), 0);
    return f;
}

/* ---- a healthy node ---- */

TEST(slots_of_keys_are_those_of_redis)
{
    assert_int_equal(fake_slot("123456789"), 0x31c3);
    assert_int_equal(fake_slot("{user1000}.following"), fake_slot("user1000"));
    assert_int_equal(fake_slot("foo{{bar}}zap"), fake_slot("{bar"));
    assert_int_equal(fake_slot("foo{bar}{zap}"), fake_slot("bar"));
    assert_int_not_equal(fake_slot("{}x"), fake_slot("{}y"));
    assert_int_equal(fake_slot(""), 0);
}

TEST(a_node_looks_like_a_healthy_master)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c = connected(f, 1);
    redisReply *r;

    assert_says(c, "ping", REDIS_REPLY_STATUS, "PONG");
    assert_says(c, "AUTH secret", REDIS_REPLY_STATUS, "OK");
    assert_says(c, "CLIENT SETNAME x", REDIS_REPLY_STATUS, "OK");
    assert_says(c, "SELECT 0", REDIS_REPLY_STATUS, "OK");
    assert_says(c, "SELECT 1", REDIS_REPLY_ERROR, "ERR SELECT is not allowed in cluster mode");
    assert_says(c, "CLUSTER MYID", REDIS_REPLY_STRING, fake_id(f, 1));
    assert_int_equal(strlen(fake_id(f, 1)), 40);
    assert_string_not_equal(fake_id(f, 1), fake_id(f, 0));
    assert_text_has(c, "INFO replication", "\nrole:master\r\n");
    assert_text_has(c, "INFO replication", "\nmaster_replid:0002");
    assert_text_has(c, "INFO cluster", "\ncluster_enabled:1\r\n");
    assert_text_has(c, "CLUSTER INFO", "cluster_state:ok\r\n");
    r = say(c, "TIME");
    assert_int_equal(r->elements, 2);
    assert_true(strtoull(r->element[0]->str, NULL, 10) > 1700000000);
    freeReplyObject(r);
    r = say(c, "NOSUCH thing");
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_non_null(strstr(r->str, "unknown command 'NOSUCH'"));
    freeReplyObject(r);
    usher__redis_conn_close(c);
    fake_stop(f);
}

static void assert_range(const redisReply *r, int first, int last, const struct fake *f, int node,
                         size_t replicas)
{
    assert_int_equal(r->elements, 3 + replicas);
    assert_int_equal(r->element[0]->integer, first);
    assert_int_equal(r->element[1]->integer, last);
    assert_string_equal(r->element[2]->element[0]->str, "127.0.0.1");
    assert_int_equal(r->element[2]->element[1]->integer, fake_port(f, node));
    assert_string_equal(r->element[2]->element[2]->str, fake_id(f, node));
}

TEST(each_node_returns_its_own_slot_map)
{
    struct fake *f = fake_start(3);
    struct usher__redis_conn *c[2];
    redisReply *r;

    assert_non_null(f);
    for (int i = 0; i < 2; i++)
        c[i] = connected(f, i);
    fake_follow(f, 2, 1);
    fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 0);
    fake_give(f, FAKE_ALL, 100, 200, 1);
    fake_give(f, 1, 201, FAKE_SLOTS - 1, FAKE_NO_NODE);
    r = say(c[0], "CLUSTER SLOTS");
    assert_int_equal(r->elements, 3);
    assert_range(r->element[0], 0, 99, f, 0, 0);
    assert_range(r->element[1], 100, 200, f, 1, 1);
    assert_int_equal(r->element[1]->element[3]->element[1]->integer, fake_port(f, 2));
    assert_range(r->element[2], 201, FAKE_SLOTS - 1, f, 0, 0);
    freeReplyObject(r);
    r = say(c[1], "CLUSTER SLOTS");
    assert_int_equal(r->elements, 2);
    assert_range(r->element[1], 100, 200, f, 1, 1);
    freeReplyObject(r);
    assert_text_has(c[1], "CLUSTER INFO", "cluster_state:fail\r\n");
    fake_give(f, 1, 0, FAKE_SLOTS - 1, FAKE_NO_NODE);
    r = say(c[1], "CLUSTER SLOTS");
    assert_int_equal(r->elements, 0);
    freeReplyObject(r);
    for (int i = 0; i < 2; i++)
        usher__redis_conn_close(c[i]);
    fake_stop(f);
}

TEST(replica_reports_its_role_and_a_new_id_as_master)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c = connected(f, 1);
    char part[64];

    fake_follow(f, 1, 0);
    assert_text_has(c, "INFO replication", "\nrole:slave\r\n");
    assert_text_has(c, "INFO replication", "\nmaster_replid:00010000");
    (void)snprintf(part, sizeof part, "\nmaster_port:%d\r\n", fake_port(f, 0));
    assert_text_has(c, "INFO replication", part);
    fake_follow(f, 1, FAKE_NO_NODE);
    assert_text_has(c, "INFO replication", "\nrole:master\r\n");
    assert_text_has(c, "INFO replication", "\nmaster_replid:00020001");
    usher__redis_conn_close(c);
    fake_stop(f);
}

TEST(a_url_names_all_nodes)
{
    struct fake *f = fake_start(FAKE_NODES_MAX);
    char url[FAKE_URL_MAX], end[32];

    assert_non_null(f);
    (void)fake_url(f, url);
    (void)snprintf(end, sizeof end, ",127.0.0.1:%d", fake_port(f, FAKE_NODES_MAX - 1));
    assert_memory_equal(url, "redis+cluster://127.0.0.1:", 26);
    assert_string_equal(url + strlen(url) - strlen(end), end);
    fake_stop(f);
}

/* ---- scripts ---- */

TEST(a_script_runs_where_its_slot_is)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c[2];

    for (int i = 0; i < 2; i++)
        c[i] = connected(f, i);
    assert_call_runs(c[0], 0, 1);
    assert_call_runs(c[0], 0, 2);
    assert_call_fails(c[1], "MOVED", f, 0);
    fake_give(f, 0, fake_slot(KEY), fake_slot(KEY), 1); /* both name each other */
    assert_call_fails(c[0], "MOVED", f, 1);
    fake_give(f, 1, fake_slot(KEY), fake_slot(KEY), 1);
    assert_call_runs(c[1], 1, 1);
    fake_give(f, FAKE_ALL, fake_slot(KEY), fake_slot(KEY), FAKE_NO_NODE);
    assert_says(c[1], CALL, REDIS_REPLY_ERROR, "CLUSTERDOWN Hash slot not served");
    assert_says(c[1], "EVALSHA " SHA " 2 {a} {b}", REDIS_REPLY_ERROR,
                "CROSSSLOT Keys in request don't hash to the same slot");
    assert_says(c[1], "EVALSHA " SHA " 2 {a}", REDIS_REPLY_ERROR,
                "ERR Number of keys can't be greater than number of args");
    for (int i = 0; i < 2; i++)
        usher__redis_conn_close(c[i]);
    fake_stop(f);
}

TEST(asking_allows_one_command)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c[2], *other;
    redisReply *r;

    for (int i = 0; i < 2; i++)
        c[i] = connected(f, i);
    other = connected(f, 1);
    assert_says(c[1], "ASKING", REDIS_REPLY_STATUS, "OK");
    assert_call_fails(c[1], "MOVED", f, 0); /* nothing is on its way */
    fake_migrate(f, fake_slot(KEY), 0, 1);
    assert_call_fails(c[0], "ASK", f, 1);
    assert_call_fails(c[1], "MOVED", f, 0);
    add(c[1], "ASKING");
    add(c[1], CALL);
    add(c[1], CALL);
    add(c[1], "ASKING");
    add(c[1], "PING");
    add(c[1], CALL);
    flush(c[1]);
    assert_next_is(c[1], REDIS_REPLY_STATUS, "OK");
    r = next(c[1]);
    assert_ran(r, 1, 1);
    freeReplyObject(r);
    for (int i = 0; i < 4; i++) {
        r = next(c[1]);
        assert_int_equal(r->type, i == 0 || i == 3 ? REDIS_REPLY_ERROR : REDIS_REPLY_STATUS);
        freeReplyObject(r);
    }
    /* it is the connection's */
    assert_says(c[1], "ASKING", REDIS_REPLY_STATUS, "OK");
    assert_call_fails(other, "MOVED", f, 0);
    assert_call_runs(c[1], 1, 2);
    /* a script that is loaded takes it */
    assert_says(c[1], "ASKING", REDIS_REPLY_STATUS, "OK");
    freeReplyObject(say(c[1], "SCRIPT LOAD x"));
    assert_call_fails(c[1], "MOVED", f, 0);
    fake_migrated(f, fake_slot(KEY), 1);
    assert_call_fails(c[0], "MOVED", f, 1);
    assert_call_runs(c[1], 1, 3);
    usher__redis_conn_close(other);
    for (int i = 0; i < 2; i++)
        usher__redis_conn_close(c[i]);
    fake_stop(f);
}

TEST(flushed_scripts_are_to_be_loaded_again)
{
    struct fake *f = fake_with(1);
    struct usher__redis_conn *c = connected(f, 0);
    redisReply *one, *two;
    char line[128];

    one = say(c, "SCRIPT LOAD return(1)");
    two = say(c, "SCRIPT LOAD return(2)");
    assert_int_equal(one->len, 40);
    assert_string_not_equal(one->str, two->str);
    (void)snprintf(line, sizeof line, "EVALSHA %s 0", one->str);
    freeReplyObject(two);
    two = say(c, line);
    assert_ran(two, 0, 1);
    freeReplyObject(two);
    fake_flush_scripts(f, FAKE_ALL);
    assert_says(c, line, REDIS_REPLY_ERROR, "NOSCRIPT No matching script. Please use EVAL.");
    freeReplyObject(say(c, "SCRIPT LOAD return(1)"));
    two = say(c, line);
    assert_ran(two, 0, 2);
    assert_says(c, CALL, REDIS_REPLY_ERROR, "NOSCRIPT No matching script. Please use EVAL.");
    freeReplyObject(one);
    freeReplyObject(two);
    usher__redis_conn_close(c);
    fake_stop(f);
}

TEST(every_verb_has_a_plain_answer)
{
    unsigned n = 0;

    for (unsigned noun = 1; noun < 256; noun++) {
        for (unsigned i = 1; usher__noun(noun) != NULL && i <= usher__noun(noun)->n_verbs; i++) {
            const struct usher_context context = { .now_ms = 0 };
            char answer[FAKE_ANSWER_MAX];
            struct usher_operation command;
            struct usher_result reply;
            size_t size;
            char *data;

            memset(&command, 0, sizeof command);
            command.verb = (enum usher_verb)(noun << 8 | i);
            if (usher__verb((unsigned)command.verb) == NULL)
                continue;
            size = fake_answer(command.verb, FAKE_EPOCH(3), 7, answer);
            assert_true(size < FAKE_ANSWER_MAX);
            data = strchr(answer, '\n') + 1;
            assert_int_equal(strtoul(answer + 1, NULL, 10), size - (size_t)(data - answer) - 2);
            usher__result_init(&reply, (enum usher_noun)noun, usher__allocator(NULL));
            if (usher_result_unpack(&command, data, size - (size_t)(data - answer) - 2, &reply,
                                    &context) != USHER_OK)
                fail_msg("%s %s", usher__noun(noun)->word, usher_verb_word(command.verb));
            assert_int_equal(reply.status, USHER_OK);
            assert_true(reply.epoch == 4 && reply.version == 7);
            usher_result_done(&reply);
            n++;
        }
    }
    assert_true(n > 60);
}

static struct usher_engine *engine_on(struct fake *f, int node)
{
    struct usher_engine *e = NULL;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=%d", fake_port(f, node), LONG);
    if (usher_open(url, NULL, &e) != USHER_OK)
        fail_msg("%s", usher_message());
    return e;
}

TEST(an_engine_learns_which_node_answered)
{
    struct fake *f = fake_start(2);
    struct usher_engine *e;
    struct usher_number_result_statistics stats;
    struct ask_number_hold hold;

    assert_non_null(f);
    fake_give(f, FAKE_ALL, 0, FAKE_SLOTS - 1, 1);
    e = engine_on(f, 1);
    assert_int_equal(ask_number_add(e, "desk", "1", NULL), USHER_OK);
    assert_int_equal(ask_number_call(e, "desk", "ann", NULL, &hold), USHER_OK);
    assert_true(hold.epoch == FAKE_EPOCH(1));
    assert_true(hold.token == 2);
    assert_string_equal(hold.number, "1");
    assert_int_equal(ask_number_hangup(e, "desk", "1", hold.token, -1), USHER_OK);
    assert_int_equal(ask_number_stats(e, "desk", &stats), USHER_OK);
    assert_int_equal(fake_seen(f, 1, "SCRIPT LOAD"), 1);
    assert_int_equal(fake_seen(f, 1, "EVALSHA"), 4);
    assert_int_equal(fake_seen(f, 0, NULL), 0);
    usher_close(e);
    fake_stop(f);
}

TEST(commands_of_a_batch_are_answered_each)
{
    struct fake *f = fake_start(1);
    struct usher_engine *e;
    struct usher_operation c[20];
    struct usher_result replies[20];

    assert_non_null(f);
    e = engine_on(f, 0);
    memset(c, 0, sizeof c);
    for (size_t i = 0; i < 20; i++) {
        c[i].verb = i % 4 == 0   ? USHER_NUMBER_CALL
                    : i % 4 == 1 ? USHER_NUMBER_HANGUP
                    : i % 4 == 2 ? USHER_NUMBER_SHOW
                                 : USHER_QUEUE_STATS;
        c[i].scope = (struct usher_text){ "desk", 4 };
        if (i % 4 == 0)
            c[i].arg.number.owner = (struct usher_text){ "ann", 3 };
        else if (i % 4 != 3)
            c[i].arg.number.number = (struct usher_text){ "1", 1 };
        if (i % 4 == 1) {
            c[i].given = USHER_GIVEN_TOKEN;
            c[i].arg.number.token = 1000000;
        }
    }
    assert_int_equal(usher_operate(e, c, replies, 20), USHER_OK);
    for (size_t i = 0; i < 20; i++) {
        if (replies[i].status != USHER_OK)
            fail_msg("%zu: %s", i, replies[i].message);
        assert_true(replies[i].epoch == FAKE_EPOCH(0));
        assert_true(replies[i].version >= 1 && replies[i].version <= 20);
        usher_result_done(&replies[i]);
    }
    usher_close(e);
    fake_stop(f);
}

/* ---- rules ---- */

TEST(rules_decide_in_their_order_and_are_used_up)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c = connected(f, 0), *other = connected(f, 1);
    const struct fake_rule third = {
        .match = "evalsha", .skip = 2, .times = 1, .action = FAKE_ERROR, .text = "OOM third"
    };
    const struct fake_rule passes = { .match = "INFO memory", .action = FAKE_PASS };
    const struct fake_rule tagged = { .with = "{desk}",
                                      .times = 1,
                                      .action = FAKE_REPLY,
                                      .text = "*2\r\n:1\r\n$3\r\na\0b\r\n",
                                      .size = 17 };
    redisReply *r;

    fake_error(f, 0, "EVALSHA", 2, "LOADING %d", 1);
    fake_rule(f, 0, &third);
    fake_rule(f, 0, &passes);
    fake_error(f, 0, "INFO", 0, "NOPERM");
    for (int i = 0; i < 2; i++)
        assert_says(c, CALL, REDIS_REPLY_ERROR, "LOADING 1");
    assert_call_runs(c, 0, 1);
    assert_call_runs(c, 0, 2);
    assert_says(c, CALL, REDIS_REPLY_ERROR, "OOM third");
    assert_call_runs(c, 0, 3);
    for (int i = 0; i < 5; i++)
        assert_says(c, "info", REDIS_REPLY_ERROR, "NOPERM");
    assert_text_has(c, "INFO MEMORY", "maxmemory_policy");
    assert_text_has(other, "INFO", "maxmemory_policy"); /* each node has its own */
    fake_rule(f, 0, &tagged);
    r = say(c, CALL);
    assert_int_equal(r->elements, 2);
    assert_memory_equal(r->element[1]->str, "a\0b", 3);
    freeReplyObject(r);
    assert_call_runs(c, 0, 4);
    fake_clear(f, FAKE_ALL);
    assert_text_has(c, "INFO", "maxmemory_policy");
    fake_error(f, FAKE_ALL, NULL, 1, "ERR any");
    assert_says(c, "PING", REDIS_REPLY_ERROR, "ERR any");
    assert_says(c, "PING", REDIS_REPLY_STATUS, "PONG");
    assert_says(other, "PING", REDIS_REPLY_ERROR, "ERR any");
    usher__redis_conn_close(c);
    usher__redis_conn_close(other);
    fake_stop(f);
}

TEST(a_connection_ends_before_in_or_after_an_answer)
{
    static const struct {
        struct fake_rule rule;
        unsigned seen;
        uint64_t version; /* of the following call */
    } ends[] = {
        { { .match = "EVALSHA", .times = 1, .action = FAKE_RESET }, 0, 1 },
        { { .match = "EVALSHA", .times = 1, .action = FAKE_CLOSE }, 1, 2 },
        { { .match = "EVALSHA", .times = 1, .action = FAKE_CUT, .bytes = 0 }, 1, 2 },
        { { .match = "EVALSHA", .times = 1, .action = FAKE_CUT, .bytes = 9 }, 1, 2 },
        { { .match = "EVALSHA", .times = 1, .action = FAKE_CUT, .text = "$9\r\n1", .bytes = 5 },
          1,
          1 },
    };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct fake *f = fake_with(1);
        struct usher__redis_conn *c = connected(f, 0);

        fake_rule(f, 0, &ends[i].rule);
        add(c, "PING");
        add(c, CALL);
        add(c, "PING");
        flush(c);
        assert_next_is(c, REDIS_REPLY_STATUS, "PONG");
        assert_lost(c, in_ms(LONG));
        assert_int_equal(fake_seen(f, 0, "EVALSHA"), ends[i].seen);
        assert_int_equal(fake_seen(f, 0, "PING"), 2); /* with that of the handshake */
        assert_int_equal(usher__redis_conn_connect(c, in_ms(LONG)), USHER_OK);
        assert_call_runs(c, 0, ends[i].version);
        assert_int_equal(fake_connections(f, 0), 2);
        usher__redis_conn_close(c);
        fake_stop(f);
    }
    /* whole, then closed */
    {
        struct fake *f = fake_with(1);
        struct usher__redis_conn *c = connected(f, 0);
        const struct fake_rule r = { .match = "PING", .action = FAKE_CUT, .bytes = 100 };

        fake_rule(f, 0, &r);
        add(c, "PING");
        add(c, "PING");
        flush(c);
        assert_next_is(c, REDIS_REPLY_STATUS, "PONG");
        assert_lost(c, in_ms(LONG));
        usher__redis_conn_close(c);
        fake_stop(f);
    }
}

TEST(silence_lasts_and_what_is_held_comes_when_it_may)
{
    struct fake *f = fake_with(1);
    struct usher__redis_conn *c = connected(f, 0), *other = connected(f, 0);
    const struct fake_rule silent = { .match = "EVALSHA", .times = 1, .action = FAKE_SILENT };
    const struct fake_rule held = { .match = "EVALSHA", .times = 1, .action = FAKE_HOLD };
    redisReply *r;

    fake_rule(f, 0, &silent);
    add(c, CALL);
    add(c, "PING");
    flush(c);
    assert_true(fake_wait_seen(f, 0, "PING", 3, LONG));
    fake_release(f, FAKE_ALL);
    assert_lost(c, in_ms(SHORT));
    assert_call_runs(other, 0, 2); /* the one before was run */

    fake_rule(f, 0, &held);
    add(other, "PING");
    add(other, CALL);
    add(other, "PING");
    flush(other);
    assert_next_is(other, REDIS_REPLY_STATUS, "PONG");
    assert_true(fake_wait_seen(f, 0, "PING", 5, LONG));
    assert_false(fake_wait_seen(f, 0, "PING", 6, SHORT));
    fake_release(f, 0);
    r = next(other);
    assert_ran(r, 0, 3);
    freeReplyObject(r);
    assert_next_is(other, REDIS_REPLY_STATUS, "PONG");

    /* held, and never released */
    fake_rule(f, 0, &held);
    add(other, CALL);
    flush(other);
    assert_lost(other, in_ms(SHORT));
    usher__redis_conn_close(c);
    usher__redis_conn_close(other);
    fake_stop(f);
}

TEST(a_node_may_be_down_and_come_back)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c = connected(f, 0), *other = connected(f, 1);

    fake_down(f, 0, true);
    add(c, "PING");
    if (usher__redis_conn_flush(c) == USHER_OK) {
        redisReply *r = NULL;

        assert_int_not_equal(usher__redis_conn_read(c, in_ms(LONG), &r), USHER_OK);
    }
    assert_int_equal(usher__redis_conn_connect(c, in_ms(LONG)), USHER_UNAVAILABLE);
    assert_non_null(strstr(usher__redis_conn_message(c), "connection refused"));
    assert_says(other, "PING", REDIS_REPLY_STATUS, "PONG");
    fake_down(f, 0, true); /* it is */
    fake_down(f, 0, false);
    assert_int_equal(usher__redis_conn_connect(c, in_ms(LONG)), USHER_OK);
    assert_call_runs(c, 0, 1);
    fake_drop(f, FAKE_ALL);
    assert_int_equal(usher__redis_conn_connect(c, in_ms(LONG)), USHER_OK);
    assert_int_equal(fake_connections(f, 0), 3);
    usher__redis_conn_close(c);
    usher__redis_conn_close(other);
    fake_stop(f);
}

/* ---- the journal ---- */

TEST(the_journal_has_what_came_in_its_order)
{
    struct fake *f = fake_with(2);
    struct usher__redis_conn *c = connected(f, 0), *other = connected(f, 0);

    fake_forget(f, FAKE_ALL);
    assert_null(fake_line(f, 0, 0));
    freeReplyObject(say(other, "ECHO a\nb"));
    freeReplyObject(say(c, "cluster myid"));
    freeReplyObject(say(c, "CLUSTER SLOTS"));
    assert_string_equal(fake_line(f, 0, 0), "2 ECHO a?b");
    assert_string_equal(fake_line(f, 0, 1), "1 cluster myid");
    assert_string_equal(fake_line(f, 0, 2), "1 CLUSTER SLOTS");
    assert_null(fake_line(f, 0, 3));
    assert_null(fake_line(f, 1, 0));
    assert_int_equal(fake_seen(f, 0, NULL), 3);
    assert_int_equal(fake_seen(f, 0, "CLUSTER"), 2);
    assert_int_equal(fake_seen(f, FAKE_ALL, "CLUSTER MYID"), 1);
    assert_int_equal(fake_seen(f, 0, "CLUST"), 0);
    assert_int_equal(fake_seen(f, 1, NULL), 0);
    assert_false(fake_wait_seen(f, 1, NULL, 1, 1));
    usher__redis_conn_close(c);
    usher__redis_conn_close(other);
    fake_stop(f);
}

TEST(large_commands_and_long_pipelines_get_through)
{
    enum { LARGE = 1 << 20, MANY = 5000 };
    struct fake *f = fake_with(1);
    struct usher__redis_conn *c = connected(f, 0);
    char *text = malloc(LARGE);
    redisReply *r;

    assert_non_null(text);
    memset(text, 'x', LARGE);
    usher__redis_conn_begin(c, 3);
    usher__redis_conn_arg_str(c, "SCRIPT");
    usher__redis_conn_arg_str(c, "LOAD");
    usher__redis_conn_arg(c, text, LARGE);
    flush(c);
    r = next(c);
    assert_int_equal(r->len, 40);
    freeReplyObject(r);
    for (int i = 0; i < MANY; i++)
        add(c, i % 2 == 0 ? CALL : "INFO");
    flush(c);
    for (uint64_t i = 0; i < MANY; i++) {
        r = next(c);
        if (i % 2 == 0)
            assert_ran(r, 0, i / 2 + 1);
        freeReplyObject(r);
    }
    free(text);
    usher__redis_conn_close(c);
    fake_stop(f);
}
