/* SPDX-License-Identifier: MIT */
/* Shared by the files of the Redis store. */
#ifndef USHER_REDIS_STORE_H
#define USHER_REDIS_STORE_H

#include <usher/store.h>

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

/* The script of a noun; with the store's lock.  A text that is there stays. */
struct usher__redis_script {
    char *text; /* NULL: not asked for yet */
    size_t size;
    char sha[USHER__REDIS_SHA_MAX]; /* what a server has called it; "": none was asked yet */
};

/* The script of a noun, of one connection. */
struct usher__redis_loaded {
    /* The server's name of it, whether the server has it or not: a call shows that.  "": SCRIPT
     * LOAD is next. */
    char sha[USHER__REDIS_SHA_MAX];
    bool missing; /* the server does not have it: the next pipeline begins with its text (EVAL) */
    /* The rights of the user of the connection, as lua/rights.lua found them */
    enum { USHER__REDIS_MAY_NOTHING, USHER__REDIS_MAY_READ, USHER__REDIS_MAY_WRITE } may;
};

/* The state of a task from one try to the next. */
#define USHER__REDIS_ASKING 1u /* its lane is where it was sent by ASK */
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

/* A connection and what goes with it: one thread at a time. */
struct usher__redis {
    const struct usher_allocator *alloc;
    struct usher__redis_store *store;
    struct usher__redis_node *node;
    struct usher__redis_conn *conn;
    struct usher__redis_conn_options options; /* its texts are those below */
    struct usher__redis_loaded script[USHER__REDIS_NOUNS];
    struct usher__redis_tables *tables; /* of the noun that a scan reads; NULL: it has read none */
    unsigned char *packed;              /* the commands of a call */
    size_t packed_size;
    size_t packed_n; /* of them in use */
    uint64_t random;
    int64_t patience_ms; /* of a scan: with one answer */
    void (*log)(void *payload, enum usher_log_level level, const char *line);
    bool (*ask_password)(void *payload, char *to, size_t size); /* NULL: it is that of the URL */
    void *log_payload;                                          /* of both */
    /* The master that answers, "": not known; the time of that query; does this connection report
     * the settings? */
    char identity[48];
    uint64_t server; /* it as the scripts have it: identity() of store.h */
    int64_t asked_ms;
    bool tells;
    /* Commands that the server of this connection refuses, TIME within scripts only */
    bool no_eval, no_script, no_time;
    /* The open query and its deadline; the answers so far; the time at which it was sent. */
    enum usher__redis_asks asks;
    enum usher_noun loads; /* the script of it */
    int64_t until_ms, sent_ms, sent_us;
    unsigned n_questions, n_replies;
    struct redisReply *replies[4];
    struct usher__redis_search *search; /* which host is the master; NULL: none is under way */
    bool named;                         /* the Sentinels gave an address in the last one */
    unsigned demotions;                 /* of the node, when it connected */
    bool drop;                          /* it answers as if it were another one: reconnect */
    char expects[41];                   /* which node of a cluster it should be; "": not known */
    char prefix[USHER__REDIS_PREFIX_MAX + 1];
    /* Those of the URL: servers, of which one is the master; nodes of the cluster; Sentinels. */
    struct usher__redis_address hosts[USHER__REDIS_HOSTS_MAX];
    size_t n_hosts;
    char sentinel[USHER__REDIS_SENTINEL_MAX]; /* name of the master; "": the hosts are others */
    /* of the connection */
    char ip[USHER__REDIS_IP_MAX];
    char host[USHER__REDIS_HOST_MAX], user[256], password[512], client_name[256];
    char ca[USHER__REDIS_FILE_MAX], cert[USHER__REDIS_FILE_MAX], key[USHER__REDIS_FILE_MAX];
    char tls_name[256];
    char password_file[USHER__REDIS_FILE_MAX]; /* "": none */
};

/* A server and the connections to it. */
struct usher__redis_node {
    struct usher__redis_address at; /* of a cluster; stays */
    /* How often it reported that it is no master (any more): older connections connect again. */
    _Atomic unsigned demotions;
    /* Batches it has not answered, and when it answered the last one or got the first of these. */
    _Atomic unsigned under_way;
    _Atomic int64_t heard_ms;
    _Atomic bool mute; /* the last batch that ended had no answer */
    /* with the store's lock: */
    char id[41];
    char ip[USHER__REDIS_IP_MAX]; /* if `at` is a name that cannot be resolved; "": not known */
    bool told;                    /* one of its connections has reported its settings, or will */
    bool gone;                    /* has no slots any more */
    struct usher__redis_node *before; /* that had its number and is gone */
    struct usher__redis *idle[USHER__REDIS_IDLE_MAX];
    size_t n_idle;
};

