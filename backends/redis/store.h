/* SPDX-License-Identifier: MIT */
/* Shared by the files of the Redis store. */
#ifndef USHER_REDIS_STORE_H
#define USHER_REDIS_STORE_H

#include <usher/store/store.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "conn.h"
#include "script.h"
#include "slots.h"

#define USHER__REDIS_PREFIX_MAX 64
/* prefix{pool}:number:index */
#define USHER__REDIS_KEY_MAX (USHER__REDIS_PREFIX_MAX + USHER_NAME_MAX + 32)

/* KIND, list, text, NUL, position, id; and some */
#define USHER__REDIS_MEMBER_MAX (2 * USHER_NAME_MAX + 32)
#define USHER__REDIS_NOUNS 8
#define USHER__REDIS_FILE_MAX 1024    /* a path in the URL, with its end */
#define USHER__REDIS_HOSTS_MAX 32     /* in one URL */
#define USHER__REDIS_SENTINEL_MAX 129 /* the name of a master, with its end */
#define USHER__REDIS_NODES_MAX 1024
#define USHER__REDIS_IDLE_MAX 16 /* idle connections to one server */

#define USHER__REDIS_SHA_MAX 41 /* with its end */

/* The script of a noun.  With the store's lock; a text stays once it is set. */
struct usher__redis_script {
    char *text; /* NULL: not made yet */
    size_t size;
    char sha[USHER__REDIS_SHA_MAX]; /* its name on servers; "": unknown yet */
};

/* The script of a noun on one connection. */
struct usher__redis_loaded {
    /* Its name on the server; a call shows whether the server has it.  "": SCRIPT LOAD is next. */
    char sha[USHER__REDIS_SHA_MAX];
    bool missing; /* the server does not have it: the next call contains its text (EVAL) */
    /* The rights of the user, as lua/rights.lua has checked them. */
    enum { USHER__REDIS_MAY_NOTHING, USHER__REDIS_MAY_READ, USHER__REDIS_MAY_WRITE } may;
};

/* The state of a task from one try to the next. */
#define USHER__REDIS_ASKING 1u /* its lane is the target of an ASK */
#define USHER__REDIS_DOUBT 2u  /* it may have been applied by an earlier try */

/* The open query of a connection in its handshake. */
enum usher__redis_asks {
    USHER__REDIS_ASKS_NOTHING,
    USHER__REDIS_SEARCHES,
    USHER__REDIS_CONNECTS,
    USHER__REDIS_ASKS_NODE,
    USHER__REDIS_ASKS_ROLE,
    USHER__REDIS_ASKS_KIND,
    USHER__REDIS_ASKS_SETTINGS,
    USHER__REDIS_ASKS_SCRIPT
};

struct usher__redis_store;
struct usher__redis_node;

/* A connection and its state.  Used by one thread at a time. */
struct usher__redis {
    const struct usher_allocator *alloc;
    struct usher__redis_store *store;
    struct usher__redis_node *node;
    struct usher__redis_conn *conn;
    struct usher__redis_conn_options options; /* its texts are members of this struct */
    struct usher__redis_loaded script[USHER__REDIS_NOUNS];
    struct usher__redis_tables *tables; /* of the noun that a scan reads, or NULL */
    unsigned char *packed;              /* the commands of a call */
    size_t packed_size;
    size_t packed_n; /* used bytes */
    uint64_t random;
    int64_t patience_ms; /* time of a scan for one answer */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    bool (*ask_password)(void *payload, char *to, size_t size); /* NULL: use that of the URL */
    void *log_payload;                                          /* of both */
    /* The replication id of the server ("": unknown), the same as a number for the scripts
     * (identity() of store.h), the time of that query, and whether this connection logs the
     * settings. */
    char identity[48];
    uint64_t server;
    int64_t asked_ms;
    bool tells;
    /* The server refuses EVAL, SCRIPT, or TIME in scripts. */
    bool no_eval, no_script, no_time;
    /* The open query and its deadline; the answers so far; the time at which it was sent. */
    enum usher__redis_asks asks;
    enum usher_noun loads; /* the noun whose script is loaded */
    int64_t until_ms, sent_ms, sent_us;
    unsigned n_questions, n_replies;
    struct redisReply *replies[4];
    struct usher__redis_search *search; /* the search for the master, or NULL */
    bool named;                         /* in the last search the Sentinels gave an address */
    unsigned demotions;                 /* the count of the node when it connected */
    bool drop;                          /* it seems to be another node: reconnect */
    char expects[41];                   /* the expected id of the node; "": any */
    char prefix[USHER__REDIS_PREFIX_MAX + 1];
    /* The hosts of the URL: servers (one of them the master), nodes of a cluster, or Sentinels. */
    struct usher__redis_address hosts[USHER__REDIS_HOSTS_MAX];
    size_t n_hosts;
    char sentinel[USHER__REDIS_SENTINEL_MAX]; /* the name of the master; "": no Sentinels */
    /* of this connection */
    char ip[USHER__REDIS_IP_MAX];
    char host[USHER__REDIS_HOST_MAX], user[256], password[512], client_name[256];
    char ca[USHER__REDIS_FILE_MAX], cert[USHER__REDIS_FILE_MAX], key[USHER__REDIS_FILE_MAX];
    char tls_name[256];
    char password_file[USHER__REDIS_FILE_MAX]; /* "": none */
};

