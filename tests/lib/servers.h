/* SPDX-License-Identifier: MIT */
/*
 * servers -- real Redis servers for tests.
 *
 * Each server gets a free port of 127.0.0.1 (or of an address of a network namespace,
 * net_cut.h) and a directory of its own under $TMPDIR; both are gone after redis_server_stop(). The
 * executable is $USHER_REDIS_SERVER, else redis-server in PATH, else redis-check-rdb in PATH: that
 * is the same program, which looks at the name it is run by, and on Debian it comes without the
 * daemon's package.
 *
 * The test that starts a server owns it and stops it.  A server dies with the *thread* that
 * started it, so start servers from the main thread.  Nothing here is thread-safe for one
 * server; other threads use redis_server_connect() and their own context.
 *
 * Functions that can fail for an outside reason return NULL, false or -1 and leave one
 * line in redis_reason().  Those of which a test only asserts that they are done (_do_ok,
 * _wait_info, _restart, _kill) print it as well.
 */
#ifndef USHER_TESTS_SERVERS_H
#define USHER_TESTS_SERVERS_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>

#include <hiredis/hiredis.h>

enum redis_aof { REDIS_AOF_OFF, REDIS_AOF_EVERYSEC, REDIS_AOF_ALWAYS };

struct redis_server;

/* All members may be zero.  Nothing is referred to after redis_server_start(). */
struct redis_server_options {
    const char *password;     /* of the user "default" */
    const char *const *users; /* ACL rules "name rule ...", ends with NULL */
    enum redis_aof aof;
    bool unixsocket; /* listen on one as well */
    bool cluster;    /* a cluster node that knows no other */
    bool sentinel;   /* a Sentinel, whose masters are in @config */
    const struct redis_server *replica_of;
    const char *const *config; /* further redis.conf lines, ends with NULL */
    const char *dir;           /* use this directory, which stays the caller's */
    int port;                  /* use this port */
    const char *address;       /* instead of 127.0.0.1 */
    int netns; /* run in this network namespace, a descriptor that stays open; 0: in ours */
};

/* Size of the largest URL made here, of a cluster of 16 nodes. */
#define REDIS_URL_MAX 1024

/* Return why the last call of this thread failed; never NULL. */
const char *redis_reason(void);

/* After a start that failed: prints the reason and returns what main() must return.  77
 * (skip) if no server is installed, 1 if one is but does not work or where
 * USHER_NO_SKIP=1 says that nothing may be skipped. */
int redis_skip(void);

/* A TEST_PROGRAM() of tests that start their own servers: 0, or the exit status redis_skip() if no
 * server can be started. */
int redis_needed(void);