struct usher__redis_map; /* status.c */
enum usher_status usher__redis_nodes(struct usher_store *store, int64_t deadline_ms,
                                     usher_node_fn *fn, void *payload, char message[192]);

/* cluster.c */

/* How many slots node @number has. */
int32_t usher__redis_slots_of(struct usher__redis_store *s, unsigned number);

struct usher__redis_store {
    struct usher_store base;
    const struct usher_allocator *alloc;
    struct usher__redis *like;    /* what the URL says; never connected */
    struct usher__redis_map *map; /* NULL: one server */
    pthread_mutex_t lock;
    pthread_cond_t released;
    bool locks; /* both are initialised */
    struct usher__redis_script script[USHER__REDIS_NOUNS];
    /* Which of them has which number stays, while it has slots. */
    struct usher__redis_node *_Atomic node[USHER__REDIS_NODES_MAX];
    _Atomic unsigned n_nodes;
    /* Notices come in order of version, so with watchers a scope is in one batch at a time: the
     * slots of the open batches. */
    uint64_t claimed[USHER__REDIS_SLOTS / 64];
    _Atomic bool told_no_time; /* the log has it that a server refuses TIME to scripts */
};

/* Read the URL and its options into @r, which is all zero.  NULL, or the fault; unknown options
 * stay unused. */
const char *usher__redis_parse(struct usher__redis *r, struct usher_url *url);

bool usher__redis_is_tls_option(const char *key);

/* A key of @scope; "", ":index" or ":held" is @suffix.  Returns its size. */
size_t usher__redis_key(const struct usher__redis *r, enum usher_noun noun,
                        const struct usher_text *scope, const char *suffix,
                        char key[USHER__REDIS_KEY_MAX]);

/* password.c: have the password as it is now.  UNAVAILABLE: it is not to be had, as the connection
 * says. */
enum usher_status usher__redis_password(struct usher__redis *r);

/* A line for the host's log, if it has one. */
void usher__redis_log(const struct usher__redis *r, enum usher_log_level level, const char *line);

/* nodes.c */

void *usher__redis_resize(const struct usher_allocator *alloc, void *p, size_t old, size_t size);

/* Another connection as the URL says, to @node; not made yet.  NULL: no memory. */
struct usher__redis *usher__redis_new(struct usher__redis_store *s, struct usher__redis_node *node);
void usher__redis_free(struct usher__redis *r); /* takes NULL */

/* A connection for this thread alone until it is given back.  NULL: no memory. */
struct usher__redis *usher__redis_take(struct usher__redis_store *s,
                                       struct usher__redis_node *node);
void usher__redis_give(struct usher__redis *r);

/* The node at @at, which comes into being.  NODES_MAX: no memory, or there are too many. */
unsigned usher__redis_node_at(struct usher__redis_store *s, const struct usher__redis_address *at);
void usher__redis_nodes_free(struct usher__redis_store *s);

unsigned usher__redis_unit(struct usher_store *s, const struct usher_text *scope); /* its slot */

/* The slots of @tasks are the caller's until they are released.  false: they are others' until
 * @deadline_ms (< 0: now). */
bool usher__redis_claim(struct usher__redis_store *s, const struct usher_task *tasks, size_t n,
                        int64_t deadline_ms);
void usher__redis_release(struct usher__redis_store *s, const struct usher_task *tasks, size_t n);
void usher__redis_release_slots(struct usher__redis_store *s,
                                const uint64_t slots[USHER__REDIS_SLOTS / 64]);

/* The options of @r are for the server at @at; its connection stays as it is. */
void usher__redis_point(struct usher__redis *r, const struct usher__redis_address *at);

/* loop.c */

/* A descriptor that is readable while one of several waits is over; -1: there is none. */
int usher__redis_loop_open(void);
/* Put @wait into @loop, or take it out, if *@in_loop says that it is not so yet.  false: the loop
 * cannot have it. */
bool usher__redis_loop_set(int loop, const struct usher_wait *wait, bool *in_loop,
                           bool waits_there);

/* hosts.c */

