/* SPDX-License-Identifier: MIT */
/*
 * Error texts of servers, by version, and their meaning for the command that was sent:
 * usher__redis_classify().
 *
 * A refusal before execution changed nothing, so the command may be sent again.  An error of a
 * command inside of a script may come from the middle of a change: it must not pass for a refusal,
 * however much it looks like one.  So a text that allows both is SCRIPT_ERROR, which a caller gets
 * as `unknown`.
 *
 * The texts are recorded from the sources named above each group: Redis 6.2, 7.0, 7.2, 7.4 and 8.0,
 * Valkey 7.2, 8.0, 8.1, 9.0 and 9.1.  A row has the first version of its text; most later versions
 * have it, too.  The texts of Valkey 7.2 are those of Redis 7.2.
 */
#include "lib/test.h"

#include <hiredis/hiredis.h>

#include "conn.h"

static void assert_class(const char *since, const char *text, enum usher__redis_class is)
{
    struct redisReply r;
    size_t n = strlen(text);
    char *copy = malloc(n + 1); /* so that reading beyond is seen */

    assert_non_null(copy);
    memcpy(copy, text, n + 1);
    memset(&r, 0, sizeof r);
    r.type = REDIS_REPLY_ERROR;
    r.str = copy;
    r.len = n;
    if (usher__redis_classify(&r) != is)
        fail_msg("class %d: (%s) \"%s\"", (int)usher__redis_classify(&r), since, text);
    for (r.len = 0; r.len < n; r.len++)
        (void)usher__redis_classify(&r);
    free(copy);
}

struct row {
    const char *since, *text;
    enum usher__redis_class is;
};

static void assert_classes(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_class(rows[i].since, rows[i].text, rows[i].is);
}

#define ASSERT_CLASSES(rows) assert_classes(rows, sizeof(rows) / sizeof *(rows))

/* The place in a script, as servers report it.  6.2 has it twice for errors of redis.call();
 * 7.0 to 8.0 and Valkey up to 9.0; Valkey 9.1. */
#define IN62 "ERR Error running script (call to f_9b6a6a4d7d1b7e3d9b6a6a4d7d1b7e3d9b6a6a4d): "
#define RAISED62 IN62 "@user_script:12: "
#define AT62 "@user_script: 12: "
#define CALL62 RAISED62 AT62
#define IN7 " script: 9b6a6a4d7d1b7e3d9b6a6a4d7d1b7e3d9b6a6a4d, on @user_script:12."
#define IN91 " script: on @user_script:12."

#define DISK62                                                                                    \
    "MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist " \
    "on disk. Commands that may modify the data set are disabled, because this instance is "      \
    "configured to report errors during writes if RDB snapshotting fails "                        \
    "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "    \
    "RDB error."
#define DISK(name)                                                                                \
    "MISCONF " name " is configured to save RDB snapshots, but it's currently unable to persist " \
    "to disk. Commands that may modify the data set are disabled, because this instance is "      \
    "configured to report errors during writes if RDB snapshotting fails "                        \
    "(stop-writes-on-bgsave-error option). Please check the " name " logs for details about the " \
    "RDB error."
#define NO_AOF "MISCONF Errors writing to the AOF file: No space left on device"
#define STALE "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
#define READ_ONLY "READONLY You can't write against a read only replica."
#define NO_MEMORY "OOM command not allowed when used memory > 'maxmemory'."
#define FEW_REPLICAS "NOREPLICAS Not enough good replicas to write."

#define NOT_RUN "The user executing the script can't run this command or subcommand"
#define NO_KEY                                                                          \
    "The user executing the script can't access at least one of the keys mentioned in " \
    "the command arguments"