/* Define @name, a server for all tests of a program. */
#define TEST_SERVER(name)                       \
    static struct redis_server *name;           \
    static int name##_begin(void)               \
    {                                           \
        name = redis_server_start(NULL);        \
        return name != NULL ? 0 : redis_skip(); \
    }                                           \
    static void name##_end(void)                \
    {                                           \
        redis_server_stop(name);                \
    }                                           \
    TEST_PROGRAM(name##_begin, name##_end)

/* Returns when the server answers and has loaded its data; NULL on failure. */
struct redis_server *redis_server_start(const struct redis_server_options *opt);

/* Kills the server, removes its directory unless the caller gave it.  Takes NULL. */
void redis_server_stop(struct redis_server *s);

/* Sends @sig.  After SIGKILL and SIGTERM returns only when the process is gone; its
 * directory stays for redis_server_restart().  Until then any process may take its port. */
int redis_server_kill(struct redis_server *s, int sig);

/* Starts it again with the same directory, port and options, after SIGTERM if it still
 * runs.  Returns when it answers and has loaded its data. */
bool redis_server_restart(struct redis_server *s);

/* Print the end of its log, with that from before a restart, to standard error. */
void redis_server_print_log(const struct redis_server *s);

/* Return whether a line of its log since the last start contains @words. */
bool redis_server_logged(const struct redis_server *s, const char *words);

int redis_server_port(const struct redis_server *s);
pid_t redis_server_pid(const struct redis_server *s); /* 0: not running */
const char *redis_server_dir(const struct redis_server *s);
const char *redis_server_socket(const struct redis_server *s); /* NULL: none */

/* redis://[:password@]address:port; returns @buf. */
const char *redis_server_url(const struct redis_server *s, char buf[REDIS_URL_MAX]);

/* 70015 for 7.0.15. */
int redis_server_version(const struct redis_server *s);

/* A new blocking connection with every right; the caller frees it.  Replies are awaited
 * for at most 60 s. */
redisContext *redis_server_connect(const struct redis_server *s);

/* One command on the server's own connection: words, then NULL.  The reply is the
 * caller's, an error reply is a reply.  NULL when the server did not answer; nothing
 * is repeated. */
redisReply *redis_do(struct redis_server *s, ...) __attribute__((sentinel));
redisReply *redis_do_argv(struct redis_server *s, int argc, const char **argv, const size_t *len);

/* As redis_do(), but for commands of which only success matters: any error reply is a
 * failure. */
bool redis_do_ok(struct redis_server *s, ...) __attribute__((sentinel));

/* Return the number of its keys; SIZE_MAX: it does not answer. */
size_t redis_server_keys(struct redis_server *s);

/* Waits until INFO @section contains @text. */
bool redis_server_wait_info(struct redis_server *s, const char *section, const char *text,
                            int timeout_ms);

/* Return a port that was free a moment ago, with port + 10000 free too; 0: none found. */
int redis_free_port(void);

struct redis_cluster {
    int primaries;
    int nodes;                  /* primaries come first, then the replicas */
    struct redis_server **node; /* each may be killed and restarted */
};

/* @replicas in total: replica i follows primary i % @primaries.  Primaries share the slots
 * evenly in order.  @opt (may be NULL) is for every node; its port, dir and replica_of are
 * ignored.  Returns when every node says cluster_state:ok and shows every replica. */
struct redis_cluster *redis_cluster_start(int primaries, int replicas,
                                          const struct redis_server_options *opt);
void redis_cluster_stop(struct redis_cluster *c); /* takes NULL */

/* Define @name, a cluster for all tests of a program. */
#define TEST_CLUSTER(name, masters, options)                 \
    static struct redis_cluster *name;                       \
    static int name##_begin(void)                            \
    {                                                        \
        name = redis_cluster_start((masters), 0, (options)); \
        return name != NULL ? 0 : redis_skip();              \
    }                                                        \
    static void name##_end(void)                             \
    {                                                        \
        redis_cluster_stop(name);                            \
    }                                                        \
    TEST_PROGRAM(name##_begin, name##_end)

/* Make a cluster of running servers, each a cluster node that knows no other, primaries first.  It
 * owns them from then on, even if it fails.  If not @evenly, the first primary has all slots but
 * the last few, one for each of the other primaries, which need one to vote. */
struct redis_cluster *redis_cluster_of(int primaries, int replicas, struct redis_server **node,
                                       bool evenly);

/* Wait until every running node that is not paused by SIGSTOP reports cluster_state:ok. */
bool redis_cluster_wait_ok(struct redis_cluster *c, int timeout_ms);

/* Wait until every node, all of which run, reports that and lists every primary and replica. */
bool redis_cluster_wait_whole(struct redis_cluster *c, int timeout_ms);

/* Wait until all nodes, all of which run, report the same owner and epoch of each slot. */
bool redis_cluster_wait_agreed(struct redis_cluster *c, int timeout_ms);

/* Return the slot of a scope called @name; -1 if the node does not answer. */
int redis_cluster_slot(struct redis_cluster *c, const char *name);

/* Return the node that serves @slot in the view of @asked, or NULL if none does. */
struct redis_server *redis_cluster_owner(struct redis_cluster *c, struct redis_server *asked,
                                         int slot);

/* Waits until CLUSTER INFO of one node contains @text. */
bool redis_node_wait_info(struct redis_server *s, const char *text, int timeout_ms);

/* Return a running replica of @master, or NULL. */
struct redis_server *redis_cluster_replica_of(struct redis_cluster *c,
                                              const struct redis_server *master);

/* Let a replica of @master that has all of its data take its place (CLUSTER FAILOVER).  Returns
 * when all nodes, all of which run, agree on it. */
bool redis_cluster_hand_over(struct redis_cluster *c, struct redis_server *master, int timeout_ms);

/* A node's name in the cluster, 40 digits. */
bool redis_node_id(struct redis_server *s, char id[41]);

/* A slot on its way from one primary to another. */
struct redis_move {
    struct redis_cluster *cluster;
    struct redis_server *source, *target;
    int slot;
    char source_id[41], target_id[41];
};

/* Wait until the nodes agree.  A node that does not know the greatest epoch would take one that
 * another node has, and then either could get the slot. */
bool redis_move_begin(struct redis_move *m);
/* A key that is gone is done, too. */
bool redis_move_key(const struct redis_move *m, const char *key);
bool redis_move_end(const struct redis_move *m); /* with the keys that are left */

/* redis+cluster://[:password@]address:port,address:port...; returns @buf. */
const char *redis_cluster_url(const struct redis_cluster *c, char buf[REDIS_URL_MAX]);

#endif
