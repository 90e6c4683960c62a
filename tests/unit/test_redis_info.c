/* SPDX-License-Identifier: MIT */
/* INFO of servers, as it differs from version to version, and as it should not be. */
#include "lib/test.h"

#include <hiredis/hiredis.h>

#include "../../backends/redis/info.h"

static redisReply string(const char *text)
{
    redisReply r = { .type = REDIS_REPLY_STRING, .str = (char *)(uintptr_t)text };

    r.len = strlen(text);
    return r;
}

static void is(const redisReply *info, const char *field, const char *value)
{
    struct usher_text got = usher__redis_info(info, field);

    if (!usher__redis_info_is(&got, value))
        fail_msg("%s is `%.*s', not `%s'", field, (int)got.size, got.data, value);
}

TEST(fields_are_found_by_their_whole_name)
{
    redisReply info =
                   string("# Server\r\nredis_version:7.0.15\r\n\r\n# Replication\r\nrole:master\r\n"
                          "xrole:slave\r\nempty:\r\nlast:1"),
               status = string("role:master"), nothing = string("");

    is(&info, "redis_version", "7.0.15");
    is(&info, "role", "master");
    is(&info, "ole", "");
    is(&info, "rol", "");
    is(&info, "version", "");
    is(&info, "empty", "");
    is(&info, "last", "1");
    is(&nothing, "role", "");
    is(NULL, "role", "");
    status.type = REDIS_REPLY_ERROR;
    is(&status, "role", "");
}

static void software(const char *text, const char *expected)
{
    redisReply info = string(text);
    char to[USHER__REDIS_SOFTWARE_MAX];

    memset(to, 'x', sizeof to);
    usher__redis_software(&info, to);
    if (strcmp(to, expected) != 0)
        fail_msg("`%s', not `%s'", to, expected);
}

TEST(a_server_has_the_name_of_its_product)
{
    char long_one[600] = "# Server\r\nredict_version:", cut[48] = "Redict ";
    redisReply error = string("redis_version:7.0.15\r\n");
    char to[USHER__REDIS_SOFTWARE_MAX];

    software("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n", "Redis 7.0.15");
    software("# Server\r\nredict_version:7.3.6\r\nredict_mode:standalone\r\n"
             "redis_version:7.2.4\r\n",
             "Redict 7.3.6");
    software("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n",
             "Valkey 8.1.1");
    software("# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.40.1\r\n",
             "Dragonfly df-v1.40.1");
    software("# Server\r\nredis_version:6.3.4\r\n# KeyDB\r\nmvcc_depth:0\r\n", "KeyDB 6.3.4");
    /* whatever comes */
    software("", "");
    software("redis_version:", "");
    software("redict_version:\r\nredis_version:7.2.4", "Redis 7.2.4");
    software("mvcc_depth:0\r\n", "");
    software("xredict_version:1\r\nredis_version:6.0.16", "Redis 6.0.16");
    memset(long_one + strlen(long_one), '9', 500);
    memset(cut + 7, '9', 40);
    software(long_one, cut);
    error.type = REDIS_REPLY_ERROR;
    usher__redis_software(&error, to);
    assert_string_equal(to, "");
}

TEST(numbers_are_digits)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = { { "0", 0 },
                  { "123456789012345678", 123456789012345678 },
                  { "1234567890123456789", -1 },
                  { "", -1 },
                  { "-1", -1 },
                  { "1.5", -1 },
                  { "1 ", -1 },
                  { "0x1", -1 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct usher_text text = { cases[i].text, strlen(cases[i].text) };

        assert_int_equal(usher__redis_natural(&text), cases[i].value);
    }
}

static enum usher_durability durability(const char *text, const char *fsync)
{
    redisReply info = string(text), name = string("appendfsync"),
               value = string(fsync != NULL ? fsync : ""), error = string("NOPERM no"), config;
    redisReply *pair[] = { &name, &value };

    memset(&config, 0, sizeof config);
    config.type = REDIS_REPLY_ARRAY;
    config.elements = 2;
    config.element = pair;
    error.type = REDIS_REPLY_ERROR;
    return usher__redis_durability(&info, fsync != NULL ? &config : &error);
}