/* To EVALSHA, SCRIPT LOAD and what the handshake sends themselves. */
TEST(errors_before_execution_have_their_classes)
{
    static const struct row rows[] = {
        /* src/cluster.c: clusterRedirectClient(); the endpoint since 7.0: clusterNode… or
         * getPreferredEndpoint() */
        { "6.2", "MOVED 3999 127.0.0.1:6381", USHER__REDIS_MOVED },
        { "6.2", "ASK 3999 127.0.0.1:6381", USHER__REDIS_ASK },
        { "6.2", "MOVED 3999 2001:db8::1:6381", USHER__REDIS_MOVED },
        { "7.0", "MOVED 3999 node-1.example:6381", USHER__REDIS_MOVED },
        { "7.0", "MOVED 3999 :6381", USHER__REDIS_MOVED },
        { "7.0", "MOVED 3999 ?:6381", USHER__REDIS_MOVED },
        { "7.0", "ASK 3999 :6381", USHER__REDIS_ASK },
        { "6.2", "TRYAGAIN Multiple keys request during rehashing of slot", USHER__REDIS_RETRY },
        { "6.2", "CLUSTERDOWN The cluster is down", USHER__REDIS_RETRY },
        { "6.2", "CLUSTERDOWN The cluster is down and only accepts read commands",
          USHER__REDIS_RETRY },
        { "6.2", "CLUSTERDOWN Hash slot not served", USHER__REDIS_RETRY },
        { "6.2", "CROSSSLOT Keys in request don't hash to the same slot", USHER__REDIS_REFUSED },
        { "6.2", "ERR This instance has cluster support disabled", USHER__REDIS_REFUSED },
        /* src/cluster.c of Redis 8.4: a slot that has moved as a whole */
        { "8.4", "TRYAGAIN Slot is being trimmed", USHER__REDIS_RETRY },

        /* src/server.c: createSharedObjects(); the name of the server since Valkey 8.0 */
        { "6.2", "LOADING Redis is loading the dataset in memory", USHER__REDIS_RETRY },
        { "Valkey 8.0", "LOADING Valkey is loading the dataset in memory", USHER__REDIS_RETRY },
        { "6.2",
          "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
          USHER__REDIS_RETRY },
        { "7.0",
          "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN "
          "NOSAVE.",
          USHER__REDIS_RETRY },
        { "7.0", "BUSY Redis is busy running a module command.", USHER__REDIS_RETRY },
        { "Valkey 8.0",
          "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
          "NOSAVE.",
          USHER__REDIS_RETRY },
        { "Valkey 8.0", "BUSY Valkey is busy running a module command.", USHER__REDIS_RETRY },
        { "6.2", STALE, USHER__REDIS_RETRY },
        { "6.2", FEW_REPLICAS, USHER__REDIS_RETRY },
        { "6.2", READ_ONLY, USHER__REDIS_REFUSED },
        { "6.2", NO_MEMORY, USHER__REDIS_REFUSED },
        { "6.2", DISK62, USHER__REDIS_REFUSED },
        { "7.0", DISK("Redis"), USHER__REDIS_REFUSED },
        { "Valkey 8.0", DISK("Valkey"), USHER__REDIS_REFUSED },
        { "6.2", NO_AOF, USHER__REDIS_REFUSED },
        { "6.2", "NOSCRIPT No matching script. Please use EVAL.", USHER__REDIS_NOSCRIPT },
        { "Valkey 8.0", "NOSCRIPT No matching script.", USHER__REDIS_NOSCRIPT },

        /* src/script.c: scriptPrepareForRun(), of scripts that say what they do (ours do not) */
        { "7.0", "READONLY Can not run script with write flag on readonly replica",
          USHER__REDIS_REFUSED },
        { "7.0",
          "MISCONF Redis is configured to persist data to AOF, but it's currently unable to "
          "persist to disk. Writable scripts are blocked. Use 'no-writes' flag for read only "
          "scripts. AOF error: No space left on device",
          USHER__REDIS_REFUSED },
        { "7.0",
          "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and "
          "'allow-stale' flag is not set on the script.",
          USHER__REDIS_RETRY },
        { "7.0",
          "OOM allow-oom flag is not set on the script, can not run it when used memory > "
          "'maxmemory'",
          USHER__REDIS_REFUSED },

        /* src/server.c: processCommand(); the words of rights in src/acl.c since 7.2 */
        { "6.2", "NOAUTH Authentication required.", USHER__REDIS_REFUSED },
        { "6.2",
          "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
          USHER__REDIS_REFUSED },
        { "6.2",
          "NOPERM this user has no permissions to run the 'script' command or its subcommand",
          USHER__REDIS_REFUSED },
        { "6.2", "NOPERM this user has no permissions to access one of the keys used as arguments",
          USHER__REDIS_REFUSED },
        { "7.0", "NOPERM this user has no permissions to run the 'asking' command",
          USHER__REDIS_REFUSED },
        { "7.0", "NOPERM this user has no permissions to run the 'evalsha' command",
          USHER__REDIS_REFUSED },
        { "7.0", "NOPERM this user has no permissions to run the 'script|load' command",
          USHER__REDIS_REFUSED },
        { "7.0", "NOPERM this user has no permissions to run the 'eval' command",
          USHER__REDIS_REFUSED },
        { "7.2", "NOPERM User desk has no permissions to run the 'evalsha' command",
          USHER__REDIS_REFUSED },
        { "7.2", "NOPERM User desk has no permissions to run the 'eval' command",
          USHER__REDIS_REFUSED },
        { "7.2", "NOPERM User desk has no permissions to run the 'script|load' command",
          USHER__REDIS_REFUSED },
        { "7.2", "NOPERM No permissions to access a key", USHER__REDIS_REFUSED },
        { "Valkey 9.1", "NOPERM No permissions to access database", USHER__REDIS_REFUSED },
        { "6.2", "ERR unknown command `EVALSHA`, with args beginning with: `9b`, `3`, ",
          USHER__REDIS_REFUSED },
        { "6.2", "ERR unknown command `SCRIPT`, with args beginning with: `LOAD`, ",
          USHER__REDIS_REFUSED },
        { "6.2", "ERR unknown command `EVAL`, with args beginning with: `-- SPDX`, `3`, ",
          USHER__REDIS_REFUSED },
        { "7.0", "ERR unknown command 'EVAL', with args beginning with: '-- SPDX' '3' ",
          USHER__REDIS_REFUSED },
        { "7.0", "ERR unknown command 'EVALSHA', with args beginning with: '9b' '3' ",
          USHER__REDIS_REFUSED },
        { "6.2", "ERR wrong number of arguments for 'evalsha' command", USHER__REDIS_REFUSED },
        { "7.0", "ERR wrong number of arguments for 'script|load' command", USHER__REDIS_REFUSED },

        /* src/acl.c, src/networking.c: any new connection */
        { "6.2", "WRONGPASS invalid username-password pair or user is disabled.",
          USHER__REDIS_REFUSED },
        { "6.2", "ERR max number of clients reached", USHER__REDIS_REFUSED },
        { "6.2", "ERR max number of clients + cluster connections reached", USHER__REDIS_REFUSED },
        { "6.2", "ERR Protocol error: invalid bulk length", USHER__REDIS_REFUSED },
        { "6.2",
          "DENIED Redis is running in protected mode because protected mode is enabled, no bind "
          "address was specified, no authentication password is requested to clients.",
          USHER__REDIS_REFUSED },
        { "Valkey 8.0",
          "DENIED Running in protected mode because protected mode is enabled and no password is "
          "set for the default user.",
          USHER__REDIS_REFUSED },

        /* src/scripting.c, src/eval.c: SCRIPT LOAD */
        { "6.2", "ERR Error compiling script (new function): user_script:1: '=' expected near 'x'",
          USHER__REDIS_REFUSED },

        /* what we never ask for, or what is not to be expected: nothing is concluded from it */
        { "6.2", "ERR AUTH <password> called without any password configured for the default user.",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", "NOTBUSY No scripts in execution right now.", USHER__REDIS_SCRIPT_ERROR },
        { "6.2",
          "UNKILLABLE Sorry the script already executed write commands against the dataset. You "
          "can either wait the script termination or kill the server in a hard way using the "
          "SHUTDOWN NOSAVE command.",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2",
          "UNKILLABLE The busy script was sent by a master instance in the context of replication "
          "and cannot be killed.",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", "UNBLOCKED client unblocked via CLIENT UNBLOCK", USHER__REDIS_SCRIPT_ERROR },
        { "6.2", "EXECABORT Transaction discarded because of previous errors.",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", "BUSYKEY Target key name already exists.", USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Can not run script on cluster, 'no-cluster' flag is set.",
          USHER__REDIS_SCRIPT_ERROR },
        { "7.2", "ERR Replica can't interact with the keyspace", USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 8.0", "REDIRECT 127.0.0.1:6381", USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR Could not find scripting engine 'lua'", USHER__REDIS_SCRIPT_ERROR },
    };

    ASSERT_CLASSES(rows);
}

/*
 * Errors of redis.call() about the state of the server, before the first write.  6.2 checks it
 * before each write, except for memory; what can have changed since the first one is unsure.
 */
TEST(errors_of_server_state_in_a_script_have_their_classes)
{
    static const struct row rows[] = {
        /* src/scripting.c: luaRedisGenericCommand() */
        { "6.2", CALL62 "-" READ_ONLY, USHER__REDIS_REFUSED },
        { "6.2", CALL62 "-" NO_MEMORY, USHER__REDIS_REFUSED },
        { "6.2", CALL62 "-" DISK62, USHER__REDIS_REFUSED },
        { "6.2", CALL62 "-" FEW_REPLICAS, USHER__REDIS_RETRY },
        /* writeCommandsDeniedByDiskError(): another thread flushes the file and may fail at any
         * time, between two writes of a script */
        { "6.2", CALL62 "-" NO_AOF, USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 "-MISCONF Errors writing to the AOF file:", USHER__REDIS_SCRIPT_ERROR },

        /* src/script.c: scriptVerifyWriteCommandAllow(), scriptVerifyOOM(): not after a write */
        { "7.0", READ_ONLY IN7, USHER__REDIS_REFUSED },
        { "7.0", NO_MEMORY IN7, USHER__REDIS_REFUSED },
        { "7.0", DISK("Redis") IN7, USHER__REDIS_REFUSED },
        { "7.0", NO_AOF IN7, USHER__REDIS_REFUSED },
        { "7.0", FEW_REPLICAS IN7, USHER__REDIS_RETRY },
        { "Valkey 8.0", DISK("Valkey") IN7, USHER__REDIS_REFUSED },

        /* src/modules/lua/script_lua.c: luaCallFunction() */
        { "Valkey 9.1", READ_ONLY IN91, USHER__REDIS_REFUSED },
        { "Valkey 9.1", NO_MEMORY IN91, USHER__REDIS_REFUSED },
        { "Valkey 9.1", FEW_REPLICAS IN91, USHER__REDIS_RETRY },
        { "Valkey 9.1", DISK("Valkey") IN91, USHER__REDIS_REFUSED },

        /* handed on by lua/dispatch.lua, which had written nothing: 7.0 has no place then */
        { "6.2", AT62 "-" READ_ONLY, USHER__REDIS_REFUSED },
        { "6.2", AT62 "-" NO_MEMORY, USHER__REDIS_REFUSED },
        { "6.2", AT62 "-" FEW_REPLICAS, USHER__REDIS_RETRY },
        { "6.2", AT62 "-" NO_AOF, USHER__REDIS_REFUSED },
    };

    ASSERT_CLASSES(rows);
}

/* A right, a key, a mistake: at any time. */
TEST(errors_within_a_script_have_their_classes)
{
    static const struct row rows[] = {
        /* src/scripting.c: luaRedisGenericCommand(), evalGenericCommand() */
        { "6.2", CALL62 NOT_RUN, USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 NO_KEY, USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 "Lua script attempted to access a non local key in a cluster node",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 "Lua script attempted to execute a command while the cluster is down",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2",
          CALL62 "Lua script attempted to execute a write command while the cluster is down and "
                 "readonly",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 "Wrong number of args calling Redis command From Lua script",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 "Unknown Redis command called from Lua script", USHER__REDIS_SCRIPT_ERROR },
        { "6.2", CALL62 "This Redis command is not allowed from scripts",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", RAISED62 "WRONGTYPE Operation against a key holding the wrong kind of value",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", RAISED62 "user_script:12: attempt to index local 'x' (a nil value)",
          USHER__REDIS_SCRIPT_ERROR },
        { "6.2", RAISED62 "Script killed by user with SCRIPT KILL... ", USHER__REDIS_SCRIPT_ERROR },
        { "6.2", RAISED62 NO_MEMORY, USHER__REDIS_SCRIPT_ERROR },
        { "5.0", "ERR Error running script f_9b, Script killed by user with SCRIPT KILL.",
          USHER__REDIS_SCRIPT_ERROR },

        /* src/script.c: scriptVerify…(), src/script_lua.c: luaCallFunction() */
        { "7.0", "ERR " NOT_RUN IN7, USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR " NO_KEY IN7, USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Script attempted to access a non local key in a cluster node" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Script attempted to access keys that do not hash to the same slot" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Script attempted to execute a command while the cluster is down" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0",
          "ERR Script attempted to execute a write command while the cluster is down and "
          "readonly" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Can not execute the command on a stale replica" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Write commands are not allowed from read-only scripts." IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR This Redis command is not allowed from script" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Wrong number of args calling Redis command from script" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Unknown Redis command called from script" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "WRONGTYPE Operation against a key holding the wrong kind of value" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR user_script:12: attempt to index local 'x' (a nil value)" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR user_script:12: attempt to index local 'x' (a nil value)",
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR Script killed by user with SCRIPT KILL..." IN7, USHER__REDIS_SCRIPT_ERROR },
        { "7.0",
          "ERR Error running script 9b6a6a4d7d1b7e3d9b6a6a4d7d1b7e3d9b6a6a4d, execution failure ",
          USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR reached lua stack limit", USHER__REDIS_SCRIPT_ERROR },
        { "7.2",
          "ERR ACL failure in script: User desk has no permissions to run the 'zadd' command" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.2", "ERR ACL failure in script: No permissions to access a key" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "7.4", "ERR Script attempted to access a slot not served" IN7,
          USHER__REDIS_SCRIPT_ERROR },

        /* the same files of Valkey */
        { "Valkey 8.0", "ERR Script attempted to access a slot not served" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 8.0",
          "ERR Command 'hset' in script attempted to access keys that don't hash to the same "
          "slot" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 8.0",
          "ERR Unable to execute command 'hset' in script because undeclared keys were accessed "
          "during rehashing of the slot" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 8.0", "ERR Wrong number of args calling command from script" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 8.0", "ERR Unknown command called from script" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 8.1", "ERR Script killed by user with SCRIPT KILL." IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.0", "ERR unknown error" IN7, USHER__REDIS_SCRIPT_ERROR },

        /* src/modules/lua/script_lua.c, src/module.c: VM_Call() */
        { "Valkey 9.1",
          "ERR ACL failure in script: User desk has no permissions to run the 'zadd' command" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR ACL failure in script: No permissions to access a key" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR Attempted to access a non local key in a cluster node" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR Can not execute a command 'hset' while the cluster is down" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", STALE IN91, USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR This Valkey command is not allowed from script" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR user_script:12: attempt to index local 'x' (a nil value)" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR Script killed by user with SCRIPT KILL." IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR Error running script, execution failure ", USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR C stack overflow script: on @user_script:?.",
          USHER__REDIS_SCRIPT_ERROR },

        /* and in its words as they are at the door, where luaProcessReplyError() does not put them
         * into others */
        { "Valkey 9.1", "NOPERM User desk has no permissions to run the 'zadd' command" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "NOPERM No permissions to access a key" IN91, USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR wrong number of arguments for 'hset' command" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR unknown command 'HSET', with args beginning with: 'k' " IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "MOVED 3999 127.0.0.1:6381" IN91, USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "CROSSSLOT Keys in request don't hash to the same slot" IN91,
          USHER__REDIS_SCRIPT_ERROR },
        { "Valkey 9.1", "ERR " NO_MEMORY IN91, USHER__REDIS_SCRIPT_ERROR },

        /* handed on by lua/dispatch.lua */
        { "6.2", AT62 NOT_RUN, USHER__REDIS_SCRIPT_ERROR },
        { "7.0", "ERR " NOT_RUN, USHER__REDIS_SCRIPT_ERROR },
        { "7.2",
          "ERR ACL failure in script: User desk has no permissions to run the 'zadd' command",
          USHER__REDIS_SCRIPT_ERROR },
    };

    ASSERT_CLASSES(rows);
}

/* Errors of lua/rights.lua, before any write. */
TEST(errors_of_our_rights_check_have_their_classes)
{
    static const struct row rows[] = {
        { "ours", "NOPERM the user lacks the right to ZADD on t:{desk}:number:index",
          USHER__REDIS_REFUSED },
        { "ours", "NOPERM the user lacks the right to INFO", USHER__REDIS_REFUSED },
    };

    ASSERT_CLASSES(rows);
}

TEST(errors_of_unknown_place_have_their_classes)
{
    static const struct row rows[] = {
        /* a server that does not say that it was in a script */
        { "any", "NOPERM User desk has no permissions to run the 'zadd' command",
          USHER__REDIS_SCRIPT_ERROR },
        { "any", "NOPERM this user has no permissions to run the 'hset' command or its subcommand",
          USHER__REDIS_SCRIPT_ERROR },
        { "any", "NOPERM this user has no permissions", USHER__REDIS_SCRIPT_ERROR },
        { "any", "ERR unknown command 'ZADD', with args beginning with: 'k' ",
          USHER__REDIS_SCRIPT_ERROR },
        { "any", "ERR wrong number of arguments for 'hset' command", USHER__REDIS_SCRIPT_ERROR },
        { "any", "OOM command not allowed, in @user_script", USHER__REDIS_SCRIPT_ERROR },
        { "any", "WRONGTYPE Operation against a key", USHER__REDIS_SCRIPT_ERROR },
        { "any", "ERR syntax error", USHER__REDIS_SCRIPT_ERROR },

        /* words that only begin like one, and none at all */
        { "any", "ASKING", USHER__REDIS_SCRIPT_ERROR },
        { "any", "OO", USHER__REDIS_SCRIPT_ERROR },
        { "any", "", USHER__REDIS_SCRIPT_ERROR },
        { "any", " LOADING", USHER__REDIS_SCRIPT_ERROR },
        { "any", "loading", USHER__REDIS_SCRIPT_ERROR },
        { "any", "LOADING BUSY", USHER__REDIS_RETRY },
        { "any", "NOREPLICAS", USHER__REDIS_RETRY },

        /* in the wrong place */
        { "any", "NOPERM ACL failure in script: no permissions" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "CROSSSLOT x" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "LOADING x" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "CLUSTERDOWN x" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "TRYAGAIN x" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "NOSCRIPT x" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "MOVED 1 h:1" IN7, USHER__REDIS_SCRIPT_ERROR },
        { "any", "ERR wrong number of arguments for 'hset' command" IN7,
          USHER__REDIS_SCRIPT_ERROR },
        { "any", CALL62 "-LOADING x", USHER__REDIS_SCRIPT_ERROR },
        { "any", CALL62 "OOM without its dash", USHER__REDIS_SCRIPT_ERROR },
        { "any", RAISED62 "WRONGTYPE Operation -READONLY ", USHER__REDIS_SCRIPT_ERROR },
        { "any", RAISED62 "@user_script: x: -OOM command", USHER__REDIS_SCRIPT_ERROR },
        { "any", IN62 "user_script:1: attempt to index: -OOM x", USHER__REDIS_SCRIPT_ERROR },
        { "any", "ERR Error running script (call to f_", USHER__REDIS_SCRIPT_ERROR },
    };

    ASSERT_CLASSES(rows);
}

TEST(reply_without_error_is_ok_and_nul_ends_no_text)
{
    static char zeros[] = "OOM\0 LOADING";
    struct redisReply r;

    memset(&r, 0, sizeof r);
    for (int type = REDIS_REPLY_STRING; type < REDIS_REPLY_ERROR; type++) {
        r.type = type;
        assert_int_equal(usher__redis_classify(&r), USHER__REDIS_OK);
    }
    r.type = REDIS_REPLY_ERROR;
    r.str = zeros;
    r.len = sizeof zeros - 1;
    assert_int_equal(usher__redis_classify(&r), USHER__REDIS_SCRIPT_ERROR);
}