/* A server and the connections to it. */
struct usher__redis_node {
    struct usher__redis_address at; /* of a node of a cluster; does not change */
    /* Count of its reports that it is no master (any more); older connections reconnect. */
    _Atomic unsigned demotions;
    /* Open batches; the time of the last answer, or of the first open batch. */
    _Atomic unsigned under_way;
    _Atomic int64_t heard_ms;
    _Atomic bool mute; /* the last batch that ended had no answer */
    /* with the store's lock: */
    char id[41];
    char ip[USHER__REDIS_IP_MAX]; /* used if `at` is a name that cannot be resolved; "": unknown */
    bool told;                    /* one of its connections logs its settings */
    bool gone;                    /* it has no slots any more */
    struct usher__redis_node *before; /* the former node with this number */
    struct usher__redis *idle[USHER__REDIS_IDLE_MAX];
    size_t n_idle;
};

struct usher__redis_map; /* status.c */
enum usher_status usher__redis_nodes(struct usher_store *store, int64_t deadline_ms,
                                     usher_node_fn *fn, void *payload, char message[192]);

/* cluster.c */

/* Return the count of slots of node @number. */
int32_t usher__redis_slots_of(struct usher__redis_store *s, unsigned number);

struct usher__redis_store {
    struct usher_store base;
    const struct usher_allocator *alloc;
    struct usher__redis *like;    /* a template made from the URL; never connected */
    struct usher__redis_map *map; /* NULL: one server */
    pthread_mutex_t lock;
    pthread_cond_t released;
    bool locks; /* lock and released are initialised */
    struct usher__redis_script script[USHER__REDIS_NOUNS];
    /* A node keeps its number while it has slots. */
    struct usher__redis_node *_Atomic node[USHER__REDIS_NODES_MAX];
    _Atomic unsigned n_nodes;
    /* The locked slots of open batches.  Notices come in the order of versions, so with watchers a
     * scope is in one batch at a time. */
    uint64_t claimed[USHER__REDIS_SLOTS / 64];
    _Atomic bool told_no_time; /* it was logged that a server refuses TIME to scripts */
};

/* Read the URL and its options into @r, which must be zero.  Return NULL or the fault.  Unknown
 * options are left unused. */
const char *usher__redis_parse(struct usher__redis *r, struct usher_url *url);

bool usher__redis_is_tls_option(const char *key);

/* Write the key of @scope with @suffix "", ":index" or ":held".  Return its size. */
size_t usher__redis_key(const struct usher__redis *r, enum usher_noun noun,
                        const struct usher_text *scope, const char *suffix,
                        char key[USHER__REDIS_KEY_MAX]);

/* password.c: read the current password.  UNAVAILABLE: it cannot be read; the message of the
 * connection has the reason. */
enum usher_status usher__redis_password(struct usher__redis *r);

/* Write a line to the host's log, if it has one. */
void usher__redis_log(const struct usher__redis *r, enum usher_log_level level, const char *line);

/* nodes.c */

void *usher__redis_resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size);

/* Return a new connection object for @node, not connected yet; NULL without memory. */
struct usher__redis *usher__redis_new(struct usher__redis_store *s, struct usher__redis_node *node);
void usher__redis_free(struct usher__redis *r); /* or NULL */

/* Return a connection for this thread until it is given back; NULL without memory. */
struct usher__redis *usher__redis_take(struct usher__redis_store *s,
                                       struct usher__redis_node *node);
void usher__redis_give(struct usher__redis *r);

/* Return the number of the node at @at, which is created if necessary.  NODES_MAX: no memory, or
 * too many nodes. */
unsigned usher__redis_node_at(struct usher__redis_store *s, const struct usher__redis_address *at);
void usher__redis_nodes_free(struct usher__redis_store *s);

unsigned usher__redis_unit(struct usher_store *s, const struct usher_text *scope); /* its slot */

/* Lock the slots of @tasks until they are released.  Return false if other batches have them until
 * @deadline_ms (< 0: do not wait). */
bool usher__redis_claim(struct usher__redis_store *s, const struct usher_task *tasks, size_t n,
                        int64_t deadline_ms);
void usher__redis_release(struct usher__redis_store *s, const struct usher_task *tasks, size_t n);
void usher__redis_release_slots(struct usher__redis_store *s,
                                const uint64_t slots[USHER__REDIS_SLOTS / 64]);

/* Set the options of @r to the server at @at.  An open connection does not change. */
void usher__redis_point(struct usher__redis *r, const struct usher__redis_address *at);

/* loop.c */

/* Return a descriptor that is readable while one of several events has occurred, or -1. */
int usher__redis_loop_open(void);
/* Add @wait to @loop, or remove it, unless *@in_loop is already equal to @waits_there.  Return
 * false if the loop cannot watch it. */