TEST(durability_follows_from_the_persistence_settings)
{
    assert_int_equal(durability("aof_enabled:0\r\n", "everysec"), USHER_DURABILITY_SNAPSHOT);
    assert_int_equal(durability("aof_enabled:1\r\n", "everysec"), USHER_DURABILITY_SECOND);
    assert_int_equal(durability("aof_enabled:1\r\n", "always"), USHER_DURABILITY_DISK);
    assert_int_equal(durability("aof_enabled:1\r\n", "no"), USHER_DURABILITY_FILE);
    assert_int_equal(durability("aof_enabled:1\r\n", "what"), USHER_DURABILITY_FILE);
    /* managed services refuse CONFIG */
    assert_int_equal(durability("aof_enabled:1\r\n", NULL), USHER_DURABILITY_FILE);
    assert_int_equal(durability("aof_enabled:0\r\n", NULL), USHER_DURABILITY_SNAPSHOT);
    assert_int_equal(durability("aof_enabled:yes\r\n", "always"), USHER_DURABILITY_UNKNOWN);
    assert_int_equal(durability("", "always"), USHER_DURABILITY_UNKNOWN);
}

TEST(an_evicting_server_is_logged)
{
    static const char *const evict[] = { "allkeys-lru", "allkeys-lfu", "allkeys-random",
                                         "allkeys-lrm" };
    static const char *const keep[] = { "noeviction", "volatile-lru", "volatile-ttl", "allkeys",
                                        "" };
    char text[64];
    redisReply info;

    for (size_t i = 0; i < sizeof evict / sizeof *evict; i++) {
        (void)snprintf(text, sizeof text, "maxmemory_policy:%s\r\n", evict[i]);
        info = string(text);
        assert_true(usher__redis_evicts(&info));
    }
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        (void)snprintf(text, sizeof text, "maxmemory_policy:%s\r\n", keep[i]);
        info = string(text);
        assert_false(usher__redis_evicts(&info));
    }
}

/* @lines and the offset of the master, as one replica. */
static bool replica(const char *lines, struct usher_node *node,
                    char address[USHER__REDIS_ADDRESS_MAX])
{
    redisReply info = string(lines);

    memset(node, 0, sizeof *node);
    node->lag_bytes = node->lag_ms = USHER_NONE;
    return usher__redis_replica(&info, 0, node, address);
}

TEST(replica_lines_of_all_versions_are_read)
{
    /* Redis 6.2 and 7; 8 with io-thread and type; Valkey 8 with type */
    static const char *const lines[] = {
        "slave0:ip=10.0.0.2,port=6380,state=online,offset=900,lag=1\r\nmaster_repl_offset:1000\r\n",
        "slave0:ip=10.0.0.2,port=6380,state=online,offset=900,lag=1,io-thread=0\r\n"
        "master_repl_offset:1000\r\n",
        "slave0:ip=10.0.0.2,port=6380,state=online,offset=900,lag=1,type=replica\r\n"
        "master_repl_offset:1000\r\n"
    };
    char address[USHER__REDIS_ADDRESS_MAX];
    struct usher_node node;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_true(replica(lines[i], &node, address));
        assert_int_equal(node.role, USHER_NODE_REPLICA);
        assert_string_equal(address, "10.0.0.2:6380");
        assert_true(node.answers);
        assert_int_equal(node.lag_bytes, 100);
        assert_int_equal(node.lag_ms, 1000);
    }
    assert_true(
        replica("slave0:ip=r.example,port=1,state=wait_bgsave,offset=0,lag=0\r\n", &node, address));
    assert_false(node.answers);
    assert_int_equal(node.lag_bytes, USHER_NONE);
    assert_true(usher__redis_info_is(&node.why, "wait_bgsave"));
}

TEST(a_master_has_no_master_address)
{
    static const char *const none[] = { "",
                                        "slave1:ip=a,port=1,state=online",
                                        "slave0:",
                                        "slave0:port=1,state=online",
                                        "slave0:ip=,port=1",
                                        "slave0:ip=a,port=x",
                                        "slave0:ip=a,port=-1",
                                        "slave0:xip=a,port=1",
                                        "slave0:ip",
                                        "slave0:,,,,=,=" };
    static char text[4096];
    char address[USHER__REDIS_ADDRESS_MAX];
    struct usher_node node;

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (replica(none[i], &node, address))
            fail_msg("%s: %s", none[i], address);
    assert_true(
        replica("slave0:ip=a,port=1,state=online,offset=5,lag=-1\r\nmaster_repl_offset:4\r\n",
                &node, address));
    assert_int_equal(node.lag_bytes, USHER_NONE); /* ahead of its master: unknown */
    assert_int_equal(node.lag_ms, USHER_NONE);
    strcpy(text, "slave0:ip=");
    memset(text + 10, 'x', 3000);
    strcpy(text + 3010, ",port=123456789012345678,state=online");
    assert_true(replica(text, &node, address));
    assert_true(strlen(address) < USHER__REDIS_ADDRESS_MAX);
}