/*
 * Which of the hosts of @r is the master, without waiting: begin, then go_on until it returns
 * another status than USHER__REDIS_WAITS, until r->until_ms.  OK: r->conn is connected to it and
 * r->replies[0] is its answer to INFO replication; with Sentinels r->conn is for the address that
 * they gave, and not connected.  Else UNAVAILABLE or NOMEM, and the connection has the message.
 */
enum usher_status usher__redis_search_begin(struct usher__redis *r);
enum usher_status usher__redis_search_go_on(struct usher__redis *r);
void usher__redis_search_wants(const struct usher__redis *r, struct usher_wait *ret);
void usher__redis_search_end(struct usher__redis *r); /* also if there is none */

/* cluster.c */

/* Ask the hosts of the URL for the map. */
enum usher_status usher__redis_map_open(struct usher__redis_store *s, int64_t deadline_ms,
                                        char message[192]);
void usher__redis_map_free(struct usher__redis_store *s);
unsigned usher__redis_route(struct usher_store *s, const struct usher_task *task);
void usher__redis_look(struct usher_store *s, int64_t deadline_ms);

/* The same without waiting.  NULL: there is nothing to look for, or no memory; go_on: true, it is
 * over; end, which takes NULL, gives it back, over or not. */
struct usher__redis_look *usher__redis_look_begin(struct usher__redis_store *s,
                                                  int64_t deadline_ms);
bool usher__redis_look_go_on(struct usher__redis_look *l, struct usher_wait *ret);
void usher__redis_look_end(struct usher__redis_look *l);
/* The map is perhaps not right. */
void usher__redis_doubt(struct usher__redis_store *s);
/* Handle MOVED or ASK.  Returns the number of the named node, which MOVED also puts into the map;
 * NODES_MAX: it is not understood, or names the node that sent it. */
unsigned usher__redis_redirected(struct usher__redis *r, const struct redisReply *reply, bool asks);
/* The number of the node that has @scope; those of all that have slots. */
unsigned usher__redis_number_of(struct usher__redis_store *s, const struct usher_text *scope);
size_t usher__redis_masters(struct usher__redis_store *s, unsigned to[USHER__REDIS_NODES_MAX]);

/* ready.c */

/* Does @reply, to INFO replication, say that the server is no master?  Then @conn has the message.
 */
bool usher__redis_refuse_replica(struct usher__redis_conn *conn, const struct redisReply *reply);

/*
 * Without waiting: connect to a master, if that is not so, and have it know the scripts of @nouns
 * (1 << noun).  USHER__REDIS_WAITS; UNAVAILABLE, NOMEM: message in usher__redis_conn_message();
 * REFUSED: the script of r->loads, the reason is in r->replies[0], to be given back by
 * replies_free. A late thread may leave it: the next one continues.
 */
enum usher_status usher__redis_prepare(struct usher__redis *r, unsigned nouns, int64_t deadline_ms);
void usher__redis_replies_free(struct usher__redis *r);
/* The text of the script of @noun, which stays as long as the store. */
enum usher_status usher__redis_text(struct usher__redis *r, enum usher_noun noun,
                                    struct usher_text *ret);
/* Name the script of @noun without the server, which refuses SCRIPT, and have its text sent. */
enum usher_status usher__redis_name_script(struct usher__redis *r, enum usher_noun noun);
/* The wait of the connection. */
void usher__redis_wants(const struct usher__redis *r, struct usher_wait *ret);

/* Wait for it; false, and the connection says so: it is too late. */
bool usher__redis_wait_for(struct usher__redis *r, int64_t deadline_ms);
/* Wait for @wait, until @deadline_ms; for one of @fds. */
void usher__redis_wait(const struct usher_wait *wait, int64_t deadline_ms);
void usher__redis_wait_some(struct pollfd *fds, nfds_t n, int64_t until_ms);

/* usher__redis_prepare() without scripts, to its end. */
enum usher_status usher__redis_ready(struct usher__redis *r, int64_t deadline_ms);

/* Wait a little before trying again, longer each time; false when the deadline is near. */
bool usher__redis_pause(struct usher__redis *r, unsigned tries, int64_t deadline_ms);

/* scan.c, mend.c */
enum usher_status usher__redis_scan(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, bool records,
                                    int64_t deadline_ms, usher_scan_fn *fn, void *payload,
                                    char message[192]);
enum usher_status usher__redis_mend(struct usher_store *s, enum usher_noun noun,
                                    const struct usher_text *scope, int64_t deadline_ms,
                                    usher_scan_fn *fn, usher_mend_fn *header, void *payload,
                                    char message[192]);

#endif