bool usher__redis_loop_set(int loop, const struct usher_wait *wait, bool *in_loop,
                           bool waits_there);

/* hosts.c */

/*
 * Search for the master among the hosts of @r, without waiting: begin, then go_on until it returns
 * another status than USHER__REDIS_WAITS.  The deadline is r->until_ms.  OK: r->conn is connected
 * to the master and r->replies[0] is its answer to INFO replication; with Sentinels r->conn has the
 * address that they gave, and is not connected.  UNAVAILABLE or NOMEM: the connection has the
 * message.
 */
enum usher_status usher__redis_search_begin(struct usher__redis *r);
enum usher_status usher__redis_search_go_on(struct usher__redis *r);
void usher__redis_search_wants(const struct usher__redis *r, struct usher_wait *ret);
void usher__redis_search_end(struct usher__redis *r); /* also without a search */

/* cluster.c */

/* Query the hosts of the URL for the map. */
enum usher_status usher__redis_map_open(struct usher__redis_store *s, int64_t deadline_ms,
                                        char message[192]);
void usher__redis_map_free(struct usher__redis_store *s);
unsigned usher__redis_route(struct usher_store *s, const struct usher_task *task);
void usher__redis_refresh(struct usher_store *s, int64_t deadline_ms);

/* Refresh the map without waiting.  begin returns NULL if no refresh is necessary, or without
 * memory; go_on returns true at the end of the refresh; end frees it at any time, or takes NULL. */
struct usher__redis_refresh *usher__redis_refresh_begin(struct usher__redis_store *s,
                                                        int64_t deadline_ms);
bool usher__redis_refresh_continue(struct usher__redis_refresh *l, struct usher_wait *ret);
void usher__redis_refresh_end(struct usher__redis_refresh *l);
/* Mark the map as doubtful. */
void usher__redis_doubt(struct usher__redis_store *s);
/* Handle MOVED or ASK.  Return the number of the named node; MOVED also changes the map. NODES_MAX:
 * the reply is not understood, or names the node that sent it. */
unsigned usher__redis_redirected(struct usher__redis *r, const struct redisReply *reply, bool asks);
/* Return the number of the node that has @scope; write those of all nodes with slots. */
unsigned usher__redis_number_of(struct usher__redis_store *s, const struct usher_text *scope);
size_t usher__redis_masters(struct usher__redis_store *s, unsigned to[USHER__REDIS_NODES_MAX]);

/* handshake.c */

/* Return whether @reply to INFO replication is not that of a master; @conn has the message then. */
bool usher__redis_refuse_replica(struct usher__redis_conn *conn, const struct redisReply *reply);

/*
 * Connect to a master, if necessary, and load the scripts of @nouns (1 << noun), without waiting.
 * Returns OK or USHER__REDIS_WAITS.  UNAVAILABLE, NOMEM: usher__redis_conn_message() has the
 * message. REFUSED: the server refuses the script of r->loads; the reason is in r->replies[0],
 * which replies_free frees.  A thread at its deadline may leave the handshake; the next one
 * continues.
 */
enum usher_status usher__redis_prepare(struct usher__redis *r, unsigned nouns, int64_t deadline_ms);
void usher__redis_replies_free(struct usher__redis *r);
/* Return the text of the script of @noun, which is valid until the store is closed. */
enum usher_status usher__redis_text(struct usher__redis *r, enum usher_noun noun,
                                    struct usher_text *ret);
/* Compute the name of the script of @noun, because the server refuses SCRIPT, and send its text
 * next. */
enum usher_status usher__redis_name_script(struct usher__redis *r, enum usher_noun noun);
/* Set what the connection waits for. */
void usher__redis_wants(const struct usher__redis *r, struct usher_wait *ret);

/* Wait for it.  Return false after the deadline; the connection has the message. */
bool usher__redis_wait_for(struct usher__redis *r, int64_t deadline_ms);
/* Wait for @wait, or for one of @fds, until the deadline. */
void usher__redis_wait(const struct usher_wait *wait, int64_t deadline_ms);
void usher__redis_wait_some(struct pollfd *fds, nfds_t n, int64_t until_ms);

/* Run usher__redis_prepare() without scripts to its end. */
enum usher_status usher__redis_handshake(struct usher__redis *r, int64_t deadline_ms);

/* Pause before the next try, longer each time.  Return false if the deadline is near. */
bool usher__redis_pause(struct usher__redis *r, unsigned tries, int64_t deadline_ms);

/* scan.c, list.c, repair.c */
enum usher_status usher__redis_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, void *payload, char message[192]);
enum usher_status usher__redis_list(struct usher_store *s, struct usher_page *page,
                                    int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                    char message[192]);
enum usher_status usher__redis_repair(struct usher_store *s, enum usher_noun noun,
                                      const struct usher_text *scope, int64_t deadline_ms,
                                      usher_scan_fn *fn, usher_repair_fn *header, void *payload,
                                      char message[192]);

#endif
